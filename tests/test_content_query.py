"""Parts of a text: exact, bounded, complete when one goes on."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.corpus import DATA
from tests.strategies import json_values
from tract.content import hits as hits_module
from tract.content import query
from tract.content.hits import CHUNK
from tract.content.query import (
    MAX_CHARS,
    Lines,
    Part,
    Slice,
    answer,
    id_of,
    next_arguments,
    part_of,
    slice_of,
)
from tract.content.reader import StringReader, TextReader
from tract.errors import InputError

characters = st.characters(exclude_categories=())  # lone surrogates and NUL are text too
letters = st.sampled_from("ab\n\n\r\x0c\x85\u2028é\x00\ud800")
texts = st.text(letters | characters, max_size=60)
long_texts = st.builds(
    lambda parts: "".join(text * times for text, times in parts),
    st.lists(st.tuples(texts, st.integers(0, 60)), max_size=4),
)
rooms = st.integers(1, 50)
MAX_FRAME = 2_500  # of an answer beside the part: the label, the title, the last line


def lines_of(text: str) -> list[str]:
    """Lines with their ends, by the only rule there is."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def parts(source: TextReader | str, wanted: Slice, max_chars: int) -> Iterator[Part]:
    """One part after the other, by what each says of the next."""
    following: Slice | None = wanted
    while following:
        part = part_of(source, following, max_chars)
        yield part
        assert part.following != following
        following = part.following


class StoredSource:
    """A text as a store has it: in chunks, each with the position and the line it starts at."""

    def __init__(self, text: str, chunk: int, largest_read: int = CHUNK) -> None:
        self._chunks = [text[start : start + chunk] for start in range(0, len(text), chunk)]
        self._starts = list(range(0, len(text), chunk))
        newlines = 0
        self._newlines = [0]
        for stored in self._chunks:
            newlines += stored.count("\n")
            self._newlines.append(newlines)
        self._largest_read = largest_read
        self.size, self.byte_size = len(text), len(text.encode("utf-8", "surrogatepass"))
        self.line_count = len(lines_of(text))

    def read(self, start: int, stop: int) -> str:
        assert start >= 0
        assert stop - start <= self._largest_read
        first = max(bisect_right(self._starts, start) - 1, 0)
        last = bisect_right(self._starts, stop)
        at = self._starts[first] if self._starts else 0
        return "".join(self._chunks[first:last])[start - at : stop - at]

    def line_start(self, number: int) -> int:
        left = number - 1
        if not 0 < left <= self._newlines[-1]:
            return 0 if left <= 0 else self.size
        chunk = bisect_left(self._newlines, left) - 1
        at = 0
        for _ in range(left - self._newlines[chunk]):
            at = self._chunks[chunk].index("\n", at) + 1
        return self._starts[chunk] + at

    def line_at(self, position: int) -> int:
        assert 0 <= position <= self.size
        chunk = max(bisect_right(self._starts, position) - 1, 0)
        start = self._starts[chunk] if self._starts else 0
        stored = self._chunks[chunk] if self._chunks else ""
        return 1 + self._newlines[chunk] + stored.count("\n", 0, position - start)


# Sources


@given(long_texts)
@example("")
@example("\n" * 10_000)
@example("x" * 4_096)
@example("\n" * 4_096)
def test_a_text_knows_its_lines(text: str) -> None:
    source, lines = StringReader(text), lines_of(text)
    assert source.line_count == len(lines)
    position = 0
    for number, line in enumerate(lines[:300], 1):
        assert source.line_start(number) == position
        assert source.line_at(position) == source.line_at(position + len(line) - 1) == number
        position += len(line)
    assert source.line_start(len(lines) + 1) == source.line_start(10**15) == len(text)


