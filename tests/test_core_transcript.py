"""The tree of a transcript: the same as what an import writes, without a database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract import Message, Tract, importers
from tract.core.drafts import Details
from tract.core.entries import Entry, FullHistory, Problem, Unknown
from tract.core.transcript import Branch, MemoryThread, Transcript
from tract.importers.items import Item
from tract.importers.transcripts import RULES
from tract.importers.writer import import_file
from tract.model import ROOT, Raw, Text, ToolCall
from tract.snapshot import Snapshot
from tract.tokens import token_counter

CALL = Message("assistant", (Text("I look."), ToolCall("c1", "ls", {"path": "."})))
RESULT = Message("tool", "a.txt", "c1")


def entry(*messages: Message, **more: Any) -> Entry:
    return Entry(messages=messages, **more)


def said(text: str, **more: Any) -> Entry:
    return entry(Message("user", text), **more)


def transcript(*items: Entry | FullHistory | Problem | Unknown) -> Transcript[MemoryThread]:
    count = token_counter("chars/4").count
    tree = Transcript("session", lambda name: MemoryThread(name, RULES, count))
    for item in items:
        tree.add(item)
    return tree


def only_thread(*items: Entry | FullHistory | Problem | Unknown) -> MemoryThread:
    (thread,) = transcript(*items).threads.values()
    return thread


def texts(thread: MemoryThread, branch: str = "main") -> list[str]:
    read = thread.read(branch)
    return [read.whole(place).text for place in read.places]


def test_entries_follow_each_other() -> None:
    thread = only_thread(said("one"), entry(CALL, RESULT), said("two"))
    assert texts(thread) == ["one", "I look.", "a.txt", "two"]
    assert thread.repairs() == []


def test_a_result_gets_the_name_of_its_tool() -> None:
    thread = only_thread(entry(CALL, RESULT))
    assert [node.step.name for node in thread.nodes] == [None, "ls"]


def test_a_second_child_begins_a_branch() -> None:
    items = [said("root", key="r"), said("left", parent="r"), said("right", parent="r")]
    thread = only_thread(*items)
    assert texts(thread) == ["root", "left"]
    assert texts(thread, "main-2") == ["root", "right"]
    assert thread.branch == "main-2"


def test_a_record_that_is_no_message_makes_no_branch() -> None:
    record = Unknown("line 2", "new", {"x": 1})
    thread = only_thread(said("a", key="1"), record, said("b", key="2", parent="1"))
    assert list(thread.branches) == ["main"]
    assert texts(thread) == ["a", "b"]


def test_what_is_repeated_is_there_once() -> None:
    items = [said("root", key="r"), said("next", parent="r"), said("next", parent="r")]
    assert texts(only_thread(*items)) == ["root", "next"]
    twice = only_thread(said("root"), said("root"))
    assert texts(twice) == ["root", "root"]


def test_values_of_other_types_are_not_the_same() -> None:
    calls = [Message("assistant", (ToolCall("c", "f", {"a": value}),)) for value in (1, True)]
    thread = only_thread(*(entry(call, parent=ROOT) for call in calls))
    assert len(thread.nodes) == 2


def test_a_compaction_replaces_what_came_before_except_instructions() -> None:
    system = entry(Message("system", "be brief"))
    branch = only_thread(system, said("one"), said("two"), said("sum", compacts=True)).read("main")
    sent = [branch.sent(place) for place in branch.places]
    assert [one.message.text for one in sent if one] == ["be brief", "sum"]
    assert [place.summary is not None for place in branch.places] == [False, False, True, True]


def test_an_answer_loses_its_thoughts_when_what_it_answered_was_replaced() -> None:
    thought = Raw("anthropic", {"type": "thinking", "thinking": "hm", "signature": "s"})
    answer = Message("assistant", (thought, Text("yes")))
    items = [said("one", key="a"), said("sum", compacts=True), entry(answer)]
    branch = only_thread(*items).read("main")
    assert not branch.has_lost_thoughts(branch.places[-1])
    assert branch.weight(branch.places[-1]) == branch.places[-1].shown.token_count


def test_tools_are_in_force_from_their_entry_on() -> None:
    tools = [{"name": "ls", "input_schema": {"type": "object"}}]
    thread = only_thread(said("one"), said("two", tools=tools), said("three", tools=tools))
    ((step, toolset),) = thread.read("main").toolsets
    assert (step.id, [tool.name for tool in toolset.tools]) == (2, ["ls"])


def test_bad_tools_are_a_problem() -> None:
    tree = transcript(said("one", tools=[{"no": "name"}], key="k1"), Problem("line 2", "broken"))
    first, second = tree.problems
    assert (first.place, second) == ("k1", Problem("line 2", "broken"))


def test_failures_are_known_by_flag_or_text() -> None:
    results = [
        Message("tool", "fine", "c1"),
        Message("tool", "", "c1", is_error=True),
        Message("tool", '{"error": "it broke"}', "c1"),
    ]
    branch = only_thread(entry(*results)).read("main")
    assert branch.failures == {2, 3}


def test_dialogs_are_threads_of_their_own() -> None:
    tree = transcript(said("one"), said("aside", dialog="side\n1"), said("two"))
    assert {name: texts(thread) for name, thread in tree.threads.items()} == {
        "session": ["one", "two"],
        "session/side_1": ["aside"],
    }


# Full histories

ASK, ANSWER = Message("user", "Why?"), Message("assistant", "Because.")


def history(*messages: Message, **more: Any) -> FullHistory:
    return FullHistory(messages, **more)


def test_only_the_new_part_of_a_history_is_added() -> None:
    more = Message("user", "Really?")
    thread = only_thread(
        history(ASK, ANSWER, is_answered=True, details=Details(usage={"input_tokens": 3})),
        history(ASK, ANSWER, more),
    )
    assert texts(thread) == ["Why?", "Because.", "Really?"]
    assert [node.draft.usage for node in thread.nodes] == [None, {"input_tokens": 3}, None]


def test_a_rewritten_history_is_a_branch() -> None:
    other = [Message("assistant", "No idea."), Message("user", "Think!")]
    thread = only_thread(history(ASK, ANSWER), history(ASK, *other), history(ASK, ANSWER, ASK))
    assert texts(thread, "main") == ["Why?", "Because.", "Why?"]
    assert texts(thread, "main-2") == ["Why?", "No idea.", "Think!"]
    assert thread.branch == "main"


def test_another_conversation_of_the_same_name_is_a_thread_of_its_own() -> None:
    tree = transcript(said("one"), history(ASK, ANSWER))
    assert list(tree.threads) == ["session", "session-2"]


def test_the_tools_of_a_request_are_for_the_next_answer() -> None:
    tools = [{"name": "ls", "input_schema": {"type": "object"}}]
    thread = only_thread(history(ASK, tools=tools), history(ASK, ANSWER, tools=tools))
    assert [node.step.operation for node in thread.nodes] == ["mark", "append", "append"]
    assert thread.repairs() == []


# The same as an import

KEYS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["user", "system"]), st.sampled_from(["x", "y"])),
    st.builds(
        lambda ids: Message("assistant", tuple(ToolCall(i, f"tool_{i}", {}) for i in ids)),
        st.lists(st.sampled_from(["1", "2"]), min_size=1, max_size=2),
    ),
    st.builds(lambda i: Message("tool", "done", i), st.sampled_from(["1", "2"])),
)
ENTRIES = st.builds(
    lambda messages, **more: Entry(messages=tuple(messages), **more),
    st.lists(MESSAGES, max_size=2),
    key=st.none() | KEYS,
    parent=st.none() | KEYS | st.just(ROOT),
    dialog=st.none() | st.just("side"),
    compacts=st.sampled_from([False, False, False, True]),
)


class _Importer:
    """Yields what a test gives it."""

    NAME = "test"

    def __init__(self, items: Sequence[Entry]) -> None:
        self._items = items

    def detect(self, source: object) -> bool:
        return True

    def read(self, source: object) -> Iterator[Item]:
        yield from self._items


def outline(branch: Branch | Snapshot) -> list[tuple[Message, bool, int]]:
    return [(branch.whole(p), p.summary is not None, len(p.sources)) for p in branch.places]


@given(st.lists(ENTRIES, max_size=12))
def test_a_tree_is_what_an_import_writes(entries: list[Entry]) -> None:
    tree = transcript(*entries)
    with pytest.MonkeyPatch.context() as patch, Tract.open(":memory:", tokens="chars/4") as tract:
        patch.setattr(importers, "importer_of", lambda source: _Importer(entries))
        report = import_file(tract, __file__, dialog="session")
        dialogs = {info.dialog: tract.sibling(info.dialog) for info in tract.dialogs()}
        assert {name for name, thread in tree.threads.items() if thread.nodes} == {
            name for name, dialog in dialogs.items() if dialog.head
        }
        for name, dialog in dialogs.items():
            thread = tree.threads[name]
            assert list(dialog.branches()) == sorted(thread.branches)
            assert dialog.current_branch == thread.branch
            for branch in thread.branches:
                assert outline(thread.read(branch)) == outline(dialog.read(branch))
    assert report.repairs == tree.repairs()
    assert report.problems == tree.problems
