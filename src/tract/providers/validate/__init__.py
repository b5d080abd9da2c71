"""Whether a provider would accept a request, as far as that can be seen without asking it.

The rules are written from the providers' documentation alone: they share nothing with the modules
that write requests, so that they can judge them. Only the provider is detected as everywhere.
"""

from __future__ import annotations

from tract.errors import InputError
from tract.model import Json
from tract.providers.detect import detect
from tract.providers.validate import anthropic, gemini, openai_chat, openai_responses
from tract.providers.validate.violations import Violation, shown

__all__ = ["Violation", "validate"]

VALIDATORS = {
    "anthropic": anthropic.violations,
    "openai": openai_chat.violations,
    "responses": openai_responses.violations,
    "gemini": gemini.violations,
}
OTHER_NAMES = {"openai_chat": "openai", "openai_responses": "responses"}


def validate(
    params: Json, provider: str | None = None, *, is_request: bool = False
) -> list[Violation]:
    """What a provider would refuse in a request, or in its list of messages, input or contents.

    A history may end with the assistant, a request (`is_request`) may not where the model refuses
    it. Calls without results are a fault in both. Without a name, the provider is detected.
    """
    name = OTHER_NAMES.get(provider, provider) if provider is not None else detect(params)
    if name is None:
        message = f"no provider accepts {shown(params)} of this shape"
        return [Violation("unknown-provider", "", message)]
    if name not in VALIDATORS:
        raise InputError(f"unknown provider {name!r}; expected one of {', '.join(VALIDATORS)}")
    return VALIDATORS[name](params, is_request=is_request)
