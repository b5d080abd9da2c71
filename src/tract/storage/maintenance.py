"""Maintenance of a database: verify, collect garbage, copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from tract.errors import (
    BusyError,
    ConflictError,
    CorruptError,
    DialogNotFoundError,
    DiskError,
    ForgottenError,
    InputError,
    ObjectStoreError,
    StorageError,
)
from tract.hashing import escape
from tract.storage import files
from tract.storage.codec import DAMAGE, FORGOTTEN, IN_OBJECTS
from tract.storage.contents import pull_objects
from tract.storage.dialogs import Totals, bad_dialogs
from tract.storage.driver import PAGE, Driver, marks, pages
from tract.storage.migrations import known_migrations, migrate
from tract.storage.objects import Objects
from tract.storage.rows import as_datetime, now, unescape
from tract.storage.sqlite import Sqlite
from tract.storage.store import Store
from tract.storage.tools import bad_tools, delete_unused_tools
from tract.storage.transactions import snapshot, transaction
from tract.storage.word_index import copy_state

GRACE_SECONDS = 14 * 24 * 3600.0
MOST_SECONDS = 1e11
"""A longer grace period, some 3,000 years, is a mistake."""


class Fsck(msgspec.Struct, frozen=True):
    """How much was verified, and the problems."""

    commits: int
    contents: int
    problems: list[str]

    @property
    def ok(self) -> bool:
        return not self.problems


class Gc(msgspec.Struct, frozen=True):
    """What was removed, or would be."""

    commits: int
    contents: int
    bytes: int
    dry_run: bool
    objects: int = 0
    """Objects that no content needs: those of removed contents, and of commits that failed."""


def fsck(store: Store) -> Fsck:
    """Verify every commit, every content and every reference, in bounded memory. Each check reads
    one state of the database: between two states of a writer, everything would look damaged."""
    counts = {"commits": 0, "contents": 0}
    problems: list[str] = []
    checks: tuple[Callable[[], Iterable[str]], ...] = (
        store.driver.integrity,
        lambda: _bad_commits(store, counts),
        lambda: _bad_contents(store, counts),
        lambda: _dangling_references(store),
        lambda: bad_tools(store.driver),
        lambda: bad_dialogs(store.driver),
        lambda: _bad_branches(store),
        store.grants.problems,
        store.audit.problems,
        store.receipts.problems,
        store.words.problems,
        store.vocabulary.problems,
    )
    for check in checks:
        try:
            with snapshot(store.driver):
                problems += check()
        except (BusyError, ObjectStoreError):
            raise  # it says nothing about what is stored
        except StorageError as error:  # the file is too damaged for this check
            if isinstance(error, DiskError) and not isinstance(error, CorruptError):
                raise
            problems.append(str(error))
        except DAMAGE as error:
            problems.append(f"a row is damaged: {error}")
    return Fsck(problems=problems, **counts)


def _bad_commits(store: Store, counts: dict[str, int]) -> list[str]:
    counts["commits"], problems = store.verify_commits()
    return problems


def _bad_contents(store: Store, counts: dict[str, int]) -> Iterator[str]:
    for (blob_id,) in store.driver.run("SELECT id FROM blobs ORDER BY id"):
        counts["contents"] += 1
        try:
            store.contents.read(blob_id)
            store.contents.gists([blob_id])
        except CorruptError as error:
            yield str(error)
        except ForgottenError:
            continue


def _dangling_references(store: Store) -> list[str]:
    """Branches that point to no commit, and commits without their content."""
    problems = [
        text.format(*map(unescape, row))
        for sql, text in (
            (_DANGLING_BRANCHES, "branch {!r} points to a commit that is not there"),
            (_DANGLING_CHECKOUTS, "dialog {!r} is checked out at a commit that is not there"),
            (_MISSING_BRANCHES, "dialog {!r} is on branch {!r}, which is not there"),
        )
        for row in store.driver.run(sql)
    ]
    lost = store.driver.run(_DANGLING_COMMITS)
    return problems + [f"commit {digest.hex()} has lost its content" for (digest,) in lost]


def _bad_branches(store: Store) -> Iterator[str]:
    for (name,) in store.driver.run("SELECT name FROM dialogs ORDER BY id"):
        try:
            store.branches(unescape(name))
        except CorruptError as error:
            yield str(error)


def gc(store: Store, *, dry_run: bool, grace_seconds: float) -> Gc:
    """Mark and sweep in one transaction. A dry run sweeps too, and rolls back. Objects are deleted
    once no committed row has them: what fails before that leaves them to the next run."""
    if not abs(grace_seconds) <= MOST_SECONDS:
        raise InputError(f"a grace period is a number of seconds, not {grace_seconds}")
    run, newest = store.driver.run, now() - int(grace_seconds * 1e6)
    listed = {entry.digest: entry.last_modified for entry in store.objects or ()}
    with store.writing(alone=True):
        run("SAVEPOINT sweep")
        doomed = _unreachable(store, newest)
        if not dry_run:
            _discount(store, doomed)
        _delete_commits(store, doomed)
        delete_unused_tools(store.driver)
        contents, size = _delete_contents(store)
        unused = _unused_objects(store, listed, newest)
        run("ROLLBACK TO sweep" if dry_run else "RELEASE sweep")
    if not dry_run:
        store.delete_objects(unused)
    return Gc(len(doomed), contents, size, dry_run, len(unused))


def _unused_objects(store: Store, listed: dict[bytes, datetime], newest: int) -> list[bytes]:
    """The old objects that no content has. A content that has lost its object could be one whose
    hash was altered: then no object is deleted."""
    if store.objects is None:
        return []
    stored = {digest for (digest,) in store.driver.run(_STORED)}
    own = {digest for (digest,) in store.driver.run(_IN_OBJECTS)}
    lost = [digest for digest in own - listed.keys() if not store.objects.has(digest)]
    if lost:
        raise CorruptError(
            f"{len(lost)} contents have lost their objects in {store.objects.place}, such as "
            f"{min(lost).hex()}: nothing was removed; put them back, or forget these contents"
        )
    limit = as_datetime(newest)
    return [digest for digest, at in listed.items() if at < limit and digest not in stored]


def _unreachable(store: Store, newest: int) -> list[int]:
    """Commits that are no ancestor of a branch or of a new commit."""
    run = store.driver.run
    parents: dict[int, int | None] = {}
    heads = run("SELECT head_id FROM branches UNION SELECT detached_id FROM dialogs")
    roots = [commit_id for (commit_id,) in heads]
    for commit_id, parent_id, created_at in run("SELECT id, parent_id, created_at FROM commits"):
        parents[commit_id] = parent_id
        if created_at > newest:
            roots.append(commit_id)
    for root in roots:
        while root in parents:
            root = parents.pop(root)
    return list(parents)


def _discount(store: Store, doomed: Sequence[int]) -> None:
    """Take commits out of the totals of their dialogs."""
    for page in pages(doomed):
        for dialog_id, *counts in store.driver.run(_TOTALS.format(marks(page)), page):
            store.dialogs.add(dialog_id, Totals(0, *(-int(number) for number in counts)))


def _delete_commits(store: Store, doomed: Sequence[int]) -> None:
    for page in pages(doomed):
        store.driver.run(f"DELETE FROM commit_links WHERE commit_id IN {marks(page)}", page)
        store.driver.run(f"DELETE FROM commits WHERE id IN {marks(page)}", page)


def _delete_contents(store: Store) -> tuple[int, int]:
    """Delete the contents that no commit refers to; their number and their bytes."""
    run = store.driver.run
    unused = "NOT IN (SELECT blob_id FROM commits WHERE blob_id IS NOT NULL)"
    rows = run(f"SELECT id, json_size FROM blobs WHERE id {unused}")
    store.words.remove([blob_id for blob_id, _ in rows])
    run(f"DELETE FROM chunks WHERE blob_id {unused}")
    run(f"DELETE FROM blobs WHERE id {unused}")
    run(_DELETE_ERASED)
    return len(rows), sum(size for _, size in rows)


def delete_dialog(store: Store, name: str) -> None:
    run = store.driver.run
    with store.writing(alone=True):
        rows = run("SELECT id FROM dialogs WHERE name = ?", (escape(name),))
        if not rows:
            raise DialogNotFoundError(f"no dialog {name!r} in this database")
        dialog_id = rows[0][0]
        ids = [row[0] for row in run("SELECT id FROM commits WHERE dialog_id = ?", (dialog_id,))]
        _delete_commits(store, ids)
        run("DELETE FROM branches WHERE dialog_id = ?", (dialog_id,))
        run("DELETE FROM dialogs WHERE id = ?", (dialog_id,))
        store.dialogs.changes.created -= 1
        delete_unused_tools(store.driver)
        _delete_contents(store)


def backup(store: Store, path: str) -> None:
    """A consistent copy as a SQLite file, whatever the database is, with all contents in it. It has
    its name once it is complete; what an attempt that was killed has left is removed."""
    target = files.absolute(path)
    if files.identity(target) is not None:
        raise ConflictError(f"{path} exists already")
    for rest in files.abandoned_parts(target):
        files.remove(rest)
    part = files.new_part(target)
    try:
        if isinstance(store.driver, Sqlite):
            store.driver.backup(part)
        else:
            _copy(store.driver, part)
        _complete(part, store.objects)
        files.publish(part, target)
    except FileExistsError:
        raise ConflictError(f"{path} exists already") from None
    finally:
        files.remove(part)


def _complete(path: str, objects: Objects | None) -> None:
    """Have a copy need no object of the original, and share no folder of objects with it."""
    copy = Sqlite(path, "full")
    try:
        with transaction(copy):
            pull_objects(copy, objects)
            copy.run(copy.translate("UPDATE tract_schema SET identity = {random}"))
    finally:
        copy.close()


def _copy(source: Driver, path: str) -> None:
    target = Sqlite(path, "full")
    try:
        migrate(target, known_migrations())
        target.begin()
        with source.lock:
            source.begin_snapshot()
            try:
                for table, keys in _KEYS.items():
                    _copy_table(source, target, table, keys)
                for number in source.run("SELECT dialogs FROM tract_schema"):
                    target.run("UPDATE tract_schema SET dialogs = ?", number)
                copy_state(source, target)
            finally:
                source.rollback()
        target.commit()
    finally:
        target.close()


def _copy_table(source: Driver, target: Driver, table: str, keys: tuple[str, ...]) -> None:
    """The two have the same columns, but perhaps not in the same order. The keys come first."""
    named = target.run("SELECT name FROM pragma_table_info(?)", (table,))
    columns, order = ", ".join(name for (name,) in named), ", ".join(keys)
    after = f"({order}) > ({', '.join('?' * len(keys))})"
    sql = f"SELECT {columns} FROM {table} WHERE {after} ORDER BY {order} LIMIT {PAGE}"
    last: Sequence[object] = [_LEAST.get(key, -1) for key in keys]
    while rows := source.run(sql, last):
        target.insert_rows(table, rows)
        last = rows[-1][: len(keys)]


_DANGLING_BRANCHES = """
SELECT r.name FROM branches r LEFT JOIN commits c
    ON c.id = r.head_id AND c.hash = r.commit_hash AND c.dialog_id = r.dialog_id
