"""Named instances: the paper's, those of sibling papers, and random families.

Arms stand in the order of decreasing baseline where the paper numbers them so. Whatever is random
is drawn from a seed.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType

from fallow import checks, user_code
from fallow.catalog.families import (
    drifting,
    falling,
    mixed,
    random_blocking,
    random_geometric,
    random_power,
    random_table,
)
from fallow.catalog.paper import (
    figure2,
    figure3,
    greedy_trap,
    maintenance,
    non_monotone,
    non_monotone_constant,
    theorem2_counterexample,
    theorem2_mild_counterexample,
)
from fallow.catalog.siblings import (
    blocking_fixed,
    blocking_large,
    blocking_small,
    published_blocking,
    published_recovering,
    recovering,
    trick_csbog,
    trick_og,
)
from fallow.errors import InputError
from fallow.instance import Instance

__all__ = [
    "ENTRIES",
    "blocking_fixed",
    "blocking_large",
    "blocking_small",
    "build",
    "drifting",
    "falling",
    "figure2",
    "figure3",
    "find_entry",
    "greedy_trap",
    "maintenance",
    "mixed",
    "non_monotone",
    "non_monotone_constant",
    "published_blocking",
    "published_recovering",
    "random_blocking",
    "random_geometric",
    "random_power",
    "random_table",
    "recovering",
    "source",
    "theorem2_counterexample",
    "theorem2_mild_counterexample",
    "trick_csbog",
    "trick_og",
]

ENTRIES: Mapping[str, Callable[..., Instance]] = MappingProxyType(
    {
        entry.__name__: entry
        for entry in (
            figure2,
            figure3,
            greedy_trap,
            non_monotone,
            non_monotone_constant,
            theorem2_counterexample,
            theorem2_mild_counterexample,
            maintenance,
            random_geometric,
            random_power,
            random_table,
            random_blocking,
            falling,
            mixed,
            drifting,
            blocking_small,
            blocking_large,
            blocking_fixed,
            recovering,
            published_blocking,
            published_recovering,
            trick_og,
            trick_csbog,
        )
    }
)
"""Every instance by name."""


def build(name: str, parameters: Mapping[str, object] = MappingProxyType({})) -> Instance:
    """Return a catalog instance by its name and parameters.

    Examples
    --------
    >>> build("figure2", {"seed": 3}) == figure2(seed=3)
    True
    """
    entry = find_entry(name)
    checks.arguments(name, entry, parameters)
    return _made(entry, parameters)


def source(name: str, parameters: Mapping[str, object]) -> Instance | Callable[[int], Instance]:
    """Return an instance, or a family, a function of a seed, if it is random and has no seed.

    Examples
    --------
    >>> source("figure3", {}) == figure3()
    True
    >>> family = source("figure2", {})
    >>> callable(family) and family(3) == figure2(seed=3)
    True
    """
    entry = find_entry(name)
    checks.mapping("parameters", parameters)
    if "seed" not in signature(entry).parameters or "seed" in parameters:
        return build(name, parameters)
    checks.arguments(name, entry, {**parameters, "seed": 0})
    return lambda seed: _made(entry, {**parameters, "seed": seed})


def find_entry(name: str) -> Callable[..., Instance]:
    """Return the function behind a name: one of `ENTRIES`, or a user's own that was loaded."""
    if user_code.is_user_code(name):
        entry: Callable[..., Instance] = user_code.find(name)
        return entry
    checks.one_of("name", name, ENTRIES)
    return ENTRIES[name]


def _made(entry: Callable[..., Instance], parameters: Mapping[str, object]) -> Instance:
    made: object = entry(**parameters)
    if not isinstance(made, Instance):
        raise InputError(f"{entry.__name__}", "must return an Instance", checks.short(made))
    return made
