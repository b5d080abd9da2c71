"""Clients of google-genai, recorded: real clients, with a scripted model on this machine."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from tests.agents import (
    ANSWER,
    LOG,
    PROMPT,
    RESULTS,
    TOOLS,
    check_store,
    check_wire,
    script,
    server,
)
from tests.llm_server import LLMServer, Reply
from tract import Tract
from tract.integrations.google_genai import record_genai

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "frameworks" / "google_genai.py"
MODEL = "gemini-test"

Ask = Callable[[genai.Client, Any], str]


def client_of(model: LLMServer) -> genai.Client:
    return genai.Client(api_key="key", http_options=types.HttpOptions(base_url=model.url))


def settings(t: Tract) -> Any:
    return types.GenerateContentConfig(tools=[*TOOLS, t.as_tool()])


def text_of(chunks: list[Any]) -> str:
    return "".join(chunk.text or "" for chunk in chunks)


def ask_chat(client: genai.Client, config: Any) -> str:
    return client.chats.create(model=MODEL, config=config).send_message(PROMPT).text or ""


def stream_chat(client: genai.Client, config: Any) -> str:
    chat = client.chats.create(model=MODEL, config=config)
    return text_of(list(chat.send_message_stream(PROMPT)))


def ask_models(client: genai.Client, config: Any) -> str:
    return client.models.generate_content(model=MODEL, contents=PROMPT, config=config).text or ""


def stream_models(client: genai.Client, config: Any) -> str:
    chunks = client.models.generate_content_stream(model=MODEL, contents=PROMPT, config=config)
    return text_of(list(chunks))


def ask_chat_async(client: genai.Client, config: Any) -> str:
    async def ask() -> str:
        async with client.aio as aio:
            chat = aio.chats.create(model=MODEL, config=config)
            return (await chat.send_message(PROMPT)).text or ""

    return asyncio.run(ask())


def stream_chat_async(client: genai.Client, config: Any) -> str:
    async def ask() -> str:
        async with client.aio as aio:
            chat = aio.chats.create(model=MODEL, config=config)
            return text_of([chunk async for chunk in await chat.send_message_stream(PROMPT)])

    return asyncio.run(ask())


def ask_models_async(client: genai.Client, config: Any) -> str:
    async def ask() -> str:
        async with client.aio as aio:
            asked = aio.models.generate_content(model=MODEL, contents=PROMPT, config=config)
            return (await asked).text or ""

    return asyncio.run(ask())


def stream_models_async(client: genai.Client, config: Any) -> str:
    async def ask() -> str:
        async with client.aio as aio:
            chunks = await aio.models.generate_content_stream(
                model=MODEL, contents=PROMPT, config=config
            )
            return text_of([chunk async for chunk in chunks])

    return asyncio.run(ask())


WAYS = [
    ask_chat,
    stream_chat,
    ask_models,
    stream_models,
    ask_chat_async,
    stream_chat_async,
    ask_models_async,
    stream_models_async,
]


@pytest.fixture
def t(tmp_path: Path) -> Iterator[Tract]:
    with Tract.open(tmp_path / "agents.db") as opened:
        yield opened


@pytest.mark.parametrize("ask", WAYS)
def test_every_way_to_ask_is_recorded_and_reshaped(t: Tract, ask: Ask) -> None:
    with server() as model:
        client = record_genai(client_of(model), t, results=RESULTS)
        assert ask(client, settings(t)).endswith(ANSWER)
    check_store(t)
    check_wire(model.requests, "gemini")
    assert list(t.branches()) == ["main"]
    answers = [info for info in t.log() if info.role == "assistant"]
    assert [(info.usage or {})["promptTokenCount"] for info in answers] == [21] * 4


@pytest.mark.parametrize("ask", WAYS)
def test_without_limits_the_requests_are_those_of_a_plain_client(t: Tract, ask: Ask) -> None:
    with server() as plain:
        ask(client_of(plain), settings(t))
    with server() as recorded:
        ask(record_genai(client_of(recorded), t), settings(t))
    fetched = [request.body for request in plain.requests[:3]]
    assert [request.body for request in recorded.requests[:3]] == fetched
    assert len(t.list_tool_results()) == 4


def test_the_chat_keeps_its_own_history(t: Tract) -> None:
    with server() as model:
        client = record_genai(client_of(model), t, results=RESULTS)
        chat = client.chats.create(model=MODEL, config=settings(t))
        chat.send_message(PROMPT)
        history = [content.model_dump(exclude_none=True) for content in chat.get_history()]
    assert LOG in json.dumps(history).encode().decode("unicode_escape")
    assert len(history) == 8


def test_a_streamed_chat_goes_on_in_one_branch(t: Tract) -> None:
    with LLMServer(*script(), Reply("All is well."), Reply("Bye.")) as model:
        client = record_genai(client_of(model), t, results=RESULTS)
        chat = client.chats.create(model=MODEL, config=settings(t))
        for text in (PROMPT, "Really?", "Thanks."):
            list(chat.send_message_stream(text))
    assert list(t.branches()) == ["main"]
    texts = [message.text for message in t.compile().messages]
    assert texts[-5:] == [ANSWER, "Really?", "All is well.", "Thanks.", "Bye."]


def test_a_reference_needs_the_tool_that_fetches(t: Tract) -> None:
    with LLMServer(*script()[:2], Reply(ANSWER)) as model:
        client = record_genai(client_of(model), t, results=RESULTS)
        config = types.GenerateContentConfig(tools=list(TOOLS))
        client.models.generate_content(model=MODEL, contents=PROMPT, config=config)
    assert (
        LOG
        in model.requests[1]
        .body["contents"][2]["parts"][0]["functionResponse"]["response"]
        .values()
    )


def test_an_edited_message_reaches_the_model(t: Tract) -> None:
    with LLMServer(Reply("Hello."), Reply("Well.")) as model:
        client = record_genai(client_of(model), t, results=RESULTS)
        chat = client.chats.create(model=MODEL, config=settings(t))
        chat.send_message("My key is 4711.")
        [prompt] = [info for info in t.log() if info.role == "user"]
        t.user("My key is secret.", edit=prompt)
        chat.send_message("And?")
    texts = [content["parts"][0]["text"] for content in model.requests[1].body["contents"]]
    assert texts == ["My key is secret.", "Hello.", "And?"]


def test_another_process_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    with Tract.open(path) as t, LLMServer(*script()[:3], Reply(status=400)) as model:
        client = record_genai(client_of(model), t, results=RESULTS)
        with pytest.raises(errors.ClientError):
            ask_chat(client, settings(t))
    with Tract.open(path) as t, LLMServer(Reply(ANSWER)) as model:
        client = record_genai(client_of(model), t, results=RESULTS)
        *history, last = t.compile().to_gemini()["contents"]
        chat = client.chats.create(model=MODEL, config=settings(t), history=history)
        parts = [types.Part.model_validate(part) for part in last["parts"]]
        chat.send_message(parts)
        check_store(t)
        assert list(t.branches()) == ["main"]


def test_a_request_that_fails_is_recorded_once(t: Tract) -> None:
    with LLMServer(Reply(status=400), Reply("Hello.")) as model:
        client = record_genai(client_of(model), t)
        with pytest.raises(errors.ClientError):
            client.models.generate_content(model=MODEL, contents="Hi")
        client.models.generate_content(model=MODEL, contents="Hi")
    assert [message.text for message in t.compile().messages] == ["Hi", "Hello."]


def test_a_stream_that_was_cut_leaves_no_answer(t: Tract) -> None:
    with LLMServer(Reply("One two three."), Reply("Four.")) as model:
        client = record_genai(client_of(model), t)
        chunks = client.models.generate_content_stream(model=MODEL, contents="Count.")
        assert next(iter(chunks)).text == "One "
        chunks.close()  # type: ignore[attr-defined]
        assert [message.text for message in t.compile().messages] == ["Count."]
        client.models.generate_content(model=MODEL, contents="Count.")
    assert [message.text for message in t.compile().messages] == ["Count.", "Four."]


def test_a_cancelled_call_leaves_valid_pairs(t: Tract) -> None:
    async def cancel(client: genai.Client) -> None:
        async with client.aio as aio:
            chat = aio.chats.create(model=MODEL, config=settings(t))
            asking = asyncio.create_task(chat.send_message(PROMPT))
            while len(t.list_tool_results()) < 2:
                await asyncio.sleep(0.01)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking

    with LLMServer(script()[0], Reply(ANSWER, delay=30)) as model:
        asyncio.run(cancel(record_genai(client_of(model), t, results=RESULTS)))
    results = {info.id: info.commit_hash for info in t.list_tool_results()}
    assert t.get_content(results["call_1"]) == LOG
    assert t.fsck().ok


def test_what_is_signed_comes_back_as_the_same_answer(t: Tract) -> None:
    """The provider and the client write bytes in two alphabets."""
    part = {"functionCall": {"name": "list_files", "args": {"folder": "/"}}}
    content = {"role": "model", "parts": [{**part, "thoughtSignature": "+/+/"}]}
    answer = {"candidates": [{"content": content, "finishReason": "STOP"}]}
    with LLMServer(Reply(body=json.dumps(answer)), Reply(ANSWER)) as model:
        client = record_genai(client_of(model), t)
        client.models.generate_content(
            model=MODEL, contents=PROMPT, config=types.GenerateContentConfig(tools=list(TOOLS))
        )
    assert list(t.branches()) == ["main"]
    assert [message.role for message in t.compile().messages] == [
        *("user", "assistant", "tool", "assistant")
    ]


def test_two_chats_of_one_client_are_two_branches(t: Tract) -> None:
    with LLMServer(Reply("A."), Reply("B."), Reply("A2."), Reply("B2.")) as model:
        client = record_genai(client_of(model), t)
        first, second = (client.chats.create(model=MODEL) for _ in range(2))
        for chat, text in ((first, "a"), (second, "b"), (first, "a2"), (second, "b2")):
            chat.send_message(text)
    texts = []
    for branch in t.branches():
        t.checkout(branch)
        texts.append([message.text for message in t.compile().messages])
    assert texts == [["a", "A.", "a2", "A2."], ["b", "B.", "b2", "B2."]]


def test_twenty_agents_share_a_database(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"

    async def run(number: int) -> None:
        with Tract.open(path, dialog=f"agent {number}") as t, server() as model:
            client = record_genai(client_of(model), t, results=RESULTS)
            async with client.aio as aio:
                chat = aio.chats.create(model=MODEL, config=settings(t))
                await chat.send_message(PROMPT)
            check_store(t)
            check_wire(model.requests, "gemini")

    async def run_all() -> None:
        await asyncio.gather(*map(run, range(20)))

    asyncio.run(run_all())


def test_a_recorder_that_fails_does_not_break_the_call(
    t: Tract, caplog: pytest.LogCaptureFixture
) -> None:
    with LLMServer(Reply("Hello.")) as model:
        client = record_genai(client_of(model), t)
        t.close()
        with caplog.at_level(logging.WARNING, "tract"):
            response = client.models.generate_content(model=MODEL, contents="Hi")
    assert response.text == "Hello."
    [record] = [record for record in caplog.records if record.name == "tract"]
    assert "could not record a request of google-genai" in record.message
    assert [str(error) for error in t.handler_errors] == [record.message]


def test_other_requests_pass(t: Tract) -> None:
    with LLMServer() as model:
        client = record_genai(client_of(model), t)
        with pytest.raises(errors.ClientError):
            client.models.count_tokens(model=MODEL, contents="Hi")
    assert not list(t.log())


def test_a_missing_package_is_named() -> None:
    code = "import sys; sys.modules['google.genai'] = None; import tract.integrations.google_genai"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT / "src"
    )
    assert "google-genai needs the extra google-genai" in done.stderr.splitlines()[-1]


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "frameworks" / "google-genai.md").read_text("utf-8")
    assert EXAMPLE.read_text("utf-8") in page
    (tmp_path / "orders.log").write_text(LOG)
    first, _, *rest = script()
    with LLMServer(replace(first, calls=first.calls[:1]), *rest) as model:
        environment = {"GEMINI_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": model.url}
        ran = subprocess.run(
            [sys.executable, EXAMPLE],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT / "src"), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
    assert ran.stdout == f"{ANSWER}\n"
    assert all(len(json.dumps(request.body)) < 20_000 for request in model.requests)
    with Tract.open(tmp_path / "agents.db") as t:
        assert t.get_content(t.list_tool_results()[0].commit_hash) == LOG
