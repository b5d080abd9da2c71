"""Importing a long session of a coding agent, and many short ones.

`python3 dev.py bench import [--json] [--quick]`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from benchmarks.measure import medians, timed
from benchmarks.outputs import output
from benchmarks.report import Result, report
from tract import Tract
from tract.importers.writer import import_file

AT_LEAST = {"import_mb_s": 15, "import_small_mb_s": 8}

# Bytes of results: half of them below 307, a tenth above 4,340, the largest 89,433, as measured on
# 490 sessions; one tenth of the numbers for each.
SIZES = (40, 80, 120, 200, 307, 500, 900, 1_800, 4_340, 20_000)


SMALL = 6
"""Turns of a short session, which has about 50 KB."""


Line = dict[str, Any]


class Scale(NamedTuple):
    turns: int
    rounds: int
    files: int


FULL, QUICK = Scale(4_000, 5, 400), Scale(30, 1, 5)


def run(quick: bool) -> Iterator[Result]:
    scale = QUICK if quick else FULL
    yield from _measured("import", [session(scale.turns)], scale.rounds)
    short = [session(SMALL, number) for number in range(scale.files)]
    yield from _measured("import_small", short, scale.rounds)


def _measured(name: str, sessions: list[Iterator[Line]], rounds: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [_written(Path(folder, f"{n}.jsonl"), lines) for n, lines in enumerate(sessions)]
        size = sum(path.stat().st_size for path in paths) / 1e6
        first, again = medians([_imported(paths, number) for number in range(rounds)])
    key = f"{name}_mb_s"
    behind = {f"{name}_mb": size, f"{name}_again_mb_s": size / again}
    yield Result(key, size / first, behind)


def _written(path: Path, lines: Iterator[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _imported(paths: list[Path], number: int) -> tuple[float, float]:
    """Seconds for a new database, and for the same files once more."""

    def import_all() -> None:
        for path in paths:
            import_file(t, path)

    with Tract.open(paths[0].parent / f"{number}.db") as t:
        t.tokens.count("warm up")
        return timed(import_all)[0], timed(import_all)[0]


def session(turns: int, seed: int = 0) -> Iterator[Line]:
    """Lines as Claude Code writes them: an answer with a call, and its result, which stands there
    twice, once as the program has it."""
    random = Random(seed)
    name = f"5f0d6a3e-0000-4000-8000-{seed:012}"
    parent = None

    def line(kind: str, message: dict[str, Any]) -> Line:
        nonlocal parent
        about = _about(name, parent)
        parent = str(UUID(int=random.getrandbits(128)))
        return {**about, "type": kind, "message": message, "uuid": parent}

    yield line("user", {"role": "user", "content": f"Find bug {seed}."})
    for number in range(turns):
        call = {"type": "tool_use", "id": f"toolu_{number:024}", "name": "Bash"}
        step = [{"type": "text", "text": f"Step {number}."}, {**call, "input": {"command": "make"}}]
        usage = {"input_tokens": 5, "cache_read_input_tokens": 9_000, "output_tokens": 80}
        answer = {"id": f"msg_{number:024}", "role": "assistant", "content": step, "usage": usage}
        yield line("assistant", answer)
        text = str(output(seed * turns + number, random.choice(SIZES)))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        printed = {"toolUseResult": {"stdout": text, "stderr": "", "interrupted": False}}
        yield line("user", {"role": "user", "content": [result]}) | printed


def _about(session: str, parent: str | None) -> Line:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/me/project",
        "sessionId": session,
        "version": "2.1.0",
        "gitBranch": "main",
        "timestamp": "2026-11-01T12:00:00.000Z",
    }


if __name__ == "__main__":
    report("import", __doc__, {}, run, AT_LEAST)
