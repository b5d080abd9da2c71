"""What an answer has used, in the words of everybody who says it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus import BY_FOLDER, real_files
from tests.strategies import json_objects, json_values
from tract import Tract
from tract.importers.writer import import_file
from tract.providers.usage import Usage, reports_cache, usage_of

ANTHROPIC = {
    "input_tokens": 8,
    "cache_creation_input_tokens": 2226,
    "cache_read_input_tokens": 41213,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 2226},
    "output_tokens": 17,
    "service_tier": "standard",
}
CHAT = {
    "prompt_tokens": 1124,
    "completion_tokens": 23,
    "total_tokens": 1147,
    "prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": 1024},
    "completion_tokens_details": {"reasoning_tokens": 12},
}
RESPONSES = {
    "input_tokens": 6700,
    "input_tokens_details": {"cached_tokens": 640},
    "output_tokens": 1078,
    "output_tokens_details": {"reasoning_tokens": 704},
    "total_tokens": 7778,
}
GEMINI = {
    "promptTokenCount": 775,
    "candidatesTokenCount": 23,
    "totalTokenCount": 910,
    "cachedContentTokenCount": 649,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 775}],
    "thoughtsTokenCount": 112,
}
GEMINI_PYTHON = {
    "prompt_token_count": 775,
    "candidates_token_count": 23,
    "total_token_count": 910,
    "cached_content_token_count": 649,
    "thoughts_token_count": 112,
}
LITELLM = {
    "completion_tokens": 146,
    "prompt_tokens": 4812,
    "total_tokens": 4958,
    "prompt_tokens_details": {"cached_tokens": 4000, "text_tokens": None},
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 4000,
}
CODEX = {
    "input_tokens": 22606,
    "cached_input_tokens": 2432,
    "output_tokens": 351,
    "reasoning_output_tokens": 74,
    "total_tokens": 22957,
}
GEMINI_CLI = {
    "input": 12207,
    "output": 105,
    "cached": 2558,
    "thoughts": 153,
    "tool": 0,
    "total": 12465,
}
INSPECT = {
    "input_tokens": 1568,
    "output_tokens": 17,
    "total_tokens": 1585,
    "input_tokens_cache_read": 1024,
}
INSPECT_ANTHROPIC = {
    "input_tokens": 9,
    "output_tokens": 17,
    "total_tokens": 1100,
    "input_tokens_cache_read": 1024,
    "input_tokens_cache_write": 50,
}
LANGCHAIN = {
    "input_token_details": {"cache_creation": 6717, "cache_read": 1},
    "input_tokens": 6720,
    "output_tokens": 116,
    "total_tokens": 6836,
}
PI = {
    "input": 7,
    "output": 231,
    "cacheRead": 1684,
    "cacheWrite": 9518,
    "cost": {"input": 2.1e-05, "output": 0.003465, "total": 0.0396837},
}

KNOWN: dict[str, tuple[dict[str, Any], Usage]] = {
    "Anthropic": (ANTHROPIC, Usage(8, 41213, 2226, 17, written_hour=2226)),
    "Chat Completions": (CHAT, Usage(100, 1024, 0, 23, thought=12)),
    "Responses": (RESPONSES, Usage(6060, 640, 0, 1078, thought=704)),
    "Gemini": (GEMINI, Usage(126, 649, 0, 135, thought=112)),
    "Gemini in Python": (GEMINI_PYTHON, Usage(126, 649, 0, 135, thought=112)),
    "LiteLLM": (LITELLM, Usage(512, 4000, 300, 146)),
    "Codex": (CODEX, Usage(20174, 2432, 0, 351, thought=74)),
    "Gemini CLI": (GEMINI_CLI, Usage(9649, 2558, 0, 258, thought=153)),
    "Inspect": (INSPECT, Usage(544, 1024, 0, 17)),
    "Inspect with Anthropic": (INSPECT_ANTHROPIC, Usage(9, 1024, 50, 17)),
    "LangChain": (LANGCHAIN, Usage(2, 1, 6717, 116)),
    "pi": (PI, Usage(7, 1684, 9518, 231, 0.0396837)),
    "Copilot CLI": ({"outputTokens": 174}, Usage(answered=174)),
    "ATIF": (
        {"prompt_tokens": 100, "completion_tokens": 50, "cost_usd": 0.00075},
        Usage(100, 0, 0, 50, 0.00075),
    ),
    "ATIF with a cache": (
        {"prompt_tokens": 100, "completion_tokens": 50, "cached_tokens": 80},
        Usage(20, 80, 0, 50),
    ),
    "nobody": ({}, Usage()),
}


@pytest.mark.parametrize("who", KNOWN)
def test_everybody_s_words_come_to_the_same(who: str) -> None:
    said, wanted = KNOWN[who]
    assert usage_of(said) == wanted


@pytest.mark.parametrize("who", KNOWN)
def test_the_parts_add_up_to_the_total_that_was_said(who: str) -> None:
    said, wanted = KNOWN[who]
    totals = [said[key] for key in said if key.startswith("total") and type(said[key]) is int]
    assert all(total == wanted.tokens for total in totals)


def test_what_is_not_billed_at_the_standard_price_is_marked() -> None:
    tiers: list[tuple[dict[str, Any], str]] = [
        ({"service_tier": "Batch"}, "batch"),
        ({"speed": "fast"}, "fast"),
        ({}, ""),
    ]
    tiers += [({"service_tier": None}, ""), ({"service_tier": "standard", "speed": 3}, "")]
    for fields, tier in tiers:
        assert usage_of({"input_tokens": 5, **fields}).tier == tier


def test_searches_of_the_provider_are_counted() -> None:
    said = {"input_tokens": 5, "server_tool_use": {"web_search_requests": 2}}
    assert usage_of(said) == Usage(5, searches=2)


def test_without_a_total_what_is_more_than_all_cannot_be_a_part_of_it() -> None:
    said = {"input_tokens": 5, "cached_input_tokens": 90, "output_tokens": 1}
    assert usage_of(said) == Usage(5, 90, 0, 1)


def test_details_that_are_null_or_odd_say_nothing() -> None:
    details: list[Any] = [None, [], "12", 12, {"cached_tokens": None}, {"cached_tokens": "7"}]
    for odd in details:
        said = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": odd}
        assert usage_of(said) == Usage(10, 0, 0, 1)


@pytest.mark.parametrize("odd", [True, False, "7", 7.0, None, [7], {"n": 7}, -7, 10**400])
def test_what_is_no_count_counts_nothing(odd: Any) -> None:
    said = {"input_tokens": odd, "cache_read_input_tokens": odd, "output_tokens": odd}
    assert usage_of(said) == Usage()


@pytest.mark.parametrize("key", ["cost", "cost_usd", "costUSD", "total_cost_usd", "total_cost"])
@pytest.mark.parametrize("cost", [0.5, 2, 0, 0.0])
def test_a_cost_is_any_number(key: str, cost: float) -> None:
    found = usage_of({"input_tokens": 3, key: cost}).cost
    assert found is not None
    assert found == cost


@pytest.mark.parametrize(
    "odd",
    [
        *(True, False, "0.5", None, [0.5], {}, {"total": True}, -1, -0.5, 10**400),
        *(float("nan"), float("inf")),
    ],
)
def test_what_is_no_money_is_no_cost(odd: Any) -> None:
    assert usage_of({"input_tokens": 3, "cost": odd}) == Usage(3)


def test_a_cost_that_is_none_does_not_hide_another() -> None:
    assert usage_of({"cost": True, "total_cost_usd": 0.25}).cost == 0.25


WORDS = sorted(
    {
        key
        for said, _ in KNOWN.values()
        for inside in (said, *(value for value in said.values() if isinstance(value, dict)))
        for key in inside
    }
)
counts = st.integers(0, 10**6) | json_values
said_by_anybody = json_objects | st.dictionaries(
    st.sampled_from(WORDS), counts | st.dictionaries(st.sampled_from(WORDS), counts, max_size=3)
)


@given(said_by_anybody)
def test_whatever_is_said_there_are_counts(said: dict[str, Any]) -> None:
    found = usage_of(said)
    assert all(type(count) is int and count >= 0 for count in found[:4])
    assert found.cost is None or found.cost >= 0


FILES = [path for folder in BY_FOLDER for path in real_files(folder)]
SMALL = [path for path in FILES if path.stat().st_size < 1_000_000]


@pytest.mark.skipif(not SMALL, reason="the real transcripts are not here")
def test_nothing_that_real_transcripts_say_is_lost() -> None:
    said = [usage for path in SMALL for usage in _usages(path)]
    assert len(said) > 100
    for given_ in said:
        found = usage_of(given_)
        keys = ("total_tokens", "totalTokenCount", "total", "totalTokens")
        totals = [given_[key] for key in keys if type(given_.get(key)) is int]
        assert all(total == found.tokens for total in totals), given_
        assert found.tokens or not any(type(v) is int and v for v in given_.values()), given_


def _usages(path: Path) -> list[dict[str, Any]]:
    with Tract.open(":memory:") as tract:
        import_file(tract, path)
        dialogs = [tract.sibling(info.dialog) for info in tract.dialogs()]
        return [usage for dialog in dialogs for _, usage, *_ in dialog.usages()]


@pytest.mark.parametrize("usage", [ANTHROPIC, CHAT, RESPONSES, {"cache_read_input_tokens": 0}])
def test_who_names_what_was_cached_reports_it(usage: dict[str, Any]) -> None:
    assert reports_cache(usage)


@pytest.mark.parametrize(
    "usage", [{}, {"input_tokens": 5}, {"prompt_tokens": 5, "prompt_tokens_details": None}]
)
def test_who_does_not_name_it_reports_nothing(usage: dict[str, Any]) -> None:
    assert not reports_cache(usage)
