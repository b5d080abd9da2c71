"""pydantic-ai: a capability that records an agent's runs and shortens what its model sees.

    agent = Agent(model, capabilities=[TractCapability("agent.db", results=500)])

The messages of pydantic-ai itself stay as they are, with results in full.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from threading import RLock
from typing import Any, TypeVar

from tract.core.fetching import async_fetch_tool, in_thread
from tract.core.wording import GET_TOOL_RESULT
from tract.extras import missing_extra
from tract.integrations.failures import logged
from tract.integrations.mirror import Source, opened
from tract.integrations.pydantic_messages import (
    Recorder,
    load_messages,
    model_messages,
    record_messages,
)
from tract.integrations.settings import Auto, Results, configure
from tract.model import Json, Message
from tract.tract import Tract

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import ToolFailedError, ToolRetryError
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ToolCallPart,
        ToolReturn,
        ToolReturnPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import FunctionToolset
except ImportError:
    raise missing_extra("pydantic-ai", "pydantic-ai") from None

__all__ = ["TractCapability", "load_messages", "record_messages", "tract_history"]

Value = TypeVar("Value")


class Recording(Recorder):
    """One dialog beside the messages of runs. If it fails, the agent goes on without it."""

    def __init__(self, tract: Tract, lock: RLock) -> None:
        """Runs at the same time on one dialog have one lock."""
        super().__init__(tract)
        self.lock = lock
        self.is_busy = False

    def attempt(self, work: Callable[..., Value], *args: Any) -> Value | None:
        """Do it, or report why not."""
        with (
            logged(self.tract, "record an agent of pydantic-ai, which goes on without it"),
            self.lock,
        ):
            return work(*args)
        return None

    def reshape(
        self,
        messages: Sequence[ModelMessage],
        request: Sequence[ModelMessage],
        tools: list[Json] | None = None,
    ) -> list[ModelMessage]:
        """Record the messages of a run, and return what its model should see of a request."""
        self.follow(messages, tools)
        shown = self.mirror.shown()
        if shown.is_rewritten:
            instructions = {m.instructions for m in messages if isinstance(m, ModelRequest)}
            own = [
                message
                for message in shown.context.messages
                if message.role != "system" or message.text not in instructions
            ]
            made = model_messages(own, self.items.answers)
            if made and isinstance(made[-1], ModelRequest):
                return made
        return list(_with_results(request, shown.results))


class TractCapability(AbstractCapability[Any]):
    """Records messages, tools and results of an agent in tract, each result when its tool has
    returned; shows long results as references, and brings the tool `get_tool_result`.

    `source` is a dialog, or the path of a database: then each conversation of pydantic-ai is a
    dialog, which has its `conversation_id` as its name. `results` are arguments of
    `Tract.configure_results`, or the tokens up to which a result is shown in full; `auto` are those
    of `Tract.configure_tool_summarization`, or the tokens above which a result is summarized.
    """

    def __init__(
        self, source: Source, *, results: Results | None = None, auto: Auto | None = None
    ) -> None:
        self.tract = opened(source)
        """The dialog; of a database the one named `default`, which shares the connection."""
        self._is_database = not isinstance(source, Tract)
        self._results, self._auto = results, auto
        self.recording = Recording(self.tract, RLock())
        """Where a run is recorded."""
        self._messages: list[ModelMessage] = []
        """The messages of the run, a list that grows."""
        self._is_cut = False
        if self._is_database:
            with Tract.open() as scratch:  # a wrong argument is an error here, not in a run
                configure(scratch, self._results, self._auto)
        else:
            configure(self.tract, self._results, self._auto)

    def _open(self, dialog: str) -> Recording:
        tract = self.tract.sibling(dialog)
        configure(tract, self._results, self._auto)
        return Recording(tract, RLock())

    # What pydantic-ai calls

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None

    def get_ordering(self) -> CapabilityOrdering:
        """Outside of all others, so that it sees what they make of a result."""
        return CapabilityOrdering(position="outermost")

    def get_toolset(self) -> FunctionToolset[Any]:
        fetch = async_fetch_tool(in_thread(self.recording.tract.get_tool_result))
        return FunctionToolset([fetch])

    async def for_run(self, ctx: RunContext[Any]) -> TractCapability:
        run = copy(self)
        if self._is_database and ctx.conversation_id:
            recording = await self._do(self._open, ctx.conversation_id)
            run.recording = recording or self.recording
        return run

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Any) -> Any:
        if self.recording.is_busy:  # with another run, which has other messages
            self.recording = Recording(self.recording.tract, self.recording.lock)
        self.recording.is_busy = True
        try:
            return await handler()
        finally:
            await self._do(self.recording.finish, [*self._messages, *self._cut_off(ctx)])
            self.recording.is_busy = False

    def _cut_off(self, ctx: RunContext[Any]) -> list[ModelMessage]:
        """What pydantic-ai adds to the messages of a run that was cancelled in a tool, after all
        hooks: without it, they cannot be continued."""
        messages = self._messages
        if not self._is_cut or not messages or isinstance(messages[-1], ModelRequest):
            return []
        return [
            ModelRequest(
                [],
                timestamp=datetime.now(UTC),
                run_id=ctx.run_id,
                conversation_id=ctx.conversation_id,
                state="interrupted",
            )
        ]

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self._messages = ctx.messages
        parameters = request_context.model_request_parameters
        tools = _definitions([*parameters.function_tools, *parameters.output_tools])
        request = request_context.messages
        shown = await self._do(self.recording.reshape, list(ctx.messages), request, tools)
        if shown is not None:
            request_context.messages = shown
        return request_context

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Any,
    ) -> Any:
        self._messages = ctx.messages
        await self._do(self.recording.follow, list(ctx.messages))
        try:
            result = await handler(args)
        except asyncio.CancelledError:
            self._is_cut = True
            raise
        except ToolRetryError as error:
            if isinstance(error.tool_retry, ToolReturnPart):
                await self._keep(ctx, error.tool_retry)
            raise
        except ToolFailedError as error:
            await self._keep(ctx, error.tool_failed)
            raise
        value = result.return_value if isinstance(result, ToolReturn) else result
        await self._keep(ctx, ToolReturnPart(call.tool_name, value, call.tool_call_id))
        return result

    async def _keep(self, ctx: RunContext[Any], part: ToolReturnPart) -> None:
        await self._do(self.recording.add_result, list(ctx.messages), part)

    async def _do(self, work: Callable[..., Value], *args: Any) -> Value | None:
        """In a thread, which finishes even if the run is cancelled."""
        return await asyncio.to_thread(self.recording.attempt, work, *args)


def tract_history(tract: Tract) -> Callable[[list[ModelMessage]], list[ModelMessage]]:
    """A processor for `ProcessHistory`: records what a model is sent, and shows long results as
    references. pydantic-ai keeps what a processor returns, so its messages have the references,
    and only the dialog has the results. The agent needs the tool `tract.as_tool()`."""
    recording = Recording(tract, RLock())
    full: dict[int, tuple[Any, Any]] = {}

    def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        whole = [_with_parts(m, lambda part: full.get(id(part), (0, part))[1]) for m in messages]
        shown = recording.attempt(recording.reshape, whole, whole)
        if shown is None:
            return messages
        for old, new in zip(_results(whole), _results(shown), strict=False):
            if old.tool_call_id == new.tool_call_id:
                full[id(new)] = new, old
        return shown

    return process


def _results(messages: Sequence[ModelMessage]) -> Iterator[ToolReturnPart]:
    for message in messages:
        yield from (part for part in message.parts if isinstance(part, ToolReturnPart))


def _definitions(tools: Sequence[ToolDefinition]) -> list[Json]:
    """Tools as tract stores them. It offers `get_tool_result` itself."""
    return [
        {
            "name": tool.name,
            "description": tool.description or "",
            "input_schema": tool.parameters_json_schema,
        }
        for tool in tools
        if tool.name != GET_TOOL_RESULT
    ]


def _with_results(
    messages: Sequence[ModelMessage], shown: Mapping[tuple[str, int], Message]
) -> Iterator[ModelMessage]:
    """Messages with other results. Those that do not change are the same objects."""
    numbers: Counter[str] = Counter()

    def reshape(part: Any) -> Any:
        if part.part_kind != "tool-return":
            return part
        number = numbers[part.tool_call_id]
        numbers[part.tool_call_id] = number + 1
        message = shown.get((part.tool_call_id, number))
        return part if message is None else _referring(part, message.text)

    for message in messages:
        yield _with_parts(message, reshape)


def _referring(part: ToolReturnPart, text: str) -> ToolReturnPart:
    return ToolReturnPart(
        part.tool_name,
        text,
        part.tool_call_id,
        metadata=part.metadata,
        timestamp=part.timestamp,
        outcome=part.outcome,
    )


def _with_parts(message: ModelMessage, change: Callable[[Any], Any]) -> ModelMessage:
    if not isinstance(message, ModelRequest):
        return message
    parts = [change(part) for part in message.parts]
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return message
    changed = copy(message)
    changed.parts = parts
    return changed
