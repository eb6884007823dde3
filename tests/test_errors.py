"""Which errors are the caller's, and how the command line ends on them and on its own faults."""

import pickle
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import FunctionType

import pytest
from helpers import runner

import fallow
from fallow import InputError, Instance, Rules, checks, planners
from fallow.cli import app, plan
from fallow.explore import answer
from fallow.explore.model import EXAMPLE, Explored
from fallow.planners.feasible import RulesConflict, StuckError

MESSAGES = [
    (lambda: Instance.b2dep([1.5], [1], [1]), "baselines", "baselines must lie in [0, 1], got 1.5"),
    (lambda: Instance([[0.5], [0.1, 0.2]]), "means", "got [0.1, 0.2] for arm 1"),
    (lambda: fallow.catalog.build("figrue2"), "name", "did you mean 'figure2'?"),
    (lambda: Rules(cooldowns={0: 0}), "rules.cooldowns of 0", "must be a whole number >= 1, got 0"),
    (
        lambda: Rules(cooldown=3),  # type: ignore[arg-type]
        "an argument of Rules",
        "must be one of cooldowns, at_most, groups, at_least_once, exclude, got 'cooldown'; "
        "did you mean 'cooldowns'?",
    ),
    (lambda: Instance.from_toml("means = "), "text", "text must be TOML: Invalid value"),
    (lambda: fallow.optimal(EXAMPLE, max_states=1), "max_states", "max_states must be at least"),
    (
        lambda: fallow.plan(Instance([[1.0]], rules=Rules(cooldowns={0: 2}))),
        "rules",
        "rules must leave a plan possible, but these cannot all be kept: 0: 2 rounds from",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "argument", "message"), MESSAGES)
def test_an_error_of_the_caller_names_its_argument(
    call: object, argument: str, message: str
) -> None:
    assert callable(call)
    with pytest.raises(InputError) as raised:
        call()
    assert raised.value.argument == argument
    assert message in str(raised.value)


ARGUMENTS: dict[str, object] = {
    "cycle": [0],
    "method": "by hand",
    "plan": fallow.plan(EXAMPLE),
    "rounds": 3,
}
TAKES_INSTANCE = [
    function
    for function in (getattr(planners, name) for name in planners.__all__)
    if isinstance(function, FunctionType) and "instance" in signature(function).parameters
]


@pytest.mark.parametrize("function", [*TAKES_INSTANCE, fallow.Plan.of])
@pytest.mark.parametrize("wrong", [[1, 2], [[0.5, 1.0]], None, Instance])
def test_every_planner_refuses_what_is_not_an_instance(
    function: Callable[..., object], wrong: object
) -> None:
    needed = signature(function).parameters.keys() & ARGUMENTS.keys()
    arguments = {name: ARGUMENTS[name] for name in needed}
    with pytest.raises(InputError) as raised:
        function(wrong, **arguments)
    assert str(raised.value) == f"instance must be an Instance, got {checks.short(wrong)}"


@pytest.mark.parametrize(
    "error",
    [InputError("a", "must be b", "c"), InputError("a", "must be b"), RulesConflict("a", "b")],
)
def test_an_error_survives_the_way_from_a_worker(error: InputError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """`fallow plan` with a fault in it."""

    def fail(*_: object) -> None:
        raise ValueError("operands could not be broadcast\x1b")

    monkeypatch.setattr(plan, "_plans", fail)


@pytest.mark.usefixtures("broken")
def test_a_fault_of_the_program_is_not_the_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FALLOW_TRACEBACK", raising=False)
    result = runner.invoke(app, ["plan", "figure2"])
    assert result.exit_code == 1
    assert result.stderr == (
        "fallow: internal error: ValueError: operands could not be broadcast\\x1b"
        f" ({__file__}, line {fail_line()}); set FALLOW_TRACEBACK=1 to see the traceback, "
        "and please report it\n"
    )


def fail_line() -> int:
    """Return the line of this file that fails."""
    lines = Path(__file__).read_text().splitlines()
    return next(line for line, text in enumerate(lines, 1) if "raise ValueError(" in text)


@pytest.mark.usefixtures("broken")
def test_a_fault_of_the_program_is_shown_with_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FALLOW_TRACEBACK", "1")
    result = runner.invoke(app, ["plan", "figure2"])
    assert result.exit_code == 1
    first, second, *rest = result.stderr.splitlines()
    assert first.startswith("fallow: internal error: ValueError: operands")
    assert first.endswith("; please report it")
    assert second == "Traceback (most recent call last):"
    assert rest[-1] == "ValueError: operands could not be broadcast\\x1b"
    assert any("in plan_command" in line for line in rest)


def test_a_mistake_has_a_traceback_too_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALLOW_TRACEBACK", "1")
    result = runner.invoke(app, ["plan", "figrue2"])
    assert result.exit_code == 2
    first, second, *_, last = result.stderr.splitlines()
    assert first.startswith("fallow: INSTANCE must be a TOML file or a catalog name, got 'figrue2'")
    assert second == "Traceback (most recent call last):"
    assert last.startswith("fallow.errors.InputError: INSTANCE must be")


@pytest.mark.parametrize("value", [None, "0", ""])
def test_a_mistake_is_one_line_otherwise(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("FALLOW_TRACEBACK", raising=False)
    if value is not None:
        monkeypatch.setenv("FALLOW_TRACEBACK", value)
    result = runner.invoke(app, ["plan", "figrue2"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (FileNotFoundError(2, "No such file or directory", "x.csv"), "x.csv: No such file or"),
        (MemoryError(), "there is not enough memory for this"),
        (ModuleNotFoundError("a needs polars: pip", name="polars"), "a needs polars: pip"),
        (StuckError("beam"), "beam finds no cycle that obeys the rules"),
    ],
)
def test_what_the_user_can_correct_ends_with_two(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, message: str
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(plan, "_plans", fail)
    result = runner.invoke(app, ["plan", "figure2"])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"fallow: {message}")


@pytest.mark.parametrize(
    "raised",
    [OverflowError("x"), RecursionError("x"), KeyError("x"), ImportError("x"), AssertionError("x")],
)
def test_all_else_ends_with_one(monkeypatch: pytest.MonkeyPatch, raised: Exception) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(plan, "_plans", fail)
    result = runner.invoke(app, ["plan", "figure2"])
    assert result.exit_code == 1
    assert f"internal error: {type(raised).__name__}: " in result.stderr


def test_own_code_that_fails_is_not_reported_as_a_fault_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_of_errors.py").write_text("def songs():\n    return {}['hymn']\n")
    result = runner.invoke(app, ["plan", "own_of_errors:songs"])
    assert result.exit_code == 2
    assert result.stderr.startswith("fallow: KeyError: 'hymn' (")
    assert "own_of_errors.py, line 2)" in result.stderr


def test_a_fault_of_a_planner_is_no_conflict_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a fault")

    explored = Explored(EXAMPLE)
    monkeypatch.setattr(answer, "_plans", fail)
    with pytest.raises(ValueError, match="a fault"):
        answer.answer(explored, explored.settings)
