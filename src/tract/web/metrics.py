"""Counters of the server, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
"""Seconds."""


class Metrics:
    """What was answered, and how fast. For the event loop alone."""

    def __init__(self) -> None:
        self.running = 0
        self._answers: Counter[tuple[str, int]] = Counter()
        self._within: Counter[tuple[str, int]] = Counter()  # by the number of the bucket
        self._seconds: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def count(self, route: str, status: int, seconds: float, size: int) -> None:
        self._answers[route, status] += 1
        self._bytes[route] += size
        self._seconds[route] += seconds  # type: ignore[assignment]
        self._within[route, bisect_left(BUCKETS, seconds)] += 1

    def text(self, waiting: int) -> str:
        return "\n".join([*self._lines(waiting), ""])

    def _lines(self, waiting: int) -> Iterator[str]:
        yield from _family("tract_requests_total", "counter", "Requests, by route and status.")
        for (route, status), number in sorted(self._answers.items()):
            yield f'tract_requests_total{{route="{route}",status="{status}"}} {number}'
        yield from _family("tract_request_seconds", "histogram", "Time until the answer began.")
        for route in sorted(self._seconds):
            yield from self._histogram(route)
        yield from _family("tract_response_bytes_total", "counter", "Bytes of answers.")
        for route, size in sorted(self._bytes.items()):
            yield f'tract_response_bytes_total{{route="{route}"}} {size}'
        yield from _family("tract_requests_running", "gauge", "Requests that run now.")
        yield f"tract_requests_running {self.running}"
        yield from _family("tract_requests_waiting", "gauge", "Requests at the database.")
        yield f"tract_requests_waiting {waiting}"

    def _histogram(self, route: str) -> Iterator[str]:
        name = "tract_request_seconds"
        total = sum(number for (known, _), number in self._answers.items() if known == route)
        faster = accumulate(self._within[route, number] for number in range(len(BUCKETS)))
        for bound, count in zip(BUCKETS, faster, strict=True):
            yield f'{name}_bucket{{route="{route}",le="{bound}"}} {count}'
        yield f'{name}_bucket{{route="{route}",le="+Inf"}} {total}'
        yield f'{name}_sum{{route="{route}"}} {self._seconds[route]:.6f}'
        yield f'{name}_count{{route="{route}"}} {total}'


def _family(name: str, kind: str, text: str) -> Iterable[str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"
