"""`tract compress` and `summarize` from the outside, and what the others say of summaries."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli import HOSTILE, dangerous, invoke, ok, ok_json, screen_of
from tests.llm_server import LLMServer, Reply
from tract import ToolCall, Tract

LINES = "".join(f"src/a{number}.py:{number}: raise KeyError\n" for number in range(200))
MODEL = ("--model", "openai:m")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a history: two turns with long results, then an answer and thanks."""
    monkeypatch.chdir(tmp_path)
    ok("init")
    fill(".tract/tract.db")
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    with LLMServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        yield server


def fill(db: str) -> None:
    with Tract.open(db) as tract:
        tract.system("Be brief.")
        tract.user("Where does it fail?")
        for number, tool in enumerate(("grep", "read"), start=1):
            call = ToolCall(f"call_{number}", tool, {"n": number})
            tract.assistant("", tool_calls=[call])
            tract.tool_result(f"call_{number}", tool, f"{number}\n{LINES}")
        tract.assistant("In a7.py.")
        tract.user("Thanks.")


def hashes() -> list[str]:
    """The commits, the oldest first."""
    return [commit["commit_hash"] for commit in reversed(ok_json("log"))]


def contents() -> list[str]:
    return [message["content"] for message in json.loads(ok("compile"))]


def undo(result: Result) -> None:
    """Do what the command says that undoes it."""
    found = re.search(r"^undo with `tract (restore [0-9a-f ]+)`$", result.stderr, re.MULTILINE)
    assert found, result.stderr
    ok(*found[1].split())


# Compress


def test_the_calls_are_compressed_without_a_model_and_brought_back(here: Path) -> None:
    before = contents()
    result = invoke("compress", "--tools")
    told = re.match(
        r"compressed 4 messages: (\d+) → (\d+) tokens \((\d+)%\), made without a model\n",
        result.stderr,
    )
    assert told, result.stderr
    assert int(told[2]) < int(told[1]) / 5
    assert round(100 * int(told[2]) / int(told[1])) == int(told[3])
    assert re.match(r"[0-9a-f]{10}  summary  \d+ tok  ", result.stdout)
    first, *_, last = after = contents()
    assert (len(after), first, last) == (5, before[0], "Thanks.")
    assert "grep" in after[2]
    assert after[2].startswith("[Summary of 4 earlier messages; call get_tool_result")
    undo(result)
    assert contents() == before


@pytest.mark.parametrize(
    "options",
    [
        ["--tools"],
        ["--tools", "--tool", "read"],
        ["--tools", "--keep-recent", "1"],
        ["--tools", "--target-tokens", "60"],
        ["--content", "Nothing of note."],
        ["--content", "Nothing of note.", "--to", "HEAD"],
    ],
    ids=" ".join,
)
def test_a_dry_run_tells_exactly_what_would_come_and_writes_nothing(
    here: Path, options: list[str]
) -> None:
    before = hashes()
    foreseen = ok_json("compress", *options, "--dry-run")
    assert (foreseen["exact"], foreseen["dry_run"], foreseen["summaries"]) == (True, True, [])
    assert hashes() == before
    done = ok_json("compress", *options)
    assert {**done, "dry_run": True, "summaries": []} == foreseen
    assert done["tokens_after"] == sum(summary["token_count"] for summary in done["summaries"])
    assert done["groups"] == len(done["summaries"]) == 1


def test_a_dry_run_leaves_either_database_as_it_was(db: str) -> None:
    fill(db)
    before = ok("--db", db, "log", "--json")
    result = invoke("--db", db, "compress", "--tools", "--dry-run")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("would compress 4 messages: ")
    assert result.stderr.endswith("\ndry run: nothing was written\n")
    assert ok("--db", db, "log", "--json") == before
    assert json.loads(ok("--db", db, "fsck", "--json"))["ok"] is True


