"""`tract tools` from the outside, and what the other commands say of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli import HEAVY, HOSTILE, dangerous, imported_by, invoke, ok, ok_json, screen_of
from tests.corpus import RELEASES
from tests.toolkit import claude_tool, tool
from tract import ToolCall, Tract, convert_tool, hash_tool_schema
from tract.cli import cli

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
GEMINI = {"functionDeclarations": [{"name": "near"}, {"name": "far", "description": "Far."}]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ok("init")
    return tmp_path


def set_tools(*tools: dict[str, Any]) -> Any:
    return ok_json("tools", "set", "-", stdin=json.dumps(tools))


def say(text: str) -> str:
    digest: str = ok_json("commit", text)["commit_hash"]
    return digest


def names(*args: str) -> list[str]:
    return [tool["name"] for tool in ok_json("tools", *args)["tools"]]


# The active set


def test_the_active_set_with_its_cost(here: Path) -> None:
    grep = tool("grep", pattern="string")
    grep["function"]["description"] = "\n  Find   lines.\nIn all files.\n"
    made = set_tools(grep, claude_tool("ls"))
    shown = ok_json("tools")
    assert shown["commit"] == made["commit_hash"]
    assert shown["toolset_hash"] == made["toolset_hash"]
    assert shown["recorded"] is True
    assert [entry["schema"] for entry in shown["tools"]] == [grep, claude_tool("ls")]
    first, second = shown["tools"]
    assert first["tool_hash"] == hash_tool_schema(grep)
    assert first["description"] == "\n  Find   lines.\nIn all files.\n"
    assert second["description"] is None
    assert first["token_count"] + second["token_count"] == shown["tool_tokens"] > 0
    assert shown["token_source"] == ok_json("compile")["token_source"]
    result = invoke("tools")
    lines = result.stdout.splitlines()
    assert lines[0] == f"grep  {first['token_count']} tok  Find lines."
    assert lines[1] == f"ls    {second['token_count']} tok"
    assert result.stderr == f"2 tools, {shown['tool_tokens']} tokens (o200k) in every request\n"


def test_the_set_as_of_a_commit_or_branch(here: Path) -> None:
    set_tools(tool("a"))
    first = say("one")
    ok("branch", "old")
    set_tools(tool("b"), tool("a"))
    say("two")
    assert names() == names("--at", "HEAD") == names("--at", "main") == ["b", "a"]
    assert names("--at", "old") == names("--at", first[:9]) == ["a"]
    assert ok_json("tools", "--at", first[:9])["commit"] == first
    ok("checkout", first)
    assert names() == ["a"]


def test_several_tools_in_one_definition_are_one_line(here: Path) -> None:
    set_tools(GEMINI)
    (only,) = ok_json("tools")["tools"]
    assert (only["name"], only["description"]) == ("near, far", "Far.")
    assert "2 tools" in ok("log")


def test_nothing_recorded_and_no_tools_are_two_things(here: Path) -> None:
    say("hello")
    result = invoke("tools")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("no tools were recorded; record them with `tract tools")
    assert ok_json("tools")["recorded"] is False
    call = {"id": "c", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    ok("commit", "--file", "-", stdin=json.dumps(answer))
    assert "although the model called grep" in invoke("tools").stderr
    set_tools()
    result = invoke("tools")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "an empty list was recorded" in result.stderr
    shown = ok_json("tools")
    assert (shown["recorded"], shown["tools"], shown["tool_tokens"]) == (True, [], 0)


def test_a_dialog_without_a_commit(here: Path) -> None:
    ok("branch", "b")
    assert ok_json("tools")["commit"] is None
    assert ok_json("tools", "unused")["unused"] == []
    assert invoke("tools", "--at", "HEAD").exit_code == 3


# Recording


@pytest.mark.parametrize("wrapped", [False, True])
def test_tools_are_recorded_from_a_file(here: Path, wrapped: bool) -> None:
    tools = [tool("b"), tool("a")]
    (here / "tools.json").write_text(json.dumps({"tools": tools} if wrapped else tools))
    made = ok_json("tools", "set", "tools.json", "-m", "release 1")
    assert (made["operation"], made["message"]) == ("mark", "release 1")
    assert ok_json("show")["tools"] == tools
    assert names() == ["b", "a"]


def test_the_same_tools_are_not_recorded_twice(here: Path) -> None:
    set_tools(tool("a"))
    result = invoke("tools", "set", "-", stdin=json.dumps([tool("a")]))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("no change")
    assert set_tools(tool("a")) is None
    assert len(ok_json("log")) == 1


def test_tools_are_taken_away_and_brought_back(here: Path) -> None:
    set_tools(tool("a"))
    cleared = set_tools()
    assert names() == []
    ok("restore", cleared["commit_hash"])
    assert names() == ["a"]
    assert ", +a\n" in ok("log", "-n", "1")


def test_an_old_commit_cannot_get_tools(here: Path) -> None:
    first = say("one")
    say("two")
    ok("checkout", first)
    result = invoke("tools", "set", "-", stdin="[]")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "create a branch" in result.stderr


def test_an_old_commit_cannot_get_the_tools_of_its_branch(here: Path) -> None:
    first = say("one")
    set_tools(tool("a"))
    ok("checkout", first)
    assert invoke("tools", "set", "-", stdin=json.dumps([tool("a")])).exit_code == 4


def test_the_tools_of_a_request_are_recorded_too(here: Path) -> None:
    request = {"messages": [{"role": "user", "content": "x"}], "tools": [tool("a")]}
    made = ok_json("commit", "--file", "-", stdin=json.dumps(request))
    assert [item["operation"] for item in made] == ["mark", "append"]
    request["tools"] = [tool("b")]
    result = invoke("commit", "--file", "-", stdin=json.dumps(request))
    assert "no change" not in result.stderr
    assert "+b -a" in result.stdout
    assert names() == ["b"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "not JSON"),
        ("[", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        ("[" * 100_000, "nested"),
        ("null", "expected a list of definitions"),
        ("7", "expected a list of definitions"),
        ('"[]"', "expected a list of definitions"),
        ('{"tools": {}}', "expected a list of definitions"),
        ('{"name": "grep", "input_schema": {}}', "expected a list of definitions"),
        ("[7]", "int"),
        ("[[]]", "list"),
        ("[{}]", "needs a name"),
        ('[{"name": ""}]', "needs a name"),
        ('[{"type": "function", "function": {}}]', "needs a name"),
        ('[{"name": "a", "input_schema": {"x": NaN}}]', "NaN"),
        ('[{"name": "a"}, {"type": "function", "name": "a"}]', "'a' is in the list twice"),
        ('[{"functionDeclarations": 7}]', "list of declarations"),
        ('[{"functionDeclarations": []}]', "declares no tool"),
        ('[{"name": "a", "input_schema": ' + '{"a":' * 300 + "{}" + "}" * 301 + "]", "deeper"),
    ],
)
def test_what_is_no_list_of_tools_is_refused(here: Path, given: str | bytes, words: str) -> None:
    say("first")
    for options in ([], ["--json"]):
        result = invoke("tools", "set", "-", *options, stdin=given)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        assert words in result.stderr
        assert "Traceback" not in result.stderr
    assert len(ok_json("log")) == 1


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("tools set missing.json", 2, "No such file"),
        ("tools set", 2, "FILE"),
        ("tools nonsense", 2, "No such command"),
        ("tools --json unused", 2, "after `tools unused`"),
        ("tools --at HEAD unused", 2, "after `tools unused`"),
        ("tools --at nowhere", 3, "nowhere"),
        ("tools --at ffffffff", 3, "no commit ffffffff"),
        ("tools history", 2, "NAME"),
        ("tools history nothing", 3, "unknown tool 'nothing'; recorded on this branch: a"),
        (
            "tools history run",
            3,
            "'run' was called on this branch, but its definition",
        ),
        ("tools diff HEAD", 2, "'B'"),
        ("tools diff HEAD nowhere", 3, "nowhere"),
        ("tools diff ffffffff HEAD", 3, "no commit ffffffff"),
        ("compile --tools inline", 2, "--params"),
        ("compile --tools newest --params", 2, "newest"),
        ("compile --format mistral", 2, "mistral"),
        ("--dialog nowhere tools", 3, "no dialog 'nowhere'"),
        ("--db nowhere.db tools set -", 3, "nowhere.db"),
    ],
)
def test_failures(here: Path, line: str, code: int, words: str) -> None:
    ok("commit", "x", "--role", "tool", "--call-id", "c", "--name", "run")
    set_tools(tool("a"), SEARCH)
    result = invoke(*line.split(), stdin="[]")
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
    assert len(ok_json("log")) == 2


# History and difference


def test_the_versions_of_a_tool(here: Path) -> None:
    set_tools(tool("a"), tool("grep", pattern="string"))
    first = [say("one"), say("two")]
    set_tools(tool("grep", pattern="string", limit="integer"))
    second = say("three")
    set_tools(claude_tool("grep", pattern="string", limit="integer"))
    versions = ok_json("tools", "history", "grep")
    assert [version["commits"] for version in versions] == [2, 1, 0]
    assert [version["changed"] for version in versions] == [
        None,
        ["parameters.properties.limit"],
        [],
    ]
    assert (versions[0]["first_commit"], versions[0]["last_commit"]) == tuple(first)
    assert versions[1]["first_commit"] == versions[1]["last_commit"] == second
    assert versions[2]["first_commit"] is versions[2]["last_commit"] is None
    assert versions[1]["schema"] == tool("grep", pattern="string", limit="integer")
    assert versions[1]["tool_hash"] == hash_tool_schema(versions[1]["schema"])
    lines = ok("tools", "history", "grep").splitlines()
    assert lines[0].endswith(f"2 messages  {first[0][:10]}..{first[1][:10]}  first version")
    assert lines[1].endswith(
        f"1 message  {second[:10]}              changed {versions[1]['changed'][0]}"
    )
    assert lines[2].endswith("not used yet            the same in another format")


def test_what_became_of_the_tools(here: Path) -> None:
    set_tools(tool("gone"), tool("grep", x="string", y="string"), tool("ls"))
    old = say("old")
    set_tools(tool("ls"), tool("grep", x="integer"), tool("new"))
    assert ok_json("tools", "diff", old, "main") == {
        "added": ["new"],
        "removed": ["gone"],
        "changed": {"grep": ["parameters.properties.x.type", "parameters.properties.y"]},
        "reordered": ["ls"],
    }
    result = invoke("tools", "diff", old[:10], "HEAD")
    assert result.stderr == "1 added, 1 removed, 1 changed, 1 moved\n"
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["added", "new"],
        ["removed", "gone"],
        ["changed", "grep", "parameters.properties.x.type"],
        ["changed", "grep", "parameters.properties.y"],
        ["moved", "ls"],
    ]
    back = invoke("tools", "diff", "HEAD", old)
    assert "added    gone" in back.stdout
    same = invoke("tools", "diff", "HEAD", "main")
    assert (same.exit_code, same.stdout, same.stderr) == (0, "", "no difference\n")


@pytest.mark.parametrize("to", ["responses", "anthropic", "gemini"])
def test_the_same_tool_in_other_words_has_not_changed(here: Path, to: str) -> None:
    plain = {"type": "function", "function": {"name": "b"}}
    set_tools(tool("a", x="string"), plain)
    old = say("x")
    set_tools(convert_tool(tool("a", x="string"), to), convert_tool(plain, to))
    assert invoke("tools", "diff", old, "HEAD").stderr == "no difference\n"


def test_two_releases_of_a_real_server(here: Path) -> None:
    if not RELEASES.is_dir():
        pytest.skip("the recorded releases are not here")
    old, new = sorted(RELEASES.glob("github_mcp_tools_*.json"))
    before = ok_json("tools", "set", str(old), "-m", "old")
    ok("tools", "set", str(new), "-m", "new")
    assert "(new) " in ok("log", "-n", "1")
    tools = json.loads(old.read_bytes()), json.loads(new.read_bytes())
    named = [{definition["name"] for definition in release} for release in tools]
    found = ok_json("tools", "diff", before["commit_hash"], "HEAD")
    assert set(found["added"]) == named[1] - named[0]
    assert set(found["removed"]) == named[0] - named[1]
    assert set(found["changed"]) <= named[0] & named[1]
    assert found["changed"]["create_issue"]
    assert len(ok("tools").splitlines()) == len(tools[1])
    assert len(ok_json("tools", "unused")["unused"]) == len(named[0] | named[1])


# Never called


def answer_with(t: Tract, *called: str) -> None:
    calls = [ToolCall(f"c{number}", name) for number, name in enumerate(called)]
    t.assistant("", tool_calls=calls)
    for call in calls:
        t.tool_result(call.id, call.name, "done")


@pytest.fixture
def used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`old` was taken away, `hidden` is called in a turn that is not shown, `idle` never."""
    monkeypatch.setenv("TRACT_DB", str(tmp_path / "t.db"))
    with Tract.open(tmp_path / "t.db") as t:
        t.user("one", tools=[tool("old"), tool("grep"), tool("hidden")])
        answer_with(t, "hidden")
        t.annotate(next(info for info in t.log() if info.role == "assistant"), "skip")
        t.user("two", tools=[tool("grep"), tool("idle", x="string"), SEARCH, GEMINI])
        answer_with(t, "grep", "unknown", "near")
    return tmp_path / "t.db"


