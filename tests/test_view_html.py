"""The page of a history: what is on it, and that nothing in a history can reach out of it.
TRACT_UPDATE_GOLDEN=1 writes the recorded page anew."""

from __future__ import annotations

import os
import re
import unicodedata
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus import BY_FOLDER, DATA, real_files
from tests.strategies import texts
from tract import Tract
from tract.importers.writer import import_file
from tract.model import Form
from tract.view.ansi import plain
from tract.view.blocks import (
    OtherBlock,
    RuleBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolsBlock,
    ToolUseBlock,
    ViewBlock,
    format_request,
)
from tract.view.conversation import format_dialog
from tract.view.html import page
from tract.view.lines import lines_of
from tract.view.palette import PALETTE
from tract.view.sanitize import visible

GOLDEN = Path(__file__).parent / "golden" / "view" / "page.html"
VOID = {"meta", "input"}
IDS_OF_BAR = {"full", "summary", "hidden", "thinking"}


class Element:
    def __init__(self, tag: str, attributes: Iterable[tuple[str, str | None]] = ()) -> None:
        self.tag = tag
        self.attributes = dict(attributes)
        self.children: list[Element] = []
        self.pieces: list[str] = []  # all text inside, in its order

    @property
    def classes(self) -> set[str]:
        return set((self.attributes.get("class") or "").split())

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def all(self, tag: str = "", of: str = "") -> Iterator[Element]:
        for child in self.children:
            if (not tag or child.tag == tag) and (not of or of in child.classes):
                yield child
            yield from child.all(tag, of)

    def one(self, tag: str, of: str = "") -> Element:
        (found,) = self.all(tag, of)
        return found


