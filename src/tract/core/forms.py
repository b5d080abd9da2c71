"""Forms: which one of each result is shown, and by which settings. Pure.

No form depends on how long ago a result was sent, so that a request keeps the bytes that a provider
has cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tract.core.chain import FULL, Place
from tract.core.wording import is_fetch, pays
from tract.errors import InputError
from tract.model import Form, Message, Priority, Shape
from tract.reprs import brief, number

BY_GIST = (Form.REFERENCE, Form.SUMMARY)
"""The forms that show what is stored as the gist of a result."""
REFERENCE, COLLAPSED = Shape(Form.REFERENCE), Shape(Form.COLLAPSED)


class ResultView(NamedTuple):
    """How one compile shows results, whatever their forms are."""

    load: bool | frozenset[str] | None = None
    """None: each in its form. True: all in full. False: all as references. Ids: those in full."""
    keep_recent: int = 0
    inline_under: int = 0


AS_THEY_ARE = ResultView()


def result_view(
    load: bool | Iterable[str] | None, keep_recent: int, inline_under: int
) -> ResultView:
    """What a caller of compile asks for, checked."""
    if isinstance(load, str) or not (load is None or isinstance(load, bool | Iterable)):
        raise InputError(f"load_tool_results is None, True, False or ids, not {load!r:.80}")
    for name, value in (("keep_recent", keep_recent), ("inline_under", inline_under)):
        if type(value) is not int or value < 0:
            raise InputError(f"{name} must be an integer of at least 0, not {value!r:.80}")
    ids = load if load is None or isinstance(load, bool) else frozenset(load)
    if isinstance(ids, frozenset) and not all(isinstance(name, str) for name in ids):
        raise InputError("the ids in load_tool_results are texts")
    return ResultView(ids, keep_recent, inline_under)


class Shown(msgspec.Struct, frozen=True, gc=False):
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


def shown_items(
    places: Sequence[Place], start: int = 0, view: ResultView = AS_THEY_ARE
) -> list[Shown]:
    """What a view is made of, from one place on."""
    return list(filter(None, map(_Choice(places, view).item, places[start:])))


def newest_items(places: Sequence[Place]) -> Iterator[Shown]:
    """What the view is made of, from its end on."""
    choice = _Choice(places, AS_THEY_ARE)
    return filter(None, map(choice.item, reversed(places)))


def is_fixed(place: Place) -> bool:
    """Pinned, or itself an answer to a question for a result: always shown in full."""
    return place.priority == Priority.PINNED or is_fetch(place.origin.name)


class _Choice:
    """The forms of one view."""

    def __init__(self, places: Sequence[Place], view: ResultView) -> None:
        self._view = view
        results = (p.origin.id for p in _newest(places) if p.origin.role == "tool")
        self._recent = set(islice(results, view.keep_recent))
        self._last = next((p.at for p in _newest(places) if p.stays_last), 0)
        self._collapsed: dict[int, bool] = {}  # by call

    def item(self, place: Place) -> Shown | None:
        """How a message is shown; None if it is not."""
        if place.is_hidden or (place.call and self._is_collapsed(place.call)):
            return None
        if place.is_skipped_result:
            return Shown(place, is_left_out=True)
        if place.origin.role != "tool":
            return Shown(place, COLLAPSED if self._is_collapsed(place) else FULL)
        return Shown(place, shown_shape(place, self._wanted_shape(place)))

    def _wanted_shape(self, place: Place) -> Shape:
        view = self._view
        if view.load is True or is_fixed(place) or place.origin.id in self._recent:
            return FULL
        if view.inline_under and place.shown.token_count <= view.inline_under:
            return FULL
        if view.load is None:
            return place.shape or FULL
        if view.load is not False and {place.label, place.origin.tool_call_id} & view.load:
            return FULL
        return REFERENCE

    def _is_collapsed(self, call: Place) -> bool:
        """One line replaces a turn if all of its results allow it and something follows it: a
        request must not end with an assistant message."""
        if not call.may_collapse or call.is_hidden:
            return False
        known = self._collapsed.get(call.origin.id)
        if known is None:
            known = (
                self._last > call.at
                and len(call.results) == len(call.shown.calls)
                and all(self._wanted_shape(r).form == Form.COLLAPSED for r in call.results)
            )
            self._collapsed[call.origin.id] = known
        return known


def _newest(places: Sequence[Place]) -> Iterator[Place]:
    """What is in the view, the newest first. Few are looked at, so that a turn costs no more."""
    return (place for place in reversed(places) if not place.is_hidden)


def shown_shape(place: Place, shape: Shape) -> Shape:
    """What a form comes to for one result that is not collapsed with its call: it is full where a
    reference, or a line by tract, would save less than a third."""
    if shape.form == Form.COLLAPSED:
        shape = REFERENCE
    is_made_here = shape.form in BY_GIST and shape.text is None
    return FULL if is_made_here and not pays(place.shown) else shape


def stays_full(place: Place, shape: Shape) -> bool:
    """Whether a result is shown in full although it is to have a shorter form."""
    is_reduced = shape.form not in (Form.FULL, Form.COLLAPSED)
    return is_reduced and shown_shape(place, shape) == FULL


def for_summary(place: Place) -> Shown:
    """A message for a summarizer: in its own form, but not collapsed, which says nothing of it."""
    shape = FULL if is_fixed(place) else shown_shape(place, place.shape or FULL)
    return Shown(place, shape, place.is_skipped_result)


# Lists


class ToolResultInfo(msgspec.Struct, frozen=True):
    """A result as a list of them shows it."""

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
    subject: str = ""
    """What was asked: `Bash: pytest -q`."""

    def __repr__(self) -> str:
        return brief(
            self,
            self.id,
            self.tool,
            self.form and str(self.form),
            self.status,
            number(self.byte_size, "byte"),
            number(self.token_count, "token"),
        )


def forms(places: Sequence[Place]) -> dict[Place, Form | None]:
    """All results, each with what a model sees of it; None for those that are left out."""
    # One that is in the view but not shown is collapsed: its call stands for it.
    results = [place for place in places if place.origin.role == "tool"]
    seen = {place: None if place.is_hidden else Form.COLLAPSED for place in results}
    for item in shown_items(places):
        if item.place.origin.role == "tool":
            seen[item.place] = None if item.is_left_out else item.shape.form
    return seen


# Settings


class ResultSettings(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The rules by which new results of a dialog get their forms."""

    inline_tokens: int | None = None
    preview_tokens: int | None = None
    keep: tuple[str, ...] = ()
    tools: dict[str, dict[str, int | None]] = {}
    is_lazy: bool = msgspec.field(default=False, name="was_lazy")
    """Whether there is or was a limit: what a model was offered once stays offered."""

    def shape(self, name: str | None, token_count: int) -> Shape | None:
        """The form of a new result of this tool; None if it is shown in full."""
        own = self.tools.get(name or "", {})
        limit = own.get("inline_tokens", self.inline_tokens)
        if limit is None or name in self.keep or is_fetch(name) or token_count <= limit:
            return None
        return Shape(Form.REFERENCE, own.get("preview_tokens", self.preview_tokens))


def settings(**options: object) -> ResultSettings:
    """What a caller configures, checked."""
    try:
        checked = msgspec.convert(options, ResultSettings)
    except msgspec.ValidationError as error:
        raise InputError(f"not settings for results: {error}") from None
    common = {"inline_tokens": checked.inline_tokens, "preview_tokens": checked.preview_tokens}
    for own in (common, *checked.tools.values()):
        for key, limit in own.items():
            if key not in ("inline_tokens", "preview_tokens"):
                raise InputError(f"not a setting for a tool: {key!r:.80}")
            if limit is not None and limit < 0:
                raise InputError(f"{key} is a number of tokens, not {limit}")
    limits = [own.get("inline_tokens") for own in (common, *checked.tools.values())]
    is_lazy = checked.is_lazy or any(limit is not None for limit in limits)
    return replace(checked, is_lazy=is_lazy)
