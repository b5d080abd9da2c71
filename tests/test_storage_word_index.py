"""The index of words: written in groups, complete, and without what was erased."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.harness import back_to_version_20, execute, is_postgres
from tract import StorageError, Tract
from tract.errors import ObjectStoreError
from tract.storage import search, vocabulary, word_index
from tract.storage.codec import PLAIN
from tract.storage.rows import text_sum
from tract.storage.word_index import Backlog


@pytest.fixture(autouse=True)
def small_databases_use_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SMALL", 0)
    monkeypatch.setattr(vocabulary, "TAIL", 0)
    monkeypatch.setattr(word_index, "SMALL_FILE", 0)


def found(t: Tract, *words: str) -> int:
    """How many contents the index names for all of these words, once all are indexed."""
    t.session.store.words.catch_up(10)
    return found_now(t, *words)


def found_now(t: Tract, *words: str) -> int:
    return len(t.session.store.words.table.find([[word] for word in words], 100))


def test_the_index_has_the_words_of_each_content_once(db: str) -> None:
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


def test_sqlite_indexes_new_contents_in_groups(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "GROUP", 4)
    with Tract.open(db) as t:
        seen = []
        for number in range(9):
            t.user(f"alpha {number}")
            seen.append(found_now(t, "alpha"))
        grouped = [0, 0, 0, 4, 4, 4, 4, 8, 8]
        assert seen == (list(range(1, 10)) if is_postgres(db) else grouped)
        assert len(list(t.search("alpha"))) == 9
        assert t.fsck().ok


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tract]:
    """A file of which no words are indexed."""
    monkeypatch.setattr(word_index, "SMALL_FILE", 1_000_000)
    monkeypatch.setattr(word_index, "GROUP", 4)
    with Tract.open(tmp_path / "t.db") as t:
        for number in range(9):
            t.user(f"alpha {number}")
        assert found_now(t, "alpha") == 0
        yield t
        assert t.fsck().ok


def test_a_small_file_is_indexed_from_its_first_search_on(small: Tract) -> None:
    assert small.fsck().ok
    assert len(list(small.search("alpha"))) == 9
    assert found_now(small, "alpha") == 9
    for number in range(9, 13):
        small.user(f"alpha {number}")
    assert found_now(small, "alpha") == 13


def test_a_file_that_is_no_longer_small_is_indexed(small: Tract) -> None:
    small.user(random.Random(1).randbytes(2_000_000).hex())
    for number in range(9, 13):
        small.user(f"alpha {number}")
    assert found_now(small, "alpha") >= 12


def test_a_writer_reads_few_long_contents_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_index, "GROUP", 4)
    monkeypatch.setattr(word_index, "GROUP_BYTES", 1000)
    monkeypatch.setattr(word_index, "SMALL_FILE", 1 << 40)
    with Tract.open(tmp_path / "t.db") as t:
        for number in range(8):
            t.user(f"alpha {number} " * 60)
        monkeypatch.setattr(word_index, "SMALL_FILE", 0)
        seen = []
        for number in range(8, 20):
            t.user(f"alpha {number}")
            seen.append(found_now(t, "alpha"))
        assert next(filter(None, seen)) < 8
        assert seen[-1] > 15  # it catches up
        assert t.fsck().ok


def test_long_contents_do_not_wait(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "GROUP_BYTES", 1000)
    with Tract.open(db) as t:
        t.user("alpha")
        t.user("alpha " * 200)
        assert found_now(t, "alpha") == 2


def test_a_group_is_written_by_several_processes(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one has written, and others have rolled back or erased, is indexed by the next."""
    monkeypatch.setattr(word_index, "GROUP", 4)
    for number in range(3):
        with Tract.open(db) as t:
            t.user(f"alpha {number}")
            with suppress(ZeroDivisionError), t.batch():
                for more in range(5):
                    t.user(f"alpha beta {number} {more}")
                print(1 / 0)
    with Tract.open(db) as t, Tract.open(db, dialog="other") as other:
        t.forget(next(t.log()))
        other.user("alpha 3")
        assert found_now(t, "alpha") == 3
        t.user("alpha 2")  # it comes back, with a key that the index has passed
        assert found_now(t, "alpha") == 4
        assert found(t, "beta") == 0
        assert t.fsck().ok


