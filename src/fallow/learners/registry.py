"""Learners by name, told what their algorithms may know of the instance and no more."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any

from fallow import checks, learners, user_code
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.learners import (
    KLUCB,
    BayesRotation,
    CheckedLearner,
    Doubling,
    Follow,
    LowSwitch,
    RankThenCut,
    Rotation,
)
from fallow.planners import Plan, ghost, greedy, plan, whittle
from fallow.protocol import Learner


def command_name(name: str) -> str:
    """Return the name of a class as it is typed on the command line.

    Examples
    --------
    >>> command_name("RankingUCB2"), command_name("ISICombUCB1")
    ('ranking-ucb2', 'isi-comb-ucb1')
    """
    return re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def _following(planner: Callable[[Instance], Plan]) -> Callable[[Instance], Follow]:
    return lambda instance: Follow(planner(instance))


def _unbounded_rotation(
    arms: int, switching_cost: float = 0.0, planner: str = "auto", exploration: float = 0.5
) -> Rotation:
    return Rotation(arms, None, switching_cost, planner, exploration)


def _unbounded_bayes_rotation(
    arms: int, memory: float | None = None, switching_cost: float = 0.0
) -> BayesRotation:
    return BayesRotation(arms, None, memory, switching_cost)


def _kl_ucb_whittle(arms: int, max_delay: int | None, exploration: float = 1.0) -> KLUCB:
    return KLUCB(arms, max_delay, "whittle", exploration)


def _kl_ucb_greedy(arms: int, max_delay: int | None, exploration: float = 1.0) -> KLUCB:
    return KLUCB(arms, max_delay, "greedy", exploration)


def _rank_then_cut(
    arms: int,
    horizon: int,
    delta: float = 0.1,
    max_delay: int | None = None,
    budget: int | None = None,
    then: type[CheckedLearner] = LowSwitch,
    options: Mapping[str, Any] = MappingProxyType({}),
    **facts: Any,
) -> RankThenCut:
    _check_options(RankThenCut, then, options, facts)
    return RankThenCut(arms, horizon, delta, max_delay, budget, then, **facts, **options)


def _doubling(
    of: type[CheckedLearner] = LowSwitch,
    first_horizon: int = 128,
    options: Mapping[str, Any] = MappingProxyType({}),
    **facts: Any,
) -> Doubling:
    _check_options(Doubling, of, options, facts)
    return Doubling(of, first_horizon, **facts, **options)


def _check_options(
    outer: type, inner: type, options: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Check that options for the inner learner are not for the outer one, and not told anyway."""
    if not isinstance(options, Mapping):
        rule = f"a table of parameters of {inner.__name__}"
        raise InputError("options", f"must be {rule}", checks.short(options))
    for name in options:
        checks.text("a name in options", name, longest=checks.MAX_NAME)
        if name in signature(outer).parameters or name in facts:
            raise InputError("options", f"must not hold {name}, which {inner.__name__} is given")


def _exported() -> dict[str, type[CheckedLearner]]:
    """Return the learners that the package exports, by name."""
    classes = {command_name(name): getattr(learners, name) for name in learners.__all__}
    return {
        name: each
        for name, each in classes.items()
        if isinstance(each, type) and issubclass(each, CheckedLearner)
        if each not in (CheckedLearner, Follow, KLUCB)
    }


LEARNERS: Mapping[str, Callable[..., CheckedLearner]] = MappingProxyType(
    {
        **_exported(),
        "rank-then-cut": _rank_then_cut,
        "doubling": _doubling,
        "rotation-unbounded": _unbounded_rotation,
        "bayes-rotation-unbounded": _unbounded_bayes_rotation,
        "kl-ucb-whittle": _kl_ucb_whittle,
        "kl-ucb-greedy": _kl_ucb_greedy,
        "ghost": _following(ghost),
        "greedy": _following(greedy),
        "whittle": _following(whittle),
        "plan": _following(partial(plan, effort=0)),  # each run may have an instance of its own
    }
)
"""How each learner is made; the last four follow a plan made with full knowledge."""

INNER: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"rank-then-cut": ("then", "order"), "doubling": ("of", "horizon")}
)
"""Learners made of another: the parameter that names it, and the argument that it must have."""

