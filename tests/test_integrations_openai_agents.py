"""Agents of the OpenAI Agents SDK on a dialog."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    UserError,
    function_tool,
    set_tracing_disabled,
)
from agents.run import CallModelData, ModelInputData
from openai import AsyncOpenAI

from tests import agents as session_of_all
from tests.agents import ANSWER, LOG, PROMPT, RESULTS, TOOLS, check_store, check_wire
from tests.llm_server import LLMServer, Reply
from tract import PendingToolResult, Tract, validate
from tract.integrations.openai_agents import (
    TractHooks,
    TractSession,
    fetch_tool,
    run_options,
    tract_input_filter,
)

FILE = Path(__file__)
ROOT = FILE.parents[1]
EXAMPLE = ROOT / "examples" / "frameworks" / "openai_agents.py"
LIMITS: dict[str, Any] = dict(RESULTS)
MODELS = {"responses": OpenAIResponsesModel, "openai": OpenAIChatCompletionsModel}


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is awaited."""

    @wraps(test)
    def run(*args: Any, **options: Any) -> None:
        asyncio.run(test(*args, **options))

    return run


@pytest.fixture(autouse=True)
def _no_tracing() -> None:
    set_tracing_disabled(True)


@pytest.fixture
def t() -> Iterator[Tract]:
    with Tract.open() as t:
        t.configure_results(**LIMITS)
        yield t


def model(server: LLMServer, provider: str = "responses") -> Any:
    headers = {"connection": "close"}  # so that no socket outlives the loop
    url = server.openai_url
    client = AsyncOpenAI(base_url=url, api_key="k", max_retries=0, default_headers=headers)
    return MODELS[provider]("m", client)


def tell(_: Any, error: Exception) -> str:
    return f"Error: {error}"


def own_tools() -> list[Any]:
    return [function_tool(tool, failure_error_function=tell) for tool in TOOLS]


def agent_of(server: LLMServer, t: Tract, provider: str = "responses") -> Agent[Any]:
    tools = [*own_tools(), fetch_tool(t)]
    return Agent("Support", instructions="Be brief.", model=model(server, provider), tools=tools)


def outputs(items: list[Any]) -> list[str]:
    return [item["output"] for item in items if item.get("type") == "function_call_output"]


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("with_session", [False, True])
@in_loop
async def test_the_store_has_everything_and_the_wire_references(
    t: Tract, provider: str, with_session: bool
) -> None:
    with session_of_all.server() as server:
        agent = agent_of(server, t, provider)
        session = TractSession(t) if with_session else None
        result = await Runner.run(agent, PROMPT, session=session, **run_options(t))
    assert result.final_output == ANSWER
    assert outputs(result.to_input_list())[0] == LOG
    check_wire(server.requests, provider)
    check_store(t, is_error=False)
    assert list(t.branches()) == ["main"]
    if session:
        assert await session.get_items() == result.to_input_list()
    assert [usage.usage["total_tokens"] for usage in t.usages() if usage.usage] == [28] * 4


