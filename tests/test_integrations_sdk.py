"""Recorded clients of the SDKs: real ones, with a scripted provider on this machine."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from pydantic import BaseModel

from tests import agents
from tests.llm_server import LLMServer, Reply, _Responses
from tests.serving import serving, url_of
from tract import InputError, Tract, connect, convert_tool, record_client, validate
from tract.core.wording import GET_TOOL_RESULT

ROOT = Path(__file__).resolve().parent.parent
QUESTION = [{"role": "user", "content": "What is here?"}]


# One agent for all APIs


class Api:
    """How an agent speaks to one API."""

    name: str

    def __init__(self, client: Any, *, is_streaming: bool = False) -> None:
        self.client, self.is_streaming = client, is_streaming
        self.history: list[Any] = [{"role": "user", "content": agents.PROMPT}]
        functions = map(agents.as_openai_tool, agents.TOOLS)
        self.tools = [convert_tool(function, self.name) for function in functions]

    async def ask(self) -> Any:
        if not self.is_streaming:
            answer = self.create()
            return await answer if inspect.isawaitable(answer) else answer
        manager = self.stream()
        if hasattr(manager, "__aenter__"):
            async with manager as stream:
                return await self.final(stream)
        with manager as stream:
            return self.final(stream)

    def create(self) -> Any: ...

    def stream(self) -> Any: ...

    def final(self, stream: Any) -> Any: ...

    def take(self, answer: Any) -> list[tuple[str, str, dict[str, Any]]]:
        """Keep an answer, and return its calls."""
        raise NotImplementedError

    def give(self, results: list[tuple[str, str, bool]]) -> None:
        """Keep results, each with the id of its call and whether it is an error."""


def kept(value: Any) -> Any:
    """What came, without what the SDK adds when it parses a stream."""
    if isinstance(value, dict):
        added = ("parsed", "parsed_arguments", "index")
        return {key: kept(item) for key, item in value.items() if key not in added}
    return [kept(item) for item in value] if isinstance(value, list) else value


class Messages(Api):
    name = "anthropic"

    @property
    def request(self) -> dict[str, Any]:
        about = {"model": "claude", "max_tokens": 99, "system": "Be brief."}
        return {**about, "messages": self.history, "tools": self.tools}

    def create(self) -> Any:
        return self.client.messages.create(**self.request)

    def stream(self) -> Any:
        return self.client.messages.stream(**self.request)

    def final(self, stream: Any) -> Any:
        return stream.get_final_message()

    def take(self, answer: Any) -> list[tuple[str, str, dict[str, Any]]]:
        self.history.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        return [(call.id, call.name, call.input) for call in calls]

    def give(self, results: list[tuple[str, str, bool]]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": is_error}
            for name, text, is_error in results
        ]
        self.history.append({"role": "user", "content": blocks})


class BetaMessages(Messages):
    def create(self) -> Any:
        return self.client.beta.messages.create(**self.request)

    def stream(self) -> Any:
        return self.client.beta.messages.stream(**self.request)


class Chat(Api):
    name = "openai"

    @property
    def request(self) -> dict[str, Any]:
        return {"model": "gpt", "messages": self.history, "tools": self.tools}

    def create(self) -> Any:
        return self.client.chat.completions.create(**self.request)

    def stream(self) -> Any:
        return self.client.chat.completions.stream(**self.request)

    def final(self, stream: Any) -> Any:
        return stream.get_final_completion()

    def take(self, answer: Any) -> list[tuple[str, str, dict[str, Any]]]:
        message = answer.choices[0].message
        self.history.append(kept(message.to_dict()))
        return [
            (call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or ()
        ]

    def give(self, results: list[tuple[str, str, bool]]) -> None:
        for name, text, _ in results:
            self.history.append({"role": "tool", "tool_call_id": name, "content": text})


class Responses(Api):
    name = "responses"

    @property
    def request(self) -> dict[str, Any]:
        return {"model": "gpt", "input": self.history, "tools": self.tools}

    def create(self) -> Any:
        return self.client.responses.create(**self.request)

    def stream(self) -> Any:
        return self.client.responses.stream(**self.request)

    def final(self, stream: Any) -> Any:
        return stream.get_final_response()

    def take(self, answer: Any) -> list[tuple[str, str, dict[str, Any]]]:
        self.history += [kept(item.to_dict()) for item in answer.output]
        calls = [item for item in answer.output if item.type == "function_call"]
        return [(call.call_id, call.name, json.loads(call.arguments)) for call in calls]

    def give(self, results: list[tuple[str, str, bool]]) -> None:
        for name, text, _ in results:
            item = {"type": "function_call_output", "call_id": name, "output": text}
            self.history.append(item)


APIS = (Messages, BetaMessages, Chat, Responses)


_opened: list[Any] = []


@pytest.fixture(autouse=True)
def closed_clients() -> Iterator[None]:
    """Close the clients of a test; those that are awaited are closed in their event loop."""
    yield
    while _opened:
        _opened.pop().close()


def client_of(api: type[Api], server: LLMServer, *, is_async: bool = False, **options: Any) -> Any:
    sdk, name = (anthropic, "Anthropic") if issubclass(api, Messages) else (openai, "OpenAI")
    url = server.url if sdk is anthropic else server.openai_url
    kind = getattr(sdk, f"Async{name}" if is_async else name)
    client = kind(api_key="k", base_url=url, **options)
    if not is_async:
        _opened.append(client)
    return client


async def run(api: Api, t: Tract) -> None:
    """The agent's loop, until the model calls nothing."""
    tools: dict[str, Any] = {tool.__name__: tool for tool in (*agents.TOOLS, t.as_tool())}
    while calls := api.take(await api.ask()):
        results = []
        for name, tool, arguments in calls:
            try:
                results.append((name, tools[tool](**arguments), False))
            except RuntimeError as error:
                results.append((name, f"Error: {error}", True))
        api.give(results)


