"""Experiments as data: what a spec may say, and how mistakes in it are told."""

import re
from pathlib import Path

import pytest

from fallow import Instance, LowSwitch, Rotation, catalog
from fallow.studies.read import load_spec
from fallow.studies.spec import Spec

ROOT = Path(__file__).parent.parent
EXPERIMENTS = sorted((ROOT / "reproduction" / "experiments").glob("*.toml"))
SPEC = """\
title = "A test"

horizon = 100
runs = 3
seed = 1
rewards = "none"
checkpoints = [
    10,
    100,
]
switching_costs = [0, 2]

[instance]
catalog = "random_geometric"
arms = 3

[learners.low]
learner = "low-switch"
delta = 0.2

[learners.ghost]

[[published]]
learner = "low"
round = 100
value = 5

[figure]
measure = "share"
"""

SWEPT = re.sub(r"arms = 3|\[\[published\]\].*?value = 5", "", SPEC, flags=re.DOTALL)
SWEPT += "\n[sweep]\narms = [2, 4]\n"


def load(folder: Path, text: str) -> Spec:
    path = folder / "test.toml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def test_a_spec_says_what_is_played(tmp_path: Path) -> None:
    spec = load(tmp_path, SPEC)
    assert (spec.name, spec.title, spec.horizon, spec.runs, spec.seed) == (
        "test",
        "A test",
        100,
        3,
        1,
    )
    assert spec.rounds().tolist() == [10, 100]
    assert spec.points == (None,)
    family = spec.instance()
    assert not isinstance(family, Instance)
    drawn = family(5)
    assert drawn == catalog.random_geometric(arms=3, seed=5)
    assert isinstance(drawn, Instance)
    learner = spec.factories()["low"](drawn, 0)
    assert isinstance(learner, LowSwitch)
    assert (learner.delta, learner.horizon) == (0.2, 100)
    assert learner.order == tuple(drawn.order)


def test_learners_may_be_told_something_else(tmp_path: Path) -> None:
    text = SPEC.replace('"low-switch"\ndelta = 0.2', '"rotation"') + "\n[told]\nmax_delay = 2\n"
    spec = load(tmp_path, text)
    learner = spec.factories()["low"](spec.first_instance(), 0)
    assert isinstance(learner, Rotation)
    assert learner.max_delay == 2
    assert spec.digest() != load(tmp_path, text.replace("max_delay = 2", "max_delay = 3")).digest()


def test_means_may_drift(tmp_path: Path) -> None:
    text = SPEC.replace('"random_geometric"\narms = 3', '"drifting"')
    spec = load(tmp_path, "drift = 3\n" + text)
    family = spec.instance()
    assert not isinstance(family, Instance)
    assert family(4) == [catalog.drifting(progress, seed=4) for progress in (0, 0.5, 1)]
    with pytest.raises(ValueError, match=r"line 1: drift must come with a catalog entry that has"):
        load(tmp_path, "drift = 3\n" + SPEC)


@pytest.mark.parametrize(
    ("head", "sweep", "message"),
    [
        ("drift = 10001\nhorizon = 20000", "", "line 1: drift must be at most 10,000, got 10,001"),
        ("drift = 2147483647\nhorizon = 9e9", "", "line 1: drift must be at most 10,000, got 2,14"),
        ("drift = 11\nhorizon = 10", "", "line 2: horizon must be at least .* drift, 11, got 10"),
        (
            "drift = 11",
            "[sweep]\nhorizon = [12, 11, 10]",
            "line 9: sweep.horizon must be at least a round for each phase of drift, 11, got 10",
        ),
    ],
)
def test_phases_that_cannot_be_played_are_named(
    tmp_path: Path, head: str, sweep: str, message: str
) -> None:
    rest = '\nruns = 1\nseed = 1\n[instance]\ncatalog = "drifting"\n[learners.ghost]\n'
    with pytest.raises(ValueError, match=message):
        load(tmp_path, f"{head}{rest}\n{sweep}")
    assert load(tmp_path, f"drift = 10\nhorizon = 10{rest}").drift == 10


