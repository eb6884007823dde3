"""The Gymnasium environment and the adapter for policies."""

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from helpers import Scripted
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances

from fallow import Block, InputError, Instance, Outcome, catalog, simulate
from fallow.env import BanditEnv
from fallow.learners import PolicyLearner
from fallow.planners import ghost, greedy


def test_the_environment_passes_gymnasiums_checks() -> None:
    env = gymnasium.make("fallow/Bandit-v0")
    check_env(env.unwrapped, skip_render_check=True)


def test_its_name_can_import_it() -> None:
    code = "import gymnasium; print(gymnasium.make('fallow.env:fallow/Bandit-v0').action_space.n)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "7\n"


@given(instances, st.data())
def test_it_earns_what_the_simulator_earns(instance: Instance, data: st.DataObject) -> None:
    pulls = data.draw(st.lists(st.integers(0, instance.arms - 1), min_size=1, max_size=20))
    env = BanditEnv(instance, horizon=len(pulls))
    env.reset(seed=1)
    earned = []
    for arm in pulls:
        observation, reward, terminated, truncated, info = env.step(np.int64(arm))
        assert reward in (0.0, 1.0)
        assert not terminated
        assert observation in env.observation_space
        assert observation[arm] == 1
        earned.append(info["expected_reward"])
    assert truncated
    run = simulate(instance, Scripted([Block((arm,)) for arm in pulls]), len(pulls), seed=0)
    assert sum(earned) == pytest.approx(float(run.expected_reward(len(pulls))), abs=1e-12)
    expected = float(run.regret(ghost(instance), len(pulls)))
    assert info["regret"] == pytest.approx(expected, abs=1e-12)


def test_rewards_follow_the_means_and_the_seed() -> None:
    env = BanditEnv(Instance([[0.3]]), horizon=10_000)
    runs = []
    for _ in range(2):
        env.reset(seed=4)
        runs.append([env.step(np.int64(0))[1] for _ in range(10_000)])
    assert runs[0] == runs[1]
    # 6 standard errors of 0.0046: wrong by chance once in 1e8.
    assert abs(np.mean(runs[0]) - 0.3) < 6 * np.sqrt(0.21 / 10_000)


@pytest.mark.parametrize("action", [-1, 2, 1.7])
def test_an_action_that_is_no_arm_is_named(action: Any) -> None:
    env = BanditEnv(catalog.figure3())
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action must be an arm from 0 to 1, got"):
        env.step(action)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reference": "0.5"}, "reference must be a finite number, got '0.5'"),
        ({"reference": float("nan")}, "reference must be a finite number, got nan"),
        ({"reference": ghost}, "reference must be a finite number, got <function ghost"),
        ({"instance": [[0.5]], "reference": 1.0}, "instance must be an Instance, got "),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        BanditEnv(**arguments)
    assert str(raised.value).startswith(message)


def test_a_policy_is_told_only_what_it_asked_for() -> None:
    learner = PolicyLearner(lambda delays: delays.argmax(), arms=2, max_delay=2)
    with pytest.raises(ValueError, match="block must be the one asked for, None"):
        learner.tell(Block((0,)), Outcome([0.0], [0.0]))


def test_a_policy_can_be_simulated_as_a_learner() -> None:
    instance = catalog.figure2(seed=1)
    policy = PolicyLearner(
        lambda delays: int(np.argmax(instance.means[np.arange(7), delays - 1])), 7, 6
    )
    run = simulate(instance, policy, 5000, seed=0)
    assert float(run.expected_reward(5000)) / 5000 == pytest.approx(greedy(instance).gain, abs=0.01)


def test_a_policy_needs_no_gymnasium() -> None:
    code = (
        "import sys; from fallow.learners import PolicyLearner; print('gymnasium' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "False\n"
