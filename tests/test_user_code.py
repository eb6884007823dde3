"""Learners and families of a user's own, named as module:Name."""

import hashlib
import os
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Lock

import numpy as np
import pytest
from helpers import contents, runner

from fallow import catalog, replicate
from fallow.cli import app
from fallow.learners import UCB1
from fallow.learners.registry import learner_factory
from fallow.studies import Study
from fallow.studies.batch import pack, play_packed
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.summarize import summarize
from fallow.studies.workers import local_workers
from fallow.user_code import load

LEARNER = """\
from functools import lru_cache
from pathlib import Path

import fallow
import {module}_help

Path(__file__).with_name("loaded").touch()


@lru_cache
def block(arms, plays):
    return Blocks(tuple(range(arms)), plays)


class Blocks(fallow.Block):
    pass


class RoundRobin:
    def __init__(self, arms, max_delay, seed, plays=1):
        self.arms, self.plays = arms, plays
        {module}_help.check(arms, max_delay, seed, plays)

    def ask(self):
        import {module}_later

        {module}_later.check(isinstance(block(self.arms, self.plays), Blocks))
        return block(self.arms, self.plays)

    def tell(self, block, outcome):
        assert len(outcome.first) == self.arms


class Stumbles(RoundRobin):
    def tell(self, block, outcome):
        return outcome.first["one"]


class Leaves(RoundRobin):
    def tell(self, block, outcome):
        raise SystemExit("goodbye")


def two_songs(better, seed=0):
    return fallow.Instance.b2dep([better, 0.5], [1 + seed % 3, 2], [0.5] * 3)


def songs(count, seed):
    return fallow.catalog.random_table(count, 3, seed)


def drifting(progress, better=0.9):
    return fallow.Instance.b2dep([better - progress / 2, 0.5], [1, 2], [0.5] * 2)


def no_instance():
    return 7


number = 7
"""
LATER = """\
def check(holds):
    assert holds
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


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A folder with a module of its own, whose name no other test has loaded; its name."""
    module = f"mine_{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:8]}"
    (tmp_path / f"{module}.py").write_text(LEARNER.format(module=module))
    (tmp_path / f"{module}_help.py").write_text(HELP)
    (tmp_path / f"{module}_later.py").write_text(LATER)
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


def test_a_family_needs_no_default_for_its_seed(project: str) -> None:
    words = ["simulate", f"{project}:songs", "count=3", "--runs", "3", "--horizon", "50"]
    assert runner.invoke(app, words).exit_code == 0


def test_replay_plays_whole_numbers_as_whole_numbers(project: str) -> None:
    file = write_spec(project)
    text = file.read_text().replace("two_songs", "songs")
    file.write_text(text.replace("better = [0.6, 0.9]", "count = [2, 3]"))
    result = runner.invoke(app, ["replay", str(file), "0", "--point", "3", "--allow-imports"])
    assert result.exit_code == 0, result.output


def test_a_spec_runs_no_code_unless_that_is_allowed(project: str) -> None:
    file = write_spec(project)
    for words in (["run", str(file), "--out", "out"], ["replay", str(file), "0"]):
        result = runner.invoke(app, words)
        assert result.exit_code == 2
        assert (
            "must not be Python code unless you trust it and say --allow-imports" in result.stderr
        )
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


def test_the_number_of_workers_changes_nothing(project: str) -> None:
    """Also where a module has a cache, which pickle would send by reference."""
    spec = load_spec(write_spec(project, parameters="plays = 3"), allow_imports=True)
    for workers in (1, 2):
        with local_workers(workers) as crew:
            run(spec, Path(f"out{workers}"), crew)
    assert contents(Path("out1")) == contents(Path("out2")) != {}


@pytest.mark.slow
def test_other_machines_get_the_code_with_the_runs(project: str, tmp_path: Path) -> None:
    """Also that of modules that are imported later, from a folder that is not there."""
    spec = load_spec(write_spec(project), allow_imports=True)
    study = spec.at(0.6).study()
    expected = [float(study.play(run).rewards[0, 0, -1]) for run in range(3)]
    packed = pack(study)
    (tmp_path / "sent").write_bytes(pickle.dumps(packed))
    for file in tmp_path.glob("*.py"):
        file.unlink()
    code = (
        "import pickle, sys; from fallow.studies.batch import play_packed\n"
        "batch = play_packed(pickle.load(open(sys.argv[1], 'rb')), range(3))\n"
        "print(batch.result.rewards[:, 0, -1].tolist(), batch.failures)"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "sent")]
    found = subprocess.run(words, cwd="/", capture_output=True, text=True, check=True).stdout
    assert found == f"{expected} []\n"


