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
from msgspec.structs import replace

from tests.corpus import BY_FOLDER, DATA, real_files
from tests.strategies import texts
from tract import Tract
from tract.importers.writer import import_file
from tract.model import Form
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
from tract.view.facts import Facts, Prompt
from tract.view.html import page
from tract.view.lines import FULL, measure
from tract.view.palette import PALETTE
from tract.view.sanitize import one_line, visible

GOLDEN = Path(__file__).parent / "golden" / "view" / "page.html"
VOID = {"meta", "input", "br", "hr", "img"}
IDS_OF_BAR = {"tools", "thinking"}


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


def head(details: Element) -> str:
    return next(details.all("summary")).text


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


def test_every_call_is_one_line_with_its_result_inside() -> None:
    assert [(head(one), bodies(one)) for one in request_tools()] == [
        ("Read /a/b.py (14 bytes)", ["file_path: /a/b.py", "\n  1\t<b>x</b>"]),
        ("Bash ls (4 bytes) failed: boom", ["command:\n  ls\n  pwd", "boom"]),
        ("Wait", []),
        ("result (5 bytes)", ["stray"]),
    ]


def test_only_what_failed_is_open_at_first() -> None:
    assert [head(one) for one in request_tools() if "open" in one.attributes] == [
        "Bash ls (4 bytes) failed: boom"
    ]
    text = "".join(page("x", format_request(REQUEST), tools=FULL))
    assert all("open" in one.attributes for one in tools(Tree(text).root))


def request_tools() -> list[Element]:
    return tools(tree(*format_request(REQUEST)))


def bodies(details: Element) -> list[str]:
    """What each <pre> shows. A browser drops the first newline in it."""
    return [pre.text.removeprefix("\n") for pre in details.all("pre")]


def test_errors_are_marked_and_nothing_else_is() -> None:
    assert [head(one) for one in request_tools() if "failed" in one.classes] == [
        "Bash ls (4 bytes) failed: boom"
    ]


def test_every_call_result_and_message_can_be_linked_to() -> None:
    root = tree(*format_request(REQUEST))
    ids = [str(one.attributes["id"]) for one in root.all() if "id" in one.attributes]
    assert len(set(ids)) == len(ids)
    assert {"call-0", "result-0", "call-1", "result-1", "call-2", "result-x", "m1"} <= set(ids)
    hrefs = {(link.attributes["href"] or "")[1:] for link in root.all("a")}
    assert hrefs <= set(ids)


def test_a_message_is_named_by_its_commit() -> None:
    root = tree(TextBlock(role="user", text="hi", commit="0123456789abcdef", message=4))
    assert root.one("article").attributes["id"] == "c0123456789"


def test_a_call_without_a_result_is_listed() -> None:
    root = tree(*format_request(REQUEST))
    (entry,) = root.one("footer").all("li")
    assert entry.one("a").attributes["href"] == f"#{tools(root)[2].attributes['id']}"
    assert entry.text == "Wait"


def test_no_list_of_calls_without_results_where_there_are_none() -> None:
    use, result = ToolUseBlock(pair=0), ToolResultBlock(pair=0)
    assert list(tree(use, result).all("footer")) == []


def test_a_second_result_is_with_its_call() -> None:
    blocks = [ToolUseBlock(pair=4), ToolResultBlock(pair=4), ToolResultBlock(pair=4, text="again")]
    (call,) = tools(tree(*blocks))
    results = list(call.all("div", "result"))
    assert [one.attributes["id"] for one in results] == ["result-4", "result-4-2"]
    assert "again" in results[1].text


def test_parallel_calls_have_their_results() -> None:
    first = [ToolUseBlock(message=1, role="assistant", pair=n, tool_name=f"T{n}") for n in (0, 1)]
    second = [ToolResultBlock(message=2 + n, role="tool", pair=n, text=f"r{n}") for n in (1, 0)]
    assert [bodies(one) for one in tools(tree(*first, *second))] == [["r0"], ["r1"]]


