"""The first line of a screen: what it shows on the left, and how on the right."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from tract.view.sanitize import cut, one_line, width

LEAST = 12  # columns of the name, however much stands beside it


class Heading(Static):
    DEFAULT_CSS = """
    Heading { height: 1; background: $primary; color: $text; padding: 0 1; text-wrap: nowrap; }
    """

    def __init__(self, name: str = "", state: str = "") -> None:
        super().__init__(markup=False)
        self._left, self._right = name, state

    def show(self, name: str, state: str) -> None:
        self._left, self._right = name, state
        self.refresh()

    def render(self) -> Text:
        return heading(one_line(self._left), one_line(self._right), self.size.width)


def heading(name: str, state: str, room: int) -> Text:
    """The name is cut before the state is."""
    state = cut(state, max(room - LEAST - 2, 0)) if state else ""
    name = cut(name, max(room - width(state) - 2, 1))
    space = " " * max(room - width(name) - width(state), 1)
    text = Text(name, style="bold", no_wrap=True)
    return text.append(space + state if state else "", "not bold")
