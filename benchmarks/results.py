"""Results of tools: what it costs to keep them whole and to show something shorter.

`python3 dev.py bench results [--json] [--quick]`. Every pair is measured in the same run.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

from benchmarks.measure import in_new_process, medians, ratio, take_turns, timed
from benchmarks.outputs import KINDS, TEXTS, Kind, byte_size, log, output
from benchmarks.report import Numbers, Result, report
from tract import CompressorConfig, Tract, compress_messages
from tract.content.preview import gist

AT_MOST = {
    "lazy_open_vs_full": 0.1,
    "lazy_rss_mb": 96,
    "slice_ms": 10,
    "pure_vs_copy": 10,
    "dup_size": 0.35,
}
AT_LEAST = {"preview_mb_s": 20}

SLICE = 4096
REPEATED = 0.3
CONFIGS = {
    "both": CompressorConfig(max_tool_result_tokens=1_000, collapse_after_turns=100),
    "cut": CompressorConfig(max_tool_result_tokens=1_000),
    "collapse": CompressorConfig(collapse_after_turns=100),
}

Wire = dict[str, Any]


class Scale(NamedTuple):
    results: int
    result: int
    """Bytes of each, on average."""
    large: int
    pure: int
    kept: int
    previews: int
    rounds: int
    times: int


FULL = Scale(*(5_000, 40_000, 100_000_000, 10_000), kept=1_000, previews=6, rounds=7, times=200)
QUICK = Scale(*(40, 4_000, 3_000_000, 100), kept=40, previews=1, rounds=1, times=10)


class Bench:
    """A folder with databases, each made when it is first asked for."""

    def __init__(self, folder: Path, scale: Scale) -> None:
        self.folder = folder
        self.scale = scale
        self._names = count(1)

    @cached_property
    def lazy(self) -> Path:
        """Calls and results in turn; every result is shown as a reference."""
        path = self._new_path()
        with _writing(path) as t:
            t.configure_results(inline_tokens=100)
            with t.batch():
                for number in range(self.scale.results):
                    _turn(t, number, output(number, _spread(number, self.scale.result)))
        return path

    @cached_property
    def large(self) -> Path:
        """One result that is larger than all others."""
        path = self._new_path()
        with _writing(path) as t:
            _turn(t, 0, log(Random(0), self.scale.large), form="reference")
        return path

    def kept(self, contents: Sequence[Any]) -> Path:
        path = self._new_path()
        with _writing(path) as t, t.batch():
            for number, content in enumerate(contents):
                _turn(t, number, content)
        return path

    def _new_path(self) -> Path:
        return self.folder / f"{next(self._names)}.db"


def _writing(path: Path) -> Tract:
    # How tokens are counted is no part of any measure.
    return Tract.open(path, durability="relaxed", tokens="chars/4")


def _turn(t: Tract, number: int, content: Any, **options: Any) -> None:
    call_id = f"call_{number}"
    call = {"id": call_id, "name": "run", "arguments": {"command": f"step {number}"}}
    t.assistant(f"Now step {number}.", tool_calls=[call])
    t.tool_result(call_id, "run", content, **options)


def _spread(number: int, size: int) -> int:
    """Sizes of which most are small, from a quarter to four times one, which is their average."""
    steps = (0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 1, 1, 1.75, 4)
    return int(size * steps[number // len(TEXTS) % len(steps)])


# Opening

OPEN = """
import gc, json, sys
from time import perf_counter
from benchmarks.measure import extra_memory
from tract import CompressorConfig, Tract, compress_messages

def read():
    start = perf_counter()
    t = Tract.open(sys.argv[1])
    messages = t.compile(**json.loads(sys.argv[2])).messages
    seconds.append(perf_counter() - start)
    assert len(messages) == int(sys.argv[3])
    return t, messages

