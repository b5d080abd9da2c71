"""Answers without the thoughts that came with them."""

from __future__ import annotations

from tract import Message, ToolCall
from tract.model import Raw, Text
from tract.providers.responses_items import ITEM
from tract.providers.thoughts import without_thoughts

THOUGHT = Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "s"})
IMAGE = Raw("anthropic", {"type": "image", "source": {}})


def test_everything_but_thoughts_stays() -> None:
    call = ToolCall("c", "ls")
    answer = Message("assistant", (THOUGHT, Text("Let me see"), IMAGE, call))
    assert without_thoughts(answer) == Message("assistant", (Text("Let me see"), IMAGE, call))


def test_an_answer_without_thoughts_is_itself() -> None:
    answer = Message("assistant", (Text("Let me see"), IMAGE))
    assert without_thoughts(answer) is answer


def test_the_id_by_which_a_provider_expects_a_thought_goes_with_it() -> None:
    text = Text("Done", {ITEM: {"type": "message", "id": "msg_1"}})
    answer = Message("assistant", (THOUGHT, text))
    assert without_thoughts(answer).blocks == (Text("Done", {ITEM: {"type": "message"}}),)
