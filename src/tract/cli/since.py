"""The option --since: a day, a time, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import click

from tract.errors import InputError

_AGO = re.compile(r"(\d{1,6})\s*(m|h|d|w)", re.IGNORECASE)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

since_option = click.option(
    "--since",
    metavar="WHEN",
    help="Only from then on: 7d, 12h, 2w, 30m, today, yesterday, or a date such as 2026-11-01, "
    "with or without a time. Days begin at midnight UTC.",
)


def parse_since(text: str, now: datetime) -> datetime:
    """The moment that a person means; InputError if it is none. Times without a zone are in UTC."""
    word = text.strip().lower()
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if word in ("today", "yesterday"):
        return midnight - timedelta(days=int(word == "yesterday"))
    try:
        if ago := _AGO.fullmatch(word):
            return now.astimezone(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = f"--since {text!r:.60}: expected 7d, 12h, 2w, today, or a date such as 2026-11-01"
        raise InputError(message) from None
