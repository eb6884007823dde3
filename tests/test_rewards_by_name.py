"""Reward laws of a user's own by name, in specs and on the command line."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers import contents, run_command, runner
from test_rewards import around, pi_low, pi_ucb

from fallow import catalog, replicate
from fallow.cli import app
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec

ROOT = Path(__file__).parent.parent
DOCUMENTED = re.findall(
    r"```python\n(.*?)```",
    (ROOT / "docs" / "guides" / "experiments.md").read_text(),
    flags=re.DOTALL,
)[0]
"""The law `around` of the documentation."""
SPEC = """\
horizon = 300
runs = 12
seed = 4
rewards = "{law}"

[instance]
catalog = "figure2"

[learners.low-switch]
confidence_scale = 0.05
"""
WRONG_LAWS = """
def short(means, generator):
    return means[1:]

def alone(means):
    return means

def breaks(means, generator):
    return means["x"]
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A folder with the documented law in a module that no other test has loaded; its name."""
    name = f"laws_{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:8]}"
    (tmp_path / f"{name}.py").write_text(DOCUMENTED + WRONG_LAWS)
    monkeypatch.chdir(tmp_path)
    return name


def write_spec(law: str) -> Path:
    path = Path("study.toml")
    path.write_text(SPEC.format(law=law))
    return path


def test_a_spec_names_a_law_of_ones_own(module: str) -> None:
    file = write_spec(f"{module}:around")
    refused = runner.invoke(app, ["run", str(file), "--out", "out"])
    assert refused.exit_code == 2
    assert "line 4: rewards must not be Python code unless you trust it" in refused.stderr
    for workers in ("1", "2"):
        words = ["run", str(file), "--out", f"out{workers}", "--rows", "--allow-imports"]
        run_command(*words, "--workers", workers)
    assert contents(Path("out1/study")) == contents(Path("out2/study")) != {}
    _, (found,) = read_results(Path("out1/study"))
    alone = replicate(catalog.figure2, pi_low, 300, 12, seed=4, workers=1, rewards=around)
    np.testing.assert_array_equal(found.rewards, alone.rewards)
    replayed = run_command("replay", str(file), "7", "--allow-imports")
    assert f"{alone.rewards[7, 0, -1]:,.3f}" in replayed
    assert run_command("summarize", "out1")


def test_changed_code_of_a_law_changes_the_hash(module: str) -> None:
    file = write_spec(f"{module}:around")
    before = load_spec(file, allow_imports=True).digest()
    assert load_spec(file, allow_imports=True).digest() == before
    with Path(f"{module}.py").open("a") as source:
        source.write("changed = True\n")
    assert load_spec(file, allow_imports=True).digest() != before


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ("arround", "must define arround, got no such name; did you mean 'around'"),
        (
            "short",
            "rewards must draw a reward in .* got InputError: rewards drawn by short must be one",
        ),
        ("alone", "rewards must draw a reward in .* got TypeError: alone.. takes 1 positional"),
        ("breaks", r"rewards must draw a reward in .* got IndexError: .*\.py, line 16"),
    ],
)
def test_mistakes_in_a_law_are_told_with_the_line_of_the_spec(
    module: str, law: str, message: str
) -> None:
    file = write_spec(f"{module}:{law}")
    result = runner.invoke(app, ["run", str(file), "--out", "out", "--allow-imports"])
    assert result.exit_code == 2
    assert re.search(f"study.toml, line 4: .*{message}", result.stderr), result.stderr
    assert result.stderr.count("\n") == 1
    result = runner.invoke(app, ["simulate", "figure2", "--rewards", f"{module}:{law}"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


FAST = ("simulate", "figure2", "--learner", "ranking-ucb", "--runs", "4", "--horizon", "300")


def test_the_command_line_takes_laws_and_says_what_they_cost(module: str) -> None:
    line = "are drawn one by one: a block costs all its pulls\n"
    assert f"rewards {module}:around {line}" in run_command(*FAST, "--rewards", f"{module}:around")
    assert f"rewards beta {line}" in run_command(*FAST, "--rewards", "beta")
    assert "one by one" not in run_command(*FAST)
    (row,) = json.loads(run_command(*FAST, "--rewards", f"{module}:around", "--json"))
    own = replicate(catalog.figure2, pi_ucb, 300, 4, seed=0, rewards=around)
    assert row["regret"] == pytest.approx(own.regret("learner")[:, -1].mean())


def test_the_command_line_sets_the_concentration() -> None:
    (row,) = json.loads(run_command(*FAST, "--rewards", "beta", "--concentration", "1", "--json"))
    one, ten = (
        replicate(catalog.figure2, pi_ucb, 300, 4, 0, rewards="beta", concentration=concentration)
        for concentration in (1, 10)
    )
    assert row["regret"] == pytest.approx(one.regret("learner")[:, -1].mean())
    assert row["regret"] != pytest.approx(ten.regret("learner")[:, -1].mean())
