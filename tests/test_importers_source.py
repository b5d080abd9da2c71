"""Files of lines and of one document: what they are, and what is left of those that were cut."""

from __future__ import annotations

import gzip
import io
import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importing import file_of
from tests.strategies import json_values
from tract.errors import InputError
from tract.importers import source as source_module
from tract.importers.items import Problem
from tract.importers.partial_json import (
    MAX_OBJECTS,
    MAX_WEIGHT,
    elements,
    parse_around,
    repair,
)
from tract.importers.source import MAX_BROKEN, PEEK, STEP, Source
from tract.importers.transcripts import read_transcript

DOCUMENT = {"a": ["x, y", {"b": 'q"}', "c": [1, 2.5, None, True]}], "d": "ü"}


@given(st.lists(json_values, max_size=4), st.data())
def test_what_was_cut_is_a_document_again(value: list[Any], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    cut = data.draw(st.integers(1, len(text)))
    left = json.loads(repair(text[:cut]).decode("utf-8", "surrogatepass"))
    assert len(left) <= len(value)
    whole = max(len(left) - 1, 0)
    assert json.dumps(left[:whole]) == json.dumps(value[:whole])


def test_every_cut_of_a_document_is_read() -> None:
    text = json.dumps(DOCUMENT).encode()
    assert [json.loads(repair(text[:cut])) for cut in range(1, len(text) + 1)][-1] == DOCUMENT


@given(st.lists(json_values, max_size=4), st.integers(1, 9), st.data())
def test_a_list_is_read_element_by_element(
    value: list[Any], step: int, data: st.DataObject
) -> None:
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1]))).encode()
    cut = text[: data.draw(st.integers(1, len(text)))]
    chunks = iter([cut[at : at + step] for at in range(0, len(cut), step)])
    parts = list(elements(lambda: next(chunks, b""), 10**6))
    whole = [json.loads(part) for part in parts if part is not None]
    assert json.dumps(whole) == json.dumps(value[: len(whole)])
    assert (None in parts) == (cut != text)


def test_an_element_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    source = file_of(tmp_path, b'[{"a": 1}, {"b" 2}, null, 7, "x]", [], {"c": 3}, {"d')
    got = list(source.elements())
    assert [one for one in got if not isinstance(one, Problem)] == [
        *((1, {"a": 1}), (3, None), (4, 7), (5, "x]"), (6, []), (7, {"c": 3}))
    ]
    places = [one.place for one in got if isinstance(one, Problem)]
    assert places == ["element 2", "end of file"]
    with pytest.raises(InputError, match="not a list"):
        list(file_of(tmp_path, {"a": 1}).elements())


def test_a_long_list_is_read_with_the_memory_of_an_element(tmp_path: Path) -> None:
    element = {"text": "x" * 1000, "list": [1, {"a": "]"}]}
    source = file_of(tmp_path, [element] * 3000)
    assert list(source.elements()) == [(number, element) for number in range(1, 3001)]


def test_the_first_value_is_seen_in_any_layout(tmp_path: Path) -> None:
    line = json.dumps(DOCUMENT).encode()
    for data in (line, json.dumps(DOCUMENT, indent=2).encode(), line + b"\n{}\n", b"{bad\n" + line):
        assert file_of(tmp_path, data).peek == DOCUMENT


