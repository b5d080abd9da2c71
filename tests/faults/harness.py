"""What the tests of faults share: worker processes, plain SQL past tract, and whole views."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from tract import ForgottenError, Tract, TractError
from tract.storage.sqlite import binding  # a second binding in this process would break its locks

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


def finish(worker: subprocess.Popen[str]) -> list[str]:
    """The lines that a worker printed until it ended by itself, well."""
    try:
        out, err = worker.communicate(timeout=SECONDS)
    finally:
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


def look(t: Tract, branches: Iterable[str], commits: Iterable[str]) -> dict[str, object]:
    """Everything that can be read of a dialog, each by a name and with its typed error if it has
    one; any other error is a failure."""
    views: dict[str, Callable[[], object]] = {
        "compile": lambda: t.compile().to_openai(),
        "hashes": lambda: t.compile().commit_hashes,
        "tokens": lambda: (t.compile().token_count, t.compile().token_source),
        "log": lambda: list(t.log()),
        "head": lambda: t.head,
        "branches": t.branches,
        "dialogs": t.dialogs,
        "tools": t.get_tools,
        "requests": lambda: requests(t),
        "tool history": lambda: t.tool_history("grep"),
    }
    views |= {f"compile {name}": partial(dump, t, name) for name in branches}
    views |= {f"commit {digest}": partial(t.get_commit, digest) for digest in commits}
    views |= {f"content {digest}": partial(t.get_content, digest) for digest in commits}
    some = list(commits)[::10]  # each is looked for in the whole chain
    views |= {f"tools of {digest}": partial(t.get_commit_tools, digest) for digest in some}
    return {name: outcome(view) for name, view in views.items()}


def requests(t: Tract) -> object:
    return [
        (context.to_anthropic_params(), context.tokens_by_tool, context.tools)
        for context in (t.compile(), t.compile(tools="inline"))
    ]


def dump(t: Tract, at: str) -> object:
    return t.compile(at=at).to_openai()


def outcome(view: Callable[[], object]) -> object:
    """What a view shows, or the typed error that it raises."""
    try:
        return view()
    except TractError as error:
        return error


def wrong(before: dict[str, object], now: dict[str, object]) -> dict[str, str]:
    """What is shown differently now without an error that says so."""
    return {
        name: str(shown)[:300]
        for name, shown in now.items()
        if not same(shown, before[name])
        and (not isinstance(shown, TractError) or isinstance(shown, ForgottenError))
    }


def same(one: object, other: object) -> bool:
    if isinstance(one, TractError):
        return type(one) is type(other)
    return one == other
