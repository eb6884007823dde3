"""What is written about the package in several places is the same in all of them."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers import PROJECT, ROOT
from packaging.requirements import Requirement

import fallow
from fallow.extras import EXTRAS

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read_yaml(path: Path) -> Any:
    return msgspec.yaml.decode(path.read_bytes())


def run_lines(workflow: Path) -> list[str]:
    """Return the commands of a workflow."""
    jobs = read_yaml(workflow)["jobs"].values()
    steps = [step for job in jobs for step in job.get("steps", [])]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def test_the_version_is_the_projects() -> None:
    assert fallow.__version__ == PROJECT["version"]
    with pytest.raises(AttributeError, match=r"^module 'fallow' has no attribute '__versions__'$"):
        fallow.__versions__  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.slow
def test_importing_the_package_imports_nothing_and_installs_no_signal_handler() -> None:
    code = """
import signal, sys
before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
import fallow
after = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
ours = [name for name in sys.modules if name.startswith(("fallow", "numpy", "importlib.metadata"))]
print(ours, before == after)
"""
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout == "['fallow'] True\n"


def test_every_public_name_is_there() -> None:
    for name in fallow.__all__:
        value = getattr(fallow, name)
        assert getattr(value, "__module__", value.__name__).startswith("fallow.")
    assert set(fallow.__all__) <= set(dir(fallow))


def test_every_library_of_an_extra_is_known_by_it() -> None:
    """All but those that the package does not import: polars does, or who builds it."""
    extras = {
        requirement.name: extra
        for extra, requirements in PROJECT["optional-dependencies"].items()
        for requirement in map(Requirement, requirements)
        if extra not in ("dev", "docs", "pandas") and requirement.name != "fallow"
    }
    assert extras == EXTRAS


def test_every_library_that_is_imported_is_declared() -> None:
    """A library that only comes with another one may be gone in its next release."""
    imported = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
    foreign = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names - {"fallow"}
    declared = {Requirement(each).name for each in PROJECT["dependencies"]} | EXTRAS.keys()
    assert foreign - declared == set()


def test_the_pinned_versions_are_within_the_bounds() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines)
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    checked = set()
    for requirement in (Requirement(line) for group in groups for line in group):
        if requirement.name != "fallow":
            assert pinned[requirement.name] in requirement.specifier, requirement
            checked.add(requirement.name)
    assert checked >= {"numpy", "starlette", "uvicorn", "psycopg"}


def test_releases_with_known_holes_are_not_installed() -> None:
    extras = PROJECT["optional-dependencies"]
    bounds = {
        each.name: each.specifier for each in map(Requirement, extras["serve"] + extras["cli"])
    }
    assert "0.49.0" not in bounds["starlette"]  # CVE-2025-62727
    assert "1.0.1" not in bounds["starlette"]  # CVE-2026-48818
    assert "3.20.2" not in bounds["filelock"]  # CVE-2026-22701
    assert "0.55.0" not in bounds["uvicorn"]  # whose internals are used


def test_the_citation_is_of_this_package() -> None:
    citation = read_yaml(ROOT / "CITATION.cff")
    assert citation["title"] == PROJECT["name"]
    assert citation["abstract"] == PROJECT["description"]
    assert citation["authors"] == PROJECT["authors"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Source"]
    assert citation["url"] == PROJECT["urls"]["Documentation"]
    assert citation["version"] == PROJECT["version"]


def test_the_changelog_begins_with_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\S+)", changelog, flags=re.MULTILINE)
    assert versions[versions[0] == "Unreleased"] == PROJECT["version"]


def test_tests_run_on_every_python_that_is_promised() -> None:
    matrix = read_yaml(ROOT / ".github" / "workflows" / "test.yml")["jobs"]["fast"]["strategy"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["matrix"]["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_there_is(workflow: Path) -> None:
    (targets,) = re.findall(r"^\.PHONY: (.*)", MAKEFILE, flags=re.MULTILINE)
    lines = run_lines(workflow)
    assert lines
    for line in lines:
        program, *arguments = line.split()
        if program == "make":
            assert set(arguments) <= set(targets.split())
        else:
            assert program in ("git", "python") or (ROOT / program).exists(), line


def test_commits_are_checked_as_by_make() -> None:
    (repository,) = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"] for hook in repository["hooks"]]
    (lines,) = re.findall(r"^lint: .*\n((?:\t.*\n)+)", MAKEFILE, flags=re.MULTILINE)
    assert entries == [line.strip().replace("$(BIN)", ".venv/bin") for line in lines.splitlines()]
