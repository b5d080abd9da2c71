"""What the tests of the text interface share: somebody before a screen, who presses keys and reads
what is on it."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec

from textual import events
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot

from tests.toolkit import claude_tool
from tract import Tract
from tract.tui.app import TractApp
from tract.tui.pane import Pane
from tract.tui.panels import TokenBar
from tract.tui.reader import Reader

Given = ParamSpec("Given")

ROUNDS = 4  # from the key to its binding, to what that posts, and to what is drawn then


def in_loop(test: Callable[Given, Awaitable[None]]) -> Callable[Given, None]:
    """A test that waits, for a runner that does not."""

    @wraps(test)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> None:
        async def whole() -> None:
            await test(*args, **kwargs)

        asyncio.run(whole())

    return run


def screen_text(app: App[Any]) -> list[str]:
    """What is on the screen, line by line, without the blanks at the ends."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


class Seat:
    """A place before the screen."""

    def __init__(self, app: TractApp, pilot: Pilot[None]) -> None:
        self.app = app
        self._pilot = pilot

    @property
    def reader(self) -> Reader:
        """The dialog that is read, perhaps behind a box."""
        return next(s for s in reversed(self.app.screen_stack) if isinstance(s, Reader))

    @property
    def pane(self) -> Pane:
        return self.reader.query_one(Pane)

    @property
    def lines(self) -> list[str]:
        return screen_text(self.app)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def body(self) -> list[str]:
        """The lines of the conversation, without the edges beside them."""
        height, width = self.pane.size.height, self.pane.size.width
        return [line[1 : width - 1].rstrip() for line in self.lines[1 : 1 + height]]

    @property
    def title(self) -> str:
        return self.lines[0].strip()

    @property
    def status(self) -> str:
        return self.lines[-2].strip()

    @property
    def keys(self) -> str:
        return self.lines[-1].strip()

    @property
    def here(self) -> str:
        """The first line of the block under the cursor."""
        return next(line[1:-1].strip() for line in self.lines if line.startswith("▌"))

    @property
    def told(self) -> list[str]:
        """What was notified and can still be seen."""
        return [note.message for note in self.app._notifications]

    async def settle(self) -> None:
        """Until everything that was asked for is done and drawn."""
        for _ in range(ROUNDS):
            await self._pilot._wait_for_screen()
            self.app.screen._on_timer_update()

    async def press(self, *keys: str) -> None:
        for key in keys:
            is_sign = len(key) == 1 and not key.isalnum()
            name = _character_to_key(key) if is_sign else key
            sent = events.Key(name, key if len(key) == 1 else None)
            self.app.post_message(sent.set_sender(self.app))
            await self.settle()

    async def write(self, text: str) -> None:
        """Into a field."""
        await self.press(*text)

    async def until(self, is_so: Callable[[], bool], seconds: float = 5) -> None:
        """Wait for what comes by itself."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not is_so():
            assert loop.time() < end, self.text
            await asyncio.sleep(0.02)
            await self.settle()

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)
        await self.settle()

    async def click(self, x: int, y: int, times: int = 1) -> None:
        await self._pilot.click(offset=(x, y), times=times)
        await self.settle()

    async def forget_notes(self) -> None:
        """Take away what was notified, which would cover the screen."""
        self.app.clear_notifications()
        await self.settle()


@asynccontextmanager
async def seat(
    database: Tract, dialog: str | None = "work", size: tuple[int, int] = (80, 24), **options: Any
) -> AsyncIterator[Seat]:
    """The interface in a terminal of this size. What goes wrong in it goes wrong here."""
    app = TractApp(database, dialog=dialog, **options)
    async with app.run_test(size=size) as pilot:
        found = Seat(app, pilot)
        await found.settle()
        if dialog is not None and database.sibling(dialog).head:
            await found.until(lambda: bool(found.reader.query_one(TokenBar)._shares))
        yield found


# Histories

LONG = "\n".join(f"{number}\tline {number}" for number in range(1, 81))
TOOLS = [claude_tool("Read", file_path="string"), claude_tool("Bash", command="string")]
MORE_TOOLS = [claude_tool("Read", file_path="string", limit="integer"), claude_tool("Grep", p="x")]


def use(call: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def result(call: str, content: Any, **about: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **about}


REQUEST: dict[str, Any] = {
    "model": "some-model",
    "max_tokens": 100,
    "system": "You fix bugs.",
    "tools": TOOLS,
    "messages": [
        {"role": "user", "content": "Why does it fail?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "First\nI look.", "signature": "s"},
                {"type": "text", "text": "I look at both."},
                use("a", "Read", file_path="/srv/app/main.py"),
                use("b", "Bash", command="make\nmake test"),
            ],
        },
        {
            "role": "user",
            "content": [result("a", LONG), result("b", "no rule\nat all", is_error=True)],
        },
        {"role": "assistant", "content": [use("c", "Bash", command="ls")]},
        {"role": "user", "content": [result("c", "Makefile\nmain.py")]},
        {"role": "assistant", "content": "The Makefile has no such rule."},
        {"role": "user", "content": "Then add the rule."},
    ],
}
ANSWER: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "some-model",
    "content": [{"type": "text", "text": "I have added it."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1_000_000, "output_tokens": 100_000},
}


def recorded(path: Any = ":memory:", request: Any = None, dialog: str = "work") -> Tract:
    """A database with the dialog of a request and of what was answered."""
    tract = Tract.open(path, dialog=dialog, durability="relaxed")
    tract.record(REQUEST if request is None else request, ANSWER if request is None else None)
    return tract


def commit_of(tract: Tract, number: int) -> str:
    """The commit of the message with this number."""
    return tract.read().places[number].origin.hash.hex()


def sent_bytes(tract: Tract) -> str:
    """What the model is sent, in the words of both providers. The tool that fetches results stays
    on offer once there was something to fetch, so it does not count."""
    context = tract.compile()
    return json.dumps([context.to_anthropic(), context.to_openai(), context.message_tokens])


def masked(text: str) -> str:
    """Without what differs from run to run: the time, of which a box may cover a part."""
    text = re.sub(r"\d{4}-\d\d-\d\d", "2026-01-01", text)
    text = re.sub(r"(\d\d:\d\d:\d\d) · \d\.\d s", r"\1", text)
    return re.sub(r"\b\d\d:[\d:]*", lambda time: "00:00:00"[: len(time[0])], text)


def numbered(count: int) -> dict[str, Any]:
    """A long conversation without calls."""
    roles = ("user", "assistant")
    spoken = [{"role": roles[n % 2], "content": f"message {n}"} for n in range(count)]
    return {"messages": spoken}


def steering(text: str) -> list[str]:
    """The characters in a text that a terminal would not just draw."""
    odd = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return [c for c in set(text) if unicodedata.category(c) in odd and c not in "\n\u200c\u200d"]
