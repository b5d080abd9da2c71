"""The core against its limits: what SQLite alone costs, and what must not grow.

`python3 dev.py bench core [--json] [--quick]`. Every limit is measured in the same run.
"""

from __future__ import annotations

import gc
import json
import shutil
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.measure import (
    WARM_UP,
    Texts,
    connect,
    in_new_process,
    medians,
    ratio,
    settings_of,
    take_turns,
    timed,
)
from benchmarks.report import Numbers, Result, report
from tract import Tract
from tract.model import Head
from tract.storage.rows import branch_checksum

AT_MOST = {
    "append_full_vs_raw": 1.35,
    "append_relaxed_vs_raw": 2,
    "append_growth": 1.2,
    "turn_growth": 1.3,
    "edit_turn_growth": 3,
    "record_growth": 8,
    "cold_vs_raw": 2,
    "log_lazy_rss_mb": 64,
    "size_vs_text": 3,
    "statements_per_append": 5,
}

MESSAGE = 200
RESULT = 20_000

Fill = Callable[[Tract, int], object]


class Scale(NamedTuple):
    few: int
    many: int
    messages: int
    rounds: int
    times: int
    settle: int


FULL = Scale(few=100, many=10_000, messages=1_000, rounds=15, times=100, settle=300)
QUICK = Scale(few=20, many=200, messages=50, rounds=2, times=10, settle=5)


class Bench:
    """A folder with databases of several sizes, each made when it is first asked for."""

    def __init__(self, folder: Path, scale: Scale) -> None:
        self.folder = folder
        self.scale = scale
        self._names = count(1)

    @cached_property
    def texts(self) -> Texts:
        return Texts(MESSAGE)

    def new_path(self) -> Path:
        return self.folder / f"{next(self._names)}.db"

    def filled(self, fill: Fill, size: int) -> Path:
        """A database that was filled up to this size; the same one each time."""
        path = self.folder / f"{fill.__name__}-{size}.db"
        if not path.exists():
            # How tokens are counted is no part of any measure that reads.
            with Tract.open(path, durability="relaxed", tokens="chars/4") as t, t.batch():
                for number in range(size):
                    fill(t, number)
        return path

    def copy(self, path: Path) -> Path:
        return Path(shutil.copyfile(path, self.new_path()))

    # What databases are filled with

    def chat(self, t: Tract, number: int, **options: Any) -> None:
        (t.assistant if number % 2 else t.user)(self.texts[number], **options)

    def users(self, t: Tract, number: int) -> None:
        t.user(self.texts[number])

    def agent(self, t: Tract, number: int, **options: Any) -> None:
        """Calls and results in turn: what an agent does most of the time."""
        text, call_id = self.texts[number], f"call_{number // 2}"
        if number % 2:
            t.tool_result(call_id, "grep", text, **options)
        else:
            call = {"id": call_id, "name": "grep", "arguments": {"pattern": text[:40]}}
            t.assistant(text[:80], tool_calls=[call], **options)

    def results(self, t: Tract, number: int) -> None:
        t.tool_result(f"call_{number}", "fetch", _noise(number))


def _noise(seed: int) -> str:
    """A long text that hardly compresses."""
    return b64encode(Random(seed).randbytes(RESULT * 3 // 4)).decode("ascii")


# Appends


def append_full(bench: Bench) -> Result:
    return _append_vs_raw(bench, "full")


def append_relaxed(bench: Bench) -> Result:
    return _append_vs_raw(bench, "relaxed")


def _append_vs_raw(bench: Bench, durability: str) -> Result:
    """With the worst round too: a disk that slows down hides what is added to it."""
    rounds = _append_rounds(bench, durability)
    ours, raw = medians(rounds)
    behind = {
        f"append_{durability}_us": ours * 1e6,
        f"append_{durability}_raw_us": raw * 1e6,
        f"append_{durability}_worst_round": max(first / second for first, second in rounds),
    }
    return Result(f"append_{durability}_vs_raw", ratio(rounds), behind)


def _append_rounds(bench: Bench, durability: str) -> list[list[float]]:
    """All rounds on one pair of files. A log that still grows is slower to sync than one that is
    written over again, which is the usual case; so the first appends do not count."""
    scale = bench.scale
    base = bench.filled(bench.chat, scale.few)
    appends = scale.settle + scale.rounds * (scale.times + WARM_UP)
    texts = [bench.texts[scale.few + number] for number in range(appends)]
    rows = _rows_of(bench.copy(base), texts)
    ours, raw = bench.copy(base), bench.copy(base)
    with Tract.open(ours, durability=durability) as t:
        with closing(connect(raw, _settings(t))) as connection:
            actions = [_appending(t, texts), _writing(connection, rows)]
            for action in actions:
                for _ in range(scale.settle):
                    action()
            found = [take_turns(actions, scale.times) for _ in range(scale.rounds)]
        with Tract.open(raw) as other:
            assert other.head == t.head, "the plain driver wrote something else"
    return found


class Rows(NamedTuple):
    """What one append writes."""

    blob: Sequence[Any]
    commit: Sequence[Any]
    head: Sequence[Any]


def _rows_of(path: Path, texts: list[str]) -> list[Rows]:
    """The very rows that appending these texts makes."""
    with Tract.open(path, durability="relaxed") as t:
        with t.batch():
            for text in texts:
                t.user(text)
        run = _connection(t).execute
        new = {
            table: run(f"SELECT * FROM {table} ORDER BY id DESC LIMIT ?", (len(texts),)).fetchall()
            for table in ("blobs", "commits")
        }
        sql = "SELECT id, hash, dialog_id FROM commits ORDER BY id DESC LIMIT ?"
        heads = [
            (key, digest, branch_checksum(t.dialog, "main", Head(key, digest)), dialog)
            for key, digest, dialog in run(sql, (len(texts),)).fetchall()
        ]
    return [Rows(*rows) for rows in zip(new["blobs"], new["commits"], heads, strict=True)][::-1]


def _appending(t: Tract, texts: list[str]) -> Callable[[], object]:
    following = iter(texts)
    return lambda: t.user(next(following))


def _writing(connection: Any, rows: list[Rows]) -> Callable[[], object]:
    following = iter(rows)
    put_blob, put_commit = (
        f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})"
        for table, row in (("blobs", rows[0].blob), ("commits", rows[0].commit))
    )
    move = "UPDATE branches SET head_id = ?, commit_hash = ?, checksum = ? WHERE dialog_id = ?"

    def write() -> None:
        blob, commit, head = next(following)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(put_blob, blob)
        connection.execute(put_commit, commit)
        connection.execute(move, head)
        connection.execute("COMMIT")

    return write


