"""Results from the outside: their forms, fetching them, finding them. On both databases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.faults.harness import back_to_version_20, execute, is_postgres
from tests.serving import open_tract
from tests.toolkit import tool
from tests.validity import violations
from tract import (
    GET_TOOL_RESULT_TOOL,
    CommitInfo,
    CommitNotFoundError,
    EditError,
    Form,
    InputError,
    Message,
    NotFoundError,
    Priority,
    ResultNotFoundError,
    RoleError,
    Shape,
    Tract,
    TractError,
)
from tract.content.preview import gist_of
from tract.core.wording import GET_TOOL_RESULT_SCHEMA
from tract.model import Gist, readable
from tract.storage import _driver
from tract.storage.migrations import known_migrations, migrate
from tract.view.ansi import plain
from tract.view.blocks import ToolResultBlock
from tract.view.conversation import format_dialog
from tract.view.lines import format_lines

ON_SERVERS = True

BIG = "".join(f"src/mod{n % 7}.py:{n}: def function_{n}(): pass\n" for n in range(2_000))
LOAD: dict[str, Any] = {"load_tool_results": True}


@pytest.fixture
def t(db: str) -> Iterator[Tract]:
    with open_tract(db) as opened:
        opened.user("go")
        yield opened


def call(t: Tract, *ids: str, name: str = "grep", text: str = "", **arguments: Any) -> CommitInfo:
    made = [{"id": call_id, "name": name, "arguments": arguments} for call_id in ids]
    return t.assistant(text, tool_calls=made)


def turn(
    t: Tract, call_id: str, content: Any, *, name: str = "grep", given: Any = None, **options: Any
) -> CommitInfo:
    """A call and its result."""
    call(t, call_id, name=name, **(given or {}))
    info: CommitInfo = t.tool_result(call_id, name, content, **options)
    return info


def seen(t: Tract, **view: Any) -> list[str]:
    """The results that the model sees, each as its text."""
    return [message.text for message in t.compile(**view).messages if message.role == "tool"]


def is_reference(text: str) -> bool:
    return text.startswith("[") and "[preview only; call get_tool_result(" in text


def forms(t: Tract, **view: Any) -> list[str]:
    return ["reference" if is_reference(text) else "full" for text in seen(t, **view)]


def is_offered(t: Tract, **view: Any) -> bool:
    context = t.compile(**view)
    offered = GET_TOOL_RESULT_TOOL["openai"] in context.tools
    for declared in (
        context.to_openai_params().get("tools", []),
        context.to_anthropic_params().get("tools", []),
        context.to_responses_params().get("tools", []),
    ):
        names = [each.get("name") or each["function"]["name"] for each in declared]
        assert names.count("get_tool_result") == offered
    return offered


def body(answer: str) -> str:
    """An answer without its label and without the line that says how to go on."""
    _, _, rest = answer.partition("\n")
    return rest.rpartition("\n[more: call again with ")[0] or rest


def assert_valid(t: Tract) -> None:
    context = t.compile()
    assert violations(context) == []


# Forms at birth


def test_without_anything_said_a_result_is_full(t: Tract) -> None:
    info = turn(t, "c", BIG)
    assert seen(t) == [BIG]
    assert info.form is None
    assert not is_offered(t)


@pytest.mark.parametrize("form", [Form.REFERENCE, "reference"], ids=["form", "text"])
def test_a_result_is_born_as_a_reference(db: str, form: Any) -> None:
    with open_tract(db) as t:
        t.user("go")
        info = turn(t, "c", BIG, form=form)
        told = seen(t)
    assert info.form == Form.REFERENCE
    assert is_reference(told[0])
    assert len(told[0]) < 2_500
    assert told[0].startswith("[grep (")
    assert " · c · success · " in told[0]
    with open_tract(db) as t:
        assert seen(t) == told
        assert t.get_content(info) == BIG
        assert t.get_commit(info).form == Form.REFERENCE
        assert t.fsck().ok


def test_a_result_is_born_truncated(t: Tract) -> None:
    turn(t, "c", BIG, form="truncated")
    [told] = seen(t)
    assert BIG.startswith(told.rpartition("\n")[0] + "\n")
    assert len(told) < 1_700


def test_a_result_is_born_as_a_summary(t: Tract) -> None:
    turn(t, "c", BIG, form=Shape(Form.SUMMARY, text="only definitions"))
    assert seen(t)[0].endswith("\nonly definitions")
    assert t.get_content(t.head or "") == BIG


def test_a_result_is_born_collapsed(t: Tract) -> None:
    turn(t, "c", BIG, form="collapsed")
    assert is_reference(seen(t)[0])
    t.user("more")
    assert seen(t) == []
    assert t.compile().messages[1].text == "[Called grep (c); result not shown]"
    assert body(t.get_tool_result("c", lines="1")) == BIG.splitlines(keepends=True)[0]
    assert_valid(t)


NO_FORM: Any = "bogus"


@pytest.mark.parametrize(
    "form",
    ["short", "", 5, "FULL", Shape(NO_FORM), Shape(Form.TRUNCATED, -1)],
    ids=["unknown", "empty", "number", "shouted", "shape", "negative"],
)
def test_what_is_no_form_is_refused(t: Tract, form: Any) -> None:
    info = turn(t, "c", BIG)
    head = t.head
    for write in (
        lambda: t.tool_result("c", "grep", BIG, form=form),
        lambda: t.reshape({info.commit_hash: form}),
    ):
        with pytest.raises(InputError):
            write()
    assert t.head == head
    assert seen(t) == [BIG]


def test_only_results_have_forms(t: Tract) -> None:
    with pytest.raises(InputError, match="only results"):
        t.commit({"role": "user", "content": "x"}, form="reference")
    with pytest.raises(EditError, match="not a tool result"):
        t.reshape({t.head or "": "reference"})


# Settings


def test_settings_give_forms_at_birth(t: Tract) -> None:
    turn(t, "before", BIG)
    t.configure_results(inline_tokens=100)
    turn(t, "small", "a few words")
    info = turn(t, "large", BIG)
    assert forms(t) == ["full", "full", "reference"]
    assert info.form == Form.REFERENCE


def test_settings_survive_reopening(db: str) -> None:
    with open_tract(db) as t:
        t.configure_results(
            inline_tokens=100,
            preview_tokens=20,
            keep=["read"],
            tools={"ls": {"inline_tokens": 10**6}},
        )
        t.user("go")
    with open_tract(db) as t:
        for number, name in enumerate(("grep", "read", "ls", "get_tool_result")):
            turn(t, f"c{number}", BIG, name=name)
        assert forms(t) == ["reference", "full", "full", "full"]
        assert len(seen(t)[0]) < 400
        assert is_offered(t)
    with open_tract(db, dialog="other") as other:
        turn(other, "c", BIG)
        assert forms(other) == ["full"]


def test_a_form_that_is_said_wins_over_the_settings(t: Tract) -> None:
    t.configure_results(inline_tokens=100)
    turn(t, "c", BIG, form="full")
    turn(t, "d", "some " * 150, form="reference")
    assert forms(t) == ["full", "reference"]


def test_settings_that_are_taken_back(t: Tract) -> None:
    t.configure_results(inline_tokens=100)
    turn(t, "a", BIG)
    t.configure_results()
    turn(t, "b", BIG)
    assert forms(t) == ["reference", "full"]


@pytest.mark.parametrize(
    "given", [{"inline_tokens": -1}, {"tools": {"x": {"y": 1}}}, {"keep": [1]}]
)
def test_wrong_settings_change_nothing(t: Tract, given: dict[str, Any]) -> None:
    t.configure_results(inline_tokens=100)
    with pytest.raises(InputError):
        t.configure_results(**given)
    assert is_reference_for(t, BIG)


def is_reference_for(t: Tract, content: str) -> bool:
    turn(t, "probe", content)
    return is_reference(seen(t)[-1])


def test_settings_of_a_batch_that_failed(db: str) -> None:
    with open_tract(db) as t:
        t.user("go")
        with suppress(ZeroDivisionError), t.batch():
            t.configure_results(inline_tokens=1)
            raise ZeroDivisionError
        assert not is_reference_for(t, BIG)


def test_recorded_histories_get_forms_too(t: Tract) -> None:
    t.configure_results(inline_tokens=100)
    t.record(
        [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "grep", "arguments": "{}"},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": BIG},
        ]
    )
    assert forms(t) == ["reference"]
    assert seen(t)[0].startswith("[grep (")


# Reshaping


@pytest.mark.database
@pytest.mark.parametrize("lines", [180, 900])
def test_a_result_is_read_once_to_become_a_reference(db: str, lines: int) -> None:
    with open_tract(db) as t:
        text = "".join(BIG.splitlines(keepends=True)[:lines])
        t.reshape({turn(t, "c1", text).commit_hash: "reference"})
        [shown] = seen(t)
    execute(db, "UPDATE blobs SET payload = ? WHERE json_size > 5000", (b"?",))
    with open_tract(db) as t:
        assert seen(t) == [shown]


@pytest.mark.database
def test_others_can_write_while_a_result_is_looked_at(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reshape may be of thousands of results: it looks at them before its transaction."""
    with open_tract(db) as t, open_tract(db) as other:
        mine = turn(t, "c1", BIG[:20_000])

        def look(*args: Any) -> Gist:
            other.user("meanwhile")
            return gist_of(*args)

        monkeypatch.setattr("tract.compiler.gist_of", look)
        t.reshape({mine.commit_hash: "reference"})
        monkeypatch.undo()
        assert [message.text for message in t.compile().messages][-1] == "meanwhile"
        assert seen(t)[0] != BIG[:20_000]


