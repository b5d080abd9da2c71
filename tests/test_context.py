"""The compiled view: what it says, and that contexts which share messages do not disturb."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import histories
from tests.toolkit import NAMES, claude_tool, in_the_end, names, tool, tool_lists
from tract import CommitInfo, Message, Priority, ToolCall, Tract, convert_tool
from tract.core.wording import NO_MESSAGES, NO_RESULT, SKIPPED
from tract.providers.validate import validate


def test_an_empty_history() -> None:
    with Tract.open() as t:
        context = t.compile()
        assert (context.messages, context.commit_count, context.token_count) == ([], 0, 0)
        assert (context.commit_hashes, context.generation_configs, context.tools) == ([], [], [])
        assert context.to_dicts() == context.to_openai() == []
        assert context.to_anthropic() == {"messages": []}
        assert context.notes == [NO_MESSAGES]


def test_what_it_says_of_each_message() -> None:
    with Tract.open() as t:
        first = t.user("one two three", generation_config={"model": "m"})
        second = t.assistant("four")
        edit = t.user("one", edit=first)
        context = t.compile()
        assert context.messages == [Message("user", "one"), Message("assistant", "four")]
        assert context.commit_hashes == [edit.commit_hash, second.commit_hash]
        assert context.commit_count == 2
        assert context.generation_configs == [None, None]
        assert context.token_count == edit.token_count + second.token_count
        assert context.token_source


def test_generation_configs_stand_beside_their_messages() -> None:
    with Tract.open() as t:
        t.user("x")
        t.assistant("y", generation_config={"model": "m", "temperature": 0.5})
        assert t.compile().generation_configs == [None, {"model": "m", "temperature": 0.5}]


def test_messages_and_to_dicts_are_the_same_history() -> None:
    with Tract.open() as t:
        t.system("s")
        t.user("u")
        assert t.compile().to_dicts() == t.compile().to_openai()
        assert [m["role"] for m in t.compile().to_dicts()] == ["system", "user"]


def test_a_skipped_result_costs_what_its_stand_in_costs() -> None:
    with Tract.open() as t:
        t.assistant(tool_calls=[ToolCall("a", "run")])
        result = t.tool_result("a", "run", "word " * 1000)
        before = t.compile().token_count
        t.annotate(result, Priority.SKIP)
        context = t.compile()
        assert context.token_count < before / 10
        assert context.messages[1].content == SKIPPED
        assert context.commit_hashes[1] == result.commit_hash


def test_an_old_context_stays_what_it_was() -> None:
    with Tract.open() as t:
        t.user("x", tools=[tool("run")])
        t.assistant(tool_calls=[ToolCall("a", "run")])
        old = t.compile()
        t.tool_result("a", "run", "y")
        new = t.compile()
        assert old.commit_count == len(old.messages) == len(old.commit_hashes) == 2
        assert NO_RESULT in old.to_openai()[-1]["content"]
        assert new.to_openai()[-1]["content"] == "y"
        assert NO_RESULT in old.to_openai()[-1]["content"]
        assert len(old.notes) == 1
        assert new.notes == []


@given(histories, st.lists(st.integers(0, 12), max_size=6))
def test_contexts_can_be_dumped_in_any_order(history: list[Message], order: list[int]) -> None:
    with Tract.open() as t:
        contexts = [t.compile()]
        fresh: list[tuple[str, str]] = [view(contexts[0])]
        for message in history:
            t.commit(message)
            contexts.append(t.compile())
            fresh.append(view(t.compile(at=t.head)))
        for index in [*order, *range(len(contexts))]:
            index = min(index, len(history))
            assert view(contexts[index]) == fresh[index]


def view(context: Any) -> tuple[str, str]:
    return json.dumps(context.to_openai()), json.dumps(context.to_anthropic())


def test_changing_a_returned_list_changes_no_other() -> None:
    with Tract.open() as t:
        t.user("x")
        context = t.compile()
        context.messages.clear()
        context.commit_hashes.clear()
        context.to_openai().clear()
        context.to_anthropic()["messages"].clear()
        assert len(context.messages) == len(context.commit_hashes) == 1
        assert len(context.to_openai()) == len(context.to_anthropic()["messages"]) == 1


def test_threads_may_share_a_context() -> None:
    with Tract.open() as t:
        for number in range(200):
            t.user(f"{number}")
        context = t.compile()
        expected = json.dumps(context.to_openai())
        with ThreadPoolExecutor(8) as pool:
            dumps = list(pool.map(lambda _: json.dumps(context.to_openai()), range(64)))
        assert set(dumps) == {expected}


def test_repr_says_how_much() -> None:
    with Tract.open() as t:
        t.user("x")
        assert repr(t.compile()).startswith("CompiledContext(1 messages, 1 tokens by ")


# Tools

GREP, READ = tool("grep", pattern="string"), tool("read", path="string")
CACHED = {"cache_control": {"type": "ephemeral"}}


def test_tools_cost_tokens() -> None:
    with Tract.open() as t:
        info = t.user("one two three")
        bare = t.compile()
        assert (bare.tool_tokens, bare.tokens_by_tool) == (0, {})
        t.set_tools([GREP, READ])
        context = t.compile()
        assert list(context.tokens_by_tool) == ["grep", "read"]
        assert all(tokens > 5 for tokens in context.tokens_by_tool.values())
        assert context.tool_tokens == sum(context.tokens_by_tool.values())
        assert context.token_count == info.token_count + context.tool_tokens
        assert (bare.token_count, bare.tool_tokens) == (info.token_count, 0)
        t.set_tools([READ])
        assert t.compile().tokens_by_tool == {"read": context.tokens_by_tool["read"]}
        t.set_tools(None)
        assert t.compile().token_count == info.token_count


def test_tools_say_how_they_were_counted(db: str) -> None:
    with Tract.open(db, tokens="chars/4") as t:
        t.set_tools([GREP])
        assert t.compile().token_source == "chars/4"
        assert t.compile().token_count == t.compile().tool_tokens == -(-len(json.dumps(GREP)) // 4)
    with Tract.open(db, tokens="estimate") as t:
        t.user("x", tools=[GREP])
        assert t.compile().token_source == "mixed"


def test_a_changed_tool_that_is_told_inline_costs_twice() -> None:
    limited = tool("grep", pattern="string", limit="integer")
    with Tract.open() as t:
        first = t.user("x", tools=[GREP])
        old = t.compile().tool_tokens
        t.set_tools([limited])
        new = t.compile().tool_tokens
        inline = t.compile(tools="inline")
        assert inline.tool_tokens == old + new
        assert inline.token_count == first.token_count + inline.tool_tokens


def test_requests_without_tools_have_no_such_key() -> None:
    with Tract.open() as t:
        t.system("s")
        t.user("x")
        context = t.compile()
        assert list(context.to_openai_params()) == ["messages"]
        assert set(context.to_anthropic_params()) == {"messages", "system"}
        assert list(context.to_responses_params()) == ["input"]
        assert (context.called, context.betas, context.notes) == ([], [], [])


def test_tools_go_out_verbatim_or_in_the_targets_words() -> None:
    odd = {"x_own": [1], **claude_tool("ls")}
    with Tract.open() as t:
        t.user("x", tools=[GREP, odd])
        names = [tool["function"]["name"] for tool in t.compile().to_openai_params()["tools"]]
        assert names == ["grep", "ls"]
        assert t.compile().to_openai() == [{"role": "user", "content": "x"}]
        assert any("x_own" in note for note in t.compile().notes)
        declared = t.compile().to_anthropic_params()["tools"]
        known = claude_tool("ls")
        assert json.dumps(declared) == json.dumps([convert_tool(GREP, "anthropic"), known])


def test_calls_of_tools_that_nobody_recorded_are_declared() -> None:
    with Tract.open() as t:
        t.user("x")
        t.assistant(
            "", tool_calls=[ToolCall("a", "run"), ToolCall("b", "ls"), ToolCall("c", "run")]
        )
        old = t.compile()
        for call_id in "abc":
            t.tool_result(call_id, None, "y")
        t.assistant("", tool_calls=[ToolCall("d", "read")])
        context = t.compile()
        note = "no tools were recorded; declared from the calls: run, ls, read"
        assert note in context.notes
        assert (context.called, old.called) == (["run", "ls", "read"], ["run", "ls"])
        assert names(context.to_openai_params()["tools"]) == ["run", "ls", "read"]
        assert names(old.to_openai_params()["tools"]) == ["run", "ls"]
        request = context.to_anthropic_params()
        assert [declared["name"] for declared in request["tools"]] == ["run", "ls", "read"]
        assert "tool_choice" not in request
        assert validate(request, "anthropic") == []
        declared = context.to_responses_params()["tools"]
        assert [each["name"] for each in declared] == ["run", "ls", "read"]
        assert (context.tools, context.toolset, context.tool_tokens) == ([], None, 0)
        t.set_tools([GREP])
        assert t.compile().notes == ["call 'd' of read has no result"]


def test_calls_of_tools_that_were_taken_away() -> None:
    with Tract.open() as t:
        t.user("x", tools=[GREP])
        t.assistant("", tool_calls=[ToolCall("a", "grep")])
        t.tool_result("a", "grep", "y")
        t.set_tools(None)
        context = t.compile()
        assert "tools" not in context.to_openai_params()
        assert "tools" not in context.to_responses_params()
        request = context.to_anthropic_params()
        assert [declared["name"] for declared in request["tools"]] == ["grep"]
        assert request["tool_choice"] == {"type": "none"}
        assert validate(request, "anthropic") == []


# Cache breakpoints


def breakpoints(value: Any) -> int:
    """How many there are. That they are not too many is the validator's to say."""
    return json.dumps(value).count('"cache_control"')


