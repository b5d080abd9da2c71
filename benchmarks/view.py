"""Reading: how long until something is to be seen, and what it costs against plain writing.

`python3 dev.py bench view [--json] [--quick]`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from importlib import import_module
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import msgspec
from textual import events
from textual.drivers.headless_driver import HeadlessDriver

from benchmarks.measure import ROOT, in_new_process, ratio, timed
from benchmarks.outputs import byte_size, output
from benchmarks.report import Numbers, Result, report
from tract import Tract
from tract.tui.app import TractApp
from tract.tui.pane import Pane
from tract.view.blocks import format_request
from tract.view.lines import TOOLS

AT_MOST = {"blocks_ms_per_mb": 10, "first_screen_ms": 500, "toggle_ms": 100, "show_vs_cat": 5}

RESULT = 10_000
SIZES = (200, 200, 300, 500, 800, 1_500, 3_000, 8_000)
SCREEN = (120, 40)
FIRST, LAST = "Instructions", "Conclusion"  # words of the first message and of the last one

Wire = dict[str, Any]


class Scale(NamedTuple):
    request: int
    """Messages of a request, half of them results."""
    dialog: int
    reshaped: int
    transcript: int
    """Bytes."""
    rounds: int
    times: int


FULL = Scale(500, 10_000, 300, 5_000_000, rounds=5, times=15)
QUICK = Scale(10, 60, 5, 30_000, rounds=1, times=1)


class Bench:
    """A folder with dialogs and a transcript, each made when it is first asked for."""

    def __init__(self, folder: Path, scale: Scale) -> None:
        self.folder = folder
        self.scale = scale
        self._names = count(1)

    @cached_property
    def dialog(self) -> Path:
        return self._dialog(is_silent=False, reshaped=0)

    @cached_property
    def reshaped(self) -> Path:
        return self._dialog(is_silent=False, reshaped=self.scale.reshaped)

    @cached_property
    def silent(self) -> Path:
        """Calls without a word or an error: where tools are hidden, a page is hard to find."""
        return self._dialog(is_silent=True, reshaped=0)

    def _dialog(self, *, is_silent: bool, reshaped: int) -> Path:
        path = self.folder / f"{next(self._names)}.db"
        with Tract.open(path, durability="relaxed") as t:
            with t.batch():
                results = list(_conversation(t, self.scale.dialog, is_silent))
            if reshaped:
                step = max(len(results) // reshaped, 1)
                t.reshape(dict.fromkeys(results[::step][:reshaped], "reference"))
        return path

    @cached_property
    def transcript(self) -> Path:
        """A session as Claude Code writes it, of this size."""
        path, size = self.folder / "session.jsonl", 0
        session = import_module("benchmarks.import").session  # its name is a keyword
        with path.open("w") as file:
            for line in session(self.scale.transcript):
                size += file.write(json.dumps(line) + "\n")
                if size >= self.scale.transcript:
                    return path
        raise AssertionError(size)


def _conversation(t: Tract, messages: int, is_silent: bool) -> Iterator[str]:
    """So many messages of an agent at work. Gives the commits of the results."""
    random = Random(0)
    t.set_tools([_tool(name) for name in CALLS])
    t.system(f"{FIRST}: you are an agent that works on a project.")
    t.user("Please look at every part. " + "They do not do what they should. " * 3)
    written = 2
    for number in count():
        if written + 4 > messages:
            break
        yield _turn(t, random, number, is_silent)
        written += 2
        if number % 12 == 11 and not is_silent:
            t.assistant(f"Part {number} is done.\n\n" + "- A point of the answer.\n" * 5)
            t.user(f"Please go on after part {number}. " + "It is still wrong. " * 3)
            written += 2
    for number in range(written, messages - 1):
        t.user(f"Go on, part {number}.")
    t.assistant(f"{LAST}: all parts are done.")


def _turn(t: Tract, random: Random, number: int, is_silent: bool) -> str:
    name, call_id = random.choice(list(CALLS)), f"call_{number}"
    call = {"id": call_id, "name": name, "arguments": _arguments(name, number)}
    t.assistant("" if is_silent else f"Looking at part {number} now.", tool_calls=[call])
    content = output(number, random.choice(SIZES))
    is_error = number % 40 == 7 and not is_silent
    return t.tool_result(call_id, name, content, is_error=is_error).commit_hash


CALLS = {
    "Read": ("file_path", "/home/me/project/src/module_{}.py"),
    "Bash": ("command", "make part_{}\nmake test"),
    "Grep": ("pattern", "part_{}.*"),
    "Edit": ("file_path", "/home/me/project/src/module_{}.py"),
}


def _arguments(name: str, number: int) -> dict[str, str]:
    key, value = CALLS[name]
    return {key: value.format(number)}


def _tool(name: str) -> Wire:
    properties = {CALLS[name][0]: {"type": "string"}}
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": f"{name} something.", "input_schema": schema}


# Blocks


def blocks(bench: Bench) -> Iterator[Result]:
    """Of a request to each provider, with the same results."""
    found: Numbers = {}
    texts = [_text(number) for number in range(bench.scale.request // 2)]
    size = sum(map(byte_size, texts)) / 1e6
    for provider, turn in TURNS.items():
        messages = [message for entry in enumerate(texts) for message in turn(*entry)]
        build = partial(format_request, {HISTORY[provider]: messages})
        assert len(build()) >= len(messages)
        found[provider] = min(timed(build)[0] for _ in range(bench.scale.times)) * 1e3 / size
    behind = {f"blocks_{name}_ms_per_mb": value for name, value in found.items()}
    yield Result("blocks_ms_per_mb", behind.pop("blocks_anthropic_ms_per_mb"), behind)


def _text(number: int) -> str:
    content = output(number, RESULT)
    return content if isinstance(content, str) else json.dumps(content)


def _anthropic(number: int, text: str) -> list[Wire]:
    call_id = f"toolu_{number}"
    said = {"type": "text", "text": f"Now step {number}."}
    call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": _arguments("Bash", number)}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return [{"role": "assistant", "content": [said, call]}, {"role": "user", "content": [result]}]


def _chat(number: int, text: str) -> list[Wire]:
    call_id = f"call_{number}"
    function = {"name": "Bash", "arguments": json.dumps(_arguments("Bash", number))}
    call = {"id": call_id, "type": "function", "function": function}
    said = {"role": "assistant", "content": f"Now step {number}.", "tool_calls": [call]}
    return [said, {"role": "tool", "tool_call_id": call_id, "content": text}]


def _responses(number: int, text: str) -> list[Wire]:
    call_id, arguments = f"call_{number}", json.dumps(_arguments("Bash", number))
    call = {"type": "function_call", "call_id": call_id, "name": "Bash", "arguments": arguments}
    return [call, {"type": "function_call_output", "call_id": call_id, "output": text}]


TURNS = {"anthropic": _anthropic, "chat": _chat, "responses": _responses}
HISTORY = {"anthropic": "messages", "chat": "messages", "responses": "input"}


# The text interface

OPEN = """
import sys
import msgspec
from benchmarks.view import sights
print(msgspec.json.encode(sights(sys.argv[1])).decode())
"""
QUIET = 12
"""So many looks without a paint in between: it has come to rest."""


class Moment(NamedTuple):
    """On the clock, and by what the process has worked: others do not slow that down."""

    clock: float
    cpu: float

    def since(self, start: Moment) -> Moment:
        """Milliseconds."""
        return Moment((self.clock - start.clock) * 1e3, (self.cpu - start.cpu) * 1e3)


def now() -> Moment:
    return Moment(perf_counter(), process_time())


class Paint(NamedTuple):
    at: Moment
    text: str


class Tape(HeadlessDriver):
    """A terminal that keeps what is written to it, and when."""

    @property
    def is_headless(self) -> bool:
        return False  # else nothing would be made for it to write

    def write(self, data: str) -> None:
        assert isinstance(self._app, Taped)
        self._app.paints.append(Paint(now(), data))


class Taped(TractApp):
    def __init__(self, tract: Tract) -> None:
        self.paints: list[Paint] = []
        super().__init__(tract, dialog=tract.dialog)

    def get_driver_class(self) -> type[Tape]:
        return Tape

    async def rest(self) -> Moment:
        """When it was painted last, after which nothing more came."""
        looks = 0
        while looks < QUIET:
            known = len(self.paints)
            await asyncio.sleep(0.01)
            looks = looks + 1 if len(self.paints) == known else 0
        return self.paints[-1].at


class Sight(NamedTuple):
    """Milliseconds until lines of the conversation are painted, until all is, and from the key to
    each state of the tools, in which nothing was seen before."""

    first: Moment
    rest: Moment
    toggles: dict[str, Moment]


def sights(path: str) -> list[Sight]:
    """What a new process sees, and what it sees when it opens the dialog once more."""
    return [asyncio.run(_sight(path)) for _ in range(2)]


async def _sight(path: str) -> Sight:
    start = now()
    with Tract.open(path, create=False) as t:
        app = Taped(t)
        async with app.run_test(headless=False, size=SCREEN):
            rest = (await app.rest()).since(start)
            seen = [paint for paint in app.paints if FIRST in paint.text or LAST in paint.text]
            assert any(LAST in paint.text for paint in seen)
            toggles = dict([await _toggle(app) for _ in TOOLS])
    return Sight(seen[0].at.since(start), rest, toggles)


async def _toggle(app: Taped) -> tuple[str, Moment]:
    """From the key to the screen that shows what it has done, which is this state."""
    pane = app.screen.query_one(Pane)
    before, start = pane.settings.tools, now()
    app.post_message(events.Key("t", "t"))
    rest = await app.rest()
    assert pane.settings.tools != before
    assert rest > start
    return pane.settings.tools, rest.since(start)


def screens(bench: Bench) -> Iterator[Result]:
    """Each time in a new process, which has imported the modules."""
    dialogs = (bench.dialog, bench.reshaped, bench.silent)
    rounds = [[_seen(path) for path in dialogs] for _ in range(bench.scale.rounds)]
    both, reshaped, silent = ([seen[place] for seen in rounds] for place in range(len(dialogs)))
    new, again = zip(*both, strict=True)
    yield _opened(new, again, [first for first, _ in reshaped])
    yield _toggled(new, [first for first, _ in reshaped], [first for first, _ in silent])


def _opened(new: Sequence[Sight], again: Sequence[Sight], reshaped: Sequence[Sight]) -> Result:
    behind = {
        "first_screen_best_ms": min(sight.first.clock for sight in new),
        "first_screen_cpu_ms": median(sight.first.cpu for sight in new),
        "first_screen_again_ms": median(sight.first.clock for sight in again),
        "first_screen_rest_ms": median(sight.rest.clock for sight in new),
        "first_screen_reshaped_ms": median(sight.first.clock for sight in reshaped),
        "first_screen_reshaped_rest_ms": median(sight.rest.clock for sight in reshaped),
    }
    return Result("first_screen_ms", median(sight.first.clock for sight in new), behind)


def _toggled(new: Sequence[Sight], reshaped: Sequence[Sight], silent: Sequence[Sight]) -> Result:
    """The slowest of the three states."""
    states = {state: median(sight.toggles[state].clock for sight in new) for state in TOOLS}
    behind = {f"toggle_to_{state}_ms": took for state, took in states.items()}
    behind["toggle_cpu_ms"] = median(_slowest(sight).cpu for sight in new)
    behind["toggle_reshaped_ms"] = median(_slowest(sight).clock for sight in reshaped)
    behind["toggle_silent_ms"] = median(_slowest(sight).clock for sight in silent)
    return Result("toggle_ms", max(states.values()), behind)


def _slowest(sight: Sight) -> Moment:
    return max(sight.toggles.values())


def _seen(path: Path) -> list[Sight]:
    found = in_new_process(OPEN, str(path))
    return msgspec.json.decode(found, type=list[Sight])


# The command

COPY = """
import sys
from pathlib import Path
text = Path(sys.argv[1]).read_text("utf-8")
"""
CONSOLE = f"{COPY}from rich.console import Console\n"
WAYS = {
    "console": CONSOLE + "Console().out(text, end='', highlight=False)",
    "highlighted": CONSOLE + "Console().out(text, end='')",
    "plain": COPY + "sys.stdout.write(text)",
}


def show(bench: Bench) -> Iterator[Result]:
    """Against `Console.out` at its fastest: the whole text at once, and nothing in it highlighted.
    Beside it what it does by itself, which is to highlight, and Python's own way to write."""
    command = [sys.executable, "-m", "tract", "show", str(bench.transcript)]
    copy = bench.folder / "shown.txt"
    copy.write_bytes(_piped(command))
    ways = [[sys.executable, "-c", code, str(copy)] for code in WAYS.values()]
    rounds = [[_seconds(one) for one in (command, *ways)] for _ in range(bench.scale.rounds)]
    ratios = {
        way: ratio([(row[0], row[column]) for row in rounds]) for column, way in enumerate(WAYS, 1)
    }
    behind = {"show_ms": median(row[0] for row in rounds) * 1e3, "shown_mb": _megabytes(copy)}
    behind |= {"show_vs_highlighted": ratios["highlighted"], "show_vs_plain": ratios["plain"]}
    yield Result("show_vs_cat", ratios["console"], behind)


def _seconds(command: Sequence[str]) -> float:
    return timed(lambda: _piped(command))[0]


def _piped(command: Sequence[str]) -> bytes:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout


def _megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6


# Report


def run(scale: Scale) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
        bench = Bench(Path(folder), scale)
        for measure in (blocks, screens, show):
            yield from measure(bench)


def main() -> None:
    report("view", __doc__, AT_MOST, lambda quick: run(QUICK if quick else FULL))


if __name__ == "__main__":
    main()