def on(db: Path, *args: str) -> Any:
    return json.loads(ok("--db", str(db), *args, "--json"))


def test_tools_that_were_never_called(used: Path) -> None:
    costs = {entry["name"]: entry["token_count"] for entry in on(used, "tools")["tools"]}
    found = on(used, "tools", "unused")
    assert found["offered"] == 7
    assert found["called"] == ["grep", "hidden", "near", "unknown"]
    assert {entry["name"]: entry for entry in found["unused"]} == {
        "idle": {"name": "idle", "token_count": costs["idle"], "active": True},
        "far": {"name": "far", "token_count": None, "active": True},  # it shares a definition
        "old": {
            "name": "old",
            "token_count": on(used, "tools", "history", "old")[0]["token_count"],
            "active": False,
        },
    }
    assert found["unused_tokens"] == costs["idle"]
    assert found["tool_tokens"] == sum(costs.values())
    assert found["not_counted"] == ["web_search"]
    result = invoke("--db", str(used), "tools", "unused")
    assert "old" in result.stdout
    assert "no longer offered" in result.stdout
    assert result.stderr == (
        f"3 of 7 tools never called: {costs['idle']} of {sum(costs.values())} tokens in every "
        "request; run by the provider and not counted: web_search\n"
    )


def test_another_branch_has_its_own_calls(used: Path) -> None:
    with Tract.open(used) as t:
        t.branch("other", at=list(t.log())[-1])
    ok("--db", str(used), "checkout", "other")
    unused = on(used, "tools", "unused")["unused"]
    assert {entry["name"] for entry in unused} == {"old", "grep", "hidden"}


