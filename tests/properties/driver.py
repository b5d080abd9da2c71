"""Runs of random operations: made from a seed, played on a database, made smaller when they fail,
and kept as plain data."""

from __future__ import annotations

import json
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tests.properties import checks, operations
from tests.properties.world import DIALOGS, LONG_LIVED, READER, SECOND_WRITER, Picks, World
from tract import CommitInfo, Shape, Tract
from tract.errors import TractError

Step = list[Any]
"""An operation: its name, and the integers that choose; the first two, instance and dialog."""

PARTLY = ("review", "compress_in_review")
"""Operations that write something before what may be refused."""
BASIC = ("say", "call", "result")
"""Operations that every run has."""
NUMBERS = 12
EAGER = 0.75
"""How many runs check everything after each step. The others check something at random, so that
an instance reads several changes at once."""
WRITERS = [LONG_LIVED, LONG_LIVED, LONG_LIVED, SECOND_WRITER]
READERS = [LONG_LIVED, READER, READER, SECOND_WRITER]
WHERE = [DIALOGS[0]] * 7 + [DIALOGS[1]]


class BrokenRuleError(Exception):
    """A run that broke a rule."""

    def __init__(self, rule: str, number: int, text: str) -> None:
        super().__init__(f"{rule} at step {number}: {text}")
        self.rule, self.number, self.text = rule, number, text


def steps_of(seed: int, length: int) -> list[Step]:
    """Random steps. Each run has only some of the operations, so that those meet often."""
    random = Random(seed)
    share = random.choice([0.1, 0.3, 1])
    liked = {
        name: weight
        for name, weight in operations.WEIGHTS.items()
        if name in BASIC or random.random() < share
    }
    is_eager = random.random() < EAGER
    liked |= {"others": checks.WEIGHTS["others"]} if is_eager else checks.WEIGHTS
    names = random.choices(list(liked), list(liked.values()), k=length)
    steps = [[name, *(random.randrange(1000) for _ in range(NUMBERS))] for name in names]
    return [["check_each_step"], *steps] if is_eager else steps


