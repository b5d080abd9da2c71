"""Highlighted code is the code, in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tract.view import highlight as module
from tract.view.highlight import LONGEST, highlight
from tract.view.lines import Styled


@given(texts, st.sampled_from(["python", "json", "diff", "nonsense", ""]))
def test_no_character_is_lost(code, language):
    assert "".join(span.text for span in highlight(code, language)) == code


def test_words_of_a_language_have_styles():
    styles = {span.text: span.style for span in highlight("def f(): return 1  # x", "python")}
    assert styles["def"] == styles["return"] == "code-keyword"
    assert styles["1"] == "code-number"
    assert styles["# x"] == "code-comment"


@pytest.mark.parametrize(
    ("code", "language"), [("x = 1", "nonsense"), ("x" * LONGEST + "y", "python")]
)
def test_what_is_unknown_or_long_is_left_alone(code, language):
    assert highlight(code, language) == [Styled(code)]


def test_every_style_has_a_rule():
    css = module.__file__.replace("highlight.py", "base.css")
    with open(css, encoding="utf-8") as file:  # noqa: PTH123
        rules = file.read()
    assert all(f".{style} " in rules or f".{style}," in rules for _, style in module.STYLES)
