"""Dialogs as coding agents leave them: prompts, thoughts, calls with results, answers in Markdown,
errors, edits, and results that are sent as references. The same number gives the same dialog."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.outputs import diff, markdown, output, read
from tract import Tract

LONG = "agents/long"
MODEL = "claude-opus-4-5"
# Bytes of results, one tenth of the results for each.
SIZES = (200, 200, 300, 500, 800, 1_500, 3_000, 8_000, 12_000, 50_000)
CALLS = (0, 1, 1, 2, 2, 2, 3, 3, 5)
"""Of a turn: 1,700 in 5,000 messages."""
EPOCH = 200
"""Turns, after which half of their results become references and a prompt is edited."""

Wire = dict[str, Any]


def fill(path: Path, messages: int, others: int) -> list[str]:
    """Write a database with a long dialog and others of five messages. Returns the hashes of the
    prompts of the long one."""
    with Tract.open(path, dialog=LONG, durability="relaxed") as t:
        prompts = write(t, messages)
        for number in range(others):
            small = t.sibling(f"project-{number % 20}/task-{number}")
            with small.batch():
                write(small, 5, number)
    return prompts


def write(t: Tract, messages: int, first: int = 0) -> list[str]:
    """Write that many messages, and changes of some. `first` is the number of the first turn.
    Returns the hashes of the prompts."""
    with t.batch():
        t.set_tools([_tool(name) for name in ARGUMENTS])
        t.system("You are an agent that works on a project.\n" * 5)
    left, prompts, results = messages - 1, list[str](), list[str]()
    for turn in count(first):
        if left <= 0:
            return prompts
        with t.batch():
            written = list(islice(write_turn(t, turn), left))
        left -= len(written)
        prompts.append(written[0])
        results += written[2:-1:2]
        if len(prompts) % EPOCH == 0:
            t.reshape(dict.fromkeys(results[::2], "reference"))
            t.user(f"Please do part {turn} again, and well.", edit=prompts[-EPOCH // 2])
            results.clear()
    raise AssertionError


def write_turn(t: Tract, number: int) -> Iterator[str]:
    """A prompt, calls with their results, an answer. Yields the hash of each."""
    random = Random(number)
    prompt = f"Please look at part {number}. " + "It does not do what it should. " * 3
    yield t.user(prompt).commit_hash
    for step in range(random.choice(CALLS)):
        place = number * 10 + step
        name, call_id = random.choice(list(ARGUMENTS)), f"toolu_{place}"
        arguments = _arguments(name, place, random)
        call = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        yield t.assistant(_response(number, [*_thoughts(random, place), call])).commit_hash
        content, is_error = output(place, random.choice(SIZES)), place % 80 == 1
        yield t.tool_result(call_id, name, content, is_error=is_error).commit_hash
    text = {"type": "text", "text": _answer(random, number)}
    yield t.assistant(_response(number, [text])).commit_hash


def _response(number: int, blocks: list[Wire]) -> Wire:
    """As Anthropic's API returns it."""
    usage = {
        "input_tokens": 900 + number % 7 * 100,
        "cache_read_input_tokens": number % EPOCH * 700,
        "output_tokens": 200 + number % 11 * 40,
    }
    message = {"type": "message", "role": "assistant", "model": MODEL}
    return {**message, "content": blocks, "usage": usage}


def _thoughts(random: Random, place: int) -> list[Wire]:
    if place % 3 == 0:
        return []
    words = {"type": "text", "text": f"Looking at step {place} now."}
    thought = {"type": "thinking", "thinking": markdown(random, 400), "signature": "c2ln"}
    return [words] if place % 3 == 1 else [thought, words]


def _answer(random: Random, number: int) -> str:
    code = "\n".join(line.partition("\t")[2] for line in read(random, 500).splitlines())
    return (
        f"## Part {number} is done\n\nIt was **one line**, in `module_{number}.py`:\n\n"
        "1. The value was *read* before it was set.\n2. See [the manual](https://example.org/).\n\n"
        f"```python\n{code}\n```\n\n| test | before | after |\n|---|---|---|\n"
        f"| `test_{number}` | failed | passed |\n\n{markdown(random, 300)}"
    )


# Tools

ARGUMENTS = {
    "Read": ("file_path",),
    "Bash": ("command",),
    "Grep": ("pattern",),
    "Edit": ("file_path", "old_string", "new_string"),
}


def _arguments(name: str, place: int, random: Random) -> dict[str, str]:
    if name == "Bash":
        return {"command": f"make part_{place}\nmake test"}
    if name == "Grep":
        return {"pattern": f"part_{place}.*"}
    path = {"file_path": f"/home/me/project/src/module_{place}.py"}
    if name == "Read":
        return path
    hunk = [line for line in diff(random, 600).splitlines() if not line.startswith(("@@", "diff"))]
    sides = {"old_string": "-", "new_string": "+"}
    return path | {
        key: "\n".join(line[1:] for line in hunk if line[:1] in (" ", sign))
        for key, sign in sides.items()
    }


def _tool(name: str) -> Wire:
    properties = {key: {"type": "string"} for key in ARGUMENTS[name]}
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": f"{name} something.", "input_schema": schema}