def test_reshaping_is_one_commit_and_can_be_undone(t: Tract) -> None:
    a, b = turn(t, "a", BIG), turn(t, "b", BIG + "b")
    before = t.compile().to_openai()
    commits = len(list(t.log()))
    mark = t.reshape({a.commit_hash: "reference", b.commit_hash[:12]: Form.REFERENCE}, message="m")
    assert mark.message == "m"
    assert len(list(t.log())) == commits + 1
    assert forms(t) == ["reference", "reference"]
    assert is_offered(t)
    t.restore(mark)
    assert t.compile().to_openai() == before
    assert t.fsck().ok


def test_restoring_a_result_undoes_its_form(t: Tract) -> None:
    a = turn(t, "a", BIG)
    t.reshape({a.commit_hash: "reference"})
    t.restore(a)
    assert seen(t) == [BIG]


def test_a_form_survives_reopening(db: str) -> None:
    with open_tract(db) as t:
        t.user("go")
        a = turn(t, "a", BIG)
        t.reshape({a.commit_hash: Shape(Form.TRUNCATED, 20)})
        told = seen(t)
    with open_tract(db) as t:
        assert seen(t) == told
        assert len(told[0]) < 150


def test_reshaping_twice_is_reshaping_once(t: Tract) -> None:
    a = turn(t, "a", BIG)
    t.reshape({a.commit_hash: "reference"})
    told = seen(t)
    t.reshape({a.commit_hash: "reference"})
    assert seen(t) == told


