"""Messages of pydantic-ai in a dialog, and out of it again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import messages as its
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.usage import RequestUsage

from tract import InputError, Tract
from tract.integrations.pydantic_ai import load_messages, record_messages
from tract.integrations.pydantic_messages import FRAMES

LONG = "some words of a long text, which the frame does not have " * 3
TIME = datetime(2026, 11, 18, 5, 4, 3, 210, UTC)
IMAGE = bytes(range(256)) * 4

names = st.sampled_from(["read", "write", "ls"])
ids = st.sampled_from(["c1", "c2", "c3"])
texts = st.one_of(st.sampled_from(["", "short", LONG, LONG + "!"]), st.text(max_size=80))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.just(1.0), texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
facts = st.one_of(st.none(), st.dictionaries(st.text(max_size=5), values, max_size=2))
times = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
urls = st.sampled_from(["https://example.com/a.png", "https://example.com/" + "a" * 60 + ".png"])
files = st.one_of(
    st.builds(its.ImageUrl, urls),
    st.builds(its.BinaryContent, st.just(IMAGE), media_type=st.sampled_from(["image/png", "a/b"])),
)
outcomes = st.sampled_from(["success", "failed", "denied", "interrupted", "retried"])
returned = {
    "tool_name": names,
    "content": st.one_of(values, st.lists(st.one_of(texts, files), min_size=1, max_size=2)),
    "tool_call_id": ids,
    "metadata": facts,
    "timestamp": times,
    "outcome": outcomes,
}
request_parts: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        its.SystemPromptPart, texts, timestamp=times, dynamic_ref=st.sampled_from([None, "f"])
    ),
    st.builds(
        its.UserPromptPart,
        st.one_of(texts, st.lists(st.one_of(texts, files, st.builds(its.CachePoint)), max_size=3)),
        timestamp=times,
    ),
    st.builds(its.ToolReturnPart, **returned),
    st.builds(
        its.RetryFeedbackPart,
        content=texts,
        timestamp=times,
        retry=st.just(its.RetryInfo("no_output", attempt=1)),
    ),
)
response_parts: st.SearchStrategy[Any] = st.one_of(
    st.builds(its.TextPart, texts, id=st.sampled_from([None, "msg_1"]), provider_details=facts),
    st.builds(
        its.ThinkingPart,
        texts,
        signature=st.one_of(st.none(), texts),
        provider_name=st.sampled_from([None, "anthropic", "openai"]),
        provider_details=facts,
    ),
    st.builds(
        its.ToolCallPart,
        names,
        st.one_of(st.none(), st.just('{"path": "x"}'), st.just({"path": LONG})),
        ids,
        id=st.sampled_from([None, "fc_1"]),
        provider_details=facts,
    ),
    st.builds(its.NativeToolCallPart, names, st.just({"query": LONG}), ids),
    st.builds(its.NativeToolReturnPart, names, values, ids, timestamp=times),
    st.builds(
        its.FilePart, st.builds(its.BinaryImage, st.just(IMAGE), media_type=st.just("image/png"))
    ),
)
requests = st.builds(
    its.ModelRequest,
    st.lists(request_parts, max_size=4),
    timestamp=st.one_of(st.none(), times),
    instructions=st.one_of(st.none(), texts),
    run_id=st.sampled_from([None, "r1"]),
    conversation_id=st.sampled_from([None, "v1"]),
    metadata=facts,
    state=st.sampled_from(["complete", "interrupted"]),
)
responses = st.builds(
    its.ModelResponse,
    st.lists(response_parts, max_size=4),
    usage=st.builds(
        RequestUsage, input_tokens=st.integers(0, 9), details=st.just({"reasoning_tokens": 3})
    ),
    model_name=st.sampled_from([None, "gpt-5"]),
    timestamp=times,
    provider_name=st.sampled_from([None, "openai"]),
    provider_details=facts,
    provider_response_id=st.sampled_from([None, "resp_1"]),
    finish_reason=st.sampled_from([None, "stop", "tool_call"]),
    metadata=facts,
)
histories = st.lists(st.one_of(requests, responses), max_size=6)


def as_json(messages: list[ModelMessage]) -> str:
    return ModelMessagesTypeAdapter.dump_json(messages, indent=1).decode()


@settings(max_examples=300)
@given(histories, st.integers(0, 6))
def test_messages_come_back_as_they_were(messages: list[ModelMessage], cut: int) -> None:
    known = ModelMessagesTypeAdapter.validate_json(as_json(messages))
    with Tract.open() as t:
        record_messages(t, known[:cut])
        record_messages(t, known)
        record_messages(t, as_json(messages))
        assert as_json(load_messages(t)) == as_json(known)
        assert t.fsck().ok


def contents(message: ModelMessage) -> list[Any]:
    return [getattr(part, "content", None) for part in message.parts]


def exchange(text: str = LONG) -> list[ModelMessage]:
    return [
        its.ModelRequest([its.UserPromptPart("look", timestamp=TIME)], instructions="Be brief."),
        its.ModelResponse([its.ToolCallPart("read", {"path": "a"}, "c1")], timestamp=TIME),
        its.ModelRequest([its.ToolReturnPart("read", text, "c1", timestamp=TIME)]),
        its.ModelResponse([its.TextPart("Done.", id="msg_1")], timestamp=TIME),
    ]


def test_contents_are_stored_once() -> None:
    text = "0123456789" * 20_000
    with Tract.open() as t:
        record_messages(t, exchange(text))
        assert all(len(str(info.metadata)) < 1_000 for info in t.log())
        assert "0123456789" in t.get_tool_result("c1", limit=10)
        image = its.UserPromptPart([its.BinaryContent(IMAGE * 9, media_type="image/png")])
        record_messages(t, [*exchange(text), its.ModelRequest([image])])
        assert all(len(str(info.metadata)) < 1_000 for info in t.log())


def test_a_list_that_differs_is_a_branch() -> None:
    with Tract.open() as t:
        record_messages(t, exchange())
        other = [*exchange()[:3], its.ModelResponse([its.TextPart("No.")], timestamp=TIME)]
        record_messages(t, other)
        assert len(t.branches()) == 2
        assert load_messages(t) == other
        t.checkout("main")
        assert load_messages(t) == exchange()


def test_an_edited_message_is_made_anew() -> None:
    with Tract.open() as t:
        record_messages(t, exchange())
        first = next(info for info in t.log() if info.role == "user")
        t.user("look twice", edit=first)
        loaded = load_messages(t)
        assert contents(loaded[0])[-1] == "look twice"
        assert loaded[1:] == exchange()[1:]


def test_results_come_back_in_full_whatever_the_model_sees() -> None:
    with Tract.open() as t:
        t.configure_results(inline_tokens=5)
        record_messages(t, exchange(LONG * 99))
        assert "get_tool_result" in t.compile().messages[3].text
        assert load_messages(t) == exchange(LONG * 99)


PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
PAPER = {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


def test_what_others_recorded_is_made_for_pydantic_ai() -> None:
    calls = [{"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}]
    unknown = {"type": "redacted_thinking", "data": "x"}
    with Tract.open() as t:
        t.system("Be brief.")
        t.user([{"type": "text", "text": "look"}, PNG, PICTURE, PAPER])
        t.assistant({"role": "assistant", "content": [THOUGHT, unknown, *calls]})
        t.tool_result("c1", "read", {"lines": 3}, is_error=True)
        request, response, results = load_messages(t)
    system, prompt = contents(request)
    assert system == "Be brief."
    assert [type(content).__name__ for content in prompt] == [
        *("str", "BinaryContent", "ImageUrl", "DocumentUrl")
    ]
    kinds = [(part.part_kind, getattr(part, "provider_name", None)) for part in response.parts]
    assert kinds == [("thinking", "anthropic"), ("tool-call", None)]
    [result] = results.parts
    assert isinstance(result, its.ToolReturnPart)
    assert (result.outcome, result.content) == ("failed", {"lines": 3})


def test_what_is_no_list_of_messages_is_refused() -> None:
    with Tract.open() as t:
        with pytest.raises(InputError, match="not messages of pydantic-ai"):
            record_messages(t, b'[{"kind": "hologram"}]')
        unspeakable: Any = its.ToolReturnPart("read", object(), "c1")
        with pytest.raises(InputError, match="cannot dump"):
            record_messages(t, [its.ModelRequest([unspeakable])])
        assert t.head is None


def test_a_damaged_frame_is_not_used() -> None:
    with Tract.open() as t:
        frame = {"message": {"kind": "request"}, "holes": [], "size": 1}
        t.user("look", metadata={FRAMES: [frame]})
        [request] = load_messages(t)
        assert contents(request) == ["look"]
