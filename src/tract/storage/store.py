"""The one place that reads and writes histories. It handles rows and hashes, not their meaning."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from itertools import chain
from secrets import randbits
from threading import Event, RLock
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tract.errors import (
    AmbiguousPrefixError,
    CommitNotFoundError,
    ConflictError,
    CorruptError,
)
from tract.hashing import Json, checked_json, content_hash
from tract.model import (
    DECIDING,
    EMPTY,
    CommitInfo,
    Draft,
    Head,
    Link,
    Shape,
    Step,
    Toolset,
    unpack_shape,
)
from tract.storage.audit import Audit
from tract.storage.codec import FORGOTTEN, IN_OBJECTS, stored_gist
from tract.storage.contents import (
    ADD_GIST,
    INSERT_BLOB,
    REWRITE_BLOB,
    WITHOUT_PAYLOAD,
    Contents,
    is_left,
    put_chunks,
)
from tract.storage.dialogs import DIALOG_COLUMNS, Changes, Dialogs, Locked, Totals, verified
from tract.storage.driver import PAGE, Driver, Row, marks, pages
from tract.storage.grants import Grants
from tract.storage.objects import OBJECT_BYTES, Objects
from tract.storage.page import IN_PARTS, INSERT_COMMIT, Page, link_rows
from tract.storage.queue import QueueDriver
from tract.storage.receipts import Receipts
from tract.storage.rows import (
    AS_REFERENCE,
    INLINE_BELOW,
    LIST_COLUMNS,
    READ_COLUMNS,
    REST_COLUMNS,
    STEP_COLUMNS,
    WITH_REST,
    Beside,
    BlobRow,
    CommitRow,
    Written,
    as_datetime,
    blob_row,
    branch_checksum,
    commit_checksum,
    commit_row,
    draft_hash,
    listed_info,
    new_info,
    new_step,
    split,
    steps_of,
    stored_json,
    stored_name,
    unescape,
    unmatched,
    verify,
    verify_blob,
    written,
)
from tract.storage.tools import put_toolset, read_toolset, restore_definitions
from tract.storage.transactions import Transaction, transaction
from tract.storage.vocabulary import Vocabulary
from tract.storage.word_index import WordIndex

Made = TypeVar("Made")

_DIALOG = "(SELECT id FROM dialogs WHERE name = ?)"
_HEAD = """(SELECT erasures FROM tract_schema), d.result_settings,
    r.head_id, r.commit_hash, r.checksum, c.hash
    FROM dialogs d JOIN branches r ON r.dialog_id = d.id
    LEFT JOIN commits c ON c.id = r.head_id AND +c.dialog_id = r.dialog_id  -- + as below
    WHERE d.name = ?"""
_BRANCHES = f"SELECT d.branches, r.name, {_HEAD} ORDER BY r.name".replace("JOIN", "LEFT JOIN", 1)
"""A dialog without branches has one row too: none of them may be missed."""
FEW_KEYS, MANY_KEYS = 32, 512
"""Keys whose rows are read first, and at most at a time, if the chain has most of those before."""
MOST_WRITTEN = 32
"""Commits that are remembered as they were written, and those of one more transaction."""
given_up: ContextVar[Event | None] = ContextVar("given_up", default=None)
"""Set once the caller does not wait any more: nothing is written from then on."""


def check_wanted() -> None:
    """Refuse to begin a write that the caller does not wait for any more."""
    event = given_up.get()
    if event is not None and event.is_set():
        raise ConflictError("the call was cancelled; nothing was written")


class Stand(NamedTuple):
    """Where a dialog stands: a commit, and what was read with it."""

    head: Head
    result_settings: str | None
    """The settings for results of the dialog, as stored."""


class CheckedOut(NamedTuple):
    """What is checked out in a dialog."""

    branch: str
    detached: Head | None
    """The commit, if HEAD is detached."""
    stand: Stand | None
    """Else where the branch stands, if it exists."""


class CommitNotes(NamedTuple):
    """What was recorded with a commit, beside its content."""

    metadata: Json
    generation_config: Json
    usage: Json
    created_at: datetime | None = None


class Left(Struct, frozen=True):
    """Branches as a transaction left them."""

    stamp: object
    """What it left behind; see `Driver.stamp`."""
    branches: dict[tuple[str, str], Locked] = {}
    toolsets: dict[bytes, int] = {}
    written: dict[Head, tuple[Head, Written]] = {}
    """The last commits; these stay as they are until something is erased."""


class Store:
    """Dialogs, branches, commits and contents in one database. Threads may share it."""

    def __init__(
        self,
        driver: Driver,
        objects: Objects | None = None,
        object_bytes: int = OBJECT_BYTES,
    ) -> None:
        self.driver = driver
        self.objects = objects
        """Where contents above `object_bytes` are; None if all are in the database."""
        self._object_above = None if objects is None else object_bytes
        self.dialogs = Dialogs(driver)
        self.contents = Contents(driver, objects)
        self.grants = Grants(driver)
        self.audit = Audit(driver)
        self.receipts = Receipts(driver)
        self.words = WordIndex(driver, self.contents)
        self.vocabulary = Vocabulary(driver, self.words)
        self._page = Page(driver, self.words) if isinstance(driver, QueueDriver) else None
        self._run = driver.run
        self._lock_branch = driver.translate(_LOCK_BRANCH)
        self._lock_blob = driver.translate(_LOCK_BLOB)
        self._is_left = partial(is_left, driver)
        self._toolsets: dict[bytes, Toolset] = {}
        self._toolset_hashes: dict[int, bytes] = {}  # a key that was committed is never reused
        self._checked_out: dict[str, tuple[Row, CheckedOut]] = {}  # as last read and verified
        self._names: dict[int, str] = {}  # of dialogs that are written to; a key is never reused
        self.left = Left(None)
        self.first_prompts: dict[Hashable, str] = {}
        """Titles that `titles` has read."""
        self.erasures = 0
        """It changes whenever something is erased or comes back; as it was with the last head."""

    @property
    def lock(self) -> RLock:
        """Its holder has the connection alone."""
        return self.driver.lock

    @property
    def depth(self) -> int:
        """How many transactions are open, one inside the other. For the holder of the lock."""
        return self.driver.depth

    @property
    def identity(self) -> Hashable:
        """Equal for all that are open on one database."""
        return self.driver.identity

    @property
    def lane(self) -> Hashable:
        """Equal for all that have to wait for each other's transactions."""
        return self.driver.lane

    def writing(self, *, alone: bool = False) -> Transaction:
        return _Writing(self, alone)

    def begin_changes(self) -> None:
        """Begin to count what the outermost transaction changes."""
        self.dialogs.changes = Changes()
        if self._page:
            self._page.clear()

    def _as_left(self, names: tuple[str, str]) -> Locked | None:
        """A branch as the last transaction left it, if nothing was written since, by anyone: then
        it need not be read."""
        left = self.left
        branch = left.branches.get(names)
        return branch if branch and self.driver.stamp() == left.stamp else None

    def close(self) -> None:
        self.driver.close()

    def count_erasure(self) -> None:
        """Have all who read a history before read it again. Runs inside `writing`: a number that
        another transaction gets after this one is rolled back must not be the same."""
        self.dialogs.changes.erasures = randbits(62)
        self.dialogs.changes.toolsets.clear()

    def read_erasures(self) -> int:
        """The number as it is, whether or not a head was read."""
        for (erasures,) in self._run("SELECT erasures FROM tract_schema"):
            return int(erasures)
        raise CorruptError("the row of tract_schema is missing")

    def _notice(self, erasures: int) -> None:
        """The number that was read with a head, unless this transaction ends with another one."""
        erasures = self.dialogs.changes.erasures or erasures
        if erasures != self.erasures:
            self.erasures = erasures
            self._toolsets.clear()
            self.left = Left(None)

    # Branches

    def check_head(self, dialog: str, head: Head) -> Stand:
        """The head; CommitNotFoundError if it is no commit of this dialog."""
        sql = """SELECT (SELECT erasures FROM tract_schema), d.result_settings, c.hash
            FROM dialogs d JOIN commits c ON c.dialog_id = d.id WHERE c.id = ? AND d.name = ?"""
        for erasures, settings, digest in self._run(sql, (head.id, stored_name(dialog))):
            self._notice(erasures)
            return Stand(_head(*head, digest), settings)
        raise CommitNotFoundError(f"the commit that is checked out is gone: key {head.id}")

    def branches(self, dialog: str) -> dict[str, Head]:
        stored = stored_name(dialog)
        self.dialogs.settle()
        rows = self._run(_BRANCHES, (stored,))
        named = [(name, head) for _, name, _, _, *head in rows if name is not None]
        if rows and len(named) != rows[0][0]:
            raise CorruptError(f"dialog {dialog!r} has {rows[0][0]} branches, not {len(named)}")
        return {unescape(name): _branch_head((stored, name), *head) for name, head in named}

    def heads(self) -> dict[tuple[str, str], Head]:
        """The heads of all branches of all dialogs, by the names of both."""
        sql = """SELECT d.name, r.name, r.head_id, r.commit_hash, r.checksum
            FROM dialogs d JOIN branches r ON r.dialog_id = d.id"""
        self.dialogs.settle()
        return {
            (unescape(dialog), unescape(name)): _sealed_head((dialog, name), *head)
            for dialog, name, *head in self._run(sql)
        }

    def branch(self, dialog: str, name: str) -> Stand | None:
        names = stored_name(dialog), stored_name(name)
        with self.lock:
            locked = self.dialogs.changes.branches.get(names) if self.depth else None
            locked = locked or self._as_left(names)
        if locked:
            self._notice(locked.erasures)
            return Stand(locked.head, locked.result_settings)
        for erasures, settings, *head in self._run(f"SELECT {_HEAD} AND r.name = ?", names):
            self._notice(erasures)
            return Stand(_branch_head(names, *head), settings)
        return None

    def checked_out(self, dialog: str) -> CheckedOut | None:
        """What is checked out in a dialog. A row that is as it was when it was verified last needs
        no second look."""
        stored = stored_name(dialog)
        self.dialogs.settle()
        for row in self._run(_CHECKED_OUT, (stored,)):
            self._notice(row[0])
            known = self._checked_out.get(stored)
            if known is None or known[0] != row:
                if len(self._checked_out) >= PAGE:
                    self._checked_out.clear()
                known = self._checked_out[stored] = row, _checked_out(stored, row)
            return known[1]
        return None

    def lock_branch(self, dialog: str, name: str) -> Locked | None:
        """A branch, locked until the transaction ends."""
        names = stored_name(dialog), stored_name(name)
        changes = self.dialogs.changes
        locked = changes.branches.get(names)
        if locked is None:
            locked = self._as_left(names)
            if locked:
                changes.toolsets |= self.left.toolsets
            locked = locked or self._read_branch(names)
        if locked is None:
            return None
        changes.branches[names] = locked
        self._notice(locked.erasures)
        return locked

    def _read_branch(self, names: tuple[str, str]) -> Locked | None:
        for erasures, settings, dialog_id, *columns in self._run(self._lock_branch, names):
            head = _sealed_head(names, *columns)
            self._names[dialog_id] = names[0]
            return Locked(dialog_id, erasures, settings, head, head)
        return None

    def create_branch(self, dialog: str, name: str, head: Head) -> None:
        names = stored_name(dialog), stored_name(name)
        rows = self._run(_CREATE_BRANCH, (*names, *head, branch_checksum(*names, head)))
        if not rows:
            raise ConflictError(f"branch {name!r} exists already")
        self.dialogs.add(rows[0][0], Totals(branches=1))

    # Writing commits

    def find(
        self, dialog_id: int, head: Head, draft: Draft, shapes: Sequence[Shape | None] = ()
    ) -> Head | None:
        """The commit that the draft would be on this head, if the dialog has it; a result may have
        been written in one of these other shapes."""
        return self._find(dialog_id, _hashes(draft, head, shapes)[1])

    def _find(self, dialog_id: int, digests: Sequence[bytes]) -> Head | None:
        sql = f"SELECT id, hash FROM commits WHERE dialog_id = ? AND hash IN {marks(digests)}"
        return next((Head(*row) for row in self._run(sql, (dialog_id, *digests))), None)

    def append(self, dialog_id: int, branch: str, head: Head, draft: Draft) -> CommitInfo:
        """Write content, commit and links, and move the branch. Runs inside `writing`."""
        content = None if draft.payload is None else content_hash(draft.payload)
        digest = draft_hash(draft, head.hash, content)
        new, row, blob = self._insert(dialog_id, head, draft, content, digest)
        self.move_branch(dialog_id, branch, head, new)
        if row is None:
            return self.info(new)
        commits = self.dialogs.changes.written
        if self._page is None and len(commits) < MOST_WRITTEN:  # a page has no final keys
            commits[new] = head, written(row, blob, draft)
        return new_info(row, blob, head.hash, draft)

    def insert_once(
        self,
        dialog_id: int,
        head: Head,
        draft: Draft,
        shapes: Sequence[Shape | None] = (),
        *,
        is_leaf: bool = False,
    ) -> tuple[Head, bool]:
        """Write content, commit and links, unless the dialog has an equal commit, perhaps in
        another of these shapes. The commit, and whether it is new. The caller moves a branch to it
        in the same transaction. Behind a leaf there is none, so it is not searched for."""
        content, digests = _hashes(draft, head, () if is_leaf else shapes)
        known = None if is_leaf else self._find(dialog_id, digests)
        if known:
            if draft.usage is not None:
                self._add_usage(known, draft.usage)
            return known, False
        new, _, _ = self._insert(dialog_id, head, draft, content, digests[0])
        return new, True

    def _add_usage(self, commit: Head, usage: dict[str, Json]) -> None:
        """Complete an answer that was written before its usage was known."""
        sql = "SELECT calls, created_at FROM commits WHERE id = ? AND usage IS NULL"
        for calls, created_at in self._run(sql, (commit.id,)):
            stored = checked_json(usage)
            values = stored, commit_checksum(stored, calls, created_at), commit.id
            self._run("UPDATE commits SET usage = ?, checksum = ? WHERE id = ?", values)

    def _insert(
        self, dialog_id: int, head: Head, draft: Draft, content: bytes | None, digest: bytes
    ) -> tuple[Head, CommitRow | None, BlobRow | None]:
        """The commit, its row and that of its content; no rows if an equal commit exists, made on
        another branch."""
        blob_id = blob = toolset_id = waiting = None
        page = self._page if self._page and self._is_newest(head) else None
        if content:
            blob = blob_row(draft, content, self._object_above)
            placed = page.place(blob, draft) if page else None
            if placed:
                blob_id, blob, waiting = placed
            else:
                blob_id, blob = self._put_content(blob, draft)
        if draft.toolset:
            toolset_id = self._put_toolset(draft.toolset)
        row = commit_row(draft, dialog_id, head.id, blob_id, digest, toolset_id)
        active = toolset_id if toolset_id and draft.operation in DECIDING else None
        if page:
            commit_id: int | None = page.add(row, active, draft.links, waiting)
        else:
            commit_id = self.driver.insert(INSERT_COMMIT, (*row, active, row.parent_id))
            if draft.links and commit_id is not None:
                self.driver.insert_rows("commit_links", link_rows(commit_id, draft.links))
        if commit_id is None:
            return self._find(dialog_id, [digest]) or EMPTY, None, None
        self.dialogs.changes.newest = commit_id
        tokens, size = (blob.token_count, blob.text_size) if blob else (0, 0)
        self.dialogs.add(dialog_id, Totals(0, 1, tokens, size, row.is_error), row.created_at)
        return Head(commit_id, digest), row, blob

    def _is_newest(self, head: Head) -> bool:
        """Whether the transaction has just written this commit."""
        return head.id is not None and head.id == self.dialogs.changes.newest

    def _put_toolset(self, toolset: Toolset) -> int:
        """The key of a toolset. One that is stored is looked up once, as long as no one else
        writes: an agent has the same tools with every message."""
        known = self.dialogs.changes.toolsets
        if toolset.hash not in known:
            toolset_id = put_toolset(self.driver, toolset)
            self.restore_tools(toolset)
            known[toolset.hash] = toolset_id
        return known[toolset.hash]

    def _put_content(self, blob: BlobRow, draft: Draft) -> tuple[int, BlobRow]:
        """Return the key of the content, and its row as it is stored. A known content is not
        written again, unless it was forgotten: the counts of the first writer stay."""
        payload = draft.payload or b""
        gist = stored_gist(draft.gist, blob.hash) if draft.gist else None
        blob_id = self.driver.insert(INSERT_BLOB, (*blob, gist))
        if blob_id is None:
            blob_id, known = self._known_content(blob.hash)
            if known.codec != FORGOTTEN:
                verify_blob(known)
                if gist:
                    self._run(ADD_GIST, (gist, blob_id))
                return blob_id, known
            with self.recounting([blob_id]):
                self._run(REWRITE_BLOB, (*blob[1:], gist, blob_id))
            self.count_erasure()
            self.vocabulary.drop()  # it has the words of newer contents, but not those of this one
            self.words.restore(blob_id, payload)
        else:
            self.words.add(blob_id, blob.hash, payload)
        if self._page:
            self._page.stored.add(blob.hash)
        if self.objects and blob.codec in IN_OBJECTS:
            # It may have been uploaded before, and deleted since. From here on, no one deletes it.
            self.objects.ensure(blob.hash, payload)
        if blob.codec in IN_PARTS:
            put_chunks(self.driver, blob_id, blob, payload)
        return blob_id, blob

    def upload(self, payload: bytes | None) -> None:
        """Upload a content, if it becomes an object and is not stored yet. Called before the
        transaction that commits it, so that no one waits for the network with a lock."""
        if payload and self.objects and len(payload) > (self._object_above or 0):
            digest = content_hash(payload)
            if not self._stored([digest]):
                self.objects.put(digest, payload)

    def delete_objects(self, digests: Sequence[bytes]) -> None:
        """Delete the objects of these contents, except of those that are stored. No one else writes
        meanwhile: whoever commits a content has its object in the same transaction."""
        objects = self.objects
        if objects is None:
            return
        for page in pages(digests):
            with transaction(self.driver, alone=True):
                stored = self._stored(page)
                objects.delete([digest for digest in page if digest not in stored])

    def _stored(self, digests: Sequence[bytes]) -> set[bytes]:
        """Which of these contents are stored, and not forgotten."""
        sql = f"SELECT hash FROM blobs WHERE codec <> {FORGOTTEN} AND hash IN"
        return {digest for (digest,) in self.driver.run_in(sql, digests)}

    def _known_content(self, digest: bytes) -> tuple[int, BlobRow]:
        """The key and the row of a content that is stored. If it was forgotten, the row is locked:
        another writer may store it again at the same time."""
        [(blob_id, *columns)] = self._run(f"{WITHOUT_PAYLOAD} WHERE hash = ?", (digest,))
        if BlobRow._make(columns).codec == FORGOTTEN:
            [(_, *columns)] = self._run(self._lock_blob, (digest,))
        return blob_id, BlobRow._make(columns)

    @contextmanager
    def recounting(self, blob_ids: Sequence[int]) -> Iterator[None]:
        """Keep the totals of dialogs true while contents become tombstones, or contents again."""
        self._count(blob_ids, -1)
        yield
        self._count(blob_ids, 1)

    def _count(self, blob_ids: Sequence[int], sign: int) -> None:
        for dialog_id, tokens, size in list(self.driver.run_in(_SIZES, blob_ids)):
            self.dialogs.add(dialog_id, Totals(tokens=sign * tokens, bytes=sign * size))

    def move_branch(self, dialog_id: int, name: str, old: Head, new: Head) -> None:
        """Have a branch stand at another commit. One that is locked is written when the transaction
        ends, however often it is moved."""
        names, branches = (self._names[dialog_id], stored_name(name)), self.dialogs.changes.branches
        if names not in branches:
            self.dialogs.move_branch(dialog_id, names, old, new)
        elif branches[names].head == old:
            branches[names] = branches[names].at(new)
        else:
            raise CorruptError(f"branch {name!r} has moved")

    def result_shapes(self, dialog_id: int) -> list[Shape | None]:
        """The forms in which results of a dialog were committed."""
        sql = "SELECT DISTINCT form FROM commits WHERE dialog_id = ? AND role = 'tool'"
        shapes = [form and unpack_shape(form) for (form,) in self._run(sql, (dialog_id,))]
        return [shape for shape in shapes if shape is None or not shape.is_verbatim]

    # Reading commits

    def resolve(self, dialog: str, names: Sequence[str]) -> list[Head]:
        """The commits of this dialog with these hashes or unambiguous prefixes."""
        prefixes = [name.strip().lower() for name in names]
        for name, prefix in zip(names, prefixes, strict=True):
            if not prefix or len(prefix) > 64 or set(prefix) - set("0123456789abcdef"):
                raise CommitNotFoundError(f"{name[:80]!r} is not a commit hash")
        return [head for page in pages(prefixes) for head in self._resolve(dialog, page)]

    def _resolve(self, dialog: str, prefixes: Sequence[str]) -> Iterator[Head]:
        ranges = [(n, p.ljust(64, "0"), p.ljust(64, "f")) for n, p in enumerate(prefixes)]
        values = [(n, bytes.fromhex(low), bytes.fromhex(high)) for n, low, high in ranges]
        # A column that only the table has: the index alone may lead to a row that is none.
        sql = f"""WITH wanted (n, low, high) AS (VALUES {", ".join(map(marks, values))})
            SELECT n, c.id, c.hash, c.operation FROM wanted CROSS JOIN commits c
            WHERE c.dialog_id = {_DIALOG} AND c.hash BETWEEN low AND high LIMIT ?"""
        # Two rows for a prefix make it ambiguous: no more are needed.
        limit = 2 * len(values) + 1
        rows = self._run(sql, [*(v for row in values for v in row), stored_name(dialog), limit])
        matches: list[list[Row]] = [[] for _ in prefixes]
        for number, commit_id, digest, _ in rows:
            matches[number].append((commit_id, digest))
        for prefix, commits in zip(prefixes, matches, strict=True):
            if not all(isinstance(d, bytes) and d.hex().startswith(prefix) for _, d in commits):
                raise CorruptError(f"the index of commits is damaged: {prefix} finds another one")
            if len(commits) > 1:
                some = ", ".join(digest.hex()[: len(prefix) + 4] for _, digest in commits[:3])
                raise AmbiguousPrefixError(f"{prefix} names several commits: {some}")
        for prefix, commits in zip(prefixes, matches, strict=True):
            if not commits:
                raise CommitNotFoundError(f"no commit {prefix} in this dialog")
            yield Head(*commits[0])

    def info(self, commit: Head) -> CommitInfo:
        return self.infos([commit])[0]

    def infos(self, commits: Sequence[Head]) -> list[CommitInfo]:
        """The commits, in the same order. They are made page by page: rows of all of them together
        would make each pass of the garbage collector longer."""
        return [info for page in pages(commits) for info in self._infos(page)]

    def _infos(self, commits: Sequence[Head]) -> list[CommitInfo]:
        rows = list(self.driver.run_in(f"{_LISTED} WHERE c.id IN", _keys(commits)))
        infos = self._listed([row[:-1] for row in rows], [row[-1] for row in rows])
        return _in_order(commits, zip(rows, infos, strict=True))

    def notes(self, commits: Sequence[Head]) -> list[CommitNotes]:
        """The notes of commits, in the same order. It takes half the time, since no content is
        parsed."""
        rows = self.rows(_keys(commits))
        notes = ((row, self._notes(row, parent, links)) for row, parent, links in rows)
        return _in_order(commits, notes)

    def _listed(self, rows: Sequence[Row], parents: Iterable[bytes | None]) -> Iterator[CommitInfo]:
        """The commits in rows of LIST_COLUMNS, each with the hash of its parent."""
        beside, is_left, read = self._beside(rows), self._is_left, self.contents.value
        for row, parent in zip(rows, parents, strict=True):
            yield listed_info(row, beside, parent, is_left, read)

    def rows(self, ids: Sequence[int]) -> Iterator[tuple[Row, bytes | None, tuple[Link, ...]]]:
        """The rows of commits as they are, each with the hash of its parent and its links."""
        rows = list(self.driver.run_in(f"{_WITH_PARENT} WHERE c.id IN", ids))
        links = self._links([row[0] for row in rows if row[3] != "append"])
        for *row, parent in rows:
            yield tuple(row), parent, links.get(row[0], ())

    def log(self, head_id: int | None, page: int = PAGE) -> Iterator[CommitInfo]:
        """Newest first, a page at a time; commits that are appended meanwhile do not matter."""
        return chain.from_iterable(infos for _, infos in self._log_pages(head_id, page))

    def keyed_log(self, head_id: int | None, page: int = PAGE) -> Iterator[tuple[int, CommitInfo]]:
        """The same with the key of each commit. A commit has a larger key than its parent."""
        for rows, infos in self._log_pages(head_id, page):
            yield from zip([row[0] for row in rows], infos, strict=True)

    def _log_pages(
        self, head_id: int | None, page: int
    ) -> Iterator[tuple[Sequence[Row], Iterator[CommitInfo]]]:
        last: list[Row] = []  # its parent is not read yet
        for new in self._chain_pages(_LIST, head_id, page=page):
            rows = [*last, *new]
            yield rows[:-1], self._listed(rows[:-1], [row[1] for row in rows[1:]])
            last = rows[-1:]
        if head_id is not None and not last:
            raise CorruptError(f"a commit is missing: key {head_id}")
        yield last, self._listed(last, [None] * len(last))

    def _notes(self, row: Row, parent: bytes | None, links: tuple[Link, ...]) -> CommitNotes:
        read = split(row)
        verify(read, parent, links, self._is_left)
        commit = read.commit
        return CommitNotes(
            stored_json(commit.metadata),
            stored_json(commit.generation_config),
            stored_json(commit.usage),
            as_datetime(commit.created_at),
        )

    def steps(self, head: Head, known: Head = EMPTY) -> list[Step] | None:
        """The chain from the root to the head, verified, with short contents. With `known`, the
        steps after it; None if the head is not a descendant of it."""
        new = self._new_steps(head, known)
        if new:
            return new
        reading = _Reading()
        for page in self._chain_pages(_STEPS, head.id, known.id or 0, meanwhile=reading.verify):
            rows = reading.take(page)
            reading.unverified = rows, self._beside(rows)
        reading.verify()
        for digest, left in reading.doubts:
            if not self._is_left(digest, left):
                raise unmatched(digest)
        oldest = reading.oldest
        if known.id and (not oldest or oldest[0][:2] != known):
            return None
        first = [] if known.id else self._steps(oldest, None)
        steps = list(chain(first, *reversed(reading.pages)))
        if not steps or steps[-1].hash != head.hash:
            raise CorruptError(f"a commit is missing: key {head.id}")
        return steps

    def _new_steps(self, head: Head, known: Head) -> list[Step]:
        """The steps after a commit, if the last transactions have written all of them."""
        commits, steps = self.left.written, list[Step]()
        while head != known:
            if head not in commits:
                return []
            parent, commit = commits[head]
            steps.append(new_step(head.id or 0, commit))
            head = parent
        return steps[::-1]

    def _chain_pages(
        self,
        sql: _ChainQueries,
        head_id: int | None,
        first_id: int = 0,
        page: int = MANY_KEYS,
        meanwhile: Callable[[], None] | None = None,
    ) -> Iterator[list[Row]]:
        """The rows of a chain from the newest to a key, page by page. Most of its keys follow each
        other, so it is read by ranges of keys; where others write in between, parents are followed
        row by row. While a server reads the second page, or a later one, `meanwhile` is called."""
        wanted, size, work = head_id, min(FEW_KEYS, page), None
        while wanted is not None and wanted >= first_id:
            start = max(first_id, wanted - size + 1)
            span, rows = wanted - start + 1, list[Row]()
            in_range = self._read(sql.range, (start, wanted, head_id), work)
            wanted = _descend(in_range, wanted, rows)
            if rows:
                yield rows
            work = meanwhile
            if 2 * len(rows) < span:
                break
            size = min(4 * size, page)
        while wanted is not None and wanted >= first_id:
            rows = sorted(self._read(sql.chain, (wanted, first_id, page), work), reverse=True)
            if not rows:
                return
            yield rows
            wanted = _older(rows[-1])

    def _read(
        self, sql: str, values: Sequence[object], meanwhile: Callable[[], None] | None
    ) -> list[Row]:
        if meanwhile is None:
            return self._run(sql, values)
        with self.driver.ahead(sql, values) as rows:
            meanwhile()
            return rows()

    def _steps(self, rows: Sequence[Row], parent: bytes | None) -> list[Step]:
        return steps_of(rows, self._beside(rows), parent, self._is_left)

    def _beside(self, rows: Sequence[Row]) -> Beside:
        kinds = {row[-1] for row in rows}
        keys = [row[0] for row in rows if row[-1] == WITH_REST] if WITH_REST in kinds else []
        rests = {row[0]: row[1:] for row in self.driver.run_in(_RESTS, keys)}
        links = self._links([key for key, rest in rests.items() if rest[0] != "append"])
        toolsets = self._hashes_of(kinds - {0, WITH_REST, AS_REFERENCE})
        return Beside(rests, toolsets, links)

    def _hashes_of(self, toolsets: Set[int]) -> Mapping[int, bytes]:
        """The hashes of toolsets by their keys, and perhaps of others. Each is read once: an agent
        has the same tools in every turn."""
        known = self._toolset_hashes
        if toolsets <= known.keys():
            return known
        sql = "SELECT id, hash FROM toolsets WHERE id IN"
        read: dict[int, bytes] = dict(self.driver.run_in(sql, [*toolsets]))
        if not self.depth:  # inside a transaction they may not be committed yet
            known |= read
        return {**known, **read}

    def step(self, commit: Head) -> Step:
        """One commit, as a step of its chain."""
        return self.steps_at([commit])[0]

    def steps_at(self, commits: Sequence[Head]) -> list[Step]:
        """Commits that need not follow each other, as steps of their chains, in the same order."""
        rows = list(self.driver.run_in(f"{_STEP} WHERE c.id IN", _keys(commits)))
        beside = self._beside([row[:-1] for row in rows])
        steps = (steps_of([row[:-1]], beside, row[-1], self._is_left)[0] for row in rows)
        return _in_order(commits, zip(rows, steps, strict=True))

    def has_result(self, dialog: str, call_id: str) -> bool:
        """Whether any branch of a dialog has a result of this call. Nothing else is read of it."""
        return bool(self._run(_HAS_RESULT, (stored_name(dialog), stored_name(call_id))))

    def metadata(self, commit: Head) -> Json:
        """The metadata of a commit as the caller passed it."""
        for row, parent, links in self.rows([commit.id or 0]):
            read = split(row)
            verify(read, parent, links, self._is_left)
            if read.commit.hash == commit.hash:
                return stored_json(read.commit.metadata)
        raise CorruptError(f"a commit is missing: key {commit.id}")

    def usages(self, dialog: str) -> Iterator[CommitInfo]:
        """The commits of a dialog that have a usage."""
        self.dialogs.settle()
        rows = self._run(_USAGES, (stored_name(dialog),))
        count = len({row[3] for row in rows} - {None})  # an index may repeat one
        for row in rows[:1]:
            _check_counts(dialog, row[:3], count)
        answers: list[Head] = []
        for *_, commit_id, digest, usage, calls, created_at, checksum in rows if count else ():
            if checksum != commit_checksum(usage, calls, created_at):
                raise CorruptError(f"commit {digest.hex()}: calls, usage or time were altered")
            if usage is not None:
                answers.append(Head(commit_id, digest))
        for page in pages(answers):
            yield from self.infos(page)

    def count_messages(self, dialog: str) -> int:
        """How many messages were appended to a dialog, on all branches. The rows are counted and
        not read."""
        self.dialogs.settle()
        for *counted, count, messages in self._run(_COUNT_MESSAGES, (stored_name(dialog),)):
            _check_counts(dialog, counted, count)
            return int(messages)
        return 0

    def _links(self, changes: Sequence[int]) -> dict[int, tuple[Link, ...]]:
        """The links of these commits."""
        links: dict[int, tuple[Link, ...]] = {}
        for page in pages(changes):
            links |= _by_commit(self._run(f"{_LINKS} IN {marks(page)} {_IN_ORDER}", page))
        return links

    def verify_commits(self) -> tuple[int, list[str]]:
        """Check all commits of all dialogs; their number, and the problems."""
        last, count, problems = 0, 0, []
        while rows := self._run(_ALL, (last, PAGE)):
            links = self._links([row[0] for row in rows if row[3] != "append"])
            for row in rows:
                try:
                    verify(split(row[:-1]), row[-1], links.get(row[0], ()), self._is_left)
                except CorruptError as error:
                    problems.append(str(error))
            count, last = count + len(rows), rows[-1][0]
        return count, problems

    # Tools

    def restore_tools(self, toolset: Toolset) -> None:
        """Write definitions again of which something was erased. Runs inside `writing`."""
        if restore_definitions(self.driver, toolset.tools):
            self.count_erasure()

    def toolset(self, digest: bytes) -> Toolset:
        """The toolset with this hash, verified. Toolsets are few, and read once."""
        toolset = self._toolsets.get(digest) or read_toolset(self.driver, digest)
        if not self.driver.depth:  # inside a transaction it may not be committed yet
            self._toolsets[digest] = toolset
        return toolset


