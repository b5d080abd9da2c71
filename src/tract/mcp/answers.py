"""What the tools answer: plain texts of bounded length that say how to get more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from reprlib import repr as brief
from secrets import token_hex
from typing import NamedTuple

from tract.content.query import MAX_CHARS, id_of, slice_of
from tract.content.text import counted, printable, size
from tract.core.chain import Place
from tract.core.wording import GET_TOOL_RESULT
from tract.errors import InputError, ResultNotFoundError
from tract.mcp.dialogs import Scope
from tract.mcp.schemas import OWN_ANSWERS
from tract.model import Json
from tract.providers.call_ids import near
from tract.session import listing, results
from tract.session.listing import ListedResult
from tract.tract import Tract

MAX_QUERY = 500
MAX_LISTED = 100
MAX_HITS = 50
MAX_SEARCHED = 100_000_000
"""Bytes that one call searches: a second or two."""
EACH = 2_000
"""Bytes that a small result counts for at least."""
LONGEST_LINE = 240
READ_ONE = f'[call {GET_TOOL_RESULT}(id="…") to read one]'
READ_AROUND = f'[call {GET_TOOL_RESULT}(id="…", grep="…") to read all matches in one]'


class Entry(NamedTuple):
    """A result in its dialog."""

    tract: Tract
    place: Place


class Arguments:
    """The arguments of a call, checked. Null and "" count as absent."""

    def __init__(self, arguments: Json, known: Sequence[str]) -> None:
        unknown = [name for name in arguments if name not in known]
        if unknown:
            raise InputError(
                f"unknown argument {brief(unknown[0])}; expected one of {', '.join(known)}"
            )
        self._fields = {k: v for k, v in arguments.items() if v not in (None, "")}

    def text(self, name: str, longest: int | None = None) -> str | None:
        value = self._fields.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name} must be a string, not {brief(value)}")
        if value is not None and longest is not None and len(value) > longest:
            raise InputError(f"{name} must have at most {longest} characters, not {len(value)}")
        return value

    def required(self, name: str, longest: int | None = None) -> str:
        value = self.text(name, longest)
        if value is None:
            raise InputError(f"{name} is required")
        return value

    def number(self, name: str, default: int, most: int | None = None) -> int:
        value = self._fields.get(name, default)
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value[:15])
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            raise InputError(f"{name} must be a whole number, not {brief(value)}")
        if value < 0:
            raise InputError(f"{name} must be a whole number of at least 0, not {brief(value)}")
        return int(value) if most is None else min(int(value), most)

    def json(self, name: str) -> Json:
        return self._fields.get(name)


# One result


def get_tool_result(scope: Scope, arguments: Json) -> str:
    """A part of a result, of the first dialog that has it."""
    name, part = id_of(arguments), slice_of(arguments)
    for tract in scope.all_tracts():
        try:
            return str(results.fetch(tract.session, name, part))
        except ResultNotFoundError:
            continue
    labels = [entry.place.label for entry in reversed(entries_of(scope, None))]
    similar = near(name, labels)
    hint = f"; similar ids: {', '.join(similar)}" if similar else ""
    raise ResultNotFoundError(f"no result {name!r:.100} in {scope.names}{hint}")


async def store_tool_result(scope: Scope, arguments: Json) -> str:
    """Store a result, and return its reference."""
    from anyio.to_thread import run_sync

    from tract import ToolResultsStorage

    fields = Arguments(arguments, ("tool_name", "content", "id", "arguments"))
    tool, content = fields.required("tool_name", MAX_QUERY), arguments.get("content")
    if content is None:
        raise InputError("content is required")
    dialog = scope.writes
    if dialog is None:
        raise InputError("this connection may only read")
    name = fields.text("id", MAX_QUERY) or f"stored_{token_hex(6)}"
    tract = await run_sync(scope.tract_for_writing, dialog)
    storage = ToolResultsStorage(tract, dialog)
    stored = await storage.store_result(name, tool, fields.json("arguments") or {}, content)
    facts = ("stored", stored.tool_call_id, stored.status, counted(stored.size_bytes, "byte"))
    preview = stored.truncated_preview
    summary = "" if preview.strip() == stored.summary else stored.summary
    how = f'[call {GET_TOOL_RESULT}(id="{stored.tool_call_id}") for the full result]'
    return "\n".join(filter(None, (f"[{' · '.join(facts)}]", summary, preview, how)))


# Lists


def list_tool_results(scope: Scope, arguments: Json) -> str:
    """One line for each result."""
    fields = Arguments(arguments, ("tool", "status", "limit", "offset"))
    tool, status = fields.text("tool"), fields.text("status")
    if status not in (None, "success", "error"):
        raise InputError(f"unknown status {brief(status)}; expected one of success, error")
    limit = fields.number("limit", 20, MAX_LISTED) or 20
    offset = fields.number("offset", 0)
    entries = _with_status(entries_of(scope, tool), status)
    page = entries[offset : offset + limit]
    lines = fitting(_blocks(page, _described(page)), MAX_CHARS)
    shown = offset + len(lines)
    kind = " ".join(filter(None, ("tool results", f"of {printable(tool, 100)}" if tool else "")))
    if not lines:
        return f"[no {kind}{f' with status {status}' if status else ''}{_after(offset, entries)}]"
    title = f"[{kind}, newest first · {offset + 1}–{shown} of {len(entries)}]"
    more = [f"[more: call again with offset={shown}]"] if shown < len(entries) else []
    return "\n".join([title, *lines, *more, READ_ONE])


def _after(offset: int, entries: Sequence[Entry]) -> str:
    return f" after offset {offset}: there are {len(entries)}" if offset and entries else ""


def entries_of(scope: Scope, tool: str | None) -> list[Entry]:
    """The results of all dialogs, newest first in each. One that an earlier dialog has is left out
    of a later one: a transcript has what the hook stored in full."""
    entries: list[Entry] = []
    seen: set[str] = set()
    for tract in scope.tracts():
        places = listing.newest_results(tract.session, tool)
        entries += [Entry(tract, place) for place in places if place.label not in seen]
        seen.update(place.label for place in places)
    return entries


def _with_status(entries: list[Entry], status: str | None) -> list[Entry]:
    if status is None:
        return entries
    failed: set[Place] = set()
    for tract, group in groupby(entries, key=lambda entry: entry.tract):
        failed |= listing.failed_results(tract.session, [entry.place for entry in group])
    return [entry for entry in entries if (entry.place in failed) == (status == "error")]


def _described(page: Sequence[Entry]) -> Iterator[str]:
    for tract, group in groupby(page, key=lambda entry: entry.tract):
        for result in listing.describe(tract.session, [entry.place for entry in group]):
            facts = ("error" if result.is_error else "success", _size(result), _time(result))
            yield " · ".join(filter(None, (result.subject, result.id, *facts)))


def _size(result: ListedResult) -> str:
    return f"{size(result.byte_size)}, {counted(result.token_count, 'token')}"


def _time(result: ListedResult) -> str:
    return f"{result.created_at:%Y-%m-%d %H:%M} UTC" if result.created_at else ""


def _blocks(page: Sequence[Entry], texts: Iterator[str]) -> Iterator[str]:
    """The texts of entries, with a line above the first of each dialog, if there are several."""
    several = len({entry.tract.dialog for entry in page}) > 1
    before: str | None = None
    for entry, text in zip(page, texts, strict=True):
        dialog = entry.tract.dialog
        heading = f"[in {printable(dialog)}]\n" if several and dialog != before else ""
        before = dialog
        yield heading + text


def fitting(blocks: Iterator[str], room: int) -> list[str]:
    """The first blocks; at least one."""
    shown: list[str] = []
    for block in blocks:
        room -= len(block) + 1
        if room < 0 and shown:
            break
        shown.append(block)
    return shown


# Search


class _Hit(NamedTuple):
    entry: Entry
    position: int
    text: str


class _Search:
    """Looks through results until there are enough hits, or enough was read."""

    def __init__(self, query: str, entries: Sequence[Entry], offset: int) -> None:
        self.query = query
        self.entries = entries
        self.at = offset
        """How many were looked at, with those that are skipped."""
        self.unread: list[str] = []
        """Results that are too large to be searched."""

    def hits(self) -> Iterator[_Hit]:
        searched = 0
        while self.at < len(self.entries):
            entry = self.entries[self.at]
            cost = max(entry.place.shown.byte_size, EACH)
            if searched and searched + cost > MAX_SEARCHED:
                return
            searched += cost
            self.at += 1
            line = self._line(*entry)
            if line:
                yield _Hit(entry, self.at - 1, line)

    def _line(self, tract: Tract, place: Place) -> str | None:
        if not listing.is_searchable(tract.session, place):
            self.unread.append(place.label)
            return None
        line = listing.find_line(tract.session, place, self.query)
        return None if line is None else f"{line.number}: {printable(line.text, LONGEST_LINE)}"


def search_tool_results(scope: Scope, arguments: Json) -> str:
    """A short block for each result that contains the text."""
    fields = Arguments(arguments, ("query", "tool", "limit", "offset"))
    query, tool = fields.required("query", MAX_QUERY), fields.text("tool")
    limit = fields.number("limit", 10, MAX_HITS) or 10
    offset = fields.number("offset", 0)
    entries = entries_of(scope, tool)
    if tool is None:
        entries = [entry for entry in entries if entry.place.shown.name not in OWN_ANSWERS]
    search = _Search(query, entries, offset)
    hits = list(islice(search.hits(), limit))
    page = [hit.entry for hit in hits]
    blocks = fitting(_blocks(page, _hit_blocks(hits)), MAX_CHARS)
    at = search.at if len(blocks) == len(hits) else hits[len(blocks)].position
    title = f"[search {printable(query, 100)} · {counted(len(blocks), 'match')} in "
    title += f"{_searched(offset, at, len(entries))}]"
    unread = [f"[too large to search: {', '.join(search.unread)}]"] if search.unread else []
    more = [f"[more: call again with offset={at}]"] if at < len(entries) else []
    return "\n".join([title, *blocks, *unread, *more, *([READ_AROUND] if blocks else [])])


def _searched(offset: int, at: int, count: int) -> str:
    if offset >= count:
        return f"0 of {counted(count, 'result')}"
    return f"results {offset + 1}–{at} of {count}, newest first"


def _hit_blocks(hits: Sequence[_Hit]) -> Iterator[str]:
    page = [hit.entry for hit in hits]
    lines = (hit.text for hit in hits)
    for tract, group in groupby(page, key=lambda entry: entry.tract):
        for result in listing.describe(tract.session, [entry.place for entry in group]):
            facts = " · ".join(filter(None, (result.subject, result.id, _size(result))))
            yield f"{facts}\n  {next(lines)}"
