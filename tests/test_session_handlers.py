"""Handlers: who looks at new results, what they decide, and what happens when they fail."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest

from tests.serving import open_tract
from tests.validity import violations
from tract import (
    CommitInfo,
    ConflictError,
    Form,
    HandlerError,
    InputError,
    LLMAnswerError,
    PendingToolResult,
    Priority,
    Tract,
)
from tract.llm import ScriptedLLM
from tract.session.handlers import Summarization, summarization

ON_SERVERS = True

BIG = "".join(f"src/mod{n % 7}.py:{n}: def function_{n}(): pass\n" for n in range(300))
LEFT_OUT = "[This result was left out.]"


@pytest.fixture
def t() -> Iterator[Tract]:
    with Tract.open() as opened:
        opened.user("go")
        yield opened
        assert opened.fsck().ok


def call(t: Tract, *ids: str, name: str = "grep") -> CommitInfo:
    return t.assistant(tool_calls=[{"id": i, "name": name, "arguments": {}} for i in ids])


def turn(
    t: Tract, call_id: str = "c", content: Any = BIG, *, name: str = "grep", **options: Any
) -> CommitInfo:
    """A call and its result."""
    call(t, call_id, name=name)
    info: CommitInfo = t.tool_result(call_id, name, content, **options)
    return info


def seen(t: Tract) -> list[str]:
    """The results as the model sees them, in a request that every provider takes."""
    context = t.compile()
    assert violations(context) == []
    return [message.text for message in context.messages if message.role == "tool"]


def failures(t: Tract) -> list[type[BaseException]]:
    """What went wrong in handlers, each by its cause."""
    return [type(error.__cause__ or error) for error in t.handler_errors]


def heard(t: Tract) -> list[str]:
    """The ids of results that a handler is told of from here on."""
    ids: list[str] = []
    t.on("tool_result", lambda pending: ids.append(pending.tool_call_id or ""))
    return ids


# What a handler is given


def test_a_handler_sees_a_result_that_is_committed_already(t: Tract) -> None:
    found: list[Any] = []

    def handler(pending: PendingToolResult) -> None:
        assert pending.tract is t
        assert t.head == pending.commit.commit_hash
        assert seen(t) == [BIG]
        found.extend([pending.tool_name, pending.tool_call_id, pending.token_count])
        found.extend([pending.content, pending.original_content, pending.status])

    t.on("tool_result", handler)
    info = turn(t)
    assert found == ["grep", "c", info.token_count, BIG, BIG, "pending"]
    assert not t.handler_errors
    assert t.head == info.commit_hash


def test_json_is_given_as_it_was(t: Tract) -> None:
    found: list[Any] = []
    t.on("tool_result", lambda pending: found.append(pending.original_content))
    turn(t, content={"rows": [1, None, "é"]})
    assert found == [{"rows": [1, None, "é"]}]


def test_the_name_is_that_of_the_call(t: Tract) -> None:
    names: list[Any] = []
    t.on("tool_result", lambda pending: names.append(pending.tool_name))
    call(t, "c", name="ls")
    t.commit({"role": "tool", "tool_call_id": "c", "content": "x"})
    assert names == ["ls"]


def test_a_handler_runs_with_the_variables_of_its_caller(t: Tract) -> None:
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("mine")
    found: list[str] = []
    t.on("tool_result", lambda _: found.append(variable.get()))
    turn(t)
    assert found == ["mine"]


# Decisions

CLOSED: dict[str, Callable[[PendingToolResult], object]] = {
    "approve": lambda p: p.approve(),
    "reject": lambda p: p.reject(),
}
LATER: dict[str, Callable[[PendingToolResult], object]] = {
    **CLOSED,
    "edit": lambda p: p.edit_result("short"),
    "summarize": lambda p: p.summarize(),
    "edit again": lambda p: p.edit_result("shorter"),
    "edit to nothing": lambda p: p.edit_result(""),
}
DECISIONS = [
    ([], BIG, "approved"),
    (["approve"], BIG, "approved"),
    (["edit"], "short", "approved"),
    (["edit to nothing"], "", "approved"),
    (["reject"], LEFT_OUT, "rejected"),
    (["edit", "edit again"], "shorter", "approved"),
    (["edit", "approve"], "short", "approved"),
    (["edit", "reject"], LEFT_OUT, "rejected"),
    (["summarize", "edit"], "short", "approved"),
]


@pytest.mark.parametrize("form", [None, "reference"])
@pytest.mark.parametrize(("decisions", "shown", "status"), DECISIONS)
def test_decisions(
    t: Tract, decisions: list[str], shown: str, status: str, form: str | None
) -> None:
    pendings: list[PendingToolResult] = []

    def handler(pending: PendingToolResult) -> None:
        pendings.append(pending)
        for decision in decisions:
            LATER[decision](pending)

    t.on("tool_result", handler)
    info = turn(t, form=form)
    assert not t.handler_errors
    if not (form and shown == BIG):
        assert seen(t) == [shown]
    assert pendings[0].status == status
    assert t.get_content(info) == pendings[0].original_content == BIG
    if t.head != info.commit_hash:
        t.restore(info)
    assert t.compile(load_tool_results=True).messages[-1].text == BIG


def test_an_edit_is_an_edit(t: Tract) -> None:
    t.on("tool_result", lambda pending: pending.edit_result("short"))
    info = turn(t, is_error=True, metadata={"exit": 1})
    assert [c.commit_hash for c in t.edit_history(info)] == [info.commit_hash, t.head]
    message, newest = t.compile().messages[-1], next(t.log())
    assert (message.name, message.is_error) == ("grep", True)
    assert newest.metadata["exit"] == 1


def test_a_summary_is_a_form_and_the_original_can_be_fetched(t: Tract) -> None:
    t.llm = ScriptedLLM(["three hits"])
    contents: list[Any] = []

    def handler(pending: PendingToolResult) -> None:
        pending.summarize(instructions="count them", target_tokens=50)
        contents.extend([pending.status, pending.content, pending.original_content])
        pending.approve()

    t.on("tool_result", handler)
    info = turn(t)
    head = '[summary of grep; call get_tool_result(id="c") for the full result]'
    assert seen(t) == [f"{head}\nthree hits"]
    assert contents == ["summarized", "three hits", BIG]
    assert t.list_tool_results()[0].form == Form.SUMMARY
    assert "function_7()" in t.get_tool_result("c", lines="8-8")
    assert next(t.log()).metadata["summary"]["made_by"] == "scripted"
    assert t.compile(load_tool_results=True).messages[-1].text == BIG
    assert t.get_content(info) == BIG


def test_a_rejection_keeps_its_reason(t: Tract) -> None:
    t.on("tool_result", lambda pending: pending.reject("outdated"))
    info = turn(t)
    mark = next(t.log())
    assert mark.message == "outdated"
    assert mark.marks[0].target == info.commit_hash
    assert seen(t) == [LEFT_OUT]
    t.restore(mark)
    assert seen(t) == [BIG]
    assert t.get_content(info) == BIG


@pytest.mark.parametrize("second", LATER)
@pytest.mark.parametrize("first", CLOSED)
def test_after_the_last_word_nothing_can_be_decided(t: Tract, first: str, second: str) -> None:
    def handler(pending: PendingToolResult) -> None:
        CLOSED[first](pending)
        if (first, second) == ("reject", "approve"):
            pending.approve()  # which confirms it
            return
        with pytest.raises(ConflictError, match="too late"):
            LATER[second](pending)

    t.on("tool_result", handler)
    turn(t)
    assert not t.handler_errors
    assert seen(t) == [BIG if first == "approve" else LEFT_OUT]


@pytest.mark.parametrize("decision", LATER)
def test_a_decision_after_the_handler_is_too_late(t: Tract, decision: str) -> None:
    kept: list[PendingToolResult] = []
    t.on("tool_result", kept.append)
    turn(t)
    head = t.head
    with pytest.raises(ConflictError, match="is approved already"):
        LATER[decision](kept[0])
    assert t.head == head


@pytest.mark.parametrize("given", [None, 5, b"x", ["x"]])
def test_an_edit_is_a_text(t: Tract, given: Any) -> None:
    t.on("tool_result", lambda pending: pending.edit_result(given))
    turn(t)
    assert failures(t) == [InputError]
    assert seen(t) == [BIG]


# When a handler runs


def test_after_the_outermost_batch_in_order(t: Tract) -> None:
    ids = heard(t)
    with t.batch():
        call(t, "a", "b")
        with t.batch():
            t.tool_result("a", "grep", "1")
        t.tool_result("b", "grep", "2")
        assert ids == []
    assert ids == ["a", "b"]


def test_a_handler_may_use_what_came_after_the_result(t: Tract) -> None:
    t.on("tool_result", lambda pending: pending.edit_result(str(len(t.compile().messages))))
    with t.batch():
        turn(t)
        t.assistant("done")
    assert seen(t) == ["4"]
    assert t.compile().messages[-1].text == "done"


class LeftError(Exception):
    pass


def test_a_batch_that_fails_has_no_results(t: Tract) -> None:
    ids = heard(t)
    with suppress(LeftError), t.batch():
        turn(t, "a")
        raise LeftError
    assert ids == []
    turn(t, "b")
    assert ids == ["b"]


def test_an_inner_batch_that_fails_has_no_results(t: Tract) -> None:
    ids = heard(t)
    with t.batch():
        call(t, "a", "b")
        t.tool_result("a", "grep", "1")
        with suppress(LeftError), t.batch():
            t.tool_result("b", "grep", "2")
            raise LeftError
    assert ids == ["a"]


def test_a_handler_of_a_batch_that_fails_is_not_there(t: Tract) -> None:
    ids = heard(t)
    with suppress(LeftError), t.batch():
        t.off("tool_result")
        t.configure_tool_summarization({"grep": "short"})
        raise LeftError
    turn(t)
    assert ids == ["c"]
    assert seen(t) == [BIG]


def test_several_results_in_one_message(t: Tract) -> None:
    call(t, "a", "b")
    t.on("tool_result", lambda p: p.edit_result(f"edited {p.tool_call_id}"))
    blocks = [{"type": "tool_result", "tool_use_id": i, "content": BIG} for i in "ab"]
    t.commit({"role": "user", "content": [*blocks, {"type": "text", "text": "go on"}]})
    assert seen(t) == ["edited a", "edited b"]
    assert t.compile().messages[-1].text == "go on"


def wire(*ids: str) -> list[dict[str, Any]]:
    """A history as an agent keeps it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for i in ids:
        function = {"name": "grep", "arguments": "{}"}
        calls = [{"id": i, "type": "function", "function": function}]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": i, "content": f"{i}: {BIG}"},
        ]
    return messages


