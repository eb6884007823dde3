"""Arms can be told apart: by colour, without some of it, on white and on black, and in grey."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest
from helpers import contrast

from fallow.arrays import FloatArray
from fallow.drawing.colours import COLOURS, colour_of, ink_on, line_of, marker_of

# Machado, Oliveira and Fernandes 2009: red, green and blue (linear) as people without one kind of
# cone see them.
SEEN = {
    "all cones": np.eye(3),
    "no long": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no middle": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no short": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Ottosson 2020: Oklab, in which distances are differences seen; one of 0.02 can just be noticed.
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
OPPONENTS = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def oklab(colour: str, seen: FloatArray) -> FloatArray:
    parts = np.array([int(part, 16) / 255 for part in re.findall("[0-9a-f]{2}", colour)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    cones = np.array(CONES) @ np.clip(seen @ linear, 0, 1)
    place: FloatArray = np.array(OPPONENTS) @ np.cbrt(cones)
    return place


def test_oklab_of_white() -> None:
    np.testing.assert_allclose(oklab("#ffffff", np.eye(3)), [1, 0, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("seen", "arms", "least"),
    [
        ("all cones", 20, 0.1),
        ("all cones", 7, 0.135),
        ("no long", 20, 0.04),
        ("no middle", 20, 0.04),
        ("no short", 20, 0.04),
        ("no long", 5, 0.06),
        ("no middle", 5, 0.06),
        ("no short", 5, 0.06),
    ],
)
def test_colours_differ(seen: str, arms: int, least: float) -> None:
    points = [oklab(colour, np.array(SEEN[seen])) for colour in COLOURS[:arms]]
    assert len(points) == arms
    distances = [np.linalg.norm(one - other) for one, other in combinations(points, 2)]
    assert min(distances) >= least


@pytest.mark.parametrize("ground", ["#ffffff", "#111111"])
def test_colours_stand_out_on_light_and_dark(ground: str) -> None:
    """Lines and areas need a contrast of 3 (WCAG 2.2, 1.4.11)."""
    assert min(contrast(colour, ground) for colour in COLOURS) >= 3


def test_text_can_be_read_on_every_colour() -> None:
    assert min(contrast(ink_on(colour), colour) for colour in COLOURS) >= 4.5


def test_lines_of_arms_differ_in_grey() -> None:
    looks = [(line_of(arm), marker_of(arm)) for arm in range(49)]
    assert len(set(looks)) == 49


def test_lines_of_arms_differ_also_where_colours_come_again() -> None:
    looks = [(colour_of(arm), line_of(arm)) for arm in range(140)]
    assert len(set(looks)) == 140


def test_the_page_of_the_service_has_the_same_colours() -> None:
    source = files("fallow.live.service").joinpath("page/colours.js").read_text()
    listed = source[source.index("COLOURS = [") : source.index("];")]
    assert tuple(re.findall('"(#[0-9a-f]{6})"', listed)) == COLOURS
