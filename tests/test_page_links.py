"""Links in a browser: each leads to its place and stays there, whatever the ids are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.browser import PageOpener, Served, go, rest, until, wait_for_state
from tests.reader import (
    Names,
    becomes,
    database,
    row,
    said,
    shows,
    tool,
    use,
    write_long,
    write_work,
)

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route


class Linked(NamedTuple):
    served: Served
    names: Names
    long: Names


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    """A dialog with a branch, and one of 1,500 messages."""
    with database(tmp_path_factory.mktemp("links") / "t.db") as served:
        with served.dialog("work") as t:
            names = write_work(t)
            t.branch("try", at=names["ask3"])
            t.checkout("try")
            names["other"] = t.assistant("On another branch.").commit_hash
            t.checkout("main")
        with served.dialog("long", durability="relaxed") as t, t.batch():
            long = write_long(t)
        yield Linked(served, names, long)


OFFSET = """element => element.getBoundingClientRect().top
  - parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop)"""


def is_at_top(element: Locator) -> None:
    """It is where a link brings it, and stays there."""
    rest(element.page)
    assert abs(element.evaluate(OFFSET)) <= 2


def ready(page: Page) -> Page:
    wait_for_state(page, "ready")
    return page


def marked(page: Page) -> list[int]:
    lines: list[int] = page.locator(".ln.marked").evaluate_all(
        "all => all.map(one => +one.dataset.n)"
    )
    return lines


# Places


def test_a_message_far_away_is_at_the_top(linked: Linked, open_page: PageOpener) -> None:
    for name in ("ask333", "ask77"):
        page = open_page(linked.served.server, dialog="long", commit=linked.long[name])
        target = row(page, linked.long[name])
        target.wait_for()
        ready(page)
        is_at_top(target)
        assert "target" in (target.get_attribute("class") or "")
        shows(page.locator(".prompts [aria-current]"), f"question {name[3:]}")
        page.close()


def test_lines_of_a_result_far_away(linked: Linked, open_page: PageOpener) -> None:
    commit = linked.long["result350"]
    page = ready(open_page(linked.served.server, dialog="long", commit=commit, lines="1500-1503"))
    becomes(lambda: marked(page), [1500, 1501, 1502, 1503])
    is_at_top(page.locator(".ln.marked").first)
    page.reload()
    ready(page)
    becomes(lambda: marked(page), [1500, 1501, 1502, 1503])
    is_at_top(page.locator(".ln.marked").first)
    before = page.get_by_role("button", name="Show the lines before 1490")
    before.click()
    page.get_by_role("button", name="Show the lines before 1190").wait_for()
    numbers = page.locator(".ln").evaluate_all("all => all.map(one => +one.dataset.n)")
    assert numbers == list(range(1190, numbers[-1] + 1))
    assert page.locator(".ln.marked").first.is_visible()
    page.locator('.ln[data-n="1505"] .no').click()
    page.locator('.ln[data-n="1502"] .no').click(modifiers=["Shift"])
    becomes(lambda: marked(page), [1502, 1503, 1504, 1505])
    assert "lines=1502-1505" in page.url


def test_links_inside_of_a_page_that_is_open(linked: Linked, open_page: PageOpener) -> None:
    page = ready(open_page(linked.served.server, dialog="long"))
    for name in ("ask480", "ask12", "result150"):
        key = linked.long[name]
        go(page, dialog="long", commit=key)
        target = page.locator(f'article.target[data-key="{key}"], .target [data-commit="{key}"]')
        target.wait_for()
        is_at_top(target)
    shows(tool(page, "c150"), "data data")
    page.mouse.wheel(0, 3000)
    rest(page)
    page.locator(".prompts").get_by_text("question 12 and").click()
    is_at_top(row(page, linked.long["ask12"]))
    page.mouse.wheel(0, 3000)
    rest(page)
    page.locator(".prompts").get_by_text("question 12 and").click()  # once more
    is_at_top(row(page, linked.long["ask12"]))


def test_calls_lines_moments_and_branches(linked: Linked, open_page: PageOpener) -> None:
    server, names = linked.served.server, linked.names
    page = ready(open_page(server, dialog="work", call="c-fail"))
    shows(tool(page, "c-fail").locator(".content"), "undefined: foo")
    assert tool(page, "c-code").locator(".content").count() == 0

    go(page, dialog="work", commit=names["json"][:12])
    shows(tool(page, "c-json").locator(".content"), "order 0")
    go(page, dialog="work", call="c-code", lines="3")
    becomes(lambda: marked(page), [3])

    go(page, dialog="work", at=names["done"], commit=names["ask2"])
    until(lambda: row(page, names["ask3"]).count() == 0)
    assert "target" in (row(page, names["ask2"]).get_attribute("class") or "")

    go(page, dialog="work", branch="try", commit=names["other"])
    shows(row(page, names["other"]), "On another branch.")
    assert page.get_by_label("Branch").input_value() == "try"
    page.reload()
    shows(row(page, names["other"]), "On another branch.")

    go(page, dialog="work", commit=names["other"])
    shows(page.locator("#news"), f"{names['other'][:10]}")
    shows(page.locator("#news"), "is not on this branch")
    go(page, dialog="work", call="c-none")
    shows(page.locator("#news"), "There is no call c-none on this branch.")


def test_a_copied_link_works_in_a_second_tab(linked: Linked, open_page: PageOpener) -> None:
    open_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = ready(open_page(linked.served.server, dialog="work", view="both", tool="Read"))
    shows(page.locator("#filtered"), "2 of")
    row(page, linked.names["look"]).locator(".head").click()
    page.keyboard.press("l")
    shows(page.locator("#news"), "Link copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert "token" not in link
    second = open_page.context.new_page()
    second.goto(link)
    ready(second)
    until(lambda: "target" in (row(second, linked.names["look"]).get_attribute("class") or ""))
    assert second.get_by_label("both").is_checked()
    shows(second.locator("#filtered"), "2 of")
    assert second.url == link


def test_what_is_not_there_says_so(linked: Linked, open_page: PageOpener) -> None:
    open_page.forgive("404|422")
    page = ready(open_page(linked.served.server, dialog="work", commit="0" * 64))
    shows(page.locator("#news"), f"{'0' * 64} is not on this branch.")
    for fields in (
        {"dialog": "nobody"},
        {"dialog": "work", "branch": "none"},
        {"dialog": "work", "at": "0" * 64},
    ):
        go(page, **fields)
        wait_for_state(page, "failed")
        shows(page.locator("#alerts"), {"nobody": "nobody", "work": ""}[fields["dialog"]])
        page.locator("#alerts").get_by_role("button", name="Close").click()
        go(page, dialog="work")
        ready(page)


# Going back and forth


def test_back_and_forward(linked: Linked, open_page: PageOpener) -> None:
    page = open_page(linked.served.server)
    page.get_by_placeholder("filter").fill("work")
    page.get_by_role("link", name="work").click()
    prompts = page.locator(".prompts a")
    until(lambda: prompts.count() == 3)
    prompts.nth(1).click()
    page.get_by_role("button", name="Graph").click()
    page.locator(".graph li").first.wait_for()
    page.go_back()
    until(lambda: "target" in (row(page, linked.names["ask2"]).get_attribute("class") or ""))
    assert page.locator(".conversation").is_visible()
    page.go_back()
    page.go_back()
    becomes(lambda: page.locator(".dialog-row").count(), 1)
    assert page.get_by_placeholder("filter").input_value() == "work"
    page.go_forward()
    until(lambda: prompts.count() == 3)
    page.go_forward()
    page.go_forward()
    page.locator(".graph li").first.wait_for()
    hashes = ["#dialog=long", "", "#dialog=long", "#dialog=work"]  # faster than they are drawn
    page.evaluate("hashes => hashes.forEach(one => { location.hash = one; })", hashes)
    shows(page.locator("h1"), "work")
    ready(page)
    assert page.locator("article.row").count() == 13
    page.get_by_role("link", name="Dialogs").click()
    until(lambda: page.locator(".dialog-row").count() == 2)


def test_details_come_after_the_list_was_left(linked: Linked, open_page: PageOpener) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    open_page.context.route("**/api/view/details?*", hold)
    page = open_page(linked.served.server, words="work")
    ready(page)
    rest(page)
    held[0].continue_()  # the details of the dialog that is shown
    rest(page)
    assert len(held) == 2  # and those of the other one
    page.get_by_role("link", name="work").click()
    ready(page)
    held[1].continue_()
    rest(page)
    assert page.locator("article.row").count() == 13  # that nothing failed is asserted at the end


# Ids


IDS = [
    "quo\"te's &b=c#d 100%25 %zz",
    " two  spaces <b>&lt;</b>",
    "a/../b\\c?q=1;x 😀é",
    "..",
    "__proto__",
]


def test_hostile_ids(served: Served, open_page: PageOpener) -> None:
    """Of a dialog, its branch and a call at once. Only a call may have half of a surrogate pair."""
    open_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for name in IDS:
        with served.dialog(name) as t:
            t.user("Hello")
            t.commit(said(use(f"{name} \ud83d", "Read", path=name)))
            t.tool_result(f"{name} \ud83d", "Read", f"result of {name}")
            t.branch(name)
            t.checkout(name)
            t.user("On the branch")
            t.checkout("main")
    page = open_page(served.server)
    ready(page)
    links = page.locator(".dialog-row a")
    assert links.count() == len(IDS)
    for number in range(len(IDS)):
        shown: str = page.locator(".dialog-row").nth(number).evaluate("one => one.dataset.dialog")
        links.nth(number).click()
        page.get_by_label("Branch").select_option(shown)
        shows(page.locator("main"), "On the branch")
        ready(page)
        shows(page.locator(".tool .fold"), "Read")
        page.locator(".tool .fold").click()
        shows(page.locator(".tool .content"), "result of")
        page.locator(".tool").get_by_role("button", name="link").last.click()
        shows(page.locator("#news"), "Link copied.")
        second = open_page.context.new_page()
        second.goto(page.evaluate("navigator.clipboard.readText()"))
        shows(second.locator(".tool .content"), "result of")
        shows(second.locator("main"), "On the branch")
        second.close()
        go(page, dialog=shown, branch=shown, call=f"{shown} \ud83d")
        until(lambda: "call=" in page.url)
        shows(page.locator(".tool .content"), "result of")
        page.get_by_role("button", name="Graph").click()
        becomes(page.locator(".branches li").count, 2)
        go(page, dialog=shown, tab="graph")
        page.locator(".branches").get_by_role("button", name="delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        shows(page.locator("#news"), "is deleted")
        becomes(page.locator(".branches li").count, 1)
        page.get_by_role("link", name="Dialogs").click()
        links.first.wait_for()
