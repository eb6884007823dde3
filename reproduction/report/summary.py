"""Whether the paper was reproduced and what was found, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reproduction.claims.claim import Verdict
from reproduction.readings import Drawn
from reproduction.report.comparison import Comparison, Ours, compare_with_paper
from reproduction.report.content import Content, PlannerRow
from reproduction.tournament.standing import NOTHING, Standing
from reproduction.tournament.tables import summarize, tuned

RIVALS = {"pi_low": "low-switch", "pi_ucb": "ranking-ucb"}
"""The paper's two learners, and their names in the tournament."""


class Line(NamedTuple):
    """A question, its answer, and the section of the page that has more."""

    question: str
    answer: str
    section: str


Subjects = Sequence[tuple[Sequence[str], str]]
HOLDING: Subjects = (
    (("theorem-1",), "Theorem 1 (its reduction was checked on small problems)"),
    (("theorem-4", "theorem-4-pulls"), "Theorem 4"),
    (("few-switches",), "the bound on the switches of pi_low"),
    (
        ("figure-2", "figure-2-oversampling", "figure-3-cost", "figure-3-free"),
        "what the text says of pi_low against pi_ucb in Figures 2 and 3",
    ),
)
"""Names of claims, and what they are about if all of them hold."""
REPAIRED: Subjects = (
    (("theorem-2",), "Theorem 2 holds for equal delays, and with another index for any delays."),
    (("theorem-3",), "Theorem 3 holds with |A_s| instead of k in the widths C_s."),
    (("fact-1",), 'Fact 1 holds with "at least as much" for "more".'),
    (("constant-factor",), "The constant factor of ranking policies depends on f."),
    (("calibration",), "Calibration costs a factor of two only while groups are full."),
    (
        ("greedy-total", "greedy-ratio", "not-monotone-example"),
        "The examples of sections 3 and 5 are miscalculated.",
    ),
)
"""Names of claims, and their repair if all of them hold as repaired."""


def answer_questions(content: Content) -> list[Line]:
    """Return what a reader wants to know first; numbers are measured, and verdicts are found."""
    comparisons = compare_with_paper(content.results)
    holding = "; ".join(_select(content, HOLDING, "holds"))
    repaired = " ".join(_select(content, REPAIRED, "holds as repaired"))
    return [
        Line(
            "Was the paper reproduced?",
            "Yes: the model, both algorithms and all figures run. These hold as printed: "
            f"{holding}.",
            "claims",
        ),
        Line("What needs a repair?", repaired, "errata"),
        *_compare_figure_2(comparisons, content.readings),
        *_compare_figure_3(comparisons),
        Line("How good is its class of policies?", _compare_class(content.planners), "planners"),
        *_compare_learners(content.standings),
    ]


def _select(content: Content, subjects: Subjects, verdict: Verdict) -> list[str]:
    """Return the words on those subjects whose claims all have a verdict."""
    found = {claim.name for claim, finding in content.findings if finding.verdict == verdict}
    return [words for names, words in subjects if found.issuperset(names)]


def _ends(
    comparisons: Sequence[Comparison], figure: str, noise: bool
) -> dict[tuple[str, float], Ours]:
    """Return where the curves of a figure end in most runs, by learner and switching cost."""
    found = {}
    for row in comparisons:
        variants = [variant for variant in row.ours if variant.noise == noise]
        if row.figure == figure and variants:
            published = row.published
            found[published.learner, published.switching_cost] = row.ours[max(variants)]
    return found


def _compare_figure_2(
    comparisons: Sequence[Comparison], readings: Sequence[Drawn]
) -> Iterator[Line]:
    ends = _ends(comparisons, "Figure 2", noise=True)
    if ends:
        low, ucb = ends["pi_low", 1], ends["pi_ucb", 1]
        printed, ours = low.published.value < ucb.published.value, low.mean < ucb.mean
        fitting = sum(drawn.fits for drawn in readings)
        answer = (
            f"{'Yes' if ours == printed else 'Not'} in the order of the two learners. In print "
            f"pi_low ends {'below' if printed else 'above'} pi_ucb, {low.published.value:g} "
            f"against {ucb.published.value:g}; by the text, Algorithm 1 ends "
            f"{'below' if ours else 'above'} it, {low.regret} against {ucb.regret}. Of "
            f"{len(readings)} readings of Algorithm 1, {fitting} fit the printed curves; we do not "
            "know which one drew them."
        )
        yield Line("Is Figure 2 reproduced?", answer, "readings")


def _compare_figure_3(comparisons: Sequence[Comparison]) -> Iterator[Line]:
    exact, noisy = (_ends(comparisons, "Figure 3", noise) for noise in (False, True))
    if exact and noisy:
        ucb = exact["pi_ucb", 1]
        inside = all(ours.agrees for ours in exact.values())
        answer = (
            f"{'Yes' if inside else 'No'}, with feedback without noise: with a unit switching cost "
            f"pi_ucb ends at {ucb.mean:.0f}, printed {ucb.published.value:g}. With the Bernoulli "
            f"rewards of the text it ends at {noisy['pi_ucb', 1].regret}."
        )
        yield Line("Is Figure 3 reproduced?", answer, "published")


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
            f"{best.learner}, which knows nothing beforehand, earns {best.end:.1%} of the optimum "
            f"on average over {best.families} families; the paper's, which know the order of the "
            f"arms: {paper}."
        )
        yield Line("Is there a better learner?", answer, "tournament")
