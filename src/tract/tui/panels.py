"""Panels around a conversation: the tools at the cursor, and what fills the context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

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
from tract.view.sanitize import one_line, width
from tract.view.tool_changes import diff_text
from tract.view.tool_schemas import tool_lines

HEIGHTS = "▁▂▃▄▅▆▇█"
SHADES = "█▓▒░"
REST = "·"
SHORTEST_BAR = 12
"""Parts differ by their shades: colours are for pairs. What has no shade is one last part."""


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

    DEFAULT_CSS = "TokenBar { height: 2; padding: 0 1; background: $surface; }"

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._shares: list[Share] = []
        self._growth: list[int] = []

    def show(self, snapshot: Snapshot) -> None:
        self._shares, self._growth = shares(snapshot), growth(snapshot)
        self.refresh()

    def render(self) -> Text:
        room = max(self.size.width, 10)
        return Text("\n").join((usage(self._shares, room), chart(self._growth, room)))


def usage(shares_now: Sequence[Share], room: int) -> Text:
    """The tokens of the context, what they are of and, where there is room, a bar of that."""
    total, parts = sum(share.tokens for share in shares_now), largest(shares_now)
    text = Text(f"context {short(total)} tokens", no_wrap=True)
    words = [f"{one_line(share.name)} {short(share.tokens)}" for share in parts]
    spare = room - width(text.plain) - sum(len("  █ ") + width(word) for word in words)
    if spare > SHORTEST_BAR:
        text.append(" ").append(bar([share.tokens for share in parts], min(spare, room // 3) - 1))
        words = [f"{sign} {word}" for sign, word in zip(SHADES + REST, words, strict=False)]
    for number, word in enumerate(words):
        is_last = number == len(words) - 1
        if width(text.plain) + 2 + width(word) + (0 if is_last else 2) > room:
            return text.append(" …")
        text.append(f"  {word}")
    return text


def largest(parts: Iterable[Share]) -> list[Share]:
    """As many parts as there are shades, the largest first, and the sum of all others."""
    ranked = sorted(parts, key=lambda share: -share.tokens)
    if len(ranked) <= len(SHADES + REST):
        return ranked
    rest = sum(share.tokens for share in ranked[len(SHADES) :])
    return [*ranked[: len(SHADES)], Share("other", rest)]


def bar(sizes: Sequence[int], room: int) -> Text:
    """Each part as long as its share."""
    total = sum(sizes)
    ends = [end * room // total for end in accumulate(sizes)] if total else []
    lengths = (end - start for start, end in pairwise([0, *ends]))
    return Text("".join(sign * n for sign, n in zip(SHADES + REST, lengths, strict=False)))


def chart(sizes: Sequence[int], room: int) -> Text:
    """One bar for each answer, or for as many as fit: the context that it was given."""
    text = Text(no_wrap=True)
    if not sizes:
        return text.append("no answers yet", "dim")
    most = max(*sizes, 1)
    text.append(f"context per answer, peak {short(max(sizes))} tokens ")
    columns = max(room - len(text.plain), 1)
    if len(sizes) > columns:
        sizes = [max(part) for part in _parts(sizes, columns)]
    return text.append("".join(HEIGHTS[n * (len(HEIGHTS) - 1) // most] for n in sizes))


def _parts(sizes: Sequence[int], columns: int) -> Iterator[Sequence[int]]:
    """The sizes in this many parts of about the same length."""
    ends = [column * len(sizes) // columns for column in range(columns + 1)]
    return (sizes[start:end] for start, end in pairwise(ends))
