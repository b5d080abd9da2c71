"""Takes the pictures of the page in docs/pictures: the dialogs of `screenshots.py` in a browser.

Run it with `.venv/bin/python examples/pictures.py`. It needs Chromium.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from tract import Tract
from tract.urls import page_link

STORY = runpy.run_path(str(Path(__file__).with_name("screenshots.py")))
DIALOG: str = STORY["DIALOG"]
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
THEMES = ("light", "dark")


class Scene(NamedTuple):
    """A view of the page, and what is done before its picture is taken."""

    fields: dict[str, str]
    act: Callable[[Page], None] = lambda _: None
    width: int = 1280
    height: int = 800


def open_edit(page: Page) -> None:
    page.locator(".tool:has(.added) .fold").nth(1).click()
    time.sleep(0.5)
    page.evaluate("scrollTo(0, 0)")


def open_reshaped(page: Page) -> None:
    page.locator(".reshaped .fold").first.click()
    page.locator(".reshaped").first.scroll_into_view_if_needed()


def open_units(page: Page) -> None:
    page.locator(".units summary").nth(7).click()


SCENES = {
    "list": Scene({}, height=420),
    "dialog": Scene({"dialog": DIALOG}, open_edit, height=1020),
    "both": Scene({"dialog": DIALOG, "view": "both"}, open_reshaped),
    "request": Scene({"dialog": DIALOG, "tab": "request"}, open_units),
    "compare": Scene({"dialog": DIALOG, "tab": "compare", "old": "names", "new": "main"}),
    "graph": Scene({"dialog": DIALOG, "tab": "graph"}, height=620),
    "phone": Scene({"dialog": DIALOG}, width=390),
}


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        database = Path(folder, "agents.db")
        with Tract.open(database, dialog=DIALOG) as t:
            STORY["write_dialogs"](t)
            branch_off(t)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with served(database) as place:
            for name, scene in SCENES.items():
                for theme in THEMES if name != "phone" else THEMES[:1]:
                    path = FOLDER / f"{name}-{theme}.png"
                    take(browser, place, scene, theme, path)
                    print(f"docs/pictures/{path.name}")
        browser.close()
    return 0


def branch_off(t: Tract) -> None:
    """Another try from the middle of the dialog."""
    commits = [commit.commit_hash for commit in t.log()][::-1]
    t.branch("names", at=commits[len(commits) // 2])
    t.checkout("names")
    t.user("Rather keep the names of forgotten customers in a table of their own.")
    t.assistant("Then the export needs no change; I will add the table.")
    t.checkout("main")


@contextmanager
def served(database: Path) -> Iterator[dict[str, str]]:
    command = [sys.executable, "-m", "tract", "--db", str(database), "serve"]
    options = ["--port", "0", "--json", "--quiet"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())
        server.terminate()


def take(browser: Browser, place: dict[str, str], scene: Scene, theme: str, path: Path) -> None:
    size = {"width": scene.width, "height": scene.height}
    context = browser.new_context(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(page_link(place["url"], token=place["token"], **scene.fields))
    while page.evaluate("document.documentElement.dataset.state") != "ready":
        time.sleep(0.05)
    time.sleep(2)  # the chart and the panel come after the rows
    scene.act(page)
    time.sleep(1)
    page.screenshot(path=path)
    context.close()


if __name__ == "__main__":
    sys.exit(main())
