"""Large texts of which parts are read, and what stands for a result, on both databases."""

from __future__ import annotations

import random
import shutil
import zlib
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.faults.harness import back_to_version_20, execute, former_gist, is_postgres
from tests.fixtures.make_v6 import LARGE
from tract import CorruptError, ForgottenError, Tract
from tract.content.preview import gist_of, narrow
from tract.content.reader import StringReader
from tract.hashing import to_json
from tract.model import Gist, ToolCall
from tract.storage.codec import (
    CHUNK_SIZE,
    CHUNKED,
    SEAL,
    TEXT,
    TEXT_CHUNKED,
    TEXT_STRIDE,
    chunks,
    deflate,
    inflate,
    pack_text,
    stored_gist,
)
from tract.storage.codec import gist_of as read_gist
from tract.storage.contents import StoredText, seal_chunks
from tract.storage.rows import blob_checksum

FIXTURES = Path(__file__).parent / "fixtures"
S = TEXT_STRIDE


@pytest.fixture
def t(db: str) -> Iterator[Tract]:
    with Tract.open(db) as opened:
        yield opened


def result(t: Tract, content: Any, call_id: str = "c", **options: Any) -> int:
    """The key of the content of a new result."""
    t.tool_result(call_id, "run", content, **options)
    [(blob_id,)] = t.session.store.driver.run("SELECT max(blob_id) FROM commits")
    return int(blob_id)


def stored(t: Tract, content: str) -> StoredText:
    found = t.session.store.contents.text(result(t, content))
    assert found is not None
    return found


def around(text: str, place: int) -> str:
    """A large text that has this one across a place."""
    before = place - len(text) // 2
    filler = "".join(f"{number:06}\n" for number in range(before // 7 + 1))[:before]
    return filler + text + "y" * (CHUNK_SIZE + 1)


# Many at once

LINES = "x y\n" * 2_000


def test_many_contents_are_read_at_once(t: Tract) -> None:
    contents = [
        "x\ny" * 3_000,
        "é😀\ud800\n" * 3_000,
        'ü𝄞"\n' * 3_000,
        "z" * 20_000,
        {"items": list(range(9_000))},
        LONG,
        "short",
    ]
    keys = [result(t, content, f"c{n}") for n, content in enumerate(contents)]
    sizes = dict.fromkeys(keys, 10_000)
    assert dict(t.store.contents.values(sizes)) == dict(zip(keys, contents, strict=True))
    assert [t.store.contents.value(key) for key in keys] == contents
    assert [t.store.contents.read(key) for key in keys] == [to_json(c).encode() for c in contents]
    forgotten = t.tool_result("last", "run", "secret " * 2_000)
    t.forget(forgotten.commit_hash)
    [(key,)] = t.store.driver.run("SELECT max(blob_id) FROM commits")
    assert list(t.store.contents.values({key: 1})) == []


def test_large_results_cost_a_statement_for_many(t: Tract, monkeypatch: Any) -> None:
    """Both in a history as it is, and in one in which something was changed."""
    for number in range(60):
        t.tool_result(f"c{number}", "run", f"{number} " + "x y\n" * 2_000)
    expected = [message.content for message in t.compile().messages]
    statements: list[str] = []
    driver, run = type(t.store.driver), type(t.store.driver).run

    def count(own: Any, sql: str, values: Any = ()) -> Any:
        statements.append(sql)
        return run(own, sql, values)

    monkeypatch.setattr(driver, "run", count)
    for change in (lambda: None, lambda: t.annotate(next(t.log()), "pinned")):
        change()
        head = t.session.head()
        statements.clear()
        read = t.session.new_compiler().compile(head)
        assert [message.content for message in read.messages] == expected
        assert len(statements) < 20


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE blobs SET payload = (SELECT payload FROM blobs WHERE id = 1) WHERE id = 2",
        "UPDATE blobs SET codec = 0 WHERE id = 2",
        "UPDATE blobs SET codec = 3 WHERE id = 2",
        "UPDATE blobs SET json_size = 1, text_size = 1 WHERE id = 2",
        "UPDATE blobs SET payload = NULL WHERE id = 2",
        "DELETE FROM blobs WHERE id = 2",
    ],
)
@pytest.mark.parametrize("content", [LINES, {"lines": LINES}], ids=["text", "json"])
def test_one_damaged_content_of_many_is_refused(db: str, content: Any, damage: str) -> None:
    with Tract.open(db) as t:
        for number in range(3):
            t.tool_result(f"c{number}", "run", _numbered(content, number))
        sizes = dict.fromkeys((1, 2, 3), 8_000)
        assert len(list(t.store.contents.values(sizes))) == 3
    execute(db, damage)
    with Tract.open(db) as t, pytest.raises(CorruptError):
        list(t.store.contents.values(sizes))
    with Tract.open(db) as t, pytest.raises(CorruptError):
        t.store.contents.value(2)


