"""Student's t, against closed forms and numerical integration."""

import math
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
import pytest

from fallow.intervals import student_density, student_quantile, student_tails

STATISTICS = (0.0, 0.01, 0.5, 1.7, 1.8, 3.0, 8.0, 40.0, 1e5)
CHANCES = (0.51, 0.6, 0.8, 0.9, 0.975, 0.999, 1 - 1e-6)
FREEDOMS = (1, 1.001, 1.05, 1.5, 2, 2.5, 3, 4, 7.3, 30, 999.5, 1e5, 1e7, 1e9)
CLOSED_FORMS: dict[
    int, Callable[[float], float]
] = {  # of the chance within t, by the angle arctan(t / sqrt(freedom))
    1: lambda angle: 2 * angle / math.pi,
    2: math.sin,
    4: lambda angle: math.sin(angle) * (1 + math.cos(angle) ** 2 / 2),
}


def tails_by_integration(statistic: float, freedom: float) -> float:
    """The share of the integral of cos(angle)^(freedom - 1) that lies beyond the angle of t.

    Gauss's rule over s with angle = pi / 2 - s^4, so that the integrand is smooth at the end.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def integral(end: float) -> float:
        width = math.sqrt(math.sqrt(end))
        steps = (nodes + 1) / 2 * width
        return width / 2 * float(weights @ (np.sin(steps**4) ** (freedom - 1) * 4 * steps**3))

    return integral(math.atan2(math.sqrt(freedom), statistic)) / integral(math.pi / 2)


@pytest.mark.parametrize(("freedom", "statistic"), [*product(CLOSED_FORMS, STATISTICS)])
def test_tails_have_closed_forms_at_some_whole_freedoms(freedom: int, statistic: float) -> None:
    angle = math.atan2(statistic, math.sqrt(freedom))
    assert student_tails(statistic, freedom) == pytest.approx(
        1 - CLOSED_FORMS[freedom](angle), abs=1e-12
    )


@pytest.mark.parametrize(
    ("freedom", "statistic"), [*product((1.05, 1.5, 2.5, 7.3, 100.5), STATISTICS)]
)
def test_tails_are_integrals_between_whole_freedoms(freedom: float, statistic: float) -> None:
    expected = tails_by_integration(statistic, freedom)
    assert student_tails(statistic, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert student_tails(-statistic, freedom) == student_tails(statistic, freedom)


@pytest.mark.parametrize(("freedom", "chance"), [*product(FREEDOMS, CHANCES)])
def test_the_quantile_is_the_inverse_of_the_tails(freedom: float, chance: float) -> None:
    quantile = student_quantile(chance, freedom)
    assert student_tails(quantile, freedom) == pytest.approx(2 * (1 - chance), rel=1e-6)
    assert student_quantile(1 - chance, freedom) == pytest.approx(-quantile, rel=1e-6)
    width = 1e-4 * quantile
    change = student_tails(quantile - width, freedom) - student_tails(quantile + width, freedom)
    assert change / (4 * width) == pytest.approx(student_density(quantile, freedom), rel=1e-3)


def test_quantiles_are_those_of_tables() -> None:
    """Abramowitz and Stegun, table 26.10; and the normal quantile without end of freedom."""
    tabled = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 10: 2.228, 30: 2.042, 120: 1.980}
    assert {each: round(student_quantile(0.975, each), 3) for each in tabled} == tabled
    assert student_quantile(0.975, math.inf) == pytest.approx(1.959963984540054, rel=1e-7)
    assert student_quantile(0.5, 3) == 0


@pytest.mark.parametrize("chance", CHANCES)
def test_less_freedom_is_a_wider_interval(chance: float) -> None:
    freedoms = np.geomspace(1, 1e5, 300).tolist()
    quantiles = [student_quantile(chance, freedom) for freedom in freedoms]
    assert all(wider > narrower for wider, narrower in pairwise(quantiles))
