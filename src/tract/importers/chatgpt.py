"""ChatGPT: `conversations.json` of an export, or one conversation. Each is a tree of messages, of
which the current one is checked out.

A call is a message of the model to a tool, and has no id: it gets that of its node. A result
belongs to the nearest call of its tool before it. Left out: empty messages, and how long the model
thought (`reasoning_recap`). A message of weight 0 was not shown to the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from tract.errors import InputError
from tract.importers.coerce import (
    as_dict,
    as_list,
    as_text,
    as_time,
    dicts,
    drop_empty,
    ensure_storable,
    require_dict,
)
from tract.importers.items import Entry, Facts, Item, Problem, Unknown
from tract.importers.source import Source, attempt
from tract.model import ROOT, Block, Blocks, Json, Message, Raw, Text, ToolCall

NAME = "chatgpt"

ROLES = ("system", "user", "assistant", "tool")
TEXTS = {
    "code": ("text",),
    "execution_output": ("text",),
    "system_error": ("name", "text"),
    "user_editable_context": ("user_profile", "user_instructions"),
    "model_editable_context": ("model_set_context",),
}
"""Where the texts of a content stand, by its type."""


def detect(source: Source) -> bool:
    value = source.peek
    value = value.get("conversations", value) if isinstance(value, dict) else value
    conversations = dicts(value if isinstance(value, list) else [value])
    mappings = [as_dict(conversation.get("mapping")) for conversation in conversations]
    nodes = [as_dict(node) for mapping in mappings for node in mapping.values()]
    return any(node.keys() >= {"parent", "children"} for node in nodes)


def read(source: Source) -> Iterator[Item]:
    if source.head.lstrip().startswith(b"["):
        for part in source.elements():
            yield from [part] if isinstance(part, Problem) else _listed(*part)
        return
    is_list = "conversations" in as_dict(source.peek)
    document, problems = source.document(
        ("conversations",) if is_list else ("mapping", "mapping/*")
    )
    conversations = as_dict(document).get("conversations")
    if isinstance(conversations, list):
        for number, value in enumerate(conversations, 1):
            yield from _listed(number, value)
    else:
        yield from attempt("document", _conversation, document, "", None)
    yield from problems


def _listed(number: int, value: Json) -> Iterator[Item]:
    fields, place = as_dict(value), f"conversation {number}"
    name = as_text(fields.get("conversation_id")) or as_text(fields.get("id")) or str(number)
    return attempt(place, _conversation, value, f"{place}, ", name)


def _conversation(value: Json, place: str, dialog: str | None) -> Iterator[Item]:
    fields = require_dict(value, "a conversation is an object")
    nodes = require_dict(fields.get("mapping"), "the messages of a conversation are an object")
    yield Facts(
        dialog=dialog,
        title=as_text(fields.get("title")),
        model=as_text(fields.get("default_model_slug")),
        started=as_time(fields.get("create_time")),
        ended=as_time(fields.get("update_time")),
    )
    tree = _Tree(dialog, place, nodes)
    yield from tree.items()
    yield from tree.check_out(as_text(fields.get("current_node")))


class _Tree:
    def __init__(self, dialog: str | None, place: str, nodes: dict[str, Json]) -> None:
        self._dialog, self._place, self._nodes = dialog, place, nodes
        self._parents: dict[str, str] = {}
        """By both of its links: one of them may be damaged."""
        for key, node in nodes.items():
            children = as_list(as_dict(node).get("children"))
            self._parents.update((child, key) for child in children if isinstance(child, str))
        for key, node in nodes.items():
            parent = as_text(as_dict(node).get("parent"))
            if parent in nodes:
                self._parents[key] = parent
        self._stands_for: dict[str, str] = {}
        """For each node its entry, or the one that it follows if it has none."""
        self._entries: dict[str, Entry] = {}
        self._last: str | None = None

    def items(self) -> Iterator[Item]:
        """In the order of the file, but each after those that it follows."""
        for key in self._nodes:
            way: dict[str, None] = {}
            while key in self._nodes and key not in self._stands_for and key not in way:
                way[key] = None
                key = self._parents.get(key, ROOT)
            for node in reversed(way):
                self._stands_for[node] = self._stands_for.get(self._parents.get(node, ROOT), ROOT)
                yield from attempt(f"{self._place}message {node}", self._node, node)

    def check_out(self, current: str | None) -> Iterator[Item]:
        """The current message once more, if others came after it: the last one is checked out."""
        key = self._stands_for.get(current or ROOT)
        if key in self._entries and key != self._last:
            yield self._entries[key]

    def _node(self, key: str) -> Iterator[Item]:
        node = require_dict(ensure_storable(self._nodes[key]), "a node is an object")
        if node.get("message") is None:
            return
        place, message = f"{self._place}message {key}", as_dict(node["message"])
        role = as_text(as_dict(message.get("author")).get("role"))
        content = require_dict(message.get("content"), "a content is an object")
        if role is None:
            raise InputError("a message needs an author with a role")
        blocks, problems = _blocks(place, content)
        yield from problems
        calls = role == "assistant" and _recipient(message) != "all"
        if not (blocks or role == "tool" or calls):
            return
        if role not in ROLES or message.get("weight") == 0:
            kind = f"{role} of weight 0" if role in ROLES else role
            yield Unknown(place, kind, message, self._dialog)
            return
        entry = self._entry(key, message, self._message(key, role, message, blocks))
        self._entries[key], self._stands_for[key], self._last = entry, key, key
        yield entry

    def _entry(self, key: str, message: dict[str, Json], loaded: Message) -> Entry:
        about, status = as_dict(message.get("metadata")), message.get("status")
        return Entry(
            messages=(loaded,),
            dialog=self._dialog,
            key=key,
            parent=self._stands_for[key],
            model=as_text(about.get("model_slug")),
            time=as_time(message.get("create_time")),
            metadata=drop_empty(
                attachments=about.get("attachments"),
                aggregate_result=about.get("aggregate_result"),
                status=status if status != "finished_successfully" else None,
            ),
        )

    def _message(self, key: str, role: str, message: dict[str, Json], blocks: Blocks) -> Message:
        texts, others = _texts(blocks), tuple(b for b in blocks if not isinstance(b, Text))
        if role == "tool":
            tool = as_text(as_dict(message.get("author")).get("name"))
            call_id = self._call_of(key, tool) or key
            return Message("tool", _output(blocks), call_id, tool, _has_failed(message))
        if role == "assistant" and _recipient(message) != "all":
            call = ToolCall(key, _recipient(message), "\n".join(texts))
            return Message("assistant", (*others, call))
        return Message(role, blocks if others or len(texts) > 1 else texts[0])

    def _call_of(self, key: str, tool: str | None) -> str | None:
        """The call of a tool before its result, up to the last prompt; or the one directly before
        the result."""
        entry = before = self._before(key)
        while entry and entry.messages[0].role != "user":
            for call in entry.messages[0].tool_calls:
                if tool in (None, call.name) or call.name.startswith(f"{tool}."):
                    return call.id
            entry = self._before(entry.key or ROOT)
        return next((call.id for call in before.messages[0].tool_calls), None) if before else None

    def _before(self, key: str) -> Entry | None:
        return self._entries.get(self._stands_for.get(self._parents.get(key, ROOT), ROOT))


def _recipient(message: dict[str, Json]) -> str:
    return as_text(message.get("recipient")) or "all"


def _blocks(place: str, content: dict[str, Json]) -> tuple[Blocks, list[Problem]]:
    """The texts and parts of a content, and what cannot be read of it. A content of an unknown type
    is kept as it is."""
    kind = as_text(content.get("content_type"))
    if kind is None:
        raise InputError("a content needs a type")
    if kind == "reasoning_recap":
        return (), []
    if kind == "thoughts":
        thoughts = {**content, "type": "thinking"}
        return ((Raw(NAME, thoughts),) if content.get("thoughts") else ()), []
    if kind in TEXTS:
        texts = [as_text(content.get(key)) for key in TEXTS[kind]]
        return tuple(Text(text) for text in texts if text), []
    if kind in ("text", "multimodal_text") or isinstance(content.get("parts"), list):
        return _parts(place, content.get("parts"))
    return (Raw(NAME, {"type": kind, **content}),), []


def _parts(place: str, parts: Json) -> tuple[Blocks, list[Problem]]:
    if not isinstance(parts, list):
        raise InputError(f"the parts of a content are a list, not {type(parts).__name__}")
    blocks: list[Block] = []
    problems: list[Problem] = []
    for number, part in enumerate(parts, 1):
        kind = as_text(as_dict(part).get("content_type"))
        if isinstance(part, str):
            blocks += [Text(part)] if part else []
        elif kind == "audio_transcription" and isinstance(part.get("text"), str):
            blocks.append(Text(part["text"]))
        elif kind:
            blocks.append(Raw(NAME, {"type": kind, **part}))
        else:
            problems.append(Problem(f"{place}, part {number}", "a part is a text or has a type"))
    return tuple(blocks), problems


def _texts(blocks: Blocks) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Text)]


def _output(blocks: Blocks) -> Json:
    """What a tool returned: a text, or a list if there is more than texts."""
    if all(isinstance(block, Text) for block in blocks):
        return "\n".join(_texts(blocks))
    return [
        {"type": "text", "text": block.text} if isinstance(block, Text) else block.data
        for block in blocks
        if not isinstance(block, ToolCall)
    ]


def _has_failed(message: dict[str, Json]) -> bool:
    ran = as_dict(as_dict(message.get("metadata")).get("aggregate_result"))
    exceptions = (ran.get("in_kernel_exception"), ran.get("system_exception"))
    return message["content"].get("content_type") == "system_error" or any(exceptions)
