"""What an adapter does about an error of its own: the agent goes on, and the log says why it was
not recorded."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tract.errors import TractError

LOGGER = logging.getLogger("tract")


@contextmanager
def logged(purpose: str) -> Iterator[None]:
    """Log an error of tract's instead of raising it into the agent."""
    try:
        yield
    except TractError as error:
        LOGGER.warning("tract could not %s: %s", purpose, error)
