"""Performs operations, each in a fork of this process, which has done all of them once before: a
child starts in a millisecond and loads no file. `nursery.py FOLDER [journal]`; with `journal`, it
uses the SQLite of the standard library, and so perhaps a rollback journal.

`OPERATION DB FOLDER [again]` makes a child, whose number is printed as `child PID`. It waits for
`go`; `kill` kills it; `end STATUS` is printed after its end. Between children, `hello` is answered.
The child prints `done` after the
operation, or `error TYPE TEXT`. With `again` it prints `pause` and waits for another `go`. Then it
appends with the same Tract, and prints `done again`.
"""

import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
if sys.argv[2:] == ["journal"]:
    sys.modules["pysqlite3"] = None  # type: ignore[assignment]
from tests.faults.operations import OPERATIONS
from tract import Tract, TractError


def say(line: str) -> None:
    os.writev(1, [f"{line}\n".encode()])  # a call that no test makes fail


def attempt(name: str, action: Callable[[], object]) -> None:
    try:
        action()
        say(name)
    except TractError as error:
        say(f"error {type(error).__name__} {error}")


def perform(name: str, db: str, folder: Path, gate: int, again: bool) -> None:
    opened: list[Tract] = []
    attempt("opened", lambda: opened.append(Tract.open(db)))
    if opened:
        attempt("done", lambda: OPERATIONS[name].run(opened[0], folder))
    if again:
        say("pause")
        os.read(gate, 1)
        opened = opened or [Tract.open(db)]
        attempt("done again", lambda: opened[0].user("again"))
    if opened:
        attempt("closed", opened[0].close)


def child(name: str, db: str, folder: str, again: list[str], gate: int) -> None:
    status = 1
    try:
        signal.alarm(60)  # one that hangs ends, and its test fails
        os.read(gate, 1)
        perform(name, db, Path(folder), gate, bool(again))
        status = 0
    except BaseException:  # noqa: BLE001  (the parent's stack is below)
        say(f"untyped {traceback.format_exc()!r}")
    finally:
        os._exit(status)


def serve(line: str) -> None:
    name, db, folder, *again = line.split()
    inner, outer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(outer)
        child(name, db, folder, again, inner)
    os.close(inner)
    print("child", pid, flush=True)
    ended = os.pidfd_open(pid)
    while ended not in select.select([0, ended], [], [])[0]:
        if read_line() == "kill\n":
            os.kill(pid, signal.SIGKILL)
            break
        os.write(outer, b"g")
    os.close(outer)
    os.close(ended)
    _, status = os.waitpid(pid, 0)
    say(f"end {os.waitstatus_to_exitcode(status)}")


def read_line() -> str:
    """Without a buffer, which would hide from `select` that more has come."""
    line = b""
    while not line.endswith(b"\n"):
        if not (piece := os.read(0, 1)):
            return ""
        line += piece
    return line.decode()


if __name__ == "__main__":
    import tract.storage.postgres  # noqa: F401

    folder = Path(sys.argv[1])
    for name, operation in OPERATIONS.items():
        db = str(folder / f"{name}.db")
        operation.prepare(db, folder)
        with Tract.open(db) as t:
            operation.run(t, folder)
    print("ready", flush=True)
    read_line()
    while job := read_line():
        if job == "hello\n":
            say("hello")
        elif job not in ("go\n", "kill\n"):  # those came too late
            serve(job)
