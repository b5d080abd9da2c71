"""crewai: what an agent's model is sent and answers is recorded. It sees results in their forms.

crewai lets hooks change the messages of a task in place before each call of the model. The full
results are put back after the answer.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tract.core.drafts import NO_DETAILS
from tract.core.wording import GET_TOOL_RESULT
from tract.extras import missing_package
from tract.integrations.definitions import Definitions
from tract.integrations.failures import logged
from tract.integrations.mirror import Mirror, Source, opened
from tract.integrations.settings import Results, configure
from tract.model import Json, Message
from tract.providers.frameworks.lists import LoadedList
from tract.providers.requests import Loaded, load, tools_of
from tract.tract import Tract

try:
    from crewai import Agent
    from crewai.hooks import (
        LLMCallHookContext,
        register_after_llm_call_hook,
        register_before_llm_call_hook,
        unregister_after_llm_call_hook,
        unregister_before_llm_call_hook,
    )
    from crewai.tools import tool
except ImportError as missing:
    raise missing_package("tract.integrations.crewai", "crewai") from missing

KEYS = ("role", "content", "tool_calls", "tool_call_id", "name")
"""What of a message is sent to a model."""
FAULT = "Error executing tool"
"""How crewai begins the result of a tool that raised."""
STEP = "Action:"
"""What an answer has that calls a tool in its text. crewai adds the result to it."""


def record_agent(
    agent: Agent,
    source: Source,
    *,
    dialog: str = "default",
    results: Results | None = None,
) -> Tract:
    """Record an agent on a dialog and give it the tool `get_tool_result`. `results` are the
    arguments of `Tract.configure_results`, or just its `inline_tokens`. crewai's own artifacts for
    large results are off."""
    t = opened(source, dialog)
    configure(t, results)
    agent.use_better_compaction = False
    agent.tools = [*(agent.tools or ()), tool(t.as_tool())]
    calls = _ModelCalls(t, weakref.ref(agent))
    before, after = calls.before, calls.after
    register_before_llm_call_hook(before)
    register_after_llm_call_hook(after)
    weakref.finalize(agent, unregister_before_llm_call_hook, before)
    weakref.finalize(agent, unregister_after_llm_call_hook, after)
    return t


class _ModelCalls:
    """The calls of one agent's model. The hooks are called for those of all agents."""

    def __init__(self, tract: Tract, agent: weakref.ref[Agent]) -> None:
        self._mirror = Mirror(tract, _load)
        self._agent = agent
        self._definitions = Definitions(_definition)
        self._full: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def before(self, context: LLMCallHookContext) -> None:
        """Record what is new, and put the forms of results into the messages."""
        if context.agent is not self._agent():
            return
        self._put_back(context.messages)
        with logged(self._mirror.tract, "record messages of crewai"):
            tools = _own(getattr(context.executor, "tools", None) or ())
            self._mirror.follow(context.messages, self._definitions.of(tools))
            self._reshape(context.messages)

    def after(self, context: LLMCallHookContext) -> None:
        """Record an answer in text, and put the full results back."""
        if context.agent is not self._agent():
            return
        self._put_back(context.messages)
        if isinstance(context.response, str) and STEP not in context.response:
            with logged(self._mirror.tract, "record an answer of crewai"):
                answer = {"role": "assistant", "content": context.response}
                self._mirror.follow([*context.messages, answer])

    def _reshape(self, messages: list[dict[str, Any]]) -> None:
        shown = self._mirror.shown().results
        counts: Counter[str] = Counter()
        for index, message in enumerate(messages):
            if message["role"] == "tool":
                call_id = message.get("tool_call_id") or ""
                result = shown.get((call_id, counts[call_id]))
                counts[call_id] += 1
                if result is not None:
                    messages[index] = {**message, "content": result.text}
                    self._full[id(messages[index])] = messages[index], message

    def _put_back(self, messages: list[dict[str, Any]]) -> None:
        for index, message in enumerate(messages):
            if id(message) in self._full:
                messages[index] = self._full[id(message)][1]
        self._full.clear()


def _own(tools: Sequence[Any]) -> list[Any]:
    return [tool for tool in tools if tool.name != GET_TOOL_RESULT]


def _definition(tool: Any) -> dict[str, Json]:
    about = {"name": tool.name, "description": tool.description}
    return {**about, "input_schema": tool.args_schema.model_json_schema()}


# Messages of crewai, which are those of Chat Completions, in ours


def _load(messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> LoadedList:
    plain = [{key: message[key] for key in KEYS if key in message} for message in messages]
    loaded = [_flagged(message) for message in load(plain, "openai").messages]
    definitions = None if tools is None else tools_of(list(tools)) or []
    return LoadedList(Loaded(loaded, definitions, {}, "openai"), [NO_DETAILS] * len(loaded))


def _flagged(message: Message) -> Message:
    is_error = message.role == "tool" and message.text.startswith(FAULT)
    return replace(message, is_error=True) if is_error else message
