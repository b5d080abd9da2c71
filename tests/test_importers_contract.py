"""What holds for every importer. Each has a module of its name in tests/samples with FILES, small
files of its format that were made by hand, and DOCUMENTS, the JSON values in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.damage import damages
from tests.importing import (
    GARBAGE,
    as_json,
    as_lines,
    file_of,
    mutated_files,
    read_source,
    texts_of,
)
from tests.validity import violations
from tract import Tract, importers
from tract.errors import InputError
from tract.importers.items import Entry, Exchange, FullHistory, Item, Problem
from tract.importers.source import Source
from tract.importers.transcripts import read_items
from tract.importers.writer import Imported, import_file
from tract.model import ROOT


@cache
def sample(module: str) -> Any:
    """Fails for an importer without a sample."""
    return import_module(f"tests.samples.{module}")


def importer(module: str) -> ModuleType:
    return cast(ModuleType, importers.importer(module))


FILES = [
    pytest.param(module, content, id=f"{module}-{kind}")
    for module in importers.MODULES
    for kind, content in sample(module).FILES.items()
]
each_file = pytest.mark.parametrize(("module", "content"), FILES)
each_importer = pytest.mark.parametrize("module", importers.MODULES)


def read(module: str, source: Source) -> list[Item]:
    return list(importer(module).read(source))


def read_if_possible(module: str, source: Source) -> list[Item]:
    """What is in a damaged file: nothing where it is refused."""
    try:
        return read(module, source)
    except InputError:
        return []


# Whole files


@each_importer
def test_an_importer_has_a_sample(module: str) -> None:
    assert sample(module).FILES


@each_file
def test_its_own_importer_takes_a_file(module: str, content: bytes, tmp_path: Path) -> None:
    """The first that claims it: plain lists of messages are asked last."""
    assert importers.detect(file_of(tmp_path, content).path) is importer(module)


@each_file
def test_a_file_is_read_without_a_problem(module: str, content: bytes, tmp_path: Path) -> None:
    source = file_of(tmp_path, content)
    counts = read_source(importer(module), source)
    assert counts["Entry"] + counts["Exchange"] + counts["FullHistory"] > 0
    assert (counts["Problem"], counts["refused"]) == (0, 0)


@each_file
def test_a_file_is_read_the_same_every_time(module: str, content: bytes, tmp_path: Path) -> None:
    source = file_of(tmp_path, content)
    items = read(module, source)
    assert read(module, source) == items
    assert read(module, Source(source.path)) == items


# Damaged files

ADDED_LATER = {
    "claude_code": "an answer is told in several lines",
    "cline": "the system text stands behind the messages",
    "claude_stream": "an answer is told in several records",
    "goose": "recordings are ordered by their times, which stand in their ends",
    "inspect_log": "long texts stand behind the messages",
    "langfuse": "observations are ordered by their times",
    "langgraph": "the newest state comes first",
    "langsmith": "runs are ordered by their times",
    "swe_agent": "the history stands behind the steps, which are read without it",
}
"""Formats in which the rest of a file changes what its beginning means, and why."""


def cuts(content: bytes) -> list[int]:
    """Some positions in a file, next to both ends and between them."""
    return sorted({0, 1, len(content) - 1, *(len(content) * n // 24 for n in range(1, 24))})


def is_text(content: bytes) -> bool:
    return not content.startswith((b"SQLite", b"PK"))


def bodies(items: list[Item]) -> dict[str | None, list[Any]]:
    """The messages and requests of each dialog, without what may stand behind them in a file."""
    dialogs: dict[str | None, list[Any]] = {}
    for item in items:
        if isinstance(item, Entry):
            dialogs.setdefault(item.dialog, []).extend(item.messages)
        elif isinstance(item, Exchange):
            dialogs.setdefault(item.dialog, []).append(item.request)
        elif isinstance(item, FullHistory):
            dialogs.setdefault(item.dialog, []).append(item.messages)
    return dialogs


@each_file
def test_a_cut_file_gives_what_stands_before_the_cut(
    module: str, content: bytes, tmp_path: Path
) -> None:
    full = bodies(read(module, file_of(tmp_path, content)))
    for at in cuts(content):
        source = file_of(tmp_path, content[:at])
        read_source(importer(module), source)
        if not is_text(content):
            continue
        parts = bodies(read_if_possible(module, source))
        for dialog, part in parts.items() if module not in ADDED_LATER else ():
            complete = part[:-1]  # the last one may be cut itself
            assert complete == full[dialog][: len(complete)], at


@each_file
def test_a_cut_is_reported(module: str, content: bytes, tmp_path: Path) -> None:
    """Unless it stands between two records or events, where it cannot be seen."""
    if not is_text(content):
        return
    for at in cuts(content)[2:]:
        if content[at - 1 : at + 1].strip() != content[at - 1 : at + 1]:
            continue
        source = file_of(tmp_path, content[:at])
        try:
            items = read(module, source)
        except InputError:
            continue
        assert any(isinstance(item, Problem) for item in items), at


@each_file
def test_a_broken_line_is_reported_and_the_others_are_read(
    module: str, content: bytes, tmp_path: Path
) -> None:
    lines = content.splitlines(keepends=True)
    if not is_text(content) or len(lines) < 2 or content.startswith((b"event:", b"\n# aider")):
        return
    for number in range(1, len(lines)):
        before, after = b"".join(lines[:number]), b"".join(lines[number + 1 :])
        items = read(module, file_of(tmp_path, before + b'{"broken\n' + after))
        assert any(isinstance(item, Problem) for item in items), number
        assert bodies(items) == bodies(read(module, file_of(tmp_path, before + after))), number


@each_file
def test_other_bytes_give_only_typed_errors(module: str, content: bytes, tmp_path: Path) -> None:
    random = Random(module)
    for count in (1, 3, 30) * 4:
        data = bytearray(content)
        for _ in range(count):
            data[random.randrange(len(data))] = random.randrange(256)
        source = file_of(tmp_path, bytes(data))
        read_source(importer(module), source)
        importers.detect(source.path)


@each_importer
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_other_values_give_only_typed_errors(
    module: str, data: st.DataObject, tmp_path: Path
) -> None:
    documents = sample(module).DOCUMENTS
    if documents:
        content = data.draw(st.one_of(*map(mutated_files, documents)))
        source = file_of(tmp_path, content)
        read_source(importer(module), source)
        keys: set[str | None] = {None, ROOT}
        for item in read_if_possible(module, source):
            if isinstance(item, Entry):
                assert item.parent in keys
                keys.add(item.key)


@each_importer
@pytest.mark.parametrize("content", GARBAGE, ids=lambda content: ascii(content[:12]))
def test_garbage_is_taken_by_none(module: str, content: bytes, tmp_path: Path) -> None:
    source = file_of(tmp_path, content)
    assert not importer(module).detect(source)
    read_source(importer(module), source)


@each_importer
def test_files_of_other_formats_give_only_typed_errors(module: str, tmp_path: Path) -> None:
    for other in importers.MODULES:
        content = next(iter(sample(other).FILES.values()))
        read_source(importer(module), file_of(tmp_path, content))


# Files in a database


@each_file
def test_a_cut_file_is_imported_or_refused(module: str, content: bytes, tmp_path: Path) -> None:
    for at in cuts(content)[3::5]:
        with Tract.open() as t, suppress(InputError):
            report = import_file(t, file_of(tmp_path, content[:at]).path)
            assert (report.messages > 0) == bool(t.dialogs())
            assert t.fsck().ok


def views(db: Path, report: Imported) -> Iterator[Any]:
    for dialog in report.dialogs:
        with Tract.open(db, dialog=dialog) as t:
            yield t.compile()


@each_file
def test_a_file_is_imported_once_and_every_provider_takes_it(
    module: str, content: bytes, tmp_path: Path
) -> None:
    path, db = file_of(tmp_path, content).path, tmp_path / "t.db"
    with Tract.open(db, durability="relaxed") as t:
        first, again = import_file(t, path), import_file(t, path)
        assert t.fsck().ok
    assert (first.format, first.problems) == (importer(module).NAME, [])
    assert first.messages > 0
    assert (again.messages, again.duplicates) == (0, first.messages + first.duplicates)
    contexts = list(views(db, first))
    assert sum(len(context.messages) for context in contexts) > 0
    assert [violations(context) for context in contexts] == [[] for _ in contexts]


# Growing files


def state(t: Tract) -> dict[str, Any]:
    """Each dialog: its branches, the one that is checked out, and what each answer has used."""
    found: dict[str, Any] = {}
    for info in t.dialogs():
        store = t.session.sibling(info.dialog).store
        heads = store.branches(info.dialog)
        logs = [store.log(head.id) for head in heads.values() if head.id]
        usages = {commit.commit_hash: commit.usage for log in logs for commit in log}
        hashes = {name: head.hash for name, head in heads.items()}
        found[info.dialog] = info.branch, hashes, usages, info.facts
    return found


def state_after(content: bytes, ends: Iterable[int], folder: Path) -> dict[str, Any]:
    """The state after importing a file each time that it has grown."""
    path = folder / "given"
    with Tract.open() as t:
        for end in ends:
            path.write_bytes(content[:end])
            with suppress(InputError):
                import_file(t, path)
        return state(t)


def check_growth(module: str, content: bytes, folder: Path, count: int) -> None:
    end = len(content)
    once = state_after(content, [end], folder)
    lines = [position for position, byte in enumerate(content, 1) if byte == ord("\n")]
    assert state_after(content, [*lines, end], folder) == once
    random = Random(module)
    positions = sorted(random.randrange(end) for _ in range(count))
    assert state_after(content, [*positions, end], folder) == once


@each_file
def test_a_growing_file_is_as_if_imported_at_once(
    module: str, content: bytes, tmp_path: Path
) -> None:
    if is_text(content):
        check_growth(module, content, tmp_path, 20)


@pytest.mark.long
@each_file
def test_a_growing_file_cut_anywhere(module: str, content: bytes, tmp_path: Path) -> None:
    if is_text(content):
        check_growth(module, content, tmp_path, 200)


# One damaged value

ELSEWHERE = {
    "inspect_log": "long texts stand behind the messages",
    "exchanges": "bodies are encoded",
    "swe_agent": "the last result is in the trajectory",
    "requests": "a request of one message has no other",
}
"""Formats in which a text does not stand where it is referred to, or nothing else does."""
MADE = {"base64", "image", "image/png", "image_url", "text", "thinking", "reasoning", "message"}
MADE |= {"{}", "What did we do so far?", "The user cancelled this tool call.", "No tool output"}
MADE |= {"Tool call execution denied."}
"""Words that importers write themselves."""


def documents(content: bytes) -> Iterator[tuple[list[Any], int]]:
    """The values of a file, and which of them is to be damaged."""
    if not is_text(content) or content.lstrip()[:1] not in (b"{", b"["):
        return
    with suppress(ValueError):
        yield [json.loads(content)], 0
        return
    with suppress(ValueError):
        values = [json.loads(line) for line in content.splitlines() if line.strip()]
        yield from ((values, number) for number in range(len(values)))


def check_damage(module: str, content: bytes, folder: Path, step: int) -> None:
    whole = texts_of(read_items(importers.importer(module), file_of(folder, content))) - MADE
    count = 0
    for values, number in documents(content):
        for damage in damages(values[number], is_line=len(values) > 1):
            count += 1
            if count % step:
                continue
            damaged = [*values[:number], damage.document, *values[number + 1 :]]
            data = as_lines(*damaged) if len(values) > 1 else as_json(damage.document)
            found = list(read_items(importers.importer(module), file_of(folder, data)))
            lost, kept = "".join(damage.lost), "".join(texts_of(found))
            missing = [
                text
                for text in whole
                if text not in kept and text not in lost and not any(s in text for s in damage.lost)
            ]
            assert not missing, (damage.kind, number, damage.path, missing)


@each_file
def test_one_damaged_value_costs_only_itself(module: str, content: bytes, tmp_path: Path) -> None:
    if module not in ELSEWHERE:
        check_damage(module, content, tmp_path, 7)


@pytest.mark.long
@each_file
def test_each_damage_to_each_value(module: str, content: bytes, tmp_path: Path) -> None:
    if module not in ELSEWHERE:
        check_damage(module, content, tmp_path, 1)