async def run_and_close(api: Api, t: Tract) -> None:
    await run(api, t)
    closing = api.client.close()
    if inspect.isawaitable(closing):
        await closing


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("is_streaming", [False, True], ids=["create", "stream"])
@pytest.mark.parametrize("kind", APIS)
def test_an_agent_is_recorded_and_sent_references(
    kind: type[Api], is_streaming: bool, is_async: bool
) -> None:
    with agents.server() as server, Tract.open() as t:
        client = record_client(
            client_of(kind, server, is_async=is_async), t, results=agents.RESULTS
        )
        api = kind(client, is_streaming=is_streaming)
        asyncio.run(run_and_close(api, t))
        agents.check_store(t, is_error=kind in (Messages, BetaMessages))
        agents.check_wire(server.requests, api.name)
        assert json.dumps(agents.LOG) in json.dumps(
            api.history, default=lambda item: item.to_dict()
        )
        assert list(t.branches()) == ["main"]
        assert not t.handler_errors
        usages = [usage.usage for usage in t.usages()]
        assert len(usages) == (4 if kind is not Chat or not is_streaming else 0)


@pytest.mark.parametrize("kind", APIS)
def test_without_results_every_byte_is_sent_as_it_was(kind: type[Api]) -> None:
    bodies = []
    for is_recorded in (False, True):
        with agents.server() as server, Tract.open() as t:
            server.replies[2:3] = []
            client = client_of(kind, server)
            asyncio.run(run(kind(record_client(client, t) if is_recorded else client), t))
            bodies.append([json.dumps(request.body) for request in server.requests])
            if is_recorded:
                log, *others = t.list_tool_results()
                assert t.get_content(log.commit_hash) == agents.LOG
                assert len(others) == 2
    assert bodies[0] == bodies[1]


# The client is what it was


def test_the_client_keeps_its_type_and_settings() -> None:
    with LLMServer() as server, Tract.open() as t:
        for kind in (Messages, Chat):
            for is_async in (False, True):
                client = client_of(kind, server, is_async=is_async, timeout=7, max_retries=5)
                recorded = record_client(client, t)
                assert type(recorded) is type(client)
                assert recorded is not client
                assert (recorded.timeout, recorded.max_retries) == (7, 5)
                assert recorded.base_url == client.base_url
                assert type(recorded.with_options(timeout=3)) is type(client)
        sync = record_client(client_of(Messages, server), t)
        assert not sync.is_closed()
        sync.close()
        assert sync.is_closed()


