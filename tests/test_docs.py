"""The documentation names only what exists."""

import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import run_page
from typer.main import get_group

import fallow
from docs.fences import Fence, read_fences
from docs.pictures import FOLDER, PICTURES, svg
from fallow.cli import app
from fallow.learners.registry import LEARNERS
from fallow.studies.read import load_spec
from reproduction.claims.registry import CLAIMS
from reproduction.cli import app as reproduction_app

ROOT = Path(__file__).parent.parent
PAPER_MAP = (ROOT / "docs" / "explanation" / "paper-map.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\|.*\| `([\w.]+)` \| (?:`(\w+\.py)::(\w+)` )?\| (?:`([a-z0-9-]+)` )?\|$",
    PAPER_MAP,
    flags=re.MULTILINE,
)
DOCS = sorted((ROOT / "docs").rglob("*.md"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
COMMANDS = {
    "fallow": get_group(app).commands,
    "python -m reproduction": get_group(reproduction_app).commands,
}
COMMAND = re.compile(rf"(?:\w+=\S+ )*(make|{'|'.join(COMMANDS)}) ([a-z].*)")


def fences_of(page: Path) -> list[Fence]:
    """Return the blocks of a page that are code, or files."""
    return [fence for fence, _ in read_fences(page.read_text(encoding="utf-8"))]


def runs(page: Path) -> bool:
    """Tell whether a page has code that is run."""
    return any(fence.runs for fence in fences_of(page))


def name_of(page: Path) -> str:
    """Return where a page is."""
    return str(page.relative_to(ROOT))


def commands_of(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Return the commands in a page's text and blocks: the program, and what it is told."""
    text = page.read_text(encoding="utf-8")
    blocks = [fence.text for fence in fences_of(page) if fence.language in ("sh", "console")]
    inline = re.findall(r"`([^`\n]+)`", re.sub("```.*?```", "", text, flags=re.DOTALL))
    for line in "\n".join([*inline, *blocks]).replace("\\\n", " ").splitlines():
        for part in line.split(" # ")[0].split(" | "):
            if command := COMMAND.match(part):
                yield command[1], command[2].split()


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


def test_every_theorem_names_a_test_or_claim_that_exists() -> None:
    page = (ROOT / "docs" / "explanation" / "theorems.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d+)\]\(#.*?\) \|.*\| (.*?) \|$", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    headings = re.findall(r"^### (\d+)\. ", page, re.MULTILINE)
    assert headings == [number for number, _ in rows]
    for _, evidence in rows:
        files = re.findall(r"`(test_\w+\.py)(?:::(\w+))?`", evidence)
        claims = re.findall(r"claim `([\w-]+)`", evidence)
        assert files or claims
        assert set(claims) <= {each.name for each in CLAIMS}
        for file, test in files:
            text = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert not test or f"\ndef {test}(" in text


def test_every_claim_has_its_row() -> None:
    assert {claim for *_, claim in ROWS} - {""} == {claim.name for claim in CLAIMS}


def test_rows_say_where_the_paper_is_wrong() -> None:
    """What is false as printed has its repair there, and nothing else has one."""
    rows = [line for line in PAPER_MAP.splitlines() if line.startswith("| ")]
    for claim in CLAIMS:
        if not claim.variant_of:
            own = [row for row in rows if f"| `{claim.name}` |" in row]
            repaired = any("repaired" in row.lower() for row in own)
            assert repaired == (claim.expected == "holds as repaired"), claim.name


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=name_of)
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


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in DOCS if runs(page)], ids=name_of)
def test_code_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path)


@pytest.mark.parametrize("page", DOCS, ids=name_of)
def test_files_that_pages_show_load(page: Path, tmp_path: Path) -> None:
    fences = fences_of(page)
    for fence in fences:
        if fence.title:
            (tmp_path / fence.title).write_text(fence.text, encoding="utf-8")
    for fence in fences:
        if fence.language == "toml":
            path = tmp_path / (fence.title or "untitled.toml")
            path.write_text(fence.text, encoding="utf-8")
            if "learners" not in tomllib.loads(fence.text):
                assert fallow.plan(fallow.Instance.load(path)).certificate == pytest.approx(1)
            elif not re.search(r'= "\w+:\w+"', fence.text):  # such code is run by its page
                assert load_spec(path).learners


@pytest.mark.parametrize("page", [*DOCS, ROOT / "README.md"], ids=name_of)
def test_commands_and_their_options_exist(page: Path) -> None:
    for program, words in commands_of(page):
        if program == "make":
            assert set(words) <= TARGETS, words
        else:
            command = COMMANDS[program].get(words[0])
            assert command, f"{program} {words[0]}"
            known = {name for parameter in command.params for name in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= known, words


def test_commands_are_found_on_pages(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Type `fallow plan -`, or `fallow` with:\n```console\n"
        "fallow fit log.csv --arm \\\n    song | fallow plan -  # comment\nA=1 make test\n```\n"
    )
    assert list(commands_of(page)) == [
        ("fallow", ["plan", "-"]),
        ("fallow", ["fit", "log.csv", "--arm", "song"]),
        ("fallow", ["plan", "-"]),
        ("make", ["test"]),
    ]


def test_the_traps_of_logs_are_traps() -> None:
    text = (ROOT / "docs" / "guides" / "logs.md").read_text(encoding="utf-8")
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


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_beside_the_pages_are_those_of_the_site(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == svg(name)


def test_there_are_no_other_pictures() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(PICTURES)