def test_a_dry_run_asks_no_model(here: Path, server: LLMServer) -> None:
    size = ("--target-tokens", "50")
    assert " → ~50 tokens (" in invoke("compress", *MODEL, *size, "--dry-run").stderr
    assert " → ? tokens, made by m; " in invoke("compress", *MODEL, "--dry-run").stderr
    foreseen = ok_json("compress", "--tools", *MODEL, "--dry-run")
    assert (foreseen["tokens_after"], foreseen["exact"]) == (None, False)
    assert foreseen["tokens_before"] > 2000
    assert foreseen["sources"] == hashes()[2:6]
    read = hashes()[2]
    ok("pin", read)
    result = invoke("compress", *MODEL, *size, "--dry-run")
    assert re.match(
        r"would compress 4 messages: \d+ → ~50 tokens .*; 4 messages preserved; "
        r"1 message of 5 tokens stays: the heading of a summary has \d+\n",
        result.stderr,
    )
    assert len(server.requests) == 0
    assert len(hashes()) == 9


def test_a_model_writes_the_summary(here: Path, server: LLMServer) -> None:
    server.replies += [Reply("It fails in a7.py.")]
    options = ("--instructions", "Keep the paths.", "--target-tokens", "40")
    result = invoke("compress", *MODEL, *options)
    assert (result.exit_code, len(server.requests)) == (0, 1)
    assert ", made by m; 1 message preserved\n" in result.stderr
    assert contents()[0] == "Be brief."
    assert contents()[1].endswith("\nIt fails in a7.py.")
    asked = server.requests[0].body["messages"][-1]["content"]
    assert "Instructions: Keep the paths." in asked
    assert "at most 40 tokens" in asked
    undo(result)
    assert len(contents()) == 8


def test_the_model_comes_from_the_environment(here: Path, server: LLMServer) -> None:
    server.replies += [Reply("Greps."), Reply("One result.")]
    assert ok("compress", "--tools", TRACT_MODEL="openai:m")
    assert contents()[2].endswith("\nGreps.")
    ok("restore", "HEAD")
    ok("summarize", "call_1", TRACT_MODEL="openai:m")
    assert contents()[3].endswith("\nOne result.")
    assert ok("compress", "--content", "Mine.", TRACT_MODEL="openai:m")
    assert len(server.requests) == 2


def test_what_is_listed_ranged_preserved_and_piped(here: Path) -> None:
    commits = hashes()
    result = invoke("compress", *commits[2:4], "--content", "-", stdin="piped in")
    assert contents()[2].endswith("]\npiped in")
    assert len(contents()) == 7
    undo(result)
    result = invoke("compress", "--from", commits[4], "--to", commits[6], "--content", "A range.")
    assert contents()[4].endswith("]\nA range.")
    assert len(contents()) == 6
    undo(result)
    ok("compress", "--content", "The rest.", "--preserve", commits[1], "--preserve", commits[7])
    assert contents()[1] == "Where does it fail?"
    assert contents()[3:] == ["Thanks."]


def test_several_summaries_are_undone_by_one_command(here: Path) -> None:
    ok("commit", "And then?")
    with Tract.open(".tract/tract.db") as tract:
        tract.assistant("", tool_calls=[ToolCall("call_3", "grep", {})])
        tract.tool_result("call_3", "grep", LINES)
    before = contents()
    result = invoke("compress", "--tools")
    assert result.stderr.startswith("compressed 6 messages into 2 summaries: ")
    assert len(result.stdout.splitlines()) == 2
    undo(result)
    assert contents() == before
    assert len(ok_json("show")["marks"]) == 2


