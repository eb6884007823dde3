"""The README's code and commands do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import PROJECT, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [line.partition("#")[0].strip() for block in SHELL for line in block.splitlines()]
PIP, MAKE, FALLOW = (
    [command for command in COMMANDS if command.split()[0] == program]
    for program in ("pip", "make", "fallow")
)
SERVE = ".venv/bin/fallow serve --demo"
"""It does not end; tests/test_serve_command.py serves."""


def test_the_readme_has_code_and_commands() -> None:
    assert len(PYTHON) == 2
    assert {"make demo", "make test"} <= set(MAKE)
    assert set(COMMANDS) == {SERVE, *PIP, *MAKE, *FALLOW}


def test_the_code_runs_as_it_stands() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "".join(PYTHON)], check=True, capture_output=True, text=True
    )
    cycle, share = result.stdout.splitlines()
    assert "'hymn'" in cycle
    assert share.endswith("100.0% of the best possible")


@pytest.mark.parametrize("command", MAKE)
@pytest.mark.slow
def test_every_target_of_make_exists(command: str) -> None:
    subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("command", FALLOW)
@pytest.mark.slow
def test_every_command_works(command: str, tmp_path: Path) -> None:
    rows = (f"{n % 3},{n},{['hymn', 'waltz'][n % 2]},{n % 7 % 2}" for n in range(99))
    (tmp_path / "plays.csv").write_text("\n".join(["user,time,arm,reward", *rows]))
    arguments = command.split()[1:]
    run = [sys.executable, "-m", "fallow", *arguments]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "report.html").exists() == ("report.html" in arguments)


def test_extras_are_explained_and_exist() -> None:
    extras = set(PROJECT["optional-dependencies"])
    assert set(re.findall(r"^\| `(\w+)` \|", README, flags=re.MULTILINE)) == extras
    (installed,) = re.findall(r'^pip install "\.\[(.*)\]"$', "\n".join(PIP), flags=re.MULTILINE)
    assert set(installed.split(",")) < extras
