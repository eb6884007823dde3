"""Section 8, Figure 2: seven arms, where the best ranking policy stands out."""

from collections.abc import Sequence

import numpy as np

from fallow import catalog, decay
from fallow.arrays import FloatArray
from fallow.instance import Instance
from fallow.intervals import Estimate, estimate
from fallow.planners.ranking import ranking_gains
from fallow.rewards import Rewards
from fallow.simulation import simulate
from fallow.studies import replicate
from fallow.studies.study import Factory
from fallow.trajectory import RunTrajectory
from reproduction.claims.claim import Claim, Finding, verdict
from reproduction.claims.studies import (
    HORIZON,
    is_above_zero,
    is_below_zero,
    low_of,
    pi_low,
    pi_ucb,
)
from reproduction.readings import NEAREST, TEXT, Drawn, pi_low_of, scan


def policy_gap(instance: Instance) -> float:
    """Return how much more the best ranking policy earns per round than the second best."""
    best, second = np.sort(ranking_gains(instance))[:-3:-1]
    return float(best - second)


def gaps_of_all_draws() -> FloatArray:
    """Return the gap in each of the 6^7 equally likely draws of Figure 2's delays."""
    baselines = catalog.figure2().baselines  # by decreasing baseline, as arms are numbered
    arms, longest = len(baselines), 6
    tables = [
        Instance.b2dep(baselines, [delay] * arms, decay.geometric(0.999)).means
        for delay in range(1, longest + 1)
    ]
    gains = []
    for size in range(1, arms + 1):
        total = np.zeros((1,) * arms)
        for arm in range(size):  # what it earns depends on its own delay, the axis of that number
            earned = [table[arm, min(size, table.shape[1]) - 1] for table in tables]
            shape = [longest if axis == arm else 1 for axis in range(arms)]
            total = total + np.reshape(earned, shape)
        gains.append(np.broadcast_to(total / size, (longest,) * arms).ravel())
    second, best = np.partition(gains, arms - 2, axis=0)[-2:]
    gaps: FloatArray = best - second
    return gaps


def _check_average_gap() -> Finding:
    gaps = gaps_of_all_draws()
    return Finding(
        f"{gaps.mean():.5f}, the mean over all {len(gaps):,} draws of the delays; from "
        f"{gaps.min():.4f} to {gaps.max():.4f}",
        verdict(bool(0.05 <= gaps.mean() < 0.15)),
    )


AVERAGE_GAP = Claim(
    name="average-gap",
    place="section 8, Figure 2",
    statement="The gap between the best and the second-best ranking policy is 0.1 on average.",
    method="The gaps of all draws of the delays; their mean has to round to 0.1.",
    expected="holds",
    slack="Gaps a third too small or 70 % too large pass; arms that lose nothing fail.",
    check=_check_average_gap,
)


COMPETITIVE_FACTOR = 2
"""How many times the other's regret a learner may have and still be called competitive."""


def _check_competitive() -> Finding:
    drawn = {each.reading: each for each in scan()}
    text = drawn[TEXT]
    fitting = [each for each in drawn.values() if each.fits]
    ratios = [each.ucb_end / each.end for each in (text, *fitting)]
    competitive = [each.ucb_end <= COMPETITIVE_FACTOR * each.end for each in (text, *fitting)]
    return Finding(
        f"mean regret of pi_ucb {text.ucb_end:.0f}, of Algorithm 1 as printed {text.end:.0f}; with "
        f"the {len(fitting)} readings that fit the printed figure, pi_ucb has {min(ratios):.2f} to "
        f"{max(ratios):.2f} times the regret of pi_low. Remark: pi_low ends lower in the printed "
        "figure, 178 against 230, with which the paper's next sentence, that oversampling hurts "
        "it, does not sit well",
        verdict(all(competitive)),
    )


