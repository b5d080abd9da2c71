"""Holds the write lock of a SQLite file: `locker.py DB`. Prints `held`, then waits for a line."""

import sys

from tract.storage.sqlite import binding

print("ready", flush=True)
sys.stdin.readline()
connection = binding.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
