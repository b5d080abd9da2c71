"""What a page shows of one dialog: its rows, what they contain, and what changes would do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace

from tract.core.chain import Place
from tract.economy.listing import DetailsCache, DialogDetails, dialog_rows
from tract.economy.requests import Chart, requests_of
from tract.economy.tools import ToolsAt, called_tools, tools_at
from tract.errors import ConflictError, InputError, NotFoundError
from tract.model import CommitInfo, DialogFacts, Json, Message
from tract.providers import parsed
from tract.remote import wire
from tract.remote.operations import BY_NAME, WRITE
from tract.remote.views import (
    Body,
    BodyLine,
    Found,
    Match,
    PageFacts,
    Preview,
    Related,
    Rows,
    Spot,
    View,
    WholeText,
)
from tract.storage.titles import each_titled_dialog
from tract.tract import Tract
from tract.view.blocks import (
    OtherBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    ViewBlock,
)
from tract.view.bodies import argument_nodes, image_nodes, other_nodes, text_nodes, thinking_nodes
from tract.view.code import highlight_block
from tract.view.edits import file_edits
from tract.view.facts import fact_pairs, short_paths
from tract.view.filter import text_of
from tract.view.images import Image, image_of
from tract.view.json_tree import JsonBranch, branch_of, descend
from tract.view.lines import BODY, Styled, pretty
from tract.view.markdown import markdown_nodes
from tract.view.nodes import Element
from tract.view.parts import Place as Begin
from tract.view.parts import part_of
from tract.view.prompts import dialog_label
from tract.view.rewording import text_to_edit, with_new_text
from tract.view.sanitize import one_line, visible
from tract.web.methods import Page, Request, call, commit_name, page
from tract.web.reading import limit_of
from tract.web.sheets import Sheet, Sheets

MOST_ROWS = 1000
MOST_DETAILS = 100
SECTION = 25
"""Rows that a page draws at a time."""
MANY = 100
"""Rows from which on the moments of all messages are read at once."""
LONGEST_NODES = 40_000
"""Characters of a body that is sent as nodes; a longer one comes in parts."""
MOST_CHILDREN, MOST_CHARACTERS = 200, 20_000
"""Of a JSON value, and of a string in it, that are sent at once."""
FINDING_SECONDS = 0.15
"""How long one request looks for a text: other requests for the dialog wait for it."""
WARMED = 20
"""Titles that are read at once while others may wait."""
MOST_SPOTS = 1000
"""Places in a block that are told one by one."""
CHANGES = frozenset(
    name
    for name, operation in BY_NAME.items()
    if operation.scope == WRITE and operation.path_names == ["dialog"] and hasattr(Tract, name)
) | {"reword"}
"""What can be tried."""


class Views:
    """Answers what a page asks about a dialog. Each method runs on the dialog's lane."""

    def __init__(self, sheets: Sheets) -> None:
        self._sheets = sheets
        self._details = DetailsCache(sheets.prices)

    def warm(self, tract: Tract) -> Iterator[None]:
        """Load what a first page would wait for: Markdown and languages, prices, the vocabulary,
        titles of dialogs. Yields wherever others may go first."""
        markdown_nodes("```python\n1\n```")
        yield
        self._sheets.prices.price("claude")
        yield
        tract.tokens.count("zyzzyvaproof")  # no token of its own: how to join tokens is loaded too
        yield
        for number, _ in enumerate(each_titled_dialog(tract.store)):
            if number % WARMED == 0:
                yield

    # The list, on the lane for what concerns more than one dialog

    def view_dialogs(self, tract: Tract, request: Request) -> Page:
        """The dialogs of the token, newest first."""
        covers = request.grant.covers
        rows = dialog_rows(info for info in tract.dialogs() if covers(info.dialog))
        own = (row if covers(row.parent) else replace(row, parent="") for row in rows)
        return page(own, request.fields.get("cursor"), limit_of(request))

    def view_details(self, tract: Tract, request: Request) -> list[DialogDetails]:
        """What takes longer to read of some dialogs. Those that are gone are left out."""
        names = set(request.fields["dialog"])
        if len(names) > MOST_DETAILS:
            raise InputError(f"at most {MOST_DETAILS} dialogs at once, not {len(names)}")
        infos = tract.dialogs()
        self._details.keep_only(infos)
        mine = [i for i in infos if i.dialog in names and request.grant.covers(i.dialog)]
        return [self._details.read(tract, info) for info in mine]

    # One dialog

    def sheet(self, tract: Tract, request: Request) -> Sheet:
        """The dialog as the request wants it."""
        return self._sheets.sheet(tract, commit_name(tract, request.fields.get("at")))

    # Rows

    def view_page(self, tract: Tract, request: Request) -> View:
        """A dialog as a page first shows it."""
        sheet, fields = self.sheet(tract, request), request.fields
        spot, count = _spot(sheet, fields), _count(fields["count"])
        start = _start_around(spot.row, count) if spot else 0
        session = tract.session
        checked_out, _ = tract.store.dialogs.checked_out(tract.dialog) or (session.branch, None)
        return View(
            dialog=tract.dialog,
            label=_label(tract, sheet.rows.first_prompt()),
            branch=session.branch,
            detached="at" in fields or session.detached is not None,
            head=sheet.head,
            branches=tract.branches(),
            checked_out=checked_out,
            is_writable=request.grant.allows(WRITE),
            total=len(sheet.rows),
            start=start,
            rows=list(sheet.rows.rows(start, start + count, has_nodes=True)),
            spot=spot,
        )

    def view_rows(self, tract: Tract, request: Request) -> Rows:
        """Some rows, or those that are new."""
        sheet, fields = self.sheet(tract, request), request.fields
        start, count = _start(fields), _count(fields["count"])
        if "known" in fields:
            start = sheet.first_news(fields["known"])
        elif count >= MANY:
            sheet.moments.load()
        rows = list(sheet.rows.rows(start, start + count, has_nodes=fields["nodes"]))
        answer = Rows(sheet.head, len(sheet.rows), start, rows)
        return replace(answer, prompts=sheet.rows.prompts()) if "known" in fields else answer

    def view_facts(self, tract: Tract, request: Request) -> PageFacts:
        """What a dialog is about."""
        sheet = self.sheet(tract, request)
        infos = tract.dialogs()
        known = next((i.facts for i in infos if i.dialog == tract.dialog), DialogFacts())
        about = sheet.facts(tract, replace(known, parent=None))  # that may be a foreign one
        tools: dict[str, int] = {}
        for place in sheet.snapshot.places:
            for _, name in place.shown.calls:
                tools[one_line(name)] = tools.get(one_line(name), 0) + 1
        related = {info.dialog: info.facts for info in infos if request.grant.covers(info.dialog)}
        children = [name for name, facts in related.items() if facts.parent == tract.dialog]
        return PageFacts(
            [(name, one_line(value)) for name, value in fact_pairs(about)],
            [one_line(path) for path in short_paths(about)],
            dict(sorted(tools.items(), key=lambda item: -item[1])),
            _related(related, known.parent),
            [one for name in children if (one := _related(related, name))],
        )

    def view_chart(self, tract: Tract, request: Request) -> Chart:
        """What each request consisted of."""
        sheet = self.sheet(tract, request)
        return requests_of(sheet.snapshot, sheet.moments)

    def view_tools(self, tract: Tract, request: Request) -> ToolsAt:
        """The tools in force at a message."""
        snapshot = self.sheet(tract, request).snapshot
        return tools_at(snapshot, request.fields.get("commit"), called_tools(snapshot))

    # Bodies

    def view_body(self, tract: Tract, request: Request) -> Body:
        """What a block contains."""
        fields = request.fields
        sheet = self.sheet(tract, request)
        place, blocks = sheet.block(fields["commit"], fields["block"], sent=fields["sent"])
        block, begin = blocks[fields["block"]], begin_of(fields)
        body = _body(block, begin)
        if fields["sent"] or begin != Begin():
            return body
        is_editable = _is_editable(sheet.snapshot.whole(place), block, blocks)
        return replace(body, is_editable=is_editable)

    def view_tree(self, tract: Tract, request: Request) -> JsonBranch:
        """A part of the JSON of a block."""
        fields = request.fields
        sheet = self.sheet(tract, request)
        _, blocks = sheet.block(fields["commit"], fields["block"], sent=fields["sent"])
        path = parsed(fields["path"])
        if not isinstance(path, list) or not all(isinstance(key, str | int) for key in path):
            raise InputError(f"not a JSON list of keys and positions: {fields['path']!r:.80}")
        tree = tree_of(blocks[fields["block"]])
        most = MOST_CHARACTERS if isinstance(descend(tree, path), str) else MOST_CHILDREN
        return branch_of(tree, path, fields["start"], most)

    def view_text(self, tract: Tract, request: Request) -> WholeText:
        """The text of a block as it was written, to be copied or edited."""
        fields = request.fields
        sheet = self.sheet(tract, request)
        place, blocks = sheet.block(fields["commit"], fields["block"], sent=fields["sent"])
        return WholeText(_plain(blocks[fields["block"]]), place.shown.hash.hex())

    def picture(self, tract: Tract, request: Request) -> Image:
        """An image of a block."""
        fields = request.fields
        sheet = self.sheet(tract, request)
        _, blocks = sheet.block(fields["commit"], fields["block"], sent=fields["sent"])
        pictures = map(image_of, _pictures(blocks[fields["block"]]))
        images = [image for image in pictures if image]
        number: int = fields["number"]
        if not 0 <= number < len(images):
            raise NotFoundError(f"this block has {len(images)} images that can be shown")
        return images[number]

    def view_find(self, tract: Tract, request: Request) -> Found:
        """Where a text occurs, in as many rows as fit in a moment."""
        sheet, fields = self.sheet(tract, request), request.fields
        wanted = fields["text"].casefold()
        if not wanted:
            raise InputError("text is empty: there is nothing to find")
        rows, conversation = sheet.rows, sheet.conversation
        end, matches = time.monotonic() + FINDING_SECONDS, list[Match]()
        for at in range(_start(fields), len(rows)):
            for place, number in rows.messages(at):
                blocks = conversation.blocks(number, sent=fields["sent"] or bool(place.sources))
                matches += _matches(at, place, blocks, wanted)
            if time.monotonic() > end and at + 1 < len(rows):
                return Found(matches, at + 1, len(rows))
        return Found(matches, None, len(rows))

    # Changes

    def reword(self, tract: Tract, request: Request) -> CommitInfo:
        """Edit one block as a text."""
        fields = request.fields
        sheet = self._sheets.sheet(tract)
        place, blocks = sheet.block(fields["commit"], fields["block"], sent=False)
        if place.shown.hash.hex() != fields["commit"]:
            raise ConflictError("nothing was saved: this message was changed in the meantime")
        message = sheet.snapshot.whole(place)
        edited = with_new_text(message, blocks[fields["block"]], blocks, fields["text"])
        return tract.commit(edited, edit=fields["commit"], message=fields.get("message"))

    def preview_change(self, tract: Tract, request: Request) -> Preview:
        """What a change would do to a request. It is made, looked at and rolled back."""
        fields = request.fields
        operation = BY_NAME.get(fields["operation"])
        if operation is None or operation.name not in CHANGES:
            raise InputError(f"not a change of a dialog: {fields['operation']!r:.80}")
        params = wire.convert(fields["arguments"], operation.params)
        change = request._replace(operation=operation, params=params)
        other = tract.sibling(tract.dialog)
        other.session.branch, other.session.detached = tract.session.branch, tract.session.detached
        before = other.compile()
        try:
            with other.batch():
                made = (
                    self.reword(other, change)
                    if operation.name == "reword"
                    else call(other, change)
                )
                raise _LookedAt(other.compile(), made)
        except _LookedAt as looked:
            after, note = looked.compiled, looked.note
        return Preview(
            before.token_count, after.token_count, before.commit_count, after.commit_count, note
        )


