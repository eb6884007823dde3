"""What learners over ranking policies share."""

from fallow.learners import restored
from fallow.learners.checked_learner import CheckedLearner


class RankingLearner(CheckedLearner):
    """A learner over the ranking policies pi_1, ..., pi_k, which knows the order of the arms."""

    order: tuple[int, ...]

    @property
    def arms(self) -> int:
        """Number of arms, k."""
        return len(self.order)

    def _check_progress(self) -> None:
        super()._check_progress()
        if self._pending is not None:
            arms = self._pending.arms
            restored.equal("progress._pending.arms", arms, self.order[: len(arms)])
