"""The report as one self-contained HTML file."""

from __future__ import annotations

import platform
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from html import escape
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from string import Template

from matplotlib.figure import Figure

from fallow import catalog
from fallow.studies.draw import draw
from reproduction.tournament import Standing, matrix
from fallow.figures import DARK, heat_figure, image, transition_figure
from fallow.planners.ranking import transition_totals
from reproduction.report.content import COMPARED, DRAWS, Content, Result

PACKAGES = ("fallow", "numpy", "numba", "polars", "matplotlib")
SHORT = 20
"""Letters below which a cell of a table is not broken into lines."""
TOURNAMENT = """Share of the optimum's reward that each learner earned, mean over runs, brighter is
better. The first four are told the order of the arms, ucb-greedy the delays, the last three follow a
plan made with full knowledge; the others start from nothing but a bound on the delays. On the last
three families what learners assume or are told is wrong."""
FIGURE_1 = """What one play of a ranking policy (the arrow's head) earns in total right after a play
of another (its tail), when the two alternate; loops are a policy after itself. Left, Figure 3's two
arms: both policies earn 0.7 a round when repeated, but a round trip earns more than three rounds of
0.7, so switching pays (Fact 1). Right, three arms with constant f = 1/2."""


def html(content: Content, on_figure: Callable[[int], None] = lambda _: None) -> str:
    """Return the page; `on_figure` is called with 1 after each experiment's figure."""
    template = files("reproduction.report").joinpath("page.html").read_text(encoding="utf-8")
    verdicts = [finding.verdict for _, finding in content.findings]
    packages = [f"{package} {version(package)}" for package in PACKAGES]
    return Template(template).substitute(
        figure_1=_exhibit("1", "Figure 1", image(figure_1, "svg"), figure_1, FIGURE_1),
        sections="\n".join(_sections(content.results, on_figure)),
        comparisons=_table(COMPARED, [each.cells() for each in content.comparisons()]),
        claim_count=len(verdicts),
        holding=verdicts.count("holds"),
        repaired=verdicts.count("holds as repaired"),
        failing=verdicts.count("does not hold"),
        claims="\n".join(_claim_rows(content)),
        draws=DRAWS,
        planners=_table(
            ("planner", "share of optimum, mean", "worst", "certificate, mean"),
            [
                (row.planner, f"{row.mean:.1%}", f"{row.worst:.1%}", f"{row.certificate:.1%}")
                for row in content.planners
            ],
        ),
        tournament=_tournament(content.standings),
        versions=escape(", ".join([f"Python {platform.python_version()}", *packages])),
        experiments=_table(
            ("experiment", "runs", "seed", "hash of the spec"),
            [
                (spec.name, f"{spec.runs:,}", str(spec.seed), spec.digest()[:12])
                for spec in (result.spec for result in content.results)
            ],
        ),
    )


def figure_1() -> Figure:
    """Draw the paper's Figure 1 for two instances."""
    totals = {
        "Figure 3's instance": transition_totals(catalog.figure3()),
        "three arms, f = 1/2": transition_totals(catalog.non_monotone_constant()),
    }
    return transition_figure(totals, "Figure 1: totals of a play, by the play before")


def _sections(results: Sequence[Result], on_figure: Callable[[int], None]) -> Iterator[str]:
    for section, group in groupby(results, key=lambda result: result.spec.section):
        yield f"<h3>{escape(section)}</h3>\n<div class=exhibits>"
        for result in group:
            spec = result.spec
            drawing = partial(draw, spec, result.curves)
            yield _exhibit(spec.name, spec.title, result.figure, drawing, spec.caption)
            on_figure(1)
        yield "</div>"


def _tournament(standings: Sequence[Standing]) -> str:
    """Return the heat map of a tournament, if there was one."""
    if not standings:
        return "<p>Run <code>make tournament</code> to see every learner on every family.</p>"
    drawing = partial(heat_figure, *matrix(standings))
    exhibit = _exhibit("tournament", "Heat map", image(drawing, "svg"), drawing, TOURNAMENT)
    return f"<div class=exhibits>\n{exhibit}\n</div>"


def _exhibit(
    name: str, title: str, figure: bytes, drawing: Callable[[], Figure], caption: str
) -> str:
    """Return a figure, and the same drawn for dark ground, with its caption."""
    light, dark = (
        "data:image/svg+xml;base64," + b64encode(picture).decode()
        for picture in (figure, image(drawing, "svg", DARK))
    )
    kind = "wide" if len(drawing().axes) > 1 else "single"
    return f"""<figure id="figure-{escape(name)}" class={kind}>
<div class=scroll><picture>
<source media="(prefers-color-scheme: dark)" srcset="{dark}">
<img src="{light}" alt="{escape(title)}">
</picture></div>
<figcaption>{escape(caption)}</figcaption>
</figure>"""


def _claim_rows(content: Content) -> Iterator[str]:
    for claim, finding in content.findings:
        kind = finding.verdict.replace(" ", "-")
        yield f"""<tr id="{escape(claim.name)}">
<td data-head="claim">{escape(claim.statement)} <span class=place>{escape(claim.place)}</span></td>
<td data-head="how it is checked">{escape(claim.method)}</td>
<td data-head="measured">{escape(finding.measured)}</td>
<td data-head="verdict"><span class="verdict {kind}">{finding.verdict}</span></td>
</tr>"""


def _cell(head: str, content: str) -> str:
    kind = "short" if len(content) < SHORT else "long"
    return f'<td class={kind} data-head="{escape(head)}">{escape(content)}</td>'


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; each cell carries its heading, for screens too narrow for columns."""
    lines = ["<table>", "<thead><tr>"]
    lines += [f"<th>{escape(head)}</th>" for head in header]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        cells = zip(header, row, strict=True)
        lines.append("<tr>")
        lines += [_cell(head, cell) for head, cell in cells]
        lines.append("</tr>")
    return "\n".join([*lines, "</tbody></table>"])
