"""The clients: the real SDKs against a server on this machine, and the script."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.llm import GREP, KEY, MODEL, asked, client
from tests.llm_server import Call, LLMServer, Reply
from tract import Tract
from tract.errors import InputError, LLMCallError, MissingExtraError
from tract.llm import (
    AnthropicLLM,
    LLMClient,
    OpenAILLM,
    ResponsesLLM,
    ScriptedLLM,
    connect,
)
from tract.llm.sdk import SdkLLM
from tract.providers import load_answer

KINDS = ["anthropic", "openai", "responses"]
CALLS: list[Call] = [
    ("call_1", "grep", {"pattern": 'é "quoted" \\ 1'}),
    ("call_2", "grep", {"pattern": "b", "deep": {"numbers": [1, 2.5, 12345678901234567890]}}),
    ("call_3", "ls", {}),
]
NO_WAIT = {"retry-after-ms": "1", "retry-after": "0"}


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def running() -> Iterator[LLMServer]:
    with LLMServer() as server:
        yield server
        for llm in SHARED.values():
            llm.close()
        SHARED.clear()


@pytest.fixture
def server(running: LLMServer) -> LLMServer:
    running.replies.clear()
    running.requests.clear()
    running.hung_up.clear()
    return running


SHARED: dict[str, SdkLLM] = {}
"""Clients with the usual options, one of a kind: making one takes longer than asking it."""


def answered(
    kind: str,
    server: LLMServer,
    *replies: Reply,
    pieces: list[str] | None = None,
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    server.replies += replies
    on_text = None if pieces is None else pieces.append
    if options:
        with client(kind, server, **options) as llm:
            return llm.complete(asked(), config=config, on_text=on_text)
    if kind not in SHARED:
        SHARED[kind] = client(kind, server)
    return SHARED[kind].complete(asked(), config=config, on_text=on_text)


def failure(kind: str, server: LLMServer, *replies: Reply, **how: Any) -> str:
    with pytest.raises(LLMCallError) as caught:
        answered(kind, server, *replies, **how)
    said = str(caught.value)
    assert said.startswith(f"{MODEL}: ")
    assert KEY not in said
    assert len(said) < 350
    assert "\n" not in said
    return said


def used(answer: Any) -> tuple[int, int]:
    usage = load_answer(answer).usage
    assert usage is not None
    names = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
    read, written = (next(usage[n] for n in both if n in usage) for both in names)
    return read, written


# Answers


@pytest.mark.parametrize("streamed", [False, True])
def test_a_text(kind: str, server: LLMServer, streamed: bool) -> None:
    pieces: list[str] | None = [] if streamed else None
    reply = Reply("In the  käse\nfolder.", input_tokens=30, output_tokens=4)
    answer = answered(kind, server, reply, pieces=pieces)
    assert load_answer(answer).message.text == "In the  käse\nfolder."
    assert load_answer(answer).message.tool_calls == ()
    assert used(answer) == (30, 4)
    assert answer["model"] == MODEL
    if pieces is not None:
        assert "".join(pieces) == "In the  käse\nfolder."
        assert len(pieces) == 4


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("text", ["", "I look."])
def test_parallel_calls(kind: str, server: LLMServer, streamed: bool, text: str) -> None:
    pieces: list[str] | None = [] if streamed else None
    answer = answered(kind, server, Reply(text, CALLS), pieces=pieces)
    message = load_answer(answer).message
    assert [(c.id, c.name, arguments(c.arguments)) for c in message.tool_calls] == CALLS
    assert message.text == text
    assert "".join(pieces or []) == (text if streamed else "")


def arguments(given: Any) -> Any:
    return json.loads(given) if isinstance(given, str) else given


def test_a_streamed_answer_is_the_plain_one(kind: str, server: LLMServer) -> None:
    reply = Reply("I look.", CALLS)
    plain = answered(kind, server, reply)
    streamed = answered(kind, server, reply, pieces=[])
    ours = load_answer(plain)
    assert load_answer(streamed).message == ours.message
    assert load_answer(streamed).usage == ours.usage


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_can_be_committed(kind: str, server: LLMServer, streamed: bool) -> None:
    answer = answered(kind, server, Reply("I look.", CALLS), pieces=[] if streamed else None)
    with Tract.open() as t:
        t.user("Where?")
        t.assistant(answer)
        assert [call.id for call in t.compile().messages[-1].tool_calls] == [c[0] for c in CALLS]


# Requests


def test_the_request_of_messages(server: LLMServer) -> None:
    config = {"temperature": 0.5, "stop_sequences": ["END"]}
    answered("anthropic", server, Reply("ok"), config=config, max_tokens=99)
    [request] = server.requests
    assert request.path == "/v1/messages"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "anthropic-beta" not in request.headers
    assert request.body == {
        "model": MODEL,
        "max_tokens": 99,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Where?"}],
        "tools": [GREP],
        **config,
    }


def test_the_request_of_chat(server: LLMServer) -> None:
    answered("openai", server, Reply("ok"), config={"max_completion_tokens": 9})
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": MODEL,
        **asked().to_openai_params(),
        "max_completion_tokens": 9,
    }
    assert request.body["tools"][0]["function"]["name"] == "grep"
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]


def test_the_request_of_responses(server: LLMServer) -> None:
    answered("responses", server, Reply("ok"), config={"reasoning": {"effort": "low"}})
    [request] = server.requests
    assert request.path == "/v1/responses"
    assert request.body == {
        "model": MODEL,
        "store": False,
        **asked().to_responses_params(),
        "reasoning": {"effort": "low"},
    }
    assert request.body["tools"][0]["name"] == "grep"
    answered("responses", server, Reply("ok"), config={"store": True})
    assert server.requests[1].body["store"] is True


def test_a_stream_is_asked_for(kind: str, server: LLMServer) -> None:
    answered(kind, server, Reply("ok"), pieces=[])
    answered(kind, server, Reply("ok"))
    streamed, plain = (request.body for request in server.requests)
    assert streamed.pop("stream") is True
    assert streamed.pop("stream_options", None) == (
        {"include_usage": True} if kind == "openai" else None
    )
    assert streamed == plain


def test_config_wins(kind: str, server: LLMServer) -> None:
    answered(kind, server, Reply("ok"), config={"model": "other", "max_tokens": 5})
    assert server.requests[0].body["model"] == "other"
    assert server.requests[0].body["max_tokens"] == 5


def test_stream_is_no_config(kind: str, server: LLMServer) -> None:
    with pytest.raises(InputError, match="on_text"):
        answered(kind, server, Reply("ok"), config={"stream": True})
    assert server.requests == []


def test_betas_are_a_header(server: LLMServer) -> None:
    with Tract.open() as t:
        t.user("Where?", tools=[GREP])
        t.assistant("Here.")
        t.set_tools([GREP, {**GREP, "name": "ls"}])
        t.user("And there?")
        context = t.compile(tools="inline")
    server.replies.append(Reply("ok"))
    with client("anthropic", server) as llm:
        llm.complete(context)
    assert context.betas
    assert server.requests[0].headers["anthropic-beta"] == ",".join(context.betas)


def test_tools_that_a_provider_cannot_take_are_left_out(server: LLMServer) -> None:
    server.replies.append(Reply("Here."))
    with Tract.open() as t:
        t.user("Where?", tools=[{"type": "web_search_20250305", "name": "web_search"}])
        context = t.compile()
    with client("openai", server) as llm:
        llm.complete(context)
    assert "tools" not in server.requests[0].body
    assert any("web_search" in note for note in context.notes_for("openai"))


# Settings


VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "responses": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}


def test_the_variables_of_the_sdk(
    kind: str, server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, url = VARIABLES[kind]
    monkeypatch.setenv(key, "from-the-environment")
    monkeypatch.setenv(url, server.url if kind == "anthropic" else server.openai_url)
    answered(kind, server, Reply("ok"), api_key=None, base_url=None)
    assert server.requests[0].headers["authorization"] == "Bearer from-the-environment"


def test_without_a_key_the_variable_is_named(kind: str, server: LLMServer) -> None:
    said = failure(kind, server, Reply("ok"), api_key=None)
    assert VARIABLES[kind][0] in said
    assert server.requests == []


def test_a_key_in_a_header_is_one(server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Api-Key: mine")
    answered("anthropic", server, Reply("ok"), api_key=None)
    assert server.requests[0].headers["x-api-key"] == "mine"


def test_a_client_that_is_given_stays_open(kind: str, server: LLMServer) -> None:
    import anthropic
    import openai

    makers: dict[str, Any] = {"anthropic": anthropic.Anthropic}
    url = server.url if kind == "anthropic" else server.openai_url
    given = makers.get(kind, openai.OpenAI)(
        api_key=KEY, base_url=url, default_headers={"x-team": "blue"}
    )
    with given:
        answered(kind, server, Reply("one"), client=given)
        answered(kind, server, Reply("two"), client=given)
    assert [request.headers["x-team"] for request in server.requests] == ["blue", "blue"]


def test_a_closed_client_opens_again(kind: str, server: LLMServer) -> None:
    server.replies += [Reply("one"), Reply("two")]
    llm = client(kind, server)
    llm.close()
    for text in ("one", "two"):
        assert load_answer(llm.complete(asked())).message.text == text
        llm.close()
    llm.close()


def test_the_key_is_not_shown(kind: str, server: LLMServer) -> None:
    assert repr(client(kind, server)) == f"{type(client(kind, server)).__name__}('{MODEL}')"


def test_what_a_client_has() -> None:
    clients: list[LLMClient] = [AnthropicLLM("a"), OpenAILLM("b"), ResponsesLLM("c")]
    assert [(c.model, c.window) for c in clients] == [
        ("a", 200_000),
        ("b", 128_000),
        ("c", 400_000),
    ]
    assert OpenAILLM("b", window=5).window == 5


def test_connect() -> None:
    assert isinstance(connect("anthropic:claude"), AnthropicLLM)
    assert isinstance(connect("openai:llama3:8b", window=8000), OpenAILLM)
    assert connect("openai:llama3:8b").model == "llama3:8b"
    assert type(connect("responses:gpt", window=9)) is ResponsesLLM
    assert connect("responses:gpt", window=9).window == 9


@pytest.mark.parametrize("name", ["", "claude", "gemini:flash", "anthropic:", ":x", "Anthropic:x"])
def test_connect_says_what_there_is(name: str) -> None:
    with pytest.raises(InputError, match="anthropic:MODEL, openai:MODEL, responses:MODEL") as error:
        connect(name)
    assert repr(name) in str(error.value)


# Failures


STREAMED = pytest.mark.parametrize("pieces", [None, []], ids=["plain", "streamed"])


@STREAMED
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 503, 529])
def test_an_error_of_the_provider(
    kind: str, server: LLMServer, status: int, pieces: list[str] | None
) -> None:
    reply = Reply(status=status, message="no such thing", headers=NO_WAIT)
    said = failure(kind, server, reply, pieces=pieces)
    assert f"{status} " in said
    assert said.endswith("no such thing")
    assert len(server.requests) == 1


def test_the_error_of_the_sdk_is_the_cause(kind: str, server: LLMServer) -> None:
    with pytest.raises(LLMCallError) as caught:
        answered(kind, server, Reply(status=404))
    assert type(caught.value.__cause__).__name__ == "NotFoundError"


def test_a_long_error_is_cut_and_has_no_key(kind: str, server: LLMServer) -> None:
    message = f"bad key {KEY}\n" + "and more " * 500
    said = failure(kind, server, Reply(status=401, message=message))
    assert "bad key [key] and more" in said
    assert said.endswith("…")


def test_a_page_with_the_key_in_it(kind: str, server: LLMServer) -> None:
    said = failure(kind, server, Reply(body=f"<p>{KEY}</p>", content_type="text/html"))
    assert said.endswith("not a JSON object: <p>[key]</p>")


def test_an_error_page_of_a_proxy(kind: str, server: LLMServer) -> None:
    reply = Reply(status=502, body="<html>Bad\nGateway</html>", content_type="text/html")
    said = failure(kind, server, reply)
    assert "502 " in said
    assert "<html>Bad Gateway</html>" in said


def test_it_is_tried_again(kind: str, server: LLMServer) -> None:
    busy = Reply(status=429, headers=NO_WAIT)
    answer = answered(kind, server, busy, Reply("at last"), max_retries=1)
    assert load_answer(answer).message.text == "at last"
    assert len(server.requests) == 2
    assert server.requests[0].body == server.requests[1].body


def test_a_stream_is_tried_again(kind: str, server: LLMServer) -> None:
    pieces: list[str] = []
    busy = Reply(status=503, headers=NO_WAIT)
    answered(kind, server, busy, busy, Reply("at last"), max_retries=2, pieces=pieces)
    assert pieces == ["at ", "last"]
    assert len(server.requests) == 3


def test_it_is_not_tried_for_ever(kind: str, server: LLMServer) -> None:
    busy = Reply(status=429, message="slow down", headers=NO_WAIT)
    said = failure(kind, server, *[busy] * 5, max_retries=2)
    assert "429 " in said
    assert "slow down" in said
    assert len(server.requests) == 3


@STREAMED
def test_nobody_listens(kind: str, pieces: list[str] | None) -> None:
    with LLMServer() as gone:
        pass
    said = failure(kind, gone, pieces=pieces, timeout=5)
    assert gone.url in said
    assert "refused" in said


@STREAMED
def test_no_answer_in_time(kind: str, server: LLMServer, pieces: list[str] | None) -> None:
    said = failure(kind, server, Reply("late", delay=30), timeout=0.1, pieces=pieces)
    assert "timed out" in said


@STREAMED
@pytest.mark.parametrize("bytes_sent", [0, 10, 150])
def test_the_connection_is_cut(
    kind: str, server: LLMServer, bytes_sent: int, pieces: list[str] | None
) -> None:
    reply = Reply("word " * 200, drop_after=bytes_sent)
    failure(kind, server, reply, pieces=pieces)


def test_a_stream_is_cut_in_the_middle(kind: str, server: LLMServer) -> None:
    pieces: list[str] = []
    failure(kind, server, Reply("word " * 200, CALLS, drop_after=9000), pieces=pieces)
    assert 1 < len(pieces) < 200


def stream_length(kind: str, reply: Reply) -> int:
    """How many events a whole stream has."""
    from tests.llm_server import _WORDS

    path = connect(f"{kind}:{MODEL}").path
    words = _WORDS[path if path.startswith("/v1") else f"/v1{path}"]
    body = {"model": MODEL, "stream_options": {"include_usage": True}}
    return len(list(words.events(reply, body)))


def test_a_stream_that_ends_early_is_no_answer(kind: str, server: LLMServer) -> None:
    reply = Reply("one two", CALLS[:1])
    # After the last piece Chat sends what was used and that it is over: the answer is whole there.
    needed = stream_length(kind, reply) - (2 if kind == "openai" else 0)
    with client(kind, server) as llm:
        for events in range(needed):
            server.replies.append(Reply("one two", CALLS[:1], events=events))
            with pytest.raises(LLMCallError, match="the stream ended before the answer did"):
                llm.complete(asked(), on_text=lambda _: None)
        server.replies.append(Reply("one two", CALLS[:1], events=needed))
        answer = llm.complete(asked(), on_text=lambda _: None)
    assert load_answer(answer).message.text == "one two"


ERROR_EVENTS = {
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "openai": {"error": {"type": "server_error", "message": "Overloaded", "code": None}},
    "responses": {"type": "error", "code": "server_error", "message": "Overloaded", "param": None},
}


@pytest.mark.parametrize("events", [0, 5])
def test_an_error_in_the_stream(kind: str, server: LLMServer, events: int) -> None:
    then = f"event: error\ndata: {json.dumps(ERROR_EVENTS[kind])}\n\n"
    said = failure(kind, server, Reply("one two three", events=events, then=then), pieces=[])
    assert re.search(r"\w+_error: Overloaded$", said)
    assert "200" not in said


def test_a_response_that_failed(server: LLMServer) -> None:
    error = {"code": "rate_limit_exceeded", "message": "Too many."}
    failed = {
        "id": "resp_1",
        "object": "response",
        "status": "failed",
        "error": error,
        "output": [],
    }
    event = {"type": "response.failed", "response": failed}
    then = f"event: response.failed\ndata: {json.dumps(event)}\n\n"
    plain = failure("responses", server, Reply(body=json.dumps(failed)))
    streamed = failure("responses", server, Reply("one", events=4, then=then), pieces=[])
    assert plain == streamed == f"{MODEL}: rate_limit_exceeded: Too many."


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled"])
def test_a_response_that_is_not_there_yet(server: LLMServer, status: str) -> None:
    body: Any = {"id": "resp_1", "object": "response", "status": status, "output": []}
    assert f"the response is {status}" in failure("responses", server, Reply(body=json.dumps(body)))


def test_a_response_that_was_cut_short_is_one(server: LLMServer) -> None:
    part = {"type": "output_text", "text": "one", "annotations": []}
    item = {"id": "m", "type": "message", "role": "assistant", "content": [part]}
    body: Any = {"id": "r", "object": "response", "status": "incomplete", "output": [item]}
    event = {"type": "response.incomplete", "response": body}
    then = f"event: response.incomplete\ndata: {json.dumps(event)}\n\n"
    plain = answered("responses", server, Reply(body=json.dumps(body)))
    streamed = answered("responses", server, Reply("one", events=4, then=then), pieces=[])
    assert plain == streamed == body


def test_output_that_the_last_event_leaves_out(server: LLMServer) -> None:
    reply = Reply("one", CALLS)
    body: dict[str, Any] = {"id": "r", "object": "response", "status": "completed", "output": []}
    event = {"type": "response.completed", "response": body}
    then = f"event: response.completed\ndata: {json.dumps(event)}\n\n"
    events = stream_length("responses", reply) - 1
    answer = answered("responses", server, Reply("one", CALLS, events=events, then=then), pieces=[])
    message = load_answer(answer).message
    assert message.text == "one"
    assert [call.id for call in message.tool_calls] == ["call_1", "call_2", "call_3"]


def test_an_error_that_comes_as_an_answer(server: LLMServer) -> None:
    body = json.dumps({"error": {"message": "no credits", "code": 402}})
    assert failure("openai", server, Reply(body=body)) == f"{MODEL}: 402: no credits"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<html>Log in</html>", "text/html"),
        ("<html>Log in</html>", "application/json"),
        ("", "application/json"),
        ("", "text/plain"),
        ('{"id": "msg_1", "content": [', "application/json"),
        ('["a list"]', "application/json"),
        ('"a text"', "application/json"),
        ("null", "application/json"),
        ("7", "application/json"),
        ("[" * 100_000, "application/json"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "application/json"),
    ],
)
@STREAMED
def test_a_body_that_is_no_answer(
    kind: str, server: LLMServer, body: str, content_type: str, pieces: list[str] | None
) -> None:
    failure(kind, server, Reply(body=body, content_type=content_type), pieces=pieces)
    assert not pieces


@pytest.mark.parametrize(
    "data", ["{", "<html>", "null", "[]", "7", '"text"', '{"type": 5}', '{"choices": [5]}', "{}"]
)
def test_a_malformed_event(kind: str, server: LLMServer, data: str) -> None:
    then = f"event: content_block_delta\ndata: {data}\n\n"
    failure(kind, server, Reply("one two", events=3, then=then), pieces=[])


def test_an_answer_of_another_shape_is_left_to_the_reader(kind: str, server: LLMServer) -> None:
    answer = answered(kind, server, Reply(body='{"hello": "world"}'))
    assert answer == {"hello": "world"}
    with pytest.raises(InputError):
        load_answer(answer)


def test_arguments_that_broke_off(server: LLMServer) -> None:
    whole = stream_length("anthropic", Reply("", CALLS[:1]))
    stop = {"type": "content_block_stop", "index": 0}
    then = f"event: content_block_stop\ndata: {json.dumps(stop)}\n\n"
    reply = Reply("", CALLS[:1], events=whole - 4, then=then)
    assert "the stream ended before the answer did" in failure(
        "anthropic", server, reply, pieces=[]
    )


def test_a_config_that_cannot_be_sent(kind: str, server: LLMServer) -> None:
    failure(kind, server, Reply("ok"), config={"metadata": object()})
    assert server.requests == []


@pytest.mark.parametrize("url", ["http://[", "ftp://127.0.0.1", "nonsense"])
def test_an_address_that_is_none(kind: str, server: LLMServer, url: str) -> None:
    failure(kind, server, base_url=url)


def test_a_missing_package(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = "anthropic" if kind == "anthropic" else "openai"
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    for on_text in (None, print):
        llm = connect(f"{kind}:{MODEL}")
        with pytest.raises(MissingExtraError, match=rf"\[{package}\]"):
            llm.complete(asked(), on_text=on_text)


# Chat Completions of other servers


def chunks(*deltas: dict[str, Any]) -> str:
    """A stream of these deltas, ended as usual."""
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    said = "".join(f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices)
    return said + "data: [DONE]\n\n"


def streamed_chat(server: LLMServer, *deltas: dict[str, Any]) -> Any:
    reply = Reply(body=chunks(*deltas), content_type="text/event-stream")
    return answered("openai", server, reply, pieces=[])["choices"][0]["message"]


def test_a_role_in_every_piece(server: LLMServer) -> None:
    pieces = [{"role": "assistant", "content": text} for text in ("one", " ", "two")]
    assert streamed_chat(server, *pieces) == {"role": "assistant", "content": "one two"}


def test_more_than_the_text_grows(server: LLMServer) -> None:
    message = streamed_chat(
        server,
        {"content": None, "reasoning_content": "so", "reasoning_details": [{"text": "so"}]},
        {"content": None, "reasoning_content": " then", "reasoning_details": [{"text": "then"}]},
        {"content": "yes", "reasoning_content": None},
    )
    assert message["content"] == "yes"
    assert message["reasoning_content"] == "so then"
    assert message["reasoning_details"] == [{"text": "so"}, {"text": "then"}]


def piece(index: int | None, call_id: str | None, name: str | None, said: str) -> dict[str, Any]:
    function = {"name": name, "arguments": said}
    return {
        "tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]
    }


@pytest.mark.parametrize(
    "deltas",
    [
        [
            piece(0, "a", "f", ""),
            piece(1, "b", "g", "{"),
            piece(0, None, None, "{}"),
            piece(1, "", "", "}"),
        ],
        [
            piece(0, "a", "f", "{"),
            piece(0, "a", "f", "}"),
            piece(1, "b", "g", "{"),
            piece(1, "b", "g", "}"),
        ],
        [piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")],
        [piece(0, "a", "", ""), piece(0, "a", "f", "{}"), piece(1, "b", "g", "{}")],
        [piece(None, "a", "f", "{}"), piece(None, "b", "g", "{"), piece(None, None, None, "}")],
        [
            {
                "tool_calls": [
                    *piece(0, "a", "f", "{}")["tool_calls"],
                    *piece(1, "b", "g", "{}")["tool_calls"],
                ]
            }
        ],
    ],
    ids=["interleaved", "repeated", "one index", "name later", "no index", "one piece"],
)
def test_calls_in_pieces(server: LLMServer, deltas: list[dict[str, Any]]) -> None:
    assert streamed_chat(server, *deltas)["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]


def test_other_choices_are_left_out(server: LLMServer) -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": None}]}
    body = f"data: {json.dumps(other)}\n\n" + chunks({"content": "first"})
    pieces: list[str] = []
    reply = Reply(body=body, content_type="text/event-stream")
    answer = answered("openai", server, reply, pieces=pieces)
    assert pieces == ["first"]
    assert load_answer(answer).message.text == "first"


def test_thinking_and_citations(server: LLMServer) -> None:
    """What else a stream of Messages brings is kept, in its place."""
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {"type": "message", "role": "assistant", "content": []},
        },
        {"type": "content_block_start", "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "so "}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "then"}},
        {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s1"}},
        {"type": "content_block_stop"},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}, "index": 1},
        {
            "type": "content_block_delta",
            "delta": {"type": "citations_delta", "citation": {"cited_text": "a"}},
            "index": 1,
        },
        {
            "type": "content_block_delta",
            "delta": {"type": "text_delta", "text": "Yes."},
            "index": 1,
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    ]
    body = "".join(
        f"event: {event['type']}\ndata: {json.dumps({'index': 0, **event})}\n\n" for event in events
    )
    pieces: list[str] = []
    reply = Reply(body=body, content_type="text/event-stream")
    answer = answered("anthropic", server, reply, pieces=pieces)
    assert pieces == ["Yes."]
    assert answer["content"] == [
        {"type": "thinking", "thinking": "so then", "signature": "s1"},
        {"type": "text", "text": "Yes.", "citations": [{"cited_text": "a"}]},
    ]
    assert answer["stop_reason"] == "end_turn"
    assert answer["usage"] == {"output_tokens": 3}


# What the caller does


class RefusedError(ValueError):
    """Of a kind that the clients translate where it is theirs."""


def test_what_on_text_raises_is_the_callers(kind: str, server: LLMServer) -> None:
    heard: list[str] = []

    def on_text(text: str) -> None:
        heard.append(text)
        if len(heard) == 2:
            raise refusal

    refusal = RefusedError("enough")
    server.replies += [Reply("word " * 100_000), Reply("again")]
    with client(kind, server) as llm:
        with pytest.raises(RefusedError) as caught:
            llm.complete(asked(), on_text=on_text)
        assert server.hung_up.wait(5), "the stream is still open"
        assert load_answer(llm.complete(asked())).message.text == "again"
    assert caught.value is refusal
    assert caught.value.__cause__ is None
    assert len(heard) == 2


def test_ctrl_c_passes_through(kind: str, server: LLMServer) -> None:
    def on_text(_: str) -> None:
        raise KeyboardInterrupt

    server.replies.append(Reply("one two"))
    with client(kind, server) as llm, pytest.raises(KeyboardInterrupt):
        llm.complete(asked(), on_text=on_text)


INTERRUPTED = """
import os, signal, sys, threading, time
from tests.llm_server import LLMServer, Reply
from tests.llm import asked, client

