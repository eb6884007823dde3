"""Figure 1 and Fact 1: what two ranking policies earn when they alternate."""

import math
from collections.abc import Iterator

import numpy as np

from fallow import catalog
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.instance import Instance
from fallow.planners.cycle import gain
from fallow.planners.ranking import ranking_gains, transition_totals
from fallow.protocol import Block, Outcome
from fallow.rewards import Rewards
from fallow.simulation import simulate
from reproduction.claims.claim import Claim, Finding, verdict

ROUNDING = 1e-12


class Alternating:
    """Plays pi_n and pi_m in turn, and keeps what each play earned."""

    def __init__(self, order: tuple[int, ...], sizes: tuple[int, int]) -> None:
        self.order, self.sizes = order, sizes
        self.earned: list[float] = []

    def ask(self) -> Block:
        """Return the play whose turn it is."""
        return Block(self.order[: self.sizes[len(self.earned) % 2]])

    def tell(self, block: Block, outcome: Outcome) -> None:
        """Keep the total of the play."""
        if block != self.ask():
            raise InputError("block", f"must be the one asked for, {self.ask()}", f"{block}")
        self.earned.append(math.fsum(outcome.first))


def _simulated_totals(instance: Instance, plays: int, rewards: Rewards) -> FloatArray:
    """Return the average total of each policy's play after each other's, from simulation."""
    totals = np.empty((instance.arms, instance.arms))
    order = tuple(instance.order.tolist())
    for before in range(1, instance.arms + 1):
        for now in range(1, instance.arms + 1):
            learner = Alternating(order, (before, now))
            # The first two plays start from rest; the simulator does not tell a last block it cuts.
            simulate(instance, learner, (plays + 1) * (before + now) + 1, seed=0, rewards=rewards)
            totals[before - 1, now - 1] = np.mean(learner.earned[3::2])
    return totals


def _check_figure1() -> Finding:
    drawn = [catalog.random_table(5, 6, seed) for seed in range(20)]
    drawn += [catalog.figure2(seed=0), catalog.figure3()]
    exact = max(
        np.abs(_simulated_totals(instance, 2, "none") - transition_totals(instance)).max()
        for instance in drawn
    )
    figure2, plays = catalog.figure2(seed=0), 300
    off = np.abs(_simulated_totals(figure2, plays, "bernoulli") - transition_totals(figure2))
    # Hoeffding: all pairs are within this at the same time, but for a chance of one in a million.
    allowed = np.sqrt(np.arange(1, 8) / (2 * plays) * math.log(2 * off.size / 1e-6))
    return Finding(
        f"without noise within {max(exact, ROUNDING):.0e} for all pairs of {len(drawn)} instances; "
        f"with noise at most {(off / allowed).max():.2f} of the interval allowed for {plays} plays "
        "per pair",
        verdict(bool(exact < ROUNDING and (off <= allowed).all())),
    )


FIGURE_1 = Claim(
    name="figure-1",
    place="section 8, Figure 1",
    statement="A play of pi_m after one of pi_n earns mu_1(n) + ... + mu_m(n) if m <= n, else "
    "mu_1(n) + ... + mu_n(n) + mu_{n+1}(n+m) + ... + mu_m(n+m).",
    method="All pairs of policies played in turn in simulation, without noise and with Bernoulli "
    "rewards.",
    expected="holds",
    slack="None without noise: a delay that is off by one fails.",
    check=_check_figure1,
)


def _draw_with_two_best(draws: int) -> Iterator[tuple[Instance, int]]:
    """Yield random instances in which pi_m and the policy over all arms are best, with that m.

    The last baseline solves g(n) = g(m); draws for which it does not lie below the others are left
    out.
    """
    for seed in range(draws):
        generator = np.random.default_rng(seed)
        arms = int(generator.integers(2, 6))
        baselines = np.sort(generator.random(arms))[::-1]
        delays = generator.integers(1, 7, arms)
        lost = np.sort(generator.random(6))[::-1].tolist()
        unsolved = Instance.b2dep(baselines, delays, lost)
        gains = ranking_gains(unsolved)
        best = int(gains[:-1].argmax())
        missing = arms * (gains[best] - gains[-1])
        last = unsolved.means[-1]
        solved = baselines[-1] * (1 + missing / last[min(arms, len(last)) - 1])
        if 0 < solved <= baselines[-2]:
            yield Instance.b2dep([*baselines[:-1], solved], delays, lost), best + 1


def _advantage(instance: Instance, fewer: int, more: int) -> float:
    """Return what alternating two ranking policies earns per round beyond the better of them."""
    order = instance.order.tolist()
    gains = ranking_gains(instance)
    alternating = gain(instance, [*order[:fewer], *order[:more]])
    return alternating - float(max(gains[fewer - 1], gains[more - 1]))


def _rests(instance: Instance, fewer: int) -> bool:
    """Tell whether the arms that only the policy over all arms pulls rest in its length."""
    arms = instance.arms
    ranked = instance.means[instance.order][fewer:]
    last = ranked.shape[1]
    after, later = (ranked[:, min(delay, last) - 1].sum() for delay in (arms, fewer + arms))
    return bool(abs(later - after) <= ROUNDING * arms)


def _check_fact1() -> Finding:
    drawn = list(_draw_with_two_best(draws=2000))
    advantages = np.array([_advantage(instance, m, instance.arms) for instance, m in drawn])
    higher, lower = advantages > ROUNDING, advantages < -ROUNDING
    # What only the longer one pulls earns the same after n rounds as after m + n.
    at_rest_draws = np.array([_rests(instance, m) for instance, m in drawn])
    as_repaired = bool((higher == ~at_rest_draws).all()) and not lower.any()
    rested = Instance.b2dep([1, 0.5], delays=[1, 1], decay=[0.25])
    at_rest = _advantage(rested, 1, 2)
    figure3 = _advantage(catalog.figure3(), 1, 2)
    return Finding(
        f"of {len(drawn):,} random instances with two best policies {higher.sum():,} earn more, "
        f"{(~higher & ~lower).sum():,} the same, {lower.sum()} less; {figure3:.4f} more per round "
        f"in Figure 3, {at_rest:.4f} with baselines 1 and 1/2, delays 1, f = 1/4",
        verdict(
            bool(higher.all() and min(at_rest, figure3) > ROUNDING),
            repaired=as_repaired and abs(at_rest) <= ROUNDING < figure3,
        ),
    )


FACT_1 = Claim(
    name="fact-1",
    place="section 8, Fact 1",
    statement="Where two ranking policies are optimal among them, alternating between the two "
    "earns more than either; repaired: at least as much, and the same where the arms that only the "
    "longer one pulls are rested after its length in rounds.",
    method="Random instances with a baseline solved so that g(m) = g(n) is the maximum, Figure 3, "
    "and an instance that rests in one round.",
    expected="holds as repaired",
    slack="None: a gain that is too low by a millionth fails.",
    check=_check_fact1,
)
