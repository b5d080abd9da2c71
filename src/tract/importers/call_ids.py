"""Ids for calls that have none, for importers."""

from __future__ import annotations

from tract.core.call_ids import CallIds

__all__ = ["CallIds"]
