"""The database of the `llm` tool: `logs.db`, in the schemas of all versions."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_name,
    as_text,
    as_time,
    definitions,
    ensure_storable,
    extra,
    text_of,
)
from tract.importers.items import Entry, Facts, Item, Problem
from tract.importers.source import Source, attempt
from tract.importers.sqlite_files import Database, Record, is_database
from tract.model import ROLES, Block, Json, Message, Raw, Text, ToolCall
from tract.providers import parsed

NAME = "llm"

TREE = frozenset({"turns", "threads", "messages", "parts"})
RESPONSES = frozenset({"conversations", "responses"})
LOG_COLUMNS = frozenset({"model", "prompt", "system", "response"})
"""Of the first versions, whose only table was `log`, later `logs`."""

UNOWNED_TURNS = """
SELECT * FROM turns WHERE NOT EXISTS (SELECT 1 FROM threads WHERE threads.id = turns.thread_id)
ORDER BY rowid
"""
LAST_MESSAGES = """
SELECT hash FROM messages
WHERE hash NOT IN (SELECT parent_hash FROM messages WHERE parent_hash IS NOT NULL) ORDER BY rowid
"""


def detect(source: Source) -> bool:
    return is_database(source, _kinds)


def read(source: Source) -> Iterator[Item]:
    with _Database(source.path) as database:
        try:
            kinds = _kinds(database)
            threads = set()
            if "tree" in kinds:
                threads = {as_name(row["id"]) for row in database.rows("SELECT id FROM threads")}
                yield from _Tree(database).items()
            for table in ("responses", "logs", "log"):
                if table in kinds:
                    yield from _of_table(database, table, threads)
        except InputError as error:  # what was read is kept
            yield Problem("database", str(error))


def _kinds(database: Database) -> list[str]:
    """The schemas that this database has tables of."""
    kinds = ["tree"] if database.tables >= TREE else []
    if database.tables >= RESPONSES and "prompt" in database.columns("responses"):
        kinds.append("responses")
    old = [table for table in ("logs", "log") if table in database.tables]
    return kinds + [table for table in old if database.columns(table) >= LOG_COLUMNS]


class _Database(Database):
    """Rows by their owner."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._owners: dict[str, dict[Any, list[int]]] = {}

    def owned(self, table: str, column: str, owner: Any) -> list[Record]:
        """The rows of one owner. These tables have no index and may be long, so the rows of all
        owners are looked up at once."""
        if table not in self.tables:
            return []
        if table not in self._owners:
            places = self._owners[table] = defaultdict(list)
            for row in self.rows(f"SELECT rowid AS place, {column} AS owner FROM {table}"):
                places[row["owner"]].append(row["place"])
        query = f"SELECT * FROM {table} WHERE rowid = ?"
        owned = sorted(self._owners[table].get(owner, ()))
        return [row for place in owned for row in self.rows(query, place)]

    def attachment(self, attachment_id: Json) -> Record:
        query = "SELECT * FROM attachments WHERE id = ?"
        return next(self.of("attachments", query, str(attachment_id)), {})

    def tools(self, link: str, owner: str, owner_id: str) -> list[dict[str, Json]] | None:
        """The tool definitions that a model had."""
        if "tools" not in self.tables:
            return None
        query = "SELECT * FROM tools WHERE id = ?"
        links = self.owned(link, owner, owner_id)
        tools = [row for used in links for row in self.rows(query, used["tool_id"])]
        return definitions([_definition(row) for row in tools])


def _definition(row: Record) -> dict[str, Json]:
    function = {"name": text_of(row.get("name"))}
    if row.get("description"):
        function["description"] = row["description"]
    return {"type": "function", "function": {**function, "parameters": _json(row, "input_schema")}}


def _json(row: Record, column: str) -> dict[str, Json]:
    return as_dict(parsed(text_of(row.get(column))))


def _usage(row: Record) -> dict[str, Json] | None:
    counts = {
        key: row[key] for key in ("input_tokens", "output_tokens") if type(row.get(key)) is int
    }
    details = _json(row, "token_details")
    return extra({**counts, **({"details": details} if details else {})})


