"""What tract asks of a model: one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tract.context import CompiledContext
from tract.errors import InputError
from tract.model import Json

OnText = Callable[[str], None]


class LLMClient(Protocol):
    """A model. Any object that has these three can be passed to `Tract.open(llm=…)`."""

    @property
    def model(self) -> str:
        """Its name, which is stored with what it answers."""

    @property
    def window(self) -> int:
        """How many tokens it can read and write together."""

    def complete(
        self,
        context: CompiledContext,
        *,
        config: Mapping[str, Json] | None = None,
        on_text: OnText | None = None,
    ) -> Any:
        """The answer to a context, as the provider returned it: an SDK's object, or its dict.
        `config` are the provider's parameters, such as `temperature`. `on_text` is called with
        each piece of text as it comes. A failure is an `LLMCallError`."""


def check_client(client: object) -> None:
    """Refuse what cannot answer, before it is asked."""
    if client is None:
        return
    if not callable(getattr(client, "complete", None)):
        raise InputError(f"an llm is a client with complete(), not {client!r:.80}")
    window = getattr(client, "window", None)
    if type(window) is not int or not isinstance(getattr(client, "model", None), str):
        raise InputError(f"an llm has a model and a window: {client!r:.80}")
