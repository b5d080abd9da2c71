from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, messages, of_lines, problems
from tests.samples.claude_code import (
    BOTH,
    DONE,
    LOOK,
    MARK,
    MORE,
    NOTES,
    RECORDED,
    RULES,
    SENT,
    SYSTEM,
    VERSION,
    answer,
    blob,
    call,
    digest,
    line,
    marked,
    request,
    result,
    said,
    shape,
    text,
    user,
)
from tract import Tract
from tract.importers import claude_code
from tract.importers.items import Facts, Unknown
from tract.importers.writer import import_file
from tract.model import Form, Json

QUESTIONS = [n for n, line in enumerate(RECORDED) if line["type"] == "api-request"]


def sent_requests(folder: Path, *lines: Any) -> list[dict[str, Json]]:
    """What each answer of an imported session was asked."""
    with Tract.open(folder / "t.db", durability="relaxed") as t:
        report = import_file(t, of_lines(folder, *lines).path)
        assert report.problems == []
    with Tract.open(folder / "t.db", dialog=report.dialogs[0]) as t:
        assert t.fsck().ok
        answers = [info for info in reversed(list(t.log())) if info.role == "assistant"]
        return [t.compile(at=str(one.parent_hash)).to_anthropic_params() for one in answers]


def test_every_request_comes_back_as_it_was_sent(tmp_path: Path) -> None:
    found = sent_requests(tmp_path, *RECORDED)
    assert [one["messages"] for one in found] == SENT
    assert [one["system"] for one in found] == [SYSTEM] * 3
    names = [[tool["name"] for tool in one["tools"]] for one in found]
    assert names == [["Read"], ["Read", "Write"], ["Read", "Write"]]


def test_answers_have_the_settings_of_their_requests(tmp_path: Path) -> None:
    found = list(claude_code.read(of_lines(tmp_path, *RECORDED)))
    answers = [e for e in entries(found) if e.messages[0].role == "assistant"]
    assert [e.key for e in answers] == ["a1", "a4", "a5"]
    assert answers[0].generation_config == RECORDED[QUESTIONS[0]]["params"]
    assert [e.parent for e in answers] == ["q1.1", "q2.3", "q3.5"]
    assert [item.kind for item in found if isinstance(item, Unknown)] == ["brand-new"]
    assert [item for item in found if isinstance(item, Facts)] == [
        Facts(folder="/work"),
        Facts(cost=0.5),
    ]


def test_results_keep_what_their_lines_have(tmp_path: Path) -> None:
    found = entries(claude_code.read(of_lines(tmp_path, *RECORDED)))
    results = [e for e in found if e.messages[0].role == "tool"]
    assert [(e.messages[0].tool_call_id, e.messages[0].is_error) for e in results] == [
        ("t2", False),
        ("t1", True),
    ]
    assert {str(e.time) for e in results} == {"2026-02-03 00:25:07+00:00"}


@pytest.mark.parametrize("count", range(3, len(RECORDED)))
def test_a_growing_session_ends_as_the_whole(tmp_path: Path, count: int) -> None:
    def branches(name: str, *parts: list[Any]) -> dict[str, str]:
        with Tract.open(tmp_path / name, durability="relaxed") as t:
            for part in parts:
                import_file(t, of_lines(tmp_path, *part).path)
        with Tract.open(tmp_path / name, dialog="s") as t:
            return {b: t.compile(at=b).commit_hashes[-1] for b in t.branches()}

    whole = branches("whole.db", RECORDED)
    assert list(whole) == ["main"]
    assert branches("grown.db", RECORDED[:count], RECORDED[: count + 1], RECORDED) == whole


def test_a_prompt_before_the_first_request_is_reported(tmp_path: Path) -> None:
    found = list(claude_code.read(of_lines(tmp_path, *RECORDED[:3])))
    assert entries(found) == []
    assert [problem.place for problem in problems(found)] == ["line 2"]


