"""Results cut and calls collapsed: shorter, still valid, nothing else lost, twice as once."""

from __future__ import annotations

import copy
import json
import unicodedata
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.corpus import DATA
from tract.errors import InputError
from tract.providers.message_lists import (
    ERROR,
    MARKER,
    TEMPLATE,
    CompressorConfig,
    collapse_tool_chains,
    compress_messages,
    compress_tool_result,
)
from tract.providers.validate import Violation, validate

Wire = dict[str, Any]
PIXELS: Wire = {"type": "base64", "media_type": "image/png", "data": "QQ=="}
IMAGE: Wire = {"type": "image", "source": PIXELS}
DOCUMENT: Wire = {"type": "document", "source": {"type": "text", "data": "d" * 99}}
THINKING: Wire = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
NEW_TOOLS: Wire = {"role": "system", "content": "Another tool is there now."}
THINKING_KINDS = ("thinking", "redacted_thinking")


def text(words: str) -> Wire:
    return {"type": "text", "text": words}


def use(call_id: Any, name: Any = "grep") -> Wire:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id: Any, content: Any = "found", **more: Any) -> Wire:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def user(*content: Any) -> Wire:
    return {"role": "user", "content": list(content) if content else "go on"}


def assistant(*content: Any) -> Wire:
    return {"role": "assistant", "content": list(content) if content else "done"}


def chat_call(call_id: Any, name: Any = "grep") -> Wire:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def asks(content: Any, *ids: Any, **more: Any) -> Wire:
    calls = [chat_call(call_id) for call_id in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls, **more}


def tool(call_id: Any, content: Any = "found", **more: Any) -> Wire:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def line(call_id: str, name: str = "grep", error: str = "") -> str:
    return f"[Called {name} ({call_id}){error}; result not shown]"


def cut(content: Any, limit: int) -> Any:
    block = result("a", content)
    before = copy.deepcopy(block)
    out = compress_tool_result(block, CompressorConfig(limit))
    assert block == before
    assert compress_tool_result(out, CompressorConfig(limit)) == out
    return out["content"]


def collapse(messages: list[Any], limit: int = 0, template: str = TEMPLATE) -> list[Any]:
    config = CompressorConfig(collapse_after_turns=limit, template=template)
    before = copy.deepcopy(messages)
    out = collapse_tool_chains(messages, config)
    assert messages == before
    assert collapse_tool_chains(out, config) == out
    return out


# --- configuration -------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [-1, 1.5, "3", True, False, [1], float("nan")])
@pytest.mark.parametrize("name", ["max_tool_result_tokens", "collapse_after_turns"])
def test_a_limit_that_is_no_number_is_refused(name: str, limit: Any) -> None:
    with pytest.raises(InputError, match=name):
        CompressorConfig(**{name: limit})


@pytest.mark.parametrize("template", ["", " \n", "{name}", "{error}{id} {N}", None, 3])
def test_a_template_without_words_is_refused(template: Any) -> None:
    with pytest.raises(InputError, match="template"):
        CompressorConfig(template=template)


def test_a_config_does_not_change() -> None:
    config = CompressorConfig(1, 2)
    with pytest.raises(AttributeError):
        config.collapse_after_turns = 3  # type: ignore[misc]
    assert config == CompressorConfig(max_tool_result_tokens=1, collapse_after_turns=2)


def test_nothing_happens_without_limits() -> None:
    messages = [user(), assistant(use("a")), user(result("a", "x" * 9999)), assistant(), user()]
    off = CompressorConfig()
    assert compress_messages(messages, off) == messages
    assert collapse_tool_chains(messages, off) == messages
    block = messages[2]["content"][0]
    out = compress_tool_result(block, off)
    assert out == block
    assert out is not block


# --- cutting -------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 40, 43, 44, 51, 52])
def test_a_text_is_left_alone_when_cutting_does_not_shorten_it(length: int) -> None:
    assert cut("x" * length, 10) == "x" * length


@pytest.mark.parametrize("length", [53, 54, 400, 100_000])
def test_a_longer_text_is_cut_and_marked(length: int) -> None:
    assert cut("x" * length, 10) == "x" * 40 + MARKER


def test_no_tokens_leave_the_marker() -> None:
    assert cut("x" * 13, 0) == MARKER
    assert cut("x" * 12, 0) == "x" * 12


def test_a_text_with_the_marker_is_left_alone() -> None:
    marked = "x" * 1000 + MARKER
    assert cut(marked, 10) == marked
    assert cut(marked + "\n", 10) == "x" * 40 + MARKER


def test_everything_else_of_a_result_stays() -> None:
    config = CompressorConfig(1)
    block = result("a", "x" * 100, is_error=True, cache_control={"type": "ephemeral"}, zz=[1])
    assert compress_tool_result(block, config) == {**block, "content": "xxxx" + MARKER}
    message = tool("a", "x" * 100, name="grep")
    assert compress_tool_result(message, config) == {**message, "content": "xxxx" + MARKER}


