"""A model that answers from a script: for tests, examples and demos."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any

from tract.context import CompiledContext
from tract.errors import InputError, LLMCallError
from tract.llm.protocol import OnText
from tract.model import Json
from tract.providers import load_answer
from tract.reprs import brief

Reply = (
    str
    | dict[str, Json]
    | BaseException
    | type[BaseException]
    | Callable[[CompiledContext], Any]  # which returns one of the others
)

PIECE = 12  # characters that come at once


class ScriptedLLM:
    """Returns its replies one after the other, and keeps the requests. Threads may share it.

    A reply is a text, a response or a message in any provider's format, an exception, which is
    raised, or a function that is called with the context and returns one of these.
    """

    def __init__(
        self, replies: Iterable[Reply], *, model: str = "scripted", window: int = 100_000
    ) -> None:
        if isinstance(replies, str | dict):
            raise InputError(f"replies is a list of them, not one {type(replies).__name__}")
        self.model = model
        self.window = window
        self.requests: list[CompiledContext] = []
        self.configs: list[dict[str, Json]] = []
        """The parameters of each request, `{}` where there were none."""
        self._replies = list(replies)
        self._lock = Lock()

    def __repr__(self) -> str:
        return brief(self, self.model, f"{len(self.requests)} of {len(self._replies)} replies")

    def complete(
        self,
        context: CompiledContext,
        *,
        config: Mapping[str, Json] | None = None,
        on_text: OnText | None = None,
    ) -> dict[str, Json]:
        with self._lock:
            turn = len(self.requests)
            self.requests.append(context)
            self.configs.append(dict(config or {}))
        if turn >= len(self._replies):
            raise LLMCallError(f"{self.model}: the script is over, it had {len(self._replies)}")
        answer = _answer(self._replies[turn], context)
        if on_text:
            for piece in _pieces(answer):
                on_text(piece)
        return answer


def _answer(reply: Any, context: CompiledContext) -> dict[str, Json]:
    is_error_class = isinstance(reply, type) and issubclass(reply, BaseException)
    if isinstance(reply, BaseException) or is_error_class:
        raise reply
    if isinstance(reply, str):
        return {"role": "assistant", "content": reply}
    if isinstance(reply, dict):
        return reply
    if callable(reply):
        return _answer(reply(context), context)
    raise InputError(f"a reply is a text, a dict, an error or a function, not {reply!r:.200}")


def _pieces(answer: dict[str, Json]) -> list[str]:
    """The text in several pieces, as a stream brings it."""
    try:
        text = load_answer(answer).message.text
    except InputError:  # no answer: the caller will say so
        return []
    size = max(1, min(PIECE, (len(text) + 1) // 2))
    return [text[start : start + size] for start in range(0, len(text), size)]
