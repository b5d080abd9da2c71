"""Dialogs: their names, what is checked out in them, their settings and their totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import mul
from typing import Any, NamedTuple

import msgspec

from tract.errors import CorruptError
from tract.hashing import Json
from tract.model import EMPTY, DialogFacts, DialogInfo, Head
from tract.storage.codec import DAMAGE, seal, unseal
from tract.storage.driver import Driver, Row
from tract.storage.rows import (
    Written,
    as_datetime,
    branch_checksum,
    now,
    stored_name,
    text_sum,
    unescape,
)

SETTINGS = ("result_settings", "summarization", "facts")
"""What a dialog is configured by, and what is known about it: columns of its row."""


class Totals(NamedTuple):
    """What a dialog has, in all of its branches; or what is added to that."""

    branches: int = 0
    commits: int = 0
    tokens: int = 0
    bytes: int = 0
    errors: int = 0


class _Row(NamedTuple):
    """Columns of a row of `dialogs` that are added to."""

    branches: int = 0
    commits: int = 0
    tokens: int = 0
    bytes: int = 0
    errors: int = 0
    updated_at: int = 0
    created_at: int = 0

    @property
    def total(self) -> int:
        """A checksum that grows as they do: no row has to be read to add to it, and no flipped bit
        of any of them leaves it right."""
        return _weigh(self)


_WEIGHTS = (3, 5, 7, 11, 13, 17, 19)


def _weigh(columns: Sequence[int]) -> int:
    return sum(map(mul, _WEIGHTS, columns))


_NOTHING = Totals()
_COUNTED = _Row._fields[1:6]  # also columns of `branches`: with those, `total` covers them
_WEIGHED = " + ".join(
    f"{weight} * {name}" for weight, name in zip(_WEIGHTS[1:6], _COUNTED, strict=True)
)


class DialogRow(NamedTuple):
    """Columns of a row of `dialogs` that its checksum covers, with its name."""

    branch: str
    detached_id: int | None = None
    detached_hash: bytes | None = None
    result_settings: str | None = None
    summarization: str | None = None
    facts: str | None = None


DIALOG_COLUMNS = ", ".join(DialogRow._fields)
_SEALED = len(DialogRow._fields) + 1  # columns, with their checksum


class Locked(msgspec.Struct, frozen=True):
    """A branch that a transaction has locked: no one else moves it until that ends."""

    dialog_id: int
    erasures: int
    result_settings: str | None
    stored: Head
    """Where the database has it."""
    head: Head
    """Where it stands."""

    def at(self, head: Head) -> Locked:
        """The same at another commit."""
        return Locked(self.dialog_id, self.erasures, self.result_settings, self.stored, head)

    def settled(self) -> Locked:
        """The same once the database has it there."""
        return Locked(self.dialog_id, self.erasures, self.result_settings, self.head, self.head)


class Changes(msgspec.Struct):
    """What a transaction counts and moves, and writes when it ends: until then, no other writer
    waits for totals, and a branch that many commits move is written once."""

    newest: int | None = None
    """The commit that it has written last: nothing can follow it yet."""
    branches: dict[tuple[str, str], Locked] = {}
    """The branches that it has locked, by the names of dialog and branch as they are stored."""
    toolsets: dict[bytes, int] = {}
    """The keys of toolsets that are stored with all of their definitions, by hash."""
    written: dict[Head, tuple[Head, Written]] = {}
    """What it appends, each with what it follows: this need not be read again. Of many commits only
    the first ones."""
    added: dict[int, tuple[Totals, int | None]] = {}
    """What it adds to the totals of dialogs, by key, and the last time."""
    created: int = 0
    """How many dialogs it adds."""
    erasures: int | None = None
    """The number by which others notice that it erases something, or brings it back."""

    def copy(self) -> Changes:
        toolsets, written = self.toolsets.copy(), self.written.copy()
        parts = self.branches.copy(), toolsets, written, self.added.copy()
        return Changes(self.newest, *parts, self.created, self.erasures)


class Dialogs:
    """The dialogs of a database. They are looked up by name every time: one that was deleted and
    created again has another key."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._run = driver, driver.run
        self._lock_row = driver.translate(_LOCK_ROW)
        self._are_verified = False
        self.changes = Changes()

    def has(self, name: str) -> bool:
        stored = (stored_name(name),)
        if self._run(_HAS, stored):
            return True
        # To miss a dialog because its entry in the index is damaged is to start an empty one.
        if self._run(_HAS_IN_TABLE, stored) and not self._run(_HAS, stored):
            raise CorruptError(f"the index of dialogs is damaged: it does not have {name!r}")
        self._verify_names()
        return bool(self._run(_HAS, stored))

    def _verify_names(self) -> None:
        """A dialog whose name was altered must not be missed either. Once, because it reads all of
        them: an import creates thousands."""
        if not self._are_verified:
            for name, *rest in self._rows():
                verified(name, rest[:_SEALED])
            self._are_verified = True

    def create(self, name: str, branch: str) -> None:
        """A dialog with its first, empty branch, unless another writer was faster."""
        names, created_at = (stored_name(name), stored_name(branch)), now()
        total = _Row(created_at=created_at).total
        values = (*names, created_at, text_sum(names[0], *DialogRow(names[1])), total)
        self.changes.created += len(self._run(_CREATE, values))
        for (dialog_id,) in self._run(_CREATE_BRANCH, (*names, branch_checksum(*names, EMPTY))):
            self.add(dialog_id, Totals(branches=1))

    # Totals

    def add(self, dialog_id: int, more: Totals, at: int | None = None) -> None:
        """Add to the totals of a dialog when the transaction ends."""
        added = self.changes.added
        if dialog_id in added:
            known, last = added[dialog_id]
            more = Totals._make(map(int.__add__, known, more))
            at = max(at or 0, last or 0) or None
        added[dialog_id] = more, at

    def flush(self) -> dict[tuple[str, str], Locked]:
        """Write where branches stand and what was counted. A branch that is moved counts for its
        dialog, so that one row is written, and writers on two branches do not wait for each other.
        What is left is written in one order, or two writers could wait for each other for ever:
        dialogs by key, then the one row of `tract_schema`. Returns the branches as that leaves
        them."""
        changes = self.changes
        branches, added = changes.branches, changes.added
        for names, branch in branches.items():
            if branch.head != branch.stored:
                more, at = added.pop(branch.dialog_id, (_NOTHING, None))
                if more.branches:
                    added[branch.dialog_id] = Totals(more.branches), None
                self.move_branch(branch.dialog_id, names, branch.stored, branch.head, more, at)
                branches[names] = branch.settled()
        for dialog_id, (more, at) in sorted(added.items()):
            self._driver.change(_ADD, (*more, at, at, _weigh(more), at, at, dialog_id))
        if changes.created or changes.erasures:
            self._run(_COUNT, (changes.created, changes.erasures))
        self.changes = Changes()
        return branches

    def move_branch(
        self,
        dialog_id: int,
        names: tuple[str, str],
        old: Head,
        new: Head,
        more: Totals = _NOTHING,
        at: int | None = None,
    ) -> None:
        """Compare and swap: a writer that read the head before the transaction cannot overwrite it,
        and no commit follows a head that the branch does not have."""
        _, *counts = more  # the dialog counts its branches
        sums = branch_checksum(*names, new), *counts, at, _weigh((0, *counts)), at
        if not self._driver.change(MOVE_BRANCH, (*new, *sums, dialog_id, names[1], old.id or 0)):
            raise CorruptError(f"branch {names[1]!r:.80} has moved, or points to a wrong commit")

    def delete_branch(self, dialog: str, name: str) -> None:
        """Delete a branch. Its commits stay, so the dialog counts them from now on."""
        names = stored_name(dialog), stored_name(name)
        for dialog_id, *counts, updated_at, total in self._run(_DELETE_BRANCH, names):
            if _weigh((0, *counts, updated_at)) != total:
                raise CorruptError(f"branch {name!r:.80}: its totals were altered")
            self.changes.branches.pop(names, None)
            self.add(dialog_id, Totals(-1, *counts), updated_at)

    def settle(self) -> None:
        """Write branches and totals before they are read in the same transaction."""
        with self._driver.lock:
            if self._driver.depth:
                self.flush()

    def infos(self) -> list[DialogInfo]:
        self.settle()
        return [_info(row) for row in self._rows()]

    def _rows(self) -> list[Row]:
        """The rows of all dialogs; a damaged file may hide one."""
        with self._driver.lock:
            rows, created = self._run(_DIALOGS), self.changes.created
        if not rows:
            raise CorruptError("the row of tract_schema is missing")
        named = [row[1:] for row in rows if row[1] is not None]
        known, number = len(named) - created, rows[0][0]
        if known != number:
            raise CorruptError(
                f"{known} of {number} dialogs are readable: the table or its index is damaged"
            )
        return named

    # One dialog

    def checked_out(self, name: str) -> tuple[str, Head | None] | None:
        """The branch that is checked out, and the commit if HEAD is detached."""
        for own in self._read(name, _ROW):
            head = Head(own.detached_id, own.detached_hash)
            return unescape(own.branch), None if head == EMPTY else head
        return None

    def check_out(self, name: str, branch: str, detached: Head | None) -> None:
        commit_id, digest = detached or EMPTY
        self._change(name, branch=stored_name(branch), detached_id=commit_id, detached_hash=digest)

    def is_whole(self, name: str) -> bool:
        """Whether the row of a dialog is as it was written."""
        try:
            return bool(list(self._read(name, _ROW)))
        except (CorruptError, *DAMAGE):
            return False

    def settings(self, name: str, kind: str) -> Json:
        """The value of one of the SETTINGS of a dialog; None if it is not set."""
        for own in self._read(name, _ROW):
            stored = own._asdict()[kind]
            return None if stored is None else unseal(stored)
        return None

    def set_settings(self, name: str, kind: str, settings: Json) -> None:
        self._change(name, **{kind: seal(settings)})

    def _change(self, name: str, **columns: Any) -> None:
        """Change columns of a row. Runs inside a transaction, which locks the row: another writer
        would seal what it has read before."""
        stored = stored_name(name)
        for own in self._read(name, self._lock_row):
            new = own._replace(**columns)
            self._run(_CHANGE, (*new, text_sum(stored, *new), stored))
            locked = self.changes.branches
            for names in locked:
                if names[0] == stored:
                    settings = new.result_settings
                    locked[names] = msgspec.structs.replace(locked[names], result_settings=settings)

    def _read(self, name: str, sql: str) -> Iterator[DialogRow]:
        """The row of a dialog, verified; none if it is not there."""
        stored = stored_name(name)
        for columns in self._run(sql, (stored,)):
            yield verified(stored, columns)


