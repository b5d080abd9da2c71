"""Forks while a thread opens a file that is locked: `fork_opener.py DB`. Prints the error that the
child gets when it opens the file too, and `forked`; then waits until the thread has opened it."""

import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

from tract import StorageError, Tract

warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of a fork beside threads
db = sys.argv[1]
print("ready", flush=True)
sys.stdin.readline()


def is_open() -> bool:
    return any(os.path.realpath(link) == db for link in Path("/proc/self/fd").iterdir())


def open_and_write() -> None:
    with Tract.open(db) as t:
        t.user("thread")


def open_in_child() -> str:
    signal.alarm(5)
    try:
        with Tract.open(db):
            return "opened"
    except StorageError as error:
        return str(error)


thread = threading.Thread(target=open_and_write)
thread.start()
while not is_open():
    time.sleep(0.01)
if not os.fork():
    os.write(1, f"{open_in_child()}\n".encode())
    os._exit(0)
_, status = os.wait()
print("forked", os.waitstatus_to_exitcode(status), flush=True)
thread.join()
