"""The tournament on the page: a table of shares, coloured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from fallow.arrays import FloatArray
from reproduction.figures import heat_colours
from reproduction.text import format_range
from reproduction.tournament.standing import Standing
from reproduction.tournament.tables import (
    at_end,
    describe_families,
    describe_knowledge,
    matrix,
    tuned,
)


def tournament_html(standings: Sequence[Standing]) -> str:
    """Return what each learner earned on each family and where it comes from, if it was played."""
    if not standings:
        return (
            "<p>This page was written without standings. <code>make tournament</code> plays every "
            "learner on every family; <code>make demo</code> then shows them here.</p>"
        )
    shown = at_end(tuned(standings))
    learners, families, shares = matrix(shown)
    runs = format_range(standing.runs for standing in shown)
    horizons = format_range(standing.rounds for standing in shown)
    seeds = format_range(standing.seed for standing in shown)
    return f"""<p>The command that wrote this page did not play the tournament. The shares were read
from the standings that <code>python -m reproduction tournament</code> writes: {len(learners)}
learners on {len(families)} families, {runs} runs of {horizons} rounds, seeds {seeds}.</p>
<p class=prose>Per cent of the optimum's reward that each learner earned, tuned if it has a
constant, mean over runs; brighter is better. {escape(describe_knowledge(shown))}
{escape(describe_families(shown))}</p>
<div class=scroll tabindex="0" role="region" aria-label="Shares by family and learner">
{_heat_table(learners, families, shares)}
</div>"""


def _heat_table(learners: Sequence[str], families: Sequence[str], shares: FloatArray) -> str:
    heads = (f"<th scope=col><span>{escape(learner)}</span></th>" for learner in learners)
    rows = (
        f"<tr><th scope=row>{escape(family)}</th>{''.join(map(_cell, earned))}</tr>"
        for family, earned in zip(families, shares.T.tolist(), strict=True)
    )
    return "\n".join(
        (
            "<table class=heat>",
            f"<thead><tr><th scope=col>family</th>{''.join(heads)}</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody></table>",
        )
    )


def _cell(share: float) -> str:
    if math.isnan(share):
        return "<td></td>"
    ground, ink = heat_colours(share)
    return f'<td style="background:{ground};color:{ink}">{100 * share:.0f}</td>'
