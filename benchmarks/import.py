"""Importing a long session of a coding agent.

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

AT_LEAST = {"import_mb_s": 10}

# Bytes of results: half of them below 307, a tenth above 4,340, the largest 89,433, as measured on
# 490 sessions; one tenth of the numbers for each.
SIZES = (40, 80, 120, 200, 307, 500, 900, 1_800, 4_340, 20_000)


class Scale(NamedTuple):
    turns: int
    rounds: int


FULL, QUICK = Scale(4_000, 5), Scale(30, 1)


def run(quick: bool) -> Iterator[Result]:
    scale = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        path.write_text("".join(json.dumps(line) + "\n" for line in session(scale.turns)))
        size = path.stat().st_size / 1e6
        rounds = [_imported(path, number) for number in range(scale.rounds)]
    first, again = medians(rounds)
    behind = {"mb": size, "seconds": first, "again_mb_s": size / again}
    yield Result("import_mb_s", size / first, behind)


def _imported(path: Path, number: int) -> tuple[float, float]:
    """Seconds for a new database, and for the same file once more."""
    with Tract.open(path.parent / f"{number}.db") as t:
        t.tokens.count("warm up")
        return timed(lambda: import_file(t, path))[0], timed(lambda: import_file(t, path))[0]


def session(turns: int) -> Iterator[dict[str, Any]]:
    """Lines as Claude Code writes them: an answer with a call, and its result, which stands there
    twice, once as the program has it."""
    random = Random(0)
    parent = None
    yield (first := _line(random, parent, "user", {"role": "user", "content": "Find the bug."}))
    parent = first["uuid"]
    for number in range(turns):
        call = {"type": "tool_use", "id": f"toolu_{number:024}", "name": "Bash"}
        said = [{"type": "text", "text": f"Step {number}."}, {**call, "input": {"command": "make"}}]
        usage = {"input_tokens": 5, "cache_read_input_tokens": 9_000, "output_tokens": 80}
        answer = {"id": f"msg_{number:024}", "role": "assistant", "content": said, "usage": usage}
        yield (line := _line(random, parent, "assistant", answer))
        text = str(output(number, random.choice(SIZES)))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        told = {"role": "user", "content": [result]}
        line = _line(random, line["uuid"], "user", told)
        yield line | {"toolUseResult": {"stdout": text, "stderr": "", "interrupted": False}}
        parent = line["uuid"]


def _line(random: Random, parent: str | None, kind: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/me/project",
        "sessionId": "5f0d6a3e-0000-4000-8000-000000000000",
        "version": "2.1.0",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": str(UUID(int=random.getrandbits(128))),
        "timestamp": "2026-11-01T12:00:00.000Z",
    }


if __name__ == "__main__":
    report("import", __doc__, {}, run, AT_LEAST)
