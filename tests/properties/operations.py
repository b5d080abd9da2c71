"""All that can be done to a dialog. The integers of an operation choose among what is there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from tests.properties.world import DIALOGS, LONG_LIVED, READER, SECOND_WRITER, TOKENS, Picks, World
from tests.strategies import ANTHROPIC_BLOCKS, PICTURES, THOUGHTS
from tests.summarizing import any_length
from tests.toolkit import claude_tool, tool
from tract import (
    CompiledContext,
    CompressResult,
    Form,
    Message,
    Priority,
    Shape,
    Text,
    ToolCall,
    Tract,
)
from tract.core.wording import GET_TOOL_RESULT
from tract.errors import CompressError, InputError, LLMCallError
from tract.importers.writer import import_file
from tract.providers import PROVIDERS

Operation = Callable[[World, Tract, Picks], object]
OPERATIONS: dict[str, Operation] = {}
WEIGHTS: dict[str, int] = {}
"""How often each is chosen."""


READS = ("compile_view", "read_parts", "read_more")


def operation(weight: int) -> Callable[[Operation], Operation]:
    def add(function: Operation) -> Operation:
        OPERATIONS[function.__name__] = function
        WEIGHTS[function.__name__] = weight
        return function

    return add


LONG = "".join(f"src/mod{n % 7}.py:{n}: def function_{n}(): pass\n" for n in range(40))
TEXTS = [
    "hello",
    "one",
    "two",
    "",
    " ",
    "é\x00\ud800",
    LONG,
    "[Summary] x",
    "ERROR it broke\n" * 30,
]
SAID = [text for text in TEXTS if text.strip()]
IDS = ["a", "a", "a", "b", "b", "", "functions.Bash:0", "é x", "x" * 80, "\ud800", "a#2"]
"""Few, so that calls and results of several messages have the same."""
TOOL_NAMES = ["run", "read", "grep", "a tool!", "a_tool_a96d5fdd", GET_TOOL_RESULT]
"""One that no provider accepts, and what is sent instead of it."""
ARGUMENTS: list[Any] = [{}, {"path": "a.py"}, {"path": "b.py", "n": 1.5}, "{broken", "[1]", ""]
THINKING = [ANTHROPIC_BLOCKS[2]]
USED = {"id": "r1", "model": "m1", "usage": {"input_tokens": 9, "output_tokens": 2}}
"""What every response says of itself."""
CONTENTS: list[Any] = [
    "ok",
    "".join(f"{n}: a line of a file\n" for n in range(400)),
    LONG,
    "",
    None,
    {"error": "it broke"},
    [1, {"a": "b" * 900}],
    [{"type": "text", "text": "t" * 900}, ANTHROPIC_BLOCKS[0]],
    [ANTHROPIC_BLOCKS[0]],
    "\x00\ud800é",
]
VERBATIM = "what was sent of it"
SHAPES = [
    *map(Shape, Form),
    *[Shape(Form.COLLAPSED)] * 3,  # the only form that changes other messages
    Shape(Form.TRUNCATED, 10),
    Shape(Form.REFERENCE, 5),
    Shape(Form.SUMMARY, text="in short"),
    Shape(Form.TRUNCATED, text=VERBATIM),
]
TOOLSETS: list[Any] = [
    [],
    [claude_tool("run")],
    [claude_tool("run", x="string"), claude_tool("read")],
    [tool("read"), tool("run")],
    [tool("grep", x="integer")],
]
ROLES = ["user", "assistant", "system"]


@operation(0)
def check_each_step(world: World, t: Tract, picks: Picks) -> None:
    """From here on."""
    world.checks_each_step = True


# What operations choose


def text(picks: Picks) -> str:
    words = picks.one(TEXTS)
    return words if picks.number(3) else f"{words} {picks.number(1000)}"


def tools(picks: Picks) -> Any:
    return picks.one(TOOLSETS) if picks.number(6) == 5 else None


def call_id(t: Tract, picks: Picks) -> str:
    """One of a few, or one that a provider is sent instead of it."""
    if picks.number(8) < 7:
        return picks.one(IDS)
    sent = t.compile().to_openai()
    used = [call["id"] for message in sent for call in message.get("tool_calls") or ()]
    return str(picks.one(used)) if used else "a"


def calls(t: Tract, picks: Picks) -> list[ToolCall]:
    return [
        ToolCall(call_id(t, picks), picks.one(TOOL_NAMES), picks.one(ARGUMENTS))
        for _ in range(1 + picks.number(3))
    ]


def open_ids(t: Tract) -> list[str]:
    """The ids that were called, newest first; those without a result before the others."""
    messages = t.compile().messages[::-1]
    called = [call.id for message in messages for call in message.tool_calls]
    answered = {message.tool_call_id for message in messages}
    return sorted(dict.fromkeys(called), key=lambda name: name in answered)


def any_commit(t: Tract, picks: Picks) -> str | None:
    """One of the view, or any of the log."""
    context = t.compile()
    names = context.commit_hashes[::-1]
    if picks.number(4) == 3:
        names = [info.commit_hash for info in t.log()]
    return picks.one(names) if names else None


def length(picks: Picks) -> Any:
    """Summaries of any length, or only shorter ones."""
    return any_length() if picks.number(4) < 3 else nullcontext()


def whole_turns(t: Tract, chosen: list[str]) -> list[str]:
    """The commits with the rest of the turns that they belong to."""
    names = dict.fromkeys(chosen)
    for turn in t.find_tool_turns():
        if names.keys() & set(turn.all_hashes):
            names |= dict.fromkeys(turn.all_hashes)
    return list(names)


# Messages


@operation(8)
def say(world: World, t: Tract, picks: Picks) -> None:
    role, words, offer = picks.one(ROLES), text(picks), tools(picks)
    write = {"user": t.user, "assistant": t.assistant, "system": t.system}[role]
    details: Any = {"message": "a note", "metadata": {"k": [1]}, "generation_config": {"n": 1}}
    write(words, tools=offer, **(details if picks.number(6) == 5 else {}))


@operation(3)
def say_blocks(world: World, t: Tract, picks: Picks) -> None:
    """Pictures and thoughts, as blocks of ours or in a provider's format."""
    words = picks.one(SAID)
    match picks.number(5):
        case 0:
            t.commit(Message("user", (Text(words), picks.one(PICTURES))))
        case 1:
            t.commit(Message("assistant", (picks.one(THOUGHTS), Text(words))))
        case 2:
            block = {"type": "text", "text": words, "cache_control": {"type": "ephemeral"}}
            t.user([block, *picks.some(ANTHROPIC_BLOCKS[:2])])
        case 3:
            t.commit({"role": picks.one(["user", "system", "developer"]), "content": words})
        case 4:
            t.system([{"type": "text", "text": words}])