def test_the_bytes_of_the_view_stay_while_the_dialog_grows(t: Tract) -> None:
    turn(t, "a", BIG, form="reference")
    turn(t, "b", BIG, form="truncated")
    t.user("and")
    before = t.compile().to_openai()
    for number in range(5):
        turn(t, f"c{number}", f"{number}", form="reference")
        t.user(f"{number}")
    assert t.compile().to_openai()[: len(before)] == before


@pytest.mark.parametrize("view", [{}, {"load_tool_results": False}])
def test_a_pinned_result_is_never_reshaped(t: Tract, view: dict[str, Any]) -> None:
    pinned = turn(t, "a", BIG, form="reference")
    t.annotate(pinned, Priority.PINNED)
    with pytest.raises(EditError, match="pinned"):
        t.reshape({pinned.commit_hash: "reference"})
    assert seen(t, **view) == [BIG]
    t.annotate(pinned, Priority.NORMAL)
    assert forms(t) == ["reference"]


def test_an_answer_of_get_tool_result_is_never_reshaped(t: Tract) -> None:
    t.configure_results(inline_tokens=1)
    turn(t, "a", BIG)
    asked = call(t, "g", name="get_tool_result", id="a")
    answered = t.answer(t.compile().messages[-1].tool_calls[0])
    assert asked.commit_hash == answered.parent_hash
    with pytest.raises(EditError, match="get_tool_result"):
        t.reshape({answered.commit_hash: "truncated"})
    for view in ({}, {"load_tool_results": False}, {"load_tool_results": ["a"]}):
        assert seen(t, **view)[-1] == t.get_content(answered)


def test_a_turn_collapses_when_every_result_does(t: Tract) -> None:
    call(t, "a", "b", text="Both at once.")
    a, b = (t.tool_result(i, "grep", BIG + i, is_error=i == "b") for i in "ab")
    t.user("more")
    t.reshape({a.commit_hash: "collapsed"})
    assert forms(t) == ["reference", "full"]
    mark = t.reshape({b.commit_hash: "collapsed"})
    assert seen(t) == []
    assert [b.text for b in t.compile().messages[1].blocks] == [  # type: ignore[union-attr]
        "Both at once.",
        "[Called grep (a); result not shown]",
        "[Called grep (b); failed; result not shown]",
    ]
    assert_valid(t)
    t.restore(mark)
    assert forms(t) == ["reference", "full"]


def test_a_view_that_grew_is_the_view_at_once(t: Tract) -> None:
    """A late result can collapse a turn that was shown before."""
    call(t, "a", "b")
    t.tool_result("a", "grep", BIG, form="collapsed")
    t.user("x")
    t.compile()
    t.tool_result("b", "grep", BIG, form="collapsed")
    t.user("y")
    assert t.compile().to_openai() == t.compile(at=t.head).to_openai()


@pytest.mark.parametrize("last", [("user", ""), ("system", "a note")], ids=["empty", "system"])
def test_what_a_provider_does_not_get_does_not_follow(t: Tract, last: tuple[str, str]) -> None:
    """A request must not end with what the assistant said."""
    turn(t, "c", BIG, form="collapsed")
    t.commit(Message(*last))
    assert t.compile().to_anthropic()["messages"][-1]["role"] == "user"


def test_reused_ids_are_told_apart_when_collapsed(t: Tract) -> None:
    for number in range(3):
        turn(t, "c", f"the result number {number}", form="collapsed")
    t.user("more")
    lines = [m.text for m in t.compile().messages if m.role == "assistant"]
    named = [line.partition("(")[2].partition(")")[0] for line in lines]
    assert [body(t.get_tool_result(name)) for name in named] == [
        f"the result number {number}" for number in range(3)
    ]


# What was asked


def heads(t: Tract) -> list[str]:
    return [text.partition(" (")[0] for text in seen(t, load_tool_results=False)]


def test_references_begin_with_what_was_asked(t: Tract) -> None:
    t.assistant(
        tool_calls=[
            {"id": "a", "name": "Read", "arguments": {"file_path": "src/a.py"}},
            {"id": "b", "name": "Bash", "arguments": '{"command": "make\\nmake test"}'},
            {"id": "c", "name": "Bash", "arguments": '{"command": "ls'},
        ]
    )
    t.user("late results")
    for call_id in ("c", "b", "a"):
        t.tool_result(call_id, None, BIG)
    again = turn(t, "a", BIG, name="Grep", given={"pattern": "x\x1b[2J\ny", "path": "src"})
    t.tool_result("lost", "Read", BIG)
    wanted = ['[Bash: {"command": "ls', "[Bash: make …", "[Read src/a.py", '[Grep "x y" in src']
    assert heads(t) == [*wanted, "[result of Read"]
    assert [f"[{info.subject}" for info in t.list_tool_results()] == heads(t)
    edited = [{"id": "a", "name": "Grep", "arguments": {"pattern": "z"}}]
    t.assistant(tool_calls=edited, edit=t.find_tool_calls("Grep")[0])
    assert heads(t)[3] == '[Grep "z"'
    assert "a#2" in seen(t, load_tool_results=False)[3]
    assert again.byte_size == len(BIG)


def test_an_explicit_form_of_a_short_result_says_what_became_of_it(t: Tract) -> None:
    short, long = turn(t, "a", "32 bytes"), turn(t, "b", BIG)
    mark = t.reshape({short.commit_hash: "reference", long.commit_hash: "reference"})
    assert mark.message == "1 short result stays in full: a"
    assert seen(t)[0] == "32 bytes"
    assert [info.form for info in t.list_tool_results()] == [Form.FULL, Form.REFERENCE]
    assert t.reshape({long.commit_hash: "full"}).message is None


