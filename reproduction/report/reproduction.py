"""The comparison with the paper as a page of the documentation."""

from collections.abc import Iterable, Iterator, Sequence

from reproduction.report.content import COMPARED, Content, Result

INTRODUCTION = """# The paper, reproduced

Written by `make demo`; do not edit. The experiments are in `reproduction/experiments/`, their figures in
`report/index.html`, which the same command writes.

## Published values and ours

Regret against ghost at T = 1,000. Published values are read off the printed figures, with their
band or the error of reading; ours are means with 95 % intervals.
"""
RESULTS = """## Where the experiments end

Means over runs at the last round, regret with its 95 % interval.
"""
ENDS = (
    "experiment",
    "sweep",
    "cost",
    "learner",
    "regret",
    "5 % to 95 % of runs",
    "switches",
    "share of optimum",
)


def markdown(content: Content) -> str:
    """Return the page; the same numbers give the same text."""
    claims = [
        (claim.place, claim.statement, finding.measured, finding.verdict)
        for claim, finding in content.findings
    ]
    ends = [row for result in content.results for row in _ends(result)]
    return "\n".join(
        (
            INTRODUCTION,
            *_table(COMPARED, [each.cells() for each in content.comparisons()]),
            "\n## The claims\n",
            *_table(("place", "claim", "measured", "verdict"), claims),
            "",
            RESULTS,
            *_table(ENDS, ends),
            "",
        )
    )


def _ends(result: Result) -> Iterator[tuple[str, ...]]:
    for curve in result.curves:
        yield (
            f"{result.spec.name} ({result.spec.digest()[:12]})",
            "" if curve.point is None else f"{curve.point:g}",
            f"{curve.switching_cost:g}",
            curve.learner,
            *curve.ends(),
        )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", r"\|") for cell in row] for row in (header, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return [lines[0], "|---" * len(header) + "|", *lines[1:]]
