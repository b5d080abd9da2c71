"""Appends, and tries again until it is done: `retrier.py DB NAME COUNT`. Prints `done NAME HASH`.

After an error of the database nobody knows whether the commit was made. To try again with the same
parent finds out: it is there, or it is made, or another writer's commit is there instead.
"""

import sys
import time

from tract import ROOT, ConflictError, StorageError, Tract

db, name, number = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
t = Tract.open(db, create=False)


def head() -> str:
    while True:
        try:
            return t.head or ROOT
        except StorageError:
            time.sleep(0.02)


def append(text: str) -> str:
    parent = head()
    while True:
        try:
            return t.user(text, parent=parent).commit_hash
        except ConflictError:
            parent = head()
        except StorageError:
            time.sleep(0.02)


for i in range(int(number)):
    print("done", name, append(f"{name}-{i}"), flush=True)
t.close()