def test_a_second_run_does_nothing(here: Path) -> None:
    ok("compress", "--tools")
    before = hashes()
    result = invoke("compress", "--tools")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("nothing to compress: ")
    assert ok_json("compress", "--tools")["sources"] == []
    assert hashes() == before


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("compress", 1, "name one with --model or TRACT_MODEL, write it yourself with --content"),
        ("compress --dry-run", 1, "--model"),
        ("compress --model gpt", 2, "'gpt' names no model"),
        ("compress --model '' --tool grep", 2, "require --tools"),
        ("compress --keep-recent 0", 2, "require --tools"),
        ("compress --tools --content x", 2, "--tools selects the messages itself"),
        ("compress --tools --content ''", 2, "--tools selects the messages itself"),
        ("compress --tools HEAD --keep-recent 1", 2, "cannot be combined with named commits"),
        ("compress --tools --from HEAD", 2, "--tools selects the messages itself"),
        ("compress --content x --instructions y", 2, "--content is the summary"),
        ("compress HEAD --from HEAD --content x", 2, "not both"),
        ("compress --content ''", 2, "a text that says something"),
        ("compress --target-tokens 0", 2, "range"),
        ("compress ffffffff --content x", 3, "no commit ffffffff"),
        ("compress --preserve ffffffff --content x", 3, "no commit ffffffff"),
        ("compress HEAD --preserve HEAD --content x", 2, "pinned, or to be preserved"),
        ("compress {result} --content x", 2, "go together; also needed: {call}"),
        ("compress {first} HEAD --content x", 2, "2 groups"),
        ("summarize call_9", 3, "no result 'call_9'"),
        ("summarize {first}", 3, "no result"),
        ("summarize call_1 --model nobody:x", 2, "names no model"),
        ("summarize call_1 --target-tokens -1", 2, "range"),
    ],
)
def test_failures_write_nothing(here: Path, line: str, code: int, words: str) -> None:
    names = dict(zip(("rules", "first", "call", "result"), hashes(), strict=False))
    before = hashes()
    result = invoke(*shlex.split(line.format(**names)))
    assert (result.exit_code, result.stdout) == (code, "")
    assert words.format(**names) in result.stderr
    if result.stderr.startswith("tract: "):
        assert result.stderr.count("\n") == 1
    assert hashes() == before


@pytest.mark.parametrize(
    "command", [["compress"], ["compress", "--tools"], ["summarize", "call_1"]]
)
@pytest.mark.parametrize(
    "reply",
    [Reply(status=400, message=f"no {HOSTILE}"), Reply(""), Reply(body="{")],
    ids=["refused", "empty", "broken"],
)
def test_a_model_that_fails_is_one_line_and_changes_nothing(
    here: Path, server: LLMServer, command: list[str], reply: Reply
) -> None:
    server.replies += [reply]
    before = hashes()
    result = invoke(*command, *MODEL)
    assert (result.exit_code, result.stdout, hashes()) == (1, "", before)
    assert result.stderr.startswith("tract: ")
    assert result.stderr.count("\n") == 1
    assert not dangerous(result.stderr)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["compress"], "nothing to compress: 7 messages of "),
        (["compress", "--tools"], "nothing to compress: 4 messages of "),
        (["summarize", "call_1"], "call_1 is unchanged: the result of "),
    ],
)
def test_a_summary_that_is_longer_changes_nothing(
    here: Path, server: LLMServer, command: list[str], words: str
) -> None:
    server.replies += [Reply("x " * 9000)]
    before = hashes()
    result = invoke(*command, *MODEL)
    assert (result.exit_code, result.stdout, hashes()) == (0, "", before)
    assert result.stderr.startswith(words)
    assert "the summary by m has " in result.stderr
    assert len(server.requests) == 1


def test_progress_is_for_a_terminal_and_gone_in_the_end(here: Path, server: LLMServer) -> None:
    server.replies += [Reply("Short."), Reply("Short.")]
    screen = screen_of("compress", *MODEL, NO_COLOR="1")
    assert "\rasking m …" in screen
    assert re.search(r"\rasking m: (\d+) of \1 tokens read", screen)
    assert re.search(r"read\r +\r", screen)
    ok("restore", "HEAD")
    assert "asking" not in invoke("compress", *MODEL).stderr


# Summarize


def test_a_result_is_summarized_without_a_model(here: Path) -> None:
    before = contents()
    text = ok("summarize", "call_1", "--target-tokens", "30", "--dry-run")
    assert contents() == before
    result = invoke("summarize", "call_1", "--target-tokens", "30")
    told = re.match(
        r"summarized call_1: (\d+) → (\d+) tokens \(\d+%\), made without", result.stderr
    )
    assert told
    assert int(told[2]) < int(told[1]) / 5
    assert contents()[3].startswith("[summary of grep n=1; call get_tool_result")
    assert text.splitlines()[0] in contents()[3]
    assert "call_1" in ok("result", "call_1", "--grep", "a199")
    undo(result)
    assert contents() == before


