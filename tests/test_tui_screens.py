"""Whole screens: the recorded ones, and that nothing in a history can reach the terminal.
TRACT_UPDATE_GOLDEN=1 writes the recorded screens anew."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from tests.tui import (
    MORE_TOOLS,
    REQUEST,
    Seat,
    commit_of,
    in_loop,
    masked,
    recorded,
    result,
    seat,
    steering,
    use,
)
from tract import Tract
from tract.economy.prices import PriceList, prices_of

GOLDEN = Path(__file__).parent / "golden" / "tui"
SIZES = [(80, 24), (120, 40)]


def check(here: Seat, name: str, size: tuple[int, int]) -> None:
    """The screen is the recorded one."""
    path = GOLDEN / f"{name}_{size[0]}x{size[1]}.txt"
    text = masked(here.text) + "\n"
    if os.environ.get("TRACT_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8"), name


@pytest.mark.parametrize("size", SIZES)
@in_loop
async def test_the_screens_are_the_recorded_ones(size: tuple[int, int]) -> None:
    with recorded() as tract:
        tract.reshape({commit_of(tract, 3): "reference"})
        tract.annotate(commit_of(tract, 1), "pinned")
        tract.set_tools(MORE_TOOLS)
        tract.user("Is it done?")
        prices = {"some": {"input": 3, "output": 15}}
        async with seat(
            tract, size=size, title="some.db", prices=PriceList(prices_of(prices))
        ) as here:
            check(here, "summary", size)
            await here.press("g")
            check(here, "summary_top", size)
            await here.press("t")
            check(here, "hidden", size)
            await here.press("t", "x")
            check(here, "full", size)
            await here.press("S")
            check(here, "sent", size)
            await here.press("d", "G")
            check(here, "panel", size)
            await here.press("d", "?")
            check(here, "help", size)
            await here.press("escape", "e")
            check(here, "edit", size)
            await here.press("escape", "q")
            await here.until(lambda: "$" in here.text)
            check(here, "list", size)


# Payloads

TEMPLATES = (
    *("\x1b]52;c;UE9XTkVE{}\x07", "\x1b]0;title{}\x07", "\x1b[2J\x1b[{};1H", "\x1bP{}\x1b\\"),
    *("\x9b31m{}", "\x9d52;c;eA=={}\x9c", "\x90{}\x9c", "a\rb{}", "\x08\x08{}", "\x7f{}", "\x00{}"),
    *("\u202e{}\u202c", "\u2066{}\u2069", "\u200f{}", "\u200b{}", "\ufeff{}", "\u2028{}", "\x85{}"),
    *("\U000e0041{}", "[/b]{}", "[red]{}", "[@click=app.quit]{}[/]", "\\[{}", "[/]{}[/]", "[{}"),
    *("\x0b{}\x0c", "\x1c{}\x1d", "\x1b[?1049l{}", "\x1b]8;;http://x\x07{}", "\t{}\t", "$({})"),
    *("\x1bc{}", "\x0e{}\x0f", "\ue000{}", "\x1b[6n{}", "\x1b[>c{}", "\x05{}", "\x1a{}", "{}\x1b"),
)


def payloads(number: int) -> list[str]:
    return list(
        islice((TEMPLATES[n % len(TEMPLATES)].format(f"payload{n}") for n in count()), number)
    )


def hostile(number: int, at_once: int = 20) -> dict[str, Any]:
    """A request that has each of so many payloads in every field."""
    given = payloads(number)
    spoken: list[dict[str, Any]] = []
    for start in range(0, number, at_once):
        some = given[start : start + at_once]
        texts = [{"type": "text", "text": text} for text in some[:4]]
        thoughts = [{"type": "thinking", "thinking": t, "signature": t} for t in some[4:6]]
        calls = [
            use(text, text, **{text: text, "path": text, "x": {text: [text]}}) for text in some
        ]
        odd = [{"type": some[0], some[1]: some[2]}]
        results = [result(text, text, is_error=n % 3 == 0) for n, text in enumerate(some)]
        spoken.append({"role": "user", "content": texts})
        spoken.append({"role": "assistant", "content": [*thoughts, *texts, *odd, *calls]})
        spoken.append({"role": "user", "content": results})
    tools = [
        {"name": text, "description": text, "input_schema": _schema(text)} for text in given[:60]
    ]
    return {"model": given[0], "system": "\n".join(given[:20]), "tools": tools, "messages": spoken}


def _schema(text: str) -> dict[str, Any]:
    return {"type": "object", "properties": {text: {"type": text, "description": text}}}


async def look_at_all(here: Seat) -> int:
    """Every page from the first to the last. How many lines were there?"""
    await here.press("g")
    seen = 0
    while True:
        assert not steering(here.text)
        before = here.pane._page
        seen += len(before)
        await here.press("space")
        if here.pane._page == before:
            return seen


@pytest.mark.parametrize("number", [200, pytest.param(1000, marks=pytest.mark.long)])
@in_loop
async def test_no_payload_in_any_field_reaches_a_screen(number: int) -> None:
    with recorded(request=hostile(number), dialog="[red]odd[/red]") as tract:
        name = tract.dialog
        async with seat(tract, name, size=(150, 300), title="\x1b]52;c;eA==\x07") as here:
            assert await look_at_all(here) > 3 * number
            await here.press("t", "t")
            assert await look_at_all(here) > 6 * number
            for keys in ("S", "d", "g", "w", "l", "!", "!", "?"):
                await here.press(keys)
                assert not steering(here.text), keys
            await here.press("escape", "g")
            await here.resize(100, 20)
            for _ in range(60):  # every box, status line and notification
                await here.press("j", "e")
                assert not steering(here.text)
                await here.press("escape" if here.app.screen is not here.reader else "k")
                assert not steering("\n".join(here.told))
            await here.press("/")
            await here.write("payload7")
            await here.press("enter", "n", "p", "u", "c", "r", "enter", "R", "u", "B")
            assert not steering(here.text)
            await here.press("escape", "q")
            assert not steering(here.text)
            assert "[red]odd[/red]" in here.text


@in_loop
async def test_a_lone_surrogate_is_seen_and_harms_nothing() -> None:
    with Tract.open(":memory:", dialog="work") as tract:
        tract.user("a\ud800b")
        tract.assistant(
            "", tool_calls=[{"id": "\udfff", "name": "x\ud83d", "arguments": "{\ud800"}]
        )
        tract.tool_result("\udfff", None, {"\ud800": "\udc00"}, is_error=True)
        async with seat(tract) as here:
            assert "a\\ud800b" in here.text
            assert not steering(here.text)
            await here.press("t", "t", "e")
            assert not steering(here.text)
            await here.press("ctrl+s", "g", "e", "ctrl+s")
            here.text.encode()
        assert len(list(tract.log())) == 3


# A real terminal


def at_terminal(arguments: list[str], keys: list[tuple[str, bytes]], folder: Path) -> bytes:
    """What a program writes to its terminal, where each key is pressed once some words came."""
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "tract", *arguments],
        stdin=other,
        stdout=other,
        stderr=other,
        cwd=folder,
        env=environment,
        start_new_session=True,
    ) as process:
        os.close(other)
        try:
            return _conversation(main, keys)
        finally:
            process.kill()
            os.close(main)


def _conversation(main: int, keys: list[tuple[str, bytes]], seconds: float = 60) -> bytes:
    written, start, waiting = b"", 0, list(keys)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([main], [], [], 0.1)[0]:
            try:
                piece = os.read(main, 65536)
            except OSError:  # the other side is closed
                return written
            if not piece:
                return written
            written += piece
        if waiting and waiting[0][0].encode() in written[start:]:
            start = len(written)
            os.write(main, waiting.pop(0)[1])
    raise AssertionError(f"still waiting for {waiting}: {written[-2000:]!r}")


def test_no_byte_of_a_payload_reaches_a_terminal(tmp_path: Path) -> None:
    request = hostile(20)
    request["messages"].append({"role": "user", "content": "the very end"})
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(request))
    keys = [
        ("very end", b"t"),
        ("hidden", b"t"),
        ("full", b"g"),
        ("offered", b"q"),
        ("dialog", b"q"),
    ]
    written = at_terminal(["tui", str(path)], keys, tmp_path)
    assert b"payload" in written
    for payload in payloads(40):
        if steering(payload) or "\n" in payload:
            assert payload.encode() not in written
    for sign in ("\x1b]52", "\x1b]0;title", "\u202e", "\u2066", "\x9b", "\x1bP", "\x85", "\u2028"):
        assert sign.encode() not in written
    assert written.count(b"\x1b[?1049l") == 1  # its own good-bye
    assert REQUEST["messages"]
