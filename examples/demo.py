"""A scripted agent works on this repository with real tools; tract stores what they return.

Run it with `python3 dev.py demo`. It needs no key and no network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tract import CommitInfo, Priority, ScriptedLLM, ToolCall, Tract
from tract.view.ansi import paint, plain
from tract.view.blocks import ToolResultBlock, ToolUseBlock
from tract.view.conversation import format_dialog
from tract.view.lines import SUMMARY as FOLDED
from tract.view.lines import Look, format_lines

ROOT = Path(__file__).resolve().parent.parent
DATABASE = ROOT / ".tract" / "demo.db"
WIDTH = min(shutil.get_terminal_size().columns, 100)
COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ


# The tools. They are real: they read and test this repository as it is today.


def grep(pattern: str, path: str) -> str:
    command = ["grep", "-rn", "--include=*.py", "-E", pattern, path]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def read_file(path: str) -> str:
    lines = (ROOT / path).read_text().splitlines()
    return "\n".join(f"{number:4} {line}" for number, line in enumerate(lines, 1))


def run_tests(path: str) -> dict[str, object]:
    command = [sys.executable, "-m", "pytest", "-v", "--no-header", "-p", "no:cacheprovider", path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


TOOLS: dict[str, Callable[..., object]] = {
    "grep": grep,
    "read_file": read_file,
    "run_tests": run_tests,
}


# The tool definitions, in Anthropic's format. The second release arrives while the agent works.


def tool(name: str, description: str, *texts: str, **others: str) -> dict[str, Any]:
    types = dict.fromkeys(texts, "string") | others
    properties = {key: {"type": kind} for key, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(texts)}
    return {"name": name, "description": description, "input_schema": schema}


READ = tool("read_file", "Read a file of the project, with line numbers.", "path")
TEST = tool("run_tests", "Run the tests of a file and return their output.", "path")
FETCH = tool("fetch", "Fetch a web page as text.", "url")
GREP = "Find lines in Python files that match a regular expression."
RELEASE_1 = [
    tool("grep", GREP, "pattern", "path"),
    READ,
    TEST,
    FETCH,
    tool("write_file", "Overwrite a file of the project.", "path", "text"),
]
RELEASE_2 = [
    tool("grep", GREP, "pattern", "path", limit="integer"),
    READ,
    TEST,
    FETCH,
    tool("edit_file", "Replace a text in a file of the project.", "path", "old", "new"),
]


# The agent: the recorded answers of a model. Its tools run for real.

SCRIPT: list[tuple[str, list[ToolCall]]] = [
    (
        "I'll look at where the branch head is read.",
        [
            ToolCall("call_1", "grep", {"pattern": "[hH]ead", "path": "src/tract/storage"}),
            ToolCall("call_2", "read_file", {"path": "src/tract/storage/store.py"}),
        ],
    ),
    (
        "`lock_branch` reads it inside the transaction. Let me run the pairing tests.",
        [ToolCall("call_3", "run_tests", {"path": "tests/test_core_pairing.py"})],
    ),
    ("Yes: the head is read and moved in one transaction, so no commit can be lost.", []),
]

SUMMARY = """\
src/tract/core/chain.py, class Chain: folds the commits of a branch into positions.
- An appended message gets a position of its own.
- Edits and marks change what stands at a position.
- Voided commits have no effect; an undo can be undone.
- It only reads: nothing in it writes to the database."""


def play(t: Tract) -> None:
    """Write each turn in one transaction: the answer, then the results of its calls."""
    t.system("You are a careful engineer. Answer from the code, not from memory.")
    t.user("Can two writers lose each other's commits in this project?", tools=RELEASE_1)
    for number, (text, calls) in enumerate(SCRIPT):
        with t.batch():
            if number == 1:
                t.set_tools(RELEASE_2, message="release 2 of the tools")
            t.assistant(text, tool_calls=calls or None)
            for call in calls:
                t.tool_result(call.id, call.name, TOOLS[call.name](**call.arguments))


def main() -> int:
    DATABASE.parent.mkdir(exist_ok=True)
    for leftover in DATABASE.parent.glob("demo.db*"):
        leftover.unlink()
    with Tract.open(DATABASE, dialog="demo") as t:
        play(t)
        show_stored(t)
        show_request(t)
        show_tools(t)
        edit = show_editing(t)
        show_summary(t)
        show_compression(t)
        show_pairs(t)
        report = t.fsck()
    text = f"{report.commits} commits and {report.contents} contents verified"
    print(f"\n{text}, {len(report.problems)} problems. File: {size(DATABASE.stat().st_size)}.")
    show_next(edit)
    return 0


def show_stored(t: Tract) -> None:
    title("tract stores everything, once")
    for info in reversed(list(t.log())):
        what = f"{info.name} result" if info.role == "tool" else info.role or "tools"
        row = f"{what:<17}{size(info.byte_size):>8}{info.token_count:>6} tokens  "
        text = info.preview or info.message or ""
        print(f"  {dim(info.commit_hash[:10])}  {row}{clip(text, len(row) + 14)}")


def show_request(t: Tract) -> None:
    context = t.compile()
    title("What the model is sent: context.to_anthropic()")
    request = context.to_anthropic()
    print(f"  system     {clip(request['system'], 13)}")
    for message in request["messages"]:
        for block in blocks(message["content"]):
            print(f"  {message['role']:<10} {clip(block, 13)}")
    counted = f"{context.token_count} tokens, counted by {context.token_source}"
    print(f"\n  {counted}; {context.tool_tokens} of them for the tools")


def show_tools(t: Tract) -> None:
    title("Which tools the model had at every commit")
    answers = [info for info in reversed(list(t.log())) if info.role == "assistant"]
    first, last = t.compile(at=answers[0]), t.compile(at=answers[-1])
    for when, context in (("first answer", first), ("last answer", last)):
        names = ", ".join(context.tokens_by_tool)
        print(f"  {when:<13}{context.tool_tokens:>4} tokens  {clip(names, 29)}")
    diff = t.diff_tools(first, last)
    for name, paths in diff.changed.items():
        print(f"  changed: {name} ({', '.join(paths)})")
    print(f"  added: {', '.join(diff.added)}; removed: {', '.join(diff.removed)}")
    idle = {name: n for name, n in last.tokens_by_tool.items() if name not in last.called}
    print(f"  never called: {', '.join(idle)}; {sum(idle.values())} tokens in every request")


def show_editing(t: Tract) -> CommitInfo:
    title("Shorten the grep result with an edit; the original stays in the history")
    before = t.compile().token_count
    original = find(t, "grep")
    lines = str(t.get_content(original)).splitlines()
    kept = "\n".join(line for line in lines if "def move_branch" in line)
    edit = t.tool_result(
        "call_1", "grep", kept, edit=original, message="only the line that matters"
    )
    after = t.compile().token_count
    number = len(kept.splitlines())
    print(f"  {len(lines)} lines became {number}: {before} → {after} tokens per call")
    skip = t.annotate(find(t, "run_tests"), Priority.SKIP)
    print(f"  skip the test run, its call stays answered: {t.compile().token_count} tokens")
    t.restore(skip)
    t.restore(edit)
    commits = len(list(t.log()))
    print(f"  undo both: {t.compile().token_count} tokens again, after {commits} commits")
    return edit


def show_summary(t: Tract) -> None:
    title("Summarize a long file when it is read (the model is scripted here)")
    t.llm = ScriptedLLM([SUMMARY])
    t.configure_tool_summarization({"read_file": "Keep names and their purpose."})
    t.user("And what does a reader see in the meantime?")
    call = ToolCall("call_4", "read_file", {"path": "src/tract/core/chain.py"})
    t.assistant("I'll read how a branch is assembled.", tool_calls=[call])
    result = t.tool_result(call.id, call.name, read_file(**call.arguments))
    saved = t.compile(load_tool_results=True).token_count - t.compile().token_count
    print(f"  {result.token_count} → {result.token_count - saved} tokens. The model sees:")
    quote(t.compile().messages[-1].text)
    t.assistant("The chain up to the head that it read: complete commits, never a part of one.")


def show_compression(t: Tract) -> None:
    title("Compress all calls and results, without a model")
    t.llm = None
    before = t.compile()
    done = t.compress_tool_calls(target_tokens=120)
    after = t.compile()
    print(f"  {before.commit_count} → {after.commit_count} messages, ", end="")
    print(f"{before.token_count} → {after.token_count} tokens per call. The model sees:")
    quote(after.messages[after.commit_hashes.index(done.summaries[0].commit_hash)].text)
    t.restore(*done.summaries)
    print(f"  undo it: {t.compile().token_count} tokens again; the answers never changed")


def show_pairs(t: Tract) -> None:
    title("What you see: a call and its result share a colour")
    seen = format_dialog(t.read())
    calls = (block for block in seen if isinstance(block, ToolUseBlock | ToolResultBlock))
    for line in format_lines(calls, Look(tools=FOLDED, has_tags=not COLOUR)):
        print(paint(line) if COLOUR else plain(line))


def show_next(edit: CommitInfo) -> None:
    tract = Path(sys.executable).with_name("tract")
    if tract.is_relative_to(ROOT):
        tract = tract.relative_to(ROOT)
    database = DATABASE.relative_to(ROOT)
    title("Try next")
    for command in (
        "tui",
        "show --tools summary",
        "log",
        f"show {edit.commit_hash[:10]}",
        "search lock_branch",
        "tools unused",
        "compress --tools --dry-run",
        "compile",
        "fsck",
    ):
        print(f"  {tract} --db {database} --dialog demo {command}")
    print("  docs/quickstart.md: do this with your own agent\n")


def find(t: Tract, tool: str) -> CommitInfo:
    return next(info for info in t.log() if info.role == "tool" and info.name == tool)


def blocks(content: object) -> list[str]:
    """One line for each block of a message."""
    if isinstance(content, str):
        return [content]
    assert isinstance(content, list)
    return [one_line(block) for block in content]


def one_line(block: dict[str, Any]) -> str:
    match block["type"]:
        case "tool_use":
            return f"→ {block['name']}({block['input']})"
        case "tool_result":
            return f"← {block['tool_use_id']}: {block['content']}"
    return str(block["text"])


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if COLOUR else f"\n{text}")


def quote(text: str) -> None:
    for line in filter(str.strip, text.splitlines()):
        print(f"  {dim('│')} {clip(line, 4)}")


def dim(text: str) -> str:
    return f"\033[2m{text}\033[0m" if COLOUR else text


def clip(text: str, used: int) -> str:
    """The text as one line that fits in the rest of the row."""
    line, room = " ".join(text.split()), WIDTH - used
    return line if len(line) <= room else line[: room - 1] + "…"


def size(count: int) -> str:
    return f"{count} B" if count < 1000 else f"{count / 1000:.1f} KB"


if __name__ == "__main__":
    sys.exit(main())