def marked(number: int) -> list[dict[str, Any]]:
    return [{"type": "text", "text": f"{each}", **CACHED} for each in range(number)]


@given(st.integers(0, 6), st.integers(0, 2), st.lists(st.integers(0, 5), max_size=4))
def test_breakpoints_of_tools_count_among_the_four(
    tools: int, system: int, messages: list[int]
) -> None:
    with Tract.open() as t:
        if system:
            t.system(marked(system))
        for number in messages:
            t.user([{"type": "text", "text": "x"}, *marked(number)])
            t.assistant("y")
        t.set_tools([claude_tool(f"f{each}") | CACHED for each in range(tools)])
        context = t.compile()
        plain = json.dumps(context.to_anthropic())
        request = context.to_anthropic_params()
        assert validate(request, "anthropic") == []
        assert breakpoints(request) == min(4, tools + system + sum(messages))
        assert breakpoints(request.get("tools", [])) == min(4, tools)
        assert json.dumps(context.to_anthropic()) == plain
        assert [each["name"] for each in context.tools] == [f"f{each}" for each in range(tools)]


def test_the_newest_breakpoints_stay() -> None:
    with Tract.open() as t:
        for _ in range(4):
            t.user([{"type": "text", "text": "x", **CACHED}])
            t.assistant("y")
        t.set_tools([claude_tool("f"), claude_tool("g") | CACHED])
        request = t.compile().to_anthropic_params()
        assert [breakpoints(message) for message in request["messages"]][::2] == [0, 1, 1, 1]
        assert [breakpoints(declared) for declared in request["tools"]] == [0, 1]


