"""Search in a large database: how long a search takes, and what the index of words costs.

`python3 dev.py bench search [--json] [--quick]`. It writes 1 GB of results to a temporary folder:
logs, listings, hits of grep and code, with words as frequent as in real texts, identifiers, paths,
numbers and hashes, the same in each run. Each search returns the first 20 hits with their context.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import NamedTuple

from benchmarks.measure import timed
from benchmarks.report import Result, report
from tract import Tract
from tract.storage.sqlite import connect

AT_MOST = {
    "search_ms_word": 20,
    "search_ms_phrase": 50,
    "search_ms_part": 200,
    "index_size_overhead": 1.4,
    "index_append_overhead": 1.2,
}

RESULT = 4096
HITS = 20
BATCH = 2000


class Scale(NamedTuple):
    results: int
    queries: int
    """Of each kind."""
    appends: int


FULL = Scale(results=1_000_000_000 // RESULT, queries=20, appends=2000)
QUICK = Scale(results=600, queries=3, appends=20)


class Writer:
    """Outputs of tools, made of words that are as frequent as in real ones."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.plain = self._words(20_000)
        self.names = [self._name() for _ in range(400_000)]
        self._plain_weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.plain))))
        self._name_weights = list(accumulate(1 / (rank + 30) for rank in range(len(self.names))))

    def _words(self, number: int) -> list[str]:
        words = dict.fromkeys(_FREQUENT.split())
        while len(words) < number:
            syllables = self._random.choices(_SYLLABLES, k=self._random.choice((1, 2, 2, 3, 3, 4)))
            words["".join(syllables)] = None
        return list(words)

    def _name(self) -> str:
        """An identifier of two or three words."""
        parts = self._random.choices(self.plain[:6000], k=self._random.choice((2, 2, 3)))
        if self._random.random() < 0.3:
            return parts[0] + "".join(part.title() for part in parts[1:])
        return "_".join(parts)

    def result(self) -> str:
        """About 4 KB."""
        random = self._random
        plain = iter(random.choices(self.plain, cum_weights=self._plain_weights, k=460))
        names = iter(random.choices(self.names, cum_weights=self._name_weights, k=160))
        line = random.choice((self._log, self._hit, self._listing, self._code))
        text, size = [], 0
        while size < RESULT - 60:
            text.append(line(plain, names))
            size += len(text[-1]) + 1
        return "\n".join(text)

    def _log(self, plain: Iterator[str], names: Iterator[str]) -> str:
        random = self._random
        at = (
            f"2026-{random.randint(1, 12):02}-{random.randint(1, 28):02}T{random.randint(0, 23):02}"
        )
        text = " ".join(islice(plain, 9))
        return (
            f"{at}:15:42.{random.randint(0, 999):03}Z INFO {next(names)}: {text} id={self._hex(8)}"
        )

    def _hit(self, plain: Iterator[str], names: Iterator[str]) -> str:
        number = self._random.randint(1, 900)
        return f"src/{next(plain)}/{next(names)}.py:{number}:    {' '.join(islice(plain, 6))}"

    def _listing(self, plain: Iterator[str], names: Iterator[str]) -> str:
        size = self._random.randint(10, 99_999)
        return f"-rw-r--r-- 1 root root {size:>9} Mar  4 10:12 {next(names)}.{next(plain)}"

    def _code(self, plain: Iterator[str], names: Iterator[str]) -> str:
        return f"    {next(names)} = {next(names)}({next(plain)}, {next(plain)}[{next(plain)}])"

    def _hex(self, digits: int) -> str:
        return f"{self._random.getrandbits(4 * digits):0{digits}x}"

    def phrase(self) -> str:
        return " ".join(self._random.choices(self.plain[50:3000], k=4))

    def rare(self) -> str:
        return "".join(self._random.choices(_SYLLABLES, k=5)) + "q"

    def pick(self, items: Sequence[str]) -> str:
        return self._random.choice(items)


_FREQUENT = "the of to and in is error file not for with line at failed"
_SYLLABLES = [f"{a}{b}{c}" for a in "bcdfglmnprst" for b in "aeiou" for c in ("", "n", "r", "st")]


