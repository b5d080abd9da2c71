"""Errors of adapters do not reach the agent."""

from __future__ import annotations

import logging

import pytest

from tract import InputError
from tract.integrations.failures import logged


def test_an_error_of_tract_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tract"), logged("record a message"):
        raise InputError("no such thing")
    assert caplog.messages == ["tract could not record a message: no such thing"]


def test_other_errors_are_raised() -> None:
    with pytest.raises(KeyError), logged("record a message"):
        raise KeyError("a fault of ours")
