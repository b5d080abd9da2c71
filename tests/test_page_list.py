"""The list of dialogs in a browser: its rows, filters, order, sums, search and news."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import PageOpener, Served, go, until, wait_for_state
from tests.reader import becomes, database, said, shows, texts, usage, use
from tract import Tract
from tract.model import DialogFacts

if TYPE_CHECKING:
    from playwright.sync_api import Page

MANY = 1030
"""More than a page of the list."""


NAMES = ["phase: Fix the phase test", "retry: Retry in the client", "orders: Count the orders"]
PHASE, RETRY, ORDERS = NAMES


def describe(t: Tract, days: float, **facts: Any) -> None:
    ended = datetime.now(UTC) - timedelta(days=days, hours=1)
    t.session.configure("facts", DialogFacts(**facts, ended=ended))


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Three dialogs; of the first and the last, only their answers say which model it was."""
    with database(tmp_path_factory.mktemp("list") / "t.db") as served:
        with served.dialog("phase") as t:
            t.user("Fix it: the needle is lost.")
            t.assistant("I look for the needle.", **usage(90_000, 60_000))
            t.user("And now?")
            t.commit(said(use("c", "Bash", command="make")))
            t.tool_result("c", "Bash", "first\nexit 1: the needle is in the hay", is_error=True)
            t.assistant("It is fixed.")
            describe(t, 0, title="Fix the phase test", folder="/p/cli")
        with served.dialog("retry") as t:
            t.user("Retry in the client")
            t.assistant("Done. " * 400)
            describe(t, 3, title="Retry in the client", folder="/p/core", model="other")
        with served.dialog("orders") as t:
            t.user("Count them")
            t.assistant("300", **usage(10_000, 1_000))
            describe(t, 20, title="Count the orders", folder="/p/core", parent="phase")
        yield served


def titles(page: Page) -> list[str]:
    return texts(page.locator(".dialog-row .label a"))


def counted(page: Page) -> str:
    return page.locator("#shown").inner_text()


def filled(page: Page) -> None:
    """Wait for the details."""
    wait_for_state(page, "ready")
    until(lambda: any("$" in row for row in texts(page.locator(".dialog-row"))))


def without_tokens(row: str) -> str:
    """How many messages have depends on the counter."""
    return re.sub(r"(?<= [62]) \d+", "", row, count=1)


def test_a_row_says_what_a_dialog_is(listed: Served, open_page: PageOpener) -> None:
    page = open_page(listed.server)
    filled(page)
    assert [without_tokens(row) for row in texts(page.locator(".dialog-row"))] == [
        "phase: Fix the phase test cli m-1 6 90k 67 % $0.11 1 1 h",
        "retry: Retry in the client core other 2 3 d",
        "orders: Count the orders sub-agent core m-1 2 10k 10 % $0.03 2 w",
    ]
    assert counted(page) == "3 dialogs"
    page.get_by_role("link", name="Count the orders").click()
    page.locator("article.row").first.wait_for()
    assert "dialog=orders" in page.url


def test_filters_narrow_the_list_and_stay_in_the_address(
    listed: Served, open_page: PageOpener
) -> None:
    page = open_page(listed.server)
    filled(page)
    words = page.get_by_placeholder("filter")
    for text, found in (("CORE count", [ORDERS]), ("other", [RETRY]), ("phase", [PHASE])):
        words.fill(text)
        assert titles(page) == found
    assert counted(page) == "1 of 3 dialogs"
    words.fill("nothing like it")
    assert texts(page.locator(".dialog-body")) == ["No dialog fits these filters."]
    words.fill("")
    page.get_by_label("Project", exact=True).select_option("core")
    assert titles(page) == [RETRY, ORDERS]
    page.get_by_label("Since").select_option("7")
    assert titles(page) == [RETRY]
    page.get_by_label("Since").select_option("")
    page.get_by_label("Model", exact=True).select_option("m-1")
    assert titles(page) == [ORDERS]
    page.reload()
    becomes(lambda: titles(page), [ORDERS])
    assert page.get_by_label("Model", exact=True).input_value() == "m-1"
    page.get_by_label("Project", exact=True).select_option("")
    page.get_by_label("has errors").check()
    assert titles(page) == [PHASE]
    page.get_by_label("has errors").uncheck()
    assert titles(page) == [PHASE, ORDERS]


DESCENDING = {
    "title": [RETRY, PHASE, ORDERS],
    "project": [RETRY, ORDERS, PHASE],
    "model": [RETRY, PHASE, ORDERS],
    "messages": [PHASE, RETRY, ORDERS],
    "tokens": [RETRY, PHASE, ORDERS],
    "sent": [PHASE, ORDERS, RETRY],
    "cached": [PHASE, ORDERS, RETRY],
    "cost": [PHASE, ORDERS, RETRY],
    "errors": [PHASE, RETRY, ORDERS],
    "when": [PHASE, RETRY, ORDERS],
}


