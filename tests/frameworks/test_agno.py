"""Agents of agno on a dialog."""

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
from tests.agents import ANSWER, LOG, PROMPT, RESULTS, TOOLS
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


def agent_with(server: LLMServer, **options: Any) -> Any:
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat

    model = OpenAIChat(id="m", base_url=server.openai_url, api_key="k")
    tools = [*TOOLS, *options.pop("tools", ())]
    options = {"instructions": "Be brief.", "telemetry": False, **options}
    return Agent(model=model, tools=tools, **options)


def recorded(agent: Any, path: Path, dialog: str = "default") -> Tract:
    from tract.integrations.agno import record_agent

    return record_agent(agent, path, dialog=dialog, results=RESULTS)


def contents(run: Any) -> list[Any]:
    return [(message.role, message.content, message.tool_call_id) for message in run.messages]


def test_a_session_is_recorded_and_the_model_sees_references(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)
    assert agent.run(PROMPT).content.endswith(ANSWER)
    agents.check_store(t)
    agents.check_wire(server.requests, "openai")
    assert [usage.usage["input_tokens"] for usage in t.usages()] == [21] * 4
    with Tract.open(path) as other:
        agents.check_store(other)


def test_the_run_is_what_it_would_be_without_tract(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    recorded(agent, path)
    run = contents(agent.run(PROMPT))
    with agents.server() as other:
        alone = contents(agent_with(other).run(PROMPT))
    assert ("tool", LOG, "call_1") in run
    assert run[:8] == alone[:8]
    assert run[9:] == alone[9:]


def test_async(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)
    assert asyncio.run(agent.arun(PROMPT)).content.endswith(ANSWER)
    agents.check_store(t)
    agents.check_wire(server.requests, "openai")


@pytest.mark.parametrize("is_async", [False, True])
def test_streaming(server: LLMServer, path: Path, is_async: bool) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)

    async def stream() -> list[Any]:
        return [event async for event in agent.arun(PROMPT, stream=True)]

    events = asyncio.run(stream()) if is_async else list(agent.run(PROMPT, stream=True))
    assert "".join(event.content or "" for event in events).endswith(ANSWER)
    agents.check_store(t)
    agents.check_wire(server.requests, "openai")


def test_a_cancelled_call_leaves_valid_pairs(path: Path) -> None:
    begun = asyncio.Event()

    async def wait(seconds: int) -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(seconds)
        return "waited"

    read: Call = ("call_1", "read_log", {"path": "orders.log"})
    replies = [
        Reply(calls=[read]),
        Reply(calls=[("call_2", "wait", {"seconds": 600})]),
        Reply("Done."),
    ]

    async def run(server: LLMServer) -> Tract:
        agent = agent_with(server, tools=[wait])
        t = recorded(agent, path)
        task = asyncio.create_task(agent.arun(PROMPT))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert t.get_content(t.list_tool_results("call_1")[0].commit_hash) == LOG
        assert validate(t.compile().to_openai_params(), "openai") == []
        assert (await agent.arun("Go on.")).content == "Done."
        return t

    with LLMServer(*replies) as server:
        t = asyncio.run(run(server))
        assert [validate(request.body, "openai") for request in server.requests] == [[], [], []]
    assert validate(t.compile().to_openai_params(), "openai") == []
    assert len(t.branches()) == 2  # the second run had nothing of the first


RESUMED = """
import sys
from agno.agent import Agent
from agno.db.json import JsonDb
from agno.models.openai import OpenAIChat
from tests.agents import PROMPT, RESULTS, TOOLS
from tract.integrations.agno import record_agent

agent = Agent(
    model=OpenAIChat(id="m", base_url=sys.argv[2], api_key="k"), tools=list(TOOLS),
    db=JsonDb(sys.argv[1] + ".json"), session_id="one", add_history_to_context=True,
    telemetry=False,
)
t = record_agent(agent, sys.argv[1], results=RESULTS)
print(agent.run(sys.argv[3]).content)
"""


def test_another_process_goes_on(server: LLMServer, path: Path) -> None:
    server.replies.append(Reply("Fine, too."))
    for prompt, answer in ((PROMPT, ANSWER), ("And line 4243?", "Fine, too.")):
        command = [sys.executable, "-c", RESUMED, str(path), server.openai_url, prompt]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.stdout.strip().endswith(answer), done.stderr
    body = server.requests[-1].body
    assert validate(body, "openai") == []
    assert PROMPT in json.dumps(body)
    assert len(json.dumps(body)) < 20_000
    with Tract.open(path) as t:
        assert len(t.branches()) == 1
        assert len(t.list_tool_results()) == 4
        assert t.compile().messages[-1].text == "Fine, too."


def test_twenty_agents_share_a_database(path: Path) -> None:
    async def run(server: LLMServer) -> list[Tract]:
        several = [agent_with(server) for _ in range(20)]
        dialogs = [recorded(agent, path, f"agent {n}") for n, agent in enumerate(several)]
        await asyncio.gather(*[agent.arun(PROMPT) for agent in several])
        return dialogs

    with LLMServer(*[agents.next_step] * 80) as server:
        dialogs = asyncio.run(run(server))
    for t in dialogs:
        agents.check_store(t)
        t.close()


def test_a_result_that_is_shown_in_full_again(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)

    def expand(_: Any) -> Reply:
        t.reshape({t.list_tool_results("call_1")[0].commit_hash: "full"})
        return agents.script()[1]

    server.replies[1] = expand
    agent.run(PROMPT)
    assert len(json.dumps(server.requests[1].body)) < 20_000
    assert len(json.dumps(server.requests[2].body)) > len(LOG)


def test_an_agent_goes_on_without_its_database(
    server: LLMServer, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_with(server)
    recorded(agent, path).close()
    with caplog.at_level(logging.WARNING, "tract"):
        assert agent.run(PROMPT).content.endswith(ANSWER)
    assert "tract could not record messages of agno" in caplog.text


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    check_program("agno", tmp_path)