@operation(8)
def call(world: World, t: Tract, picks: Picks) -> None:
    words, made = picks.one(["", *TEXTS]), calls(t, picks)
    if picks.number(3) < 2:
        t.assistant(words, tool_calls=made)
    else:
        thoughts = picks.some(THOUGHTS, 2)
        t.commit(Message("assistant", (*thoughts, *made)))


@operation(2)
def call_in_a_format(world: World, t: Tract, picks: Picks) -> None:
    """A provider's message or response, as an SDK returns it."""
    name, made = picks.one(TOOL_NAMES), call_id(t, picks)
    chat: Any = {"role": "assistant", "content": None}
    function = {"name": name, "arguments": '{"x": 1}'}
    chat["tool_calls"] = [{"id": made, "type": "function", "function": function}]
    use = {"type": "tool_use", "id": made, "name": name, "input": {"x": 1}}
    message: Any = {"role": "assistant", "content": [*picks.one([[], THINKING]), use]}
    match picks.number(4):
        case 0:
            t.commit(chat)
        case 1:
            t.commit(message)
        case 2:
            t.assistant({"choices": [{"finish_reason": "tool_calls", "message": chat}], **USED})
        case 3:
            t.assistant({"type": "message", "stop_reason": "tool_use", **message, **USED})


@operation(10)
def result(world: World, t: Tract, picks: Picks) -> None:
    """Of a call that waits, or of any other one, or of none."""
    waiting = open_ids(t)
    answered = picks.one(waiting) if waiting and picks.number(5) < 4 else call_id(t, picks)
    name = picks.one([None, "run", "read"])
    content = picks.one(CONTENTS)
    form = picks.one(SHAPES) if picks.number(4) == 3 else None
    t.tool_result(answered, name, content, is_error=picks.yes(), form=form)


