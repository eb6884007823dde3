"""`fallow fit` and `fallow evaluate`, run as a user would run them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars
import pytest
from helpers import command, runner, write_log

import fallow
from fallow import Instance, Log
from fallow.cli import app
from fallow.logs import fit, plan_and_value, rest_matters, simulate_log, value

NAMES = ("hymn", "[red]waltz", "march & <b>")
SONGS = Instance.b2dep([0.9, 0.7, 0.5], delays=[3, 2, 1], decay=[0.8, 0.6, 0.4], names=NAMES)
CHANCES = ("--propensities", "p0,p1,p2", "--arms", ",".join(NAMES), "--max-delay", "3")


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = simulate_log(SONGS, users=60, rounds=60, seed=7)
    return write_log(tmp_path_factory.mktemp("log") / "plays.parquet", log, NAMES)


@pytest.fixture(scope="module")
def log(plays: Path) -> Log:
    return Log.read(
        plays,
        user="user",
        time="time",
        arm="arm",
        reward="reward",
        propensities=["p0", "p1", "p2"],
        arms=NAMES,
        max_delay=3,
    )


def run(*words: object, code: int = 0) -> tuple[str, str]:
    """Return what a command prints on standard output and error."""
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_text_goes_to_the_side_where_the_instance_is_piped(plays: Path, log: Log) -> None:
    output, text = run("fit", plays, *CHANCES)
    assert Instance.from_toml(output) == fit(log).instance
    assert "3,600 rows: 3,600 plays of 3 arms by 60 users" in text
    assert "Rest helps: a play after twice the rest earns " in text
    table = [line for line in text.splitlines() if line.endswith("rest helps  ")]
    drops = {each.name: each.drop.value for each in fit(log).recovery}
    in_order = sorted(drops, key=lambda name: -drops[name])
    assert [line[:11].rstrip() for line in table] == in_order
    for line in table:
        name = line[:11].rstrip()
        arm = NAMES.index(name)
        assert f" {100 * drops[name]:.0f} % (" in line
        assert f" {np.count_nonzero(log.arms == arm):,} " in line


def test_the_text_tells_what_a_plan_is_worth(plays: Path, log: Log) -> None:
    _, text = run("fit", plays, *CHANCES)
    worth = plan_and_value(log)
    told = " ".join(text.split())
    assert f"A plan would earn {worth.mean:.3f} ({worth.low:.3f} to {worth.high:.3f})" in told
    assert f"{worth.gain} per round more than the log earned, {worth.logged:.3f}." in told
    assert worth.plan is not None
    cycle = ", ".join(NAMES[arm] for arm in worth.plan.cycle[:24])
    assert f"It repeats {cycle}" in told


@pytest.mark.slow
def test_a_terminal_gets_the_text_alone(plays: Path) -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200", "TERM": "dumb"}
    words = command("fit", plays, *CHANCES)
    with subprocess.Popen(
        words, stdout=follower, stderr=subprocess.PIPE, env=environment
    ) as process:
        os.close(follower)
        output = b""
        with suppress(OSError):  # when the other end is closed
            while chunk := os.read(leader, 4096):
                output += chunk
        _, errors = process.communicate(timeout=60)
    os.close(leader)
    assert process.returncode == 0, errors
    assert b"Rest helps: a play after twice the rest" in output
    assert b"means = [" not in output
    assert errors == b""


@pytest.mark.slow
def test_a_fitted_log_can_be_piped_into_plan_and_back(
    plays: Path, log: Log, tmp_path: Path
) -> None:
    """Each piece as a process of its own: `fallow fit LOG | fallow plan - --json > plan.json`."""
    words = command("fit", plays, *CHANCES)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as fitting:
        planned = subprocess.run(
            command("plan", "-", "--json"), stdin=fitting.stdout, capture_output=True, timeout=100
        )
        assert fitting.wait(timeout=100) == planned.returncode == 0, planned.stderr
    plans = json.loads(planned.stdout)["plans"]
    best = max(plans, key=lambda each: each["gain"])
    assert best["gain"] == pytest.approx(fallow.optimal(fit(log).instance).gain)
    assert any(each["gain"] < best["gain"] - 0.01 for each in plans)
    path = tmp_path / "plan.json"
    path.write_bytes(planned.stdout)
    output, _ = run("evaluate", plays, path, *CHANCES, "--json")
    document = json.loads(output)
    assert document["cycle"] == best["names"]
    assert document["mean"] == value(log, best["names"]).mean


def test_json_has_everything(plays: Path, log: Log) -> None:
    output, errors = run("fit", plays, *CHANCES, "--json")
    assert errors == ""
    document = json.loads(output)
    verdict, fitted, worth = rest_matters(log), fit(log), plan_and_value(log)
    assert document["verdict"] == verdict.verdict == "rest helps"
    assert document["slope"] == verdict.slope
    assert document["interval"] == list(verdict.interval)
    assert document["assumptions"] == list(verdict.assumptions)
    assert [arm["name"] for arm in document["arms"]] == list(NAMES)
    assert document["arms"][0]["slope"] == verdict.arms[0].slope._asdict()
    assert document["table"] == fitted.table.to_dicts()
    assert document["counts"] == log.counts._asdict()
    by_name = {each["name"]: each for each in document["recovery"]}
    for arm, each in enumerate(fitted.recovery):
        assert by_name[each.name]["drop"] == each.drop._asdict()
        assert by_name[each.name]["plays"] == np.count_nonzero(log.arms == arm)
    assert document["value"]["gain"] == worth.gain._asdict()
    assert worth.plan is not None
    assert document["plan"]["names"] == [NAMES[arm] for arm in worth.plan.cycle]


def test_the_plan_of_a_fit_can_be_valued(plays: Path, tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    path.write_text(run("fit", plays, *CHANCES, "--json")[0])
    document = json.loads(run("evaluate", plays, path, *CHANCES, "--json")[0])
    assert document["cycle"] == json.loads(path.read_text())["plan"]["names"]


def test_json_has_null_for_what_is_no_number(plays: Path) -> None:
    """Without propensities the smallest effect is infinite, and a value cannot be said."""
    document = json.loads(run("fit", plays, "--json")[0])
    assert document["smallest"] is None
    assert document["arms"] == []
    assert document["value"]["cannot_say"].startswith("a value needs the propensities")
    assert document["value"]["low"] is None


def test_what_cannot_be_said_is_one_line_and_no_error(plays: Path) -> None:
    _, text = run("fit", plays)
    told = " ".join(text.split())
    assert "What a plan would earn cannot be said: a value needs the propensities" in told
    caution, _, rest = told.partition("It repeats ")
    assert "but they do not prove that it is. Try it on some users chosen at random" in caution
    assert "verdicts by arm need propensities" in rest
    _, text = run("fit", plays, *CHANCES)
    assert "do not prove" not in text
    assert "need propensities" not in text


def test_files_are_written(plays: Path, log: Log, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("songs.toml", "songs.svg", "songs.html")]
    saved, drawn, page = files
    _, text = run("fit", plays, *CHANCES, "--save", saved, "--plot", drawn, "--report", page)
    assert Instance.load(saved) == fit(log).instance
    assert b"<svg" in drawn.read_bytes()
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert all(f"{file.name} written" in "".join(text.split("\n")) for file in files)


@pytest.mark.parametrize(("kind", "begin"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?")])
def test_pictures_are_the_same_each_time(
    plays: Path, tmp_path: Path, kind: str, begin: bytes
) -> None:
    pictures = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.{kind}"
        run("fit", plays, "--plot", path)
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(begin)


def test_a_cycle_is_valued_as_by_the_library(plays: Path, log: Log) -> None:
    output, errors = run("evaluate", plays, "hymn, [red]waltz,hymn,march & <b>", *CHANCES)
    found = value(log, ["hymn", "[red]waltz", "hymn", "march & <b>"])
    first, second, empty, header, *rows = output.splitlines()
    assert (
        first == f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f}) per round, 95 % interval"
    )
    assert second == f"{found.gain} per round more than the log earned, {found.logged:.3f}"
    assert (empty, header.split()[0]) == ("", "arm")
    assert len(rows) == len(found.support) == 3
    for row, cell in zip(rows, found.support, strict=True):
        assert row.startswith(cell.arm)
        after = "rested" if cell.delay == 4 else f"{cell.delay:g} rounds"
        assert f" {after} " in row
        assert f" {cell.share:.1%} " in row
        assert row.split()[-2:] == [f"{cell.rows:,}", f"{cell.effective:,.0f}"]
    assert errors == ""


def test_less_and_no_sure_difference_are_told_as_such(plays: Path, log: Log) -> None:
    alone = value(log, ["march & <b>"])
    gain, low, high = alone.gain
    assert high < 0
    output, _ = run("evaluate", plays, "march & <b>", *CHANCES)
    assert f"{-gain:.3f} ({-high:.3f} to {-low:.3f}) per round less than the log earned" in output
    output, _ = run("evaluate", plays, "hymn,hymn,[red]waltz,[red]waltz", *CHANCES)
    assert "no sure difference, against what the log earned" in output


@pytest.mark.parametrize("content", ["hymn\nmarch & <b>\n", 'round,arm\n1,hymn\n2,"march & <b>"\n'])
def test_a_cycle_may_be_a_file_with_an_arm_a_line(
    plays: Path, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "cycle.csv"
    path.write_text(content)
    document = json.loads(run("evaluate", plays, path, *CHANCES, "--json")[0])
    assert document["cycle"] == ["hymn", "march & <b>"]


def test_a_log_that_cannot_say_ends_with_one(plays: Path) -> None:
    output, errors = run("evaluate", plays, "hymn", code=1)
    assert output == ""
    assert errors.startswith("fallow: the log cannot say: a value needs the propensities")
    assert errors.count("\n") == 1
    output, errors = run("evaluate", plays, "hymn", "--json", code=1)
    document = json.loads(output)
    assert document["cannot_say"].startswith("a value needs the propensities")
    assert (document["cycle"], errors) == (["hymn"], "")


def test_cells_that_are_missing_are_in_the_document(tmp_path: Path) -> None:
    log = simulate_log(SONGS, users=12, rounds=12, seed=1)
    path = write_log(tmp_path / "few.csv", log, NAMES)
    words = ("evaluate", path, "hymn,march & <b>,[red]waltz", *CHANCES)
    document = json.loads(run(*words, "--json", code=1)[0])
    with pytest.raises(fallow.logs.CannotSay) as cannot:
        value(log, [0, 2, 1])
    named = {cell.arm: cell.rows for cell in cannot.value.cells}
    renamed = {NAMES[int(arm)]: rows for arm, rows in named.items()}
    assert {cell["arm"]: cell["rows"] for cell in document["cells"]} == renamed


def test_propensities_come_in_many_ways(plays: Path, tmp_path: Path) -> None:
    expected = run("fit", plays, *CHANCES, "--json")[0]
    listed = tmp_path / "listed.parquet"
    rows = polars.read_parquet(plays)
    rows.with_columns(polars.concat_list("p0", "p1", "p2").alias("all")).write_parquet(listed)
    repeated = [word for name in ("p0", "p1", "p2") for word in ("--propensities", name)]
    named = [word for name in NAMES for word in ("--arms", name)]
    for file, words in ((plays, repeated), (listed, ["--propensities", "all"])):
        assert run("fit", file, *words, *named, "--max-delay", 3, "--json")[0] == expected
    chosen = json.loads(run("fit", plays, "--propensity", "propensity", "--json")[0])
    declared = json.loads(run("fit", plays, "--random", "--json")[0])
    slopes = {each["slope"] for each in (chosen, declared, json.loads(expected))}
    assert len(slopes) == 3


def test_columns_scale_clock_and_start_are_those_asked_for(tmp_path: Path) -> None:
    log = simulate_log(SONGS, users=30, rounds=40, seed=2)
    rows = polars.read_csv(write_log(tmp_path / "plays.csv", log, NAMES))
    path = tmp_path / "other.csv"
    hours = polars.datetime(2026, 1, 31) + polars.duration(hours=polars.col("time") * 36)
    rows.select(
        polars.col("user").alias("who"),
        hours.alias("when"),
        polars.col("arm").alias("song"),
        (1 + 4 * polars.col("reward")).alias("stars"),
    ).write_csv(path)
    columns = ("--user", "who", "--time", "when", "--arm", "song", "--reward", "stars")
    words = ("fit", path, *columns, "--scale", "1,5", "--random")
    document = json.loads(run(*words, "--from-start", "--json")[0])
    assert document["counts"]["unknown"] == 0
    assert (
        document["table"]
        == json.loads(run("fit", tmp_path / "plays.csv", "--random", "--from-start", "--json")[0])[
            "table"
        ]
    )
    page = tmp_path / "page.html"
    _, text = run(*words, "--report", page)
    assert text.count("Rewards of 1 to 5 are told as 0 to 1.") == 1
    assert page.read_text("utf-8").count("Rewards of 1 to 5 are told as 0 to 1.") == 1
    assert "told as" not in run("fit", tmp_path / "plays.csv")[1]
    by_time = ("--clock", "time", "--max-delay", 6 * 86_400)
    daily = Instance.from_toml(run(*words, *by_time, "--round-length", 86_400)[0])
    slower, text = run(*words, *by_time, "--round-length", 3 * 86_400)
    assert daily.max_delay > Instance.from_toml(slower).max_delay
    assert "half-life, 90 % back: time to recover" in text
    assert " days " in text


@pytest.fixture
def dated(plays: Path, tmp_path: Path) -> Path:
    """Plays 10 hours apart."""
    hours = polars.datetime(2026, 1, 31) + polars.duration(hours=10 * polars.col("time"))
    path = tmp_path / "dated.parquet"
    polars.read_parquet(plays).with_columns(time=hours).write_parquet(path)
    return path


def test_a_plan_by_the_clock_says_how_long_a_round_is(dated: Path, tmp_path: Path) -> None:
    words = ("fit", dated, *CHANCES[:4], "--clock", "time")
    page = tmp_path / "page.html"
    told = " ".join(run(*words, "--report", page)[1].split())
    assert (
        "one play every 10 hours). A round is 10 hours: the median time between two plays of a "
        "user. --round-length sets another."
    ) in told
    text = page.read_text(encoding="utf-8")
    assert "A round is 10 hours: the median time between two plays of a user.</p>" in text
    assert "The rotation has one play every 10 hours.</p>" in text
    labels = re.findall(r'y="130"[^>]*>([^<]*)<', text)[:3]
    assert [labels[0], labels[2]] == ["10 h", "rested"]
    assert re.fullmatch(r"[\d.]+ [hd]", labels[1])
    assert "A play is one round" not in text
    assert json.loads(run(*words, "--json")[0])["round_length"] == 36_000
    told = " ".join(run(*words, "--round-length", 86_400)[1].split())
    assert "one play every 1 day). A round is 1 day, as was asked for." in told
    assert "sets another" not in told
    document = json.loads(run(*words, "--round-length", 86_400, "--json")[0])
    assert document["round_length"] == 86_400
    output, _ = run("evaluate", dated, "hymn", *words[2:])
    assert "A round is 10 hours: " in output


@pytest.mark.parametrize(("width", "lines"), [(80, 2), (120, 1)])
def test_times_have_intervals_on_every_terminal(
    dated: Path, monkeypatch: pytest.MonkeyPatch, width: int, lines: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    _, text = run("fit", dated, *CHANCES[:4], "--clock", "time")
    header, *table = text[text.index("arm  ") : text.index("drop: ")].splitlines()
    assert header.split()[-1] == "verdict"
    assert len(table) == 3 * lines
    assert " h\N{EN DASH}" in "".join(table)
    assert sum("rest helps" in line for line in table) == 3


def test_how_long_nothing_lasts_is_not_told(tmp_path: Path) -> None:
    steady = Instance([[0.5, 0.5, 0.5], [0.1, 0.5, 0.9]])
    path = write_log(tmp_path / "plays.csv", simulate_log(steady, 40, 40, seed=1), ("a", "b"))
    page = tmp_path / "page.html"
    _, text = run("fit", path, "--random", "--report", page)
    rows = [line.split() for line in text.splitlines() if line[:2] in ("a ", "b ")]
    assert [row[0] for row in rows if row.count("-") == 2] == ["a"]
    assert page.read_text(encoding="utf-8").count('<td class="number">-</td>') == 2


def test_names_with_a_comma_are_quoted(tmp_path: Path) -> None:
    log = simulate_log(SONGS, users=60, rounds=60, seed=7)
    path = write_log(tmp_path / "plays.csv", log, ("hymn", "waltz, slow", "march"))
    told = " ".join(run("fit", path, "--random")[1].split())
    assert '"waltz, slow", ' in told.partition("It repeats ")[2]
    assert '"hymn"' not in told


def test_a_log_full_of_repeated_rows_is_doubted_first(tmp_path: Path) -> None:
    path = tmp_path / "plays.csv"
    rows = [f"{user},{time},{'ab'[time % 2]},1" for user in range(9) for time in range(9)]
    page = tmp_path / "page.html"
    path.write_text("\n".join(["user,time,arm,reward", *rows, *rows[:9]]))
    assert run("fit", path)[1].startswith("90 rows: ")
    path.write_text("\n".join(["user,time,arm,reward", *rows, *rows[:19]]))
    _, text = run("fit", path, "--report", page)
    assert text.startswith("19 % of the rows repeat another: are --user, --time and --arm the ")
    assert "coarse clocks" in text
    assert "<li>19 % of the rows repeat another: are user, time" in page.read_text("utf-8")
    path.write_text("\n".join(["user,time,arm,reward", *rows, *[",1,a,1"] * 19]))
    _, text = run("fit", path)
    assert text.startswith("19 % of the rows lack a user, a time or an arm: are --user, ")
    assert "coarse" not in text


def test_words_say_what_was_found_in_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "plays.csv"
    rows = [f"{user},{time},{'ab'[(user + time) % 2]},1" for user in range(9) for time in range(9)]
    path.write_text("\n".join(["user,time,arm,reward", *rows, rows[0], "3,4,b,0", ",1,a,1"]))
    _, text = run("fit", path)
    told = " ".join(text.split())
    assert told.startswith("84 rows: 82 plays of 2 arms by 9 users 1 row without a user")
    assert "1 row repeating another; left out" in told
    assert "2 rows contradicting another; counted for delays only" in told
    assert "without a reward" not in told
    assert "This log cannot say whether rest matters. It would need at least 10 users" in told


MISTAKES: list[tuple[tuple[str, ...], str]] = [
    (("fit", "-"), "LOG must be a file, got -"),
    (("fit", "none.csv"), "none.csv must be a log's file, got none of that name"),
    (("fit", "songs.toml"), "the ending of a log's file must be one of .parquet, .csv"),
    (("fit", "LOG", "--user", "usr"), "--user must be one of user, time, .*did you mean 'user'?"),
    (("fit", "LOG", "--propensities", "p0,p9"), "--propensities[1] must be one of user, "),
    (("fit", "LOG", "--propensities", "p0,p1,p2"), "--arms must be given, in the order of the"),
    (("fit", "LOG", "--propensities", "p0,p1", *CHANCES[2:4]), "got 2 for 3 arms; give arms in"),
    (("fit", "LOG", "--reward", "time"), "give their scale, the rewards that"),
    (("fit", "LOG", "--scale", "1"), "--scale must be two numbers such as 1,5, got '1'"),
    (("fit", "LOG", "--scale", "a,b"), "--scale must be two numbers such as 1,5, got 'a,b'"),
    (("fit", "LOG", "--scale", "2,1"), "scale must be (low, high)"),
    (("fit", "LOG", "--clock", "day"), "--clock must be one of rounds, time, got 'day'"),
    (("fit", "LOG", "--max-delay", "0"), "--max-delay must be a whole number >= 1, got 0"),
    (("fit", "LOG", "--max-delay", "1.5"), "--max-delay must be a whole number >= 1, got 1.5"),
    (("fit", "LOG", "--max-delay", "ten"), "--max-delay must be a number of rounds, got 'ten'"),
    (
        ("fit", "LOG", "--clock", "time", "--max-delay", "ten"),
        "--max-delay must be a number of seconds if times are dates, else .*, got 'ten'",
    ),
    (("fit", "LOG", "--round-length", "ten"), "--round-length must be a number of .* got 'ten'"),
    (("fit", "LOG", "--time", "arm"), "--time must hold numbers or dates; .* in 'arm'"),
    (("fit", "LOG", "--round-length", "2"), "--round-length must come with a log by elapsed time"),
    (("fit", "LOG", "--random", "--propensity", "propensity"), "got propensity and random; leave"),
    (("fit", "LOG", "--arms", "hymn"), "--arms must hold all that were played"),
    (("fit", "LOG", "--save", "x.csv"), "the ending of --save must be one of toml, got 'csv'"),
    (("fit", "LOG", "--plot", "x.gif"), "the ending of --plot must be one of svg, png, pdf"),
    (("fit", "LOG", "--report", "no/x.html"), "--report must be in a folder that exists"),
    (("fit", "once.csv"), "give a shorter longest delay, or say that the log has"),
    (("evaluate", "LOG", "hymm", "--random"), "PLAN is no file, so each part of it must be the"),
    (("evaluate", "LOG", "empty.csv", "--random"), "empty.csv must have at least one arm"),
    (("evaluate", "LOG", "no.json", "--random"), "no.json must be JSON of `fallow plan --json`"),
    (("evaluate", "LOG", "list.json", "--random"), "or `fallow fit --json`, got JSON without"),
    (("evaluate", "LOG", "other.json", "--random"), "other.json: a name must be the name"),
    (("evaluate", "LOG", "hymn", "--random", "--round-length", "2"), "--round-length must come"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), MISTAKES)
def test_mistakes_end_in_one_line(
    plays: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("songs.toml").write_text("means = [[1, 1]]")
    Path("once.csv").write_text("user,time,arm,reward\n1,1,a,1\n2,1,a,0\n")
    Path("empty.csv").write_text("arm\n\n")
    Path("no.json").write_text("{")
    Path("list.json").write_text("[1]")
    other = {"plans": [{"gain": 1, "names": ["polka"]}]}
    Path("other.json").write_text(json.dumps(other))
    given = [str(plays) if word == "LOG" else word for word in words]
    result = runner.invoke(app, given)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fallow: ")
    assert result.stderr.count("\n") == 1
    assert all(part in result.stderr for part in message.split(".*"))


def test_only_the_argument_becomes_an_option_and_never_a_name_of_the_log(
    plays: Path, tmp_path: Path
) -> None:
    """Columns and arms may be called as arguments of the library are."""
    path = tmp_path / "named.csv"
    rows = polars.read_parquet(plays).rename({"time": "max_delay_days"})
    rows.with_columns(polars.lit("random=True").alias("arm")).write_csv(path)
    _, errors = run("fit", path, "--time", "max_delay", code=2)
    assert errors.startswith("fallow: --time must be one of user, max_delay_days, arm, ")
    assert errors.rstrip().endswith("got 'max_delay'; did you mean 'max_delay_days'?")
    _, errors = run("fit", path, "--time", "arm", code=2)
    assert errors.rstrip().endswith(", got 'random=True' in 'arm'")
    _, errors = run("fit", path, "--time", "max_delay_days", "--max-delay", 0, code=2)
    assert errors == "fallow: --max-delay must be a whole number >= 1, got 0\n"


def test_names_cannot_command_the_terminal(tmp_path: Path) -> None:
    names = ("hy\x1b[31mmn", "[bold]waltz", "march")
    path = write_log(tmp_path / "plays.parquet", simulate_log(SONGS, 20, 30), names)
    output, text = run("fit", path, "--random")
    assert "\x1b" not in output + text
    assert r"hy\x1b[31mmn" in text
    assert "[bold]waltz" in text
    output, _ = run("evaluate", path, "[bold]waltz,march", "--random")
    assert "[bold]waltz" in output
