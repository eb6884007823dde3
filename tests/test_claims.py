"""Every claim has the verdict we know, and another one when what it is about is broken."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import broken_twins as twins
import pytest
from helpers import run_command, runner

from fallow import BanditRanker, Instance, LowSwitch, decay, gain, optimal
from fallow.planners import Plan, maintenance
from reproduction.claims import claim as claim_module
from reproduction.claims.claim import Claim, Finding
from reproduction.claims.registry import CLAIMS
from reproduction.cli import app
from reproduction.readings import scan

BY_NAME = {claim.name: claim for claim in CLAIMS}
BREAKS: list[tuple[str, str, twins.Break]] = [
    ("same-arm-seldom", "repeats the best arm", twins.repeat_best_arm),
    ("ghost-bigger", "delays off by one", twins.delays_off_by_one),
    ("best-policy-stays", "widths x 0.1", twins.scale_widths(0.1)),
    ("theorem-4", "tired arms sampled", twins.sample_tired_arms),
    ("calibration", "groups played once", twins.sample_tired_arms),
    ("theorem-2-repaired", "factor 0", twins.promise(0.0)),
    (
        "constant-factor",
        "ghost is the optimum",
        twins.replace("reproduction.claims.ranking.ghost", optimal),
    ),
    (
        "ucb-gap-free",
        "no exploration",
        twins.replace("reproduction.claims.learning.RankingUCB", twins.Stubborn),
    ),
    ("incomparable-with-recharging", "delays off by one", twins.delays_off_by_one),
    (
        "blocking-special-case",
        "f = 0.9",
        twins.replace("fallow.decay.constant", lambda _: decay.table([0.9] * 10)),
    ),
    (
        "ordinary-bandit",
        "decay of 1e-12",
        twins.replace(
            "reproduction.claims.planning.decay.constant", lambda _: decay.table([1e-12] * 4)
        ),
    ),
    (
        "periodic",
        "greedy plans ahead",
        twins.replace("reproduction.claims.planning.greedy", optimal),
    ),
    ("greedy", "greedy plans ahead", twins.replace("reproduction.claims.planning.greedy", optimal)),
    ("greedy-total", "delays off by one", twins.delays_off_by_one),
    (
        "greedy-ratio",
        "greedy earns less",
        twins.replace(
            "reproduction.claims.planning.greedy", lambda _: Plan((1,), ("1",), 0.1, 1.0, "bad")
        ),
    ),
    (
        "greedy-ratio",
        "greedy plans ahead",
        twins.replace("reproduction.claims.planning.greedy", optimal),
    ),
    (
        "theorem-1",
        "no schedules",
        lambda patch: patch.setattr(maintenance, "schedule", lambda _: None),
    ),
    (
        "theorem-1-display",
        "delays off by one",
        twins.replace(
            "reproduction.claims.planning.gain",
            lambda instance, cycle: gain(Instance(instance.means[:, 1:]), cycle),
        ),
    ),
    ("theorem-2", "r_0 = 1", twins.index_of_one),
    ("theorem-2", "factor 1", twins.promise(1.0)),
    ("theorem-2-equal-delays", "r_0 = k", twins.index_of_all),
    ("theorem-2-repaired", "factor 1", twins.promise(1.0)),
    ("greedy-round", "r_0 = k", twins.index_of_all),
    ("greedy-round", "delays off by one", twins.shift_greedy),
    ("theorem-2-r0", "r_0 = k", twins.index_of_all),
    ("not-monotone-example", "constant f", twins.constant_example),
    ("not-monotone-example", "worst policy", twins.worst_ranking_policy),
    ("not-monotone", "worst policy", twins.worst_ranking_policy),
    ("theorem-3", "reversed feedback", twins.reverse_feedback),
    ("theorem-3", "widths x 0.9", twins.scale_widths(0.9)),
    ("theorem-3", "widths x 0.5", twins.scale_widths(0.5)),
    ("theorem-3", "widths x 0.03", twins.scale_widths(0.03)),
    ("theorem-3", "widths x 1.5", twins.scale_widths(1.5)),
    ("theorem-3-active", "printed widths", twins.print_widths),
    ("theorem-3-rate", "widths x 0.1", twins.scale_widths(0.1)),
    ("sqrt-rate", "told the instance", twins.follow_ghost),
    (
        "few-switches",
        "stages grow geometrically",
        lambda patch: patch.setattr(
            LowSwitch, "stage_rounds", lambda learner, stage: learner.horizon ** (stage / 10)
        ),
    ),
    ("switches-by-gap", "noise only", twins.with_noise),
    ("theorem-4", "no widths", twins.scale_ranker_widths(0)),
    ("theorem-4", "reversed order", twins.reverse_order),
    ("theorem-4-pulls", "widths x 0.5", twins.scale_ranker_widths(0.5)),
    ("theorem-4-pulls", "all arms sampled to the end", twins.sample_all_arms),
    ("theorem-4-tight", "no widths", twins.scale_ranker_widths(0)),
    (
        "calibration",
        "groups of d_0 + 1",
        lambda patch: patch.setattr(
            BanditRanker,
            "_rest",
            property(lambda ranker: 0 if ranker.max_delay is None else ranker.max_delay + 2),
        ),
    ),
    ("figure-1", "second delay forgotten", twins.forget_the_second_delay),
    ("average-gap", "no decay", twins.forget_decay),
    ("figure-2", "widths x 0.1", twins.scale_widths(0.1)),
    ("figure-2-printed", "widths x 0.5", twins.scale_widths(0.5)),
    ("figure-2-oversampling", "learners swapped", twins.swap_learners),
    ("figure-2-low-stops", "no widths", twins.scale_widths(1e-9)),
    (
        "figure-2-low-stops",
        "widths of 1",
        lambda patch: patch.setattr(LowSwitch, "width", lambda *_: 1.0),
    ),
    ("figure-2-ucb-explores", "pi_ucb stays", twins.make_ucb_stubborn),
    ("figure-3-cost", "learners swapped", twins.swap_learners),
    ("figure-3-free", "learners swapped", twins.swap_learners),
    ("figure-3-printed", "pi_ucb stays", twins.make_ucb_stubborn),
    ("figure-3-printed", "calibration counted", twins.count_calibration),
    (
        "fact-1",
        "gain too low",
        twins.replace("reproduction.claims.alternating.gain", lambda *pair: gain(*pair) - 1e-6),
    ),
    ("summary", "pi_low plays all arms", twins.make_low_play_all),
    ("summary", "learners swapped", twins.swap_learners),
    ("doubling", "lives grow by a tenth", twins.grow_lives_by_a_tenth),
    ("best-of-both", "pi_low in its place", twins.play_low),
    ("best-of-both", "ranking-ucb2 in its place", twins.ignore_alternations),
    ("joint-learning", "one cycle for ever", twins.stay_with_first),
]
PASSES: list[tuple[str, str, twins.Break]] = [
    ("theorem-3", "widths x 1.05", twins.scale_widths(1.05)),
    ("theorem-3-active", "widths x 2", twins.scale_widths(2)),
    ("theorem-3-rate", "widths x 0.5", twins.scale_widths(0.5)),
    ("best-policy-stays", "widths x 0.5", twins.scale_widths(0.5)),
    ("theorem-4", "widths x 0.5", twins.scale_ranker_widths(0.5)),
    ("theorem-4-pulls", "widths x 0.9", twins.scale_ranker_widths(0.9)),
    ("theorem-2-r0", "r_0 = 1", twins.index_of_one),
    ("figure-2-low-stops", "widths x 0.5", twins.scale_widths(0.5)),
    ("greedy-round", "last of equals", twins.last_of_equals),
]
"""Damage that the slack of a claim lets pass; tests/test_literal.py finds all of it."""


@pytest.mark.parametrize("name", BY_NAME)
def test_the_verdict_is_the_expected_one(name: str) -> None:
    finding = BY_NAME[name].check()
    assert finding.verdict == BY_NAME[name].expected, finding.measured


@pytest.mark.parametrize("name", ["figure-1", "figure-3-cost"])
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


def test_variants_and_open_questions_are_not_counted_as_claims_of_the_paper() -> None:
    """Theorem 2 is one claim of the paper, though we check it in three forms."""
    theorem_2 = [claim for claim in CLAIMS if claim.place == "section 5, Theorem 2"]
    assert [claim.variant_of for claim in theorem_2] == ["", "theorem-2", "theorem-2"]
    assert {claim.variant_of for claim in CLAIMS} == {"", "theorem-2", "theorem-3"}
    findings = [(claim, Finding("", claim.expected)) for claim in theorem_2]
    assert claim_module.count_verdicts(findings) == (
        "1 claim of the paper: 1 holds as repaired; 2 variants of its claims: 2 hold"
    )
    assert claim_module.count_verdicts(findings[1:2]) == "1 variant of its claims: 1 holds"
    asked = [claim.name for claim in CLAIMS if claim.open_question]
    assert asked == ["best-of-both", "joint-learning"]
    own = [claim for claim in CLAIMS if not claim.variant_of and not claim.open_question]
    holding = [claim for claim in own if claim.expected == "holds"]
    everything = [(claim, Finding("", claim.expected)) for claim in CLAIMS]
    counts = claim_module.count_verdicts(everything)
    assert counts.startswith(f"{len(own)} claims of the paper: {len(holding)} hold, ")
    assert counts.endswith(f"; {len(asked)} open questions: 2 hold")


def test_every_claim_file_is_listed() -> None:
    written = 0
    for path in Path(claim_module.__file__).parent.glob("*.py"):
        written += path.read_text(encoding="utf-8").count(" = Claim(\n")
    assert written == len(CLAIMS)


def _names(cases: list[tuple[str, str, twins.Break]]) -> list[str]:
    return [f"{name}: {damage}" for name, damage, _ in cases]


def test_every_claim_can_come_out_otherwise() -> None:
    assert {name for name, _, _ in BREAKS} == set(BY_NAME)


@pytest.fixture
def forget_scan() -> Iterator[None]:
    """Let what is broken not meet a scan of what works, nor the other way round."""
    scan.cache_clear()
    yield
    scan.cache_clear()


@pytest.mark.usefixtures("forget_scan")
@pytest.mark.parametrize(("name", "_", "damage"), PASSES, ids=_names(PASSES))
def test_what_is_broken_within_the_slack_passes(
    name: str, _: str, damage: twins.Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(monkeypatch)
    monkeypatch.setattr("fallow.studies.workers.cores", lambda: 1)
    finding = BY_NAME[name].check()
    assert finding.verdict == BY_NAME[name].expected, finding.measured


@pytest.mark.usefixtures("forget_scan")
@pytest.mark.parametrize(("name", "_", "damage"), BREAKS, ids=_names(BREAKS))
def test_what_is_broken_changes_the_verdict(
    name: str, _: str, damage: twins.Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(monkeypatch)
    # Worker processes would not see the damage.
    monkeypatch.setattr("fallow.studies.workers.cores", lambda: 1)
    finding = BY_NAME[name].check()
    assert finding.verdict != BY_NAME[name].expected, finding.measured


def test_claims_are_printed_with_their_verdicts() -> None:
    output = run_command("claims", "not-monotone", "greedy-ratio", app=app)
    shown = r"^holds as repaired  greedy-ratio  section 3, the example$"
    assert re.search(shown, output, re.MULTILINE)
    assert output.index("greedy-ratio") < output.index("not-monotone")
    assert "Measured: g = 0.5000, 0.4167, 0.7222\n" in output
    assert "Slack: Gains may be off by 0.08.\n" in output
    assert "2 claims of the paper: 1 holds, 1 holds as repaired\n" in output
    assert all(line == line.rstrip() for line in output.splitlines())


def test_the_counts_stay_on_one_line() -> None:
    output = run_command("claims", "theorem-2-equal-delays", "greedy-ratio", "greedy", app=app)
    assert output.splitlines()[-1] == (
        "2 claims of the paper: 1 holds, 1 holds as repaired; 1 variant of its claims: 1 holds"
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
        "open_question": False,
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