TOLD: Mapping[str, Callable[[Instance, int, int], object]] = MappingProxyType(
    {
        "instance": lambda instance, _, __: instance,
        "arms": lambda instance, _, __: instance.arms,
        "order": lambda instance, _, __: instance.order.tolist(),
        "delays": lambda instance, _, __: instance.delays.tolist(),
        "max_delay": lambda instance, _, __: _bound(instance),
        "horizon": lambda _, horizon, __: horizon,
        "seed": lambda _, __, seed: seed,
    }
)
"""By argument, what a learner that has this argument is told of instance, horizon and seed."""


def _bound(instance: Instance) -> int | None:
    """Return the bound on delays that learners are told, none where delays do not matter."""
    return max(int(instance.delays.max()), 1) if instance.arms > 1 else None


def find_learner(name: str, what: str = "a learner") -> Callable[..., Learner]:
    """Return how a learner is made: one of `LEARNERS`, or a user's own that was loaded."""
    if user_code.is_user_code(name):
        make: Callable[..., Learner] = user_code.find(name)
        return make
    if not isinstance(name, str) or name not in LEARNERS:
        known, hint = ", ".join(LEARNERS), checks.suggestion(name, LEARNERS)
        raise InputError(
            what,
            f"must be one of {known}, or a class of your own as module:Name",
            f"{checks.short(name)}{hint}",
        )
    return LEARNERS[name]


def inner_learners(name: str) -> list[str]:
    """Return the learners that another one can be made of.

    Examples
    --------
    >>> inner_learners("doubling")
    ['explore-then-commit', 'low-switch', 'rank-then-cut']
    """
    _, needed = INNER[name]
    return [each for each, cls in _exported().items() if needed in signature(cls).parameters]


def _inner_class(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return the class that a learner is made of."""
    parameter, _ = INNER[name]
    if parameter not in parameters:
        return LowSwitch
    inner = checks.text(parameter, parameters[parameter])
    if user_code.is_user_code(inner):
        return user_code.find(inner)
    checks.one_of(parameter, inner, inner_learners(name))
    return _exported()[inner]


def free_parameters(name: str) -> list[str]:
    """Return the parameters of a learner that a user may set."""
    arguments = signature(find_learner(name)).parameters.values()
    named = [each.name for each in arguments if each.kind is not each.VAR_KEYWORD]
    return [each for each in named if each not in TOLD]


def knowledge(name: str, parameters: Mapping[str, Any] = MappingProxyType({})) -> list[str]:
    """Return what a learner is told, by argument: what it, and the one it is made of, ask for.

    Examples
    --------
    >>> knowledge("low-switch"), knowledge("doubling")
    (['order', 'horizon'], ['order'])
    """
    own = signature(find_learner(name)).parameters
    if name not in INNER:
        return [each for each in own if each in TOLD]
    given = ("order", "horizon") if name == "rank-then-cut" else ("horizon",)
    inner = signature(_inner_class(name, parameters)).parameters
    asked = [each for each in inner if each not in own and each not in given]
    return [each for each in (*own, *asked) if each in TOLD]


def learner_factory(
    name: str,
    horizon: int,
    parameters: Mapping[str, Any] = MappingProxyType({}),
    told: Mapping[str, object] = MappingProxyType({}),
) -> Callable[[Instance, int], Learner]:
    """Return a function from an instance and a seed to a fresh learner.

    The learner is told what its arguments ask for, and no more; `told` overrides the instance's
    facts.

    Examples
    --------
    >>> from fallow import catalog
    >>> pi_low = learner_factory("low-switch", horizon=1000, parameters={"delta": 0.2})
    >>> pi_low(catalog.figure3(), 0).ask()
    Block(arms=(0,), plays=17)
    """
    make = find_learner(name)
    checks.mapping("parameters", parameters)
    checks.mapping("told", told)
    wanted = knowledge(name, parameters)
    checks.arguments(name, make, parameters, supplied=wanted)
    given = dict(parameters)
    if name in INNER:  # found now, since a worker knows no names
        given[INNER[name][0]] = _inner_class(name, parameters)

    def build(instance: Instance, seed: int) -> Learner:
        facts = {
            argument: told.get(argument, TOLD[argument](instance, horizon, seed))
            for argument in wanted
        }
        return make(**facts, **given)

    return build
