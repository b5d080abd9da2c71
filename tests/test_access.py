"""What a token allows, and what is stored of it."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract import InputError
from tract.access import SCOPES, Grant, check_grant, new_token, token_digest
from tract.model import MAX_NAME

NOW = datetime(2026, 11, 17, tzinfo=UTC)


def test_a_scope_includes_those_before_it() -> None:
    grants = [Grant("a", scope, (), NOW) for scope in SCOPES]
    allowed = {grant.scope: [s for s in SCOPES if grant.allows(s)] for grant in grants}
    assert allowed == {
        "read": ["read"],
        "write": ["read", "write"],
        "admin": ["read", "write", "admin"],
    }


@pytest.mark.parametrize("scope", ["", "Read", "reader", "root"])
def test_an_unknown_scope_is_an_error(scope: str) -> None:
    with pytest.raises(InputError, match="unknown scope"):
        Grant("a", "admin", (), NOW).allows(scope)
    with pytest.raises(InputError, match="unknown scope"):
        Grant("a", scope, (), NOW).allows("read")
    with pytest.raises(InputError, match="read, write, admin"):
        check_grant("a", scope, ())


@given(st.text(), st.lists(st.text(min_size=1)))
def test_a_token_covers_dialogs_by_their_beginning(dialog: str, prefixes: list[str]) -> None:
    grant = Grant("a", "read", tuple(prefixes), NOW)
    expected = not prefixes or any(dialog[: len(p)] == p for p in prefixes)
    assert grant.covers(dialog) is expected


@pytest.mark.parametrize("name", ["", " ", "-a", "a\nb", "a\0", "x" * (MAX_NAME + 1), "start-up"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="name for a token"):
        check_grant(name, "read", ())


@pytest.mark.parametrize("prefix", ["", " ", "a\0", "x" * (MAX_NAME + 1)])
def test_a_prefix_that_is_nearly_everything_is_refused(prefix: str) -> None:
    with pytest.raises(InputError, match="beginning"):
        check_grant("a", "read", ("team/", prefix))


def test_tokens_are_random_and_stored_as_their_hash() -> None:
    one, two = new_token(), new_token()
    assert one != two
    assert one.startswith("tract_")
    assert len(one) == len("tract_") + 43  # 32 bytes in base64
    assert token_digest(one) == sha256(one.encode()).digest()
    assert token_digest("\ud800") != token_digest("?")  # whatever a client sends
