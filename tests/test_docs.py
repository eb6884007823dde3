"""The documentation names only what exists."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fallow
from fallow.cli import app
from fallow.learners.registry import LEARNERS
from reproduction.claims.registry import CLAIMS

ROOT = Path(__file__).parent.parent
PAPER_MAP = (ROOT / "docs" / "explanation" / "paper-map.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\|.*\| `([\w.]+)` \| (?:`(\w+\.py)::(\w+)` )?\| (?:`([a-z0-9-]+)` )?\|$",
    PAPER_MAP,
    flags=re.MULTILINE,
)
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_every_row_of_the_paper_map_is_read() -> None:
    assert len(ROWS) == PAPER_MAP.count("\n| ") - 1


@pytest.mark.parametrize(("code", "file", "test", "claim"), ROWS)
def test_the_paper_map_points_to_code_and_evidence(
    code: str, file: str, test: str, claim: str
) -> None:
    module = code.split(".")
    found: object = fallow
    for name in module[1:]:
        if not hasattr(found, name):
            importlib.import_module(code.rpartition(".")[0])
        found = getattr(found, name)
    assert callable(found)
    assert test or claim
    if test:
        assert f"\ndef {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert claim in {"", *(each.name for each in CLAIMS)}


def test_every_claim_has_its_row() -> None:
    assert {claim for *_, claim in ROWS} - {""} == {claim.name for claim in CLAIMS}


def test_rows_say_where_the_paper_is_wrong() -> None:
    rows = [line for line in PAPER_MAP.splitlines() if line.startswith("| ")]
    for claim in CLAIMS:
        if claim.expected == "does not hold":
            assert any("Wrong" in row for row in rows if f"| `{claim.name}` |" in row), claim.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target


def test_every_layer_is_described() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    described = re.findall(
        r"^\| `(\w+)` \|",
        (ROOT / "docs" / "explanation" / "architecture.md").read_text(),
        flags=re.MULTILINE,
    )
    names = [name for layer in layers for name in re.findall(r"fallow\.(\w+)", layer)]
    assert described[-len(names) :] == names


def test_files_shown_in_the_documentation_load(tmp_path: Path) -> None:
    pages = (ROOT / "docs" / name for name in ("reference/command-line.md", "guides/rules.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    examples = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) == 4
    for example in examples:
        path = tmp_path / "example.toml"
        path.write_text(example, encoding="utf-8")
        assert fallow.plan(fallow.Instance.load(path)).certificate == pytest.approx(1)


def test_code_shown_in_the_documentation_runs() -> None:
    pages = (ROOT / "docs" / "guides" / name for name in ("choose-a-learner.md", "rules.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    examples = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        command = [sys.executable, "-c", example]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        assert len(result.stdout.split()) >= 3


def test_every_command_is_described() -> None:
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert re.search(rf"^## `fallow {command.name}[ `]", text, flags=re.MULTILINE)
    learners = (ROOT / "docs" / "explanation" / "learners.md").read_text(encoding="utf-8")
    for name in LEARNERS:
        assert f"`{name}`" in learners


def test_every_public_name_has_a_docstring_with_an_example() -> None:
    classes = {
        "Advice",
        "Cost",
        "Estimate",
        "Guarantee",
        "Learner",
        "Plan",
        "Result",
        "Schedule",
        "Trajectory",
    }
    for module in (fallow, fallow.learners, fallow.planners, fallow.studies):
        for name in module.__all__:
            public = getattr(module, name)
            if callable(public):
                assert ">>>" in (public.__doc__ or "") or name in classes, name