@given(long_texts, st.integers(1, 100))
def test_a_stored_text_knows_the_same(text: str, chunk: int) -> None:
    stored, plain = StoredSource(text, chunk), StringReader(text)
    assert (stored.size, stored.line_count) == (plain.size, plain.line_count)
    for number in range(1, min(plain.line_count, 50) + 3):
        assert stored.line_start(number) == plain.line_start(number)
    for position in range(0, len(text) + 1, 1 + len(text) // 50):
        assert stored.line_at(position) == plain.line_at(position)
        assert stored.read(position, position + 30) == plain.read(position, position + 30)


# Requests

DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("given_lines", "expected"),
    [
        ("10-20", Lines(10, 20)),
        ("10:20", Lines(10, 20)),
        (" 10 – 20 ", Lines(10, 20)),
        ("10..20", Lines(10, 20)),
        ("10, 20", Lines(10, 20)),
        ("10 to 20", Lines(10, 20)),
        ("lines 10-20", Lines(10, 20)),
        ("L10-L20", Lines(10, 20)),
        ("20-10", Lines(10, 20)),
        ([10, 20], Lines(10, 20)),
        (["10", 20.0], Lines(10, 20)),
        ((10, 20), Lines(10, 20)),
        ("10", Lines(10, 10)),
        (10, Lines(10, 10)),
        (10.0, Lines(10, 10)),
        ("10-", Lines(10, None)),
        ("10-end", Lines(10, None)),
        ("10-…", Lines(10, None)),
        ("10:-1", Lines(10, None)),
        ([10, -1], Lines(10, None)),
        ([10, None], Lines(10, None)),
        ("-5", Lines(-5, None)),
        (-5, Lines(-5, None)),
        ([-5, -1], Lines(-5, None)),
        (":5", Lines(1, 5)),
        ([None, 5], Lines(1, 5)),
        ("0-5", Lines(0, 5)),
    ],
)
def test_lines_as_models_write_them(given_lines: Any, expected: Lines) -> None:
    assert slice_of({"lines": given_lines}) == Slice(lines=expected)


@pytest.mark.parametrize(
    "given_lines",
    [
        *("x", "-", ":", "1-2-3", "1-5,10-20", "9" * 16, "--5", "-5:10", "lines", "٣"),
        *([1], [1, 2, 3], [1, "x"], {}, {"from": 1}, True, 1.5, float("inf"), float("nan")),
    ],
)
def test_what_is_no_range_is_refused(given_lines: Any) -> None:
    with pytest.raises(InputError, match="lines must be a range such as 10-20, 10- or -5"):
        slice_of({"lines": given_lines})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, Slice()),
        ("", Slice()),
        ("{}", Slice()),
        ({"id": "call_1"}, Slice()),
        ({"lines": None, "grep": "", "json_path": None, "offset": 0, "limit": 0}, Slice()),
        ('{"id": "x", "grep": "a", "context": "5"}', Slice(grep="a", context=5)),
        ({"grep": "a", "context": 10_000}, Slice(grep="a", context=50)),
        ({"offset": "8000", "limit": 10.0}, Slice(offset=8000, limit=10)),
        ({"offset": -100}, Slice(offset=-100)),
        ({"offset": 10**30}, Slice(offset=10**15)),
        ({"json_path": "$.a", "lines": "3"}, Slice(json_path="$.a", lines=Lines(3, 3))),
    ],
)
def test_arguments_as_models_give_them(arguments: Any, expected: Slice) -> None:
    assert slice_of(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"lines": "1", "grep": "a"}, "pass lines or grep, not both"),
        (
            {"line": 3},
            "unknown argument 'line'; expected one of id, tool_call_id, lines, grep, context",
        ),
        ({"offset": "x"}, "offset must be a whole number, not 'x'"),
        ({"offset": True}, "offset must be a whole number, not True"),
        ({"limit": -1}, "limit must be a whole number of at least 0, not -1"),
        ({"limit": 1.5}, "limit must be a whole number of at least 0, not 1.5"),
        ({"grep": "a", "context": -1}, "context must be a whole number of at least 0"),
        ({"grep": 5}, "grep must be a string, not 5"),
        ({"grep": "x" * 501}, "grep must have at most 500 characters, not 501"),
        ({"json_path": ["a"]}, "json_path must be a string, not ['a']"),
        ({"grep": DEEP}, "grep must be a string, not ["),
        ({"lines": DEEP}, "lines must be a range such as"),
        ({"x" * 10_000: 1}, "unknown argument 'xxx"),
        ({"json_path": "$[?(a)]"}, "cannot be read from character 4 on"),
        ([], "arguments must be a JSON object, not list"),
        ("[1]", "arguments must be a JSON object, not list"),
        (None, "arguments must be a JSON object, not NoneType"),
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(arguments: Any, fact: str) -> None:
    with pytest.raises(InputError, match=re.escape(fact)) as refused:
        slice_of(arguments)
    assert len(str(refused.value)) < 500


