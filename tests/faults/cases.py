"""An operation is interrupted, again and again, each time on a new copy of the same database."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.harness import execute, go, is_postgres, start
from tests.faults.operations import OPERATIONS, SECRET, State, state
from tests.faults.tracing import Point, points, tracing
from tract import Tract


class Nursery:
    """Processes that perform operations, one at a time; see nursery.py."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = start("nursery.py", folder, *options)
        go(self.process)

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def child(self, *job: object) -> int:
        """The number of a process that waits. One that a failed test left is killed first."""
        self.tell("kill\nhello")
        self.lines_until("hello")
        self.tell(" ".join(map(str, job)))
        return int(self.lines_until("child")[-1].split()[1])

    def line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        return line.rstrip("\n")

    def lines_until(self, *words: str) -> list[str]:
        """All lines up to one that begins with one of these words."""
        lines = [self.line()]
        while lines[-1].split()[0] not in words:
            lines.append(self.line())
        return lines

    def close(self) -> None:
        self.process.communicate()


class Case:
    """One operation on one kind of database."""

    def __init__(self, nursery: Nursery, name: str, place: Path, server: str | None = None) -> None:
        """`server` is the URL of a PostgreSQL server; without it, the database is a file."""
        self.nursery, self.name, self.server = nursery, name, server
        self.operation = OPERATIONS[name]
        self.template, self.folder = place / "template", place / "now"
        self.template.mkdir()
        self.db = self._db(self.folder)
        if server:
            execute(server, f"CREATE DATABASE {self._database(self.template)} TEMPLATE template0")
        self.operation.prepare(self._db(self.template), self.template)
        self.renew()
        self.before = self.state()
        self.repeat()
        self.after = self.state()
        self.after_again = self.state_with("again")
        self.renew()
        self.before_again = self.state_with("again")
        assert self.before != self.after

    def _database(self, folder: Path) -> str:
        return f"{self.name}_{folder.name}_{os.getpid()}"

    def _db(self, folder: Path) -> str:
        if not self.server:
            return str(folder / "t.db")
        return self.server.replace("/postgres?", f"/{self._database(folder)}?")

    def renew(self) -> None:
        """Bring back what was before."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.template, self.folder)
        if self.server:
            self._drop(self.folder)
            template, database = map(self._database, (self.template, self.folder))
            execute(self.server, f"CREATE DATABASE {database} TEMPLATE {template}")

    def _drop(self, folder: Path) -> None:
        assert self.server
        execute(self.server, f"DROP DATABASE IF EXISTS {self._database(folder)} WITH (FORCE)")

    def close(self) -> None:
        shutil.rmtree(self.folder)
        if self.server:
            self._drop(self.folder)
            self._drop(self.template)

    def child(self, *again: str) -> int:
        """A process that has a new copy, and waits."""
        self.renew()
        return self.nursery.child(self.name, self.db, self.folder, *again)

    def state(self) -> State:
        return state(self.db, self.folder)

    def state_with(self, text: str) -> State:
        """As it is after one more message."""
        with Tract.open(self.db) as t:
            t.user(text)
        return self.state()

    def calls(self, kinds: tuple[str, ...]) -> list[Point]:
        """Every call of these kinds that the operation makes, in their order."""
        log = self.template.with_name("log")
        with tracing(self.child(), kinds, log=log):
            self.nursery.tell("go")
            self.nursery.lines_until("end")
        return points(log)

    def repeat(self) -> None:
        with Tract.open(self.db) as t:
            self.operation.run(t, self.folder)

    def check(self, lines: list[str]) -> bool:
        """After a fault: `fsck`; what is there is what was before or what comes after; what was
        acknowledged came after. What did not come can be repeated. Returns whether it came."""
        if is_postgres(self.db):
            self._wait_for_server()
        before, after = self.before, self.after
        if "done again" in lines:
            before, after = self.before_again, self.after_again
        now = self.state()
        if now != before:
            assert now == after
        assert now == after or "done" not in lines
        if "done again" not in lines:
            self._carry_on(now == before)
        return now == after

    def _carry_on(self, is_before: bool) -> None:
        if is_before or self.name == "forget":
            self.repeat()
            assert self.state() == self.after
        if self.name == "forget":
            self.assert_forgotten()
        with Tract.open(self.db) as t:
            assert t.get_content(t.user("later")) == "later"

    def _wait_for_server(self) -> None:
        """A server finishes what it was asked for, and only then sees that its client is gone."""
        assert self.server
        name = self._database(self.folder)
        while execute(self.server, "SELECT 1 FROM pg_stat_activity WHERE datname = ?", (name,)):
            pass

    def assert_forgotten(self) -> None:
        """No file has the secret."""
        holders = [path for path in self.folder.iterdir() if SECRET.encode() in path.read_bytes()]
        assert holders == []


@contextmanager
def case_of(nursery: Nursery, name: str, place: Path, server: str | None = None) -> Iterator[Case]:
    case = Case(nursery, name, place, server)
    try:
        yield case
    finally:
        case.close()
