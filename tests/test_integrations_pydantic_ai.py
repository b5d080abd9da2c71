"""pydantic-ai: real agents on a dialog, with a scripted model on this machine."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
    ToolDenied,
    ToolFailed,
    ToolReturn,
    capture_run_messages,
)
from pydantic_ai import messages as its
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.agents import (
    ANSWER,
    FAULT,
    LOG,
    PROMPT,
    RESULTS,
    check_store,
    check_wire,
    list_files,
    read_log,
    script,
    server,
)
from tests.llm_server import LLMServer, Reply
from tract import InputError, Tract, validate
from tract.integrations.pydantic_ai import (
    TractCapability,
    load_messages,
    record_messages,
    tract_history,
)
from tract.llm import ScriptedLLM

Value = TypeVar("Value")
ROOT = Path(__file__).parents[1]


def check_disk(device: str) -> str:
    """Check a disk."""
    raise ToolFailed(FAULT)


TOOLS: list[Any] = [read_log, list_files, check_disk]
CLIENTS: list[Any] = []


@pytest.fixture(autouse=True)
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop of a test, which `run_sync` uses too. In it, its connections are closed."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    while CLIENTS:
        loop.run_until_complete(CLIENTS.pop().close())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    asyncio.set_event_loop(None)
    loop.close()


def wait_for(work: Awaitable[Value]) -> Value:
    return asyncio.get_event_loop().run_until_complete(work)


def agent_on(model_server: LLMServer, *capabilities: Any, **options: Any) -> Agent[None, Any]:
    provider = OpenAIProvider(base_url=model_server.openai_url, api_key="k")
    CLIENTS.append(provider.client)
    options = {"tools": TOOLS, "instructions": "Be brief.", **options}
    model = options.pop("model", OpenAIChatModel)
    return Agent(model("m", provider=provider), capabilities=capabilities, **options)


@pytest.fixture
def t() -> Iterator[Tract]:
    with Tract.open() as tract:
        yield tract


def recorded_ids(t: Tract) -> list[str]:
    return [info.id for info in t.list_tool_results()]


def tidy(messages: Any) -> list[its.ModelMessage]:
    """Messages as they are after JSON."""
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))


def contents(messages: Any) -> list[tuple[str, Any]]:
    """What messages say. pydantic-ai joins requests."""
    return [
        (part.part_kind, getattr(part, "content", part))
        for message in tidy(messages)
        for part in message.parts
    ]


# Ways to run an agent


async def run(agent: Agent[None, Any]) -> list[its.ModelMessage]:
    return (await agent.run(PROMPT)).all_messages()


async def run_stream(agent: Agent[None, Any]) -> list[its.ModelMessage]:
    async with agent.run_stream(PROMPT) as result:
        pieces = [piece async for piece in result.stream_text(delta=True)]
    assert "".join(pieces) == ANSWER
    return result.all_messages()


async def run_with_events(agent: Agent[None, Any]) -> list[its.ModelMessage]:
    async def handle(_: RunContext[None], events: AsyncIterable[Any]) -> None:
        async for _event in events:
            pass

    return (await agent.run(PROMPT, event_stream_handler=handle)).all_messages()


async def run_nodes(agent: Agent[None, Any]) -> list[its.ModelMessage]:
    async with agent.iter(PROMPT) as nodes:
        async for _ in nodes:
            pass
    assert nodes.result is not None
    return nodes.result.all_messages()


Drive = Callable[[Agent[None, Any]], Awaitable[list[its.ModelMessage]]]
DRIVES = [run, run_stream, run_with_events, run_nodes]


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("provider", ["openai", "responses"])
def test_a_session_is_recorded_and_shortened(t: Tract, drive: Drive, provider: str) -> None:
    model = OpenAIChatModel if provider == "openai" else OpenAIResponsesModel
    with server() as model_server:
        if drive is run_stream:  # for pydantic-ai, the first text is the answer
            model_server.replies[0] = Reply(calls=script()[0].calls)
        agent = agent_on(model_server, TractCapability(t, results=RESULTS), model=model)
        messages = wait_for(drive(agent))
    check_wire(model_server.requests, provider)
    check_store(t)
    assert load_messages(t) == tidy(messages)
    assert len(t.branches()) == 1


def test_a_session_without_async_code(t: Tract) -> None:
    with server() as model_server:
        result = agent_on(model_server, TractCapability(t, results=RESULTS)).run_sync(PROMPT)
    assert result.output == ANSWER
    check_wire(model_server.requests, "openai")
    check_store(t)
    assert load_messages(t) == tidy(result.all_messages())


def without_accidents(value: Any) -> Any:
    """A dump without times and random ids."""
    left_out = ("timestamp", "run_id", "conversation_id")
    if isinstance(value, dict):
        return {k: without_accidents(v) for k, v in value.items() if k not in left_out}
    return [without_accidents(each) for each in value] if isinstance(value, list) else value


def test_the_messages_of_the_agent_are_what_they_would_be(t: Tract) -> None:
    replies = [reply for reply in script() if "get_tool_result" not in str(reply.calls)]
    dumps = []
    for capabilities in ([], [TractCapability(t, results=RESULTS)]):
        with LLMServer(*replies) as model_server:
            result = agent_on(model_server, *capabilities).run_sync(PROMPT)
        dumps.append(without_accidents(json.loads(result.all_messages_json())))
    for dump in dumps:  # the address has the port of the server
        for message in dump:
            message.pop("provider_url", None)
    assert dumps[0] == dumps[1]
    assert LOG in str(dumps[1][2]["parts"][0]["content"])


def test_a_limit_may_be_a_number(t: Tract) -> None:
    with server() as model_server:
        agent_on(model_server, TractCapability(t, results=500, auto=10**9)).run_sync(PROMPT)
    check_wire(model_server.requests, "openai")


def test_a_wrong_limit_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="inline_tokens"):
        TractCapability(tmp_path / "t.db", results={"inline_tokens": "many"})


def test_results_are_summarized(t: Tract) -> None:
    t.llm = ScriptedLLM(["All orders were answered in 12 ms."])
    with server() as model_server:
        agent_on(model_server, TractCapability(t, auto=5_000)).run_sync(PROMPT)
    check_wire(model_server.requests, "openai")
    assert "All orders were answered in 12 ms." in json.dumps(model_server.requests[1].body)
    assert t.get_content(t.list_tool_results("call_1")[0].commit_hash) == LOG


def test_a_result_is_recorded_when_its_tool_has_returned(t: Tract) -> None:
    async def look(name: str) -> str:
        """Look at something."""
        while name == "slow" and "fast" not in recorded_ids(t):
            await asyncio.sleep(0.01)
        return f"{name}: {recorded_ids(t)}"

    calls = [(name, "look", {"name": name}) for name in ("slow", "fast")]
    with LLMServer(Reply(calls=calls), Reply("Done.")) as model_server:
        result = agent_on(model_server, TractCapability(t), tools=[look]).run_sync(PROMPT)
    assert recorded_ids(t) == ["fast", "slow"]
    assert "slow: ['fast']" in t.get_tool_result("slow")
    assert load_messages(t) == tidy(result.all_messages())
    assert [tool["name"] for tool in t.get_tools() or []] == ["look"]


class Report(BaseModel):
    cause: str


def test_an_answer_that_is_a_call(t: Tract) -> None:
    with LLMServer(Reply(calls=[("c1", "final_result", {"cause": "none"})])) as model_server:
        agent = agent_on(model_server, TractCapability(t), output_type=Report)
        result = agent.run_sync(PROMPT)
    assert result.output == Report(cause="none")
    assert recorded_ids(t) == ["c1"]
    assert "final_result" in str(t.get_tools())
    assert load_messages(t) == tidy(result.all_messages())


def test_rich_results(t: Tract) -> None:
    image = its.BinaryContent(b"PNG", media_type="image/png")

    def look() -> ToolReturn[Any]:
        """Look."""
        return ToolReturn({"rows": [1, 2.5, None]}, content=["See:", image], metadata={"cost": 3})

    with LLMServer(Reply(calls=[("c1", "look", {})]), Reply("Done.")) as model_server:
        result = agent_on(model_server, TractCapability(t), tools=[look]).run_sync(PROMPT)
    assert t.get_content(t.list_tool_results("c1")[0].commit_hash) == {"rows": [1, 2.5, None]}
    assert load_messages(t) == tidy(result.all_messages())


def test_a_tool_that_asks_for_another_try(t: Tract) -> None:
    def read(path: str) -> str:
        """Read."""
        if path == "x":
            raise ModelRetry("a path starts with /")
        return path

    replies = [
        Reply(calls=[("c1", "read", {"path": "x"})]),
        Reply(calls=[("c2", "read", {"file": "/x"})]),
        Reply(calls=[("c3", "read", {"path": "/x"})]),
        Reply("Done."),
    ]
    with LLMServer(*replies) as model_server:
        agent = agent_on(model_server, TractCapability(t), tools=[read], retries=3)
        result = agent.run_sync(PROMPT)
    statuses = [(info.id, info.status) for info in t.list_tool_results()]
    assert statuses == [("c1", "error"), ("c2", "error"), ("c3", "success")]
    assert "a path starts with /" in t.get_tool_result("c1")
    assert all(validate(request.body, "openai") == [] for request in model_server.requests)
    assert load_messages(t) == tidy(result.all_messages())
    assert len(t.branches()) == 1


def test_an_exception_inside_a_tool_ends_the_run_and_the_next_goes_on(t: Tract) -> None:
    async def burn(device: str) -> str:
        """Burn."""
        while "c1" not in recorded_ids(t):
            await asyncio.sleep(0.01)
        raise RuntimeError(FAULT)

    calls = [("c1", "list_files", {"folder": "/"}), ("c2", "burn", {"device": "sda"})]
    with LLMServer(Reply(calls=calls), Reply("Again."), Reply("More.")) as model_server:
        agent = agent_on(model_server, TractCapability(t), tools=[list_files, burn])
        with capture_run_messages() as messages, pytest.raises(RuntimeError, match=FAULT):
            agent.run_sync(PROMPT)
        assert [m for m in load_messages(t) if m in tidy(messages)] == tidy(messages)
        assert recorded_ids(t) == ["c1"]  # which pydantic-ai itself has lost
        assert validate(t.compile().to_openai_params(), "openai") == []
        again = agent.run_sync("Go on.", message_history=load_messages(t))
        assert again.output == "Again."
        more = agent.run_sync("More.", message_history=load_messages(t))
    assert all(validate(request.body, "openai") == [] for request in model_server.requests)
    assert contents(load_messages(t)) == contents(more.all_messages())
    assert len(t.branches()) == 1


@pytest.mark.parametrize("is_own", [True, False])
def test_cancelled_in_mid_call(t: Tract, is_own: bool) -> None:
    started = asyncio.Event()

    async def wait(name: str) -> str:
        """Wait."""
        started.set()
        await asyncio.sleep(60)
        return name

    async def cancel(agent: Agent[None, Any]) -> list[its.ModelMessage]:
        with capture_run_messages() as messages:
            task = asyncio.create_task(agent.run(PROMPT))
            await started.wait()
            while "c1" not in recorded_ids(t):
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return messages

    calls = [("c1", "read_log", {"path": "orders.log"}), ("c2", "wait", {"name": "x"})]
    with LLMServer(Reply(calls=calls), Reply("Again.")) as model_server:
        capability = TractCapability(t, results=RESULTS)
        agent = agent_on(model_server, capability, tools=[read_log, wait])
        messages = wait_for(cancel(agent))
        assert t.get_content(t.list_tool_results("c1")[0].commit_hash) == LOG
        assert validate(t.compile().to_openai_params(), "openai") == []
        assert contents(load_messages(t)) == contents(messages)
        history = messages if is_own else load_messages(t)
        again = agent.run_sync("Go on.", message_history=history)
    assert all(validate(request.body, "openai") == [] for request in model_server.requests)
    assert len(json.dumps(model_server.requests[-1].body)) < 20_000
    assert contents(load_messages(t)) == contents(again.all_messages())
    assert len(t.branches()) == 1
    assert t.fsck().ok


def test_a_stream_that_is_left(t: Tract) -> None:
    async def leave(agent: Agent[None, Any]) -> None:
        async with agent.run_stream(PROMPT) as result:
            async for _ in result.stream_text(delta=True):
                break

    with LLMServer(Reply("one two three"), Reply("Again.")) as model_server:
        agent = agent_on(model_server, TractCapability(t))
        wait_for(leave(agent))
        again = agent.run_sync("Go on.", message_history=load_messages(t))
    assert all(validate(request.body, "openai") == [] for request in model_server.requests)
    assert load_messages(t) == tidy(again.all_messages())


@pytest.mark.parametrize("decision", [True, ToolDenied("no")])
def test_approval_in_another_process(tmp_path: Path, decision: Any) -> None:
    def delete(ctx: RunContext[None], path: str) -> str:
        """Delete."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"deleted {path}"

    calls = [("c1", "list_files", {"folder": "/"}), ("c2", "delete", {"path": "x"})]
    options: dict[str, Any] = {
        "tools": [list_files, delete],
        "output_type": [str, DeferredToolRequests],
    }
    path = tmp_path / "agent.db"
    with LLMServer(Reply(calls=calls), Reply("Done.")) as model_server:
        with Tract.open(path) as t:
            agent = agent_on(model_server, TractCapability(t), **options)
            first = agent.run_sync(PROMPT)
            assert isinstance(first.output, DeferredToolRequests)
            assert load_messages(t) == tidy(first.all_messages())
            assert validate(t.compile().to_openai_params(), "openai") == []
        with Tract.open(path) as t:
            agent = agent_on(model_server, TractCapability(t), **options)
            second = agent.run_sync(
                message_history=load_messages(t),
                deferred_tool_results=DeferredToolResults(approvals={"c2": decision}),
            )
            assert second.output == "Done."
            assert ("deleted x" in t.get_tool_result("c2")) is (decision is True)
            assert load_messages(t) == tidy(second.all_messages())
            assert len(t.branches()) == 1
    assert all(validate(request.body, "openai") == [] for request in model_server.requests)


