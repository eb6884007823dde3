"""A headless browser, driven over the WebDriver protocol with the standard library alone."""

import base64
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

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


class Browser:
    """One tab."""

    def __init__(self, session: str) -> None:
        self.session = session

    def open(self, path: Path) -> None:
        """Open a file anew, and return once all of it is there."""
        self.post("url", {"url": "about:blank"})
        self.post("url", {"url": path.as_uri()})
        deadline = time.monotonic() + 30
        while self.value("document.readyState") != "complete":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """Return what a JavaScript expression is on the page."""
        return self.post("execute/sync", {"script": f"return {expression}", "args": []})

    def logs(self) -> list[dict[str, Any]]:
        """Return what the page wrote to its console since the last call."""
        return list(self.post("se/log", {"type": "browser"}))

    def show_as(self, scheme: str, width: int, height: int) -> None:
        """Set the colour scheme and the size of the screen."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._devtools("Emulation.setEmulatedMedia", {"features": features})
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._devtools("Emulation.setDeviceMetricsOverride", screen)

    def screenshot(self) -> bytes:
        """Return the whole page as a PNG file."""
        shot = self._devtools("Page.captureScreenshot", {"captureBeyondViewport": True})
        return base64.b64decode(shot["data"])

    def post(self, command: str, body: dict[str, Any]) -> Any:
        return _post(f"{self.session}/{command}", body)

    def _devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self.post("goog/cdp/execute", {"cmd": command, "params": parameters})


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser whose profile is in a folder, and end it."""
    driver = subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert driver.stdout is not None
        started = (re.search(r"successfully on port (\d+)", line) for line in driver.stdout)
        port = next(match[1] for match in started if match)
        options = {"args": [*ARGUMENTS, f"--user-data-dir={folder}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        address = f"http://127.0.0.1:{port}/session"
        session = _post(address, {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        try:
            yield Browser(f"{address}/{session}")
        finally:
            urlopen(Request(f"{address}/{session}", method="DELETE"), timeout=30).close()
    finally:
        driver.terminate()
        driver.communicate(timeout=30)


def _post(address: str, body: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json"}
    request = Request(address, json.dumps(body).encode(), headers)
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)["value"]