def test_a_version_that_came_back_has_its_own_cost(here: Path) -> None:
    small, large = tool("a"), tool("a", x="string", y="string", z="string")
    for tools in (small, large, small):
        set_tools(tools)
        say("x")
    (unused,) = ok_json("tools", "unused")["unused"]
    assert unused["token_count"] == ok_json("tools")["tool_tokens"]


def test_metadata_of_a_caller_is_not_taken_for_calls(here: Path) -> None:
    set_tools(tool("a"))
    for calls in ('"a"', '["a"]', '[{"name": 7}]', "{}"):
        ok("commit", "x", "--metadata", f'{{"tool_calls": {calls}}}')
    assert [entry["name"] for entry in ok_json("tools", "unused")["unused"]] == ["a"]


def test_nothing_offered_and_everything_called(here: Path) -> None:
    say("x")
    result = invoke("tools", "unused")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("no tools were recorded; ")
    set_tools(tool("run"))
    ok("commit", "x", "--role", "tool", "--call-id", "c", "--name", "run")
    result = invoke("tools", "unused")
    assert (result.stdout, result.stderr) == ("", "0 of 1 tool never called\n")


# What other commands say


def test_the_log_says_what_commits_record(here: Path) -> None:
    with Tract.open(".tract/tract.db") as t:
        t.set_tools([tool("a"), tool("b")], message="two")
        first = t.user("with its own", tools=[tool("a")])
        t.user("without")
        t.user("edited", edit=first, tools=[tool("c"), tool("d"), tool("e")])
        t.set_tools([claude_tool("a")])
        t.set_tools([])
        t.set_tools([tool(f"t{number}") for number in range(9)])
        t.set_tools([tool(f"t{number}") for number in reversed(range(9))])
    rows = [line.split("Z  ") for line in ok("log").splitlines()]
    told = [(" ".join(row[0].split()[1:-2]), row[1]) for row in rows]
    assert told == [
        ("tools 9 tools", "8 moved"),
        ("tools 9 tools", "9 added"),
        ("tools 0 tools", "-a"),
        ("tools 1 tool", "the same in another format"),
        ("edit user 1 tok 3 tools", f"of {first.commit_hash[:10]}: edited"),
        ("user 1 tok", "without"),
        ("user 3 tok 1 tool", "with its own"),
        ("tools 2 tools", "(two) +a +b"),
    ]
    assert "9 added" not in ok("branch")
    assert "8 moved" in ok("branch")


