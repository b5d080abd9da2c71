"""Someone who reads the page: dialogs to look at, and what is seen, clicked and typed there."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tests.browser import Served, until
from tests.serving import serving
from tests.toolkit import claude_tool
from tract import Tract
from tract.economy.prices import PriceList, prices_of
from tract.model import Form, Shape

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

T = TypeVar("T")
PRICES = PriceList(prices_of({"m-1": {"input": 3, "output": 15, "cached": 0.3}}))
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
CODE = "\n".join(f"def step_{n}(value: int) -> int:\n    return value + {n}\n" for n in range(500))
WIDE = "".join(f"<{n:04}>" + "x" * 94 for n in range(1000))
"""A line of 100,000 characters."""
TURNS = 500
"""Of a long dialog, three messages each."""
LINES = [f"{n} " + "data " * (n % 30) for n in range(1, 2001)]
TABLE: dict[str, Any] = {
    "rows": [{"id": n, "name": f"order {n}"} for n in range(300)],
    "total": 300,
}
NEW_TOOLS = [
    claude_tool("Read", path="string", limit="integer"),
    claude_tool("Edit", path="string"),
    claude_tool("Search", text="string"),
    claude_tool("Fetch", url="string"),
]
OLD_TOOLS = [
    claude_tool("Read", path="string"),
    claude_tool("Edit", path="string"),
    claude_tool("Bash", command="string"),
    claude_tool("Fetch", url="string"),
]
Names = dict[str, str]
"""The commits of a dialog, by what they are."""


@contextmanager
def database(path: Path, **settings: Any) -> Iterator[Served]:
    """A database with a server that knows prices."""
    with serving(str(path), prices=PRICES, **settings) as server:
        yield Served(path, server)


def use(call: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def said(*blocks: Any) -> dict[str, Any]:
    """An answer of texts and calls."""
    content = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
    return {"role": "assistant", "content": content}


def usage(sent: int, cached: int = 0) -> dict[str, Any]:
    counts = {"input_tokens": sent - cached, "cache_read_input_tokens": cached}
    return {"usage": {**counts, "output_tokens": 20}, "generation_config": {"model": "m-1"}}


def write_work(t: Tract) -> Names:
    """A dialog with everything that a dialog may have."""
    thought = {
        "type": "thinking",
        "thinking": "First the log.\nThen the code.",
        "signature": "c2ln",
    }
    image = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}
    picture = [{"type": "text", "text": "a dot"}, {"type": "image", "source": image}]
    answer = "The **cause**:\n\n- one\n- two\n\n```python\ndef f(): return 1\n```\n"
    brief = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    edit = {"path": "a.py", "old_string": "a = 1\nb = 2\n", "new_string": "a = 1\nb = 3\nc = 4\n"}
    made = {
        "system": t.system([brief], tools=OLD_TOOLS),
        "ask1": t.user("Why is the *build* red?"),
        "look": t.commit(
            said(
                thought,
                "I look at three files.",
                use("c-code", "Read", path="src/steps.py"),
                use("c-wide", "Read", path="data.min.js"),
                use("c-fail", "Bash", command="make test"),
            ),
            **usage(2000),
        ),
        "code": t.tool_result("c-code", "Read", CODE),
        "wide": t.tool_result("c-wide", "Read", WIDE),
        "fail": t.tool_result("c-fail", "Bash", "exit 1: undefined: foo", is_error=True),
        "fix": t.commit(said(use("c-edit", "Edit", **edit)), **usage(9000, 1800)),
        "fixed": t.tool_result("c-edit", "Edit", "The file was changed."),
        "cause": t.assistant(answer, **usage(9500, 9000)),
        "ask2": t.user("And the orders?", tools=NEW_TOOLS),
        "query": t.commit(
            said(use("c-json", "Search", text="orders"), use("c-dot", "Read", path="dot.png"))
        ),
        "json": t.tool_result("c-json", "Search", json.dumps(TABLE)),
        "dot": t.tool_result("c-dot", "Read", picture),
        "done": t.assistant("There are 300 orders; none is lost."),
        "ask3": t.user("Thanks. Is it safe?"),
        "check": t.commit(said(use("c-safe", "Bash", command="make check"))),
        "safe": t.tool_result("c-safe", "Bash", "ok\n" * 60),
        "last": t.assistant("Yes."),
    }
    return {name: commit.commit_hash for name, commit in made.items()}


def write_long(t: Tract) -> Names:
    """Rows of many heights: short and long texts, lists, and calls."""
    names = {}
    for n in range(TURNS):
        names[f"ask{n}"] = t.user(f"question {n}" + " and so on" * (n % 50)).commit_hash
        if n % 100 == 50:
            t.commit(said("I look.", use(f"c{n}", "Read", path=f"f{n}")))
            names[f"result{n}"] = t.tool_result(f"c{n}", "Read", "\n".join(LINES)).commit_hash
        else:
            t.assistant("- **one**\n- `two`\n\n" * (n % 7) + f"Thus {n}.")
            t.user([{"type": "text", "text": "see " * (n % 90)}, {"type": "text", "text": "it"}])
    return names


def shrink(t: Tract, names: Names) -> None:
    """Every way in which what is sent differs from what is stored."""
    t.reshape({names["code"]: "reference", names["wide"]: Shape(Form.TRUNCATED, 50)})
    t.reshape({names["safe"]: "collapsed"})
    t.annotate(names["ask3"], "skip")
    t.assistant("There are 299 orders; one is lost.", edit=names["done"])
    t.compress([names["fix"], names["fixed"]], content="The file a.py was changed.")


# What is seen


def row(page: Page, key: str) -> Locator:
    """The row of a message."""
    return page.locator(f'article.row[data-key="{key}"]')


def tool(page: Page, call: str) -> Locator:
    """The box of a call."""
    return page.locator(f'.tool[data-call="{call}"]').first


def texts(rows: Locator) -> list[str]:
    """What elements say, each in one line."""
    return [" ".join(text.split()) for text in rows.all_inner_texts()]


def becomes(look: Callable[[], T], wanted: T) -> None:
    """Wait until something looks like this."""
    _wait(look, lambda seen: seen == wanted, f"not {wanted!r}")


def shows(element: Locator, text: str) -> None:
    """Wait until an element contains a text."""
    look = element.inner_text
    _wait(lambda: " ".join(look().split()), lambda seen: text in seen, f"no {text!r}")


def _wait(look: Callable[[], T], is_right: Callable[[T], bool], fault: str) -> None:
    seen: list[T] = []

    def try_it() -> bool:
        seen[:] = [look()]
        return is_right(seen[0])

    with suppress(pytest.fail.Exception):
        until(try_it)
    assert is_right(seen[0]), f"{fault}: {seen[0]!r}"


def unfold(box: Locator) -> Locator:
    """Open a call, and wait for what it contains."""
    box.locator(".fold").click()
    body = box.locator(".body")
    until(lambda: body.count() and not body.locator(".waiting").count())
    return body
