"""What every learner must do."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import pytest
from learner_contract import HORIZON, INSTANCE, MAKERS, Spy, through_json

from fallow import Block, Outcome, simulate
from fallow.learners import CheckedLearner, load

MOMENTS = [1, 2, 10, 100, 777, HORIZON]
SECOND_PROCESS = """
import json
from learner_contract import MAKERS
from test_learner_contract import play
told = {}
for name, make in MAKERS.items():
    learner = make()
    told[name] = [*play(learner), learner.state()]
print(json.dumps(told))
"""

Maker = Callable[[], CheckedLearner]


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


def play(learner: Any) -> tuple[list[float], list[int]]:
    run = simulate(INSTANCE, learner, HORIZON, seed=5)
    return run.expected_reward(MOMENTS).tolist(), run.switches(MOMENTS).tolist()


def zeros(block: Block) -> Outcome:
    return Outcome([0.0] * len(block.arms), [0.0] * len(block.arms))


def test_a_second_process_plays_the_same() -> None:
    second = subprocess.run(
        [sys.executable, "-c", SECOND_PROCESS],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    for name, told in json.loads(second.stdout).items():
        learner = MAKERS[name]()
        assert told == [*play(learner), through_json(learner.state())], name


def test_a_run_is_determined_by_its_seed(make: Maker) -> None:
    assert play(make()) == play(make())


def test_asking_and_telling_equals_simulating(make: Maker) -> None:
    """The compiled loop of a learner, where it has one, plays what its object plays."""
    spied, direct = make(), make()
    assert play(Spy(spied)) == play(direct)
    assert spied.state() == direct.state()


def test_saved_and_restored_at_any_moment_it_goes_on_the_same(make: Maker) -> None:
    whole = Spy(make())
    expected = play(whole)
    for stop in {0, 1, 2, len(whole.blocks) // 2, len(whole.blocks) - 1}:
        broken = Spy(make(), stop)
        assert play(broken) == expected
        assert broken.blocks == whole.blocks
        assert broken.learner.state() == whole.learner.state()


def test_a_pending_block_survives_saving(make: Maker) -> None:
    learner = make()
    block = learner.ask()
    restored = type(learner).from_state(through_json(learner.state()))
    assert restored.ask() == block
    restored.tell(block, zeros(block))


def test_any_learner_is_loaded_from_its_state(make: Maker) -> None:
    learner = make()
    play(learner)
    state = through_json(learner.state())
    restored = load(state)
    assert type(restored) is type(learner)
    assert restored.state() == type(learner).from_state(state).state() == state


def test_a_state_is_plain_and_holds_only_what_changed(make: Maker) -> None:
    learner = make()
    assert learner.state()["progress"] == {}
    play(learner)
    state = learner.state()
    assert is_plain(state)
    assert list(state) == ["format", "learner", "parameters", "progress"]
    assert {*state["progress"]} <= {*vars(learner)}


def is_plain(value: object) -> bool:
    if type(value) is dict:
        return all(type(key) is str and is_plain(each) for key, each in value.items())
    if type(value) is list:
        return all(is_plain(each) for each in value)
    return type(value) in (type(None), bool, int, float, str)


def counting(base: type[CheckedLearner]) -> Any:
    """Return a subclass that counts plays, and has no code that saves the count."""

    @wraps(base.__init__)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        base.__init__(self, *args, **kwargs)
        self.told = 0

    def learn(self: Any, block: Block, outcome: Outcome) -> None:
        base._learn(self, block, outcome)
        self.told += block.plays

    return type("Counting", (base,), {"__init__": construct, "_learn": learn})


def test_a_new_attribute_is_saved_without_a_word(make: Maker) -> None:
    learner = counting(type(make()))(**make().parameters())
    spy = Spy(learner)
    play(spy)
    told = sum(block.plays for block in spy.blocks[: len(spy.outcomes)])
    assert learner.told == told
    assert type(learner).from_state(through_json(learner.state())).told == told


def test_its_parameters_make_a_learner_alike(make: Maker) -> None:
    learner = make()
    twin = type(learner)(**learner.parameters())
    assert repr(twin) == repr(learner)
    assert play(twin) == play(learner)


def test_asking_twice_gives_the_same_block(make: Maker) -> None:
    learner = make()
    assert learner.ask() == learner.ask()


def test_blocks_name_known_arms_and_whole_plays(make: Maker) -> None:
    spy = Spy(make())
    play(spy)
    for block in spy.blocks:
        assert block.plays >= 1
        assert block.arms
        assert all(isinstance(arm, int) and 0 <= arm < 4 for arm in block.arms)


def test_the_last_block_is_cut_at_the_horizon_and_not_told(make: Maker) -> None:
    spy = Spy(make())
    play(spy)
    played = sum(block.pulls for block in spy.blocks[: len(spy.outcomes)])
    assert len(spy.blocks) - len(spy.outcomes) == (played < HORIZON)
    assert played <= HORIZON <= sum(block.pulls for block in spy.blocks)


def test_telling_out_of_turn_changes_nothing(make: Maker) -> None:
    learner = make()
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


def test_impossible_outcomes_change_nothing(make: Maker) -> None:
    learner = make()
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


def test_arrays_will_do_as_outcomes(make: Maker) -> None:
    learner, twin = make(), make()
    block = learner.ask()
    learner.tell(block, zeros(block))
    nothing: Any = np.zeros(len(block.arms))
    arrays = Outcome(nothing, nothing)
    twin.ask()
    twin.tell(block, arrays)
    assert json.dumps(learner.state()) == json.dumps(twin.state())


def test_a_state_of_something_else_is_refused(make: Maker) -> None:
    learner = make()
    state = learner.state()
    wrong: list[tuple[Any, str]] = [
        ({**state, "learner": "Somebody"}, f"state must be of a {state['learner']}, got 'Somebod"),
        ({**state, "format": 2}, "state must have format 1, which is read here, got 2"),
        ({**state, "extra": 0}, "state must hold format, learner, parameters, progress, got form"),
        ({**state, "parameters": {**state["parameters"], "extra": 0}}, "parameter.* must .*extra"),
        ({**state, "parameters": {}}, "parameters must hold "),
        ({**state, "progress": {"extra": 0}}, "progress must hold _pending, .*, got .*, extra"),
        ("state", "state must be a mapping, got 'state'"),
    ]
    for each, message in wrong:
        with pytest.raises(ValueError, match=message):
            type(learner).from_state(each)
