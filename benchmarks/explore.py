"""How long does it take from a move of a slider of `fallow explore` to the picture?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from selenium.webdriver import Chrome

from benchmarks.browser import is_installed, run_browser
from benchmarks.section import Section
from fallow import Instance, catalog, checks
from fallow.planners import reachable_states

MOVES = 100
REACH = "under 100 ms"
INSTANCES = {
    "3 arms, delays up to 6": catalog.random_geometric(arms=3, max_delay=6, seed=0),
    "7 arms, delays up to 6": catalog.random_geometric(arms=7, max_delay=6, seed=0),
    "12 arms, delays up to 12": catalog.random_geometric(arms=12, max_delay=12, seed=0),
    "20 arms, delays up to 30": catalog.random_geometric(arms=20, max_delay=30, seed=0),
}
# The text of the file changes with every move, and is the last thing that is shown. The picture is
# there when a task runs that was begun in the frame after it.
MOVE_SLIDERS = """
const [moves, done] = arguments;
const rest = (time) => new Promise((rested) => setTimeout(rested, time));
const picture = () => new Promise((seen) => {
  const observer = new MutationObserver(() => {
    observer.disconnect();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = seen;
      port2.postMessage(null);
    });
  });
  observer.observe(document.getElementById('toml'), { childList: true });
});
(async () => {
  while (!document.querySelector('#courses li')) await rest(20);
  const sliders = [...document.querySelectorAll('.slider input')];
  const times = [];
  for (let move = 0; move < moves; move++) {
    const slider = sliders[move % sliders.length];
    if (move % (2 * sliders.length) < sliders.length) slider.stepDown(); else slider.stepUp();
    const begun = performance.now();
    slider.dispatchEvent(new Event('input'));
    await picture();
    times.push(performance.now() - begun);
    await rest(20);
  }
  done(times);
})();
"""


def measure() -> Section:
    rows = []
    if is_installed():
        with tempfile.TemporaryDirectory() as folder, run_browser(Path(folder)) as browser:
            browser.set_script_timeout(100)
            for name, instance in INSTANCES.items():
                middle, late = np.quantile(_times(browser, instance), [0.5, 0.95])
                states = checks.count(reachable_states(instance))
                rows.append((name, states, REACH, f"{middle:.0f} ms", f"{late:.0f} ms"))
    return Section(
        "From a slider to the picture",
        ("Instance", "Delay vectors", "Reach", "Median", "95th percentile"),
        rows,
        f"`fallow explore` in Chromium without a window, {MOVES} moves of all sliders in turns by "
        "one step, after as many that do not count. From the input event to the first frame that "
        "shows the new plan, so up to 16 ms are spent waiting for a frame.",
    )


def _times(browser: Chrome, instance: Instance) -> list[float]:
    """Return how long each move takes, in milliseconds."""
    with _explored(instance) as address:
        browser.get(address)
        browser.execute_async_script(MOVE_SLIDERS, MOVES)
        times: list[float] = browser.execute_async_script(MOVE_SLIDERS, MOVES)
    return times


@contextmanager
def _explored(instance: Instance) -> Iterator[str]:
    """Run `fallow explore`, and return its address."""
    command = [sys.executable, "-m", "fallow", "explore", "-", "--no-browser"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(instance.to_toml())
        process.stdin.close()
        yield process.stdout.readline().split()[1]
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
