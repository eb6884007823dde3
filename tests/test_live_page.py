"""The page of the service: what it says, how it looks, and that it follows what happens."""

import re
from collections.abc import Iterator
from itertools import combinations
from math import cos, hypot, radians, sin
from pathlib import Path
from typing import Any

import pytest
from browsers import save_screenshot, value
from live_stub import TOKEN, Overview, Stub, overview, serve
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.support.wait import WebDriverWait
from service_helpers import SECRETS, Process, served

from fallow.live.service.tokens import READER

pytestmark = pytest.mark.slow

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


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serve(CAMPAIGNS["usual"]) as served:
        yield served


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


def test_figures_and_words(browser: Chrome, stub: Stub) -> None:
    open_campaign(browser, stub)
    figures = text_of(browser, "#figures").replace("\n\n", "\n").split("\n")
    assert figures[:3] == ["Decisions", "12,345", "for 312 users"]
    assert figures[3:5] == ["Decisions a second", "2.5"]
    assert figures[5:8] == ["Feedback open", "1,235", "11,110 came"]
    assert figures[8:10] == ["Feedback late", "137"]
    # The last five buckets have a hundred rewards.
    last = CAMPAIGNS["usual"]["history"][-5:]
    came, expected = (sum(bucket[key] for bucket in last) / 100 for key in ("reward", "expected"))
    assert figures[11:] == [
        "Average reward lately",
        f"{came:.3f}",
        f"{expected:.3f} was expected; over the last 50 s",
    ]
    words = text_of(browser, "#plan-words")
    assert "0.612 a round, at least 98 % of the best possible with these means." in words
    strip = value(
        browser, "[...document.querySelectorAll('#plan-strip .name')].map(e => e.innerText)"
    )
    assert strip == CAMPAIGNS["usual"]["plan"]["cycle"]
    settings = text_of(browser, "#settings")
    assert "hymn: 3 rounds from one showing to the next, at least" in settings
    assert "march: never shown" in settings
    assert "more than 6 rounds" in settings
    assert value(browser, "document.title") == "morning | fallow"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"certificate": 0.99999, "method": "beam"}, "at least 99.9 % of the best possible"),
        ({"certificate": 0.98999, "method": "beam"}, "at least 98 % of the best possible"),
        ({"certificate": 0.99999, "method": "optimal"}, "the best possible with these means"),
    ],
)
def test_a_certificate_promises_no_more_than_was_proved(
    browser: Chrome, plan: dict[str, Any], words: str
) -> None:
    campaign = overview()
    with serve({**campaign, "plan": {**campaign["plan"], **plan}}) as stub:
        open_campaign(browser, stub)
        assert text_of(browser, "#plan-words strong:last-of-type").startswith(words)


@pytest.mark.parametrize(
    ("rest", "explore", "words"),
    [
        (None, 0.05, "at least 10 users have feedback."),
        (None, 0.0, "No decisions here are drawn at random (explore is 0)"),
        (("cannot say", "cannot say: 0; missing: chance"), 0.0, "explore at 0.02 would tell"),
        (("rest helps", "rest helps: +0.0800 per unit"), 0.05, "longer rest. +0.0800 per unit"),
        (("repeating helps", "repeating helps: -0.1"), 0.05, "the other way round"),
        (("no effect found", "no effect found: 0.001"), 0.05, "No effect of rest was found."),
    ],
)
def test_whether_rest_matters(
    browser: Chrome, rest: tuple[str, str] | None, explore: float, words: str
) -> None:
    found = None if rest is None else dict(zip(("verdict", "sentence"), rest, strict=True))
    with serve({**overview(explore=explore), "rest": found}) as stub:
        open_campaign(browser, stub)
        assert words in text_of(browser, "#rest-words")


