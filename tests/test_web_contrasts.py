"""What a page compares: requests in parts, two of them side by side, and the graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.changes import THOUGHT, TOOLS
from tests.serving import serving
from tests.toolkit import claude_tool
from tract import Tract
from tract.providers import PROVIDERS
from tract.web import contrasts

LONG = "a line of a log\n" * 2000


class Names(NamedTuple):
    """The commits of the dialog."""

    ask: str
    call: str
    result: str
    answer: str
    again: str
    """On the branch `try` only, after `answer`."""


class Place(NamedTuple):
    path: Path
    client: httpx2.Client
    names: Names

    def ask(self, view: str, **params: Any) -> httpx2.Response:
        return self.client.get(f"/api/dialogs/work/view/{view}", params=params)

    def get(self, view: str, **params: Any) -> Any:
        answer = self.ask(view, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **body: Any) -> httpx2.Response:
        return self.client.post(f"/api/dialogs/work/{path}", json=body)


def fill(t: Tract) -> Names:
    t.system("Be brief.", tools=TOOLS)
    ask = t.user("What is in src?")
    use = {"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "src"}}
    said = [THOUGHT, {"type": "text", "text": "Looking."}, use]
    usage = {"input_tokens": 300, "output_tokens": 20, "cache_read_input_tokens": 700}
    call = t.commit({"role": "assistant", "content": said}, usage=usage)
    result = t.tool_result("c", "Read", LONG)
    answer = t.assistant("A log.", usage={"input_tokens": 9000, "output_tokens": 5})
    t.branch("try")
    t.checkout("try")
    again = t.user("Shorter, please.", tools=[*TOOLS, claude_tool("Write")])
    t.reshape({result.commit_hash: "reference"})
    t.checkout("main")
    t.user("Thanks.")
    return Names(*(c.commit_hash for c in (ask, call, result, answer, again)))


def opened(path: Path) -> Iterator[Place]:
    with Tract.open(path, dialog="work") as t:
        names = fill(t)
    with serving(str(path)) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        with httpx2.Client(base_url=server.url, headers=headers) as client:
            yield Place(path, client, names)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from opened(tmp_path_factory.mktemp("contrasts") / "t.db")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Place]:
    """A place that a test may change."""
    yield from opened(tmp_path / "t.db")


def unit_text(place: Place, **params: Any) -> str:
    """A part of a request, as its lines have it."""
    text, begin = "", {"line": 1, "column": 0}
    while True:
        body = place.get("unit", **params, **begin)
        for line in body["lines"]:
            text += "\n" * (not line["column"]) + "".join(piece for piece, _ in line["pieces"])
        if body.get("next") is None:
            return text.removeprefix("\n")
        begin = dict(zip(("line", "column"), body["next"], strict=True))


# One request


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_parts_of_a_request_are_the_request(place: Place, provider: str) -> None:
    view = place.get("request", provider=provider)
    with Tract.open(place.path, dialog="work") as t:
        context, head = t.compile(), t.head
    assert (view["provider"], view["at"]) == (provider, head)
    assert (view["tokens"], view["tool_tokens"]) == (context.token_count, context.tool_tokens)
    request = context.to_params(provider)
    history = request[PROVIDERS[provider].history]
    labels = [unit["label"] for unit in view["units"]]
    messages = [
        n for n, label in enumerate(labels) if label.startswith(PROVIDERS[provider].history)
    ]
    assert len(messages) == len(history)
    for number, message in zip(messages, history, strict=True):
        assert json.loads(unit_text(place, provider=provider, unit=number)) == message
    tools = [label for label in labels if label.startswith("tools")]
    assert [label.rpartition(" ")[2] for label in tools] == ["Read", "Grep"]


def test_a_part_says_how_large_it_is_and_what_it_is_about(place: Place) -> None:
    units = place.get("request")["units"]
    [result] = [unit for unit in units if unit["size"] > len(LONG)]
    assert result["first"].startswith("a line of a log")
    assert {"What is in src?", "Looking."} <= {unit["first"] for unit in units}


def test_breakpoints_of_the_cache_are_marked(own: Place) -> None:
    block = {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}
    own.post("messages", content={"role": "user", "content": [block]})
    units = own.get("request")["units"]
    assert units[-1]["is_breakpoint"] is True
    assert not any(unit["is_breakpoint"] for unit in units[:-1])


@pytest.mark.parametrize("provider", ["", "none", "ANTHROPIC", "None"])
def test_an_unknown_provider_is_refused(place: Place, provider: str) -> None:
    for view in ("request", "unit", "comparison"):
        both = {"old": "HEAD", "new": "HEAD"} if view == "comparison" else {}
        answer = place.ask(view, provider=provider, **both)
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:tract:InputError")


@pytest.mark.parametrize("unit", [-1, 99, 10**12])
def test_a_part_that_is_not_there_is_said(place: Place, unit: int) -> None:
    both = {"old": "HEAD", "new": "HEAD"}
    answers = [
        place.ask("unit", unit=unit),
        place.ask("difference", **both, new_unit=unit),
        place.ask("difference", **both, old_unit=unit),
    ]
    assert {answer.status_code for answer in answers} == {422}
    assert place.ask("unit", unit=0, line=0).status_code == 422
    assert place.ask("unit", unit=0, column=-1).status_code == 422


def test_what_had_to_be_repaired_is_noted(place: Place) -> None:
    assert place.get("request", at=place.names.answer)["notes"] == []
    notes = place.get("request", at=place.names.call)["notes"]
    assert any("result" in note for note in notes)


def test_what_an_answer_was_given_to_is_the_commit_before(place: Place) -> None:
    view = place.get("request", at=f"{place.names.answer}^")
    assert view["at"] == place.names.result
    assert place.get("request", at=place.names.result)["units"] == view["units"]
    assert place.get("request", at="try^")["at"] == place.names.again
    with Tract.open(place.path, dialog="work") as t:
        first = list(t.log())[-1].commit_hash
    for name, status in ((f"{first}^", 422), ("^", 404), ("none^", 404), ("f" * 64 + "^", 404)):
        assert place.ask("request", at=name).status_code == status, name
    assert place.get("request", at="HEAD^")["at"] == place.names.answer


def test_how_far_the_cache_was_read_is_told_for_an_answer(place: Place) -> None:
    view = place.get("request", at=f"{place.names.call}^")
    cache = view["cache"]
    assert (cache["tokens"], cache["sent"]) == (700, 1000)
    sizes = [unit["size"] for unit in view["units"]]
    assert sum(sizes[: cache["unit"]]) <= 0.7 * sum(sizes) < sum(sizes[: cache["unit"] + 1])
    assert place.get("request", at=f"{place.names.answer}^")["cache"]["tokens"] == 0
    assert place.get("request", at=place.names.call)["cache"] is None
    assert place.get("request", at="HEAD^")["cache"] is None


def test_a_cache_that_was_read_to_the_end_reaches_behind_the_last_part(own: Place) -> None:
    usage = {"input_tokens": 0, "output_tokens": 1, "cache_read_input_tokens": 500}
    commit = own.post("messages/assistant", text="Yes.", usage=usage).json()["commit_hash"]
    view = own.get("request", at=f"{commit}^")
    assert view["cache"]["unit"] >= len(view["units"]) - 1


def test_a_dialog_without_messages_has_a_request_too(place: Place) -> None:
    with Tract.open(place.path, dialog="empty") as t:
        t.configure_results()
    view = place.client.get("/api/dialogs/empty/view/request").json()
    assert (view["at"], view["tokens"]) == (None, 0)
    both = {"old": "main", "new": "main"}
    compared = place.client.get("/api/dialogs/empty/view/comparison", params=both).json()
    assert compared["pairs"] == []
    answer = place.client.get("/api/dialogs/empty/view/request", params={"at": "main^"})
    assert answer.status_code == 404


# Two of them


def pairs_of(place: Place, **params: Any) -> list[tuple[str, str]]:
    compared = place.get("comparison", **params)
    return [(pair["kind"], pair["label"]) for pair in compared["pairs"] if pair["kind"] != "same"]


def test_two_branches_as_messages(place: Place) -> None:
    compared = place.get("comparison", old="main", new="try")
    assert compared["tools"] == "1 added"
    assert compared["old"]["messages"] == compared["new"]["messages"] == 6
    assert compared["new"]["tokens"] < compared["old"]["tokens"]
    changed = {pair["label"]: pair for pair in compared["pairs"] if pair["kind"] != "same"}
    assert [label.partition(" · ")[0] for label in changed] == ["tools", "message 3", "message 5"]
    assert place.names.result[:8] in [*changed][1]
    assert {pair["kind"] for pair in changed.values()} == {"changed"}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_branches_as_requests(place: Place, provider: str) -> None:
    changed = pairs_of(place, old="main", new="try", provider=provider)
    assert [kind for kind, _ in changed].count("added") >= 1
    assert any(label.startswith("tools") for _, label in changed)
    assert pairs_of(place, old="main", new="main", provider=provider) == []


def test_neighbours_differ_by_what_came_between_them(place: Place) -> None:
    names = place.names
    for provider in ({}, {"provider": "anthropic"}):
        [(kind, label)] = pairs_of(place, old=names.ask, new=names.call, **provider)[:1]
        assert kind == "added"
        assert "assistant" in label
    before, after = f"{names.call}^", f"{names.answer}^"
    kinds = {kind for kind, _ in pairs_of(place, old=before, new=after)}
    assert kinds == {"added"}
    assert {kind for kind, _ in pairs_of(place, old=after, new=before)} == {"removed"}


def test_a_difference_has_the_lines_that_differ(place: Place) -> None:
    compared = place.get("comparison", old="main", new="try")
    pair = compared["pairs"][-1]
    params = {"old": "main", "new": "try", "old_unit": pair["old"], "new_unit": pair["new"]}
    text = str(place.get("difference", **params)["nodes"])
    assert ("Thanks." in text, "Shorter" in text) == (True, True)
    only_new = place.get("difference", old="main", new="try", new_unit=pair["new"])
    assert "Thanks." not in str(only_new["nodes"])
    assert place.get("difference", old="main", new="try").get("nodes", []) == []


def test_what_is_compared_must_be_there(place: Place) -> None:
    for old in ("none", "f" * 64, "", "..", "none^"):
        assert place.ask("comparison", old=old, new="main").status_code == 404, old
    assert place.ask("comparison", old="main").status_code == 422


# The graph


def test_the_graph_has_each_commit_once_newest_first(place: Place) -> None:
    items = place.get("graph")["items"]
    with Tract.open(place.path, dialog="work") as t:
        heads, main = t.branches(), [info.commit_hash for info in t.log()]
    commits = [item["commit"] for item in items]
    assert len(set(commits)) == len(commits) == len(main) + 2
    assert [c for c in commits if c in main] == main
    branches = {name: item["commit"] for item in items for name in item["branches"]}
    assert branches == heads
    assert {item["column"] for item in items} == {0, 1}
    assert [item["column"] for item in items if item["commit"] in main] == [0] * len(main)


def test_the_lines_of_the_graph_join(place: Place) -> None:
    items = place.get("graph")["items"]
    for item, following in pairwise(items):
        ends = {end for _, end in item["lines"]}
        starts = {start for start, _ in following["lines"]} | {following["column"]}
        assert starts - ends <= ({following["column"]} if following["branches"] else set())
        assert ends <= starts
    assert items[-1]["lines"] == []


def test_an_item_says_what_a_commit_does(place: Place) -> None:
    items = {item["commit"]: item for item in place.get("graph")["items"]}
    result, ask = items[place.names.result], items[place.names.ask]
    assert (ask["what"], ask["text"]) == ("user", "What is in src?")
    assert result["what"] == "tool Read"
    [mark] = [item for item in items.values() if item["what"] == "mark"]
    assert "reference" in mark["text"]
    assert (ask["tokens"] > 0, ask["time"] is not None) == (True, True)


def test_the_graph_comes_in_pages(place: Place) -> None:
    whole = place.get("graph")["items"]
    items, cursor = [], None
    while True:
        part = place.get("graph", limit=2, **({"cursor": cursor} if cursor else {}))
        items += part["items"]
        cursor = part["next"]
        if cursor is None:
            break
    assert items == whole


# What is kept


def test_a_request_that_was_compiled_is_kept_until_it_changes(
    own: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Any] = []
    real = contrasts._compile

    def count(*args: Any) -> contrasts.Compiled:
        compiled.append(args)
        return real(*args)

    monkeypatch.setattr(contrasts, "_compile", count)
    for _ in range(3):
        own.get("request")
        own.get("unit", unit=0)
    assert len(compiled) == 1
    own.post("messages/assistant", text="More.")
    assert own.get("request")["units"][-1]["first"] == "More."
    assert len(compiled) == 2
    for provider in [*PROVIDERS] * 2:
        own.get("request", provider=provider)
    assert len(compiled) == 2 + len(PROVIDERS) - 1


def test_what_is_forgotten_is_in_no_request(own: Place) -> None:
    secret = own.post("messages/assistant", text="hunter2").json()["commit_hash"]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("request", {}),
        ("request", {"at": secret}),
        ("comparison", {"old": own.names.ask, "new": secret}),
        ("difference", {"old": own.names.ask, "new": secret, "new_unit": 7}),
    ]
    before = [own.ask(view, **params).text for view, params in asked]
    assert ["hunter2" in text for text in before] == [True, True, False, True]
    assert own.post("forget", commit=secret).status_code == 200
    for view, params in asked:
        assert "hunter2" not in own.ask(view, **params).text


def test_what_a_model_is_offered_may_change_without_a_commit(own: Place) -> None:
    def tools() -> list[str]:
        labels = [unit["label"] for unit in own.get("request")["units"]]
        return [label for label in labels if label.startswith("tools")]

    before = tools()
    with Tract.open(own.path, dialog="work") as t:
        t.configure_results(inline_tokens=100)
    assert len(tools()) == len(before) + 1


def test_looking_at_requests_leaves_the_dialog_where_it_is(place: Place) -> None:
    before = place.client.get("/api/dialogs/work/position").json()
    place.get("request", at=f"{place.names.call}^")
    place.get("comparison", old="try", new=place.names.ask)
    assert place.client.get("/api/dialogs/work/position").json() == before
