"""What is new in a full history that somebody else keeps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.strategies import anthropic_messages, histories, openai_messages, tidy_histories
from tests.toolkit import claude_tool
from tract import InputError, Message, Priority, Text, ToolCall, Tract
from tract.core.alignment import Walk, atoms
from tract.core.wording import NO_RESULT, SKIPPED, START
from tract.llm import ScriptedLLM

HISTORY = [
    Message("user", "go"),
    Message("assistant", (Text("ok"), ToolCall("a", "run", {"x": 1}))),
    Message("tool", "long result", "a", "run"),
    Message("assistant", "done"),
]
REFUSAL = {"type": "refusal", "refusal": "no"}


def said(t: Tract) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in t.compile().messages]


def test_everything_is_new_at_first() -> None:
    with Tract.open() as t:
        new = t.record(HISTORY)
        assert [info.role for info in new] == ["user", "assistant", "tool", "assistant"]
        assert t.compile().messages == HISTORY


def test_recording_again_writes_nothing() -> None:
    with Tract.open() as t:
        t.record(HISTORY)
        head = t.head
        assert t.record(HISTORY) == []
        assert (t.head, t.current_branch, list(t.branches())) == (head, "main", ["main"])


def test_only_the_appended_part_is_written() -> None:
    with Tract.open() as t:
        for size in range(len(HISTORY) + 1):
            new = t.record(HISTORY[:size])
            assert [info.role for info in new] == [m.role for m in HISTORY[:size]][-1:]
        assert t.current_branch == "main"


def test_a_beginning_of_what_is_recorded_changes_nothing() -> None:
    with Tract.open() as t:
        t.record(HISTORY)
        head = t.head
        assert t.record(HISTORY[:2]) == t.record([]) == []
        assert (t.head, t.current_branch) == (head, "main")


def test_recorded_commits_are_those_that_would_be_committed() -> None:
    with Tract.open() as one, Tract.open() as other:
        recorded = [info.commit_hash for info in one.record(HISTORY)]
        committed = [other.commit(message).commit_hash for message in HISTORY]
        assert recorded == committed


def test_a_difference_makes_a_branch() -> None:
    with Tract.open() as t:
        old = t.record(HISTORY)
        other = [*HISTORY[:2], Message("tool", "another result", "a", "run"), Message("user", "x")]
        new = t.record(other)
        assert t.current_branch == "main-2"
        assert [info.role for info in new] == ["tool", "user"]
        assert new[0].parent_hash == old[1].commit_hash
        assert t.compile().messages == other
        assert t.compile(at="main").messages == HISTORY


def test_each_difference_makes_one_more_branch() -> None:
    with Tract.open() as t:
        t.record(HISTORY)
        for number in (2, 3):
            t.checkout("main")
            t.record([HISTORY[0], Message("user", f"{number}")])
            assert t.current_branch == f"main-{number}"
        assert list(t.branches()) == ["main", "main-2", "main-3"]


def test_a_difference_at_the_first_message_starts_at_the_root() -> None:
    with Tract.open() as t:
        t.record(HISTORY)
        (info,) = t.record([Message("user", "else")])
        assert info.parent_hash is None
        assert said(t) == [("user", "else")]


def test_a_system_text_may_be_kept_elsewhere() -> None:
    with Tract.open() as t:
        t.system("be kind")
        t.record(HISTORY)
        assert t.record(HISTORY) == []
        assert t.record([Message("system", "be kind"), *HISTORY]) == []
        assert t.current_branch == "main"


def test_another_system_text_is_a_difference() -> None:
    with Tract.open() as t:
        t.record([Message("system", "be kind"), *HISTORY])
        given = [Message("system", "be strict"), *HISTORY]
        t.record(given)
        assert t.current_branch == "main-2"
        assert t.compile().messages == given


def test_an_edited_message_is_known_in_each_of_its_versions() -> None:
    short, shorter = (Message("tool", text, "a", "run") for text in ("short", "shorter"))
    with Tract.open() as t:
        infos = t.record(HISTORY)
        for text in ("short", "shorter"):
            t.tool_result("a", "run", text, edit=infos[2])
        for shown in (HISTORY[2], short, shorter):
            assert t.record([*HISTORY[:2], shown, HISTORY[3]]) == []
        assert t.current_branch == "main"


def test_skipped_messages_are_known_hidden_shown_and_as_a_stand_in() -> None:
    with Tract.open() as t:
        infos = t.record(HISTORY)
        t.annotate(infos[2], Priority.SKIP)
        assert t.record([*HISTORY[:2], Message("tool", SKIPPED, "a", "run"), HISTORY[3]]) == []
        assert t.record(HISTORY) == []
        t.annotate(infos[1], Priority.SKIP)
        assert t.record([HISTORY[0], HISTORY[3]]) == []
        assert t.record(HISTORY) == []
        assert t.current_branch == "main"


def test_another_image_is_a_difference() -> None:
    def look(url: str) -> dict[str, Any]:
        image = {"type": "image", "source": {"type": "url", "url": url}}
        return {"role": "user", "content": [{"type": "text", "text": "look"}, image]}

    with Tract.open() as t:
        t.record([look("a")])
        assert t.record([look("a")]) == []
        assert len(t.record([look("b")])) == 1
        assert t.current_branch == "main-2"


def test_other_arguments_are_a_difference_but_not_their_spelling() -> None:
    def asked(arguments: Any) -> list[Message]:
        return [HISTORY[0], Message("assistant", (ToolCall("a", "run", arguments),))]

    with Tract.open() as t:
        t.record(asked({"x": 1, "y": 2}))
        assert t.record(asked('{"y": 2, "x":1}')) == []
        assert len(t.record(asked({"x": 2}))) == 1


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "last",
    [
        Message("tool", "boom", "a", "run", is_error=True),
        Message("tool", {"x": 1, "y": [None]}, "a", "run"),
        Message("tool", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "a"),
        Message("tool", "", "a", "run"),
        Message("user", "never mind"),
    ],
    ids=["error", "json", "blocks", "empty", "open call"],
)
def test_what_was_sent_is_known_when_it_comes_back(provider: str, last: Message) -> None:
    """An agent that keeps what it was given to send, appends to it and records the whole."""
    with Tract.open() as t:
        t.record([*HISTORY[:2], last, Message("assistant", "so")])
        context = t.compile()
        sent = context.to_openai() if provider == "openai" else context.to_anthropic()["messages"]
        assert t.record(sent) == []
        new = t.record([*sent, {"role": "user", "content": "and now?"}])
        assert [info.role for info in new] == ["user"]
        assert t.current_branch == "main"


def test_messages_that_were_joined_for_the_provider_are_known_when_they_come_back() -> None:
    with Tract.open() as t:
        t.record([Message("user", "one"), Message("user", "two"), Message("assistant", "three")])
        assert t.record(t.compile().to_anthropic()["messages"]) == []
        assert t.current_branch == "main"


def test_a_call_that_is_still_open_may_come_back_closed() -> None:
    with Tract.open() as t:
        t.record(HISTORY[:2])
        sent = t.compile().to_openai()
        assert NO_RESULT in sent[-1]["content"]
        new = t.record([*sent, {"role": "user", "content": "never mind"}])
        assert [info.role for info in new] == ["user"]
        assert sum(NO_RESULT in str(m["content"]) for m in t.compile().to_openai()) == 1


@given(tidy_histories())
def test_any_tidy_history_is_known_when_it_comes_back(history: list[Message]) -> None:
    with Tract.open() as t:
        t.record(history)
        assert t.record(t.compile().to_openai()) == []
        assert t.record(t.compile().to_anthropic()["messages"]) == []


@given(histories, st.data())
def test_recording_in_portions_equals_recording_at_once(
    history: list[Message], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(history)))
    with Tract.open() as one, Tract.open() as other:
        one.record(history)
        other.record(history[:cut])
        other.record(history)
        assert other.compile().to_openai() == one.compile().to_openai()
        assert list(one.branches()) == list(other.branches()) == ["main"]


def contents(t: Tract) -> Counter[tuple[str, str]]:
    """What would be sent, whatever the order of the results of one turn and the ids of strays."""
    sent = ((m["role"], str(m["content"])) for m in t.compile().to_openai())
    return Counter((role, re.sub(r"unknown call '.*?':\]\n", "", said)) for role, said in sent)


@given(histories, histories)
def test_after_recording_the_view_is_what_was_given(
    first: list[Message], second: list[Message]
) -> None:
    """Without system texts, which may be kept elsewhere, and blank ones, which one provider is
    never sent. All results are of one tool, and none is flagged as an error: two that differ only
    in that are the same, because some providers are not sent it."""
    first, second = (
        [
            replace(m, name="grep", is_error=False) if m.role == "tool" else m
            for m in h
            if m.role == "tool" or (m.role != "system" and atoms(m))
        ]
        for h in (first, second)
    )
    with Tract.open() as t, Tract.open() as fresh:
        t.record(first)
        t.record(second)
        fresh.record(second)
        shown, given = contents(t), contents(fresh)
        assert not given - shown
        if t.current_branch != "main":
            assert shown == given


@given(openai_messages())
def test_chat_histories_are_recorded_as_they_would_be_committed(
    history: list[dict[str, Any]],
) -> None:
    assert_recorded(history)


@given(anthropic_messages())
def test_anthropic_histories_are_recorded_as_they_would_be_committed(
    history: list[dict[str, Any]],
) -> None:
    assert_recorded(history)


def assert_recorded(history: list[dict[str, Any]]) -> None:
    with Tract.open() as one, Tract.open() as other:
        one.record(history)
        for message in history:
            other.commit(message)
        assert one.head == other.head
        assert one.record(history) == []


def test_the_same_history_in_another_providers_words_is_known() -> None:
    with Tract.open() as t:
        t.record(HISTORY)
        assert t.record(openai_form()) == t.record(anthropic_form()) == []
        assert t.current_branch == "main"


def openai_form() -> list[dict[str, Any]]:
    function = {"name": "run", "arguments": '{"x": 1}'}
    return [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [{"id": "a", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "long result"},
        {"role": "assistant", "content": "done"},
    ]


def anthropic_form() -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "a", "name": "run", "input": {"x": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": "long result"}],
        },
        {"role": "assistant", "content": "done"},
    ]


def test_two_calls_in_messages_of_their_own_are_known_as_they_are_sent() -> None:
    """Some agents write each parallel call as a message, and the results after all of them."""
    with Tract.open() as t:
        t.record([HISTORY[0]])
        for call in ("a", "b"):
            t.assistant(tool_calls=[ToolCall(call, "run", {"for": call})])
        for call in ("a", "b"):
            t.tool_result(call, "run", f"result of {call}")
        new = t.record([*t.compile().to_openai(), {"role": "user", "content": "next"}])
        assert [info.role for info in new] == ["user"]
        assert t.current_branch == "main"


def test_results_that_came_in_another_order_are_known() -> None:
    calls = Message("assistant", (ToolCall("a", "run", {}), ToolCall("b", "run", {})))
    a, b = (Message("tool", f"{name}\n" + "long\n" * 2000, name, "run") for name in ("a", "b"))
    with Tract.open() as t:
        t.configure_results(inline_tokens=100)
        t.record([HISTORY[0], calls, b, a])
        new = t.record([HISTORY[0], calls, a, b, Message("assistant", "done")])
        assert [info.role for info in new] == ["assistant"]
        assert list(t.branches()) == ["main"]


def test_histories_recorded_in_turn_keep_to_their_branches() -> None:
    one = [Message("user", "start"), Message("assistant", "one")]
    other = [Message("user", "start"), Message("assistant", "other")]
    with Tract.open() as t:
        for _ in range(3):
            t.record(one)
            t.record(other)
        one.append(Message("user", "more"))
        t.record(one)
        assert list(t.branches()) == ["main", "main-2"]
        assert t.current_branch == "main"
        assert t.compile(at="main").messages == one
        assert t.compile(at="main-2").messages == other


def test_what_was_forgotten_is_not_recorded_again() -> None:
    history = [Message("user", "the password is hunter2"), Message("assistant", "thanks")]
    with Tract.open() as t:
        first, _ = t.record(history)
        t.forget(first)
        assert t.record(history) == []
        assert len(t.record([*history, Message("user", "next")])) == 1
        assert list(t.branches()) == ["main"]
        assert "hunter2" not in str(t.compile().to_dicts())


def test_a_request_is_recorded_with_its_system_text() -> None:
    system = [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]
    request = {"system": system, "messages": [{"role": "user", "content": "hello"}]}
    with Tract.open() as t:
        assert len(t.record(request)) == 2
        assert t.record(request) == []
        assert t.compile().to_anthropic() == request


def test_arguments_that_no_request_can_hold_are_recorded() -> None:
    for arguments in ('{"a": 1e999}', "[" * 300 + "]" * 300):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        history: list[dict[str, Any]] = [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ]
        with Tract.open() as t:
            t.record(history)
            assert t.record(history) == []
            used = t.compile().to_anthropic()["messages"][1]["content"][0]
            assert used["input"] == {"raw_arguments": arguments}


@pytest.mark.parametrize("form", ["reference", "truncated", "summary", "collapsed"])
@pytest.mark.parametrize("provider", ["to_openai", "to_anthropic"])
def test_a_result_is_known_in_any_form(form: str, provider: str) -> None:
    with Tract.open() as t:
        t.user("go")
        calls = [ToolCall("a", "run", {"x": 1}), ToolCall("b", "run", {"x": 2})]
        t.assistant("ok", tool_calls=calls)
        for call in calls:
            t.tool_result(call.id, "run", f"{call.id} line\n" * 2_000, form=form)
        t.user("and?")
        sent = getattr(t.compile(), provider)()
        assert t.record(sent) == []
        messages = sent["messages"] if isinstance(sent, dict) else sent
        messages.append({"role": "assistant", "content": "done"})
        assert [info.role for info in t.record(sent)] == ["assistant"]
        assert t.record(getattr(t.compile(load_tool_results=True), provider)()) == []
        assert t.current_branch == "main"


def test_a_list_of_another_format_is_known() -> None:
    """A refusal is a part of two formats."""
    refusal = {"type": "message", "role": "assistant", "content": [REFUSAL]}
    with Tract.open(tokens="estimate") as t:
        t.record({"input": [{"role": "user", "content": "q"}, refusal]})
        assert t.record(t.compile().to_responses()) == []
        assert t.current_branch == "main"


def test_tools_that_changed_at_the_end_and_back_are_known() -> None:
    """The list of tools is that of the request without the changes, too."""
    with Tract.open(tokens="estimate") as t:
        t.user("q", tools=[claude_tool("ls")])
        for answer, name in (("a", "cat"), ("b", "ls")):
            t.assistant(answer)
            t.set_tools([claude_tool(name)])
        t.user("n")
        assert t.record(t.compile().to_anthropic_params()) == []
        request = t.compile(tools="inline").to_anthropic_params()
        assert t.record(request) == []
        request["messages"].append({"role": "assistant", "content": "c"})
        assert [info.role for info in t.record(request)] == ["assistant"]


@pytest.mark.parametrize(
    "last", [Message("user", START), Message("tool", f"NO_RESULT = {NO_RESULT}", "a", "run")]
)
def test_a_message_that_has_the_words_of_a_stand_in_is_new(last: Message) -> None:
    history = HISTORY[:2] if last.role == "tool" else HISTORY
    with Tract.open(tokens="estimate") as t:
        t.record(history)
        assert [info.role for info in t.record([*history, last])] == [last.role]
        assert t.record([*history, last]) == []
        for provider in ("openai", "anthropic", "responses", "gemini"):
            assert t.record(t.compile().to_messages(provider)) == []


def test_another_result_is_not_taken_for_a_form() -> None:
    with Tract.open() as t:
        t.record(HISTORY[:2])
        t.tool_result("a", "run", "line\n" * 2_000, form="reference")
        t.record([*HISTORY[:2], Message("tool", "something else", "a", "run")])
        assert t.current_branch == "main-2"


def test_a_result_without_a_call_is_known_in_another_form() -> None:
    with Tract.open() as t:
        t.user("go")
        t.tool_result("nobody", "run", "line\n" * 2_000, form="reference")
        t.user("and?")
        assert t.record(t.compile().to_openai()) == []
        assert t.current_branch == "main"


def test_a_turn_that_still_waits_is_compared_too() -> None:
    with Tract.open() as t:
        t.assistant("", tool_calls=[ToolCall("a", "grep"), ToolCall("a", "grep")])
        t.tool_result("a", "grep", "x")
        t.record([Message("user", "other")])
        assert t.current_branch == "main-2"


# After compressing

PROVIDERS = ["to_openai", "to_anthropic"]
LONGER = [
    *HISTORY,
    Message("user", "once more"),
    Message("assistant", (Text("ok again"), ToolCall("b", "run", {"x": 2}))),
    Message("tool", "another result", "b", "run"),
    Message("assistant", "done again"),
]


def given_on(sent: Any, text: str) -> Any:
    """What was sent, and then something more that was said."""
    more = {"role": "user", "content": text}
    if isinstance(sent, dict):
        return {**sent, "messages": [*sent["messages"], more]}
    return [*sent, more]


def goes_on(t: Tract, sent: Any) -> None:
    """The given history is known, and what is new in it is added to this branch."""
    assert t.record(sent) == []
    before = t.compile().commit_hashes
    assert [info.preview for info in t.record(given_on(sent, "new"))] == ["new"]
    assert t.compile().commit_hashes[:-1] == before
    assert t.record(given_on(sent, "new")) == []
    assert list(t.branches()) == ["main"]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("start", "end"), [(0, 4), (1, 3), (3, 5), (4, 8), (0, 8)])
def test_who_has_the_originals_goes_on_after_a_compression(
    provider: str, start: int, end: int
) -> None:
    with Tract.open() as t:
        commits = t.record(LONGER)
        sent = getattr(t.compile(), provider)()
        t.compress(commits[start:end], content="in short")
        goes_on(t, sent)
        assert t.compile().messages[start].text.endswith("in short")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 4), (1, 3), (3, 5), (4, 8), (0, 8)])
def test_who_has_the_summary_goes_on(provider: str, start: int, end: int) -> None:
    with Tract.open() as t:
        commits = t.record(LONGER)
        t.compress(commits[start:end], content="in short")
        goes_on(t, getattr(t.compile(), provider)())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_who_has_one_of_two_summaries_goes_on(provider: str) -> None:
    with Tract.open() as t:
        commits = t.record(LONGER)
        t.compress(commits[1:3], content="the first")
        sent = getattr(t.compile(), provider)()
        t.compress(commits[5:7], content="the second")
        goes_on(t, sent)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("known", ["originals", "inner", "outer"])
def test_who_has_any_of_nested_summaries_goes_on(provider: str, known: str) -> None:
    with Tract.open() as t:
        commits = t.record(LONGER)
        sent = {"originals": getattr(t.compile(), provider)()}
        inner = t.compress(commits[1:3], content="the inner one").summaries
        sent["inner"] = getattr(t.compile(), provider)()
        t.compress([commits[0], *inner, commits[3]], content="the outer one")
        sent["outer"] = getattr(t.compile(), provider)()
        goes_on(t, sent[known])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_who_has_the_summary_goes_on_after_its_edit(provider: str) -> None:
    with Tract.open() as t:
        commits = t.record(LONGER)
        (summary,) = t.compress(commits[:4], content="in short").summaries
        sent = getattr(t.compile(), provider)()
        t.user("in other words", edit=summary)
        goes_on(t, sent)
        goes_on(t, getattr(t.compile(), provider)())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_who_has_the_originals_goes_on_after_an_undo(provider: str) -> None:
    with Tract.open() as t:
        commits = t.record(LONGER)
        sent = getattr(t.compile(), provider)()
        t.restore(*t.compress(commits[:4], content="in short").summaries)
        goes_on(t, sent)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_late_results_and_a_summary(provider: str) -> None:
    with Tract.open() as t:
        t.user("go")
        call = t.assistant("", tool_calls=[ToolCall("a", "run", {}), ToolCall("b", "run", {})])
        first = t.tool_result("b", "run", "b says")
        t.user("wait")
        late = t.tool_result("a", "run", "a says")
        sent = getattr(t.compile(), provider)()
        t.compress([call, first, late], content="both said it")
        goes_on(t, sent)
        goes_on(t, getattr(t.compile(), provider)())


@pytest.mark.parametrize("at", [0, 2, 5])
def test_another_history_is_a_difference_after_a_compression_too(at: int) -> None:
    with Tract.open() as t:
        commits = t.record(LONGER)
        t.compress(commits[1:4], content="in short")
        changed = replace(LONGER[at], content="something else")
        given = [*LONGER[:at], changed, *LONGER[at + 1 :]]
        t.record(given)
        assert t.current_branch == "main-2"
        assert t.compile().messages == given


def test_a_request_that_forgets_what_the_summary_stands_for_is_a_difference() -> None:
    with Tract.open() as t:
        commits = t.record(LONGER)
        t.compress(commits[1:3], content="in short")
        t.record([LONGER[0], *LONGER[3:]])
        assert t.current_branch == "main-2"


@settings(max_examples=40)
@given(tidy_histories(), st.data())
def test_any_history_is_known_before_and_after_a_compression(
    history: list[Message], data: st.DataObject
) -> None:
    with Tract.open() as t:
        t.record(history)
        provider = data.draw(st.sampled_from(PROVIDERS))
        before = getattr(t.compile(), provider)()
        units = [turn.all_hashes for turn in t.find_tool_turns()]
        grouped = {commit for unit in units for commit in unit}
        units += [[commit] for commit in t.compile().commit_hashes if commit not in grouped]
        chosen = data.draw(st.lists(st.sampled_from(units), min_size=1, unique_by=tuple))
        t.llm = ScriptedLLM([f"in short {number}" for number in range(len(history))])
        t.compress([commit for unit in chosen for commit in unit])
        after = getattr(t.compile(), provider)()
        goes_on(t, before)
        assert t.record(after) == []
        assert t.current_branch == "main"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_summary_behind_an_open_call_is_known(provider: str) -> None:
    with Tract.open() as t:
        t.user("go")
        t.assistant("", tool_calls=[ToolCall("a", "run", {})])
        t.compress([t.user("never mind")], content="in short")
        t.assistant("ok")
        goes_on(t, getattr(t.compile(), provider)())


def response(number: int, **call: str) -> dict[str, Any]:
    return {"id": f"resp_{number}", "object": "response", "output": [call]}


def test_a_request_that_has_only_what_is_new_goes_on_where_it_belongs() -> None:
    with Tract.open() as t:
        goes_on_behind_a_response(t)


def goes_on_behind_a_response(t: Tract) -> None:
    asked = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
    told = {"type": "function_call_output", "call_id": "c1", "output": "src"}
    t.record({"model": "m", "input": "list"}, response(1, **asked))
    second = {"model": "m", "previous_response_id": "resp_1", "input": [told]}
    t.record(second, response(2, type="function_call", call_id="c2", name="ls", arguments="{}"))
    assert [m.role for m in t.compile().messages] == ["user", "assistant", "tool", "assistant"]
    assert t.current_branch == "main"
    other = {"model": "m", "previous_response_id": "resp_1", "input": [{**told, "output": "lib"}]}
    t.record(other)
    assert [m.text for m in t.compile().messages][2:] == ["lib"]
    assert t.current_branch == "main-2"
    with pytest.raises(InputError, match="resp_9"):
        t.record({"model": "m", "previous_response_id": "resp_9", "input": [told]})
    assert t.fsck().ok


# Texts of earlier versions


def replaced(value: Any, old: str, new: str) -> Any:
    """The value with one text for another in every string."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {key: replaced(item, old, new) for key, item in value.items()}
    return [replaced(item, old, new) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("provider", ["to_openai", "to_anthropic", "to_responses", "to_gemini"])
def test_what_earlier_versions_sent_is_known(provider: str) -> None:
    with Tract.open() as t:
        t.user("go")
        t.assistant("ok", tool_calls=[ToolCall("a", "run"), ToolCall("b", "run")])
        t.tool_result("a", "run", "line\n" * 2_000, form="collapsed")
        t.tool_result("b", "run", "no\n" * 2_000, form="collapsed", is_error=True)
        t.tool_result("lost", "ls", "a stray result")
        t.assistant("well", tool_calls=[ToolCall("c", "run")])
        t.tool_result("c", "run", "line\n" * 2_000, form="reference")
        t.user("and?")
        sent = getattr(t.compile(), provider)()
        for now, before in (
            ("[Called run (a); result", "[Tool: run | Result summarized — call a]"),
            ("[Called run (b); failed; result", "[Tool: run | Result summarized — call b | error]"),
        ):
            assert now in str(sent)
            sent = replaced(sent, f"{now} not shown]", before)
        now = "[Result of ls for an unknown call 'lost':]"
        sent = replaced(sent, now, "[A result of ls that no open call 'lost' waited for:]")
        hint = 'get_tool_result(id="c")'
        now = f"[preview only; call {hint} for the full result]"
        sent = replaced(sent, now, f"[not shown whole; {hint} has the rest]")
        assert "[not shown whole" in str(sent)
        assert t.record(sent) == []
        assert t.current_branch == "main"


# What is sent


def late_system(t: Tract) -> None:
    t.user("q")
    t.assistant("", tool_calls=[ToolCall("a", "ls", {})])
    t.system("s")


def system_behind_a_stray(t: Tract) -> None:
    t.user("q")
    t.tool_result("z", "ls", "stray")
    t.system("s")


def system_behind_a_summary(t: Tract) -> None:
    t.compress([t.user("q")], content="in short")
    t.user("n")
    t.system("s")


def two_systems_around_a_summary(t: Tract) -> None:
    t.system("a")
    t.compress([t.user("q")], content="in short")
    t.system("b")
    t.assistant("x")


def calls_without_tools(t: Tract) -> None:
    t.user("q")
    t.assistant("", tool_calls=[ToolCall("a", "run", {})])
    t.tool_result("a", "run", "line\n" * 200, form="reference")


def tools_of_anthropic(t: Tract) -> None:
    t.user("q", tools=[claude_tool("a tool!"), claude_tool("run", x="string")])


def changed_tools(t: Tract) -> None:
    t.user("q", tools=[claude_tool("ls")])
    t.assistant("x")
    t.user("n", tools=[claude_tool("ls"), claude_tool("run")])


SENT = [
    late_system,
    system_behind_a_stray,
    system_behind_a_summary,
    two_systems_around_a_summary,
    calls_without_tools,
    tools_of_anthropic,
    changed_tools,
]


@pytest.mark.parametrize("tools", ["latest", "inline"])
@pytest.mark.parametrize("tell", SENT)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "responses", "gemini"])
def test_what_is_sent_writes_nothing(
    provider: str, tell: Callable[[Tract], None], tools: str
) -> None:
    with Tract.open() as t:
        tell(t)
        head = t.head
        context = t.compile(tools=tools)
        assert t.record(context.to_messages(provider)) == []
        assert t.record(context.to_params(provider)) == []
        assert (t.head, t.current_branch) == (head, "main")


