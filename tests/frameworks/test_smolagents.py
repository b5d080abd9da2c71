"""Agents of smolagents on a dialog."""

from __future__ import annotations

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
from tests.agents import ANSWER, FAULT, LOG, NAMES, PROMPT, RESULTS, TOOLS
from tests.frameworks.programs import ROOT, check_program
from tests.llm_server import LLMServer, Reply, Request
from tract import Tract, validate

pytestmark = pytest.mark.frameworks


def script() -> list[Reply]:
    """The session, whose answer is a call here."""
    return [*agents.script()[:-1], final_answer(ANSWER, "call_5")]


def final_answer(text: str, call_id: str) -> Reply:
    return Reply(calls=[(call_id, "final_answer", {"answer": text})])


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(*script()) as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


def agent_with(server: LLMServer, **options: Any) -> Any:
    from smolagents import OpenAIModel, ToolCallingAgent, tool

    model = OpenAIModel("m", api_base=server.openai_url, api_key="k")
    tools = [*map(tool, TOOLS), *options.pop("tools", ())]
    return ToolCallingAgent(tools=tools, model=model, verbosity_level=-1, **options)


def recorded(agent: Any, path: Path, dialog: str = "default") -> Tract:
    from tract.integrations.smolagents import record_agent

    return record_agent(agent, path, dialog=dialog, results=RESULTS)


def check_store(t: Tract) -> None:
    results = {info.id: info for info in t.list_tool_results()}
    assert list(results) == ["call_1", "call_2", "call_3", "call_4", "call_5"]
    assert [info.tool for info in results.values()] == [*NAMES, "get_tool_result", "final_answer"]
    assert [info.form for info in results.values()] == ["reference", *["full"] * 4]
    assert t.get_content(results["call_1"].commit_hash) == LOG
    assert FAULT in t.get_tool_result("call_3")
    assert results["call_3"].status == "error"
    assert LOG.splitlines()[4242] in t.get_tool_result("call_4")
    assert t.compile().messages[1].text == PROMPT
    assert t.fsck().ok
    assert len(t.branches()) == 1
    assert validate(t.compile().to_openai_params(), "openai") == []


def test_a_session_is_recorded_and_the_model_sees_references(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)
    assert agent.run(PROMPT) == ANSWER
    check_store(t)
    agents.check_wire(server.requests, "openai")
    assert [usage.usage["input_tokens"] for usage in t.usages()] == [21] * 4
    names = {tool["function"]["name"] for tool in t.get_tools() or []}
    assert names == {*NAMES, "final_answer"}
    with Tract.open(path) as other:
        check_store(other)


