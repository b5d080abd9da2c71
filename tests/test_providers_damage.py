"""Requests of which a part cannot be read: it costs only itself, and is reported."""

from __future__ import annotations

from typing import Any

import pytest

from tract.errors import InputError
from tract.model import Raw
from tract.providers.damage import Damage, load_sound, sift, sift_answer, sift_message
from tract.providers.requests import load


def use(number: int) -> dict[str, Any]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "ls", "input": {"p": number}}
    return {"role": "assistant", "content": [{"type": "text", "text": "t"}, call]}


def result(number: int, *more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "x"}
    return {"role": "user", "content": [block, *more]}


def anthropic(*middle: Any) -> list[Any]:
    """Two turns of calls around something odd."""
    opening = {"role": "user", "content": [{"type": "text", "text": "go"}]}
    return [opening, use(0), result(0), use(1), *middle, use(2), result(2)]


def call(number: int, **more: Any) -> dict[str, Any]:
    function = {"name": "ls", "arguments": "{}", **more}
    one = {"id": f"c{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [one]}


def answer(number: int) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": "r"}


def chat(*middle: Any) -> list[Any]:
    return [{"role": "user", "content": "hi"}, call(0), answer(0), *middle, call(3), answer(3)]


NULL_TEXT = {"type": "text", "text": None}
NULL_CALLS = {"role": "assistant", "content": None, "tool_calls": [None]}

LOSES_ONE: dict[str, tuple[str, list[Any], list[Any], str]] = {
    "anth_badblock": (
        "anthropic",
        anthropic({"role": "user", "content": [{"type": "text"}]}),
        anthropic(),
        "message 5, block 1",
    ),
    "anth_emptyblock": (
        "anthropic",
        anthropic(result(1, {})),
        anthropic(result(1)),
        "message 5, block 2",
    ),
    "anth_textnull": (
        "anthropic",
        anthropic(result(1, NULL_TEXT)),
        anthropic(result(1)),
        "message 5, block 2",
    ),
    "anth_contentnull": (
        "anthropic",
        anthropic({"role": "user", "content": None}),
        anthropic(),
        "message 5",
    ),
    "anth_msgnull": ("anthropic", anthropic(None), anthropic(), "message 5"),
    "chat_badblock": (
        "openai",
        chat({"role": "user", "content": [{"type": "text"}]}),
        chat(),
        "message 4, block 1",
    ),
    "chat_contentdict": (
        "openai",
        chat({"role": "user", "content": {"a": 1}}),
        chat(),
        "message 4",
    ),
    "chat_callsnull": ("openai", chat(NULL_CALLS), chat(), "message 4, call 1"),
    "chat_msgnull": ("openai", chat(None), chat(), "message 4"),
    "chat_norole": ("openai", chat({"content": "x"}), chat(), "message 4"),
}


@pytest.mark.parametrize("name", LOSES_ONE)
def test_a_damaged_part_costs_only_itself(name: str) -> None:
    provider, damaged, rest, place = LOSES_ONE[name]
    sound = load_sound(damaged)
    assert [bad.place for bad in sound.damage] == [place]
    assert sound.loaded == load(rest, provider)


@pytest.mark.parametrize("name", LOSES_ONE)
def test_a_request_around_it_changes_nothing(name: str) -> None:
    provider, damaged, rest, place = LOSES_ONE[name]
    sound = load_sound({"model": "m", "messages": damaged, "tools": []}, provider)
    assert [bad.place for bad in sound.damage] == [place]
    assert sound.loaded == load({"model": "m", "messages": rest, "tools": []}, provider)


def test_a_call_without_arguments_stays_a_call() -> None:
    damaged = chat(call(1, arguments=None), answer(1))
    sound = load_sound(damaged)
    assert sound.damage == [Damage("message 4, call 1", "a call without arguments")]
    assert [c.id for m in sound.loaded.messages for c in m.tool_calls] == ["c0", "c1", "c3"]


def test_a_block_of_an_unknown_type_is_no_damage() -> None:
    block = {"type": "hologram", "data": "…"}
    loaded, damage = load_sound(anthropic(result(1, block)))
    assert damage == []
    raws = [b.data for m in loaded.messages for b in m.blocks if isinstance(b, Raw)]
    assert raws == [block]


def test_a_sound_request_is_loaded_as_ever() -> None:
    request = {"system": [{"type": "text", "text": "s"}], "messages": anthropic(result(1))}
    assert load_sound(request) == (load(request), [])


@pytest.mark.parametrize(
    ("message", "rest", "damage"),
    [
        (use(0), use(0), []),
        (None, None, [("", "a message is a dict, not NoneType")]),
        (
            {"role": "narrator", "content": [{"type": "text", "text": "t"}]},
            None,
            [("", "unknown role 'narrator'; expected one of system, user, assistant, tool")],
        ),
        (result(0, 5), result(0), [(", block 2", "not a content block: 5")]),
        (
            call(0) | {"content": [{"type": "text"}, {"type": "text", "text": "t"}]},
            call(0) | {"content": [{"type": "text", "text": "t"}]},
            [(", block 1", 'a text block needs a text: {"type": "text"}')],
        ),
        ({"role": "assistant"}, None, [("", "a message without content")]),
        (
            {"role": "assistant", "content": None, "refusal": "no"},
            {"role": "assistant", "content": None, "refusal": "no"},
            [],
        ),
        ({"role": "user", "content": ""}, {"role": "user", "content": ""}, []),
        (
            {"role": "user", "parts": [{"text": "a"}, None]},
            {"role": "user", "parts": [{"text": "a"}]},
            [(", part 2", "not a part of a content: null")],
        ),
    ],
)
def test_one_message(message: Any, rest: Any, damage: list[Any]) -> None:
    assert sift_message(message) == (rest, damage)


def test_items_of_responses() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text"}, {"type": "input_text", "text": "a"}]},
        {"type": "function_call", "call_id": "c"},
        7,
    ]
    sound, damage = sift({"input": items}, "responses")
    part = {"type": "input_text", "text": "a"}
    assert sound == {"input": [{"role": "user", "content": [part]}]}
    assert [bad.place for bad in damage] == ["message 1, block 1", "message 2", "message 3"]