@operation(2)
def turn(world: World, t: Tract, picks: Picks) -> None:
    """A question, a call, its result and perhaps an answer, as they usually are."""
    number = len(world.infos)
    with t.batch():
        t.user(picks.one(SAID))
        name = picks.one(TOOL_NAMES[:3])
        t.assistant("", tool_calls=[ToolCall(f"call_{number}", name, picks.one(ARGUMENTS))])
        t.tool_result(f"call_{number}", name, picks.one(CONTENTS), is_error=picks.yes())
        if picks.yes():
            t.assistant(picks.one(SAID))


@operation(1)
def results_together(world: World, t: Tract, picks: Picks) -> None:
    """Several results in one message of Anthropic's."""
    ids = picks.some(open_ids(t) or ["a"])
    results = [{"type": "tool_result", "tool_use_id": i, "content": "r " + i} for i in ids]
    t.commit({"role": "user", "content": results})


@operation(1)
def review(world: World, t: Tract, picks: Picks) -> None:
    """A result that is decided about at once."""
    pending = t.tool_result(
        picks.one(open_ids(t) or ["a"]), "run", picks.one(CONTENTS), review=True
    )
    with length(picks):
        [
            pending.approve,
            lambda: pending.edit_result("edited"),
            pending.summarize,
            lambda: pending.reject("no"),
        ][picks.number(4)]()


class StopError(InputError):
    """Breaks a batch off."""


@operation(2)
def batch(world: World, t: Tract, picks: Picks) -> None:
    """Several operations in one transaction, which may break off after any of them."""
    numbers = [picks.number(10_000) for _ in range(6)]
    names = [picks.one(["say", "call", "result", "edit", "annotate", "reshape"]) for _ in range(3)]
    with t.batch():
        for name in names:
            OPERATIONS[name](world, t, Picks([*numbers, *numbers]))
            numbers = numbers[1:]
            t.compile()
        if picks.number(3) == 2:
            raise StopError("broken off")


@operation(1)
def retry(world: World, t: Tract, picks: Picks) -> None:
    """With a parent: the newest commit, or an older one, after which it may be there already."""
    names = [info.commit_hash for info in t.log()]
    if names:
        t.user(picks.one(TEXTS), parent=picks.one(names[:3]))


# Changes


@operation(7)
def edit(world: World, t: Tract, picks: Picks) -> None:
    name = any_commit(t, picks)
    if name is None or t.get_commit(name).role is None:
        return
    old = t.get_message(name)
    if old.role == "tool":
        t.tool_result(old.tool_call_id or "", None, picks.one(CONTENTS), edit=name)
    elif old.role == "assistant" and picks.number(3):
        made = calls(t, picks) if picks.yes() else []
        t.assistant(text(picks), tool_calls=made, edit=name)
    else:
        t.commit(Message(old.role, text(picks)), edit=name, tools=tools(picks))


@operation(5)
def annotate(world: World, t: Tract, picks: Picks) -> None:
    names = t.compile().commit_hashes[::-1]
    if picks.number(4) == 3:
        names = [info.commit_hash for info in t.log() if info.role]
    if names:
        level = picks.one([Priority.SKIP, Priority.PINNED, Priority.NORMAL])
        t.annotate(picks.some(names, 3), level)


@operation(7)
def reshape(world: World, t: Tract, picks: Picks) -> None:
    names = [info.commit_hash for info in t.find_tool_results()][::-1]
    if names:
        t.reshape({name: picks.one(SHAPES) for name in picks.some(names, 3)})


@operation(7)
def restore(world: World, t: Tract, picks: Picks) -> None:
    """Anything: a change, an undo, all changes of a message, several at once."""
    log = list(t.log())
    changes = [info.commit_hash for info in log if info.operation != "append"]
    if picks.number(4) == 3:
        changes = [info.commit_hash for info in log]
    if changes:
        t.restore(*picks.some(changes, 2))


@operation(2)
def set_tools(world: World, t: Tract, picks: Picks) -> None:
    t.set_tools(picks.one(TOOLSETS))


@operation(1)
def drop_failed(world: World, t: Tract, picks: Picks) -> None:
    t.drop_failed_tool_turns(picks.one([None, "run"]))


@operation(1)
def shorten_superseded(world: World, t: Tract, picks: Picks) -> None:
    old = [each.result.commit_hash for each in t.find_superseded()]
    if old:
        t.reshape(dict.fromkeys(old, picks.one(SHAPES)))


# Summaries


LEGAL = re.compile("pinned, or to be preserved|one content cannot stand for")
"""Why full turns of the view may be refused."""