def test_a_result_far_from_its_call_leads_to_it() -> None:
    talk = TextBlock(message=2, role="user", text="and?")
    result = ToolResultBlock(message=3, role="tool", pair=0, text="late")
    call, late = tools(tree(ToolUseBlock(message=1, role="assistant", pair=0), talk, result))
    assert links(late) == [call.attributes["id"]]
    assert pair_class(call) == pair_class(late) == ["p0"]


def test_a_result_whose_call_was_not_chosen_leads_nowhere_but_keeps_its_colour() -> None:
    (result,) = tools(tree(ToolResultBlock(pair=11)))
    assert (links(result), pair_class(result)) == ([], ["p3"])


def test_an_edit_is_a_diff_with_marks() -> None:
    arguments = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2", "why": "w"}
    (edit,) = tools(tree(ToolUseBlock(tool_name="Edit", arguments=arguments, pair=0)))
    assert head(edit) == "Edit +1 −1"
    assert "open" in edit.attributes
    assert [one.text for one in edit.all("span", "line")] == ["- x = 1\n", "+ x = 2\n"]
    assert [one.text for one in edit.all("span", "mark")] == ["1", "2"]
    assert "why: w" in edit.text


def test_a_part_that_was_summarized_is_folded() -> None:
    old = [TextBlock(message=n, role="user", text=f"old {n}", note="summarized") for n in (1, 2)]
    summary = TextBlock(message=3, role="user", text="in short\nall", note="summary of 2 messages")
    root = tree(*old, summary, TextBlock(message=4, role="assistant", text="on"))
    part = root.one("details", "summarized")
    assert "open" not in part.attributes
    assert [one.text for one in part.all("div", "text")] == ["old 1", "old 2"]
    assert "in short" in root.text.replace(part.text, "")


def test_many_messages_are_in_sections() -> None:
    blocks = [TextBlock(message=n, role="user", text=str(n)) for n in range(60)]
    assert [len(list(one.all("article"))) for one in tree(*blocks).all("section")] == [25, 25, 10]


def test_what_programs_write_in_the_name_of_the_user_is_told_apart() -> None:
    text = "<command-name>/clear</command-name>\nplease\n<system-reminder>a\nb</system-reminder>"
    root = tree(TextBlock(role="user", text=text))
    assert [one.text for one in root.all(of="aside")] == ["[reminder] aa\nb"]
    assert [one.text for one in root.all("div", "text")] == ["[command] /clear", "please"]


PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erg=="
)


def test_an_image_is_shown_and_what_only_claims_to_be_one_is_named() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    root = tree(OtherBlock(kind="image", data={"type": "image", "source": source}))
    assert root.one("img").attributes["src"] == f"data:image/png;base64,{PIXEL}"
    result = ToolResultBlock(text="[image not shown]", pictures=({"source": source},))
    assert "not shown" not in tree(result).one("div", "result").text
    fake = {"source": {"media_type": "image/png", "data": "PHN2Zz4" * 20}}
    remote = {"image_url": {"url": "https://example.org/x.png"}}
    assert list(tree(*(OtherBlock(kind="i", data=d) for d in (fake, remote))).all("img")) == []


def test_the_facts_are_on_top_and_the_prompts_beside() -> None:
    prompts = (Prompt("First <b>", 0), Prompt("Second", 2))
    facts = Facts(dialog="d", title="T", messages=3, calls=2, errors=1, files=("a.py",), cost="$1")
    blocks = [TextBlock(message=n, role="user", text=str(n)) for n in range(3)]
    text = "".join(page("d", blocks, facts=[replace(facts, prompts=prompts)], home="index.html"))
    root = Tree(text).root
    assert root.one("h1").text == "T"
    assert [one.text for one in root.one("dl").all("div")] == [
        "Messages3",
        "Calls2, 1 failed",
        "Cost$1",
    ]
    index = root.one("nav", "prompts")
    assert [(a.text, a.attributes["href"]) for a in index.all("a")] == [
        ("First <b>", "#m0"),
        ("Second", "#m2"),
    ]
    assert root.one("p", "home").one("a").attributes["href"] == "index.html"


