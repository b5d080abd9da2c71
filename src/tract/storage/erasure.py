"""Erasing for good: a content with what tract copied of it, or a text wherever it stands.

A content becomes a tombstone. A commit or a tool definition of which a text is erased keeps its
hash, and the hash of what is left of it is stored too, so that it is still verified. What is
damaged is not sealed again: it stays damaged, and is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tract.content.needle import Needle, texts
from tract.core.titles import title_of
from tract.core.wording import ERASED, FORGOTTEN
from tract.errors import (
    CorruptError,
    ForgottenError,
    InputError,
    ObjectStoreError,
    ScrubError,
    StorageError,
)
from tract.hashing import checked_json, escape
from tract.model import (
    STRUCTURE,
    CommitInfo,
    DialogFacts,
    ForgetResult,
    Head,
    Json,
    Trace,
    pack_shape,
    unpack_shape,
)
from tract.storage import codec, files
from tract.storage.contents import erase_content, keep_left
from tract.storage.copies import Phrases, phrases_of, shared
from tract.storage.driver import Driver, Row
from tract.storage.names import rename, unique_name
from tract.storage.redaction import Redaction
from tract.storage.rows import INLINE_BELOW, commit_checksum, row_hash, split, stored_json
from tract.storage.sqlite import MEMORY, Sqlite
from tract.storage.store import Store
from tract.storage.survey import (
    DAMAGED,
    NAMES,
    PLACES,
    Cell,
    Holder,
    Setting,
    Survey,
    everything,
    readable_name,
    tool_place,
)
from tract.storage.tools import rewrite_definition

OWN = ("message", "metadata", "origin")
"""What a message has beside its content: its note, its metadata, and keys of its provider."""

Renamed = dict[tuple[str, str | None], str]
"""The new names of dialogs, and of branches of a dialog."""


def erase_commit(store: Store, commit: Head, *, dry_run: bool) -> ForgetResult:
    """Erase the content of a commit, and what was copied of it."""
    blob_id, info = Survey(store).content_of(commit), None
    if blob_id is None:
        raise InputError("a mark has no content to forget")
    with _erasing(store, dry_run) as eraser:
        eraser.erase_commit(commit, blob_id)
        if not dry_run:
            info = _info(store, commit)  # once it is erased, only a ScrubError may follow
    return ForgetResult(*eraser.traces(), _info(store, commit) if dry_run else info, dry_run)


def _info(store: Store, commit: Head) -> CommitInfo | None:
    try:
        return store.info(commit)
    except CorruptError:
        return None


def erase_text(store: Store, needle: Needle, *, dry_run: bool) -> tuple[ForgetResult, Renamed]:
    """Erase a text wherever it stands. A content that has it is erased in full."""
    with _erasing(store, dry_run) as eraser:
        eraser.erase_text(needle)
    result = ForgetResult(*eraser.traces(), dry_run=dry_run)
    return result, {} if dry_run else eraser.renamed


@contextmanager
def _erasing(store: Store, dry_run: bool) -> Iterator[_Eraser]:
    """One transaction. A dry run erases too, and rolls back, so that it lists what would be erased.
    It needs the lock of a writer for that."""
    with store.writing(alone=True):
        store.driver.run("SAVEPOINT erasure")
        eraser = _Eraser(store)
        yield eraser
        eraser.erase_words()
        store.count_erasure()
        store.dialogs.settle()  # a dry run takes the totals back too
        store.driver.run("ROLLBACK TO erasure" if dry_run else "RELEASE erasure")


def scrub(store: Store, result: ForgetResult) -> None:
    """Rewrite the database, so that no free page and no journal has what was erased, and delete the
    objects of erased contents. An earlier attempt may have left some."""
    try:
        store.words.compact()
        store.driver.scrub()
        store.delete_objects([digest for (digest,) in store.driver.run(_TOMBSTONES)])
    except StorageError as error:
        raise ScrubError(
            f"everything is erased from the history, but old bytes {_left(error)}: forget again "
            f"({error.__cause__ or error})",
            result,
        ) from error


def _left(error: StorageError) -> str:
    if isinstance(error, ObjectStoreError):
        return "may be in the object store"
    return "stay in the database, because it could not be rewritten"


class _Eraser:
    """One erasure, inside a transaction."""

    def __init__(self, store: Store) -> None:
        self.renamed: Renamed = {}
        self._erased: list[Trace] = []
        self._remains: dict[Trace, None] = {}
        self._store, self._run = store, store.driver.run
        self._survey, self._redaction = Survey(store), Redaction(store)
        self._whole: dict[int, bool] = {}  # the commits that were changed, as they were before
        self._backups = _backups(store.driver)  # now: after it is erased, nothing may fail
        self._word_keys = set[int]()  # of contents whose words are to go

    def traces(self) -> tuple[list[Trace], list[Trace]]:
        """What was erased, and what remains. A dialog has its new name."""
        damage = {**self._survey.damage, **self._redaction.damage}
        remains = [*self._remains, *damage, *self._backups]
        erased, remains = (
            [replace(t, dialog=self.renamed.get((t.dialog or "", None), t.dialog)) for t in traces]
            for traces in (self._erased + self._redaction.erased, remains)
        )
        return erased, remains

    def erase_words(self) -> None:
        """Remove the words of erased contents, and of those that were deleted before. The
        vocabulary goes in any case: it does not say whose a word is."""
        self._store.vocabulary.drop()
        words = self._store.words
        if words.is_closed:
            if self._word_keys:
                raise StorageError(
                    "the word index has words of what is to be forgotten, and this SQLite cannot "
                    "remove them: use one with FTS5, 3.43 or newer; nothing was erased"
                )
            self._remember(Trace(place="word index, which this SQLite cannot read"))
        elif count := words.erase(self._word_keys):
            self._erased.append(Trace(place="words of deleted contents", count=count))

    # A content

    def erase_commit(self, commit: Head, blob_id: int) -> None:
        phrases = self._phrases(blob_id)
        same = self._run("SELECT id, metadata FROM commits WHERE hash = ?", (commit.hash,))
        for commit_id, metadata in same:
            self._clear(commit_id, OWN)
            self._clear_inherited(commit_id, metadata)
        self._name_own([holder.commit_id for holder in self._survey.holders([blob_id])])
        self._erase_contents({blob_id: 1})
        self._keep_hashes()
        self._redaction.erase_receipts(self._commits(), partial(shared, phrases))
        if phrases:
            self._look_for_copies(phrases)
        self._name_sources()

    def _clear_inherited(self, commit_id: int, metadata: str | None) -> None:
        """An edit has the metadata of what it replaces, unless it was written with its own."""
        for operation, edit_id, _, inherited in self._changes([commit_id]):
            if operation == "edit":
                if metadata is not None and inherited == metadata:
                    self._clear(edit_id, ("metadata",))
                self._name_own([edit_id])
                self._clear_inherited(edit_id, metadata)

    def _name_own(self, commit_ids: Sequence[int]) -> None:
        """Other commits with the same content, and edits of it, keep what stands beside it."""
        sql = f"SELECT id, {', '.join(OWN)} FROM commits WHERE id IN"
        for commit_id, *values in self._store.driver.run_in(sql, commit_ids):
            for column, value in zip(OWN, values, strict=True):
                if value not in (None, escape(ERASED)):
                    self._remember(self._survey.trace(commit_id, PLACES.get(column, column)))

    def _changes(self, commit_ids: Sequence[int]) -> list[Row]:
        """What replaces these commits: operation, key, content and metadata of each."""
        return list(self._store.driver.run_in(_CHANGES, commit_ids))

    def _erase_contents(self, counts: dict[int, int]) -> None:
        """Make contents tombstones, together with what was copied of them; `counts` says how often
        each of them has what is to be erased."""
        while counts:
            titles = {blob_id: self._title(blob_id) for blob_id in counts}
            holders = self._survey.holders(list(counts))
            new = [blob_id for blob_id in counts if not self._is_erased(blob_id)]
            self._erase_new(new)
            for holder in holders:
                if holder.blob_id in new:
                    self._erased.append(holder.trace("content", counts[holder.blob_id]))
            for blob_id in set(new) - {holder.blob_id for holder in holders}:
                self._erased.append(Trace(place="content without a commit", count=counts[blob_id]))
            self._erase_titles(holders, titles)
            ids = [holder.commit_id for holder in holders]
            self._erase_forms(ids)
            counts = self._outlines(ids)

    def _erase_new(self, blob_ids: Sequence[int]) -> None:
        # The size of one that is damaged is not known; it stays in the totals.
        whole = [blob_id for blob_id in blob_ids if self._is_whole_content(blob_id)]
        with self._store.recounting(whole):
            for blob_id in blob_ids:
                erase_content(self._store.driver, blob_id)
        self._word_keys.update(blob_ids)
        damaged = [blob_id for blob_id in blob_ids if blob_id not in whole]
        self._survey.name_damage(self._survey.holders(damaged), "damaged content")

    def _is_erased(self, blob_id: int) -> bool:
        """Whether nothing is left to erase of a content. One that is damaged has no tombstone."""
        for (kind,) in self._run(_BARE, (blob_id,)):
            return kind == codec.FORGOTTEN or not self._is_whole_content(blob_id)
        return False

    def _is_whole_content(self, blob_id: int) -> bool:
        try:
            self._store.contents.forgotten([blob_id])
        except DAMAGED:
            return False
        return True

    def _erase_forms(self, commit_ids: Sequence[int]) -> None:
        """The texts that are shown instead of results, and the notes of the marks on them, and of
        marks on those marks."""
        forms = "SELECT id, form FROM commits WHERE form IS NOT NULL AND id IN"
        for commit_id, form in self._store.driver.run_in(forms, commit_ids):
            self._erase_form(commit_id, None, form)
        marks, targets = set[int](), list(commit_ids)
        while targets:
            rows = list(self._store.driver.run_in(_MARKS, targets))
            for mark, position, form in rows:
                self._erase_form(mark, position, form)
                self._clear(mark, ("message",))
            targets = sorted({mark for mark, _, _ in rows} - marks)
            marks.update(targets)
        for mark, position, form in list(self._store.driver.run_in(_FORMS_OF_EDITS, commit_ids)):
            if self._erase_form(mark, position, form):
                self._clear(mark, ("message",))

    def _erase_form(self, commit_id: int, position: int | None, stored: str | None) -> bool:
        """Returns whether a form had a text."""
        if stored is None:
            return False
        try:
            shape = unpack_shape(stored)
            left = pack_shape(replace(shape, text=FORGOTTEN))
            if shape.text in (None, FORGOTTEN):
                return False
        except DAMAGED:
            left = None
        self._set(commit_id, "form", left, 1, position)
        return True

    def _outlines(self, commit_ids: Sequence[int]) -> dict[int, int]:
        """The contents of summaries that are made of their lines. Any other summary remains, and
        so do the summaries of that."""
        outlines: dict[int, int] = {}
        kept = list[int]()
        for operation, change, blob_id, stored in self._changes(commit_ids):
            if operation == "compress" and not self._is_erased(blob_id):
                made_by = _made_by(stored)
                if made_by == STRUCTURE:
                    outlines[blob_id] = 1
                else:
                    self._remember(self._survey.trace(change, f"summary ({made_by})"))
                    kept.append(change)
        while kept:
            summaries = [row for row in self._changes(kept) if row[0] == "compress"]
            for _, change, _, stored in summaries:
                self._remember(self._survey.trace(change, f"summary ({_made_by(stored)})"))
            kept = [change for _, change, _, _ in summaries]
        return outlines

    def _title(self, blob_id: int) -> str | None:
        """The title that a dialog has if this is its first prompt."""
        try:
            content = self._store.contents.value(blob_id)
        except (ForgottenError, *DAMAGED):
            return None
        return next(filter(None, map(title_of, texts(content))), None)

    def _erase_titles(self, holders: Sequence[Holder], titles: dict[int, str | None]) -> None:
        dialogs = {name for h in holders if (name := readable_name(h.dialog)) is not None}
        for dialog in sorted(dialogs):
            facts = self._facts(dialog)
            own = {titles[h.blob_id] for h in holders if readable_name(h.dialog) == dialog}
            if facts.get("title") and facts["title"] in own:
                rest = {key: facts[key] for key in facts if key != "title"}
                self._store.dialogs.set_settings(dialog, "facts", rest)
                self._erased.append(Trace(dialog, None, "title"))

    def _facts(self, dialog: str) -> dict[str, Json]:
        try:
            return self._store.dialogs.settings(dialog, "facts") or {}
        except DAMAGED:
            self._survey.damage[Trace(dialog, None, "damaged facts")] = None
            return {}

    def _name_sources(self) -> None:
        """The files that dialogs were imported from still have what was erased of them."""
        dialogs = {trace.dialog for trace in self._erased if trace.dialog is not None}
        for old in sorted(dialogs):
            dialog = self.renamed.get((old, None), old)
            if source := self._facts(dialog).get("source"):
                self._remember(Trace(dialog, None, f"file that it was imported from: {source}"))

    def _remember(self, trace: Trace) -> None:
        """Name a place that remains, once."""
        self._remains[trace] = None

    # Columns of a commit

    def _clear(self, commit_id: int, columns: Sequence[str]) -> None:
        """Erase these columns as far as they have something."""
        sql = f"SELECT {', '.join(columns)} FROM commits WHERE id = ?"
        for stored in self._run(sql, (commit_id,)):
            for column, value in zip(columns, stored, strict=True):
                left = escape(ERASED) if column == "message" else None
                if value not in (None, left):
                    self._set(commit_id, column, left, 1)

    def _set(
        self, commit_id: int, column: str, left: str | None, count: int, position: int | None = None
    ) -> None:
        """Replace a column of a commit by what is left of it; with a position, the value of a
        link."""
        if commit_id not in self._whole:
            self._whole[commit_id] = self._survey.is_whole(commit_id)
        target, key, values = f"commits SET {column}", "id = ?", [left, commit_id]
        if position is not None:
            target, key = "commit_links SET value", "commit_id = ? AND position = ?"
            values.append(position)
        self._run(f"UPDATE {target} = ? WHERE {key}", values)
        self._erased.append(self._survey.trace(commit_id, PLACES.get(column, column), count))

    def _keep_hashes(self) -> None:
        """Store the hash of what is left of each changed commit. One that was damaged before stays
        damaged."""
        whole = [commit_id for commit_id, is_whole in self._whole.items() if is_whole]
        for commit_id in self._whole.keys() - set(whole):
            self._survey.damage[self._survey.trace(commit_id, "damaged commit")] = None
        for row, parent, links in self._store.rows(whole):
            read = split(row)
            commit = read.commit
            total = commit_checksum(commit.usage, commit.calls, commit.created_at)
            self._run("UPDATE commits SET checksum = ? WHERE id = ?", (total, row[0]))
            keep_left(self._store.driver, commit.hash, row_hash(read, parent, links))
        self._whole.clear()

    # A text wherever it stands

    def erase_text(self, needle: Needle) -> None:
        contents = self._survey.contents(needle.may_be_in)
        counts = {blob_id: needle.count_json(content) for blob_id, content in contents}
        self._erase_contents({blob_id: count for blob_id, count in counts.items() if count})
        self._keep_hashes()
        for cells in (self._survey.commits, self._survey.links):
            for cell in cells(needle.may_be_in):
                if count := needle.count_json(cell.value):
                    left = _redacted(needle, cell)
                    self._set(cell.commit_id, cell.column, left, count, cell.position)
            self._keep_hashes()
        self._redact_tools(needle)
        self._redact_names(needle)
        for setting in list(self._survey.settings(needle.may_be_in)):
            self._redact_setting(needle, setting)
        dialogs = {old: new for (old, branch), new in self.renamed.items() if branch is None}
        self._redaction.erase_text(needle, dialogs, self._commits())
        self._name_sources()

    def _commits(self) -> set[str]:
        """The commits of which something was erased."""
        return {trace.commit for trace in self._erased if trace.commit is not None}

    def _redact_tools(self, needle: Needle) -> None:
        for tool in self._survey.tools(needle.may_be_in):
            if count := needle.count(tool.name) + needle.count_in_tool(tool.schema):
                name = needle.redact(tool.name)
                schema = checked_json(needle.redact_tool(tool.schema, tool.name))
                rewrite_definition(
                    self._store.driver, tool.row, escape(name), schema, seal=tool.is_whole
                )
                self._erased.append(Trace(place=tool_place(tool.row), count=count))

    # Dialogs and branches, which no hash covers

    def _redact_names(self, needle: Needle) -> None:
        all_names = list(self._survey.names())
        dialogs = {dialog for _, dialog, _ in all_names}
        for dialog_id, dialog, branches in all_names:
            new, others, taken = dialog, dict[str, str](), set(branches)
            for branch in branches:
                if count := needle.count(branch):
                    others[branch] = unique_name(needle.redact(branch), taken)
                    taken.add(others[branch])
                    self.renamed[dialog, branch] = others[branch]
                    self._erased.append(Trace(dialog, None, "name of a branch", count))
            if count := needle.count(dialog):
                new = unique_name(needle.redact(dialog), dialogs)
                dialogs.add(new)
                self.renamed[dialog, None] = new
                self._erased.append(Trace(dialog, None, "name of the dialog", count))
            if new != dialog or others:
                stored = {escape(old): escape(name) for old, name in others.items()}
                if not rename(self._store.driver, dialog_id, escape(new), stored):
                    self._survey.damage[Trace(new, None, "damaged names")] = None

    def _redact_setting(self, needle: Needle, setting: Setting) -> None:
        dialog, kind, stored, value, is_whole = setting
        count = needle.count_json(value)
        if not count:
            return
        if is_whole:
            self._store.dialogs.set_settings(dialog, kind, self._redacted_setting(needle, setting))
        else:  # with the wrong sum that it has
            self._run(f"UPDATE dialogs SET {kind} = ? WHERE name = ?", (stored[:8], escape(dialog)))
        self._erased.append(Trace(dialog, None, kind, count))

    def _redacted_setting(self, needle: Needle, setting: Setting) -> Json:
        value = setting.value
        if setting.kind == "facts" and (parent := self.renamed.get((value.get("parent"), None))):
            value = {**value, "parent": parent}
        left = needle.redact_json(value)
        is_usable = setting.kind != "facts" or _are_facts(left)
        return left if is_usable and not needle.count_json(left) else {}

    # Copies that remain

    def _phrases(self, blob_id: int) -> Phrases:
        try:
            return phrases_of(self._store.contents.value(blob_id))
        except (ForgottenError, *DAMAGED):
            return frozenset()

    def _look_for_copies(self, phrases: Phrases) -> None:
        """Name the places that have lines of an erased content."""
        survey = self._survey
        for blob_id, content in survey.contents(everything):
            if count := shared(phrases, content):
                for holder in survey.holders([blob_id]):
                    self._remember(holder.trace("content", count))
        for cells in (survey.commits, survey.links):
            for cell in cells(everything):
                if count := shared(phrases, cell.value):
                    self._remember(survey.trace(cell.commit_id, cell.place, count))
        for tool in survey.tools(everything):
            if count := shared(phrases, [tool.name, tool.schema]):
                self._remember(Trace(place=tool_place(tool.row), count=count))
        for setting in survey.settings(everything):
            if count := shared(phrases, setting.value):
                self._remember(Trace(setting.dialog, None, setting.kind, count))
        for _, dialog, branches in survey.names():
            if count := shared(phrases, dialog):
                self._remember(Trace(dialog, None, "name of the dialog", count))
            if count := shared(phrases, branches):
                self._remember(Trace(dialog, None, "name of a branch", count))
        for trace in self._redaction.copies(phrases):
            self._remember(trace)


def _backups(driver: Driver) -> list[Trace]:
    """The copies beside the file, which are not opened."""
    if not isinstance(driver, Sqlite) or driver.place == MEMORY:
        return []
    copies = files.beside(driver.place, ".bak") + files.beside(driver.place, files.PART)
    return [Trace(place=f"backup {Path(copy).name}") for copy in copies]


def _redacted(needle: Needle, cell: Cell) -> str | None:
    """What is left of a column. The keys of a provider go in full: they are only its format."""
    if not cell.is_readable or cell.column == "origin":
        return None
    if cell.column == "form":
        shape = unpack_shape(cell.stored)
        return pack_shape(replace(shape, text=needle.redact(shape.text or "")))
    if cell.column in NAMES:
        return escape(needle.redact(cell.value))
    left = needle.redact_json(cell.value)
    return None if needle.count_json(left) else checked_json(left)


def _made_by(metadata: str | None) -> Json:
    """Who made a summary."""
    try:
        return stored_json(metadata)["summary"]["made_by"]
    except DAMAGED:
        return None


def _are_facts(value: Json) -> bool:
    try:
        msgspec.convert(value, DialogFacts)
    except msgspec.ValidationError:
        return False
    return True


_CHANGES = """
SELECT c.operation, c.id, c.blob_id, c.metadata
FROM commit_links l JOIN commits c ON c.id = l.commit_id
WHERE l.kind = 'replaces' AND l.target_id IN"""

_MARKS = """
SELECT commit_id, position, CASE WHEN kind = 'form' THEN value END
FROM commit_links WHERE kind <> 'replaces' AND target_id IN"""

_FORMS_OF_EDITS = """
SELECT m.commit_id, m.position, m.value
FROM commit_links e JOIN commits c ON c.id = e.commit_id AND c.operation = 'edit'
JOIN commit_links m ON m.target_id = e.target_id AND m.commit_id > e.commit_id AND m.kind = 'form'
WHERE e.kind = 'replaces' AND e.commit_id IN"""
"""An edit is shown at its original's position: a mark names that."""

_BARE = """
SELECT codec FROM blobs
WHERE payload IS NULL AND preview IS NULL AND gist IS NULL AND id = ?"""

_TOMBSTONES = f"""
SELECT hash FROM blobs WHERE codec = {codec.FORGOTTEN} AND json_size > {INLINE_BELOW}"""
"""Forgotten contents that may have been objects."""