def play(steps: Sequence[Step], place: str | None = None) -> World:
    """Do the steps on an empty database, and check everything in the end. `place` is the URL of
    one that is emptied first."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(place or str(Path(folder) / "t.db"), Path(folder))
        try:
            world.empty()
            for number, step in enumerate(steps):
                _do(world, number, step)
            _finish(world, len(steps))
            _checked("emptied", len(steps), world.empty)
        finally:
            world.close()
    return world


def _do(world: World, number: int, step: Step) -> None:
    name, picks = step[0], Picks(step[1:])
    who = picks.one(READERS if name in operations.READS else WRITERS)
    t = world.tract(who, picks.one(WHERE))
    world.find_branch(t)
    if name in checks.CHECKS:
        world.learn(t)
        _checked(name, number, partial(checks.CHECKS[name], world, t))
        return
    before = t.branches()
    try:
        operations.OPERATIONS[name](world, t, picks)
    except TractError as error:
        world.refused[f"{name} {type(error).__name__}"] += 1
        if name not in PARTLY and t.branches() != before:
            raise BrokenRuleError("refused", number, f"written, although: {error}") from error
    except AssertionError as error:
        raise BrokenRuleError(name, number, str(error)) from error
    except Exception as error:
        text = "".join(traceback.format_exception(error)[-3:])
        raise BrokenRuleError(f"untyped {type(error).__name__}", number, text) from error
    t = world.tract(who, t.dialog)  # it may have been opened again
    world.find_branch(t)
    _checked("learn", number, lambda: world.learn(t))
    if world.checks_each_step:
        for check in checks.EACH_STEP:
            _checked(check, number, partial(checks.CHECKS[check], world, t))


def _checked(rule: str, number: int, run: Callable[[], None]) -> None:
    try:
        run()
    except AssertionError as error:
        raise BrokenRuleError(rule, number, str(error)) from error
    except TractError as error:
        text = "".join(traceback.format_exception(error)[-3:])
        raise BrokenRuleError(f"{rule} {type(error).__name__}", number, text) from error
    except Exception as error:
        text = "".join(traceback.format_exception(error)[-3:])
        raise BrokenRuleError(f"{rule} untyped {type(error).__name__}", number, text) from error


def _finish(world: World, number: int) -> None:
    """Check every history, and every instance that looks at one."""
    seen = set()
    for t in world.instances():
        world.find_branch(t)
        world.learn(t)
        history = t.dialog, t.current_branch, t.head
        rules = ["incremental"] if history in seen else list(checks.CHECKS)
        seen.add(history)
        for name in rules:
            _checked(name, number, partial(checks.CHECKS[name], world, t))


# Smaller


def failure(steps: Sequence[Step], place: str | None = None) -> BrokenRuleError | None:
    try:
        play(steps, place)
    except BrokenRuleError as failed:
        return failed
    return None


def smaller(
    steps: list[Step], rule: str, place: str | None = None, tries: int = 1000
) -> list[Step]:
    """The fewest steps, with the smallest numbers, that break the same rule."""

    def breaks(candidate: list[Step]) -> bool:
        nonlocal tries
        tries -= 1
        failed = failure(candidate, place) if tries > 0 else None
        return failed is not None and failed.rule == rule

    size = len(steps) // 2
    while size:
        start = 0
        while start < len(steps):
            candidate = steps[:start] + steps[start + size :]
            if breaks(candidate):
                steps = candidate
            else:
                start += size
        size //= 2
    for number, step in enumerate(steps):
        for at in range(len(step) - 1, 0, -1):
            for shorter in (step[:at], [*step[:at], 0, *step[at + 1 :]]):
                candidate = [*steps[:number], shorter, *steps[number + 1 :]]
                if len(shorter) <= len(step) and shorter != step and breaks(candidate):
                    steps, step = candidate, shorter
                    break
    return steps


# As a script

UNNAMED = ("branches", "log", "get_message", "get_commit", "list_tool_results", "close")
"""Reads that change nothing in an instance."""


def script(steps: Sequence[Step], place: str | None = None) -> str:
    """The steps as data and as the calls that they make."""
    with traced() as lines:
        failure(steps, place)
    return "\n".join([*map(json.dumps, steps), "", *lines])


@contextmanager
def traced() -> Iterator[list[str]]:
    """The calls of public methods of `Tract`, as lines of Python. Commits are named by their
    hashes, which are the same every time."""
    lines = ["from tract import *", "from tract.model import Raw"]
    names: dict[int, str] = {}
    depth = [0]

    def name_of(t: Tract) -> str:
        if id(t) not in names:
            names[id(t)] = f"t{len(names)}"
            store = id(t.session.store)
            lines.append(f"{names[id(t)]} = ...  # dialog {t.dialog!r}, connection {store % 9973}")
        return names[id(t)]

    def wrap(name: str, method: Any) -> Any:
        def call(t: Tract, *args: Any, **options: Any) -> Any:
            is_named = name not in UNNAMED
            if is_named and not depth[0] and threading.current_thread() is threading.main_thread():
                passed = [*map(_text, args), *(f"{k}={_text(v)}" for k, v in options.items())]
                lines.append(f"{name_of(t)}.{name}({', '.join(passed)})")
            depth[0] += 1
            try:
                return method(t, *args, **options)
            except TractError as error:
                if is_named and depth[0] == 1:
                    lines[-1] += f"  # {type(error).__name__}"
                raise
            finally:
                depth[0] -= 1

        return call

    methods = {k: v for k, v in vars(Tract).items() if callable(v) and not k.startswith("_")}
    with ExitStack() as stack:
        for name, method in methods.items():
            if name != "sibling":
                stack.enter_context(patch.object(Tract, name, wrap(name, method)))
        yield lines


def _text(value: Any) -> str:
    match value:
        case CommitInfo():
            return repr(value.commit_hash)
        case StrEnum():
            return repr(str(value))
        case Shape():
            return f"Shape({_text(value.form)}, {value.tokens!r}, {value.text!r})"
        case dict():
            return "{" + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_text, value)) + "]"
    return repr(value)
