"""The vocabulary: all words of the index, in a few blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.harness import execute
from tract import Tract
from tract.content.terms import Need
from tract.storage import vocabulary


@pytest.fixture(autouse=True)
def no_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "TAIL", 0)


def newest(db: str) -> int:
    [(newest,)] = execute(db, "SELECT max(id) FROM blobs")
    return int(newest)


def extend(t: Tract, db: str) -> int:
    t.session.store.words.catch_up(10)
    return t.session.store.vocabulary.extend(newest(db))


def find(t: Tract, word: str, opens: bool = True, goes_on: bool = True) -> set[str]:
    return set(t.session.store.vocabulary.find(Need(word, opens, goes_on), 100) or ())


def test_words_are_found_by_their_parts(db: str) -> None:
    with Tract.open(db) as t:
        t.user("parse_config, config and reconfigure; café")
        assert extend(t, db) == newest(db)
        assert find(t, "config") == {"parse_config", "config", "reconfigure"}
        assert find(t, "config", goes_on=False) == {"parse_config", "config"}
        assert find(t, "config", opens=False) == {"config"}
        assert find(t, "fé") == {"café"}
        assert find(t, "zz") == set()
        assert t.session.store.vocabulary.find(Need("con", True, True), 2) is None


def test_blocks_of_like_size_become_one(db: str) -> None:
    with Tract.open(db) as t:
        for number in range(40):
            t.user(f"word{number} and others")
            extend(t, db)
        assert len(find(t, "word")) == 40
        assert execute(db, "SELECT count(*) FROM vocabulary")[0][0] <= 8


def test_others_see_the_words(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db) as other:
        t.user("first")
        extend(t, db)
        assert extend(other, db) == newest(db)
        assert find(other, "irs") == {"first"}
        t.user("second")
        extend(other, db)
        extend(t, db)
        assert find(t, "s") == {"first", "second"}


def test_a_file_that_cannot_be_written_to_has_no_more_words(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("before")
    with Tract.open(path) as t:
        t.session.store.driver.run("PRAGMA query_only = 1")
        assert extend(t, str(path)) == 0


@pytest.mark.parametrize(
    "damage", ["UPDATE vocabulary SET until = until + 1", "UPDATE vocabulary SET after = 7"]
)
def test_damage_is_named_and_made_anew(db: str, damage: str) -> None:
    with Tract.open(db) as t:
        t.user("one")
        extend(t, db)
    execute(db, damage)
    with Tract.open(db) as t:
        assert "vocabulary" in " ".join(t.fsck().problems)
        assert extend(t, db) == newest(db)
        assert find(t, "on") == {"one"}
        assert t.fsck().ok


def test_nothing_is_stored_while_the_index_is_made_anew(db: str) -> None:
    """It would have no words, and cover all contents."""
    with Tract.open(db) as t, Tract.open(db) as other:
        t.user("one")
        other.session.store.words.switch(True)
        assert t.session.store.vocabulary.extend(newest(db)) == 0
        other.session.store.words.catch_up(60)
        extend(t, db)
        assert find(t, "on") == {"one"}
