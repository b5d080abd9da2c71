"""Forgetting: what is erased for good, what stays valid, and what is named as left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from tests.faults.harness import ask, execute, finish, go, is_postgres, start
from tests.toolkit import tool
from tests.validity import violations
from tract import (
    CommitNotFoundError,
    CorruptError,
    DialogNotFoundError,
    DiskFullError,
    ForgottenError,
    Form,
    InputError,
    Priority,
    ScriptedLLM,
    ScrubError,
    Shape,
    StorageError,
    ToolCall,
    Trace,
    Tract,
)
from tract.core.wording import ERASED, FORGOTTEN
from tract.model import DialogFacts
from tract.storage.sqlite import Sqlite

LONG = "a line of some result\n" * 200
CHUNKED = "0123456789abcdef" * 200_000


def texts(t: Tract) -> list[object]:
    return [message.content for message in t.compile().messages]


def assert_sound(t: Tract, db: str, *, whole: bool = True) -> None:
    """The database is whole, the view does not depend on who reads it, and can be sent."""
    assert not whole or t.fsck().problems == []
    shown = t.compile()
    assert violations(shown) == []
    with Tract.open(db, dialog=t.dialog) as fresh:
        other = fresh.compile()
        assert other.messages == shown.messages
        assert other.to_anthropic() == shown.to_anthropic()
        assert other.to_openai() == shown.to_openai()


def assert_nowhere(db: str, folder: Path, *texts: str) -> None:
    """No row has it, and no byte of the closed files."""
    for table in ("dialogs", "blobs", "commits", "commit_links", "tool_definitions", "branches"):
        for row in execute(db, f"SELECT * FROM {table}"):
            assert not [text for text in texts if text in repr(row)], table
    if not is_postgres(db):
        assert (folder / "t.db").exists()
        assert ask("finder.py", folder, *(text.encode().hex() for text in texts)) == []


def places(traces: list[Trace]) -> list[str]:
    return sorted(trace.place for trace in traces)


# A content

SECRET = os.urandom(12).hex()


def secrets() -> dict[str, object]:
    """A secret alone, in a compressed content, in a chunked one, in JSON, and in chunks that do
    not compress."""
    return {
        "short": SECRET,
        "long": f"{LONG}{SECRET}{LONG}",
        "glance": f"{SECRET} {LONG}",
        "chunked": f"{CHUNKED}{SECRET}{CHUNKED}",
        "json": {"key": [SECRET, {SECRET: LONG}]},
        "noise": os.urandom(900_000).hex() + SECRET,
    }


@pytest.mark.parametrize("kind", secrets())
def test_forgotten_bytes_are_nowhere(db: str, kind: str, tmp_path: Path) -> None:
    content = secrets()[kind]
    with Tract.open(db) as t:
        t.user("before")
        t.assistant(tool_calls=[ToolCall("c", "read")])
        result = t.tool_result("c", "read", content)
        stored = payloads(db, result.content_hash or "")
        t.user("after")
        assert list(t.search(SECRET))
        info = t.forget(result).commit
        assert info is not None
        assert info.commit_hash == result.commit_hash
        assert_forgotten(t, result.commit_hash)
        assert not any(payloads(db, result.content_hash or ""))
        assert t.fsck().ok
    with Tract.open(db) as t:
        assert_forgotten(t, result.commit_hash)
    if not is_postgres(db):
        assert (tmp_path / "t.db").exists()
        needles = [SECRET.encode(), *(piece[-200:] for piece in stored)]
        assert ask("finder.py", tmp_path, *(needle.hex() for needle in needles)) == []


def payloads(db: str, content_hash: str) -> list[bytes]:
    """The bytes that are stored for a content, whole or in chunks."""
    digest = (bytes.fromhex(content_hash),)
    whole = execute(db, "SELECT payload FROM blobs WHERE hash = ?", digest)
    chunks = "SELECT payload FROM chunks WHERE blob_id IN (SELECT id FROM blobs WHERE hash = ?)"
    return [bytes(payload) for (payload,) in whole + execute(db, chunks, digest) if payload]


def assert_forgotten(t: Tract, digest: str) -> None:
    shown = t.compile()
    assert [message.content for message in shown.messages][2:] == [FORGOTTEN, "after"]
    assert [message["role"] for message in shown.to_openai()] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert SECRET not in repr(shown.to_anthropic())
    assert SECRET not in str(to_builtins(list(t.log())))
    assert list(t.search(SECRET)) == []
    assert t.get_commit(digest).tool_call_id == "c"


def test_forgotten_bytes_were_there(tmp_path: Path) -> None:
    """The search of the files finds what is there, so that its silence says something."""
    with Tract.open(tmp_path / "t.db") as t:
        t.user(SECRET)
        noise = os.urandom(400)
        t.user(noise.hex())
    assert ask("finder.py", tmp_path, SECRET.encode().hex()) == ["t.db"]


def test_forgetting_is_not_said_to_be_done_while_a_reader_holds_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.user("before")
        t.session.store.driver.run("PRAGMA wal_checkpoint(TRUNCATE)")
        leak = t.user(SECRET)
        driver = t.session.store.driver
        assert isinstance(driver, Sqlite)
        driver.busy_seconds = 0.2
        reader = start("reader.py", path)
        go(reader)
        assert reader.stdout is not None
        assert reader.stdout.readline() == "held\n"
        try:
            t.forget(leak)
        except ScrubError:
            go(reader)
            finish(reader)
            t.forget(leak)  # again, now that nobody is in the way
        else:
            left = ask("finder.py", tmp_path, SECRET.encode().hex())
            go(reader)
            finish(reader)
            assert left == []
    assert ask("finder.py", tmp_path, SECRET.encode().hex()) == []


def test_forgotten_content_can_be_committed_again(db: str) -> None:
    for content in ("short", LONG, CHUNKED):
        with Tract.open(db, dialog=f"of {len(content)}") as t:
            first = t.user(content)
            t.forget(first)
            assert texts(t) == [FORGOTTEN]
            again = t.user(content)
            assert again.content_hash == first.content_hash
            assert t.get_content(again) == content
            assert texts(t)[1] == content
            assert again.preview == t.get_commit(again.commit_hash).preview != "[forgotten]"
            assert t.fsck().ok
            t.forget(again)
            assert texts(t) == [FORGOTTEN, FORGOTTEN]


def test_forgotten_content_is_not_made_up(db: str) -> None:
    """A stand-in is for the model; whoever asks for what was given learns that it is gone."""
    with Tract.open(db) as t:
        leak = t.user(SECRET)
        t.forget(leak)
        with pytest.raises(ForgottenError, match=leak.content_hash):
            t.get_content(leak)


def test_forgotten_call_keeps_its_results(db: str) -> None:
    with Tract.open(db) as t:
        call = t.assistant(
            SECRET, tool_calls=[ToolCall("c", "read", {"token": SECRET})], tools=[tool("read")]
        )
        t.tool_result("c", "read", "ok")
        t.forget(call)
        sent = t.compile().to_openai()
        assert [message["role"] for message in sent] == ["assistant", "tool"]
        assert sent[0]["tool_calls"][0]["id"] == sent[1]["tool_call_id"] == "c"
        assert SECRET not in repr(sent)
        assert t.compile().notes_for("openai") == []


def test_forgotten_edit_and_edit_of_a_forgotten_one(db: str) -> None:
    with Tract.open(db) as t:
        first = t.user(SECRET)
        t.forget(first)
        edit = t.user("clean", edit=first)
        assert texts(t) == ["clean"]
        t.forget(edit)
        assert texts(t) == [FORGOTTEN]
        t.restore(edit)
        assert texts(t) == [FORGOTTEN]
        assert t.fsck().ok


def test_forget_reaches_other_dialogs_and_open_tracts(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db, dialog="other") as other:
        leak = t.user(SECRET, tools=[tool(SECRET)])
        other.user(SECRET, tools=[tool(SECRET)])
        sibling = t.sibling("other")
        snapshot = other.read()
        assert texts(other) == texts(sibling) == [SECRET]
        t.forget(leak)
        assert texts(other) == texts(sibling) == [FORGOTTEN]
        assert other.read_on(snapshot) is not snapshot
        assert t.get_tools() == other.get_tools() == [tool(SECRET)]
        t.forget(text=SECRET)
        assert t.get_tools() == other.get_tools() == sibling.get_tools() != [tool(SECRET)]
        other.user("more")
        assert texts(other) == [FORGOTTEN, "more"]
        assert list(other.search(SECRET)) == []


def test_what_comes_back_is_shown_by_all(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db) as other:
        t.forget(t.user("hi"))
        assert texts(t) == texts(other) == [FORGOTTEN]
        with suppress(ZeroDivisionError), other.batch():
            other.user("hi")
            raise ZeroDivisionError
        assert texts(t) == texts(other) == [FORGOTTEN]
        with suppress(ZeroDivisionError), other.batch():
            other.user("hi")
            assert texts(other) == ["hi", "hi"]
            raise ZeroDivisionError
        t.forget(t.user("secret"))  # no one takes this for what the batch did
        assert texts(t) == texts(other) == [FORGOTTEN, FORGOTTEN]
        t.restore(t.annotate(str(t.head), "skip"))
        t.user("hi")
        assert texts(t) == texts(other) == ["hi", FORGOTTEN, "hi"]


def test_forget_of_what_has_no_content(db: str) -> None:
    with Tract.open(db) as t:
        mark = t.annotate(t.user("x"), Priority.PINNED)
        with pytest.raises(InputError):
            t.forget(mark)
        with pytest.raises(CommitNotFoundError):
            t.forget("0" * 64)
        assert texts(t) == ["x"]


def test_forget_twice(db: str) -> None:
    with Tract.open(db) as t:
        first = t.user("x")
        once, again = t.forget(first), t.forget(first)
        assert (once.commit, len(once.erased), again.erased) == (again.commit, 1, [])
        assert t.fsck().ok


# What tract copied of it

WORDS = "the password is"


def shape(form: str, text: str) -> Shape:
    return Shape(Form(form), text=text)


def result_of(t: Tract, content: object, **options: Any) -> str:
    """A result with its call."""
    t.assistant(tool_calls=[ToolCall("c", "cat", {})])
    return str(t.tool_result("c", "cat", content, **options).commit_hash)


BIG = f"Error: {WORDS} {SECRET} refused\n" + "a line that is like the others\n" * 900


def test_the_text_of_a_summary_goes_with_its_result(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("q")
        leak = result_of(t, BIG)
        summary = t.summarize_tool_result("c")
        assert SECRET in (summary.text or "")
        result = t.forget(leak)
        assert places(result.erased) == ["content", "form"]
        assert t.compile().messages[-1].content == FORGOTTEN
        assert_sound(t, db)
        t.restore(leak)
        assert_sound(t, db)
        assert SECRET not in str([t.compile().to_openai(), to_builtins(list(t.log()))])
    assert_nowhere(db, tmp_path, SECRET)


def test_a_text_that_another_program_sent_goes_with_its_result(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("q")
        leak = result_of(t, BIG, form=shape("truncated", f"{SECRET} [cut]"))
        assert SECRET in t.compile().messages[-1].text
        before = t.compile().tools
        t.forget(leak)
        assert t.compile().messages[-1].content == FORGOTTEN
        assert t.compile().tools == before  # the model was offered no way to fetch the rest
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, SECRET)


def test_an_outline_goes_with_any_of_its_messages(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("q")
        leak = result_of(t, BIG)
        t.assistant("done")
        outline = t.compress_tool_calls()
        [summary] = outline.summaries
        assert SECRET in str(t.get_content(summary))
        again = t.compress([summary], content="of the outline")
        result = t.forget(leak)
        assert {trace.commit for trace in result.erased} == {leak, summary.commit_hash}
        assert [(r.commit, r.place) for r in result.remains] == [
            (again.summaries[0].commit_hash, "summary (given)")
        ]
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, SECRET)


def test_a_summary_by_a_model_is_named(db: str) -> None:
    with Tract.open(db, llm=ScriptedLLM([f"It said {SECRET}."])) as t:
        first, second = t.user(f"{SECRET} {LONG}"), t.assistant(LONG)
        [summary] = t.compress([first, second]).summaries
        result = t.forget(first)
        [left] = result.remains
        assert left == Trace(t.dialog, summary.commit_hash, "summary (scripted)")
        assert places(t.forget(summary).erased) == ["content", "metadata"]
        assert texts(t) == [FORGOTTEN]
        assert_sound(t, db)


def test_what_stands_beside_the_content_goes_too(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("q")
        t.assistant(tool_calls=[ToolCall("c", "cat", {})])
        message = {"role": "tool", "tool_call_id": "c", "content": "x", "trace_id": SECRET}
        leak = t.commit(message, message=f"saw {SECRET}", metadata={"request": [SECRET]})
        edit = t.tool_result("c", "cat", "clean", edit=leak)  # it inherits the metadata
        mark = t.annotate(leak, "pinned", message=f"because of {SECRET}")
        other = t.user("stays", message="a note", metadata={"a": 1})
        result = t.forget(leak)
        erased = {(trace.commit, trace.place) for trace in result.erased}
        assert erased == {
            (leak.commit_hash, "content"),
            (leak.commit_hash, "note"),
            (leak.commit_hash, "metadata"),
            (leak.commit_hash, "provider's keys"),
            (edit.commit_hash, "metadata"),
            (mark.commit_hash, "note"),
        }
        assert t.get_commit(mark).message == ERASED
        assert t.get_commit(other) == other
        assert_sound(t, db)
        assert [info.commit_hash for info in t.edit_history(leak)] == [
            leak.commit_hash,
            edit.commit_hash,
        ]
    assert_nowhere(db, tmp_path, SECRET)


def test_the_title_of_its_dialog_goes_too(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        leak = t.user(f"  {WORDS}\t{SECRET}\nand more")
        facts = DialogFacts(title=f"{WORDS} {SECRET}", folder="here", source="a.jsonl")
        t.session.configure("facts", facts)
        result = t.forget(leak)
        assert places(result.erased) == ["content", "title"]
        assert places(result.remains) == ["file that it was imported from: a.jsonl"]
        assert t.dialogs()[0].facts == DialogFacts(folder="here", source="a.jsonl")
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, SECRET)


def test_copies_in_other_places_are_named(db: str) -> None:
    lines = [f"{number} lines of a file" for number in range(9)]
    with Tract.open(db) as t:
        leak = t.user("\n".join(lines))
        quote = t.user("you said:\n" + "\n".join(lines[2:7]))
        t.user(lines[3])  # one line is not a copy
        with Tract.open(db, dialog="other") as other:
            noted = other.user("x", metadata={"seen": "\n".join(lines[:3])})
        assert t.forget(leak).remains == [
            Trace(t.dialog, quote.commit_hash, "content", 5),
            Trace("other", noted.commit_hash, "metadata", 3),
        ]


def test_a_short_text_inside_a_line_is_named(db: str) -> None:
    with Tract.open(db) as t:
        leak = t.user(f"{WORDS} {SECRET}")
        quote = t.assistant(f"I see that {WORDS} {SECRET}, thanks")
        assert t.forget(leak).remains == [Trace(t.dialog, quote.commit_hash, "content")]


def test_a_copy_from_before_a_migration_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a[1].db"
    with Tract.open(path) as t:
        (tmp_path / "a[1].db.schema-9.bak").touch()
        assert places(t.forget(t.user("x")).remains) == ["backup a[1].db.schema-9.bak"]


def test_a_flipped_bit_in_what_is_left_is_seen(db: str) -> None:
    with Tract.open(db) as t:
        leak = t.user("x", message="note", generation_config={"model": "one"})
        t.user("after")
        t.forget(leak)
    sql = "UPDATE commits SET generation_config = ? WHERE parent_id IS NULL"
    execute(db, sql, ('{"model":"two"}',))
    with Tract.open(db) as t:
        assert len(t.fsck().problems) == 1
        for read in (t.compile, lambda: t.get_commit(leak), lambda: list(t.log())):
            with pytest.raises(CorruptError, match=leak.commit_hash):
                read()


def test_what_is_left_is_copied_and_collected(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("first", tools=[tool(SECRET)])
        t.branch("side")
        t.checkout("side")
        t.forget(t.user("x", message="note"))
        t.forget(text=SECRET)
        t.backup(tmp_path / "copy.db")
        with Tract.open(tmp_path / "copy.db") as copy:
            assert copy.fsck().ok
            assert list(copy.log()) == list(t.log())
        assert len(execute(db, "SELECT * FROM erased")) == 2
        t.checkout("main")
        t.delete_branch("side")
        t.gc(dry_run=False, grace_seconds=0)
        assert len(execute(db, "SELECT * FROM erased")) == 1
        t.delete_dialog()
        assert execute(db, "SELECT * FROM erased") == []


# A disk that fails

FULL = DiskFullError("the disk is full; nothing was written")


def failing(monkeypatch: pytest.MonkeyPatch, t: Tract, word: str, error: StorageError) -> None:
    """Fail at each statement that starts with this word."""
    driver = t.session.store.driver
    run = driver.run

    def fail(sql: str, values: Any = ()) -> Any:
        if sql.startswith(word):
            raise error
        return run(sql, values)

    monkeypatch.setattr(driver, "run", fail)


def test_a_full_disk_before_the_end_erases_nothing(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(db) as t:
        leak = t.user(SECRET, message=SECRET)
        with monkeypatch.context() as patch:
            failing(patch, t, "UPDATE blobs", FULL)
            with pytest.raises(DiskFullError):
                t.forget(leak)
        assert t.get_commit(leak) == leak
        assert texts(t) == [SECRET]
        assert t.forget(leak).erased
        assert_sound(t, db)


def test_a_full_disk_at_the_end_says_what_is_erased(
    db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tract.open(db) as t:
        leak = t.user(SECRET, message=SECRET)
        for again in (lambda: t.forget(leak), lambda: t.forget(text=SECRET)):
            with monkeypatch.context() as patch:
                failing(patch, t, "VACUUM", FULL)
                with pytest.raises(ScrubError, match="erased from the history, but") as caught:
                    again()
            assert caught.value.result.remains == []
            assert texts(t) == [FORGOTTEN]
        assert t.forget(leak).erased == []
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, SECRET)


# A text wherever it stands

KEY = 'sk-pä55\n"w\\ord"/☃'
"""A secret that no JSON has as it is."""
ANYWHERE: dict[str, Callable[[Tract, str], object]] = {
    "text": lambda t, s: t.user(f"it is {s}."),
    "compressed": lambda t, s: t.user(LONG + s + LONG),
    "chunks": lambda t, s: t.user("x" * 65_530 + s + CHUNKED),
    "blocks": lambda t, s: t.user([{"type": "text", "text": s}]),
    "arguments": lambda t, s: call(t, {"key": [{"deep": s}]}),
    "text of arguments": lambda t, s: call(t, json.dumps({"key": s})),
    "text in arguments": lambda t, s: call(t, json.dumps({"key": json.dumps([s])})),
    "key": lambda t, s: call(t, {s: 1}),
    "call id": lambda t, s: call(t, {}, call_id=f"call {s}"),
    "name of a tool": lambda t, s: call(t, {}, name=f"tool {s}"),
    "result": lambda t, s: result_of(t, {"rows": [[s]]}),
    "log in a result": lambda t, s: result_of(t, f"line\n{json.dumps({'a': s})}\n" * 3),
    "note": lambda t, s: t.user("x", message=s),
    "metadata": lambda t, s: t.user("x", metadata={"a": {s: [s]}}),
    "configuration": lambda t, s: t.user("x", generation_config={"stop": [s]}),
    "usage": lambda t, s: t.user("x", usage={"who": s}),
    "unknown key": lambda t, s: t.commit({"role": "user", "content": "x", "own": s}),
    "form": lambda t, s: t.reshape({result_of(t, BIG): shape("summary", s)}),
    "written form": lambda t, s: result_of(t, BIG, form=shape("truncated", s)),
    "note of a mark": lambda t, s: t.annotate(t.user("x"), "pinned", message=s),
    "summary": lambda t, s: t.compress([t.user(LONG)], content=s),
    "tool": lambda t, s: t.user("x", tools=[{**tool("read"), "description": s}]),
    "name in a tool": lambda t, s: t.user("x", tools=[tool(f"read {s}")]),
    "value in a tool": lambda t, s: t.set_tools([{**tool("read"), "enum": [s, {s: 1}]}]),
    "title": lambda t, s: t.session.configure("facts", DialogFacts(title=s, model="m")),
    "instructions": lambda t, s: t.configure_tool_summarization(instructions={"read": s}),
    "settings": lambda t, s: t.configure_results(tools={s: {"inline_tokens": 5}}),
}


def call(t: Tract, arguments: object, call_id: str = "c", name: str = "cat") -> None:
    t.assistant("calling", tool_calls=[ToolCall(call_id, name, arguments)])
    t.tool_result(call_id, name, "fine")


@pytest.mark.parametrize("secret", [SECRET, KEY], ids=["plain", "escaped"])
def test_a_text_is_erased_wherever_it_stands(db: str, secret: str, tmp_path: Path) -> None:
    for where, put in ANYWHERE.items():
        with Tract.open(db, dialog=where) as other:
            other.user("before")
            put(other, secret)
            other.user("after")
    with Tract.open(db) as t:
        mine = t.user("mine", message="stays")
        before = execute(db, "SELECT * FROM commits"), execute(db, "SELECT * FROM blobs")
        plan = t.forget(text=secret, dry_run=True)
        assert plan.dry_run
        assert before == (execute(db, "SELECT * FROM commits"), execute(db, "SELECT * FROM blobs"))
        result = t.forget(text=secret)
        assert result.erased == plan.erased
        tools = {"tool", "name in a tool", "value in a tool"}  # they belong to no dialog
        assert {trace.dialog for trace in result.erased} == {*ANYWHERE, None} - tools
        assert sum(place.startswith("tool definition") for place in places(result.erased)) == 3
        assert t.get_commit(mine) == mine
        assert t.forget(text=secret).erased == []
        for where in ANYWHERE:
            with Tract.open(db, dialog=where) as other:
                assert_sound(other, db, whole=False)
                assert secret not in str(other.compile().to_dicts()), where
                assert secret not in str(to_builtins(other.get_tools())), where
                assert secret not in str(to_builtins(list(other.log())))
        assert t.fsck().problems == []
    escaped = json.dumps(secret)[1:-1]
    assert_nowhere(db, tmp_path, secret, escaped, json.dumps(escaped)[1:-1])


def test_a_text_is_counted_by_place(db: str) -> None:
    with Tract.open(db) as t:
        one = t.user(f"{SECRET} and {SECRET}", metadata={"a": SECRET})
        with Tract.open(db, dialog="other") as other:
            two = other.user(f"{SECRET} and {SECRET}")
        assert t.forget(text=SECRET).erased == [
            Trace(t.dialog, one.commit_hash, "content", 2),
            Trace("other", two.commit_hash, "content", 2),
            Trace(t.dialog, one.commit_hash, "metadata", 1),
        ]


def test_the_rest_of_what_had_a_text_stays(db: str) -> None:
    with Tract.open(db) as t:
        metadata = {"a": [f"the {SECRET}.", 1, None], ERASED: 0, SECRET: True}
        t.user("x", metadata=metadata, message=f"<{SECRET}>")
        t.forget(text=SECRET)
        [info] = t.log()
        assert info.metadata == {"a": [f"the {ERASED}.", 1, None], ERASED: 0, f"{ERASED}-2": True}
        assert info.message == f"<{ERASED}>"


def test_a_number_is_erased_with_its_column(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("x", metadata={"card": 4111222233334444, "a": "port"})
        t.forget(text="11122223333")
        assert t.get_commit(str(t.head)).metadata == {}
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, "11122223333", "port")


def test_names_of_dialogs_and_branches_are_replaced(db: str, tmp_path: Path) -> None:
    with Tract.open(db, dialog=f"of {SECRET}") as t:
        t.user("x")
        t.branch(f"side {SECRET}")
        t.branch(f"side {ERASED}")
        t.checkout(f"side {SECRET}")
        with Tract.open(db, dialog=f"of {ERASED}") as other:
            other.user("other")
        result = t.forget(text=SECRET)
        assert places(result.erased) == ["name of a branch", "name of the dialog"]
        assert (t.dialog, t.current_branch) == (f"of {ERASED}-2", f"side {ERASED}-2")
        t.user("y")
        assert texts(t) == ["x", "y"]
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, SECRET)


def test_ids_stay_paired(db: str) -> None:
    with Tract.open(db) as t:
        t.user("q", tools=[tool("cat")])
        ids = [f"{SECRET}-{number}" for number in range(3)]
        t.assistant(tool_calls=[ToolCall(call_id, "cat", {}) for call_id in ids])
        for call_id in ids:
            t.tool_result(call_id, "cat", f"result {call_id[-1]}")
        t.forget(text=SECRET)
        results = [message.content for message in t.compile().messages if message.role == "tool"]
        assert results == ["result 0", "result 1", "result 2"]
        assert t.compile().notes == []
        assert_sound(t, db)


def test_a_damaged_content_is_named(db: str) -> None:
    with Tract.open(db) as t:
        damaged, other = t.user("damaged"), t.user(SECRET)
        execute(db, "UPDATE blobs SET payload = ? WHERE json_size = 9", (b'"damages"',))
        result = t.forget(text=SECRET)
        assert [trace.commit for trace in result.erased] == [other.commit_hash]
        assert result.remains == [Trace(t.dialog, damaged.commit_hash, "damaged content")]


@pytest.mark.parametrize("text", ["", "forgotten", None, 7, b"bytes"])
def test_what_cannot_be_searched_for_is_refused(text: Any) -> None:
    with Tract.open() as t:
        t.user("x")
        with pytest.raises(InputError):
            t.forget(text=text)
        with pytest.raises(InputError, match="not both"):
            t.forget(str(t.head), text="x")
        assert texts(t) == ["x"]


def test_erased_again_by_another_text(db: str) -> None:
    with Tract.open(db) as t:
        t.user("x", metadata={"a": "one secret", "b": "two secrets"})
        t.forget(text="one")
        t.forget(text="two")
        metadata = t.get_commit(str(t.head)).metadata
        assert metadata == {"a": f"{ERASED} secret", "b": f"{ERASED} secrets"}
        assert_sound(t, db)


def test_a_message_that_was_erased_is_not_written_again(db: str) -> None:
    """The same history, recorded or retried, finds its commits by their hashes."""
    with Tract.open(db) as t:
        first = t.user(SECRET, metadata={"a": SECRET})
        t.assistant("ok")
        t.forget(text=SECRET)
        t.record([{"role": "user", "content": SECRET}, {"role": "assistant", "content": "ok"}])
        again = t.compile().to_openai()
        t.record(again)
        assert len(list(t.log())) == 2
        assert texts(t)[0] == FORGOTTEN
        assert list(t.log())[-1].commit_hash == first.commit_hash


# Words of the formats

TOOLS = [
    tool("read", path="string", title="string"),
    {
        "name": "find",
        "description": f"Find {SECRET} in a file.",
        "input_schema": {
            "type": "object",
            "properties": {"where": {"type": "string", "enum": ["a", "b"]}},
            "required": ["where"],
        },
    },
]


def of_all_kinds(t: Tract) -> None:
    t.commit({"role": "user", "content": "q", "x_unknown": 1}, tools=TOOLS)
    call = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "p"}}
    t.commit({"role": "assistant", "content": [{"type": "text", "text": "well"}, call]})
    t.tool_result("c1", "read", {"answer": None, "ok": True})
    t.assistant("done", metadata={"a": None})
    t.configure_results(inline_tokens=500, tools={"read": {"inline_tokens": 900}})


FORMATS = ("role", "user", "name", "type", "object", "function", "properties", "required", "text")


@pytest.mark.parametrize(
    "word", [*FORMATS, "a", "d", "null", "arguments", "true", "inline_tokens", '"', ":"]
)
def test_a_word_of_a_format_leaves_what_can_be_sent(word: str, tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    with Tract.open(db) as t:
        of_all_kinds(t)
        t.forget(text=word)
        assert t.forget(text=word).erased == []
        assert_sound(t, db)
        assert t.get_tools() is not None


def test_what_does_not_have_a_word_is_not_erased(db: str) -> None:
    with Tract.open(db) as t:
        of_all_kinds(t)
        t.commit({"role": "user", "content": [{"type": "image", "source": {"data": "eA=="}}]})
        before = t.compile().messages
        for word in ("arguments", "text", "null", "true", "role", "raw", "anthropic", '"', ":"):
            assert t.forget(text=word).erased == [], word
        assert t.compile().messages == before


def test_a_parameter_with_a_text_leaves_a_tool_without_parameters(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("q", tools=[tool("read", **{SECRET: "string"}), TOOLS[1]])
        t.forget(text=SECRET)
        open_tool, redacted = t.get_tools() or []
        assert open_tool == {"name": "read", "input_schema": {"type": "object"}}
        assert redacted == {**TOOLS[1], "description": f"Find {ERASED} in a file."}
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, SECRET)


# What is damaged

FLIPS = {
    "usage": """UPDATE commits SET usage = '{"input_tokens":99}' WHERE id = 1""",
    "metadata": """UPDATE commits SET metadata = '{"a":2}' WHERE id = 1""",
    "not JSON": f"""UPDATE commits SET metadata = '{{"a {SECRET}' WHERE id = 1""",
    "role": "UPDATE commits SET role = 'user' WHERE id = 1",
    "time": "UPDATE commits SET created_at = created_at + 1 WHERE id = 1",
    "content": "UPDATE commits SET blob_id = 2 WHERE id = 1",
    "error": "UPDATE commits SET is_error = 1 WHERE id = 1",
    "link": "UPDATE commit_links SET value = '{x' WHERE commit_id = 4",
    "schema": "UPDATE tool_definitions SET schema = replace(schema, 'string', 'number')",
    "tokens": "UPDATE tool_definitions SET token_count = token_count + 1",
    "head": "UPDATE branches SET head_id = 1 WHERE dialog_id = 1",
    "facts": "UPDATE dialogs SET facts = replace(facts, 'model', 'nodel')",
    "size": "UPDATE blobs SET text_size = text_size + 1 WHERE id = 1",
}


def damaged(db: str, flip: str) -> None:
    """A dialog that has the secret in many positions, and one value that was altered."""
    with Tract.open(db, dialog=f"of {SECRET}") as t:
        t.assistant(f"x {SECRET}", usage={"input_tokens": 10}, message=SECRET, metadata={"a": 1})
        t.user("other", tools=[tool("read", **{"path": "string", SECRET: "string"})])
        leak = t.tool_result("c", "cat", BIG)
        t.reshape({leak.commit_hash: shape("summary", SECRET)}, message=SECRET)
        t.session.configure("facts", DialogFacts(title=SECRET, model="m"))
        t.sibling("other").user("first")  # no dialog is created beside a damaged one
    execute(db, FLIPS[flip])


@pytest.mark.parametrize("flip", FLIPS)
def test_damage_is_not_made_true(db: str, flip: str, tmp_path: Path) -> None:
    damaged(db, flip)
    with Tract.open(db, dialog="other") as t:
        t.user(SECRET)
        assert t.fsck().problems != []
        t.forget(t.user("another content, which does not have it"))
        assert t.fsck().problems != []
        result = t.forget(text=SECRET)
        assert t.fsck().problems != []
        assert [place for place in places(result.remains) if place.startswith("damaged")]
        assert texts(t) == ["first", FORGOTTEN, FORGOTTEN]
    if flip != "size":  # what it has cannot be read
        assert_nowhere(db, tmp_path, SECRET)


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    damaged(db, "usage")
    for column in ("metadata", "message", "usage", "form", "hash", "tool_call_id"):
        execute(db, f"UPDATE commits SET {column} = x'ff' WHERE id = 2")
        with Tract.open(db, dialog=f"{column} {SECRET}") as t:
            t.user(SECRET + column)
            assert "damaged commit" in places(t.forget(text=SECRET + column).remains)


def test_a_damaged_content_can_be_forgotten(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        leak = t.user(f"the {SECRET}")
        t.user("after")
        execute(db, "UPDATE blobs SET payload = ? WHERE id = 1", (f'"The {SECRET}"'.encode(),))
        assert places(t.forget(leak).erased) == ["content"]
        assert texts(t) == [FORGOTTEN, "after"]
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, SECRET)


def test_a_content_with_a_damaged_size_loses_its_bytes(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        leak = t.user(f"the {SECRET}")
        execute(db, "UPDATE blobs SET token_count = token_count + 1")
        result = t.forget(leak)
        assert (places(result.erased), places(result.remains)) == (["content"], ["damaged content"])
        assert t.forget(leak).erased == []
        with pytest.raises(CorruptError):
            t.compile()
    assert_nowhere(db, tmp_path, SECRET)


def test_a_commit_that_lost_its_content_erases_no_other(db: str) -> None:
    with Tract.open(db) as t:
        leak = t.user("one")
        t.user("two")
        execute(db, "UPDATE commits SET blob_id = 2 WHERE id = 1")
        with pytest.raises(CorruptError):
            t.forget(leak)


# Dialogs that are open elsewhere

USES: tuple[Callable[[Tract], object], ...] = (
    lambda t: t.compile(),
    lambda t: list(t.log()),
    lambda t: list(t.usages()),
    lambda t: t.branches(),
    lambda t: t.user("two"),
    lambda t: t.branch("side"),
)


def test_a_dialog_that_was_renamed_is_not_an_empty_one(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db, dialog=f"d {SECRET}") as other:
        sibling, unread = t.sibling(f"d {SECRET}"), t.sibling(f"d {SECRET}")
        other.user("one")
        assert texts(sibling) == ["one"]
        renamed = t.sibling(f"d {SECRET}")  # not read before
        t.forget(text=SECRET)
        for gone in (other, sibling, renamed):
            for use in USES:
                with pytest.raises(DialogNotFoundError, match="open it again"):
                    use(gone)
        assert [info.dialog for info in t.dialogs()] == [f"d {ERASED}"]
        assert texts(unread) == []  # it did not exist when this one was opened
        with Tract.open(db, dialog=f"d {ERASED}") as again:
            assert texts(again) == ["one"]


def test_a_deleted_dialog_starts_empty(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db) as other:
        t.user("x")
        assert texts(other) == ["x"]
        t.delete_dialog()
        assert texts(other) == []


def test_a_dialog_of_a_batch_that_failed_is_empty(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db, dialog="new") as other:
        t.forget(t.user("hi"))
        with suppress(ZeroDivisionError), other.batch():
            other.user("hi")  # it comes back
            other.user("more")
            raise ZeroDivisionError
        assert texts(other) == []


def test_a_long_name_stays_a_name(db: str) -> None:
    long = "n" * 198 + "s3"
    with Tract.open(db, dialog=long) as t:
        t.user("x")
        t.branch(long)
        t.forget(text="s3")
        assert len(t.dialog) == 200
        assert_sound(t, db)


def test_traces_and_parents_have_the_new_names(db: str) -> None:
    with Tract.open(db, dialog=f"p {ERASED}") as taken, Tract.open(db, dialog=f"p {SECRET}") as t:
        taken.user("x")
        t.user(SECRET)
        child = t.sibling("child")
        child.user("y")
        facts = DialogFacts(parent=f"p {SECRET}", source=f"{SECRET}.jsonl")
        child.session.configure("facts", facts)
        result = t.forget(text=SECRET)
        assert SECRET not in str(to_builtins(result))
        assert {trace.dialog for trace in result.erased} == {f"p {ERASED}-2", "child"}
        [_, _, info] = t.dialogs()
        assert (info.facts.parent, info.facts.source) == (f"p {ERASED}-2", f"{ERASED}.jsonl")


def test_settings_with_a_sum_like_the_text(db: str) -> None:
    with Tract.open(db) as t:
        t.configure_results(inline_tokens=500)
        [(stored,)] = execute(db, "SELECT result_settings FROM dialogs")
        assert t.forget(text=stored[:4]).erased == []


# More of what remains


def test_a_summary_of_a_summary_is_named(db: str) -> None:
    with Tract.open(db) as t:
        leak = t.user(f"my {SECRET}")
        [first] = t.compress([leak], content=f"A {SECRET}").summaries
        [second] = t.compress([first], content=f"B {SECRET}").summaries
        remains = {(trace.commit, trace.place) for trace in t.forget(leak).remains}
        assert {(s.commit_hash, "summary (given)") for s in (first, second)} <= remains


def test_what_stands_beside_equal_contents_and_edits_is_named(db: str) -> None:
    with Tract.open(db) as t:
        leak = t.user("a secret")
        twin = t.user("a secret", message="note", metadata={"a": 1})
        edit = t.user("clean", edit=leak, message="why", metadata={"b": 1})
        pin = t.annotate(leak, "pinned")
        undo = t.restore(pin, message="because")
        result = t.forget(leak)
        assert {(trace.commit, trace.place) for trace in result.remains} == {
            (commit.commit_hash, place) for commit in (twin, edit) for place in ("note", "metadata")
        }
        assert (undo.commit_hash, "note") in {(t.commit, t.place) for t in result.erased}
        assert_sound(t, db)


def test_a_form_of_an_edit_goes_with_the_edit(db: str, tmp_path: Path) -> None:
    with Tract.open(db) as t:
        t.user("q")
        result = result_of(t, "a line that is like the others\n" * 900)
        edit = t.tool_result("c", "cat", BIG, edit=result)
        assert SECRET in (t.summarize_tool_result("c").text or "")
        assert places(t.forget(edit).erased) == ["content", "form"]
        assert_sound(t, db)
    assert_nowhere(db, tmp_path, SECRET)


def test_copies_in_tools_settings_and_names_are_named(db: str) -> None:
    line = f"{WORDS} {SECRET}"
    with Tract.open(db, dialog=f"d {line}") as t:
        leak = t.user(line, tools=[{**tool("read"), "description": line}])
        t.branch(f"b {line}")
        t.session.configure("facts", DialogFacts(folder=line))
        t.configure_tool_summarization(instructions={"read": line})
        result = t.forget(leak)
        assert [place.split(" ")[0] for place in places(result.remains)] == [
            *("facts", "name", "name", "summarization", "tool")
        ]


def test_the_imported_file_is_named_if_only_a_note_had_the_text(db: str) -> None:
    with Tract.open(db) as t:
        t.user("x", message=SECRET)
        t.session.configure("facts", DialogFacts(source="a.jsonl"))
        result = t.forget(text=SECRET)
        assert places(result.remains) == ["file that it was imported from: a.jsonl"]


def test_an_unfinished_backup_is_named(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        (tmp_path / "t.db.7-ab.part").touch()
        assert places(t.forget(t.user("x")).remains) == ["backup t.db.7-ab.part"]


def test_a_dry_run_shows_the_commit_as_it_is(db: str) -> None:
    with Tract.open(db) as t:
        leak = t.user("x", message="note")
        assert t.forget(leak, dry_run=True).commit == leak


def test_a_tool_can_be_declared_again(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db) as other:
        tools = [{**tool("read"), "description": SECRET}, tool("find")]
        t.set_tools(tools)
        t.forget(text=SECRET)
        assert t.get_tools() != tools
        assert t.set_tools(tools) is None
        assert t.get_tools() == other.get_tools() == tools
        t.forget(text=SECRET)
        t.user("x", tools=tools)
        assert t.get_tools() == other.get_tools() == tools
        other.forget(text=SECRET)
        t.user("y", tools=tools)
        assert t.get_tools() == other.get_tools() == tools
        assert_sound(t, db)
