"""Commands that read an instance from standard input."""

from pathlib import Path

import pytest
from helpers import runner

from fallow import Instance
from fallow.cli import app

SONGS = Instance.blocking([0.9, 0.5], [1, 1], names=["hymn", "waltz"])


@pytest.mark.parametrize("words", [("plan", "-", "--json"), ("advise", "-", "--json")])
def test_commands_read_an_instance_from_standard_input(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    SONGS.save(tmp_path / "songs.toml")
    result = runner.invoke(app, words, input=SONGS.to_toml())
    assert result.exit_code == 0, result.output
    from_file = runner.invoke(app, [words[0], str(tmp_path / "songs.toml"), *words[2:]])
    assert result.stdout == from_file.stdout


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (("plan", "-"), "", "standard input must be an instance as TOML, got nothing"),
        (("plan", "-"), " \n", "standard input must be an instance as TOML, got nothing"),
        (
            ("advise", "-"),
            "no",
            "standard input must be an instance as TOML: text must be TOML: Expected '='",
        ),
        (("plan", "-"), "means = 3", "standard input must be an instance as TOML: means must"),
        (
            ("plan", "-"),
            '\n{"plan": 1}',
            "standard input must be an instance as TOML, got JSON; leave",
        ),
        (("plan", "-", "seed=1"), "", "parameters must follow a catalog name, got 'seed=1'"),
        (
            ("plan", "-", "--rounds", "3", "--since", "-"),
            SONGS.to_toml(),
            "--since must be a file where INSTANCE is -, got - for both",
        ),
    ],
)
def test_wrong_standard_input_ends_in_one_line(
    words: tuple[str, ...], text: str, message: str
) -> None:
    result = runner.invoke(app, words, input=text)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"fallow: {message}")
    assert result.stderr.count("\n") == 1
