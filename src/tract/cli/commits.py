"""Commits as rows and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from tract.cli.screen import CYAN, DIM, SHORT, Column, dump, table
from tract.model import CommitInfo, CommitOperation, Mark

COLUMNS = (Column(DIM), Column(CYAN), Column(), Column(right=True), Column(DIM), Column())


def plain(value: Any) -> Any:
    """A value of the library as JSON; its field names are the keys."""
    return msgspec.to_builtins(value)


def print_commits(commits: Iterable[CommitInfo]) -> None:
    table(COLUMNS, map(_row, commits))


def print_commit(commit: CommitInfo, as_json: bool) -> None:
    if as_json:
        dump(plain(commit))
    else:
        print_commits([commit])


def _row(commit: CommitInfo) -> tuple[str, ...]:
    return (
        commit.commit_hash[:SHORT],
        kind(commit),
        commit.name or "",
        f"{commit.token_count} tok" if commit.content_hash else "",
        utc(commit.created_at),
        summary(commit),
    )


def kind(commit: CommitInfo) -> str:
    """What a commit is, in a word or two: `user`, `tool error`, `edit tool`, `mark`."""
    words = [] if commit.operation == CommitOperation.APPEND else [commit.operation.value]
    words += [commit.role] if commit.role else []
    return " ".join([*words, "error"] if commit.is_error else words)


def utc(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M:%SZ}" if time else ""


def summary(commit: CommitInfo) -> str:
    said = commit.preview or ", ".join(map(mark_text, commit.marks))
    if commit.replaces:
        said = f"of {', '.join(target[:SHORT] for target in commit.replaces)}: {said}"
    return f"({commit.message}) {said}" if commit.message else said


def mark_text(mark: Mark) -> str:
    word = "undoes" if mark.kind == "void" else mark.value or mark.kind
    return f"{word} {mark.target[:SHORT]}"
