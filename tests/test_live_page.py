"""The page of the service: what it says, and that it follows what happens."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import save_screenshot, value
from live_pages import (
    CAMPAIGNS,
    HOSTILE,
    PATIENCE,
    complaints,
    open_campaign,
    open_page,
    text_of,
    until,
)
from live_stub import TOKEN, Overview, Stub, overview, serve
from selenium.webdriver import ActionChains, Chrome, Keys
from service_helpers import SECRETS, served

from fallow.live.service.tokens import READER

pytestmark = pytest.mark.slow


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serve(CAMPAIGNS["usual"]) as served:
        yield served


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
    assert "hymn: 3 rounds from pull to pull" in settings
    assert "march: not in the plan" in settings
    assert "more than 6 rounds" in settings
    assert value(browser, "document.title") == "morning | fallow"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"certificate": 0.99999, "method": "beam"}, "at least 99.9 % of the best possible"),
        ({"certificate": 0.98999, "method": "beam"}, "at least 98 % of the best possible"),
        ({"certificate": 0.9999999, "method": "optimal"}, "the best possible with these means"),
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
    second, third = until(browser, f"{begun}.length >= 4 && {begun}.slice(2, 4)")
    assert third - second > 1.4
    with serve(overview(decisions=20_000), port=port):
        until(browser, "document.querySelector('.big').innerText == '20,000'")
        assert text_of(browser, "#connection") == "Live"


def test_a_network_that_is_gone_without_a_word_is_noticed(browser: Chrome, stub: Stub) -> None:
    open_campaign(browser, stub)
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **network})
    try:
        until(browser, "document.getElementById('connection').innerText.startsWith('Not conn')")
        stub.put(overview(decisions=20_000))
    finally:
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **network})
    until(browser, "document.querySelector('.big').innerText == '20,000'")
    assert text_of(browser, "#connection") == "Live"
    # The stream that may be dead was given up: it is listed among the calls that have ended.
    ended = "performance.getEntriesByType('resource').map(each => each.name)"
    assert f"{stub.address}/v1/campaigns/morning/stream" in value(browser, ended)


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
        browser.execute_script("document.getElementById('cells').open = true")
        until(browser, "document.querySelectorAll('#cell-rows tr').length > 0")
        delays = value(
            browser,
            "[...document.querySelectorAll('#cell-rows td:nth-child(2)')].map(e => e.innerText)",
        )
        assert delays[0] == "within 11 min"
        assert delays[7:9] == ["within 1 day", "after more than 1 day"]
        assert "a decision counts as 0 after 1 h" in text_of(browser, "#settings")


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
