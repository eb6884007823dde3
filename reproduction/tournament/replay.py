"""Some runs once more, pull by pull: switches counted alike for all learners, and seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice, repeat

from fallow.instance import Instance
from fallow.protocol import Block, Learner, Outcome
from fallow.rewards import find_rewards
from fallow.simulation import simulate
from fallow.studies.spec import Spec

RUNS = 5
"""Runs in which switches are counted, the first of the study."""
TIMED = 2
"""Runs that are timed; the first may compile."""


def phrase_starts(pulls: Sequence[int]) -> list[int]:
    """Return the rounds, from 0, at which pulls stop going on as they did at some earlier place.

    These are where the phrases of a Lempel-Ziv parse begin (Ziv and Lempel 1977, in the form of
    Storer and Szymanski 1982): a phrase is an arm that was not pulled before, or the longest run of
    pulls that also begins at some earlier round. No other way of copying from earlier rounds needs
    fewer phrases. Whoever repeats a cycle goes on with a phrase, and need not say so.

    Parameters
    ----------
    pulls
        The arm of each round.

    Examples
    --------
    >>> phrase_starts([0, 1, 0, 1, 0, 1, 2, 0, 1, 0, 0])
    [0, 1, 2, 6, 7, 10]
    """
    text = "".join(map(chr, pulls))  # str has a fast search
    starts, start = [], 0
    while start < len(text):
        starts.append(start)
        place, length = -1, 0
        while start + length < len(text):
            if place >= 0 and text[place + length] == text[start + length]:
                length += 1
                continue
            # Where a longer run begins, a shorter one does too, so no earlier place is missed.
            place = text.find(text[start : start + length + 1], place + 1, start + length)
            if place < 0:
                break
            length += 1
        start += max(length, 1)
    return starts


def switches(starts: Sequence[int], rounds: int) -> int:
    """Return how many phrases begin within so many rounds; the first is no switch."""
    return sum(start < rounds for start in starts) - 1


class Listener:
    """A learner whose blocks are kept as they are asked for."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.blocks: list[Block] = []

    def ask(self) -> Block:
        """Return the learner's next block."""
        self.blocks.append(self.learner.ask())
        return self.blocks[-1]

    def tell(self, block: Block, outcome: Outcome) -> None:
        """Tell the learner what the block earned."""
        self.learner.tell(block, outcome)

    def pulls(self, rounds: int) -> list[int]:
        """Return the arms of the first so many rounds."""
        plays = chain.from_iterable(repeat(block.arms, block.plays) for block in self.blocks)
        return list(islice(chain.from_iterable(plays), rounds))


def pulls_of(spec: Spec, label: str, run: int) -> list[int]:
    """Return the arms that a learner pulls in a run of a study, at a value of its sweep."""
    heard: list[Listener] = []
    make = spec.factories()[label]

    def listen(instance: Instance, seed: int) -> Listener:
        heard.append(Listener(make(instance, seed)))
        return heard[-1]

    study = replace(spec.study(), learners={label: listen}, references={})
    study.play(run)
    return heard[0].pulls(spec.horizon)


def count_switches(spec: Spec, label: str, number: int, rounds: Sequence[int]) -> list[int]:
    """Return a learner's switches within so many rounds of a run; sweeps are gone through."""
    here = spec.at(spec.points[number % len(spec.points)])
    starts = phrase_starts(pulls_of(here, label, number))
    return [switches(starts, each) for each in rounds]


def seconds(spec: Spec, label: str) -> float:
    """Return the processor time of a run, once all that it needs is compiled."""
    here = spec.at(spec.points[0])
    instance, horizon = here.first_instance(), here.horizon
    make, rewards = here.factories()[label], find_rewards(here.rewards)
    times = []
    for _ in range(TIMED):
        start = time.thread_time()
        learner = make(instance, 0)
        simulate(instance, learner, horizon, 0, rewards, [horizon], here.concentration)
        times.append(time.thread_time() - start)
    return min(times)
