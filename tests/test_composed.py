"""Learners that are made of others, as specs name them."""

from pathlib import Path

import pytest

from fallow import catalog
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
        ("ranking-ucb2", "ucb", "line 8: learners.x.then must be one of ucb1, "),
        ('"ranking-ucb2"', "3", "line 8: learners.x.then must be text, got 3"),
        ("ranking-ucb2", "ghost", "line 8: learners.x.then must be a learner with a class of its"),
        ("ranking-ucb2", "rotation", "learners.x.then must be a learner with an argument order"),
        ("ranking-ucb2", "mine:X", "line 8: learners.x.then must not be Python code unless you"),
        ("{ alpha = 0.5 }", "3", "line 9: learners.x.options must be a table of parameters of R"),
        ("alpha", "delta", "line 6: learners.x: a parameter of RankingUCB2 must be one of alpha"),
        ("low-switch", "ranking-ucb", "line 12: learners.y.of must be a learner with an argument"),
        ("cut_stage", "order", "line 10: learners.y: a parameter of LowSwitch must be one of d"),
        ('"commit"', '"late"', "line 10: learners.y: cut_stage must be one of race, commit, got"),
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
