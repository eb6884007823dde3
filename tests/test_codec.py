"""Saved states: what can be saved comes back bit for bit, and nothing else is read."""

import json
import math
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow import UCB1, Block, Outcome, Plan, RankThenCut, Rotation, ThompsonSampling
from fallow.learners import CheckedLearner, load
from fallow.learners.codec import decode, encode
from fallow.learners.tree import Tree

floats = st.floats(allow_nan=False)
plain = st.none() | st.booleans() | st.integers() | floats | st.text()
arrays = st.builds(
    lambda values, shape: np.array(values).reshape(shape),
    st.lists(floats, min_size=6, max_size=6),
    st.sampled_from([(6,), (2, 3), (1, 3, 2)]),
)
blocks = st.builds(Block, st.lists(st.integers()).map(tuple), st.integers())
values = st.recursive(
    plain | arrays | blocks,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(plain | st.tuples(plain), inner)
    ),
    max_leaves=8,
)
NESTED = Tree([], 1, Tree([0]), Tree([2, 3]))


class Drawing(CheckedLearner):
    """Keeps what a learner of somebody else may keep."""

    def __init__(self, arms: int, seed: int = 0) -> None:
        self.arms, self.seed = arms, seed
        self.generator = np.random.default_rng(seed)
        self.best: Any = None

    def _choose(self) -> Block:
        return Block((int(self.generator.integers(self.arms)),))

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.best = {block.arms: [np.float64(outcome.first[0]), NESTED, UCB1(2)]}


class Signed(Drawing):
    def __init__(self, arms: int) -> None:
        super().__init__(arms)
        self.zeros: list[object] = [0, 0.0, False]

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.zeros = [False, -0.0, 0.0]


class Late(Drawing):
    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.surprise = 1


class Fickle(Drawing):
    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.generator: Any = 7


class Nameless(Drawing):
    def __init__(self, *numbers: int) -> None:
        super().__init__(*numbers)


def told(learner: CheckedLearner) -> Any:
    learner.tell(learner.ask(), Outcome([1.0], [0.0]))
    return learner


@given(values)
def test_values_come_back_bit_for_bit(value: Any) -> None:
    found = decode("value", json.loads(json.dumps(encode("value", value))))
    assert repr(found) == repr(value)  # which tells 0.0 from -0.0, and tuples from lists


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
def test_arrays_and_scalars_keep_their_type(dtype: str) -> None:
    array = (np.random.default_rng(0).random((3, 2, 0)), np.arange(6).reshape(2, 3) / 3)
    for each in (*(part.astype(dtype) for part in array), array[1].astype(dtype)[1, 2]):
        found = decode("array", json.loads(json.dumps(encode("array", each))))
        assert type(found) is type(each)
        assert found.dtype == each.dtype
        assert found.tobytes() == each.tobytes()
        assert found.shape == each.shape


def test_generators_go_on_where_they_were() -> None:
    generator = np.random.default_rng(5)
    generator.integers(2**31, dtype=np.int32)  # half of a number is left for the next
    twin = decode("generator", json.loads(json.dumps(encode("generator", generator))))
    assert twin.integers(2**31, size=5, dtype=np.int32).tolist() == (
        generator.integers(2**31, size=5, dtype=np.int32).tolist()
    )
    assert twin.random() == generator.random()


def test_what_cannot_be_saved_is_named() -> None:
    for value in (
        {1},
        print,
        1j,
        np.zeros(1, complex),
        np.ma.zeros(1),
        np.random.Generator(np.random.MT19937(0)),
    ):
        with pytest.raises(ValueError, match=r"here must be of a kind that can be saved, got "):
            encode("here", [value])


