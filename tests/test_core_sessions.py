"""The dialogs of a client's session."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tract.core.sessions import results_dialog, session_of
from tract.session.session import check_name


def test_results_stand_beside_the_transcript() -> None:
    assert results_dialog("f078e7a1-343c") == "f078e7a1-343c.results"
    assert session_of("f078e7a1-343c.results") == session_of("f078e7a1-343c") == "f078e7a1-343c"


@given(st.text(st.characters()), st.text(st.characters()))
def test_every_session_has_a_dialog_of_its_own(one: str, other: str) -> None:
    check_name("dialog", results_dialog(one))
    assert (results_dialog(one) == results_dialog(other)) == (one == other)


def test_an_id_that_is_no_name_is_hashed() -> None:
    for session in ("", " ", "a\nb", "-x", "\ud800", "x" * 200):
        name = results_dialog(session)
        assert len(name) == 40
        assert session.strip() not in name or not session.strip()
