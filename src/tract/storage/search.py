"""Search: the commits whose contents have a text, newest first. The word index names contents that
may have it, and their texts decide."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from heapq import nlargest
from typing import NamedTuple

import msgspec

from tract.content.terms import LONG, UNREADABLE, Match, Need, Terms, text_of
from tract.errors import CorruptError, ForgottenError, InputError, StorageError
from tract.hashing import escape
from tract.model import EMPTY, CommitInfo, DialogFacts, Head
from tract.storage.driver import Row
from tract.storage.rows import as_datetime, unescape
from tract.storage.store import Store
from tract.storage.transactions import snapshot

SEARCH_PAGE = 50
"""Commits that are read before the hits in them are returned."""
WALK = 2000
"""Commits that are compared with the index at a time; up to so many contents, the commits of each
are looked up instead."""
KEYS = 50_000
"""Keys of one dialog that are read at a time. No index has them in their order, so that each time
all of them are looked at."""
SMALL = 200
"""A database with so few contents is read in full, which verifies all of it."""
NEWEST_PAGES = 10
"""Pages of the newest commits that are read first, if there are many hits."""
MOST_NEEDS = 10
"""Of the words that are asked for, the longest are looked up: the texts decide about the others."""
ENOUGH = 100
"""So many contents are read rather than narrowed down further."""
MOST_WORDS, EDGE_WORDS = 1000, 50
"""Words with a part, of which each is looked up; and if other words are looked up too."""
NEWEST, BEST = ORDERS = ("newest", "best")
MOST_RANKED = 1000
"""Of all hits, those with most matches that are returned."""
CATCH_UP_SECONDS = 0.5
"""How long each search indexes contents that are not indexed yet."""


class Hit(msgspec.Struct, frozen=True):
    """A commit that a search returns."""

    dialog: str
    commit_hash: str
    role: str
    name: str | None
    """Of the tool, if it is a result, or of the author."""
    snippet: str
    created_at: datetime
    spans: tuple[tuple[int, int], ...] = ()
    """Where the terms stand in the snippet: the first character, and the one after the last."""
    count: int = 1
    """How often they stand in the content."""
    is_error: bool = False
    title: str | None = None
    """Of the dialog, if it was imported."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which commits a search is about."""

    tool: str | None = None
    """Results of this tool, and messages that call it."""
    role: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    project: str | None = None
    """A part of the folder of an imported dialog."""
    errors: bool = False
    """Only results that are flagged as errors."""

    @classmethod
    def of(
        cls,
        tool: str | None = None,
        role: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        errors: bool = False,
    ) -> Filters:
        """A time without a zone is local."""
        since, until = (at and at.astimezone(UTC) for at in (since, until))
        return cls(tool=tool, role=role, since=since, until=until, project=project, errors=errors)

    def may_accept(self, role: str | None, is_error: int, created_at: int) -> bool:
        """Whether a commit with these columns is worth reading."""
        at = as_datetime(created_at)
        return (
            self.role in (None, role)
            and (not self.errors or bool(is_error))
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )

    def accept(self, info: CommitInfo) -> bool:
        """The same, and the tool, for a commit that was verified."""
        return self.tool is None or self.tool in _tools(info)


def _tools(info: CommitInfo) -> list[object]:
    if info.role == "tool":
        return [info.name]
    calls = info.metadata.get("tool_calls")
    return [call["name"] for call in calls] if isinstance(calls, list) else []


class Wanted(NamedTuple):
    """What is looked up in the index."""

    words: list[list[str]]
    """Of each of these lists, a content must have a word."""
    covered: int | None
    """Later contents have words that are not in these lists; None if there are none."""


class Candidates(NamedTuple):
    """The contents that may have what is searched for."""

    ids: frozenset[int]
    ranges: tuple[tuple[int, int], ...]
    """Contents that the index says nothing about: those after one key, up to another."""

    @property
    def size(self) -> int:
        return len(self.ids) + sum(until - after for after, until in self.ranges)

    def __contains__(self, blob_id: object) -> bool:
        return blob_id in self.ids or (
            isinstance(blob_id, int)
            and any(after < blob_id <= until for after, until in self.ranges)
        )


class _UnindexedError(Exception):
    """Why the index cannot answer."""


