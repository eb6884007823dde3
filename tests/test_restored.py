"""States and files that would have led a kernel astray are refused by name."""

import json
from typing import Any

import numpy as np
import pytest
from learner_contract import INSTANCE, MAKERS, through_json

from fallow import BanditRanker, LowSwitch, Outcome, RankingUCB, Rotation, simulate
from fallow.learners import (
    UCB1,
    AlternatingUCB,
    Doubling,
    ExploreThenCommit,
    Follow,
    ISICombUCB1,
    Lookahead,
    SlidingWindowUCB,
    UCBGreedy,
    load,
)
from fallow.planners import ghost


def played(name: str, rounds: int = 200, asked: bool = False) -> dict[str, Any]:
    """Return the state of a learner after some rounds, maybe with a block pending."""
    learner = MAKERS[name]()
    simulate(INSTANCE, learner, rounds, seed=5)
    if asked:
        learner.ask()
    return through_json(learner.state())


def array(values: Any) -> dict[str, Any]:
    numbers = np.array(values)
    return {"array": [numbers.dtype.name, list(numbers.shape), numbers.ravel().tolist()]}


def block(arms: list[Any], plays: Any = 1) -> dict[str, Any]:
    return {"Block": {"arms": {"tuple": arms}, "plays": plays}}


HUGE = 10**9
CASES: list[tuple[str, str, Any, str]] = [
    ("ucb1", "_pending", block([HUGE]), r"_pending\.arms\[0\] must be a whole number from 0 to 3,"),
    ("ucb1", "_pending", block([1], 2), r"_pending\.pulls must be 1, got 2"),
    ("ucb1", "_pending", block([True]), r"_pending\.arms\[0\] must be .*, got True"),
    ("ucb1", "_pending", block([]), "_pending must be a block of arms, got Block"),
    ("ucb1", "_pending", block([1], 0), r"_pending\.plays must be .* from 1 .*, got 0"),
    ("ucb1", "_pending", 5, "_pending must be a block of arms, got 5"),
    ("ucb1", "_statistics.counts", array([1.0] * 5), r"shape \(4,\), got \(5,\)"),
    ("ucb1", "_statistics.counts", array([1.0, 1, 1, -1]), r"counts must lie in \[0, "),
    ("ucb1", "_statistics.counts", array([1.0, 1, 1, 1.5]), "counts must be whole"),
    ("ucb1", "_statistics.sums", array([np.inf] * 4), "sums must be sums of rewards in"),
    ("ucb1", "_statistics.sums", array([HUGE] * 4).copy(), "_statistics.sums must be of float64"),
    ("ucb1", "_statistics.total", array([7]), r"_statistics\.total must be \d+, got 7"),
    ("ucb1", "_statistics.total", array([[7]]), "total must be of int64 in 1 dimensions"),
    (
        "forgetful sliding-window-ucb",
        "_statistics.window_options",
        array([HUGE] * 50),
        r"window_options\[0\] must be a whole number from 0 to 3, got 1000000000",
    ),
    (
        "forgetful sliding-window-ucb",
        "_statistics.window_options",
        array([0] * 50),
        r"_statistics\.counts must be \[50.0, 0.0",
    ),
    ("ranking-ucb", "_pending", block([0] * 99, 2), r"_pending\.arms must be \("),
    ("ranking-ucb2", "rewards.order", {"tuple": [0, 1, 2, 3]}, "rewards.order must be"),
    ("ranking-ucb2", "rewards.last", 5, r"rewards\.last must be a whole number from 0 to 4"),
    ("alternating-ucb", "candidate", {"tuple": [3, 2]}, r"candidate\[1\] must be .* from 3 to 4"),
    ("alternating-ucb", "candidate", {"tuple": [0, 2]}, r"candidate\[0\] must be .* from 1 to 4"),
    ("alternating-ucb", "_counts", array([[1.0]]), r"_counts must have the shape \(4, 4\)"),
    ("alternating-ucb", "_cells.rounds", 3, r"_cells\.rounds must be \d+, got 3"),
    ("alternating-ucb", "_left", -1, "_left must be a whole number from 1"),
    ("alternating-ucb", "_calibration", 3, "_calibration must be a whole number from 0 to 2"),
    ("alternating-ucb", "_size", 5, "_size must be a whole number from 0 to 4, got 5"),
    ("alternating-ucb", "_pending", block([], 1), "_pending must be a block of arms"),
    ("alternating-ucb", "_pending", block([HUGE]), r"_pending\.arms\[0\] must be"),
    ("low-switch", "active", {"tuple": [9]}, r"active\[0\] must be .* from 1 to 4, got 9"),
    ("low-switch", "active", {"tuple": []}, "active must hold at least one number"),
    ("low-switch", "active", {"tuple": [2, 2]}, "active must rise"),
    ("low-switch", "stage", 0, "stage must be a whole number from 1 to"),
    ("low-switch", "_averages", [0.5] * 9, "_averages must be a whole number from 0 to 3, got 9"),
    ("anytime-low-switch", "stage", 65, "stage must be a whole number from 1 to 64, got 65"),
    (
        "anytime-low-switch",
        "rewards.counts",
        [2**62] * 4,
        r"counts\[0\] must be a whole number from",
    ),
    ("anytime-low-switch", "stage", 60, r"rewards\.counts\[\d\] must be a whole number from"),
    ("rotation", "_cells._last", [-HUGE, 0, 0, 0], r"_last\[0\] must be .* from -3 to "),
    ("rotation", "_cells._last", [-1, 0, 0, 0], "first_counts must be at most 1 and those"),
    ("rotation", "_cells._last", [HUGE, 0, 0, 0], r"_last\[0\] must be .*, got 1000000000"),
    ("rotation", "_cells.rounds", 3, r"_cells\.rounds must be \d+, got 3"),
    ("rotation", "_bound", 1, "_bound must be 2, got 1"),
    ("rotation", "_cycle", {"tuple": [HUGE]}, r"_cycle\[0\] must be .* from 0 to 3"),
    ("rotation-unbounded", "_bound", 64, r"_cells\.counts must have the shape \(4, 130\)"),
    ("joint-ranking", "cycle", {"tuple": [0, 9]}, r"cycle\[1\] must be .* from 0 to 3"),
    ("lookahead", "_last", [-HUGE, 0, 0, 0], r"_last\[0\] must be .* from -3 to "),
    ("lookahead", "_means", array([[np.nan] * 3] * 4), r"_means must lie in \[-1e\+09, 1e\+09\]"),
    ("isi-comb-ucb1", "_counts", array([[1.0]]), "_counts must have the shape"),
    ("ucb-greedy", "counts", [0, 0, 0, 0], "sums must be sums of rewards in"),
    ("ucb-greedy", "_last", [HUGE, 0, 0, 0], r"_last\[0\] must be .*, got 1000000000"),
    ("ucb-greedy", "sums", [0, 0, 0, 0], r"sums\[0\] must be a float, got 0"),
    ("explore-then-commit", "_explored", 99, "_explored must be"),
    ("imed-kd", "_explored", 99, "_explored must be a whole number from 0 to 8, got 99"),
    ("imed-kd", "_cells.rounds", 3, r"_cells\.rounds must be \d+, got 3"),
    ("kl-ucb-greedy", "_cells._last", [HUGE, 0, 0, 0], r"_last\[0\] must be .*, got 1000000000"),
    ("psrl", "_cells.rounds", 3, r"_cells\.rounds must be \d+, got 3"),
    ("bandit-ranker", "groups", [[0, 1], [2, 2]], "groups must hold each arm once"),
    ("bandit-ranker", "groups", [[0, 1], [2, HUGE]], r"groups\[3\] must be .* from 0 to 3"),
    ("bandit-ranker", "_left", 0, "_left must be a whole number from 1 to"),
    ("bandit-ranker", "done", True, "done must be False, got True"),
    ("bandit-ranker", "active", [0, 1], "active must hold the arms without a place"),
    ("bandit-ranker", "active", [0, 1, 2, 3, HUGE], r"active\[4\] must be .* from 0 to 3"),
    ("bandit-ranker", "active", [3, 2, 1, 0], "active must rise"),
    ("doubling", "left", -5, "left must be a whole number from 1 to"),
    ("doubling", "horizon", 300, "horizon must be 256, got 300"),
    ("ghost", "_pending", block([0], 7), "_pending must be Block"),
]


