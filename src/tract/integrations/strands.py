"""Strands: each message that an agent adds is recorded, and its model sees results in their forms.

The agent's own messages stay as they are: what the model sees is a copy.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from tract.context import CompiledContext
from tract.core.drafts import NO_DETAILS, Details
from tract.core.wording import GET_TOOL_RESULT
from tract.extras import missing_package
from tract.importers.bedrock import convert_request, convert_response
from tract.integrations.failures import logged
from tract.integrations.mirror import Mirror, Source, opened
from tract.integrations.settings import Results, configure
from tract.model import Json, Message
from tract.providers.frameworks.lists import LoadedList
from tract.providers.requests import Loaded, load, load_answer

try:
    from strands import tool
    from strands.hooks import AgentInitializedEvent, HookRegistry, MessageAddedEvent
    from strands.middleware import InvokeModelContext, InvokeModelStage
except ImportError as missing:
    raise missing_package("tract.integrations.strands", "strands-agents") from missing


class TractHooks:
    """Records one agent: `Agent(hooks=[TractHooks("agent.db")])`. The agent gets the tool
    `get_tool_result`."""

    def __init__(
        self,
        source: Source,
        *,
        dialog: str = "default",
        results: Results | None = None,
    ) -> None:
        """`results` are the arguments of `Tract.configure_results`, or its `inline_tokens`."""
        self.tract = opened(source, dialog)
        configure(self.tract, results)
        self._mirror = Mirror(self.tract, _load)
        self._messages: list[dict[str, Any]] = []

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        registry.add_callback(AgentInitializedEvent, self._join)
        registry.add_callback(MessageAddedEvent, self._add)

    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far with results in full, to go on with it in another process:
        `Agent(messages=hooks.messages(), hooks=[hooks])`."""
        return _dump(self.tract.compile(load_tool_results=True))

    def _join(self, event: AgentInitializedEvent) -> None:
        self._messages = list(event.agent.messages)
        event.agent.tool_registry.process_tools([tool(self.tract.as_tool())])
        event.agent.add_middleware(InvokeModelStage.Input, self._show)

    def _add(self, event: MessageAddedEvent) -> None:
        self._messages.append(event.message)
        with logged(self.tract, "record a message of Strands"):
            self._mirror.follow(self._history(event.agent.system_prompt))

    def _show(self, context: InvokeModelContext) -> InvokeModelContext:
        """What the model is sent: the messages in the context are a copy of the agent's."""
        with logged(self.tract, "show a model of Strands results in their forms"):
            history = self._history(context.agent.system_prompt)
            self._mirror.follow(history, context.tool_specs)
            shown = self._mirror.shown()
            if shown.is_rewritten:
                system = shown.context.to_anthropic().get("system")
                return context.replace(messages=_dump(shown.context), system_prompt=system)
            for number, result in _results(self._messages, context.messages):
                if number in shown.results:
                    result["content"] = [{"text": shown.results[number].text}]
        return context

    def _history(self, system_prompt: str | None) -> list[dict[str, Any]]:
        """All that the agent ever added, also what its conversation manager has dropped."""
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        return [*system, *self._messages]


def _results(
    history: Sequence[dict[str, Any]], messages: Sequence[dict[str, Any]]
) -> Iterator[tuple[tuple[str, int], dict[str, Any]]]:
    """The results in some messages, each with the id of its call and how many results with this id
    came before in the history."""
    counts: Counter[str] = Counter()
    places: dict[tuple[str, str], int] = {}
    for message in history:
        for result in _results_of(message):
            call_id = result["toolUseId"]
            places[message.get("tracking_id", ""), call_id] = counts[call_id]
            counts[call_id] += 1
    for message in messages:
        for result in _results_of(message):
            call_id = result["toolUseId"]
            yield (call_id, places.get((message.get("tracking_id", ""), call_id), -1)), result


def _results_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [block["toolResult"] for block in message["content"] if "toolResult" in block]


# Messages of Strands, which are those of Bedrock, in ours


def _load(messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> LoadedList:
    pairs = [pair for message in messages for pair in _load_message(message)]
    loaded = Loaded([message for message, _ in pairs], _load_tools(tools), {}, "anthropic")
    return LoadedList(loaded, [details for _, details in pairs])


def _load_tools(tools: Sequence[dict[str, Any]] | None) -> list[dict[str, Json]] | None:
    if tools is None:
        return None
    specs = [{"toolSpec": spec} for spec in tools if spec["name"] != GET_TOOL_RESULT]
    request = convert_request({"messages": [], "toolConfig": {"tools": specs}})
    return load(request, "anthropic").tools or []


def _load_message(message: dict[str, Any]) -> Iterator[tuple[Message, Details]]:
    if message["role"] == "system":
        yield Message("system", message["content"]), NO_DETAILS
        return
    plain = {"role": message["role"], "content": [_plain(block) for block in message["content"]]}
    if message["role"] == "user":
        for loaded in load(convert_request({"messages": [plain]}), "anthropic").messages:
            yield _flat(loaded), NO_DETAILS
        return
    usage = message.get("metadata", {}).get("usage")
    response = convert_response({"output": {"message": plain}, "usage": _without_cached(usage)})
    answer = load_answer(response)
    yield answer.message, Details(usage=answer.usage if usage else None)


def _flat(message: Message) -> Message:
    """A result of one text as this text."""
    match message.content:
        case [{"type": "text", "text": str(text)}] if message.role == "tool":
            return replace(message, content=text)
        case _:
            return message


def _without_cached(usage: dict[str, int] | None) -> dict[str, int] | None:
    """Some models count cached tokens among those of the input; the sum says which."""
    cached = usage.get("cacheReadInputTokens", 0) if usage else 0
    if usage is None or not cached:
        return usage
    is_among = usage["inputTokens"] + usage["outputTokens"] == usage["totalTokens"]
    return {**usage, "inputTokens": usage["inputTokens"] - cached} if is_among else usage


def _plain(value: Any) -> Json:
    """A block without bytes."""
    match value:
        case {"image": {"format": str(kind), "source": {"bytes": bytes(data)}}}:
            source = {"type": "base64", "media_type": f"image/{kind}", "data": _plain(data)}
            return {"type": "image", "source": source}
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


# And back


def _dump(context: CompiledContext) -> list[dict[str, Any]]:
    return [
        {"role": message["role"], "content": _dump_blocks(message["content"])}
        for message in context.to_anthropic()["messages"]
    ]


def _dump_blocks(content: Json) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    return [_dump_block(block) for block in content]


def _dump_block(block: dict[str, Any]) -> dict[str, Any]:
    match block:
        case {"type": "text", "text": text}:
            return {"text": text}
        case {"type": "tool_use", "id": call_id, "name": name, "input": arguments}:
            return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}
        case {"type": "tool_result", "tool_use_id": call_id}:
            status = "error" if block.get("is_error") else "success"
            content = _dump_blocks(block.get("content") or "")
            return {"toolResult": {"toolUseId": call_id, "status": status, "content": content}}
        case {"type": "thinking", "thinking": text}:
            signed = {"signature": block["signature"]} if "signature" in block else {}
            return {"reasoningContent": {"reasoningText": {"text": text, **signed}}}
        case {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}:
            source = {"bytes": base64.b64decode(data)}
            return {"image": {"format": kind.removeprefix("image/"), "source": source}}
        case _:
            return {key: value for key, value in block.items() if key != "type"}