def test_an_image_is_replaced_by_its_reference(t: Tract) -> None:
    data = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 9_000}
    turn(t, "a", [{"type": "image", "source": data}], form="reference")
    assert "A" * 100 not in json.dumps(t.compile().to_anthropic())


# Edits


def test_an_edit_is_the_new_truth(t: Tract) -> None:
    info = turn(t, "c", "the password is 1234\n" * 50, form="reference")
    redacted = "the password is ****\n" * 50
    t.tool_result("c", "grep", redacted, edit=info)
    assert seen(t) == [redacted]
    for name in ("c", info.commit_hash):
        assert body(t.get_tool_result(name)) == redacted
    t.reshape({info.commit_hash: "reference"})
    assert forms(t) == ["reference"]
    assert "1234" not in json.dumps(t.compile().to_openai())
    assert body(t.get_tool_result("c")) == redacted


@pytest.mark.parametrize("form", [form for form in Form if form != Form.FULL])
def test_every_form_gives_the_original(t: Tract, form: Form) -> None:
    info = turn(t, "c", "x" * 5_000)
    t.user("more")
    t.reshape({info.commit_hash: form})
    assert "x" * 5_000 not in json.dumps(t.compile().to_openai())
    assert body(t.get_tool_result("c")) == "x" * 5_000


def test_an_edit_inherits_what_it_does_not_say(t: Tract) -> None:
    info = turn(t, "c", BIG, is_error=True, metadata={"exit": 1})
    edit = t.tool_result("", None, "short", edit=info)
    assert (edit.tool_call_id, edit.name, edit.is_error) == ("c", "grep", True)
    assert edit.metadata == info.metadata
    assert edit.metadata["exit"] == 1
    again = t.tool_result("c", "grep", "shorter", edit=edit, metadata={"exit": 2})
    assert again.metadata["exit"] == 2
    assert seen(t) == ["shorter"]


def test_an_edit_that_contradicts_is_refused(t: Tract) -> None:
    user = t.head or ""
    info = turn(t, "c", "x")
    with pytest.raises(EditError, match="cannot answer"):
        t.tool_result("d", "grep", "y", edit=info)
    with pytest.raises(RoleError):
        t.tool_result("c", "grep", "y", edit=user)
    with pytest.raises(CommitNotFoundError):
        t.tool_result("c", "grep", "y", edit="ab" * 32)
    assert seen(t) == ["x"]


def test_an_edit_with_a_form_has_it_or_is_refused(t: Tract) -> None:
    info = turn(t, "c", BIG)
    try:
        edit = t.tool_result("c", "grep", BIG + "!", edit=info, form="reference")
    except InputError:
        assert seen(t) == [BIG]
    else:
        assert edit.form == Form.REFERENCE
        assert forms(t) == ["reference"]


# Loading


def test_loading_all_none_or_some(t: Tract) -> None:
    turn(t, "a", BIG, form="reference")
    turn(t, "b", BIG + "b")
    turn(t, "a", BIG + "c", form="reference")
    assert forms(t) == ["reference", "full", "reference"]
    assert seen(t, load_tool_results=True) == [BIG, BIG + "b", BIG + "c"]
    assert forms(t, load_tool_results=False) == ["reference"] * 3
    assert forms(t, load_tool_results=["b"]) == ["reference", "full", "reference"]
    assert forms(t, load_tool_results=["a#2"]) == ["reference", "reference", "full"]
    assert forms(t, load_tool_results=[]) == ["reference"] * 3
    assert forms(t) == ["reference", "full", "reference"]


def test_loading_by_a_commit_or_the_id_of_a_provider(t: Tract) -> None:
    turn(t, "a", BIG, form="reference")
    second = turn(t, "odd id", BIG + "b", form="reference")
    sent = t.compile().to_anthropic()["messages"][-1]["content"][0]["tool_use_id"]
    assert sent != "odd id"
    for name in (second.commit_hash, sent, "odd id"):
        assert forms(t, load_tool_results=[name]) == ["reference", "full"]


def test_loading_an_unknown_id_is_refused(t: Tract) -> None:
    before = turn(t, "call_12", BIG)
    turn(t, "call_34", BIG)
    with pytest.raises(ResultNotFoundError, match=r"'call_13'.*similar ids: .*call_12"):
        t.compile(load_tool_results=["call_34", "call_13"])
    with pytest.raises(ResultNotFoundError, match="call_34"):
        t.compile(before, load_tool_results=["call_34"])


TEXTS = ["plain\n" * 140, 'grün "quoted"\n\t' * 2_000, "工具 \x1b[0m" * 400_000]


@pytest.mark.parametrize("text", TEXTS, ids=["short", "long", "in chunks"])
def test_one_size_everywhere(t: Tract, text: str) -> None:
    size, info = len(text.encode()), turn(t, "a", text, form="reference")
    assert info.byte_size == t.get_commit(info).byte_size == next(t.log()).byte_size == size
    assert t.list_tool_results()[0].byte_size == size
    assert f" · {size} bytes · " in seen(t)[0]
    assert f"{size} bytes" in t.get_tool_result("a").partition("\n")[0]
    blocks = [line_of(block) for block in format_dialog(t.read()) if is_result(block)]
    assert f"({size} bytes" in blocks[0]
    assert t.dialogs()[0].bytes == sum(info.byte_size for info in t.log())


def line_of(block: Any) -> str:
    return plain(next(iter(format_lines([block]))))


def is_result(block: Any) -> bool:
    return isinstance(block, ToolResultBlock)