CLUSTERS = {
    "combining mark": "e\u0301",
    "many marks": "e" + "\u0301\u0323" * 9,
    "emoji with joiners": "👩‍👩‍👧‍👦",
    "variation selector": "❤️",
    "keycap": "1️⃣",
    "line ending": "\r\n",
    "surrogates": "\ud83d\ude00",
    "joined surrogates": "\ud83d\udc69\u200d\ud83d\udc67",
}


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
def test_no_cut_separates_what_belongs_together(cluster: str) -> None:
    for offset in range(len(cluster) + 1):
        start = 40 - offset
        kept = cut("x" * start + cluster + "y" * 60, 10).removesuffix(MARKER)
        whole = "x" * start + cluster
        assert kept in ("x" * start, whole, whole[:40] + "y" * (40 - len(whole)))


def test_marks_without_end_leave_the_marker() -> None:
    assert cut("e" + "\u0301" * 100_000, 5_000) == MARKER


@given(
    st.lists(
        st.sampled_from([*CLUSTERS.values(), "a", "\n", " ", "漢", "\ud83d", "\udc69", "\0"]),
        max_size=60,
    ).map("".join)
    | st.text(st.characters(exclude_categories=()), max_size=200),
    st.integers(0, 30),
)
def test_a_cut_text_is_a_shorter_beginning(words: str, limit: int) -> None:
    out = cut(words, limit)
    if len(words) // 4 <= limit or words.endswith(MARKER):
        assert out == words
    assert len(out) <= len(words)
    if out != words:
        kept = out.removesuffix(MARKER)
        assert words.startswith(kept)
        assert len(kept) <= limit * 4
        following = words[len(kept)]
        assert not kept or unicodedata.category(following)[0] != "M"
        assert not kept.endswith("\u200d")
        assert (kept[-1:], following) != ("\r", "\n")


# Lists of blocks


def test_texts_of_a_list_share_the_limit() -> None:
    blocks = [text("x" * 30), text("y" * 30), text("z" * 30)]
    assert cut(blocks, 10) == [text("x" * 30), text("y" * 10 + MARKER)]
    assert cut(blocks, 22) == blocks


def test_other_blocks_stay_in_order() -> None:
    blocks = [IMAGE, text("x" * 90), DOCUMENT, text("y" * 90), IMAGE, text("short")]
    out = cut(blocks, 10)
    assert out == [IMAGE, text("x" * 40 + MARKER), DOCUMENT, text(MARKER), IMAGE, text("short")]


def test_a_text_keeps_its_other_keys() -> None:
    block = {**text("x" * 90), "cache_control": {"type": "ephemeral"}}
    assert cut([block], 1) == [{**block, "text": "xxxx" + MARKER}]


def test_many_short_texts_are_cut_like_one() -> None:
    assert cut([text("xyz")] * 1000, 10) == [*[text("xyz")] * 13, text("x" + MARKER)]


def test_a_marked_text_in_a_list_is_left_alone() -> None:
    marked = text("x" * 90 + MARKER)
    assert cut([marked, text("y" * 90)], 10) == [marked]


@pytest.mark.parametrize(
    "content",
    [None, 5, {}, {"type": "text", "text": "x" * 99}, [], ["x" * 99], [None, 3, []], [[text("x")]]],
)
def test_odd_content_is_left_alone(content: Any) -> None:
    assert cut(content, 1) == content


@pytest.mark.parametrize("odd", [None, 3, "x" * 99, [], {}, text("x" * 99), user(), {"type": []}])
def test_what_is_no_result_is_left_alone(odd: Any) -> None:
    assert compress_tool_result(odd, CompressorConfig(1)) == odd
    assert compress_messages([odd], CompressorConfig(1, 1)) == [odd]


def words_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block["type"] == "text")


blocks_of_results = st.lists(
    st.sampled_from([IMAGE, DOCUMENT])
    | st.builds(text, st.sampled_from(["a", "ab" * 9, "x\u0301" * 30, "y" * 70, "z" + MARKER])),
    max_size=9,
)


@given(blocks_of_results, st.integers(0, 30))
def test_a_cut_list_is_shorter_and_in_order(blocks: list[Wire], limit: int) -> None:
    out = cut(blocks, limit)
    images = [block for block in blocks if block["type"] != "text"]
    assert [block for block in out if block["type"] != "text"] == images
    assert len(words_of(out)) <= len(words_of(blocks))
    assert len(out) <= len(blocks)
    assert all(block["text"] for block in out if block["type"] == "text")
    if len(words_of(blocks)) // 4 <= limit:
        assert out == blocks
    elif not images and MARKER not in words_of(blocks):
        assert len(words_of(out)) <= limit * 4 + len(MARKER)


# --- collapsing: examples ------------------------------------------------------------------


