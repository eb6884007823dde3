"""What does playing a block at once gain over playing it round by round?"""

from collections.abc import Callable
from functools import partial
from statistics import median

import numba
import numpy as np

import fallow
from benchmarks.ratios import Ratio, duration, in_turns
from benchmarks.section import Section
from fallow.arrays import FloatArray, IntArray
from fallow.learners.registry import learner_factory

LEARNERS = ("low-switch", "anytime-low-switch", "ranking-ucb2", "rotation")
POWERS = (4, 5, 6, 7)
PLAIN_POWERS = (4, 5, 6)
Play = Callable[[tuple[int, ...], int], tuple[list[float], list[float]]]


def measure() -> Section:
    instance = fallow.catalog.figure2(seed=3)
    rows = []
    for name in LEARNERS:
        for power in POWERS:
            horizon = 10**power
            works: dict[str, Callable[[], object]] = {
                "blocks": partial(_by_blocks, instance, name, horizon),
                "compiled": partial(_by_rounds, Compiled, instance, name, horizon),
            }
            if power in PLAIN_POWERS:
                works["plain"] = partial(_by_rounds, Plain, instance, name, horizon)
            times = in_turns(works)
            found = [Ratio.of(times[way], times["blocks"]) for way in list(works)[1:]]
            cells = [*map(str, found), "-"][:2]
            rows.append((f"`{name}`", f"10^{power}", duration(median(times["blocks"])), *cells))
    return Section(
        "Block by block against round by round",
        (
            "learner",
            "T",
            "a run by blocks",
            "times as fast as rounds in a compiled loop",
            "times as fast as rounds in plain Python",
        ),
        rows,
        "The same learner, asked and told the same way, on Figure 2's family, seed 3. Round by "
        "round, every pull is looked up and drawn, and nothing is recorded; by blocks, "
        "`simulate` keeps the whole trajectory. Where the learner itself takes most of the time, "
        "the ratio is near 1.",
    )


def _by_blocks(instance: fallow.Instance, name: str, horizon: int) -> None:
    fallow.simulate(instance, learner_factory(name, horizon)(instance, 0), horizon, 0)


def _by_rounds(
    kind: type["Plain"] | type["Compiled"], instance: fallow.Instance, name: str, horizon: int
) -> None:
    learner = learner_factory(name, horizon)(instance, 0)
    game = kind(instance)
    now = 0
    while now < horizon:
        block = learner.ask()
        plays = min(block.plays, -(-(horizon - now) // len(block.arms)))
        first, rest = game.play(block.arms, plays)
        now += plays * len(block.arms)
        if plays == block.plays:
            learner.tell(block, fallow.Outcome(first, rest))


class Plain:
    """Plays blocks pull by pull in plain Python."""

    def __init__(self, instance: fallow.Instance) -> None:
        self.means = instance.means.tolist()
        self.last = [-len(self.means[0])] * len(self.means)
        self.now = 0
        self.random = np.random.default_rng(0).random

    def play(self, arms: tuple[int, ...], plays: int) -> tuple[list[float], list[float]]:
        """Return the rewards of the first play, and the sums of all others."""
        means, last, random, now = self.means, self.last, self.random, self.now
        rested = len(means[0])
        first: list[float] = []
        rest = [0.0] * len(arms)
        for play in range(plays):
            for position, arm in enumerate(arms):
                delay = now - last[arm]
                last[arm] = now
                now += 1
                mean = means[arm][delay - 1 if delay < rested else -1]
                reward = 1.0 if random() < mean else 0.0
                if play:
                    rest[position] += reward
                else:
                    first.append(reward)
        self.now = now
        return first, rest


class Compiled:
    """Plays blocks pull by pull in a compiled loop."""

    def __init__(self, instance: fallow.Instance) -> None:
        self.means = instance.means
        self.last = np.full(instance.arms, -self.means.shape[1])
        self.now = 0
        self.generator = np.random.default_rng(0)

    def play(self, arms: tuple[int, ...], plays: int) -> tuple[list[float], list[float]]:
        """Return the rewards of the first play, and the sums of all others."""
        first, rest = _pulls(self.means, self.last, self.now, np.array(arms), plays, self.generator)
        self.now += plays * len(arms)
        return first.tolist(), rest.tolist()


@numba.njit(cache=True, error_model="numpy")
def _pulls(
    means: FloatArray,
    last: IntArray,
    now: int,
    arms: IntArray,
    plays: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    first, rest = np.zeros(len(arms)), np.zeros(len(arms))
    for play in range(plays):
        for position in range(len(arms)):
            arm = arms[position]
            mean = means[arm, min(now - last[arm], means.shape[1]) - 1]
            last[arm] = now
            now += 1
            reward = 1.0 if generator.random() < mean else 0.0
            if play:
                rest[position] += reward
            else:
                first[position] = reward
    return first, rest
