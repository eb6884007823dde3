"""Many runs: paired, the same whoever plays them, and what is made of them."""

import math
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest
from helpers import Scripted, TakeTurns

from fallow import (
    Block,
    Instance,
    LowSwitch,
    Outcome,
    RankingUCB,
    Result,
    catalog,
    optimal,
    replicate,
)
from fallow.arrays import FloatArray
from fallow.learners import Follow, RankThenCut, ThompsonSampling
from fallow.planners import ghost
from fallow.studies import estimate
from fallow.studies.study import Factory, Reference

LEARNERS: dict[str, Callable[[Instance, int], Any]] = {
    "low": lambda drawn, _: LowSwitch(drawn.order, 500),
    "ucb": lambda drawn, _: RankingUCB(drawn.order),
    "thompson": lambda _, seed: ThompsonSampling(7, seed),
}


def test_the_number_of_workers_changes_nothing() -> None:
    one, four = (
        replicate(catalog.figure2, LEARNERS, 500, runs=12, seed=3, workers=workers)
        for workers in (1, 4)
    )
    assert one.rewards.tobytes() == four.rewards.tobytes()
    assert one.switches.tobytes() == four.switches.tobytes()
    assert one.gains["ghost"].tobytes() == four.gains["ghost"].tobytes()


def test_learners_of_a_call_meet_the_same_instances_and_random_numbers() -> None:
    twins = {"a": LEARNERS["ucb"], "b": LEARNERS["ucb"]}
    study = replicate(catalog.figure2, twins, 300, runs=5, seed=1)
    np.testing.assert_array_equal(study.rewards[:, 0], study.rewards[:, 1])
    assert study.difference("a", "b", switching_cost=1).half_width.max() == 0
    assert len(set(study.gains["ghost"])) > 1
    assert len({tuple(run) for run in study.rewards[:, 0].tolist()}) == 5


def test_pairing_narrows_the_interval_of_a_difference() -> None:
    study = replicate(catalog.figure2, LEARNERS, 500, runs=40, seed=2)
    paired = study.difference("ucb", "low").half_width[-1]
    apart = [estimate(study.regret(name)).half_width[-1] for name in ("ucb", "low")]
    assert paired < math.hypot(*apart)
    mean = study.regret("ucb")[:, -1].mean() - study.regret("low")[:, -1].mean()
    assert study.difference("ucb", "low").mean[-1] == pytest.approx(mean)


def test_one_learner_needs_no_name() -> None:
    study = replicate(catalog.figure3(), lambda *_: RankingUCB([0, 1]), 50, runs=2, seed=0)
    assert study.learners == ("learner",)


def test_regret_is_the_references_lead_plus_switches() -> None:
    study = replicate(
        catalog.figure3(), {"ucb": lambda *_: RankingUCB([0, 1])}, 400, runs=3, seed=0
    )
    expected = 0.7 * study.rounds - study.rewards[:, 0] + 2 * study.switches[:, 0]
    np.testing.assert_allclose(study.regret("ucb", switching_cost=2), expected)


def test_rows_hold_all_of_a_study_in_any_order() -> None:
    learners: dict[str, Factory] = {
        "ucb": lambda instance, _: RankingUCB(instance.order),
        "from nothing": lambda instance, _: RankThenCut(instance.arms, 500, max_delay=6),
    }
    study = replicate(catalog.figure2, learners, 500, runs=range(3, 7), seed=0)
    rows = study.frame()
    assert len(rows) == 2 * 4 * len(study.rounds)
    again = Result.from_frame(rows.reverse())
    assert again.learners == ("from nothing", "ucb")
    assert again.runs == study.runs == (3, 4, 5, 6)
    for name in study.learners:
        np.testing.assert_array_equal(again.regret(name), study.regret(name))
    np.testing.assert_array_equal(again.switches[:, ::-1], study.switches)
    np.testing.assert_array_equal(again.ranking_rounds[:, ::-1], study.ranking_rounds)
    assert (study.ranking_rounds[:, 0] == 0).all()
    assert (study.ranking_rounds[:, 1] > 200).all()


