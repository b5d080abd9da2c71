"""LangChain: agents that run on a dialog, its history of messages, and the tool that fetches.

agent = create_agent(model, tools, middleware=[TractMiddleware("agent.db", results=2000)])
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from threading import RLock
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from tract.content.query import id_of, slice_of
from tract.context import CompiledContext
from tract.core.drafts import Details
from tract.core.fetching import REFUSALS, refusal
from tract.core.wording import GET_TOOL_RESULT, GET_TOOL_RESULT_SCHEMA
from tract.errors import InputError
from tract.extras import missing_extra
from tract.integrations.definitions import Definitions
from tract.integrations.failures import logged
from tract.integrations.langchain_messages import (
    check_messages,
    load,
    rejects,
    sent_messages,
    stored_messages,
    to_langchain,
)
from tract.integrations.mirror import Mirror, Shown, Source, opened
from tract.integrations.settings import Auto, Results, configure
from tract.model import EMPTY, DialogFacts, Json, Message
from tract.providers.frameworks.lists import LoadedList
from tract.session.branches import create_numbered
from tract.session.record import go_on
from tract.session.results import fetch
from tract.tract import Tract

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise missing_extra("LangChain", "langchain") from error

KEPT = 256
"""Conversations that are kept open. Others are opened again when they go on."""


class GetPreviousResultTool(BaseTool):
    """The tool `get_tool_result`. The result is named by `id`, or by `tool_call_id`."""

    name: str = GET_TOOL_RESULT
    description: str = GET_TOOL_RESULT_SCHEMA["description"]
    args_schema: Any = GET_TOOL_RESULT_SCHEMA["input_schema"]
    _dialog: Callable[[], Tract] = PrivateAttr()

    def __init__(self, source: Source | Callable[[], Tract], **fields: Any) -> None:
        """The tool of a dialog, or of the one that a function returns for each call."""
        super().__init__(**fields)
        dialog = source if callable(source) else opened(source)
        self._dialog = dialog if callable(dialog) else lambda: dialog

    def _run(self, **arguments: Json) -> str:
        try:
            result_id, part = id_of(arguments), slice_of(arguments)
            return str(fetch(self._dialog().session, result_id, part))
        except REFUSALS as error:
            return refusal(error)

    async def _arun(self, **arguments: Json) -> str:
        return await asyncio.to_thread(self._run, **arguments)


class TractMiddleware(AgentMiddleware):
    """Records what an agent of `create_agent` does, and shows the model each result in its form.

    The state of the agent stays its own: it has every result in full. A `thread_id` in the config
    names the dialog; without one it is that of `source`. Sub-agents have dialogs of their own.
    """

    def __init__(
        self,
        source: Source,
        *,
        results: Results | None = None,
        auto: Auto | None = None,
    ) -> None:
        """`results` are the arguments of `Tract.configure_results`, or just its `inline_tokens`;
        `auto` those of `Tract.configure_tool_summarization`, or its `auto_threshold`. Without them,
        a new dialog shows results as that of `source` does."""
        super().__init__()
        self.tract = opened(source)
        self.tools = [GetPreviousResultTool(self.here)]
        self._results, self._auto = results, auto
        self._conversations: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = RLock()

    def here(self) -> Tract:
        """The dialog of the agent that runs."""
        return self._conversation().mirror.tract

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        response = handler(self._reshape(request))
        self._record_response(request, response)
        return response

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        response = await handler(await asyncio.to_thread(self._reshape, request))
        await asyncio.to_thread(self._record_response, request, response)
        return response

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        result = handler(request)
        self._record_result(request, result)
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        result = await handler(request)
        await asyncio.to_thread(self._record_result, request, result)
        return result

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Record what came after the last answer, such as results that end a run."""
        with logged(self.tract, "record the end of a run of LangChain"):
            self._conversation().follow(_messages(state))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        await asyncio.to_thread(self.after_agent, state, runtime)

    def _reshape(self, request: ModelRequest) -> ModelRequest:
        with logged(self.tract, "record a request of LangChain, which is sent as it is"):
            return self._conversation().reshape(request)
        return request

    def _record_response(self, request: ModelRequest, response: ModelResponse) -> None:
        with logged(self.tract, "record an answer to LangChain"):
            self._conversation().follow([*_messages(request.state), *response.result])

    def _record_result(self, request: ToolCallRequest, result: Any) -> None:
        with logged(self.tract, "record a result of LangChain"):
            if isinstance(result, ToolMessage):
                self._conversation().add(_messages(request.state), result)

    def _conversation(self) -> Conversation:
        name, parent = dialog_of(self.tract.dialog)
        with self._lock:
            known = self._conversations.get(name)
            if known is None:
                known = self._conversations[name] = Conversation(self._open(name, parent))
            self._conversations.move_to_end(name)
            if len(self._conversations) > KEPT:
                self._conversations.popitem(last=False)
            return known

    def _open(self, name: str, parent: str | None) -> Tract:
        t = self.tract if name == self.tract.dialog else self.tract.sibling(name)
        is_new = t is not self.tract and t.head is None
        if is_new and parent is not None:
            t.session.configure("facts", DialogFacts(parent=parent))
        if is_new and self._results is None:
            t.session.configure("result_settings", self.tract.session.settings)
            t.session.settings = self.tract.session.settings
        configure(t, self._results, self._auto)
        return t