def test_a_first_commit_may_say_that_there_are_no_tools(here: Path) -> None:
    set_tools()
    assert "  0 tools  " in ok("log")
    assert ok("log").endswith("  no tools\n")


def test_show_tells_of_tools_that_were_recorded(here: Path) -> None:
    made = set_tools(tool("a"), tool("b"))
    shown = ok("show", made["commit_hash"]).splitlines()
    assert "kind     tools" in shown
    assert f"tools    {made['toolset_hash'][:10]} 2 tools" in shown
    assert "change   +a +b" in shown
    plain = say("no tools of its own")
    assert "tools    " not in ok("show")
    assert ok_json("show")["tools"] is None
    with Tract.open(".tract/tract.db") as t:
        edit = t.user("x", edit=plain, tools=[tool("c")])
    assert ok_json("show", edit.commit_hash)["tools"] == [tool("c")]
    assert "1 tool\n" in ok("show")
    assert "change" not in ok("show")
    assert names() == ["a", "b"]


@pytest.mark.parametrize(("wire", "key"), [("openai", "messages"), ("responses", "input")])
def test_compile_for_openai(here: Path, wire: str, key: str) -> None:
    set_tools(claude_tool("a", x="string"))
    ok("commit", "rules", "--role", "system")
    say("hello")
    messages = json.loads(ok("compile", "--format", wire))
    assert messages == [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "hello"},
    ]
    params = json.loads(ok("compile", "--format", wire, "--params"))
    assert list(params) == [key, "tools"]
    assert params[key] == messages
    assert params["tools"] == [convert_tool(claude_tool("a", x="string"), wire)]


