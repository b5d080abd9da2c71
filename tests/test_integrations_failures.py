"""Errors of adapters do not reach the agent."""

from __future__ import annotations

import logging

import pytest

from tract import InputError, Tract
from tract.integrations.failures import logged

FACT = "tract could not record a message (dialog 'default'): "


@pytest.mark.parametrize("error", [InputError("no such thing"), KeyError("a fault of ours")])
def test_an_error_is_logged_and_kept(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    with Tract.open() as t, caplog.at_level(logging.WARNING, "tract"):
        with logged(t, "record a message"):
            raise error
        [kept] = t.handler_errors
    assert caplog.messages == [str(kept)]
    assert str(kept).startswith(FACT)
    assert kept.__cause__ is error


def test_only_a_fault_of_ours_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    with Tract.open() as t, caplog.at_level(logging.WARNING, "tract"):
        with logged(t, "record a message"):
            raise InputError("no such thing")
        assert "Traceback" not in caplog.text
        with logged(t, "record a message"):
            raise KeyError("a fault of ours")
    assert "Traceback" in caplog.text


def test_equal_errors_are_logged_once_and_all_kept(caplog: pytest.LogCaptureFixture) -> None:
    with Tract.open() as t, caplog.at_level(logging.WARNING, "tract"):
        for purpose in ("record a message", "record a message", "record a tool"):
            with logged(t, purpose):
                raise InputError("no such thing")
        assert len(t.handler_errors) == 3
    assert len(caplog.messages) == 2


def test_an_interruption_is_raised() -> None:
    with Tract.open() as t, pytest.raises(KeyboardInterrupt), logged(t, "record a message"):
        raise KeyboardInterrupt
