"""Forget a content or a text, and what a session remembers of it."""

from __future__ import annotations

from tract.content.needle import Needle
from tract.errors import InputError
from tract.model import ForgetResult
from tract.session.session import Commit, Session
from tract.storage import erasure


def forget(
    session: Session, commit: Commit | None, text: str | None, dry_run: bool
) -> ForgetResult:
    """See `Tract.forget`."""
    if commit is not None and text is None:
        result = erasure.erase_commit(session.store, session.resolve(commit), dry_run=dry_run)
    elif text is not None and commit is None:
        result, renamed = erasure.erase_text(session.store, Needle(text), dry_run=dry_run)
        session.branch = renamed.get((session.dialog, session.branch), session.branch)
        session.dialog = renamed.get((session.dialog, None), session.dialog)
    else:
        raise InputError("pass a commit to forget, or a text, not both")
    if not dry_run:
        erasure.scrub(session.store, result)
    return result
