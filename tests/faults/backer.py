"""Copies a database and is killed before the copy has its name: `backer.py DB COPY`."""

import os
import signal
import sys

from tract import Tract
from tract.storage import files

files.publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with Tract.open(sys.argv[1]) as t:
    print("ready", flush=True)
    sys.stdin.readline()
    t.backup(sys.argv[2])