class Tree(HTMLParser):
    """Reads a page, and insists that all that is opened is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = Element("")
        self.open = [self.root]
        self.feed(text)
        self.close()
        assert self.open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        element = Element(tag, attrs)
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        raise AssertionError(f"<{tag}/>")

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.pieces.append(data)


def tree(*blocks: ViewBlock, title: str = "A title", about: str = "") -> Element:
    return Tree("".join(page(title, blocks, about=about))).root


def body(details: Element) -> str:
    """What a <pre> shows. A browser drops the first newline in it."""
    text = details.one("pre").text
    assert text.startswith("\n")
    return text[1:]


def head(details: Element) -> str:
    return details.one("summary").text


def tools(root: Element) -> list[Element]:
    return list(root.all("details", "tool"))


def pair_class(details: Element) -> list[str]:
    return [word for word in details.classes if re.fullmatch(r"p\d", word)]


def links(details: Element) -> list[str]:
    """Where it leads, but for itself."""
    hrefs = [link.attributes["href"] or "" for link in details.all("a")]
    return [href[1:] for href in hrefs if href[1:] != details.attributes["id"]]


# What is on it

REQUEST: dict[str, Any] = {
    "system": "You fix bugs.",
    "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
    "messages": [
        {
            "role": "user",
            "content": "Why does it fail?\n\n```python\nif a < b:\n    go()\n```\nHm.",
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "First\nI look.", "signature": "s"},
                {"type": "text", "text": "I look & see."},
                {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "/a/b.py"}},
                {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "ls\npwd"}},
                {"type": "tool_use", "id": "c", "name": "Wait", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "\n  1\t<b>x</b>\n"},
                {"type": "tool_result", "tool_use_id": "b", "content": "boom", "is_error": True},
                {"type": "tool_result", "tool_use_id": "gone", "content": "stray"},
            ],
        },
    ],
}


def test_the_page_is_the_recorded_one() -> None:
    text = "".join(page("A small one", format_request(REQUEST), about="Made for a test."))
    if os.environ.get("TRACT_UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8", newline="\n")
    assert GOLDEN.read_text(encoding="utf-8") == text


def test_every_call_and_result_has_the_line_of_the_terminal_and_its_body_as_it_is() -> None:
    found = [(head(one), body(one) if list(one.all("pre")) else None) for one in request_tools()]
    assert found == [
        ("[tool_use] Read /a/b.py", "file_path: /a/b.py"),
        ("[tool_use] Bash ls", "command:\n  ls\n  pwd"),
        ("[tool_use] Wait", None),
        ("[tool_result] Read /a/b.py (14 bytes)", "\n  1\t<b>x</b>"),
        ("[tool_result:error] Bash ls (4 bytes)", "boom"),
        ("[tool_result] (5 bytes)", "stray"),
    ]
    assert all("open" in details.attributes for details in request_tools())


def request_tools() -> list[Element]:
    return tools(tree(*format_request(REQUEST)))


def test_errors_are_marked_and_nothing_else_is() -> None:
    assert [head(one) for one in request_tools() if "failed" in one.classes] == [
        "[tool_result:error] Bash ls (4 bytes)"
    ]


def test_a_call_and_its_result_have_one_colour_and_lead_to_each_other() -> None:
    read, bash, wait, read_result, bash_result, stray = request_tools()
    for call, result in ((read, read_result), (bash, bash_result)):
        assert pair_class(call) == pair_class(result) != []
        assert links(call) == [result.attributes["id"]]
        assert links(result) == [call.attributes["id"]]
    assert pair_class(stray) == links(stray) == []
    assert len({str(one.attributes["id"]) for one in request_tools()}) == 6
    assert pair_class(read) != pair_class(bash) != pair_class(wait)


def test_a_call_without_a_result_leads_to_a_list_of_those() -> None:
    root = tree(*format_request(REQUEST))
    wait = tools(root)[2]
    (entry,) = root.one("footer").all("li")
    assert links(wait) == [entry.attributes["id"]]
    assert entry.one("a").attributes["href"] == f"#{wait.attributes['id']}"
    assert entry.text == "[tool_use] Wait"


def test_no_list_of_calls_without_results_where_there_are_none() -> None:
    use, result = ToolUseBlock(pair=0), ToolResultBlock(pair=0)
    assert list(tree(use, result).all("footer")) == []


def test_a_second_result_has_a_place_of_its_own() -> None:
    blocks = [ToolUseBlock(pair=4), ToolResultBlock(pair=4), ToolResultBlock(pair=4)]
    call, *results = tools(tree(*blocks))
    assert links(call) == [results[0].attributes["id"]]
    assert [links(result) for result in results] == [[call.attributes["id"]]] * 2
    assert results[0].attributes["id"] != results[1].attributes["id"]


def test_pairs_that_share_a_number_are_kept_apart() -> None:
    blocks = [ToolUseBlock(pair=0), ToolResultBlock(pair=0)] * 2
    first, first_result, second, second_result = tools(tree(*blocks))
    assert links(first) == [first_result.attributes["id"]]
    assert links(second) == [second_result.attributes["id"]]
    assert links(second_result) == [second.attributes["id"]]


def test_a_result_whose_call_was_not_chosen_leads_nowhere_but_keeps_its_colour() -> None:
    (result,) = tools(tree(ToolResultBlock(pair=11)))
    assert (links(result), pair_class(result)) == ([], ["p3"])


def test_messages_are_articles_with_their_roles() -> None:
    articles = list(tree(*format_request(REQUEST)).all("article"))
    classes = [article.attributes["class"] for article in articles]
    spoken = ["between", "role-system", "role-user", "role-assistant"]
    assert classes == [*spoken, "role-tool", "role-tool", "role-tool"]
    heads = [heading.text for article in articles for heading in article.all("h2")]
    assert heads == ["system", "user", "assistant"]


def test_results_have_a_head_only_to_tell_what_was_done_to_them() -> None:
    about: dict[str, Any] = {"role": "tool", "commit": "abcdef0123456789"}
    pinned = ToolResultBlock(message=1, note="pinned", **about)
    root = tree(ToolResultBlock(message=0, **about), pinned)
    assert [heading.text for heading in root.all("h2")] == ["tool abcdef0123 pinned"]


def test_what_stands_between_messages_is_told_without_a_head() -> None:
    root = tree(TextBlock(role="user", text="hi"), RuleBlock(text="epoch 1"))
    assert root.one("p", "rule").text == "── epoch 1 ──"
    assert [heading.text for heading in root.all("h2")] == ["user"]


FENCED = [
    ("plain", ["plain"], []),
    ("a\n```\n b\n```\nc", ["a", "c"], ["```\n b\n```"]),
    ("````md\n```\nx\n```\n````\nc", ["c"], ["````md\n```\nx\n```\n````"]),
    ("```\nnever closed\n\n", [], ["```\nnever closed\n"]),
    ("say ```x``` now", ["say ```x``` now"], []),
    ("```\n```py\n```\nend", ["end"], ["```\n```py\n```"]),
]


@pytest.mark.parametrize(("text", "prose", "code"), FENCED)
def test_code_between_fences_is_not_wrapped(text: str, prose: list[str], code: list[str]) -> None:
    said = tree(TextBlock(role="user", text=text)).one("div", "text")
    assert [part.text for part in said.all("div", "prose")] == prose
    assert [part.text.removeprefix("\n") for part in said.all("pre")] == code


def test_text_of_blanks_alone_takes_no_room() -> None:
    assert list(tree(TextBlock(role="assistant", text="\n\n")).all("div", "text")) == []


def test_thoughts_and_other_things_are_told() -> None:
    root = tree(
        ThinkingBlock(text="hm\nso"),
        ThinkingBlock(text=""),
        OtherBlock(kind="image", data={"a": 1}),
        OtherBlock(kind="image", data="x" * 5000),
    )
    asides = [element.text for element in root.all(of="aside")]
    assert asides == [
        "[thinking]hm\nso",
        "[thinking] (kept by the provider)",
        '[image] (12 bytes)\n{\n  "a": 1\n}',
        "[image] (5000 bytes)",
    ]


def test_the_title_and_what_it_is() -> None:
    root = tree(title="a\n<b>", about=" one\ntwo & three ")
    assert root.one("title").text == root.one("h1").text == "a <b>"
    assert root.one("p", "about").text == "one\ntwo & three"
    assert list(tree().all("p", "about")) == []


# How it is written


def test_a_page_is_written_while_the_blocks_come() -> None:
    asked: list[int] = []

    def blocks() -> Iterator[ViewBlock]:
        for number in range(1000):
            asked.append(number)
            yield TextBlock(message=number, role="user", text=f"text {number}.")

    pieces = page("Long", blocks())
    assert "<h1>Long</h1>" in next(pieces)
    assert asked == []
    assert any("text 3." in piece for piece in pieces)
    assert asked == [0, 1, 2, 3]


def test_it_needs_and_allows_nothing_from_elsewhere() -> None:
    text = "".join(page("x", format_request(REQUEST)))
    root = Tree(text).root
    style = root.one("style").text
    assert not re.search(r"url\(|@import|expression", style)
    (policy,) = (
        meta.attributes["content"] or ""
        for meta in root.all("meta")
        if meta.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "unsafe" not in policy
    assert {"name": "referrer", "content": "no-referrer"} in [
        m.attributes for m in root.all("meta")
    ]
    tags = {element.tag for element in root.all()}
    assert not tags & {"script", "link", "img", "iframe", "object", "form", "base", "svg"}
    names = {name for element in root.all() for name in element.attributes}
    assert not names & {"src", "style", "srcset", "action"}
    assert not [name for name in names if name.startswith("on")]
    assert all((link.attributes["href"] or "").startswith("#") for link in root.all("a"))


def test_the_states_of_the_bar_are_those_that_the_style_knows() -> None:
    root = tree()
    ids = {element.attributes["id"] or "" for element in root.all("input")}
    style = root.one("style").text
    assert ids == IDS_OF_BAR == set(re.findall(r"has\(#([a-z]+):", style))
    assert [i.attributes["id"] for i in root.all("input") if "checked" in i.attributes] == [
        *("full", "thinking"),
    ]


def test_every_class_and_style_has_a_rule() -> None:
    """A class that the style does not know would show nothing."""
    root = tree(*everything("word", role="user"), *everything("word", role="odd"))
    known = set(re.findall(r"\.([a-z][a-z0-9-]*)", root.one("style").text))
    used = {word for element in root.all() for word in element.classes}
    assert used - known <= {"role-other", "between", "role-assistant"}


# Contrast


def styled(style: str, name: str, *, dark: bool) -> str:
    found: list[str] = re.findall(rf"--{name}: (#[0-9a-f]{{6}})", style)
    return found[dark]


def rgb(colour: str) -> list[float]:
    return [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]


def mixed(share: float, colour: list[float], other: list[float]) -> list[float]:
    return [share * a + (1 - share) * b for a, b in zip(colour, other, strict=True)]


def luminance(colour: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everything_can_be_read(dark: bool) -> None:
    """Text has the contrast that WCAG asks for, 4.5, also the lines in the colours of pairs."""
    style = tree().one("style").text
    ground, raised, ink, error = (
        rgb(styled(style, name, dark=dark)) for name in ("ground", "raised", "ink", "error")
    )
    for name in ("ink", "dim", "error", "note", "link", "system", "user", "assistant", "tool"):
        colour = rgb(styled(style, name, dark=dark))
        assert min(contrast(colour, ground), contrast(colour, raised)) >= 4.5, name
    share = int(re.findall(r"summary { color: color-mix\(in srgb, var\(--pair\) (\d+)%", style)[0])
    for entry in PALETTE:
        pair = rgb(entry.web)
        under = mixed(0.04, pair, ground)
        words = mixed(share / 100, pair, ink)
        assert contrast(words, under) >= 4.5, entry
        assert contrast(words, mixed(0.09, error, under)) >= 4.5, entry
        assert contrast(error, mixed(0.09, error, under)) >= 4.5, entry


# Hostile text

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "</summary></details></article></main></body></html><h1>",
    "</pre><plaintext>",
    "</title><style>*{display:none}</style>",
    "</style><script>",
    "<!--",
    "-->",
    "<![CDATA[",
    "<?php ?>",
    "&lt;b&gt; &amp;quot; &#x3c;script&#x3e; &nbsp",
    "javascript:alert(1)",
    "#call-0",
    "p0 failed",
    "```\n</pre><b>",
    "~~~\n`````",
    "{title} {style} {0} %s",
    "\x00\x01\x07\x08\x0b\x0c\x0e\x1b\x7f",
    "\x1b[31mred\x1b]52;c;eA==\x07\x9b2J",
    "\r\n\x85\u2028\u2029",
    "\u202egpj.exe\u202c \u2066x\u2069 \u200e\u200f\u061c",
    "\u200b\ufeff\u2060\u00ad\U000e0041\U000e007f",
    "\ud800 \udfff",
    "\ufffe\uffff\U0001fffe",
    "[bold]x[/bold] [@click=app.quit]x[/]",
]
hostile = st.sampled_from(PAYLOADS) | st.builds(
    "{}{}{}".format, texts, st.sampled_from(PAYLOADS), texts
)


def everything(word: str, role: str | None = None) -> list[ViewBlock]:
    """A block of each kind, with the word in each of its fields."""
    value = {word: word, f"{word}.": [word, {word: [word]}], f"{word}2": f"{word}\n{word}"}
    who = word if role is None else role
    common: dict[str, Any] = {"message": 7, "role": who, "commit": word, "note": word}
    tool: dict[str, Any] = {**common, "tool_use_id": word, "tool_name": word, "detail": word}
    made = [ToolUseBlock(**tool, arguments=a, pair=p) for p, a in enumerate((value, word, [value]))]
    results = [
        ToolResultBlock(**tool, text=word, size=3, pair=0),
        ToolResultBlock(**tool, text=f"\n{word}", is_error=True, pair=1),
        ToolResultBlock(**tool, text=word, form=Form.TRUNCATED, tokens=9, sent_tokens=1, pair=0),
        ToolResultBlock(**tool, text=word),
        ToolResultBlock(**(tool | {"role": "tool"}), text=word),
    ]
    return [
        ToolsBlock(names=(word, word)),
        RuleBlock(text=word, commit=word),
        TextBlock(**common, text=word),
        ThinkingBlock(**common, text=word),
        *(*made, *results),
        OtherBlock(**common, kind=word, data=value),
        OtherBlock(**common, kind=word, data=word),
    ]


def hostile_request(word: str) -> dict[str, Any]:
    said = [
        {"type": "text", "text": word},
        {"type": "thinking", "thinking": word, "signature": word},
        {"type": "tool_use", "id": word, "name": word, "input": {word: word}},
        {"type": word, word: word},
        word,
    ]
    result = {"type": "tool_result", "tool_use_id": word, "content": word, "is_error": True}
    return {
        "system": word,
        "tools": [{"name": word, "description": word, "input_schema": {}}],
        "messages": [
            {"role": "assistant", "content": said},
            {"role": "user", "content": [result, {**result, "content": [word]}]},
            {"role": word, "content": word},
        ],
    }


Shape = tuple[str, tuple[tuple[str, str | None], ...]]


def shapes(root: Element) -> set[Shape]:
    return {(one.tag, tuple(sorted(one.attributes.items()))) for one in root.all()}


def pages(word: str) -> Iterator[Element]:
    yield tree(*everything(word), title=word, about=word)
    yield tree(*format_request(hostile_request(word)), title=word, about=word)


HOSTED = ["x_tool_use", "x_tool_result"]
"""Types of blocks about tools that a provider runs: their ends decide how they are shown."""
TAME = ["word", "two\nlines", "```\ncode\n```\nprose", "", "user", "system", *HOSTED]
ALLOWED = {shape for word in TAME for root in pages(word) for shape in shapes(root)}


def is_harmless(char: str) -> bool:
    return char.isprintable() or char in "\n\t\u200c\u200d" or unicodedata.category(char) == "Zs"


def check_hostile(word: str) -> None:
    for root in pages(word):
        assert shapes(root) <= ALLOWED
        assert [char for char in root.text if not is_harmless(char)] == []
        assert "default-src 'none'" in (root.one("head").children[1].attributes["content"] or "")
        ids = Counter(one.attributes["id"] for one in root.all() if "id" in one.attributes)
        assert set(ids.values()) == {1}
    shown = tree(TextBlock(role="user", text=f"<{word}>")).one("div", "text")
    lines = visible(f"<{word}>".replace("\r\n", "\n")).split("\n")
    assert "".join(shown.text.split("\n")) == "".join(lines)


@pytest.mark.parametrize("word", PAYLOADS, ids=range(len(PAYLOADS)))
def test_payloads_stay_text(word: str) -> None:
    check_hostile(word)


@given(hostile)
def test_no_field_reaches_out_of_its_text(word: str) -> None:
    check_hostile(word)


@given(texts)
def test_a_result_is_shown_as_it_is(text: str) -> None:
    block = ToolResultBlock(text=f"x{text}", tool_name="T", detail=text, size=1, pair=2)
    (details,) = tools(tree(block))
    assert body(details) == visible(f"x{text}".replace("\r\n", "\n").removesuffix("\n"))
    assert head(details) == plain(lines_of(block)[0]).strip(" ")


# Real histories


def names_of(dialog: Tract) -> Iterator[str]:
    """How the line of each call and result must begin, found without the model of the viewer."""
    asked: dict[str | None, str] = {}
    reading = dialog.read()
    for place in reading.places:
        message = reading.whole(place)
        if message.role == "tool":
            error = ":error" if message.is_error else ""
            name = message.name or asked.get(message.tool_call_id, "")
            yield f"[tool_result{error}] {name}".rstrip()
        for call in message.tool_calls:
            asked[call.id] = call.name
            yield f"[tool_use] {call.name}"


def check_page(dialog: Tract) -> tuple[int, int]:
    root = tree(*format_dialog(dialog.read()))
    found = tools(root)
    remaining = iter([head(details) for details in found])
    for wanted in names_of(dialog):
        assert any(line.startswith(wanted) for line in remaining), wanted
    by_id = {one.attributes["id"]: one for one in root.all() if "id" in one.attributes}
    linked = 0
    for details in found:
        for place in links(details):
            other = by_id[place]
            if other.tag == "details":
                linked += 1
                assert pair_class(other) == pair_class(details) != []
    return len(found), linked


@pytest.mark.skipif(not DATA.exists(), reason="the transcripts are not here")
@pytest.mark.parametrize("folder", BY_FOLDER)
def test_every_call_and_result_of_a_transcript_is_on_its_page(folder: str) -> None:
    shown = linked = 0
    for path in real_files(folder):
        with Tract.open(":memory:") as t:
            for name in import_file(t, path).dialogs:
                counted = check_page(t.sibling(name))
                shown, linked = shown + counted[0], linked + counted[1]
    assert shown
    assert linked or folder.startswith("vercel")  # those are single responses
