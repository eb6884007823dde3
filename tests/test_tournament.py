"""The tournament: every learner on every family."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import run_command, runner

from fallow import catalog, optimal
from fallow.learners.registry import LEARNERS
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.spec import LearnerSpec
from fallow.studies.workers import local_workers
from reproduction.cli import app, tournament
from reproduction.tournament import replay
from reproduction.tournament.estimate import OPTIMUM, estimate
from reproduction.tournament.page import markdown
from reproduction.tournament.standing import (
    EARLY,
    REPLAYS,
    Standing,
    compared_rounds,
    load_standings,
    regret_curves,
    replay_all,
    standings,
    standings_json,
    told,
)
from reproduction.tournament.tables import MISSPECIFIED, TUNED, at_end
from reproduction.tournament.tuning import load_trials, load_tuning

ROOT = Path(__file__).parent.parent
TOURNAMENT = ROOT / "reproduction" / "experiments" / "tournament"
FAMILIES = sorted(TOURNAMENT.glob("*.toml"))
SPEC = """\
title = "{title}"
caption = "Two arms."
horizon = 1_500
runs = 4
seed = 3
checkpoints = [1, 10, 1_000, 1_500]

[learners.rotation]
exploration = 3

[learners."rotation, tuned"]
learner = "rotation"

[learners.ghost]

[instance]
catalog = "figure3"

