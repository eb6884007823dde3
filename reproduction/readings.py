"""The readings of Algorithm 1, and how near each comes to the printed figures.

The printed curves do not settle which reading drew them: several fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import NamedTuple, get_args

import numpy as np

from fallow import catalog
from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.learners.low_switch import CutStage, LowSwitch, Rounding
from fallow.learners.ranking_ucb import RankingUCB
from fallow.rewards import Rewards
from fallow.studies import Result, replicate
from fallow.studies.study import Factory, Family

SOURCE = (
    "Printed values were read by eye off the figures of the published version (PMLR 108, AISTATS "
    "2020). The paper does not define the shaded bands there. T = 1,000 and the log time axis come "
    "from those figures, too, and not from the text."
)
"""Where all numbers come from that are called printed or published."""
HORIZON, FLAT = 1000, 490
"""Rounds of the figures, and the round from which Figure 2's pi_low is flat."""
RUNS, SEED = 1000, 12
"""Runs of each reading, in groups of five.

That "flat" is read as the rise after round 490 was decided on them. Read as the round at which a
line that turns flat is closest to the curve, committing readings fit best too, those with C_s a
little better than with 2 C_s.
"""
GROUP = 5
"""The paper's curves are averages of five runs."""


class Feature(NamedTuple):
    """Something that can be read off a printed figure, and the standard error of reading it."""

    name: str
    printed: float
    error: float


FIGURE_2 = (
    Feature("pi_low at 1,000", 178, 5),
    Feature("rise of pi_low from round 490 to 1,000", 0, 15),
    Feature("pi_ucb at 1,000", 230, 5),
    Feature("log of pi_low's band over pi_ucb's", float(np.log(78 / 65)), 0.1),
)
FIGURE_3 = (
    Feature("pi_low, unit cost", 10, 3),
    Feature("pi_low, no cost", -1, 0.5),
    Feature("pi_ucb, unit cost", 298, 2),
    Feature("pi_ucb, no cost", -35, 1),
)


class Reading(NamedTuple):
    """One way to read Algorithm 1 and the feedback that learners get."""

    rounding: Rounding
    cut_stage: CutStage
    widths: int
    noise: bool

    @property
    def name(self) -> str:
        """What tells it from others with the same feedback."""
        return f"{self.rounding}, {self.cut_stage}, {self.threshold}"

    @property
    def threshold(self) -> str:
        """How far below the best average a policy may stay in the race."""
        return "2 C_s" if self.widths == 2 else "C_s"


READINGS = tuple(
    Reading(rounding, cut_stage, widths, noise)
    for noise, widths, cut_stage, rounding in product(
        (True, False), (2, 1), get_args(CutStage), get_args(Rounding)
    )
)
TEXT = Reading("up", "race", 2, noise=True)
"""Algorithm 1 and section 8 to the letter."""
NEAREST = Reading("down", "commit", 2, noise=True)
"""The reading nearest to Figure 2, of those with the text's threshold and noise; it commits."""
LIKELY = 0.05
"""Chance from which on a reading may have drawn a figure."""


class Fit(NamedTuple):
    """How far the printed figures are from what a reading draws.

    A distance is Mahalanobis's: in standard deviations, of averages of five runs and of reading the
    figure together.
    """

    distance: float
    log_likelihood: float

    @property
    def chance(self) -> float:
        """Of four normal features at least this far: chi squared with four degrees of freedom."""
        half = self.distance**2 / 2
        return float(np.exp(-half) * (1 + half))


class Drawn(NamedTuple):
    """What a reading draws in Figure 2, in regret, and its fits to both figures.

    `at_flat` and `end` are pi_low at rounds 490 and 1,000, `ucb_end` is pi_ucb at 1,000.
    """

    reading: Reading
    at_flat: float
    end: float
    end_spread: float
    ucb_end: float
    figure_2: Fit
    figure_3: Fit

    @property
    def fits(self) -> bool:
        """Whether the printed Figure 2 may be what this reading draws."""
        return self.figure_2.chance >= LIKELY


@cache
def scan(runs: int = RUNS) -> tuple[Drawn, ...]:
    """Draw both figures in every reading, in the order of `READINGS`; done once per process."""
    found = []
    for noise in (True, False):
        readings = [reading for reading in READINGS if reading.noise == noise]
        figure_2 = _play(catalog.figure2, readings, runs, noise)
        figure_3 = _play(catalog.figure3(), readings, runs, noise)
        for reading in readings:
            features = _features_2(figure_2, reading.name)
            ends, rises = features[:, 0], features[:, 1]
            found.append(
                Drawn(
                    reading,
                    float(np.mean(ends - rises)),
                    float(np.mean(ends)),
                    float(np.std(ends, ddof=1)),
                    float(np.mean(features[:, 2])),
                    _compare(features, FIGURE_2),
                    _compare(_features_3(figure_3, reading.name), FIGURE_3),
                )
            )
    return tuple(found)


def _play(source: Instance | Family, readings: Sequence[Reading], runs: int, noise: bool) -> Result:
    learners: dict[str, Factory] = {"pi_ucb": lambda instance, _: RankingUCB(instance.order)}
    learners |= {reading.name: pi_low_of(reading) for reading in readings}
    rewards: Rewards = "bernoulli" if noise else "none"
    rounds = [FLAT, HORIZON]
    return replicate(source, learners, HORIZON, runs, SEED, rewards=rewards, checkpoints=rounds)


def pi_low_of(reading: Reading) -> Factory:
    """Return how pi_low is made in a reading, for the figures' horizon."""
    scale = reading.widths / 2  # to be within C_s is to be within 2 C_s of half the width
    options = (0.1, scale, reading.rounding, reading.cut_stage)
    return lambda instance, _: LowSwitch(instance.order, HORIZON, *options)


def _groups(regrets: FloatArray) -> FloatArray:
    return regrets.reshape(-1, GROUP, *regrets.shape[1:])


def _features_2(result: Result, name: str) -> FloatArray:
    """Return the features of Figure 2 for each group of five runs."""
    low = _groups(result.regret(name, switching_cost=1))
    ucb = _groups(result.regret("pi_ucb", switching_cost=1))[..., -1]
    ends = low[..., -1].mean(axis=1)
    rises = ends - low[..., 0].mean(axis=1)
    bands = np.log(low[..., -1].std(axis=1) / ucb.std(axis=1))
    return np.stack([ends, rises, ucb.mean(axis=1), bands], axis=1)


def _features_3(result: Result, name: str) -> FloatArray:
    ends = [
        _groups(result.regret(learner, switching_cost=cost)[:, -1]).mean(axis=1)
        for learner in (name, "pi_ucb")
        for cost in (1, 0)
    ]
    return np.stack(ends, axis=1)


def _compare(drawn: FloatArray, features: Sequence[Feature]) -> Fit:
    """Compare the printed features with those drawn, taken as normal."""
    errors = np.diag([feature.error**2 for feature in features])
    covariance = np.cov(drawn, rowvar=False) + errors
    off = np.array([feature.printed for feature in features]) - drawn.mean(axis=0)
    squared = float(off @ np.linalg.solve(covariance, off))
    log_volume = float(np.linalg.slogdet(2 * np.pi * covariance)[1])
    return Fit(squared**0.5, -(squared + log_volume) / 2)
