"""Appends until the database has another schema: `old_writer.py DB NAME`. Prints `done HASH` after
each commit, and `stopped` at the end."""

import sys
from itertools import count

from tract import SchemaError, Tract

db, name = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
try:
    with Tract.open(db, create=False) as t:
        for i in count():
            print("done", t.user(f"{name}-{i}").commit_hash, flush=True)
except SchemaError:
    print("stopped", flush=True)