def test_breakpoints_of_tools_and_of_the_system_text_are_at_most_four() -> None:
    with Tract.open() as t:
        t.system(marked(4))
        t.user("x", tools=[claude_tool("f") | CACHED, claude_tool("g") | CACHED])
        request = t.compile().to_anthropic_params()
        assert breakpoints(request) == 4
        assert validate(request, "anthropic") == []


def test_breakpoints_of_tools_that_are_added_inline_count_too() -> None:
    with Tract.open() as t:
        t.user("x", tools=[claude_tool("f") | CACHED])
        t.assistant("y")
        t.user(marked(3))
        t.set_tools([claude_tool("f") | CACHED, claude_tool("g") | CACHED])
        request = t.compile(tools="inline").to_anthropic_params()
        assert breakpoints(request) == 4
        assert validate(request, "anthropic") == []


# Inline


def described(tools: list[dict[str, Any]]) -> dict[str, Any]:
    return {declared["name"]: declared for declared in tools}


def test_changes_are_told_where_they_happened() -> None:
    old, new = claude_tool("grep"), claude_tool("grep", limit="integer")
    with Tract.open() as t:
        t.user("x", tools=[old, claude_tool("ls")])
        t.assistant("y")
        t.user("z")
        t.set_tools([new, claude_tool("read")])
        context = t.compile(tools="inline")
        request = context.to_anthropic_params()
        assert request["tools"] == context.tools == [old, claude_tool("ls")]
        assert request["messages"][-1] == {
            "role": "system",
            "content": [
                {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "ls"}},
                {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": new}},
                {
                    "type": "tool_addition",
                    "tool": {"type": "tool_definition", "definition": claude_tool("read")},
                },
            ],
        }
        assert context.betas == ["inline-tools-2026-09-15"]
        assert context.to_anthropic() == t.compile().to_anthropic()
        assert t.compile().betas == []
        assert t.diff_tools(context, t.compile()).added == []


