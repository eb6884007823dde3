"""What the tournament's tables, page and pictures say of given standings."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fallow.studies.read import load_spec
from fallow.studies.spec import Spec
from reproduction.figures import heat_figure, regret_figure
from reproduction.tournament.page import markdown
from reproduction.tournament.standing import Standing
from reproduction.tournament.tables import (
    at_early,
    at_end,
    describe_families,
    describe_knowledge,
    highlighted,
    matrix,
    summarize,
    theory,
    tuned,
)
from reproduction.tournament.tuning import Trial

ROOT = Path(__file__).parent.parent
BOUND = "a bound on the delays"
FIRST = Standing(
    "A", "rotation", "rotation", {}, BOUND, 5000, 70, 9, 0.5, 0.1, -0.2, 1, 2, 0.1, True
)


def standing(
    family: str, label: str, share: float, rounds: int = 5000, said: str = BOUND
) -> Standing:
    learner = label.partition(",")[0]
    return replace(
        FIRST,
        family=family,
        label=label,
        learner=learner,
        share=share,
        rounds=rounds,
        told=said,
        against_bound=family == "B",
    )


TABLE = [
    standing("A", "rotation", 0.5, 1000),
    standing("A", "rotation", 0.6),
    standing("A", "rotation, tuned", 0.7, 1000),
    standing("A", "rotation, tuned", 0.8),
    standing("A", "lookahead", 0.9, 1000),
    standing("A", "lookahead", 0.75),
    standing("A", "ghost", 1.0, said="the whole instance"),
    standing("B", "rotation", 0.3),
    standing("B", "rotation, tuned", 0.4),
    standing("B", "lookahead", 0.4),
    standing("C", "rotation", 0.1, 1000),
    standing("C", "rotation", 0.2),
]


def specs(*titles: str) -> list[Spec]:
    spec = load_spec(ROOT / "reproduction" / "experiments" / "tournament" / "figure3.toml")
    return [replace(spec, title=title, name=f"family-{title}") for title in titles]


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading."""
    section = page.split(f"# {heading}\n", 1)[1].split("\n#", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split(" | ")] for line in lines]


def test_who_is_not_tuned_is_in_both_tables() -> None:
    assert [each.label for each in at_end(theory(TABLE))] == [
        *("rotation", "lookahead", "ghost"),
        *("rotation", "lookahead"),
        "rotation",
    ]
    assert [each.label for each in at_end(tuned(TABLE))] == [
        *("rotation, tuned", "lookahead", "ghost"),
        *("rotation, tuned", "lookahead"),
        "rotation",
    ]
    assert {each.rounds for each in at_early(TABLE)} == {1000}


def test_the_matrix_has_a_gap_where_a_learner_did_not_play() -> None:
    learners, families, shares = matrix(at_end(tuned(TABLE)))
    assert (learners, families) == (["lookahead", "rotation", "ghost"], ["A", "B", "C"])
    assert shares[1].tolist() == [0.8, 0.4, 0.2]
    assert np.isnan(shares[::2, 2]).all()
    texts = [text.get_text() for text in heat_figure(learners, families, shares).axes[0].texts]
    assert texts == ["0.75", "0.40", "0.80", "0.40", "0.20", "1.00"]


def test_summaries_compare_those_who_are_told_the_same_where_all_played() -> None:
    rotation, lookahead, ghost = summarize(tuned(TABLE))
    assert (rotation.learner, rotation.rank, rotation.families) == ("rotation", 1, 2)
    assert rotation.end == pytest.approx(0.6)  # without C, where lookahead did not play
    assert (rotation.early, rotation.worst, rotation.worst_family) == (0.7, 0.2, "C")
    assert (lookahead.learner, lookahead.rank) == ("lookahead", 2)
    assert lookahead.end == pytest.approx(0.575)
    assert (ghost.told, ghost.rank, ghost.end) == ("the whole instance", 1, 1.0)
    assert math.isnan(ghost.early)
    assert [each.learner for each in summarize(theory(TABLE))] == ["lookahead", "rotation", "ghost"]


def test_equal_learners_have_equal_ranks() -> None:
    table = [standing("A", label, 0.5) for label in ("x", "y")] + [standing("A", "z", 0.4)]
    assert [each.rank for each in summarize(table)] == [1, 1, 3]


