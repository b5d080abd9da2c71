"""Commits as rows and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from tract.cli.screen import CYAN, DIM, SHORT, Column, count, dump, table
from tract.formats.tools import declarations, name_of
from tract.model import DECIDING, CommitInfo, CommitOperation, Mark
from tract.toolsets import ToolDiff
from tract.tract import Tract

NUMBER = Column(right=True)
COLUMNS = (Column(DIM), Column(CYAN), Column(), NUMBER, NUMBER, Column(DIM), Column())
SEVERAL = 8  # how many tools a line names


def plain(value: Any) -> Any:
    """A value of the library as JSON; its field names are the keys."""
    return msgspec.to_builtins(value)


def print_commits(tract: Tract, commits: Iterable[CommitInfo]) -> None:
    offers = Offers(tract)
    table(COLUMNS, (_row(commit, offers) for commit in commits))


def print_commit(tract: Tract, commit: CommitInfo, as_json: bool) -> None:
    if as_json:
        dump(plain(commit))
    else:
        print_commits(tract, [commit])


class Offers:
    """What commits say of tools. Each set is looked up once: many commits have the same."""

    def __init__(self, tract: Tract) -> None:
        self._tract = tract
        self._names: dict[str, list[str]] = {}

    def names(self, commit: CommitInfo) -> list[str]:
        """The tools that were recorded with the commit."""
        if commit.toolset_hash is None:
            return []
        if commit.toolset_hash not in self._names:
            schemas = self._tract.get_commit_tools(commit)
            self._names[commit.toolset_hash] = [
                name_of(declaration) for schema in schemas for declaration in declarations(schema)
            ]
        return self._names[commit.toolset_hash]

    def number(self, commit: CommitInfo) -> str:
        return "" if commit.toolset_hash is None else count(len(self.names(commit)), "tool")

    def change(self, commit: CommitInfo) -> str:
        """What a mark made of the tools. A message just says which ones it was written with."""
        if commit.toolset_hash is None or commit.operation != CommitOperation.MARK:
            return ""
        names, before = self.names(commit), self._before(commit)
        found = self._tract.diff_tools(before, commit) if before else ToolDiff(names, [], {}, [])
        if not found:
            return "the same in other words" if names else "no tools"
        return change_text(found)

    def _before(self, commit: CommitInfo) -> CommitInfo | None:
        """The newest commit before whose tools were in force. Those of an edit never are."""
        while commit.parent_hash is not None:
            commit = self._tract.get_commit(commit.parent_hash)
            if commit.operation in DECIDING:
                return commit
        return None


def change_text(found: ToolDiff) -> str:
    """`+ls -rm ~grep` for added, removed and changed; just how many where they are many."""
    words = [f"+{name}" for name in found.added]
    words += [f"-{name}" for name in found.removed]
    words += [f"~{name}" for name in found.changed]
    return " ".join(words) if 0 < len(words) <= SEVERAL else diff_text(found)


def diff_text(found: ToolDiff) -> str:
    numbers = {
        "added": found.added,
        "removed": found.removed,
        "changed": found.changed,
        "moved": found.reordered,
    }
    return ", ".join(f"{len(names)} {word}" for word, names in numbers.items() if names)


def _row(commit: CommitInfo, offers: Offers) -> tuple[str, ...]:
    return (
        commit.commit_hash[:SHORT],
        kind(commit),
        commit.name or "",
        f"{commit.token_count} tok" if commit.content_hash else "",
        offers.number(commit),
        utc(commit.created_at),
        summary(commit, offers),
    )


def kind(commit: CommitInfo) -> str:
    """What a commit is, in a word or two: `user`, `tool error`, `edit tool`, `mark`, `tools`."""
    if commit.operation == CommitOperation.MARK and commit.toolset_hash and not commit.marks:
        return "tools"
    words = [] if commit.operation == CommitOperation.APPEND else [commit.operation.value]
    words += [commit.role] if commit.role else []
    return " ".join([*words, "error"] if commit.is_error else words)


def utc(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M:%SZ}" if time else ""


def summary(commit: CommitInfo, offers: Offers) -> str:
    said = commit.preview or ", ".join(
        [*map(mark_text, commit.marks), *filter(None, [offers.change(commit)])]
    )
    if commit.replaces:
        said = f"of {', '.join(target[:SHORT] for target in commit.replaces)}: {said}"
    return f"({commit.message}) {said}" if commit.message else said


def mark_text(mark: Mark) -> str:
    word = "undoes" if mark.kind == "void" else mark.value or mark.kind
    return f"{word} {mark.target[:SHORT]}"