def test_the_tools_of_an_answer_are_told_before_it() -> None:
    with Tract.open() as t:
        t.user("x", tools=[claude_tool("grep")])
        t.assistant("y", tools=[claude_tool("grep"), claude_tool("ls")])
        request = t.compile(tools="inline").to_anthropic_params()
        assert [message["role"] for message in request["messages"]] == [
            "user",
            "system",
            "assistant",
        ]


def test_changes_between_two_answers_wait_for_the_next_question() -> None:
    answer = {"role": "assistant", "content": [{"type": "text", "text": "y"}]}
    with Tract.open() as t:
        t.user("x", tools=[claude_tool("grep")])
        t.commit(answer)
        t.commit(answer, tools=[claude_tool("ls")])
        request = t.compile(tools="inline").to_anthropic_params()
        assert [message["role"] for message in request["messages"]] == [
            *("user", "assistant", "assistant")
        ]
        t.user("z")
        request = t.compile(tools="inline").to_anthropic_params()
        assert validate(request, "anthropic") == []
        assert in_the_end(request) == {"ls": claude_tool("ls")}
        t.assistant("y")
        assert validate(t.compile(tools="inline").to_anthropic_params(), "anthropic") == []


def test_one_order_instead_of_another_leaves_the_prefix() -> None:
    first = [claude_tool("grep"), claude_tool("ls")]
    with Tract.open() as t:
        t.user("x", tools=first)
        t.assistant("y")
        t.user("z", tools=first[::-1])
        context = t.compile(tools="inline")
        assert context.tools == first
        assert context.to_anthropic_params()["tools"] == first
        assert context.to_responses_params()["tools"] == [
            convert_tool(each, "responses") for each in first
        ]


def test_responses_are_told_of_additions_only() -> None:
    ls, grep, read = (convert_tool(tool(name), "responses") for name in NAMES)
    with Tract.open() as t:
        t.user("x", tools=[ls])
        t.assistant("y")
        t.user("z", tools=[ls, grep])
        t.assistant("y")
        t.set_tools([read, ls, grep])
        request = t.compile(tools="inline").to_responses_params()
        assert request["tools"] == [ls]
        items = [item.get("type", item.get("role")) for item in request["input"]]
        assert items == [
            *("user", "message", "user"),
            *("additional_tools", "message", "additional_tools"),
        ]
        added = [item for item in request["input"] if item.get("type") == "additional_tools"]
        assert [item["tools"] for item in added] == [[grep], [read]]
        assert {item["role"] for item in added} == {"developer"}
        t.set_tools([grep, read])
        request = t.compile(tools="inline").to_responses_params()
        assert request["tools"] == [grep, read]
        assert request["input"] == t.compile().to_responses_params()["input"]