@pytest.fixture
def own_loop() -> Iterator[None]:
    """The loop that `run_sync` takes, and leaves open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.run_until_complete(loop.shutdown_default_executor())
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("own_loop")
def test_run_sync(t: Tract) -> None:
    with session_of_all.server() as server:
        agent = agent_of(server, t)
        result = Runner.run_sync(agent, PROMPT, session=TractSession(t), **run_options(t))
    assert outputs(result.to_input_list())[0] == LOG
    check_wire(server.requests, "responses")
    check_store(t, is_error=False)


@pytest.mark.parametrize("provider", MODELS)
@in_loop
async def test_a_streamed_run(t: Tract, provider: str) -> None:
    with session_of_all.server() as server:
        agent, session = agent_of(server, t, provider), TractSession(t)
        result = Runner.run_streamed(agent, PROMPT, session=session, **run_options(t))
        async for _ in result.stream_events():
            pass
    check_wire(server.requests, provider)
    check_store(t, is_error=False)
    assert outputs(await session.get_items())[0] == LOG
    assert list(t.branches()) == ["main"]


@in_loop
async def test_the_items_are_those_of_another_session(t: Tract) -> None:
    theirs = SQLiteSession("theirs")
    with session_of_all.server() as server:
        agent = agent_of(server, t)
        await Runner.run(agent, PROMPT, session=TractSession(t), **run_options(t))
    with session_of_all.server() as server:
        agent = agent_of(server, t)  # the same conversation again, without recording
        await Runner.run(agent, PROMPT, session=theirs)
    assert await TractSession(t).get_items() == await theirs.get_items()
    theirs.close()


@in_loop
async def test_hooks_alone_record_and_change_nothing(t: Tract) -> None:
    with session_of_all.server() as server:
        await Runner.run(agent_of(server, t), PROMPT, hooks=TractHooks(t))
    check_store(t, is_error=False)
    assert LOG in outputs(server.requests[1].body["input"])


@in_loop
async def test_a_filter_alone_records_what_is_sent(t: Tract) -> None:
    with session_of_all.server() as server:
        config = RunConfig(call_model_input_filter=tract_input_filter(t))
        await Runner.run(agent_of(server, t), PROMPT, run_config=config)
    check_wire(server.requests, "responses")
    assert t.compile().messages[-1].role == "tool"  # nobody has shown it the answer


@in_loop
async def test_the_filter_of_a_configuration_comes_first(t: Tract) -> None:
    def shout(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData([{"role": "user", "content": "LOOK"}], data.model_data.instructions)

    with LLMServer(Reply("Yes.")) as server:
        config = RunConfig(call_model_input_filter=shout)
        await Runner.run(agent_of(server, t), PROMPT, **run_options(t, config))
    assert [message.text for message in t.compile().messages] == ["Be brief.", "LOOK", "Yes."]


@in_loop
async def test_an_agent_that_cannot_fetch_sees_results_in_full(t: Tract) -> None:
    with session_of_all.server() as server:
        agent = Agent("Support", model=model(server), tools=own_tools()[:2])
        server.replies[1:3] = []
        await Runner.run(agent, PROMPT, **run_options(t))
    assert LOG in outputs(server.requests[1].body["input"])
    assert t.list_tool_results("call_1")[0].form == "reference"


@in_loop
async def test_what_is_changed_in_the_dialog_is_what_the_model_sees(t: Tract) -> None:
    replies = [Reply("One."), Reply("Two.")]
    with LLMServer(*replies) as server:
        agent, session = agent_of(server, t), TractSession(t)
        await Runner.run(agent, "Say one.", session=session, **run_options(t))
        first = next(info for info in t.log() if info.role == "user")
        t.user("Count.", edit=first)
        await Runner.run(agent, "Say two.", session=session, **run_options(t))
    sent = server.requests[1].body
    assert validate(sent, "responses") == []
    assert (sent["instructions"], sent["input"][0]["content"]) == ("Be brief.", "Count.")
    assert len(sent["input"]) == 3
    items = await session.get_items()
    assert items[0]["content"] == "Say one."
    assert list(t.branches()) == ["main"]


@in_loop
async def test_a_handoff_is_recorded(t: Tract) -> None:
    replies = [
        Reply(calls=[("call_1", "transfer_to_billing", {})]),
        Reply(calls=[("call_2", "list_files", {"folder": "/"})]),
        Reply("Paid."),
    ]
    with LLMServer(*replies) as server:
        files = own_tools()[1]
        billing = Agent("Billing", instructions="Count.", model=model(server), tools=[files])
        first = Agent("First", instructions="Sort.", model=model(server), handoffs=[billing])
        session = TractSession(t)
        result = await Runner.run(first, "Pay!", session=session, **run_options(t))
    assert result.last_agent is billing
    said = [(m.role, m.text) for m in t.compile().messages if m.role != "tool" and m.text]
    expected = [("user", "Pay!"), ("system", "Sort."), ("system", "Count.")]
    assert said == [*expected, ("assistant", "Paid.")]
    answers = [info for info in reversed(list(t.log())) if info.role == "assistant"]
    assert [info.metadata["agent"] for info in answers] == ["First", "Billing", "Billing"]
    tools = [[tool["name"] for tool in t.get_commit_tools(info)] for info in answers]
    assert tools == [["transfer_to_billing"], ["list_files"], ["list_files"]]
    assert await session.get_items() == result.to_input_list()
    assert list(t.branches()) == ["main"]


@in_loop
async def test_an_agent_as_a_tool_has_a_dialog_of_its_own(t: Tract) -> None:
    replies = [
        Reply(calls=[("call_1", "ask", {"input": "Where?"})]),
        Reply(calls=[("call_2", "list_files", {"folder": "/"})]),
        Reply("Here."),
        Reply("It is here."),
    ]
    with LLMServer(*replies) as server:
        scout = Agent("Scout", model=model(server), tools=[own_tools()[1]])
        ask = scout.as_tool("ask", "Ask the scout.")
        lead = Agent("Lead", model=model(server), tools=[ask, fetch_tool(t)])
        await Runner.run(lead, "Find it.", **run_options(t))
    assert [m.role for m in t.compile().messages] == ["user", "assistant", "tool", "assistant"]
    inner = t.sibling("default/Scout").compile().messages
    assert [m.role for m in inner] == ["user", "assistant", "tool"]
    assert list(t.branches()) == ["main"]


@in_loop
async def test_an_exception_that_ends_the_run(t: Tract) -> None:
    with session_of_all.server() as server:
        tools = [function_tool(tool, failure_error_function=None) for tool in TOOLS]
        agent, session = agent_of(server, t).clone(tools=[*tools, fetch_tool(t)]), TractSession(t)
        with pytest.raises(UserError, match="disk is on fire"):
            await Runner.run(agent, PROMPT, session=session, **run_options(t))
        assert [info.id for info in t.list_tool_results()] == ["call_1", "call_2"]
        assert validate(t.compile().to_responses_params(), "responses") == []
        server.replies[:] = [Reply("I stop.")]
        result = await Runner.run(agent, "And now?", session=session, **run_options(t))
    assert validate(server.requests[-1].body, "responses") == []
    assert "check_disk" not in str(server.requests[-1].body["input"])  # the SDK leaves it out
    assert result.final_output == "I stop."
    assert list(t.branches()) == ["main"]


@pytest.mark.parametrize("is_streamed", [False, True])
@in_loop
async def test_cancelled_in_mid_call(t: Tract, is_streamed: bool) -> None:
    started = asyncio.Event()

    async def list_files(folder: str) -> str:
        started.set()
        await asyncio.sleep(60)
        return folder

    with session_of_all.server() as server:
        agent, session = agent_of(server, t), TractSession(t)
        agent.tools[1] = function_tool(list_files)
        if is_streamed:
            streamed = Runner.run_streamed(agent, PROMPT, session=session, **run_options(t))
            task = asyncio.create_task(_drain(streamed))
        else:
            task = asyncio.create_task(
                Runner.run(agent, PROMPT, session=session, **run_options(t))  # type: ignore[arg-type]
            )
        await asyncio.wait_for(started.wait(), 30)
        while not t.list_tool_results():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        [kept] = t.list_tool_results()
        assert (kept.id, t.get_content(kept.commit_hash)) == ("call_1", LOG)
        server.replies[:] = [Reply("I go on.")]
        await Runner.run(agent, "Go on.", session=session, **run_options(t))
    sent = server.requests[-1].body
    assert validate(sent, "responses") == []
    assert "get_tool_result" in outputs(sent["input"])[0]
    assert len(json.dumps(sent)) < 20_000
    assert list(t.branches()) == ["main"]
    assert t.fsck().ok


async def _drain(streamed: Any) -> None:
    async for _ in streamed.stream_events():
        pass


def test_resumed_in_a_new_process(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with LLMServer(*session_of_all.script(), Reply("Still nothing.")) as server:
        for question in (PROMPT, "And today?"):
            program = [sys.executable, "-m", f"tests.{FILE.stem}"]
            command = [*program, server.openai_url, str(path), question]
            subprocess.run(command, check=True, timeout=120, cwd=ROOT)
    sent = server.requests[-1].body
    assert validate(sent, "responses") == []
    assert LOG.splitlines()[4242] in json.dumps(sent)
    assert LOG not in outputs(sent["input"])
    with Tract.open(path) as t:
        assert list(t.branches()) == ["main"]
        assert [m.text for m in t.compile().messages][-2:] == ["And today?", "Still nothing."]
        assert t.fsck().ok


async def run_once(url: str, path: str, question: str) -> None:
    """One run of an agent, as a process of its own."""
    set_tracing_disabled(True)
    with Tract.open(path) as t:
        t.configure_results(**LIMITS)
        client = AsyncOpenAI(base_url=url, api_key="k")
        tools = [*own_tools(), fetch_tool(t)]
        agent = Agent("Support", model=OpenAIResponsesModel("m", client), tools=tools)
        await Runner.run(agent, question, session=TractSession(t), **run_options(t))


@in_loop
async def test_a_run_without_the_earlier_items_is_a_branch(t: Tract) -> None:
    with LLMServer(Reply("One."), Reply("Two.")) as server:
        agent, options = agent_of(server, t), run_options(t)
        await Runner.run(agent, "First?", session=TractSession(t), **options)
        await Runner.run(agent, "Second?", **options)
    assert list(t.branches()) == ["main", "main-2"]
    assert [m.text for m in t.compile().messages] == ["Second?", "Be brief.", "Two."]


def test_twenty_agents_on_one_database(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"

    async def run(number: int) -> None:
        with session_of_all.server() as server, Tract.open(path, dialog=f"agent {number}") as t:
            t.configure_results(**LIMITS)
            agent = agent_of(server, t)
            await Runner.run(agent, PROMPT, session=TractSession(t), **run_options(t))
            check_wire(server.requests, "responses")
            check_store(t, is_error=False)

    async def run_all() -> None:
        await asyncio.gather(*map(run, range(20)))

    asyncio.run(run_all())


@in_loop
async def test_tools_end_in_any_order(t: Tract) -> None:
    async def read_log(path: str) -> str:
        while not t.list_tool_results():  # the other one is first
            await asyncio.sleep(0.01)
        return LOG

    with session_of_all.server() as server:
        agent, session = agent_of(server, t), TractSession(t)
        agent.tools[0] = function_tool(read_log)
        result = await Runner.run(agent, PROMPT, session=session, **run_options(t))
        again = [*result.to_input_list(), {"role": "user", "content": "And today?"}]
        server.replies.append(Reply("Still nothing."))
        await Runner.run(agent, again, **run_options(t))
    assert [info.id for info in t.list_tool_results()][:2] == ["call_2", "call_1"]
    check_wire(server.requests[:4], "responses")
    assert validate(server.requests[4].body, "responses") == []
    assert list(t.branches()) == ["main"]
    assert t.compile().messages[-1].text == "Still nothing."


@in_loop
async def test_handlers_decide_before_the_model_sees_a_result(t: Tract) -> None:
    def decide(result: PendingToolResult) -> None:
        if result.token_count > 999:
            result.summarize()

    t.configure_results()
    t.on("tool_result", decide)
    with session_of_all.server() as server:
        await Runner.run(agent_of(server, t), PROMPT, session=TractSession(t), **run_options(t))
    assert not t.handler_errors
    assert t.list_tool_results("call_1")[0].form == "summary"
    check_wire(server.requests, "responses")


@in_loop
async def test_the_provider_keeps_the_history(t: Tract) -> None:
    with LLMServer(*session_of_all.script(), Reply("Still nothing.")) as server:
        agent, options = agent_of(server, t), run_options(t, on_server=True)
        result = await Runner.run(agent, PROMPT, auto_previous_response_id=True, **options)
        assert outputs(result.to_input_list())[0] == LOG
        check_store(t, is_error=False)
        last = result.last_response_id
        await Runner.run(agent, "And today?", previous_response_id=last, **options)
    sent = [request.body["input"] for request in server.requests]
    assert [len(items) for items in sent] == [1, 2, 1, 1, 1]
    assert "get_tool_result" in sent[1][0]["output"]
    assert LOG not in json.dumps([request.body for request in server.requests])
    assert [m.text for m in t.compile().messages][-2:] == ["And today?", "Still nothing."]
    assert list(t.branches()) == ["main"]
    answers = [info.metadata["response"] for info in t.log() if info.role == "assistant"]
    assert [answer["id"] for answer in answers] == [f"resp_{len(items)}" for items in sent[::-1]]


@in_loop
async def test_a_recorder_that_fails_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    t = Tract.open()
    with session_of_all.server() as server:
        agent, options = agent_of(server, t), run_options(t)
        agent.tools[3] = function_tool(TOOLS[0], name_override="get_tool_result")
        t.close()
        await Runner.run(agent, PROMPT, **options)
    assert [record.message[:42] for record in caplog.records if record.name == "tract"] == [
        "tract could not record a run of the Agents"
    ]
    assert len(t.handler_errors) > 1


# The session


ITEMS: list[Any] = [
    {"content": "hi", "role": "user"},
    {"role": "developer", "content": "be kind", "type": "message"},
    {"role": "user", "content": [{"type": "input_text", "text": "", "x": 1}, {"type": "input_x"}]},
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": None, "status": None},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "I look", "annotations": [], "logprobs": []},
            {"type": "refusal", "refusal": "no"},
        ],
    },
    {"arguments": '{"a": 1}', "call_id": "a b", "name": "read", "type": "function_call", "y": [1]},
    {"call_id": "c2", "name": "transfer_to_b", "arguments": "{}", "type": "function_call"},
    {"call_id": "a b", "output": [{"type": "input_image"}], "type": "function_call_output"},
    {"call_id": "c2", "output": '{"assistant": "b"}', "type": "function_call_output"},
    {"type": "function_call_output", "call_id": "orphan", "output": "x"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}},
    {"type": "shell_call", "call_id": "c7", "action": {"commands": ["ls"]}, "status": "completed"},
    {"type": "shell_call_output", "call_id": "c7", "output": [{"stdout": "x"}]},
    {"type": "mcp_approval_request", "id": "ma", "arguments": "{}", "name": "n"},
    {"type": "mcp_approval_response", "approval_request_id": "ma", "approve": True},
    {"type": "hologram", "data": {"deep": [1, {"x": None}]}, "content": "?"},
    {"type": "item_reference", "id": "msg_7"},
    {"role": "nobody", "content": "not known at all"},
    {"role": "user", "content": {"not": "a list"}},
    {"id": "rs_2", "type": "reasoning", "summary": []},
]


@in_loop
async def test_items_come_back_unchanged(tmp_path: Path) -> None:
    session = TractSession(tmp_path / "t.db", "mine")
    for number in range(0, len(ITEMS), 3):
        await session.add_items(ITEMS[number : number + 3])
    again = TractSession(tmp_path / "t.db", "mine")
    assert json.dumps(await again.get_items()) == json.dumps(ITEMS)
    assert await again.get_items(limit=4) == ITEMS[-4:]
    assert await again.get_items(limit=0) == []
    assert (again.session_id, again.tract.dialog) == ("mine", "mine")
    assert await TractSession(tmp_path / "t.db").get_items() == []
    await again.add_items(ITEMS[:1])
    assert await session.get_items() == [*ITEMS, ITEMS[0]]
    session.tract.close()
    again.tract.close()


@in_loop
async def test_what_is_popped_or_cleared_stays_on_a_branch(t: Tract) -> None:
    session = TractSession(t)
    assert await session.pop_item() is None
    await session.clear_session()
    await session.add_items(ITEMS)
    popped = [await session.pop_item() for _ in ITEMS]
    assert popped == ITEMS[::-1]
    assert len(t.branches()) == 2
    assert await session.pop_item() is None
    await session.add_items(ITEMS[:2])
    await session.clear_session()
    assert await session.get_items() == []
    t.checkout("main")
    assert await session.get_items() == ITEMS
    assert t.fsck().ok


@in_loop
async def test_a_limit_is_what_the_agent_remembers(t: Tract) -> None:
    with LLMServer(*[Reply(f"Answer {number}.") for number in range(4)]) as server:
        agent, settings = agent_of(server, t), SessionSettings(limit=2)
        session = TractSession(t, session_settings=settings)
        for number in range(4):
            await Runner.run(agent, f"Question {number}.", session=session, **run_options(t))
    assert [len(request.body["input"]) for request in server.requests] == [1, 3, 3, 3]
    assert len(await session.get_items(limit=100)) == 8
    assert list(t.branches()) == ["main"]


@in_loop
async def test_a_session_alone_and_other_dialogs(t: Tract) -> None:
    with session_of_all.server() as server:
        session = TractSession(t, "other")
        agent = agent_of(server, session.tract)
        result = await Runner.run(agent, PROMPT, session=session)
    assert await session.get_items() == result.to_input_list()
    assert t.head is None
    t.user("Somebody else.")
    assert await TractSession(t).get_items() == [{"role": "user", "content": "Somebody else."}]


@in_loop
async def test_someone_reads_the_session_meanwhile(t: Tract) -> None:
    with session_of_all.server() as server:
        agent, session = agent_of(server, t), TractSession(t)

        async def list_files(folder: str) -> str:
            await session.get_items()
            return folder

        agent.tools[1] = function_tool(list_files)
        result = await Runner.run(agent, PROMPT, session=session, **run_options(t))
    assert await session.get_items() == result.to_input_list()
    assert list(t.branches()) == ["main"]


def test_the_fetch_tool_has_the_known_schema(t: Tract) -> None:
    tool = fetch_tool(t)
    assert tool.params_json_schema == t.as_tool().schema["input_schema"]
    assert (tool.name, tool.description) == ("get_tool_result", t.as_tool().schema["description"])


def test_a_missing_sdk_is_one_line() -> None:
    program = "import sys; sys.modules['agents'] = None; import tract.integrations.openai_agents"
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, cwd=ROOT)
    last = done.stderr.splitlines()[-1]
    assert "the OpenAI Agents SDK needs the extra openai-agents: pip install" in last


# The docs


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "frameworks" / "openai-agents.md").read_text()
    assert f"```py\n{EXAMPLE.read_text()}```" in page
    reading = Reply(calls=[("call_1", "read_log", {"path": "orders.log"})])
    with LLMServer(reading, Reply("Fine."), Reply("Still fine.")) as server:
        own = {**os.environ, "OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "k"}
        own["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
        for _ in range(2):  # in a new process each
            command = [sys.executable, str(EXAMPLE)]
            subprocess.run(command, check=True, timeout=120, env=own, cwd=tmp_path)
    assert [len(request.body["input"]) for request in server.requests] == [1, 3, 5]
    assert all(len(json.dumps(request.body)) < 10_000 for request in server.requests)
    with Tract.open(tmp_path / "agent.db", dialog="orders") as t:
        assert [m.text for m in t.compile().messages][-1] == "Still fine."
        assert len(str(t.get_content(t.find_tool_results()[0]))) == 133_889


if __name__ == "__main__":
    asyncio.run(run_once(*sys.argv[1:]))
