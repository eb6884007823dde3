"""A claim of the paper, how it is checked, and what a check finds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["holds", "holds as repaired", "does not hold"]


class Finding(NamedTuple):
    """What a check measured, in words and numbers, and the verdict that follows from it."""

    measured: str
    verdict: Verdict


@dataclass(frozen=True)
class Claim:
    """A claim of the paper with its check.

    Attributes
    ----------
    name
        Short name for the command line, such as "theorem-3".
    place
        Where the paper says it.
    statement
        What it says, in our words.
    method
        How it is checked.
    expected
        The verdict that we know to be right; any other is a surprise.
    check
        Measures and judges; seeded, so it finds the same every time.
    """

    name: str
    place: str
    statement: str
    method: str
    expected: Verdict
    check: Callable[[], Finding]


def verdict(holds: bool, repaired: bool = False) -> Verdict:
    """Return the verdict on a claim that holds as printed, only as repaired, or not at all."""
    if holds:
        return "holds"
    return "holds as repaired" if repaired else "does not hold"


def run(
    claims: Iterable[Claim], on_claim: Callable[[int], None] = lambda _: None
) -> list[tuple[Claim, Finding]]:
    """Check the claims in order; `on_claim` is called with 1 after each, for progress."""
    findings = []
    for claim in claims:
        findings.append((claim, claim.check()))
        on_claim(1)
    return findings
