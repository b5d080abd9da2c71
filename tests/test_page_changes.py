"""Changes in a browser: each says before what it does, is one commit, can be undone, and never
overwrites somebody else's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.asking import grant, send
from tests.browser import PageOpener, Served, go, until, wait_for_state
from tests.changes import Names, grow
from tests.reader import becomes, row, shows, texts, tool, unfold

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


@pytest.fixture
def dialog(served: Served) -> Names:
    """A dialog `a` of four turns with a call each. Thoughts would be lost by any change."""
    with served.dialog(durability="relaxed") as t:
        return grow(t, thoughts=False)


class Counts:
    """What the database has: commits, tokens and messages of a request, and the texts in it."""

    def __init__(self, served: Served, branch: str = "main") -> None:
        with served.dialog() as t:
            t.checkout(branch)
            context = t.compile()
            self.commits = sum(1 for _ in t.log())
            self.tokens = context.token_count
            self.own_tokens = context.token_count - context.tool_tokens
            self.messages = context.commit_count
            self.text = str(context.to_dicts())


def opened(served: Served, open_page: PageOpener, **fields: str) -> Page:
    page = open_page(served.server, dialog="a", **fields)
    wait_for_state(page, "ready")
    page.locator(".panel h2").wait_for()
    page.get_by_label("live", exact=True).wait_for()
    return page


def choose(page: Page, *keys: str) -> None:
    """Make messages the ones that a change is about."""
    for key in keys:
        row(page, key).locator(".head").click()
        if len(keys) > 1:
            page.keyboard.press("m")


def effect(page: Page) -> tuple[int, int]:
    """The tokens before and after that a question says."""
    text = page.locator("dialog [role=status]")
    until(lambda: "tokens" in text.inner_text())
    found = re.search(r"([\d,]+) → ([\d,]+) tokens", text.inner_text())
    assert found
    before, after = (int(number.replace(",", "")) for number in found.groups())
    return before, after


def carry_out(page: Page, served: Served, name: str) -> None:
    """Say yes, and compare what was said with what then is."""
    before = Counts(served)
    said = effect(page)
    page.locator("dialog").get_by_role("button", name=name).click()
    becomes(page.locator("dialog").count, 0)
    shows(page.locator("#news"), f"Done: {name.lower()}")
    after = Counts(served)
    assert said == (before.tokens, after.tokens)
    assert after.commits == before.commits + 1


def undo(page: Page, served: Served, before: Counts) -> None:
    """Undo the last change: everything is as before, by one more commit. Only the tool for results
    stays: without it, a provider's cache would not match."""
    commits = Counts(served).commits
    page.locator("#news").get_by_role("button", name="undo").click()
    shows(page.locator("#news"), "Undone")
    now = Counts(served)
    assert (now.text, now.own_tokens) == (before.text, before.own_tokens)
    assert now.commits == commits + 1


def panel(page: Page, name: str) -> None:
    page.locator(".panel").get_by_role("button", name=name, exact=True).click()


# One by one


def test_pin_skip_reshape_and_restore(served: Served, dialog: Names, open_page: PageOpener) -> None:
    page, before = opened(served, open_page), Counts(served)
    choose(page, dialog["ask0"])
    panel(page, "pin")
    carry_out(page, served, "Pin")
    shows(row(page, dialog["ask0"]), "pinned")
    undo(page, served, before)
    becomes(lambda: "pinned" in row(page, dialog["ask0"]).inner_text(), False)

    choose(page, dialog["ask1"])
    page.keyboard.press("x")
    carry_out(page, served, "Skip")
    shows(row(page, dialog["ask1"]), "skipped")
    assert "question 1" not in Counts(served).text
    page.keyboard.press("x")  # the same key takes it back
    carry_out(page, served, "Show again")
    becomes(lambda: "skipped" in row(page, dialog["ask1"]).inner_text(), False)
    assert Counts(served).text == before.text

    choose(page, dialog["call0"], dialog["call3"])
    shows(page.locator(".panel"), "2 messages marked")
    page.keyboard.press("f")
    carry_out(page, served, "Reshape")
    for call in ("c0", "c3"):
        shows(tool(page, call), "reference")
    assert "get_tool_result" in Counts(served).text
    undo(page, served, before)
    page.keyboard.press("f")
    page.locator("dialog select").select_option("collapsed")
    carry_out(page, served, "Reshape")
    shows(tool(page, "c0"), "collapsed")
    panel(page, "restore")
    carry_out(page, served, "Restore")
    assert Counts(served).text == before.text
    panel(page, "restore")
    shows(page.locator("#news"), "There is nothing to undo here.")
    panel(page, "none")


