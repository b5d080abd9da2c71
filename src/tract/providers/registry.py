"""The providers by name. A fifth one is a line here."""

from __future__ import annotations

from tract.errors import InputError
from tract.providers.anthropic import Anthropic
from tract.providers.base import Provider
from tract.providers.gemini import Gemini
from tract.providers.openai_chat import OpenAIChat
from tract.providers.openai_responses import OpenAIResponses

PROVIDERS: dict[str, Provider] = {
    known.name: known for known in (OpenAIChat(), Anthropic(), OpenAIResponses(), Gemini())
}


def provider(name: str, error: type[InputError] = InputError) -> Provider:
    """The provider of this name."""
    if name not in list(PROVIDERS):
        raise error(f"unknown provider {name!r}; expected one of {', '.join(PROVIDERS)}")
    return PROVIDERS[name]