def test_a_tally_that_no_memory_holds_is_refused(tmp_path: Path) -> None:
    text = SPEC.replace("checkpoints = [\n    10,\n    100,\n]", "checkpoints = 100000")
    rule = r"checkpoints must be at most 26,214 with 2 learners and 2 switching costs, got 63,\d+"
    with pytest.raises(ValueError, match=f"line 7: {rule}"):
        load(tmp_path, text.replace("horizon = 100", "horizon = 1e9"))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_are_those_of_the_file(tmp_path: Path, ending: str) -> None:
    """Whatever ends them, and whatever comments and lists stand before."""
    text = SPEC.replace("runs = 3", "# of each learner,\nruns = 0").replace("\n", ending)
    (tmp_path / "test.toml").write_bytes(text.encode())
    with pytest.raises(ValueError, match=r"line 5: runs must be a whole number >= 1, got 0"):
        load_spec(tmp_path / "test.toml")
    long = SPEC.replace("    10,\n", "    10,\n" * 2000).replace("[0, 2]", "[0, -2]")
    with pytest.raises(ValueError, match="line 2010: switching_costs must be finite and >= 0"):
        load(tmp_path, long)


def test_a_seed_makes_an_instance_of_a_family(tmp_path: Path) -> None:
    spec = load(tmp_path, SPEC.replace("arms = 3", "arms = 3\nseed = 7"))
    assert spec.instance() == catalog.random_geometric(arms=3, seed=7)


def test_an_instance_may_come_from_a_file(tmp_path: Path) -> None:
    instance = Instance.blocking([0.9, 0.5], [1, 2])
    instance.save(tmp_path / "songs.toml")
    text = re.sub(r"catalog.*\narms = 3", 'file = "songs.toml"', SPEC)
    spec = load(tmp_path, text)
    assert spec.instance() == instance
    Instance.blocking([0.9, 0.6], [1, 2]).save(tmp_path / "songs.toml")
    assert load(tmp_path, text).digest() != spec.digest()


def test_a_sweep_changes_one_thing_at_a_time(tmp_path: Path) -> None:
    spec = load(tmp_path, SWEPT)
    assert spec.points == (2, 4)
    assert spec.at(4).first_instance().arms == 4
    horizons = SWEPT.replace("arms = [2, 4]", "horizon = [100, 1000]").replace(
        "horizon = 100\n", ""
    )
    assert [load(tmp_path, horizons).at(point).horizon for point in (100, 1000)] == [100, 1000]
    as_written = load(tmp_path, SWEPT.replace("arms = [2, 4]", "seed = [0, 1]"))
    assert repr(as_written.points) == "(0, 1)"  # and not 0.0, which is not a seed


def test_the_hash_is_of_what_decides_about_the_results(tmp_path: Path) -> None:
    digest = load(tmp_path, SPEC).digest()
    for old, new in [
        ("A test", "Another"),
        ('measure = "share"', 'measure = "regret"'),
    ]:
        assert load(tmp_path, SPEC.replace(old, new)).digest() == digest
    for old, new in [
        ("horizon = 100", "horizon = 101"),
        ("[0, 2]", "[0, 3]"),
        ("runs = 3", "runs = 4"),
        ("seed = 1", "seed = 2"),
        ('"none"', '"bernoulli"'),
        ("    10,", "    11,"),
        ("arms = 3", "arms = 4"),
        ("delta = 0.2", "delta = 0.3"),
        ("[learners.ghost]", "[learners.greedy]"),
    ]:
        assert load(tmp_path, SPEC.replace(old, new)).digest() != digest


def test_the_concentration_of_beta_rewards_is_part_of_the_hash(tmp_path: Path) -> None:
    def beta(line: str) -> Spec:
        return load(tmp_path, SPEC.replace('"none"', f'"beta"\n{line}'))

    assert beta("").digest() == beta("concentration = 10").digest()
    assert beta("").digest() != beta("concentration = 5").digest()
    assert beta("concentration = 5").study().concentration == 5


def test_a_spec_comes_back_from_its_values(tmp_path: Path) -> None:
    for text in (SPEC, SWEPT):
        spec = load(tmp_path, text)
        assert Spec.from_values(spec.values()) == spec


