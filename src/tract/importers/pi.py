"""pi: a session as JSON lines. The first says what it is; in newer versions each of the others
names the one that it follows, so that a history may be a tree.

Left out, because it is no message: changes of the model and of how much it thinks (said with the
next answer), labels, titles, and what extensions keep for themselves (`custom`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tract.errors import InputError
from tract.importers.call_ids import CallIds
from tract.importers.coerce import as_dict, as_text, as_time, load, text_of, without_nothing
from tract.importers.collect import of_lines
from tract.importers.items import Entry, Item
from tract.importers.source import Source
from tract.model import ROOT, Block, Json, Message, Raw, Text, ToolCall

NAME = "pi"
PROVIDER = "pi"

_TEXT_KEYS, _CALL_KEYS = {"type", "text"}, {"type", "id", "name", "arguments"}


def detect(source: Source) -> bool:
    first = next(source.head_records(), {})
    return first.get("type") == "session" and {"id", "cwd", "timestamp"} <= first.keys()


def session(source: Source) -> str | None:
    return as_text(next(source.head_records(), {}).get("id"))


def read(source: Source) -> Iterator[Item]:
    return of_lines(source, _Session().take)


class _Session:
    def __init__(self) -> None:
        self._ids = CallIds()
        self._stands_for: dict[str, str | None] = {}
        """Of each line the entry that it is, or that it follows where it is none."""
        self._thinking: str | None = None
        self._has_begun = False

    def take(self, line: dict[str, Json]) -> list[Item]:
        entry = self._entry(line)
        return [] if entry is None else [entry]

    def _entry(self, line: dict[str, Json]) -> Entry | None:
        key, before = self._place(line)
        if key is not None and key in self._stands_for:
            return None  # it was told already
        if key is not None:
            self._stands_for[key] = before  # stays so if it is no message
        if line.get("type") in ("session", "thinking_level_change"):
            self._thinking = as_text(line.get("thinkingLevel"))
        entry = load(self._said, line)
        if entry is None:
            return None
        if key is not None:
            self._stands_for[key] = key
        if not self._has_begun:
            self._has_begun, before = True, None
        named = tuple(map(self._ids.named, entry.messages))
        return replace(entry, messages=named, key=key, parent=before)

    def _place(self, line: dict[str, Json]) -> tuple[str | None, str | None]:
        """The name of a line, and the entry that it follows. The first line has the session's."""
        if line.get("type") == "session":
            return None, None
        before = as_text(line.get("parentId"))
        if before is not None:
            return as_text(line.get("id")), self._stands_for.get(before)
        return as_text(line.get("id")), ROOT if "parentId" in line else None

    def _said(self, line: dict[str, Json]) -> Entry | None:
        time = as_time(line.get("timestamp"))
        match line.get("type"):
            case "message":
                if not isinstance(line.get("message"), dict):
                    raise InputError("a message line needs a message")
                return self._message(line["message"], time=time)
            case "compaction" | "branch_summary":
                summary = as_text(line.get("summary"))
                said = (Message("user", summary),) if summary else ()
                compacts = line["type"] == "compaction"
                return Entry(messages=said, compacts=compacts, time=time) if said else None
            case "custom_message":  # from an extension, but told to the model
                return Entry(messages=(Message("user", _content(line)),), time=time)
        return None

    def _message(self, said: dict[str, Json], **when: Json) -> Entry | None:
        match said.get("role"):
            case "assistant":
                return Entry(messages=(_answer(said),), **self._about(said), **when)
            case "toolResult":
                details = without_nothing(details=said.get("details"))
                return Entry(messages=(_result(said),), metadata=details, **when)
            case "bashExecution":
                return Entry(messages=(_executed(said),), **when)
            case "user" | "hookMessage" | "custom":
                return Entry(messages=(Message("user", _content(said)),), **when)
            case "compactionSummary" | "branchSummary":
                summary = text_of(said.get("summary"))
                return Entry(messages=(Message("user", summary),), **when)
        raise InputError(f"a message of {str(said.get('role'))[:80]!r}, whom nobody knows")

    def _about(self, said: dict[str, Json]) -> dict[str, Json]:
        return {
            "usage": as_dict(said.get("usage")) or None,
            "model": as_text(said.get("model")),
            "generation_config": without_nothing(thinkingLevel=self._thinking),
            "metadata": without_nothing(
                provider=said.get("provider"),
                api=said.get("api"),
                stopReason=said.get("stopReason"),
                errorMessage=said.get("errorMessage"),
            ),
        }


def _content(said: dict[str, Json]) -> str | tuple[Block, ...]:
    content = said.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InputError("a message needs a text or a list of blocks")
    return tuple(map(_block, content))


def _answer(said: dict[str, Json]) -> Message:
    content = _content(said)
    if said.get("provider") == "anthropic" and isinstance(content, tuple):
        content = tuple(map(_own_thought, content))
    return Message("assistant", content)


def _result(said: dict[str, Json]) -> Message:
    content = said.get("content")
    parts = [_wire_image(part) for part in content] if isinstance(content, list) else content
    return Message(
        "tool",
        parts if parts is not None else "",
        tool_call_id=text_of(said.get("toolCallId")),
        name=as_text(said.get("toolName")),
        is_error=said.get("isError") is True,
    )


def _executed(said: dict[str, Json]) -> Message:
    """A command that a person ran: the model is told of it as if the person had."""
    command, output = text_of(said.get("command")), text_of(said.get("output"))
    return Message("user", f"Ran `{command}`\n```\n{output}\n```")


def _block(block: Json) -> Block:
    if not isinstance(block, dict):
        raise InputError(f"a block is an object, not {type(block).__name__}")
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return Text(block["text"], _origin(block, _TEXT_KEYS))
    if kind == "toolCall" and isinstance(block.get("name"), str):
        call_id = text_of(block.get("id"))
        return ToolCall(call_id, block["name"], block.get("arguments"), _origin(block, _CALL_KEYS))
    wire = _wire_image(block)
    return Raw("anthropic", wire) if wire is not block else Raw(PROVIDER, block)


def _origin(block: dict[str, Json], usual: set[str]) -> dict[str, dict[str, Json]] | None:
    more = {key: value for key, value in block.items() if key not in usual}
    return {PROVIDER: more} if more else None


def _wire_image(block: Json) -> Json:
    """An image in words that can be sent; anything else as it is."""
    said = as_dict(block)
    data, kind = as_text(said.get("data")), as_text(said.get("mimeType"))
    if said.get("type") != "image" or data is None or kind is None:
        return block
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _own_thought(block: Block) -> Block:
    """A thought as its provider wants it back."""
    data = block.data if isinstance(block, Raw) else {}
    thought, signature = as_text(data.get("thinking")), as_text(data.get("thinkingSignature"))
    if data.get("type") != "thinking" or signature is None:
        return block
    if data.get("redacted") is True:
        return Raw("anthropic", {"type": "redacted_thinking", "data": signature})
    said = {"type": "thinking", "thinking": thought or "", "signature": signature}
    return Raw("anthropic", said)
