"""The requests of a branch: their parts add up, and what was recorded stands beside them."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.changes import BIG, CHANGES, THOUGHT, changed, grow
from tests.forms import dialogs
from tests.rework import CHANGES as REWORK
from tests.rework import legal_selection
from tests.toolkit import claude_tool
from tract import CompressError, Message, ToolCall, Tract
from tract.economy.composition import IDLE, compose
from tract.economy.moments import Moments
from tract.economy.prices import PriceList, prices_of
from tract.economy.requests import (
    MOST_TOOLS,
    NOT_CACHED,
    OTHER_TOOLS,
    Chart,
    ChartEpoch,
    ChartPart,
    RecordedUsage,
    requests_of,
)
from tract.remote.wire import encode_result
from tract.snapshot import Snapshot
from tract.view.context_usage import growth

PRICES = PriceList(prices_of({"m": {"input": 1, "output": 10}}))
NOON = datetime(2026, 3, 12, 12, tzinfo=UTC)


def chart_of(tract: Tract, reading: Snapshot | None = None) -> Chart:
    reading = reading or tract.read()
    moments = Moments(tract, PRICES)
    moments.turn_to(reading.places)
    return requests_of(reading, moments)


def columns(chart: Chart) -> dict[tuple[str, str], list[int]]:
    """The tokens of each part, from request to request."""
    return {
        (part.kind, part.tool): [request.tokens[number] for request in chart.requests]
        for number, part in enumerate(chart.parts)
    }


# Parts


def tool_sizes(reading: Snapshot) -> list[int]:
    """The tokens of the tools of each request."""
    answers = [s for s in reading.chain.appended_steps() if s.role == "assistant"]
    sizes = []
    for answer in answers:
        sets = [toolset for step, toolset in reading.toolsets if step.id <= answer.id]
        sizes.append(sum(tool.token_count for tool in sets[-1].tools) if sets else 0)
    return sizes


def assert_adds_up(reading: Snapshot, chart: Chart) -> None:
    wanted = map(sum, zip(growth(reading), tool_sizes(reading), strict=True))
    assert [sum(request.tokens) for request in chart.requests] == list(wanted)
    assert all(tokens >= 0 for request in chart.requests for tokens in request.tokens)
    sums: Counter[tuple[str, str]] = Counter()
    for part, tokens in compose(reading, {}).sent.items():
        kind = "tools" if part.kind == IDLE else part.kind
        sums[kind, part.tool if kind == "results" else ""] += int(tokens)
    assert {part: sum(column) for part, column in columns(chart).items()} == dict(+sums)


@pytest.mark.parametrize("kind", CHANGES)
def test_the_parts_are_all_that_was_sent(kind: str) -> None:
    tract, _ = changed(kind)
    tract.user("one more")
    tract.assistant("the last answer")
    reading = tract.read()
    assert_adds_up(reading, chart_of(tract, reading))


def compress(tract: Tract, data: st.DataObject) -> None:
    with suppress(CompressError):
        tract.compress(legal_selection(tract, data), content="in short")


@given(dialogs, st.data())
@settings(max_examples=100)
def test_any_history_adds_up(history: list[Message], data: st.DataObject) -> None:
    with Tract.open(":memory:") as tract:
        with tract.batch():
            for message in history:
                tract.commit(message)
        for change in data.draw(st.lists(st.sampled_from([*REWORK, compress]), max_size=5)):
            change(tract, data)
            tract.assistant("so")
        reading = tract.read()
        chart = chart_of(tract, reading)
        assert_adds_up(reading, chart)
        numbers = [epoch.request for epoch in chart.epochs]
        assert numbers == sorted(numbers)
        assert all(0 < number <= len(chart.requests) for number in numbers)


def test_the_parts_are_in_order_and_only_those_that_occur() -> None:
    tract, _ = changed("compressed")
    tract.assistant("so")
    assert chart_of(tract).parts == [
        ChartPart("system"),
        ChartPart("tools"),
        ChartPart("results", "Read"),
        ChartPart("results", "Grep"),
        ChartPart("arguments"),
        ChartPart("text"),
        ChartPart("thinking"),
        ChartPart("summaries"),
    ]
    with Tract.open(":memory:") as plain:
        plain.user("hello")
        assert chart_of(plain) == Chart([], [], [])
        plain.assistant("hello")
        assert chart_of(plain).parts == [ChartPart("text")]


def test_the_smallest_tools_share_a_part() -> None:
    with Tract.open(":memory:") as tract:
        for number in range(MOST_TOOLS + 2):
            call = ToolCall(f"c{number}", f"tool{number}")
            tract.assistant(tool_calls=[call])
            tract.tool_result(call.id, call.name, BIG[: 100 * (number + 1)])
        tract.assistant("done")
        chart = chart_of(tract)
        results = [part.tool for part in chart.parts if part.kind == "results"]
        assert len(results) == MOST_TOOLS + 1
        assert results[-1] == OTHER_TOOLS
        assert not {"tool0", "tool11"} & set(results)  # tool11 was sent only once
        sizes = {info.name: info.token_count for info in tract.log() if info.role == "tool"}
        sums = columns(chart)["results", OTHER_TOOLS]
        assert sums[1] == sizes["tool0"]
        assert sums[-1] == sizes["tool0"] + sizes["tool11"]


def test_thoughts_that_are_not_sent_any_more_take_nothing() -> None:
    tract = Tract.open(":memory:")
    tract.user("go")
    call = {"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "file"}}
    tract.commit({"role": "assistant", "content": [THOUGHT, call]})
    tract.tool_result("c", "Read", BIG)
    tract.assistant("read")
    tract.user("do", edit=tract.read().places[0].origin.hash.hex())
    tract.assistant("again")
    parts = columns(chart_of(tract))
    assert parts["thinking", ""][1] > 10 * parts["arguments", ""][1]
    assert parts["thinking", ""][2] == 0
    assert parts["arguments", ""][2] > parts["arguments", ""][1] / 2


def test_a_collapsed_call_has_no_thoughts_either() -> None:
    tract, _ = changed("collapsed")
    tract.assistant("so")
    thinking = columns(chart_of(tract))["thinking", ""]
    assert thinking[-1] < thinking[-2]


def test_other_tools_count_from_the_request_that_had_them() -> None:
    with Tract.open(":memory:") as tract:
        tract.user("go")
        tract.assistant("one")
        tract.user("on", tools=[claude_tool("Read", path="string")])
        tract.assistant("two")
        tract.assistant("three", tools=[])
        one, two, three = columns(chart_of(tract))["tools", ""]
        assert (one, three) == (0, 0)
        assert two > 0


def test_the_name_of_a_tool_is_harmless() -> None:
    with Tract.open(":memory:") as tract:
        tract.assistant(tool_calls=[ToolCall("c", "a\x1b]0;\nb")])
        tract.tool_result("c", "a\x1b]0;\nb", BIG)
        tract.assistant("so")
        assert ChartPart("results", "a\\x1b]0; b") in chart_of(tract).parts


def test_each_answer_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tract, _ = changed("reference")
    tract.assistant("so")
    reading, whole = tract.read(), Counter[bytes]()
    read = reading.whole

    def counting(place: Any) -> Message:
        whole[place.origin.hash] += 1
        return read(place)

    monkeypatch.setattr(reading, "whole", counting)
    chart = chart_of(tract, reading)
    assert set(whole.values()) == {1}
    assert whole.total() < len(chart.requests)  # the last answer was never sent


# What was recorded


def answer(tract: Tract, minutes: float = 0, model: str = "m-1", **usage: Any) -> None:
    """A question, and an answer ten seconds later with this usage."""
    start = NOON + timedelta(minutes=minutes)
    times = [{"time": (start + timedelta(seconds=s)).isoformat()} for s in (0, 10)]
    tract.user("go on", metadata=times[0])
    config = {"model": model}
    tract.assistant("so", metadata=times[1], generation_config=config, usage=usage or None)


def anthropic(cached: int = 0, **more: Any) -> dict[str, Any]:
    return {"input_tokens": 100, "cache_read_input_tokens": cached, "output_tokens": 7, **more}


def cache_words(tract: Tract) -> list[str]:
    return [request.cache for request in chart_of(tract).requests]


@pytest.fixture
def tract() -> Any:
    with Tract.open(":memory:") as opened:
        yield opened


def test_a_request_has_what_was_recorded_of_it(tract: Tract) -> None:
    answer(tract, **anthropic(900, cache_creation_input_tokens=50))
    tract.user("no usage")
    plain = tract.assistant("so").commit_hash
    first, second = chart_of(tract).requests
    assert first.recorded == RecordedUsage(sent=1050, cached=900, written=50, answered=7)
    assert (first.model, first.cost, first.seconds) == ("m-1", "$0.0011", 10)
    assert first.time == NOON + timedelta(seconds=10)
    assert second.commit == plain
    assert (second.recorded, second.model, second.cost, second.cache) == (None, "", "", "")
    assert second.time is not None


def test_an_answer_that_used_nothing_has_no_usage(tract: Tract) -> None:
    answer(tract, model="<synthetic>", **dict.fromkeys(anthropic(), 0))
    answer(tract, cost=0.5)
    requests = chart_of(tract).requests
    assert [(r.recorded, r.cost, r.cache) for r in requests] == [
        (None, "$0.00", ""),
        (None, "$0.50", ""),
    ]


def test_nothing_is_said_about_the_cache_of_who_never_does(tract: Tract) -> None:
    for _ in range(2):
        answer(tract, prompt_tokens=100, completion_tokens=5)
    assert cache_words(tract) == ["", ""]
    answer(tract, prompt_tokens=100, completion_tokens=5, cached_tokens=50)
    assert cache_words(tract) == ["first request", NOT_CACHED, ""]


def test_only_the_output_was_recorded(tract: Tract) -> None:
    answer(tract, cache_read_input_tokens=0, output_tokens=5)
    assert cache_words(tract) == [""]


def test_a_pause_is_longer_than_the_cache_lives(tract: Tract) -> None:
    for minutes in (0, 4, 16, 80):
        answer(tract, minutes, **anthropic())
    assert cache_words(tract) == [
        "first request",
        NOT_CACHED,
        "12 min since the request before: the cache had expired",
        "1 h 4 min since the request before: the cache had expired",
    ]


def test_what_is_written_for_an_hour_lives_that_long(tract: Tract) -> None:
    written = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 50}
    answer(tract, 0, **anthropic(cache_creation_input_tokens=50, cache_creation=written))
    answer(tract, 16, **anthropic())
    answer(tract, 16 + 61, **anthropic())
    assert cache_words(tract)[1:] == [
        NOT_CACHED,
        "1 h 1 min since the request before: the cache had expired",
    ]


def test_a_clock_that_goes_back_has_not_expired_anything(tract: Tract) -> None:
    for minutes in (60, 0):
        answer(tract, minutes, **anthropic())
    assert cache_words(tract)[1] == NOT_CACHED


def test_the_tools_or_the_model_changed(tract: Tract) -> None:
    answer(tract, **anthropic())
    tract.set_tools([claude_tool("Read")])
    answer(tract, **anthropic())
    answer(tract, model="m-2", **anthropic())
    assert cache_words(tract)[1:] == ["the tools changed", "the model changed"]


def test_a_rewrite_and_what_else_may_be_the_reason(tract: Tract) -> None:
    first = tract.user("question").commit_hash
    answer(tract, 0, **anthropic())
    skip = tract.annotate(first, "skip").commit_hash
    answer(tract, 1, **anthropic())
    edits = [tract.user("another", edit=first), tract.annotate(first, "normal")]
    answer(tract, 13, **anthropic())
    tract.restore(skip)
    answer(tract, 14, **anthropic(cached=9))
    assert cache_words(tract)[1:] == [
        "the history was rewritten before it: epoch 1",
        "the history was rewritten before it: epoch 2; "
        "12 min since the request before: the cache had expired",
        "",
    ]
    assert chart_of(tract).epochs == [
        ChartEpoch(1, "1 left out", skip, True),
        ChartEpoch(2, "1 back", edits[1].commit_hash, False),
    ]


def test_several_epochs_before_one_request(tract: Tract) -> None:
    names = grow(tract, 2)
    tract.reshape({names["result0"]: "reference"})
    tract.reshape({names["result1"]: "reference"})
    answer(tract, **anthropic())
    chart = chart_of(tract)
    assert [epoch.request for epoch in chart.epochs] == [4, 4]
    assert chart.requests[4].cache == "the history was rewritten before it: epoch 1, 2"


def test_a_rewrite_before_the_next_request_comes(tract: Tract) -> None:
    names = grow(tract, 2)
    tract.reshape({names["result0"]: "reference"})
    chart = chart_of(tract)
    assert [epoch.request for epoch in chart.epochs] == [len(chart.requests)]


def test_failed_results_count_for_the_request_that_has_them_first(tract: Tract) -> None:
    for number, fails in enumerate([(True, True), (False, False), (True, False)]):
        calls = [ToolCall(f"c{number}{n}", "run") for n in (0, 1)]
        tract.assistant(tool_calls=calls)
        for call, is_error in zip(calls, fails, strict=True):
            tract.tool_result(call.id, "run", "output", is_error=is_error)
    tract.assistant("done")
    assert [request.errors for request in chart_of(tract).requests] == [0, 2, 0, 1]


def test_a_chart_is_json(tract: Tract) -> None:
    answer(tract, **anthropic(900))
    chart = json.loads(encode_result(chart_of(tract)))
    (request,) = chart["requests"]
    assert request["time"] == "2026-03-12T12:00:10Z"
    assert request["recorded"] == {"sent": 1000, "cached": 900, "written": 0, "answered": 7}
    assert chart["parts"] == [{"kind": "text", "tool": ""}]
    assert chart["epochs"] == []
