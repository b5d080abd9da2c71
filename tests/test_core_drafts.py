"""What is to be written: found wrong before anything is written, without a database."""

from __future__ import annotations

from typing import Any

import pytest

from tests.strategies import ChainBuilder
from tract.core import drafts
from tract.core.chain import Chain, Place
from tract.core.drafts import Details, answer, edit_target, prioritize, undo
from tract.errors import EditError, InputError, NotJsonError, RoleError, TractError
from tract.hashing import from_json
from tract.model import CommitOperation, Message, Priority, Text, ToolCall
from tract.tokens import token_counter

TOKENS = token_counter("chars/4")
NOTHING = Details()


def append(message: Message, about: Details = NOTHING) -> Any:
    return drafts.append(message, about, TOKENS)


def place_of(answers: str | None = None) -> Place:
    build = ChainBuilder()
    build.append(answers=answers)
    return Chain(build.steps).places[0]


def edit(old: Message, new: Message) -> Message:
    draft = drafts.edit(place_of(answers=old.tool_call_id), old, new, NOTHING, TOKENS)
    assert draft.operation == CommitOperation.EDIT
    assert draft.message is not None
    return draft.message


def test_a_draft_holds_the_bytes_that_are_stored() -> None:
    draft = append(Message("user", "é"))
    assert (draft.operation, draft.payload, draft.links) == ("append", b'"\\u00e9"', ())


@pytest.mark.parametrize("role", ["robot", "", "USER", None, 5, ["user"], {"a": 1}])
def test_unknown_roles_are_refused(role: Any) -> None:
    with pytest.raises(RoleError, match="role"):
        append(Message(role, "x"))


def test_only_a_tool_message_answers_a_call() -> None:
    with pytest.raises(RoleError, match="tool_call_id"):
        append(Message("tool", "x"))
    with pytest.raises(RoleError, match="tool_call_id"):
        append(Message("user", "x", tool_call_id="a"))
    append(Message("tool", "x", tool_call_id=""))


