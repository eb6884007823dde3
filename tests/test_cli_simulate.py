"""`fallow simulate`, run as a user would run it."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest
from helpers import run_command as run
from helpers import runner

from fallow import Instance, LowSwitch, catalog, simulate
from fallow.cli import app
from fallow.learners.registry import LEARNERS
from fallow.planners import ghost

FAST = ("--runs", "3", "--horizon", "300")


def test_every_learner_can_be_named() -> None:
    options = [word for name in LEARNERS for word in ("--learner", name)]
    rows = json.loads(run("simulate", "figure2", "seed=1", *options, *FAST, "--json"))
    assert [row["learner"] for row in rows] == list(LEARNERS)
    shares = {row["learner"]: row["share_of_optimum"] for row in rows}
    assert shares["plan"] == pytest.approx(1, abs=0.02)
    assert all(0 < share < 1.02 for share in shares.values())


def test_the_table_names_learners_and_intervals() -> None:
    output = run("simulate", "figure3", *FAST, "--switching-cost", "2")
    assert "3 runs of 300 rounds, switching cost 2" in output
    assert re.search(r"^low-switch +-?[\d.]+ ± [\d.]+ +[\d.]+ ± [\d.]+ ", output, re.MULTILINE)


def test_numbers_are_those_of_the_library() -> None:
    arguments = ("simulate", "figure3", "--learner", "low-switch", "--rewards", "none")
    (row,) = json.loads(run(*arguments, *FAST, "--json", "--switching-cost", "1"))
    instance = catalog.figure3()
    expected = simulate(instance, LowSwitch(instance.order, 300), 300, seed=0, rewards="none")
    assert row["regret"] == pytest.approx(float(expected.regret(ghost(instance), 300, 1.0)))
    assert row["switches"] == expected.switches(300)


def test_files_are_written_whole_and_are_the_same_for_any_workers(tmp_path: Path) -> None:
    for workers in ("1", "3"):
        folder = tmp_path / workers
        output = run("simulate", "figure2", *FAST, "--workers", workers, "--out", str(folder))
        assert "rows.parquet, summary.json, regret.png, regret.svg written to" in output
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert names == ["regret.png", "regret.svg", "rows.parquet", "summary.json"]
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes()
    rows = polars.read_parquet(tmp_path / "1" / "rows.parquet")
    assert set(rows["learner"]) == {"low-switch", "ranking-ucb"}
    assert set(rows["run"]) == {0, 1, 2}
    assert (tmp_path / "1" / "regret.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "1" / "regret.svg").read_bytes().endswith(b"</svg>\n")


def test_a_single_run_has_no_interval() -> None:
    text = run("simulate", "figure3", "--runs", "1", "--horizon", "100", "--json")
    rows = json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    assert rows[0]["regret_half_width"] is None


def test_a_family_draws_new_instances_and_a_seed_fixes_one() -> None:
    def spread(*parameters: str) -> float:
        arguments = ("simulate", "figure2", *parameters, "--learner", "ghost", *FAST, "--json")
        (row,) = json.loads(run(*arguments))
        return float(row["share_of_optimum_half_width"])

    assert spread() > 0.01
    assert spread("seed=4") < 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--learner", "low-swich"), "--learner must be one of .* did you mean 'low-switch'?"),
        (("--horizon", "many"), "--horizon must be a whole number >= 1 such as 1e6, got 'many'"),
        (("--horizon", "1.5"), "--horizon must be a whole number >= 1 such as 1e6, got '1.5'"),
        (("--horizon", "1e400"), "--horizon must be a whole number >= 1 such as 1e6"),
        (("--horizon", "1e16"), "horizon must be at most 4,503,599,627,370,496"),
        (("--runs", "0"), "runs must be a whole number >= 1, got 0"),
        (("--seed", "-1"), "seed must be a whole number >= 0, got -1"),
        (("--workers", "0"), "workers must be a whole number >= 1, got 0"),
        (("--switching-cost", "nan"), "--switching-cost must be finite and >= 0, got nan"),
        (("--switching-cost", "-3"), "--switching-cost must be finite and >= 0, got -3"),
        (
            ("--concentration", "5"),
            "--concentration must come with --rewards beta, got --rewards bernoulli",
        ),
        (
            ("--rewards", "beta", "--concentration", "0"),
            "--concentration must be finite and above 0, got 0",
        ),
        (
            ("--rewards", "gauss"),
            "--rewards must be one of bernoulli, none, .* or a function .*, got 'gauss'",
        ),
    ],
)
def test_mistakes_end_in_one_line(options: tuple[str, ...], message: str) -> None:
    result = runner.invoke(app, ["simulate", "figure3", *options])
    assert result.exit_code == 2
    assert re.search(message, result.stderr)
    assert result.stderr.strip().count("\n") == 0


def test_without_an_extra_nothing_is_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fallow.extras.find_spec", lambda _: None)
    result = runner.invoke(app, ["simulate", "figure3", "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert result.stderr == 'fallow: --out needs polars: pip install "fallow[data]"\n'


@pytest.mark.slow
def test_ctrl_c_leaves_no_half_written_file_and_says_so(tmp_path: Path) -> None:
    """Even while a single run would take minutes."""
    command = [sys.executable, "-m", "fallow", "simulate", "figure2", "--runs", "100"]
    options = ["--horizon", "1e11", "--learner", "ranking-ucb", "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert re.search(r"interrupted after \d+ of 100 runs, nothing was written", errors)
    assert list((tmp_path / "out").iterdir()) == []


def test_worthless_arms_give_numbers(tmp_path: Path) -> None:
    """Nothing of nothing is all of it; JSON has no NaN."""
    path = tmp_path / "worthless.toml"
    Instance([[0.0, 0.0], [0.0, 0.0]]).save(path)
    (row, _) = json.loads(run("simulate", str(path), "--runs", "2", "--horizon", "50", "--json"))
    assert row["share_of_optimum"] == 1.0