@given(json_values | st.dictionaries(st.sampled_from(query.KNOWN), json_values, max_size=4))
def test_any_arguments_are_understood_or_refused(arguments: Any) -> None:
    try:
        wanted = slice_of(arguments)
    except InputError:
        return
    assert isinstance(answer("a\nb", wanted, label="x"), str)


def test_the_id_is_read_apart() -> None:
    assert id_of('{"id": "call_1", "lines": "1"}') == "call_1"
    assert id_of({"id": "a#2"}) == "a#2"
    for arguments in ({}, {"id": None}, {"id": 5}, {"lines": "1"}):
        with pytest.raises(InputError, match="id must be a string"):
            id_of(arguments)


# Pages

TEXT = "".join(f"line {number}\n" for number in range(1, 343))


def test_a_small_text_is_given_whole() -> None:
    assert answer("a\nb", Slice(), label="call_1 · run") == (
        "[call_1 · run · all of 3 bytes, 2 lines]\na\nb"
    )
    assert answer("", Slice(), label="call_1") == "[call_1 · empty]"
    assert answer("", Slice(grep="x"), label="call_1") == "[call_1 · empty]"
    assert answer("", Slice(lines=Lines(3)), label="call_1") == "[call_1 · empty]"


def test_a_page_says_what_it_is_and_how_to_go_on() -> None:
    assert answer(TEXT, Slice(offset=5), label="call_1", max_chars=20) == (
        f"[call_1 · offset 5–25 of {len(TEXT)} characters ({len(TEXT)} bytes), lines 1–4 of 342]\n"
        "1\nline 2\nline 3\nline\n"
        "[more: call again with offset=25]"
    )
    assert answer(TEXT, Slice(offset=5, limit=4), label="call_1").endswith(
        "\n1\nli\n[more: call again with offset=9, limit=4]"
    )
    assert answer(TEXT, Slice(offset=-5), label="call_1") == (
        f"[call_1 · offset {len(TEXT) - 5}–{len(TEXT)} of {len(TEXT)} characters "
        f"({len(TEXT)} bytes), line 342 of 342]\n 342\n"
    )


def test_a_page_behind_the_end_names_the_size() -> None:
    assert answer("abc", Slice(offset=3), label="c") == (
        "[c · nothing at offset 3: the text has 3 characters]"
    )
    assert answer("abc", Slice(offset=-9), label="c") == "[c · all of 3 bytes, 1 line]\nabc"


@given(long_texts, rooms, st.none() | st.integers(1, 70))
def test_pages_together_are_the_text(text: str, room: int, limit: int | None) -> None:
    pages = list(parts(text, Slice(limit=limit), room))
    assert "".join(page.body for page in pages) == text
    assert all(len(page.body) <= min(room, limit or room) for page in pages)


def test_one_line_of_a_megabyte_can_be_paged_through() -> None:
    text = "".join(map(str, range(180_000)))
    assert "".join(page.body for page in parts(text, Slice(), MAX_CHARS)) == text
    whole_line = parts(text, Slice(lines=Lines(1, 1)), MAX_CHARS)
    assert "".join(page.body for page in whole_line) == text


# Lines


