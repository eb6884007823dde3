"""The page of the tournament, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from fallow.intervals import format_estimate
from fallow.learners.registry import find_learner
from fallow.studies.spec import Spec
from reproduction.text import format_range, markdown_table, markdown_text
from reproduction.tournament.replay import RUNS
from reproduction.tournament.standing import EARLY, Standing
from reproduction.tournament.tables import (
    PLANS,
    TUNED,
    UNPROVED,
    at_early,
    at_end,
    describe_families,
    matrix,
    name_of,
    summarize,
    theory,
    tuned,
)
from reproduction.tournament.tuning import Trial, choose

PICTURES = "tournament"
"""The folder of the families' pictures beside the page."""


def markdown(table: Sequence[Standing], specs: Sequence[Spec], trials: Sequence[Trial]) -> str:
    """Return the standings as a page of the documentation."""
    by_title = {spec.title: spec for spec in specs}
    families = list(dict.fromkeys(standing.family for standing in table))
    kinds = {"Tuned": tuned(table), "With the constants of theory": theory(table)}
    lines = [_introduction(table), "## Over all families", "", OVERALL]
    for kind, rows in kinds.items():
        lines += ["", f"### {kind}", "", *_summary_table(rows)]
    lines += ["", "## What was tried", "", _trials_text(trials), "", *_trials_table(table, trials)]
    lines += ["", "## By family", "", BY_FAMILY.format(early=f"{EARLY:,}")]
    for kind, rows in kinds.items():
        lines += ["", f"### {kind}, by family", "", *_share_table(rows)]
    for family in families:
        lines += _family_section(table, by_title[family])
    return "\n".join([*lines, ""])


def _introduction(table: Sequence[Standing]) -> str:
    played = dict.fromkeys(standing.learner for standing in table)
    unproved = [learner for learner in played if learner in UNPROVED]
    followers = [learner for learner in played if learner in PLANS]
    sentences = [describe_families(table)]
    if followers:
        sentences.append(f"These follow plans made with full knowledge: {', '.join(followers)}.")
    if unproved:
        sentences.append(
            "No theory asks for the constants of these, so their defaults stand in for it: "
            f"{', '.join(unproved)}."
        )
    return INTRODUCTION.format(
        learners=len(played),
        families=len({standing.family for standing in table}),
        runs=format_range(standing.runs for standing in table),
        early=f"{EARLY:,}",
        switch_runs=RUNS,
        notes=" ".join(filter(None, sentences)),
    )


def _summary_table(table: Sequence[Standing]) -> list[str]:
    head = ("told", "learner", f"mean share at {EARLY:,}", "at the horizon", "rank")
    rows = [
        (
            f"{each.told} ({each.families} families)",
            each.learner,
            _number(each.early),
            _number(each.end),
            f"{each.rank}",
            _number(each.worst),
            each.worst_family,
        )
        for each in summarize(table)
    ]
    return markdown_table((*head, "worst share", "worst on"), rows)


def _share_table(table: Sequence[Standing]) -> list[str]:
    learners, families, _ = matrix(at_end(table))
    told = {name_of(standing): standing.told for standing in table}
    marks = {standing.family: " *" if standing.against_bound else "" for standing in table}
    early, ends = _cells(at_early(table)), _cells(at_end(table))
    rows = [["told", *(told[learner] for learner in learners)]]
    for family in families:
        cells = [
            f"{early.get((family, learner), '-')} / {ends[family, learner]}"
            if (family, learner) in ends
            else ""
            for learner in learners
        ]
        rows.append([f"{family}{marks[family]}", *cells])
    return markdown_table(["family", *learners], rows)


def _cells(table: Sequence[Standing]) -> dict[tuple[str, str], str]:
    """Return the shares by family and learner, the best of those who learn in bold."""
    best: dict[str, float] = {}
    for standing in table:
        if standing.learner not in PLANS:
            best[standing.family] = max(standing.share, best.get(standing.family, 0))
    cells = {}
    for standing in table:
        is_best = standing.share >= best.get(standing.family, 0) - 5e-4
        bold = is_best and standing.learner not in PLANS
        cells[standing.family, name_of(standing)] = _number(standing.share, bold)
    return cells


def _number(share: float, bold: bool = False) -> str:
    if math.isnan(share):
        return "-"
    return f"**{share:.3f}**" if bold else f"{share:.3f}"


def _trials_text(trials: Sequence[Trial]) -> str:
    if not trials:
        return "Nothing was tuned."
    budget = sum(trial.learner == trials[0].learner for trial in trials)
    families = dict.fromkeys(family for trial in trials for family in trial.shares)
    return TRIALS.format(budget=budget, families="; ".join(map(markdown_text, families)))


