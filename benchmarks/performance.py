"""Write docs/performance.md and its plots from the runs in benchmarks/results.

`python3 dev.py bench performance [--check]`. Every figure on the page is a number of a stored run,
and stands beside the command that measures it again (with `--save`, to store it).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from math import isnan, nan
from pathlib import Path
from typing import NamedTuple

from benchmarks import charts
from benchmarks.measure import ROOT
from benchmarks.runs import RESULTS, Run, Runs, load_all

PAGE = Path("docs", "performance.md")
PLOTS = Path("docs", "performance")
NONE = "–"
STORES = {
    "tract": "tract",
    "raw": "raw driver",
    "jsonl": "JSONL + fsync",
    "openai_agents": "openai-agents",
    "openai_advanced": "openai-agents, Advanced",
    "langgraph": "langgraph",
    "langgraph_delta": "langgraph, delta",
    "llm": "llm",
    "langchain": "LangChain",
}
"""As the page names the stores of `bench peers`."""


class Work(NamedTuple):
    """A row of the table: what is done, and the numbers of it, `*` for the name of a store."""

    text: str
    unit: str
    keys: tuple[str, ...]


WORK = (
    Work("durable append, history 10 / 1,000 / 10,000", "ms",
         ("append_10_*_ms", "append_1000_*_ms", "append_10000_*_ms")),
    Work("agent loop of 1,000 turns, read back each turn", "s", ("loop_read_back_*_s",)),
    Work("the same with a list kept in memory (tract: read back)", "s", ("loop_list_*_s",)),
    Work("cold open and all messages, 1,000 / 10,000 / 50,000", "ms",
         ("cold_1000_*_ms", "cold_10000_*_ms", "cold_50000_*_ms")),
    Work("list 10,000 messages with 200 MB of results", "ms", ("list_*_ms",)),
    Work("open that history with references", "ms", ("open_references_*_ms",)),
    Work("disk of 1,000 turns, 40 tools, 30 % repeats", "MB", ("disk_*_mb",)),
    Work("fork 10,000 messages", "ms", ("fork_*_ms",)),
    Work("shorten the results of 10,000 messages and send them", "ms", ("edit_*_ms",)),
    Work("the turn after that", "ms", ("edit_*_next_turn_ms",)),
    Work("1,000 dialogs of 1,000 messages: open one", "ms", ("archive_open_*_ms",)),
    Work("list the 1,000 dialogs", "ms", ("archive_list_*_ms",)),
    Work("find a rare word in the million messages", "ms", ("archive_search_*_ms",)),
)  # fmt: skip
SETTINGS = {
    "DELETE, synchronous=FULL": "the last commit, if its journal was not yet gone on disk",
    "synchronous=FULL": "nothing that was acknowledged",
    "synchronous=EXTRA": "nothing that was acknowledged",
    "synchronous=NORMAL": "the commits since the last checkpoint",
    "fsync after each write": "nothing that was acknowledged, once the name of the file is on disk",
}
"""What a power cut costs a store that writes like this."""


def pages(runs: dict[str, Runs]) -> dict[Path, str]:
    """All files, by their paths in the project."""
    plots = dict(_plots(runs))
    page = "\n\n".join(part for part in _parts(runs, plots) if part) + "\n"
    return {PAGE: page, **{PLOTS / f"{name}.svg": text for name, text in plots.items()}}


def _parts(runs: dict[str, Runs], plots: dict[str, str]) -> Iterator[str]:
    yield INTRODUCTION
    yield "## Goals\n\n" + table(("number", "value", "bound", ""), _goals(runs))
    if "peers" in runs:
        yield from _peers(runs["peers"], plots)
    if "postgres" in runs:
        yield POSTGRES
        yield table(*_postgres(runs["postgres"].numbers))
    if "scale" in runs:
        yield SCALE + "\n\n" + _image("scale-one", plots) + "\n\n" + _image("scale-many", plots)
        yield table(*_scale(runs["scale"]))
    yield "## Commands, machine and versions\n\n" + COMMANDS
    yield table(("command", "date", "machine", "versions"), _sources(runs))


INTRODUCTION = """\
# Performance

This page is generated: `python3 dev.py bench performance` writes it from the runs that `python3
dev.py bench NAME --save` stores in `benchmarks/results`. A test compares the two, so no figure
stands here that no command produced. What is compared takes turns in one run, and times are
medians."""
POSTGRES = """\
## PostgreSQL

On a server of its own that syncs each commit, beside plain psycopg, which writes the same rows, and
beside SQLite. Command: `python3 dev.py bench postgres`."""
SERVER_WORK = (
    ("durable append, µs", "pg_append_us", "pg_append_raw_us", ""),
    ("a commit in a batch of 10,000, µs", "pg_batch_us", "", "sqlite_batch_us"),
    ("a commit in a batch of 500, µs", "pg_short_batch_us", "", ""),
    ("cold open and all of 10,000 messages of 200 bytes, ms", "pg_cold_ms", "pg_cold_raw_ms", ""),
    ("import of a session, MB/s", "pg_import_mb_s", "", "import_mb_s"),
)
"""What is done, and the numbers of tract, of plain psycopg and of tract on SQLite."""
SCALE = """\
## Scale

CPU time of one operation as a history grows, in one dialog and in dialogs of 100 messages.
`append`, `turn`, `edit_turn` and `open` (the newest 50 messages) are one call; the others are
divided by the number of messages, `list` of many dialogs by the number of dialogs. `turn_unsent` is
a turn of which the caller wants no list, `turn_copy` what it would cost to copy and to free a plain
one of that length: instead, a long list that was let go becomes the next one. Growth is the largest
size ÷ 10,000. Command: `python3 dev.py bench scale`."""
COMMANDS = """\
Each number belongs to the last run that measured it. `--json` prints all numbers of a run, also
those that are not on this page."""


# Goals


def bounds(name: str) -> dict[str, tuple[str, float]]:
    """The bounds of a benchmark, as it has them."""
    module = import_module(f"benchmarks.{name}")
    most = {key: ("≤", bound) for key, bound in getattr(module, "AT_MOST", {}).items()}
    least = {key: ("≥", bound) for key, bound in getattr(module, "AT_LEAST", {}).items()}
    return most | least


def _goals(runs: dict[str, Runs]) -> Iterator[Sequence[str]]:
    for name, stored in runs.items():
        for key, (sign, bound) in bounds(name).items():
            value = stored.numbers.get(key, nan)
            shown = f"{sign} {figure(bound)}"
            yield f"`{name}`: `{key}`", figure(value), shown, _judged(value, sign, bound)


def _judged(value: float, sign: str, bound: float) -> str:
    if isnan(value):
        return "not measured"
    is_kept = value <= bound if sign == "≤" else value >= bound
    return "" if is_kept else "missed"


# Peers


def _peers(stored: Runs, plots: dict[str, str]) -> Iterator[str]:
    yield "## Beside other stores\n\n" + PEERS
    names = [name for name in STORES if _has_work(stored.numbers, name)]
    if names:
        yield table(("", *(STORES[name] for name in names)), _work(stored.numbers, names))
    yield from filter(None, (_image(name, plots) for name in ("cold", "append")))
    yield "### What a power cut costs\n\n" + POWER
    head = ("store", "how it writes", "syncs for each append", "what it loses")
    yield table(head, _settings(stored))


PEERS = """\
Results have 200 bytes to 50 KB, 65 MB in 10,000 messages. Every store writes and reads as its
documentation shows, and gets messages in its own format, made beforehand. The raw driver is
SQLite with tract's settings and one row of JSON for each message. langgraph stores its full
state with every step: its loop and its disk are those of 100 turns. tract indexes the words of
a file below 8 MB when it is first searched: those of the loop and of the disk have no index.
Command: `python3 dev.py bench peers`."""
POWER = """\
What each connection answers when it is asked for its settings, and how often `strace` sees it
call fsync or fdatasync. The losses follow from these; only those of tract are tested with
simulated power cuts ([Reliability](reliability.md)). langgraph runs with `durability="sync"`;
by default it writes in the background, and a crash loses the last step. tract also verifies a
hash of every byte that it reads; llm does on request, the others do not."""


def _has_work(numbers: dict[str, float], name: str) -> bool:
    return any(key.replace("*", name) in numbers for work in WORK for key in work.keys)


def _work(numbers: dict[str, float], names: Sequence[str]) -> Iterator[Sequence[str]]:
    for work in WORK:
        cells = [" / ".join(_cell(numbers, key, name) for key in work.keys) for name in names]
        cells = [NONE if set(cell) <= set(f"{NONE} /") else cell for cell in cells]
        if set(cells) != {NONE}:
            yield f"{work.text}, {work.unit}", *cells


def _cell(numbers: dict[str, float], key: str, name: str) -> str:
    value = numbers.get(key.replace("*", name))
    return NONE if value is None else figure(value)


def _settings(stored: Runs) -> Iterator[Sequence[str]]:
    for name, text in stored.facts.get("settings", {}).items():
        losses = [loss for setting, loss in SETTINGS.items() if setting in text]
        syncs = _cell(stored.numbers, "syncs_*", name)
        yield STORES[name], f"`{text}`", syncs, losses[0] if losses else "not known"


# PostgreSQL


def _postgres(numbers: dict[str, float]) -> tuple[Sequence[str], list[Sequence[str]]]:
    rows: list[Sequence[str]] = [
        (text, *(_cell(numbers, key, "") for key in keys)) for text, *keys in SERVER_WORK
    ]
    return ("", "tract", "plain psycopg", "tract on SQLite"), rows


# Scale


def _scale(stored: Runs) -> tuple[Sequence[str], list[Sequence[str]]]:
    numbers = stored.numbers
    sizes = _sizes(numbers)
    rows: list[Sequence[str]] = []
    for shape, title in (("one", "one dialog"), ("many", "many dialogs")):
        for operation in _operations(numbers, shape):
            key = f"scale_{shape}_{operation}"
            costs = [_cell(numbers, f"{key}_{size}_us", "") for size in sizes]
            rows.append((f"{title}: {operation}, µs", *costs, figure(numbers[f"{key}_growth"])))
    return ("", *(f"{size:,}" for size in sizes), "growth"), rows


def _sizes(numbers: dict[str, float]) -> list[int]:
    prefix = "scale_one_append_"
    return sorted(
        int(key.split("_")[3]) for key in numbers if key.startswith(prefix) and key.endswith("_us")
    )


def _operations(numbers: dict[str, float], shape: str) -> list[str]:
    start, end = f"scale_{shape}_", "_growth"
    return [
        key[len(start) : -len(end)]
        for key in numbers
        if key.startswith(start) and key.endswith(end)
    ]


# Plots


def _plots(runs: dict[str, Runs]) -> Iterator[tuple[str, str]]:
    if "peers" in runs:
        numbers = runs["peers"].numbers
        opened = _by_store(numbers, "cold_10000_*_ms")
        if opened:
            yield "cold", charts.bars("Cold open and all of 10,000 messages", opened, "ms")
        appends = {
            STORES[name]: [
                (size, numbers[f"append_{size}_{name}_ms"]) for size in (10, 1_000, 10_000)
            ]
            for name in STORES
            if f"append_10000_{name}_ms" in numbers
        }
        if appends:
            yield (
                "append",
                charts.lines("Durable append", appends, "messages before", "milliseconds"),
            )
    if "scale" in runs:
        numbers = runs["scale"].numbers
        for shape, title in (("one", "One dialog"), ("many", "Dialogs of 100 messages")):
            series = {
                operation: [
                    (size, numbers[f"scale_{shape}_{operation}_{size}_us"])
                    for size in _sizes(numbers)
                ]
                for operation in _operations(numbers, shape)
            }
            yield f"scale-{shape}", charts.lines(title, series, "messages", "microseconds")


def _by_store(numbers: dict[str, float], key: str) -> dict[str, float]:
    keys = {name: key.replace("*", name) for name in STORES}
    return {STORES[name]: numbers[key] for name, key in keys.items() if key in numbers}


def _image(name: str, plots: dict[str, str]) -> str:
    if name not in plots:
        return ""
    title = plots[name].partition('aria-label="')[2].partition('"')[0]
    return f"![{title}]({PLOTS.name}/{name}.svg)"


# Text


def _sources(runs: dict[str, Runs]) -> Iterator[Sequence[str]]:
    for stored in runs.values():
        for run in stored.runs:
            yield f"`{run.command}`", run.date, run.machine, _versions(run)


def _versions(run: Run) -> str:
    return ", ".join(f"{name} {number}" for name, number in run.versions.items())


def figure(value: float) -> str:
    """Three digits are what a measure is good for."""
    if isnan(value):
        return NONE
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.3g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py bench performance", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="only compare, and fail if they differ"
    )
    args = parser.parse_args()
    files = {ROOT / path: text for path, text in pages(load_all(RESULTS)).items()}
    old = [path for path in files if not path.exists() or path.read_text("utf-8") != files[path]]
    if args.check and old:
        sys.exit("\n".join(f"{path.relative_to(ROOT)} is not what the runs say" for path in old))
    for path in old:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path], "utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