class _Reading:
    """The rows of a chain, newest first: a page is verified while the next one is on its way."""

    def __init__(self) -> None:
        self.oldest: list[Row] = []
        """The last row that was read: it is verified when the hash of its parent is known."""
        self.unverified: tuple[list[Row], Beside] | None = None
        """Rows from the oldest to the newest."""
        self.pages: list[list[Step]] = []
        self.doubts: list[tuple[bytes, bytes]] = []
        """Hashes of commits, each with that of what is there: perhaps something was erased."""

    def take(self, page: list[Row]) -> list[Row]:
        """The rows of a page whose parents were read, from the oldest to the newest."""
        rows = [*self.oldest, *page]
        self.oldest = rows[-1:]
        return rows[-2::-1]

    def verify(self) -> None:
        """Runs while the connection is busy, so nothing is looked up."""
        if self.unverified:
            steps = steps_of(*self.unverified, self.oldest[0][1], self._doubt)
            self.pages.append(steps)
            self.unverified = None

    def _doubt(self, digest: bytes, left: bytes) -> bool:
        self.doubts.append((digest, left))
        return True


class _Writing(Transaction):
    """A transaction that counts what it changes, and writes that when it ends."""

    _before: Changes | None = None

    def __init__(self, store: Store, alone: bool) -> None:
        super().__init__(store.driver, alone)
        self._store = store

    def start(self) -> None:
        check_wanted()
        if self.depth:
            self._before = self._store.dialogs.changes.copy()
        else:
            self._store.begin_changes()

    def finish(self) -> None:
        """After an erasure, branches have to be read again."""
        if not self.depth:
            store, changes = self._store, self._store.dialogs.changes
            branches = store.dialogs.flush()
            if changes.erasures:
                store.left = Left(None)
                return
            commits = store.left.written if len(store.left.written) < MOST_WRITTEN else {}
            commits |= changes.written
            store.left = Left(self.driver.stamp(), branches, changes.toolsets, commits)

    def abandon(self) -> None:
        self._store.dialogs.changes = self._before or Changes()
        self._store.left = Left(None)


