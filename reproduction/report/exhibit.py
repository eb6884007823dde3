"""A figure with its caption, for light and for dark ground."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from xml.etree import ElementTree

from matplotlib.figure import Figure

from fallow.drawing.figures import image
from reproduction.figures import DARK

ONE_PANEL = 640
"""Pixels up to which a figure can stand beside another."""


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A figure with its caption; `light` and `dark` are SVG files for light and dark ground."""

    name: str
    title: str
    caption: str
    light: bytes
    dark: bytes

    @property
    def width(self) -> int:
        """Width in pixels at which the text has its own size."""
        points = ElementTree.fromstring(self.light).attrib["width"].removesuffix("pt")
        return round(float(points) * 96 / 72)

    def html(self) -> str:
        """Return the figure for the page; where it is too wide for the screen it scrolls."""
        kind = "wide" if self.width > ONE_PANEL else "single"
        light, dark = (
            "data:image/svg+xml;base64," + b64encode(picture).decode()
            for picture in (self.light, self.dark)
        )
        name, title, caption = escape(self.name), escape(self.title), escape(self.caption)
        return f"""<figure id="figure-{name}" class={kind} style="--width: {self.width}px">
<div class=scroll tabindex="0" role="region" aria-label="{title}"><picture>
<source media="(prefers-color-scheme: dark)" srcset="{dark}">
<img src="{light}" alt="{title}. {caption}">
</picture></div>
<figcaption>{caption}</figcaption>
</figure>"""


def draw_exhibit(name: str, title: str, caption: str, drawing: Callable[[], Figure]) -> Exhibit:
    """Draw a figure once for each ground."""
    return Exhibit(name, title, caption, image(drawing, "svg"), image(drawing, "svg", DARK))
