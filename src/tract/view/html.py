"""One self-contained HTML page: nothing is loaded, and the only script folds and unfolds. Pure.

It is written piece by piece, so that a history is never in memory completely. `_span` escapes all
text.
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

from tract.content.text import counted, size
from tract.model import Json
from tract.view import markdown
from tract.view.blocks import (
    FactsBlock,
    OtherBlock,
    RuleBlock,
    TextBlock,
    ThinkingBlock,
    TitleBlock,
    ToolResultBlock,
    ToolUseBlock,
    ViewBlock,
)
from tract.view.edits import Edits, file_edits
from tract.view.facts import Facts
from tract.view.fences import mark_code
from tract.view.images import image_of
from tract.view.lines import (
    BODY,
    FULL,
    HEAD,
    ROLE_STYLES,
    SHORTEST,
    SUMMARY,
    Line,
    Look,
    Styled,
    diff_line,
    edit_words,
    first_line,
    head_of,
    lines_of,
    measure,
    pair_style,
)
from tract.view.moments import clock, day_and_clock, duration
from tract.view.palette import PALETTE, tag_of
from tract.view.sanitize import one_line, visible
from tract.view.tags import Piece, pieces
from tract.view.turns import with_results

SECTION = 25
"""Messages of a section. A browser lays out only the sections that are near the screen."""
LONG_TEXT = 2000
"""Characters of instructions and thoughts that are shown at once."""
OPEN_DIFF = 40
"""Lines of a diff that are shown at once."""
MOST_FILES = 8


def read_asset(name: str) -> str:
    return "\n" + files("tract.view").joinpath(name).read_text("utf-8")


_COLOURS = "".join(f".p{number} {{ --pair: {c.web} }}\n" for number, c in enumerate(PALETTE))
STYLE = read_asset("page.css") + _COLOURS
SCRIPT = read_asset("page.js")


def policy(style: str, script: str) -> str:
    """Only this style and this script; images only inside the page."""
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


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
"""
_END = "</body>\n</html>\n"


def start(title: str, style: str, script: str) -> str:
    """The beginning of a page of ours."""
    return _START.format(
        policy=escape(policy(style, script)), title=_span(Styled(one_line(title))), style=style
    )


def page(
    title: str,
    blocks: Iterable[ViewBlock],
    *,
    about: str = "",
    tools: str = SUMMARY,
    facts: Sequence[Facts] = (),
    home: str = "",
) -> Iterator[str]:
    """The page of a history, piece by piece; `about` describes it, `tools` says whether calls and
    results are open at first. `facts` are those of each conversation on it; `home` is the address
    of a list of pages."""
    label = (facts[0].label if facts else "") or title
    yield start(label, STYLE, SCRIPT)
    yield "<header>\n"
    yield f'<p class="home"><a href="{escape(home)}">All sessions</a></p>\n' if home else ""
    yield f"<h1>{_span(Styled(one_line(label)))}</h1>\n"
    description = _span(Styled(about.strip()))
    yield f'<p class="about">{description}</p>\n' if description else ""
    yield from _facts(facts[0]) if facts else ()
    yield "</header>\n" + _BAR
    yield '<div class="columns">\n'
    yield from _index(facts)
    yield "<main>\n"
    writer = _Writer(tools)
    yield from writer.write(blocks)
    yield "</main>\n</div>\n"
    yield from _unanswered(writer.anchors)
    yield f"<script>{SCRIPT}</script>\n"
    yield _END


_BAR = """<nav class="bar" aria-label="What is shown"><div>
<button type="button" id="unfold" hidden>Unfold all</button>
<button type="button" id="fold" hidden>Fold all</button>
<label><input type="checkbox" id="tools" checked> tools</label>
<label><input type="checkbox" id="thinking" checked> thinking</label>
</div></nav>
"""


# The top


