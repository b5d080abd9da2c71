"""The statements that a database runs, for tests that count them."""

from __future__ import annotations

from tract import Tract
from tract.storage.sqlite import Sqlite


def statements(t: Tract) -> list[str]:
    """Those that are run from here on; not what a table of SQLite runs itself, in comments."""
    seen: list[str] = []
    driver = t.session.store.driver
    assert isinstance(driver, Sqlite)

    def note(sql: str) -> None:
        if not sql.startswith("--"):
            seen.append(sql)

    driver.connection.set_trace_callback(note)
    return seen