def test_edit(served: Served, dialog: Names, open_page: PageOpener) -> None:
    page, before = opened(served, open_page), Counts(served)
    choose(page, dialog["ask2"])
    page.keyboard.press("i")
    field = page.locator("dialog textarea")
    assert field.input_value() == "question 2"
    field.fill("another question entirely 😀\n  with <b>lines</b>\n")
    carry_out(page, served, "Edit")
    shows(row(page, dialog["ask2"]), "another question entirely 😀")
    shows(row(page, dialog["ask2"]), "edited")
    with served.dialog() as t:
        assert t.get_content(t.head or "") == "another question entirely 😀\n  with <b>lines</b>\n"
    undo(page, served, before)
    shows(row(page, dialog["ask2"]), "question 2")

    unfold(tool(page, "c2")).locator(".content").get_by_role("button", name="edit").click()
    field.fill("found after all, in another place")
    carry_out(page, served, "Edit")
    shows(
        tool(page, "c2").locator(".content"), "found after all, in another place"
    )  # it is still open
    undo(page, served, before)
    shows(tool(page, "c2").locator(".content"), "no such file")

    tool(page, "c2").locator(".arguments-box").get_by_role("button", name="edit").click()
    field.fill('{"path": "broken')
    open_page.forgive("422")
    shows(page.locator("dialog [role=status]"), "not valid JSON")
    assert page.locator("dialog").get_by_role("button", name="Edit").is_disabled()
    field.fill('{"path": "elsewhere"}')
    carry_out(page, served, "Edit")
    shows(tool(page, "c2"), "elsewhere")


def test_compress(served: Served, dialog: Names, open_page: PageOpener) -> None:
    page, before = opened(served, open_page), Counts(served)
    choose(page, dialog["ask1"], dialog["call1"], dialog["answer1"])
    panel(page, "compress")
    page.locator("dialog textarea").fill("A file was read.")
    carry_out(page, served, "Compress")
    assert Counts(served).messages == before.messages - 3
    assert "A file was read." in Counts(served).text
    shows(page.locator("article.row", has_text="summary of 4 messages"), "Summary of 4 earlier")
    assert "summarized by" in row(page, dialog["answer1"]).inner_text()
    undo(page, served, before)
    panel(page, "none")

    choose(page, dialog["call3"])
    panel(page, "compress")
    carry_out(page, served, "Compress")  # without a text: an outline that tract makes
    assert Counts(served).tokens < before.tokens
    undo(page, served, before)

    choose(page, dialog["ask0"])
    panel(page, "compress")
    shows(page.locator("dialog [role=status]"), "Write a summary first.")
    assert page.locator("dialog").get_by_role("button", name="Compress").is_disabled()
    page.locator("dialog").get_by_role("button", name="Cancel").click()
    assert Counts(served).text == before.text


def test_undo_of_what_others_did(served: Served, dialog: Names, open_page: PageOpener) -> None:
    with served.dialog() as t:
        t.reshape({dialog["result0"]: "reference", dialog["result3"]: "collapsed"})
        t.user("And now?")
        t.assistant("The model has seen it.")
    page = opened(served, open_page)
    page.locator(".between", has_text="epoch 1").get_by_role("button", name="undo").click()
    shows(page.locator("dialog"), "1 → reference, 1 → collapsed")
    carry_out(page, served, "Undo")
    shows(page.locator(".between", has_text="epoch 1"), "(undone)")
    assert page.locator(".between", has_text="epoch 1").get_by_role("button").count() == 0
    assert "get_tool_result" not in Counts(served).text
    page.keyboard.press("u")
    shows(page.locator("#news"), "Undone: undo.")
    assert "get_tool_result" in Counts(served).text
    page.keyboard.press("u")
    shows(page.locator("#news"), "Nothing to undo on this page.")


