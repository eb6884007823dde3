"""What the standings say together: who takes part in which table, shares, ranks and worst cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray
from reproduction.tournament.standing import EARLY, KNOWLEDGE, NOTHING, Standing

PLANS = ("ghost", "greedy", "whittle", "plan")
"""Names that follow a plan made with full knowledge, of the first stage where means drift."""
FLAGSHIP = "bayes-rotation"
"""The learner that every picture shows."""
BEST = 5
"""How many of the best learners stand out in a picture."""
TUNED = ", tuned"
"""How the label of a learner ends whose constant was chosen by trials."""
UNPROVED = (
    "bayes-rotation",
    "bayes-rotation-unbounded",
    "kl-ucb-whittle",
    "kl-ucb-greedy",
    "joint-ranking",
    "explore-then-commit",
    "epsilon-greedy",
    "sliding-window-ucb",
)
"""Learners whose constants no theory asks for in this model; their defaults stand in for it."""
MISSPECIFIED = (
    "drifting baselines",
    "heavy drift",
    "falling payoffs",
    "rising and falling payoffs",
    "trickCSBOG",
    "delays above the bound",
)
"""Families on which something that learners assume or are told is wrong."""


class Summary(NamedTuple):
    """A learner over all families, among those told the same.

    Means are over the families that all of them played; the worst share is over its own.
    """

    learner: str
    told: str
    families: int
    early: float
    end: float
    rank: int
    worst: float
    worst_family: str


def name_of(standing: Standing) -> str:
    """Return the name of a learner in tables of theory or of tuned learners."""
    return standing.label.removesuffix(TUNED)


def theory(table: Sequence[Standing]) -> list[Standing]:
    """Return the standings with the constants of theory."""
    return [standing for standing in table if not standing.label.endswith(TUNED)]


def tuned(table: Sequence[Standing]) -> list[Standing]:
    """Return the standings of tuned learners, and of those that have nothing to tune."""
    played = {(standing.family, standing.label) for standing in table}
    return [
        standing for standing in table if (standing.family, standing.label + TUNED) not in played
    ]


def at_end(table: Sequence[Standing]) -> list[Standing]:
    """Return the standings at the horizons of the families."""
    horizons: dict[str, int] = {}
    for standing in table:
        horizons[standing.family] = max(standing.rounds, horizons.get(standing.family, 0))
    return [standing for standing in table if standing.rounds == horizons[standing.family]]


def at_early(table: Sequence[Standing]) -> list[Standing]:
    """Return the standings after `EARLY` rounds."""
    return [standing for standing in table if standing.rounds == EARLY]


def matrix(table: Sequence[Standing]) -> tuple[list[str], list[str], FloatArray]:
    """Return learners, families and the shares of the optimum; NaN where one did not play.

    Learners that are told the same stand beside each other.
    """
    families = list(dict.fromkeys(standing.family for standing in table))
    places = {name_of(standing): _place_of(standing.told) for standing in table}
    learners = sorted(places, key=lambda learner: (places[learner], learner))
    shares = np.full((len(learners), len(families)), math.nan)
    for standing in table:
        place = learners.index(name_of(standing)), families.index(standing.family)
        shares[place] = standing.share
    return learners, families, shares


def summarize(table: Sequence[Standing]) -> list[Summary]:
    """Return a summary of each learner, by what they are told and then by rank."""
    groups = dict.fromkeys(standing.told for standing in table)
    return [
        summary
        for told in sorted(groups, key=_place_of)
        for summary in _summarize_group(
            told, [standing for standing in table if standing.told == told]
        )
    ]


def _place_of(told: str) -> int:
    """Return where a group stands: those who are told least first."""
    facts = [NOTHING, *reversed(KNOWLEDGE.values())]
    return facts.index(told) if told in facts else len(facts)


def _summarize_group(told: str, group: Sequence[Standing]) -> list[Summary]:
    learners, families, ends = matrix(at_end(group))
    played_by_all = ~np.isnan(ends).any(axis=0)
    shared = [families[place] for place in np.flatnonzero(played_by_all)] or families
    means = np.nanmean(ends[:, [families.index(family) for family in shared]], axis=1)
    found = []
    for place in np.argsort(-means, kind="stable").tolist():
        early = [
            standing.share
            for standing in at_early(group)
            if name_of(standing) == learners[place] and standing.family in shared
        ]
        worst = int(np.nanargmin(ends[place]))
        found.append(
            Summary(
                learners[place],
                told,
                len(shared),
                fmean(early) if early else math.nan,
                float(means[place]),
                1 + int((means > means[place]).sum()),
                float(ends[place, worst]),
                families[worst],
            )
        )
    return found


def describe_knowledge(table: Sequence[Standing]) -> str:
    """Say which learners are told what beside the number of arms, as their arguments have it."""
    learners: dict[str, list[str]] = {}
    for standing in table:
        named = learners.setdefault(standing.told, [])
        if name_of(standing) not in named:
            named.append(name_of(standing))
    told = sorted(learners, key=_place_of, reverse=True)
    return " ".join(f"Told {what}: {', '.join(learners[what])}." for what in told)


def describe_families(table: Sequence[Standing]) -> str:
    """Say for which families the upper bound stands for the optimum, and which break the model."""
    families = {standing.family: standing.against_bound for standing in table}
    bounded = [family for family, against_bound in families.items() if against_bound]
    wrong = [family for family in families if family in MISSPECIFIED]
    sentences = []
    if bounded:
        sentences.append(
            "The optimum is out of reach, and its upper bound stands for it, on: "
            f"{'; '.join(bounded)}."
        )
    if wrong:
        sentences.append(f"What learners assume or are told is wrong on: {'; '.join(wrong)}.")
    return " ".join(sentences)


def highlighted(family: Sequence[Standing]) -> list[str]:
    """Return the learners that a family's picture points out: the best, and the flagship."""
    ranked = [name_of(each) for each in sorted(at_end(family), key=lambda each: -each.share)]
    shown = ranked[:BEST]
    return [*shown, *(name for name in ranked[BEST:] if name == FLAGSHIP)]