@pytest.mark.parametrize(
    ("lines", "title", "body"),
    [
        ("10-11", "lines 10–11 of 342", "line 10\nline 11\n"),
        ("7", "line 7 of 342", "line 7\n"),
        ("341-", "lines 341–342 of 342", "line 341\nline 342\n"),
        ("-2", "lines 341–342 of 342", "line 341\nline 342\n"),
        ("342-900", "line 342 of 342", "line 342\n"),
        ("0-1", "line 1 of 342", "line 1\n"),
        ("400-500", "no lines 400-500: lines are numbered 1–342", ""),
        ("0", "no lines 0: lines are numbered 1–342", ""),
    ],
)
def test_lines(lines: str, title: str, body: str) -> None:
    assert part_of(TEXT, slice_of({"lines": lines})) == Part(title, body)


def test_lines_that_do_not_fit_go_on_with_the_next_line() -> None:
    assert answer(TEXT, Slice(lines=Lines(10, 20)), label="call_1", max_chars=30) == (
        "[call_1 · lines 10–12 of 342]\nline 10\nline 11\nline 12\n\n"
        "[more: call again with lines=13-20]"
    )


def test_a_line_that_does_not_fit_goes_on_within() -> None:
    text = "first\n" + "x" * 25 + "\nlast\n"
    told = [answer(text, Slice(lines=Lines(2, 3)), label="c", max_chars=20)]
    told.append(answer(text, slice_of({"lines": "2-3", "offset": 20}), label="c", max_chars=20))
    assert told == [
        "[c · line 2 of 3, offset 0–20 of 31 characters]\n" + "x" * 20 + "\n"
        "[more: call again with lines=2-3, offset=20]",
        "[c · lines 2–3 of 3, offset 20–31 of 31 characters]\n" + "x" * 5 + "\nlast\n",
    ]
    assert answer(text, slice_of({"lines": "2-3", "offset": 99}), label="c") == (
        "[c · nothing at offset 99: lines 2–3 of 3 have 31 characters]"
    )


@given(long_texts, rooms, st.integers(-5, 30), st.none() | st.integers(0, 40))
def test_lines_together_are_those_asked_for(
    text: str, room: int, first: int, last: int | None
) -> None:
    if first < 0:
        last = None
    pages = list(parts(text, Slice(lines=Lines(first, last)), room))
    expected = lines_of(text)[first if first < 0 else max(first - 1, 0) : last]
    assert "".join(page.body for page in pages) == "".join(expected)
    assert all(len(page.body) <= room for page in pages)


# Hits


def test_hits_with_what_is_around_them() -> None:
    assert answer(TEXT, Slice(grep="line (12|15|42)$"), label="call_1") == (
        "[call_1 · grep line (12|15|42)$ · 3 matches in lines 1–342 of 342]\n"
        "10-line 10\n11-line 11\n12:line 12\n13-line 13\n14-line 14\n"
        "15:line 15\n16-line 16\n17-line 17\n--\n"
        "40-line 40\n41-line 41\n42:line 42\n43-line 43\n44-line 44"
    )
    assert answer(TEXT, Slice(grep="line (1|2|342)$", context=0), label="call_1") == (
        "[call_1 · grep line (1|2|342)$ · 3 matches in lines 1–342 of 342]\n"
        "1:line 1\n2:line 2\n342:line 342"
    )


def test_hits_that_do_not_fit_go_on_behind_the_last() -> None:
    wanted = Slice(grep="0", context=1)
    assert answer(TEXT, wanted, label="call_1", max_chars=66) == (
        "[call_1 · grep 0 · 61 matches in lines 1–342 of 342]\n"
        "9-line 9\n10:line 10\n11-line 11\n--\n19-line 19\n20:line 20\n21-line 21\n"
        f"[more: call again with the same grep, offset={TEXT.index('line 22')}]"
    )


def test_labels_and_patterns_are_cut() -> None:
    told = answer("a", Slice(grep="y" * 500), label="l" * 10_000)
    start = f"[{'l' * 199}… · grep {'y' * 99}… · 0 matches in line 1 of 1; try "
    assert told.startswith(start)
    assert answer("a", Slice(), label="two\nlines").startswith("[two\\nlines · ")


