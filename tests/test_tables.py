"""Tables on terminals of any width."""

from io import StringIO

import pytest
from rich.console import Console

from fallow.cli.tables import print_table

HEADERS = ("learner", "regret", "switches", "share of optimum")
ROWS = (("BayesRotation", "-1,616 ± 230 (paired)", "158.8", "98.75%"), ("mine", "0", "7.0", "1%"))


@pytest.mark.parametrize("width", [20, 40, 55, 80, 200])
def test_no_number_is_cut(width: int) -> None:
    console = Console(file=StringIO(), width=width)
    print_table(HEADERS, ROWS, console=console)
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert "BayesRotatio" in shown
    for row in ROWS:
        for number in row[1:]:
            assert all(part in shown for part in number.split(" (")), number
    is_in_one_line = "(paired)" in next(line for line in shown.splitlines() if "-1,616" in line)
    assert is_in_one_line == (width >= 80)
