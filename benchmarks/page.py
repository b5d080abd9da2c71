"""The page in a browser: how soon it shows a long dialog, and how it moves through it.

`python3 dev.py bench page [--json] [--quick] [--runs N]`. Each number is the median of some runs.
Each part of a run has a new browser and a new server, which is one process, as `tract serve` starts
it. Needs Chromium.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urljoin

from playwright.sync_api import CDPSession, Page, Playwright, sync_playwright

from benchmarks.dialogs import LONG, fill
from benchmarks.load import Server
from benchmarks.measure import ROOT
from benchmarks.report import Numbers, Result, report
from tests.browser import NONE, find_chromium, fragment, launch, link_to, rest

AT_MOST = {
    "page_ms": 600,
    "page_slow_ms": 1_200,
    "list_ms": 500,
    "blank_frames": 0.01,
    "memory_mb": 130,
    "heap_mb": 30,
    "jump_ms": 150,
    "jump_px": 2,
    "live_shift_px": 0,
    "bytes": 100_000,
    "bytes_first": 60_000,
}
AT_LEAST = {"scroll_fps": 50, "scroll_slow_fps": 25}

SERVE = ("serve", "--port", "0", "--json", "--quiet")
RUNS = 5
SLOW = 4
"""The processor is slowed down so many times."""
WINDOW = (1280, 800)
STEP = 900
"""Pixels of a page."""
JUMPS = (0.7, 0.3, 0.5, 0.85, 0.15)
"""Where in the dialog the messages are."""
SECONDS = 120.0
LOOK_SECONDS = 0.2
"""A look takes time of the page, so there are few."""


class Scale(NamedTuple):
    messages: int
    dialogs: int
    appended: int
    """Messages that arrive while one reads."""
    seconds: float
    """In which they do."""


FULL, QUICK = Scale(5_000, 2_000, 50, 5.0), Scale(300, 60, 5, 0.5)


class Bench:
    """A database, and what opens it in a new browser."""

    def __init__(self, playwright: Playwright, folder: Path, scale: Scale) -> None:
        self.scale = scale
        self._playwright = playwright
        self._program = find_chromium() or sys.exit(NONE)
        self._made = folder / "made.db"
        self.prompts = fill(self._made, scale.messages, scale.dialogs)

    @contextmanager
    def browser(self, rate: int = 1) -> Iterator[Window]:
        """A new browser, slowed down at this rate, and a new server for a copy of the database."""
        with tempfile.TemporaryDirectory(dir=self._made.parent) as folder, ExitStack() as stack:
            database = shutil.copyfile(self._made, f"{folder}/t.db")
            server = stack.enter_context(Server("-m", "tract", "--db", database, *SERVE))
            browser = launch(self._playwright, self._program)
            try:
                width, height = WINDOW
                page = browser.new_page(viewport={"width": width, "height": height})
                session = page.context.new_cdp_session(page)
                session.send("Emulation.setCPUThrottlingRate", {"rate": rate})
                yield Window(database, server, page, session)
            finally:
                browser.close()


class Window(NamedTuple):
    """The one window of a browser."""

    database: str
    server: Server
    page: Page
    session: CDPSession
    """The page's, in the protocol of the browser's developer tools."""

    def open(self, **fields: str) -> None:
        """Open a link, and wait until all rows are there."""
        self.page.goto(link_to(self.server.url, self.server.token, **fields), wait_until="commit")
        end = time.monotonic() + SECONDS
        while (state := self.page.evaluate("document.documentElement.dataset.state")) != "ready":
            if state == "failed" or time.monotonic() > end:
                alert = self.page.evaluate("document.querySelector('[role=alert]')?.textContent")
                sys.exit(f"the page is not ready, but {state}: {alert}")
            time.sleep(LOOK_SECONDS)
        rest(self.page)

    def mark(self, name: str) -> float:
        """Milliseconds from the start of the navigation."""
        return float(self.page.evaluate(MARK, name))

    def waited(self) -> float:
        """Milliseconds of them that it waited for the server to begin with answers."""
        return float(self.page.evaluate(WAITED, self.mark("useful")))

    def scroll_a_little(self) -> None:
        """As a person does it: the page stops holding the message of its link."""
        self.page.mouse.move(WINDOW[0] / 2, WINDOW[1] / 2)
        self.page.mouse.wheel(0, 100)
        rest(self.page)

    def memory(self) -> float:
        """MB of the processes that draw pages, where shared memory counts in parts. Linux only."""
        browser = self.page.context.browser
        assert browser
        processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
        drawing = [entry["id"] for entry in processes["processInfo"] if entry["type"] == "renderer"]
        return sum(map(_memory, drawing)) / 1e6


MARK = "name => performance.getEntriesByName(name)[0].startTime"
WAITED = """useful => performance.getEntriesByType("resource")
  .filter(entry => entry.initiatorType === "fetch" && entry.responseEnd <= useful)
  .reduce((sum, entry) => sum + entry.responseStart - entry.requestStart, 0)"""


def _memory(process: int) -> int:
    sizes = Path(f"/proc/{process}/smaps_rollup").read_text()
    match = re.search(r"^Pss:\s+(\d+) kB", sizes, re.MULTILINE)
    assert match
    return int(match[1]) * 1024


# Opening


def empty(bench: Bench) -> Numbers:
    """A page with one word, which has neither scripts nor styles."""
    with bench.browser() as window:
        window.page.goto(f"{window.server.url}/healthz")
        rest(window.page, 1)
        took = window.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        return {"empty_ms": took, "empty_mb": _settled_memory(window)}


def dialog(bench: Bench) -> Numbers:
    """The long dialog: opened, jumped through, then paged through."""
    with bench.browser() as window:
        window.open(dialog=LONG)
        rows = window.page.evaluate("document.querySelectorAll('article.row').length")
        assert rows, "no rows are there"
        numbers = {"page_ms": window.mark("useful"), "page_ready_ms": window.mark("ready")}
        numbers |= {"page_server_ms": window.waited(), "rows": rows}
        numbers |= _sizes(window) | _jumps(window, bench.prompts)
        window.scroll_a_little()
        fps, blank, frames = _paged(window)
        numbers |= {"scroll_fps": fps, "blank_frames": blank, "frames": frames}
        numbers["page_mb"] = _settled_memory(window)
        heap = window.session.send("Runtime.getHeapUsage")
        numbers["heap_mb"] = heap["usedSize"] / 1e6
        numbers["elements"] = window.page.evaluate("document.getElementsByTagName('*').length")
    return numbers


def slow_dialog(bench: Bench) -> Numbers:
    with bench.browser(SLOW) as window:
        window.open(dialog=LONG)
        window.scroll_a_little()
        fps, blank, _ = _paged(window)
        numbers = {"page_slow_ms": window.mark("useful"), "scroll_slow_fps": fps}
        return numbers | {"page_slow_ready_ms": window.mark("ready"), "blank_slow_frames": blank}


def dialogs(bench: Bench) -> Numbers:
    with bench.browser() as window:
        window.open()
        assert window.page.evaluate("document.querySelectorAll('.dialog-row').length")
        numbers = {"list_ms": window.mark("useful"), "list_ready_ms": window.mark("ready")}
        return numbers | {"list_server_ms": window.waited()}


def _settled_memory(window: Window) -> float:
    window.session.send("HeapProfiler.collectGarbage")
    time.sleep(1)
    return window.memory()


# Bytes

FILES = """() => performance.getEntriesByType("resource")
  .filter(entry => /\\.(js|css)$/.test(new URL(entry.name).pathname))
  .map(entry => [entry.name, entry.encodedBodySize, entry.responseEnd])"""
IMPORT = re.compile(r"""(?:from|import|URL|Worker)\s*\(?\s*["']([\w./-]+\.(?:js|css))["']""")


def _sizes(window: Window) -> Numbers:
    """Bytes of scripts and styles, compressed as they were sent. All of them: also those that are
    imported only when they are needed."""
    entries = window.page.evaluate(FILES)
    useful = window.mark("useful")
    first = sum(size for _, size, end in entries if end <= useful)
    sizes: dict[str, int] = {}
    loaded = {url: size for url, size, _ in entries}
    left = list(loaded)
    while left:
        url = left.pop()
        if url not in sizes:
            size, text = _fetched(url)
            sizes[url] = loaded.get(url, size)
            left += [urljoin(url, name) for name in IMPORT.findall(text)]
    return {"bytes": sum(sizes.values()), "bytes_first": first, "files": len(sizes)}


def _fetched(url: str) -> tuple[int, str]:
    """The bytes that a file has on its way, and its text."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    try:
        with urllib.request.urlopen(request) as answer:
            body: bytes = answer.read()
            is_packed = answer.headers["Content-Encoding"] == "gzip"
    except urllib.error.HTTPError as error:
        sys.exit(f"{url}: {error}")
    return len(body), (gzip.decompress(body) if is_packed else body).decode()


# Moving

PAGE = """async step => {
  const frame = () => new Promise(requestAnimationFrame);
  const isRow = y => document.elementFromPoint(innerWidth / 2, y)?.closest("article.row");
  // A line between two rows is not a blank window.
  const isBlank = () => ![0, -40, 40].some(offset => isRow(innerHeight / 2 + offset));
  scrollTo({ top: 0, behavior: "instant" });
  for (let n = 0; n < 30; n++) await frame();
  const times = [];
  let blank = 0, last = await frame();
  for (let top = -1; scrollY > top && times.length < 5000;) {
    top = scrollY;
    scrollBy({ top: step, behavior: "instant" });
    const now = await frame();
    times.push(now - last);
    last = now;
    if (isBlank()) blank++;
  }
  return [times, blank];
}"""


def _paged(window: Window) -> tuple[float, float, int]:
    """1000 ÷ the time that 95 % of the frames keep, the share of blank frames, and all frames, from
    the first message to the last."""
    times, blank = window.page.evaluate(PAGE, STEP)
    return 1e3 / sorted(times)[int(len(times) * 0.95)], blank / len(times), len(times)


JUMP = """async ([fields, commit]) => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  const start = performance.now();
  location.hash = fields;
  while (performance.now() - start < 20_000) {
    await frame();
    const row = document.querySelector(`article.row[data-commit="${commit}"]`);
    const place = row?.getBoundingClientRect();
    if (place && place.bottom > 0 && place.top < innerHeight
        && row.checkVisibility({ contentVisibilityAuto: true })) {
      await frame(); // it is painted
      return performance.now() - start;
    }
  }
  return null;
}"""
DISTANCE = """commit => {
  const row = document.querySelector(`article.row[data-commit="${commit}"]`);
  const pixels = text => parseFloat(text) || 0;
  const padding = pixels(getComputedStyle(document.documentElement).scrollPaddingTop);
  const margin = pixels(getComputedStyle(row).scrollMarginTop);
  return Math.abs(row.getBoundingClientRect().top - padding - margin);
}"""


def _jumps(window: Window, prompts: list[str]) -> Numbers:
    """To messages that were not in view before. The distance is the largest, after all settled."""
    times, distances = list[float](), list[float]()
    for share in JUMPS:
        commit = prompts[int(len(prompts) * share)]
        fields = fragment(dialog=LONG, commit=commit)
        took = window.page.evaluate(JUMP, [fields, commit])
        assert took is not None, f"the page does not jump to {commit}"
        rest(window.page, 0.5)
        times.append(took)
        distances.append(window.page.evaluate(DISTANCE, commit))
    return {"jump_ms": median(times), "jump_worst_ms": max(times), "jump_px": max(distances)}


# Live

WATCH = """() => {
  const rowAt = y => document.elementFromPoint(innerWidth / 2, y)?.closest("article.row");
  let y = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  while (y < innerHeight && !rowAt(y)) y++;
  const commit = rowAt(y).dataset.commit;
  const top = () => document.querySelector(`article.row[data-commit="${commit}"]`)
    ?.getBoundingClientRect().top ?? 1e6;
  // Browsers compute places with 24 bits: this far down, they are known to 1/16 pixel.
  const exact = value => Math.floor(value * 8) / 8;
  const first = top(), rows = document.getElementsByClassName("row"), count = rows.length;
  const seen = { shift: 0, frames: 0, rows: 0 };
  globalThis.seen = seen;
  const look = () => {
    seen.shift = Math.max(seen.shift, exact(Math.abs(top() - first)));
    seen.frames++;
    seen.rows = rows.length - count;
    requestAnimationFrame(look);
  };
  look();
}"""
APPEND = """
import sys, time
from itertools import chain, count, islice
from tract import Tract
from benchmarks.dialogs import LONG, write_turn
database, messages, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with Tract.open(database, dialog=LONG) as t:
    turns = chain.from_iterable(write_turn(t, number) for number in count(1_000_000))
    for _ in islice(turns, messages):
        time.sleep(seconds / messages)
"""
LATE = 2.0
"""The server looks for new messages every half second."""


def live(bench: Bench) -> Numbers:
    """How far the first row in view moves, while another process appends messages."""
    with bench.browser() as window:
        window.open(dialog=LONG)
        middle = "scrollTo({ top: document.documentElement.scrollHeight / 2, behavior: 'instant' })"
        window.page.evaluate(f"() => {middle}")
        window.scroll_a_little()
        window.page.evaluate(WATCH)
        values = (window.database, str(bench.scale.appended), str(bench.scale.seconds))
        subprocess.run([sys.executable, "-c", APPEND, *values], cwd=ROOT, check=True)
        time.sleep(LATE)
        seen = window.page.evaluate("globalThis.seen")
    assert seen["rows"], "no message has arrived"
    names = {"live_shift_px": "shift", "live_rows": "rows", "live_frames": "frames"}
    return {key: seen[name] for key, name in names.items()}


# Report

PARTS: tuple[Callable[[Bench], Numbers], ...] = (empty, dialog, slow_dialog, dialogs, live)
BEHIND = {
    "page_ms": ("page_server_ms", "page_ready_ms", "page_ms_best", "page_ms_worst", "empty_ms"),
    "page_slow_ms": ("page_slow_ready_ms",),
    "list_ms": ("list_server_ms", "list_ready_ms"),
    "scroll_fps": ("frames",),
    "blank_frames": ("blank_slow_frames",),
    "memory_mb": ("page_mb", "empty_mb"),
    "heap_mb": ("elements", "rows"),
    "jump_ms": ("jump_worst_ms",),
    "live_shift_px": ("live_rows", "live_frames"),
    "bytes": ("files",),
}
KEYS = (
    *("page_ms", "page_slow_ms", "list_ms", "scroll_fps", "scroll_slow_fps", "blank_frames"),
    *("memory_mb", "heap_mb", "jump_ms", "jump_px", "live_shift_px", "bytes", "bytes_first"),
)


def run(runs: int, quick: bool) -> Iterator[Result]:
    scale = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder, sync_playwright() as driver:
        bench = Bench(driver, Path(folder), scale)
        rounds = [_round(bench) for _ in range(1 if quick else runs)]
    numbers = {key: median(row[key] for row in rounds) for key in rounds[0]}
    times = [row["page_ms"] for row in rounds]
    numbers |= {"page_ms_best": min(times), "page_ms_worst": max(times)}
    for key in KEYS:
        behind = {name: numbers[name] for name in BEHIND.get(key, ())}
        yield Result(key, numbers[key], behind)


def _round(bench: Bench) -> Numbers:
    numbers = {key: value for part in PARTS for key, value in part(bench).items()}
    return numbers | {"memory_mb": numbers["page_mb"] - numbers["empty_mb"]}


def main() -> None:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--runs", type=int, default=RUNS, help=f"how many runs; default {RUNS}")
    runs = options.parse_known_args()[0].runs
    report("page", __doc__, AT_MOST, partial(run, runs), AT_LEAST, options)


if __name__ == "__main__":
    main()
