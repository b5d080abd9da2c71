"""Record what litellm sends and receives, and show its models less of large results.

    log = TractLogger(t, results={"inline_tokens": 500})
    litellm.callbacks = [log]
    litellm.completion(model=…, messages=log.prepare(messages, tools), tools=tools)

`acompletion` and the router have a hook that changes a request, so they need no `prepare`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Sequence
from functools import partial
from threading import Condition
from typing import Any

from tract.core.wording import GET_TOOL_RESULT
from tract.errors import InputError, TractError
from tract.extras import missing_package
from tract.integrations.mirror import Item, Mirror, Shown, Source, items_of, load_items, opened
from tract.integrations.settings import Results, configure
from tract.model import Json
from tract.providers.requests import Loaded, full_history, load

try:
    from litellm.integrations.custom_logger import (  # type: ignore[import-not-found,unused-ignore]
        CustomLogger,
    )
except ImportError as error:
    raise missing_package("tract.integrations.litellm", "litellm[mcp]") from error

OPENAI = "openai"
PATIENCE = 2.0
"""Seconds to wait for an answer that the caller has already: litellm reports it from a thread."""
MOST_PREPARED, MOST_UNDER_WAY = 32, 1000
"""So many requests are remembered: those that were prepared, and those that have no answer yet."""
_log = logging.getLogger("tract")

Chat = list[dict[str, Json]]


class TractLogger(CustomLogger):  # type: ignore[misc,unused-ignore]
    """Records chat completions in a dialog, in full. With `results`, the arguments of
    `configure_results` or just its `inline_tokens`, models see large results as references; the
    caller's messages stay as they are. An error of the recorder is logged, and the request is sent
    as it is."""

    def __init__(self, tract: Source, results: Results | None = None) -> None:
        super().__init__()
        t = opened(tract)
        configure(t, results)
        self._is_reshaping = results is not None
        self._mirror = Mirror(t, partial(load_items, provider=OPENAI))
        self._prepared: deque[tuple[list[Any], Loaded]] = deque(maxlen=MOST_PREPARED)
        self._under_way: dict[str, Loaded] = {}
        self._changed = Condition()

    def prepare(self, messages: Sequence[Any], tools: Sequence[Any] | None = None) -> list[Any]:
        """Record messages, and return what the model should see of them."""
        try:
            chat = [_plain(message) for message in messages]
            loaded = _load(chat, tools)
            self._await_answers(loaded)
            with self._mirror.tract.session.lock:
                self._mirror.follow(items_of(loaded), loaded.tools or [])
                if self._is_reshaping and _offers_fetching(loaded):
                    chat = _reshaped(chat, self._mirror.shown())
        except TractError as error:
            _log.warning("a request of litellm was not recorded: %s", error)
            return list(messages)
        self._prepared.append((chat, loaded))
        return chat

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until litellm has reported every answer. False if it has not: a call that was
        cancelled has no answer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._under_way, timeout)

    # What litellm calls

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        if getattr(call_type, "value", None) != "acompletion":
            return None
        shown = await asyncio.to_thread(self.prepare, kwargs["messages"], kwargs.get("tools"))
        self._start(kwargs, shown)
        return {**kwargs, "messages": shown}

    def log_pre_api_call(self, model: str, messages: Any, kwargs: dict[str, Any]) -> None:
        if kwargs.get("call_type") != "completion":  # the others have the hook above
            return
        if self._loaded(messages) is None:  # it was not prepared
            messages = self.prepare(messages, (kwargs.get("optional_params") or {}).get("tools"))
        self._start(kwargs, messages)

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

    def _start(self, kwargs: dict[str, Any], shown: Sequence[Any]) -> None:
        loaded = self._loaded(shown)
        if loaded is None:  # it could not be recorded
            return
        with self._changed:
            self._under_way[kwargs["litellm_call_id"]] = loaded
            if len(self._under_way) > MOST_UNDER_WAY:  # calls that were cancelled have no end
                del self._under_way[next(iter(self._under_way))]

    def _loaded(self, messages: Sequence[Any]) -> Loaded | None:
        chat = [_plain(message) for message in messages]
        return next((loaded for shown, loaded in reversed(self._prepared) if shown == chat), None)

    def _await_answers(self, loaded: Loaded) -> None:
        """Wait until the answers that a request contains were reported."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_waiting(loaded), PATIENCE)

    def _is_waiting(self, loaded: Loaded) -> bool:
        return any(_answers(loaded, before) for before in self._under_way.values())

    def _end(self, kwargs: dict[str, Any], response: Any) -> None:
        call_id = kwargs.get("litellm_call_id", "")
        loaded = self._under_way.get(call_id)
        try:
            if loaded is not None and response is not None:
                self._add(loaded, response)
        except TractError as error:
            _log.warning("an answer to litellm was not recorded: %s", error)
        with self._changed:
            self._under_way.pop(call_id, None)
            self._changed.notify_all()

    def _add(self, loaded: Loaded, response: Any) -> None:
        fields = response.model_dump(exclude_none=True)
        if not fields.get("usage", {}).get("total_tokens"):  # zeros: the provider did not report it
            fields.pop("usage", None)
        history = full_history(loaded, fields, None)
        [answer] = _load([_plain(response.choices[0].message)], None).messages
        items = [*items_of(loaded), Item(answer, history.details)]
        self._mirror.follow(items, loaded.tools or [])


def _plain(message: Any) -> dict[str, Json]:
    """A message as a dict: callers send back the objects that they receive."""
    fields = message if isinstance(message, dict) else message.model_dump()
    if not isinstance(fields, dict):
        raise InputError(f"not a message: {type(message).__name__}")
    return {key: value for key, value in fields.items() if value is not None or key == "content"}


def _load(chat: Chat, tools: Sequence[Any] | None) -> Loaded:
    fields = {"messages": chat, **({} if tools is None else {"tools": list(tools)})}
    return load(fields, OPENAI)


def _answers(loaded: Loaded, before: Loaded) -> bool:
    """Whether a request contains the answer to another one."""
    size = len(before.messages)
    if len(loaded.messages) <= size or loaded.messages[size].role != "assistant":
        return False
    return loaded.messages[:size] == before.messages


# What the model sees


def _offers_fetching(loaded: Loaded) -> bool:
    """Without the tool, a reference would be a dead end."""
    functions = [tool.get("function") or tool for tool in loaded.tools or []]
    return any(function.get("name") == GET_TOOL_RESULT for function in functions)


def _reshaped(chat: Chat, shown: Shown) -> Chat:
    if shown.is_rewritten:
        return shown.context.to_openai()
    numbers: Counter[str] = Counter()
    messages: Chat = []
    for message in chat:
        if message.get("role") == "tool":
            call_id = str(message.get("tool_call_id"))
            result = shown.results.get((call_id, numbers[call_id]))
            numbers[call_id] += 1
            message = {**message, "content": result.text} if result else message
        messages.append(message)
    return messages
