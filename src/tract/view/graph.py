"""The commit graph: a row for each commit, with the lines between them. Pure and lazy.

A line is drawn in a column from a commit to its parent; as in git, it bends where the parent
already has a line.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from itertools import count

import msgspec

from tract.model import CommitInfo


class GraphRow(msgspec.Struct, frozen=True):
    """A commit, and the lines from its row to the next one."""

    commit: CommitInfo
    column: int
    lines: list[tuple[int, int]]
    """Each from a column of this row to a column of the next. The one that starts in the column of
    the commit leads to its parent, and is absent for a root; the others pass by."""
    branches: list[str]
    """The branches whose newest commit it is."""


def merge_logs(logs: Iterable[Iterable[tuple[int, CommitInfo]]]) -> Iterator[CommitInfo]:
    """The commits of several logs, newest first, each once. A log has the commits of a branch,
    newest first, each with its key, which is larger than that of its parent. A log is not read
    behind a commit that another one has, too."""
    readers = [(iter(log), number) for number, log in enumerate(logs)]
    firsts = [(next(reader, None), number, reader) for reader, number in readers]
    waiting = [(-first[0], number, first[1], reader) for first, number, reader in firsts if first]
    heapify(waiting)
    last = None
    while waiting:
        key, number, commit, reader = waiting[0]
        following = None
        if key != last:
            yield commit
            last, following = key, next(reader, None)
        if following:
            heapreplace(waiting, (-following[0], number, following[1], reader))
        else:
            heappop(waiting)


def graph_rows(
    commits: Iterable[CommitInfo], heads: Mapping[str, str | None], first: str | None = None
) -> Iterator[GraphRow]:
    """The rows of commits that come newest first, a child before its parent. `heads` has the newest
    commit of each branch, or None; the branch `first` is in column 0."""
    reserved = None if first is None else heads.get(first)
    names = _names(heads, first)
    columns: dict[str, int] = {}  # of the lines, by the parents that they lead to
    for commit in commits:
        name, parent = commit.commit_hash, commit.parent_hash
        column = columns.pop(name, None)
        if column is None:
            column = _free(set(columns.values()), reserved, name)
        if name == reserved:
            reserved = None
        lines = {passing: passing for passing in columns.values()}
        if parent is not None:
            other = columns.get(parent, column)
            columns[parent] = 0 if parent == reserved else min(column, other)
            lines |= {column: columns[parent], other: columns[parent]}
        yield GraphRow(commit, column, sorted(lines.items()), names.get(name, []))


def _names(heads: Mapping[str, str | None], first: str | None) -> dict[str, list[str]]:
    """The branches at each commit, `first` before the others."""
    names: dict[str, list[str]] = {}
    for name in sorted(heads, key=lambda name: (name != first, name)):
        head = heads[name]
        if head is not None:
            names.setdefault(head, []).append(name)
    return names


def _free(used: Container[int], reserved: str | None, name: str) -> int:
    """The column for a commit without a child. Column 0 is kept free for the reserved one."""
    if name == reserved:
        return 0
    return next(column for column in count(0 if reserved is None else 1) if column not in used)
