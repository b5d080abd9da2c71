"""Markdown as nodes, made by us token by token. Pure.

No HTML of a text reaches a page, nothing is loaded, and only links to the web can be followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tract.view.highlight import highlight
from tract.view.lines import Styled
from tract.view.nodes import Element, Node, letters, styled, text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 100_000
"""Characters of a text; a longer one is shown as it is."""
SCHEMES = {"http", "https", "mailto"}
PLAIN_TAGS = {
    *("p", "em", "strong", "s", "ul", "ol", "li", "blockquote"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


def is_available() -> bool:
    return _parser() is not None


def markdown_nodes(source: str) -> list[Node] | None:
    """The text as nodes; None where it is too long, where a part of it would be lost, or where
    nothing can read Markdown."""
    parser = _parser()
    if parser is None or len(source) > LONGEST:
        return None
    nodes = _Builder().build(parser.parse(source))
    # The parser drops what is nested too deeply, and the names of entities.
    is_complete = _legible(nodes) >= sum(map(str.isalpha, source))
    return nodes if is_complete else None


@cache
def _parser() -> MarkdownIt | None:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        return None
    # A reference definition would vanish from the page; so it is read as text.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100})
    return parser.enable(["table", "strikethrough"]).disable(["reference", "html_block"])


def _legible(nodes: Sequence[Node]) -> int:
    """The letters of a text and of its links."""
    links = [
        node.attributes.get("href", "") if not isinstance(node, str) else "" for node in _all(nodes)
    ]
    return letters(nodes) + sum(map(str.isalpha, "".join(links)))


def _all(nodes: Sequence[Node]) -> list[Node]:
    inside: list[Node] = []
    for node in nodes:
        inside.append(node)
        if not isinstance(node, str):
            inside += _all(node.children)
    return inside


class _Builder:
    """Makes a tree of the parser's tokens, which open and close."""

    def __init__(self) -> None:
        self._open: list[tuple[Element, list[Node]]] = []
        self._nodes: list[Node] = []

    def build(self, tokens: Sequence[Token]) -> list[Node]:
        for token in tokens:
            self._take(token)
        while self._open:
            self._close()
        return self._nodes

    def _take(self, token: Token) -> None:
        match token.type:
            case "inline":
                for child in token.children or []:
                    self._take(child)
            case "fence" | "code_block":
                self._nodes += _code(token)
            case "softbreak" | "hardbreak":
                self._nodes.append(Element("br"))
            case "hr":
                self._nodes.append(Element("hr"))
            case "code_inline":
                self._nodes.append(Element("code", (text(token.content),)))
            case "image":
                self._nodes.append(_image(token))
            case "link_open":
                self._begin(_link(token))
            case "link_close":
                self._end_link()
            case _:
                self._element(token)

    def _element(self, token: Token) -> None:
        if token.hidden:  # a tight list has no paragraphs
            return
        is_heading = token.type in ("heading_open", "heading_close")
        if not is_heading and token.tag not in PLAIN_TAGS:
            self._nodes.append(text(token.content))
        elif token.nesting < 0:
            self._close()
        elif is_heading:  # the page has headings of its own, so those of texts are smaller
            self._begin(Element(f"h{min(int(token.tag[1:]) + 2, 6)}"))
        else:
            start = token.attrs.get("start", 1)
            is_late = token.tag == "ol" and start != 1
            self._begin(Element(token.tag, attributes={"start": str(start)} if is_late else {}))

    def _begin(self, element: Element) -> None:
        self._open.append((element, self._nodes))
        self._nodes = []

    def _close(self) -> None:
        if self._open:
            element, before = self._open.pop()
            before.append(element._replace(children=tuple(self._nodes)))
            self._nodes = before

    def _end_link(self) -> None:
        """A link to the web can be followed. Any other is named, and so is a title."""
        if not self._open or self._open[-1][0].tag != "a":
            return
        element, before = self._open.pop()
        target, title = element.attributes["href"], element.attributes.get("title", "")
        if _is_safe(target):
            link = {"href": target, "rel": "noreferrer noopener", "title": target}
            before.append(Element("a", tuple(self._nodes), attributes=link))
            before += [text(f" ({title})")] if title else []
        else:
            before += [*self._nodes, text(f" ({' '.join(filter(None, (target, title)))})")]
        self._nodes = before


def _link(token: Token) -> Element:
    return Element("a", attributes={key: str(value) for key, value in token.attrs.items()})


def _code(token: Token) -> list[Node]:
    language = token.info.split()[0] if token.info.strip() else ""
    label = [Element("div", (text(token.info.strip()),), "language")] if language else []
    code = highlight(token.content.removesuffix("\n"), language)
    return [*label, Element("pre", tuple(map(styled, code)), "code")]


def _image(token: Token) -> Node:
    """Its name and address: nothing is loaded."""
    title = f" {title}" if (title := token.attrs.get("title")) else ""
    return styled(Styled(f"[image {token.content} ({token.attrs.get('src', '')}{title})]", "dim"))


def _is_safe(target: str) -> bool:
    if not target.isprintable() or any(char.isspace() for char in target):
        return False
    try:
        return urlsplit(target).scheme in SCHEMES
    except ValueError:
        return False
