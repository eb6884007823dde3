"""Text that is shown: what users gave, and spans of time."""

import re
from collections.abc import Sequence
from itertools import islice
from unicodedata import category

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of control and format characters, surrogates, and ends of lines."""
LONGEST_NAME = 24
"""Characters of a name beside others."""
SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
SYMBOLS = {"days": "d", "hours": "h", "minutes": "min", "seconds": "s"}


def visible(text: str) -> str:
    r"""Return text with its control characters written out, so that no terminal obeys them.

    Also those that change the direction of writing.

    Examples
    --------
    >>> print(visible("\x1b[31mred\n\u202e Zoë"))
    \x1b[31mred\n\u202e Zoë
    """
    if text.isprintable():
        return text
    return "".join(
        each.encode("unicode_escape").decode() if category(each) in HIDDEN else each
        for each in text
    )


def brief(name: str) -> str:
    """Return a name that is short enough to stand beside others, control characters written out.

    Examples
    --------
    >>> brief("a song whose title has no end")
    'a song whose title has …'
    """
    name = visible(name[: LONGEST_NAME + 1])
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def first_names(names: Sequence[str], most: int) -> str:
    """Return the first names in a row, briefly, and whether there are more.

    Examples
    --------
    >>> first_names(["hymn", "waltz", "hymn"], most=2)
    'hymn, waltz, …'
    """
    more = ["…"] if len(names) > most else []
    return ", ".join([*map(brief, islice(names, most)), *more])


def counted(count: int, word: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "arm"), counted(2000, "arm")
    ('1 arm', '2,000 arms')
    """
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def span_in_words(span: float, unit: str, brief: bool = False) -> str:
    """Return a span of rounds or time with its unit; seconds in what is easier to grasp.

    In brief, units have symbols, and those without a symbol are left out.

    Examples
    --------
    >>> [span_in_words(1, "units of time"), span_in_words(2.5, "rounds")]
    ['1 unit of time', '2.5 rounds']
    >>> [span_in_words(90, "seconds"), span_in_words(86_400, "seconds")]
    ['1.5 minutes', '1 day']
    >>> [span_in_words(3, "rounds", brief=True), span_in_words(86_400, "seconds", brief=True)]
    ['3', '1 d']
    """
    if unit == "seconds":
        unit = next((longer for longer in SECONDS if span >= SECONDS[longer]), unit)
        span /= SECONDS[unit]
    number = f"{span:.2g}" if span < 10 else f"{span:,.0f}"
    if brief:
        return f"{number} {SYMBOLS.get(unit, '')}".rstrip()
    if number == "1":
        unit = re.sub(r"s\b", "", unit)
    return f"{number} {unit}"
