"""The index of words: written with each content, complete, and without what was erased."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.harness import execute, is_postgres
from tract import StorageError, Tract
from tract.storage import search, vocabulary, word_index
from tract.storage.word_index import Backlog


@pytest.fixture(autouse=True)
def small_databases_use_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SMALL", 0)
    monkeypatch.setattr(vocabulary, "TAIL", 0)


def found(t: Tract, *words: str) -> int:
    """How many contents the index names for all of these words."""
    return len(t.session.store.words.table.find([[word] for word in words], 100))


def test_words_are_written_with_their_content(db: str) -> None:
    with Tract.open(db) as t:
        t.user("alpha beta_gamma")
        t.user("alpha delta")
        t.user("alpha delta")  # the same content
        assert [found(t, word) for word in ("alpha", "beta_gamma", "gamma")] == [2, 1, 0]
        assert found(t, "alpha", "delta") == 1
        with suppress(ZeroDivisionError), t.batch():
            t.user("epsilon")
            print(1 / 0)
        assert found(t, "epsilon") == 0
        assert t.fsck().ok


def test_gc_and_delete_remove_words(db: str) -> None:
    with Tract.open(db) as t:
        t.user("root")
        t.branch("side")
        t.checkout("side")
        t.user("doomed")
        t.checkout("main")
        t.delete_branch("side")
        t.gc(dry_run=True, grace_seconds=-1)
        assert found(t, "doomed") == 1
        t.gc(dry_run=False, grace_seconds=-1)
        assert found(t, "doomed") == 0
        assert t.fsck().ok
        t.delete_dialog()
        assert found(t, "root") == 0


@pytest.mark.parametrize("by_text", [False, True])
def test_forget_leaves_no_word_in_the_file(tmp_path: Path, by_text: bool) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        for number in range(30):
            t.user(f"filler_{number}")
        commit = t.user("my hushhush42 secret, and other words")
        assert [hit.commit_hash for hit in t.search("hhush4")] == [commit.commit_hash]
        assert execute(str(path), "SELECT count(*) FROM vocabulary") == [(1,)]
        if by_text:
            t.forget(text="hushhush42")
        else:
            t.forget(commit)
        assert list(t.search("hushhush42")) == []
        files = [other.read_bytes() for other in tmp_path.iterdir()]
        assert not any(part in data for data in files for part in (b"hushhush", b"ushhush42"))
        t.user("my hushhush42 secret, and other words")  # it comes back
        assert found(t, "hushhush42") == 1
        assert t.fsck().ok


def test_contents_of_before_are_indexed_by_searches(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it is interrupted: the rest is read meanwhile."""
    monkeypatch.setattr(word_index, "SLICE", 4)
    monkeypatch.setattr(search, "CATCH_UP_SECONDS", -1)
    with Tract.open(db) as t:
        for number in range(10):
            t.user(f"message number{number}")
        t.session.store.words.switch(True)
    seen = []
    with Tract.open(db) as t:
        index = t.session.store.words
        for done in (4, 8, 10, 10):
            assert len(list(t.search("message"))) == 10
            assert len(list(t.search("umber7"))) == 1
            state = index.backlog()
            seen.append(state.size == 0)
            assert state.done >= done
            assert t.fsck().ok
        t.user("message new")
        assert len(list(t.search("message"))) == 11
    assert seen[-1]


def test_progress_is_reported(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "SLICE", 4)
    with Tract.open(db) as t:
        for number in range(10):
            t.user(f"message number{number}")
        index = t.session.store.words
        index.switch(True)
        steps: list[tuple[int, int]] = []
        index.catch_up(60, lambda done, until: steps.append((done, until)))
        assert [until for _, until in steps] == [10, 10, 10]
        assert [done for done, _ in steps] == [4, 8, 10]


def test_the_index_can_be_off(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db, dialog="other") as other:
        t.user("alpha")
        t.session.store.words.switch(False)
        assert t.session.store.words.backlog() == Backlog(0, 0, 0)
        other.user("beta")
        hits = t.search("alpha")
        assert [hit.snippet for hit in hits] == ["alpha"]
        assert isinstance(hits, search.Search)
        assert hits.note == "every message was read, because the word index is off"
        t.session.store.words.switch(True)
        t.user("alpha again")
        assert len(list(t.search("alpha"))) == 2
        assert len(list(other.search("beta"))) == 1
        assert t.fsck().ok


def test_without_fts5_everything_is_read_and_indexed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    with monkeypatch.context() as patch:
        patch.setattr(word_index, "has_full_text", lambda _: False)
        with Tract.open(path) as t:
            t.user("alpha")
            hits = t.search("alpha")
            assert len(list(hits)) == 1
            assert isinstance(hits, search.Search)
            assert "FTS5" in (hits.note or "")
            assert t.fsck().ok
            with pytest.raises(StorageError, match="nothing was erased"):
                t.forget(t.head or "")  # the file has the table
    with Tract.open(path) as t:
        t.user("alpha two")
        assert len(list(t.search("alpha"))) == 2
        assert t.fsck().ok


def test_fsck_notices_words_that_are_missing(db: str) -> None:
    with Tract.open(db) as t:
        t.user("alpha beta")
        t.user("gamma")
        first, _ = (row[0] for row in execute(db, "SELECT id FROM blobs ORDER BY id"))
        index = t.session.store.words
        index.table.remove([first])
        assert "1 contents" in " ".join(t.fsck().problems)
        index.table.add(first, {"alpha"})
        assert "1 contents" in " ".join(t.fsck().problems)
        index.switch(True)
        assert t.fsck().ok


def test_a_damaged_state_is_an_error(db: str) -> None:
    with Tract.open(db) as t:
        t.user("alpha")
        execute(db, "UPDATE word_index SET until = 7")
        assert any("word index" in problem for problem in t.fsck().problems)


def test_a_backup_of_postgres_is_indexed_later(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("alpha")
        t.backup(tmp_path / "copy.db")
    with Tract.open(tmp_path / "copy.db") as copy:
        assert copy.session.store.words.backlog().size == is_postgres(db)
        assert len(list(copy.search("alph"))) == 1
        assert copy.fsck().ok
