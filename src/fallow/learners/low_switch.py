"""Algorithm 1: the best ranking policy with few switches (paper, section 6)."""

import math
from collections.abc import Sequence
from typing import Literal, get_args

from fallow import checks
from fallow.arrays import IntArray
from fallow.learners import restored
from fallow.learners.policy_rewards import checked_order
from fallow.learners.ranking_learner import RankingLearner
from fallow.protocol import Block, Outcome

Rounding = Literal["up", "down"]
CutStage = Literal["race", "commit"]
Widths = Literal["printed", "active"]


class LowSwitch(RankingLearner):
    """The paper's pi_low: stages of action elimination over the ranking policies pi_1, ..., pi_k.

    Stage s plays each active policy pi_m for T_s / (m |A_s|) + 1 plays, rounded to a whole number,
    T_s = T^(1 - 2^-s), leaves out the first play, and keeps the policies within 2 C_s of the best
    average. A policy that is left alone is played to the horizon. The defaults are Algorithm 1 as
    it is printed. For the least regret, use `widths="active"` and `cut_stage="commit"`.

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
    rounding
        How the number of plays that count becomes whole. "up" gives each average the T_s / |A_s|
        pulls that C_s is made for, as Theorem 3 needs; "down" gives at least one play, and may give
        fewer pulls.
    cut_stage
        What becomes of a stage that the horizon would cut. "race" begins it, as the text has it;
        "commit" gives the rounds that are left to the best policy of the last full stage. Theorem 3
        holds for both: with r* in the race and averages within C_{s-1} of their gains, that policy
        loses at most 2 C_{s-1} a round, where the proof allows 4 C_{s-1}
        (docs/explanation/theorems.md has the whole argument). A first stage is always begun.
    widths
        How wide the confidence intervals are. "printed" has C_s = sqrt(k / (2 T_s) ln(2 k S /
        delta)), as in the text; the regret then exceeds the order that Theorem 3 states by a factor
        of up to min(ln k, ln ln T). "active" has |A_s| for the k before the logarithm, which is
        what the T_s / |A_s| pulls of a policy allow, and Theorem 3 holds as stated
        (docs/explanation/theorems.md has both proofs).

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
        rounding: Rounding = "up",
        cut_stage: CutStage = "race",
        widths: Widths = "printed",
    ) -> None:
        self.order = checked_order(order)
        self.horizon = checks.whole_number("horizon", horizon, minimum=1)
        self.delta = checks.chance("delta", delta)
        self.confidence_scale = checks.positive("confidence_scale", confidence_scale)
        checks.one_of("rounding", rounding, get_args(Rounding))
        checks.one_of("cut_stage", cut_stage, get_args(CutStage))
        checks.one_of("widths", widths, get_args(Widths))
        self.rounding, self.cut_stage, self.widths = rounding, cut_stage, widths
        self.stage = 1
        self.active = tuple(range(1, self.arms + 1))
        self._averages: list[float] = []  # of the active policies played in this stage
        self._played = 0

    def _check_progress(self) -> None:
        super()._check_progress()
        restored.whole_number("progress._played", self._played, least=0)
        restored.whole_number("progress.stage", self.stage, least=1, most=1 + self._played)
        restored.distinct("progress.active", self.active, least=1, most=self.arms)
        averages = len(self._averages)
        restored.numbers("progress._averages", self._averages, (averages,), least=-1e-9, most=2)
        restored.whole_number("progress._averages", averages, 0, max(len(self.active) - 1, 0))
        if self._pending is not None:
            restored.equal("progress._pending.arms", len(self._pending.arms), self._policy)
            least = 1 if len(self.active) == 1 else 2
            restored.whole_number("progress._pending.plays", self._pending.plays, least)

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
        """Return C_s = sqrt(k / (2 T_s) ln(2 k S / delta)), times the confidence scale.

        With active widths, the number of policies that are active now stands for the first k.
        """
        log = math.log(2 * self.arms * self.stages / self.delta)
        policies = self.arms if self.widths == "printed" else len(self.active)
        return self.confidence_scale * math.sqrt(policies / (2 * self.stage_rounds(stage)) * log)

    def _choose(self) -> Block:
        arms = self._policy
        if len(self.active) == 1:
            left = max(self.horizon - self._played, 1)
            return Block(self.order[:arms], math.ceil(left / arms))
        return Block(self.order[:arms], self._plays(arms))

    @property
    def _policy(self) -> int:
        """The number of arms of the policy whose turn it is."""
        return self.active[len(self._averages)]

    def _plays(self, arms: int) -> int:
        """Return how often the policy over so many arms is played in this stage."""
        counted = self.stage_rounds(self.stage) / (arms * len(self.active))
        whole = math.ceil(counted) if self.rounding == "up" else max(math.floor(counted), 1)
        return whole + 1

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self._played += block.pulls
        if len(self.active) == 1:
            return
        # The first play only calibrates the delays (section 6), so it is not averaged.
        counted = len(block.arms) * (block.plays - 1)
        self._averages.append(math.fsum(outcome.rest) / counted)
        if len(self._averages) == len(self.active):
            self._end_stage()

    def _end_stage(self) -> None:
        by_average = list(zip(self._averages, self.active, strict=True))
        best = max(self._averages)
        least = best - 2 * self.width(self.stage)
        self.active = tuple(arms for average, arms in by_average if average >= least)
        self._averages = []
        self.stage += 1
        wanted = sum(arms * self._plays(arms) for arms in self.active)
        cut = self._played + wanted > self.horizon
        if self._played >= self.horizon or (cut and self.cut_stage == "commit"):
            self.active = (next(arms for average, arms in by_average if average == best),)