def test_the_size_of_json_and_blocks_is_that_of_their_text(t: Tract) -> None:
    blocks = [{"type": "text", "text": "é"}, {"type": "text", "text": "b"}]
    for number, (content, text) in enumerate(
        [({"a": [1, "é"]}, '{"a":[1,"é"]}'), (blocks, "é\nb"), (None, "")]
    ):
        info = turn(t, f"c{number}", content)
        assert info.byte_size == len(text.encode())
        assert t.get_tool_result(f"c{number}").partition("\n")[2] == text


def test_the_tool_for_results_costs_tokens(t: Tract) -> None:
    t.set_tools([tool("grep")])
    turn(t, "a", BIG)
    before = t.compile()
    lazy = t.compile(load_tool_results=False)
    cost = t.tokens.count(readable(GET_TOOL_RESULT_SCHEMA))
    assert lazy.tool_tokens == before.tool_tokens + cost
    assert lazy.tokens_by_tool == {**before.tokens_by_tool, "get_tool_result": cost}
    assert lazy.token_count == sum(lazy.message_tokens) + lazy.tool_tokens
    t.set_tools([tool("get_tool_result")])  # the caller's own is sent instead
    assert set(t.compile(load_tool_results=False).tokens_by_tool) == {"get_tool_result"}
    assert t.compile(load_tool_results=False).tool_tokens == t.compile().tool_tokens


def test_a_view_writes_nothing(t: Tract) -> None:
    turn(t, "a", BIG)
    head, before = t.head, t.compile().to_openai()
    assert is_offered(t, load_tool_results=False)
    assert t.head == head
    assert t.compile().to_openai() == before


def test_recent_and_small_results_are_whole(t: Tract) -> None:
    for number in range(3):
        turn(t, f"c{number}", BIG + f"{number}", form="reference")
    small = turn(t, "small", "a few words " * 60, form="reference")
    assert forms(t, keep_recent=2) == ["reference", "reference", "full", "full"]
    assert forms(t, inline_under=small.token_count) == ["reference"] * 3 + ["full"]
    assert forms(t, inline_under=small.token_count - 1) == ["reference"] * 4
    view = {"load_tool_results": False, "keep_recent": 1, "inline_under": small.token_count}
    assert forms(t, **view) == ["reference"] * 3 + ["full"]


