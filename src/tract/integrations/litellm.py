"""Record what litellm sends and receives, and show its models less of large results.

    log = TractLogger("agent.db", results=500)
    litellm.callbacks = [log]
    litellm.completion(model=…, messages=log.prepare(messages, tools), tools=tools)

`acompletion` and the router have hooks before a request is sent and after an answer came, so they
need neither `prepare` nor `flush`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from threading import Condition
from typing import Any, NamedTuple

from tract.core.drafts import NO_DETAILS, Details
from tract.core.wording import GET_TOOL_RESULT
from tract.errors import InputError
from tract.extras import missing_package
from tract.integrations.failures import logged
from tract.integrations.mirror import Mirror, Shown, Source, opened
from tract.integrations.settings import Results, configure
from tract.model import Json
from tract.providers.frameworks.lists import LoadedList
from tract.providers.requests import Loaded, full_history, load

try:
    from litellm.integrations.custom_logger import (  # type: ignore[import-not-found,unused-ignore]
        CustomLogger,
    )
    from litellm.types.utils import (  # type: ignore[import-not-found,unused-ignore]
        ModelResponse,
    )
except ImportError as error:
    raise missing_package("tract.integrations.litellm", "litellm[mcp]") from error

OPENAI = "openai"
PATIENCE = 2.0
"""Seconds to wait for an answer that the caller has already: litellm reports it from a thread."""
MOST_PREPARED, MOST_UNDER_WAY = 32, 1000
"""So many requests are remembered: those that were prepared, and those that have no answer yet."""


class Entry(dict[str, Json]):
    """A message of a chat. What is known about an answer does not come back with it, so it is not
    compared."""

    details: Details = NO_DETAILS


Chat = list[Entry]


class Asked(NamedTuple):
    """A request as the caller made it."""

    chat: Chat
    tools: list[Any]


class Prepared(NamedTuple):
    """A request that was recorded, and what the model should see of its messages."""

    shown: Chat
    asked: Asked


class TractLogger(CustomLogger):  # type: ignore[misc,unused-ignore]
    """Records chat completions in a dialog, in full. With `results`, the arguments of
    `configure_results` or just its `inline_tokens`, models see large results as references; the
    caller's messages stay as they are. An error of the recorder is reported, and the request is
    sent as it is."""

    def __init__(self, source: Source, results: Results | None = None) -> None:
        super().__init__()
        self.tract = opened(source)
        configure(self.tract, results)
        self._is_reshaping = results is not None
        self._mirror = Mirror(self.tract, _load)
        self._prepared: deque[Prepared] = deque(maxlen=MOST_PREPARED)
        self._under_way: dict[str, Asked] = {}
        self._changed = Condition()

    def prepare(self, messages: Sequence[Any], tools: Sequence[Any] | None = None) -> list[Any]:
        """Record messages, and return what the model should see of them."""
        prepared = self._prepare(messages, tools)
        if prepared is None:
            return list(messages)
        self._prepared.append(prepared)
        return prepared.shown

    def _prepare(self, messages: Sequence[Any], tools: Sequence[Any] | None) -> Prepared | None:
        with logged(self.tract, "record a request of litellm, which is sent as it is"):
            asked = Asked([_plain(message) for message in messages], list(tools or ()))
            return Prepared(self._follow(asked), asked)
        return None

    def _follow(self, asked: Asked) -> Chat:
        self._await_answers(asked)
        with self.tract.session.lock:
            self._mirror.follow(asked.chat, asked.tools)
            if self._is_reshaping and _offers_fetching(asked.tools):
                return _reshaped(asked.chat, self._mirror.shown())
        return asked.chat

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until litellm has reported every answer, before the dialog is closed: it does so
        from threads. False if it has not: a call that was cancelled has no answer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._under_way, timeout)

    # What litellm calls

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        if getattr(call_type, "value", None) != "acompletion":
            return None
        prepare, tools = self._prepare, kwargs.get("tools")
        prepared = await asyncio.to_thread(prepare, kwargs["messages"], tools)
        if prepared is None:
            return None
        self._start(kwargs, prepared.asked)
        return {**kwargs, "messages": prepared.shown}

    def log_pre_api_call(self, model: str, messages: Any, kwargs: dict[str, Any]) -> None:
        if kwargs.get("call_type") != "completion":  # the others have the hook above
            return
        asked = self._asked(messages)
        if asked is None:  # it was not prepared
            tools = (kwargs.get("optional_params") or {}).get("tools")
            prepared = self._prepare(messages, tools)
            asked = prepared and prepared.asked
        if asked is not None:
            self._start(kwargs, asked)

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Record an answer before the caller has it; a stream is reported when it has ended."""
        if isinstance(response, ModelResponse):
            await asyncio.to_thread(self._end, request_data, response)

    def log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self._end(kwargs, response_obj)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        await asyncio.to_thread(self._end, kwargs, response_obj)

    def log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self._end(kwargs, None)

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self._end(kwargs, None)

    # Answers

    def _start(self, kwargs: dict[str, Any], asked: Asked) -> None:
        with self._changed:
            self._under_way[kwargs["litellm_call_id"]] = asked
            if len(self._under_way) > MOST_UNDER_WAY:  # calls that were cancelled have no end
                del self._under_way[next(iter(self._under_way))]

    def _asked(self, messages: Sequence[Any]) -> Asked | None:
        """What the caller asked for, of a request that was prepared."""
        chat = [_plain(message) for message in messages]
        return next((asked for shown, asked in reversed(self._prepared) if shown == chat), None)

    def _await_answers(self, asked: Asked) -> None:
        """Wait until the answers that a request contains were reported."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_waiting(asked.chat), PATIENCE)

    def _is_waiting(self, chat: Chat) -> bool:
        return any(_answers(chat, before.chat) for before in self._under_way.values())

    def _end(self, kwargs: dict[str, Any], response: Any) -> None:
        call_id = kwargs.get("litellm_call_id", "")
        asked = self._under_way.get(call_id)
        with logged(self.tract, "record an answer to litellm"):
            if asked is not None and response is not None:
                self._add(asked, response)
        with self._changed:
            self._under_way.pop(call_id, None)
            self._changed.notify_all()

    def _add(self, asked: Asked, response: Any) -> None:
        answer = _plain(response.choices[0].message)
        answer.details = _details(response)
        self._mirror.follow([*asked.chat, answer], asked.tools)


def _plain(message: Any) -> Entry:
    """A message as a dict: callers send back the objects that they receive."""
    fields = message if isinstance(message, dict) else message.model_dump()
    if not isinstance(fields, dict):
        raise InputError(f"not a message: {type(message).__name__}")
    return Entry((k, value) for k, value in fields.items() if value is not None or k == "content")


def _load(entries: Sequence[Entry], tools: Sequence[Any] | None) -> LoadedList:
    listed = {} if tools is None else {"tools": list(tools)}
    loaded = load({"messages": [dict(entry) for entry in entries], **listed}, OPENAI)
    return LoadedList(loaded, [entry.details for entry in entries])


def _details(response: Any) -> Details:
    """What litellm reports about an answer."""
    fields = response.model_dump(exclude_none=True)
    if not fields.get("usage", {}).get("total_tokens"):  # zeros: the provider did not report it
        fields.pop("usage", None)
    return full_history(Loaded([], None, {}, OPENAI), fields, None).details


def _answers(chat: Chat, before: Chat) -> bool:
    """Whether a request contains the answer to another one."""
    size = len(before)
    if len(chat) <= size or chat[size].get("role") != "assistant":
        return False
    return chat[:size] == before


# What the model sees


def _offers_fetching(tools: Sequence[Any]) -> bool:
    """Without the tool, a reference would be a dead end."""
    functions = [tool.get("function") or tool for tool in tools]
    return any(function.get("name") == GET_TOOL_RESULT for function in functions)


def _reshaped(chat: Chat, shown: Shown) -> Chat:
    if shown.is_rewritten:
        return list(map(Entry, shown.context.to_openai()))
    numbers: Counter[str] = Counter()
    messages: Chat = []
    for message in chat:
        if message.get("role") == "tool":
            call_id = str(message.get("tool_call_id"))
            result = shown.results.get((call_id, numbers[call_id]))
            numbers[call_id] += 1
            message = Entry(message, content=result.text) if result else message
        messages.append(message)
    return messages
