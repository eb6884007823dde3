"""Playing learners against instances, exactly and fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fallow import checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.instance import Instance, check_instance
from fallow.kernels.bandits import CUT, Runs, Table
from fallow.protocol import Block, CompiledLearner, Learner, Outcome, has_compiled_loop
from fallow.recording import Recorder, Sampler
from fallow.rewards import (
    CONCENTRATION,
    Draws,
    Rewards,
    are_drawn_one_by_one,
    check_concentration,
    check_rewards,
    draws,
)
from fallow.trajectory import RunTrajectory, SampledTrajectory, Trajectory

Seed = int | np.random.SeedSequence

MAX_HORIZON = 2**52
"""Longest horizon, in rounds: up to here a count is exact as a float too."""
MAX_KEPT_ROUNDS = 10**7
"""Largest number of rounds whose rewards are kept."""
LOGGED_RUNS = 2**15
"""Number of runs that a compiled learner plays before they are taken out of its log."""


def simulate(
    instance: Instance,
    learner: Learner,
    horizon: int,
    seed: Seed,
    rewards: Rewards = "bernoulli",
    checkpoints: Sequence[int] | IntArray | None = None,
    concentration: float = CONCENTRATION,
    keep_rewards: bool = False,
) -> Trajectory:
    """Let a learner play an instance from rest, and return what it played.

    The simulation is exact. A block costs two plays however many it has: from the second play on
    its delays are fixed, so the other plays earn one binomial draw per position. The last block is
    cut at the horizon, and its outcome is not reported to the learner.

    Beta and Gaussian rewards, and those of a function of your own, have no such short cut: there a
    block costs all its pulls. A UserWarning says so when a position of a block first has more than
    ten million; more than a billion are refused.

    Parameters
    ----------
    instance
        What to play against.
    learner
        Anything with `ask` and `tell`; afterwards it has learned what this run taught it.
    horizon
        Rounds to play, T.
    seed
        The seed of the rewards.
    rewards
        "bernoulli", 0 or 1; "none", no noise: feedback is the expectation; "beta", on [0, 1] with
        the given concentration (a + b of the distribution); "gaussian", noise of standard deviation
        0.1, cut off on both sides where one of them would leave [0, 1]. Or a function of your own,
        from an array of means and a numpy Generator to an array of equally many rewards, which lie
        in [0, 1] and have the means as expectations; rewards of mean 0 or 1 are certain, and the
        function is not called for them.
    checkpoints
        Rounds at which totals are kept. By default every run of equal blocks is kept, so that
        totals can be asked for at any round; with checkpoints, memory does not grow with the
        horizon.
    concentration
        The concentration of the beta distribution; other rewards have none.
    keep_rewards
        Draw and keep the reward of every single round, for `Trajectory.rewards`: at most 10^7
        rounds, at the cost of each, and without checkpoints. Blocks of more than two plays then
        draw other random numbers, so the run is another one.

    Examples
    --------
    >>> from fallow import LowSwitch, catalog
    >>> instance = catalog.figure3()
    >>> run = simulate(instance, LowSwitch(instance.order, 10**12), horizon=10**12, seed=0)
    >>> int(run.switches(at=10**12))
    11
    >>> coins = lambda means, generator: generator.binomial(1, means)
    >>> run = simulate(instance, LowSwitch(instance.order, 1000), 1000, seed=0, rewards=coins)
    >>> run.horizon
    1000
    """
    check_instance(instance)
    check_learner("learner", learner)
    rounds = checked_horizon("horizon", horizon)
    check_rewards("rewards", rewards)
    check_concentration("concentration", concentration)
    if not isinstance(seed, np.random.SeedSequence):
        seed = checks.seed("seed", seed)
    sampler = None
    if checkpoints is not None:
        sampler = Sampler(instance.means, checked_checkpoints(checkpoints, rounds))
    if keep_rewards:
        checks.at_most("horizon", rounds, MAX_KEPT_ROUNDS, "with keep_rewards")
        if sampler is not None:
            raise InputError("checkpoints", "must be None with keep_rewards", "some")
    recorder = Recorder(sampler)
    play(instance, learner, rounds, seed, recorder, rewards, concentration, keep_rewards)
    if sampler is None:
        return RunTrajectory(instance.names, recorder.record(instance.means))
    return SampledTrajectory(sampler.checkpoints, sampler.rewards, sampler.switches, rounds)


def play(
    instance: Instance,
    learner: Learner,
    horizon: int,
    seed: Seed,
    recorder: Recorder,
    rewards: Rewards = "bernoulli",
    concentration: float = CONCENTRATION,
    keep_rewards: bool = False,
) -> None:
    """Record a run as `simulate` plays it; the arguments have been checked."""
    generator = np.random.default_rng(seed)
    summed = not are_drawn_one_by_one(rewards)
    if keep_rewards:
        _play_rounds(instance, learner, horizon, draws(rewards, generator, concentration), recorder)
    elif summed and has_compiled_loop(learner) and learner.pending is None:
        _play_compiled(instance, learner, horizon, rewards == "bernoulli", generator, recorder)
    else:
        _play_blocks(instance, learner, horizon, draws(rewards, generator, concentration), recorder)
    recorder.flush()


def _asked(
    learner: Learner, arms: int, horizon: int, recorder: Recorder
) -> Iterator[tuple[Block, tuple[int, ...], int, int]]:
    """Yield each block as it was asked for, its arms and plays, and the pulls until the horizon.

    The pulls are recorded. They are fewer than the block has where the horizon cuts it.
    """
    left = horizon
    while left:
        asked = learner.ask()
        cycle, plays = checked_block(asked, arms)
        pulls = len(cycle) * plays
        if pulls > left:
            pulls = left
        recorder.append(cycle, pulls)
        yield asked, cycle, plays, pulls
        left -= pulls


def _play_blocks(
    instance: Instance, learner: Learner, horizon: int, drawn: Draws, recorder: Recorder
) -> None:
    """Play any learner, block by block."""
    draw_one, draw_many = drawn
    means = instance.means.tolist()
    rested = len(means[0])
    last = [-rested] * len(means)
    now = 0
    for asked, arms, plays, pulls in _asked(learner, len(means), horizon, recorder):
        length = len(arms)
        if pulls < length * plays:
            return  # the outcome of a block that the horizon cuts is not reported
        first = []
        for arm in arms:
            delay = now - last[arm]
            first.append(draw_one(means[arm][delay - 1 if delay < rested else -1]))
            last[arm] = now
            now += 1
        if plays == 1:
            learner.tell(asked, Outcome(first, [0.0] * length))
            continue
        rest = []
        for arm in arms:
            delay = now - last[arm]
            rest.append(draw_many(means[arm][delay - 1 if delay < rested else -1], plays - 1))
            last[arm] = now
            now += 1
        # All further plays repeat the second one.
        skipped = (plays - 2) * length
        now += skipped
        for arm in set(arms):
            last[arm] += skipped
        learner.tell(asked, Outcome(first, rest))


def _play_rounds(
    instance: Instance, learner: Learner, horizon: int, drawn: Draws, recorder: Recorder
) -> None:
    """Play any learner, round by round, and keep every reward."""
    means = instance.means.tolist()
    rested = len(means[0])
    last = [-rested] * len(means)
    now = 0
    for asked, arms, plays, pulls in _asked(learner, len(means), horizon, recorder):
        length = len(arms)
        first, rest = [0.0] * length, [0.0] * length
        for pull in range(pulls):
            position = pull % length
            arm = arms[position]
            reward = drawn.one(means[arm][min(now - last[arm], rested) - 1])
            last[arm] = now
            now += 1
            recorder.drawn.append(reward)
            (first if pull < length else rest)[position] += reward
        if pulls == length * plays:  # the outcome of a block that the horizon cuts is not reported
            learner.tell(asked, Outcome(first, rest))


def checked_block(block: Block, arms: int) -> Block:
    """Return what a learner asks for as a block of Python integers within their limits."""
    if type(block) is Block:  # the usual case is decided here, for the sake of speed
        cycle, plays = block
        if type(cycle) is tuple and cycle and type(plays) is int and 1 <= plays <= checks.LARGEST:
            for arm in cycle:
                if type(arm) is not int or not 0 <= arm < arms:
                    break
            else:
                return block
    if not hasattr(block, "arms") or not hasattr(block, "plays"):
        raise InputError("ask", "must return a Block", checks.short(block))
    plays = checks.whole_number("plays of the learner's block", block.plays, minimum=1)
    numbers = checks.whole_numbers("arms of the learner's block", block.arms, minimum=0)
    if max(numbers) >= arms:
        raise InputError(
            "arms of the learner's block", f"must be from 0 to {arms - 1}", f"{max(numbers)}"
        )
    return Block(tuple(numbers), plays)


def _play_compiled(
    instance: Instance,
    learner: CompiledLearner,
    horizon: int,
    noisy: bool,
    generator: np.random.Generator,
    recorder: Recorder,
) -> None:
    """Play a learner by its compiled loop, a full log of runs at a time."""
    arms, rested = instance.means.shape
    if learner.arms != arms:
        raise InputError(
            "learner", f"must have as many arms as the instance, {arms}", f"{learner.arms}"
        )
    table = Table(instance.means, np.full(arms, -rested), np.zeros(2, np.int64))
    log = Runs(np.empty(LOGGED_RUNS, np.int32), np.empty(LOGGED_RUNS, np.int64))
    recorder.register(learner.cycles())
    while table.clock[0] < horizon:
        runs = learner.play_compiled(table, horizon, noisy, generator, log)
        recorder.extend(log.numbers[:runs], log.pulls[:runs])
    if table.clock[CUT]:
        learner.ask()  # the block that was cut at the horizon is still under way


def check_learner(what: str, learner: Learner) -> None:
    """Check that something has the methods of a learner; a class has no learner's state."""
    for method in ("ask", "tell"):
        if isinstance(learner, type) or not callable(getattr(learner, method, None)):
            rule = "a learner, with methods ask and tell"
            raise InputError(what, f"must be {rule}", checks.short(learner))


def checked_horizon(argument: str, horizon: int) -> int:
    """Return a number of rounds that can be played."""
    return checks.whole_number(argument, horizon, minimum=1, maximum=MAX_HORIZON)


def checked_checkpoints(checkpoints: Sequence[int] | IntArray, horizon: int) -> IntArray:
    """Return rounds that increase up to at most the horizon."""
    rounds = np.array(checks.whole_numbers("checkpoints", checkpoints, minimum=0))
    if (np.diff(rounds) <= 0).any() or rounds[-1] > horizon:
        raise InputError(
            "checkpoints",
            f"must increase up to at most the horizon, {horizon}",
            checks.short(rounds.tolist()),
        )
    return rounds
