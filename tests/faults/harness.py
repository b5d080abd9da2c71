"""What the tests of faults share: worker processes, plain SQL past tract, and whole views."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from msgspec.structs import astuple

from tract import (
    BranchNotFoundError,
    CommitNotFoundError,
    DialogNotFoundError,
    StorageError,
    Tract,
    TractError,
)
from tract.context import CompiledContext
from tract.hashing import to_json
from tract.model import DialogInfo
from tract.storage.codec import gist_of
from tract.storage.search import Hit
from tract.storage.sqlite import binding  # a second binding in this process would break its locks
from tract.tool_results import list_results

HERE = Path(__file__).parent
SECONDS = 60


def is_postgres(db: str) -> bool:
    return db.startswith("postgresql://")


def execute(db: str, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Run a statement past tract, as some other program would."""
    if is_postgres(db):
        with psycopg.connect(db, autocommit=True) as connection:
            cursor = connection.execute(sql.replace("?", "%s").encode(), list(values) or None)
            return cursor.fetchall() if cursor.description else []
    connection = binding.connect(db, isolation_level=None)
    try:
        rows: list[tuple[Any, ...]] = connection.execute(sql, values).fetchall()
        return rows
    finally:
        connection.close()


def back_to_version_20(db: str) -> None:
    """All that a dialog has was counted in its own row."""
    sums = "dialog_id, sum(commits), sum(tokens), sum(bytes), sum(errors), max(updated_at)"
    for dialog_id, *counts, at in execute(db, f"SELECT {sums} FROM branches GROUP BY dialog_id"):
        added = [int(count) for count in counts]
        total = sum(weight * count for weight, count in zip((5, 7, 11, 13), added, strict=True))
        execute(
            db,
            """UPDATE dialogs SET commits = commits + ?, tokens = tokens + ?, bytes = bytes + ?,
                errors = errors + ?, updated_at = ?, total = total + ? + 17 * (? - updated_at)
            WHERE id = ?""",
            (*added, at, total, at, dialog_id),
        )
    for column in ("commits", "tokens", "bytes", "errors", "updated_at", "total"):
        execute(db, f"ALTER TABLE branches DROP COLUMN {column}")
    execute(db, "UPDATE tract_schema SET version = 20")


def former_gist(stored: bytes, content: bytes, level: int = 6) -> bytes:
    """A gist as schema 14 had it; with level 0 as it was at first in schema 21."""
    fields = list(astuple(gist_of(stored, content)))[:7]
    writer = zlib.compressobj(level, zdict=content)
    return writer.compress(to_json(fields).encode("ascii")) + writer.flush()


def texts(t: Tract) -> list[object]:
    return [message.content for message in t.compile().messages]


def assert_sound(t: Tract) -> None:
    """Nothing is damaged, and every commit is on the one line of the branch."""
    report = t.fsck()
    assert report.problems == []
    log = list(t.log())
    assert report.commits == len(log)
    parents = [commit.parent_hash for commit in log]
    assert parents == [*(commit.commit_hash for commit in log), None][1 : len(log) + 1]


def in_order(texts: list[object]) -> dict[str, list[int]]:
    """The numbers that each writer wrote, in the order of the history."""
    numbers: dict[str, list[int]] = {}
    for text in texts:
        name, _, number = str(text).rpartition("-")
        numbers.setdefault(name, []).append(int(number))
    return numbers


