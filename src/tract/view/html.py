"""One page of HTML that needs nothing else: no script, no font, no picture. Pure.

It is written in pieces while the blocks come, so that a history is never in memory as a whole. The
words are those of the terminal; `_span` is where they are made harmless.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from itertools import groupby
from typing import NamedTuple

from tract.view.blocks import (
    Block,
    RuleBlock,
    TextBlock,
    ThinkingBlock,
    TitleBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tract.view.fences import fenced
from tract.view.lines import (
    BODY,
    FULL,
    HEAD,
    TOOLS,
    Line,
    Span,
    head_of,
    lines_of,
    pair_style,
    role_style,
)
from tract.view.palette import PALETTE, tag_of
from tract.view.sanitize import one_line, visible

_COLOURS = "\n".join(f".p{place} {{ --pair: {c.web} }}" for place, c in enumerate(PALETTE))

STYLE = f"""
:root {{
  color-scheme: light dark;
  --ground: #ffffff; --raised: #f5f6f8; --line: #d5d9df; --ink: #1f2328; --dim: #59636e;
  --error: #b3261e; --note: #7a5200; --link: #0550ae;
  --system: #7a3fc4; --user: #1a6f33; --assistant: #0a6482; --tool: #7a5200;
}}
@media screen and (prefers-color-scheme: dark) {{
  :root {{
    --ground: #1e1e1e; --raised: #28292c; --line: #45484d; --ink: #dcdfe4; --dim: #a2a9b3;
    --error: #ff8a80; --note: #e3b341; --link: #79b8ff;
    --system: #cba6ff; --user: #6cc57b; --assistant: #5cc3e6; --tool: #e3b341;
  }}
}}
{_COLOURS}
* {{ box-sizing: border-box }}
p {{ margin: 0 }}
html {{ scroll-padding-top: 4rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100% }}
body {{
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif;
}}
body > header, main, footer {{ max-width: 64rem; margin: 0 auto; padding: 0 1.25rem }}
body > header {{ padding-top: 2rem; padding-bottom: 1rem }}
h1 {{ margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere }}
.about {{
  margin-top: .35rem; color: var(--dim); white-space: pre-wrap; overflow-wrap: anywhere;
}}
a {{ color: var(--link) }}
:focus-visible {{ outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px }}

.bar {{
  position: sticky; top: 0; z-index: 2; background: var(--ground);
  border-block: 1px solid var(--line); font-size: .875rem;
}}
.bar > div {{
  max-width: 64rem; margin: 0 auto; padding: .4rem 1.25rem;
  display: flex; flex-wrap: wrap; gap: .25rem 1.5rem;
}}
.bar fieldset {{
  margin: 0; padding: 0; border: 0; min-width: 0; display: flex; flex-wrap: wrap; gap: .25rem .9rem;
}}
.bar legend {{ float: left; padding: 0; margin-right: .9rem; color: var(--dim) }}
.bar label {{ display: inline-flex; align-items: center; gap: .35rem; cursor: pointer }}
.bar input {{ margin: 0; accent-color: var(--link) }}

article {{ margin-top: 1.75rem; content-visibility: auto; contain-intrinsic-size: auto 12rem }}
article.role-tool {{ margin-top: .6rem }}
h2 {{ margin: 0 0 .35rem; font-size: .9375rem; font-weight: normal; overflow-wrap: anywhere }}
h2 .dim {{ font: .8125rem ui-monospace, monospace }}
h2 .note {{ font-size: .8125rem }}
.bold {{ font-weight: 650 }}
.dim {{ color: var(--dim) }}
.note {{ color: var(--note) }}
span.error {{ color: var(--error) }}
span.role-system {{ color: var(--system) }}
span.role-user {{ color: var(--user) }}
span.role-assistant {{ color: var(--assistant) }}
span.role-tool {{ color: var(--tool) }}
article.role-user > .text {{
  background: var(--raised); border-radius: 8px; padding: .6rem .9rem;
}}
article > :not(h2) + * {{ margin-top: .6rem }}
.prose {{ white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext }}
pre {{
  margin: 0; white-space: pre; overflow-x: auto;
  font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}}
