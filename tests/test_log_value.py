"""What a cycle, a plan or a learner would have earned, and when the log cannot say."""

import numpy as np
import pytest
from test_log_fit import noise_free

from benchmarks.log_tables import null_table, replay, strong_table
from fallow import Instance, Log, Plan, Rules, gain, simulate
from fallow.arrays import FloatArray
from fallow.learners import UCB1, Follow, ThompsonSampling
from fallow.logs import CannotSay, fit, plan_and_value, rest_matters, simulate_log, value
from fallow.logs.evidence import Evidence
from fallow.logs.simulated import true_means

RISING = [[0.1, 0.4, 0.8], [0.3, 0.5, 0.5], [0.0, 0.0, 0.9]]


@pytest.mark.parametrize("cycle", [[0], [0, 1], [0, 2, 1], [2, 0, 0, 1]])
def test_without_noise_a_cycle_earns_its_gain(cycle: list[int]) -> None:
    log = noise_free(RISING)
    found = value(log, cycle)
    instance = Instance(RISING)
    assert found.mean == pytest.approx(gain(instance, cycle))
    assert found.high - found.low < 1e-9
    assert found.logged == pytest.approx(log.rewards.mean())
    assert found.gain.value == pytest.approx(found.mean - found.logged)
    assert sum(cell.share for cell in found.support) == pytest.approx(1)
    assert value(log, Plan.of(instance, cycle, "by hand")) == found
    assert value(log, [log.names[arm] for arm in cycle]) == found


def test_support_counts_the_plays_of_the_cells_that_are_used() -> None:
    log = noise_free(RISING)
    (first, second) = value(log, [0, 1]).support
    assert (first.arm, first.delay, first.share) == ("0", 2, 0.5)
    assert first.rows == np.count_nonzero((log.arms == 0) & (log.delays == 2))
    # Arms are drawn with one chance each, so the plays of a cell count alike.
    assert first.effective == pytest.approx(first.rows)
    assert str(second) == "1 after 2 rounds"


@pytest.mark.parametrize("behaviour", ["taste", "recommender", "momentum"])
def test_intervals_cover_where_plain_averages_do_not(behaviour: str) -> None:
    """Of 20 intervals at 95 %, fewer than 15 cover once in 3,000 times; at 90 % once in 100."""
    covered, plain = 0, []
    for seed in range(20):
        instance = strong_table(seed)
        truth = true_means(instance, behaviour)
        log = simulate_log(instance, 400, 100, behaviour, seed=seed)
        cycle = instance.order[:5].tolist()
        expected = gain(Instance(truth), cycle)
        found = value(log, cycle)
        covered += found.low <= expected <= found.high
        log.propensity, log.propensities = log.shares[log.arms], None  # as if drawn at random
        plain.append(value(log, cycle).mean - expected)
    assert covered >= 15
    assert np.mean(plain) > 0.015


def test_planning_on_the_plays_that_judge_the_plan_would_flatter_it() -> None:
    """Arms that pay alike: all plans earn the same, as users left out of a plan tell."""
    instance = Instance(np.full((6, 3), 0.5))
    over, flattered = [], []
    for seed in range(12):
        log = simulate_log(instance, 60, 60, seed=seed)
        found = plan_and_value(log)
        assert found.plan is not None
        over.append(found.mean - 0.5)
        flattered.append(value(log, found.plan).mean - 0.5)
    error = np.std(over) / np.sqrt(len(over))
    assert abs(np.mean(over)) < 3.5 * error  # wrong once in 2,000 times
    assert np.mean(flattered) > 0.02


def test_plans_obey_rules() -> None:
    log = simulate_log(strong_table(1), 100, 100)
    free = plan_and_value(log).plan
    assert free is not None
    best = free.cycle[0]
    ruled = plan_and_value(log, Rules(exclude=[log.names[best]])).plan
    assert ruled is not None
    assert best not in ruled.cycle


