"""Messages of pydantic-ai in a dialog, and out of it again without loss.

A message of pydantic-ai is recorded as neutral messages. Its dump, without the contents that those
have, is in the metadata of the last of them: its frame. A message that adds nothing to the dialog
has its frame at the next one, or in a note at the end.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tract.core.drafts import Details, note
from tract.core.entries import Entry, annotate
from tract.errors import InputError
from tract.extras import missing_extra
from tract.integrations.mirror import Mirror
from tract.model import Block, Json, Message, Raw, Text, ToolCall
from tract.providers.common import dicts
from tract.providers.frameworks.lists import LoadedList, Reader, unclaimed
from tract.providers.frameworks.pydantic_ai import NAME
from tract.providers.requests import Loaded, tools_of
from tract.tract import Tract

try:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_ai import messages as its
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
except ImportError:
    raise missing_extra("pydantic-ai", "pydantic-ai") from None

FRAMES = "pydantic_ai"
"""The key of frames in the metadata of a commit."""
MIN_CHARS = 48
"""A shorter text stays in the frame: its hole would be as long."""
CONTENTS = ("content", "args")
"""The fields of a part that a result or a call may have as a whole."""

FOR_ADDRESSES = str.maketrans("+/", "-_")
"""pydantic writes bytes in the alphabet of Base64 for addresses, providers in the standard one."""

Path = list[Json]
_USER_CONTENT: TypeAdapter[its.UserContent] = TypeAdapter(its.UserContent)


class Item(NamedTuple):
    """A message as it is recorded."""

    message: Message
    details: Details


class Items:
    """A list of messages of pydantic-ai that grows, as it is recorded."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._reader = Reader(NAME)
        self._read: list[ModelMessage] = []
        self._last: tuple[list[Any], str | None] = [], None
        self._items: list[Item] = []
        self._early: list[Item] = []
        self._loose: list[Json] = []
        self.answers: list[tuple[Message, its.ModelResponse]] = []
        """The answers, each as it is recorded and as it came."""

    def read(self, messages: Sequence[ModelMessage]) -> list[Item]:
        """All of a list. What was read before is not read again."""
        known = len(self._read)
        if self._read != list(messages[:known]) or self._is_extended():
            self._forget()
            known = 0
        for message in messages[known:]:
            self._add(message)
        return [*self._items, *self._early]

    def _is_extended(self) -> bool:
        """Whether the last message is not as it was read: pydantic-ai adds to it in place."""
        parts, instructions = _state(self._read[-1]) if self._read else self._last
        before, instructions_before = self._last
        is_longer = len(parts) != len(before) or instructions != instructions_before
        return is_longer or any(a is not b for a, b in zip(parts, before, strict=True))

    def with_result(self, messages: Sequence[ModelMessage], part: its.ToolReturnPart) -> list[Item]:
        """The same, and a result that the next message will have."""
        items = self.read(messages)
        [dumped] = dump_messages([its.ModelRequest([part])])
        new = _items(list(Reader(NAME).take(dumped, "a result")), dumped)
        self._early += new
        return items + new

    def loose_frames(self) -> list[Json]:
        """The frames at the end that no message has. They are returned once."""
        loose, self._loose = self._loose, []
        return loose

    def _add(self, message: ModelMessage) -> None:
        [dumped] = dump_messages([message])
        new = _items(list(self._reader.take(dumped, f"message {len(self._read) + 1}")), dumped)
        self._loose.append(frame_of(dumped, [item.message for item in new]))
        early = _taken(self._early, new)
        rest = [item for item in new if all(item.message != known.message for known in early)]
        if rest:
            rest[-1] = _framed(rest[-1], self.loose_frames())
        self._items += [*early, *rest]
        self._early = []
        self._read.append(message)
        self._last = _state(message)
        if isinstance(message, its.ModelResponse) and new:
            self.answers.append((new[0].message, message))


def load(items: Sequence[Item], tools: Sequence[Any] | None) -> LoadedList:
    """Items as a `Mirror` reads them."""
    offered = tools_of(None if tools is None else list(tools))
    loaded = Loaded([item.message for item in items], offered, {}, "")
    return LoadedList(loaded, [item.details for item in items])


def dump_messages(messages: Sequence[ModelMessage]) -> list[dict[str, Json]]:
    """As `all_messages_json` writes them. InputError for what cannot be written."""
    try:
        dumped: list[dict[str, Json]] = ModelMessagesTypeAdapter.dump_python(
            list(messages), mode="json"
        )
    except ValueError as error:
        raise InputError(f"pydantic-ai cannot dump its messages: {error}") from error
    return dumped


def record_messages(tract: Tract, messages: Sequence[ModelMessage] | bytes | str) -> None:
    """Record what is new in a full list, as `all_messages()` returns it or `all_messages_json()`
    writes it. Where the list differs from what is recorded, a branch starts."""
    if isinstance(messages, bytes | str):
        try:
            messages = ModelMessagesTypeAdapter.validate_json(messages)
        except ValidationError as error:
            raise InputError(f"not messages of pydantic-ai: {error}") from error
    with tract.batch():
        Recorder(tract).finish(messages)