@pytest.mark.parametrize(("name", "field", "value", "message"), CASES)
def test_progress_that_cannot_be_is_refused(
    name: str, field: str, value: Any, message: str
) -> None:
    state = played(name, asked="_pending" in field)
    assert load(state)
    *outer, last = field.split(".")
    place = state["progress"]
    for each in outer:
        (place,) = place[each].values()
    place[last] = value
    with pytest.raises(ValueError, match=f"^progress.*{message}"):
        load(state)


def test_a_learner_within_another_is_the_one_that_was_made() -> None:
    state = played("rank-then-cut", rounds=2900)
    other = LowSwitch([0, 1, 2, 3], 100).state()
    state["progress"]["cutter"] = {"learner": other}
    with pytest.raises(ValueError, match=r"progress\.cutter must be "):
        load(state)
    state["progress"]["cutter"] = {"learner": UCB1(4).state()}
    with pytest.raises(ValueError, match=r"progress\.cutter must be <class .*LowSwitch"):
        load(state)
    doubled = played("doubling")
    doubled["progress"]["learner"] = {"learner": other}
    with pytest.raises(ValueError, match=r"progress\.learner must be "):
        load(doubled)


def test_the_block_of_low_switch_is_of_its_policy_and_long_enough_to_count() -> None:
    learner = LowSwitch([2, 0, 1], 1000)
    learner.ask()
    for pending, message in (
        (block([1], 6), r"_pending\.arms must be \(2,\), got \(1,\)"),
        (block([2, 0], 6), r"_pending\.arms must be 1, got 2"),
        (block([2], 1), r"_pending\.plays must be a whole number from 2"),
    ):
        state = through_json(learner.state())
        progress: Any = state["progress"]
        progress["_pending"] = pending
        with pytest.raises(ValueError, match=message):
            load(state)
    alone = LowSwitch([0], horizon=1)
    assert alone.ask().plays == 1
    restored: Any = load(alone.state())
    assert restored.ask() == alone.ask()


