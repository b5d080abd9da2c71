"""What a signal does to a command that has something to clean up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGTERM leave the block before it ends the process, as it would have done at once. A
    terminal that is closed does the same."""
    received: list[int] = []

    def leave(number: int, _: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_IGN)  # a second one must not cut the cleaning up
        raise SystemExit(128 + number)

    before: dict[int, Any] = {signal.SIGTERM: signal.signal(signal.SIGTERM, leave)}
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        # A server handles SIGTERM itself while it runs, and not SIGHUP.
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, _terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)


def _terminate(*_: object) -> None:
    signal.raise_signal(signal.SIGTERM)
