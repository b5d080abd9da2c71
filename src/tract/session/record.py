"""A full history as a client has it: what is new of it is appended where it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tract.core.alignment import Branches, additions, align_any, is_known
from tract.core.entries import FullHistory
from tract.errors import InputError
from tract.model import EMPTY, CommitInfo, CommitOperation, Head, Json, Message
from tract.providers.requests import full_history, load_history
from tract.session.branches import create_numbered
from tract.session.commits import commit
from tract.session.session import Session
from tract.session.tools import set_tools


def record(
    session: Session,
    messages: Sequence[Message | dict[str, Json]] | dict[str, Json],
    response: Any = None,
    metadata: dict[str, Json] | None = None,
) -> list[CommitInfo]:
    """`Tract.record` explains it."""
    loaded = load_history(messages)
    history = full_history(loaded, response, metadata)
    return record_history(session, history, loaded.config.get("previous_response_id"))


def record_history(
    session: Session, history: FullHistory, previous: Json = None
) -> list[CommitInfo]:
    """Append what is new, on the branch that it belongs to. With the id of the response before it,
    all of it is new: the provider keeps the rest."""
    with session.batch():
        new = history.messages
        if previous is None:
            new = _align(session, new)
        else:
            session.lock_branch()
            _go_behind(session, previous)
        items = additions(history, new, session.chain())
        commits = [
            commit(session, *item) if item else set_tools(session, history.tools) for item in items
        ]
        return [info for info in commits if info]


def knows(session: Session, messages: Sequence[Message]) -> bool:
    """Whether a branch has the beginning of a history, beyond its system message."""
    with session.lock:
        return is_known(messages, _branches(session))


def _branches(session: Session) -> Branches:
    for name, head in session.store.branches(session.dialog).items():
        compiler = session.new_compiler()
        yield name, compiler.chain(head), compiler


def _align(session: Session, messages: Sequence[Message]) -> Sequence[Message]:
    """What is new. The branch that has the rest is checked out, or a new one from where it
    differs."""
    _, head = session.lock_branch()
    chain = session.chain(head)
    aligned = align_any(messages, chain, session.compiler, _branches(session))
    if aligned.branch:
        session.go_to(aligned.branch)
    elif aligned.differs_at:
        before = chain.before(aligned.differs_at)
        create_numbered(session, Head(before.id, before.hash) if before else EMPTY)
    return aligned.new


def _go_behind(session: Session, response_id: Json) -> None:
    """To the branch that ends with this answer, else to a new one that begins behind it."""
    for name, head in session.store.branches(session.dialog).items():
        is_last = True
        for info in session.store.log(head.id):
            response = info.metadata.get("response")
            if isinstance(response, dict) and response.get("id") == response_id:
                session.go_to(name)
                if not is_last:
                    create_numbered(session, session.resolve(info))
                return
            is_last = is_last and info.operation != CommitOperation.APPEND
    raise InputError(f"no response {response_id!r:.80} is recorded in this dialog")
