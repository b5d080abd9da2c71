"""Fixtures for tests that run agents from npm. `dev.py test --clients` installs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.homes import PROGRAMS, Home
from tests.llm_server import LLMServer


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The empty home of a person with one project in it."""
    if not PROGRAMS.exists():
        pytest.skip("no agents in .clients: `python3 dev.py test --clients` installs them")
    return Home(tmp_path)


@pytest.fixture
def model() -> Iterator[LLMServer]:
    """The provider that the agents ask; its replies are the script of the test."""
    with LLMServer() as server:
        yield server
