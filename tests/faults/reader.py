"""Holds a snapshot of a SQLite file: `reader.py DB`. Prints `held`, then waits for a line."""

import sys

from tract.storage.sqlite import binding

print("ready", flush=True)
sys.stdin.readline()
connection = binding.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM commits").fetchall()
print("held", flush=True)
sys.stdin.readline()