def test_phases_are_played_one_after_the_other_by_one_learner() -> None:
    low, high = (Instance([[mean], [mean / 2]]) for mean in (0.2, 0.8))
    learners = {"first": lambda *_: Follow(ghost(low))}
    study = replicate(
        lambda _: [low, high], learners, 101, runs=2, seed=0, checkpoints=[10, 50, 60, 101]
    )
    np.testing.assert_allclose(study.rewards[0, 0], [2, 10, 18, 10 + 51 * 0.8])
    np.testing.assert_allclose(study.gains["ghost"], 0.5)
    seen: list[Instance] = []

    def factory(instance: Instance, _: int) -> RankingUCB:
        seen.append(instance)
        return RankingUCB(instance.order)

    study = replicate(lambda _: [low, high], factory, 1000, runs=1, seed=0, workers=1)
    assert seen == [low]
    assert study.switches[0, 0, -1] > study.switches[0, 0, -10] > 0


def test_a_run_is_the_same_whichever_others_are_asked_for() -> None:
    def rewards(runs: int | range) -> FloatArray:
        study = replicate(catalog.figure2, lambda *_: RankingUCB(range(7)), 300, runs=runs, seed=4)
        return study.regret("learner")

    np.testing.assert_array_equal(rewards(range(2, 5)), rewards(6)[2:5])


def test_an_error_in_a_run_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="arms of the learner's block"):
        replicate(
            catalog.figure3(), {"bad": lambda *_: Scripted([Block((9,))])}, 10, runs=3, seed=0
        )


def test_processes_play_the_same_runs() -> None:
    """Lambdas and classes of this file included."""
    learners: dict[str, Factory] = {
        "low": lambda instance, _: LowSwitch(instance.order, 500),
        "mine": lambda instance, _: TakeTurns(instance.arms),
    }
    here, there = (
        replicate(catalog.figure2, learners, 500, runs=9, seed=1, workers=workers)
        for workers in (1, 2)
    )
    np.testing.assert_array_equal(here.rewards, there.rewards)
    np.testing.assert_array_equal(here.switches, there.switches)


def test_an_error_in_a_run_is_raised_with_its_traceback() -> None:
    """Whoever played it: the run is played again here, where it fails in the same way."""

    class Stumbles(TakeTurns):
        def tell(self, block: Block, outcome: Outcome) -> None:
            raise KeyError("a slip of the pen")

    def stumbling(*_: object) -> Stumbles:
        return Stumbles(2)

    with pytest.raises(KeyError, match="a slip of the pen") as caught:
        replicate(catalog.figure3(), stumbling, 10, runs=3, seed=7, workers=2)
    assert caught.traceback[-1].name == "tell"
    assert caught.value.__notes__ == ["learner 'learner', run 0 of seed 7"]


def test_a_failure_in_one_thread_leaves_the_processes_of_others_alone() -> None:
    def stumbling(*_: object) -> TakeTurns:
        raise KeyError("a slip of the pen")

    def fail() -> None:
        with pytest.raises(KeyError):
            replicate(catalog.figure3(), stumbling, 10, runs=3, seed=0, workers=2)

    def take_turns(instance: Instance, _: int) -> TakeTurns:
        return TakeTurns(instance.arms)

    other = Thread(target=fail)

    def go_on(_: int) -> None:
        if not other.ident:
            other.start()
            other.join()

    result = replicate(
        catalog.figure3(), take_turns, 2000, runs=50, seed=0, workers=2, on_runs=go_on
    )
    assert len(result.runs) == 50


INSTANCE = catalog.figure3()
UNEQUAL = catalog.figure2()


class TakeNothing(TakeTurns):
    def __init__(self) -> None:
        super().__init__(2)

    def ask(self) -> Any:
        return None


