"""What the formats share: legal call ids and tool names, and provider dicts around our values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple, Self

from msgspec.structs import replace

from tract.content.blocks import is_blocks, whole_text
from tract.core.duplicates import duplicate
from tract.core.pages import Pages
from tract.core.tally import Tally
from tract.errors import InputError, RoleError
from tract.hashing import checked_wire_json, json_or_text
from tract.model import ROLES, Json, Message, Origin, Raw, Text, ToolCall, readable
from tract.providers.known_keys import Keys, is_framework_part

REPLACED = re.compile(r"call_[0-9a-f]{24}")
"""The replacement of an id that a provider does not accept."""


ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]+")
"""What the name of a tool may not contain, whatever the provider."""


class ToolNames(NamedTuple):
    """The names of tools that a provider accepts."""

    longest: int
    legal: str = r"[a-zA-Z0-9_-]+"


class WireIds:
    """Call ids as a provider accepts them. A legal and new id stays; any other is replaced by one
    that depends only on the ids up to it. An id that came later never changes an earlier one: those
    bytes were sent."""

    def __init__(self, legal: str) -> None:
        self._legal = re.compile(legal)
        self._seen = Tally()
        self._replacements = Tally()
        self._turn: dict[str, list[str]] = {}

    def start_turn(self) -> None:
        self._turn = {}

    def aside(self) -> WireIds:
        """The same ids, for answering open calls without consuming them."""
        other = copy(self)
        other._turn = {call_id: list(wires) for call_id, wires in self._turn.items()}
        return other

    def copy(self) -> WireIds:
        """The same ids, for other messages that follow."""
        other = self.aside()
        other._seen, other._replacements = self._seen.copy(), self._replacements.copy()
        return other

    def call(self, call_id: str) -> str:
        times = self._seen.add(call_id)
        is_new = times == 1 and call_id not in self._replacements
        wire = call_id
        if not (is_new and self._legal.fullmatch(call_id)):
            wire = self._replacement(call_id, times)
            self._replacements.add(wire)
        self._turn.setdefault(call_id, []).append(wire)
        return wire

    def _is_used(self, wire: str) -> bool:
        """Whether a call was sent under this id, unless the id is illegal."""
        return wire in self._seen or wire in self._replacements

    def _replacement(self, call_id: str, times: int) -> str:
        """One that is made of the id and of how often it came, so that it means the same call
        whichever provider was sent it."""
        seed = f"{call_id}\0{times}"
        while True:
            wire = "call_" + sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:24]
            if not self._is_used(wire):
                return wire
            seed += "\0"

    def result(self, call_id: str) -> str:
        """The name of the call that this result answers: the first of this turn that is left. No
        search is needed, since a dump is fed messages that are paired already."""
        return self._turn[call_id].pop(0)


@lru_cache(maxsize=4096)
def legal_name(name: str, names: ToolNames | None) -> str:
    """The name, or its replacement, which depends on the name and on the provider's rule alone.
    Without a rule every name is legal."""
    if names is None or (len(name) <= names.longest and re.fullmatch(names.legal, name)):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    kept = ILLEGAL.sub("_", name)[: names.longest - 9].strip("_")
    if not kept or not re.fullmatch(names.legal, kept):  # it may begin with a digit
        kept = f"tool_{kept}"[: names.longest - 9].strip("_")
    return f"{kept}_{digest}"


def with_legal_names(message: Message, names: ToolNames | None) -> Message:
    """A message with legal names in its calls."""
    if message.role == "tool":
        name = message.name and legal_name(message.name, names)
        return message if name == message.name else replace(message, name=name)
    if not isinstance(message.content, tuple):
        return message
    for block in message.content:
        if isinstance(block, ToolCall) and legal_name(block.name, names) != block.name:
            return with_tool_names(message, lambda name: legal_name(name, names))
    return message


def with_tool_names(message: Message, rename: Callable[[str], str]) -> Message:
    """A message whose calls have other names."""
    blocks = (
        replace(block, name=rename(block.name)) if isinstance(block, ToolCall) else block
        for block in message.blocks
    )
    return replace(message, content=tuple(blocks))


def with_legal_name(schema: dict[str, Json], names: ToolNames | None) -> dict[str, Json]:
    """A definition in a provider's format, with a legal name."""
    function = schema.get("function")
    if isinstance(function, dict):
        return {**schema, "function": with_legal_name(function, names)}
    name = schema.get("name")
    if not isinstance(name, str) or legal_name(name, names) == name:
        return schema
    return {**schema, "name": legal_name(name, names)}