def _numbered(content: Any, number: int) -> Any:
    is_text = isinstance(content, str)
    return f"{number} {content}" if is_text else {**content, "number": number}


@pytest.mark.parametrize("place", [0, 100, -33, -32, -1])
def test_a_flipped_bit_in_a_long_text_is_noticed(t: Tract, place: int) -> None:
    key = result(t, "é " + " ".join(map(str, range(3_000))))
    [(kind, payload)] = t.store.driver.run("SELECT codec, payload FROM blobs WHERE id = ?", (key,))
    assert kind == TEXT
    damaged = bytearray(payload)
    damaged[place] ^= 4
    with t.store.writing():
        sql = "UPDATE blobs SET payload = ? WHERE id = ?"
        t.store.driver.run(sql, (bytes(damaged), key))
    for read in (t.store.contents.read, t.store.contents.value, lambda k: [*values(t, k)]):
        with pytest.raises(CorruptError):
            read(key)
    assert not t.fsck().ok


def values(t: Tract, key: int) -> Iterator[Any]:
    return t.store.contents.values({key: 1})


def test_fsck_compares_a_long_text_with_the_hash_of_its_json(t: Tract) -> None:
    """The seal alone does not prove that the content is the one that the commit names."""
    text, other = "a " + LINES, "b " + LINES
    key = result(t, text)
    [(digest,)] = t.store.driver.run("SELECT hash FROM blobs WHERE id = ?", (key,))
    piece = pack_text(other, digest)
    assert piece
    with t.store.writing():
        sql = "UPDATE blobs SET payload = ? WHERE id = ?"
        t.store.driver.run(sql, (piece.payload, key))
    assert any("does not match its hash" in problem for problem in t.fsck().problems)


@given(st.binary(max_size=70_000), st.binary(max_size=SEAL))
def test_a_frame_comes_back_whatever_is_behind_it(content: bytes, behind: bytes) -> None:
    assert inflate(deflate(content) + behind, len(content)) == content


@pytest.mark.parametrize(
    "payload",
    [None, b"", b"x" * 40, deflate(b"x" * 900)[:9], deflate(b"x" * 901), deflate(bytes(1 << 26))],
    ids=["none", "empty", "no frame", "cut off", "too long", "a bomb"],
)
def test_what_is_not_the_recorded_content_is_not_decompressed(payload: bytes | None) -> None:
    with pytest.raises(CorruptError, match="a content"):
        inflate(payload, 900)


