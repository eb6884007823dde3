"""Every claim has the verdict we know, and another one when what it is about is broken."""

import json
import re
from pathlib import Path

import pytest
from broken_twins import BREAKS, PASSES, Break
from helpers import run_command, runner

from fallow import optimal
from reproduction.claims import claim as claim_module
from reproduction.claims.claim import Claim, Finding
from reproduction.claims.registry import CLAIMS
from reproduction.cli import app

BY_NAME = {claim.name: claim for claim in CLAIMS}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_verdict_is_the_expected_one(name: str) -> None:
    finding = BY_NAME[name].check()
    assert finding.verdict == BY_NAME[name].expected, finding.measured


@pytest.mark.parametrize("name", ["figure-1", "figure-2"])
def test_a_check_finds_the_same_every_time(name: str) -> None:
    assert BY_NAME[name].check() == BY_NAME[name].check()


def test_names_are_slugs_and_differ() -> None:
    assert len(BY_NAME) == len(CLAIMS)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in BY_NAME)


def test_texts_are_plain_sentences() -> None:
    for claim in CLAIMS:
        for text in (claim.place, claim.statement, claim.method, claim.slack):
            assert text.isascii()
            assert "  " not in text
        assert claim.statement.endswith(".")
        assert claim.method.endswith(".")
        assert claim.slack.endswith(".")


def test_a_variant_is_not_counted_as_a_claim_of_the_paper() -> None:
    """Theorem 2 is one claim of the paper, though we check it in three forms."""
    theorem_2 = [claim for claim in CLAIMS if claim.place == "section 5, Theorem 2"]
    assert [claim.variant_of for claim in theorem_2] == ["", "theorem-2", "theorem-2"]
    assert {claim.variant_of for claim in CLAIMS} == {"", "theorem-2"}
    findings = [(claim, Finding("", claim.expected)) for claim in theorem_2]
    assert claim_module.count_verdicts(findings) == (
        "1 claim of the paper: 1 does not hold; "
        "2 variants of its claims: 1 holds, 1 holds as repaired"
    )
    assert claim_module.count_verdicts(findings[1:2]) == "1 variant of its claims: 1 holds"
    holding = [claim for claim in CLAIMS if claim.expected == "holds" and not claim.variant_of]
    everything = [(claim, Finding("", claim.expected)) for claim in CLAIMS]
    expected = f"{len(CLAIMS) - 2} claims of the paper: {len(holding)} hold, "
    assert claim_module.count_verdicts(everything).startswith(expected)


def test_every_claim_file_is_listed() -> None:
    written = 0
    for path in Path(claim_module.__file__).parent.glob("*.py"):
        written += path.read_text(encoding="utf-8").count(" = Claim(\n")
    assert written == len(CLAIMS)


def _names(cases: list[tuple[str, str, Break]]) -> list[str]:
    return [f"{name}: {damage}" for name, damage, _ in cases]


def test_every_claim_can_come_out_otherwise() -> None:
    assert {name for name, _, _ in BREAKS} == set(BY_NAME)


@pytest.mark.parametrize(("name", "_", "damage"), PASSES, ids=_names(PASSES))
def test_what_is_broken_within_the_slack_passes(
    name: str, _: str, damage: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(monkeypatch)
    monkeypatch.setattr("fallow.studies.workers.cores", lambda: 1)
    finding = BY_NAME[name].check()
    assert finding.verdict == BY_NAME[name].expected, finding.measured


@pytest.mark.parametrize(("name", "_", "damage"), BREAKS, ids=_names(BREAKS))
def test_what_is_broken_changes_the_verdict(
    name: str, _: str, damage: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(monkeypatch)
    # Worker processes would not see the damage.
    monkeypatch.setattr("fallow.studies.workers.cores", lambda: 1)
    finding = BY_NAME[name].check()
    assert finding.verdict != BY_NAME[name].expected, finding.measured


def test_claims_are_printed_with_their_verdicts() -> None:
    output = run_command("claims", "not-monotone", "greedy-ratio", app=app)
    assert re.search(r"^does not hold  greedy-ratio  section 3, the example$", output, re.MULTILINE)
    assert output.index("greedy-ratio") < output.index("not-monotone")
    assert "Measured: g = 0.5000, 0.4167, 0.7222\n" in output
    assert "Slack: Gains may be off by 0.08.\n" in output
    assert "2 claims of the paper: 1 holds, 1 does not hold\n" in output
    assert all(line == line.rstrip() for line in output.splitlines())


def test_the_counts_stay_on_one_line() -> None:
    output = run_command("claims", "theorem-2-equal-delays", "greedy-ratio", "greedy", app=app)
    assert output.splitlines()[-1] == (
        "2 claims of the paper: 1 holds, 1 does not hold; 1 variant of its claims: 1 holds"
    )


def test_json_has_one_row_a_claim() -> None:
    (row,) = json.loads(run_command("claims", "theorem-2-equal-delays", "--json", app=app))
    claim = BY_NAME["theorem-2-equal-delays"]
    measured, verdict = claim.check()
    assert row == {
        "name": claim.name,
        "place": claim.place,
        "statement": claim.statement,
        "method": claim.method,
        "measured": measured,
        "verdict": verdict,
        "expected": claim.expected,
        "slack": claim.slack,
        "variant_of": "theorem-2",
    }


def test_a_surprise_ends_with_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.claims.planning.greedy", optimal)
    result = runner.invoke(app, ("claims", "greedy", "not-monotone"))
    assert result.exit_code == 1
    assert "does not hold  greedy" in result.stdout
    assert result.stderr.endswith("fallow: greedy must come out as 'holds'\n")


def test_an_unknown_name_ends_with_exit_code_2() -> None:
    result = runner.invoke(app, ("claims", "greedy", "fact1"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "got 'fact1'; did you mean 'fact-1'?" in result.stderr
    assert result.stderr.count("\n") == 1


def test_progress_hears_of_each_claim_once_it_is_checked() -> None:
    heard: list[int] = []

    def check() -> Finding:
        return Finding(f"{len(heard)} before", "holds")

    claims = [Claim(name, "", "", "", "holds", "", check) for name in ("one", "two")]
    results = claim_module.run(claims, on_claim=heard.append)
    assert heard == [1, 1]
    assert [finding.measured for _, finding in results] == ["0 before", "1 before"]
