"""Messages, marks and tools, as callers pass them to a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, TypedDict

from tract.content.text import counted, name_list
from tract.context import CompiledContext
from tract.core import drafts
from tract.core.chain import Place
from tract.core.drafts import Details
from tract.core.forms import stays_full
from tract.errors import CommitNotFoundError, InputError
from tract.model import CommitInfo, Draft, Form, Head, Json, Message, Priority, Shape, Toolset
from tract.providers import load_answer, load_calls, load_message, toolsets, with_model
from tract.session import results
from tract.session.session import Commit, Session


class CommitOptions(TypedDict, total=False):
    """The options of every method that writes a message; see `Tract.commit`."""

    message: str | None
    edit: Commit | None
    metadata: dict[str, Json] | None
    generation_config: dict[str, Json] | None
    usage: dict[str, Json] | None
    tools: Sequence[Any] | None
    parent: Commit | None


REMARKS = ("message", "metadata", "generation_config", "usage")
"""The options that a commit records beside its content."""


def message_of(role: str, content: object) -> Message | dict[str, Json]:
    """Make a message of a text, or of blocks in a provider's format."""
    if isinstance(content, list):
        return {"role": role, "content": content}
    return Message(role, content)


def instruction_in_force(
    session: Session, content: Message | dict[str, Json], options: CommitOptions
) -> CommitInfo | None:
    """Return the commit that already gives this instruction: the newest instructions, those that
    stand together, have it. None if it is not there, or if the options say something else."""
    if options.get("edit") is not None or options.get("parent") is not None:
        return None
    wanted = [content] if isinstance(content, Message) else load_message(content)
    session.check_on_branch()
    _, head = session.lock_branch()
    chain = session.chain(head)
    tools = options.get("tools")
    if tools is not None and toolsets.make(tools, session.tokens).hash != chain.toolset:
        return None
    for place in _newest_instructions(chain.places):
        if [session.compiler.message(place.shown)] == wanted:
            [info] = session.infos([place])
            if all(options.get(key) in (None, getattr(info, key)) for key in REMARKS):
                return info
    return None


def _newest_instructions(places: Sequence[Place]) -> list[Place]:
    visible = (place for place in reversed(places) if not place.is_hidden)
    for role, group in groupby(visible, key=lambda place: place.origin.role):
        if role == "system":
            return list(group)
    return []


def response_of(
    text: Any, tool_calls: Sequence[Any] | None, options: CommitOptions
) -> tuple[Message, CommitOptions]:
    """Make a message of a text with calls, or of an SDK's response, which has a usage and metadata
    of its own."""
    if text is None or isinstance(text, str):
        return drafts.answer(text or "", load_calls(tool_calls)), options
    if tool_calls is not None:
        raise InputError("a response has its own calls: give it alone")
    response = load_answer(text)
    options.setdefault("usage", response.usage)
    metadata = options.get("metadata") or {}
    if response.rest and isinstance(metadata, dict):
        options["metadata"] = {"response": response.rest, **metadata}
    config = options.get("generation_config") or {}
    if isinstance(config, dict):
        options["generation_config"] = with_model(config, response) or None
    return response.message, options


# Marks


def annotate(
    session: Session,
    commit: Commit | Sequence[Commit],
    priority: Priority | str,
    message: str | None,
) -> CommitInfo:
    commits: Sequence[Any] = commit if isinstance(commit, list | tuple) else [commit]
    if not commits:
        raise InputError("nothing to annotate: pass a commit")

    def make(head: Head) -> Draft:
        places = session.places(session.chain(head), commits)
        return drafts.prioritize(places, priority, Details(message))

    return session.write(make)


def restore(session: Session, commits: Sequence[Commit], message: str | None) -> CommitInfo | None:
    if not commits:
        return None

    def make(head: Head) -> Draft:
        chain = session.chain(head)
        changes = chain.changes(session.resolve_all(commits))
        left = chain.toolset_without(changes)
        toolset = None
        if left != chain.toolset:
            toolset = session.compiler.toolset(left) or toolsets.make([], session.tokens)
        return drafts.undo(changes, Details(message, toolset=toolset))

    return session.write(make)


def reshape(
    session: Session, forms: Mapping[str, Form | str | Shape], message: str | None
) -> CommitInfo:
    """The gists are made before the transaction, which others wait for."""

    def find(head: Head) -> list[tuple[Place, Shape]]:
        places = session.places(session.chain(head), list(forms))
        return list(zip(places, map(drafts.shape_of, forms.values()), strict=True))

    def make(head: Head) -> Draft:
        shapes = find(head)
        notes = filter(None, (message, _why_full(shapes)))
        return results.reshape(session, shapes, Details("; ".join(notes) or None), made)

    with session.lock:
        made = results.make_gists(session, find(session.head()))
    return session.write(make)


def _why_full(shapes: Sequence[tuple[Place, Shape]]) -> str:
    """Which results are shown in full all the same, because the form would save too little."""
    short = [place.label for place, shape in shapes if stays_full(place, shape)]
    if not short:
        return ""
    verb = "stays" if len(short) == 1 else "stay"
    return f"{counted(len(short), 'short result')} {verb} in full: {name_list(short)}"


# Tools


def set_tools(
    session: Session, tools: Sequence[Any] | None, message: str | None = None
) -> CommitInfo | None:
    """Put tools in force; write nothing if they are already."""
    toolset = toolsets.make([] if tools is None else tools, session.tokens)
    session.check_on_branch()
    with session.batch():
        _, head = session.lock_branch()
        if session.chain(head).toolset == toolset.hash:
            session.store.restore_tools(toolset)
            return None
        return session.write(lambda _: drafts.offer(toolset, Details(message)))


def toolset_at(session: Session, place: Commit | CompiledContext) -> Toolset | None:
    """Return the tools recorded with a commit, or else those in force at it; or those of a branch
    or a compiled context."""
    if isinstance(place, CompiledContext):
        return place.toolset
    commit = session.find(place)
    with session.lock:
        chain = session.chain()
        if not chain.has(commit):
            chain = session.new_compiler().chain(commit)
        return session.compiler.toolset(chain.toolset_at(commit))


def find_commit(session: Session, name: Commit) -> Head:
    """A commit, or the newest one of a branch, which must have one."""
    head = session.find(name)
    if head.id is None:
        raise CommitNotFoundError(f"branch {name!r:.80} has no commits yet")
    return head
