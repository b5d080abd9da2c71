"""Files become dialogs: all of a file or nothing, nothing twice, and nothing that the file says is
lost on the way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.importing import of_lines
from tests.samples.claude_code import TURN, answer, call, line, result, text, user
from tests.toolkit import claude_tool
from tests.validity import violations
from tract import CommitInfo, CommitOperation, CompiledContext, Form, InputError, Tract
from tract.importers.writer import Imported, import_file

SESSION = "s"  # as the lines call it
WHOLE = 5
"""How many messages the lines of a turn are: two answers are told in many lines."""


@pytest.fixture
def t(db: str) -> Iterator[Tract]:
    with Tract.open(db) as opened:
        yield opened


@pytest.fixture
def quick() -> Iterator[Tract]:
    """For what does not depend on the database."""
    with Tract.open() as opened:
        yield opened


def given(folder: Path, *records: Any, name: str = "session.jsonl") -> Path:
    return of_lines(folder, *records, name=name).path


def said(dialog: Tract) -> list[tuple[str, str]]:
    """What is in the view, which every provider takes."""
    context = dialog.compile()
    assert violations(context) == []
    return [(message.role, message.text) for message in context.messages]


def everything(t: Tract) -> list[tuple[str, dict[str, str | None], str | None]]:
    """All that a second import could change."""
    dialogs = [t.sibling(info.dialog) for info in t.dialogs()]
    return sorted((d.dialog, d.branches(), d.current_branch) for d in dialogs)


def counted(report: Imported) -> tuple[int, int, int, int]:
    return report.messages, report.calls, report.results, report.duplicates


SAID = [("user", "hello"), ("assistant", "I look"), ("tool", "done"), ("tool", "done")]
SAID += [("assistant", "bye")]


def test_a_file_becomes_a_dialog(t: Tract, tmp_path: Path) -> None:
    report = import_file(t, given(tmp_path, *TURN))
    assert (report.format, report.dialogs) == ("claude-code", [SESSION])
    assert counted(report) == (WHOLE, 2, 2, 0)
    assert (report.repairs, report.problems) == ([], [])
    assert said(t.sibling(SESSION)) == SAID
    assert t.fsck().ok


def test_a_dialog_is_named_as_asked(quick: Tract, tmp_path: Path) -> None:
    report = import_file(quick, given(tmp_path, *TURN), dialog="mine")
    assert report.dialogs == [info.dialog for info in quick.dialogs()] == ["mine"]


# Twice


def test_importing_twice_adds_nothing(t: Tract, tmp_path: Path) -> None:
    path = given(tmp_path, *TURN, user("u9", "r2", "another way"))
    import_file(t, path)
    before = everything(t)
    assert counted(import_file(t, path)) == (0, 0, 0, WHOLE + 1)
    assert everything(t) == before


def test_importing_twice_in_two_processes_adds_nothing(db: str, tmp_path: Path) -> None:
    path = given(tmp_path, *TURN)
    for new in (WHOLE, 0):
        with Tract.open(db) as t:
            assert import_file(t, path).messages == new


def test_a_dialog_that_went_on_by_hand_is_left_alone(t: Tract, tmp_path: Path) -> None:
    path = given(tmp_path, *TURN)
    import_file(t, path)
    dialog = t.sibling(SESSION)
    dialog.user("by hand")
    dialog.annotate(dialog.find_tool_results()[0], "skip")
    before = everything(t)
    assert counted(import_file(t, path)) == (0, 0, 0, WHOLE)
    assert everything(t) == before
    assert said(t.sibling(SESSION))[-1] == ("user", "by hand")


LONG = json.dumps("done " * 200)
LONG_TURN = json.loads(json.dumps(TURN).replace('"content": "done"', f'"content": {LONG}'))
"""Short results are shown in full, whatever is configured."""


def forms_of(dialog: Tract) -> list[Form | None]:
    return [info.form for info in dialog.list_tool_results()]


def test_results_are_born_in_the_form_that_the_dialog_gives_them(t: Tract, tmp_path: Path) -> None:
    """As `tool_result` does: there is one way into a dialog."""
    dialog = t.sibling(SESSION)
    dialog.configure_results(inline_tokens=0)
    import_file(t, given(tmp_path, *LONG_TURN))
    assert forms_of(t.sibling(SESSION)) == [Form.REFERENCE, Form.REFERENCE]
    assert [c.form for c in t.sibling(SESSION).log() if c.role == "tool"] == [Form.REFERENCE] * 2
    assert t.fsck().ok


@pytest.mark.parametrize("limits", [(None, 0), (0, None), (0, 0)])
def test_importing_twice_adds_nothing_whatever_was_configured_meanwhile(
    t: Tract, tmp_path: Path, limits: tuple[int | None, int | None]
) -> None:
    """The form of a result is a part of its hash, and does not make it another result."""
    path = given(tmp_path, *LONG_TURN, user("u9", "r2", "another way"))
    t.sibling(SESSION).configure_results(inline_tokens=limits[0])
    import_file(t, path)
    t.sibling(SESSION).configure_results(inline_tokens=limits[1], preview_tokens=10)
    assert counted(import_file(t, path)) == (0, 0, 0, WHOLE + 1)
    dialog = t.sibling(SESSION)
    assert (len(dialog.branches()), len(dialog.list_tool_results())) == (2, 2)
    assert forms_of(dialog) == [Form.FULL if limits[0] is None else Form.REFERENCE] * 2
    before = everything(t)
    grown = given(tmp_path, *LONG_TURN, user("u9", "r2", "another way"), user("u10", "a5", "more"))
    assert counted(import_file(t, grown)) == (1, 0, 0, WHOLE + 1)
    assert len(everything(t)) == len(before)


def test_an_import_runs_no_handler(quick: Tract, tmp_path: Path) -> None:
    """Nobody expects a model to be asked for each of a thousand old results."""
    quick.sibling(SESSION).configure_tool_summarization(auto_threshold=0)
    import_file(quick, given(tmp_path, *TURN))
    assert forms_of(quick.sibling(SESSION)) == [Form.FULL, Form.FULL]


def test_a_grown_file_adds_the_new_part(t: Tract, tmp_path: Path) -> None:
    import_file(t, given(tmp_path, *TURN[:6]))
    assert counted(import_file(t, given(tmp_path, *TURN[:6], user("u2", "r1", "and?")))) == (
        *(1, 0, 0),
        3,
    )
    assert said(t.sibling(SESSION)) == [*SAID[:3], ("user", "and?")]
    assert len(t.sibling(SESSION).branches()) == 1


def test_an_answer_that_went_on_growing_is_not_lost(t: Tract, tmp_path: Path) -> None:
    """A file is read while it is written: what was half an answer is a whole one the next time."""
    import_file(t, given(tmp_path, *TURN[:3]))
    import_file(t, given(tmp_path, *TURN))
    assert said(t.sibling(SESSION)) == SAID
    before = everything(t)
    assert import_file(t, given(tmp_path, *TURN)).messages == 0
    assert everything(t) == before


def test_a_file_and_a_hand_that_both_go_on_are_two_branches(t: Tract, tmp_path: Path) -> None:
    import_file(t, given(tmp_path, *TURN))
    t.sibling(SESSION).user("by hand")
    grown = given(tmp_path, *TURN, user("u2", "a5", "in the file"))
    assert import_file(t, grown).messages == 1
    dialog = t.sibling(SESSION)
    assert said(dialog) == [*SAID, ("user", "in the file")]
    assert dialog.current_branch == "main-2"
    dialog.checkout("main")
    assert said(dialog) == [*SAID, ("user", "by hand")]
    assert import_file(t, grown).messages == 0


# All or nothing

KILLED = """
import os, signal, sys
from tract import Tract
from tract.importers.writer import import_file

