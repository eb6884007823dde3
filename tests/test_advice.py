"""What rules cost, and the cool-downs of the model itself."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers import run_command as run
from helpers import runner
from hypothesis import given
from test_rules import obeys, optimum, ruled_instances

from fallow import Instance, Plan, Rules, optimal, plan
from fallow.cli import app
from fallow.kernels.cycles import own_delays
from fallow.planners import advise

SONGS = Instance.blocking([0.9, 0.8, 0.1], delays=[1, 1, 1], names=["hymn", "waltz", "news"])
RULED = SONGS.with_rules(Rules(cooldowns={"hymn": 3, "waltz": 2}, at_least_once={"news": 4}))


@given(ruled_instances(max_arms=3, max_delay=2))
def test_a_rule_costs_what_the_others_allow_beyond_all(instance: Instance) -> None:
    ruled = optimum(instance)
    if ruled is None:
        with pytest.raises(ValueError, match="cannot all be kept"):
            advise(instance)
        return
    advice = advise(instance)
    assert advice.ruled.gain == pytest.approx(ruled.gain, abs=1e-12)
    free = optimal(instance.with_rules(Rules())).gain
    assert advice.free.gain == pytest.approx(free, abs=1e-12)
    assert {each.rule for each in advice.costs} == set(instance.rules)
    for each in advice.costs:
        without = optimal(instance.with_rules(instance.rules.without(each.rule))).gain
        assert each.cost == pytest.approx(without - ruled.gain, abs=1e-12)
    costs = [each.cost for each in advice.costs]
    assert costs == sorted(costs, reverse=True)
    by_hand = ("cooldowns", "at_most")
    others = Rules.of(rule for rule in instance.rules if rule.kind not in by_hand)
    assert obeys(instance.with_rules(others), advice.recommended.cycle)


def test_the_model_sets_the_shortest_gaps_of_its_own_cycle() -> None:
    """Rest of one round is all that hymn and waltz need, so they take turns but for the news."""
    advice = advise(RULED)
    assert advice.free.cycle in ((0, 1), (1, 0))
    assert advice.free.gain == pytest.approx(0.85)
    assert advice.recommended.gain == pytest.approx((2 * 0.9 + 0.8 + 0.1) / 4)
    cycle = np.array(advice.recommended.cycle)
    gaps = own_delays(cycle, 3)
    assert advice.cooldowns == tuple(gaps[cycle == arm].min() for arm in range(3))
    assert advise(SONGS).cooldowns == (2, 2, None)


def test_a_plan_that_obeyed_more_rules_has_the_bound_of_fewer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without its rules, the planner finds nothing better than the news again and again."""

    def careless(instance: Instance) -> Plan:
        best = plan(instance)
        news = Plan.of(SONGS, [2], "careless", best.upper_bound)
        return best if instance.rules == RULED.rules else news

    monkeypatch.setattr("fallow.planners.advice.plan", careless)
    advice = advise(RULED)
    assert advice.free.gain == advice.recommended.gain == advice.ruled.gain
    assert advice.free.upper_bound == pytest.approx(0.85)
    assert advice.recommended.upper_bound == pytest.approx((2 * 0.9 + 0.8 + 0.1) / 4)


def test_the_command_prints_draws_and_writes_rules_that_can_be_read(tmp_path: Path) -> None:
    file, picture = tmp_path / "songs.toml", tmp_path / "advice.svg"
    RULED.save(file)
    output = run("advise", str(file), "--out", str(picture))
    assert "no rules                0.850000      100.00%" in output
    assert "hymn: 3 rounds from pull to pull" in output
    assert picture.read_bytes().startswith(b"<?xml")
    document = json.loads(run("advise", str(file), "--json"))
    better = SONGS.with_rules(Rules.from_document(document["recommended_rules"]))
    assert optimal(better).gain == pytest.approx(document["gain_with_recommended_rules"])
    assert better.rules.to_toml() in output
    assert document["gain_without_rules"] == pytest.approx(0.85)


def test_an_instance_without_rules_is_told_where_they_go() -> None:
    assert "no rules; they go in a table [rules] of its file" in run("advise", "greedy_trap")


def test_a_picture_of_another_kind_is_refused(tmp_path: Path) -> None:
    result = runner.invoke(app, ["advise", "greedy_trap", "--out", str(tmp_path / "advice.pdf")])
    assert result.exit_code == 2
    assert "the suffix of --out must be one of png, svg, got 'pdf'" in result.output
