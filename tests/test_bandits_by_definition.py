"""Compiled loops against the learners that they play, through `ask` and `tell`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from learner_contract import HORIZON, INSTANCE, MAKERS, Spy

from fallow import Outcome, RankingUCB, simulate
from fallow.kernels import bandits
from fallow.learners import UCB1
from fallow.protocol import has_compiled_loop
from fallow.rewards import Rewards

COMPILED = [name for name, make in MAKERS.items() if has_compiled_loop(make())]


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("rewards", ["none", "bernoulli"])
@pytest.mark.parametrize("log", [7, 2**15])
def test_a_compiled_loop_plays_on_as_its_object_does(
    monkeypatch: pytest.MonkeyPatch, name: str, rewards: Rewards, log: int
) -> None:
    """Both have learned something before; the log is full often, or never."""
    monkeypatch.setitem(simulate.__globals__, "LOG", log)
    looped, asked = MAKERS[name](), MAKERS[name]()
    for learner in (looped, asked):
        generator = np.random.default_rng(0)
        for _ in range(300):
            block = learner.ask()
            first, rest = generator.integers(0, 2, (2, len(block.arms))).tolist()
            learner.tell(block, Outcome(first, [(block.plays > 1) * earned for earned in rest]))
    runs = [simulate(INSTANCE, learner, HORIZON, 9, rewards) for learner in (looped, Spy(asked))]
    rounds = np.arange(HORIZON + 1)
    assert (runs[0].expected_reward(rounds) == runs[1].expected_reward(rounds)).all()
    assert (runs[0].switches(rounds) == runs[1].switches(rounds)).all()
    assert looped.state() == asked.state()


@pytest.mark.parametrize("build", [UCB1, lambda arms: RankingUCB(range(arms))])
def test_where_rounding_decides_the_compiled_ucb_does_as_its_object(
    build: Callable[[int], Any],
) -> None:
    """Statistics of two options whose indices are equal but for rounding."""
    generator = np.random.default_rng(0)
    for _ in range(200):
        learner = build(2)
        counts, sums, total = learner._statistics[:3]
        counts[:] = generator.integers(20, 40, 2)
        total[0] = counts.sum()
        sums[:] = counts * (1 - np.sqrt(2 * math.log(total[0]) / counts))
        last_arm = learner.ask().arms[-1]
        table = bandits.Table(INSTANCE.means[:2], np.full(2, -4), np.zeros(2, np.int64))
        log = bandits.Log(np.empty(1, np.int32), np.empty(1, np.int64))
        assert learner.play_compiled(table, 4, False, generator, log) == 1
        assert log.numbers[0] == last_arm
