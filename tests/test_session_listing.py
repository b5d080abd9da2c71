"""Tool results as a list, and which of them contain a text. On both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract import Tract
from tract.content.reader import StringReader
from tract.session import listing
from tract.session.listing import CHUNK, HitLine, hit_line


@pytest.fixture
def t(db: str) -> Iterator[Tract]:
    with Tract.open(db) as opened:
        for number, name in enumerate(("grep", "read", "grep")):
            arguments = {"pattern": f"p{number}"}
            opened.assistant(
                tool_calls=[{"id": f"c{number}", "name": name, "arguments": arguments}]
            )
            opened.tool_result(f"c{number}", name, f"a\nNeedle {number}\n", is_error=number == 1)
        yield opened


def test_the_newest_result_is_first(t: Tract) -> None:
    labels = [place.label for place in listing.newest_results(t.session)]
    assert labels == ["c2", "c1", "c0"]
    assert [place.label for place in listing.newest_results(t.session, "read")] == ["c1"]
    assert listing.newest_results(t.session, "nothing") == []


def test_a_result_is_described_with_its_call(t: Tract) -> None:
    places = listing.newest_results(t.session)
    newest, failed, _ = listing.describe(t.session, places)
    assert (newest.id, newest.tool, newest.byte_size, newest.is_error) == ("c2", "grep", 11, False)
    assert newest.subject == 'grep "p2"'
    assert newest.created_at is not None
    assert failed.is_error
    assert listing.failed_results(t.session, places) == {places[1]}


def test_each_of_several_results_has_its_own_call(t: Tract) -> None:
    calls = [{"id": name, "name": "f", "arguments": {"n": name}} for name in ("x", "y")]
    t.assistant(tool_calls=calls)
    t.tool_result("y", "f", "second")
    t.tool_result("x", "f", "first")
    t.tool_result("stray", "f", "without a call")
    stray, x, y = listing.describe(t.session, listing.newest_results(t.session, "f"))
    assert [result.subject for result in (stray, x, y)] == ["result of f", "f n=x", "f n=y"]


def test_a_line_is_found_whatever_its_case(t: Tract) -> None:
    place = listing.newest_results(t.session)[0]
    assert listing.is_searchable(t.session, place)
    assert listing.find_line(t.session, place, "nEEDLE 2") == HitLine(2, "Needle 2")
    assert listing.find_line(t.session, place, "needle 3") is None


def test_a_large_text_is_searched_in_pieces(t: Tract) -> None:
    text = "".join(f"line {number}\n" for number in range(150_000))
    t.tool_result("large", "read", text + "x" * 100_000 + "needle" + "y" * 100_000)
    t.tool_result("json", "read", {"rows": [{"name": "Needle"}]})
    json, large = listing.newest_results(t.session, "read")[:2]
    assert listing.find_line(t.session, large, "LINE 149999") == HitLine(150_000, "line 149999")
    hit = listing.find_line(t.session, large, "needle")
    assert hit is not None
    assert (hit.number, hit.text[:1], hit.text[-1:]) == (150_001, "…", "…")
    assert "xneedley" in hit.text
    assert len(hit.text) <= listing.BEFORE + listing.AFTER + 2
    assert listing.find_line(t.session, json, "needle") is not None


def test_a_forgotten_result_has_no_hits(t: Tract) -> None:
    commit = t.list_tool_results("c2")[0].commit_hash
    t.forget(commit)
    place = listing.newest_results(t.session)[0]
    assert listing.find_line(t.session, place, "needle") is None


TEXTS = st.text(st.sampled_from("aAbß\nİ "), max_size=40)


@given(TEXTS, st.text(st.sampled_from("aAbßs\n"), min_size=1, max_size=3), st.integers(0, 3))
def test_a_hit_is_where_the_text_is(text: str, query: str, lines: int) -> None:
    text = "\n" * lines + "." * (CHUNK - 10) * (lines % 2) + text
    hit = hit_line(StringReader(text), query)
    assert (hit is not None) == (query.casefold() in text.casefold())
    if hit:
        before = text.casefold().partition(query.casefold())[0]
        assert hit.number == before.count("\n") + 1
