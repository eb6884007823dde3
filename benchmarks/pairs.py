"""What `make bench-check` times, each with a baseline of its own kind.

Another machine, or other work on this one, slows down compiled loops, the interpreter and new
processes by different factors. A baseline of the same kind suffers alike.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

import fallow
from benchmarks.index_policy import numpy_loop
from benchmarks.minimal import minimal_ucb1
from benchmarks.simulation import RoundRobin
from benchmarks.startup import README, compile_anew, process, python
from fallow.learners.registry import LEARNERS, learner_factory
from fallow.planners import HEURISTICS

Work = Callable[[], object]
Planner = Callable[[fallow.Instance], object]
FIGURE2 = fallow.catalog.figure2(seed=3)


@dataclass(frozen=True)
class Pair:
    """Some work of the package, and work that does not depend on it; both take milliseconds."""

    baseline: Work
    work: Work


def compiled() -> None:
    """Run one compiled loop."""
    minimal_ucb1(FIGURE2.means, 50_000, np.random.default_rng(0))


def interpreted() -> None:
    """Run a loop of the interpreter over small arrays."""
    numpy_loop(FIGURE2.means, FIGURE2.means, 300)


def mixed() -> None:
    """Run short compiled loops from the interpreter, which take half the time each."""
    for _ in range(50):
        minimal_ucb1(FIGURE2.means, 500, np.random.default_rng(0))


def _play(name: str, horizon: int) -> None:
    learner = learner_factory(name, horizon)(FIGURE2, 0)
    fallow.simulate(FIGURE2, learner, horizon, 0, checkpoints=[horizon])


HORIZONS = {
    "ucb1": 200_000,
    "ranking-ucb": 10**6,
    "epsilon-greedy": 10**5,
    "sliding-window-ucb": 10**5,
    "thompson-sampling": 20_000,
    "low-switch": 10**6,
    "ucb-greedy": 1000,
    "lookahead": 1000,
    "lookahead-thompson": 1000,
    "kl-ucb-whittle": 1000,
    "kl-ucb-greedy": 1000,
    "psrl": 1000,
    "imed-kd": 1000,
    "isi-comb-ucb1": 1000,
    "bayes-rotation": 1000,
    "bayes-rotation-unbounded": 1000,
    "rotation": 1000,
    "rotation-unbounded": 1000,
}
"""Where not 10,000: long for what lives in a compiled loop, short for what is slow."""
COMPILED = ("ucb1", "ranking-ucb", "epsilon-greedy", "sliding-window-ucb", "thompson-sampling")
MIXED = (
    "bayes-rotation",
    "bayes-rotation-unbounded",
    "rotation",
    "rotation-unbounded",
    "isi-comb-ucb1",
    "lookahead",
    "lookahead-thompson",
    "kl-ucb-whittle",
    "kl-ucb-greedy",
    "psrl",
    "imed-kd",
    "ranking-ucb2",
    "plan",
)


def _learners() -> dict[str, Pair]:
    kinds = dict.fromkeys(COMPILED, compiled) | dict.fromkeys(MIXED, mixed)
    pairs = {}
    for name in LEARNERS:
        horizon = HORIZONS.get(name, 10_000)
        work = partial(_play, name, horizon)
        pairs[f"{name}, T = {horizon:,}"] = Pair(kinds.get(name, interpreted), work)
    return pairs


def _round_robin() -> None:
    fallow.simulate(FIGURE2, RoundRobin(FIGURE2.arms), 500, 0)


def _planner(plan: Planner, baseline: Work, arms: int, delay: int) -> Pair:
    """Plan two instances in turns, because the bound of the last one is remembered."""
    draws = [
        fallow.catalog.random_geometric(arms=arms, max_delay=delay, seed=seed) for seed in (1, 2)
    ]
    return Pair(baseline, lambda: [plan(draw) for draw in draws])


def _planners() -> dict[str, Pair]:
    planners: dict[str, Planner] = {
        **HEURISTICS,
        "upper_bound": partial(fallow.upper_bound, effort=0),
        "plan": partial(fallow.plan, max_states=0, effort=0),
    }
    pairs = {
        f"{name}, k = 100, D = 20": _planner(
            plan, compiled if name in ("beam", "plan") else mixed, 100, 20
        )
        for name, plan in planners.items()
    }
    pairs["whittle, k = 1,000, D = 100"] = _planner(fallow.planners.whittle, compiled, 1000, 100)
    pairs["upper_bound, k = 1,000, D = 100"] = _planner(
        planners["upper_bound"], compiled, 1000, 100
    )
    pairs["optimal, k = 6, D = 6"] = _planner(fallow.optimal, mixed, 6, 6)
    return pairs


UCB1 = """
import numpy
from benchmarks.minimal import minimal_ucb1
minimal_ucb1(numpy.ones((2, 2)), 10, numpy.random.default_rng(0))
"""
BOUND = """
import fallow
fallow.upper_bound(fallow.catalog.random_geometric(arms=60, max_delay=60), effort=0)
"""
START_UP = {
    "import fallow": Pair(partial(python, "import numpy"), partial(python, "import fallow")),
    "fallow --help": Pair(
        partial(python, "import numpy"),
        partial(process, [sys.executable, "-m", "fallow", "--help"]),
    ),
    "the README's plan": Pair(partial(python, "import numpy"), partial(python, README)),
    "upper_bound in a new process": Pair(partial(python, "import numba"), partial(python, BOUND)),
    "upper_bound in a new process, compiled": Pair(
        partial(compile_anew, UCB1), partial(compile_anew, BOUND)
    ),
}

PAIRS: Mapping[str, Pair] = {
    **{f"learner {name}": pair for name, pair in _learners().items()},
    "learner of a user, T = 500": Pair(interpreted, _round_robin),
    **{f"planner {name}": pair for name, pair in _planners().items()},
    **{f"start-up {name}": pair for name, pair in START_UP.items()},
}
