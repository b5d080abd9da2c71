"""Writes each line of its standard input to a SQLite file: `neighbour.py DB`. Prints the hash of
the commit, or the error; after the line `close`, or at the end, it closes the file."""

import sys

from tract import Tract, TractError

with Tract.open(sys.argv[1]) as t:
    t.compile()
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "close\n":
            t.close()
            print("closed", flush=True)
            continue
        try:
            print(t.user(line.strip()).commit_hash, flush=True)
        except TractError as error:
            print(error, flush=True)
