"""What is remembered of earlier histories changes nothing but the time that it takes to record."""

from __future__ import annotations

import sys
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.growing import Client
from tract import InputError, Tract, TractError
from tract.providers.frameworks import growing_list

Recorded = tuple[list[str], str | None] | str


class RolledBackError(Exception):
    pass


def record(t: Tract, history: Any, response: Any) -> Recorded:
    """The new commits and their branch, or what is wrong."""
    try:
        return [info.commit_hash for info in t.record(history, response)], t.current_branch
    except InputError as error:
        return str(error)


def record_anew(t: Tract, history: Any, response: Any) -> Recorded:
    """The same by one who has recorded nothing before. It is undone."""
    fresh = t.sibling(t.dialog)
    recorded: Recorded = ""
    with suppress(RolledBackError), t.batch():
        recorded = record(fresh, history, response)
        raise RolledBackError
    return recorded


def rework(t: Tract, random: Random) -> None:
    """Something else happens to the dialog."""
    context = t.compile()
    if not context.messages:
        return
    place = random.randrange(context.commit_count)
    commit, message = context.commit_hashes[place], context.messages[place]
    with suppress(TractError):
        match random.choice(["skip", "pin", "edit", "reshape", "say", "late", "undo", "tools"]):
            case "skip" | "pin" as mark:
                t.annotate(commit, {"skip": "skip", "pin": "pinned"}[mark])
            case "edit":
                t.user("edited", edit=commit)
            case "reshape" if message.tool_call_id:
                t.reshape({message.tool_call_id: "collapsed"})
            case "late":
                t.tool_result(random.choice("abc"), "run", "late")
            case "undo":
                t.restore(*[info for info in t.log() if info.operation != "append"][:1])
            case "tools":
                t.set_tools([{"name": "run", "input_schema": {"type": "object"}}])
            case _:
                t.assistant("said elsewhere")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_recording_again_is_recording_for_the_first_time(seed: int, last: int) -> None:
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patched, Tract.open(tokens="chars/4") as t:
        patched.setattr(growing_list, "LAST", last)
        clients = [Client(random)]
        for _ in range(8):
            client = random.choice(clients)
            response = random.choice([None, None, {"role": "assistant", "content": "so"}])
            expected = record_anew(t, client.history, response)
            assert record(t, client.history, response) == expected
            if response and random.random() < 0.8:
                client.answer(response)
            if random.random() < 0.2:
                rework(t, random)
            if random.random() < 0.1:
                clients.append(client.fork())
            client.go_on()


def test_recording_a_known_history_costs_what_is_new_in_it() -> None:
    """In calls of Python functions. Comparing lists is one."""
    few, many = (calls_to_record(size) for size in (100, 1_000))
    assert many < 1.3 * few


def calls_to_record(size: int) -> int:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(size // 2):
        function = {"name": "run", "arguments": "{}"}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "done"})
    calls = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    with Tract.open(tokens="chars/4") as t:
        for text in ("one", "two"):
            t.record(messages)
            messages.append({"role": "user", "content": text})
        sys.setprofile(count)
        new = t.record(messages)
        sys.setprofile(None)
        assert len(new) == 1
    return calls


def test_what_is_recorded_once_more_is_read_once_more() -> None:
    """Two messages that are equal may be stored differently: the order of keys is kept."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"{n}"} for n in range(100)]
    with Tract.open() as t, Tract.open() as fresh:
        first, *_ = t.record(messages)
        t.record(messages)
        t.branch("other", at=first)
        t.checkout("other")
        t.delete_branch("main")
        messages[5] = dict(reversed(messages[5].items()))
        t.record([*messages, {"role": "user", "content": "more"}])
        fresh.record([*messages, {"role": "user", "content": "more"}])
        assert t.head == fresh.head
