"""How much a function does, as the number of calls that it makes: no clock, so that a busy machine
changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_made(function: Callable[[], object]) -> int:
    """How many functions are called, those of the interpreter included."""
    count = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
