"""opencode, and Kilo, which uses the same tables: a SQLite database of sessions, or one session as
`opencode export` writes it. A session gives the same dialog from both.

An answer is a list of parts. A part of the type `tool` is the call and, once that is finished, its
result. Left out, because the model never sees it: parts that mark steps, snapshots, patches and
retries, mentions of agents and of text files (their content is a text beside them), ignored texts,
errors of a provider, and a compaction that did not finish. Messages that a revert hides are read:
opencode deletes them only at the next prompt, which then becomes a branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    drop_empty,
    ensure_storable,
    extra,
    json_or_none,
    require_dict,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.media import url_block
from tract.importers.source import Source, attempt
from tract.importers.sqlite_files import Database, Record, is_database, is_sqlite
from tract.model import Block, Json, Message, Raw, Text, ToolCall

NAME = "opencode"

TABLES = frozenset({"session", "message", "part"})
SILENT = ("step-start", "step-finish", "snapshot", "patch", "retry", "agent")
INSERTED = ("text/plain", "application/x-directory")
"""Files whose content opencode inserts as a text."""
QUESTION, TASK = "What did we do so far?", "The following tool was executed by the user"
"""What the model reads for a compaction and for a sub-agent that a person started."""
PLACEHOLDER = re.compile(r"(New|Child) session - \d{4}-")
"""The title of a session that has none yet."""

SESSIONS = "SELECT * FROM session ORDER BY time_created, id"
MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
PARTS = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"
LATER = "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq"
STRAYS = "SELECT id FROM part WHERE message_id NOT IN (SELECT id FROM message) ORDER BY id"


def detect(source: Source) -> bool:
    if is_sqlite(source):
        return is_database(source, _has_tables)
    document = as_dict(source.peek)
    return text_of(as_dict(document.get("info")).get("id")).startswith("ses_") and any(
        {"info", "parts"} <= as_dict(message).keys()
        for message in as_list(document.get("messages"))
    )


def _has_tables(database: Database) -> bool:
    return (
        database.tables >= TABLES
        and "parent_id" in database.columns("session")
        and {"message_id", "data"} <= database.columns("part")
    )


def session(_source: Source) -> str:
    """The same for each file, so that a session has one name in all of them."""
    return NAME


def read(source: Source) -> Iterator[Item]:
    if is_sqlite(source):
        yield from _database(source)
        return
    document, problems = source.document(lists=("messages",))
    info, messages = as_dict(as_dict(document).get("info")), as_dict(document).get("messages")
    if not as_text(info.get("id")) or not isinstance(messages, list):
        raise InputError("an export needs the info of a session and a list of messages")
    if as_text(info.get("parentID")):  # which is in another file
        info = {**info, "parentID": f"{NAME}/{info['parentID']}"}
    one = _Session(info, {})
    yield one.facts()
    for number, message in enumerate(messages, 1):
        yield from attempt(f"message {number}", one.exported, message)
    yield from problems


def _database(source: Source) -> Iterator[Item]:
    calls: dict[str, str] = {}
    with Database(source.path) as database:
        try:
            for row in list(database.rows(SESSIONS)):
                yield from _rows(database, _Session(_info(row), calls))
            for row in database.rows(STRAYS):
                yield Problem(f"part {row['id']}", "its message is not in the database")
        except InputError as error:  # what was read is kept
            yield Problem("database", str(error))


def _rows(database: Database, one: _Session) -> Iterator[Item]:
    yield one.facts()
    messages = list(database.rows(MESSAGES, one.dialog))
    for row in messages:
        yield from attempt(f"message {row['id']}", one.stored, row, database.rows(PARTS, row["id"]))
    for row in database.of("session_message", LATER, one.dialog) if not messages else ():
        record = {**as_dict(json_or_none(text_of(row["data"]))), "id": row["id"]}
        kind = f"session_message {row['type']}"
        yield Unknown(f"{kind} {row['id']}", kind, extra(record), one.dialog)


def _info(row: Record) -> dict[str, Json]:
    """A row of `session` as an export has it."""
    time = {"created": row.get("time_created"), "updated": row.get("time_updated")}
    return {**row, "parentID": row.get("parent_id"), "time": time}


class _Part(NamedTuple):
    place: str
    fields: dict[str, Json]


class _Session:
    """The messages of one session, in order."""

    def __init__(self, info: dict[str, Json], calls: dict[str, str]) -> None:
        self.dialog = text_of(info.get("id"))
        self._info, self._calls = info, calls
        self._system = ""
        self._entries: list[tuple[str, list[Entry]]] = []
        """The entries of each message, by its id."""
        self._tails: dict[str, str | None] = {}
        """For each prompt that asks for a compaction, the first message that stays."""

    def facts(self) -> Facts:
        info, time = self._info, as_dict(self._info.get("time"))
        title = text_of(info.get("title"))
        return Facts(
            dialog=self.dialog,
            title=None if PLACEHOLDER.match(title) else as_text(title),
            folder=as_text(info.get("directory")),
            started=as_time(time.get("created")),
            ended=as_time(time.get("updated")),
            cost=as_number(info.get("cost")) or None,
            parent=as_text(info.get("parentID")),
            call_id=self._calls.get(self.dialog),
        )

    def stored(self, row: Record, parts: Iterable[Record]) -> Iterator[Item]:
        data = require_dict(json_or_none(text_of(row["data"])), "a message is an object")
        rows = [(part["id"], json_or_none(text_of(part["data"]))) for part in parts]
        yield from self._message(text_of(row["id"]), data, rows)

    def exported(self, message: Json) -> Iterator[Item]:
        fields = require_dict(message, "a message is an object")
        info = require_dict(fields.get("info"), "the info of a message is an object")
        if not isinstance(fields.get("parts"), list):
            raise InputError("a message needs a list of parts")
        parts = [(as_dict(part).get("id"), part) for part in fields["parts"]]
        yield from self._message(text_of(info.get("id")), info, parts)

    def _message(
        self, message_id: str, info: dict[str, Json], parts: list[tuple[Json, Json]]
    ) -> Iterator[Item]:
        usable: list[_Part] = []
        for number, (part_id, part) in enumerate(parts, 1):
            place = f"message {message_id}, part {part_id or number}"
            if isinstance(part, dict):
                usable.append(_Part(place, part))
            else:
                yield Problem(place, f"a part is an object, not {type(part).__name__}")
        entries: list[Entry] = []
        for item in self._items(message_id, info, usable):
            if isinstance(item, Entry):
                item = replace(item, dialog=self.dialog)
                entries.append(item)
            yield item
        self._entries.append((message_id, entries))

    def _items(self, message_id: str, info: dict[str, Json], parts: list[_Part]) -> Iterator[Item]:
        time = as_time(as_dict(info.get("time")).get("created"))
        match info.get("role"):
            case "user":
                yield from self._prompt(message_id, info, parts, time)
            case "assistant" if info.get("summary") is True:
                yield from self._summary(info, parts, time)
            case "assistant":
                yield from self._answer(info, parts, time)
            case role:
                raise InputError(f"unknown role {str(role)[:80]!r}")

    def _prompt(
        self, message_id: str, info: dict[str, Json], parts: list[_Part], time: Any
    ) -> Iterator[Item]:
        asked = [part for _, part in parts if part.get("type") == "compaction"]
        if asked:  # its question comes with the summary
            self._tails[message_id] = as_text(asked[0].get("tail_start_id"))
        blocks: list[Block] = []
        for part in parts:
            yield from attempt(part.place, self._prompt_part, part, blocks)
        system = text_of(info.get("system"))
        if system and system != self._system:  # every prompt repeats it
            yield Entry(messages=(Message("system", system),), time=time)
            self._system = system
        if blocks:
            is_plain = len(blocks) == 1 and isinstance(blocks[0], Text)
            content = blocks[0].text if is_plain else tuple(blocks)  # type: ignore[union-attr]
            yield Entry(messages=(Message("user", content),), time=time)

    def _prompt_part(self, part: _Part, blocks: list[Block]) -> Iterator[Item]:
        fields = part.fields
        match fields.get("type"):
            case "text":
                text = _text(fields)
                if text and fields.get("ignored") is not True:
                    blocks.append(Text(text))
            case "file":
                if fields.get("mime") not in INSERTED:
                    blocks.append(_file(fields))
            case "subtask":
                blocks.append(Text(TASK))
            case "compaction":
                pass
            case _:
                yield from self._other(part)

    def _summary(self, info: dict[str, Json], parts: list[_Part], time: Any) -> Iterator[Item]:
        """A finished summary, after the question that the program asked for it; then the messages
        that it leaves in view, once more."""
        prompt = text_of(info.get("parentID"))
        if not info.get("finish") or info.get("error"):
            return
        for item in self._answer(info, parts, time):
            if isinstance(item, Entry) and item.messages[0].role == "assistant":
                messages = (Message("user", QUESTION), *item.messages)
                item = replace(item, messages=messages, compacts=True)
            yield item
        ids = [message_id for message_id, _ in self._entries]
        tail = self._tails.get(prompt)
        if tail in ids and prompt in ids:
            for _, entries in self._entries[ids.index(tail) : ids.index(prompt)]:
                yield from (replace(entry, usage=None, compacts=False) for entry in entries)

    def _answer(self, info: dict[str, Json], parts: list[_Part], time: Any) -> Iterator[Item]:
        blocks: list[Block] = []
        results: list[tuple[float, Message]] = []
        for part in parts:
            yield from attempt(part.place, self._answer_part, part, blocks, results)
        if blocks:
            yield Entry(
                messages=(Message("assistant", tuple(blocks)),),
                usage=_usage(info),
                model=as_text(info.get("modelID")),
                time=time,
                metadata=drop_empty(provider=as_text(info.get("providerID"))),
            )
        # Results in the order in which they came.
        for end, result in sorted(results, key=lambda pair: pair[0]):
            yield Entry(messages=(result,), time=as_time(end or None))

    def _answer_part(
        self, part: _Part, blocks: list[Block], results: list[tuple[float, Message]]
    ) -> Iterator[Item]:
        fields = ensure_storable(part.fields)
        match fields.get("type"):
            case "text":
                if text := _text(fields):
                    blocks.append(Text(text))
            case "reasoning":
                blocks.append(_thought(fields))
            case "file":
                blocks.append(_file(fields))
            case "tool":
                call, state = _call(fields), as_dict(fields.get("state"))
                blocks.append(call)
                child = as_text(as_dict(state.get("metadata")).get("sessionId"))
                if child:
                    self._calls[child] = call.id
                if result := _result(call, state):
                    results.append(result)
            case _:
                yield from self._other(part)

    def _other(self, part: _Part) -> Iterator[Item]:
        kind = part.fields.get("type")
        if kind not in SILENT:
            if not isinstance(kind, str):
                raise InputError("a part needs a type")
            yield Unknown(part.place, kind, ensure_storable(part.fields), self.dialog)


def _text(part: dict[str, Json]) -> str:
    if not isinstance(part.get("text"), str):
        raise InputError("a text needs its text")
    return str(part["text"])


def _file(part: dict[str, Json]) -> Block:
    block = url_block(part.get("url"))
    if block is None and not as_text(part.get("url")):
        raise InputError("a file needs a url")
    return Raw("anthropic", block) if block else Raw(NAME, ensure_storable(part))


def _thought(part: dict[str, Json]) -> Block:
    """A thought in the form that its provider accepts; without a signature none does."""
    text, own = _text(part), as_dict(as_dict(part.get("metadata")).get("anthropic"))
    if redacted := as_text(own.get("redactedData")):
        return Raw("anthropic", {"type": "redacted_thinking", "data": redacted})
    if signature := as_text(own.get("signature")):
        return Raw("anthropic", {"type": "thinking", "thinking": text, "signature": signature})
    thought = drop_empty(text=text, metadata=extra(part.get("metadata")))
    return Raw(NAME, {"type": "reasoning", **(thought or {})})


def _call(part: dict[str, Json]) -> ToolCall:
    name, call_id = as_text(part.get("tool")), as_text(part.get("callID"))
    state = require_dict(part.get("state"), "the state of a call is an object")
    if name is None or call_id is None:
        raise InputError("a call needs a name and an id")
    if state.get("status") == "pending":
        raise InputError(f"the arguments of the call {call_id!r} of {name} are not complete")
    return ToolCall(call_id, name, state.get("input", {}))


def _result(call: ToolCall, state: dict[str, Json]) -> tuple[float, Message] | None:
    """The result and the time of its end. An interrupted command may have an output."""
    end = as_number(as_dict(state.get("time")).get("end"))
    key, is_error = "output", state.get("status") == "error"
    content: Json = state.get("output")
    if is_error:
        about = as_dict(state.get("metadata"))
        output = about.get("output") if about.get("interrupted") is True else None
        is_error, key = not isinstance(output, str), "error"
        content = state.get("error") if is_error else output
    elif state.get("status") != "completed":
        return None
    if not isinstance(content, str):
        raise InputError(f"the result of the call {call.id!r} needs its {key}")
    files = [_attachment(file) for file in as_list(state.get("attachments"))]
    if files:
        content = [*([{"type": "text", "text": content}] if content else []), *files]
    message = Message("tool", content, tool_call_id=call.id, name=call.name, is_error=is_error)
    return end or 0, message


def _attachment(file: Json) -> Json:
    return url_block(as_dict(file).get("url")) or file


def _usage(info: dict[str, Json]) -> dict[str, Json] | None:
    """The tokens of a finished answer; those of the cache are counted beside the others."""
    if not info.get("finish") and not as_dict(info.get("time")).get("completed"):
        return None
    tokens = as_dict(info.get("tokens"))
    cache = as_dict(tokens.get("cache"))
    return extra(
        drop_empty(
            input=tokens.get("input"),
            output=tokens.get("output"),
            thoughts=tokens.get("reasoning"),
            cacheRead=cache.get("read"),
            cacheWrite=cache.get("write"),
            cost=info.get("cost"),
        )
    )
