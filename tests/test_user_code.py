"""Learners and families of a user's own, named as module:Name."""

import hashlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers import runner

from fallow import catalog, replicate
from fallow.cli import app
from fallow.learners.registry import learner_factory
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.workers import local_workers
from fallow.user_code import load

LEARNER = """\
from pathlib import Path

import fallow
import {module}_help

Path(__file__).with_name("loaded").touch()


class RoundRobin:
    def __init__(self, arms, max_delay, seed, plays=1):
        self.arms, self.plays = arms, plays
        {module}_help.check(arms, max_delay, seed, plays)

    def ask(self):
        return fallow.Block(tuple(range(self.arms)), self.plays)

    def tell(self, block, outcome):
        assert len(outcome.first) == self.arms


class Stumbles(RoundRobin):
    def tell(self, block, outcome):
        return outcome.first["one"]


def two_songs(better, seed=0):
    return fallow.Instance.b2dep([better, 0.5], [1 + seed % 3, 2], [0.5] * 3)


def no_instance():
    return 7
"""
HELP = """\
def check(arms, max_delay, seed, plays):
    if plays > 9:
        raise ValueError(f"plays must be at most 9, got {plays}")
    assert isinstance(seed, int) and max_delay >= 1 and arms >= 1
"""
SPEC = """\
horizon = 200
runs = 12
seed = 4

[instance]
catalog = "{module}:two_songs"

[sweep]
better = [0.6, 0.9]

[learners.mine]
learner = "{module}:{learner}"
{parameters}
"""

Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A folder with a module of its own, whose name no other test has loaded; its name."""
    module = f"mine_{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:8]}"
    (tmp_path / f"{module}.py").write_text(LEARNER.format(module=module))
    (tmp_path / f"{module}_help.py").write_text(HELP)
    monkeypatch.chdir(tmp_path)
    return module


def write_spec(module: str, learner: str = "RoundRobin", parameters: str = "") -> Path:
    path = Path("study.toml")
    path.write_text(SPEC.format(module=module, learner=learner, parameters=parameters))
    return path


def test_a_learner_of_ones_own_is_simulated(project: str) -> None:
    words = ["simulate", "figure2", "--learner", f"{project}:RoundRobin", "--learner", "ucb1"]
    result = runner.invoke(app, [*words, "--runs", "6", "--horizon", "300", "--workers", "2"])
    assert result.exit_code == 0, result.output
    assert re.search(rf"^{project}:RoundRobin +[\d.]+ ± [\d.]+ ", result.stdout, re.MULTILINE)


def test_a_family_of_ones_own_is_simulated_and_planned(project: str) -> None:
    words = [f"{project}:two_songs", "better=0.8"]
    result = runner.invoke(app, ["simulate", *words, "--runs", "3", "--horizon", "100"])
    assert result.exit_code == 0, result.output
    assert "3 runs of 100 rounds" in result.stdout
    result = runner.invoke(app, ["plan", *words, "--method", "ghost"])
    assert result.exit_code == 0, result.output
    assert "2 arms, delays up to 2" in result.stdout


def test_a_spec_runs_no_code_unless_that_is_allowed(project: str) -> None:
    file = write_spec(project)
    for words in (["run", str(file), "--out", "out"], ["replay", str(file), "0"]):
        result = runner.invoke(app, words)
        assert result.exit_code == 2
        assert "which is Python code; if you trust it, run it with --allow-imports" in result.stderr
        assert "study.toml, line" in result.stderr
        assert not Path("loaded").exists()
    result = runner.invoke(app, ["run", str(file), "--out", "out", "--rows", "--allow-imports"])
    assert result.exit_code == 0, result.output
    assert Path("loaded").exists()
    _, results = read_results(Path("out/study"))
    songs = load(f"{project}:two_songs", Path.cwd())
    make = learner_factory(f"{project}:RoundRobin", 200)
    for better, found in zip((0.6, 0.9), results, strict=True):
        alone = replicate(partial(songs, better), make, 200, 12, seed=4)
        np.testing.assert_array_equal(found.rewards, alone.rewards)
    # What was run can be looked at without running it again.
    assert runner.invoke(app, ["summarize", "out"]).exit_code == 0


def test_processes_get_the_code_with_their_runs(project: str) -> None:
    """Also that of modules beside it, which other machines do not have."""
    spec = load_spec(write_spec(project, parameters="plays = 3"), allow_imports=True)
    study = spec.at(0.6).study()
    for module in (project, f"{project}_help"):
        Path(f"{module}.py").unlink()
    with local_workers(2) as crew:
        assert not study.is_compiled
        run(spec, Path("out"), crew)


def test_an_error_names_the_users_own_line(project: str) -> None:
    where = rf"{project}\.py, line 23"
    file = write_spec(project, "Stumbles")
    result = runner.invoke(app, ["run", str(file), "--out", "out", "--allow-imports"])
    assert result.exit_code == 1
    assert re.search(
        rf"TypeError: .*\({Path.cwd()}/{where}\) \(learner 'mine', run 0", result.stderr
    )
    assert "--point 0.6 --allow-imports" in result.stderr
    words = ["simulate", "figure3", "--learner", f"{project}:Stumbles"]
    result = runner.invoke(app, words)
    assert result.exit_code == 2
    assert re.search(where, result.stderr)
    assert result.stderr.count("\n") == 1


def test_a_learner_is_told_what_its_arguments_ask_for(project: str) -> None:
    load(f"{project}:RoundRobin", Path.cwd())
    learner = learner_factory(f"{project}:RoundRobin", 100, {"plays": 2})(catalog.figure3(), 5)
    assert learner.ask() == ((0, 1), 2)
    with pytest.raises(ValueError, match="must be one of plays, got 'arms'"):
        learner_factory(f"{project}:RoundRobin", 100, {"arms": 2})


@pytest.mark.parametrize(
    ("learner", "parameters", "message"),
    [
        ("RoundRobin", "plays = 10", "plays must be at most 9, got 10"),
        ("RoundRobin", "speed = 1", "must be one of learner, plays, got 'speed'"),
        ("RoundRubin", "", "must define RoundRubin, got no such name; did you mean 'RoundRobin'"),
        ("no_instance", "", "must have a method ask, got <class 'int'>"),
        ("two_songs", "", "must be given its parameter 'better'"),
        ("", "", "a name must be like module:Name, got"),
    ],
)
def test_mistakes_are_told(project: str, learner: str, parameters: str, message: str) -> None:
    file = write_spec(project, learner, parameters)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        load_spec(file, allow_imports=True)
    assert "study.toml, line" in str(caught.value)


def test_modules_that_cannot_be_loaded_are_told(project: str, tmp_path: Path) -> None:
    (tmp_path / f"{project}_broken.py").write_text("a = 1\nb = = 2\n")
    (tmp_path / f"{project}_exits.py").write_text("\nraise SystemExit(3)\n")
    (tmp_path / f"{project}_needs.py").write_text("import nowhere_at_all\n")
    for module, message in (
        (f"{project}_broken", rf"{project}_broken\.py, line 2"),
        (f"{project}_exits", rf"SystemExit: 3 \(.*{project}_exits\.py, line 2\)"),
        (f"{project}_needs", r"needs another: ModuleNotFoundError: .*nowhere_at_all"),
        ("nowhere_at_all", r"must be in .* or on the Python path, got no such module"),
        ("json", r"must not share its name with another"),
    ):
        if module == "json":
            (tmp_path / "json.py").write_text("Mine = 3\n")
        with pytest.raises(ValueError, match=message):
            load(f"{module}:Mine", tmp_path)
    load(f"{project}:no_instance", tmp_path)
    with pytest.raises(ValueError, match=r"no_instance must return an Instance, got 7"):
        catalog.build(f"{project}:no_instance")
    with pytest.raises(ValueError, match="must be loaded before it is used"):
        catalog.build("somewhere:something")


def test_changed_code_of_ones_own_does_not_go_on_with_old_results(project: str) -> None:
    file = write_spec(project)
    run(load_spec(file, allow_imports=True), Path("out"))
    with Path(f"{project}.py").open("a") as source:
        source.write("# a change\n")
    with pytest.raises(ValueError, match="must hold runs of this spec, hash"):
        run(load_spec(file, allow_imports=True), Path("out"))
