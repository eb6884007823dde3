"""The command line, run as a user would run it."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from unicodedata import category

import pytest
from helpers import run_command as run
from helpers import runner

import fallow
from fallow import Instance
from fallow.cli import app
from fallow.cli.plan import METHODS
from fallow.drawing.colours import COLOURS


def test_plan_compares_every_planner() -> None:
    output = run("plan", "figure2", "seed=3")
    for method in METHODS:
        assert f"\n{method} " in output
    assert "100.00%" in output
    assert "7 arms, delays up to 6, " in output


def test_json_says_the_same_as_the_library() -> None:
    document = json.loads(run("plan", "figure2", "seed=3", "--json"))
    instance = fallow.catalog.figure2(seed=3)
    best = fallow.optimal(instance)
    assert document["arms"] == 7
    assert document["upper_bound"] == best.upper_bound
    assert [row["planner"] for row in document["plans"]] == list(METHODS)
    for row in document["plans"]:
        assert row["gain"] == fallow.gain(instance, row["cycle"])
        assert row["share_of_optimum"] == row["gain"] / best.gain
        assert row["gain"] == pytest.approx(row["share_of_upper_bound"] * document["upper_bound"])
        assert row["names"] == [instance.names[arm] for arm in row["cycle"]]


def test_effort_tightens_the_bound() -> None:
    words = ("plan", "random_table", "arms=12", "max_delay=12", "--max-states", "0", "--json")
    instance = fallow.catalog.random_table(arms=12, max_delay=12)
    for effort in (0, 3000):
        document = json.loads(run(*words, "--effort", str(effort)))
        assert document["upper_bound"] == fallow.upper_bound(instance, effort)


def test_names_and_pictures_show_a_file(tmp_path: Path) -> None:
    path = tmp_path / "songs.toml"
    Instance.blocking([1, 0.5], [1, 1], names=["hymn", "[red]waltz"]).save(path)
    output = run("plan", str(path), "--method", "ghost")
    assert "hymn [red]waltz" in output
    assert "ghost     010101" in output
    assert "0\N{NO-BREAK SPACE}hymn\N{NO-BREAK SPACE} 1\N{NO-BREAK SPACE}[red]waltz" in output


def test_one_method_alone() -> None:
    output = run("plan", "greedy_trap", "epsilon=1/4", "--method", "greedy")
    assert re.search(r"^greedy +0.500000", output, flags=re.MULTILINE)
    assert "whittle" not in output


def test_an_optimum_out_of_reach_is_left_out_with_a_word() -> None:
    output = run("plan", "figure2", "--max-states", "10")
    assert "the optimum needs --max-states 523 (now 10)" in output
    assert "\noptimal  " not in output


def test_a_table_beyond_memory_leaves_the_optimum_out() -> None:
    output = run("plan", "random_geometric", "arms=30000", "max_delay=1")
    assert "30,000 delay vectors" in output
    assert "the optimum is out of reach" in output
    assert "\noptimal  " not in output


def test_the_version_is_the_packages() -> None:
    assert run("--version") == f"fallow {version('fallow')}\n"


def test_catalog_lists_every_entry() -> None:
    output = run("catalog")
    for name in fallow.catalog.ENTRIES:
        assert f"{name} " in output or f"{name}\n" in output
    assert "figure3 epsilon=0\n" in output
    assert "intervals=2,4,4" in output


def test_catalog_writes_what_plan_reads(tmp_path: Path) -> None:
    path = tmp_path / "machines.toml"
    run("catalog", "maintenance", "intervals=2,6,6", "--output", str(path))
    assert Instance.load(path) == fallow.catalog.maintenance((2, 6, 6))
    assert run("catalog", "maintenance", "intervals=2,6,6") == path.read_text()
    assert "machine 1, machine" in run("plan", str(path))


def test_a_name_of_the_catalog_wins_over_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("figure3").write_text("nonsense")
    assert "2 arms" in run("plan", "figure3", "--method", "ghost")


def test_huge_instances_are_described_by_magnitude() -> None:
    output = run("plan", "random_table", "arms=100", "max_delay=60", "--method", "ghost")
    assert re.search(r"about \de\+\d+ delay vectors", output)
    assert "the optimum is out of reach" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", "figur2"), "a catalog name, got 'figur2'; did you mean 'figure2'?"),
        (("plan", "missing.toml"), "must be a TOML file or a catalog name, got 'missing.toml'"),
        (("plan", "."), "Is a directory"),
        (("plan", "figure2", "seed=1", "seed=2"), "must be given once, got seed twice"),
        (("plan", "figure3", "epsilon=1e400"), "epsilon must be a finite number, got inf"),
        (("plan", "random_table", "arms=1000000000000"), "arms must be at most 1,048,576, got"),
        (("plan", "random_table", "max_delay=1000000000000"), "must be at most 67,108,864, got"),
        (("plan", "maintenance", "intervals=1000000000"), "at most 67,108,864 values"),
        (
            ("plan", "random_table", "arms=20", "max_delay=20", "--method", "optimal"),
            "delay vectors that take at most 4,294,967,296 bytes, got 966,777",
        ),
        (("catalog", "--output", "new.toml"), "--output must follow the name of an instance"),
        (("plan", "bad.toml"), "bad.toml must be a TOML file"),
        (("plan", "wrong.toml"), "wrong.toml: a key must be one of"),
        (("plan", "good.toml", "seed=1"), "parameters must follow a catalog name, got 'seed=1'"),
        (("plan", "figure2", "seed"), "a parameter must be KEY=VALUE, got 'seed'"),
        (("plan", "figure2", "seed=x"), "seed must be a whole number, got 'x'"),
        (("plan", "figure2", "sed=1"), "a parameter of figure2 must be one of seed, got 'sed'"),
        (("plan", "figure3", "epsilon=1/0"), "epsilon must be a number, got '1/0'"),
        (("plan", "figure3", "epsilon=2"), "baselines must lie in [0, 1], got 2.866"),
        (("plan", "maintenance", "intervals=2,x"), "intervals must be numbers such as 2,4"),
        (("plan", "figure2", "sed=x"), "a parameter of figure2 must be one of seed, got 'sed'"),
        (("plan", "figure2", "--method", "gredy"), "--method must be one of"),
        (("plan", "figure2", "--max-states", "-1"), "--max-states must be a whole number >= 0"),
        (("plan", "figure2", "--effort", "-1"), "--effort must be a whole number >= 0"),
        (
            ("plan", "figure2", "--method", "optimal", "--max-states", "10"),
            "max_states must be at least 523",
        ),
        (("catalog", "nothing"), "NAME must be one of figure2, "),
        (("catalog", "figure2", "--output", "good.toml"), "must be a new file, got good.toml"),
        (("catalog", "figure2", "--output", "none/x.toml"), "No such file"),
    ],
)
def test_mistakes_end_in_one_line_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text("means = [")
    Path("wrong.toml").write_text("mean = []")
    Instance.blocking([1], [1]).save("good.toml")
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fallow: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_pipe_gets_no_colour_and_a_terminal_does() -> None:
    command = [sys.executable, "-m", "fallow", "plan", "figure3", "--method", "ghost"]
    piped = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "\x1b" not in piped.stdout
    forced = subprocess.run(
        command, check=True, capture_output=True, text=True, env={"FORCE_COLOR": "1"}
    )
    assert "\x1b[" in forced.stdout


def test_arms_have_colours_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    output = run("plan", "figure2", "seed=3", "--method", "optimal")
    colours = dict(re.findall(r"\x1b\[38;2;[\d;]+;48;2;(\d+;\d+;\d+)m(\d)", output))
    assert sorted(colours.values()) == ["0", "1", "2", "3"]
    for colour, arm in colours.items():
        assert COLOURS[int(arm)] == "#" + "".join(f"{int(part):02x}" for part in colour.split(";"))


HOSTILE = "\x1b[31mred\x07\r\x00\x9b\u202e"
SHOWN = r"\x1b[31mred\x07\r\x00\x9b\u202e"


def hidden(text: str) -> set[str]:
    """Return characters that a terminal obeys, other than the end of a line."""
    return {each for each in text if category(each) in ("Cc", "Cf")} - {"\n"}


def test_control_characters_in_names_are_shown_not_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "songs.toml"
    Instance.blocking([1, 0.5], [1, 1], names=["hymn", HOSTILE]).save(path)
    output = run("plan", str(path), "--method", "ghost")
    assert output.count(SHOWN) == 2  # in the cycle and in the legend
    assert not hidden(output)
    assert HOSTILE in json.loads(run("plan", str(path), "--json"))["plans"][0]["names"]


def test_control_characters_in_errors_are_shown_not_obeyed() -> None:
    result = runner.invoke(app, ("plan", f"figure2{HOSTILE}\nfallow: all is well"))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert not hidden(result.stderr)


@pytest.mark.slow
def test_any_locale_prints_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "songs.toml"
    Instance.blocking([1, 0.5], [1, 1], names=["Zoë", "葉"]).save(path)
    command = [sys.executable, "-m", "fallow", "plan"]
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, **plain, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(
        [*command, str(path), "--method", "ghost"], capture_output=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert b"Zo?" in result.stdout
    assert b"ghost     0101" in result.stdout
    result = subprocess.run([*command, "Zoë"], capture_output=True, env=environment)
    assert result.returncode == 2
    assert rb"got 'Zo\udcc3\udcab'" in result.stderr
