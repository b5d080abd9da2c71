"""litellm, recorded: real calls, with a scripted model on this machine.

It needs other versions than the rest of the project: `dev.py test --frameworks` runs this in an
environment of its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # read when it is imported
litellm = pytest.importorskip("litellm", reason="litellm needs an environment of its own")

from tests.agents import (  # noqa: E402
    ANSWER,
    LOG,
    PROMPT,
    RESULTS,
    TOOLS,
    as_openai_tool,
    check_store,
    check_wire,
    script,
    server,
)
from tests.llm_server import LLMServer, Reply, Request  # noqa: E402
from tract import GET_TOOL_RESULT_TOOL, Tract, validate  # noqa: E402
from tract.integrations.litellm import TractLogger  # noqa: E402

pytestmark = pytest.mark.frameworks
ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "frameworks" / "litellm_agent.py"
SCHEMAS = [*map(as_openai_tool, TOOLS), GET_TOOL_RESULT_TOOL["openai"]]
USAGE = {"stream_options": {"include_usage": True}}


def ask(log: TractLogger, messages: list[Any], options: dict[str, Any]) -> Any:
    return litellm.completion(messages=log.prepare(messages, SCHEMAS), tools=SCHEMAS, **options)


def stream(log: TractLogger, messages: list[Any], options: dict[str, Any]) -> Any:
    shown = log.prepare(messages, SCHEMAS)
    chunks = litellm.completion(messages=shown, tools=SCHEMAS, stream=True, **USAGE, **options)
    return litellm.stream_chunk_builder(list(chunks))


async def ask_async(log: TractLogger, messages: list[Any], options: dict[str, Any]) -> Any:
    return await litellm.acompletion(messages=messages, tools=SCHEMAS, **options)


async def stream_async(log: TractLogger, messages: list[Any], options: dict[str, Any]) -> Any:
    call = litellm.acompletion(messages=messages, tools=SCHEMAS, stream=True, **USAGE, **options)
    return litellm.stream_chunk_builder([chunk async for chunk in await call])


async def route_async(log: TractLogger, messages: list[Any], options: dict[str, Any]) -> Any:
    router = litellm.Router([{"model_name": "openai/scripted", "litellm_params": options}])
    return await router.acompletion("openai/scripted", messages=messages, tools=SCHEMAS)


def results_of(t: Tract, message: Any) -> list[dict[str, str]]:
    functions: dict[str, Any] = {function.__name__: function for function in TOOLS}
    functions["get_tool_result"] = t.as_tool()
    results = []
    for call in message.tool_calls:
        try:
            text = functions[call.function.name](**json.loads(call.function.arguments))
        except RuntimeError as error:
            text = f"Error: {error}"
        results.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return results


def options_of(model: LLMServer) -> dict[str, Any]:
    return {"model": "openai/scripted", "api_base": model.openai_url, "api_key": "key"}


async def work(t: Tract, log: TractLogger, model: LLMServer, way: Any) -> list[Any]:
    """The loop of an agent. Returns its messages."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    while True:
        answer = way(log, messages, options_of(model))
        response = await answer if asyncio.iscoroutine(answer) else answer
        messages.append(response.choices[0].message)
        if not messages[-1].tool_calls:
            assert await asyncio.to_thread(log.flush)
            return messages
        messages += results_of(t, messages[-1])


@pytest.fixture
def t(tmp_path: Path) -> Iterator[Tract]:
    with Tract.open(tmp_path / "agents.db") as opened:
        yield opened
    litellm.callbacks = []


def logger_of(t: Tract, results: Any = None) -> TractLogger:
    log = TractLogger(t, results)
    litellm.logging_callback_manager._reset_all_callbacks()
    litellm.callbacks = [log]
    return log


@pytest.mark.parametrize("way", [ask, stream, ask_async, stream_async, route_async])
def test_every_way_to_ask_is_recorded_and_reshaped(t: Tract, way: Any) -> None:
    with server() as model:
        messages = asyncio.run(work(t, logger_of(t, RESULTS), model, way))
    check_store(t, is_error=False)
    for message in (message for request in model.requests for message in request.body["messages"]):
        message.pop("provider_specific_fields", None)  # litellm itself sends that
    check_wire(model.requests, "openai")
    assert LOG in [message["content"] for message in messages if isinstance(message, dict)]
    assert list(t.branches()) == ["main"]
    answers = [info for info in t.log() if info.role == "assistant"]
    assert all((info.usage or {}).get("total_tokens") for info in answers)
    assert len(answers) == 4


def test_without_limits_nothing_is_reshaped(t: Tract) -> None:
    with server() as model:
        asyncio.run(work(t, logger_of(t), model, ask_async))
    assert LOG in [message.get("content") for message in model.requests[1].body["messages"]]
    assert len(t.list_tool_results()) == 4


def test_zeros_are_no_usage(t: Tract) -> None:
    """litellm reports zeros for a stream that was not asked for its usage."""
    log = logger_of(t)
    with LLMServer(Reply("Hello.")) as model:
        messages = [{"role": "user", "content": "Hi"}]
        list(litellm.completion(messages=messages, stream=True, **options_of(model)))
        assert log.flush()
    assert [info.usage for info in t.log() if info.role == "assistant"] == [None]


