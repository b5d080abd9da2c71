"""Tool results of a session: their settings, their parts, and finding them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from tract.content.blocks import has_pictures, whole_text
from tract.content.query import Slice, id_of, slice_of
from tract.content.query import answer as part_as_text
from tract.content.reader import TextReader
from tract.core import drafts, forms, turns
from tract.core.chain import Place
from tract.core.drafts import Details
from tract.core.forms import ToolResultInfo, stays_full
from tract.core.turns import DroppedTurns, Superseded, ToolTurn
from tract.core.wording import GET_TOOL_RESULT, is_fetch, what_of, with_narrowed
from tract.errors import ForgottenError, InputError, NotFoundError
from tract.model import CommitInfo, Draft, Gist, Json, Message, Priority, Shape
from tract.providers import load_call
from tract.providers.call_ids import find_result
from tract.session.session import Commit, Session


def configure(
    session: Session,
    inline_tokens: int | None,
    preview_tokens: int | None,
    keep: Sequence[str],
    tools: Mapping[str, Mapping[str, int | None]] | None,
) -> None:
    settings = forms.settings(
        inline_tokens=inline_tokens,
        preview_tokens=preview_tokens,
        keep=list(keep),
        tools={name: dict(own) for name, own in (tools or {}).items()},
    )
    settings = replace(settings, is_lazy=session.settings.is_lazy or settings.is_lazy)
    session.configure("result_settings", settings)
    session.settings = settings


# Parts of a result


def answer(session: Session, call: Any) -> CommitInfo:
    """Commit the answer to a model's call of `get_tool_result`, or the reason why there is none."""
    call = load_call(call)
    if not is_fetch(call.name):
        raise InputError(f"this is a call of {call.name!r}, not of {GET_TOOL_RESULT}")
    try:
        part = fetch(session, id_of(call.arguments), slice_of(call.arguments), pictures=True)
        result = Message("tool", part, call.id, call.name)
    except (InputError, NotFoundError, ForgottenError) as error:
        result = Message("tool", str(error), call.id, call.name, is_error=True)
    return session.commit(result)


def fetch(session: Session, name: str, part: Slice, *, pictures: bool = False) -> Json:
    """Return a part of a result as a text; with `pictures`, all blocks if there are pictures."""
    with session.lock:
        place = find_result(session.chain().places, name)
        source: TextReader | str | None = stored_text(session, place)
        if source is None:
            message = session.compiler.load(place.shown)
            if pictures and part == Slice() and has_pictures(message):
                return message.content
            source = whole_text(message)
        label = f"{place.label} · {place.shown.name or 'a tool'}"
        return part_as_text(source, part, label=label)


def stored_text(session: Session, place: Place) -> TextReader | None:
    """A large text, to be read in pieces; None for any other content. The caller holds the lock."""
    step = place.shown
    return None if step.data is not None else session.store.contents.text(step.blob_id or 0)


# Forms


Gists = Mapping[int, Gist]
"""By the keys of their contents."""
NO_GISTS: Gists = MappingProxyType({})


def reshape(
    session: Session,
    shapes: Sequence[tuple[Place, Shape]],
    details: Details,
    made: Gists = NO_GISTS,
) -> Draft:
    """Draft a mark that sets the forms of results. Gists that are shown from now on are stored:
    the results need not be read again, and a reference does not change. Those that were `made`
    before the transaction are taken from there."""
    draft = drafts.reshape(shapes, details)
    session.store.contents.add_gists(make_gists(session, shapes, made))
    return draft


def make_gists(
    session: Session, shapes: Sequence[tuple[Place, Shape]], made: Gists = NO_GISTS
) -> dict[int, Gist]:
    """Return the gists that these forms show, without those that are stored. The tokens are left
    out, because what was compiled before is compiled again with the same numbers."""
    places = [p for p, shape in shapes if drafts.shows_gist(shape) and not stays_full(p, shape)]
    by_content = {place.shown.blob_id or 0: place for place in reversed(places)}
    stored = session.store.contents.gists(list(by_content))
    missing = {key: place for key, place in by_content.items() if key not in stored}
    new = [place for key, place in missing.items() if key not in made]
    calls, shape_of = session.compiler.calls(new), dict(shapes)
    gists = {
        place: with_narrowed(gist, place, shape_of[place], calls.get(place))
        for place, gist in session.compiler.gists(new, calls).items()
    }
    ready = {key: made.get(key) or gists.get(place) for key, place in missing.items()}
    return {key: gist for key, gist in ready.items() if gist}


# Finding results


def list_results(session: Session, ids: Sequence[str]) -> list[ToolResultInfo]:
    with session.lock:
        places = session.chain().places
        by_place = forms.forms(places)
        selected = [find_result(places, name) for name in ids] if ids else list(by_place)
        failed = set(session.compiler.failures(selected))
        calls = session.compiler.calls(selected)
        results = []
        for place, info in zip(selected, session.infos(selected), strict=True):
            form, status = by_place.get(place), "error" if place in failed else "success"
            facts = (info.token_count, info.byte_size, info.commit_hash, info.created_at)
            what = what_of(place.shown, calls.get(place))
            results.append(ToolResultInfo(place.label, info.name, form, status, *facts, what))
        return results


def find_results(
    session: Session, name: str | None, after: Commit | None, before: Commit | None
) -> list[CommitInfo]:
    with session.lock:
        chain = session.chain()
        first, last = (
            None if c is None else chain.order(session.resolve(c)) for c in (after, before)
        )
        return session.infos(turns.results_of(chain.places, name, first, last))


def find_turns(session: Session, name: str | None) -> list[ToolTurn]:
    with session.lock:
        calls = turns.calls_of(session.chain().places, name)
        infos = iter(session.infos([place for call in calls for place in call.turn]))
    return [
        ToolTurn(
            call=next(infos),
            results=[next(infos) for _ in call.results],
            tool_names=[tool for _, tool in call.shown.calls],
        )
        for call in calls
    ]


def find_superseded(session: Session) -> list[Superseded]:
    with session.lock:
        places = session.chain().places
        pairs = list(turns.superseded_results(places, session.compiler.message))[::-1]
        old = session.infos([result for result, _, _ in pairs])
        new = session.infos([by for _, by, _ in pairs])
    reasons = [reason for _, _, reason in pairs]
    return [Superseded(*each) for each in zip(old, new, reasons, strict=True)]


def drop_failed_turns(session: Session, name: str | None) -> DroppedTurns:
    with session.batch():
        _, head = session.lock_branch()
        places = session.chain(head).places
        results = [result for call in turns.calls_of(places, name) for result in call.results]
        failed = frozenset(session.compiler.failures(results))
        calls = turns.failed_turns(places, name, failed.__contains__)
        if not calls:
            return DroppedTurns(0, 0, 0)
        members = [member for call in calls for member in call.turn]
        details = Details("failed calls left out")
        mark = session.write(lambda _: drafts.prioritize(calls, Priority.SKIP, details))
    tokens = sum(member.shown.token_count for member in members)
    return DroppedTurns(len(calls), len(members) - len(calls), tokens, mark)
