"""The page of `fallow explore` in a browser: it shows what the library says of its sliders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from browsers import contrasts_of, labels_that_touch, save_screenshot, value
from live_pages import HOSTILE, PATIENCE, complaints, text_of, until
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.support.wait import WebDriverWait
from service_helpers import Process, started
from test_explore import rotations

import fallow
from fallow import Instance, Rules, catalog
from fallow.decay import Decay, geometric, power
from fallow.explore.model import EXAMPLE
from fallow.planners import ghost, greedy
from fallow.planners.feasible import StuckError

pytestmark = pytest.mark.slow
LOOKING = "document.getElementById('looking').innerText"


@pytest.fixture(scope="module")
def example() -> Iterator[Process]:
    with started("explore", "--no-browser") as process:
        yield process


@contextmanager
def explored(instance: Instance, folder: Path) -> Iterator[Process]:
    """Explore an instance of its own."""
    path = folder / "instance.toml"
    instance.save(path)
    with started("explore", path, "--no-browser") as process:
        yield process


@pytest.fixture(scope="module")
def pages(
    example: Process, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Process]]:
    """The example, and instances with as few and as many arms as there may be."""
    names = [HOSTILE, "W" * 100, *(f"song {place}" for place in range(2, 20))]
    one, twenty = (
        Instance.blocking([0.5] * arms, [20] * arms, names=names[:arms]) for arms in (1, 20)
    )
    folder = tmp_path_factory.mktemp("instances")
    with explored(one, folder) as first, explored(twenty, folder) as second:
        yield {"example": example, "one": first, "twenty": second}


def open_page(browser: Chrome, process: Process, width: int = 1280, scheme: str = "light") -> None:
    """Open the page anew, and wait for the first answer."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get("about:blank")
    browser.execute("getLog", {"type": "browser"})
    browser.get(process.address)
    until(browser, "document.querySelectorAll('#cycles > li').length")
    settled(browser)


def settled(browser: Chrome) -> None:
    """Wait until nothing better is looked for."""
    until(browser, f"{LOOKING} == ''")


def press(browser: Chrome, selector: str, *keys: str) -> None:
    """Press keys on a control, as one who has no mouse does."""
    browser.execute_script("document.querySelector(arguments[0]).focus()", selector)
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


def shown_instance(browser: Chrome) -> Instance:
    text: str = value(browser, "document.getElementById('toml').textContent")
    return Instance.from_toml(text)


def wait_for(browser: Chrome, instance: Instance) -> None:
    """Wait until the page is about an instance, and check that it says what the library does."""

    def is_there(_: Chrome) -> bool:
        found = shown_instance(browser)
        same_means = found.means.shape == instance.means.shape and np.allclose(
            found.means, instance.means, rtol=0, atol=1e-9
        )
        return same_means and found.rules == instance.rules

    WebDriverWait(browser, PATIENCE, 0.05).until(is_there, repr(instance))
    settled(browser)
    check(browser)


def check(browser: Chrome) -> None:
    """Compare what the page says with what the library says of the instance it exports."""
    instance = shown_instance(browser)
    best = fallow.plan(instance)
    strip = value(browser, "[...document.querySelectorAll('#strip .name')].map(e => e.innerText)")
    cycles = [[instance.names[arm] for arm in cycle] for cycle in rotations(best.cycle)]
    assert strip in cycles
    result = text_of(browser, "#result")
    assert f" {best.gain:.3f} a round, " in result
    assert ("at least" not in result) == (best.certificate > 1 - 1e-6)
    rows = value(browser, "[...document.querySelectorAll('#cycles > li')].map(e => e.innerText)")
    gains = [best.gain]
    for row, planner in zip(rows[1:], (greedy, ghost), strict=True):
        if "finds no plan within the rules" in row:
            with pytest.raises(StuckError):
                planner(instance)
        else:
            gains.append(planner(instance).gain)
            assert f"{gains[-1]:.3f}" in row
    shares = value(
        browser,
        "[...document.querySelectorAll('.share')].map(e =>"
        " parseFloat(getComputedStyle(e, '::before').width) / e.clientWidth)",
    )
    assert shares == pytest.approx([gain / best.upper_bound for gain in gains], abs=0.01)
    names = value(
        browser,
        "[...document.querySelectorAll('.curve svg')].map(e => e.getAttribute('aria-label'))",
    )
    for name, label, means in zip(instance.names, names, instance.means, strict=True):
        first, last = (f"{mean:.3f}" if mean else "0" for mean in (means[0], means[-1]))
        assert label.startswith(f"{name} pays after 1 round: {first}")
        assert f"after more than {instance.max_delay} round" in label
        assert f": {last}" in label.partition("more than")[2]


