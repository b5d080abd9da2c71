"""Numbers for people."""

from __future__ import annotations

MILLION = 1_000_000
UNITS = {MILLION * MILLION: "T", 1000 * MILLION: "G", MILLION: "M", 1000: "k"}


def short(number: int) -> str:
    """A number in at most four characters: 950, 1.2k, 12k, 1.2M."""
    for unit, word in UNITS.items():
        value = number / unit
        if value >= 0.9995:  # 999.5 of the unit below would be written as a thousand
            return f"{value:.1f}{word}" if value < 9.95 else f"{value:.0f}{word}"
    return str(number)
