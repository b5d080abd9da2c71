"""What `bench peers` does with every store: the same messages, turns within rounds, medians."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.measure import ratio, timed
from benchmarks.outputs import output
from benchmarks.report import Numbers
from benchmarks.stores import CONVERSATION, STORES, Store, Wire

SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 14_000, 22_000, 40_000, 50_000)
"""Bytes of results: 65 MB in 10,000 messages."""
TURN = 20
"""Messages from one prompt to the next: 9 calls with their results, and an answer."""


class Scale(NamedTuple):
    histories: tuple[int, int, int]
    """Messages before an append."""
    openings: tuple[int, int, int]
    listed: int
    turns: int
    rewritten_turns: int
    """Of a store that writes its full history each time."""
    appends: int
    conversations: int
    """Each has as many messages: a multiple of TURN, so that none ends with an open call."""
    rounds: int


FULL = Scale((10, 1_000, 10_000), (1_000, 10_000, 50_000), 10_000, 1_000, 100, 20, 1_000, 5)
QUICK = Scale((10, 20, 40), (20, 40, 60), 40, 4, 2, 2, 20, 1)


# Messages


def messages(amount: int, first: int = 0, factor: int = 1) -> list[Wire]:
    return [message(number, factor) for number in range(first, first + amount)]


def message(number: int, factor: int = 1) -> Wire:
    """Prompt, calls with results, answer."""
    place = number % TURN
    if place == 0:
        return {"role": "user", "content": f"Please look at part {number} again, and closely."}
    if place == TURN - 1:
        return {"role": "assistant", "content": f"Part {number} is done. It was one line."}
    return result(number, factor) if place % 2 == 0 else call(number)


def call(number: int) -> Wire:
    function = {"name": "run", "arguments": json.dumps({"command": f"make part_{number}"})}
    calls = [{"id": f"call_{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(number: int, factor: int = 1) -> Wire:
    content = output(number, SIZES[number // 2 % len(SIZES)] * factor)
    text = content if isinstance(content, str) else json.dumps(content)
    return result_of(number, f"{number}\n{text}")


def result_of(number: int, content: str) -> Wire:
    named = {"role": "tool", "tool_call_id": f"call_{number - 1}", "name": "run"}
    return {**named, "content": content}


# Stores


class Bench:
    """A folder with a file for each store and history."""

    def __init__(self, folder: Path, scale: Scale) -> None:
        self.folder = folder
        self.scale = scale
        self.stores = [store for store in STORES if not store.missing()]
        self._names = count(1)

    def new_path(self) -> Path:
        return self.folder / f"{next(self._names)}.db"

    def filled(self, store: type[Store], history: Sequence[Wire]) -> Path:
        path = self.new_path()
        with opened(store, path) as new:
            if history:
                new.fill([store.native(wire) for wire in history])
        return path


@contextmanager
def opened(store: type[Store], path: Path) -> Iterator[Store]:
    new = store(path)
    try:
        yield new
    finally:
        new.close()


Row = dict[str, float]
"""What each store took in one round, in seconds."""


def summary(work: str, rounds: Sequence[Row], unit: str = "ms") -> Numbers:
    factor = {"ms": 1e3, "s": 1.0}[unit]
    numbers: Numbers = {}
    for name in rounds[0]:
        column = [row[name] for row in rounds]
        numbers[f"{work}_{name}_{unit}"] = median(column) * factor
        numbers[f"{work}_{name}_spread"] = max(column) / min(column)
    return numbers


def against(rounds: Sequence[Row], name: str, others: Sequence[str]) -> float:
    """A store ÷ the fastest of others, in the same round."""
    present = [other for other in others if other in rounds[0]]
    if not present:
        return float("nan")
    return ratio([(row[name], min(row[other] for other in present)) for row in rounds])


# Reading


def seconds_to_read(
    store: type[Store], path: Path, expected: int, conversation: str = CONVERSATION
) -> float:
    """Each starts with a heap that holds nothing of the other."""
    gc.collect()
    seconds, (new, read) = timed(lambda: _open_and_read(store, path, conversation))
    new.close()
    assert len(read) == expected, (store.name, len(read))
    return seconds


def _open_and_read(store: type[Store], path: Path, conversation: str) -> tuple[Store, list[Any]]:
    new = store(path, conversation)
    return new, new.messages()
