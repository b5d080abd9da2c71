"""Prompts that a person typed while Claude Code was working.

One that is taken from the queue has a line of its own, but older versions sent it to the model
without writing one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tract.importers.coerce import as_dict, as_list, as_text, as_time
from tract.model import Json

MAX_WAITING = 100


class PromptQueue:
    """The prompts that wait, and those that were taken and have no line."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._taken: list[tuple[str, datetime | None]] = []

    def change(self, line: dict[str, Json]) -> None:
        text = as_text(line.get("content"))
        match line.get("operation"):
            case "enqueue" if text:
                self._waiting = [*self._waiting[-MAX_WAITING:], text]
            case "remove" if self._waiting:
                self._taken.append((self._waiting.pop(0), as_time(line.get("timestamp"))))
            case "dequeue" if self._waiting:
                self._waiting.pop(0)  # a line of its own follows
            case "popAll":
                self._waiting.clear()  # back into the input field

    def drop(self, content: Json) -> None:
        """Forget the prompts that a line has."""
        texts = [content, *(as_dict(part).get("text") for part in as_list(content))]
        self.drop_sent(lambda text: text in texts)
        self._waiting = [text for text in self._waiting if text not in texts]

    def drop_sent(self, is_sent: Callable[[str], bool]) -> None:
        """Forget the prompts that were taken and are in a request."""
        self._taken = [prompt for prompt in self._taken if not is_sent(prompt[0])]

    def take(self) -> list[tuple[str, datetime | None]]:
        """The prompts that have no line, with their times."""
        taken, self._taken = self._taken, []
        return taken
