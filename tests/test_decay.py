"""Decay families: values by their formulas, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallow import decay


@given(st.floats(0, 1), st.integers(1, 50))
def test_geometric_is_the_power_of_its_rate(rate: float, tau: int) -> None:
    assert decay.geometric(rate)(np.arange(1, tau + 1))[-1] == pytest.approx(rate**tau)


@given(st.floats(0, 10), st.integers(1, 50))
def test_power_is_the_delay_to_minus_its_exponent(exponent: float, tau: int) -> None:
    assert decay.power(exponent)(np.arange(1, tau + 1))[-1] == pytest.approx(tau**-exponent)


@given(st.floats(1 - 1e-12, 1))
def test_rates_next_to_one_never_rise(rate: float) -> None:
    assert (np.diff(decay.geometric(rate)(np.arange(1, 1000))) <= 0).all()


@pytest.mark.parametrize(
    ("build", "value", "message"),
    [
        (decay.geometric, 1.5, r"rate must be a number in \[0, 1\], got 1.5"),
        (decay.geometric, float("nan"), r"rate must be a number in \[0, 1\], got nan"),
        (decay.constant, -0.1, r"value must be a number in \[0, 1\], got -0.1"),
        (decay.power, -1.0, r"exponent must be finite and >= 0, got -1.0"),
        (decay.power, float("inf"), r"exponent must be finite and >= 0, got inf"),
        (decay.power, 10**400, r"exponent must be finite and >= 0, got 1000"),
        (decay.power, "2", r"exponent must be finite and >= 0, got '2'"),
        (decay.power, True, r"exponent must be finite and >= 0, got True"),
        (decay.constant, True, r"value must be a number in \[0, 1\], got True"),
        (decay.geometric, 1j, r"rate must be a number in \[0, 1\], got 1j"),
        (decay.table, 5, r"values must be a list of numbers, at least one, got 5"),
        (decay.table, "ab", r"values must be a list of numbers, at least one, got 'ab'"),
        (decay.table, [], r"values must be a list of numbers, at least one, got \[\]"),
        (decay.table, [0.5, True], r"values must be a list of numbers, .* got \[0.5, True\]"),
    ],
)
def test_bad_parameters_are_named(build: type, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(value)


def test_a_table_has_no_values_past_its_end() -> None:
    with pytest.raises(ValueError, match="up to the longest, 3, got 2 values"):
        decay.table([1, 0.5])(np.arange(1, 4))


def test_a_table_is_not_the_callers_list() -> None:
    values = [1, 0.5]
    known = decay.table(values)
    values[1] = 0.75
    assert known(np.arange(1, 3)).tolist() == [1, 0.5]
