"""What tools return, of every kind and any size, made of the sources and the manual of this Python.

Real lines, so that they compress and read as such texts do. The same seed gives the same result.
"""

from __future__ import annotations

import html
import json
import os
import pydoc_data.topics
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

SOURCE_BYTES = 4_000_000


class Line(NamedTuple):
    path: str
    number: int
    text: str


@cache
def _all_lines() -> list[Line]:
    found: list[Line] = []
    size = 0
    for file in sorted(Path(os.__file__).parent.glob("*.py")):
        lines = file.read_text("utf-8").splitlines()
        found += [Line(f"lib/{file.name}", number, text) for number, text in enumerate(lines, 1)]
        size += file.stat().st_size
        if size > SOURCE_BYTES:
            break
    return found


def _source(random: Random) -> Iterator[Line]:
    """Source from a random place on, without end."""
    lines = _all_lines()
    start = random.randrange(len(lines))
    return (lines[place % len(lines)] for place in count(start))


def _prose(random: Random) -> Iterator[str]:
    """Lines of the manual from a random place on, without end."""
    lines = _manual()
    start = random.randrange(len(lines))
    return (lines[place % len(lines)] for place in count(start))


@cache
def _manual() -> list[str]:
    text = "\n".join(pydoc_data.topics.topics.values())
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _fill(size: int, lines: Iterable[str]) -> str:
    """As many of the lines as reach the size."""
    kept = []
    for line in lines:
        kept.append(line)
        size -= len(line) + 1
        if size <= 0:
            break
    return "\n".join(kept)


# Kinds


def read(random: Random, size: int) -> str:
    return _fill(size, (f"{line.number:>6}\t{line.text}" for line in _source(random)))


def grep(random: Random, size: int) -> str:
    word = random.choice(["self", "return", "def ", "import", "raise", "if "])
    found = (line for line in _source(random) if word in line.text)
    return _fill(size, (f"{line.path}:{line.number}:{line.text}" for line in found))


def log(random: Random, size: int) -> str:
    return _fill(size, _log_lines(random))


LEVELS = ("INFO",) * 40 + ("DEBUG",) * 6 + ("WARNING",) * 3 + ("ERROR",)


def _log_lines(random: Random) -> Iterator[str]:
    milliseconds = random.randrange(10**7)
    for line, said in zip(_source(random), _prose(random), strict=False):
        milliseconds += random.randrange(900)
        seconds, rest = divmod(milliseconds, 1000)
        clock = f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{rest:03}"
        level = LEVELS[random.randrange(len(LEVELS))]
        yield f"2026-03-09 {clock} {level:<7} {line.path[4:-3]}: {said}"


def diff(random: Random, size: int) -> str:
    return _fill(size, _diff_lines(random))


def _diff_lines(random: Random) -> Iterator[str]:
    path, left = "", 0
    for line in _source(random):
        if line.path != path:
            path, left = line.path, 0
            yield f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}"
        if not left:
            left = 10
            yield f"@@ -{line.number},9 +{line.number},9 @@"
        left -= 1
        if left == 5:
            yield f"-{line.text}\n+{line.text.replace('self', 'this')}"
        else:
            yield f" {line.text}"


