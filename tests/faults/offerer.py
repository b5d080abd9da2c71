"""Appends with ever other tools: `offerer.py DB DIALOG NAME COUNT`; COUNT 0 is forever.

All workers take their tools from one kit, every second one in the opposite order. Prints
`done HASH TOOL…` after each commit.
"""

import sys
from itertools import count, islice

from tract import Tract

db, dialog, name, number = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
if db.startswith("postgresql"):
    import tract.storage.postgres  # noqa: F401  (loaded before the clock starts)
kit = [{"name": f"tool_{i:02}", "input_schema": {"type": "object"}} for i in range(30)]
if name.endswith(("1", "3", "5", "7", "9")):
    kit.reverse()
print("ready", flush=True)
sys.stdin.readline()
with Tract.open(db, dialog=dialog) as t:
    for i in islice(count(), number or None):
        tools = (kit + kit)[i % 30 :][: 1 + i % 10]
        info = t.user(f"{name}-{i}", tools=tools)
        print("done", info.commit_hash, *(tool["name"] for tool in tools), flush=True)
