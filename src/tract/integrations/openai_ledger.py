"""The items of the OpenAI Agents SDK beside a dialog: read, recorded, and as the model should see
them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from tract.context import CompiledContext
from tract.core.drafts import NO_DETAILS, Details
from tract.core.wording import GET_TOOL_RESULT
from tract.errors import InputError
from tract.extras import missing_extra
from tract.integrations.failures import report
from tract.integrations.mirror import End, Mirror
from tract.model import EMPTY, CommitOperation, Head, Message, Raw
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
    from agents import Agent, AgentsException, Handoff, RunContextWrapper, Tool
    from agents.models.openai_responses import Converter
except ImportError as missing:
    raise missing_extra("the OpenAI Agents SDK", "openai-agents") from missing

Item = Any
"""An item as the SDK has it: a dict in the format of OpenAI Responses."""
UNREAD = "openai-agents"
"""Whose block an item is that cannot be read as one of OpenAI Responses."""
TEXT_OUTPUTS = ("function_call_output", "custom_tool_call_output")
"""Outputs that may be any text, such as a reference."""


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
            report(self.tract, f"record the tools of agent {request.agent.name!r}", error)
            return None

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
            if self._at == self._now() and _begins(messages, self._known):
                new = messages[len(self._known) :]
                changed = None if tools == self._tools else tools
                at: End | None = self._after(go_on(session, load(new, changed)))
                self._unsaved += new
            else:
                written = record_list(session, load(messages, tools), is_request=tools is not None)
                # Without a new message, more may be recorded after the end of the list.
                is_at_end = any(info.operation == CommitOperation.APPEND for info in written)
                at = self._now() if is_at_end else None
                self._instructed = None  # another branch may have others
            self._known, self._at = list(messages), at
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
            written = go_on(session, LoadedList(loaded, [details] * len(unknown)))
            at = self._after(written) if is_known else None
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
