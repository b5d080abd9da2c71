"""The tools that the model of a session has and had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tract.context import CompiledContext
from tract.core import drafts
from tract.core.drafts import Details
from tract.model import CommitInfo, Toolset
from tract.providers import toolsets
from tract.session.session import Commit, Session


def set_tools(
    session: Session, tools: Sequence[Any] | None, message: str | None = None
) -> CommitInfo | None:
    """Put tools in force. Nothing is written where they are in force already."""
    toolset = toolsets.make([] if tools is None else tools, session.tokens)
    session.check_on_branch()
    with session.batch():
        _, head = session.lock_branch()
        if session.chain(head).toolset == toolset.hash:
            return None
        return session.write(lambda _: drafts.offer(toolset, Details(message)))


def toolset_at(session: Session, place: Commit | CompiledContext) -> Toolset | None:
    """The tools of a commit, a branch or a compiled context: those recorded with a commit, else
    those in force at it."""
    if isinstance(place, CompiledContext):
        return place.toolset
    commit = session.find(place)
    with session.lock:
        chain = session.chain()
        if not chain.has(commit):
            chain = session.new_compiler().chain(commit)
        return session.compiler.toolset(chain.toolset_at(commit))
