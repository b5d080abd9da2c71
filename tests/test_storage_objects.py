"""Large contents in an object store: a folder on both databases, and a real S3 server."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.cli import invoke, run
from tests.faults.harness import execute
from tests.seaweed import KEY, SECRET, Server, Wire
from tract import (
    CommitInfo,
    CorruptError,
    ForgottenError,
    InputError,
    ObjectStoreError,
    ScrubError,
    Tract,
)
from tract.content.reader import StringReader
from tract.hashing import to_json
from tract.storage.codec import TEXT_STRIDE
from tract.storage.objects import Objects

BYTES = 8192
TEXT = "".join(f"line {number}: ä €\n" for number in range(2000))
DIGEST = sha256(to_json(TEXT).encode()).hexdigest()
S = TEXT_STRIDE
TABLE = {"rows": [{"n": number, "text": "x" * 20} for number in range(500)]}
_prefixes = count(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
def url(folder: Path) -> str:
    return folder.as_uri()


@pytest.fixture
def t(db: str, url: str) -> Iterator[Tract]:
    with Tract.open(db, objects=url, object_bytes=BYTES) as opened:
        yield opened


def objects_in(folder: Path) -> dict[str, Path]:
    return {path.name: path for path in folder.rglob("*") if path.is_file()}


def result(t: Tract, content: Any = TEXT, call_id: str = "c") -> CommitInfo:
    return t.tool_result(call_id, "run", content)


def lines(t: Tract, numbers: str, call_id: str = "c") -> str:
    """Some lines of a result, without the head of the answer."""
    return t.get_tool_result(call_id, lines=numbers).partition("\n")[2]


def age(folder: Path, seconds: float) -> None:
    for path in objects_in(folder).values():
        at = path.stat().st_mtime - seconds
        os.utime(path, (at, at))


# What is stored where


def test_a_large_result_is_an_object_named_by_its_hash(t: Tract, folder: Path) -> None:
    commit = result(t)
    result(t, "short", "d")
    assert commit.content_hash == DIGEST
    [(name, path)] = objects_in(folder).items()
    assert name == DIGEST
    assert path.read_text("ascii") == to_json(TEXT)
    assert t.compile().messages[0].content == TEXT
    assert lines(t, "1000-1001") == "line 999: ä €\nline 1000: ä €\n"
    assert t.fsck().ok


def test_where_a_content_is_changes_no_hash(t: Tract) -> None:
    with Tract.open() as other:
        for content in (TEXT, TABLE):
            assert result(t, content).commit_hash == result(other, content).commit_hash
        assert t.compile().to_openai() == other.compile().to_openai()


def test_json_is_one_object_without_chunks(db: str, t: Tract, folder: Path) -> None:
    result(t, TABLE)
    assert len(objects_in(folder)) == 1
    assert execute(db, "SELECT count(*) FROM chunks") == [(0,)]
    assert t.compile().messages[0].content == TABLE


def test_the_limit_decides(t: Tract, folder: Path) -> None:
    result(t, "x" * (BYTES - 2))  # with two quotes, exactly the limit
    assert not objects_in(folder)
    result(t, "x" * (BYTES - 1))
    assert len(objects_in(folder)) == 1


def test_parts_of_an_object_are_those_of_the_text(t: Tract) -> None:
    chance = random.Random(1)
    text = "".join(chance.choice('ab\n\n"\\é€\U0001f600\ud800') for _ in range(4 * S + 77))
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    result(t, text)
    [(blob_id,)] = t.store.driver.run("SELECT id FROM blobs")
    stored, whole = t.store.contents.text(blob_id), StringReader(text)
    assert stored is not None
    assert (stored.size, stored.line_count) == (whole.size, whole.line_count)
    for _ in range(60):
        start, end = sorted(chance.randrange(len(text) + 10) for _ in range(2))
        assert stored.read(start, end) == whole.read(start, end)
        assert stored.line_at(start) == whole.line_at(start)
        assert stored.line_start(start) == whole.line_start(start)


def test_two_dialogs_share_an_object(t: Tract, folder: Path) -> None:
    other = t.sibling("other")
    result(t), result(other)
    assert len(objects_in(folder)) == 1
    t.delete_dialog("other")
    assert t.gc(dry_run=False, grace_seconds=0).objects == 0
    assert t.compile().messages[0].content == TEXT


def test_databases_share_a_folder_and_not_its_garbage(
    t: Tract, url: str, folder: Path, tmp_path: Path
) -> None:
    result(t)
    with Tract.open(tmp_path / "other.db", objects=url, object_bytes=BYTES) as other:
        result(other)
        other.delete_dialog("default")
        assert other.gc(dry_run=False, grace_seconds=0).objects == 1
    assert len(objects_in(folder)) == 1
    assert t.fsck().ok


# Without the object store, and with a damaged one


def test_without_the_object_store_the_error_says_what_to_pass(t: Tract, db: str) -> None:
    commit = result(t)
    with Tract.open(db) as plain:
        plain.user("small")
        assert next(entry.preview for entry in plain.log()) == "small"
        for use in (plain.compile, plain.fsck, lambda: plain.forget(commit)):
            with pytest.raises(ObjectStoreError, match=rf"{DIGEST}.*objects=URL.*TRACT_OBJECTS"):
                use()
        plain.user("still usable")
    assert t.compile().messages[0].content == TEXT
    assert t.fsck().ok


def test_a_lost_object_is_reported(t: Tract, folder: Path) -> None:
    result(t), result(t, TABLE, "d")
    objects_in(folder)[DIGEST].unlink()
    for use in (t.compile, lambda: lines(t, "1")):
        with pytest.raises(CorruptError, match=f"{DIGEST} is missing in file://"):
            use()
    [problem] = t.fsck().problems
    assert DIGEST in problem
    with pytest.raises(CorruptError, match="nothing was removed"):
        t.gc(dry_run=False, grace_seconds=0)
    t.user("still usable")


@pytest.mark.parametrize("damage", ["flipped", "cut", "longer", "empty"])
def test_an_altered_object_is_reported(t: Tract, folder: Path, damage: str) -> None:
    result(t), result(t, TABLE, "d")
    for path in objects_in(folder).values():
        data = path.read_bytes()
        middle = len(data) // 2
        changed = {
            "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "cut": data[:middle],
            "longer": data + b" ",
            "empty": b"",
        }
        path.write_bytes(changed[damage])
    with pytest.raises(CorruptError):
        t.compile()
    if damage != "longer":  # what is after the text is no part of it
        with pytest.raises(CorruptError):
            lines(t, "1000")
    assert len(t.fsck().problems) == 2


def test_a_text_that_is_cut_anywhere_is_reported(t: Tract, folder: Path) -> None:
    text = TEXT * 20
    name = result(t, text).content_hash or ""
    data = objects_in(folder)[name].read_bytes()
    [(blob_id,)] = t.store.driver.run("SELECT id FROM blobs")
    for cut in (0, 1, S - 1, S + 1, 2 * S, 3 * S + 1, len(data) - 1):
        stored = t.store.contents.text(blob_id)
        assert stored is not None
        objects_in(folder)[name].write_bytes(data[:cut])
        for start in (1, S - 1, 4 * S):
            with pytest.raises(CorruptError):
                stored.read(start, len(text) - 1)
        objects_in(folder)[name].write_bytes(data)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE chunks SET payload = ? WHERE position = 0",
        "UPDATE chunks SET first_line = first_line + 1",
        "DELETE FROM chunks WHERE position = (SELECT max(position) FROM chunks)",
        "DELETE FROM chunks WHERE position = 0",
    ],
)
def test_damaged_rows_of_a_text_are_reported(t: Tract, db: str, sql: str) -> None:
    result(t, TEXT * 3)  # two chunks
    execute(db, sql, [b"\xff" * 16] if "?" in sql else ())
    with pytest.raises(CorruptError):
        t.compile()
    assert t.fsck().problems


# Uploads and commits


def test_a_commit_that_fails_leaves_an_object_to_gc(t: Tract, folder: Path) -> None:
    def fail_after_a_result() -> None:
        with t.batch():
            result(t)
            t.commit({"role": "nobody"})

    with pytest.raises(InputError):
        fail_after_a_result()
    assert list(objects_in(folder)) == [DIGEST]
    assert t.gc(dry_run=False).objects == 0  # it is young: a commit could be on its way
    age(folder, 15 * 24 * 3600)
    assert t.gc().objects == 1
    assert len(objects_in(folder)) == 1  # that was a dry run
    assert t.gc(dry_run=False).objects == 1
    assert not objects_in(folder)


def test_a_process_that_is_killed_before_its_commit_leaves_only_an_object(
    tmp_path: Path, url: str, folder: Path
) -> None:
    program = f"""
