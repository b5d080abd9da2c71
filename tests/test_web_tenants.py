"""Two tokens for the dialogs of two teams: neither ever reads what the other has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.asking import JSON, Answer, ask, grant, send
from tests.hooks import LONG, hook
from tests.importing import as_lines
from tests.samples.claude_code import answer as said
from tests.samples.claude_code import call, result, text, user
from tests.serving import serving
from tract import Tract
from tract.model import DialogFacts
from tract.remote.operations import OPERATIONS, SECTIONS, Operation
from tract.remote.transport import AFTER, BATCH, BRANCH, COMMIT, quoted
from tract.web.intake import LISTS
from tract.web.server import Server

TEAMS = ("a", "b")
SECRETS = {"a": "marzipan", "b": "kohlrabi"}
"""In everything that a team stores, other than the names that requests repeat."""
SHARED = "the same text in both teams " * 400
PARENTS = {"a/boss": "b/boss", "a/aide": "a/boss", "b/boss": "a/aide", "b/aide": "b/boss"}
"""Who says to have been started by whom: their own dialogs, and those of the others. Requests that
are made at random do not name them."""


class World(NamedTuple):
    """A server, the tokens of its teams, and what can be named in requests."""

    server: Server
    tokens: dict[str, str]
    names: dict[str, list[str]]
    """What to fill parameters with, by kind: of both teams, and of none."""


def fill(place: str, team: str) -> dict[str, list[str]]:
    """Store a secret wherever something is stored; returns the names of it all."""
    secret = SECRETS[team]
    names: dict[str, list[str]] = {"dialog": [], "commit": [], "id": [], "hash": [], "branch": []}
    for dialog in (f"{team}/one", f"{team}/two"):
        with Tract.open(place, dialog=dialog) as t:
            schema = {"name": "ls", "description": secret, "input_schema": {"type": "object"}}
            t.set_tools([schema])
            t.user(f"Where is the {secret}?", message=secret, metadata={"key": secret})
            arguments = {"path": secret}
            t.assistant("", tool_calls=[{"id": f"{team}1", "name": "ls", "arguments": arguments}])
            t.tool_result(f"{team}1", "ls", f"{secret}\n" * 50)
            t.assistant("", tool_calls=[{"id": f"{team}2", "name": "ls", "arguments": {}}])
            t.tool_result(f"{team}2", "ls", SHARED)
            t.assistant("", tool_calls=[{"id": "same", "name": "ls", "arguments": {}}])
            t.tool_result("same", "ls", secret, is_error=True)
            t.user("common words")
            t.branch(f"branch-{team}")
            infos = list(t.log())
            names["commit"] += [info.commit_hash for info in infos]
            names["hash"] += [info.content_hash for info in infos if info.content_hash]
            names["dialog"].append(dialog)
            names["branch"].append(f"branch-{team}")
            names["id"] += [f"{team}1", f"{team}2", "same"]
    for dialog in (name for name in PARENTS if name.startswith(team)):
        with Tract.open(place, dialog=dialog) as t:
            t.user(secret)
            t.session.configure("facts", DialogFacts(title=secret, parent=PARENTS[dialog]))
    return names


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    place = tmp_path_factory.mktemp("tenants") / "t.db"
    names: dict[str, list[str]] = {}
    for team in TEAMS:
        for kind, values in fill(str(place), team).items():
            names.setdefault(kind, []).extend(values)
    tokens = {team: grant(place, team, "admin", f"{team}/") for team in TEAMS}
    with serving(str(place)) as server:
        yield World(server, tokens, names)


def assert_separate(team: str, answer: Answer) -> None:
    """Nothing of the other team is in an answer."""
    [other] = set(TEAMS) - {team}
    everything = answer.text + json.dumps(answer.headers)
    assert SECRETS[other] not in everything.lower()
    assert SECRETS[other].encode().hex() not in everything
    assert answer.status < 500


# Random requests


def values(world: World, kind: str) -> st.SearchStrategy[str]:
    return st.sampled_from(world.names[kind])


def named(world: World, name: str) -> st.SearchStrategy[Any]:
    """A value for a parameter: mostly something that exists, in either team."""
    commits = values(world, "commit") | st.sampled_from(["main", "HEAD"]) | values(world, "branch")
    match name:
        case "dialog":
            return values(world, "dialog") | st.sampled_from(["a/new", "b/new", "c/none"])
        case "commit" | "at" | "head" | "known" | "after" | "a" | "b" | "edit" | "parent":
            return commits
        case "old" | "new":
            return commits | values(world, "commit").map("{}^".format)
        case "id" | "tool_call_id" | "call":
            return values(world, "id") | commits
        case "cursor":
            pairs = st.tuples(values(world, "commit"), values(world, "dialog")).map(".".join)
            return pairs | values(world, "commit") | values(world, "dialog") | st.just("1")
        case "content" | "content_hash":
            return values(world, "hash") | st.sampled_from([*SECRETS.values(), SHARED])
        case "text" | "search" | "grep" | "pattern":
            return st.sampled_from([*(SECRETS[team] for team in TEAMS), "common", "the same text"])
        case "names" | "commits" | "targets":
            return st.lists(values(world, "id") | commits, max_size=2)
        case "name" | "tool" | "tool_name":
            return st.sampled_from(["ls", "none"]) | values(world, "branch")
        case "forms":
            return st.dictionaries(values(world, "id") | commits, st.just("full"), max_size=2)
        case "view":
            return st.sampled_from(["full", "raw", "metadata", "preview"])
        case "provider" | "format":
            return st.sampled_from(["anthropic", "openai", "jsonl", "markdown"])
        case "limit" | "keep_recent" | "offset" | "occurrence":
            return st.integers(0, 3)
        case "block" | "count" | "start" | "line" | "unit" | "number" | "old_unit" | "new_unit":
            return st.integers(0, 3)
        case "path":
            return st.sampled_from(["[]", '["path"]', "[0]"])
        case "operation":
            return st.sampled_from(["reshape", "annotate", "user", "compress", "reword"])
        case "arguments":
            fields = st.sampled_from(["commit", "commits", "forms", "text"])
            return st.dictionaries(fields, commits | st.lists(commits, max_size=2), max_size=2)
        case "dry_run" | "stored" | "superseded" | "is_error" | "sent" | "nodes":
            return st.booleans()
    return st.none()


HEADERS = (BRANCH, COMMIT, AFTER, "if-none-match", "last-event-id")
KINDS = {BRANCH: "branch", "if-none-match": "hash"}
ELSEWHERE = ("begin", "end", "abandon", "delete_dialog", "events", "all_events")
"""Operations with tests of their own."""


@st.composite
def requests(draw: st.DrawFn, world: World) -> tuple[str, Operation, dict[str, Any], Any, Any]:
    team = draw(st.sampled_from(TEAMS))
    operation = draw(st.sampled_from([o for o in OPERATIONS if o.name not in ELSEWHERE]))
    path = {name: draw(named(world, name)) or "x" for name in operation.path_names}
    fields = dict(operation.example) if draw(st.booleans()) else {}
    for name in draw(st.lists(st.sampled_from(sorted(fields_of(operation))), max_size=3)):
        value = draw(named(world, name))
        if value is not None:
            fields[name] = value
    headers = [
        (name, quoted(draw(values(world, KINDS.get(name, "commit")))))
        for name in draw(st.lists(st.sampled_from(HEADERS), max_size=1))
    ]
    if draw(st.booleans()) and "dialog" in path:
        path["dialog"] = f"{team}/{path['dialog'].partition('/')[2]}"
    for name in {"text", "content"} & fields.keys() if not operation.is_read else ():
        fields[name] = SECRETS[team]  # nobody writes the secret of the other
    return team, operation, path, fields, headers


def fields_of(operation: Operation) -> list[str]:
    return [*operation.params.__struct_fields__] or ["none"]


def carry_out(
    world: World, team: str, operation: Operation, path: Any, fields: Any, headers: Any
) -> Answer:
    target = operation.path.format(**{name: quoted(value) for name, value in path.items()})
    token = world.tokens[team]
    if operation.is_read:
        target += "?" + urlencode(fields, doseq=bool(LISTS[operation.name]))
        return ask(world.server, "GET", target, token, headers)
    if operation.name in ("import", "import_items"):
        dialog = fields.get("dialog", "a/one")
        line = b'{"messages": [{"role": "user", "content": "common words"}]}'
        query = {"name": "x.json", "dialog": dialog}
        if operation.name == "import_items":
            line = b'{"entry": %b}\n' % line
            query = {"path": "x", "format": "x", "own_name": dialog, "dialog": dialog}
        media = [("Content-Type", operation.accepts)]
        return ask(
            world.server, "POST", f"{target}?{urlencode(query)}", token, media + headers, line
        )
    body = json.dumps(fields).encode()
    return ask(world.server, operation.verb, target, token, JSON + headers, body)


def test_whatever_is_asked_no_answer_has_the_others_content(world: World) -> None:
    statuses: dict[str, set[int]] = {}

    @settings(max_examples=1000)
    @given(requests(world))
    def explore(request: Any) -> None:
        team, operation, path, fields, headers = request
        answer = carry_out(world, team, operation, path, fields, headers)
        is_echo = any(SECRETS[x] in json.dumps([path, fields]) for x in TEAMS if x != team)
        statuses.setdefault(operation.name, set()).add(answer.status)
        if not (is_echo and answer.status >= 400):  # an error repeats what was asked for
            assert_separate(team, answer)
        dialog = path.get("dialog")
        if dialog is not None and not dialog.startswith(f"{team}/"):
            assert answer.status in (403, 404), (operation.name, answer)

    explore()
    # The requests were good ones: most operations succeeded for someone.
    succeeded = {name for name, codes in statuses.items() if codes & {200, 204, 304}}
    assert len(succeeded) > len(OPERATIONS) / 2


# What random requests do not reach


def test_a_search_has_only_what_is_the_teams_own(world: World) -> None:
    for team in TEAMS:
        [other] = set(TEAMS) - {team}
        for word, is_there in ((SECRETS[team], True), (SECRETS[other], False)):
            query = urlencode({"text": word, "limit": 1000})
            answer = ask(world.server, "GET", f"/api/search?{query}", world.tokens[team])
            assert bool(answer.json["items"]) is is_there
        query = urlencode({"text": "the same text", "limit": 1000})
        hits = ask(world.server, "GET", f"/api/search?{query}", world.tokens[team]).json["items"]
        assert {hit["dialog"].partition("/")[0] for hit in hits} == {team}


VIEWS = [o for o in SECTIONS["Views"] if o.is_read and "{dialog}" in o.path]


@pytest.mark.parametrize("operation", VIEWS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("team", TEAMS)
def test_a_view_names_no_dialog_of_the_other_team(
    world: World, team: str, operation: Operation
) -> None:
    """Not even as the parent that an own dialog says to have, or as the child of an own one."""
    [other] = set(TEAMS) - {team}
    has_commit = "commit" in operation.params.__struct_fields__
    more = [{"commit": commit} for commit in world.names["commit"]] if has_commit else [{}]
    for dialog in (f"{team}/one", f"{team}/boss", f"{team}/aide"):
        for fields in ({**operation.example, **chosen} for chosen in more):
            answer = carry_out(world, team, operation, {"dialog": dialog}, fields, [])
            assert_separate(team, answer)
            assert f"{other}/" not in answer.text, (operation.name, answer.text)


def test_the_list_has_only_what_is_the_teams_own(world: World) -> None:
    for team in TEAMS:
        [other] = set(TEAMS) - {team}
        listed = ask(world.server, "GET", "/api/view/dialogs", world.tokens[team])
        assert_separate(team, listed)
        assert f"{other}/" not in listed.text
        names = {item["dialog"] for item in listed.json["items"]}
        assert {f"{team}/boss", f"{team}/aide"} <= names
        everything = urlencode({"dialog": [*PARENTS, "c/none", ""]}, doseq=True)
        details = ask(world.server, "GET", f"/api/view/details?{everything}", world.tokens[team])
        assert_separate(team, details)
        assert {item["dialog"] for item in details.json} == {f"{team}/boss", f"{team}/aide"}


def test_parents_and_children_are_the_teams_own(world: World) -> None:
    def related(team: str, dialog: str) -> tuple[Any, Any]:
        path = f"/api/dialogs/{team}%2F{dialog}/view/facts"
        facts = ask(world.server, "GET", path, world.tokens[team]).json
        assert "Started by" not in dict(facts["pairs"])
        parent = facts["parent"] and facts["parent"]["dialog"]
        return parent, [child["dialog"] for child in facts["children"]]

    assert related("a", "boss") == (None, ["a/aide"])
    assert related("a", "aide") == ("a/boss", [])
    assert related("b", "boss") == (None, ["b/aide"])
    assert related("b", "aide") == ("b/boss", [])


def test_storing_what_another_has_looks_like_storing_what_no_one_has(world: World) -> None:
    """No number, header or tag says that a content was there before."""
    path = "/api/dialogs/b%2Foracle"
    guesses = ["nobody has this 1", f"{SECRETS['a']}\n" * 50, "nobody has this 2"]
    shapes = []
    for number, guess in enumerate(guesses):
        body = {"tool_name": "ls", "result": guess}
        target = f"{path}/tool-results/g{number}"
        answer = send(world.server, "PUT", target, body, world.tokens["b"])
        shapes.append((answer.status, sorted(answer.headers), sorted(answer.json)))
    assert shapes[0] == shapes[1] == shapes[2]
    steps = ask(world.server, "GET", f"{path}/steps?head=HEAD", world.tokens["b"]).json["steps"]
    keys = [step["blob_id"] for step in steps if step["blob_id"] is not None]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_deleting_what_both_have_leaves_the_others(world: World) -> None:
    path = "/api/dialogs/b%2Fgone"
    body = {"tool_name": "ls", "result": SHARED}
    left, token = "/api/dialogs/a%2Fleft/tool-results/g", world.tokens["b"]
    assert send(world.server, "PUT", left, body, world.tokens["a"]).status == 200
    assert send(world.server, "PUT", f"{path}/tool-results/g", body, token).status == 200
    assert ask(world.server, "DELETE", path, token).status == 204
    assert ask(world.server, "GET", f"{left}?view=raw", world.tokens["a"]).text == SHARED


def test_an_import_does_not_reach_into_other_dialogs(tmp_path: Path) -> None:
    """Neither by the name of a dialog in the file, nor by a reference to a result of a session
    whose hook stored it."""
    place = tmp_path / "t.db"
    with Tract.open(str(place), dialog="s") as t:
        reference = hook(t)
        t.user("mine")
    token = grant(place, "b", "write", "b/")
    lines = [
        user("u1", None, "hello"),
        said("a1", "u1", "m1", call("t1")),
        user("r1", "a1", [result("t1", reference)]),
        said("a2", "r1", "m2", text("bye")),
    ]
    media = [("Content-Type", "application/octet-stream")]
    with serving(str(place)) as server:

        def send_file(query: str) -> Answer:
            path = f"/api/import?name=s.jsonl{query}"
            return ask(server, "POST", path, token, media, as_lines(*lines))

        assert send_file("&dialog=b%2Fx").status == 200
        stored = ask(server, "GET", "/api/dialogs/b%2Fx/tool-results/t1", token)
        assert stored.json["result"] == reference
        assert LONG[200:] not in stored.text
        existing, unknown = send_file("&dialog=s"), send_file("&dialog=unknown")
        assert existing.status == unknown.status == 404
        assert existing.body.replace(b"'s'", b"'unknown'") == unknown.body
        assert send_file("").status == 404  # the session's own name is not the token's
    with Tract.open(str(place), dialog="s") as t:
        assert [info.preview for info in t.log()] == ["mine"]


def test_agents_reach_only_what_is_the_teams_own(world: World) -> None:
    for team in TEAMS:
        [other] = set(TEAMS) - {team}
        calls: list[tuple[str, dict[str, Any]]] = [
            ("get_tool_result", {"id": f"{other}1"}),
            ("get_tool_result", {"id": "same"}),
            ("search_tool_results", {"text": "the"}),
            ("list_tool_results", {}),
        ]
        for query in ("", f"?dialog={team}%2Fone", f"?dialog={other}%2Fone"):
            for name, arguments in calls:
                assert_separate(team, _call(world, team, query, name, arguments))
            stored = {"id": "x", "tool_name": "ls", "result": "planted"}
            _call(world, team, query, "store_tool_result", stored)
        path = f"/api/dialogs/{other}%2Fone/tool-results/x"
        assert ask(world.server, "GET", path, world.tokens[other]).status == 404 or team == "b"


def _call(world: World, team: str, query: str, name: str, arguments: Any) -> Answer:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    headers = [*JSON, ("Accept", "application/json, text/event-stream")]
    body = json.dumps(message).encode()
    return ask(world.server, "POST", f"/mcp{query}", world.tokens[team], headers, body)


def test_a_batch_shows_the_other_team_nothing(world: World) -> None:
    begun = send(world.server, "POST", "/api/batches", {}, world.tokens["a"]).json["batch"]
    inside = (BATCH, begun)
    for operation in OPERATIONS:
        if operation.name in ("begin", "events", "all_events"):
            continue
        path = dict.fromkeys(operation.path_names, "x")
        path |= {"dialog": "b/one"} if "dialog" in path else {}
        path |= {"batch": begun} if "batch" in path else {}
        answer = carry_out(world, "b", operation, path, dict(operation.example), [inside])
        assert_separate("b", answer)
        if operation.scope != "admin" and operation.name != "hello":
            assert answer.status == 409, operation.name
    target = f"/api/batches/{begun}"
    assert ask(world.server, "DELETE", target, world.tokens["a"]).status == 204
