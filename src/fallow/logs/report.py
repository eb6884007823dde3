"""What a log tells on one page, for people who decide and never heard of bandits."""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template
from typing import NamedTuple

import numpy as np

from fallow.arrays import FloatArray
from fallow.drawing.colours import colour_of
from fallow.drawing.html import text as _text
from fallow.logs.evidence import MIN_EFFECTIVE_SIZE, Interval
from fallow.logs.fit import Fit, Recovery
from fallow.logs.log import Log
from fallow.logs.rest import Answer, Verdict
from fallow.logs.sentences import (
    caution_in_words,
    doubt_in_words,
    drop_in_words,
    gain_in_words,
    is_sure,
    round_in_words,
    rows_in_words,
    scale_in_words,
    time_in_words,
    verdict_in_words,
)
from fallow.logs.support import CannotSay
from fallow.logs.value import Value
from fallow.planners.cycle import Plan
from fallow.text import counted, span_in_words

MOST_ARMS = 30
"""Options in a table."""
MOST_PANELS = 12
"""Options whose recovery is drawn."""
MOST_PLAYS = 48
"""Plays of the rotation that are shown."""


CANNOT_SAY: Answer = "cannot say"


class ArmFindings(NamedTuple):
    """All that was found out about an arm; its verdict is "cannot say" where there is none."""

    recovery: Recovery
    verdict: Answer
    plays: int


class Findings(NamedTuple):
    """All that was found out about a log; `round_length` is the one that was asked for."""

    log: Log
    verdict: Verdict
    fit: Fit
    plan: Plan
    value: Value | CannotSay
    round_length: float | None = None

    @property
    def pace(self) -> str:
        """How often the plan plays, where delays are elapsed time."""
        if self.log.clock == "rounds":
            return ""
        length = self.log.pace if self.round_length is None else self.round_length
        return f"one play every {span_in_words(length, self.log.unit)}"

    def arms(self) -> list[ArmFindings]:
        """Return what was found out about each arm; those that wear out most come first."""
        plays = np.bincount(self.log.arms, minlength=len(self.log.names)).tolist()
        verdicts = [each.verdict for each in self.verdict.arms] or [CANNOT_SAY] * len(plays)
        arms = list(map(ArmFindings, self.fit.recovery, verdicts, plays))
        drops = [each.recovery.drop.value for each in arms]
        return [arms[place] for place in np.argsort(np.negative(drops), kind="stable")]


def report_page(findings: Findings, title: str) -> str:
    """Return one HTML page that needs nothing else."""
    rows, *counts = rows_in_words(findings.log)
    arms, panels = findings.arms(), _panels(findings)
    cycle, shares = findings.plan.cycle, _shares(findings)
    verdict = verdict_in_words(findings.verdict, findings.log.unit)
    doubt = filter(None, [doubt_in_words(findings.log)])
    page = {
        "title": _text(title),
        "rows": _text(rows),
        "scale": _text(scale_in_words(findings.log)),
        "round": _text(round_in_words(findings.log, findings.round_length)),
        "short": _items([*doubt, verdict, _most_worn(findings), _worth_in_short(findings)]),
        "wears": _text(_wears(findings.verdict)),
        "first": _text(span_in_words(findings.fit.spans[0], findings.log.unit)),
        "arms": "\n".join(_arm_row(each, findings.log.unit) for each in arms[:MOST_ARMS]),
        "arms_left_out": _left_out(len(arms), MOST_ARMS, "options that lose less"),
        "panels": "\n".join(panels[:MOST_PANELS]),
        "panels_left_out": _left_out(len(panels), MOST_PANELS, "options with fewer plays"),
        "advice": _text(_advice(findings)),
        "cycle": "\n".join(_chip(findings.log.names[arm], arm) for arm in cycle[:MOST_PLAYS]),
        "cycle_left_out": _left_out(len(cycle), MOST_PLAYS, "later plays of the rotation"),
        "shares": "\n".join(shares[:MOST_ARMS]),
        "shares_left_out": _left_out(len(shares), MOST_ARMS, "options with smaller shares"),
        "worth": _text(_worth(findings)),
        "verdict": _text(verdict),
        "assumptions": _items(findings.verdict.assumptions),
        "counts": _items(counts or ["Nothing unusual."]),
    }
    template = files("fallow.logs").joinpath("report.html").read_text(encoding="utf-8")
    return Template(template).substitute(page)


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"<li>{_text(line)}</li>" for line in lines)