def _about(row: Record) -> dict[str, Any]:
    """The fields of an entry that describe the model call."""
    return {
        "usage": _usage(row),
        "model": as_name(row.get("resolved_model")) or as_name(row.get("model")),
        "generation_config": extra(_json(row, "options_json")),
        "time": as_time(row.get("datetime_utc") or row.get("timestamp")),
    }


class _Tree:
    """The messages of newer versions: each names the previous one, and threads share them."""

    def __init__(self, database: _Database) -> None:
        self._database = database
        self._ids = CallIds()
        self._hashes: set[str] = set()
        """Of the messages that were yielded."""

    def items(self) -> Iterator[Item]:
        query = "SELECT * FROM turns WHERE thread_id = ? ORDER BY datetime_utc, rowid"
        for thread in list(self._database.rows("SELECT * FROM threads ORDER BY rowid")):
            turns = list(self._database.rows(query, thread["id"]))
            name = as_name(thread["id"]) or "thread"
            started = as_time(turns[0].get("datetime_utc")) if turns else None
            yield Facts(dialog=name, title=as_text(thread.get("name")), started=started)
            yield from self._of_turns(name, turns, thread)
        for turn in list(self._database.rows(UNOWNED_TURNS)):
            yield from self._of_turns(f"turn {as_name(turn['id'])}", [turn], None)
        for row in list(self._database.rows(LAST_MESSAGES)):
            if row["hash"] not in self._hashes:
                tip = {"id": row["hash"], "tip_message_hash": row["hash"]}
                yield from self._of_turns(f"message {row['hash']}", [], tip)

    def _of_turns(self, name: str, turns: list[Record], thread: Record | None) -> Iterator[Item]:
        """The messages up to the end of each turn, and up to the tip of the thread."""
        dialogs: dict[str, str] = {}
        follows: dict[str | None, str | None] = {None: None}
        for turn in [*turns, *([thread] if thread else [])]:
            chain, known = self._chain(turn.get("tip_message_hash"), dialogs)
            # A history with another beginning is another dialog.
            dialog = dialogs.get(known or "") or (f"{name} {turn['id']}" if dialogs else name)
            tools = None
            if turn is not thread:
                tools = self._database.tools("turn_tools", "turn_id", turn["id"])
            for number, message in enumerate(chain):
                about: dict[str, Any] = {"tools": tools if number == 0 else None}
                if message is chain[-1] and turn is not thread:
                    about |= _about(turn)
                key = message["hash"]
                arguments = (dialog, follows[known], message, about)
                items = list(attempt(f"message {key}", self._entry, *arguments))
                yield from items
                self._hashes.add(key)
                dialogs[key] = dialog
                # The message after one that cannot be read follows the one before that.
                follows[key] = follows[known] if isinstance(items[0], Problem) else key
                known = key

    def _chain(self, tip: Any, known: dict[str, str]) -> tuple[list[Record], str | None]:
        """The new messages up to this one, and the known message before them."""
        chain: list[Record] = []
        seen: set[str] = set()
        while isinstance(tip, str) and tip not in known and tip not in seen:
            seen.add(tip)
            query = "SELECT * FROM messages WHERE hash = ?"
            message = next(self._database.rows(query, tip), None)
            if message is None:
                break
            chain.append(message)
            tip = message["parent_hash"]
        return chain[::-1], tip if isinstance(tip, str) and tip in known else None

    def _entry(
        self, dialog: str, parent: str | None, row: Record, about: dict[str, Any]
    ) -> Iterator[Item]:
        if row["role"] not in ROLES:
            raise InputError(f"unknown role {row['role']!r}; expected one of {', '.join(ROLES)}")
        query = "SELECT * FROM parts WHERE message_hash = ? ORDER BY position"
        parts = [self._part(part) for part in self._database.rows(query, row["hash"])]
        yield Entry(
            messages=tuple(map(self._ids.assign, _messages(row["role"], parts, self._database))),
            dialog=dialog,
            key=f"{dialog} {row['hash']}",
            parent=f"{dialog} {parent}" if parent else None,
            metadata=extra(_json(row, "provider_metadata")),
            **about,
        )

    def _part(self, row: Record) -> dict[str, Json]:
        """A part with its text, which may consist of fragments that are stored elsewhere."""
        part = {**_json(row, "payload"), "type": text_of(row.get("type"))}
        if isinstance(row.get("text"), str):
            part["text"] = row["text"]
        if pieces := as_list(part.pop("text_ref", None)):
            part["text"] = "".join(self._piece(as_dict(piece)) for piece in pieces)
        return dict(ensure_storable(part))

    def _piece(self, piece: dict[str, Json]) -> str:
        if "literal" in piece:
            return text_of(piece["literal"])
        query = "SELECT content FROM fragments WHERE id = ?"
        fragment = next(self._database.of("fragments", query, str(piece.get("fragment"))), {})
        return text_of(fragment.get("content"))


