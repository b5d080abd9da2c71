"""Makes one new SQLite database after the other, beside others who do the same at once:
`creator.py FOLDER COUNT`."""

import sys

from tract import ROOT, Tract

folder, number = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for i in range(number):
    with Tract.open(f"{folder}/{i}.db") as t:
        t.user("first", parent=ROOT)