class Recorder:
    """Follows a list of messages of pydantic-ai in a dialog."""

    def __init__(self, tract: Tract) -> None:
        self.tract = tract
        self.items = Items()
        self.mirror = Mirror(tract, load)
        self._has_begun = False

    def follow(self, messages: Sequence[ModelMessage], tools: list[Json] | None = None) -> None:
        """Record what is new in a full list, and the tools that the model has with it."""
        self._begin(messages)
        self.mirror.follow(self.items.read(messages), tools)

    def add_result(self, messages: Sequence[ModelMessage], part: its.ToolReturnPart) -> None:
        """Record a result that the messages do not have yet."""
        self._begin(messages)
        self.mirror.follow(self.items.with_result(messages, part))

    def finish(self, messages: Sequence[ModelMessage]) -> None:
        """Record a list to which nothing will be added, also the frames at its end."""
        self.follow(messages)
        frames = self.items.loose_frames()
        if frames:
            details = {FRAMES: frames}
            self.tract.session.write(lambda _: note("messages without content", details))

    def _begin(self, messages: Sequence[ModelMessage]) -> None:
        """Find out whether a list continues what is recorded. What pydantic-ai wrote itself is
        compared exactly; everything else is left to the mirror."""
        if self._has_begun:
            return
        recorded = load_messages(self.tract)
        known = messages[: len(recorded)]
        if dump_messages(known) == dump_messages(recorded):
            self.mirror.resume(self.items.read(known))
            self.items.loose_frames()
        self._has_begun = True


def load_messages(tract: Tract) -> list[ModelMessage]:
    """All messages of the branch as pydantic-ai had them, with results in full: for
    `message_history`. What was edited, or recorded without pydantic-ai, is made anew."""
    snapshot = tract.read()
    places = {p.origin.hash.hex(): p for p in snapshot.places if not p.sources}
    loaded: list[ModelMessage] = []
    messages: list[Message] = []
    is_edited = False
    for info in reversed(list(tract.log())):
        place = places.get(info.commit_hash)
        if place is not None:
            messages.append(snapshot.whole(place))
            is_edited = is_edited or place.shown is not place.origin
        frames = dicts(info.metadata.get(FRAMES))
        if frames:
            as_they_were = None if is_edited else _restored(frames, messages)
            loaded += as_they_were or model_messages(messages)
            messages, is_edited = [], False
    return [*loaded, *model_messages(messages)]


# Frames


def frame_of(dumped: dict[str, Json], messages: Sequence[Message]) -> dict[str, Json]:
    """What the messages do not have of a dump: the dump with holes."""
    names = {_key(value): name for name, value in _contents(messages).items()}
    holes: list[Json] = []
    slim = {**_without_nulls(dumped), "parts": [_without_nulls(p) for p in dumped["parts"]]}
    message = _hollow(slim, names, [], holes, is_content=False)
    return {"message": message, "holes": holes, "size": len(messages)}


def _without_nulls(fields: dict[str, Json]) -> dict[str, Json]:
    """Fields without those that are null if they are absent."""
    return {key: value for key, value in fields.items() if value is not None or key == "content"}


def _hollow(
    value: Json, names: dict[Any, str], path: Path, holes: list[Json], *, is_content: bool
) -> Json:
    is_text = isinstance(value, str) and len(value) >= MIN_CHARS
    if is_text or (is_content and isinstance(value, dict | list)):
        name = names.get(_key(value))
        if name is not None:
            holes.append([path, name])
            return None
    if isinstance(value, list):
        return [
            _hollow(each, names, [*path, number], holes, is_content=False)
            for number, each in enumerate(value)
        ]
    if isinstance(value, dict):
        return {
            key: _hollow(each, names, [*path, key], holes, is_content=key in CONTENTS)
            for key, each in value.items()
        }
    return value


def _restored(frames: list[dict[str, Json]], messages: list[Message]) -> list[ModelMessage] | None:
    """The messages of frames; None if they are not those that the frames were made of. Before them
    may be results of a run that ended before pydantic-ai had them."""
    dumped: list[Json] = []
    try:
        start = first = len(messages) - sum(frame["size"] for frame in frames)
        if first < 0:
            return None
        for frame in frames:
            own = messages[start : start + frame["size"]]
            start += len(own)
            dumped.append(_filled(frame, _contents(own)))
        restored = ModelMessagesTypeAdapter.validate_python(dumped)
    except (KeyError, IndexError, TypeError, ValidationError):
        return None
    return [*model_messages(messages[:first]), *restored]


def _filled(frame: dict[str, Json], contents: dict[str, Json]) -> Json:
    message = frame["message"]
    for path, name in frame["holes"]:
        inner = message
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = contents[name]
    return message


