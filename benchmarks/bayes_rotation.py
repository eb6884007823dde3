"""How close to the optimum does `BayesRotation` come, on which families, and at what cost?"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

import fallow
from benchmarks.section import Section
from fallow import Instance, catalog
from fallow.learners.registry import LEARNERS, learner_factory
from fallow.planners.plan import optimum_or_bound
from fallow.studies import Result, estimate

SEED = 2
"""Of the reported runs; constants were chosen on draws of seeds from 1000 on, one by one."""
RUNS = 30
Family = Callable[[int], Instance | Sequence[Instance]]


def _drifting(seed: int) -> list[Instance]:
    return [catalog.drifting(float(progress), seed) for progress in np.linspace(0, 1, 10)]


def _low_rates(_: int) -> Instance:
    return Instance.b2dep([0.02] + [0.005] * 7, delays=[8] * 8, decay=[0.9] * 8)


def _blocked(arms: int, delay: int, _: int) -> Instance:
    return Instance.blocking([0.05] * arms, [delay] * arms)


class Setting(NamedTuple):
    """A family, rounds at which to look, and the shares that were to be reached there."""

    name: str
    family: Family
    rounds: Sequence[int]
    reach: str


GEOMETRIC = catalog.random_geometric
TOLD = (
    Setting("Figure 2", catalog.figure2, (10**3, 10**4, 10**5), ".972 / .994 / .998"),
    Setting("geometric", lambda seed: GEOMETRIC(seed=seed), (10**3, 10**4), ".935 / .980"),
    Setting("power", lambda seed: catalog.random_power(seed=seed), (10**3, 10**4), ".928 / .977"),
    Setting("table", lambda seed: catalog.random_table(seed=seed), (10**3, 10**4), ".932 / .984"),
    Setting("blocking 1 to 10", catalog.blocking_small, (10**3, 10**4), ".935 / .979"),
    Setting("blocking 11 to 20", catalog.blocking_large, (10**3, 10**4), ".922 / .958"),
    Setting("recovering", catalog.recovering, (10**3, 10**4), ".82 / .935"),
    Setting("30 arms", partial(GEOMETRIC, 30, 10), (10**3, 10**4), ".90 / .964"),
    Setting("100 arms", partial(GEOMETRIC, 100, 10), (10**3, 10**4), ".88 / .968"),
    Setting("delays to 30", partial(GEOMETRIC, 7, 30), (10**3, 10**4), ".84 / .935"),
    Setting("falling", catalog.falling, (10**3, 10**4), ".965 / .995"),
    Setting("low rates", _low_rates, (10**3, 10**4), "- / .85"),
    Setting("trickCSBOG", lambda _: catalog.trick_csbog(), (1000, 3600), "- / .80"),
)
UNTOLD = (
    Setting("Figure 2", catalog.figure2, (10**3, 10**4), "- / .99"),
    Setting("geometric", lambda seed: GEOMETRIC(seed=seed), (10**3, 10**4), "- / .95"),
    Setting("blocking 11 to 20", catalog.blocking_large, (10**3, 10**4), "- / .94"),
    Setting("3 arms of .05, blocked for 2", partial(_blocked, 3, 2), (10**4, 10**5), "- / .85"),
    Setting("9 arms of .05, blocked for 8", partial(_blocked, 9, 8), (10**4, 10**5), "- / .7"),
)


def _played(setting: Setting, learners: dict[str, dict[str, float]]) -> Result:
    """Play learners by name, with their parameters, or those that a name begins with."""
    horizon = setting.rounds[-1]
    factories = {
        name: learner_factory(name.partition(",")[0], horizon, parameters)
        for name, parameters in learners.items()
    }
    return fallow.replicate(
        setting.family,
        factories,
        horizon,
        RUNS,
        SEED,
        checkpoints=list(setting.rounds),
        references={"optimum": optimum_or_bound},
    )


def _shares(result: Result, name: str) -> str:
    mean, half_width = estimate(result.share(name))
    return " / ".join(f"{m:.4f} ± {h:.4f}" for m, h in zip(mean, half_width, strict=True))


def _row(setting: Setting, learners: Sequence[str]) -> tuple[str, ...]:
    result = _played(setting, {name: {} for name in learners})
    rounds = " / ".join(f"{each:,}" for each in setting.rounds)
    return setting.name, rounds, setting.reach, *(_shares(result, each) for each in learners)


def measure() -> Section:
    learners = ("bayes-rotation", "rotation", "kl-ucb-whittle")
    return Section(
        "`BayesRotation`: share of the optimum where a bound on delays is told",
        ("family", "T", "reach", *(f"`{each}`" for each in learners)),
        [_row(setting, learners) for setting in TOLD],
        f"{RUNS} fresh draws, or runs where there is one instance, replicate seed {SEED}, 95 % "
        "intervals. Of the optimum, or of its bound where the optimum is out of reach.",
    )


def measure_unbounded() -> Section:
    learners = ("bayes-rotation-unbounded", "rotation-unbounded")
    return Section(
        "`BayesRotation` without a bound on delays: share of the optimum",
        ("family", "T", "reach", *(f"`{each}`" for each in learners)),
        [_row(setting, learners) for setting in UNTOLD],
        f"{RUNS} draws or runs, replicate seed {SEED}, 95 % intervals.",
    )


def measure_drift() -> Section:
    setting = Setting("drifting", _drifting, (10**3, 10**4), "- / .955")
    names: dict[str, dict[str, float]] = {
        "bayes-rotation": {},
        "bayes-rotation, memory 1,000": {"memory": 1000},
        "bayes-rotation, memory 2,000": {"memory": 2000},
        "bayes-rotation, memory 4,000": {"memory": 4000},
        "rotation": {},
    }
    result = _played(setting, names)
    return Section(
        "`BayesRotation` where baselines drift",
        ("learner", "T = 1,000 / 10,000", "reach"),
        [(name, _shares(result, name), ".955" if "memory" in name else "") for name in names],
        f"The tournament's drifting baselines, {RUNS} runs, replicate seed {SEED}.",
    )


def measure_loss() -> Section:
    instance = catalog.figure2(seed=0)
    rounds = [10**power for power in (4, 6, 8, 10, 12)]
    best = fallow.optimal(instance).gain
    rows = []
    for make in (fallow.BayesRotation, fallow.Rotation):
        losses = []
        for seed in range(5):
            run = fallow.simulate(instance, make(7, 6), rounds[-1], seed, checkpoints=rounds)
            losses.append(1 - run.expected_reward(rounds) / np.array(rounds) / best)
        cells = [f"{loss:.1e}" for loss in np.mean(losses, axis=0)]
        rows.append((f"`{make.__name__}`", *cells))
    return Section(
        "What is lost of the optimum in the long run",
        ("learner", *(f"T = 10^{power}" for power in (4, 6, 8, 10, 12))),
        rows,
        "`figure2(seed=0)`, means over 5 runs, seeds 0 to 4.",
    )


def _processor_seconds(name: str, setting: Setting) -> float:
    instance = setting.family(0)
    assert isinstance(instance, Instance)
    times = []
    for seed in (0, 0, 1, 2):  # the first may compile
        learner = learner_factory(name, 10**4)(instance, seed)
        start = time.process_time()
        fallow.simulate(instance, learner, 10**4, seed, checkpoints=[10**4])
        times.append(time.process_time() - start)
    return float(np.median(times[1:]))


def measure_cost() -> Section:
    rows = []
    for setting in TOLD:
        bayes, rotation = (
            _processor_seconds(each, setting) for each in ("bayes-rotation", "rotation")
        )
        rows.append(
            (setting.name, f"{bayes:.2f} s", f"{rotation:.2f} s", f"{bayes / rotation:.2f}")
        )
    return Section(
        "Processor time of `BayesRotation` and `Rotation`, 10,000 rounds",
        ("family", "`bayes-rotation`", "`rotation`", "times as much"),
        rows,
        "Medians of 3 runs on one draw, compiled; reach: at most as much.",
    )


def measure_latency() -> Section:
    rows = []
    for horizon in (10**3, 10**4, 10**5):
        instance = catalog.random_geometric(40, 30, seed=3)
        learner = LEARNERS["bayes-rotation"](arms=40, max_delay=30)
        timed = _Timed(learner)
        fallow.simulate(instance, timed, 300, seed=0)  # compiles
        timed = _Timed(LEARNERS["bayes-rotation"](arms=40, max_delay=30))
        fallow.simulate(instance, timed, horizon, seed=1, checkpoints=[horizon])
        times = np.array(timed.times) * 1000
        cells = [f"{value:.1f} ms" for value in (*np.quantile(times, [0.5, 0.95]), times.max())]
        rows.append((f"{horizon:,}", f"{len(times):,}", *cells))
    return Section(
        "`BayesRotation.ask` with 40 arms and delays up to 30",
        ("rounds", "decisions", "median", "95 %", "longest"),
        rows,
        "Processor time of one thread, compiled. Reach: 5 ms at the median, 30 ms at most.",
    )


class _Timed:
    """Times how long a learner takes to decide."""

    def __init__(self, learner: fallow.Learner) -> None:
        self.learner = learner
        self.times: list[float] = []

    def ask(self) -> fallow.Block:
        start = time.thread_time()
        block = self.learner.ask()
        self.times.append(time.thread_time() - start)
        return block

    def tell(self, block: fallow.Block, outcome: fallow.Outcome) -> None:
        self.learner.tell(block, outcome)