class Queries(NamedTuple):
    words: list[str]
    phrases: list[str]
    names: list[str]

    def planted(self, number: int) -> str:
        """A line for some of the results: each query has a few hits."""
        kind = self[number % 3]
        return f"{kind[number // 3 % len(kind)]} here"

    @property
    def parts(self) -> list[str]:
        return [name[3:-3] for name in self.names]


def main(quick: bool) -> Iterator[Result]:
    scale = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        yield from _measure(Path(folder), scale)


def _measure(folder: Path, scale: Scale) -> Iterator[Result]:
    writer = Writer(17)
    queries = Queries(
        [writer.rare() for _ in range(scale.queries)],
        [writer.phrase() for _ in range(scale.queries)],
        [f"{writer.rare()}_{writer.pick(writer.names)}" for _ in range(scale.queries)],
    )
    path = folder / "large.db"
    seconds, _ = timed(lambda: _fill(path, writer, queries, scale.results))
    with Tract.open(path) as t:
        first, _ = timed(lambda: list(t.search(queries.parts[0])))
    kinds = {
        "word": queries.words,
        "phrase": [f'"{phrase}"' for phrase in queries.phrases],
        "part": queries.parts + [name[2:-2] for name in writer.names[1000 : 1000 + scale.queries]],
    }
    for kind, texts in kinds.items():
        with Tract.open(path) as t:
            cold, _ = timed(partial(_search, t, texts[-1]))
            times = [timed(partial(_search, t, text))[0] for text in texts]
        behind = {f"{kind}_worst_ms": 1000 * max(times), f"{kind}_first_ms": 1000 * cold}
        yield Result(f"search_ms_{kind}", 1000 * median(times), behind)
    yield Result("index_size_overhead", *_size_overhead(path, seconds, first, scale.results))
    yield Result("index_append_overhead", *_append_overhead(folder, writer, scale.appends))


def _fill(path: Path, writer: Writer, queries: Queries, number: int) -> None:
    every = max(1, number // (30 * len(queries.words)))
    with Tract.open(path, durability="relaxed") as t:
        for start in range(0, number, BATCH):
            with t.batch():
                for n in range(start, min(start + BATCH, number)):
                    text = writer.result()
                    if n % every == 0:
                        text += f"\n{queries.planted(n // every)}"
                    t.tool_result(f"call_{n}", "bash", text)


def _search(t: Tract, text: str) -> int:
    hits = list(islice(t.search(text, all_dialogs=True), HITS))
    assert hits, text
    return len(hits)


def _size_overhead(
    path: Path, fill: float, first: float, results: int
) -> tuple[float, dict[str, float]]:
    """The file with its index ÷ the same file without it."""
    with_index = path.stat().st_size
    with Tract.open(path) as t:
        t.session.store.words.switch(False)
    with closing(connect(str(path))) as connection:
        connection.execute("DROP INDEX commits_by_content")
        connection.execute("VACUUM")
    without = path.stat().st_size
    return with_index / without, {
        "text_mb": results * RESULT / 1e6,
        "file_mb": without / 1e6,
        "index_mb": (with_index - without) / 1e6,
        "fill_s": fill,
        "first_part_s": first,
    }


def _append_overhead(folder: Path, writer: Writer, appends: int) -> tuple[float, dict[str, float]]:
    """The time of an append with the index ÷ without it. The sum, because merging its parts is
    done now and then."""
    texts = [writer.result() for _ in range(appends)]
    spent = {True: 0.0, False: 0.0}
    with Tract.open(folder / "on.db") as on, Tract.open(folder / "off.db") as off:
        off.session.store.words.switch(False)
        for number, text in enumerate(texts):
            turns = (on, off) if number % 2 else (off, on)
            for t in turns:
                start = perf_counter()
                t.tool_result(f"call_{number}", "bash", text)
                spent[t is on] += perf_counter() - start
    behind = {f"append_ms_{name}": 1000 * spent[on] / appends for name, on in _NAMES}
    return spent[True] / spent[False], behind


_NAMES = (("indexed", True), ("plain", False))


if __name__ == "__main__":
    report("search", __doc__, AT_MOST, main)
