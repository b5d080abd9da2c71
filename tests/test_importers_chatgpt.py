from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.importing import entries, file_of, items_of, messages, problems
from tests.samples.chatgpt import EXPORT, IMAGE, NEW, PAGE, PLAIN, TREE, chain, message, text
from tract import Tract
from tract.importers import chatgpt
from tract.importers.items import Entry, Facts, Item, Unknown
from tract.importers.writer import import_file
from tract.model import ROOT, Json, Raw, Text, ToolCall


def read(folder: Path, value: Json) -> list[Item]:
    return items_of(chatgpt, file_of(folder, value))


def by_key(items: list[Item]) -> dict[str | None, Entry]:
    return {entry.key: entry for entry in entries(items)}


def conversation(*nodes: tuple[str, Json]) -> Any:
    return {**PLAIN, "mapping": chain(*nodes), "current_node": nodes[-1][0]}


def test_conversations_are_detected_and_other_mappings_are_not(tmp_path: Path) -> None:
    assert all(chatgpt.detect(file_of(tmp_path, value)) for value in (EXPORT, TREE))
    others: list[Json] = [
        [],
        {"mapping": {"a": {"x": 1}}},
        [{"mapping": []}],
        {"conversations": []},
    ]
    for other in others:
        assert not chatgpt.detect(file_of(tmp_path, other))


def test_each_conversation_is_a_dialog_with_its_facts(tmp_path: Path) -> None:
    items = read(tmp_path, EXPORT)
    facts = [item for item in items if isinstance(item, Facts)]
    start = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert facts[0] == Facts(
        dialog="c-1",
        title="A tree",
        model="gpt-9",
        started=start,
        ended=start.replace(minute=15, second=0),
    )
    assert (facts[1].dialog, facts[1].title, facts[1].ended) == ("c-2", "Plain", None)
    plain = [entry for entry in entries(items) if entry.dialog == "c-2"]
    assert [(m.role, m.content) for m in messages(plain)] == [
        ("user", "Hi."),
        ("assistant", "Hello."),
    ]
    assert not problems(items)


def test_a_tree_is_read(tmp_path: Path) -> None:
    tree = by_key(read(tmp_path, TREE))
    content: Json = {key: entry.messages[0].content for key, entry in tree.items()}
    assert list(content) == [
        *("profile", "ask", "thought", "run", "crash", "search", "page", "empty", "new", "done"),
        *("again", "open"),
    ]
    assert content["profile"] == "Brief."
    pointer = Raw("chatgpt", {"type": "image_asset_pointer", **IMAGE})
    assert content["ask"] == (Text("Grüße\r"), pointer)
    assert content["thought"][0].data["type"] == "thinking"
    assert content["run"] == (ToolCall("run", "python", "print(1)"),)
    assert content["search"] == (ToolCall("search", "web.run", '{"q": "x"}'),)
    assert content["crash"] == "KeyError: 1"
    assert content["page"] == [{"type": "tether_quote", **PAGE}]
    assert content["empty"] == ""
    assert content["new"] == (Raw("chatgpt", {"type": "hologram", **NEW}),)
    results = {key: e.messages[0] for key, e in tree.items() if e.messages[0].role == "tool"}
    assert {k: (m.tool_call_id, m.name, m.is_error) for k, m in results.items()} == {
        "crash": ("run", "python", True),
        "page": ("search", "web", False),
        "empty": ("search", "web.run", False),
    }
    assert tree["crash"].metadata is not None
    assert (tree["run"].model, tree["done"].time) == ("gpt-9", None)
    assert tree["ask"].time == datetime(2023, 11, 14, 22, 13, 20, 500000, tzinfo=UTC)


def test_branches_are_kept_and_the_current_one_is_last(tmp_path: Path) -> None:
    items = read(tmp_path, TREE)
    tree = by_key(items)
    assert (tree["profile"].parent, tree["ask"].parent) == (ROOT, "profile")
    assert tree["thought"].parent == tree["again"].parent == "ask"
    assert (tree["run"].parent, tree["open"].parent) == ("thought", "again")
    assert entries(items)[-1] is tree["done"]
    with Tract.open(tmp_path / "t.db") as t:
        import_file(t, file_of(tmp_path, EXPORT, "export.json").path)
    with Tract.open(tmp_path / "t.db", dialog="export/c-1") as t:
        assert t.compile().messages[-1].text == "Done."
        assert len(t.branches()) == 2


def test_what_the_model_was_not_shown_is_kept_apart(tmp_path: Path) -> None:
    (unknown,) = [item for item in read(tmp_path, TREE) if isinstance(item, Unknown)]
    assert (unknown.kind, unknown.dialog) == ("system of weight 0", None)
    asked = message("critic", text("No."))
    other = Unknown("message a", "critic", asked)
    assert read(tmp_path, conversation(("a", asked)))[1:] == [other]


def test_a_result_without_a_call_has_an_id_of_its_own(tmp_path: Path) -> None:
    nodes = [
        ("a", message("assistant", text("x"), recipient="python")),
        ("b", message("user", text("Hi."))),
        ("c", message("tool", text("seen"), "files")),
    ]
    assert messages(read(tmp_path, conversation(*nodes)))[-1].tool_call_id == "c"


def test_an_error_of_the_system_is_an_error(tmp_path: Path) -> None:
    error = {"content_type": "system_error", "name": "Timeout", "text": "60 s"}
    nodes = [
        ("a", message("assistant", text("x"), recipient="t")),
        ("b", message("tool", error, "t")),
    ]
    result = messages(read(tmp_path, conversation(*nodes)))[-1]
    assert (result.content, result.is_error, result.tool_call_id) == ("Timeout\n60 s", True, "a")


@pytest.mark.parametrize("damage", [None, {}, 7, "x", {"message": {}}, {"message": {"author": {}}}])
def test_a_broken_node_costs_only_itself(tmp_path: Path, damage: Json) -> None:
    value = deepcopy(TREE)
    full = by_key(read(tmp_path, value))
    value["mapping"]["run"] = damage
    items = read(tmp_path, value)
    assert by_key(items).keys() == full.keys() - {"run"}
    assert by_key(items)["crash"].parent == "thought"
    assert len(problems(items)) == (damage != {})


def test_a_broken_part_costs_only_itself(tmp_path: Path) -> None:
    parts = ["a", None, {}, 7, {"content_type": "audio_transcription", "text": "b"}]
    items = read(tmp_path, conversation(("k", message("user", text(*parts)))))
    assert messages(items)[0].content == (Text("a"), Text("b"))
    place = "message k, part"
    assert [problem.place for problem in problems(items)] == [f"{place} {n}" for n in (2, 3, 4)]


def test_nodes_in_any_order_are_read(tmp_path: Path) -> None:
    value = deepcopy(TREE)
    value["mapping"] = dict(reversed(value["mapping"].items()))
    tree, full = by_key(read(tmp_path, value)), by_key(read(tmp_path, TREE))
    assert {k: e.parent for k, e in tree.items()} == {k: e.parent for k, e in full.items()}
    value["mapping"]["root"]["parent"] = "done"  # a circle
    assert by_key(read(tmp_path, value)).keys() == full.keys()