def test_texts_of_schema_19_get_another_seal(db: str) -> None:
    """It was of the text. What is damaged stays so."""
    texts = [f"{number} {LINES}" for number in range(3)]
    with Tract.open(db) as t:
        keys = [result(t, text, f"c{number}") for number, text in enumerate(texts)]
        sent = t.compile().to_openai()
    payloads = dict(execute(db, "SELECT id, payload FROM blobs"))
    hashes = dict(execute(db, "SELECT id, hash FROM blobs"))
    for key, text in zip(keys, texts, strict=True):
        seal = sha256(bytes(hashes[key]) + text.encode()).digest()
        damaged = b"?" if key == keys[2] else b""
        old = bytes(payloads[key])[: -SEAL - len(damaged)] + damaged + seal
        execute(db, "UPDATE blobs SET payload = ? WHERE id = ?", (old, key))
    back_to_version_20(db)
    execute(db, "UPDATE tract_schema SET version = 19")
    with Tract.open(db) as t:
        assert t.store.contents.value(keys[0]) == texts[0]
        assert len(t.fsck().problems) == 1
        with pytest.raises(CorruptError):
            t.store.contents.value(keys[2])
    assert execute(db, f"SELECT payload FROM blobs WHERE id = {keys[1]}") == [(payloads[keys[1]],)]
    execute(db, "UPDATE blobs SET payload = ? WHERE id = ?", (payloads[keys[2]], keys[2]))
    with Tract.open(db) as t:
        assert t.compile().to_openai() == sent


@pytest.mark.parametrize("column", ["hash", "payload", "json_size"])
def test_a_damaged_row_does_not_stop_the_migration_of_texts(tmp_path: Path, column: str) -> None:
    db = str(tmp_path / "t.db")
    with Tract.open(db) as t:
        result(t, LINES)
    execute(db, f"UPDATE blobs SET {column} = 'x'")
    back_to_version_20(db)
    execute(db, "UPDATE tract_schema SET version = 19")
    with Tract.open(db) as t:
        assert t.fsck().problems


@pytest.mark.parametrize(
    "damage", ["json_size = 'x', text_size = 'x'", "payload = 'x'", "codec = 'x'", "hash = 'x'"]
)
def test_a_column_of_another_type_is_refused(tmp_path: Path, damage: str) -> None:
    """A flipped bit can do that to a file of SQLite."""
    db = str(tmp_path / "t.db")
    with Tract.open(db) as t:
        for number in range(3):
            t.tool_result(f"c{number}", "run", f"{number} " + "x y\n" * 2_000)
    execute(db, f"UPDATE blobs SET {damage} WHERE id = 2")
    with Tract.open(db) as t, pytest.raises(CorruptError):
        list(t.store.contents.values({1: 8_000, 2: 8_000, 3: 8_000}))


# Parts

LONG = "".join(f"line {number} {'z' * (number % 90)}\n" for number in range(30_000))
TEXTS = {
    "many lines": LONG,
    "no newline at the end": LONG + "end",
    "one line": "x" * (CHUNK_SIZE + 5),
    "only newlines": "\n" * (CHUNK_SIZE + 5),
    "lines longer than a chunk": "\n".join("ab"[i % 2] * (S + i) for i in range(1, 40)),
    "whole chunks": ("x" * (S - 1) + "\n") * 20,
    "a newline first in each chunk": "\n".join(["x" * (S - 1)] * 20),
    "emoji": "a😀\n" * (S * 6),
    "emoji across a border": around("😀👩‍👩‍👧é", S),
    "surrogates across a border": around("\ud800\ud801\udc00x\udfff", S),
    "a newline across a border": around("\r\n\n", S),
    "quotes across a border": around('"\\"\\\\u0041"', S),
    "odd separators": "a\r\n\x0b\x0c\x1c\x85\u2028\x00" * 40_000,
}


