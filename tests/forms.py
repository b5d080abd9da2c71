"""Random histories with results in random forms."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.strategies import ANTHROPIC_BLOCKS, arguments, call_ids, histories, names, said
from tract import CompiledContext, Form, Message, Raw, Shape, Text, ToolCall

IMAGE, THOUGHT = ANTHROPIC_BLOCKS[0], ANTHROPIC_BLOCKS[2]
more_ids = call_ids | st.sampled_from(["a", "a#2", "result-000000000000"])
long_texts = st.builds(
    lambda line, count, end: line * count + end,
    st.sampled_from(["word\n", "é😀", "x", '{"k": 1}\n', "ERROR a.py:3: it broke\n"]),
    st.integers(0, 700),
    said,
)
contents = long_texts | st.sampled_from(
    [
        "",
        None,
        {"error": "it broke"},
        [1, {"a": "b" * 900}],
        [{"type": "text", "text": "t" * 900}, IMAGE],
        [IMAGE],
    ]
)
made_calls = st.lists(st.builds(ToolCall, more_ids, names, arguments), min_size=1, max_size=3)


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """Calls with their results, some of which are split, late, doubled or missing."""
    calls = draw(made_calls)
    around: list[Any] = [Text(draw(said))] if draw(st.booleans()) else []
    thoughts = [Raw("anthropic", THOUGHT)] if draw(st.booleans()) else []
    out = [Message("assistant", (*thoughts, *around, *calls))]
    for call in draw(st.permutations(calls)):
        name = draw(st.none() | st.just(call.name))
        answer = Message("tool", draw(contents), call.id, name, draw(st.booleans()))
        out += draw(
            st.sampled_from([[answer], [answer], [answer], [], [Message("user", "late"), answer]])
        )
    if draw(st.booleans()):
        out.append(Message("user", (Text(draw(said)), Raw("anthropic", IMAGE))))
    return out


dialogs = st.builds(
    lambda parts, start: [Message("user", start), *(m for part in parts for m in part)],
    st.lists(turns() | histories.map(lambda found: found[:3]), min_size=1, max_size=4),
    said,
)
shapes = st.sampled_from([*Form, Form.COLLAPSED, Form.COLLAPSED]).map(Shape) | st.sampled_from(
    [Shape(Form.TRUNCATED, 10), Shape(Form.REFERENCE, 5), Shape(Form.SUMMARY, text="in short")]
)


def requests(context: CompiledContext) -> list[Any]:
    return [context.to_openai_params(), context.to_anthropic_params(), context.to_responses()]
