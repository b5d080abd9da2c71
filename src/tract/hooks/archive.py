"""Stores a result in the dialog of its session, and makes the reference that replaces it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tract.content.blocks import whole_text
from tract.core.drafts import Details
from tract.core.forms import Shown
from tract.core.place import Place
from tract.core.wording import pays, spell_fetch
from tract.hashing import to_json
from tract.hooks.events import ToolResult
from tract.model import CommitInfo, DialogFacts, Form, Json, Message, Shape, ToolCall
from tract.session import Session

MAX_ARGUMENTS = 4_096
"""Characters of JSON. Longer arguments hold a file, which the transcript has."""


class Limits(NamedTuple):
    """Which results are replaced, and by how much."""

    inline_tokens: int | None = None
    """Longer results are replaced; None replaces none."""
    preview_tokens: int | None = None


class Kept(NamedTuple):
    """What was done with a result."""

    is_new: bool
    size: int
    """In bytes."""
    reference: str | None = None
    """What the model is shown instead."""


def keep(
    session: Session,
    result: ToolResult,
    client: str,
    limits: Limits,
    tool: str,
    deliver: Callable[[str | None], bool],
) -> Kept:
    """Store a result, then call `deliver` with its reference, or None. If it returns False, the
    agent does not wait any more, and the model sees the full result."""
    message = Message("tool", result.content, result.call_id, result.tool, result.is_error)
    text = whole_text(message)
    size = len(text.encode("utf-8", "surrogatepass"))
    has_id = session.store.has_result(session.dialog, result.call_id)
    if has_id and _is_known(session, message):
        deliver(None)
        return Kept(False, size)
    shape = _shape(session, result, text, limits)
    with session.batch():
        _describe(session, result, client)
        details = Details(metadata=_metadata(result, client), shape=shape)
        call = ToolCall(result.call_id, result.tool, result.arguments)
        commit = session.commit(message, details, call=call)
    reference = None
    place = _place(session, commit, is_first=not has_id) if shape is not None else None
    if shape is not None and place is not None and pays(place.shown):
        [(shown, _)] = session.compiler.render([Shown(place, shape)])
        reference = spell_fetch(shown.text, place, tool)
    is_delivered = deliver(reference)
    if shape is not None and not (reference and is_delivered):
        _show_in_full(session, commit)
    return Kept(True, size, reference if is_delivered else None)


def _is_known(session: Session, message: Message) -> bool:
    """Whether the newest result with this id is the same: a hook may be configured twice."""
    places = [p for p in session.chain().places if p.origin.tool_call_id == message.tool_call_id]
    return bool(places) and session.compiler.message(places[-1].shown).content == message.content


def _place(session: Session, commit: CommitInfo, *, is_first: bool) -> Place:
    """Where a new result stands. The first with its id is known without the rest of the history,
    which may be long."""
    if is_first:
        return Place(session.store.step(session.resolve(commit)))
    [place] = session.places(session.chain(), [commit])
    return place


def _shape(session: Session, result: ToolResult, text: str, limits: Limits) -> Shape | None:
    if limits.inline_tokens is None or result.replace is None:
        return None
    if session.tokens.count(text) <= limits.inline_tokens:
        return None
    return Shape(Form.REFERENCE, limits.preview_tokens)


def _describe(session: Session, result: ToolResult, client: str) -> None:
    """Note what the dialog is, once."""
    if session.store.dialogs.settings(session.dialog, "facts") is None:
        from tract.core.transcript import dialog_name  # only the first result needs it

        facts = DialogFacts(
            title=f"Tool results of a {client} session",
            folder=result.folder,
            parent=dialog_name(result.session),
        )
        session.configure("facts", facts)


def _metadata(result: ToolResult, client: str) -> dict[str, Json]:
    metadata: dict[str, Json] = {"client": client}
    if result.arguments is not None and len(to_json(result.arguments)) <= MAX_ARGUMENTS:
        metadata["arguments"] = result.arguments
    if result.problem:
        metadata["problem"] = result.problem
    return metadata


def _show_in_full(session: Session, commit: CommitInfo) -> None:
    """Record that the model was not shown the reference."""
    from tract.session.commits import reshape  # rarely needed, and the agent waits

    reshape(session, {commit.commit_hash: Form.FULL}, "not replaced")
