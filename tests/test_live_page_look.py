"""The page of the service: that it fits, can be read, and draws what it was told."""

from collections.abc import Iterator

import pytest
from browsers import contrasts_of, labels_that_touch, save_screenshot, value
from live_pages import (
    CAMPAIGNS,
    complaints,
    open_campaign,
    until,
)
from live_stub import Stub, overview, serve
from selenium.webdriver import ActionChains, Chrome

from fallow.drawing.colours import COLOURS

pytestmark = pytest.mark.slow


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serve(CAMPAIGNS["usual"]) as served:
        yield served


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_every_campaign_fits_every_screen(
    browser: Chrome, campaign: str, scheme: str, width: int
) -> None:
    with serve(CAMPAIGNS[campaign]) as stub:
        open_campaign(browser, stub, width=width, prefers_color_scheme=scheme)
        save_screenshot(browser, f"live-{campaign}-{width}-{scheme}")
        browser.execute_script("document.getElementById('cells').open = true")
        cells = len(CAMPAIGNS[campaign]["cells"])
        until(browser, f"document.querySelectorAll('#cell-rows tr').length == {cells}")
        assert value(browser, "document.documentElement.scrollWidth") <= width
        assert complaints(browser) == []
        ground = value(browser, "getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        assert labels_that_touch(browser) == []


def heights(browser: Chrome, chart: str, marks: str) -> list[float]:
    """Return the values at which marks of a chart stand, read off its axis as people would."""
    found: list[float] = browser.execute_script(
        """
        const chart = document.querySelector(arguments[0]);
        const [zero, , top] = chart.querySelectorAll('.axis');
        const unit = Number(chart.querySelectorAll('text')[2].textContent);
        const height = line => Number(line.getAttribute('y1'));
        const ys = [...chart.querySelectorAll(arguments[1])].flatMap(mark =>
          [...mark.getAttribute('d').matchAll(/[ML]\\S+ ([\\d.]+)/g)].map(each => each[1]));
        return ys.map(y => unit * (Number(y) - height(zero)) / (height(top) - height(zero)));
        """,
        chart,
        marks,
    )
    return found


def test_curves_stand_where_the_numbers_are(browser: Chrome) -> None:
    campaign = overview()
    bucket = {"seconds": 10, "decisions": 25}
    rows = [(15, 6, 9), (15, 9, 6), (60, 12, 24), (60, 30, 30), (5, 5, 0)]
    campaign["history"] = [
        {"at": 10 * place, "rewards": rewards, "reward": reward, "expected": expected, **bucket}
        for place, (rewards, reward, expected) in enumerate(rows)
    ]
    with serve(campaign) as stub:
        open_campaign(browser, stub)
        cells = [cell for cell in campaign["cells"] if cell["arm"] == "waltz"]
        means = [cell["mean"] for cell in cells]
        guessed = [cell["mean"] for cell in cells if cell["rewards"] == 0]
        assert len(guessed) == 1
        waltz = "#arms figure:nth-child(2) svg"
        assert heights(browser, waltz, ".dots:not(.none)") == pytest.approx(means, abs=0.01)
        assert heights(browser, waltz, ".dots.none") == pytest.approx(guessed, abs=0.01)
        assert heights(browser, waltz, ".line") == pytest.approx(means, abs=0.01)
        ends = [cell["low"] for cell in cells] + [cell["high"] for cell in reversed(cells)]
        band = [min(end, 0.8) for end in ends for _ in range(2)]
        assert heights(browser, waltz, ".band") == pytest.approx(band, abs=0.01)
        # The first two have too few rewards to stand alone, and the last has not enough yet.
        chart = "#reward-chart svg"
        assert heights(browser, chart, ".reward") == pytest.approx([0.5, 0.2, 0.5], abs=0.01)
        assert heights(browser, chart, ".expected") == pytest.approx([0.5, 0.4, 0.5], abs=0.01)


def test_pointing_at_a_curve_tells_its_numbers(browser: Chrome, stub: Stub) -> None:
    open_campaign(browser, stub)
    chart = browser.find_element("css selector", "#arms figure:nth-child(2) svg")
    middle_of_second = 26 + 1.5 * (172 - 26) / 7 - 174 / 2
    scale = chart.size["width"] / 174
    ActionChains(browser).move_to_element_with_offset(
        chart, round(scale * middle_of_second), 0
    ).perform()
    cell = CAMPAIGNS["usual"]["cells"][8]
    told = value(browser, "document.querySelector('#arms figure:nth-child(2) title').textContent")
    mean, low, high = (f"{cell[key]:.3f}" for key in ("mean", "low", "high"))
    assert told == f"after 2 rounds: {mean} ({low} to {high}), {cell['rewards']} rewards"


def test_charts_have_names_for_screen_readers(browser: Chrome, stub: Stub) -> None:
    open_campaign(browser, stub)
    names = value(
        browser,
        "[...document.querySelectorAll('svg:not([aria-hidden])')]"
        ".map(each => [each.getAttribute('role'), each.getAttribute('aria-label')])",
    )
    assert all(role == "img" for role, _ in names)
    assert names[0][1].startswith("Average reward of a decision over time: lately 0.")
    hymn = CAMPAIGNS["usual"]["cells"][0]
    assert names[1][1].startswith(f"hymn pays after 1 round: {hymn['mean']:.3f} (")
    unnamed = value(
        browser,
        "[...document.querySelectorAll('section')].filter("
        "each => !document.getElementById(each.getAttribute('aria-labelledby') ?? 'no-campaign'))",
    )
    assert unnamed == []


def test_sixty_arms_look_different(browser: Chrome) -> None:
    with serve(CAMPAIGNS["sixty"]) as stub:
        open_campaign(browser, stub)
        looks = value(
            browser,
            "[...document.querySelectorAll('#arms .swatch')].map(each => [each.innerText,"
            " each.style.getPropertyValue('--colour'), getComputedStyle(each).backgroundImage])",
        )
        assert [number for number, _, _ in looks] == [str(place) for place in range(1, 61)]
        assert len({(colour, edge) for _, colour, edge in looks}) == 60
        assert tuple(colour for _, colour, _ in looks[:20]) == COLOURS


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(browser: Chrome, scheme: str) -> None:
    """Contrast as WCAG 2.2 counts it is at least 4.5, the numbers of arms included."""
    with serve(CAMPAIGNS["sixty"]) as stub:
        open_campaign(browser, stub, prefers_color_scheme=scheme)
        contrasts = contrasts_of(browser, ".swatch, .soft, .label, h3, a, dt, dd, button")
        assert len(contrasts) > 100
        assert [each for each in contrasts if each[1] < 4.5] == []


def test_nothing_moves_for_those_who_asked_for_rest(browser: Chrome, stub: Stub) -> None:
    animations = "document.getAnimations({subtree: true}).length"
    open_campaign(browser, stub)
    assert value(browser, animations) == 1
    open_campaign(browser, stub, prefers_reduced_motion="reduce")
    assert value(browser, animations) == 0
