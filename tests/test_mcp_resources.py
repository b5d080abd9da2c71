"""Results as resources."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mcp_clients import opener, scope, turn
from tract import InputError, NotFoundError
from tract.mcp.resources import MOST_CHARS, PAGE, list_resources, names_in, read_resource, uri_of

NAMES = st.text(st.characters(), min_size=1)


@given(NAMES, NAMES)
def test_an_address_has_any_name(dialog: str, result_id: str) -> None:
    uri = uri_of(dialog, result_id)
    assert uri.isascii()
    assert uri.isprintable()
    assert uri.count("/") == 4
    assert names_in(uri) == (dialog, result_id)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "tract://d",
        "tract://d/results/",
        "tract:///results/c",
        "tract://d/results/a/b",
        "file:///results/c",
        "tract://d/other/c",
        "tract://d/results/%ff",
    ],
)
def test_another_address_is_refused(uri: str) -> None:
    with pytest.raises(InputError):
        names_in(uri)


def test_pages_have_every_result_once(tmp_path: Path) -> None:
    dialogs = opener(tmp_path / "t.db")
    t = dialogs("my dialog/1", create=True)
    with t.batch():
        for number in range(2 * PAGE + 1):
            turn(t, f"c/{number}", f"text {number}")
    own = scope(dialogs, "my dialog/1")
    uris: list[str] = []
    cursor = None
    while True:
        page, cursor = list_resources(own, cursor)
        assert len(page) <= PAGE
        uris += [resource.uri for resource in page]
        if cursor is None:
            break
    assert len(set(uris)) == 2 * PAGE + 1
    assert uris[0] == "tract://my%20dialog%2F1/results/c%2F200"
    assert page[0].name == "Bash c/0"
    assert page[0].description == "Bash: run c/0"
    assert page[0].size == len("text 0")
    assert read_resource(own, uris[-1]) == "text 0"
    for bad in ("-1", "x", "9" * 20, "٣"):
        with pytest.raises(InputError, match="not a cursor"):
            list_resources(own, bad)
    dialogs.close()


def test_a_long_result_ends_with_a_line_that_says_so(tmp_path: Path) -> None:
    dialogs = opener(tmp_path / "t.db")
    turn(dialogs("d", create=True), "c", "x" * (MOST_CHARS + 5))
    text = read_resource(scope(dialogs, "d"), uri_of("d", "c"))
    body, _, last = text.rpartition("\n")
    assert body == "x" * MOST_CHARS
    assert last == (
        '[5 characters not shown; call get_tool_result(id="c", offset=1000000) for the next]'
    )
    dialogs.close()


def test_a_resource_of_another_dialog_is_not_there(tmp_path: Path) -> None:
    dialogs = opener(tmp_path / "t.db")
    for name in ("mine", "theirs"):
        turn(dialogs(name, create=True), "c", name)
    own = scope(dialogs, "mine")
    assert read_resource(own, uri_of("mine", "c")) == "mine"
    for uri in (uri_of("theirs", "c"), uri_of("nothing", "c"), uri_of("mine", "d")):
        with pytest.raises(NotFoundError):
            read_resource(own, uri)
    dialogs.close()
