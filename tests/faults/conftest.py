"""Fixtures for the tests of faults: a fast place for many small databases, and warm processes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.cases import Nursery
from tests.faults.tracing import why_not
from tests.scratch import memory


@pytest.fixture
def scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=memory(), prefix="tract-faults-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path_factory.mktemp("nursery"))
    yield nursery
    nursery.close()


@pytest.fixture(scope="session")
def journal_nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Its processes use a rollback journal, unless the SQLite of the standard library is new."""
    nursery = Nursery(tmp_path_factory.mktemp("nursery"), "journal")
    yield nursery
    nursery.close()


@pytest.fixture
def strace() -> None:
    """Skips the test where no process can be traced."""
    if reason := why_not():
        pytest.skip(reason)
