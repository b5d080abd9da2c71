"""The commit graph: every commit once, every line from a commit to its parent, none through
another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tract import Tract
from tract.model import CommitInfo, CommitOperation
from tract.remote.wire import decode, encode_result
from tract.view.graph import GraphRow, graph_rows, merge_logs

Parents = list[int | None]
"""The parent of each commit. Its key is its position."""
Log = list[tuple[int, CommitInfo]]


def commit_of(key: int, parents: Parents) -> CommitInfo:
    parent = parents[key]
    name = None if parent is None else f"c{parent}"
    return CommitInfo(f"c{key}", name, CommitOperation.APPEND)


def log_of(head: int, parents: Parents) -> Log:
    log, key = [], head
    while True:
        log.append((key, commit_of(key, parents)))
        parent = parents[key]
        if parent is None:
            return log
        key = parent


def rows_of(parents: Parents, heads: dict[str, int], first: str | None = None) -> list[GraphRow]:
    commits = merge_logs([log_of(head, parents) for head in heads.values()])
    return list(graph_rows(commits, {name: f"c{head}" for name, head in heads.items()}, first))


def drawn(rows: list[GraphRow]) -> list[str]:
    """Each row as text: its commit among the lines that pass by, its branches, and the lines that
    bend below it."""
    pictures = []
    for row in rows:
        width = max(start for start, _ in [*row.lines, (row.column, 0)]) + 1
        signs = ["|" if any(start == n for start, _ in row.lines) else " " for n in range(width)]
        signs[row.column] = "*"
        bends = [f"{start}→{end}" for start, end in row.lines if start != end]
        words = [" ".join(signs), row.commit.commit_hash, *row.branches, *bends]
        pictures.append(" ".join(words))
    return pictures


@st.composite
def trees(draw: st.DrawFn) -> tuple[Parents, dict[str, int]]:
    size = draw(st.integers(1, 25))
    parents: Parents = [None]
    for key in range(1, size):
        near = st.integers(max(0, key - 4), key - 1)
        parents.append(draw(st.none() | near | near | near | near))
    keys = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=8))
    return parents, {f"b{number}": key for number, key in enumerate(keys)}


firsts = st.sampled_from([None, "b0", "b1", "unknown"])


@given(trees(), firsts)
def test_lines_lead_to_parents_and_never_share_a_column(
    tree: tuple[Parents, dict[str, int]], first: str | None
) -> None:
    parents, heads = tree
    active: dict[int, str] = {}  # in each column, the commit that its line leads to
    for row in rows_of(parents, heads, first):
        name, parent = row.commit.commit_hash, row.commit.parent_hash
        if name in active.values():
            assert active.pop(row.column) == name
        assert row.column not in active
        assert name not in active.values()
        level = active | ({} if parent is None else {row.column: parent})
        lines = dict(row.lines)
        assert sorted(lines.items()) == row.lines
        assert lines.keys() == level.keys()
        active = {}
        for start, end in row.lines:
            assert active.setdefault(end, level[start]) == level[start]
        assert len(set(active.values())) == len(active)
    assert not active


@given(trees(), firsts)
def test_each_commit_of_a_branch_has_a_row_below_its_children(
    tree: tuple[Parents, dict[str, int]], first: str | None
) -> None:
    parents, heads = tree
    keys = {key for head in heads.values() for key, _ in log_of(head, parents)}
    rows = rows_of(parents, heads, first)
    assert [row.commit for row in rows] == [
        commit_of(key, parents) for key in sorted(keys, reverse=True)
    ]
    named = {name: row.commit.commit_hash for row in rows for name in row.branches}
    assert named == {name: f"c{head}" for name, head in heads.items()}


@given(trees())
def test_the_first_branch_is_in_column_0_and_there_are_no_more_columns_than_branches(
    tree: tuple[Parents, dict[str, int]],
) -> None:
    parents, heads = tree
    rows = rows_of(parents, heads, "b0")
    own = {info.commit_hash for _, info in log_of(heads["b0"], parents)}
    assert {row.column for row in rows if row.commit.commit_hash in own} == {0}
    assert max(row.column for row in rows) < len(set(heads.values()))


@given(trees())
def test_the_shared_past_is_read_once(tree: tuple[Parents, dict[str, int]]) -> None:
    parents, heads = tree
    read: list[int] = []

    def reading(log: Log) -> Iterator[tuple[int, CommitInfo]]:
        for key, info in log:
            read.append(key)
            yield key, info

    commits = list(merge_logs(reading(log_of(head, parents)) for head in heads.values()))
    assert len(read) <= len(commits) + len(heads) - 1


def test_nothing_is_read_before_it_is_needed() -> None:
    def endless(key: int) -> Iterator[tuple[int, CommitInfo]]:
        while True:
            yield key, CommitInfo(f"c{key}", f"c{key - 2}", CommitOperation.APPEND)
            key -= 2

    commits = merge_logs([endless(-1), endless(-2)])
    rows = graph_rows(commits, {"one": "c-1", "two": "c-2"}, "two")
    assert drawn(list(islice(rows, 4))) == ["  * c-1 one", "* | c-2 two", "| * c-3", "* | c-4"]


def test_no_branch_has_no_rows() -> None:
    assert list(merge_logs([])) == []
    assert list(merge_logs([[], []])) == []
    assert list(graph_rows([], {"main": None}, "main")) == []


def test_one_branch_is_one_line() -> None:
    assert drawn(rows_of([None, 0, 1], {"main": 2})) == ["* c2 main", "* c1", "* c0"]


def test_a_branch_joins_where_it_was_created() -> None:
    parents: Parents = [None, 0, 1, 1, 2, 3]
    assert drawn(rows_of(parents, {"main": 4, "side": 5}, "main")) == [
        "  * c5 side",
        "* | c4 main",
        "| * c3",
        "* | c2 1→0",
        "* c1",
        "* c0",
    ]


def test_branches_at_one_commit_share_its_row_the_first_one_in_front() -> None:
    rows = rows_of([None, 0], {"a": 1, "main": 1, "b": 1}, "main")
    assert drawn(rows) == ["* c1 main a b", "* c0"]


def test_a_first_branch_that_others_continue_is_in_column_0_below_them() -> None:
    assert drawn(rows_of([None, 0, 1, 2], {"main": 1, "more": 3}, "main")) == [
        "  * c3 more",
        "  * c2 1→0",
        "* c1 main",
        "* c0",
    ]


def test_forks_of_forks_and_other_roots_use_columns_again() -> None:
    parents: Parents = [None, 0, 1, 2, 2, 1, None, 6]
    heads = {"main": 0, "a": 3, "b": 4, "c": 5, "apart": 7}
    assert drawn(rows_of(parents, heads, "main")) == [
        "  * c7 apart",
        "  * c6",
        "  * c5 c",
        "  | * c4 b",
        "  | | * c3 a 3→2",
        "  | * c2 2→1",
        "  * c1 1→0",
        "* c0 main",
    ]


def test_the_branches_of_a_dialog() -> None:
    tract = Tract.open(":memory:")
    tract.user("one")
    fork = tract.assistant("two")
    tract.user("three")
    tract.branch("side", at=fork)
    tract.checkout("side")
    tract.user("four")
    heads = tract.store.branches(tract.dialog)
    commits = merge_logs(tract.store.keyed_log(head.id, 2) for head in heads.values())
    rows = list(graph_rows(commits, tract.branches(), "main"))
    assert [(row.commit.preview, row.column, row.lines, row.branches) for row in rows] == [
        ("four", 1, [(1, 1)], ["side"]),
        ("three", 0, [(0, 0), (1, 0)], ["main"]),
        ("two", 0, [(0, 0)], []),
        ("one", 0, [], []),
    ]
    packed = decode(encode_result(rows[1]))
    assert packed["commit"]["commit_hash"] == rows[1].commit.commit_hash
    assert (packed["column"], packed["lines"], packed["branches"]) == (
        0,
        [[0, 0], [1, 0]],
        ["main"],
    )