def on_read(done, size):
    if done > size // 2:
        os.kill(os.getpid(), signal.SIGKILL)

with Tract.open(sys.argv[1]) as t:
    import_file(t, sys.argv[2], on_read=on_read)
"""


def long_session(turns: int, size: int) -> Iterator[Any]:
    """Four lines for each turn."""
    before = None
    for n in range(turns):
        yield user(f"u{n}", before, f"question {n}")
        yield answer(f"a{n}", f"u{n}", f"m{n}", text(f"answer {n}"), call(f"t{n}"))
        yield user(f"r{n}", f"a{n}", [result(f"t{n}", f"line {n} of the file\n" * (size // 20))])
        yield answer(f"b{n}", f"r{n}", f"n{n}", text(f"done {n}"))
        before = f"b{n}"


def test_a_killed_import_leaves_nothing_and_is_done_again(db: str, tmp_path: Path) -> None:
    path = given(tmp_path, *long_session(40, 100_000))
    with Tract.open(db) as t:
        t.user("before")
    done = subprocess.run([sys.executable, "-c", KILLED, db, str(path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    with Tract.open(db) as t:
        assert [info.dialog for info in t.dialogs()] == ["default"]
        assert counted(import_file(t, path)) == (160, 40, 40, 0)
        assert t.fsck().ok


def test_a_file_that_is_refused_leaves_nothing(t: Tract, tmp_path: Path) -> None:
    path = given(tmp_path, *TURN, *([b"{broken"] * 10_001))
    with pytest.raises(InputError, match="too many lines are broken"):
        import_file(t, path)
    assert t.dialogs() == []


def test_a_file_of_no_known_format_leaves_nothing(quick: Tract, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no format"):
        import_file(quick, given(tmp_path, {"level": "info"}))
    assert quick.dialogs() == []


# Damage


def test_a_malformed_line_is_reported_and_the_rest_is_kept(t: Tract, tmp_path: Path) -> None:
    path = given(tmp_path, *TURN[:5], b'{"type": "user", broken', *TURN[5:])
    report = import_file(t, path)
    assert [problem.place for problem in report.problems] == ["line 6"]
    assert said(t.sibling(SESSION)) == SAID


def test_a_line_that_is_no_message_is_reported_with_its_number(
    quick: Tract, tmp_path: Path
) -> None:
    path = given(tmp_path, *TURN[:1], line("assistant", "a0", "u1", "no message"), *TURN[1:])
    report = import_file(quick, path)
    assert [problem.place for problem in report.problems] == ["line 2"]
    assert said(quick.sibling(SESSION)) == SAID


def test_a_cut_file_loses_at_most_the_cut_record(quick: Tract, tmp_path: Path) -> None:
    data = given(tmp_path, *TURN).read_bytes()
    for at in range(data.index(b"\n") + 1, len(data), 97):
        whole_lines = data[:at].count(b"\n")
        kept = import_file(quick, given(tmp_path, *TURN[:whole_lines]), dialog=f"whole {at}")
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(data[:at])
        report = import_file(quick, cut, dialog=f"cut {at}")
        assert len(report.problems) <= 1
        assert report.messages >= kept.messages
        assert all(problem.place == f"line {whole_lines + 1}" for problem in report.problems)


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which files?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    {"role": "assistant", "content": "One: a.txt"},
]


def document(folder: Path, content: Any, name: str = "chat.json") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def test_a_cut_document_loses_at_most_the_cut_message(quick: Tract, tmp_path: Path) -> None:
    path = document(tmp_path, CHAT)
    data = path.read_text()
    ends = [data.index(json.dumps(message)) + len(json.dumps(message)) for message in CHAT]
    for at in range(ends[1] + 1, len(data), 11):
        path.write_text(data[:at])
        report = import_file(quick, path, dialog=f"cut {at}")
        assert report.messages >= sum(end <= at for end in ends), data[:at]
        assert report.problems[0].place == "end of file"
        assert all(p.place == f"message {report.messages + 1}" for p in report.problems[1:])


def test_calls_without_results_are_told_as_repairs(quick: Tract, tmp_path: Path) -> None:
    report = import_file(quick, given(tmp_path, *TURN[:5], user("u2", "a3", [result("nobody")])))
    assert report.repairs == [
        "call 't1' of Read has no result",
        "result 'nobody' has no matching call",
    ]
    assert said(quick.sibling(SESSION))[2][0] == "tool"


def test_repairs_are_what_compile_notes(quick: Tract, tmp_path: Path) -> None:
    """One history, explained in the same sentences."""
    twice = [user("u1", None, "hi"), answer("a1", "u1", "m1", call("t1"), call("t2"))]
    for number in range(2):
        twice.append(user(f"r{number}", twice[-1]["uuid"], [result("t1")]))
    twice.append(user("u2", twice[-1]["uuid"], [result("nobody")]))
    report = import_file(quick, given(tmp_path, *twice))
    assert report.repairs == quick.sibling(SESSION).compile().notes_for("openai", tools=False)
    assert report.repairs == [
        "omitted a duplicate result of call 't1'",
        "call 't2' of Read has no result",
        "result 'nobody' has no matching call",
    ]


# Which dialog


def test_forks_are_branches_and_the_last_path_is_checked_out(t: Tract, tmp_path: Path) -> None:
    forks = [user("u9", "r2", "another way"), user("u0", None, "from the start")]
    import_file(t, given(tmp_path, *TURN, *forks))
    dialog = t.sibling(SESSION)
    assert list(dialog.branches()) == ["main", "main-2", "main-3"]
    assert dialog.current_branch == "main-3"
    assert said(dialog) == [("user", "from the start")]
    dialog.checkout("main-2")
    assert said(dialog) == [*SAID[:4], ("user", "another way")]
    dialog.checkout("main")
    assert said(dialog) == SAID


def test_a_path_that_goes_on_after_a_fork_is_checked_out(quick: Tract, tmp_path: Path) -> None:
    back = [user("u9", "r2", "another way"), user("u2", "a5", "back again")]
    import_file(quick, given(tmp_path, *TURN, *back))
    dialog = quick.sibling(SESSION)
    assert dialog.current_branch == "main"
    assert said(dialog) == [*SAID, ("user", "back again")]


def test_sidechains_are_dialogs(t: Tract, tmp_path: Path) -> None:
    aside = [
        user("s1", None, "sub task", isSidechain=True),
        answer("s2", "s1", "m8", call("t8"), isSidechain=True),
        user("s3", "s2", [result("t8", "found")], isSidechain=True),
    ]
    path = given(tmp_path, *TURN[:4], *aside, *TURN[5:])
    report = import_file(t, path)
    assert report.dialogs == [SESSION, f"{SESSION}/s1"]
    assert said(t.sibling(SESSION)) == SAID
    assert [role for role, _ in said(t.sibling(f"{SESSION}/s1"))] == ["user", "assistant", "tool"]
    assert import_file(t, path).messages == 0


def compacted(folder: Path) -> Path:
    boundary = line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a5")
    summary = user("c1", "b1", "It went well.", isCompactSummary=True)
    return given(folder, *TURN, boundary, summary, user("u2", "c1", "go on"))


def test_a_compaction_is_a_compression_that_can_be_undone(t: Tract, tmp_path: Path) -> None:
    path = compacted(tmp_path)
    import_file(t, path)
    dialog = t.sibling(SESSION)
    assert said(dialog) == [("user", "It went well."), ("user", "go on")]
    (summary,) = [c for c in dialog.log() if c.operation == CommitOperation.COMPRESS]
    assert len(summary.replaces) == WHOLE
    dialog.restore(summary)
    assert said(dialog) == [*SAID, ("user", "go on")]
    assert import_file(t, path).messages == 0
    assert t.fsck().ok


def test_two_files_of_one_name_are_two_dialogs(t: Tract, tmp_path: Path) -> None:
    other = [{"role": "user", "content": "Another story"}, {"role": "assistant", "content": "Yes"}]
    paths = [document(tmp_path / "a", CHAT), document(tmp_path / "b", other)]
    assert [import_file(t, path).dialogs for path in paths] == [["chat"], ["chat-2"]]
    assert said(t.sibling("chat-2")) == [("user", "Another story"), ("assistant", "Yes")]
    again = [import_file(t, path) for path in paths]
    assert [(report.dialogs, report.messages) for report in again] == [
        (["chat"], 0),
        (["chat-2"], 0),
    ]


def test_two_sessions_that_call_themselves_the_same_are_two_dialogs(
    quick: Tract, tmp_path: Path
) -> None:
    import_file(quick, given(tmp_path, *TURN))
    other = given(tmp_path, user("x1", None, "another"), name="other.jsonl")
    assert import_file(quick, other).dialogs == [f"{SESSION}-2"]
    assert said(quick.sibling(SESSION)) == SAID


# What is kept with a commit


def newest(dialog: Tract) -> CommitInfo:
    return next(dialog.log())


def test_usage_model_and_time_are_kept_with_the_answer(t: Tract, tmp_path: Path) -> None:
    import_file(t, given(tmp_path, *TURN))
    bye, *_, hello = t.sibling(SESSION).log()
    assert bye.usage == {"input_tokens": 3, "output_tokens": 2}
    assert bye.generation_config == {"model": "claude-9"}
    assert bye.metadata == {"time": "2026-02-03T00:25:07+00:00", "id": "m2"}
    assert (hello.usage, hello.generation_config) == (None, None)
    assert hello.metadata == {"time": "2026-02-03T00:25:07+00:00"}


READ, LIST = claude_tool("Read", path="string"), claude_tool("LS")
ASKED = {"role": "user", "content": "What is in a.txt?"}
CALLED: dict[str, Any] = {"role": "assistant", "content": [text("I look."), call("toolu_1")]}
FOUND = {"role": "user", "content": [result("toolu_1", "42"), text("quick!")]}


def exchange(*messages: Any, says: list[Any], tools: list[Any], **more: Any) -> dict[str, Any]:
    request = {"model": "claude-x", "max_tokens": 9, "system": "Be brief.", "tools": tools}
    response: dict[str, Any] = {
        "type": "message",
        "id": "msg",
        "role": "assistant",
        "content": says,
    }
    response |= {"usage": {"input_tokens": 7, "output_tokens": 2}, "stop_reason": "end_turn"}
    url = "https://api.anthropic.com/v1/messages"
    around = {"method": "POST", "url": url, "status": 200, "time": "2026-02-03T00:25:07Z", **more}
    return {**around, "request": {**request, "messages": list(messages)}, "response": response}


FIRST = exchange(ASKED, says=CALLED["content"], tools=[READ])
SECOND = exchange(ASKED, CALLED, FOUND, says=[text("It is 42.")], tools=[READ, LIST])


def asked(context: CompiledContext) -> dict[str, Any]:
    """What a context says of a request."""
    return {key: context.to_anthropic_params()[key] for key in ("system", "messages", "tools")}


def test_requests_are_aligned_and_responses_added(t: Tract, tmp_path: Path) -> None:
    path = given(tmp_path, FIRST, SECOND)
    report = import_file(t, path)
    assert report.format == "http-exchanges"
    assert counted(report) == (6, 1, 1, 3)
    assert report.problems == []
    dialog = t.sibling("session")
    assert [text for _, text in said(dialog)] == [
        *("Be brief.", "What is in a.txt?", "I look.", "42", "quick!", "It is 42."),
    ]
    assert len(dialog.branches()) == 1
    assert import_file(t, path).messages == 0


def test_each_request_is_there_again(t: Tract, tmp_path: Path) -> None:
    """With its grouping, and with the tools of that time."""
    import_file(t, given(tmp_path, FIRST, SECOND))
    dialog = t.sibling("session")
    answers = [c for c in dialog.log() if c.role == "assistant"][::-1]
    for commit, sent in zip(answers, (FIRST, SECOND), strict=True):
        assert commit.parent_hash
        context = asked(dialog.compile(at=commit.parent_hash))
        assert json.dumps(context) == json.dumps({key: sent["request"][key] for key in context})


def test_what_an_exchange_says_is_kept_with_its_answer(quick: Tract, tmp_path: Path) -> None:
    import_file(quick, given(tmp_path, FIRST))
    answered = newest(quick.sibling("session"))
    assert answered.usage == {"input_tokens": 7, "output_tokens": 2}
    assert answered.generation_config == {"model": "claude-x", "max_tokens": 9}
    assert answered.metadata["time"] == "2026-02-03T00:25:07+00:00"
    assert answered.metadata["response"] == {"id": "msg", "stop_reason": "end_turn"}
    assert quick.sibling("session").get_commit_tools(answered) == [READ]


def test_a_file_of_exchanges_that_grew_adds_the_new_part(t: Tract, tmp_path: Path) -> None:
    import_file(t, given(tmp_path, FIRST))
    assert import_file(t, given(tmp_path, FIRST, SECOND)).messages == 3
    assert import_file(t, given(tmp_path, FIRST, SECOND)).messages == 0
    assert len(t.sibling("session").branches()) == 1


def test_conversations_of_one_file_are_dialogs(quick: Tract, tmp_path: Path) -> None:
    other = exchange({"role": "user", "content": "Else?"}, says=[text("No.")], tools=[])
    path = given(tmp_path, FIRST, other, SECOND)
    report = import_file(quick, path)
    assert report.dialogs == ["session", "session/2"]
    assert said(quick.sibling("session"))[-1] == ("assistant", "It is 42.")
    assert said(quick.sibling("session/2"))[-1] == ("assistant", "No.")
    assert import_file(quick, path).messages == 0


def test_a_history_that_was_rewritten_is_a_branch(quick: Tract, tmp_path: Path) -> None:
    shortened = {"role": "user", "content": [result("toolu_1", "[cleared]"), text("quick!")]}
    third = exchange(ASKED, CALLED, shortened, says=[text("Gone.")], tools=[READ])
    path = given(tmp_path, FIRST, SECOND, third)
    import_file(quick, path)
    dialog = quick.sibling("session")
    assert list(dialog.branches()) == ["main", "main-2"]
    assert said(dialog)[-1] == ("assistant", "Gone.")
    assert import_file(quick, path).messages == 0


def test_what_branches_share_is_counted_once(quick: Tract, tmp_path: Path) -> None:
    """The third request follows the first, after one with another system text."""
    second = exchange(ASKED, says=[text("Yes.")], tools=[READ])
    second["request"]["system"] = "Be verbose."
    third = exchange(ASKED, {"role": "user", "content": "Well?"}, says=[text("No.")], tools=[READ])
    assert import_file(quick, given(tmp_path, FIRST, second)).messages == 6
    report = import_file(quick, given(tmp_path, FIRST, second, third))
    assert (report.messages, report.duplicates) == (2, 8)
    with Tract.open() as once:
        report = import_file(once, given(tmp_path, FIRST, second, third))
        assert (report.messages, report.duplicates) == (8, 2)
        store = once.sibling("session").store
        logs = [store.log(head.id) for head in store.branches("session").values()]
        assert len({commit.commit_hash for log in logs for commit in log if commit.role}) == 8


GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent"


def gemini_exchange(*contents: Any, says: list[Any]) -> dict[str, Any]:
    answer = {"candidates": [{"content": {"role": "model", "parts": says}}]}
    return {"url": GEMINI, "status": 200, "request": {"contents": contents}, "response": answer}


def test_calls_without_ids_find_their_results(t: Tract, tmp_path: Path) -> None:
    """Neither the answer nor the next request has ids: they are made up, each time anew."""
    calls = [{"functionCall": {"name": "ls", "args": {"path": path}}} for path in ("a", "b")]
    found = [
        {"functionResponse": {"name": "ls", "response": {"output": name}}} for name in ("x", "y")
    ]
    start = {"role": "user", "parts": [{"text": "list"}]}
    history = [start, {"role": "model", "parts": calls}, {"role": "user", "parts": found}]
    again = [*history, {"role": "model", "parts": calls}, {"role": "user", "parts": found}]
    path = given(
        tmp_path,
        gemini_exchange(start, says=calls),
        gemini_exchange(*history, says=calls),
        gemini_exchange(*again, says=[{"text": "x and y"}]),
    )
    report = import_file(t, path)
    assert (report.repairs, report.problems) == ([], [])
    assert counted(report)[:3] == (8, 4, 4)
    dialog = t.sibling("session")
    context = dialog.compile()
    assert context.notes[1:] == []  # besides that no tools were recorded
    assert context.to_gemini()["contents"][:-1] == again
    assert said(dialog)[-1] == ("assistant", "x and y")
    assert import_file(t, path).messages == 0


def test_ids_that_the_other_side_changed_find_their_calls(quick: Tract, tmp_path: Path) -> None:
    renamed: dict[str, Any] = {
        "role": "assistant",
        "content": [text("I look."), call("call_other")],
    }
    renamed["content"][1]["input"] = {"path": "toolu_1"}
    found = {"role": "user", "content": [result("call_other", "42")]}
    path = given(tmp_path, FIRST, exchange(ASKED, renamed, found, says=[text("42")], tools=[READ]))
    report = import_file(quick, path)
    assert report.repairs == []
    assert [
        m.tool_call_id for m in quick.sibling("session").compile().messages if m.role == "tool"
    ] == ["toolu_1"]


# Size

# Not `ru_maxrss`: that begins with what the process had from which this one was made.
MEASURED = """
import re, sys
from tract import Tract
from tract.importers.writer import import_file