USUAL = geometric(0.7)


def moved(
    baselines: Sequence[float] = (0.9, 0.8, 0.7, 0.55, 0.3),
    delays: Sequence[int] = (4, 3, 5, 2, 1),
    decay: Decay = USUAL,
) -> Instance:
    """Return the example with other parameters."""
    return Instance.b2dep(baselines, delays, decay, EXAMPLE.names).with_rules(EXAMPLE.rules)


FIRST_LEVEL, FIRST_DELAY = ".arm .slider:nth-of-type(1) input", ".arm .slider:nth-of-type(2) input"


def test_sliders_and_switches_are_followed(browser: Chrome, example: Process) -> None:
    open_page(browser, example)
    wait_for(browser, EXAMPLE)
    before = text_of(browser, "#strip")
    press(browser, FIRST_LEVEL, *[Keys.ARROW_LEFT] * 80)
    wait_for(browser, moved([0.1, 0.8, 0.7, 0.55, 0.3]))
    assert text_of(browser, "#strip") != before
    assert "0.100" in text_of(browser, ".arm .slider")
    told = f"document.querySelector('{FIRST_LEVEL}').getAttribute('aria-valuetext')"
    assert value(browser, told) == "0.100"
    press(browser, FIRST_DELAY, Keys.HOME)
    weaker = (0.1, 0.8, 0.7, 0.55, 0.3), (1, 3, 5, 2, 1)
    wait_for(browser, moved(*weaker))
    press(browser, "#decay input", *[Keys.ARROW_RIGHT] * 5)
    wait_for(browser, moved(*weaker, geometric(0.75)))
    press(browser, "#decay select", "q")  # quickly at first
    steep = moved(*weaker, power(1))
    wait_for(browser, steep)
    press(browser, ".switch:nth-child(1) input", Keys.SPACE)
    wait_for(browser, steep.with_rules(Rules(at_least_once={"news": 10})))
    press(browser, ".switch:nth-child(2) input", Keys.SPACE)
    wait_for(browser, steep.with_rules(Rules()))
    press(browser, ".switch:nth-child(3) input", Keys.SPACE)
    wait_for(browser, steep.with_rules(Rules(cooldowns=2)))
    assert complaints(browser) == []


def test_the_last_of_many_moves_is_shown(browser: Chrome, example: Process) -> None:
    """Moves that come while a question is under way are not lost, and not all of them asked."""
    open_page(browser, example)
    browser.execute_script(
        """
        const slider = document.querySelector(arguments[0]);
        performance.clearResourceTimings();
        for (let value = 0; value <= 60; value++) {
          slider.value = value / 100;
          slider.dispatchEvent(new Event('input'));
        }
        """,
        FIRST_LEVEL,
    )
    wait_for(browser, moved([0.6, 0.8, 0.7, 0.55, 0.3]))
    asked = (
        "performance.getEntriesByType('resource').filter(e => e.name.endsWith('/answer')).length"
    )
    assert value(browser, asked) == 2


def test_a_better_plan_is_looked_for_when_the_sliders_rest(browser: Chrome, tmp_path: Path) -> None:
    instance = catalog.mixed(seed=1).with_rules(Rules(cooldowns=2))
    with explored(instance, tmp_path) as process:
        open_page(browser, process)
        wait_for(browser, instance)
        seen = "document.getElementById('looking')"
        browser.execute_script(
            f"window.texts = []; new MutationObserver(() => texts.push({seen}.textContent))"
            f".observe({seen}, {{childList: true}})"
        )
        press(browser, FIRST_LEVEL, Keys.ARROW_LEFT)
        until(browser, "texts.length >= 2")
        assert value(browser, "texts[0]") == "Looking for a better one …"
        settled(browser)
        check(browser)


def test_rules_that_cannot_be_kept_are_told_and_can_be_dropped(
    browser: Chrome, tmp_path: Path
) -> None:
    two = Instance([[0.5, 0.9], [0.2, 0.8]], names=["tea", "milk"])
    with explored(two.with_rules(Rules(cooldowns={"tea": 3})), tmp_path) as process:
        open_page(browser, process)
        press(browser, ".switch:nth-child(2) input", Keys.SPACE)  # everything, in any 4 rounds
        settled(browser)
        check(browser)
        with_own = two.with_rules(Rules(cooldowns=3))
    with explored(with_own, tmp_path) as process:
        browser.get(process.address)
        result = until(browser, "document.getElementById('result').innerText")
        assert result.startswith("Nothing: rules must leave a plan possible, but these cannot all")
        assert "tea: 3 rounds from pull to pull; milk: 3 rounds from pull to pull" in result
        assert not value(browser, "document.getElementById('compared').checkVisibility()")
        assert value(browser, "document.querySelectorAll('.curve svg').length") == 2
        press(browser, ".switch:nth-child(1) input", Keys.SPACE)
        wait_for(browser, two.with_rules(Rules(cooldowns={"milk": 3})))


