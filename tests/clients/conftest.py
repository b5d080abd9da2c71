"""Fixtures for tests that run agents from npm. `dev.py test --clients` installs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.homes import PROGRAMS, Home
from tests.llm_server import LLMServer, Reply, Request


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The empty home of a person with one project in it."""
    if not PROGRAMS.exists():
        pytest.skip("no agents in .clients: `python3 dev.py test --clients` installs them")
    return Home(tmp_path)


class Model(LLMServer):
    """The model that the agents ask: the replies of a test are its script."""

    def next_reply(self, request: Request) -> Reply:
        if not request.body.get("tools"):  # opencode wants a title for the session
            return Reply("A title")
        return super().next_reply(request)


@pytest.fixture
def model() -> Iterator[LLMServer]:
    with Model() as server:
        yield server
