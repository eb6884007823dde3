"""What every learner must do, as tests that each learner's test class inherits."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from fallow import Block, Outcome, catalog, simulate
from fallow.protocol import CheckedLearner

INSTANCE = catalog.random_geometric(arms=4, max_delay=3, seed=8)
HORIZON = 3000

SECOND_PROCESS = """
import json, sys
import fallow
from learner_contract import HORIZON, INSTANCE, moments
from test_learner_contract import *
learner = {test}().fresh()
run = fallow.simulate(INSTANCE, learner, HORIZON, seed=5)
print(json.dumps([run.expected_reward(moments()).tolist(), learner.state()]))
"""


def moments() -> list[int]:
    return [1, 2, 10, 100, 777, HORIZON]


class Spy:
    """Passes everything on, so that the learner is played through `ask` and `tell`."""

    def __init__(self, learner: CheckedLearner, stop: int = 10**9) -> None:
        self.learner, self.stop = learner, stop
        self.blocks: list[Block] = []
        self.outcomes: list[Outcome] = []

    def ask(self) -> Block:
        if len(self.blocks) == self.stop:
            self.learner = type(self.learner).from_state(
                json.loads(json.dumps(self.learner.state()))
            )
        self.blocks.append(self.learner.ask())
        return self.blocks[-1]

    def tell(self, block: Block, outcome: Outcome) -> None:
        self.learner.tell(block, outcome)
        self.outcomes.append(outcome)


class LearnerContract:
    """Inherit, and return a fresh learner for 4 arms, delays up to 3 and HORIZON rounds."""

    def fresh(self) -> CheckedLearner:
        raise NotImplementedError

    def play(self, learner: Any, seed: int = 5) -> tuple[list[float], list[int]]:
        run = simulate(INSTANCE, learner, HORIZON, seed)
        return run.expected_reward(moments()).tolist(), run.switches(moments()).tolist()

    def test_a_run_is_determined_by_its_seed(self) -> None:
        assert self.play(self.fresh()) == self.play(self.fresh())

    def test_a_second_process_plays_the_same(self) -> None:
        code = SECOND_PROCESS.format(test=type(self).__name__)
        result = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        )
        learner = self.fresh()
        rewards, _ = self.play(learner)
        assert json.loads(result.stdout) == [rewards, json.loads(json.dumps(learner.state()))]

    def test_asking_and_telling_equals_simulating(self) -> None:
        """The compiled loop of a learner, where it has one, plays what its object plays."""
        spied, direct = self.fresh(), self.fresh()
        assert self.play(Spy(spied)) == self.play(direct)
        assert spied.state() == direct.state()

    def test_saved_and_restored_at_any_moment_it_goes_on_the_same(self) -> None:
        whole = Spy(self.fresh())
        expected = self.play(whole)
        for stop in {0, 1, 2, len(whole.blocks) // 2, len(whole.blocks) - 1}:
            broken = Spy(self.fresh(), stop)
            assert self.play(broken) == expected
            assert broken.blocks == whole.blocks
            assert broken.learner.state() == whole.learner.state()

    def test_a_pending_block_survives_saving(self) -> None:
        learner = self.fresh()
        block = learner.ask()
        restored = type(learner).from_state(json.loads(json.dumps(learner.state())))
        assert restored.ask() == block
        restored.tell(block, zeros(block))

    def test_asking_twice_gives_the_same_block(self) -> None:
        learner = self.fresh()
        assert learner.ask() == learner.ask()

    def test_blocks_name_known_arms_and_whole_plays(self) -> None:
        spy = Spy(self.fresh())
        self.play(spy)
        for block in spy.blocks:
            assert block.plays >= 1
            assert block.arms
            assert all(isinstance(arm, int) and 0 <= arm < 4 for arm in block.arms)

    def test_the_last_block_is_cut_at_the_horizon_and_not_told(self) -> None:
        spy = Spy(self.fresh())
        self.play(spy)
        played = sum(block.pulls for block in spy.blocks[: len(spy.outcomes)])
        assert len(spy.blocks) - len(spy.outcomes) == (played < HORIZON)
        assert played <= HORIZON <= sum(block.pulls for block in spy.blocks)

    def test_telling_out_of_turn_changes_nothing(self) -> None:
        learner = self.fresh()
        before = learner.state()
        with pytest.raises(ValueError, match="block must be the one asked for, None, got Block"):
            learner.tell(Block((0,), 1), Outcome([0.5], [0.0]))
        assert learner.state() == before
        block = learner.ask()
        learner.tell(block, zeros(block))
        after = learner.state()
        with pytest.raises(ValueError, match="block must be the one asked for"):
            learner.tell(block, zeros(block))
        assert learner.state() == after

    def test_impossible_outcomes_change_nothing(self) -> None:
        learner = self.fresh()
        block = learner.ask()
        good = zeros(block)
        before = learner.state()
        positions = len(block.arms)
        no_numbers: list[Any] = [0.5, *([value] * positions for value in (None, "0.5", [0.5]))]
        wrong: list[Outcome] = [
            Outcome([1.5] * positions, good.rest),
            Outcome([-0.5] * positions, good.rest),
            Outcome([float("nan")] * positions, good.rest),
            Outcome(good.first, [float("inf")] * positions),
            Outcome(good.first, [1.01 * block.plays] * positions),
            Outcome([0.0] * (positions + 1), good.rest),
            Outcome(good.first, []),
            *(Outcome(first, good.rest) for first in no_numbers),
        ]
        for outcome in wrong:
            with pytest.raises(ValueError, match=r"outcome\.(first|rest) must"):
                learner.tell(block, outcome)
            assert learner.state() == before
        with pytest.raises(ValueError, match="block must be the one asked for"):
            learner.tell(Block(block.arms, block.plays + 1), good)
        assert learner.state() == before
        learner.tell(block, good)

    def test_arrays_will_do_as_outcomes(self) -> None:
        learner, twin = self.fresh(), self.fresh()
        block = learner.ask()
        learner.tell(block, zeros(block))
        nothing: Any = np.zeros(len(block.arms))
        arrays = Outcome(nothing, nothing)
        twin.ask()
        twin.tell(block, arrays)
        assert json.dumps(learner.state()) == json.dumps(twin.state())

    def test_the_state_of_another_learner_is_refused(self) -> None:
        learner = self.fresh()
        with pytest.raises(ValueError, match="state must be of a"):
            type(learner).from_state({**learner.state(), "learner": "Somebody"})


def zeros(block: Block) -> Outcome:
    return Outcome([0.0] * len(block.arms), [0.0] * len(block.arms))