@pytest.mark.parametrize("kind", TEXTS)
def test_parts_of_a_stored_text_are_parts_of_the_text(t: Tract, kind: str) -> None:
    text = TEXTS[kind].encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    source, whole = stored(t, text), StringReader(text)
    assert (source.size, source.line_count) == (whole.size, whole.line_count)
    dice = random.Random(kind)
    for _ in range(12):
        start = dice.choice([dice.randrange(len(text)), S * dice.randrange(len(text) // S + 1)])
        start = max(0, start + dice.randrange(-2, 3))
        for length in (0, 1, 3, dice.randrange(3 * S), len(text)):
            assert source.read(start, start + length) == whole.read(start, start + length)
        line = dice.randrange(-1, whole.line_count + 3)
        assert source.line_start(line) == (whole.line_start(line) if line > 0 else 0)
        position = min(start, len(text) - 1)
        assert source.line_at(position) == whole.line_at(position)
    assert source.read(len(text) - 3, len(text) + 9) == text[-3:]
    assert source.read(len(text), len(text) + 9) == ""


@pytest.mark.parametrize("place", [S - 1, S, S + 1, 2 * S, 3 * S - 1])
def test_a_character_at_any_border_comes_back(t: Tract, place: int) -> None:
    odd = '😀\ud800é\n\udfff"\\'
    text = around(odd, place)
    source = stored(t, text)
    begin = place - len(odd) // 2
    assert source.read(begin, begin + len(odd)) == odd
    assert source.read(0, source.size) == text


def test_two_halves_that_meet_are_one_character(t: Tract) -> None:
    """JSON has one spelling for both, so a chunk never ends between them."""
    text = around("\ud83d\ude00", S)
    source = stored(t, text)
    assert source.size == len(text) - 1
    assert source.read(S - 1, S) == "😀"


def test_a_large_text_is_read_whole_too(db: str) -> None:
    text = TEXTS["surrogates across a border"] + LONG
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    with Tract.open(db) as t:
        info = t.tool_result("c", "run", text)
    with Tract.open(db) as t:
        assert t.get_content(info) == paired
        assert t.fsck().ok
        for lines in ("1-3", "9000-9002", "-2"):
            assert _body(t.get_tool_result("c", lines=lines)) == _lines(paired, lines)


def _lines(text: str, lines: str) -> str:
    every = text.split("\n")[:-1]
    first, _, last = lines.partition("-")
    chosen = every[int(first) - 1 : int(last)] if first else every[-int(last) :]
    return "\n".join(chosen) + "\n"


def _body(answer: str) -> str:
    return answer.split("\n", 1)[1]


def test_only_what_is_wanted_is_read(t: Tract) -> None:
    source = stored(t, "x\n" * (20 * S))
    execute_on(t, "DELETE FROM chunks WHERE position IN (3, 4, 5)")
    assert source.read(S, S + 4) == "x\nx\n"
    with pytest.raises(CorruptError, match="missing"):
        source.read(3 * S, 3 * S + 1)


def execute_on(t: Tract, sql: str, values: tuple[object, ...] = ()) -> None:
    t.session.store.driver.run(sql, values)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunks SET payload = ? WHERE position = 2",
        "UPDATE chunks SET hash = ? WHERE position = 2",
    ],
)
def test_a_damaged_chunk_is_refused(t: Tract, damage: str) -> None:
    source = stored(t, LONG)
    execute_on(t, damage, (b"\x00" * 32,))
    assert source.read(0, 9) == LONG[:9]
    with pytest.raises(CorruptError):
        source.read(2 * S, 2 * S + 9)
    assert not t.fsck().ok


def test_only_large_texts_are_read_in_parts(t: Tract) -> None:
    assert t.session.store.contents.text(result(t, "x" * 10_000)) is None
    assert t.session.store.contents.text(result(t, ["x" * CHUNK_SIZE * 2])) is None
    assert t.session.store.contents.text(result(t, "x" * (CHUNK_SIZE - 2))) is None
    assert t.session.store.contents.text(result(t, "x" * CHUNK_SIZE)) is not None


# Contents of version 7


@pytest.fixture
def old(db: str, tmp_path: Path) -> str:
    """A large text as version 7 stored it: in chunks of bytes, which know nothing of lines."""
    with Tract.open(db) as t:
        call = [{"id": "c", "name": "run", "arguments": {}}]
        t.user("u")
        t.assistant("", tool_calls=call)
        blob_id = result(t, LONG)
        with t.session.store.writing():
            _store_as_version_7(t, blob_id, LONG)
    return db


def _store_as_version_7(t: Tract, blob_id: int, text: str) -> None:
    run = t.session.store.driver.run
    run("DELETE FROM chunks WHERE blob_id = ?", (blob_id,))
    [facts] = run(
        "SELECT json_size, token_count, token_source, preview, text_size FROM blobs WHERE id = ?",
        (blob_id,),
    )
    sql = "UPDATE blobs SET codec = ?, checksum = ?, gist = NULL WHERE id = ?"
    run(sql, (CHUNKED, blob_checksum(CHUNKED, *facts), blob_id))
    for position, piece in enumerate(chunks(to_json(text).encode("ascii"))):
        sql = "INSERT INTO chunks (blob_id, position, hash, codec, payload) VALUES (?, ?, ?, ?, ?)"
        run(sql, (blob_id, position, *piece))
    seal_chunks(t.session.store.driver)


def test_a_content_of_version_7_is_read(old: str) -> None:
    with Tract.open(old) as t:
        assert t.fsck().problems == []
        assert t.compile().messages[-1].content == LONG
        assert _body(t.get_tool_result("c", lines="7-9")) == _lines(LONG, "7-9")
        assert (
            "[run (30000 lines: line 0) · c" in t.compile(load_tool_results=False).messages[-1].text
        )
        t.tool_result("again", "run", LONG)
        assert t.get_content(t.head or "") == LONG
        assert t.fsck().problems == []


def test_a_large_text_of_version_6_is_read_in_parts_or_whole(tmp_path: Path) -> None:
    path = shutil.copy(FIXTURES / "v6.db", tmp_path / "v6.db")
    with Tract.open(path) as t:
        t.tool_result("large", "run", LARGE)
        assert t.get_content(t.head or "") == LARGE
        assert (
            t.get_tool_result("large", offset=100, limit=50)
            .split("\n", 1)[1]
            .startswith(LARGE[100:150].split("\n")[0])
        )
        assert t.fsck().problems == []


# What stands for a result

LOG = "".join(f"INFO step {number} done\n" for number in range(500)) + "ERROR it broke\n"


def test_a_gist_is_written_with_a_reference(t: Tract) -> None:
    blob_id = result(t, LOG, form="reference")
    [found] = t.session.store.contents.gists([blob_id]).values()
    made = gist_of(LOG)
    assert (found.kind, found.summary, found.preview) == (made.kind, made.summary, made.preview)
    assert found.token_count > 0


@pytest.mark.parametrize("content", ["short", LOG], ids=["short", "log"])
def test_a_result_has_no_gist_until_it_becomes_a_reference(t: Tract, content: str) -> None:
    t.user("u")
    blob_id = result(t, content)
    assert t.session.store.contents.gists([blob_id]) == {}
    assert content[-6:].strip() in t.compile(load_tool_results=False).messages[-1].text
    assert t.session.store.contents.gists([blob_id]) == {}
    t.reshape({t.head or "": "reference"})
    assert bool(t.session.store.contents.gists([blob_id])) == (content == LOG)  # if it pays


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("is_stored", [False, True])
def test_what_comes_again_as_a_reference_gets_its_gist(
    t: Tract, is_batch: bool, is_stored: bool
) -> None:
    """It was written in full before, in the same batch or earlier."""
    t.user("u")
    if is_stored:
        result(t, LOG)
    with t.batch() if is_batch else nullcontext():
        t.tool_result("a", "run", LOG)
        t.tool_result("b", "run", LOG, form="reference")
        t.tool_result("c", "run", LOG)
    blob_id = result(t, LOG, "d")
    [gist] = t.session.store.contents.gists([blob_id]).values()
    assert gist.preview == gist_of(LOG).preview
    assert t.fsck().ok


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_smaller_preview_is_stored_with_its_reference(t: Tract, is_batch: bool) -> None:
    t.configure_results(inline_tokens=10, preview_tokens=50)
    with t.batch() if is_batch else nullcontext():
        t.assistant(tool_calls=[ToolCall("c", "run", {"command": "make"})])
        blob_id = result(t, LOG)
    gist = t.session.store.contents.gists([blob_id])[blob_id]
    [(limit, smaller)] = gist.narrowed
    assert limit == 200
    assert f"\n{smaller}\n" in t.compile().messages[-1].text
    assert smaller == narrow(replace(gist, narrowed=()), limit)


def test_many_gists_are_read_at_once(t: Tract) -> None:
    with t.batch():
        ids = [result(t, f"{number} {LOG}", form="reference") for number in range(600)]
    assert sorted(t.session.store.contents.gists([*ids, 10**9])) == ids
    assert t.session.store.contents.gists([]) == {}


def test_the_gist_of_another_result_is_not_shown(db: str) -> None:
    with Tract.open(db) as t:
        t.user("u")
        for number in range(2):
            t.tool_result(f"c{number}", "run", f"{number} {LOG}", form="reference")
    other = "(SELECT b.gist FROM blobs b WHERE b.gist IS NOT NULL ORDER BY b.id LIMIT 1)"
    execute(db, f"UPDATE blobs SET gist = {other} WHERE gist IS NOT NULL")
    with Tract.open(db) as t:
        with pytest.raises(CorruptError, match="preview"):
            t.compile()
        assert t.fsck().problems


def test_a_gist_keeps_odd_texts(t: Tract) -> None:
    odd = "\ud800 é 😀 \x00\n" * 1_000
    blob_id = result(t, odd, form="reference")
    made = gist_of(odd)
    found = t.session.store.contents.gists([blob_id])[blob_id]
    assert (found.summary, found.preview) == (made.summary, made.preview)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"x",
        zlib.compress(b""),
        zlib.compress(b"00000000[]"),
        zlib.compress(b"not hex!!"),
        zlib.compress(b"\xff" * 20),
    ],
    ids=range(6),
)
def test_a_damaged_gist_is_refused(db: str, damage: bytes) -> None:
    with Tract.open(db) as t:
        t.user("u")
        result(t, LOG, form="reference")
        t.compile()
    execute(db, "UPDATE blobs SET gist = ? WHERE gist IS NOT NULL", (damage,))
    with Tract.open(db) as t, pytest.raises(CorruptError):
        t.compile()


