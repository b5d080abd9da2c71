"""The facade from the outside, on both databases."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.faults.harness import is_postgres
from tests.serving import open_tract
from tests.toolkit import tool
from tract import (
    ROOT,
    AmbiguousPrefixError,
    BranchNotFoundError,
    CommitInfo,
    CommitNotFoundError,
    CommitOperation,
    ConflictError,
    DialogNotFoundError,
    EditError,
    InputError,
    Message,
    NotFoundError,
    NotJsonError,
    Priority,
    RoleError,
    ScriptedLLM,
    Text,
    ToolCall,
    Tract,
    TractError,
)
from tract.core.wording import NO_RESULT, SKIPPED
from tract.providers.validate import validate

ON_SERVERS = True

UNKNOWN = "ab" * 32


@pytest.fixture
def t(db: str) -> Iterator[Tract]:
    with open_tract(db) as opened:
        yield opened


def shown(t: Tract, at: Any = None) -> list[Any]:
    return [message.content for message in t.compile(at=at).messages]


# Opening


def test_a_new_dialog_has_no_commit(t: Tract) -> None:
    assert (t.head, list(t.log()), t.compile().messages) == (None, [], [])
    assert (t.branches(), t.current_branch) == ({"main": None}, "main")


def test_what_was_written_is_there_after_reopening(db: str) -> None:
    with open_tract(db) as t:
        info = t.user("hello", metadata={"k": 1}, message="why", generation_config={"m": 1})
    with open_tract(db, create=False) as t:
        assert t.get_commit(info) == info
        assert t.head == info.commit_hash
        assert shown(t) == ["hello"]


def test_dialogs_share_a_database_and_nothing_else(db: str) -> None:
    with open_tract(db, dialog="one") as one, open_tract(db, dialog="two") as two:
        info = one.user("x")
        assert two.user("x").commit_hash == info.commit_hash
        one.user("only in one")
        assert (shown(one), shown(two)) == (["x", "only in one"], ["x"])
        with pytest.raises(CommitNotFoundError, match=str(one.head)):
            two.get_commit(str(one.head))
        assert sorted(dialog.dialog for dialog in one.dialogs()) == ["one", "two"]


def test_without_create_nothing_is_made(db: str) -> None:
    open_tract(db).close()
    with pytest.raises(DialogNotFoundError, match="nobody"):
        open_tract(db, dialog="nobody", create=False)


def test_bad_names_are_refused(t: Tract) -> None:
    names: list[Any] = ["", "a\nb", "x" * 201, None, 5]
    for name in names:
        with pytest.raises(InputError, match="name"):
            t.branch(name)
        with pytest.raises(InputError, match="name"):
            Tract.open(dialog=name)


def test_other_names_are_fine(t: Tract) -> None:
    t.user("x")
    for name in ("é", "a/b", "with space", "日本", "'; DROP TABLE commits; --"):
        t.branch(name)
        t.checkout(name)
        assert t.current_branch == name
        assert t.branches()[name] == t.head


@pytest.mark.parametrize("place", [None, 5, b"t.db", ""])
def test_what_is_no_database_is_refused(place: Any) -> None:
    with pytest.raises(InputError, match="database"):
        Tract.open(place)


def test_an_unknown_durability_is_refused() -> None:
    with pytest.raises(InputError, match="sometimes"):
        Tract.open(durability="sometimes")


# Writing


def test_the_chain_of_commits(t: Tract) -> None:
    first, second = t.user("a"), t.assistant("b")
    assert (first.parent_hash, second.parent_hash) == (None, first.commit_hash)
    assert t.head == second.commit_hash
    assert first.operation == CommitOperation.APPEND
    assert (first.role, first.preview, first.byte_size) == ("user", "a", 1)
    assert first.created_at is not None
    assert first.created_at.tzinfo is not None


def test_equal_histories_have_equal_hashes_and_other_remarks_do_not() -> None:
    with Tract.open() as one, Tract.open() as two:
        assert one.user("a").commit_hash == two.user("a").commit_hash
        assert one.user("b", usage={"n": 1}).commit_hash == two.user("b").commit_hash
        remarks: list[dict[str, Any]] = [
            {"message": "m"},
            {"metadata": {}},
            {"metadata": {"k": 1}},
            {"generation_config": {"k": 1}},
        ]
        for options in remarks:
            plain, remarked = one.user("c"), two.user("c", **options)
            assert plain.commit_hash != remarked.commit_hash
            assert plain.content_hash == remarked.content_hash


def test_any_text_comes_back_as_a_text(t: Tract) -> None:
    for text in ("", "x", "é\x00\udfff\ud800\U0001f600", " \n\t", "[1]", '{"a": 1}', "null"):
        for info in (
            t.system(text),
            t.user(text),
            t.assistant(text),
            t.assistant(text, tool_calls=[ToolCall("a", "f")]),
            t.tool_result("a", "f", text),
            t.commit({"role": "user", "content": text}),
        ):
            content = t.get_content(info)
            assert (type(content), content) == (str, text)


def test_any_json_of_a_tool_comes_back(t: Tract) -> None:
    contents: list[Any] = [None, 0, 1.0, True, [], {}, [1, "a", None], {"b": 1, "a": {"c": []}}]
    for content in contents:
        info = t.tool_result("a", "f", content)
        assert json.dumps(t.get_content(info)) == json.dumps(content)
        assert json.dumps(t.compile().messages[-1].content) == json.dumps(content)


def test_names_and_remarks_may_hold_any_text(t: Tract) -> None:
    odd = "\x00é\ud800"
    info = t.tool_result(odd, odd, "x", message=odd, metadata={odd: odd})
    again = t.get_commit(info)
    assert (again.tool_call_id, again.name, again.message) == (odd, odd, odd)
    assert again.metadata[odd] == odd
    assert again == info


def test_metadata_shows_whom_a_result_answers_and_what_was_called(t: Tract) -> None:
    call = t.assistant("", tool_calls=[ToolCall("a", "f", {"x": 1})], metadata={"mine": 1})
    result = t.tool_result("a", "f", "y")
    described = {"id": "a", "name": "f", "arguments": {"x": 1}}
    assert call.metadata == {"tool_calls": [described], "mine": 1}
    assert result.metadata == {"tool_call_id": "a", "name": "f"}
    assert (result.tool_call_id, result.name) == ("a", "f")


def test_nothing_that_was_given_is_kept_by_reference(t: Tract) -> None:
    content: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "x"}], "k": [1]}
    result: list[Any] = [{"a": 1}]
    metadata: dict[str, Any] = {"k": [1]}
    arguments: dict[str, Any] = {"q": 1}
    t.commit(content, metadata=metadata, generation_config=metadata)
    info = t.assistant("x", tool_calls=[ToolCall("a", "f", arguments)])
    t.tool_result("a", "f", result)
    before = json.dumps([t.compile().to_openai(), t.compile().to_anthropic()])
    content["content"].append(1)
    content["k"].append(2)
    result[0]["a"] = 2
    metadata["k"].append(2)
    arguments["q"] = 2
    assert json.dumps([t.compile().to_openai(), t.compile().to_anthropic()]) == before
    assert t.compile().generation_configs[0] == {"k": [1]}
    (call,) = t.get_message(info).tool_calls
    assert call.arguments == {"q": 1}


def test_what_is_returned_can_be_changed_without_harm(t: Tract) -> None:
    info = t.tool_result("a", "f", {"k": [1]}, metadata={"m": [1]})
    t.get_content(info)["k"].append(2)
    info.metadata["m"].append(2)
    assert t.get_content(info) == {"k": [1]}
    assert t.get_commit(info.commit_hash).metadata["m"] == [1]
    assert t.compile().messages[0].content == {"k": [1]}


# Naming commits


def test_a_branch_without_commits_names_none(t: Tract) -> None:
    t.configure_results()
    for read in (t.get_commit, t.get_message, t.get_content):
        with pytest.raises(CommitNotFoundError, match="branch 'main' has no commits yet"):
            read("main")
    assert t.compile("main").messages == []


def test_a_commit_by_info_hash_and_prefix(t: Tract) -> None:
    info = t.user("x")
    digest = info.commit_hash
    for name in (info, digest, digest[:8], digest.upper(), digest[:1]):
        assert t.get_commit(name) == info
        assert t.get_content(name) == "x"
        assert shown(t, at=name) == ["x"]


def every_way_to_name(t: Tract) -> dict[str, Callable[[Any], object]]:
    return {
        "get_commit": t.get_commit,
        "get_content": t.get_content,
        "compile": lambda name: t.compile(at=name),
        "edit": lambda name: t.user("y", edit=name),
        "response_to": lambda name: t.commit(
            {"role": "user", "content": "y"}, operation="edit", response_to=name
        ),
        "annotate": lambda name: t.annotate(name, "skip"),
        "restore": t.restore,
        "parent": lambda name: t.user("y", parent=name),
        "checkout": t.checkout,
        "branch": lambda name: t.branch("b", at=name),
        "edit_history": t.edit_history,
        "forget": t.forget,
    }


def test_an_unknown_hash_is_said(t: Tract) -> None:
    t.user("before")
    for way, use in every_way_to_name(t).items():
        for name in (UNKNOWN, "abcd", "not a hash", "x" * 100, "\x00"):
            with pytest.raises(NotFoundError) as error:
                use(name)
            assert ascii(name)[1:-1][:40] in ascii(str(error.value)), way
    assert_untouched(t)


def test_a_commit_of_an_empty_dialog_is_unknown(t: Tract) -> None:
    for use in every_way_to_name(t).values():
        with pytest.raises(NotFoundError, match=UNKNOWN):
            use(UNKNOWN)
    assert t.user("usable").parent_hash is None


def test_an_ambiguous_prefix_is_said(t: Tract) -> None:
    prefix = ambiguous_prefix(t)
    before = t.head
    for use in every_way_to_name(t).values():
        with pytest.raises(AmbiguousPrefixError, match=prefix):
            use(prefix)
    assert (t.head, t.current_branch, list(t.branches())) == (before, "main", ["main"])


def ambiguous_prefix(t: Tract) -> str:
    seen: set[str] = set()
    for number in itertools.count():
        prefix = t.user(f"{number}").commit_hash[:1]
        if prefix in seen:
            return prefix
        seen.add(prefix)
    raise AssertionError


def test_what_is_no_name_is_refused(t: Tract) -> None:
    t.user("before")
    names: list[Any] = [5, b"ab", ["ab"], 1.5, None]
    for way, use in every_way_to_name(t).items():
        for name in names if way not in ("compile", "edit", "parent", "branch") else names[:-1]:
            if way == "annotate" and isinstance(name, list):
                continue  # it takes several
            with pytest.raises(InputError):
                use(name)
    assert_untouched(t)


def test_several_messages_are_marked_by_one_commit(t: Tract) -> None:
    said = [t.user("a"), t.assistant("b"), t.user("c")]
    mark = t.annotate(said[:2], "skip")
    assert [link.target for link in mark.marks] == [c.commit_hash for c in said[:2]]
    assert [message.text for message in t.compile().messages] == ["c"]
    t.restore(mark)
    assert len(t.compile().messages) == 3
    head = t.head
    refused: list[list[str | CommitInfo]] = [[], [said[0], "ffffffff"]]
    for commits in refused:
        with pytest.raises((InputError, CommitNotFoundError)):
            t.annotate(commits, "pinned")
    assert t.head == head


def assert_untouched(t: Tract) -> None:
    """Only what was there before is there, and writing works."""
    assert shown(t) == ["before"]
    assert list(t.branches()) == ["main"]
    assert t.current_branch == "main"
    assert t.fsck().ok
    t.user("after")
    assert shown(t) == ["before", "after"]


# Bad input


BAD_INPUT: list[tuple[type[TractError], str, Callable[[Any], object]]] = [
    (RoleError, "robot", lambda t: t.commit({"role": "robot", "content": "x"})),
    (RoleError, "robot", lambda t: t.commit(Message("robot", "x"))),
    (RoleError, "assistant", lambda t: t.assistant("x", edit=t.head)),
    (NotJsonError, "nan", lambda t: t.tool_result("a", "f", float("nan"))),
    (NotJsonError, "200", lambda t: t.tool_result("a", "f", deep(201))),
    (NotJsonError, "200", lambda t: t.user("x", metadata={"a": deep(100_000)})),
    (InputError, "int", lambda t: t.user(5)),
    (InputError, "NoneType", lambda t: t.user(None)),
    (InputError, "bytes", lambda t: t.commit(b"x")),
    (InputError, "list", lambda t: t.commit(["x"])),
    (InputError, "int", lambda t: t.user("x", message=5)),
    (InputError, "str", lambda t: t.user("x", metadata="y")),
    (InputError, "compress", lambda t: t.commit({}, operation="compress")),
    (InputError, "loud", lambda t: t.annotate(t.head, "loud")),
    (EditError, "edit", lambda t: t.commit({"role": "user", "content": "x"}, operation="edit")),
    (EditError, "never changed", lambda t: t.restore(t.head)),
    (ConflictError, "main", lambda t: t.branch("main")),
    (ConflictError, "main", lambda t: t.delete_branch("main")),
    (BranchNotFoundError, "nowhere", lambda t: t.delete_branch("nowhere")),
    (InputError, "int", lambda t: t.record([5])),
    (InputError, "int", lambda t: t.record(5)),
]


IN_JSON = {"NoneType": "null", "list": "array"}
"""What a server calls the types that it gets."""


def test_bad_input_is_one_typed_error_with_the_fact(t: Tract) -> None:
    t.user("before")
    for error, fact, attempt in BAD_INPUT:
        with pytest.raises(error, match=f"(?i){fact}|{IN_JSON.get(fact, fact)}"):
            attempt(t)
    assert_untouched(t)


def deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_closed_instance_says_so(db: str) -> None:
    t = open_tract(db)
    t.user("x")
    t.close()
    t.close()
    try:
        with pytest.raises(TractError, match="closed"):
            t.user("y")
    finally:
        t.close()


# Edits


def test_edits_stand_where_the_original_stood(t: Tract) -> None:
    first, second = t.user("1"), t.user("2")
    edit = t.user("1b", edit=first)
    again = t.user("1c", edit=edit)
    other = t.user("1d", edit=first)
    assert shown(t) == ["1d", "2"]
    assert t.compile().commit_hashes == [other.commit_hash, second.commit_hash]
    assert [info.replaces for info in (edit, again, other)] == [
        (first.commit_hash,),
        (edit.commit_hash,),
        (again.commit_hash,),
    ]
    assert edit.operation == CommitOperation.EDIT
    assert t.edit_history(again) == [first, edit, again, other]
    assert t.get_content(first) == "1"


def test_the_other_spelling_of_an_edit(t: Tract) -> None:
    first = t.user("1")
    content = {"content_type": "dialogue", "role": "user", "text": "1b"}
    edit = t.commit(content, operation=CommitOperation.EDIT, response_to=first.commit_hash)
    assert edit.operation == "edit"
    assert shown(t) == ["1b"]
    with pytest.raises(EditError, match="response_to"):
        t.commit(content, response_to=first)


def test_an_edited_answer_keeps_its_calls(t: Tract) -> None:
    call = t.assistant("long", tool_calls=[ToolCall("a", "f", {"x": 1})])
    t.tool_result("a", "f", "y")
    t.assistant("short", edit=call)
    assert shown(t)[0] == (Text("short"), ToolCall("a", "f", {"x": 1}))
    t.assistant("other", tool_calls=[ToolCall("b", "g")], edit=call)
    assert [c.id for c in t.compile().messages[0].tool_calls] == ["b"]
    assert validate(t.compile().to_openai(), "openai") == []


def test_an_edited_result_inherits_what_it_is(t: Tract) -> None:
    t.assistant("", tool_calls=[ToolCall("a", "f")])
    result = t.tool_result("a", "f", "long", is_error=True)
    edit = t.tool_result("a", None, "short", edit=result)
    again = t.tool_result("a", "f", {"n": 1}, edit=edit)
    for info in (edit, again):
        assert (info.role, info.tool_call_id, info.name, info.is_error) == ("tool", "a", "f", True)
    assert shown(t)[1] == {"n": 1}


def test_a_result_cannot_be_edited_into_something_else(t: Tract) -> None:
    t.assistant("", tool_calls=[ToolCall("a", "f"), ToolCall("b", "f")])
    result = t.tool_result("a", "f", "x")
    head = t.head
    with pytest.raises(EditError, match=r"'a'.*'b'"):
        t.tool_result("b", "f", "y", edit=result)
    with pytest.raises(EditError, match=r"'f'.*'g'"):
        t.tool_result("a", "g", "y", edit=result)
    with pytest.raises(RoleError, match=r"tool.*user"):
        t.user("y", edit=result)
    several = [{"type": "tool_result", "tool_use_id": i, "content": "y"} for i in "ab"]
    with pytest.raises(EditError, match="2"):
        t.commit({"role": "user", "content": several}, edit=result)
    assert t.head == head


def test_a_mark_cannot_be_edited(t: Tract) -> None:
    mark = t.annotate(t.user("x"), Priority.PINNED)
    with pytest.raises(EditError, match=mark.commit_hash):
        t.user("y", edit=mark)
    with pytest.raises(InputError, match=mark.commit_hash):
        t.get_content(mark)


def test_a_commit_of_another_branch_cannot_be_edited(t: Tract) -> None:
    t.user("1")
    t.branch("side")
    other = t.user("2")
    t.checkout("side")
    head = t.head
    for attempt in (
        lambda: t.user("y", edit=other),
        lambda: t.annotate(other, "skip"),
        lambda: t.restore(other),
        lambda: t.edit_history(other),
    ):
        with pytest.raises(EditError, match=other.commit_hash):
            attempt()
    assert t.head == head


# Marks and restore


def test_skip_and_pin(t: Tract) -> None:
    t.user("1")
    call = t.assistant("look", tool_calls=[ToolCall("a", "f"), ToolCall("b", "f")])
    one, two = t.tool_result("b", "f", "b"), t.tool_result("a", "f", "a")
    t.annotate(one, Priority.SKIP)
    assert shown(t)[2:] == [SKIPPED, "a"]
    mark = t.annotate(call, "skip", message="noise")
    assert shown(t) == ["1"]
    assert (mark.operation, mark.message, mark.content_hash) == ("mark", "noise", None)
    assert [(m.target, m.kind, m.value) for m in mark.marks] == [
        (call.commit_hash, "priority", "skip")
    ]
    t.restore(mark)
    t.annotate(two, Priority.PINNED)
    with pytest.raises(EditError, match=two.commit_hash):
        t.annotate(call, Priority.SKIP)
    assert validate(t.compile().to_anthropic(), "anthropic") == []


def test_restore_undoes_one_change_or_all(t: Tract) -> None:
    first = t.user("1")
    edit = t.user("2", edit=first)
    skip = t.annotate(first, "skip")
    t.restore(skip)
    assert shown(t) == ["2"]
    undo = t.restore(edit)
    assert shown(t) == ["1"]
    t.restore(undo)
    assert shown(t) == ["2"]
    t.annotate(first, "skip")
    t.restore(first)
    assert shown(t) == ["1"]
    with pytest.raises(EditError, match="never changed"):
        t.restore(first)
    with pytest.raises(EditError, match=edit.commit_hash):
        t.restore(edit)


def test_restoring_nothing_writes_nothing(t: Tract) -> None:
    t.user("1")
    summaries = t.compress_tool_calls().summaries
    head = t.head
    assert summaries == []
    undo: CommitInfo | None = t.restore(*summaries)
    assert (undo, t.head) == (None, head)


def test_marks_act_downstream_only(t: Tract) -> None:
    first = t.user("1")
    t.branch("side")
    second = t.user("2")
    t.annotate(first, "skip")
    assert shown(t) == ["2"]
    assert shown(t, at=second) == ["1", "2"]
    assert shown(t, at="side") == ["1"]


# What metadata repeats


def test_calls_in_the_metadata_of_an_answer_are_calls(t: Tract) -> None:
    t.user("Hi")
    calls = [{"id": "call_1", "name": "grep", "arguments": {"q": "x"}}]
    info = t.assistant("", metadata={"tool_calls": calls, "mine": 1})
    assert info.metadata == {"tool_calls": calls, "mine": 1}
    assert t.get_message(info).tool_calls == (ToolCall("call_1", "grep", {"q": "x"}),)
    result = t.tool_result("call_1", "grep", "3: x")
    [turn] = t.find_tool_turns("grep")
    assert turn.all_hashes == [info.commit_hash, result.commit_hash]
    parent = t.head
    once = t.assistant("", tool_calls=calls)
    assert t.assistant("", metadata={"tool_calls": calls}, parent=parent) == once
    spelled = t.commit({"role": "assistant", "content": "So:"}, metadata={"tool_calls": calls})
    assert t.get_message(spelled).text == "So:"
    assert [call.name for call in t.get_message(spelled).tool_calls] == ["grep"]


@pytest.mark.parametrize("size", [1, 1_000, 10_000, 2_000_000])
def test_calls_in_metadata_have_their_arguments(t: Tract, size: int) -> None:
    arguments = {"text": "é" * size}
    info = t.assistant("I write.", tool_calls=[ToolCall("a", "w", arguments), ToolCall("b", "r")])
    calls = [{"id": "a", "name": "w", "arguments": {"text": "é" * size}}]
    calls.append({"id": "b", "name": "r", "arguments": {}})
    arguments["text"] = "changed by the caller"
    assert info.metadata == t.get_commit(info.commit_hash).metadata == {"tool_calls": calls}
    assert [next(t.log()), *t.find_tool_calls()] == [info, info]
    t.forget(info)
    assert t.get_commit(info.commit_hash).metadata == {
        "tool_calls": [{"id": "a", "name": "w"}, {"id": "b", "name": "r"}]
    }


def test_metadata_may_repeat_what_a_message_is(t: Tract) -> None:
    call = t.assistant("", tool_calls=[{"id": "a", "name": "ls", "arguments": "{}"}])
    again = t.assistant("", tool_calls=[ToolCall("a", "ls", "{}")], metadata=call.metadata)
    assert again.metadata == call.metadata
    result = t.tool_result("a", None, "src", metadata={"tool_call_id": "a", "name": "ls", "k": 1})
    assert (result.name, result.metadata) == ("ls", {"tool_call_id": "a", "name": "ls", "k": 1})
    edit = t.tool_result("a", "ls", "tests", edit=result, metadata=result.metadata)
    assert edit.metadata == result.metadata
    assert t.user("Hi", metadata={"name": "ann"}).metadata == {"name": "ann"}


def test_metadata_that_contradicts_its_message_is_refused(t: Tract) -> None:
    call: Any = {"tool_calls": [ToolCall("a", "ls", {})]}
    for key, value in (("tool_call_id", "b"), ("name", "cat"), ("name", 5)):
        with pytest.raises(InputError, match=f"metadata.*{key}"):
            t.tool_result("a", "ls", "src", metadata={key: value})
    for calls in ([{"id": "a", "name": "cat"}], [{"id": "a", "name": "ls", "arguments": 1}], []):
        with pytest.raises(InputError, match=r"metadata.*tool_calls"):
            t.assistant("", **call, metadata={"tool_calls": calls})
    with pytest.raises(InputError, match="tool_calls"):
        t.assistant("", metadata={"tool_calls": 5})
    t.llm = ScriptedLLM(["Hello."])
    with pytest.raises(InputError, match="tool_calls"):
        t.chat("Hi", metadata={"tool_calls": []})
    assert t.head is None


# Instructions


def test_an_instruction_in_force_is_not_repeated(db: str) -> None:
    with open_tract(db) as t:
        first, second = t.system("Be brief."), t.system("Speak French.")
        t.user("Hi")
    with open_tract(db) as t:  # the process starts again
        head = t.head
        assert (t.system("Be brief."), t.system("Speak French.")) == (first, second)
        assert (t.head, shown(t)) == (head, ["Be brief.", "Speak French.", "Hi"])
        blocks = t.system([{"type": "text", "text": "Blocks."}])
        assert t.system([{"type": "text", "text": "Blocks."}]) == blocks


def test_an_instruction_that_another_one_followed_is_repeated(t: Tract) -> None:
    t.system("Plan.")
    t.user("Hi")
    act = t.system("Act.")
    t.annotate(act, "pinned")
    assert t.system("Act.") == act
    t.system("Plan.")
    assert shown(t) == ["Plan.", "Hi", "Act.", "Plan."]


def test_an_instruction_that_is_not_in_the_view_is_repeated(t: Tract) -> None:
    first = t.system("Be brief.")
    t.user("Hi")
    t.annotate(first, "skip")
    t.system("Be brief.")
    assert shown(t) == ["Hi", "Be brief."]
    edited = t.system("Be long.", edit=t.compile().commit_hashes[-1])
    assert t.system("Be long.") == edited
    t.system("Be brief.")
    assert shown(t) == ["Hi", "Be long.", "Be brief."]


def test_an_instruction_that_says_more_is_written(t: Tract) -> None:
    first = t.system("Be brief.", tools=[tool("ls")], metadata={"by": "ann"})
    assert t.system("Be brief.") == first
    assert t.system("Be brief.", tools=[tool("ls")], metadata={"by": "ann"}) == first
    t.system("Be brief.", metadata={"by": "bob"})
    t.system("Be brief.", tools=[tool("cat")])
    second = t.system("Be brief.", parent=t.head)
    assert (shown(t), second.commit_hash) == (["Be brief."] * 4, t.head)


# Retry


def test_parent_makes_a_retry_safe(t: Tract) -> None:
    first = t.user("1", parent=ROOT)
    assert t.user("1", parent=ROOT) == first
    second = t.user("2", parent=first)
    assert t.user("2", parent=first.commit_hash[:12]) == second
    assert t.user("1", parent="") == first
    assert len(list(t.log())) == 2


def test_another_child_is_a_conflict(t: Tract) -> None:
    first = t.user("1", parent=ROOT)
    second = t.user("2", parent=first)
    for attempt in (
        lambda: t.user("other", parent=first),
        lambda: t.user("other", parent=ROOT),
        lambda: t.user("2", parent=first, message="remark"),
    ):
        with pytest.raises(ConflictError, match=second.commit_hash):
            attempt()
    assert shown(t) == ["1", "2"]


def test_a_retry_of_edits_and_of_several_results(t: Tract) -> None:
    call = t.assistant("", tool_calls=[ToolCall("a", "f"), ToolCall("b", "f")])
    content = [{"type": "tool_result", "tool_use_id": i, "content": i} for i in "ab"]
    results: Any = {"role": "user", "content": content}
    made = t.commit(results, parent=call)
    assert t.commit(results, parent=call) == made
    edit = t.tool_result("b", "f", "c", edit=made, parent=made)
    assert t.tool_result("b", "f", "c", edit=made, parent=made) == edit
    assert len(list(t.log())) == 4


def test_a_commit_that_another_branch_has_already(t: Tract) -> None:
    first = t.user("1")
    t.branch("side")
    second = t.user("2")
    t.checkout("side")
    again = t.user("2")
    assert again == second
    assert t.branches() == {"main": second.commit_hash, "side": second.commit_hash}
    assert t.get_commit(second).parent_hash == first.commit_hash
    assert t.fsck().commits == 2


# Log


def test_log_is_newest_first_and_complete(t: Tract) -> None:
    with t.batch():
        made = [t.user(f"{number}") for number in range(1100)]
    assert list(t.log()) == made[::-1]


def test_log_is_lazy_over_a_snapshot(t: Tract) -> None:
    with t.batch():
        made = [t.tool_result(f"{n}", "f", "long") for n in range(600)]
    seen = []
    for info in t.log():
        seen.append(info)
        if len(seen) % 100 == 0:
            t.tool_result(info.tool_call_id or "", "f", "short", edit=info)
    assert seen == made[::-1]
    assert shown(t).count("short") == 6


# Branches


def test_branch_creates_and_checkout_goes_there(t: Tract) -> None:
    first = t.user("1")
    t.branch("side")
    assert t.current_branch == "main"
    t.user("2")
    t.checkout("side")
    assert (t.current_branch, t.head) == ("side", first.commit_hash)
    t.user("3")
    assert shown(t) == ["1", "3"]
    assert shown(t, at="main") == ["1", "2"]
    t.branch("early", at=first)
    assert t.branches()["early"] == first.commit_hash


def test_an_old_commit_is_read_only_until_a_branch_is_named(t: Tract) -> None:
    first = t.user("1")
    t.user("2")
    t.checkout(first)
    assert (t.current_branch, t.head, shown(t)) == (None, first.commit_hash, ["1"])
    for attempt in (lambda: t.user("x"), lambda: t.annotate(first, "skip")):
        with pytest.raises(ConflictError, match=first.commit_hash):
            attempt()
    t.branch("here")
    assert t.current_branch == "here"
    t.user("3")
    assert shown(t) == ["1", "3"]
    assert shown(t, at="main") == ["1", "2"]


def test_where_one_was_is_remembered(db: str) -> None:
    with open_tract(db) as t:
        first = t.user("1")
        t.branch("side")
        t.checkout("side")
    with open_tract(db) as t:
        assert t.current_branch == "side"
        t.checkout(first)
    with open_tract(db) as t:
        assert (t.current_branch, t.head) == (None, first.commit_hash)


def test_deleting_a_branch_leaves_the_commits(t: Tract) -> None:
    t.user("1")
    t.branch("side")
    t.checkout("side")
    info = t.user("2")
    t.checkout("main")
    t.delete_branch("side")
    assert list(t.branches()) == ["main"]
    assert t.get_content(info) == "2"
    with pytest.raises(NotFoundError, match="side"):
        t.checkout("side")


def test_a_branch_that_somebody_else_deleted(db: str) -> None:
    with open_tract(db) as one, open_tract(db) as other:
        one.user("1")
        other.user("2")
        one.branch("side")
        other.checkout("side")
        one.checkout("main")
        one.delete_branch("side")
        with pytest.raises(BranchNotFoundError, match="side"):
            other.user("3")
        other.checkout("main")
        other.user("3")
        assert shown(other) == ["1", "2", "3"]


# Batches


def test_a_batch_is_all_or_nothing(t: Tract) -> None:
    t.user("before")
    with suppress(InputError), t.batch():
        t.user("1")
        t.branch("side")
        t.checkout("side")
        t.user(None)  # type: ignore[arg-type]
    assert_untouched(t)


def test_a_first_batch_that_fails_leaves_no_dialog(t: Tract) -> None:
    with suppress(RuntimeError), t.batch():
        t.user("1")
        raise RuntimeError
    assert (t.head, t.dialogs()) == (None, [])
    assert t.user("2").parent_hash is None


def test_batches_can_be_nested(t: Tract) -> None:
    with t.batch():
        t.user("1")
        with t.batch():
            t.user("2")
            assert shown(t) == ["1", "2"]
        with suppress(RuntimeError), t.batch():
            t.user("lost")
            assert shown(t) == ["1", "2", "lost"]
            raise RuntimeError
        assert shown(t) == ["1", "2"]
        t.user("3")
    assert shown(t) == ["1", "2", "3"]
    assert t.fsck().ok


def test_a_failing_commit_in_a_batch_can_be_caught(t: Tract) -> None:
    with t.batch():
        first = t.user("1")
        with pytest.raises(RoleError):
            t.assistant("x", edit=first)
        with pytest.raises(ConflictError):
            t.user("x", parent=ROOT)
        t.user("2")
    assert shown(t) == ["1", "2"]


def test_a_batch_sees_its_own_branches(t: Tract) -> None:
    """However it asks: the branches are written when it ends."""
    with t.batch():
        first = t.user("1")
        assert t.branches() == {"main": first.commit_hash}
        t.branch("side")
        t.checkout("side")
        second = t.user("2")
        t.checkout("main")
        assert t.head == first.commit_hash
        with suppress(RuntimeError), t.batch():
            t.user("lost")
            t.branches()
            raise RuntimeError
        third = t.user("3")
        assert t.branches() == {"main": third.commit_hash, "side": second.commit_hash}
        t.delete_branch("side")
    assert (shown(t), t.branches()) == (["1", "3"], {"main": third.commit_hash})
    assert t.fsck().ok


def test_a_batch_sees_its_own_settings(t: Tract) -> None:
    with t.batch():
        t.user("go")
        t.configure_results(inline_tokens=10)
        t.tool_result("c", "f", "word " * 500)
        assert t.list_tool_results()[0].form == "reference"


def test_a_batch_is_not_seen_by_others_before_it_ends(db: str) -> None:
    with open_tract(db) as one, open_tract(db) as other:
        one.user("1")
        with one.batch():
            one.user("2")
            assert shown(other) == ["1"]
        assert shown(other) == ["1", "2"]


# Others


@pytest.mark.database
def test_another_process_appends_in_between(db: str) -> None:
    code = "import sys, tract; tract.Tract.open(sys.argv[1]).user(sys.argv[2])"
    with open_tract(db) as t:
        first = t.user("1")
        t.compile()
        subprocess.run([sys.executable, "-c", code, db, "2"], check=True)
        t.user("3")
        assert shown(t) == ["1", "2", "3"]
        with pytest.raises(ConflictError, match=str(t.head)):
            t.user("4", parent=first)


def test_record_on_both_databases(db: str) -> None:
    history: list[Message | dict[str, Any]] = [
        {"role": "user", "content": "go"},
        Message("assistant", (ToolCall("a", "f", {"x": 1}),)),
    ]
    with open_tract(db) as t:
        assert len(t.record(history)) == 2
        assert t.record(history) == []
        assert len(t.record([*history, Message("tool", "y", "a")])) == 1
        assert len(t.record([history[0], Message("user", "else")])) == 1
        assert t.current_branch == "main-2"
        with pytest.raises(InputError):
            t.record([Message("user", "third"), {"role": "robot"}])
        assert list(t.branches()) == ["main", "main-2"]
    with open_tract(db) as t:
        assert t.current_branch == "main-2"


def test_a_record_that_fails_leaves_no_branch(t: Tract) -> None:
    t.record([Message("user", "1")])
    with pytest.raises(InputError):
        t.record([Message("user", "2"), Message("user", 5)])
    assert (t.current_branch, list(t.branches())) == ("main", ["main"])


def test_an_open_call_is_closed_in_the_dump_only(t: Tract) -> None:
    t.user("x", tools=[tool("f")])
    t.assistant("", tool_calls=[ToolCall("a", "f")])
    context = t.compile()
    assert len(context.messages) == 2
    assert NO_RESULT in json.dumps(context.to_openai())
    assert context.notes == ["call 'a' of f has no result"]
    t.tool_result("a", "f", "y")
    assert NO_RESULT not in json.dumps(t.compile().to_openai())
    assert t.compile().notes == []


def test_infos_are_plain_values(t: Tract) -> None:
    info = t.user("x")
    assert isinstance(info, CommitInfo)
    assert info == t.get_commit(info) == next(t.log())
    with pytest.raises(AttributeError):
        info.role = "system"  # type: ignore[misc]


def test_looking_at_commits_loads_no_content(t: Tract) -> None:
    """A forgotten content cannot be loaded, and nothing here asks for it."""
    info = t.tool_result("a", "f", "x" * 10_000)
    forgotten = t.forget(info).commit
    assert forgotten is not None
    assert next(t.log()) == t.get_commit(info) == forgotten
    assert (forgotten.byte_size, forgotten.commit_hash) == (info.byte_size, info.commit_hash)


def test_the_model_given_at_opening_is_kept() -> None:
    llm = ScriptedLLM([])
    with Tract.open(llm=llm) as t:
        assert t.llm is llm


def test_recorders_at_the_same_moment_record_a_history_once(db: str) -> None:
    history = [{"role": "user", "content": f"message {n}"} for n in range(5)]

    def record() -> None:
        with open_tract(db) as t:
            for size in range(1, 6):
                t.record(history[:size])

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_tract(db) as t:
        assert list(t.branches()) == ["main"]
        assert [m.content for m in t.compile().messages] == [m["content"] for m in history]


def test_a_dialog_that_was_made_again_is_read_again(db: str) -> None:
    with open_tract(db) as t, open_tract(db) as admin:
        t.user("hello")
        large = "x" * 10_000
        t.user(large)
        t.compile()
        admin.delete_dialog("default")
        with open_tract(db, dialog="other") as other:
            other.user("something else, so that keys move")
        admin.user("hello")
        admin.user(large)
        assert [m.content for m in t.compile().messages] == ["hello", large]


def test_a_message_of_many_results(t: Tract, db: str) -> None:
    count = 300 if is_postgres(db) else 2_000
    blocks = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "x"} for n in range(count)]
    info = t.commit({"role": "user", "content": blocks}, parent=ROOT)
    assert info.tool_call_id == f"c{count - 1}"
    assert len(list(t.log())) == count


def test_an_edit_inherits_the_call_that_it_answers(t: Tract) -> None:
    t.assistant(tool_calls=[{"id": "c", "name": "run", "arguments": {}}])
    result = t.tool_result("c", "run", "long", is_error=True)
    t.commit({"role": "tool", "content": "short"}, edit=result)
    message = t.compile().messages[-1]
    assert (message.tool_call_id, message.name, message.content) == ("c", "run", "short")
    assert message.is_error


def test_an_answer_without_a_text_and_a_response_with_calls_beside_it(t: Tract) -> None:
    t.assistant(None, tool_calls=[{"id": "c", "name": "run", "arguments": {}}])
    assert [call.name for call in t.compile().messages[0].tool_calls] == ["run"]
    with pytest.raises(InputError, match="alone"):
        t.assistant({"role": "assistant", "content": "x"}, tool_calls=[])


def test_work_on_a_branch_that_somebody_deleted_can_be_named(db: str) -> None:
    with open_tract(db) as t, open_tract(db) as other:
        t.user("one")
        t.branch("x")
        t.checkout("x")
        info = t.user("two")
        other.checkout("main")
        other.delete_branch("x")
        with pytest.raises(BranchNotFoundError, match="x"):
            t.user("three")
        t.branch("rescued", at=info)
        t.checkout("rescued")
        assert [m.content for m in t.compile().messages] == ["one", "two"]


@pytest.mark.parametrize("name", ["", " ", "-d", "HEAD", "a\nb", "x" * 201, 5])
def test_names_that_nobody_could_use(t: Tract, name: Any) -> None:
    t.user("one")
    with pytest.raises(InputError):
        t.branch(name)


def test_notes_of_any_length_are_not_kept_in_memory(t: Tract) -> None:
    tracemalloc.start()
    for n in range(16):
        t.user("x", message=f"{n % 10}" * 1_000_000)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 8_000_000  # a server in this process has the last request and its answer


def test_a_result_without_a_name_gets_that_of_its_call(t: Tract) -> None:
    for turn in ("grep", "read"):
        call: dict[str, Any] = {"type": "tool_use", "id": "same", "name": turn, "input": {}}
        t.commit({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": "same", "content": "x"}
        assert t.commit({"role": "user", "content": [result]}).name == turn
    assert t.tool_result("nobody", None, "x").name is None
    sent = t.compile().to_openai()
    assert all("name" not in message for message in sent if message["role"] == "tool")
