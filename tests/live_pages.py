"""The page of the service in a browser, and campaigns to look at."""

from typing import Any

from browsers import value
from live_stub import TOKEN, Stub, overview
from selenium.webdriver import Chrome
from selenium.webdriver.support.wait import WebDriverWait
from service_helpers import Process

PATIENCE = 20
"""Seconds after which something that should happen counts as not happening."""
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
LONG = "a name that an editor once typed in without thinking of telephones " * 2
DAY = [86_400 * 2.0**power for power in range(-7, 1)]
CAMPAIGNS = {
    "usual": overview(rules={"cooldowns": {"hymn": 3}, "exclude": ["march"]}),
    "no-decisions": overview(decisions=0),
    "no-feedback": overview(decisions=40, feedback=0, explore=0.05),
    "one-arm": overview(arms=["only"], spans=[1]),
    "sixty": overview(arms=[f"song {place}" for place in range(60)], spans=list(range(1, 61))),
    "long-names": overview(name="n" * 100, arms=[LONG, "W" * 100, HOSTILE]),
    "by-time": overview(clock="time", spans=DAY, wait=3_600, default_reward=0.0, explore=0.02),
}


def open_page(
    browser: Chrome,
    stub: Stub | Process,
    fragment: str = f"token={TOKEN}",
    width: int = 1280,
    **features: str,
) -> None:
    """Open the page anew, as in a new tab, on a screen of some width."""
    media = [{"name": name.replace("_", "-"), "value": each} for name, each in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get(f"{stub.address}/page/icon.svg")
    browser.execute_script("sessionStorage.clear()")
    browser.get("about:blank")
    browser.execute("getLog", {"type": "browser"})
    browser.get(f"{stub.address}/#{fragment}")


def until(browser: Chrome, expression: str) -> Any:
    """Wait for a JavaScript expression to be true, and return it."""
    return WebDriverWait(browser, PATIENCE, 0.05).until(lambda _: value(browser, expression))


def text_of(browser: Chrome, selector: str) -> str:
    text: str = value(browser, f"document.querySelector('{selector}').innerText")
    return text


def open_campaign(browser: Chrome, stub: Stub, **screen: Any) -> None:
    open_page(browser, stub, **screen)
    until(browser, "!document.getElementById('campaign').hidden")


def complaints(browser: Chrome) -> list[Any]:
    """Return what the browser complained of: errors, and what the policy forbade."""
    found: list[Any] = browser.execute("getLog", {"type": "browser"})["value"]
    return found
