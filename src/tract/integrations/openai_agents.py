"""The OpenAI Agents SDK on a dialog: a session, what the model is sent, and hooks that record."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from inspect import isawaitable
from typing import Any, NamedTuple, TypedDict, TypeVar
from weakref import WeakValueDictionary

from tract.context import CompiledContext
from tract.core import fetching
from tract.core.drafts import NO_DETAILS, Details
from tract.core.wording import GET_TOOL_RESULT, GET_TOOL_RESULT_SCHEMA
from tract.errors import InputError, TractError
from tract.extras import missing_extra
from tract.integrations.mirror import Mirror, Source, opened
from tract.integrations.settings import Results, configure
from tract.model import EMPTY, CommitOperation, Head, Json, Message, Raw
from tract.providers.frameworks.lists import LoadedList
from tract.providers.openai_responses import original_items
from tract.providers.requests import Loaded, tools_of
from tract.providers.responses_items import (
    INSTRUCTIONS,
    OUTPUTS,
    call_id_of,
    is_call,
    kind_of_item,
    load_items,
)
from tract.session import branches
from tract.session.commits import instruction_in_force
from tract.session.record import go_on, record_list
from tract.tract import Tract

try:
    from agents import (
        Agent,
        AgentsException,
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
    from agents.models.openai_responses import Converter
    from agents.run import CallModelData, CallModelInputFilter, ModelInputData
    from agents.tool_context import ToolContext
except ImportError as missing:
    raise missing_extra("the OpenAI Agents SDK", "openai-agents") from missing

Item = Any
"""An item as the SDK has it: a dict in the format of OpenAI Responses."""
Result = TypeVar("Result")
UNREAD = "openai-agents"
"""Whose block an item is that cannot be read as one of OpenAI Responses."""
TEXT_OUTPUTS = ("function_call_output", "custom_tool_call_output")
"""Outputs that may be any text, such as a reference."""

log = logging.getLogger("tract")


def load(items: Sequence[Item], tools: Sequence[Any] | None) -> LoadedList:
    """Items as messages. What is said in a row is one message; an item that cannot be read is one
    of its own."""
    try:
        messages = list(load_items(items))
    except InputError:
        messages = [message for item in items for message in _load_each(item)]
    loaded = Loaded(messages, tools_of(None if tools is None else list(tools)), {}, "responses")
    return LoadedList(loaded, [NO_DETAILS] * len(messages))


def _load_each(item: Item) -> list[Message]:
    try:
        return list(load_items([item]))
    except InputError:
        return [Message("assistant", (Raw(UNREAD, item),))]


def _items_of(message: Message) -> list[Item]:
    if INSTRUCTIONS in (message.origin or {}):
        return []  # the agent has them
    blocks = message.blocks
    if any(isinstance(block, Raw) and block.provider == UNREAD for block in blocks):
        return [block.data for block in blocks if isinstance(block, Raw)]
    return original_items([message])


class Request(NamedTuple):
    """What the SDK is about to send to the model."""

    agent: Agent[Any]
    items: list[Item]
    instructions: str | None
    tools: list[Tool]
    handoffs: list[Handoff[Any, Any]]

    def definitions(self) -> list[Any]:
        """The tools in the format of OpenAI Responses."""
        return list(Converter.convert_tools(self.tools, self.handoffs).tools)

    @property
    def instruction(self) -> tuple[str, str] | None:
        """Who has which instructions."""
        return (self.agent.name, self.instructions) if self.instructions else None

    @property
    def can_fetch(self) -> bool:
        return any(tool.name == GET_TOOL_RESULT for tool in self.tools)


class Ledger(Mirror):
    """The items of one conversation beside its dialog. Session, filter and hooks of a dialog share
    it, so what one has recorded is not recorded again by the others."""

    def __init__(self, tract: Tract) -> None:
        super().__init__(tract, load)
        self.agent: Agent[Any] | None = None
        """Who runs, if hooks report it. The agents that it uses as tools have other dialogs."""
        self.is_filtered = False
        """Whether the filter has recorded what is sent next."""
        self.has_failed = False
        self._unsaved: list[Item] = []  # recorded, and not yet added by the SDK to its session
        self._instructed: tuple[str, str] | None = None
        self._popped: tuple[str, Head] | None = None  # the branch that `pop` made, as it made it
        self._children: dict[str, Ledger] = {}
        self._listed: dict[int, tuple[Agent[Any], list[Tool]]] = {}  # by the agent's identity

    def child(self, agent: Agent[Any]) -> Ledger:
        """The ledger of an agent that is used as a tool."""
        with self._lock:
            if agent.name not in self._children:
                dialog = f"{self.tract.dialog}/{agent.name}"
                self._children[agent.name] = Ledger(self.tract.sibling(dialog))
            return self._children[agent.name]

    async def tools_of(self, agent: Agent[Any], context: RunContextWrapper[Any]) -> list[Tool]:
        """The tools of an agent. MCP servers are asked once."""
        _, tools = self._listed.get(id(agent), (agent, None))
        if tools is None:
            tools = await agent.get_all_tools(context)
        if agent.mcp_servers:
            self._listed[id(agent)] = agent, tools
        return tools

    # As the SDK's session

    def read(self, limit: int | None = None) -> list[Item]:
        """The items of the branch, as they came; with a limit the newest."""
        session = self.tract.session
        with self._lock, session.lock:
            messages = map(session.compiler.message, session.chain().appended_steps())
            items = [item for message in messages for item in _items_of(message)]
            items = items if limit is None else items[max(len(items) - limit, 0) :]
            self._known, self._at = items, self._now()
            return deepcopy(items)

    def save(self, items: Sequence[Item]) -> None:
        """Append items, without those that hooks have recorded as they came into being."""
        with self._lock:
            new = []
            for item in items:
                if item in self._unsaved:
                    self._unsaved.remove(item)
                else:
                    new.append(item)
            if len(new) == len(items):
                self._unsaved.clear()  # a run that failed has left them
            if new:
                self._append(new)

    def pop(self) -> Item | None:
        """Start a branch without the last item, and return that."""
        session = self.tract.session
        with self._lock, session.batch():
            chain = session.chain()
            for step in reversed(chain.appended_steps()):
                items = _items_of(session.compiler.message(step))
                if items:
                    break
            else:
                return None
            before = chain.before(chain.place(Head(step.id, step.hash)))
            left = session.branch, session.head()
            self._start_branch(Head(before.id, before.hash) if before else EMPTY)
            if left == self._popped:  # an earlier branch has all of it
                branches.delete(session, left[0])
            if items[1:]:
                go_on(session, load(items[:-1], None))
            self._popped = session.branch, session.head()
            return items[-1]

    def clear(self) -> None:
        """Start a branch without any item."""
        session = self.tract.session
        with self._lock, session.batch():
            if session.chain().appended_steps():
                self._start_branch(EMPTY)

    def _start_branch(self, head: Head) -> None:
        branches.create_numbered(self.tract.session, head)
        self._known, self._at, self._instructed = [], None, None
        self._unsaved.clear()

    # As the run goes on

    def record(self, items: Sequence[Item], details: Details = NO_DETAILS) -> None:
        """Append items that have just come into being."""
        with self._lock:
            self._append(items, details)
            self._unsaved += items

    def send(self, request: Request, *, on_server: bool = False) -> list[Item]:
        """Record a request, and return its items as the model should see them."""
        tools = self._definitions(request)
        with self._lock:
            if on_server or not self._has(request, tools):
                with self.tract.session.batch():
                    self._record_request(request, tools, on_server=on_server)
            # Handlers have run by now: they may have decided how results are shown.
            return self._shown_items(request, on_server=on_server)

    def _definitions(self, request: Request) -> list[Any] | None:
        """The tools of a request; None if one of them has no definition yet."""
        try:
            return request.definitions()
        except AgentsException as error:
            self.report(f"the tools of agent {request.agent.name!r}", error)
            return None

    def report(self, what: str, error: Exception) -> None:
        """Log the first failure."""
        if not self.has_failed:
            log.warning("tract cannot record %s: %s", what, error)
        self.has_failed = True

    def _has(self, request: Request, tools: Sequence[Any] | None) -> bool:
        """Whether nothing of a request is new."""
        is_same = self._known == request.items and tools in (None, self._tools)
        if not is_same or self._instructed != request.instruction:
            return False
        with self.tract.session.lock:
            return self._at == self._now()

    def _record_request(
        self, request: Request, tools: Sequence[Any] | None, *, on_server: bool
    ) -> None:
        is_first = not self.tract.session.chain().appended_steps()
        if is_first:
            self._instruct(request)
        if on_server:
            self._extend(request.items, tools)
        else:
            self.follow(request.items, tools)
        if not is_first:
            self._instruct(request)

    def follow(self, messages: Sequence[Item], tools: Sequence[Any] | None = None) -> None:
        """Record what is new in the full list of the SDK. It may lack calls without output, and has
        the results of a turn in the order of the calls."""
        session = self.tract.session
        with self._lock, session.batch():
            answered = _without_open_calls(self._known)
            if self._known != messages[: len(self._known)] and _begins(messages, answered):
                self._known = answered
            is_at_end = True
            if self._at == self._now() and _begins(messages, self._known):
                new = messages[len(self._known) :]
                go_on(session, load(new, None if tools == self._tools else tools))
                self._unsaved += new
            else:
                written = record_list(session, load(messages, tools), is_request=tools is not None)
                # Without a new message, more may be recorded after the end of the list.
                is_at_end = any(info.operation == CommitOperation.APPEND for info in written)
                self._instructed = None  # another branch may have others
            self._known, self._at = list(messages), self._now() if is_at_end else None
            self._tools = self._tools if tools is None else list(tools)

    def _extend(self, items: Sequence[Item], tools: Sequence[Any] | None) -> None:
        """Record what is new in a part of the conversation. The provider has the rest."""
        new = [item for item in items if item not in self._unsaved]
        go_on(self.tract.session, load(new, None if tools == self._tools else tools))
        self._known, self._at, self._tools = [], None, tools
        self._unsaved.clear()

    def _append(self, items: Sequence[Item], details: Details = NO_DETAILS) -> None:
        session = self.tract.session
        with session.batch():
            is_known = self._at == self._now()
            loaded, unknown = load(items, None)
            go_on(session, LoadedList(loaded, [details] * len(unknown)))
            at = self._now() if is_known else None
        self._known, self._at = [*self._known, *items], at

    def _instruct(self, request: Request) -> None:
        """Record the instructions of an agent, which the SDK does not have among its items."""
        if request.instruction is None or self._instructed == request.instruction:
            return
        name, text = request.instruction
        session, is_known = self.tract.session, self._at == self._now()
        message = Message("system", text, origin={INSTRUCTIONS: {}})
        if instruction_in_force(session, message, {"metadata": {"agent": name}}) is None:
            session.commit(message, Details(f"agent {name}", {"agent": name}))
        self._instructed = name, text
        self._at = self._now() if is_known else None

    def _shown_items(self, request: Request, *, on_server: bool) -> list[Item]:
        if not request.can_fetch:  # then a reference would be all that it ever sees
            context = self.tract.compile(load_tool_results=True)
            is_whole = on_server or not context.is_rewritten
            return request.items if is_whole else _rewritten(context)
        shown = self.shown()
        if shown.is_rewritten and not on_server:
            return _rewritten(shown.context)
        earlier = _earlier_results(shown.context, request.items) if on_server else Counter[str]()
        return list(_in_forms(request.items, shown.results, earlier, on_server=on_server))


def _begins(items: Sequence[Item], known: Sequence[Item]) -> bool:
    """Whether a list begins with these items. At their end, outputs may be in another order."""
    begin = list(items[: len(known)])
    if begin == known:
        return True
    pairs = enumerate(zip(begin, known, strict=False))
    first = next((number for number, (one, other) in pairs if one != other), 0)
    outputs = known[first:]
    is_same = len(begin) == len(known) and all(item in begin[first:] for item in outputs)
    return is_same and all(kind_of_item(item) in OUTPUTS for item in outputs)


def _without_open_calls(items: Sequence[Item]) -> list[Item]:
    """The items without calls that have no output, and without the thoughts that led to them."""
    answered = {call_id_of(item) for item in items if kind_of_item(item) in OUTPUTS}
    kept: list[Item] = []
    for item in items:
        if not is_call(item) or call_id_of(item) in answered:
            kept.append(item)
            continue
        while kept and kind_of_item(kept[-1]) == "reasoning":
            kept.pop()
    return kept


def _rewritten(context: CompiledContext) -> list[Item]:
    """All items as they are in the dialog, without instructions: the SDK sends those of the agent
    that runs."""
    messages = context.messages
    instructions = {m.text for m in messages if INSTRUCTIONS in (m.origin or {})}
    items = context.to_responses()
    return [i for i in items if i.get("role") != "system" or i.get("content") not in instructions]


def _earlier_results(context: CompiledContext, items: Sequence[Item]) -> Counter[str]:
    """For each id, how many results with it are not among these last items."""
    every = Counter(m.tool_call_id or "" for m in context.messages if m.role == "tool")
    return every - Counter(call_id_of(item) for item in items if kind_of_item(item) in OUTPUTS)


def _in_forms(
    items: Sequence[Item],
    results: dict[tuple[str, int], Message],
    earlier: Counter[str],
    *,
    on_server: bool,
) -> Iterator[Item]:
    """The items, with the results that are not shown in full as the model should see them."""
    numbers = Counter(earlier)
    for item in items:
        kind = kind_of_item(item)
        if kind not in OUTPUTS:
            yield item
            continue
        call_id = call_id_of(item)
        shown = results.get((call_id, numbers[call_id])) if kind in TEXT_OUTPUTS else None
        numbers[call_id] += 1
        if shown is not None and on_server:
            item["output"] = shown.text  # the SDK knows by the object what it has sent
        yield {**item, "output": shown.text} if shown is not None else item


_LEDGERS: WeakValueDictionary[int, Ledger] = WeakValueDictionary()


def ledger_of(tract: Tract) -> Ledger:
    """The ledger of an open dialog, which stays as long as someone has it."""
    ledger = _LEDGERS.get(id(tract))
    if ledger is None:
        ledger = _LEDGERS.setdefault(id(tract), Ledger(tract))
    return ledger


async def _attempt(ledger: Ledger, action: Callable[..., Result], *args: Any) -> Result | None:
    """Run an action in a thread. If it fails, the agent goes on without."""
    try:
        return await asyncio.to_thread(action, *args)
    except TractError as error:
        ledger.report(f"dialog {ledger.tract.dialog!r}", error)
        return None


# For users


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


def run_options(
    t: Tract,
    run_config: RunConfig | None = None,
    *,
    results: Results | None = None,
    on_server: bool = False,
) -> RunOptions:
    """The options with which a run is recorded and reshaped: `Runner.run(agent, question,
    **run_options(t))`. A filter that the configuration has comes first. `results` are the arguments
    of `Tract.configure_results`, or just its `inline_tokens`."""
    configure(t, results)
    config = run_config or RunConfig()
    own = tract_input_filter(t, on_server=on_server)
    first = config.call_model_input_filter
    both = own if first is None else _chained(first, own)
    hooks = TractHooks(t, model=config.model)
    return {"hooks": hooks, "run_config": replace(config, call_model_input_filter=both)}


# What the SDK knows


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
