"""Saved states: what can be saved comes back bit for bit, and nothing else is read."""

import json
import math
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow import Block, Outcome, Plan, Rotation
from fallow.learners import UCB1, CheckedLearner, Follow, RankThenCut, ThompsonSampling, load
from fallow.learners.codec import decode, encode

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
NESTED = Plan((0, 1), ("0", "1"), 0.5, 1.0, "by hand")


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


class Forgetful(Drawing):
    def __init__(self, arms: int, seed: int = 0) -> None:
        super().__init__(arms, seed)
        del self.seed


class Fickle(Drawing):
    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.generator: Any = 7


def round_trip(value: Any) -> Any:
    return decode("progress", json.loads(json.dumps(encode("progress", {"here": value}))))["here"]


def told(learner: CheckedLearner) -> Any:
    learner.tell(learner.ask(), Outcome([1.0], [0.0]))
    return learner


@given(values)
def test_values_come_back_bit_for_bit(value: Any) -> None:
    """Compared by their repr, which tells 0.0 from -0.0, and tuples from lists."""
    assert repr(round_trip(value)) == repr(value)


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
def test_arrays_and_scalars_keep_their_type(dtype: str) -> None:
    array = (np.random.default_rng(0).random((3, 2, 0)), np.arange(6).reshape(2, 3) / 3)
    for each in (*(part.astype(dtype) for part in array), array[1].astype(dtype)[1, 2]):
        found = round_trip(each)
        assert type(found) is type(each)
        assert found.dtype == each.dtype
        assert found.tobytes() == each.tobytes()
        assert found.shape == each.shape


def test_generators_go_on_where_they_were() -> None:
    generator = np.random.default_rng(5)
    generator.integers(2**31, dtype=np.int32)  # half of a number is left for the next
    twin = round_trip(generator)
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
            encode("progress", {"here": [value]})


CELLS = encode("progress", {"_cells": Rotation(2, 1)._cells})["_cells"]["Cells"]
NUMBERS = ["float64", [1], [0.5]]
BITS = encode("progress", {"bits": np.random.default_rng(0)})["bits"]["generator"]


@pytest.mark.parametrize(
    "value",
    [
        (1,),
        {},
        {"tuple": [], "dict": []},
        {"set": []},
        {1: []},
        {"tuple": 5},
        {"tuple": [{"set": []}]},
        {"dict": {}},
        {"dict": [["a"]]},
        {"dict": [5]},
        {"dict": ["ab"]},
        {"dict": [[[], 1]]},
        {"dict": [["a", 1], ["a", 2]]},
        {"array": 5},
        {"array": []},
        {"array": ["object", [1], [0.5]]},
        {"array": [[], [1], [0.5]]},
        {"array": ["float64", [2], [0.5]]},
        {"array": ["float64", [-1], [0.5]]},
        {"array": ["float64", 1, [0.5]]},
        {"array": ["float64", [1], [1]]},
        {"array": ["float64", [1], ["0.5"]]},
        {"array": ["int32", [1], [2**40]]},
        {"array": ["int64", [1], [0.5]]},
        {"array": ["int32", [0, 2**80], []]},
        {"generator": 5},
        {"generator": {**BITS, "has_uint32": "x"}},
        {"generator": {**BITS, "seed": 2}},
        {"learner": 5},
        {"Block": 5},
        {"Block": {1: 5}},
        {"Block": {"arms": {"tuple": []}}},
        {"Block": {"arms": 0, "plays": 1, "x": 1}},
        {"Cells": 5},
    ],
)
def test_what_was_not_written_here_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"progress\.here(:| must be as it was saved, got)"):
        decode("progress", {"here": value})