def test_compile_for_gemini(here: Path) -> None:
    set_tools(claude_tool("a", x="string"))
    ok("commit", "rules", "--role", "system")
    say("hello")
    messages = json.loads(ok("compile", "--format", "gemini"))
    assert messages == {
        "systemInstruction": {"parts": [{"text": "rules"}]},
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
    }
    params = json.loads(ok("compile", "--format", "gemini", "--params"))
    assert params.keys() == {*messages, "tools"}
    assert params["tools"][0]["functionDeclarations"][0]["name"] == "a"
    document = ok_json("compile", "--format", "gemini", "--json")
    assert (document["format"], document["contents"]) == ("gemini", messages["contents"])


def test_compile_for_anthropic(here: Path) -> None:
    set_tools(tool("a", x="string"))
    say("hello")
    request = json.loads(ok("compile", "--format", "anthropic"))
    assert request == {"messages": [{"role": "user", "content": "hello"}]}
    params = json.loads(ok("compile", "--format", "anthropic", "--params"))
    assert params == request | {"tools": [claude_tool("a", x="string")]}


def test_compile_tells_what_tools_cost(here: Path) -> None:
    set_tools(tool("a", x="string"), tool("b"))
    say("hello")
    found = ok_json("compile")
    assert found["messages"] == [{"role": "user", "content": "hello"}]
    assert found["tools"] == [tool("a", x="string"), tool("b")]
    assert list(found["tokens_by_tool"]) == ["a", "b"]
    assert found["tool_tokens"] == sum(found["tokens_by_tool"].values())
    assert found["token_count"] == found["tool_tokens"] + 1
    assert invoke("compile").stderr == (
        f"1 message, {found['token_count']} tokens (o200k), {found['tool_tokens']} of them "
        "for tools\n"
    )
    assert ok_json("compile", "--params")["params"] == {
        "messages": found["messages"],
        "tools": found["tools"],
    }
    assert "messages" not in ok_json("compile", "--params")


def test_compile_with_changes_inline(here: Path) -> None:
    set_tools(tool("a"))
    say("hello")
    set_tools(tool("a"), tool("b"))
    say("and now?")
    inline = ("compile", "--params", "--tools", "inline", "--format")
    found = ok_json(*inline, "anthropic")
    assert found["betas"] == ["inline-tools-2026-09-15"]
    assert [entry["name"] for entry in found["params"]["tools"]] == ["a"]
    assert found["params"]["messages"][-1]["role"] == "system"
    assert "needs the beta inline-tools-2026-09-15" in invoke(*inline, "anthropic").stderr
    found = ok_json(*inline, "responses")
    assert found["betas"] == []
    assert found["params"]["input"][-1]["type"] == "additional_tools"
    found = ok_json(*inline, "openai")
    assert [entry["function"]["name"] for entry in found["params"]["tools"]] == ["a", "b"]
    latest = ok_json("compile", "--params", "--format", "anthropic")
    assert latest["betas"] == []
    assert [entry["name"] for entry in latest["params"]["tools"]] == ["a", "b"]


