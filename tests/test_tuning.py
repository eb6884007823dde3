"""Tuning: the same trials for every learner, on other draws, and the best is taken."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from helpers import run_command, runner

from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from reproduction.cli import app
from reproduction.tournament.tuning import (
    Trial,
    choose,
    load_trials,
    load_tuning,
    read_trials,
    trials_json,
    tuned_toml,
)

ROOT = Path(__file__).parent.parent
TUNING = ROOT / "reproduction" / "experiments" / "tournament" / "learners" / "trials.toml"
FAMILY = """\
title = "Family {name}"
horizon = 300
runs = 50
seed = 3
learners = "learners/theory.toml"

[instance]
catalog = "{name}"
"""
TRIALS = """\
runs = 2

[families]
figure2 = 70
figure3 = 71

[trials.rotation]
exploration = [50, 0.5]

[trials.sliding-window-ucb]
window = [10, 200]
exploration = [0.6, 0.1]

[trials.doubling]
options = [{ confidence_scale = 1 }, { confidence_scale = 0.01 }]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "learners"
    folder.mkdir()
    (folder / "theory.toml").write_text("[rotation]\nexploration = 3\n", encoding="utf-8")
    for name in ("figure2", "figure3"):
        (tmp_path / f"{name}.toml").write_text(FAMILY.format(name=name), encoding="utf-8")
    (folder / "trials.toml").write_text(TRIALS, encoding="utf-8")
    return folder / "trials.toml"


def test_trial_i_takes_value_i_of_each_list(file: Path) -> None:
    tuning = load_tuning(file)
    assert tuning.trials["sliding-window-ucb"] == [
        {"window": 10, "exploration": 0.6},
        {"window": 200, "exploration": 0.1},
    ]
    studies = [study for _, _, study in tuning.studies()]
    assert [study.name for study in studies][:3] == [
        "figure2-rotation",
        "figure2-sliding-window-ucb",
        "figure2-doubling",
    ]
    assert {(study.seed, study.runs) for study in studies} == {(70, 2), (71, 2)}
    assert [each.parameters for each in studies[0].learners.values()] == tuning.trials["rotation"]


def test_the_command_chooses_the_best_mean_share(file: Path, tmp_path: Path) -> None:
    chosen, found = tmp_path / "learners" / "tuned.toml", tmp_path / "trials.json"
    words = ["tune", str(file), "--out", str(tmp_path / "out")]
    words += ["--learners", str(chosen), "--trials", str(found)]
    run_command(*words, app=app)
    trials = load_trials(found)
    assert [trial.learner for trial in trials[::2]] == list(load_tuning(file).trials)
    _, (result,) = read_results(tmp_path / "out" / "figure3-rotation")
    assert trials[1].shares["Family figure3"] == pytest.approx(np.mean(result.share("1")[:, -1]))
    assert trials[1].mean == pytest.approx(sum(trials[1].shares.values()) / 2)
    assert trials[1].mean > trials[0].mean  # so much exploration is too much
    text = chosen.read_text(encoding="utf-8")
    assert tomllib.loads(text)["rotation, tuned"] == {"learner": "rotation", "exploration": 0.5}
    both = '["learners/theory.toml", "learners/tuned.toml"]'
    family = FAMILY.format(name="figure2").replace('"learners/theory.toml"', both)
    (tmp_path / "both.toml").write_text(family, encoding="utf-8")
    assert list(load_spec(tmp_path / "both.toml").learners) == [
        "rotation",
        *(f"{trial.learner}, tuned" for trial in choose(trials)),
    ]
    rows = list((tmp_path / "out").glob("*/rows-*.parquet"))
    stamps = [path.stat().st_mtime_ns for path in rows]
    assert len(rows) == 6
    run_command(*words, app=app)  # what is there is kept
    assert [path.stat().st_mtime_ns for path in rows] == stamps
    assert load_trials(found) == trials


