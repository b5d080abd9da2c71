"""The command that shows tract at work: an agent with scripted answers and real tools."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import click

from tract.cli.demo_project import write_project
from tract.cli.screen import DIM, Painted, has_colour, put, write
from tract.content.text import size
from tract.core.compression import CompressResult
from tract.errors import ConflictError
from tract.llm import ScriptedLLM
from tract.model import CommitInfo, Priority, ToolCall
from tract.tract import Tract
from tract.view import ansi
from tract.view.blocks import ToolResultBlock, ToolUseBlock
from tract.view.conversation import format_dialog
from tract.view.lines import SUMMARY as FOLDED
from tract.view.lines import Look, format_lines
from tract.view.sanitize import counted, cut

BOLD = "1"
DATABASE = "demo.db"
PROJECT = "shop"


@click.command("demo")
@click.argument("folder", required=False, type=click.Path(file_okay=False))
def demo_command(folder: str | None) -> None:
    """See tract work, without a key and without a network.

    An agent with scripted answers looks for a bug in a small project; its tools are real. Writes
    the project and a database to FOLDER, by default a new temporary folder, and prints commands to
    try on it.
    """
    place = Path(folder).absolute() if folder else Path(mkdtemp(prefix="tract-demo-"))
    if place.is_dir() and any(place.iterdir()):
        raise ConflictError(f"{place} is not empty; name a new folder")
    write_project(place / PROJECT)
    Demo(place).run()


# The tools. They are real.


class Tools:
    """What the agent can do in the folder of the project."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._by_name: dict[str, Callable[..., object]] = {
            "grep": self.grep,
            "read_file": self.read_file,
            "run_tests": self.run_tests,
        }

    def call(self, call: ToolCall) -> object:
        return self._by_name[call.name](**call.arguments)

    def grep(self, pattern: str) -> str:
        lines = [
            f"{path.name}:{number}:{line}"
            for path in sorted(self._root.glob("*.py"))
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
            if re.search(pattern, line)
        ]
        return "\n".join(lines)

    def read_file(self, path: str) -> str:
        lines = (self._root / path).read_text("utf-8").splitlines()
        return "\n".join(f"{number:4} {line}" for number, line in enumerate(lines, 1))

    def run_tests(self, module: str) -> dict[str, object]:
        import subprocess  # no other command needs it

        command = [sys.executable, "-B", "-m", "unittest", "-v", module]
        done = subprocess.run(command, cwd=self._root, capture_output=True, text=True)
        return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


# The tool definitions, in Anthropic's format. The second release arrives while the agent works.


def tool(name: str, description: str, *texts: str, **others: str) -> dict[str, Any]:
    types = dict.fromkeys(texts, "string") | others
    properties = {key: {"type": kind} for key, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(texts)}
    return {"name": name, "description": description, "input_schema": schema}


READ = tool("read_file", "Read a file of the project, with line numbers.", "path")
TEST = tool("run_tests", "Run the tests of a module and return their output.", "module")
FETCH = tool("fetch", "Fetch a web page as text.", "url")
GREP = "Find lines in Python files that match a regular expression."
RELEASE_1 = [
    tool("grep", GREP, "pattern"),
    READ,
    TEST,
    FETCH,
    tool("write_file", "Overwrite a file of the project.", "path", "text"),
]
RELEASE_2 = [
    tool("grep", GREP, "pattern", limit="integer"),
    READ,
    TEST,
    FETCH,
    tool("edit_file", "Replace a text in a file of the project.", "path", "old", "new"),
]


# The agent: the recorded answers of a model.

SCRIPT: list[tuple[str, list[ToolCall]]] = [
    (
        "I'll look at how totals are calculated.",
        [
            ToolCall("call_1", "grep", {"pattern": "total|price|billed"}),
            ToolCall("call_2", "read_file", {"path": "shop.py"}),
        ],
    ),
    (
        "`total` rounds with `quantize`. Let me run the tests.",
        [ToolCall("call_3", "run_tests", {"module": "test_shop"})],
    ),
    (
        "`quantize` rounds half to even: 2.745 becomes 2.74, and 2.75 was billed. "
        "`quantize(CENT, ROUND_HALF_UP)` fixes it.",
        [],
    ),
]
SUMMARY = """\
orders.csv: 400 orders, 1001 to 1400; number, item, quantity, price, discount, billed.
- Every order has a discount of 10 %.
- Only order 1042 has a price in odd cents; its total is halfway between two cents.
- No other order is affected."""


