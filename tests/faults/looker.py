"""Looks at all of a database that may be damaged, for at most five seconds: `looker.py DB`.

Prints the name of what each look came to.
"""

import signal
import sys
from collections.abc import Callable

from tract import Tract, TractError

print("ready", flush=True)
sys.stdin.readline()
signal.alarm(5)


def look(view: Callable[[], object]) -> str:
    try:
        view()
    except TractError as error:
        return type(error).__name__
    return "ok"


with Tract.open(sys.argv[1]) as t:
    print(look(t.compile))
    print(look(lambda: list(t.log())))
    print("ok" if t.fsck().ok else "CorruptError")
