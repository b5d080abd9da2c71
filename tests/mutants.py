"""Small faults planted in the source, one at a time: do the tests see them? `dev.py mutate`.

A mutant changes one expression or statement: a comparison, a condition, a number, a call that is
left out. It is killed if one of the tests of its area fails, or never ends. Some mutants change
nothing that can be seen, such as a shortcut that is not taken: survivors are to be read.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from tests.scratch import memory

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 300
"""After that long a mutant counts as one that never ends: its tests take a tenth of it."""


class Area(NamedTuple):
    """A part of the source, and the tests that have to notice a fault in it."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    """The file that most likely notices comes first: what fails ends the run."""


AREAS = (
    Area(
        "write funnel",
        ("session/session.py", "storage/store.py", "core/drafts.py"),
        (
            "test_core_drafts.py",
            "test_session.py",
            "test_storage.py",
            "test_tract.py",
            "faults/test_files.py",
            "test_session_results.py",
            "test_storage_dialogs.py",
            "faults/test_damage.py",
            "faults/test_disks.py",
            "test_storage_erasure.py",
            "test_importers_writer.py",
        ),
    ),
    Area(
        "fold",
        ("core/chain.py", "core/place.py", "compiler.py"),
        (
            "test_core_chain.py",
            "test_core_place.py",
            "test_core_compression.py",
            "test_compiler.py",
            "test_session_compress.py",
            "test_context.py",
            "test_view_rewrites.py",
        ),
    ),
    Area(
        "pairing",
        ("core/pairing.py", "core/ordering.py", "core/turns.py"),
        (
            "test_core_pairing.py",
            "test_core_ordering.py",
            "test_core_turns.py",
            "test_core_chain.py",
            "test_context.py",
            "test_session_results.py",
        ),
    ),
    Area(
        "ids",
        ("providers/call_ids.py", "providers/common.py", "core/call_ids.py"),
        (
            "test_providers_call_ids.py",
            "test_providers_common.py",
            "test_importers_call_ids.py",
            "test_providers.py",
            "test_providers_anthropic.py",
            "test_providers_gemini.py",
            "test_providers_openai_chat.py",
            "test_providers_openai_responses.py",
            "test_providers_message_lists.py",
        ),
    ),
    Area(
        "verification",
        (
            "hashing.py",
            "storage/rows.py",
            "storage/codec.py",
            "storage/contents.py",
            "storage/dialogs.py",
            "storage/tools.py",
        ),
        (
            "test_hashing.py",
            "test_storage_dialogs.py",
            "test_storage_tools.py",
            "test_storage.py",
            "faults/test_damage.py",
            "test_storage_contents.py",
            "test_storage_maintenance.py",
            "test_storage_migrations.py",
        ),
    ),
    Area(
        "erasure",
        (
            "storage/erasure.py",
            "storage/survey.py",
            "storage/copies.py",
            "storage/names.py",
            "content/needle.py",
        ),
        ("test_content_needle.py", "test_storage_erasure.py"),
    ),
    Area(
        "record",
        ("core/alignment.py",),
        ("test_core_alignment.py", "properties/test_record.py", "test_core_transcript.py"),
    ),
)


class Mutant(NamedTuple):
    """A module with one change in it, as bytes from `start` to `end`."""

    area: Area
    module: str
    line: int
    start: int
    end: int
    old: str
    new: str
    context: str
    """The line where it begins."""

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.module}:{self.line}: {old:.60} → {new:.60}   in: {self.context:.90}"


# Making them

SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}


class Positions:
    """The bytes of a module, and where its lines begin: the columns of `ast` count bytes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines[node.lineno - 1] + node.col_offset
        return start, self._lines[node.end_lineno - 1] + node.end_col_offset

    def between(self, left: ast.expr, right: ast.expr) -> tuple[int, int]:
        return self.span(left)[1], self.span(right)[0]

    def text(self, span: tuple[int, int]) -> str:
        return self.source[slice(*span)].decode()


def mutants_of(area: Area, module: str, source: bytes) -> Iterator[Mutant]:
    """Every mutant of a module."""
    positions, lines = Positions(source), source.decode().splitlines()
    for function in functions(ast.parse(source)):
        for node in runtime_nodes(function):
            for span, new in changes(node, positions):
                old, line = positions.text(span), source.count(b"\n", 0, span[0])
                context = lines[line].strip()
                mutant = Mutant(area, module, line + 1, *span, old, new, context)
                if old != new:
                    yield mutant


