"""Commits that clients draft: made again here, so that they are checked like any other."""

from __future__ import annotations

from msgspec.structs import replace

from tract.core import drafts
from tract.core.drafts import Details
from tract.errors import InputError
from tract.model import (
    CommitInfo,
    CommitOperation,
    Draft,
    Head,
    Message,
    Shape,
    unpack_shape,
)
from tract.providers import toolsets
from tract.remote import wire
from tract.remote.values import PushParameters
from tract.session import results
from tract.session.session import Session
from tract.tract import Tract
from tract.web.methods import Request


def push(tract: Tract, request: Request) -> CommitInfo:
    """Append what a client has drafted."""
    pushed, session = request.params, tract.session
    assert isinstance(pushed, PushParameters)
    tools = None if pushed.tools is None else toolsets.make(pushed.tools, session.tokens)
    shape = None if pushed.form is None else _shape(pushed.form)
    details = Details(
        pushed.note, pushed.metadata, pushed.generation_config, pushed.usage, tools, shape
    )
    message = None if pushed.message is None else wire.unpack_message(pushed.message)
    targets = [link.target for link in pushed.links]
    match pushed.operation, message:
        case CommitOperation.APPEND, Message():
            return session.commit(message, details)
        case CommitOperation.EDIT, Message() if targets:
            return session.commit(message, details, edit=targets[0])
        case CommitOperation.COMPRESS, Message():
            return session.write(lambda head: _summary(session, head, targets, message, details))
        case CommitOperation.MARK, None:
            return session.write(lambda head: _mark(session, head, pushed, details))
    raise InputError(f"not a commit that can be pushed: {pushed.operation!r:.80}")


def _summary(
    session: Session, head: Head, targets: list[str], message: Message, details: Details
) -> Draft:
    places = session.places(session.chain(head), targets)
    return drafts.compress(places, message.text, details, session.tokens)


def _mark(session: Session, head: Head, pushed: PushParameters, details: Details) -> Draft:
    links = pushed.links
    kinds = {link.kind for link in links}
    if not links and details.toolset is not None:
        return drafts.offer(details.toolset, replace(details, toolset=None))
    places = session.places(session.chain(head), [link.target for link in links])
    values = [link.value or "" for link in links]
    if kinds == {"priority"} and len(set(values)) == 1:
        return drafts.prioritize(places, values[0], details)
    if kinds == {"form"}:
        shapes = [_shape(value) for value in values]
        return results.reshape(session, list(zip(places, shapes, strict=True)), details)
    raise InputError(f"not marks that can be pushed: {', '.join(sorted(kinds)) or 'none'}")


def _shape(stored: str) -> Shape:
    try:
        return unpack_shape(stored)
    except (ValueError, KeyError, TypeError):
        raise InputError(f"not a form: {stored!r:.80}") from None


def describe(tract: Tract, request: Request) -> None:
    """Note what the dialog is."""
    tract.session.configure("facts", request.fields["facts"])