def test_no_hit_is_said() -> None:
    assert answer("a\n", Slice(grep="b"), label="c") == (
        "[c · grep b · 0 matches in line 1 of 1; try a shorter pattern, or (?i) to ignore case]"
    )


def test_no_regular_expression_is_searched_as_it_is() -> None:
    assert answer("f(x\ny", Slice(grep="f(x"), label="c") == (
        "[c · grep f(x (not a supported regular expression; searched as plain text) · "
        "1 match in lines 1–2 of 2]\n1:f(x\n2-y"
    )


def test_a_long_line_is_shown_around_its_hits() -> None:
    text = "short\n" + "a" * 1_000 + "needle" + "b" * 1_000 + "needle\nend"
    assert answer(text, Slice(grep="needle", context=1), label="c") == (
        "[c · grep needle · 2 matches in lines 1–3 of 3]\n"
        f"1-short\n2:…{'a' * 294}needle{'b' * 200}… [offset=712, limit=500]\n"
        f"2:…{'b' * 294}needle [offset=1718, limit=300]\n3-end"
    )
    assert text[712:].startswith("a" * 294 + "needle")
    assert answer(text, Slice(grep="end"), label="c").endswith(
        f"\n1-short\n2-{'a' * 500}… [offset=6, limit=500]\n3:end"
    )


def test_places_of_a_long_line_leave_no_gap() -> None:
    text = "x" + "-" * 200 + "x" + "-" * 400 + "x"
    body = part_of(text, Slice(grep="x")).body
    assert [re.findall(r"offset=(\d+), limit=(\d+)", row)[0] for row in body.split("\n")] == [
        ("0", "201"),
        ("0", "402"),
        ("303", "300"),
    ]
    assert "1 match " in part_of("xa" * 500, Slice(grep="^x")).title
    assert "1 match " in part_of("a" * 500 + " x" + "xx" * 500, Slice(grep=r"\bx")).title
    assert "0 matches " in part_of("xa" * 500, Slice(grep="^x", offset=2)).title


words = st.lists(st.sampled_from(["x", "y", " ", "\n", "z" * 700, "x" * 300]), max_size=40)
searched = words.map("".join)


@settings(max_examples=200)
@given(searched, rooms | st.integers(1, 3_000), st.integers(0, 3), st.sampled_from([CHUNK, 600]))
def test_hits_together_are_all_hits_once(text: str, room: int, context: int, chunk: int) -> None:
    grep = "x y|xz|^$"
    wanted = Slice(grep=grep, context=context)
    at_once = part_of(text, wanted, 10**6)
    with patch.object(hits_module, "CHUNK", chunk), patch.object(hits_module, "PIECE", 16):
        rows = list(rows_of(parts(text, wanted, room)))
    assert not at_once.following
    hits = [row for row in rows if is_hit(row)]
    assert hits == [row for row in rows_of([at_once]) if is_hit(row)]
    lines = enumerate(lines_of(text), 1)
    expected = [number for number, line in lines if re.search(grep, line.removesuffix("\n"))]
    assert list(dict.fromkeys(number_of(row) for row in hits)) == expected
    assert f" {len(hits)} match" in at_once.title or not text
    assert [number_of(row) for row in rows] == sorted(number_of(row) for row in rows)


def rows_of(pages: Iterable[Part]) -> Iterator[str]:
    """Hits and context, which is never a hit itself."""
    for page in pages:
        rows = [row for row in page.body.split("\n") if row and row != "--"]
        assert not [row for row in rows if re.fullmatch(r"\d+-(.*(x y|xz).{0,400})?", row)]
        yield from rows


def number_of(row: str) -> int:
    return int(re.split("[:-]", row)[0])


def is_hit(row: str) -> bool:
    return bool(re.match(r"\d+:", row))


