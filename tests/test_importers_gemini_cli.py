from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from tests.corpus import DATA
from tests.importing import (
    calls,
    entries,
    file_of,
    held,
    messages,
    nested,
    of_lines,
    strings,
)
from tests.samples.gemini_cli import (
    CONTEXT,
    HEAD,
    MESSAGES,
    NEWER,
    SESSION,
    TIME,
    call,
    returned,
    said,
)
from tract.errors import InputError
from tract.importers import gemini_cli
from tract.importers.items import Facts, Problem, Unknown
from tract.importers.source import Source
from tract.model import ROOT, Json, Raw, Text, ToolCall

FILES = sorted((DATA / "gemini-cli-session").glob("*.json"))


def test_detects_its_own_and_no_others(tmp_path: Path) -> None:
    assert gemini_cli.detect(file_of(tmp_path, SESSION))
    assert gemini_cli.detect(file_of(tmp_path, json.dumps(SESSION, indent=2).encode()))
    large = {**HEAD, "messages": [said("user", "x" * 100_000)]}
    assert gemini_cli.detect(file_of(tmp_path, large))
    assert gemini_cli.detect(of_lines(tmp_path, HEAD, *MESSAGES))
    assert not gemini_cli.detect(file_of(tmp_path, {"sessionId": "s", "messages": []}))
    assert not gemini_cli.detect(file_of(tmp_path, {"messages": [HEAD]}))


def test_messages_and_results_in_their_order(tmp_path: Path) -> None:
    found = entries(gemini_cli.read(file_of(tmp_path, SESSION)))
    assert [e.messages[0].role for e in found] == ["user", "assistant", "tool", "tool", "tool"]
    assert [e.key for e in found] == ["1", None, None, None, "3"]
    answer = found[1]
    blocks = answer.messages[0].blocks
    assert isinstance(blocks[0], Raw)
    assert blocks[0].data["description"] == "I must look"
    assert blocks[1:3] == (Text("I look"), ToolCall("c1", "run", {"command": "c1"}))
    assert (answer.model, answer.usage) == ("gemini-9", {"input": 5, "total": 9})
    results = [e.messages[0] for e in found[2:]]
    assert [(m.tool_call_id, m.content, m.is_error) for m in results] == [
        ("c1", "found", False),
        ("c2", "no such file", True),
        ("c3", "stopped", True),
    ]
    assert "update available" not in held(found)


def test_results_of_several_parts_are_kept_whole(tmp_path: Path) -> None:
    parts = [
        *returned("c1", output="see"),
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
    ]
    rich = returned("c1", output="see", exit=0)
    two = [call("c1", parts), call("c2", rich)]
    session = {**HEAD, "messages": [said("gemini", "", toolCalls=two)]}
    (_, first, second) = messages(gemini_cli.read(file_of(tmp_path, session)))
    assert first.content == parts
    assert second.content == {"output": "see", "exit": 0}


def test_a_response_may_tell_of_an_error_by_itself(tmp_path: Path) -> None:
    failed = [call("c1", returned("c1", error="no", exit=1))]
    session = {**HEAD, "messages": [said("gemini", "", toolCalls=failed)]}
    (_, result) = messages(gemini_cli.read(file_of(tmp_path, session)))
    assert (result.content, result.is_error) == ({"error": "no", "exit": 1}, True)


def test_content_of_parts(tmp_path: Path) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    session = {**HEAD, "messages": [said("user", [{"text": "look"}, image, "and"])]}
    (message,) = messages(gemini_cli.read(file_of(tmp_path, session)))
    assert message.content == (Text("look"), Raw("gemini", image), Text("and"))


def test_lines_of_newer_versions(tmp_path: Path) -> None:
    begun = {**MESSAGES[2], "toolCalls": []}
    lines = [HEAD, MESSAGES[0], begun, {"$set": {"lastUpdated": TIME}}, MESSAGES[2]]
    whole = list(gemini_cli.read(file_of(tmp_path, SESSION)))
    assert list(gemini_cli.read(of_lines(tmp_path, *lines))) == whole
    found = list(gemini_cli.read(of_lines(tmp_path, *lines, b"{cut")))
    assert [item for item in found if not isinstance(item, Problem)] == whole
    assert [item.place for item in found if isinstance(item, Problem)] == ["line 6"]


