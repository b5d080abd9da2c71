"""Markdown as HTML, written by us token by token. Pure.

No HTML of a text reaches the page, nothing is loaded, and only links to the web can be followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tract.view.highlight import highlight
from tract.view.lines import Styled

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 100_000
"""Characters of a text; a longer one is shown as it is."""
SCHEMES = {"http", "https", "mailto"}
PLAIN_TAGS = {
    *("p", "em", "strong", "s", "ul", "li", "blockquote"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
Escape = Callable[[Styled], str]
"""The only way for text into the page."""


def is_available() -> bool:
    return _parser() is not None


def render(text: str, escape: Escape) -> str | None:
    """The text as HTML; None where it is too long, where a part of it would be lost, or where
    nothing can read Markdown."""
    parser = _parser()
    if parser is None or len(text) > LONGEST:
        return None
    writer = _Writer(escape)
    page = "".join(writer.blocks(parser.parse(text)))
    # The parser drops what is nested too deeply, and the names of entities.
    return page if writer.letters >= sum(map(str.isalpha, text)) else None


@cache
def _parser() -> MarkdownIt | None:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        return None
    # A reference definition would vanish from the page; so it is read as text.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100})
    return parser.enable(["table", "strikethrough"]).disable(["reference", "html_block"])


class _Writer:
    def __init__(self, escape: Escape) -> None:
        self._escape = escape
        self._ends: list[str] = []  # of the links that are open
        self.letters = 0
        """How many letters of the text were written."""

    def blocks(self, tokens: Sequence[Token]) -> Iterator[str]:
        for token in tokens:
            match token.type:
                case "inline":
                    yield from self._inline(token.children or [])
                case "fence" | "code_block":
                    yield self._code(token)
                case "hr":
                    yield "<hr>\n"
                case "heading_open" | "heading_close":
                    yield self._heading(token)
                case "ordered_list_open":
                    start = token.attrs.get("start", 1)
                    yield f'<ol start="{int(start)}">\n'
                case "ordered_list_close":
                    yield "</ol>\n"
                case _:
                    yield self._element(token)

    def _element(self, token: Token) -> str:
        if token.tag in PLAIN_TAGS:
            end = "\n" if token.block and token.nesting < 0 else ""
            if token.hidden:  # a tight list has no paragraphs
                return end
            return f"<{token.tag}>" if token.nesting > 0 else f"</{token.tag}>{end}"
        return self._text(token.content)

    def _heading(self, token: Token) -> str:
        """The page has headings of its own, so those of texts are smaller."""
        level = min(int(token.tag[1:]) + 2, 6)
        return f"<h{level}>" if token.nesting > 0 else f"</h{level}>\n"

    def _code(self, token: Token) -> str:
        language = token.info.split()[0] if token.info.strip() else ""
        label = f'<div class="language">{self._text(token.info.strip())}</div>' if language else ""
        code = token.content.removesuffix("\n")
        body = "".join(map(self._span, highlight(code, language)))
        return f'{label}<pre class="code">\n{body}</pre>\n'

    def _inline(self, tokens: Sequence[Token]) -> Iterator[str]:
        for token in tokens:
            match token.type:
                case "softbreak" | "hardbreak":
                    yield "<br>\n"
                case "code_inline":
                    yield f"<code>{self._text(token.content)}</code>"
                case "link_open":
                    yield self._link(str(token.attrs.get("href", "")), token.attrs.get("title"))
                case "link_close":
                    yield self._ends.pop() if self._ends else ""
                case "image":
                    yield from self._image(token)
                case _:
                    yield self._element(token)

    def _link(self, target: str, title: object) -> str:
        """A link to the web can be followed. Any other is named."""
        about = f" {title}" if title else ""
        if not _is_safe(target):
            self._ends.append(self._text(f" ({target}{about})"))
            return ""
        address = self._text(target)
        self._ends.append(f"</a>{self._text(f' ({title})')}" if title else "</a>")
        return f'<a href="{address}" rel="noreferrer noopener" title="{address}">'

    def _image(self, token: Token) -> Iterator[str]:
        """Its name and address: nothing is loaded."""
        title = f" {title}" if (title := token.attrs.get("title")) else ""
        words = f"[image {token.content} ({token.attrs.get('src', '')}{title})]"
        yield self._span(Styled(words, "dim"))

    def _text(self, text: str) -> str:
        return self._span(Styled(text))

    def _span(self, span: Styled) -> str:
        self.letters += sum(map(str.isalpha, span.text))
        return self._escape(span)


def _is_safe(target: str) -> bool:
    if not target.isprintable() or any(char.isspace() for char in target):
        return False
    try:
        return urlsplit(target).scheme in SCHEMES
    except ValueError:
        return False
