"""agno: what an agent's model is sent and answers is recorded, and it sees results in their forms.

agno lets a compression manager look at the messages before each call of the model, and sends a
result's compressed content instead of its content where it has one. Both stay in its messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tract.core.drafts import NO_DETAILS, Details
from tract.core.wording import GET_TOOL_RESULT
from tract.extras import missing_package
from tract.integrations.failures import logged
from tract.integrations.mirror import Mirror, Source, opened
from tract.integrations.settings import Results, configure
from tract.model import Block, Json, Message, Text
from tract.providers.frameworks.lists import LoadedList
from tract.providers.requests import Loaded, load_calls, tools_of
from tract.tract import Tract

try:
    from agno.agent import Agent
    from agno.compression.manager import CompressionManager
    from agno.models.message import Message as AgnoMessage
except ImportError as missing:
    raise missing_package("tract.integrations.agno", "agno") from missing

SYSTEM = ("system", "developer")


def record_agent(
    agent: Agent,
    source: Source,
    *,
    dialog: str = "default",
    results: Results | None = None,
) -> Tract:
    """Record an agent on a dialog and give it the tool `get_tool_result`. `results` are the
    arguments of `Tract.configure_results`, or just its `inline_tokens`."""
    t = opened(source, dialog)
    configure(t, results)
    forms = ResultForms(t)
    agent.compression_manager, agent.compress_tool_results = forms, True
    agent.post_hooks = [*(agent.post_hooks or ()), forms.record_answer]
    agent.add_tool(t.as_tool())
    return t


class ResultForms(CompressionManager):  # type: ignore[misc]
    """Records the messages before each call of the model, and sets the forms of results."""

    def __init__(self, tract: Tract) -> None:
        super().__init__()
        self._mirror = Mirror(tract, _load)
        self._messages: list[AgnoMessage] = []

    def should_compress(
        self, messages: list[AgnoMessage], tools: Sequence[Any] | None = None, *_: Any, **__: Any
    ) -> bool:
        """Record, and say whether the form of a result has changed. The list is the run's own:
        agno appends to it."""
        self._messages = messages
        with logged(self._mirror.tract, "record messages of agno"):
            self._mirror.follow(messages, _definitions(tools or ()))
            return any(self._changes(messages))
        return False

    def compress(self, messages: list[AgnoMessage], *_: Any, **__: Any) -> None:
        with logged(self._mirror.tract, "show a model of agno results in their forms"):
            for message, text in self._changes(messages):
                message.compressed_content = text

    async def ashould_compress(
        self, messages: list[AgnoMessage], tools: Sequence[Any] | None = None, *_: Any, **__: Any
    ) -> bool:
        return self.should_compress(messages, tools)

    async def acompress(self, messages: list[AgnoMessage], *_: Any, **__: Any) -> None:
        self.compress(messages)

    def record_answer(self) -> None:
        """Record the last answer, to which no call of the model follows."""
        with logged(self._mirror.tract, "record an answer of agno"):
            self._mirror.follow(self._messages)

    def _changes(self, messages: Sequence[AgnoMessage]) -> Iterator[tuple[AgnoMessage, str | None]]:
        """The results whose form is another than the one they have, with its text; None is the full
        result."""
        shown = self._mirror.shown().results
        counts: Counter[str] = Counter()
        for message in messages:
            if message.role == "tool":
                call_id = message.tool_call_id or ""
                result = shown.get((call_id, counts[call_id]))
                counts[call_id] += 1
                text = None if result is None else result.text
                if text != message.compressed_content:
                    yield message, text


def _definitions(tools: Sequence[Any]) -> list[dict[str, Json]]:
    """The tools as the model has them: functions of agno, and dicts of the provider."""
    definitions = [tool if isinstance(tool, dict) else _definition(tool) for tool in tools]
    return [tool for tool in definitions if tool.get("name") != GET_TOOL_RESULT]


def _definition(function: Any) -> dict[str, Json]:
    about = {"name": function.name, "description": function.description or ""}
    return {**about, "input_schema": function.parameters}


# Messages of agno in ours


def _load(messages: Sequence[AgnoMessage], tools: Sequence[Any] | None) -> LoadedList:
    definitions = None if tools is None else tools_of(list(tools)) or []
    loaded = Loaded(list(map(_load_message, messages)), definitions, {}, "")
    return LoadedList(loaded, list(map(_details, messages)))


def _load_message(message: AgnoMessage) -> Message:
    text = message.get_content_string()
    if message.role == "tool":
        is_error = bool(message.tool_call_error)
        return Message("tool", text, message.tool_call_id, message.tool_name, is_error)
    if message.role != "assistant":
        return Message("system" if message.role in SYSTEM else message.role, text)
    calls = load_calls(message.tool_calls) or []
    blocks: list[Block] = [Text(text), *calls] if text or not calls else [*calls]
    return Message("assistant", tuple(blocks))


def _details(message: AgnoMessage) -> Details:
    """The usage without cached tokens: some models count them among those of the input, some do
    not, and agno does not say."""
    metrics = message.metrics
    if message.role != "assistant" or not metrics.input_tokens:
        return NO_DETAILS
    usage: dict[str, Json] = {
        "input_tokens": metrics.input_tokens,
        "output_tokens": metrics.output_tokens,
    }
    return Details(usage=usage)
