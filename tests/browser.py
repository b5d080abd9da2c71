"""Chromium for tests of the page, and for its benchmark.

    def test_a_prompt_is_shown(open_page: PageOpener, served: Served) -> None:
        with served.dialog("a") as t:
            t.user("Why is the build red?")
        page = open_page(served.server, dialog="a")
        assert "build" in page.locator("article.row").inner_text()

The page's policy is in force. So use `page.evaluate` and locators, and `until` to wait:
`page.wait_for_function` compiles text in the page, which the policy forbids.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import pytest

from tract import Tract
from tract.web.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Playwright, Request

# The first has no windows, so that a page costs it a quarter of the processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
NONE = "no Chromium here; on Debian: apt install chromium-headless-shell"
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing leaves this machine
)
SECONDS = 30.0
SETTLED = ("useful", "ready")
# As a console message it survives the end of its page, and no script of the page can reach it.
REPORT = """addEventListener("securitypolicyviolation", event => console.error(
  `policy: ${event.effectiveDirective} blocked ${event.blockedURI} ${event.sample}`), true);"""

T = TypeVar("T")


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch(playwright: Playwright, program: str) -> Browser:
    """A new browser without a window, with an empty profile."""
    return playwright.chromium.launch(executable_path=program, args=list(FLAGS))


def link_to(url: str, token: str | None, **fields: str) -> str:
    """The address of a view; `fields` are those of the fragment."""
    secret = {} if token is None else {"token": token}
    return f"{url}/#{fragment(**secret, **fields)}"


def fragment(**fields: str) -> str:
    return urlencode(fields, quote_via=quote, safe="", errors="surrogatepass")


class Chromium:
    """One browser for all tests of a process. A test gets a profile of its own."""

    def __enter__(self) -> Self:
        program = find_chromium()
        if program is None:
            pytest.skip(NONE)
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        # It stays the running loop of this thread between calls. Other tests run their own.
        self._loop = asyncio.get_running_loop()
        with self._running():
            self._browser = launch(self._playwright, program)
        return self

    def __exit__(self, *error: object) -> None:
        with self._running():
            self._browser.close()
            self._playwright.stop()

    @contextmanager
    def _running(self) -> Iterator[None]:
        asyncio._set_running_loop(self._loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    @contextmanager
    def opener(self) -> Iterator[PageOpener]:
        """A profile until the block ends. Fails then if anything went wrong on a page."""
        with self._running():
            context = self._browser.new_context(viewport={"width": 1280, "height": 800})
            context.set_default_timeout(SECONDS * 1e3)
            opener = PageOpener(context)
            try:
                yield opener
                opener.hear_all()
            finally:
                context.close()
        assert not opener.faults, "\n".join(opener.faults)


class PageOpener:
    """Opens pages in one profile, and collects what goes wrong on them."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.all_faults: list[str] = []
        self._forgiven: list[str] = []
        self._hosts: set[str] = set()
        context.add_init_script(REPORT)
        context.on("console", lambda message: self._hear(message.type, message.text))
        context.on("weberror", lambda error: self.all_faults.append(f"exception: {error.error}"))
        context.on("dialog", self._dismiss)
        context.on("request", self._check_host)
        context.on("page", lambda page: page.on("crash", self._crashed))

    def __call__(self, server: Server, **fields: str) -> Page:
        """Open the link with these fields in a new page, and wait until it shows something."""
        page = self.open(server, **fields)
        wait_for_state(page)
        return page

    def open(self, server: Server, **fields: str) -> Page:
        """The same, without waiting. `token` replaces the one of the server."""
        self._hosts.add(urlsplit(server.url).netloc)
        link = link_to(server.url, fields.pop("token", server.token), **fields)
        page = self.context.new_page()
        page.goto(link)
        return page

    def forgive(self, pattern: str) -> None:
        """Faults that contain this regular expression are part of the test, such as the 401 that
        Chromium reports for a wrong token."""
        self._forgiven.append(pattern)

    @property
    def faults(self) -> list[str]:
        """Errors and warnings on the console, exceptions, violations of the policy, dialogs such as
        `alert`, crashes, and requests to another host."""
        return [
            fault
            for fault in self.all_faults
            if not any(re.search(pattern, fault) for pattern in self._forgiven)
        ]

    def hear_all(self) -> None:
        """Wait for what was reported until now: it comes before the answer."""
        from playwright.sync_api import Error

        for page in self.context.pages:
            with suppress(Error):  # it is on its way to another page, or has crashed
                page.evaluate("0")

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning", "assert"):
            self.all_faults.append(f"{kind}: {text}")

    def _dismiss(self, dialog: Dialog) -> None:
        self.all_faults.append(f"dialog: {dialog.type} {dialog.message}")
        dialog.dismiss()

    def _check_host(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("about", "blob", "data") and parts.netloc not in self._hosts:
            self.all_faults.append(f"request: {request.url[:200]}")

    def _crashed(self, page: Page) -> None:
        self.all_faults.append(f"crash: {page.url}")


class Served(NamedTuple):
    """A database, and a server for it."""

    database: Path
    server: Server

    def dialog(self, name: str = "a", **options: Any) -> Tract:
        """A dialog of the database, opened beside the server as another program does."""
        return Tract.open(self.database, dialog=name, **options)


# Waiting


def until(condition: Callable[[], T], seconds: float = SECONDS) -> T:
    """Call it until it returns something true, and return that."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            pytest.fail(f"still {value!r} after {seconds:g} s")
        time.sleep(0.02)
    return value


def state_of(page: Page) -> str | None:
    """None between two documents, too."""
    from playwright.sync_api import Error

    try:
        state: str | None = page.evaluate("document.documentElement.dataset.state")
    except Error as error:
        if "context was destroyed" not in error.message:
            raise
        return None
    return state


def wait_for_state(page: Page, *states: str) -> str:
    """Wait until the page is in one of these states, by default until it shows something. A page
    that has failed fails the test with its message, unless that state is waited for."""
    wanted = states or SETTLED

    def reached() -> str | None:
        state = state_of(page)
        if state == "failed" and state not in wanted:
            alert = page.evaluate("document.querySelector('[role=alert]')?.textContent")
            pytest.fail(f"the page has failed: {alert}")
        return state if state in wanted else None

    return until(reached) or ""


def go(page: Page, **fields: str) -> None:
    """Change the fragment inside the page, as a click on a link does."""
    page.evaluate("fields => { location.hash = fields; }", fragment(**fields))


REST = """async milliseconds => {
  const look = () => [scrollX, scrollY, document.documentElement.scrollHeight,
    document.getElementsByTagName("*").length].join();
  let seen = look(), since = performance.now();
  for (const end = since + 10_000; performance.now() < end;) {
    const now = await new Promise(requestAnimationFrame);
    if (look() !== seen) { seen = look(); since = now; }
    else if (now - since >= milliseconds) return true;
  }
  return false;
}"""


def rest(page: Page, seconds: float = 0.2) -> None:
    """Wait until nothing moves, grows or appears for so long."""
    assert page.evaluate(REST, seconds * 1e3), "the page does not come to rest"


# Accessibility


@cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


def accessibility_faults(page: Page, within: str | None = None, **options: Any) -> list[str]:
    """What axe finds, one line for each element: rule, selector, reason. `within` is a selector;
    `options` are those of `axe.run`."""
    page.evaluate(_axe())
    run = "([within, options]) => axe.run(within ?? document, options)"
    result = page.evaluate(run, [within, {"resultTypes": ["violations"], **options}])
    return [
        " ".join(f"{rule['id']}: {node['target']}: {node['failureSummary']}".split())
        for rule in result["violations"]
        for node in rule["nodes"]
    ]
