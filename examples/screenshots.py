"""Draws the pictures in docs/screenshots: the text interface with an invented dialog.

Run it with `.venv/bin/python examples/screenshots.py`. The same pictures come out each time.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tract import Form, ToolCall, Tract
from tract.tui.app import TractApp

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
DIALOG = "nightly-export"


class Picture(NamedTuple):
    """A screen: its size, which dialog is open, and what is pressed before it is taken."""

    height: int
    dialog: str | None = DIALOG
    keys: str = ""
    width: int = 104
    is_light: bool = False


PICTURES = {
    "dialogs": Picture(14, dialog=None),
    "conversation": Picture(36, keys="g"),
    "opened": Picture(36, keys="g d x enter"),
    "edit": Picture(36, keys="g x x tab enter j j enter"),
    "sent": Picture(60, keys="g S" + 6 * " j" + " enter" + 6 * " ctrl+e"),
}
for width, height in ((80, 24), (160, 50)):
    for theme in ("dark", "light"):
        size = Picture(height, width=width, is_light=theme == "light")
        PICTURES[f"dialogs-{width}-{theme}"] = size._replace(dialog=None, height=height // 2 + 2)
        PICTURES[f"conversation-{width}-{theme}"] = size._replace(keys="g x enter")


# The dialog: an export fails, and an agent fixes it.


def tool(name: str, description: str, *texts: str, **others: str) -> dict[str, Any]:
    types = dict.fromkeys(texts, "string") | others
    properties = {key: {"type": kind} for key, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(texts)}
    return {"name": name, "description": description, "input_schema": schema}


BASH = tool("bash", "Run a command and return its output.", "command")
READ = tool("read_file", "Read a file of the project.", "path")
EDIT = tool("edit_file", "Replace a text in a file.", "path", "old", "new")
SEARCH = "Find the lines that match a regular expression."
TOOLS = [BASH, READ, tool("grep", SEARCH, "pattern", "path"), EDIT]
MORE_TOOLS = [
    BASH,
    READ,
    tool("grep", SEARCH, "pattern", "path", limit="integer"),
    EDIT,
    tool("run_tests", "Run the tests of a folder.", "path"),
]

TRACE = """\
Traceback (most recent call last):
  File "/srv/shop/export/writer.py", line 14, in row
    return [order.number, order.customer.name, order.total]