class Search:
    """One search, an iterator of hits."""

    def __init__(
        self,
        store: Store,
        text: str,
        *,
        dialog: str | None = None,
        before: Head = EMPTY,
        filters: Filters | None = None,
        order: str = NEWEST,
        covers: Callable[[str], bool] = lambda _: True,
        use_index: bool = True,
    ) -> None:
        self.note: str | None = None
        """Why messages are read one by one, or which hits are not returned, once that is known."""
        self.store, self._terms, self._dialog = store, Terms(text), dialog
        self._filters, self._last = filters or Filters(), before.id or _NEWEST
        self._covers = covers  # whether a dialog is one of those that the caller may read
        self._facts: dict[str, DialogFacts] = {}
        self._own: list[int] = []  # keys of the dialog that were read, oldest first
        if order not in ORDERS:
            raise InputError(f"unknown order {order!r:.80}; expected one of {', '.join(ORDERS)}")
        hits = self._search(use_index)
        self._hits = iter(hits) if order == NEWEST else self._best(hits)

    def __iter__(self) -> Iterator[Hit]:
        return self

    def __next__(self) -> Hit:
        return next(self._hits)

    def _search(self, use_index: bool) -> Generator[Hit]:
        candidates = None
        try:
            wanted = self._wanted() if use_index and self._newest() > SMALL else None
            candidates = None if wanted is None else self._find(wanted, WALK + 1)
        except _UnindexedError as reason:
            wanted, self.note = None, f"{_READ}{reason}"
        except CorruptError as error:
            wanted, self.note = None, f"{_READ}the word index is damaged ({error})"
        except StorageError as error:
            wanted, self.note = None, f"{_READ}the word index cannot be written ({error})"
        if wanted is None or candidates is None:
            return (yield from self._scan())
        if len(candidates.ids) > WALK and self._is_short():
            return (yield from self._scan())
        last = self._last
        if len(candidates.ids) > WALK:  # there are so many that some are among the newest
            last = yield from self._read_newest(last)
            candidates = self._find(wanted, _NEWEST)
        if self._dialog is not None:
            self.store.dialogs.checked_out(self._dialog)  # verifies that its name leads to it
        is_small = candidates.size <= WALK
        for ids in _pages(
            [self._commits(candidates, last)] if is_small else self._walk(candidates, last)
        ):
            with snapshot(self.store.driver):  # not while the caller looks at a hit
                rows = sorted(self.store.driver.run_in(_COMMITS, ids), reverse=True)
                hits = list(self._verified(self._matches(rows)))
            yield from hits

    def _best(self, hits: Iterator[Hit]) -> Iterator[Hit]:
        """Those that have the terms most often first."""
        best = nlargest(MOST_RANKED + 1, hits, key=lambda hit: hit.count)
        if len(best) > MOST_RANKED:
            cut = f"of all hits, the {MOST_RANKED:,} with most matches are listed"
            self.note = f"{self.note}; {cut}" if self.note else cut
        yield from best[:MOST_RANKED]

    # What the index says

    def _wanted(self) -> Wanted:
        index = self.store.words
        state = index.catch_up(CATCH_UP_SECONDS)
        if not state.is_on:
            raise _UnindexedError("the word index is off")
        if not index.is_usable:
            raise _UnindexedError(index.lack)
        needs = self._terms.needs()
        if not needs:
            raise _UnindexedError("there is no letter or digit to look up in the word index")
        return self._look_up(needs, state.size == 0)

    def _look_up(self, needs: Sequence[Need], is_complete: bool) -> Wanted:
        whole = [need for need in needs if not (need.opens or need.goes_on)]
        exact = [[need.word, UNREADABLE] for need in _longest(whole)]
        parts = _longest([need for need in needs if need.opens or need.goes_on])
        covered = 0
        if exact and len(self.store.words.table.find(exact, ENOUGH + 1)) <= ENOUGH:
            return Wanted(exact, None)
        if parts:
            newest = self._newest()
            vocabulary = self.store.vocabulary
            covered = vocabulary.extend(newest) if is_complete else vocabulary.load()
        most = EDGE_WORDS if exact else MOST_WORDS
        lists = [self.store.vocabulary.find(need, most) for need in parts]
        wanted = exact + [[*words, LONG, UNREADABLE] for words in lists if words is not None]
        if not wanted:
            raise _UnindexedError("too many words have this part")
        return Wanted(wanted, covered if parts else None)

    def _find(self, wanted: Wanted, most: int) -> Candidates:
        """The contents that may match; of those that the index names, so many."""
        index = self.store.words
        with snapshot(self.store.driver):
            state = index.backlog()
            ranges = [(state.done, state.until)] if state.size else []
            if wanted.covered is not None:
                ranges.append((wanted.covered, self._newest()))
            return Candidates(frozenset(index.table.find(wanted.words, most)), tuple(ranges))

    def _newest(self) -> int:
        [(newest,)] = self.store.driver.run("SELECT coalesce(max(id), 0) FROM blobs")
        return int(newest)

    def _commits(self, candidates: Candidates, last: int) -> list[int]:
        """The keys of the commits before one that have these contents, newest first."""
        driver = self.store.driver
        rows = list(driver.run_in(_BY_CONTENT, sorted(candidates.ids)))
        for after, until in candidates.ranges:
            rows += driver.run(_BY_RANGE, (after, until))
        return sorted({key for (key,) in rows if key < last}, reverse=True)

    def _walk(self, candidates: Candidates, last: int) -> Iterator[list[int]]:
        """The same for many contents: each commit is compared with them."""
        while rows := self._contents(last):
            yield sorted((key for key, blob_id in rows if blob_id in candidates), reverse=True)
            last = min(_keys(rows))

    def _contents(self, last: int) -> list[Row]:
        """The next commits with the keys of their contents."""
        driver = self.store.driver
        if self._dialog is None:
            return driver.run(_WALK, (last, WALK))
        return list(driver.run_in(_CONTENTS, self._own_keys(last, WALK)))

    def _read_newest(self, last: int) -> Generator[Hit, None, int]:
        """The hits in the newest commits, all of which are read. Returns the last of them."""
        for _ in range(NEWEST_PAGES):
            with snapshot(self.store.driver):
                rows = self._page(last)
                hits = list(self._verified(self._matches(rows)))
            yield from hits
            last = rows[-1][0] if rows else 0
        return last

    # Without it

    def _scan(self) -> Generator[Hit]:
        """Every commit is verified: one that was altered could be a hit."""
        store, last = self.store, self._last
        seen, known = 0, self._count() if last == _NEWEST else 0
        while True:
            with snapshot(store.driver):
                rows = self._page(last)
                hits = list(self._hits_of(self._matches(rows), self._infos(rows)))
            if not rows:
                break
            yield from hits
            seen, last = seen + len(rows), rows[-1][0]
        if seen < known:  # others have deleted commits, or a damaged file hides some
            self._check_count()

    def _page(self, last: int) -> list[Row]:
        if self._dialog is None:
            rows = self.store.driver.run(_PAGE, (last, SEARCH_PAGE))
            _check_keys(_keys(rows))
            return rows
        own = escape(self._dialog)
        while keys := self._own_keys(last, SEARCH_PAGE):
            rows = sorted(self.store.driver.run_in(_COMMITS, keys), reverse=True)
            if any(row[3] == own for row in rows):
                return [row for row in rows if row[3] == own]
            last = keys[0]  # all of these were deleted meanwhile
        return []

    def _own_keys(self, last: int, most: int) -> list[int]:
        """The keys of the next commits of the dialog, oldest first."""
        end = bisect_left(self._own, last)
        if not end:
            number = KEYS if self._own else WALK + 1  # most searches end soon
            rows = self.store.driver.run(_KEYS, (escape(self._dialog or ""), last, number))
            self._own = sorted(_keys(rows))
            _check_keys(self._own)
            end = len(self._own)
        return self._own[max(0, end - most) : end]

    def _is_short(self) -> bool:
        """Whether it is about a dialog that is read faster than the contents are looked up."""
        return self._dialog is not None and len(self._own_keys(self._last, WALK + 1)) <= WALK

    def _check_count(self) -> None:
        """Raise CorruptError if commits are missed that the dialogs have."""
        self._own = []
        with snapshot(self.store.driver):
            known, seen, last = self._count(), 0, _NEWEST
            while rows := self._page(last):
                seen, last = seen + len(rows), rows[-1][0]
        if seen < known:
            raise CorruptError(f"{known} commits expected, {seen} readable")

    def _count(self) -> int:
        if self._dialog is not None:
            self.store.dialogs.checked_out(self._dialog)  # verifies that its name leads to it
        infos = self.store.dialogs.infos()
        return sum(info.commits for info in infos if self._dialog in (None, info.dialog))

    # What the texts say

    def _matches(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Match]]:
        for row in rows:
            _, _, blob_id, dialog, *facts = row
            if blob_id is None or not self._is_about(unescape(dialog)):
                continue
            if not self._filters.may_accept(*facts):
                continue
            try:
                content = self.store.contents.value(blob_id)
            except ForgottenError:
                continue
            match = self._terms.match(text_of(content))
            if match:
                yield row, match

    def _is_about(self, dialog: str) -> bool:
        return self._dialog in (None, dialog) and self._covers(dialog)

    def _verified(self, matches: Iterator[tuple[Row, Match]]) -> Iterator[Hit]:
        some = list(matches)
        return self._hits_of(some, self._infos([row for row, _ in some]))

    def _infos(self, rows: Sequence[Row]) -> dict[int, CommitInfo]:
        """The commits by their keys, verified."""
        infos = self.store.infos([Head(key, digest) for key, digest, *_ in rows])
        return dict(zip(_keys(rows), infos, strict=True))

    def _hits_of(
        self, matches: Iterable[tuple[Row, Match]], infos: dict[int, CommitInfo]
    ) -> Iterator[Hit]:
        for (key, _, _, stored, *_), match in matches:
            info, dialog = infos[key], unescape(stored)
            if self._filters.accept(info) and self._is_in_project(dialog):
                assert info.created_at is not None
                yield Hit(
                    dialog,
                    info.commit_hash,
                    info.role or "",
                    info.name,
                    match.snippet,
                    info.created_at,
                    match.spans,
                    match.number,
                    info.is_error,
                    self._facts_of(dialog).title,
                )

    def _is_in_project(self, dialog: str) -> bool:
        project = self._filters.project
        folder = self._facts_of(dialog).folder or ""
        return project is None or project.casefold() in folder.casefold()

    def _facts_of(self, dialog: str) -> DialogFacts:
        if dialog not in self._facts:
            stored = self.store.dialogs.settings(dialog, "facts") or {}
            self._facts[dialog] = msgspec.convert(stored, DialogFacts)
        return self._facts[dialog]