# Branches


def test_branches(served: Served, dialog: Names, open_page: PageOpener) -> None:
    page, before = opened(served, open_page), Counts(served)

    def branches() -> dict[str, Any]:
        with served.dialog() as t:
            return {**t.branches(), "": t.current_branch}

    def make() -> None:
        choose(page, dialog["answer1"])
        panel(page, "branch here")
        page.locator("dialog input").fill("try")
        page.locator("dialog").get_by_role("button", name="Branch").click()
        shows(page.locator("#news"), "Branch try ends at")
        until(lambda: row(page, dialog["ask2"]).count() == 0)
        assert branches() == {"main": head, "try": dialog["answer1"], "": "main"}
        wait_for_state(page, "ready")
        page.locator(".panel h2").wait_for()

    head = branches()["main"]
    make()
    page.locator("#news").get_by_role("button", name="undo").click()
    row(page, dialog["ask2"]).wait_for()
    becomes(branches, {"main": head, "": "main"})
    wait_for_state(page, "ready")
    page.locator(".panel h2").wait_for()
    make()
    choose(page, dialog["ask0"])  # writes go to the branch that is shown
    page.keyboard.press("P")
    page.locator("dialog").get_by_role("button", name="Pin").click()
    shows(row(page, dialog["ask0"]), "pinned")
    assert Counts(served).commits == before.commits
    assert Counts(served, "try").commits == 10

    def ask(name: str, label: str) -> None:
        item = page.locator(".branches li", has_text="try")
        item.get_by_role("button", name=name).click()
        page.locator("dialog").get_by_role("button", name=label).click()

    page.get_by_role("button", name="Graph").click()
    ask("check out", "Check out")
    shows(page.locator(".branches li", has_text="try"), "checked out")
    assert branches()[""] == "try"
    shows(page.locator(".where"), "try (checked out)")
    page.locator("#news").get_by_role("button", name="undo").click()
    shows(page.locator(".branches li", has_text="main"), "checked out")
    assert branches()[""] == "main"

    go(page, dialog="a", tab="graph")
    until(lambda: page.get_by_label("Branch").input_value() == "main")
    kept = branches()
    ask("delete", "Delete")
    becomes(lambda: texts(page.locator(".branches b")), ["main"])
    assert branches() == {"main": head, "": "main"}
    page.locator("#news").get_by_role("button", name="undo").click()
    becomes(page.locator(".branches b").count, 2)
    assert branches() == kept

    open_page.forgive("409|422")
    page.get_by_role("button", name="Conversation").click()
    choose(page, dialog["ask0"])
    panel(page, "branch here")
    page.locator("dialog input").fill("main")
    page.locator("dialog").get_by_role("button", name="Branch").click()
    shows(page.locator("dialog [role=status]"), "main")
    page.locator("dialog").get_by_role("button", name="Cancel").click()


# Two at once


def start_edit(page: Page, key: str, text: str) -> Locator:
    choose(page, key)
    page.keyboard.press("i")
    page.locator("dialog textarea").fill(text)
    return page.locator("dialog")