CELLS = encode("cells", Rotation(2, 1).cells)["Cells"]
NUMBERS = {"dtype": "float64", "shape": [1], "values": [0.5]}
BITS = encode("generator", np.random.default_rng(0))["generator"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1,), "here must be plain or have one tag, got \\(1,\\)"),
        ({}, "here must be plain or have one tag, got {}"),
        ({"tuple": [], "dict": []}, "here must be plain or have one tag"),
        ({"set": []}, "here must have a known tag, got 'set'"),
        ({1: []}, "here must have a known tag, got 1"),
        ({"tuple": 5}, "here must be a list, got 5"),
        ({"tuple": [{"set": []}]}, "here must have a known tag"),
        ({"dict": {}}, "here must be a list, got {}"),
        ({"dict": [["a"]]}, "here must be pairs of key and value"),
        ({"dict": [5]}, "here must be pairs of key and value"),
        ({"dict": ["ab"]}, "here must be pairs of key and value"),
        ({"dict": [[[], 1]]}, "here must have keys without lists, got "),
        ({"array": 5}, "here must be an array, got 5"),
        ({"array": {}}, "here must hold dtype, shape, values, got nothing"),
        ({"array": {**NUMBERS, "dtype": "object"}}, "here must be one of bool, .*, got 'object'"),
        ({"array": {**NUMBERS, "dtype": []}}, "here must be one of bool, .*, got \\[\\]"),
        ({"array": {**NUMBERS, "shape": [2]}}, "here must hold 2 values of float64, got \\[0.5\\]"),
        ({"array": {**NUMBERS, "shape": [-1]}}, "the shape of here must be whole numbers"),
        ({"array": {**NUMBERS, "shape": 1}}, "the shape of here must be whole numbers"),
        ({"array": {**NUMBERS, "values": [1]}}, "here must hold values of float64, got \\[1\\]"),
        ({"array": {"dtype": "int32", "shape": [1], "values": [2**40]}}, "values of int32"),
        ({"array": {"dtype": "int32", "shape": [0, 2**80], "values": []}}, "values of int32"),
        ({"generator": 5}, "here must be a generator, got 5"),
        ({"generator": {**BITS, "inc": -1}}, "here.inc must be a whole number of 128 bits, got -1"),
        ({"generator": {**BITS, "has_uint32": 2}}, "here.has_uint32 must be .* 1 bits, got 2"),
        ({"generator": {**BITS, "seed": 2}}, "here must hold state, inc, has_uint32, uinteger"),
        ({"learner": 5}, "state must be a mapping, got 5"),
        ({"Block": 5}, "here must be a dict of names, got 5"),
        ({"Block": {1: 5}}, "here must be a dict of names"),
        ({"Block": {"arms": {"tuple": []}}}, "here must hold arms, plays, got arms"),
        ({"Block": {"arms": 0, "plays": 1, "x": 1}}, "here must hold nothing, got x"),
        ({"Cells": {**CELLS, "arms": 0}}, "arms must be a whole number >= 1, got 0"),
        ({"Cells": {**CELLS, "rounds": 0.0}}, "here.rounds must be of type int, got 0.0"),
        ({"PolicyRewards": {"order": 5}}, "order must list the arms from the largest"),
        ({"dict": [[{"tuple": [[]]}, 1]]}, "here must have keys without lists, got "),
    ],
)
def test_what_was_not_written_here_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode("here", value)


@pytest.mark.parametrize(
    ("progress", "message"),
    [
        (5, "progress must be a dict of names, got 5"),
        ({"cycle": [0]}, "progress.cycle must be of type tuple, got \\[0\\]"),
        ({"bound": True}, "progress.bound must be of type int, got True"),
        ({"cells": None}, "progress.cells must be of type Cells, got None"),
        (
            {"cells": {"Cells": {**CELLS, "counts": {"array": NUMBERS}}}},
            "progress.cells.counts must have 2 dimensions, got 1",
        ),
        (
            {"cells": {"Cells": {**CELLS, "counts": {"array": {**NUMBERS, "dtype": "float32"}}}}},
            "progress.cells.counts must be an array of float64, got float32",
        ),
    ],
)
def test_progress_is_of_the_types_of_a_fresh_learner(progress: Any, message: str) -> None:
    state = {**Rotation(2, 1).state(), "progress": progress}
    with pytest.raises(ValueError, match=message):
        Rotation.from_state(state)


