"""Blocks: what a history is made of for people who read it. Pure.

Every call and every result is a block of its own, and a result knows from its call what it is
about, wherever that stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tract.context import CompiledContext
from tract.core.chain import Place
from tract.core.result_lookup import has_pictures, whole_text
from tract.core.toolsets import ToolDiff
from tract.errors import ToolSchemaError
from tract.model import Form, Json, Message, Raw, Step, ToolCall, readable
from tract.providers.lenient import salvage
from tract.providers.server_tools import (
    hosted,
    is_flagged,
    is_thought,
    label,
    said_beside,
    thought_beside,
    thought_text,
)
from tract.providers.tools import declarations, name_of
from tract.view.call_labels import detail
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
    """The commit that says it; empty where there is none."""
    note: str = ""
    """What was done to the message: that it is pinned, edited, left out or a summary."""


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
    """The number of the call in the whole history. Its result has the same."""


class ToolResultBlock(ViewBlock, frozen=True):
    """What a tool returned, or what stands for it."""

    tool_use_id: str = ""
    tool_name: str = ""
    detail: str = ""
    size: int = 0
    """The bytes of the whole result, as far as it is known."""
    is_error: bool = False
    form: Form = Form.FULL
    text: str = ""
    pair: int | None = None
    """The number of its call; None where that is not there."""
    tokens: int = 0
    """Of the whole, and of what is sent in its place; 0 where they were not counted."""
    sent_tokens: int = 0


class OtherBlock(ViewBlock, frozen=True):
    """Something that cannot be shown as text: a picture, a document, what nobody knows yet."""

    kind: str = ""
    data: Json = None


class ToolsBlock(ViewBlock, frozen=True):
    """The tools that the model is tools_blocks, and what became of them since the last time."""

    names: tuple[str, ...] = ()
    change: ToolDiff | None = None


class RuleBlock(ViewBlock, frozen=True):
    """A line between messages: an epoch, the frontier behind it, a branch."""

    text: str = ""


class TitleBlock(RuleBlock, frozen=True):
    """Where another conversation begins."""


class MessageFacts(NamedTuple):
    """What a block says beside the content of its message."""

    number: int = 0
    commit: str = ""
    note: str = ""
    form: Form = Form.FULL
    size: int | None = None
    """Of the whole; None where the message is that."""
    tokens: int = 0
    sent_tokens: int = 0


# From JSON or a context


def format_request(request: Json) -> list[ViewBlock]:
    """The blocks of a request to a provider, or of its messages, however odd they are."""
    loaded = salvage(request)
    return [*tools_blocks(loaded.tools or []), *format_messages(loaded.messages)]


def format_context(context: CompiledContext) -> list[ViewBlock]:
    """The blocks of what a model is sent. A size is that of what is sent: there is no more here."""
    told = zip(context.steps, context.message_forms, context.message_tokens, strict=True)
    abouts = [_about(number, step, form, sent) for number, (step, form, sent) in enumerate(told)]
    tools = tools_blocks(context.tools)
    return [*tools, *format_messages(context.messages, abouts, context.calls_before)]


def _about(number: int, step: Step, form: Form, sent: int) -> MessageFacts:
    return MessageFacts(number, step.hash.hex(), "", form, None, step.token_count, sent)


def format_messages(
    messages: Sequence[Message],
    abouts: Sequence[MessageFacts] = (),
    calls_before: Sequence[int] | None = None,
) -> list[ViewBlock]:
    places = places_of(messages)
    before = None if calls_before is None else dict(enumerate(calls_before, 1))
    scribe = Scribe(places, lambda place: messages[place.origin.id - 1], before)
    found: list[ViewBlock] = []
    for number, place in enumerate(places):
        about = abouts[number] if number < len(abouts) else MessageFacts(number)
        found += scribe.blocks(place, messages[number], about)
    return found


def tools_blocks(
    schemas: Sequence[dict[str, Json]], change: ToolDiff | None = None
) -> list[ViewBlock]:
    """The tools as a block, if there are any or were any before."""
    names = tuple(name for schema in schemas for name in _names(schema))
    return [ToolsBlock(names=names, change=change)] if names or change else []


def _names(schema: dict[str, Json]) -> list[str]:
    try:
        return [name_of(declaration) for declaration in declarations(schema)]
    except ToolSchemaError:  # in a request that no provider would take
        return [readable(schema)[:40]]


# From messages


class Scribe:
    """Makes the blocks of single messages. A call is loaded when its result is told."""

    def __init__(
        self,
        places: Sequence[Place],
        load: Callable[[Place], Message],
        before: Mapping[int, int] | None = None,
    ) -> None:
        self.pairs = Pairs(places, before)
        self._load = load
        self._details: dict[int, list[str]] = {}  # of calls, by the place that made them
        self._hosted: dict[int, dict[str, ToolUseBlock]] = {}  # the same of a provider's own tools

    def blocks(self, place: Place, message: Message, about: MessageFacts) -> list[ViewBlock]:
        """What a message says, as it stands at this place. One that says nothing is seen, too."""
        if message.role == "tool":
            return [self._result(place, message, about)]
        found = list(self._spoken(place, message, about))
        return found or [TextBlock(**_common(about, message.role))]

    def _result(self, place: Place, message: Message, about: MessageFacts) -> ViewBlock:
        call = self.pairs.call_of(place)
        text = whole_text(message)
        return ToolResultBlock(
            **_common(about, message.role),
            tool_use_id=message.tool_call_id or "",
            tool_name=message.name or (call.name if call else ""),
            detail=self._detail(call.place, call.number) if call else "",
            size=size_of(message) if about.size is None else about.size,
            is_error=message.is_error or is_flagged(message),
            form=about.form,
            text=text,
            pair=self.pairs.number(call.place, call.number) if call else None,
            tokens=about.tokens,
            sent_tokens=about.sent_tokens,
        )

    def _detail(self, place: Place, index: int) -> str:
        known = self._details.get(place.origin.id)
        if known is None:
            known = [detail(call.arguments) for call in self._load(place).tool_calls]
            self._details[place.origin.id] = known
        return known[index] if index < len(known) else ""

    def _spoken(self, place: Place, message: Message, about: MessageFacts) -> Iterator[ViewBlock]:
        common = _common(about, message.role)
        if thought := thought_beside(message):
            yield ThinkingBlock(**common, text=thought)
        if said := said_beside(message):
            yield TextBlock(**common, text=said)
        pieces = _Pieces(common, self.pairs.number(place, 0), self.pairs.first_hosted(place))
        for block in message.blocks:
            if isinstance(block, Raw):
                yield from (self._with_call(place, piece) for piece in pieces.raw(block))
            elif isinstance(block, ToolCall):
                yield pieces.call(block)
            elif block.text:
                yield TextBlock(**common, text=block.text)

    def _with_call(self, place: Place, block: ViewBlock) -> ViewBlock:
        """What a provider's tool returned, when another message of the same turn has the call."""
        if not isinstance(block, ToolResultBlock) or block.pair is not None:
            return block
        for other in self.pairs.earlier_in_turn(place):
            use = self._hosted_at(other).get(block.tool_use_id)
            if use:
                return replace(block, tool_name=use.tool_name, detail=use.detail, pair=use.pair)
        return block

    def _hosted_at(self, place: Place) -> dict[str, ToolUseBlock]:
        """The calls of one message that the provider ran by itself, by their ids."""
        known = self._hosted.get(place.origin.id)
        if known is None:
            pieces = _Pieces({}, 0, self.pairs.first_hosted(place))
            raws = (raw for raw in self._load(place).blocks if isinstance(raw, Raw))
            found = [piece for raw in raws for piece in pieces.raw(raw)]
            known = {use.tool_use_id: use for use in found if isinstance(use, ToolUseBlock)}
            self._hosted[place.origin.id] = known
        return known