MISTAKES = [
    ("runs = 3", "rnus = 3", "runs must be given, got nothing"),
    ('title = "A test"', 'titel = "x"', "line 1: a key must be one of .*'titel'; did you mean 'ti"),
    ("runs = 3", 'runs = "3"', "line 4: runs must be a whole number >= 1, got '3'"),
    ("runs = 3", "runs = 0", "line 4: runs must be a whole number >= 1, got 0"),
    ("runs = 3", "runs = true", "line 4: runs must be a whole number >= 1, got True"),
    ("seed = 1", "seed = -1", "line 5: seed must be a whole number >= 0, got -1"),
    ("horizon = 100", "horizon = 1e99", "line 3: horizon must be at most 4,503"),
    ("horizon = 100", "horizon = 1.5", "line 3: horizon must be a whole number >= 1, got 1.5"),
    ('"none"', '"gauss"', "line 6: rewards must be one of bernoulli, none, .*, got 'gauss'"),
    (
        "seed = 1",
        "seed = 1\nconcentration = 5",
        "line 6: concentration must come with rewards = 'beta', got rewards = 'none'",
    ),
    (
        '"none"',
        '"beta"\nconcentration = 0',
        "line 7: concentration must be finite and above 0, got 0",
    ),
    ('"none"', "3", "line 6: rewards must be text, got 3"),
    ("    10,", "    1000,", "line 7: checkpoints must increase .* got .1000, 100"),
    ("    10,", "    'x',", "line 7: checkpoints must be whole numbers >= 0, got 'x'"),
    ("[0, 2]", "[0, -2]", "line 11: switching_costs must be finite and >= 0, got -2"),
    ("[0, 2]", "3", "line 11: switching_costs must be a list of numbers, got 3"),
    ('"random_geometric"', '"random"', "line 14: instance.catalog must be one of .*, got 'random'"),
    ("arms = 3", "arms = 0", "line 15: instance.arms must be a whole number >= 1, got 0"),
    (
        "arms = 3",
        "arm = 3",
        "line 15: a key of instance must be one of .*, got 'arm'; did you mean",
    ),
    ("[learners.ghost]", "[learners.ghots]", "line 21: learners.ghots.learner must be given"),
    ('"low-switch"', '"low"', "line 18: learners.low.learner must be one of .*, got 'low'"),
    ("delta = 0.2", "delta = 2", "line 19: learners.low.delta must lie strictly .*, got 2"),
    ("delta = 0.2", "detla = 2", "line 19: a key of learners.low must be .*'detla'; did you mean"),
    ("value = 5", "value = '5'", "line 26: published.0.value must be a finite number, got '5'"),
    ('learner = "low"', 'learner = "high"', "line 24: published.0.learner must be one of low, gh"),
    ('"share"', '"profit"', "line 29: figure.measure must be one of regret, share, got 'profit'"),
    ('measure = "share"', 'kind = "sweep"', "line 29: figure.kind must not be 'sweep' without"),
    ("[figure]", "[figure", "must be a TOML file: .*line 28"),
    ("[instance]", "[instances]", "instance must be given, got nothing"),
    ("[[published]]", "[published]", r"line 23: published must be tables headed \[\[published\]\]"),
    (
        "round = 100",
        "round = 99",
        "line 25: published.round must be one of the checkpoints, got",
    ),
    ("value = 5", "value = 5\nlow = 6", "line 27: published.low must be at most value, 5, got 6"),
    ("value = 5", "value = 5\nhigh = 4", "line 27: published.high must be at least value, 5, got"),
    ("value = 5", "value = 5\nswitching_cost = 1", "published.switching_cost must be one of swi"),
    ("[figure]", "[told]\nmax_delay = 0\n[figure]", "told.max_delay must be a whole number >= 1"),
    ("[figure]", "[told]\ndelay = 1\n[figure]", "line 29: a key of told must be one of max_delay"),
    ("runs = 3", "runs = 1e12", "line 4: runs must be at most 1,000,000,000, got 1,000,000,000,0"),
    ("runs = 3", f"runs = 0x{'f' * 4000}", r"line 4: runs must be at most 1,000,000,000, got ab"),
    ("A test", "A" * 10_001, "line 1: title must have at most 10,000 characters, got 10,001: 'A"),
    ("[0, 2]", f"{[*range(101)]}", "line 11: the number of switching_costs must be at most 100"),
    (
        "checkpoints = [\n    10,\n    100,\n]",
        "checkpoints = 1e6",
        "line 7: checkpoints must be at most 100,000, got 1,000,000",
    ),
    (
        "[figure]",
        "".join(f"[learners.ghost{number}]\nlearner = 'ghost'\n" for number in range(99))
        + "[figure]",
        "line 17: learners must be at most 100, got 101",
    ),
    (
        "low]",
        f"{'x' * 101}]",
        "must be a TOML file: a key must have at most 100 characters, got 101",
    ),
    (
        '"low-switch"\ndelta = 0.2',
        '"rotation"\nplanner = 5',
        "line 19: learners.low.planner must be one of auto, .*, got 5",
    ),
    (
        "[figure]",
        "[told]\nmax_delay = 1000000000000\n[figure]",
        "line 29: told.max_delay must be at most 67,108,863, got 1,000,000,000,000",
    ),
    (
        "[figure]",
        "[told]\nmax_delay = 67108863\n[figure]",
        "line 29: told.max_delay must be at most 22,369,620 with so many arms, got 67,108,863",
    ),
    ("delta = 0.2", "'' = 0.2", "line 19: a key of learners.low must be one of .*, got ''"),
    ("[0, 2]", "[2, 2]", "line 11: switching_costs must be different numbers"),
    ("[figure]", "[sweep]\nseed = [1]\n[figure]", "line 23: published must not be given beside a"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[row[1] for row in MISTAKES])
def test_mistakes_name_key_rule_value_and_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in SPEC
    with pytest.raises(ValueError, match=f"test.toml.*{message}"):
        load(tmp_path, SPEC.replace(old, new))


SWEEP_MISTAKES = [
    (
        "arms = [2, 4]",
        f"arms = {[*range(1, 1002)]}",
        "the number of values of sweep.arms must be at",
    ),
    ("arms = [2, 4]", "arms = [2, nan]", "sweep.arms must be a finite number, got nan"),
    ("arms = [2, 4]", "arm = [1]", "sweep must have one key out of horizon, arms, max_delay, seed"),
    ("arms = [2, 4]", "arms = [0]", "sweep.arms must be a whole number >= 1, got 0"),
    ("arms = [2, 4]", "arms = 3", "sweep.arms must be a list of numbers"),
    ("arms = [2, 4]", "arms = [2, 2]", r"sweep.arms must be different values, got \[2, 2\]"),
    ("arms = [2, 4]", "horizon = [5, 9]", "line 3: horizon must not be given beside sweep.horizon"),
]


@pytest.mark.parametrize(("old", "new", "message"), SWEEP_MISTAKES, ids=range(7))
def test_mistakes_in_a_sweep_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"test.toml, line \d+: .*{message}|{message}"):
        load(tmp_path, SWEPT.replace(old, new))


def test_a_wrong_file_of_an_instance_is_named(tmp_path: Path) -> None:
    text = re.sub(r"catalog.*\narms = 3", 'file = "none.toml"', SPEC)
    with pytest.raises(ValueError, match=r"line 14: instance.file must be a file of an instance"):
        load(tmp_path, text)


def test_the_order_of_learners_is_part_of_the_hash(tmp_path: Path) -> None:
    first, second = SPEC.index("[learners.low]"), SPEC.index("[learners.ghost]")
    end = SPEC.index("[[published]]")
    swapped = SPEC[:first] + SPEC[second:end] + SPEC[first:second] + SPEC[end:]
    assert load(tmp_path, swapped).digest() != load(tmp_path, SPEC).digest()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"FILE must be a spec, .*none\.toml, which is no file"):
        load_spec(tmp_path / "none.toml")


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_the_experiments_of_the_paper_load(path: Path) -> None:
    spec = load_spec(path)
    assert spec.title != spec.name
    assert spec.caption
    assert len(spec.caption.splitlines()) == 1