def test_a_call_that_was_not_prepared_is_recorded(t: Tract) -> None:
    log = logger_of(t, RESULTS)
    with LLMServer(Reply("Hello.")) as model:
        litellm.completion(messages=[{"role": "user", "content": "Hi"}], **options_of(model))
        assert log.flush()
    assert [message.text for message in t.compile().messages] == ["Hi", "Hello."]


def test_a_request_that_fails_is_recorded_once(t: Tract) -> None:
    log = logger_of(t)
    messages = [{"role": "user", "content": "Hi"}]
    with LLMServer(Reply(status=400), Reply("Hello.")) as model:
        with pytest.raises(litellm.BadRequestError):
            litellm.completion(messages=messages, **options_of(model))
        litellm.completion(messages=messages, **options_of(model))
        assert log.flush()
    assert [message.text for message in t.compile().messages] == ["Hi", "Hello."]


def test_a_cancelled_call_leaves_valid_pairs(t: Tract) -> None:
    async def cancel(model: LLMServer) -> None:
        working = asyncio.create_task(work(t, logger_of(t, RESULTS), model, ask_async))
        while len(t.list_tool_results()) < 2:
            await asyncio.sleep(0.01)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working

    with LLMServer(script()[0], Reply(ANSWER, delay=30)) as model:
        asyncio.run(cancel(model))
    results = {info.id: info.commit_hash for info in t.list_tool_results()}
    assert t.get_content(results["call_1"]) == LOG
    assert t.fsck().ok


def test_a_recorder_that_fails_does_not_break_the_call(
    t: Tract, caplog: pytest.LogCaptureFixture
) -> None:
    logger_of(t)
    t.close()
    with LLMServer(Reply("Hello.")) as model, caplog.at_level(logging.WARNING, "tract"):
        response = litellm.completion(
            messages=[{"role": "user", "content": "Hi"}], **options_of(model)
        )
    assert response.choices[0].message.content == "Hello."
    assert "could not record a request of litellm" in caplog.text
    assert t.handler_errors


RESUMED = """
import sys
import litellm
from tract import GET_TOOL_RESULT_TOOL, Tract
from tract.integrations.litellm import TractLogger

t = Tract.open(sys.argv[1])
litellm.callbacks = [log := TractLogger(t, results=500)]
messages = t.compile(load_tool_results=True).to_openai()
messages.append({"role": "user", "content": "Are you sure?"})
options = {"model": "openai/scripted", "api_base": sys.argv[2], "api_key": "key"}
tools = [GET_TOOL_RESULT_TOOL["openai"]]
litellm.completion(messages=log.prepare(messages, tools), tools=tools, **options)
"""


def test_another_process_goes_on(t: Tract, tmp_path: Path) -> None:
    with server() as model:
        asyncio.run(work(t, logger_of(t, RESULTS), model, ask_async))
    with LLMServer(Reply("Yes.")) as model:
        command = [sys.executable, "-c", RESUMED, str(tmp_path / "agents.db"), model.openai_url]
        subprocess.run(command, cwd=ROOT, check=True)
    [request] = model.requests
    assert validate(request.body, "openai") == []
    assert len(json.dumps(request.body)) < 20_000
    assert [message.text for message in t.compile().messages][-2:] == ["Are you sure?", "Yes."]
    assert len(t.branches()) == 1
    assert t.get_content(t.list_tool_results("call_1")[0].commit_hash) == LOG


def test_twenty_agents_are_branches_of_one_dialog(t: Tract) -> None:
    log = logger_of(t, RESULTS)

    async def run(model: LLMServer, number: int) -> None:
        messages: list[Any] = [{"role": "user", "content": f"{PROMPT} {number}"}]
        while True:
            response = await ask_async(log, messages, options_of(model))
            messages.append(response.choices[0].message)
            if not messages[-1].tool_calls:
                return
            messages += results_of(t, messages[-1])

    async def run_all(model: LLMServer) -> None:
        await asyncio.gather(*(run(model, number) for number in range(20)))

    def reply(request: Request) -> Reply:
        answers = [m for m in request.body["messages"] if m["role"] == "assistant"]
        return script()[len(answers)]

    with LLMServer(*[reply] * 80) as model:
        asyncio.run(run_all(model))
    assert not t.handler_errors
    contexts = [t.compile(branch, load_tool_results=True).messages for branch in t.branches()]
    assert {context[0].text for context in contexts} == {f"{PROMPT} {n}" for n in range(20)}
    for context in contexts:
        assert [message.role[0] for message in context] == list("uattatata")
        assert (context[2].content, context[-1].text) == (LOG, ANSWER)
    assert len(contexts) == 20
    assert all(len(json.dumps(request.body)) < 20_000 for request in model.requests)


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "frameworks" / "litellm.md").read_text("utf-8")
    assert EXAMPLE.read_text("utf-8") in page
    (tmp_path / "orders.log").write_text(LOG)
    first, _, *rest = script()
    with LLMServer(Reply(first.text, first.calls[:1]), *rest) as model:
        environment = {
            "OPENAI_API_KEY": "key",
            "OPENAI_API_BASE": model.openai_url,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "PYTHONPATH": str(ROOT / "src"),
        }
        ran = subprocess.run(
            [sys.executable, EXAMPLE],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.stdout.splitlines()[-1] == ANSWER, ran.stderr
    assert all(len(json.dumps(request.body)) < 20_000 for request in model.requests)
    with Tract.open(tmp_path / "agents.db") as t:
        assert t.get_content(t.list_tool_results()[0].commit_hash) == LOG
        assert t.compile().messages[-1].text == ANSWER
