"""The values that everything else is made of. They depend on no provider and no database."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from tract.hashing import spaced_json
from tract.reprs import SHORT, brief, number, size, some

Json = Any

ROLES = ("system", "user", "assistant", "tool")

ROOT = ""
"""The parent of a first commit, for `commit(…, parent=ROOT)`: the branch must still be empty."""

MAX_NAME = 200
"""Characters of the name of a dialog or a branch."""

Origin = dict[str, dict[str, Json]]
"""What a provider wrote around a value: `{provider: its dict with the modelled values as null}`.
It restores unknown keys and key order when the value is sent to that provider again."""


class CommitOperation(StrEnum):
    """What a commit does to the history."""

    APPEND = "append"
    EDIT = "edit"
    COMPRESS = "compress"
    MARK = "mark"


DECIDING = (CommitOperation.APPEND, CommitOperation.MARK)
"""The operations whose toolset is active from there on. On others it records only their origin: an
edit of an old message does not bring old tools back."""


class Priority(StrEnum):
    """How much a message matters to the view."""

    SKIP = "skip"
    NORMAL = "normal"
    PINNED = "pinned"


class Form(StrEnum):
    """What the model sees of a result, which is stored in full."""

    FULL = "full"
    TRUNCATED = "truncated"
    REFERENCE = "reference"
    SUMMARY = "summary"
    COLLAPSED = "collapsed"


class Shape(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A form with its parameters: how many tokens are shown, or the text that replaces them."""

    form: Form = Form.FULL
    tokens: int | None = None
    text: str | None = None

    @property
    def is_verbatim(self) -> bool:
        """Whether the text is all that is shown: what another program sent of a long result. It
        offered no way to fetch the rest, so none is added."""
        return self.form == Form.TRUNCATED and self.text is not None

    def __repr__(self) -> str:
        return brief(
            self,
            str(self.form),
            self.tokens and number(self.tokens, "token"),
            self.text and size(self.text),
        )


