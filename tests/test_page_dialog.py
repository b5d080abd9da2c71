"""A dialog in a browser: its rows, what they contain, what is sent, and the views beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.browser import PageOpener, Served, until, wait_for_state
from tests.reader import (
    CODE,
    TABLE,
    WIDE,
    Names,
    becomes,
    database,
    row,
    shows,
    shrink,
    texts,
    tool,
    unfold,
    write_work,
)

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


class Work(NamedTuple):
    served: Served
    names: Names


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    """A dialog `work` and, as it was before anything was shortened, `whole`; both with a branch."""
    with database(tmp_path_factory.mktemp("dialog") / "t.db") as served:
        with served.dialog("whole") as t:
            names = write_work(t)
            t.branch("try", at=names["ask3"])
            t.checkout("try")
            t.assistant("I do not know.")
            t.checkout("main")
        with served.dialog("work") as t:
            assert write_work(t) == names
            shrink(t, names)
        yield Work(served, names)


def opened(work: Work, open_page: PageOpener, dialog: str = "whole", **fields: str) -> Page:
    page = open_page(work.served.server, dialog=dialog, **fields)
    wait_for_state(page, "ready")
    return page


def numbers(body: Locator) -> list[int]:
    """The numbers of the lines that are shown."""
    lines: list[int] = body.locator(".ln").evaluate_all("all => all.map(one => +one.dataset.n)")
    return lines


def plain(body: Locator) -> str:
    """What the lines say, without their numbers."""
    script = "all => all.map(one => one.textContent.slice(one.firstChild.textContent.length))"
    parts: list[str] = body.locator(".ln").evaluate_all(script)
    return "".join(parts)


# Rows


def test_prompts_and_rows(work: Work, open_page: PageOpener) -> None:
    page, names = opened(work, open_page), work.names
    becomes(
        lambda: texts(page.locator(".prompts li")),
        [
            "Why is the *build* red? 4 calls, 1 error",
            "And the orders? 2 calls",
            "Thanks. Is it safe? 1 call",
        ],
    )
    assert page.locator("article.row").count() == 13
    assert texts(page.locator(".between")) == [
        "tools: 4 offered: Read, Edit, Bash, Fetch",
        "tools: 4 offered: +Search -Bash ~Read",
    ]
    assert [
        re.sub(r" · [\d.]+(k? t| s)", "", line)
        for line in texts(row(page, names["look"]).locator(".fold"))
    ] == [
        "▸ thinking First the log.",
        "▸ Read src/steps.py 28 KB · a1",
        "▸ Read data.min.js 100 KB · a2",
        "▸ ✗ Bash make test 22 B · a3 failed: exit 1: undefined: foo",
    ]
    assert "Edit a.py +2 −1 21 B" in texts(tool(page, "c-edit"))[0]
    cause = row(page, names["cause"])
    assert cause.locator("strong").inner_text() == "cause"
    assert texts(cause.locator("li")) == ["one", "two"]
    assert cause.locator("pre span[class]").count() > 2
    assert "$0.0045" in cause.inner_text()
    page.locator(".prompts").get_by_text("Is it safe?").click()
    until(lambda: "target" in (row(page, names["ask3"]).get_attribute("class") or ""))
    assert f"commit={names['ask3']}" in page.url


def test_what_a_call_contains(work: Work, open_page: PageOpener) -> None:
    page, names = opened(work, open_page), work.names
    edit = unfold(tool(page, "c-edit"))
    assert edit.locator("pre.diff").inner_text().split("\n")[-4:] != []
    assert "c = 4" in edit.locator(".diff").inner_text()
    assert texts(edit.locator(".content .ln")) == ["1The file was changed."]

    code = unfold(tool(page, "c-code"))
    assert code.locator(".arguments-box").inner_text().count("src/steps.py") == 1
    assert code.locator(".ln").first.locator("span[class]").first.inner_text() == "def"

    thinking = row(page, names["look"]).locator(".thinking[data-block]")
    thinking.locator(".fold").click()
    shows(thinking, "Then the code.")
    thinking.locator(".fold").click()
    assert "Then the code." not in thinking.inner_text()
    page.get_by_label("thinking", exact=True).uncheck()
    assert not thinking.is_visible()

    dot = unfold(tool(page, "c-dot"))
    until(lambda: dot.locator("img").evaluate("image => image.naturalWidth") == 1)
    assert "a dot" in dot.inner_text()

    found = unfold(tool(page, "c-json"))
    found.locator(".content").get_by_role("button", name="tree").click()
    tree = found.locator(".tree")
    becomes(
        lambda: [line[:12] for line in texts(tree.locator("ul > li"))],
        ["rows: [{…}, ", "total: 300"],
    )
    tree.get_by_text("rows").click()
    tree.get_by_role("button", name="Show more: 100 values left").click()
    becomes(tree.locator("ul ul > li").count, len(TABLE["rows"]))
    tree.get_by_text("299").first.click()
    shows(tree, "name: order 299")
    found.get_by_role("button", name="text").click()
    assert tree.count() == 0
    assert '"order 299"' in found.inner_text()


def test_a_long_result_comes_in_parts(work: Work, open_page: PageOpener) -> None:
    open_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = opened(work, open_page)
    body = unfold(tool(page, "c-code"))
    for left in ("1,099", "699", "299"):
        assert plain(body) == "".join(
            CODE.splitlines(keepends=True)[: 1499 - int(left.replace(",", ""))]
        )
        name = f"Show more: {left} lines of 1,499 left"
        body.get_by_role("button", name=name).click()
        becomes(body.get_by_role("button", name=name).count, 0)
    assert plain(body) == CODE
    assert body.get_by_role("button", name="Show more").count() == 0
    body.locator(".content").get_by_role("button", name="copy").click()
    body.get_by_role("button", name="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == CODE

    wide = unfold(tool(page, "c-wide"))
    assert plain(wide).replace("\n", "") == WIDE[:60_000]
    wide.get_by_role("button", name="Show more: 1 line of 1 left").click()
    becomes(lambda: plain(wide).replace("\n", "") == WIDE, True)
    assert set(numbers(wide)) == {1}


# Stored, sent, both


def test_what_is_stored_and_what_is_sent(work: Work, open_page: PageOpener) -> None:
    page, names = opened(work, open_page, "work"), work.names

    def seen(name: str) -> str:
        return " ".join(row(page, names[name]).inner_text().split())

    assert "→" in texts(tool(page, "c-code"))[0]
    assert "reference" in texts(tool(page, "c-code"))[0]
    assert "truncated" in texts(tool(page, "c-wide"))[0]
    assert "collapsed" in texts(tool(page, "c-safe"))[0]
    assert "summarized by" in seen("fix")
    assert "summarized by" in texts(tool(page, "c-edit"))[0]
    assert "skipped" in seen("ask3")
    assert "Is it safe?" in seen("ask3")
    assert "edited" in seen("done")
    assert "299 orders" in seen("done")
    code, wide, _safe = (unfold(tool(page, call)) for call in ("c-code", "c-wide", "c-safe"))
    assert numbers(code)[-1] == 400

    page.get_by_label("sent", exact=True).check()
    shows(code, "get_tool_result")
    assert plain(wide).startswith("<0000>")
    assert len(plain(wide)) < 1000
    shows(row(page, names["check"]), "result not shown")
    assert "not sent: skipped" in seen("ask3")
    assert "Is it safe?" not in seen("ask3")
    assert "not sent: summarized by" in seen("fix")
    assert "view=sent" in page.url

    page.keyboard.press("v")
    becomes(lambda: texts(code.locator(".side")), ["stored", "sent"])
    until(lambda: code.locator(".waiting").count() == 0)
    kept, sent = code.locator(".side-body").all()
    assert "step_0" in plain(kept)
    assert "get_tool_result" in plain(sent)
    assert "Is it safe?" in seen("ask3")
    assert "not sent: skipped" in seen("ask3")
    assert row(page, names["done"]).locator(".sent").count() == 0

    code.get_by_role("button", name="stored").click()
    becomes(code.locator(".side").count, 0)
    assert wide.locator(".side-body").count() == 2
    page.reload()
    wait_for_state(page, "ready")
    assert page.get_by_label("both").is_checked()
    assert "not sent: skipped" in seen("ask3")


def test_an_earlier_commit_is_shown_as_it_was(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, "work", at=work.names["done"])
    assert f"at {work.names['done'][:10]}" in page.locator(".where").inner_text()
    assert page.locator(".between").count() == 2
    assert "→" not in texts(tool(page, "c-code"))[0]
    assert plain(unfold(tool(page, "c-code"))).startswith("def step_0")
    dot = unfold(tool(page, "c-dot"))
    until(lambda: dot.locator("img").evaluate("image => image.naturalWidth") == 1)
    unfold(tool(page, "c-json")).locator(".content").get_by_role("button", name="tree").click()
    shows(tool(page, "c-json"), "(300 items)")
    page.get_by_placeholder("find").fill("Is it safe")
    page.keyboard.press("Enter")
    shows(page.locator(".find"), "not found")
    page.get_by_role("button", name="newest").click()
    until(lambda: page.locator(".between").count() > 2)


# Filters, find and keys


def test_filters(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, "work")

    def shown() -> list[str]:
        rows = page.locator("article.row:visible")
        names = {key: name for name, key in work.names.items()}
        keys = rows.evaluate_all("all => all.map(one => one.dataset.key)")
        return [names.get(key, "other") for key in keys]

    def choose(name: str, value: str) -> None:
        page.locator(f".filters [name={name}]").select_option(value)

    choose("role", "user")
    becomes(shown, ["ask1", "other", "ask2", "ask3"])
    shows(page.locator("#filtered"), "4 of 20 rows")
    choose("role", "tool")
    assert shown() == ["look", "fix", "query", "check"]
    choose("tool", "Read")
    assert shown() == ["look", "query"]
    choose("role", "")
    choose("form", "collapsed")
    assert shown() == []
    choose("tool", "")
    assert shown() == ["check"]
    choose("form", "")
    page.get_by_label("errors only").check()
    assert shown() == ["look"]
    page.reload()
    becomes(shown, ["look"])
    assert page.get_by_label("errors only").is_checked()
    page.get_by_label("sent", exact=True).check()
    page.locator(".prompts").get_by_text("And the orders?").click()
    becomes(shown, ["look", "ask2"])  # a link shows what it leads to
    assert page.get_by_label("sent", exact=True).is_checked()
    page.reload()
    becomes(shown, ["look", "ask2"])
    assert page.get_by_label("sent", exact=True).is_checked()
    page.get_by_label("errors only").uncheck()
    becomes(page.locator("article.row:visible").count, 20)
    assert page.locator("#filtered").inner_text() == ""


VISIBLE = """() => [...CSS.highlights.get("find") ?? []].filter(range => {
  const box = range.getBoundingClientRect();
  const top = document.elementFromPoint(box.left + 1, box.top + box.height / 2);
  return top && range.startContainer.parentElement.contains(top);
}).map(range => range.startContainer.parentElement.closest(".ln, .fold, .texts, .body"))
  .map(element => element.textContent)"""


def test_find(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page)
    field, count = page.get_by_placeholder("find"), page.locator(".find [role=status]")

    def sees(text: str) -> None:
        until(lambda: any(text in line for line in page.evaluate(VISIBLE)))

    page.keyboard.press("/")
    page.keyboard.type("STEP_49")
    page.keyboard.press("Enter")
    shows(count, "1 of 11")
    sees("def step_49(")
    assert "find=STEP_49" in page.url
    for number in range(2, 12):
        page.keyboard.press("Enter")
        shows(count, f"{number} of 11")
        sees(f"def step_{488 + number}(")
    page.keyboard.press("Enter")
    shows(count, "1 of 11")
    sees("def step_49(")
    page.keyboard.press("Shift+Enter")
    shows(count, "11 of 11")

    field.fill("<0950>")
    page.keyboard.press("Enter")
    shows(count, "1 of 1")
    sees("<0950>")
    tool(page, "c-wide").get_by_role("button", name="Show more of line 1").click()
    until(lambda: plain(tool(page, "c-wide")).startswith(WIDE[52_000:53_000]))

    field.fill("make")
    page.keyboard.press("Enter")
    shows(count, "1 of 4")
    for number, call in ((2, "c-fail"), (3, "c-safe"), (4, "c-safe")):
        page.get_by_label("Next match").click()
        shows(count, f"{number} of 4")
        sees("make")
        assert tool(page, call).locator(".body").count() == 1

    field.fill("nowhere")
    page.keyboard.press("Enter")
    shows(count, "not found")
    page.keyboard.press("Escape")
    assert count.inner_text() == ""
    assert "find" not in page.url


def test_find_looks_at_what_is_sent(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, "work", view="sent", find="get_tool_result")
    count = page.locator(".find [role=status]")
    until(lambda: re.fullmatch(r"1 of \d+", count.inner_text()))
    until(lambda: any("get_tool_result" in line for line in page.evaluate(VISIBLE)))
    page.get_by_label("stored").check()
    page.get_by_placeholder("find").fill("299 orders")
    page.keyboard.press("Enter")
    shows(count, "1 of 1")


def test_keys(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page)
    names = {key: name for name, key in work.names.items()}
    until(lambda: page.locator(".prompts li").count() == 3)

    def at() -> str:
        key = page.evaluate("document.querySelector('.row.current')?.dataset.key")
        return names.get(key, "")

    def press(keys: str, name: str) -> None:
        page.keyboard.press(keys)
        becomes(at, name)

    for key, name in zip("nnnp", ("ask1", "ask2", "ask3", "ask2"), strict=True):
        press(key, name)
    page.keyboard.press("e")
    shows(page.locator("#news"), "There is no later error.")
    press("E", "look")
    press("G", "last")
    page.keyboard.press("n")
    shows(page.locator("#news"), "There is no later prompt.")
    press("k", "check")
    page.keyboard.press("o")
    tool(page, "c-safe").locator(".content").wait_for()
    page.keyboard.press("Enter")
    becomes(tool(page, "c-safe").locator(".content").count, 0)
    page.keyboard.press("g")
    press("j", "system")
    press("j", "ask1")
    page.keyboard.press("?")
    shows(page.get_by_role("dialog"), "next / previous message")
    page.get_by_label("single keys are off").check()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    assert at() == "ask1"
    page.keyboard.press("?")
    page.get_by_label("single keys are off").uncheck()
    page.keyboard.press("Escape")
    press("j", "look")
    page.keyboard.press("r")
    shows(page.locator(".other-tab"), f"Request at {work.names['look'][:10]}")
    page.keyboard.press("Escape")
    until(lambda: page.locator(".conversation").is_visible())


# Beside the conversation


def test_the_chart_leads_to_answers(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, "work")
    shows(page.locator(".strip"), "7 requests")
    shows(page.locator(".strip"), "5 epochs")
    assert page.locator(".strip .epoch").count() == 5
    columns = page.locator(".strip .column")
    assert "cache" in (columns.nth(2).locator("title").text_content() or "")
    columns.nth(2).click()
    until(lambda: "target" in (row(page, work.names["cause"]).get_attribute("class") or ""))
    panel = page.locator(".panel")
    shows(panel, "request 3 of 7")
    shows(panel, "9.5k sent, 9.0k from the cache")
    shows(panel, "Read results")
    panel.get_by_role("button", name="difference to the one before").click()
    shows(page.locator(".other-tab"), "Compare")


def test_tools_and_facts(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page)
    panel = page.locator(".panel")
    shows(panel, "Tools at this point")
    page.get_by_role("button", name="+Search").click()
    shows(panel, "set 2: 4 tools")
    becomes(
        lambda: [re.sub(r" \d+ t", "", line) for line in texts(panel.locator(".tools li"))],
        [
            "− Bash",
            "~ Read parameters.properties.limit",
            "Edit",
            "+ Search",
            "Fetch, never called",
        ],
    )
    row(page, work.names["ask1"]).locator(".head").click()
    shows(panel, "set 1: 4 tools")
    shows(panel, "1 never called")
    panel.get_by_text("About the dialog").click()
    shows(panel, "Calls 7, 1 failed")
    shows(panel, "Cost $0.03")
    panel.get_by_text("1 file changed").click()
    shows(panel, "a.py")


PROVIDERS = {
    "anthropic": ("system", "messages 0 · user", "0 repairs"),
    "openai": ("messages 0 · system", "messages 1 · user", "1 repair"),
    "responses": ("input 0 · system", "input 3 · function_call · Read", "1 repair"),
    "gemini": ("systemInstruction", "contents 0 · user", "1 repair"),
}


def test_requests_of_every_provider(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, tab="request", commit=work.names["cause"])
    tab = page.locator(".other-tab")
    for provider, (first, other, repairs) in PROVIDERS.items():
        tab.get_by_label("provider").select_option(provider)
        page.wait_for_url(f"**provider={provider}**")
        for label in (first, other):
            tab.locator("summary b").get_by_text(label, exact=True).wait_for()
        shows(tab, "9,000 of 9,500 tokens were read from the cache")
        assert tab.locator("li.rule").inner_text() == "read from the cache up to here, by size"
        if repairs == "0 repairs":
            shows(tab, "Nothing had to be repaired.")
            assert "cache breakpoint" in tab.locator("li", has_text="Be brief.").inner_text()
        else:
            shows(tab, repairs)
            shows(tab, "thinking is not shown")
        tab.locator("li", has_text="Be brief.").locator("summary").click()
        shows(tab.locator("pre"), "Be brief.")
    page.reload()
    wait_for_state(page, "ready")
    shows(tab, "systemInstruction")
    tab.get_by_role("button", name="newest request").click()
    shows(tab, "The next request")
    assert "from the cache" not in tab.inner_text()
    tab.locator("li", has_text="def step_0").locator("summary").click()
    tab.get_by_role("button", name="Show more").click()
    until(lambda: tab.locator(".ln").count() > 20)


def test_neighbours_and_branches_are_compared(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, tab="compare", commit=work.names["cause"], provider="anthropic")
    tab = page.locator(".other-tab")
    shows(tab, "2 added")
    assert texts(tab.locator(".pair-added b")) == ["added", "added"]
    shows(tab.locator(".pair-added").last, "The file was changed.")

    page.get_by_role("button", name="Graph").click()
    tab.locator(".branches li", has_text="try").get_by_role("button", name="compare").click()
    shows(tab, "messages")
    becomes(lambda: texts(tab.locator(".units > li b")), ["changed", "added", "added"])
    assert texts(tab.locator("thead th"))[:2] == ["try", "main"]
    shows(tab, "I do not know.")
    tab.locator("summary", has_text="the same").click()
    shows(tab, "tools")
    tab.get_by_label("As").select_option("openai")
    tab.get_by_role("button", name="compare").click()
    until(lambda: "provider=openai" in page.url)
    shows(tab, "I do not know.")
    open_page.forgive("404")
    tab.get_by_label("old").fill("no-such-thing")
    tab.get_by_role("button", name="compare").click()
    shows(tab.locator(".problem"), "no-such-thing")


def test_the_graph(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, tab="graph")
    tab = page.locator(".other-tab")
    becomes(tab.locator(".graph li").count, len(work.names) + 1)
    assert texts(tab.locator(".graph .branch")) == ["main", "try"] or texts(
        tab.locator(".graph .branch")
    ) == ["try", "main"]
    assert "checked out" in tab.locator(".branches li", has_text="main").inner_text()
    item = tab.locator(f'.graph li[data-commit="{work.names["done"]}"]')
    assert "There are 300 orders" in item.inner_text()
    item.hover()
    item.get_by_role("button", name="at").click()
    until(lambda: f"at={work.names['done']}" in page.url)
    until(lambda: page.locator(".conversation").is_visible())
    assert row(page, work.names["ask3"]).count() == 0
    page.go_back()
    tab.locator(".branches li", has_text="try").get_by_role("button", name="view").click()
    shows(page.locator("main"), "I do not know.")
    assert "branch=try" in page.url
