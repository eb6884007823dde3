"""Reachable delay vectors, numbered without gaps, and what follows each.

A delay vector is held as `ages`: the rounds since each arm was pulled, RESTED for a rested arm.
One arm is pulled a round, so no two arms have the same age. Conversely, every vector of distinct
ages, each at most the arm's delay, is reached: pull each arm as many rounds ago as its age says,
and in all other rounds an arm with delay 0 or, without one, the arm that is youngest in the end.
Some arm was pulled one round ago, so age 1 can be empty only if some arm has delay 0: such an arm
is always rested.
"""

# Counting. Give ages to arms from the oldest age down. At age a, the arms that could have it are
# those with a delay of at least a, say n(a) of them. All arms placed at older ages are among them,
# because their delays are longer still. So n(a) - placed arms are left, whichever were placed, and
# the ways to fill the ages 1 .. a depend on the number of placed arms alone:
#
#     completions[a, placed] = completions[a - 1, placed]                        a is left empty
#                            + (n(a) - placed) completions[a - 1, placed + 1]    an arm has age a
#
# with completions[0, placed] = 1, and without the first term where age 1 must be some arm's. The
# number of vectors is completions[longest delay, 0].
#
# Numbering. Vectors are sorted by their oldest age, then by the index of the arm that has it, then
# by what is left in the same way. Vectors whose oldest age is below a come first: they are the ways
# to leave age a empty. Each arm that could have age a follows with as many vectors as
# completions[a - 1, placed + 1]. So the number of a vector is a sum with one term for each arm that
# is not rested, and neither direction needs a table of all vectors. With delays 2 and 1, the first
# arm on the left:
#
#     number  0       1       2
#     ages    1 0     0 1     2 1

from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.kernels import compiled, tiered

RESTED = 0
MOST_VECTORS = 1e300
"""Where counting ends."""


class Space(NamedTuple):
    """The delay vectors of arms with these delays."""

    delays: IntArray
    completions: IntArray


@compiled
def _arms_by_delay(delays: IntArray) -> IntArray:
    """Return how many arms have at least each delay from 0 to the longest."""
    counts = np.zeros(delays.max() + 1, np.int64)
    for delay in delays:
        counts[delay] += 1
    for delay in range(len(counts) - 2, -1, -1):
        counts[delay] += counts[delay + 1]
    return counts


@compiled
def _first_completions(delays: IntArray) -> FloatArray:
    """Return the ways to fill no ages; no more arms can be placed than wear out, one an age."""
    return np.ones(min((delays > 0).sum(), delays.max()) + 1)


@compiled
def _add_age(completions: FloatArray, arms: int, free: bool) -> None:
    """Turn the ways to fill all younger ages into those with one more age, for so many arms.

    `free` says whether the age can be nobody's.
    """
    # In ascending order, so that `completions[placed + 1]` is still that of the younger ages.
    for placed in range(len(completions)):
        ways = completions[placed] if free else 0.0
        if placed < min(arms, len(completions) - 1):
            ways += (arms - placed) * completions[placed + 1]
        completions[placed] = min(ways, MOST_VECTORS)


@tiered(lambda delays: 4 * (delays.max() + 1) * (len(delays) + 1))
def count_vectors(delays: IntArray) -> float:
    """Return the number of delay vectors of arms with these delays, at most MOST_VECTORS."""
    by_delay = _arms_by_delay(delays)
    completions = _first_completions(delays)
    for age in range(1, len(by_delay)):
        _add_age(completions, by_delay[age], age > 1 or by_delay[1] < by_delay[0])
        if completions[0] == MOST_VECTORS:
            break
    return float(completions[0])


@tiered(lambda delays: 4 * (delays.max() + 1) * (len(delays) + 1))
def number_vectors(delays: IntArray) -> Space:
    """Return how the delay vectors of arms with these delays are numbered."""
    by_delay = _arms_by_delay(delays)
    completions = _first_completions(delays)
    table = np.empty((len(by_delay), len(completions)), np.int64)
    table[0] = 1
    for age in range(1, len(by_delay)):
        _add_age(completions, by_delay[age], age > 1 or by_delay[1] < by_delay[0])
        table[age] = completions
    return Space(delays, table)