def test_an_old_pair_becomes_a_line() -> None:
    messages = [user(), assistant(use("a")), user(result("a")), assistant(), user()]
    merged = assistant(text(line("a")), text("done"))
    assert collapse(messages) == [user(), merged, user()]
    chat = [user(), asks(None, "a"), tool("a"), assistant(), user()]
    merged = {"role": "assistant", "content": f"{line('a')}\ndone"}
    assert collapse(chat) == [user(), merged, user()]


def test_a_pair_is_old_by_the_assistant_messages_behind_it() -> None:
    turns = [[assistant(use(c)), user(result(c), text("and?"))] for c in "abcd"]
    messages = [user(), *turns[0], *turns[1], *turns[2], *turns[3]]
    for limit in range(5):
        out = collapse(messages, limit)
        lines = [block for message in out[1::2] for block in message["content"]]
        assert lines.count(text(line("a"))) == (limit < 3)
        assert len([block for block in lines if block["type"] == "text"]) == max(3 - limit, 0)


def test_what_was_said_beside_stays() -> None:
    messages = [
        user(),
        assistant(text("Let me look."), use("a"), text("Wait.")),
        user(result("a", is_error=True), text("Faster!"), IMAGE),
        assistant(),
    ]
    assert collapse(messages) == [
        user(),
        assistant(text("Let me look."), text("Wait."), text(line("a", error=ERROR))),
        user(text("Faster!"), IMAGE),
        assistant(),
    ]
    chat = [user(), asks("Let me look.", "a"), tool("a", "Error: no"), user(), assistant()]
    words = f"Let me look.\n{line('a', error=ERROR)}"
    assert collapse(chat) == [user(), {"role": "assistant", "content": words}, user(), assistant()]


def test_parallel_calls_collapse_as_one() -> None:
    messages = [
        user(),
        assistant(use("a"), use("b", "read")),
        user(result("b", is_error=True), result("a")),
        assistant(),
    ]
    lines = f"{line('a')}\n{line('b', 'read', ERROR)}"
    assert collapse(messages) == [user(), assistant(text(lines), text("done"))]
    chat = [user(), asks("", "a", "b"), tool("b", is_error=True), tool("a"), assistant()]
    lines = f"{line('a')}\n{line('b', error=ERROR)}"
    assert collapse(chat) == [user(), {"role": "assistant", "content": f"{lines}\ndone"}]


def test_a_line_joins_the_next_call() -> None:
    messages = [user()]
    for call_id in "abc":
        messages += [assistant(text(f"For {call_id}."), use(call_id)), user(result(call_id))]
    said = [text("For a."), text(line("a")), text("For b."), text(line("b")), text("For c.")]
    assert collapse(messages) == [user(), assistant(*said, use("c")), user(result("c"))]
    chat = [user(), asks("For a.", "a"), tool("a"), asks(None, "b"), tool("b")]
    assert collapse(chat) == [user(), asks(f"For a.\n{line('a')}", "b"), tool("b")]


def test_the_last_pair_stays() -> None:
    messages = [user(), assistant(use("a")), user(result("a"))]
    assert collapse(messages) == messages


def test_thinking_goes_with_its_call() -> None:
    messages = [user(), assistant(THINKING, use("a")), user(result("a")), assistant(), user()]
    assert collapse(messages) == [user(), assistant(text(line("a")), text("done")), user()]
    chat = [user(), asks(None, "a", reasoning_content="hm"), tool("a"), assistant(), user()]
    words = f"{line('a')}\ndone"
    assert collapse(chat) == [user(), {"role": "assistant", "content": words}, user()]


def test_a_message_with_thinking_begins_with_it() -> None:
    answer = assistant(THINKING, text("done"))
    messages = [user(), assistant(THINKING, use("a")), user(result("a")), answer, user()]
    merged = assistant(THINKING, text(line("a")), text("done"))
    assert collapse(messages) == [user(), merged, user()]


def test_a_tool_loop_with_thinking_collapses_whole() -> None:
    loop = [assistant(THINKING, use("a")), user(result("a"))]
    loop += [assistant(use("b")), user(result("b"))]
    messages = [user(), *loop, assistant(), user(), assistant(), user()]
    assert collapse(messages, 2) == messages
    merged = assistant(text(line("a")), text(line("b")), text("done"))
    assert collapse(messages, 1) == [user(), merged, user(), assistant(), user()]
    plain = json.loads(json.dumps(messages).replace(json.dumps(THINKING), json.dumps(text("hm"))))
    assert len(collapse(plain, 2)) == len(plain) - 2


