"""What a message costs when there are many: from a thousand to a million, in one dialog and in
dialogs of a hundred.

`python3 dev.py bench scale [--json] [--quick] [--largest N]`. CPU time of this process, in
microseconds: of one call for `append`, `turn…`, `edit_turn` and `open`, which ought to cost the
same in a history of any length; divided by the number of messages for the others, which read all of
them (`list` of many dialogs: by the number of dialogs). `turn_unsent` is a turn of which the caller
wants no list, and `turn_copy` what it would cost to copy and to free a plain one of that length. A
`…_growth` is the cost in the largest history ÷ the cost at 10,000.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from statistics import median
from time import process_time
from typing import NamedTuple

from benchmarks.measure import Texts
from benchmarks.report import Numbers, Result, report
from tract import CompiledContext, Tract

AT_MOST = {"scale_growth": 1.5}

DIALOG = 100
"""Messages of each dialog, where there are many."""
PAGE = 10_000
"""Messages that are written in one transaction."""
RARE = 1_000
"""One message in so many has the word that is searched for, up to FEW."""
FEW, WORD = 20, "zanzibar"
NEWEST = 50
TEXTS = Texts(100)
LARGEST = 1_000_000
BASE = 10_000


class Scale(NamedTuple):
    sizes: Sequence[int]
    base: int
    """The size that the largest is compared with."""
    calls: int


QUICK = Scale((100, 200, 400), 200, 3)


def full(largest: int) -> Scale:
    sizes = [10**power for power in range(3, 9) if 10**power <= largest]
    return Scale(sizes, min(BASE, sizes[-1]), 50)


# Filling


def write(t: Tract, number: int) -> None:
    """A message. Two of three are a call and its result."""
    text = TEXTS[number] + (f" {WORD}" if number % RARE == 0 and number < RARE * FEW else "")
    call_id = f"call_{number // 3}"
    if number % 3 == 0:
        t.user(text)
    elif number % 3 == 1:
        call = {"id": call_id, "name": "grep", "arguments": {"pattern": text[:20]}}
        t.assistant(text[:40], tool_calls=[call])
    else:
        t.tool_result(call_id, "grep", text)


def grow_one(path: Path, size: int, numbers: Iterator[int]) -> None:
    with _writing(path, "one") as t:
        for page in _pages(size - _length(t), PAGE):
            with t.batch():
                for number in islice(numbers, page):
                    write(t, number)


def grow_many(path: Path, size: int, numbers: Iterator[int]) -> None:
    with _writing(path, name_of(0)) as t:
        first = sum(info.commits > 0 for info in t.dialogs())
        for dialog in range(first, size // DIALOG):
            new = t.sibling(name_of(dialog))
            with new.batch():
                for number in islice(numbers, DIALOG):
                    write(new, number)


def name_of(dialog: int) -> str:
    return f"dialog-{dialog}"


def _writing(path: Path, dialog: str) -> Tract:
    return Tract.open(path, dialog=dialog, durability="relaxed", tokens="chars/4")


def _length(t: Tract) -> int:
    return next((info.commits for info in t.dialogs() if info.dialog == t.dialog), 0)


def _pages(amount: int, page: int) -> Iterator[int]:
    while amount > 0:
        yield min(amount, page)
        amount -= page


# Operations

Operation = Callable[[Path, "Shape", int, int], float]
"""CPU seconds for one item: file, shape, messages, calls."""


class Shape(NamedTuple):
    grow: Callable[[Path, int, Iterator[int]], None]
    dialog: str
    """The one that is written to."""
    all_dialogs: bool


SHAPES = {"one": Shape(grow_one, "one", False), "many": Shape(grow_many, name_of(0), True)}


def cpu(action: Callable[[], object]) -> float:
    gc.collect()
    start = process_time()
    action()
    return process_time() - start


def append(path: Path, shape: Shape, size: int, calls: int) -> float:
    with _writing(path, shape.dialog) as t:
        return _median_of(partial(t.user, "One more message."), calls)


def turn(path: Path, shape: Shape, size: int, calls: int) -> float:
    """A call, its result, and the request for the next answer."""
    numbers = count(0)
    with _writing(path, shape.dialog) as t:
        t.compile().to_openai()
        return _median_of(lambda: _turn(t, f"late_{next(numbers)}"), calls)


def _turn(t: Tract, call_id: str) -> object:
    return _add_turn(t, call_id).to_openai()


def _add_turn(t: Tract, call_id: str) -> CompiledContext:
    t.assistant("Look.", tool_calls=[{"id": call_id, "name": "grep", "arguments": {}}])
    t.tool_result(call_id, "grep", f"the result of {call_id}")
    return t.compile()


def turn_copy(path: Path, shape: Shape, size: int, calls: int) -> float:
    """To copy a plain list of as many messages, and to free it, which no turn does."""
    with _writing(path, shape.dialog) as t:
        return _median_of(t.compile().to_openai().copy, calls)


def turn_unsent(path: Path, shape: Shape, size: int, calls: int) -> float:
    """A call, its result, and the next context, of which no list is made."""
    numbers = count(0)
    with _writing(path, shape.dialog) as t:
        t.compile()
        return _median_of(lambda: _add_turn(t, f"unsent_{next(numbers)}"), calls)


def edit_turn(path: Path, shape: Shape, size: int, calls: int) -> float:
    """An edit of a recent message, and the request after it."""
    with _writing(path, shape.dialog) as t:
        message = t.user("A message to be edited.")
        t.compile().to_openai()
        numbers = count(0)

        def edit() -> object:
            t.user(f"Another text, {next(numbers)}.", edit=message)
            return t.compile().to_openai()

        return _median_of(edit, min(calls, 5))


def open_newest(path: Path, shape: Shape, size: int, calls: int) -> float:
    """Open the file, and have the newest messages of a dialog with a preview of each."""

    def newest() -> None:
        with Tract.open(path, dialog=shape.dialog) as t:
            deque(islice(t.log(), NEWEST), maxlen=0)

    return _median_of(newest, min(calls, 10))


def list_(path: Path, shape: Shape, size: int, calls: int) -> float:
    with Tract.open(path, dialog=shape.dialog) as t:
        if shape.all_dialogs:
            return cpu(t.dialogs) / (size / DIALOG)
        return cpu(lambda: deque(t.log(), maxlen=0)) / size


def first_search(path: Path, shape: Shape, size: int, calls: int) -> float:
    """The search after a history has grown, which looks through the words that are new."""
    copy = path.with_suffix(".copy")
    with Tract.open(path, dialog=shape.dialog) as t:
        t.backup(copy)
    seconds = search(copy, shape, size, calls)
    copy.unlink()
    return seconds


def search(path: Path, shape: Shape, size: int, calls: int) -> float:
    with Tract.open(path, dialog=shape.dialog) as t:
        words = partial(t.search, WORD, all_dialogs=shape.all_dialogs)
        return cpu(lambda: deque(words(), maxlen=0)) / size


def search_again(path: Path, shape: Shape, size: int, calls: int) -> float:
    search(path, shape, size, calls)
    return search(path, shape, size, calls)


def find_tool_turns(path: Path, shape: Shape, size: int, calls: int) -> float:
    with Tract.open(path, dialog=shape.dialog) as t:
        return cpu(t.find_tool_turns) / size


def collect(path: Path, shape: Shape, size: int, calls: int) -> float:
    with Tract.open(path, dialog=shape.dialog) as t:
        return cpu(t.gc) / size


def backup(path: Path, shape: Shape, size: int, calls: int) -> float:
    copy = path.with_suffix(".copy")
    with Tract.open(path, dialog=shape.dialog) as t:
        seconds = cpu(partial(t.backup, copy))
    copy.unlink()
    return seconds / size


def fsck(path: Path, shape: Shape, size: int, calls: int) -> float:
    with Tract.open(path, dialog=shape.dialog) as t:
        return cpu(t.fsck) / size


def _median_of(action: Callable[[], object], calls: int) -> float:
    action()
    return median(cpu_of(action) for _ in range(calls))


def cpu_of(action: Callable[[], object]) -> float:
    start = process_time()
    action()
    return process_time() - start


OPERATIONS: dict[str, dict[str, Operation]] = {
    "one": {
        "append": append,
        "turn": turn,
        "turn_copy": turn_copy,
        "turn_unsent": turn_unsent,
        "edit_turn": edit_turn,
        "open": open_newest,
        "list": list_,
        "first_search": first_search,
        "search": search_again,
        "find_tool_turns": find_tool_turns,
        "gc": collect,
        "backup": backup,
        "fsck": fsck,
    },
    "many": {
        "append": append,
        "turn": turn,
        "open": open_newest,
        "list": list_,
        "first_search": first_search,
        "search": search_again,
        "gc": collect,
        "backup": backup,
        "fsck": fsck,
    },
}
APART = {"turn_copy"}
"""Reported, but it is nothing that tract does."""
SHORT = 0.2
"""Seconds below which a measure is repeated, because clocks are coarse."""


# Report


def run(scale: Scale) -> Iterator[Result]:
    numbers: Numbers = {}
    growth: Numbers = {}
    for name, shape in SHAPES.items():
        with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
            numbers |= _curve(Path(folder, "t.db"), name, shape, scale)
        for operation in OPERATIONS[name]:
            key = f"scale_{name}_{operation}"
            last, base = (numbers[f"{key}_{size}_us"] for size in (scale.sizes[-1], scale.base))
            growth[f"{key}_growth"] = last / base
    bounded = {key: value for key, value in growth.items() if not any(a in key for a in APART)}
    yield Result("scale_growth", max(bounded.values()), growth | numbers)


def _curve(path: Path, name: str, shape: Shape, scale: Scale) -> Numbers:
    numbers: Numbers = {}
    source = count(0)
    for size in scale.sizes:
        key = f"scale_{name}_fill_{size}_s"
        numbers[key] = cpu(lambda size=size: shape.grow(path, size, source))  # type: ignore[misc]
        for operation, measure in OPERATIONS[name].items():
            cost = _measured(partial(measure, path, shape, size, scale.calls), size)
            numbers[f"scale_{name}_{operation}_{size}_us"] = cost * 1e6
        numbers[f"scale_{name}_{size}_mb"] = path.stat().st_size / 1e6
    return numbers


def _measured(measure: Callable[[], float], size: int) -> float:
    """The median of three where one is short."""
    first = measure()
    return median((first, measure(), measure())) if first * size < SHORT else first


def main() -> None:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--largest", type=int, default=LARGEST, help="messages, 1000000 by default"
    )
    largest = options.parse_known_args()[0].largest
    run_of = {True: QUICK, False: full(largest)}
    report("scale", __doc__, AT_MOST, lambda quick: run(run_of[quick]), options=options)


if __name__ == "__main__":
    main()