def tests(random: Random, size: int) -> str:
    passed = _fill(size * 2 // 3, _test_lines(random))
    failed = _fill(size // 3, (f"    {line.text}" for line in _source(random)))
    count_passed = passed.count("\n") + 1
    return (
        f"===== test session starts =====\ncollected {count_passed + 1} items\n\n{passed}\n\n"
        f"===== FAILURES =====\n_____ test_it _____\n\n{failed}\n"
        f"E       AssertionError: assert {random.randrange(99)} == 7\n\n"
        "tests/test_it.py:31: AssertionError\n===== short test summary info =====\n"
        "FAILED tests/test_it.py::test_it - AssertionError\n"
        f"===== 1 failed, {count_passed} passed in {random.randrange(900) / 10}s ====="
    )


def _test_lines(random: Random) -> Iterator[str]:
    for number, line in enumerate(_source(random)):
        words = "_".join(line.text.lower().replace("_", " ").split()[:4]).strip("\"':(),.=#")
        yield f"tests/test_{line.path[4:]}::test_{words or 'it'} PASSED [{number % 100:>3}%]"


def crash(random: Random, size: int) -> str:
    code = (line for line in _source(random) if line.text.strip())
    frames = (
        f'  File "/usr/{line.path}", line {line.number}, in run\n    {line.text.strip()}'
        for line in islice(code, 20)
    )
    called = "\n".join(frames)
    printed = _fill(size - len(called), _prose(random))
    return f"{printed}\nTraceback (most recent call last):\n{called}\nKeyError: 'missing'"


def shell(random: Random, size: int) -> dict[str, Any]:
    stderr = _fill(200, _prose(random))
    return {"stdout": _fill(size, _prose(random)), "stderr": stderr, "exit_code": size % 2}


def records(random: Random, size: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in _source(random):
        if size <= 0:
            break
        record = {
            "id": random.randrange(10**6),
            "path": line.path,
            "line": line.number,
            "text": line.text,
            "score": random.randrange(1000) / 1000,
            "tags": ["open", "new"] if line.number % 3 else [],
        }
        found.append(record)
        size -= len(line.text) + 90
    return found


def indented(random: Random, size: int) -> str:
    return json.dumps({"total": size, "items": records(random, size * 2 // 3)}, indent=2)


def one_line(random: Random, size: int) -> str:
    return json.dumps(records(random, size), separators=(",", ":"))


def table(random: Random, size: int) -> str:
    rows = (
        f"{line.number},{line.path},{len(line.text)},{random.randrange(10**6)},{number % 7 / 10}"
        for number, line in enumerate(_source(random))
    )
    return "line,path,length,hits,share\n" + _fill(size, rows)


def page(random: Random, size: int) -> str:
    texts = (
        f'<h2 id="s{number}">{html.escape(said[:30])}</h2>'
        if number % 9 == 0
        else f'<p class="text">{html.escape(said)}</p>'
        for number, said in enumerate(_prose(random))
    )
    body = _fill(size, texts)
    return (
        f"<!DOCTYPE html>\n<html><head><title>A page</title></head><body>\n{body}\n</body></html>"
    )


def markdown(random: Random, size: int) -> str:
    texts = (
        f"\n## {said[:30].strip()}\n" if number % 9 == 0 else said
        for number, said in enumerate(_prose(random))
    )
    return "# Notes\n" + _fill(size, texts)


def listing(random: Random, size: int) -> str:
    files = (
        f"-rw-r--r-- 1 root root {random.randrange(10**6):>8} Mar  9 12:{number % 60:02} "
        f"{line.path[4:-3]}_{line.number}.py"
        for number, line in enumerate(_source(random))
    )
    return "total 4096\n" + _fill(size, files)


def image(random: Random, size: int) -> list[dict[str, Any]]:
    data = b"\x89PNG\r\n\x1a\n" + random.randbytes(size * 3 // 4)
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(data).decode("ascii")}
    return [{"type": "image", "source": source}]


Kind = Callable[[Random, int], Any]

TEXTS: tuple[Kind, ...] = (
    *(read, grep, log, diff, tests, crash, shell, records),
    *(indented, one_line, table, page, markdown, listing),
)
KINDS: tuple[Kind, ...] = (*TEXTS, image)


def output(number: int, size: int) -> Any:
    """The result with this number, of the next kind of text."""
    return TEXTS[number % len(TEXTS)](Random(number), size)


def byte_size(content: Any) -> int:
    """Of a text its bytes, of anything else those of its JSON."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return len(text.encode("utf-8", "surrogatepass"))