def test_keys_of_a_message_stay() -> None:
    messages = [
        user(),
        {**assistant(use("a")), "id": "msg_1", "x_trace": 1},
        user(result("a")),
        {**assistant(), "id": "msg_2"},
    ]
    out = collapse(messages)[1]
    assert (out["id"], out["x_trace"]) == ("msg_2", 1)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "[Tool: {name} | Result summarized — called {N} turns ago]",
            "[Tool: grep | Result summarized — called 2 turns ago; failed]",
        ),
        ("{name}{error}: see {id}", "grep; failed: see a"),
        ("ran {name}", "ran grep; failed"),
        ("{ {} {0} {x} %s {{name}}", "{ {} {0} {x} %s {grep}; failed"),
    ],
)
def test_the_wording_is_a_template(template: str, expected: str) -> None:
    pair = [assistant(use("a")), user(result("a", is_error=True), text("?"))]
    messages = [user(), *pair, assistant(), user(), assistant()]
    assert collapse(messages, template=template)[1] == assistant(text(expected))


def test_a_field_in_a_name_is_no_field() -> None:
    messages = [user(), assistant(use("{N}", "{id}")), user(result("{N}")), assistant()]
    assert collapse(messages)[1]["content"][0] == text(line("{N}", "{id}"))


def test_reused_ids_collapse_turn_by_turn() -> None:
    chat = [user(), asks(None, "x"), tool("x", "1"), asks(None, "x"), tool("x", "2"), assistant()]
    words = f"{line('x')}\n{line('x')}\ndone"
    assert collapse(chat) == [user(), {"role": "assistant", "content": words}]


def test_custom_calls_of_a_chat_collapse() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "x"}}
    chat = [{"role": "assistant", "tool_calls": [call]}, tool("a"), assistant()]
    assert collapse(chat) == [{"role": "assistant", "content": f"{line('a', 'patch')}\ndone"}]


LEFT_ALONE: dict[str, list[Any]] = {
    "no result": [assistant(use("a")), user(text("hi"))],
    "no message behind": [assistant(use("a"))],
    "no call": [user(result("a"))],
    "a result too few": [assistant(use("a"), use("b")), user(result("a"))],
    "a result too many": [assistant(use("a")), user(result("a"), result("a"))],
    "another id": [assistant(use("a")), user(result("b"))],
    "late": [assistant(use("a")), user(text("hi")), assistant(), user(result("a"))],
    "split": [assistant(use("a"), use("b")), user(result("a")), user(result("b"))],
    "an id twice": [assistant(use("a"), use("a")), user(result("a"), result("a"))],
    "an id twice, answered once": [assistant(use("a"), use("a")), user(result("a"))],
    "an empty id": [assistant(use("")), user(result(""))],
    "no ids": [assistant(use(None)), user(result(None))],
    "ids that are lists": [assistant(use(["a"])), user(result(["a"]))],
    "no name": [assistant(use("a", None)), user(result("a"))],
    "answered once more": [assistant(use("a")), user(result("a")), user(text("x"), result("a"))],
    "asked before": [assistant(use("a")), user(), assistant(use("a")), user(result("a"))],
    "called by the user": [user(use("a")), user(result("a"))],
    "null content": [assistant(use("a")), user(result("a", None))],
    "odd content": [assistant(use("a")), user(result("a", {"x": 1}))],
    "a definition": [
        assistant(use("a")),
        user(result("a", [{"type": "tool_reference", "tool_name": "x"}])),
    ],
    "a change of tools": [
        assistant(use("a")),
        user(result("a")),
        {"role": "system", "content": [{"type": "tool_removal"}]},
        assistant(),
    ],
    "a server-side tool": [
        assistant({"type": "server_tool_use", "id": "s", "name": "x", "input": {}}, use("a")),
        user(result("a")),
    ],
    "called by a server-side tool": [
        assistant({**use("a"), "caller": {"type": "code_execution_20250825", "tool_id": "s"}}),
        user(result("a")),
    ],
    "a string as a block": [assistant("hm", use("a")), user(result("a"))],
    "a result by the assistant": [assistant(use("a"), result("z")), user(result("a"))],
    "chat: no result": [asks(None, "a"), user()],
    "chat: a result too few": [asks(None, "a", "b"), tool("a"), user()],
    "chat: a result too many": [asks(None, "a"), tool("a"), tool("b")],
    "chat: a result twice": [asks(None, "a"), tool("a"), tool("a")],
    "chat: interleaved": [asks(None, "a", "b"), tool("a"), user(), tool("b")],
    "chat: late": [asks(None, "a"), tool("a", "none yet"), user(), tool("a")],
    "chat: an empty id": [asks(None, ""), tool("")],
    "chat: no list": [{"role": "assistant", "tool_calls": {"id": "a"}}, tool("a")],
    "chat: odd calls": [{"role": "assistant", "tool_calls": ["a", None, {}]}, tool("a")],
    "chat: a refusal": [asks(None, "a", refusal="no"), tool("a")],
    "chat: audio": [asks(None, "a", audio={"id": "x"}), tool("a")],
    "chat: null content": [asks(None, "a"), tool("a", None)],
    "chat: a number is said": [asks(5, "a"), tool("a")],
    "chat: a blockwise result": [asks(None, "a"), user(result("a"))],
    "the old way": [
        {"role": "assistant", "content": None, "function_call": {"name": "x", "arguments": ""}},
        {"role": "function", "name": "x", "content": "1"},
    ],
}


