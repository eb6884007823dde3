"""Kernels do the same in the interpreter and as machine code, and sizes decide which."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import all_kernels, reached
from test_readme import PYTHON

import fallow
from fallow import Instance, Rules, catalog, kernels, simulate
from fallow.kernels.bounds import best_delays, clearing_price
from fallow.kernels.confidence import rises
from fallow.kernels.cycles import best_part, shortest_period
from fallow.kernels.paths import allows, follow, permitted
from fallow.learners.registry import LEARNERS, learner_factory
from fallow.limits import no_limits, rested_past
from fallow.planners import HEURISTICS, advise
from fallow.planners.feasible import StuckError
from fallow.planners.optimal import within_reach
from fallow.planners.problem import problem_of
from fallow.rewards import Name

ALWAYS_COMPILED = {
    "fallow.kernels.blocks.best_block",  # searches for as long as it takes
    "fallow.kernels.cycles.local_search",  # likewise
    "fallow.kernels.schedule.improve_path",  # likewise
    "fallow.kernels.bandits.thompson_choice",  # its draws are the compiler's own
    "fallow.kernels.bandits.play_thompson",  # likewise
}


def bits(value: object) -> object:
    """Return all that a value is, of which type, and down to the last bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return type(value), [bits(part) for part in value]
    if isinstance(value, np.random.Generator):
        return str(value.bit_generator.state)
    return type(value), repr(value)


class Comparison(kernels.Interpreter):
    """Takes on every call, and keeps the names of kernels that were called, and without work."""

    def __init__(self) -> None:
        super().__init__()
        self.called: set[str] = set()
        self.without_work: set[str] = set()
        self._work = 0.0

    def takes(self, work: float) -> bool:
        self._work = work
        return True

    def twice(self, module: str, name: str) -> Callable[..., Any]:
        """Return a kernel that compares what both tiers return and do to their arguments."""
        file, kernel = kernels.FILES[module], f"{module}.{name}"
        interpreted = file.interpreted[name]

        def compare(*args: Any, **kwargs: Any) -> Any:
            self.called.add(kernel)
            if self._work == np.inf:
                self.without_work.add(kernel)
            copies, named_copies = deepcopy((args, kwargs))
            found = interpreted(*copies, **named_copies)
            expected = file.compiled[name](*args, **kwargs)
            assert (kernel, bits(found)) == (kernel, bits(expected))
            assert (kernel, bits(copies)) == (kernel, bits(args))
            return expected

        return compare


@contextmanager
def both_tiers() -> Iterator[Comparison]:
    """Make each call of a kernel in both tiers, and compare them."""
    comparison = Comparison()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "INTERPRETER", comparison)
        for module, file in kernels.FILES.items():
            patch.setattr(file, "is_compiled", False)
            compared = {name: comparison.twice(module, name) for name in file.functions}
            patch.setattr(file, "interpreted", compared)
        yield comparison


def instances() -> Iterator[Instance]:
    """With means that fall, ties and zeros, the smallest numbers, many arms, a single cell."""
    for seed in range(4):
        generator = np.random.default_rng(seed)
        shape = generator.integers(2, 5), generator.integers(1, 5)
        yield Instance(generator.random(shape))
        yield Instance(generator.integers(0, 3, shape) / 4)
        yield Instance(5e-324 * generator.integers(0, 3, shape))
        rules = Rules(
            cooldowns={0: int(generator.integers(2, 4))},
            at_most=[{"arms": [0, 1], "pulls": 2, "rounds": 4}],
            groups={"both": [0, 1]},
            at_least_once={1: int(generator.integers(3, 8))},
        )
        yield Instance(generator.random((3, 3)), rules=rules)
    yield Instance(np.random.default_rng(4).random((20, 2)))
    yield Instance([[0.5]])