def test_the_page_has_both_tables_at_both_times() -> None:
    page = markdown(TABLE, specs("A", "B", "C"), [])
    head, said, first, second, third = rows(page, "Tuned, by family")
    assert head == ["| family", "lookahead", "rotation", "ghost |"]
    assert said == ["| told", BOUND, BOUND, "the whole instance |"]
    assert first == ["| A", "**0.900** / 0.750", "0.700 / **0.800**", "- / 1.000 |"]
    assert second == ["| B *", "- / **0.400**", "- / **0.400**", "|"]
    assert third[2] == "**0.100** / **0.200**"
    assert rows(page, "With the constants of theory, by family")[2][2] == "0.500 / 0.600"
    summary = rows(page, "Tuned")
    assert summary[1] == [
        *(f"| {BOUND} (2 families)", "rotation", "0.700", "0.600", "1", "0.200", "C |")
    ]
    assert "3 learners on 3 families, 70 runs each" in page
    assert "with full knowledge: ghost." in page
    assert "No theory" not in page
    unproved = markdown([standing("A", "joint-ranking", 0.5)], specs("A"), [])
    assert "No theory asks for the constants of these, so their defaults stand" in unproved
    assert "stand in for it: joint-ranking." in unproved


def test_a_section_has_its_rows_by_share_with_intervals() -> None:
    page = markdown(TABLE, specs("A", "B", "C"), [])
    head, *found = rows(page, "A")
    assert head[3:5] == ["share at 1,000", "share at 5,000"]
    assert [row[0] for row in found] == ["| ghost", "| rotation", "| lookahead", "| rotation"]
    tuned_row = found[1]
    assert tuned_row[1:] == [
        *(", tuned", BOUND, "0.7000 ± 0.1000", "0.8000 ± 0.1000", "0 ± 1", "2.0", "0.100 |")
    ]
    assert found[0][3] == "-"
    assert "![Regret over time](tournament/family-A.svg)" in page
    caption = "The two arms of the paper's Figure 3, whose ranking policies earn the same."
    assert f"### A\n\n{caption} 70 runs, T = 5,000, seed 9.\n" in page
    assert "T = 5,000, seed 9. Left out: ghost.\n" in page
    assert "Left out: rotation, tuned; lookahead; ghost.\n" in page


def test_the_page_says_what_was_tried() -> None:
    trials = [
        Trial("rotation", {"exploration": value}, {"A": share, "B": 0.5})
        for value, share in ((0.5, 0.7), (1, 0.9), (2, 0.9))
    ]
    page = markdown(TABLE, specs("A", "B", "C"), trials)
    assert "3 trials for each learner that has a constant, on other draws of: A; B." in page
    assert rows(page, "What was tried")[1] == [
        "| rotation",
        "exploration = 0.5",
        "exploration = 0.5, 1, 2",
        "exploration = 1",
        "0.700",
        "0.600 |",
    ]
    proved = [replace(each, parameters={"exploration": 3}) for each in TABLE]
    page = markdown(proved, specs("A", "B", "C"), trials)
    assert rows(page, "What was tried")[1][1] == "exploration = 3"
    assert "Nothing was tuned." in markdown(TABLE, specs("A", "B", "C"), [])
    inner = [
        Trial("doubling", {"first_horizon": place, "options": {"delta": place / 4}}, {"A": 0.5})
        for place in (1, 2)
    ]
    page = markdown(TABLE, specs("A", "B", "C"), inner)
    assert rows(page, "What was tried")[1][2] == "first_horizon = 1, 2; delta = 0.25, 0.5"


def test_names_do_not_break_the_page() -> None:
    title = "a|b `c`\n\n<script>"
    page = markdown([standing(title, "[x](y)\x1b", 0.5)], specs(title), [])
    assert "\n### a\\|b \\`c\\` \\<script>\n" in page
    assert "\n| [x\\](y)\\\\x1b | " in page


def test_what_learners_are_told_and_which_families_differ_is_said() -> None:
    assert describe_knowledge(tuned(TABLE)) == (
        "Told the whole instance: ghost. Told a bound on the delays: rotation, lookahead."
    )
    drifting = [standing("drifting baselines", "rotation", 0.5)]
    assert describe_families(drifting) == (
        "What learners assume or are told is wrong on: drifting baselines."
    )
    assert describe_families(TABLE).endswith("stands for it, on: B.")
    assert describe_families([standing("A", "rotation", 0.5)]) == ""


def test_a_picture_points_out_the_best_and_the_flagship() -> None:
    labels = "abcdefg"
    family = [standing("A", label, 1 - place / 10) for place, label in enumerate(labels)]
    assert highlighted(family) == list("abcde")
    shown = highlighted([*family, standing("A", "bayes-rotation, tuned", 0.1)])
    assert shown == [*"abcde", "bayes-rotation"]
    curves = {label: np.array([-1.0, 2.0, 3.0]) for label in labels}
    (axes,) = regret_figure([1, 10, 100], curves, list("gf"), "A $ family").axes
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["g", "f"]
    lines = axes.get_lines()
    assert len(lines) == 7
    assert sum(line.get_color() == "#b0b0b0" for line in lines) == 5
    heights = np.array([line.get_ydata() for line in lines])
    assert np.isnan(heights[:, 0]).all()
    assert (heights[:, 1:] == [2, 3]).all()