def _contents(messages: Iterable[Message]) -> dict[str, Json]:
    """What messages have, by names that do not depend on the order of results."""
    pieces: list[tuple[str, Json]] = []
    number = 0
    for message in messages:
        if message.role == "tool":
            pieces.append((f"result {message.tool_call_id}", message.content))
            continue
        for block in message.blocks:
            pieces += [(f"{number} {key}", value) for key, value in _pieces(block)]
            number += 1
    uses = Counter(name for name, _ in pieces)
    return {name: value for name, value in pieces if uses[name] == 1}


def _pieces(block: Block) -> Iterator[tuple[str, Json]]:
    if isinstance(block, Text):
        yield "text", block.text
    elif isinstance(block, ToolCall):
        yield "arguments", block.arguments
    elif isinstance(block.data, dict):
        for outer in (block.data, block.data.get("source")):
            for key, value in outer.items() if isinstance(outer, dict) else ():
                if isinstance(value, str):
                    yield key, value
                    yield f"{key} for addresses", value.translate(FOR_ADDRESSES)


def _key(value: Json) -> Any:
    """What equal values have in common. In Python, 1 is True."""
    return value if isinstance(value, str) else (json.dumps(value),)


# Lists


def _items(read: Sequence[Any], dumped: dict[str, Json]) -> list[Item]:
    entries = [item for item in read if isinstance(item, Entry)]
    if len(entries) < len(read):
        raise unclaimed([dumped])
    return [
        _about(Item(*pair), {"time": entry.time.isoformat()} if entry.time else {})
        for entry in entries
        for pair in annotate(entry, None)
    ]


def _about(item: Item, metadata: dict[str, Json]) -> Item:
    return item._replace(details=replace(item.details, metadata=metadata or None))


def _framed(item: Item, frames: list[Json]) -> Item:
    return _about(item, {**(item.details.metadata or {}), FRAMES: frames})


def _taken(early: list[Item], new: list[Item]) -> list[Item]:
    """The results of a message that were recorded before it, as they were."""
    return [item for item in early if any(item.message == other.message for other in new)]


def _state(message: ModelMessage) -> tuple[list[Any], str | None]:
    """What changes of a message while it is the last."""
    instructions = message.instructions if isinstance(message, its.ModelRequest) else None
    return list(message.parts), instructions


# Messages made anew


def model_messages(
    messages: Iterable[Message], answers: Sequence[tuple[Message, its.ModelResponse]] = ()
) -> list[ModelMessage]:
    """Neutral messages for pydantic-ai. Each of `answers` that is among them stays as it came."""
    made: list[ModelMessage] = []
    parts: list[its.ModelRequestPart] = []
    known, answered = list(answers), set[str]()
    for message in messages:
        if message.role != "assistant":
            parts += [] if message.tool_call_id in answered else [_request_part(message)]
            continue
        made += [its.ModelRequest(parts)] if parts else []
        response = _take_answer(known, message)
        answered = {
            p.tool_call_id for p in response.parts if isinstance(p, its.NativeToolReturnPart)
        }
        made.append(response)
        parts = []
    return [*made, its.ModelRequest(parts)] if parts else made


def _take_answer(
    known: list[tuple[Message, its.ModelResponse]], message: Message
) -> its.ModelResponse:
    for number, (recorded, response) in enumerate(known):
        if recorded == message:
            del known[: number + 1]
            return response
    parts = (_response_part(block) for block in message.blocks)
    return its.ModelResponse([part for part in parts if part is not None])


def _request_part(message: Message) -> its.ModelRequestPart:
    if message.role == "system":
        return its.SystemPromptPart(message.text)
    if message.role == "tool":
        return its.ToolReturnPart(
            message.name or "unknown",
            message.content,
            message.tool_call_id or "",
            outcome="failed" if message.is_error else "success",
        )
    if isinstance(message.content, str):
        return its.UserPromptPart(message.content)
    contents = (_user_content(block) for block in message.blocks)
    return its.UserPromptPart([content for content in contents if content is not None])


def _response_part(block: Block) -> its.ModelResponsePart | None:
    """None for what only another provider understands."""
    if isinstance(block, Text):
        return its.TextPart(block.text)
    if isinstance(block, ToolCall):
        return its.ToolCallPart(block.name, block.arguments, block.id)
    data = block.data if isinstance(block.data, dict) else {}
    if block.provider == "anthropic" and data.get("type") == "thinking":
        signature = data.get("signature")
        return its.ThinkingPart(
            data.get("thinking") or "", signature=signature, provider_name="anthropic"
        )
    return None


def _user_content(block: Block) -> its.UserContent | None:
    if isinstance(block, Text):
        return block.text
    data = block.data if isinstance(block, Raw) and isinstance(block.data, dict) else {}
    source = data.get("source")
    try:
        if isinstance(source, dict) and "url" in source:
            is_image = data.get("type") == "image"
            return its.ImageUrl(source["url"]) if is_image else its.DocumentUrl(source["url"])
        if isinstance(source, dict):
            content = base64.b64decode(source["data"])
            return its.BinaryContent(content, media_type=source["media_type"])
        return _USER_CONTENT.validate_python({k: v for k, v in data.items() if k != "type"})
    except (KeyError, TypeError, binascii.Error, ValidationError):
        return None
