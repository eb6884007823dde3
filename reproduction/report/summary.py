"""Whether the paper was reproduced and what was found, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fallow.intervals import Estimate
from reproduction.claims.claim import count_verdicts
from reproduction.errata import ERRATA
from reproduction.report.comparison import compare_with_paper
from reproduction.report.content import Content, PlannerRow
from reproduction.report.experiment import Experiment
from reproduction.tournament.standing import NOTHING, Standing
from reproduction.tournament.tables import summarize, tuned

RIVALS = {"pi_low": "low-switch", "pi_ucb": "ranking-ucb"}
"""The paper's two learners, and their names in the tournament."""


class Line(NamedTuple):
    """A question, its answer, and the section of the page that has more."""

    question: str
    answer: str
    section: str


def answer_questions(content: Content) -> list[Line]:
    """Return what a reader wants to know first; every number is counted or measured."""
    return [
        Line("Was the paper reproduced?", f"{count_verdicts(content.findings)}.", "claims"),
        Line("What is wrong in it?", _list_failures(content), "errata"),
        Line("Are its figures ours?", _count_published(content.results), "published"),
        *_compare_rivals(content.results),
        Line("How good is its class of policies?", _compare_class(content.planners), "planners"),
        *_compare_learners(content.standings),
    ]


def _list_failures(content: Content) -> str:
    failed = [claim for claim, finding in content.findings if finding.verdict == "does not hold"]
    named = "; ".join(f"{claim.name} ({claim.place})" for claim in failed)
    return f"{len(ERRATA)} errata. " + (f"What does not hold: {named}." if failed else "")


def _count_published(results: Sequence[Experiment]) -> str:
    comparisons = compare_with_paper(results)
    variants = dict.fromkeys(variant for row in comparisons for variant in row.ours)
    counts = []
    for variant in variants:
        ours = [row.ours[variant] for row in comparisons if variant in row.ours]
        counts.append(f"{sum(each.agrees for each in ours)} of {len(ours)} values ({variant})")
    return f"Our mean lies inside the published band for {', '.join(counts)}."


def _compare_rivals(results: Sequence[Experiment]) -> Iterator[Line]:
    """Compare the two learners at a unit cost, where most runs with noisy rewards were made."""
    found = []
    for figure in ("Figure 2", "Figure 3"):
        noisy = [
            result
            for result in results
            if result.spec.section.startswith(figure) and result.spec.rewards != "none"
        ]
        if noisy:
            most = max(noisy, key=lambda result: result.spec.runs)
            ends = {
                curve.learner: curve.regret.at(-1)
                for curve in most.curves
                if curve.switching_cost == 1
            }
            found.append(f"{_versus(ends)} in {figure} ({most.spec.runs:,} runs)")
    if found:
        answer = f"Regret with a unit switching cost: {'; '.join(found)}."
        yield Line("pi_low or pi_ucb?", answer, "figures")


def _versus(ends: dict[str, Estimate]) -> str:
    return ", ".join(f"{name} {ends[name]}" for name in RIVALS)


def _compare_class(planners: Sequence[PlannerRow]) -> str:
    shares = {row.planner: row.mean for row in planners if row.planner != "optimal"}
    best = max(shares, key=lambda name: shares[name])
    return (
        f"On {planners[0].draws} draws of Figure 2's family ghost, the best ranking policy, earns "
        f"{shares['ghost']:.1%} of the optimum, and {best}, the best of our planners that do not "
        f"search all schedules, {shares[best]:.1%}."
    )


def _compare_learners(standings: Sequence[Standing]) -> Iterator[Line]:
    if standings:
        table = summarize(tuned(standings))
        best = next(each for each in table if each.told == NOTHING)
        shares = {each.learner: each.end for each in table}
        paper = ", ".join(f"{name} {shares[learner]:.1%}" for name, learner in RIVALS.items())
        answer = (
            f"{best.learner}, told nothing, earns {best.end:.1%} of the optimum on "
            f"average over {best.families} families; the paper's, told the order of the arms: "
            f"{paper}."
        )
        yield Line("Is there a better learner?", answer, "tournament")