def _keys(rows: Sequence[Row]) -> list[int]:
    return [row[0] for row in rows]


def _check_keys(keys: Sequence[int]) -> None:
    if len(set(keys)) != len(keys):
        raise CorruptError("a commit is listed twice: an index of commits is damaged")


def _longest(needs: Sequence[Need]) -> list[Need]:
    return nlargest(MOST_NEEDS, dict.fromkeys(needs), key=lambda need: len(need.word))


def _pages(lists: Iterable[list[int]]) -> Iterator[list[int]]:
    for ids in lists:
        for start in range(0, len(ids), SEARCH_PAGE):
            yield ids[start : start + SEARCH_PAGE]


_READ = "messages were read one by one, because "
_NEWEST = 1 << 62
"""No commit has a larger key."""

_ROWS = """
SELECT c.id, c.hash, c.blob_id, d.name, c.role, c.is_error, c.created_at
FROM commits c JOIN dialogs d ON d.id = c.dialog_id WHERE"""

_PAGE = f"{_ROWS} c.id < ? ORDER BY c.id DESC LIMIT ?"
_COMMITS = f"{_ROWS} c.id IN"

_BY_CONTENT = "SELECT id FROM commits WHERE blob_id IN"
_BY_RANGE = "SELECT id FROM commits WHERE blob_id > ? AND blob_id <= ?"
_WALK = "SELECT id, blob_id FROM commits WHERE id < ? ORDER BY id DESC LIMIT ?"
_CONTENTS = "SELECT id, blob_id FROM commits WHERE id IN"
_KEYS = """
SELECT c.id FROM dialogs d JOIN commits c ON c.dialog_id = d.id
WHERE d.name = ? AND c.id < ? ORDER BY c.id DESC LIMIT ?"""
