"""Flipped bits: every way to read returns what was written, or a typed error; nothing hangs."""

from __future__ import annotations

import itertools
import random
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.harness import Known, execute, in_time, is_postgres, look, same, wrong
from tests.toolkit import tool
from tract import CommitInfo, NotFoundError, Priority, StorageError, ToolCall, Tract, TractError
from tract.model import Json
from tract.storage.sqlite import Sqlite, binding

FILE_FLIPS, LARGE_FLIPS, VALUE_FLIPS, POSTGRES_FLIPS = 7_200, 300, 2_000, 500
"""Together 10,000. Each looks at a dialog in more than a hundred ways."""
GREP = tool("grep", pattern="string")
NAMES = {
    *("dialogs.id", "dialogs.name", "branches.dialog_id", "branches.name"),
    *("commits.dialog_id", "commits.hash"),
}
"""The columns by which something is looked for: where one is wrong, it may not be found."""

Flip = tuple[str, str]
"""The database with one wrong bit, and which."""


def fill(db: str) -> None:
    """A small database in which every table says something: a random bit is often one that
    matters."""
    with Tract.open(db) as t:
        first = t.system("be brief", message="why", metadata={"k": ["v", 1, None]})
        t.set_tools([GREP, tool("read", path="string")])
        results: list[CommitInfo] = []
        for number in range(4):
            t.user(f"look at {number}", generation_config={"model": "m", "temperature": 0.5})
            usage: dict[str, Json] = {"input_tokens": 70 + number, "output_tokens": 9}
            call = ToolCall(f"c{number}", "grep", {"pattern": f"line {number}"})
            t.assistant("I look", tool_calls=[call], usage=usage, generation_config={"model": "m"})
            lines = "\n".join(f"line {number * line} of a result" for line in range(100))
            results.append(t.tool_result(f"c{number}", "grep", lines, is_error=number == 2))
        t.assistant(tool_calls=[ToolCall("j", "read")])
        t.tool_result("j", "read", {"items": [{"name": "line", "size": 7}] * 3})
        t.reshape({results[0].commit_hash: "collapsed", results[1].commit_hash: "reference"})
        t.compress([t.find_tool_calls()[3], results[3]], content="four was looked at")
        t.user("be very brief", edit=t.user("be"), tools=[tool("read")])
        t.user("and so on", tools=[tool("ls"), GREP])
        t.annotate(first, Priority.PINNED)
        t.user("my key is k-123", metadata={"seen": "k-123 and more"})
        t.forget(text="k-123")
        t.branch("old", at=first)
    with Tract.open(db, dialog="other") as t:
        t.user("elsewhere")


def add_large(db: str) -> None:
    """A result that is stored in chunks, and read in parts."""
    with Tract.open(db) as t:
        t.assistant(tool_calls=[ToolCall("large", "read")])
        t.tool_result("large", "read", ("of a large file " * 16 + "\n") * 5_000, form="reference")


# Where the bits are


def file_flips(path: Path, number: int, seed: int) -> Iterator[Flip]:
    """Copies of a SQLite file, mostly with a wrong bit where something is written."""
    data, dice, copy = path.read_bytes(), random.Random(seed), path.with_name("copy.db")
    for _ in range(number):
        place = dice.randrange(len(data))
        while not data[place] and dice.random() < 0.9:
            place = dice.randrange(len(data))
        bit = 1 << dice.randrange(8)
        copy.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
        yield str(copy), f"byte {place}, bit {bit}, in {data[place - 20 : place + 20]!r}"


def value_flips(db: str, number: int, seed: int) -> Iterator[Flip]:
    """The database with a wrong bit in one column of one row, and then the next."""
    dice, row_id = random.Random(seed), "ctid" if is_postgres(db) else "rowid"
    places = list(columns(db))
    made = 0
    while made < number:
        table, column = dice.choice(places)
        where = f"WHERE {column} IS NOT NULL ORDER BY 2"
        rows = execute(db, f"SELECT {row_id}, {column} FROM {table} {where}")
        if not rows:
            continue
        row, value = dice.choice(rows)
        wrong_value = flipped(value, dice)
        update = f"UPDATE {table} SET {column} = ? WHERE {row_id} = ? RETURNING {row_id}"
        try:
            [(damaged,)] = execute(db, update, (wrong_value, row))
        except (psycopg.errors.UniqueViolation, binding.IntegrityError):
            continue
        made += 1
        yield db, f"{table}.{column}: {value!r:.60} → {wrong_value!r:.60}"
        execute(db, update, (value, damaged))


def columns(db: str) -> Iterator[tuple[str, str]]:
    """Each column of each table."""
    if is_postgres(db):
        sql = """SELECT c.table_name, c.column_name FROM information_schema.columns c
            JOIN information_schema.tables t USING (table_schema, table_name)
            WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1, 2"""
    else:
        sql = """SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c
            WHERE t.type IN ('table', 'shadow') AND NOT t.wr AND t.name NOT LIKE 'sqlite%'
            ORDER BY 1, 2"""
    yield from ((table, column) for table, column in execute(db, sql))


def flipped(value: Any, dice: random.Random) -> Any:
    if isinstance(value, int):
        return value ^ 1 << dice.randrange(value.bit_length() + 1)
    data = value.encode("ascii") if isinstance(value, str) else value
    place = dice.randrange(len(data)) if data else 0
    other = data[:place] + bytes([(data or b"\1")[place] ^ 1 << dice.randrange(7)])
    other += data[place + 1 :]
    return other.decode("ascii").replace("\0", "\1") if isinstance(value, str) else other


# What is seen of them


