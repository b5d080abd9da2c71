"""Which dialogs a connection may use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tract import NotFoundError
from tract.mcp.binding import Caller, SessionFinder, dialog_binding, session_binding
from tract.model import DialogFacts, DialogInfo

START = datetime(2026, 11, 1, tzinfo=UTC)


def info(
    name: str, day: int = 0, folder: str | None = None, parent: str | None = None
) -> DialogInfo:
    at = START + timedelta(days=day)
    return DialogInfo(
        name, "main", 1, 1, 1, 1, 0, at, at, DialogFacts(folder=folder, parent=parent)
    )


def finder(
    infos: list[DialogInfo], folder: str = "/work/app", **environment: str
) -> tuple[SessionFinder, list[str]]:
    lines: list[str] = []
    return SessionFinder(lambda: infos, environment, folder, lines.append), lines


def test_a_dialog_is_bound_to_itself() -> None:
    binding = dialog_binding("d")
    assert (binding.dialogs, binding.writes, [*binding.others()]) == (("d",), "d", [])


def test_a_session_has_its_results_before_its_transcript() -> None:
    known = [info("S"), info("agent", parent="S"), info("other"), info("x", folder="/work/app")]
    binding = session_binding(["S"], lambda: known)
    assert binding.dialogs == ("S.results", "S")
    assert binding.writes == "S.results"
    assert [*binding.others()] == ["agent"]


def test_other_sessions_of_the_directory_are_asked_for_ids() -> None:
    known = [info(f"s{n}.results", n, folder="/work/app/") for n in range(20)]
    binding = session_binding(["s3"], lambda: known, "/work/app")
    others = [*binding.others()]
    assert others[:2] == ["s19.results", "s19"]
    assert len(others) == 16


def test_results_without_a_transcript_are_those_of_a_session() -> None:
    known = [info("s.results", folder="/work/app", parent="s")]
    known += [info("agent", 1, folder="/work/app", parent="s")]
    assert [*session_binding(["x"], lambda: known, "/work/app").others()] == ["s.results", "s"]


def test_the_call_outweighs_the_environment_and_that_the_directory() -> None:
    known = [info("old", 1, folder="/work/app"), info("new.results", 2, folder="/work/app")]
    known += [info("sub", 3, folder="/work/app", parent="old"), info("far", 4, folder="/work")]
    bind, lines = finder(known, CLAUDE_CODE_SESSION_ID="env")
    codex = Caller({"sessionId": "root", "threadId": "thread", "progressToken": 1})
    assert bind(codex).dialogs == ("root.results", "root", "thread.results", "thread")
    assert bind(codex).writes == "root.results"
    assert bind(Caller({})).dialogs == ("env.results", "env")
    assert bind(Caller({"sessionId": 5, "threadId": ""})).dialogs == ("env.results", "env")
    assert finder(known)[0](Caller({})).dialogs == ("new.results", "new")
    assert lines == ["session root, from the call", "session env, from CLAUDE_CODE_SESSION_ID"]


def test_without_any_session_nothing_is_guessed() -> None:
    bind, lines = finder([info("a", folder="/elsewhere"), info("b")])
    with pytest.raises(NotFoundError, match=r"no session of /work/app .* --session ID"):
        bind(Caller({}))
    assert lines == []