def alter_gist(db: str) -> None:
    """One bit of a preview, as if the disk had flipped it."""
    [(stored,)] = execute(db, "SELECT gist FROM blobs WHERE gist IS NOT NULL")
    middle = len(stored) // 2
    altered = stored[:middle] + bytes([stored[middle] ^ 1]) + stored[middle + 1 :]
    execute(db, "UPDATE blobs SET gist = ? WHERE gist IS NOT NULL", (altered,))


def test_an_altered_gist_is_refused(db: str) -> None:
    with Tract.open(db) as t:
        t.user("u")
        result(t, LOG, form="reference")
    alter_gist(db)
    with Tract.open(db) as t:
        with pytest.raises(CorruptError, match="damaged"):
            t.compile()
        assert t.compile(load_tool_results=True).messages[-1].content == LOG


def test_no_bit_of_a_gist_can_flip_unnoticed() -> None:
    made, digest = gist_of(LOG[:5_000]), sha256(b"content").digest()
    gist = stored_gist(made, digest)
    assert read_gist(gist, digest) == made
    for number in range(8 * len(gist)):
        altered = bytearray(gist)
        altered[number // 8] ^= 1 << number % 8
        with suppress(CorruptError):
            assert read_gist(bytes(altered), digest) == made  # a bit that says nothing


def test_gists_are_read_as_they_were_stored_before(db: str) -> None:
    with Tract.open(db) as t:
        t.user("u")
        result(t, LOG, form="reference")
        before = t.compile().messages
    [(gist, digest)] = execute(db, "SELECT gist, hash FROM blobs WHERE gist IS NOT NULL")
    former = former_gist(gist, digest, 0)
    execute(db, "UPDATE blobs SET gist = ? WHERE gist IS NOT NULL", (former,))
    with Tract.open(db) as t:
        assert t.compile().messages == before
        assert t.fsck().ok


def test_gists_of_schema_20_are_no_longer_compressed(db: str) -> None:
    with Tract.open(db) as t:
        t.user("u")
        result(t, LOG, form="reference")
        before = t.compile().messages
    [(gist, digest)] = execute(db, "SELECT gist, hash FROM blobs WHERE gist IS NOT NULL")
    smaller = former_gist(gist, digest, 6)
    assert len(smaller) < len(gist)
    execute(db, "UPDATE blobs SET gist = ? WHERE gist IS NOT NULL", (smaller,))
    back_to_version_20(db)
    with Tract.open(db) as t:
        assert t.compile().messages == before
        assert t.fsck().ok
    assert execute(db, "SELECT gist FROM blobs WHERE gist IS NOT NULL") == [(gist,)]


def test_a_damaged_gist_is_found_by_fsck(db: str) -> None:
    with Tract.open(db) as t:
        result(t, LOG, form="reference")
    alter_gist(db)
    with Tract.open(db) as t:
        assert not t.fsck().ok


def test_gists_are_equal_to_what_they_were(t: Tract) -> None:
    first, second = (result(t, LOG, name, form="reference") for name in "ab")
    assert first == second
    assert isinstance(t.session.store.contents.gists([first])[first], Gist)


# Forgotten ones


@pytest.mark.parametrize("content", [LOG, LONG], ids=["short", "chunked"])
def test_what_is_forgotten_leaves_nothing(db: str, content: str) -> None:
    with Tract.open(db) as t:
        t.user("u")
        t.assistant("", tool_calls=[{"id": "c", "name": "run", "arguments": {}}])
        info = t.tool_result("c", "run", content, form="reference")
        t.compile()
        t.forget(info)
        with pytest.raises(ForgottenError):
            t.get_tool_result("c")
        told = t.compile().messages[-1].text
        assert "step" not in told
        assert "line" not in told
        assert t.fsck().ok
    [(gist,)] = execute(db, "SELECT gist FROM blobs WHERE codec = 3")
    assert gist is None
    assert execute(db, "SELECT count(*) FROM chunks") == [(0,)]


def test_what_was_forgotten_can_be_written_again(t: Tract) -> None:
    info = t.tool_result("a", "run", LONG)
    t.forget(info)
    assert t.get_content(t.tool_result("b", "run", LONG)) == LONG
    assert _body(t.get_tool_result("b", lines="3-4")) == _lines(LONG, "3-4")
    blob_id = result(t, LONG, "c")
    assert t.session.store.contents.gists([blob_id])[blob_id].summary == gist_of(LONG).summary


def test_what_comes_back_in_a_batch_is_shown_in_it(t: Tract) -> None:
    t.forget(t.user("secret"))
    assert [message.content for message in t.compile().messages] != ["secret"]
    with t.batch():
        t.user("secret")
        assert [message.content for message in t.compile().messages] == ["secret", "secret"]
    assert [message.content for message in t.compile().messages] == ["secret", "secret"]


def test_the_layout_is_as_told(db: str) -> None:
    """Each chunk of a text knows how many lines end before it."""
    with Tract.open(db) as t:
        result(t, LONG)
    rows = execute(db, "SELECT position, first_line FROM chunks ORDER BY position")
    assert rows == [(p, LONG.count("\n", 0, p * S)) for p in range(len(LONG) // S + 1)]
    assert execute(db, "SELECT codec FROM blobs") == [(TEXT_CHUNKED,)]
    assert is_postgres(db) or Path(db).stat().st_size < len(LONG)