@pytest.mark.parametrize(
    ("progress", "message"),
    [
        (5, "progress must be a dict of names, got 5"),
        ({"_cycle": [0]}, "progress._cycle must be of type tuple, got \\[0\\]"),
        ({"_bound": True}, "progress._bound must be of type int, got True"),
        ({"_cells": None}, "progress._cells must be of type Cells, got None"),
        (
            {"_cells": {"Cells": {**CELLS, "counts": {"array": NUMBERS}}}},
            "progress._cells.counts must be of float64 in 2 dimensions, got float64 in 1",
        ),
        (
            {"_cells": {"Cells": {**CELLS, "counts": {"array": ["float32", [1, 1], [0.5]]}}}},
            "progress._cells.counts must be of float64 in 2 dimensions, got float32 in 2",
        ),
        (
            {"_cells": {"Cells": {}}},
            "progress._cells must hold counts, sums, first_counts, first_sums, memory, rounds, "
            "_last, got nothing",
        ),
        (
            {"luck": 7},
            "progress must hold _pending, .*, got .*luck",
        ),
        ({"arms": 3}, "progress must not hold arms, an argument that never changes"),
    ],
)
def test_progress_is_of_the_types_of_a_fresh_learner(progress: Any, message: str) -> None:
    state = {**Rotation(2, 1).state(), "progress": progress}
    with pytest.raises(ValueError, match=message):
        Rotation.from_state(state)


def test_arrays_within_are_of_the_types_of_a_fresh_learner() -> None:
    learner = told(UCB1(2))
    state = json.loads(json.dumps(learner.state()))
    state["progress"]["_statistics"]["Statistics"]["counts"]["array"][0] = "float32"
    message = "progress._statistics.counts must be of float64 in 1 dim.* got float32 in 1"
    with pytest.raises(ValueError, match=message):
        UCB1.from_state(state)


def test_the_constructor_checks_what_a_state_says() -> None:
    state = UCB1(2).state()
    with pytest.raises(ValueError, match="arms must be a whole number >= 1, got -2"):
        load({**state, "parameters": {"arms": -2, "exploration": 2.0}})
    plan = Plan((0,), ("0",), 1.0, 1.0, "by hand")
    with pytest.raises(ValueError, match="plan must be a Plan, as planners return, got 5"):
        load({**state, "learner": "Follow", "parameters": {"plan": 5}})
    for names in (("0", "1"), ("x" * 101,), ["0"], (7,)):
        with pytest.raises(ValueError, match=r"plan\.names must (be|have)"):
            Follow(replace(plan, names=names))  # type: ignore[arg-type]
    assert encode("parameters", {"plan": plan})["plan"] == {
        "Plan": {
            "cycle": {"tuple": [0]},
            "names": {"tuple": ["0"]},
            "gain": 1.0,
            "upper_bound": 1.0,
            "method": "by hand",
        }
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
        with pytest.raises(ValueError, match=f"imported first, got '{name}'"):
            load({**state, "learner": name})
    assert "this" not in sys.modules
    with pytest.raises(ValueError, match="the learner of a state must be text, got 5"):
        load({**state, "learner": 5})
    lazy: Any = ModuleType("lazy")
    lazy.__getattr__ = lambda _: UCB1
    sys.modules["lazy"] = lazy
    with pytest.raises(ValueError, match="imported first, got 'lazy:UCB1'"):
        load({**state, "learner": "lazy:UCB1"})
    del sys.modules["lazy"]


def test_a_learner_that_could_not_be_restored_is_not_saved() -> None:
    with pytest.raises(ValueError, match=r"progress must hold _pending, .* got .*surprise"):
        told(Late(2)).state()
    with pytest.raises(ValueError, match=r"progress\.generator must be of type Generator, got 7"):
        told(Fickle(2)).state()


def test_a_learner_must_choose_learn_and_keep_its_arguments() -> None:
    class Mute(CheckedLearner):
        def _choose(self) -> Block:
            return Block((0,))

    incomplete: Any = Mute
    with pytest.raises(TypeError, match="_learn"):
        incomplete()
    with pytest.raises(ValueError, match="Forgetful must keep its argument seed as an attribute"):
        Forgetful(2).state()


def test_a_class_that_load_could_not_find_is_not_saved() -> None:
    class Local(Drawing):
        pass

    with pytest.raises(ValueError, match=r"Local must be a class of its module to be saved"):
        Local(2).state()


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
        assert repr(round_trip(value)) == repr(value)
    restored: Any = load(json.loads(json.dumps(told(Signed(2)).state())))
    assert repr(restored.zeros) == "[False, -0.0, 0.0]"