def test_the_memory_is_what_it_would_be_without_tract(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    recorded(agent, path)
    agent.run(PROMPT)
    with LLMServer(*script()) as other:
        alone = agent_with(other)
        alone.run(PROMPT)
    steps = [step.observations for step in agent.memory.steps[1:]]
    others = [step.observations for step in alone.memory.steps[1:]]
    assert LOG in steps[0]
    assert steps[:2] == others[:2]
    assert steps[3:] == others[3:]
    assert set(agent.memory.get_full_steps()[1]) == set(alone.memory.get_full_steps()[1])


def test_a_run_with_an_empty_memory_is_a_branch(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)
    agent.run(PROMPT)
    server.replies.append(final_answer("Fine, too.", "call_1"))
    assert agent.run("And line 4243?") == "Fine, too."
    assert len(t.branches()) == 2
    assert [message.text for message in t.compile().messages if message.role == "user"] == [
        "And line 4243?"
    ]


def test_streaming(server: LLMServer, path: Path) -> None:
    agent = agent_with(server, stream_outputs=True)
    t = recorded(agent, path)
    assert list(agent.run(PROMPT, stream=True))[-1].output == ANSWER
    check_store(t)
    agents.check_wire(server.requests, "openai")


def test_an_agent_that_writes_code(path: Path) -> None:
    from smolagents import CodeAgent, OpenAIModel, tool

    codes = [
        'print(read_log(path="orders.log"))',
        'print(get_tool_result(id="call_1", lines="4244"))',  # after "Execution logs:"
        'final_answer("Done.")',
    ]
    with LLMServer(*[Reply(f"<code>\n{code}\n</code>") for code in codes]) as server:
        model = OpenAIModel("m", api_base=server.openai_url, api_key="k")
        agent = CodeAgent(
            tools=[tool(TOOLS[0])],
            model=model,
            verbosity_level=-1,
            max_print_outputs_length=1_000_000,
        )
        t = recorded(agent, path)
        assert agent.run(PROMPT) == "Done."
        assert [validate(request.body, "openai") for request in server.requests] == [[], [], []]
        assert len(json.dumps(server.requests[1].body)) < 30_000
        assert LOG.splitlines()[4242] in json.dumps(server.requests[2].body)
    assert [info.form for info in t.list_tool_results()] == ["reference", "full", "full"]
    assert LOG in str(t.get_content(t.list_tool_results()[0].commit_hash))


def test_a_cancelled_call_leaves_valid_pairs(path: Path) -> None:
    from smolagents import tool

    @tool
    def wait(seconds: int) -> str:
        """Wait.

        Args:
            seconds: How long.
        """
        raise KeyboardInterrupt

    replies = [Reply(calls=[("call_1", "wait", {"seconds": 9})]), final_answer("Done.", "call_2")]
    with LLMServer(*replies) as server:
        agent = agent_with(server, tools=[wait])
        t = recorded(agent, path)
        with pytest.raises(KeyboardInterrupt):
            agent.run(PROMPT)
        assert agent.run("Go on.", reset=False) == "Done."
        assert [validate(request.body, "openai") for request in server.requests] == [[], []]
    assert validate(t.compile().to_openai_params(), "openai") == []
    assert [m.text for m in t.compile().messages if m.role == "user"] == [PROMPT, "Go on."]


RESUMED = """
import sys
from smolagents import OpenAIModel, ToolCallingAgent, tool
from tests.agents import TOOLS
from tract.integrations.smolagents import memory_steps, record_agent

model = OpenAIModel("m", api_base=sys.argv[2], api_key="k")
agent = ToolCallingAgent(tools=list(map(tool, TOOLS)), model=model, verbosity_level=-1)
t = record_agent(agent, sys.argv[1])
agent.memory.steps = memory_steps(t)
print(agent.run("And line 4243?", reset=False))
"""


def test_another_process_goes_on(server: LLMServer, path: Path) -> None:
    agent = agent_with(server)
    t = recorded(agent, path)
    agent.run(PROMPT)
    t.close()
    server.replies += [
        Reply(calls=[("call_6", "list_files", {"folder": "/"})]),
        final_answer("Fine, too.", "call_7"),
    ]
    command = [sys.executable, "-c", RESUMED, str(path), server.openai_url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "Fine, too."), done.stderr
    assert validate(server.requests[-1].body, "openai") == []
    assert len(json.dumps(server.requests[-1].body)) < 20_000
    with Tract.open(path) as t:
        assert len(t.branches()) == 1
        assert [info.id for info in t.list_tool_results()][-2:] == ["call_6", "call_7"]
        assert len(t.list_tool_results()) == 7


def test_twenty_agents_share_a_database(path: Path) -> None:
    def run(number: int) -> Tract:
        agent = agent_with(model)
        t = recorded(agent, path, f"agent {number}")
        agent.run(PROMPT)
        return t

    def reply(request: Request) -> Reply:  # smolagents joins messages of one role
        text = json.dumps(request.body["messages"][1:])
        return script()[sum(mark in text for mark in ("'call_1'", FAULT, "'call_4'"))]

    with LLMServer(*[reply] * 80) as model, ThreadPoolExecutor(20) as pool:
        dialogs = list(pool.map(run, range(20)))
    for t in dialogs:
        check_store(t)
        t.close()


def test_an_agent_goes_on_without_its_database(
    server: LLMServer, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_with(server)
    recorded(agent, path).close()
    with caplog.at_level(logging.WARNING, "tract"):
        assert agent.run(PROMPT) == ANSWER
    assert "tract could not record a step of smolagents" in caplog.text


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    check_program("smolagents", tmp_path, final_answer("Line 4243 is fine.", "call_3"))
