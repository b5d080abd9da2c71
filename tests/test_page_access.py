"""The page for everyone: without a mouse, without eyes, on a telephone, on paper, in the dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.browser import (
    PageOpener,
    Served,
    accessibility_faults,
    go,
    rest,
    until,
    wait_for_state,
)
from tests.reader import (
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
    from playwright.sync_api import Page

SCHEMES = ("light", "dark")
NARROW, MIDDLE = {"width": 390, "height": 844}, {"width": 1000, "height": 800}
VIEWS: dict[str, dict[str, str]] = {
    "list": {},
    "dialog": {"dialog": "work"},
    "sent": {"dialog": "work", "view": "sent"},
    "both": {"dialog": "work", "view": "both"},
    "request": {"dialog": "work", "tab": "request"},
    "compare": {"dialog": "work", "tab": "compare", "old": "try", "new": "main"},
    "graph": {"dialog": "work", "tab": "graph"},
}


class Work(NamedTuple):
    served: Served
    names: Names


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    """A dialog `work` of which only a part is sent, with a branch; nobody changes it."""
    with database(tmp_path_factory.mktemp("access") / "t.db") as served:
        yield Work(served, write(served, "work"))


def write(served: Served, dialog: str) -> Names:
    with served.dialog(dialog) as t:
        names = write_work(t)
        t.branch("try", at=names["ask3"])
        t.checkout("try")
        t.assistant("I do not know.")
        t.checkout("main")
        shrink(t, names)
    return names


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Work]:
    """The same for a test that changes it."""
    with database(tmp_path / "t.db") as served:
        yield Work(served, write(served, "work"))


def opened(work: Work, open_page: PageOpener, **fields: str) -> Page:
    page = open_page(work.served.server, **fields)
    settle(page)
    return page


def settle(page: Page) -> None:
    wait_for_state(page, "ready")
    until(lambda: page.locator(".waiting").count() == 0)
    rest(page)


def unfold_all(page: Page) -> None:
    """Everything that can be opened."""
    script = """() => {
      for (const one of document.querySelectorAll(".fold[aria-expanded=false]")) one.click();
      for (const one of document.querySelectorAll("details")) one.open = true;
    }"""
    page.evaluate(script)
    settle(page)


def focused(page: Page) -> str:
    """What has the focus: its tag and its words; empty if nothing has it that can be seen."""
    text: str = page.evaluate(FOCUSED)
    return " ".join(text.split())


FOCUSED = """() => {
  const one = document.activeElement;
  if (one === document.body || !one.checkVisibility()) return "";
  const words = one.getAttribute("aria-label") ?? (one.name || one.textContent.slice(0, 80));
  return `${one.localName} ${words}`;
}"""


# Rules


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_view_breaks_a_rule(work: Work, open_page: PageOpener, scheme: Any) -> None:
    page = opened(work, open_page)
    page.emulate_media(color_scheme=scheme)
    faults = {}
    for name, fields in VIEWS.items():
        go(page, **fields)
        settle(page)
        faults[name] = found(page)
        unfold_all(page)
        faults[f"{name}, opened"] = found(page)
    assert {name: lines for name, lines in faults.items() if lines} == {}


def found(page: Page) -> list[str]:
    """Contrasts are looked at here: axe takes long for them, and leaves some out."""
    rules = {"color-contrast": {"enabled": False}}
    return [*accessibility_faults(page, rules=rules), *page.evaluate(PALE)]


# Each text against what is painted below it: 4.5, or 3 where it is large. A canvas knows every way
# to write a colour. Colours that mean something have 3 against what is around them.
PALE = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((one, at) => one * a + below[at] * (1 - a));
  const ground = (element) => {
    if (!element) return [255, 255, 255];
    const colour = rgba(getComputedStyle(element).backgroundColor);
    return colour[3] === 1 ? colour.slice(0, 3) : over(colour, ground(element.parentElement));
  };
  const light = (colour) => colour.map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const faults = [];
  const look = (element, colour, below, least, what) => {
    const ratio = contrast(over(rgba(colour), below), below);
    if (ratio < least) faults.push(`${ratio.toFixed(2)} of ${least}: ${what} (${element.className})`);
  };
  const words = (element) => [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
  for (const element of document.body.querySelectorAll("*")) {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.closest("svg, :disabled")) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const text = element.textContent.trim().slice(0, 30);
    if (words(element)) look(element, style.color, ground(element), isLarge ? 3 : 4.5, text);
    if (element.matches("input[placeholder]")) {
      look(element, getComputedStyle(element, "::placeholder").color, ground(element), 4.5, element.placeholder);
    }
    if (element.matches(".legend i, .share .bar")) {
      const below = ground(element.parentElement);
      look(element, style.backgroundColor, below, 3, "a part of the chart");
    }
    if (element.matches(".tool")) look(element, style.borderLeftColor, ground(element.parentElement), 2.9, "a pair");
  }
  return faults;
}"""


