"""PostgreSQL against its limits: what plain psycopg costs, what SQLite costs, what must not grow.

`python3 dev.py bench postgres [--json] [--quick]`. It starts a server of its own that syncs each
commit. Files are in TMPDIR: on a file system in memory a sync costs nothing, and ratios are worst.
"""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from benchmarks.measure import WARM_UP, Texts, medians, ratio, take_turns, timed
from benchmarks.report import Result, report
from tests.postgres import Server
from tract import Tract
from tract.importers.writer import import_file

AT_MOST = {
    "pg_append_vs_raw": 2.0,
    "pg_batch_growth": 1.2,
    "pg_batch_vs_sqlite": 4,
    "pg_cold_vs_raw": 2.0,
}
AT_LEAST = {"pg_import_vs_sqlite": 0.5}

DURABLE: dict[str, object] = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
SERVER = DURABLE | {"shared_buffers": "128MB", "autovacuum": "on"}
MESSAGE = 200


class Scale(NamedTuple):
    few: int
    many: int
    rounds: int
    times: int
    turns: int


FULL = Scale(few=500, many=10_000, rounds=5, times=100, turns=4_000)
QUICK = Scale(few=20, many=60, rounds=1, times=10, turns=10)


class Bench:
    """A server, and a folder for files beside it."""

    def __init__(self, server: Server, folder: Path, scale: Scale) -> None:
        self._server, self.folder, self.scale = server, folder, scale
        self.texts = Texts(MESSAGE)
        self._names = count(1)

    def new_path(self) -> Path:
        return self.folder / f"{next(self._names)}.db"

    def new_url(self, template: str = "template0") -> str:
        """A new database: an empty one, or a copy of another."""
        name = f"bench{next(self._names)}"
        with psycopg.connect(self._server.url, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return self._server.url.replace("/postgres?", f"/{name}?")

    def copy(self, url: str) -> str:
        return self.new_url(url.rpartition("?")[0].rpartition("/")[2])

    def fill(self, place: str | Path, size: int) -> float:
        """Write messages of both sides in one batch. Returns its seconds."""

        def write() -> None:
            with t.batch():
                for number in range(size):
                    (t.assistant if number % 2 else t.user)(self.texts[number])

        with Tract.open(place, tokens="chars/4") as t:
            return timed(write)[0]

    def filled(self, size: int) -> str:
        url = self.new_url()
        self.fill(url, size)
        return url


# Appends


class Rows(NamedTuple):
    """What one append writes: three new rows, and two that change."""

    blob: Sequence[Any]
    words: Sequence[Any]
    commit: Sequence[Any]
    branch: Sequence[Any]
    dialog: Sequence[Any]


NEW = ("blobs", "content_words", "commits")
CHANGED = {
    "branches": ("head_id", "commit_hash", "checksum", "dialog_id"),
    "dialogs": ("commits", "tokens", "bytes", "updated_at", "total", "id"),
}


def append(bench: Bench) -> Result:
    scale = bench.scale
    base = bench.filled(100)
    texts = [bench.texts[100 + n] for n in range(scale.rounds * (scale.times + WARM_UP))]
    rows = list(_rows_of(bench.copy(base), texts))
    ours, raw = bench.copy(base), bench.copy(base)
    with Tract.open(ours) as t, psycopg.connect(raw, autocommit=True) as connection:
        following = iter(texts)
        actions = [lambda: t.user(next(following)), _writing(connection, rows)]
        rounds = [take_turns(actions, scale.times) for _ in range(scale.rounds)]
        with Tract.open(raw) as other:
            assert other.head == t.head, "the plain driver wrote something else"
    mine, plain = medians(rounds)
    behind = {"pg_append_us": mine * 1e6, "pg_append_raw_us": plain * 1e6}
    return Result("pg_append_vs_raw", ratio(rounds), behind)


def _rows_of(url: str, texts: list[str]) -> Iterator[Rows]:
    """The very rows that appending these texts writes."""
    with Tract.open(url) as t, psycopg.connect(url, autocommit=True) as connection:
        for text in texts:
            t.user(text)
            new = [connection.execute(_newest(table)).fetchone() for table in NEW]
            changed = [
                connection.execute(f"SELECT {', '.join(names)} FROM {table}".encode()).fetchone()
                for table, names in CHANGED.items()
            ]
            yield Rows(*(row or () for row in (*new, *changed)))


def _newest(table: str) -> bytes:
    key = "blob_id" if table == "content_words" else "id"
    return f"SELECT * FROM {table} ORDER BY {key} DESC LIMIT 1".encode()


def _writing(connection: psycopg.Connection, rows: list[Rows]) -> Callable[[], object]:
    following = iter(rows)
    inserts = [
        f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})"
        for table, row in zip(NEW, rows[0], strict=False)
    ]
    updates = [
        f"UPDATE {table} SET {' = %s, '.join(names[:-1])} = %s WHERE {names[-1]} = %s"
        for table, names in CHANGED.items()
    ]
    statements = [sql.encode() for sql in (*inserts, *updates)]

    def write() -> None:
        connection.execute("BEGIN")
        for sql, row in zip(statements, next(following), strict=True):
            connection.execute(sql, row)
        connection.execute("COMMIT")

    return write


