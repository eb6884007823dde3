"""`fallow plan --rounds`: reading past pulls, and what is printed."""

import csv
import io
import json
from pathlib import Path

import pytest
from helpers import run_command as run
from helpers import runner

import fallow
from fallow import Instance
from fallow.cli import app

NAMES = ["hymn", "waltz", "march"]
SONGS = Instance.b2dep([0.9, 0.8, 0.5], [3, 2, 1], fallow.decay.geometric(0.7), names=NAMES)
PULLS = ["waltz", "hymn", "march"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SONGS.save("songs.toml")
    Path("pulls.csv").write_text("waltz\nhymn\nmarch\n", encoding="utf-8")


def planned(*options: str, pulls: str | None = None) -> str:
    """What is printed, with past pulls on standard input if they are given."""
    if pulls is None:
        return run("plan", "songs.toml", *options)
    result = runner.invoke(app, ("plan", "songs.toml", *options, "--since", "-"), input=pulls)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_table_has_a_line_for_each_round_and_the_total_with_its_bound() -> None:
    found = fallow.schedule(SONGS, 6, since=PULLS)
    header, *rows, total = planned("--rounds", "6", "--since", "pulls.csv").splitlines()
    assert header.split() == ["round", "arm", "delay", "reward"]
    for now, row in enumerate(rows):
        expected = [str(now + 1), found.names[now], str(found.delays[now])]
        assert row.split() == [*expected, f"{found.rewards[now]:.6f}"]
    assert len(rows) == 6
    assert f"total {found.total:.6f}, at most {found.upper_bound:.6f}" in total
    assert total.endswith("(100.00%); method: exact")


def test_json_holds_the_whole_schedule() -> None:
    found = fallow.schedule(SONGS, 6, since=PULLS)
    document = json.loads(planned("--rounds", "6", "--since", "pulls.csv", "--json"))
    rounds = document.pop("schedule")
    assert document == {
        "total": found.total,
        "upper_bound": found.upper_bound,
        "certificate": found.certificate,
        "method": "exact",
    }
    assert [each["arm"] for each in rounds] == list(found.names)
    assert [each["reward"] for each in rounds] == list(found.rewards)
    assert [each["delay"] for each in rounds] == list(found.delays)
    assert [each["round"] for each in rounds] == [1, 2, 3, 4, 5, 6]


def test_csv_can_be_read_again_as_past_pulls() -> None:
    """All that was planned, then planned on: the same as after those pulls."""
    first = planned("--rounds", "4", "--csv")
    rows = list(csv.DictReader(io.StringIO(first)))
    found = fallow.schedule(SONGS, 4)
    assert [row["arm"] for row in rows] == list(found.names)
    assert [row["delay"] for row in rows] == ["" if d is None else str(d) for d in found.delays]
    assert [float(row["reward"]) for row in rows] == list(found.rewards)
    after = json.loads(planned("--rounds", "3", "--json", pulls=first))
    assert after["total"] == fallow.schedule(SONGS, 3, since=found.arms).total


def test_arms_without_past_pulls_were_never_pulled() -> None:
    rows = planned("--rounds", "1").splitlines()
    assert rows[1].split() == ["1", "hymn", "never", "0.900000"]


@pytest.mark.parametrize(
    "pulls",
    [
        "waltz\nhymn\nmarch\n",
        "\ufeffwaltz\r\nhymn\r\n\r\nmarch",
        'waltz\n"hymn"\n\nmarch\n\n',
        "arm\nwaltz\nhymn\nmarch\n",
        'day,arm,note\n1,waltz,\n2,hymn,"so,\nso"\n3,march,x\n',
    ],
)
def test_past_pulls_may_be_written_in_several_ways(pulls: str) -> None:
    expected = planned("--rounds", "5", "--csv", "--since", "pulls.csv")
    assert planned("--rounds", "5", "--csv", pulls=pulls) == expected


def test_an_empty_name_is_a_round_without_a_pull() -> None:
    idle = fallow.schedule(SONGS, 5, since=["hymn", None, "march", None]).rewards
    for pulls in ('hymn\n""\nmarch\n""\n', "day,arm\n1,hymn\n2,\n3,march\n4,\n"):
        document = json.loads(planned("--rounds", "5", "--json", pulls=pulls))
        assert [each["reward"] for each in document["schedule"]] == list(idle)
    assert list(idle) != list(fallow.schedule(SONGS, 5, since=["hymn", "march"]).rewards)


def test_an_arm_may_be_called_arm() -> None:
    Instance([[0.1, 0.9], [0.5, 0.5]], names=["arm", "leg"]).save("songs.toml")
    document = json.loads(planned("--rounds", "1", "--json", pulls="arm\n"))
    assert document["schedule"][0]["arm"] == "leg"


def test_names_with_commas_and_control_characters() -> None:
    hostile = 'a,"b"\n\x1b[31mred'
    Instance.blocking([1, 0.5], [1, 1], names=[hostile, "x"]).save("songs.toml")
    table = planned("--rounds", "1")
    assert r"\n\x1b[31mred" in table
    assert "\x1b" not in table
    printed = planned("--rounds", "2", "--csv")
    assert [row["arm"] for row in csv.DictReader(io.StringIO(printed))] == [hostile, "x"]
    assert json.loads(planned("--rounds", "1", "--json", pulls=printed))["total"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rounds", "0"), "--rounds must be a whole number >= 1, got 0"),
        (("--rounds", "2000000"), "--rounds must be at most 1,000,000, got 2,000,000"),
        (("--rounds", "3", "--method", "ghost"), "--method must be left out with --rounds, got"),
        (("--rounds", "3", "--csv", "--json"), "--csv must be left out with --json, got both"),
        (("--rounds", "3", "--max-states", "-1"), "--max-states must be a whole number >= 0"),
        (("--csv",), "--csv must come with --rounds, got it without"),
        (("--since", "pulls.csv"), "--since must come with --rounds, got it without"),
        (("--rounds", "3", "--since", "none.csv"), "none.csv: No such file or directory"),
        (("--rounds", "3", "--since", "."), ".: Is a directory"),
        (
            ("--rounds", "3", "--since", "wrong.csv"),
            r"wrong.csv, line 3: a pull must be the name of an arm, got 'wal\x1b'",
        ),
        (("--rounds", "3", "--since", "wide.csv"), "wide.csv, line 2: each line must be a name"),
        (("--rounds", "3", "--since", "broken.csv"), "broken.csv, line 2: it must be CSV, got"),
        (("--rounds", "3", "--since", "bytes.csv"), "bytes.csv must be UTF-8, got invalid start"),
    ],
)
def test_mistakes_end_in_one_line(options: tuple[str, ...], message: str) -> None:
    Path("wrong.csv").write_text("hymn\n\nwal\x1b\n", encoding="utf-8")
    Path("wide.csv").write_text("hymn\nwaltz,1\n", encoding="utf-8")
    Path("broken.csv").write_text('hymn\n"waltz', encoding="utf-8")
    Path("bytes.csv").write_bytes(b"hymn\n\xff\n")
    result = runner.invoke(app, ("plan", "songs.toml", *options))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fallow: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
