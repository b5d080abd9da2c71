"""Agents of Strands on a dialog."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import agents
from tests.agents import ANSWER, FAULT, LOG, PROMPT, RESULTS, TOOLS
from tests.frameworks.programs import ROOT, check_program
from tests.llm_server import Call, LLMServer, Reply
from tract import Tract, validate

pytestmark = pytest.mark.frameworks


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with agents.server() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


def agent_with(server: LLMServer, hooks: Any, **options: Any) -> Any:
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    model = OpenAIModel(client_args={"base_url": server.openai_url, "api_key": "k"}, model_id="m")
    tools = [*map(tool, TOOLS), *options.pop("tools", ())]
    options = {"callback_handler": None, "system_prompt": "Be brief.", **options}
    return Agent(model=model, tools=tools, hooks=[hooks] if hooks else [], **options)


def hooks_on(path: Path, **options: Any) -> Any:
    from tract.integrations.strands import TractHooks

    return TractHooks(path, results=RESULTS, **options)


def results_in(messages: list[Any]) -> dict[str, dict[str, Any]]:
    blocks = [block for message in messages for block in message["content"]]
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    return {result["toolUseId"]: result for result in results}


def plain(messages: list[Any]) -> list[Any]:
    """Messages without what differs from run to run."""
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def test_a_session_is_recorded_and_the_model_sees_references(server: LLMServer, path: Path) -> None:
    hooks = hooks_on(path)
    agent = agent_with(server, hooks)
    assert str(agent(PROMPT)).strip() == ANSWER
    agents.check_store(hooks.tract)
    agents.check_wire(server.requests, "openai")
    assert hooks.tract.compile().messages[0].text == "Be brief."
    assert [usage.usage["input_tokens"] for usage in hooks.tract.usages()] == [21] * 4
    assert {tool["name"] for tool in hooks.tract.get_tools()} == set(agents.NAMES)
    with Tract.open(path) as other:
        agents.check_store(other)


def test_the_agent_has_what_it_would_have_without_tract(server: LLMServer, path: Path) -> None:
    agent = agent_with(server, hooks_on(path))
    agent(PROMPT)
    fetched = results_in(agent.messages)["call_4"]["content"]
    with agents.server() as other:
        alone = agent_with(other, None)
        alone(PROMPT)
    assert results_in(agent.messages)["call_1"]["content"] == [{"text": LOG}]
    results_in(alone.messages)["call_4"].update(content=fetched, status="success")
    assert plain(agent.messages) == plain(alone.messages)


def test_async_and_streaming(server: LLMServer, path: Path) -> None:
    hooks = hooks_on(path)

    async def run() -> str:
        agent = agent_with(server, hooks)
        return "".join([event.get("data", "") async for event in agent.stream_async(PROMPT)])

    assert asyncio.run(run()).endswith(ANSWER)
    agents.check_store(hooks.tract)
    agents.check_wire(server.requests, "openai")


def test_a_cancelled_call_leaves_valid_pairs(path: Path) -> None:
    from strands import tool

    begun = asyncio.Event()

    @tool
    async def wait(seconds: int) -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(seconds)
        return "waited"

    hooks = hooks_on(path)
    read: Call = ("call_1", "read_log", {"path": "orders.log"})
    calls = [read, ("call_2", "wait", {"seconds": 600})]

    async def run(server: LLMServer) -> Any:
        agent = agent_with(server, hooks, tools=[wait])
        task = asyncio.create_task(agent.invoke_async(PROMPT))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await agent.invoke_async("Go on.")

    with LLMServer(Reply(calls=calls), Reply("Done.")) as server:
        assert str(asyncio.run(run(server))).strip() == "Done."
        assert [validate(request.body, "openai") for request in server.requests] == [[], []]
    context = hooks.tract.compile()
    assert validate(context.to_openai_params(), "openai") == []
    texts = [message.text for message in context.messages if message.role == "user"]
    assert texts[0] == PROMPT
    assert "Go on." in texts[-1]
    assert len(hooks.tract.branches()) == 1


RESUMED = """
import sys
from strands import Agent
from strands.models.openai import OpenAIModel
from tract.integrations.strands import TractHooks

