"""One agent for each framework: it runs until the model calls no tool, with a dialog or without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.llm_server import LLMServer, Reply
from tract import GET_TOOL_RESULT_TOOL, Tract

RESULTS = {"inline_tokens": 500, "preview_tokens": 100}
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}}
QUESTION = "Look."
Tool = Callable[..., str]
Agent = Callable[[LLMServer, Tool, "Tract | None", int], None]
"""The server of the model, the tool, the dialog or None, and how many messages come before."""


def chat(history: int) -> list[Any]:
    """Messages that come before, and a question."""
    texts = [text for n in range(history // 2) for text in (f"ask {n}", f"answer {n}")]
    roles = ("user", "assistant")
    earlier = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return [*earlier, {"role": "user", "content": QUESTION}]


def langchain(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    from tract.integrations.langchain import TractMiddleware

    model: Any = ChatOpenAI(model="m", base_url=server.openai_url, api_key="k")  # type: ignore[arg-type]
    middleware: Any = [TractMiddleware(t, results=RESULTS)] if t else []
    agent: Any = create_agent(model, [tool], middleware=middleware)
    agent.invoke({"messages": chat(history)}, {"recursion_limit": 1000})


def openai_agents(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    import agents
    from openai import AsyncOpenAI

    from tract.integrations.openai_agents import fetch_tool, run_options

    async def run() -> None:
        async with AsyncOpenAI(base_url=server.openai_url, api_key="k") as client:
            model = agents.OpenAIResponsesModel("m", client)
            tools: Any = [agents.function_tool(tool), *([fetch_tool(t)] if t else [])]
            agent: Any = agents.Agent("a", model=model, tools=tools)
            options: Any = run_options(t, results=RESULTS) if t else {}
            await agents.Runner.run(agent, chat(history), max_turns=1000, **options)

    agents.set_tracing_disabled(True)
    asyncio.run(run())


def pydantic_ai(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from tract.integrations.pydantic_ai import TractCapability

    provider = OpenAIProvider(base_url=server.openai_url, api_key="k")
    capabilities = [TractCapability(t, results=RESULTS)] if t else []
    agent: Any = Agent(
        OpenAIChatModel("m", provider=provider), tools=[tool], capabilities=capabilities
    )
    *texts, question = [message["content"] for message in chat(history)]
    earlier: list[Any] = [
        ModelResponse([TextPart(text)]) if n % 2 else ModelRequest([UserPromptPart(text)])
        for n, text in enumerate(texts)
    ]
    limits = UsageLimits(request_limit=None)
    agent.run_sync(question, message_history=earlier, usage_limits=limits)


def openai_sdk(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    import openai

    from tract import record_client

    client: Any = openai.OpenAI(base_url=server.openai_url, api_key="k")
    client = record_client(client, t, results=RESULTS) if t else client
    messages = chat(history)
    tools = [_function(tool)]
    while True:
        answer = client.chat.completions.create(model="m", messages=messages, tools=tools)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return
        messages += _answered(message, tool)


def anthropic_sdk(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    import anthropic

    from tract import record_client

    client: Any = anthropic.Anthropic(base_url=server.url, api_key="k")
    client = record_client(client, t, results=RESULTS) if t else client
    messages = chat(history)
    tools = [{"name": tool.__name__, "input_schema": SCHEMA}]
    while True:
        answer = client.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)
        messages.append({"role": "assistant", "content": answer.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": tool(**block.input)}
            for block in answer.content
            if block.type == "tool_use"
        ]
        if not results:
            return
        messages.append({"role": "user", "content": results})


def google_genai(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    from google import genai
    from google.genai import types

    from tract.integrations.google_genai import record_genai

    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url))
    client = record_genai(client, t, results=RESULTS) if t else client
    tools = [tool, *([t.as_tool()] if t else [])]
    config: Any = {"tools": tools, "automatic_function_calling": {"maximum_remote_calls": 1000}}
    *earlier, question = chat(history)
    contents: Any = [
        {"role": ("user", "model")[n % 2], "parts": [{"text": message["content"]}]}
        for n, message in enumerate(earlier)
    ]
    talk = client.chats.create(model="gemini-3.8-flash", history=contents, config=config)
    talk.send_message(question["content"])


def strands(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    import strands as framework
    from strands.agent.conversation_manager import NullConversationManager
    from strands.models.openai import OpenAIModel

    from tract.integrations.strands import TractHooks

    *earlier, question = [
        {"role": message["role"], "content": [{"text": message["content"]}]}
        for message in chat(history)
    ]
    url = {"base_url": server.openai_url, "api_key": "k"}
    agent = framework.Agent(
        model=OpenAIModel(client_args=url, model_id="m"),
        tools=[framework.tool(tool)],
        messages=earlier,
        hooks=[TractHooks(t, results=RESULTS)] if t else [],
        conversation_manager=NullConversationManager(),
        callback_handler=None,
    )
    agent(question["content"])


def smolagents(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    import smolagents as framework
    from smolagents.memory import ActionStep, TaskStep
    from smolagents.monitoring import Timing

    from tract.integrations.smolagents import record_agent

    model = framework.OpenAIModel("m", api_base=server.openai_url, api_key="k")
    tools = [framework.tool(tool)]
    agent = framework.ToolCallingAgent(tools, model, verbosity_level=-1, max_steps=1000)
    if t:
        record_agent(agent, t, results=RESULTS)
    for number in range(history // 2):
        step = ActionStep(number, timing=Timing(0, 0), model_output=f"answer {number}")
        agent.memory.steps += [TaskStep(f"ask {number}"), step]
    agent.run(QUESTION, reset=False)


def agno(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    from agno.agent import Agent
    from agno.models.message import Message
    from agno.models.openai import OpenAIChat

    from tract.integrations.agno import record_agent

    model = OpenAIChat(id="m", base_url=server.openai_url, api_key="k")
    agent = Agent(model=model, tools=[tool], telemetry=False)
    if t:
        record_agent(agent, t, results=RESULTS)
    agent.run([Message(**message) for message in chat(history)])


def crewai(server: LLMServer, tool: Tool, t: Tract | None, _: int) -> None:
    """A task has no earlier messages: they are calls of its own."""
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool as tool_of

    from tract.integrations.crewai import record_agent

    llm = LLM(model="openai/gpt-4o", base_url=server.openai_url, api_key="k")
    options = {"role": "a", "goal": "b", "backstory": "", "max_iter": 1000}
    agent = Agent(tools=[tool_of(tool)], llm=llm, **options)
    if t:
        record_agent(agent, t, results=RESULTS)
    task = Task(description=QUESTION, expected_output="An answer", agent=agent)
    Crew(agents=[agent], tasks=[task]).kickoff()


def litellm(server: LLMServer, tool: Tool, t: Tract | None, history: int) -> None:
    import litellm as framework  # type: ignore[import-not-found,unused-ignore]

    from tract.integrations.litellm import TractLogger

    framework.logging_callback_manager._reset_all_callbacks()
    framework.callbacks = [TractLogger(t, RESULTS)] if t else []
    tools = [_function(tool), *([GET_TOOL_RESULT_TOOL["openai"]] if t else [])]
    options = {"model": "openai/m", "api_base": server.openai_url, "api_key": "k", "tools": tools}

    async def run() -> None:
        messages = chat(history)
        while True:
            answer = await framework.acompletion(messages=messages, **options)
            messages.append(answer.choices[0].message)
            if not messages[-1].tool_calls:
                return
            messages.extend(_answered(messages[-1], tool))

    asyncio.run(run())


def _function(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.__name__, "parameters": SCHEMA}}


def _answered(message: Any, tool: Tool) -> list[dict[str, Any]]:
    return [
        {"role": "tool", "tool_call_id": call.id, "content": tool(**json.loads(arguments))}
        for call in message.tool_calls
        for arguments in [call.function.arguments]
    ]


HERE: dict[str, Agent] = {
    "langchain": langchain,
    "openai_agents": openai_agents,
    "pydantic_ai": pydantic_ai,
    "openai_sdk": openai_sdk,
    "anthropic_sdk": anthropic_sdk,
    "google_genai": google_genai,
}
"""The agents whose frameworks are installed beside tract."""
APART: dict[str, Agent] = {
    "strands": strands,
    "smolagents": smolagents,
    "agno": agno,
    "crewai": crewai,
    "litellm": litellm,
}
"""Those whose frameworks have environments of their own."""
WITHOUT_HISTORY = {"crewai"}
"""Those that cannot start with messages."""
LAST = {"smolagents": Reply(calls=[("last", "final_answer", {"answer": "Done."})])}
"""The last reply where it is not a text."""