def test_a_copy_with_other_options_is_recorded_too() -> None:
    with LLMServer(Reply("A lake.")) as server, Tract.open() as t:
        client = record_client(client_of(Chat, server), t).with_options(max_retries=0)
        client.chat.completions.create(model="m", messages=QUESTION)
        assert t.compile().messages[-1].text == "A lake."


def test_other_requests_are_left_alone() -> None:
    with LLMServer() as server, Tract.open() as t:
        client = record_client(client_of(Messages, server), t, results=10)
        with pytest.raises(anthropic.NotFoundError):
            client.messages.count_tokens(model="m", messages=QUESTION)
        assert t.head is None
        assert not t.handler_errors


def test_raw_and_streaming_responses_are_recorded() -> None:
    replies = [Reply(f"answer {number}") for number in range(4)]
    with LLMServer(*replies) as server, Tract.open() as t:
        chat = record_client(client_of(Chat, server), t).chat.completions
        raw = chat.with_raw_response.create(model="m", messages=QUESTION)
        assert raw.headers["content-type"] == "application/json"
        assert raw.parse().choices[0].message.content == "answer 0"
        with chat.with_streaming_response.create(model="m", messages=QUESTION) as response:
            assert b"answer 1" in b"".join(response.iter_bytes())
        messages = record_client(client_of(Messages, server), t).messages
        plain = messages.with_raw_response.create(model="m", max_tokens=9, messages=QUESTION)
        assert plain.parse().content[0].text == "answer 2"
        streaming = messages.with_streaming_response
        with streaming.create(model="m", max_tokens=9, messages=QUESTION, stream=True) as response:
            assert "message_stop" in "".join(response.iter_text())
        answers = [t.compile(name).messages[-1].text for name in t.branches()]
        assert sorted(answers) == ["answer 0", "answer 1", "answer 2", "answer 3"]


class Place(BaseModel):
    name: str


def test_parsed_answers_are_recorded() -> None:
    text = '{"name": "Lake Como"}'
    with LLMServer(Reply(text), Reply(text)) as server, Tract.open() as t:
        client = record_client(client_of(Chat, server), t, results=100)
        chat = client.chat.completions.parse(model="m", messages=QUESTION, response_format=Place)
        assert chat.choices[0].message.parsed == Place(name="Lake Como")
        response = client.responses.parse(model="m", input="Where?", text_format=Place)
        assert response.output_parsed == Place(name="Lake Como")
        assert [t.compile(name).messages[-1].text for name in t.branches()] == [text, text]
        assert all("tools" not in request.body for request in server.requests)


def test_a_call_of_the_fetch_tool_passes_the_parser() -> None:
    call = ("call_1", GET_TOOL_RESULT, {"id": "call_0"})
    with LLMServer(Reply(calls=[call]), Reply(calls=[call])) as server, Tract.open() as t:
        client = record_client(client_of(Chat, server), t, results=100)
        tool = openai.pydantic_function_tool(Place)
        chat = client.chat.completions.parse(model="m", messages=QUESTION, tools=[tool])
        assert chat.choices[0].message.tool_calls[0].function.name == GET_TOOL_RESULT
        response = client.responses.parse(model="m", input="?", tools=[function_tool("ls")])
        assert response.output[0].name == GET_TOOL_RESULT


def function_tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    return {"type": "function", "name": name, "parameters": schema, "strict": False}


