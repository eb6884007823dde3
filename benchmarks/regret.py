"""What share of the optimum does a second buy, with other libraries and with this one?"""

import time
from collections.abc import Callable
from functools import partial
from statistics import fmean, median

import numpy as np

import fallow
from benchmarks.peers import Environment, Peer, peers
from benchmarks.pictures import scatter
from benchmarks.ratios import Ratio
from benchmarks.section import Section
from fallow.learners.registry import learner_factory

HORIZON = 10_000
DRAWS = range(20)
TRIALS = range(1000, 1005)
TRIAL_HORIZON = 2_000
OURS = {
    "`Rotation`": "rotation",
    "`RankingUCB`": "ranking-ucb",
    "`LowSwitch`": "low-switch",
    "`UCB1`": "ucb1",
}
Run = Callable[[int], float]
"""Plays the instance with a seed, and returns the expected reward."""


def measure() -> Section:
    runs: dict[str, Run] = {name: partial(_ours, key) for name, key in OURS.items()}
    for peer in peers():
        print(f"  {peer.name}", flush=True)
        best = max(peer.policies, key=partial(_trial, peer))
        runs[f"{peer.name}, {best}"] = partial(_theirs, peer, best, HORIZON)
    for run in runs.values():
        run(DRAWS[0])
    times: dict[str, list[float]] = {name: [] for name in runs}
    shares: dict[str, list[float]] = {name: [] for name in runs}
    for seed in DRAWS:
        optimum = fallow.optimal(fallow.catalog.figure2(seed)).gain * HORIZON
        for name, run in runs.items():
            start = time.perf_counter()
            earned = run(seed)
            times[name].append(time.perf_counter() - start)
            shares[name].append(earned / optimum)
    baseline = next(iter(runs))
    rows = []
    for name in runs:
        mean, half_width = fallow.studies.estimate(np.array(shares[name]))
        rows.append(
            (
                name,
                f"{mean:.3f} ± {half_width:.3f}",
                f"{1 - mean:.3f}",
                f"{HORIZON / median(times[name]):,.0f}",
                str(Ratio.of(times[name], times[baseline])),
            )
        )
    points = {name.replace("`", ""): (median(times[name]), fmean(shares[name])) for name in runs}
    return Section(
        "Regret per second on Figure 2's family",
        (
            "policy",
            "share of the optimum",
            "regret a round / optimum",
            "rounds a second",
            "`Rotation` is so many times as fast",
        ),
        rows,
        f"{len(DRAWS)} draws, T = {HORIZON:,}, Bernoulli rewards, medians over the draws, 95 % "
        f"intervals. Of each library the policy, with its defaults, that did best on "
        f"{len(TRIALS)} other draws with T = {TRIAL_HORIZON:,}. They are blind to delays, and so "
        "is `UCB1`; `RankingUCB` and `LowSwitch` are told the order of the arms, `Rotation` a "
        "bound on delays.",
        pictures={
            "regret-per-second.svg": scatter(
                points,
                [name.replace("`", "") for name in OURS],
                f"seconds for {HORIZON:,} rounds",
                "share of the optimum",
            )
        },
    )


def _ours(key: str, seed: int) -> float:
    instance = fallow.catalog.figure2(seed)
    learner = learner_factory(key, HORIZON)(instance, seed)
    run = fallow.simulate(instance, learner, HORIZON, seed, checkpoints=[HORIZON])
    return float(run.expected_reward(HORIZON))


def _theirs(peer: Peer, policy: str, horizon: int, seed: int) -> float:
    environment = Environment(fallow.catalog.figure2(seed), seed)
    peer.play(peer.policies[policy](7, seed), environment, horizon)
    return environment.expected_reward()


def _trial(peer: Peer, policy: str) -> float:
    return fmean(_theirs(peer, policy, TRIAL_HORIZON, seed) for seed in TRIALS)
