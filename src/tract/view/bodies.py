"""Bodies: what the blocks of a message contain, as the nodes of a page. Pure.

The file that is mailed and the page of the server show the same bodies. Heads, which they fold
differently, are not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from tract.content.text import size
from tract.model import Json
from tract.view.blocks import OtherBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from tract.view.code import highlight_block
from tract.view.diffs import EditLine
from tract.view.edits import Edits
from tract.view.fences import mark_code
from tract.view.images import Image, image_of
from tract.view.lines import (
    BODY,
    HEAD,
    Line,
    Styled,
    diff_line,
    edit_words,
    first_line,
    lines_of,
    measure,
)
from tract.view.markdown import markdown_nodes
from tract.view.nodes import Element, Node, line_nodes, styled
from tract.view.sanitize import one_line, visible
from tract.view.tags import COMMAND, SHELL_COMMAND, Piece, pieces

LONG_TEXT = 300
"""Characters of instructions, and of what a program wrote, that are shown at once."""

Picture = Callable[[Image, int], Element]
"""Shows an image, which is the one with this number in its block."""


# Text


def text_nodes(block: TextBlock) -> list[Node]:
    """The text of a message. What a program wrote in the name of the user is folded."""
    if not block.text.strip():
        return []
    if block.note.startswith("summary of"):
        return _piece(Piece(block.text, "summary"))
    if block.role == "user":
        return [node for piece in pieces(block.text) for node in _piece(piece)]
    rendered = markdown_nodes(block.text) if block.role == "assistant" else None
    if rendered is not None:
        return [Element("div", rendered, "text markdown")]
    if block.role == "system" and len(block.text) > LONG_TEXT:
        bytes_of = len(block.text.encode("utf-8", "surrogatepass"))
        head = [visible(first_line(block.text)), f" ({size(bytes_of)})"]
        return [folded(head, [_prose(block.text)], "aside other")]
    return [Element("div", with_code(block.text), "text")]


def _piece(piece: Piece) -> list[Node]:
    """A part of a message of the user."""
    if not piece.label:
        return [Element("div", with_code(piece.text), "text")] if piece.text.strip() else []
    label = styled(Styled(f"[{piece.label}]", "dim"))
    if piece.label in (COMMAND, SHELL_COMMAND):  # words of the person
        words = [label, " ", *_plain(piece.text)]
        return [Element("div", [Element("div", words, "prose")], "text")]
    if "\n" not in piece.text and len(piece.text) < LONG_TEXT:
        return [Element("p", [label, " ", visible(piece.text)], "aside other")]
    return [folded([f"[{piece.label}]", *_hint(piece.text)], [_prose(piece.text)], "aside other")]


def folded(head: Sequence[Node], body: Sequence[Node], style: str, is_open: bool = False) -> Node:
    """A line that unfolds."""
    attributes = {"open": ""} if is_open else {}
    return Element("details", [Element("summary", head), *body], style, attributes)


def _hint(text: str) -> list[Node]:
    return [Element("span", [f" {visible(first_line(text))}"], "hint")]


def _plain(text: str) -> list[Node]:
    return [visible(text.replace("\r\n", "\n").removesuffix("\n"))]


def _prose(text: str) -> Node:
    return Element("div", _plain(text), "prose")


def with_code(text: str) -> list[Node]:
    """A text as it is. Fenced code is never wrapped."""
    lines = visible(text.replace("\r\n", "\n").removesuffix("\n")).split("\n")
    parts = groupby(zip(mark_code(lines), lines, strict=True), key=lambda entry: entry[0])
    return [
        Element("pre", ["\n".join(line for _, line in part)])
        if is_code
        else Element("div", ["\n".join(line for _, line in part)], "prose")
        for is_code, part in parts
    ]


def thinking_nodes(block: ThinkingBlock, *, is_open: bool) -> list[Node]:
    head, *body = lines_of(block)
    if not body:
        return [Element("p", line_nodes([head], HEAD), "aside thinking")]
    words = [*line_nodes([head], HEAD), *_hint(block.text)]
    prose = Element("div", line_nodes(body, BODY), "prose")
    return [folded(words, [prose], "aside thinking", is_open)]


def other_nodes(block: OtherBlock, picture: Picture) -> list[Node]:
    image = image_of(block.data)
    if image is not None:
        return [Element("p", [picture(image, 0)], "other")]
    head, *body = lines_of(block)
    if not body:
        return [Element("p", line_nodes([head], HEAD), "aside other")]
    code = Element("pre", line_nodes(body, BODY))
    return [folded(line_nodes([head], HEAD), [code], "aside other")]


# Calls and results


def argument_nodes(
    call: ToolUseBlock, edits: Edits | None, *, has_colour: bool = False
) -> list[Node]:
    """The arguments of a call; those that change a file as a diff."""
    if edits is None:
        return _arguments(call, has_colour)
    rest = _arguments(ToolUseBlock(arguments=edits.rest), has_colour) if edits.rest else []
    diffs = [
        node
        for file in edits.files
        for node in (Element("p", [edit_words(file)], "file"), *diff_nodes(file.lines))
    ]
    return [*rest, *diffs]


def _arguments(call: ToolUseBlock, has_colour: bool) -> list[Node]:
    lines = (highlight_block(call, lines_of(call)) if has_colour else lines_of(call))[1:]
    return [Element("pre", line_nodes(lines, BODY), "arguments")] if lines else []


def diff_nodes(lines: Iterable[EditLine]) -> list[Node]:
    """Lines of a kind are one element: a page of many edits is heavy enough."""
    rows = [
        Element(
            "span", [*line_nodes([_without_colour(line) for line in part]), "\n"], f"line {kind}"
        )
        for kind, part in groupby(lines, key=lambda line: line.kind)
    ]
    return [Element("pre", rows, "diff", {"tabindex": "0"})] if rows else []


def _without_colour(line: EditLine) -> Line:
    """The element around it has the colour; only marks are elements of their own."""
    return tuple(one if "mark" in one.style else Styled(one.text) for one in diff_line(line))


def result_nodes(result: ToolResultBlock, picture: Picture, *, has_head: bool) -> list[Node]:
    """A result in full."""
    words = " ".join(filter(None, ["result", one_line(result.note), f"({measure(result)})"]))
    head: list[Node] = [Element("p", [words], "file")] if has_head else []
    images = image_nodes(result.pictures, picture)
    lines = [] if only_shows(result, len(images)) else lines_of(result)[1:]
    if lines:
        return [*head, *images, Element("pre", line_nodes(lines, BODY), "", {"tabindex": "0"})]
    return [*head, *images] if images else [*head, Element("p", ["empty result"], "file")]


def image_nodes(pictures: Iterable[Json], picture: Picture) -> list[Node]:
    images = [image for block in pictures if (image := image_of(block))]
    return [picture(image, number) for number, image in enumerate(images)]


def only_shows(result: ToolResultBlock, images: int) -> bool:
    """Whether the text of a result only stands for the images that are shown."""
    stand_ins = re.findall(r"^\[\w+ not shown\]$", result.text, re.MULTILINE)
    return 0 < images == len(stand_ins) == len(result.text.split("\n"))


def inline_picture(image: Image, _: int) -> Element:
    """An image inside the page itself."""
    about = image_words(image)
    source = f"data:{image.media_type};base64,{image.data}"
    return Element("img", (), "", {"src": source, "alt": about, "title": about, "loading": "lazy"})


def image_words(image: Image) -> str:
    return f"{image.media_type}, {size(image.size)}"
