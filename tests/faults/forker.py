"""Parent and child of a fork go on with one Tract: `forker.py DB COUNT [busy | own]`.

Prints the hashes that both were given. With `busy`, a thread is in a batch while the process forks.
With `own`, the forking thread is, and the child leaves the batch first.
"""

import os
import signal
import sys
import threading
import warnings

from tract import StorageError, Tract

warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of a fork beside threads
db, number = sys.argv[1], int(sys.argv[2])
busy, own = sys.argv[3:] == ["busy"], sys.argv[3:] == ["own"]
print("ready", flush=True)
sys.stdin.readline()


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # in one piece, beside what the other process says


def append(t: Tract, name: str) -> None:
    for i in range(number):
        say(t.user(f"{name}-{i}").commit_hash)


def hold_batch(t: Tract, inside: threading.Event) -> None:
    with t.batch():
        info = t.user("thread")
        inside.set()
        forked.wait()
    say(info.commit_hash)


def fork_in_batch(t: Tract) -> int:
    """The child leaves the batch with an error that says why, and commits nothing of it."""
    with t.batch():
        say(t.user("one").commit_hash)
        child = os.fork()
        status = os.waitpid(child, 0)[1] if child else None
        if child:
            say(t.user("two").commit_hash)
    return 1 if status is None else os.waitstatus_to_exitcode(status)


first = os.getpid()
t = Tract.open(db)
t.user("before the fork")
t.compile()
if own:
    try:
        code = fork_in_batch(t)
    except StorageError as error:
        os._exit(0 if "forked" in str(error) else 2)
    if os.getpid() != first:
        os._exit(1)
    append(t, "parent")
    t.close()
    sys.exit(code)
inside, forked = threading.Event(), threading.Event()
thread = threading.Thread(target=hold_batch, args=(t, inside))
if busy:
    thread.start()
    inside.wait()
child = os.fork()
if not child:
    signal.alarm(5)  # one that hangs ends, and its parent reports that
if not child and busy and not db.startswith("postgresql"):
    # SQLite takes the lock of the thread for one of this process, and nobody releases it.
    for use in (lambda: t.user("child"), t.compile, lambda: Tract.open(db)):
        try:
            use()
        except StorageError as error:
            if "forked" not in str(error):
                os._exit(2)
        else:
            os._exit(1)
    os._exit(0)
forked.set()
append(t, "parent" if child else "child")
if not child:
    assert len(t.compile().messages) > number
    t.close()
    os._exit(0)
if busy:
    thread.join()
_, status = os.waitpid(child, 0)
t.close()
sys.exit(os.waitstatus_to_exitcode(status))
