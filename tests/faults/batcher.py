"""Appends in batches of 20, forever: `batcher.py DB NAME`. Prints `done NUMBER` after each."""

import sys
from itertools import count

from tract import Tract

db, name = sys.argv[1:]
if db.startswith("postgresql"):
    import tract.storage.postgres  # noqa: F401  (loaded before the clock starts)
print("ready", flush=True)
sys.stdin.readline()
with Tract.open(db) as t:
    for number in count():
        with t.batch():
            for i in range(20):
                t.user(f"{name}-{number}-{i}")
        print("done", number, flush=True)