class Agent:
    """Talks, changes its tools, and looks at every request that would be sent."""

    def __init__(self, t: Tract) -> None:
        self.t = t
        self.first: list[dict[str, Any]] = []
        self.later: dict[int, list[dict[str, Any]]] = {}
        """The first tools that there were, and the last ones before each answer."""
        self.marks: list[CommitInfo] = []
        self.sent: list[tuple[str | None, list[str]]] = []
        """The tools and the messages of each request that was answered."""

    def do(self, action: str, tools: list[dict[str, Any]]) -> None:
        t = self.t
        match action:
            case "ask":
                t.user("x")
            case "ask with tools":
                t.user("x", tools=tools)
            case "answer":
                self.send()
                t.assistant("y")
            case "call":
                self.send()
                t.assistant("", tool_calls=[ToolCall(f"c{len(self.sent)}", "grep")])
                t.tool_result(f"c{len(self.sent)}", "grep", "z")
            case "offer":
                mark = t.set_tools(tools)
                self.marks += [mark] if mark else []
            case "undo" if self.marks:
                self.marks.append(t.restore(self.marks.pop()))
        answers = [message for message in t.compile().messages if message.role == "assistant"]
        active = t.get_tools() or []
        if self.first and active != [self.first, *self.later.values()][-1]:
            self.later[len(answers)] = active
        self.first = self.first or active

    def send(self) -> None:
        request = self.t.compile(tools="inline").to_anthropic_params()
        if request["messages"] and request["messages"][-1]["role"] != "assistant":
            messages = [json.dumps(message) for message in request["messages"]]
            self.sent.append((json.dumps(request["tools"]) if self.first else None, messages))

    def check(self) -> None:
        t, inline = self.t, self.t.compile(tools="inline")
        request = inline.to_anthropic_params()
        assert json.dumps(request) == json.dumps(
            t.compile(at=t.head, tools="inline").to_anthropic_params() if t.head else request
        )
        self.check_anthropic(request)
        self.check_responses(inline.to_responses_params())
        told = any(message["role"] == "system" for message in request["messages"])
        assert inline.betas or not told
        chat = inline.to_openai_params()
        assert chat == t.compile().to_openai_params()
        assert validate(chat["messages"], "openai") == []

    def check_anthropic(self, request: dict[str, Any]) -> None:
        assert validate(request, "anthropic") == []
        messages = [json.dumps(message) for message in request["messages"]]
        for tools, sent in self.sent:
            assert messages[: len(sent)] == sent
            assert tools in (None, json.dumps(request.get("tools")))
        if self.first:
            assert request["tools"] == self.first
        if self.first and messages and request["messages"][-1]["role"] != "assistant":
            assert in_the_end(request) == described(self.t.get_tools() or [])

    def check_responses(self, request: dict[str, Any]) -> None:
        assert validate(request["input"], "responses") == []
        if not self.first:
            return
        added = [i["tools"] for i in request["input"] if i.get("type") == "additional_tools"]
        has = [*request.get("tools", []), *(each for tools in added for each in tools)]
        active = self.t.get_tools() or []
        wanted = [convert_tool(each, "responses") for each in active]
        assert described(has) == described(wanted)
        assert len(has) == len(wanted)
        sets = [self.first, *self.later.values()]
        only_grow = all(each in new for old, new in pairwise(sets) for each in old)
        assert bool(added) == (only_grow and len(active) > len(self.first))


actions = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask with tools", "answer", "call", "offer", "undo"]),
        tool_lists,
    ),
    max_size=12,
)


@settings(max_examples=150)
@given(actions)
def test_inline_tools_always_amount_to_those_in_force(
    taken: list[tuple[str, list[dict[str, Any]]]],
) -> None:
    with Tract.open() as t:
        agent = Agent(t)
        for action, tools in taken:
            agent.do(action, tools)
            agent.check()
        t.user("end")
        agent.check()


@given(histories, st.lists(tool_lists, max_size=4), st.data())
def test_inline_tools_keep_any_history_valid(
    history: list[Message], sets: list[list[dict[str, Any]]], data: st.DataObject
) -> None:
    """Open calls, late results, skipped and edited messages: the request is taken, and says the
    tools that are in force wherever it can say them."""
    with Tract.open() as t:
        contexts, seen = [], []
        for message in history:
            tools = data.draw(st.none() | st.sampled_from(sets)) if sets else None
            info = t.commit(message, tools=tools)
            if data.draw(st.integers(0, 3)) == 0:
                t.annotate(info, data.draw(st.sampled_from([Priority.SKIP, Priority.PINNED])))
            contexts.append(t.compile(tools="inline"))
            request = contexts[-1].to_anthropic_params()
            assert validate(request, "anthropic") == []
            assert validate(contexts[-1].to_responses_params()["input"], "responses") == []
            ends = request["messages"][-1]["role"] if request["messages"] else None
            if t.get_tools() is not None and ends in ("user", "system") and contexts[-1].tools:
                assert in_the_end(request) == described(t.get_tools() or [])
            seen.append(json.dumps(request))
        for context, then in zip(contexts, seen, strict=True):
            assert json.dumps(context.to_anthropic_params()) == then