def compressed(t: Tract, before: CompiledContext, result: CompressResult) -> None:
    """Summaries stand where the first of their sources stood; all else stands as it did."""
    sources = {source: s.commit_hash for s in result.summaries for source in s.replaces}
    expected = list(dict.fromkeys(sources.get(name, name) for name in before.commit_hashes))
    after = list(dict.fromkeys(t.compile(load_tool_results=True).commit_hashes))
    assert after == expected, f"places: {before.commit_hashes} {after} {sources}"
    assert [h for info in result.summaries for h in info.replaces] == result.sources, "sources"


@operation(7)
def compress(world: World, t: Tract, picks: Picks) -> None:
    """Any messages of the view, with or without the rest of their turns."""
    names = list(dict.fromkeys(t.compile().commit_hashes))[::-1]
    if not names:
        return
    chosen = picks.some(names)
    is_whole = picks.number(8) < 7
    if is_whole:
        chosen = whole_turns(t, chosen)
    preserve = picks.some(names, 1) if picks.number(6) == 5 else []
    before = t.compile(load_tool_results=True)
    content = "a summary" if picks.number(3) < 2 else None
    try:
        with length(picks):
            result = t.compress(chosen, content=content, preserve=preserve)
    except CompressError as error:
        assert not is_whole or LEGAL.search(str(error)), f"refused: {error}"  # noqa: PT017
        raise
    compressed(t, before, result)


@operation(3)
def compress_range(world: World, t: Tract, picks: Picks) -> None:
    names = [info.commit_hash for info in t.log() if info.operation != "mark"]
    if names:
        ends = [picks.one([None, picks.one(names)]) for _ in range(2)]
        content = picks.one([None, "a summary"])
        before = t.compile(load_tool_results=True)
        with length(picks):
            result = t.compress(from_commit=ends[0], to_commit=ends[1], content=content)
        compressed(t, before, result)
        assert all(t.get_commit(name).role != "system" for name in result.sources), "instructions"


@operation(3)
def compress_tool_calls(world: World, t: Tract, picks: Picks) -> None:
    options: Any = {"preserve_answer": picks.number(3) < 2, "name": picks.one([None, None, "run"])}
    names = list(dict.fromkeys(t.compile().commit_hashes))
    if picks.yes() and names:
        options["commits"] = whole_turns(t, picks.some(names))
    else:
        options["keep_recent"] = picks.number(3)
    t.llm = picks.one([world.llm, None])
    before = t.compile(load_tool_results=True)
    try:
        with length(picks):
            compressed(t, before, t.compress_tool_calls(**options))
    finally:
        t.llm = world.llm


@operation(1)
def compress_in_review(world: World, t: Tract, picks: Picks) -> None:
    """Something else may happen before the summary is approved."""
    names = list(dict.fromkeys(t.compile().commit_hashes))[::-1]
    if not names:
        return
    chosen = whole_turns(t, picks.some(names))
    with length(picks):
        pending = t.compress(chosen, review=True)
    other = picks.one([t, world.tract(SECOND_WRITER, t.dialog)])
    meanwhile = picks.one(["", "", "say", "edit", "annotate", "result"])
    if meanwhile:
        OPERATIONS[meanwhile](world, other, picks)
    if pending.summaries and picks.yes():
        pending.edit_summary("better")
    pending.reject() if picks.number(4) == 3 else pending.approve()


@operation(3)
def summarize_result(world: World, t: Tract, picks: Picks) -> None:
    results = t.list_tool_results()
    if results:
        name = picks.one([picks.one(results).id, picks.one(results).commit_hash])
        t.llm = picks.one([world.llm, None])
        try:
            with length(picks):
                t.summarize_tool_result(name, dry_run=picks.number(6) == 5)
        finally:
            t.llm = world.llm


# The model and handlers


@operation(2)
def generate(world: World, t: Tract, picks: Picks) -> None:
    call_of_a_tool = {
        "id": "m1",
        "type": "function",
        "function": {"name": "run", "arguments": "{}"},
    }
    calling = {"role": "assistant", "content": "so", "tool_calls": [call_of_a_tool]}
    world.reply = picks.one(["an answer", calling, LLMCallError("broken"), ""])
    try:
        if picks.yes():
            t.chat(picks.one(SAID), tools=tools(picks))
        else:
            t.generate(tools=tools(picks))
    finally:
        world.reply = "in short"


