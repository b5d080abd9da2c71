"""Spans of what is done with a dialog, in a real tracer of the SDK."""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import logging
import runpy
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests import agents
from tests.llm import client
from tests.llm_server import LLMServer, Reply
from tests.serving import serving, url_of
from tract import AsyncTract, Tract
from tract.errors import ConflictError, LLMCallError, MissingExtraError
from tract.integrations.otel import trace, untrace
from tract.llm import ScriptedLLM
from tract.remote.tract import connect

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "frameworks" / "opentelemetry_spans.py"
RESPONSE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "model-1-2026",
    "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3},
}
ATTRIBUTES = ["gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"]


class Tracing:
    """A provider, and the spans that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def last(self) -> dict[str, Any]:
        return dict(self.spans[-1].attributes or {})


@pytest.fixture
def tracing() -> Iterator[Tracing]:
    tracing = Tracing()
    yield tracing
    tracing.provider.shutdown()


def id_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def traced(tracing: Tracing, *replies: Any, content: bool = False) -> Tract:
    t = Tract.open(llm=ScriptedLLM(replies))
    trace(t, tracing.provider, content=content)
    return t


def test_an_answer_is_a_span_of_the_conventions(tracing: Tracing) -> None:
    t = traced(tracing, RESPONSE)
    t.chat("What is here?", generation_config={"temperature": 0.5, "stop": "END", "other": 1})
    [span] = tracing.spans
    assert (span.name, span.kind) == ("chat scripted", SpanKind.CLIENT)
    assert span.status.status_code == StatusCode.UNSET
    assert tracing.last() == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "_OTHER",
        "gen_ai.conversation.id": "default",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.model": "model-1-2026",
        "gen_ai.response.finish_reasons": ("tool_use",),
        "gen_ai.usage.input_tokens": 15,
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.output_tokens": 3,
    }


def test_contents_are_in_spans_only_on_request(tracing: Tracing) -> None:
    t = traced(tracing, RESPONSE, "Done.")
    t.system("Be brief.")
    t.chat("What is here?")
    t.tool_result("c1", "ls", "a secret")
    t.compress(content="They talked about a secret.")
    assert not any("secret" in str(span.attributes) for span in tracing.spans)
    assert not any(set(ATTRIBUTES) & set(span.attributes or {}) for span in tracing.spans)


def test_contents_have_the_format_of_the_conventions(tracing: Tracing) -> None:
    t = traced(tracing, RESPONSE, "Done.", content=True)
    t.system("Be brief.")
    t.chat("What is here?", tools=[agents.as_openai_tool(agents.list_files)])
    t.tool_result("c1", "ls", {"files": ["ä.py"]})
    assert tracing.last()["gen_ai.tool.call.result"] == '{"files": ["ä.py"]}'
    t.generate()
    attributes = tracing.last()
    system, before, after, tools = (
        json.loads(attributes[name])
        for name in (
            "gen_ai.system_instructions",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.tool.definitions",
        )
    )
    assert system == [{"type": "text", "content": "Be brief."}]
    call = {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"path": "."}}
    result = {"type": "tool_call_response", "id": "c1", "response": {"files": ["ä.py"]}}
    assert before == [
        {"role": "user", "parts": [{"type": "text", "content": "What is here?"}]},
        {"role": "assistant", "parts": [call]},
        {"role": "tool", "parts": [result]},
    ]
    text = {"type": "text", "content": "Done."}
    assert after == [{"role": "assistant", "parts": [text], "finish_reason": "stop"}]
    assert tools[0]["function"]["name"] == "list_files"


def test_a_result_lasts_from_its_call_on(tracing: Tracing) -> None:
    t = traced(tracing, RESPONSE)
    t.configure_results(inline_tokens=100)
    t.chat("What is here?")
    commit = t.tool_result("c1", "ls", agents.LOG)
    chat, result = tracing.spans
    assert (result.name, result.kind) == ("execute_tool ls", SpanKind.INTERNAL)
    assert tracing.last() == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "default",
        "gen_ai.tool.name": "ls",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "tract.commit": commit.commit_hash,
        "tract.form": "reference",
        "tract.tokens": commit.token_count,
        "tract.bytes": commit.byte_size,
    }
    times = (chat.end_time or 0, result.start_time or 0, result.end_time or 0)
    assert 0 < times[0] <= times[1] <= times[2]


def test_a_failed_tool_is_an_error(tracing: Tracing) -> None:
    t = traced(tracing)
    t.assistant(RESPONSE)
    t.tool_result("c1", "ls", "no such folder", is_error=True)
    [span] = tracing.spans
    assert span.status.status_code == StatusCode.ERROR
    assert tracing.last()["error.type"] == "_OTHER"


def test_reshapes_and_compressions_are_spans(tracing: Tracing) -> None:
    t = traced(tracing)
    t.user("What is here?")
    t.assistant(RESPONSE)
    result = t.tool_result("c1", "ls", agents.LOG)
    mark = t.reshape({result.commit_hash: "reference"})
    assert tracing.names[-1] == "tract.reshape"
    assert tracing.last() == {
        "gen_ai.conversation.id": "default",
        "tract.commit": mark.commit_hash,
        "tract.forms": ("reference",),
        "tract.targets": (result.commit_hash,),
    }
    [summary] = t.compress(content="They listed files.").summaries
    assert tracing.names[-1] == "tract.compress"
    attributes = tracing.last()
    assert attributes["tract.commit"] == summary.commit_hash
    assert attributes["tract.targets"] == summary.replaces
    assert attributes["tract.tokens_before"] > attributes["tract.tokens"] > 0


def test_the_model_of_a_summary_is_asked_in_a_span(tracing: Tracing) -> None:
    t = traced(tracing, "They talked.")
    t.user(agents.LOG[:5000])
    t.assistant("Yes. " * 500)
    t.compress()
    assert tracing.names == ["chat scripted", "tract.compress"]
    assert tracing.last()["tract.made_by"] == "scripted"


def test_edits_marks_and_other_messages_are_no_spans(tracing: Tracing) -> None:
    t = traced(tracing)
    commit = t.user("Hi")
    t.user("Hello", edit=commit)
    t.annotate(commit, "pinned")
    t.restore(commit)
    assert tracing.names == []


def test_spans_are_children_of_the_span_around_them(tracing: Tracing) -> None:
    t = traced(tracing, RESPONSE)
    tracer = tracing.provider.get_tracer("test")
    with tracer.start_as_current_span("agent"):
        t.chat("What is here?")
        t.tool_result("c1", "ls", "a.py")
    *spans, agent = tracing.spans
    assert [span.name for span in spans] == ["chat scripted", "execute_tool ls"]
    assert set(map(parent_of, spans)) == {id_of(agent)}


def test_the_span_is_current_while_the_model_is_asked(tracing: Tracing) -> None:
    tracer = tracing.provider.get_tracer("test")

    def reply(_: object) -> str:
        with tracer.start_as_current_span("POST"):
            return "Hello."

    traced(tracing, reply).chat("Hi")
    inner, outer = tracing.spans
    assert parent_of(inner) == id_of(outer)


def test_a_batch_is_seen_when_it_is_committed(tracing: Tracing) -> None:
    t = traced(tracing)
    with t.batch():
        t.assistant(RESPONSE)
        t.tool_result("c1", "ls", "a.py")
        assert tracing.names == []
    assert tracing.names == ["execute_tool ls"]
    with suppress(RuntimeError), t.batch():
        t.tool_result("c1", "ls", "b.py")
        raise RuntimeError
    assert tracing.names == ["execute_tool ls"]


def test_a_dialog_is_traced_alone(tracing: Tracing) -> None:
    t = traced(tracing, "Hello.")
    other = t.sibling("other")
    with t.batch():
        other.tool_result("c0", "ls", "untraced", parent=None)
        t.tool_result("c1", "ls", "a.py")
    other.chat("Hi")
    assert [(s.attributes or {})["gen_ai.tool.call.id"] for s in tracing.spans] == ["c1"]


def test_a_review_and_a_handler_see_what_they_saw_before(tracing: Tracing) -> None:
    t = traced(tracing)
    seen: list[str | None] = []
    t.on("tool_result", lambda pending: seen.append(pending.tool_call_id))
    t.assistant(RESPONSE)
    t.tool_result("c1", "ls", "a.py")
    t.tool_result("c2", "ls", "b.py", review=True).approve()
    assert seen == ["c1"]
    assert tracing.names == ["execute_tool ls"] * 2


def test_tracing_ends(tracing: Tracing) -> None:
    t = traced(tracing, "Hello.", "Hello.")
    trace(t, tracing.provider)  # replaces the first
    t.chat("Hi")
    assert len(tracing.spans) == 1
    untrace(t)
    t.chat("Hi")
    assert len(tracing.spans) == 1


@pytest.mark.parametrize(
    ("kind", "provider", "reason"),
    [
        ("anthropic", "anthropic", "end_turn"),
        ("openai", "openai", "stop"),
        ("responses", "openai", "completed"),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_every_client_is_named(
    tracing: Tracing, kind: str, provider: str, reason: str, is_streamed: bool
) -> None:
    with LLMServer(Reply("Hello.")) as server, client(kind, server) as llm, Tract.open() as t:
        t.llm = llm
        trace(t, tracing.provider)
        pieces: list[str] = []
        t.chat("Hi", on_text=pieces.append if is_streamed else None)
        assert t.llm is llm
    attributes = tracing.last()
    assert attributes["gen_ai.provider.name"] == provider
    assert attributes["gen_ai.response.finish_reasons"] == (reason,)
    assert attributes["gen_ai.usage.input_tokens"] == 21
    assert attributes["gen_ai.usage.output_tokens"] == 7
    assert attributes.get("gen_ai.request.stream", False) == is_streamed


def test_a_model_that_fails_is_an_error(tracing: Tracing) -> None:
    with LLMServer(Reply(status=400)) as server, client("openai", server) as llm, Tract.open() as t:
        t.llm = llm
        trace(t, tracing.provider)
        with pytest.raises(LLMCallError):
            t.chat("Hi")
        assert t.head is None
    [span] = tracing.spans
    assert span.status.status_code == StatusCode.ERROR
    assert span.status.description is None  # it may quote the prompt
    assert tracing.last()["error.type"].startswith("LLM")
    assert span.events == ()


def test_an_answer_that_cannot_be_read_is_only_reported_by_chat(
    tracing: Tracing, caplog: pytest.LogCaptureFixture
) -> None:
    t = traced(tracing, {"what": "is this"})
    with pytest.raises(Exception, match="cannot parse"):
        t.chat("Hi")
    assert tracing.names == ["chat scripted"]
    assert caplog.records == []


class Broken(SpanProcessor):
    """Fails at the start or at the end of each span."""

    def __init__(self, at: str) -> None:
        self._at = at

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        if self._at == "start":
            raise OSError("no collector")

    def on_end(self, span: ReadableSpan) -> None:
        if self._at == "end":
            raise OSError("no collector")


@pytest.mark.parametrize("at", ["start", "end"])
def test_a_processor_that_fails_breaks_nothing(at: str, caplog: pytest.LogCaptureFixture) -> None:
    provider = TracerProvider()
    provider.add_span_processor(Broken(at))
    with Tract.open(llm=ScriptedLLM([RESPONSE, "Done."])) as t:
        trace(t, provider)
        with caplog.at_level(logging.ERROR, "tract"):
            t.chat("What is here?")
            result = t.tool_result("c1", "ls", agents.LOG)
            t.reshape({result.commit_hash: "reference"})
            assert t.generate().text == "Done."
            t.compress(content="They listed files.")
        assert t.fsck().ok
    assert [record.name for record in caplog.records] == ["tract"]  # once
    assert "no collector" in caplog.text


def test_an_exporter_that_fails_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(InMemorySpanExporter):
        def export(self, spans: Any) -> Any:
            raise ConnectionError("no collector")

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(Failing()))
    with Tract.open(llm=ScriptedLLM(["Hello."])) as t:
        trace(t, provider)
        assert t.chat("Hi").text == "Hello."
        assert len(list(t.log())) == 2


def test_asynchronous_code_is_traced(tracing: Tracing) -> None:
    async def main() -> None:
        tracer = tracing.provider.get_tracer("test")
        async with await AsyncTract.open(llm=ScriptedLLM([RESPONSE, "Done."])) as t:
            trace(t, tracing.provider)
            with tracer.start_as_current_span("agent"):
                await t.chat("What is here?")
                result = await t.tool_result("c1", "ls", agents.LOG)
                await t.reshape({result.commit_hash: "reference"})
            untrace(t)
            await t.generate()

    asyncio.run(main())
    *spans, agent = tracing.spans
    assert [span.name for span in spans] == ["chat scripted", "execute_tool ls", "tract.reshape"]
    assert set(map(parent_of, spans)) == {id_of(agent)}


def test_a_cancelled_call_has_one_span_and_commits_nothing(tracing: Tracing) -> None:
    async def main(llm: Any) -> None:
        async with await AsyncTract.open(llm=llm) as t:
            trace(t, tracing.provider)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await t.chat("Hi")
            await t.user("Hello?")
            async with asyncio.timeout(30):
                while not tracing.names:  # the thread that was given up still waits for the model
                    await asyncio.sleep(0.01)
            assert [message.text for message in (await t.compile()).messages] == ["Hello?"]

    with LLMServer(Reply("late", delay=0.3)) as server, client("openai", server) as llm:
        asyncio.run(main(llm))
    assert tracing.names == ["chat model-1"]


def test_a_dialog_of_a_server_is_traced(tracing: Tracing, tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db")) as server:
        t = connect(url_of(server), llm=ScriptedLLM([RESPONSE, "Done."]))
        with t:
            trace(t, tracing.provider, content=True)
            t.chat("What is here?")
            result = t.tool_result("c1", "ls", agents.LOG)
            t.reshape({result.commit_hash: "reference"})
            with t.batch():
                t.tool_result("c2", "ls", "b.py")
            t.compress(content="They listed files.")
    assert tracing.names == [
        "chat scripted",
        "execute_tool ls",
        "tract.reshape",
        "execute_tool ls",
        "tract.compress",
    ]
    assert tracing.last()["tract.tokens_before"] > 0


def test_many_agents_are_traced_at_once(tracing: Tracing, tmp_path: Path) -> None:
    def work(number: int) -> None:
        with Tract.open(tmp_path / "t.db", dialog=f"agent-{number}") as t:
            t.llm = ScriptedLLM([RESPONSE, "Done."])
            trace(t, tracing.provider)
            t.chat("What is here?")
            t.tool_result("c1", "ls", "a.py")
            t.generate()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(20)))
    dialogs = [(span.attributes or {})["gen_ai.conversation.id"] for span in tracing.spans]
    assert {dialogs.count(f"agent-{number}") for number in range(20)} == {3}
    assert len(dialogs) == 60


def test_an_agent_is_traced(tracing: Tracing) -> None:
    """The session of all frameworks, with the tool loop of a plain program."""
    with agents.server() as server, client("openai", server) as llm, Tract.open() as t:
        t.llm = llm
        t.configure_results(inline_tokens=500, preview_tokens=100)
        trace(t, tracing.provider)
        functions = {function.__name__: function for function in agents.TOOLS}
        tools = [agents.as_openai_tool(function) for function in agents.TOOLS]
        answer = t.chat(agents.PROMPT, tools=tools)
        while answer.tool_calls:
            for call in answer.tool_calls:
                if call.name == "get_tool_result":
                    t.answer(call)
                    continue
                try:
                    content, failed = functions[call.name](**json.loads(str(call.arguments))), False
                except RuntimeError as error:
                    content, failed = str(error), True
                t.tool_result(call.id, call.name, content, is_error=failed)
            answer = t.generate()
        agents.check_store(t)
        agents.check_wire(server.requests, "openai")
    tools_run = [name for name in tracing.names if name.startswith("execute_tool")]
    assert tools_run == [f"execute_tool {name}" for name in (*agents.NAMES, "get_tool_result")]
    assert tracing.names.count("chat model-1") == 4


def test_a_branch_that_moved_is_no_answer_but_a_span(tracing: Tracing) -> None:
    t = traced(tracing)

    def reply(_: object) -> str:
        t.user("Another one.")
        return "Late."

    t.llm = ScriptedLLM([reply])
    with pytest.raises(ConflictError):
        t.chat("Hi")
    assert tracing.names == ["chat scripted"]


def test_without_the_sdk_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    monkeypatch.delitem(sys.modules, "tract.integrations.otel")
    with pytest.raises(MissingExtraError, match=r"needs the extra otel: pip install"):
        importlib.import_module("tract.integrations.otel")


def test_the_page_shows_the_example_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.StringIO()
    monkeypatch.chdir(tmp_path)
    with redirect_stdout(output):
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    chat, result = "chat scripted ops/1", "execute_tool ls ops/1"
    assert output.getvalue().splitlines() == [chat, result, chat, "tract.compress ops/1"]
    page = (ROOT / "docs" / "frameworks" / "opentelemetry.md").read_text("utf-8")
    assert EXAMPLE.read_text("utf-8") in page