class Talkative(TakeTurns):
    def __init__(self) -> None:
        super().__init__(2)

    def ranking_rounds(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": range(0)}, "runs must be numbers from 0, at least one, got range"),
        ({"runs": range(-2, 2)}, "runs must be numbers from 0, at least one, got range"),
        ({"instance": "figure3"}, "instance must be an Instance, or a function from a seed"),
        ({"instance": lambda _: None}, "a family must return instances, got None"),
        ({"instance": lambda _: []}, r"a family must return instances, got \[\]"),
        ({"learners": RankingUCB([0, 1])}, "learners must be functions from instance and seed"),
        ({"learners": {"ucb": RankingUCB([0, 1])}}, "learner 'ucb' must be a function from inst"),
        ({"learners": lambda *_: TakeNothing()}, "ask must return a Block, got None"),
        ({"learners": lambda *_: None}, "learner 'learner' must be a learner, with methods ask"),
        ({"learners": {"a" * 101: None}}, "the name of a learner must have at most 100 charact"),
        ({"references": {"x": 5}}, "references must be functions from an instance to a plan"),
        ({"references": {"x": str}}, "the gain of a reference must be a finite number, got 'Ins"),
        ({"instance": lambda _: [UNEQUAL, 5]}, "a family must return instances with the same"),
        ({"instance": lambda _: [UNEQUAL, INSTANCE]}, "a family must return instances with the"),
        (
            {"instance": lambda _: [INSTANCE] * 11},
            "a family must return at most one instance a round, got 11 for a horizon of 10",
        ),
        (
            {"runs": 10**9},
            "runs must be at most .* with 1 learners and 10 checkpoints, got 1,000,0",
        ),
        ({"runs": range(10**18, 10**19)}, "runs must be at most about 5e.18, got about 1e.19"),
        ({"learners": lambda *_: Talkative()}, "ranking_rounds must be a whole number >= 0"),
        (
            {"rewards": "gamma"},
            "rewards must be one of bernoulli, none, beta, gaussian, or a function .*, got 'gamma'",
        ),
        ({"concentration": 0}, "concentration must be finite and above 0, got 0"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"cluster": "local:2", "workers": 2}, "workers must not be given with a cluster"),
    ],
)
def test_wrong_arguments_are_told(change: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {
        "instance": catalog.figure3(),
        "learners": lambda *_: RankingUCB([0, 1]),
        "horizon": 10,
        "runs": 2,
        "seed": 0,
    }
    with pytest.raises(ValueError, match=message):
        replicate(**{**right, **change})


def test_all_of_nothing_is_earned_where_nothing_can_be() -> None:
    """The optimum of worthless arms is 0; a share of it is still a number."""
    worthless = Instance([[0.0, 0.0], [0.0, 0.0]])
    references = {"ghost": ghost, "optimum": optimal}
    pi_ucb = {"pi_ucb": lambda instance, _: RankingUCB(instance.order)}
    result = replicate(worthless, pi_ucb, 20, runs=2, seed=0, references=references)
    assert (result.share("pi_ucb") == 1).all()
    with pytest.raises(ValueError, match="reference must be one of ghost, optimum, got 'best'"):
        result.share("pi_ucb", "best")


@pytest.mark.parametrize(
    ("names", "of_regret", "of_shares"),
    [
        (["ghost"], "ghost", "ghost"),
        (["half", "optimum"], "half", "optimum"),
        (["half", "optimum", "ghost"], "ghost", "optimum"),
    ],
)
def test_every_result_has_a_default_reference(
    names: list[str], of_regret: str, of_shares: str
) -> None:
    gains: dict[str, Reference] = {"half": lambda _: 0.5, "ghost": ghost, "optimum": lambda _: 0.9}
    references = {name: gains[name] for name in names}
    pi_ucb = {"pi_ucb": LEARNERS["ucb"]}
    result = replicate(catalog.figure3(), pi_ucb, 20, runs=2, seed=0, references=references)
    np.testing.assert_array_equal(result.regret("pi_ucb"), result.regret("pi_ucb", of_regret))
    np.testing.assert_array_equal(result.share("pi_ucb"), result.share("pi_ucb", of_shares))
    assert result.plot().axes[0].get_ylabel() == f"regret against {of_regret}"


def test_results_merge_in_the_order_given() -> None:
    whole, first, second = (
        replicate(catalog.figure2, LEARNERS, 50, runs=runs, seed=3, workers=1)
        for runs in (range(4), range(2, 4), range(2))
    )
    merged = Result.merge([second, first])
    assert merged.runs == (0, 1, 2, 3)
    np.testing.assert_array_equal(merged.rewards, whole.rewards)
    np.testing.assert_array_equal(merged.gains["ghost"], whole.gains["ghost"])


def test_learners_have_the_same_luck_also_in_a_drift() -> None:
    """What a learner comes to does not depend on who else plays."""
    phases = [catalog.figure3(), catalog.figure3(epsilon=0.1)]
    low = {"low": lambda instance, _: LowSwitch(instance.order, 400)}
    ucb = {"ucb": lambda instance, _: RankingUCB(instance.order)}
    alone = replicate(lambda _: phases, ucb, 400, runs=4, seed=5, workers=1)
    after = replicate(lambda _: phases, {**low, **ucb}, 400, runs=4, seed=5, workers=1)
    assert (alone.rewards[:, 0] == after.rewards[:, 1]).all()
    assert (alone.switches[:, 0] == after.switches[:, 1]).all()
