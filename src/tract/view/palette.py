"""The colours of pairs, and what takes their place where there is no colour."""

from __future__ import annotations

from string import ascii_lowercase
from typing import NamedTuple


class Colour(NamedTuple):
    """A colour of the 256 that terminals share, and the same for a page."""

    terminal: int
    web: str


PALETTE = (
    Colour(33, "#0087ff"),  # blue
    Colour(166, "#d75f00"),  # orange
    Colour(104, "#8787d7"),  # periwinkle
    Colour(163, "#d700af"),  # magenta
    Colour(29, "#00875f"),  # green
    Colour(128, "#af00d7"),  # violet
    Colour(139, "#af87af"),  # mauve
    Colour(96, "#875f87"),  # plum
)
"""Found by search: each stands out from a dark and from a light ground, any two of them differ for
people with each kind of colour blindness, and neighbours most. None is a red, which is for errors.
"""


def colour_of(pair: int) -> int:
    """Which colour of the palette a pair has: its place in the whole history decides."""
    return pair % len(PALETTE)


def tag_of(pair: int) -> str:
    """A short name of a pair: a1 … a9, b1 … z9, aa1 …"""
    letters, digit = divmod(pair, 9)
    word = ""
    while letters >= 0:
        letters, letter = divmod(letters, 26)
        word = ascii_lowercase[letter] + word
        letters -= 1
    return f"{word}{digit + 1}"