def test_a_large_document_is_seen_by_its_beginning(tmp_path: Path) -> None:
    data = json.dumps({"first": 1, "rest": ["x" * 1000] * (PEEK // 900)}, indent=1).encode()
    assert len(data) > PEEK
    assert file_of(tmp_path, data).peek["first"] == 1


def test_nothing_is_seen_in_what_is_no_json(tmp_path: Path) -> None:
    for data in (b"", b"hello", b"[" * 100_000, b"\xff\xff", b"7"):
        assert file_of(tmp_path, data).peek in (None, [])


def test_lines_and_documents(tmp_path: Path) -> None:
    line = json.dumps(DOCUMENT).encode()
    found = list(file_of(tmp_path, line + b"\n\n{bad\n" + line).values())
    assert found[0] == ("line 1", DOCUMENT)
    assert isinstance(found[1], Problem)
    assert found[1].place == "line 3"
    assert found[2] == ("line 4", DOCUMENT)
    indented = json.dumps(DOCUMENT, indent=2).encode()
    assert list(file_of(tmp_path, indented).values()) == [("document", DOCUMENT)]


def test_a_cut_document_is_told_and_read(tmp_path: Path) -> None:
    data = json.dumps([DOCUMENT, DOCUMENT], indent=1).encode()[:-20]
    problem, told = file_of(tmp_path, data).values()
    assert isinstance(problem, Problem)
    assert not isinstance(told, Problem)
    place, found = told
    assert place == "document"
    assert found[0] == DOCUMENT


def test_what_is_no_document_is_refused(tmp_path: Path) -> None:
    for data in (b"hello", b"{\nnope}", b"[\n" * 100_000):
        with pytest.raises(InputError):
            list(file_of(tmp_path, data).values())


def records(source: Source) -> tuple[list[Any], list[Problem]]:
    found = list(source.records())
    problems = [one for one in found if isinstance(one, Problem)]
    return [one for one in found if not isinstance(one, Problem)], problems


@given(st.lists(json_values, max_size=4), st.data())
def test_of_a_cut_list_only_complete_elements_are_kept(
    value: list[Any], data: st.DataObject
) -> None:
    text = json.dumps({"list": value, "after": [1]}).encode()
    cut = data.draw(st.integers(len('{"list": ['), len(text) - 1))
    damaged = parse_around(text[:cut], ("list",))
    left = damaged.value.get("list", [])
    assert json.dumps(left) == json.dumps(value[: len(left)])
    ends = [len(json.dumps({"list": value[: count + 1]})) - 2 for count in range(len(value))]
    assert len(left) >= sum(end < cut for end in ends) - 1
    assert damaged.value.get("after") in (None, [1])
    assert damaged.is_cut


@given(st.lists(json_values, min_size=1, max_size=4), st.data())
def test_a_broken_element_becomes_null(value: list[Any], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(value) - 1))
    texts = [json.dumps(one) for one in value]
    texts[number] = '{"a": nope, "b": [1}'
    damaged = parse_around(f'{{"list": [{", ".join(texts)}]}}'.encode(), ("list",))
    kept = damaged.value["list"]
    assert kept[:number] == value[:number]
    assert damaged.faults


@pytest.mark.parametrize("broken", ['{"a": nope}', '{"a" 1}', "nope", '{"a": [1, ]}'])
def test_what_follows_a_broken_element_is_kept(broken: str) -> None:
    damaged = parse_around(f'{{"list": [1, {broken}, 2], "more": 3}}'.encode(), ("list",))
    assert damaged.value == {"list": [1, None, 2], "more": 3}
    assert not damaged.is_cut


def test_of_a_cut_document_other_values_are_left_out() -> None:
    text = b'{"id": "a", "tools": [{"name": "ls"}, {"na'
    assert parse_around(text, ("messages",)).value == {"id": "a"}
    assert parse_around(text, ("tools",)).value == {"id": "a", "tools": [{"name": "ls"}]}
    nested = b'[{"messages": [1, 2], "n": 1}, {"messages": [3, '
    assert parse_around(nested, ("messages",)).value == [
        {"messages": [1, 2], "n": 1},
        {"messages": [3]},
    ]
    assert parse_around(nested, ()).value == [{"messages": [1, 2], "n": 1}]
    named = b'{"agents": {"a": {"messages": [1]}, "b": {"messages": [2, {"x'
    assert parse_around(named, ("agents", "agents/*", "messages")).value == {
        "agents": {"a": {"messages": [1]}, "b": {"messages": [2]}}
    }
    assert parse_around(named, ("agents", "agents/*")).value == {"agents": {"a": {"messages": [1]}}}


def test_values_that_share_a_line_are_all_read(tmp_path: Path) -> None:
    lines = b'{"a": 1}\n{"b": 2}{"c": [3]}\n{"d": 4} {"e"\n5 6\n'
    found, problems = records(file_of(tmp_path, lines))
    assert found == [(1, {"a": 1}), (2, {"b": 2}), (2, {"c": [3]}), (3, {"d": 4})]
    assert [problem.place for problem in problems] == ["line 2", "line 3", "line 4"]


def test_of_very_many_values_in_a_line_some_are_read(tmp_path: Path) -> None:
    found, problems = records(file_of(tmp_path, b"{}" * (MAX_OBJECTS + 5)))
    assert len(found) == MAX_OBJECTS
    assert len(problems) == 1


def test_a_line_that_is_too_long_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "MAX_LINE", 1000)
    monkeypatch.setattr(source_module, "STEP", 300)
    long = json.dumps({"text": "{}" * 5000}).encode()
    found, problems = records(file_of(tmp_path, b"{}\n" + long + b"\n{}\n" + long))
    assert found == [(1, {}), (3, {})]
    assert [problem.place for problem in problems] == ["line 2", "line 4"]


def test_bytes_that_are_no_text_are_a_problem_of_their_line(tmp_path: Path) -> None:
    found, problems = records(file_of(tmp_path, b'{"a": 1}\n{"b": "\xff"}\n{"c": 3}'))
    assert found == [(1, {"a": 1}), (2, {"b": "\ufffd"}), (3, {"c": 3})]
    assert [problem.place for problem in problems] == ["line 2"]
    assert "utf-8" in problems[0].what


def test_a_mark_of_the_encoding_is_skipped(tmp_path: Path) -> None:
    source = file_of(tmp_path, b"\xef\xbb\xbf" + b'{"a": 1}\n{"b": 2}\n')
    assert source.head.startswith(b"{")
    assert source.peek == {"a": 1}
    assert list(source.head_records()) == [{"a": 1}, {"b": 2}]
    assert records(source) == ([(1, {"a": 1}), (2, {"b": 2})], [])
    assert file_of(tmp_path, b'\xef\xbb\xbf{"a":\n1}').document(()) == ({"a": 1}, [])


def test_a_file_of_broken_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too many lines"):
        list(file_of(tmp_path, b"x\n" * (MAX_BROKEN + 1)).records())
    assert len(list(file_of(tmp_path, b"x\n" * MAX_BROKEN).records())) == MAX_BROKEN


def test_what_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    dense = b"[" + b"{}," * (MAX_WEIGHT // 4 + 1)
    with pytest.raises(InputError, match="too many values"):
        file_of(tmp_path, dense).document(())
    assert file_of(tmp_path, dense).peek is None
    found, problems = records(file_of(tmp_path, dense + b"{}]\n{}"))
    assert found == [(2, {})]
    assert "too many values" in problems[0].what


@pytest.mark.parametrize("read", [lambda source: list(source.records()), Source.data])
def test_how_far_it_was_read_is_told(tmp_path: Path, read: Any) -> None:
    line = json.dumps({"text": "x" * 1000}).encode() + b"\n"
    path = file_of(tmp_path, line * (3 * STEP // len(line))).path
    told: list[tuple[int, int]] = []
    read(Source(path, lambda *now: told.append(now)))
    size = path.stat().st_size
    assert {total for _, total in told} == {size}
    assert told[-1][0] == size
    assert 3 <= len(told) <= 6
    assert told == sorted(told)


def test_a_compressed_file_is_read_as_what_is_in_it(tmp_path: Path) -> None:
    lines = [json.dumps({"number": number}).encode() + b"\n" for number in range(50_000)]
    packed = gzip.compress(b"".join(lines[:40_000])) + gzip.compress(b"".join(lines[40_000:]))
    source = file_of(tmp_path, packed)
    assert source.peek == {"number": 0}
    assert records(source) == ([(n, {"number": n - 1}) for n in range(1, 50_001)], [])
    found, problems = records(file_of(tmp_path, packed[: len(packed) // 2]))
    assert 10_000 < len(found) < 40_000
    assert problems[-1].place == "end of file"
    found, problems = records(file_of(tmp_path, packed[:1000] + b"\xff" * 1000))
    assert problems[-1].place == "end of file"


def test_no_more_than_a_bound_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_UNPACKED", 100_000)
    found, problems = records(file_of(tmp_path, gzip.compress(b"{}\n" * 1_000_000)))
    assert len(found) <= 33_334
    assert "more than" in problems[-1].what
    monkeypatch.setattr(source_module, "MAX_DOCUMENT", 1000)
    with pytest.raises(InputError, match="too large"):
        file_of(tmp_path, gzip.compress(b"[]" * 1000)).data()


def test_a_large_line_that_was_cut_is_a_cut_document(tmp_path: Path) -> None:
    data = json.dumps(["x" * 1000] * (PEEK // 900)).encode()[:-500]
    (problem, (place, found)) = file_of(tmp_path, data).values()  # type: ignore[misc]
    assert isinstance(problem, Problem)
    assert place == "document"
    assert len(found) == PEEK // 900 - 1


def test_a_file_that_is_not_there_is_an_error_of_the_input(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=path.name):
            Source(path)


@pytest.mark.parametrize("opening", [1, 2, 3])
def test_a_file_that_fails_while_it_is_read_is_an_error_of_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opening: int
) -> None:
    """It is opened for its beginning, for its format and for its messages."""
    path = tmp_path / "history.json"
    path.write_text('[{"role": "user", "content": "look"}]')
    opened = count(1)

    class Failing(io.FileIO):
        def __init__(self, *args: Any) -> None:
            if next(opened) == opening:
                raise OSError(5, "Input/output error")
            super().__init__(*args)

    monkeypatch.setattr(io, "FileIO", Failing)
    with pytest.raises(InputError, match=r"history.json: Input/output error"):
        read_transcript(path)
