"""Appends to a branch: `crowd.py DB DURABILITY BRANCH NAME COUNT`. Prints `done NAME HASH` after
each commit."""

import sys

from tract import Tract

db, durability, branch, name, number = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
with Tract.open(db, durability=durability, create=False) as t:
    t.checkout(branch)
    for i in range(int(number)):
        print("done", name, t.user(f"{name}-{i}").commit_hash, flush=True)
