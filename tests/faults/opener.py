"""Uses a database in every way and reports if Python opens its files: `opener.py DB`."""

import os
import sys

from tract import Tract

db = os.fspath(sys.argv[1])
opened: list[object] = []


def watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_EXCL:
        return  # a file that nobody has open yet
    if event in ("open", "os.chmod", "shutil.copyfile") and str(arguments[0]).startswith(db):
        opened.append((event, arguments[0]))


print("ready", flush=True)
sys.stdin.readline()
sys.addaudithook(watch)
with Tract.open(db) as t:
    first = t.user("x")
    t.user("y" * 5_000_000)
    t.compile()
    t.backup(db + ".copy")
    t.forget(first)
    t.gc(dry_run=False)
    t.fsck()
    list(t.search("y"))
print(*(opened or ["ok"]), sep="\n")