def test_the_first_of_equal_trials_is_chosen() -> None:
    trials = [Trial("rotation", {"exploration": value}, {"A": 0.5}) for value in (1, 2)]
    assert choose(trials) == trials[:1]
    assert choose([*trials, Trial("rotation", {"exploration": 4}, {"A": 0.6})])[0].mean == 0.6


def test_chosen_values_are_written_as_toml() -> None:
    options = {"delta": 0.2, "rounding": "up"}
    parameters = {"of": "low-switch", "first_horizon": 64, "options": options}
    text = tuned_toml([Trial("doubling", parameters, {"A": 0.5})])
    assert tomllib.loads(text) == {"doubling, tuned": {"learner": "doubling", **parameters}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("runs = 2", "runs = 0", "line 1: runs must be a whole number >= 1, got 0"),
        ("runs = 2", "runs = 2\nmore = 1", "line 2: a key must be one of runs, .*, got 'more'"),
        ("figure2 = 70", "figure2 = 3", "line 4: families.figure2 must not be that of the tour"),
        ("figure2 = 70", "figure9 = 70", "FILE must be a spec, a TOML file, got .*figure9"),
        ("trials.rotation", "trials.rotator", "must be a learner, got 'rotator'; did you mean"),
        ("[50, 0.5]", "0.5", "line 8: trials.rotation.exploration must be a list of values"),
        ("[50, 0.5]", "[]", "line 8: trials.rotation.exploration must be a list of values"),
        ("[0.6, 0.1]", "[0.6]", "trials.sliding-window-ucb must have 2 trials, .*, got lists of 1"),
        ("[50, 0.5]", "[50, -1]", "exploration must be finite and above 0, got -1"),
        ("exploration = [50", "explore = [50", "line 8: a key of trials.rotation must be one of"),
    ],
)
def test_wrong_files_of_trials_are_named(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(TRIALS.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_tuning(file)
    words = ["--out", str(file.parent), "--learners", "x", "--trials", "x"]
    result = runner.invoke(app, ["tune", str(file), *words])
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("learner", 5, "learner must be text, got 5"),
        ("parameters", 5, "parameters must be values by name"),
        ("shares", {}, "shares must hold at least one family, got none"),
        ("shares", {"A": "x"}, "shares.A must be a finite number, got 'x'"),
        ("more", 5, "a trial must hold learner, parameters, shares"),
    ],
)
def test_a_wrong_file_of_shares_is_refused(
    tmp_path: Path, key: str, value: object, message: str
) -> None:
    path = tmp_path / "x.json"
    right = {"learner": "rotation", "parameters": {}, "shares": {"A": 0.5}}
    path.write_text(json.dumps([{**right, key: value}]))
    with pytest.raises(ValueError, match=rf"x\.json must be a file of .*: {message}"):
        load_trials(path)


def test_the_documented_trials_are_those_of_the_file() -> None:
    """Each learner had eight, on families that the tournament draws with other seeds."""
    tuning = load_tuning(TUNING)
    trials = load_trials(TUNING.with_suffix(".json"))
    assert trials_json(trials) == TUNING.with_suffix(".json").read_bytes()
    assert {len(each) for each in tuning.trials.values()} == {8}
    assert [(trial.learner, trial.parameters) for trial in trials] == [
        (learner, parameters) for learner, each in tuning.trials.items() for parameters in each
    ]
    titles = {family.title for family in tuning.families}
    assert all(set(trial.shares) == titles for trial in trials)
    assert tuned_toml(choose(trials)) == TUNING.with_name("tuned.toml").read_text(encoding="utf-8")
    tournament = {load_spec(path).seed for path in TUNING.parent.parent.glob("*.toml")}
    assert not tournament & {family.seed for family in tuning.families}


def test_unfinished_trials_are_told(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="figure2-rotation must be a folder that `fallow run`"):
        read_trials(load_tuning(file), tmp_path)
