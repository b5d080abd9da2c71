"""The list of dialogs as lines: its columns, their order, and how they share the room. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from tract.economy.accounting import bill_text
from tract.economy.listing import ListedDialog, age, model_label
from tract.view.lines import Line, Styled
from tract.view.numbers import short
from tract.view.sanitize import counted, cut, one_line, width

GAP = 1
NARROWEST = 27  # columns of the title


class Column(NamedTuple):
    name: str
    width: int
    """How wide it is at least."""
    text: Callable[[ListedDialog], str]
    key: Callable[[ListedDialog], Any]
    """What it is sorted by; None comes last in either direction."""
    is_number: bool = False
    style: str = ""


def _title(dialog: ListedDialog) -> str:
    return dialog.label.casefold()


def _model(dialog: ListedDialog) -> str | None:
    """Without the maker and the date: those are in the line below the list."""
    return model_label(dialog.model) if dialog.model else None


def _dollars(dialog: ListedDialog) -> tuple[Decimal, int] | None:
    cost = dialog.cost
    has_cost = cost is not None and bool(cost.usage.tokens or cost.dollars)
    return (cost.dollars or Decimal(0), cost.usage.tokens) if cost and has_cost else None


def _cost(dialog: ListedDialog) -> str:
    """The money; without a price the tokens that were billed."""
    cost = dialog.cost
    if cost is None:
        return "…"
    is_unpriced = cost.dollars is None and cost.usage.tokens
    return f"{short(cost.usage.tokens)} tok" if is_unpriced else bill_text(cost)


def _errors(dialog: ListedDialog) -> int:
    return dialog.info.errors


COLUMNS = (
    Column("title", NARROWEST, lambda d: d.label, _title, style="bold"),
    Column("project", 9, lambda d: d.project or "", lambda d: d.project),
    Column("model", 10, lambda d: _model(d) or "", _model),
    Column("commits", 7, lambda d: str(d.info.commits), lambda d: d.info.commits, True),
    Column("tokens", 6, lambda d: short(d.info.tokens), lambda d: d.info.tokens, True),
    Column("cost", 8, _cost, _dollars, True),
    Column("errors", 6, lambda d: str(d.info.errors or ""), _errors, True, "error"),
    Column("age", 4, lambda d: age(d.time), lambda d: -d.time.timestamp(), True),
)
BY_NAME = {column.name: column for column in COLUMNS}
GROWTH = (
    ("title", 36),
    ("model", 12),
    ("project", 14),
    ("title", 60),
    ("model", 18),
    ("project", 20),
)
"""Which columns grow, and how far, where there is room; the title has what is left."""
DROPPED = ("errors", "project", "commits", "model", "tokens", "cost", "age")
"""Which columns go first where there is no room."""
ASCENDING = ("title", "project", "model", "age")


class Order(NamedTuple):
    column: str = "age"
    descends: bool = False

    def other(self, column: str) -> Order:
        """By another column, texts from a to z, the youngest first, numbers from the largest on;
        the same column once more turns the order around."""
        if column == self.column:
            return Order(column, not self.descends)
        return Order(column, column not in ASCENDING)

    def next(self) -> Order:
        names = list(BY_NAME)
        return self.other(names[(names.index(self.column) + 1) % len(names)])


def ordered(dialogs: Iterable[ListedDialog], order: Order) -> list[ListedDialog]:
    """The newest first among equals."""
    key = BY_NAME[order.column].key
    newest = sorted(dialogs, key=lambda dialog: dialog.time, reverse=True)
    there = [dialog for dialog in newest if key(dialog) is not None]
    missing = [dialog for dialog in newest if key(dialog) is None]
    return sorted(there, key=key, reverse=order.descends) + missing


def column_widths(room: int) -> dict[str, int]:
    """The columns that fit, and how wide each is."""
    widths = {column.name: column.width for column in COLUMNS}
    for name in DROPPED:
        if _used(widths) > room:
            del widths[name]
    for name, most in GROWTH:
        if name in widths:
            spare = max(room - _used(widths), 0)
            widths[name] += min(spare, most - widths[name])
    widths["title"] += room - _used(widths)
    return widths


def _used(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)


def head_line(widths: Mapping[str, int], order: Order) -> Line:
    """The names of the columns. An arrow marks the one that the list is sorted by."""
    arrow = "▼" if order.descends else "▲"
    texts = {
        name: f"{name[: room - 1]}{arrow}" if name == order.column else name
        for name, room in widths.items()
    }
    return _line(_cell(name, text, widths[name], "bold") for name, text in texts.items())


def column_at(widths: Mapping[str, int], x: int) -> str | None:
    """The column at this position of the line."""
    for name, room in widths.items():
        if x < room + GAP:
            return name
        x -= room + GAP
    return None


def dialog_line(dialog: ListedDialog, widths: Mapping[str, int]) -> Line:
    columns = (BY_NAME[name] for name in widths)
    return _line(_cell(c.name, c.text(dialog), widths[c.name], c.style) for c in columns)


def _cell(name: str, text: str, room: int, style: str) -> Styled:
    text = cut(one_line(text), room)
    space = " " * max(room - width(text), 0)
    return Styled(space + text if BY_NAME[name].is_number else text + space, style)


def _line(cells: Iterable[Styled]) -> Line:
    spans: list[Styled] = []
    for cell in cells:
        spans += [Styled(" " * GAP), cell] if spans else [cell]
    return tuple(spans)


def details(dialog: ListedDialog) -> list[str]:
    """What the columns have no room for, in two lines."""
    info, facts = dialog.info, dialog.info.facts
    branches = f" and {info.branches - 1} more" if info.branches > 1 else ""
    start, end = dialog.start, dialog.time
    last = f"{end:%H:%M}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M}"
    words: Sequence[str | None] = (
        info.dialog,
        f"branch {info.branch}{branches}",
        f"{short(info.bytes).upper()}B",
        counted(info.errors, "error") if info.errors else None,
        f"{start:%Y-%m-%d %H:%M}–{last} UTC",
        dialog.model,
        facts.folder,
    )
    return [one_line(dialog.label), one_line(" · ".join(word for word in words if word))]