@operation(2)
def fetch(world: World, t: Tract, picks: Picks) -> None:
    """The model asks for a result, and gets an answer."""
    names = [info.id for info in t.list_tool_results()]
    asked = ToolCall(picks.one(["g", "a"]), GET_TOOL_RESULT, {"id": picks.one([*names, "nobody"])})
    with t.batch():
        t.assistant("", tool_calls=[asked])
        t.answer(asked)


@operation(1)
def handle(world: World, t: Tract, picks: Picks) -> None:
    """A handler of new results, or none."""
    handlers: list[Any] = [
        None,
        lambda pending: pending.edit_result("handled"),
        lambda pending: pending.summarize(),
        lambda pending: pending.reject(),
        lambda pending: 1 / 0,
        lambda pending: pending.tract.user("from a handler"),
        lambda pending: pending.tract.compile(),
    ]
    handler = picks.one(handlers)
    if handler is None:
        t.off("tool_result")
    else:
        t.on("tool_result", handler)


@operation(1)
def configure(world: World, t: Tract, picks: Picks) -> None:
    match picks.number(3):
        case 0:
            limit = picks.one([None, 0, 50])
            t.configure_results(inline_tokens=limit, keep=picks.one([[], ["read"]]))
        case 1:
            t.configure_results(inline_tokens=20, tools={"run": {"inline_tokens": 5}})
        case 2:
            t.configure_tool_summarization(picks.one([None, {"run": "short"}]))


# Branches


@operation(2)
def branch(world: World, t: Tract, picks: Picks) -> None:
    names = [None, *(info.commit_hash for info in t.log())]
    t.branch(f"branch {len(t.branches())}", picks.one([None, picks.one(names)]))


@operation(3)
def checkout(world: World, t: Tract, picks: Picks) -> None:
    names = list(t.branches())
    if picks.number(4) == 3:
        names += [info.commit_hash for info in t.log()]
    t.checkout(picks.one(names))


@operation(1)
def delete_branch(world: World, t: Tract, picks: Picks) -> None:
    name = picks.one(list(t.branches()))
    t.delete_branch(name)
    world.lose_branch(t.dialog, name)


# Histories


def more_messages(provider: str, picks: Picks) -> list[Any]:
    """What a client adds to a history in a format."""
    words = picks.one(SAID)
    use = {"id": f"new_{picks.number(3)}", "name": "run"}
    arguments = '{"x": 1}'
    call_chat = {"id": use["id"], "type": "function"}
    call_chat |= {"function": {"name": "run", "arguments": arguments}}  # type: ignore[dict-item]
    called = {"type": "function_call", "call_id": use["id"], "name": "run", "arguments": arguments}
    output = {"type": "function_call_output", "call_id": use["id"], "output": words}
    returned = {"type": "tool_result", "tool_use_id": use["id"], "content": words}
    both: dict[str, list[list[Any]]] = {
        "openai": [
            [{"role": "user", "content": words}],
            [
                {"role": "assistant", "content": None, "tool_calls": [call_chat]},
                {"role": "tool", "tool_call_id": use["id"], "content": words},
            ],
        ],
        "anthropic": [
            [{"role": "user", "content": words}],
            [
                {"role": "assistant", "content": [{"type": "tool_use", **use, "input": {"x": 1}}]},
                {"role": "user", "content": [returned]},
            ],
        ],
        "responses": [[{"role": "user", "content": words}], [called, output]],
        "gemini": [
            [{"role": "user", "parts": [{"text": words}]}],
            [
                {
                    "role": "model",
                    "parts": [{"functionCall": {"name": "run", "args": {"x": 1}}}],
                },
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "run", "response": {"output": words}}}],
                },
            ],
        ],
    }
    return picks.one(both[provider])


MESSAGES_OF = {"openai": "messages", "anthropic": "messages", "responses": "input"}


@operation(4)
def record(world: World, t: Tract, picks: Picks) -> None:
    """A client's history: what is sent now or was sent earlier, perhaps cut, and more."""
    provider = picks.one(list(PROVIDERS))
    names = [None, None, *(info.commit_hash for info in t.log())]
    request: Any = t.compile(at=picks.one([None, picks.one(names)])).to_params(provider)
    key = MESSAGES_OF.get(provider, "contents")
    messages = list(request.get(key) or [])
    if picks.number(4) == 3:
        messages = messages[: picks.number(len(messages) + 1)]
    if picks.number(4) < 3:
        messages += more_messages(provider, picks)
    if messages:  # a cut may leave nothing, which is no history
        answer = {"role": "assistant", "content": "an answer"} if picks.number(4) == 3 else None
        t.record({**request, key: messages} if picks.yes() else messages, answer)


