"""What is kept between two compiles never shows: it is always what a fresh one would give."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rework import CHANGES as REWORK
from tests.statements import statements
from tests.strategies import histories
from tests.toolkit import tool, tool_lists
from tract import ForgottenError, Form, Message, Priority, Shape, ToolCall, Tract, compiler
from tract.compiler import Compiler
from tract.content.preview import gist_of
from tract.core import pages
from tract.core.chain import Chain
from tract.core.wording import FORGOTTEN
from tract.model import Gist
from tract.providers import dumps
from tract.storage.store import FEW_KEYS, Left


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies share full pages, which short histories would not have."""
    monkeypatch.setattr(pages, "PAGE", 3)


def view(context: Any) -> str:
    return json.dumps(
        [
            context.to_openai(),
            context.to_anthropic(),
            context.commit_hashes,
            context.token_count,
            context.token_source,
            context.generation_configs,
            context.notes,
            context.tools,
            context.tokens_by_tool,
            context.to_anthropic_params(),
            context.to_responses_params(),
            context.betas,
        ]
    )


def assert_fresh(t: Tract, path: str) -> None:
    with Tract.open(path) as other:
        assert view(t.compile()) == view(other.compile())
        assert view(t.compile(tools="inline")) == view(other.compile(tools="inline"))
        assert t.get_tools() == other.get_tools()


def steps(t: Tract) -> list[Callable[[], object]]:
    """One of everything, each to be followed by a comparison."""
    made: dict[str, Any] = {}

    def keep(name: str, make: Callable[[], Any]) -> Callable[[], object]:
        return lambda: made.__setitem__(name, make())

    return [
        keep("system", lambda: t.system("s")),
        keep("user", lambda: t.user("u")),
        keep("tools", lambda: t.set_tools([tool("f"), tool("g")])),
        keep("call", lambda: t.assistant("", tool_calls=[ToolCall("a", "f"), ToolCall("b", "f")])),
        keep("result", lambda: t.tool_result("b", "f", {"x": 1})),
        lambda: t.user("meanwhile", tools=[tool("f"), tool("g"), tool("h")]),
        lambda: t.tool_result("a", "f", "late"),
        keep("edit", lambda: t.tool_result("b", "f", "short", edit=made["result"])),
        keep("again", lambda: t.tool_result("b", "f", "shorter", edit=made["edit"])),
        keep("fewer", lambda: t.set_tools([tool("g", x="string")])),
        keep("skip", lambda: t.annotate(made["result"], Priority.SKIP)),
        lambda: t.restore(made["fewer"]),
        lambda: t.restore(made["edit"]),
        lambda: t.restore(made["skip"]),
        lambda: t.annotate(made["call"], Priority.SKIP),
        lambda: t.annotate(made["result"], Priority.PINNED),
        lambda: t.branch("side", at=made["call"]),
        lambda: t.checkout("side"),
        lambda: t.user("on the side"),
        lambda: t.checkout("main"),
        lambda: t.user("back"),
        lambda: t.checkout(made["user"]),
        lambda: t.checkout("main"),
        lambda: t.restore(made["result"]),
        lambda: t.restore(made["tools"]),
        lambda: t.set_tools(None),
        lambda: t.forget(made["user"]),
        lambda: t.user("end"),
    ]


@pytest.mark.parametrize("step", [1, 2, 3, dumps.STEP])
def test_after_every_operation_it_equals_a_fresh_compile(
    db: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "STEP", step)
    monkeypatch.setattr(dumps, "SPREAD", 2)
    with Tract.open(db) as t:
        for operation in steps(t):
            operation()
            assert_fresh(t, db)


@given(st.lists(st.sampled_from(REWORK), min_size=1, max_size=8), st.data())
def test_after_any_changes_it_equals_a_fresh_compile(
    changes: list[Callable[[Tract, st.DataObject], None]], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch, Tract.open() as t:
        patch.setattr(dumps, "STEP", 2)
        patch.setattr(dumps, "SPREAD", 2)
        contexts = []
        for change in changes:
            change(t, data)
            contexts.append((t.compile(), t.head))
            t.store.left = Left(None)  # nothing is known of what was just written
            fresh = Compiler(t.store, t.tokens.count).compile(t.session.head())
            assert view(contexts[-1][0]) == view(fresh)
        for context, head in contexts:
            assert head is None or view(context) == view(t.compile(at=head))


TEXT = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]
UNUSUAL: list[Callable[[Tract], Any]] = [
    lambda t: t.commit({"role": "user", "content": TEXT, "novel": {"b": 1, "a": 1.0}}),
    lambda t: t.assistant(
        "x",
        tool_calls=[{"id": 'a"\ud800', "name": "f\\", "arguments": {"x": [1]}}],
        usage={"input_tokens": 1},
        generation_config={"model": "m", "a": 1.0},
        metadata={"k": None},
        message="ü",
    ),
    lambda t: t.tool_result('a"\ud800', None, {"a": [TEXT]}, is_error=True),
    lambda t: t.tool_result("b", "f", "a line\n" * 2_000, form="reference"),
    lambda t: t.user("a line\n" * 2_000, tools=[tool("f")]),
    lambda t: t.user("a line\n" * 200),
    lambda t: t.user("once more"),
    lambda t: t.user("once more", tools=[]),
    lambda t: t.compress(content="shorter"),
]