def test_news_are_shown_where_they_are_and_the_reader_stays_where_she_is(
    browser: Chrome, stub: Stub
) -> None:
    open_campaign(browser, stub)
    browser.execute_script("document.querySelector('summary').focus()")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(browser, "document.querySelectorAll('#cell-rows tr').length > 0")
    browser.execute_script("window.before = document.querySelectorAll('#arms svg')")
    news = overview(decisions=12_346)
    news["cells"] = [dict(cell) for cell in CAMPAIGNS["usual"]["cells"]]
    news["cells"][0] |= {"rewards": 7_777, "mean": 0.111}
    stub.put(news)
    until(browser, "document.querySelector('.big').innerText == '12,346'")
    assert "0.111" in text_of(browser, "#cell-rows")
    assert value(browser, "document.activeElement.localName") == "summary"
    # Only the arm that has news is drawn anew.
    kept = (
        "[...document.querySelectorAll('#arms svg')].map((e, place) => e == window.before[place])"
    )
    assert value(browser, kept) == [False, True, True, True, True]
    assert text_of(browser, "#connection") == "Live"
    assert complaints(browser) == []


def test_a_lost_connection_is_told_and_found_again(browser: Chrome) -> None:
    with serve(CAMPAIGNS["usual"]) as stub:
        open_campaign(browser, stub)
        port = stub.server_port
    gone = "document.getElementById('connection').innerText"
    assert re.search(
        r"Not connected; trying again. What you see is from \d\d:\d\d:\d\d.",
        until(browser, f"{gone}.startsWith('Not connected') && {gone}"),
    )
    assert text_of(browser, ".big") == "12,345"
    # It asks again ever less often: after half a second, one, two, give or take a quarter.
    begun = (
        "performance.getEntriesByType('resource').filter(each => each.name.endsWith('/stream'))"
        ".map(each => each.startTime / 1000)"
    )
    first, second, third = until(browser, f"{begun}.length >= 4 && {begun}.slice(1, 4)")
    assert third - second > 1.1 * (second - first)
    with serve(overview(decisions=20_000), port=port):
        until(browser, "document.querySelector('.big').innerText == '20,000'")
        assert text_of(browser, "#connection") == "Live"


def test_a_token_is_asked_for_and_forgotten(browser: Chrome, stub: Stub) -> None:
    open_page(browser, stub, "campaign=morning")
    until(browser, "!document.getElementById('token-form').hidden")
    assert value(browser, "document.activeElement.id") == "token"
    for wrong, words in (("wrong", "The token was refused."), ("ключ", "A token has only letters")):
        browser.switch_to.active_element.send_keys(wrong, Keys.ENTER)
        until(browser, f"document.getElementById('refusal').innerText.startsWith('{words}')")
        assert not value(browser, "document.getElementById('token-form').hidden")
    browser.switch_to.active_element.send_keys(TOKEN, Keys.ENTER)
    until(browser, "!document.getElementById('campaign').hidden")
    browser.refresh()
    until(browser, "!document.getElementById('campaign').hidden")
    browser.find_element("id", "forget").click()
    assert value(browser, "document.getElementById('campaign').hidden")
    assert value(browser, "sessionStorage.length") == 0
    assert value(browser, "document.getElementById('token').value") == ""


def test_a_token_in_the_address_is_taken_and_removed(browser: Chrome, stub: Stub) -> None:
    open_campaign(browser, stub)
    assert value(browser, "location.href") == f"{stub.address}/#campaign=morning"
    assert TOKEN not in value(browser, "document.documentElement.outerHTML")
    addresses = "performance.getEntriesByType('resource').map(e => e.name).join()"
    assert "token" not in value(browser, addresses)
    open_page(browser, stub, "token=wrong")
    until(browser, "document.getElementById('refusal').innerText == 'The token was refused.'")
    assert value(browser, "location.href") == f"{stub.address}/"
    # A new one replaces it, on the open page as well.
    open_campaign(browser, stub)
    browser.execute_script("location.hash = 'token=wrong'")
    until(browser, "document.getElementById('refusal').innerText == 'The token was refused.'")
    assert value(browser, "location.hash") == "#campaign=morning"


def test_what_the_server_says_is_never_markup(browser: Chrome) -> None:
    campaign = overview(arms=[HOSTILE, "waltz"], rules={"exclude": [HOSTILE]}, explore=0.1)
    campaign["rest"] = {"verdict": "rest helps", "sentence": HOSTILE}
    campaign["plan"]["method"] = HOSTILE
    with serve(campaign, overview(name=HOSTILE)) as stub:
        open_campaign(browser, stub)
        browser.execute_script("document.getElementById('cells').open = true")
        until(browser, "document.querySelectorAll('#cell-rows tr').length > 0")
        for place in (
            "#plan-strip",
            "#arms",
            "#rest-words",
            "#settings",
            "#cell-rows",
            "#campaigns",
        ):
            assert HOSTILE in text_of(browser, place)
        browser.get(f"{stub.address}/#campaign=%3Cimg%3E")
        until(browser, "document.getElementById('trouble').innerText.includes('<img>')")
        assert value(browser, "document.images.length") == 0
        assert value(browser, "document.title") != "owned"


