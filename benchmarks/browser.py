"""A browser without a window, for tests and benchmarks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions, ChromeService

CHROMIUM, CHROMEDRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def is_installed() -> bool:
    """Return whether there is a browser, and what drives it."""
    return CHROMIUM.exists() and CHROMEDRIVER.exists()


@contextmanager
def run_browser(profile: Path) -> Iterator[Chrome]:
    """Start a browser that keeps what it must in a folder."""
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    # With both paths given, selenium has nothing to look for or to download.
    with Chrome(options, ChromeService(str(CHROMEDRIVER))) as opened:
        yield opened
