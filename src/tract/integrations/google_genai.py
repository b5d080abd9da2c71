"""Record a client of google-genai: what it sends, what comes back, and the results of its tools.

    client = record_genai(genai.Client(), t, results={"inline_tokens": 500})

Every way to ask a model passes the four functions that are hooked here: one answer or a stream,
awaited or not, of a chat, of a loop that calls functions, or of a single question.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial, wraps
from typing import Any, NamedTuple

from tract.core.wording import GET_TOOL_RESULT
from tract.errors import InputError
from tract.extras import missing_extra
from tract.integrations.failures import logged
from tract.integrations.mirror import Item, Mirror, Shown, Source, items_of, load_items, opened
from tract.integrations.settings import Results, configure
from tract.model import Json, Message
from tract.providers.assemblers import ContentAssembler, join_pieces
from tract.providers.common import without
from tract.providers.registry import PROVIDERS
from tract.providers.requests import Loaded, full_history, load

try:
    from google.genai import Client, types
except ImportError as error:
    raise missing_extra("google-genai", "google-genai") from error

GEMINI = PROVIDERS["gemini"]
SYSTEM, RESULT = "systemInstruction", "functionResponse"

Body = dict[str, Json]


def record_genai(client: Client, tract: Source, *, results: Results | None = None) -> Client:
    """Record every request of a client and every answer to it, in full. Returns the same client.

    With `results`, the arguments of `configure_results` or just its `inline_tokens`, the model
    sees large results as references. The client still has them in full, and the model fetches what
    it needs with `t.as_tool()`, which has to be among the tools.
    """
    t = opened(tract)
    configure(t, results)
    recorder = _Recorder(
        Mirror(t, partial(load_items, provider=GEMINI.name)), is_reshaping=results is not None
    )
    sender: Any = client._api_client  # noqa: SLF001  it has no public name
    sender.request = recorder.wrap(sender.request)
    sender.request_streamed = recorder.wrap_stream(sender.request_streamed)
    sender.async_request = recorder.wrap_async(sender.async_request)
    sender.async_request_streamed = recorder.wrap_async_stream(sender.async_request_streamed)
    return client


class _Asked(NamedTuple):
    """A request that is under way."""

    body: Body
    """What is sent."""
    loaded: Loaded | None
    """What was recorded; None if it could not be."""


class _Recorder:
    """Records what one client sends and receives. An error of the recorder is reported, and
    the request is sent as it is."""

    def __init__(self, mirror: Mirror, *, is_reshaping: bool) -> None:
        self._mirror = mirror
        self._reader = _Reader()
        self._is_reshaping = is_reshaping

    def wrap(self, send: Any) -> Any:
        @wraps(send)
        def request(
            http_method: str, path: str, request_dict: Body, http_options: Any = None
        ) -> Any:
            if not _asks(path):
                return send(http_method, path, request_dict, http_options)
            asked = self._ask(request_dict)
            response = send(http_method, path, asked.body, http_options)
            self._take(asked.loaded, [response])
            return response

        return request

    def wrap_async(self, send: Any) -> Any:
        @wraps(send)
        async def request(
            http_method: str, path: str, request_dict: Body, http_options: Any = None
        ) -> Any:
            if not _asks(path):
                return await send(http_method, path, request_dict, http_options)
            asked = await asyncio.to_thread(self._ask, request_dict)
            response = await send(http_method, path, asked.body, http_options)
            await asyncio.to_thread(self._take, asked.loaded, [response])
            return response

        return request

    def wrap_stream(self, send: Any) -> Any:
        @wraps(send)
        def request(
            http_method: str, path: str, request_dict: Body, http_options: Any = None
        ) -> Iterator[Any]:
            if not _asks(path):
                yield from send(http_method, path, request_dict, http_options)
                return
            asked = self._ask(request_dict)
            events: list[Any] = []
            try:
                for event in send(http_method, path, asked.body, http_options):
                    events.append(event)
                    yield event
            finally:
                self._take(asked.loaded, events)

        return request

    def wrap_async_stream(self, send: Any) -> Any:
        @wraps(send)
        async def request(
            http_method: str, path: str, request_dict: Body, http_options: Any = None
        ) -> Any:
            if not _asks(path):
                return await send(http_method, path, request_dict, http_options)
            asked = await asyncio.to_thread(self._ask, request_dict)
            return self._passed_on(await send(http_method, path, asked.body, http_options), asked)

        return request

    async def _passed_on(self, stream: AsyncIterator[Any], asked: _Asked) -> AsyncIterator[Any]:
        events: list[Any] = []
        try:
            async for event in stream:
                events.append(event)
                yield event
        finally:  # without awaiting, which a generator that is being closed may not do
            self._take(asked.loaded, events)

    def _ask(self, body: Body) -> _Asked:
        """Record a request, and make of it what is sent."""
        t = self._mirror.tract
        with logged(t, "record a request of google-genai, which is sent as it is"):
            loaded = self._reader.read(body)
            with t.session.lock:
                self._mirror.follow(items_of(loaded), loaded.tools or [])
                if self._is_reshaping and _offers_fetching(loaded):
                    body = _reshaped(body, loaded, self._mirror.shown())
            return _Asked(body, loaded)
        return _Asked(body, None)

    def _take(self, loaded: Loaded | None, events: Sequence[Any]) -> None:
        """Record the answer to a request. One that was cut is not in the client's history either,
        so it is left out."""
        assembler = ContentAssembler()
        with logged(self._mirror.tract, "record an answer to google-genai"):
            for event in events:
                assembler.feed(_parsed(event.body))
            if loaded is not None and assembler.is_complete:
                self._add(loaded, join_pieces(assembler.response()))

    def _add(self, loaded: Loaded, response: Body) -> None:
        first = response["candidates"][0]
        first["content"] = _as_sent(first["content"])
        history = full_history(loaded, response, None)
        answer = Item(history.messages[-1], history.details)
        with self._mirror.tract.session.lock:
            self._mirror.follow([*items_of(loaded), answer], loaded.tools or [])


def _asks(path: str) -> bool:
    return path.partition("?")[0].endswith((":generateContent", ":streamGenerateContent"))


def _parsed(body: str | None) -> Body:
    try:
        event = json.loads(body or "{}")
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from None
    return event if isinstance(event, dict) else {}


# Requests


class _Known(NamedTuple):
    """The beginning of a request, up to the last answer in it."""

    contents: list[Json]
    system: Json
    messages: list[Message]


class _Reader:
    """Reads requests. The beginning that a request shares with the last one is not read again."""

    def __init__(self) -> None:
        self._known = _Known([], None, [])

    def read(self, body: Body) -> Loaded:
        """A request without the keys of the client itself."""
        fields = {key: value for key, value in body.items() if not key.startswith("_")}
        contents, system = _joined(fields["contents"]), fields.get(SYSTEM)
        known = self._known
        size = len(known.contents)
        if contents[:size] == known.contents and system == known.system:
            loaded = load({**without(fields, SYSTEM), "contents": contents[size:]}, GEMINI.name)
            loaded = loaded._replace(messages=[*known.messages, *loaded.messages])
        else:
            loaded = load({**fields, "contents": contents}, GEMINI.name)
        self._known = _beginning(contents, system, loaded.messages)
        return loaded


def _beginning(contents: list[Json], system: Json, messages: list[Message]) -> _Known:
    """A result is read with the call before it, so the last answer is read again."""
    answers = [at for at, content in enumerate(contents) if _is_model(content)]
    spoken = [at for at, message in enumerate(messages) if message.role == "assistant"]
    if not answers:
        return _Known([], None, [])
    return _Known(contents[: answers[-1]], system, messages[: spoken[-1]])


def _joined(contents: list[Json]) -> list[Json]:
    """The contents with each answer as one. The client keeps every event of a stream as a content
    of its own, but a call has to be in the first content after the user's."""
    joined: list[Json] = []
    for content in contents:
        if _is_model(content) and joined and _is_model(joined[-1]):
            joined[-1] = _one(joined[-1], content)
        else:
            joined.append(content)
    return joined


