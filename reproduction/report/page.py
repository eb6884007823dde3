"""The report as one self-contained HTML file."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from string import Template

import numpy as np
from matplotlib.figure import Figure

from fallow import catalog
from fallow.arrays import FloatArray
from fallow.planners.ranking import transition_totals
from reproduction.claims.claim import count_verdicts
from reproduction.errata import errata_by_grade
from reproduction.figures import transition_figure
from reproduction.readings import SOURCE
from reproduction.report import readings
from reproduction.report.comparison import compare_with_paper, count_inside, tabulate
from reproduction.report.content import Content
from reproduction.report.exhibit import Exhibit, draw_exhibit
from reproduction.report.experiment import EXPERIMENT, Experiment
from reproduction.report.summary import answer_questions
from reproduction.report.tournament import tournament_html

PACKAGES = ("fallow", "numpy", "numba", "polars", "matplotlib")
SHORT = 20
"""Letters below which a cell of a table is not broken into lines."""


def html(content: Content) -> str:
    """Return the page."""
    template = files("reproduction.report").joinpath("page.html").read_text(encoding="utf-8")
    packages = [f"{package} {version(package)}" for package in PACKAGES]
    comparisons = compare_with_paper(content.results)
    compared = tabulate(comparisons)
    return Template(template).substitute(
        answers="\n".join(_answers(content)),
        figure_1=figure_1_exhibit().html(),
        sections="\n".join(_sections(content.results)),
        source=escape(SOURCE),
        published_counts=escape(count_inside(comparisons)),
        comparisons=_table(compared.head, compared.rows),
        notes="\n".join(f"<li>{escape(note)}</li>" for note in compared.notes),
        errata="\n".join(_errata()),
        readings_described=escape(readings.describe()),
        readings=_table(readings.HEAD, readings.rows(content.readings)),
        readings_concluded=escape(readings.CONCLUSION),
        claim_counts=escape(count_verdicts(content.findings)),
        claims="\n".join(_claim_rows(content)),
        draws=content.planners[0].draws,
        planners=_table(
            ("planner", "share of optimum, mean", "worst", "certificate, mean"),
            [
                (row.planner, f"{row.mean:.1%}", f"{row.worst:.1%}", f"{row.certificate:.1%}")
                for row in content.planners
            ],
        ),
        tournament=tournament_html(content.standings),
        versions=escape(", ".join([f"Python {platform.python_version()}", *packages])),
        experiments=_table(EXPERIMENT, [result.cells() for result in content.results]),
    )


def figure_1(stacked: bool = False) -> Figure:
    """Draw the paper's Figure 1 for two instances."""
    title = "Figure 1: totals of a play, by the play before"
    return transition_figure(_figure_1_totals(), title, stacked)


def _figure_1_totals() -> dict[str, FloatArray]:
    return {
        "Figure 3's two arms": transition_totals(catalog.figure3()),
        "three arms, f = 1/2": transition_totals(catalog.non_monotone_constant()),
    }


def figure_1_exhibit() -> Exhibit:
    """Return Figure 1 with a caption that says what a round trip earns."""
    totals = transition_totals(catalog.figure3())
    repeated, round_trip = totals[0, 0], totals[0, 1] + totals[1, 0]
    caption = (
        "What one play of a ranking policy (the arrow's head) earns in total right after a play of "
        "another (its tail), when the two alternate; loops are a policy after itself. With Figure "
        f"3's two arms both policies, repeated, earn {repeated:.3g} per round; a round trip of "
        f"three rounds earns {round_trip:.3g}, and three rounds of either policy {3 * repeated:.3g}"
        " (Fact 1)."
    )
    described = [_describe_totals(name, table) for name, table in _figure_1_totals().items()]
    description = " ".join(["Arrows between ranking policies carry totals.", *described])
    return draw_exhibit("1", caption, description, figure_1)


def _describe_totals(name: str, totals: FloatArray) -> str:
    """Say what the arrows of a graph carry."""
    earned = "; ".join(
        f"pi_{after + 1} after pi_{before + 1} earns {total:.3f}"
        for (before, after), total in np.ndenumerate(totals)
    )
    return f"{name[0].upper()}{name[1:]}: {earned}."


def _answers(content: Content) -> Iterator[str]:
    for question, answer, section in answer_questions(content):
        yield f'<dt><a href="#{section}">{escape(question)}</a></dt><dd>{escape(answer)}</dd>'


def _sections(results: Sequence[Experiment]) -> Iterator[str]:
    for section, group in groupby(results, key=lambda result: result.spec.section):
        yield f"<h3>{escape(section)}</h3>\n<div class=exhibits>"
        yield from (result.exhibit.html() for result in group)
        yield "</div>"


def _errata() -> Iterator[str]:
    for heading, group in errata_by_grade():
        first, _ = group[0]
        yield f"<h3>{escape(heading)}</h3>\n<ol class=notes start={first}>"
        for _, each in group:
            link = f' <a href="#{escape(each.claim)}">measured</a>' if each.claim else ""
            yield (
                f"<li><span class=place>{escape(each.place)}</span> {escape(each.wrong)}<br>\n"
                f"{escape(each.shown)}{link}</li>"
            )
        yield "</ol>"


def _claim_rows(content: Content) -> Iterator[str]:
    for claim, finding in content.findings:
        kind = finding.verdict.replace(" ", "-")
        yield f"""<tr id="{escape(claim.name)}">
<td data-head="claim">{escape(claim.statement)} <span class=place>{escape(claim.origin)}</span></td>
<td data-head="how it is checked">{escape(claim.method)} <span class=place>Slack:
{escape(claim.slack)}</span></td>
<td data-head="measured">{escape(finding.measured)}</td>
<td data-head="verdict"><span class="verdict {kind}">{finding.verdict}</span></td>
</tr>"""


def _cell(head: str, content: str) -> str:
    kind = "short" if len(content) < SHORT else "long"
    return f'<td class={kind} data-head="{escape(head)}">{escape(content)}</td>'


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; each cell carries its heading, for screens too narrow for columns."""
    lines = ["<table>", "<thead><tr>"]
    lines += [f"<th scope=col>{escape(head)}</th>" for head in header]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        cells = zip(header, row, strict=True)
        lines.append("<tr>")
        lines += [_cell(head, cell) for head, cell in cells]
        lines.append("</tr>")
    return "\n".join([*lines, "</tbody></table>"])
