"""Upper bounds on regret that docs/explanation/theorems.md proves, with their constants."""

import math
from itertools import combinations

import numpy as np
import pytest

from fallow import Block, Instance, LowSwitch, Outcome, catalog, gain, simulate
from fallow.learners import AlternatingUCB, AnytimeLowSwitch, Doubling, JointRanking
from fallow.planners import ghost, ranking_gains
from reproduction.claims.theorem_3 import two_policies

DELTA = 0.1
INSTANCES = [
    *(catalog.random_geometric(4, 3, seed) for seed in range(12)),
    *(catalog.figure2(seed) for seed in range(4)),
    *(two_policies(gap) for gap in (0, 0.003, 0.03, 0.3)),
]


def anytime_bound(learner: AnytimeLowSwitch, rounds: int) -> float:
    """Return the bound on the regret of AnytimeLowSwitch after some rounds."""
    arms, first = learner.arms, learner.first_stage
    stages = 1 + math.log2(rounds / first)
    switches = (arms - 1) * (2 + math.log2(rounds / first))
    threshold = learner.threshold(math.ceil(stages))
    races = 2 * math.sqrt(2 * threshold * arms * rounds)
    rounding = arms * (arms + 1) / 2 * (1 + max(0.0, math.log2(arms / first)))
    return races + arms * first + rounding + arms * (switches + 2)


@pytest.mark.parametrize("first_stage", [2, 16])
def test_the_regret_of_anytime_low_switch_is_below_its_bound_at_all_times(first_stage: int) -> None:
    """At every checkpoint of every run; 90 % of runs are proved."""
    rounds = [10**power for power in range(2, 10)]
    for seed, instance in enumerate(INSTANCES):
        learner = AnytimeLowSwitch(instance.order, DELTA, first_stage)
        run = simulate(instance, learner, rounds[-1], seed, checkpoints=rounds)
        for at in rounds:
            assert run.regret(ghost(instance), at) <= anytime_bound(learner, at)


@pytest.mark.parametrize(("arms", "first_stage"), [(7, 16), (64, 16), (100, 3), (9, 1)])
def test_few_pulls_of_anytime_low_switch_are_beyond_its_targets(
    arms: int, first_stage: int
) -> None:
    instance = Instance([[0.5]] * arms)
    learner = AnytimeLowSwitch(range(arms), DELTA, first_stage)
    for _ in range(12 * arms):
        simulate(instance, learner, learner.ask().pulls + 1, seed=0)
        target = learner._pulls(learner.stage)
        for m in range(1, arms + 1):
            excess = learner.rewards.counts[m - 1] - target
            assert excess <= m * (1 + max(0.0, math.log2(m / first_stage)))


class Watched(AnytimeLowSwitch):
    """Keeps the largest gap of an active policy over 2 sqrt(threshold / pulls)."""

    patience = 1.0
    """What its evidence is divided by."""
    largest = 0.0

    def evidence(self, better: int, worse: int) -> float:
        return super().evidence(better, worse) / self.patience

    def watch(self, instance: Instance) -> None:
        gains = ranking_gains(instance)
        self.gaps = gains.max() - gains

    def _learn(self, block: Block, outcome: Outcome) -> None:
        stage = self.stage
        super()._learn(block, outcome)
        if self.stage > stage:
            allowed = 2 * math.sqrt(self.threshold(stage) / self._pulls(stage))
            self.largest = max(self.largest, *(self.gaps[m - 1] / allowed for m in self.active))


def runs_with_large_gaps(patience: float) -> int:
    """Return in how many of 60 runs a policy stays whose gap is too large for that."""
    found = 0
    for seed in range(60):
        instance = INSTANCES[seed % len(INSTANCES)]
        learner = Watched(instance.order, DELTA)
        learner.patience = patience
        learner.watch(instance)
        simulate(instance, learner, 10**6, seed, checkpoints=[10**6])
        found += learner.largest > 1
    return found


def test_policies_that_stay_have_small_gaps() -> None:
    """The step of the proof that does the work: at least 90 % of runs are proved, here it is all.

    A learner that asks for nine times the evidence keeps policies with larger gaps.
    """
    assert runs_with_large_gaps(patience=1) == 0
    assert runs_with_large_gaps(patience=9) >= 10


def test_the_regret_of_doubling_is_below_its_bound() -> None:
    """The lives of pi_low with active widths add up; each keeps its bound with chance 0.9."""
    rounds = [10**power for power in range(3, 10)]
    for seed, instance in enumerate(INSTANCES):
        learner = Doubling(LowSwitch, order=instance.order.tolist(), delta=DELTA, widths="active")
        run = simulate(instance, learner, rounds[-1], seed, checkpoints=rounds)
        arms = instance.arms
        for at in rounds:
            lives = math.ceil(math.log2(at / learner.first_horizon + 1))
            last = learner.first_horizon * 2 ** (lives - 1)
            known = LowSwitch(instance.order, last, DELTA)
            log = math.log(2 * arms * known.stages / DELTA)
            races = 72 / (1 - 2**-0.5) * math.sqrt(arms * last * log / 2)
            starts = lives * arms * (arms + 1) * known.stages + 3.5 * math.sqrt(last)
            assert run.regret(ghost(instance), at) <= races + starts


