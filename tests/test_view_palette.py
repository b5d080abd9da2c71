"""The colours of pairs: read on every ground, told apart by everybody, the same on every screen."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from tract.view.lines import pair_style
from tract.view.palette import PALETTE, Colour, tag_of

DARK, WHITE = "#1e1e1e", "#ffffff"
STEPS = (0, 95, 135, 175, 215, 255)
"""What the colours 16 to 231 of a terminal are mixed of."""

Matrix = tuple[tuple[float, float, float], ...]
Triple = tuple[float, float, float]

SIGHT: dict[str, Matrix] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Machado, Oliveira and Fernandes (2009), severity 1."""
TO_XYZ: Matrix = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
WHITE_POINT = (0.95047, 1.0, 1.08883)


def linear(web: str) -> Triple:
    shares = (int(web[place : place + 2], 16) / 255 for place in (1, 3, 5))
    r, g, b = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return r, g, b


def times(matrix: Matrix, values: Triple) -> Triple:
    x, y, z = (sum(a * b for a, b in zip(row, values, strict=True)) for row in matrix)
    return x, y, z


def contrast(one: str, other: str) -> float:
    """As the WCAG define it."""
    dark, light = sorted(times(TO_XYZ, linear(web))[1] for web in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(web: str, sight: Matrix) -> Triple:
    r, g, b = (min(1.0, max(0.0, share)) for share in times(sight, linear(web)))
    shares = zip(times(TO_XYZ, (r, g, b)), WHITE_POINT, strict=True)
    x, y, z = (_bent(share / white) for share, white in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _bent(share: float) -> float:
    return float(share ** (1 / 3)) if share > 216 / 24389 else (24389 / 27 * share + 16) / 116


def distance(one: Colour, other: Colour, sight: Matrix) -> float:
    shares = zip(lab(one.web, sight), lab(other.web, sight), strict=True)
    return float(sum((a - b) ** 2 for a, b in shares) ** 0.5)


def test_the_measures_are_those_of_the_books() -> None:
    assert contrast("#000000", WHITE) == pytest.approx(21)
    assert contrast("#777777", WHITE) == pytest.approx(4.48, abs=0.01)
    assert lab("#ff0000", SIGHT["normal"]) == pytest.approx((53.24, 80.09, 67.20), abs=0.02)


def test_there_are_at_least_eight() -> None:
    assert len(set(PALETTE)) == len(PALETTE) >= 8


@pytest.mark.parametrize("colour", PALETTE, ids=lambda colour: colour.web)
@pytest.mark.parametrize("ground", [DARK, WHITE])
def test_each_is_read_on_dark_and_on_light(colour: Colour, ground: str) -> None:
    assert contrast(colour.web, ground) >= 3


@pytest.mark.parametrize("sight", SIGHT)
def test_any_two_are_told_apart_by_everybody(sight: str) -> None:
    for one, other in combinations(PALETTE, 2):
        assert distance(one, other, SIGHT[sight]) >= 12, (one, other)


def test_neighbours_differ_more_than_the_closest_two() -> None:
    for sight in SIGHT.values():
        ring = [*PALETTE, PALETTE[0]]
        assert min(distance(one, other, sight) for one, other in pairwise(ring)) >= 15


@pytest.mark.parametrize("colour", PALETTE, ids=lambda colour: colour.web)
def test_a_terminal_and_a_page_have_the_same(colour: Colour) -> None:
    place = colour.terminal - 16
    mixed = (STEPS[place // 36], STEPS[place // 6 % 6], STEPS[place % 6])
    assert colour.web == "#{:02x}{:02x}{:02x}".format(*mixed)


def test_colours_go_round() -> None:
    numbers = range(2 * len(PALETTE))
    styles = [f"p{number % len(PALETTE)}" for number in numbers]
    assert list(map(pair_style, numbers)) == styles


def test_tags_are_short_and_never_the_same() -> None:
    tags = [tag_of(pair) for pair in range(5001)]
    assert len(set(tags)) == len(tags)
    assert max(map(len, tags)) <= 3
    assert tags[:10] == ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b1"]
    assert tags[233:235] == ["z9", "aa1"]
    assert all(tag.isalnum() and tag.isascii() for tag in tags)
