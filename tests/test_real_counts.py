"""Real transcripts: what is imported is what an independent count of the raw file finds. Nothing
is lost, nothing is invented."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus import BY_FOLDER, real_files
from tests.counting import COUNTERS, Said, call, counted, part, result
from tract import Message, Raw, Text, Tract
from tract.importers.writer import import_file

KINDS = {"assistant": "answer", "tool": "result"}
FILES = [path for folder in COUNTERS for path in real_files(folder)]
has_data = pytest.mark.skipif(not FILES, reason="the shared transcripts are not here")


def stored(t: Tract) -> Iterator[Message]:
    """Each message of each branch of each dialog, once."""
    for info in t.dialogs():
        dialog = t.sibling(info.dialog)
        store = dialog.store
        heads = store.branches(info.dialog).values()
        commits = {c.commit_hash: c for head in heads for c in store.log(head.id)}
        for commit in commits.values():
            if commit.role:
                yield dialog.get_message(commit.commit_hash)


def said(message: Message) -> Iterator[Said]:
    kind = KINDS.get(message.role, message.role)
    if kind == "result":
        yield from result(message.content, message.is_error)
        return
    is_answer = kind == "answer"
    texts = (
        block.text if isinstance(block, Text) else "[…]"
        for block in message.blocks
        if isinstance(block, Text) or not is_answer
    )
    yield Said(kind, "".join(texts))
    yield from (call(c.name, c.arguments) for c in message.tool_calls)
    if is_answer:
        raw = [block.data for block in message.blocks if isinstance(block, Raw)]
        yield from (part(data["type"]) for data in raw)


def test_every_folder_of_transcripts_is_counted() -> None:
    assert set(COUNTERS) == set(BY_FOLDER)


@has_data
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_real_file_is_imported_as_counted(path: Path) -> None:
    with Tract.open() as t:
        report = import_file(t, path)
        found = Counter(one for message in stored(t) for one in said(message))
    expected = counted(path)
    numbers = Counter(one.kind for one in expected.elements())
    assert Counter(one.kind for one in found.elements()) == numbers
    assert found - expected == Counter()
    assert expected - found == Counter()
    assert report.calls == numbers["call"]
    assert report.results == numbers["result"]
    assert report.messages == sum(numbers[kind] for kind in ("system", "user", "answer", "result"))