def _left_out(count: int, shown: int, what: str) -> str:
    return f"{count - shown:,} {what} are not shown." if count > shown else ""


def _most_worn(findings: Findings) -> str:
    """Say which option loses most, or gains most by repetition, of those where that is sure."""
    if findings.log.propensity is None:
        return (
            "Which options wear out cannot be said one by one: that would need the chances with "
            "which they were chosen."
        )
    arms = findings.arms()
    worn = [arm.recovery for arm in arms if arm.verdict == "rest helps"]
    if worn:
        return f"{worn[0].name} loses most right after a play: {drop_in_words(worn[0].drop)}."
    better = [arm.recovery for arm in arms if arm.verdict == "repeating helps"]
    if better:
        more = drop_in_words(-better[-1].drop)
        return f"{better[-1].name} gains most when it is repeated at once: {more}."
    return "For no single option is it sure that rest matters."


def _wears(verdict: Verdict) -> str:
    helped = sum(each.verdict == "rest helps" for each in verdict.arms)
    hurt = sum(each.verdict == "repeating helps" for each in verdict.arms)
    if not verdict.arms:
        return (
            "For single options this log cannot say whether rest matters. These are its averages; "
            "the options that lose most come first."
        )
    return (
        f"{helped:,} of {counted(len(verdict.arms), 'option')} {'is' if helped == 1 else 'are'} "
        f"shown to earn more after a rest, and {hurt:,} to earn less. The options that lose most "
        "come first."
    )


def _advice(findings: Findings) -> str:
    """Say what to do, no more firmly than the log allows."""
    advice = "Play the options in this order, and then start again."
    if len(findings.plan.cycle) == 1:
        advice = "Play this option alone, as far as nothing else speaks against it."
    how_often = f" The rotation has {findings.pace}." if findings.pace else ""
    return f"{caution_in_words(findings.value) or advice}{how_often}"


def _worth_in_short(findings: Findings) -> str:
    value = findings.value
    if isinstance(value, CannotSay):
        return f"What the rotation below is worth cannot be said: {_reason(value)}"
    return f"The rotation below would earn {gain_in_words(value)}."


def _worth(findings: Findings) -> str:
    value = findings.value
    if isinstance(value, CannotSay):
        return f"That cannot be said: {_reason(value)}"
    whole = Interval(value.mean, value.low, value.high)
    gain, low, high = (1000 * each for each in value.gain)
    share = f" ({value.gain.value / value.logged:+.0%})" if value.logged else ""
    return (
        f"A play earns {value.logged:.3f} on average now; in the rotation it would earn {whole}. "
        f"Over 1,000 plays that is a difference of {gain:+,.0f}{share}, with a 95 % interval from "
        f"{low:+,.0f} to {high:+,.0f}. So that luck does not flatter the rotation, it was planned "
        "for some users and tried on others."
    )


def _reason(reason: CannotSay) -> str:
    """Return why a value cannot be said, without the words of statistics where there is a way."""
    if not reason.cells:
        return f"{reason}."
    needed = [str(each) for each in reason.cells]
    more = f" and {len(needed) - 3:,} more" if len(needed) > 3 else ""
    return (
        f"the log has too few plays of {', '.join(needed[:3])}{more}. Let chance choose more often "
        "for a while, or try the rotation on some users."
    )


def _arm_row(arm: ArmFindings, unit: str) -> str:
    recovery = arm.recovery
    times = ("-", "-")
    if is_sure(recovery.drop):
        times = (_span(recovery.half_life, unit), _span(recovery.recovered, unit))
    cells = (
        f"{recovery.level.value:.3f}",
        drop_in_words(recovery.drop),
        *times,
        arm.verdict,
        f"{arm.plays:,}",
    )
    return _row(recovery.name, cells, {1: _bar(recovery.drop.value)})


def _span(time: Interval, unit: str) -> str:
    words = time_in_words(time, unit)
    return words if unit == "seconds" else f"{words} {unit}"


def _row(name: str, cells: Sequence[str], bars: dict[int, str]) -> str:
    """Return a row of a table, with bars in some of its cells."""
    told = "".join(
        f'<td class="number">{_text(cell)}{bars.get(place, "")}</td>'
        for place, cell in enumerate(cells)
    )
    return f'<tr><th scope="row">{_text(name)}</th>{told}</tr>'


