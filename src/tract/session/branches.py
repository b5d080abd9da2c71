"""Branches of a session's dialog."""

from __future__ import annotations

import re

from tract.errors import BranchNotFoundError, CommitNotFoundError, ConflictError
from tract.model import EMPTY, Head
from tract.session.session import MAIN, Commit, Session, check_name
from tract.storage.names import base_name, free_name


def branches(session: Session) -> dict[str, str | None]:
    heads = session.store.branches(session.dialog)
    if not heads and not session.is_there():
        heads = {session.branch: EMPTY}
    return {name: head.hash.hex() if head.hash else None for name, head in heads.items()}


def create(session: Session, name: str, at: Commit | None) -> None:
    """Create a branch. If HEAD is detached, check it out."""
    check_name("branch", name)
    store, dialog = session.store, session.dialog
    with session.batch():
        head = session.head(at)
        if not store.dialogs.has(dialog):
            store.dialogs.create(dialog, session.branch)
        store.create_branch(dialog, name, head)
    if session.detached and at is None:
        session.go_to(name)


def create_numbered(session: Session, head: Head) -> None:
    """Check out a new branch at an earlier commit, with the next free name."""
    name = free_name(session.branch, branches(session))
    session.store.create_branch(session.dialog, name, head)
    session.go_to(name)


def is_numbered(name: str, other: str) -> bool:
    """Whether the other name is the same with a number, as `free_name` makes it."""
    return re.fullmatch(re.escape(base_name(name)) + r"-\d+", other) is not None


def checkout(session: Session, name: Commit) -> None:
    if isinstance(name, str) and name in branches(session):
        session.go_to(name)
        return
    try:
        session.go_to(session.branch, session.resolve(name))
    except CommitNotFoundError as error:
        raise BranchNotFoundError(f"neither a branch nor a commit: {name!r:.80}") from error


def delete(session: Session, name: str) -> None:
    with session.batch():
        known = branches(session)
        if name not in known:
            raise BranchNotFoundError(f"no branch {name!r}; there are {', '.join(known)}")
        checked_out, _ = session.store.dialogs.checked_out(session.dialog) or (MAIN, None)
        if name in (session.branch, checked_out):
            raise ConflictError(f"branch {name!r} is checked out")
        session.store.dialogs.delete_branch(session.dialog, name)
