"""Claude.ai: `conversations.json` of an export, or one conversation.

An answer contains its calls and their results, which become messages of their own; ids of calls may
be missing. Newer files name the message that each one follows. Left out: the `text` of a message if
it has a `content`, which it repeats, and how much was left of a budget.
"""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import (
    as_dict,
    as_text,
    as_time,
    dicts,
    drop_empty,
    ensure_storable,
    require_dict,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, attempt
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall

NAME = "claude-ai"

ROLES = {"human": "user", "assistant": "assistant"}
FIRST = "00000000-0000-4000-8000-000000000000"
"""What the first message of a tree follows."""
NOISE = ("token_budget",)


def detect(source: Source) -> bool:
    value = source.peek
    return any(map(_is_conversation, dicts(value if isinstance(value, list) else [value])))


def _is_conversation(value: dict[str, Json]) -> bool:
    return isinstance(value.get("chat_messages"), list) and isinstance(value.get("uuid"), str)


def read(source: Source) -> Iterator[Item]:
    if not source.head.lstrip().startswith(b"["):
        document, problems = source.document(lists=("chat_messages",))
        yield from attempt("document", _conversation, document, "", None)
        yield from problems
        return
    for part in source.elements():
        if isinstance(part, Problem):
            yield part
            continue
        number, value = part
        name = as_text(as_dict(value).get("uuid")) or str(number)
        place = f"conversation {number}"
        yield from attempt(place, _conversation, value, f"{place}, ", name)


def _conversation(value: Json, place: str, dialog: str | None) -> Iterator[Item]:
    fields = require_dict(value, "a conversation is an object")
    messages = fields.get("chat_messages")
    if not isinstance(messages, list):
        raise InputError("a conversation needs a list of messages")
    yield Facts(
        dialog=dialog,
        title=as_text(fields.get("name")),
        model=as_text(fields.get("model")),
        started=as_time(fields.get("created_at")),
        ended=as_time(fields.get("updated_at")),
    )
    conversation = _Conversation(dialog)
    for number, message in enumerate(messages, 1):
        where = f"{place}message {number}"
        yield from attempt(where, conversation.take, where, message)
    yield from conversation.check_out(as_text(fields.get("current_leaf_message_uuid")))


class _Conversation:
    def __init__(self, dialog: str | None) -> None:
        self._dialog = dialog
        self._ids = CallIds()
        self._stands_for: dict[str, str | None] = {FIRST: ROOT}
        """For each message its entry, or the entry that it follows if it has none."""
        self._entries: dict[str, Entry] = {}
        self._last: str | None = None

    def take(self, place: str, value: Json) -> Iterator[Item]:
        record = require_dict(ensure_storable(value), "a message is an object")
        key, sender = as_text(record.get("uuid")), as_text(record.get("sender"))
        before = self._stands_for.get(as_text(record.get("parent_message_uuid")) or "")
        if key is not None:
            self._stands_for[key] = before if before is not None else self._last
        if sender is None:
            raise InputError("a message needs a sender")
        if sender not in ROLES:
            yield Unknown(place, sender, record, self._dialog)
            return
        pieces, problems = _pieces(place, record)
        yield from problems
        messages = tuple(map(self._ids.assign, _messages(ROLES[sender], pieces)))
        if not messages:
            return
        files = [as_text(file.get("file_name")) for file in dicts(record.get("files"))]
        entry = Entry(
            messages=messages,
            dialog=self._dialog,
            key=key,
            parent=before,
            time=as_time(record.get("created_at")),
            metadata=drop_empty(files=[name for name in files if name]),
        )
        if key is not None:
            self._entries[key], self._stands_for[key] = entry, key
        self._last = key
        yield entry

    def check_out(self, leaf: str | None) -> Iterator[Item]:
        """The current message once more, if others came after it: the last one is checked out."""
        key = self._stands_for.get(leaf or "")
        if key in self._entries and key != self._last:
            yield self._entries[key]


def _pieces(place: str, record: dict[str, Json]) -> tuple[list[Block | Message], list[Problem]]:
    """What a message is made of, and what cannot be read of it."""
    content = record.get("content", [])
    pieces: list[Block | Message] = []
    problems: list[Problem] = []
    if content == []:  # an old export
        content = [{"type": "text", "text": record.get("text")}]
    if not isinstance(content, list):
        raise InputError(f"content is a list, not {type(content).__name__}")
    for number, block in enumerate(content, 1):
        try:
            pieces += _piece(block)
        except InputError as error:
            problems.append(Problem(f"{place}, block {number}", str(error)))
    for file in dicts(record.get("attachments")):
        if text := as_text(file.get("extracted_content")):
            pieces.append(Text(f"{as_text(file.get('file_name')) or 'file'}:\n{text}"))
    return pieces, problems


def _piece(value: Json) -> Iterator[Block | Message]:
    block = require_dict(value, "a block is an object")
    match block.get("type"):
        case "text" | "voice_note" as kind:
            if not isinstance(block.get("text"), str):
                raise InputError(f"a {kind} needs a text")
            if block["text"]:
                yield Text(block["text"])
        case "tool_use":
            name = as_text(block.get("name"))
            if name is None:
                raise InputError("a call needs a name")
            yield ToolCall(as_text(block.get("id")) or "", name, block.get("input"))
        case "tool_result":
            yield _result(block)
        case str(kind) if kind not in NOISE:
            yield Raw(NAME, block)
        case None | dict() | list() | int() | float():
            raise InputError("a block needs a type")


def _result(block: dict[str, Json]) -> Message:
    content = block.get("content")
    texts = [part.get("text") for part in dicts(content) if part.get("type") == "text"]
    if isinstance(content, list) and len(texts) == len(content):
        content = [{"type": "text", "text": text} for text in texts if isinstance(text, str)]
    return Message(
        "tool",
        "" if content is None else content,
        as_text(block.get("tool_use_id")) or "",
        as_text(block.get("name")),
        block.get("is_error") is True,
    )


def _messages(role: str, pieces: list[Block | Message]) -> Iterator[Message]:
    """An answer up to its results, the results, and so on."""
    blocks: list[Block] = []
    for piece in pieces:
        if not isinstance(piece, Message):
            blocks.append(piece)
            continue
        if blocks:
            yield _message(role, blocks)
            blocks = []
        yield piece
    if blocks:
        yield _message(role, blocks)


def _message(role: str, blocks: list[Block]) -> Message:
    only = blocks[0]
    is_text = len(blocks) == 1 and isinstance(only, Text)
    return Message(role, only.text if is_text and isinstance(only, Text) else tuple(blocks))