def test_an_attached_file_is_what_the_request_has_of_it(tmp_path: Path) -> None:
    file = {"type": "file", "filename": "a.py", "content": {"file": {"content": "print()"}}}
    attached = line("attachment", "f1", "u3", attachment=file, rendered=[{"content": "1 print()"}])
    sent = said(text("Read a.py: 1 print()"), text("look at a.py"))
    lines = [*RECORDED[:-1], answer("a5", "u2", "m3", text("fine"), requestRef="q3")]
    lines += [user("u3", "a5", "look at a.py"), attached]
    found = list(claude_code.read(of_lines(tmp_path, *lines)))
    assert [problem.place for problem in problems(found)] == ["line 22"]
    assert entries(found)[-1].messages[0].text == "look at a.py"
    tail = [said(text("fine"), role="assistant"), sent]
    lines += [blob(sent), request("q4", tail, [7, 1], base="q3", keep=6, shapeHash="more")]
    found = list(claude_code.read(of_lines(tmp_path, *lines)))
    assert problems(found) == []
    assert [m.text for m in messages(found)][-1] == "Read a.py: 1 print()\nlook at a.py"
    assert [e.key for e in entries(found) if e.key in ("u3", "f1")] == []


def test_a_prompt_that_was_never_sent_is_a_branch(tmp_path: Path) -> None:
    unsent = user("u9", "a4", "never mind")
    lines = [*RECORDED[:17], unsent, *RECORDED[17:]]
    lines += [user("r3", "a5", [result("t3")])]
    tail = [said(call("t3"), role="assistant"), said(result("t3"))]
    lines += [request("q4", tail, [7, 0], base="q3", keep=6, shapeHash="more")]
    found = entries(claude_code.read(of_lines(tmp_path, *lines)))
    aside = [(e.parent, e.messages[0].text) for e in found if e.key == "u9"]
    assert aside == [("a4", "never mind")]
    assert found[-1].key == "q4.7"


def test_a_picture_that_was_never_sent_is_kept_too(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "x", "data": "AA=="}}
    lines = [*RECORDED[:17], user("u9", "a4", [picture]), *RECORDED[17:]]
    found = entries(claude_code.read(of_lines(tmp_path, *lines)))
    assert [e.parent for e in found if e.key == "u9"] == ["a4"]


@pytest.mark.parametrize("lost", [3, 4, 5, 6, 14, 18])
def test_what_a_request_lacks_is_reported_and_the_rest_is_there(tmp_path: Path, lost: int) -> None:
    lines = [*RECORDED[:lost], b"{broken", *RECORDED[lost + 1 :]]
    found = list(claude_code.read(of_lines(tmp_path, *lines)))
    assert problems(found)
    kept = "\n".join(m.text for m in messages(found))
    for one in ("hello \r é", "I look", "fast", "no such file", "done", "more"):
        assert one in kept
    assert ("Today is Monday." in kept) == (lost != 5)


def test_a_fork_has_the_messages_of_requests_that_are_elsewhere(tmp_path: Path) -> None:
    copied = [line for line in RECORDED[:17] if "uuid" in line]
    new = said(text("fork it"))
    tail = [NOTES, RULES, LOOK, BOTH, DONE, new]
    lines = [*copied, user("u3", "a4", "fork it"), shape("shape", "Read"), blob(NOTES), blob(RULES)]
    lines += [request("q9", tail, [5, 0]), answer("a9", "u3", "m9", text("ok"), requestRef="q9")]
    found = sent_requests(tmp_path, *lines)
    assert found[-1]["messages"] == [*SENT[2][:5], said(marked(text("fork it")))]


def test_another_system_text_or_history_is_a_branch(tmp_path: Path) -> None:
    other = shape("other", "Read")
    other["shape"]["system"] = [text("You are short."), text("Yes.")]
    short = said(text("in short: done"))
    lines = [*RECORDED[:-1], other, blob(short), request("q5", [short], [0, 0], shapeHash="other")]
    lines += [answer("a9", "u2", "m9", text("ok"), requestRef="q5")]
    (found,) = sent_requests(tmp_path, *lines)
    assert found["messages"] == [said(marked(text("in short: done")))]
    assert found["system"] == [text("You are short."), marked(text("Yes."))]


