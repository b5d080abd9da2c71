"""What a page asks for, and what it is answered: see `view`, which makes most of it."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from tract.model import Json
from tract.remote.values import Paged
from tract.view.comparison import ContextTotals
from tract.view.rows import Prompt, Row


class Spot(Struct, frozen=True):
    """Where a link leads."""

    row: int
    key: str
    """The message that it names, which may be a result in the row of its call."""


class View(Struct, frozen=True, kw_only=True):
    """A dialog as a page first shows it."""

    dialog: str
    label: str
    branch: str
    detached: bool
    """Whether it is shown at an earlier commit."""
    head: str | None
    branches: dict[str, str | None]
    checked_out: str
    """The branch that the dialog continues on."""
    is_writable: bool
    """Whether the token may change it."""
    total: int
    """How many rows there are."""
    start: int
    rows: list[Row]
    spot: Spot | None = None


class ViewParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET
    """A commit; by default the newest one."""
    commit: str | UnsetType = UNSET
    """The message to show first."""
    call: str | UnsetType = UNSET
    """The same by the id of a call."""
    count: int = 50


class RowsParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET
    start: int = 0
    count: int = 200
    known: str | UnsetType = UNSET
    """The commit up to which the page has the rows: begin with the first that differs."""
    nodes: bool = False
    """Whether texts come as they are drawn."""


class Rows(Struct, frozen=True):
    """Some rows of a dialog."""

    head: str | None
    total: int
    start: int
    rows: list[Row]
    prompts: list[Prompt] | UnsetType = UNSET
    """The index, if the page said what it knows."""


class ViewFactsParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET


class Related(Struct, frozen=True):
    """Another dialog that belongs to this one."""

    dialog: str
    label: str


class PageFacts(Struct, frozen=True):
    """What a dialog is about."""

    pairs: list[tuple[str, str]]
    files: list[str]
    """The files that were changed."""
    tools: dict[str, int]
    """How often each tool was called."""
    parent: Related | None = None
    children: list[Related] = []
    """The dialogs of its sub-agents."""


class BodyParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET
    commit: str
    block: int = 0
    sent: bool = False
    """What the model is sent, instead of what is stored."""
    line: int = 1
    column: int = 0


class BodyLine(Struct, frozen=True):
    """A line of a long text: pieces with their styles."""

    number: int
    pieces: list[tuple[str, str]]
    column: int = 0


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a block contains: nodes, or a part of its lines."""

    nodes: Json = None
    lines: list[BodyLine] | None = None
    total: int = 0
    """The lines of the full text."""
    next: tuple[int, int] | None = None
    """The line and the column where the rest begins."""
    is_json: bool = False
    """Whether it can be shown as a tree."""
    is_editable: bool = False


class TextParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET
    commit: str
    block: int = 0
    sent: bool = False


class WholeText(Struct, frozen=True):
    text: str
    commit: str
    """The version that it is from."""


class PictureParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET
    commit: str
    block: int = 0
    number: int = 0
    """Which image of the block, counted from 0."""
    sent: bool = False


class FindParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    text: str
    at: str | UnsetType = UNSET
    start: int = 0
    """The row to begin with."""
    sent: bool = False


class Match(Struct, frozen=True):
    """Where a text was found in a block."""

    row: int
    key: str
    block: int
    count: int
    line: int
    """The line of the first one."""
    spots: list[tuple[int, int]]
    """The line and the column of each, up to a limit. Line 0 is the head of a call or a result."""


class Found(Struct, frozen=True):
    """Matches in some rows."""

    matches: list[Match]
    next: int | None
    """The row to continue with; None at the end."""
    total: int


class RewordParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    commit: str
    """The version that the text is from. Another one by now is a conflict."""
    text: str
    block: int = 0
    message: str | None = None


class PreviewParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    operation: str
    """The name of an operation that changes the dialog, such as `reshape`."""
    arguments: dict[str, Json] = {}


class Preview(Struct, frozen=True):
    """What a change would do to a request."""

    before: int
    """Tokens of the messages and the tools."""
    after: int
    messages_before: int
    messages_after: int
    note: str = ""


class ChartParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET


class ToolsParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET
    commit: str | UnsetType = UNSET
    """The message at which the tools are in force; by default the newest."""


class RequestParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    provider: str = "anthropic"
    at: str | UnsetType = UNSET
    """A commit. `HASH^` is the one before it: what an answer was given to."""


class UnitHead(Struct, frozen=True):
    """A part of a request: a setting, the system text, a tool or a message."""

    label: str
    size: int
    """Its bytes."""
    first: str
    """Its first line with content."""
    is_breakpoint: bool = False
    """Whether the provider is asked to cache everything up to here."""


class CacheRead(Struct, frozen=True):
    """What the provider read from its cache, as it reported."""

    tokens: int
    sent: int
    unit: int
    """The number of the unit up to which that reaches, by size."""


class RequestView(Struct, frozen=True, kw_only=True):
    """A request in parts."""

    provider: str
    at: str | None
    tokens: int
    tool_tokens: int
    notes: list[str]
    """What had to be repaired."""
    units: list[UnitHead]
    cache: CacheRead | None = None


class UnitParameters(RequestParameters, kw_only=True):
    unit: int = 0
    line: int = 1
    column: int = 0


class ComparisonParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    old: str
    """A commit or a branch. `HASH^` is the commit before."""
    new: str
    provider: str | UnsetType = UNSET
    """Compare the requests to this provider; by default the messages as people read them."""


class ComparedPair(Struct, frozen=True):
    """Two parts that correspond; one of them may be missing."""

    kind: str
    """`same`, `changed`, `added` or `removed`."""
    label: str
    old: int | None
    new: int | None


class Comparison(Struct, frozen=True, kw_only=True):
    """The difference of two requests, or of two histories."""

    old: ContextTotals
    new: ContextTotals
    tools: str
    """How the tools differ, in words."""
    pairs: list[ComparedPair]


class DifferenceParameters(ComparisonParameters, kw_only=True):
    old_unit: int | UnsetType = UNSET
    new_unit: int | UnsetType = UNSET


class TreeParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    at: str | UnsetType = UNSET
    commit: str
    block: int = 0
    sent: bool = False
    path: str = "[]"
    """A JSON list of keys and positions."""
    start: int = 0


class GraphParameters(Paged, kw_only=True):
    pass


class GraphItem(Struct, frozen=True, kw_only=True):
    """A commit in the graph."""

    commit: str
    what: str
    """The role of a message, or what else the commit does."""
    text: str
    time: datetime | None
    tokens: int
    column: int
    lines: list[tuple[int, int]]
    """From which column to which the lines to the next row run."""
    branches: list[str]


class DetailsParameters(Struct, forbid_unknown_fields=True, kw_only=True):
    dialog: list[str]
    """The dialogs to describe, at most 100."""
