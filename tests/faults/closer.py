"""A child goes on with a SQLite file that its parent closes: `closer.py DB`.

Prints the hashes that the child was given. The child is killed, so that it checkpoints nothing.
"""

import os
import signal
import sys
import warnings

from tract import Tract

warnings.simplefilter("ignore", DeprecationWarning)
print("ready", flush=True)
sys.stdin.readline()
t = Tract.open(sys.argv[1])
t.user("before the fork")
wrote, closed = os.pipe(), os.pipe()
child = os.fork()
if not child:
    signal.alarm(20)
    hashes = [t.user("beside its parent").commit_hash]
    os.write(wrote[1], b".")
    os.read(closed[0], 1)
    hashes += [t.user("after its parent").commit_hash]
    os.write(1, "".join(f"{digest}\n" for digest in hashes).encode())
    os.kill(os.getpid(), signal.SIGKILL)
os.read(wrote[0], 1)
t.close()
os.write(closed[1], b".")
os.waitpid(child, 0)
