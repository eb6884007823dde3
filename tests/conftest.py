"""What tests share: a browser, a report, a disk, a PostgreSQL, how property tests are run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from benchmarks.postgres import Postgres
    from reproduction.report.content import Content

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


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Return a report of a few short runs."""
    from report_helpers import short_content  # takes seconds

    return short_content(tmp_path_factory)


@pytest.fixture(scope="session")
def report_page(report: Content, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of that report."""
    from report_helpers import write_page

    return write_page(report, tmp_path_factory.mktemp("page"))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    mounted = subprocess.run(mount, capture_output=True, text=True)
    if mounted.returncode != 0:  # only root may, and not everywhere
        pytest.skip(f"a disk of its own cannot be mounted here: {mounted.stderr}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a server of PostgreSQL for all tests that need one."""
    from benchmarks.postgres import is_installed, run_postgres  # needs an extra

    if not is_installed():
        pytest.skip("there is no PostgreSQL: install postgresql")
    with run_postgres() as server:
        yield server


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Let threads take turns as often as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)
