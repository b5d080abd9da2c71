"""Titles: what a person asked, without what programs put around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract.core.titles import LONGEST, title_of


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Fix the build", "Fix the build"),
        ("\n\n  Fix\tthe  build\nIt fails.", "Fix the build"),
        ("<task>\nFix it\n</task>\n<environment_details>x: 1\n</environment_details>", "Fix it"),
        ('<user_input mode="act">Fix it</user_input>', "Fix it"),
        ("<user_query>\nFix it\n</user_query>", "Fix it"),
        ("<system-reminder>Be brief.</system-reminder>\nFix it", "Fix it"),
        ("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", None),
        ("<command-name>/review</command-name>\n<command-args>12</command-args>", "/review 12"),
        ("<command-name>/clear</command-name><command-args></command-args>", None),
        ("[Request interrupted by user for tool use]", None),
        ("<local-command-stdout>done</local-command-stdout>", None),
        ("if a < b and c > d: fix it", "if a < b and c > d: fix it"),
        ("a\x1b[31mb\u202ec", "a [31mb c"),
        ("", None),
    ],
)
def test_a_title_is_what_a_person_asked(prompt: str, title: str | None) -> None:
    assert title_of(prompt) == title


@given(st.text())
def test_a_title_is_one_short_legible_line(prompt: str) -> None:
    title = title_of(prompt)
    assert title is None or (0 < len(title) <= LONGEST and title.isprintable())
    assert title is None or title == title.strip()