def test_a_writer_downloads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for its lock. Here every content counts as one in an object store."""
    monkeypatch.setattr(word_index, "GROUP", 4)
    monkeypatch.setattr(word_index, "IN_OBJECTS", {PLAIN})
    with Tract.open(tmp_path / "t.db") as t:
        t.user("alpha 0")
    with Tract.open(tmp_path / "t.db") as t:
        index = t.session.store.words
        with monkeypatch.context() as patch:
            patch.setattr(index, "read_words", lambda _: pytest.fail("it was read"))
            for number in range(1, 6):
                t.user(f"alpha {number}")
        assert found_now(t, "alpha") == 0
        assert found(t, "alpha") == 6
        for number in range(6, 10):
            t.user(f"alpha {number}")
        assert found_now(t, "alpha") == 10
        assert t.fsck().ok


def test_a_damaged_index_keeps_no_contents_in_memory(tmp_path: Path) -> None:
    path = str(tmp_path / "t.db")
    with Tract.open(path) as t:
        t.user("alpha")
        execute(path, "DELETE FROM word_index")
        for number in range(word_index.GROUP * 3):
            t.user(f"alpha {number}")
        assert len(t.session.store.words._fresh) <= word_index.GROUP


def test_only_new_contents_wait_in_a_file_of_an_older_tract(db: str) -> None:
    with Tract.open(db) as t:
        for number in range(3):
            t.user(f"alpha {number}")
        found(t, "alpha")
    old = (1, 1, 1)  # all contents after it were indexed with their commits
    set_state = f"UPDATE word_index SET is_on = 1, done = 1, until = 1, checksum = {text_sum(*old)}"
    execute(db, set_state)
    back_to_version_20(db)
    execute(db, "UPDATE tract_schema SET version = 17")
    with Tract.open(db) as t:
        assert t.session.store.words.backlog().size == 0
        t.user("alpha 3")
        assert found(t, "alpha") == 4
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
        assert hits.note == "messages were read one by one, because the word index is off"
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
        index.catch_up(10)
        index.table.remove([first])
        assert "1 contents" in " ".join(t.fsck().problems)
        index.table.add(first, {"alpha"})
        assert "1 contents" in " ".join(t.fsck().problems)
        index.switch(True)
        assert t.fsck().ok


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE word_index SET until = 7",
        "DELETE FROM word_index",
        "INSERT INTO word_index SELECT * FROM word_index",
        "DROP TABLE content_words",
        "DELETE FROM content_words_data WHERE id = 10",
    ],
)
def test_damage_stops_no_write_and_is_mended(db: str, damage: str) -> None:
    if is_postgres(db) and "_data" in damage:
        pytest.skip("a table of SQLite")
    with Tract.open(db) as t:
        t.user("alpha")
        assert found(t, "alpha") == 1
    execute(db, damage)
    with Tract.open(db) as t:
        assert any("word index" in problem or "fts5" in problem for problem in t.fsck().problems)
        t.user("alpha again")
        hits = t.search("alpha")
        assert len(list(hits)) == 2
        assert "word index" in (getattr(hits, "note", None) or "")
        t.session.store.words.switch(True)
        assert t.fsck().ok
        hits = t.search("alpha")
        assert len(list(hits)) == 2
        assert getattr(hits, "note", "") is None
        assert found(t, "alpha") == 2


def test_a_content_that_comes_back_is_found_by_a_part(db: str) -> None:
    """Its key is older than what the vocabulary covers."""
    with Tract.open(db) as t:
        commit = t.user("my hushhush42 secret")
        t.forget(commit)
        t.user("filler")
        assert len(list(t.search("ille"))) == 1  # makes the vocabulary
        t.user("my hushhush42 secret")
        assert len(list(t.search("shhush4"))) == 2


@pytest.mark.parametrize("is_old", [False, True])
def test_words_of_deleted_contents_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_old: bool
) -> None:
    """Also those that an old SQLite could not remove."""
    path = tmp_path / "t.db"
    with Tract.open(path, dialog="doomed") as t:
        t.user("my hushhush42 secret")
        t.sibling("other").user("filler")
        assert len(list(t.search("shhush4"))) == 1  # makes the vocabulary
    with monkeypatch.context() as patch, Tract.open(path, dialog="doomed") as t:
        if is_old:
            patch.setattr(word_index, "has_full_text", lambda _: False)
        t.delete_dialog()
        if is_old:
            [remains] = t.forget(text="nowhere").remains
            assert "word index" in remains.place
    with Tract.open(path, dialog="other") as t:
        result = t.forget(text="hushhush42")
        assert [trace.place for trace in result.erased] == ["words of deleted contents"] * is_old
        assert execute(str(path), "SELECT count(*) FROM vocabulary") == [(0,)]
        assert t.fsck().ok
    files = [other.read_bytes() for other in tmp_path.iterdir()]
    assert not any(b"hushhush" in data for data in files)


def test_a_content_that_was_unreadable_is_found_later(tmp_path: Path) -> None:
    path, text = tmp_path / "t.db", "alpha beta \u65e5\u672c " + "line\n" * 2000
    objects = tmp_path / "objects"
    objects.mkdir()
    place = {"objects": objects.as_uri(), "object_bytes": 4096}
    with Tract.open(path, **place) as t:  # type: ignore[arg-type]
        t.tool_result("c", "bash", text)
        t.session.store.words.switch(True)
        moved = objects.rename(tmp_path / "away")
        objects.mkdir()
        assert t.session.store.words.catch_up(10).size == 0
        objects.rmdir()
        moved.rename(objects)
        for query in ('"alpha beta"', "\u65e5\u672c", "alph"):
            assert len(list(t.search(query))) == 1, query
        assert t.fsck().ok


def test_an_outage_of_the_object_store_is_waited_for(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(db) as t:
        t.user("alpha")
        index = t.session.store.words
        index.switch(True)
        with monkeypatch.context() as patch:

            def fail(_: object) -> None:
                raise ObjectStoreError("no connection")

            patch.setattr(index, "read_words", fail)
            assert index.catch_up(10).size == 1
        assert index.catch_up(10).size == 0


def test_a_search_does_not_wait_for_a_writer(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db, dialog="other") as other:
        t.user("parse_config")
        t.session.store.words.switch(True)
        t.session.store.driver.busy_seconds = 1e9
        with other.batch():
            other.user("and another")
            assert len(list(t.search("config"))) == 1


def test_a_backup_of_postgres_is_indexed_later(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("alpha")
        t.session.store.words.catch_up(10)
        t.backup(tmp_path / "copy.db")
    with Tract.open(tmp_path / "copy.db") as copy:
        assert copy.session.store.words.backlog().size == is_postgres(db)
        assert len(list(copy.search("alph"))) == 1
        assert copy.fsck().ok