.text > pre {{
  margin: .4rem 0; padding: .5rem .75rem;
  background: var(--raised); border: 1px solid var(--line); border-radius: 6px;
}}
details {{ --pair: var(--line); position: relative }}
summary {{
  padding: .3rem 4.5rem .3rem .75rem; cursor: pointer; overflow-wrap: anywhere;
  unicode-bidi: isolate;
  font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}}
.aside {{ border-left: 3px solid var(--line); color: var(--dim) }}
p.aside {{ padding: .3rem .75rem; font-size: .8125rem }}
p.rule {{ color: var(--note); text-align: center; font-size: .875rem; overflow-wrap: anywhere }}
.aside > .prose {{ padding: 0 .75rem .3rem; font-size: .9375rem }}
.aside > pre {{ padding: 0 .75rem .4rem }}
.tool {{
  border: 1px solid var(--line); border-left: 4px solid var(--pair); border-radius: 6px;
  background: color-mix(in srgb, var(--pair) 4%, var(--ground));
}}
.tool > summary {{ color: color-mix(in srgb, var(--pair) 50%, var(--ink)); font-weight: 600 }}
.tool:not([class*=" p"]) > summary {{ color: var(--ink) }}
.tool > pre {{ padding: .4rem .75rem .5rem; border-top: 1px solid var(--line) }}
.failed {{ border-color: var(--error); border-left-color: var(--pair) }}
.failed > summary {{ background: color-mix(in srgb, var(--error) 9%, transparent) }}
.tool:target {{ outline: 2px solid var(--link); outline-offset: 1px }}
.go {{
  position: absolute; top: .3rem; right: .6rem; display: flex; gap: .6rem;
  font: .75rem/1.6 ui-monospace, monospace;
}}
.go a {{ color: var(--dim); text-decoration: none }}
.go a + a {{ position: relative; z-index: 1 }}
.go a:hover, .go a:focus-visible {{ color: var(--link); text-decoration: underline }}
footer {{ padding-top: 2rem; padding-bottom: 3rem; color: var(--dim); font-size: .875rem }}
footer ul {{ padding-left: 1.25rem; overflow-wrap: anywhere }}

