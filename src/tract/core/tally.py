"""How often something came, so that a copy of a long count costs little. Pure."""

from __future__ import annotations


class Tally:
    """A count that grows. A copy of it shares what was counted before: none of that is changed."""

    def __init__(self) -> None:
        self._own: dict[str, int] = {}  # what was counted since the last copy
        self._shared: tuple[dict[str, int], ...] = ()  # what was counted before, the newest first

    def __getitem__(self, key: str) -> int:
        if key in self._own:
            return self._own[key]
        for counts in self._shared:
            if key in counts:
                return counts[key]
        return 0

    def __contains__(self, key: str) -> bool:
        return self[key] > 0

    def add(self, key: str) -> int:
        """Count it once more, and return how often it came."""
        self._own[key] = count = self[key] + 1
        return count

    def copy(self) -> Tally:
        """The same count, to go on apart. Threads may copy one at the same time: what is counted is
        shared before it is no longer its own."""
        if self._own:
            self._shared = _merged(self._own, self._shared)
            self._own = {}
        other = Tally()
        other._shared = self._shared
        return other


def _merged(
    newest: dict[str, int], older: tuple[dict[str, int], ...]
) -> tuple[dict[str, int], ...]:
    """Each is at least twice as long as the one before it: there are few, and each key is rarely
    copied."""
    while older and len(older[0]) < 2 * len(newest):
        newest, older = older[0] | newest, older[1:]
    return newest, *older