def _keys(commits: Sequence[Head]) -> list[int]:
    return list(dict.fromkeys(commit.id or 0 for commit in commits))


def _in_order(commits: Sequence[Head], made: Iterable[tuple[Row, Made]]) -> list[Made]:
    """What was made of the rows of these commits, in their order."""
    wanted = {commit.id or 0: commit.hash for commit in commits}
    values: dict[int, Made] = {}
    for row, value in made:
        if row[1] != wanted[row[0]]:
            raise CorruptError(f"the index of commits is damaged at key {row[0]}")
        values[row[0]] = value
    missing = wanted.keys() - values.keys()
    if missing:
        raise CorruptError(f"a commit is missing: key {min(missing)}")
    return [values[commit.id or 0] for commit in commits]


def _descend(rows: list[Row], wanted: int, ancestors: list[Row]) -> int | None:
    """Add to a chain those of its rows that are among these, the newest first. The next key."""
    keys, parents = [row[0] for row in rows], [row[2] for row in rows]
    if keys and keys[0] == wanted and parents[:-1] == keys[1:]:  # nothing came in between
        ancestors += rows
        return _older(rows[-1])
    following: int | None = wanted
    for row in rows:
        if row[0] == following:
            ancestors.append(row)
            following = _older(row)
    return following


def _older(row: Row) -> int | None:
    """The key of the parent, which is older; a damaged file may say otherwise."""
    return row[2] if row[2] is not None and row[2] < row[0] else None


