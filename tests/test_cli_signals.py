"""What a signal does to a command that has something to clean up."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.cli import environment
from tract.cli.signals import ended_in_order

PROGRAM = """
import signal, sys, time
from tract.cli.signals import ended_in_order
signal.signal(signal.SIGHUP, signal.SIG_IGN if "nohup" in sys.argv else signal.SIG_DFL)
with ended_in_order():
    try:
        print("begun", flush=True)
        while True:
            time.sleep(0.05)  # a signal just before it is seen after it
    finally:
        if "again" in sys.argv:
            signal.raise_signal(signal.SIGTERM)
        print("cleaned up", flush=True)
print("went on", flush=True)
"""


def end(*signals: signal.Signals, words: tuple[str, ...] = ()) -> tuple[int, str]:
    """How a program ends after signals, and what it does before."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        for number in signals:
            process.send_signal(number)
        return process.wait(60), process.stdout.read()


def test_a_signal_lets_the_block_end_first() -> None:
    ended = (-signal.SIGTERM, "cleaned up\n")
    assert end(signal.SIGTERM) == ended
    assert end(signal.SIGHUP) == ended
    assert end(signal.SIGTERM, words=("again",)) == ended


def test_who_ignores_the_end_of_a_terminal_still_does() -> None:
    ended = (-signal.SIGTERM, "cleaned up\n")
    assert end(signal.SIGHUP, signal.SIGTERM, words=("nohup",)) == ended


def test_without_a_signal_everything_is_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    with ended_in_order():
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before