def test_the_block_of_alternating_ucb_is_the_next_of_its_epoch() -> None:
    learner = AlternatingUCB([2, 0, 1])
    learner.ask()
    for name, value, message in (
        ("_pending", block([2, 0, 1], 3), r"_pending must be Block.*plays=2"),
        ("_pending", block([2, 0], 2), r"_pending must be Block\(arms=\(2, 0, 1\)"),
        ("_left", 0, "_left must be a whole number from 1"),
    ):
        state = through_json(learner.state())
        progress: Any = state["progress"]
        progress[name] = value
        with pytest.raises(ValueError, match=message):
            load(state)


def test_an_arm_was_pulled_before_now() -> None:
    state = played("rotation")
    cells = state["progress"]["_cells"]["Cells"]
    cells["_last"][0] = cells["rounds"] - 1
    load(state)
    cells["_last"][0] = cells["rounds"]
    with pytest.raises(ValueError, match=r"_last\[0\] must be a whole number from"):
        load(state)


def test_a_plan_in_a_state_is_a_plan() -> None:
    state = Follow(ghost(INSTANCE)).state()
    for key, value, message in (
        ("cycle", {"tuple": [-1]}, "plan.cycle must be whole numbers >= 0, got -1"),
        ("cycle", {"tuple": []}, "plan.cycle must hold at least one number"),
        ("cycle", 5, "plan.cycle must be a list of whole numbers, got 5"),
        ("gain", "x", "plan.gain must be finite and >= 0, got 'x'"),
        ("method", None, "plan.method must be text, got None"),
    ):
        changed = through_json(state)
        plan: Any = changed["parameters"]
        plan["plan"]["Plan"][key] = value
        with pytest.raises(ValueError, match=message):
            load(changed)


