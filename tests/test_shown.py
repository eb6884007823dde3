"""Objects show themselves: in a line, and in a notebook as a small piece of HTML."""

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from helpers import contrast
from learner_contract import MAKERS

import fallow
from fallow import Campaign, Instance, Log, Plan, catalog, plan, replicate, schedule, simulate
from fallow.drawing.colours import COLOURS
from fallow.drawing.html import TINT, heat_map
from fallow.learners import Follow
from fallow.learners.registry import LEARNERS
from fallow.logs import fit, simulate_log
from fallow.text import visible

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; background: url(https://example.org)",
    "\u202eevil\x1b[31m\n",
    "&amp;",
)
SONGS = Instance.b2dep(
    [0.9, 0.8, 0.5], [3, 2, 1], fallow.decay.geometric(0.7), names=["hymn", "waltz", "march"]
)
PARTS = {"div", "p", "b", "span", "table", "thead", "tbody", "tr", "th", "td"}


class Elements(HTMLParser):
    """The elements of a snippet with their attributes, and its text; all must be closed."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(content)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def cells(self) -> list[str]:
        return re.findall(r"\d\.\d{3}", self.text)


def shown(names: tuple[str, ...]) -> dict[str, Any]:
    """Return an object of each kind, whose arms have these names.

    A campaign takes no control characters in them.
    """
    instance = Instance.blocking([0.9] * len(names), [len(names) - 1] * len(names), names)
    best = plan(instance)
    campaign = Campaign.open("memory:", "morning", arms=list(map(visible, names)), max_delay=2)
    log = Log(user=[1] * 40, time=range(40), arm=list(names) * 8, reward=[0, 1] * 20, max_delay=2)
    learners = dict.fromkeys(names, lambda instance, _: Follow(plan(instance)))
    return {
        "instance": instance,
        "plan": best,
        "schedule": schedule(instance, rounds=7),
        "trajectory": simulate(instance, Follow(best), 30, seed=0),
        "totals": simulate(instance, Follow(best), 30, seed=0, checkpoints=[10, 20]),
        "result": replicate(
            instance, learners, 20, runs=2, seed=0, workers=1, references=dict.fromkeys(names, plan)
        ),
        "fit": fit(log),
        "campaign": campaign,
        "learner": Follow(best),
    }


@pytest.fixture(scope="module")
def hostile() -> dict[str, Any]:
    return shown(HOSTILE)


KINDS = (
    *("instance", "plan", "schedule", "trajectory", "totals"),
    *("result", "fit", "campaign", "learner"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_are_text_and_nothing_else(hostile: dict[str, Any], kind: str) -> None:
    content = hostile[kind]._repr_html_()
    elements = Elements(content)
    assert {tag for tag, _ in elements.found} <= PARTS
    for _, attributes in elements.found:
        assert set(attributes) <= {
            "role",
            "aria-label",
            "aria-hidden",
            "style",
            "scope",
            "tabindex",
        }
        assert "url" not in (attributes.get("style") or "")
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", content)
    if kind not in ("totals", "learner"):
        assert "<script>alert(1)" in elements.text  # as text
    assert not re.search("[\x00-\x1f\u202e]", repr(hostile[kind]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_says_what_is_shown(hostile: dict[str, Any], kind: str) -> None:
    (tag, attributes), *_ = Elements(hostile[kind]._repr_html_()).found
    label = attributes["aria-label"]
    assert (tag, attributes["role"]) == ("div", "figure")
    assert label is not None
    assert len(label.split()) > 4


def test_an_instance_is_its_table_of_means() -> None:
    elements = Elements(SONGS._repr_html_())
    assert elements.cells() == [f"{mean:.3f}" for mean in SONGS.means.ravel()]
    assert "rested" in elements.text
    tints = re.findall(r"rgba\(0, 108, 181, ([\d.]+)\)", SONGS._repr_html_())
    assert list(map(float, tints)) == pytest.approx(SONGS.means.ravel() / 2, abs=0.006)


@pytest.mark.parametrize(("ground", "ink"), [("#ffffff", "#000000"), ("#111111", "#dddddd")])
def test_numbers_can_be_read_on_the_strongest_tint(ground: str, ink: str) -> None:
    tint = [int(part) for part in TINT.split(",")]
    mixed = [(part + int(ground[1:3], 16)) // 2 for part in tint]
    colour = "#" + "".join(f"{part:02x}" for part in mixed)
    assert contrast(colour, ink) >= 4.5


def test_a_plan_is_its_cycle_in_the_colours_of_the_arms() -> None:
    best = plan(SONGS)
    chips = re.findall(r"background: (#\w+); color: (#\w+)[^>]*>(\w+)<", best._repr_html_())
    assert [name for _, _, name in chips] == [SONGS.names[arm] for arm in best.cycle]
    assert [colour for colour, _, _ in chips] == [COLOURS[arm] for arm in best.cycle]
    assert f"{best.gain:.3f} a round, {best.certificate:.1%}" in best._repr_html_()


def test_a_trajectory_counts_its_pulls() -> None:
    run = simulate(SONGS, Follow(Plan.of(SONGS, [0, 0, 1], "by hand")), 9, seed=0)
    rows = re.findall(r"</span> (\w+)</th><td[^>]*>(\d+)</td><td[^>]*>([\d.%]+)", run._repr_html_())
    assert rows == [("hymn", "6", "66.7%"), ("waltz", "3", "33.3%"), ("march", "0", "0.0%")]


def test_a_result_tells_where_learners_ended() -> None:
    best, by_hand = plan(SONGS), Plan.of(SONGS, [0], "by hand")
    learners = {"best": lambda *_: Follow(best), "hymn": lambda *_: Follow(by_hand)}
    result = replicate(
        SONGS, learners, 1000, 3, seed=0, workers=1, references={"optimum": lambda _: best}
    )
    text = Elements(result._repr_html_()).text
    for name in learners:
        end = result.rewards[0, result.learners.index(name), -1]
        regret = 1000 * best.gain - end
        form = ",.0f" if abs(regret) >= 100 else ".1f"
        assert f"{name}{end / 1000:.3f} ± 0.000{regret:{form}}" in text


def test_lines_are_short_and_say_what_matters_first() -> None:
    cycle = [0, 1, 2, 1] * 250 + [0]
    long = Plan.of(SONGS, cycle, "by hand")
    assert repr(long) == (
        f"Plan(gain={long.gain:.3f}, certificate={long.certificate:.1%}, "
        "cycle of 1,001: hymn, waltz, march, waltz, hymn, waltz, …)"
    )
    soon = schedule(SONGS, rounds=2)
    assert repr(soon) == "Schedule(total=1.700, certificate=100.0%, 2 rounds: hymn, waltz)"
    run = simulate(SONGS, Follow(long), 10**12, seed=0, checkpoints=[10**6])
    assert repr(run).startswith("Trajectory(1,000,000,000,000 rounds, expected reward ")
    assert " by round 1,000,000, 0 switches)" in repr(run)
    many = dict.fromkeys(map(str, range(9)), lambda *_: Follow(long))
    result = replicate(SONGS, many, 10, runs=1, seed=0, workers=1)
    assert repr(result) == "Result(1 run of 9 learners, 10 rounds: 0, 1, 2, 3, 4, 5, …)"
    assert len(repr(fallow.RankingUCB(range(1000)))) < 120


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_tells_its_arguments(name: str) -> None:
    learner: Any = MAKERS[name]()
    content = Elements(learner._repr_html_()).text
    assert all(argument in content for argument in learner.parameters())


def test_large_objects_are_cut_and_say_so() -> None:
    generator = np.random.default_rng(0)
    large = Instance(generator.random((1000, 1001)))
    content = large._repr_html_()
    assert len(content) < 40_000
    assert "20 of 1,000 arms shown" in content
    assert "12 of 1,001 delays shown" in content
    cells = Elements(content).cells()
    assert cells[0] == f"{large.means[0, 0]:.3f}"
    assert cells[-1] == f"{large.means[19, -1]:.3f}"
    long = Plan.of(large, generator.permutation(1000), "by hand")
    assert len(long._repr_html_()) < 20_000
    assert "60 of 1,000 pulls shown" in long._repr_html_()
    run = simulate(large, Follow(long), 10**15, seed=0)
    assert len(run._repr_html_()) < 20_000
    names = ["x" * 100 for _ in range(1000)]
    assert len(heat_map(names, list(map(str, range(1001))), large.means)) < 40_000


def test_a_campaign_shows_what_it_believes() -> None:
    campaign = Campaign.open("memory:", "morning", arms=["hymn", "waltz"], max_delay=2)
    for _ in range(20):
        decision = campaign.decide("ann")
        campaign.feedback(decision.id, float(decision.arm == "hymn"))
    believed = campaign.table()["mean"].to_list()
    assert Elements(campaign._repr_html_()).cells() == [f"{mean:.3f}" for mean in believed]


def test_a_fit_shows_its_means() -> None:
    found = fit(simulate_log(catalog.figure3(), users=20, rounds=20))
    cells = Elements(found._repr_html_()).cells()
    assert cells == [f"{mean:.3f}" for mean in found.means.ravel()]
