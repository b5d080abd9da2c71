"""The dialogs of a session."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tract.core.sessions import results_dialog, session_of
from tract.session.session import check_name


def test_the_name_is_that_of_the_session() -> None:
    assert results_dialog("0b5e-41") == "0b5e-41.results"
    assert session_of("0b5e-41.results") == "0b5e-41"


@given(st.text(alphabet=st.characters(), max_size=300))
def test_every_session_has_a_valid_dialog(session: str) -> None:
    check_name("dialog", results_dialog(session))


@given(st.lists(st.text(max_size=250), unique=True, min_size=2, max_size=2))
def test_two_sessions_have_two_dialogs(sessions: list[str]) -> None:
    first, second = map(results_dialog, sessions)
    assert first != second