COMPETITIVE = Claim(
    name="figure-2",
    place="section 8, Figure 2",
    statement="Where the gap is not too small, pi_ucb is competitive against pi_low even with a "
    "unit switching cost.",
    method="Figure 2's family, T = 1,000, the 1,000 runs of claim figure-2-printed: pi_ucb may "
    "have at most twice the mean regret of pi_low, as printed and in every reading that fits the "
    "printed figure at the 5 % level. In Figure 3, where the gap is 0, it has more than ten times "
    "as much.",
    expected="holds",
    slack="pi_ucb may have a third more regret; a pi_low with a tenth of the widths is too good.",
    check=_check_competitive,
)


def _check_printed() -> Finding:
    drawn = {each.reading: each for each in scan()}
    text, nearest = drawn[TEXT], drawn[NEAREST]
    fitting = [each.reading.cut_stage for each in drawn.values() if each.fits]
    committing, racing = fitting.count("commit"), fitting.count("race")
    return Finding(
        f"Algorithm 1 as printed draws {text.at_flat:.0f} at round 490 and {text.end:.0f} at "
        f"1,000, {text.figure_2.distance:.1f} standard deviations from the figure; plays rounded "
        f"down and no stage begun that the horizon would cut draw {nearest.at_flat:.0f} and "
        f"{nearest.end:.0f}, {nearest.figure_2.distance:.1f} away, nearest of the readings with "
        f"threshold 2 C_s and noise; {committing} of 8 committing and {racing} of 8 racing "
        "readings fit at the 5 % level",
        verdict(text.fits, repaired=nearest.fits and _is_nearest(nearest, list(drawn.values()))),
    )


def _is_nearest(drawn: Drawn, others: Sequence[Drawn]) -> bool:
    """Tell whether no reading with the text's threshold and noise is nearer to Figure 2."""
    rivals = [each for each in others if each.reading.widths == 2 and each.reading.noise]
    return drawn.figure_2.distance == min(each.figure_2.distance for each in rivals)


PRINTED = Claim(
    name="figure-2-printed",
    place="section 8, Figure 2",
    statement="The curve of pi_ucb ends at about 230; that of pi_low ends at about 178, and is "
    "flat from about round 490 on; repaired: in other readings of Algorithm 1, such as one that "
    "rounds plays down and commits: it begins no stage that the horizon would cut, and stays with "
    "the best policy of the last full stage.",
    method="Averages of five runs in 16 readings of Algorithm 1: Mahalanobis distance of both "
    "ends, the rise after round 490 and the ratio of bands from what is printed.",
    expected="holds as repaired",
    slack="Curves may be off by a tenth, as averages of five runs are; half the widths fail.",
    check=_check_printed,
)


def _rounds_on_worse_policies(build: Factory, noise: bool) -> FloatArray:
    """Return for each of 200 runs the number of rounds on ranking policies other than the best."""
    rounds = []
    for seed in range(200):
        instance = catalog.figure2(seed)
        rewards: Rewards = "bernoulli" if noise else "none"
        run = simulate(instance, build(instance, seed), HORIZON, seed, rewards)
        if not isinstance(run, RunTrajectory):
            raise TypeError(f"a run without checkpoints must be kept whole, got {type(run)}")
        arms = np.diff(run.record.cycles.starts)[run.record.numbers]
        gains = ranking_gains(instance)
        rounds.append(float(run.record.pulls[gains[arms - 1] < gains.max() - 1e-12].sum()))
    return np.array(rounds)


