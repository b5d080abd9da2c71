"""The colours of pairs, and the tags that replace them where there is no colour."""

from __future__ import annotations

from string import ascii_lowercase
from typing import NamedTuple


class Colour(NamedTuple):
    """One of the 256 terminal colours, and the same colour for a page."""

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
"""Chosen by search: each is readable on dark and light backgrounds, any two differ for people with
each kind of colour blindness, neighbours most. There is no red: that is for errors.
"""


def tag_of(pair: int) -> str:
    """A short name of a pair: a1 … a9, b1 … z9, aa1 …"""
    letters, digit = divmod(pair, 9)
    word = ""
    while letters >= 0:
        letters, letter = divmod(letters, 26)
        word = ascii_lowercase[letter] + word
        letters -= 1
    return f"{word}{digit + 1}"
