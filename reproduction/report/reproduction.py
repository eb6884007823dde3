"""The comparison with the paper as a page of the documentation."""

from collections.abc import Iterator

from reproduction.claims.claim import count_verdicts
from reproduction.errata import Erratum, errata_by_grade
from reproduction.readings import SOURCE
from reproduction.report import readings
from reproduction.report.comparison import compare_with_paper, count_inside, tabulate
from reproduction.report.content import Content
from reproduction.report.experiment import EXPERIMENT
from reproduction.report.summary import answer_questions
from reproduction.text import markdown_table, markdown_text

INTRODUCTION = """# The paper, reproduced

Written by `python -m reproduction report`, which `make demo` runs; do not edit. The same command
writes two more files into its folder (`report/` for `make demo`): `index.html` with all figures,
and `ends.csv` with regret, switches and share of the optimum where each curve ends.

## What was found
"""
WRONG = """## Errata

Where the paper is wrong, by how much it matters: what is so, the smallest counterexample that we
know, and the claim below that measures it. [Theorems](theorems.md) has the proofs of the repairs.
"""
PUBLISHED = (
    "Regret against ghost after T rounds, with the cost of switches. Ours are means over runs with "
    f"95 % intervals of the mean, inside or outside the published band. {SOURCE}"
)
EXPERIMENTS = """## The experiments

Each is a file in `reproduction/experiments/`. The hash covers everything that decides its results.
"""


def markdown(content: Content) -> str:
    """Return the page; the same numbers give the same text."""
    comparisons = compare_with_paper(content.results)
    compared = tabulate(comparisons)
    claims = [
        (claim.name, claim.origin, claim.statement, finding.measured, finding.verdict)
        for claim, finding in content.findings
    ]
    return "\n".join(
        (
            INTRODUCTION,
            *(f"- **{line.question}** {line.answer}" for line in answer_questions(content)),
            "",
            WRONG,
            *_list_errata(),
            "## Published values and ours",
            "",
            f"{PUBLISHED} {count_inside(comparisons)}",
            "",
            *markdown_table(compared.head, compared.rows),
            "",
            *(
                f"{number}. {markdown_text(note)}"
                for number, note in enumerate(compared.notes, start=1)
            ),
            "",
            "## Figure 2: the readings of pi_low",
            "",
            readings.describe(),
            "",
            *markdown_table(readings.HEAD, readings.rows(content.readings)),
            "",
            readings.CONCLUSION,
            "",
            "## The claims",
            "",
            f"{count_verdicts(content.findings)}. `python -m reproduction claims` checks them "
            "alone, and says how.",
            "",
            *markdown_table(("name", "place", "claim", "measured", "verdict"), claims),
            "",
            EXPERIMENTS,
            *markdown_table(EXPERIMENT, [result.cells() for result in content.results]),
            "",
        )
    )


def _list_errata() -> Iterator[str]:
    for heading, group in errata_by_grade():
        yield f"### {heading}"
        yield from (_list_erratum(*pair) for pair in group)
        yield ""


def _list_erratum(number: int, erratum: Erratum) -> str:
    claim = f" (`{erratum.claim}`)" if erratum.claim else ""
    return f"- **{number}. {erratum.place}.** {erratum.wrong} {erratum.shown}{claim}"