# Growth


def append_growth(bench: Bench) -> Result:
    rounds = _growth_rounds(bench, bench.chat, lambda t, numbers: bench.chat(t, next(numbers)))
    large, small = medians(rounds)
    behind = {"append_few_us": small * 1e6, "append_many_us": large * 1e6}
    return Result("append_growth", ratio(rounds), behind)


def turn_growth(bench: Bench) -> Result:
    """The worse of an agent's turn and of a history of user messages only, all of which become one
    message for the provider."""
    growth: Numbers = {}
    behind: Numbers = {}
    for name, fill in {"agent": bench.agent, "users": bench.users}.items():
        rounds = _growth_rounds(bench, fill, _turn(fill))
        large, small = medians(rounds)
        growth[f"turn_growth_{name}"] = ratio(rounds)
        behind |= {f"turn_{name}_few_us": small * 1e6, f"turn_{name}_many_us": large * 1e6}
    return Result("turn_growth", max(growth.values()), growth | behind)


def _turn(fill: Fill) -> Callable[[Tract, Iterator[int]], object]:
    def turn(t: Tract, numbers: Iterator[int]) -> object:
        fill(t, next(numbers))
        fill(t, next(numbers))
        return t.compile().to_anthropic()

    return turn


def edit_turn_growth(bench: Bench) -> Result:
    """A turn after an edit of a message that is a few turns old."""
    rounds = _growth_rounds(bench, bench.agent, _edit_turn(bench))
    large, small = medians(rounds)
    behind = {"edit_turn_few_us": small * 1e6, "edit_turn_many_us": large * 1e6}
    return Result("edit_turn_growth", ratio(rounds), behind)


def _edit_turn(bench: Bench) -> Callable[[Tract, Iterator[int]], object]:
    turn = _turn(bench.agent)

    def edit_turn(t: Tract, numbers: Iterator[int]) -> object:
        results = [i for i in islice(t.log(), 12) if i.role == "tool" and i.operation == "append"]
        old = results[-1]
        t.tool_result(str(old.tool_call_id), "grep", f"edited after {t.head}", edit=old)
        return turn(t, numbers)

    return edit_turn


def record_growth(bench: Bench) -> Result:
    """A client that keeps its own list, and records all of it with one message more."""
    rounds = _growth_rounds(bench, bench.agent, _record())
    large, small = medians(rounds)
    behind = {"record_few_us": small * 1e6, "record_many_us": large * 1e6}
    return Result("record_growth", ratio(rounds), behind)


def _record() -> Callable[[Tract, Iterator[int]], object]:
    kept: dict[Tract, list[Any]] = {}

    def record(t: Tract, numbers: Iterator[int]) -> object:
        if t not in kept:
            kept[t] = json.loads(json.dumps(t.compile().to_openai()))
            t.record(kept[t])
        kept[t].append({"role": "user", "content": f"message {next(numbers)}"})
        return t.record(kept[t])

    return record


def _growth_rounds(
    bench: Bench, fill: Fill, act: Callable[[Tract, Iterator[int]], object]
) -> list[list[float]]:
    """At many commits and at few, in new copies each round, so that few stay few."""
    scale = bench.scale
    bases = [(bench.filled(fill, size), size) for size in (scale.many, scale.few)]
    return [_growth_round(bench, bases, act) for _ in range(scale.rounds)]