@pytest.mark.parametrize("decision", ["edit", "reject", "summarize"])
def test_recorded_results_are_looked_at_once(t: Tract, decision: str) -> None:
    ids: list[Any] = []

    def handler(pending: PendingToolResult) -> None:
        ids.append(pending.tool_call_id)
        LATER[decision](pending)

    t.on("tool_result", handler)
    assert len(t.record(wire("a"))) == 2
    assert len(t.record(wire("a", "b"))) == 2
    assert t.record(wire("a", "b")) == []
    assert ids == ["a", "b"]
    assert len(seen(t)) == 2
    assert not any(BIG in text for text in seen(t))
    assert t.current_branch == "main"


def test_an_edit_is_no_new_result(t: Tract) -> None:
    info = turn(t)
    ids = heard(t)
    t.tool_result("c", "grep", "edited", edit=info)
    t.commit({"role": "tool", "tool_call_id": "c", "content": "again"}, edit=info)
    t.reshape({info.commit_hash: Form.REFERENCE})
    t.annotate(info, Priority.SKIP)
    t.restore(info)
    assert ids == []


def test_a_retry_is_no_new_result(t: Tract) -> None:
    asked = call(t, "c")
    t.on("tool_result", lambda pending: pending.edit_result("short"))
    info = t.tool_result("c", "grep", BIG, parent=asked)
    again = t.tool_result("c", "grep", BIG, parent=asked)
    assert again.commit_hash == info.commit_hash
    assert len(t.edit_history(info)) == 2