def interrupt():
    while not server.requests:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

with LLMServer(Reply("late", delay=30)) as server:
    threading.Thread(target=interrupt).start()
    try:
        client(sys.argv[1], server, timeout=60).complete(asked())
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_waiting(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, kind],
        cwd=Path(__file__).resolve().parent.parent,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stdout == "interrupted\n", done.stderr


def test_threads_share_a_client(kind: str, server: LLMServer) -> None:
    server.replies += [Reply(f"answer {number}") for number in range(40)]
    llm = client(kind, server)
    made: list[int] = []
    ready = threading.Barrier(8)

    def ask(number: int) -> str:
        if number < 8:
            ready.wait(5)
        on_text = None if number % 2 else (lambda _: None)
        text = load_answer(llm.complete(asked(), on_text=on_text)).message.text
        made.append(id(llm._client))
        return text

    with llm, ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(ask, range(40)))
    assert sorted(texts) == sorted(f"answer {number}" for number in range(40))
    assert len(set(made)) == 1


# The script


def test_a_script() -> None:
    first, second = asked(), asked(tools=False)
    llm = ScriptedLLM(["Hello.", {"role": "assistant", "content": "Bye."}])
    client: LLMClient = llm
    assert load_answer(client.complete(first, config={"temperature": 1})).message.text == "Hello."
    assert load_answer(client.complete(second)).message.text == "Bye."
    assert llm.requests == [first, second]
    assert llm.configs == [{"temperature": 1}, {}]
    assert (llm.model, llm.window) == ("scripted", 100_000)