def test_only_a_request_with_tools_or_references_gets_the_fetch_tool() -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": agents.LOG}
    call = {"type": "tool_use", "id": "c1", "name": "read_log", "input": {}}
    history = [
        *QUESTION,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    with LLMServer(Reply("Hello."), Reply("A log.")) as server, Tract.open() as t:
        client = record_client(client_of(Messages, server), t, results=100)
        client.messages.create(model="m", max_tokens=9, messages=QUESTION)
        client.messages.create(model="m", max_tokens=9, messages=history)
        first, second = (request.body for request in server.requests)
        assert "tools" not in first
        assert [tool["name"] for tool in second["tools"]] == [GET_TOOL_RESULT]
        assert validate(second, "anthropic") == []


# What goes wrong


def test_a_retry_is_recorded_once() -> None:
    failures = [Reply(status=status, headers={"retry-after-ms": "1"}) for status in (500, 429)]
    for kind in (Messages, Chat, Responses):
        with LLMServer(*failures, Reply("A lake.")) as server, Tract.open() as t:
            api = kind(record_client(client_of(kind, server), t, results=100))
            asyncio.run(run(api, t))
            assert [request.headers["x-stainless-retry-count"] for request in server.requests] == [
                "0",
                "1",
                "2",
            ]
            assert server.requests[0].body == server.requests[2].body
            roles = [message.role for message in t.compile().messages if message.role != "system"]
            assert roles == ["user", "assistant"]
            assert not t.handler_errors


def test_a_rejected_request_raises_what_it_raised() -> None:
    with LLMServer(Reply(status=400, message="no"), Reply("Yes.")) as server, Tract.open() as t:
        client = record_client(client_of(Chat, server), t)
        with pytest.raises(openai.BadRequestError, match="no"):
            client.chat.completions.create(model="m", messages=QUESTION)
        assert [message.role for message in t.compile().messages] == ["user"]
        client.chat.completions.create(model="m", messages=QUESTION)
        assert [message.role for message in t.compile().messages] == ["user", "assistant"]
        assert not t.handler_errors


def test_a_timeout_is_one_still() -> None:
    with LLMServer(Reply("late", delay=5)) as server, Tract.open() as t:
        client = record_client(client_of(Messages, server, timeout=0.2, max_retries=0), t)
        with pytest.raises(anthropic.APITimeoutError):
            client.messages.create(model="m", max_tokens=9, messages=QUESTION)
        assert [message.role for message in t.compile().messages] == ["user"]


@pytest.mark.parametrize("kind", [Messages, Chat, Responses])
def test_a_stream_that_is_closed_early_is_left_out_and_reported(
    kind: type[Api], caplog: pytest.LogCaptureFixture
) -> None:
    with LLMServer(Reply("one two three"), Reply("four")) as server, Tract.open() as t:
        api = kind(record_client(client_of(kind, server), t), is_streaming=True)
        with api.stream() as stream:
            next(iter(stream))
        [error] = t.handler_errors
        assert "the stream ends before the answer does" in str(error)
        assert [record.getMessage() for record in caplog.records if record.name == "tract"] == [
            str(error)
        ]
        asyncio.run(run(api, t))
        assert t.compile().messages[-1].text == "four"
        assert list(t.branches()) == ["main"]


def test_a_stream_that_is_cut_is_left_out_and_reported() -> None:
    with LLMServer(Reply("one two three", drop_after=900)) as server, Tract.open() as t:
        client = record_client(client_of(Messages, server), t)
        with (
            pytest.raises((anthropic.APIConnectionError, httpx2.RemoteProtocolError)),
            client.messages.stream(model="m", max_tokens=9, messages=QUESTION) as stream,
        ):
            stream.until_done()
        assert [message.role for message in t.compile().messages] == ["user"]
        assert len(t.handler_errors) == 1


def test_a_recorder_that_fails_breaks_no_call(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "tract")
    with LLMServer(Reply("one"), Reply("two"), Reply("three")) as server:
        t = Tract.open()
        client = record_client(client_of(Chat, server), t, results=100)
        t.close()
        answer = client.chat.completions.create(model="m", messages=QUESTION)
        assert answer.choices[0].message.content == "one"
        assert len(t.handler_errors) == len(caplog.records) == 1
        assert "could not record a request, which is sent as it is" in caplog.text
        api = Chat(record_client(client_of(Chat, server, is_async=True), t), is_streaming=True)
        asyncio.run(run_and_close(api, t))
        assert api.history[-1]["content"] == "two"
        client = record_client(client_of(Responses, server), Tract.open())
        response = client.responses.create(model="m", input="?", previous_response_id="resp_0")
        assert response.output_text == "three"
        assert "no response 'resp_0' is recorded" in caplog.text


def test_an_answer_that_cannot_be_read_is_the_callers() -> None:
    with LLMServer(Reply(body='{"choices": []}')) as server, Tract.open() as t:
        client = record_client(client_of(Chat, server), t)
        assert client.chat.completions.create(model="m", messages=QUESTION).choices == []
        assert "no answer in this response" in str(t.handler_errors[0])
        assert [message.role for message in t.compile().messages] == ["user"]


def test_what_the_provider_keeps_is_not_recorded() -> None:
    queued = json.dumps({**json.loads(response("resp_1").body or ""), "status": "queued"})
    with LLMServer(Reply("one"), Reply(body=queued)) as server, Tract.open() as t:
        responses = record_client(client_of(Responses, server), t).responses
        assert responses.create(model="m", input="?", conversation="conv_1").output_text == "one"
        assert t.head is None
        assert responses.create(model="m", input="?", background=True).status == "queued"
        assert [message.role for message in t.compile().messages] == ["user"]
        first, second = map(str, t.handler_errors)
        assert "the provider has the beginning of this conversation" in first
        assert "the response has no answer" in second


def test_what_is_no_client_is_rejected() -> None:
    with Tract.open() as t, pytest.raises(InputError, match=r"not a client .*: builtins\.dict"):
        record_client({}, t)
    with LLMServer() as server, pytest.raises(InputError, match="in a Tract, not in str"):
        record_client(client_of(Chat, server), "agent.db")  # type: ignore[arg-type]


# Streams


class Pulled(httpx2.BaseTransport):
    """Answers with events, and notes which of them were asked for."""

    def __init__(self, chunks: list[bytes], **headers: str) -> None:
        self.chunks, self.headers = chunks, {"content-type": "text/event-stream", **headers}
        self.pulled = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers=self.headers, stream=_Chunks(self))


