"""Algorithm 1: the best ranking policy with few switches (paper, section 6)."""

import math
from collections.abc import Sequence

from fallow import checks
from fallow.arrays import IntArray
from fallow.learners.checked_learner import CheckedLearner
from fallow.learners.policy_rewards import checked_order
from fallow.protocol import Block, Outcome


class LowSwitch(CheckedLearner):
    """The paper's pi_low: stages of action elimination over the ranking policies pi_1, ..., pi_k.

    Stage s plays each active policy pi_m for ceil(T_s / (m |A_s|)) + 1 plays, T_s = T^(1 - 2^-s),
    leaves out the first play, and keeps the policies within 2 C_s of the best average. A policy
    that is left alone is played to the horizon.

    Parameters
    ----------
    order
        The arms by decreasing baseline, which the algorithm must know: `instance.order`.
    horizon
        T, the number of rounds that will be played.
    delta
        The regret bound of Theorem 3 holds with probability at least 1 - delta.
    confidence_scale
        Multiplies C_s; the theory has 1.

    Attributes
    ----------
    stage
        s, from 1.
    active
        A_s, the numbers of arms m of the policies still in the race.

    Examples
    --------
    >>> learner = LowSwitch(order=range(7), horizon=1000)
    >>> learner.stages, learner.ask()
    (4, Block(arms=(0,), plays=6))
    """

    def __init__(
        self,
        order: Sequence[int] | IntArray,
        horizon: int,
        delta: float = 0.1,
        confidence_scale: float = 1.0,
    ) -> None:
        self.order = checked_order(order)
        self.arms = len(self.order)
        self.horizon = checks.whole_number("horizon", horizon, minimum=1)
        self.delta = checks.chance("delta", delta)
        self.confidence_scale = checks.positive("confidence_scale", confidence_scale)
        self.stage = 1
        self.active = tuple(range(1, self.arms + 1))
        self._averages: list[float] = []  # of the active policies played in this stage
        self._played = 0

    @property
    def stages(self) -> int:
        """S, an upper bound on the number of stages: O(ln ln T).

        It takes |A_s| = 1, which gives the largest S, so that the union bound over stages holds.
        """
        rounds, stage = 0.0, 0
        while rounds < self.horizon:
            stage += 1
            rounds += 1 + self.stage_rounds(stage)
        return stage

    def stage_rounds(self, stage: int) -> float:
        """Return T_s = T^(1 - 2^-s), the rounds of a stage apart from calibration."""
        return float(self.horizon ** (1 - 2.0**-stage))

    def width(self, stage: int) -> float:
        """Return C_s = sqrt(k / (2 T_s) ln(2 k S / delta)), times the confidence scale."""
        log = math.log(2 * self.arms * self.stages / self.delta)
        return self.confidence_scale * math.sqrt(self.arms / (2 * self.stage_rounds(stage)) * log)

    def _choose(self) -> Block:
        if len(self.active) == 1:
            (arms,) = self.active
            left = max(self.horizon - self._played, 1)
            return Block(self.order[:arms], math.ceil(left / arms))
        arms = self.active[len(self._averages)]
        plays = math.ceil(self.stage_rounds(self.stage) / (arms * len(self.active))) + 1
        return Block(self.order[:arms], plays)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._played += block.pulls
        if len(self.active) == 1:
            return
        # The first play only calibrates the delays (section 6), so it is not averaged.
        counted = len(block.arms) * (block.plays - 1)
        self._averages.append(math.fsum(outcome.rest) / counted)
        if len(self._averages) == len(self.active):
            least = max(self._averages) - 2 * self.width(self.stage)
            played = self.active
            averages = zip(played, self._averages, strict=True)
            self.active = tuple(arms for arms, average in averages if average >= least)
            if self._played >= self.horizon:  # the race is over: stay with the best
                self.active = (played[self._averages.index(max(self._averages))],)
            self._averages = []
            self.stage += 1