def test_every_pair_and_every_part_can_be_told_apart(work: Work, open_page: PageOpener) -> None:
    """All colours of pairs and of the chart, not only those that this dialog has."""
    page = opened(work, open_page, dialog="work")
    page.evaluate(
        """() => {
          const fold = document.querySelector(".tool:not(.failed)");
          for (let pair = 0; pair < 8; pair++) for (const failed of ["", " failed", " reshaped"]) {
            const copy = fold.cloneNode(true);
            copy.className = `tool p${pair}${failed}`;
            fold.after(copy);
          }
          for (const part of ["system", "tools", "summaries", "text", "arguments", "thinking", "results"])
            document.querySelector(".legend").append(Object.assign(document.createElement("i"), { className: `part-${part}` }));
        }"""
    )
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert page.evaluate(PALE) == []
    page.evaluate("document.querySelector('h1').style.color = 'rgb(128 128 128 / .9)'")
    [fault] = page.evaluate(PALE)
    assert "of 4.5: work: Why is the" in fault


def test_no_list_breaks_a_rule_where_nothing_is(served: Served, open_page: PageOpener) -> None:
    page = open_page(served.server)
    settle(page)
    assert found(page) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_question_breaks_a_rule(work: Work, open_page: PageOpener, scheme: Any) -> None:
    open_page.forgive("status of 422")  # there is nothing to restore
    page = opened(work, open_page, dialog="work", commit=work.names["look"])
    page.emulate_media(color_scheme=scheme)
    until(lambda: page.locator(".panel button").count() > 5)
    for name in ("edit", "pin", "skip", "reshape", "compress", "restore", "branch here"):
        page.locator(".panel").get_by_role("button", name=name).click()
        asked(page)
        assert found(page) == [], name
        page.keyboard.press("Escape")
    page.keyboard.press("?")
    asked(page)
    assert found(page) == []
    page.keyboard.press("Escape")
    go(page, dialog="work", tab="graph")
    for name in ("check out", "delete"):
        page.locator(".branches").get_by_role("button", name=name).click()
        asked(page)
        assert found(page) == []
        page.keyboard.press("Escape")


def asked(page: Page) -> None:
    """Wait for a question, and for what would happen."""
    page.get_by_role("dialog").wait_for()
    until(lambda: page.locator("dialog .note", has_text=re.compile("^…$")).count() == 0)


def test_headings_are_those_of_the_prompts(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, dialog="work")
    assert texts(page.locator("h1")) == ["work: Why is the *build* red?"]
    headings = page.locator("main").get_by_role("heading", level=2)
    titles = texts(page.locator(".prompts a"))
    assert [one.get_attribute("aria-label") for one in headings.all()] == titles
    assert texts(page.locator(".prompts h2, .panel h2")) == ["Prompts", "At this point"]


def test_a_folded_line_says_what_it_is(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, dialog="work")
    line = tool(page, "c-fail").get_by_role("button").first
    assert line.get_attribute("aria-expanded") == "false"
    name = " ".join(line.inner_text().split())
    assert re.fullmatch(
        r"▸ ✗ Bash make test 22 B · \d+ t · a3 failed: exit 1: undefined: foo", name
    )
    line.click()
    assert line.get_attribute("aria-expanded") == "true"


# Keys


