"""The look of each arm, the same in every picture: figures, pages, notebooks and terminals."""

COLOURS = (
    *("#006cb5", "#b76f00", "#c96be3", "#27964b", "#ff5a65", "#41a0b8", "#734bd6", "#d53994"),
    *("#8876b0", "#cc2b01", "#7d6420", "#1f744f", "#8f9c00", "#3b77f5", "#d174a2", "#9083ff"),
    *("#a042af", "#a85160", "#5c717e", "#b28a77"),
)
"""Found by a search for the largest distance between any two, also as colour-blind readers see
them, among colours that stand out on white and on black; the first ones are the furthest apart.
`live/service/page/colours.js` has the same."""
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)))
"""Styles of matplotlib's lines, so that curves can be told apart in grey."""
MARKERS = "osD^vP*"
"""Marks on lines, another one where the styles begin again."""


def colour_of(place: int) -> str:
    """Return the colour of an arm, or of a curve, by its number.

    Examples
    --------
    >>> colour_of(0), colour_of(20)
    ('#006cb5', '#006cb5')
    """
    return COLOURS[place % len(COLOURS)]


def line_of(place: int) -> str | tuple[int, tuple[int, ...]]:
    """Return the style of a line by its number."""
    return LINES[place % len(LINES)]


def marker_of(place: int) -> str:
    """Return the mark on a line by its number; with its style it is unique for 49 lines.

    Examples
    --------
    >>> marker_of(6), marker_of(7)
    ('o', 's')
    """
    return MARKERS[place // len(LINES) % len(MARKERS)]


def ink_on(colour: str) -> str:
    """Return the colour of text that can be read on a colour: black or white.

    Examples
    --------
    >>> ink_on("#006cb5"), ink_on("#b28a77")
    ('#ffffff', '#000000')
    """
    # Where contrast with black and white is the same, as WCAG 2.2 counts it.
    return "#ffffff" if luminance(colour) < 0.179 else "#000000"


def luminance(colour: str) -> float:
    """Return how bright a colour is, from 0 (black) to 1 (white): WCAG's relative luminance.

    Examples
    --------
    >>> luminance("#000000"), luminance("#ffffff")
    (0.0, 1.0)
    """
    red, green, blue = (_linear(int(colour[place : place + 2], 16) / 255) for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