body:has(#thinking:not(:checked)) .thinking,
body:has(#thinking:not(:checked)) article:not(:has(> .text, > .tool, > .other)),
body:has(#hidden:checked) .tool:not(.failed, :target),
body:has(#hidden:checked) article:not(:has(> .text, > .thinking, > .other, > .failed, > :target)),
body:has(#hidden:checked):has(#thinking:not(:checked))
  article:not(:has(> .text, > .other, > .failed)),
body:has(#summary:checked) .tool:not(.failed, :target) > pre {{ display: none }}
body:has(#summary:checked) .tool:not(.failed, :target) > summary {{ font-weight: normal }}
body:has(#summary:checked) article.role-tool,
body:has(#summary:checked) .tool + .tool {{ margin-top: .25rem }}
body:has(#full:not(:checked)) .failed > pre {{ max-height: 9rem; overflow-y: auto }}
/* Where tools are folded, a click on the line of one leads to it and so unfolds it. */
body:has(#summary:checked) .tool[open]:not(.failed, :target) .own::before {{
  content: ""; position: absolute; inset: -.3rem -.6rem -100vh -100vw;
}}
body:has(#summary:checked) .tool:not(:target) {{ overflow: clip }}
body:has(#summary:checked) .tool[open]:not(.failed, :target) > summary {{ list-style: none }}

@media (max-width: 40rem) {{
  body > header, main, footer, .bar > div {{ padding-left: .75rem; padding-right: .75rem }}
  body > header {{ padding-top: 1.25rem }}
  .bar > div, .bar fieldset {{ column-gap: .7rem }}
  .bar legend {{ margin-right: .2rem }}
}}
@media print {{
  body {{ font-size: 10pt }}
  .bar, .go {{ display: none }}
  body > header, main, footer {{ max-width: none; padding: 0 }}
  /* Paper cannot be scrolled. */
  pre, .failed > pre {{ white-space: pre-wrap; overflow-wrap: anywhere; max-height: none }}
  summary {{ padding-right: .75rem }}
  h2, summary {{ break-after: avoid }}
  .tool {{ print-color-adjust: exact; -webkit-print-color-adjust: exact }}
}}
"""

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
    title: str, blocks: Iterable[Block], *, about: str = "", tools: str = FULL
) -> Iterator[str]:
    """The page of a history, piece by piece; `about` says what it is, `tools` how calls and results
    are seen at first. Each of them can be folded, and leads to the other of its pair."""
    told = _span(Span(about.strip()))
    yield _START.format(
        policy=escape(POLICY),
        title=_span(Span(one_line(title))),
        style=STYLE,
        about=f'<p class="about">{told}</p>\n' if told else "",
        choices="".join(_choice(state, state == tools) for state in TOOLS),
    )
    anchors = _Anchors()
    yield from _articles(blocks, anchors)
    yield "</main>\n"
    yield from _unanswered(anchors)
    yield _END


def _choice(state: str, is_checked: bool) -> str:
    checked = " checked" if is_checked else ""
    return f'<label><input type="radio" name="tools" id="{state}"{checked}> {state}</label>\n'


def _articles(blocks: Iterable[Block], anchors: _Anchors) -> Iterator[str]:
    """Messages. Results stand under their calls, so they have a head only to tell of a change."""
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
        yield from _written(block, lines, anchors)
    yield "</article>\n" if current is not None else ""


def _kind(block: Block) -> str:
    return (role_style(block.role) or "role-other") if block.role else "between"


def _written(block: Block, lines: Sequence[Line], anchors: _Anchors) -> Iterator[str]:
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
    """Where a block is, and where the other one of its pair is or will be."""

    own: str
    other: str = ""


class _Anchors:
    """The names of places on the page. A pair may have two results, and some results no call."""

    def __init__(self) -> None:
        self._scene = 0
        self._calls: Counter[int | None] = Counter()
        self._results: Counter[int | None] = Counter()
        self.awaited: dict[str, tuple[str, str]] = {}
        """The places of results to come: the place and the words of the call of each."""

    def begin(self) -> None:
        """Another conversation, whose pairs have numbers of their own."""
        self._scene += 1
        self._calls.clear()
        self._results.clear()

    def of_call(self, pair: int | None, words: str) -> Anchor:
        self._calls[pair] += 1
        own = self._place("call", pair, self._calls[pair])
        if pair is None:
            return Anchor(own)
        other = self._place("result", pair, self._results[pair] + 1)
        self.awaited[other] = (own, words)
        return Anchor(own, other)

    def of_result(self, pair: int | None) -> Anchor:
        self._results[pair] += 1
        own = self._place("result", pair, self._results[pair])
        self.awaited.pop(own, None)
        has_call = pair is not None and self._calls[pair]
        return Anchor(own, self._place("call", pair, self._calls[pair]) if has_call else "")

    def _place(self, kind: str, pair: int | None, turn: int) -> str:
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
    """Where the links of calls lead whose results did not come."""
    if not anchors.awaited:
        return
    yield '<footer id="unanswered"><p>Calls whose results are not on this page:</p>\n<ul>\n'
    for place, (call, words) in anchors.awaited.items():
        yield f'<li id="{place}"><a href="#{call}">{words}</a></li>\n'
    yield "</ul></footer>\n"


# Text


def _text(lines: Sequence[Line], indent: str) -> str:
    """What somebody says. Between fences it is code, which is never wrapped."""
    parts = groupby(
        zip(fenced(line[0].text for line in lines), lines, strict=True), key=lambda entry: entry[0]
    )
    return "".join(
        f"<pre>\n{markup}</pre>" if is_code else f'<div class="prose">{markup}</div>'
        for is_code, part in parts
        for markup in [_markup([line for _, line in part], indent)]
    )


def _markup(lines: Sequence[Line], indent: str = "") -> str:
    """Lines without their indent. Neighbours that look the same become one piece."""
    pieces = groupby(_pieces(lines, indent), key=lambda span: span.style)
    return "".join(_span(Span("".join(s.text for s in same), style)) for style, same in pieces)


def _pieces(lines: Sequence[Line], indent: str) -> Iterator[Span]:
    for number, line in enumerate(lines):
        first, *others = line
        newline = "\n" if number else ""
        yield Span(newline + first.text.removeprefix(indent), first.style)
        yield from others


def _span(span: Span) -> str:
    """The only way of text into the page, so it relies on nobody. The words of a style are ours."""
    text = escape(visible(span.text), quote=True)
    return f'<span class="{span.style}">{text}</span>' if span.style else text
