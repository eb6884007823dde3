"""How often is what is said of a log wrong, and how fast is it said?"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import polars

from benchmarks.log_tables import (
    null_table,
    replay,
    strong_table,
    weak_table,
    without_propensities,
)
from benchmarks.section import Section
from fallow import Instance, Log, gain, plan, simulate
from fallow.arrays import FloatArray
from fallow.catalog import random_geometric
from fallow.intervals import estimate
from fallow.learners import ThompsonSampling
from fallow.logs import CannotSay, fit, plan_and_value, rest_matters, simulate_log, value
from fallow.logs.rest import slope_within
from fallow.logs.simulated import BEHAVIOURS, true_means

FIRST = 71_000
"""The seed of the first log; used for no choice of constants."""
RUNS = 400
FEWER = 100
"""Runs where each is long or needs plans."""
CONFOUNDED = ("uniform", "taste", "recommender", "momentum")


def logs(
    table: Callable[[int], Instance], behaviour: str, users: int, runs: int
) -> Iterator[tuple[Instance, Log]]:
    for seed in range(FIRST, FIRST + runs):
        instance = table(seed)
        yield instance, simulate_log(instance, users, 100, behaviour, seed)


def measure_verdicts() -> Section:
    rows = []
    for behaviour in BEHAVIOURS:
        wrong = within = claimed = reversed_ = seen = seen_bare = 0
        for _, log in logs(null_table, behaviour, 100, RUNS):
            wrong += rest_matters(log).verdict != "no effect found"
            bare = rest_matters(without_propensities(log)).verdict
            claimed += bare == "rest helps"
            reversed_ += bare == "repeating helps"
            naive = slope_within(log)
            within += naive.low > 0 or naive.high < 0
        for _, log in logs(weak_table, behaviour, 100, RUNS):
            seen += rest_matters(log).verdict == "rest helps"
            seen_bare += rest_matters(without_propensities(log)).verdict == "rest helps"
        counts = (wrong, seen, claimed, reversed_, seen_bare, within)
        rows.append((behaviour, *(f"{count / RUNS:.3f}" for count in counts)))
    return Section(
        "Does rest matter? How often the verdict is wrong",
        (
            "choice",
            "false alarm (at most .08)",
            "weak effect seen (at least .70)",
            'no propensities: false "rest helps" (at most .10)',
            '"repeating helps" (never)',
            "weak effect seen",
            "naive, within user and arm: false alarm",
        ),
        rows,
        f"{RUNS} logs of 100 users and 100 rounds each, 10 arms, delays to 8, with and without an "
        "effect: the weak one takes a tenth of the level, fading with rest. Arms are chosen evenly,"
        " by popularity, by taste too, by rewards so far, by taste and mood, or by all of these. "
        "The naive comparison is of each user's plays of an arm among themselves.",
    )


def measure_tables() -> Section:
    rows = []
    for users, reach in ((10, "-"), (100, ".040; .97"), (1000, ".015; .99")):
        errors, raw, shares = [], [], []
        for instance, log in logs(strong_table, "uniform", users, FEWER):
            truth = Instance(true_means(instance))
            found = fit(log)
            errors.append(_distance(found.means, truth.means))
            raw.append(_distance(np.nan_to_num(found.cells.means, nan=0.5), truth.means))
            cycle = plan(found.instance, max_states=0).cycle
            shares.append(gain(truth, cycle) / plan(truth, max_states=0).upper_bound)
        columns = [f"{estimate(np.array(each)):.4f}" for each in (errors, raw, shares)]
        rows.append((f"{100 * users:,}", reach, *columns))
    return Section(
        "The table that is fitted to a log",
        ("plays", "Reach", "error of the table", "of plain averages", "the plan's share"),
        rows,
        f"{FEWER} logs each, arms chosen evenly; 10 arms that lose 70 % and recover after 1 to 8 "
        "rounds. The error is the root of the mean square over cells; the plan's share is its gain "
        "under the true means over the upper bound of all plans.",
    )


def _distance(table: FloatArray, truth: FloatArray) -> float:
    return float(np.sqrt(((table - truth) ** 2).mean()))


def measure_values() -> Section:
    rows = []
    for behaviour in (*CONFOUNDED, "all"):
        off: list[float] = []
        covered = 0
        for instance, log in logs(strong_table, behaviour, 1000, RUNS):
            truth = Instance(true_means(instance, behaviour))
            cycle = instance.order[:5].tolist()
            expected = gain(truth, cycle)
            found = value(log, cycle)
            off.append(found.mean - expected)
            covered += found.low <= expected <= found.high
        gains = [
            _planned(instance, log, behaviour, seed)
            for seed, (instance, log) in enumerate(logs(strong_table, behaviour, 1000, FEWER))
        ]
        told = [each for each in gains if each is not None]
        rows.append(
            (
                behaviour,
                f"{covered / RUNS:.3f}",
                f"{estimate(np.array(off)):.4f}",
                f"{np.mean([hit for _, hit in told]):.2f}",
                f"{estimate(np.array([miss for miss, _ in told])):.4f}",
                f"{FEWER - len(told)}",
            )
        )
    return Section(
        "What a cycle and a plan are worth, told from a log",
        (
            "choice",
            "cycle: coverage (.90 to .98)",
            "bias (at most .005)",
            "plan made from the log: coverage (at least .90)",
            "bias (at most .01)",
            f"refused, of {FEWER}",
        ),
        rows,
        f"Logs of 100,000 plays, {RUNS} for the cycle of the five best arms and {FEWER} for "
        "`plan_and_value`. Coverage is of 95 % intervals, bias the mean error with its own. The "
        "truth for a plan made from the log is the true gain of the plan that is returned, less "
        "what the log itself earns on average.",
    )


def _planned(instance: Instance, log: Log, behaviour: str, seed: int) -> tuple[float, bool] | None:
    """Return by how much the gain over the log is missed, and whether the interval has it."""
    truth = Instance(true_means(instance, behaviour))
    try:
        found = plan_and_value(log)
    except CannotSay:
        return None
    assert found.plan is not None
    # What the log earns on average, from another log that is twice as long.
    logged = simulate_log(instance, 2000, 100, behaviour, seed).rewards.mean()
    expected = gain(truth, found.plan.cycle) - logged
    return found.gain.value - expected, bool(found.gain.low <= expected <= found.gain.high)


def measure_learners() -> Section:
    rows = []
    for behaviour in ("uniform", "taste"):
        by_queues, by_replay = [], []
        for instance, log in logs(strong_table, behaviour, 1000, FEWER // 4):
            truth = Instance(true_means(instance, behaviour))
            runs = [simulate(truth, ThompsonSampling(10, seed=run), 300, run) for run in range(40)]
            expected = np.mean([float(run.expected_reward(300)) for run in runs]) / 300
            by_queues.append(value(log, ThompsonSampling(10), 300).mean - expected)
            learners = [ThompsonSampling(10, seed=run) for run in range(20)]
            by_replay.append(np.mean([replay(log, each, 300) for each in learners]) - expected)
        columns = [f"{estimate(np.array(each)):.4f}" for each in (by_queues, by_replay)]
        rows.append((behaviour, *columns))
    return Section(
        "What a learner is worth, told from a log",
        ("choice", "bias (at most .02)", "bias of replay by rejection (at least +.08)"),
        rows,
        f"Thompson sampling for 300 rounds, {FEWER // 4} logs of 100,000 plays. Replay takes the "
        "log's next play of the arm that the learner asks for, as is right for ordinary bandits; "
        "but its delay is the log's.",
    )


def measure_speed() -> Section:
    instance = random_geometric(arms=500, max_delay=30, seed=1)
    log = simulate_log(instance, users=10_000, rounds=100)
    log.propensities = None  # those of the chosen arms are left
    frame = polars.DataFrame({"arm": log.arms, "delay": log.delays, "reward": log.rewards})

    def grouped() -> object:
        return frame.group_by("arm", "delay").agg(polars.len(), polars.sum("reward"))

    def whole() -> object:
        found = fit(log)
        return found.table, found.recovery

    jobs: dict[str, Callable[[], object]] = {
        "one group-by of polars": grouped,
        "`fit(log).instance`": lambda: fit(log).instance,
        "`fit(log)` with table and recovery": whole,
        "`rest_matters(log)`": lambda: rest_matters(log),
    }
    seconds = {name: min(_seconds(job) for _ in range(3)) for name, job in jobs.items()}
    base = seconds["one group-by of polars"]
    rows = [(name, f"{each:.2f} s", f"{each / base:.0f}") for name, each in seconds.items()]
    return Section(
        "A million plays of 500 arms",
        ("what", "seconds (reach for the fit: 3)", "times one group-by"),
        rows,
        "Delays to 30, with the propensity of the chosen arm; the best of three.",
    )


def _seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start
