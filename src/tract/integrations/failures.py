"""What an adapter does about an error of its own: the agent goes on, and tract says what it did not
do."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception_only

from tract.errors import HandlerError, TractError
from tract.tract import Tract

LOGGER = logging.getLogger("tract")


@contextmanager
def logged(t: Tract, purpose: str) -> Iterator[None]:
    """Report an error instead of raising it into the agent, which did not ask for this work."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it costs a record, never a request
        report(t, purpose, error)


def report(t: Tract, purpose: str, reason: Exception) -> None:
    """Add an error to `t.handler_errors`, and log it unless an equal one is there: a database that
    fails does so with each call."""
    fact = "".join(format_exception_only(reason)).strip()[:300]
    error = HandlerError(f"tract could not {purpose} (dialog {t.dialog!r}): {fact}")
    error.__cause__ = reason
    is_known = any(str(known) == str(error) for known in t.handler_errors)
    t.handler_errors.append(error)
    if not is_known:
        traced = None if isinstance(reason, TractError) else reason
        LOGGER.warning("%s", error, exc_info=traced)
