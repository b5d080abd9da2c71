"""Messages, edits and marks, committed to a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from tract.core import drafts
from tract.core.drafts import Details
from tract.errors import EditError, InputError
from tract.model import (
    CommitInfo,
    Draft,
    Form,
    Head,
    Json,
    Message,
    Priority,
    Shape,
)
from tract.providers import as_dict, load_answer, load_calls, load_message, toolsets
from tract.session.session import Commit, MakeDraft, Session


class CommitOptions(TypedDict, total=False):
    """What every method that writes a message accepts; `Tract.commit` explains it."""

    message: str | None
    edit: Commit | None
    metadata: dict[str, Json] | None
    generation_config: dict[str, Json] | None
    usage: dict[str, Json] | None
    tools: Sequence[Any] | None
    parent: Commit | None


def commit(
    session: Session,
    content: Message | dict[str, Json],
    details: Details = drafts.NO_DETAILS,
    *,
    edit: Commit | None = None,
    tools: Sequence[Any] | None = None,
    parent: Commit | None = None,
) -> CommitInfo:
    """Append a message, or several where a provider's message has several results; with `edit`,
    put it in the place of an earlier one."""
    if tools is not None:
        details = details._replace(toolset=toolsets.make(tools, session.tokens))
    messages = [content] if isinstance(content, Message) else load_message(as_dict(content))
    if edit is None:
        made = [drafts.append(message, details, session.tokens) for message in messages]
        return session.write_all(made, parent)
    if details.shape is not None:
        raise EditError("an edit is shown in full: form= is for a new result, or reshape()")
    if len(messages) > 1:
        raise EditError(f"an edit is one message, not {len(messages)}")
    return session.write(edit_of(session, edit, messages[0], details), parent)


def edit_of(session: Session, target: Commit, message: Message, details: Details) -> MakeDraft:
    """The message in the place of an earlier one."""

    def make(head: Head) -> Draft:
        place = session.chain(head).place(session.resolve(target))
        old = session.compiler.message(place.shown)
        kept = details
        if old.role == "tool" and details.metadata is None:
            kept = details._replace(metadata=session.store.metadata(place.shown.id))
        return drafts.edit(place, old, message, kept, session.tokens)

    return make


def message_of(role: str, content: object) -> Message | dict[str, Json]:
    """A text as our message; blocks as the message of the provider whose format they have."""
    if isinstance(content, list):
        return {"role": role, "content": content}
    return Message(role, content)


def response_of(
    text: Any, tool_calls: Sequence[Any] | None, options: CommitOptions
) -> tuple[Message, CommitOptions]:
    """An answer as a message: a text with calls, or a response as an SDK returned it, which brings
    its usage and its metadata along."""
    if text is None or isinstance(text, str):
        return drafts.answer(text or "", load_calls(tool_calls)), options
    if tool_calls is not None:
        raise InputError("a response has its own calls: give it alone")
    response = load_answer(text)
    options.setdefault("usage", response.usage)
    metadata = options.get("metadata") or {}
    if response.rest and isinstance(metadata, dict):
        options["metadata"] = {"response": response.rest, **metadata}
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
        raise InputError("nothing to annotate: name a commit")

    def make(head: Head) -> Draft:
        places = session.places(session.chain(head), commits)
        return drafts.prioritize(places, priority, Details(message))

    return session.write(make)


def restore(session: Session, commits: Sequence[Commit], message: str | None) -> CommitInfo:
    if not commits:
        raise InputError("nothing to restore: name a commit")

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
    def make(head: Head) -> Draft:
        places = session.places(session.chain(head), list(forms))
        shapes = map(drafts.shape_of, forms.values())
        return drafts.reshape(list(zip(places, shapes, strict=True)), Details(message))

    return session.write(make)