def _checked_out(dialog: str, row: Row) -> CheckedOut:
    """What is checked out, from a row of _CHECKED_OUT, verified."""
    _, branch_of, *columns = row
    own, head = verified(dialog, columns[:-4]), columns[-4:]
    branch, detached = unescape(own.branch), Head(own.detached_id, own.detached_hash)
    if detached != EMPTY or branch_of is None:
        return CheckedOut(branch, None if detached == EMPTY else detached, None)
    stand = Stand(_branch_head((dialog, own.branch), *head), own.result_settings)
    return CheckedOut(branch, None, stand)


def _hashes(
    draft: Draft, head: Head, shapes: Sequence[Shape | None] = ()
) -> tuple[bytes | None, list[bytes]]:
    """The hash of the draft on this head, and those of a result in other shapes."""
    content = None if draft.payload is None else content_hash(draft.payload)
    digests = [draft_hash(draft, head.hash, content)]
    if shapes and draft.message and draft.message.role == "tool":
        others = [replace(draft, shape=shape) for shape in shapes if shape != draft.shape]
        digests += [draft_hash(other, head.hash, content) for other in others]
    return content, digests


def _check_counts(dialog: str, counted: Sequence[int], commits: int) -> None:
    """Refuse to list a dialog of which a commit is not readable, with the columns of _COUNTED."""
    branches, readable, expected = counted
    if readable != branches:
        raise CorruptError(f"dialog {dialog!r} has {branches} branches, not {readable}")
    if commits != expected:
        raise CorruptError(f"dialog {dialog!r} has {expected} commits, not {commits}")