@pytest.mark.parametrize("odd", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_does_not_fit_is_left_alone(odd: list[Any]) -> None:
    messages = [user(), *odd, user(), assistant(), user(), assistant()]
    assert collapse(messages) == messages
    pairs = [[assistant(use(i)), user(result(i), text("and?"))] for i in ("n1", "n2")]
    out = collapse([user(), *pairs[0], *odd, *pairs[1], assistant()])
    assert out[:3] == [user(), assistant(text(line("n1"))), user(text("and?"))]
    assert [message for message in odd if message in out] == odd


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, {"role": []}, {"role": "assistant"}])
def test_odd_messages_are_left_alone(odd: Any) -> None:
    pair = [assistant(use("a")), user(result("a"), text("and?"))]
    out = collapse([user(), odd, *pair, odd, assistant(), 7])
    assert out[0] == user()
    assert out[-1] == 7
    assert line("a") in json.dumps(out, ensure_ascii=False)


def test_a_neighbour_with_open_calls_is_not_joined() -> None:
    messages = [user(), assistant(use("z")), assistant(use("a")), user(result("a")), assistant()]
    assert collapse(messages)[1:] == [assistant(use("z")), assistant(text(line("a")), text("done"))]


def test_neighbours_that_were_there_before_join_too() -> None:
    chat = [user(), assistant(), asks(None, "a"), tool("a"), user(), assistant(), user()]
    merged = {"role": "assistant", "content": f"done\n{line('a')}"}
    assert collapse(chat) == [user(), merged, user(), assistant(), user()]


def test_a_refusal_is_not_joined() -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I would rather not."}
    chat = [user(), asks(None, "a"), tool("a"), refusal, asks(None, "b"), tool("b"), assistant()]
    one, two = (
        {"role": "assistant", "content": words} for words in (line("a"), f"{line('b')}\ndone")
    )
    assert collapse(chat) == [user(), one, refusal, two]


def test_what_stays_is_shared_and_what_changes_is_not() -> None:
    messages = [user(), assistant(use("a")), user(result("a")), assistant(), user(text("?"))]
    out = collapse(messages)
    assert out is not messages
    assert out[-1] is messages[-1]
    out[1]["content"].append(text("more"))
    out[1]["role"] = "x"
    assert messages[3] == assistant()
    assert messages[1] == assistant(use("a"))


def test_cutting_comes_first() -> None:
    messages = [user(), assistant(use("a")), user(result("a", "x" * 99)), assistant(use("b"))]
    messages += [user(result("b", "y" * 99, is_error=True))]
    assert compress_messages(messages, CompressorConfig(1, 0)) == [
        user(),
        assistant(text(line("a")), use("b")),
        user(result("b", "yyyy" + MARKER, is_error=True)),
    ]


def test_a_thousand_calls_and_a_thousand_turns() -> None:
    ids = [f"c{number}" for number in range(14_408)]
    chat = [user(), asks(None, *ids), *map(tool, reversed(ids)), assistant()]
    assert collapse(chat)[1]["content"].count("[Called grep") == len(ids)
    chat = [message for call_id in ids for message in (asks(None, call_id), tool(call_id))]
    loose = [tool(call_id) for call_id in ids[::2]]
    assert collapse([*chat, user(), *loose, user(), assistant()])[-2:] == [user(), assistant()]


# --- collapsing: random histories ----------------------------------------------------------

said = st.sampled_from(["Hm.", "Let me look.", "é̂", "x" * 60, "a\nb", "[Tool: x]", "\ud800"])
result_contents = st.sampled_from(
    ["", "found", "y" * 200, "Error: none", "z" * 50 + MARKER]
) | st.lists(st.sampled_from([text("one"), text("w" * 90), IMAGE, DOCUMENT]), max_size=4)
flags = st.sampled_from([{}, {"is_error": True}, {"is_error": False}])
beside = st.lists(st.builds(text, said) | st.just(IMAGE), max_size=2)
spoken_blocks = st.lists(st.builds(text, said), max_size=2)
limits = st.integers(0, 4)
chat_contents = st.sampled_from(["", "found", "Error: x", "y" * 200, [text("z" * 90)]])


@st.composite
def anthropic_histories(draw: st.DrawFn) -> list[Wire]:
    """What the Messages API takes."""
    messages: list[Wire] = [user()]
    thinks = draw(st.booleans())
    for turn in range(draw(st.integers(0, 7))):
        lead = [THINKING] if thinks and draw(st.booleans()) else []
        ids = [f"t{turn}_{number}" for number in range(draw(st.integers(0, 3)))]
        words = draw(spoken_blocks)
        if not ids:
            words, answer = [*words, text("So.")], [text("Go.")]
        else:
            order = draw(st.permutations(ids))
            answer = [result(i, draw(result_contents), **draw(flags)) for i in order]
        messages += [assistant(*lead, *words, *map(use, ids)), user(*answer, *draw(beside))]
        messages += [NEW_TOOLS] if draw(st.integers(0, 5)) == 0 else []
    return messages + ([assistant(text("End."))] if draw(st.booleans()) else [])


