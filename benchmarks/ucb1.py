"""How many rounds of UCB1 a second, against other libraries and loops by hand?"""

from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

import fallow
from benchmarks.minimal import leading_ucb1, minimal_ucb1, tuned_ucb1
from benchmarks.peers import Environment, Peer, peers, plain_ucb1
from benchmarks.ratios import Ratio, in_turns
from benchmarks.section import Section

ROUNDS = 10**7
PLAIN_ROUNDS = 200_000
STATIONARY_ROUNDS = 30_000
CORE_ROUNDS = 500_000
OURS = "`fallow.learners.UCB1`"
LOOPS = {
    "numba loop by hand, averages and roots kept": tuned_ucb1,
    "numba loop by hand, with fallow's own short cut too": leading_ucb1,
    "numba loop by hand, the formula as it stands": minimal_ucb1,
}


def measure() -> Section:
    instance = fallow.catalog.figure2(seed=3)
    rounds: dict[str, int] = {OURS: ROUNDS}
    works: dict[str, Callable[[], object]] = {
        OURS: lambda: fallow.simulate(
            instance, fallow.learners.UCB1(7), ROUNDS, 0, checkpoints=[ROUNDS]
        )
    }
    for name, loop in LOOPS.items():
        rounds[name] = ROUNDS
        works[name] = partial(_play_loop, loop, instance)
    rounds["plain Python"] = PLAIN_ROUNDS
    works["plain Python"] = lambda: plain_ucb1(Environment(instance, 0), PLAIN_ROUNDS)
    libraries = peers()
    for peer in libraries:
        rounds[peer.name] = peer.rounds
        works[peer.name] = partial(_play_peer, peer, instance)
        _assert_sensible(peer.name, _play_peer(peer, instance))
    stationary = "PyMAB, its own Rust simulation without delays"
    core = "the core of that alone, a private function"
    rounds |= {stationary: STATIONARY_ROUNDS, core: CORE_ROUNDS, "the environment": PLAIN_ROUNDS}
    works |= _pymab_simulations(instance, stationary, core)
    works["the environment"] = lambda: _pull_all(Environment(instance, 0), PLAIN_ROUNDS)
    times = in_turns(works)
    each = {name: [time / rounds[name] for time in values] for name, values in times.items()}
    ratios = {
        name: str(Ratio.of(each[name], each[OURS]))
        for name in works
        if name not in (OURS, "the environment")
    }
    public = [*(peer.name for peer in libraries), stationary]
    fastest = min(public, key=lambda name: median(each[name]))
    tuned, leading, _ = LOOPS
    reach = dict.fromkeys((tuned, leading), "at least 0.9")
    reach[fastest] = "at least 100, as the fastest peer"
    rows = [
        (name, f"{1 / median(each[name]):,.0f}", reach.get(name, ""), ratios.get(name, ""))
        for name in works
    ]
    return Section(
        "UCB1 on the seven Bernoulli arms of Figure 2",
        ("Loop", "rounds a second", "Reach", "fallow is so many times as fast"),
        rows,
        "Figure 2's family, seed 3, delays included: choose, draw the reward, update. fallow also "
        "keeps the expected reward and the switches. The libraries know nothing of delays, so a "
        "small environment in plain Python (last row, no policy) draws their rewards; each was "
        "checked to favour the better arms. PyMAB's own simulation cannot have delays, so it plays "
        "the same arms always rested; most of its time goes into its result. Its core alone, which "
        "only a private name reaches, is the one compiled peer; against that, 100 is out of reach. "
        "coba's learner is UCB1-Tuned. The loops by hand (`benchmarks/minimal.py`) keep no record "
        "at all; the second one decides as `UCB1` does, so that what it is ahead is the price of "
        "the record.",
    )


def _play_loop(loop: Callable[..., float], instance: fallow.Instance) -> float:
    return loop(instance.means, ROUNDS, np.random.default_rng(0))


def _play_peer(peer: Peer, instance: fallow.Instance) -> Environment:
    environment = Environment(instance, 0)
    peer.play(peer.policies["UCB1"](7, 0), environment, peer.rounds)
    return environment


def _pymab_simulations(
    instance: fallow.Instance, whole: str, core: str
) -> dict[str, Callable[[], object]]:
    """Return PyMAB's compiled simulation of the rested arms, with and without its result."""
    import pymab
    from pymab._backend import run_native_experiment
    from pymab.policies import UCBPolicy

    environment = pymab.BanditEnvironment(
        means=instance.means[:, -1].copy(), reward_model=pymab.BernoulliReward()
    )
    policies = {"UCB1": UCBPolicy(n_arms=instance.arms)}
    config = pymab.ExperimentConfig(
        horizon=STATIONARY_ROUNDS, n_replicates=1, seed=0, backend="rust"
    )
    experiment = pymab.Experiment(environment=environment, policies=policies, config=config)
    return {
        whole: experiment.run,
        core: lambda: run_native_experiment(
            environment=environment,
            policies=policies,
            horizon=CORE_ROUNDS,
            n_replicates=1,
            seed=0,
            reward_coupling="common",
            record_contexts=False,
        ),
    }


def _pull_all(environment: Environment, rounds: int) -> None:
    for now in range(rounds):
        environment.pull(now % 7)


def _assert_sensible(name: str, environment: Environment) -> None:
    """Check that an arm which pays is pulled more often than the one which never does."""
    pulls = np.bincount(environment.played, minlength=7)
    if not (pulls > 0).all() or pulls[1] < 5 * pulls[6] or pulls[:4].sum() < 0.6 * pulls.sum():
        raise AssertionError(f"{name} does not play UCB1: pulls {pulls.tolist()}")