@pytest.mark.parametrize(
    ("provider", "system", "rest", "place"),
    [
        ("anthropic", [{"type": "text"}, {"type": "text", "text": "s"}], 1, "system, block 1"),
        ("anthropic", 5, None, "system"),
        ("openai", [{}], None, "system, block 1"),
    ],
)
def test_a_system_text(provider: str, system: Any, rest: Any, place: str) -> None:
    hi = {"role": "user", "content": "hi"}
    loaded, damage = load_sound({"system": system, "messages": [hi]}, provider)
    assert [bad.place for bad in damage] == [place]
    assert [m.text for m in loaded.messages] == (["s", "hi"] if rest else ["hi"])


def test_a_system_instruction_of_gemini() -> None:
    contents = [{"role": "user", "parts": [{"text": "hi"}]}]
    system = {"parts": [None, {"text": "s"}]}
    loaded, damage = load_sound({"systemInstruction": system, "contents": contents})
    assert [m.text for m in loaded.messages] == ["s", "hi"]
    assert [bad.place for bad in damage] == ["systemInstruction, part 1"]


def test_definitions_of_tools() -> None:
    good: dict[str, Any] = {"name": "ls", "input_schema": {"type": "object"}}
    request = {"messages": anthropic(result(1)), "tools": [None, {"input_schema": {}}, good, good]}
    loaded, damage = load_sound(request, "anthropic")
    assert loaded.tools == [good]
    assert [bad.place for bad in damage] == ["tool 1", "tool 2", "tool 4"]
    assert load_sound(request | {"tools": 5}, "anthropic").loaded.tools == []


def test_what_cannot_be_stored_is_left_out() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    bad = {"role": "user", "content": [{"type": "text", "text": "t", "x": deep}]}
    sound, damage = sift([*anthropic(result(1)), bad], "anthropic")
    assert sound == anthropic(result(1))
    assert [one.place for one in damage] == ["message 8, block 1"]


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(InputError):
        load_sound({"prompt": "hi"})
    with pytest.raises(InputError):
        load_sound({"prompt": "hi"}, "anthropic")


TEXT = {"type": "text", "text": "t"}
GOOD_PART = {"type": "output_text", "text": "t"}
CALLED: dict[str, Any] = call(0)["tool_calls"][0]


@pytest.mark.parametrize(
    ("response", "rest", "place"),
    [
        (
            {"type": "message", "role": "assistant", "content": [{}, TEXT], "model": "m"},
            {"type": "message", "role": "assistant", "content": [TEXT], "model": "m"},
            ", block 1",
        ),
        (
            {"choices": [{"message": {"role": "assistant", "tool_calls": [CALLED, None]}}]},
            {"choices": [{"message": {"role": "assistant", "tool_calls": [CALLED]}}]},
            ", call 2",
        ),
        (
            {"output": [{"type": "message", "role": "assistant", "content": [GOOD_PART]}, 5]},
            {"output": [{"type": "message", "role": "assistant", "content": [GOOD_PART]}]},
            ", item 2",
        ),
        (
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "t"}, None]}}]},
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "t"}]}}]},
            ", part 2",
        ),
        ({"type": "message", "role": "assistant", "content": [{}]}, None, ", block 1"),
        ({"choices": [{"message": {"role": "user", "content": "t"}}]}, None, ""),
        ({"choices": [{"message": None}]}, None, ""),
        ("t", None, ""),
    ],
)
def test_a_response(response: Any, rest: Any, place: str) -> None:
    sound, damage = sift_answer(response)
    assert sound == rest
    assert [bad.place for bad in damage] == [place]
