"""Full requests: the messages, tools and settings in them."""

from __future__ import annotations

from typing import Any, NamedTuple

from tract.core.drafts import Details
from tract.core.entries import FullHistory
from tract.errors import InputError
from tract.model import Json, Message
from tract.providers.answers import load_answer
from tract.providers.detect import detect
from tract.providers.messages import as_dict, load_message
from tract.providers.registry import PROVIDERS
from tract.providers.registry import provider as provider_named

__all__ = ["Loaded", "full_history", "load", "load_history", "provider_of"]


class Loaded(NamedTuple):
    """A request in no provider's format."""

    messages: list[Message]
    """The system text first, if there is one."""
    tools: list[dict[str, Json]] | None
    config: dict[str, Json]
    """Everything else."""
    provider: str


def load(request: Json, provider: str | None = None) -> Loaded:
    """A request to a provider, or just the list of its messages, items or contents."""
    owner = provider_named(provider or provider_of(request))
    fields = request if isinstance(request, dict) else {owner.history: request}
    if owner.history not in fields:
        raise InputError(f"a request for {owner.name} has {owner.history}, not {_keys(fields)}")
    used = {owner.history, "tools"}
    messages: list[Message] = []
    for key in owner.system:
        system = owner.load_system(fields.get(key))
        if system is not None:
            used.add(key)
            messages.append(system)
            break
    messages += owner.load_history(fields[owner.history])
    config = {key: value for key, value in fields.items() if key not in used}
    return Loaded(messages, _tools(fields.get("tools")), config, owner.name)


def load_history(history: Any) -> Loaded:
    """A history that a caller keeps: a request to a provider, or a list of messages, each in any
    provider's format or in ours."""
    if isinstance(history, dict):
        messages = history.get("messages")
        if isinstance(messages, list) and any(isinstance(item, Message) for item in messages):
            loaded = [message for item in messages for message in _load_any(item)]
            return Loaded(loaded, _tools(history.get("tools")), {}, "")
        return load(history)
    if not isinstance(history, list | tuple):
        raise InputError(f"a history is a list of messages, not {type(history).__name__}")
    if history and all(isinstance(item, dict) for item in history):
        name = provider_of(list(history))
        if PROVIDERS[name].history != "messages":  # one message may be several of its items
            return load(list(history), name)
    messages = [message for item in history for message in _load_any(item)]
    return Loaded(messages, None, {}, "")


def full_history(loaded: Loaded, response: Any, metadata: dict[str, Json] | None) -> FullHistory:
    """A request with the response to it, if there is one. The metadata are for the response."""
    if response is None:
        return FullHistory(loaded.messages, loaded.tools)
    answer = load_answer(response)
    rest: dict[str, Json] = {"response": answer.rest} if answer.rest else {}
    details = Details(
        metadata={**rest, **(metadata or {})} or None,
        generation_config=loaded.config or None,
        usage=answer.usage,
    )
    return FullHistory([*loaded.messages, answer.message], loaded.tools, True, details)


def _load_any(message: Any) -> list[Message]:
    return [message] if isinstance(message, Message) else load_message(as_dict(message))


def provider_of(request: Json) -> str:
    """The provider of a request, or of a list of messages: the first one where nothing shows."""
    name = next(iter(PROVIDERS)) if isinstance(request, list) else None
    name = detect(request) or name
    if name is None:
        raise InputError(f"not a request to a provider: it has {_keys(request)}")
    return name


def _keys(value: Json) -> str:
    return ", ".join(map(str, value))[:200] if isinstance(value, dict) else type(value).__name__


def _tools(tools: Json) -> list[dict[str, Json]] | None:
    if tools is None:
        return None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise InputError("tools are a list of definitions")
    return tools
