"""Holds the write lock of a SQLite file: `locker.py DB [alone]`. Prints `held`, then waits for a
line. With `alone`, no one can read it either."""

import sys

from tract.storage.sqlite import binding

print("ready", flush=True)
sys.stdin.readline()
connection = binding.connect(sys.argv[1], isolation_level=None)
if sys.argv[2:] == ["alone"]:
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
