"""Copies of objects that go on growing, each for itself. Pure."""

from __future__ import annotations

from copy import copy
from typing import TypeVar

from tract.core.pages import Pages
from tract.core.tally import Tally

Instance = TypeVar("Instance")


def duplicate(instance: Instance) -> Instance:
    """A copy with lists, dicts, sets and counts of its own. What they hold is shared."""
    other = copy(instance)
    for name, value in vars(instance).items():
        if isinstance(value, list | dict | set | Pages | Tally):
            setattr(other, name, value.copy())
    return other
