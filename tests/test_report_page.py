"""How the report looks in a browser, on wide and narrow screens, with a keyboard and on paper."""

import base64
import re
from pathlib import Path

import pytest
from browsers import save_screenshot, show, value
from report_helpers import SPECS, without_pictures
from selenium.webdriver import ActionChains, Chrome, Keys

from reproduction.claims.registry import CLAIMS
from reproduction.report.content import Content
from reproduction.report.summary import answer_questions

pytestmark = pytest.mark.slow

SHOWN = "[...document.images].filter(image => image.getClientRects().length)"
"""The pictures that are shown, as JavaScript."""
FIGURES = len(SPECS) + 1


@pytest.mark.parametrize("width", [1280, 820, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_looks_right_on_every_screen(
    browser: Chrome, report_page: Path, scheme: str, width: int
) -> None:
    show(browser, report_page, scheme, width)
    assert browser.execute("getLog", {"type": "browser"})["value"] == []
    pictures = value(browser, SHOWN + ".map(each => [each.className, each.naturalWidth])")
    kind = "wide" if width > 1_000 else "narrow"
    assert [name for name, _ in pictures] == [f"{kind} {scheme}"] * FIGURES
    assert all(size > 200 for _, size in pictures)
    rows = value(browser, "document.querySelectorAll('#claims-table tbody tr').length")
    assert rows == len(CLAIMS)
    assert value(browser, "document.documentElement.scrollWidth") <= width
    ground = value(browser, "getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    save_screenshot(browser, f"report-{width}-{scheme}")


def test_the_first_screen_says_whether_the_paper_was_reproduced(
    browser: Chrome, report_page: Path, report: Content
) -> None:
    show(browser, report_page)
    answers = value(
        browser,
        "[...document.querySelectorAll('.answers dd')]"
        ".map(each => [each.innerText, each.getBoundingClientRect().bottom])",
    )
    assert len(answers) == 6
    assert [answer for answer, _ in answers] == [each.answer for each in answer_questions(report)]
    assert all(bottom <= 800 for _, bottom in answers)


def test_a_wide_screen_is_used(browser: Chrome, report_page: Path) -> None:
    """No row of figures, no table and no list ends before the right sixth of the screen."""
    show(browser, report_page)
    ends = value(
        browser,
        "[...document.querySelectorAll('.exhibits, table, .notes, .answers')].map(each => Math.max("
        "...[...each.querySelectorAll('img, figcaption, td, li, dd')]"
        ".map(inner => inner.getBoundingClientRect().right)))",
    )
    assert len(ends) > 12
    assert min(ends) > 1280 * 5 / 6


@pytest.mark.parametrize("width", [1280, 820, 390])
def test_text_in_figures_is_readable(browser: Chrome, report_page: Path, width: int) -> None:
    show(browser, report_page, width=width)
    pictures = value(
        browser, SHOWN + ".map(each => [each.src, 96 / 72 * each.width / each.naturalWidth])"
    )
    assert len(pictures) == FIGURES
    sizes = [scale * smallest_points(source) for source, scale in pictures]
    assert min(sizes) >= 9  # pixels


def smallest_points(source: str) -> float:
    """Return the height of the smallest text in an SVG picture of matplotlib.

    Letters are outlines 100 points high, scaled; exponents are scaled once more.
    """
    svg = base64.b64decode(source.partition(",")[2]).decode()
    sizes = []
    for text in svg.split('<g id="text_')[1:]:
        lines = map(float, re.findall(r"scale\((\S+) -\1\)", text))
        parts = map(float, re.findall(r"<use .*scale\((\S+)\)", text))
        sizes.append(100 * min(lines) * min(parts, default=1))
    return min(sizes)


@pytest.mark.parametrize("width", [1280, 390])
def test_boxes_that_scroll_can_be_reached_and_are_named(
    browser: Chrome, report_page: Path, width: int
) -> None:
    show(browser, report_page, width=width)
    boxes = value(
        browser,
        "[...document.querySelectorAll('*')].filter(each =>"
        " getComputedStyle(each).overflowX == 'auto')"
        ".map(each => [each.tabIndex, each.getAttribute('role'), each.ariaLabel])",
    )
    assert len(boxes) == 2
    assert all(place == 0 and role == "region" and label for place, role, label in boxes)


def test_the_keyboard_leads_to_what_was_found_first(browser: Chrome, report_page: Path) -> None:
    show(browser, report_page)
    ActionChains(browser).send_keys(Keys.TAB).perform()
    link = browser.switch_to.active_element
    assert link.text == "Skip to what was found"
    assert link.rect["x"] >= 0
    assert link.value_of_css_property("outline-style") == "solid"
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    assert value(browser, "document.activeElement.id") == "answers"
    ActionChains(browser).send_keys(Keys.TAB).perform()
    assert browser.switch_to.active_element.text == "Was the paper reproduced?"


def test_pictures_are_described_by_their_numbers(
    browser: Chrome, report_page: Path, report: Content
) -> None:
    show(browser, report_page)
    texts = dict(value(browser, SHOWN + ".map(each => [each.closest('figure').id, each.alt])"))
    assert len(texts) == FIGURES
    for result in report.results:
        text = texts[f"figure-{result.spec.name}"]
        assert re.fullmatch(r"The chart shows .*\.", text)
        assert text not in (result.spec.title, result.exhibit.caption)
        assert all(f"{learner} goes from " in text for learner in result.spec.learners)
    assert "pi_2 after pi_1 earns 1.567" in texts["figure-1"]


def test_paper_is_white_and_narrow(browser: Chrome, report_page: Path) -> None:
    """Who prints from a dark screen gets light pictures, and as many columns as fit."""
    show(browser, report_page, "dark", 718)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    names = value(browser, SHOWN + ".map(each => each.className)")
    ground = value(browser, "getComputedStyle(document.body).backgroundColor")
    table = value(browser, "document.querySelector('.heat').getBoundingClientRect().right")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert names == ["narrow light"] * FIGURES
    assert ground == "rgb(255, 255, 255)"
    assert table <= 718


def test_the_page_needs_nothing_else(browser: Chrome, report_page: Path) -> None:
    show(browser, report_page)
    resources = value(browser, "performance.getEntriesByType('resource').map(entry => entry.name)")
    assert all(name.startswith("data:") for name in resources)
    assert "http" not in without_pictures(report_page)