def test_every_column_sorts_both_ways(listed: Served, open_page: PageOpener) -> None:
    page = open_page(listed.server, sort="cost", reverse="1")
    filled(page)
    becomes(lambda: titles(page), [RETRY, ORDERS, PHASE])
    heads = page.locator(".dialog-heads")
    for column, descending in DESCENDING.items():
        seen = {}
        for _ in range(2):
            heads.get_by_role("button", name=column).click()
            head = heads.get_by_role("columnheader", name=column)
            seen[head.get_attribute("aria-sort")] = titles(page)
        assert seen["descending"] == descending
        assert seen.keys() == {"ascending", "descending"}
    heads.get_by_role("button", name="title").click()
    page.reload()
    wait_for_state(page)
    assert titles(page) == [ORDERS, PHASE, RETRY]


def test_chosen_dialogs_are_summed_and_compared(listed: Served, open_page: PageOpener) -> None:
    page = open_page(listed.server)
    filled(page)
    page.get_by_label("choose phase").check()
    page.get_by_label("choose orders").check()
    sums = page.locator(".sums")
    shows(sums, "2 chosen: 8 messages · ")
    shows(sums, "100k sent · $0.14 · 1 error")
    page.get_by_placeholder("filter").fill("phase")  # what is chosen stays chosen
    shows(sums, "2 chosen")
    sums.get_by_role("button", name="compare").click()
    table = page.get_by_role("dialog", name="Compare dialogs")
    lines = texts(table.locator("tr"))
    assert lines[0] == f"{PHASE} {ORDERS}"
    assert "project cli core" in lines
    assert "model m-1 m-1" in lines
    assert "messages 6 2" in lines
    assert "cost $0.11 $0.03" in lines
    table.get_by_role("button", name="Close").click()
    assert table.count() == 0
    sums.get_by_role("button", name="none").click()
    assert sums.inner_text() == ""
    assert page.locator(".dialog-row input:checked").count() == 0


def test_a_search_leads_to_the_hit(listed: Served, open_page: PageOpener) -> None:
    page = open_page(listed.server)
    field = page.get_by_placeholder("search all")
    field.fill("needle")
    field.press("Enter")
    hits = page.locator(".hits")
    shows(hits, "3 hits for “needle”")
    hits.locator("li", has_text="hay").get_by_role("link").click()
    box = page.locator('.tool[data-call="c"]')
    box.locator(".content").wait_for()
    assert "the needle is in the hay" in box.inner_text()
    shows(page.locator(".find [role=status]"), "3 of 3")
    page.go_back()
    shows(hits, "3 hits for “needle”")
    go(page)
    until(lambda: not hits.is_visible())


def test_a_search_that_finds_nothing_says_so(listed: Served, open_page: PageOpener) -> None:
    page = open_page(listed.server, text="unheard-of")
    shows(page.locator(".hits"), "0 hits for “unheard-of”")
    page.locator(".hits").get_by_role("button", name="close").click()
    assert not page.locator(".hits").is_visible()
    assert "text" not in page.url


def test_news_of_another_process_appear(served: Served, open_page: PageOpener) -> None:
    page = open_page(served.server)
    wait_for_state(page, "ready")
    assert texts(page.locator(".dialog-body")) == ["No dialogs yet: `tract import` brings some."]
    page.get_by_label("live", exact=True).wait_for()
    with served.dialog("a") as t:
        t.user("First")
        becomes(lambda: titles(page), ["a: First"])
        page.locator(".dialog-row a").focus()
        with served.dialog("b") as other:
            other.user("Second")
            other.assistant("Yes", **usage(100))
            describe(other, 0.001, title="Second", folder="/p/new")
        until(lambda: titles(page) == ["a: First", "b: Second"] and "m-1" in other_row(page))
        assert page.evaluate("document.activeElement.textContent") == "a: First"
        assert texts(page.get_by_label("Project", exact=True).locator("option")) == [
            "all projects",
            "new",
        ]
        assert texts(page.get_by_label("Model", exact=True).locator("option")) == [
            "all models",
            "m-1",
        ]
        t.delete_dialog("b")
    becomes(lambda: titles(page), ["a: First"])


def other_row(page: Page) -> str:
    return texts(page.locator(".dialog-row"))[1]


def test_a_list_longer_than_a_page(served: Served, open_page: PageOpener) -> None:
    with served.dialog("d", durability="relaxed") as t, t.batch():
        for n in range(MANY):
            t.sibling(f"d{n:04}").user(f"question {n}")
    page = open_page(served.server)
    wait_for_state(page, "ready")
    assert counted(page) == f"{MANY:,} dialogs"
    page.get_by_placeholder("filter").fill("question 1029")
    assert titles(page) == ["d1029: question 1029"]