class _Pieces:
    """The calls of one message, numbered; those that the provider runs itself apart."""

    def __init__(self, common: dict[str, Json], first: int, first_hosted: int) -> None:
        self._common = common
        self._next = first
        self._next_hosted = first_hosted
        self._hosted: dict[str, ToolUseBlock] = {}

    def call(self, call: ToolCall) -> ToolUseBlock:
        self._next += 1
        return self._use(call, self._next - 1)

    def raw(self, raw: Raw) -> Iterator[ViewBlock]:
        if is_thought(raw):
            yield ThinkingBlock(**self._common, text=thought_text(raw))
            return
        found = hosted(raw)
        if found.call:
            use = self._use(found.call, self._next_hosted)
            self._next_hosted += 1
            self._hosted[use.tool_use_id] = use
            yield use
        if found.result:
            yield self._result(found.result)
        if not found.call and not found.result:
            yield OtherBlock(**self._common, kind=label(raw), data=raw.data)

    def _use(self, call: ToolCall, pair: int) -> ToolUseBlock:
        return ToolUseBlock(
            **self._common,
            tool_use_id=call.id,
            tool_name=call.name,
            detail=detail(call.arguments),
            arguments=call.arguments,
            pair=pair,
        )

    def _result(self, message: Message) -> ToolResultBlock:
        use = self._hosted.get(message.tool_call_id or "", ToolUseBlock())
        text = whole_text(message)
        return ToolResultBlock(
            **self._common,
            tool_use_id=message.tool_call_id or "",
            tool_name=use.tool_name or message.name or "",
            detail=use.detail,
            size=size_of(message),
            is_error=message.is_error,
            text=text,
            pair=use.pair,
        )


def _common(about: MessageFacts, role: str) -> dict[str, Json]:
    return {"message": about.number, "role": role, "commit": about.commit, "note": about.note}


def size_of(message: Message) -> int:
    """The bytes of a result: of its texts, and of the JSON of whatever else is in it."""
    if not has_pictures(message):
        return bytes_of(whole_text(message))
    content: Json = message.content
    return sum(bytes_of(readable(block.get("text", block))) for block in content)


def bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
