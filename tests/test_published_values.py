"""The learners of sibling papers earn on their own settings what others measured there.

Tolerances are five standard errors of the mean of the runs, so that a right program with other
seeds fails with a chance below 1e-6. `docs/learners.md` says where each value is from.
"""

import math

import numpy as np
import pytest

from fallow import Instance, Outcome, catalog, simulate
from fallow.arrays import FloatArray, IntArray
from fallow.kernels.lookahead import best_sequence
from fallow.learners import ISICombUCB1, Lookahead, UCBGreedy

RUNS = 12


def earned(instance: Instance, block: int, told: int, horizon: int) -> float:
    """What ISI-CombUCB1 earns in the mean."""
    totals = []
    for seed in range(RUNS):
        learner = ISICombUCB1(instance.arms, told, block)
        run = simulate(instance, learner, horizon, seed, checkpoints=[horizon])
        totals.append(float(run.expected_reward(horizon)))
    return float(np.mean(totals))


def test_isi_comb_ucb1_on_trick_og() -> None:
    """1,305, with blocks of 11 and delays up to 10 told apart; runs vary by 7."""
    assert earned(catalog.trick_og(), 11, 10, 3300) == pytest.approx(1305, abs=5 * 7 / RUNS**0.5)


def test_isi_comb_ucb1_on_trick_csbog() -> None:
    """1,084, with blocks of 4; runs vary by 9. Long blocks, the default, earn 1,480."""
    instance = catalog.trick_csbog()
    assert earned(instance, 4, 9, 3600) == pytest.approx(1084, abs=5 * 9 / RUNS**0.5)
    assert earned(instance, 33, 9, 3600) > 1400


def with_idling(means: FloatArray, delays: list[int], learns: bool, seed: int) -> float:
    """What UCB-Greedy, or greedy itself, earns in 10,000 rounds, idle when all arms are blocked."""
    generator = np.random.default_rng(seed)
    last = np.full(len(means), -100)
    counts, sums = np.zeros(len(means)), np.zeros(len(means))
    total = 0.0
    for now in range(10_000):
        index = np.where(now - last > delays, means, -np.inf)
        if learns:
            with np.errstate(divide="ignore", invalid="ignore"):
                bounds = sums / counts + np.sqrt(8 * math.log(now + 1) / counts)
            untried = np.where(counts > 0, bounds, np.inf)
            index = np.where(now - last > delays, untried, -np.inf)
        arm = int(index.argmax())
        if index[arm] == -np.inf:
            continue
        total += float(means[arm])
        counts[arm] += 1
        sums[arm] += generator.random() < means[arm]
        last[arm] = now
    return total


@pytest.mark.parametrize(("family", "slack"), [("small", 1e-6), ("large", 40.0), ("fixed", 1e-6)])
def test_ucb_greedys_regret_against_greedy_is_that_of_the_idling_model(
    family: str, slack: float
) -> None:
    """Pull for pull where some arm is always free; else within some pulls of blocked arms."""
    for seed in range(2):
        instance = catalog.build(f"blocking_{family}", {"seed": seed})
        delays = instance.delays.tolist()
        greedy = with_idling(instance.baselines, delays, False, seed)
        regret = greedy - with_idling(instance.baselines, delays, True, seed)
        run = simulate(instance, UCBGreedy(20, delays), 10_000, seed, checkpoints=[10_000])
        assert greedy - float(run.expected_reward(10_000)) == pytest.approx(regret, abs=slack)
        assert regret > 10


def logistic() -> FloatArray:
    """The instance of the authors' code, drawn by the generator and the seed that it uses."""
    old = np.random.RandomState(2374)
    height, slope = old.uniform(0.1, 1, (2, 10, 1))
    middle = old.uniform(0.1, 30, (10, 1))
    return np.asarray(height / (1 + np.exp(-slope * (np.arange(31) - middle))), np.float64)


class Formula(Lookahead):
    """With the width as printed, without the noise."""

    def _best_sequence(self, delays: IntArray) -> IntArray:
        return best_sequence(self._means, self._covariances, 0.0, delays, self.depth, self.scale)


@pytest.mark.parametrize(("make", "expected"), [(Lookahead, 463.5), (Formula, 443.0)])
def test_lookahead_on_the_published_logistic_instance(
    make: type[Lookahead], expected: float
) -> None:
    """One pull ahead, length scale 5; all arms start as if just pulled; runs vary by 4."""
    means = logistic()
    totals = []
    for seed in range(RUNS):
        generator = np.random.default_rng(seed)
        learner = make(10, 30, depth=1, length_scale=5.0, noise=0.01)
        last = np.full(10, -1)
        total, now = 0.0, 0
        while now < 1000:
            block = learner.ask()
            rewards = []
            for arm in block.arms:
                mean = means[arm, min(now - last[arm], 31) - 1]
                rewards.append(float(generator.normal(mean, 0.1)))
                total += mean
                last[arm] = now
                now += 1
            learner._learn(block, Outcome(rewards, [0.0] * len(rewards)))  # some are not in [0, 1]
            learner._pending = None
        totals.append(total)
    assert np.mean(totals) == pytest.approx(expected, abs=5 * 4 / RUNS**0.5)