def test_two_tabs_that_edit_one_message(
    served: Served, dialog: Names, open_page: PageOpener
) -> None:
    open_page.forgive("409")
    first, second = opened(served, open_page), opened(served, open_page)
    one = start_edit(first, dialog["ask1"], "from the first tab")
    two = start_edit(second, dialog["ask1"], "from the second tab")
    one.get_by_role("button", name="Edit").click()
    shows(row(first, dialog["ask1"]), "from the first tab")
    two.get_by_role("button", name="Edit").click()
    shows(two, "in the meantime")
    assert two.locator("textarea").input_value() == "from the second tab"
    assert two.get_by_role("button", name="Edit").is_disabled()
    assert "from the first tab" in Counts(served).text
    two.get_by_role("button", name="Cancel").click()
    shows(row(second, dialog["ask1"]), "from the first tab")
    one = start_edit(first, dialog["ask1"], "too late")
    two = start_edit(second, dialog["ask1"], "from both")
    two.get_by_role("button", name="Edit").click()
    shows(row(second, dialog["ask1"]), "from both")
    shows(row(first, dialog["ask1"]), "from both")  # it is live behind the question
    one.get_by_role("button", name="Edit").click()
    shows(one, "in the meantime")
    with served.dialog() as t:
        versions = [t.get_content(one) for one in t.edit_history(dialog["ask1"])]
    assert versions == ["question 1", "from the first tab", "from both"]


def test_two_tabs_with_other_changes(served: Served, dialog: Names, open_page: PageOpener) -> None:
    open_page.forgive("409")
    first, second = opened(served, open_page), opened(served, open_page)
    choose(first, dialog["ask1"])
    choose(second, dialog["ask1"], dialog["call1"])
    panel(second, "compress")
    second.locator("dialog textarea").fill("Nothing much.")
    first.keyboard.press("x")
    first.locator("dialog").get_by_role("button", name="Skip").click()
    shows(row(second, dialog["ask1"]), "skipped")  # it is live behind the question
    commits = Counts(served).commits
    second.locator("dialog").get_by_role("button", name="Compress").click()
    shows(second.locator("dialog"), "in the meantime")
    assert second.locator("dialog textarea").input_value() == "Nothing much."
    assert Counts(served).commits == commits


def test_an_agent_that_only_appends_is_no_conflict(
    served: Served, dialog: Names, open_page: PageOpener
) -> None:
    open_page.forgive("409")
    page = opened(served, open_page)
    question = start_edit(page, dialog["ask1"], "edited meanwhile")
    with served.dialog() as t:
        for n in range(3):
            t.user(f"more {n}")
    question.get_by_role("button", name="Edit").click()
    shows(row(page, dialog["ask1"]), "edited meanwhile")
    with served.dialog() as t:
        assert [one.operation for one in t.log()][:2] == ["edit", "append"]
    shows(page.locator("main"), "more 2")


# A token that may only read


def test_a_token_that_may_only_read(served: Served, dialog: Names, open_page: PageOpener) -> None:
    token = grant(served.database, "reader", "read")
    page = opened(served, open_page, token=token)
    choose(page, dialog["ask1"])
    unfold(tool(page, "c1"))
    shows(page.locator(".panel"), "copy link")
    for name in ("edit", "pin", "skip", "reshape", "compress", "restore", "branch here", "undo"):
        assert page.get_by_role("button", name=name, exact=True).count() == 0
    for key in "ixPRf":
        page.locator("#news").evaluate("one => one.replaceChildren()")
        page.keyboard.press(key)
        shows(page.locator("#news"), "This token may only read.")
    assert page.locator("dialog").count() == 0
    page.get_by_role("button", name="Graph").click()
    page.locator(".graph li").first.wait_for()
    assert page.get_by_role("button", name="check out").count() == 0
    body = {"commit": dialog["ask1"], "text": "x"}
    for path, fields in {
        "reword": body,
        "marks": {"commit": dialog["ask1"], "priority": "skip"},
        "restore": {"names": [dialog["ask1"]]},
        "reshape": {"forms": {dialog["result1"]: "reference"}},
        "compress": {"commits": [dialog["ask1"]], "content": "x"},
        "compress-tool-calls": {},
        "preview": {"operation": "restore", "arguments": {"names": [dialog["ask1"]]}},
        "branches": {"name": "x"},
        "checkout": {"name": "main"},
    }.items():
        answer = send(served.server, "POST", f"/api/dialogs/a/{path}", fields, token=token)
        assert answer.status == 403
