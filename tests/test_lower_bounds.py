"""Lower bounds that docs/explanation/theorems.md proves: what each step says, and learners."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from fallow import Block, LowSwitch, Outcome, RankingUCB, optimal, schedule, simulate
from fallow.arrays import IntArray
from fallow.kernels.confidence import divergence
from fallow.learners import AnytimeLowSwitch, CheckedLearner, RankingUCB2
from fallow.planners import ghost, ranking_gains, transition_totals
from fallow.protocol import Learner
from reproduction.lower_bounds import equal_and_tilted, hidden_best, hidden_gap

RATIO = 1 / 27
"""Gap times sqrt(u + 1) in the lemma on switches."""


@pytest.mark.parametrize("gap", [RATIO, 0.01, 1e-4])
def test_no_schedule_earns_a_quarter_more_than_the_better_policy(gap: float) -> None:
    for instance in equal_and_tilted(gap):
        best = float(ranking_gains(instance).max())
        assert optimal(instance).gain == pytest.approx(best, abs=1e-12)
        for rounds in (1, 2, 3, 10, 31):
            assert schedule(instance, rounds).total <= best * rounds + 1 / 4 + 1e-12


@pytest.mark.parametrize("gap", [RATIO, 0.01, 1e-4])
def test_a_pull_tells_the_tilted_instances_apart_by_little(gap: float) -> None:
    equal, first, second = equal_and_tilted(gap)
    for tilted, allowed, telling in (
        (first, 4.1, {(0, 0), (1, 0)}),
        (second, 21.4, {(1, 0), (1, 1)}),
    ):
        for cell in np.ndindex(equal.means.shape):
            apart = divergence(float(equal.means[cell]), float(tilted.means[cell]))
            assert apart <= allowed * gap**2
            assert (apart > 0) == (cell in telling)


class OneSwitch(CheckedLearner):
    """Plays pi_2, then pi_1, for as many rounds; then stays with the better average for good."""

    def __init__(self, rounds: int) -> None:
        self.arms = 2
        self.rounds = rounds
        self.averages: list[float] = []

    def _choose(self) -> Block:
        if len(self.averages) < 2:
            policy = 2 - len(self.averages)
            return Block(tuple(range(policy)), self.rounds // (2 * policy))
        return Block((0,) if self.averages[1] > self.averages[0] else (0, 1), 2**40)

    def _learn(self, block: Block, outcome: Outcome) -> None:
        self.averages.append(sum(outcome.rest) / (len(block.arms) * (block.plays - 1)))


@pytest.mark.parametrize("decided", [100, 1000, 10_000])
def test_who_does_not_switch_loses_what_the_lemma_says(decided: int) -> None:
    """With the gap of the lemma, in one of the two tilted instances."""
    gap, horizon = RATIO / math.sqrt(decided + 1), 100 * decided
    _, *tilted = equal_and_tilted(gap)
    lost = [
        np.mean(
            [
                float(
                    simulate(each, OneSwitch(decided), horizon, seed).regret(ghost(each), horizon)
                )
                for seed in range(200)
            ]
        )
        for each in tilted
    ]
    assert max(lost) >= gap * (horizon - decided) / 8 - 3 / 4


def intervals(constant: float, horizon: float) -> int:
    """Return how many intervals up to the horizon must have a switch each, one after the other."""
    found, start = 0, 0.0
    while True:
        start += math.floor(432 * constant * math.sqrt(horizon) * math.sqrt(start + 1)) + 1
        if start > horizon:
            return found
        found += 1


@pytest.mark.parametrize("constant", [1, 10])
def test_intervals_are_as_many_as_the_formula_says(constant: float) -> None:
    counts = []
    for power in (6, 12, 25, 50, 100, 200, 300):
        base = (432 * constant + 2) ** 2
        promised = math.floor(math.log2(math.log(base * 10.0**power) / math.log(base)))
        counts.append(intervals(constant, 10.0**power))
        assert counts[-1] >= promised
    # From 10^100 to 10^200 the logarithm doubles, and about one interval is added.
    assert all(0 <= after - before <= 1 for before, after in pairwise(counts[-3:]))
    assert counts[-1] > counts[1]


LEARNERS: dict[str, Callable[[IntArray, int], Learner]] = {
    "low-switch": lambda order, horizon: LowSwitch(order, horizon, widths="active"),
    "ranking-ucb": lambda order, _: RankingUCB(order),
    "ranking-ucb2": lambda order, _: RankingUCB2(order),
    "anytime-low-switch": lambda order, _: AnytimeLowSwitch(order),
}


@pytest.mark.parametrize("arms", [2, 4, 9])
def test_the_hidden_policy_is_the_best_one_and_only_its_delay_shows_it(arms: int) -> None:
    horizon = arms**5
    gap = hidden_gap(arms, horizon)
    none = hidden_best(arms, gap)
    assert ranking_gains(none) == pytest.approx(0.5)
    assert (np.diff(none.order) > 0).all()
    for best in range(1, arms + 1):
        instance = hidden_best(arms, gap, best)
        gains = ranking_gains(instance)
        assert gains[best - 1] == pytest.approx(0.5 + gap)
        assert np.delete(gains, best - 1) == pytest.approx(0.5)
        assert (np.diff(instance.means, axis=1) >= 0).all()
        changed = np.argwhere(np.abs(instance.means - none.means) > 1e-15)
        assert {delay for _, delay in changed} == {best - 1}
        for arm in range(arms):
            mean, raised = (float(each.means[arm, best - 1]) for each in (none, instance))
            assert divergence(mean, raised) <= 5.3 * gap**2
        # A play after a switch, and one that a switch cuts, gain less than the switch costs.
        extra = transition_totals(instance) - gains * np.arange(1, arms + 1)
        assert extra.max() <= 0.134


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("arms", [2, 4, 8])
def test_no_learner_beats_the_bound_of_order_sqrt_kt(name: str, arms: int) -> None:
    """The bound is on the average over the best policy; all learners are well above it."""
    horizon = 4 * arms**5
    lost = []
    for best in range(1, arms + 1):
        instance = hidden_best(arms, hidden_gap(arms, horizon), best)
        for seed in range(6):
            learner = LEARNERS[name](instance.order, horizon)
            run = simulate(instance, learner, horizon, seed, checkpoints=[horizon])
            lost.append(float(run.regret(ghost(instance), horizon, switching_cost=1)))
    assert np.mean(lost) >= math.sqrt(arms * horizon) / 45 - 1
