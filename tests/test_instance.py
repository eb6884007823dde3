"""The model: means against the oracle, TOML round trips, and every error."""

import copy
import pickle
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, shares

from fallow import Instance, Rules, decay


@given(st.data())
def test_means_follow_equation_1(data: st.DataObject) -> None:
    arms = data.draw(st.integers(1, 5))
    baselines = data.draw(st.lists(shares, min_size=arms, max_size=arms))
    delays = data.draw(st.lists(st.integers(1, 6), min_size=arms, max_size=arms))
    f = sorted(data.draw(st.lists(shares, min_size=6, max_size=6)), reverse=True)
    instance = Instance.b2dep(baselines, delays, f)
    assert instance.means.shape == (arms, max(delays) + 1)
    np.testing.assert_allclose(
        instance.means, reference.mean_table(baselines, delays, [*f, 0.0]), rtol=0, atol=1e-15
    )


@given(st.data())
def test_arms_with_decays_of_their_own_are_those_built_alone(data: st.DataObject) -> None:
    """Bit for bit, whether a decay is a function or values up to the arm's own delay."""
    arms = data.draw(st.integers(1, 5))
    baselines = data.draw(st.lists(shares, min_size=arms, max_size=arms))
    delays = data.draw(st.lists(st.integers(1, 6), min_size=arms, max_size=arms))
    families = st.builds(decay.geometric, shares) | st.builds(decay.power, st.floats(0, 5))
    own = []
    for delay in delays:
        values = st.lists(shares, min_size=delay, max_size=8)
        own.append(data.draw(families | values.map(lambda each: sorted(each, reverse=True))))
    instance = Instance.b2dep(baselines, delays, own)
    for arm, delay in enumerate(delays):
        alone = Instance.b2dep([baselines[arm]], [delay], own[arm]).means[0]
        assert instance.means[arm, :delay].tolist() == alone[:-1].tolist()
        assert set(instance.means[arm, delay:].tolist()) == {alone[-1]}


def test_one_list_of_numbers_is_one_decay_for_all_arms() -> None:
    """As many numbers as arms are still f(1), f(2), not one number for each."""
    together = Instance.b2dep([1, 1], [2, 2], [0.5, 0.25])
    assert together.means.tolist() == [[0.5, 0.75, 1.0]] * 2
    apart = Instance.b2dep([1, 1], [2, 2], [[0.5, 0.25], [0.4, 0.0]])
    assert apart.means.tolist() == [[0.5, 0.75, 1.0], [0.6, 1.0, 1.0]]


def test_the_callers_order_is_kept_and_order_sorts() -> None:
    instance = Instance.blocking([0.2, 0.9, 0.5, 0.9], delays=[1, 1, 1, 1])
    assert instance.baselines.tolist() == [0.2, 0.9, 0.5, 0.9]
    assert instance.order.tolist() == [1, 3, 2, 0]


def test_delays_are_the_last_at_which_the_mean_differs_from_rested() -> None:
    table = [[0.5, 0.5, 0.5], [0.1, 0.5, 0.5], [0.5, 0.4, 0.5], [0.9, 0.4, 0.5]]
    assert Instance(table).delays.tolist() == [0, 1, 2, 2]


def test_a_plain_function_is_a_decay() -> None:
    instance = Instance.b2dep([1], [3], lambda delays: 1 / (1 + delays))
    np.testing.assert_allclose(instance.means, [[1 / 2, 2 / 3, 3 / 4, 1]])


