"""What an adapter costs, and what it saves: the same agent with and without tract.

`python3 dev.py bench frameworks [--json] [--quick]`. The model is a script on this machine. Runs
with and without tract take turns, and times are medians. Each number that has a bound is the worst
of the frameworks.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.glue import glue_lines
from benchmarks.measure import ROOT
from benchmarks.report import Numbers, Result, report
from tests.llm_server import LLMServer, Reply
from tract import Tract

AT_MOST: dict[str, float] = {"overhead_ms": 3, "glue_lines": 3, "wire_kb": 0.35}
RESULTS = {"inline_tokens": 500, "preview_tokens": 100}
EXAMPLES = ROOT / "examples" / "frameworks"


class Scale(NamedTuple):
    calls: int
    """Of the session whose bytes are counted."""
    history: int
    """Messages before the calls that are timed."""
    timed: int
    rounds: int


FULL, QUICK = Scale(40, 200, 20, 7), Scale(2, 4, 2, 1)


def read_log(number: int) -> str:
    """Read a part of the log.

    Args:
        number: Which part.
    """
    lines = (f"{number:03} {line:04} GET /orders/{line * 7919 % 9973} 200" for line in range(400))
    return "\n".join(lines)


def read_line(number: int) -> str:
    """Read a line of the log.

    Args:
        number: Which line.
    """
    return f"{number:03} GET /orders 200"


# One agent for each framework. It runs until the model calls no tool.

Tool = Callable[[int], str]
Agent = Callable[[str, Tool, "Tract | None", int], None]
"""Where the model is, the tool, the dialog or None, and how many messages come before."""


def langchain(url: str, tool: Tool, t: Tract | None, history: int) -> None:
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_openai import ChatOpenAI

    from tract.integrations.langchain import TractMiddleware

    model: Any = ChatOpenAI(model="m", base_url=url, api_key="k")  # type: ignore[arg-type]
    middleware: Any = [TractMiddleware(t, results=RESULTS)] if t else []
    agent: Any = create_agent(model, [tool], middleware=middleware)
    turns = ((HumanMessage(f"ask {n}"), AIMessage(f"answer {n}")) for n in range(history // 2))
    earlier = [message for turn in turns for message in turn]
    agent.invoke({"messages": [*earlier, HumanMessage("Look.")]}, {"recursion_limit": 1000})


def openai_agents(url: str, tool: Tool, t: Tract | None, history: int) -> None:
    import agents
    from openai import AsyncOpenAI

    from tract.integrations.openai_agents import fetch_tool, run_options

    async def run() -> None:
        async with AsyncOpenAI(base_url=url, api_key="k") as client:
            model = agents.OpenAIResponsesModel("m", client)
            tools: Any = [agents.function_tool(tool), *([fetch_tool(t)] if t else [])]
            agent: Any = agents.Agent("a", model=model, tools=tools)
            options: Any = run_options(t, results=RESULTS) if t else {}
            turns = [(f"ask {n}", f"answer {n}") for n in range(history // 2)]
            texts = [text for turn in turns for text in turn]
            roles = ("user", "assistant")
            items: Any = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
            question = {"role": "user", "content": "Look."}
            await agents.Runner.run(agent, [*items, question], max_turns=1000, **options)

    agents.set_tracing_disabled(True)
    asyncio.run(run())


def pydantic_ai(url: str, tool: Tool, t: Tract | None, history: int) -> None:
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from tract.integrations.pydantic_ai import TractCapability

    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="k"))
    capabilities = [TractCapability(t, results=RESULTS)] if t else []
    agent: Any = Agent(model, tools=[tool], capabilities=capabilities)
    earlier: list[Any] = []
    for n in range(history // 2):
        earlier.append(ModelRequest([UserPromptPart(f"ask {n}")]))
        earlier.append(ModelResponse([TextPart(f"answer {n}")]))
    limits = UsageLimits(request_limit=None)
    agent.run_sync("Look.", message_history=earlier, usage_limits=limits)


def openai_sdk(url: str, tool: Tool, t: Tract | None, history: int) -> None:
    import openai

    from tract import record_client

    client: Any = openai.OpenAI(base_url=url, api_key="k")
    client = record_client(client, t, results=RESULTS) if t else client
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
    function = {"name": tool.__name__, "parameters": schema}
    messages: list[Any] = []
    for n in range(history // 2):
        messages.append({"role": "user", "content": f"ask {n}"})
        messages.append({"role": "assistant", "content": f"answer {n}"})
    messages.append({"role": "user", "content": "Look."})
    tools = [{"type": "function", "function": function}]
    while True:
        answer = client.chat.completions.create(model="m", messages=messages, tools=tools)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            result = tool(json.loads(call.function.arguments)["number"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


AGENTS: dict[str, Agent] = {
    "langchain": langchain,
    "openai_agents": openai_agents,
    "pydantic_ai": pydantic_ai,
    "openai_sdk": openai_sdk,
}


class Run(NamedTuple):
    seconds: float
    """For each request."""
    size: int
    """Of all requests, in bytes."""


def run(agent: Agent, tool: Tool, calls: int, history: int, *, has_tract: bool) -> Run:
    asked = [Reply(calls=[(f"call_{n}", tool.__name__, {"number": n})]) for n in range(calls)]
    with tempfile.TemporaryDirectory() as folder, LLMServer(*asked, Reply("Done.")) as server:
        t = Tract.open(Path(folder, "t.db")) if has_tract else None
        began = time.perf_counter()
        agent(server.openai_url, tool, t, history)
        seconds = (time.perf_counter() - began) / (calls + 1)
        if t:
            assert len(t.list_tool_results()) == calls
            t.close()
        assert len(server.requests) == calls + 1
        return Run(seconds, sum(len(json.dumps(request.body)) for request in server.requests))


def overhead(agent: Agent, scale: Scale) -> float:
    """Milliseconds that each request takes longer. A first run loads what is loaded once, and what
    a run costs once is not counted: a run with fewer calls is subtracted."""
    times: dict[tuple[bool, int], list[float]] = {}
    for number in range(scale.rounds + 1):
        for has_tract in (False, True):
            for calls in (1, scale.timed + 1):
                took = run(agent, read_line, calls, scale.history, has_tract=has_tract)
                if number:
                    times.setdefault((has_tract, calls), []).append(took.seconds * (calls + 1))
    per_call = {
        has_tract: (median(times[has_tract, scale.timed + 1]) - median(times[has_tract, 1]))
        / scale.timed
        for has_tract in (False, True)
    }
    return (per_call[True] - per_call[False]) * 1e3


def share(agent: Agent, scale: Scale) -> float:
    """Bytes of the requests, with tract ÷ without."""
    sizes = [run(agent, read_log, scale.calls, 0, has_tract=own).size for own in (True, False)]
    return sizes[0] / sizes[1]


# Report


def measure(quick: bool) -> Iterator[Result]:
    scale = QUICK if quick else FULL
    times = {f"{name}_ms": overhead(agent, scale) for name, agent in AGENTS.items()}
    yield _worst("overhead_ms", times)
    lines = {
        f"{path.stem}_lines": float(glue_lines(path)) for path in sorted(EXAMPLES.glob("*.py"))
    }
    yield _worst("glue_lines", lines)
    yield _worst("wire_kb", {f"{name}_kb": share(agent, scale) for name, agent in AGENTS.items()})


def _worst(key: str, numbers: Numbers) -> Result:
    return Result(key, max(numbers.values()), numbers)


if __name__ == "__main__":
    report("frameworks", __doc__, AT_MOST, measure)
