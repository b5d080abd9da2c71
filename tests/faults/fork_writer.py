"""Forks again and again while a thread writes: `fork_writer.py DB COUNT`.

Each child appends once. Prints the hashes that parent and children were given, and `refused` for a
child that was told that it cannot go on. A child that waits for a lock is ended by its alarm.
"""

import os
import signal
import sys
import threading
import warnings
from itertools import count

from tract import BusyError, StorageError, Tract

warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of a fork beside threads
db, number = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # in one piece, beside what the other process says


def write(t: Tract, stop: threading.Event, step: threading.Semaphore) -> None:
    for i in count():
        say(t.user(f"thread-{i}").commit_hash)
        step.release()
        if stop.is_set():
            return


def append_once(t: Tract, text: str) -> int:
    signal.alarm(5)
    try:
        say(t.user(text).commit_hash)
    except BusyError:
        return 1
    except StorageError:
        say("refused")
    return 0


with Tract.open(db) as t:
    t.user("before the fork")
    stop, step = threading.Event(), threading.Semaphore(0)
    thread = threading.Thread(target=write, args=(t, stop, step))
    thread.start()
    codes = []
    for i in range(number):
        step.acquire()  # it is at work
        child = os.fork()
        if not child:
            os._exit(append_once(t, f"child-{i}"))
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    thread.join()
sys.exit(any(codes))
