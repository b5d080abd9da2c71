"""Reads and writes a SQLite file as a user who may only read it: `unprivileged.py DB`.

Prints what it read, the error of its write, and what it reads then.
"""

import os
import pwd
import sys

from tract import Tract, TractError


def texts(t: Tract) -> str:
    return " ".join(str(message.content) for message in t.compile().messages)


with Tract.open() as warm:  # every module is loaded while we still may
    warm.user("x")
    texts(warm)
print("ready", flush=True)
sys.stdin.readline()
if os.geteuid() == 0:
    nobody = pwd.getpwnam("nobody")
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
try:
    with Tract.open(sys.argv[1], create=False) as t:
        print("read", texts(t))
        try:
            t.user("not written")
        except TractError as error:
            print(type(error).__name__)
        print("read", texts(t))
except TractError as error:
    print("open", type(error).__name__)
