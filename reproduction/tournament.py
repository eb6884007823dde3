"""Every learner on every family: where each stands in the end."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from fallow.arrays import FloatArray
from fallow.intervals import estimate
from fallow.planners.optimal import within_reach
from fallow.planners.plan import MAX_STATES
from fallow.simulate import simulate
from fallow.studies.folder import read_results
from fallow.studies.result import Result
from fallow.studies.spec import Spec


@dataclass(frozen=True)
class Standing:
    """A learner on a family at the horizon: means over runs and half-widths at 95 %.

    Attributes
    ----------
    family, learner
        Names; the family's is the title of its spec.
    runs, horizon
        How often and how long it was played.
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
        simulate(instance, fresh, here.horizon, 0, here.rewards, [here.horizon])
        times.append(time.perf_counter() - start)
    return min(times)


def written(table: Sequence[Standing]) -> bytes:
    """Return the standings as a JSON file."""
    rows = ",\n".join(json.dumps(asdict(standing)) for standing in table)
    return f"[\n{rows}\n]\n".encode()


def load_standings(path: Path) -> list[Standing]:
    """Read the standings that `written` wrote."""
    try:
        return [Standing(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} must be a file of `reproduction tournament`: {error}") from None


def matrix(table: Sequence[Standing]) -> tuple[list[str], list[str], FloatArray]:
    """Return learners, families and the shares of the optimum; NaN where one did not play."""
    families = list(dict.fromkeys(standing.family for standing in table))
    played = [
        [standing.learner for standing in table if standing.family == family] for family in families
    ]
    # In the order of the family that most took part in.
    everyone = sorted(played, key=len, reverse=True)
    learners = list(dict.fromkeys(learner for group in everyone for learner in group))
    shares = np.full((len(learners), len(families)), math.nan)
    for standing in table:
        place = learners.index(standing.learner), families.index(standing.family)
        shares[place] = standing.share
    return learners, families, shares


def markdown(table: Sequence[Standing]) -> str:
    """Return the standings as a page of the documentation."""
    learners, families, shares = matrix(table)
    lines = [INTRODUCTION, "| family | " + " | ".join(learners) + " |"]
    lines.append("|---" * (len(learners) + 1) + "|")
    marks = {standing.family: " *" if standing.against_bound else "" for standing in table}
    for family, row in zip(families, shares.T, strict=True):
        learned = [learner not in PLANS for learner in learners]
        best = np.nanmax(row[learned])
        cells = [
            "" if math.isnan(share) else _cell(share, learner not in PLANS and share >= best - 5e-4)
            for learner, share in zip(learners, row, strict=True)
        ]
        lines.append(f"| {family}{marks[family]} | " + " | ".join(cells) + " |")
    for family in families:
        lines += ["", f"## {family}", "", DETAILS, "|---" * 9 + "|"]
        lines += [_row(standing) for standing in table if standing.family == family]
    return "\n".join([*lines, ""])


def _cell(share: float, bold: bool) -> str:
    return f"**{share:.3f}**" if bold else f"{share:.3f}"


def _row(standing: Standing) -> str:
    regrets = [
        f"{mean:,.0f} ± {standing.regret_against_ghost_half_width[cost]:,.0f}"
        for cost, mean in standing.regret_against_ghost.items()
    ]
    optimum = (
        f"{standing.regret_against_optimum:,.0f} ± "
        f"{standing.regret_against_optimum_half_width:,.0f}"
    )
    cells = (
        standing.learner,
        f"{standing.share:.4f} ± {standing.share_half_width:.4f}",
        *regrets,
        optimum,
        f"{standing.switches:,.1f}",
        f"{standing.seconds:.3f}",
        f"{standing.horizon:,}",
    )
    return "| " + " | ".join(cells) + " |"


PLANS = ("ghost", "greedy", "whittle", "plan")
"""Names that follow a plan made with full knowledge, of the first stage where means drift."""
INTRODUCTION = """# The tournament

Written by `make tournament`; do not edit. Every learner on every family of
`reproduction/experiments/tournament`, at least 50 runs each: the share of the optimum's reward that
was earned up to the horizon. Where a star follows the family, the optimum is out of reach, and its upper bound
stands for it here and in the regret below. The best learner of a family is bold; ghost, greedy and
whittle follow plans made with full knowledge.

All learners have their defaults. Those of `rotation` were chosen on Figure 2's family, other draws;
those of the learners of other papers are as published, and some do better with others (a longer
block for `isi-comb-ucb1`, less noise for `lookahead`). `rotation` is not told the switching cost,
though it could be.
"""
DETAILS = (
    "| learner | share | regret against ghost, cost 0 | cost 1 | cost 5 | regret against optimum | "
    "switches | seconds a run | T |"
)