def _facts(facts: Facts) -> Iterator[str]:
    yield '<dl class="facts">\n'
    for name, value in fact_pairs(facts):
        yield f"<div><dt>{name}</dt><dd>{_span(Styled(one_line(value)))}</dd></div>\n"
    yield "</dl>\n"
    if facts.files:
        changed = f"{counted(len(facts.files), 'file')} changed"
        yield f'<details class="files"><summary>{changed}</summary><ul>\n'
        yield from (f"<li>{_span(Styled(one_line(path)))}</li>\n" for path in facts.files)
        yield "</ul></details>\n"


def fact_pairs(facts: Facts) -> Iterator[tuple[str, str]]:
    """What is known, each with its name."""
    if facts.started:
        yield "Started", day_and_clock(facts.started)
        seconds = (facts.ended - facts.started).total_seconds() if facts.ended else 0
        if seconds >= 1:
            yield "Duration", duration(seconds)
    if facts.models:
        yield "Model" if len(facts.models) == 1 else "Models", ", ".join(facts.models)
    yield "Messages", str(facts.messages)
    if facts.calls:
        failed = f", {facts.errors} failed" if facts.errors else ""
        yield "Calls", f"{facts.calls}{failed}"
    if facts.tokens:
        yield "Tokens", facts.tokens
    if facts.cost:
        yield "Cost", facts.cost
    if facts.folder:
        yield "Folder", facts.folder
    if facts.parent:
        yield "Started by", facts.parent


def _index(facts: Sequence[Facts]) -> Iterator[str]:
    """The prompts of each conversation."""
    scenes = list(enumerate(facts, 1)) if len(facts) > 1 else [(0, one) for one in facts]
    if sum(len(one.prompts) for one in facts) < 2:
        return
    yield '<nav class="prompts" aria-label="Prompts"><div>\n'
    for scene, one in scenes:
        if scene:
            name = _span(Styled(one_line(f"{one.dialog} · {one.branch}")))
            yield f'<p><a href="#s{scene}">{name}</a></p>\n'
        yield "<ol>\n"
        for prompt in one.prompts:
            anchor = message_anchor(prompt.message, prompt.commit, scene)
            yield f'<li><a href="#{anchor}">{_span(Styled(prompt.title))}</a>'
            yield (
                f' <span class="dim">{clock(prompt.time)}</span></li>\n'
                if prompt.time
                else "</li>\n"
            )
        yield "</ol>\n"
    yield "</div></nav>\n"


def message_anchor(message: int, commit: str, scene: int = 0) -> str:
    """The id of a message on the page: by its commit, or else by its number."""
    is_hash = len(commit) >= 10 and not set(commit) - set("0123456789abcdef")
    name = f"c{commit[:10]}" if is_hash else f"m{message}"
    return f"s{scene}-{name}" if scene else name


# Messages


