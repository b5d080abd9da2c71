"""Fixtures for every test: both databases, and one private PostgreSQL server behind them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings

from tests.corpus import DATA
from tests.postgres import Server

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

_names = count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The soak begins first, because nothing else takes as long."""
    items.sort(key=lambda item: not (item.path.name == "test_soak.py" and "long" in item.keywords))


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
    """A private PostgreSQL server, started for the first test that asks."""
    with Server() as server:
        server.start()
        yield server.url