class Dump:
    """A provider's messages, made one by one. It is fed messages in valid order: results right
    behind their calls."""

    provider: ClassVar[str] = ""
    has_types: ClassVar[bool] = True
    """Whether its blocks have types, so that one of an unknown type may be its own."""
    known_parts: ClassVar[Keys] = {}
    """The keys of its blocks by their types."""

    def __init__(self, legal_id: str = r"(?s).+") -> None:
        self.ids = WireIds(legal_id)
        self.out: Pages[dict[str, Json]] = Pages()
        self.notes: list[str] = []
        """What the provider is not shown."""
        self.last_notes: list[str] = []
        """The same for the end that it was finished with."""
        self.tool_changes: Mapping[int, list[Json]] = {}
        """Blocks that change the tools, by the number of the answer before which they stand."""
        self._unknown: list[str] = []  # keys that were left out

    def feed(self, message: Message) -> None:
        raise NotImplementedError

    def finish(self, tail: Sequence[Message] = ()) -> Any:
        """All messages so far and a tail, which is not remembered: a list, or the part of a
        request that has them."""
        if not tail:  # the usual case, at every turn
            self.last_notes = []
            return self.out.lend()
        return self.with_tail(tail).out.lend()

    def shown(self, message: Message, *result_types: str) -> Message:
        """The message as this provider is shown it: what is another's is a text, or left out."""
        if is_text(message):
            return message
        blocks = message.content if isinstance(message.content, tuple) else ()
        foreign = [isinstance(block, Raw) and self.is_foreign(block, message) for block in blocks]
        self.notes += self._unseen(message, foreign, result_types or ("text", "input_text"))
        if not any(foreign):
            return message
        pairs = zip(blocks, foreign, strict=True)
        texts = (foreign_text(block) if is_text else block for block, is_text in pairs)
        content = (Text(text) if isinstance(text, str) else text for text in texts if text)
        return replace(message, content=tuple(content))

    def is_foreign(self, raw: Raw, message: Message) -> bool:
        """A block of an unknown type is for the API that the message came from, and for all where
        that is not known. What is not a block of any provider is never its own."""
        if raw.provider not in (ANY, self.provider) or not self.may_have(raw.data):
            return True
        if raw.provider != ANY:
            return False
        came_in = {layer.partition(".")[0] for layer in message.origin or {}}
        is_known = bool(came_in) and came_in != SEVERAL
        return not self.has_types or (is_known and self.provider not in came_in)

    def may_have(self, block: Json) -> bool:
        """Whether it can be a block of this provider: one that it knows, or one of a type that may
        be new."""
        kind = block.get("type") if isinstance(block, dict) else None
        return isinstance(kind, str) and (kind in self.known_parts or not is_framework_part(block))

    def _unseen(
        self, message: Message, foreign: Sequence[bool], result_types: tuple[str, ...]
    ) -> list[str]:
        """Notes on what this provider is not shown of a message."""
        content: Json = message.content
        kinds: list[object] = []
        if message.role == "tool" and isinstance(content, list) and is_blocks(content):
            kinds = [block["type"] for block in content if block["type"] not in result_types]
        elif any(foreign):
            raws = [raw for raw, is_text in zip(content, foreign, strict=True) if is_text]
            kinds = [kind_of_raw(raw) for raw in raws if own_text(raw) is None]
        for layer, around in (message.origin or {}).items():
            owner, _, what = layer.partition(".")
            if what == "function" and owner != self.provider and around.get("parts"):
                kinds.append("what came with a function's response")
        return [f"{kind} is not shown to {self.provider}" for kind in kinds]

    def trim(self, fields: dict[str, Json], known: frozenset[str] | None) -> dict[str, Json]:
        """The fields without the keys that the provider does not know, each noted once. Where it is
        not known which ones it knows, all of them."""
        if known is None or fields.keys() <= known:
            return fields
        for key in fields:
            if key not in known and key not in self._unknown:
                self._unknown.append(key)
                self.notes.append(f"the key {key!r:.80} is unknown to {self.provider}, not sent")
        return {key: value for key, value in fields.items() if key in known}

    def note_unknown(self, message: Message, layer: str, known: frozenset[str]) -> None:
        """Note what is not sent of the dict that a message came in. This is done when it is fed,
        so that the notes do not depend on when the dump is finished."""
        self.trim((message.origin or {}).get(layer, {}), known)

    def trim_all(self, parts: Json) -> Json:
        """Blocks with the keys that the provider knows for their types."""
        if not isinstance(parts, list):
            return parts
        known = self.known_parts
        return [
            self.trim(part, known.get(str(part.get("type")))) if isinstance(part, dict) else part
            for part in parts
        ]

    def copy(self) -> Self:
        """The same state, to be fed other messages."""
        other = duplicate(self)
        other.ids = self.ids.copy()
        return other

    def with_tail(self, tail: Sequence[Message]) -> Self:
        """A copy that was fed the tail, too."""
        rest = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | Pages):
                setattr(rest, name, value.copy())
        rest.notes, rest.tool_changes, rest.ids = [], {}, self.ids.aside()
        for message in tail:
            rest.feed(message)
        self.last_notes = rest.notes
        return rest


def text_or(value: Json, default: str) -> str:
    """An id or a name; the default where it is missing or empty."""
    if value is None:
        return default
    if not isinstance(value, str):
        raise InputError(f"ids and names are texts, not {readable(value)[:80]}")
    return value or default