class _Writer:
    """Writes messages as articles, many of them in a section."""

    def __init__(self, tools: str) -> None:
        self._tools = tools
        self.anchors = _Anchors()
        self._article: tuple[int, str] | None = None
        self._in_section = 0
        self._is_summarized = False

    def write(self, blocks: Iterable[ViewBlock]) -> Iterator[str]:
        for unit in _units(with_results(blocks)):
            content = "".join(self._content(unit))
            if content:
                yield from self._around(unit.block)
                yield content
        yield from self._end_section()
        yield "</details>\n" if self._is_summarized else ""

    def _around(self, block: ViewBlock) -> Iterator[str]:
        """The ends and beginnings of articles, sections and parts that a summary replaced."""
        own = (block.message, block.role)
        if own == self._article:
            return
        yield "</article>\n" if self._article is not None else ""
        self._article = None
        # A rule between messages belongs to the part before it.
        is_summarized = block.note.startswith("summarized") if block.role else self._is_summarized
        if is_summarized != self._is_summarized or self._in_section >= SECTION:
            yield from self._end_section()
        if is_summarized and not self._is_summarized:
            yield '<details class="summarized"><summary>A part that a summary replaced</summary>\n'
        if self._is_summarized and not is_summarized:
            yield "</details>\n"
        self._is_summarized = is_summarized
        yield "" if self._in_section else "<section>\n"
        self._in_section += 1
        self._article = own
        yield from self._begin_article(block)

    def _end_section(self) -> Iterator[str]:
        yield "</article>\n" if self._article is not None else ""
        yield "</section>\n" if self._in_section else ""
        self._article, self._in_section = None, 0

    def _begin_article(self, block: ViewBlock) -> Iterator[str]:
        if isinstance(block, TitleBlock):
            self.anchors.begin()
            yield f'<article class="between" id="s{self.anchors.scene}">\n'
            return
        kind = ROLE_STYLES.get(block.role, "role-other") if block.role else "between"
        if not block.role:
            yield f'<article class="{kind}">\n'
            return
        anchor = self.anchors.of_message(block)
        yield f'<article class="{kind}" id="{anchor}">\n'
        if block.role != "tool" or block.note:
            link = f'<a class="own" href="#{anchor}" title="to this message">#</a>'
            yield f"<h2>{_markup([head_of(block)])} {link}</h2>\n"

    def _content(self, unit: _Unit) -> Iterator[str]:
        block = unit.block
        match block:
            case TextBlock():
                yield from _text(block)
            case ThinkingBlock():
                yield from _thinking(block, is_open=self._tools == FULL)
            case ToolUseBlock() | ToolResultBlock():
                yield from _tool(unit, self.anchors, is_open=self._tools == FULL)
            case FactsBlock():
                yield from _more_facts(block) if self.anchors.scene else ()
            case RuleBlock():
                yield f'<p class="rule other">{_markup(lines_of(block), HEAD)}</p>\n'
            case OtherBlock():
                yield from _other(block)
            case _:
                yield f'<p class="aside other">{_markup(lines_of(block), HEAD)}</p>\n'


def _more_facts(block: FactsBlock) -> Iterator[str]:
    for line in block.lines:
        yield f'<p class="about other">{_span(Styled(one_line(line)))}</p>\n'


def _thinking(block: ThinkingBlock, *, is_open: bool) -> Iterator[str]:
    head, *body = lines_of(block)
    if not body:
        yield f'<p class="aside thinking">{_markup([head], HEAD)}</p>\n'
        return
    hint = _span(Styled(f" {first_line(block.text)}"))
    attribute = " open" if is_open else ""
    yield f'<details class="aside thinking"{attribute}><summary>{_markup([head], HEAD)}'
    yield f'<span class="hint">{hint}</span></summary>'
    yield f'<div class="prose">{_markup(body, BODY)}</div></details>\n'


def _other(block: OtherBlock) -> Iterator[str]:
    image = _image(block.data)
    if image:
        yield f'<p class="other">{image}</p>\n'
        return
    head, *body = lines_of(block)
    if not body:
        yield f'<p class="aside other">{_markup([head], HEAD)}</p>\n'
        return
    yield f'<details class="aside other"><summary>{_markup([head], HEAD)}</summary>'
    yield f"<pre>\n{_markup(body, BODY)}</pre></details>\n"


def _image(data: Json) -> str:
    image = image_of(data)
    if image is None:
        return ""
    about = _span(Styled(f"{image.media_type}, {size(image.size)}"))
    source = f"data:{image.media_type};base64,{image.data}"
    return f'<img src="{source}" alt="{about}" title="{about}" loading="lazy">'


# Text


