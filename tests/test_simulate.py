"""The simulator: distribution of rewards, what it refuses, and many runs at once."""

import math
from collections.abc import Callable
from itertools import cycle, repeat
from typing import Any

import numpy as np
import pytest
import reference
from helpers import Scripted
from hypothesis import given
from hypothesis import strategies as st
from learner_contract import MAKERS, Spy

from fallow import (
    Block,
    Instance,
    Outcome,
    RankingUCB,
    catalog,
    simulate,
)
from fallow.drift import play_phases
from fallow.kernels.bandits import Runs, Table
from fallow.learners import UCB1, CheckedLearner
from fallow.protocol import has_compiled_loop
from fallow.rewards import Rewards
from fallow.studies import estimate

HALF: Any = 0.5
"""No whole number, passed for one."""
OTHER_NUMBERS: list[Any] = [np.int64(0), 1.0, 2.0, np.int64(3), np.int64(2**62)]
"""Whole numbers of other types."""
BLOCK = Block((0, 1, 0), plays=41)
INSTANCE = Instance([[0.2, 0.45, 0.7, 0.9], [0.1, 0.3, 0.6, 0.8]])


def outcomes(rewards: Any, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Total of the first and of the other plays of a block, in many seeded runs."""
    totals = []
    for seed in range(count):
        learner = Scripted([BLOCK])
        simulate(INSTANCE, learner, BLOCK.pulls, seed, rewards=rewards)
        totals.append([*learner.outcomes[0].first, *learner.outcomes[0].rest])
    return np.array(totals)


def block_means() -> tuple[list[float], list[float]]:
    """Means by position of the first play and of the others, by hand."""
    return [0.9, 0.8, 0.45], [0.2, 0.6, 0.45]


def assert_close_to_binomial(sample: Any, trials: int, mean: float) -> None:
    """Mean and variance of the sample within 6 standard errors: fails by chance once in 1e8."""
    runs = len(sample)
    variance = trials * mean * (1 - mean)
    assert abs(np.mean(sample) - trials * mean) < 6 * math.sqrt(variance / runs) + 1e-12
    fourth = variance * (1 + 3 * variance * (1 - 2 / trials)) - variance**2
    assert abs(np.var(sample) - variance) < 6 * math.sqrt(max(fourth, 0.0) / runs) + 0.01


def test_bernoulli_totals_are_binomial() -> None:
    totals = outcomes("bernoulli", 4000)
    first, rest = block_means()
    for position in range(3):
        assert set(np.unique(totals[:, position])) <= {0.0, 1.0}
        assert_close_to_binomial(totals[:, position], 1, first[position])
        assert_close_to_binomial(totals[:, 3 + position], 40, rest[position])


def test_bernoulli_totals_equal_playing_round_by_round() -> None:
    """Two-sample Kolmogorov-Smirnov at a false-alarm rate of 1e-6."""
    runs = 4000
    means = reference.played(INSTANCE.means.tolist(), list(BLOCK.arms) * BLOCK.plays)
    generator = np.random.default_rng(99)
    blocks = outcomes("bernoulli", runs).sum(axis=1)
    rounds = (generator.random((runs, len(means))) < means).sum(axis=1)
    values = np.arange(len(means) + 1)
    distance = np.abs(
        np.searchsorted(np.sort(blocks), values, side="right")
        - np.searchsorted(np.sort(rounds), values, side="right")
    ).max()
    assert distance / runs < math.sqrt(-math.log(1e-6 / 2) / 2 * 2 / runs)


def test_without_noise_feedback_is_the_expectation() -> None:
    first, rest = block_means()
    np.testing.assert_allclose(outcomes("none", 1)[0], [*first, *(40 * np.array(rest))])


def test_beta_rewards_have_their_mean_and_spread() -> None:
    totals = outcomes("beta", 4000)
    first, rest = block_means()
    for position in range(3):
        for column, mean, count in ((position, first, 1), (3 + position, rest, 40)):
            variance = count * mean[position] * (1 - mean[position]) / 11
            error = 6 * math.sqrt(variance / 4000) + 1e-9
            assert abs(totals[:, column].mean() - count * mean[position]) < error
            assert totals[:, column].var() == pytest.approx(variance, rel=0.2, abs=1e-9)


def test_certain_arms_stay_certain_under_beta_rewards() -> None:
    learner = Scripted([Block((0, 1), 5)])
    simulate(Instance([[0.0], [1.0]]), learner, 10, seed=0, rewards="beta")
    assert learner.outcomes == [Outcome([0.0, 1.0], [0.0, 4.0])]


def test_the_cost_of_a_block_does_not_grow_with_its_plays() -> None:
    learner = Scripted([Block((0, 1), 10**14), Block((0,), 10**14), Block((1,), 10**15)])
    run = simulate(catalog.figure3(), learner, 10**15, seed=0, checkpoints=[10**15])
    assert run.switches(10**15) == 2


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Block((2,)), "arms of the learner's block must be from 0 to 1, got 2"),
        (Block((-1,)), "arms of the learner's block must be whole numbers >= 0, got -1"),
        (Block(()), "arms of the learner's block must hold at least one number"),
        (Block((0,), 0), "plays of the learner's block must be a whole number >= 1, got 0"),
        (
            Block((0,), 1 + HALF),
            "plays of the learner's block must be a whole number >= 1, got 1.5",
        ),
        (Block((0,), -3), "plays of the learner's block must be a whole number >= 1, got -3"),
        (Block((HALF,)), "arms of the learner's block must be whole numbers"),
    ],
)
def test_wrong_blocks_are_named(block: Block, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(catalog.figure3(), Scripted([Block((0,), 1), block]), 10, seed=0)


NO_BLOCKS: list[tuple[Any, str]] = [
    (None, "ask must return a Block, got None"),
    (5, "ask must return a Block, got 5"),
    (((0,), 1), r"ask must return a Block, got \(\(0,\), 1\)"),
    ((None, 1), "arms of the learner's block must be a list of whole numbers, got None"),
    (("01", 1), "arms of the learner's block must be a list of whole numbers, got '01'"),
    ((b"01", 1), "arms of the learner's block must be a list of whole numbers, got b'01'"),
    (({0: 1}, 1), "arms of the learner's block must be a list of whole numbers, got {0: 1}"),
    ((iter([0, 1]), 1), "arms of the learner's block must be a list of whole numbers, got <list_i"),
    ((repeat(0), 1), r"arms of the learner's block must be a list of whole numbers, got repeat\(0"),
    ((range(10**12), 1), "the length of arms of the learner's block must be at most 67,108,864"),
    ((range(10**30), 1), "the length of arms of the learner's block must be at most 67,108,864"),
    ((([0],), 1), r"arms of the learner's block must be whole numbers >= 0, got \[0\]"),
    ((np.zeros((1, 2), int), 1), "arms of the learner's block must be a list of whole numbers"),
    ((np.ma.masked_array([0], [True]), 1), "arms of the learner's block must be a list of whole"),
    (((math.nan,), 1), "arms of the learner's block must be whole numbers >= 0, got nan"),
    (((10**400,), 1), r"arms of the learner's block must be at most .*, got about 1e\+300"),
    (((0,), None), "plays of the learner's block must be a whole number >= 1, got None"),
    (((0,), math.nan), "plays of the learner's block must be a whole number >= 1, got nan"),
    (((0,), np.ones(2)), "plays of the learner's block must be a whole number >= 1, got array"),
    (((0,), 10**400), r"plays of the learner's block must be at most .*, got about 1e\+300"),
]


@pytest.mark.parametrize(("block", "message"), NO_BLOCKS)
@pytest.mark.parametrize("phases", [1, 2])
def test_what_is_no_block_is_named_also_in_a_drift(block: Any, message: str, phases: int) -> None:
    asked = block if "ask must" in message else Block(*block)
    learner, seed = Scripted([Block((0,)), asked]), np.random.SeedSequence(0)
    instances = [catalog.figure3()] * phases
    with pytest.raises(ValueError, match=message):
        play_phases(instances, learner, 10, seed, "none", np.array([10]), 10.0)


def test_a_learner_is_told_its_own_block_in_a_drift() -> None:
    """Also where its arms are no tuple."""
    arms: Any = [0, 1]
    asked = Block(arms, 3)
    learner = Script([asked])
    play_phases([INSTANCE] * 2, learner, 12, np.random.SeedSequence(0), "none", np.array([12]), 1.0)
    assert [block is asked for block, _ in learner.told] == [True, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 0}, "horizon must be a whole number >= 1, got 0"),
        ({"horizon": 2.5}, "horizon must be a whole number >= 1, got 2.5"),
        ({"horizon": 10**17}, "horizon must be at most 4,503,599,627,370,496"),
        (
            {"rewards": "gauss"},
            "rewards must be one of bernoulli, none, beta, gaussian, or a function .*, got 'gauss'",
        ),
        ({"rewards": 5}, "rewards must be one of bernoulli, none, .*, or a function .*, got 5"),
        ({"concentration": 0}, "concentration must be finite and above 0, got 0"),
        ({"concentration": 5e-324}, r"concentration must be from 1e-09 to 1e\+09, got 5e-324"),
        ({"concentration": 1.7e308}, r"concentration must be from 1e-09 to 1e\+09, got 1.7e\+308"),
        ({"instance": [[0.5]]}, r"instance must be an Instance, got \[\[0.5\]\]"),
        ({"learner": None}, "learner must be a learner, with methods ask and tell, got None"),
        ({"learner": UCB1}, "learner must be a learner, with methods ask and tell, got <class"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"seed": None}, "seed must be a whole number >= 0, got None"),
        ({"checkpoints": [5, 3]}, "checkpoints must increase up to at most the horizon, 10"),
        ({"checkpoints": [5, 11]}, "checkpoints must increase up to at most the horizon, 10"),
        ({"checkpoints": []}, "checkpoints must hold at least one number"),
        (
            {"learner": RankingUCB([0, 1, 2])},
            "learner must have as many arms as the instance, 2, got 3",
        ),
    ],
)
def test_wrong_arguments_are_named(changes: dict[str, Any], message: str) -> None:
    right = {"instance": catalog.figure3(), "learner": RankingUCB([0, 1]), "horizon": 10, "seed": 0}
    arguments: dict[str, Any] = right | changes
    with pytest.raises(ValueError, match=message):
        simulate(**arguments)


class Stubborn(RankingUCB):
    def _choose(self) -> Block:
        return Block((1,), 2)


class Heir(Stubborn):
    """Changes nothing, but its parent did."""


class ChoosesLast:
    def _choose(self) -> Block:
        return Block((1,))


class Mixed(ChoosesLast, UCB1):
    """Decides by a class that knows nothing of learners."""


class Forgetful(UCB1):
    def _learn(self, block: Block, outcome: Outcome) -> None:
        pass


class Deaf(UCB1):
    def tell(self, block: Block, outcome: Outcome) -> None:
        self._pending = None


class Twin(RankingUCB):
    """Decides as its parent does."""


class Looped(Stubborn):
    """Brings a loop of its own for what it decides."""

    def play_compiled(
        self, table: Table, horizon: int, noisy: bool, generator: np.random.Generator, log: Runs
    ) -> int:
        log.numbers[0], log.pulls[0] = 1, horizon
        table.clock[0] = horizon
        return 1


def test_a_subclass_is_played_by_its_own_rules() -> None:
    for stubborn in (Stubborn, Heir):
        run = simulate(catalog.figure3(), stubborn([0, 1]), 100, seed=0)
        assert run.switches(100) == 0
        assert float(run.expected_reward(2)) == pytest.approx(13 / 15 * 1.7)
    assert simulate(catalog.figure3(), Mixed(2), 100, seed=0).switches(100) == 0
    for unlearned in (Forgetful(2), Deaf(2)):
        simulate(catalog.figure3(), unlearned, 100, seed=0)
        assert unlearned._statistics.total[0] == 0


def test_a_subclass_may_bring_a_loop_of_its_own() -> None:
    run = simulate(catalog.figure3(), Looped([0, 1]), 100, seed=0)
    alternating = simulate(catalog.figure3(), Scripted([Block((0, 1), 50)]), 100, seed=0)
    assert run.expected_reward(100) == alternating.expected_reward(100)


def test_a_learner_tells_whether_it_has_a_compiled_loop() -> None:
    compiled = {name for name, make in MAKERS.items() if has_compiled_loop(make())}
    assert {name.split()[-1] for name in compiled} == {
        "ranking-ucb",
        "ucb1",
        "thompson-sampling",
        "epsilon-greedy",
        "sliding-window-ucb",
    }
    order = [0, 1]
    assert all(has_compiled_loop(each) for each in (Twin(order), Looped(order)))
    without = (Stubborn(order), Heir(order), Mixed(2), Forgetful(2), Deaf(2), Scripted([]))
    assert not any(has_compiled_loop(each) for each in without)


def test_numbers_of_other_types_are_taken_as_whole_numbers() -> None:
    zero, one, two, three, many = OTHER_NUMBERS
    blocks = [Block((zero, one), three), Block((0, 1), two)]
    run = simulate(catalog.figure3(), Scripted(blocks), 40, seed=0)
    assert run.switches(40) == 0
    huge = Block((0, 1, 0, 1), many)
    assert simulate(catalog.figure3(), Scripted([huge]), 40, seed=0).switches(40) == 0


class Script:
    """Asks for blocks in turn, and keeps what it is told."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = cycle(blocks)
        self.told: list[tuple[Block, Outcome]] = []

    def ask(self) -> Block:
        return next(self.blocks)

    def tell(self, block: Block, outcome: Outcome) -> None:
        self.told.append((block, outcome))


@given(
    st.lists(
        st.builds(
            Block,
            st.lists(st.integers(0, 2), min_size=1, max_size=5).map(tuple),
            st.integers(1, 9),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(2, 7),
)
def test_blocks_go_on_across_the_ends_of_phases(blocks: list[Block], count: int) -> None:
    """Without delays and noise it does not show in how many phases a run was cut."""
    instance = Instance([[0.2], [0.5], [0.9]])
    seed = np.random.SeedSequence(0)
    rounds = np.array([1, 13, 50, 101])
    whole, parts = Script(blocks), Script(blocks)
    one, _ = play_phases([instance], whole, 101, seed, "none", rounds, 10.0)
    many, _ = play_phases([instance] * count, parts, 101, seed, "none", rounds, 10.0)
    np.testing.assert_allclose(many, one)
    assert [block for block, _ in parts.told] == [block for block, _ in whole.told]
    for (_, outcome), (_, expected) in zip(parts.told, whole.told, strict=True):
        np.testing.assert_allclose(outcome.first, expected.first)
        np.testing.assert_allclose(outcome.rest, expected.rest)


@pytest.mark.parametrize(
    "values", [[], None, "x", 5, np.zeros((0, 3)), [[1, 2], [3]], [None], [True], [10**400], {}]
)
def test_an_estimate_is_of_numbers_by_run(values: Any) -> None:
    rule = "values must be numbers, one or an equally long row for each run, at least one, got"
    with pytest.raises(ValueError, match=rule):
        estimate(values)


def test_intervals_cover_as_often_as_they_say() -> None:
    """95 % of 4,000 intervals of 6 normal values; 6 standard errors, a chance below 1e-8."""
    draws = np.random.default_rng(5).normal(size=(6, 4000))
    mean, half_width = estimate(draws)
    covered = (np.abs(mean) < half_width).mean()
    assert abs(covered - 0.95) < 6 * math.sqrt(0.95 * 0.05 / 4000)


@pytest.mark.parametrize("build", [UCB1, lambda arms: RankingUCB(range(arms))])
@pytest.mark.parametrize("rewards", ["none", "bernoulli"])
@pytest.mark.parametrize("arms", [1, 2, 5])
def test_compiled_ucb_decides_between_equal_arms_like_its_object(
    build: Callable[[int], CheckedLearner], rewards: Rewards, arms: int
) -> None:
    instance = Instance([[0.3, 0.5]] * arms)
    learners = build(arms), Spy(build(arms))
    runs = [simulate(instance, learner, 3000, 0, rewards) for learner in learners]
    rounds = np.arange(3001)
    assert (runs[0].expected_reward(rounds) == runs[1].expected_reward(rounds)).all()
    assert (runs[0].switches(rounds) == runs[1].switches(rounds)).all()