def check_flips(db: str, flips: Iterable[Flip]) -> tuple[int, int]:
    """Look at everything after each flip, and see that nothing wrong is shown. How many there
    were, and how many of them were noticed."""
    with Tract.open(db) as t:
        known = Known.of(t)
        before = look(t, known)
    number = noticed = 0
    for place, flip in flips:
        number += 1
        with in_time():
            noticed += check_flip(place, flip, known, before)
    return number, noticed


def check_flip(db: str, flip: str, known: Known, before: dict[str, object]) -> bool:
    try:
        t = Tract.open(db, create=False)
    except TractError:
        return True
    with t:
        interrupt_after(t, 100_000_000)
        now = look(t, known)
        assert not any("interrupted" in str(shown) for shown in now.values()), flip
        assert wrong(before, now) == {}, flip
        if is_value(flip) and flip.split(":", maxsplit=1)[0] not in NAMES:
            assert not any(isinstance(shown, NotFoundError) for shown in new(before, now)), flip
        is_fine = is_said_to_be_fine(t)
        if all(same(shown, before[name]) for name, shown in now.items()):
            return False
        assert not is_fine, flip
        return True


def is_value(flip: str) -> bool:
    return not flip.startswith("byte")


def new(before: dict[str, object], now: dict[str, object]) -> list[object]:
    return [shown for name, shown in now.items() if not same(shown, before[name])]


def interrupt_after(t: Tract, steps: int) -> None:
    """End a query that would not end by itself: it is counted what SQLite's machine does."""
    driver, made = t.session.store.driver, itertools.count()
    if isinstance(driver, Sqlite):
        driver.connection.set_progress_handler(lambda: next(made) > steps // 100_000, 100_000)


def is_said_to_be_fine(t: Tract) -> bool:
    try:
        return t.fsck().ok
    except TractError:
        return False


def sizes(short: int, number: int) -> pytest.MarkDecorator:
    long = pytest.param(number, marks=pytest.mark.long, id="long")
    return pytest.mark.parametrize("number", [pytest.param(short, id="short"), long])


@sizes(25, FILE_FLIPS)
def test_a_flipped_bit_of_a_file_is_never_returned(scratch: Path, number: int) -> None:
    path = scratch / "t.db"
    fill(str(path))
    made, noticed = check_flips(str(path), file_flips(path, number, 1))
    assert made == number
    assert noticed > number // 5  # most of a small file is room that nothing uses


@pytest.mark.long
def test_a_flipped_bit_of_a_large_content_is_never_returned(scratch: Path) -> None:
    path = scratch / "t.db"
    fill(str(path))
    add_large(str(path))
    made, noticed = check_flips(str(path), file_flips(path, LARGE_FLIPS, 2))
    assert made == LARGE_FLIPS
    assert noticed > LARGE_FLIPS // 4


@sizes(25, VALUE_FLIPS)
def test_a_flipped_bit_of_a_value_is_never_returned(scratch: Path, number: int) -> None:
    db = str(scratch / "t.db")
    fill(db)
    made, noticed = check_flips(db, value_flips(db, number, 3))
    assert made == number
    assert noticed > number // 2


@sizes(8, POSTGRES_FLIPS)
def test_a_flipped_bit_of_a_value_in_postgres_is_never_returned(pg_url: str, number: int) -> None:
    fill(pg_url)
    made, noticed = check_flips(pg_url, value_flips(pg_url, number, 4))
    assert made == number
    assert noticed > number // 2


def test_truncated_file(scratch: Path) -> None:
    path = scratch / "t.db"
    fill(str(path))
    data = path.read_bytes()
    with Tract.open(path) as t:
        known = Known.of(t)
        before = look(t, known)
    for size in (100, 5000, len(data) // 2, len(data) - 4096, len(data) - 1):
        copy = path.with_name("copy.db")
        copy.write_bytes(data[:size])
        try:
            t = Tract.open(copy, create=False)
        except StorageError:
            continue
        with t:
            now = look(t, known)
            assert wrong(before, now) == {}
            assert not is_said_to_be_fine(t)


# The log of SQLite


@sizes(10, 300)
def test_a_flipped_bit_of_the_log_leaves_a_beginning_of_the_history(
    scratch: Path, number: int
) -> None:
    """SQLite ignores its log from the first wrong checksum on: what is lost is its end."""
    path, copy, dice = scratch / "t.db", scratch / "copy.db", random.Random(5)
    with Tract.open(path) as t:
        for text in range(20):
            t.user(f"{text} " * 40)
        log = [info.commit_hash for info in t.log()][::-1]
        # Another process reads the files: to close them here would break the locks on them.
        subprocess.run(["cp", path, scratch / "kept.db"], check=True)
        subprocess.run(["cp", f"{path}-wal", scratch / "kept.db-wal"], check=True)
    data, wal = (scratch / "kept.db").read_bytes(), (scratch / "kept.db-wal").read_bytes()
    lengths = []
    for _ in range(number):
        place = dice.randrange(len(wal))
        bit = 1 << dice.randrange(8)
        copy.write_bytes(data)
        flipped_wal = wal[:place] + bytes([wal[place] ^ bit]) + wal[place + 1 :]
        Path(f"{copy}-wal").write_bytes(flipped_wal)
        lengths.append(length_of_beginning(copy, log))
        for rest in scratch.glob("copy.db*"):
            rest.unlink()
    assert len(set(lengths)) > 1


def length_of_beginning(path: Path, log: list[str]) -> int:
    """How much of a history is there, which must be its beginning."""
    try:
        t = Tract.open(path, create=False)
    except (StorageError, NotFoundError):  # even the tables are only in the log
        return 0
    with t:
        rest = [info.commit_hash for info in t.log()][::-1]
        assert rest == log[: len(rest)]
        assert len(t.compile().messages) == len(rest)
        assert t.fsck().problems == []
        return len(rest)
