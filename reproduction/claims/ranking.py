"""Section 5: ranking policies, and what the best of them is sure to earn."""

import numpy as np

from fallow import catalog
from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.planners.optimal import optimal
from fallow.planners.ranking import ghost, guarantee, ranking_gains, theorem2_index
from reproduction.claims.claim import Claim, Finding, verdict
from reproduction.claims.planning import TOLERANCE, greedy_choice, pulls_until_repeat


def _draw_instance(seed: int, equal_delays: bool = False) -> tuple[Instance, list[float]]:
    """Return a random instance of up to five arms and delays up to five, and its f."""
    generator = np.random.default_rng(seed)
    arms = int(generator.integers(2, 6))
    lost = np.sort(generator.random(5))[::-1].tolist()
    delays = generator.integers(1, 6, 1 if equal_delays else arms)
    baselines = generator.random(arms)
    return Instance.b2dep(baselines, np.broadcast_to(delays, arms), lost), lost[: delays.max()]


def _promised_share(instance: Instance, lost: list[float]) -> float:
    """Return 1 - f(r_0) of Theorem 2 as printed; past the longest delay f does not matter, so 0."""
    index = theorem2_index(instance)
    return 1 - lost[index - 1] if index <= len(lost) else 1.0


def _earned_share(instance: Instance) -> float:
    return ghost(instance).gain / optimal(instance).gain


def _check_theorem2() -> Finding:
    examples = [
        (catalog.theorem2_counterexample(), [1.0, 1.0]),
        (catalog.theorem2_mild_counterexample(), [0.9, 0.9, 0.0, 0.0, 0.0]),
    ]
    drawn = [_draw_instance(seed) for seed in range(600)]
    promised = np.array([_promised_share(instance, f) for instance, f in examples + drawn])
    earned = np.array([_earned_share(instance) for instance, _ in examples + drawn])
    broken = earned < promised - TOLERANCE
    return Finding(
        f"two examples with different delays promise {promised[0]:.0%} and {promised[1]:.0%} of "
        f"the optimum, ghost earns {earned[0]:.1%} and {earned[1]:.1%}; broken in "
        f"{broken[2:].sum()} of {len(drawn):,} random instances",
        verdict(not broken.any()),
    )


THEOREM_2 = Claim(
    name="theorem-2",
    place="section 5, Theorem 2",
    statement="The best ranking policy, ghost, earns at least 1 - f(r_0) of the optimum.",
    method="Ghost against the exact optimum in two counterexamples and in random instances.",
    expected="does not hold",
    check=_check_theorem2,
)


def _check_theorem2_equal_delays() -> Finding:
    drawn = [_draw_instance(seed, equal_delays=True) for seed in range(600)]
    promised = np.array([_promised_share(instance, f) for instance, f in drawn])
    earned = np.array([_earned_share(instance) for instance, _ in drawn])
    kept = earned >= promised - TOLERANCE
    return Finding(
        f"kept in {kept.sum():,} of {len(drawn):,} random instances; on average "
        f"{promised.mean():.1%} of the optimum promised, {earned.mean():.1%} earned",
        verdict(bool(kept.all())),
    )


THEOREM_2_EQUAL_DELAYS = Claim(
    name="theorem-2-equal-delays",
    place="section 5, Theorem 2",
    statement="When all delays are equal, ghost earns at least 1 - f(r_0) of the optimum.",
    method="Ghost against the exact optimum in random instances with equal delays.",
    expected="holds",
    check=_check_theorem2_equal_delays,
    variant_of="theorem-2",
)


def _check_theorem2_repaired() -> Finding:
    drawn = [_draw_instance(seed)[0] for seed in range(2000)]
    drawn += [catalog.theorem2_counterexample(), catalog.theorem2_mild_counterexample()]
    promised = np.array([guarantee(instance).factor for instance in drawn])
    earned = np.array([_earned_share(instance) for instance in drawn])
    kept = earned >= promised - TOLERANCE
    return Finding(
        f"kept in {kept.sum():,} of {len(drawn):,} instances; on average {promised.mean():.1%} of "
        f"the optimum promised, {earned.mean():.1%} earned",
        verdict(holds=False, repaired=bool(kept.all())),
    )


THEOREM_2_REPAIRED = Claim(
    name="theorem-2-repaired",
    place="section 5, Theorem 2",
    statement="With r_1, the largest r such that no arm at delay r - 1 is worth more than the r-th "
    "baseline, in place of r_0, the bound holds for all delays.",
    method="Ghost against the exact optimum in random instances and in both counterexamples.",
    expected="holds as repaired",
    check=_check_theorem2_repaired,
    variant_of="theorem-2",
)


def _check_greedy_round() -> Finding:
    drawn = [_draw_instance(seed)[0] for seed in range(1000)]
    right = 0
    for instance in drawn:
        index = theorem2_index(instance)
        pulls, _ = pulls_until_repeat(instance, greedy_choice(instance))
        first = instance.order[:index].tolist()
        right += pulls[:index] == first and set(pulls[index : index + 1]) <= set(first)
    return Finding(
        f"true in {right:,} of {len(drawn):,} random instances", verdict(right == len(drawn))
    )


GREEDY_ROUND = Claim(
    name="greedy-round",
    place="section 5, after Theorem 2",
    statement="Greedy first pulls arms 1, ..., r_0 in turn, and pulls one of them again in round "
    "r_0 + 1.",
    method="Greedy followed round by round from rest in random instances.",
    expected="holds",
    check=_check_greedy_round,
)


def _list_gains(gains: FloatArray) -> str:
    return ", ".join(f"{gain:.4f}" for gain in gains)


def _is_as_claimed(gains: FloatArray) -> bool:
    return bool(gains[1] < gains[0] < gains[2])


def _check_not_monotone_example() -> Finding:
    gains = ranking_gains(catalog.non_monotone())
    return Finding(f"g = {_list_gains(gains)}", verdict(_is_as_claimed(gains)))


NOT_MONOTONE_EXAMPLE = Claim(
    name="not-monotone-example",
    place="section 5, the example",
    statement="For baselines 1, 2/3, 1/2, delays 2 and f(tau) = 2^-tau, g(2) < g(1) < g(3).",
    method="The three gains from their definition.",
    expected="does not hold",
    check=_check_not_monotone_example,
)


def _check_not_monotone() -> Finding:
    printed = ranking_gains(catalog.non_monotone())
    constant = ranking_gains(catalog.non_monotone_constant())
    return Finding(
        f"g = {_list_gains(printed)} as printed, {_list_gains(constant)} with f = 1/2",
        verdict(_is_as_claimed(printed), repaired=_is_as_claimed(constant)),
    )


NOT_MONOTONE = Claim(
    name="not-monotone",
    place="section 5, the example",
    statement="g(m) need be neither rising nor falling in m.",
    method="The example as printed, and with constant f = 1/2 in place of 2^-tau.",
    expected="holds as repaired",
    check=_check_not_monotone,
)
