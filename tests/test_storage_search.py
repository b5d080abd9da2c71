"""Search: the index finds what reading everything finds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.harness import execute
from tract import InputError, ToolCall, Tract
from tract.model import DialogFacts
from tract.storage import search, vocabulary
from tract.storage.search import Filters, Hit, Search

WORDS = st.sampled_from(
    (
        *("foo", "Foo_bar", "foobar", "BAR", "ba", "ß", "SS", "İx", "ıx", "日本", "本", "e\u0301"),
        *("é", "…", "'", '"', "\\", "\x00", "\ud800", "x" * 70, "12", "3e5", "-", "\n", "  "),
        *("ſ", "\u212a"),
    )
)
TEXTS = st.lists(WORDS | st.text(max_size=4), max_size=8).map("".join) | st.lists(
    WORDS, max_size=8
).map(" ".join)


@pytest.fixture(autouse=True)
def small_databases_use_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SMALL", 0)
    monkeypatch.setattr(vocabulary, "TAIL", vocabulary.TAIL)  # some tests change it


def read_all(t: Tract, text: str) -> list[Hit]:
    return list(Search(t.session.store, text, dialog=t.dialog, use_index=False))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(TEXTS, min_size=1, max_size=5),
    st.lists(TEXTS, min_size=1, max_size=6),
    st.sampled_from([0, 100]),
)
def test_the_index_finds_what_reading_everything_finds(
    db: str, texts: list[str], queries: list[str], tail: int
) -> None:
    vocabulary.TAIL = tail
    with Tract.open(db, dialog=str(time.monotonic_ns()), durability="relaxed") as t:
        with t.batch():
            for text in texts:
                t.user(text or "-")
        for query in (*queries, *(text[1:6] for text in texts), f'"{texts[0]}"'):
            if query.split():
                assert list(t.search(query)) == read_all(t, query)
        assert t.session.store.words.backlog().size == 0


def test_parts_of_words_are_found_with_and_without_a_vocabulary(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(db) as t:
        for tail in (100, 1, 0):
            monkeypatch.setattr(vocabulary, "TAIL", tail)
            t.user(f"parse_config_{tail} and loadConfig{tail}")
            for query in ("config", "FIG_", "arse_c", "nfig1", "g_", f"config{tail}", "zz"):
                assert list(t.search(query)) == read_all(t, query), (tail, query)
        assert execute(db, "SELECT count(*) FROM vocabulary") != [(0,)]
        monkeypatch.setattr(vocabulary, "MOST_READ", 0)  # the table lists its words
        t.user("the newest configuration")
        assert list(t.search("onfig")) == read_all(t, "onfig")
        assert t.fsck().ok


def test_many_hits_come_in_pages(db: str) -> None:
    with Tract.open(db) as t:
        with t.batch():
            for number in range(2100):
                t.user(f"line {number} of many")
        assert [hit.snippet for hit in t.search("line many")] == [
            f"line {number} of many" for number in reversed(range(2100))
        ]
        hits = t.search("line 77")
        assert next(hits).snippet == "line 2077 of many"


def test_the_commits_of_a_long_dialog_are_listed_in_few_statements(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No index has them in their order: each statement looks at all of them."""
    for name, value in {"SEARCH_PAGE": 3, "WALK": 10, "KEYS": 40}.items():
        monkeypatch.setattr(search, name, value)
    with Tract.open(db) as t, t.sibling("other") as other:
        with t.batch():
            for number in range(100):
                t.user(f"line {number}: many = {number}")
                other.user(f"line {number} of another, with = too")
        seen: list[str] = []
        run = t.store.driver.run

        def count(sql: str, *args: Any) -> Any:
            seen.append(sql)
            return run(sql, *args)

        monkeypatch.setattr(t.store.driver, "run", count)
        for text in ("=", "line many", "many"):
            seen.clear()
            hits = [hit.snippet for hit in t.search(text)]
            assert hits == [f"line {n}: many = {n}" for n in reversed(range(100))]
            listings = [sql for sql in seen if "c.id < ?" in sql]
            assert 1 <= len(listings) <= 5


def test_a_short_dialog_is_read_if_a_word_is_common_elsewhere(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "WALK", 10)
    with Tract.open(db) as t, t.sibling("other") as other, t.batch():
        t.user("a common word")
        for number in range(50):
            other.user(f"common {number}")
    with Tract.open(db) as t:
        assert [hit.snippet for hit in t.search("common")] == ["a common word"]


def test_a_search_without_words_reads_everything_and_says_so(db: str) -> None:
    with Tract.open(db) as t:
        t.user("100 %% sure")
        hits = t.search("%%")
        assert [hit.snippet for hit in hits] == ["100 %% sure"]
        assert isinstance(hits, Search)
        assert hits.note == (
            "messages were read one by one, because there is no letter or digit to look up in the "
            "word index"
        )
        with pytest.raises(InputError, match="nothing to search for"):
            t.search("  ")


def test_the_best_hits_of_all_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of the newest; and hits of dialogs that the caller may not read take no place."""
    monkeypatch.setattr(search, "MOST_RANKED", 2)
    with Tract.open(dialog="mine") as t:
        t.user("disk disk disk")
        t.user("disk disk")
        theirs = t.sibling("theirs")
        for number in range(4):
            theirs.user(f"disk {number} disk disk disk")
        hits = Search(t.session.store, "disk", order="best", covers=lambda name: name == "mine")
        assert [hit.count for hit in hits] == [3, 2]
        assert hits.note is None
        hits = Search(t.session.store, "disk", order="best")
        assert [hit.count for hit in hits] == [4, 4]
        assert hits.note == "of all hits, the 2 with most matches are listed"


def test_a_long_phrase_is_looked_up(db: str) -> None:
    words = " ".join(f"w{number}" for number in range(700))
    with Tract.open(db) as t:
        t.user(words)
        assert len(list(t.search(f'"{words}"'))) == 1
        assert len(list(t.search(" ".join(words.split()[:100])))) == 1


def test_filters(db: str) -> None:
    with Tract.open(db) as t:
        t.user("look for disk errors")
        t.assistant(tool_calls=[ToolCall("c", "bash", {"command": "df disk"})])
        t.tool_result("c", "bash", "disk full", is_error=True)
        t.tool_result("d", "read", "disk is fine")
        store = t.session.store
        store.dialogs.set_settings(t.dialog, "facts", {"folder": "/home/me/Shop", "title": "Disks"})
        now = datetime.now(UTC)

        def found(**filters: object) -> list[str]:
            return [h.role for h in Search(store, "disk", filters=Filters(**filters))]  # type: ignore[arg-type]

        assert found() == ["tool", "tool", "assistant", "user"]
        assert found(tool="bash") == ["tool", "assistant"]
        assert found(role="user") == ["user"]
        assert found(errors=True) == ["tool"]
        assert found(project="shop", role="tool") == ["tool", "tool"]
        assert found(project="other") == []
        assert found(since=now - timedelta(hours=1), until=now + timedelta(hours=1)) == found()
        assert found(since=now + timedelta(hours=1)) == []
        (hit,) = Search(store, "full")
        assert (hit.title, hit.is_error, hit.name, hit.spans) == ("Disks", True, "bash", ((5, 9),))
        assert DialogFacts(title="Disks").title == hit.title