@operation(1)
def import_history(world: World, t: Tract, picks: Picks) -> None:
    """A file with a request or with lines of messages, imported into a dialog of its own or into
    this one. A second time it adds nothing."""
    provider = picks.one(list(PROVIDERS))
    request: Any = t.compile().to_params(provider)
    world.files += 1
    path = world.folder / f"file{world.files}.json"
    path.write_text(json.dumps(request))
    target = picks.one(["imported", DIALOGS[1], t.dialog])
    import_file(t, path, dialog=target)
    world.lose_branches(target)  # they may move to a longer form of what they have
    assert import_file(t, path, dialog=target).messages == 0, "import twice"


# Maintenance


@operation(1)
def forget(world: World, t: Tract, picks: Picks) -> None:
    """A content, or a text wherever it is."""
    names = [info for info in t.log() if info.role]
    is_trial = picks.number(6) == 5
    if picks.number(4) == 3:
        words = picks.one(["hello", "line", "function_3", "\ud800"])
        result = t.forget(text=words, dry_run=is_trial)
        hits = [] if is_trial else list(t.search(words, all_dialogs=True))
        assert not hits, f"still there: {hits}"
    elif names:
        result = t.forget(picks.one(names), dry_run=is_trial)
    else:
        return
    if not is_trial:
        world.unlearn(result.erased)


@operation(1)
def gc(world: World, t: Tract, picks: Picks) -> None:
    t.gc(dry_run=picks.number(4) == 3, grace_seconds=0)


@operation(1)
def back_up(world: World, t: Tract, picks: Picks) -> None:
    """A copy has the same history."""
    world.files += 1
    path = world.folder / f"copy{world.files}.db"
    t.backup(path)
    with Tract.open(path, dialog=t.dialog, tokens=TOKENS) as copy:
        world.align(copy, t)
        histories = [each.compile().to_openai() for each in (t, copy)]
        assert histories[0] == histories[1], f"copied: {histories}"
        assert copy.fsck().ok, "fsck of the copy"


@operation(1)
def reopen(world: World, t: Tract, picks: Picks) -> None:
    world.reopen(picks.one([LONG_LIVED, SECOND_WRITER, READER]))


@operation(1)
def delete_dialog(world: World, t: Tract, picks: Picks) -> None:
    name = picks.one(["imported", DIALOGS[1]])
    t.delete_dialog(name)
    world.lose_dialog(name)
    world.drop(name)


# Reading


@operation(3)
def compile_view(world: World, t: Tract, picks: Picks) -> None:
    """Any view, by any instance, without looking at it."""
    results = [info.id for info in t.list_tool_results()]
    loads: list[Any] = [None, True, False, results[:1]]
    context = t.compile(
        tools=picks.one(["latest", "inline"]),
        load_tool_results=picks.one(loads),
        keep_recent=picks.number(3),
        inline_under=picks.one([0, 5, 10**6]),
    )
    context.to_params(picks.one(list(PROVIDERS)))


@operation(2)
def read_parts(world: World, t: Tract, picks: Picks) -> None:
    """Parts of a result, as a model asks for them."""
    results = t.list_tool_results()
    if results:
        name = picks.one([picks.one(results).id, picks.one(results).commit_hash])
        parts: list[Any] = [
            {},
            {"lines": "2-3"},
            {"grep": "a.", "context": 1},
            {"json_path": "..a"},
            {"offset": 5, "limit": 7},
        ]
        t.get_tool_result(name, **picks.one(parts))


@operation(2)
def read_more(world: World, t: Tract, picks: Picks) -> None:
    """Everything else that reads."""
    log = list(t.log())
    name = picks.one(log).commit_hash if log else ""
    list(t.search(picks.one(["hello", "a", "\ud800"]), all_dialogs=picks.yes()))
    t.dialogs()
    list(t.usages())
    t.get_tools()
    t.tool_history("run")
    t.token_factor()
    t.find_superseded()
    t.find_tool_calls("run")
    t.stored().to_openai()
    world.snapshot(t)
    if name:
        t.get_commit_tools(name)
        t.diff_tools(name, t.head or "")
        t.compile(at=name).to_params(picks.one(list(PROVIDERS)))
        t.edit_history(name)
