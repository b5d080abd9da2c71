"""Erasing for good: a content with what tract copied of it, or a text wherever it stands.

A content becomes a tombstone. A commit or a tool definition of which a text is erased keeps its
hash, and the hash of what is left of it is stored too, so that it is still verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tract.content.needle import ERASED, Needle
from tract.core.titles import title_of
from tract.core.wording import FORGOTTEN
from tract.errors import CorruptError, ForgottenError, InputError, ScrubError, StorageError
from tract.hashing import checked_json, escape, from_json
from tract.model import (
    STRUCTURE,
    DialogFacts,
    ForgetResult,
    Head,
    Json,
    Trace,
    pack_shape,
    unpack_shape,
)
from tract.storage import files
from tract.storage.codec import unseal
from tract.storage.contents import erase_content, keep_left
from tract.storage.dialogs import SETTINGS, seal_names
from tract.storage.driver import PAGE, Row
from tract.storage.rows import (
    commit_checksum,
    row_hash,
    split,
    stored_json,
    unescape,
)
from tract.storage.sqlite import MEMORY, Sqlite
from tract.storage.store import Store
from tract.storage.tools import ToolRow, rewrite_definition

NAMES = ("tool_call_id", "name", "message")
VALUES = ("origin", "metadata", "generation_config", "usage", "calls")
OWN = ("message", "metadata", "origin")
"""What a message has beside its content: its note, its metadata, and keys of its provider."""
PLACES = {"message": "note", "origin": "provider's keys", "tool_call_id": "call id"}
"""What people call a column; others have their own names."""
PHRASE = 12
"""A line of at least this many characters, in another place, is a copy."""
FEW = 3
"""So many lines of a content, or all if it has fewer, make another text a copy of it."""


class Holder(NamedTuple):
    """A commit that has a content."""

    blob_id: int
    commit_id: int
    hash: bytes
    dialog: str

    def trace(self, place: str, count: int = 1) -> Trace:
        return Trace(unescape(self.dialog), self.hash.hex(), place, count)


Renamed = dict[tuple[str, str | None], str]
"""The new names of dialogs, and of branches of a dialog."""


def erase_commit(store: Store, commit: Head, *, dry_run: bool) -> ForgetResult:
    """Erase the content of a commit, and what was copied of it."""
    blob_id = store.step(commit).blob_id
    if blob_id is None:
        raise InputError("a mark has no content to forget")
    with _erasing(store, dry_run) as eraser:
        eraser.erase_commit(commit, blob_id)
        info = store.info(commit)  # once it is erased, only a ScrubError may follow
    return ForgetResult(eraser.erased, eraser.remains, info, dry_run)


def erase_text(store: Store, needle: Needle, *, dry_run: bool) -> tuple[ForgetResult, Renamed]:
    """Erase a text wherever it stands. A content that has it is erased in full."""
    with _erasing(store, dry_run) as eraser:
        eraser.erase_text(needle)
    result = ForgetResult(eraser.erased, eraser.remains, dry_run=dry_run)
    return result, {} if dry_run else eraser.renamed


@contextmanager
def _erasing(store: Store, dry_run: bool) -> Iterator[_Eraser]:
    """One transaction. A dry run erases too, and rolls back."""
    with store.writing(alone=True):
        store.driver.run("SAVEPOINT erasure")
        yield _Eraser(store)
        store.count_erasure()
        store.dialogs.settle()  # a dry run takes the totals back too
        store.driver.run("ROLLBACK TO erasure" if dry_run else "RELEASE erasure")


def scrub(store: Store, result: ForgetResult) -> None:
    """Rewrite the database, so that no free page and no journal has what was erased."""
    try:
        store.driver.scrub()
    except StorageError as error:
        raise ScrubError(
            "everything is erased from the history, but old bytes stay in the database, because "
            f"it could not be rewritten: forget again ({error.__cause__ or error})",
            result,
        ) from error


class _Eraser:
    """One erasure, inside a transaction."""

    def __init__(self, store: Store) -> None:
        self.erased: list[Trace] = []
        self.remains: list[Trace] = []
        self.renamed: Renamed = {}
        self._store, self._run = store, store.driver.run
        self._changed: dict[int, None] = {}

    # A content

    def erase_commit(self, commit: Head, blob_id: int) -> None:
        phrases = self._phrases(blob_id)
        for commit_id, metadata in self._same(commit):
            self._clear(commit_id, OWN)
            self._clear_inherited(commit_id, metadata)
        self._erase_contents({blob_id: 1})
        self._keep_hashes()
        if phrases:
            self._look_for_copies(phrases)
        self.remains += self._files()

    def _same(self, commit: Head) -> list[Row]:
        """The commit, in every dialog that has it."""
        return self._run("SELECT id, metadata FROM commits WHERE hash = ?", (commit.hash,))

    def _clear_inherited(self, commit_id: int, metadata: str | None) -> None:
        """An edit has the metadata of what it replaces, unless it was written with its own."""
        if metadata is not None:
            for operation, edit_id, _, inherited in self._changes([commit_id]):
                if operation == "edit" and inherited == metadata:
                    self._clear(edit_id, ("metadata",))
                    self._clear_inherited(edit_id, metadata)

    def _changes(self, commit_ids: Sequence[int]) -> Iterator[Row]:
        """What replaces these commits: operation, key, content and metadata of each."""
        return self._store.driver.run_in(_CHANGES, commit_ids)

    def _erase_contents(self, counts: dict[int, int]) -> None:
        """Make contents tombstones, together with what was copied of them; `counts` says how often
        each of them has what is to be erased."""
        while counts:
            titles = {blob_id: self._title(blob_id) for blob_id in counts}
            holders = [Holder(*row) for row in self._store.driver.run_in(_HOLDERS, list(counts))]
            known = self._store.contents.forgotten(list(counts))
            new = sorted(counts.keys() - known)
            with self._store.recounting(new):
                for blob_id in new:
                    erase_content(self._store.driver, blob_id)
            for holder in holders:
                if holder.blob_id not in known:
                    self.erased.append(holder.trace("content", counts[holder.blob_id]))
            for blob_id in counts.keys() - known - {holder.blob_id for holder in holders}:
                self.erased.append(Trace(place="content without a commit", count=counts[blob_id]))
            self._erase_titles(holders, titles)
            ids = [holder.commit_id for holder in holders]
            self._erase_forms(ids)
            counts = self._outlines(ids)

    def _erase_forms(self, commit_ids: Sequence[int]) -> None:
        """The texts that are shown instead of results, and the notes of the marks on them."""
        forms = "SELECT id, form FROM commits WHERE form IS NOT NULL AND id IN"
        for commit_id, form in self._store.driver.run_in(forms, commit_ids):
            self._set_form(commit_id, None, form, _without_text)
        for change, position, value in self._store.driver.run_in(_MARKS, commit_ids):
            self._set_form(change, position, value, _without_text)
            self._clear(change, ("message",))

    def _outlines(self, commit_ids: Sequence[int]) -> dict[int, int]:
        """The contents of summaries that are made of their lines. Any other summary remains."""
        outlines = {}
        for operation, change, blob_id, stored in self._changes(commit_ids):
            if operation != "compress" or self._store.contents.forgotten([blob_id]):
                continue
            made_by = ((stored_json(stored) or {}).get("summary") or {}).get("made_by")
            if made_by == STRUCTURE:
                outlines[blob_id] = 1
            else:
                self._remember(self._trace(change, f"summary ({made_by})"))
        return outlines

    def _title(self, blob_id: int) -> str | None:
        """The title that a dialog has if this is its first prompt."""
        try:
            content = from_json(self._store.contents.read(blob_id))
        except (ForgottenError, CorruptError):
            return None
        texts = [content] if isinstance(content, str) else _texts(content)
        return next(filter(None, map(title_of, texts)), None)

    def _erase_titles(self, holders: Sequence[Holder], titles: dict[int, str | None]) -> None:
        for dialog in sorted({unescape(holder.dialog) for holder in holders}):
            facts = self._store.dialogs.settings(dialog, "facts") or {}
            own = {titles[h.blob_id] for h in holders if unescape(h.dialog) == dialog}
            if facts.get("title") and facts["title"] in own:
                rest = {key: facts[key] for key in facts if key != "title"}
                self._store.dialogs.set_settings(dialog, "facts", rest)
                self.erased.append(Trace(dialog, None, "title"))
            if source := facts.get("source"):
                self._remember(Trace(dialog, None, f"file that it was imported from: {source}"))

    def _remember(self, trace: Trace) -> None:
        """Name a place that remains, once."""
        if trace not in self.remains:
            self.remains.append(trace)

    # Columns of a commit

    def _clear(self, commit_id: int, columns: Sequence[str]) -> None:
        """Erase these columns as far as they have something."""
        sql = f"SELECT {', '.join(columns)} FROM commits WHERE id = ?"
        for stored in self._run(sql, (commit_id,)):
            for column, value in zip(columns, stored, strict=True):
                left = escape(ERASED) if column == "message" else None
                if value not in (None, left):
                    self._set(commit_id, column, left, 1)

    def _set(self, commit_id: int, column: str, left: str | None, count: int) -> None:
        self._run(f"UPDATE commits SET {column} = ? WHERE id = ?", (left, commit_id))
        self._changed[commit_id] = None
        self.erased.append(self._trace(commit_id, PLACES.get(column, column), count))

    def _set_form(
        self,
        commit_id: int,
        position: int | None,
        stored: str | None,
        redact: Callable[[str], str],
        count: int = 1,
    ) -> None:
        """Erase the text of a form: of a result as it was written, or of one link of a mark."""
        left = redact(stored) if stored else stored
        if left == stored:
            return
        table, key, values = "commits SET form", "id = ?", [left, commit_id]
        if position is not None:
            table, key = "commit_links SET value", "commit_id = ? AND position = ?"
            values.append(position)
        self._run(f"UPDATE {table} = ? WHERE {key}", values)
        self._changed[commit_id] = None
        self.erased.append(self._trace(commit_id, "form", count))

    def _trace(self, commit_id: int, place: str, count: int = 1) -> Trace:
        [row] = self._run(_HOLDER, (commit_id,))
        return Holder(*row).trace(place, count)

    def _keep_hashes(self) -> None:
        """Have what is left of the changed commits verified."""
        for row, parent, links in self._store.rows(list(self._changed)):
            read = split(row)
            commit = read.commit
            total = commit_checksum(commit.usage, commit.calls, commit.created_at)
            self._run("UPDATE commits SET checksum = ? WHERE id = ?", (total, row[0]))
            keep_left(self._store.driver, commit.hash, row_hash(read, parent, links))

    # A text wherever it stands

    def erase_text(self, needle: Needle) -> None:
        counts = {}
        for blob_id, stored in self._contents():
            if count := needle.count(stored):
                counts[blob_id] = count
        self._erase_contents(counts)
        for commit_id, columns in self._commits():
            if needle.count("\n".join(filter(None, columns.values()))):
                for column, stored in columns.items():
                    self._redact_column(needle, commit_id, column, stored)
        for commit_id, position, value in self._links():
            redact = partial(_redact_form, needle)
            self._set_form(commit_id, position, value, redact, needle.count(value))
        self._keep_hashes()
        self._redact_tools(needle)
        self._redact_dialogs(needle)
        self.remains += self._files()

    def _contents(self) -> Iterator[tuple[int, str]]:
        """All contents, as they are stored. One that is damaged remains."""
        sql, last = "SELECT id FROM blobs WHERE id > ? ORDER BY id LIMIT ?", 0
        while rows := self._run(sql, (last, PAGE)):
            for (blob_id,) in rows:
                try:
                    yield blob_id, self._store.contents.read(blob_id).decode("ascii")
                except ForgottenError:
                    continue
                except (CorruptError, UnicodeDecodeError):
                    self._name_holders(blob_id, "damaged content")
            last = rows[-1][0]

    def _name_holders(self, blob_id: int, place: str, count: int = 1) -> None:
        for row in self._store.driver.run_in(_HOLDERS, [blob_id]):
            self._remember(Holder(*row).trace(place, count))

    def _commits(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The texts beside the contents of all commits, by their columns, as JSON."""
        columns, last = (*NAMES, *VALUES, "form"), 0
        sql = f"SELECT id, {', '.join(columns)} FROM commits WHERE id > ? ORDER BY id LIMIT ?"
        while rows := self._run(sql, (last, PAGE)):
            for commit_id, *texts in rows:
                stored = {c: t for c, t in zip(columns, texts, strict=True) if t}
                yield commit_id, {c: f'"{t}"' if c in NAMES else t for c, t in stored.items()}
            last = rows[-1][0]

    def _links(self) -> list[Row]:
        return self._run("SELECT commit_id, position, value FROM commit_links WHERE kind = 'form'")

    def _redact_column(self, needle: Needle, commit_id: int, column: str, stored: str) -> None:
        count = needle.count(stored)
        if not count:
            return
        if column == "form":
            self._set_form(commit_id, None, stored, partial(_redact_form, needle), count)
        elif column in NAMES:
            self._set(commit_id, column, escape(needle.redact(stored_json(stored))), count)
        else:
            left = checked_json(needle.redact_json(stored_json(stored)))
            self._set(commit_id, column, None if needle.count(left) else left, count)

    def _redact_tools(self, needle: Needle) -> None:
        sql = f"SELECT {', '.join(ToolRow._fields)} FROM tool_definitions ORDER BY id"
        for row in map(ToolRow._make, self._run(sql)):
            if not (count := needle.count(f"{row.name}\n{row.schema}")):
                continue
            name = needle.redact(unescape(row.name))
            schema = checked_json(needle.redact_json(stored_json(row.schema)))
            if needle.count(schema):
                schema = checked_json({"name": name, "input_schema": {"type": "object"}})
            rewrite_definition(self._store.driver, row, escape(name), schema)
            self.erased.append(Trace(place=f"tool definition {row.hash.hex()}", count=count))

    # Dialogs and branches, which no hash covers

    def _redact_dialogs(self, needle: Needle) -> None:
        for dialog_id, stored, *settings in self._run(_DIALOGS):
            name, renamed = unescape(stored), len(self.renamed)
            for kind, value in zip(SETTINGS, settings, strict=True):
                self._redact_settings(needle, name, kind, value)
            branches = self._branches(dialog_id)
            for branch in branches if needle.count("\n".join(branches)) else ():
                if count := needle.count(branch):
                    new = _free(needle.redact(branch), self._branches(dialog_id))
                    for sql in _RENAME_BRANCH:
                        self._run(sql, (escape(new), dialog_id, escape(branch)))
                    self.renamed[name, branch] = new
                    self.erased.append(Trace(name, None, "name of a branch", count))
            if count := needle.count(name):
                new = _free(needle.redact(name), [unescape(row[1]) for row in self._run(_DIALOGS)])
                sql = "UPDATE dialogs SET name = ? WHERE id = ?"
                self._run(sql, (escape(new), dialog_id))
                self.renamed[name, None] = new
                self.erased.append(Trace(new, None, "name of the dialog", count))
            if len(self.renamed) > renamed:
                seal_names(self._store.driver, dialog_id)

    def _branches(self, dialog_id: int) -> list[str]:
        sql = "SELECT name FROM branches WHERE dialog_id = ?"
        return [unescape(name) for (name,) in self._run(sql, (dialog_id,))]

    def _redact_settings(self, needle: Needle, dialog: str, kind: str, stored: str | None) -> None:
        count = needle.count(stored) if stored else 0
        if stored and count:
            value = unseal(stored)
            left = needle.redact_json(value)
            usable = left.keys() == value.keys() and (kind != "facts" or _are_facts(left))
            if needle.count(checked_json(left)) or not usable:
                left = {}
            self._store.dialogs.set_settings(dialog, kind, left)
            self.erased.append(Trace(dialog, None, kind, count))

    # Copies that remain

    def _phrases(self, blob_id: int) -> frozenset[str]:
        try:
            return frozenset(_lines(self._store.contents.read(blob_id).decode("ascii")))
        except ForgottenError:
            return frozenset()

    def _look_for_copies(self, phrases: frozenset[str]) -> None:
        """Name the places that have lines of an erased content."""
        for blob_id, stored in self._contents():
            if count := _shared(phrases, stored):
                self._name_holders(blob_id, "content", count)
        for commit_id, columns in self._commits():
            for column, stored in columns.items():
                if count := _shared(phrases, stored):
                    self._remember(self._trace(commit_id, PLACES.get(column, column), count))
        for commit_id, _, value in self._links():
            if count := _shared(phrases, value or ""):
                self._remember(self._trace(commit_id, "form", count))

    def _files(self) -> list[Trace]:
        driver = self._store.driver
        if not isinstance(driver, Sqlite) or driver.place == MEMORY:
            return []
        copies = files.beside(driver.place, ".bak")
        return [Trace(place=f"backup {Path(copy).name}") for copy in copies]


