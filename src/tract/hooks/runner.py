"""The command that an agent starts for an event. It never fails and never keeps the agent waiting:
what goes wrong stands in the log, and the agent goes on with its own result."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tract.errors import TractError
from tract.hooks import deadline
from tract.hooks.archive import Limits, keep
from tract.hooks.clients import client, fetch_tool
from tract.hooks.events import Report, SessionEnd, ToolResult
from tract.hooks.journal import journal_path, write_line
from tract.hooks.places import open_session, open_tract
from tract.model import Json

MAX_EVENT = 100_000_000
"""Bytes. A longer event is not read."""
LATE = "the agent went on with its own result; if no line about it follows, it was not stored"
FAILURES = (
    *(TractError, OSError, MemoryError, RecursionError, ArithmeticError, AssertionError),
    *(LookupError, AttributeError, TypeError, ValueError, RuntimeError, ImportError),
)
"""What an event can fail with, a bug included: it must not reach the agent."""


class Options(NamedTuple):
    """How the hook was configured."""

    client: str
    db: str
    limits: Limits
    imports: bool = True
    seconds: float = deadline.SECONDS


class Facts(dict[str, Json]):
    """What the log says of an event."""


def run(options: Options, stdin: BinaryIO, log: Path) -> bytes:
    """Handle an event in time, and return what the agent is to read."""
    start = time.monotonic()
    seconds = deadline.remaining(options.seconds)
    answer = deadline.run_in_time(lambda send: _work(options, stdin, log, send), seconds)
    if answer is None:
        line = {"client": options.client, "outcome": "late", "ms": _milliseconds(start)}
        write_line(log, line | {"note": LATE})
    return answer or b""


def _work(options: Options, stdin: BinaryIO, log: Path, send: deadline.Answer) -> None:
    start, facts = time.monotonic(), Facts(client=options.client)
    try:
        _handle(options, stdin, send, facts)
    except FAILURES as error:
        facts.update(_failure(error))
    facts["ms"] = _milliseconds(start)
    write_line(log, facts)


def _failure(error: BaseException) -> Facts:
    """Why something failed. Errors that are not tract's own may quote the event."""
    is_plain = isinstance(error, TractError | OSError)
    name = type(error).__name__
    return Facts(outcome="failed", error=name, reason=str(error) if is_plain else None)


def _milliseconds(start: float) -> int:
    return round((time.monotonic() - start) * 1000)


def _handle(options: Options, stdin: BinaryIO, send: deadline.Answer, facts: Facts) -> None:
    data = stdin.read(MAX_EVENT + 1)
    facts["event_bytes"] = len(data)
    if len(data) > MAX_EVENT:
        facts.update(outcome="ignored", reason=f"the event is longer than {MAX_EVENT} bytes")
        return
    event = json.loads(data)
    del data
    if not isinstance(event, dict):
        facts.update(outcome="ignored", reason="the event is not a JSON object")
        return
    facts["event"] = next(
        (event[k] for k in ("hook_event_name", "event") if isinstance(event.get(k), str)), None
    )
    _act(options, client(options.client).read(event), send, facts)


def _act(options: Options, report: Report, send: deadline.Answer, facts: Facts) -> None:
    if isinstance(report, ToolResult):
        facts.update(session=report.session, call=report.call_id, tool=report.tool)
        _store(options, report, send, facts)
    elif isinstance(report, SessionEnd):
        facts.update(session=report.session)
        _import(options, report, facts)
    else:
        facts.update(outcome="ignored", reason="nothing to do for this event")


def _store(options: Options, result: ToolResult, send: deadline.Answer, facts: Facts) -> None:
    agent = client(options.client)
    if result.tool.startswith(agent.OWN_TOOLS):
        facts.update(outcome="ignored", reason="a tool of tract itself")
        return
    if not (result.session and result.call_id and result.tool):
        facts.update(outcome="ignored", reason="the event does not name a session, call and tool")
        return
    from tract.core.sessions import results_dialog

    def deliver(text: str | None) -> bool:
        answer = b""
        if text is not None and result.replace is not None:
            answer = json.dumps(result.replace(text)).encode("ascii")
        return send(answer)

    session = open_session(options.db, results_dialog(result.session))
    try:
        kept = keep(session, result, agent.TITLE, options.limits, fetch_tool(agent), deliver)
    finally:
        session.store.close()
    facts.update(outcome=_outcome(kept.is_new, kept.reference), bytes=kept.size)
    facts.update(problem=result.problem)


def _outcome(is_new: bool, reference: str | None) -> str:
    if not is_new:
        return "already stored"
    return "stored" if reference is None else "replaced"


def _import(options: Options, end: SessionEnd, facts: Facts) -> None:
    """Import the transcript in the background: an agent that ends does not wait for its hooks."""
    if not options.imports or not end.transcript:
        facts.update(outcome="ignored", reason="no transcript to import")
        return
    import subprocess

    hook = ["hook", options.client, "--import", end.transcript]
    subprocess.Popen(
        [sys.executable, "-m", "tract", "--db", options.db, *hook],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    facts.update(outcome="import started")


def import_transcript(options: Options, path: str, log: Path) -> None:
    """Import a transcript, and log what it brought."""
    from tract.importers.writer import import_file

    start, facts = time.monotonic(), Facts(client=options.client, event="import")
    try:
        with open_tract(options.db) as tract:
            imported = import_file(tract, path)
        problems = [f"{problem.place}: {problem.what}" for problem in imported.problems]
        facts.update(outcome="imported", dialogs=len(imported.dialogs), messages=imported.messages)
        facts.update(problem="; ".join(problems) or None)
    except FAILURES as error:
        facts.update(_failure(error))
    facts["ms"] = _milliseconds(start)
    write_line(log, facts)


def log_path() -> Path:
    return journal_path(os.environ, Path.home())
