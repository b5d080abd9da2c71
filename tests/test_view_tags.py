"""Tags: what programs write in the name of the user."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.view.tags import LABELS, Piece, pieces


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain <b>text</b>", [("", "plain <b>text</b>")]),
        (
            "<command-name>/clear</command-name>\n  <command-message>clear</command-message>\n"
            "  <command-args></command-args>",
            [("command", "/clear")],
        ),
        (
            "<command-message>review</command-message><command-name>/review</command-name>"
            "<command-args>12</command-args>",
            [("command", "/review 12")],
        ),
        ("<bash-input>ls</bash-input>", [("shell command", "ls")]),
        (
            "Fix it\n<system-reminder>\nbe kind\n</system-reminder>\nnow",
            [("", "Fix it"), ("reminder", "be kind"), ("", "now")],
        ),
        ("<system-reminder>never closed", [("", "<system-reminder>never closed")]),
        (
            "Base directory for this skill: /x\n# S",
            [("skill", "Base directory for this skill: /x\n# S")],
        ),
        ("", [("", "")]),
    ],
)
def test_a_message_is_told_apart(text, parts):
    assert [(piece.label, piece.text) for piece in pieces(text)] == parts


words = st.sampled_from(
    ["one", "\n", " ", *(f"<{t}>" for t in LABELS), *(f"</{t}>" for t in LABELS)]
)


@given(st.lists(words, max_size=12).map("".join))
def test_no_word_is_lost(text):
    shown = "".join(piece.text for piece in pieces(text))
    assert shown.count("one") == text.count("one") or "command" in text


def test_many_unclosed_tags_take_no_time():
    text = "<system-reminder>" * 20_000
    assert pieces(text) == [Piece(text)]
