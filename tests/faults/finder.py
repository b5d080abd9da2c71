"""Looks for bytes in a folder's files: `finder.py FOLDER HEX…`. Prints the name of each that has
one. It is a process of its own because whoever opens a database file breaks SQLite's locks."""

import sys
from pathlib import Path

print("ready", flush=True)
sys.stdin.readline()
needles = [bytes.fromhex(needle) for needle in sys.argv[2:]]
for path in sorted(Path(sys.argv[1]).iterdir()):
    data = path.read_bytes()
    if any(needle in data for needle in needles):
        print(path.name)
