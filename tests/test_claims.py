"""Every claim has the verdict we know, and another one when what it is about is broken."""

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from helpers import run_command, runner

from fallow import (
    BanditRanker,
    Block,
    Instance,
    LowSwitch,
    Outcome,
    RankingUCB,
    gain,
    optimal,
    simulate,
)
from fallow.arrays import FloatArray
from fallow.learners import CheckedLearner
from fallow.planners import Guarantee, maintenance, ranking_gains
from reproduction.claims import claim as claim_module
from reproduction.claims.claim import Claim, Finding
from reproduction.claims.registry import CLAIMS
from reproduction.cli import app

BY_NAME = {claim.name: claim for claim in CLAIMS}
Break = Callable[[pytest.MonkeyPatch], None]


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
        for text in (claim.place, claim.statement, claim.method):
            assert text.isascii()
            assert "  " not in text
        assert claim.statement.endswith(".")
        assert claim.method.endswith(".")


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


class Stubborn(RankingUCB):
    """Never leaves the first ranking policy."""

    def _choose(self) -> Block:
        return Block(self.order[:1], 2**40)


def _reverse_feedback(patch: pytest.MonkeyPatch) -> None:
    learn = LowSwitch._learn

    def wrong(learner: LowSwitch, block: Block, outcome: Outcome) -> None:
        rest = [block.plays - 1 - reward for reward in outcome.rest]
        learn(learner, block, Outcome(outcome.first, rest))

    patch.setattr(LowSwitch, "_learn", wrong)


def _halve_widths(patch: pytest.MonkeyPatch) -> None:
    width = LowSwitch.width
    patch.setattr(LowSwitch, "width", lambda learner, stage: width(learner, stage) / 2)


def _swap_learners(patch: pytest.MonkeyPatch) -> None:
    def low(instance: Instance, _: int) -> CheckedLearner:
        return RankingUCB(instance.order)

    def ucb(instance: Instance) -> CheckedLearner:
        return LowSwitch(instance.order, 1000)

    patch.setattr("reproduction.claims.studies.pi_low", low)
    patch.setattr("reproduction.claims.studies.pi_ucb", ucb)
    patch.setattr("reproduction.claims.figure_2.pi_low", low)
    patch.setattr("reproduction.claims.figure_2.pi_ucb", ucb)


def _make_low_stubborn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.studies.pi_low", lambda instance, _: Stubborn(instance.order)
    )


def _make_ucb_stubborn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.studies.RankingUCB", Stubborn)


def _promise_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.ranking.guarantee", lambda _: Guarantee(1, 1.0))


def _forget_the_second_delay(patch: pytest.MonkeyPatch) -> None:
    """Take n for n + m, as if the play of pi_m before had not been."""

    def wrong(instance: Instance) -> FloatArray:
        counts = np.arange(1, instance.arms + 1)
        ranked = instance.means[instance.order]
        delays = np.minimum(counts, ranked.shape[1]) - 1
        return np.array([[ranked[:m, delay].sum() for m in counts] for delay in delays])

    patch.setattr("reproduction.claims.alternating.transition_totals", wrong)


def _index_of_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.ranking.theorem2_index", lambda _: 1)


def _index_of_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("reproduction.claims.ranking.theorem2_index", lambda instance: instance.arms)


def _worst_ranking_policy(patch: pytest.MonkeyPatch) -> None:
    def worst(instance: Instance) -> FloatArray:
        return 1 - ranking_gains(instance)

    patch.setattr("reproduction.claims.ranking.ranking_gains", worst)


def _without_noise(patch: pytest.MonkeyPatch) -> None:
    exact = partial(simulate, rewards="none")
    patch.setattr("reproduction.claims.learning.simulate", exact)


def _reverse_order(patch: pytest.MonkeyPatch) -> None:
    reversed_order = property(lambda ranker: tuple(chain(*reversed(ranker.tree.groups()))))
    patch.setattr(BanditRanker, "order", reversed_order)


def _double_gaps(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "reproduction.claims.figure_2.ranking_gains", lambda draw: 2 * ranking_gains(draw)
    )


BREAKS: list[tuple[str, Break]] = [
    ("periodic", lambda patch: patch.setattr("reproduction.claims.planning.greedy", optimal)),
    ("greedy", lambda patch: patch.setattr("reproduction.claims.planning.greedy", optimal)),
    ("theorem-1", lambda patch: patch.setattr(maintenance, "schedule", lambda _: None)),
    ("theorem-2", _index_of_one),
    ("theorem-2-equal-delays", _index_of_all),
    ("theorem-2-repaired", _promise_everything),
    ("greedy-round", _index_of_all),
    ("not-monotone", _worst_ranking_policy),
    ("theorem-3", _reverse_feedback),
    ("theorem-3-rate", lambda patch: patch.setattr(LowSwitch, "width", lambda *_: 1e-9)),
    (
        "few-switches",
        lambda patch: patch.setattr(
            LowSwitch, "stage_rounds", lambda learner, stage: learner.horizon ** (stage / 10)
        ),
    ),
    ("switches-by-gap", _without_noise),
    ("theorem-4", lambda patch: patch.setattr(BanditRanker, "width", 0.0)),
    ("theorem-4", _reverse_order),
    ("theorem-4-pulls", lambda patch: patch.setattr(BanditRanker, "width", 0.0)),
    (
        "calibration",
        lambda patch: patch.setattr(
            BanditRanker,
            "_rest",
            property(lambda ranker: 0 if ranker.max_delay is None else ranker.max_delay + 2),
        ),
    ),
    ("figure-1", _forget_the_second_delay),
    ("average-gap", _double_gaps),
    ("figure-2", _make_ucb_stubborn),
    ("figure-2-printed", _halve_widths),
    ("figure-2-oversampling", _swap_learners),
    ("figure-2-low-stops", lambda patch: patch.setattr(LowSwitch, "width", lambda *_: 1e-9)),
    ("figure-2-low-stops", lambda patch: patch.setattr(LowSwitch, "width", lambda *_: 1.0)),
    ("figure-2-ucb-explores", _make_ucb_stubborn),
    ("figure-3-cost", _swap_learners),
    ("figure-3-free", _swap_learners),
    ("figure-3-printed", _make_ucb_stubborn),
    (
        "fact-1",
        lambda patch: patch.setattr(
            "reproduction.claims.alternating.gain", lambda *pair: gain(*pair) - 1e-6
        ),
    ),
    ("summary", _make_low_stubborn),
]


@pytest.mark.parametrize(("name", "damage"), BREAKS, ids=[name for name, _ in BREAKS])
def test_what_is_broken_changes_the_verdict(
    name: str, damage: Break, monkeypatch: pytest.MonkeyPatch
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
    assert "Measured: g = 0.5000, 0.6250, 0.7222 as printed" in output
    assert "2 claims of the paper: 1 holds as repaired, 1 does not hold\n" in output
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

    claims = [Claim(name, "", "", "", "holds", check) for name in ("one", "two")]
    results = claim_module.run(claims, on_claim=heard.append)
    assert heard == [1, 1]
    assert [finding.measured for _, finding in results] == ["0 before", "1 before"]