@given(searched, st.integers(0, 3))
def test_rows_are_the_lines_themselves_in_order(text: str, context: int) -> None:
    lines = [line.removesuffix("\n") for line in lines_of(text)]
    body = part_of(text, Slice(grep="x y", context=context), 10**6).body
    numbers = []
    for row in body.split("\n") if body else []:
        found = re.fullmatch(r"(\d+)([:-])(.*)", row)
        if row == "--" or not found:
            continue
        number, mark, shown = int(found[1]), found[2], found[3]
        numbers.append(number)
        if len(lines[number - 1]) <= 500:
            assert shown == lines[number - 1]
            assert (mark == ":") == ("x y" in shown)
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("work", range(2_000, 2_300, 50))
def test_work_is_bounded_and_the_search_goes_on(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"{'fine' if number % 4 else 'error'} {number}\n" for number in range(1_000))
    monkeypatch.setattr(hits_module, "MAX_WORK", work)
    pages = list(parts(text, Slice(grep="error|x", context=3), 10**6))
    assert len(pages) > 3
    assert pages[0].title.startswith("grep error|x · ")
    assert " matches in lines 1–" in pages[0].title
    rows = [row for page in pages for row in page.body.split("\n") if row and row != "--"]
    assert [row for row in rows if "error" in row] == [row for row in rows if is_hit(row)]
    assert sum(map(is_hit, rows)) == 250
    assert len({number_of(row) for row in rows}) == len(rows)


def test_a_hostile_pattern_is_given_up_in_a_long_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits_module, "MAX_WORK", 1_000_000)
    text = "ab" * 100_000 + "\nc\n"
    wanted = Slice(grep="(a|b)*a(a|b){200}c|c$")
    pages = list(parts(text, wanted, 1_000))
    assert [page.body for page in pages if page.body][-1].endswith("\n2:c")


# JSON

RESULT = json.dumps({"stdout": TEXT, "codes": [0, 1], "files": [{"name": "a"}, {"name": "b"}]})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"json_path": "$.codes"}, "[c · $.codes · all of 6 bytes, 1 line]\n[0, 1]"),
        (
            {"json_path": "$.files[*].name"},
            '[c · $.files[*].name · 2 values · all of 7 bytes, 2 lines]\n"a"\n"b"',
        ),
        ({"json_path": "$.stdout", "lines": "3"}, "[c · $.stdout · line 3 of 342]\nline 3\n"),
        (
            {"json_path": "stdout", "grep": "line 9$", "context": 0},
            "[c · stdout · grep line 9$ · 1 match in lines 1–342 of 342]\n9:line 9",
        ),
        (
            {"json_path": "$.stdout", "limit": 6},
            f"[c · $.stdout · offset 0–6 of {len(TEXT)} characters ({len(TEXT)} bytes), "
            "line 1 of 342]\nline 1\n[more: call again with the same json_path, offset=6, limit=6]",
        ),
        (
            {"json_path": "$.files[0].size"},
            "[c · nothing at $.files[0].size: $.files[0] is an object with the keys name]",
        ),
    ],
)
def test_json(arguments: dict[str, Any], text: str) -> None:
    assert answer(RESULT, slice_of(arguments), label="c") == text


def test_what_is_not_json_is_said() -> None:
    assert answer("plain", Slice(json_path="$.a"), label="c") == (
        "[c · not JSON: Expecting value: line 1 column 1 (char 0); use lines or grep instead]"
    )
    nested = "[" * 100_000 + "]" * 100_000
    assert "nested too deeply" in answer(nested, Slice(json_path="$"), label="c")
    large = StringReader("")
    large.size = 10**9
    assert answer(large, Slice(json_path="$"), label="c") == (
        "[c · too large for json_path: 1000000000 characters; use lines or grep instead]"
    )


@given(json_values, rooms)
def test_pages_of_json_together_are_the_value(value: Any, room: int) -> None:
    pages = list(parts(json.dumps(value), Slice(json_path="$"), room))
    expected = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    assert "".join(page.body for page in pages) == expected


# All kinds

