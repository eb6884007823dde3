"""What a round costs in the relaxed problem, found once for all planners."""

from functools import lru_cache
from weakref import ref

from fallow.instance import Instance
from fallow.kernels.bounds import clearing_price
from fallow.planners.feasible import possible_problem


def relaxed_price(instance: Instance) -> float:
    """Return the price at which all arms together ask for one pull a round, on scaled means.

    Examples
    --------
    >>> relaxed_price(Instance.blocking([1, 1, 1], delays=[1, 1, 1]))
    1.0
    """
    return _price(ref(instance))


@lru_cache(maxsize=1)  # several planners of an instance ask for it; the cache keeps no table alive
def _price(reference: ref[Instance]) -> float:
    instance = reference()
    assert instance is not None  # the caller holds it
    _, means, limits = possible_problem(instance)
    return clearing_price(means, limits)
