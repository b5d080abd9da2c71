"""Whoever looks on while a dialog is used."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from tract import Tract
from tract.llm import LLMClient, ScriptedLLM
from tract.model import CommitInfo


class Notes:
    """An observer that notes what it sees."""

    def __init__(self) -> None:
        self.commits: list[list[str | None]] = []
        self.clients: list[LLMClient] = []

    def watched(self, client: LLMClient) -> LLMClient:
        self.clients.append(client)
        return ScriptedLLM(["From another one."])

    def committed(self, commits: Sequence[CommitInfo]) -> None:
        self.commits.append([commit.role or str(commit.operation) for commit in commits])


def observed(t: Tract) -> Notes:
    notes = Notes()
    t.session.observer = notes
    return notes


def test_every_commit_is_seen_once() -> None:
    with Tract.open() as t:
        notes = observed(t)
        commit = t.user("Hi")
        t.user("Hello", edit=commit)
        t.annotate(commit, "pinned")
        t.tool_result("c1", "ls", "a.py")
    assert notes.commits == [["user"], ["user"], ["mark"], ["tool"]]


def test_a_batch_is_seen_after_its_end_and_only_if_it_is_committed() -> None:
    with Tract.open() as t:
        notes = observed(t)
        with t.batch():
            t.user("Hi")
            with suppress(RuntimeError), t.batch():
                t.user("This is rolled back.")
                raise RuntimeError
            t.assistant("Hello.")
            assert notes.commits == []
        assert notes.commits == [["user", "assistant"]]
        with suppress(RuntimeError), t.batch():
            t.user("This too.")
            raise RuntimeError
    assert notes.commits == [["user", "assistant"]]


def test_each_dialog_of_a_batch_has_its_own() -> None:
    with Tract.open() as t:
        mine, other = observed(t), t.sibling("other")
        others = observed(other)
        with t.batch():
            t.user("one")
            other.assistant("two")
            t.system("three")
            t.sibling("third").user("four")
        assert mine.commits == [["user"], ["system"]]
        assert others.commits == [["assistant"]]


def test_a_handler_decides_as_it_does_alone() -> None:
    with Tract.open() as t:
        seen: list[str | None] = []
        t.on("tool_result", lambda pending: seen.append(pending.tool_call_id))
        notes = observed(t)
        t.user("Hi")
        t.tool_result("c1", "ls", "a.py")
        t.tool_result("c2", "ls", "b.py", review=True)
        assert seen == ["c1"]
        assert notes.commits == [["user"], ["tool"], ["tool"]]


def test_the_observer_says_who_is_asked() -> None:
    client = ScriptedLLM(["Hello."])
    with Tract.open(llm=client) as t:
        notes = observed(t)
        assert t.chat("Hi").text == "From another one."
        assert notes.clients == [client]
        assert t.llm is client
        t.session.observer = None
        assert t.chat("Hi").text == "Hello."
