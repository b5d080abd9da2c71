"""The OpenAI Agents SDK on a dialog: a session, what the model is sent, and hooks that record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from inspect import isawaitable
from typing import Any, TypedDict, TypeVar, overload

from tract.core import fetching
from tract.core.drafts import Details
from tract.core.wording import GET_TOOL_RESULT_SCHEMA
from tract.extras import missing_extra
from tract.integrations.failures import logged
from tract.integrations.mirror import Source, opened
from tract.integrations.openai_ledger import Item, Ledger, Request, ledger_of
from tract.integrations.settings import Results, configure
from tract.model import Json
from tract.tract import Tract

try:
    from agents import (
        Agent,
        FunctionTool,
        Handoff,
        ItemHelpers,
        ModelResponse,
        RunConfig,
        RunContextWrapper,
        RunHooks,
        SessionABC,
        SessionSettings,
        Tool,
        function_tool,
        handoff,
    )
    from agents.run import CallModelData, CallModelInputFilter, ModelInputData
    from agents.tool_context import ToolContext
except ImportError as missing:
    raise missing_extra("the OpenAI Agents SDK", "openai-agents") from missing

Result = TypeVar("Result")


class TractSession(SessionABC):
    """A session of the SDK in a dialog. Its items are stored unchanged, and nothing is deleted:
    `pop_item` and `clear_session` go on in a new branch, and the old one has the rest."""

    def __init__(
        self,
        source: Source,
        session_id: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        """`source` is a dialog or a database, in which `session_id` names the dialog."""
        if isinstance(source, Tract):
            is_other = session_id not in (None, source.dialog)
            self.tract = source.sibling(str(session_id)) if is_other else source
        else:
            self.tract = opened(source, session_id or "default")
        self.session_id = self.tract.dialog
        self.session_settings = session_settings or SessionSettings()
        self._ledger = ledger_of(self.tract)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await asyncio.to_thread(self._ledger.read, limit)

    async def add_items(self, items: list[Item]) -> None:
        await asyncio.to_thread(self._ledger.save, items)

    async def pop_item(self) -> Item | None:
        return await asyncio.to_thread(self._ledger.pop)

    async def clear_session(self) -> None:
        await asyncio.to_thread(self._ledger.clear)


class TractHooks(RunHooks[Any]):
    """Records a run as it goes on: requests with instructions and tools, answers with their usage,
    results as soon as they exist, and which agent has the conversation."""

    def __init__(self, t: Tract, *, model: Any = None) -> None:
        """`model` is the one of the run, if that is not the agent's."""
        self._ledger, self._model = ledger_of(t), model

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        self._ledger.agent = agent

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        self._ledger.agent = to_agent

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[Item],
    ) -> None:
        ledger = self._ledger
        if not ledger.is_filtered:
            request = await _request(ledger, agent, input_items, system_prompt, context)
            await _attempt(ledger, ledger.send, request)
        ledger.is_filtered = False

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        details = _details(response, agent, self._model)
        await _attempt(self._ledger, self._ledger.record, response.to_input_items(), details)

    async def on_tool_end(
        self, context: RunContextWrapper[Any], agent: Any, tool: Tool, result: object
    ) -> None:
        call = context.tool_call if isinstance(context, ToolContext) else None
        # The SDK writes what has a schema in its own way; that is recorded with the next request.
        if call is None or not isinstance(tool, FunctionTool) or tool.output_json_schema:
            return
        item = ItemHelpers.tool_call_output_item(call, result)
        await _attempt(self._ledger, self._ledger.record, [item])


def tract_input_filter(t: Tract, *, on_server: bool = False) -> CallModelInputFilter:
    """For `RunConfig(call_model_input_filter=…)`: records what is sent, and puts results into it in
    their forms. With `on_server`, the provider keeps the history (`previous_response_id` or
    `conversation_id`), and the SDK sends only what is new."""
    ledger = ledger_of(t)

    async def record_and_reshape(data: CallModelData[Any]) -> ModelInputData:
        sent, agent = data.model_data, data.agent
        is_own = ledger.agent is None or ledger.agent is agent
        own = ledger if is_own else ledger.child(agent)
        wrapper = RunContextWrapper(context=data.context)
        request = await _request(own, agent, sent.input, sent.instructions, wrapper)
        items = await _attempt(own, _send, own, request, on_server and is_own)
        own.is_filtered = True
        return sent if items is None else ModelInputData(items, sent.instructions)

    return record_and_reshape