seconds = []
memory = extra_memory(read)
print(seconds[0], memory / 1e6)
"""
WAYS = {
    "references": "{}",
    "asked": '{"load_tool_results": false}',
    "full": '{"load_tool_results": true}',
}


def lazy(bench: Bench) -> Iterator[Result]:
    """References, because the results have that form or because the view asks for it: the worse
    of both. Each time in a new process."""
    found = [_opened(bench) for _ in range(bench.scale.rounds)]
    seconds = [[first for first, _ in row] for row in found]
    memory = medians([[second for _, second in row] for row in found])
    ratios = {
        f"lazy_{way}_vs_full": ratio([(row[column], row[-1]) for row in seconds])
        for column, way in enumerate(WAYS)
        if way != "full"
    }
    behind = {
        f"open_{way}_ms": value * 1e3 for way, value in zip(WAYS, medians(seconds), strict=True)
    }
    yield Result("lazy_open_vs_full", max(ratios.values()), ratios | behind)
    used = {f"{way}_rss_mb": value for way, value in zip(WAYS, memory, strict=True)}
    yield Result("lazy_rss_mb", max(memory[:-1]), used)


def _opened(bench: Bench) -> list[tuple[float, float]]:
    """The seconds and megabytes of each way."""
    expected = str(2 * bench.scale.results)
    found = []
    for options in WAYS.values():
        seconds, memory = in_new_process(OPEN, str(bench.lazy), options, expected).split()
        found.append((float(seconds), float(memory)))
    return found


# Parts


def slices(bench: Bench) -> Iterator[Result]:
    """From random places in the middle half. Beside it the first one after opening, which reads
    the history too, and one from a history with many results."""
    random = Random(1)
    size = bench.scale.large
    places = [random.randrange(size // 4, size * 3 // 4) for _ in range(bench.scale.times)]
    first, *later = _seconds_to_fetch(bench.large, [("call_0", place) for place in places])
    names = [f"call_{random.randrange(bench.scale.results)}" for _ in places]
    _, *many = _seconds_to_fetch(bench.lazy, [(name, 0) for name in names])
    behind = {
        "slice_p99_ms": sorted(later)[len(later) * 99 // 100] * 1e3,
        "slice_first_ms": first * 1e3,
        "slice_of_many_ms": median(many) * 1e3,
    }
    yield Result("slice_ms", median(later) * 1e3, behind)


def _seconds_to_fetch(path: Path, wanted: Sequence[tuple[str, int]]) -> list[float]:
    seconds = []
    with Tract.open(path) as t:
        for name, place in wanted:
            took, text = timed(lambda n=name, p=place: t.get_tool_result(n, offset=p, limit=SLICE))  # type: ignore[misc]
            assert len(text) >= SLICE or place == 0
            seconds.append(took)
    return seconds


# Pure functions


def pure(bench: Bench) -> Iterator[Result]:
    """The worse of both providers; each limit alone beside it."""
    ratios: Numbers = {}
    behind: Numbers = {}
    for name, messages in _wires(bench.scale.pure).items():
        *seconds, copied = _seconds_to_compress(messages, 3 * bench.scale.rounds)
        found = dict(zip(CONFIGS, seconds, strict=True))
        ratios[f"pure_{name}"] = found["both"] / copied
        behind |= {f"pure_{name}_{limits}_ms": value * 1e3 for limits, value in found.items()}
        behind[f"pure_{name}_copy_ms"] = copied * 1e3
    yield Result("pure_vs_copy", max(ratios.values()), ratios | behind)


def _seconds_to_compress(messages: list[Wire], times: int) -> list[float]:
    """With each configuration, and for a copy. As `timeit` does, without the collector, which
    would run in whichever of them happens to reach its threshold."""
    ours = [partial(compress_messages, messages, config) for config in CONFIGS.values()]
    gc.disable()
    try:
        return take_turns([*ours, partial(_copies, messages)], times, turn=1)
    finally:
        gc.enable()


def _copies(messages: list[Wire]) -> list[Wire]:
    return [
        {
            key: [dict(b) for b in value] if type(value) is list else value
            for key, value in m.items()
        }
        for m in messages
    ]


def _wires(size: int) -> dict[str, list[Wire]]:
    """As many messages for each provider, with the same results of 10 KB."""
    texts = [log(Random(number), 10_000) for number in range(size // 2)]
    return {
        "anthropic": [message for turn in enumerate(texts) for message in _anthropic(*turn)],
        "openai": [message for turn in enumerate(texts) for message in _openai(*turn)],
    }


def _anthropic(number: int, text: str) -> tuple[Wire, Wire]:
    call_id = f"toolu_{number}"
    call = {"type": "tool_use", "id": call_id, "name": "run", "input": {"step": number}}
    said = {"type": "text", "text": f"Now step {number}."}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {"role": "assistant", "content": [said, call]}, {"role": "user", "content": [result]}


def _openai(number: int, text: str) -> tuple[Wire, Wire]:
    call_id = f"call_{number}"
    function = {"name": "run", "arguments": f'{{"step": {number}}}'}
    call = {"id": call_id, "type": "function", "function": function}
    said = {"role": "assistant", "content": f"Now step {number}.", "tool_calls": [call]}
    return said, {"role": "tool", "tool_call_id": call_id, "content": text}


# Size


def repeated(bench: Bench) -> Iterator[Result]:
    """Of results of 10 KB on average; smaller and larger ones beside it, because what a commit
    takes by itself weighs more on small ones."""
    ratios: Numbers = {}
    for size in (10_000, 4_000, 40_000):
        contents = _with_repeats(bench.scale.kept, size)
        path = bench.kept(contents)
        assert [file.name for file in bench.folder.glob(f"{path.name}*")] == [path.name]
        raw = sum(map(byte_size, contents))
        ratios[f"dup_size_{size}"] = path.stat().st_size / raw
    yield Result("dup_size", ratios.pop("dup_size_10000"), ratios)


def _with_repeats(amount: int, size: int) -> list[Any]:
    """Results of which some are, at random places, one that was there before."""
    random = Random(size)
    contents: list[Any] = []
    for number in range(amount):
        again = contents and random.random() < REPEATED
        contents.append(random.choice(contents) if again else output(number, _spread(number, size)))
    return contents


# Previews

SIZES = (10_000, 30_000, 80_000, 200_000)


def previews(bench: Bench) -> Iterator[Result]:
    """All kinds in all sizes, as many of each; the slowest kind and size beside it."""
    seconds: dict[tuple[str, int], float] = {}
    sizes: dict[tuple[str, int], int] = {}
    for kind in KINDS:
        for size in SIZES:
            key = kind.__name__, size
            seconds[key], sizes[key] = _seconds_to_preview(kind, size, bench.scale.previews)
    rates = {key: sizes[key] / seconds[key] / 1e6 for key in sizes}
    behind = {f"preview_{size}_mb_s": _rate(seconds, sizes, size) for size in SIZES}
    (kind_name, size), slowest = min(rates.items(), key=lambda item: item[1])
    behind[f"preview_{kind_name}_{size}_mb_s"] = slowest
    yield Result("preview_mb_s", sum(sizes.values()) / sum(seconds.values()) / 1e6, behind)


def _seconds_to_preview(kind: Kind, size: int, amount: int) -> tuple[float, int]:
    contents = [kind(Random(number), size) for number in range(amount)]
    gist(contents[0])
    gc.collect()
    seconds = [timed(lambda content=content: gist(content))[0] for content in contents]  # type: ignore[misc]
    return sum(seconds), sum(map(byte_size, contents))


def _rate(
    seconds: dict[tuple[str, int], float], sizes: dict[tuple[str, int], int], wanted: int
) -> float:
    keys = [key for key in sizes if key[1] == wanted]
    return sum(sizes[key] for key in keys) / sum(seconds[key] for key in keys) / 1e6


# Report


def run(scale: Scale) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="tract-bench-") as folder:
        bench = Bench(Path(folder), scale)
        for measure in (lazy, slices, pure, repeated, previews):
            yield from measure(bench)


def main() -> None:
    report("results", __doc__, AT_MOST, lambda quick: run(QUICK if quick else FULL), AT_LEAST)


if __name__ == "__main__":
    main()