RESUMED = """
import sys
from tests.test_integrations_pydantic_ai import *
path, url, name = sys.argv[1:]
provider = OpenAIProvider(base_url=url, api_key="k")
capability = TractCapability(path, results=RESULTS)
with Tract.open(path, dialog=name) as t:
    history = load_messages(t)
model = OpenAIChatModel("m", provider=provider)
agent = Agent(model, tools=TOOLS, instructions="Be brief.", capabilities=[capability])
print(agent.run_sync("And now?", message_history=history).output)
"""


def test_a_new_process_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with LLMServer(*script(), Reply("Nothing new.")) as model_server:
        capability = TractCapability(path, results=RESULTS)
        result = agent_on(model_server, capability).run_sync(PROMPT)
        name = result.conversation_id
        capability.tract.close()
        command = [sys.executable, "-c", RESUMED, str(path), model_server.openai_url, str(name)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "Nothing new.\n", done.stderr
    with Tract.open(path, dialog=str(name)) as t:
        assert len(t.branches()) == 1
        assert [m.text for m in t.compile().messages[-2:]] == ["And now?", "Nothing new."]
        assert load_messages(t)[:-2] == tidy(result.all_messages())
    last = model_server.requests[-1].body
    assert validate(last, "openai") == []
    assert len(json.dumps(last)) < 20_000


def test_twenty_agents_on_one_database(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"

    async def run_all(servers: list[LLMServer]) -> list[Any]:
        capability = TractCapability(path, results=RESULTS)
        try:
            agents = [agent_on(each, capability) for each in servers]
            return list(await asyncio.gather(*(agent.run(PROMPT) for agent in agents)))
        finally:
            capability.tract.close()

    servers = [server().__enter__() for _ in range(20)]
    try:
        results = wait_for(run_all(servers))
    finally:
        for each in servers:
            each.__exit__()
    for each, result in zip(servers, results, strict=True):
        check_wire(each.requests, "openai")
        with Tract.open(path, dialog=result.conversation_id, create=False) as t:
            check_store(t)
            assert load_messages(t) == tidy(result.all_messages())


def test_two_runs_at_once_on_one_dialog_are_two_branches(t: Tract) -> None:
    async def both() -> list[Any]:
        with server() as one, server() as two:
            capability = TractCapability(t, results=RESULTS)
            agents = [agent_on(each, capability) for each in (one, two)]
            prompts = (f"{PROMPT} {number}" for number in (1, 2))
            runs = (agent.run(prompt) for agent, prompt in zip(agents, prompts, strict=True))
            results = await asyncio.gather(*runs)
            check_wire(one.requests, "openai")
            check_wire(two.requests, "openai")
            return results

    results = wait_for(both())
    assert {result.output for result in results} == {ANSWER}
    recorded = []
    for branch in t.branches():
        t.checkout(branch)
        recorded.append(load_messages(t))
    assert all(tidy(result.all_messages()) in recorded for result in results)


@pytest.mark.parametrize("change", ["edit", "skip", "compress"])
def test_what_was_changed_in_the_dialog_is_sent(t: Tract, change: str) -> None:
    with LLMServer(*script(), Reply("Nothing new.")) as model_server:
        agent = agent_on(
            model_server, TractCapability(t, results=RESULTS), model=OpenAIResponsesModel
        )
        first = agent.run_sync(PROMPT)
        user = next(info for info in t.log() if info.role == "user")
        if change == "edit":
            t.user("Why do orders succeed?", edit=user)
        elif change == "skip":
            t.annotate(user, "skip")
        else:
            t.compress([user], content="Orders were looked at.")
        second = agent.run_sync("And now?", message_history=first.all_messages())
    last = json.dumps(model_server.requests[-1].body)
    assert validate(model_server.requests[-1].body, "responses") == []
    assert PROMPT not in last
    assert ("Why do orders succeed?" in last) is (change == "edit")
    assert last.count("Be brief.") == 1
    assert len(last) < 20_000
    assert PROMPT in str(second.all_messages()[0])
    assert len(t.branches()) == 1


def test_a_recorder_that_fails_says_so_and_the_agent_goes_on(
    t: Tract, caplog: pytest.LogCaptureFixture
) -> None:
    def close(device: str) -> str:
        """Close the database."""
        t.close()
        return LOG

    replies = [Reply(calls=[("c1", "check_disk", {"device": "x"})]), Reply("Done.")]
    with LLMServer(*replies) as model_server, caplog.at_level(logging.WARNING, "tract"):
        close.__name__ = "check_disk"
        agent = agent_on(model_server, TractCapability(t, results=RESULTS), tools=[close])
        assert agent.run_sync(PROMPT).output == "Done."
    assert LOG.splitlines()[4242] in json.dumps(model_server.requests[1].body)
    assert len(caplog.records) == 1
    assert "tract could not record an agent of pydantic-ai" in caplog.text
    assert len(t.handler_errors) > 1


def test_a_history_processor(t: Tract) -> None:
    t.configure_results(inline_tokens=500, preview_tokens=100)
    with server() as model_server:
        processor = ProcessHistory(tract_history(t))
        agent = agent_on(model_server, processor, tools=[*TOOLS, t.as_tool()])
        result = agent.run_sync(PROMPT)
    check_wire(model_server.requests, "openai")
    record_messages(t, result.all_messages())
    results = {info.id: info for info in t.list_tool_results()}
    assert t.get_content(results["call_1"].commit_hash) == LOG
    assert t.compile().messages[-1].text == ANSWER
    assert len(t.branches()) == 1


def test_the_program_of_the_page(tmp_path: Path) -> None:
    program = (ROOT / "examples/frameworks/pydantic_ai_agent.py").read_text()
    assert f"```py\n{program}```" in (ROOT / "docs/frameworks/pydantic-ai.md").read_text()
    call = ("call_1", "read_log", {"path": "orders.log"})
    fetch = ("call_2", "get_tool_result", {"id": "call_1", "lines": "4243"})
    replies = [Reply(calls=[call]), Reply(calls=[fetch]), Reply(ANSWER), Reply("Yes.")]
    environment = {**os.environ, "OPENAI_API_KEY": "k", "PYTHONPATH": str(ROOT / "src")}
    (tmp_path / "orders.log").write_text(LOG)
    (tmp_path / "program.py").write_text(program)
    with LLMServer(*replies) as model_server:
        environment["OPENAI_BASE_URL"] = model_server.openai_url
        command = [sys.executable, "program.py"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
    assert done.stdout.splitlines() == [ANSWER, "Yes."], done.stderr
    sizes = [len(json.dumps(request.body)) for request in model_server.requests]
    assert max(sizes) < 20_000
    assert all(validate(r.body, "responses") == [] for r in model_server.requests)
    with Tract.open(tmp_path / "agent.db") as t:
        [dialog] = [info.dialog for info in t.dialogs()]
        own = t.sibling(dialog)
        assert own.get_content(own.list_tool_results("call_1")[0].commit_hash) == LOG


def test_without_pydantic_ai_one_line_says_what_to_install() -> None:
    program = "import sys; sys.modules['pydantic_ai'] = None\nimport tract.integrations.pydantic_ai"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "pydantic-ai needs the extra pydantic-ai: pip install" in last
