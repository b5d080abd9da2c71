"""The shape of the source: how far a call travels, and how large the parts are.

`python3 dev.py bench house [--json]`. Nothing here is timed: calls are counted, and files are read.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from benchmarks.measure import ROOT
from benchmarks.report import Result, report
from tract import ToolCall, Tract
from tract.cli import cli

AT_MOST = {
    "path_calls": 150,
    "path_files": 14,
    "show_calls": 500,
    "src_lines": 27_000,
    "max_module": 500,
    "max_public_methods": 25,
    "contract_lines": 8,
    "private_accesses": 0,
}

SOURCE = ROOT / "src" / "tract"
FACADE = "Tract"
WARM_UP = 3
NAMED_TUPLE = ("_asdict", "_fields", "_make", "_replace")  # public, in spite of their names


class Calls(NamedTuple):
    """The named functions of tract that ran: how many calls, in how many files."""

    calls: int
    files: int


def counted(action: Callable[[], object]) -> Calls:
    """What an action calls. Lambdas and comprehensions have no names and do not count."""
    files: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(str(SOURCE))
        if event == "call" and is_ours and not code.co_name.startswith("<"):
            files.append(code.co_filename)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return Calls(len(files), len(set(files)))


# The way of a result into a request


def _ask(t: Tract, number: int) -> None:
    t.assistant("I look.", tool_calls=[ToolCall(f"call_{number}", "read_log", {"name": "app"})])


def _finish(t: Tract, number: int) -> None:
    t.tool_result(f"call_{number}", "read_log", "09:43 disk full")
    t.compile().to_anthropic_params()


def path_results() -> Iterator[Result]:
    with Tract.open() as t:
        t.system("You find faults.")
        t.user("What happened?")
        for number in range(WARM_UP):
            _ask(t, number)
            _finish(t, number)
        _ask(t, WARM_UP)
        turn = counted(lambda: _finish(t, WARM_UP))
        _ask(t, WARM_UP + 1)
        write = counted(lambda: t.tool_result(f"call_{WARM_UP + 1}", "read_log", "09:43 full"))
        compiled = counted(t.compile)
        params = counted(t.compile().to_anthropic_params)
    steps = {"write": write.calls, "compile": compiled.calls, "params": params.calls}
    behind = {f"{step}_calls": float(calls) for step, calls in steps.items()}
    yield Result("path_calls", turn.calls, behind)
    yield Result("path_files", turn.files, {})


# A file shown


def show_results() -> Iterator[Result]:
    call = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    chat = [
        {"role": "user", "content": "What is here?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "README.md"},
        {"role": "assistant", "content": "A README."},
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "talk.json")
        file.write_text(json.dumps(chat))
        for _ in range(WARM_UP):
            _show(file)
        shown = counted(lambda: _show(file))
    yield Result("show_calls", shown.calls, {"show_files": shown.files})


def _show(file: Path) -> None:
    with redirect_stdout(io.StringIO()):
        cli.main(["show", str(file)], standalone_mode=False)


# The source


def source_results() -> Iterator[Result]:
    modules = {path: path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    lines = {path: text.count("\n") for path, text in modules.items()}
    trees = {path: ast.parse(text) for path, text in modules.items()}
    methods = {name: n for tree in trees.values() for name, n in public_methods(tree)}
    facade = methods.pop(FACADE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    yield Result("src_lines", sum(lines.values()), {"modules": len(lines)})
    others = [count for path, count in lines.items() if path.stem != FACADE.lower()]
    yield Result("max_module", max(lines.values()), {"max_module_but_facade": max(others)})
    yield Result("max_public_methods", max(methods.values()), {"facade_methods": facade})
    yield Result("contract_lines", len(contract["layers"]), {})
    yield Result("private_accesses", sum(map(private_accesses, trees.values())), {})


def public_methods(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Each class with the number of its public methods; an overloaded one counts once."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            yield node.name, sum(not name.startswith("_") for name in names)


def private_accesses(tree: ast.Module) -> int:
    """How often a module reaches for a private name that it does not define itself."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    reached = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                own.add(node.attr)
            else:
                reached.append(node.attr)
        elif isinstance(node, ast.ImportFrom):
            reached += [alias.name for alias in node.names if _is_private(alias.name)]
    return sum(name not in own for name in reached)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE


def run(_: bool) -> Iterator[Result]:
    yield from path_results()
    yield from show_results()
    yield from source_results()


if __name__ == "__main__":
    report("house", __doc__, AT_MOST, run)