def fetch_tool(t: Tract) -> FunctionTool:
    """The tool `get_tool_result` for an agent."""
    read = fetching.async_fetch_tool(fetching.in_thread(t.get_tool_result))
    about = GET_TOOL_RESULT_SCHEMA["description"]
    tool = function_tool(read, description_override=about, strict_mode=False)
    tool.params_json_schema = deepcopy(GET_TOOL_RESULT_SCHEMA["input_schema"])
    return tool


class RunOptions(TypedDict):
    """Options of `Runner.run`, `run_sync` and `run_streamed`."""

    hooks: TractHooks
    run_config: RunConfig


class SessionOptions(RunOptions):
    """The same, with the session that the run continues."""

    session: TractSession


@overload
def run_options(
    source: Tract,
    run_config: RunConfig | None = None,
    *,
    results: Results | None = None,
    on_server: bool = False,
) -> RunOptions: ...


@overload
def run_options(
    source: TractSession,
    run_config: RunConfig | None = None,
    *,
    results: Results | None = None,
    on_server: bool = False,
) -> SessionOptions: ...


def run_options(
    source: Tract | TractSession,
    run_config: RunConfig | None = None,
    *,
    results: Results | None = None,
    on_server: bool = False,
) -> RunOptions | SessionOptions:
    """The options with which a run is recorded and reshaped: `Runner.run(agent, question,
    **run_options(t))`. With a session instead of a dialog, the run continues it. A filter that the
    configuration has comes first. `results` are the arguments of `Tract.configure_results`, or just
    its `inline_tokens`."""
    t = source if isinstance(source, Tract) else source.tract
    configure(t, results)
    config = run_config or RunConfig()
    own = tract_input_filter(t, on_server=on_server)
    first = config.call_model_input_filter
    both = own if first is None else _chained(first, own)
    options = RunOptions(
        hooks=TractHooks(t, model=config.model),
        run_config=replace(config, call_model_input_filter=both),
    )
    if isinstance(source, Tract):
        return options
    return SessionOptions(**options, session=source)


# What the SDK knows


async def _attempt(ledger: Ledger, action: Callable[..., Result], *args: Any) -> Result | None:
    """Run an action in a thread. If it fails, the agent goes on without."""
    with logged(ledger.tract, "record a run of the Agents SDK, which goes on without it"):
        return await asyncio.to_thread(action, *args)
    return None


def _send(ledger: Ledger, request: Request, on_server: bool) -> list[Item]:
    return ledger.send(request, on_server=on_server)


def _chained(first: CallModelInputFilter, second: CallModelInputFilter) -> CallModelInputFilter:
    async def apply_both(data: CallModelData[Any]) -> ModelInputData:
        changed = replace(data, model_data=await _awaited(first(data)))
        reshaped: ModelInputData = await _awaited(second(changed))
        return reshaped

    return apply_both


async def _awaited(value: Any) -> Any:
    return await value if isawaitable(value) else value


async def _request(
    ledger: Ledger,
    agent: Agent[Any],
    items: list[Item],
    instructions: str | None,
    context: RunContextWrapper[Any],
) -> Request:
    tools = await ledger.tools_of(agent, context)
    known = [each if isinstance(each, Handoff) else handoff(each) for each in agent.handoffs]
    handoffs = [each for each in known if await _is_enabled(each, context, agent)]
    return Request(agent, items, instructions, tools, handoffs)


async def _is_enabled(
    each: Handoff[Any, Any], context: RunContextWrapper[Any], agent: Agent[Any]
) -> bool:
    enabled = each.is_enabled
    return enabled if isinstance(enabled, bool) else bool(await _awaited(enabled(context, agent)))


def _details(response: ModelResponse, agent: Agent[Any], model: Any) -> Details:
    """What the SDK knows about an answer."""
    metadata: dict[str, Json] = {"agent": agent.name}
    if response.response_id:
        metadata["response"] = {"id": response.response_id}
    used = agent.model if model is None else model
    name = used if isinstance(used, str) else getattr(used, "model", None)
    config: dict[str, Json] | None = {"model": name} if isinstance(name, str) else None
    return Details(None, metadata, config, _usage(response))


def _usage(response: ModelResponse) -> dict[str, Json] | None:
    usage = response.usage
    if not usage.total_tokens:  # the provider has not reported any
        return None
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.input_tokens_details.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.output_tokens_details.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
