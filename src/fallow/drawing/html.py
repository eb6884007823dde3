"""What notebooks show of an object: small pieces of HTML without scripts, light or dark.

All text takes the colour of the page around it, and everything is cut to a bounded size.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.drawing.colours import colour_of, ink_on
from fallow.text import brief, first_names, visible

MOST_ROWS = 20
MOST_COLUMNS = 12
MOST_PULLS = 60
"""Pulls of a strip that are shown."""
TINT = "0, 108, 181"
"""Red, green and blue of a heat map: on white and on black, text can be read on half of it."""


def text(words: str) -> str:
    r"""Return words as HTML shows them, control characters written out.

    Examples
    --------
    >>> text("<b>\n")
    '&lt;b&gt;\\n'
    """
    return escape(visible(words))


def snippet(kind: str, sentence: str, *parts: str) -> str:
    """Return parts under a line that says what they show."""
    label = text(f"{kind}: {sentence}")
    return (
        f'<div role="figure" aria-label="{label}" tabindex="0" '
        f'style="max-width: 60em; overflow-x: auto">'
        f'<p style="margin: .2em 0 .4em"><b>{text(kind)}</b> {text(sentence)}</p>'
        f"{''.join(parts)}</div>"
    )


def strip(names: Mapping[int, str], pulls: Sequence[int]) -> str:
    """Return pulls in their order, each in the colour of its arm; of many the first.

    Examples
    --------
    >>> strip({0: "hymn"}, [0]).count("hymn")
    2
    """
    shown = pulls[:MOST_PULLS]
    chips = "".join(_chip(arm, names[arm]) for arm in shown)
    heard = first_names([names[arm] for arm in pulls[: MOST_PULLS + 1]], MOST_PULLS)
    return (
        f'<div role="img" aria-label="{text(heard)}" style="display: flex; flex-wrap: wrap; '
        f'gap: 2px">{chips}</div>{_left_out(len(shown), len(pulls), "pulls")}'
    )


def heat_map(names: Sequence[str], heads: Sequence[str], means: FloatArray) -> str:
    """Return a table of means, the darker or brighter the larger; of many rows the first.

    Parameters
    ----------
    names
        Of the arms, one a row.
    heads
        Of the columns; of many, some at equal distances are shown, the first and last among them.
    means
        In [0, 1], by row and column.
    """
    rows = min(len(names), MOST_ROWS)
    columns = np.unique(np.linspace(0, len(heads) - 1, MOST_COLUMNS).astype(int)).tolist()
    body = [
        [
            _swatch(arm, names[arm]),
            *(_number(f"{means[arm, column]:.3f}", means[arm, column]) for column in columns),
        ]
        for arm in range(rows)
    ]
    return (
        _table(["arm", *(heads[column] for column in columns)], body)
        + _left_out(rows, len(names), "arms")
        + _left_out(len(columns), len(heads), "delays")
    )


def count_bars(names: Sequence[str], counts: IntArray) -> str:
    """Return how often each arm was pulled, with bars; of many arms those with the most pulls."""
    shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_ROWS]).tolist()
    most, total = max(int(counts.max()), 1), max(int(counts.sum()), 1)
    body = [
        [
            _swatch(arm, names[arm]),
            _number(f"{counts[arm]:,}"),
            _number(f"{counts[arm] / total:.1%}"),
            _bar(colour_of(arm), counts[arm] / most),
        ]
        for arm in shown
    ]
    return _table(["arm", "pulls", "share", ""], body) + _left_out(len(shown), len(names), "arms")


def number_table(heads: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Return numbers or other values, already written out, under heads; of many rows the first."""
    names = list(rows)[:MOST_ROWS]
    body = [[_head(brief(name)), *map(_number, rows[name])] for name in names]
    return _table(heads, body) + _left_out(len(names), len(rows), "rows")


def _table(heads: Iterable[str], body: Iterable[Sequence[str]]) -> str:
    columns = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in body)
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"


def _head(name: str, before: str = "") -> str:
    style = "text-align: left; font-weight: normal; white-space: nowrap"
    return f'<th scope="row" style="{style}">{before}{text(name)}</th>'


def _swatch(arm: int, name: str) -> str:
    """Return the head of an arm's row, with its colour."""
    style = f"color: {colour_of(arm)}"
    return _head(brief(name), f'<span aria-hidden="true" style="{style}">&#9632;</span> ')


def _number(written: str, share: float = 0.0) -> str:
    """Return a cell, tinted by a share from 0 to 1."""
    tint = f"background: rgba({TINT}, {0.5 * share:.2f}); " if share > 0 else ""
    return f'<td style="{tint}text-align: right">{text(written)}</td>'


def _bar(colour: str, share: float) -> str:
    width = f"background: {colour}; width: {8 * share:.2f}em; height: .8em"
    return f'<td style="min-width: 8em"><div aria-hidden="true" style="{width}"></div></td>'


def _chip(arm: int, name: str) -> str:
    colour = colour_of(arm)
    style = f"background: {colour}; color: {ink_on(colour)}; padding: .1em .4em"
    return f'<span style="{style}; border-radius: .2em">{text(brief(name))}</span>'


def _left_out(shown: int, there: int, what: str) -> str:
    """Say how many of many are shown."""
    if shown == there:
        return ""
    return f'<p style="margin: .2em 0; opacity: .75">{shown} of {there:,} {what} shown</p>'