def test_arrays_within_are_of_the_types_of_a_fresh_learner() -> None:
    learner = told(UCB1(2))
    state = json.loads(json.dumps(learner.state()))
    state["progress"]["statistics"]["Statistics"]["counts"]["array"]["dtype"] = "float32"
    message = "progress.statistics.counts must be an array of float64, got float32"
    with pytest.raises(ValueError, match=message):
        UCB1.from_state(state)


def test_the_constructor_checks_what_a_state_says() -> None:
    state = UCB1(2).state()
    with pytest.raises(ValueError, match="arms must be a whole number >= 1, got -2"):
        load({**state, "parameters": {"arms": -2}})
    plan = Plan((0,), 1.0, 1.0, "by hand")
    with pytest.raises(ValueError, match="plan must be a Plan, as planners return, got 5"):
        load({**state, "learner": "Follow", "parameters": {"plan": 5}})
    assert encode("plan", plan) == {
        "Plan": {"cycle": {"tuple": [0]}, "gain": 1.0, "upper_bound": 1.0, "method": "by hand"}
    }


def test_a_learner_of_somebody_else_is_found_where_it_was_imported() -> None:
    learner = told(Drawing(3, seed=4))
    state = json.loads(json.dumps(learner.state()))
    assert state["learner"] == f"{__name__}:Drawing"
    restored: Any = load(state)
    assert type(restored) is Drawing
    assert repr(restored.best) == repr(learner.best)
    assert [restored.ask() for _ in range(9)] == [learner.ask() for _ in range(9)]


def test_a_state_imports_nothing() -> None:
    state = UCB1(2).state()
    assert "this" not in sys.modules
    for name in ("this:UCB1", "Nobody", f"{__name__}:Nobody", "fallow:Plan", "os:path", ":", ""):
        with pytest.raises(ValueError, match=f"got '{name}'; import its module first"):
            load({**state, "learner": name})
    assert "this" not in sys.modules
    with pytest.raises(ValueError, match="the learner of a state must be text, got 5"):
        load({**state, "learner": 5})
    lazy: Any = ModuleType("lazy")
    lazy.__getattr__ = lambda _: UCB1
    sys.modules["lazy"] = lazy
    with pytest.raises(ValueError, match="got 'lazy:UCB1'; import its module first"):
        load({**state, "learner": "lazy:UCB1"})
    del sys.modules["lazy"]


def test_a_learner_that_could_not_be_restored_is_not_saved() -> None:
    with pytest.raises(ValueError, match="attributes set by the constructor, got surprise"):
        told(Late(2)).state()
    with pytest.raises(ValueError, match=r"progress\.generator must be of type Generator, got 7"):
        told(Fickle(2)).state()
    with pytest.raises(ValueError, match="arguments of Nameless must have names"):
        Nameless(2).state()


def test_learners_within_learners_are_saved_with_them() -> None:
    learner = RankThenCut(2, 100, budget=0)
    state = told(learner).state()
    assert state["progress"]["cutter"]["learner"]["learner"] == "LowSwitch"
    assert load(state).state() == state


def test_a_learner_tells_how_it_was_made() -> None:
    assert repr(ThompsonSampling(3)) == "ThompsonSampling(arms=3, seed=0)"
    assert repr(Rotation(2, 1)).startswith("Rotation(arms=2, max_delay=1, switching_cost=0.0")


def test_numbers_that_only_look_alike_are_told_apart() -> None:
    for value in (0.0, -0.0, 0, False, math.inf, math.nan):
        assert repr(decode("value", json.loads(json.dumps(encode("value", value))))) == repr(value)
    restored: Any = load(json.loads(json.dumps(told(Signed(2)).state())))
    assert repr(restored.zeros) == "[False, -0.0, 0.0]"