AttributeError: 'NoneType' object has no attribute 'name'
"""
LINE = "02:{:02}:{:02} export[811]: wrote order {} of 1204\n"
JOURNAL = "".join(LINE.format(n // 60, n % 60, n) for n in range(1, 341)) + TRACE
LOG = """\
8f2c1d0 orders: customers may ask to be forgotten
41aa9b7 export: total in cents
"""
WRITER = '''\
"""Orders as rows of a spreadsheet."""

import csv

from shop.orders import Order

HEAD = ["number", "customer", "total"]


def row(order: Order) -> list[object]:
    """One order, as accounting wants it."""
    # An order always has a customer.
    return [order.number, order.customer.name, order.total]


def write(path: str, orders: list[Order]) -> None:
    with open(path, "w", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(HEAD)
        sheet.writerows(map(row, orders))
'''
OLD = "order.customer.name"
NEW = 'order.customer.name if order.customer else "(forgotten)"'
FAILED = f"""\
FAILED test_writer.py::test_forgotten
{TRACE}=== 1 failed, 11 passed in 0.84s ===
"""
HITS = """\
src/shop/export/writer.py:14:    return [order.number, order.customer.name, order.total]
src/shop/invoices/letter.py:52:    return greeting(order.customer.name)
"""


def play(t: Tract) -> None:
    t.system("You are a careful engineer. Look before you change anything.", metadata=moment(t))
    prompt = "The nightly export has failed since Tuesday. Find out why and fix it."
    t.user(prompt, tools=TOOLS, metadata=moment(t))
    look(t)
    t.reshape({find(t, "call_1"): Form.REFERENCE})
    t.set_tools(MORE_TOOLS)
    fix(t)
    t.reshape({find(t, "call_3"): Form.SUMMARY})
    t.user("Does anything else depend on a customer?", metadata=moment(t))
    check(t)


def look(t: Tract) -> None:
    answer(
        t,
        "I'll look at the last run and at the changes before it.",
        ("bash", {"command": "journalctl -u export --since tuesday"}, JOURNAL),
        ("bash", {"command": "git log --oneline --since=monday"}, LOG),
    )
    answer(
        t,
        "Row 341 has no customer, which 8f2c1d0 allows. Let me see what writes the rows.",
        ("read_file", {"path": "src/shop/export/writer.py"}, WRITER),
    )


def fix(t: Tract) -> None:
    path = {"path": "src/shop/export/writer.py"}
    tests = {"path": "tests/export"}
    answer(t, "First, a failing test.", ("run_tests", tests, FAILED))
    wrong = "Error: no such text in the file"
    answer(t, "", ("edit_file", path | {"old": "order.customer_name", "new": NEW}, wrong))
    answer(t, "", ("edit_file", path | {"old": OLD, "new": NEW}, "1 text replaced"))
    answer(t, "", ("run_tests", tests, "=== 12 passed in 0.81s ==="))
    answer(t, "Fixed: an order without a customer is written as `(forgotten)`.")


def check(t: Tract) -> None:
    hits = ("grep", {"pattern": r"customer\.(name|email)", "path": "src"}, HITS)
    answer(t, "I'll search for the same expression.", hits)
    answer(t, "Yes, the letters: `invoices/letter.py:52`. Shall I fix that too?")


def answer(t: Tract, text: str, *calls: tuple[str, dict[str, str], str]) -> None:
    """Write an answer, and the results of its calls."""
    first = sum(info.role == "tool" for info in t.log()) + 1
    made = [ToolCall(f"call_{n}", name, args) for n, (name, args, _) in enumerate(calls, first)]
    usage = {"input_tokens": 2100 * first, "output_tokens": 140, "cost": 0.012 * first}
    t.assistant(text, tool_calls=made or None, usage=usage, metadata=moment(t))
    for call, (_, _, result) in zip(made, calls, strict=True):
        is_error = result.startswith(("Error", "FAILED"))
        t.tool_result(call.id, call.name, result, is_error=is_error, metadata=moment(t))


def moment(t: Tract) -> dict[str, Any]:
    """The time of the next message: the later, the longer it takes."""
    count = sum(1 for _ in t.log())
    time = datetime(2026, 3, 12, 16, 8, tzinfo=UTC) + timedelta(seconds=2.3 * count + count**2 / 3)
    return {"time": time.isoformat()}


def find(t: Tract, call_id: str) -> str:
    return next(info.commit_hash for info in t.log() if info.tool_call_id == call_id)


# The dialogs beside it, as if imported: how long each is, how often it failed, what it has cost.

OTHERS = (
    ("Move the reports to PostgreSQL 18", "reports", "claude-opus-4-6", 260, 9, 6.12),
    ("The login test fails every third time", "shop", "gpt-5.5", 74, 5, 1.87),
    ("Why are invoices one cent off?", "invoices", "claude-sonnet-4-5", 31, 0, 0.44),
    ("/review 1482", "shop", "claude-opus-4-6", 18, 1, 0.29),
    ("Translate the letters into Danish", "letters", "gemini-3-pro", 47, 0, 0.93),
    ("Orders by region, as a chart", "reports", "gpt-5.5", 122, 3, 2.70),
)
AGES = ("12m", " 2h", " 5h", "23h", " 2d", " 3d", " 9d")


def fill(t: Tract, facts: dict[str, str], turns: int, errors: int, dollars: float) -> None:
    with t.batch():
        t.user(facts["title"])
        t.store.dialogs.set_settings(t.dialog, "facts", facts)
        for n in range(turns):
            usage = {"input_tokens": 900 * n, "output_tokens": 120, "cost": dollars / turns}
            t.assistant("", tool_calls=[ToolCall(f"c{n}", "bash", {})], usage=usage)
            text = f"line {n} of what a command printed\n" * (n % 50)
            t.tool_result(f"c{n}", "bash", text, is_error=n < errors)


def write_dialogs(t: Tract) -> None:
    """All dialogs of the pictures; `t` is the one that is opened."""
    for number, other in enumerate(reversed(OTHERS)):
        title, folder, model, turns, errors, dollars = other
        facts = {"title": title, "folder": f"/srv/{folder}", "model": model}
        name = f"0a7c31e{number}-5d1e-4b02-9c3f-1f0e6a2b7c55"
        fill(t.sibling(name), facts, turns, errors, dollars)
    play(t)


# The pictures


def drawn() -> Iterator[tuple[str, str]]:
    """The pictures by their names, as SVG."""
    with Tract.open(":memory:", dialog=DIALOG) as t:
        write_dialogs(t)
        for name, picture in PICTURES.items():
            yield name, asyncio.run(taken(t, picture))


async def taken(t: Tract, picture: Picture) -> str:
    app = TractApp(t, title="agents.db", dialog=picture.dialog)
    async with app.run_test(size=(picture.width, picture.height)) as pilot:
        app.theme = "textual-light" if picture.is_light else "textual-dark"
        await pilot.pause(0.5)  # the costs come one by one
        await pilot.press(*picture.keys.split())
        await pilot.pause()
        return settled(app.export_screenshot())


def settled(picture: str) -> str:
    """The same picture, whenever and wherever it is taken: with set times, and no fonts fetched."""
    ages = (age.replace(" ", "&#160;") for age in AGES)
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    picture = re.sub(r"terminal-\d+", "terminal", picture)
    picture = picture.replace('clip-path="url(#terminal-clip-terminal)"', "")  # cuts the last line
    time = r"\d{4}-\d\d-\d\d&#160;\d\d:\d\d–\d\d:\d\d"
    picture = re.sub(time, "2026-03-12&#160;16:08–16:41", picture)
    return re.sub(r"(?<=&#160;)now\b", lambda _: next(ages), picture)


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, picture in drawn():
        (FOLDER / f"{name}.svg").write_text(picture, "utf-8")
        print(f"docs/screenshots/{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
