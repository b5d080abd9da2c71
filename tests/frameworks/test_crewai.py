"""Agents of crewai on a dialog."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests import agents
from tests.agents import ANSWER, LOG, PROMPT, RESULTS, TOOLS
from tests.frameworks.programs import ROOT, check_program
from tests.llm_server import LLMServer, Reply
from tract import Tract, validate

pytestmark = pytest.mark.frameworks


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with agents.server() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


def agent_with(server: LLMServer, *tools: Any, stream: bool = False) -> Any:
    from crewai import LLM, Agent
    from crewai.tools import tool

    llm = LLM(model="openai/gpt-4o", base_url=server.openai_url, api_key="k", stream=stream)
    return Agent(
        role="Operator",
        goal="Find faults",
        backstory="You work at night.",
        tools=[*map(tool, TOOLS), *tools],
        llm=llm,
        max_retry_limit=0,
    )


def crew_of(agent: Any, prompt: str = PROMPT) -> Any:
    from crewai import Crew, Task

    task = Task(description=prompt, expected_output="The reason", agent=agent)
    return Crew(agents=[agent], tasks=[task])


def recorded(agent: Any, path: Path, dialog: str = "default") -> Tract:
    from tract.integrations.crewai import record_agent

    return record_agent(agent, path, dialog=dialog, results=RESULTS)


def contents(agent: Any) -> list[Any]:
    messages = agent.agent_executor.messages
    return [(message["role"], message["content"]) for message in messages]


@pytest.mark.parametrize("stream", [False, True])
def test_a_session_is_recorded_and_the_model_sees_references(
    server: LLMServer, path: Path, stream: bool
) -> None:
    agent = agent_with(server, stream=stream)
    t = recorded(agent, path)
    assert crew_of(agent).kickoff().raw == ANSWER
    agents.check_store(t)
    agents.check_wire(server.requests, "openai")
    with Tract.open(path) as other:
        agents.check_store(other)


def test_the_messages_are_what_they_would_be_without_tract(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    recorded(agent, path)
    crew_of(agent).kickoff()
    with agents.server() as other:
        alone = agent_with(other)
        alone.use_better_compaction = False
        crew_of(alone).kickoff()
    assert ("tool", LOG) in contents(agent)
    assert contents(agent)[:8] == contents(alone)[:8]
    assert contents(agent)[9:] == contents(alone)[9:]


@pytest.mark.parametrize("method", ["kickoff_async", "akickoff"])
def test_async(server: LLMServer, path: Path, method: str) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)

    async def run() -> Any:
        return await getattr(crew_of(agent), method)()

    assert asyncio.run(run()).raw == ANSWER
    agents.check_store(t)
    agents.check_wire(server.requests, "openai")


def test_an_interrupted_call_leaves_valid_pairs(path: Path) -> None:
    from crewai.tools import tool

    @tool
    def wait(seconds: int) -> str:
        """Wait."""
        raise KeyboardInterrupt

    replies = [
        Reply(calls=[("call_1", "read_log", {"path": "orders.log"})]),
        Reply(calls=[("call_2", "wait", {"seconds": 9})]),
        Reply("Done."),
    ]
    with LLMServer(*replies) as server:
        agent = agent_with(server, wait)
        t = recorded(agent, path)
        with pytest.raises(KeyboardInterrupt):
            crew_of(agent).kickoff()
        assert t.get_content(t.list_tool_results("call_1")[0].commit_hash) == LOG
        assert validate(t.compile().to_openai_params(), "openai") == []
        assert crew_of(agent, "Go on.").kickoff().raw == "Done."
        assert [validate(request.body, "openai") for request in server.requests] == [[], [], []]
    assert validate(t.compile().to_openai_params(), "openai") == []


RESUMED = """
import sys
from crewai import LLM, Agent, Crew, Task
from tract.integrations.crewai import record_agent

llm = LLM(model="openai/gpt-4o", base_url=sys.argv[2], api_key="k")
agent = Agent(role="Operator", goal="Find faults", backstory="You work at night.", llm=llm)
record_agent(agent, sys.argv[1])
task = Task(description="And line 4243?", expected_output="The reason", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff())
"""


def test_a_task_in_another_process_is_a_branch(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)
    crew_of(agent).kickoff()
    t.close()
    server.replies.append(Reply("Fine, too."))
    command = [sys.executable, "-c", RESUMED, str(path), server.openai_url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "Fine, too." in done.stdout, done.stderr
    assert validate(server.requests[-1].body, "openai") == []
    with Tract.open(path) as t:
        assert len(t.branches()) == 2
        last = {t.compile(branch).messages[-1].text for branch in t.branches()}
        assert last == {ANSWER, "Fine, too."}


def test_twenty_agents_share_a_database(path: Path) -> None:
    def run(number: int) -> Tract:
        agent = agent_with(model)
        t = recorded(agent, path, f"agent {number}")
        crew_of(agent).kickoff()
        return t

    with LLMServer(*[agents.next_step] * 80) as model, ThreadPoolExecutor(20) as pool:
        dialogs = list(pool.map(run, range(20)))
    for t in dialogs:
        agents.check_store(t)
        t.close()


def test_only_its_own_agent_is_recorded(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)
    other = agent_with(server)
    server.replies[:] = [Reply("Somebody else.")]
    crew_of(other).kickoff()
    assert list(t.log()) == []


def test_hooks_go_with_their_agent(server: LLMServer, path: Path) -> None:
    from crewai.hooks import get_before_llm_call_hooks

    agent = agent_with(server)
    before = len(get_before_llm_call_hooks())
    recorded(agent, path)
    assert len(get_before_llm_call_hooks()) == before + 1
    del agent
    gc.collect()
    assert len(get_before_llm_call_hooks()) <= before


def test_an_agent_goes_on_without_its_database(
    server: LLMServer, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_with(server)
    recorded(agent, path).close()
    with caplog.at_level(logging.WARNING, "tract"):
        assert crew_of(agent).kickoff().raw == ANSWER
    assert "tract could not record messages of crewai" in caplog.text
    assert len(json.dumps(server.requests[-1].body)) > len(LOG)


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    check_program("crewai", tmp_path)