def _text(block: TextBlock) -> Iterator[str]:
    if not block.text.strip():
        return
    if block.note.startswith("summary of"):
        yield from _piece(Piece(block.text, "summary"))
        return
    if block.role == "user":
        for piece in pieces(block.text):
            yield from _piece(piece)
        return
    rendered = markdown.render(block.text, _span) if block.role == "assistant" else None
    if rendered is not None:
        yield f'<div class="text markdown">{rendered}</div>\n'
    elif block.role == "system" and len(block.text) > LONG_TEXT:
        yield '<details class="aside other"><summary>'
        yield f"{_span(Styled(first_line(block.text)))} ({_size(block.text)})</summary>"
        yield f'<div class="prose">{_plain(block.text)}</div></details>\n'
    else:
        yield f'<div class="text">{_with_code(block.text)}</div>\n'


def _piece(piece: Piece) -> Iterator[str]:
    """A part of a message of the user."""
    if not piece.label:
        yield f'<div class="text">{_with_code(piece.text)}</div>\n' if piece.text.strip() else ""
    elif "\n" not in piece.text and len(piece.text) < LONG_TEXT:
        label, text = _span(Styled(f"[{piece.label}]", "dim")), _span(Styled(piece.text))
        yield f'<p class="aside other">{label} {text}</p>\n'
    else:
        label = _span(Styled(f"[{piece.label}]"))
        hint = _span(Styled(f" {first_line(piece.text)}"))
        yield f'<details class="aside other"><summary>{label}<span class="hint">{hint}</span>'
        yield f'</summary><div class="prose">{_plain(piece.text)}</div></details>\n'


def _size(text: str) -> str:
    return size(len(text.encode("utf-8", "surrogatepass")))


def _plain(text: str) -> str:
    return _span(Styled(text.replace("\r\n", "\n").removesuffix("\n")))


def _with_code(text: str) -> str:
    """A text as it is. Fenced code is never wrapped."""
    lines = visible(text.replace("\r\n", "\n").removesuffix("\n")).split("\n")
    parts = groupby(zip(mark_code(lines), lines, strict=True), key=lambda entry: entry[0])
    return "".join(
        f"<pre>\n{markup}</pre>" if is_code else f'<div class="prose">{markup}</div>'
        for is_code, part in parts
        for markup in [_span(Styled("\n".join(line for _, line in part)))]
    )


# Calls and results


class _Unit(NamedTuple):
    """A block, or a call with the results right after it."""

    block: ViewBlock
    results: list[ToolResultBlock]


def _units(blocks: Iterable[ViewBlock]) -> Iterator[_Unit]:
    unit: _Unit | None = None
    for block in blocks:
        if unit and _answers(block, unit.block):
            unit.results.append(block)  # type: ignore[arg-type]
            continue
        if unit:
            yield unit
        unit = _Unit(block, [])
    if unit:
        yield unit


def _answers(block: ViewBlock, call: ViewBlock) -> bool:
    is_pair = isinstance(call, ToolUseBlock) and isinstance(block, ToolResultBlock)
    return is_pair and call.pair is not None and call.pair == block.pair  # type: ignore[attr-defined]


class _Anchors:
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


def _tool(unit: _Unit, anchors: _Anchors, *, is_open: bool) -> Iterator[str]:
    block = unit.block
    assert isinstance(block, ToolUseBlock | ToolResultBlock)
    call = block if isinstance(block, ToolUseBlock) else None
    results = unit.results if isinstance(block, ToolUseBlock) else [block]
    edits = file_edits(call.tool_name, call.arguments) if call else None
    has_failed = any(result.is_error for result in results)
    head = _tool_head(block, results, edits)
    lines = sum(len(file.lines) for file in edits.files) if edits else 0
    is_open = is_open or has_failed or 0 < lines <= OPEN_DIFF
    anchor = anchors.of_call(call.pair) if call else anchors.of_result(block.pair)
    if call and not results:
        anchors.await_result(call.pair, anchor, head)
    classes = ["tool", *(["failed"] if has_failed else []), *filter(None, [pair_style(block.pair)])]
    yield f'<details class="{" ".join(classes)}" id="{anchor}"{" open" if is_open else ""}>'
    yield f"<summary>{head}</summary>{_links(block, anchor, anchors)}"
    if call:
        yield from _arguments(call, edits)
    for number, result in enumerate(results):
        own = anchors.of_result(result.pair) if call else ""
        yield from _result(result, own, has_head=bool(call) and (number > 0 or bool(result.note)))
    yield "</details>\n"


