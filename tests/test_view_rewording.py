"""Editing one block of a message: everything else of it stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import PICTURES, THOUGHTS, arguments, call_ids, json_values, names, texts
from tests.tui import REQUEST, recorded
from tract import Tract
from tract.errors import InputError
from tract.model import Message, Raw, Text, ToolCall
from tract.view.blocks import TextBlock, ToolResultBlock, ToolUseBlock, ViewBlock
from tract.view.conversation import Conversation
from tract.view.rewording import text_to_edit, with_new_text

SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
HITS = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "hit"}]}
HOSTED = [Raw("anthropic", SEARCH), Raw("anthropic", HITS)]
TWO_TEXTS = Message(
    "assistant", (Text("one"), ToolCall("a", "Read", {"p": 1}), Text("two"), Text("one"))
)


def blocks_of(message: Message) -> list[ViewBlock]:
    """The blocks that people see of a message."""
    with Tract.open(":memory:", tokens="chars/4") as tract:
        if message.role == "tool":
            call: dict[str, Any] = {"id": message.tool_call_id, "name": "Read", "arguments": {}}
            tract.assistant("", tool_calls=[call])
        tract.commit(message)
        conversation = Conversation(tract.read())
        return conversation.blocks(len(conversation.rows) - 1, sent=False)


def rewritten(message: Message, number: int, text: str) -> Message:
    """A message of which the block with this number was edited."""
    blocks = blocks_of(message)
    return with_new_text(message, blocks[number], blocks, text)


def editable(message: Message) -> list[str | None]:
    """What is edited of each block; None where nothing can be."""
    blocks = blocks_of(message)
    return [_text(message, block, blocks) for block in blocks]


def _text(message: Message, block: ViewBlock, blocks: list[ViewBlock]) -> str | None:
    try:
        return text_to_edit(message, block, blocks)
    except InputError:
        with pytest.raises(InputError, match="cannot be edited"):
            with_new_text(message, block, blocks, "{}")
        return None


def test_a_text_a_call_and_a_result_can_be_edited() -> None:
    assert rewritten(Message("user", "old"), 0, "new") == Message("user", "new")
    assert rewritten(TWO_TEXTS, 2, "new").blocks[2] == Text("new")
    assert rewritten(TWO_TEXTS, 1, '{"p": 2}').tool_calls[0].arguments == {"p": 2}
    result = Message("tool", "old", "a", "Read", True)
    assert rewritten(result, 0, "new") == Message("tool", "new", "a", "Read", True)


def test_of_two_equal_texts_the_chosen_one_is_edited() -> None:
    changed = rewritten(TWO_TEXTS, 3, "new")
    assert [part.text for part in changed.blocks if isinstance(part, Text)] == ["one", "two", "new"]


def test_what_was_json_stays_json() -> None:
    result = Message("tool", {"a": [1, 2]}, "a", "Read")
    assert rewritten(result, 0, '{"a": []}').content == {"a": []}
    for message, number in ((result, 0), (TWO_TEXTS, 1)):
        for text in ("plain", "", "{", "[" * 100_000, "1" * 5000):
            with pytest.raises(InputError, match="not valid JSON"):
                rewritten(message, number, text)


def test_a_number_that_json_does_not_have_is_refused() -> None:
    for text in ("NaN", "[Infinity]", '{"a": -Infinity}'):
        for message, number in ((Message("tool", [1], "a", "Read"), 0), (TWO_TEXTS, 1)):
            with pytest.raises(InputError, match="not valid JSON"):
                rewritten(message, number, text)


def test_arguments_that_came_as_text_stay_text() -> None:
    broken = Message("assistant", (ToolCall("a", "Read", '{"p": 1'),))
    assert rewritten(broken, 0, '{"p": 1}').tool_calls[0].arguments == '{"p": 1}'
    whole = Message("assistant", (ToolCall("a", "Read", '{"p": 1}'),))
    assert rewritten(whole, 0, '{"p":2}').tool_calls[0].arguments == '{"p":2}'
    with pytest.raises(InputError, match="not valid JSON"):
        rewritten(whole, 0, '{"p": 1')


def test_what_is_edited_is_what_is_there() -> None:
    assert editable(TWO_TEXTS) == ["one", '{\n  "p": 1\n}', "two", "one"]


def test_thoughts_cannot_be_edited() -> None:
    with recorded() as tract:
        conversation = Conversation(tract.read())
        place = conversation.history.places[2]
        blocks = conversation.blocks(conversation.rows.index(place), sent=False)
        message = conversation.history.whole(place)
        assert _text(message, blocks[0], blocks) is None
    assert REQUEST["messages"][1]["content"][0]["type"] == "thinking"


def test_what_the_provider_ran_cannot_be_edited_and_is_not_taken_for_anything_else() -> None:
    message = Message("assistant", (*HOSTED, Text("so"), ToolCall("a", "Read", {"p": 1})))
    kinds = [type(block) for block in blocks_of(message)]
    assert kinds == [ToolUseBlock, ToolResultBlock, TextBlock, ToolUseBlock]
    assert editable(message) == [None, None, "so", '{\n  "p": 1\n}']
    assert rewritten(message, 3, "{}").tool_calls[0].arguments == {}


def test_what_is_said_beside_the_content_cannot_be_edited() -> None:
    origin: dict[str, Any] = {"openai": {"refusal": "I will not."}}
    message = Message("assistant", "Something else.", origin=origin)
    assert [getattr(block, "text", "") for block in blocks_of(message)] == [
        "I will not.",
        "Something else.",
    ]
    assert editable(message) == [None, "Something else."]
    assert rewritten(message, 1, "new").content == "new"


def test_a_result_with_pictures_cannot_be_edited() -> None:
    text = {"type": "text", "text": "t"}
    for content in ([text, PICTURES[0].data], [PICTURES[0].data], [text, text]):
        assert editable(Message("tool", content, "a", "Read")) == [None]
    edited = rewritten(Message("tool", [{**text, "x": 1}], "a", "Read"), 0, "new")
    assert edited.content == [{"type": "text", "text": "new", "x": 1}]


messages = st.one_of(
    st.builds(Message, st.sampled_from(["user", "system", "assistant"]), texts),
    st.lists(
        st.builds(Text, texts)
        | st.builds(ToolCall, call_ids, names, arguments)
        | st.sampled_from([*THOUGHTS, *PICTURES, *HOSTED]),
        max_size=5,
    ).map(lambda parts: Message("assistant", tuple(parts))),
    st.builds(Message, st.just("tool"), texts | json_values, st.just("a"), st.just("Read")),
)


@given(messages)
def test_editing_nothing_changes_nothing(message: Message) -> None:
    blocks = blocks_of(message)
    for number, text in enumerate(editable(message)):
        if text:  # an empty text may be of arguments, which are JSON, or of no content
            assert with_new_text(message, blocks[number], blocks, text) == message


@given(messages)
def test_an_edit_changes_one_block(message: Message) -> None:
    blocks = blocks_of(message)
    for number, text in enumerate(editable(message)):
        if text is None:
            continue
        edited = with_new_text(message, blocks[number], blocks, '{"edited": true}')
        before, after = editable(message), editable(edited)
        assert "edited" in str(after[number])
        assert (before[:number], before[number + 1 :]) == (after[:number], after[number + 1 :])