def verified(name: str, columns: Sequence[Any]) -> DialogRow:
    """What a dialog has in these columns, of which the last is the checksum."""
    *values, checksum = columns
    row = DialogRow(*values)
    if text_sum(name, *row) != checksum:
        raise CorruptError(
            f"dialog {name!r:.80}: its name, its settings or what is checked out was altered"
        )
    return row


def _info(row: Row) -> DialogInfo:
    name, *rest = row
    stored, in_branches = rest[_SEALED:-_SUMMED], rest[-_SUMMED:]
    try:
        own = verified(name, rest[:_SEALED])
        counts = _Row(*stored[:-1])
        if counts.total != stored[-1]:
            raise CorruptError(f"dialog {name!r:.80}: its totals or times were altered")
        totals, updated_at = _with_branches(name, counts, in_branches)
        created_at = counts.created_at
        times = as_datetime(created_at), as_datetime(updated_at) if updated_at else None
        facts = {} if own.facts is None else unseal(own.facts)
        about = msgspec.convert(facts, DialogFacts)
        return DialogInfo(unescape(name), unescape(own.branch), *totals, *times, about)
    except (*DAMAGE, msgspec.ValidationError) as error:
        raise CorruptError(f"a row of dialogs is damaged: {error}") from error


def _with_branches(name: str, own: _Row, in_branches: Sequence[Any]) -> tuple[Totals, int]:
    """The totals of a dialog and its last time, from its row and the sums of its branches."""
    branches, *sums, updated_at, damaged = (int(number or 0) for number in in_branches)
    if branches != own.branches:
        raise CorruptError(f"dialog {name!r:.80} has {own.branches} branches, not {branches}")
    if damaged:
        raise CorruptError(f"dialog {name!r:.80}: the totals of a branch were altered")
    added = map(int.__add__, own[1:5], sums)
    return Totals(branches, *added), max(own.updated_at, updated_at)


