"""The browser notices what goes wrong on a page, and leaves nothing behind for other tests."""

from __future__ import annotations

import asyncio

import pytest

from tests.browser import Chromium, PageOpener, Served, accessibility_faults, until

FAULTS = {
    "dialog: alert 1": "alert(1)",
    "error: a": "console.error('a')",
    "warning: b": "console.warn('b')",
    "exception: c": "throw new Error('c')",
    "error: policy: style-src": "document.body.setAttribute('style', 'color: red')",
    "error: policy: connect-src": "fetch('http://example.org/')",
    "request: http://example.org": "location = 'http://example.org/'",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(open_page: PageOpener, served: Served, fault: str) -> None:
    page = open_page.open(served.server)
    open_page.forgive("")
    page.evaluate(f"() => {{ setTimeout(() => {{ {FAULTS[fault]} }}) }}")

    def is_noticed() -> bool:
        open_page.hear_all()
        return any(text.startswith(fault) for text in open_page.all_faults)

    until(is_noticed)
    assert open_page.faults == []


def test_what_axe_finds_is_listed(open_page: PageOpener, served: Served) -> None:
    page = open_page(served.server)
    page.evaluate("document.getElementById('skip').textContent = ''")
    assert any(line.startswith("button-name: ['#skip']") for line in accessibility_faults(page))


def test_no_event_loop_runs_while_the_browser_waits(chromium: Chromium) -> None:
    asyncio.run(asyncio.sleep(0))
