"""A report of a few short runs, and its page."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fallow.studies.read import load_spec
from fallow.studies.run import run
from reproduction.claims.claim import Finding
from reproduction.claims.registry import CLAIMS
from reproduction.readings import scan
from reproduction.report.content import Content, PlannerRow
from reproduction.report.experiment import read_experiment
from reproduction.report.page import html
from reproduction.tournament.standing import load_standings

ROOT = Path(__file__).parent.parent
EXPERIMENTS = ROOT / "reproduction" / "experiments"
SPECS = [load_spec(path) for path in sorted(EXPERIMENTS.glob("*.toml"))]


def short_content(folders: pytest.TempPathFactory) -> Content:
    """Return all experiments of the paper, cut down to a few short runs, and claims unchecked."""
    results = []
    for spec in sorted(SPECS, key=lambda spec: spec.name):
        folder = folders.mktemp(spec.name)
        if spec.sweep is not None and spec.sweep[0] == "horizon":
            spec = replace(spec, sweep=("horizon", (1_000, 2_000)))
        runs = 2 if spec.runs == 5 else 3
        run(replace(spec, runs=runs, horizon=min(spec.horizon, 2_000)), folder)
        results.append(read_experiment(folder))
    findings = [(claim, Finding("17 & <b>4</b>", claim.expected)) for claim in CLAIMS]
    standings = load_standings(ROOT / "docs" / "explanation" / "tournament.json")
    planners = [PlannerRow("ghost", 13, 0.8, 0.7, 0.6), PlannerRow("beam", 13, 0.9, 0.8, 0.7)]
    return Content(results, findings, planners, scan(runs=20), standings)


def write_page(content: Content, folder: Path) -> Path:
    path = folder / "index.html"
    path.write_text(html(content), encoding="utf-8")
    return path


def without_pictures(page: Path) -> str:
    """Return the text of the page, without the contents of its pictures."""
    return re.sub(r"data:image/[^\"]*", "", page.read_text(encoding="utf-8"))
