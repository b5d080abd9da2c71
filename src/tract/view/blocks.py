"""Blocks: the parts of a history as people read it. Pure.

Every call and every result is a block of its own. A result has the label of its call, wherever
that stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tract.content.blocks import has_pictures, size_of, whole_text
from tract.context import CompiledContext
from tract.core.chain import Place
from tract.core.toolsets import ToolDiff
from tract.errors import ToolSchemaError
from tract.model import Form, Json, Message, Raw, ToolCall, readable
from tract.providers.lenient import salvage
from tract.providers.server_tools import (
    hosted,
    is_flagged,
    is_thought,
    label,
    text_beside,
    thought_beside,
    thought_text,
)
from tract.providers.tools import declarations, name_of
from tract.view.call_labels import call_label
from tract.view.pairs import Pairs, places_of


def _tag(name: str) -> str:
    """`tool_use` for a ToolUseBlock."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Block")).lower()


class ViewBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=_tag):
    """A piece of a message."""

    message: int = 0
    """The number of the message, from 0 on."""
    role: str = ""
    commit: str = ""
    """The commit of the message; empty where there is none."""
    note: str = ""
    """What was done to the message: pinned, edited, skipped, or a summary."""
    time: datetime | None = None
    """When the message came, as far as known."""
    seconds: float | None = None
    """How long it took: a result since its call, an answer since the message before."""


class TextBlock(ViewBlock, frozen=True):
    text: str = ""


class ThinkingBlock(ViewBlock, frozen=True):
    text: str = ""


class ToolUseBlock(ViewBlock, frozen=True):
    """A call."""

    tool_use_id: str = ""
    tool_name: str = ""
    detail: str = ""
    arguments: Json = None
    pair: int | None = None
    """The number of the call in the history. Its result has the same."""


class ToolResultBlock(ViewBlock, frozen=True):
    """What a tool returned, or what is shown instead."""

    tool_use_id: str = ""
    tool_name: str = ""
    detail: str = ""
    size: int = 0
    """The bytes of the full result, as far as known."""
    is_error: bool = False
    form: Form = Form.FULL
    text: str = ""
    pair: int | None = None
    """The number of its call; None where there is none."""
    tokens: int = 0
    """The tokens of the full result, and of what is sent instead; 0 where not counted."""
    sent_tokens: int = 0
    pictures: tuple[Json, ...] = ()
    """Its content blocks that are not text, such as images."""


class OtherBlock(ViewBlock, frozen=True):
    """Something that cannot be shown as text: an image, a document, an unknown block."""

    kind: str = ""
    data: Json = None


class ToolsBlock(ViewBlock, frozen=True):
    """The tools that the model is offered, and how they changed since the last time."""

    names: tuple[str, ...] = ()
    change: ToolDiff | None = None


class RuleBlock(ViewBlock, frozen=True):
    """A line between messages: an epoch, the frontier behind it, a branch."""

    text: str = ""


class TitleBlock(RuleBlock, frozen=True):
    """The title of another conversation."""


class FactsBlock(ViewBlock, frozen=True):
    """What a conversation is about, in lines: the first is its title."""

    lines: tuple[str, ...] = ()


class MessageFacts(NamedTuple):
    """What blocks say about their message besides its content."""

    number: int = 0
    commit: str = ""
    note: str = ""
    form: Form = Form.FULL
    size: int | None = None
    """The bytes of the full message; None where it is shown in full."""
    tokens: int = 0
    sent_tokens: int = 0
    time: datetime | None = None
    seconds: float | None = None


# From JSON or a context


def format_request(request: Json) -> list[ViewBlock]:
    """The blocks of a request to a provider, or of its messages, even if they are malformed."""
    loaded = salvage(request)
    return [*tools_blocks(loaded.tools or []), *format_messages(loaded.messages)]


def format_context(context: CompiledContext) -> list[ViewBlock]:
    """The blocks of what a model is sent. Sizes are those of what is sent."""
    messages = zip(context.steps, context.message_forms, context.message_tokens, strict=True)
    facts = [
        MessageFacts(number, step.hash.hex(), "", form, None, step.token_count, sent)
        for number, (step, form, sent) in enumerate(messages)
    ]
    tools = tools_blocks(context.tools)
    return [*tools, *format_messages(context.messages, facts, context.calls_before)]


def format_messages(
    messages: Sequence[Message],
    facts: Sequence[MessageFacts] = (),
    calls_before: Sequence[int] | None = None,
) -> list[ViewBlock]:
    places = places_of(messages)
    before = None if calls_before is None else dict(enumerate(calls_before, 1))
    scribe = Scribe(places, lambda place: messages[place.origin.id - 1], before)
    blocks: list[ViewBlock] = []
    for number, place in enumerate(places):
        about = facts[number] if number < len(facts) else MessageFacts(number)
        blocks += scribe.blocks(place, messages[number], about)
    return blocks


def tools_blocks(
    schemas: Sequence[dict[str, Json]], change: ToolDiff | None = None
) -> list[ViewBlock]:
    """The tools as a block, if there are or were any."""
    names = tuple(name for schema in schemas for name in _names(schema))
    return [ToolsBlock(names=names, change=change)] if names or change else []


def _names(schema: dict[str, Json]) -> list[str]:
    try:
        return [name_of(declaration) for declaration in declarations(schema)]
    except ToolSchemaError:  # in a request that no provider would accept
        return [readable(schema)[:40]]


# From messages