hooks = TractHooks(sys.argv[1])
model = OpenAIModel(client_args={"base_url": sys.argv[2], "api_key": "k"}, model_id="m")
agent = Agent(
    model=model, messages=hooks.messages(), hooks=[hooks], callback_handler=None,
    system_prompt="Be brief.",
)
print(agent("And line 4243?"))
"""


def test_another_process_goes_on(server: LLMServer, path: Path) -> None:
    hooks = hooks_on(path)
    agent_with(server, hooks)(PROMPT)
    assert results_in(hooks.messages())["call_1"]["content"] == [{"text": LOG}]
    hooks.tract.close()
    server.replies.append(Reply("Fine, too."))
    command = [sys.executable, "-c", RESUMED, str(path), server.openai_url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "Fine, too."), done.stderr
    body = server.requests[-1].body
    assert validate(body, "openai") == []
    assert len(json.dumps(body)) < 20_000
    with Tract.open(path) as t:
        assert len(t.branches()) == 1
        assert [m.role for m in t.compile().messages][-3:] == ["assistant", "user", "assistant"]
        assert len(t.list_tool_results()) == 4


def test_twenty_agents_share_a_database(path: Path) -> None:
    all_hooks = [hooks_on(path, dialog=f"agent {number}") for number in range(20)]

    async def run(server: LLMServer) -> None:
        running = [agent_with(server, hooks).invoke_async(PROMPT) for hooks in all_hooks]
        await asyncio.gather(*running)

    with LLMServer(*[agents.next_step] * 80) as server:
        asyncio.run(run(server))
    for hooks in all_hooks:
        agents.check_store(hooks.tract)
        hooks.tract.close()


def test_what_the_window_drops_stays_recorded(server: LLMServer, path: Path) -> None:
    from strands.agent.conversation_manager import SlidingWindowConversationManager

    hooks = hooks_on(path)
    agent = agent_with(
        server, hooks, conversation_manager=SlidingWindowConversationManager(window_size=4)
    )
    agent(PROMPT)
    server.replies.append(Reply("Bye."))
    agent("Bye?")
    assert len(agent.messages) < 10
    assert validate(server.requests[-1].body, "openai") == []
    assert len(hooks.tract.branches()) == 1
    assert [message.role for message in hooks.tract.compile().messages].count("tool") == 4


def test_an_edit_in_tract_reaches_the_model(server: LLMServer, path: Path) -> None:
    hooks = hooks_on(path)
    agent = agent_with(server, hooks)
    agent(PROMPT)
    hooks.tract.user("Why do they fail?", edit=hooks.tract.compile().commit_hashes[1])
    server.replies.append(Reply("Well."))
    agent("Really?")
    text = json.dumps(server.requests[-1].body)
    assert validate(server.requests[-1].body, "openai") == []
    assert "Why do they fail?" in text
    assert PROMPT not in text
    assert "Really?" in text
    assert len(hooks.tract.branches()) == 1


def test_an_image_goes_in_and_out(path: Path) -> None:
    hooks = hooks_on(path)
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    with LLMServer(Reply("A picture.")) as server:
        agent_with(server, hooks)([{"text": "What is this?"}, image])
    assert hooks.messages()[0]["content"] == [{"text": "What is this?"}, image]


def test_an_agent_goes_on_without_its_database(
    server: LLMServer, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = hooks_on(path)
    agent = agent_with(server, hooks)
    hooks.tract.close()
    with caplog.at_level(logging.WARNING, "tract"):
        assert str(agent(PROMPT)).strip() == ANSWER
    assert "tract could not record a message of Strands" in caplog.text
    assert FAULT in str(results_in(agent.messages)["call_3"])


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    check_program("strands", tmp_path)
