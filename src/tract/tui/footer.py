"""The last line of a screen: the keys that work here and now. Each can be clicked, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.style import Style
from rich.text import Text
from textual.widgets import Static

from tract.view.sanitize import width

GAP = "  "


class Hint(NamedTuple):
    """A key as people write it, what it does, and the action that a click on it runs."""

    key: str
    words: str
    action: str

    @property
    def width(self) -> int:
        return width(f"{self.key} {self.words}")


class Footer(Static):
    """Hints, as many as fit."""

    DEFAULT_CSS = """
    Footer { height: 1; background: $surface; padding: 0 1; link-style: none; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._hints: Sequence[Hint] = ()
        self._last: Sequence[Hint] = ()

    def show(self, hints: Sequence[Hint], last: Sequence[Hint]) -> None:
        """The most useful hint comes first. Those that come last are always there."""
        if (hints, last) != (self._hints, self._last):
            self._hints, self._last = hints, last
            self.refresh()

    def render(self) -> Text:
        return hint_text(fitting(self._hints, self._last, self.size.width))


def fitting(hints: Iterable[Hint], last: Sequence[Hint], room: int) -> Iterator[Hint]:
    """The first hints as far as there is room, then the last ones. None is cut."""
    room -= sum(hint.width + len(GAP) for hint in last)
    for hint in hints:
        room -= hint.width + len(GAP)
        if room < -len(GAP):
            break
        yield hint
    yield from last


def hint_text(hints: Iterable[Hint]) -> Text:
    text = Text(no_wrap=True)
    for hint in hints:
        text.append(GAP if text else "")
        click = {"@click": hint.action}
        text.append(hint.key, Style(bold=True, meta=click))
        text.append(f" {hint.words}", Style(dim=True, meta=click))
    return text
