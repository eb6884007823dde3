"""Runs of pi_low and pi_ucb side by side, and what they come to."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.intervals import Estimate, estimate
from fallow.learners.low_switch import LowSwitch
from fallow.learners.ranking_ucb import RankingUCB
from fallow.rewards import Rewards
from fallow.studies import replicate
from fallow.studies.study import Factory, Family

HORIZON = 1000
"""Rounds of the paper's figures."""


def pi_low(instance: Instance, horizon: int) -> LowSwitch:
    """Return the learner of Algorithm 1, told the order of the arms."""
    return LowSwitch(instance.order, horizon)


def pi_ucb(instance: Instance) -> RankingUCB:
    """Return UCB1 over ranking policies, told the order of the arms."""
    return RankingUCB(instance.order)


class Comparison(NamedTuple):
    """Final regrets of both, and how much more pi_ucb has than pi_low, paired by run."""

    ucb: Estimate
    low: Estimate
    more: Estimate

    @property
    def low_wins(self) -> bool:
        """Whether pi_low has less regret, the 95 % interval of the difference excluding 0."""
        return is_above_zero(self.more)

    @property
    def ucb_wins(self) -> bool:
        """Whether pi_ucb has less regret, the 95 % interval of the difference excluding 0."""
        return is_below_zero(self.more)

    def __str__(self) -> str:
        return f"regret of pi_ucb {self.ucb}, of pi_low {self.low}, difference {self.more}"


def compare(
    source: Instance | Family,
    horizon: int,
    runs: int,
    switching_cost: float,
    rewards: Rewards = "bernoulli",
) -> Comparison:
    """Play both learners in paired runs and compare their regret against ghost."""
    learners: dict[str, Factory] = {
        "pi_low": low_of(horizon),
        "pi_ucb": lambda instance, _: pi_ucb(instance),
    }
    study = replicate(
        source, learners, horizon, runs, seed=0, rewards=rewards, checkpoints=[horizon]
    )
    by_low, by_ucb = (study.regret(name, switching_cost=switching_cost)[:, -1] for name in learners)
    return Comparison(estimate(by_ucb), estimate(by_low), estimate(by_ucb - by_low))


def is_above_zero(number: Estimate) -> bool:
    """Tell whether the whole interval lies above 0."""
    return bool(number.mean - number.half_width > 0)


def is_below_zero(number: Estimate) -> bool:
    """Tell whether the whole interval lies below 0."""
    return bool(number.mean + number.half_width < 0)


def exponent(causes: Sequence[float] | FloatArray, effects: Sequence[float]) -> float:
    """Return the slope on log axes."""
    return float(np.polyfit(np.log(causes), np.log(effects), 1)[0])


def mean_regrets(
    source: Instance | Family,
    learners: Mapping[str, Factory],
    horizon: int,
    runs: int,
    switching_cost: float = 0.0,
) -> list[float]:
    """Return the mean final regret against ghost of each learner, in paired runs."""
    study = replicate(source, learners, horizon, runs, seed=0, checkpoints=[horizon])
    return [float(study.regret(name, switching_cost=switching_cost).mean()) for name in learners]


def low_of(horizon: int) -> Factory:
    """Return how pi_low is made for a horizon."""
    return lambda instance, _: pi_low(instance, horizon)