def _is_model(content: Json) -> bool:
    return isinstance(content, dict) and content.get("role") == "model"


def _one(*contents: Json) -> Json:
    assembler = ContentAssembler()
    for content in contents:
        assembler.feed({"candidates": [{"content": content}]})
    return join_pieces(assembler.response()["candidates"][0]["content"])


def _as_sent(content: Json) -> Json:
    """An answer as the client sends it back: it writes signatures in another alphabet."""
    try:
        known = types.Content.model_validate_json(json.dumps(content))
    except ValueError:  # a field that this version does not know
        return content
    return known.model_dump(mode="json", by_alias=True, exclude_none=True)


# What the model sees


def _offers_fetching(loaded: Loaded) -> bool:
    """Without the tool, a reference would be a dead end."""
    declared = [one for tool in loaded.tools or [] for one in GEMINI.declarations(tool)]
    return any(one.get("name") == GET_TOOL_RESULT for one in declared)


def _reshaped(body: Body, loaded: Loaded, shown: Shown) -> Body:
    if shown.is_rewritten:
        return {**without(body, SYSTEM), **shown.context.to_gemini()}
    results = _shown_results(loaded, shown)
    contents = [_with_results(content, results) for content in _joined(body["contents"])]
    return {**body, "contents": contents}


def _shown_results(loaded: Loaded, shown: Shown) -> Iterator[Message | None]:
    """For each result of a request what the model should see of it; None if that is all."""
    numbers: Counter[str] = Counter()
    for message in loaded.messages:
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            yield shown.results.get((call_id, numbers[call_id]))
            numbers[call_id] += 1


def _with_results(content: Json, results: Iterator[Message | None]) -> Json:
    if not any(RESULT in part for part in content.get("parts") or []):
        return content
    parts = [
        _with_result(part, next(results)) if RESULT in part else part for part in content["parts"]
    ]
    return {**content, "parts": parts}


def _with_result(part: Body, result: Message | None) -> Body:
    if result is None:
        return part
    response = {"error" if result.is_error else "result": result.text}
    return {**part, RESULT: {**part[RESULT], "response": response}}
