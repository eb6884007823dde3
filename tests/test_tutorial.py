"""The tutorial on logs shows what its code prints."""

import re
from pathlib import Path

import pytest
from helpers import run_command

from reproduction.cli import app

GUIDES = Path(__file__).parent.parent / "docs" / "guides"


@pytest.mark.slow
def test_the_tutorial_is_what_its_code_prints(tmp_path: Path) -> None:
    text = (GUIDES / "logs.md").read_text(encoding="utf-8")
    page, picture = tmp_path / "logs.md", tmp_path / "recovery.svg"
    # Numbers that are not there cannot be left as they were.
    page.write_text(re.sub(r"```text\n.*?```", "```text\n```", text, flags=re.DOTALL), "utf-8")
    run_command("tutorial", str(page), "--picture", str(picture), app=app)
    assert page.read_text(encoding="utf-8") == text
    assert picture.read_bytes() == (GUIDES / "logs" / "recovery.svg").read_bytes()


def test_the_traps_are_traps() -> None:
    text = (GUIDES / "logs.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"truth: (.*)\nall plays together +(\S+)\nwithin user and arm +(\S+)\n"
        r"rest_matters +\S+  (.*)\n",
        text,
    )
    taste, mood, recommender = shown
    assert taste[0] == taste[3] == "rest helps"
    assert float(taste[1]) < -0.02
    for truth, _, within, verdict in (mood, recommender):
        assert (truth, verdict) == ("no effect", "no effect found")
        assert abs(float(within)) > 0.02
    assert float(mood[2]) < 0 < float(recommender[2])
    replay, worth, truth = map(
        float, re.findall(r"^(?:replay|value|truth): +(0\.\d+)", text, re.M)[-3:]
    )
    assert replay > truth + 0.1
    assert abs(worth - truth) < 0.02
