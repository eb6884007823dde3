"""Every learner on every family: where each stands in the end."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.files import read_whole
from fallow.intervals import estimate, format_estimate
from fallow.learners.registry import LEARNERS, knowledge
from fallow.planners.optimal import within_reach
from fallow.planners.plan import MAX_STATES
from fallow.rewards import find_rewards
from fallow.simulate import simulate
from fallow.studies import fields
from fallow.studies.folder import read_results
from fallow.studies.result import Result
from fallow.studies.spec import Spec
from reproduction.text import format_range, markdown_table, markdown_text

PLANS = ("ghost", "greedy", "whittle", "plan")
"""Names that follow a plan made with full knowledge, of the first stage where means drift."""
KNOWLEDGE = {
    "instance": "the whole instance",
    "order": "the order of the arms",
    "delays": "the delay of each arm",
    "max_delay": "a bound on the delays",
}
"""By argument, what a learner that has it is told."""
MISSPECIFIED = ("drifting baselines", "falling payoffs", "delays above the bound")
"""Families on which something that learners assume or are told is wrong."""


@dataclass(frozen=True)
class Standing:
    """A learner on a family at the horizon: means over runs and half-widths at 95 %.

    Attributes
    ----------
    family, learner
        Names; the family's is the title of its spec.
    runs, horizon, seed
        How often and how long it was played, and where the randomness came from.
    share, share_half_width
        Of the optimum's reward that was earned, or of the upper bound's where the optimum is out of
        reach.
    regret_against_ghost, regret_against_ghost_half_width
        By switching cost.
    regret_against_optimum, regret_against_optimum_half_width
        Without switching cost.
    switches
        Changes of the cycle.
    seconds
        Of one run on one instance of the family, once compiled.
    against_bound
        Whether the optimum is out of reach, and its upper bound stands for it.
    """

    family: str
    learner: str
    runs: int
    horizon: int
    seed: int
    share: float
    share_half_width: float
    regret_against_ghost: dict[str, float]
    regret_against_ghost_half_width: dict[str, float]
    regret_against_optimum: float
    regret_against_optimum_half_width: float
    switches: float
    seconds: float
    against_bound: bool


def standings(
    folder: Path, on_learner: Callable[[int], None] = lambda _: None
) -> tuple[Spec, list[Standing]]:
    """Return where each learner stands in the experiment of a folder; a sweep counts as one family.

    Seconds are measured by playing one more run of each learner.
    """
    spec, studies = read_results(folder)
    found = []
    for learner in spec.learners:
        found.append(_standing(spec, studies, learner))
        on_learner(1)
    return spec, found


def _standing(spec: Spec, studies: Sequence[Result], learner: str) -> Standing:
    place = studies[0].learners.index(learner)
    final = studies[0].rounds[-1]

    def ends(values: Callable[[Result], FloatArray]) -> tuple[float, float]:
        found = estimate(np.concatenate([values(study) for study in studies]))
        return float(found.mean), float(found.half_width)

    share, share_half_width = ends(lambda study: study.share(learner)[:, -1])
    against_ghost = {
        f"{cost:g}": ends(partial(_final_regret, learner=learner, cost=cost))
        for cost in spec.switching_costs
    }
    against_optimum, half_width = ends(lambda study: study.regret(learner, "optimum")[:, -1])
    switches, _ = ends(lambda study: study.switches[:, place, -1].astype(float))
    return Standing(
        spec.title,
        learner,
        spec.runs * len(spec.points),
        int(final),
        spec.seed,
        share,
        share_half_width,
        {cost: mean for cost, (mean, _) in against_ghost.items()},
        {cost: width for cost, (_, width) in against_ghost.items()},
        against_optimum,
        half_width,
        switches,
        _seconds(spec, learner),
        not within_reach(spec.at(spec.points[0]).first_instance(), MAX_STATES),
    )


def _final_regret(study: Result, learner: str, cost: float) -> FloatArray:
    return study.regret(learner, "ghost", cost)[:, -1]


def _seconds(spec: Spec, learner: str) -> float:
    """Return how long a run takes, the shorter of two, the first of which may compile."""
    here = spec.at(spec.points[0])
    instance, times = here.first_instance(), []
    for _ in range(2):
        start = time.perf_counter()
        fresh = here.factories()[learner](instance, 0)
        rewards = find_rewards(here.rewards)
        simulate(instance, fresh, here.horizon, 0, rewards, [here.horizon], here.concentration)
        times.append(time.perf_counter() - start)
    return min(times)


def standings_json(table: Sequence[Standing]) -> bytes:
    """Return the standings as a JSON file."""
    rows = ",\n".join(json.dumps(asdict(standing)) for standing in table)
    return f"[\n{rows}\n]\n".encode()


def load_standings(path: Path) -> list[Standing]:
    """Read the standings that `standings_json` wrote."""
    try:
        rows = fields.rows("standings", json.loads(read_whole(path)))
        return [_parse_standing(row) for row in rows]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be a file of `reproduction tournament`: {error}") from None


def _parse_standing(row: object) -> Standing:
    kinds = get_type_hints(Standing)
    values = fields.table("a standing", row, kinds)
    for name, value in values.items():
        if kinds[name] is str:
            checks.text(name, value)
        elif kinds[name] is int:
            checks.whole_number(name, value, minimum=0, maximum=checks.LARGEST_SEED)
        elif kinds[name] is bool and not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {checks.short(value)}")
        elif kinds[name] is float:
            _check_number(name, value)
        elif kinds[name] == dict[str, float]:
            for cost, each in fields.table(name, value, values["regret_against_ghost"]).items():
                _check_number(f"{name}.{cost}", each)
    return Standing(**values)


def _check_number(name: str, value: Any) -> None:
    """Check a finite number; half-widths of a single run are not a number."""
    if not ("half_width" in name and isinstance(value, float) and math.isnan(value)):
        checks.number(name, value)


def matrix(table: Sequence[Standing]) -> tuple[list[str], list[str], FloatArray]:
    """Return learners, families and the shares of the optimum; NaN where one did not play."""
    families = list(dict.fromkeys(standing.family for standing in table))
    played = [
        [standing.learner for standing in table if standing.family == family] for family in families
    ]
    # In the order of the family with the most learners.
    everyone = sorted(played, key=len, reverse=True)
    learners = list(dict.fromkeys(learner for group in everyone for learner in group))
    shares = np.full((len(learners), len(families)), math.nan)
    for standing in table:
        place = learners.index(standing.learner), families.index(standing.family)
        shares[place] = standing.share
    return learners, families, shares


def describe_knowledge(learners: Sequence[str]) -> str:
    """Say which learners are told what beside the number of arms, as their arguments have it."""
    told: dict[str, list[str]] = {}
    for learner in learners:
        arguments = knowledge(learner) if learner in LEARNERS else []
        for argument in KNOWLEDGE.keys() & set(arguments):
            told.setdefault(argument, []).append(learner)
    return " ".join(
        f"Told {what}: {', '.join(told[argument])}."
        for argument, what in KNOWLEDGE.items()
        if argument in told
    )


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


def markdown(table: Sequence[Standing]) -> str:
    """Return the standings as a page of the documentation."""
    learners, families, shares = matrix(table)
    learned = [learner not in PLANS for learner in learners]
    marks = {standing.family: " *" if standing.against_bound else "" for standing in table}
    rows = []
    for family, row in zip(families, shares.T, strict=True):
        best = np.nanmax(row[learned])
        cells = [
            "" if math.isnan(share) else _cell(share, learner not in PLANS and share >= best - 5e-4)
            for learner, share in zip(learners, row, strict=True)
        ]
        rows.append([f"{family}{marks[family]}", *cells])
    lines = [_introduction(table), *markdown_table(["family", *learners], rows)]
    for family in families:
        lines += _family_section([standing for standing in table if standing.family == family])
    return "\n".join([*lines, ""])


def _introduction(table: Sequence[Standing]) -> str:
    learners, families, _ = matrix(table)
    followers = ", ".join(learner for learner in learners if learner in PLANS)
    return INTRODUCTION.format(
        learners=len(learners),
        families=len(families),
        runs=format_range(standing.runs for standing in table),
        followers=f"; {followers} follow plans made with full knowledge" if followers else "",
    )


def _family_section(table: Sequence[Standing]) -> list[str]:
    first = table[0]
    costs = list(first.regret_against_ghost)
    head = (
        "learner",
        "share",
        *(f"regret against ghost, cost {cost}" for cost in costs),
        "regret against optimum",
        "switches",
        "seconds per run",
    )
    setting = f"{first.runs:,} runs, T = {first.horizon:,}, seed {first.seed}."
    rows = [_row(standing, costs) for standing in table]
    return ["", f"## {markdown_text(first.family)}", "", setting, "", *markdown_table(head, rows)]


def _cell(share: float, bold: bool) -> str:
    return f"**{share:.3f}**" if bold else f"{share:.3f}"


def _row(standing: Standing, costs: Sequence[str]) -> list[str]:
    regrets = [
        (standing.regret_against_ghost[cost], standing.regret_against_ghost_half_width[cost])
        for cost in costs
    ]
    regrets.append((standing.regret_against_optimum, standing.regret_against_optimum_half_width))
    return [
        standing.learner,
        format_estimate(standing.share, standing.share_half_width, ".4f"),
        *(format_estimate(mean, half_width, ",.0f") for mean, half_width in regrets),
        f"{standing.switches:,.1f}",
        f"{standing.seconds:.3f}",
    ]


INTRODUCTION = """# The tournament

Written by `python -m reproduction tournament`, which `make tournament` runs; do not edit.
{learners} learners on {families} families, {runs} runs each: the share of the optimum's reward that
was earned up to the horizon T. Where a star follows the family, the optimum is out of reach, and
its upper bound stands for it here and in the regret below. The best learner of a family is
bold{followers}.

Learners have their defaults, unless a spec sets others. The defaults of `rotation` were chosen on
other draws of Figure 2's family ([details](rotation.md)), those of learners from other papers are
as published. By default `rotation` is not told the switching cost.
"""