def _messages(role: str, parts: list[dict[str, Json]], database: _Database) -> Iterator[Message]:
    """Each result among the parts is a message of its own, before the rest."""
    blocks: list[Block] = []
    results = 0
    for part in parts:
        if part["type"] == "tool_result" and not part.get("server_executed"):
            results += 1
            yield _result(part, database)
        else:
            blocks.append(_block(part, database))
    if role == "tool":
        if not blocks and not results:
            raise InputError("a result without content")
        role = "user"
    if blocks or not results:
        texts = [block.text for block in blocks if isinstance(block, Text)]
        is_plain = len(blocks) == len(texts) < 2
        yield Message(role, "".join(texts) if is_plain else tuple(blocks))


def _result(part: dict[str, Json], database: _Database) -> Message:
    name, output = text_of(part.get("name")), part.get("output")
    files = [database.attachment(as_dict(a).get("id")) for a in as_list(part.get("attachments"))]
    content: Json = "" if output is None else output
    if files:
        content = [{"type": "text", "text": text_of(output)}, *map(_file, files)]
    call_id = as_name(part.get("tool_call_id")) or ""
    is_error = part.get("exception") is not None
    return Message("tool", content, tool_call_id=call_id, name=name or None, is_error=is_error)


def _block(part: dict[str, Json], database: _Database) -> Block:
    kind, name = part["type"], text_of(part.get("name"))
    if kind == "text":
        return Text(text_of(part.get("text")))
    if kind == "tool_call" and name and not part.get("server_executed"):
        call_id = as_name(part.get("tool_call_id")) or ""
        return ToolCall(call_id, name, part.get("arguments", {}))
    if kind == "attachment":
        return _file_block(database.attachment(as_dict(part.get("attachment")).get("id")))
    return Raw("llm", part)  # thoughts, and server tools of the provider


def _file_block(row: Record) -> Block:
    file = _file(row)
    return Raw("openai" if file["type"] == "image_url" else "llm", file)


def _file(row: Record) -> dict[str, Json]:
    """An attachment with its bytes if they were kept, otherwise with its address."""
    media, data = text_of(row.get("type")), row.get("content")
    url = text_of(row.get("url"))
    if isinstance(data, bytes):
        url = f"data:{media or 'application/octet-stream'};base64,{base64.b64encode(data).decode()}"
    if url and media.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    where = {"url": url} if url else {"path": text_of(row.get("path"))}
    return {"type": "attachment", "media_type": media, **where}


