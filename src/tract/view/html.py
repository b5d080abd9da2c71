"""One self-contained HTML page: nothing is loaded, and the only script folds and unfolds. Pure.

It is written piece by piece, so that a history is never in memory completely. `_span` escapes all
text.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from tract.content.text import counted
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
from tract.view.bodies import inline_picture, other_nodes, text_nodes, thinking_nodes
from tract.view.facts import Facts, fact_pairs, short_paths
from tract.view.lines import (
    FULL,
    HEAD,
    ROLE_STYLES,
    SUMMARY,
    Styled,
    head_of,
    lines_of,
)
from tract.view.markup import markup, span
from tract.view.moments import clock
from tract.view.nodes import html
from tract.view.palette import PALETTE
from tract.view.sanitize import one_line
from tract.view.tool_markup import (
    Anchors,
    Unit,
    message_anchor,
    tool_markup,
    unanswered_markup,
    units,
)
from tract.view.turns import with_results

SECTION = 25
"""Messages of a section. A browser lays out only the sections that are near the screen."""
MOST_FILES = 8


def read_asset(name: str) -> str:
    return "\n" + files("tract.view").joinpath(name).read_text("utf-8")


_COLOURS = "".join(f".p{number} {{ --pair: {c.web} }}\n" for number, c in enumerate(PALETTE))
STYLE = read_asset("base.css") + read_asset("page.css") + _COLOURS
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
        policy=escape(policy(style, script)), title=span(Styled(one_line(title))), style=style
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
    yield f"<h1>{span(Styled(one_line(label)))}</h1>\n"
    description = span(Styled(about.strip()))
    yield f'<p class="about">{description}</p>\n' if description else ""
    yield from _facts(facts[0]) if facts else ()
    yield "</header>\n" + _BAR
    yield '<div class="columns">\n'
    yield from _index(facts)
    yield "<main>\n"
    writer = _Writer(tools)
    yield from writer.write(blocks)
    yield "</main>\n</div>\n"
    yield from unanswered_markup(writer.anchors)
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
        yield f"<div><dt>{name}</dt><dd>{span(Styled(one_line(value)))}</dd></div>\n"
    yield "</dl>\n"
    if facts.files:
        changed = f"{counted(len(facts.files), 'file')} changed"
        yield f'<details class="files"><summary>{changed}</summary><ul>\n'
        yield from (f"<li>{span(Styled(one_line(path)))}</li>\n" for path in short_paths(facts))
        yield "</ul></details>\n"


def _index(facts: Sequence[Facts]) -> Iterator[str]:
    """The prompts of each conversation."""
    scenes = list(enumerate(facts, 1)) if len(facts) > 1 else [(0, one) for one in facts]
    if sum(len(one.prompts) for one in facts) < 2:
        return
    yield '<nav class="prompts" aria-label="Prompts"><div>\n'
    for scene, one in scenes:
        if scene:
            name = span(Styled(one_line(f"{one.dialog} · {one.branch}")))
            yield f'<p><a href="#s{scene}">{name}</a></p>\n'
        yield "<ol>\n"
        for prompt in one.prompts:
            anchor = message_anchor(prompt.message, prompt.commit, scene)
            yield f'<li><a href="#{anchor}">{span(Styled(prompt.title))}</a>'
            yield (
                f' <span class="dim">{clock(prompt.time)}</span></li>\n'
                if prompt.time
                else "</li>\n"
            )
        yield "</ol>\n"
    yield "</div></nav>\n"


# Messages


class _Writer:
    """Writes messages as articles, many of them in a section."""

    def __init__(self, tools: str) -> None:
        self._tools = tools
        self.anchors = Anchors()
        self._article: tuple[int, str] | None = None
        self._in_section = 0
        self._is_summarized = False

    def write(self, blocks: Iterable[ViewBlock]) -> Iterator[str]:
        for unit in units(with_results(blocks)):
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
            yield f"<h2>{markup([head_of(block)])} {link}</h2>\n"

    def _content(self, unit: Unit) -> Iterator[str]:
        block = unit.block
        match block:
            case TextBlock():
                yield html(text_nodes(block))
            case ThinkingBlock():
                yield html(thinking_nodes(block, is_open=self._tools == FULL))
            case ToolUseBlock() | ToolResultBlock():
                yield from tool_markup(unit, self.anchors, is_open=self._tools == FULL)
            case FactsBlock():
                yield from _more_facts(block) if self.anchors.scene else ()
            case RuleBlock():
                yield f'<p class="rule other">{markup(lines_of(block), HEAD)}</p>\n'
            case OtherBlock():
                yield html(other_nodes(block, inline_picture))
            case _:
                yield f'<p class="aside other">{markup(lines_of(block), HEAD)}</p>\n'


def _more_facts(block: FactsBlock) -> Iterator[str]:
    for line in block.lines:
        yield f'<p class="about other">{span(Styled(one_line(line)))}</p>\n'