def _growth_round(
    bench: Bench,
    bases: list[tuple[Path, int]],
    act: Callable[[Tract, Iterator[int]], object],
) -> list[float]:
    with ExitStack() as stack:
        actions = []
        for base, size in bases:
            t = stack.enter_context(Tract.open(bench.copy(base), durability="relaxed"))
            numbers = count(size)
            actions.append(lambda t=t, numbers=numbers: act(t, numbers))
        return take_turns(actions, bench.scale.times // 2)


# Reading


def cold(bench: Bench) -> Result:
    path = bench.filled(bench.chat, bench.scale.many)
    plain = _plain_copy(bench, path)
    with Tract.open(path) as t:
        settings = _settings(t)
    ways = [lambda: _open_and_compile(path), lambda: _select_and_decode(plain, settings)]
    rounds = [
        [_seconds_to_read(way, bench.scale.many) for way in ways] for _ in range(bench.scale.rounds)
    ]
    ours, raw = medians(rounds)
    return Result("cold_vs_raw", ratio(rounds), {"cold_ms": ours * 1e3, "cold_raw_ms": raw * 1e3})


def _seconds_to_read(read: Callable[[], tuple[Any, list[Any]]], expected: int) -> float:
    """Each starts with a heap that holds nothing of the other."""
    gc.collect()
    seconds, (opened, messages) = timed(read)
    opened.close()
    assert len(messages) == expected
    return seconds


def _open_and_compile(path: Path) -> tuple[Tract, list[Any]]:
    t = Tract.open(path)
    return t, t.compile().messages


def _select_and_decode(path: Path, settings: list[str]) -> tuple[Any, list[Any]]:
    connection = connect(path, settings)
    rows = connection.execute("SELECT message FROM messages ORDER BY id").fetchall()
    return connection, [json.loads(message) for (message,) in rows]


def _plain_copy(bench: Bench, original: Path) -> Path:
    """The same messages in the plainest table."""
    path = bench.new_path()
    with Tract.open(original) as t, closing(connect(path, _settings(t))) as connection:
        connection.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, message TEXT)")
        connection.execute("BEGIN")
        sql = "INSERT INTO messages (message) VALUES (?)"
        rows = [(json.dumps(message),) for message in t.compile().to_dicts()]
        connection.executemany(sql, rows)
        connection.execute("COMMIT")
    return path


LOG = """
import sys
from collections import deque
from benchmarks.measure import extra_memory
from tract import Tract

consume = {"list": list, "iterate": lambda log: deque(log, maxlen=0)}[sys.argv[2]]
with Tract.open(sys.argv[1], durability="relaxed") as t:
    print(extra_memory(lambda: consume(t.log())))
"""


def log_memory(bench: Bench) -> Result:
    path = bench.filled(bench.results, bench.scale.many)
    rounds = [
        [int(in_new_process(LOG, str(path), way)) / 1e6 for way in ("list", "iterate")]
        for _ in range(min(bench.scale.rounds, 5))
    ]
    as_list, iterated = medians(rounds)
    behind = {"log_iterate_rss_mb": iterated, "log_content_mb": bench.scale.many * RESULT / 1e6}
    return Result("log_lazy_rss_mb", as_list, behind)


# Cost


def size(bench: Bench) -> Result:
    path, messages = bench.new_path(), bench.scale.messages
    with Tract.open(path, durability="relaxed") as t:
        for number in range(messages):
            t.user(bench.texts[number])
    stored = sum(file.stat().st_size for file in bench.folder.glob(f"{path.name}*"))
    text = messages * MESSAGE
    return Result("size_vs_text", stored / text, {"size_bytes": stored, "size_text_bytes": text})


def statements(bench: Bench) -> Result:
    path = bench.copy(bench.filled(bench.agent, bench.scale.few))
    with Tract.open(path, durability="relaxed") as t:
        first = t.user("warm")
        t.compile()
        call = {"id": "c1", "name": "grep", "arguments": {"pattern": "x"}}
        appends = [
            _count_statements(t, lambda: t.user("a text")),
            _count_statements(t, lambda: t.assistant("a call", tool_calls=[call])),
            _count_statements(t, lambda: t.tool_result("c1", "grep", "a result")),
        ]
        edit = _count_statements(t, lambda: t.user("another text", edit=first))
    return Result("statements_per_append", max(appends), {"statements_per_edit": edit})


def _count_statements(t: Tract, action: Callable[[], object]) -> int:
    seen: list[str] = []
    connection = _connection(t)
    connection.set_trace_callback(seen.append)
    action()
    connection.set_trace_callback(None)
    return len([sql for sql in seen if not sql.startswith(("BEGIN", "COMMIT", "--"))])


def _connection(t: Tract) -> Any:
    return t.session.store.driver.connection


def _settings(t: Tract) -> list[str]:
    return settings_of(_connection(t))


# Report

MEASURES = (
    append_full,
    append_relaxed,
    append_growth,
    turn_growth,
    edit_turn_growth,
    record_growth,
    cold,
    log_memory,
    size,
)


def run(scale: Scale) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
        bench = Bench(Path(folder), scale)
        for measure in (*MEASURES, statements):
            yield measure(bench)


def main() -> None:
    report("core", __doc__, AT_MOST, lambda quick: run(QUICK if quick else FULL))


if __name__ == "__main__":
    main()
