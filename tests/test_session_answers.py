"""Answers of the model: chat and generate, what they send and what they commit."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llm_server import LLMServer, Reply
from tests.samples.responses import PROVIDERS, UNREADABLE
from tests.serving import open_tract
from tests.toolkit import claude_tool, names, tool
from tests.validity import violations
from tract import (
    ConflictError,
    InputError,
    LLMAnswerError,
    LLMCallError,
    NoLLMError,
    Tract,
    TractError,
)
from tract.llm import ScriptedLLM, connect

GREP, LS = tool("grep", q="string"), tool("ls", path="string")
CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"q": "x"}'}},
        {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
    ],
}


ON_SERVERS = True


@pytest.fixture
def t() -> Iterator[Tract]:
    with Tract.open() as opened:
        yield opened
        assert opened.fsck().ok


def scripted(t: Tract, *replies: Any, **options: Any) -> ScriptedLLM:
    llm = ScriptedLLM(replies, **options)
    t.llm = llm
    return llm


def said(t: Tract) -> list[tuple[str, str]]:
    """What is in the view, which every provider takes."""
    context = t.compile()
    assert violations(context) == []
    return [(message.role, message.text) for message in context.messages]


# Answers


def test_chat(t: Tract) -> None:
    llm = scripted(t, "Hello!", "Well.")
    t.system("Be brief.")
    answer = t.chat("hi")
    assert (answer.text, answer.tool_calls, answer.usage) == ("Hello!", [], None)
    assert answer.commit.commit_hash == t.head
    assert [m.text for m in llm.requests[0].messages] == ["Be brief.", "hi"]
    t.chat("how are you?")
    assert said(t)[1:] == [
        ("user", "hi"),
        ("assistant", "Hello!"),
        ("user", "how are you?"),
        ("assistant", "Well."),
    ]
    assert len(llm.requests[1].messages) == 4


def test_generate(t: Tract) -> None:
    scripted(t, "Hello!")
    t.user("hi")
    assert t.generate().text == "Hello!"
    assert said(t) == [("user", "hi"), ("assistant", "Hello!")]


def test_what_is_sent_is_what_is_compiled(t: Tract) -> None:
    llm = scripted(t, "ok")
    t.system("Be brief.")
    t.user("hi", tools=[GREP])
    compiled = t.compile()
    t.generate()
    assert llm.requests[0].to_anthropic_params() == compiled.to_anthropic_params()
    assert llm.requests[0].to_openai_params() == compiled.to_openai_params()
    assert llm.requests[0].token_count == compiled.token_count


def test_chat_sends_what_it_commits(t: Tract) -> None:
    llm = scripted(t, "ok")
    t.system("Be brief.")
    answer = t.chat("hi", tools=[GREP])
    before = t.compile(answer.commit.parent_hash)
    assert llm.requests[0].to_openai() == before.to_openai()
    assert answer.commit.metadata["context_tokens"] == llm.requests[0].token_count


@pytest.mark.parametrize("provider", PROVIDERS)
def test_responses_of_providers(db: str, provider: str) -> None:
    response = PROVIDERS[provider]
    with open_tract(db, llm=ScriptedLLM([response], model="asked")) as t:
        answer = t.chat("find it", tools=[GREP])
        assert answer.text == "I look."
        assert [(c.id, c.name) for c in answer.tool_calls] == [("c1", "grep")]
        assert answer.usage == response["usage"]
    with open_tract(db) as t:
        kept = next(t.log())
        assert kept.usage == response["usage"]
        assert kept.generation_config == {"model": "asked"}
        assert kept.metadata["response"]["model"] == response["model"]
        t.tool_result("c1", "grep", "a hit")
        assert said(t)[-1] == ("tool", "a hit")
        assert t.fsck().ok


def test_calls_without_a_text(t: Tract) -> None:
    scripted(t, CALLS, "Found.")
    answer = t.chat("find it", tools=[GREP, LS])
    assert (answer.text, [c.id for c in answer.tool_calls]) == ("", ["c1", "c2"])
    t.tool_result("c1", "grep", "a hit")
    t.tool_result("c2", "ls", "a.py")
    assert t.generate().text == "Found."
    assert [role for role, _ in said(t)] == ["user", "assistant", "tool", "tool", "assistant"]


def test_only_the_first_of_several_choices(t: Tract) -> None:
    choices = [{"message": {"role": "assistant", "content": text}} for text in ("one", "two")]
    scripted(t, {"choices": choices})
    assert t.chat("hi").text == "one"
    assert len(said(t)) == 2


@pytest.mark.parametrize(
    "answer",
    [
        "",
        {"type": "message", "content": []},
        {"choices": [{"message": {"role": "assistant", "content": None}}]},
        {"output": []},
    ],
    ids=["text", "anthropic", "chat", "responses"],
)
def test_an_answer_that_says_nothing(t: Tract, answer: Any) -> None:
    scripted(t, answer, "more")
    assert t.chat("hi").text == ""
    t.chat("please")
    assert said(t)[-2:] == [("user", "please"), ("assistant", "more")]


def test_blocks_of_a_provider(t: Tract) -> None:
    llm = scripted(t, "ok")
    t.chat([{"type": "text", "text": "look"}, {"type": "text", "text": "there"}])
    assert llm.requests[0].to_anthropic_params()["messages"][0]["content"][1]["text"] == "there"
    assert said(t)[0][0] == "user"


def test_results_are_not_said_in_a_chat(t: Tract) -> None:
    llm = scripted(t, "ok")
    with pytest.raises(InputError, match="tool_result"):
        t.chat([{"type": "tool_result", "tool_use_id": "c", "content": "x"}])
    assert (llm.requests, t.head) == ([], None)


def test_streaming(t: Tract) -> None:
    scripted(t, "A rather long answer, in pieces.")
    pieces: list[str] = []
    answer = t.chat("hi", on_text=pieces.append)
    assert len(pieces) > 1
    assert "".join(pieces) == answer.text


class StoppedError(Exception):
    pass


def test_a_stream_that_is_stopped(t: Tract) -> None:
    def stop(_: str) -> None:
        raise StoppedError

    scripted(t, "A rather long answer.", "again")
    t.user("before")
    head = t.head
    with pytest.raises(StoppedError):
        t.chat("hi", on_text=stop)
    assert t.head == head
    assert t.chat("hi").text == "again"


# What is kept with an answer


def test_options_are_kept_with_the_answer(t: Tract) -> None:
    llm = scripted(t, "ok", model="m")
    config = {"temperature": 0.5, "stop": ["\n"]}
    given = {"step": 3}
    answer = t.chat("hi", generation_config=config, message="a note", metadata=given)
    assert llm.configs == [config]
    kept = t.get_commit(answer.commit)
    assert kept.generation_config == {"model": "m", **config}
    assert (kept.message, kept.metadata["step"]) == ("a note", 3)
    spoken = t.get_commit(kept.parent_hash or "")
    assert (spoken.message, spoken.metadata, spoken.generation_config) == (None, {}, None)
    assert given == {"step": 3}


def test_tools_are_recorded_with_the_answer_and_stay(t: Tract) -> None:
    llm = scripted(t, "one", "two", "three")
    first = t.chat("hi", tools=[GREP])
    second = t.chat("more")
    third = t.chat("and more", tools=[])
    assert [names(request.tools) for request in llm.requests] == [["grep"], ["grep"], []]
    assert names(t.get_commit_tools(first.commit)) == names(t.get_commit_tools(second.commit))
    assert t.get_commit(first.commit).toolset_hash == t.get_commit(second.commit).toolset_hash
    assert t.get_commit_tools(third.commit) == t.get_tools() == []


def test_tools_that_are_in_force_are_sent(t: Tract) -> None:
    llm = scripted(t, "one")
    t.user("hi", tools=[claude_tool("ls", path="string")])
    answer = t.generate()
    assert llm.requests[0].to_anthropic_params()["tools"] == [claude_tool("ls", path="string")]
    assert answer.commit.toolset_hash is not None


def test_without_tools_none_are_recorded(t: Tract) -> None:
    scripted(t, "one")
    assert t.chat("hi").commit.toolset_hash is None
    assert t.get_tools() is None


def test_the_tool_to_fetch_is_sent_and_not_recorded(t: Tract) -> None:
    llm = scripted(t, CALLS, "ok")
    t.chat("find it", tools=[GREP, LS])
    t.tool_result("c1", "grep", "x\n" * 500, form="reference")
    t.tool_result("c2", "ls", "a.py")
    t.generate()
    assert names(llm.requests[1].tools) == ["grep", "ls", "get_tool_result"]
    assert names(t.get_tools()) == ["grep", "ls"]


# Nothing is committed


@pytest.mark.parametrize("given", UNREADABLE, ids=range(len(UNREADABLE)))
def test_an_answer_that_cannot_be_parsed(t: Tract, given: Any) -> None:
    class Odd:
        model, window = "odd", 1000

        def complete(self, *_: Any, **__: Any) -> Any:
            return given

    t.user("before")
    head, t.llm = t.head, Odd()
    for ask in (lambda: t.chat("hi"), t.generate):
        with pytest.raises(LLMAnswerError):
            ask()
        assert t.head == head
    scripted(t, "fine")
    assert t.generate().text == "fine"


@pytest.mark.parametrize(
    "usage", [{"input_tokens": float("nan")}, {"input_tokens": {1}}, {1: 2}], ids=str
)
def test_usage_that_cannot_be_kept(t: Tract, usage: Any) -> None:
    scripted(t, {"type": "message", "content": [], "usage": usage})
    with pytest.raises(LLMAnswerError, match="cannot be kept"):
        t.chat("hi")
    assert t.head is None


def test_no_client(t: Tract) -> None:
    t.user("hi")
    head = t.head
    for ask in (lambda: t.chat("more"), t.generate):
        with pytest.raises(NoLLMError, match=r"llm=.*t\.llm"):
            ask()
    assert t.head == head


def test_an_empty_history(t: Tract) -> None:
    llm = scripted(t, "ok")
    with pytest.raises(InputError, match="the history is empty"):
        t.generate()
    assert llm.requests == []
    assert t.chat("hi").text == "ok"


def test_inside_a_batch_no_model_is_asked(t: Tract) -> None:
    llm = scripted(t, "ok")
    with t.batch():
        t.user("hi")
        for ask in (lambda: t.chat("more"), t.generate):
            with pytest.raises(ConflictError, match="batch"):
                ask()
    assert llm.requests == []
    assert said(t) == [("user", "hi")]


def test_an_old_commit_is_not_answered(t: Tract) -> None:
    llm = scripted(t, "ok")
    old = t.user("hi")
    t.user("more")
    t.checkout(old)
    with pytest.raises(ConflictError, match="create a branch"):
        t.generate()
    assert llm.requests == []
    t.branch("other")
    t.generate()
    assert said(t) == [("user", "hi"), ("assistant", "ok")]


BAD: dict[str, dict[str, Any]] = {
    "config": {"generation_config": [1]},
    "config value": {"generation_config": {"a": {1}}},
    "tools": {"tools": [{"x": 1}]},
    "metadata": {"metadata": [1]},
    "metadata value": {"metadata": {"a": {1}}},
    "message": {"message": 5},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options_are_refused_before_the_model_is_asked(t: Tract, name: str) -> None:
    llm = scripted(t, "ok")
    with pytest.raises(InputError):
        t.chat("hi", **BAD[name])
    assert (llm.requests, t.head) == ([], None)


@pytest.mark.parametrize("text", [None, 5, b"hi", {"role": "user"}])
def test_a_chat_is_a_text(t: Tract, text: Any) -> None:
    llm = scripted(t, "ok")
    with pytest.raises(InputError):
        t.chat(text)
    assert (llm.requests, t.head) == ([], None)


# Others at work while the model thinks


@pytest.mark.parametrize("ask", ["chat", "generate"])
def test_messages_that_came_meanwhile(db: str, ask: str) -> None:
    def meanwhile(_: Any) -> str:
        with open_tract(db) as other:
            other.user("meanwhile")
        return "an answer to something else"

    with open_tract(db, llm=ScriptedLLM([meanwhile, "fine"])) as t:
        t.user("hi")
        with pytest.raises(ConflictError, match="1 message"):
            t.chat("more") if ask == "chat" else t.generate()
        assert said(t) == [("user", "hi"), ("user", "meanwhile")]
        assert t.generate().text == "fine"
        assert t.fsck().ok


def test_another_branch_was_checked_out_meanwhile(t: Tract) -> None:
    def away(_: Any) -> str:
        t.checkout("other")
        return "too late"

    t.user("hi")
    t.branch("other")
    scripted(t, away)
    with pytest.raises(ConflictError, match="'main'"):
        t.generate()
    assert {len(t.compile(name).messages) for name in t.branches()} == {1}


def test_tools_that_were_set_meanwhile_stay(t: Tract) -> None:
    def change(_: Any) -> str:
        t.set_tools([LS])
        return "ok"

    t.user("hi", tools=[GREP])
    scripted(t, change)
    t.generate()
    assert t.get_tools() == [LS]


def test_others_can_write_while_the_model_thinks(db: str) -> None:
    asked, written = threading.Event(), threading.Event()

    def slow(_: Any) -> str:
        asked.set()
        assert written.wait(30)
        return "done"

    with open_tract(db, llm=ScriptedLLM([slow])) as t:
        t.user("hi")
        errors: list[TractError] = []

        def ask() -> None:
            try:
                t.generate()
            except TractError as error:
                errors.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        assert asked.wait(30)
        assert len(t.compile().messages) == 1
        t.user("meanwhile")
        written.set()
        thread.join()
        assert [type(error) for error in errors] == [ConflictError]
        assert said(t) == [("user", "hi"), ("user", "meanwhile")]


def test_of_two_answers_at_once_one_is_kept(db: str) -> None:
    barrier = threading.Barrier(2, timeout=30)

    def answer(_: Any) -> str:
        barrier.wait()
        return "an answer"

    with open_tract(db, llm=ScriptedLLM([answer, answer])) as t:
        t.user("hi")
        got: list[Any] = []

        def ask() -> None:
            try:
                got.append(t.generate().text)
            except ConflictError as error:
                got.append(type(error))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, got)) == sorted(map(str, ["an answer", ConflictError]))
        assert said(t) == [("user", "hi"), ("assistant", "an answer")]


# With the real SDKs

KINDS = ["anthropic", "openai", "responses"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LLMServer]:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    with LLMServer() as running:
        yield running


def client(kind: str, server: LLMServer) -> Any:
    url = server.url if kind == "anthropic" else server.openai_url
    return connect(f"{kind}:m", base_url=url, api_key="k", max_retries=0, timeout=5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_turn_with_an_sdk(server: LLMServer, kind: str) -> None:
    server.replies += [
        Reply("I look.", [("c1", "grep", {"q": "x"})], input_tokens=50),
        Reply("three hits", input_tokens=60),
        Reply("Found it.", input_tokens=70),
        Reply("A summary of it all."),
    ]
    pieces: list[str] = []
    with client(kind, server) as llm, Tract.open(llm=llm) as t:
        t.system("Be brief.")
        t.configure_tool_summarization({"grep": "Only names."})
        asked = t.chat("find it", tools=[GREP])
        assert (asked.text, asked.tool_calls[0].name) == ("I look.", "grep")
        t.tool_result(asked.tool_calls[0].id, "grep", "x\n" * 300)
        assert t.generate(on_text=pieces.append).text == "Found it."
        assert [role for role, _ in said(t)][1:] == ["user", "assistant", "tool", "assistant"]
        assert said(t)[3][1].endswith("\nthree hits")
        factor = t.token_factor()
        done = t.compress()
        assert (done.made_by, len(t.compile().messages)) == ("m", 2)
        assert t.compile().messages[1].text.endswith("A summary of it all.")
        assert not t.handler_errors
        assert t.fsck().ok
        answers = [c for c in t.log() if c.usage]
        counted = sum(c.metadata["context_tokens"] for c in answers)
        assert factor == pytest.approx(120 / counted)
    assert "".join(pieces) == "Found it."
    assert "tools" in server.requests[0].body
    assert "tools" not in server.requests[1].body


FAILURES = [
    Reply(status=500),
    Reply(status=429),
    Reply(body="{}", content_type="application/json"),
    Reply(body="<html>", content_type="text/html"),
    Reply("cut in the middle", drop_after=20),
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_sdk_that_fails(server: LLMServer, kind: str) -> None:
    with client(kind, server) as llm, Tract.open(llm=llm) as t:
        question = "before " * 400  # long enough for a summary to be wanted
        t.user(question)
        head = t.head
        for reply in FAILURES:
            server.replies += [reply] * 3
            for ask in (lambda: t.chat("hi"), t.generate, t.compress):
                with pytest.raises((LLMCallError, LLMAnswerError)):
                    ask()
                assert t.head == head
        server.replies.append(Reply("fine"))
        assert t.generate().text == "fine"
        assert said(t) == [("user", question), ("assistant", "fine")]
        assert t.fsck().ok


@pytest.mark.parametrize("kind", ["anthropic", "openai", "responses"])
def test_half_a_surrogate_pair_does_not_stop_the_dialog(server: LLMServer, kind: str) -> None:
    server.replies.append(Reply("fine"))
    with client(kind, server) as llm, Tract.open(llm=llm) as t:
        t.user(b"caf\xe9".decode("utf-8", "surrogateescape"))
        assert t.generate().text == "fine"
        assert "caf?" in str(server.requests[0].body)