def test_messages_that_were_taken_back_are_branches(tmp_path: Path) -> None:
    lines = [HEAD, *MESSAGES, said("user", "no", "4"), {"$rewindTo": "4"}, said("user", "yes", "5")]
    lines += [{"$rewindTo": "1"}, said("user", "all anew", "6"), said("gemini", "ok", "7")]
    found = entries(gemini_cli.read(of_lines(tmp_path, *lines)))
    told = [(e.key, e.parent) for e in found if e.key]
    assert told == [("1", None), ("3", None), ("4", None), ("5", "3"), ("6", ROOT), ("7", None)]


def test_results_are_told_once_with_the_ids_of_the_wire(tmp_path: Path) -> None:
    found = entries(gemini_cli.read(of_lines(tmp_path, *NEWER)))
    assert [e.key for e in found if e.key] == ["ctx", "u1", "a1", "a2", "u2", "u3", "a3"]
    assert [e.parent for e in found if e.parent] == ["a2", "a2"]
    results = [m for m in messages(found) if m.role == "tool"]
    assert [(m.tool_call_id, m.content, m.is_error) for m in results] == [
        ("w1", "slow", False),
        ("w2", "no such file", True),
        ("w3", "", False),
    ]
    assert [c.id for c in calls(found)] == ["w1", "w2", "w3", "w4"]


def test_a_result_that_only_the_user_has_is_kept(tmp_path: Path) -> None:
    asked = {"functionCall": {"id": "run__w9", "name": "run", "args": {"a": 1}}}
    parts = [*returned("run__w9", output="x"), {"text": "and this"}]
    lines = [HEAD, said("gemini", [asked], "1"), said("user", parts, "2")]
    (answer, result, rest) = messages(gemini_cli.read(of_lines(tmp_path, *lines)))
    assert [(c.id, c.arguments) for c in answer.tool_calls] == [("w9", {"a": 1})]
    assert (result.tool_call_id, result.content, rest.text) == ("w9", "x", "and this")


def test_messages_that_are_set_anew_replace_those_before(tmp_path: Path) -> None:
    summary, kept = said("user", "summary", "9"), MESSAGES[0]
    lines = [HEAD, CONTEXT, *MESSAGES, {"$set": {"messages": [CONTEXT, summary, kept]}}]
    found = entries(gemini_cli.read(of_lines(tmp_path, *lines, said("user", "on", "10"))))
    assert [e.compacts for e in found[-2:]] == [True, False]
    assert [m.text for m in found[-2].messages] == ["<session_context>", "summary", "hello"]
    again = {"$set": {"messages": [CONTEXT, summary, kept, said("user", "on", "10")]}}
    lines += [said("user", "on", "10"), again, said("user", "more", "11")]
    found = entries(gemini_cli.read(of_lines(tmp_path, *lines)))
    assert [(e.key, e.parent) for e in found[-2:]] == [("10", None), ("11", "10")]
    appended = {"$set": {"messages": [MESSAGES[0], said("user", "more", "8")]}}
    found = entries(gemini_cli.read(of_lines(tmp_path, HEAD, MESSAGES[0], appended)))
    assert [(e.key, e.parent, e.compacts) for e in found[1:]] == [("8", "1", False)]


def test_what_is_known_about_a_session(tmp_path: Path) -> None:
    (tmp_path / ".project_root").write_text("/work\n")
    (tmp_path / "parent").mkdir()
    source = of_lines(tmp_path / "parent", *NEWER)
    facts = [item for item in gemini_cli.read(source) if isinstance(item, Facts)]
    assert facts == [
        Facts(folder="/work", started=datetime.fromisoformat(TIME)),
        Facts(title="Looks around"),
    ]
    aside = of_lines(tmp_path / "parent", {**HEAD, "kind": "subagent"})
    assert next(iter(gemini_cli.read(aside))).parent == "parent"  # type: ignore[union-attr]


