"""Models that fail, in every operation that asks one: nothing is lost, and nothing half done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.faults.harness import go, killed, start
from tests.summarizing import (
    BIG,
    OPERATIONS,
    SECOND,
    Operation,
    checked,
    new_result,
    originals,
    prepare,
)
from tract import (
    ConflictError,
    InputError,
    LLMAnswerError,
    LLMCallError,
    Tract,
)
from tract.llm import ScriptedLLM


class Fault(NamedTuple):
    """What a model does, and the error that it makes."""

    reply: Any
    error: type[BaseException]
    is_answer: bool = False
    """Whether it would do as an answer, though not as a summary."""


def anthropic(stop_reason: str, text: str = "The first ha") -> dict[str, Any]:
    blocks = [{"type": "text", "text": text}] if text else []
    return {"type": "message", "content": blocks, "stop_reason": stop_reason}


def chat(finish_reason: str, **message: Any) -> dict[str, Any]:
    whole = {"role": "assistant", "content": "The first ha", **message}
    return {"choices": [{"finish_reason": finish_reason, "message": whole}]}


def incomplete() -> dict[str, Any]:
    part = {"type": "output_text", "text": "The first ha", "annotations": []}
    message = {"type": "message", "role": "assistant", "content": [part], "status": "incomplete"}
    return {"object": "response", "status": "incomplete", "output": [message]}


CALL = {"id": "x", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
FAULTS = {
    "call error": Fault(LLMCallError("503"), LLMCallError),
    "foreign error": Fault(ZeroDivisionError(), ZeroDivisionError),
    "timeout": Fault(TimeoutError("read timed out"), TimeoutError),
    "connection lost": Fault(ConnectionResetError(), ConnectionResetError),
    "cancelled": Fault(KeyboardInterrupt(), KeyboardInterrupt),
    "exit": Fault(SystemExit(3), SystemExit),
    "no memory": Fault(MemoryError(), MemoryError),
    "script over": Fault(None, LLMCallError),
    "empty": Fault("", LLMAnswerError, is_answer=True),
    "whitespace": Fault(" \n\t\u3000", LLMAnswerError, is_answer=True),
    "tool call": Fault(chat("tool_calls", tool_calls=[CALL]), LLMAnswerError, is_answer=True),
    "max_tokens": Fault(anthropic("max_tokens"), LLMAnswerError, is_answer=True),
    "length": Fault(chat("length"), LLMAnswerError, is_answer=True),
    "incomplete": Fault(incomplete(), LLMAnswerError, is_answer=True),
    "refusal": Fault(anthropic("refusal", ""), LLMAnswerError, is_answer=True),
    "said refusal": Fault(
        chat("stop", content=None, refusal="I cannot."), LLMAnswerError, is_answer=True
    ),
    "content filter": Fault(chat("content_filter"), LLMAnswerError, is_answer=True),
    "no choices": Fault({"choices": []}, LLMAnswerError),
    "an error": Fault({"error": {"message": "overloaded"}}, LLMAnswerError),
    "a user": Fault({"role": "user", "content": "hi"}, LLMAnswerError),
    "no response": Fault(lambda _: 42, InputError),
}
CASES = [
    pytest.param(operation, fault, id=f"{operation}-{fault}")
    for operation in OPERATIONS
    for fault in FAULTS
    if not (OPERATIONS[operation].is_answer and FAULTS[fault].is_answer)
]


def fail(t: Tract, operation: Operation, error: type[BaseException]) -> None:
    """Run an operation that cannot succeed."""
    if operation.is_handled:
        operation.run(t)
        (reported,) = t.handler_errors
        assert type(reported.__cause__) is error
        t.handler_errors.clear()
        t.off("tool_result")
    else:
        with pytest.raises(error):
            operation.run(t)
        assert not t.handler_errors


@pytest.mark.parametrize(("operation", "fault"), CASES)
def test_a_model_that_fails(operation: str, fault: str) -> None:
    done, (reply, error, _) = OPERATIONS[operation], FAULTS[fault]
    with Tract.open() as t:
        prepare(t)
        before, head = t.compile().messages, t.head
        t.llm = llm = ScriptedLLM([] if reply is None else [reply])
        fail(t, done, error)
        assert len(llm.requests) == 1
        after = checked(t).messages
        if done.adds_result:
            assert (after[:-1], after[-1].text) == (before, SECOND)
            assert next(t.log()).parent_hash == head
        else:
            assert (after, t.head) == (before, head)
        assert originals(t) == [BIG, *([SECOND] if done.adds_result else [])]
        t.llm = ScriptedLLM(["fine"])
        if done.adds_result:
            t.summarize_tool_result("c2")
        else:
            done.run(t)
        t.user("go on")
        assert checked(t).messages[-1].text == "go on"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_fails_at_the_second_of_two_groups(fault: str) -> None:
    reply, error, _ = FAULTS[fault]
    with Tract.open() as t:
        prepare(t)
        new_result(t)
        pinned = next(c for c in t.log() if c.role == "user")
        t.annotate(pinned, "pinned")
        before, head = checked(t).messages, t.head
        t.llm = ScriptedLLM(["the first group", *([] if reply is None else [reply])])
        with pytest.raises(error):
            t.compress()
        assert len(t.llm.requests) == 2
        assert (checked(t).messages, t.head) == (before, head)


@pytest.mark.parametrize("operation", [name for name, o in OPERATIONS.items() if o.is_answer])
@pytest.mark.parametrize("fault", [name for name, f in FAULTS.items() if f.is_answer])
def test_what_is_no_summary_may_be_an_answer(operation: str, fault: str) -> None:
    with Tract.open(llm=ScriptedLLM([FAULTS[fault].reply])) as t:
        prepare(t)
        new_result(t)
        OPERATIONS[operation].run(t)
        assert next(t.log()).role == "assistant"
        t.user("go on")
        checked(t)


# Others at work while the model thinks


def appended(t: Tract) -> None:
    t.user("meanwhile")


def edited(t: Tract) -> None:
    for info in t.find_tool_results():
        t.tool_result(info.tool_call_id or "", info.name, "edited", edit=info)


def pinned(t: Tract) -> None:
    for info in t.find_tool_results():
        t.annotate(info, "pinned")


def compressed(t: Tract) -> None:
    t.compress(content="by somebody else")
    if any(message.role == "tool" for message in t.compile().messages):
        t.compress(t.find_tool_calls() + t.find_tool_results(), content="that too")


def summarized(t: Tract) -> None:
    for info in t.find_tool_results():
        t.summarize_tool_result(info.tool_call_id or "")


CHANGES: dict[str, Callable[[Tract], None]] = {
    "edited": edited,
    "pinned": pinned,
    "compressed": compressed,
    "summarized": summarized,
}
SUMMARIES = [name for name, o in OPERATIONS.items() if not o.is_answer]


def thinking(t: Tract, db: str, dialog: str, change: Callable[[Tract], None]) -> list[Any]:
    """Have the model be asked while somebody else changes the dialog; what is there then."""
    seen: list[Any] = []

    def reply(_: Any) -> str:
        with Tract.open(db, dialog=dialog) as other:
            change(other)
            seen.extend([other.compile().messages, other.head])
        return "a summary"

    t.llm = ScriptedLLM([reply])
    return seen


CHANGED = [
    (name, change)
    for name in SUMMARIES
    for change in CHANGES
    # Another form is no other message: it goes into the summary all the same.
    if not (name.startswith("compress") and change == "summarized")
]


def test_what_was_changed_meanwhile_stays(db: str) -> None:
    for name, change in CHANGED:
        operation, dialog = OPERATIONS[name], f"{name} {change}"
        with Tract.open(db, dialog=dialog) as t:
            prepare(t)
            seen = thinking(t, db, dialog, CHANGES[change])
            if name == "compress for review":
                pending = t.compress(review=True)
                with pytest.raises(ConflictError, match="changed"):
                    pending.approve()
                assert pending.status == "pending"
            else:
                fail(t, operation, ConflictError)
            assert [t.compile().messages, t.head] == seen, dialog
            assert originals(t) == [BIG, *([SECOND] if operation.adds_result else [])]
            t.user("go on")
    with Tract.open(db) as t:
        assert t.fsck().ok


def test_what_came_behind_meanwhile_stays(db: str) -> None:
    for name in SUMMARIES:
        operation, dialog = OPERATIONS[name], name
        with Tract.open(db, dialog=dialog) as t:
            prepare(t)
            seen = thinking(t, db, dialog, appended)
            if name == "compress for review":
                t.compress(review=True).approve()
            else:
                operation.run(t)
            assert not t.handler_errors
            texts = [message.text for message in t.compile().messages]
            assert texts[-1] == seen[0][-1].text == "meanwhile"
            assert sum("a summary" in text for text in texts) == 1, name
            assert originals(t)[0] == BIG
    with Tract.open(db) as t:
        assert t.fsck().ok


@pytest.mark.parametrize("name", [name for name in SUMMARIES if not OPERATIONS[name].adds_result])
def test_another_branch_that_was_checked_out_meanwhile(name: str) -> None:
    with Tract.open() as t:
        prepare(t)
        t.branch("other")

        def away(_: Any) -> str:
            t.checkout("other")
            return "a summary"

        t.llm = ScriptedLLM([away])
        before = t.branches()
        with pytest.raises(ConflictError, match="'main'"):
            t.compress(review=True).approve() if "review" in name else OPERATIONS[name].run(t)
        assert t.branches() == before
        assert t.fsck().ok


@pytest.mark.parametrize("name", ["compress", "compress_tool_calls", "summarize_tool_result"])
def test_what_was_forgotten_meanwhile_is_not_summarized(name: str) -> None:
    with Tract.open() as t:
        prepare(t)
        (secret,) = t.find_tool_results()

        def forget(_: Any) -> str:
            t.forget(secret)
            return "the secret is function_7"

        t.llm = ScriptedLLM([forget])
        with pytest.raises(ConflictError, match="erased"):
            OPERATIONS[name].run(t)
        assert next(t.search("the secret is"), None) is None


def test_a_batch_asks_nobody() -> None:
    with Tract.open() as t:
        prepare(t)
        head = t.head
        t.llm = llm = ScriptedLLM([])
        with t.batch():
            for name, operation in OPERATIONS.items():
                if not operation.adds_result:
                    with pytest.raises(ConflictError, match="batch"):
                        operation.run(t)
                    assert t.head == head, name
        pending = new_result(t, review=True)
        with t.batch(), pytest.raises(ConflictError, match="batch"):
            pending.summarize()
        assert llm.requests == []
        assert checked(t).messages[-1].text == SECOND


# The process is killed


def test_a_process_that_is_killed_while_the_model_thinks(db: str) -> None:
    before = {}
    for name in OPERATIONS:
        with Tract.open(db, dialog=name) as t:
            prepare(t)
            before[name] = t.compile().messages
    worker = start("summarizer.py", db)
    go(worker)
    assert killed(worker, lines=len(OPERATIONS)) == ["asked"] * len(OPERATIONS)
    for name, operation in OPERATIONS.items():
        with Tract.open(db, dialog=name, llm=ScriptedLLM(["fine"] * 3)) as t:
            t.off("tool_result")
            after = t.compile().messages
            if operation.adds_result:
                assert (after[:-1], after[-1].text) == (before[name], SECOND)
            else:
                assert after == before[name]
                operation.run(t)
            assert originals(t)[0] == BIG
            t.user("go on")
    with Tract.open(db) as t:
        assert t.fsck().ok
