"""Damaged files of every format: cut anywhere, with bytes that are others. Only typed errors come,
in bounded time, and what stands before the cut is read."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, cast

import pytest

from tests.corpus import BY_FOLDER, real_files
from tests.importing import file_of, read_source, strings
from tract import importers
from tract.errors import InputError
from tract.importers.items import Entry, Exchange, Item
from tract.importers.source import Source
from tract.model import pack_content

REAL = [(path, name) for folder, name in BY_FOLDER.items() for path in real_files(folder)]
SMALL = 300_000
MARK = 30
"""How long a text is that is looked for in a file."""
IN_A_RECORD = 12
"""How many long texts may stand in the record in which a file is cut: an answer with its calls."""

ONE_RECORD = ("requests", "openhands_log", "goose")
"""Formats of which a file can be one record: cut off, it is none."""

each_real = pytest.mark.parametrize(("path", "name"), REAL, ids=[path.name for path, _ in REAL])
each_importer = pytest.mark.parametrize("name", importers.MODULES)


def importer(name: str) -> ModuleType:
    return cast(ModuleType, importers.importer(name))


@cache
def whole(path: Path, name: str) -> list[Item]:
    return list(importer(name).read(Source(path)))


def said(item: Item) -> list[str]:
    """The long texts of an item."""
    given: Any = None
    if isinstance(item, Exchange):
        given = [{**item.request, "tools": None}, item.response]
    elif isinstance(item, Entry):
        given = [pack_content(m.role, m.content) for m in item.messages]
    return [text for text in strings(given) if len(text) >= MARK]


def is_before(text: str, data: bytes) -> bool:
    written = (json.dumps(text), json.dumps(text, ensure_ascii=False))
    return any(form.encode("utf-8", "surrogatepass") in data for form in written)


def check_cut(path: Path, name: str, at: int, folder: Path) -> None:
    data = path.read_bytes()[:at]
    source = file_of(folder, data)
    read_source(importer(name), source)
    try:
        found = list(importer(name).read(source))
    except InputError:
        found = []
    if name in ONE_RECORD and not any(isinstance(item, Exchange) for item in found):
        return
    kept = {text for item in found for text in said(item)}
    texts = {text for item in whole(path, name) for text in said(item)}
    if path.suffix == ".jsonl":
        data = data[: data.rfind(b"\n") + 1]  # the line that is cut may hold any number of texts
    missing = [text for text in texts - kept if is_before(text, data)]
    assert len(missing) <= IN_A_RECORD, (at, len(missing), missing[0])


def check_flips(path: Path, name: str, random: Random, folder: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(random.choice([1, 3, 30])):
        data[random.randrange(len(data))] = random.randrange(256)
    source = file_of(folder, bytes(data))
    read_source(importer(name), source)
    importers.detect(source.path)


@each_real
def test_a_real_file_that_was_cut(path: Path, name: str, tmp_path: Path) -> None:
    size = path.stat().st_size
    random = Random(path.name)
    for _ in range(2 if size < SMALL else 1):
        check_cut(path, name, random.randrange(size), tmp_path)


@each_real
def test_a_real_file_with_other_bytes(path: Path, name: str, tmp_path: Path) -> None:
    if path.stat().st_size < SMALL:
        check_flips(path, name, Random(path.name), tmp_path)


@pytest.mark.long
@each_real
def test_a_real_file_that_was_damaged_anywhere(path: Path, name: str, tmp_path: Path) -> None:
    random = Random()
    for _ in range(60):
        check_cut(path, name, random.randrange(path.stat().st_size), tmp_path)
        check_flips(path, name, random, tmp_path)


@pytest.mark.long
@each_importer
def test_bytes_of_other_formats(name: str, tmp_path: Path) -> None:
    for path, _ in REAL:
        read_source(importer(name), file_of(tmp_path, path.read_bytes()[:SMALL]))


DENSE = {
    "dicts": (b"[", b"{},"),
    "numbers": (b"[", b"1,"),
    "texts": (b"[", b'"ab",'),
    "pairs": (b"[", b'{"a":1},'),
    "opened": (b"", b"["),
    "quotes": (b"[", b'"'),
    "quoted quotes": (b'["', b'\\"'),
    "blanks": (b"[", b" "),
    "colons": (b'{"a"', b":"),
    "broken lines": (b"", b"x\n"),
    "glued": (b"", b"{}"),
    "messages": (b'{"messages":[', b'{"role":"user","content":"x"},'),
    "a deep list": (b"[" * 900, b"1,"),
    "steps": (b'{"schema_version":"ATIF-v1.4","steps":[', b"{           },"),
}
"""What a large file begins with, and what it repeats."""


def dense(kind: str, size: int) -> bytes:
    begins, repeated = DENSE[kind]
    return begins + repeated * (size // len(repeated))


@pytest.mark.parametrize("kind", DENSE)
def test_a_dense_file_is_read_or_refused_by_all(kind: str, tmp_path: Path) -> None:
    source = file_of(tmp_path, dense(kind, 10_000))
    for name in importers.MODULES:
        read_source(importer(name), source)


@pytest.mark.long
@pytest.mark.parametrize("kind", DENSE)
def test_a_large_dense_file_is_read_or_refused(kind: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, dense(kind, 10_000_000)).path
    importers.detect(path)
    for name in importers.MODULES:
        read_source(importer(name), Source(path))
