"""The rules for numbers: which values keep them, and what their errors say."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fallow import checks

DAYS = np.timedelta64(3, "D")
"""An integer to numpy."""
Rule = Callable[[str, Any], float]
RULES: dict[Rule, str] = {
    checks.share: r"delta must be a number in \[0, 1\], got",
    checks.chance: "delta must lie strictly between 0 and 1, got",
    checks.positive: "delta must be finite and above 0, got",
    checks.not_negative: "delta must be finite and >= 0, got",
    checks.number: "delta must be a finite number, got",
}


@pytest.mark.parametrize(("rule", "message"), RULES.items())
@pytest.mark.parametrize(
    "value", ["x", None, [0.5], True, 0.5j, np.True_, np.nan, np.inf, 10**400, DAYS]
)
def test_what_is_no_finite_number_breaks_every_rule(rule: Rule, message: str, value: Any) -> None:
    with pytest.raises(ValueError, match=message):
        rule("delta", value)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("value", [0.5, np.float64(0.5), np.float32(0.5)])
def test_numbers_of_numpy_are_numbers(rule: Rule, value: float) -> None:
    assert rule("delta", value) == 0.5


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        (checks.share, [0, 1], [-0.01, 1.01]),
        (checks.chance, [0.01, 0.99], [0, 1]),
        (checks.positive, [1e-300, 1e300], [0, -1]),
        (checks.not_negative, [0, 1e300], [-1e-300]),
        (checks.number, [-1e300, 0, 1e300], []),
    ],
)
def test_rules_hold_up_to_their_ends(rule: Rule, kept: list[float], broken: list[float]) -> None:
    assert [rule("delta", value) for value in kept] == kept
    for value in broken:
        with pytest.raises(ValueError, match=f"got {value}$"):
            rule("delta", value)


def test_a_name_that_is_no_text_has_no_near_one() -> None:
    wrong: Any = 5
    with pytest.raises(ValueError, match=r"planner must be one of a, b, got 5$"):
        checks.one_of("planner", wrong, ["a", "b"])


@pytest.mark.parametrize(
    ("values", "found"), [({}, "nothing"), ({"a": 1}, "a"), ({"a": 1, "b": 2, "c": 3}, "a, b, c")]
)
def test_keys_are_exactly_those_expected(values: dict[str, int], found: str) -> None:
    checks.keys("state", {"b": 2, "a": 1}, ["a", "b"])
    with pytest.raises(ValueError, match=f"^state must hold a, b, got {found}$"):
        checks.keys("state", values, ["a", "b"])


@pytest.mark.parametrize("value", [[0.5] * 10**6, np.zeros((1000, 1000)), "x" * 999])
def test_values_in_errors_are_short_and_on_one_line(value: Any) -> None:
    written = checks.short(value)
    assert written == repr(value).replace("\n", " ")[:57] + "..."


def test_a_number_that_python_does_not_print_is_said_to_be_long() -> None:
    assert checks.short(16**5000) == "a int too long to print"


@pytest.mark.parametrize("values", [[DAYS], np.ma.masked_array([1], [True]), range(10**12)])
def test_what_only_looks_like_a_list_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="delays must be"):
        checks.whole_numbers("delays", values, minimum=0)
    with pytest.raises(ValueError, match="means must be"):
        checks.numbers("means", values, dimensions=1)