def _check_oversampling() -> Finding:
    drawn = {each.reading: each for each in scan()}
    by_ucb = {
        noise: _rounds_on_worse_policies(lambda instance, _: pi_ucb(instance), noise)
        for noise in (True, False)
    }

    def compare(build: Factory, noise: bool) -> Estimate:
        return estimate(_rounds_on_worse_policies(build, noise) - by_ucb[noise])

    text = compare(low_of(HORIZON), noise=True)
    fitting = [reading for reading, each in drawn.items() if each.fits]
    more = [compare(pi_low_of(reading), reading.noise) for reading in fitting]
    above, below = sum(map(is_above_zero, more)), sum(map(is_below_zero, more))
    return Finding(
        f"of 1,000 rounds {estimate(by_ucb[True])} go to worse policies under pi_ucb, {text} more "
        f"under Algorithm 1 as printed, and the regrets are {drawn[TEXT].ucb_end:.0f} and "
        f"{drawn[TEXT].end:.0f}. Of the {len(more)} readings that fit the printed figure pi_low "
        f"samples them more often in {above}, less often in {below}; {len(more) - above - below} "
        "is undecided",
        verdict(is_above_zero(text) and drawn[TEXT].end > drawn[TEXT].ucb_end),
    )


OVERSAMPLING = Claim(
    name="figure-2-oversampling",
    place="section 8, Figure 2",
    statement="pi_low samples suboptimal policies more often than pi_ucb, which hurts it where the "
    "gap is not small.",
    method="Rounds on policies other than the best, Figure 2's family, T = 1,000, 200 paired "
    "runs: Algorithm 1 as printed, for which the sentence has to be true, and each reading that "
    "fits the printed figure at the 5 % level, with 95 % intervals.",
    expected="holds",
    slack="pi_low may take 160 rounds less; swapped learners fail.",
    check=_check_oversampling,
)


def _runs_with_one_policy_left(horizon: int, runs: int) -> int:
    """Return in how many runs all policies but one were eliminated; pi_low races to the end."""
    left_alone = 0
    for seed in range(runs):
        instance = catalog.figure2(seed)
        learner = pi_low(instance, horizon)
        simulate(instance, learner, horizon, seed, checkpoints=[horizon])
        left_alone += len(learner.active) == 1
    return left_alone


def _check_low_stops() -> Finding:
    runs = 1000
    short, middle, long = (_runs_with_one_policy_left(10**power, runs) for power in (3, 6, 9))
    return Finding(
        f"one policy is left in {short} of {runs:,} runs at T = 1,000, in {middle} at 10^6, in "
        f"{long} at 10^9",
        verdict(short > runs / 2, repaired=long > runs / 2),
    )


LOW_STOPS = Claim(
    name="figure-2-low-stops",
    place="section 8, Figure 2",
    statement="pi_low eventually stops exploring because all policies but one are eliminated; "
    "repaired: at longer horizons than the figure's.",
    method="Runs of Figure 2's family in which one policy is left at the end. In the nearest "
    "reading the curve is nearly flat for another reason: its last stage is not begun (claim "
    "figure-2-printed).",
    expected="holds as repaired",
    slack="Half or twice the widths pass; none at all and widths of 1 fail.",
    check=_check_low_stops,
)


def _check_ucb_explores() -> Finding:
    instance = catalog.figure2(seed=5)
    rounds = [10**power for power in range(4, 8)]
    study = replicate(
        instance, lambda drawn, _: pi_ucb(drawn), rounds[-1], runs=10, seed=0, checkpoints=rounds
    )
    first, second, third = np.diff(study.switches[:, 0].mean(axis=0))
    steady = first / 2 <= second <= 2 * first and second / 2 <= third <= 2 * second
    return Finding(
        f"{first:,.0f}, {second:,.0f}, {third:,.0f} switches from T = 10^4 to 10^5, to 10^6, to "
        f"10^7; gap {policy_gap(instance):.2f}",
        verdict(bool(first > 0 and steady)),
    )


UCB_EXPLORES = Claim(
    name="figure-2-ucb-explores",
    place="section 8, Figure 2",
    statement="pi_ucb keeps on exploring at a logarithmic rate.",
    method="Switches in a draw of Figure 2's family with about the average gap: each tenfold of "
    "time adds about as many as the one before, within a factor of two.",
    expected="holds",
    slack="Any constant factor passes; a learner that stops exploring fails.",
    check=_check_ucb_explores,
)