def test_fetched_parts_are_left_alone(t: Tract) -> None:
    turn(t, form="reference")
    ids = heard(t)
    call(t, "f", name="get_tool_result")
    t.answer({"id": "f", "name": "get_tool_result", "arguments": {"id": "c", "lines": "1-2"}})
    call(t, "g", name="get_tool_result")
    t.answer({"id": "g", "name": "get_tool_result", "arguments": {"id": "nobody"}})
    assert ids == []
    assert "function_0" in seen(t)[1]


def test_other_messages_are_left_alone(t: Tract) -> None:
    ids = heard(t)
    t.system("be brief")
    t.user("more")
    t.assistant("yes")
    assert ids == []


# Which handler


def test_the_last_one_wins(t: Tract) -> None:
    first, second = heard(t), heard(t)
    turn(t)
    assert (first, second) == ([], ["c"])


def test_off(t: Tract) -> None:
    ids = heard(t)
    t.off("tool_result")
    t.off("tool_result")
    turn(t)
    assert ids == []


def test_a_handler_takes_the_place_of_the_configuration_and_back(t: Tract) -> None:
    t.configure_tool_summarization({"grep": "short"})
    ids = heard(t)
    turn(t, "a")
    assert (ids, seen(t)) == (["a"], [BIG])
    t.configure_tool_summarization({"grep": "short"})
    turn(t, "b")
    assert ids == ["a"]
    assert seen(t)[1].startswith("[summary of grep;")