def best_cycle_gain(instance: Instance) -> float:
    """Return the gain of the best cycle over any m arms, each of them once."""
    sizes = range(1, instance.arms + 1)
    subsets = [subset for size in sizes for subset in combinations(range(instance.arms), size)]
    return max(gain(instance, subset) for subset in subsets)


def joint_cells(arms: int, max_delay: int) -> int:
    """Return W, the number of cells that cycles over distinct arms can pull."""
    return arms * min(arms, max_delay + 1)


def optimism_bound(
    arms: int, delays: int, cells: int, period: int, rounds: int, cost: float = 0.0
) -> float:
    """Return the first bound of the theorem on optimistic epochs."""
    log = math.log(rounds)
    widths = (1 + math.sqrt(2)) * math.sqrt((9 if cost else 6) * cells * rounds * log)
    epochs = cells * (math.log2(rounds) + 1) + 2
    failing = 2 * arms * delays**2 * (1 + cost) * (log + 2 * period)
    return widths + cells + (period + 6 * cost) * epochs + failing


class Epochs(JointRanking):
    """Keeps what the proof needs of each epoch."""

    grew = True
    epochs = 0

    def _learn(self, block: Block, outcome: Outcome) -> None:
        delay = min(len(block.arms), self.max_delay + 1)
        before = self._cells.counts[list(block.arms), delay - 1]
        super()._learn(block, outcome)
        after = self._cells.counts[list(block.arms), delay - 1]
        counted = block.plays - 1
        self.epochs += 1
        self.grew = self.grew and bool((after >= np.maximum(2 * before, 1)).any())
        self.grew = self.grew and bool((counted <= np.maximum(before, 1)).all())


@pytest.mark.parametrize("exploration", [1, 3])
def test_epochs_of_joint_ranking_double_a_cell_and_no_cell_more_than_doubles(
    exploration: float,
) -> None:
    for seed, instance in enumerate(INSTANCES):
        bound = int(instance.delays.max())
        learner = Epochs(instance.arms, bound, exploration)
        simulate(instance, learner, 10**6, seed, checkpoints=[10**6])
        assert learner.grew
        assert learner.epochs <= joint_cells(instance.arms, bound) * (math.log2(10**6) + 1) + 1


def test_the_regret_of_joint_ranking_is_below_its_bound() -> None:
    """Against the best cycle over any arms, which earns at least what ghost does.

    The bound is on the expectation; here every run keeps it.
    """
    rounds = [10**power for power in range(2, 8)]
    for seed, instance in enumerate(INSTANCES):
        bound = int(instance.delays.max())
        learner = JointRanking(instance.arms, bound, exploration=3)
        run = simulate(instance, learner, rounds[-1], seed, checkpoints=rounds)
        best = best_cycle_gain(instance)
        assert best >= ghost(instance).gain - 1e-12
        for at in rounds:
            lost = best * at - float(run.expected_reward(at))
            cells = joint_cells(instance.arms, bound)
            assert lost <= optimism_bound(instance.arms, bound + 1, cells, instance.arms, at)


def best_alternation(instance: Instance, cost: float) -> float:
    """Return the largest value of a ranking policy, or of two of them in turn."""
    order = instance.order.tolist()
    values = []
    for fewer, more in combinations(range(1, instance.arms + 1), 2):
        earned = gain(instance, [*order[:fewer], *order[:more]])
        values.append(earned - 2 * cost / (fewer + more))
    return max(*values, float(ranking_gains(instance).max()))


@pytest.mark.parametrize("cost", [0.0, 0.1, 1.0])
def test_the_regret_of_alternating_ucb_is_below_its_bound(cost: float) -> None:
    """Against the best value of a ranking policy or an alternation, switches charged.

    The bound is on the expectation; here every run keeps it. A learner that stays with one ranking
    policy does not. With unit cost there are few alternations, whose plays take time to simulate.
    """
    rounds = [100, 10**7 if cost == 1 else 10**5]
    stubborn = 0
    for seed, instance in enumerate(INSTANCES):
        arms = instance.arms
        best = best_alternation(instance, cost)
        learner = AlternatingUCB(instance.order, cost, exploration=3)
        run = simulate(instance, learner, rounds[-1], seed, checkpoints=rounds)
        for at in rounds:
            bound = optimism_bound(arms, 2 * arms, arms**2, 2 * arms - 1, at, cost)
            lost = best * at - float(run.expected_reward(at)) + cost * int(run.switches(at))
            assert lost <= bound
        stubborn += bool((best - ranking_gains(instance).min()) * rounds[-1] > bound)
    assert stubborn >= 3
