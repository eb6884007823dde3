"""`reproduction claims`: what the paper claims, checked."""

import json
import sys
from collections.abc import Sequence
from textwrap import fill, indent
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from fallow import checks
from fallow.cli.app import user_mistakes
from reproduction.claims.claim import Claim, Finding, count_verdicts, run
from reproduction.claims.registry import CLAIMS
from reproduction.cli.app import app

STYLES = {"holds": "green", "holds as repaired": "yellow", "does not hold": "red"}


@app.command("claims")
def claims_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Only these claims.", metavar="[NAME]...")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check what the paper claims, and say which claims hold."""
    from fallow.cli.progress import progress_bar  # slow to import, and not needed for --help

    with user_mistakes():
        for name in names or []:
            checks.one_of("NAME", name, [claim.name for claim in CLAIMS])
        chosen = [claim for claim in CLAIMS if not names or claim.name in names]
        with progress_bar("claims", len(chosen), "nothing is kept") as bar:
            results = run(chosen, bar.advance)
        if as_json:
            print(json.dumps([_row(claim, finding) for claim, finding in results], indent=2))
        else:
            _print_results(results)
        warn_of_surprises(results)


def warn_of_surprises(results: Sequence[tuple[Claim, Finding]]) -> None:
    """End with exit code 1 if some verdict is not the one expected, and say which."""
    surprises = [claim for claim, finding in results if finding.verdict != claim.expected]
    for claim in surprises:
        print(f"fallow: {claim.name} must come out as {claim.expected!r}", file=sys.stderr)
    if surprises:
        raise typer.Exit(1)


def _row(claim: Claim, finding: Finding) -> dict[str, str | bool]:
    return {
        "name": claim.name,
        "place": claim.place,
        "statement": claim.statement,
        "method": claim.method,
        "measured": finding.measured,
        "verdict": finding.verdict,
        "expected": claim.expected,
        "slack": claim.slack,
        "variant_of": claim.variant_of,
        "open_question": claim.open_question,
    }


def _print_results(results: Sequence[tuple[Claim, Finding]]) -> None:
    console = Console(highlight=False)
    for claim, finding in results:
        console.print(
            Text.assemble(
                (finding.verdict, f"bold {STYLES[finding.verdict]}"),
                "  ",
                (claim.name, "bold"),
                f"  {claim.origin}",
            )
        )
        for line in (
            claim.statement,
            f"Checked: {claim.method}",
            f"Slack: {claim.slack}",
            f"Measured: {finding.measured}",
        ):
            console.print(Text(indent(fill(line, console.width - 4), "    ")))
    console.print(f"\n{count_verdicts(results)}", soft_wrap=True)
