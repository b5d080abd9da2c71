"""Appends to the main branch: `appender.py DB NAME COUNT`; COUNT 0 is forever.

Prints `try PARENT TEXT` before each commit and `done HASH` after it. The name makes texts unique.
"""

import sys
from itertools import count, islice

from tract import Tract

db, name, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
if db.startswith("postgresql"):
    import tract.storage.postgres  # noqa: F401  (loaded before the clock starts)
print("ready", flush=True)
sys.stdin.readline()
with Tract.open(db) as t:
    for i in islice(count(), number or None):
        text = f"{name}-{i}"
        print("try", t.head or "ROOT", text, flush=True)
        print("done", t.user(text).commit_hash, flush=True)
