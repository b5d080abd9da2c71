"""OpenTelemetry: spans of what is done with a dialog, by the conventions for generative AI. They
have contents only if the caller wants that."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tract.aio import AsyncTract
from tract.context import CompiledContext
from tract.errors import TractError
from tract.extras import missing_extra
from tract.importers import conventions as names
from tract.llm import LLMClient, OnText
from tract.llm.response import parse
from tract.model import (
    Block,
    CommitInfo,
    CommitOperation,
    Json,
    Message,
    Raw,
    Text,
    ToolCall,
    readable,
    unpack_shape,
)
from tract.providers import PROVIDERS, Answer
from tract.providers.usage import usage_of
from tract.tract import Tract

try:
    from opentelemetry.trace import (
        INVALID_SPAN,
        Span,
        SpanKind,
        StatusCode,
        TracerProvider,
        get_tracer,
        use_span,
    )
except ImportError:
    raise missing_extra("OpenTelemetry", "otel") from None

_log = logging.getLogger("tract")

PROVIDER_NAMES = {"responses": "openai", "gemini": "gcp.gemini"}
"""What the conventions call providers that have another name here."""


def trace(
    tract: Tract | AsyncTract,
    tracer_provider: TracerProvider | None = None,
    *,
    content: bool = False,
) -> None:
    """Make spans of what is done with a dialog from here on: of what its model is asked, of tool
    results, reshapes and compressions. They have no contents, unless `content` is true. Without a
    provider, the global one is used. A second call replaces the first."""
    tract = tract.tract if isinstance(tract, AsyncTract) else tract
    tracer = get_tracer("tract", tracer_provider=tracer_provider)
    tract.session.observer = _Spans(tract, tracer, content)


def untrace(tract: Tract | AsyncTract) -> None:
    """Make no more spans."""
    tract = tract.tract if isinstance(tract, AsyncTract) else tract
    tract.session.observer = None


class _Spans:
    """The observer of one dialog. A processor, an exporter or a read that fails costs the span, and
    is logged once."""

    def __init__(self, tract: Tract, tracer: Any, content: bool) -> None:
        self._tract, self._tracer, self._content = tract, tracer, content
        self._answered: int | None = None
        """When the newest answer was committed: its calls have begun then."""
        self._has_failed = False

    def watched(self, client: LLMClient) -> LLMClient:
        return _WatchedClient(client, self)

    def committed(self, commits: Sequence[CommitInfo]) -> None:
        for commit in commits:
            with self._harmless():
                self._take(commit)

    def _take(self, commit: CommitInfo) -> None:
        match commit.operation, commit.role:
            case CommitOperation.APPEND, "assistant":
                self._answered = time.time_ns()
            case CommitOperation.APPEND, "tool":
                self._result(commit)
            case CommitOperation.COMPRESS, _:
                self._compression(commit)
            case CommitOperation.MARK, _ if any(mark.kind == "form" for mark in commit.marks):
                self._reshape(commit)

    # Commits

    def _result(self, commit: CommitInfo) -> None:
        name = commit.name or "tool"
        attributes = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: commit.name,
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: commit.tool_call_id,
            names.FORM: commit.form and str(commit.form),
            names.TOKENS: commit.token_count,
            names.BYTES: commit.byte_size,
            names.ERROR_TYPE: names.OTHER if commit.is_error else None,
        }
        if self._content:
            attributes[names.TOOL_RESULT] = readable(self._tract.get_content(commit))
        title = f"{names.EXECUTE_TOOL} {name}"
        self._write(title, commit, attributes, self._answered)

    def _reshape(self, commit: CommitInfo) -> None:
        marks = [mark for mark in commit.marks if mark.kind == "form"]
        forms = sorted({str(unpack_shape(mark.value).form) for mark in marks if mark.value})
        targets = [mark.target for mark in marks]
        self._write(names.RESHAPE, commit, {names.FORMS: forms, names.TARGETS: targets})

    def _compression(self, commit: CommitInfo) -> None:
        session, targets = self._tract.session, list(commit.replaces)
        replaced = session.store.infos(session.resolve_all(targets))
        summary = commit.metadata.get("summary")
        attributes = {
            names.TARGETS: targets,
            names.TOKENS_BEFORE: sum(info.token_count for info in replaced),
            names.TOKENS: commit.token_count,
            names.MADE_BY: summary.get("made_by") if isinstance(summary, dict) else None,
        }
        self._write(names.COMPRESS, commit, attributes)

    def _write(
        self,
        title: str,
        commit: CommitInfo,
        attributes: Mapping[str, Any],
        start: int | None = None,
    ) -> None:
        attributes = {**attributes, names.COMMIT: commit.commit_hash}
        span = self._start(title, SpanKind.INTERNAL, attributes, start)
        if commit.is_error:
            span.set_status(StatusCode.ERROR)
        span.end()

    def _start(
        self, title: str, kind: SpanKind, attributes: Mapping[str, Any], start: int | None = None
    ) -> Span:
        known = {names.CONVERSATION: self._tract.dialog, **attributes}
        known = {key: value for key, value in known.items() if value is not None}
        span: Span = self._tracer.start_span(title, kind=kind, attributes=known, start_time=start)
        return span

    # The model

    @contextmanager
    def asking(
        self, client: LLMClient, context: CompiledContext, settings: Mapping[str, Json]
    ) -> Iterator[Span]:
        """A span for one request. What the client raises passes through."""
        span: Span = INVALID_SPAN
        with self._harmless():
            title = f"{names.CHAT} {client.model}"
            span = self._start(title, SpanKind.CLIENT, _request(client, settings))
            if self._content and span.is_recording():
                span.set_attributes(_input(context))
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                yield span
        except BaseException as error:
            with self._harmless():
                span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
                span.set_status(StatusCode.ERROR)
            raise
        finally:
            with self._harmless():
                span.end()

    def answered(self, span: Span, response: Any) -> None:
        """Add what is known of the answer. One that cannot be parsed is for `chat` to report."""
        with self._harmless():
            try:
                answer = parse(response)
            except TractError:
                return
            span.set_attributes(_response(answer))
            if self._content and span.is_recording():
                reason = next(iter(_reasons(answer)), "stop")
                message = {**_message(answer.message), "finish_reason": reason}
                span.set_attribute(names.OUTPUT, _encode([message]))

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        try:
            yield
        except Exception:  # noqa: BLE001 - a processor or an exporter is somebody else's code
            if not self._has_failed:
                self._has_failed = True
                _log.exception("a span of dialog %r failed; the dialog is fine", self._tract.dialog)


class _WatchedClient:
    """A client that asks another one, inside of a span."""

    def __init__(self, client: LLMClient, spans: _Spans) -> None:
        self._client, self._spans = client, spans
        self.model, self.window = client.model, client.window

    def complete(
        self,
        context: CompiledContext,
        *,
        config: Mapping[str, Json] | None = None,
        on_text: OnText | None = None,
    ) -> Any:
        settings = {**(config or {}), "stream": on_text is not None}
        with self._spans.asking(self._client, context, settings) as span:
            response = self._client.complete(context, config=config, on_text=on_text)
            self._spans.answered(span, response)
        return response


# Attributes


def _request(client: LLMClient, settings: Mapping[str, Json]) -> dict[str, Any]:
    provider = str(getattr(client, "provider", names.OTHER))
    values = {
        names.SETTINGS[key]: value for key, value in settings.items() if key in names.SETTINGS
    }
    return {
        names.OPERATION: names.CHAT,
        names.PROVIDER: PROVIDER_NAMES.get(provider, provider),
        names.REQUEST_MODEL: client.model,
        names.REQUEST_STREAM: True if settings.get("stream") else None,
        **{name: [value] if _is_one_stop(name, value) else value for name, value in values.items()},
    }


def _is_one_stop(name: str, value: Json) -> bool:
    return name == names.SETTINGS["stop"] and isinstance(value, str)


def _response(answer: Answer) -> dict[str, Any]:
    rest, usage = answer.rest or {}, usage_of(answer.usage or {})
    counts = {
        names.INPUT_TOKENS: usage.sent,
        names.OUTPUT_TOKENS: usage.answered,
        names.CACHE_READ_TOKENS: usage.cached,
        names.CACHE_WRITTEN_TOKENS: usage.written,
        names.REASONING_TOKENS: usage.thought,
    }
    texts = {names.RESPONSE_ID: rest.get("id"), names.RESPONSE_MODEL: rest.get("model")}
    return {
        **{name: text for name, text in texts.items() if isinstance(text, str)},
        **{name: count for name, count in counts.items() if count},
        names.FINISH_REASONS: _reasons(answer),
    }


def _reasons(answer: Answer) -> list[str]:
    """Why the answer has ended, as its provider spells it."""
    rest = answer.rest or {}
    reasons = (rest.get(known.stop_key) for known in PROVIDERS.values())
    return [reason for reason in reasons if isinstance(reason, str)]


def _input(context: CompiledContext) -> dict[str, str]:
    """The messages of a request. Instructions stand apart, as long as they come first."""
    messages = list(context.messages)
    count = next((n for n, m in enumerate(messages) if m.role != "system"), len(messages))
    system = [part for message in messages[:count] for part in _message(message)["parts"]]
    lists = {
        names.SYSTEM_INSTRUCTIONS: system,
        names.INPUT: [_message(message) for message in messages[count:]],
        names.TOOL_DEFINITIONS: context.tools,
    }
    return {name: _encode(value) for name, value in lists.items() if value}


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        result = {"type": "tool_call_response", "id": message.tool_call_id}
        return {"role": "tool", "parts": [{**result, "response": message.content}]}
    return {"role": message.role, "parts": [_part(block) for block in message.blocks]}


def _part(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "content": text}
        case ToolCall(call_id, name, arguments):
            return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
        case Raw(_, data):
            return (
                data if isinstance(data, dict) and "type" in data else {"type": "raw", "raw": data}
            )


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
