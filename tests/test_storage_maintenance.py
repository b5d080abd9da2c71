"""Looking after a database: fsck, gc, backup, search, delete_dialog."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.harness import busy_worker, execute, go, start
from tests.toolkit import tool
from tract import (
    CommitNotFoundError,
    ConflictError,
    DialogNotFoundError,
    InputError,
    Priority,
    StorageError,
    ToolCall,
    Tract,
)
from tract.storage import files

LONG = "a line of some result\n" * 200
CHUNKED = "0123456789abcdef" * 200_000


def texts(t: Tract) -> list[object]:
    return [message.content for message in t.compile().messages]


def counts(db: str) -> dict[str, int]:
    tables = ["dialogs", "blobs", "chunks", "commits", "commit_links", "branches"]
    tables += ["tool_definitions", "toolsets", "toolset_members"]
    return {table: execute(db, f"SELECT count(*) FROM {table}")[0][0] for table in tables}


# fsck


def test_fsck_counts_what_it_verified(db: str) -> None:
    with Tract.open(db) as t:
        assert (t.fsck().commits, t.fsck().contents, t.fsck().ok) == (0, 0, True)
        t.user("same")
        t.user("same")
        t.annotate(t.user(CHUNKED), Priority.PINNED)
    with Tract.open(db, dialog="other") as t:
        t.user("same")
        report = t.fsck()
    assert (report.commits, report.contents, report.problems, report.ok) == (5, 2, [], True)


def test_fsck_goes_over_pages_and_dialogs(db: str) -> None:
    for dialog in ("one", "two"):
        with Tract.open(db, dialog=dialog) as t, t.batch():
            for i in range(700):
                t.user(f"{dialog} {i}")
    execute(db, "UPDATE commits SET role = 'system' WHERE id IN (1, 600, 1300)")
    with Tract.open(db) as t:
        report = t.fsck()
    assert report.commits == 1400
    broken = execute(db, "SELECT hash FROM commits WHERE id IN (1, 600, 1300)")
    for (digest,) in broken:
        assert any(bytes(digest).hex() in problem for problem in report.problems)
    assert len(report.problems) == 3


TOOL_DAMAGE = {
    "schema": (
        "UPDATE tool_definitions SET schema = replace(schema, 'string', 'strong')",
        r"tool [0-9a-f]{64} does not match",
    ),
    "name": (
        "UPDATE tool_definitions SET name = 'grip' WHERE name = 'grep'",
        r"tool [0-9a-f]{64}: its name",
    ),
    "member": (
        "DELETE FROM toolset_members WHERE position = 1",
        r"toolset [0-9a-f]{64} does not have",
    ),
    "set in force": (
        "UPDATE commits SET active_toolset_id = NULL WHERE id = 3",
        r"commit [0-9a-f]{64}: its active toolset",
    ),
    "other set in force": (
        "UPDATE commits SET active_toolset_id = 2 WHERE id = 3",
        r"commit [0-9a-f]{64}: its active toolset",
    ),
    "missing branch": (
        "DELETE FROM branches WHERE name = 'main'",
        r"dialog 'default' is on branch 'main', which is not there",
    ),
}


@pytest.mark.parametrize("damage", TOOL_DAMAGE)
def test_fsck_finds_what_is_wrong_with_tools_and_branches(db: str, damage: str) -> None:
    with Tract.open(db) as t:
        t.user("before")
        t.user("with", tools=[GREP, READ])
        t.user("inherits")
        t.set_tools([GREP])
        t.set_tools(None)
        t.branch("side")
        assert t.fsck().problems == []
    sql, problem = TOOL_DAMAGE[damage]
    execute(db, sql)
    with Tract.open(db, dialog="other") as t:
        assert any(re.search(problem, found) for found in t.fsck().problems)


# gc

GREP, READ, LS = tool("grep", pattern="string"), tool("read"), tool("ls")


def stored_tools(db: str) -> list[str]:
    return [name for (name,) in execute(db, "SELECT name FROM tool_definitions ORDER BY name")]


def prune(t: Tract) -> None:
    """Leave a branch of four commits behind, one content and one tool used elsewhere too."""
    t.user("root", tools=[GREP])
    t.branch("side")
    t.user("kept")
    t.checkout("side")
    t.user("kept", message="for another reason")
    t.user("gone " * 200, tools=[READ, GREP])
    t.user(CHUNKED)
    t.user("edited", edit=list(t.log())[1], tools=[LS])
    t.checkout("main")
    t.delete_branch("side")


def test_gc_dry_run_says_exactly_what_gc_does(db: str) -> None:
    with Tract.open(db) as t:
        prune(t)
        before, all_of_it = counts(db), texts(t)
        plan = t.gc(grace_seconds=0)
        assert counts(db) == before
        done = t.gc(dry_run=False, grace_seconds=0)
        after = counts(db)
        assert (plan.dry_run, done.dry_run) == (True, False)
        assert (plan.commits, plan.contents, plan.bytes) == (
            done.commits,
            done.contents,
            done.bytes,
        )
        assert done.commits == before["commits"] - after["commits"] == 4
        assert done.contents == before["blobs"] - after["blobs"] == 3
        assert done.bytes == len('"' + "gone " * 200 + '"') + len(CHUNKED) + 2 + len('"edited"')
        assert after["chunks"] == 0
        assert after["commit_links"] == 0
        assert (before["toolsets"], before["tool_definitions"]) == (3, 3)
        assert (after["toolsets"], after["toolset_members"], stored_tools(db)) == (1, 1, ["grep"])
        assert t.get_tools() == [GREP]
        assert texts(t) == all_of_it == ["root", "kept"]
        assert t.gc(grace_seconds=0).commits == 0
        assert t.fsck().ok


def test_gc_takes_only_tools_that_nobody_has(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db, dialog="other") as other:
        first = t.user("one", tools=[GREP])
        t.set_tools([READ])
        t.user("edit", edit=first, tools=[LS])  # in force nowhere, and still told of
        t.set_tools(None)
        t.branch("side", at=first)
        t.checkout("side")
        t.user("two", tools=[tool("gone"), GREP])
        t.checkout("main")
        t.delete_branch("side")
        other.user("x", tools=[tool("other"), READ])
        assert t.gc(grace_seconds=0).commits == 1
        assert "gone" in stored_tools(db)
        assert t.gc(dry_run=False, grace_seconds=0).commits == 1
        assert stored_tools(db) == ["grep", "ls", "other", "read"]
        assert counts(db)["toolsets"] == 5
        assert t.get_tools() == []
        assert [len(t.get_commit_tools(info)) for info in t.log()] == [0, 1, 1, 1]
        again = t.user("again", tools=[tool("gone"), GREP])
        assert t.get_commit_tools(again) == t.get_tools() == [tool("gone"), GREP]
        assert t.fsck().ok


def test_gc_leaves_the_young_and_what_they_stand_on(db: str) -> None:
    with Tract.open(db) as t:
        prune(t)
        assert t.gc(dry_run=False).commits == 0
        assert t.gc(dry_run=False, grace_seconds=60).commits == 0
        newest = execute(db, "SELECT hash FROM commits ORDER BY id DESC LIMIT 1")[0][0]
        time.sleep(0.5)
        t.branch("side", at=bytes(newest).hex())
        t.checkout("side")
        young = t.user("young")
        t.checkout("main")
        t.delete_branch("side")
        assert t.gc(dry_run=False, grace_seconds=0.4).commits == 0  # all stand below the young one
        assert [message.content for message in t.compile(at=young).messages][-1] == "young"
        assert t.gc(dry_run=False, grace_seconds=0).commits == 5


def test_gc_keeps_what_is_checked_out(db: str) -> None:
    with Tract.open(db) as t:
        t.user("one")
        t.branch("side")
        t.checkout("side")
        two = t.user("two")
        t.user("three")
        t.checkout(two)
        t.branch("main-2", at="main")
    with Tract.open(db) as t:
        assert t.current_branch is None
        t.gc(dry_run=False, grace_seconds=0)
        assert texts(t) == ["one", "two"]


def test_gc_takes_a_commit_that_others_only_name(db: str) -> None:
    with Tract.open(db) as t:
        prune(t)
        lost = [row[0] for row in execute(db, "SELECT hash FROM commits WHERE id > 2")]
        t.gc(dry_run=False, grace_seconds=0)
        gone = [digest for digest in lost if not known(t, bytes(digest).hex())]
        assert len(gone) == 4


def known(t: Tract, digest: str) -> bool:
    try:
        t.get_commit(digest)
    except CommitNotFoundError:
        return False
    return True


def test_keys_that_gc_freed_confuse_no_open_tract(db: str) -> None:
    """SQLite gives the highest keys out again: another commit then has the key of a known one."""
    with Tract.open(db) as t, Tract.open(db) as other:
        t.user("root")
        t.branch("side")
        t.checkout("side")
        for text in ("a", "b", "c"):
            t.user(text)
        assert texts(t) == ["root", "a", "b", "c"]
        other.checkout("main")
        other.delete_branch("side")
        other.gc(dry_run=False, grace_seconds=0)
        other.branch("side")
        other.checkout("side")
        for text in ("x", "y", "z"):
            other.user(text)
        assert texts(t) == ["root", "x", "y", "z"]
        other.user("last")
        assert texts(t) == ["root", "x", "y", "z", "last"]
        assert t.user("mine", edit=list(t.log())[1]).operation == "edit"
        assert texts(t) == ["root", "x", "y", "mine", "last"]
        assert t.fsck().ok


def test_gc_beside_a_writer(db: str) -> None:
    with Tract.open(db) as t:
        prune(t)
    with busy_worker("appender.py", db, "w", 0) as worker, Tract.open(db) as t:
        assert t.gc(dry_run=False, grace_seconds=-3600).commits == 4
        for _ in range(10):
            assert t.gc(dry_run=False, grace_seconds=-3600).commits == 0
        assert worker.poll() is None
    with Tract.open(db) as t:
        assert t.fsck().ok
        assert len(texts(t)) > 2


def test_gc_and_its_kin_are_refused_inside_a_batch(db: str) -> None:
    with Tract.open(db) as t:
        first = t.user("one")
        with t.batch():
            t.user("two")
            with pytest.raises(ConflictError):
                t.gc(dry_run=False)
            with pytest.raises(ConflictError):
                t.forget(first)
            with pytest.raises(ConflictError):
                t.delete_dialog()
            t.user("three")
        assert texts(t) == ["one", "two", "three"]


# backup


def fill(t: Tract) -> None:
    first = t.system("be brief", message="why", metadata={"ünï": "\x00\ud800"})
    t.user("hello")
    t.tool_result("c", "read", {"big": CHUNKED}, tools=[READ, GREP, {"name": "ünï\ud800"}])
    t.user("hullo", edit=list(t.log())[1], tools=[LS])
    t.annotate(first, Priority.PINNED)
    t.branch("side", at=first)


def test_backup_is_an_equal_database(db: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with Tract.open(db) as t:
        fill(t)
        with Tract.open(db, dialog="other") as other:
            with other.batch():
                for i in range(1100):  # more than a page of every table
                    other.user(f"{i}")
                    other.branch(f"b{i}")
            last = texts(other)
        t.forget(t.user("forgotten"))
        t.backup(copy)
        t.user("after")
        with Tract.open(copy) as copied:
            assert copied.compile().to_openai() == t.compile(at=list(t.log())[1]).to_openai()
            assert list(copied.log()) == list(t.log())[1:]
            assert copied.branches()["side"] == t.branches()["side"]
            assert copied.fsck() == copied.fsck()
            assert copied.fsck().ok
            dialogs = {info.dialog: info for info in t.dialogs()}
            assert {d.dialog: d for d in copied.dialogs()}["other"] == dialogs["other"]
            copied.user("goes on")
        with Tract.open(copy, dialog="other") as other:
            assert texts(other) == last
            assert len(other.branches()) == 1101
    names = {path.name for path in tmp_path.iterdir()} - {"t.db", "t.db-wal", "t.db-shm"}
    assert names == {"copy.db"}


def test_backup_keeps_the_tools(db: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with Tract.open(db) as t:
        first = t.user("one", tools=[READ, GREP])
        t.set_tools(None)
        t.user("two", edit=first, tools=[LS])
        with t.batch():
            for number in range(600):  # more than a page of every table
                t.user(f"{number}", tools=[tool(f"f{number}"), LS])
        t.backup(copy)
        view = "SELECT commit_hash, position, tool_hash FROM commit_tools ORDER BY 1, 2"
        assert execute(str(copy), view) == execute(db, view)
        with Tract.open(copy, create=False) as copied:
            assert copied.get_tools() == t.get_tools() == [tool("f599"), LS]
            for mine, theirs in zip(copied.log(), t.log(), strict=True):
                assert mine == theirs
            for info in [*t.log()][::100]:
                assert copied.get_commit_tools(info) == t.get_commit_tools(info)
            assert copied.tool_history("grep") == t.tool_history("grep")
            assert copied.fsck().ok
            copied.user("goes on", tools=[tool("new"), READ])
            assert copied.get_tools() == [tool("new"), READ]
            assert copied.fsck().ok


def test_backup_of_memory(tmp_path: Path) -> None:
    with Tract.open() as t:
        fill(t)
        t.backup(tmp_path / "copy.db")
        with Tract.open(tmp_path / "copy.db", create=False) as copied:
            assert list(copied.log()) == list(t.log())


def test_backup_while_another_process_writes(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t, t.batch():
        for i in range(300):
            t.user(f"{i} {LONG}")
    with busy_worker("appender.py", db, "w", 0), Tract.open(db) as t:
        for number in range(3):
            before = len(list(t.log()))
            t.backup(tmp_path / f"copy{number}.db")
            with Tract.open(tmp_path / f"copy{number}.db", create=False) as copied:
                assert copied.fsck().ok
                log = list(copied.log())
                assert len(log) >= before
                assert log == list(t.log())[-len(log) :]


def test_a_backup_that_is_killed_leaves_no_file_with_its_name(db: str, tmp_path: Path) -> None:
    """The copy gets its name when it is complete. The next attempt removes what was left."""
    copy = tmp_path / "copy.db"
    with Tract.open(db) as t:
        t.user("x")
        worker = start("backer.py", db, copy)
        with worker:
            go(worker)
            assert worker.wait(60) == -9
        assert [path.suffix for path in tmp_path.glob("copy*")] == [files.PART]
        t.backup(copy)
    assert list(tmp_path.glob("copy*")) == [copy]
    with Tract.open(copy) as t:
        assert texts(t) == ["x"]


def test_a_backup_removes_no_file_of_others(db: str, tmp_path: Path) -> None:
    """Neither a file that only looks like an unfinished copy, nor one that is being written."""
    download = tmp_path / "copy.db.download.part"
    other = tmp_path / f"copy.db.{os.getppid()}-0123abcd.part"
    for path in (download, other):
        path.write_text("mine")
    with Tract.open(db) as t:
        t.user("x")
        t.backup(tmp_path / "copy.db")
    assert [path.read_text() for path in (download, other)] == ["mine", "mine"]


def test_a_backup_does_not_replace_a_file_that_appears_meanwhile(
    db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.db"
    publish = files.publish

    def appear(part: str, path: str) -> None:
        copy.write_text("mine")
        publish(part, path)

    monkeypatch.setattr(files, "publish", appear)
    with Tract.open(db) as t:
        t.user("x")
        with pytest.raises(ConflictError, match=re.escape(str(copy))):
            t.backup(copy)
    assert copy.read_text() == "mine"
    assert not list(tmp_path.glob("*.part*"))


def test_backup_refuses_what_exists(db: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_text("mine")
    with Tract.open(db) as t:
        t.user("x")
        with pytest.raises(ConflictError, match=r"copy\.db"):
            t.backup(target)
        assert target.read_text() == "mine"
        with pytest.raises((StorageError, ConflictError)):
            t.backup(tmp_path / "missing" / "copy.db")
        with pytest.raises(ConflictError):
            t.backup(tmp_path)
        t.backup(tmp_path / "other.db")
        assert not (tmp_path / "missing").exists()


def test_backup_of_a_damaged_postgres_leaves_nothing(pg_url: str, tmp_path: Path) -> None:
    with Tract.open(pg_url) as t:
        t.user("x")
        execute(pg_url, "ALTER TABLE commit_links RENAME TO lost")
        with pytest.raises(StorageError):
            t.backup(tmp_path / "copy.db")
        assert list(tmp_path.iterdir()) == []
        execute(pg_url, "ALTER TABLE lost RENAME TO commit_links")
        t.user("y")
        assert texts(t) == ["x", "y"]


# search


def test_search_finds_in_all_contents_newest_first(db: str) -> None:
    with Tract.open(db) as t:
        first = t.user("A needle in a haystack")
        t.user("nothing")
        call = t.assistant(tool_calls=[ToolCall("c", "grep", {"pattern": "NEEDLE"})])
        result = t.tool_result("c", "grep", {"found": [LONG + "needle"]})
        edit = t.user("no more Needles", edit=first)
    with Tract.open(db, dialog="other") as other:
        elsewhere = other.user("needle " * 3 + CHUNKED)
        assert [hit.commit_hash for hit in other.search("needle")] == [elsewhere.commit_hash]
        assert [hit.dialog for hit in other.search("needle", all_dialogs=True)] == [
            "other",
            *["default"] * 4,
        ]
    with Tract.open(db) as t:
        hits = list(t.search("nEEdle"))
        expected = [edit, result, call, first]
        assert [hit.commit_hash for hit in hits] == [commit.commit_hash for commit in expected]
        assert [hit.role for hit in hits] == ["user", "tool", "assistant", "user"]
        assert hits[1].name == "grep"
        assert all("needle" in hit.snippet.casefold() for hit in hits)
        assert all(len(hit.snippet) < 200 for hit in hits)
        assert list(t.search("no such thing")) == []


def test_search_of_a_dialog_that_is_not_there_finds_nothing(db: str) -> None:
    with Tract.open(db, dialog="other") as t:
        t.user("needle")
    with Tract.open(db) as t:
        assert list(t.search("needle")) == []


def test_search_goes_over_pages(db: str) -> None:
    with Tract.open(db) as t:
        with t.batch():
            for i in range(1200):
                t.user(f"needle {i}" if i % 100 == 0 else f"hay {i}")
        assert [hit.snippet for hit in t.search("needle")] == [
            f"needle {i}" for i in range(1100, -1, -100)
        ]


def test_search_goes_on_when_gc_removes_what_it_has_not_reached(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db, dialog="other") as other:
        t.user("root needle")
        t.branch("aside")
        t.checkout("aside")
        with t.batch():
            for i in range(1_100):  # more than a page
                t.user(f"old needle {i}")
        t.checkout("main")
        t.user("new needle")
        hits = t.search("needle")
        assert next(hits).snippet == "new needle"
        t.delete_branch("aside")
        assert other.gc(dry_run=False, grace_seconds=-1).commits == 1_100
        with t.batch():
            for i in range(1_100):  # as many as are gone
                t.user(f"other {i}")
        assert [hit.snippet for hit in hits][-1] == "root needle"


def test_search_takes_any_text(db: str) -> None:
    with Tract.open(db) as t:
        t.user("a\x00b \ud800 İ ß 100%_ 'quoted'")
        for text in ("\x00", "\ud800", "SS", "%", "_", "'"):
            assert len(list(t.search(text))) == 1, text
        assert list(t.search("%%")) == []


# delete_dialog


def test_delete_dialog_takes_what_is_only_its_own(db: str) -> None:
    with Tract.open(db, dialog="other") as other:
        other.user("shared")
        other.user(CHUNKED)
    with Tract.open(db) as t:
        fill(t)
        t.user("shared")
        t.delete_dialog("other")
        assert [info.dialog for info in t.dialogs()] == ["default"]
        assert texts(t)[-1] == "shared"
        assert t.fsck().ok
        assert counts(db)["chunks"] > 0
        t.delete_dialog()
        assert set(counts(db).values()) == {0}
        assert (t.head, t.dialogs(), texts(t)) == (None, [], [])
        t.user("anew")
        assert texts(t) == ["anew"]
        with pytest.raises(DialogNotFoundError):
            t.delete_dialog("never")


def test_delete_dialog_takes_the_tools_that_are_only_its_own(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db, dialog="other") as other:
        t.user("x", tools=[GREP, READ])
        other.user("y", tools=[READ, LS])
        other.user("z", tools=[GREP, READ])
        t.delete_dialog("other")
        assert stored_tools(db) == ["grep", "read"]
        assert (counts(db)["toolsets"], counts(db)["toolset_members"]) == (1, 2)
        assert t.get_tools() == [GREP, READ]
        assert other.get_tools() is None
        other.user("anew", tools=[LS, READ])
        assert other.get_tools() == [LS, READ]
        assert t.fsck().ok


def test_dialog_that_another_process_deleted(db: str) -> None:
    """An open Tract whose dialog is gone starts it anew, or says what happened."""
    with Tract.open(db) as t, Tract.open(db, dialog="other") as other:
        t.user("before")
        assert texts(t) == ["before"]
        other.user("elsewhere")
        other.delete_dialog("default")
        other.user("more")
        try:
            t.user("after")
        except (LookupError, ConflictError):
            assert texts_or_error(t) in (None, [])
        else:
            assert texts(t) == ["after"]
        assert texts(other) == ["elsewhere", "more"]
        assert t.fsck().ok


def texts_or_error(t: Tract) -> list[object] | None:
    try:
        return texts(t)
    except LookupError:
        return None


def test_key_of_a_deleted_dialog_is_not_taken_for_another(db: str) -> None:
    """SQLite gives the highest key out again: what was one dialog's is then another's."""
    with Tract.open(db) as t, Tract.open(db) as admin:
        t.user("mine")
        admin.delete_dialog("default")
        with Tract.open(db, dialog="stranger") as stranger:
            stranger.user("private")
            with suppress(LookupError, ConflictError):
                t.user("into which dialog?")
            assert texts(stranger) == ["private"]
            assert "private" not in repr(texts_or_error(t))


def test_search_finds_what_is_said_inside_of_json(db: str) -> None:
    with Tract.open(db) as t:
        said = 'say "hello"\nworld'
        t.tool_result("c", "f", [{"type": "text", "text": said}])
        (hit,) = t.search('SAY "hello"')
        assert 'say "hello"' in hit.snippet
        t.user("ß" * 300 + "needle" + "ß" * 300)
        (hit,) = t.search("needle")
        assert "needle" in hit.snippet
        with pytest.raises(InputError):
            t.search("")


@pytest.mark.parametrize("seconds", [-1e308, 1e308, float("nan"), float("inf")])
def test_a_grace_period_is_a_number_of_seconds(seconds: float) -> None:
    with Tract.open() as t, pytest.raises(InputError, match="grace period"):
        t.gc(grace_seconds=seconds)
