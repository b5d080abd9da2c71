"""Every position in a database that has texts. What is damaged is named and does not stop it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tract.errors import CorruptError, ForgottenError
from tract.hashing import from_json
from tract.model import Head, Json, Trace, unpack_shape
from tract.storage.codec import DAMAGE, unseal
from tract.storage.contents import is_left
from tract.storage.dialogs import SETTINGS
from tract.storage.driver import PAGE, Row
from tract.storage.rows import (
    Links,
    ReadRow,
    commit_checksum,
    row_hash,
    split,
    stored_json,
    unescape,
)
from tract.storage.store import Store
from tract.storage.tools import ToolRow, definition

NAMES = ("tool_call_id", "name", "message")
VALUES = ("origin", "metadata", "generation_config", "usage", "calls")
PLACES = {"message": "note", "origin": "provider's keys", "tool_call_id": "call id"}
"""What people call a column; others have their own names."""
DAMAGED = (CorruptError, *DAMAGE)


class Holder(NamedTuple):
    """A commit that has a content."""

    blob_id: int
    commit_id: int
    hash: object  # bytes, unless it is damaged
    dialog: str | None

    def trace(self, place: str, count: int = 1) -> Trace:
        digest = self.hash.hex() if isinstance(self.hash, bytes) else None
        return Trace(readable_name(self.dialog), digest, place, count)


class Cell(NamedTuple):
    """A column of a commit, or the value of one of its links, and the texts in it."""

    commit_id: int
    column: str
    position: int | None
    stored: str
    value: Json
    """As it is stored, if it is damaged."""
    is_readable: bool

    @property
    def place(self) -> str:
        return PLACES.get(self.column, self.column)


class Tool(NamedTuple):
    """A tool definition."""

    row: ToolRow
    name: str
    schema: Json
    is_whole: bool


class Setting(NamedTuple):
    """Settings or facts of a dialog."""

    dialog: str
    kind: str
    stored: str
    value: Json
    is_whole: bool


def everything(stored: str) -> bool:
    """Whether a stored text is to be looked at."""
    return bool(stored)


class Survey:
    """Reads a database, as far as it is wanted, inside one transaction."""

    def __init__(self, store: Store) -> None:
        self._store, self._run = store, store.driver.run
        self.damage: dict[Trace, None] = {}
        """What could not be read, or was altered."""

    def contents(self, is_wanted: Callable[[str], bool]) -> Iterator[tuple[int, Json]]:
        sql, last = "SELECT id FROM blobs WHERE id > ? ORDER BY id LIMIT ?", 0
        while rows := self._run(sql, (last, PAGE)):
            for (blob_id,) in rows:
                try:
                    data = self._store.contents.read(blob_id)
                    if is_wanted(data.decode("ascii")):
                        yield blob_id, _without_providers(from_json(data))
                except ForgottenError:
                    continue
                except DAMAGED:
                    self.name_damage(self.holders([blob_id]), "damaged content")
            last = rows[-1][0]

    def holders(self, blob_ids: Sequence[int]) -> list[Holder]:
        """The commits that have these contents."""
        return [Holder(*row) for row in self._store.driver.run_in(_HOLDERS, blob_ids)]

    def name_damage(self, holders: Sequence[Holder], place: str) -> None:
        for holder in holders:
            self.damage[holder.trace(place)] = None

    def commits(self, is_wanted: Callable[[str], bool]) -> Iterator[Cell]:
        """What commits have beside their contents. Every commit is verified."""
        sql, last = "SELECT id FROM commits WHERE id > ? ORDER BY id LIMIT ?", 0
        while ids := [commit_id for (commit_id,) in self._run(sql, (last, PAGE))]:
            for row, parent, links in sorted(self._store.rows(ids), key=lambda each: each[0][0]):
                if not self._matches(row, parent, links):
                    self.damage[self.trace(row[0], "damaged commit")] = None
                commit = split(row).commit
                for column in (*NAMES, *VALUES, "form"):
                    stored = getattr(commit, column)
                    if isinstance(stored, str) and is_wanted(stored):
                        yield _cell(row[0], column, None, stored)
            last = ids[-1]

    def links(self, is_wanted: Callable[[str], bool]) -> Iterator[Cell]:
        """The forms that marks have given to results."""
        for commit_id, position, stored in self._run(_FORMS):
            if isinstance(stored, str) and is_wanted(stored):
                yield _cell(commit_id, "form", position, stored)

    def is_whole(self, commit_id: int) -> bool:
        """Whether a commit is as it was written, or what is left of it. Its content may not be."""
        return any(self._matches(*row) for row in self._store.rows([commit_id]))

    def _matches(self, row: Row, parent: bytes | None, links: Links) -> bool:
        read = split(row)
        commit = read.commit
        total = commit_checksum(commit.usage, commit.calls, commit.created_at)
        return total == commit.checksum and self._has_its_hash(read, parent, links)

    def _has_its_hash(self, read: ReadRow, parent: bytes | None, links: Links) -> bool:
        try:
            digest, actual = read.commit.hash, row_hash(read, parent, links)
        except DAMAGED:
            return False
        return digest == actual or is_left(self._store.driver, digest, actual)

    def content_of(self, commit: Head) -> int | None:
        """The key of the content of a commit. The content itself may be damaged."""
        for row, parent, links in self._store.rows([commit.id or 0]):
            read = split(row)
            if read.commit.hash == commit.hash and self._has_its_hash(read, parent, links):
                return read.commit.blob_id
        raise CorruptError(f"commit key {commit.id} is damaged: its content is not known")

    def trace(self, commit_id: int, place: str, count: int = 1) -> Trace:
        [row] = self._run(_HOLDER, (commit_id,))
        return Holder(*row).trace(place, count)

    def tools(self, is_wanted: Callable[[str], bool]) -> Iterator[Tool]:
        sql = f"SELECT {', '.join(ToolRow._fields)} FROM tool_definitions ORDER BY id"
        for row in map(ToolRow._make, self._run(sql)):
            if is_wanted(f"{row.name}\n{row.schema}"):
                yield self._tool(row)

    def _tool(self, row: ToolRow) -> Tool:
        try:
            tool = definition(self._store.driver, row)
            return Tool(row, tool.name, from_json(tool.data), True)
        except DAMAGED:
            self.damage[Trace(place=f"damaged {tool_place(row)}")] = None
            return Tool(row, str(row.name), str(row.schema), False)

    def settings(self, is_wanted: Callable[[str], bool]) -> Iterator[Setting]:
        for name, *values in self._run(_SETTINGS):
            dialog = readable_name(name)
            for kind, stored in zip(SETTINGS, values, strict=True):
                if dialog is not None and stored is not None and is_wanted(str(stored)):
                    yield self._setting(dialog, kind, str(stored))

    def _setting(self, dialog: str, kind: str, stored: str) -> Setting:
        is_whole = self._store.dialogs.is_whole(dialog)
        if not is_whole:
            self.damage[Trace(dialog, None, f"damaged {kind}")] = None
        try:
            return Setting(dialog, kind, stored, unseal(stored), is_whole)
        except DAMAGED:
            return Setting(dialog, kind, stored, stored, False)

    def names(self) -> Iterator[tuple[int, str, list[str]]]:
        """The key of each dialog, its name, and those of its branches."""
        for dialog_id, stored in self._run("SELECT id, name FROM dialogs ORDER BY id"):
            sql = "SELECT name FROM branches WHERE dialog_id = ? ORDER BY name"
            branches = [readable_name(name) for (name,) in self._run(sql, (dialog_id,))]
            dialog = readable_name(stored)
            if dialog is None or None in branches:
                self.damage[Trace(dialog, None, "damaged names")] = None
            else:
                yield dialog_id, dialog, [branch for branch in branches if branch is not None]


def tool_place(row: ToolRow) -> str:
    return f"tool definition {row.hash.hex()}"


def readable_name(stored: str | None) -> str | None:
    """A stored name; None if it is damaged."""
    try:
        return None if stored is None else unescape(stored)
    except DAMAGED:
        return None


def _without_providers(content: Json) -> Json:
    """A content without the names of the providers that its blocks came from."""
    return [_block(block) for block in content] if isinstance(content, list) else content


def _block(block: Json) -> Json:
    match block:
        case {"raw": data, "provider": str(), **rest} if not rest:
            return data
        case {"origin": dict(origin)}:
            return {**block, "origin": list(origin.values())}
    return block


def _cell(commit_id: int, column: str, position: int | None, stored: str) -> Cell:
    try:
        value = _value(column, stored)
        return Cell(commit_id, column, position, stored, value, True)
    except DAMAGED:
        return Cell(commit_id, column, position, stored, stored, False)


def _value(column: str, stored: str) -> Json:
    if column in NAMES:
        return unescape(stored)
    if column == "origin":  # by the names of providers
        return list(stored_json(stored).values())
    return unpack_shape(stored).text if column == "form" else stored_json(stored)


_HOLDERS = """
SELECT c.blob_id, c.id, c.hash, d.name
FROM commits c LEFT JOIN dialogs d ON d.id = c.dialog_id WHERE c.blob_id IN"""

_HOLDER = _HOLDERS.replace("c.blob_id IN", "c.id = ?")

_FORMS = "SELECT commit_id, position, value FROM commit_links WHERE kind = 'form'"

_SETTINGS = f"SELECT name, {', '.join(SETTINGS)} FROM dialogs ORDER BY id"