def test_a_worker_with_other_code_is_refused_whenever_it_joins(project: str) -> None:
    packed = pack(load_spec(write_spec(project), allow_imports=True).at(0.6).study())
    with pytest.raises(ValueError, match=r"workers must have fallow 0\.0\.1, as here, got"):
        play_packed(packed._replace(version="0.0.1"), range(1))


def test_means_drift_in_a_family_of_ones_own(project: str) -> None:
    file = write_spec(project)
    text = (
        file.read_text().replace("two_songs", "drifting").replace("seed = 4", "seed = 4\ndrift = 3")
    )
    file.write_text(text)
    run(load_spec(file, allow_imports=True), Path("out"))
    assert summarize(Path("out"))[1][0].runs == 12


def test_code_that_exits_is_a_failure_like_any_other(project: str) -> None:
    file = write_spec(project, "Leaves")
    result = runner.invoke(app, ["run", str(file), "--out", "out", "--allow-imports"])
    assert result.exit_code == 1
    assert "SystemExit: goodbye" in result.stderr
    result = runner.invoke(app, ["simulate", "figure3", "--learner", f"{project}:Leaves"])
    assert result.exit_code == 2
    assert "fallow: a run failed: SystemExit: goodbye" in result.stderr


def test_an_error_names_the_users_own_line(project: str) -> None:
    where = rf"{project}\.py, line 36"
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
        ("no_instance", "", "must be a learner, with methods ask and tell, got 7"),
        ("number", "", "must be a class or a function, got 7"),
        (
            "RoundRobin",
            "plays = 2020-01-01",
            "must be of numbers, text, true, false, lists or table",
        ),
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


@pytest.mark.parametrize("module", ["", "_help", "_later"])
def test_changed_code_of_ones_own_does_not_go_on_with_old_results(
    project: str, module: str
) -> None:
    """Also that of modules beside it."""
    file = write_spec(project)
    run(load_spec(file, allow_imports=True), Path("out"))
    with Path(f"{project}{module}.py").open("a") as source:
        source.write("changed = True\n")
    with pytest.raises(ValueError, match="must hold runs of this spec, hash"):
        run(load_spec(file, allow_imports=True), Path("out"))
    assert module == "_later" or sys.modules[f"{project}{module}"].changed


def test_modules_of_two_folders_do_not_stand_for_each_other(project: str, tmp_path: Path) -> None:
    """Neither packages nor modules that are imported by others."""
    for folder in ("one", "two"):
        package = tmp_path / folder / f"{project}_package"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("from .inner import Mine\n")
        (package / "inner.py").write_text(f"class Mine:\n    place = '{folder}'\n")
        (tmp_path / folder / f"{project}_{folder}.py").write_text(
            f"from {project}_package.inner import Mine\n"
        )
    assert load(f"{project}_one:Mine", tmp_path / "one").place == "one"
    assert load(f"{project}_package:Mine", tmp_path / "one").place == "one"
    for module in (f"{project}_package", f"{project}_two"):
        with pytest.raises(ValueError, match="must not share its name with another"):
            load(f"{module}:Mine", tmp_path / "two")


def test_a_link_to_a_module_is_the_module(project: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f"{project}_linked.py").symlink_to(tmp_path / f"{project}_help.py")
    assert load(f"{project}_linked:check", tmp_path / "elsewhere")


def test_what_cannot_be_sent_is_named() -> None:
    lock = Lock()
    learners = {"locked": lambda instance, _: UCB1(instance.arms + lock.locked())}
    with pytest.raises(ValueError, match="learner 'locked' must be something that can be sent"):
        pack(Study(catalog.figure3(), learners, 10, seed=0))


def test_what_was_sent_is_removed_at_the_end(tmp_path: Path) -> None:
    code = (
        "from fallow.user_code import receive\n"
        "receive({'/nowhere': {'sent/__init__.py': b'a = 7'}})\n"
        "import sent; print(sent.a, sent.__file__)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "TEMP": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert told.stdout.startswith(f"7 {tmp_path}")
    assert list(tmp_path.iterdir()) == []