class Conversation:
    """One dialog beside the messages of an agent. Its system text is the first that the agent had:
    one that changes with each call is stored with the answers, as `system_prompt`."""

    def __init__(self, t: Tract) -> None:
        self.mirror = Mirror(t, self._load)
        self._lock = RLock()
        self._system: BaseMessage | None = None
        self._other_system: str | None = None
        self._definitions = Definitions(convert_to_openai_tool)

    def follow(
        self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Json]] | None = None
    ) -> None:
        """Record what is new in the messages of an agent."""
        system = [self._system] if self._system else []
        self.mirror.follow([*system, *messages], tools)

    def add(self, messages: Sequence[BaseMessage], result: ToolMessage) -> None:
        """Record a result before the agent has it in its messages, where it would get an id."""
        result.id = result.id or str(uuid4())
        with self._lock:
            self.follow(messages)
            self.mirror.add(result)

    def reshape(self, request: ModelRequest) -> ModelRequest:
        """Record a request. Return what is sent instead."""
        with self._lock:
            self._take_system(request.system_message)
            self.follow(_messages(request.state), self._definitions.of(request.tools))
            shown = self.mirror.shown()
            has_other_system = self._other_system is not None
        if not (shown.is_rewritten or rejects(request.messages)):
            return request.override(messages=_replaced(request.messages, shown))
        system, messages = _rewritten(shown.context)
        system = request.system_message if has_other_system else system
        return request.override(system_message=system, messages=messages)

    def _take_system(self, system: SystemMessage | None) -> None:
        if system is None:
            self._system = self._other_system = None
            return
        if self._system is None:
            self._system = self._recorded_system() or system
        self._other_system = None if system.text == self._system.text else str(system.text)

    def _recorded_system(self) -> BaseMessage | None:
        messages = self.mirror.tract.compile().messages
        first = messages[0] if messages else None
        return to_langchain(first) if first and first.role == "system" else None

    def _load(self, messages: Sequence[Any], tools: Sequence[Any] | None) -> LoadedList:
        listed, text = load(messages, tools), self._other_system
        if text is None:
            return listed
        pairs = zip(listed.loaded.messages, listed.details, strict=True)
        return listed._replace(details=[_with_system(*pair, text) for pair in pairs])


def dialog_of(default: str) -> tuple[str, str | None]:
    """The dialog of the agent that runs, and of the agent that started it, if any. It is named by
    the thread, or else the default. In a sub-agent, the steps that led to it follow."""
    try:
        config = get_config().get("configurable", {})
    except RuntimeError:  # outside of a run
        return default, None
    thread, steps = config.get("thread_id"), str(config.get("checkpoint_ns") or "").split("|")
    names = [_short(step) for step in steps[:-1]]  # the last one is a step of the agent itself
    parents = [default if thread is None else str(thread), *names[:-1]]
    return "/".join([*parents, *names[-1:]]), "/".join(parents) if names else None


def _short(step: str) -> str:
    """The name of a step, with the beginning of its id."""
    name, _, step_id = step.partition(":")
    return f"{name}:{step_id[:8]}" if step_id else name


def _messages(state: Any) -> list[BaseMessage]:
    """The messages of an agent's state. What other middlewares add to single requests is not in
    it."""
    messages: list[BaseMessage] = state["messages"]
    return messages


def _replaced(messages: Iterable[Any], shown: Shown) -> list[Any]:
    """The messages, with results as the model should see them."""
    numbers: Counter[str] = Counter()
    replaced = []
    for message in messages:
        if isinstance(message, ToolMessage):
            call_id = message.tool_call_id
            replaced.append(_in_form(message, shown.results.get((call_id, numbers[call_id]))))
            numbers[call_id] += 1
        else:
            replaced.append(message)
    return replaced


def _in_form(message: ToolMessage, form: Message | None) -> ToolMessage:
    return message if form is None else message.model_copy(update={"content": form.text})


def _with_system(message: Message, details: Details, text: str) -> Details:
    """The details of an answer, with the system text that the model had."""
    if message.role != "assistant":
        return details
    return replace(details, metadata={**(details.metadata or {}), "system_prompt": text})


def _rewritten(context: CompiledContext) -> tuple[SystemMessage | None, list[Any]]:
    """The system text and the messages of tract, where they were changed or a call has no
    result."""
    messages: list[Any] = sent_messages(context.to_openai())
    has_system = bool(messages) and isinstance(messages[0], SystemMessage)
    return (messages[0], messages[1:]) if has_system else (None, messages)


class TractChatMessageHistory(BaseChatMessageHistory):
    """The messages of a dialog. `clear` deletes nothing: it starts an empty branch."""

    def __init__(self, source: Source, session_id: str | None = None) -> None:
        """The history of a dialog, or of the one with the name `session_id` beside it."""
        t = opened(source)
        self.tract = t if session_id in (None, t.dialog) else t.sibling(str(session_id))

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        return stored_messages(self.tract)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        check_messages(messages)
        go_on(self.tract.session, load(messages))

    def clear(self) -> None:
        with self.tract.batch():
            if self.tract.head is not None:
                create_numbered(self.tract.session, EMPTY)


def prepare_messages(
    query: str,
    context: Tract | Mapping[str, Any],
    load_tool_results: bool | Iterable[str] = False,
) -> list[BaseMessage]:
    """Return the messages for a model: the history of a dialog, and a query, which is not recorded.
    `context` is the dialog, or a dict that has it under `tract`.

    `load_tool_results` shows all results as references (False), all in full (True), or only these
    ids in full.
    """
    t = context if isinstance(context, Tract) else context.get("tract")
    if not isinstance(t, Tract):
        raise InputError("prepare_messages needs a Tract: as context, or as context['tract']")
    history = t.compile(load_tool_results=load_tool_results).to_openai()
    return sent_messages([*history, {"role": "user", "content": query}])