def test_campaigns_are_chosen_by_keyboard_and_remembered(browser: Chrome, stub: Stub) -> None:
    stub.put(overview(name="evening", decisions=7))
    open_campaign(browser, stub)
    until(browser, "document.querySelectorAll('#campaigns a').length == 2")
    browser.execute_script("document.body.focus()")
    order = []
    for _ in range(5):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        focused = value(
            browser,
            "[document.activeElement.innerText.split('\\n')[0],"
            " getComputedStyle(document.activeElement).outlineStyle]",
        )
        order.append(focused)
    assert [text for text, _ in order] == [
        "Skip to the campaign",
        "Forget the token",
        "morning",
        "evening",
        "All estimates as a table",
    ]
    assert all(outline == "solid" for _, outline in order)
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    until(browser, "document.querySelector('#campaign-name').innerText == 'evening'")
    assert value(browser, "document.activeElement.innerText").startswith("evening")
    assert value(browser, "document.querySelector('[aria-current=page]').innerText[0]") == "e"
    browser.refresh()
    until(browser, "document.querySelector('#campaign-name').innerText == 'evening'")
    browser.back()
    until(browser, "document.querySelector('#campaign-name').innerText == 'morning'")


def test_an_unknown_campaign_is_said_to_be_so_until_it_is_there(
    browser: Chrome, stub: Stub
) -> None:
    open_page(browser, stub, f"token={TOKEN}&campaign=night")
    trouble = until(browser, "document.getElementById('trouble').innerText")
    assert trouble == "The service says: there must be a campaign night, got none"
    until(browser, "document.querySelectorAll('#campaigns a').length == 1")
    stub.put(overview(name="night"))
    until(browser, "document.querySelector('#campaign-name').innerText == 'night'")
    assert value(browser, "document.getElementById('trouble').hidden")


def test_without_campaigns_it_says_how_to_make_one(browser: Chrome) -> None:
    with serve() as stub:
        open_page(browser, stub)
        until(browser, "!document.getElementById('no-campaign').hidden")
        assert f"curl -X PUT {stub.address}/v1/campaigns/morning" in text_of(browser, "pre")
        assert text_of(browser, "#connection") == "Live"
        save_screenshot(browser, "live-no-campaign")
        stub.put(overview())
        until(browser, "!document.getElementById('campaign').hidden")
        assert value(browser, "document.getElementById('no-campaign').hidden")


@pytest.mark.parametrize(
    ("campaign", "words"),
    [
        (overview(decisions=0), "No decisions yet. Ask for one: POST /v1/campaigns/morning/"),
        (overview(decisions=40, feedback=0), "No feedback has come yet"),
        ({**overview(decisions=0), "plan": None}, "There is no plan yet."),
    ],
)
def test_what_is_not_there_yet_is_said(browser: Chrome, campaign: Overview, words: str) -> None:
    with serve(campaign) as stub:
        open_campaign(browser, stub)
        assert words in text_of(browser, "main")
        assert "NaN" not in text_of(browser, "main")


def test_elapsed_time_is_told_in_fitting_units(browser: Chrome) -> None:
    with serve(CAMPAIGNS["by-time"]) as stub:
        open_campaign(browser, stub)
        words = browser.execute_async_script(
            "import('/page/words.js').then(words => arguments[0]("
            "[0.5, 30, 90, 300, 7200, 86400, 259200].map(words.time)))"
        )
        assert words == ["0.5 s", "30 s", "1.5 min", "5 min", "2 h", "1 day", "3 days"]
        titles = value(
            browser,
            "[...document.querySelectorAll('figure')[0].querySelectorAll('title')]"
            ".map(each => each.textContent.split(':')[0])",
        )
        assert titles[0] == "within 11 min"
        assert titles[-2:] == ["within 1 day", "after more than 1 day"]
        assert "left out" not in text_of(browser, "#settings")
        assert "counted as 0 after 1 h" in text_of(browser, "#settings")