def _links(block: ToolUseBlock | ToolResultBlock, anchor: str, anchors: _Anchors) -> str:
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
    parts = [_span(Styled(name, "bold")), _span(Styled(one_line(block.detail)))]
    for file in edits.files if edits else ():
        added, removed = file.counts
        parts.append(_span(Styled(f"+{added}", "added")) if added else "")
        parts.append(_span(Styled(f"−{removed}", "removed")) if removed else "")
    facts = [measure(result) for result in results]
    seconds = results[0].seconds or 0 if results else 0
    facts += [duration(seconds)] if seconds >= SHORTEST else []
    parts.append(_span(Styled(f"({', '.join(facts)})", "dim")) if facts else "")
    errors = (first_line(result.text) for result in results if result.is_error)
    parts += [_span(Styled(f"failed: {error}", "error")) for error in errors]
    return " ".join(filter(None, parts))


def _arguments(call: ToolUseBlock, edits: Edits | None) -> Iterator[str]:
    if edits is None:
        lines = lines_of(call)[1:]
        yield f'<pre class="arguments">\n{_markup(lines, BODY)}</pre>' if lines else ""
        return
    if edits.rest:
        rest = ToolUseBlock(arguments=edits.rest)
        yield f'<pre class="arguments">\n{_markup(lines_of(rest)[1:], BODY)}</pre>'
    for file in edits.files:
        yield f'<p class="file">{_span(Styled(edit_words(file)))}</p>'
        rows = "".join(
            f'<span class="line {line.kind}">{_markup([diff_line(line)])}\n</span>'
            for line in file.lines
        )
        yield f'<pre class="diff" tabindex="0">{rows}</pre>' if rows else ""


def _result(result: ToolResultBlock, anchor: str, *, has_head: bool) -> Iterator[str]:
    identity = f' id="{anchor}"' if anchor else ""
    yield f'<div class="result"{identity}>'
    if has_head:
        words = " ".join(filter(None, ["result", one_line(result.note), f"({measure(result)})"]))
        yield f'<p class="file">{_span(Styled(words))}</p>'
    images = [image for image in map(_image, result.pictures) if image]
    yield from images
    lines = lines_of(result, Look())[1:]
    if lines:
        yield f'<pre tabindex="0">\n{_markup(lines, BODY)}</pre>'
    elif not images:
        yield '<p class="file">empty result</p>'
    yield "</div>"


def _unanswered(anchors: _Anchors) -> Iterator[str]:
    """The calls that have no result."""
    calls = [*anchors.finished, *anchors.unanswered.values()]
    if not calls:
        return
    yield '<footer id="unanswered"><p>Calls without results on this page:</p>\n<ul>\n'
    yield from (f'<li><a href="#{call}">{words}</a></li>\n' for call, words in calls)
    yield "</ul></footer>\n"


# Lines


def _markup(lines: Sequence[Line], indent: str = "") -> str:
    """Lines without their indent. Neighbours with the same style are joined."""
    pieces = groupby(_pieces(lines, indent), key=lambda span: span.style)
    return "".join(_span(Styled("".join(s.text for s in same), style)) for style, same in pieces)


def _pieces(lines: Sequence[Line], indent: str) -> Iterator[Styled]:
    for number, line in enumerate(lines):
        first, *others = line or (Styled(""),)
        newline = "\n" if number else ""
        yield Styled(newline + first.text.removeprefix(indent), first.style)
        yield from others


def _span(span: Styled) -> str:
    """The only way for text into the page, so it escapes everything. Styles are our own names."""
    text = escape(visible(span.text), quote=True)
    return f'<span class="{span.style}">{text}</span>' if span.style else text


escape_span = _span
