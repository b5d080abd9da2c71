"""Which messages of a growing file replace those that were read before it was complete."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tract.core.growth import is_earlier, is_superseded
from tract.model import Block, Message, Raw, Text, ToolCall

CALL = ToolCall("c", "ls", {"path": "."})
RESULT = Message("tool", "a.py", "c", "ls")

texts = st.text(max_size=3)
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, texts),
    st.builds(ToolCall, texts, texts, st.dictionaries(texts, texts, max_size=1)),
    st.builds(Raw, texts, texts),
)
answers = st.lists(blocks, min_size=1, max_size=4).map(
    lambda some: Message("assistant", tuple(some))
)
prompts = texts.map(lambda text: Message("user", text))
results = st.builds(lambda text, call: Message("tool", text, call), texts, texts)
histories = st.lists(st.one_of(answers, prompts, results), max_size=6)


@given(answers, st.data())
def test_an_answer_is_earlier_than_one_with_more_blocks(
    answer: Message, data: st.DataObject
) -> None:
    end = data.draw(st.integers(1, len(answer.blocks)))
    assert is_earlier(Message("assistant", answer.blocks[:end]), answer)


@given(histories, st.data())
def test_the_beginning_of_a_history_is_superseded(
    history: list[Message], data: st.DataObject
) -> None:
    old = history[: data.draw(st.integers(0, len(history)))]
    if old and old[-1].role == "assistant":
        old[-1] = Message("assistant", old[-1].blocks[:1])
    assert is_superseded(old, history)


def test_what_a_provider_keeps_beside_a_block_may_come_later() -> None:
    new = Message("assistant", (Text("hi", {"anthropic": {"citations": []}}), CALL))
    assert is_earlier(Message("assistant", "hi"), new)


def test_only_answers_grow() -> None:
    assert not is_earlier(Message("user", (Text("a"),)), Message("user", (Text("a"), Text("b"))))
    assert not is_earlier(RESULT, Message("tool", "a.py\nb.py", "c", "ls"))
    assert not is_earlier(RESULT, Message("tool", "a.py", "d", "ls"))
    assert not is_earlier(Message("user", "a"), Message("assistant", "a"))


def test_results_may_stand_between_the_blocks_of_an_answer() -> None:
    first, more = Message("assistant", (CALL,)), Message("assistant", (CALL, CALL))
    assert is_superseded([first, RESULT], [more, RESULT, Message("tool", "b", "d")])


def test_what_the_file_no_longer_has_is_not_superseded() -> None:
    question, answer = Message("user", "a"), Message("assistant", "b")
    assert not is_superseded([question, answer], [question, Message("assistant", "c")])
    assert not is_superseded([answer], [question, answer])
    assert not is_superseded([answer, question], [answer])
    assert not is_superseded([question], [])


def test_a_prompt_may_be_sent_with_notes_or_with_another_one() -> None:
    sent = Message("user", (Text("<note>"), Text("look"), Text("here")))
    answer = Message("assistant", "yes")
    assert is_superseded([Message("user", "look")], [sent, answer])
    assert is_superseded([Message("user", "look"), Message("user", "here")], [sent, answer])
    assert not is_superseded([Message("user", "look"), Message("user", "there")], [sent, answer])
    assert not is_superseded([Message("user", "a"), Message("user", "a")], [Message("user", "a")])
    assert not is_superseded([Message("user", "")], [sent])