def test_no_bare_base_of_learners_is_restored() -> None:
    state = {**UCB1(2).state(), "learner": "fallow.learners.codec:SavedLearner", "parameters": {}}
    with pytest.raises(ValueError, match="the learner of a state must be a class of"):
        load(state)


@pytest.mark.parametrize(
    ("learner", "name", "value"),
    [
        (RankingUCB([0, 1]), "order", (0, HUGE)),
        (UCB1(2), "arms", HUGE),
        (UCB1(2), "pending", (HUGE,)),
        (SlidingWindowUCB(2, window=5), "window", HUGE),
        (Rotation(2, 3), "max_delay", HUGE),
        (Rotation(2, 3), "bound", HUGE),
        (Lookahead(2, 3), "depth", HUGE),
        (ISICombUCB1(2, 3), "block", HUGE),
    ],
)
def test_what_kernels_index_by_cannot_be_set(learner: Any, name: str, value: Any) -> None:
    before = getattr(learner, name)
    with pytest.raises(AttributeError, match=name):
        setattr(learner, name, value)
    assert getattr(learner, name) == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SlidingWindowUCB(2, window=2**31), "window must be at most 67,108,864, got 2,147"),
        (lambda: Lookahead(2, 3, depth=2**63), "depth must be at most 24, got about 9e"),
        (lambda: Lookahead(20, 3, depth=10), "depth must leave at most 16,777,216 sequences"),
        (lambda: Lookahead(2, 10**12), "max_delay must leave at most 16,777,216 covariances"),
        (lambda: BanditRanker(3, max_delay=10**12), "max_delay must be at most 1,000,000, got 1,"),
        (lambda: BanditRanker(10**9), "arms must be at most 1,048,576, got 1,000,000,000"),
        (lambda: Rotation(3, max_delay=10**12), "means must hold at most 67,108,864 values"),
        (lambda: ExploreThenCommit(10**3, 10**4, 10), "max_delay must leave at most 16,777,216"),
        (lambda: ISICombUCB1(10, 3, block=10**6), "means must hold at most 67,108,864 values"),
        (lambda: UCBGreedy(10**9, [1]), "arms must be at most 1,048,576"),
        (lambda: LowSwitch([0, 1], 10**400), "horizon must be at most about 5e.18, got about"),
        (lambda: Doubling(LowSwitch, 10**400, order=[0]), "first_horizon must be at most about"),
    ],
)
def test_sizes_that_cannot_work_are_refused_at_once(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_ranking_of_many_arms_is_saved() -> None:
    """Arms that leave one by one nest a tree deeper than Python recurses; groups are flat."""
    arms = 1500
    ranker = BanditRanker(arms)
    for arm in range(arms - 2):
        ranker._split(arm, range(arm), range(arm + 1, arms))
        ranker.active.remove(arm)
    ranker._left = 2
    restored: Any = load(json.loads(json.dumps(ranker.state())))
    assert restored.groups == [*([arm] for arm in range(arms - 2)), [arms - 2, arms - 1]]
    assert restored.ask().arms == (arms - 2, arms - 1)


def test_a_learner_that_was_restored_refuses_what_it_did_not_ask_for() -> None:
    learner: Any = load(played("ucb1"))
    wanted = learner.ask()
    with pytest.raises(ValueError, match="block must be the one asked for"):
        learner.tell(wanted._replace(arms=(HUGE,)), Outcome([1.0], [0.0]))