class _Chunks(httpx2.SyncByteStream):
    def __init__(self, owner: Pulled) -> None:
        self.owner = owner

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.owner.chunks:
            self.owner.pulled += 1
            yield chunk


def chat_events(*texts: str) -> list[bytes]:
    about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": {"content": text}, "finish_reason": None} for text in texts
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    events = [json.dumps({**about, "choices": [choice]}) for choice in choices]
    return [f"data: {event}\n\n".encode() for event in [*events, "[DONE]"]]


def test_a_stream_passes_without_waiting_for_its_end() -> None:
    transport = Pulled(chat_events("A ", "lake."))
    with Tract.open() as t, httpx2.Client(transport=transport) as http_client:
        client = record_client(openai.OpenAI(api_key="k", http_client=http_client), t)
        stream = client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        assert next(stream).choices[0].delta.content == "A "
        assert transport.pulled == 1
        assert len(t.compile().messages) == 1
        assert len(list(stream)) == 2
        assert t.compile().messages[-1].text == "A lake."


def test_a_compressed_stream_is_read() -> None:
    packed = gzip.compress(b"".join(chat_events("A lake.")))
    transport = Pulled([packed[:40], packed[40:]], **{"content-encoding": "gzip"})
    with Tract.open() as t, httpx2.Client(transport=transport) as http_client:
        client = record_client(openai.OpenAI(api_key="k", http_client=http_client), t)
        with client.chat.completions.with_streaming_response.create(
            model="m", messages=QUESTION, stream=True
        ) as response:
            assert b"".join(response.iter_bytes()).endswith(b"data: [DONE]\n\n")
        assert t.compile().messages[-1].text == "A lake."
        assert not t.handler_errors


def test_a_cancelled_call_keeps_its_request() -> None:
    async def ask(server: LLMServer, t: Tract) -> None:
        client = record_client(client_of(Messages, server, is_async=True), t)
        request = {"model": "m", "max_tokens": 9, "messages": QUESTION}
        task = asyncio.create_task(client.messages.create(**request))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [message.role for message in t.compile().messages] == ["user"]
        answer = await client.messages.create(**request)
        assert answer.content[0].text == "two"
        await client.close()

    with LLMServer(Reply("one", delay=5), Reply("two")) as server, Tract.open() as t:
        asyncio.run(ask(server, t))
        assert [message.text for message in t.compile().messages] == ["What is here?", "two"]
        assert not t.handler_errors