def _by_commit(rows: Iterable[Row]) -> dict[int, tuple[Link, ...]]:
    links: dict[int, list[Link]] = {}
    for commit_id, *link in rows:
        links.setdefault(commit_id, []).append(Link(*link))
    return {commit_id: tuple(some) for commit_id, some in links.items()}


def _branch_head(names: tuple[str, str], commit_id: Any, digest: Any, *sums: Any) -> Head:
    """The head of a branch, with the stored names, checked in every way."""
    checksum, actual = sums
    return _head(*_sealed_head(names, commit_id, digest, checksum), actual)


def _sealed_head(names: tuple[str, str], commit_id: Any, digest: Any, checksum: Any) -> Head:
    head = Head(commit_id, digest)
    if branch_checksum(*names, head) != checksum:
        raise CorruptError(f"branch {names[1]!r:.80}: its name or its head was altered")
    return head


def _head(commit_id: int | None, digest: bytes | None, actual: bytes | None) -> Head:
    """A pointer, checked against the hash of the commit that it points to."""
    if digest != actual or (commit_id is None) != (digest is None):
        raise CorruptError(f"a branch or checkout points to a wrong commit: key {commit_id!r:.80}")
    return Head(commit_id, digest)


_DIALOG_COLUMNS = ", ".join(f"d.{name}" for name in DIALOG_COLUMNS.split(", "))
_CHECKED_OUT = f"""
SELECT (SELECT erasures FROM tract_schema), r.dialog_id, {_DIALOG_COLUMNS}, d.checksum,
    r.head_id, r.commit_hash, r.checksum, c.hash
FROM dialogs d LEFT JOIN branches r ON r.dialog_id = d.id AND r.name = d.branch
LEFT JOIN commits c ON c.id = r.head_id AND +c.dialog_id = r.dialog_id WHERE d.name = ?"""