def test_a_late_result_reaches_its_call_past_a_collapsed_turn() -> None:
    with Tract.open() as t:
        t.user("q")
        t.assistant("", tool_calls=[ToolCall("first call", "run", {})])
        t.user("wait")
        t.assistant("", tool_calls=[ToolCall("second call", "run", {})])
        t.tool_result("second call", "run", "line\n" * 200, form="collapsed")
        t.user("n")
        sent = t.compile().to_openai()
        (wire,) = [call["id"] for m in sent for call in m.get("tool_calls", ())]
        (info,) = t.record([*sent, {"role": "tool", "tool_call_id": wire, "content": "late"}])
        assert info.tool_call_id == "first call"
        assert not any("result" in note for note in t.compile().notes)


def test_other_tools_in_what_is_sent_are_recorded() -> None:
    with Tract.open() as t:
        changed_tools(t)
        request = t.compile().to_anthropic_params()
        tools = [claude_tool("ls")]  # those before the change, and not among the messages
        assert [info.operation for info in t.record({**request, "tools": tools})] == ["mark"]
        assert t.get_tools() == tools


def test_a_beginning_of_what_is_sent_writes_nothing() -> None:
    with Tract.open() as t:
        two_systems_around_a_summary(t)
        request = t.compile().to_anthropic()
        t.user("more")
        t.assistant("yes")
        assert t.record(request) == []
        assert t.current_branch == "main"


def test_recording_is_not_a_view_that_the_next_one_is_compared_with() -> None:
    with Tract.open() as t:
        t.user("q")
        t.compile()
        t.user("n")
        t.record([Message("user", "q"), Message("user", "n"), Message("user", "o")])
        assert t.compile().first_changed == 1


@settings(max_examples=300)
@given(st.integers(0, 2**32))
def test_a_walk_that_goes_on_ends_as_one_from_the_start(seed: int) -> None:
    random = Random(seed)
    texts = ["one", "two", START, NO_RESULT, ""]
    pool = [Message(role, text) for role in ("system", "user", "tool") for text in texts]
    history: list[Message] = []
    sent: list[Message] = []
    walk = Walk()
    for _ in range(12):
        for _ in range(random.randint(0, 4)):
            message = random.choice(pool)
            history.append(message)
            if random.random() < 0.95:
                sent.append(message)
        for messages in (history, sent):
            if messages and random.random() < 0.2:
                messages[random.randrange(len(messages))] = random.choice(pool)
            if messages and random.random() < 0.1:
                del messages[random.randrange(len(messages)) :]
        assert walk.go_on(list(history), list(sent)) == Walk().go_on(history, sent)
