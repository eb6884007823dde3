"""A figure with its caption, for wide and narrow screens, for light and dark ground."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import NamedTuple
from xml.etree import ElementTree

from matplotlib.figure import Figure

from fallow.drawing.figures import image
from reproduction.figures import DARK

ONE_PANEL = 640
"""Pixels up to which a figure can stand beside another on a wide screen."""


class Picture(NamedTuple):
    """A drawing as SVG files for light and dark ground."""

    light: bytes
    dark: bytes

    @property
    def width(self) -> int:
        """Width in pixels at which the text has its own size."""
        points = ElementTree.fromstring(self.light).attrib["width"].removesuffix("pt")
        return round(float(points) * 96 / 72)


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A figure with its caption.

    Attributes
    ----------
    name, caption
        Of the figure.
    description
        What it shows, for those who cannot see it.
    wide, narrow
        Its panels beside each other, and above each other.
    """

    name: str
    caption: str
    description: str
    wide: Picture
    narrow: Picture

    def html(self) -> str:
        """Return the figure with all its pictures, of which the page shows the one that fits."""
        kind = "wide" if self.wide.width > ONE_PANEL else "single"
        widths = f"--wide: {self.wide.width}px; --narrow: {self.narrow.width}px"
        return f"""<figure id="figure-{escape(self.name)}" class={kind} style="{widths}">
{self._image("wide light", self.wide.light)}
{self._image("wide dark", self.wide.dark)}
{self._image("narrow light", self.narrow.light)}
{self._image("narrow dark", self.narrow.dark)}
<figcaption>{escape(self.caption)}</figcaption>
</figure>"""

    def _image(self, kind: str, picture: bytes) -> str:
        address = "data:image/svg+xml;base64," + b64encode(picture).decode()
        text = escape(self.description)
        return f'<img class="{kind}" src="{address}" alt="{text}">'


def draw_exhibit(
    name: str, caption: str, description: str, drawing: Callable[[bool], Figure]
) -> Exhibit:
    """Draw a figure for each screen and ground; `drawing` is told whether to stack its panels."""
    wide, narrow = (_draw(partial(drawing, stacked)) for stacked in (False, True))
    return Exhibit(name, caption, description, wide, narrow)


def _draw(drawing: Callable[[], Figure]) -> Picture:
    return Picture(image(drawing, "svg"), image(drawing, "svg", DARK))