def test_a_spilled_result_is_sent_as_its_preview(tmp_path: Path) -> None:
    preview = (
        "<persisted-output>\nOutput too large. Full output saved to: /x/tool-results/b.txt\n\n1"
    )
    folder = tmp_path / "session" / "tool-results"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("1\n" * 50_000)
    tail = [said(call("t3"), role="assistant"), said(result("t3", preview))]
    lines = [*RECORDED, user("r3", "a5", [result("t3", preview)])]
    lines += [request("q4", tail, [7, 0], base="q3", keep=6, shapeHash="more")]
    lines += [answer("a6", "r3", "m4", text("long"), requestRef="q4")]
    found = sent_requests(tmp_path, *lines)
    assert found[-1]["messages"][-1] == said(marked(result("t3", preview)))
    assert [tool["name"] for tool in found[-1]["tools"]] == ["Read", "Write"]
    with Tract.open(tmp_path / "t.db", dialog="s") as t:
        assert "1\n1\n1\n" in t.get_tool_result("t3")
        (info,) = [info for info in t.list_tool_results() if info.id == "t3"]
        assert info.form == Form.TRUNCATED


def test_a_text_prompt_stays_a_text_with_notes_around_it(tmp_path: Path) -> None:
    wrapped = said(text("<note>also this</note>"))
    tail = [said(text("fine"), role="assistant"), wrapped]
    lines = [*RECORDED[:-1], answer("a5", "u2", "m3", text("fine"), requestRef="q3")]
    lines += [user("u3", "a5", "also this"), blob(wrapped)]
    lines += [request("q4", tail, [7, 0], base="q3", keep=6, shapeHash="more")]
    lines += [answer("a6", "u3", "m4", text("ok"), requestRef="q4"), user("u4", "a6", "on")]
    tail = [said(text("ok"), role="assistant"), said(text("on"))]
    lines += [request("q5", tail, [9, 0], base="q4", keep=8, shapeHash="more")]
    lines += [answer("a7", "u4", "m5", text("yes"), requestRef="q5")]
    found = sent_requests(tmp_path, *lines)
    notes = {"role": "user", "content": "<note>also this</note>"}
    assert notes in found[-1]["messages"]


def test_a_call_without_an_id_in_a_request_gets_one(tmp_path: Path) -> None:
    asked, returned = said({**call("x"), "id": ""}, role="assistant"), said(result(""))
    tail = [MORE, asked, returned]
    lines = [user("u1", None, "more", **VERSION), shape("shape", "Read"), blob(asked)]
    lines += [blob(returned), request("q1", tail, [2, 0])]
    found = messages(claude_code.read(of_lines(tmp_path, *lines)))
    assert [c.id for m in found for c in m.tool_calls] == ["call_1"] == [found[-1].tool_call_id]


def test_tools_may_have_breakpoints(tmp_path: Path) -> None:
    asked = request("q1", [MORE], [0, 0])
    asked["cacheControl"] = [{"path": ["tools", 0], "value": MARK}, {"path": ["x"]}, {}]
    lines = [user("u1", None, "more", **VERSION), shape("shape", "Read"), asked]
    lines += [answer("a1", "u1", "m1", text("ok"), requestRef="q1")]
    (found,) = sent_requests(tmp_path, *lines)
    assert [tool["cache_control"] for tool in found["tools"]] == [MARK]
    assert found["messages"] == [{"role": "user", "content": "more"}]


def test_hashes_are_those_of_sorted_compact_json() -> None:
    assert digest({"b": "é", "a": [1]}) == digest({"a": [1], "b": "é"})


SUMMARY = user("c1", "b1", "in short: done", isCompactSummary=True)
BOUNDARY = line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a5")


def test_a_summary_waits_for_its_request(tmp_path: Path) -> None:
    command = user("c2", "c1", "<command-name>/compact</command-name>")
    found = list(claude_code.read(of_lines(tmp_path, *RECORDED, BOUNDARY, SUMMARY, command)))
    assert [problem.place for problem in problems(found)] == ["line 22", "line 23"]
    assert entries(found) == entries(claude_code.read(of_lines(tmp_path, *RECORDED)))


def test_a_compacted_history_is_a_branch_of_its_own(tmp_path: Path) -> None:
    settings = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    on = said(text("go on"))
    tail = [said(text("in short: done")), settings, DONE, on]
    lines = [*RECORDED[:-1], BOUNDARY, SUMMARY, user("u3", "c1", "go on"), blob(settings)]
    lines += [request("q4", tail, [3, 0], shapeHash="more")]
    lines += [answer("a9", "u3", "m9", text("ok"), requestRef="q4")]
    found = sent_requests(tmp_path, *lines)
    summary = {"role": "user", "content": "in short: done"}
    assert found[-1]["messages"] == [summary, settings, DONE, said(marked(text("go on")))]
    assert found[-1]["system"] == SYSTEM