class Demo:
    """One run: the agent works, then each step shows what can be done with its history."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tools = Tools(folder / PROJECT)

    def run(self) -> None:
        database = self._folder / DATABASE
        put("An agent looks for a bug in a small project. Its answers are scripted, its tools run.")
        with Tract.open(database, dialog="demo") as t:
            self._play(t)
            show_stored(t)
            show_request(t)
            show_tools(t)
            edit = show_editing(t)
            self._show_summary(t)
            show_compression(t)
            show_pairs(t)
            report = t.fsck()
        verified = f"{report.commits} commits and {report.contents} contents verified"
        problems = f"{len(report.problems)} problems"
        put(f"\n{verified}, {problems}. File: {size(database.stat().st_size)}.")
        show_next(database, edit)

    def _play(self, t: Tract) -> None:
        """Write each turn in one transaction: the answer, then the results of its calls."""
        t.system("You are a careful engineer. Answer from the code, not from memory.")
        t.user("Order 1042 was charged 0.01 too little. Why?", tools=RELEASE_1)
        for number, (text, calls) in enumerate(SCRIPT):
            with t.batch():
                if number == 1:
                    t.set_tools(RELEASE_2, message="release 2 of the tools")
                t.assistant(text, tool_calls=calls or None)
                for call in calls:
                    t.tool_result(call.id, call.name, self._tools.call(call))

    def _show_summary(self, t: Tract) -> None:
        title("Summarize a long file when it is read (the model is scripted here)")
        t.llm = ScriptedLLM([SUMMARY])
        t.configure_tool_summarization({"read_file": "Keep what the rows have in common."})
        t.user("Are other orders affected?")
        call = ToolCall("call_4", "read_file", {"path": "orders.csv"})
        t.assistant("I'll read all orders.", tool_calls=[call])
        result = t.tool_result(call.id, call.name, self._tools.call(call))
        saved = t.compile(load_tool_results=True).token_count - t.compile().token_count
        put(f"  {result.token_count} → {result.token_count - saved} tokens. The model sees:")
        quote(t.compile().messages[-1].text)
        t.assistant("No: only order 1042 is halfway between two cents.")


# What can be done with the history


def show_stored(t: Tract) -> None:
    title("tract stores everything, once")
    for info in reversed(list(t.log())):
        what = f"{info.name} result" if info.role == "tool" else info.role or "tools"
        row = f"{what:<17}{size(info.byte_size):>9}{info.token_count:>6} tokens  "
        text = info.preview or info.message or ""
        put("  ", Painted(info.commit_hash[:10], DIM), f"  {row}{clip(text, len(row) + 14)}")


def show_request(t: Tract) -> None:
    context = t.compile()
    title("What the model is sent: context.to_anthropic()")
    request = context.to_anthropic()
    put(f"  system     {clip(str(request['system']), 13)}")
    for message in request["messages"]:
        for block in blocks(message["content"]):
            put(f"  {message['role']:<10} {clip(block, 13)}")
    total = f"{context.token_count} tokens, counted by {context.token_source}"
    put(f"\n  {total}; {context.tool_tokens} of them for the tools")


def show_tools(t: Tract) -> None:
    title("Which tools the model had at every commit")
    answers = [info for info in reversed(list(t.log())) if info.role == "assistant"]
    first, last = t.compile(at=answers[0]), t.compile(at=answers[-1])
    for when, context in (("first answer", first), ("last answer", last)):
        names = ", ".join(context.tokens_by_tool)
        put(f"  {when:<13}{context.tool_tokens:>4} tokens  {clip(names, 29)}")
    diff = t.diff_tools(first, last)
    for name, paths in diff.changed.items():
        put(f"  changed: {name} ({', '.join(paths)})")
    put(f"  added: {', '.join(diff.added)}; removed: {', '.join(diff.removed)}")
    idle = {name: n for name, n in last.tokens_by_tool.items() if name not in last.called}
    put(f"  never called: {', '.join(idle)}; {sum(idle.values())} tokens in every request")


def show_editing(t: Tract) -> CommitInfo:
    title("Shorten the grep result with an edit; the original stays in the history")
    before = t.compile().token_count
    original = find(t, "grep")
    lines = str(t.get_content(original)).splitlines()
    kept = "\n".join(line for line in lines if "def total" in line)
    edit = t.tool_result(
        "call_1", "grep", kept, edit=original, message="only the line that matters"
    )
    after = t.compile().token_count
    put(f"  {len(lines)} lines became {len(kept.splitlines())}: {before} → {after} tokens per call")
    skip = t.annotate(find(t, "run_tests"), Priority.SKIP)
    put(f"  skip the test run, its call stays answered: {t.compile().token_count} tokens")
    t.restore(skip)
    t.restore(edit)
    commits = len(list(t.log()))
    put(f"  undo both: {t.compile().token_count} tokens again, after {commits} commits")
    return edit


def show_compression(t: Tract) -> None:
    title("Compress all calls and results, without a model")
    t.llm = None
    before = t.compile()
    result: CompressResult = t.compress_tool_calls(target_tokens=120)
    after = t.compile()
    messages = f"{before.commit_count} → {counted(after.commit_count, 'message')}"
    tokens = f"{before.token_count} → {after.token_count} tokens per call"
    put(f"  {messages}, {tokens}. The model sees:")
    quote(after.messages[after.commit_hashes.index(result.summaries[0].commit_hash)].text)
    t.restore(*result.summaries)
    put(f"  undo it: {t.compile().token_count} tokens again; the answers never changed")


def show_pairs(t: Tract) -> None:
    title("What you see: a call and its result share a colour")
    seen = format_dialog(t.read())
    calls = (block for block in seen if isinstance(block, ToolUseBlock | ToolResultBlock))
    paint = ansi.paint if has_colour() else ansi.plain
    for line in format_lines(calls, Look(tools=FOLDED, has_tags=not has_colour())):
        write(f"{paint(line)}\n")


def show_next(database: Path, edit: CommitInfo) -> None:
    title("Try next")
    name = str(database)
    quoted = f'"{name}"' if " " in name else name
    put(f"  export TRACT_DB={quoted}" if os.name != "nt" else f"  set TRACT_DB={name}")
    for command in (
        "tui",
        "show --tools summary",
        "log",
        f"show {edit.commit_hash[:10]}",
        "search quantize",
        "tools unused",
        "compress --tools --dry-run",
        "compile",
        "fsck",
    ):
        put(f"  {program()} {command}")
    put(f"\n  Everything is in {database.parent}: delete the folder when you are done.")
    put(f"  `{program()} import` reads the sessions of your own agents.\n")


def program() -> str:
    """What to type to run tract."""
    path = Path(sys.executable).with_name("tract")
    on_path = shutil.which("tract")
    if on_path and Path(on_path).resolve() == path.resolve():
        return "tract"
    if not path.exists():
        return f"{sys.executable} -m tract"
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def find(t: Tract, tool: str) -> CommitInfo:
    return next(info for info in t.log() if info.role == "tool" and info.name == tool)


# Lines


def blocks(content: object) -> list[str]:
    """One line for each block of a message."""
    if isinstance(content, str):
        return [content]
    assert isinstance(content, list)
    return [block_text(block) for block in content]


def block_text(block: dict[str, Any]) -> str:
    match block["type"]:
        case "tool_use":
            return f"→ {block['name']}({block['input']})"
        case "tool_result":
            return f"← {block['tool_use_id']}: {block['content']}"
    return str(block["text"])


def title(text: str) -> None:
    put("")
    put(Painted(text, BOLD))


def quote(text: str) -> None:
    for line in filter(str.strip, text.splitlines()):
        put("  ", Painted("│", DIM), f" {clip(line, 4)}")


def clip(text: str, used: int) -> str:
    """The text as one line that fits in the rest of the row."""
    columns = min(shutil.get_terminal_size().columns, 100)
    return cut(" ".join(text.split()), columns - used)
