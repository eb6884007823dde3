"""The tournament: every learner on every family."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import run_command

from fallow import catalog, optimal
from fallow.learners.registry import LEARNERS
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from reproduction.cli import app
from reproduction.figures import heat_figure
from reproduction.tournament import (
    MISSPECIFIED,
    Standing,
    describe_families,
    describe_knowledge,
    load_standings,
    markdown,
    matrix,
    standings,
    standings_json,
)

ROOT = Path(__file__).parent.parent
EXPERIMENTS = ROOT / "reproduction" / "experiments"
FAMILIES = sorted((EXPERIMENTS / "tournament").glob("*.toml"))
NEWCOMERS = {
    "bayes-rotation",
    "bayes-rotation-unbounded",
    "imed-kd",
    "kl-ucb-greedy",
    "kl-ucb-whittle",
    "lookahead-thompson",
    "psrl",
}
"""Learners that have come since the tournament was played."""
SPEC = """\
title = "{title}"
horizon = 500
runs = 4
seed = 3
switching_costs = [0, 5]

[learners.rotation]

[learners.ghost]

[instance]
catalog = "figure3"

[sweep]
epsilon = [-0.1, 0.1]
"""


def test_every_family_and_learner_takes_part() -> None:
    specs = [load_spec(path) for path in FAMILIES]
    assert len(specs) >= 20
    assert all(spec.runs >= 50 for spec in specs)
    assert len({spec.seed for spec in specs}) == len(specs)
    played = {learner.learner for spec in specs for learner in spec.learners.values()}
    assert played == set(LEARNERS) - {"bandit-ranker", "plan"} - NEWCOMERS
    arms = [spec.first_instance().arms for spec in specs]
    assert max(arms) == 100
    assert set(MISSPECIFIED) <= {spec.title for spec in specs}


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_nothing_crashes_on_any_family(path: Path, tmp_path: Path) -> None:
    """Two short runs of every learner, on misspecified families too."""
    spec = load_spec(path)
    run(replace(spec, runs=2, horizon=300), tmp_path, rows=True)
    _, studies = read_results(tmp_path)
    for study in studies:
        assert (study.rewards >= 0).all()
        assert (study.rewards[:, :, -1] <= 300).all()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    file = tmp_path / "family.toml"
    file.write_text(SPEC.format(title="A family"), encoding="utf-8")
    run(load_spec(file), tmp_path / "family", rows=True)
    return tmp_path / "family"


def test_standings_are_means_over_runs_and_the_sweep(folder: Path) -> None:
    _, (rotation, ghost) = standings(folder)
    _, studies = read_results(folder)
    assert (rotation.family, rotation.learner, rotation.runs) == ("A family", "rotation", 8)
    assert (rotation.horizon, rotation.seed) == (500, 3)
    optima = [optimal(catalog.figure3(epsilon)).gain for epsilon in (-0.1, 0.1)]
    shares = [
        float(reward) / (500 * optimum)
        for study, optimum in zip(studies, optima, strict=True)
        for reward in study.rewards[:, 0, -1]
    ]
    assert rotation.share == pytest.approx(np.mean(shares))
    assert rotation.share_half_width > 0
    lost = [study.regret("rotation", switching_cost=5)[:, -1] for study in studies]
    assert rotation.regret_against_ghost["5"] == pytest.approx(np.mean(lost))
    assert ghost.regret_against_ghost["5"] == pytest.approx(ghost.regret_against_ghost["0"])
    assert ghost.switches == 0 < rotation.switches
    assert ghost.regret_against_optimum > rotation.regret_against_optimum > 0
    assert rotation.seconds > 0


def test_the_matrix_has_a_gap_where_a_learner_did_not_play(folder: Path) -> None:
    _, (rotation, ghost) = standings(folder)
    assert not rotation.against_bound
    other = replace(rotation, family="B | C", share=0.25, against_bound=True)
    table = [rotation, replace(ghost, share=0.999), other]
    learners, families, shares = matrix(table)
    assert (learners, families) == (["rotation", "ghost"], ["A family", "B | C"])
    assert shares[0].tolist() == [rotation.share, 0.25]
    assert math.isnan(shares[1, 1])
    texts = [text.get_text() for text in heat_figure(learners, families, shares).axes[0].texts]
    assert texts == [f"{rotation.share:.2f}", "0.25", "1.00"]
    page = markdown(table)
    assert f"| A family | **{rotation.share:.3f}** | 0.999 |" in page
    assert r"| B \| C * | **0.250** |  |" in page


def _standing(costs: tuple[str, ...]) -> Standing:
    regrets = {cost: float(place) for place, cost in enumerate(costs)}
    return Standing("A", "rotation", 70, 500, 9, 0.5, 0.1, regrets, regrets, 3, 1, 2, 0.1, True)


@pytest.mark.parametrize("costs", [("0", "5"), ("0.25", "1", "2", "4")])
def test_the_page_has_the_costs_of_the_standings(costs: tuple[str, ...]) -> None:
    head, line, row = markdown([_standing(costs)]).split("\n\n")[-1].splitlines()
    heads = [cell.strip() for cell in head.split("|")[1:-1]]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert heads[2:-3] == [f"regret against ghost, cost {cost}" for cost in costs]
    assert cells[2:-3] == [f"{place} ± {place}" for place in range(len(costs))]
    assert line.count("---") == len(heads)


def test_the_page_has_the_numbers_of_its_own_standings() -> None:
    page = markdown([_standing(("0",)), replace(_standing(("0",)), family="B", runs=50, seed=8)])
    assert "1 learners on 2 families, 50 to 70 runs each" in page
    assert "## A\n\n70 runs, T = 500, seed 9.\n" in page
    assert "## B\n\n50 runs, T = 500, seed 8.\n" in page
    assert "follow plans" not in page


def test_what_learners_are_told_is_said() -> None:
    told = describe_knowledge(["low-switch", "ucb-greedy", "rotation", "ucb1", "ghost", "mine"])
    assert told == (
        "Told the whole instance: ghost. Told the order of the arms: low-switch. "
        "Told the delay of each arm: ucb-greedy. Told a bound on the delays: rotation."
    )


def test_families_that_are_different_are_named_only_if_they_were_played() -> None:
    bounded = _standing(("0",))
    drifting = replace(bounded, family="drifting baselines", against_bound=False)
    assert describe_families([drifting]) == (
        "What learners assume or are told is wrong on: drifting baselines."
    )
    assert describe_families([bounded]).endswith("stands for it, on: A.")
    assert describe_families([replace(bounded, against_bound=False)]) == ""


def test_the_documented_standings_are_those_of_the_specs() -> None:
    path = ROOT / "docs" / "tournament.json"
    table = load_standings(path)
    assert standings_json(table) == path.read_bytes()
    assert (ROOT / "docs" / "tournament.md").read_text(encoding="utf-8") == markdown(table)
    specs = {spec.title: spec for spec in map(load_spec, FAMILIES)}
    assert {standing.family for standing in table} == set(specs)
    for standing in table:
        spec = specs[standing.family]
        runs = spec.runs * len(spec.points)
        assert (standing.runs, standing.seed) == (runs, spec.seed)
        assert list(standing.regret_against_ghost) == [f"{cost:g}" for cost in spec.switching_costs]


def test_the_command_writes_standings_page_and_heat_map(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        files.append(tmp_path / f"{name}.toml")
        files[-1].write_text(SPEC.format(title=name), encoding="utf-8")
    words = ["tournament", *map(str, files), "--out", str(tmp_path / "out")]
    run_command(*words, "--page", str(tmp_path / "page.md"), app=app)
    table = load_standings(tmp_path / "out" / "standings.json")
    assert [standing.family for standing in table] == ["one", "one", "two", "two"]
    assert (tmp_path / "out" / "standings.png").read_bytes().startswith(b"\x89PNG")
    assert "## two" in (tmp_path / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("family", 1, "family must be text, got 1"),
        ("runs", "<b>", "runs must be a whole number"),
        ("share", math.nan, "share must be a finite number, got nan"),
        ("regret_against_ghost_half_width", {}, "regret_against_ghost_half_width must hold 0"),
        ("against_bound", 1, "against_bound must be true or false, got 1"),
        ("more", 1, "a standing must hold family, learner, "),
    ],
)
def test_a_wrong_file_of_standings_is_refused(
    tmp_path: Path, key: str, value: object, message: str
) -> None:
    first = json.loads((ROOT / "docs" / "tournament.json").read_text(encoding="utf-8"))[0]
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{**first, key: value}]))
    with pytest.raises(ValueError, match=rf"x\.json must be a file of .*: {message}"):
        load_standings(path)


def test_names_do_not_break_the_page_of_the_standings() -> None:
    first = load_standings(ROOT / "docs" / "tournament.json")[0]
    page = markdown([replace(first, family="a|b `c`\n\n<script>", learner="[x](y)\x1b")])
    assert "\n## a\\|b \\`c\\` \\<script>\n" in page
    assert "\n| [x\\](y)\\\\x1b | " in page