def test_a_short_result_is_left_as_it_is(here: Path) -> None:
    ok("commit", "ok", "--role", "tool", "--call-id", "c", "--name", "ls")
    before = hashes()
    result = invoke("summarize", "c")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "c is unchanged: the result of 1 token stays: a preview has 22\n"
    assert ok_json("summarize", "c")["commit"] is None
    assert hashes() == before


def test_a_model_summarizes_a_result(here: Path, server: LLMServer) -> None:
    foreseen = ok_json("summarize", "call_2", *MODEL, "--dry-run", "--target-tokens", "9")
    assert (foreseen["tokens_after"], foreseen["exact"], foreseen["text"]) == (9, False, None)
    assert not server.requests
    server.replies += [Reply("All of them raise.")]
    done = ok_json("summarize", hashes()[5][:7], *MODEL, "--instructions", "Only names.")
    assert (done["id"], done["made_by"], done["text"]) == ("call_2", "m", "All of them raise.")
    assert done["commit"]["commit_hash"] == hashes()[-1]
    assert "Instructions: Only names." in server.requests[0].body["messages"][-1]["content"]
    assert "\nmade by  m\n" in ok("show")


# What the others say


def kinds() -> list[str]:
    """What the log says that each commit is, the oldest first."""
    return [re.split(r" {2,}", line)[1] for line in reversed(ok("log").splitlines())]


def test_log_and_show_tell_what_a_summary_stands_for(here: Path) -> None:
    ok("edit", hashes()[3], "shorter")
    commits = hashes()
    ok("compress", *commits[2:4], "--content", "Found.")
    hidden = [" (summarized)" in kind for kind in kinds()]
    assert hidden == [False, False, True, True, False, False, False, False, True, False]
    assert kinds()[-1] == "summary"
    summary = hashes()[-1]
    shown = ok("show")
    assert (
        f"kind     summary\nreplaces {commits[2]}\nreplaces {commits[8]}\nmade by  given\n" in shown
    )
    assert "metadata" not in shown
    assert f"\nhidden   replaced by summary {summary}\n" in ok("show", commits[3])
    assert "call_1" in ok("results")
    assert re.search(r"call_1 .* summarized ", ok("results"))


def test_a_summary_of_a_summary_and_its_undo(here: Path) -> None:
    ok("compress", "--tools")
    inner = hashes()[-1]
    ok("compress", "--content", "All.")
    assert [kind for kind in kinds() if "summarized" not in kind] == ["system", "summary"]
    assert f"replaced by summary {hashes()[-1]}" in ok("show", inner)
    ok("restore", "HEAD")
    ok("restore", inner)
    assert not any("summarized" in kind for kind in kinds())
    ok("restore", "HEAD")
    assert sum("summarized" in kind for kind in kinds()) == 4


def test_a_summary_of_many_names_some(here: Path) -> None:
    for number in range(30):
        ok("commit", str(number))
    ok("compress", "--content", "Many.")
    assert "\nreplaces 17 more (--json lists them)\n" in ok("show")
    assert len(ok_json("show")["replaces"]) == 37


def test_a_summary_is_made_harmless(here: Path) -> None:
    text = HOSTILE.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    shown: list[Any] = [invoke("compress", "--content", text), invoke("show"), invoke("log")]
    assert not any(dangerous(result.output) for result in shown)


def test_restore_takes_several_commits(here: Path) -> None:
    commits = hashes()
    skips = [ok_json("skip", commits[number])["commit_hash"] for number in (1, 7)]
    assert len(contents()) == 6
    undone = ok_json("restore", *skips, "-m", "both")
    assert (len(undone["marks"]), undone["message"], len(contents())) == (2, "both", 8)
    assert invoke("restore").exit_code == 2