def test_messages_are_articles_with_their_roles() -> None:
    articles = list(tree(*format_request(REQUEST)).all("article"))
    classes = [article.attributes["class"] for article in articles]
    assert classes == ["between", "role-system", "role-user", "role-assistant", "role-tool"]
    heads = [heading.text for article in articles for heading in article.all("h2")]
    assert heads == ["system #", "user #", "assistant #"]


def test_results_have_a_head_only_to_tell_what_was_done_to_them() -> None:
    about: dict[str, Any] = {"role": "tool", "commit": "abcdef0123456789"}
    pinned = ToolResultBlock(message=1, note="pinned", **about)
    root = tree(ToolResultBlock(message=0, **about), pinned)
    assert [heading.text for heading in root.all("h2")] == ["tool abcdef0123 pinned #"]


def test_what_stands_between_messages_is_told_without_a_head() -> None:
    root = tree(TextBlock(role="user", text="hi"), RuleBlock(text="epoch 1"))
    assert root.one("p", "rule").text == "── epoch 1 ──"
    assert [heading.text for heading in root.all("h2")] == ["user #"]


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
        "[thinking] hmhm\nso",
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
    assert any("<main>" in piece for piece in pieces)
    assert asked == []
    assert any("text 3." in piece for piece in pieces)
    assert max(asked) < 8


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
    script = b64encode(sha256(root.one("script").text.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    assert f"; script-src 'sha256-{script}'; img-src data:; " in policy
    assert "unsafe" not in policy
    assert {"name": "referrer", "content": "no-referrer"} in [
        m.attributes for m in root.all("meta")
    ]
    tags = {element.tag for element in root.all()}
    assert not tags & {"link", "img", "iframe", "object", "form", "base", "svg"}
    names = {name for element in root.all() for name in element.attributes}
    assert not names & {"src", "style", "srcset", "action"}
    assert not [name for name in names if name.startswith("on")]
    assert all((link.attributes["href"] or "").startswith("#") for link in root.all("a"))


def test_the_states_of_the_bar_are_those_that_the_style_knows() -> None:
    root = tree()
    ids = {element.attributes["id"] or "" for element in root.all("input")}
    style = root.one("style").text
    assert ids == IDS_OF_BAR == set(re.findall(r"has\(#([a-z]+):", style))
    assert all("checked" in one.attributes for one in root.all("input"))


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
    for name in ("code-keyword", "code-string", "code-number", "code-name"):
        assert contrast(rgb(styled(style, name, dark=dark)), raised) >= 4.5, name
    for side in ("new", "old"):
        text = rgb(styled(style, f"{side}-ink", dark=dark))
        for back in (side, f"{side}-mark"):
            assert contrast(text, rgb(styled(style, back, dark=dark))) >= 4.5, back
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
    assert bodies(details) == [visible(f"x{text}".replace("\r\n", "\n").removesuffix("\n"))]
    assert head(details).startswith(f"T {one_line(text)}".rstrip())
    assert head(details).endswith(f"({measure(block)})")


# Real histories


def names_of(dialog: Tract) -> Iterator[str]:
    """How the line of each call must begin, found without the model of the viewer."""
    reading = dialog.read()
    for place in reading.places:
        for call in reading.whole(place).tool_calls:
            yield call.name


def check_page(dialog: Tract) -> tuple[int, int]:
    root = tree(*format_dialog(dialog.read()))
    found = tools(root)
    remaining = iter([head(details) for details in found])
    for wanted in names_of(dialog):
        assert any(line.startswith(wanted) for line in remaining), wanted
    results = sum(place.origin.role == "tool" for place in dialog.read().places)
    shown = list(root.all("div", "result"))
    assert len(shown) >= results
    return len(found), len(shown)


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