def test_a_table_has_sliders_for_its_rows_only(browser: Chrome, tmp_path: Path) -> None:
    table = Instance([[0.01, 0.08, 0.02], [0.05, 0.05, 0.05]], names=["tide", "sea"])
    with explored(table, tmp_path) as process:
        open_page(browser, process)
        assert value(browser, "document.querySelectorAll('.slider').length") == 2
        assert not value(browser, "document.getElementById('recovery').checkVisibility()")
        press(browser, FIRST_LEVEL, Keys.HOME, *[Keys.ARROW_RIGHT] * 50)
        wait_for(browser, Instance([[0.00625, 0.05, 0.0125], [0.05] * 3], names=table.names))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["example", "one", "twenty"])
def test_it_fits_every_screen(
    browser: Chrome, pages: dict[str, Process], page: str, scheme: str, width: int
) -> None:
    open_page(browser, pages[page], width, scheme)
    browser.execute_script("document.getElementById('code').open = true")
    save_screenshot(browser, f"explore-{page}-{width}-{scheme}")
    assert value(browser, "document.documentElement.scrollWidth") <= width
    assert complaints(browser) == []
    assert value(browser, "document.title") == "explore | fallow"
    assert labels_that_touch(browser) == []
    lines = "Math.max(...[...document.querySelectorAll('legend')].map(e => e.clientHeight))"
    assert value(browser, lines) < 40  # long names are cut
    ground = value(browser, "getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    contrasts = contrasts_of(
        browser, "h1, h2, p, .swatch, .soft, .label, .slider span, .switch, .planner, .number, pre"
    )
    assert len(contrasts) > 10
    assert [each for each in contrasts if each[1] < 4.5] == []
    # On a phone the plan stays in sight while sliders are moved.
    browser.execute_script("document.getElementById('code').scrollIntoView()")
    box = value(browser, "document.getElementById('strip').getBoundingClientRect().toJSON()")
    assert 0 <= box["top"] < box["bottom"] <= 800


def test_controls_have_names_and_news_are_told(browser: Chrome, example: Process) -> None:
    open_page(browser, example)
    controls = browser.find_elements("css selector", "input, select, button, summary")
    names = [control.accessible_name for control in controls if control.is_displayed()]
    assert names[:2] == ["Earns when rested", "A play is felt for"]
    assert all(names)
    groups = browser.find_elements("css selector", "fieldset")
    assert [group.accessible_name for group in groups] == [f"{name}" for name in EXAMPLE.names]
    assert value(browser, "document.getElementById('result').getAttribute('role')") == "status"


def test_the_instance_can_be_taken_along(browser: Chrome, example: Process) -> None:
    open_page(browser, example)
    browser.execute_script("document.getElementById('code').open = true")
    browser.execute_script(
        "window.copied = []; navigator.clipboard.writeText = async (text) => copied.push(text);"
        "window.saved = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.text().then(text => saved.push(text));"
        " return make(blob); };"
    )
    for button in browser.find_elements("css selector", "#code button"):
        button.click()
    texts = [
        value(browser, f"document.getElementById('{kind}').textContent")
        for kind in ("python", "toml")
    ]
    assert until(browser, "copied.length == 2 && copied") == texts
    assert until(browser, "saved.length && saved") == texts[1:]
    assert fallow.plan(Instance.from_toml(texts[1])) == fallow.plan(EXAMPLE)


def test_it_says_when_an_answer_takes_long(browser: Chrome, example: Process) -> None:
    open_page(browser, example)
    browser.execute_script(
        "const usual = fetch; window.fetch = async (...words) => {"
        " await new Promise((go) => { window.go = go; }); return usual(...words); }"
    )
    press(browser, FIRST_LEVEL, Keys.ARROW_LEFT)
    until(browser, f"{LOOKING}.startsWith('Working')")
    browser.execute_script("window.go()")
    settled(browser)
    check(browser)


def test_it_says_when_it_has_ended(browser: Chrome) -> None:
    with started("explore", "--no-browser") as process:
        open_page(browser, process)
    press(browser, FIRST_LEVEL, Keys.ARROW_LEFT)
    until(browser, "document.getElementById('trouble').innerText.includes('has ended')")