def seal_dialogs(driver: Driver) -> None:
    """Add the checksums and the totals of dialogs that were written without them."""
    rows = driver.run("SELECT id, created_at FROM dialogs")
    counts = {row[0]: row[2:] for row in driver.run(_COUNTS)}
    for dialog_id, created_at in rows:
        *parts, updated_at = map(int, counts[dialog_id])
        totals = Totals._make(parts)
        total = _Row(*totals, updated_at, created_at).total
        driver.run(_SEAL, (*totals, updated_at, total, dialog_id))
        seal_names(driver, dialog_id)
    driver.run("UPDATE tract_schema SET dialogs = ?", (len(rows),))


def seal_settings(driver: Driver) -> None:
    """Have the checksums of dialogs cover their settings. One that is wrong stays wrong."""
    for dialog_id, name, *columns, checksum in driver.run(
        f"SELECT id, name, {DIALOG_COLUMNS}, checksum FROM dialogs"
    ):
        own = DialogRow(*columns)
        if text_sum(name, *own[:3]) == checksum:
            values = text_sum(name, *own), dialog_id
            driver.run("UPDATE dialogs SET checksum = ? WHERE id = ?", values)


def seal_names(driver: Driver, dialog_id: int) -> None:
    """Write the checksums of a dialog and of its branches, which have new names."""
    [(dialog, *columns)] = driver.run(
        f"SELECT name, {DIALOG_COLUMNS} FROM dialogs WHERE id = ?", (dialog_id,)
    )
    checksum = text_sum(dialog, *columns)
    driver.run("UPDATE dialogs SET checksum = ? WHERE id = ?", (checksum, dialog_id))
    sql = "SELECT name, head_id, commit_hash FROM branches WHERE dialog_id = ?"
    for name, *head in driver.run(sql, (dialog_id,)):
        sql = "UPDATE branches SET checksum = ? WHERE dialog_id = ? AND name = ?"
        driver.run(sql, (branch_checksum(dialog, name, Head(*head)), dialog_id, name))


