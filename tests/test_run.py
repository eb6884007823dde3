"""From specs to rows, curves and figures."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest
from helpers import (
    command,
    contents,
    runner,
    write_spec,
)

from fallow import catalog, replicate
from fallow.cli import app
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.summarize import QUANTILES, summarize, summary_frame
from fallow.studies.workers import local_workers


def test_rows_are_those_of_replicate(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path))
    run(spec, tmp_path / "out", rows=True)
    _, (study,) = read_results(tmp_path / "out")
    alone = replicate(catalog.figure2, spec.factories(), 2000, runs=23, seed=1)
    for learner in spec.learners:
        np.testing.assert_array_equal(study.regret(learner), alone.regret(learner))
    np.testing.assert_array_equal(study.ranking_rounds, alone.ranking_rounds)


@pytest.mark.slow
def test_rows_do_not_depend_on_workers_or_processor(tmp_path: Path) -> None:
    """Another process on plainer instructions, as on another machine, writes the same bytes."""
    file = write_spec(tmp_path)
    with local_workers(2) as workers:
        run(load_spec(file), tmp_path / "here" / "test", workers, rows=True)
    words = ["run", file, "--workers", 1, "--rows", "--out", tmp_path / "there"]
    features = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
    plain = {
        **os.environ,
        "NPY_DISABLE_CPU_FEATURES": features,
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    subprocess.run(command(*words), check=True, env=plain)
    assert contents(tmp_path / "here" / "test") == contents(tmp_path / "there" / "test") != {}


def test_curves_are_means_over_runs(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=300, runs=4))
    spec = replace(spec, sweep=("horizon", (100, 300)))
    run(spec, tmp_path, rows=True)
    _, curves = summarize(tmp_path)
    assert [(curve.point, curve.switching_cost, curve.learner) for curve in curves[:3]] == [
        (100, 0, "pi_ucb"),
        (100, 0, "nothing"),
        (100, 2, "pi_ucb"),
    ]
    last = curves[6]
    rows = polars.concat(map(polars.read_parquet, sorted(tmp_path.glob("rows-001-*"))))
    ends = rows.filter((polars.col("round") == 300) & (polars.col("learner") == "pi_ucb"))
    regrets = ends["ghost_gain"] * 300 - ends["expected_reward"] + 2 * ends["switches"]
    assert last.regret.mean[-1] == pytest.approx(np.mean(regrets.to_list()))
    width = 3.1824463 * np.std(regrets.to_list(), ddof=1) / 2
    assert last.regret.half_width[-1] == pytest.approx(width)
    assert last.regret_quantiles[QUANTILES.index(0.75), -1] == pytest.approx(sorted(regrets)[2])
    shares = ends["expected_reward"] / (300 * ends["optimum_gain"])
    assert last.share.mean[-1] == pytest.approx(np.mean(shares.to_list()))
    frame = summary_frame(curves)
    assert len(frame) == sum(len(curve.rounds) for curve in curves)
    assert frame.filter(polars.col("round") == 300)["regret"][2] == last.regret.mean[-1]


def test_a_single_checkpoint_is_the_horizon(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, horizon=300, runs=2))
    run(spec, tmp_path / "many")
    run(replace(spec, checkpoints=1), tmp_path / "one")
    (_, many), (_, one) = summarize(tmp_path / "many"), summarize(tmp_path / "one")
    assert one[0].rounds.tolist() == [300]
    assert one[0].regret.mean[-1] == many[0].regret.mean[-1]


def test_a_family_is_drawn_anew_in_each_run(tmp_path: Path) -> None:
    run(load_spec(write_spec(tmp_path, horizon=50)), tmp_path, rows=True)
    _, (study,) = read_results(tmp_path)
    assert len(set(study.gains["ghost"])) > 5


def test_the_optimum_is_above_ghost_and_ranking_is_the_rankers(tmp_path: Path) -> None:
    run(load_spec(write_spec(tmp_path, horizon=300)), tmp_path, rows=True)
    _, (study,) = read_results(tmp_path)
    assert (study.gains["optimum"] > study.gains["ghost"] + 0.01).mean() > 0.9
    _, curves = summarize(tmp_path)
    ranking = {curve.learner: curve.ranking_rounds for curve in curves}
    assert ranking["pi_ucb"] == 0
    assert 100 < ranking["nothing"] <= 150


def test_texts_of_a_spec_are_printed_as_they_stand(tmp_path: Path) -> None:
    file, out = write_spec(tmp_path, horizon=100, runs=1), tmp_path / "out"
    text = (
        file.read_text()
        .replace("A test", "costs [0, 1] and [/red]")
        .replace("[learners.nothing]", '[learners."[red]r"]')
    )
    file.write_text(text)
    assert runner.invoke(app, ["run", str(file), "--out", str(out)]).exit_code == 0
    result = runner.invoke(app, ["summarize", str(out)])
    assert "test: costs [0, 1] and [/red]" in result.stdout
    assert "[red]r" in result.stdout
    assert "nan" not in result.stdout


def test_control_characters_of_a_study_are_shown_not_obeyed(tmp_path: Path) -> None:
    """In the title, a learner, the folder, and the name of a file that is set aside."""
    file, out = write_spec(tmp_path, horizon=100, runs=1), tmp_path / "out\x1b"
    text = file.read_text().replace("A test", r"\u001b[31m\u202e").replace("nothing", r'"\u0007"')
    file.write_text(text)
    (out / "test").mkdir(parents=True)
    (out / "test" / "rows-\x1b.parquet").touch()
    results = [
        runner.invoke(app, [*words, str(out)])
        for words in (["run", str(file), "--rows", "--out"], ["summarize"], ["figure"])
    ]
    assert [result.exit_code for result in results] == [0, 0, 0]
    output = "".join(result.output for result in results)
    assert not set("\x1b\x07\u202e") & set(output)
    for shown in (r"out\x1b", r"rows-\x1b.parquet.damaged", r"\x1b[31m\u202e", r"\x07"):
        assert shown in output


@pytest.mark.parametrize("name", ["...toml", "..toml", ".toml", ".hidden.toml"])
def test_results_do_not_leave_their_folder(tmp_path: Path, name: str) -> None:
    file = write_spec(tmp_path, horizon=100, runs=1).rename(tmp_path / name)
    result = runner.invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "FILE must have a name without a dot in front" in result.stderr
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("command", "name"),
    [("run", ".lock"), ("summarize", "summary.parquet"), ("figure", "figure.svg")],
)
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path, command: str, name: str) -> None:
    file, out = write_spec(tmp_path, horizon=100, runs=1), tmp_path / "out"
    run(load_spec(file), out / "test")
    (out / "test" / name).unlink(missing_ok=True)
    (out / "test" / name).mkdir()
    words = ["run", str(file), "--out", str(out)] if command == "run" else [command, str(out)]
    result = runner.invoke(app, words)
    assert result.exit_code == 2
    path = out / "test" / name
    assert result.stderr == (f"fallow: {path} must be a file, got a folder; rename or remove it\n")


def test_the_commands_work_on_what_is_on_disk(tmp_path: Path) -> None:
    file, out = write_spec(tmp_path, horizon=100), tmp_path / "out"
    for words in (["run", str(file), "--out", str(out)], ["summarize", str(out)]):
        assert runner.invoke(app, words).exit_code == 0
    result = runner.invoke(app, ["summarize", str(out / "test")])
    assert re.search(r"^pi_ucb +2 +100 +[\d.]+ ± [\d.]+ ", result.stdout, re.MULTILINE)
    assert polars.read_parquet(out / "test" / "summary.parquet")["learner"].n_unique() == 2
    assert runner.invoke(app, ["figure", str(out)]).exit_code == 0
    assert (out / "test" / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "test" / "figure.svg").read_bytes().endswith(b"</svg>\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["run", "{file}", "--out", "x", "--workers", "0"],
            "--workers must be a whole number >= 1",
        ),
        (["run", "none.toml", "--out", "x"], "FILE must be a spec, a TOML file, got none.toml"),
        (["run", "{file}", "{file}", "--out", "x"], "FILE must have different names, got test twi"),
        (["run", "{file}", "--out", "{file}"], "Not a directory"),
        (["summarize", "{folder}"], "must be a folder that `fallow run` wrote, got no manifest"),
        (["figure", "nowhere"], "nowhere must be a folder that `fallow run` wrote"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    file = write_spec(tmp_path)
    places = {"{file}": str(file), "{folder}": str(tmp_path)}
    result = runner.invoke(app, [places.get(word, word) for word in words])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