def test_every_kernel_does_the_same_in_both_tiers() -> None:
    laws: Sequence[Name] = ("bernoulli", "none", "beta")
    generator = np.random.default_rng(5)
    with both_tiers() as comparison:
        ruled = catalog.random_table(seed=1).with_rules(Rules(cooldowns=2))
        best_part(ruled.means, problem_of(ruled).limits, generator.integers(0, 7, 30))
        for instance in instances():
            problem = problem_of(instance)
            means, limits = problem.means, problem.limits
            rested, path = means.shape[1], generator.integers(0, len(means), 9)
            allows(limits, rested_past(limits, rested), rested, path)
            permitted(limits, rested_past(limits, rested))
            for planner in HEURISTICS.values():
                with suppress(StuckError):
                    planner(instance)
            fallow.plan(instance, max_states=0)
            fallow.schedule(instance, rounds=4)
            fallow.schedule(instance, rounds=4, max_states=0)
            if within_reach(instance, max_states=1000):
                fallow.optimal(instance)
                fallow.schedule(instance, rounds=6)
            fallow.schedule(instance, rounds=6, max_states=0)
        advise(Instance([[0.5, 0.9], [0.1, 0.1]], rules=Rules(cooldowns={0: 4})))
        for name, law in product(LEARNERS, laws):
            for instance, horizon in (
                (Instance([[0.2, 0.8], [0.5, 0.5]]), 60),
                (catalog.random_geometric(3, 4), 20),
            ):
                learner = learner_factory(name, horizon)(instance, 0)
                run = simulate(instance, learner, horizon, seed=0, rewards=law)
                run.expected_reward(np.arange(horizon))
        for arms in range(9, 40):  # as many as there are rounds, up to rounding
            clearing_price(np.tile(np.eye(1, arms, arms - 1), (arms, 1)), no_limits(arms))
        for _ in range(20):
            counts = generator.integers(0, 50, (3, 30)).astype(float)
            rises(counts, counts * generator.random((3, 30)), level=1.0)
        for clock in ("rounds", "time"):
            user, time, arm = generator.integers(0, 9, (3, 40))
            fallow.Log(user=user, time=time, arm=arm, reward=generator.random(40), clock=clock)
        log = fallow.logs.simulate_log(catalog.random_geometric(3, 2), users=12, rounds=40)
        fallow.logs.value(log, [0, 1])
        fallow.logs.rest_matters(log)
        log.propensities = None  # the chosen arms' are left
        fallow.logs.value(log, [0, 1])
        fallow.logs.rest_matters(log)
    assert comparison.without_work == ALWAYS_COMPILED
    assert all_kernels() - reached(comparison.called) == set()


@pytest.fixture
def interpreter(monkeypatch: pytest.MonkeyPatch) -> kernels.Interpreter:
    """As in a new process."""
    fresh = kernels.Interpreter()
    monkeypatch.setattr(kernels, "INTERPRETER", fresh)
    for file in kernels.FILES.values():
        monkeypatch.setattr(file, "is_compiled", False)
    return fresh


def compiled_files() -> set[str]:
    return {module for module, file in kernels.FILES.items() if file.is_compiled}


def test_a_file_is_compiled_when_its_call_does_not_fit(interpreter: kernels.Interpreter) -> None:
    work = 64 * 4 + kernels.CALL
    interpreter.steps = 3 * work
    means, cycle = np.eye(2), np.array([0, 1])
    for left in (2, 1):
        clearing_price(means, no_limits(2))
        assert interpreter.steps == left * work
    best_delays(np.ones((100, 100)), 0.5, no_limits(100))  # too much, whatever was done before
    assert compiled_files() == {best_delays.__module__}
    clearing_price(means, no_limits(2))
    assert interpreter.steps == work  # its file is compiled for good
    for _ in range(int(work // (2 * len(cycle) + kernels.CALL))):
        shortest_period(cycle)
    assert compiled_files() == {best_delays.__module__}
    shortest_period(cycle)
    assert compiled_files() == {best_delays.__module__, shortest_period.__module__}


def test_sizes_alone_decide(interpreter: kernels.Interpreter) -> None:
    left = set()
    for seed in range(5):
        means = np.random.default_rng(seed).random((3, 4))
        interpreter.steps = kernels.LIMIT
        follow(
            means, no_limits(3), rested_past(no_limits(3), 4), max_rounds=50
        )  # until the delays repeat, early or late
        rises(100 * means, 50 * means[::-1], level=0.1)  # until an arm does
        left.add(interpreter.steps)
    assert len(left) == 1
    assert max(left) < kernels.LIMIT


def run_process(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a new process that finds machine code in a folder only."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_readme_needs_no_compiler(tmp_path: Path) -> None:
    code = f"{''.join(PYTHON)}\nimport sys\nprint('numba' in sys.modules)"
    assert run_process(code, tmp_path).stdout.splitlines()[-1] == "False"
    assert not list(tmp_path.iterdir())


LARGER = """
import logging
import fallow
from fallow import kernels
logging.basicConfig(level=logging.INFO)
fallow.upper_bound(fallow.catalog.random_geometric(arms=60, max_delay=60), effort=0)
print(kernels.INTERPRETER.steps, [name for name, file in kernels.FILES.items() if file.is_compiled])
"""


@pytest.mark.slow
def test_a_cache_changes_nothing_but_the_word_that_it_compiles(tmp_path: Path) -> None:
    first, second = run_process(LARGER, tmp_path), run_process(LARGER, tmp_path)
    assert first.stdout == second.stdout
    assert "['fallow.kernels.bounds']" in first.stdout
    assert first.stderr.count("INFO:fallow.kernels:compiling") == 1
    assert second.stderr == ""
