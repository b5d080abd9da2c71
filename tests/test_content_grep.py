"""Patterns: what `re` finds, in linear time."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tract.content.grep import END, MAX_STEPS, Pattern, literal, pattern_of

# Few letters, so that patterns and lines meet often.
ATOMS = ["a", "b", "_", " ", r"\.", ".", "é", "ß", "İ", r"\d", r"\w", r"\W", r"\s", r"\S", r"\x61"]
SETS = ["[ab]", "[^a]", "[a-c_]", r"[\d.]", "[]a]", "[^]a]", "[[a]", "[a&&b]", "[A-Z]", r"[\]a]"]
PLACES = ["^", "$", r"\b", r"\A", r"\Z"]
COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{,}", "*?", "+?", "??", "{1,2}?"]


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouped = inner.flatmap(
        lambda text: st.sampled_from([f"({text})", f"(?:{text})", f"(?P<n>{text})", f"(?i:{text})"])
    )
    return (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map("|".join)
        | st.tuples(grouped, st.sampled_from(["", *COUNTS])).map("".join)
    )


atoms = st.sampled_from(ATOMS + SETS)
counted = st.tuples(atoms, st.sampled_from(["", "", *COUNTS])).map("".join)
patterns = st.recursive(counted | st.sampled_from(PLACES), _grow, max_leaves=6)
lines = st.text(st.sampled_from("aAbBcC1. _é[]&ßİı"), max_size=12)


@settings(max_examples=1000)
@given(patterns, st.sampled_from(["", "(?i)"]), st.booleans(), st.lists(lines, max_size=5))
def test_a_pattern_finds_what_re_finds(
    text: str, flags: str, is_whole: bool, searched: list[str]
) -> None:
    text = f"^(?:{text})$" if is_whole else text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            expected = re.compile(flags + text)
        except re.error:  # one group name twice
            return
    pattern = pattern_of(flags + text)
    assert not pattern.is_literal
    for line in searched:
        assert pattern.is_in(line) == bool(expected.search(line)), line


@given(st.text(max_size=30), lines | st.text(max_size=30))
@example("[", "[")
@example("a(?=b)", "ab")
@example("a{2,1}", "a{2,1}")
@example("{", "{")
def test_any_text_is_a_pattern_and_never_another_than_with_re(text: str, line: str) -> None:
    line = line.replace(END, "")
    pattern = pattern_of(text)
    if pattern.is_literal:
        assert pattern.is_in(line) == (text in line)
    elif "\r" not in line and r"\B" not in text:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            found = re.search(text.replace(r"\z", r"\Z"), line, re.DOTALL)
        assert pattern.is_in(line) == bool(found)


@given(st.text(min_size=1, max_size=50), st.text(max_size=50))
def test_a_literal_is_found_where_it_is(needle: str, line: str) -> None:
    needle, line = needle.replace(END, ""), line.replace(END, "")
    assert literal(needle).is_in(line) == (needle in line)
    assert literal(needle).is_in(line + needle + line)


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("foo.*bar", "a foo and a bar", True),
        ("foo.*bar", "a bar and a foo", False),
        ("^def \\w+\\(", "def main():", True),
        ("^def", " def", False),
        ("(?i)error|warning", "WARNING: x", True),
        ("\\bcat\\b", "concat", False),
        ("\\bcat\\b", "a cat", True),
        ("\\Bcat", "concat", True),
        ("end$", "the end", True),
        ("end\\z", "the end", True),
        ("end$", "the end\r", True),
        ("^a{2}$", "aaa", False),
        ("^a{1,2}$", "aa", True),
        ("^a{1,2}$", "aaa", False),
        ("^a{2,}$", "aaaa", True),
        ("^a{2,}$", "a", False),
        ("aab", "aaab", True),
        ("^$", "", True),
        ("x*", "", True),
        ('"id":\\s*\\d{2,4},', '{"id": 1234, ', True),
        ("(?i:É)t", "ét", True),
        ("a.c", "a\x00c", True),
        ("\ud800", "x\ud800y", True),
    ],
)
def test_usual_patterns(text: str, line: str, found: bool) -> None:
    pattern = pattern_of(text)
    assert not pattern.is_literal
    assert pattern.is_in(line) is found


@pytest.mark.parametrize(
    "text",
    [
        "(",
        ")",
        "a)",
        "*a",
        "^*",
        "a**",
        "a++",
        "a{3,2}",
        "[a",
        "[z-a]",
        "\\",
        "\\q",
        "(a)\\1",
        "(?=a)",
        "(?<!a)b",
        "(?>a)",
        "(?x)a",
        "(?P=n)",
        "a(?i)b",
        "[a--b]",
        "[[:digit:]]",
        "x{99999}",
        "x{9" + "9" * 5_000 + "}",
        "(x{100}){100}",
        "(" * 1_000 + ")" * 1_000,
        "(" * 60 + "a" + ")" * 60,
    ],
)
def test_what_cannot_be_read_is_a_literal(text: str) -> None:
    pattern = pattern_of(text)
    assert pattern.is_literal
    assert pattern.required == text[: MAX_STEPS - 1]
    assert pattern.is_in(f"before {text} after")
    assert not pattern.is_in("x")


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ("foo", "foo"),
        ("foo.*barn", "barn"),
        ("a\\.b", "a.b"),
        ("foos?", "foo"),
        ("(foo)", "foo"),
        ("a|b", ""),
        ("(?i)foo", ""),
        ("(foo|bar)x", "x"),
        ("\\d+ms", "ms"),
        ("\\t", ""),
        ("[ab]", ""),
        ("", ""),
    ],
)
def test_required_is_what_no_match_lacks(text: str, required: str) -> None:
    assert pattern_of(text).required == required


@given(patterns, lines, st.integers(0, 12))
def test_a_line_may_be_given_in_pieces(text: str, line: str, cut: int) -> None:
    pattern = pattern_of(text)
    state = pattern.after(pattern.begin(), line[:cut])
    ended = pattern.after(state, line[cut:])[END] is pattern.matched
    assert ended == pattern.is_in(line) or pattern.required not in line


@given(patterns, lines)
def test_the_first_match_ends_where_the_shortest_beginning_with_a_match_does(
    text: str, line: str
) -> None:
    pattern = pattern_of(text)
    if pattern.is_in(line):
        end = pattern.end_of_match(pattern.begin(), line)
        shorter = [size for size in range(end) if _matches_before_the_end(pattern, line[:size])]
        assert not shorter


def _matches_before_the_end(pattern: Pattern, text: str) -> bool:
    return pattern.after(pattern.begin(), text) is pattern.matched


# Cost. Work is counted, not timed: about one unit for each character that nothing is new about.


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+$",
        "(a*)*b",
        "(a|a)*b",
        "(a|aa)+$",
        ".*.*.*.*.*x",
        "a*a*a*a*a*a*a*b",
        "(.*)(.*)(.*)(.*)(.*)[^a]",
        "(a?){30}a{30}b",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(\\w+\\s*)+:",
    ],
)
def test_work_is_linear_where_re_takes_ages(text: str) -> None:
    pattern = pattern_of(text)
    assert not pattern.is_literal
    pattern.is_in("a" * 1_000)
    first = pattern.work
    pattern.is_in("a" * 1_000_000)
    assert pattern.work - first < 1_000_100 + first


def test_what_is_remembered_is_bounded() -> None:
    pattern = pattern_of("(a|b)*a(a|b){300}c")  # more states than there are atoms
    line = "".join("ab"[(number * number // 7) % 2] for number in range(3_000))
    assert not pattern.is_in(line)
    remembered = sum(1 + len(steps) for steps, _ in pattern._states)
    assert remembered < 300_000
    assert pattern.work < 100_000_000


def test_every_character_of_unicode_may_come() -> None:
    pattern = pattern_of("[^\\W\\d]+X$")
    everything = "".join(map(chr, range(0x8000))).replace(END, "")
    assert not pattern.is_in(everything)
    assert pattern.is_in(everything + "aX")
    assert len(pattern._passed) < 300_000
