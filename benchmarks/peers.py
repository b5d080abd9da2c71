"""tract beside the stores that others offer: the same messages, the same work, in turns.

`python3 dev.py bench peers [--json] [--quick] [--only NAME ...]`. `dev.py` builds an environment
with fixed versions of the others in `.peers`. Stores take turns within each round. Times are
medians of all rounds, `…_spread` is the slowest round ÷ the fastest, and a ratio is the median of
the ratios of the rounds. Files are in TMPDIR: on a file system in memory, no write is durable.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks.archive import archive
from benchmarks.contest import (
    FULL,
    QUICK,
    Bench,
    Row,
    Scale,
    against,
    call,
    messages,
    opened,
    result,
    result_of,
    seconds_to_read,
    summary,
)
from benchmarks.measure import connect, settings_of, timed
from benchmarks.report import Numbers, Result, report
from benchmarks.stores import (
    CONVERSATION,
    STORES,
    AdvancedSession,
    LangGraph,
    Store,
    TractStore,
    Wire,
    version_of,
)
from benchmarks.syncs import syncs
from benchmarks.tools import make_tools
from tract import Tract

AT_MOST = {
    "append_vs_openai_agents": 1.5,
    "loop_vs_fastest_durable": 2.0,
    "loop_vs_read_back": 0.1,
    "cold_10k_vs_fastest_peer": 1.0,
    "cold_50k_vs_fastest_peer": 1.0,
    "list_vs_raw": 6,
    "fork_vs_openai_agents": 0.1,
    "disk_vs_smallest_peer": 0.3,
    "edit_vs_langchain": 1.0,
    "archive_search_vs_scan": 1.0,
}
AT_LEAST = {"syncs_per_append": 1}

FASTEST = ("jsonl", "openai_agents")
"""The peers that tract must not be slower than when a history is opened."""
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
    others = [store for store in bench.stores if store is not TractStore]
    lists = [_loop_round(bench, others, is_read_back=False) for _ in range(min(scale.rounds, 3))]
    read_back = [_loop_round(bench, others, is_read_back=True)]  # minutes, so only once
    behind = {
        **summary("loop_list", lists, "s"),
        **summary("loop_read_back", read_back, "s"),
        "loop_turns": scale.turns,
        "loop_langgraph_turns": scale.rewritten_turns,
    }
    yield Result("loop_vs_fastest_durable", against(lists, "tract", ["openai_agents"]), behind)
    yield Result("loop_vs_read_back", against(read_back, "tract", ["openai_agents"]), {})


def _loop_round(bench: Bench, others: Sequence[type[Store]], *, is_read_back: bool) -> Row:
    row = {"tract": _seconds_to_loop(bench, TractStore, is_read_back=True)}
    for store in others:
        row[store.name] = _seconds_to_loop(bench, store, is_read_back=is_read_back)
    return row


def _seconds_to_loop(bench: Bench, store: type[Store], *, is_read_back: bool) -> float:
    turns = bench.scale.rewritten_turns if store.copies_history else bench.scale.turns
    pairs = [[call(number), result(number + 1)] for number in range(1, 2 * turns, 2)]
    natives = [[store.native(wire) for wire in pair] for pair in pairs]
    with opened(store, bench.new_path()) as other:
        _run(other, natives[:2], is_read_back)  # loads what is loaded once
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


LONG = 10_000
"""Messages above which three rounds are enough."""


def cold_rounds(bench: Bench, size: int) -> list[Row]:
    history = messages(size)
    paths = {store: bench.filled(store, history) for store in bench.stores}
    del history
    rounds = [
        {store.name: seconds_to_read(store, path, size) for store, path in paths.items()}
        for _ in range(min(bench.scale.rounds, 3) if size > LONG else bench.scale.rounds)
    ]
    for path in paths.values():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return rounds


# List

LARGE = 3
"""Times as large: 200 MB in 10,000 messages."""
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
        {"tract": seconds_to_read(_References, references, bench.scale.listed)}
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


# Fork


def fork(bench: Bench) -> Iterator[Result]:
    """A second conversation that continues from the last message."""
    history = messages(bench.scale.listed)
    with ExitStack() as stack:
        stores = []
        for store in bench.stores:
            path = bench.filled(store, history)
            stores.append(stack.enter_context(opened(store, path)))
        rounds = [
            {store.name: timed(partial(store.fork, f"fork-{number}"))[0] for store in stores}
            for number in range(bench.scale.rounds)
        ]
    value = against(rounds, "tract", ["openai_agents"])
    yield Result("fork_vs_openai_agents", value, summary("fork", rounds))


# Disk

REPEATED = 0.3


def disk(bench: Bench) -> Iterator[Result]:
    """Bytes of all files after turns of which some return what an earlier one returned. tract
    stores 40 definitions of tools too, the others none."""
    sizes = {store.name: float(_bytes_on_disk(bench, store)) for store in bench.stores}
    others = [sizes[s.name] for s in bench.stores if s is not TractStore and not s.copies_history]
    behind = {f"disk_{name}_mb": size / 1e6 for name, size in sizes.items()}
    behind["disk_text_mb"] = sum(len(wire["content"]) for pair in _turns(bench) for wire in pair)
    behind["disk_text_mb"] /= 1e6
    behind |= {"disk_turns": bench.scale.turns, "disk_langgraph_turns": bench.scale.rewritten_turns}
    yield Result("disk_vs_smallest_peer", sizes["tract"] / min(others), behind)


def _turns(bench: Bench, amount: int | None = None) -> list[list[Wire]]:
    random = Random(1)
    results: list[str] = []
    turns = []
    for number in range(1, 2 * (amount or bench.scale.turns), 2):
        again = results and random.random() < REPEATED
        results.append(random.choice(results) if again else result(number + 1)["content"])
        turns.append([call(number), result_of(number + 1, results[-1])])
    return turns


def _bytes_on_disk(bench: Bench, store: type[Store]) -> int:
    turns = _turns(bench, bench.scale.rewritten_turns if store.copies_history else None)
    path = bench.new_path()
    with opened(store, path) as new:
        if isinstance(new, TractStore):
            new.t.set_tools(make_tools())
        for turn in turns:
            new.extend([store.native(wire) for wire in turn])
    files = [
        file for place in path.parent.glob(f"{path.name}*") for file in (place, *place.glob("*"))
    ]
    return sum(file.stat().st_size for file in files if file.is_file())


# Edit of the context

KEPT = 3
"""The newest results, which stay as they are."""


def edit(bench: Bench) -> Iterator[Result]:
    """Results but the newest are replaced by something short, then all messages are sent.
    LangChain does it again before every call of a model; tract once, and the next turn costs what
    is new."""
    history = messages(bench.scale.listed)
    rounds = [_edit_round(bench, history) for _ in range(bench.scale.rounds)]
    yield Result(
        "edit_vs_langchain", against(rounds, "tract", ["langchain"]), summary("edit", rounds)
    )


def _edit_round(bench: Bench, history: Sequence[Wire]) -> Row:
    row: Row = {}
    with opened(TractStore, bench.filled(TractStore, history)) as store:
        assert isinstance(store, TractStore)
        store.messages()
        gc.collect()
        row["tract"] = timed(lambda: _shorten(store.t))[0]
        row["tract_next_turn"] = timed(lambda: _go_on(store))[0]
    if LangGraph.missing() or version_of("langchain") is None:
        return row
    natives = [LangGraph.native(wire) for wire in history]
    gc.collect()
    row["langchain"] = timed(lambda: _clear(natives))[0]
    return row


def _shorten(t: Tract) -> list[Any]:
    results = [info.commit_hash for info in t.list_tool_results()]
    t.reshape(dict.fromkeys(results[:-KEPT], "reference"))
    return t.compile().to_openai()


def _go_on(store: TractStore) -> list[Any]:
    store.extend([call(1), result(2)])
    return store.messages()


def _clear(natives: Sequence[Any]) -> list[Any]:
    from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.messages import convert_to_openai_messages

    edits = [ClearToolUsesEdit(trigger=1, keep=KEPT)]
    middleware: Any = ContextEditingMiddleware(edits=edits)
    model: Any = None
    request: Any = ModelRequest(model=model, messages=list(natives))
    sent: list[Any] = []
    middleware.wrap_model_call(
        request, lambda edited: sent.extend(convert_to_openai_messages(edited.messages))
    )
    return sent


# Report

MEASURES = {
    "append": append,
    "loop": loop,
    "cold": cold,
    "list": listing,
    "fork": fork,
    "disk": disk,
    "edit": edit,
    "archive": archive,
    "syncs": syncs,
}


def facts() -> dict[str, Any]:
    """The versions of all stores, those that are not installed, and how the others write."""
    packages = [package for store in STORES for package in (*store.packages, "langchain")]
    versions = {package: version_of(package) for package in packages}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), QUICK)
        settings = {store.name: _settings(store, bench.new_path()) for store in bench.stores}
    return {
        "versions": {package: number for package, number in versions.items() if number},
        "missing": sorted({store.name for store in STORES if store.missing()}),
        "settings": settings,
    }


def _settings(store: type[Store], path: Path) -> str:
    with opened(store, path) as new:
        return new.settings()


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
        AT_LEAST,
        options=options,
        facts=facts,
    )


if __name__ == "__main__":
    main()