@pytest.mark.parametrize("kind", KINDS)
def test_a_script_in_a_providers_words(kind: str, server: LLMServer) -> None:
    response = answered(kind, server, Reply("I look.", CALLS))
    pieces: list[str] = []
    said = ScriptedLLM([response]).complete(asked(), on_text=pieces.append)
    assert load_answer(said).message == load_answer(response).message
    assert "".join(pieces) == "I look."


@pytest.mark.parametrize(
    "text", ["ab", "Hello.", "A longer text, with\n\nseveral lines of it. " * 9]
)
def test_a_script_is_streamed(text: str) -> None:
    pieces: list[str] = []
    ScriptedLLM([text]).complete(asked(), on_text=pieces.append)
    assert "".join(pieces) == text
    assert len(pieces) > 1


def test_a_script_without_text_streams_none() -> None:
    pieces: list[str] = []
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    silent = {"role": "assistant", "content": None, "tool_calls": [call]}
    llm = ScriptedLLM(["", silent, {"no": "answer"}])
    for _ in range(3):
        llm.complete(asked(), on_text=pieces.append)
    assert pieces == []


@pytest.mark.parametrize(
    "error", [LLMCallError("gone"), TimeoutError("late"), KeyboardInterrupt(), LLMCallError]
)
def test_a_script_fails(error: Any) -> None:
    wanted = error if isinstance(error, type) else type(error)
    llm = ScriptedLLM([error, "fine"])
    with pytest.raises(wanted) as caught:
        llm.complete(asked())
    assert isinstance(error, type) or caught.value is error
    assert load_answer(llm.complete(asked())).message.text == "fine"