def bad_dialogs(driver: Driver) -> list[str]:
    """The problems of dialogs: rows that were altered, and totals that are not what is there."""
    counts = {row[1]: row[2:-1] for row in driver.run(_COUNTS)}
    problems = []
    for info in Dialogs(driver).infos():
        stored = info.branches, info.commits, info.tokens, info.bytes, info.errors
        actual = [int(count) for count in counts.get(stored_name(info.dialog), (0,) * 5)]
        if list(stored) != actual:
            problems.append(
                f"dialog {info.dialog!r}: stored totals {list(stored)}, actual totals {actual}"
            )
    return problems


_HAS = "SELECT 1 FROM dialogs WHERE name = ?"
_HAS_IN_TABLE = "SELECT created_at FROM dialogs WHERE name || '' = ?"

_CREATE = """
INSERT INTO dialogs (name, branch, created_at, checksum, total) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING id"""

_CREATE_BRANCH = """
INSERT INTO branches (dialog_id, name, checksum)
VALUES ((SELECT id FROM dialogs WHERE name = ?), ?, ?) ON CONFLICT DO NOTHING RETURNING dialog_id"""

MOVE_BRANCH = f"""
UPDATE branches SET head_id = ?, commit_hash = ?, checksum = ?,
    commits = commits + ?, tokens = tokens + ?, bytes = bytes + ?, errors = errors + ?,
    updated_at = coalesce(?, updated_at),
    total = total + ? + {_WEIGHTS[5]} * (coalesce(?, updated_at) - updated_at)
WHERE dialog_id = ? AND name = ? AND coalesce(head_id, 0) = ? AND (
    head_id IS NULL OR commit_hash = (
        SELECT c.hash FROM commits c  -- + rules out an index that has all commits of the dialog
        WHERE c.id = head_id AND +c.dialog_id = branches.dialog_id))"""