_LOCK_BRANCH = """
SELECT (SELECT erasures FROM tract_schema), d.result_settings,
    r.dialog_id, r.head_id, r.commit_hash, r.checksum
FROM branches r JOIN dialogs d ON d.id = r.dialog_id
WHERE d.name = ? AND r.name = ? {lock}"""

_LOCK_BLOB = f"{WITHOUT_PAYLOAD} r WHERE hash = ? {{lock}}"

_CREATE_BRANCH = f"""
INSERT INTO branches (dialog_id, name, head_id, commit_hash, checksum)
VALUES ({_DIALOG}, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING dialog_id"""

_SIZES = """
SELECT c.dialog_id, b.token_count, b.text_size FROM commits c JOIN blobs b ON b.id = c.blob_id
WHERE b.id IN"""

_BLOB = "LEFT JOIN blobs b ON b.id = c.blob_id"
_PARTS = f"{_BLOB} LEFT JOIN toolsets s ON s.id = c.toolset_id"
_INLINE = f"CASE WHEN b.json_size <= {INLINE_BELOW} THEN b.payload END"
_ROW = READ_COLUMNS.replace("b.payload", _INLINE)


class _ChainQueries(NamedTuple):
    """Two ways to read a chain."""

    range: str
    chain: str


def _chain_queries(columns: str) -> _ChainQueries:
    in_range = f"""
SELECT {columns} FROM commits c {_BLOB}
WHERE c.id BETWEEN ? AND ?
    AND +c.dialog_id = (SELECT dialog_id FROM commits WHERE id = ?)  -- + rules out its index
ORDER BY c.id DESC"""
    return _ChainQueries(in_range, f"{_CHAIN} SELECT {columns} {_OF_CHAIN}")


