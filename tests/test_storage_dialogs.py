"""Dialogs: what is listed of them is what was written, or an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.harness import execute, is_postgres
from tract import CorruptError, ToolCall, Tract


@pytest.fixture
def filled(db: str) -> str:
    with Tract.open(db) as t:
        t.user("question")
        usage = {"input_tokens": 7}
        t.assistant("answer", usage=usage, generation_config={"model": "m"})
        t.branch("old")
        t.configure_results(inline_tokens=10)
        settings = {"instructions": {"f": "be brief"}}
        t.store.dialogs.set_settings("default", "summarization", settings)
        t.store.dialogs.set_settings("default", "facts", {"title": "A question"})
    with Tract.open(db, dialog="other") as t:
        t.assistant(tool_calls=[ToolCall("c", "f")])
        t.tool_result("c", "f", "it broke", is_error=True)
        t.store.dialogs.set_settings("other", "facts", {"title": "A failure"})
    return db


def counts(db: str) -> dict[str, tuple[int, ...]]:
    """What a dialog has, counted by other means than the totals that tract keeps."""
    shown: dict[str, tuple[int, ...]] = {}
    with Tract.open(db) as t:
        for info in t.dialogs():
            own = t.sibling(info.dialog)
            heads = own.store.branches(info.dialog).values()
            logs = [commit for head in heads for commit in own.store.log(head.id)]
            commits = {commit.commit_hash: commit for commit in logs}.values()
            shown[info.dialog] = (
                len(own.branches()),
                len(commits),
                sum(commit.token_count for commit in commits),
                sum(commit.byte_size for commit in commits),
                sum(commit.is_error for commit in commits),
            )
    return shown


def totals(db: str) -> dict[str, tuple[int, ...]]:
    with Tract.open(db) as t:
        return {
            info.dialog: (info.branches, info.commits, info.tokens, info.bytes, info.errors)
            for info in t.dialogs()
        }


def test_totals_are_what_is_there(filled: str) -> None:
    assert totals(filled) == counts(filled)
    assert totals(filled)["other"][4] == 1
    with Tract.open(filled) as t:
        assert t.fsck().problems == []


def test_messages_are_counted_without_changes_and_on_all_branches(filled: str) -> None:
    with Tract.open(filled) as t:
        assert t.store.count_messages("default") == 2
        t.assistant("better", edit=next(iter(t.log())))
        t.branch("more")
        t.checkout("more")
        t.user("aside")
        t.checkout("main")
        assert t.store.count_messages("default") == 3
        assert t.store.count_messages("other") == 2
        assert t.store.count_messages("nobody") == 0
        with t.batch():
            t.user("in a batch")
            assert t.store.count_messages("default") == 4


def fail(t: Tract) -> None:
    with t.batch():
        t.user("lost")
        t.branch("lost")
        t.dialogs()
        raise ZeroDivisionError


def test_totals_follow_every_write(filled: str) -> None:
    with Tract.open(filled) as t:
        with t.batch():
            first = t.user("one")
            t.branch("more")
            assert {info.commits for info in t.dialogs()} == {3, 2}  # in the batch as well
            assert set(t.branches()) == {"main", "old", "more"}
            t.user("two", edit=first)
        with pytest.raises(ZeroDivisionError):
            fail(t)
        with t.batch():
            t.user("kept")
            with pytest.raises(ZeroDivisionError):
                fail(t)
        t.checkout("more")
        t.user("aside")
        t.checkout("main")
        assert totals(filled) == counts(filled)
        t.delete_branch("more")
        t.gc(dry_run=True, grace_seconds=-10)
        assert t.fsck().problems == []
        assert t.gc(dry_run=False, grace_seconds=-10).commits == 1
        assert totals(filled) == counts(filled)
        t.delete_dialog("other")
        assert totals(filled) == counts(filled)
        assert list(totals(filled)) == ["default"]
        assert t.fsck().problems == []


def test_two_writers_add_to_the_same_totals(filled: str) -> None:
    with Tract.open(filled) as one, Tract.open(filled) as two:
        two.checkout("old")
        for number in range(5):
            one.user(f"one {number}")
            two.user(f"two {number}")
    assert totals(filled) == counts(filled)


def test_the_last_time_is_that_of_the_last_commit(filled: str) -> None:
    with Tract.open(filled) as t:
        last = t.user("last")
        assert t.dialogs()[0].updated_at == last.created_at
        assert t.dialogs()[0].created_at < (last.created_at or t.dialogs()[0].created_at)


def test_a_deleted_branch_leaves_its_commits_to_the_dialog(filled: str) -> None:
    with Tract.open(filled) as t:
        t.checkout("old")
        t.user("on a branch that goes")
        t.checkout("main")
        last = t.user("last")
        before = t.dialogs()[0]
        t.delete_branch("old")
        after = t.dialogs()[0]
        assert after.commits == before.commits == 4
        assert (after.tokens, after.bytes) == (before.tokens, before.bytes)
        assert after.updated_at == last.created_at
        assert after.branches == 1
        assert t.fsck().problems == []


def test_a_branch_is_deleted_in_the_batch_that_wrote_to_it(filled: str) -> None:
    with Tract.open(filled) as t:
        before = t.dialogs()[0].commits
        with t.batch():
            t.checkout("old")
            t.user("on a branch that goes")
            t.checkout("main")
            last = t.user("last")
            t.delete_branch("old")
        assert t.dialogs()[0].commits == before + 2
        assert t.dialogs()[0].updated_at == last.created_at
        assert t.fsck().problems == []


def test_a_branch_with_altered_totals_is_not_deleted(filled: str) -> None:
    execute(filled, "UPDATE branches SET commits = commits + 64 WHERE name = 'old'")
    with Tract.open(filled) as t:
        with pytest.raises(CorruptError, match="totals"):
            t.delete_branch("old")
        assert "old" in t.branches()


def test_a_backup_has_the_totals(filled: str, tmp_path: Path) -> None:
    with Tract.open(filled) as t:
        t.backup(tmp_path / "copy.db")
    assert totals(str(tmp_path / "copy.db")) == totals(filled)


FLIPS: dict[str, tuple[str, Callable[[Tract], object]]] = {
    "name": ("UPDATE dialogs SET name = 'oth2r' WHERE name = 'other'", Tract.dialogs),
    "branch": ("UPDATE dialogs SET branch = 'maio' WHERE name = 'other'", Tract.dialogs),
    "time": ("UPDATE dialogs SET created_at = created_at + 4096", Tract.dialogs),
    "last time": ("UPDATE dialogs SET updated_at = updated_at + 4096", Tract.dialogs),
    "branches": ("UPDATE dialogs SET branches = branches + 1", Tract.dialogs),
    "commits": ("UPDATE dialogs SET commits = commits + 8", Tract.dialogs),
    "tokens": ("UPDATE dialogs SET tokens = tokens + 64", Tract.dialogs),
    "bytes": ("UPDATE dialogs SET bytes = bytes + 1024", Tract.dialogs),
    "errors": ("UPDATE dialogs SET errors = errors + 1", Tract.dialogs),
    **{
        f"{column} of a branch": (
            f"UPDATE branches SET {column} = {column} + 64 WHERE name = 'main'",
            Tract.dialogs,
        )
        for column in ("commits", "tokens", "bytes", "errors", "updated_at", "total")
    },
    "a branch is not listed": ("DELETE FROM branches WHERE name = 'old'", Tract.dialogs),
    "usages of a branch": (
        "UPDATE branches SET commits = commits + 1",
        lambda t: list(t.usages()),
    ),
    "a dialog is gone": ("DELETE FROM dialogs WHERE name = 'other'", Tract.dialogs),
    "name of a branch": ("UPDATE branches SET name = 'olD' WHERE name = 'old'", Tract.branches),
    "key of a dialog": ("UPDATE dialogs SET id = 3 WHERE id = 1", Tract.branches),
    "usages of another key": (
        "UPDATE dialogs SET id = 3 WHERE id = 1",
        lambda t: list(t.usages()),
    ),
    "messages of another key": (
        "UPDATE dialogs SET id = 3 WHERE id = 1",
        lambda t: t.store.count_messages("default"),
    ),
    "a message is gone": (
        "DELETE FROM commits WHERE id = 2",
        lambda t: t.store.count_messages("default"),
    ),
    "all dialogs are gone": ("DELETE FROM dialogs", Tract.dialogs),
    "a branch is gone": ("DELETE FROM branches WHERE name = 'old'", Tract.branches),
    "branch of another": (
        "UPDATE branches SET dialog_id = 2 WHERE name = 'old'",
        lambda t: t.sibling("other").branches(),
    ),
    "facts are gone": ("UPDATE dialogs SET facts = NULL", Tract.dialogs),
    "facts of another": (
        "UPDATE dialogs SET facts = (SELECT facts FROM dialogs WHERE name = 'default')",
        Tract.dialogs,
    ),
    "settings are gone": ("UPDATE dialogs SET result_settings = NULL", Tract.compile),
    "settings are gone before it is opened": (
        "UPDATE dialogs SET result_settings = NULL",
        lambda t: t.sibling("default"),
    ),
    "other settings are gone": (
        "UPDATE dialogs SET summarization = NULL",
        lambda t: t.sibling("default"),
    ),
    "usage": (
        """UPDATE commits SET usage = '{"input_tokens":8}' WHERE id = 2""",
        lambda t: list(t.usages()),
    ),
    "usage is gone": (
        "UPDATE commits SET usage = NULL WHERE id = 2",
        lambda t: list(t.usages()),
    ),
    "model": (
        """UPDATE commits SET generation_config = '{"model":"n"}' WHERE id = 2""",
        lambda t: list(t.usages()),
    ),
    "an answer is gone": ("DELETE FROM commits WHERE id = 2", lambda t: list(t.usages())),
    "content of another": (
        "UPDATE commits SET blob_id = 1 WHERE id = 2",
        lambda t: list(t.search("answer")),
    ),
    "a hit is gone": ("DELETE FROM commits WHERE id = 2", lambda t: list(t.search("answer"))),
    "calls": ("UPDATE commits SET calls = NULL", lambda t: t.sibling("other").find_tool_calls()),
}


@pytest.mark.parametrize("flip", FLIPS)
def test_what_was_altered_is_not_listed(filled: str, flip: str) -> None:
    sql, look = FLIPS[flip]
    with Tract.open(filled) as t:
        look(t)
        execute(filled, sql)
        with pytest.raises(CorruptError):
            look(t)
        assert t.fsck().problems


def test_a_dialog_that_the_index_lost_is_not_empty(tmp_path: Path) -> None:
    """SQLite trusts its index: a name that is wrong there would start the dialog anew."""
    path = str(tmp_path / "t.db")
    with Tract.open(path) as t:
        t.user("question")
    data = Path(path).read_bytes()
    places = [match.start() for match in re.finditer(b"default", data)]
    assert len(places) == 2  # in the table and in the index
    for place in places:
        Path(path).write_bytes(data[:place] + b"defau1t" + data[place + 7 :])
        with pytest.raises(CorruptError):
            look_at(path)


def look_at(path: str) -> None:
    with Tract.open(path) as t:
        t.compile()
        t.dialogs()


@pytest.mark.parametrize("use", ["read", "write", "create another"])
def test_a_dialog_whose_name_was_altered_is_not_empty(db: str, use: str) -> None:
    with Tract.open(db) as t:
        t.user("hello")
    execute(db, "UPDATE dialogs SET name = 'defaulu'")
    dialog = "new" if use == "create another" else "default"
    with Tract.open(db, dialog=dialog) as t, pytest.raises(CorruptError, match="defaulu"):
        list(t.log()) if use == "read" else t.user("again")
    assert execute(db, "SELECT name FROM dialogs") == [("defaulu",)]


def test_settings_of_another_dialog_are_not_read(filled: str) -> None:
    """A wrong key in the index leads to the row of another dialog."""
    if is_postgres(filled):
        pytest.skip("its pages have checksums of their own")
    rename = "UPDATE dialogs SET name = ? WHERE name = ?"
    for new, old in (("x", "default"), ("default", "other"), ("other", "x")):
        execute(filled, rename, (new, old))
    with pytest.raises(CorruptError):
        Tract.open(filled)


def test_totals_follow_what_is_forgotten(db: str) -> None:
    with Tract.open(db) as t:
        root = t.user("root")
        t.branch("aside")
        t.checkout("aside")
        secret = t.user("a secret of some tokens")
        [before] = t.dialogs()
        t.forget(secret)
        [after] = t.dialogs()
        assert after.tokens < before.tokens
        assert t.fsck().problems == []
        again = t.sibling("other")
        again.user("a secret of some tokens")  # stored again, and every commit shows it again
        assert t.dialogs()[0].tokens == before.tokens
        assert t.fsck().problems == []
        t.forget(secret)
        t.checkout("main")
        t.delete_branch("aside")
        t.gc(dry_run=False, grace_seconds=-3600)
        assert t.head == root.commit_hash
        assert t.fsck().problems == []
