"""Calls of the public functions and classes with options, most of them wrong."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from inspect import Parameter, signature
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fallow import (
    Block,
    Instance,
    Outcome,
    catalog,
    checks,
    decay,
    learners,
    planners,
    replicate,
    simulate,
)
from fallow.learners import LowSwitch
from fallow.learners.registry import LEARNERS, free_parameters, learner_factory
from fallow.protocol import Learner
from fallow.studies import Study, estimate, log_rounds

INSTANCE = catalog.random_geometric(arms=3, max_delay=2)
HOSTILE: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        "",
        "x",
        "ghost",
        b"x",
        object(),
        3j,
        ...,
        NotImplemented,
        int,
        len,
        repeat,
    ),
    *(0, 1, 2, 3, -1, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63, 2**64, 10**400, 16**5000),
    *(0.0, -0.0, 0.5, 1.0, 1.5, -1e-300, 5e-324, 1e-310, 1e300, 1.7e308, 1 - 2**-53),
    *(float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal(2), Fraction(1, 2)),
    *([], [[]], [0], [0, 1, 2], [1.0, 2.0], [None], ["x"], [float("nan")], [10**400], [-1], [True]),
    *(
        (),
        (0, 1),
        {},
        {"x": 1},
        {0: 1},
        set(),
        {1},
        range(0),
        range(3),
        range(10**12),
        range(10**30),
    ),
    *(repeat(1), iter([]), Block((0,)), INSTANCE, [INSTANCE]),
    *(np.array(None), np.array(3), np.zeros(0), np.zeros((2, 0)), np.array([None, 1], object)),
    *(np.ma.masked_array([1, 2], [True, False]), np.arange(3), np.array([0.5, np.nan])),
    *(np.array(["x"]), np.array([1j]), np.zeros((1, 2, 3)), np.array([2**63], np.uint64)),
    *(
        np.int8(-1),
        np.uint8(3),
        np.int64(2**62),
        np.uint64(2**64 - 1),
        np.float16(2),
        np.float32(0.5),
    ),
    *(
        np.float64("nan"),
        np.longdouble(2),
        np.True_,
        np.str_("x"),
        np.bytes_(b"x"),
        np.complex64(1),
    ),
    *(np.datetime64("2020"), np.timedelta64(3, "D"), np.void(b"x")),
)
USUAL: dict[str, Any] = {
    "arms": 3,
    "order": [0, 1, 2],
    "delays": [1, 2, 1],
    "max_delay": 2,
    "horizon": 60,
    "seed": 0,
    "rounds": 5,
    "runs": 1,
    "workers": 1,
    "instance": INSTANCE,
    "plan": planners.ghost(INSTANCE),
    "cycle": [0, 1, 0, 2],
    "intervals": [2, 4, 4],
    "policy": lambda _: 0,
    "of": LowSwitch,
    "means": [[0.1, 0.9], [0.5, 0.5]],
    "baselines": [1, 0.5, 0.2],
    "decay": [0.5, 0.25],
    "values": [0.5, 0.25],
    "value": 0.5,
    "rate": 0.5,
    "exponent": 1.5,
    "count": 5,
    "name": "figure2",
    "learner": LowSwitch([0, 1, 2], 60),
    "learners": {"low": lambda instance, _: LowSwitch(instance.order, 60)},
    "parameters": {},
}
"""What an argument without a default may be."""
LONG = {"horizon": 60, "rounds": 60, "runs": 1, "workers": 1}
"""Arguments that are right but take long where they are larger."""
TRUSTED = ("instance", "plan", "policy")
"""Arguments of planners and learners that are objects of the package or code, not options."""


def case(generator: Random, _: Path) -> str:
    """Call one function, or make one learner and ask it a few times."""
    if generator.random() < 0.5:
        call: Callable[..., object] = generator.choice(FUNCTIONS)
        trusted = () if call in CHECK_ALL else TRUSTED
        arguments = _arguments(call, generator, trusted)
        return _outcome(lambda: call(**arguments))
    if generator.random() < 0.5:
        make: Callable[..., Any] = generator.choice(CLASSES)
        arguments = _arguments(make, generator, TRUSTED)
        return _outcome(lambda: _ask(make(**arguments)))
    name = generator.choice(list(LEARNERS))
    parameters = {
        key: _hostile(generator) for key in free_parameters(name) if generator.random() < 0.4
    }
    told = {"max_delay": _hostile(generator)} if generator.random() < 0.2 else {}
    horizon = _hostile(generator) if generator.random() < 0.2 else 60
    return _outcome(lambda: _ask(learner_factory(name, horizon, parameters, told)(INSTANCE, 0)))


def _outcome(run: Callable[[], object]) -> str:
    try:
        run()
    except (ValueError, OSError):
        return "refused"
    return "read"


def _hostile(generator: Random) -> Any:
    return generator.choice(HOSTILE)


def _arguments(
    call: Callable[..., object], generator: Random, trusted: tuple[str, ...]
) -> dict[str, Any]:
    """Return arguments of which some are hostile, and at least one if any may be."""
    parameters = {
        name: each
        for name, each in signature(call).parameters.items()
        if each.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    open_to_change = [name for name in parameters if name not in trusted and name != "on_runs"]
    wrong = set(generator.choices(open_to_change, k=2)) if open_to_change else set()
    arguments = {
        name: _hostile(generator) if name in wrong else USUAL[name]
        for name, each in parameters.items()
        if name in wrong or each.default is Parameter.empty or name == "workers"
    }
    for name, most in LONG.items():  # right, but work for hours
        value = arguments.get(name)
        if isinstance(value, int | float | np.number) and most < value <= checks.LARGEST:
            arguments[name] = most
    return arguments


def _ask(learner: Learner) -> None:
    """Let a learner play three blocks that earn nothing."""
    for _ in range(3):
        block = learner.ask()
        nothing = [0.0] * len(block.arms)
        learner.tell(block, Outcome(nothing, nothing))


CLASSES = [
    getattr(learners, name)
    for name in learners.__all__
    if name not in ("CheckedLearner", "load", "RankThenCut", "Doubling", "Follow")
]
CHECK_ALL = (Study, simulate, replicate)
FUNCTIONS = [
    *(getattr(planners, name) for name in ("beam", "improve", "optimal", "plan", "gain")),
    *(planners.schedule, planners.maintenance.schedule),
    *(Instance, Instance.b2dep, Instance.blocking),
    *(*catalog.ENTRIES.values(), catalog.build, catalog.source),
    *(decay.geometric, decay.constant, decay.power, decay.table),
    *(estimate, log_rounds, Study, simulate, replicate),
]
