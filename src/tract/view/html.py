"""One self-contained HTML page: no script, no font, no image. Pure.

It is written piece by piece, so that a history is never in memory completely. The text is the
terminal's; `_span` escapes it.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

from tract.view.blocks import (
    RuleBlock,
    TextBlock,
    ThinkingBlock,
    TitleBlock,
    ToolResultBlock,
    ToolUseBlock,
    ViewBlock,
)
from tract.view.fences import mark_code
from tract.view.lines import (
    BODY,
    FULL,
    HEAD,
    ROLE_STYLES,
    TOOLS,
    Line,
    Styled,
    head_of,
    lines_of,
    pair_style,
)
from tract.view.palette import PALETTE, tag_of
from tract.view.sanitize import one_line, visible

_COLOURS = "".join(f".p{number} {{ --pair: {c.web} }}\n" for number, c in enumerate(PALETTE))
STYLE = "\n" + files("tract.view").joinpath("page.css").read_text("utf-8") + _COLOURS

_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"

_START = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{about}</header>
<nav class="bar" aria-label="What is shown"><div>
<fieldset><legend>Tools</legend>
{choices}</fieldset>
<label><input type="checkbox" id="thinking" checked> thinking</label>
</div></nav>
<main>
"""
_END = "</body>\n</html>\n"


def page(
    title: str, blocks: Iterable[ViewBlock], *, about: str = "", tools: str = FULL
) -> Iterator[str]:
    """The page of a history, piece by piece; `about` describes it, `tools` is the initial state of
    calls and results. Each of them can be folded and links to the other of its pair."""
    description = _span(Styled(about.strip()))
    yield _START.format(
        policy=escape(POLICY),
        title=_span(Styled(one_line(title))),
        style=STYLE,
        about=f'<p class="about">{description}</p>\n' if description else "",
        choices="".join(_choice(state, " checked" if state == tools else "") for state in TOOLS),
    )
    anchors = _Anchors()
    yield from _articles(blocks, anchors)
    yield "</main>\n"
    yield from _unanswered(anchors)
    yield _END


def _choice(state: str, checked: str) -> str:
    return f'<label><input type="radio" name="tools" id="{state}"{checked}> {state}</label>\n'


def _articles(blocks: Iterable[ViewBlock], anchors: _Anchors) -> Iterator[str]:
    """Messages. A result belongs to its call, so it has a head only to show a change."""
    current: tuple[int, str] | None = None
    for block in blocks:
        lines = lines_of(block)
        if not lines:
            continue
        if isinstance(block, TitleBlock):
            anchors.begin()
        own = (block.message, block.role)
        if own != current:
            yield "</article>\n" if current is not None else ""
            yield f'<article class="{_kind(block)}">\n'
            if block.role and (block.role != "tool" or block.note):
                yield f"<h2>{_markup([head_of(block)])}</h2>\n"
        current = own
        yield from _markup_of(block, lines, anchors)
    yield "</article>\n" if current is not None else ""


def _kind(block: ViewBlock) -> str:
    return ROLE_STYLES.get(block.role, "role-other") if block.role else "between"


def _markup_of(block: ViewBlock, lines: Sequence[Line], anchors: _Anchors) -> Iterator[str]:
    head, body = _markup(lines[:1], HEAD), lines[1:]
    match block:
        case TextBlock(text=text):
            if text.strip():
                yield f'<div class="text">{_text(lines, BODY)}</div>\n'
        case ThinkingBlock() if body:
            yield f'<details class="aside thinking" open><summary>{head}</summary>'
            yield f'<div class="prose">{_markup(body, BODY)}</div></details>\n'
        case ThinkingBlock():
            yield f'<p class="aside thinking">{head}</p>\n'
        case ToolUseBlock() | ToolResultBlock():
            yield from _tool(block, lines, anchors)
        case RuleBlock():
            yield f'<p class="rule other">{head}</p>\n'
        case _ if body:
            yield f'<details class="aside other" open><summary>{head}</summary>'
            yield f"<pre>\n{_markup(body, BODY)}</pre></details>\n"
        case _:
            yield f'<p class="aside other">{head}</p>\n'


# Calls and results


class Anchor(NamedTuple):
    """The id of a block on the page, and the id of the other block of its pair."""

    own: str
    other: str = ""


