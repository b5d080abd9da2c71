"""Real outputs of real programs, each with the call that made it and the questions of its reader.

The recipes say what is run and what is asked. `outputs.json.gz` holds what the programs printed, so
that nothing of them has to be installed to measure. `dev.py bench previews --record` runs them anew.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.recordings import archives, documents, languages, scripts, services, systems
from benchmarks.recordings.facts import facts_of
from benchmarks.recordings.questions import QUESTIONS
from benchmarks.recordings.recipe import Recipe

OUTPUTS = Path(__file__).with_name("outputs.json.gz")
RECIPES: tuple[Recipe, ...] = (
    *scripts.RECIPES,
    *languages.RECIPES,
    *archives.RECIPES,
    *documents.RECIPES,
    *services.RECIPES,
    *systems.RECIPES,
)
HELD = 0.4
"""The share that nobody tunes on."""


class Recording(NamedTuple):
    recipe: Recipe
    content: Any

    @property
    def name(self) -> str:
        return self.recipe.name

    @property
    def split(self) -> str:
        return split_of(self.recipe.name)

    @property
    def questions(self) -> dict[str, str]:
        """What is asked, and the pattern of the answer."""
        return QUESTIONS.get(self.name, {})

    @property
    def text(self) -> str:
        return text_of(self.content)


def split_of(name: str) -> str:
    """`dev`, to tune on, or `held`, to judge by. It depends on the name alone."""
    first = hashlib.sha256(name.encode()).digest()[0]
    return "held" if first < 256 * HELD else "dev"


def text_of(content: Any) -> str:
    """What a model would read if the result was sent in full."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


@cache
def recordings() -> tuple[Recording, ...]:
    """Every recipe that has an output and questions."""
    outputs = read_outputs()
    asked = [r for r in RECIPES if r.name in QUESTIONS]
    return tuple(Recording(r, outputs[r.name]) for r in asked if r.name in outputs)


def read_outputs() -> dict[str, Any]:
    if not OUTPUTS.exists():
        return {}
    contents: dict[str, Any] = json.loads(gzip.decompress(OUTPUTS.read_bytes()))
    return contents


def write_outputs(outputs: dict[str, Any]) -> None:
    """In the order of the recipes. The same outputs make the same file."""
    kept = {r.name: outputs[r.name] for r in RECIPES if r.name in outputs}
    data = json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass")
    OUTPUTS.write_bytes(gzip.compress(data, 9, mtime=0))


def is_answered(pattern: str, text: str) -> bool:
    """Whatever the case, and without the colours of a terminal."""
    plain = _COLOURS.sub("", text)
    return re.search(pattern, plain, re.IGNORECASE | re.MULTILINE) is not None


_COLOURS = re.compile(r"\x1b\[[\d;]*m")


def _is_true(pattern: str, recording: Recording) -> bool:
    """Of the full text, or of what follows from it."""
    if is_answered(pattern, recording.text):
        return True
    return is_answered(pattern, "\n".join((recording.text, *facts_of(recording.content))))


def doubts(recording: Recording) -> Iterator[str]:
    """The questions that ask for nothing, or for what the output does not say."""
    call = f"{recording.recipe.tool} {json.dumps(recording.recipe.arguments)}"
    for question, pattern in recording.questions.items():
        if not _is_true(pattern, recording):
            yield f"{recording.name}: the output does not say: {question}"
        if is_answered(pattern, "") or is_answered(pattern, call):
            yield f"{recording.name}: the call says: {question}"