WHERE (r.head_id IS NOT NULL OR r.commit_hash IS NOT NULL) AND c.id IS NULL"""

_DANGLING_CHECKOUTS = """
SELECT d.name FROM dialogs d LEFT JOIN commits c
    ON c.id = d.detached_id AND c.hash = d.detached_hash AND c.dialog_id = d.id
WHERE (d.detached_id IS NOT NULL OR d.detached_hash IS NOT NULL) AND c.id IS NULL"""

_MISSING_BRANCHES = """
SELECT d.name, d.branch FROM dialogs d
LEFT JOIN branches r ON r.dialog_id = d.id AND r.name = d.branch WHERE r.name IS NULL"""

_DANGLING_COMMITS = """
SELECT c.hash FROM commits c LEFT JOIN blobs b ON b.id = c.blob_id
WHERE c.blob_id IS NOT NULL AND b.id IS NULL"""

_TOTALS = """
SELECT c.dialog_id, count(*), coalesce(sum(b.token_count), 0), coalesce(sum(b.text_size), 0),
    sum(c.is_error)
FROM commits c LEFT JOIN blobs b ON b.id = c.blob_id WHERE c.id IN {} GROUP BY c.dialog_id"""

_STORED = f"SELECT hash FROM blobs WHERE codec <> {FORGOTTEN}"
_IN_OBJECTS = f"SELECT hash FROM blobs WHERE codec IN {IN_OBJECTS}"

_DELETE_ERASED = """
DELETE FROM erased WHERE hash NOT IN (
    SELECT hash FROM commits UNION SELECT hash FROM tool_definitions)"""

_KEYS: dict[str, tuple[str, ...]] = {
    "dialogs": ("id",),
    "blobs": ("id",),
    "chunks": ("blob_id", "position"),
    "commits": ("id",),
    "commit_links": ("commit_id", "position"),
    "tool_definitions": ("id",),
    "toolsets": ("id",),
    "toolset_members": ("toolset_id", "position"),
    "branches": ("dialog_id", "name"),
    "erased": ("hash", "left_hash"),
    "grants": ("id",),
    "audit": ("id",),
    "receipts": ("who", "key_hash"),
}

_LEAST: dict[str, object] = {
    **dict.fromkeys(("name", "who"), ""),
    **dict.fromkeys(("hash", "left_hash", "key_hash"), b""),
}
"""What is before every key of this name; before a number, -1."""