BAD_MESSAGES: dict[str, Any] = {
    "a number for a text": Message("user", 5),
    "nothing for a text": Message("assistant", None),
    "a dict for a text": Message("system", {"a": 1}),
    "a list for a text": Message("user", ["a"]),
    "strings for blocks": Message("user", ("a", "b")),
    "numbers for blocks": Message("user", (1,)),
    "dicts for blocks": Message("user", ({"type": "text", "text": "x"},)),
    "a block whose text is a number": Message("user", (Text(5),)),  # type: ignore[arg-type]
    "a call by the user": Message("user", (ToolCall("1", "f", {}),)),
    "a call id that is a number": Message("assistant", (ToolCall(5, "f", {}),)),  # type: ignore[arg-type]
    "a call without a name": Message("assistant", (ToolCall("1", None, {}),)),  # type: ignore[arg-type]
    "a result id that is a number": Message("tool", "x", 5),  # type: ignore[arg-type]
    "a name that is a number": Message("tool", "x", "a", 5),  # type: ignore[arg-type]
    "an origin that is a text": Message("user", "x", origin="anthropic"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD_MESSAGES)
def test_bad_messages_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        append(BAD_MESSAGES[name])


@pytest.mark.parametrize("content", [(1, 2), ("a",), ({"k": "v"},), (Text("x"),), ()])
def test_a_tuple_from_a_tool_is_its_list_or_refused(content: Any) -> None:
    """A tuple is a list to every JSON encoder. It must not be taken for blocks and lost."""
    try:
        draft = append(Message("tool", content, "a"))
    except TractError:
        return
    if all(not isinstance(item, Text) for item in content):
        assert from_json(draft.payload) == list(content)


@pytest.mark.parametrize(
    "about",
    [
        Details(note=5),  # type: ignore[arg-type]
        Details(metadata="x"),  # type: ignore[arg-type]
        Details(metadata=[1]),  # type: ignore[arg-type]
        Details(metadata={"a": {1}}),
        Details(generation_config=5),  # type: ignore[arg-type]
        Details(usage={"a": float("nan")}),
    ],
)
def test_bad_remarks_are_refused(about: Details) -> None:
    with pytest.raises(InputError):
        append(Message("user", "x"), about)


def test_an_origin_must_be_json() -> None:
    with pytest.raises(NotJsonError):
        append(Message("user", "x", origin={"p": {"k": {1, 2}}}))


def test_an_edit_keeps_id_name_and_error() -> None:
    old = Message("tool", "long", "a", "grep", is_error=True)
    assert edit(old, Message("tool", "short", "a")) == Message("tool", "short", "a", "grep", True)


def test_an_edit_may_say_that_it_failed() -> None:
    old = Message("tool", "x", "a", "grep")
    assert edit(old, Message("tool", "x", "a", is_error=True)).is_error


def test_an_edited_answer_keeps_its_calls() -> None:
    old = Message("assistant", (Text("long"), ToolCall("1", "f", {"a": 1})))
    assert edit(old, Message("assistant", "short")).content == (
        Text("short"),
        ToolCall("1", "f", {"a": 1}),
    )


def test_an_edit_may_say_other_calls() -> None:
    old = Message("assistant", (ToolCall("1", "f", {}),))
    new = Message("assistant", (Text("x"), ToolCall("2", "g", {})))
    assert edit(old, new) == new


@pytest.mark.parametrize(
    ("old", "new", "error", "fact"),
    [
        (Message("user", "x"), Message("assistant", "x"), RoleError, "user.*assistant"),
        (Message("tool", "x", "a"), Message("user", "x"), RoleError, "tool.*user"),
        (Message("tool", "x", "a"), Message("tool", "x", "b"), EditError, "'a'.*'b'"),
        (Message("tool", "x", "a", "f"), Message("tool", "x", "a", "g"), EditError, "'f'.*'g'"),
    ],
)
def test_an_edit_cannot_become_something_else(
    old: Message, new: Message, error: type[Exception], fact: str
) -> None:
    with pytest.raises(error, match=fact):
        edit(old, new)


@pytest.mark.parametrize("priority", list(Priority))
def test_priorities_by_name_or_value(priority: Priority) -> None:
    for given in (priority, priority.value):
        (link,) = prioritize([place_of()], given, NOTHING).links
        assert (link.kind, link.value) == ("priority", priority.value)


@pytest.mark.parametrize("priority", ["SKIP", "", None, 0, ["skip"]])
def test_unknown_priorities_are_refused(priority: Any) -> None:
    with pytest.raises(InputError, match="skip, normal, pinned"):
        prioritize([place_of()], priority, NOTHING)


def test_a_pinned_result_keeps_its_call_from_being_skipped() -> None:
    build = ChainBuilder()
    call = build.append(calls=("a",))
    result = build.append(answers="a")
    build.mark(result, "pinned")
    chain = Chain(build.steps)
    assert result.hash is not None
    with pytest.raises(EditError, match=result.hash.hex()):
        prioritize([chain.place(call)], "skip", NOTHING)
    assert prioritize([chain.place(result)], "skip", NOTHING).links


def test_an_undo_voids_each_change() -> None:
    build = ChainBuilder()
    first = build.append()
    build.edit(first)
    build.mark(first, "skip")
    draft = undo(Chain(build.steps).changes([first]), Details("why"))
    assert [(link.kind, link.target_id) for link in draft.links] == [("void", 2), ("void", 3)]
    assert (draft.operation, draft.note, draft.payload) == ("mark", "why", None)


def test_an_answer_is_a_text_or_blocks() -> None:
    call = ToolCall("1", "f", {})
    assert answer("x", None) == Message("assistant", "x")
    assert answer("x", [call]).content == (Text("x"), call)
    assert answer("", [call]).content == (call,)


def test_the_two_ways_to_say_edit() -> None:
    edit, append = CommitOperation.EDIT, CommitOperation.APPEND
    assert edit_target(append, None, None) is None
    assert edit_target(append, "h", None) == "h"
    assert edit_target(edit, None, "h") == edit_target("edit", "h", None) == "h"
    with pytest.raises(EditError, match="edit="):
        edit_target(edit, None, None)
    with pytest.raises(EditError, match="response_to"):
        edit_target(append, None, "h")


@pytest.mark.parametrize("operation", ["mark", "compress", "nonsense", None, 5, ["edit"]])
def test_other_operations_are_refused(operation: Any) -> None:
    with pytest.raises(InputError):
        edit_target(operation, None, None)
