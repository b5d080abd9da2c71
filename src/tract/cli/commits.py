"""Commits as rows and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from tract.cli.screen import CYAN, DIM, SHORT, Column, count, dump, table
from tract.errors import CorruptError
from tract.formats.tools import declarations, name_of
from tract.model import DECIDING, CommitInfo, CommitOperation, Form, Mark, unpack_shape
from tract.results import forms
from tract.toolsets import ToolDiff
from tract.tract import Tract

NUMBER = Column(right=True)
COLUMNS = (Column(DIM), Column(CYAN), Column(), NUMBER, NUMBER, Column(DIM), Column())
LEFT_OUT = "left out"
SEVERAL = 8  # how many tools a line names


def plain(value: Any) -> Any:
    """A value of the library as JSON; its field names are the keys."""
    return msgspec.to_builtins(value)


def print_commits(tract: Tract, commits: Iterable[CommitInfo], seen: Forms | None = None) -> None:
    offers = Offers(tract)
    table(COLUMNS, (_row(commit, offers, seen) for commit in commits))


def print_commit(tract: Tract, commit: CommitInfo, as_json: bool) -> None:
    if as_json:
        dump(plain(commit))
    else:
        print_commits(tract, [commit])


class Forms:
    """What the model sees of results now. It is looked up when a first result turns up."""

    def __init__(self, tract: Tract) -> None:
        self._tract = tract

    @cached_property
    def _by_commit(self) -> dict[str, Form | None]:
        try:
            places = self._tract._history.chain(self._tract._head()).places
            return {place.shown.hash.hex(): form for place, form in forms(places).items()}
        except CorruptError:  # commits can still be told, and fsck tells the rest
            return {}

    def word(self, commit: CommitInfo) -> str:
        """`full`, `reference`, …; of a version that is not the newest, the form it came in."""
        form = self._by_commit.get(commit.commit_hash, commit.form or Form.FULL)
        return form.value if form else LEFT_OUT


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


def _row(commit: CommitInfo, offers: Offers, seen: Forms | None) -> tuple[str, ...]:
    return (
        commit.commit_hash[:SHORT],
        " ".join(filter(None, [kind(commit), _form(commit, seen)])),
        commit.name or "",
        f"{commit.token_count} tok" if commit.content_hash else "",
        offers.number(commit),
        utc(commit.created_at),
        summary(commit, offers),
    )


def _form(commit: CommitInfo, seen: Forms | None) -> str:
    """How a result is shown, if not whole. One that was just written is as it came."""
    if commit.role != "tool":
        return ""
    word = seen.word(commit) if seen else commit.form or ""
    return f"({word})" if word not in ("", Form.FULL, LEFT_OUT) else ""


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
    if mark.kind == "form":
        shape = unpack_shape(mark.value or "")
        return f"{shape.form} {mark.target[:SHORT]}" + (f": {shape.text}" if shape.text else "")
    word = "undoes" if mark.kind == "void" else mark.value or mark.kind
    return f"{word} {mark.target[:SHORT]}"
