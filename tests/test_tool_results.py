"""Results for asynchronous code, and older dialogs whose results become references."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.cli import HEAVY, imported_by, invoke, ok, ok_json, on_a_terminal, read_until
from tests.serving import open_tract
from tract import (
    ConflictError,
    CorruptError,
    ForgottenError,
    Form,
    InputError,
    NotJsonError,
    StorageError,
    ToolCall,
    ToolResultMetadata,
    ToolResultReference,
    ToolResultsStorage,
    Tract,
    import_messages,
    migrate_results,
)
from tract import tool_results as module
from tract.providers.frameworks.langchain import is_reference

ON_SERVERS = True
Answer = TypeVar("Answer")
BIG = "\n".join(f"line {number} of a log" for number in range(3000))
WHEN = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=timezone(timedelta(hours=2)))


def using(
    place: str | Tract, act: Callable[[ToolResultsStorage], Awaitable[Answer]], dialog: str = "d"
) -> Answer:
    """What an agent does with a storage, in an event loop of its own."""

    async def run() -> Answer:
        async with ToolResultsStorage(place, dialog) as storage:
            return await act(storage)

    return asyncio.run(run())


def store(place: str | Tract, *given: Any, **more: Any) -> ToolResultReference:
    return using(place, lambda storage: storage.store_result(*given, **more))


def get(place: str | Tract, name: str) -> Any:
    return using(place, lambda storage: storage.get_result(name))


def metadata(place: str | Tract, name: str) -> ToolResultMetadata:
    found = using(place, lambda storage: storage.get_metadata(name))
    assert found is not None
    return found


# Storing and fetching


def test_a_result_is_kept_whole_and_shown_as_a_reference(db: str) -> None:
    result = {"lines": BIG.splitlines(), "truncated": False, "n": 1.5, "none": None}
    reference = store(db, "c1", "read_log", {"path": "a.log"}, result, WHEN)
    assert get(db, "c1") == result
    with open_tract(db, dialog="d", create=False) as tract:
        call, shown = tract.compile().messages
        assert call.tool_calls == (ToolCall("c1", "read_log", {"path": "a.log"}),)
        assert shown.tool_call_id == "c1"
        assert reference.summary in shown.text
        assert reference.truncated_preview in shown.text
        assert len(shown.text) < 2500 < reference.size_bytes
        newest = next(tract.log())
        assert newest.metadata["timestamp"] == WHEN.isoformat()
        assert newest.form == Form.REFERENCE
        assert tract.fsck().ok


def test_the_envelope_is_that_of_the_design(db: str) -> None:
    reference = store(db, "call_abc123", "read_file", {"path": "m.py"}, BIG)
    assert reference.to_dict() == {
        "tool_call_id": "call_abc123",
        "tool_name": "read_file",
        "status": "success",
        "metadata": {
            "size_bytes": reference.size_bytes,
            "summary": reference.summary,
            "truncated_preview": reference.truncated_preview,
        },
        "result_ref": {
            "storage_type": "tool_results",
            "dialog_id": "d",
            "tool_call_id": "call_abc123",
        },
    }
    assert list(reference.to_dict()) == [
        *("tool_call_id", "tool_name", "status", "metadata", "result_ref")
    ]
    assert reference.size_bytes == len(BIG)
    assert BIG.startswith(reference.truncated_preview[:100])
    assert is_reference(reference.to_dict())


def test_a_call_that_waits_is_answered_not_repeated(db: str) -> None:
    with open_tract(db, dialog="d") as tract:
        tract.user("look")
        calls = [ToolCall("c1", "grep", {"p": "x"}), ToolCall("c2", "ls", {})]
        tract.assistant("both", tool_calls=calls)
        store(tract, "c2", "ls", {}, "a.py")
        store(tract, "c1", "grep", {"p": "x"}, "a.py:1:x")
        assert [turn.tool_names for turn in tract.find_tool_turns()] == [["grep", "ls"]]
        assert len(tract.find_tool_turns()[0].results) == 2
        store(tract, "c3", "ls", {"path": "b"}, "c.py")  # nobody called it
        assert [turn.tool_names for turn in tract.find_tool_turns()] == [["grep", "ls"], ["ls"]]


def test_reused_ids_are_numbered(db: str) -> None:
    references = [store(db, "call_0", "ls", {"n": n}, f"result {n}") for n in range(3)]
    names = [reference.tool_call_id for reference in references]
    assert names == ["call_0", "call_0#2", "call_0#3"]
    assert [get(db, name) for name in names] == ["result 0", "result 1", "result 2"]
    assert [reference.to_dict()["result_ref"]["tool_call_id"] for reference in references] == names
    listed = using(db, lambda storage: storage.list_results())
    assert [known.tool_call_id for known in listed] == names


def test_an_id_that_is_no_name_still_leads_to_its_result(db: str) -> None:
    for call_id in ("", "two words", "日本", "x#2"):
        reference = store(db, call_id, "ls", {}, f"of {call_id!r}")
        assert get(db, reference.tool_call_id) == f"of {call_id!r}"


def test_what_is_unknown_is_none(db: str) -> None:
    assert using(db, lambda storage: storage.get_result("c1")) is None
    assert using(db, lambda storage: storage.get_metadata("c1")) is None
    assert using(db, lambda storage: storage.list_results()) == []
    store(db, "c1", "ls", {}, "a")
    assert get(db, "c2") is None


def test_results_of_another_dialog_are_not_found(db: str) -> None:
    store(db, "c1", "ls", {}, "a")
    assert using(db, lambda storage: storage.get_result("c1"), "other") is None


@pytest.mark.parametrize(
    "result", [None, "", 0, False, [], {}, [None, 1.5, "ü\ud800\x00"], {"a": {"b": []}}, BIG]
)
def test_any_json_comes_back_as_it_was(db: str, result: Any) -> None:
    store(db, "c1", "any", {}, result)
    found = get(db, "c1")
    assert (found, type(found)) == (result, type(result))


@examples(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "", "a#2"]),
            st.recursive(
                st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
                max_leaves=8,
            ),
        ),
        max_size=8,
    )
)
def test_every_reference_leads_to_its_own_result(given: list[tuple[str, Any]]) -> None:
    async def act(storage: ToolResultsStorage) -> None:
        references = [
            await storage.store_result(call_id, "tool", {}, result) for call_id, result in given
        ]
        for reference, (_, result) in zip(references, given, strict=True):
            assert await storage.get_result(reference.tool_call_id) == result
        listed = await storage.list_results()
        assert [k.tool_call_id for k in listed] == [r.tool_call_id for r in references]
        assert len({r.tool_call_id for r in references}) == len(given)

    with open_tract() as tract:
        using(tract, act)
        assert all(len(turn.results) == 1 for turn in tract.find_tool_turns())


# Metadata


def test_metadata_tells_what_is_known(db: str) -> None:
    result = {"exit_code": 2, "stderr": "no such file\n" * 99}
    reference = store(db, "c1", "run", {"command": "ls x"}, result, WHEN)
    known = metadata(db, "c1")
    assert (known.tool_name, known.status, known.form) == ("run", "error", Form.REFERENCE)
    assert (known.timestamp, known.dialog_id) == (WHEN, "d")
    assert known.token_count > 0
    assert known.arguments == {"command": "ls x"}
    assert known.summary.startswith("run: ls x (exit ")
    for field in ("tool_call_id", "status", "size_bytes", "summary", "truncated_preview"):
        assert getattr(known, field) == getattr(reference, field)
    with open_tract(db, dialog="d") as tract:
        assert known.commit_hash == tract.head


@pytest.mark.parametrize("is_text", [False, True])
def test_arguments_are_cut_in_lists_and_whole_in_the_call(db: str, is_text: bool) -> None:
    whole = {"file_path": "a.py", "content": "x" * 5_000, "edits": [{"old": "y" * 300}], "n": 1}
    arguments = json.dumps(whole) if is_text else whole
    cut = {**whole, "content": "x" * 199 + "…", "edits": [{"old": "y" * 199 + "…"}]}
    with open_tract(db, dialog="d") as t:
        call = t.assistant(tool_calls=[ToolCall("c", "Write", arguments)])
        t.tool_result("c", "Write", "written")
        known = metadata(t, "c").arguments
        assert (json.loads(known) if is_text else known) == cut
        assert t.get_message(call).tool_calls[0].arguments == arguments


def test_an_error_can_be_said(db: str) -> None:
    assert store(db, "c1", "run", {}, "nothing", is_error=True).status == "error"
    assert store(db, "c2", "run", {}, "nothing").status == "success"
    with open_tract(db, dialog="d") as tract:
        assert [info.is_error for info in tract.find_tool_results()] == [True, False]


def test_without_a_timestamp_it_is_when_it_was_stored(db: str) -> None:
    before = datetime.now(UTC)
    store(db, "c1", "ls", {}, "a")
    known = metadata(db, "c1")
    assert known.timestamp is not None
    assert before - timedelta(seconds=1) <= known.timestamp <= datetime.now(UTC)


def test_metadata_of_others_is_no_timestamp(db: str) -> None:
    with open_tract(db, dialog="d") as tract:
        for number, said in enumerate(["soon", 7, None]):
            tract.tool_result(f"c{number}", "ls", "a", metadata={"timestamp": said})
        stored = {info.commit_hash: info.created_at for info in tract.log()}
        for known in using(tract, lambda storage: storage.list_results()):
            assert known.timestamp == stored[known.commit_hash]


FAILED_RUN = (
    "".join(f"tests/test_mod{n}.py ......                 [ {n % 100}%]\n" for n in range(300))
    + "=================================== FAILURES ===================================\n"
    "E       assert 7 == 8\ntests/test_cart.py:31: AssertionError\n"
    "FAILED tests/test_cart.py::test_total_price - assert 7 == 8\n"
    "======================== 1 failed, 121 passed in 2.31s =========================\n"
)
CALLS = {"run": {"command": "pytest -q"}, "read": {"command": "cat log.txt"}}


@pytest.mark.parametrize("first", CALLS)
def test_one_content_is_told_as_what_each_call_asked_for(db: str, first: str) -> None:
    """A failed run is no failure to read its log, whichever was written first, and by whom."""
    with open_tract(db, dialog="other") as other:
        other.session.commit({"role": "user", "content": "go"})
        store(other, first, "Bash", CALLS[first], FAILED_RUN, None)
    seen = []
    for order in (("run", "read"), ("read", "run")):
        with open_tract(db, dialog="-".join(order)) as t:
            for name in order:
                t.assistant(tool_calls=[ToolCall(name, "Bash", CALLS[name])])
                t.tool_result(name, "Bash", FAILED_RUN, form=Form.REFERENCE)
            listed = {info.id: info.status for info in t.list_tool_results()}
            assert listed == {"run": "error", "read": "success"}
            known = using(t, lambda storage: storage.list_results(), t.dialog)
            assert {facts.tool_call_id: facts.status for facts in known} == listed
        with open_tract(db, dialog="-".join(order)) as t:  # as another process sees it
            context = t.compile()
            results = {m.tool_call_id: m.text for m in context.messages if m.role == "tool"}
            assert " · error · " in results["run"]
            assert " · success · " in results["read"]
            seen.append((results, context.token_count))
    assert seen[0] == seen[1]


@pytest.mark.database
def test_metadata_never_loads_a_large_result(db: str) -> None:
    """What cannot be read any more is still known."""
    store(db, "c1", "read", {}, BIG + BIG)
    with open_tract(db, dialog="d") as tract:
        tract.session.store.driver.run(
            "UPDATE blobs SET payload = ? WHERE json_size > 9999", (b"?",)
        )
        known = metadata(tract, "c1")
        assert "5999 lines" in known.summary
        assert using(tract, lambda storage: storage.list_results()) == [known]
        tract.session.store.driver.run(
            "UPDATE blobs SET gist = NULL"
        )  # as an older release wrote it
        known = metadata(tract, "c1")
        assert known.summary.startswith("read (line 0 of a log")
        assert using(tract, lambda storage: storage.list_results()) == [known]
        with pytest.raises(CorruptError):
            get(tract, "c1")


def test_an_edit_is_the_new_truth(db: str) -> None:
    with open_tract(db, dialog="d") as tract:
        store(tract, "c1", "read", {}, "the password is 1234")
        tract.tool_result("c1", "read", "redacted", edit=tract.find_tool_results()[0])
        assert get(tract, "c1") == "redacted"
        assert metadata(tract, "c1").summary == "read (redacted)"
        assert metadata(tract, "c1").form == Form.FULL


def test_a_hidden_result_is_listed_as_such(db: str) -> None:
    with open_tract(db, dialog="d") as tract:
        store(tract, "c1", "read", {}, "a")
        tract.annotate(tract.find_tool_results()[0], "skip")
        assert metadata(tract, "c1").form is None
        assert get(tract, "c1") == "a"


def test_a_collapsed_result_is_told_as_the_model_sees_it(db: str) -> None:
    with open_tract(db, dialog="d") as tract:
        store(tract, "c1", "read", {}, BIG)
        tract.reshape({tract.find_tool_results()[0].commit_hash: "collapsed"})
        assert metadata(tract, "c1").form == Form.REFERENCE  # nothing follows it yet
        tract.user("go on")
        assert metadata(tract, "c1").form == Form.COLLAPSED
        assert using(tract, lambda storage: storage.list_results()) == [metadata(tract, "c1")]
        assert get(tract, "c1") == BIG


def test_what_was_forgotten_is_no_result_that_never_was(db: str) -> None:
    store(db, "c1", "read", {}, BIG)
    with open_tract(db, dialog="d") as tract:
        tract.forget(tract.find_tool_results()[0])
        with pytest.raises(ForgottenError):
            get(tract, "c1")
        known = metadata(tract, "c1")
        assert (known.tool_name, known.summary) == ("read", "read ([forgotten])")
        assert known.truncated_preview == "[forgotten]"


# Refusing


def test_what_cannot_be_stored_leaves_nothing_behind(db: str) -> None:
    with open_tract(db, dialog="d") as tract:
        wrong: list[tuple[Any, ...]] = [
            ("c1", "ls", {}, {"set": {1}}),
            ("c1", "ls", {"bad": float("nan")}, "a"),
            (7, "ls", {}, "a"),
            ("c1", "ls", {}, "a", "yesterday"),
        ]
        for given in wrong:
            with pytest.raises((InputError, NotJsonError)):
                store(tract, *given)
        assert tract.head is None


def test_a_name_that_is_none() -> None:
    with pytest.raises(InputError):
        ToolResultsStorage(":memory:", "")


def test_a_closed_storage_is_closed(db: str) -> None:
    async def act() -> None:
        for storage in (ToolResultsStorage(db, "d"), ToolResultsStorage(db, "d")):
            await storage.store_result("c1", "ls", {}, "a")
            await storage.close()
            await storage.close()
            with pytest.raises(StorageError, match="closed"):
                await storage.get_result("c1")
        unused = ToolResultsStorage(db, "d")
        await unused.close()
        with pytest.raises(StorageError, match="closed"):
            await unused.get_result("c1")

    asyncio.run(act())


def test_a_tract_that_was_given_stays_open(db: str) -> None:
    with open_tract(db, dialog="mine") as tract:
        store(tract, "c1", "ls", {}, "a")  # into dialog "d" of the same database
        assert get(tract, "c1") == "a"
        tract.user("still here")
        assert len(list(tract.log())) == 1
        assert [info.dialog for info in tract.dialogs()] == ["d", "mine"]


def test_inside_a_batch_it_refuses_where_it_would_wait_forever(db: str) -> None:
    async def act() -> None:
        with open_tract(db, dialog="d") as tract:
            storage = ToolResultsStorage(tract, "d")
            with tract.batch():
                tract.user("look")
                with pytest.raises(ConflictError):
                    await storage.get_result("c1")
            assert await storage.get_result("c1") is None

    asyncio.run(act())


# At the same time


def test_many_tasks_store_and_fetch_at_once(db: str) -> None:
    async def act(storage: ToolResultsStorage) -> None:
        async def one(number: int) -> None:
            result = {"number": number, "text": BIG[: number * 50]}
            reference = await storage.store_result(f"c{number}", "read", {"n": number}, result)
            assert await storage.get_result(reference.tool_call_id) == result

        await asyncio.gather(*map(one, range(40)))
        assert len(await storage.list_results()) == 40

    with open_tract(db, dialog="d", durability="relaxed") as tract:
        using(tract, act)
        turns = tract.find_tool_turns()
        assert len(turns) == 40
        assert all(len(turn.results) == 1 for turn in turns)
        assert tract.fsck().ok


def test_storages_of_one_database_do_not_disturb_each_other(db: str) -> None:
    async def act() -> list[str]:
        async with ToolResultsStorage(db, "d") as one, ToolResultsStorage(db, "d") as other:
            stored = [
                storage.store_result("same", "read", {}, f"{number}")
                for number, storage in enumerate([one, other] * 10)
            ]
            references = await asyncio.gather(*stored)
            found = [await one.get_result(ref.tool_call_id) for ref in references]
            assert found == [str(number) for number in range(20)]
            return sorted(ref.tool_call_id for ref in references)

    assert asyncio.run(act()) == sorted(["same", *(f"same#{n}" for n in range(2, 21))])


def test_the_event_loop_goes_on_while_the_database_is_busy(db: str) -> None:
    async def act() -> None:
        async with ToolResultsStorage(db, "d") as storage:
            await storage.store_result("c1", "ls", {}, "a")
            with open_tract(db, dialog="d") as other:
                with other.batch():
                    other.user("this takes a while")
                    stored = asyncio.create_task(storage.store_result("c2", "ls", {}, "b"))
                    for _ in range(20):  # a loop that waits for the database never comes back
                        await asyncio.sleep(0.01)
                    assert not stored.done()
                await stored

    asyncio.run(act())


def test_one_storage_serves_one_loop_after_another(db: str) -> None:
    storage = ToolResultsStorage(db, "d")

    async def both(number: int) -> list[Any]:
        await asyncio.gather(
            *(storage.store_result(f"{number}-{n}", "ls", {}, n) for n in range(5))
        )
        return await asyncio.gather(*(storage.get_result(f"{number}-{n}") for n in range(5)))

    assert [asyncio.run(both(number)) for number in range(2)] == [list(range(5))] * 2
    asyncio.run(storage.close())


def test_a_call_that_is_cancelled_does_no_harm(db: str) -> None:
    async def act(storage: ToolResultsStorage) -> None:
        tasks = [
            asyncio.create_task(storage.store_result(f"c{n}", "read", {}, BIG)) for n in range(6)
        ]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        for answer in done[1::2]:
            assert isinstance(answer, ToolResultReference)
            assert await storage.get_result(answer.tool_call_id) == BIG

    using(db, act)
    with open_tract(db, dialog="d") as tract:
        assert all(len(turn.results) == 1 for turn in tract.find_tool_turns())
        assert tract.fsck().ok


# Older dialogs


def dialog_with(tract: Tract, *results: Any, tool: str = "read") -> list[str]:
    """Calls with their results, shown whole."""
    hashes = []
    for number, result in enumerate(results):
        tract.user(f"look at {number}")
        tract.assistant(tool_calls=[ToolCall(f"c{number}", tool, {"n": number})])
        hashes.append(tract.tool_result(f"c{number}", tool, result).commit_hash)
    return hashes


def seen(tract: Tract) -> list[Form | None]:
    return [known.form for known in module.list_results(tract)]


def test_large_results_become_references(db: str) -> None:
    with open_tract(db) as tract:
        dialog_with(tract, BIG, "small", BIG + "!")
        before = sum(tract.compile().message_tokens)
        report = migrate_results(tract)
        assert seen(tract) == [Form.REFERENCE, Form.FULL, Form.REFERENCE]
        assert (report.results, report.migrated, report.small) == (3, 2, 1)
        assert len(report.commits) == 1
        after = sum(tract.compile().message_tokens)
        assert before - after == report.tokens_before - report.tokens_after > 10_000
        assert get(tract, "c0") is None  # of dialog "d"
        assert using(tract, lambda storage: storage.get_result("c2"), "default") == BIG + "!"
        tract.restore(report.commits[0])
        assert sum(tract.compile().message_tokens) == before


def test_a_second_run_changes_nothing(db: str) -> None:
    with open_tract(db) as tract:
        dialog_with(tract, BIG, "small")
        migrate_results(tract, inline_tokens=10)
        head = tract.head
        report = migrate_results(tract, inline_tokens=10)
        assert tract.head == head
        assert (report.migrated, report.already, report.commits) == (0, 1, [])
    with open_tract(db) as tract:
        assert migrate_results(tract, inline_tokens=10) == report
        assert tract.head == head


def test_a_run_that_is_stopped_goes_on_with_the_next(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        if done == 2:
            raise KeyboardInterrupt

    told: list[tuple[int, int]] = []
    with open_tract(db) as tract:
        dialog_with(tract, *(f"{n}{BIG}" for n in range(5)))
        with pytest.raises(KeyboardInterrupt):
            migrate_results(tract, progress=stop)
        assert seen(tract) == [Form.REFERENCE] * 2 + [Form.FULL] * 3
    with open_tract(db) as tract:
        again: list[tuple[int, int]] = []
        report = migrate_results(tract, progress=lambda *numbers: again.append(numbers))
        assert seen(tract) == [Form.REFERENCE] * 5
        assert (report.migrated, report.already, len(report.commits)) == (3, 2, 2)
        assert (told, again) == ([(2, 5)], [(2, 3), (3, 3)])
        assert tract.fsck().ok


def test_what_others_do_meanwhile_is_respected(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 1)
    with open_tract(db) as tract, open_tract(db) as other:
        _, second, third = dialog_with(tract, BIG, BIG + "a", BIG + "b")

        def meanwhile(done: int, total: int) -> None:
            if done == 1:
                other.annotate(second, "pinned")
                other.tool_result("c2", "read", "short", edit=third)

        report = migrate_results(tract, progress=meanwhile)
        assert (report.migrated, report.already, len(report.commits)) == (1, 2, 1)
        assert seen(tract) == [Form.REFERENCE, Form.FULL, Form.FULL]


def test_what_is_fixed_or_decided_is_left_alone(db: str) -> None:
    with open_tract(db) as tract:
        pinned, told, whole, hidden = dialog_with(tract, BIG, BIG + "a", BIG + "b", BIG + "c")
        tract.annotate(pinned, "pinned")
        tract.reshape({told: "summary", whole: "full"})
        tract.annotate(hidden, "skip")
        tract.assistant(tool_calls=[ToolCall("g", "get_tool_result", {"id": "c0"})])
        tract.tool_result("g", "get_tool_result", BIG)
        head = tract.head
        report = migrate_results(tract)
        assert (report.results, report.migrated) == (4, 0)
        assert (report.fixed, report.already) == (2, 2)
        assert tract.head == head


def test_an_edited_result_is_migrated_as_edited(db: str) -> None:
    with open_tract(db) as tract:
        (first,) = dialog_with(tract, BIG)
        tract.tool_result("c0", "read", BIG.replace("log", "LOG"), edit=first)
        assert migrate_results(tract).migrated == 1
        assert seen(tract) == [Form.REFERENCE]
        assert "LOG" in tract.get_tool_result("c0", lines="7-7")
        assert migrate_results(tract).migrated == 0


def test_the_settings_of_the_dialog_hold(db: str) -> None:
    with open_tract(db) as tract:
        dialog_with(tract, "word " * 200, tool="grep")
        dialog_with(tract, BIG, tool="keep")
        dialog_with(tract, "word " * 200, tool="ls")
        tract.configure_results(
            inline_tokens=50, preview_tokens=5, keep=["keep"], tools={"ls": {"inline_tokens": 999}}
        )
        assert migrate_results(tract).migrated == 1
        assert seen(tract) == [Form.REFERENCE, Form.FULL, Form.FULL]
        assert migrate_results(tract, inline_tokens=0).migrated == 0
        assert len(module.list_results(tract)[0].truncated_preview) <= 20


def test_a_limit_that_was_taken_back_is_no_limit(db: str) -> None:
    with open_tract(db) as tract:
        tract.configure_results(inline_tokens=5)
        tract.configure_results()
        dialog_with(tract, "word " * 200, BIG)
        migrate_results(tract)
        assert seen(tract) == [Form.FULL, Form.REFERENCE]


@pytest.mark.database
def test_results_of_an_older_release_are_looked_at_once(db: str) -> None:
    with open_tract(db) as tract:
        dialog_with(tract, BIG)
        tract.session.store.driver.run("UPDATE blobs SET gist = NULL")
        migrate_results(tract)
        [known] = module.list_results(tract)
        assert "3000 lines" in known.summary


@pytest.mark.parametrize("wrong", [-1, "9", 1.5])
def test_a_limit_that_is_none(wrong: Any) -> None:
    with open_tract() as tract, pytest.raises(InputError):
        migrate_results(tract, inline_tokens=wrong)


ENVELOPE = ToolResultReference("c9", "read", "success", 9, "s", "p " * 500, "old").to_dict()


@pytest.mark.parametrize(
    "result",
    [
        ENVELOPE,
        json.dumps(ENVELOPE),
        {"type": "tool", "tool_call_id": "c9", "content": json.dumps(ENVELOPE)},
        {"type": "tool", "data": {"tool_call_id": "c9", "content": ENVELOPE}},
    ],
)
def test_references_stay_references(db: str, result: Any) -> None:
    with open_tract(db) as tract:
        dialog_with(tract, result)
        report = migrate_results(tract, inline_tokens=20)
        assert (report.migrated, report.already) == (0, 1)
        assert seen(tract) == [Form.FULL]


@pytest.mark.parametrize(
    "result",
    [
        {"type": "tool", "tool_call_id": "c9", "content": BIG},
        {"tool_call_id": "c9", "tool_name": "read", "status": "success", "result": {"text": BIG}},
        {"result_ref": {"storage_type": "elsewhere"}, "text": BIG},
        "tool_results: " + BIG,
    ],
)
def test_what_only_looks_like_a_reference_is_a_result(db: str, result: Any) -> None:
    with open_tract(db) as tract:
        dialog_with(tract, result)
        assert migrate_results(tract).migrated == 1
        assert using(tract, lambda storage: storage.get_result("c0"), "default") == result


# Files


def langchain(wrapped: Callable[[str, dict[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
    """One history in one of the ways in which LangChain writes it."""
    calls = [{"name": "read", "args": {"path": "a"}, "id": "c1", "type": "tool_call"}]
    result = {"content": BIG, "name": "read", "tool_call_id": "c1", "status": "error"}
    block = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}
    return [
        wrapped("system", {"content": "Be brief."}),
        wrapped("human", {"content": "Look.", "id": None}),
        wrapped("ai", {"content": "Yes.", "tool_calls": calls}),
        wrapped("tool", result),
        wrapped("ai", {"content": [{"type": "text", "text": "Yes."}, block], "tool_calls": calls}),
        wrapped("tool", {**result, "content": json.dumps(ENVELOPE), "status": "success"}),
        wrapped("ai", {"content": "Done.", "tool_calls": []}),
    ]


def constructor(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    name = {"ai": "AI"}.get(kind, kind.title()) + "Message"
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {**body, "type": kind}}


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda kind, body: {"type": kind, "data": {**body, "type": kind}},
        lambda kind, body: {"type": kind, **body},
        constructor,
    ],
    ids=["data", "flat", "constructor"],
)
def test_a_langchain_history_is_recorded(db: str, wrapped: Any) -> None:
    with open_tract(db) as tract:
        assert len(import_messages(tract, langchain(wrapped))) == 7
        messages = tract.compile().messages
        roles = ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
        assert [message.role for message in messages] == roles
        for said in (messages[2], messages[4]):
            assert said.text == "Yes."
            [call] = said.tool_calls
            assert (call.id, call.name, call.arguments) == ("c1", "read", {"path": "a"})
        assert (messages[3].content, messages[3].is_error) == (BIG, True)
        assert migrate_results(tract, inline_tokens=30).migrated == 1
        assert seen(tract) == [Form.REFERENCE, Form.FULL]
        head = tract.head
        assert import_messages(tract, langchain(wrapped)) == []
        assert migrate_results(tract, inline_tokens=30).migrated == 0
        assert (tract.head, tract.current_branch) == (head, "main")


def test_bare_results_are_recorded(db: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "c2"}]},
        {"tool_call_id": "c1", "tool_name": "read", "status": "error", "result": {"text": "no"}},
        {**ENVELOPE, "tool_call_id": "c2"},
    ]
    with open_tract(db) as tract:
        import_messages(tract, {"messages": history})
        failed, reference = tract.compile().messages[2:]
        assert (failed.content, failed.name, failed.is_error) == ({"text": "no"}, "read", True)
        assert is_reference(reference.content)


@pytest.mark.parametrize("wrong", [7, "text", None, [7], [{"poem": "x"}], {"a": 1}])
def test_what_is_no_history(wrong: Any) -> None:
    with open_tract() as tract, pytest.raises(InputError):
        import_messages(tract, wrong)


# The command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ok("init")
    (tmp_path / "old.json").write_text(json.dumps(langchain(constructor)))
    return tmp_path


def test_migrating_a_file(here: Path) -> None:
    out = ok("migrate-results", "old.json")
    assert "7 commits recorded" in out
    assert "1 result of 2 now shown as references" in out
    again = ok_json("migrate-results", "old.json")
    assert (again["recorded"], again["migrated"], again["commits"]) == (0, 0, [])
    shown = json.loads(ok("compile", "--json"))
    assert "get_tool_result" in json.dumps(shown)


def test_a_file_that_differs_goes_on_on_a_branch(here: Path) -> None:
    ok("migrate-results", "old.json")
    history = langchain(constructor)
    history[-1]["kwargs"]["content"] = "Done otherwise."
    result = invoke("migrate-results", "-", stdin=json.dumps(history))
    assert result.exit_code == 0
    assert "now on new branch main-2" in result.output
    assert "1 commit recorded" in result.output


def test_migrating_a_dialog_that_is_there(here: Path) -> None:
    with Tract.open(here / ".tract" / "tract.db") as tract:
        dialog_with(tract, BIG, "word " * 200)
    report = ok_json("migrate-results", "--inline-tokens", "1000000")
    assert report["migrated"] == 0
    report = ok_json("migrate-results", "--inline-tokens", "20")
    assert (report["migrated"], report["recorded"]) == (2, 0)
    assert report["tokens_before"] > report["tokens_after"]
    undone = ok_json("restore", report["commits"][0])
    assert undone["operation"] == "mark"


def test_there_is_no_bar_where_nobody_looks(here: Path) -> None:
    result = invoke("migrate-results", "old.json")
    assert "%" not in result.output
    assert "[##" not in result.output


def test_there_is_a_bar_on_a_terminal(here: Path) -> None:
    with on_a_terminal("migrate-results", "old.json") as (process, ours):
        text = read_until(ours, None)
        assert process.wait(60) == 0, text
    assert "100%" in text
    with on_a_terminal("migrate-results", "old.json") as (process, ours):
        text = read_until(ours, None)
        assert process.wait(60) == 0, text
    assert "%" not in text


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("missing.json",), 2),
        (("bad.json",), 2),
        (("text.json",), 2),
        (("--inline-tokens", "-1"), 2),
        ((), 3),
    ],
)
def test_what_cannot_be_migrated(here: Path, args: tuple[str, ...], code: int) -> None:
    (here / "bad.json").write_text("{")
    (here / "text.json").write_text('"text"')
    assert invoke("migrate-results", *args).exit_code == code


def test_the_command_imports_nothing_heavy(here: Path) -> None:
    modules = imported_by("migrate-results", "old.json")
    assert {name.split(".")[0] for name in modules} & HEAVY <= {"splintr"}  # it counts tokens
