"""Agents of LangChain on a dialog."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ToolErrorMiddleware,
    dynamic_prompt,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from tests import agents
from tests.llm_server import LLMServer, Reply
from tract import InputError, ToolCall, Tract, validate
from tract.integrations.langchain import (
    GetPreviousResultTool,
    TractChatMessageHistory,
    TractMiddleware,
    prepare_messages,
)

PROMPT = {"messages": agents.PROMPT}
ERRORS = ToolErrorMiddleware(lambda error, _: str(error))


def model(server: LLMServer, **options: Any) -> ChatOpenAI:
    own = {"base_url": server.openai_url, "api_key": "k", "max_retries": 0, **options}
    return ChatOpenAI(model="gpt-5.5", **own)


def agent_of(server: LLMServer, *middleware: Any, tools: Any = agents.TOOLS, **options: Any) -> Any:
    own = {key: options.pop(key) for key in ("use_responses_api",) if key in options}
    prompt = {"system_prompt": "You help.", **options}
    return create_agent(model(server, **own), list(tools), middleware=list(middleware), **prompt)


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


@pytest.fixture
def t(tmp_path: Path) -> Iterator[Tract]:
    with Tract.open(tmp_path / "t.db") as t:
        t.configure_results(inline_tokens=500, preview_tokens=100)
        yield t


def run(agent: Any, how: str, config: Any = None) -> Any:
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


def valid(server: LLMServer) -> bool:
    return all(validate(request.body, "openai") == [] for request in server.requests)


CALLS = Reply(calls=[("call_1", "read_log", {"path": "orders.log"}), ("call_2", "slow", {})])


def test_a_result_is_recorded_before_the_next_one_exists(t: Tract) -> None:
    seen: list[str] = []

    @tool
    def slow() -> str:
        """Wait for the other result."""
        for _ in range(500):
            seen[:] = [info.id for info in t.list_tool_results()]
            if seen:
                break
            asyncio.run(asyncio.sleep(0.01))
        raise RuntimeError("the process dies")

    tools = [agents.read_log, slow]
    with LLMServer(CALLS, Reply("It was cut off.")) as server:
        agent = agent_of(server, TractMiddleware(t), tools=tools, checkpointer=InMemorySaver())
        with pytest.raises(RuntimeError, match="the process dies"):
            agent.invoke(PROMPT, thread("default"))
        assert seen == ["call_1"]
        assert t.get_content(t.find_tool_results()[0].commit_hash) == agents.LOG
        agent.invoke({"messages": "What happened?"}, thread("default"))
        assert valid(server)
    assert t.compile().messages[-1].text == "It was cut off."


def test_a_run_is_cancelled_in_mid_call(t: Tract) -> None:
    started = asyncio.Event()

    @tool
    async def slow() -> str:
        """Never end."""
        started.set()
        await asyncio.sleep(60)
        return ""

    async def work(server: LLMServer) -> None:
        tools = [agents.read_log, slow]
        agent = agent_of(server, TractMiddleware(t), tools=tools, checkpointer=InMemorySaver())
        task = asyncio.create_task(agent.ainvoke(PROMPT, thread("default")))
        await started.wait()
        while not t.list_tool_results():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        task = asyncio.create_task(agent.ainvoke({"messages": "Go on."}, thread("default")))
        while len(server.requests) < 2:
            await asyncio.sleep(0.01)
        task.cancel()  # while the model answers
        with pytest.raises(asyncio.CancelledError):
            await task
        await agent.ainvoke({"messages": "Once more."}, thread("default"))

    with LLMServer(CALLS, Reply("Late.", delay=30), Reply("Done.")) as server:
        asyncio.run(work(server))
        assert valid(server)
    texts = [message.text for message in t.compile().messages]
    assert texts[-3:] == ["Go on.", "Once more.", "Done."]
    t.checkout("main")  # the agent forgot the result, and went on without it
    assert t.get_content(t.find_tool_results()[0].commit_hash) == agents.LOG
    assert t.fsck().ok


RESUMING = """
import sys
from langgraph.checkpoint.sqlite import SqliteSaver
from tests import agents
from tests.llm_server import LLMServer, Reply
from tests.test_integrations_langchain import ERRORS, PROMPT, agent_of, thread, valid
from tract.integrations.langchain import TractMiddleware

