"""Results: which form of each is shown, and the words that stand for what is not. Pure.

Nothing here depends on how long ago something was said, so that a request keeps the bytes which a
provider has cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import msgspec

from tract.core.chain import FULL, Place
from tract.errors import InputError
from tract.model import Form, Gist, Message, Priority, Raw, Shape, Text, ToolCall
from tract.providers.common import THOUGHTS, kind_of_raw
from tract.providers.compressor import ERROR, TEMPLATE
from tract.providers.openai_responses import without_item_id

GET_TOOL_RESULT = "get_tool_result"
DEFAULT_TOKENS = 400
FRAME_TOKENS = 60  # of a reference, beside summary and preview
REFERENCE, COLLAPSED = Shape(Form.REFERENCE), Shape(Form.COLLAPSED)


class View(NamedTuple):
    """How one compile shows results, whatever their forms are."""

    load: bool | frozenset[str] | None = None
    """None: each in its form. True: all whole. False: all as references. Ids: just those whole."""
    keep_recent: int = 0
    inline_under: int = 0


AS_THEY_ARE = View()


def view(load: bool | Iterable[str] | None, keep_recent: int, inline_under: int) -> View:
    """What a caller of compile asks for, checked."""
    if isinstance(load, str) or not (load is None or isinstance(load, bool | Iterable)):
        raise InputError(f"load_tool_results is None, True, False or ids, not {load!r:.80}")
    for name, value in (("keep_recent", keep_recent), ("inline_under", inline_under)):
        if type(value) is not int or value < 0:
            raise InputError(f"{name} is a number from 0 on, not {value!r:.80}")
    ids = load if load is None or isinstance(load, bool) else frozenset(load)
    return View(ids, keep_recent, inline_under)


class Shown(NamedTuple):
    """A message of the view."""

    place: Place
    shape: Shape = FULL
    is_left_out: bool = False


class Sent(NamedTuple):
    """What the model is sent of a message."""

    message: Message
    tokens: int
    form: Form
    is_left_out: bool = False


# Which form


def shown(places: Sequence[Place], start: int = 0, view: View = AS_THEY_ARE) -> list[Shown]:
    """What a view is made of, from one place on."""
    return list(_Choice(places, view).shown(start))


def is_fixed(place: Place) -> bool:
    """Pinned, or itself an answer to a question for a result: always shown whole."""
    return place.priority == Priority.PINNED or place.origin.name == GET_TOOL_RESULT


class _Choice:
    """The forms of one view."""

    def __init__(self, places: Sequence[Place], view: View) -> None:
        self._places = places
        self._view = view
        visible = [place for place in places if not place.is_hidden]
        results = (place.origin.id for place in reversed(visible) if place.origin.role == "tool")
        self._recent = set(islice(results, view.keep_recent))
        self._last = next((p.at for p in reversed(visible) if p.stays_last), 0)
        self._collapsed: dict[int, bool] = {}  # by call

    def shown(self, start: int) -> Iterator[Shown]:
        for place in self._places[start:]:
            if place.is_hidden or (place.call and self._is_collapsed(place.call)):
                continue
            if place.is_skipped_result:
                yield Shown(place, is_left_out=True)
            elif place.origin.role != "tool":
                yield Shown(place, COLLAPSED if self._is_collapsed(place) else FULL)
            else:
                wanted = self._wanted(place)
                yield Shown(place, REFERENCE if wanted.form == Form.COLLAPSED else wanted)

    def _wanted(self, place: Place) -> Shape:
        view, own = self._view, place.shape or FULL
        if view.load is True or is_fixed(place) or place.origin.id in self._recent:
            return FULL
        if view.inline_under and place.shown.token_count <= view.inline_under:
            return FULL
        if view.load is None:
            return own
        if view.load is not False and {place.label, place.origin.tool_call_id} & view.load:
            return FULL
        return REFERENCE

    def _is_collapsed(self, call: Place) -> bool:
        """A turn gives way to one line when all of it may, and when something follows it: a
        request must not end with what the assistant said."""
        if not call.results or call.is_hidden:
            return False
        known = self._collapsed.get(call.origin.id)
        if known is None:
            known = (
                self._last > call.at
                and len(call.results) == len(call.shown.calls)
                and all(self._wanted(r).form == Form.COLLAPSED for r in call.results)
            )
            self._collapsed[call.origin.id] = known
        return known


def as_told(place: Place) -> Shown:
    """A message for somebody who is to tell what it says: in its own form, but never as the one
    line of a collapsed turn, which says nothing of a result."""
    shape = place.shape or FULL
    if is_fixed(place):
        shape = FULL
    elif shape.form == Form.COLLAPSED:
        shape = REFERENCE
    return Shown(place, shape, place.is_skipped_result)


def is_lazy(items: Sequence[Shown]) -> bool:
    """Whether something in the view can be asked for."""
    return any(item.shape.form != Form.FULL for item in items)


# Lists


class ToolResultInfo(msgspec.Struct, frozen=True):
    """A result as a list of them tells it."""

    id: str
    """By which it is asked for."""
    tool: str | None
    form: Form | None
    """What the model sees of it; None where it is left out of the view."""
    status: str
    """`success` or `error`."""
    token_count: int
    byte_size: int
    commit_hash: str
    created_at: datetime | None = None


def info(
    place: Place, form: Form | None, has_failed: bool, created_at: datetime | None
) -> ToolResultInfo:
    step = place.shown
    return ToolResultInfo(
        place.label,
        step.name,
        form,
        "error" if has_failed else "success",
        step.token_count,
        step.byte_size,
        step.hash.hex(),
        created_at,
    )


def forms(places: Sequence[Place]) -> dict[Place, Form | None]:
    """All results, each with what a model sees of it; None for those that are left out."""
    seen = {item.place.origin.id: item for item in shown(places)}
    return {place: _seen_form(place, seen) for place in places if place.origin.role == "tool"}


def _seen_form(place: Place, seen: dict[int, Shown]) -> Form | None:
    item = seen.get(place.origin.id)
    if item is None:  # its call stands for it, or is hidden too
        return None if place.is_hidden else Form.COLLAPSED
    return None if item.is_left_out else item.shape.form


# Which words


def how_to_fetch(place: Place) -> str:
    """The call that gets a result; every form of it says so, and is known by it."""
    return f'{GET_TOOL_RESULT}(id="{place.label}")'


def reference(place: Place, gist: Gist, shape: Shape = FULL) -> str:
    """What the model sees in the place of a result."""
    step = place.shown
    failed = step.is_error or gist.is_error
    facts = (
        f"result of {step.name or 'a tool'}",
        place.label,
        "error" if failed else "success",
        f"{step.byte_size} bytes",
        f"{step.token_count} tokens",
    )
    preview = preview_of(gist, shape)
    told = "" if preview.strip() == gist.summary else gist.summary
    rest = f"[not shown whole; {how_to_fetch(place)} has the rest]"
    return "\n".join(part for part in (f"[{' · '.join(facts)}]", told, preview, rest) if part)


def reference_tokens(gist: Gist, shape: Shape) -> int | None:
    """About how many tokens a reference has, if they were counted when the result was written:
    counting all of them anew would be most of the work of opening a long history."""
    if not gist.token_count:
        return None
    shown = len(gist.summary) + len(preview_of(gist, shape))
    return FRAME_TOKENS + gist.token_count * shown // (len(gist.summary) + len(gist.preview))


def preview_of(gist: Gist, shape: Shape) -> str:
    return cut(gist.preview, _characters(shape))


def truncated(text: str, place: Place, shape: Shape) -> str | None:
    """The beginning of a text; None where that would not be shorter."""
    limit = _characters(shape)
    tail = f"\n[truncated; {how_to_fetch(place)} has the rest]"
    return None if len(text) <= limit + len(tail) else cut(text, limit) + tail


def _characters(shape: Shape) -> int:
    return 4 * (DEFAULT_TOKENS if shape.tokens is None else shape.tokens)


def summary(place: Place, gist: Gist, shape: Shape) -> str:
    """What somebody said of a result, and where the whole is."""
    return summary_words(place, shape.text or gist.summary)


def summary_words(place: Place, text: str) -> str:
    name = place.shown.name or "a tool"
    return f"[summary of the result of {name}; {how_to_fetch(place)} has the whole]\n{text}"


def collapsed(message: Message, call: Place) -> Message:
    """A call and its results as one line of the assistant each, beside what it said. Thoughts
    that led to a call are not taken by a provider without it."""
    left = list(call.results)
    blocks = [_line(block, left) for block in message.blocks if not _is_thought(block)]
    return Message(message.role, tuple(blocks), name=message.name)


def _line(block: Text | ToolCall | Raw, left: list[Place]) -> Text | Raw:
    """A call as one line, with the first of the results that are left for its id."""
    if not isinstance(block, ToolCall):
        return block
    result = next((place for place in left if place.origin.tool_call_id == block.id), None)
    if result is None:  # an edit has changed the calls, or some still wait
        return Text(f"[Tool: {block.name}]")
    left.remove(result)
    state = ERROR if result.shown.is_error else ""
    return Text(TEMPLATE.format(name=block.name, id=result.label + state))


def without_thoughts(message: Message) -> Message:
    """What was said and called, all thoughts left out; the message itself where there are none."""
    blocks = tuple(block for block in message.blocks if not _is_thought(block))
    if len(blocks) == len(message.blocks):
        return message
    return msgspec.structs.replace(message, content=tuple(map(without_item_id, blocks)))


def _is_thought(block: object) -> bool:
    return isinstance(block, Raw) and kind_of_raw(block) in THOUGHTS


def cut(text: str, limit: int) -> str:
    """The beginning of a text, up to the end of a line where one is near."""
    if len(text) <= limit:
        return text
    end = text.rfind("\n", limit * 3 // 4, limit)
    return text[: end if end > 0 else limit]


# Settings


class ResultSettings(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """By which the results of a dialog get their forms at birth."""

    inline_tokens: int | None = None
    preview_tokens: int | None = None
    keep: tuple[str, ...] = ()
    tools: dict[str, dict[str, int | None]] = {}
    was_lazy: bool = False
    """Whether there ever was a limit: what a model was offered once stays offered."""

    def shape(self, name: str | None, token_count: int) -> Shape | None:
        """The form in which a result of this tool is born; None for its whole."""
        own = self.tools.get(name or "", {})
        limit = own.get("inline_tokens", self.inline_tokens)
        if limit is None or name in (*self.keep, GET_TOOL_RESULT) or token_count <= limit:
            return None
        return Shape(Form.REFERENCE, own.get("preview_tokens", self.preview_tokens))

    @property
    def is_lazy(self) -> bool:
        if self.was_lazy:
            return True
        limits = [self.inline_tokens, *(own.get("inline_tokens") for own in self.tools.values())]
        return any(limit is not None for limit in limits)


def settings(**given: object) -> ResultSettings:
    """What a caller configures, checked."""
    try:
        found = msgspec.convert(given, ResultSettings)
    except msgspec.ValidationError as error:
        raise InputError(f"not settings for results: {error}") from None
    for own in (
        {"inline_tokens": found.inline_tokens, "preview_tokens": found.preview_tokens},
        *found.tools.values(),
    ):
        for key, limit in own.items():
            if key not in ("inline_tokens", "preview_tokens"):
                raise InputError(f"not a setting for a tool: {key!r:.80}")
            if limit is not None and limit < 0:
                raise InputError(f"{key} is a number of tokens, not {limit}")
    return found
