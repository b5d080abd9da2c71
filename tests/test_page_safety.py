"""Nothing that a person, a model or a tool writes runs on the page, leaves it or hides in it.

Some 300 payloads are in every field that others control. Each test opens everything of a view,
looks at every element of it, and reads that the payloads are there as text. What runs, is loaded or
is reported by the policy fails the test, as on every page (see `tests/browser`).
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.asking import Answer, ask
from tests.browser import PageOpener, fragment, go, rest, until, wait_for_state
from tests.cli import ok
from tests.payloads import KEYS, PAYLOADS
from tests.serving import serving
from tract import Tract
from tract.model import DialogFacts, Message, Raw, Text, ToolCall
from tract.session.session import is_name
from tract.view.markdown import markdown_nodes
from tract.view.nodes import TAGS, Element, Node
from tract.view.sanitize import one_line, visible
from tract.web.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "hostile"
PICTURES = "pictures"
GROUP = 25
ALL = PAYLOADS + KEYS
NAMES = tuple(name for text in ALL if is_name(name := one_line(text)[:200]))
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
PROVIDERS = ("anthropic", "openai", "responses", "gemini")


class Hostile(NamedTuple):
    """A database full of payloads, and a server for it."""

    database: str
    server: Server


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    path = str(tmp_path_factory.mktemp("safety") / "t.db")
    with Tract.open(path, dialog=HOSTILE, durability="relaxed") as t:
        write_dialog(t)
        write_pictures(t.sibling(PICTURES))
        for number, name in enumerate(NAMES):
            write_name(t, name, PAYLOADS[number % len(PAYLOADS)])
    with serving(path) as server:
        yield Hostile(path, server)


def write_dialog(t: Tract) -> None:
    """Every payload in every field of messages, calls, results and tools."""
    t.set_tools([tool(text, text) for text in ALL], message=PAYLOADS[0])
    t.system("\n".join(PAYLOADS), message=PAYLOADS[1])
    for start in range(0, len(PAYLOADS), GROUP):
        write_turn(t, PAYLOADS[start : start + GROUP])
    write_objects(t)
    t.user([{"type": text, text: text} for text in PAYLOADS])
    t.set_tools([tool(text, f"{text} changed") for text in ALL[1:]], message=PAYLOADS[2])
    results = t.list_tool_results()[:3]
    forms = ("reference", "truncated", "collapsed")
    t.reshape({r.commit_hash: f for r, f in zip(results, forms, strict=True)}, message=PAYLOADS[3])
    users = [info.commit_hash for info in t.log() if info.role == "user"]
    t.annotate(users[-1], "skip", message=PAYLOADS[4])
    t.annotate(users[-2], "pinned", message=PAYLOADS[5])
    t.commit({"role": "user", "content": PAYLOADS[6]}, edit=users[-3], message=PAYLOADS[7])


def tool(name: str, description: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {name: {"type": "string", "description": name}}}
    return {"name": name, "description": description, "input_schema": parameters}


def write_turn(t: Tract, texts: tuple[str, ...]) -> None:
    t.user("\n\n".join(texts), message=texts[0])
    thought = {"type": "thinking", "thinking": "\n".join(texts), "signature": "s"}
    blocks = (Raw("anthropic", thought), Text("\n\n".join(texts)))
    model = {"model": texts[2], texts[3]: texts[4]}
    t.commit(Message("assistant", blocks), message=texts[1], metadata=model)
    calls = [ToolCall(f"{text} id", text, {text: text}) for text in texts]
    usage = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 50}
    config = {"model": texts[-1]}
    t.commit(Message("assistant", tuple(calls)), generation_config=config, usage=usage)
    for number, text in enumerate(texts):
        content = (text, {text: text}, [{"type": "text", "text": text}])[number % 3]
        t.tool_result(f"{text} id", text, content, is_error=number % 2 == 0, message=text)


def write_objects(t: Tract) -> None:
    """All payloads as keys of one object."""
    value = {text: {text: text} for text in ALL}
    t.assistant("", tool_calls=[{"id": "object", "name": "object", "arguments": value}])
    t.tool_result("object", "object", list(ALL))


def write_pictures(t: Tract) -> None:
    """Images that are some, and what only claims to be one."""
    svg = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4=" * 2
    sources = [
        {"type": "base64", "media_type": "image/svg+xml", "data": PIXEL},
        {"type": "base64", "media_type": "text/html", "data": PIXEL},
        {"type": "base64", "media_type": "image/png", "data": svg},
        {"type": "base64", "media_type": "image/svg+xml", "data": svg},
        {"type": "url", "url": "http://evil.example/x.png"},
    ]
    t.user([{"type": "image", "source": source} for source in sources])
    t.assistant("", tool_calls=[{"id": "shot", "name": "screenshot", "arguments": {}}])
    t.tool_result("shot", "screenshot", [{"type": "image", "source": one} for one in sources])


def write_name(t: Tract, name: str, text: str) -> None:
    """A branch and a dialog with this name."""
    t.branch(name)
    other = t.sibling(name)
    other.user(text)
    facts = DialogFacts(title=text, folder=text, model=text, parent=HOSTILE)
    other.session.configure("facts", facts)


# What is looked at

LOOK = """() => {
  const attributes = {}, faults = [];
  const tags = new Set(), classes = new Set();
  for (const element of document.querySelectorAll("*")) {
    tags.add(element.localName);
    for (const name of element.classList) classes.add(name);
    for (const { name, value } of element.attributes) {
      const isRead = ["href", "src", "style", "target"].includes(name);
      (attributes[name] ??= new Set()).add(isRead ? value : "");
    }
    if (element.shadowRoot) faults.push("a shadow root");
  }
  for (const [name, values] of Object.entries(attributes)) attributes[name] = [...values];
  return { tags: [...tags], classes: [...classes], attributes, faults };
}"""
OWN_TAGS = re.compile(
    r"html|head|meta|title|link|script|body|noscript|header|main|nav|aside|section|article|div|span|"
    r"p|h[1-6]|ul|ol|li|dl|dt|dd|a|b|i|em|strong|s|code|pre|kbd|blockquote|br|hr|table|thead|tbody|"
    r"tr|th|td|img|button|form|fieldset|label|input|select|option|datalist|textarea|details|summary|"
    r"dialog|svg|g|rect|line|path|circle"
)
ATTRIBUTES = re.compile(
    r"(aria|data)-[a-z]+|alt|autocomplete|charset|checked|class|content|cx|cy|d|disabled|for|height|"
    r"hidden|href|id|lang|list|method|name|open|placeholder|preserveAspectRatio|r|rel|required|role|"
    r"rows|scope|selected|size|spellcheck|src|start|style|tabindex|target|title|type|value|"
    r"vector-effect|viewBox|width|x|x1|x2|y|y1|y2"
)
OWN_LINK = re.compile(r"(#([\w~%=&-]|\.)*|/docs|/static/[a-z]+\.(svg|css|js))?")
STYLE = re.compile(r"((--height|--top|width|height|overflow|--[a-z]+): [a-z0-9.%]+;\s?)*")


def check(page: Page) -> None:
    """Only elements, classes, attributes and links that the page makes itself."""
    look = page.evaluate(LOOK)
    assert [tag for tag in look["tags"] if not OWN_TAGS.fullmatch(tag)] == []
    assert look["faults"] == []
    attributes = look["attributes"]
    assert [name for name in attributes if not ATTRIBUTES.fullmatch(name)] == []
    assert [name for name in look["classes"] if not is_known_class(name)] == []
    for href in attributes.get("href", []):
        is_web = href.startswith(("http://", "https://", "mailto:"))
        assert is_web or OWN_LINK.fullmatch(href), href
    assert all(src.startswith(("/static/", "blob:")) for src in attributes.get("src", []))
    assert set(attributes.get("target", [])) <= {"_blank"}
    assert [style for style in attributes.get("style", []) if not STYLE.fullmatch(style)] == []
    strangers = "a[href^=http]:not([rel~=noreferrer]), a[href^=mailto]:not([rel~=noreferrer])"
    assert page.locator(strangers).count() == 0
    assert page.evaluate("Object.keys(Object.prototype).length") == 0


@cache
def known_words() -> frozenset[str]:
    """All words of the files that make the page."""
    folders = (files("tract.web") / "static", files("tract.view"))
    texts = (
        one.read_text("utf-8") for folder in folders for one in folder.iterdir() if one.is_file()
    )
    return frozenset(word for text in texts for word in re.findall(r"[\w-]+", text))


def is_known_class(name: str) -> bool:
    made = re.fullmatch(r"(p|g)\d|(role|view|part|pair)-[a-z]+", name)
    return made is not None or name in known_words()


def shown(page: Page, within: str = "body") -> str:
    """All that is written there, also in fields and titles."""
    text: str = page.locator(within).first.evaluate(
        """element => [element.textContent,
          ...Array.from(element.querySelectorAll("input, textarea"), one => one.value),
          ...Array.from(element.querySelectorAll("[title]"), one => one.title)].join("\\n")"""
    )
    return text


def unseen(page: Page, wanted: Iterable[str], within: str = "body") -> list[str]:
    """Which of these are not written there, with everything visible that would not be."""
    text = shown(page, within)
    return [one for one in wanted if visible(one.replace("\r\n", "\n")) not in text]


def opened(server: Server, open_page: PageOpener, **fields: str) -> Page:
    page = open_page(server, **fields)
    wait_for_state(page, "ready")
    rest(page)
    return page


# The payloads


def test_payloads_run_where_they_are_trusted(open_page: PageOpener) -> None:
    """Otherwise this file would show nothing."""
    open_page.forgive("")
    page = open_page.context.new_page()
    page.add_init_script("alert = number => (top.ran ??= new Set()).add(number)")
    page.goto("about:blank")
    page.evaluate(TRUST, [text for text in PAYLOADS if "http-equiv" not in text])
    until(lambda: page.evaluate("window.ran?.size ?? 0") >= 50)
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 300


TRUST = """texts => {
  for (const text of texts) {
    document.body.append(Object.assign(document.createElement("div"), { innerHTML: text }));
  }
}"""


# Views


def test_the_list(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page)
    check(page)
    assert unseen(page, map(one_line, PAYLOADS), ".dialog-body") == []
    assert unseen(page, NAMES, ".dialog-body") == []
    page.evaluate("document.querySelectorAll('.dialog-row input').forEach(one => one.click())")
    page.get_by_role("button", name="compare").click()
    assert unseen(page, map(one_line, PAYLOADS), "dialog") == []
    check(page)


def test_hits(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page, text="mark1")
    until(lambda: page.locator(".hits li").count() >= 100)
    check(page)
    assert "mark1" in shown(page, ".hits ol")


def test_a_dialog_with_everything_open(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page, dialog=HOSTILE)
    for fold in ("thinking", "errors"):  # filters have names of tools
        page.locator(f"input[name={fold}]").wait_for(state="attached")  # exactly one
    unfold(page)
    check(page)
    assert unseen(page, PAYLOADS, "main") == []
    assert unseen(page, map(one_line, PAYLOADS), ".filters") == []
    assert unseen(page, NAMES, ".where") == []
    for view in ("sent", "both"):
        page.locator(f"input[value={view}]").click()
        until(lambda: page.locator(".waiting").count() == 0)
        check(page)


def unfold(page: Page) -> None:
    folded = ".fold[aria-expanded=false], .more"
    page.evaluate("of => document.querySelectorAll(of).forEach(one => one.click())", folded)
    until(lambda: page.locator(".waiting").count() == 0)
    rest(page)


def test_trees(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page, dialog=HOSTILE, call="object")
    buttons = page.locator(".target .bar-small button", has_text="tree")
    until(lambda: buttons.count() == 2)
    for _ in range(2):
        buttons.first.click()  # it is then called text
    more = page.locator(".tree > .more")
    until(lambda: more.count() == 2)
    for _ in range(2):
        more.first.click()
    until(lambda: page.locator(".tree > ul > li").count() == 2 * len(ALL))
    open_all(page, ".tree details")
    until(lambda: page.locator(".tree > ul > li > details:not(:has(ul))").count() == 0)
    check(page)
    assert unseen(page, [one_line(text)[:99] for text in ALL], ".arguments-box .tree") == []
    assert unseen(page, [text[:300] for text in ALL], ".content .tree") == []


def open_all(page: Page, details: str) -> None:
    page.evaluate(
        "of => { for (const one of document.querySelectorAll(of)) one.open = true; }", details
    )


def test_the_panel(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page, dialog=HOSTILE)
    page.keyboard.press("G")
    until(lambda: page.locator(".panel summary").count() >= 2)
    open_all(page, ".panel details")
    until(lambda: page.locator(".panel details.tools li").count() >= len(ALL))
    check(page)
    assert unseen(page, map(one_line, ALL), ".panel details.tools") == []
    assert unseen(page, map(one_line, PAYLOADS), ".panel") == []


def test_requests(open_page: PageOpener, hostile: Hostile) -> None:
    """For each provider another quarter of the parts is opened."""
    page = opened(hostile.server, open_page, dialog=HOSTILE)
    for number, provider in enumerate(PROVIDERS):
        go(page, dialog=HOSTILE, tab="request", provider=provider)
        until(lambda: page.locator(".tab .waiting").count() == 1)
        until(lambda: page.locator(".units > li").count() > 300)
        part = f".units > li:nth-child({len(PROVIDERS)}n + {number}) > details"
        open_all(page, f"{part}, .notes")
        page.locator(f"{part}:not(:has(pre))").first.wait_for(state="detached")
        check(page)
        labels = [one_line(text)[:60] for text in PAYLOADS]
        assert len(unseen(page, labels, ".units")) < len(labels) / 4  # they have rules for names


def test_a_comparison(open_page: PageOpener, hostile: Hostile) -> None:
    with Tract.open(hostile.database, dialog=HOSTILE) as t:
        before = [info.commit_hash for info in t.log() if info.role == "user"][3]
    fields = {"dialog": HOSTILE, "tab": "compare", "old": before, "new": "main"}
    page = opened(hostile.server, open_page, **fields, provider="anthropic")
    until(lambda: page.locator(".units .pair-changed").count() > 300)
    open_all(page, ".units details")
    until(lambda: page.locator(".pair-changed details:not(:has(pre))").count() == 0)
    check(page)
    go(page, **fields)
    until(lambda: page.locator(".units .pair-added").count() > 10)
    open_all(page, ".units details")
    until(lambda: page.locator("[class*=pair] details:not(:has(pre))").count() == 0)
    check(page)


def test_the_graph(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page, dialog=HOSTILE, tab="graph")
    page.locator(".tab > .more").click()
    with Tract.open(hostile.database, dialog=HOSTILE) as t:
        until(lambda: page.locator(".graph li").count() == len(list(t.log())))
    check(page)
    assert unseen(page, NAMES, ".branches") == []
    assert unseen(page, NAMES, ".graph") == []
    questions = page.evaluate(ASK_OF_BRANCHES)
    assert len(questions) > len(NAMES) / 60
    assert [name for name, question in questions if name not in question] == []
    check(page)


ASK_OF_BRANCHES = """async () => {
  const questions = [];
  for (const button of document.querySelectorAll(".branches > li:nth-child(60n + 1) > button")) {
    if (!["check out", "delete"].includes(button.textContent)) continue;
    button.click();
    while (!document.querySelector("dialog[open]")) await new Promise(requestAnimationFrame);
    const name = button.parentElement.querySelector("b").textContent;
    questions.push([name, document.querySelector("dialog").textContent]);
    document.querySelector("dialog").close();
    while (document.querySelector("dialog")) await new Promise((resolve) => setTimeout(resolve));
  }
  return questions;
}"""


def test_changes(open_page: PageOpener, hostile: Hostile) -> None:
    """What is asked before a change, and what the server says to it."""
    open_page.forgive("status of 422")
    page = opened(hostile.server, open_page, dialog=HOSTILE)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.locator(".panel h2").wait_for()  # it draws what the keys ask
    for key, title in {"i": "Edit", "x": "Skip", "P": "Pin"}.items():
        page.keyboard.press(key)
        page.locator(f"dialog[aria-label={title}]").wait_for()
        check(page)
        if title == "Edit":
            text = "\n".join(PAYLOADS).replace("\r\n", "\n").replace("\r", "\n")
            assert page.locator("dialog textarea").input_value() == text
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="hidden")  # until then, keys are for the dialog
    page.evaluate("scrollTo(0, 0)")


def test_find_and_news(open_page: PageOpener, hostile: Hostile) -> None:
    """What is looked for, and what comes while one looks."""
    page = opened(hostile.server, open_page, dialog="kept")
    with Tract.open(hostile.database, dialog="kept") as t:
        t.user("\n\n".join(PAYLOADS[:20]))
        t.assistant("\n\n".join(PAYLOADS[-60:]))
    until(lambda: page.locator(".row").count() == 3)
    rest(page)
    for text in PAYLOADS[:20:4]:
        page.get_by_label("Find in this dialog").fill(text)
        page.keyboard.press("Enter")
        until(lambda: " of " in page.locator(".find").inner_text())
    assert unseen(page, PAYLOADS[:20], "main") == []
    check(page)


# The address

OF_THE_LIST = ("words", "text", "project", "model", "errors", "since", "sort", "reverse")
OF_A_DIALOG = (
    *("view", "tab", "commit", "call", "find", "lines", "role", "tool", "form", "errors"),
    *("provider", "old", "new", "again"),
)
OF_A_PLACE = ("dialog", "branch", "at")
SHARPEST = (*KEYS, *PAYLOADS[::20])


def test_addresses_are_read_as_they_were_written(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page, dialog="graph")
    pairs = [[text, text] for text in (*ALL, *map(chr, range(1, 0x250)))]
    assert page.evaluate(ROUND_TRIP, pairs) == pairs


ROUND_TRIP = """async pairs => {
  const { format, parse } = await import("/static/address.js");
  return pairs.map(([key, value]) => {
    const text = format(Object.fromEntries([[key, value]]));
    if (!/^[\\w~%=&-]*$/.test(text)) throw new Error(text);
    return Object.entries(parse(`#${text}`))[0];
  });
}"""


def test_fields_of_the_list(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page)
    walk(page, [dict.fromkeys(OF_THE_LIST, text) for text in ALL[::3]], "useful", "ready")
    check(page)


def test_fields_of_a_dialog(open_page: PageOpener, hostile: Hostile) -> None:
    open_page.forgive("status of 4")
    page = opened(hostile.server, open_page, dialog="graph")
    for field in OF_A_DIALOG:
        walk(page, [{"dialog": "graph", field: text} for text in SHARPEST], "useful", "ready")
        check(page)


def test_places_that_are_not_there(open_page: PageOpener, hostile: Hostile) -> None:
    """The server says so, with the name in its words."""
    open_page.forgive("status of 4")
    page = opened(hostile.server, open_page, dialog="graph")
    for field in OF_A_PLACE:
        walk(page, [{"dialog": "graph", field: f"{text}?"} for text in SHARPEST], "failed")
        check(page)


def walk(page: Page, addresses: list[dict[str, str]], *states: str) -> None:
    """Go to each address, and wait there for one of these states."""
    fragments = [fragment(**address) for address in addresses]
    assert page.evaluate(WALK, [fragments, states]) == []


WALK = """async ([fragments, states]) => {
  const wrong = [];
  for (const fragment of fragments) {
    const turned = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
    location.hash = fragment;
    await turned;
    const end = performance.now() + 10_000;
    while (!states.includes(document.documentElement.dataset.state)) {
      if (performance.now() > end) { wrong.push(fragment); break; }
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
  return wrong;
}"""


@pytest.mark.parametrize("token", [PAYLOADS[0], "\u2028x", "\ud800", "__proto__", "a\nb: c"])
def test_a_token_that_is_none(open_page: PageOpener, hostile: Hostile, token: str) -> None:
    open_page.forgive("status of 401")
    page = open_page.open(hostile.server, token=token)
    wait_for_state(page, "failed")
    assert page.get_by_label("Token").is_visible()
    assert "token=" not in page.url
    check(page)


PLANES = (range(0x20000), range(0xE0000, 0xE1000))
"""Where there are characters other than Chinese and private ones."""


def test_every_character_that_hides_is_shown(open_page: PageOpener, hostile: Hostile) -> None:
    """Names are made visible in the browser, texts by the server: both in the same way."""
    page = opened(hostile.server, open_page, dialog="graph")
    characters = [chr(code) for plane in PLANES for code in plane if code != 10]
    here = visible("\n".join(characters)).split("\n")
    there = page.evaluate(VISIBLE, "\n".join(characters)).split("\n")
    pairs = zip(characters, here, there, strict=True)
    # The browser may know characters that this Python does not.
    assert {unicodedata.category(char) for char, one, other in pairs if one != other} <= {"Cn"}
    assert page.evaluate(VISIBLE, "".join(ALL)) == visible("".join(ALL))


VISIBLE = "async text => (await import('/static/dom.js')).visible(text)"


# Pictures


def test_a_picture_has_the_type_of_its_bytes(hostile: Hostile) -> None:
    with Tract.open(hostile.database, dialog=PICTURES) as t:
        result, _, message = (info.commit_hash for info in t.log())
    for commit, block, number in ((message, 0, 0), (message, 1, 0), (result, 0, 1)):
        answer = picture(hostile.server, commit, block, number)
        assert answer.status == 200
        assert answer.body == b64decode(PIXEL)
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert answer.headers["cache-control"] == "no-store"
    for block in (2, 3, 4):  # what claims to be one, an SVG, and an address
        assert picture(hostile.server, message, block).status == 404
    assert picture(hostile.server, result, 0, 2).status == 404


def picture(server: Server, commit: str, block: int, number: int = 0) -> Answer:
    query = f"commit={commit}&block={block}&number={number}"
    return ask(server, "GET", f"/api/dialogs/{PICTURES}/view/picture?{query}", server.token)


def test_pictures_are_shown(open_page: PageOpener, hostile: Hostile) -> None:
    page = opened(hostile.server, open_page, dialog=PICTURES)
    unfold(page)
    sizes = "Array.from(document.images, one => one.naturalWidth)"
    until(lambda: page.evaluate(sizes) == [1, 1, 1, 1])
    check(page)


# Markdown, and the file that is mailed


def test_markdown_has_only_known_nodes() -> None:
    for node in every(node for text in PAYLOADS for node in markdown_nodes(text) or []):
        if isinstance(node, Element):
            assert node.tag in TAGS
            assert set(node.attributes) <= {"href", "rel", "title", "start"}
            assert node.attributes.get("href", "http:").startswith(("http:", "https:", "mailto:"))
            assert ("href" in node.attributes) == ("rel" in node.attributes)


def every(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, Element):
            yield from every(node.children)


def test_the_file_that_is_mailed(open_page: PageOpener, hostile: Hostile, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    ok("--db", hostile.database, "--dialog", HOSTILE, "show", "--html", str(file))
    open_page.forgive(f"^request: {re.escape(file.as_uri())}$")
    page = open_page.context.new_page()
    page.goto(file.as_uri())
    open_all(page, "details")
    rest(page)
    assert unseen(page, PAYLOADS) == []
    look = page.evaluate(LOOK)
    assert [name for name in look["attributes"] if name.startswith("on")] == []
    hrefs = look["attributes"]["href"]
    assert all(href.startswith(("#", "http://", "https://", "mailto:")) for href in hrefs)
