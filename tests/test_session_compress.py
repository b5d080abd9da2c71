"""Compressing from the outside, with a scripted model and with given summaries. On both databases
where something is stored; refusals need none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests.serving import open_tract
from tests.summarizing import any_length
from tests.toolkit import claude_tool, in_the_end, names, tool
from tests.validity import violations
from tract import (
    CommitInfo,
    CommitNotFoundError,
    CompressError,
    ConflictError,
    EditError,
    InputError,
    LLMAnswerError,
    LLMCallError,
    Message,
    NoLLMError,
    Priority,
    ToolCall,
    Tract,
)
from tract.core.wording import NO_RESULT, SKIPPED
from tract.llm import ScriptedLLM
from tract.llm.summarizer import (
    CONVERSATION_SUMMARIZE_SYSTEM,
    DEFAULT_SUMMARIZE_SYSTEM,
    TOOL_SUMMARIZE_SYSTEM,
)
from tract.providers.validate import validate

PINNED, SKIP, NORMAL = Priority.PINNED, Priority.SKIP, Priority.NORMAL
LISTING = "".join(f"src/mod{n}.py: 12 lines\n" for n in range(300))


ON_SERVERS = True


@pytest.fixture
def t(db: str) -> Iterator[Tract]:
    with open_tract(db) as opened:
        yield opened


@pytest.fixture
def quick() -> Iterator[Tract]:
    """In memory, for what never reaches the database."""
    with Tract.open() as opened:
        yield opened


@pytest.fixture
def exact() -> None:
    """For tests in which only a shorter summary is used."""


@pytest.fixture(autouse=True)
def _any_length(request: pytest.FixtureRequest) -> Iterator[None]:
    with nullcontext() if "exact" in request.fixturenames else any_length():
        yield


def turn(t: Tract, *ids: str, name: str = "ls", content: Any = "src") -> list[CommitInfo]:
    """Calls in one message, and their results."""
    call = t.assistant("", tool_calls=[ToolCall(call_id, name, {}) for call_id in ids])
    return [call, *(t.tool_result(call_id, name, content) for call_id in ids)]


def four(t: Tract) -> list[CommitInfo]:
    """An instruction and three messages."""
    said = [t.system("be brief"), t.user("one"), t.assistant("two"), t.user("three")]
    assert texts(t) == ["be brief", "one", "two", "three"]
    return said


def texts(t: Tract, **view: Any) -> list[str]:
    """What is shown, of a summary just the text."""
    shown = [message.text for message in t.compile(**view).messages]
    return [text.partition("]\n")[2] if text.startswith("[Summary") else text for text in shown]


def hashes(commits: list[CommitInfo]) -> list[str]:
    return [commit.commit_hash for commit in commits]


def asked(llm: ScriptedLLM, number: int = -1) -> tuple[str, str]:
    """The prompt and the request that the model got."""
    prompt, request = llm.requests[number].messages
    return prompt.text, request.text


def sent(t: Tract) -> list[Any]:
    context = t.compile()
    return [context.to_openai(), context.to_anthropic(), context.to_responses()]


# What is chosen


def test_a_summary_stands_where_the_messages_stood(t: Tract, db: str) -> None:
    said = four(t)
    result = t.compress(said[1:3], content="one and two")
    assert texts(t) == ["be brief", "one and two", "three"]
    message = t.compile().messages[1]
    assert message == Message("user", "[Summary of 2 earlier messages]\none and two")
    (summary,) = result.summaries
    assert (summary.operation, summary.role) == ("compress", "user")
    assert summary.replaces == tuple(result.sources) == tuple(hashes(said[1:3]))
    assert summary.metadata == {"summary": {"made_by": "given"}}
    assert (result.made_by, result.preserved) == ("given", [])
    assert t.head == summary.commit_hash
    with open_tract(db) as other:
        assert sent(other) == sent(t)
        assert other.fsck().ok


def test_tokens_before_and_after(t: Tract) -> None:
    said = [t.user("word " * 100), t.assistant("word " * 100), t.user("next")]
    before = t.compile().token_count
    result = t.compress(said[:2], content="words")
    assert result.tokens_before == said[0].token_count + said[1].token_count
    assert result.tokens_after == result.summaries[0].token_count
    assert result.ratio == result.tokens_after / result.tokens_before < 0.2
    saved = result.tokens_before - result.tokens_after
    assert t.compile().token_count == before - saved


def test_nothing_else_is_dropped_and_more_can_be_said(t: Tract) -> None:
    said = [t.user(f"{number}") for number in range(10)]
    t.compress(said[2:4], content="2 and 3")
    t.user("10")
    assert texts(t) == ["0", "1", "2 and 3", *map(str, range(4, 11))]


def test_the_order_of_the_list_does_not_matter(quick: Tract) -> None:
    said = four(quick)
    result = quick.compress([said[3], said[1], said[2], said[1]], content="all")
    assert result.sources == hashes(said[1:])
    assert texts(quick) == ["be brief", "all"]


@pytest.mark.parametrize("named", ["original", "edit", "prefix"])
def test_edits_are_read_as_edited(t: Tract, named: str) -> None:
    old = t.user("the first version")
    new = t.user("the second version", edit=old)
    t.user("next")
    t.llm = llm = ScriptedLLM(["in short"])
    commit: Any = {"original": old, "edit": new, "prefix": old.commit_hash[:12]}[named]
    result = t.compress([commit])
    assert result.sources == [new.commit_hash]
    assert "the second version" in asked(llm)[1]
    assert "the first version" not in asked(llm)[1]
    assert texts(t) == ["in short", "next"]
    t.restore(*result.summaries)
    assert texts(t) == ["the second version", "next"]


def test_an_instruction_that_is_listed_is_compressed(quick: Tract) -> None:
    said = four(quick)
    quick.compress(said[:2], content="be brief, one")
    assert texts(quick) == ["be brief, one", "two", "three"]


def test_what_is_skipped_is_not_in_the_view(quick: Tract) -> None:
    said = four(quick)
    quick.annotate(said[2], SKIP)
    with pytest.raises(CompressError, match="none of it is in the view"):
        quick.compress([said[2]], content="x")
    result = quick.compress(said[1:], content="one and three")
    assert result.sources == hashes([said[1], said[3]])  # neighbours in the view
    assert texts(quick) == ["be brief", "one and three"]
    quick.annotate(said[2], NORMAL)
    assert texts(quick) == ["be brief", "one and three", "two"]


def test_a_skipped_result_is_told_by_its_stand_in(quick: Tract) -> None:
    members = turn(quick, "a", content="a secret")
    quick.annotate(members[1], SKIP)
    quick.llm = llm = ScriptedLLM(["in short"])
    quick.compress(members)
    assert SKIPPED in asked(llm)[1]
    assert "a secret" not in asked(llm)[1]


@pytest.mark.parametrize("wrong", ["unknown", "mark", "other branch", "other dialog", "list"])
def test_what_is_no_selection(tmp_path: Path, wrong: str) -> None:
    with Tract.open(tmp_path / "t.db") as t, Tract.open(tmp_path / "t.db", dialog="b") as other:
        here = t.user("here")
        t.branch("side")
        t.checkout("side")
        there = t.user("there")
        t.checkout("main")
        elsewhere, mark = other.user("else"), t.annotate(here, PINNED)
        t.annotate(here, NORMAL)
        given: Any
        given, error = {
            "unknown": (["f" * 64], CommitNotFoundError),
            "mark": ([mark], EditError),
            "other branch": ([here, there], EditError),
            "other dialog": ([elsewhere], CommitNotFoundError),
            "list": (here, InputError),
        }[wrong]
        before = t.head
        for choice in ({"commits": given}, {"commits": [here], "preserve": given}):
            with pytest.raises(error):
                t.compress(**choice, content="x")
        assert t.head == before


def test_an_empty_list_and_an_empty_history(quick: Tract) -> None:
    with pytest.raises(CompressError, match="nothing to compress"):
        quick.compress(content="x")
    four(quick)
    with pytest.raises(CompressError, match="nothing to compress"):
        quick.compress([], content="x")


def test_a_list_and_a_range_at_once(quick: Tract) -> None:
    said = four(quick)
    with pytest.raises(InputError, match="not both"):
        quick.compress(said, said[0], content="x")


@pytest.mark.parametrize("content", ["", "  \n", 7, ["a"]])
def test_a_given_summary_says_something(quick: Tract, content: Any) -> None:
    said = four(quick)
    with pytest.raises(InputError, match="a text that says something"):
        quick.compress(said, content=content)


def test_all_pinned(quick: Tract) -> None:
    said = four(quick)
    for commit in said[1:]:
        quick.annotate(commit, PINNED)
    head = quick.head
    for choice in ({"commits": said[1:]}, {}, {"commits": [said[0]], "preserve": [said[0]]}):
        with pytest.raises(CompressError, match="pinned, or to be preserved"):
            quick.compress(**choice, content="x")  # type: ignore[call-overload]
    assert quick.head == head


# Turns


def test_a_turn_is_compressed_as_a_whole(t: Tract) -> None:
    t.user("go")
    members = turn(t, "a", "b")
    t.assistant("done")
    result = t.compress(members, content="listed twice")
    assert result.sources == hashes(members)
    assert texts(t) == ["go", "listed twice", "done"]
    assert violations(t.compile()) == []
    assert (
        t.compile()
        .messages[1]
        .text.startswith(
            '[Summary of 3 earlier messages; call get_tool_result(id="…") for the full result of '
            "a (ls), b (ls)]\n"
        )
    )


@pytest.mark.parametrize("chosen", [[0], [1], [2], [0, 1], [0, 2], [1, 2]])
def test_a_part_of_a_turn_is_refused_with_what_is_missing(quick: Tract, chosen: list[int]) -> None:
    members = turn(quick, "a", "b")
    quick.user("next")
    with pytest.raises(CompressError) as caught:
        quick.compress([members[n] for n in chosen], content="x")
    missing = [commit.commit_hash for n, commit in enumerate(members) if n not in chosen]
    assert str(caught.value).endswith(f"also needed: {', '.join(missing)}")
    assert len(list(quick.log())) == 4


def test_what_is_missing_is_named_by_its_edit(quick: Tract) -> None:
    call, result = turn(quick, "a")
    edit = quick.tool_result("a", "ls", "less", edit=result)
    with pytest.raises(CompressError, match=edit.commit_hash):
        quick.compress([call], content="x")


def test_a_late_result_goes_with_its_call(quick: Tract) -> None:
    call = quick.assistant("", tool_calls=[ToolCall("a", "ls", {})])
    wait = quick.user("wait")
    late = quick.tool_result("a", "ls", "src")
    with pytest.raises(CompressError, match=late.commit_hash):
        quick.compress([call], content="x")
    result = quick.compress([call, late], content="listed")
    assert texts(quick) == ["listed", "wait"]
    assert result.sources == [call.commit_hash, late.commit_hash]
    assert wait.commit_hash in quick.compile().commit_hashes


def test_a_reused_id(quick: Tract) -> None:
    first, second = turn(quick, "a", content="old"), turn(quick, "a", content="new")
    quick.compress(first, content="the old one")
    assert texts(quick) == ["the old one", "", "new"]
    assert violations(quick.compile()) == []
    assert quick.get_tool_result("a").endswith("\nold")
    assert quick.get_tool_result("a#2").endswith("\nnew")
    assert second[0].commit_hash in quick.compile().commit_hashes


def test_a_result_that_comes_after_its_call_was_compressed(t: Tract) -> None:
    call = t.assistant("", tool_calls=[ToolCall("a", "ls", {})])
    t.user("never mind")
    t.compress([call], content="listing was begun")
    late = t.tool_result("a", None, "src")
    assert late.name == "ls"
    assert [m.role for m in t.compile().messages] == ["user", "user", "tool"]
    assert "src" in str(t.compile().to_openai()[-1])
    assert violations(t.compile()) == []
    t.compress([late], content="it listed src")
    assert texts(t) == ["listing was begun", "never mind", "it listed src"]


def test_a_late_result_of_a_compressed_call_stands_where_it_came(quick: Tract) -> None:
    call = quick.assistant("", tool_calls=[ToolCall("a", "ls", {})])
    first = quick.user("first")
    quick.compress([call], content="listing was begun")
    quick.user("second")
    late = quick.tool_result("a", "ls", "src")
    quick.llm = ScriptedLLM(["x", "y"])
    quick.compress([first, late])
    assert texts(quick) == ["listing was begun", "x", "second", "y"]


def test_a_call_does_not_come_back_without_its_result(quick: Tract) -> None:
    call = quick.assistant("", tool_calls=[ToolCall("a", "ls", {})])
    quick.user("wait")
    first = quick.compress([call], content="listing was begun").summaries
    quick.compress([quick.tool_result("a", "ls", "src")], content="src")
    try:
        quick.restore(*first)
    except EditError:
        return
    assert NO_RESULT not in str(sent(quick))


# What stays


@pytest.mark.parametrize("how", ["preserve", "pinned"])
def test_what_stays_in_the_middle_divides_the_summary(t: Tract, how: str) -> None:
    said = [t.user(f"{number}") for number in range(5)]
    llm = t.llm = ScriptedLLM(["0 and 1", "3 and 4"])
    preserve = [said[2]] if how == "preserve" else []
    if how == "pinned":
        t.annotate(said[2], PINNED)
    result = t.compress(said, preserve=preserve)
    assert texts(t) == ["0 and 1", "2", "3 and 4"]
    assert [info.replaces for info in result.summaries] == [
        tuple(hashes(said[:2])),
        tuple(hashes(said[3:])),
    ]
    assert result.preserved == [said[2].commit_hash]
    assert len(llm.requests) == 2
    t.restore(*result.summaries)
    assert texts(t) == ["0", "1", "2", "3", "4"]


def test_one_content_for_two_groups_is_refused(quick: Tract) -> None:
    said = four(quick)
    head = quick.head
    with pytest.raises(CompressError, match="2 groups"):
        quick.compress([said[1], said[3]], content="x")
    assert quick.head == head


@pytest.mark.parametrize("member", [0, 1, 2])
@pytest.mark.parametrize("how", ["preserve", "pinned"])
def test_a_member_that_stays_keeps_its_whole_turn(quick: Tract, member: int, how: str) -> None:
    ask = quick.user("go")
    members = turn(quick, "a", "b")
    preserve = [members[member]] if how == "preserve" else []
    if how == "pinned":
        quick.annotate(members[member], PINNED)
    result = quick.compress([ask, *members], preserve=preserve, content="asked")
    assert result.sources == [ask.commit_hash]
    assert result.preserved == hashes(members)
    assert texts(quick) == ["asked", "", "src", "src"]
    assert violations(quick.compile()) == []


# Ranges


def test_the_ends_of_a_range_belong_to_it(t: Tract) -> None:
    said = [t.user(f"{number}") for number in range(5)]
    result = t.compress(from_commit=said[1], to_commit=said[3], content="1 to 3")
    assert texts(t) == ["0", "1 to 3", "4"]
    assert result.sources == hashes(said[1:4])


@pytest.mark.parametrize(
    ("start", "end", "left"),
    [(2, None, ["0", "1", "x"]), (None, 1, ["x", "2"]), (1, 1, ["0", "x", "2"])],
)
def test_a_range_with_open_ends(
    quick: Tract, start: int | None, end: int | None, left: list[str]
) -> None:
    said = [quick.user(f"{number}") for number in range(3)]
    first, last = (None if n is None else said[n] for n in (start, end))
    quick.compress(from_commit=first, to_commit=last, content="x")
    assert texts(quick) == left


def test_a_range_that_ends_before_it_begins(quick: Tract) -> None:
    said = four(quick)
    with pytest.raises(CompressError, match="ends before it begins"):
        quick.compress(from_commit=said[2], to_commit=said[1], content="x")


def test_a_range_leaves_instructions_and_pinned_ones(quick: Tract) -> None:
    said = [*four(quick), quick.system("be kind"), quick.user("four"), quick.user("five")]
    quick.annotate(said[5], PINNED)
    quick.llm = ScriptedLLM(["x", "y"])
    result = quick.compress()
    assert texts(quick) == ["be brief", "x", "be kind", "four", "y"]
    assert result.preserved == hashes([said[0], said[4], said[5]])


def test_a_range_leaves_a_call_that_still_waits(quick: Tract) -> None:
    quick.user("go")
    call = quick.assistant("", tool_calls=[ToolCall("a", "ls", {}), ToolCall("b", "ls", {})])
    first = quick.tool_result("a", "ls", "src")
    result = quick.compress(content="asked")
    assert result.preserved == hashes([call, first])
    quick.tool_result("b", "ls", "docs")
    assert texts(quick) == ["asked", "", "src", "docs"]
    assert NO_RESULT not in str(sent(quick))


def test_a_call_that_was_given_up_is_in_the_range(quick: Tract) -> None:
    quick.assistant("", tool_calls=[ToolCall("a", "ls", {})])
    quick.user("never mind")
    quick.compress(content="given up")
    assert texts(quick) == ["given up"]


def test_a_range_between_edits_marks_and_summaries(quick: Tract) -> None:
    said = [quick.user(f"{number}") for number in range(6)]
    edit = quick.user("1, edited", edit=said[1])
    inner = quick.compress(said[2:4], content="2 and 3").summaries[0]
    quick.compress(from_commit=edit, to_commit=inner, content="1 to 3")
    assert texts(quick) == ["0", "1 to 3", "4", "5"]


def test_a_range_from_a_source_starts_at_its_place(quick: Tract) -> None:
    said = [quick.user(f"{number}") for number in range(5)]
    quick.compress(said[1:3], content="1 and 2")
    quick.compress(from_commit=said[1], to_commit=said[3], content="1 to 3")
    assert texts(quick) == ["0", "1 to 3", "4"]


# What the model is told


def test_the_request_says_what_was_asked_for(t: Tract) -> None:
    said = four(t)
    llm = t.llm = ScriptedLLM([{"role": "assistant", "content": "in short"}], model="tiny")
    result = t.compress(said[1:], instructions="keep the NUMBERS", target_tokens=77)
    prompt, request = asked(llm)
    assert prompt == CONVERSATION_SUMMARIZE_SYSTEM
    assert "keep the NUMBERS" in request
    assert "77 tokens" in request
    assert request.index("[user]\none") < request.index("[assistant]\ntwo")
    assert (result.made_by, llm.requests[0].tools) == ("tiny", [])
    assert result.summaries[0].metadata == {"summary": {"made_by": "tiny"}}


def test_the_prompt_follows_what_is_compressed(quick: Tract) -> None:
    ask, members = quick.user("go"), turn(quick, "a")
    for chosen, prompt in [
        ([ask], CONVERSATION_SUMMARIZE_SYSTEM),
        (members, TOOL_SUMMARIZE_SYSTEM),
        ([ask, *members], DEFAULT_SUMMARIZE_SYSTEM),
    ]:
        llm = quick.llm = ScriptedLLM(["in short"])
        quick.compress(chosen, review=True)
        assert asked(llm)[0] == prompt
    llm = quick.llm = ScriptedLLM(["in short"])
    quick.compress(members, system_prompt="be a poet", review=True)
    assert asked(llm)[0] == "be a poet"


def test_what_the_model_used_is_kept(quick: Tract) -> None:
    said = four(quick)
    usage = {"prompt_tokens": 30, "completion_tokens": 5}
    reply = {"choices": [{"message": {"role": "assistant", "content": "x"}}], "usage": usage}
    quick.llm = ScriptedLLM([reply], model="tiny")
    (summary,) = quick.compress(said[1:]).summaries
    assert summary.metadata == {"summary": {"made_by": "tiny", "usage": usage}}


def test_without_a_model_and_without_content(quick: Tract) -> None:
    said = four(quick)
    with pytest.raises(NoLLMError, match="llm="):
        quick.compress(said)
    assert quick.head == said[-1].commit_hash


@pytest.mark.parametrize(
    "reply",
    [
        LLMCallError("down"),
        "",
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "x", "name": "ls", "input": {}}],
        },
        KeyboardInterrupt,
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_all_summaries_or_none(quick: Tract, reply: Any, number: int) -> None:
    said = [quick.user(f"{number}") for number in range(3)]
    quick.llm = ScriptedLLM([*["fine"] * number, reply])
    with pytest.raises((LLMCallError, LLMAnswerError, KeyboardInterrupt)):
        quick.compress([said[0], said[2]])
    assert texts(quick) == ["0", "1", "2"]
    assert quick.head == said[-1].commit_hash
    assert quick.fsck().ok


def test_inside_a_batch_no_model_is_asked(quick: Tract) -> None:
    said = four(quick)
    llm = quick.llm = ScriptedLLM(["x"])
    with quick.batch():
        with pytest.raises(ConflictError, match="batch"):
            quick.compress(said[1:])
        quick.compress(said[1:], content="given")
    assert (llm.requests, texts(quick)) == ([], ["be brief", "given"])


def test_a_batch_that_fails_takes_the_summary_back(t: Tract) -> None:
    said = four(t)
    with pytest.raises(CommitNotFoundError), t.batch():  # noqa: PT012 - all of it is undone
        t.compress(said[1:], content="given")
        t.restore("f" * 64)
    assert texts(t) == ["be brief", "one", "two", "three"]
    t.compress(said[1:], content="again")
    assert texts(t) == ["be brief", "again"]


def test_an_old_commit_is_not_compressed(quick: Tract) -> None:
    said = four(quick)
    quick.checkout(said[2].commit_hash)
    llm = quick.llm = ScriptedLLM(["x"])
    with pytest.raises(ConflictError, match="create a branch"):
        quick.compress([said[1]])
    assert llm.requests == []


# What happens meanwhile

Meanwhile = Callable[[Tract, list[CommitInfo]], object]


def thinking(t: Tract, meanwhile: Callable[[], object]) -> ScriptedLLM:
    """A model during whose answer something happens."""

    def reply(_: object) -> str:
        meanwhile()
        return "in short"

    t.llm = ScriptedLLM([reply])
    return t.llm


def test_what_is_said_meanwhile_does_not_matter(t: Tract, db: str) -> None:
    said = [t.user("0"), *turn(t, "a"), t.user("1")]

    def append() -> None:
        with open_tract(db) as other:
            other.user("meanwhile")
            turn(other, "b")
            other.annotate(said[-1], PINNED)

    thinking(t, append)
    t.compress(said[:-1])
    assert texts(t) == ["in short", "1", "meanwhile", "", "src"]
    with open_tract(db) as other:
        assert sent(other) == sent(t)


def edit_source(t: Tract, said: list[CommitInfo]) -> None:
    t.user("0, edited", edit=said[0])


def pin_source(t: Tract, said: list[CommitInfo]) -> None:
    t.annotate(said[0], PINNED)


def skip_source(t: Tract, said: list[CommitInfo]) -> None:
    t.annotate(said[0], SKIP)


def skip_turn(t: Tract, said: list[CommitInfo]) -> None:
    t.annotate(said[1], SKIP)


def pin_result(t: Tract, said: list[CommitInfo]) -> None:
    t.annotate(said[2], PINNED)


def late_result(t: Tract, said: list[CommitInfo]) -> None:
    t.tool_result("b", "ls", "late")


def compress_part(t: Tract, said: list[CommitInfo]) -> None:
    t.compress([said[0]], content="0")


def compress_all(t: Tract, said: list[CommitInfo]) -> None:
    t.compress(said, content="all")


def go_elsewhere(t: Tract, said: list[CommitInfo]) -> None:
    t.branch("side", at=said[0])
    t.checkout("side")


@pytest.mark.parametrize(
    "change",
    [
        edit_source,
        pin_source,
        skip_source,
        skip_turn,
        pin_result,
        late_result,
        compress_part,
        compress_all,
        go_elsewhere,
    ],
)
def test_a_change_meanwhile_is_a_conflict(quick: Tract, change: Meanwhile) -> None:
    said = [quick.user("0"), *open_turn(quick), quick.user("1")]
    expected: list[Any] = []

    def meanwhile() -> None:
        change(quick, said)
        expected.extend([quick.head, sent(quick)])

    llm = thinking(quick, meanwhile)
    with pytest.raises(ConflictError):
        quick.compress(said)
    assert [quick.head, sent(quick)] == expected
    assert len(llm.requests) == 1
    assert quick.fsck().ok


def open_turn(t: Tract) -> list[CommitInfo]:
    """Two calls, and the result of one."""
    calls = [ToolCall("a", "ls", {}), ToolCall("b", "ls", {})]
    return [t.assistant("", tool_calls=calls), t.tool_result("a", "ls", "src")]


@pytest.mark.parametrize("how", ["skip a result", "reshape a result", "forget"])
def test_another_view_meanwhile_is_a_conflict(quick: Tract, how: str) -> None:
    call, result = turn(quick, "a", content=LISTING)
    quick.user("next")

    def meanwhile() -> None:
        if how == "skip a result":
            quick.annotate(result, SKIP)
        elif how == "forget":
            quick.forget(result)
        else:
            quick.reshape({result.commit_hash: "reference"})

    thinking(quick, meanwhile)
    with pytest.raises(ConflictError):
        quick.compress([call, result])


def test_a_conflict_between_two_who_compress(t: Tract, db: str) -> None:
    said = [t.user(f"{number}") for number in range(4)]

    def compress_too() -> None:
        with open_tract(db) as other:
            other.compress(said[1:3], content="by another")

    thinking(t, compress_too)
    with pytest.raises(ConflictError):
        t.compress(said[2:])
    assert texts(t) == ["0", "by another", "3"]
    assert t.fsck().ok


def test_of_two_who_compress_at_once_one_does(t: Tract, db: str) -> None:
    said = [t.user(f"{number}") for number in range(3)]
    both = Barrier(2)

    def reply(_: object) -> str:
        both.wait(timeout=60)
        return "in short"

    def compress() -> str:
        with open_tract(db, llm=ScriptedLLM([reply])) as other:
            try:
                other.compress(said[:2])
            except ConflictError:
                return "conflict"
        return "done"

    with ThreadPoolExecutor(2) as pool:
        done = [future.result() for future in [pool.submit(compress) for _ in range(2)]]
    assert sorted(done) == ["conflict", "done"]
    assert texts(t) == ["in short", "2"]
    assert t.fsck().ok


def test_two_who_compress_different_parts(t: Tract, db: str) -> None:
    said = [t.user(f"{number}") for number in range(4)]

    def compress_too() -> None:
        with open_tract(db) as other:
            other.compress(said[:2], content="0 and 1")

    thinking(t, compress_too)
    t.compress(said[2:])
    assert texts(t) == ["0 and 1", "in short"]


# Review


def test_nothing_is_committed_until_it_is_approved(t: Tract) -> None:
    said = four(t)
    t.llm = ScriptedLLM(["a draft"])
    pending = t.compress(said[1:], review=True)
    assert (pending.status, pending.summaries) == ("pending", ["a draft"])
    assert (pending.sources, pending.preserved) == (hashes(said[1:]), [])
    assert pending.tokens_before == sum(info.token_count for info in said[1:])
    assert t.head == said[-1].commit_hash
    result = pending.approve()
    assert (pending.status, texts(t)) == ("approved", ["be brief", "a draft"])
    assert result.made_by == "scripted"


def test_a_summary_is_edited_before_it_is_approved(quick: Tract) -> None:
    said = [quick.user(f"{number}") for number in range(3)]
    quick.llm = ScriptedLLM(["x", "y"], model="tiny")
    pending = quick.compress([said[0], said[2]], review=True)
    pending.edit_summary("better", 1)
    with pytest.raises(InputError):
        pending.edit_summary("")
    result = pending.approve()
    assert texts(quick) == ["x", "1", "better"]
    makers = [info.metadata["summary"]["made_by"] for info in result.summaries]
    assert makers == ["tiny", "given"]


def test_a_rejected_one_changes_nothing(quick: Tract) -> None:
    said = four(quick)
    pending = quick.compress(said[1:], content="x", review=True)
    pending.reject("not now")
    assert pending.status == "rejected"
    assert quick.head == said[-1].commit_hash


@pytest.mark.parametrize("first", ["approve", "reject"])
@pytest.mark.parametrize("then", ["approve", "reject", "edit_summary"])
def test_it_is_decided_once(quick: Tract, first: str, then: str) -> None:
    said = four(quick)
    pending = quick.compress(said[1:], content="x", review=True)
    getattr(pending, first)()
    head = quick.head
    with pytest.raises(ConflictError, match="too late"):
        getattr(pending, then)(*["y"] * (then == "edit_summary"))
    assert quick.head == head


def test_an_approval_after_a_change_is_a_conflict_and_stays_open(quick: Tract) -> None:
    said = four(quick)
    pending = quick.compress(said[1:], content="x", review=True)
    edit = quick.user("one, edited", edit=said[1])
    with pytest.raises(ConflictError):
        pending.approve()
    assert pending.status == "pending"
    quick.restore(edit)
    quick.user("four")
    pending.approve()
    assert texts(quick) == ["be brief", "x", "four"]


def test_the_same_is_not_approved_twice_by_two(quick: Tract) -> None:
    said = four(quick)
    one, two = (quick.compress(said[1:], content=text, review=True) for text in "ab")
    one.approve()
    with pytest.raises(ConflictError, match="compressed already"):
        two.approve()
    assert texts(quick) == ["be brief", "a"]


@pytest.mark.parametrize("review", [False, True])
def test_another_branch_is_not_compressed(quick: Tract, review: bool) -> None:
    said = four(quick)

    def go_to_side() -> None:
        quick.branch("side")
        quick.checkout("side")

    if review:
        pending = quick.compress(said[1:], content="x", review=True)
        go_to_side()
        compress: Callable[[], object] = pending.approve
    else:
        thinking(quick, go_to_side)
        compress = partial(quick.compress, said[1:])
    with pytest.raises(ConflictError):
        compress()
    assert texts(quick, at="side") == ["be brief", "one", "two", "three"]


# Afterwards


def test_the_tools_are_those_of_the_newest_source(t: Tract) -> None:
    said = [t.user("go", tools=[tool("ls")]), t.user("and", tools=[tool("ls"), tool("cat")])]
    said += turn(t, "a")
    t.set_tools([tool("ls"), tool("grep")])
    t.user("next")
    before = t.compile()
    (summary,) = t.compress(said, content="listed").summaries
    assert names(t.get_commit_tools(summary)) == ["ls", "cat"]
    assert names(t.get_tools()) == ["ls", "grep"]
    assert t.compile().tools[:2] == before.tools
    t.restore(summary)
    assert names(t.get_tools()) == ["ls", "grep"]


def test_a_message_with_tools_that_is_compressed_still_decides(t: Tract) -> None:
    said = [t.user("go", tools=[tool("ls")]), t.assistant("ok")]
    t.compress(said, content="x")
    assert names(t.get_tools()) == ["ls"]
    assert t.compile().tools == [tool("ls")]


def test_results_are_fetched_from_behind_a_summary(t: Tract) -> None:
    members = turn(t, "a", content=LISTING)
    t.user("next")
    assert "get_tool_result" not in names(t.compile().tools or [])  # type: ignore[operator]
    t.compress(members, content="a listing")
    assert t.get_tool_result("a", lines="2").endswith("src/mod1.py: 12 lines\n")
    assert t.get_content(members[1]) == LISTING
    offered = t.compile().to_openai_params()["tools"]
    assert names(offered) == ["get_tool_result"]
    asked_for = ToolCall("g", "get_tool_result", {"id": "a", "grep": "mod17\\b"})
    t.assistant("", tool_calls=[asked_for])
    t.answer(asked_for)
    assert "src/mod17.py: 12 lines" in texts(t)[-1]


def test_lists_and_finds_after_compressing(t: Tract) -> None:
    old, new = turn(t, "a"), turn(t, "b")
    t.compress(old, content="a listing")
    listed = {info.id: info.form for info in t.list_tool_results()}
    assert listed == {"a": None, "b": "full"}
    assert hashes(t.find_tool_results()) == hashes(new[1:])
    assert hashes(t.find_tool_calls()) == hashes(new[:1])
    assert [turn.all_hashes for turn in t.find_tool_turns()] == [hashes(new)]
    assert t.find_superseded() == []
    assert t.drop_failed_tool_turns().turns == 0


def test_changes_of_tools_are_told_behind_a_summary(quick: Tract) -> None:
    said = [quick.user("1", tools=[claude_tool("ls")]), quick.assistant("2"), quick.user("3")]
    quick.assistant("4")
    quick.set_tools([claude_tool("ls"), claude_tool("grep")])
    said += [quick.user("5"), quick.assistant("6")]
    for chosen in (said[:2], said[2:3]):
        quick.compress(chosen, content="x")
        params = quick.compile(tools="inline").to_anthropic_params()
        assert validate(params, "anthropic") == []
        assert list(in_the_end(params)) == ["ls", "grep"]
        assert params["messages"][-2]["role"] == "system"
        assert params["messages"][-3]["content"] == "5"


def test_the_log_the_versions_and_the_search(t: Tract) -> None:
    said = [t.user("a needle"), t.user("hay")]
    (summary,) = t.compress(said, content="a needle in hay").summaries
    assert [info.commit_hash for info in t.log()] == hashes([summary, said[1], said[0]])
    assert hashes(t.edit_history(said[0])) == hashes(said[:1])
    edit = t.user("a pin in hay", edit=summary)
    assert hashes(t.edit_history(summary)) == hashes([summary, edit])
    found = [hit.commit_hash for hit in t.search("needle")]
    assert sorted(found) == sorted(hashes([summary, said[0]]))


def test_gc_backup_and_fsck(t: Tract, tmp_path: Path) -> None:
    said = [t.user("0"), *turn(t, "a", content=LISTING), t.user("1")]
    t.compress(said[:3], content="listed")
    assert t.gc(dry_run=False, grace_seconds=0).commits == 0
    copy = tmp_path / "copy.db"
    t.backup(copy)
    with Tract.open(copy) as other:
        assert sent(other) == sent(t)
        assert other.fsck().ok
        other.restore(said[0])
        assert texts(other) == ["0", "", LISTING, "1"]
    assert t.fsck().ok


def test_a_compressed_content_can_be_forgotten(t: Tract) -> None:
    said = [t.user("hunter2"), t.user("next")]
    (summary,) = t.compress(said[:1], content="a password").summaries
    t.forget(said[0])
    assert texts(t) == ["a password", "next"]
    t.restore(summary)
    assert "hunter2" not in str(t.compile().to_dicts())
    assert t.fsck().ok


def test_what_is_compressed_is_not_changed(quick: Tract) -> None:
    said = [quick.user("0"), *turn(quick, "a")]
    (summary,) = quick.compress(said, content="x").summaries
    head = quick.head
    for change in (
        lambda: quick.user("edited", edit=said[0]),
        lambda: quick.annotate(said[0], PINNED),
        lambda: quick.annotate(said[1], SKIP),
        lambda: quick.reshape({said[2].commit_hash: "reference"}),
    ):
        with pytest.raises(EditError, match=summary.commit_hash):
            change()
    with pytest.raises(CompressError, match=summary.commit_hash):
        quick.compress(said[:1], content="again")
    assert quick.head == head


def test_a_summary_is_edited_pinned_and_skipped(t: Tract) -> None:
    said = four(t)
    (summary,) = t.compress(said[1:3], content="x").summaries
    t.user("better", edit=summary)
    assert texts(t) == ["be brief", "better", "three"]
    t.annotate(summary, PINNED)
    assert t.compress(content="y").preserved == hashes([said[0], t.edit_history(summary)[-1]])
    t.annotate(summary, SKIP)
    assert texts(t) == ["be brief", "y"]


# Never longer

LONG = "It was looked for, found, and read in full. " * 20
HALF = "Half of it was read. " * 20
WORDS = "many words " * 300


@pytest.mark.usefixtures("exact")
def test_a_summary_that_is_longer_is_not_used(t: Tract) -> None:
    said = [t.user(text) for text in ("one", "two", "three", "four", "five")]
    t.llm = ScriptedLLM([LONG])
    before, head = sent(t), t.head
    result = t.compress()
    assert (sent(t), t.head) == (before, head)
    assert (result.summaries, result.sources, result.made_by) == ([], [], None)
    assert result.preserved == [info.commit_hash for info in said]
    assert (result.tokens_before, result.tokens_after, result.ratio) == (0, 0, 1.0)
    [note] = result.notes
    assert note.startswith("5 messages of 5 tokens stay: ")


@pytest.mark.usefixtures("exact")
def test_only_groups_that_become_shorter_are_replaced(quick: Tract) -> None:
    said = [quick.user(WORDS), quick.user("pinned"), quick.user(HALF), quick.user(WORDS)]
    quick.annotate(said[1], "pinned")
    quick.annotate(said[3], "pinned")
    quick.llm = ScriptedLLM(["short", LONG])
    result = quick.compress()
    assert texts(quick) == ["short", "pinned", HALF, WORDS]
    assert result.sources == [said[0].commit_hash]
    assert sorted(result.preserved) == sorted(info.commit_hash for info in said[1:])
    [note] = result.notes
    size = quick.tokens.count(f"[Summary of 1 earlier message]\n{LONG.strip()}")
    before = said[2].token_count
    assert note == f"1 message of {before} tokens stays: the summary by scripted has {size}"


@pytest.mark.usefixtures("exact")
def test_a_reviewer_reads_why_a_group_stays(quick: Tract) -> None:
    quick.user(WORDS)
    quick.llm = ScriptedLLM([WORDS])
    pending = quick.compress(review=True)
    assert (pending.summaries, pending.sources, len(pending.notes)) == ([], [], 1)
    assert pending.approve().notes == pending.notes


@pytest.mark.usefixtures("exact")
def test_a_model_is_not_asked_for_what_cannot_be_shorter(quick: Tract) -> None:
    quick.user("one")
    quick.llm = model = ScriptedLLM([])
    assert "the heading of a summary has" in quick.compress().notes[0]
    quick.tool_result("c", "ls", "1")
    assert "the frame of a summary has" in str(quick.summarize_tool_result("c").note)
    quick.configure_tool_summarization({"ls": "short"})
    quick.tool_result("d", "ls", "1")
    assert (model.requests, list(quick.handler_errors)) == ([], [])
    assert quick.tool_result("e", "ls", "1", review=True).note is None


@pytest.mark.usefixtures("exact")
def test_a_result_whose_summary_is_longer_stays(quick: Tract) -> None:
    quick.llm = ScriptedLLM([LONG] * 2)
    info = quick.tool_result("c", "ls", HALF)
    head = quick.head
    result = quick.summarize_tool_result("c")
    assert (quick.head, result.text, result.made_by, result.commit) == (head, None, None, None)
    assert result.tokens_before == result.tokens_after == info.token_count
    assert str(result.note).startswith(f"the result of {info.token_count} tokens stays: ")
    pending = quick.tool_result("d", "ls", HALF, review=True)
    pending.summarize()
    assert (pending.status, pending.content, pending.made_by) == ("pending", HALF, None)
    assert str(pending.note).startswith("the result of")


@pytest.mark.usefixtures("exact")
def test_a_summary_above_the_target_is_used_if_it_is_shorter(quick: Tract) -> None:
    quick.llm = ScriptedLLM([LONG] * 2)
    quick.user(WORDS)
    result = quick.compress(target_tokens=10)
    assert texts(quick) == [LONG.strip()]
    size = quick.tokens.count(LONG.strip())
    above = f"the summary by scripted has {size} tokens, more than the target of 10"
    assert result.notes == [above]
    quick.tool_result("c", "ls", WORDS)
    assert quick.summarize_tool_result("c", target_tokens=10).note == above


@pytest.mark.usefixtures("exact")
def test_without_a_model_the_notes_say_what_stays(quick: Tract) -> None:
    turn(quick, "a")
    quick.llm = None
    [note] = quick.compress_tool_calls().notes
    assert "an outline has" in note


# Undo


def test_an_undo_gives_everything_back(t: Tract, db: str) -> None:
    said = [t.system("be brief"), t.user("0"), *turn(t, "a", "b"), t.assistant("done")]
    before = sent(t)
    result = t.compress(said[1:4] + said[4:5], content="x")
    after = sent(t)
    undo = t.restore(*result.summaries)
    assert sent(t) == before
    with open_tract(db) as other:
        assert sent(other) == before
    t.restore(undo)
    assert sent(t) == after
    assert t.fsck().ok


def test_a_source_is_restored_with_all_that_its_summary_stands_for(quick: Tract) -> None:
    said = four(quick)
    quick.compress(said[1:3], content="x")
    quick.restore(said[2])
    assert texts(quick) == ["be brief", "one", "two", "three"]
    with pytest.raises(EditError, match="never changed"):
        quick.restore(said[2])


def test_a_summary_is_undone_once(quick: Tract) -> None:
    said = four(quick)
    (summary,) = quick.compress(said[1:3], content="x").summaries
    quick.restore(summary)
    with pytest.raises(EditError, match="undone already"):
        quick.restore(summary)
    quick.compress(said[2:], content="y")
    assert texts(quick) == ["be brief", "one", "y"]


def test_an_undo_that_would_put_two_summaries_over_one_message(quick: Tract) -> None:
    said = four(quick)
    first = quick.compress(said[1:3], content="x").summaries
    undo = quick.restore(*first)
    second = quick.compress(said[2:], content="y").summaries
    with pytest.raises(EditError, match=f"undone together.*{second[0].commit_hash}"):
        quick.restore(undo)
    restore_as_named(quick, undo)
    assert texts(quick) == ["be brief", "x", "three"]


def test_two_summaries_of_one_message_do_not_both_come_back(quick: Tract) -> None:
    said = four(quick)
    undone = [quick.restore(*quick.compress(said[1:3], content=text).summaries) for text in "xy"]
    with pytest.raises(EditError, match="only one of the summaries"):
        quick.restore(*undone)
    assert texts(quick) == ["be brief", "one", "two", "three"]
    quick.restore(undone[0])
    restore_as_named(quick, undone[1])  # with the other summary
    assert texts(quick) == ["be brief", "y", "three"]


def restore_as_named(t: Tract, *commits: CommitInfo) -> None:
    """Restore commits that are refused alone, by the call that the error names."""
    with pytest.raises(EditError, match=r"undone together: restore\(.+\)$") as refused:
        t.restore(*commits)
    names = re.findall(r'"(\w{64})"', str(refused.value))
    assert set(hashes(list(commits))) < set(names)
    t.restore(*names)


def test_a_summary_comes_back_with_all_undos_of_what_it_was_made_of(quick: Tract) -> None:
    said = four(quick)
    inner = quick.compress(said[1:3], content="x").summaries
    first = quick.restore(*inner)
    assert first is not None
    again = quick.restore(first)
    assert again is not None
    undo = quick.restore(*quick.compress([*inner, said[3]], content="y").summaries)
    assert undo is not None
    quick.restore(*inner, again)  # undone by this, and by the first undo, which is in force again
    assert texts(quick) == ["be brief", "one", "two", "three"]
    restore_as_named(quick, undo)
    assert texts(quick) == ["be brief", "y"]


def test_the_inner_one_is_not_undone_before_the_outer_one(quick: Tract) -> None:
    said = four(quick)
    inner = quick.compress(said[1:3], content="x").summaries
    outer = quick.compress([*inner, said[3]], content="y").summaries
    with pytest.raises(EditError, match=outer[0].commit_hash):
        quick.restore(*inner)
    restore_as_named(quick, *inner)
    assert texts(quick) == ["be brief", "one", "two", "three"]


def test_the_innermost_of_three_is_undone_with_the_other_two(quick: Tract) -> None:
    said = quick.user("one")
    summaries = [said]
    for text in "xyz":
        summaries += quick.compress(summaries[-1:], content=text).summaries
    restore_as_named(quick, summaries[1])
    assert texts(quick) == ["one"]


def test_an_undo_does_not_take_a_summary_from_under_another(quick: Tract) -> None:
    inner = quick.compress([quick.user("one")], content="x").summaries
    again = quick.restore(quick.restore(*inner))
    quick.compress(inner, content="y")
    restore_as_named(quick, again)
    assert texts(quick) == ["one"]


def test_the_outer_one_does_not_come_back_before_the_inner_one(quick: Tract) -> None:
    said = four(quick)
    inner = quick.compress(said[1:3], content="x").summaries
    outer = quick.compress([*inner, said[3]], content="y").summaries
    undo = quick.restore(*outer)
    with pytest.raises(EditError, match="of which it was made"):
        quick.restore(undo, *inner)
    quick.restore(*inner)
    restore_as_named(quick, undo)
    assert texts(quick) == ["be brief", "y"]


def test_the_outer_one_was_made_of_an_edit_of_the_inner_one(quick: Tract) -> None:
    inner = quick.compress(four(quick)[1:3], content="x").summaries
    edit = quick.user("z", edit=inner[0])
    undo = quick.restore(*quick.compress([edit], content="y").summaries)
    quick.restore(*inner)
    restore_as_named(quick, undo)
    assert texts(quick) == ["be brief", "y", "three"]


def test_a_late_result_is_restored_alone(quick: Tract) -> None:
    """Its call was compressed before it came."""
    said = [quick.user("0"), quick.assistant(tool_calls=[ToolCall("a", "ls")]), quick.user("1")]
    quick.compress(said, content="x")
    late = quick.tool_result("a", "ls", "src")
    before = sent(quick)
    result = quick.compress([late], content="y")
    quick.restore(*result.summaries)
    assert sent(quick) == before


def test_late_results_of_a_compressed_call_are_compressed_one_by_one(quick: Tract) -> None:
    calls = [ToolCall("a", "ls"), ToolCall("b", "ls")]
    said = [quick.user("0"), quick.assistant(tool_calls=calls), quick.user("1")]
    first = quick.compress(said, content="x")
    late = [quick.tool_result(name, "ls", "src") for name in ("a", "b")]
    quick.annotate(late[1], PINNED)
    before = sent(quick)
    result = quick.compress(late[:1], content="y")
    assert result.sources == hashes(late[:1])
    assert violations(quick.compile()) == []
    with pytest.raises(EditError, match=result.summaries[0].commit_hash):
        quick.restore(*first.summaries)
    quick.restore(*result.summaries)
    assert sent(quick) == before


@pytest.mark.parametrize("is_named", [True, False])
def test_a_call_comes_back_with_the_result_that_came_later(quick: Tract, is_named: bool) -> None:
    call = quick.assistant(tool_calls=[ToolCall("a", "ls")])
    first = quick.compress([call], content="x").summaries
    late = [quick.user("meanwhile"), quick.tool_result("a", "ls", "src")]
    second = quick.compress(late, content="y").summaries
    if is_named:
        restore_as_named(quick, *first)
    else:
        quick.restore(*second)
        quick.restore(*first)
    assert [m.role for m in quick.compile().messages] == ["assistant", "user", "tool"]
    assert not [note for note in quick.compile().notes if "result" in note]


def test_an_edit_that_took_a_call_away_is_undone_with_the_summary_of_the_result(
    quick: Tract,
) -> None:
    call, result = turn(quick, "a")
    edit = quick.assistant("no call", tool_calls=[], edit=call)
    quick.compress([result], content="x")
    restore_as_named(quick, edit)
    assert [len(turn.results) for turn in quick.find_tool_turns()] == [1]


# What goes together after edits


def test_what_an_edit_took_apart_is_compressed_alone(quick: Tract) -> None:
    call, result = turn(quick, "a")
    quick.assistant("no call", tool_calls=[], edit=call)
    assert quick.find_tool_turns() == []
    quick.compress([result], content="x")
    quick.compress([call], content="y")
    assert texts(quick) == ["y", "x"]


def test_what_an_edit_put_together_is_compressed_together(quick: Tract) -> None:
    answer, stray = quick.assistant("look"), quick.tool_result("a", "ls", "src")
    quick.assistant("look", tool_calls=[ToolCall("a", "ls")], edit=answer)
    [found] = quick.find_tool_turns()
    assert found.result_hashes == hashes([stray])
    with pytest.raises(CompressError, match="go together"):
        quick.compress([stray], content="x")
    quick.compress(found.all_hashes, content="x")
    assert texts(quick) == ["x"]


def test_a_source_of_a_source_is_restored(quick: Tract) -> None:
    said = four(quick)
    inner = quick.compress(said[1:3], content="x").summaries
    quick.compress([*inner, said[3]], content="y")
    quick.restore(said[1])
    assert texts(quick) == ["be brief", "one", "two", "three"]


def test_a_summary_of_summaries_counts_the_messages(quick: Tract) -> None:
    said = [quick.user("0"), *turn(quick, "a")]
    inner = quick.compress(said, content="x").summaries
    quick.compress([*inner, quick.user("1")], content="y")
    assert quick.compile().messages[0].text == (
        "[Summary of 4 earlier messages; "
        'call get_tool_result(id="…") for the full result of a (ls)]\ny'
    )
    assert quick.get_tool_result("a").endswith("src")


def test_branches_know_only_their_own_summaries(t: Tract) -> None:
    said = four(t)
    t.branch("side")
    t.compress(said[1:], content="x")
    assert texts(t, at="side") == ["be brief", "one", "two", "three"]
    t.checkout("side")
    t.compress(said[2:], content="y")
    assert texts(t) == ["be brief", "one", "y"]
    assert texts(t, at="main") == ["be brief", "x"]
    assert texts(t, at=said[-1]) == ["be brief", "one", "two", "three"]


# Tool calls


def agent(t: Tract, size: int = 300) -> list[list[CommitInfo]]:
    """Two turns of one tool and one of another, each with an answer."""
    out = []
    for number, name in enumerate(["ls", "grep", "ls"]):
        t.user(f"ask {number}")
        listing = "".join(f"{name}{number}/mod{n}.py: 12 lines\n" for n in range(size))
        out.append(turn(t, f"c{number}", name=name, content=listing))
        t.assistant(f"answer {number}")
    return out


def test_all_turns_are_found_and_the_answers_stay(t: Tract) -> None:
    turns = agent(t)
    llm = t.llm = ScriptedLLM(["x", "y", "z"])
    result = t.compress_tool_calls(instructions="just NAMES", target_tokens=55)
    asks = [f"ask {n}" for n in range(3)]
    answers = [f"answer {n}" for n in range(3)]
    assert texts(t) == [part for each in zip(asks, "xyz", answers, strict=True) for part in each]
    assert result.sources == [commit for members in turns for commit in hashes(members)]
    for number in range(3):
        prompt, request = asked(llm, number)
        assert prompt == TOOL_SUMMARIZE_SYSTEM
        assert "just NAMES" in request
        assert "55 tokens" in request
    assert violations(t.compile()) == []


def test_a_second_run_does_nothing(t: Tract) -> None:
    agent(t)
    t.llm = ScriptedLLM(["x", "y", "z"])
    t.compress_tool_calls()
    head = t.head
    again = t.compress_tool_calls()
    assert (again.sources, again.summaries, again.made_by, again.ratio) == ([], [], None, 1.0)
    assert t.head == head


@pytest.mark.parametrize("with_history", [False, True])
def test_where_there_are_no_calls_nothing_is_done(quick: Tract, with_history: bool) -> None:
    if with_history:
        four(quick)
    head = quick.head
    assert quick.compress_tool_calls().summaries == []
    assert quick.compress_tool_calls(name="ls").summaries == []
    assert quick.head == head


def test_only_the_turns_of_one_tool(quick: Tract) -> None:
    turns = agent(quick)
    quick.llm = ScriptedLLM(["x", "y"])
    result = quick.compress_tool_calls(name="ls")
    assert result.sources == hashes(turns[0] + turns[2])
    assert quick.compress_tool_calls(name="nobody").sources == []


def test_listed_turns_of_one_tool(quick: Tract) -> None:
    turns = agent(quick)
    quick.llm = ScriptedLLM(["x"])
    listed = [commit for members in turns[:2] for commit in members]
    result = quick.compress_tool_calls(listed, name="grep")
    assert result.sources == hashes(turns[1])
    head = quick.head
    assert quick.compress_tool_calls(listed, name="grep").sources == []
    assert quick.head == head


def test_the_answer_in_a_list_stays(quick: Tract) -> None:
    members = turn(quick, "a")
    answer = quick.assistant("done")
    quick.llm = ScriptedLLM(["x", "y"])
    result = quick.compress_tool_calls([*members, answer])
    assert (result.sources, result.preserved) == (hashes(members), [answer.commit_hash])
    assert texts(quick) == ["x", "done"]
    quick.restore(*result.summaries)
    quick.compress_tool_calls([*members, answer], preserve_answer=False)
    assert texts(quick) == ["y"]


def test_answers_go_too_where_they_are_not_preserved(quick: Tract) -> None:
    agent(quick)
    quick.llm = ScriptedLLM(["x", "y", "z"])
    quick.compress_tool_calls(preserve_answer=False)
    assert texts(quick) == ["ask 0", "x", "ask 1", "y", "ask 2", "z"]


def test_the_newest_turns_stay(quick: Tract) -> None:
    turns = agent(quick)
    quick.llm = ScriptedLLM(["x", "y", "z"])
    assert quick.compress_tool_calls(keep_recent=2).sources == hashes(turns[0])
    assert quick.compress_tool_calls(keep_recent=5).sources == []


def test_open_and_pinned_turns_stay(quick: Tract) -> None:
    turns = agent(quick)
    quick.annotate(turns[0][1], PINNED)
    quick.assistant("", tool_calls=[ToolCall("open", "ls", {})])
    quick.llm = ScriptedLLM(["y", "z"])
    assert quick.compress_tool_calls().sources == hashes(turns[1] + turns[2])
    assert violations(quick.compile()) == []


def test_a_part_of_a_turn_in_a_list_is_refused(quick: Tract) -> None:
    call, result = turn(quick, "a")
    with pytest.raises(CompressError, match=result.commit_hash):
        quick.compress_tool_calls([call])


def test_without_a_model_the_structure_is_told(t: Tract) -> None:
    agent(t)
    before = t.compile().token_count
    result = t.compress_tool_calls()
    assert result.made_by == "structure"
    assert result.tokens_after < result.tokens_before
    assert t.compile().token_count < before / 4
    assert "→ ls │ " in texts(t)[1]
    assert violations(t.compile()) == []
    assert t.compress_tool_calls().summaries == []


@pytest.mark.usefixtures("exact")
def test_without_a_model_what_is_short_stays(quick: Tract) -> None:
    turns = agent(quick, size=1)
    assert quick.compress_tool_calls().summaries == []
    quick.tool_result("c1", "grep", LISTING, edit=turns[1][1])
    result = quick.compress_tool_calls()
    edit = quick.edit_history(turns[1][1])[-1]
    assert result.sources == hashes([turns[1][0], edit])


@pytest.mark.parametrize(
    "option",
    [{"target_tokens": 0}, {"target_tokens": "9"}, {"instructions": 7}, {"system_prompt": ["x"]}],
)
def test_wrong_options(quick: Tract, option: dict[str, Any]) -> None:
    four(quick)
    for compress in (quick.compress, quick.compress_tool_calls):
        with pytest.raises(InputError):
            compress(**option)


# What others found


def test_what_was_forgotten_before_does_not_stand_in_the_way(quick: Tract) -> None:
    secret = quick.user("hunter2")
    quick.assistant("ok")
    quick.forget(secret)
    llm = quick.llm = ScriptedLLM(["nothing to tell"])
    quick.compress()
    assert texts(quick) == ["nothing to tell"]
    assert "hunter2" not in llm.requests[0].messages[-1].text


def test_changes_of_tools_stand_where_they_were_made(quick: Tract) -> None:
    first, second = ({"name": name, "input_schema": {"type": "object"}} for name in "ab")
    quick.user("1", tools=[first])
    said = [quick.assistant("2"), quick.user("3")]
    quick.assistant("4")
    quick.user("5")
    quick.set_tools([first, second])
    quick.assistant("6")
    quick.user("7")
    before = quick.compile(tools="inline").to_anthropic_params()["messages"]
    quick.compress(said, content="2 and 3")
    after = quick.compile(tools="inline").to_anthropic_params()["messages"]
    for messages in (before, after):
        roles = [message["role"] for message in messages]
        assert messages[roles.index("system") + 1]["content"] == "6"


def test_one_short_answer_does_not_make_parts_tiny(quick: Tract) -> None:
    usage = {"prompt_tokens": 4200, "completion_tokens": 1}
    hello = {"choices": [{"message": {"role": "assistant", "content": "hi"}}], "usage": usage}
    llm = quick.llm = ScriptedLLM([hello, "in short"], window=8192)
    quick.chat("hello")
    assert quick.token_factor() > 100
    quick.user("word " * 500)
    quick.compress()
    assert len(llm.requests) == 2


@pytest.mark.usefixtures("exact")
def test_without_a_model_nothing_gets_longer(quick: Tract) -> None:
    for number in range(8):
        turn(quick, f"a_very_long_identifier_{number}", name="mcp__filesystem__read_text_file")
    quick.assistant("done")
    before = quick.compile().token_count
    for target in (20, 40, None):
        quick.compress_tool_calls(target_tokens=target)
        assert quick.compile().token_count <= before


@pytest.mark.parametrize("wrong", ["2", None, -1, 1.5])
def test_how_many_turns_are_kept_is_a_number(quick: Tract, wrong: Any) -> None:
    turn(quick, "a")
    with pytest.raises(InputError, match="keep_recent"):
        quick.compress_tool_calls(keep_recent=wrong)
