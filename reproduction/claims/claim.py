"""A claim of the paper, how it is checked, and what a check finds."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["holds", "holds as repaired", "does not hold"]
"""How a claim of the paper comes out; the same situation gets the same word.

"holds": as printed. "holds as repaired": false as printed, but a repair is given in the statement,
and checked. "does not hold": false, and no repair is known. A restriction is a repair.
"""
PLURALS: dict[Verdict, str] = {
    "holds": "hold",
    "holds as repaired": "hold as repaired",
    "does not hold": "do not hold",
}
KINDS = {
    "claim of the paper": "claims of the paper",
    "variant of its claims": "variants of its claims",
    "open question": "open questions",
}
"""What is checked, and its plural; each kind is counted apart."""


class Finding(NamedTuple):
    """What a check measured, in words and numbers, and the verdict that follows from it."""

    measured: str
    verdict: Verdict


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, or a variant of one, with its check.

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
    slack
        How wrong an implementation could be and still come out as expected.
    check
        Measures and judges; seeded, so it finds the same every time.
    variant_of
        Name of the paper's claim that this one restricts or repairs; empty for the paper's own.
    open_question
        Whether the paper asks this and does not claim it.
    """

    name: str
    place: str
    statement: str
    method: str
    expected: Verdict
    slack: str
    check: Callable[[], Finding]
    variant_of: str = ""
    open_question: bool = False

    @property
    def kind(self) -> str:
        """Which of `KINDS` it is."""
        own, variant, question = KINDS
        if self.open_question:
            return question
        return variant if self.variant_of else own

    @property
    def origin(self) -> str:
        """Where the paper says it, and whether it says it so."""
        return f"{self.place}; variant of {self.variant_of}" if self.variant_of else self.place


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


def count_verdicts(findings: Sequence[tuple[Claim, Finding]]) -> str:
    """Return how the paper's claims came out, and apart from them our variants and its questions.

    Examples
    --------
    >>> from dataclasses import replace
    >>> claim = Claim("one", "section 1", "It is so.", "By proof.", "holds", "None.", lambda: found)
    >>> found = Finding("always", "holds")
    >>> count_verdicts([(claim, found), (replace(claim, open_question=True), found)])
    '1 claim of the paper: 1 holds; 1 open question: 1 holds'
    """
    counts = []
    for kind in KINDS:
        verdicts = Counter(finding.verdict for claim, finding in findings if claim.kind == kind)
        if verdicts:
            number = verdicts.total()
            noun = kind if number == 1 else KINDS[kind]
            counts.append(f"{number} {noun}: {_list_counts(verdicts)}")
    return "; ".join(counts)


def _list_counts(verdicts: Counter[Verdict]) -> str:
    found = ((verdicts[verdict], verdict, plural) for verdict, plural in PLURALS.items())
    return ", ".join(
        f"{number} {one if number == 1 else several}" for number, one, several in found if number
    )
