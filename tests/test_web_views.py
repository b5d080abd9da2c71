"""What a page asks about a dialog, over HTTP."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.asking import ask, grant
from tests.serving import serving
from tests.strategies import texts
from tests.toolkit import claude_tool
from tract import Tract
from tract.model import DialogFacts, Message, Raw, Text, ToolCall
from tract.remote.operations import BY_NAME, SECTIONS
from tract.storage import open_store
from tract.view import parts
from tract.view.blocks import TextBlock, ToolResultBlock
from tract.view.parts import MOST_CHARACTERS, MOST_LINES
from tract.view.sanitize import visible
from tract.web import views
from tract.web.server import Server

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(60))
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": b64encode(PNG).decode()},
}
THOUGHT = {"type": "thinking", "thinking": "first the log\nthen the code", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
HITS = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "hit"}]}
OTHER = {"type": "from_next_year", "payload": {"deep": [1, 2]}}
LARGE = "".join(f"{n}: a line, and Needle {n % 7} {'. ' * 50}\n" for n in range(40_000))
EDIT = {"file_path": "src/a.py", "old_string": "x = 1\n", "new_string": "x = 2\ny = 3\n"}
ORDERS = {"rows": [{"id": n} for n in range(300)], "note": "n" * 30_000}


class Names(NamedTuple):
    """The commits of the dialog that is read."""

    system: str
    ask: str
    work: str
    code: str
    orders: str
    shot: str
    log: str
    done: str


def fill(t: Tract) -> Names:
    """Every kind of block."""
    tools = [claude_tool(name, path="string") for name in ("Edit", "Query", "Shot", "Bash")]
    system = t.system("Be brief.", tools=tools)
    ask = t.user("Fix **x**, please.")
    blocks = [Raw("anthropic", data) for data in (THOUGHT, SEARCH, HITS, OTHER)]
    calls = [
        ToolCall("c-code", "Edit", EDIT),
        ToolCall("c-orders", "Query", {"path": "orders"}),
        ToolCall("c-shot", "Shot", {}),
        ToolCall("c-log", "Bash", {"command": "make"}),
    ]
    text = Text("# Plan\n\n1. *look*\n\n```python\nx = 1\n```\n")
    usage = {"input_tokens": 900, "output_tokens": 20, "cache_read_input_tokens": 600}
    work = t.commit(Message("assistant", (*blocks, text, *calls)), usage=usage)
    code = t.tool_result("c-code", "Edit", "def x():\n    return 2\n")
    orders = t.tool_result("c-orders", "Query", ORDERS)
    shot = t.tool_result("c-shot", "Shot", [{"type": "text", "text": "seen"}, IMAGE])
    log = t.tool_result("c-log", "Bash", LARGE, is_error=True, form="reference")
    done = t.assistant("Done: *x* is 2.")
    commits = (system, ask, work, code, orders, shot, log, done)
    return Names(*(commit.commit_hash for commit in commits))


class Place(NamedTuple):
    """A server for one database, and a client with the token of its start."""

    path: Path
    server: Server
    client: httpx2.Client

    def ask(self, view: str, dialog: str = "work", **params: Any) -> httpx2.Response:
        return self.client.get(f"/api/dialogs/{dialog}/{view}", params=params)

    def get(self, view: str, dialog: str = "work", **params: Any) -> Any:
        answer = self.ask(view, dialog, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(
        self, path: str, dialog: str = "work", headers: dict[str, str] | None = None, **body: Any
    ) -> httpx2.Response:
        return self.client.post(f"/api/dialogs/{dialog}/{path}", json=body, headers=headers)

    def as_reader(self) -> httpx2.Client:
        headers = {"authorization": f"Bearer {grant(self.path, 'reader', 'read')}"}
        return httpx2.Client(base_url=self.server.url, headers=headers)


def opened(path: Path) -> Iterator[Place]:
    with serving(str(path)) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        with httpx2.Client(base_url=server.url, headers=headers) as client:
            yield Place(path, server, client)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Names]:
    path = tmp_path_factory.mktemp("views") / "t.db"
    with Tract.open(path, dialog="work") as t:
        names = fill(t)
        t.branch("try")
        t.session.configure("facts", DialogFacts(title="Fix x", folder="/srv/app", parent="main"))
        t.sibling("main").user("Have x fixed.")
        child = t.sibling("child")
        child.user("Look at x.")
        child.session.configure("facts", DialogFacts(parent="work"))
    return path, names


@pytest.fixture(scope="module")
def place(filled: tuple[Path, Names]) -> Iterator[Place]:
    yield from opened(filled[0])


@pytest.fixture(scope="module")
def names(filled: tuple[Path, Names]) -> Names:
    return filled[1]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Place]:
    """A place that a test may change."""
    with Tract.open(tmp_path / "t.db", dialog="work") as t:
        t.user("One.")
        call = {"id": "c", "name": "Bash", "arguments": {"command": "ls"}}
        t.assistant("Two.", tool_calls=[call])
        t.tool_result("c", "Bash", "a line\n" * 500)
        t.assistant("Three.")
    yield from opened(tmp_path / "t.db")


def block_of(place: Place, commit: str, kind: str, name: str = "") -> int:
    """The number of a block in its message."""
    [row] = [row for row in place.get("view/rows")["rows"] if row["key"] == commit]
    entries = [e for e in row["entries"] if e["kind"] == kind and e.get("name", "") == name]
    return int(entries[0].get("block", 0))


def text_in(nodes: Any) -> str:
    """The letters of nodes: an element is a list of its tag, children, style and attributes."""
    if isinstance(nodes, str):
        return nodes
    children = nodes if not nodes or not isinstance(nodes[0], str) else nodes[1]
    return "".join(_inside(node) for node in children)


def _inside(node: Any) -> str:
    return node if isinstance(node, str) else "".join(map(_inside, node[1]))


def tags_in(nodes: Any) -> set[str]:
    found = set()
    for node in nodes:
        if not isinstance(node, str):
            found |= {node[0], *tags_in(node[1])}
    return found


# A dialog


def test_a_page_begins_with_the_first_rows(place: Place, names: Names) -> None:
    view = place.get("view")
    assert (view["dialog"], view["label"], view["branch"]) == ("work", "work: Fix x", "main")
    assert (view["head"], view["checked_out"], view["detached"]) == (names.done, "main", False)
    assert set(view["branches"]) == {"main", "try"}
    assert (view["is_writable"], view["start"], view["spot"]) == (True, 0, None)
    assert [row.get("kind", "message") for row in view["rows"]] == ["tools", *["message"] * 4]
    assert view["total"] == 5
    assert "strong" not in tags_in(view["rows"][2]["entries"][0]["nodes"])
    assert "em" in tags_in(view["rows"][4]["entries"][0]["nodes"])


def test_a_token_that_only_reads_is_told_so(place: Place) -> None:
    with place.as_reader() as reader:
        assert reader.get("/api/dialogs/work/view").json()["is_writable"] is False


def test_a_link_leads_to_a_message_a_result_or_a_call(place: Place, names: Names) -> None:
    spots = [
        ({"commit": names.done}, (4, names.done)),
        ({"commit": names.done[:9]}, (4, names.done)),
        ({"commit": names.log}, (3, names.log)),
        ({"call": "c-log"}, (3, names.work)),
    ]
    for params, spot in spots:
        assert tuple(place.get("view", **params)["spot"].values()) == spot
    for params in ({"commit": "f" * 64}, {"commit": ""}, {"call": "none"}, {"call": ""}):
        assert place.get("view", **params)["spot"] is None


def test_the_rows_around_a_spot_come_first(tmp_path: Path) -> None:
    with Tract.open(tmp_path / "t.db", dialog="work") as t:
        commits = [t.user(f"message {number}").commit_hash for number in range(100)]
    for place in opened(tmp_path / "t.db"):
        for count, start in ((75, 25), (30, 50), (25, 50), (5, 53)):
            view = place.get("view", commit=commits[57], count=count)
            keys = [row["key"] for row in view["rows"]]
            assert (view["total"], view["spot"]["row"], view["start"]) == (100, 57, start)
            assert keys == commits[start : start + count]
            assert commits[57] in keys


def test_a_dialog_is_shown_as_it_was(place: Place, names: Names) -> None:
    view = place.get("view", at=names.ask)
    assert (view["head"], view["detached"], view["total"]) == (names.ask, True, 3)
    assert place.get("view/rows", at=names.ask[:10])["head"] == names.ask
    assert place.get("view", at="HEAD")["head"] == names.done
    assert place.get("view", at="try")["head"] == names.done


def test_rows_come_in_parts(place: Place) -> None:
    whole = place.get("view/rows")
    assert (whole["start"], whole["total"], "prompts" in whole) == (0, 5, False)
    parts = [place.get("view/rows", start=n, count=2)["rows"] for n in (0, 2, 4, 6, 10**15)]
    assert [row for part in parts for row in part] == whole["rows"]
    assert place.get("view/rows", nodes=True)["rows"] == place.get("view")["rows"]


def test_what_is_new_comes_alone(own: Place) -> None:
    before = own.get("view")
    new = own.post("messages/user", text="Four?").json()["commit_hash"]
    news = own.get("view/rows", known=before["head"])
    assert (news["head"], news["start"], news["total"]) == (new, before["total"], 4)
    assert [row["key"] for row in news["rows"]] == [new]
    assert [prompt["title"] for prompt in news["prompts"]] == ["One.", "Four?"]
    nothing = own.get("view/rows", known=new)
    assert (nothing["rows"], nothing["head"]) == ([], new)
    for unknown in ("0", "f" * 64, "x"):
        assert own.get("view/rows", known=unknown)["start"] == 0


def test_facts_name_parents_children_files_and_tools(place: Place) -> None:
    facts = place.get("view/facts")
    pairs = dict(facts["pairs"])
    assert (pairs["Folder"], pairs["Messages"], pairs["Calls"]) == ("/srv/app", "8", "4, 1 failed")
    assert facts["files"] == ["src/a.py"]
    assert facts["tools"] == {"Edit": 1, "Query": 1, "Shot": 1, "Bash": 1}
    assert facts["parent"] == {"dialog": "main", "label": "main: Have x fixed."}
    assert [child["dialog"] for child in facts["children"]] == ["child"]
    assert place.get("view/facts", "main")["parent"] is None
    assert place.get("view/facts", "child")["parent"] == {"dialog": "work", "label": "work: Fix x"}


def test_the_chart_has_a_request_for_each_answer(place: Place, names: Names) -> None:
    chart = place.get("view/chart")
    assert [request["commit"] for request in chart["requests"]] == [names.work, names.done]
    assert chart["requests"][0]["recorded"]["cached"] == 600
    assert {part["kind"] for part in chart["parts"]} >= {"tools", "results", "text"}
    assert len(place.get("view/chart", at=names.work)["requests"]) == 1


def test_tools_are_those_at_a_message(place: Place, names: Names) -> None:
    tools = place.get("view/tools", commit=names.ask)
    assert [tool["name"] for tool in tools["tools"]] == ["Edit", "Query", "Shot", "Bash"]
    assert (tools["number"], tools["sets"], tools["commit"]) == (1, 1, names.system)
    assert place.ask("view/tools", commit="f" * 64).status_code == 404
    assert place.get("view/tools", "main")["tools"] == []


# Bodies


def body_of(place: Place, commit: str, block: int = 0, **more: Any) -> Any:
    return place.get("view/body", commit=commit, block=block, **more)


def test_a_text_is_drawn_as_its_role_is(place: Place, names: Names) -> None:
    asked = body_of(place, names.ask)
    assert (text_in(asked["nodes"]), asked["is_editable"]) == ("Fix **x**, please.", True)
    answer = body_of(place, names.work, block_of(place, names.work, "text"))
    assert {"ol", "em", "pre"} <= tags_in(answer["nodes"])
    assert answer["is_editable"]


def test_a_thought_is_open_and_stays(place: Place, names: Names) -> None:
    body = body_of(place, names.work, block_of(place, names.work, "thinking"))
    assert "then the code" in text_in(body["nodes"])
    assert body.get("is_editable", False) is False


def test_a_call_has_its_arguments_and_its_diff(place: Place, names: Names) -> None:
    body = body_of(place, names.work, block_of(place, names.work, "call", "Edit"))
    text = text_in(body["nodes"])
    assert ("src/a.py" in text, "x = 2" in text, "old_string" in text) == (True, True, False)
    assert (body["is_editable"], body["is_json"]) == (True, True)
    plain = body_of(place, names.work, block_of(place, names.work, "call", "Query"))
    assert "orders" in text_in(plain["nodes"])


def test_what_the_provider_ran_is_shown_and_stays(place: Place, names: Names) -> None:
    call = body_of(place, names.work, block_of(place, names.work, "call", "web_search"))
    result = body_of(place, names.work, block_of(place, names.work, "result", "web_search"))
    assert "query" in text_in(call["nodes"])
    assert "hit" in lines_text(result)
    for body in (call, result):
        assert body.get("is_editable", False) is False


def test_what_is_unknown_is_a_tree(place: Place, names: Names) -> None:
    body = body_of(place, names.work, block_of(place, names.work, "other"))
    assert (body["is_json"], body.get("is_editable", False)) == (True, False)


def lines_text(body: Any) -> str:
    lines = body["lines"]
    text = "".join(
        "\n" * (not line["column"]) + "".join(piece for piece, _ in line["pieces"])
        for line in lines
    )
    return text.removeprefix("\n")


def test_a_result_is_lines_with_numbers(place: Place, names: Names) -> None:
    body = body_of(place, names.code)
    assert lines_text(body) == "def x():\n    return 2"
    assert ([line["number"] for line in body["lines"]], body["total"]) == ([1, 2], 2)
    assert (body.get("nodes"), body["is_editable"]) == (None, True)


def test_a_result_that_is_json_is_a_tree(place: Place, names: Names) -> None:
    assert body_of(place, names.orders)["is_json"] is True
    assert body_of(place, names.code).get("is_json", False) is False


def test_a_result_of_megabytes_comes_in_parts(place: Place, names: Names) -> None:
    at: tuple[int, int] | None = (1, 0)
    parts = []
    while at is not None:
        body = body_of(place, names.log, line=at[0], column=at[1])
        assert len(body["lines"]) <= MOST_LINES
        assert (body["total"], body["lines"][0]["number"]) == (40_000, at[0])
        parts.append(lines_text(body))
        at = body.get("next")
    assert "\n".join(parts) + "\n" == LARGE
    assert all(len(part) < MOST_CHARACTERS + 5000 for part in parts)


def test_what_is_sent_of_a_result_is_a_body_too(place: Place, names: Names) -> None:
    body = body_of(place, names.log, sent=True)
    assert "get_tool_result" in lines_text(body)
    assert body["total"] < 1000
    assert body.get("is_editable", False) is False


@pytest.mark.parametrize(
    "text", ["0123 45\n" * 100_000, "word " * 100_000, "x" * 300_000, "\n" * 200_000]
)
def test_a_long_text_comes_in_parts_whatever_is_in_it(own: Place, text: str) -> None:
    for path in ("user", "assistant"):
        commit = own.post(f"messages/{path}", text=text).json()["commit_hash"]
        body = body_of(own, commit)
        assert body.get("nodes") is None
        assert body["next"] is not None
        assert sum(len(piece) for line in body["lines"] for piece, _ in line["pieces"]) < 70_000


def test_a_body_is_read_where_the_page_is(own: Place) -> None:
    """At an older commit, a message is what it was then."""
    first = own.get("view")["rows"][0]["key"]
    edit = own.post("messages/user", text="Uno.", edit=first).json()["commit_hash"]
    assert text_in(body_of(own, first)["nodes"]) == "Uno."
    assert text_in(body_of(own, first, at=first)["nodes"]) == "One."
    assert own.ask("view/body", commit=edit, at=first).status_code == 404


code_lines = st.sampled_from(
    [
        "```python",
        "```",
        "~~~",
        "",
        " ",
        "x = 'y'",
        "  1\t# a",
        "{",
        "\r",
        "\x0b",
        "\u2028",
        "<b>\ud800",
    ]
)
code_texts = st.lists(code_lines | texts, max_size=12).map("\n".join)
code_blocks = st.builds(TextBlock, text=code_texts, role=st.sampled_from(["user", "assistant"])) | (
    st.builds(
        ToolResultBlock,
        text=code_texts,
        tool_name=st.sampled_from(["Read", "Bash", ""]),
        detail=st.sampled_from(["x.py", "x.json", "x.md", "git diff", ""]),
    )
)


@given(code_blocks, st.integers(1, 3))
def test_lines_have_all_of_their_text_in_any_colours(block: Any, line: int) -> None:
    begin = parts.Place(line)
    body = views.body_lines(block, begin)
    part = parts.part_of(block.text, begin)
    shown = [(each.number, "".join(text for text, _ in each.pieces)) for each in body.lines or ()]
    assert shown == [(each.number, visible(each.text)) for each in part.lines]


def test_code_that_was_read_has_colours(own: Place) -> None:
    call = {"id": "r", "name": "Read", "arguments": {"file_path": "x.py"}}
    own.post("messages/assistant", text="", tool_calls=[call])
    code = "def x():\n    return 'y'\n"
    result = own.post("tool-results", tool_call_id="r", name="Read", content=code)
    body = body_of(own, result.json()["commit_hash"])
    assert lines_text(body) + "\n" == code
    assert len({style for line in body["lines"] for _, style in line["pieces"]}) > 1


@pytest.mark.parametrize(
    "text", ["a\x0bb\x0cc\x1cd\x85e\u2028f\rg\r\nh", "\r", "\n", "", "\x1b[31m"]
)
@pytest.mark.parametrize("name", ["x.py", "x.md", "x.json", "none"])
def test_any_line_breaks_are_lines(own: Place, text: str, name: str) -> None:
    call = {"id": "r", "name": "Read", "arguments": {"file_path": name}}
    own.post("messages/assistant", text="", tool_calls=[call])
    result = own.post("tool-results", tool_call_id="r", name="Read", content=text * 3)
    commit = result.json()["commit_hash"]
    shown = body_of(own, commit)
    assert len(shown["lines"] or ()) == shown.get("total", 0)
    assert own.get("view/text", commit=commit)["text"] == text * 3


# Pictures


def test_a_picture_is_an_image_that_the_page_asks_for(place: Place, names: Names) -> None:
    [image] = body_of(place, names.shot)["nodes"]
    assert (image[0], image[3]["picture"]) == ("img", "0")
    answer = place.ask("view/picture", commit=names.shot)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.content == PNG
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("number", [-1, 1, 10**12])
def test_a_picture_that_is_not_there_is_not_found(place: Place, names: Names, number: int) -> None:
    answer = place.ask("view/picture", commit=names.shot, number=number)
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:tract:NotFoundError")
    assert place.ask("view/picture", commit=names.ask).status_code == 404


def test_what_is_not_an_image_is_not_sent_as_one(own: Place) -> None:
    html = b64encode(b"<script>alert(1)</script>" * 5).decode()
    for data in (html, "A" * 101, b64encode(PNG).decode() + "!"):
        image = {**IMAGE, "source": {**IMAGE["source"], "data": data}}  # type: ignore[dict-item]
        commit = own.post("messages", content={"role": "user", "content": [image]})
        asked = own.ask("view/picture", commit=commit.json()["commit_hash"])
        assert asked.status_code == 404


# Finding


def find(place: Place, text: str, **params: Any) -> list[dict[str, Any]]:
    """All matches, however many requests they take."""
    matches: list[dict[str, Any]] = []
    start: int | None = 0
    while start is not None:
        part = place.get("view/find", text=text, start=start, **params)
        matches += part["matches"]
        assert part["next"] is None or part["next"] > start
        start = part["next"]
    return matches


def test_a_text_is_found_in_everything_that_is_folded(place: Place, names: Names) -> None:
    places = {
        "FIX **X**": [names.ask],
        "then the code": [names.work],
        "old_string": [names.work],
        "deep": [names.work],
        "return 2": [names.code],
        "Be brief": [names.system],
        "nowhere at all": [],
    }
    for text, keys in places.items():
        assert [match["key"] for match in find(place, text)] == keys, text


def test_matches_are_counted_with_their_places(place: Place, names: Names) -> None:
    [match] = find(place, "needle 3")
    assert (match["row"], match["key"], match["block"]) == (3, names.log, 0)
    assert match["count"] == LARGE.count("Needle 3")
    first = next(n for n, line in enumerate(LARGE.split("\n"), 1) if "Needle 3" in line)
    column = LARGE.split("\n")[first - 1].index("Needle 3")
    assert (match["line"], match["spots"][0]) == (first, [first, column])
    assert len(match["spots"]) == views.MOST_SPOTS


def test_what_is_sent_is_searched_as_it_is_sent(place: Place) -> None:
    [match] = find(place, "get_tool_result", sent=True)
    assert match["row"] == 3
    assert find(place, "get_tool_result") == []


def test_finding_takes_a_moment_at_a_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = find(place, "x")
    monkeypatch.setattr(views, "FINDING_SECONDS", -1)
    first = place.get("view/find", text="x")
    assert (first["next"], first["total"]) == (1, 5)
    assert find(place, "x") == at_once


# JSON


def test_a_tree_is_opened_level_by_level(place: Place, names: Names) -> None:
    top = place.get("view/tree", commit=names.orders)
    assert top["kind"] == "object"
    assert [child["key"] for child in top["children"]] == ["rows", "note"]
    rows = place.get("view/tree", commit=names.orders, path='["rows"]')
    assert (rows["size"], rows["end"]) == (300, views.MOST_CHILDREN)
    rest = place.get("view/tree", commit=names.orders, path='["rows"]', start=rows["end"])
    assert [child["key"] for child in rest["children"]] == list(range(200, 300))
    assert place.get("view/tree", commit=names.orders, path='["rows", 7, "id"]')["text"] == "7"
    note = place.get("view/tree", commit=names.orders, path='["note"]')
    assert (len(note["text"]), note["size"]) == (views.MOST_CHARACTERS, 30_000)


@pytest.mark.parametrize(
    "path",
    [
        *("", "x", "{}", "1", '"rows"', "[null]", "[true]", "[1.5]", "[[]]", '["none"]'),
        *('["rows", -1]', '["rows", 300]', '["rows", "0"]', '["\\ud800"]', "[" * 5000, "[1e400]"),
    ],
)
def test_a_path_that_leads_nowhere_is_said(place: Place, names: Names, path: str) -> None:
    answer = place.ask("view/tree", commit=names.orders, path=path)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:tract:InputError")


# Texts


def test_a_text_is_copied_as_it_was_written(place: Place, names: Names) -> None:
    assert place.get("view/text", commit=names.ask)["text"] == "Fix **x**, please."
    assert place.get("view/text", commit=names.log)["text"] == LARGE
    call = block_of(place, names.work, "call", "Edit")
    text = place.get("view/text", commit=names.work, block=call)["text"]
    assert json.loads(text) == EDIT
    assert json.loads(place.get("view/text", commit=names.orders)["text"]) == ORDERS


# Editing


def test_a_block_is_edited_as_a_text(own: Place) -> None:
    row = own.get("view")["rows"][1]
    call = block_of(own, row["key"], "call", "Bash")
    text = own.get("view/text", commit=row["key"], block=call)
    assert text["commit"] == row["key"]
    new = text["text"].replace("ls", "ls -l")
    edited = own.post("reword", commit=row["key"], block=call, text=new, message="why")
    assert edited.status_code == 200
    assert (edited.json()["operation"], edited.json()["message"]) == ("edit", "why")
    with Tract.open(own.path, dialog="work") as t:
        [tool_call] = t.compile().messages[1].tool_calls
        assert tool_call.arguments == {"command": "ls -l"}
        assert t.compile().messages[1].text == "Two."


def test_an_edit_of_an_older_version_is_a_conflict(own: Place) -> None:
    first = own.get("view")["rows"][0]["key"]
    second = own.post("reword", commit=first, text="Uno.").json()["commit_hash"]
    late = own.post("reword", commit=first, text="Eins.")
    assert (late.status_code, late.json()["type"]) == (409, "urn:tract:ConflictError")
    assert own.post("reword", commit=second, text="Eins.").status_code == 200


@pytest.mark.parametrize("text", ["not JSON", "", "NaN", "[" * 2000, "1" * 5000])
def test_what_was_json_must_stay_json(own: Place, text: str) -> None:
    head = own.get("view")["head"]
    row = own.get("view")["rows"][1]["key"]
    answer = own.post("reword", commit=row, block=1, text=text)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:tract:InputError")
    assert own.get("view")["head"] == head


@pytest.mark.parametrize("text", ["5", "null", "[1]", '"x"', '{"a": {"b": null}}'])
def test_any_json_makes_requests_that_are_accepted(own: Place, text: str) -> None:
    row = own.get("view")["rows"][1]["key"]
    if own.post("reword", commit=row, block=1, text=text).status_code == 200:
        for provider in ("anthropic", "openai", "responses", "gemini"):
            assert own.get("context", provider=provider)["request"]
        assert own.get("view/rows", nodes=True)["rows"]


def test_a_text_may_have_any_characters(own: Place) -> None:
    first = own.get("view")["rows"][0]["key"]
    headers = {"content-type": "application/json"}
    body = json.dumps({"commit": first, "text": "\0 \ud800 \u202e"}).encode()
    answer = own.client.post("/api/dialogs/work/reword", content=body, headers=headers)
    edit = answer.json()["commit_hash"]
    text = json.loads(own.ask("view/text", commit=edit).content)["text"]
    assert text == "\0 \ud800 \u202e"


# What a change would do


def state(place: Place) -> Any:
    """All that a write would change."""
    store = open_store(str(place.path))
    try:
        return store.driver.run("SELECT count(*) FROM commits"), store.heads()
    finally:
        store.close()


def previews(place: Place) -> list[tuple[str, dict[str, Any]]]:
    rows = place.get("view")["rows"]
    user, call, _ = (row["key"] for row in rows)
    result = rows[1]["entries"][1]["result"]["key"]
    return [
        ("reshape", {"forms": {result: "reference"}}),
        ("reshape", {"forms": {result: "collapsed"}}),
        ("annotate", {"commit": user, "priority": "skip"}),
        ("annotate", {"commit": "HEAD", "priority": "pinned"}),
        ("compress", {"commits": [user, call, result], "content": "in short"}),
        ("compress_tool_calls", {}),
        ("reword", {"commit": user, "text": "Something else entirely."}),
        ("reword", {"commit": result, "text": "short"}),
        ("user", {"text": "More."}),
        ("set_tools", {"tools": [claude_tool("Read", path="string")]}),
        ("branch", {"name": "new"}),
        ("record", {"messages": [{"role": "user", "content": "One."}]}),
        ("drop_failed_tool_turns", {}),
    ]


@pytest.mark.parametrize("number", range(13))
def test_a_preview_says_what_the_change_does_and_leaves_nothing(own: Place, number: int) -> None:
    operation, arguments = previews(own)[number]
    watcher = open_store(str(own.path))
    before, stamp = state(own), watcher.driver.stamp()
    preview = own.post("preview", operation=operation, arguments=arguments)
    assert preview.status_code == 200, preview.text
    assert (state(own), watcher.driver.stamp()) == (before, stamp)
    watcher.close()
    assert own.client.get("/api/audit").json()["items"] == []
    assert own.client.post("/api/fsck", json={}).json()["problems"] == []
    assert preview.json()["before"] == own.get("context")["token_count"]
    route = BY_NAME[operation]
    done = own.client.request(route.verb, route.path.format(dialog="work"), json=arguments)
    assert done.status_code in (200, 204), done.text
    assert own.get("context")["token_count"] == preview.json()["after"]
    assert own.client.post("/api/fsck", json={}).json()["problems"] == []


NO_CHANGES = (
    *("", "none", "view_page", "forget", "delete_dialog", "push", "describe", "preview_change"),
    *("store_result", "delete_branch", "close", "__class__", "session", "batch", "\ud800"),
)


def test_a_change_that_is_refused_is_refused_in_the_preview(own: Place) -> None:
    user = own.get("view")["rows"][0]["key"]
    refused = [
        ("annotate", {"commit": "f" * 64, "priority": "skip"}, 404),
        ("annotate", {"commit": user, "priority": "none"}, 422),
        ("annotate", {}, 422),
        ("compress", {"commits": []}, 422),
        ("reword", {"commit": user, "text": "x", "block": 7}, 422),
        *((name, {}, 422) for name in NO_CHANGES),
    ]
    before = state(own)
    for operation, arguments, status in refused:
        body = json.dumps({"operation": operation, "arguments": arguments}).encode()
        headers = {"content-type": "application/json"}
        answer = own.client.post("/api/dialogs/work/preview", content=body, headers=headers)
        assert answer.status_code == status, (operation, answer.text)
        assert answer.json()["type"].startswith("urn:tract:")
    assert state(own) == before


def test_a_preview_is_of_what_the_page_shows(own: Place) -> None:
    """Of another branch, or of one that a batch has not ended."""
    own.post("branches", name="try")
    own.post("messages/user", text="Only on main.")
    headers = {"tract-branch": "try"}
    on_try = own.post("preview", headers=headers, operation="user", arguments={"text": "x"}).json()
    on_main = own.post("preview", operation="user", arguments={"text": "x"}).json()
    assert on_main["messages_before"] == on_try["messages_before"] + 1
    batch = own.client.post("/api/batches", json={}).json()["batch"]
    inside = {"tract-batch": batch}
    own.post("messages/user", headers=inside, text="Not yet.")
    preview = own.post("preview", headers=inside, operation="user", arguments={"text": "x"}).json()
    assert preview["messages_before"] == on_main["messages_before"] + 1
    assert own.client.post(f"/api/batches/{batch}", json={}).status_code == 204
    with Tract.open(own.path, dialog="work") as t:
        assert next(iter(t.log())).preview == "Not yet."


def test_a_token_that_only_reads_cannot_try_changes(own: Place) -> None:
    user = own.get("view")["rows"][0]["key"]
    with own.as_reader() as reader:
        for path, body in (
            ("reword", {"commit": user, "text": "x"}),
            ("preview", {"operation": "user", "arguments": {"text": "x"}}),
        ):
            answer = reader.post(f"/api/dialogs/work/{path}", json=body)
            assert (answer.status_code, answer.json()["type"]) == (403, "urn:tract:AccessError")


# What the page expects


def test_a_change_of_what_has_changed_is_a_conflict(own: Place) -> None:
    head = own.get("view")["head"]
    expected = {"tract-expected": head}
    assert own.post("messages/user", headers=expected, text="Mine.").status_code == 200
    before = state(own)
    for path, body in (
        ("messages/user", {"text": "Late."}),
        ("marks", {"commit": "HEAD", "priority": "pinned"}),
        ("reword", {"commit": own.get("view")["rows"][0]["key"], "text": "x"}),
        ("branches", {"name": "new"}),
    ):
        late = own.post(path, headers=expected, **body)
        assert (late.status_code, late.json()["type"]) == (409, "urn:tract:ConflictError"), path
    assert state(own) == before
    assert own.post("messages/user", text="Whatever is there.").status_code == 200


def test_a_dialog_that_is_to_be_new_is_expected_to_be_empty(own: Place) -> None:
    empty = {"tract-expected": ""}
    assert own.post("messages/user", "new", headers=empty, text="First.").status_code == 200
    assert own.post("messages/user", "new", headers=empty, text="First.").status_code == 409
    assert own.post("messages/user", headers=empty, text="x").status_code == 409


def test_a_repeated_request_expects_what_it_did_the_first_time(own: Place) -> None:
    headers = {"tract-expected": own.get("view")["head"], "idempotency-key": "k"}
    first, again = (own.post("messages/user", headers=headers, text="Once.") for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.content == again.content


# The list


def test_the_list_has_all_dialogs_newest_first(own: Place) -> None:
    own.post("messages/user", "later", text="x")
    rows = own.client.get("/api/view/dialogs").json()["items"]
    assert [row["dialog"] for row in rows] == ["later", "work"]
    first = own.client.get("/api/view/dialogs", params={"limit": 1}).json()
    assert [row["dialog"] for row in first["items"]] == ["later"]
    rest = own.client.get("/api/view/dialogs", params={"cursor": first["next"]}).json()
    assert ([row["dialog"] for row in rest["items"]], rest["next"]) == (["work"], None)


def test_details_are_of_dialogs_that_are_there(place: Place) -> None:
    def details(*dialogs: str) -> httpx2.Response:
        return place.client.get("/api/view/details", params={"dialog": dialogs})

    [work] = details("work", "gone", "work").json()
    assert (work["dialog"], work["messages"], work["sent"], work["cached"]) == ("work", 8, 1500, 40)
    assert details("gone").json() == []
    assert details(*map(str, range(101))).status_code == 422
    assert place.client.get("/api/view/details").status_code == 422


def test_details_are_read_again_after_a_change(own: Place) -> None:
    def messages() -> int:
        [row] = own.client.get("/api/view/details", params={"dialog": "work"}).json()
        return int(row["messages"])

    before = messages()
    own.post("messages/user", text="x")
    assert messages() == before + 1


# Compression


def test_a_large_answer_is_compressed(place: Place, names: Names) -> None:
    def answer(path: str, coding: str) -> httpx2.Response:
        url, params = f"/api/dialogs/work/{path}", {"commit": names.log}
        return place.client.get(url, params=params, headers={"accept-encoding": coding})

    plain, packed = answer("view/body", "identity"), answer("view/body", "gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "accept-encoding"
    assert int(packed.headers["content-length"]) * 3 < int(plain.headers["content-length"])
    assert packed.json() == plain.json()
    assert "content-encoding" not in plain.headers
    small = place.client.get("/api/dialogs/work/view/facts", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in small.headers
    assert gzip.decompress(gzip.compress(plain.content)) == plain.content


# Hostile requests

BLOCKS = ("view/body", "view/text", "view/picture", "view/tree")
HASHES = ("", "f" * 64, "F" * 64, "g" * 64, "..", "a/b", "%00", "\0", "HEAD", "main", "0" * 63)


@pytest.mark.parametrize("view", BLOCKS)
@pytest.mark.parametrize("commit", HASHES)
def test_a_message_that_is_not_there_is_said(place: Place, view: str, commit: str) -> None:
    answer = place.ask(view, commit=commit)
    assert answer.status_code in (404, 422)
    assert answer.json()["type"].startswith("urn:tract:")


@pytest.mark.parametrize("view", BLOCKS)
@pytest.mark.parametrize("block", [-1, 99, 10**12, 2**63, 10**30, "x", "", "1.5"])
def test_a_block_that_is_not_there_is_said(
    place: Place, names: Names, view: str, block: Any
) -> None:
    answer = place.ask(view, commit=names.work, block=block)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:tract:InputError")


@pytest.mark.parametrize(
    ("view", "params"),
    [
        ("view", {"count": 0}),
        ("view", {"count": 1001}),
        ("view", {"count": -1}),
        ("view/rows", {"count": 0}),
        ("view/rows", {"count": 10**12}),
        ("view/rows", {"start": -1}),
        ("view/rows", {"nodes": "maybe"}),
        ("view/find", {"text": ""}),
        ("view/find", {}),
        ("view/find", {"text": "x", "start": -1}),
        ("view/body", {"line": 0}),
        ("view/body", {"line": -5}),
        ("view/body", {"column": -1}),
        ("view/tree", {"start": -1}),
        ("view/graph", {"limit": 0}),
        ("view/graph", {"cursor": "x"}),
        ("view", {"unknown": "x"}),
    ],
)
def test_a_number_out_of_range_is_refused(
    place: Place, names: Names, view: str, params: dict[str, Any]
) -> None:
    about = {"commit": names.orders} if view in BLOCKS else {}
    answer = place.ask(view, **about, **params)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:tract:InputError")


def test_what_is_beyond_the_end_is_nothing(place: Place, names: Names) -> None:
    for number in (10**12, 2**63, 10**30):
        assert place.get("view/rows", start=number)["rows"] == []
        beyond = body_of(place, names.code, line=number)
        assert (beyond["lines"], beyond["total"]) == ([], 2)
    beyond = place.get("view/find", text="x", start=10**12)
    assert (beyond["matches"], beyond["next"], beyond["total"]) == ([], None, 5)
    tree = place.get("view/tree", commit=names.orders, path='["rows"]', start=10**12)
    assert (tree["children"], tree["start"]) == ([], 300)


BAD_NAMES = ["%00", "..", "%2e%2e", "%ED%A0%80", "%FF", "a%2F..%2Fb", "-x", ""]
VIEWS = [o for o in SECTIONS["Views"] if o.is_read and "{dialog}" in o.path]


@pytest.mark.parametrize("operation", VIEWS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_dialog_that_cannot_be_is_not_found(place: Place, operation: Any, name: str) -> None:
    target = f"{operation.path.replace('{dialog}', name)}?{urlencode(operation.example)}"
    answer = ask(place.server, "GET", target, place.server.token)
    assert (answer.status, answer.json["type"]) == (404, "urn:tract:DialogNotFoundError")


@pytest.mark.parametrize("operation", VIEWS, ids=lambda operation: operation.name)
def test_any_text_for_a_parameter_is_no_harm(place: Place, names: Names, operation: Any) -> None:
    for text in ("%00", "%ED%A0%80", "%FF", "..%2F..", "%E2%80%AE", "x" * 3000, "^", "HEAD%5E%5E"):
        for name in operation.params.__struct_fields__:
            required = {**operation.example, "commit": names.work}
            pairs = [f"{key}={value}" for key, value in required.items() if key != name]
            fields = set(operation.params.__struct_fields__)
            kept = [pair for pair in pairs if pair.partition("=")[0] in fields]
            path = operation.path.replace("{dialog}", "work")
            answer = place.client.get(f"{path}?{'&'.join([*kept, f'{name}={text}'])}")
            assert answer.status_code in (200, 404, 422), (name, text, answer.text)


def test_ids_may_be_anything(tmp_path: Path) -> None:
    ids = ["\ud800", "\0", "..", "a/b", "a b", "ä", "x" * 2000]
    with Tract.open(tmp_path / "t.db", dialog="work") as t:
        for call_id in ids:
            t.assistant("", tool_calls=[{"id": call_id, "name": "Bash", "arguments": {}}])
            t.tool_result(call_id, "Bash", "done")
    for place in opened(tmp_path / "t.db"):
        rows = json.loads(place.ask("view/rows").content)["rows"]
        assert [row["entries"][0]["id"] for row in rows] == ids
        for number, call_id in enumerate(ids):
            quoted = "".join(f"%{byte:02X}" for byte in call_id.encode("utf-8", "surrogatepass"))
            spot = place.client.get(f"/api/dialogs/work/view?call={quoted}").json()["spot"]
            assert spot["row"] == number


def test_a_dialog_without_messages_can_be_looked_at(own: Place) -> None:
    with Tract.open(own.path, dialog="empty") as t:
        t.configure_results()
    view = own.get("view", "empty")
    assert (view["head"], view["total"], view["rows"]) == (None, 0, [])
    assert own.get("view/rows", "empty", known="0")["prompts"] == []
    for path in ("view/facts", "view/chart", "view/tools", "view/graph"):
        own.get(path, "empty")
    assert own.get("view/find", "empty", text="x")["total"] == 0


def test_a_dialog_that_is_deleted_is_gone(own: Place) -> None:
    own.get("view")
    assert own.client.delete("/api/dialogs/work").status_code == 204
    assert own.ask("view").status_code == 404
    own.post("messages/user", text="again")
    assert own.get("view")["total"] == 1


def test_what_is_forgotten_is_in_no_view(own: Place) -> None:
    commit = own.post("messages/user", text="the password is hunter2").json()["commit_hash"]
    params = {"commit": commit}
    paths = ("view", "view/rows", "view/facts", "view/body", "view/text", "view/request")
    for path in paths:
        own.ask(path, **(params if path in BLOCKS else {}))
    assert own.post("forget", commit=commit).status_code == 200
    for path in (*paths, "view/chart", "view/graph"):
        answer = own.ask(path, **(params if path in BLOCKS else {}))
        assert "hunter2" not in answer.text
        assert answer.status_code < 500
    assert find(own, "hunter2") == []
