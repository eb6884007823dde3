"""Errata are what the claims measure; what is said of the readings is what the scan finds."""

import math

import numpy as np
import pytest

from reproduction.claims.registry import CLAIMS
from reproduction.errata import ERRATA, GRADES, Erratum, errata_by_grade
from reproduction.readings import NEAREST, READINGS, TEXT, Drawn, Feature, _compare, scan

BY_NAME = {claim.name: claim for claim in CLAIMS}
MEASURED: dict[str, list[str]] = {
    "constant-factor": ["ghost earns 0 per round and the optimum 0.475"],
    "greedy-total": ["1.7 printed", "1.4 earned"],
    "greedy-ratio": ["0.714"],
    "theorem-2": [],
    "theorem-2-r0": [],
    "ghost-bigger": ["1.5", "1.9"],
    "not-monotone-example": ["0.5000, 0.6250, 0.7222 as printed", "0.5000, 0.4167, 0.7222"],
    "theorem-3": ["1.5, 2.9, 4.3, 5.8, 7.3", "10^300"],
    "calibration": ["2.98", "5.28"],
    "figure-2-printed": ["267", "193", "5 of 8 committing and 3 of 8 racing"],
    "figure-2-low-stops": ["4 of 1,000"],
    "figure-3-printed": ["297", "77"],
    "fact-1": [],
    "summary": ["gap 0.225", "80.4", "160"],
    "theorem-1-display": ["0.25 displayed", "0.3333 earned"],
}
"""By claim, what both an erratum and the finding say; the others are tested in test_ranking.py."""
measured_errata = pytest.mark.parametrize(
    "erratum", [each for each in ERRATA if each.claim], ids=lambda each: each.claim
)


@measured_errata
def test_an_erratum_says_what_its_claim_measures(erratum: Erratum) -> None:
    finding = BY_NAME[erratum.claim].check()
    assert finding.verdict != "holds"
    for number in MEASURED[erratum.claim]:
        assert number in erratum.shown
        assert number in finding.measured, finding.measured


def test_all_that_does_not_hold_as_printed_is_an_erratum() -> None:
    wrong = {claim.name for claim in CLAIMS if claim.expected != "holds" and not claim.variant_of}
    assert {erratum.claim for erratum in ERRATA} - {""} == wrong == set(MEASURED)


def test_errata_are_grouped_by_grade_with_results_first() -> None:
    groups = list(errata_by_grade())
    assert [heading for heading, _ in groups] == list(GRADES.values())
    numbers = [number for _, group in groups for number, _ in group]
    assert numbers == list(range(1, len(ERRATA) + 1))
    assert all(len({each.grade for _, each in group}) == 1 for _, group in groups)
    theorems = [each for each in ERRATA if each.claim in ("theorem-2", "theorem-3", "fact-1")]
    assert {each.grade for each in theorems} == {"result"}
    assert all(each.grade == "slip" for each in ERRATA if not each.claim)


@pytest.fixture(scope="module")
def drawn() -> tuple[Drawn, ...]:
    return scan()


def test_all_sixteen_readings_are_tried(drawn: tuple[Drawn, ...]) -> None:
    assert len(set(READINGS)) == 16
    assert tuple(each.reading for each in drawn) == READINGS


def test_the_conclusion_is_what_the_scan_finds(drawn: tuple[Drawn, ...]) -> None:
    """With the text's threshold and noise one reading is nearest, but others fit too."""
    fits = {each.reading: each.figure_2 for each in drawn}
    best = max(fit.log_likelihood for fit in fits.values())
    assert fits[NEAREST].log_likelihood > best - 1
    assert fits[NEAREST].chance > 0.2
    assert fits[TEXT].chance < 1e-3
    for reading, fit in fits.items():
        if reading.widths == 2 and reading.noise and reading != NEAREST:
            assert fit.log_likelihood < fits[NEAREST].log_likelihood - 1.5
        if reading.widths == 2 and reading.cut_stage == "race":
            assert fit.chance < 1e-3
    fitting = {each.reading for each in drawn if each.fits}
    assert len(fitting) == 8
    assert {(each.widths, each.cut_stage) for each in fitting} == {
        (2, "commit"),
        (1, "commit"),
        (1, "race"),
    }
    assert NEAREST._replace(rounding="up") in fitting
    joint = min(drawn, key=lambda each: each.figure_2.distance**2 + each.figure_3.distance**2)
    assert joint.reading == NEAREST._replace(noise=False)
    for each in drawn:
        assert (each.figure_3.distance < 3) == (not each.reading.noise)


def test_a_distance_is_in_standard_deviations() -> None:
    """Of one feature with variance 3 and a reading error of 1 that is off by 4: 2."""
    generator = np.random.default_rng(0)
    features = generator.normal(0, math.sqrt(3), (400_000, 1))
    fit = _compare(np.hstack([features, features[::-1]]), [Feature("", 4, 1), Feature("", 0, 1)])
    assert fit.distance == pytest.approx(2, rel=0.02)
    assert fit.log_likelihood == pytest.approx(-2 - math.log(2 * math.pi * 4), rel=0.02)
