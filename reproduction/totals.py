"""What one learner came to in each run of a study."""

from fallow.arrays import FloatArray, IntArray
from fallow.replicate import Replication


def rewards(study: Replication, learner: str) -> FloatArray:
    """Return a learner's expected rewards, by run and round."""
    found: FloatArray = study.rewards[study.learners.index(learner)]
    return found


def switches(study: Replication, learner: str) -> IntArray:
    """Return a learner's switches, by run and round."""
    found: IntArray = study.switches[study.learners.index(learner)]
    return found