_DELETE_BRANCH = """
DELETE FROM branches WHERE dialog_id = (SELECT id FROM dialogs WHERE name = ?) AND name = ?
RETURNING dialog_id, commits, tokens, bytes, errors, updated_at, total"""

_ROW = f"SELECT {DIALOG_COLUMNS}, checksum FROM dialogs WHERE name = ?"
_LOCK_ROW = f"SELECT {DIALOG_COLUMNS}, checksum FROM dialogs r WHERE name = ? {{lock}}"

_CHANGE = f"UPDATE dialogs SET {' = ?, '.join(DialogRow._fields)} = ?, checksum = ? WHERE name = ?"

_ADD = f"""
UPDATE dialogs SET branches = branches + ?, commits = commits + ?, tokens = tokens + ?,
    bytes = bytes + ?, errors = errors + ?,
    updated_at = CASE WHEN ? > updated_at THEN ? ELSE updated_at END,
    total = total + ? + CASE WHEN ? > updated_at THEN {_WEIGHTS[5]} * (? - updated_at) ELSE 0 END
WHERE id = ?"""

_COUNT = "UPDATE tract_schema SET dialogs = dialogs + ?, erasures = coalesce(?, erasures)"

_IN_BRANCHES = f"""
SELECT dialog_id, count(*) AS number, sum(commits) AS commits, sum(tokens) AS tokens,
    sum(bytes) AS bytes, sum(errors) AS errors, max(updated_at) AS updated_at,
    sum(CASE WHEN total = {_WEIGHED} THEN 0 ELSE 1 END) AS damaged
FROM branches GROUP BY dialog_id"""
_SUMMED = 7  # columns of it without the key

_DIALOGS = f"""
SELECT s.dialogs, d.name, {", ".join(f"d.{column}" for column in DialogRow._fields)}, d.checksum,
    {", ".join(f"d.{column}" for column in _Row._fields)}, d.total,
    r.number, r.commits, r.tokens, r.bytes, r.errors, r.updated_at, r.damaged
FROM tract_schema s LEFT JOIN dialogs d ON d.id > 0  -- rules out the index of names
LEFT JOIN ({_IN_BRANCHES}) r ON r.dialog_id = d.id ORDER BY d.id"""

_SEAL = """
UPDATE dialogs SET branches = ?, commits = ?, tokens = ?, bytes = ?, errors = ?,
    updated_at = ?, total = ? WHERE id = ?"""

_COUNTS = """
SELECT d.id, d.name, (SELECT count(*) FROM branches r WHERE r.dialog_id = d.id),
    count(c.id), coalesce(sum(b.token_count), 0), coalesce(sum(b.text_size), 0),
    coalesce(sum(c.is_error), 0), coalesce(max(c.created_at), 0)
FROM dialogs d LEFT JOIN commits c ON c.dialog_id = d.id LEFT JOIN blobs b ON b.id = c.blob_id
GROUP BY d.id, d.name"""