[sweep]
epsilon = [-0.1, 0.1]
"""


def test_every_family_and_learner_takes_part() -> None:
    specs = [load_spec(path) for path in FAMILIES]
    assert len(specs) == 36
    assert all(spec.runs >= 30 for spec in specs)
    assert len({spec.seed for spec in specs}) == len({spec.title for spec in specs}) == len(specs)
    assert all(EARLY in compared_rounds(spec) for spec in specs)
    assert all(len(spec.rounds()) == 21 for spec in specs)
    assert all(spec.caption for spec in specs)
    played = {learner.learner for spec in specs for learner in spec.learners.values()}
    # The alternating learner is newer than the tournament; its measure is a switching cost.
    assert played == set(LEARNERS) - {"alternating-ucb", "bandit-ranker", "plan"}
    assert max(spec.first_instance().arms for spec in specs) == 1000
    assert set(MISSPECIFIED) <= {spec.title for spec in specs}


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_nothing_crashes_on_any_family(path: Path, tmp_path: Path) -> None:
    """Two short runs of every learner, on misspecified families too."""
    spec = load_spec(path)
    run(replace(spec, runs=2, horizon=300, checkpoints=(300,)), tmp_path, rows=True)
    _, studies = read_results(tmp_path)
    for study in studies:
        assert len(study.runs) == 2  # a run in which a learner fails is missing
        assert (study.rewards >= 0).all()
        assert (study.rewards[:, :, -1] <= 300).all()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    file = tmp_path / "family.toml"
    file.write_text(SPEC.format(title="A family"), encoding="utf-8")
    run(load_spec(file), tmp_path / "family", rows=True)
    return tmp_path / "family"


def _standings(folder: Path) -> list[Standing]:
    spec, _ = read_results(folder)
    with local_workers(1) as workers:
        return standings(folder, replay_all(folder, spec, workers))


def test_standings_are_means_over_runs_and_the_sweep(folder: Path) -> None:
    early, rotation, _, best, _, ghost = _standings(folder)
    _, studies = read_results(folder)
    assert (rotation.family, rotation.label, rotation.learner) == ("A family", *["rotation"] * 2)
    assert (rotation.parameters, best.parameters) == ({"exploration": 3}, {})
    assert (best.label, best.learner) == ("rotation, tuned", "rotation")
    assert (early.rounds, rotation.rounds, rotation.runs, rotation.seed) == (1000, 1500, 8, 3)
    optima = [optimal(catalog.figure3(epsilon)).gain for epsilon in (-0.1, 0.1)]
    for standing, column in ((early, 2), (rotation, 3)):
        shares = [
            float(reward) / (standing.rounds * optimum)
            for study, optimum in zip(studies, optima, strict=True)
            for reward in study.rewards[:, 0, column]
        ]
        assert standing.share == pytest.approx(np.mean(shares))
        lost = [study.regret("rotation", "optimum")[:, column] for study in studies]
        assert standing.regret == pytest.approx(np.mean(lost))
    assert rotation.share_half_width > 0 < rotation.regret_half_width
    assert ghost.regret > rotation.regret > best.regret > 0
    assert not rotation.against_bound
    assert rotation.seconds > 0


def test_switches_are_the_mean_of_some_runs(folder: Path) -> None:
    early, rotation, *_ = _standings(folder)
    spec, _ = read_results(folder)
    counts = [
        replay.count_switches(spec, "rotation", number, [1000, 1500])
        for number in range(replay.RUNS)
    ]
    assert (early.switches, rotation.switches) == tuple(np.mean(counts, axis=0))


def test_what_was_played_again_is_kept(folder: Path) -> None:
    first = _standings(folder)
    assert _standings(folder) == first  # with the same seconds
    kept = json.loads((folder / REPLAYS).read_text())
    kept["rotation"]["seconds"] = 77
    (folder / REPLAYS).write_text(json.dumps(kept))
    assert _standings(folder)[0].seconds == 77
    kept["ghost"]["switches"] = [1]
    for content in (json.dumps(kept), "[]", '{"rotation": 1}', "[" * 10**5):
        (folder / REPLAYS).write_text(content)
        with pytest.raises(ValueError, match=rf"{REPLAYS} is damaged: .*; remove it"):
            _standings(folder)


def test_regret_curves_are_means_over_runs(folder: Path) -> None:
    rounds, curves = regret_curves(folder)
    assert rounds == [10, 1000, 1500]
    early, rotation, *_ = _standings(folder)
    assert curves["rotation"][1:].tolist() == [early.regret, rotation.regret]


def test_what_learners_are_told_is_said() -> None:
    said = {
        "low-switch": "the order of the arms",
        "doubling": "the order of the arms",
        "ucb-greedy": "the delay of each arm",
        "rotation": "a bound on the delays",
        "rotation-unbounded": "nothing",
        "ghost": "the whole instance",
        "mine:Learner": "nothing",
    }
    assert {name: told(LearnerSpec(name, {})) for name in said} == said


def test_the_documented_standings_are_those_of_the_specs() -> None:
    path = ROOT / "docs" / "explanation" / "tournament.json"
    table = load_standings(path)
    assert standings_json(table) == path.read_bytes()
    specs = {spec.title: spec for spec in map(load_spec, FAMILIES)}
    trials = load_trials(TOURNAMENT / "learners" / "trials.json")
    page = (ROOT / "docs" / "explanation" / "tournament.md").read_text(encoding="utf-8")
    assert page == markdown(table, list(specs.values()), trials)
    assert {standing.family for standing in table} == set(specs)
    for title, spec in specs.items():
        assert (ROOT / "docs" / "explanation" / "tournament" / f"{spec.name}.svg").is_file()
        family = [standing for standing in table if standing.family == title]
        assert [standing.label for standing in at_end(family)] == list(spec.learners)
        for standing in family:
            assert (standing.runs, standing.seed) == (spec.runs * len(spec.points), spec.seed)


def test_all_that_was_tuned_takes_part_in_every_family() -> None:
    tuning = load_tuning(TOURNAMENT / "learners" / "trials.toml")
    labels = {learner + TUNED for learner in tuning.trials}
    for spec in map(load_spec, FAMILIES):
        assert labels <= spec.learners.keys()


def test_the_command_writes_standings_page_and_pictures(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        files.append(tmp_path / f"{name}.toml")
        files[-1].write_text(SPEC.format(title=name), encoding="utf-8")
    words = ["tournament", *map(str, files), "--out", str(tmp_path / "out")]
    words += ["--page", str(tmp_path / "page.md")]
    run_command(*words, app=app)
    table = load_standings(tmp_path / "out" / "standings.json")
    labels = ["rotation", "rotation, tuned", "ghost"]
    assert [(each.family, each.label, each.rounds) for each in table] == [
        (family, label, rounds)
        for family in ("one", "two")
        for label in labels
        for rounds in (1000, 1500)
    ]
    assert (tmp_path / "out" / "standings.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "two" / "regret.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "### two\n\nTwo arms. 8 runs, T = 1,500, seed 3.\n" in page
    assert "![Regret over time](tournament/two.svg)" in page
    assert "<svg" in (tmp_path / "tournament" / "two.svg").read_text(encoding="utf-8")
    run_command(*words, app=app)  # what is there is kept
    assert load_standings(tmp_path / "out" / "standings.json") == table


def test_where_a_run_fails_nothing_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "family.toml"
    file.write_text(SPEC.format(title="A family"), encoding="utf-8")
    monkeypatch.setattr(tournament, "run_spec", lambda *_, **__: 1)
    result = runner.invoke(app, ["tournament", str(file), "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert not (tmp_path / "out" / "standings.json").exists()


def test_the_estimate_counts_all_runs(tmp_path: Path) -> None:
    file = tmp_path / "family.toml"
    file.write_text(SPEC.format(title="A family"), encoding="utf-8")
    seen: list[int] = []
    with local_workers(1) as workers:
        costs = estimate([load_spec(file)], workers, seen.append)
    assert [cost.label for cost in costs] == ["rotation", "rotation, tuned", "ghost", OPTIMUM]
    runs = [8 + replay.RUNS + replay.TIMED] * 3 + [8]
    for cost, count in zip(costs, runs, strict=True):
        assert cost.hours == pytest.approx(cost.seconds * count / 3600)
    assert sum(seen) == 3
    assert "core-hours in all" in run_command("estimate", str(file), app=app)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("family", 1, "family must be text, got 1"),
        ("runs", "<b>", "runs must be a whole number"),
        ("share", math.nan, "share must be a finite number, got nan"),
        ("parameters", [], "parameters must be values by name, got"),
        ("against_bound", 1, "against_bound must be true or false, got 1"),
        ("more", 1, "a standing must hold family, label, "),
    ],
)
def test_a_wrong_file_of_standings_is_refused(
    tmp_path: Path, key: str, value: object, message: str
) -> None:
    first = json.loads(
        (ROOT / "docs" / "explanation" / "tournament.json").read_text(encoding="utf-8")
    )[0]
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{**first, key: value}]))
    with pytest.raises(ValueError, match=rf"x\.json must be a file of .*: {message}"):
        load_standings(path)
