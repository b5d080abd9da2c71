"""Modal screens: a question, a choice, an editor, the help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from tract.errors import TractError
from tract.tui.segments import to_text
from tract.view.lines import Line
from tract.view.sanitize import one_line, visible

CSS = """
{name} {{ align: center middle; }}
{name} > .box {{
    width: 80%; max-width: 120; height: auto; max-height: 90%;
    border: round $primary; background: $surface; padding: 0 1;
}}
"""


def title(text: str) -> Static:
    return Static(Text(one_line(text), style="bold"), markup=False)


class Field(Input):
    """An input line."""

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text may contain control characters."""
        event.text = visible(event.text)


class Ask(ModalScreen[str | None]):
    """A question with an answer on one line."""

    DEFAULT_CSS = CSS.format(name="Ask")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, question: str, answer: str = "") -> None:
        super().__init__()
        self._question, self._answer = question, answer

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield title(self._question)
            yield Field(self._answer)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class Pick(ModalScreen[str | None]):
    """A choice of one option."""

    DEFAULT_CSS = CSS.format(name="Pick")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, question: str, choices: Iterable[str]) -> None:
        super().__init__()
        self._question, self._choices = question, list(choices)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield title(self._question)
            yield OptionList(*(Option(Text(one_line(choice))) for choice in self._choices))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._choices[event.option_index])


class _OneCell(dict[int, str]):
    """One harmless character for each, so that the columns of the editor stay aligned."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        is_harmless = visible(char) == char and char not in "\u200c\u200d"
        self[code] = char if is_harmless else chr(0x2400 + code) if code < 0x20 else "·"
        return self[code]


_ONE_CELL = _OneCell()


_PRIVATE = range(0xF0000, 0xFFFFE)


class Editor(TextArea):
    """An editor that shows control characters as symbols and keeps them in the text. Internally,
    private-use characters stand in for them: TextArea would treat some as line ends and hide
    others."""

    def __init__(self, text: str) -> None:
        odd = sorted({char for char in text if char not in "\n\t" and _ONE_CELL[ord(char)] != char})
        unused = (code for code in _PRIVATE if chr(code) not in text)
        self._stand_ins = dict(zip(unused, odd, strict=False))
        instead = {ord(char): code for code, char in self._stand_ins.items()}
        super().__init__(text.translate(instead), soft_wrap=False)

    @property
    def whole(self) -> str:
        """The text with its original characters."""
        return self.text.translate(self._stand_ins)

    def get_line(self, line_index: int) -> Text:
        line = self.document.get_line(line_index).translate(self._stand_ins)
        return Text(line.translate(_ONE_CELL), end="", no_wrap=True)


class Edit(ModalScreen[None]):
    """An editor that stays open until the text is saved or the edit is cancelled."""

    DEFAULT_CSS = CSS.format(name="Edit") + "Edit > .box { height: 90%; } Editor { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", show=False),
        Binding("ctrl+s", "save", show=False, priority=True),
    ]

    def __init__(self, what: str, text: str, save: Callable[[str], None]) -> None:
        """`save` is called with the text if it was changed. Its errors are shown."""
        super().__init__()
        self._what, self._text, self._save = what, text, save

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield title(f"{self._what} · ctrl+s: save · escape: cancel")
            yield Editor(self._text)
            yield Static(id="fault", markup=False)

    def on_mount(self) -> None:
        self.query_one(Editor).focus()

    def action_save(self) -> None:
        text = self.query_one(Editor).whole
        try:
            if text != self._text:
                self._save(text)
        except TractError as error:
            fault = Text(one_line(str(error)), style="red")
            self.query_one("#fault", Static).update(fault)
            return
        self.dismiss()


class Page(ModalScreen[None]):
    """Something to read."""

    DEFAULT_CSS = CSS.format(name="Page") + "Page > .box { width: 100%; max-width: 78; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss(None)", show=False)
    ]

    def __init__(self, what: str, lines: Iterable[Line]) -> None:
        super().__init__()
        self._what, self._lines = what, list(lines)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box"):
            yield title(self._what)
            yield Static(to_text(self._lines), markup=False)