_CHAIN = """
WITH RECURSIVE chain (id, parent_id, place) AS (
    SELECT id, parent_id, 1 FROM commits WHERE id = ?
    UNION ALL
    SELECT c.id, c.parent_id, place + 1 FROM chain JOIN commits c ON c.id = chain.parent_id
    WHERE c.id >= ? AND c.id < chain.id  -- a parent is older; a damaged file may say otherwise
        AND place < ?
)"""
_OF_CHAIN = f"FROM chain JOIN commits c ON c.id = chain.id {_BLOB}"
_STEPS, _LIST = _chain_queries(STEP_COLUMNS), _chain_queries(LIST_COLUMNS)

_RESTS = f"""
SELECT c.id, {REST_COLUMNS} FROM commits c LEFT JOIN toolsets s ON s.id = c.toolset_id
WHERE c.id IN"""

_STEP = f"""
SELECT {STEP_COLUMNS}, p.hash FROM commits c {_BLOB}
LEFT JOIN commits p ON p.id = c.parent_id"""

_LISTED = f"""
SELECT {LIST_COLUMNS}, p.hash FROM commits c {_BLOB}
LEFT JOIN commits p ON p.id = c.parent_id AND p.dialog_id = c.dialog_id"""

_WITH_PARENT = f"""
SELECT {_ROW}, p.hash FROM commits c {_PARTS}
LEFT JOIN commits p ON p.id = c.parent_id AND p.dialog_id = c.dialog_id"""
_ALL = f"{_WITH_PARENT} WHERE c.id > ? ORDER BY c.id LIMIT ?"