class _Anchors:
    """The ids on the page. A pair may have two results, and a result no call."""

    def __init__(self) -> None:
        self._scene = 0
        self._calls: Counter[int | None] = Counter()
        self._results: Counter[int | None] = Counter()
        self.awaited: dict[str, tuple[str, str]] = {}
        """The ids of missing results, each with the id and the text of its call."""

    def begin(self) -> None:
        """Another conversation, whose pairs are numbered separately."""
        self._scene += 1
        self._calls.clear()
        self._results.clear()

    def of_call(self, pair: int | None, words: str) -> Anchor:
        self._calls[pair] += 1
        own = self._id("call", pair, self._calls[pair])
        if pair is None:
            return Anchor(own)
        other = self._id("result", pair, self._results[pair] + 1)
        self.awaited[other] = (own, words)
        return Anchor(own, other)

    def of_result(self, pair: int | None) -> Anchor:
        self._results[pair] += 1
        own = self._id("result", pair, self._results[pair])
        self.awaited.pop(own, None)
        has_call = pair is not None and self._calls[pair]
        return Anchor(own, self._id("call", pair, self._calls[pair]) if has_call else "")

    def _id(self, kind: str, pair: int | None, turn: int) -> str:
        scene = f"{self._scene}-" if self._scene else ""
        number = "x" if pair is None else pair
        return f"{kind}-{scene}{number}" if turn == 1 else f"{kind}-{scene}{number}-{turn}"


def _tool(
    block: ToolUseBlock | ToolResultBlock, lines: Sequence[Line], anchors: _Anchors
) -> Iterator[str]:
    head = _markup(lines[:1], HEAD)
    if isinstance(block, ToolUseBlock):
        anchor = anchors.of_call(block.pair, head)
        arrow, aim, failed = "↓", "to its result", ""
    else:
        anchor = anchors.of_result(block.pair)
        arrow, aim, failed = "↑", "to its call", " failed" if block.is_error else ""
    pair = f" {style}" if (style := pair_style(block.pair)) else ""
    yield f'<details class="tool{failed}{pair}" id="{anchor.own}" open><summary>{head}</summary>'
    yield f'<span class="go"><a class="own" href="#{anchor.own}" title="to this one">#</a>'
    if block.pair is not None and anchor.other:
        yield f'<a href="#{anchor.other}" title="{aim}">{tag_of(block.pair)} {arrow}</a>'
    yield "</span>"
    yield f"<pre>\n{_markup(lines[1:], BODY)}</pre></details>\n" if lines[1:] else "</details>\n"


def _unanswered(anchors: _Anchors) -> Iterator[str]:
    """The targets for links of calls that have no result."""
    if not anchors.awaited:
        return
    yield '<footer id="unanswered"><p>Calls without results on this page:</p>\n<ul>\n'
    for own, (call, words) in anchors.awaited.items():
        yield f'<li id="{own}"><a href="#{call}">{words}</a></li>\n'
    yield "</ul></footer>\n"


# Text


def _text(lines: Sequence[Line], indent: str) -> str:
    """The text of a message. Fenced code is never wrapped."""
    parts = groupby(
        zip(mark_code(line[0].text for line in lines), lines, strict=True),
        key=lambda entry: entry[0],
    )
    return "".join(
        f"<pre>\n{markup}</pre>" if is_code else f'<div class="prose">{markup}</div>'
        for is_code, part in parts
        for markup in [_markup([line for _, line in part], indent)]
    )


def _markup(lines: Sequence[Line], indent: str = "") -> str:
    """Lines without their indent. Neighbours with the same style are joined."""
    pieces = groupby(_pieces(lines, indent), key=lambda span: span.style)
    return "".join(_span(Styled("".join(s.text for s in same), style)) for style, same in pieces)


def _pieces(lines: Sequence[Line], indent: str) -> Iterator[Styled]:
    for number, line in enumerate(lines):
        first, *others = line
        newline = "\n" if number else ""
        yield Styled(newline + first.text.removeprefix(indent), first.style)
        yield from others


def _span(span: Styled) -> str:
    """The only way for text into the page, so it escapes everything. Styles are our own names."""
    text = escape(visible(span.text), quote=True)
    return f'<span class="{span.style}">{text}</span>' if span.style else text