@compiled
def _if_nobody(space: Space, age: int, placed: int) -> int:
    """Return the ways to fill the ages below when nobody stands at this one."""
    if age == 1 and space.delays.min() > 0:
        return 0
    return int(space.completions[age - 1, placed])


@tiered(lambda ages: 2 * len(ages) ** 2)
def number_of(ages: IntArray, space: Space) -> int:
    """Return the number of a delay vector."""
    number = 0
    bound = space.completions.shape[0]
    for placed in range(len(ages)):
        oldest = -1  # of the arms younger than those before
        for arm in range(len(ages)):
            if RESTED < ages[arm] < bound and (oldest == -1 or ages[arm] > ages[oldest]):
                oldest = arm
        if oldest == -1:
            break
        age = ages[oldest]
        # Arms with a smaller index that could have this age. Those with an older one were placed
        # before; a rested arm (age 0) and a younger one were not.
        smaller = 0
        for arm in range(oldest):
            smaller += space.delays[arm] >= age >= ages[arm]
        number += _if_nobody(space, age, placed)
        number += smaller * space.completions[age - 1, placed + 1]
        bound = age
    return int(number)


@compiled
def ages_of(number: int, space: Space) -> IntArray:
    """Return the delay vector with a number."""
    ages = np.full(len(space.delays), RESTED)
    bound = space.completions.shape[0]
    for placed in range(len(ages)):
        # The oldest age below the bound. The ways to leave an age empty grow with the age, and the
        # vectors in which this one is the oldest have the numbers from its ways to those of the
        # next age. Age 0 means that all arms that are left are rested.
        age = 0
        above = bound
        while above - age > 1:
            middle = (age + above) // 2
            if _if_nobody(space, middle, placed) <= number:
                age = middle
            else:
                above = middle
        if age == 0:
            break
        number -= _if_nobody(space, age, placed)
        smaller, number = divmod(number, space.completions[age - 1, placed + 1])
        for arm in range(len(ages)):
            if space.delays[arm] >= age and ages[arm] == RESTED:
                if smaller == 0:
                    ages[arm] = age
                    break
                smaller -= 1
        bound = age
    return ages


def _transitions_work(space: Space, aged_space: Space) -> float:
    """Return how often `transitions` looks at an arm."""
    arms = len(space.delays)
    vectors = float(space.completions[-1, 0]) + arms * float(aged_space.completions[-1, 0])
    return vectors * arms * min(arms, len(space.completions))


@tiered(_transitions_work)
def transitions(space: Space, aged_space: Space) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Return the delays and the aged state of each state, and what follows each aged state.

    What follows a state depends on its aged state: the vector without the arms that are rested one
    round later. These vectors form the space of the delays d_i - 1, several times smaller. Pulling
    an arm leads from a state to `successors[aged[state], arm]`.
    """
    arms = len(space.delays)
    delays = np.empty((space.completions[-1, 0], arms), np.int32)
    aged = np.empty(len(delays), np.int32)
    # An arm whose age is its delay is rested in the next round if it is not pulled, as if it were
    # rested now; if it is pulled, its age does not matter either. So both have the same successors.
    for state in range(len(delays)):
        ages = ages_of(state, space)
        for arm in range(arms):
            delays[state, arm] = space.delays[arm] + 1 if ages[arm] == RESTED else ages[arm]
            if ages[arm] == space.delays[arm]:
                ages[arm] = RESTED
        aged[state] = number_of(ages, aged_space)
    successors = np.empty((aged_space.completions[-1, 0], arms), np.int32)
    for number in range(len(successors)):
        older = ages_of(number, aged_space)
        for arm in range(arms):
            if older[arm] != RESTED:
                older[arm] += 1
        for arm in range(arms):
            ages = older.copy()
            ages[arm] = 1 if space.delays[arm] > 0 else RESTED
            successors[number, arm] = number_of(ages, space)
    return delays, aged, successors
