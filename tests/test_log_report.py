"""The page on a log, and the picture: what they say, and how the page looks in a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from browsers import save_screenshot, show, value
from matplotlib.container import ErrorbarContainer
from selenium.webdriver import Chrome

from fallow import Instance, Log, catalog, plan
from fallow.arrays import FloatArray
from fallow.drawing.figures import recovery_figure
from fallow.logs import (
    ArmVerdict,
    CannotSay,
    Interval,
    Value,
    Verdict,
    fit,
    plan_and_value,
    rest_matters,
    simulate_log,
)
from fallow.logs.report import Findings, report_page
from fallow.logs.sentences import drop_in_words, gain_in_words, verdict_in_words
from fallow.text import visible

ARM = ArmVerdict("hymn", "rest helps", Interval(0.1, 0.05, 0.15), 0.01)
HOSTILE = (
    '<script>document.title = "taken"</script>',
    '"><img src=x onerror="document.title = 1">',
    "$title ${rows} $$",
    "a & b ' \x1b[31m \u202e",
    "W" * 90,
)


def renamed(log: Log, names: tuple[str, ...]) -> Log:
    log.names = names
    return log


def find(log: Log) -> Findings:
    fitted = fit(log)
    try:
        worth = plan_and_value(log)
    except CannotSay as reason:
        return Findings(log, rest_matters(log), fitted, plan(fitted.instance), reason)
    assert worth.plan is not None
    return Findings(log, rest_matters(log), fitted, worth.plan, worth)


@pytest.fixture(scope="module")
def found() -> Findings:
    """Five songs of which the best wear out, with names that would like to be HTML."""
    instance = Instance.b2dep([0.9, 0.8, 0.7, 0.3, 0.2], [3, 2, 2, 1, 1], [0.9, 0.5, 0.2])
    return find(renamed(simulate_log(instance, users=80, rounds=80, seed=5), HOSTILE))


@pytest.fixture(scope="module")
def page(found: Findings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report_page(found, "<i>plays</i>.csv"), encoding="utf-8")
    return path


class Reader(HTMLParser):
    """Collects the text of a page by the element in which it stands, and all attributes."""

    VOID = ("meta", "link", "rect", "path", "circle", "polyline")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1], data))

    def inside(self, tag: str) -> list[str]:
        return [text for place, text in self.texts if place == tag]


def test_names_stay_names(page: Path) -> None:
    reader = Reader(page.read_text(encoding="utf-8"))
    assert reader.open == []
    tags = {tag for tag, _ in reader.elements}
    assert not tags & {"script", "img", "i"}
    assert not any(name.startswith("on") for _, given in reader.elements for name in given)
    shown = [visible(name) for name in HOSTILE]
    assert r"\x1b[31m \u202e" in shown[3]
    assert sorted(reader.inside("figcaption")) == sorted(shown)
    assert set(shown) <= set(reader.inside("th"))
    assert reader.inside("title") == ["What wears out: <i>plays</i>.csv"]


def test_the_page_says_what_was_found(page: Path, found: Findings) -> None:
    reader = Reader(page.read_text(encoding="utf-8"))
    worth = found.value
    assert not isinstance(worth, CannotSay)
    text = " ".join(" ".join(part for _, part in reader.texts).split())
    assert "6,400 rows: 6,400 plays of 5 arms by 80 users" in text
    assert text.count("Rest helps: a play after twice the rest earns ") == 2
    gain = worth.gain
    assert f"a difference of {1000 * gain.value:+,.0f} ({gain.value / worth.logged:+.0%})" in text
    assert f"from {1000 * gain.low:+,.0f} to {1000 * gain.high:+,.0f}" in text
    assert "Play the options in this order, and then start again." in text
    for sentence in found.verdict.assumptions:
        assert sentence in text
    assert text.endswith("What was found in the log: Nothing unusual.")
    found.log.counts = found.log.counts._replace(repeated=1, unknown=23)
    text = report_page(found, "plays.csv")
    assert "<li>1 row repeating another; left out</li>\n<li>23 rows of unknown rest" in text


def test_options_stand_in_the_order_of_what_they_lose(page: Path, found: Findings) -> None:
    text = page.read_text(encoding="utf-8")
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', text)
    lost = [float(re.findall(r"(-?\d+) %", row)[0]) for row in rows[:5]]
    drops = sorted((100 * each.drop.value for each in found.fit.recovery), reverse=True)
    assert lost == [round(drop) for drop in drops]
    bars = [float(re.findall(r'rect class="bar" width="([\d.]+)"', row)[0]) for row in rows[:5]]
    np.testing.assert_allclose(bars, np.clip(drops, 0, 100), atol=0.051)


def test_the_rotation_and_its_shares_are_those_of_the_plan(page: Path, found: Findings) -> None:
    text = page.read_text(encoding="utf-8")
    _, begin, strip = text.partition('<ol class="strip"')
    chips = Reader(begin + strip.partition("</ol>")[0] + "</ol>")
    assert chips.inside("li") == [visible(HOSTILE[arm]) for arm in found.plan.cycle]
    colours = {given["style"] for tag, given in chips.elements if tag == "li"}
    assert len(colours) == len(set(found.plan.cycle)) > 1
    shares = text.partition("share of plays now")[2]
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', shares)
    planned = [float(re.findall(r"([\d.]+)%", row)[1]) for row in rows]
    counts = np.bincount(found.plan.cycle, minlength=5) / len(found.plan.cycle)
    np.testing.assert_allclose(planned, sorted(100 * counts, reverse=True), atol=0.051)
    assert len(rows) == 5
    widths = [re.findall(r'rect class="bar" width="([\d.]+)"', row) for row in rows]
    shown = np.array(widths, float) / 100 * max(counts)
    now = [float(re.findall(r"([\d.]+)%", row)[0]) for row in rows]
    np.testing.assert_allclose(100 * shown.T, [now, planned], atol=0.1)


def test_panels_show_fit_and_means(page: Path, found: Findings) -> None:
    """The same scale for all, the smallest and the largest reward at the ends of the axis."""
    fitted, cells = found.fit, found.fit.cells
    text = page.read_text(encoding="utf-8")
    panels = re.findall(r"<figure>.*?</figure>", text)
    low, high = (float(end) for end in re.findall(r">(0\.\d\d)<", panels[0])[::-1])
    bottom, top = 116, 8

    def reward(height: FloatArray) -> FloatArray:
        return low + (high - low) * (bottom - height) / (bottom - top)

    order = np.argsort(-cells.rows.sum(axis=1))
    for panel, arm in zip(panels, order, strict=True):
        (points,) = re.findall(r'points="([^"]+)"', panel)
        line = np.array([point.split(",") for point in points.split()], float)
        dots = np.array(re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', panel), float)
        reach = np.array(re.findall(r'd="M[\d.]+ ([\d.]+)V([\d.]+)"', panel), float)
        np.testing.assert_allclose(reward(line[:, 1]), fitted.means[arm], atol=0.01)
        np.testing.assert_allclose(reward(dots[:, 1]), cells.means[arm], atol=0.01)
        ends = cells.means[arm] + np.outer([-1, 1], fitted.half_widths[arm])
        np.testing.assert_allclose(reward(reach).T, ends, atol=0.01)
        np.testing.assert_array_equal(line[:, 0], dots[:, 0])


def test_an_option_has_its_own_verdict() -> None:
    mixed = Instance([[0.1, 0.5, 0.9], [0.6, 0.6, 0.6], [0.5, 0.5, 0.5]], names=["b", "a", "c"])
    found = find(renamed(simulate_log(mixed, users=60, rounds=60, seed=4), mixed.names))
    verdicts = {arm.recovery.name: arm.verdict for arm in found.arms()}
    assert verdicts == {"b": "rest helps", "a": "no effect found", "c": "no effect found"}
    text = report_page(found, "plays.csv")
    assert "b loses most right after a play: " in text
    assert "Of 3 options, 1 are shown" not in text
    assert "1 of 3 options is shown to earn more after a rest" in text


VERDICT = Verdict("rest helps", 0.1, (0.05, 0.15), 0.07, "", 3.0, (ARM,), ("It is so.",))


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (
            VERDICT,
            "Rest helps: a play after twice the rest earns 0.069 more (95 % interval 0.035 to "
            "0.104). This is seen after rests of up to 3 rounds, and may last longer.",
        ),
        (
            replace(VERDICT, arms=(), lasts=0.0, comparisons=(ARM.slope, ARM.slope)),
            "Rest helps: a play after twice the rest earns 0.069 more (two comparisons agree on "
            "0.035 to 0.104).",
        ),
        (
            replace(
                VERDICT, verdict="repeating helps", slope=-0.1, interval=(-0.15, -0.05), lasts=1.0
            ),
            "Repeating helps: a play after twice the rest earns 0.069 less (95 % interval 0.035 to "
            "0.104). This is seen after rests of up to 1 round, and may last longer.",
        ),
        (
            replace(VERDICT, verdict="no effect found", slope=0.01, interval=(-0.04, 0.06)),
            "No effect of rest was found: twice the rest changes what a play earns by +0.007 (95 % "
            "interval -0.028 to +0.042). An effect of 0.049 would have been seen with a chance of "
            "80 %.",
        ),
        (
            replace(VERDICT, verdict="cannot say", missing="more plays"),
            "This log cannot say whether rest matters. It would need more plays.",
        ),
    ],
)
def test_verdicts_are_told_per_doubling_of_the_rest(verdict: Verdict, words: str) -> None:
    assert verdict_in_words(verdict, "rounds") == words


def test_a_gain_that_may_be_luck_is_no_gain() -> None:
    worth = Value(0.6, 0.5, 0.7, 0.55, Interval(0.05, -0.01, 0.11), ())
    assert gain_in_words(worth) == (
        "+0.050 (-0.010 to +0.110) per round, no sure difference, against what the log earned, "
        "0.550"
    )


@pytest.mark.parametrize(
    ("drop", "words"),
    [
        (Interval(0.42, 0.38, 0.46), "42 % (38 to 46)"),
        (Interval(0.42, 1.0, 1.0), "42 % (unsure)"),
        (Interval(0.42, -np.inf, np.inf), "42 % (unsure)"),
        (Interval(np.nan, np.nan, np.nan), "unknown"),
    ],
)
def test_drops_that_are_not_sure_are_told_as_such(drop: Interval, words: str) -> None:
    assert drop_in_words(drop) == words


def test_a_page_never_says_more_than_the_log_does() -> None:
    log = simulate_log(catalog.random_geometric(arms=4, max_delay=3, seed=0), 40, 30, seed=1)
    log.propensity = log.propensities = None
    text = report_page(find(log), "plays.csv")
    assert "Which options wear out cannot be said one by one" in text
    assert "That cannot be said: a value needs the propensities" in text
    assert "they do not prove that it is" in text
    assert "and then start again" not in text
    assert text.count(">cannot say<") == 4


def test_a_log_of_habits_is_told_as_such() -> None:
    habits = Instance([[0.9, 0.5, 0.3], [0.6, 0.4, 0.3]])
    found = find(simulate_log(habits, users=60, rounds=60, seed=2))
    text = report_page(found, "plays.csv")
    assert "Repeating helps: a play after twice the rest earns " in text
    gain, low, high = (-100 * each for each in found.fit.recovery[0].drop)
    assert (
        f"0 gains most when it is repeated at once: {gain:.0f} % ({high:.0f} to {low:.0f})" in text
    )
    assert "Play this option alone" in text
    assert "0 of 2 options are shown to earn more after a rest, and 2 to earn less." in text


def test_missing_cells_are_named_without_statistics() -> None:
    log = simulate_log(catalog.random_geometric(arms=8, max_delay=6, seed=0), 30, 20, seed=1)
    found = find(log)
    assert isinstance(found.value, CannotSay)
    cells = found.value.cells
    assert len(cells) > 3
    text = report_page(found, "plays.csv")
    first = f"{cells[0].arm} after {cells[0].delay:g} round"
    assert f"the log has too few plays of {first}" in text
    assert f" and {len(cells) - 3} more. Let chance choose more often" in text
    assert "effective sample size" not in text


def test_a_page_on_many_options_says_what_is_not_shown() -> None:
    log = simulate_log(catalog.random_geometric(arms=40, max_delay=3, seed=0), 60, 60, seed=3)
    text = report_page(find(log), "plays.csv")
    assert "10 options that lose less are not shown." in text
    assert "28 options with fewer plays are not shown." in text
    assert "10 options with smaller shares are not shown." in text
    assert text.count("<figure>") == 12
    assert text.count('<tr><th scope="row">') == 60


@pytest.mark.slow
@pytest.mark.parametrize("width", [1000, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_looks_right_on_every_screen(
    browser: Chrome, page: Path, scheme: Literal["light", "dark"], width: int
) -> None:
    show(browser, page, scheme, width)
    assert browser.execute("getLog", {"type": "browser"})["value"] == []
    assert browser.title == "What wears out: <i>plays</i>.csv"
    # Nothing but the tables' own boxes may be wider than the screen.
    assert value(browser, "document.documentElement.scrollWidth") <= width
    ground = value(browser, "getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert value(browser, "performance.getEntriesByType('resource').length") == 0
    save_screenshot(browser, f"log-{width}-{scheme}")


@pytest.mark.slow
def test_the_page_can_be_read_aloud(browser: Chrome, page: Path) -> None:
    show(browser, page, width=400)
    assert value(browser, "document.documentElement.lang") == "en"
    levels = value(browser, "[...document.querySelectorAll('h1, h2, h3')].map(h => h.tagName)")
    assert levels == ["H1", *["H2"] * 5]
    pictures = "[...document.querySelectorAll('svg')].map(p => [p.ariaHidden, p.role, p.ariaLabel])"
    for hidden, role, label in value(browser, pictures):
        assert hidden == "true" or (role == "img" and "rested" in label)
    headers = "[...document.querySelectorAll('th')].every(th => ['col', 'row'].includes(th.scope))"
    assert value(browser, headers)
    boxes = value(
        browser,
        "[...document.querySelectorAll('.scroll')].map(b => [b.tabIndex, b.role, b.ariaLabel])",
    )
    assert len(boxes) == 2
    assert all(place == 0 and role == "region" and label for place, role, label in boxes)


def draw(arms: int, plays: np.ndarray | None = None) -> list[str]:
    """Return titles of the panels for so many arms, and what is written over them."""
    spans = np.arange(1.0, 6)
    fitted = np.tile(np.linspace(0.2, 0.6, 5), (arms, 1))
    rows = np.full((arms, 5), 20.0) if plays is None else plays
    names = [f"song {arm}" for arm in range(arms)]
    figure = recovery_figure(names, spans, fitted, fitted + 0.1, fitted / 10, rows, "rounds")
    titles = [axes.get_title() for axes in figure.axes if axes.get_visible()]
    return [figure.get_suptitle(), *titles]


@pytest.mark.parametrize("arms", [1, 3, 10, 12])
def test_each_arm_has_a_panel(arms: int) -> None:
    assert draw(arms) == ["", *(f"song {arm}, 100 plays" for arm in range(arms))]


def test_the_arms_with_the_most_plays_are_drawn() -> None:
    plays = np.full((60, 5), 20.0)
    plays[48:] = 30
    over, *titles = draw(60, plays)
    assert over == "12 arms with the most plays; 48 not drawn"
    assert titles == [f"song {arm}, 150 plays" for arm in range(48, 60)]


def test_a_panel_shows_fit_and_means_that_have_enough_plays() -> None:
    spans = np.array([1.0, 2, 3, 4])
    fitted = np.array([[0.2, 0.3, 0.4, 0.5]])
    means = np.array([[0.1, 0.35, np.nan, 0.55]])
    half_widths = np.array([[0.05, np.inf, np.nan, 0.1]])
    rows = np.array([[10.0, 40, 0, 90]])
    figure = recovery_figure(["$x^2$"], spans, fitted, means, half_widths, rows, "rounds")
    (axes,) = figure.axes
    (bars,) = axes.containers
    assert isinstance(bars, ErrorbarContainer)
    dots = bars.lines[0]
    np.testing.assert_array_equal(dots.get_xdata(), [0, 3])
    np.testing.assert_array_equal(dots.get_ydata(), [0.1, 0.55])
    ends = [segment[:, 1].tolist() for segment in bars.lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, [[0.05, 0.15], [0.45, 0.65]])
    line = next(each for each in axes.get_lines() if each.get_label() == "fitted")
    np.testing.assert_array_equal(line.get_ydata(), fitted[0])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3", "rested"]
    assert axes.get_title() == r"\$x^2\$, 140 plays"
    assert figure.get_supxlabel() == "rounds since the arm was last played"


def test_ticks_of_dates_are_readable() -> None:
    """From seconds to days, and none over another."""
    spans = np.array([45.0, 90, 1000, 5400, 36_000, 100_000, 900_000, 2e6, 4e6])
    cells = np.full((4, 9), 0.5)
    figure = recovery_figure(list("abcd"), spans, cells, cells, cells, 20 * cells, "seconds")
    figure.draw_without_rendering()
    labels = [label for axes in figure.axes for label in axes.get_xticklabels()]
    assert [label.get_text() for label in labels[:5]] == [
        "45 s",
        "17 min",
        "10 h",
        "10 d",
        "rested",
    ]
    boxes = [label.get_window_extent() for label in labels]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert figure.get_supxlabel() == "time since the arm was last played"


def test_long_names_do_not_reach_into_the_next_panel() -> None:
    cells = np.full((1, 2), 0.5)
    figure = recovery_figure(["W" * 90], cells[0], cells, cells, cells, 20 * cells, "rounds")
    assert figure.axes[0].get_title() == f"{'W' * 23}…, 20 plays"


def test_a_fit_draws_itself(found: Findings) -> None:
    figure = found.fit.plot()
    assert len(figure.axes) == 8
    counts = np.bincount(found.log.arms[found.log.delays > 0]).tolist()
    titles = [axes.get_title() for axes in figure.axes[:5]]
    assert [title.rpartition(", ")[2] for title in titles] == [f"{each:,} plays" for each in counts]