def _of_table(database: _Database, table: str, threads: set[str | None]) -> Iterator[Item]:
    """The answers of older versions, conversation by conversation."""
    columns = database.columns(table)
    conversation = "conversation_id" if table == "responses" else "chat_id"
    own = "id" if "id" in columns else "rowid"
    own = f"coalesce({conversation}, {own})" if conversation in columns else own
    time = next((name for name in ("datetime_utc", "timestamp") if name in columns), "rowid")
    query = f"SELECT {own} AS dialog, * FROM {table} ORDER BY dialog, {time}, rowid"
    history: _Answers | None = None
    for row in database.rows(query):
        name = as_name(row["dialog"]) or "unnamed"
        if history is None or history.name != name:
            # A newer version that continued the conversation stored all messages again.
            history = _Answers(database, name, f"{name} before" if name in threads else name)
            named = "SELECT name FROM conversations WHERE id = ?"
            title = next(database.of("conversations", named, row["dialog"]), {}).get("name")
            yield Facts(dialog=history.dialog, title=as_text(title))
        yield from attempt(f"{table} {as_name(row.get('id'))}", history.entries, row)


class _Answers:
    """A conversation as a list of answers, each with its prompt."""

    def __init__(self, database: _Database, name: str, dialog: str) -> None:
        self.name = name
        self._database, self.dialog = database, dialog
        self._ids = CallIds()
        self._system = ""

    def entries(self, row: Record) -> Iterator[Item]:
        about, answer_id = _about(row), as_name(row.get("id")) or ""
        prompt = tuple(map(self._ids.assign, self._prompt(row, answer_id)))
        tools = self._database.tools("tool_responses", "response_id", answer_id)
        if prompt:
            yield Entry(messages=prompt, dialog=self.dialog, tools=tools, time=about["time"])
        yield Entry(
            messages=(self._ids.assign(self._answer(row, answer_id)),),
            dialog=self.dialog,
            tools=None if prompt else tools,
            **about,
        )

    def _prompt(self, row: Record, answer_id: str) -> Iterator[Message]:
        system = self._with_fragments("system_fragments", answer_id, row.get("system"))
        if system and system != self._system:  # every row repeats it
            self._system = system
            yield Message("system", system)
        for result in self._database.owned("tool_results", "response_id", answer_id):
            table, result_id = "tool_results_attachments", result.get("id")
            rows = self._database.owned(table, "tool_result_id", result_id)
            attached = [{"id": row.get("attachment_id")} for row in rows]
            yield _result({**result, "attachments": attached}, self._database)
        prompt = self._with_fragments("prompt_fragments", answer_id, row.get("prompt"))
        files = [_file_block(file) for file in self._attachments(answer_id)]
        if files:
            yield Message("user", (*([Text(prompt)] if prompt else []), *files))
        elif prompt:
            yield Message("user", prompt)

    def _with_fragments(self, table: str, answer_id: str, text: Json) -> str:
        query = (
            f"SELECT content FROM {table} JOIN fragments ON fragments.id = {table}.fragment_id"
            f' WHERE {table}.response_id = ? ORDER BY {table}."order"'
        )
        fragments = [text_of(row["content"]) for row in self._database.of(table, query, answer_id)]
        return "\n".join([*fragments, *([text_of(text)] if text_of(text) else [])])

    def _attachments(self, answer_id: str) -> Iterator[Record]:
        query = (
            "SELECT attachments.* FROM prompt_attachments JOIN attachments"
            " ON attachments.id = prompt_attachments.attachment_id"
            ' WHERE prompt_attachments.response_id = ? ORDER BY prompt_attachments."order"'
        )
        return self._database.of("prompt_attachments", query, answer_id)

    def _answer(self, row: Record, answer_id: str) -> Message:
        text, thought = text_of(row.get("response")), text_of(row.get("reasoning"))
        calls = map(_call, self._database.owned("tool_calls", "response_id", answer_id))
        thoughts = [Raw("llm", {"type": "reasoning", "text": thought})] if thought else []
        blocks = (*thoughts, *([Text(text)] if text else []), *calls)
        is_text = all(isinstance(block, Text) for block in blocks)
        return Message("assistant", text if is_text else blocks)


def _call(row: Record) -> ToolCall:
    name = text_of(row.get("name")) or "unnamed"
    arguments = parsed(text_of(row.get("arguments")))
    return ToolCall(as_name(row.get("tool_call_id")) or "", name, arguments)
