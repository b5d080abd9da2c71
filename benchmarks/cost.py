"""Whether `tract cost` is exact, and how fast it reads transcripts that are not imported.

`python3 dev.py bench cost [--json] [--quick]`. The exact sum is made here from the lines of the
files and the prices of `genai-prices`, with no code of tract. Real transcripts count too, where
they stand beside the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Any, NamedTuple
from uuid import UUID

from genai_prices import Usage, calc_price

from benchmarks.measure import ROOT, timed
from benchmarks.outputs import output
from benchmarks.report import Result, report

AT_LEAST = {"cost_exact": 1.0, "cost_mb_s": 30}
"""`cost_exact` is the smaller of the two sums ÷ the larger."""

REAL = [
    ROOT.parent / "shared" / "data" / name for name in ("claude-code-jsonl", "codex-rollout-jsonl")
]
START = datetime(2026, 3, 1, 23, tzinfo=UTC)
CLAUDE = ("claude-opus-4-6", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
CODEX = ("gpt-5.4", "gpt-5.1-codex")
SIZES = (40, 120, 307, 900, 4_340, 20_000)

Line = dict[str, Any]


class Scale(NamedTuple):
    files: int
    turns: int
    rounds: int


FULL, QUICK = Scale(60, 400, 5), Scale(2, 10, 1)


def run(quick: bool) -> Iterator[Result]:
    scale = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "sessions")
        folder.mkdir()
        for number in range(scale.files):
            make = codex_session if number % 2 else claude_session
            _write(folder / f"{number}.jsonl", make(scale.turns, number))
        _write(folder / "fork.jsonl", forked(claude_session(scale.turns, 0)))
        for real in filter(Path.is_dir, REAL):
            copytree(real, folder / real.name)
        files = sorted(folder.rglob("*.jsonl"))
        size = sum(path.stat().st_size for path in files) / 1e6
        rounds = [timed(lambda: cost_of(folder)) for _ in range(scale.rounds)]
        ours, exact = rounds[0][1], float(exact_sum(files))
    share = min(ours, exact) / max(ours, exact)
    yield Result("cost_exact", round(share, 9), {"cost_dollars": ours, "cost_exact_dollars": exact})
    fastest = min(seconds for seconds, _ in rounds)  # nothing else ran meanwhile
    yield Result("cost_mb_s", size / fastest, {"cost_mb": size, "cost_files": len(files)})


def cost_of(folder: Path) -> float:
    """What the command reports, as a program of its own whose modules are compiled."""
    command = [sys.executable, "-m", "tract", "cost", str(folder), "--json"]
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder.parent / f"{folder.name}.pyc")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    dollars: float = json.loads(done.stdout)["total"]["dollars"]
    return dollars


# The sum that is right


def exact_sum(files: Iterable[Path]) -> Decimal:
    """Each answer once, by its id and that of its request, with its last count of output."""
    claude: dict[Any, Line] = {}
    total = Decimal(0)
    for path in files:
        lines = list(_lines(path))
        for line in lines:
            inner = (line.get("data") or {}).get("message") or line
            message = inner.get("message") or {}
            usage = message.get("usage")
            if inner.get("type") == "assistant" and usage:
                key = message["id"], inner.get("requestId")
                before = claude.get(key, {"message": {"usage": {"output_tokens": -1}}})
                if usage["output_tokens"] > before["message"]["usage"]["output_tokens"]:
                    claude[key] = inner
        total += _codex_sum(lines)
    return total + sum((_claude_cost(line) for line in claude.values()), Decimal(0))


def _lines(path: Path) -> Iterator[Line]:
    for text in path.read_text("utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            line = json.JSONDecoder().raw_decode(text)[
                0
            ]  # a line that another one was written into
        if isinstance(line, dict):
            yield line


def _claude_cost(line: Line) -> Decimal:
    message, usage = line["message"], line["message"]["usage"]
    if message["model"].startswith("<"):
        return Decimal(0)
    read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens", 0)
    counts = Usage(
        input_tokens=usage["input_tokens"] + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=hour,
        output_tokens=usage["output_tokens"],
    )
    return _price(counts, message["model"], line["timestamp"])


def _codex_sum(lines: Iterable[Line]) -> Decimal:
    """The sums that Codex itself keeps, as they grow."""
    model, total, before = "", Decimal(0), {"input_tokens": 0}
    for line in lines:
        payload = line.get("payload") or {}
        if line.get("type") == "turn_context":
            model = payload["model"]
        if payload.get("type") == "token_count" and payload.get("info"):
            after = payload["info"]["total_token_usage"]
            new = {key: after[key] - before.get(key, 0) for key in after}
            counts = Usage(
                input_tokens=new["input_tokens"],
                cache_read_tokens=new["cached_input_tokens"],
                output_tokens=new["output_tokens"],
            )
            total += _price(counts, model, line["timestamp"])
            before = after
    return total


def _price(counts: Usage, model: str, time: str) -> Decimal:
    moment = datetime.fromisoformat(time)
    return calc_price(counts, model, genai_request_timestamp=moment).total_price


# Transcripts


def _write(path: Path, lines: Iterable[Line]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def claude_session(turns: int, seed: int) -> Iterator[Line]:
    """Answers of two lines with the same usage, the first of which may not know its output yet."""
    random = Random(seed)
    about = {"isSidechain": False, "cwd": f"/home/me/p{seed % 7}", "sessionId": f"session {seed}"}
    parent = None

    def line(kind: str, message: Line, number: int, **more: Any) -> Line:
        nonlocal parent
        before, parent = parent, str(UUID(int=random.getrandbits(128)))
        time = (START + timedelta(minutes=number)).isoformat()
        about_line = {**about, "parentUuid": before, "uuid": parent, "timestamp": time}
        return {**about_line, "type": kind, "message": message, **more}

    yield line("user", {"role": "user", "content": f"Find bug {seed}."}, 0)
    for number in range(turns):
        model, usage = random.choice(CLAUDE), _claude_usage(random)
        name = f"msg_{seed}_{number}"
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"c": "make"}}
        for block, answered in (({"type": "text", "text": "I look."}, 5), (call, 80 + number)):
            counted = {**usage, "output_tokens": answered}
            message = {"id": name, "role": "assistant", "model": model, "usage": counted}
            answer = {**message, "content": [block]}
            yield line("assistant", answer, number, requestId=f"req_{name}")
        text = str(output(seed * turns + number, random.choice(SIZES)))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        printed = {"stdout": text, "stderr": ""}
        yield line("user", {"role": "user", "content": [result]}, number, toolUseResult=printed)


def _claude_usage(random: Random) -> Line:
    written, hour = random.randrange(9_000), random.random() < 0.9
    kinds = {"ephemeral_5m_input_tokens": 0 if hour else written}
    return {
        "input_tokens": random.randrange(50),
        "cache_read_input_tokens": random.randrange(260_000),
        "cache_creation_input_tokens": written,
        "cache_creation": {**kinds, "ephemeral_1h_input_tokens": written if hour else 0},
        "service_tier": "standard",
    }


def forked(lines: Iterable[Line]) -> Iterator[Line]:
    """The same session under another name: nothing of it was paid again."""
    return ({**line, "sessionId": "a fork"} for line in lines)


def codex_session(turns: int, seed: int) -> Iterator[Line]:
    """Each count stands there twice."""
    random = Random(seed)
    total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens"), 0)

    def line(kind: str, number: int, **payload: Any) -> Line:
        time = (START + timedelta(minutes=number)).isoformat()
        return {"timestamp": time, "type": kind, "payload": payload}

    yield line("session_meta", 0, id=f"codex {seed}", timestamp=START.isoformat(), cwd="/home/me")
    for number in range(turns):
        yield line("turn_context", number, model=random.choice(CODEX))
        call = {"call_id": f"c{number}", "name": "shell", "arguments": "{}"}
        yield line("response_item", number, type="function_call", **call)
        text = str(output(seed * turns + number, random.choice(SIZES)))
        result = {"call_id": call["call_id"], "output": text}
        yield line("response_item", number, type="function_call_output", **result)
        sent = random.randrange(1, 300_000)
        last = {
            "input_tokens": sent,
            "cached_input_tokens": random.randrange(sent),
            "output_tokens": random.randrange(1, 900),
        }
        total = {key: total[key] + last[key] for key in total}
        info = {"total_token_usage": total, "last_token_usage": last}
        yield line("event_msg", number, type="token_count", info=info)
        yield line("event_msg", number, type="token_count", info=info)


if __name__ == "__main__":
    report("cost", __doc__, {}, run, AT_LEAST)
