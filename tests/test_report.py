"""The report: what it says, and how it looks in a browser."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import get_args

import pytest
from browser import Browser, browser
from helpers import runner

from fallow import ghost, optimal, transition_totals
from fallow.catalog import figure2, figure3
from fallow.figures import image
from fallow.studies.draw import draw
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.summarize import summarize
from reproduction.claims.claim import Finding, Verdict
from reproduction.claims.registry import CLAIMS
from reproduction.cli import app
from reproduction.report.content import Content, PlannerRow, Result, compare_planners
from reproduction.report.page import figure_1, html
from reproduction.report.reproduction import markdown
from reproduction.tournament import load_standings

ROOT = Path(__file__).parent.parent
EXPERIMENTS = ROOT / "reproduction" / "experiments"
SCREENSHOTS = ROOT / "build" / "screenshots"
SPECS = [load_spec(path) for path in sorted((EXPERIMENTS).glob("*.toml"))]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """All experiments of the paper, cut down to two short runs each, and claims unchecked."""
    results = []
    for spec in sorted(SPECS, key=lambda spec: spec.name):
        folder = tmp_path_factory.mktemp(spec.name)
        if spec.sweep is not None and spec.sweep[0] == "horizon":
            spec = replace(spec, sweep=("horizon", (1_000, 2_000)))
        run(replace(spec, runs=2, horizon=min(spec.horizon, 2_000)), folder)
        spec, curves = summarize(folder)
        results.append(Result(spec, curves, image(partial(draw, spec, curves), "svg")))
    findings = [(claim, Finding("17 & <b>4</b>", claim.expected)) for claim in CLAIMS]
    standings = load_standings(ROOT / "docs" / "tournament.json")
    return Content(results, findings, [PlannerRow("ghost", 0.8, 0.7, 0.6)], standings)


@pytest.fixture(scope="module")
def page(content: Content, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(html(content), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if shutil.which("chromedriver") is None or shutil.which("chromium") is None:
        pytest.skip("there is no browser: install chromium and chromium-driver")
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


SCREENS = [
    ("light", 1280, 800),
    ("dark", 1280, 800),
    ("light", 375, 812),
    ("dark", 375, 812),
]


@pytest.mark.parametrize(("scheme", "width", "height"), SCREENS)
def test_the_page_looks_right_on_every_screen(
    tab: Browser, page: Path, scheme: str, width: int, height: int
) -> None:
    tab.show_as(scheme, width, height)
    tab.open(page)
    assert tab.logs() == []
    pictures = tab.value(
        "[...document.images].map(image => [image.complete, image.naturalWidth, image.currentSrc])"
    )
    assert len(pictures) == len(SPECS) + 2
    assert all(complete and size > 200 for complete, size, _ in pictures)
    assert tab.value("document.querySelectorAll('#claims-table tbody tr').length") == len(CLAIMS)
    # Nothing but the figures' own boxes may be wider than the screen.
    assert tab.value("document.documentElement.scrollWidth") <= width
    ground = tab.value("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / f"report-{width}-{scheme}.png").write_bytes(tab.screenshot())


def test_pictures_follow_the_colour_scheme(tab: Browser, page: Path) -> None:
    sources = []
    for scheme in ("light", "dark"):
        tab.show_as(scheme, 1280, 800)
        tab.open(page)
        sources.append(tab.value("[...document.images].map(image => image.currentSrc)"))
    light, dark = sources
    assert all(one != other for one, other in zip(light, dark, strict=True))


def test_the_page_needs_nothing_else(tab: Browser, page: Path) -> None:
    tab.open(page)
    resources = tab.value("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert all(name.startswith("data:") for name in resources)
    assert "http" not in re.sub(r"data:image/[^\"]*", "", page.read_text(encoding="utf-8"))


def test_links_lead_to_places_on_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r'href="#([^"]+)"', text)
    assert len(targets) == 7
    assert all(f'id="{target}"' in text for target in targets)


def test_the_page_says_what_was_found(content: Content, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "17 &amp; &lt;b&gt;4&lt;/b&gt;" in text  # measured text is not taken for HTML
    failing = [claim for claim in CLAIMS if claim.expected == "does not hold"]
    assert text.count('class="verdict does-not-hold"') == len(failing)
    counts = [sum(claim.expected == verdict for claim in CLAIMS) for verdict in get_args(Verdict)]
    holding, repaired, wrong = counts
    assert f"{holding} hold, {repaired} hold\nonce repaired, and {wrong} do not hold" in text
    for result in content.results:
        assert f'id="figure-{result.spec.name}"' in text
        assert result.spec.digest()[:12] in text
    assert "$" not in re.sub(r"data:image/[^\"]*", "", text)


def test_published_values_are_compared(content: Content) -> None:
    comparisons = content.comparisons()
    assert len(comparisons) == sum(len(spec.published) for spec in SPECS)
    exact = [each for each in comparisons if each.spec.name == "figure3-noise-free"]
    assert [round(each.mean, 1) for each in exact] == [296.6, 5.8, -36.4, -1.2]
    assert all(each.agrees for each in exact)
    assert all(each.cells()[5:] == ("yes", "") for each in exact)
    noisy = [each for each in comparisons if each.spec.name == "figure3-bernoulli"]
    assert [each.agrees for each in noisy] == [False, True, False, True]
    assert noisy[0].cells()[5] == "no"
    assert "without noise" in noisy[0].cells()[6]


def test_every_published_value_that_we_miss_has_its_reason() -> None:
    """In the page that `make demo` wrote; its rows are of the specs as they are now."""
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| (yes|no) \| (.*) \|$", text, flags=re.MULTILINE)
    assert len(rows) == sum(len(spec.published) for spec in SPECS)
    assert all((verdict == "yes") == (reason.strip() == "") for verdict, reason in rows)
    for spec in SPECS:
        assert f"{spec.name} ({spec.digest()[:12]})" in text
    for claim in CLAIMS:
        assert claim.statement in text


def test_tables_of_the_documentation_are_whole(content: Content) -> None:
    first, *others = content.results
    odd = replace(first.spec, title="a | b")
    changed = replace(content, results=[replace(first, spec=odd), *others])
    tables = [block.splitlines() for block in markdown(changed).split("\n\n") if block[0] == "|"]
    assert len(tables) == 3
    for head, line, *rows in tables:
        assert rows
        for row in (line, *rows):
            assert row.replace(r"\|", "").count("|") == head.count("|")
    last = content.results[-1].curves[-1]
    assert f"{last.regret.mean[-1]:,.1f}" in markdown(content)


def test_planners_are_compared_with_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.report.content.DRAWS", 3)
    rows = {row.planner: row for row in compare_planners()}
    assert rows["optimal"].worst == pytest.approx(1)
    assert rows["ghost"].mean < rows["whittle"].mean <= 1 + 1e-12
    shares = [ghost(figure2(seed)).gain / optimal(figure2(seed)).gain for seed in range(3)]
    assert rows["ghost"].worst == pytest.approx(min(shares))
    assert rows["ghost"].mean == pytest.approx(mean(shares))
    for row in rows.values():
        assert row.certificate <= row.mean + 1e-9
        assert row.worst <= row.mean


def test_figure_1_has_the_totals_where_they_belong() -> None:
    """An arrow from pi_1 to pi_2 carries what a play of pi_2 earns after one of pi_1."""
    texts = [text.get_text() for text in figure_1().axes[0].texts]
    totals = transition_totals(figure3())
    place = {text: number for number, text in enumerate(texts)}
    assert place[f"{totals[0, 1]:.3f}"] < place[r"$\pi_2$"] < place[f"{totals[1, 0]:.3f}"]


def test_one_command_writes_it_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr("reproduction.claims.registry.CLAIMS", CLAIMS[1:3])
    monkeypatch.setattr("reproduction.report.content.DRAWS", 2)
    monkeypatch.setattr("reproduction.cli.report.warn_of_surprises", seen.append)
    files = [str(EXPERIMENTS / f"{name}.toml") for name in ("figure3", "figure2")]
    words = ["report", *files, "--out", str(tmp_path / "out"), "--reproduction"]
    result = runner.invoke(app, [*words, str(tmp_path / "reproduction.md")])
    assert result.exit_code == 0, result.stderr
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert text.index("Figure 2 as described") < text.index("Figure 3 as described")
    assert (tmp_path / "out" / "results" / "figure2" / "figure.png").exists()
    assert len(seen) == 1
    assert "| does not hold |" in (tmp_path / "reproduction.md").read_text(encoding="utf-8")
