"""Spans over HTTP: exports of OpenTelemetry become dialogs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.asking import Answer, ask, grant
from tests.protobuf import as_protobuf
from tests.samples.otel import (
    AGENT,
    CONVENTIONS,
    FIRST,
    INFERENCE,
    LLMETRY,
    SECOND,
    export,
    pairs,
    span,
    text,
)
from tests.serving import serving
from tract import Tract
from tract.integrations.otel import trace
from tract.llm import ScriptedLLM
from tract.model import Json
from tract.web.intake import Limits
from tract.web.server import Server

TRACES = "/v1/traces"
TRACE = "0af7651916cd43dd8448eb211c80319c"
IDS = {"traceId": TRACE, "spanId": "b7ad6b7169203331", "parentSpanId": ""}
JSON, PROTOBUF = "application/json", "application/x-protobuf"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def server(place: Path) -> Iterator[Server]:
    with serving(str(place)) as running:
        yield running


def send(
    server: Server,
    body: Json | bytes,
    token: str | None = None,
    media: str = JSON,
    **headers: str,
) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    own = [("Content-Type", media), *headers.items()]
    return ask(server, "POST", TRACES, token or server.token, own, content)


def dialogs(place: Path) -> dict[str, list[str]]:
    """What each dialog has on its branches, as roles and texts."""
    with Tract.open(place) as t:
        histories = {}
        for info in t.dialogs():
            own = t.sibling(info.dialog)
            assert list(own.branches()) == ["main"], "nothing has diverged"
            histories[info.dialog] = [f"{m.role}: {m.text}" for m in own.compile().messages]
        assert t.fsck().ok
        return histories


def turn(number: int, **about: Json) -> Json:
    """The call of a model that answers question `number`, with all before it."""
    history = [
        text(role, f"{words} {n}")
        for n in range(1, number + 1)
        for role, words in (("user", "question"), ("assistant", "answer"))
    ]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps(history[:-1]),
        "gen_ai.output.messages": json.dumps(history[-1:]),
        "gen_ai.usage.output_tokens": number,
        **about,
    }
    return span(number, attributes, **IDS)


def turns(count: int) -> list[str]:
    return [
        f"{x} {n}" for n in range(1, count + 1) for x in ("user: question", "assistant: answer")
    ]


def test_a_conversation_becomes_a_dialog(server: Server, place: Path) -> None:
    answer = send(server, CONVENTIONS)
    assert (answer.status, answer.body) == (200, b"{}")
    assert answer.headers["content-type"] == JSON
    with Tract.open(place, dialog="conv-1") as t:
        roles = [message.role for message in t.compile().messages]
        assert roles == ["system", "user", "assistant", "tool", "tool", "assistant"]
        assert t.get_tools()
        assert next(t.usages()).usage["output_tokens"] > 0


def test_without_a_conversation_the_trace_is_the_dialog(server: Server, place: Path) -> None:
    assert send(server, export(turn(1))).body == b"{}"
    assert dialogs(place) == {TRACE: turns(1)}


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
def test_spans_of_several_requests_are_one_dialog(
    server: Server, place: Path, order: tuple[int, ...]
) -> None:
    for number in order:
        for _ in range(2):  # exporters repeat what was not acknowledged
            assert send(server, export(turn(number))).body == b"{}"
    assert dialogs(place) == {TRACE: turns(3)}
    with Tract.open(place, dialog=TRACE) as t:
        [info] = t.dialogs()
        assert info.facts.started
        assert info.facts.ended
        assert (info.facts.ended - info.facts.started).total_seconds() == 2
        assert info.facts.title == "question 1"


def test_usage_comes_with_each_call_that_is_new(server: Server, place: Path) -> None:
    for number in (1, 2, 3):
        send(server, export(turn(number)))
    with Tract.open(place, dialog=TRACE) as t:
        assert [usage.usage["output_tokens"] for usage in t.usages()] == [1, 2, 3]


def test_the_usage_of_a_call_that_comes_late_is_not_added(server: Server, place: Path) -> None:
    for number in (3, 1, 2):
        send(server, export(turn(number)))
    with Tract.open(place, dialog=TRACE) as t:
        assert [usage.usage["output_tokens"] for usage in t.usages()] == [3]


def test_agents_of_one_trace_are_apart_however_their_spans_are_sent(
    server: Server, place: Path
) -> None:
    aide = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([text("user", "look it up")]),
        "gen_ai.output.messages": json.dumps([text("assistant", "it is here")]),
    }
    helper = span(9, aide, **IDS)
    send(server, export(turn(1), helper))
    send(server, export(helper))
    send(server, export(helper, turn(2)))
    send(server, export(turn(2)))
    apart = ["user: look it up", "assistant: it is here"]
    assert dialogs(place) == {TRACE: turns(2), f"{TRACE}-2": apart}


def test_conversations_are_apart_that_begin_alike(server: Server, place: Path) -> None:
    names = ("a", "b")
    send(server, export(*(turn(1, **{"gen_ai.conversation.id": name}) for name in names)))
    assert dialogs(place) == {"a": turns(1), "b": turns(1)}


@pytest.mark.parametrize("attributes", [INFERENCE, LLMETRY])
def test_other_conventions_are_read(
    server: Server, place: Path, attributes: dict[str, Json]
) -> None:
    assert send(server, export(span(1, attributes, **IDS))).body == b"{}"
    [messages] = dialogs(place).values()
    assert len(messages) > 2


def test_other_spans_are_accepted_and_not_stored(server: Server, place: Path) -> None:
    spans = export(span(1, {"http.method": "GET"}), span(2, AGENT))
    bodies: tuple[Json, ...] = (spans, {}, {"resourceSpans": []}, b"")
    for body in bodies:
        answer = send(server, body)
        assert (answer.status, answer.body) == (200, b"{}")
    assert dialogs(place) == {}


def test_protobuf_and_gzip_are_read(server: Server, place: Path) -> None:
    body = as_protobuf(export(turn(1)))
    answer = send(server, body, media=PROTOBUF)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-type"] == PROTOBUF
    packed = gzip.compress(as_protobuf(export(turn(2))))
    encoded = {"Content-Encoding": "gzip"}
    assert send(server, packed, media=PROTOBUF, **encoded).status == 200
    packed = gzip.compress(json.dumps(export(turn(3))).encode())
    assert send(server, packed, media=f"{JSON}; charset=utf-8", **encoded).body == b"{}"
    assert dialogs(place) == {TRACE: turns(3)}


def test_what_cannot_be_read_is_rejected_and_the_rest_is_stored(
    server: Server, place: Path
) -> None:
    silent = span(5, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, **IDS)
    cut = span(6, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": '[{"role'}, **IDS)
    spans = export(turn(1), silent, cut)
    partial = send(server, spans).json["partialSuccess"]
    assert partial["rejectedSpans"] == "2"
    assert "no messages besides instructions" in partial["errorMessage"]
    assert "gen_ai.input.messages is a list" in partial["errorMessage"]
    answer = send(server, as_protobuf(spans), media=PROTOBUF)
    assert answer.body.startswith(b"\x0a")
    assert b"\x08\x02" in answer.body[:6]
    assert b"no messages" in answer.body
    assert dialogs(place) == {TRACE: turns(1)}


@pytest.mark.parametrize("spans", [None, 1, {"scopeSpans": 1}, {"scopeSpans": [{"spans": [1]}]}])
def test_a_broken_part_is_rejected(server: Server, place: Path, spans: Json) -> None:
    body = export(turn(1))
    body["resourceSpans"].append(spans)
    answer = send(server, body)
    assert answer.status == 200
    assert answer.json["partialSuccess"]["rejectedSpans"] == "1"
    assert dialogs(place) == {TRACE: turns(1)}


def test_lists_that_are_empty_may_be_left_out(server: Server) -> None:
    bodies: tuple[Json, ...] = ([{}], [{"resource": {}, "scopeSpans": [{"scope": {}}]}])
    for spans in bodies:
        assert send(server, {"resourceSpans": spans}).body == b"{}"


@pytest.mark.parametrize(
    ("body", "media", "headers", "status"),
    [
        (b"{", JSON, {}, 400),
        (b"[1]", JSON, {}, 400),
        (b"[" * 100_000, JSON, {}, 400),
        (b"\xff", PROTOBUF, {}, 400),
        (b"{}", "text/plain", {}, 415),
        (b"{}", "application/octet-stream", {}, 415),
        (b"{}", JSON, {"Content-Encoding": "br"}, 415),
        (b"{}", JSON, {"Content-Encoding": "gzip"}, 400),
        (gzip.compress(b"{}", mtime=0)[:-4], JSON, {"Content-Encoding": "gzip"}, 400),
    ],
)
def test_a_body_that_is_no_export_is_refused(
    server: Server, body: bytes, media: str, headers: dict[str, str], status: int
) -> None:
    answer = send(server, body, media=media, **headers)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_other_verbs_and_paths_are_refused(server: Server) -> None:
    answer = ask(server, "GET", TRACES, server.token)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    for path in ("/v1/logs", "/v1", "/v1/traces/x"):
        assert ask(server, "POST", path, server.token).status == 404


def test_limits_hold_also_for_what_is_packed(place: Path) -> None:
    with serving(str(place), limits=Limits(body_bytes=1000)) as server:
        assert send(server, b" " * 1001).status == 413
        packed = gzip.compress(b" " * 100_000)
        assert len(packed) < 1000
        assert send(server, packed, **{"Content-Encoding": "gzip"}).status == 413


def test_a_token_must_be_allowed_to_write(server: Server, place: Path) -> None:
    assert send(server, CONVENTIONS, "wrong").status == 401
    assert send(server, CONVENTIONS, grant(place, "reader", "read")).status == 403
    assert dialogs(place) == {}
    assert send(server, CONVENTIONS, grant(place, "writer", "write")).status == 200


def test_a_token_writes_only_to_its_own_dialogs(server: Server, place: Path) -> None:
    team = grant(place, "team", "write", "a/", "b/")
    named = {name: turn(1, **{"gen_ai.conversation.id": name}) for name in ("x", "b/y", "c/z")}
    assert send(server, export(*named.values()), team).body == b"{}"
    assert send(server, export(*named.values()), team).body == b"{}"
    assert set(dialogs(place)) == {"a/x", "b/y", "a/c/z"}


def test_a_name_is_made_legal(server: Server, place: Path) -> None:
    for name in ("HEAD", "-x", "a\nb", "\u202e", "x" * 1000):
        assert send(server, export(turn(1, **{"gen_ai.conversation.id": name}))).status == 200
    assert len(dialogs(place)) == 5


def test_what_is_new_is_in_the_audit_log(server: Server, place: Path) -> None:
    token = grant(place, "collector", "write")
    for _ in range(2):
        send(server, export(turn(1)), token)
    with Tract.open(place) as t:
        entries = [(e.who, e.action, e.dialog) for e in t.store.audit.entries(limit=10)]
    assert entries == [("collector", "traces", TRACE)]


def test_exporters_may_send_at_the_same_time(server: Server, place: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: send(server, export(turn(n))), [*range(1, 13)] * 2)
    assert {answer.body for answer in answers} == {b"{}"}
    assert dialogs(place) == {TRACE: turns(12)}


def test_a_large_result_is_stored_in_full(server: Server, place: Path) -> None:
    send(server, export(span(1, FIRST, **IDS)))
    history = json.loads(json.dumps(SECOND["gen_ai.input.messages"]))
    large = "x" * 200_000
    for part in history[-1]["parts"]:
        part["response"] = large
    second = {**SECOND, "gen_ai.input.messages": json.dumps(history)}
    assert send(server, export(span(2, second, **IDS))).body == b"{}"
    with Tract.open(place, dialog="conv-1") as t:
        assert [t.get_content(info) for info in t.find_tool_results()] == [large, large]


def as_otlp(spans: list[ReadableSpan]) -> Json:
    """Spans as the JSON exporter sends them."""
    sent = []
    for one in spans:
        context = one.get_span_context()
        assert context is not None
        values = dict(one.attributes or {}).items()
        attributes = {key: list(v) if isinstance(v, tuple) else v for key, v in values}
        times = {"startTimeUnixNano": str(one.start_time), "endTimeUnixNano": str(one.end_time)}
        ids = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
        sent.append({**ids, **times, "name": one.name, "attributes": pairs(attributes)})
    return export(*sent)


def test_a_dialog_that_is_traced_arrives_elsewhere(server: Server, place: Path) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"a": 1}'}}
    replies: list[Any] = [{"role": "assistant", "tool_calls": [call]}, "Two files."]
    with Tract.open(dialog="traced", llm=ScriptedLLM(replies)) as t:
        trace(t, provider, content=True)
        t.system("Be brief.")
        t.chat("What is here?", tools=[{"name": "ls", "input_schema": {"type": "object"}}])
        t.tool_result("c1", "ls", {"files": ["a", "ä"]})
        t.generate()
        sent = [(m.role, m.text, m.tool_call_id) for m in t.compile().messages]
        tools = t.get_tools()
    for one in exporter.get_finished_spans():  # each in a request of its own
        assert send(server, as_otlp([one])).body == b"{}"
    with Tract.open(place, dialog="traced") as t:
        assert [(m.role, m.text, m.tool_call_id) for m in t.compile().messages] == sent
        assert t.get_tools() == tools