def test_an_instance_cannot_be_changed() -> None:
    source = np.array([[0.5, 1.0]])
    instance = Instance(source)
    source[0, 0] = 0.1
    assert instance.means[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        instance.means[0, 0] = 0.1
    unchecked: Any = instance
    with pytest.raises(AttributeError):
        unchecked.names = ("a",)
    ruled = instance.with_rules(Rules(exclude=[]))
    assert ruled.means is instance.means  # so it may be shared, however large
    assert ruled == instance


@given(instances)
def test_copies_are_equal_and_frozen(instance: Instance) -> None:
    for twin in (pickle.loads(pickle.dumps(instance)), copy.deepcopy(instance)):
        assert twin == instance
        assert hash(twin) == hash(instance)
        assert not twin.means.flags.writeable


def test_instances_differ_by_means_and_by_names() -> None:
    instance = Instance([[0.5, 1.0]], names=["a"])
    assert instance != Instance([[0.5, 0.9]], names=["a"])
    assert instance != Instance([[0.5, 1.0]], names=["b"])
    assert instance != "a"


@given(instances, st.data())
def test_toml_round_trip_is_exact(
    tmp_path_factory: pytest.TempPathFactory, instance: Instance, data: st.DataObject
) -> None:
    count = instance.arms
    names = data.draw(st.lists(st.text(), min_size=count, max_size=count, unique=True))
    named = Instance(instance.means, names)
    path = tmp_path_factory.mktemp("toml") / "instance.toml"
    named.save(path)
    loaded = Instance.load(path)
    assert loaded.names == tuple(names)
    assert loaded.means.tobytes() == named.means.tobytes()


def test_a_file_that_cannot_be_encoded_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = Instance.blocking([1], [1])
    path = tmp_path / "instance.toml"
    instance.save(path)
    monkeypatch.setattr(Instance, "to_toml", Mock(return_value="\ud800"))
    with pytest.raises(UnicodeEncodeError):
        instance.save(path)
    assert Instance.load(path) == instance


@pytest.mark.parametrize(
    ("decay_line", "family"),
    [
        ("{geometric = 0.5}", decay.geometric(0.5)),
        ("{constant = 1}", decay.constant(1)),
        ("{power = 2}", decay.power(2)),
        ("[0.5, 0.25]", decay.table([0.5, 0.25])),
    ],
)
def test_a_file_may_hold_the_papers_parameters(
    tmp_path: Path, decay_line: str, family: decay.Decay
) -> None:
    path = tmp_path / "songs.toml"
    path.write_text(
        f'baselines = [1, 0.5]\ndelays = [2, 1]\ndecay = {decay_line}\nnames = ["hymn", "waltz"]\n'
    )
    assert Instance.load(path) == Instance.b2dep([1, 0.5], [2, 1], family, ["hymn", "waltz"])


def test_a_file_may_hold_a_decay_for_each_arm(tmp_path: Path) -> None:
    path = tmp_path / "songs.toml"
    own = "[{geometric = 0.5}, {constant = 0.3}, [0.5, 0.2]]"
    path.write_text(f"baselines = [1, 0.5, 0.8]\ndelays = [2, 1, 2]\ndecay = {own}\n")
    expected = [[0.5, 0.75, 1.0], [0.35, 0.5, 0.5], [0.4, 0.64, 0.8]]
    np.testing.assert_allclose(Instance.load(path).means, expected, rtol=0, atol=1e-15)


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], [0.5]), r"baselines must be a list of numbers, at least one, got \[\]"),
        (
            ([[1], [1]], [1, 1], [0.5]),
            r"baselines must be a list of numbers, .* got \[\[1\], \[1\]",
        ),
        ((["a"], [1], [0.5]), r"baselines must be a list of numbers, at least one, got \['a'\]"),
        ((1, [1], [0.5]), "baselines must be a list of numbers, at least one, got 1"),
        (([0.5, NAN], [1, 1], [0.5]), r"baselines must lie in \[0, 1\], got nan for arm 1"),
        (([INFINITY], [1], [0.5]), r"baselines must lie in \[0, 1\], got inf for arm 0"),
        (([1.2], [1], [0.5]), r"baselines must lie in \[0, 1\], got 1.2 for arm 0"),
        (([-0.1], [1], [0.5]), r"baselines must lie in \[0, 1\], got -0.1 for arm 0"),
        (([1, 1], [1], [0.5]), "delays must be one for each arm, got 1 for 2 baselines"),
        (([1], [], [0.5]), "delays must hold at least one number, got none"),
        (([1, 1], [1, 0], [0.5]), "delays must be whole numbers >= 1, got 0 at position 1"),
        (([1], [1.5], [0.5]), "delays must be whole numbers >= 1, got 1.5 at position 0"),
        (([1], [NAN], [0.5]), "delays must be whole numbers >= 1, got nan at position 0"),
        (([1], [INFINITY], [0.5]), "delays must be whole numbers >= 1, got inf at position 0"),
        (([1], ["2"], [0.5]), "delays must be whole numbers >= 1, got '2' at position 0"),
        (([1], [True], [0.5]), "delays must be whole numbers >= 1, got True at position 0"),
        (([1], 2, [0.5]), "delays must be a list of whole numbers, got 2"),
        (([1], [3], [0.5, 0.4]), "decay must have a value .* the longest, 3, got 2 values"),
        (([1], [2], [0.5, 0.6]), r"decay must never increase, got f\(1\) = 0.5 and f\(2\) = 0.6"),
        (([1], [2], [0.5, -0.1]), r"decay must lie in \[0, 1\], got -0.1 at delay 2"),
        (([1], [1], [NAN]), r"decay must lie in \[0, 1\], got nan at delay 1"),
        (([1], [1], []), r"decay must be a list of numbers, at least one, got \[\]"),
        (([1], [3], lambda delays: delays[:1] * 0.0), "one value a delay, got 1 for 3"),
        (
            ([1, 1], [1, 10**9], [0.5]),
            "delays must be at most 67,108,864, got 1,000,000,000 at position 1",
        ),
        (
            ([1], [10**30], decay.constant(1)),
            r"delays must be at most 67,108,864, got about 1e\+30",
        ),
        (
            ([1, 1], [1, 1], [decay.constant(1)]),
            "decay must be one for all arms or one for each, got 1 for 2 arms",
        ),
        (
            ([1, 1], [1, 3], [decay.constant(1), [0.5, 0.4]]),
            "arm 1: decay must have a value .* the longest, 3, got 2 values",
        ),
        (
            ([1, 1], [2, 2], [[0.5, 0.4], [0.5, 0.6]]),
            r"arm 1: decay must never increase, got f\(1\) = 0.5",
        ),
        (
            ([1, 1], [1, 1], [[2.0], [0.5]]),
            r"arm 0: decay must lie in \[0, 1\], got 2.0 at delay 1",
        ),
        (
            ([1, 1], [1, 1], [decay.constant(1), 0.3]),
            "arm 1: decay must be a list of numbers, at least one, got 0.3",
        ),
        (([1], [1], decay.geometric), "rate must be a number in"),
        (([1], [1], [0.5], "a"), "names must be a list of strings, got 'a'"),
        (([1], [1], [0.5], ["a", "b"]), "names must be one for each arm, got more for 1 arms"),
        (([1, 1], [1, 1], [0.5], ["a", "a"]), "names must differ, got 'a' twice"),
        (([1], [1], [0.5], [3]), "names must be strings, got 3 for arm 0"),
        (
            ([1, 1], [1, 1], [0.5], ["a", "b\ud800"]),
            r"names must have no lone surrogates, got 'b\\ud800' for arm 1",
        ),
    ],
)
def test_bad_parameters_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Instance.b2dep(*arguments)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], r"means must be a list of equally long rows of numbers, at least one, got \[\]"),
        ([[], []], r"means must be a list of equally long rows .* got \[\[\], \[\]\]"),
        ([0.5, 1], r"means must be a list of equally long rows .* got 0.5 for arm 0"),
        ([[0.5], [0.5, 1]], "means must be .* got \\[0.5, 1\\] for arm 1"),
        ([[0.5, 1], [0.5, 1.5]], r"means must lie in \[0, 1\], got 1.5 for arm 1 at delay 2"),
        ([[0.5, NAN]], r"means must lie in \[0, 1\], got nan for arm 0 at delay 2"),
        ([[0.5, 1], [0.5, True]], r"means must be .* got \[0.5, True\] for arm 1"),
        ([[None]], r"means must be a list of equally long rows of numbers"),
        ([[1j]], r"means must be a list of equally long rows of numbers"),
        (
            np.broadcast_to(0.5, (2**13 + 1, 2**13)),
            r"at most 67,108,864 values, got 67,117,056 \(8,193 arms",
        ),
        (np.broadcast_to(0.5, (2**20 + 1, 2)), "arms must be at most 1,048,576, got 1,048,577"),
        (np.ma.masked_array([[0.5]], [[True]]), r"means must be a list .* got masked_array\("),
    ],
)
def test_bad_tables_are_named(table: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Instance(table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("means = [[1.0]", "must be a TOML file"),
        ("mean = [[1.0]]", "a key must be one of .* got 'mean'; did you mean 'means'?"),
        ("baselines = [1]\ndelay = [1]", "got 'delay'; did you mean 'delays'?"),
        ("means = [[1.0]]\ndelays = [1]", "a key beside means must be one of names, means"),
        ("baselines = [1]\ndelays = [1]", "decay must be given, or a table of means instead"),
        ("", "baselines must be given"),
        ("means = [[1.0, 2.0]]", r"means must lie in \[0, 1\], got 2.0 for arm 0 at delay 2"),
        ("means = 'x'", "means must be a list of equally long rows"),
        ("means = [[1979-05-27]]", "means must be a list of equally long rows"),
        ("baselines = [1]\ndelays = [1]\ndecay = 0.5", "decay must be a list of numbers or one of"),
        ("baselines = [1]\ndelays = [1]\ndecay = {geometrc = 1}", "did you mean 'geometric'?"),
        (
            "baselines = [1]\ndelays = [1]\ndecay = {geometric = 'x'}",
            "decay.geometric must be a number, got 'x'",
        ),
        (
            "baselines = [1, 1]\ndelays = [1, 1]\ndecay = [{constant = 1}, {geometrc = 1}]",
            "arm 1: decay must be one of .* did you mean 'geometric'?",
        ),
        (
            "baselines = [1, 1]\ndelays = [1, 1]\ndecay = [{constant = 1}, 0.3]",
            "arm 1: decay must be a list of numbers or one of .* got 0.3",
        ),
        (
            "baselines = [1, 1]\ndelays = [1, 2]\ndecay = [{constant = 1}, [0.3]]",
            "arm 1: decay must have a value for each delay up to the longest, 2, got 1 values",
        ),
        ("baselines = [1]\ndelays = [1]\ndecay = {power = -1}", "exponent must be finite and >= 0"),
        (f"means = [[{'9' * 5000}]]", "a whole number must have at most 4,300 digits, got more"),
        (f"means = [[0x{'f' * 4000}]]", "means must be a list of .* got a list too long to print"),
        (f"means = {'[' * 3000}", "lists and tables must be at most 50 within each other"),
        (f"means = {'[' * 51}{']' * 51}", "lists and tables must be at most 50 within each other"),
        (f"{'.'.join('a' * 2000)} = 1", "lists and tables must be at most 50 within each other"),
        (f"{'a' * 101} = 1", "a key must have at most 100 characters, got 101: 'aaa"),
        ("means = [[1]]\n\0", "must be a TOML file: Invalid statement"),
        ("means = [[1]]\nnames = {a = 1}", "names must be a list of strings, got {'a': 1}"),
        (
            f"means = [[1]]\nnames = ['{'a' * 101}']",
            "names must have at most 100 characters, got 1",
        ),
        (
            f"baselines = [1]\ndelays = [{10**18}]\ndecay = [1]",
            r"delays must be at most 67,108,864, got about 1e\+18 at position 0",
        ),
    ],
)
def test_bad_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as raised:
        Instance.load(path)
    assert "bad.toml" in str(raised.value)
    assert len(str(raised.value)) < 400


def test_what_is_no_text_is_no_instance(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"names = ['\xff']")
    with pytest.raises(ValueError, match=r"bad\.toml must be a TOML file: .* decode byte 0xff"):
        Instance.load(path)
    with pytest.raises(ValueError, match="must be a TOML file: embedded null byte"):
        Instance.load("a\0b")
    with pytest.raises(OSError, match="Is a directory"):
        Instance.load(tmp_path)


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(ValueError, match="its size in bytes must be at most 67,108,864"):
        Instance.load("/dev/zero")


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="must be a TOML file"):
        Instance.load(path)


def test_what_could_not_be_read_back_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = Instance([[0.25, 0.5]])
    size = len(instance.to_toml())
    monkeypatch.setattr("fallow.instance.MAX_BYTES", size)
    instance.save(tmp_path / "small.toml")
    monkeypatch.setattr("fallow.instance.MAX_BYTES", size - 1)
    with pytest.raises(ValueError, match=f"as TOML, in bytes, must be at most {size - 1}, got"):
        instance.save(tmp_path / "large.toml")
    assert not (tmp_path / "large.toml").exists()
