"""Learners that are made of others, as specs name them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fallow import Block, Instance, LowSwitch, Outcome, catalog, learners, simulate
from fallow.learners import Doubling, RankingUCB2, RankThenCut
from fallow.learners.registry import learner_factory
from fallow.studies.engine import Part, play_parts
from fallow.studies.read import load_spec
from fallow.studies.spec import Spec
from fallow.studies.workers import local_workers

COMPOSED = """\
horizon = 2000
runs = 4
seed = 1
[instance]
catalog = "figure2"
[learners.x]
learner = "rank-then-cut"
then = "ranking-ucb2"
options = { alpha = 0.5 }
[learners.y]
learner = "doubling"
of = "low-switch"
options = { cut_stage = "commit" }
"""


def load(folder: Path, text: str) -> Spec:
    path = folder / "spec.toml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def test_options_reach_the_learner_that_another_is_made_of(tmp_path: Path) -> None:
    second, restarted = load(tmp_path, COMPOSED).factories().values()
    instance = catalog.figure2(seed=0)
    assert str(second(instance, 0)).endswith("then=RankingUCB2, alpha=0.5)")
    assert str(restarted(instance, 0)).endswith("cut_stage='commit')")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alpha", "alhpa", "line 6: learners.x: a parameter of RankingUCB2 must be one of alpha"),
        (
            "ranking-ucb2",
            "ucb",
            "line 8: learners.x.then must be one of alternating-ucb, anytime-l",
        ),
        ('"ranking-ucb2"', "3", "line 8: learners.x.then must be text, got 3"),
        (
            "ranking-ucb2",
            "ghost",
            "line 8: learners.x.then must be one of alternating-ucb, a.*ghost",
        ),
        (
            "ranking-ucb2",
            "rotation",
            "learners.x.then must be one of alternating-ucb, a.*rotation",
        ),
        ("ranking-ucb2", "mine:X", "line 8: learners.x.then must not be Python code unless you"),
        ("{ alpha = 0.5 }", "3", "line 9: learners.x.options must be a table of parameters of R"),
        ("alpha", "delta", "line 9: learners.x.options must not hold delta, which RankingUCB2 is"),
        (
            "low-switch",
            "ranking-ucb",
            "line 12: learners.y.of must be one of explore-then-commit, low",
        ),
        ("cut_stage", "order", "line 13: learners.y.options must not hold order, which LowSwitch"),
        ("alpha = 0.5", "alpha = 5", "line 9: learners.x.options.alpha must lie strictly between"),
        ("alpha = 0.5", "alpha = 1979-05-27", "line 9: learners.x.options must be of numbers, te"),
        ('"commit"', '"late"', "line 13: learners.y.options.cut_stage must be one of race, comm"),
    ],
)
def test_mistakes_in_a_learner_that_another_is_made_of_are_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert len(load(tmp_path, COMPOSED).learners) == 2
    with pytest.raises(ValueError, match=message):
        load(tmp_path, COMPOSED.replace(old, new))


@pytest.mark.slow
def test_a_learner_of_ones_own_may_be_the_second(tmp_path: Path) -> None:
    """Worker processes find it, and a change of its code changes the hash."""
    code = "from fallow.learners import RankingUCB2\nclass Mine(RankingUCB2): pass\n"
    (tmp_path / "second_of_ours.py").write_text(code)
    path = tmp_path / "spec.toml"
    path.write_text(COMPOSED.replace("ranking-ucb2", "second_of_ours:Mine"))
    spec = load_spec(path, allow_imports=True)
    study = spec.study()
    with local_workers(2) as workers:
        batches = [batch for _, batch in play_parts([Part(study, range(2))], workers)]
    assert [batch.failures for batch in batches] == [[]] * len(batches)
    plain = load(tmp_path, COMPOSED).study()
    assert (batches[0].result.rewards[0] == plain.play(0).rewards[0]).all()
    (tmp_path / "second_of_ours.py").write_text(code + "# changed\n")
    assert load_spec(path, allow_imports=True).digest() != spec.digest()


def test_parameters_of_ones_own_may_be_called_as_in_learners_made_of_others(
    tmp_path: Path,
) -> None:
    code = "from fallow.learners import RankingUCB2\n"
    code += "class Own(RankingUCB2):\n"
    code += "    def __init__(self, order, of=3, then='x'):\n"
    code += "        super().__init__(order)\n        self.of, self.then = of, then\n"
    (tmp_path / "own_parameters.py").write_text(code)
    path = tmp_path / "spec.toml"
    head = COMPOSED.partition("[learners")[0]
    path.write_text(head + '[learners.x]\nlearner = "own_parameters:Own"\nof = 5\nthen = "a:b"\n')
    spec = load_spec(path, allow_imports=True)
    learner: Any = spec.factories()["x"](catalog.figure2(seed=0), 0)
    assert (learner.of, learner.then) == (5, "a:b")


def test_the_second_learner_is_told_what_it_asks_for(tmp_path: Path) -> None:
    """Arms, the bound on delays and a seed of its own, as any learner is."""
    code = "from fallow.learners import RankingUCB2\n"
    code += "class Asking(RankingUCB2):\n"
    code += "    def __init__(self, order, arms, max_delay, seed):\n"
    code += "        super().__init__(order)\n        self.max_delay, self.seed = max_delay, seed\n"
    (tmp_path / "asking.py").write_text(code)
    path = tmp_path / "spec.toml"
    text = COMPOSED.replace("ranking-ucb2", "asking:Asking").replace("alpha = 0.5", "")
    path.write_text(text)
    make = load_spec(path, allow_imports=True).factories()["x"]
    learner: Any = make(catalog.figure2(seed=0), 17)
    assert learner.options == {"seed": 17}
    assert learner._second(range(7), 10).max_delay == learner.max_delay == 6


def test_doubling_of_rank_then_cut_counts_the_rounds_of_ranking() -> None:
    learner = Doubling(RankThenCut, 256, arms=2, max_delay=1, then=RankingUCB2, alpha=0.5)
    instance = Instance([[0.2, 0.9], [0.1, 0.1]])
    ranked: list[int] = []
    for _ in range(3):
        life = learner.learner
        assert isinstance(life, RankThenCut)
        assert life.then is RankingUCB2
        while learner.learner is life:
            simulate(instance, Once(learner), 10**6, seed=len(ranked))
        ranked.append(life.ranking_rounds)
    assert learner.ranking_rounds == sum(ranked) > 0


class Once:
    """Hands on one block of a learner, and then idles to the horizon."""

    def __init__(self, learner: Doubling) -> None:
        self.learner, self.told = learner, False

    def ask(self) -> Block:
        return Block((0,), 10**7) if self.told else self.learner.ask()

    def tell(self, block: Block, outcome: Outcome) -> None:
        self.learner.tell(block, outcome)
        self.told = True


def test_options_are_checked_before_anything_is_ranked() -> None:
    with pytest.raises(ValueError, match="confidence_scale must be finite and above 0, got -1"):
        RankThenCut(7, 10**6, max_delay=6, confidence_scale=-1)


def test_ranking_gets_all_of_delta_where_the_second_learner_takes_none() -> None:
    assert RankThenCut(3, 100, 0.2).ranker.delta == 0.1
    assert RankThenCut(3, 100, 0.2, then=RankingUCB2).ranker.delta == 0.2


def test_options_are_the_learners_own() -> None:
    """What the caller changes later does not matter, and a range can be saved."""
    order = np.array([2, 0, 1])
    learner = Doubling(LowSwitch, 4, order=order)
    order[:] = 0
    learner._start(8)
    assert learner.learner.parameters()["order"] == (2, 0, 1)
    ranged = Doubling(LowSwitch, order=range(3))
    assert learners.load(ranged.state()).state() == ranged.state()


def test_a_horizon_of_one_round_is_enough() -> None:
    assert RankThenCut(2, horizon=1).ask().plays >= 1


def test_names_in_options_are_text_of_some_length() -> None:
    for name in (5, "x" * 101):
        options: Any = {name: 1}
        make = learner_factory("doubling", 100, {"options": options})
        with pytest.raises(ValueError, match=r"a name in options must (be|have)"):
            make(catalog.figure3(), 0)


def test_the_bound_on_delays_that_learners_are_told_is_at_least_one() -> None:
    made: Any = learner_factory("rotation", 100)(Instance([[0.5, 0.5], [0.4, 0.4]]), 0)
    assert made.max_delay == 1