import os, signal
from tract import Tract
t = Tract.open({str(tmp_path / "t.db")!r}, objects={url!r}, object_bytes={BYTES})
t.user("before")
with t.batch():
    t.tool_result("c", "run", "x" * 10000)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert len(objects_in(folder)) == 1
    with Tract.open(tmp_path / "t.db", objects=url) as t:
        assert [entry.preview for entry in t.log()] == ["before"]
        assert t.fsck().ok
        assert t.gc(dry_run=False, grace_seconds=-60).objects == 1
    assert not objects_in(folder)


def test_gc_keeps_what_it_does_not_know(t: Tract, folder: Path) -> None:
    result(t)
    path = objects_in(folder)[DIGEST]
    path.with_name("README").write_text("mine")
    path.parent.with_name("elsewhere").mkdir()
    (path.parent.with_name("elsewhere") / ("0" * 64)).write_text("another database")
    age(folder, 3600)
    assert t.gc(dry_run=False, grace_seconds=0).objects == 0
    assert len(objects_in(folder)) == 3


def test_an_object_that_was_deleted_before_the_commit_is_written_again(
    tmp_path: Path, url: str, folder: Path
) -> None:
    objects = Objects(url, "f")
    digest = bytes.fromhex(DIGEST)
    objects.put(digest, b"data")
    objects_in(folder)[DIGEST].unlink()
    objects.ensure(digest, b"data")
    assert objects.read(digest) == b"data"


