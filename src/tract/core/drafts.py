"""What is to be written, as values. Everything that can be wrong with it is rejected here. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tract.content.blocks import size_of
from tract.content.preview import gist_of
from tract.core.chain import Place
from tract.core.forms import BY_GIST, is_fixed
from tract.core.wording import GET_TOOL_RESULT, with_narrowed
from tract.errors import EditError, InputError, RoleError
from tract.hashing import check_json, json_bytes, json_or_text
from tract.model import (
    ROLES,
    CommitOperation,
    Draft,
    Form,
    Json,
    Link,
    Message,
    Priority,
    Raw,
    Shape,
    Step,
    Text,
    ToolCall,
    Toolset,
    pack_content,
    pack_shape,
    spoken,
)
from tract.tokens import TokenCounter

GIST_ABOVE = 64_000
"""A result with fewer bytes that is written in full is looked at when it is shown otherwise or
listed: most never are, and to look at it takes longer than to write it."""


REPEATED = {"tool": ("tool_call_id", "name"), "assistant": ("tool_calls",)}
"""By role, what the metadata of a commit repeats of its message."""


class Details(Struct, frozen=True):
    """What a caller says about a commit beside its content."""

    note: str | None = None
    metadata: dict[str, Json] | None = None
    generation_config: dict[str, Json] | None = None
    usage: dict[str, Json] | None = None
    toolset: Toolset | None = None
    shape: Shape | None = None


NO_DETAILS = Details()


def append(message: Message, details: Details, tokens: TokenCounter) -> Draft:
    return _draft(CommitOperation.APPEND, message, details, tokens)


def edit(place: Place, old: Message, new: Message, details: Details, tokens: TokenCounter) -> Draft:
    """The new message in the place of the old one. What an answer called and which call a result
    answers stay, unless the edit has its own."""
    _check_in_view(place)
    if new.role != old.role:
        raise RoleError(f"the role of a message cannot change from {old.role} to {new.role}")
    if (new.tool_call_id or old.tool_call_id) != old.tool_call_id:
        raise EditError(
            f"the result of call {old.tool_call_id!r} cannot answer {new.tool_call_id!r}"
        )
    if new.name and old.name and new.name != old.name:
        raise EditError(f"a result of {old.name!r} cannot become one of {new.name!r}")
    # A text or a provider's message without calls leaves the calls as they are; blocks of our own
    # are meant as they are.
    may_keep = isinstance(new.content, str) or new.origin is not None
    keeps_calls = may_keep and bool(old.tool_calls) and not new.tool_calls
    message = Message(
        old.role,
        (*new.blocks, *old.tool_calls) if keeps_calls else new.content,
        old.tool_call_id,
        new.name or old.name,
        new.is_error or old.is_error,
        None if keeps_calls else new.origin,
    )
    return _draft(CommitOperation.EDIT, message, details, tokens, _replaces([place]))


def prioritize(places: Sequence[Place], priority: Priority | str, details: Details) -> Draft:
    """A mark on messages. A call cannot be left out from around a pinned result."""
    if priority not in list(Priority):
        raise InputError(f"unknown priority {priority!r}; expected one of {', '.join(Priority)}")
    for place in places:
        _check_in_view(place)
        if priority == Priority.SKIP and place.origin.role != "tool":
            pinned = [member for member in place.turn[1:] if member.priority == Priority.PINNED]
            if pinned:
                raise EditError(f"result {pinned[0].origin.hash.hex()} of this call is pinned")
    value = str(Priority(priority))
    return _mark([_link("priority", place.origin, value) for place in places], details)


def reshape(shapes: Sequence[tuple[Place, Shape]], details: Details) -> Draft:
    """A mark that sets the forms of results."""
    if not shapes:
        raise InputError("nothing to reshape")
    for place, _ in shapes:
        check_reshapable(place)
    links = [_link("form", place.origin, pack_shape(shape)) for place, shape in shapes]
    return _mark(links, details)


def check_reshapable(place: Place) -> None:
    """Refuse what can have no other form."""
    name = place.origin.hash.hex()
    if place.origin.role != "tool":
        raise EditError(f"commit {name} is not a tool result, and only results have forms")
    _check_in_view(place)
    if is_fixed(place):
        raise EditError(f"result {name} is pinned, or an answer of {GET_TOOL_RESULT}")


def compress(sources: Sequence[Place], text: str, details: Details, tokens: TokenCounter) -> Draft:
    """A summary in the place of messages, as a user message: the assistant never said it."""
    for place in sources:
        _check_in_view(place)
    message = Message("user", text)
    return _draft(CommitOperation.COMPRESS, message, details, tokens, _replaces(sources))


def needs_gist(draft: Draft) -> bool:
    """Whether a gist is stored with it: it is a long result, or one that is shown by its gist."""
    if draft.message is None or draft.message.role != "tool" or draft.gist is not None:
        return False
    return shows_gist(draft.shape) or len(draft.payload or b"") > GIST_ABOVE


def shows_gist(shape: Shape | None) -> bool:
    return shape is not None and shape.form in BY_GIST


def with_gist(draft: Draft, call: ToolCall | None, tokens: TokenCounter) -> Draft:
    """A result with its gist, if it needs one. Its call is evidence of what the text is."""
    if draft.message is None or not needs_gist(draft):
        return draft
    gist = gist_of(draft.message.content, call)
    gist = replace(gist, token_count=tokens.count(gist.summary + gist.preview))
    if draft.shape:
        gist = with_narrowed(gist, _place_of(draft, draft.message), draft.shape, call)
    return replace(draft, gist=gist)


def _place_of(draft: Draft, result: Message) -> Place:
    """A place like that where a result will stand; there, its id may have a number behind it."""
    facts = result.tool_call_id, result.name, result.is_error
    count, size = draft.token_count, size_of(result)
    step = Step(0, bytes(32), "append", "tool", None, None, count, "", None, *facts)
    return Place(replace(step, byte_size=size))


def summarize(draft: Draft, sources: Sequence[Place]) -> Draft:
    """An appended message as a summary of others, in their place."""
    return replace(draft, operation=CommitOperation.COMPRESS, links=_replaces(sources))


def _replaces(places: Sequence[Place]) -> tuple[Link, ...]:
    return tuple(_link("replaces", place.shown) for place in places)


def shape_of(form: Any) -> Shape:
    """A form as a caller names it."""
    shape = form if isinstance(form, Shape) else Shape(form)
    if shape.form not in list(Form):
        raise InputError(f"unknown form {shape.form!r:.80}; expected one of {', '.join(Form)}")
    if not (shape.tokens is None or (type(shape.tokens) is int and shape.tokens >= 0)):
        raise InputError(
            f"the tokens of a form must be an integer of at least 0, not {shape.tokens!r:.80}"
        )
    _check_texts(shape.text)
    return Shape(Form(shape.form), shape.tokens, shape.text)


def undo(steps: Sequence[Step], details: Details) -> Draft:
    """A mark that voids changes."""
    return _mark([_link("void", step) for step in steps], details)


def offer(toolset: Toolset, details: Details) -> Draft:
    """A mark from which on the model has these tools."""
    return _mark([], replace(details, toolset=toolset))


def note(text: str, metadata: dict[str, Json]) -> Draft:
    """A mark that changes nothing: it keeps what is no message."""
    return _mark([], Details(text, metadata))


def answer(text: str, tool_calls: Sequence[ToolCall] | None) -> Message:
    """What an assistant says; just a text where there are no calls."""
    if tool_calls is None:
        return Message("assistant", text)
    return Message("assistant", (*([Text(text)] if text else []), *tool_calls))


def adopt(
    message: Message, details: Details, load_calls: Callable[[Any], Sequence[ToolCall] | None]
) -> tuple[Message, Details]:
    """What metadata says of the message itself is a part of the message, which has to agree with
    it: a reader gets both from one place."""
    metadata = details.metadata
    if not isinstance(metadata, dict):
        return message, details
    repeated = REPEATED.get(message.role, ())
    if metadata.keys().isdisjoint(repeated):
        return message, details
    if message.role == "tool":
        facts = {key: _agreed(key, getattr(message, key), metadata.get(key)) for key in repeated}
        message = replace(message, **facts)
    else:
        calls = tuple(load_calls(metadata["tool_calls"]) or ())
        own = message.tool_calls or calls
        _agreed("tool_calls", *([_comparable(call) for call in side] for side in (own, calls)))
        if calls and not message.tool_calls:
            is_text = isinstance(message.content, str)
            before = answer(message.text, ()).content if is_text else message.content
            message = replace(message, content=(*before, *calls), origin=None)
    rest = {key: value for key, value in metadata.items() if key not in repeated}
    return message, replace(details, metadata=rest or None)


def answer_details(
    note: str | None, metadata: dict[str, Json] | None, config: dict[str, Json] | None
) -> Details:
    """What a caller says about an answer that the model has not given yet."""
    if isinstance(metadata, dict) and "tool_calls" in metadata:
        raise InputError("metadata cannot have tool_calls: the model decides what it calls")
    return Details(note, metadata, config)


def _agreed(key: str, own: Json, repeated: Json) -> Json:
    if own is not None and repeated not in (own, None):
        raise InputError(f"metadata has {key} {repeated!r:.80}, but the message has {own!r:.80}")
    return repeated if own is None else own


def _comparable(call: ToolCall) -> tuple[str, str, Json]:
    arguments = call.arguments
    spoken = json_or_text(arguments) if isinstance(arguments, str) else arguments
    return call.id, call.name, spoken


def edit_target(operation: Any, edit: Any, response_to: Any) -> Any:
    """The commit to edit, in either of the two ways to say it; None for an append."""
    if operation == CommitOperation.APPEND:
        if response_to is not None:
            raise EditError("response_to= belongs to operation=CommitOperation.EDIT")
        return edit
    if operation != CommitOperation.EDIT:
        raise InputError(f"commit() can append and edit, not {str(operation)!r}")
    target = response_to if edit is None else edit
    if target is None:
        raise EditError("an edit needs the commit to edit: edit=hash")
    return target


def _check_in_view(place: Place) -> None:
    if place.summary:
        name, summary = place.shown.hash.hex(), place.summary.shown.hash.hex()
        raise EditError(f"commit {name} was compressed into {summary}: restore or edit that one")


def _link(kind: str, step: Step, value: str | None = None) -> Link:
    return Link(kind, step.id, step.hash, value)


def _check_message(message: Message) -> None:
    content, role = message.content, message.role
    if role not in ROLES:
        raise RoleError(f"unknown role {role!r}; expected one of {', '.join(ROLES)}")
    if (message.tool_call_id is None) == (role == "tool"):
        raise RoleError("a tool_call_id is needed by a tool message, and by no other role")
    if message.tool_call_id is not None or message.name is not None:
        _check_texts(message.tool_call_id, message.name)
    if message.origin is not None:
        _check_origin(message.origin)
    if role == "tool" or isinstance(content, str):
        return
    if not isinstance(content, tuple):
        raise InputError(f"a {role} message is a text, not {type(content).__name__}")
    for block in content:
        _check_block(block, role)


def _check_block(block: object, role: str) -> None:
    match block:
        case Text(text, origin):
            _check_texts(text, required=True)
            _check_origin(origin)
        case ToolCall(call_id, name, _, origin):
            _check_texts(call_id, name, required=True)
            _check_origin(origin)
            if role != "assistant":
                raise RoleError(f"a {role} message cannot call {name!r}")
        case Raw(provider):
            _check_texts(provider, required=True)
        case _:
            raise InputError(f"not a block: {type(block).__name__}")


def _check_origin(origin: object) -> None:
    if not (origin is None or isinstance(origin, dict)):
        raise InputError(f"an origin is a dict, not {type(origin).__name__}")


def _check_texts(*values: object, required: bool = False) -> None:
    for value in values:
        if not (isinstance(value, str) or (value is None and not required)):
            raise InputError(f"ids, names and notes are texts, not {type(value).__name__}")


def check_details(details: Details) -> None:
    _check_texts(details.note)
    for value in (details.metadata, details.generation_config, details.usage):
        if value is None:
            continue
        if not isinstance(value, dict):
            raise InputError(f"metadata is a dict, not {type(value).__name__}")
        check_json(value)


def _mark(links: list[Link], details: Details) -> Draft:
    check_details(details)
    note, metadata, toolset = details.note, details.metadata, details.toolset
    return Draft(CommitOperation.MARK, None, None, tuple(links), note, metadata, toolset=toolset)


def _draft(
    operation: CommitOperation,
    message: Message,
    details: Details,
    tokens: TokenCounter,
    links: tuple[Link, ...] = (),
) -> Draft:
    _check_message(message)
    if details != NO_DETAILS:
        check_details(details)
    if message.origin is not None:
        check_json(message.origin)
    content = message.content
    if isinstance(content, tuple):
        content = pack_content(message.role, content)
    payload = json_bytes(content)
    if details.shape is not None and message.role != "tool":
        raise InputError(f"only results have forms, not a {message.role} message")
    return Draft(
        operation,
        message,
        payload,
        links,
        details.note,
        details.metadata,
        details.generation_config,
        details.usage,
        tokens.count(content if isinstance(content, str) else spoken(message)),
        tokens.source,
        details.toolset,
        details.shape,
    )
