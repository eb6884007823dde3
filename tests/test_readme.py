"""The README's code and commands do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [line.partition("#")[0].strip() for block in SHELL for line in block.splitlines()]


def test_the_readme_has_code_and_commands() -> None:
    assert len(PYTHON) == 3
    assert {"make demo", "make test"} <= set(COMMANDS)


def test_the_code_runs_as_it_stands() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "".join(PYTHON)], check=True, capture_output=True, text=True
    )
    cycle, share, soon = result.stdout.splitlines()
    assert "'hymn'" in cycle
    assert share.endswith("100.0% of the best possible")
    assert re.search(r"'waltz'.* earn (\S+), at most \1 is possible", soon)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_exists(command: str) -> None:
    program, *arguments = command.split()
    if program == "make":
        subprocess.run(["make", "-n", *arguments], cwd=ROOT, check=True, capture_output=True)
    else:
        run = [sys.executable, "-m", "fallow.cli", *arguments]
        subprocess.run(run, check=True, capture_output=True)