class Scribe:
    """Makes the blocks of single messages. A call is loaded when its result needs it."""

    def __init__(
        self,
        places: Sequence[Place],
        load: Callable[[Place], Message],
        before: Mapping[int, int] | None = None,
    ) -> None:
        self.pairs = Pairs(places, before)
        self._load = load
        self._labels: dict[int, list[str]] = {}  # of calls, by the place of their message
        self._hosted: dict[int, dict[str, ToolUseBlock]] = {}  # the same for provider-run tools

    def blocks(self, place: Place, message: Message, about: MessageFacts) -> list[ViewBlock]:
        """The blocks of a message. An empty message has one, too."""
        if message.role == "tool":
            return [self._result(place, message, about)]
        common = _common(about, message.role)
        blocks = self._parts(place, message, common)
        return blocks or [TextBlock(**common)]

    def _result(self, place: Place, message: Message, about: MessageFacts) -> ViewBlock:
        call = self.pairs.call_of(place)
        return ToolResultBlock(
            **_common(about, message.role),
            tool_use_id=message.tool_call_id or "",
            tool_name=message.name or (call.name if call else ""),
            detail=self._label(call.place, call.number) if call else "",
            size=size_of(message) if about.size is None else about.size,
            is_error=message.is_error or is_flagged(message),
            form=about.form,
            text=whole_text(message),
            pair=self.pairs.number(call.place, call.number) if call else None,
            tokens=about.tokens,
            sent_tokens=about.sent_tokens,
            pictures=_pictures(message),
        )

    def _label(self, place: Place, index: int) -> str:
        labels = self._labels.get(place.origin.id)
        if labels is None:
            labels = [call_label(call.arguments) for call in self._load(place).tool_calls]
            self._labels[place.origin.id] = labels
        return labels[index] if index < len(labels) else ""

    def _parts(self, place: Place, message: Message, common: dict[str, Json]) -> list[ViewBlock]:
        parts: list[ViewBlock] = []
        if thought := thought_beside(message):
            parts.append(ThinkingBlock(**common, text=thought))
        if text := text_beside(message):
            parts.append(TextBlock(**common, text=text))
        if isinstance(message.content, str):  # the usual case
            return [*parts, TextBlock(**common, text=message.content)] if message.content else parts
        pieces = _Pieces(common, self.pairs.number(place, 0), self.pairs.first_hosted(place))
        for block in message.blocks:
            if isinstance(block, Raw):
                parts += (self._with_call(place, piece) for piece in pieces.raw(block))
            elif isinstance(block, ToolCall):
                parts.append(pieces.call(block))
            elif block.text:
                parts.append(TextBlock(**common, text=block.text))
        if len(pieces.labels) == len(place.shown.calls):  # a model may be sent fewer
            self._labels[place.origin.id] = pieces.labels
        return parts

    def _with_call(self, place: Place, block: ViewBlock) -> ViewBlock:
        """A result of a provider-run tool whose call is in another message of the same turn."""
        if not isinstance(block, ToolResultBlock) or block.pair is not None:
            return block
        for other in self.pairs.earlier_in_turn(place):
            use = self._hosted_at(other).get(block.tool_use_id)
            if use:
                return replace(block, tool_name=use.tool_name, detail=use.detail, pair=use.pair)
        return block

    def _hosted_at(self, place: Place) -> dict[str, ToolUseBlock]:
        """The calls of one message that the provider ran itself, by their ids."""
        uses = self._hosted.get(place.origin.id)
        if uses is None:
            pieces = _Pieces({}, 0, self.pairs.first_hosted(place))
            raws = (raw for raw in self._load(place).blocks if isinstance(raw, Raw))
            blocks = [piece for raw in raws for piece in pieces.raw(raw)]
            uses = {use.tool_use_id: use for use in blocks if isinstance(use, ToolUseBlock)}
            self._hosted[place.origin.id] = uses
        return uses


class _Pieces:
    """The calls of one message, numbered; provider-run calls have numbers of their own."""

    def __init__(self, common: dict[str, Json], first: int, first_hosted: int) -> None:
        self._common = common
        self._first = first
        self.labels: list[str] = []
        self._next_hosted = first_hosted
        self._hosted: dict[str, ToolUseBlock] = {}

    def call(self, call: ToolCall) -> ToolUseBlock:
        use = self._use(call, self._first + len(self.labels))
        self.labels.append(use.detail)
        return use

    def raw(self, raw: Raw) -> Iterator[ViewBlock]:
        if is_thought(raw):
            yield ThinkingBlock(**self._common, text=thought_text(raw))
            return
        pair = hosted(raw)
        if pair.call:
            use = self._use(pair.call, self._next_hosted)
            self._next_hosted += 1
            self._hosted[use.tool_use_id] = use
            yield use
        if pair.result:
            yield self._result(pair.result)
        if not pair.call and not pair.result:
            yield OtherBlock(**self._common, kind=label(raw), data=raw.data)

    def _use(self, call: ToolCall, pair: int) -> ToolUseBlock:
        return ToolUseBlock(
            **self._common,
            tool_use_id=call.id,
            tool_name=call.name,
            detail=call_label(call.arguments),
            arguments=call.arguments,
            pair=pair,
        )

    def _result(self, message: Message) -> ToolResultBlock:
        use = self._hosted.get(message.tool_call_id or "", ToolUseBlock())
        return ToolResultBlock(
            **self._common,
            tool_use_id=message.tool_call_id or "",
            tool_name=use.tool_name or message.name or "",
            detail=use.detail,
            size=size_of(message),
            is_error=message.is_error,
            text=whole_text(message),
            pair=use.pair,
        )


def _pictures(message: Message) -> tuple[Json, ...]:
    if not has_pictures(message):
        return ()
    content: Json = message.content
    return tuple(block for block in content if block["type"] != "text")


def _common(about: MessageFacts, role: str) -> dict[str, Json]:
    common = {"message": about.number, "role": role, "commit": about.commit, "note": about.note}
    return common if about.time is None else common | {"time": about.time, "seconds": about.seconds}
