"""Answers of models: parsing them, and what their usage says about the counting of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.samples.responses import ANTHROPIC, CHAT, PROVIDERS, RESPONSES, UNREADABLE
from tract import LLMAnswerError, Message, Tract
from tract.llm import ScriptedLLM
from tract.llm.response import COUNTED, metadata, parse, response, token_factor
from tract.providers import Answer, input_tokens, is_cut


@pytest.mark.parametrize("provider", PROVIDERS)
def test_responses_of_providers(provider: str) -> None:
    answer = parse(PROVIDERS[provider])
    assert answer.message.text == "I look."
    assert [(c.id, c.name) for c in answer.message.tool_calls] == [("c1", "grep")]
    assert input_tokens(answer.usage) == 100
    assert not is_cut(answer)


@pytest.mark.parametrize(
    "given", ["Hello.", Message("assistant", "Hello."), {"role": "assistant", "content": "Hello."}]
)
def test_texts_and_messages(given: Any) -> None:
    answer = parse(given)
    assert (answer.message.role, answer.message.text, answer.usage) == ("assistant", "Hello.", None)


@pytest.mark.parametrize("usage", [[1], "many", 5, True])
def test_usage_that_is_none_is_left_out(usage: Any) -> None:
    assert parse({**CHAT, "usage": usage}).usage is None


@pytest.mark.parametrize("given", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_understood(given: Any) -> None:
    with pytest.raises(LLMAnswerError, match="cannot parse"):
        parse(given)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a response."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    whole = deepcopy(value)
    target = whole
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = new
    return whole


MALFORMED: list[Any] = [None, True, 5, 1.5, "text", [], {}, [None], [5], {"a": 1}, [[]], [{}]]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_malformed_response_is_an_answer_or_a_typed_error(provider: str) -> None:
    whole = PROVIDERS[provider]
    broken = [changed(whole, path, new) for path in places(whole) for new in MALFORMED]
    problems: list[str] = []
    with Tract.open() as t:
        t.user("go")
        for answer in broken:
            head, size = t.head, len(t.compile().messages)
            t.llm = ScriptedLLM([answer])
            try:
                t.generate()
                assert len(t.compile().messages) == size + 1
                assert t.token_factor() > 0
            except LLMAnswerError:
                assert t.head == head
            except (TypeError, AttributeError, LookupError, ValueError) as error:
                problems.append(f"{error!r}: {answer}")
        assert t.fsck().ok
    assert problems == []


@pytest.mark.parametrize(
    "given",
    [
        {**ANTHROPIC, "stop_reason": "max_tokens"},
        {**ANTHROPIC, "stop_reason": "model_context_window_exceeded"},
        {**ANTHROPIC, "stop_reason": "refusal"},
        changed(CHAT, ("choices", 0, "finish_reason"), "length"),
        changed(CHAT, ("choices", 0, "finish_reason"), "content_filter"),
        {**RESPONSES, "status": "incomplete"},
        {**RESPONSES, "status": "failed"},
    ],
)
def test_answers_that_were_cut(given: Any) -> None:
    assert is_cut(parse(given))


def test_a_response_prints_as_its_text() -> None:
    with Tract.open(llm=ScriptedLLM(["Hello."])) as t:
        answer = t.chat("Hi")
    assert f"{answer}" == str(answer) == answer.text == "Hello."


def test_what_a_commit_says_beside_the_answer() -> None:
    answer = Answer(Message("assistant", "x"), None, {"id": "msg_1"})
    assert metadata(answer, 7, None) == {"response": {"id": "msg_1"}, COUNTED: 7}
    assert metadata(Answer(answer.message), 7, {"mine": 1}) == {COUNTED: 7, "mine": 1}


def test_a_response_has_what_the_answer_has() -> None:
    with Tract.open() as t:
        commit = t.assistant("x")
    got = response(parse(ANTHROPIC), commit)
    assert (got.text, got.tool_calls[0].name, got.commit) == ("I look.", "grep", commit)
    assert got.usage == ANTHROPIC["usage"]


# Calibration


def used(tokens: Any, model: str = "m", key: str = "input_tokens") -> dict[str, Any]:
    """A response that says how many tokens were read."""
    text = [{"type": "text", "text": "ok"}]
    return {"type": "message", "model": model, "content": text, "usage": {key: tokens}}


def calibrated(*answers: dict[str, Any], model: str = "m") -> Tract:
    t = Tract.open(llm=ScriptedLLM(answers, model=model))
    for _ in answers:
        t.chat("Some words to be counted by a counter of tokens.")
    return t


def counted(t: Tract) -> list[int]:
    return [c.metadata[COUNTED] for c in t.log() if COUNTED in c.metadata]


def test_without_usage_the_factor_is_one() -> None:
    with Tract.open() as t:
        assert t.token_factor() == t.token_factor("m") == 1.0
    with calibrated({"role": "assistant", "content": "ok"}) as t:
        assert t.token_factor() == 1.0


def test_what_is_counted_is_what_was_sent() -> None:
    tool = {"name": "grep", "description": "Find lines. " * 20, "input_schema": {"type": "object"}}
    with Tract.open(llm=ScriptedLLM(["ok"])) as t:
        t.user("hello", tools=[tool])
        size = t.compile().token_count
        t.generate()
        assert counted(t) == [size]
        assert size > 40


@pytest.mark.parametrize("key", ["input_tokens", "prompt_tokens"])
def test_usage_calibrates(key: str) -> None:
    with calibrated(used(30, key=key), used(60, key=key)) as t:
        assert t.token_factor() == pytest.approx(90 / sum(counted(t)))


def test_each_model_has_its_own_factor() -> None:
    with calibrated(used(1000)) as t:
        assert t.token_factor("m") > 10
        assert t.token_factor("other") == 1.0
        t.llm = ScriptedLLM([], model="other")
        assert t.token_factor() == 1.0


def test_the_model_that_answered_counts_too() -> None:
    with calibrated(used(1000, model="m-2026"), model="m") as t:
        assert t.token_factor("m-2026") == t.token_factor("m") > 10


def test_only_the_newest_answers_count() -> None:
    with calibrated(*[used(100_000)] * 3, *[used(40)] * 20) as t:
        assert t.token_factor() == pytest.approx(800 / sum(counted(t)[:20]))


@pytest.mark.parametrize("tokens", [0, None, "30", 30.5, True, [30]])
def test_usage_that_is_no_number_says_nothing(tokens: Any) -> None:
    with calibrated(used(tokens)) as t:
        assert t.token_factor() == 1.0


@pytest.mark.parametrize("tokens", [10**18, 10**400], ids=["18", "400"])
def test_a_number_that_no_model_can_have_read(tokens: int) -> None:
    with calibrated(used(tokens)) as t:
        assert t.token_factor() == 1.0


def test_usage_of_other_commits_says_nothing() -> None:
    with Tract.open() as t:
        t.user("hi", usage={"input_tokens": 1000}, metadata={COUNTED: 10})
        t.assistant("ok", usage={"input_tokens": 1000}, generation_config={"model": "m"})
        assert token_factor(t.log(), "m") == 1.0
