"""Depth of TOML, which is bounded before it is parsed."""

import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow.errors import InputError
from fallow.toml import MAX_BYTES, MAX_DEPTH, parse_toml

LONG = 100_000
DEEP = f"lists and tables must be at most {MAX_DEPTH} within each other, got more"
PARTS = ("a", ".", "=", ",", "[", "]", "{", "}", "#", "'", '"', "'''", '"""', "\\", "\n", " ", "1")


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * LONG) + " = 1",
        "[" + " . ".join("a" * LONG) + "]",
        "[[" + ".".join("a" * LONG) + "]]",
        ".".join(['"a"', "'b.c'"] * LONG) + " = 1",
        "x = {" + ".".join("a" * LONG) + " = 1}",
        'x = """\\""" # """\n' + ".".join("a" * LONG) + " = 1",
        "x = " + "[" * LONG,
        "x = " + "{a = " * LONG,
        "x = '''\n" + ".'''\n" + ".".join("a" * LONG) + " = 1",
    ],
    ids=lambda text: text[:12],
)
def test_what_is_deep_is_refused_at_once(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(InputError, match=DEEP):
        parse_toml(text.encode())
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "text",
    [
        f"'{'.' * 90}' = 1",
        f'"{"[" * 90}" = 1',
        f"x = '{'[.' * LONG}'",
        f'x = "\\"{"[." * LONG}"',
        f"x = '''\n'{'[.' * LONG}\n'' '''''",
        f'x = """\n\\"""{"[." * LONG}\n"" """""',
        "x = [\n" + '  """a"""", [0.5], # [[[\n' * LONG + "]",
        "x = [\n" + "  '''a'''', [0.5], # [[[\n" * LONG + "]",
        f"# {'[.' * LONG}\nx = 1",
        "x = [" + "0.5, " * LONG + "]",
        "a.b.c.d = 0.5\n" + "[[e.f]]\n" * LONG,
        ".".join("a" * (MAX_DEPTH - 1)) + " = 0.5",
    ],
    ids=lambda text: text[:12],
)
def test_dots_and_brackets_that_mean_no_depth_are_read(text: str) -> None:
    assert parse_toml(text.encode())[1] == tomllib.loads(text)


@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
def test_nothing_else_is_refused(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        expected = {}
    try:
        assert parse_toml(text.encode())[1] == expected
    except InputError:
        assert expected == {}


@pytest.mark.parametrize("text", ['"""\\', '"""\\"""', "'''''", '"\\', "\\'''"])
def test_strings_that_never_end_are_looked_at_once(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(InputError, match="must be TOML"):
        parse_toml(b"x = " + text.encode() * LONG)
    assert time.process_time() - begun < 1


def test_a_file_may_not_be_too_large() -> None:
    with pytest.raises(ValueError, match="its size in bytes must be at most"):
        parse_toml(b"#" * (MAX_BYTES + 1))