# Batches


def batches(bench: Bench) -> Iterator[Result]:
    """Per commit: a long batch, a short one, and a long one in SQLite."""
    few, many = bench.scale.few, bench.scale.many
    bench.fill(bench.new_url(), few)  # warm
    rounds = [_batch_round(bench, few, many) for _ in range(bench.scale.rounds)]
    long, short, sqlite = medians(rounds)
    behind = {"pg_batch_us": long * 1e6, "pg_short_batch_us": short * 1e6}
    yield Result("pg_batch_growth", ratio([each[:2] for each in rounds]), behind)
    pairs = [(each[0], each[2]) for each in rounds]
    yield Result("pg_batch_vs_sqlite", ratio(pairs), {"sqlite_batch_us": sqlite * 1e6})


def _batch_round(bench: Bench, few: int, many: int) -> list[float]:
    work: list[tuple[str | Path, int]] = [
        (bench.new_url(), many),
        (bench.new_url(), few),
        (bench.new_path(), many),
    ]
    return [bench.fill(place, size) / size for place, size in work]


# Reading


def cold(bench: Bench) -> Result:
    url = bench.filled(bench.scale.many)
    with Tract.open(url) as t, psycopg.connect(url) as connection:
        messages = [(json.dumps(message),) for message in t.compile().to_dicts()]
        connection.execute("CREATE TABLE plain (id BIGSERIAL PRIMARY KEY, message TEXT)")
        connection.cursor().executemany("INSERT INTO plain (message) VALUES (%s)", messages)
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")
    reads = [lambda: _compile(url), lambda: _select(url)]
    rounds = [[_seconds(read, len(messages)) for read in reads] for _ in range(bench.scale.rounds)]
    ours, raw = medians(rounds)
    behind = {"pg_cold_ms": ours * 1e3, "pg_cold_raw_ms": raw * 1e3}
    return Result("pg_cold_vs_raw", ratio(rounds), behind)


def _seconds(read: Callable[[], list[Any]], expected: int) -> float:
    gc.collect()
    seconds, messages = timed(read)
    assert len(messages) == expected
    return seconds


def _compile(url: str) -> list[Any]:
    with Tract.open(url) as t:
        return t.compile().messages


def _select(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT message FROM plain ORDER BY id").fetchall()
        return [json.loads(message) for (message,) in rows]


# Imports


def imports(bench: Bench) -> Result:
    path = bench.folder / "session.jsonl"
    lines = import_module("benchmarks.import").session(bench.scale.turns)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    size = path.stat().st_size / 1e6
    rounds = [
        [_imported(path, place) for place in (bench.new_path(), bench.new_url())]
        for _ in range(bench.scale.rounds)
    ]
    sqlite, postgres = medians(rounds)
    behind = {"pg_import_mb_s": size / postgres, "import_mb_s": size / sqlite}
    return Result("pg_import_vs_sqlite", ratio(rounds), behind)


def _imported(path: Path, place: str | Path) -> float:
    with Tract.open(place) as t:
        t.tokens.count("warm up")
        return timed(lambda: import_file(t, path))[0]


# Report


@contextmanager
def _serving() -> Iterator[Server]:
    try:
        with Server() as server:
            server.start(**SERVER)
            yield server
    except pytest.fail.Exception as missing:
        raise SystemExit(f"not measured: {missing}") from None


def run(quick: bool) -> Iterator[Result]:
    scale = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder, _serving() as server:
        bench = Bench(server, Path(folder), scale)
        yield append(bench)
        yield from batches(bench)
        yield cold(bench)
        yield imports(bench)


if __name__ == "__main__":
    report("postgres", __doc__, AT_MOST, run, AT_LEAST)
