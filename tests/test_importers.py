"""Which importer takes a file, and that only one does."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tomllib
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import BY_FOLDER, DATA, REAL
from tests.importing import file_of, of_lines, read_file
from tract import importers
from tract.errors import InputError
from tract.importers.items import Entry, Exchange, FullHistory, Problem
from tract.importers.source import SAMPLE, Source

HELPERS = frozenset(
    path.stem
    for path in Path(importers.__file__).parent.glob("*.py")
    if "\nNAME = " not in path.read_text()
)


def takers(path: Path) -> list[str]:
    source = Source(path)
    return [name for name in importers.MODULES if importers.importer(name).detect(source)]


def test_every_importer_is_in_the_list_once() -> None:
    modules = {path.stem for path in Path(importers.__file__).parent.glob("*.py")}
    assert sorted(importers.MODULES) == sorted(modules - HELPERS)
    names = [importers.importer(name).NAME for name in importers.MODULES]
    assert len(set(names)) == len(names)


def test_the_contract_of_independence_names_every_importer() -> None:
    project = tomllib.loads(
        (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    )
    contracts = project["tool"]["importlinter"]["contracts"]
    (modules,) = (one["modules"] for one in contracts if one["type"] == "independence")
    assert sorted(modules) == sorted(f"tract.importers.{name}" for name in importers.MODULES)


def test_an_importer_is_loaded_only_when_it_is_asked_for() -> None:
    said = "import sys, tract.importers; print([m for m in sys.modules if 'importers.' in m])"
    done = subprocess.run(
        [sys.executable, "-c", said], capture_output=True, text=True, check=True, timeout=30
    )
    loaded = {name.removeprefix("tract.importers.") for name in eval(done.stdout)}
    assert loaded == {"items", "partial_json", "source"}


def test_an_unknown_importer_is_named() -> None:
    with pytest.raises(InputError, match="unknown importer 'os'; expected one of"):
        importers.importer("os")


@pytest.mark.skipif(not REAL, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_a_real_file_is_taken_by_exactly_one(path: Path) -> None:
    assert takers(path) == [BY_FOLDER[path.parent.name]]


@pytest.mark.skipif(not REAL, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_a_real_file_is_read(path: Path) -> None:
    items = read_file(path)
    assert any(isinstance(item, Entry | Exchange | FullHistory) for item in items)
    problems = [item for item in items if isinstance(item, Problem)]
    assert len(problems) == ("malformed_line" in path.name)


def empty_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()


def archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("word/document.xml", "<w/>")


GARBAGE: dict[str, bytes] = {
    "empty": b"",
    "blank lines": b"\n\n \n",
    "a null": b"null",
    "a number": b"12",
    "a text": b'"role"',
    "an empty list": b"[]",
    "an empty dict": b"{}",
    "a list of lists": b"[[], [[]]]",
    "numbers in lines": b"1\n2\n3\n",
    "prose": b"Dear all,\nthe user and the assistant met today.\n",
    "a table": b"role,content\nuser,hello\n",
    "a package": json.dumps({"name": "x", "version": "1", "scripts": {}}).encode(),
    "a schema": json.dumps({"type": "object", "properties": {"messages": {}}}).encode(),
    "a notebook": json.dumps({"cells": [], "metadata": {}, "nbformat": 4}).encode(),
    "log lines": b'{"level":"info","msg":"up"}\n{"level":"warn","msg":"down"}\n',
    "words with our names": json.dumps({"messages": "none", "steps": 3, "history": {}}).encode(),
    "nulls with our names": json.dumps(
        dict.fromkeys(["messages", "trajectory", "history", "eval", "steps", "response", "events"])
    ).encode(),
    "deep lists": b"[" * 100_000,
    "deep dicts": b'{"a":' * 100_000,
    "half a text": b'{"role": "us',
    "bytes": bytes(range(256)) * 16,
    "a magic without a database": b"SQLite format 3\0" + b"\0" * 200,
    "a magic without an archive": b"PK\x03\x04" + b"\xff" * 200,
    "UTF-16": '{"role": "user", "content": "x"}'.encode("utf-16"),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_taken_by_none(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(GARBAGE[kind])
    assert takers(path) == []
    assert importers.detect(path) is None
    with pytest.raises(InputError, match="no format that can be imported"):
        read_file(path)


@pytest.mark.parametrize("make", [empty_database, archive])
def test_other_programs_files_are_taken_by_none(tmp_path: Path, make: object) -> None:
    path = tmp_path / "file"
    make(path)  # type: ignore[operator]
    assert takers(path) == []


@pytest.mark.skipif(not REAL, reason="the shared transcripts are not here")
@pytest.mark.parametrize("folder", ["mcp-tool-schemas", "mcp-stdio-replay"])
def test_what_is_no_transcript_is_taken_by_none(folder: str) -> None:
    assert [takers(path) for path in sorted((DATA / folder).glob("*"))] == [
        [] for _ in (DATA / folder).glob("*")
    ]


def test_the_name_of_a_file_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "rollout-session.traj"
    path.write_text(json.dumps({"schema_version": "ATIF-v1.4", "steps": []}))
    assert takers(path) == ["atif"]


def test_a_file_that_is_not_there_is_an_error_of_the_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        importers.detect(tmp_path / "nowhere")
    with pytest.raises(InputError):
        read_file(tmp_path)


# fmt: off
WORDS = (
    "role", "content", "type", "messages", "history", "trajectory", "steps", "eval", "task",
    "version", "samples", "id", "schema_version", "request", "response", "kwargs", "cost",
    "message", "uuid", "events", "payload", "kind", "action", "args", "observation", "source",
    "parts", "model", "input", "output", "lc",
)
# fmt: on

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(WORDS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(values=st.lists(json_values, min_size=1, max_size=3))
def test_no_value_makes_detection_fail(
    tmp_path_factory: pytest.TempPathFactory, values: list[object]
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "file"
    path.write_text("\n".join(map(json.dumps, values)))
    takers(path)
    with suppress(InputError):
        read_file(path)


SESSIONS: dict[str, list[dict[str, object]]] = {
    "claude_code": [
        {"type": "summary", "summary": "s"},
        {"parentUuid": None, "isSidechain": False, "sessionId": "one", "type": "user"},
        {"parentUuid": None, "isSidechain": False, "sessionId": "two", "type": "user"},
    ],
    "codex": [{"type": "session_meta", "timestamp": "t", "payload": {"id": "one"}}],
    "pi": [{"type": "session", "id": "one", "cwd": "/", "timestamp": "t"}],
    "copilot_cli": [
        {"type": "session.start", "data": {"sessionId": "one"}, "id": "x", "timestamp": "t"}
    ],
    "gemini_cli": [{"sessionId": "one", "projectHash": "h", "messages": []}],
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_called_as_the_file_says(tmp_path: Path, name: str) -> None:
    source = of_lines(tmp_path, *SESSIONS[name])
    found = importers.importer_of(source)
    assert found is importers.importer(name)
    assert importers.session_of(found, source) == "one"
    nameless = of_lines(tmp_path, *[{**line, "id": 7, "payload": {}} for line in SESSIONS[name]])
    if name in ("pi", "codex"):
        assert importers.session_of(found, nameless) is None


def test_a_first_line_that_is_longer_than_a_sample_names_its_session(tmp_path: Path) -> None:
    meta = {"id": "one", "instructions": "x" * 2 * SAMPLE}
    source = of_lines(tmp_path, {"type": "session_meta", "timestamp": "t", "payload": meta})
    assert importers.session_of(importers.importer_of(source), source) == "one"


def test_a_sub_agent_is_not_called_as_its_session(tmp_path: Path) -> None:
    line = {"parentUuid": None, "isSidechain": True, "sessionId": "one", "type": "user"}
    source = of_lines(tmp_path, line)
    assert importers.session_of(importers.importer_of(source), source) is None


def test_a_format_without_sessions_has_no_name(tmp_path: Path) -> None:
    source = file_of(tmp_path, [{"role": "user", "content": "Hi"}])
    assert importers.session_of(importers.importer_of(source), source) is None
