"""A browser, and pages in it."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.ui import WebDriverWait

SCREENSHOTS = Path(__file__).parent.parent / "build" / "screenshots"
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


@contextmanager
def open_browser(profile: Path) -> Iterator[Chrome]:
    """Start a browser that keeps what it must in a folder."""
    if not CHROMIUM.exists() or not CHROMEDRIVER.exists():
        pytest.skip("there is no browser: install chromium and chromium-driver")
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    # With both paths given, selenium has nothing to look for or to download.
    with Chrome(options, ChromeService(str(CHROMEDRIVER))) as opened:
        yield opened


def show(browser: Chrome, page: Path, scheme: str = "light", width: int = 1280) -> None:
    """Open the page anew, in a colour scheme and on a screen of some width."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get("about:blank")
    browser.get(page.as_uri())
    # A page of megabytes may still be loading then.
    WebDriverWait(browser, 60).until(lambda each: value(each, "document.readyState") == "complete")


def value(browser: Chrome, expression: str) -> Any:
    """Return what a JavaScript expression is on the page."""
    return browser.execute_script(f"return {expression}")


def save_screenshot(browser: Chrome, name: str) -> None:
    """Keep a picture of the whole page for people to look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
