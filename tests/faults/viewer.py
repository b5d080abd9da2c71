"""Reads a SQLite file, whenever asked, as a user who may only read it: `viewer.py DB`."""

import os
import pwd
import sys

from tract import Tract, TractError

with Tract.open() as warm:  # every module is loaded while we still may
    warm.user("x")
    warm.compile()
print("ready", flush=True)
sys.stdin.readline()
if os.geteuid() == 0:
    nobody = pwd.getpwnam("nobody")
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
try:
    with Tract.open(sys.argv[1], create=False) as t:
        print("open", flush=True)
        for _ in sys.stdin:
            try:
                print(*[message.content for message in t.compile().messages], flush=True)
            except TractError as error:
                print(error, flush=True)
except TractError as error:
    print(error, flush=True)