def test_an_awaited_stream_that_is_left_is_reported() -> None:
    async def leave(server: LLMServer, t: Tract) -> None:
        async with record_client(client_of(Responses, server, is_async=True), t) as client:
            async for _ in await client.responses.create(model="m", input="?", stream=True):
                break
            async with client.responses.stream(model="m", input="?") as stream:
                async for _ in stream:
                    break
            answer = await client.responses.create(model="m", input="?")
            assert answer.output_text == "three"

    with LLMServer(Reply("one"), Reply("two"), Reply("three")) as server, Tract.open() as t:
        asyncio.run(leave(server, t))
        assert [message.text for message in t.compile().messages] == ["?", "three"]
        assert len(t.handler_errors) == 2


def test_an_async_call_inside_a_batch_does_not_wait_for_it() -> None:
    async def ask(server: LLMServer, t: Tract) -> None:
        async with record_client(client_of(Chat, server, is_async=True), t) as client:
            with t.batch():
                await client.chat.completions.create(model="m", messages=QUESTION)

    with LLMServer(Reply("A lake.")) as server, Tract.open() as t:
        asyncio.run(asyncio.wait_for(ask(server, t), 30))
        assert [message.text for message in t.compile().messages] == ["What is here?", "A lake."]


# Histories


def response(name: str, text: str = "", calls: tuple[Any, ...] = ()) -> Reply:
    """A response of the Responses API with an id of its own."""
    whole = _Responses.whole(Reply(text, calls), {"model": "gpt"})
    return Reply(body=json.dumps({**whole, "id": name}))


def test_the_same_question_may_have_several_answers() -> None:
    replies = [Reply("one"), Reply("two"), Reply("two"), Reply("Bye.")]
    with LLMServer(*replies) as server, Tract.open() as t:
        client = record_client(client_of(Chat, server), t)
        for _ in range(3):
            client.chat.completions.create(model="m", messages=QUESTION)
        longer = [*QUESTION, {"role": "assistant", "content": "one"}, *QUESTION]
        client.chat.completions.create(model="m", messages=longer)
        histories = [[m.text for m in t.compile(name).messages] for name in t.branches()]
        question = "What is here?"
        assert sorted(histories) == [[question, "one", question, "Bye."], [question, "two"]]
        assert not t.handler_errors