class _LookedAt(Exception):  # noqa: N818 - it rolls a change back, and is no error
    def __init__(self, compiled: Any, made: Any) -> None:
        super().__init__()
        self.compiled = compiled
        self.note = one_line(getattr(made, "message", None) or "")


def _count(count: int) -> int:
    if not 1 <= count <= MOST_ROWS:
        raise InputError(f"count must be a whole number from 1 to {MOST_ROWS}, not {count}")
    return count


def _start(fields: dict[str, Any]) -> int:
    start: int = fields["start"]
    if start < 0:
        raise InputError(f"rows are counted from 0: there is no row {start}")
    return start


def _start_around(row: int, count: int) -> int:
    """Where a section begins from which on so many rows have this one, near their middle."""
    start = (row - max(count - SECTION, 0) // 2) // SECTION * SECTION
    return max(start, row - count + 1, 0)


def begin_of(fields: dict[str, Any]) -> Begin:
    """Where a part of a text begins."""
    begin = Begin(fields["line"], fields["column"])
    if begin.line < 1 or begin.column < 0:
        raise InputError(f"lines are counted from 1 and columns from 0, not {tuple(begin)}")
    return begin


def _spot(sheet: Sheet, fields: dict[str, Any]) -> Spot | None:
    """Where a link leads; None if it names nothing that is here."""
    if "call" in fields:
        spot = sheet.rows.find_call(fields["call"])
    else:
        spot = sheet.rows.find(fields["commit"]) if fields.get("commit") else None
    return Spot(*spot) if spot else None


def _label(tract: Tract, prompt: str | None) -> str:
    facts = tract.store.dialogs.settings(tract.dialog, "facts") or {}
    return one_line(dialog_label(tract.dialog, facts.get("title") or prompt))


def _related(known: dict[str, DialogFacts], name: str | None) -> Related | None:
    if name is None or name not in known:
        return None
    return Related(name, one_line(dialog_label(name, known[name].title)))


# Bodies


def _body(block: ViewBlock, begin: Begin) -> Body:
    if isinstance(block, ToolResultBlock):
        return _result_body(block, begin)
    # Of anything else, the nodes are a head: it is opened as a tree.
    is_short = isinstance(block, OtherBlock) or len(_plain(block)) <= LONGEST_NODES
    if begin == Begin() and is_short:
        return Body(nodes=_nodes(block), is_json=_is_tree(block))
    return replace(body_lines(TextBlock(text=_plain(block)), begin), is_json=_is_tree(block))


def _nodes(block: ViewBlock) -> list[Any]:
    match block:
        case TextBlock():
            return text_nodes(block)
        case ThinkingBlock():
            return thinking_nodes(block, is_open=True)
        case OtherBlock():
            return other_nodes(block, _placed)
        case ToolUseBlock():
            edits = file_edits(block.tool_name, block.arguments)
            return argument_nodes(block, edits, has_colour=True)
    return []


def _result_body(block: ToolResultBlock, begin: Begin) -> Body:
    images = image_nodes(block.pictures, _placed) if begin == Begin() else []
    return replace(body_lines(block, begin), nodes=images or None, is_json=_is_tree(block))


def _placed(image: Image, number: int) -> Element:
    """An image that the page asks for."""
    about = f"{image.media_type}, {image.size} bytes"
    return Element("img", (), "", {"picture": str(number), "alt": about})


def body_lines(block: TextBlock | ToolResultBlock, begin: Begin) -> Body:
    """A part of a long text, highlighted as far as its language is known."""
    part = part_of(block.text, begin)
    head = (Styled("head"),)
    raw = [(Styled(BODY + visible(line.text)),) for line in part.lines]
    painted = highlight_block(block, [head, *raw])[1:]
    lines = [
        BodyLine(line.number, _pieces(spans), line.column)
        for line, spans in zip(part.lines, painted, strict=True)
    ]
    return Body(lines=lines, total=part.total, next=part.next)


def _pieces(spans: Sequence[Styled]) -> list[tuple[str, str]]:
    """The pieces of a line without its indent."""
    first, *others = spans
    pieces = [(first.text.removeprefix(BODY), first.style), *others]
    return [(text, style) for text, style in pieces if text]


def _is_tree(block: ViewBlock) -> bool:
    return isinstance(tree_of(block), dict | list)


def tree_of(block: ViewBlock) -> Json:
    """The JSON of a block: the arguments of a call, a result that is JSON, anything unknown."""
    match block:
        case ToolUseBlock(arguments=arguments):
            return parsed(arguments) if isinstance(arguments, str) else arguments
        case ToolResultBlock(text=text):
            return parsed(text) if text.lstrip()[:1] in ("{", "[") else None
        case OtherBlock(data=data):
            return data
    return None


def _is_editable(message: Message, block: ViewBlock, blocks: list[ViewBlock]) -> bool:
    try:
        text_to_edit(message, block, blocks)
    except InputError:
        return False
    return True


def _plain(block: ViewBlock) -> str:
    """The text of a block alone."""
    if isinstance(block, ToolUseBlock):
        return pretty(block.arguments)
    return pretty(block.data) if isinstance(block, OtherBlock) else getattr(block, "text", "")


def _pictures(block: ViewBlock) -> Iterator[Json]:
    if isinstance(block, OtherBlock):
        yield block.data
    yield from getattr(block, "pictures", ())


def _matches(at: int, place: Place, blocks: list[ViewBlock], wanted: str) -> Iterator[Match]:
    for number, block in enumerate(blocks):
        text = text_of(block).casefold()
        count = text.count(wanted)
        if count:
            # The first line of a call or a result is its head.
            first = 0 if isinstance(block, ToolUseBlock | ToolResultBlock | OtherBlock) else 1
            spots = list(islice(_spots(text, wanted, first), MOST_SPOTS))
            key = place.origin.hash.hex()
            yield Match(at, key, number, count, max(spots[0][0], 1), spots)


def _spots(text: str, wanted: str, line: int) -> Iterator[tuple[int, int]]:
    """The line and the column of each place that has a text."""
    begin, before, at = 0, 0, text.find(wanted)
    while at >= 0:
        line += text.count("\n", before, at)
        begin = max(text.rfind("\n", before, at) + 1, begin)
        yield line, at - begin
        before, at = at, text.find(wanted, at + len(wanted))


READING: dict[str, Callable[[Views, Tract, Request], Any]] = {
    "view_page": Views.view_page,
    "view_rows": Views.view_rows,
    "view_facts": Views.view_facts,
    "view_body": Views.view_body,
    "view_text": Views.view_text,
    "view_find": Views.view_find,
    "view_tree": Views.view_tree,
    "view_chart": Views.view_chart,
    "view_tools": Views.view_tools,
    "view_dialogs": Views.view_dialogs,
    "view_details": Views.view_details,
}
