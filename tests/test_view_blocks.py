"""From JSON, a context or a dialog to blocks: every call and every result, each with its name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import BY_FOLDER, real_files
from tests.importing import mutated
from tests.strategies import histories, json_values, odd_histories
from tract import Tract
from tract.errors import InputError
from tract.importers.writer import import_file
from tract.model import Form, Message
from tract.providers.requests import provider_of
from tract.view.ansi import plain
from tract.view.blocks import (
    OtherBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolsBlock,
    ToolUseBlock,
    ViewBlock,
    format_context,
    format_messages,
    format_request,
)
from tract.view.conversation import format_dialog
from tract.view.lines import FULL, SUMMARY, TOOLS, Look, format_lines, lines_of, pair_style
from tract.view.sanitize import one_line

# One history in everybody's words

Call = tuple[str, str, dict[str, Any]]
Turn = tuple[list[Call], list[tuple[str, str]]]


def in_anthropics(turns: list[Turn]) -> Any:
    messages: list[Any] = []
    for calls, answers in turns:
        uses = [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls]
        results = [{"type": "tool_result", "tool_use_id": i, "content": t} for i, t in answers]
        messages += [{"role": "assistant", "content": uses}] if uses else []
        messages += [{"role": "user", "content": results}] if results else []
    return {"system": "s", "messages": messages}


def in_chats(turns: list[Turn]) -> Any:
    messages: list[Any] = [{"role": "system", "content": "s"}]
    for calls, answers in turns:
        made = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, n, a in calls
        ]
        messages += [{"role": "assistant", "content": None, "tool_calls": made}] if made else []
        messages += [{"role": "tool", "tool_call_id": i, "content": t} for i, t in answers]
    return {"messages": messages}


def in_responses(turns: list[Turn]) -> Any:
    items: list[Any] = []
    for calls, answers in turns:
        items += [
            {"type": "function_call", "call_id": i, "name": n, "arguments": json.dumps(a)}
            for i, n, a in calls
        ]
        items += [{"type": "function_call_output", "call_id": i, "output": t} for i, t in answers]
        items.append({"role": "user", "content": "and"})
    return {"instructions": "s", "input": items}


def in_geminis(turns: list[Turn]) -> Any:
    contents: list[Any] = []
    names: dict[str, list[str]] = {}
    for calls, answers in turns:
        for call_id, name, _ in calls:
            names.setdefault(call_id, []).append(name)
        asked = [{"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in calls]
        given_ = [
            {"id": i, "name": names.get(i, ["unknown_tool"]).pop(0), "response": {"output": t}}
            for i, t in answers
        ]
        contents += [{"role": "model", "parts": asked}] if asked else []
        parts = [{"functionResponse": one} for one in given_]
        contents += [{"role": "user", "parts": parts}] if parts else []
    return {"contents": contents}


def in_lists(turns: list[Turn]) -> Any:
    return in_anthropics(turns)["messages"]


PROVIDERS: list[Callable[[list[Turn]], Any]] = [
    *(in_anthropics, in_chats, in_responses, in_geminis, in_lists),
]
provider = pytest.mark.parametrize("words", PROVIDERS, ids=lambda words: words.__name__)


def path(name: str) -> dict[str, Any]:
    return {"file_path": name}


def tools(blocks: list[ViewBlock]) -> list[ToolUseBlock | ToolResultBlock]:
    return [block for block in blocks if isinstance(block, ToolUseBlock | ToolResultBlock)]


def results(blocks: list[ViewBlock]) -> list[tuple[str, str, str, int | None]]:
    found = [block for block in blocks if isinstance(block, ToolResultBlock)]
    return [(block.text, block.tool_name, block.detail, block.pair) for block in found]


@provider
def test_a_result_knows_its_call(words: Any) -> None:
    turns: list[Turn] = [
        ([("a", "Read", path("x")), ("b", "Edit", path("y"))], [("b", "2"), ("a", "1")]),
        ([("c", "Read", path("z"))], [("c", "3")]),
    ]
    assert results(format_request(words(turns))) == [
        ("2", "Edit", "y", 1),
        ("1", "Read", "x", 0),
        ("3", "Read", "z", 2),
    ]


@provider
def test_a_result_knows_its_call_from_far(words: Any) -> None:
    between: list[Turn] = [([(f"m{n}", "Run", {})], [(f"m{n}", "-")]) for n in range(50)]
    turns: list[Turn] = [([("far", "Read", path("x"))], []), *between, ([], [("far", "1")])]
    assert results(format_request(words(turns)))[-1] == ("1", "Read", "x", 0)


@provider
def test_reused_ids_mean_the_nearest_call_without_an_answer(words: Any) -> None:
    turns: list[Turn] = [
        ([("a", "Read", path("x"))], [("a", "1")]),
        ([("a", "Edit", path("y"))], [("a", "2")]),
    ]
    assert results(format_request(words(turns))) == [("1", "Read", "x", 0), ("2", "Edit", "y", 1)]


@provider
def test_parallel_calls_with_one_id_are_answered_in_order(words: Any) -> None:
    calls = [("a", "Read", path("x")), ("a", "Edit", path("y")), ("a", "Run", path("z"))]
    turns: list[Turn] = [(calls, [("a", "1"), ("a", "2"), ("a", "3")])]
    assert results(format_request(words(turns))) == [
        ("1", "Read", "x", 0),
        ("2", "Edit", "y", 1),
        ("3", "Run", "z", 2),
    ]


@provider
def test_a_stray_result_is_still_shown(words: Any) -> None:
    turns: list[Turn] = [([("a", "Read", path("x"))], [("a", "1"), ("nobody", "2")])]
    blocks = format_request(words(turns))
    text, _, detail, pair = results(blocks)[-1]
    assert (text, detail, pair) == ("2", "", None)
    lines = [plain(line) for line in format_lines(blocks)]
    stray = "  [tool_result] (1 bytes)"
    assert any(line == stray or line.endswith("unknown_tool (1 bytes)") for line in lines)


@provider
def test_calls_are_told_with_their_arguments(words: Any) -> None:
    (use,) = tools(format_request(words([([("a", "Read", path("x"))], [])])))
    assert isinstance(use, ToolUseBlock)
    assert (use.tool_use_id, use.tool_name, use.detail, use.pair) == ("a", "Read", "x", 0)
    assert use.arguments in (path("x"), json.dumps(path("x")))


def test_blocks_of_other_kinds() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "hi"},
        {"type": "text", "text": ""},
        {"type": "image", "source": {}},
    ]
    tools_ = [{"name": "a", "input_schema": {}}, {"type": "web_search_20250305", "name": "b"}]
    request = {"tools": tools_, "messages": [{"role": "assistant", "content": content}]}
    assert format_request(request) == [
        ToolsBlock(names=("a", "b")),
        ThinkingBlock(role="assistant", text="hm"),
        TextBlock(role="assistant", text="hi"),
        OtherBlock(role="assistant", kind="image", data={"type": "image", "source": {}}),
    ]


def test_a_thought_beside_the_content() -> None:
    message = {"role": "assistant", "content": "hi", "reasoning_content": "hm"}
    assert format_request({"messages": [message]}) == [
        ThinkingBlock(role="assistant", text="hm"),
        TextBlock(role="assistant", text="hi"),
    ]


# Tools that a provider runs


SEARCH: dict[str, Any] = {
    "type": "server_tool_use",
    "id": "s",
    "name": "web_search",
    "input": {"query": "tract"},
}
FOUND: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}


def test_a_tool_of_the_provider_is_a_pair_too() -> None:
    messages = [{"role": "assistant", "content": [SEARCH, FOUND, {"type": "text", "text": "so"}]}]
    use, result = tools(format_request({"messages": messages}))
    assert (
        (use.tool_name, use.detail) == (result.tool_name, result.detail) == ("web_search", "tract")
    )
    assert use.pair is not None
    assert use.pair == result.pair


def test_a_tool_of_the_provider_may_end_in_a_later_message() -> None:
    use = {"type": "tool_use", "id": "a", "name": "Read", "input": path("x")}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use, SEARCH]},
        {"role": "user", "content": [answer]},
        {"role": "assistant", "content": [FOUND]},
    ]
    _, search, _, found = tools(format_request({"messages": messages}))
    assert (found.tool_name, found.detail, found.pair) == ("web_search", "tract", search.pair)


def test_tools_of_the_provider_have_numbers_and_colours_of_their_own() -> None:
    use = {"type": "tool_use", "id": "a", "name": "Read", "input": {}}
    messages = [
        {"role": "assistant", "content": content}
        for content in ([SEARCH, FOUND], [use], [SEARCH, SEARCH | {"id": "t"}, FOUND], [SEARCH])
    ]
    uses = [b for b in tools(format_request({"messages": messages})) if isinstance(b, ToolUseBlock)]
    assert len({block.pair for block in uses}) == len(uses) == 5
    firsts = [uses[0], uses[2], uses[4]]
    assert len({pair_style(block.pair) for block in firsts}) == 3


def test_both_halves_in_one_item() -> None:
    item = {
        "type": "mcp_call",
        "id": "m",
        "name": "roll",
        "arguments": '{"path": "x"}',
        "output": "4",
    }
    use, result = tools(format_request({"input": [item]}))
    assert (result.tool_name, result.detail, result.pair) == ("roll", "x", use.pair)


# Odd ones


ANTHROPIC: dict[str, Any] = {
    **in_anthropics([([("a", "Read", path("x"))], [("a", "1")])]),
    "tools": [{"name": "Read", "input_schema": {}}],
}
ANTHROPIC["messages"].append({"role": "assistant", "content": [SEARCH, FOUND]})
CHAT = {
    **in_chats([([("a", "Read", path("x"))], [("a", "1")])]),
    "tools": [{"type": "function", "function": {"name": "Read"}}],
}
RESPONSES = {
    **in_responses([([("a", "Read", path("x"))], [("a", "1")])]),
    "tools": [{"type": "function", "name": "Read"}],
}
GEMINI = {
    **in_geminis([([("a", "Read", path("x"))], [("a", "1")])]),
    "tools": [{"functionDeclarations": [{"name": "Read"}]}],
}
DOCUMENTS = [ANTHROPIC, CHAT, RESPONSES, GEMINI, ANTHROPIC["messages"], RESPONSES["input"]]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


@st.composite
def with_odd_values(draw: st.DrawFn) -> Any:
    """A request with arbitrary JSON in some of its fields."""
    document = deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        inner, key = draw(st.sampled_from([*places(document), ([None], 0)]))
        inner[key] = draw(json_values)
    return document


def kinds_in(value: Any) -> Counter[str]:
    """How many calls and results are in messages, going by what no reader could miss."""
    found: Counter[str] = Counter()
    for inner, key in places(value):
        part = inner[key]
        if isinstance(part, dict) and isinstance(inner, list):
            kind = part.get("type")
            found["calls"] += kind in ("tool_use", "function_call", "server_tool_use")
            found["results"] += kind in ("tool_result", "function_call_output", FOUND["type"])
            found["results"] += part.get("role") == "tool"
            found["calls"] += isinstance(part.get("functionCall"), dict)
            found["results"] += isinstance(part.get("functionResponse"), dict)
        if key == "tool_calls" and isinstance(part, list):
            found["calls"] += sum(isinstance(call, dict) for call in part)
    return found


def history_of(request: Any) -> Any:
    given = request if isinstance(request, dict) else {"messages": request}
    return [
        given[key] for key in ("messages", "input", "contents") if isinstance(given.get(key), list)
    ][:1]


def read(request: Any) -> list[ViewBlock]:
    """Any JSON: it is shown, or it is no request at all."""
    before = deepcopy(request)
    try:
        blocks = format_request(request)
    except InputError:
        with pytest.raises(InputError):
            provider_of(request)
        return []
    assert request == before
    for look in (Look(tools=tools_, has_tags=True) for tools_ in TOOLS):
        for line in format_lines(blocks, look):
            assert len(plain(line).splitlines()) <= 1
    return blocks


@settings(max_examples=200)
@given(with_odd_values())
def test_arbitrary_json_in_every_field(request_: Any) -> None:
    read(request_)


@settings(max_examples=200)
@given(st.sampled_from(DOCUMENTS).flatmap(mutated))
def test_fields_that_are_gone_or_doubled(request_: Any) -> None:
    read(request_)


@given(json_values)
def test_arbitrary_json(request_: Any) -> None:
    read(request_)
    read({"messages": [request_]})
    read({"messages": [{"role": "user", "content": request_}]})
    read({"input": [request_, {"type": "function_call", "call_id": request_}]})
    read({"contents": [request_, {"parts": request_}]})


ODD: list[Any] = [None, 5, 1.5, True, "", "x", [], ["a", "b"], {}, {"a": 1}, [[{}]], {"type": []}]
FIELDS = [
    *("id", "name", "input", "tool_use_id", "content", "is_error", "call_id", "arguments"),
    *("output", "function", "tool_call_id", "args", "response", "role"),
]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document)[:12])
def test_every_call_and_result_has_a_block_however_odd(document: Any, field: str) -> None:
    for odd in ODD:
        changed = deepcopy(document)
        for inner, key in list(places(changed)):
            if key == field and not (field == "content" and isinstance(inner[key], list)):
                inner[key] = deepcopy(odd)
        expected = kinds_in(history_of(changed))
        found = tools(read(changed))
        uses = sum(isinstance(block, ToolUseBlock) for block in found)
        assert uses >= expected["calls"], changed
        assert len(found) - uses >= expected["results"], changed
        for block in found:
            assert all(lines_of(block, Look(tools=state)) for state in (FULL, SUMMARY))


def test_odd_tools_are_named_as_well_as_can_be() -> None:
    odd = [{"name": 5}, {}, {"type": ["x"]}, {"functionDeclarations": 5}, {"name": "Read"}]
    (block,) = format_request({"tools": odd, "messages": []})
    assert isinstance(block, ToolsBlock)
    assert len(block.names) == len(odd)
    assert block.names[0] == '{"name": 5}'
    assert block.names[-1] == "Read"


@pytest.mark.parametrize("given", [None, 5, "x", True, {}, {"a": []}, {"messages": "x"}])
def test_what_is_no_request_is_refused(given: Any) -> None:
    with pytest.raises(InputError):
        format_request(given)


@given(histories | odd_histories)
def test_every_call_and_result_of_messages_has_its_block(messages: list[Message]) -> None:
    blocks = tools(format_messages(messages))
    calls = [(call.id, call.name) for message in messages for call in message.tool_calls]
    answers = [message.tool_call_id for message in messages if message.role == "tool"]
    uses = [b for b in blocks if isinstance(b, ToolUseBlock)]
    assert [(block.tool_use_id, block.tool_name) for block in uses] == calls
    assert [b.tool_use_id for b in blocks if isinstance(b, ToolResultBlock)] == answers
    names = {block.pair: block.tool_name for block in uses}
    for block in blocks:
        if isinstance(block, ToolResultBlock) and block.pair is not None:
            said = [m.name for m in messages if m.tool_call_id == block.tool_use_id]
            assert block.tool_name in (names[block.pair], *said)


# From a dialog


def test_a_context_and_a_dialog_tell_forms_and_tokens() -> None:
    tract = Tract.open(":memory:")
    tract.user("go")
    tract.assistant("", tool_calls=[{"id": "a", "name": "Read", "arguments": path("x")}])
    text = "é line\n" * 500
    commit = tract.tool_result("a", "Read", text)
    tract.user("and")
    tract.reshape({commit.commit_hash: "reference"})
    (context,) = (b for b in format_context(tract.compile()) if isinstance(b, ToolResultBlock))
    (sent,) = (b for b in format_dialog(tract.read(), sent=True) if isinstance(b, ToolResultBlock))
    (kept,) = (b for b in format_dialog(tract.read()) if isinstance(b, ToolResultBlock))
    for block in (context, sent, kept):
        assert (block.tool_name, block.detail, block.form) == ("Read", "x", Form.REFERENCE)
        assert block.commit == commit.commit_hash
        assert block.tokens == commit.token_count > block.sent_tokens > 0
    assert context.text == sent.text != text
    assert kept.text == text
    assert kept.size == sent.size == len(text.encode())


def test_a_size_is_the_same_whatever_is_sent() -> None:
    tract = Tract.open(":memory:")
    tract.assistant("", tool_calls=[{"id": "a", "name": "Read", "arguments": {}}])
    commit = tract.tool_result("a", "Read", 'é "quoted"\n' * 500)
    tract.user("and")
    sizes = []
    for form in ("full", "reference", "truncated", "summary", "collapsed"):
        tract.reshape({commit.commit_hash: form})
        for sent in (True, False):
            blocks = format_dialog(tract.read(), sent=sent)
            sizes += [b.size for b in blocks if isinstance(b, ToolResultBlock)]
    assert set(sizes) == {len(('é "quoted"\n' * 500).encode())}


# Real files


FILES = [file for folder in BY_FOLDER for file in real_files(folder)]


@cache
def imported(file: Path) -> list[tuple[Tract, str]]:
    """All branches of all dialogs of a file."""
    tract = Tract.open(":memory:")
    dialogs = [tract.sibling(name) for name in import_file(tract, file).dialogs]
    return [(dialog, branch) for dialog in dialogs for branch in dialog.branches()]


@pytest.mark.skipif(not FILES, reason="the real transcripts are not here")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
@pytest.mark.parametrize("state", [FULL, SUMMARY])
def test_every_call_and_result_of_real_files_is_seen(file: Path, state: str) -> None:
    for dialog, branch in imported(file):
        dialog.checkout(branch)
        blocks = list(format_dialog(dialog.read()))
        stored = dialog.stored().messages
        found = tools(blocks)
        uses = {b.pair: b for b in found if isinstance(b, ToolUseBlock)}
        made = Counter((call.id, call.name) for m in stored for call in m.tool_calls)
        given_ = Counter(m.tool_call_id for m in stored if m.role == "tool")
        assert made <= Counter((b.tool_use_id, b.tool_name) for b in uses.values())
        assert given_ <= Counter(b.tool_use_id for b in found if isinstance(b, ToolResultBlock))
        called = {call.id for m in stored for call in m.tool_calls}
        for block in found:
            (head, *_) = lines_of(block, Look(tools=state))
            assert one_line(block.tool_name) in plain(head)
            if isinstance(block, ToolResultBlock) and block.tool_use_id in called:
                assert block.tool_name
                assert block.pair is not None
            if isinstance(block, ToolResultBlock) and block.pair is not None:
                use = uses[block.pair]
                assert (use.tool_use_id, use.detail) == (block.tool_use_id, block.detail)
                (asked, *_) = lines_of(use, Look(tools=state))
                own = pair_style(block.pair)
                assert own in {word for span in asked for word in span.style.split()}
                assert own in {word for span in head for word in span.style.split()}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "assistant", "content": None, "refusal": "I can't."}, "I can't."),
        ({"role": "assistant", "content": None, "audio": {"transcript": "aloud"}}, "aloud"),
        ({"role": "user", "content": ""}, "(empty)"),
        ({"role": "assistant", "content": []}, "(empty)"),
    ],
)
def test_no_message_is_invisible(message: dict[str, Any], said: str) -> None:
    lines = [plain(line) for line in format_lines(format_request([message]))]
    assert lines == [message["role"], f"    {said}"]


OTHER_WORDS = {
    "vercel": [
        {
            "role": "assistant",
            "content": [
                {"type": "tool-call", "toolCallId": "a", "toolName": "w", "input": {"q": "X"}},
                {"type": "tool-call", "toolCallId": "b", "toolName": "w", "input": {"q": "Y"}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "a", "output": {"type": "text"}},
                {"type": "tool-result", "toolCallId": "b", "output": {"type": "error-text"}},
            ],
        },
    ],
    "bedrock": [
        {
            "role": "assistant",
            "content": [
                {"toolUse": {"toolUseId": "a", "name": "w", "input": {"q": "X"}}},
                {"toolUse": {"toolUseId": "b", "name": "w", "input": {"q": "Y"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"text": "1"}]}},
                {"toolResult": {"toolUseId": "b", "content": [], "status": "error"}},
            ],
        },
    ],
}


@pytest.mark.parametrize("whose", OTHER_WORDS)
def test_calls_in_the_words_of_frameworks(whose: str) -> None:
    blocks = format_request(OTHER_WORDS[whose])
    uses = [b for b in blocks if isinstance(b, ToolUseBlock)]
    results = [b for b in blocks if isinstance(b, ToolResultBlock)]
    assert [(b.tool_name, b.detail) for b in uses] == [("w", "q=X"), ("w", "q=Y")]
    assert [(b.tool_name, b.detail, b.is_error) for b in results] == [
        ("w", "q=X", False),
        ("w", "q=Y", True),
    ]
    assert [b.pair for b in uses] == [b.pair for b in results]


def test_a_chat_result_that_is_flagged_is_an_error() -> None:
    flagged = {"role": "tool", "tool_call_id": "a", "content": "x", "is_error": True}
    (block,) = format_request([flagged])
    assert isinstance(block, ToolResultBlock)
    assert block.is_error


def test_the_numbers_of_hosted_calls_do_not_depend_on_the_database() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    pairs = []
    for others in (0, 3):
        with Tract.open(":memory:") as tract:
            for number in range(others):
                tract.sibling("other").user(str(number))
            tract.user("go")
            tract.commit({"role": "assistant", "content": [use]})
            blocks = list(format_dialog(tract.read()))
        pairs.append([b.pair for b in blocks if isinstance(b, ToolUseBlock)])
    assert pairs[0] == pairs[1] != []
