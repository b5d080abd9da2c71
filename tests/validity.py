"""What providers would refuse in what they are sent, for tests of anything that is sent."""

from __future__ import annotations

import re
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


STAND_IN = re.compile(r"\[([\w./-]+) not shown\]")


def unnoted(context: CompiledContext) -> list[tuple[str, str]]:
    """What a provider is sent a stand-in for without a note."""
    stored = str(context.messages)
    return [
        (provider, kind)
        for provider, request in REQUESTS.items()
        for kind in STAND_IN.findall(str(request(context)))
        if f"[{kind} not shown]" not in stored
        and not any(note.startswith(f"{kind} is not") for note in context.notes_for(provider))
    ]


def violations(context: CompiledContext) -> list[tuple[str, Violation]]:
    """What any provider would refuse in a history, its tools included."""
    return [
        (provider, found)
        for provider, request in REQUESTS.items()
        for found in validate(request(context), provider)
    ]
