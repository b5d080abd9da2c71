"""Fixtures for the tests of faults: a fast place for many small databases, and warm processes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.cases import Nursery
from tests.faults.tracing import why_not

MEMORY = Path("/dev/shm")


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder in memory where there is one: no fault here is one of a real disk."""
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(dir=memory, prefix="tract-faults-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path_factory.mktemp("nursery"))
    yield nursery
    nursery.close()


@pytest.fixture
def strace() -> None:
    """Skips the test where no process can be traced."""
    if reason := why_not():
        pytest.skip(reason)
