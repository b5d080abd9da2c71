"""Appends, and tries again until it is done: `retrier.py DB NAME COUNT`. Prints `done NAME HASH`.

After an error of the database nobody knows whether the commit was made. To try again with the same
parent finds out: it is there, or it is made, or another writer's commit is there instead.
"""

import sys
import time
from collections.abc import Callable
from typing import TypeVar

from tract import ROOT, ConflictError, StorageError, Tract

db, name, number = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
Value = TypeVar("Value")


def eventually(action: Callable[[], Value]) -> Value:
    while True:
        try:
            return action()
        except StorageError:
            time.sleep(0.02)


def head() -> str:
    return eventually(lambda: t.head or ROOT)


def append(text: str) -> str:
    parent = head()
    while True:
        try:
            return eventually(lambda: t.user(text, parent=parent).commit_hash)  # noqa: B023
        except ConflictError:
            parent = head()


t = eventually(lambda: Tract.open(db, create=False))
for i in range(int(number)):
    print("done", name, append(f"{name}-{i}"), flush=True)
t.close()