def test_every_key_does_what_the_list_says(own: Work, open_page: PageOpener) -> None:
    """Those that lead from message to message have a test of their own, with the dialog."""
    open_page.forgive("status of 422")  # there is nothing to restore
    page, names = opened(own, open_page, dialog="work"), own.names
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    until(lambda: page.locator(".panel button").count() > 0)
    page.keyboard.press("g")
    for _ in range(3):
        page.keyboard.press("j")
    assert page.locator(".current").get_attribute("data-key") == names["look"]
    done = ["j", "k", "Enter", "o", "n", "p", "e", "E", "g", "G"]

    def press(key: str, is_done: Callable[[], object]) -> None:
        page.keyboard.press(key)
        until(is_done)
        done.append(key)

    def asks(title: str) -> Callable[[], object]:
        return page.get_by_role("dialog", name=title).is_visible

    press("v", page.locator("main.view-sent").count)
    page.keyboard.press("v")
    page.keyboard.press("v")
    press("a", lambda: page.evaluate("!!document.activeElement.closest('.panel')"))
    page.keyboard.press("a")
    assert focused(page).startswith("article")
    press("m", page.locator(".marked-row").count)
    page.keyboard.press("m")
    press("l", lambda: names["look"] in page.evaluate("navigator.clipboard.readText()"))
    press("/", lambda: focused(page) == "input Find in this dialog")
    page.keyboard.press("Escape")
    for key, title in {"i": "Edit", "P": "Pin", "R": "Restore", "f": "Reshape"}.items():
        press(key, asks(title))
        page.keyboard.press("Escape")
        until(lambda: page.get_by_role("dialog").count() == 0)
    press("x", asks("Skip"))
    page.keyboard.press("Enter")
    shows(row(page, names["look"]).locator(".head"), "skipped")
    press("u", lambda: "skipped" not in row(page, names["look"]).locator(".head").inner_text())
    for key, words in {"r": "Request at", "c": "Compare", "b": "Branches and commits"}.items():
        press(key, page.locator(".other-tab h2", has_text=words).is_visible)
        until(lambda: focused(page))
        press("Escape", page.locator(".conversation").is_visible)
        until(lambda: focused(page).startswith("article"))
    press("?", asks("Keys"))
    keys = " ".join(texts(page.locator("dialog kbd"))).replace("/ ", " / ", 1)
    listed = set(re.findall(r"\w+|[/?]", keys)) | set("PR")
    assert listed - {"Shift"} == set(done) | {"/"}


def test_single_keys_are_not_for_fields_and_can_be_switched_off(
    work: Work, open_page: PageOpener
) -> None:
    page = opened(work, open_page, dialog="work")
    field = page.get_by_label("Find in this dialog")
    field.focus()
    page.keyboard.type("gGjkxbcrmau?")
    assert field.input_value() == "gGjkxbcrmau?"
    page.locator("select[name=role]").focus()
    page.keyboard.press("b")
    assert page.get_by_role("dialog").count() == 0
    assert "tab=" not in page.url
    field.fill("")
    page.locator("main").focus()
    page.keyboard.press("?")
    page.get_by_label("single keys are off").check()
    page.keyboard.press("Escape")
    for key in "jbxvic":
        page.keyboard.press(key)
    assert page.get_by_role("dialog").count() == 0
    assert page.locator(".current").count() == 0
    assert "tab=" not in page.url
    go(page)
    settle(page)
    page.keyboard.press("j")
    page.keyboard.press("/")
    assert focused(page).startswith("main")


def test_keys_of_messages_do_nothing_where_there_are_none(
    work: Work, open_page: PageOpener
) -> None:
    page = opened(work, open_page, dialog="work", tab="graph")
    for key in "ixPRfumvao":
        page.keyboard.press(key)
    rest(page)
    assert page.get_by_role("dialog").count() == 0
    assert page.get_by_label("Find in this dialog").is_hidden()


def test_the_chart_needs_no_mouse(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, dialog="work")
    columns = page.locator(".strip .column")
    until(lambda: columns.count() == 7)
    assert page.locator(".strip [tabindex='0']").count() == 1
    page.locator(".strip [tabindex='0']").focus()
    for key, number in {"ArrowLeft": 6, "Home": 1, "ArrowRight": 2, "End": 7}.items():
        page.keyboard.press(key)
        assert focused(page).startswith(f"g request {number},")
        assert page.locator(".tip").inner_text().startswith(f"request {number},")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    until(lambda: "target" in (row(page, work.names["look"]).get_attribute("class") or ""))
    shows(page.locator(".panel"), "request 1 of 7")


