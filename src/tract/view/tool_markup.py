"""Calls and results as HTML: one line each, which unfolds. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tract.view.blocks import ToolResultBlock, ToolUseBlock, ViewBlock
from tract.view.bodies import argument_nodes, inline_picture, result_nodes
from tract.view.edits import Edits, file_edits
from tract.view.lines import SHORTEST, Styled, measure, pair_style, verdict
from tract.view.markup import span
from tract.view.moments import duration
from tract.view.nodes import html
from tract.view.palette import tag_of
from tract.view.sanitize import one_line

OPEN_DIFF = 40
"""Lines of a diff that are shown at once."""


def message_anchor(message: int, commit: str, scene: int = 0) -> str:
    """The id of a message on the page: by its commit, or else by its number."""
    is_hash = len(commit) >= 10 and not set(commit) - set("0123456789abcdef")
    name = f"c{commit[:10]}" if is_hash else f"m{message}"
    return f"s{scene}-{name}" if scene else name


class Unit(NamedTuple):
    """A block, or a call with the results right after it."""

    block: ViewBlock
    results: list[ToolResultBlock]


def units(blocks: Iterable[ViewBlock]) -> Iterator[Unit]:
    unit: Unit | None = None
    for block in blocks:
        if unit and _answers(block, unit.block):
            unit.results.append(block)  # type: ignore[arg-type]
            continue
        if unit:
            yield unit
        unit = Unit(block, [])
    if unit:
        yield unit


def _answers(block: ViewBlock, call: ViewBlock) -> bool:
    is_pair = isinstance(call, ToolUseBlock) and isinstance(block, ToolResultBlock)
    return is_pair and call.pair is not None and call.pair == block.pair  # type: ignore[attr-defined]


class Anchors:
    """The ids on the page. A pair may have two results, and a result no call."""

    def __init__(self) -> None:
        self.scene = 0
        self._calls: Counter[int | None] = Counter()
        self._results: Counter[int | None] = Counter()
        self._messages: Counter[str] = Counter()
        self.unanswered: dict[int, tuple[str, str]] = {}
        """The calls without a result, each with its id and its words."""
        self.finished: list[tuple[str, str]] = []
        """Those of earlier conversations on the page."""

    def begin(self) -> None:
        """Another conversation, whose pairs are numbered separately."""
        self.scene += 1
        self._calls.clear()
        self._results.clear()
        self.finished += self.unanswered.values()
        self.unanswered.clear()

    def of_message(self, block: ViewBlock) -> str:
        anchor = message_anchor(block.message, block.commit, self.scene)
        self._messages[anchor] += 1
        turn = self._messages[anchor]
        return anchor if turn == 1 else f"{anchor}-{turn}"

    def of_call(self, pair: int | None) -> str:
        self._calls[pair] += 1
        return self._id("call", pair, self._calls[pair])

    def await_result(self, pair: int | None, anchor: str, words: str) -> None:
        if pair is not None:
            self.unanswered[pair] = (anchor, words)

    def of_result(self, pair: int | None) -> str:
        self._results[pair] += 1
        if pair is not None:
            self.unanswered.pop(pair, None)
        return self._id("result", pair, self._results[pair])

    def call_of(self, pair: int | None) -> str:
        """The id of the last call of a pair; empty where none is on the page."""
        has_call = pair is not None and self._calls[pair]
        return self._id("call", pair, self._calls[pair]) if has_call else ""

    def _id(self, kind: str, pair: int | None, turn: int) -> str:
        scene = f"{self.scene}-" if self.scene else ""
        number = "x" if pair is None else pair
        return f"{kind}-{scene}{number}" if turn == 1 else f"{kind}-{scene}{number}-{turn}"


def tool_markup(unit: Unit, anchors: Anchors, *, is_open: bool) -> Iterator[str]:
    block = unit.block
    assert isinstance(block, ToolUseBlock | ToolResultBlock)
    call = block if isinstance(block, ToolUseBlock) else None
    results = unit.results if isinstance(block, ToolUseBlock) else [block]
    edits = file_edits(call.tool_name, call.arguments) if call else None
    has_failed = any(result.is_error for result in results)
    head = _tool_head(block, results, edits)
    lines = sum(len(file.unmarked) for file in edits.files) if edits else 0
    is_open = is_open or has_failed or 0 < lines <= OPEN_DIFF
    anchor = anchors.of_call(call.pair) if call else anchors.of_result(block.pair)
    if call and not results:
        anchors.await_result(call.pair, anchor, head)
    classes = ["tool", *(["failed"] if has_failed else []), *filter(None, [pair_style(block.pair)])]
    yield f'<details class="{" ".join(classes)}" id="{anchor}"{" open" if is_open else ""}>'
    yield f"<summary>{head}</summary>{_links(block, anchor, anchors)}"
    if call:
        yield html(argument_nodes(call, edits))
    for number, result in enumerate(results):
        own = anchors.of_result(result.pair) if call else ""
        has_head = bool(call) and (number > 0 or bool(result.note))
        body = html(result_nodes(result, inline_picture, has_head=has_head))
        identity = f' id="{own}"' if own else ""
        yield f'<div class="result"{identity}>{body}</div>'
    yield "</details>\n"


def _links(block: ToolUseBlock | ToolResultBlock, anchor: str, anchors: Anchors) -> str:
    """To itself, for those who want to send a link; and to the call of a result that is apart."""
    tag = tag_of(block.pair) if block.pair is not None else "#"
    own = f'<a class="own" href="#{anchor}" title="to this one">{tag}</a>'
    call = anchors.call_of(block.pair) if isinstance(block, ToolResultBlock) else ""
    other = f'<a href="#{call}" title="to its call">↑</a>' if call else ""
    return f'<span class="go">{other}{own}</span>'


def _tool_head(
    block: ToolUseBlock | ToolResultBlock, results: list[ToolResultBlock], edits: Edits | None
) -> str:
    """The name, what it is about, how much changed or came back, and how it failed."""
    name = one_line(block.tool_name) or "result"
    parts = [span(Styled(name, "bold")), span(Styled(one_line(block.detail)))]
    for file in edits.files if edits else ():
        added, removed = file.counts
        parts.append(span(Styled(f"+{added}", "added")) if added else "")
        parts.append(span(Styled(f"−{removed}", "removed")) if removed else "")
    facts = [measure(result) for result in results]
    seconds = results[0].seconds or 0 if results else 0
    facts += [duration(seconds)] if seconds >= SHORTEST else []
    parts.append(span(Styled(f"({', '.join(facts)})", "dim")) if facts else "")
    errors = (verdict(result.text) for result in results if result.is_error)
    parts += [span(Styled(f"failed: {error}", "error")) for error in errors]
    return " ".join(filter(None, parts))


def unanswered_markup(anchors: Anchors) -> Iterator[str]:
    """The calls that have no result."""
    calls = [*anchors.finished, *anchors.unanswered.values()]
    if not calls:
        return
    yield '<footer id="unanswered"><p>Calls without results on this page:</p>\n<ul>\n'
    yield from (f'<li><a href="#{call}">{words}</a></li>\n' for call, words in calls)
    yield "</ul></footer>\n"
