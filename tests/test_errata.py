"""Errata are what the claims measure; the reading that was drawn is what the scan finds."""

import math

import numpy as np
import pytest

from reproduction.claims.registry import CLAIMS
from reproduction.errata import ERRATA, Erratum
from reproduction.readings import PRINTED, READINGS, TEXT, Drawn, Feature, _compare, scan

BY_NAME = {claim.name: claim for claim in CLAIMS}
MEASURED: dict[str, list[str]] = {
    "constant-factor": ["earns 0 a round", "0.475"],
    "switches-by-gap": ["628", "4,090"],
    "greedy-total": ["1.7 printed", "1.4 earned"],
    "greedy-ratio": ["0.714"],
    "theorem-2": [],
    "theorem-2-r0": [],
    "ghost-bigger": ["1.5", "1.9"],
    "not-monotone-example": [],
    "theorem-3": ["3.1", "4.0", "7.3", "10^300"],
    "calibration": ["2.98"],
    "figure-2": ["194", "217"],
    "figure-2-oversampling": ["661", "40.6", "182"],
    "figure-2-printed": ["267", "193"],
    "figure-2-low-stops": ["4 of 1,000"],
    "figure-3-printed": ["297", "77"],
    "fact-1": [],
    "summary": ["80", "160"],
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


@pytest.fixture(scope="module")
def drawn() -> list[Drawn]:
    return scan()


def test_all_sixteen_readings_are_tried(drawn: list[Drawn]) -> None:
    assert len(set(READINGS)) == 16
    assert tuple(each.reading for each in drawn) == READINGS


def test_the_conclusion_is_what_the_scan_finds(drawn: list[Drawn]) -> None:
    """With the text's threshold and noise one reading is nearest, but others fit too."""
    fits = {each.reading: each.figure_2 for each in drawn}
    best = max(fit.log_likelihood for fit in fits.values())
    assert fits[PRINTED].log_likelihood > best - 1
    assert fits[PRINTED].chance > 0.2
    assert fits[TEXT].chance < 1e-3
    for reading, fit in fits.items():
        if reading.widths == 2 and reading.noise and reading != PRINTED:
            assert fit.log_likelihood < fits[PRINTED].log_likelihood - 1.5
        if reading.widths == 2 and reading.cut_stage == "race":
            assert fit.chance < 1e-3
    fitting = {reading for reading, fit in fits.items() if fit.chance > 0.05}
    assert {(each.widths, each.cut_stage) for each in fitting} == {
        (2, "commit"),
        (1, "commit"),
        (1, "race"),
    }
    assert PRINTED._replace(rounding="up") in fitting
    joint = min(drawn, key=lambda each: each.figure_2.distance**2 + each.figure_3.distance**2)
    assert joint.reading == PRINTED._replace(noise=False)
    for each in drawn:
        assert (each.figure_3.distance < 3) == (not each.reading.noise)


def test_a_distance_is_in_standard_deviations() -> None:
    """Of one feature with variance 3 and a reading error of 1 that is off by 4: 2."""
    generator = np.random.default_rng(0)
    features = generator.normal(0, math.sqrt(3), (400_000, 1))
    fit = _compare(np.hstack([features, features[::-1]]), [Feature("", 4, 1), Feature("", 0, 1)])
    assert fit.distance == pytest.approx(2, rel=0.02)
    assert fit.log_likelihood == pytest.approx(-2 - math.log(2 * math.pi * 4), rel=0.02)
