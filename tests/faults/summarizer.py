"""Asks a model that never answers, in every way at once, each in a dialog of its own:
`summarizer.py DB`. Prints `asked` for each."""

import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.summarizing import OPERATIONS
from tract import Tract

db = sys.argv[1]
if db.startswith("postgresql"):
    import tract.storage.postgres  # noqa: F401  (loaded before the clock starts)


class Silent:
    model, window = "silent", 100_000

    def complete(self, *_: Any, **__: Any) -> None:
        print("asked\n", end="", flush=True)  # in one piece, beside what other threads print
        time.sleep(600)


def ask(name: str) -> None:
    with Tract.open(db, dialog=name, llm=Silent()) as t:
        OPERATIONS[name].run(t)


print("ready", flush=True)
sys.stdin.readline()
for name in OPERATIONS:
    threading.Thread(target=ask, args=(name,)).start()
