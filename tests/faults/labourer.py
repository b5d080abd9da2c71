"""Changes a SQLite database in every way: `labourer.py DB DURABILITY [journal]`. With `journal`, it
uses the SQLite of the standard library, and so perhaps a rollback journal.

After each step it prints `done NAME PICTURE`, with writev, as one call of its own.
"""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
db, durability, *journal = sys.argv[1:]
if journal:
    sys.modules["pysqlite3"] = None  # type: ignore[assignment]
from tests.faults.operations import SECRET, commits, picture  # noqa: E402
from tract import ToolCall, Tract  # noqa: E402

ROUNDS = 4


def connect() -> Tract:
    t = Tract.open(db, durability=durability)
    t.store.driver.run("PRAGMA wal_autocheckpoint = 25")  # so that there are many, also half ones
    return t


def work(number: int) -> Iterator[tuple[str, Tract]]:
    """Each step is one transaction."""
    dice = random.Random(number)
    t = connect()
    yield "open", t
    asked = t.user(f"question {number}")
    yield "user", t
    t.assistant("I look.", tool_calls=[ToolCall(f"c{number}", "grep")])
    yield "call", t
    result = t.tool_result(f"c{number}", "grep", dice.randbytes(12_000).hex())
    yield "result", t
    t.reshape({result.commit_hash: "reference"})
    yield "reshape", t
    t.user("asked again", edit=asked)
    yield "edit", t
    with t.batch():
        for i in range(5):
            t.user(f"{number} {i} {dice.random()}")
    yield "batch", t
    t.compress(commits(t)[-5:-1], content="Five came.")
    yield "compress", t
    t.branch(f"aside-{number}")
    yield "branch", t
    t.checkout(f"aside-{number}")
    yield "checkout", t
    secret = t.user(f"{SECRET} {number}")
    yield "secret", t
    t.forget(secret)
    yield "forget", t
    t.checkout("main")
    yield "back", t
    t.delete_branch(f"aside-{number}")
    yield "delete", t
    t.gc(dry_run=False, grace_seconds=-3600)
    yield "gc", t
    t.close()


if __name__ == "__main__":
    with Tract.open() as t:
        picture(t)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(ROUNDS):
        for name, t in work(number):
            os.writev(1, [f"done {name}-{number} {picture(t)}\n".encode()])
