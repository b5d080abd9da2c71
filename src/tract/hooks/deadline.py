"""Work that an agent waits for, but not longer than a deadline.

The work is done by a child process, so that neither a lock, nor a disk, nor a long computation can
keep the agent waiting. What is late is finished in the background, up to a second limit.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

Answer = Callable[[bytes], bool]
"""Sends the answer to the agent; False if it does not wait any more."""
Work = Callable[[Answer], None]

SECONDS = 1.0
LATE_SECONDS = 60
"""How long late work may go on: longer than it waits for a lock."""
END = b"\n"
"""An answer ends with it: without one it is cut."""
LEAST = 0.05


def remaining(total: float) -> float:
    """The seconds that are left. The process has used some to start."""
    return max(total - time.process_time(), LEAST)


def run_in_time(work: Work, seconds: float) -> bytes | None:
    """Return the answer of the work; None if it is late. What it does after that is not lost."""
    if not hasattr(os, "fork"):
        return _watched(work, seconds)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _work_in_child(work, theirs)
    os.close(theirs)
    try:
        return _read(ours, time.monotonic() + seconds)
    finally:
        os.close(ours)


def _work_in_child(work: Work, pipe: int) -> None:
    """Do the work without anything that would make the agent wait for this process, too."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LATE_SECONDS)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        work(lambda answer: _send(pipe, answer))
        code = 0
    finally:
        os._exit(code)


def _send(pipe: int, answer: bytes) -> bool:
    try:
        rest = memoryview(answer + END)
        while rest:
            rest = rest[os.write(pipe, rest) :]
    except OSError:  # the reader is gone
        return False
    return True


def _read(pipe: int, until: float) -> bytes | None:
    """The answer, once the work is done, or in any case when the time is up."""
    data, is_open = bytearray(), True
    while is_open:
        seconds = until - time.monotonic()
        if seconds <= 0 or not select.select([pipe], [], [], seconds)[0]:
            return _complete(data)
        piece = os.read(pipe, 1 << 20)
        data += piece
        is_open = bool(piece)
    return _complete(data) or b""  # without an answer it failed, and has reported why


def _complete(data: bytearray) -> bytes | None:
    return bytes(data.removesuffix(END)) if data.endswith(END) else None


def _watched(work: Work, seconds: float) -> bytes | None:
    """The same where a process cannot fork: the work is abandoned with its thread."""
    answers: list[bytes] = []
    is_done = threading.Event()

    def send(answer: bytes) -> bool:
        answers.append(answer)
        is_done.set()
        return True

    def run() -> None:
        with suppress(SystemExit):
            work(send)
        is_done.set()

    threading.Thread(target=run, daemon=True).start()
    if not is_done.wait(seconds):
        return None
    return answers[0] if answers else b""