def _without_text(stored: str) -> str:
    shape = unpack_shape(stored)
    return stored if shape.text is None else pack_shape(replace(shape, text=FORGOTTEN))


def _redact_form(needle: Needle, stored: str) -> str:
    shape = unpack_shape(stored)
    if shape.text is None or not needle.count(shape.text):
        return stored
    return pack_shape(replace(shape, text=needle.redact(shape.text)))


def _are_facts(value: Json) -> bool:
    try:
        msgspec.convert(value, DialogFacts)
    except msgspec.ValidationError:
        return False
    return True


def _free(name: str, names: Sequence[str]) -> str:
    """The name, or the name with the first number that makes it new."""
    number, new = 1, name
    while new in names:
        number, new = number + 1, f"{name}-{number + 1}"
    return new


def _texts(value: Json) -> list[str]:
    """Every text in a JSON value, keys excluded."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for item in value.values() for text in _texts(item)]
        case list():
            return [text for item in value for text in _texts(item)]
    return []


def _lines(stored: str) -> Iterator[str]:
    """The lines of the texts in stored JSON that are long enough to be recognized."""
    value = stored_json(stored) if stored[0] in '"[{' else None  # a form may be just its name
    for text in _texts(value):
        yield from (line.strip() for line in text.splitlines() if len(line.strip()) >= PHRASE)


def _shared(phrases: frozenset[str], stored: str) -> int:
    """How many lines a text shares with a content; 0 if they are too few to be a copy."""
    lines = set(_lines(stored))
    count = len(lines & phrases)
    if len(phrases) < FEW:  # a short text may be quoted inside a line
        count = sum(any(phrase in line for line in lines) for phrase in phrases)
    return count if count >= min(FEW, len(phrases)) else 0


_HOLDERS = """
SELECT c.blob_id, c.id, c.hash, d.name
FROM commits c JOIN dialogs d ON d.id = c.dialog_id WHERE c.blob_id IN"""

_HOLDER = _HOLDERS.replace("c.blob_id IN", "c.id = ?")

_CHANGES = """
SELECT c.operation, c.id, c.blob_id, c.metadata
FROM commit_links l JOIN commits c ON c.id = l.commit_id
WHERE l.kind = 'replaces' AND l.target_id IN"""

_MARKS = """
SELECT commit_id, position, CASE WHEN kind = 'form' THEN value END
FROM commit_links WHERE kind <> 'replaces' AND target_id IN"""

_DIALOGS = f"SELECT id, name, {', '.join(SETTINGS)} FROM dialogs ORDER BY id"

_RENAME_BRANCH = (
    "UPDATE branches SET name = ? WHERE dialog_id = ? AND name = ?",
    "UPDATE dialogs SET branch = ? WHERE id = ? AND branch = ?",
)
