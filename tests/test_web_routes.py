"""From a verb and a path to an operation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tract.remote.operations import BY_NAME, OPERATIONS, Operation
from tract.remote.transport import path_of
from tract.web.routes import Match, Routes, query_of

ROUTES = Routes(OPERATIONS)
ids = st.text(st.characters(), min_size=1, max_size=30)


@given(st.sampled_from(OPERATIONS), st.lists(ids, min_size=3, max_size=3))
def test_every_path_leads_to_its_operation_whatever_the_ids_are(
    operation: Operation, values: list[str]
) -> None:
    fields = dict(zip(operation.path_names, values, strict=False))
    path = path_of(operation, dict(fields)).encode("ascii")
    assert ROUTES.match(operation.verb, path) == Match(operation, fields)


def test_an_encoded_slash_is_part_of_an_id() -> None:
    match = ROUTES.match("GET", b"/api/dialogs/a%2Fb/tool-results/..%2F%00?view=raw")
    assert match == Match(BY_NAME["result"], {"dialog": "a/b", "id": "../\0"})


def test_a_browser_can_name_what_is_called_by_dots() -> None:
    match = ROUTES.match("DELETE", b"/api/dialogs/-%2E%2E/branches/-%2E")
    assert match == Match(BY_NAME["delete_branch"], {"dialog": "..", "name": "."})
    match = ROUTES.match("GET", b"/api/dialogs/-./tool-results/-..")
    assert match == Match(BY_NAME["result"], {"dialog": ".", "id": "-.."})


def test_another_verb_is_told_which_are_possible() -> None:
    assert ROUTES.match("PATCH", b"/api/dialogs/a/branches") == ["GET", "POST"]


def test_a_name_that_is_not_utf_8_is_kept_and_marked() -> None:
    match = ROUTES.match("GET", b"/api/dialogs/%FF/log")
    assert match == Match(BY_NAME["log"], {"dialog": "%FF"}, is_text=False)


def test_an_unknown_path_is_none() -> None:
    for path in (b"/", b"/api/nothing", b"/api/dialogs/a/b/c/d/e"):
        assert ROUTES.match("GET", path) is None


def test_a_query_has_texts_and_lists() -> None:
    query = query_of(b"a=1&b=x+y&b=%26&c&a=2&=3", frozenset({"b"}))
    assert query == {"a": "2", "b": ["x y", "&"], "c": "", "": "3"}


@given(st.binary(max_size=60))
def test_any_query_can_be_read(raw: bytes) -> None:
    query_of(raw, frozenset({"a"}))
