"""The command line as tests run it: in this process, as one of its own, on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tract.cli import cli
from tract.storage.sqlite import binding

ROOT = Path(__file__).resolve().parent.parent
HOSTILE = "a\x1b[31mred\x07\x9b2J\u202eevil\u2066\x00\x7f\r\U000e0041\ud800end"
# What no terminal may get from a stored text: controls, formats that hide or reorder, surrogates,
# and separators that start a new line.
DANGEROUS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
ALLOWED = set("\n\t\u200c\u200d")


def environment(**more: str) -> dict[str, str]:
    ours = ("TRACT_", "_TRACT", "NO_COLOR", "PYTHONIOENCODING")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | {"TERM": "xterm"} | more


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """`tract` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tract", *args],
        env=environment(**options.pop("env", {})),
        text=True,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        **options,
    )


def invoke(*args: str, stdin: str | bytes | None = None, **env: str) -> Result:
    """`tract` in this process."""
    unset = dict.fromkeys(
        ("TRACT_DB", "TRACT_DIALOG", "TRACT_OBJECTS", "TRACT_TOKEN", "TRACT_MODEL", "NO_COLOR"),
        None,
    )
    return CliRunner().invoke(cli, args, input=stdin, env=unset | env, prog_name="tract")


def ok(*args: str, stdin: str | bytes | None = None, **env: str) -> str:
    result = invoke(*args, stdin=stdin, **env)
    assert result.exit_code == 0, result.output
    return result.stdout


def ok_json(*args: str, stdin: str | bytes | None = None) -> Any:
    out = ok(*args, "--json", stdin=stdin)
    assert out.isascii()
    return json.loads(out)


def check_golden(path: Path, text: str) -> None:
    if os.environ.get("TRACT_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    name = path.relative_to(ROOT)
    hint = f"{name} is not current: TRACT_GOLDEN=write .venv/bin/python -m pytest tests/test_cli.py"
    assert path.read_text("utf-8") == text, hint


def flip_a_byte(database: Path) -> None:
    connection = binding.connect(str(database))
    connection.execute("UPDATE blobs SET payload = X'22626F6F6D22'")
    connection.commit()
    connection.close()


def dangerous(text: str) -> set[str]:
    return {
        char for char in text if unicodedata.category(char) in DANGEROUS and char not in ALLOWED
    }


@contextmanager
def on_a_terminal(*args: str, columns: int = 80, **env: str) -> Iterator[tuple[Any, int]]:
    """`tract` with a terminal for everything, and our end of that terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "tract", *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(**env),
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def screen_of(*args: str, columns: int = 80, **env: str) -> str:
    with on_a_terminal(*args, columns=columns, **env) as (process, ours):
        text = read_until(ours, None)
        assert process.wait(60) == 0, text
    return text


def read_until(terminal: int, end: str | None) -> str:
    data = b""
    while end is None or end not in data.decode(errors="replace"):
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        data += chunk
    return data.decode()


def interrupted(process: subprocess.Popen[bytes]) -> int:
    """Interrupt it until it ends: a signal just before it starts to read is seen after reading."""
    for _ in range(30):
        process.send_signal(signal.SIGINT)
        try:
            return process.wait(2)
        except subprocess.TimeoutExpired:
            continue
    pytest.fail("it does not end")


HEAVY = {
    "asyncio",
    "concurrent",
    "email",
    "http",
    "hypothesis",
    "multiprocessing",
    "obstore",
    "psycopg",
    "pydantic",
    "pygments",
    "rich",
    "splintr",
    "ssl",
    "subprocess",
    "textual",
    "unittest",
}


def imported_by(*args: str) -> set[str]:
    """What a command imports: as the interpreter tells, and what is there in the end."""
    script = "import atexit, sys, tract.cli; atexit.register(lambda: print(*sys.modules)); "
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script + "tract.cli.main()", *args],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    told = re.findall(r"^import time:.*\| +([\w.]+)$", done.stderr, re.MULTILINE)
    return {*told, *done.stdout.splitlines()[-1].split()}


def content_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