@pytest.mark.parametrize("event", ["tool_call", "", None, 5, ["tool_result"]])
def test_an_unknown_event(t: Tract, event: Any) -> None:
    with pytest.raises(InputError, match="there is tool_result"):
        t.on(event, print)
    with pytest.raises(InputError, match="there is tool_result"):
        t.off(event)


async def waited_for(_: PendingToolResult) -> None:
    pass


@pytest.mark.parametrize("handler", [None, "print", 5, waited_for])
def test_a_handler_that_is_none(t: Tract, handler: Any) -> None:
    with pytest.raises(InputError, match="a handler is a function"):
        t.on("tool_result", handler)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "3", float("inf"), 1e300])
def test_a_timeout_that_is_none(t: Tract, timeout: Any) -> None:
    with pytest.raises(InputError, match="timeout"):
        t.on("tool_result", print, timeout=timeout)


# Handlers that fail


class OddError(Exception):
    pass


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise OddError


def failing(error: BaseException) -> Callable[[PendingToolResult], None]:
    def handler(pending: PendingToolResult) -> None:
        pending.edit_result("not this")
        raise error

    return handler


@pytest.mark.parametrize(
    "error",
    [OddError("broken"), KeyboardInterrupt(), SystemExit(1), ConflictError("mine"), MemoryError()],
    ids=lambda error: type(error).__name__,
)
def test_a_handler_that_raises(
    t: Tract, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    t.on("tool_result", failing(error))
    info = turn(t)
    assert seen(t) == [BIG]
    assert t.head == info.commit_hash
    assert [e.__cause__ for e in t.handler_errors] == [error]
    assert isinstance(t.handler_errors[0], HandlerError)
    assert [r.name for r in caplog.records] == ["tract"]
    assert info.commit_hash in caplog.text
    assert type(error).__name__ in caplog.text


def test_an_error_that_cannot_be_told(t: Tract) -> None:
    t.on("tool_result", failing(SpeechlessError()))
    turn(t)
    assert failures(t) == [SpeechlessError]


def test_one_failure_does_not_stop_the_next(t: Tract) -> None:
    def handler(pending: PendingToolResult) -> None:
        if pending.tool_call_id == "b":
            raise OddError
        pending.edit_result("short")

    t.on("tool_result", handler)
    with t.batch():
        call(t, "a", "b", "c")
        for i in "abc":
            t.tool_result(i, "grep", BIG)
    assert seen(t) == ["short", BIG, "short"]
    assert failures(t) == [OddError]


def test_only_the_newest_errors_are_kept(t: Tract) -> None:
    t.on("tool_result", failing(OddError()))
    ids = [f"c{n}" for n in range(102)]
    call(t, *ids)
    with t.batch():
        for i in ids:
            t.tool_result(i, "grep", i)
    assert len(t.handler_errors) == 100
    newest = next(t.log())
    assert newest.commit_hash in str(t.handler_errors[-1])


@pytest.mark.parametrize("decision", LATER)
def test_a_handler_that_hangs_is_left_behind(t: Tract, decision: str) -> None:
    wait, done = threading.Event(), threading.Event()
    late: list[BaseException] = []

    def handler(pending: PendingToolResult) -> None:
        wait.wait()
        try:
            LATER[decision](pending)
        except ConflictError as error:
            late.append(error)
        done.set()

    t.on("tool_result", handler, timeout=0.01)
    info = turn(t)
    assert failures(t) == [TimeoutError]
    wait.set()
    assert done.wait(30)
    assert "too late" in str(late[0])
    assert seen(t) == [BIG]
    assert t.head == info.commit_hash


def test_what_a_handler_decided_before_it_hung_is_not_done(t: Tract) -> None:
    wait = threading.Event()

    def handler(pending: PendingToolResult) -> None:
        pending.edit_result("short")
        wait.wait()

    t.on("tool_result", handler, timeout=0.01)
    turn(t)
    wait.set()
    assert failures(t) == [TimeoutError]
    assert seen(t) == [BIG]


def test_a_summary_that_comes_too_late(t: Tract) -> None:
    wait, done = threading.Event(), threading.Event()

    def slow(_: Any) -> str:
        wait.wait()
        return "three hits"

    def handler(pending: PendingToolResult) -> None:
        try:
            pending.summarize()
        finally:
            done.set()

    t.llm = ScriptedLLM([slow])
    t.on("tool_result", handler, timeout=0.01)
    info = turn(t)
    wait.set()
    assert done.wait(30)
    assert t.head == info.commit_hash
    assert seen(t) == [BIG]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_a_handler_runs(t: Tract) -> None:
    waiting = threading.Event()
    kept: list[PendingToolResult] = []

    def handler(pending: PendingToolResult) -> None:
        kept.append(pending)
        pending.edit_result("short")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        waiting.wait()

    t.on("tool_result", handler)
    call(t, "c", "d")
    with pytest.raises(KeyboardInterrupt):
        t.tool_result("c", "grep", BIG)
    waiting.set()
    assert (kept[0].status, seen(t)[0]) == ("failed", BIG)
    t.on("tool_result", lambda pending: pending.edit_result("short"))
    t.tool_result("d", "grep", BIG)
    assert seen(t) == [BIG, "short"]


# Handlers that use the dialog


def test_a_handler_that_commits_a_result_is_not_called_for_it(t: Tract) -> None:
    ids: list[Any] = []

    def handler(pending: PendingToolResult) -> None:
        ids.append(pending.tool_call_id)
        turn(t, f"{pending.tool_call_id}!", "inner")
        pending.edit_result("outer")

    t.on("tool_result", handler)
    turn(t)
    assert ids == ["c"]
    assert seen(t) == ["outer", "inner"]
    assert failures(t) == [HandlerError]
    assert "a handler committed result" in str(t.handler_errors[0])


def test_a_handler_that_opens_a_batch_and_writes(t: Tract) -> None:
    def handler(pending: PendingToolResult) -> None:
        with t.batch():
            t.user("one")
            t.user("two")
        pending.edit_result("short")

    t.on("tool_result", handler)
    turn(t)
    assert seen(t) == ["short"]
    assert [m.text for m in t.compile().messages[-2:]] == ["one", "two"]


def test_a_handler_that_fails_in_its_batch(t: Tract) -> None:
    def handler(_: PendingToolResult) -> None:
        with t.batch():
            t.user("one")
            raise OddError

    t.on("tool_result", handler)
    info = turn(t)
    assert t.head == info.commit_hash
    assert failures(t) == [OddError]


def test_no_model_is_asked_in_a_batch_of_a_handler(t: Tract) -> None:
    t.llm = ScriptedLLM(["never"])

    def handler(pending: PendingToolResult) -> None:
        with t.batch():
            pending.summarize()

    t.on("tool_result", handler)
    turn(t)
    assert failures(t) == [ConflictError]
    assert t.llm.requests == []
    assert seen(t) == [BIG]


@pytest.mark.parametrize("how", ["edit", "annotate", "compress"])
def test_a_handler_that_changes_the_result_by_itself_and_decides(t: Tract, how: str) -> None:
    def handler(pending: PendingToolResult) -> None:
        if how == "edit":
            t.tool_result("c", "grep", "by itself", edit=pending.commit)
        elif how == "annotate":
            t.annotate(pending.commit, Priority.SKIP)
        else:
            t.compress(content="by itself")
        pending.edit_result("decided")

    t.on("tool_result", handler)
    turn(t)
    assert failures(t) == [ConflictError]
    assert seen(t) == {"edit": ["by itself"], "annotate": [LEFT_OUT], "compress": []}[how]


def test_a_handler_that_changes_the_handler(t: Tract) -> None:
    ids: list[str] = []

    def once(pending: PendingToolResult) -> None:
        t.off("tool_result")
        ids.append(pending.tool_call_id or "")
        pending.edit_result("short")

    t.on("tool_result", once)
    turn(t, "a")
    turn(t, "b")
    assert ids == ["a"]
    assert seen(t) == ["short", BIG]


def test_a_handler_that_answers_with_the_model(t: Tract) -> None:
    t.llm = ScriptedLLM(["I have seen it."])
    t.on("tool_result", lambda _: t.generate())
    turn(t)
    assert t.compile().messages[-1].text == "I have seen it."
    assert not t.handler_errors


def test_results_of_many_threads(db: str) -> None:
    with open_tract(db) as t:
        t.user("go")
        ids = [f"c{n}" for n in range(8)]
        call(t, *ids)
        t.on("tool_result", lambda p: p.edit_result(f"edited {p.tool_call_id}"))
        threads = [threading.Thread(target=t.tool_result, args=(i, "grep", BIG)) for i in ids]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not t.handler_errors
        assert sorted(seen(t)) == sorted(f"edited {i}" for i in ids)
        assert t.fsck().ok


def test_a_result_with_a_picture(t: Tract) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    blocks = [{"type": "text", "text": BIG}, {"type": "image", "source": source}]
    t.llm = llm = ScriptedLLM(["a picture and hits"])
    t.on("tool_result", lambda pending: pending.summarize())
    call(t, "c")
    result = {"type": "tool_result", "tool_use_id": "c", "content": blocks}
    t.commit({"role": "user", "content": [result]})
    assert seen(t)[0].endswith("\na picture and hits")
    assert BIG in llm.requests[0].messages[-1].text
    t.restore(next(t.log()))
    assert t.compile().to_anthropic_params()["messages"][-1]["content"][0]["content"] == blocks


# Review by a person


def test_review_shows_no_handler_the_result(t: Tract) -> None:
    ids = heard(t)
    call(t, "a", "b")
    pending = t.tool_result("a", "grep", BIG, review=True)
    t.tool_result("b", "grep", BIG)
    assert ids == ["b"]
    assert (pending.status, pending.content) == ("pending", BIG)
    assert "a" in repr(pending)


@pytest.mark.parametrize(
    ("decision", "shown", "status"),
    [
        ("approve", BIG, "approved"),
        ("edit", "short", "edited"),
        ("reject", LEFT_OUT, "rejected"),
        ("summarize", "[summary of", "summarized"),
    ],
)
def test_review(db: str, decision: str, shown: str, status: str) -> None:
    with open_tract(db, llm=ScriptedLLM(["three hits"])) as t:
        t.user("go")
        call(t, "c")
        pending = t.tool_result("c", "grep", BIG, review=True)
        t.assistant("meanwhile")
        LATER[decision](pending)
        assert pending.status == status
        assert seen(t)[0].startswith(shown[:11])
    with open_tract(db) as t:
        assert seen(t)[0].startswith(shown[:11])
        assert t.get_content(pending.commit) == BIG
        assert t.fsck().ok


@pytest.mark.parametrize("second", ["edit", "reject", "summarize"])
@pytest.mark.parametrize("first", ["edit", "summarize"])
def test_review_decides_once_and_is_confirmed(t: Tract, first: str, second: str) -> None:
    t.llm = ScriptedLLM(["three hits"] * 3)
    call(t, "c")
    pending = t.tool_result("c", "grep", BIG, review=True)
    LATER[first](pending)
    head = t.head
    with pytest.raises(ConflictError, match="too late"):
        LATER[second](pending)
    pending.approve()
    assert (pending.status, t.head) == ("approved", head)
    with pytest.raises(ConflictError, match="too late"):
        LATER[second](pending)


def test_after_a_review_no_model_is_asked(t: Tract) -> None:
    t.llm = ScriptedLLM(["three hits"])
    call(t, "c")
    pending = t.tool_result("c", "grep", BIG, review=True)
    pending.edit_result("short")
    with pytest.raises(ConflictError, match="too late"):
        pending.summarize()
    assert t.llm.requests == []


def test_review_of_a_result_that_was_changed_meanwhile(t: Tract) -> None:
    t.llm = ScriptedLLM(["three hits"])
    call(t, "c")
    pending = t.tool_result("c", "grep", BIG, review=True)
    t.tool_result("c", "grep", "by somebody" * 20, edit=pending.commit)
    for decision in ("edit", "reject", "summarize"):
        with pytest.raises(ConflictError, match="changed in the meantime"):
            LATER[decision](pending)
        assert pending.status == "pending"
    pending.approve()
    assert seen(t) == ["by somebody" * 20]


def test_review_that_fails_can_be_tried_again(t: Tract) -> None:
    t.llm = ScriptedLLM(["", "three hits"])
    call(t, "c")
    pending = t.tool_result("c", "grep", BIG, review=True)
    with pytest.raises(LLMAnswerError, match="empty"):
        pending.summarize()
    assert (pending.status, seen(t)) == ("pending", [BIG])
    pending.summarize()
    assert seen(t)[0].endswith("\nthree hits")


def test_review_in_a_batch(t: Tract) -> None:
    ids = heard(t)
    with t.batch():
        call(t, "c")
        pending = t.tool_result("c", "grep", BIG, review=True)
        pending.edit_result("short")
    assert (ids, seen(t)) == ([], ["short"])


def test_an_edit_is_not_reviewed(t: Tract) -> None:
    info = turn(t)
    with pytest.raises(InputError, match="review"):
        t.tool_result("c", "grep", "x", edit=info, review=True)


# Summaries by themselves


def is_summary(text: str) -> bool:
    return text.startswith("[summary of ")


SMALL = "a few words, and more than a summary " * 5


@pytest.mark.parametrize("spelling", ["first", "named"])
def test_both_spellings(t: Tract, spelling: str) -> None:
    t.llm = llm = ScriptedLLM(["s1", "s2"])
    given = {"grep": "Only file names.", "run": "Only the exit code."}
    if spelling == "first":
        t.configure_tool_summarization(given)
    else:
        t.configure_tool_summarization(instructions=given)
    turn(t, "a", SMALL)
    turn(t, "b", BIG, name="read")
    turn(t, "c", SMALL, name="run")
    assert [is_summary(text) for text in seen(t)] == [True, False, True]
    told = [request.messages[-1].text for request in llm.requests]
    assert ["Only file names." in told[0], "Only the exit code." in told[1]] == [True, True]
    assert len(told) == 2


def test_strictly_above_the_threshold(t: Tract) -> None:
    size = turn(t, "a").token_count
    t.llm = llm = ScriptedLLM(["s"])
    t.configure_tool_summarization(auto_threshold=size, default_instructions="Be short.")
    turn(t, "b")
    assert llm.requests == []
    t.configure_tool_summarization(auto_threshold=size - 1, default_instructions="Be short.")
    turn(t, "c")
    assert [is_summary(text) for text in seen(t)] == [False, False, True]
    assert "Instructions: Be short.\n" in llm.requests[0].messages[-1].text


def test_own_instructions_before_the_default(t: Tract) -> None:
    t.llm = llm = ScriptedLLM(["s", "s"])
    t.configure_tool_summarization(
        auto_threshold=0,
        instructions={"grep": "Own.", "read": ""},
        default_instructions="Default.",
        target_tokens=77,
    )
    turn(t, "a")
    turn(t, "b", name="read")
    told = [request.messages[-1].text for request in llm.requests]
    assert ["Own." in told[0], "Default." in told[1]] == [True, True]
    assert all("77 tokens" in text for text in told)


def test_below_the_threshold_no_model_is_needed(t: Tract) -> None:
    t.llm = ScriptedLLM([])
    t.configure_tool_summarization(auto_threshold=10_000)
    info = turn(t)
    assert t.head == info.commit_hash
    assert not t.handler_errors
    assert t.llm.requests == []


@pytest.mark.parametrize("given", [{}, {"config": {}}, {"instructions": {}}])
def test_without_instructions_and_threshold_none(t: Tract, given: dict[str, Any]) -> None:
    t.configure_tool_summarization({"grep": "x"})
    t.configure_tool_summarization(**given)
    turn(t)
    assert seen(t) == [BIG]


def test_without_a_model_the_structure_is_told(t: Tract) -> None:
    t.configure_tool_summarization(auto_threshold=100)
    info = turn(t)
    text = seen(t)[0]
    assert is_summary(text)
    assert len(text) < len(BIG) / 3
    assert "300 hits in 7 files" in text
    assert next(t.log()).metadata["summary"] == {"made_by": "structure"}
    assert t.get_content(info) == BIG


def test_without_a_model_what_is_short_stays(t: Tract) -> None:
    t.configure_tool_summarization({"grep": "x"})
    info = turn(t, content="2 hits")
    assert (seen(t), t.head) == (["2 hits"], info.commit_hash)
    assert not t.handler_errors


def test_the_configuration_stays_with_the_dialog(db: str) -> None:
    with open_tract(db) as t:
        t.configure_tool_summarization({"grep": "Own."}, auto_threshold=9_000, target_tokens=40)
        t.on("tool_result", print)
    llm = ScriptedLLM(["three hits", "s"])
    with open_tract(db, llm=llm) as t, open_tract(db, dialog="other", llm=llm) as other:
        for each in (t, other):
            each.user("go")
            turn(each)
            turn(each, "d", "y", name="read")
        assert [is_summary(text) for text in seen(t)] == [True, False]
        assert seen(other) == [BIG, "y"]
        told = llm.requests[0].messages[-1].text
        assert "Own." in told
        assert "40 tokens" in told
        t.configure_tool_summarization()
    with open_tract(db) as t:
        turn(t, "e")
        assert seen(t)[-1] == BIG
        assert t.fsck().ok


@pytest.mark.parametrize(
    "given",
    [
        {"auto_threshold": -1},
        {"auto_threshold": True},
        {"auto_threshold": 1.5},
        {"auto_threshold": "100"},
        {"instructions": {"grep": 5}},
        {"instructions": ["grep"]},
        {"config": "grep"},
        {"config": {"a": "x"}, "instructions": {"b": "y"}},
        {"default_instructions": 5},
        {"target_tokens": -1},
        {"target_tokens": 0},
    ],
    ids=str,
)
def test_a_configuration_that_is_none(t: Tract, given: dict[str, Any]) -> None:
    ids = heard(t)
    with pytest.raises(InputError):
        t.configure_tool_summarization(**given)
    turn(t)
    assert ids == ["c"]


def test_a_configuration_by_itself() -> None:
    assert not summarization().handler
    assert summarization(auto_threshold=0).handler
    assert summarization(instructions={"a": ""}).handler
    assert not Summarization(default_instructions="x").handler
