"""Which dialog a person means, on a file, in PostgreSQL and on a server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli import invoke, ok
from tract import Tract, connect
from tract.cli.selection import listed, select, select_only, short_ids
from tract.cli.target import is_server
from tract.errors import DialogNotFoundError, InputError
from tract.model import DialogFacts, DialogInfo

ON_SERVERS = True
NOW = datetime(2026, 11, 1, tzinfo=UTC)
A = "5f0d6a3e-0000-4000-8000-000000000001"
B = "5f0d6a3e-1111-4000-8000-000000000002"
C = "c0ffee00-2222-4000-8000-000000000003"
SUB = f"{A}/a1f8104aaaaaaaaaaaaaaaaaaaaaaaaa"
TITLES = {
    A: "Find the bug in the parser",
    SUB: "Look for größe",
    B: "Write the release notes",
    C: "Find the release script",
    "3": None,
    "ci/run-17": None,
}


def info(name: str, title: str | None, age: int, **facts: Any) -> DialogInfo:
    times = NOW, NOW - timedelta(hours=age)
    about = DialogFacts(title=title, **facts)
    return DialogInfo(name, "main", 1, 1, 1, 1, 0, *times, about)


INFOS = [info(name, title, age) for age, (name, title) in enumerate(TITLES.items())]


@pytest.mark.parametrize(
    ("name", "dialog"),
    [
        (A, A),
        ("3", "3"),  # an exact id, not the third in the list
        ("1", A),
        ("6", "ci/run-17"),
        ("c0ff", C),
        ("C0FFEE00", C),
        ("5f0d6a3e-0", A),  # its sub-agent begins so too
        ("5f0d6a3e-0000/a1f8", SUB),
        ("release NOTES", B),
        ("find the bug in the parser", A),
        ("GRÖSSE", SUB),
        ("run-17", "ci/run-17"),
    ],
)
def test_a_name_means_one_dialog(name: str, dialog: str) -> None:
    assert select(name, INFOS).dialog == dialog


@pytest.mark.parametrize(
    ("name", "kind", "fact", "candidates"),
    [
        ("5f0d", InputError, "'5f0d' means 2 dialogs", [1, 3]),
        ("find the", InputError, "'find the' means 2 dialogs", [1, 4]),
        ("parsr", DialogNotFoundError, "did you mean", [1]),
        ("ci/run-18", DialogNotFoundError, "did you mean", [6]),
        ("7", DialogNotFoundError, "`tract dialogs` lists its 6", []),
        ("nothing like it", DialogNotFoundError, "no dialog 'nothing like it'", []),
    ],
)
def test_another_name_is_an_error_with_candidates(
    name: str, kind: type[Exception], fact: str, candidates: list[int]
) -> None:
    with pytest.raises(kind, match=fact) as caught:
        select(name, INFOS)
    notes = getattr(caught.value, "__notes__", [])
    assert [int(note.split()[0]) for note in notes] == candidates
    for note in notes:
        name = INFOS[int(note.split()[0]) - 1].dialog
        assert (TITLES[name] or "") in note


def test_without_a_name_the_only_session_is_meant() -> None:
    assert select_only(INFOS[:2]).dialog == A  # the other is its sub-agent
    results = info("s.results", "Tool results", 0, parent="s")
    assert select_only([results, info("s", None, 0)]).dialog == "s"
    with pytest.raises(DialogNotFoundError, match="which of 6 dialogs") as caught:
        select_only(INFOS)
    assert len(caught.value.__notes__) == 5
    with pytest.raises(DialogNotFoundError, match="no dialogs yet"):
        select_only([])


def test_the_list_begins_with_what_was_used_last() -> None:
    """By the agent's own clock, not by the time of the import."""
    imported = info("imported", None, 0, ended=NOW - timedelta(days=300))
    assert listed([imported, *INFOS])[-1] is imported
    assert listed(reversed(INFOS)) == INFOS


names = st.lists(
    st.one_of(
        st.text("ab/", min_size=1, max_size=8),
        st.builds("{}{}".format, st.sampled_from([A, B, C, SUB]), st.text("01/", max_size=3)),
    ),
    min_size=1,
    unique=True,
)


@given(names)
def test_a_short_id_means_its_dialog(dialogs: list[str]) -> None:
    """None is cut so far that it means another one."""
    infos = [info(name, None, 0) for name in dialogs]
    for name, short in short_ids(dialogs).items():
        assert len(short) <= len(name)
        try:
            assert select(short, infos).dialog == name
        except InputError:
            pytest.fail(f"{short} is ambiguous")


# From the outside


@pytest.fixture
def place(db: str) -> str:
    """A database with three dialogs, of which none is called default."""
    open_it: Callable[..., Tract] = connect if is_server(db) else Tract.open
    with open_it(db, dialog="3") as tract:
        tract.user("Third?")
        for name, title in ((B, TITLES[B]), (A, TITLES[A])):
            sibling = tract.sibling(name)
            sibling.user(f"Of {name}")
            sibling.session.configure("facts", DialogFacts(title=title))
    return db


@pytest.mark.parametrize(
    "args",
    [
        ("log", "1"),
        ("log", "bug parser"),
        ("--dialog", "1", "log"),
        ("log", "--dialog", "5f0d6a3e-0"),
        ("compile", "1"),
        ("show", "1"),
        ("show", "parser"),
        ("export", "1", "--format", "openai"),
        ("pin", "HEAD", "--dialog", "parser"),
    ],
)
def test_commands_find_a_dialog(place: str, args: tuple[str, ...]) -> None:
    result = invoke(*args, "--db", place)
    assert result.exit_code == 0, result.output
    assert f"Of {A}" in result.stdout or args[0] == "pin"


def test_what_is_not_clear_is_refused(place: str) -> None:
    ambiguous = invoke("log", "5f0d", "--db", place)
    assert (ambiguous.exit_code, ambiguous.stdout) == (2, "")
    assert ambiguous.stderr.splitlines()[0] == (
        "tract: '5f0d' means 2 dialogs; use the number or the id of one"
    )
    assert len(ambiguous.stderr.splitlines()) == 3
    unnamed = invoke("log", "--db", place)
    assert (unnamed.exit_code, unnamed.stdout) == (3, "")
    assert "which of 3 dialogs?" in unnamed.stderr
    assert "Write the release notes" in unnamed.stderr
    near = invoke("results", "parsr", "--db", place)
    assert (near.exit_code, near.stdout) == (3, "")
    assert "Find the bug in the parser" in near.stderr
    shown = invoke("show", "parsr", "--db", place)
    assert (shown.exit_code, "Find the bug in the parser" in shown.stderr) == (3, True)
    both = invoke("log", "1", "--dialog", "2", "--db", place)
    assert (both.exit_code, both.stderr) == (2, "tract: pass DIALOG or --dialog, not both\n")


def test_a_command_that_may_create_a_dialog_takes_the_exact_id(place: str) -> None:
    ok("commit", "A new one.", "--db", place, "--dialog", "parser")
    assert "A new one." in ok("log", "--db", place, "--dialog", "parser")  # an id before a title
    ok("commit", "By default.", "--db", place)
    assert "By default." in ok("log", "--db", place)


def test_a_database_with_one_dialog_needs_no_name(db: str) -> None:
    if not is_server(db):
        ok("--db", db, "init")
    ok("--db", db, "--dialog", "only", "commit", "Here.")
    assert "Here." in ok("log", "--db", db)
    assert "Here." in ok("show", "HEAD", "--db", db)