_HAS_RESULT = """
SELECT 1 FROM dialogs d JOIN commits c ON c.dialog_id = d.id
WHERE d.name = ? AND c.tool_call_id = ? LIMIT 1"""

_COUNTED = """d.branches, (SELECT count(*) FROM branches r WHERE r.dialog_id = d.id),
    d.commits + coalesce((SELECT sum(r.commits) FROM branches r WHERE r.dialog_id = d.id), 0)"""
"""How many branches a dialog had when they were counted, how many it has, and how many commits were
counted."""

_USAGES = f"""
SELECT {_COUNTED}, c.id, c.hash, c.usage, c.calls, c.created_at, c.checksum
FROM dialogs d LEFT JOIN commits c ON c.dialog_id = d.id WHERE d.name = ? ORDER BY c.id"""

_COUNT_MESSAGES = f"""
SELECT {_COUNTED}, count(c.id), count(CASE WHEN c.operation = 'append' THEN 1 END)
FROM dialogs d LEFT JOIN commits c ON c.dialog_id = d.id WHERE d.name = ? GROUP BY d.id"""

_LINKS = """
SELECT l.commit_id, l.kind, l.target_id, t.hash, l.value
FROM commit_links l JOIN commits t ON t.id = l.target_id
WHERE l.commit_id"""
_IN_ORDER = "ORDER BY l.commit_id, l.position"
