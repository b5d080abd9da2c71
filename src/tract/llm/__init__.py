"""Models that answer: one call, over a provider's own SDK or from a script."""

from __future__ import annotations

from typing import Any

from tract.errors import InputError
from tract.llm.anthropic import AnthropicLLM
from tract.llm.openai import OpenAILLM, ResponsesLLM
from tract.llm.protocol import LLMClient, OnText, check_client
from tract.llm.scripted import ScriptedLLM
from tract.llm.sdk import SdkLLM

__all__ = [
    "AnthropicLLM",
    "LLMClient",
    "OnText",
    "OpenAILLM",
    "ResponsesLLM",
    "ScriptedLLM",
    "check_client",
    "connect",
]

_CLIENTS: dict[str, type[SdkLLM]] = {
    client.provider: client for client in (AnthropicLLM, OpenAILLM, ResponsesLLM)
}


def connect(name: str, **options: Any) -> SdkLLM:
    """The client for a name such as `anthropic:MODEL`. The options are those of its class."""
    kind, _, model = name.partition(":")
    if kind not in _CLIENTS or not model:
        known = ", ".join(f"{kind}:MODEL" for kind in _CLIENTS)
        raise InputError(f"{name!r} names no model; there are {known}")
    return _CLIENTS[kind](model, **options)
