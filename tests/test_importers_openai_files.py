"""Batches and examples for fine-tuning, as messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, file_of, items_of, messages, of_lines, paths, problems
from tests.samples.openai_files import (
    ANTHROPIC_INPUT,
    ANTHROPIC_OUTPUT,
    CHAT,
    COMPLETION,
    EXAMPLES,
    HELLO,
    INPUT,
    ITEMS,
    MESSAGE,
    OUTPUT,
    PARAMS,
    TOOL,
    answered,
    asked,
)
from tract import Tract, import_file
from tract.importers import openai_files
from tract.importers.items import Exchange, Unknown


def read(folder: Path, *lines: Any) -> list[Any]:
    return items_of(openai_files, of_lines(folder, *lines))


def test_each_request_is_a_dialog(tmp_path: Path) -> None:
    assert read(tmp_path, *INPUT) == [
        Exchange(provider="openai", request=CHAT, dialog="a"),
        Exchange(provider="responses", request=ITEMS, dialog="b"),
    ]
    assert read(tmp_path, *ANTHROPIC_INPUT) == [
        Exchange(provider="anthropic", request=PARAMS, dialog=name) for name in "ab"
    ]


def test_an_answer_alone_has_no_prompt(tmp_path: Path) -> None:
    empty: dict[str, Any] = {"messages": []}
    assert read(tmp_path, *OUTPUT) == [
        Exchange(provider="openai", request=empty, response=COMPLETION, dialog=name)
        for name in "ba"
    ]
    assert read(tmp_path, *ANTHROPIC_OUTPUT)[0].response == MESSAGE


def test_requests_and_answers_in_one_file_are_paired(tmp_path: Path) -> None:
    *_, last = read(tmp_path, *INPUT, OUTPUT[1])
    assert last == Exchange(provider="openai", request=CHAT, response=COMPLETION, dialog="a")


def test_what_has_no_answer_is_kept_aside(tmp_path: Path) -> None:
    vectors = asked("v", {"model": "e", "input": "x"}, "/v1/embeddings")
    failed = answered("f", None, {"message": "no"})
    expired = {"custom_id": "x", "result": {"type": "expired"}}
    assert read(tmp_path, vectors, failed, expired) == [
        Unknown("v", "/v1/embeddings", vectors, "v"),
        Unknown("f", "error", failed, "f"),
        Unknown("x", "expired", expired, "x"),
    ]


def test_a_preference_is_two_branches(tmp_path: Path) -> None:
    items = read(tmp_path, *EXAMPLES)
    assert entries(items) == items
    assert [m.text for m in messages(items)] == [
        *("Be brief.", "Hi é\r.", "Bad.", "Good."),
        *("Hi é\r.", "No.", "Yes."),
    ]
    assert items[0].tools == [TOOL]
    assert paths(items) == {
        None: ["1.1", "1.2", "1.preferred_output.1"],
        "2": ["2.1", "2.preferred_output.1"],
    }


def test_the_preferred_answer_is_checked_out(tmp_path: Path) -> None:
    path = of_lines(tmp_path, EXAMPLES[0], name="x.jsonl").path
    with Tract.open(tmp_path / "t.db") as tract:
        assert import_file(tract, path).messages == 4
    with Tract.open(tmp_path / "t.db", dialog="x") as tract:
        assert [m.text for m in tract.compile().messages] == ["Be brief.", "Hi é\r.", "Good."]
        assert len(tract.branches()) == 2


def test_an_odd_line_costs_only_itself(tmp_path: Path) -> None:
    odd = {**EXAMPLES[1], "input": {"messages": [7, *HELLO]}}
    items = read(tmp_path, *INPUT, None, {}, {"custom_id": 5.5, "params": PARAMS}, odd)
    assert [(p.place, p.what) for p in problems(items)] == [
        ("line 3", "a line is an object, not NoneType"),
        ("line 4", "neither a request, an answer nor an example"),
        ("line 5", "a custom_id is a text"),
        ("example 1, message 1", "a message is a dict, not int"),
    ]
    assert [m.text for m in messages(items)] == ["Hi é\r.", "No.", "Yes."]


@pytest.mark.parametrize(
    "other", [{"custom_id": "a"}, {"messages": HELLO}, {"input": "x", "preferred_output": []}]
)
def test_other_formats_are_left_alone(tmp_path: Path, other: Any) -> None:
    assert not openai_files.detect(file_of(tmp_path, other))