def heights(browser: Chrome, chart: str, marks: str) -> list[float]:
    """Return the values at which marks of a chart stand, read off its axis as people would."""
    found: list[float] = browser.execute_script(
        """
        const chart = document.querySelector(arguments[0]);
        const [zero, , top] = chart.querySelectorAll('.axis');
        const unit = Number(chart.querySelectorAll('text')[2].textContent);
        const height = line => Number(line.getAttribute('y1'));
        const ys = [...chart.querySelectorAll(arguments[1])].flatMap(mark =>
          mark.localName == 'circle' ? [mark.getAttribute('cy')]
          : [...mark.getAttribute('d').matchAll(/[ML]\\S+ ([\\d.]+)/g)].map(each => each[1]));
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
        means = [cell["mean"] for cell in campaign["cells"] if cell["arm"] == "waltz"]
        waltz = "#arms figure:nth-child(2) svg"
        assert heights(browser, waltz, ".dot") == pytest.approx(means, abs=0.01)
        assert heights(browser, waltz, ".line") == pytest.approx(means, abs=0.01)
        highs = [cell["high"] for cell in campaign["cells"] if cell["arm"] == "waltz"]
        top = max(heights(browser, waltz, ".axis ~ .band"))
        assert top == pytest.approx(min(max(highs), 0.8), abs=0.01)
        # The first two have too few rewards to stand alone, and the last has not enough yet.
        chart = "#reward-chart svg"
        assert heights(browser, chart, ".reward") == pytest.approx([0.5, 0.2, 0.5], abs=0.01)
        assert heights(browser, chart, ".expected") == pytest.approx([0.5, 0.4, 0.5], abs=0.01)


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
        points = [oklab(colour) for _, colour, _ in looks[:20]]
        assert (
            min(
                hypot(*(a - b for a, b in zip(*pair, strict=True)))
                for pair in combinations(points, 2)
            )
            > 0.07
        )


def oklab(colour: str) -> tuple[float, float, float]:
    """Return the place of oklch(lightness chroma hue) where distances are differences seen."""
    lightness, chroma, hue = map(float, re.findall(r"[\d.]+", colour))
    return lightness, chroma * cos(radians(hue)), chroma * sin(radians(hue))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(browser: Chrome, scheme: str) -> None:
    """Contrast as WCAG 2.2 counts it is at least 4.5, the numbers of arms included."""
    with serve(CAMPAIGNS["sixty"]) as stub:
        open_campaign(browser, stub, prefers_color_scheme=scheme)
        contrasts = browser.execute_script(
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
            return [...document.querySelectorAll('.swatch, .soft, .label, h3, a, dt, dd, button')]
              .map(node => {
                const style = getComputedStyle(node);
                const ink = luminance(node.matches('.label') ? style.fill : style.color);
                const pair = [ink, luminance(ground(node))];
                return [node.textContent, (Math.max(...pair) + .05) / (Math.min(...pair) + .05)];
              });
            """
        )
        assert len(contrasts) > 100
        assert [each for each in contrasts if each[1] < 4.5] == []


def test_nothing_moves_for_those_who_asked_for_rest(browser: Chrome, stub: Stub) -> None:
    animations = "document.getAnimations({subtree: true}).length"
    open_campaign(browser, stub)
    assert value(browser, animations) == 1
    open_campaign(browser, stub, prefers_reduced_motion="reduce")
    assert value(browser, animations) == 0


def test_those_who_may_only_read_see_the_demonstration_move(
    browser: Chrome, tmp_path: Path
) -> None:
    with served(tmp_path, "--demo") as service:
        open_page(browser, service, f"token={SECRETS[READER]}")
        decisions = "Number(document.querySelector('.big')?.innerText.replace(',', ''))"
        first = until(browser, decisions)
        until(browser, f"{decisions} > {first}")
        until(browser, "document.querySelectorAll('#plan-strip li').length > 0")
        until(browser, "document.querySelector('#reward-chart svg') !== null")
        assert value(browser, "document.querySelectorAll('#arms svg').length") == 6
        assert complaints(browser) == []
        save_screenshot(browser, "live-demonstration")
        service.process.terminate()
        until(browser, "document.getElementById('connection').innerText.startsWith('Not conn')")
        assert service.process.wait(PATIENCE) == 0