@st.composite
def chat_histories(draw: st.DrawFn) -> list[Wire]:
    """What Chat Completions takes; ids are used again in every turn, or not."""
    messages: list[Wire] = [{"role": "system", "content": "Be brief."}]
    reuses, thinks = draw(st.booleans()), draw(st.booleans())
    for turn in range(draw(st.integers(0, 7))):
        ids = [f"c{0 if reuses else turn}_{number}" for number in range(draw(st.integers(0, 3)))]
        more = {"reasoning_content": "hm"} if thinks and draw(st.booleans()) else {}
        words = draw(st.none() | said | spoken_blocks)
        if ids:
            messages += [asks(words, *ids, **more)]
            order = draw(st.permutations(ids))
            messages += [tool(i, draw(chat_contents), **draw(flags)) for i in order]
        else:
            messages.append({**assistant(), **more})
        if draw(st.booleans()):
            messages.append({"role": "user", "content": draw(said)})
    return messages


NASTY = ["a", "b", "", "functions.Bash:0", "x" * 1500, None, 3, ["a"]]
ids_of_all_kinds = st.sampled_from(NASTY)
ODD_BLOCKS: list[Any] = [None, "words", 3, {}, {"type": None}, {"type": ["x"]}, {"type": "text"}]
ODD_BLOCKS += [{"type": "text", "text": 4}, {"type": "server_tool_use", "id": "a"}]
odd_blocks = st.sampled_from([*ODD_BLOCKS, IMAGE, {"type": "redacted_thinking", "data": "x"}])
any_content = st.none() | said | st.lists(odd_blocks | st.builds(text, said), max_size=2)
any_block = (
    st.builds(use, ids_of_all_kinds, st.sampled_from(["grep", "", None]))
    | st.builds(result, ids_of_all_kinds, any_content)
    | st.builds(use, st.just("a"))
    | st.builds(result, st.just("a"))
    | st.builds(text, said)
    | st.just(THINKING)
    | odd_blocks
)
any_message: st.SearchStrategy[Any] = (
    st.builds(assistant, any_block, any_block)
    | st.builds(user, any_block, any_block)
    | st.builds(asks, any_content, ids_of_all_kinds)
    | st.builds(asks, st.none(), ids_of_all_kinds, ids_of_all_kinds)
    | st.builds(tool, ids_of_all_kinds, any_content)
    | st.sampled_from([assistant(), user(), None, {}, {"role": "assistant", "content": 5}])
    | st.sampled_from([assistant(use("a")), user(result("a")), asks(None, "a"), tool("a")])
)
any_history = st.lists(any_message, max_size=14)


def blocks_of(message: Any) -> list[Any]:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return content
    return [text(content)] if isinstance(content, str) and content else []


