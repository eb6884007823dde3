"""The tournament: every learner on every family."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import runner

from fallow import catalog, optimal
from fallow.figures import heat_figure
from fallow.learners.registry import LEARNERS
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from reproduction.cli import app
from reproduction.tournament import load_standings, markdown, matrix, standings

ROOT = Path(__file__).parent.parent
EXPERIMENTS = ROOT / "reproduction" / "experiments"
FAMILIES = sorted((EXPERIMENTS / "tournament").glob("*.toml"))
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
    assert played == set(LEARNERS) - {"bandit-ranker", "plan"}
    arms = [spec.first_instance().arms for spec in specs]
    assert max(arms) == 100
    assert {"falling payoffs", "drifting baselines", "delays above the bound"} <= {
        spec.title for spec in specs
    }


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
    assert rotation.horizon == 500
    optima = [optimal(catalog.figure3(epsilon)).gain for epsilon in (-0.1, 0.1)]
    shares = [
        float(reward) / (500 * optimum)
        for study, optimum in zip(studies, optima, strict=True)
        for reward in study.rewards[0, :, -1]
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
    assert "| B | C * | **0.250** |" in page


def test_the_command_writes_standings_page_and_heat_map(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        files.append(tmp_path / f"{name}.toml")
        files[-1].write_text(SPEC.format(title=name), encoding="utf-8")
    words = ["tournament", *map(str, files), "--out", str(tmp_path / "out")]
    result = runner.invoke(app, [*words, "--page", str(tmp_path / "page.md")])
    assert result.exit_code == 0, result.stderr
    table = load_standings(tmp_path / "out" / "standings.json")
    assert [standing.family for standing in table] == ["one", "one", "two", "two"]
    assert (tmp_path / "out" / "standings.png").read_bytes().startswith(b"\x89PNG")
    assert "## two" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_a_wrong_file_of_standings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([{"family": 1}]))
    with pytest.raises(ValueError, match=r"x\.json must be a file of `reproduction tournament`"):
        load_standings(tmp_path / "x.json")
