"""Tutorials and guides run as they stand, and show what comes out."""

from pathlib import Path

import pytest
from helpers import ROOT
from pages import run_page

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [*TUTORIALS, *GUIDES], ids=lambda page: page.stem)
def test_a_page_shows_what_it_prints(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path)