def test_an_unknown_record_is_no_message(tmp_path: Path) -> None:
    new = said("brand_new", "x", "n")
    for source in (
        of_lines(tmp_path, HEAD, MESSAGES[0], new),
        file_of(tmp_path, {**HEAD, "messages": [MESSAGES[0], new]}),
    ):
        found = list(gemini_cli.read(source))
        assert [item.kind for item in found if isinstance(item, Unknown)] == ["brand_new"]
        assert len(messages(found)) == 1


def test_a_broken_part_costs_only_itself(tmp_path: Path) -> None:
    parts: list[Json] = [{"text": "a"}, {"text": None}, {}, 5, {"text": "b"}]
    asked = [{"id": "x"}, call("c1", returned("c1", output="y"))]
    lines = [HEAD, said("user", parts, "1"), said("gemini", "z", "2", toolCalls=asked), None, {}]
    found = list(gemini_cli.read(of_lines(tmp_path, *lines)))
    places = [item.place for item in found if isinstance(item, Problem)]
    assert sorted(places) == ["line 2"] * 3 + ["line 3", "line 4", "line 5"]
    assert [m.text for m in messages(found)] == ["a\nb", "z", "y"]


def test_a_growing_session_only_grows_at_its_end(tmp_path: Path) -> None:
    whole = messages(gemini_cli.read(of_lines(tmp_path, *NEWER)))
    for count in range(1, len(NEWER)):
        part = messages(gemini_cli.read(of_lines(tmp_path, *NEWER[:count])))
        for old, new in zip(part, whole, strict=False):
            assert old == new or old.blocks == new.blocks[: len(old.blocks)], count


def test_calls_without_ids_find_their_results(tmp_path: Path) -> None:
    nameless = [{**call("", returned("", output="x")), "id": None} for _ in range(2)]
    session = {**HEAD, "messages": [said("gemini", "", toolCalls=nameless)]}
    found = messages(gemini_cli.read(file_of(tmp_path, session)))
    assert [c.id for c in found[0].tool_calls] == ["call_1", "call_2"]
    assert [m.tool_call_id for m in found[1:]] == ["call_1", "call_2"]


def test_a_cut_document_loses_the_cut_message(tmp_path: Path) -> None:
    data = json.dumps(SESSION).encode()
    source = file_of(tmp_path, data[: data.index(b"no such file")])
    found = list(gemini_cli.read(source))
    assert [m.text for m in messages(found)] == ["hello"]
    assert sum(isinstance(item, Problem) for item in found) == 1


def test_bad_messages_are_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    bad = [5, said("user", 5), said("gemini", "", toolCalls=[{"id": "x"}])]
    bad += [said("user", [{"text": nested(300)}])]
    found = list(gemini_cli.read(file_of(tmp_path, {**HEAD, "messages": [*bad, *MESSAGES]})))
    places = [item.place for item in found if isinstance(item, Problem)]
    assert places == ["message 1", "message 2", "message 3", "message 4"]
    assert len(messages(found)) == 5


@pytest.mark.parametrize("document", [[], {**HEAD, "messages": 5}, b"nothing", b""])
def test_what_is_no_session_is_refused(tmp_path: Path, document: Json) -> None:
    with pytest.raises(InputError):
        list(gemini_cli.read(file_of(tmp_path, document)))


@pytest.mark.skipif(not FILES, reason="the shared transcripts are not here")
def test_nothing_of_a_real_session_is_lost() -> None:
    """13 messages there are 12 here, without the note of the program, and 9 results."""
    source = Source(FILES[0])
    found = entries(gemini_cli.read(source))
    kept = held(found)
    for message in json.loads(FILES[0].read_bytes())["messages"]:
        if message["type"] == "info":
            continue
        told = [message["content"], message.get("thoughts")]
        told += [[c["args"], c["result"]] for c in message.get("toolCalls", [])]
        assert set(strings(told)) - {""} <= kept | {c.name for c in calls(found)}
    assert (len(found), len(calls(found))) == (12 + 9, 9)
