"""tract beside the stores that others offer: the same messages, the same work, in turns.

`python3 dev.py bench peers [--json] [--quick] [--only NAME ...]`. `dev.py` builds an environment
with fixed versions of the others in `.peers`. Stores take turns within each round. Times are
medians of all rounds, `…_spread` is the slowest round ÷ the fastest, and a ratio is the median of
the ratios of the rounds. Files are in TMPDIR: on a file system in memory, no write is durable.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.measure import connect, ratio, settings_of, timed
from benchmarks.outputs import output
from benchmarks.report import Numbers, Result, report
from benchmarks.stores import (
    CONVERSATION,
    STORES,
    AdvancedSession,
    Store,
    TractStore,
    Wire,
    version_of,
)
from tract import Tract

AT_MOST = {
    "append_vs_openai_agents": 1.5,
    "loop_vs_fastest_durable": 2.0,
    "loop_vs_read_back": 0.1,
    "cold_10k_vs_fastest_peer": 1.0,
    "cold_50k_vs_fastest_peer": 1.0,
    "list_vs_raw": 6,
}

FASTEST = ("jsonl", "openai_agents")
"""The peers that tract must not be slower than when a history is opened."""
SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 14_000, 22_000, 40_000, 50_000)
"""Bytes of results: 65 MB in 10,000 messages."""
LARGE = 3
"""Times as large: 200 MB in 10,000 messages."""
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
    rounds: int


FULL = Scale((10, 1_000, 10_000), (1_000, 10_000, 50_000), 10_000, 1_000, 100, 20, 5)
QUICK = Scale((10, 20, 40), (20, 40, 60), 40, 4, 2, 2, 1)


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
    named = {"role": "tool", "tool_call_id": f"call_{number - 1}", "name": "run"}
    return {**named, "content": f"{number}\n{text}"}


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


# Append


def append(bench: Bench) -> Iterator[Result]:
    """One message in one durable write, at several lengths of the history."""
    behind: Numbers = {}
    ratios: Numbers = {}
    for size in bench.scale.histories:
        rounds = append_rounds(bench, size)
        behind |= summary(f"append_{size}", rounds)
        ratios[f"append_{size}_vs_openai_agents"] = against(rounds, "tract", ["openai_agents"])
    yield Result("append_vs_openai_agents", max(ratios.values()), ratios | behind)


def append_rounds(bench: Bench, size: int) -> list[Row]:
    """The first round warms up: files grow, and modules are loaded."""
    scale = bench.scale
    history = messages(size)
    amount = (scale.rounds + 1) * scale.appends
    new = messages(amount, first=size)
    with ExitStack() as stack:
        writers = []
        for store in bench.stores:
            path = bench.filled(store, history)
            natives = iter([store.native(wire) for wire in new])
            writers.append((stack.enter_context(opened(store, path)), natives))
        rounds = [
            {store.name: _seconds_to_append(store, natives, scale.appends)
             for store, natives in writers}
            for _ in range(scale.rounds + 1)
        ]  # fmt: skip
    return rounds[1:]


def _seconds_to_append(store: Store, natives: Iterator[Any], times: int) -> float:
    gc.collect()
    times = min(times, 2) if store.copies_history else times
    return median(timed(lambda: store.extend([next(natives)]))[0] for _ in range(times))


# Agent loop


def loop(bench: Bench) -> Iterator[Result]:
    """A call and its result in one durable write, then all messages: read back from the store,
    or from a list in memory. tract reads back in both."""
    scale = bench.scale
    ways = {"read_back": True, "list": False}
    rounds: dict[str, list[Row]] = {way: [] for way in ways}
    for _ in range(min(scale.rounds, 3)):
        own = _seconds_to_loop(bench, TractStore, is_read_back=True)
        for way, is_read_back in ways.items():
            row = {"tract": own}
            for store in bench.stores:
                if store is not TractStore:
                    row[store.name] = _seconds_to_loop(bench, store, is_read_back=is_read_back)
            rounds[way].append(row)
    behind = {
        **summary("loop_list", rounds["list"], "s"),
        **summary("loop_read_back", rounds["read_back"], "s"),
        "loop_turns": scale.turns,
        "loop_langgraph_turns": scale.rewritten_turns,
    }
    value = against(rounds["list"], "tract", ["openai_agents"])
    yield Result("loop_vs_fastest_durable", value, behind)
    yield Result("loop_vs_read_back", against(rounds["read_back"], "tract", ["openai_agents"]), {})


def _seconds_to_loop(bench: Bench, store: type[Store], *, is_read_back: bool) -> float:
    turns = bench.scale.rewritten_turns if store.copies_history else bench.scale.turns
    pairs = [[call(number), result(number + 1)] for number in range(1, 2 * turns, 2)]
    natives = [[store.native(wire) for wire in pair] for pair in pairs]
    gc.collect()
    with opened(store, bench.new_path()) as new:
        seconds, read = timed(lambda: _run(new, natives, is_read_back))
    assert len(read) == 2 * turns, (store.name, len(read))
    return seconds


def _run(store: Store, turns: Sequence[Sequence[Any]], is_read_back: bool) -> list[Any]:
    held: list[Any] = []
    for turn in turns:
        store.extend(turn)
        if is_read_back:
            held = store.messages()
        else:
            held += turn
    return held


# Cold


def cold(bench: Bench) -> Iterator[Result]:
    """Open the file and have all messages, as they are sent. The files are in the cache of the
    system."""
    first, *tens = bench.scale.openings
    behind: Numbers = summary(f"cold_{first}", cold_rounds(bench, first))
    for name, size in zip(("10k", "50k"), tens, strict=True):
        rounds = cold_rounds(bench, size)
        behind |= summary(f"cold_{size}", rounds)
        yield Result(f"cold_{name}_vs_fastest_peer", against(rounds, "tract", FASTEST), behind)
        behind = {}


def cold_rounds(bench: Bench, size: int) -> list[Row]:
    history = messages(size)
    paths = {store: bench.filled(store, history) for store in bench.stores}
    del history
    rounds = [
        {store.name: _seconds_to_read(store, path, size) for store, path in paths.items()}
        for _ in range(bench.scale.rounds)
    ]
    for path in paths.values():
        path.unlink()
    return rounds


def _seconds_to_read(store: type[Store], path: Path, expected: int) -> float:
    """Each starts with a heap that holds nothing of the other."""
    gc.collect()
    seconds, (new, read) = timed(lambda: _open_and_read(store, path))
    new.close()
    assert len(read) == expected, (store.name, len(read))
    return seconds


def _open_and_read(store: type[Store], path: Path) -> tuple[Store, list[Any]]:
    new = store(path)
    return new, new.messages()


# List

PLAIN = """SELECT commit_hash, parent_hash, operation, content_hash, role, tool_call_id, name,
    is_error, form, message, token_count, byte_size, preview, created_at FROM entries ORDER BY id"""
SHOWN = 200
"""Characters of a preview that is cut from a message."""


Ways = dict[str, Callable[[], Sequence[Any]]]


def listing(bench: Bench) -> Iterator[Result]:
    """Who wrote what, with a preview of each, of a history with large results. Stores without a
    list read all messages. AdvancedSQLiteSession lists kinds and names, without previews."""
    history = messages(bench.scale.listed, factor=LARGE)
    ways = _ways_to_list(bench, history)
    references = bench.filled(_References, history)
    bench_size = sum(len(wire["content"]) for wire in history) / 1e6
    del history
    rounds = [_list_round(ways) for _ in range(bench.scale.rounds)]
    lazy = [
        {"tract": _seconds_to_read(_References, references, bench.scale.listed)}
        for _ in range(bench.scale.rounds)
    ]
    behind = {
        **summary("list", rounds),
        **summary("open_references", lazy),
        "list_content_mb": bench_size,
    }
    yield Result("list_vs_raw", against(rounds, "tract", ["raw"]), behind)


class _References(TractStore):
    """tract, with references instead of results."""

    def open(self) -> None:
        super().open()
        if not self.t.head:
            self.t.configure_results(inline_tokens=100)


def _ways_to_list(bench: Bench, history: Sequence[Wire]) -> Ways:
    ways: Ways = {}
    for store in bench.stores:
        if store.name in ("langgraph", "langgraph_delta", "llm", "raw"):
            continue
        path = bench.filled(store, history)
        ways[store.name] = partial(_list, store, path)
        if store is TractStore:
            ways["raw"] = partial(_select, _plain_copy(bench, path))
    return ways


def _list_round(ways: Ways) -> Row:
    row: Row = {}
    for name, way in ways.items():
        gc.collect()
        row[name], entries = timed(way)
        assert entries
    return row


def _list(store: type[Store], path: Path) -> Sequence[Any]:
    with opened(store, path) as new:
        if isinstance(new, TractStore):
            return list(new.t.log())
        if isinstance(new, AdvancedSession):
            return list(new.list().items())
        return [str(entry)[:SHOWN] for entry in new.messages()]


def _plain_copy(bench: Bench, original: Path) -> Path:
    """The same columns in the plainest table."""
    path = bench.new_path()
    with Tract.open(original, dialog=CONVERSATION) as t:
        settings = settings_of(t.session.store.driver.connection)
        rows = [_columns(info) for info in t.log()][::-1]
    connection = connect(path, settings)
    names = PLAIN.partition("FROM")[0].removeprefix("SELECT ")
    connection.execute(f"CREATE TABLE entries (id INTEGER PRIMARY KEY, {names})")
    connection.execute("BEGIN")
    marks = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO entries ({names}) VALUES ({marks})", rows)
    connection.execute("COMMIT")
    connection.close()
    return path


def _columns(info: Any) -> tuple[Any, ...]:
    hashes = (info.commit_hash, info.parent_hash, str(info.operation), info.content_hash)
    names = (info.role, info.tool_call_id, info.name, info.is_error)
    form = str(info.form) if info.form else None
    texts = (form, info.message, info.token_count, info.byte_size, info.preview)
    return (*hashes, *names, *texts, info.created_at.isoformat())


def _select(plain: Path) -> Sequence[Any]:
    connection = connect(plain, [])
    rows = connection.execute(PLAIN).fetchall()
    connection.close()
    return rows


# Report

MEASURES = {"append": append, "loop": loop, "cold": cold, "list": listing}


def facts() -> dict[str, Any]:
    """The versions of all stores, and those that are not installed."""
    packages = [package for store in STORES for package in store.packages]
    versions = {package: version_of(package) for package in packages}
    return {
        "versions": {package: number for package, number in versions.items() if number},
        "missing": sorted({store.name for store in STORES if store.missing()}),
    }


def run(scale: Scale, names: Sequence[str]) -> Iterator[Result]:
    for name in names:
        with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
            yield from MEASURES[name](Bench(Path(folder), scale))


def main() -> None:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES))
    only = options.parse_known_args()[0].only
    report(
        "peers",
        __doc__,
        AT_MOST,
        lambda quick: run(QUICK if quick else FULL, only),
        options=options,
        facts=facts,
    )


if __name__ == "__main__":
    main()
