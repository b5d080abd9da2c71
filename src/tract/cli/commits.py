"""Commits as table rows and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from tract.cli.screen import CYAN, DIM, NUMBER, SHORT, Column, dump, table
from tract.core.forms import forms
from tract.core.place import Place
from tract.core.place import mark_text as marked
from tract.core.toolsets import ToolDiff
from tract.errors import CorruptError
from tract.model import DECIDING, CommitInfo, CommitOperation, Form, Mark
from tract.providers.tools import declarations, name_of
from tract.tract import Tract
from tract.view.sanitize import counted
from tract.view.tool_changes import change_text

COLUMNS = (Column(DIM), Column(CYAN), Column(), NUMBER, NUMBER, Column(DIM), Column())
TIMES = ((86_400, "d"), (3_600, "h"), (60, "min"))
LEFT_OUT = "left out"
SUMMARIZED = "summarized"


def plain(value: Any) -> Any:
    """A value of the library as JSON, with its field names as keys."""
    return msgspec.to_builtins(value)


def print_commits(tract: Tract, commits: Iterable[CommitInfo]) -> None:
    offers = Offers(tract)
    table(COLUMNS, (_cells(commit, offers, commit.form or "") for commit in commits))


def print_log(tract: Tract, commits: Iterable[CommitInfo]) -> None:
    """The commits of a branch, newest first, each result with its current form."""
    offers, forms, summaries = Offers(tract), Forms(tract), summaries_of(tract)
    current = ((c, SUMMARIZED if c.commit_hash in summaries else forms.word(c)) for c in commits)
    table(COLUMNS, (_cells(commit, offers, form) for commit, form in current))


def print_commit(tract: Tract, commit: CommitInfo, as_json: bool) -> None:
    if as_json:
        dump(plain(commit))
    else:
        print_commits(tract, [commit])


class Forms:
    """The current forms of results, looked up when the first result is printed."""

    def __init__(self, tract: Tract) -> None:
        self._tract = tract

    @cached_property
    def _by_commit(self) -> dict[str, Form | None]:
        places = forms(_places(self._tract))
        return {place.shown.hash.hex(): form for place, form in places.items()}

    def word(self, commit: CommitInfo) -> str:
        """`full`, `reference`, …; for a version that is not the newest, its original form."""
        if commit.role != "tool":
            return ""
        form = self._by_commit.get(commit.commit_hash, commit.form or Form.FULL)
        return form.value if form else LEFT_OUT


def summaries_of(tract: Tract) -> dict[str, str]:
    """The commits of the branch that summaries stand for, each with its summary."""
    under = [(place, place.summary) for place in _places(tract) if place.summary]
    return {
        step.hash.hex(): summary.origin.hash.hex()
        for place, summary in under
        for step in (place.origin, *place.changes)
        if step.operation != CommitOperation.MARK
    }


def _places(tract: Tract) -> Sequence[Place]:
    try:
        return tract.session.chain().places
    except CorruptError:  # commits can still be shown, and fsck reports the rest
        return ()


class Offers:
    """The tools of commits. Each toolset is looked up once: many commits share one."""

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
        return "" if commit.toolset_hash is None else counted(len(self.names(commit)), "tool")

    def change(self, commit: CommitInfo) -> str:
        """How a mark changed the tools. A message only records the tools it was written with."""
        if commit.toolset_hash is None or commit.operation != CommitOperation.MARK:
            return ""
        names, before = self.names(commit), self._before(commit)
        change = self._tract.diff_tools(before, commit) if before else ToolDiff(names, [], {}, [])
        if not change:
            return "the same in another format" if names else "no tools"
        return change_text(change)

    def _before(self, commit: CommitInfo) -> CommitInfo | None:
        """The newest earlier commit whose tools were in force. Those of an edit never are."""
        while commit.parent_hash is not None:
            commit = self._tract.get_commit(commit.parent_hash)
            if commit.operation in DECIDING:
                return commit
        return None


def _cells(commit: CommitInfo, offers: Offers, form: str) -> tuple[str, ...]:
    note = "" if form in ("", Form.FULL, LEFT_OUT) else f" ({form})"
    return (
        commit.commit_hash[:SHORT],
        kind(commit) + note,
        commit.name or "",
        f"{commit.token_count} tok" if commit.content_hash else "",
        offers.number(commit),
        utc(commit.created_at),
        summary(commit, offers),
    )


def kind(commit: CommitInfo) -> str:
    """The kind of a commit: `user`, `tool error`, `edit tool`, `mark`, `tools`, `summary`."""
    if commit.operation == CommitOperation.COMPRESS:
        return "summary"
    if commit.operation == CommitOperation.MARK and commit.toolset_hash and not commit.marks:
        return "tools"
    words = [] if commit.operation == CommitOperation.APPEND else [commit.operation.value]
    words += [commit.role] if commit.role else []
    return " ".join([*words, "error"] if commit.is_error else words)


def utc(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M:%SZ}" if time else ""


def age(time: datetime | None, now: datetime) -> str:
    seconds = (now - time).total_seconds() if time else 0
    for length, unit in TIMES:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "just now"


def summary(commit: CommitInfo, offers: Offers) -> str:
    text = commit.preview or ", ".join(
        [*map(mark_text, commit.marks), *filter(None, [offers.change(commit)])]
    )
    if commit.replaces:
        ends = dict.fromkeys([commit.replaces[0], commit.replaces[-1]])
        text = f"of {'..'.join(target[:SHORT] for target in ends)}: {text}"
    return f"({commit.message}) {text}" if commit.message else text


def mark_text(mark: Mark) -> str:
    return marked(mark.kind, mark.value, mark.target[:SHORT])