def test_what_another_process_has_uploaded_is_not_trusted(url: str, folder: Path) -> None:
    digest = bytes.fromhex(DIGEST)
    Objects(url, "f").put(digest, b"rotten")
    objects = Objects(url, "f")
    objects.ensure(digest, b"data!!")
    assert objects.read(digest) == b"data!!"


def test_a_known_content_is_not_uploaded_again(t: Tract, folder: Path) -> None:
    result(t)
    age(folder, 3600)
    before = objects_in(folder)[DIGEST].stat().st_mtime
    result(t, TEXT, "again")
    assert objects_in(folder)[DIGEST].stat().st_mtime == before


def test_writers_forgetting_and_collecting_lose_no_object(db: str, url: str) -> None:
    Tract.open(db).close()
    failures: list[BaseException] = []

    def work(name: str, steps: int) -> None:
        try:
            with Tract.open(db, dialog=name, objects=url, object_bytes=BYTES) as own:
                for number in range(steps):
                    commit = result(own, TEXT + str(number % 2))
                    if name == "forgets" and number % 2:
                        own.forget(commit)
                    if name == "collects":
                        own.gc(dry_run=False, grace_seconds=0)
        except BaseException as error:  # noqa: BLE001 - it fails the test, in its own thread
            failures.append(error)

    names = ("writes", "also writes", "forgets", "collects")
    threads = [threading.Thread(target=work, args=(name, 4)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Tract.open(db, objects=url) as t:
        assert t.fsck().problems == []


# Erasing and copying


def test_forget_deletes_the_object(t: Tract, folder: Path) -> None:
    commit = result(t)
    result(t, TABLE, "d")
    assert t.forget(commit, dry_run=True).erased
    assert DIGEST in objects_in(folder)
    t.forget(commit)
    assert len(objects_in(folder)) == 1
    with pytest.raises(ForgottenError):
        t.get_tool_result("c")
    assert t.fsck().ok
    result(t, TEXT, "again")  # it comes back
    assert lines(t, "1", "again") == lines(t, "1")


def test_forget_finds_a_text_in_an_object(t: Tract, folder: Path) -> None:
    result(t)
    result(t, TABLE, "d")
    assert t.forget(text="line 1234:").erased
    assert DIGEST not in objects_in(folder)
    assert len(objects_in(folder)) == 1


def test_a_backup_has_everything_and_needs_no_object_store(
    t: Tract, folder: Path, tmp_path: Path
) -> None:
    result(t), result(t, TABLE, "d"), result(t, TEXT * 40, "large")
    t.backup(tmp_path / "copy.db")
    expected = t.compile().to_openai()
    for path in objects_in(folder).values():
        path.unlink()
    with Tract.open(tmp_path / "copy.db") as copy:
        assert copy.compile().to_openai() == expected
        assert copy.fsck().problems == []
        assert lines(copy, "79001", "large") == "line 1000: ä €\n"
        identity = "SELECT identity FROM tract_schema"
        assert copy.store.driver.run(identity) != t.store.driver.run(identity)


def test_a_backup_without_the_object_store_is_refused(t: Tract, db: str, tmp_path: Path) -> None:
    result(t)
    with Tract.open(db) as plain, pytest.raises(ObjectStoreError):
        plain.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


# URLs, processes, the command


@pytest.mark.parametrize(
    ("url", "fact"),
    [
        ("bucket", "s3://BUCKET/PREFIX"),
        ("gs://bucket", "s3://BUCKET/PREFIX"),
        ("s3://", "not an object store"),
        ("s3://key:hidden@bucket/p", "pass keys as AWS_"),
        ("s3://bucket?secret=hidden", "unknown option 'secret'; expected one of endpoint"),
        ("s3://bucket?timeout=soon", "timeout must be a number of seconds"),
        ("file:///tmp?timeout=1", "no option 'timeout'"),
    ],
)
def test_a_wrong_url_is_one_clear_error(url: str, fact: str) -> None:
    with pytest.raises(InputError, match=fact) as caught:
        Tract.open(objects=url)
    assert "hidden" not in str(caught.value)


def test_a_limit_below_what_is_read_with_a_commit_is_refused() -> None:
    with pytest.raises(InputError, match="object_bytes must be at least 4096, not 100"):
        Tract.open(objects="memory:///", object_bytes=100)


def test_memory_serves_one_instance() -> None:
    with Tract.open(objects="memory:///", object_bytes=BYTES) as t:
        result(t)
        assert lines(t, "3") == "line 2: ä €\n"
        assert t.fsck().ok


def python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_forked_process_is_refused_and_does_not_hang() -> None:
    program = f"""
import os
from tract import ObjectStoreError, Tract
t = Tract.open(objects="memory:///", object_bytes={BYTES})
t.tool_result("c", "run", "x" * 10000)
child = os.fork()
if child == 0:
    try:
        t.store.objects.read(b"")
    except ObjectStoreError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(t.get_tool_result("c").count("x" * 1000))
"""
    refused, read = python(program).splitlines()
    assert refused.endswith("cannot be used in a forked process: start processes with spawn")
    assert int(read) > 0


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = """
import sys
sys.modules["obstore"] = sys.modules["obstore.exceptions"] = None
from tract import MissingExtraError, Tract
try:
    Tract.open(objects="memory:///")
except MissingExtraError as error:
    print(error)
"""
    assert '[s3]"' in python(program)


def test_the_command_has_an_option_and_a_variable(tmp_path: Path, url: str, folder: Path) -> None:
    db, text = str(tmp_path / "cli.db"), "x" * (1 << 20)
    assert invoke("--db", db, "init").exit_code == 0
    done = invoke("--db", db, "--objects", url, "commit", "-", stdin=text)
    assert done.exit_code == 0, done.output
    assert len(objects_in(folder)) == 1
    assert invoke("--db", db, "fsck", TRACT_OBJECTS=url).exit_code == 0
    refused = invoke("--db", db, "fsck")
    assert refused.exit_code == 1
    assert "--objects or TRACT_OBJECTS" in refused.stderr
    wrong = invoke("--db", db, "--objects", "ftp://x", "log")
    assert wrong.exit_code == 2


# A real server


@pytest.fixture
def wire(s3_server: Server) -> Iterator[Wire]:
    with Wire(s3_server.port) as wire:
        yield wire


@pytest.fixture
def s3_url(s3_server: Server, wire: Wire) -> str:
    """The URL of an empty prefix, behind the wire."""
    return s3_server.url(f"test-{next(_prefixes)}", wire.port)


def numbered(size: int) -> str:
    return "".join(
        f"{number:09} {'é' if number % 100 == 0 else 'e'}\n" for number in range(size // 12)
    )


@pytest.mark.parametrize("size", [8_000_000, pytest.param(20_000_000, marks=pytest.mark.long)])
def test_of_megabytes_on_s3_only_parts_are_read(
    pg_url: str, s3_url: str, wire: Wire, size: int
) -> None:
    text = numbered(size)
    with Tract.open(pg_url, objects=s3_url) as t:
        commit = result(t, text)
        wire.received = 0
        assert lines(t, "500000-500001") == "000499999 e\n000500000 é\n"
        assert wire.received < 1_000_000
        wire.received = 0
        assert "000000777 e" in t.get_tool_result("c", grep="000000777")
        assert wire.received < 1.1 * size  # the hits are counted: all is read, once
        assert t.compile().messages[0].content == text
        assert t.fsck().ok
        t.forget(commit)
        assert list(t.store.objects or ()) == []


def test_a_broken_upload_writes_nothing(db: str, s3_url: str, wire: Wire) -> None:
    text = numbered(7_000_000)  # two parts
    with Tract.open(db, objects=s3_url) as t:
        t.user("before")
        wire.cut_after = 1_000_000
        with pytest.raises(ObjectStoreError, match="failed to write") as caught:
            result(t, text)
        assert SECRET not in str(caught.value)
        assert len(list(t.log())) == 1
        assert list(t.store.objects or ()) == []
        t.user("the database works")
        wire.cut_after = None
        result(t, text)
        assert lines(t, "5") == "000000004 e\n"
        assert t.fsck().ok


def test_a_store_that_hangs_ends_in_an_error(db: str, s3_url: str, wire: Wire) -> None:
    with Tract.open(db, objects=s3_url, object_bytes=BYTES) as t:
        commit = result(t)
    with Tract.open(db, objects=f"{s3_url}&timeout=0.2", object_bytes=BYTES) as t:
        wire.flows.clear()
        for use in (
            lambda: result(t, TABLE),
            lambda: lines(t, "1"),
            t.fsck,
            lambda: t.forget(commit),
            lambda: t.gc(dry_run=False),
        ):
            with pytest.raises(ObjectStoreError):
                use()
        t.user("the database works")
        assert [entry.role for entry in t.log()] == ["user", "tool"]
    wire.flows.set()
    with Tract.open(db, objects=s3_url) as t:
        assert lines(t, "1") == "line 0: ä €\n"
        assert t.fsck().ok


def test_forget_says_that_the_object_is_still_there(db: str, s3_url: str, wire: Wire) -> None:
    with Tract.open(db, objects=s3_url, object_bytes=BYTES) as t:
        commit = result(t)
        wire.refused = b"?delete"
        with pytest.raises(ScrubError, match="old bytes may be in the object store"):
            t.forget(commit)
        with pytest.raises(ForgottenError):
            t.get_tool_result("c")
        assert len(list(t.store.objects or ())) == 1
        wire.refused = None
        t.forget(commit)  # again
        assert list(t.store.objects or ()) == []


def test_objects_on_s3_that_are_lost_or_altered_are_reported(
    db: str, s3_url: str, s3_server: Server
) -> None:
    with Tract.open(db, objects=s3_url, object_bytes=BYTES) as t:
        result(t)
        objects, digest = t.store.objects, bytes.fromhex(DIGEST)
        assert objects is not None
        data = objects.read(digest)
        for altered in (data[:-100] + b"?" + data[-99:], data[: BYTES // 2], b""):
            objects.put(digest, altered)
            with pytest.raises(CorruptError):
                lines(t, "1999")
            assert len(t.fsck().problems) == 1
        objects.delete([digest])
        with pytest.raises(CorruptError, match="is missing in s3://tract-test/test-"):
            t.compile()
        objects.put(digest, data)
        assert t.fsck().ok


def test_a_server_that_was_killed_comes_back(tmp_path: Path, s3_server: Server) -> None:
    url = s3_server.url(f"test-{next(_prefixes)}")
    with Tract.open(tmp_path / "t.db", objects=url, object_bytes=BYTES) as t:
        result(t)
        s3_server.stop()
        try:
            with pytest.raises(ObjectStoreError, match="failed to read"):
                t.compile()
            with pytest.raises(ObjectStoreError, match="failed to write"):
                result(t, TABLE, "d")
            t.user("meanwhile")
        finally:
            s3_server.start()
        result(t, TABLE, "d")
        assert [message.role for message in t.compile().messages] == ["tool", "user", "tool"]
        assert t.fsck().ok


def test_a_wrong_key_and_a_wrong_bucket_are_errors(tmp_path: Path, s3_server: Server) -> None:
    good = s3_server.url("p")
    for url, fact in (
        (good.replace(SECRET, "wrong"), "SignatureDoesNotMatch"),
        (good.replace("s3://tract-test", "s3://b"), "InvalidBucketName"),
    ):
        with Tract.open(tmp_path / "t.db", objects=url, object_bytes=BYTES) as t:
            with pytest.raises(ObjectStoreError, match=fact):
                result(t)
            assert list(t.log()) == []


def test_keys_come_from_the_environment(tmp_path: Path, s3_server: Server) -> None:
    db, text = str(tmp_path / "cli.db"), "x" * (1 << 20)
    url = f"s3://tract-test/cli?endpoint=http://127.0.0.1:{s3_server.port}"
    keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    for command in (["init"], ["commit", "-"], ["fsck"]):
        env = keys | {"TRACT_DB": db, "TRACT_OBJECTS": url}
        done = run(*command, env=env, input=text if "commit" in command else "")
        assert (done.returncode, done.stderr) == (0, "")
    listed = Objects(s3_server.url("cli"), _identity_of(db))
    assert [entry.size for entry in listed] == [len(text) + 2]


def _identity_of(db: str) -> str:
    [(identity,)] = execute(db, "SELECT identity FROM tract_schema")
    return str(identity)


def test_orphans_on_s3_are_collected(db: str, s3_url: str) -> None:
    with Tract.open(db, objects=s3_url, object_bytes=BYTES) as t:
        result(t)
        objects = t.store.objects
        assert objects is not None
        for number in range(3):
            objects.put(sha256(bytes([number])).digest(), b"orphan")
        assert t.gc(dry_run=False, grace_seconds=3600).objects == 0
        assert t.gc(dry_run=False, grace_seconds=-60).objects == 3
        assert [entry.digest.hex() for entry in objects] == [DIGEST]
        assert t.fsck().ok