def test_a_learner_earns_what_it_earns_in_a_simulation() -> None:
    """Rewards are their means, 0 or 1, so that its run is the same."""
    means = [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    learner = UCB1(3)
    found = value(noise_free(means), learner, horizon=60)
    run = simulate(Instance(means), UCB1(3), 60, seed=0, rewards="none")
    assert found.mean == pytest.approx(float(run.expected_reward(60)) / 60)
    assert learner.ask().arms == UCB1(3).ask().arms  # it was copied, and has learned nothing


def test_a_learner_is_valued_without_bias_where_replay_is_wrong() -> None:
    """Six logs; replay takes the log's rewards whatever their delay, and is far too high."""
    off, replayed = [], []
    for seed in range(6):
        instance = strong_table(seed)
        log = simulate_log(instance, 200, 100, seed=seed)
        runs = [
            simulate(Instance(true_means(instance)), ThompsonSampling(10, seed=run), 300, run)
            for run in range(20)
        ]
        expected = np.mean([float(run.expected_reward(300)) for run in runs]) / 300
        off.append(value(log, ThompsonSampling(10, seed=1), 300).mean - expected)
        replayed.append(replay(log, ThompsonSampling(10, seed=1), 300) - expected)
    assert abs(np.mean(off)) < 0.02
    assert np.mean(replayed) > 0.05


def test_a_horizon_beyond_the_log_is_refused() -> None:
    log = simulate_log(null_table(0), users=20, rounds=20)
    with pytest.raises(CannotSay, match=r"used up all .* give a shorter horizon"):
        value(log, UCB1(10), horizon=5000)


def test_cells_that_are_missing_are_named_with_bounds() -> None:
    """Arm 0 was never repeated at once, so a cycle of it alone lies between 0 and delay 2."""
    log = noise_free(RISING)
    log.rewards[(log.arms == 0) & (log.delays == 1)] = np.nan
    with pytest.raises(CannotSay, match=r"too little for 0 after 1 round \(0.0\)") as refusal:
        value(log, [0])
    assert [str(cell) for cell in refusal.value.cells] == ["0 after 1 round"]
    assert refusal.value.low == 0
    assert refusal.value.high == pytest.approx(0.4)
    assert value(log, [0, 1]).mean == pytest.approx(0.45)  # other cells are there


def test_bounds_never_cross() -> None:
    """The neighbours of a missing cell seem to fall, by chance."""
    log = noise_free([[0.6, 0.5, 0.4], [0.5, 0.5, 0.5]])
    log.rewards[(log.arms == 0) & (log.delays == 2)] = np.nan
    with pytest.raises(CannotSay) as refusal:
        value(log, [0, 1])
    assert (refusal.value.low, refusal.value.high) == pytest.approx((0.45, 0.55))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"propensity": None, "propensities": None}, "propensities with which arms were chosen"),
        ({"propensity": np.ones(400)}, "400 had propensity 1"),
    ],
)
def test_values_without_chance_are_refused(change: dict[str, object], reason: str) -> None:
    log = simulate_log(null_table(0), users=20, rounds=20)
    for name, column in change.items():
        setattr(log, name, column)
    with pytest.raises(CannotSay, match=reason):
        value(log, [0])
    with pytest.raises(CannotSay, match=reason):
        plan_and_value(log)


def test_arms_that_could_not_come_up_are_refused() -> None:
    log = simulate_log(null_table(0), users=20, rounds=20)
    assert log.propensities is not None
    log.propensities[5, 3] = 0
    with pytest.raises(
        CannotSay, match="arms that could always come up, got propensities of 0 for 3"
    ):
        value(log, [2, 3])


def test_the_log_is_compared_by_the_plays_that_count() -> None:
    """Half of the users leave early and are paid less; nothing depends on rest, so nothing is won.

    A gain is claimed in half of the logs if all plays count for the log; here once in 40 times,
    and in more than 3 of 20 once in 600.
    """
    claimed = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        rounds = np.repeat([40, 10], 200)
        user = np.repeat(np.arange(400), rounds)
        level = np.repeat([0.6, 0.4], [8000, 2000])
        log = Log(
            user=user,
            time=np.arange(user.size),
            arm=generator.integers(8, size=user.size),
            reward=generator.random(user.size) < level,
            propensity=np.full(user.size, 1 / 8),
            max_delay=5,
        )
        claimed += value(log, range(8)).gain.low > 0
    assert claimed <= 3


def test_a_learner_that_lives_on_few_plays_is_refused() -> None:
    log = simulate_log(null_table(0), users=12, rounds=20)
    with pytest.raises(CannotSay, match="in cells that are used often, got too little for 3 after"):
        value(log, Follow(Plan.of(null_table(0), [3], "by hand")), horizon=2)


def test_few_users_are_refused() -> None:
    with pytest.raises(CannotSay, match="at least 10 users; the log has 9"):
        value(simulate_log(null_table(0), users=9, rounds=200), [0, 1])
    with pytest.raises(CannotSay, match="at least 10 users; the log has 9"):  # in each of two parts
        plan_and_value(simulate_log(null_table(0), users=19, rounds=200))


@pytest.mark.parametrize(
    ("policy", "horizon", "message"),
    [
        ([], None, "cycle must hold at least one arm"),
        ([10], None, "cycle must be at most 9"),
        (["ten"], None, "an arm of the cycle must be one of"),
        ([0], 5, "horizon must come with a learner"),
        (UCB1(10), None, "horizon must be given with a learner"),
    ],
)
def test_mistakes_are_named(policy: object, horizon: int | None, message: str) -> None:
    log = simulate_log(null_table(0), users=20, rounds=20)
    with pytest.raises(ValueError, match=message):
        value(log, policy, horizon)  # type: ignore[arg-type]


def test_a_part_of_a_log_is_the_log_of_its_users() -> None:
    log = simulate_log(strong_table(0), users=6, rounds=30, behaviour="all")
    part = log.part(np.array([1, 4]))
    both = [np.arange(log.starts[user], log.starts[user + 1]) for user in (1, 4)]
    for name in ("arms", "rewards", "delays", "gaps", "windows", "propensity", "propensities"):
        np.testing.assert_array_equal(getattr(part, name), getattr(log, name)[np.concatenate(both)])
    assert part.users == 2
    assert log.evidence(weighted=True).plays.size == 180
    assert log.part(np.array([1, 4])).evidence(weighted=True).plays.size == 60
    assert fit(part).cells.rows.sum() == 60


def test_all_questions_to_a_log_share_its_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    log = simulate_log(strong_table(0), users=400, rounds=100)
    weighings = []
    usual = Evidence._weights

    def counted(evidence: Evidence) -> FloatArray:
        if evidence.log is log:
            weighings.append(evidence)
        return usual(evidence)

    monkeypatch.setattr(Evidence, "_weights", counted)
    fit(log)
    rest_matters(log)
    plan_and_value(log)
    value(log, [0, 1])
    assert len(weighings) == 1
    before = value(log, [0, 1]).mean
    log.rewards = 1 - log.rewards
    assert value(log, [0, 1]).mean == pytest.approx(1 - before)
