"""A browser; property tests that have the same examples in every run, and any time to compile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

settings.register_profile("fallow", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fallow")
# For tests/bounds_checked.py, where each kernel is to be called, and all is slow.
settings.register_profile("bounds", max_examples=20)
# For tests/mutants.py, where it does not matter how simple the example is that fails.
settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate])


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Return a browser for the pages of a file of tests."""
    from browsers import open_browser  # slow to import, and seldom needed

    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