class Gist(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a result that is not shown is: its kind, a one-line summary and a preview."""

    kind: str
    summary: str
    preview: str
    is_error: bool = False
    """Whether the content itself reports a failure."""
    token_count: int = 0
    ranks: tuple[int, ...] = ()
    """How each line of the preview counts when fewer of them fit; none: the first ones stay."""
    made_for: str = ""
    """Which calls it is true of: results with one content may answer calls of different kinds.
    Empty if it was stored before that was noted."""
    narrowed: tuple[tuple[int, str], ...] = ()
    """Smaller previews, each with the characters that it was made for: those that are shown."""


class Summary(NamedTuple):
    """A text that replaces others, and who made it."""

    text: str
    made_by: str
    usage: dict[str, Json] | None = None
    note: str | None = None
    """What the reader of a report should know about it."""


STRUCTURE = "structure"
"""Who made a summary that is lines of its originals, copied without a model."""


class Text(msgspec.Struct, frozen=True, gc=False):
    """A piece of text."""

    text: str
    origin: Origin | None = None

    def __repr__(self) -> str:
        return brief(self, size(self.text))


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A call by the model. Arguments stay as they came: a dict, or the provider's exact string."""

    id: str
    name: str
    arguments: Json = msgspec.field(default_factory=dict)
    origin: Origin | None = None

    def __repr__(self) -> str:
        return brief(self, self.id, self.name, size(self.arguments))


class Raw(msgspec.Struct, frozen=True, gc=False):
    """A block without a type here (an image, a thought, a server tool), kept for its provider."""

    provider: str
    data: Json

    def __repr__(self) -> str:
        return brief(self, self.provider, size(self.data))


Block = Text | ToolCall | Raw
Blocks = tuple[Block, ...]


class Message(msgspec.Struct, frozen=True, gc=False):
    """A role and its content: a text, or blocks.

    A tool message is exactly one result, and its content is whatever JSON the tool returned.
    """

    role: str
    content: str | Blocks | Json = ""
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool = False
    origin: Origin | None = None

    @property
    def blocks(self) -> Blocks:
        """The content as blocks; a result is one text."""
        return self.content if isinstance(self.content, tuple) else (Text(self.text),)

    @property
    def text(self) -> str:
        """The texts, without the calls."""
        if isinstance(self.content, tuple):
            return "\n".join(block.text for block in self.content if isinstance(block, Text))
        return "" if self.content is None else readable(self.content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        if not isinstance(self.content, tuple):
            return ()
        return tuple([block for block in self.content if isinstance(block, ToolCall)])

    def __repr__(self) -> str:
        return brief(
            self,
            self.role,
            self.name,
            self.tool_call_id,
            size(self.content),
            "error" if self.is_error else None,
        )


class Mark(msgspec.Struct, frozen=True, gc=False):
    """What a mark commit sets for one earlier commit: its priority, or that it is void."""

    target: str
    kind: str
    value: str | None = None

    def __repr__(self) -> str:
        return brief(self, self.target[:SHORT], self.kind, self.value and self.value[:SHORT])


class Head(NamedTuple):
    """A commit by key and hash; both None if a branch has no commit yet."""

    id: int | None
    hash: bytes | None


EMPTY = Head(None, None)


class Link(msgspec.Struct, frozen=True, gc=False):
    """From a commit to an earlier one of its chain: `replaces`, `priority`, `form` or `void`."""

    kind: str
    target_id: int
    target_hash: bytes
    value: str | None = None


class ToolDefinition(msgspec.Struct, frozen=True, gc=False):
    """A tool as it was declared to a model, identified by the hash of its schema."""

    hash: bytes
    name: str
    data: bytes
    """The schema as JSON, in the key order of its first declaration."""
    token_count: int = 0
    token_source: str = ""

    @property
    def schema(self) -> dict[str, Json]:
        """A copy that the caller may change."""
        return json.loads(self.data)  # type: ignore[no-any-return]


class Toolset(msgspec.Struct, frozen=True, gc=False):
    """The tools that a model had, in order."""

    hash: bytes
    tools: tuple[ToolDefinition, ...] = ()

    @property
    def schemas(self) -> list[dict[str, Json]]:
        return [tool.schema for tool in self.tools]


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A commit that has no parent yet."""

    operation: CommitOperation
    message: Message | None = None
    payload: bytes | None = None
    links: tuple[Link, ...] = ()
    note: str | None = None
    metadata: dict[str, Json] | None = None
    generation_config: dict[str, Json] | None = None
    usage: dict[str, Json] | None = None
    token_count: int = 0
    token_source: str = ""
    toolset: Toolset | None = None
    shape: Shape | None = None
    gist: Gist | None = None


class Step(msgspec.Struct, frozen=True, gc=False):
    """A commit of a chain as the fold needs it. A large content is not loaded yet: `data` is None
    although there is a `blob_id`."""

    id: int
    hash: bytes
    operation: str
    role: str | None = None
    blob_id: int | None = None
    data: bytes | None = None
    token_count: int = 0
    token_source: str = ""
    toolset: bytes | None = None
    """The hash of the toolset that was recorded with it."""
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool = False
    origin: Origin | None = None
    calls: Sequence[Sequence[str]] = ()
    """Id and name of each call."""
    generation_config: dict[str, Json] | None = None
    links: tuple[Link, ...] = ()
    shape: Shape | None = None
    """The form in which a result was committed; None if it is full."""
    byte_size: int = 0


class CommitInfo(msgspec.Struct, frozen=True, gc=False):
    """A commit as people see it. Reading one never loads its content."""

    commit_hash: str
    parent_hash: str | None
    operation: CommitOperation
    content_hash: str | None = None
    role: str | None = None
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool = False
    replaces: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    toolset_hash: str | None = None
    form: Form | None = None
    """The form in which a result entered the view."""
    message: str | None = None
    metadata: dict[str, Json] = msgspec.field(default_factory=dict)
    generation_config: dict[str, Json] | None = None
    usage: dict[str, Json] | None = None
    token_count: int = 0
    byte_size: int = 0
    preview: str = ""
    created_at: datetime | None = None

    def __repr__(self) -> str:
        return brief(
            self,
            self.commit_hash[:SHORT],
            str(self.operation),
            self.role,
            self.name,
            "error" if self.is_error else None,
            some(self.token_count, "token"),
            some(len(self.marks), "mark"),
        )


class AnswerUsage(NamedTuple):
    """What an answer has used, as its provider reports it."""

    model: str | None
    usage: dict[str, Json]
    time: datetime | None = None
    """When it was given, or else committed."""
    id: str | None = None
    """The provider's name for it."""

    def __repr__(self) -> str:
        return brief(self, self.model, self.time and f"{self.time:%Y-%m-%d %H:%M}", self.id)


class Trace(msgspec.Struct, frozen=True):
    """A place in the database, or beside it, that has or had a copy of something."""

    dialog: str | None = None
    commit: str | None = None
    place: str = ""
    """What it is: the content, the metadata, a tool definition, …"""
    count: int = 1
    """How often the text stands there; for a copy that remains, the number of lines that it shares
    with the erased content."""

    def __repr__(self) -> str:
        return brief(
            self, self.dialog, self.commit and self.commit[:SHORT], self.place, f"{self.count}×"
        )


class ForgetResult(msgspec.Struct, frozen=True):
    """What was erased, or would be, and where copies remain."""

    erased: list[Trace]
    remains: list[Trace]
    commit: CommitInfo | None = None
    """The commit that was named, as it is now."""
    dry_run: bool = False

    def __repr__(self) -> str:
        return brief(
            self,
            f"{len(self.erased)} erased",
            f"{len(self.remains)} remain",
            "dry run" if self.dry_run else None,
        )


class DialogFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known about a dialog that was imported; of any other, only a title."""

    title: str | None = None
    """What the agent called it, or else its first prompt."""
    folder: str | None = None
    """The directory that the agent worked in."""
    model: str | None = None
    started: datetime | None = None
    """When its first message was written, by the agent's own clock."""
    ended: datetime | None = None
    cost: float | None = None
    """In US dollars, as far as the agent recorded it."""
    parent: str | None = None
    """The dialog that started this one, if a sub-agent wrote it."""
    call_id: str | None = None
    """The call in the parent that started it."""
    source: str | None = None
    """The file that it was imported from."""

    def __repr__(self) -> str:
        return brief(
            self,
            self.folder,
            self.model,
            self.ended and f"{self.ended:%Y-%m-%d %H:%M}",
            None if self.cost is None else f"${self.cost:,.2f}",
        )


class DialogInfo(msgspec.Struct, frozen=True):
    """One agent's history among those of a database."""

    dialog: str
    branch: str
    branches: int
    commits: int
    tokens: int
    bytes: int
    errors: int
    """Results that are flagged as errors."""
    created_at: datetime
    updated_at: datetime | None
    facts: DialogFacts = DialogFacts()

    def has(self, words: Iterable[str]) -> bool:
        """Whether its name, title, folder and model contain all words, case-insensitive."""
        facts = self.facts
        texts = (self.dialog, facts.title, facts.folder, facts.model)
        text = "\n".join(filter(None, texts)).casefold()
        return all(word.casefold() in text for word in words)

    def __repr__(self) -> str:
        return brief(
            self,
            self.dialog,
            f"branch {self.branch}",
            number(self.commits, "commit"),
            number(self.tokens, "token"),
        )


def pack_shape(shape: Shape) -> str:
    """A shape as it is stored: a form without parameters is just its name."""
    if shape.tokens is None and shape.text is None:
        return str(shape.form)
    fields = {"form": str(shape.form), "tokens": shape.tokens, "text": shape.text}
    return json.dumps({key: value for key, value in fields.items() if value is not None})


def unpack_shape(stored: str) -> Shape:
    fields: Json = json.loads(stored) if stored.startswith("{") else {"form": stored}
    return Shape(Form(fields["form"]), fields.get("tokens"), fields.get("text"))


def pack_content(role: str, content: str | Blocks | Json) -> Json:
    """The content as plain JSON, to be stored. A tool's tuple is just a list."""
    if isinstance(content, tuple) and role != "tool":
        return [_pack(block) for block in content]
    return content


def unpack_content(role: str, packed: Json) -> str | Blocks | Json:
    """The reverse of `pack_content`. The list of a tool is its result; any other list is blocks."""
    if isinstance(packed, list) and role != "tool":
        return tuple([_unpack(block) for block in packed])
    return packed


def has_only_calls(data: bytes) -> bool:
    """Whether a packed content is certainly only calls, without parsing it."""
    return data.startswith(b'[{"call"') and b'{"text"' not in data and b'{"raw"' not in data


def _pack(block: Block) -> dict[str, Json]:
    match block:
        case Text(text, None):
            return {"text": text}
        case Text(text, origin):
            return {"text": text, "origin": origin}
        case ToolCall(id, name, arguments, origin):
            call = {"call": id, "name": name, "arguments": arguments}
            return call if origin is None else {**call, "origin": origin}
        case Raw(provider, data):
            return {"raw": data, "provider": provider}


def _unpack(packed: dict[str, Json]) -> Block:
    if "text" in packed:
        return Text(packed["text"], packed.get("origin"))
    if "call" in packed:
        return ToolCall(packed["call"], packed["name"], packed["arguments"], packed.get("origin"))
    return Raw(packed["provider"], packed["raw"])


def readable(value: Json) -> str:
    """JSON as a person reads it; a string is itself."""
    return value if isinstance(value, str) else spaced_json(value)


def spoken(message: Message) -> str:
    """Everything of a message that costs tokens as text: texts, calls, and what is not opaque."""
    if isinstance(message.content, str):
        return message.content
    if not isinstance(message.content, tuple):
        return _without_base64(message.content)
    return "\n".join(part for block in message.content for part in _spoken_parts(block))


def _spoken_parts(block: Block) -> Sequence[str]:
    match block:
        case Text(text):
            return (text,)
        case ToolCall(_, name, arguments):
            return name, readable(arguments)
        case Raw(_, data):
            return (_without_base64(data),)
    return ()  # an item of a result that came as a tuple


_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{512,}")


def _without_base64(value: Json) -> str:
    """The JSON as text. Images and signatures are not billed as text."""
    text = readable(value)
    return _OPAQUE.sub("", text) if len(text) > 512 else text


GLANCE = 100


def glance(message: Message) -> str:
    """One line about a message."""
    if isinstance(message.content, str):
        line = " ".join(message.content[: GLANCE + 28].split())
        if len(line) < GLANCE:  # it has many spaces, or it is short
            line = " ".join(message.content[: GLANCE * 4].split())
        return line[:GLANCE]
    calls = [f" → {call.name}({readable(call.arguments)[:GLANCE]})" for call in message.tool_calls]
    return " ".join((message.text[: GLANCE * 4] + "".join(calls)).split())[:GLANCE]