# Focus


def test_the_focus_can_be_seen_on_its_way_through_the_page(
    work: Work, open_page: PageOpener
) -> None:
    for fields in VIEWS.values():
        page = opened(work, open_page, **fields)
        stops = []
        for key in ("Tab", "Shift+Tab"):
            for _ in range(70):
                page.keyboard.press(key)
                if not (stop := page.evaluate(STOP)):
                    break
                assert stop["fault"] == "", stop
                stops.append(stop["name"])
        assert len(stops) > 15
        page.close()


STOP = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const box = one.getBoundingClientRect();
  const style = getComputedStyle(one);
  const isMarked = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) || one.matches(".column");
  const [x, y] = [Math.max(box.left, 0) + Math.min(box.width, 40) / 2, box.top + Math.min(box.height, 20) / 2];
  const top = document.elementFromPoint(x, y);
  const isCovered = !top || !(one.contains(top) || top.contains(one) || one.closest("svg")?.contains(top));
  const isInside = box.bottom > 0 && box.top < innerHeight;
  const fault = [!isMarked && "no outline", !isInside && "outside", isInside && isCovered && "covered"].filter(Boolean).join(", ");
  return { name: `${one.localName} ${one.textContent.slice(0, 40)}`, fault };
}"""


def test_a_question_keeps_the_focus_and_gives_it_back(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, dialog="work", commit=work.names["look"])
    button = page.locator(".panel").get_by_role("button", name="edit")
    button.focus()
    page.keyboard.press("Enter")
    asked(page)
    inside = (
        "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
    )
    for key in ("Tab", "Shift+Tab"):
        for _ in range(6):
            page.keyboard.press(key)
            assert page.evaluate(inside)
    page.keyboard.press("Escape")
    becomes(lambda: focused(page), "button edit")
    page.keyboard.press("?")
    asked(page)
    page.keyboard.press("Escape")
    becomes(lambda: focused(page), "button edit")


def test_a_change_leaves_the_focus_where_it_was(own: Work, open_page: PageOpener) -> None:
    page = opened(own, open_page, dialog="work", commit=own.names["cause"])
    page.locator(".panel").get_by_role("button", name="pin").focus()
    page.keyboard.press("Enter")
    asked(page)
    page.keyboard.press("Enter")
    shows(row(page, own.names["cause"]).locator(".head"), "pinned")
    becomes(lambda: focused(page), "button pin")
    page.locator("#news").get_by_role("button", name="undo").focus()
    page.keyboard.press("Enter")
    until(lambda: "pinned" not in row(page, own.names["cause"]).locator(".head").inner_text())
    assert focused(page)


def test_news_leave_the_focus_where_it_was(own: Work, open_page: PageOpener) -> None:
    page = opened(own, open_page, dialog="work")
    until(lambda: page.locator(".strip .column").count() == 7)
    places = {
        ".prompts li:nth-child(2) a": "a And the orders?",
        ".panel summary >> nth=0": "summary Tools at this point",
        f".row[data-key='{own.names['last']}'] .hash": f"a {own.names['last'][:10]}",
        ".strip .column >> nth=1": "g request 2,",
    }
    for number, (place, name) in enumerate(places.items()):
        page.locator(place).focus()
        assert focused(page).startswith(name)
        with own.served.dialog("work") as t:
            t.user(f"More {number}?")
            t.assistant("No.")
        shows(page.locator(".prompts"), f"More {number}?")
        until(lambda number=number: page.locator(".strip .column").count() == 8 + number)  # type: ignore[misc]
        rest(page)
        assert focused(page).startswith(name)


def test_what_is_replaced_hands_the_focus_on(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, dialog="work")
    body = unfold(tool(page, "c-code"))
    more = body.get_by_role("button", name="Show more").first
    more.focus()
    page.keyboard.press("Enter")
    until(lambda: body.locator(".ln").count() > 500)
    assert focused(page).startswith("button Show more")
    page.keyboard.press("g")
    body.get_by_role("button", name="sent").focus()
    page.keyboard.press("Enter")
    until(lambda: body.locator("[aria-pressed=true]").inner_text() == "sent")
    becomes(lambda: focused(page), "button sent")
    go(page, dialog="work", tab="request")
    choice = page.locator(".tab select")
    choice.focus()
    choice.select_option("gemini")
    until(lambda: "provider=gemini" in page.url)
    settle(page)
    assert focused(page).startswith("select")


# Movement, width, paper


def test_nothing_moves_for_those_who_want_none(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, dialog="work")
    page.emulate_media(reduced_motion="reduce")
    moving = """() => Array.from(document.querySelectorAll("*"), (one) => getComputedStyle(one))
      .filter((one) => parseFloat(one.transitionDuration) || one.animationName !== "none"
        || one.scrollBehavior === "smooth").length"""
    assert page.evaluate(moving) == 0


@pytest.mark.parametrize("size", [NARROW, MIDDLE], ids=["narrow", "middle"])
def test_no_view_is_wider_than_its_window(work: Work, open_page: PageOpener, size: Any) -> None:
    page = opened(work, open_page)
    page.set_viewport_size(size)
    for name, fields in VIEWS.items():
        go(page, **fields)
        settle(page)
        unfold_all(page)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert (name, width) == (name, size["width"])


def test_everything_can_be_reached_on_a_telephone(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, dialog="work")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    assert page.locator(".prompts").is_hidden()
    page.get_by_role("button", name="Prompts").click()
    page.get_by_role("link", name="Thanks. Is it safe?").click()
    until(lambda: "target" in (row(page, work.names["ask3"]).get_attribute("class") or ""))
    assert page.locator(".prompts").is_hidden()
    here = page.get_by_role("button", name="At this point")
    here.click()
    assert here.get_attribute("aria-expanded") == "true"
    for name in ("request", "edit", "pin", "skip", "reshape", "compress", "restore", "mark"):
        button = page.locator(".panel").get_by_role("button", name=name, exact=True)
        button.scroll_into_view_if_needed()
        button.click(trial=True)
    assert found(page) == []
    page.keyboard.press("Escape")
    assert page.locator(".panel").is_hidden()
    assert focused(page) == "button At this point"
    for name in ("Request", "Compare", "Graph", "Conversation"):
        page.get_by_role("button", name=name, exact=True).click()
        settle(page)
    page.locator("input[value=both]").click()
    page.get_by_role("button", name="fold", exact=True).click()
    page.get_by_label("Find in this dialog").fill("orders")
    page.keyboard.press("Enter")
    shows(page.locator(".find"), "1 of ")


def test_paper_has_what_was_loaded_and_no_controls(work: Work, open_page: PageOpener) -> None:
    page = opened(work, open_page, dialog="work")
    unfold_all(page)
    page.emulate_media(media="print")
    assert page.locator("h1").is_visible()
    assert [one for one in page.locator(".row, .ln").all() if not one.is_visible()][:3] == []
    controls = "button:not(.fold, .rule), input, select, .prompts, .panel, .strip, .filters"
    assert page.locator(controls).filter(visible=True).count() == 0
    cut = """() => [...document.querySelectorAll("pre, .ln, .fold, .line")].filter((one) =>
      one.scrollHeight > one.clientHeight + 2 && getComputedStyle(one).overflowY !== "visible"
      || one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.className)"""
    assert page.evaluate(cut) == []
    assert len(page.pdf()) > 10_000


# Tabs


def test_a_page_that_nobody_sees_leaves_its_connection_to_others(
    own: Work, open_page: PageOpener
) -> None:
    """A browser has six of them for all of its tabs."""
    pages = []
    for _ in range(8):
        page = opened(own, open_page, dialog="work")
        show(page, is_hidden=True)
        pages.append(page)
    with own.served.dialog("work") as t:
        t.user("Is anyone there?")
    rest(pages[0])
    assert "Is anyone there?" not in pages[0].locator("main").inner_text()
    show(pages[0], is_hidden=False)
    shows(pages[0].locator("main"), "Is anyone there?")


def show(page: Page, *, is_hidden: bool) -> None:
    """As a browser does to a tab that comes to the front, or leaves it."""
    page.evaluate(
        """isHidden => {
          Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )
