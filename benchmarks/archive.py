"""Many conversations in one file: open one, list all, find a word. A part of `bench peers`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.contest import Bench, Row, against, message, seconds_to_read, summary
from benchmarks.measure import Texts, connect, timed
from benchmarks.report import Numbers, Result
from benchmarks.stores import Store, Wire
from tract import Tract

TEXTS = Texts(200)
WORD = "zanzibar"


def archive(bench: Bench) -> Iterator[Result]:
    """Many conversations of short messages in one file: open one, list all, find a word that few
    messages have. SQLiteSession has no list and no search."""
    stores = [store for store in bench.stores if store.name in ARCHIVES]
    paths = {store: _archive_of(bench, store) for store in stores}
    size = bench.scale.conversations
    rounds: dict[str, list[Row]] = {"open": [], "list": [], "search": []}
    for number in range(bench.scale.rounds):
        name = _conversation(size * (number + 1) // (bench.scale.rounds + 2))
        row = {s.name: seconds_to_read(s, path, size, name) for s, path in paths.items()}
        rounds["open"].append(row)
        for way, functions in {"list": LISTS, "search": SEARCHES}.items():
            ways = {
                s.name: partial(functions[s.name], path)
                for s, path in paths.items()
                if s.name in functions
            }
            rounds[way].append({name: timed(way)[0] for name, way in ways.items()})
    behind: Numbers = {"archive_messages": float(size * size)}
    for way, rows in rounds.items():
        behind |= summary(f"archive_{way}", rows)
    yield Result("archive_search_vs_scan", against(rounds["search"], "tract", ["jsonl"]), behind)


def _archive_of(bench: Bench, store: type[Store]) -> Path:
    path, size = bench.new_path(), bench.scale.conversations
    for number in range(size):
        new = store(path, _conversation(number))
        new.fill([store.native(short(number * size + place, size)) for place in range(size)])
        new.close()
    return path


def _conversation(number: int) -> str:
    return f"conversation-{number}"


def short(number: int, rare: int) -> Wire:
    """A message of 200 bytes. One in `rare` has the word."""
    wire = message(number)
    word = f" {WORD}" if number % rare == 7 and number % (rare * 50) < rare else ""
    return {**wire, "content": TEXTS[number] + word} if not wire.get("tool_calls") else wire


def _search_tract(path: Path) -> int:
    with Tract.open(path, dialog=_conversation(0)) as t:
        return sum(1 for _ in t.search(WORD, all_dialogs=True))


def _search_raw(path: Path) -> int:
    connection = connect(path, [])
    sql = "SELECT conversation, id FROM messages WHERE message LIKE ?"
    rows = connection.execute(sql, (f"%{WORD}%",)).fetchall()
    connection.close()
    return len(rows)


def _search_jsonl(path: Path) -> int:
    return sum(file.read_text("utf-8").count(WORD) for file in path.iterdir())


def _list_tract(path: Path) -> int:
    with Tract.open(path, dialog=_conversation(0)) as t:
        return len(t.dialogs())


def _list_raw(path: Path) -> int:
    connection = connect(path, [])
    rows = connection.execute("SELECT conversation, count(*) FROM messages GROUP BY 1").fetchall()
    connection.close()
    return len(rows)


def _list_jsonl(path: Path) -> int:
    return len([(file.name, file.stat().st_size) for file in path.iterdir()])


ARCHIVES = ("tract", "raw", "jsonl", "openai_agents")
SEARCHES = {"tract": _search_tract, "raw": _search_raw, "jsonl": _search_jsonl}
LISTS = {"tract": _list_tract, "raw": _list_raw, "jsonl": _list_jsonl}
