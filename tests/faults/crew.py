"""Runs a worker several times at once: `crew.py SCRIPT ARGUMENT… [-- ARGUMENT…]…`.

Each is a fork of this process, which has opened nothing: to import everything takes longer than
most of their work.
"""

import io
import os
import runpy
import sys
import traceback
from itertools import groupby
from pathlib import Path

from tract import Tract

script, *rest = sys.argv[1:]
members = [list(group) for is_end, group in groupby(rest, "--".__eq__) if not is_end]


def run(arguments: list[str]) -> None:
    sys.argv = [script, *arguments]
    sys.stdin = io.StringIO("go\n")
    # A line is written in one piece, beside those of the others.
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
    try:
        runpy.run_path(str(Path(__file__).parent / script))
    except BaseException:  # noqa: BLE001  (the fork must not go on as its parent)
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


with Tract.open() as warm:  # everything is loaded, the token counter too
    warm.user("x")
print("ready", flush=True)
sys.stdin.readline()
children = []
for arguments in members:
    child = os.fork()
    if not child:
        run(arguments)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
sys.exit(any(codes))
