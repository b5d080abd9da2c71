"""Panels around a conversation: the tools at the cursor, and what fills the context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from rich.style import Style
from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from tract.core.chain import Place
from tract.providers.toolsets import diff
from tract.snapshot import Snapshot
from tract.tui.segments import to_text
from tract.view.context_usage import Share, growth, shares
from tract.view.lines import Line, Styled
from tract.view.numbers import short
from tract.view.palette import PALETTE
from tract.view.sanitize import counted, one_line, width
from tract.view.tool_changes import diff_text
from tract.view.tool_schemas import tool_lines

HEIGHTS = "▁▂▃▄▅▆▇█"
SOLID, SHADES = "█", ("▓", "▒", "░")


class ToolsPanel(VerticalScroll, can_focus=False):
    """The tools that the model had at a message, and their last change."""

    DEFAULT_CSS = """
    ToolsPanel { width: 40%; max-width: 60; border-left: solid $primary; padding: 0 1;
                 display: none; }
    ToolsPanel.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._tools_key: object = None

    def compose(self) -> Iterator[Static]:
        yield Static(markup=False)

    def show(self, snapshot: Snapshot, place: Place | None) -> None:
        """Show the tools at this message."""
        last = float("inf") if place is None else place.origin.id
        known = [toolset for step, toolset in snapshot.toolsets if step.id <= last]
        key = known[-1].hash if known else None, len(known)
        if key == self._tools_key:
            return
        self._tools_key = key
        now, before = (known[-1], known[-2] if len(known) > 1 else None) if known else (None, None)
        change = diff(before or now, now)
        head: list[Line] = [(Styled("Tools at this point", "bold"),)]
        if now and before:
            head.append((Styled(f"set {len(known)}: {diff_text(change) or 'reworded'}", "note"),))
        self.query_one(Static).update(to_text([*head, (), *tool_lines(now, change)]))
        self.scroll_home(animate=False)


class TokenBar(Static):
    """What fills the context, and how it grew from answer to answer."""

    DEFAULT_CSS = "TokenBar { height: 3; padding: 0 1; background: $surface; }"

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._shares: list[Share] = []
        self._growth: list[int] = []

    def show(self, snapshot: Snapshot) -> None:
        self._shares, self._growth = shares(snapshot), growth(snapshot)
        self.refresh()

    def render(self) -> Text:
        room = max(self.size.width, 10)
        rows = (bar(self._shares, room), legend(self._shares, room), chart(self._growth, room))
        return Text("\n").join(rows)


def bar(parts: Sequence[Share], room: int) -> Text:
    """The full context, each part as long as its share."""
    total, text = sum(share.tokens for share in parts), Text(no_wrap=True)
    ends = [end * room // total for end in accumulate(s.tokens for s in parts)] if total else []
    start = 0
    for number, (share, end) in enumerate(zip(parts, ends, strict=True)):
        text.append(_sign(number, share) * (end - start), _style(number, share))
        start = end
    return text


def legend(parts: Sequence[Share], room: int) -> Text:
    """The names of the parts, the largest first, as far as there is room."""
    total, text = sum(share.tokens for share in parts), Text(no_wrap=True)
    text.append(f"{short(total)} tokens", "bold")
    for number, share in sorted(enumerate(parts), key=lambda entry: -entry[1].tokens):
        words = f" {one_line(share.name)} {short(share.tokens)}"
        if width(text.plain) + len("  █") + width(words) + len(" …") > room:
            text.append(" …", "dim")
            break
        text.append("  " + _sign(number, share), _style(number, share))
        text.append(words)
    return text


def chart(sizes: Sequence[int], room: int) -> Text:
    """One bar for each answer, or for as many as fit; and the largest size."""
    text = Text(no_wrap=True)
    if not sizes:
        return text.append("no answers yet", "dim")
    most = max(*sizes, 1)
    label = f"{counted(len(sizes), 'answer')}, at most {short(max(sizes))} tokens of context "
    columns = max(room - len(label), 1)
    if len(sizes) > columns:
        sizes = [sizes[column * len(sizes) // columns] for column in range(columns)]
    text.append(label, "dim")
    text.append("".join(HEIGHTS[n * (len(HEIGHTS) - 1) // most] for n in sizes), "cyan")
    return text


def _sign(number: int, share: Share) -> str:
    """Parts differ by more than their colours."""
    return SOLID if share.is_result else SHADES[number % len(SHADES)]


def _style(number: int, share: Share) -> Style:
    return Style(color=PALETTE[number % len(PALETTE)].web) if share.is_result else Style()
