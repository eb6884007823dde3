"""One run through several instances, one after the other, for means that drift."""

from collections.abc import Sequence

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.instance import Instance
from fallow.protocol import Block, Learner, Outcome
from fallow.recording import Recorder, Sampler
from fallow.rewards import Rewards
from fallow.simulation import checked_block, play


class Continuing:
    """Plays a learner's blocks in parts that end with a phase, and reports whole outcomes to it.

    What the learner asks for is checked, and reported back unchanged. `left` is the number of
    rounds until the phase ends, to be set before each phase.
    """

    def __init__(self, learner: Learner, arms: int) -> None:
        self.learner = learner
        self.arms = arms
        self.left = 0
        self._asked: Block | None = None
        self._block = Block(())
        self._done = 0
        self._first: list[float] = []
        self._rest: list[float] = []

    def ask(self) -> Block:
        """Return as much of the learner's block as fits in the phase."""
        if self._asked is None:
            asked = self.learner.ask()
            self._block = checked_block(asked, self.arms)
            self._asked = asked
            self._done = 0
            self._first = [0.0] * len(self._block.arms)
            self._rest = [0.0] * len(self._block.arms)
        arms, length = self._block.arms, len(self._block.arms)
        position = self._done % length
        whole_plays = min(self._block.pulls - self._done, self.left) // length
        if position == 0 and whole_plays > 0:
            return Block(arms, whole_plays)
        return Block(arms[position : position + self.left])

    def tell(self, block: Block, outcome: Outcome) -> None:
        """Add up what a part has earned, and report it to the learner when its block is over."""
        assert self._asked is not None
        length = len(self._block.arms)
        for offset, (first, rest) in enumerate(zip(outcome.first, outcome.rest, strict=True)):
            position = (self._done + offset) % length
            if self._done + offset < length:
                self._first[position] += first
            else:
                self._rest[position] += first
            self._rest[position] += rest
        self._done += block.pulls
        self.left -= block.pulls
        if self._done == self._block.pulls:
            self.learner.tell(self._asked, Outcome(self._first, self._rest))
            self._asked = None


def play_phases(
    phases: Sequence[Instance],
    learner: Learner,
    horizon: int,
    seed: np.random.SeedSequence,
    rewards: Rewards,
    rounds: IntArray,
    concentration: float,
) -> tuple[FloatArray, IntArray]:
    """Return expected reward and switches at some rounds of one run through all phases.

    The phases share the horizon equally. Each starts rested; a block that goes on across its end
    counts as a switch there.
    """
    continuing = Continuing(learner, phases[0].arms)
    # A copy: spawning counts in the seed, and the next learner is to have the same luck.
    seeds = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key).spawn(len(phases))
    earned, switched = np.zeros(len(rounds)), np.zeros(len(rounds), np.int64)
    start = 0
    for number, (phase, phase_seed) in enumerate(zip(phases, seeds, strict=True)):
        continuing.left = horizon * (number + 1) // len(phases) - start
        length = continuing.left
        # Rounds before this phase add nothing, rounds after it all of it.
        within = np.clip(rounds - start, 0, length)
        checkpoints, inverse = np.unique(within, return_inverse=True)
        sampler = Sampler(phase.means, checkpoints)
        play(phase, continuing, length, phase_seed, Recorder(sampler), rewards, concentration)
        earned += sampler.rewards[inverse]
        switched += sampler.switches[inverse]
        start += length
    return earned, switched