def test_marks_for_a_cache_may_move(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    history: list[Any] = []
    with LLMServer(*(Reply(f"answer {n}") for n in range(3))) as server, Tract.open() as t:
        client = record_client(client_of(Messages, server), t, results=100)
        for number in range(3):
            text = f"question {number}"
            marked = {"role": "user", "content": [{"type": "text", "text": text, **mark}]}
            client.messages.create(model="m", max_tokens=9, messages=[*history, marked])
            answer = {"role": "assistant", "content": f"answer {number}"}
            history += [{"role": "user", "content": text}, answer]
            if number == 0:  # from here on nothing has to be compared with the database
                monkeypatch.setattr("tract.integrations.recorder.record_list", None)
        assert [message.text for message in t.compile().messages] == [
            *("question 0", "answer 0", "question 1", "answer 1"),
            *("question 2", "answer 2"),
        ]
        assert json.dumps(server.requests[2].body).count("ephemeral") == 1
        assert not t.handler_errors


def test_a_request_that_was_too_long_is_sent_compressed() -> None:
    too_long = Reply(status=400, message="prompt is too long")
    for is_new in (False, True):
        with LLMServer(Reply("one"), too_long, Reply("two")) as server, Tract.open() as t:
            client = client_of(Messages, server)
            api = Messages(record_client(client, t, results={}))
            asyncio.run(run(api, t))
            api.history.append({"role": "user", "content": "And now?"})
            with pytest.raises(anthropic.BadRequestError):
                asyncio.run(api.ask())
            t.compress(content="They spoke about orders.", preserve=[t.head or ""])
            api.client = record_client(client, t, results={}) if is_new else api.client
            asyncio.run(run(api, t))
            sent = server.requests[-1].body
            assert validate(sent, "anthropic") == []
            assert "They spoke about orders." in json.dumps(sent["messages"])
            assert agents.PROMPT not in json.dumps(sent)
            assert t.compile().messages[-1].text == "two"
            assert not t.handler_errors


def test_a_chain_of_response_ids_is_one_history() -> None:
    retry = Reply(status=500, headers={"retry-after-ms": "1"})
    call = ("call_1", "read_log", {"path": "orders.log"})
    replies = [response("resp_1", calls=(call,)), retry, response("resp_2", "A log.")]
    with LLMServer(*replies, response("resp_3", "Bye.")) as server, Tract.open() as t:
        client = record_client(client_of(Responses, server), t, results=100)
        tools = [function_tool("read_log")]
        output = {"type": "function_call_output", "call_id": "call_1", "output": agents.LOG}
        client.responses.create(model="gpt", input="Read it.", tools=tools)
        client.responses.create(
            model="gpt", input=[output], tools=tools, previous_response_id="resp_1"
        )
        client.responses.create(model="gpt", input="Bye.", previous_response_id="resp_2")
        assert [m.role for m in t.compile().messages] == [
            *("user", "assistant", "tool", "assistant"),
            *("user", "assistant"),
        ]
        assert list(t.branches()) == ["main"]
        [item] = server.requests[2].body["input"]
        assert GET_TOOL_RESULT in item["output"]
        assert len(item["output"]) < 2000
        assert t.get_content(t.list_tool_results()[0].commit_hash) == agents.LOG
        assert not t.handler_errors


def test_what_was_changed_in_the_dialog_is_what_is_sent() -> None:
    with LLMServer(Reply("one"), Reply("two")) as server, Tract.open() as t:
        client = record_client(client_of(Messages, server), t, results={})
        api = Messages(client)
        asyncio.run(run(api, t))
        [prompt] = [info for info in t.log() if info.role == "user"]
        t.commit({"role": "user", "content": "Why does order 7 fail?"}, edit=prompt)
        api.history.append({"role": "user", "content": "And now?"})
        asyncio.run(run(api, t))
        sent = server.requests[1].body
        assert validate(sent, "anthropic") == []
        assert "order 7" in json.dumps(sent["messages"])
        assert agents.PROMPT not in json.dumps(sent)
        assert sent["system"] == "Be brief."
        assert list(t.branches()) == ["main"]


def test_an_answer_by_the_dialog_is_not_recorded_twice() -> None:
    call = ("call_9", GET_TOOL_RESULT, {"id": "call_1", "lines": "1"})
    first = agents.script()[0]
    with LLMServer(first, Reply(calls=[call]), Reply("Done.")) as server, Tract.open() as t:
        api = Messages(record_client(client_of(Messages, server), t, results=agents.RESULTS))
        calls = api.take(asyncio.run(api.ask()))
        api.give([(calls[0][0], agents.LOG, False), (calls[1][0], "two files", False)])
        answer = asyncio.run(api.ask())
        api.take(answer)
        text = t.get_content(t.answer(answer.content[0]))
        api.give([("call_9", str(text), False)])
        asyncio.run(run(api, t))
        assert [info.id for info in t.list_tool_results()] == ["call_1", "call_2", "call_9"]
        assert list(t.branches()) == ["main"]


def test_requests_at_the_same_time_have_a_branch_each() -> None:
    async def ask(client: Any, number: int) -> None:
        messages = [{"role": "user", "content": f"question {number}"}]
        for turn in range(2):
            answer = await client.chat.completions.create(model="m", messages=messages)
            messages.append({"role": "assistant", "content": answer.choices[0].message.content})
            messages.append({"role": "user", "content": f"question {number}, {turn}"})

    async def ask_all(server: LLMServer, t: Tract) -> None:
        client = record_client(client_of(Chat, server, is_async=True), t)
        await asyncio.gather(*(ask(client, number) for number in range(8)))
        await client.close()

    replies = [
        lambda request: Reply(f"to {request.body['messages'][-1]['content']}") for _ in range(16)
    ]
    with LLMServer(*replies) as server, Tract.open() as t:
        asyncio.run(ask_all(server, t))
        assert not t.handler_errors
        histories = {tuple(m.text for m in t.compile(name).messages) for name in t.branches()}
        assert histories == {
            (
                *(f"question {number}", f"to question {number}"),
                *(f"question {number}, 0", f"to question {number}, 0"),
            )
            for number in range(8)
        }
        assert t.fsck().ok


def test_many_agents_share_a_database(tmp_path: Path) -> None:
    def work(number: int) -> None:
        try:
            with agents.server() as server:
                t = Tract.open(tmp_path / "agents.db", dialog=f"agent {number}")
                with t, record_client(client_of(Chat, server), t, results=agents.RESULTS) as client:
                    asyncio.run(run(Chat(client), t))
                    agents.check_store(t, is_error=False)
                    assert not t.handler_errors
        except BaseException as error:  # noqa: BLE001 - the test reports it
            failures.append(error)

    failures: list[BaseException] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_dialog_of_a_server_is_recorded(tmp_path: Path) -> None:
    with (
        serving(str(tmp_path / "s.db")) as place,
        connect(url_of(place)) as t,
        agents.server() as server,
    ):
        api = Messages(record_client(client_of(Messages, server), t, results=agents.RESULTS))
        asyncio.run(run(api, t))
        agents.check_wire(server.requests, "anthropic")
        assert t.get_content(t.list_tool_results()[0].commit_hash) == agents.LOG
        assert not t.handler_errors


def test_another_process_goes_on(tmp_path: Path) -> None:
    program = """
import json, sys
import openai
from tract import Tract, record_client

url, path, history = sys.argv[1:]
with Tract.open(path) as t:
    client = record_client(openai.OpenAI(api_key="k", base_url=url), t, results=100)
    client.chat.completions.create(model="m", messages=json.loads(history))
"""
    history: list[Any] = [*QUESTION]
    with LLMServer(Reply("A lake."), Reply("Bye.")) as server:
        for text in ("A lake.", "Bye."):
            arguments = [server.openai_url, str(tmp_path / "x.db"), json.dumps(history)]
            subprocess.run([sys.executable, "-c", program, *arguments], check=True, cwd=ROOT)
            history += [{"role": "assistant", "content": text}, {"role": "user", "content": "Ok."}]
    with Tract.open(tmp_path / "x.db") as t:
        assert list(t.branches()) == ["main"]
        texts = [message["content"] for message in history[:-1]]
        assert [message.text for message in t.compile().messages] == texts


# The examples


@pytest.mark.parametrize("name", ["anthropic_sdk", "openai_sdk"])
def test_the_example_runs_and_is_in_the_page(name: str, tmp_path: Path) -> None:
    (tmp_path / "orders.log").write_text(agents.LOG)
    calls = [
        ("call_1", "read_file", {"path": "orders.log"}),
        ("call_2", GET_TOOL_RESULT, {"id": "call_1", "lines": "4243"}),
    ]
    if name == "openai_sdk":
        replies = [response(f"resp_{call[0]}", calls=(call,)) for call in calls]
        replies.append(response("resp_3", agents.ANSWER))
    else:
        replies = [*(Reply(calls=[call]) for call in calls), Reply(agents.ANSWER)]
    program = ROOT / "examples" / "frameworks" / f"{name}.py"
    with LLMServer(*replies) as server:
        keys = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
        urls = {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": server.openai_url}
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **keys, **urls}
        command = [sys.executable, str(program), agents.PROMPT]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert (done.stdout.strip(), done.stderr) == (agents.ANSWER, "")
        sent = [json.dumps(request.body) for request in server.requests]
        assert len(sent) == 3
        assert max(map(len, sent)) < 20_000
        assert agents.LOG.splitlines()[4242] in sent[2]
    with Tract.open(tmp_path / "agent.db") as t:
        log, part = t.list_tool_results()
        assert t.get_content(log.commit_hash) == agents.LOG
        assert part.tool == GET_TOOL_RESULT
    page = (ROOT / "docs" / "frameworks" / "sdk.md").read_text("utf-8")
    text = program.read_text("utf-8")
    shown = (
        text if name == "anthropic_sdk" else text[text.index("def run") : text.index("\n\n\nwith")]
    )
    assert shown in page