def in_threads(number: int, work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []
    barrier = threading.Barrier(number)

    def run(index: int) -> None:
        try:
            barrier.wait()
            work(index)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise BaseExceptionGroup("errors of threads", errors)


def start(script: str, *args: object) -> subprocess.Popen[str]:
    """A worker that has imported everything and waits for a line on its standard input."""
    worker = subprocess.Popen(
        [sys.executable, str(HERE / script), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n", worker.communicate(timeout=SECONDS)
    return worker


def go(worker: subprocess.Popen[str]) -> None:
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


def finish(worker: subprocess.Popen[str], seconds: int = SECONDS) -> list[str]:
    """The lines that a worker printed until it ended by itself, well. `communicate` would pass over
    those that `readline` has read ahead."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stderr is not None
    late = threading.Timer(seconds, worker.kill)
    late.start()
    with worker:
        try:
            worker.stdin.close()
            out, err = worker.stdout.read(), worker.stderr.read()
        finally:
            late.cancel()
            worker.kill()
    assert worker.returncode == 0, err
    return out.splitlines()


def together(workers: Sequence[subprocess.Popen[str]]) -> list[str]:
    """What workers print who start at the same moment and all end well."""
    for worker in workers:
        go(worker)
    ends = [worker.communicate(timeout=SECONDS) for worker in workers]
    for worker, (_, err) in zip(workers, ends, strict=True):
        assert worker.returncode == 0, err
    return [line for out, _ in ends for line in out.splitlines()]


def start_crew(script: str, members: Iterable[Sequence[object]]) -> subprocess.Popen[str]:
    """The same worker several times, each with its arguments."""
    arguments = [argument for member in members for argument in ("--", *member)]
    return start("crew.py", script, *arguments)


def crew(script: str, members: Iterable[Sequence[object]], seconds: int = SECONDS) -> list[str]:
    """What they print when they all end well."""
    worker = start_crew(script, members)
    go(worker)
    return [line for line in finish(worker, seconds) if line != "ready"]


def killed(worker: subprocess.Popen[str], lines: int = 0, seconds: float = 0) -> list[str]:
    """The whole lines of a worker that is killed here, so many seconds after so many lines."""
    assert worker.stdout is not None
    assert worker.stderr is not None
    with worker:
        out = "".join(worker.stdout.readline() for _ in range(lines))
        time.sleep(seconds)
        worker.kill()
        out += worker.stdout.read()
        err = worker.stderr.read()
    assert worker.returncode == -9, err
    return out[: out.rfind("\n") + 1].splitlines()


def ask(script: str, *args: object) -> list[str]:
    """What a worker has to say, in one go."""
    worker = start(script, *args)
    go(worker)
    return finish(worker)


@contextmanager
def busy_worker(script: str, *args: object) -> Iterator[subprocess.Popen[str]]:
    """A worker that is at work, something done already, until the block ends."""
    worker = start(script, *args)
    go(worker)
    assert worker.stdout is not None
    while not worker.stdout.readline().startswith("done"):
        assert worker.poll() is None
    try:
        yield worker
    finally:
        worker.kill()
        worker.communicate()


class Known(NamedTuple):
    """What can be asked for in a dialog, written down while the dialog was sound."""

    branches: list[str]
    commits: list[str]
    results: list[str]

    @classmethod
    def of(cls, t: Tract) -> Known:
        commits = [commit.commit_hash for commit in t.log()]
        return cls(list(t.branches()), commits, [result.id for result in t.list_tool_results()])


def look(t: Tract, known: Known) -> dict[str, object]:
    """Everything that can be read of a dialog, each by a name, with its error if it has one."""
    some = known.commits[::8]  # each of these costs a chain
    views: dict[str, Callable[[], object]] = {
        "compile": lambda: sent(t.compile()),
        "compile inline": lambda: sent(t.compile(tools="inline")),
        "compile in full": lambda: sent(t.compile(load_tool_results=True)),
        "compile references": lambda: sent(t.compile(load_tool_results=False)),
        "stored": lambda: sent(t.stored()),
        "read": lambda: read(t),
        "log": lambda: list(t.log()),
        "head": lambda: (t.head, t.current_branch),
        "branches": t.branches,
        "dialogs": lambda: by_name(t.dialogs()),
        "usages": lambda: list(t.usages()),
        "token factor": t.token_factor,
        "search": lambda: by_name(t.search("line")),
        "search all dialogs": lambda: by_name(t.search("e", all_dialogs=True)),
        "tools": t.get_tools,
        "tool history": lambda: t.tool_history("grep"),
        "diff of tools": lambda: t.diff_tools(known.commits[-1], known.commits[0]),
        "results": t.list_tool_results,
        "results for asynchronous code": lambda: list_results(t),
        "find results": t.find_tool_results,
        "find calls": t.find_tool_calls,
        "find turns": t.find_tool_turns,
        "superseded": t.find_superseded,
    }
    for name in known.branches:
        views[f"compile {name}"] = partial(at, t, name)
    for name in known.results:
        views[f"result {name}"] = partial(t.get_tool_result, name)
        views[f"lines of {name}"] = partial(t.get_tool_result, name, lines="40-60")
        views[f"later lines of {name}"] = partial(t.get_tool_result, name, lines="4000-4005")
        views[f"grep in {name}"] = partial(t.get_tool_result, name, grep="line", limit=500)
        views[f"path in {name}"] = partial(t.get_tool_result, name, json_path="$..*")
    for digest in known.commits:
        views[f"commit {digest}"] = partial(t.get_commit, digest)
        views[f"message {digest}"] = partial(t.get_message, digest)
        views[f"content {digest}"] = partial(t.get_content, digest)
    for digest in some:
        views[f"tools of {digest}"] = partial(t.get_commit_tools, digest)
        views[f"versions of {digest}"] = partial(t.edit_history, digest)
    return {name: attempt(view) for name, view in views.items()}


def by_name(rows: Iterable[DialogInfo | Hit]) -> object:
    """The rows of a listing. Its order is that of keys, which a flipped bit may change."""
    return sorted(map(repr, rows))


def sent(context: CompiledContext) -> object:
    """What a context says, in the formats of all four providers."""
    requests = [context.to_openai_params(), context.to_anthropic_params()]
    requests += [context.to_responses_params(), context.to_gemini_params()]
    counts = context.token_count, context.token_source, context.tokens_by_tool
    messages = context.commit_hashes, context.message_forms, context.message_tokens
    return requests, context.notes, counts, messages, context.generation_configs, context.tools


def at(t: Tract, name: str) -> object:
    return sent(t.compile(at=name))


def read(t: Tract) -> object:
    snapshot = t.read()
    rows = [(snapshot.whole(p), snapshot.sent(p), snapshot.weight(p)) for p in snapshot.places]
    return rows, snapshot.failures, [toolset for _, toolset in snapshot.toolsets]


def attempt(view: Callable[[], object]) -> object:
    """What a view shows, or the error that it raises: `wrong` names those that are not typed."""
    try:
        return view()
    except Exception as error:  # noqa: BLE001
        return error


def outcome(view: Callable[[], object]) -> object:
    """What a view shows, or the typed error that it raises."""
    try:
        return view()
    except TractError as error:
        return error


@contextmanager
def in_time(seconds: int = SECONDS) -> Iterator[None]:
    """What hangs is a failure, and the test says so."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


DAMAGED = (StorageError, CommitNotFoundError, BranchNotFoundError, DialogNotFoundError)
"""How damage is reported. What names a commit, a branch or a dialog may be what is damaged."""


def wrong(before: dict[str, object], now: dict[str, object]) -> dict[str, str]:
    """What is shown differently now without an error that says so."""
    return {
        name: repr(shown)[:300]
        for name, shown in now.items()
        if not same(shown, before[name]) and not isinstance(shown, DAMAGED)
    }


def same(one: object, other: object) -> bool:
    if isinstance(one, Exception):
        return type(one) is type(other)
    return one == other
