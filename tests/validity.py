"""What providers would refuse in what they are sent, for tests of anything that is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tract import CompiledContext
from tract.providers.validate import Violation, validate

REQUESTS: dict[str, Callable[[CompiledContext], dict[str, Any]]] = {
    "anthropic": CompiledContext.to_anthropic_params,
    "openai": CompiledContext.to_openai_params,
    "responses": CompiledContext.to_responses_params,
    "gemini": CompiledContext.to_gemini_params,
}
"""How each provider's request is made."""


def violations(context: CompiledContext) -> list[tuple[str, Violation]]:
    """What any provider would refuse in a history, its tools included."""
    return [
        (provider, found)
        for provider, request in REQUESTS.items()
        for found in validate(request(context), provider)
    ]