def test_what_was_just_written_is_as_it_is_read(db: str) -> None:
    with Tract.open(db) as t, Tract.open(db) as other:
        unusual: list[Callable[[], object]] = [partial(make, t) for make in UNUSUAL]
        for operation in [*steps(t), *unusual]:
            before = t.session.head()
            operation()
            after = t.session.head()
            if (before.id or 0) < (after.id or 0):
                assert t.store.steps(after, before) == other.store.steps(after, before)
                with t.batch():
                    assert t.store.steps(after, before) == other.store.steps(after, before)


def test_what_was_just_written_is_not_read(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.user("first")
        t.compile()
        seen = statements(t)
        with t.batch():
            t.assistant("", tool_calls=[ToolCall("a", "f")], usage={"n": 1})
            t.tool_result("a", "f", "long " * 5_000, is_error=True)
        assert len(t.compile().messages) == 3
        assert not [sql for sql in seen if "LEFT JOIN blobs" in sql]
        t.user("one")
        t.user("two")
        assert len(t.compile().messages) == 5
        assert not [sql for sql in seen if "LEFT JOIN blobs" in sql]
        with t.batch():
            for number in range(2 * FEW_KEYS):
                t.user(f"{number}")
        assert len(t.compile().messages) == 5 + 2 * FEW_KEYS
        assert len(t.store.left.written) < 2 * FEW_KEYS
        t.user("long " * 5_000)
        *_, (_, commit) = t.store.left.written.values()
        assert (commit.blob and commit.blob.payload, commit.data) == (None, None)
        assert len(t.compile().messages[-1].text) == 25_000


@pytest.mark.parametrize("before", [0, 1])
def test_what_was_just_written_can_be_forgotten_by_another_instance(db: str, before: int) -> None:
    with Tract.open(db) as t, Tract.open(db) as other:
        for number in range(before):
            t.user(f"{number}")
            t.compile()
        t.user("a secret")
        other.forget(text="a secret")
        assert "secret" not in view(t.compile())


def test_what_another_instance_appends_is_seen(db: str) -> None:
    with Tract.open(db) as one, Tract.open(db) as other:
        first = one.user("1")
        assert [m.text for m in other.compile().messages] == ["1"]
        other.user("2")
        one.user("3")
        other.user("1b", edit=first)
        assert [m.text for m in one.compile().messages] == ["1b", "2", "3"]
        assert view(one.compile()) == view(other.compile())


@pytest.mark.parametrize("later", [1, 2, 3])
def test_what_was_compiled_in_a_batch_that_failed_is_gone(db: str, later: int) -> None:
    """Its key may be that of another commit by then, which the next ones follow."""
    with Tract.open(db) as t:
        t.user("before")
        t.compile()
        with suppress(ZeroDivisionError), t.batch():
            t.user("lost", tools=[tool("lost")])
            assert len(t.compile().messages) == 2
            print(1 / 0)
        for number in range(later):
            t.user(f"{number}", tools=[tool("after")])
        texts = [message.text for message in t.compile().messages]
        assert texts == ["before", *map(str, range(later))]
        assert_fresh(t, db)


def test_time_travel_shows_what_a_commit_saw() -> None:
    with Tract.open() as t:
        first = t.user("1")
        second = t.user("2")
        edit = t.user("1b", edit=first)
        mark = t.annotate(second, Priority.SKIP)
        back = t.restore(edit)
        texts = {
            info.commit_hash: [m.text for m in t.compile(at=info).messages] for info in t.log()
        }
        assert texts == {
            first.commit_hash: ["1"],
            second.commit_hash: ["1", "2"],
            edit.commit_hash: ["1b", "2"],
            mark.commit_hash: ["1b"],
            back.commit_hash: ["1"],
        }


@given(histories, st.data())
def test_time_travel_equals_what_was_seen_then(history: list[Message], data: st.DataObject) -> None:
    with Tract.open() as t:
        then: dict[str, str] = {}
        for message in history:
            info = t.commit(message, tools=data.draw(st.none() | tool_lists))
            if data.draw(st.booleans()):
                info = t.annotate(info, data.draw(st.sampled_from(list(Priority))))
            then[info.commit_hash] = view(t.compile())
        for commit, seen in then.items():
            assert view(t.compile(at=commit)) == seen


def test_what_was_forgotten_keeps_its_place_and_its_calls() -> None:
    with Tract.open() as t:
        t.user("x")
        call = t.assistant("secret", tool_calls=[ToolCall("a", "run", {"key": "secret"})])
        t.tool_result("a", "run", "y")
        t.compile().to_openai()
        t.forget(call)
        sent = t.compile().to_openai()
        assert "secret" not in json.dumps(sent)
        assert sent[1]["content"] == FORGOTTEN
        assert sent[1]["tool_calls"][0]["id"] == "a"
        with pytest.raises(ForgottenError, match=str(call.content_hash)):
            t.get_content(call)


def test_large_contents_are_read_when_they_are_shown() -> None:
    with Tract.open() as t:
        text = "".join(f"{number} é\n" for number in range(200_000))
        info = t.user(text)
        assert t.compile().messages[0].text == text
        assert t.get_content(info) == text
        assert info.byte_size > 1_000_000


# A change costs what it changes


class Work:
    """How many steps were folded and how many messages rendered since it was asked last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folded = self._rendered = 0
        put, render = Chain._put, Compiler._render

        def count_put(*args: Any) -> Any:
            self._folded += 1
            return put(*args)

        def count_render(*args: Any) -> Any:
            self._rendered += 1
            return render(*args)

        monkeypatch.setattr(Chain, "_put", count_put)
        monkeypatch.setattr(Compiler, "_render", count_render)

    def done(self) -> tuple[int, int]:
        done = self._folded, self._rendered
        self._folded = self._rendered = 0
        return done


CHANGES: dict[str, Callable[[Tract, Any, Any], object]] = {
    "edit": lambda t, result, last: t.user("other", edit=last),
    "skip": lambda t, result, last: t.annotate(last, "skip"),
    "form": lambda t, result, last: t.reshape({result: "reference"}),
    "collapse": lambda t, result, last: t.reshape({result: "collapsed"}),
    "undone edit": lambda t, result, last: t.restore(t.user("other", edit=last)),
    "undone form": lambda t, result, last: t.restore(t.reshape({result: "reference"})),
    "summary": lambda t, result, last: t.compress([last], content="in short"),
    "undone summary": lambda t, result, last: t.restore(
        *t.compress([last], content="in short").summaries
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_at_the_end_costs_what_it_changes(
    monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    t = Tract.open(":memory:")
    first = t.user("first")
    for number in range(100):
        t.user(f"question {number}")
        t.assistant(f"answer {number}")
    t.annotate(first, "skip")  # from now on the chain is not plain
    t.assistant("", tool_calls=[ToolCall("a", "f")])
    result = t.tool_result("a", "f", "result " * 100)
    last = t.user("last")
    before = t.compile()
    messages, wire = list(before.messages), before.to_openai()
    work = Work(monkeypatch)
    CHANGES[change](t, result.commit_hash, last.commit_hash)
    after = t.compile()
    folded, rendered = work.done()
    assert folded <= 2
    assert rendered <= 3
    assert before.messages == messages, "an older context stays as it was"
    assert before.to_openai() == wire
    assert after.messages[:200] == messages[:200]
    fresh = Compiler(t.store, t.tokens.count).compile(t.session.head())
    assert view(after) == view(fresh)


def test_an_edit_a_collapsed_turn_and_a_late_result(tmp_path: Path) -> None:
    path = str(tmp_path / "t.db")
    with Tract.open(path) as t:
        t.user("q")
        call = t.assistant("look", tool_calls=[ToolCall("a", "ls"), ToolCall("b", "cat")])
        result = t.tool_result("a", "ls", "A" * 50)
        t.assistant("text", tool_calls=[ToolCall("a", "ls")], edit=call)
        t.reshape({result.commit_hash: "collapsed"})
        for message in (Message("user", "next"), Message("tool", "B", "b", "cat")):
            assert_fresh(t, path)
            t.commit(message)
        assert_fresh(t, path)
        assert t.compile().messages[1].text == "text\n[Called ls (a); result not shown]"


def test_a_forgotten_content_that_comes_back_is_shown_by_every_instance(tmp_path: Path) -> None:
    path = str(tmp_path / "t.db")
    with Tract.open(path) as t, Tract.open(path) as reader:
        secret = t.user("secret")
        t.assistant("x")
        for change in (lambda: t.forget(secret), lambda: t.user("secret")):
            assert view(reader.compile()) == view(t.compile())
            change()
            assert_fresh(t, path)
            assert_fresh(reader, path)
        assert [m.text for m in reader.compile().messages] == ["secret", "x", "secret"]


def test_what_is_written_as_a_reference_is_looked_at_once(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its gist is stored, so that whoever opens the history again does not make it again."""
    log = "\n".join(f"line {number}: all is well" for number in range(150))
    call = ToolCall("c1", "read", {"path": "a.log"})
    with Tract.open(db) as t:
        t.configure_results(inline_tokens=10)
        t.assistant(tool_calls=[call])
        t.tool_result("c1", "read", log)
        written = view(t.compile())
    monkeypatch.setattr(compiler, "gist_of", lambda *_: pytest.fail("it was looked at again"))
    with Tract.open(db) as t:
        assert view(t.compile()) == written
        assert t.compile().message_forms[-1] == Form.REFERENCE


@pytest.mark.parametrize("lines", [20, 500], ids=["inline", "large"])
def test_what_is_listed_and_then_shortened_is_looked_at_once(
    db: str, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(f"line {number}: all is well, as always" for number in range(lines))
    seen: list[str] = []

    def look(content: str, call: ToolCall | None) -> Gist:
        seen.append(content)
        return gist_of(content, call)

    monkeypatch.setattr(compiler, "gist_of", look)
    with Tract.open(db) as t:
        for number in range(3):
            t.assistant(tool_calls=[ToolCall(f"c{number}", "run", {})])
            t.tool_result(f"c{number}", "run", f"{number}\n{text}")
        assert [info.status for info in t.list_tool_results()] == ["success"] * 3
        listed = [info.commit_hash for info in t.list_tool_results()]
        t.reshape(dict.fromkeys(listed, "reference"))
        written = view(t.compile())
        assert [t.list_tool_results()[n].form for n in range(3)] == [Form.REFERENCE] * 3
        assert seen == [f"{number}\n{text}" for number in range(3)]
    with Tract.open(db) as t:
        assert view(t.compile()) == written
    assert len(seen) == 3


def test_references_are_opened_without_counting(tmp_path: Path) -> None:
    """To load a vocabulary takes longer than to open most histories."""
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    path = tmp_path / "t.db"
    with Tract.open(path) as t:
        t.configure_results(inline_tokens=10)
        t.assistant("", tool_calls=[ToolCall("c", "read", {})])
        t.tool_result("c", "read", "word " * 2_000)
    with Tract.open(path) as t:
        context = Compiler(t.store, count).compile(t.session.head())
        assert context.message_forms[-1] == Form.REFERENCE
        assert not counted
        assert context.tool_tokens == len(counted[0])


@pytest.mark.parametrize("load", [None, False])
def test_results_of_one_turn_may_be_in_two_pages(
    tmp_path: Path, load: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    forms = [Shape(Form.REFERENCE), Shape(Form.SUMMARY), Shape(Form.REFERENCE, 40)]
    with Tract.open(path) as t:
        for turn in range(5):
            calls = [ToolCall(f"c{n}", "run", {"command": f"step {turn}.{n}"}) for n in range(3)]
            t.assistant("", tool_calls=calls)
            for call in calls:
                t.tool_result(call.id, "run", f"{turn} {call.id}\n" * 900, form=forms[turn % 3])
        expected = t.compile(load_tool_results=load).messages
    assert "step 4.2" in expected[-1].text
    monkeypatch.setattr("tract.storage.driver.PAGE", 2)
    with Tract.open(path) as t:
        assert t.compile(load_tool_results=load).messages == expected


# What was just written

LONG_TEXTS = ("a\n", "é\t", "한국어", "😀", '"\\\x00', "\ud83d", "\ud83d\ude00 ")


@pytest.mark.parametrize("text", LONG_TEXTS)
def test_a_long_text_that_was_just_written_is_as_it_is_read(tmp_path: Path, text: str) -> None:
    path = str(tmp_path / "t.db")
    with Tract.open(path) as t:
        t.tool_result("c", "run", text * 5_000)
        t.user(text * 5_001)
        assert_fresh(t, path)
        t.tool_result("c", "run", text * 5_000)  # the same content, of another commit
        assert_fresh(t, path)


def test_a_long_text_that_was_just_written_is_not_read(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.user("start")
        t.compile()
        t.tool_result("c", "run", "long\n" * 5_000)
        t.store.driver.run("UPDATE blobs SET payload = x'00' WHERE json_size > 5000")
        assert t.compile().messages[-1].content == "long\n" * 5_000


def test_texts_that_nobody_compiles_are_not_kept(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db", durability="relaxed") as t:
        for number in range(40):
            t.tool_result(f"c{number}", "run", f"{number}\n" * 40_000)
            kept = sum(map(len, t.session.compiler._fresh.values()))
            assert kept <= compiler.MOST_FRESH + 130_000
        assert len(t.compile().messages) == 40
        assert t.session.compiler._fresh == {}


def test_what_was_just_written_can_be_forgotten(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        secret = t.user("secret\n" * 5_000)
        t.forget(secret)
        assert [message.text for message in t.compile().messages] == [FORGOTTEN]
