"""Agents of LangChain on a dialog."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolErrorMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests import agents
from tests.llm_server import LLMServer, Reply
from tract import Tract, validate
from tract.integrations.langchain import GetPreviousResultTool, TractMiddleware, prepare_messages

PROMPT = {"messages": [HumanMessage(agents.PROMPT)]}
ERRORS = ToolErrorMiddleware(lambda error, _: str(error))


def model(server: LLMServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(
        model="gpt-5.5", base_url=server.openai_url, api_key="k", max_retries=0, **options
    )


def agent_of(server: LLMServer, *middleware: Any, tools: Any = agents.TOOLS, **options: Any) -> Any:
    own = {key: options.pop(key) for key in ("use_responses_api",) if key in options}
    prompt = {"system_prompt": "You help.", **options}
    return create_agent(model(server, **own), list(tools), middleware=list(middleware), **prompt)


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


@pytest.fixture
def t(tmp_path: Path) -> Iterator[Tract]:
    with Tract.open(tmp_path / "t.db") as t:
        t.configure_results(**agents.RESULTS)
        yield t


def run(agent: Any, how: str, config: Any = None) -> list[BaseMessage]:
    """Let an agent answer in one of the four ways. Return the messages of its state."""
    if how == "invoke":
        return agent.invoke(PROMPT, config)["messages"]
    if how == "stream":
        *_, last = agent.stream(PROMPT, config, stream_mode=["messages", "values"])
        return last[1]["messages"]
    if how == "ainvoke":
        return asyncio.run(agent.ainvoke(PROMPT, config))["messages"]

    async def stream() -> Any:
        parts = agent.astream(PROMPT, config, stream_mode=["messages", "values"])
        return [part async for part in parts][-1][1]["messages"]

    return asyncio.run(stream())


def spoken(messages: list[BaseMessage]) -> list[Any]:
    """What messages say, without the ids that each run makes."""
    calls = [getattr(message, "tool_calls", None) for message in messages]
    return [(type(m), m.content, m.name, own) for m, own in zip(messages, calls, strict=True)]


@pytest.mark.parametrize("how", ["invoke", "stream", "ainvoke", "astream"])
def test_an_agent_runs_on_a_dialog(t: Tract, how: str) -> None:
    with agents.server() as server:
        messages = run(agent_of(server, TractMiddleware(t), ERRORS), how)
        agents.check_store(t)
        agents.check_wire(server.requests, "openai")
    with agents.server() as server:
        fetch = GetPreviousResultTool(t)
        plain = run(agent_of(server, ERRORS, tools=[*agents.TOOLS, fetch]), how)
    assert spoken(messages) == spoken(plain)
    assert any(message.content == agents.LOG for message in messages)


def test_the_responses_api(t: Tract) -> None:
    with agents.server() as server:
        run(agent_of(server, TractMiddleware(t), ERRORS, use_responses_api=True), "invoke")
        agents.check_wire(server.requests, "responses")
    agents.check_store(t)