folder, text = sys.argv[1:]
tract = TractMiddleware(f"{folder}/t.db", results=agents.RESULTS)
with agents.server() as server, SqliteSaver.from_conn_string(f"{folder}/state.db") as saver:
    if text:
        server.replies = [Reply("Welcome back.")]
    agent = agent_of(server, tract, ERRORS, checkpointer=saver)
    agent.invoke({"messages": text} if text else PROMPT, thread("t1"))
    assert valid(server)
    assert max(len(str(request.body)) for request in server.requests) < 20_000
"""


def test_another_process_resumes_a_thread(tmp_path: Path) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    for text in ("", "I am back."):
        command = [sys.executable, "-c", RESUMING, str(tmp_path), text]
        subprocess.run(command, check=True, timeout=120)
    with Tract.open(tmp_path / "t.db", dialog="t1", create=False) as t:
        assert len(t.branches()) == 1
        assert [m.text for m in t.compile().messages[-2:]] == ["I am back.", "Welcome back."]
        assert len(t.list_tool_results()) == 4


def test_threads_are_dialogs(t: Tract) -> None:
    saver = InMemorySaver()
    with LLMServer(*[Reply("Hello.")] * 3) as server:
        agent = agent_of(server, TractMiddleware(t), checkpointer=saver)
        for name in ("a", "b", "a"):
            agent.invoke(PROMPT, thread(name))
    roles = {info.dialog: info.commits for info in t.dialogs()}
    assert set(roles) == {"a", "b", "default"}
    assert len(t.sibling("a").compile().messages) == 5
    assert len(t.sibling("b").compile().messages) == 3
    assert t.sibling("b").session.settings == t.session.settings


def test_a_sub_agent_has_its_own_dialog(t: Tract) -> None:
    tract = TractMiddleware(t)
    inner = [
        Reply(calls=[("inner_1", "read_log", {"path": "orders.log"})]),
        Reply(calls=[("inner_2", "get_tool_result", {"id": "inner_1", "lines": "4243"})]),
        Reply("The log is fine."),
    ]
    asked = Reply(calls=[("call_1", "ask", {"question": "Is the log fine?"})])
    with LLMServer(asked, *inner, Reply("It is fine.")) as server:
        helper = agent_of(server, tract, tools=[agents.read_log])

        @tool
        def ask(question: str) -> str:
            """Ask the helper."""
            return str(helper.invoke({"messages": question})["messages"][-1].text)

        agent_of(server, tract, tools=[ask]).invoke(PROMPT, thread("main"))
        assert valid(server)
    [own] = [info.dialog for info in t.dialogs() if info.facts.parent == "main"]
    assert own.startswith("main/tools:")
    assert [info.id for info in t.sibling(own).list_tool_results()] == ["inner_1", "inner_2"]
    assert t.sibling(own).get_content(t.sibling(own).find_tool_results()[0]) == agents.LOG
    assert t.sibling("main").get_tool_result("call_1").endswith("The log is fine.")


@pytest.mark.parametrize("decision", ["approve", "edit", "reject"])
def test_a_person_decides_about_a_call(t: Tract, decision: str) -> None:
    asks = HumanInTheLoopMiddleware({"read_log": True})
    with LLMServer(CALLS, Reply("Done.")) as server:
        tools = [agents.read_log, tool("slow", description="Waits.")(lambda: "")]
        saver = InMemorySaver()
        agent = agent_of(server, TractMiddleware(t), asks, tools=tools, checkpointer=saver)
        assert agent.invoke(PROMPT, thread("default"))["__interrupt__"]
        edited = {"name": "read_log", "args": {"path": "other.log"}}
        answer = {"type": decision} | ({"edited_action": edited} if decision == "edit" else {})
        state = agent.invoke(Command(resume={"decisions": [answer]}), thread("default"))
        assert valid(server)
    results = {info.id: t.get_content(info.commit_hash) for info in t.list_tool_results()}
    messages = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    assert results == {message.tool_call_id: message.content for message in messages}
    assert t.compile().messages[-1].text == "Done."
    assert len(t.branches()) == 1


def test_a_tool_asks_a_person(t: Tract) -> None:
    @tool
    def slow() -> str:
        """Ask."""
        return str(interrupt("Really?"))

    with LLMServer(CALLS, Reply("Done.")) as server:
        tools, saver = [agents.read_log, slow], InMemorySaver()
        agent = agent_of(server, TractMiddleware(t), tools=tools, checkpointer=saver)
        assert agent.invoke(PROMPT, thread("default"))["__interrupt__"]
        assert [info.id for info in t.list_tool_results()] == ["call_1"]
        other = agent_of(server, TractMiddleware(t), tools=tools, checkpointer=saver)
        other.invoke(Command(resume="Yes."), thread("default"))
        assert valid(server)
    assert t.get_tool_result("call_2").endswith("Yes.")
    assert len(t.list_tool_results()) == 2
    assert len(t.branches()) == 1


def test_a_result_that_ends_the_run_is_recorded(t: Tract) -> None:
    @tool(return_direct=True)
    def look() -> Any:
        """Look."""
        return "It is there."

    with LLMServer(Reply(calls=[("call_1", "look", {})])) as server:
        agent_of(server, TractMiddleware(t), tools=[look]).invoke(PROMPT)
    assert t.compile().messages[-1].text == "It is there."


def test_a_command_of_a_tool_is_recorded(t: Tract) -> None:
    @tool
    def look() -> Any:
        """Look."""
        return Command(update={"messages": [ToolMessage("Here.", tool_call_id="call_1")]})

    with LLMServer(Reply(calls=[("call_1", "look", {})]), Reply("Done.")) as server:
        agent_of(server, TractMiddleware(t), tools=[look]).invoke(PROMPT)
    assert [message.text for message in t.compile().messages[-2:]] == ["Here.", "Done."]


def test_twenty_agents_share_a_database(tmp_path: Path) -> None:
    def work(number: int) -> None:
        with agents.server() as server:
            tract = middlewares[number % len(middlewares)]
            with making:
                agent = agent_of(server, tract, ERRORS)
            how = "ainvoke" if number % 3 == 0 else "invoke"
            run(agent, how, thread(f"agent-{number}"))
            agents.check_wire(server.requests, "openai")

    making = Lock()  # meanwhile LangChain ignores warnings, for all threads
    path = tmp_path / "t.db"
    middlewares = [TractMiddleware(path, results=agents.RESULTS) for _ in range(2)]
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(20)))
    for tract in middlewares:
        tract.tract.close()
    for number in range(20):
        with Tract.open(path, dialog=f"agent-{number}", create=False) as t:
            assert len(t.branches()) == 1
            agents.check_store(t)


def test_changes_in_tract_reach_the_model(t: Tract) -> None:
    with LLMServer(Reply("Hello."), Reply("Again."), Reply("Well.")) as server:
        agent = agent_of(server, TractMiddleware(t), checkpointer=InMemorySaver())
        agent.invoke(PROMPT, thread("default"))
        system, prompt = t.compile().commit_hashes[:2]
        t.user("Are there any orders?", edit=prompt)
        agent.invoke({"messages": "And?"}, thread("default"))
        t.system("You are brief.", edit=system)
        state = agent.invoke({"messages": "So?"}, thread("default"))
        sent = [message["content"] for message in server.requests[-1].body["messages"]]
    assert sent[:3] == ["You are brief.", "Are there any orders?", "Hello."]
    assert state["messages"][0].text == agents.PROMPT
    assert len(t.branches()) == 1


def test_results_are_summarized(t: Tract) -> None:
    with agents.server() as server:
        run(agent_of(server, TractMiddleware(t, auto=1000), ERRORS), "invoke")
        assert valid(server)
    forms = {info.id: info.form for info in t.list_tool_results()}
    assert forms.pop("call_1") == "summary"
    assert set(forms.values()) == {"full"}
    assert not t.handler_errors


def test_a_recorder_that_fails_leaves_the_agent_alone(
    t: Tract, caplog: pytest.LogCaptureFixture
) -> None:
    with agents.server() as server:
        agent = agent_of(server, TractMiddleware(t), ERRORS)
        t.close()
        with caplog.at_level(logging.WARNING, "tract"):
            messages = run(agent, "invoke")
    assert messages[-1].text == agents.ANSWER
    assert len(set(caplog.messages)) == len(caplog.messages) < len(t.handler_errors)
    assert "tract could not record a request of LangChain" in caplog.text


def test_a_missing_framework_is_named() -> None:
    program = (
        "import sys; sys.modules['langchain_core'] = None; import tract.integrations.langchain"
    )
    failed = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert b"LangChain needs the extra langchain: pip install" in failed.stderr.splitlines()[-1]


def test_the_tool_answers_on_its_own(t: Tract) -> None:
    t.assistant("", tool_calls=[ToolCall("c1", "read")])
    t.tool_result("c1", "read", "one\ntwo\nthree")
    fetch = GetPreviousResultTool(t)
    assert "two" in fetch.invoke({"id": "c1", "lines": "2"})
    assert "three" in fetch.invoke({"tool_call_id": "c1"})
    assert "two" in asyncio.run(fetch.ainvoke({"tool_call_id": "c1", "grep": "tw"}))
    assert fetch.invoke({"id": "c2"}).startswith("Error: ")
    assert fetch.invoke({"id": "c1", "depth": 3}).startswith("Error: unknown argument")


def test_messages_are_prepared_with_lazy_results(t: Tract) -> None:
    t.configure_results()
    t.user("look")
    t.assistant("", tool_calls=[ToolCall("a", "read"), ToolCall("b", "read")])
    for name in ("a", "b"):
        t.tool_result(name, "read", f"{name}\n" + agents.LOG)

    def full(load: Any, context: Any = t) -> list[str]:
        messages = prepare_messages("And?", context, load)
        assert (type(messages[-1]), messages[-1].text) == (HumanMessage, "And?")
        results = [m for m in messages if isinstance(m, ToolMessage)]
        return [m.tool_call_id for m in results if len(m.text) > len(agents.LOG)]

    assert full(False) == []
    assert full(True, {"tract": t, "project": "orders"}) == ["a", "b"]
    assert full(["b"]) == ["b"]
    assert isinstance(prepare_messages("And?", t)[1], AIMessage)
    assert len(t.compile().messages) == 4
    with pytest.raises(InputError, match="needs a Tract"):
        prepare_messages("And?", {})


def test_a_history_of_messages(tmp_path: Path) -> None:
    history = TractChatMessageHistory(tmp_path / "t.db", "thread-1")
    history.add_user_message("Hello.")
    history.add_messages([AIMessage("Hi.", id="run-1"), HumanMessage("And?", name="ann")])
    expected = [
        HumanMessage("Hello."),
        AIMessage("Hi.", id="run-1"),
        HumanMessage("And?", name="ann"),
    ]
    assert history.messages == expected
    other = TractChatMessageHistory(history.tract)
    assert other.messages == expected
    assert TractChatMessageHistory(tmp_path / "t.db").messages == []
    with pytest.raises(InputError, match="not a message of LangChain"):
        history.add_messages([{"role": "user"}])  # type: ignore[list-item]
    history.clear()
    history.clear()
    assert history.messages == []
    assert history.tract.branches().keys() == {"main", "main-2"}
    history.add_ai_message("Again.")
    assert [message.text for message in other.messages] == ["Again."]
    history.tract.close()


def test_a_history_of_messages_is_awaited(t: Tract) -> None:
    async def work() -> None:
        history = TractChatMessageHistory(t)
        await history.aadd_messages([HumanMessage("Hello.")])
        assert await history.aget_messages() == [HumanMessage("Hello.")]
        await history.aclear()
        assert await history.aget_messages() == []

    asyncio.run(work())


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    program = root / "examples/frameworks/langchain_agent.py"
    page = (root / "docs/frameworks/langchain.md").read_text()
    assert f"```py\n{program.read_text()}```" in page
    (tmp_path / "orders.log").write_text(agents.LOG)
    first, _, fetch, last = agents.script()
    with LLMServer(replace(first, calls=first.calls[:1]), fetch, last) as server:
        keys = {"OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "k"}
        command = [sys.executable, str(program)]
        environment = {**os.environ, **keys, "PYTHONPATH": str(root / "src")}
        shown = subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, timeout=60, capture_output=True
        )
        assert valid(server)
        assert max(len(str(request.body)) for request in server.requests) < 20_000
    assert shown.stdout.decode().strip() == agents.ANSWER
    with Tract.open(tmp_path / "agent.db", dialog="orders", create=False) as t:
        assert t.get_content(t.find_tool_results()[0]) == agents.LOG


def test_a_system_text_that_changes_stays_with_the_answers(t: Tract) -> None:
    times = iter(range(10))

    @dynamic_prompt
    def tell_time(request: Any) -> str:
        return f"It is {next(times)} o'clock."

    saver = InMemorySaver()
    with LLMServer(*[Reply("Hello.")] * 3) as server:
        for _ in range(3):  # as in another process each time
            agent = agent_of(server, tell_time, TractMiddleware(t), checkpointer=saver)
            agent.invoke(PROMPT, thread("default"))
        sent = [request.body["messages"][0]["content"] for request in server.requests]
    assert sent == [f"It is {hour} o'clock." for hour in range(3)]
    assert len(t.branches()) == 1
    assert t.compile().messages[0].text == sent[0]
    prompts = [info.metadata.get("system_prompt") for info in t.log() if info.role == "assistant"]
    assert prompts == [sent[2], sent[1], None]