def kind_of(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def said_in(messages: list[Any]) -> list[tuple[Any, Any]]:
    """Who said what, results, calls and thinking apart."""
    apart = ("tool_use", "tool_result", *THINKING_KINDS)
    return [
        (message["role"], block)
        for message in messages
        if isinstance(message, dict) and message.get("role") != "tool"
        for block in blocks_of(message)
        if kind_of(block) not in apart
    ]


def assert_nothing_lost(before: list[Any], after: list[Any]) -> None:
    """Everything said is still said by the same one and in the same order."""
    rest = said_in(after)
    place = offset = 0
    for role, block in said_in(before):
        while True:
            assert place < len(rest), f"lost: {block!r:.200}"
            if rest[place] == (role, block) and not offset:
                place += 1
                break
            if is_within(block, rest[place], role, offset):
                offset = rest[place][1]["text"].index(block["text"], offset) + len(block["text"])
                break
            place, offset = place + 1, 0


def is_within(block: Any, other: tuple[Any, Any], role: Any, offset: int) -> bool:
    """Texts of a chat are joined into one."""
    words, among = (b.get("text") if isinstance(b, dict) else None for b in (block, other[1]))
    if not isinstance(words, str) or not isinstance(among, str):
        return False
    return bool(role == other[0]) and among.find(words, offset) >= 0


def calls_in(messages: list[Any]) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    for place, message in enumerate(messages):
        if isinstance(message, dict):
            uses = [b.get("id") for b in blocks_of(message) if kind_of(b) == "tool_use"]
            chat = message.get("tool_calls") or []
            found += [(place, i) for i in uses]
            found += [(place, call.get("id")) for call in chat if isinstance(call, dict)]
    return found


def results_in(messages: list[Any]) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    for place, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "tool":
            found.append((place, message.get("tool_call_id")))
            continue
        found += [
            (place, b.get("tool_use_id")) for b in blocks_of(message) if kind_of(b) == "tool_result"
        ]
    return found


def orphans(messages: list[Any]) -> int:
    """Calls without any result of that id behind them, and results without such a call before."""
    calls, results = calls_in(messages), results_in(messages)
    silent = [c for c in calls if not any(r[0] > c[0] and r[1] == c[1] for r in results)]
    strays = [r for r in results if not any(c[0] < r[0] and c[1] == r[1] for c in calls)]
    return len(silent) + len(strays)


def alternates(messages: list[Any]) -> bool:
    roles = [message["role"] for message in messages if message["role"] != "system"]
    return all(one != other for one, other in pairwise(roles))


def assert_thinking_fits(messages: list[Wire]) -> None:
    for message in messages:
        kinds = [kind_of(block) in THINKING_KINDS for block in blocks_of(message)]
        assert not any(kinds) or kinds[0]


def loops_of(messages: list[Wire]) -> list[list[Wire]]:
    """The messages between two words of the user."""
    loops: list[list[Wire]] = [[]]
    for message in messages:
        loops[-1].append(message)
        kinds = [kind_of(block) for block in blocks_of(message)]
        if message["role"] == "user" and any(kind != "tool_result" for kind in kinds):
            loops.append([])
    return loops


@given(anthropic_histories(), limits)
def test_anthropic_histories_stay_valid(messages: list[Wire], limit: int) -> None:
    assert validate(messages, "anthropic") == []
    out = collapse(messages, limit)
    assert validate(out, "anthropic") == []
    assert alternates(out)
    assert_thinking_fits(out)
    assert out[-1]["role"] == messages[-1]["role"]
    assert_nothing_lost(messages, out)


@given(chat_histories(), limits)
def test_chat_histories_stay_valid(messages: list[Wire], limit: int) -> None:
    assert problems_of(messages) == []
    out = collapse(messages, limit)
    assert problems_of(out) == []
    assert_nothing_lost(messages, out)


@given(anthropic_histories() | chat_histories(), limits)
def test_the_old_calls_and_no_others_are_lines(messages: list[Wire], limit: int) -> None:
    out = collapse(messages, limit, template="<{id}/{N}>")
    lines = "\n".join(block["text"] for _, block in said_in(out) if kind_of(block) == "text")
    assert len(calls_in(out)) + lines.count("/") == len(calls_in(messages))
    for place, call_id in calls_in(messages):
        told = f"<{call_id}/{later_than(place, messages)}"
        is_kept = stays(messages, place, limit) or is_held(messages, place, limit)
        assert (told in lines) != is_kept


def later_than(place: int, messages: list[Wire]) -> int:
    return sum(message["role"] == "assistant" for message in messages[place + 1 :])


def stays(messages: list[Wire], place: int, limit: int) -> bool:
    is_old = later_than(place, messages) > limit
    return not is_old or (
        messages[place + 1]["role"] == "user" and messages[place + 2] == NEW_TOOLS
    )


def is_held(messages: list[Wire], place: int, limit: int) -> bool:
    """Whether the call is in a loop with thinking of which some call stays."""
    start = 0
    for loop in loops_of(messages):
        stop = start + len(loop)
        if start <= place < stop:
            dumped = json.dumps(loop)
            thinks = '"thinking"' in dumped or '"reasoning_content"' in dumped
            calls = {call for call, _ in calls_in(messages) if start <= call < stop}
            return thinks and any(stays(messages, call, limit) for call in calls)
        start = stop
    raise AssertionError(place)


@given(anthropic_histories(), limits)
def test_the_error_state_is_told(messages: list[Wire], limit: int) -> None:
    failed = {
        block["tool_use_id"]: block.get("is_error") is True
        for message in messages
        for block in blocks_of(message)
        if kind_of(block) == "tool_result"
    }
    out = collapse(messages, limit)
    left = {call_id for _, call_id in calls_in(out)}
    words = "\n".join(block["text"] for _, block in said_in(out) if kind_of(block) == "text")
    for call_id in failed.keys() - left:
        assert line(call_id, error=ERROR if failed[call_id] else "") in words


@given(anthropic_histories() | chat_histories(), st.integers(0, 40), limits)
def test_both_together(messages: list[Wire], tokens: int, limit: int) -> None:
    config = CompressorConfig(tokens, limit)
    before = copy.deepcopy(messages)
    out = compress_messages(messages, config)
    assert messages == before
    assert compress_messages(out, config) == out
    one_by_one = [
        compress_tool_result(message, config)
        if message["role"] == "tool"
        else {**message, "content": [compress_tool_result(b, config) for b in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]
    assert out == collapse_tool_chains(one_by_one, config)
    assert not problems_of(out)


def problems_of(messages: list[Wire]) -> list[Violation]:
    """But for the callers' own keys, such as the `is_error` of a chat's result: those stay."""
    provider = "openai" if messages[0]["role"] == "system" else "anthropic"
    return [found for found in validate(messages, provider) if found.rule != "unknown-key"]


@given(anthropic_histories() | chat_histories(), limits, st.data())
def test_collapsing_again_later_is_collapsing_once(
    messages: list[Wire], limit: int, data: st.DataObject
) -> None:
    """A history that is collapsed as it grows is the same as one that is collapsed at its end."""
    messages = unthinking(messages)
    middle = data.draw(st.integers(0, len(messages)))
    grown = [*collapse(messages[:middle], limit), *messages[middle:]]
    assert read_aloud(collapse(grown, limit)) == read_aloud(collapse(messages, limit))


def unthinking(messages: list[Wire]) -> list[Wire]:
    """The messages without thinking, and with a word of the user between two answers."""
    out: list[Wire] = []
    for message in messages:
        if out and (out[-1]["role"], message["role"]) == ("assistant", "assistant"):
            out.append(user())
        blocks = [block for block in blocks_of(message) if kind_of(block) not in THINKING_KINDS]
        out.append({**message, "content": blocks} if THINKING in blocks_of(message) else message)
        out[-1] = {key: value for key, value in out[-1].items() if key != "reasoning_content"}
    return out


def read_aloud(messages: list[Wire]) -> list[Any]:
    """The messages with the texts of each as one."""
    return [
        ("\n".join(b["text"] for b in blocks_of(message) if "text" in b), calls_in([message]))
        for message in messages
    ]


@given(any_history, st.integers(0, 5), limits)
@example([assistant(use("a")), user(result("a")), user(result("a")), assistant()], 0, 0)
@example([asks(None, "a"), asks(None, "a"), tool("a"), assistant()], 0, 0)
def test_histories_of_any_kind(messages: list[Any], tokens: int, limit: int) -> None:
    out = collapse(messages, limit)
    assert orphans(out) <= orphans(messages)
    assert_nothing_lost(messages, out)
    config = CompressorConfig(tokens, limit)
    before = copy.deepcopy(messages)
    both = compress_messages(messages, config)
    assert messages == before
    assert compress_messages(both, config) == both


# --- real transcripts ----------------------------------------------------------------------


def documents() -> Iterator[tuple[str, Any]]:
    for path in sorted(DATA.rglob("*")):
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.endswith(".json"):
                        yield f"{path.name}/{name}", json.loads(archive.read(name))
        elif path.is_file() and path.suffix in (".json", ".jsonl", ".traj"):
            yield from read_document(path)


def read_document(path: Path) -> Iterator[tuple[str, Any]]:
    raw = path.read_text("utf-8")
    with suppress(ValueError):
        yield path.name, json.loads(raw)
        return
    rows = []
    for row in raw.splitlines():
        with suppress(ValueError):
            rows.append(json.loads(row))
    yield path.name, rows
    # A session of one message per line.
    spoken = [row["message"] for row in rows if is_message(row.get("message"))]
    yield path.name, spoken
    yield path.name, merged(spoken)


def merged(messages: list[Wire]) -> list[Wire]:
    """As they were sent: a session has each block of an answer in a line of its own."""
    return [
        {"role": role, "content": [block for message in group for block in blocks_of(message)]}
        for role, group in groupby(messages, lambda message: message["role"])
    ]


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def arrays_in(value: Any) -> Iterator[list[Any]]:
    """Every list of messages anywhere in it, in strings of JSON too."""
    if isinstance(value, str) and value[:1] in ("{", "[") and '"role"' in value:
        with suppress(ValueError):
            yield from arrays_in(json.loads(value))
    elif isinstance(value, dict):
        for inner in value.values():
            yield from arrays_in(inner)
    elif isinstance(value, list):
        is_array = len(value) > 2 and all(map(is_message, value))
        if is_array and (calls_in(value) or results_in(value)):
            yield value
        for inner in value:
            yield from arrays_in(inner)


@pytest.mark.skipif(not DATA.is_dir(), reason="the transcripts are not here")
def test_real_transcripts_stay_as_valid_as_they_were() -> None:
    arrays = collapsed = 0
    for name, document in documents():
        for messages in arrays_in(document):
            arrays += 1
            before = copy.deepcopy(messages)
            for limit in (0, 3, 10):
                out = collapse(messages, limit)
                collapsed += len(calls_in(messages)) - len(calls_in(out))
                assert orphans(out) <= orphans(messages), name
                assert_nothing_lost(messages, out)
                both = compress_messages(messages, CompressorConfig(100, limit))
                assert compress_messages(both, CompressorConfig(100, limit)) == both
                assert len(json.dumps(both)) <= len(json.dumps(messages)), name
                for provider in ("openai", "anthropic"):
                    if not validate(messages, provider):
                        assert not validate(out, provider), name
                        assert not validate(both, provider), name
            assert messages == before
    assert arrays > 50
    assert collapsed > 500
