from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tract.importers.claude_queue import MAX_WAITING, PromptQueue

TIME = datetime(2026, 2, 3, 0, 25, 7, tzinfo=UTC)


def queue(*operations: str, prompt: str = "also this") -> PromptQueue:
    made = PromptQueue()
    for operation in operations:
        content = prompt if operation == "enqueue" else None
        time = "2026-02-03T00:25:07Z"
        made.change({"operation": operation, "content": content, "timestamp": time})
    return made


def test_a_prompt_that_was_taken_without_a_line_is_told_once() -> None:
    made = queue("enqueue", "remove")
    assert made.take() == [("also this", TIME)]
    assert made.take() == []


@pytest.mark.parametrize("operation", ["dequeue", "popAll", "unknown"])
def test_a_prompt_that_has_a_line_or_was_not_sent_is_not_told(operation: str) -> None:
    assert queue("enqueue", operation).take() == []


def test_a_line_may_come_before_or_after_the_prompt_is_taken() -> None:
    made = queue("enqueue", "remove")
    made.drop([{"type": "text", "text": "also this"}])
    assert made.take() == []
    made = queue("enqueue")
    made.drop("also this")
    made.change({"operation": "remove"})
    assert made.take() == []


def test_what_a_request_has_is_not_told() -> None:
    made = queue("enqueue", "remove")
    made.drop_sent(lambda text: text in "<note>also this</note>")
    assert made.take() == []


def test_few_prompts_wait() -> None:
    made = queue(*["enqueue"] * 1000, *["remove"] * 1000)
    assert len(made.take()) == MAX_WAITING + 1


def test_odd_lines_change_nothing() -> None:
    made = PromptQueue()
    for operation in ("remove", "dequeue", None, 5, "enqueue"):
        made.change({"operation": operation, "content": 5})
    assert made.take() == []
