"""The doubling trick: a learner that needs a horizon, without one (paper, end of section 8)."""

from typing import Any

from fallow import checks
from fallow.learners import restored
from fallow.learners.checked_learner import CheckedLearner, check_learner_class, own_copy
from fallow.protocol import Block, Outcome


class Doubling(CheckedLearner):
    """Restarts a learner whenever its horizon is over, with twice the horizon.

    The paper's remark that pi_low need not know T, to the letter: nothing is carried over, and
    each restart begins from no knowledge, with the same options, a seed included. A block that the
    end of a horizon cuts is played up to there, and its outcome is not told; the rest of a cycle
    that is cut counts as a switch.

    Parameters
    ----------
    of
        The class of the learner, which must take a `horizon`.
    first_horizon
        Rounds of its first life.
    options
        All its other arguments, such as `order` or `delta`.

    Attributes
    ----------
    learner
        The one that plays now.
    horizon, left
        Rounds of its life, and how many of them are left.

    Examples
    --------
    >>> from fallow.learners import LowSwitch
    >>> learner = Doubling(LowSwitch, order=[1, 0], delta=0.05)
    >>> learner.learner
    LowSwitch(order=(1, 0), horizon=128, delta=0.05, confidence_scale=1.0, rounding='up', \
cut_stage='race', widths='printed')
    """

    def __init__(self, of: type[CheckedLearner], first_horizon: int = 128, **options: Any) -> None:
        check_learner_class("of", of, options, needs="horizon")
        self.of, self.options = of, own_copy(options)
        self.first_horizon = checks.whole_number("first_horizon", first_horizon, minimum=1)
        self._ranked = 0  # rounds that earlier lives spent on ranking
        self._start(self.first_horizon)

    def _check_progress(self) -> None:
        super()._check_progress()
        lives = (self.horizon // self.first_horizon).bit_length() - 1
        restored.equal("progress.horizon", self.horizon, self.first_horizon * 2 ** max(lives, 0))
        restored.whole_number("progress.left", self.left, least=1, most=self.horizon)
        restored.whole_number("progress._ranked", self._ranked, least=0)
        restored.equal("progress.learner", repr(self.learner), repr(self._life(self.horizon)))
        if self._pending is not None:
            asked = None if self.learner.pending is None else self._choose()
            restored.equal("progress._pending", self._pending, asked)

    @property
    def ranking_rounds(self) -> int:
        """Rounds spent on the order of the arms so far, in all lives."""
        return self._ranked + int(getattr(self.learner, "ranking_rounds", 0))

    def _start(self, horizon: int) -> None:
        self.horizon = self.left = horizon
        self.learner = self._life(horizon)

    def _life(self, horizon: int) -> CheckedLearner:
        return self.of(**{**self.options, "horizon": horizon})

    def _choose(self) -> Block:
        block = self.learner.ask()
        if block.pulls <= self.left:
            return block
        plays = self.left // len(block.arms)
        return Block(block.arms, plays) if plays else Block(block.arms[: self.left])

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.left -= block.pulls
        if block == self.learner.ask():
            self.learner.tell(block, outcome)
        if self.left == 0:
            self._ranked = self.ranking_rounds
            self._start(2 * self.horizon)
