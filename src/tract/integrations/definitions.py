"""The definitions of an agent's tools, which are slow to make and seldom change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tract.model import Json


class Definitions:
    """Makes the definitions of a list of tools once, as long as an agent has the same tools."""

    def __init__(self, define: Callable[[Any], dict[str, Json]]) -> None:
        self._define = define
        self._tools: list[Any] = []
        self._made: list[dict[str, Json]] = []

    def of(self, tools: Sequence[Any]) -> list[dict[str, Json]]:
        if not _are_same(tools, self._tools):
            self._made = [self._define(tool) for tool in tools]
            self._tools = list(tools)
        return self._made


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    pairs = zip(some, others, strict=False)
    return len(some) == len(others) and all(one is other for one, other in pairs)