with Tract.open(sys.argv[1], durability="relaxed") as t:
    print(import_file(t, sys.argv[2]).messages)
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells its peak")
@pytest.mark.parametrize(
    ("turns", "size"), [(200, 40_000), pytest.param(2_500, 8_000, marks=pytest.mark.long)]
)
def test_a_large_file_takes_little_memory(tmp_path: Path, turns: int, size: int) -> None:
    """As much as a small one and a little more, not as much as the file."""
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        for record in long_session(turns, size):
            file.write(json.dumps(record) + "\n")
    assert path.stat().st_size > 8_000_000
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path / "t.db"), str(path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    messages, megabytes = map(int, done.stdout.split())
    assert messages == 4 * turns
    assert megabytes < 110


def with_tools(tools: list[str], *messages: dict[str, Any]) -> dict[str, Any]:
    *history, last = messages
    request = {"model": "m", "tools": [claude_tool(name) for name in tools], "messages": history}
    response = {"type": "message", **last, "content": [{"type": "text", "text": last["content"]}]}
    return {"url": "https://example.org/v1/messages", "request": request, "response": response}


def test_importing_again_does_not_bring_back_former_tools(quick: Tract, tmp_path: Path) -> None:
    words = ("Hi", "Hello", "Go on", "Done")
    roles = ("user", "assistant") * 2
    messages = [{"role": role, "content": said} for role, said in zip(roles, words, strict=True)]
    lines = [with_tools(["a"], *messages[:2]), with_tools(["b"], *messages)]
    path = given(tmp_path, *lines)
    import_file(quick, path)
    before = everything(quick)
    import_file(quick, path)
    assert everything(quick) == before
