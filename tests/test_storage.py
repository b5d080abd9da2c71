"""What goes into a database comes out again: any text, in chunks, once, with few statements."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.faults.harness import ask, execute, is_postgres
from tests.statements import statements
from tests.strategies import json_objects, messages, texts
from tests.toolkit import tool_lists
from tract import (
    CommitOperation,
    ConflictError,
    CorruptError,
    DialogNotFoundError,
    DiskError,
    InputError,
    Message,
    NotFoundError,
    NotJsonError,
    StorageError,
    ToolCall,
    Tract,
)
from tract.core.drafts import Details, append
from tract.core.wording import FORGOTTEN
from tract.model import Draft, Head
from tract.storage import open_store
from tract.storage.codec import CHUNK_SIZE, TEXT_STRIDE
from tract.storage.sqlite import binding, is_safe_for_wal

ODD_TEXTS = [
    "",
    "\x00",
    "a\x00b\x00",
    "\ud800",
    "\udfff before \ud83d",
    "😀𝄞\U0010ffff",
    "\r\n\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029",
    "\ufeff\ufffe\uffff\u200b\u202e",
    '"', "\\", "\\u0000", "\\ud800", "%s %(x)s ? :name $1 {key} {bytes}", "'; DROP TABLE commits",
    "é e\u0301",
    " leading and trailing ",
    "x" * 511 + "é", "x" * 100_000,
]  # fmt: skip
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=700)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


def exact(value: object) -> str:
    """For comparing JSON with its key order and without 1 == True == 1.0."""
    return json.dumps(value, ensure_ascii=True)


# Any text


def test_stored_metadata_does_not_hide_what_a_message_is(db: str) -> None:
    """Earlier versions have stored such metadata."""
    details = Details(metadata={"tool_call_id": "b", "name": "cat", "mine": 1})
    with Tract.open(db) as t:
        draft = append(Message("tool", "src", "a", "ls"), details, t.tokens)
        info = t.session.write_all([draft])
        assert info.metadata == {"tool_call_id": "a", "name": "ls", "mine": 1}
        assert t.get_commit(info.commit_hash) == info
        assert t.tool_result("a", "ls", "tests", edit=info).metadata == info.metadata


@pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
def test_odd_text_round_trips_everywhere(db: str, text: str) -> None:
    call_id = f"{text}{'i' * 1500}"[:3000]
    about: dict[str, Any] = {"metadata": {text: [text]}, "generation_config": {text: text}}
    with Tract.open(db) as t:
        t.system(text, message=text, **about)
        call = t.assistant(text, tool_calls=[ToolCall(call_id, text, {text: text})], usage=about)
        t.tool_result(call_id, text, text, is_error=True)
        t.tool_result(call_id, text, {text: [text]})
        live = list(t.log())
        assert t.get_commit(call.commit_hash) == call
    with Tract.open(db) as t:
        log = list(t.log())
        assert log == live
        system, asked, result, other = reversed(log)
        assert (system.message, system.generation_config) == (text, about["generation_config"])
        assert system.metadata == about["metadata"]
        assert asked.usage == about
        described = {"id": call_id, "name": text, "arguments": {text: text}}
        assert asked.metadata["tool_calls"] == [described]
        assert (result.tool_call_id, result.name, result.is_error) == (call_id, text, True)
        assert [t.get_content(commit) for commit in (system, asked, result, other)] == [
            text,
            text,
            text,
            {text: [text]},
        ]
        messages = t.compile().messages
        assert messages[0] == Message("system", text)
        assert messages[1].text == text
        assert messages[1].tool_calls == (ToolCall(call_id, text, {text: text}),)
        assert messages[2:] == [
            Message("tool", text, call_id, text, True),
            Message("tool", {text: [text]}, call_id, text),
        ]
        assert t.compile().generation_configs[0] == {text: text}
        assert t.fsck().ok


def test_surrogates_that_make_a_character_become_it(db: str) -> None:
    """JSON cannot tell two surrogates from the one character that they make."""
    apart, joined = "\ud83d\ude00", "\U0001f600"
    with Tract.open(db) as t:
        assert t.get_content(t.user(apart)) == joined
        result = t.tool_result("c", "f", {apart: [apart]})
        assert t.get_content(result) == {joined: [joined]}
        info = t.user("x", message=apart, metadata={"k": apart})
        stored = t.get_commit(info.commit_hash)
        assert (stored.message, stored.metadata) == (joined, {"k": joined})
        assert t.fsck().ok


@pytest.mark.parametrize(
    "unit",
    ["0123456789abcdef", "\x00", "\ud800", "𝄞é\n"],
    ids=["ascii", "nul", "surrogate", "mixed"],
)
@pytest.mark.parametrize("size", [2_000_000, pytest.param(8_000_000, marks=pytest.mark.long)])
def test_large_text_round_trips(db: str, unit: str, size: int) -> None:
    text = unit * (size // len(unit))
    with Tract.open(db, tokens="chars/4") as t:
        large = t.user(text)
        t.user("after")
        assert len(large.preview) <= 100
    with Tract.open(db) as t:
        assert t.get_content(large) == text
        assert t.compile().messages[0].content == text
        assert [commit.byte_size for commit in t.log()][1] >= size


def test_any_content_round_trips(db: str) -> None:
    numbers = count()
    with Tract.open(db, durability="relaxed") as t:

        @settings(max_examples=60)
        @given(ANY_TEXT, ANY_JSON, ANY_TEXT, st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3))
        def check(text: str, value: object, name: str, metadata: dict[str, Any]) -> None:
            call_id = f"{name}{next(numbers)}"
            said = t.user(text, message=name, metadata=metadata)
            done = t.tool_result(call_id, name, value, metadata=metadata)
            assert t.get_content(said) == text
            assert exact(t.get_content(done)) == exact(value)
            assert t.get_commit(said.commit_hash) == said
            last, before = t.compile().messages[-1], t.compile().messages[-2]
            assert (before.content, exact(last.content)) == (text, exact(value))
            assert (last.tool_call_id, last.name) == (call_id, name)
            newest = next(iter(t.log()))
            assert newest == done
            assert exact({k: newest.metadata[k] for k in metadata}) == exact(metadata)

        check()
        written = [exact(message.content) for message in t.compile().messages]
        assert t.fsck().ok
    with Tract.open(db) as t:
        assert [exact(message.content) for message in t.compile().messages] == written


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: "x"}, {"x": {None: 1}}, {1, 2}, b"x", object()]
)
def test_what_json_cannot_hold_is_refused_and_leaves_nothing(db: str, value: object) -> None:
    with Tract.open(db) as t:
        for write in (
            lambda: t.tool_result("c", "f", value),
            lambda: t.user("x", metadata={"k": value}),
            lambda: t.user("x", generation_config={"k": value}),
            lambda: t.user("x", usage={"k": value}),
        ):
            with pytest.raises(NotJsonError):
                write()
        assert (t.head, t.dialogs()) == (None, [])
        t.user("fine")
        assert t.fsck().commits == 1


@pytest.mark.parametrize("depth", [201, 5_000, 100_000])
def test_too_deep_json_is_refused(db: str, depth: int) -> None:
    value: object = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    with Tract.open(db) as t:
        with pytest.raises(NotJsonError, match="200"):
            t.tool_result("c", "f", value)
        assert t.head is None


def test_numbers_come_back_as_they_were(db: str) -> None:
    value = [0, -0.0, 1.0, 1, True, 1e308, 5e-324, 0.1, 2**63, -(2**64), 10**300, 1e16]
    with Tract.open(db) as t:
        assert exact(t.get_content(t.tool_result("c", "f", value))) == exact(value)


@pytest.mark.parametrize("sign", [1, -1])
def test_integer_of_too_many_digits(db: str, sign: int) -> None:
    """Python neither prints nor reads one of more than 4,300 digits."""
    with Tract.open(db) as t:
        with pytest.raises(NotJsonError):
            t.tool_result("c", "f", {"n": sign * (1 << 20_000)})
        assert t.head is None


# Chunks and dedup


def noise(size: int) -> str:
    return os.urandom(size // 2).hex()


def test_large_content_lies_in_chunks(db: str) -> None:
    size = 20 * TEXT_STRIDE + 100
    with Tract.open(db) as t:
        large = t.user(noise(size))
        assert t.get_content(large) == t.compile().messages[0].content
    rows = execute(db, "SELECT position, hash, payload FROM chunks ORDER BY position")
    assert [row[0] for row in rows] == list(range(21))
    assert all(len(row[2]) <= TEXT_STRIDE + 1 for row in rows)
    assert execute(db, "SELECT coalesce(length(payload), 0) FROM blobs") == [(0,)]


@pytest.mark.parametrize("extra", [-2, -1, 0, 1])
def test_sizes_around_a_chunk(db: str, extra: int) -> None:
    text = noise(2 * CHUNK_SIZE)[: CHUNK_SIZE - 2 + extra]  # two quotes are stored with it
    with Tract.open(db) as t:
        assert t.user(text).byte_size == len(text)
    with Tract.open(db) as t:
        assert t.compile().messages[0].content == text
        assert t.fsck().ok
    chunks = -(-len(text) // TEXT_STRIDE)
    assert execute(db, "SELECT count(*) FROM chunks") == [(chunks if extra > 0 else 0,)]


def test_content_hash_is_the_hash_of_the_json(db: str) -> None:
    value = {"b": "é", "a": [1, 2.5, None]}
    with Tract.open(db) as t:
        info = t.tool_result("c", "f", value)
    stored = rb'{"b":"\u00e9","a":[1,2.5,null]}'
    assert info.content_hash == hashlib.sha256(stored).hexdigest()
    assert info.byte_size == len('{"b":"é","a":[1,2.5,null]}'.encode())


@pytest.mark.parametrize("text", ["short", "x" * 5000, "0123456789abcdef" * 100_000])
def test_same_content_is_stored_once(db: str, text: str) -> None:
    with Tract.open(db) as t:
        t.user(text)
        t.assistant(text)
        chunks = execute(db, "SELECT count(*) FROM chunks")
    with Tract.open(db, dialog="other") as t:
        t.tool_result("c", "f", text)
    assert execute(db, "SELECT count(*) FROM blobs") == [(1,)]
    assert execute(db, "SELECT count(*) FROM chunks") == chunks
    assert execute(db, "SELECT count(*) FROM commits") == [(3,)]


def test_long_text_is_compressed(db: str) -> None:
    with Tract.open(db) as t:
        t.user("a line of a log\n" * 1000)
    [(stored, size)] = execute(db, "SELECT length(payload), json_size FROM blobs")
    assert stored < size / 10


def test_dialogs_are_apart(db: str) -> None:
    with Tract.open(db, dialog="one") as one, Tract.open(db, dialog="two") as two:
        mine = one.user("x")
        two.user("y")
        with pytest.raises(NotFoundError):
            two.get_content(mine)
        with pytest.raises(NotFoundError):
            two.user("z", edit=mine)
        same = two.user("x", parent=two.head)
        assert same.commit_hash != mine.commit_hash
        assert [info.dialog for info in two.dialogs()] == ["one", "two"]
        assert [info.commits for info in two.dialogs()] == [1, 2]
    with Tract.open(db, dialog="three") as three:
        three.compile()
        assert list(three.log()) == []
        assert len(three.dialogs()) == 2  # reading creates nothing


def test_a_result_is_known_by_its_id_in_its_own_dialog(db: str) -> None:
    with Tract.open(db, dialog="a") as tract:
        tract.tool_result("c\x00\ud800", "Bash", "x")
        assert tract.store.has_result("a", "c\x00\ud800")
        assert not tract.store.has_result("a", "c")
        assert not tract.store.has_result("b", "c\x00\ud800")


def test_same_history_has_the_same_hashes_everywhere(db: str) -> None:
    def fill(t: Tract) -> list[str]:
        t.system("be brief", metadata={"b": 1, "a": 2})
        t.user("hello")
        return [commit.commit_hash for commit in t.log()]

    with Tract.open(db) as t, Tract.open() as memory:
        assert fill(t) == fill(memory)


# How it is opened


def draft(text: str) -> Draft:
    message = Message("user", text)
    return Draft(CommitOperation.APPEND, message, json.dumps(text).encode(), token_source="x")


def test_a_branch_that_moved_is_not_overwritten(db: str) -> None:
    """Whoever read a head before another wrote cannot move the branch from there."""
    with closing(open_store(db)) as store:
        with store.writing():
            store.dialogs.create("d", "main")
            locked = store.lock_branch("d", "main") or pytest.fail("no branch")
            key, empty = locked.dialog_id, locked.head
            store.append(key, "main", empty, draft("one"))
        first = store.branches("d")["main"]
        with pytest.raises(CorruptError, match="has moved"), store.writing():
            store.append(key, "main", empty, draft("two"))
        assert store.branches("d")["main"] == first
        with store.writing():
            store.append(key, "main", first, draft("three"))
        with pytest.raises(CorruptError, match="has moved"), store.writing():
            store.append(key, "main", first, draft("four"))
        newest = store.branches("d")["main"]
        assert [info.preview for info in store.log(newest.id)] == ["three", "one"]
    assert execute(db, "SELECT count(*) FROM commits") == [(2,)]


def test_a_key_and_a_hash_that_do_not_belong_together_are_damage(db: str) -> None:
    with closing(open_store(db)) as store:
        with store.writing():
            store.dialogs.create("d", "main")
            locked = store.lock_branch("d", "main") or pytest.fail("no branch")
            key, empty = locked.dialog_id, locked.head
            store.append(key, "main", empty, draft("one"))
        first = store.branches("d")["main"]
        assert store.info(first).preview == "one"
        for wrong in (Head(first.id, b"x" * 32), Head(99, first.hash)):
            with pytest.raises(CorruptError):
                store.info(wrong)
            with pytest.raises(CorruptError):
                store.step(wrong)
        with pytest.raises(ConflictError, match="exists already"):
            store.create_branch("d", "main", first)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE commits SET usage = NULL WHERE id = 2",
        "UPDATE commits SET metadata = NULL WHERE id = 2",
        "DELETE FROM commits WHERE id = 2",
    ],
)
def test_notes_are_what_was_recorded_or_damage(db: str, damage: str) -> None:
    with Tract.open(db) as t:
        t.user("a question")
        metadata, config, usage = {"time": "é"}, {"model": "m"}, {"input_tokens": 7}
        call = {"id": "c", "name": "ls", "arguments": {"path": "x" * 9000}}
        answer = t.assistant(
            tool_calls=[call], metadata=metadata, generation_config=config, usage=usage
        )
        mark = t.annotate(answer, "pinned")
        heads = t.store.resolve("default", [mark.commit_hash, answer.commit_hash])
        assert t.store.notes(heads) == [
            (None, None, None, mark.created_at),
            (metadata, config, usage, answer.created_at),
        ]
        execute(db, damage)
        with pytest.raises(CorruptError):
            t.store.notes(heads)


@pytest.mark.parametrize("writers", [1, 2, 7])
def test_a_chain_is_read_whoever_writes_in_between(db: str, writers: int) -> None:
    """Ranges of keys are read as long as most of them belong to the chain."""
    with closing(open_store(db)) as store:
        texts = [f"text {number}" for number in range(150)]
        with store.writing():
            for name in map(str, range(writers)):
                store.dialogs.create(name, "main")
            for number, text in enumerate(texts):
                for name in map(str, range(writers if number % 100 > 20 else 1)):
                    locked = store.lock_branch(name, "main") or pytest.fail("no branch")
                    key, head = locked.dialog_id, locked.head
                    store.append(key, "main", head, draft(text))
        head = store.branches("0")["main"]
        steps = store.steps(head) or []
        assert [step.data for step in steps] == [f'"{text}"'.encode() for text in texts]
        known = Head(steps[9].id, steps[9].hash)
        assert store.steps(head, known) == steps[10:]
        for page in (1, 2, 40, 500):
            infos = list(store.log(head.id, page))
            assert [info.preview for info in infos] == texts[::-1]
            assert [info.parent_hash for info in infos[:-1]] == [i.commit_hash for i in infos[1:]]


def test_what_does_not_stem_from_a_known_commit_is_not_its_continuation(db: str) -> None:
    with closing(open_store(db)) as store, store.writing():
        store.dialogs.create("d", "main")
        locked = store.lock_branch("d", "main") or pytest.fail("no branch")
        key, empty = locked.dialog_id, locked.head
        store.append(key, "main", empty, draft("root"))
        root = store.branches("d")["main"]
        store.create_branch("d", "side", root)
        store.append(key, "main", root, draft("one"))
        store.append(key, "side", root, draft("other"))
        heads = store.branches("d")
        assert [step.hash for step in store.steps(heads["main"], root) or ()] == [
            heads["main"].hash
        ]
        assert store.steps(heads["side"], heads["main"]) is None
        assert store.steps(root, heads["main"]) is None


def test_a_branch_is_moved_only_in_its_own_dialog(db: str) -> None:
    with Tract.open(db, dialog="a") as a, Tract.open(db, dialog="b") as b:
        a.user("one")
        b.user("other")
        a.user("two")
        assert [info.preview for info in a.log()] == ["two", "one"]
        assert [info.preview for info in b.log()] == ["other"]
        a.branch("side")
        a.user("three")
        assert [info.preview for info in a.log()] == ["three", "two", "one"]
        a.checkout("side")
        assert [info.preview for info in a.log()] == ["two", "one"]


def test_open_without_creating(db: str) -> None:
    if not is_postgres(db):
        with pytest.raises(NotFoundError, match=r"t\.db"):
            Tract.open(db, create=False)
        assert not Path(db).exists()
    Tract.open(db).close()
    with pytest.raises(DialogNotFoundError, match="default"):
        Tract.open(db, create=False)
    with Tract.open(db) as t:
        t.user("x")
    with Tract.open(db, create=False) as t:
        assert t.compile().commit_count == 1


def test_place_with_odd_characters(tmp_path: Path) -> None:
    for name in ("a b.db", "per%20cent?mode=memory.db", "ünïcode#x.db", "file:x.db"):
        path = tmp_path / name
        with Tract.open(path) as t:
            t.user(name)
        assert path.exists()
        with Tract.open(path, create=False) as t:
            assert t.compile().messages[0].content == name


def test_closing_leaves_one_file(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.user("x")
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


@pytest.mark.parametrize("durability", ["", "none", "FULL", None, 1])
def test_unknown_durability(tmp_path: Path, durability: Any) -> None:
    with pytest.raises(InputError, match="durability"):
        Tract.open(tmp_path / "t.db", durability=durability)
    assert list(tmp_path.iterdir()) == []


# The linked library

SAFE = {
    (3, 7, 0): False,
    (3, 40, 1): False,
    (3, 44, 5): False,
    (3, 44, 6): True,
    (3, 44, 9): True,
    (3, 45, 0): False,
    (3, 50, 6): False,
    (3, 50, 7): True,
    (3, 51, 0): False,
    (3, 51, 2): False,
    (3, 51, 3): True,
    (3, 52, 0): True,
    (3, 53, 4): True,
    (4, 0, 0): True,
}


@pytest.mark.parametrize(("version", "safe"), SAFE.items(), ids=str)
def test_wal_bug_is_fixed_in(version: tuple[int, ...], safe: bool) -> None:
    assert is_safe_for_wal(version) is safe


def pragma(t: Tract, name: str) -> Any:
    return t.session.store.driver.run(f"PRAGMA {name}")[0][0]


def test_wal_only_where_the_linked_library_is_safe(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        [(text,)] = t.session.store.driver.run("SELECT sqlite_version()")
        linked = tuple(map(int, text.split(".")))
        assert linked == binding.sqlite_version_info
        assert pragma(t, "journal_mode") == ("wal" if is_safe_for_wal(linked) else "delete")


def test_a_newer_library_is_chosen_when_the_own_one_is_not_safe() -> None:
    if is_safe_for_wal(sqlite3.sqlite_version_info):
        assert binding is sqlite3
    else:
        assert binding.sqlite_version_info >= sqlite3.sqlite_version_info


@pytest.mark.parametrize(("durability", "level"), [("full", 3), ("relaxed", 1)])
def test_synchronous(tmp_path: Path, durability: Any, level: int) -> None:
    with Tract.open(tmp_path / "t.db", durability=durability) as t:
        assert pragma(t, "synchronous") == level
        t.user("x")
    with Tract.open(tmp_path / "t.db") as t:
        assert pragma(t, "synchronous") == 3


@pytest.mark.parametrize(("durability", "level"), [("full", "on"), ("relaxed", "off")])
def test_synchronous_commit(pg_url: str, durability: Any, level: str) -> None:
    with Tract.open(pg_url, durability=durability) as t:
        assert t.session.store.driver.run("SHOW synchronous_commit") == [(level,)]


# What a write returns


@given(
    message=messages,
    about=st.fixed_dictionaries(
        {},
        optional={
            "message": texts,
            "metadata": json_objects,
            "generation_config": json_objects,
            "usage": json_objects,
        },
    ),
    tools=st.none() | tool_lists,
)
@settings(max_examples=150)
def test_a_write_returns_what_is_read_later(
    message: Message, about: dict[str, Any], tools: list[Any] | None
) -> None:
    with Tract.open(":memory:") as t:
        first = t.commit(message, tools=tools, **about)  # on an empty branch
        assert first == t.get_commit(first.commit_hash) == next(t.log())
        written = t.commit(message, tools=tools, **about)  # of a content that is known
        assert written == t.get_commit(written.commit_hash) == next(t.log())
        mark = t.annotate(written, "pinned", message=about.get("message"))
        assert mark == t.get_commit(mark)
        edit = t.commit(Message(message.role, message.content, message.tool_call_id), edit=written)
        assert edit == t.get_commit(edit)


def test_a_write_returns_the_counts_of_the_first_writer(tmp_path: Path) -> None:
    """They stay with the content; whoever writes it again is told of those."""
    text = "counted in another way " * 50
    with Tract.open(tmp_path / "t.db", tokens="estimate") as t:
        first = t.user(text)
    with Tract.open(tmp_path / "t.db", tokens="chars/4", dialog="other") as t:
        second = t.tool_result("c", "f", text)
        assert second.token_count == first.token_count
        assert second == t.get_commit(second)


@given(messages)
@settings(max_examples=30)
def test_a_write_returns_what_is_stored(message: Message) -> None:
    with Tract.open(":memory:") as t:
        first = t.commit(message)
        assert first == t.get_commit(first)
        second = t.commit(message, tools=[{"name": "f", "input_schema": {"type": "object"}}])
        assert second == t.get_commit(second)
        third = t.commit(message)
        assert third == t.get_commit(third)
        noted = t.commit(message, message="a note", metadata={"k": 1}, usage={"input_tokens": 1})
        assert noted == t.get_commit(noted)


# Costs


def test_statements_per_append(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.user("warm")
        seen = statements(t)
        for number, write in enumerate(
            [
                lambda: t.user("x" * 200),
                lambda: t.assistant("y", tool_calls=[ToolCall("c", "f")]),
                lambda: t.tool_result("c", "f", {"k": "v" * 5000}),
            ]
        ):
            seen.clear()
            write()
            counted = [sql for sql in seen if not sql.startswith(("BEGIN", "COMMIT"))]
            assert 0 < len(counted) <= 5, (number, counted)
            assert seen[0] == "BEGIN IMMEDIATE"
            assert seen[-1] == "COMMIT"


def test_a_branch_is_read_again_only_if_something_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t, Tract.open(path) as other:
        t.user("one")
        seen = statements(t)
        t.user("two")
        assert not [sql for sql in seen if sql.lstrip().startswith("SELECT")]
        theirs = other.user("three")
        mine = t.user("four")
        assert mine.parent_hash == theirs.commit_hash
        assert other.head == t.head == mine.commit_hash


def test_a_branch_is_read_again_after_a_batch_that_failed(db: str) -> None:
    with Tract.open(db) as t:
        one = t.user("one")
        with suppress(ZeroDivisionError), t.batch():
            t.user("two")
            print(1 / 0)
        assert t.head == one.commit_hash
        assert t.user("three").parent_hash == one.commit_hash
        with t.batch(), suppress(ZeroDivisionError), t.batch():
            t.user("four")
            print(1 / 0)
        assert [info.preview for info in t.log()] == ["three", "one"]


def test_a_branch_is_read_again_after_a_commit_that_failed(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(db) as t:
        one = t.user("one")
        with monkeypatch.context() as patch:
            patch.setattr(t.store.driver, "commit", raising(DiskError("made up")))
            with pytest.raises(DiskError, match="made up"):
                t.user("two")
        assert t.head == one.commit_hash
        assert t.user("three").parent_hash == one.commit_hash
        assert [info.preview for info in t.log()] == ["three", "one"]
        assert t.fsck().ok


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_a_branch_that_is_deleted_or_erased_is_not_taken_as_it_was_left(db: str) -> None:
    with Tract.open(db) as t:
        one = t.user("one")
        t.branch("side")
        t.checkout("side")
        t.user("two")
        t.checkout("main")
        t.delete_branch("side")
        with pytest.raises(NotFoundError):
            t.checkout("side")
        t.branch("side")
        t.checkout("side")
        assert t.user("three").parent_hash == one.commit_hash
        t.forget(one)
        assert [message.text for message in t.compile().messages] == [FORGOTTEN, "three"]
        t.user("four")
        assert t.fsck().ok


def agent(t: Tract, turns: int) -> list[str]:
    """A history of calls, each with its result; the hashes of the results."""
    hashes = []
    with t.batch():
        t.user("go")
        for number in range(turns):
            t.assistant(tool_calls=[ToolCall(f"c{number}", "f")])
            hashes.append(t.tool_result(f"c{number}", "f", f"result {number}").commit_hash)
        t.assistant("done")
    return hashes


CHANGES: dict[str, Callable[[Tract, list[str]], object]] = {
    "reshape": lambda t, results: t.reshape(dict.fromkeys(results, "reference")),
    "annotate": lambda t, results: t.annotate(results, "pinned"),
    "compress": lambda t, _: t.compress(content="all of it"),
    "restore": lambda t, results: t.restore(*results),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_many_takes_few_statements(change: str, tmp_path: Path) -> None:
    """However many messages it is about: names are resolved, and links written, page by page."""
    with Tract.open(tmp_path / "t.db") as t:
        results = agent(t, 500 if change == "reshape" else 250)
        if change == "restore":
            for form in ("reference", "truncated"):
                t.reshape(dict.fromkeys(results, form))
        t.compile()
        seen = statements(t)
        CHANGES[change](t, results)
        assert 5 < len(seen) <= 20, seen


def test_one_result_is_looked_up_without_the_log(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        agent(t, 200)
        t.compile()
        seen = statements(t)
        (one,) = t.list_tool_results("c7")
        assert one.id == "c7"
        counts = [len(seen)]
        seen.clear()
        assert len(t.list_tool_results()) == 200
        counts.append(len(seen))
        assert max(counts) <= 4, counts
        assert not any("RECURSIVE" in sql for sql in seen), seen


def test_results_are_found_by_few_statements(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        agent(t, 200)
        t.compile()
        seen = statements(t)
        for look in (t.find_tool_results, t.find_tool_calls, t.find_tool_turns, t.find_superseded):
            seen.clear()
            look()
            assert len(seen) <= 4, (look, seen)
        seen.clear()
        t.drop_failed_tool_turns()
        assert len(seen) <= 5, seen


def test_batch_is_one_transaction(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        seen = statements(t)
        with t.batch():
            for i in range(10):
                t.user(f"{i}")
        assert sum(sql.startswith("BEGIN") for sql in seen) == 1
        assert sum(sql.startswith("COMMIT") for sql in seen) == 1


def test_a_batch_moves_its_branch_once(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        seen = statements(t)
        with t.batch():
            for i in range(10):
                info = t.user(f"{i}")
                assert t.head == info.commit_hash
        assert sum("UPDATE branches" in sql for sql in seen) == 1
        assert sum("FROM branches r JOIN dialogs" in sql for sql in seen) <= 2  # one is for none


def test_compile_of_a_turn_reads_only_what_is_new(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        with t.batch():
            for i in range(500):
                t.user(f"{i} {'x' * 600}")
        t.compile()
        t.user("new")
        seen = statements(t)
        t.compile()
        assert len(seen) <= 5


def test_keys_of_a_log_fall_from_a_commit_to_its_parent(db: str) -> None:
    with Tract.open(db) as t:
        for number in range(7):
            t.checkout("main")
            t.user(f"mine {number}")
            t.branch(f"side {number}")
            t.checkout(f"side {number}")
            t.user(f"aside {number}")
        head = t.store.branches(t.dialog)["main"]
        keys, infos = zip(*t.store.keyed_log(head.id, page=2), strict=True)
        assert list(infos) == list(t.store.log(head.id))
        assert keys[0] == head.id
        assert sorted(keys, reverse=True) == list(keys)
        assert len(set(keys)) == len(infos) == 7


def test_log_loads_no_content(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        for i in range(5):
            t.user(f"{i} {noise(100_000)}")
        execute(str(tmp_path / "t.db"), "UPDATE blobs SET payload = NULL")
        assert [commit.preview[0] for commit in t.log()] == ["4", "3", "2", "1", "0"]
        with pytest.raises(StorageError):
            t.compile()


def test_file_is_small(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t, t.batch():
        for _ in range(1000):
            t.user(noise(200))
    assert path.stat().st_size < 3.5 * 200 * 1000  # with an index of words that occur once


def test_database_file_is_opened_by_sqlite_alone(tmp_path: Path) -> None:
    """Whoever else in a process opens and closes the file cancels SQLite's locks on it."""
    assert ask("opener.py", tmp_path / "t.db") == ["ok"]


def test_a_lost_version_is_damage(db: str) -> None:
    with Tract.open(db) as t:
        t.user("before")
        execute(db, "DELETE FROM tract_schema")
        for use in (lambda: t.user("lost"), t.dialogs, lambda: t.gc(dry_run=False)):
            with pytest.raises(CorruptError, match="tract_schema"):
                use()
        assert t.fsck().problems