def kind_of(block: Json) -> str:
    """The type of a content block; a block without one is refused."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        raise InputError(f"not a content block: {readable(block)[:200]}")
    return kind


def text_block(block: dict[str, Json], layer: str) -> Text:
    text = block.get("text")
    if not isinstance(text, str):
        raise InputError(f"a text block needs a text: {readable(block)[:200]}")
    return Text(text, None if list(block) == ["type", "text"] else {layer: hollow(block, "text")})


def hollow(fields: dict[str, Json], *modelled: str) -> dict[str, Json]:
    """A provider's dict without the values that are kept elsewhere; a list leaves an empty one."""
    return {
        key: ([] if isinstance(value, list) else None) if key in modelled else value
        for key, value in fields.items()
    }


def fill(
    origin: Origin | None, layer: str, values: dict[str, Json], *required: str
) -> dict[str, Json]:
    """The values in the dict that they came in, with the required ones added where it lacked
    them; as they are where they came in none."""
    around = (origin or {}).get(layer)
    if around is None:
        return values
    wire = {
        key: values[key] if key in values and value in (None, []) else value
        for key, value in around.items()
    }
    return wire | {key: values[key] for key in required if key not in wire}


def is_custom(call: ToolCall) -> bool:
    """Whether a call of one of OpenAI's two interfaces has a text and not arguments."""
    kinds = (around.get("type") for around in (call.origin or {}).values())
    return any(kind in ("custom", "custom_tool_call") for kind in kinds)


def is_text(message: Message) -> bool:
    """Whether it is the same for every provider, as most messages are: a text without an origin."""
    return message.origin is None and isinstance(message.content, str)


json_text = checked_wire_json
"""JSON for a place where the provider wants a text."""


ANY = "any"
"""The provider of a block of an unknown type, which goes back to where it may have come from."""
SEVERAL = {"anthropic", "openai"}
"""Where a message came from that both could have been sent."""

STARTED = "the user must speak first: a text was put before the first answer"
LAST_THOUGHT = "a thought at the end of an answer was left out"

THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "thought"})


def kind_of_raw(raw: Raw) -> str | None:
    """The type of a block. Gemini's have none: their first key names it."""
    if not isinstance(raw.data, dict) or not raw.data:
        return None
    if "type" in raw.data:
        kind = raw.data["type"]
        return kind if isinstance(kind, str) else None
    return "thought" if raw.data.get("thought") else str(next(iter(raw.data)))


def own_text(raw: Raw) -> str | None:
    """The text of a block of an unknown type, where it has one."""
    text = raw.data.get("text") if raw.provider == ANY and isinstance(raw.data, dict) else None
    return text if isinstance(text, str) else None


def foreign_text(raw: Raw) -> str | None:
    """The text for a block of another provider. Thoughts are not shown to others."""
    kind, text = kind_of_raw(raw), own_text(raw)
    if text is not None:
        return text
    return None if kind in THOUGHTS else f"[{kind or 'content'} not shown]"


ERROR = "Error: "


def result_words(message: Message) -> str:
    """A result where it must be text: the error flag becomes a prefix."""
    text = whole_text(message)
    if not message.is_error or text[: len(ERROR)].lower() == ERROR.lower():
        return text
    return ERROR + text


def as_object(arguments: Json) -> dict[str, Json]:
    """Arguments where they must be an object. Any other value is kept under a key of its own."""
    if arguments is None:
        return {}
    value = json_or_text(arguments) if isinstance(arguments, str) else arguments
    return value if isinstance(value, dict) else {"raw_arguments": value}


def dicts(value: Json) -> list[dict[str, Json]]:
    """Those items of a list that are dicts."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def dict_or_empty(value: Json) -> dict[str, Json]:
    """The dict; an empty one where it is something else."""
    return value if isinstance(value, dict) else {}


def without(fields: dict[str, Json], *keys: str) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if key not in keys}


OTHER_ROLES = {"developer": "system", "function": "tool"}
"""Roles of Chat Completions that mean others."""


def check_message(message: Json) -> None:
    """Refuse what is no message at all."""
    if not isinstance(message, dict):
        raise InputError(f"a message is a dict, not {type(message).__name__}")
    role, content = message.get("role"), message.get("content")
    if "role" not in message:
        keys = ", ".join(map(str, message))[:200]
        raise InputError(f"not a message: it has no role, but {keys!r}")
    if role not in (*ROLES, *OTHER_ROLES):
        raise RoleError(f"unknown role {role!r}; expected one of {', '.join(ROLES)}")
    if role != "tool":
        check_content(content)


def check_content(content: Json) -> None:
    if not (content is None or isinstance(content, str | list)):
        raise InputError(f"content is a text or a list, not {type(content).__name__}")


def rest_of(response: dict[str, Json]) -> dict[str, Json]:
    """A response without its answer and its usage."""
    answer = ("choices", "output", "candidates", "content", "role", "type", "object")
    return without(response, *answer, "usage", "usageMetadata", "usage_metadata")


def only_answer(messages: list[Message]) -> Message:
    """The one message of the assistant that a response must hold."""
    if len(messages) != 1 or messages[0].role != "assistant":
        raise RoleError(f"an answer is one assistant message, not {messages[0].role!r}")
    return messages[0]