json_texts = json_values.map(json.dumps)
wanted_slices = st.builds(
    lambda json_path, kind, offset, limit: Slice(
        json_path=json_path, offset=offset, limit=limit, **kind
    ),
    st.none()
    | st.sampled_from(["$", "$..*", "$[0]", "$.a\n", "x" * 1_000, "$['" + "k" * 990 + "']"]),
    st.fixed_dictionaries({})
    | st.fixed_dictionaries({"lines": st.builds(Lines, st.integers(0, 10**15), st.none())})
    | st.fixed_dictionaries(
        {
            "grep": st.sampled_from(["a", "a*", "(", "^$", "\n", "[^x]" * 125])
            | st.text(min_size=1),
            "context": st.integers(0, 50),
        }
    ),
    st.integers(-100, 100) | st.just(10**15),
    st.none() | st.integers(1, 100),
)


@given(long_texts | json_texts, wanted_slices, st.integers(1, 300), st.text() | st.just("l" * 999))
def test_every_answer_is_bounded_and_the_same_again(
    text: str, wanted: Slice, room: int, label: str
) -> None:
    told = answer(text, wanted, label=label, max_chars=room)
    assert len(told) <= room + MAX_FRAME
    assert told == answer(StoredSource(text, 7), wanted, label=label, max_chars=room)
    assert "\n" not in told.split("]\n")[0]


@given(long_texts, wanted_slices, rooms)
def test_what_is_said_of_the_next_part_is_what_leads_there(
    text: str, wanted: Slice, room: int
) -> None:
    following = part_of(text, wanted, room).following
    if following:
        said = dict(re.findall(r"(lines|offset|limit)=([\d-]+)", next_arguments(following)))
        kept = {"grep": wanted.grep, "context": wanted.context, "json_path": wanted.json_path}
        assert slice_of(kept | said) == following


@pytest.mark.parametrize(
    "text",
    [
        *("x" * 1_000_000, "\n" * 3_000_000, "x\n" * 500_000, ("ab" * 4_000 + "\n") * 100),
        *("\r" * 1_000_000, "\ud800\x00" * 100_000, "[" * 1_000_000, '{"a":' * 100_000),
    ],
    ids=["one line", "newlines", "short", "long", "returns", "odd", "brackets", "nested"],
)
@pytest.mark.parametrize(
    "arguments",
    [{}, {"lines": "400-"}, {"grep": "(x+x+)+y|^$|b"}, {"json_path": "$..a"}, {"offset": 500_000}],
    ids=str,
)
def test_hostile_texts(text: str, arguments: dict[str, Any]) -> None:
    told = answer(StoredSource(text, 65_536, 10**7), slice_of(arguments), label="c")
    assert len(told) <= MAX_CHARS + MAX_FRAME


def test_nothing_is_read_but_what_is_needed() -> None:
    source = StoredSource("some line\n" * 100_000, 65_536, largest_read=MAX_CHARS)
    assert "line 50000 of 100000" in answer(source, slice_of({"lines": "50000"}), label="c")
    assert "offset 500000–508000" in answer(source, slice_of({"offset": 500_000}), label="c")
    whole = StoredSource("x" * 10**6 + "\ny" * 10**5, 65_536)
    assert " 100000 matches " in answer(whole, slice_of({"grep": "y"}), label="c")


def test_real_results_can_be_fetched_completely() -> None:
    if not DATA.is_dir():
        pytest.skip("no recorded transcripts here")
    files = sorted(DATA.glob("claude-code-jsonl/*.jsonl"))
    results = [text for file in files for text in _results(file)]
    assert results
    for text in results:
        assert "".join(page.body for page in parts(text, Slice(), 1_000)) == text
        in_lines = parts(text, Slice(lines=Lines(1)), 1_000)
        assert "".join(page.body for page in in_lines) == text
        pages = list(parts(text, Slice(grep=r"(?i)error|def \w+"), 1_000))
        rows = [row for page in pages for row in page.body.split("\n") if is_hit(row)]
        hits = [line for line in lines_of(text) if re.search(r"(?i)error|def \w+", line)]
        assert len(rows) >= len(hits)


def _results(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").split("\n"):
        try:
            content = json.loads(line)["message"]["content"]
        except (ValueError, KeyError, TypeError):
            continue
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and isinstance(block.get("content"), str):
                yield block["content"]
