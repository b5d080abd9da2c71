"""What a dialog shows of results, as the arguments of an adapter say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tract.tract import Tract

Results = int | Mapping[str, Any]
"""The arguments of `Tract.configure_results`, or just its `inline_tokens`."""
Auto = int | Mapping[str, Any]
"""The arguments of `Tract.configure_tool_summarization`, or just its `auto_threshold`."""


def configure(tract: Tract, results: Results | None = None, auto: Auto | None = None) -> None:
    """Set what is passed. None and an empty mapping leave the settings of the dialog."""
    if results not in (None, {}):
        tract.configure_results(**_arguments(results, "inline_tokens"))
    if auto not in (None, {}):
        tract.configure_tool_summarization(**_arguments(auto, "auto_threshold"))


def _arguments(value: int | Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {name: value}
