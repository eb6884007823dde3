"""A browser, and pages in it."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.browser import is_installed, run_browser

SCREENSHOTS = Path(__file__).parent.parent / "build" / "screenshots"


@contextmanager
def open_browser(profile: Path) -> Iterator[Chrome]:
    """Start a browser that keeps what it must in a folder."""
    if not is_installed():
        pytest.skip("there is no browser: install chromium and chromium-driver")
    with run_browser(profile) as opened:
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


def save_screenshot(browser: Chrome, name: str, whole: bool = True) -> None:
    """Keep a picture of the whole page, or of what is on the screen, for people to look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": whole})
    (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def labels_that_touch(browser: Chrome) -> list[list[str]]:
    """Return pairs of labels in one chart that cover each other, and labels too small to read."""
    found: list[list[str]] = browser.execute_script(
        """
        return [...document.querySelectorAll('svg[role=img]')].flatMap(chart => {
          const labels = [...chart.querySelectorAll('text')]
            .map(each => [each.textContent, each.getBoundingClientRect()]);
          const small = labels.filter(([, box]) => box.height < 9).map(([text]) => [text]);
          return [...small, ...labels.flatMap(([text, box], place) => labels.slice(place + 1)
            .filter(([, other]) => box.left < other.right && other.left < box.right
              && box.top + 4 < other.bottom && other.top + 4 < box.bottom)
            .map(([other]) => [text, other]))];
        })
        """
    )
    return found


def contrasts_of(browser: Chrome, selector: str) -> list[tuple[str, float]]:
    """Return texts with the contrast to their ground, as WCAG 2.2 counts it."""
    found: list[tuple[str, float]] = browser.execute_script(
        """
        const context = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
        const luminance = colour => {
          context.fillStyle = colour;
          context.fillRect(0, 0, 1, 1);
          const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(part => part / 255)
            .map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
          return .2126 * r + .7152 * g + .0722 * b;
        };
        const ground = node => {
          const colour = getComputedStyle(node).backgroundColor;
          return colour == 'rgba(0, 0, 0, 0)' ? ground(node.parentElement) : colour;
        };
        return [...document.querySelectorAll(arguments[0])]
          .map(node => {
            const style = getComputedStyle(node);
            const ink = luminance(node.matches('.label') ? style.fill : style.color);
            const pair = [ink, luminance(ground(node))];
            return [node.textContent, (Math.max(...pair) + .05) / (Math.min(...pair) + .05)];
          });
        """,
        selector,
    )
    return found