@pytest.mark.parametrize(
    "view",
    [
        {"load_tool_results": "a"},
        {"load_tool_results": [5]},
        {"keep_recent": -1},
        {"inline_under": 1.5},
    ],
)
def test_a_view_that_cannot_be_is_refused(t: Tract, view: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        t.compile(**view)


def test_views_of_an_earlier_commit(t: Tract) -> None:
    info = turn(t, "a", BIG)
    t.reshape({info.commit_hash: "reference"})
    assert seen(t, at=info) == [BIG]
    assert forms(t, at=info, load_tool_results=False) == ["reference"]


# Fetching


def test_a_part_of_a_result(t: Tract) -> None:
    lines = BIG.splitlines(keepends=True)
    turn(t, "c", BIG, form="reference")
    assert body(t.get_tool_result("c", lines="10-12")) == "".join(lines[9:12])
    assert body(t.get_tool_result("c", lines="1")) == lines[0]
    assert body(t.get_tool_result("c", offset=7, limit=9)) == BIG[7:16]
    hits = body(t.get_tool_result("c", grep=r"function_199\d\b", context=0))
    assert hits.splitlines() == [f"{n + 1}:{lines[n].rstrip()}" for n in range(1990, 2000)]
    around = body(t.get_tool_result("c", grep=r"function_50\(", context=1))
    assert len(around.splitlines()) == 3
    label = t.get_tool_result("c", lines="10-12").splitlines()[0]
    assert label.startswith("[c · grep · ")


def test_a_part_of_json(t: Tract) -> None:
    turn(t, "c", {"items": [{"name": "é"}, {"name": "b"}], "n": 2})
    assert body(t.get_tool_result("c", json_path="$.items[0].name")) in ("é", '"é"')
    assert "b" in t.get_tool_result("c", json_path="$.items[*].name")


def test_answers_are_bounded_and_paged(t: Tract) -> None:
    turn(t, "c", BIG)
    pages, offset = [], 0
    while offset < len(BIG):
        answer = t.get_tool_result("c", offset=offset)
        assert len(answer) < 12_000
        pages.append(body(answer))
        offset += len(pages[-1])
    assert len(pages) > 5
    assert "".join(pages) == BIG


def test_a_result_is_fetched_by_any_of_its_names(t: Tract) -> None:
    odd = "functions.Bash:0"
    infos = [turn(t, odd, f"the result {number}", form="reference") for number in range(2)]
    legal = [turn(t, "a", f"the other {number}", form="reference") for number in range(2)]
    assert body(t.get_tool_result(odd)) == "the result 0"
    assert body(t.get_tool_result(f"{odd}#2")) == "the result 1"
    assert body(t.get_tool_result("a#2")) == "the other 1"
    assert body(t.get_tool_result(infos[1].commit_hash)) == "the result 1"
    assert body(t.get_tool_result(legal[1].commit_hash[:10])) == "the other 1"
    wires = [
        block["tool_use_id"]
        for message in t.compile().to_anthropic()["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert [body(t.get_tool_result(wire)) for wire in wires] == [
        "the result 0",
        "the result 1",
        "the other 0",
        "the other 1",
    ]


def test_only_results_of_this_dialog_are_fetched(db: str) -> None:
    with open_tract(db, dialog="one") as one:
        info = turn(one, "mine", BIG)
    with open_tract(db, dialog="two") as two:
        turn(two, "yours", BIG)
        for name in ("mine", info.commit_hash):
            with pytest.raises(ResultNotFoundError):
                two.get_tool_result(name)


@pytest.mark.parametrize(
    "wanted",
    [{"lines": "x"}, {"lines": "1", "grep": "x"}, {"limit": -1}, {"json_path": "$.a["}],
)
def test_a_request_that_cannot_be_is_refused(t: Tract, wanted: dict[str, Any]) -> None:
    turn(t, "c", BIG)
    with pytest.raises(InputError):
        t.get_tool_result("c", **wanted)


def test_left_out_results_can_be_fetched(t: Tract) -> None:
    info = turn(t, "c", BIG)
    t.annotate(info, Priority.SKIP)
    assert body(t.get_tool_result("c", lines="1")) == BIG.splitlines(keepends=True)[0]


# Answering


def ask(t: Tract, **arguments: Any) -> CommitInfo:
    call(t, "g", name="get_tool_result", **arguments)
    return t.answer(t.compile().messages[-1].tool_calls[0])


def test_one_line_answers_a_call(t: Tract) -> None:
    turn(t, "c", BIG, form="reference")
    info = ask(t, id="c", lines="3-4")
    assert (info.tool_call_id, info.name, info.is_error) == ("g", "get_tool_result", False)
    assert t.get_content(info) == t.get_tool_result("c", lines="3-4")
    assert seen(t)[-1] == t.get_content(info)
    assert_valid(t)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_call_in_a_providers_words(t: Tract, wire: str) -> None:
    turn(t, "c", "hello", form="reference")
    arguments = {"id": "c"}
    given = {
        "openai": {
            "id": "g",
            "type": "function",
            "function": {"name": "get_tool_result", "arguments": json.dumps(arguments)},
        },
        "anthropic": {"type": "tool_use", "id": "g", "name": "get_tool_result", "input": arguments},
    }
    t.assistant("", tool_calls=[given[wire]])
    assert body(str(t.get_content(t.answer(given[wire])))) == "hello"


def test_an_unknown_id_is_answered_with_what_is_near(t: Tract) -> None:
    turn(t, "call_abc1", BIG)
    info = ask(t, id="call_abc2")
    assert info.is_error
    assert "call_abc1" in str(t.get_content(info))
    assert_valid(t)


@pytest.mark.parametrize(
    "arguments", [{}, {"id": 5}, {"id": "c", "lines": "x"}, {"id": "c", "nonsense": 1}]
)
def test_a_wrong_call_is_answered_with_an_error(t: Tract, arguments: dict[str, Any]) -> None:
    turn(t, "c", BIG)
    assert ask(t, **arguments).is_error


def test_a_forgotten_result_is_answered_with_an_error(t: Tract) -> None:
    t.forget(turn(t, "c", BIG, form="reference"))
    assert ask(t, id="c").is_error


def test_only_calls_of_the_tool_are_answered(t: Tract) -> None:
    call(t, "c")
    with pytest.raises(InputError, match="grep"):
        t.answer(t.compile().messages[-1].tool_calls[0])


# Offering


def test_what_was_offered_once_stays_offered(db: str) -> None:
    with open_tract(db) as t:
        t.user("go")
        info = turn(t, "c", BIG)
        assert not is_offered(t)
        mark = t.reshape({info.commit_hash: "reference"})
        assert is_offered(t)
        t.restore(mark)
        assert seen(t) == [BIG]
        assert is_offered(t)
        t.user("more")
        assert is_offered(t)
    with open_tract(db) as t:
        assert is_offered(t)


def test_lazy_results_offer_it_from_the_beginning(db: str) -> None:
    with open_tract(db) as t:
        t.configure_results(inline_tokens=100)
        t.user("go")
        assert is_offered(t)
        t.configure_results()
        assert is_offered(t)
    with open_tract(db) as t:
        assert is_offered(t)


def test_it_is_not_offered_where_all_was_always_whole(t: Tract) -> None:
    info = turn(t, "c", BIG)
    t.reshape({info.commit_hash: "full"})
    assert not is_offered(t)


def test_it_is_offered_beside_the_tools_of_the_dialog(t: Tract) -> None:
    t.set_tools([{"name": "grep", "input_schema": {"type": "object"}}])
    turn(t, "c", BIG, form="reference")
    declared = t.compile().to_anthropic_params()["tools"]
    assert [tool["name"] for tool in declared] == ["grep", "get_tool_result"]
    assert t.get_tools() == [{"name": "grep", "input_schema": {"type": "object"}}]


def test_it_is_offered_once(t: Tract) -> None:
    turn(t, "c", BIG, form="reference")
    t.set_tools(t.compile().tools)
    assert is_offered(t)
    assert len(t.compile().tools) == 1


# Finding


def ids(found: list[CommitInfo]) -> list[str | None]:
    return [info.tool_call_id for info in found]


def test_results_are_found_oldest_first(t: Tract) -> None:
    infos = [turn(t, i, i, name="grep" if i in "ac" else "read") for i in "abcd"]
    assert t.find_tool_results() == infos
    assert ids(t.find_tool_results("grep")) == ["a", "c"]
    assert ids(t.find_tool_results("nothing")) == []


def test_after_and_before_are_exclusive(t: Tract) -> None:
    a, b, c, d = (turn(t, i, i) for i in "abcd")
    assert ids(t.find_tool_results(after=a)) == ["b", "c", "d"]
    assert ids(t.find_tool_results(before=d.commit_hash)) == ["a", "b", "c"]
    assert ids(t.find_tool_results(after=a, before=d)) == ["b", "c"]
    assert ids(t.find_tool_results(after=b, before=c)) == []
    for name in ("after", "before"):
        with pytest.raises(NotFoundError):
            t.find_tool_results(**{name: "ab" * 32})


def test_an_edited_result_is_found_once_where_it_stood(t: Tract) -> None:
    a, *_ = (turn(t, i, i) for i in "abc")
    edit = t.tool_result("a", "grep", "edited", edit=a)
    assert t.find_tool_results()[0] == edit
    assert ids(t.find_tool_results()) == ["a", "b", "c"]
    for name in (a, edit):
        assert ids(t.find_tool_results(after=name)) == ["b", "c"]
        assert ids(t.find_tool_results(before=name)) == []


def test_a_commit_of_another_branch_is_refused(t: Tract) -> None:
    t.branch("other")
    t.checkout("other")
    elsewhere = t.user("elsewhere")
    t.checkout("main")
    turn(t, "a", "a")
    with pytest.raises(TractError):
        t.find_tool_results(after=elsewhere)


def test_there_is_no_limit(t: Tract, db: str) -> None:
    count = 200 if is_postgres(db) else 1_200
    with t.batch():
        for number in range(count):
            turn(t, f"c{number}", f"{number}")
    assert len(t.find_tool_results()) == len(t.find_tool_calls()) == count
    assert len(t.find_tool_turns()) == count


def test_turns_have_calls_and_results(t: Tract) -> None:
    made = call(t, "a", "b")
    b, a = t.tool_result("b", "grep", "bb"), t.tool_result("a", "grep", "aa")
    edit = t.tool_result("a", "grep", "edited", edit=a)
    open_call = call(t, "c", name="read")
    first, second = t.find_tool_turns()
    assert (first.call, first.results) == (made, [b, edit])
    assert first.tool_names == ["grep", "grep"]
    assert first.result_hashes == [b.commit_hash, edit.commit_hash]
    assert first.all_hashes == [made.commit_hash, *first.result_hashes]
    assert first.total_tokens == made.token_count + b.token_count + edit.token_count
    assert (second.call, second.results) == (open_call, [])
    assert t.find_tool_calls("read") == [open_call]
    assert [found.call for found in t.find_tool_turns("read")] == [open_call]


# Failed turns


def test_failed_turns_leave_the_view(t: Tract) -> None:
    turn(t, "good", "fine")
    bad = turn(t, "bad", "no such file", is_error=True)
    told = turn(t, "told", {"error": "no such file"})
    call(t, "x", "y")
    t.tool_result("x", "grep", "broke", is_error=True)
    t.tool_result("y", "grep", "fine")
    turns = t.find_tool_turns()
    before = t.compile().to_openai()
    dropped = t.drop_failed_tool_turns()
    assert (dropped.turns, dropped.results) == (2, 2)
    assert dropped.tokens == turns[1].total_tokens + turns[2].total_tokens
    assert ids(t.find_tool_results()) == ["good", "x", "y"]
    assert {bad.commit_hash, told.commit_hash} & set(t.compile().commit_hashes) == set()
    assert_valid(t)
    assert dropped.commit is not None
    t.restore(dropped.commit)
    assert t.compile().to_openai() == before


def test_nothing_failed_is_no_commit(t: Tract) -> None:
    turn(t, "a", "fine")
    head = t.head
    dropped = t.drop_failed_tool_turns()
    assert (dropped.turns, dropped.results, dropped.tokens, dropped.commit) == (0, 0, 0, None)
    assert t.head == head


def test_dropping_twice_is_dropping_once(t: Tract) -> None:
    turn(t, "a", "x", is_error=True)
    assert t.drop_failed_tool_turns().turns == 1
    assert t.drop_failed_tool_turns().turns == 0


def test_failed_turns_of_one_tool(t: Tract) -> None:
    turn(t, "a", "x", is_error=True)
    turn(t, "b", "x", is_error=True, name="read")
    assert t.drop_failed_tool_turns("read").turns == 1
    assert ids(t.find_tool_results()) == ["a"]


def test_pinned_and_open_turns_stay(t: Tract) -> None:
    t.annotate(turn(t, "a", "x", is_error=True), Priority.PINNED)
    call(t, "b", "c")
    t.tool_result("b", "grep", "x", is_error=True)
    assert t.drop_failed_tool_turns().turns == 0


def test_what_was_dropped_can_still_be_fetched(t: Tract) -> None:
    turn(t, "a", "it broke", is_error=True)
    t.drop_failed_tool_turns()
    assert body(t.get_tool_result("a")) == "it broke"


# Superseded ones


def test_superseded_results_are_a_basis_for_reshaping(t: Tract) -> None:
    path = {"path": "a.py"}
    first = turn(t, "a", BIG, name="read", given=path)
    turn(t, "b", BIG, name="read", given={"path": "b.py"})
    second = turn(t, "c", "written", name="write", given=path)
    third = turn(t, "d", BIG + "new", name="read", given=path)
    found = t.find_superseded()
    assert [(s.result, s.by) for s in found] == [(first, third), (second, third)]
    assert len({s.reason for s in found}) == 2
    t.reshape({s.result.commit_hash: "collapsed" for s in found})
    assert ids(t.find_tool_results()) == list("abcd")
    assert forms(t) == ["full", "full"]
    assert_valid(t)


def test_what_cannot_be_reshaped_is_not_superseded(t: Tract) -> None:
    given = {"path": "x"}
    t.annotate(turn(t, "a", BIG, given=given), Priority.PINNED)
    turn(t, "b", BIG, given=given)
    ask(t, id="b")
    ask(t, id="b")
    turn(t, "c", BIG, given=given)
    found = t.find_superseded()
    assert ids([s.result for s in found]) == ["b"]
    t.reshape({s.result.commit_hash: "reference" for s in found})


# Version 7


@pytest.mark.database
def test_a_database_of_version_7_takes_forms(db: str) -> None:
    """Written by hand, because a database that was written by version 7 has no results yet."""
    with open_tract(db) as t:
        t.user("go")
        info = turn(t, "c", BIG)
        hashes = [each.commit_hash for each in t.log()]
    back_to_version_7(db)
    with open_tract(db) as t:
        [(version,)] = execute(db, "SELECT version FROM tract_schema")
        assert version == known_migrations()[-1].version >= 8
        assert [each.commit_hash for each in t.log()] == hashes
        assert seen(t) == [BIG]
        assert not is_offered(t)
        assert forms(t, load_tool_results=False) == ["reference"]
        t.reshape({info.commit_hash: "reference"})
        t.configure_results(inline_tokens=10)
        turn(t, "d", BIG + "!")
        assert forms(t) == ["reference", "reference"]
        assert t.fsck().ok


TOTALS = (
    "checksum",
    "branches",
    "commits",
    "tokens",
    "bytes",
    "errors",
    "updated_at",
    "total",
)


def back_to_version_7(db: str) -> None:
    """Take away what later versions added."""
    back_to_version_20(db)
    added = (
        ("commits", "form"),
        ("blobs", "gist"),
        ("chunks", "first_line"),
        ("dialogs", "result_settings"),
        ("dialogs", "summarization"),
        ("dialogs", "facts"),
        ("blobs", "text_size"),
        ("tract_schema", "erasures"),
        ("tract_schema", "dialogs"),
        ("tract_schema", "identity"),
        *(("dialogs", column) for column in TOTALS),
        ("branches", "checksum"),
        ("chunks", "checksum"),
    )
    for blob_id, checksum, size in execute(db, "SELECT id, checksum, text_size FROM blobs"):
        values = checksum ^ size << 12, blob_id  # as it was without that size
        execute(db, "UPDATE blobs SET checksum = ? WHERE id = ?", values)
    for table, column in added:
        execute(db, f"ALTER TABLE {table} DROP COLUMN {column}")
    execute(db, "ALTER TABLE branches RENAME COLUMN commit_hash TO head_hash")
    execute(db, "ALTER TABLE blobs RENAME COLUMN json_size TO byte_size")
    tables_of_17 = ("word_index", "content_words", "vocabulary")
    for table in ("erased", "grants", "audit", "receipts", *tables_of_17):
        execute(db, f"DROP TABLE {table}")
    execute(db, "DROP INDEX commits_by_content")
    execute(db, "UPDATE tract_schema SET version = 7")


@pytest.mark.database
def test_version_8_is_reached_from_an_empty_version_7(db: str) -> None:
    driver = _driver(db, "full", create=True)
    migrate(driver, known_migrations()[:2])
    driver.close()
    assert execute(db, "SELECT version FROM tract_schema") == [(7,)]
    with open_tract(db) as t:
        t.user("go")
        turn(t, "c", BIG, form="reference")
        assert forms(t) == ["reference"]
        assert t.fsck().ok
    assert is_postgres(db) or execute(db, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("unsent", ["", None], ids=["empty", "system"])
def test_a_turn_is_collapsed_in_a_view_that_grows_past_what_is_not_sent(unsent: str | None) -> None:
    with Tract.open() as t:
        t.user("go")
        t.assistant("", tool_calls=[{"id": "c", "name": "run", "arguments": {}}])
        t.tool_result("c", "run", "x" * 100, form="collapsed")
        t.system("be brief") if unsent is None else t.user(unsent)
        t.compile()
        t.user("and?")
        grown = [message.role for message in t.compile().messages]
        assert grown == [message.role for message in t.compile(at=t.head).messages]
        assert "tool" not in grown


@pytest.mark.parametrize("name", [None, 7, b"c", ["c"]])
def test_an_id_that_is_no_text_is_refused(t: Tract, name: Any) -> None:
    turn(t, "c", BIG)
    with pytest.raises(InputError, match=type(name).__name__):
        t.get_tool_result(name)
    with pytest.raises(InputError, match=type(name).__name__):
        t.list_tool_results(name)


def test_settings_of_a_dialog_that_another_instance_deleted_are_gone(db: str) -> None:
    with open_tract(db, dialog="two") as t, open_tract(db) as other:
        t.configure_results(inline_tokens=0)
        assert t.compile().to_openai_params()["tools"]
        other.delete_dialog("two")
        assert "tools" not in t.compile().to_openai_params()


@pytest.mark.parametrize("is_detached", [True, False])
def test_settings_of_another_instance_are_seen_at_an_old_commit(db: str, is_detached: bool) -> None:
    with open_tract(db) as t, open_tract(db) as other:
        old = t.user("q")
        t.user("n")
        if is_detached:
            t.checkout(old.commit_hash)
        other.configure_results(inline_tokens=20)
        assert t.compile(at=None if is_detached else old.commit_hash).to_openai_params()["tools"]


def test_settings_of_another_instance_are_seen_by_an_open_one(db: str) -> None:
    with open_tract(db) as t, open_tract(db) as other:
        t.user("q")
        t.compile()
        other.configure_results(inline_tokens=0)
        with open_tract(db) as fresh:
            assert t.compile().to_openai_params() == fresh.compile().to_openai_params()
        t.tool_result("a", "run", "x" * 900)
        assert t.compile().messages[-1].text.startswith("[result of run")
        other.configure_results(inline_tokens=10_000)
        t.tool_result("b", "run", "y" * 900)
        assert t.compile().messages[-1].text == "y" * 900