def _trials_table(table: Sequence[Standing], trials: Sequence[Trial]) -> list[str]:
    head = ("learner", "theory", "tried", "chosen", "mean share of the chosen", "of the worst")
    rows = []
    for best in choose(trials):
        tried = [trial for trial in trials if trial.learner == best.learner]
        rows.append(
            (
                best.learner,
                format_parameters(_theory_values(table, best)) or "as by default",
                _tried_values(tried),
                format_parameters(best.parameters),
                f"{best.mean:.3f}",
                f"{min(trial.mean for trial in tried):.3f}",
            )
        )
    return markdown_table(head, rows) if rows else []


def _theory_values(table: Sequence[Standing], trial: Trial) -> dict[str, Any]:
    """Return what the theory's entry of a learner has for the parameters of a trial."""
    given = next((each.parameters for each in table if each.label == trial.learner), {})
    defaults = signature(find_learner(trial.learner)).parameters
    return {name: given.get(name, defaults[name].default) for name in trial.parameters}


def _tried_values(trials: Sequence[Trial]) -> str:
    """Return the values of each parameter, trial by trial."""
    flat = [_flat(trial.parameters) for trial in trials]
    return "; ".join(f"{name} = {', '.join(str(each[name]) for each in flat)}" for name in flat[0])


def format_parameters(parameters: Mapping[str, Any]) -> str:
    """Return parameters as text; those of an inner learner as if they were its own.

    Examples
    --------
    >>> format_parameters({"exploration": 3, "options": {"delta": 0.1}})
    'exploration = 3, delta = 0.1'
    """
    return ", ".join(f"{name} = {value}" for name, value in _flat(parameters).items())


def _flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in parameters.items():
        flat.update(value if isinstance(value, Mapping) else {name: value})
    return flat


def _family_section(table: Sequence[Standing], spec: Spec) -> list[str]:
    family = [standing for standing in table if standing.family == spec.title]
    ends = sorted(at_end(family), key=lambda standing: -standing.share)
    early = {standing.label: standing for standing in at_early(family)}
    played = {standing.label for standing in family}
    absent = [label for label in dict.fromkeys(each.label for each in table) if label not in played]
    first = ends[0]
    head = (
        "learner",
        "constants",
        "told",
        f"share at {EARLY:,}",
        f"share at {first.rounds:,}",
        "regret",
        "switches",
        "seconds per run",
    )
    setting = f"{first.runs:,} runs, T = {first.rounds:,}, seed {first.seed}."
    left_out = f"Left out: {'; '.join(absent)}." if absent else ""
    text = " ".join(filter(None, [spec.caption, setting, left_out]))
    return [
        "",
        f"### {markdown_text(first.family)}",
        "",
        markdown_text(text),
        "",
        f"![Regret over time]({PICTURES}/{spec.name}.svg)",
        "",
        *markdown_table(head, [_row(each, early.get(each.label)) for each in ends]),
    ]


def _row(end: Standing, early: Standing | None) -> list[str]:
    constants = format_parameters(end.parameters)
    return [
        name_of(end),
        f"{constants}{TUNED}" if end.label.endswith(TUNED) else constants,
        end.told,
        "-" if early is None else _share(early),
        _share(end),
        format_estimate(float(round(end.regret)), end.regret_half_width, ",.0f"),
        f"{end.switches:,.1f}",
        f"{end.seconds:.3f}",
    ]


def _share(standing: Standing) -> str:
    return format_estimate(standing.share, standing.share_half_width, ".4f")


INTRODUCTION = """# The tournament

Written by `python -m reproduction tournament`, which `make tournament` runs; do not edit. All
numbers are in [tournament.json](tournament.json).
{learners} learners on {families} families, {runs} runs each: the share of the optimum's reward that
was earned after {early} rounds and at the horizon T, with half-widths of 95 % intervals. There are
two tables of everything. In one, learners have the constants that were published, or that their
proofs want. In the other, each learner that has a constant was [tuned](#what-was-tried), all by the
same number of trials. A learner without constants has the same row in both.

{notes}

Switches are counted on the pulls alone, in {switch_runs} runs: how often they stop going on as they
did at some earlier place (the phrases of a Lempel-Ziv parse, less one). So repeating a cycle is
free for those who decide every round too. Regret with a cost for each switch is not here: it would
charge these learners for each round of a cycle that others play as one block.
"""

OVERALL = """Learners are compared with those that are told the same. Means are over the families
that all of these played, in brackets how many; the worst share is at the horizon, over all that the
learner played."""

BY_FAMILY = """The share after {early} rounds / at the horizon; the best learner is bold. Where a
star follows the family, the optimum is out of reach, and its upper bound stands for it."""

TRIALS = """{budget} trials for each learner that has a constant, on other draws of: {families}. The
value with the best mean share at the horizon is taken for all families. Where the chosen value is
the last of a list, a further one would change little: a bonus near 0 is none (ranking-ucb,
isi-comb-ucb1), and a very large one plays all arms in turn, which rests them (ucb1,
sliding-window-ucb). The constants of bayes-rotation were chosen before, on draws of other seeds and
with more than {budget} trials, so it is not tuned again."""