def _bar(share: float) -> str:
    """Return a bar, for what the number beside it says."""
    width = 100 * float(np.clip(np.nan_to_num(share), 0, 1))
    return (
        '<svg width="100" height="6" aria-hidden="true">'
        f'<rect class="bar" width="{width:.1f}" height="6"/></svg>'
    )


def _chip(name: str, arm: int) -> str:
    return f'<li style="--colour: {colour_of(arm)}">{_text(name)}</li>'


def _shares(findings: Findings) -> list[str]:
    """Return a row for each option: how often it is played now, and how often in the rotation."""
    names, now = findings.log.names, findings.log.shares
    planned = np.bincount(findings.plan.cycle, minlength=len(names)) / len(findings.plan.cycle)
    order = np.lexsort((-now, -planned)).tolist()
    most = max(now.max(), planned.max())
    return [
        _row(
            names[arm],
            (f"{now[arm]:.1%}", f"{planned[arm]:.1%}"),
            {0: _bar(now[arm] / most), 1: _bar(planned[arm] / most)},
        )
        for arm in order
    ]


LEFT, RIGHT, TOP, BOTTOM = 34, 214, 8, 116
"""Where a panel begins and ends, in a picture of 220 by 136."""


def _panels(findings: Findings) -> list[str]:
    """Return a small picture of each option's recovery; those with the most plays first."""
    fit, cells = findings.fit, findings.fit.cells
    heard = (cells.rows >= MIN_EFFECTIVE_SIZE) & np.isfinite(fit.half_widths)
    own = cells.means + fit.half_widths, cells.means - fit.half_widths
    drawn = np.concatenate([fit.means.ravel(), *(ends[heard] for ends in own)]).clip(0, 1)
    order = np.argsort(-cells.rows.sum(axis=1), kind="stable").tolist()
    return [_panel(findings, arm, heard[arm], drawn.min(), drawn.max()) for arm in order]


def _panel(findings: Findings, arm: int, heard: FloatArray, low: float, high: float) -> str:
    fit, name = findings.fit, findings.log.names[arm]
    x = np.linspace(LEFT + 6, RIGHT - 6, len(fit.spans))

    def height(rewards: FloatArray) -> FloatArray:
        return BOTTOM - (BOTTOM - TOP) * np.clip((rewards - low) / (high - low or 1), 0, 1)

    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, height(fit.means[arm]), strict=True))
    means, reach = fit.cells.means[arm], fit.half_widths[arm]
    places = np.flatnonzero(heard).tolist()
    lows, highs, middles = height(means - reach), height(means + reach), height(means)
    dots = "".join(
        f'<path class="reach" d="M{x[at]:.1f} {lows[at]:.1f}V{highs[at]:.1f}"/>'
        f'<circle class="dot" cx="{x[at]:.1f}" cy="{middles[at]:.1f}" r="2"/>'
        for at in places
    )
    unit = findings.log.unit
    first = span_in_words(fit.spans[0], unit)
    first_label = span_in_words(fit.spans[0], unit, brief=unit != "rounds")
    middle = ""
    if len(x) > 2:
        place = len(x) // 2
        words = span_in_words(fit.spans[place], unit, brief=True)
        middle = (
            f'<text class="label" x="{x[place]:.1f}" y="{BOTTOM + 14}" text-anchor="middle">'
            f"{_text(words)}</text>"
        )
    described = (
        f"{name}: reward {fit.means[arm, 0]:.2f} after {first}, {fit.means[arm, -1]:.2f} rested"
    )
    return (
        f'<figure><svg viewBox="0 0 220 136" role="img" aria-label="{_text(described)}">'
        f'<path class="axis" fill="none" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>'
        f'<text class="label" x="{LEFT - 4}" y="{TOP + 4}" text-anchor="end">{high:.2f}</text>'
        f'<text class="label" x="{LEFT - 4}" y="{BOTTOM}" text-anchor="end">{low:.2f}</text>'
        f'<text class="label" x="{LEFT}" y="{BOTTOM + 14}">{_text(first_label)}</text>{middle}'
        f'<text class="label" x="{RIGHT}" y="{BOTTOM + 14}" text-anchor="end">rested</text>'
        f'{dots}<polyline class="line" stroke="{colour_of(arm)}" points="{line}"/></svg>'
        f"<figcaption>{_text(name)}</figcaption></figure>"
    )