def test_a_script_may_look_at_the_context() -> None:
    llm = ScriptedLLM([lambda context: f"{len(context.messages)} messages", lambda _: TimeoutError])
    assert load_answer(llm.complete(asked())).message.text == "2 messages"
    with pytest.raises(TimeoutError):
        llm.complete(asked())


@pytest.mark.parametrize("replies", [[], ["one"], ["one", "two"]])
def test_a_script_ends(replies: list[str]) -> None:
    llm = ScriptedLLM(replies, model="m")
    for _ in replies:
        llm.complete(asked())
    with pytest.raises(LLMCallError, match=rf"m: the script is over, it had {len(replies)}\b"):
        llm.complete(asked())
    assert len(llm.requests) == len(replies) + 1


@pytest.mark.parametrize("replies", ["Hello.", {"role": "assistant", "content": "Hello."}])
def test_a_script_is_a_list(replies: Any) -> None:
    with pytest.raises(InputError, match="a list"):
        ScriptedLLM(replies)


@pytest.mark.parametrize("reply", [None, 5, ["text"]])
def test_a_reply_of_no_kind(reply: Any) -> None:
    with pytest.raises(InputError, match="a reply is"):
        ScriptedLLM([reply]).complete(asked())


def test_threads_share_a_script() -> None:
    llm = ScriptedLLM([str(number) for number in range(200)])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: llm.complete(asked()), range(200)))
    said = sorted(int(load_answer(answer).message.text) for answer in answers)
    assert said == list(range(200))
    assert len(llm.requests) == 200


# Imports


@pytest.mark.parametrize("code", ["import tract", "import tract.llm", "import tract.llm.openai"])
def test_no_sdk_is_imported(code: str) -> None:
    heavy = {"anthropic", "openai", "httpx", "httpx2", "pydantic", "http.client"}
    more = "; tract.llm.connect('anthropic:m'); tract.llm.ScriptedLLM([])" if "llm" in code else ""
    script = f"{code}{more}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & heavy == set()


@pytest.mark.parametrize(
    "given",
    ["gpt", object(), ScriptedLLM, ScriptedLLM([], window=None)],  # type: ignore[arg-type]
)
def test_what_cannot_answer_is_refused_at_once(given: Any) -> None:
    with pytest.raises(InputError, match="an llm"):
        Tract.open(llm=given)
    with Tract.open() as t:
        t.llm = given
        with pytest.raises(InputError, match="an llm"):
            t.chat("hello")