# What changes from one request to the next


def thinking(thought: str, *rest: dict[str, Any]) -> dict[str, Any]:
    block = {"type": "thinking", "thinking": thought, "signature": f"sig-{thought}"}
    return {"role": "assistant", "content": [block, *rest]}


def thoughts(t: Tract) -> list[str]:
    messages = t.compile().to_anthropic()["messages"]
    blocks = [block for m in messages if isinstance(m["content"], list) for block in m["content"]]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


def loop(t: Tract, number: int) -> CommitInfo:
    """A thought that leads to a call, and its result."""
    call = {"type": "tool_use", "id": f"c{number}", "name": "run", "input": {}}
    t.commit(thinking(f"t{number}", call))
    return t.tool_result(f"c{number}", "run", f"result {number} " * 50)


def test_the_first_changed_message_is_known() -> None:
    with Tract.open() as t:
        assert t.compile().first_changed == 0
        said = [t.user("0"), t.assistant("1"), t.user("2")]
        assert t.compile().first_changed == 0
        t.assistant("3")
        assert t.compile().first_changed == 3
        assert t.compile().first_changed == 4
        t.assistant("one", edit=said[1])
        assert t.compile().first_changed == 1
        t.annotate(said[2], "skip")
        t.user("4")
        assert t.compile().first_changed == 2
        t.set_tools([{"name": "run", "input_schema": {"type": "object"}}])
        assert t.compile().first_changed == 0


def test_thoughts_are_left_out_behind_what_was_changed_since() -> None:
    with Tract.open() as t:
        t.user("go")
        results = [loop(t, number) for number in range(3)]
        assert thoughts(t) == ["t0", "t1", "t2"]
        mark = t.reshape({results[1].commit_hash: "reference"})
        assert thoughts(t) == ["t0", "t1"]
        assert any("thoughts of 1 answers left out" in note for note in t.compile().notes)
        loop(t, 3)
        assert thoughts(t) == ["t0", "t1", "t3"]
        t.restore(mark)
        assert thoughts(t) == ["t0", "t1", "t2"]
        fresh = t.compile(at=t.head)
        assert fresh.to_anthropic() == t.compile().to_anthropic()


def test_thoughts_stay_where_a_result_came_in_its_form() -> None:
    with Tract.open() as t:
        t.configure_results(inline_tokens=5)
        t.user("go")
        for number in range(3):
            loop(t, number)
        t.annotate(t.user("and?"), "pinned")
        t.commit(thinking("last", {"type": "text", "text": "done"}))
        assert thoughts(t) == ["t0", "t1", "t2", "last"]


def test_thoughts_stay_where_a_mark_says_what_is_so_already() -> None:
    with Tract.open() as t:
        first = t.user("go")
        results = [loop(t, number) for number in range(3)]
        name = results[0].commit_hash
        for priority in ("normal", "pinned", "normal", "normal"):
            t.annotate(first, priority)
            t.annotate(results[0], priority)
        t.reshape({name: "full"})
        assert thoughts(t) == ["t0", "t1", "t2"]
        t.reshape({name: "reference"})
        loop(t, 3)
        t.reshape({name: "reference"})
        t.annotate(results[0], "normal")
        assert thoughts(t) == ["t0", "t3"]
        t.annotate(results[0], "pinned")  # which shows it whole
        assert thoughts(t) == ["t0"]


def test_an_empty_history_says_so() -> None:
    with Tract.open() as t:
        assert t.compile().notes == [NO_MESSAGES]
        assert t.compile().notes_for("gemini") == [NO_MESSAGES]
        t.system("be brief")  # which two providers send beside the messages
        assert t.compile().notes_for("anthropic") == [NO_MESSAGES]
        assert t.compile().notes_for("openai") == []
        only = t.user("x")
        assert t.compile().notes == []
        t.annotate(only, "skip")
        assert t.compile().notes == [NO_MESSAGES]