def functions(tree: ast.AST) -> Iterator[ast.AST]:
    """The outermost functions and methods: a fault outside of them would break every import."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef):
            yield child
        elif isinstance(child, ast.ClassDef):
            yield from functions(child)


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs: no annotations, no decorators, no texts of errors."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "exc"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue  # of zip: it checks what is true
            if isinstance(child, ast.AST):
                yield child
                yield from runtime_nodes(child)


def changes(node: ast.AST, positions: Positions) -> Iterator[tuple[tuple[int, int], str]]:
    """What can be changed in a node: where, and into what."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield from swapped(op, positions.between(left, right), positions)
        case ast.BoolOp(op=op, values=[left, right, *_]):
            yield from swapped(op, positions.between(left, right), positions)
        case ast.BinOp(left=left, op=op, right=right):
            yield from swapped(op, positions.between(left, right), positions)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield positions.span(node), positions.text(positions.span(operand))
        case ast.Constant(value=bool() as value):
            yield positions.span(node), str(not value)
        case ast.Constant(value=int() as value):
            yield positions.span(node), str(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test) if not is_changed_itself(test):
            yield positions.span(test), f"(not ({positions.text(positions.span(test))}))"
        case ast.Return(value=ast.expr()):
            yield positions.span(node), "return None"
        case ast.Raise() | ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield positions.span(node), "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield positions.span(node), "pass"
        case ast.Continue():
            yield positions.span(node), "break"


def is_changed_itself(test: ast.expr) -> bool:
    """Whether another mutant is the opposite of this condition."""
    match test:
        case ast.Compare(ops=[_]) | ast.UnaryOp(op=ast.Not()):
            return True
    return False


def swapped(
    op: ast.AST, span: tuple[int, int], positions: Positions
) -> Iterator[tuple[tuple[int, int], str]]:
    if type(op) in SWAPS:
        yield span, positions.text(span).replace(*SWAPS[type(op)], 1)


def mutated(source: bytes, mutant: Mutant) -> bytes:
    return source[: mutant.start] + mutant.new.encode() + source[mutant.end :]


def chosen_mutants(number: int, seed: int, only: str) -> list[Mutant]:
    """As many of each area, from all over its modules."""
    areas = [area for area in AREAS if only in area.name]
    dice, chosen = random.Random(seed), []
    for area in areas:
        mutants = [
            mutant
            for module in area.modules
            for mutant in mutants_of(area, module, (ROOT / "src/tract" / module).read_bytes())
        ]
        chosen += dice.sample(mutants, min(len(mutants), -(-number // len(areas))))
    return chosen


# Trying them


def is_killed(mutant: Mutant, folder: Path) -> bool:
    """Whether a test fails where this mutant is the source. The folder has a copy of it."""
    path = folder / "src/tract" / mutant.module
    source = path.read_bytes()
    path.write_bytes(mutated(source, mutant))
    try:
        return not passes(mutant.area, folder)
    finally:
        path.write_bytes(source)


def passes(area: Area, folder: Path) -> bool:
    options = ["-x", "-q", "-p", "no:cacheprovider", "--disable-plugin-autoload"]
    options += ["-k", "not postgres and not pg"]
    files = [str(ROOT / "tests" / name) for name in area.tests]
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DEBUG_TEMPROOT": str(folder),
        "TRACT_TEST_PROFILE": "mutants",
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *files],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def try_all(mutants: Sequence[Mutant], workers: int) -> list[Mutant]:
    """The survivors."""
    with tempfile.TemporaryDirectory(dir=memory()) as scratch, ThreadPoolExecutor(workers) as pool:
        folders: Queue[Path] = Queue()
        for number in range(workers):
            folder = Path(scratch, str(number))
            shutil.copytree(ROOT / "src", folder / "src")
            folders.put(folder)

        def survives(mutant: Mutant) -> bool:
            folder = folders.get()
            try:
                survived = not is_killed(mutant, folder)
            finally:
                folders.put(folder)
            print("survived" if survived else "killed  ", mutant, flush=True)
            return survived

        healthy = {area for area in AREAS if any(mutant.area == area for mutant in mutants)}
        for area in healthy:
            if not passes(area, Path(scratch, "0")):
                raise SystemExit(f"the tests of the {area.name} fail without a mutant")
        return [m for m, lives in zip(mutants, pool.map(survives, mutants), strict=True) if lives]


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py mutate", description=__doc__)
    parser.add_argument("--number", type=int, default=250, help="how many mutants (250)")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", default="", metavar="AREA", help="a part of the name of an area")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--at-least", type=float, default=0.9, metavar="RATE", help="exit 1 below it (0.9)"
    )
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    args = parser.parse_args()
    mutants = chosen_mutants(args.number, args.seed, args.only)
    rate = report(mutants, try_all(mutants, args.workers))
    if args.json:
        print(json.dumps({"mutants": len(mutants), "killed_rate": round(rate, 3)}))
    return exit_code(rate, args.at_least)


def report(mutants: Sequence[Mutant], survivors: Sequence[Mutant]) -> float:
    """Print the survivors and how many there are of each area. Returns how many were killed, of
    one."""
    print("\nsurvivors:", *map(str, survivors), sep="\n  ")
    print()
    for area in AREAS:
        total = sum(mutant.area == area for mutant in mutants)
        lives = sum(mutant.area == area for mutant in survivors)
        if total:
            print(f"{area.name:14} {total - lives:4} of {total} killed")
    rate = (len(mutants) - len(survivors)) / len(mutants)
    print(f"{'all':14} {len(mutants) - len(survivors):4} of {len(mutants)} killed, {rate:.1%}")
    return rate


def exit_code(rate: float, at_least: float) -> int:
    return 0 if rate >= at_least else 1


if __name__ == "__main__":
    sys.exit(main())
