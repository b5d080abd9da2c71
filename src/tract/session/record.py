"""Append what is new in a client's full history, on the branch that it continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tract.core.alignment import Alignment, align, with_known_ids
from tract.core.chain import Chain
from tract.core.drafts import Details
from tract.errors import InputError
from tract.model import EMPTY, CommitInfo, CommitOperation, Head, Json, Message
from tract.providers import load_answer
from tract.providers.requests import Loaded, load_history
from tract.session.branches import create_numbered
from tract.session.commits import set_tools
from tract.session.session import Session


def record(
    session: Session,
    messages: Sequence[Message | dict[str, Json]] | dict[str, Json] | Loaded,
    response: Any = None,
    metadata: dict[str, Json] | None = None,
) -> list[CommitInfo]:
    """See `Tract.record`."""
    history = load_history(messages)
    answer = None if response is None else load_answer(response)
    full = [*history.messages, *([answer.message] if answer else [])]
    with session.batch():
        new = _aligned(session, full, history.config.get("previous_response_id")).new
        before = full[: len(full) - len(new)]
        new = with_known_ids(new, before, session.chain().places)
        if answer is None or not new:
            return _append_with_tools(session, new, history.tools)
        commits = _append_with_tools(session, new[:-1], history.tools)
        rest = {"response": answer.rest} if answer.rest else {}
        details = Details(
            metadata={**rest, **(metadata or {})} or None,
            generation_config=history.config or None,
            usage=answer.usage,
        )
        return [*commits, session.commit(answer.message, details)]


def knows(session: Session, messages: Sequence[Message]) -> bool:
    """Whether a branch has the beginning of a history, apart from instructions."""
    with session.lock:
        for head in session.store.branches(session.dialog).values():
            compiler = session.new_compiler()
            new = align(messages, compiler.chain(head), compiler).new
            known = messages[: len(messages) - len(new)]
            if any(message.role != "system" for message in known):
                return True
    return False


def _aligned(session: Session, messages: list[Message], previous: Json) -> Alignment:
    """Find what is new, and check out its branch. After the id of a previous response, everything
    is new: the provider keeps the rest."""
    _, head = session.lock_branch()
    if previous is not None:
        _go_after(session, previous)
        return Alignment(messages, None)
    chain = session.chain(head)
    alignment = align(messages, chain, session.compiler)
    if alignment.differs_at is None:
        return alignment
    return _diverge(session, messages, alignment, chain)


def _go_after(session: Session, response_id: Json) -> None:
    """Check out the branch that ends with this answer, or a new one that starts after it."""
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


def _diverge(
    session: Session, messages: list[Message], alignment: Alignment, chain: Chain
) -> Alignment:
    """Check out the branch that has this history already, or a new one where it differs."""
    for name, head in session.store.branches(session.dialog).items():
        compiler = session.new_compiler()
        other = align(messages, compiler.chain(head), compiler)
        if other.differs_at is None and len(other.new) < len(messages):
            session.go_to(name)
            return other
    before = chain.before(alignment.differs_at) if alignment.differs_at else None
    create_numbered(session, Head(before.id, before.hash) if before else EMPTY)
    return alignment


def _append_with_tools(session: Session, new: Sequence[Message], tools: Any) -> list[CommitInfo]:
    """Append messages and set the tools. The tools of a request are for the next answer: answers
    in the request had the earlier tools, if there were any."""
    known = session.chain().toolset is not None
    answers = [number for number, message in enumerate(new, 1) if message.role == "assistant"]
    first = answers[-1] if answers and known else 0
    commits = [session.commit(message) for message in new[:first]]
    offer = None if tools is None else set_tools(session, tools)
    commits += [offer] if offer else []
    return [*commits, *(session.commit(message) for message in new[first:])]