def test_many_notes_are_cut_on_the_screen(here: Path) -> None:
    hints = {"title": "T", "icons": [], "execution": {}, "annotations": {}}
    set_tools({"name": "t", "inputSchema": {"type": "object"}, **hints})
    say("x")
    notes = ok_json("compile")["notes"]
    assert len(notes) == 16
    assert invoke("compile").stderr.endswith(f"; {len(notes) - 3} more notes (--json lists them)\n")


# Hostile text, both databases, start-up


def test_names_and_descriptions_are_made_harmless(tmp_path: Path) -> None:
    db = str(tmp_path / "t.db")
    text = f"{HOSTILE}\n{HOSTILE}"
    evil = {"name": text, "description": text, "input_schema": {"type": "object", text: 1}}
    with Tract.open(db) as t:
        t.set_tools([{"name": "a", "input_schema": {}}], message=text)
        first = t.user("x")
        t.set_tools([evil, {"type": text, "name": f"{text}2"}])
        t.user("y", tools=[evil | {"description": "z"}])
        digests = [info.commit_hash for info in t.log()]
    shell = text.replace("\x00", "")
    commands = [["log"], ["branch"], ["tools"], ["tools", "unused"], ["compile", "--params"]]
    commands += [["tools", "diff", first.commit_hash, "HEAD"]]
    commands += [["show", digest] for digest in digests]
    for command in commands:
        for options in ([], ["--json"]):
            done = invoke("--db", db, *command, *options)
            assert done.exit_code == 0, done.output
            assert dangerous(done.stdout + done.stderr) == set(), command
    for command in (["tools", "history", shell], ["tools", "--at", shell], ["tools", shell]):
        done = invoke("--db", db, *command)
        assert done.exit_code in (2, 3)
        assert dangerous(done.stderr) == set(), command
    assert len(ok("--db", db, "log").splitlines()) == 4
    assert len(ok("--db", db, "tools").splitlines()) == 1
    (shown,) = json.loads(ok("--db", db, "tools", "--json"))["tools"]
    assert shown["name"] == text


def test_what_is_refused_is_made_harmless(here: Path) -> None:
    for given in ([{HOSTILE: 1}], {HOSTILE: 1}, [{"name": HOSTILE}, {"name": HOSTILE}]):
        result = invoke("tools", "set", "-", stdin=json.dumps(given))
        assert result.exit_code == 2
        assert dangerous(result.stderr) == set()
        assert result.stderr.count("\n") == 1


def test_a_description_ends_with_the_terminal(here: Path) -> None:
    long = {"name": "a", "description": "long text 日本語 " * 20, "input_schema": {}}
    set_tools(long)
    table, account = screen_of("tools", columns=60, NO_COLOR="1").splitlines()
    assert table.endswith("…")
    assert account.startswith("1 tool, ")


def test_tools_on_either_database(db: str) -> None:
    def on(*args: str, stdin: str | None = None) -> Any:
        return json.loads(ok("--db", db, *args, "--json", stdin=stdin))

    on("init")
    on("tools", "set", "-", stdin=json.dumps([tool("a"), tool("b", x="string")]))
    first = on("commit", "one")["commit_hash"]
    on("tools", "set", "-", stdin=json.dumps([tool("b", x="integer")]))
    on("commit", "two", "--role", "assistant")
    assert [entry["name"] for entry in on("tools")["tools"]] == ["b"]
    assert [entry["name"] for entry in on("tools", "--at", first)["tools"]] == ["a", "b"]
    assert on("tools", "diff", first, "main")["removed"] == ["a"]
    assert len(on("tools", "history", "b")) == 2
    assert len(on("tools", "unused")["unused"]) == 2
    assert len(ok("--db", db, "log").splitlines()) == 4
    assert on("fsck")["ok"] is True


def test_every_command_of_the_group_offers_json() -> None:
    group = cli.get_command(cli.make_context("tract", ["log"]), "tools")
    commands: dict[str, Any] = vars(group)["commands"]
    assert set(commands) == {"history", "diff", "unused", "set"}
    for name in commands:
        assert "--json" in ok("tools", name, "--help")
        assert ok("tools", name, "-h") == ok("tools", name, "--help")


def test_tools_imports_nothing_heavy(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db") as t:
        t.set_tools([tool("a")])
    modules = imported_by("--db", str(tmp_path / "t.db"), "tools")
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert {"tract.cli.history", "tract.cli.messages", "tract.cli.database"} & modules == set()
