"""News in a browser: they appear, nothing that one reads moves, and no fault ends it."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tests.asking import ask, grant
from tests.browser import PageOpener, Served, rest, until, wait_for_state
from tests.changes import grow
from tests.reader import becomes, row, said, shows, tool, unfold, use, write_long
from tests.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route


def opened(served: Served, open_page: PageOpener, **fields: str) -> Page:
    """A page that is live."""
    page = open_page(served.server, dialog="a", **fields)
    wait_for_state(page, "ready")
    page.get_by_label("live", exact=True).wait_for()
    return page


def top(element: Locator) -> float:
    place: float = element.evaluate("one => one.getBoundingClientRect().top")
    return place


def scroll_to(page: Page, element: Locator) -> None:
    """As a person does: no link holds it."""
    rest(page)  # texts near the screen are drawn again when they have come
    element.scroll_into_view_if_needed()
    page.mouse.wheel(0, 40)
    rest(page)


# Growth


def test_what_one_reads_does_not_move(served: Served, open_page: PageOpener) -> None:
    with served.dialog() as t:
        names = grow(t, 20, thoughts=False)
        page = opened(served, open_page)
        reading = row(page, names["ask10"])
        scroll_to(page, reading)
        before = top(reading)
        for n in range(30):
            t.user(f"news {n}")
        newest = page.get_by_role("button", name="30 new rows")
        newest.wait_for()
        rest(page)
        assert abs(top(reading) - before) < 1
        t.user("much longer " * 300, edit=names["ask3"])
        shows(row(page, names["ask3"]), "edited")
        t.reshape({names[f"result{n}"]: "reference" for n in (1, 2, 4)})
        page.locator(".between", has_text="3 → reference").wait_for(state="attached")
        t.annotate(names["ask5"], "skip")
        page.locator(".between", has_text="1 left out").wait_for(state="attached")
        rest(page)
        assert abs(top(reading) - before) < 1
        shows(page.locator(".prompts li").last, "news 29")

        page.locator(".newest").click()
        until(lambda: page.locator(".newest").count() == 0)
        rest(page)
        end = page.locator(".end")
        at_end = top(end)
        t.user("and one more")
        page.locator("article.row", has_text="and one more").wait_for()
        rest(page)
        assert abs(top(end) - at_end) < 1  # it follows
        assert page.locator(".newest").count() == 0


def test_what_is_open_stays_open(served: Served, open_page: PageOpener) -> None:
    with served.dialog() as t:
        names = grow(t, 3, thoughts=False)
        t.commit(said("Wait.", use("late", "Read", path="slow")))
        page = opened(served, open_page)
        rows = page.locator("article.row").count()
        assert "no result" in tool(page, "late").inner_text()
        unfold(tool(page, "late"))
        unfold(tool(page, "c1"))
        row(page, names["ask1"]).locator(".head").click()
        t.tool_result("late", "Read", "here I am")
        shows(tool(page, "late").locator(".content"), "here I am")
        assert page.locator("article.row").count() == rows
        t.tool_result("c1", "Read", "shorter by hand", edit=names["result1"])
        shows(tool(page, "c1").locator(".content"), "shorter by hand")
        t.annotate(names["ask1"], "pinned")
        shows(row(page, names["ask1"]), "pinned")
        assert "current" in (row(page, names["ask1"]).get_attribute("class") or "")
        t.branch("other")
        t.checkout("other")
        t.user("elsewhere")
        becomes(page.get_by_label("Branch").locator("option").count, 2)
        assert "elsewhere" not in page.locator("main").inner_text()


def test_a_dialog_that_grows_while_it_is_loaded(served: Served, open_page: PageOpener) -> None:
    with served.dialog(durability="relaxed") as t:
        with t.batch():
            write_long(t)
        grown: list[object] = []

        def grow_first(route: Route) -> None:
            if len(grown) < 3 and "start=" in route.request.url:
                grown.append(t.user(f"meanwhile {len(grown)}"))
            route.continue_()

        open_page.context.route("**/view/rows?*", grow_first)
        page = opened(served, open_page)
        becomes(page.locator("article.row", has_text="meanwhile").count, 3)
        becomes(page.locator("article.row").count, 1498)
        assert page.locator("section.empty").count() == 0


# Huge dialogs


def test_a_huge_dialog_is_drawn_where_one_looks(served: Served, open_page: PageOpener) -> None:
    def fewer(route: Route) -> None:
        answer = route.fetch()
        text, count = re.subn(r"(MOST_DRAWN = )\d+", r"\g<1>200", answer.text())
        assert count == 1
        route.fulfill(response=answer, body=text)

    with served.dialog(durability="relaxed") as t:
        with t.batch():
            names = write_long(t)
        open_page.context.route("**/sections.js", fewer)
        page = opened(served, open_page)
        drawn = page.locator("article.row")
        assert 10 < drawn.count() < 300
        page.locator(".prompts li").last.wait_for()

        page.keyboard.press("G")
        shows(row(page, names["ask499"]), "question 499")
        until(lambda: row(page, names["ask499"]).is_visible())
        page.locator(".prompts").get_by_text("question 250").first.click()
        until(lambda: row(page, names["ask250"]).is_visible())
        page.keyboard.press("n")
        until(lambda: "current" in (row(page, names["ask251"]).get_attribute("class") or ""))
        for _ in range(3):
            page.mouse.wheel(0, 20_000)
            rest(page)
        assert drawn.count() < 400
        assert page.locator("article.row:visible").count() > 3

        field = page.get_by_placeholder("find")
        field.fill("Thus 77.")
        field.press("Enter")
        shows(page.locator(".find [role=status]"), "1 of 1")
        page.locator("article.row", has_text="Thus 77.").wait_for()
        t.user("at the very end")
        page.locator(".newest").click()
        page.locator("article.row", has_text="at the very end").wait_for()
        assert drawn.count() < 500


# Faults


def test_the_server_is_restarted(served: Served, open_page: PageOpener) -> None:
    open_page.forgive("ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|ERR_NETWORK")
    port = served.server.socket.getsockname()[1]
    with served.dialog() as t:
        names = grow(t, 2, thoughts=False)
    with ExitStack() as stack:
        database = str(served.database)
        first = ExitStack()
        server = first.enter_context(serving(database))
        port = server.socket.getsockname()[1]
        page = open_page(server, dialog="a")
        listed = open_page(server)
        wait_for_state(page, "ready")
        for one in (page, listed):
            one.get_by_label("live", exact=True).wait_for()
        first.close()
        for one in (page, listed):
            shows(one.locator(".live"), "not live")
        tool(page, "c1").locator(".fold").click()
        shows(tool(page, "c1"), "The server does not answer.")
        tool(page, "c1").locator(".fold").click()
        with served.dialog() as t:
            t.user("while it was away")
        stack.enter_context(serving(database, server.token, port))
        shows(page.locator("main"), "while it was away")
        page.get_by_label("live", exact=True).wait_for()
        shows(listed.locator(".dialog-row"), "question 0 10")
        unfold(tool(page, "c1"))
        shows(tool(page, "c1").locator(".content"), "a line of a long file")
        assert row(page, names["ask1"]).count() == 1


def test_a_token_that_is_revoked(served: Served, open_page: PageOpener) -> None:
    open_page.forgive("401")
    with served.dialog() as t:
        t.user("Hello")
        token = grant(served.database, "short", "read")
        page = opened(served, open_page, token=token)
        listed = open_page(served.server, token=token)
        listed.get_by_label("live", exact=True).wait_for()
        assert ask(served.server, "DELETE", "/api/grants/short", served.server.token).status == 204
        t.user("not for everybody")
        for one in (page, listed):
            field = one.get_by_label("Token")
            field.wait_for()
            shows(one.locator("#alerts"), "unknown or revoked")
        assert "not for everybody" not in page.locator("main").inner_text()
        field = page.get_by_label("Token")
        field.fill("half of it")
        with page.expect_response(lambda response: response.status == 401):
            pass  # it tries again, and does not disturb who types
        assert field.input_value() == "half of it"
        field.fill("wrong")
        field.press("Enter")
        wait_for_state(page, "failed")
        field.wait_for()
        field.fill(served.server.token or "")
        field.press("Enter")
        shows(page.locator("main"), "not for everybody")
        t.user("live again")
        shows(page.locator("main"), "live again")
        assert page.locator("#alerts").inner_text() == ""
        assert "token" not in page.url


def test_a_dialog_that_is_deleted(served: Served, open_page: PageOpener) -> None:
    open_page.forgive("404")
    with served.dialog() as t:
        grow(t, 1, thoughts=False)
        page = opened(served, open_page)
        t.delete_dialog("a")
    shows(page.locator("#alerts"), "This dialog was deleted.")
    shows(page.locator("main"), "question 0")  # what was read stays
    page.get_by_role("button", name="Try again").click()
    wait_for_state(page, "failed")
    shows(page.locator("#alerts"), "'a'")
