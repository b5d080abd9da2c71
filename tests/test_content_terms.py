"""What a search asks for: terms, words, spans."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract import InputError
from tract.content.terms import LONG, LONGEST_WORD, Need, Terms, text_of, words_of

ANY = st.text(
    st.sampled_from("aAbB_ß İıſK19 \n\"'\\…é日本\x00\ud800-") | st.characters(), max_size=30
)


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("no space", ["No SPACE left", "space, no", "outer-space now"]),
        ('"no space"', ["no space left", "piano  NO SPACES"]),
        ('say "hello"', ['he will say: "hello"']),
        ('""hello""', ['"hello"']),
        ('"a": "b', ['{"a": "b"}']),
        ("STRASSE", ["Hauptstraße 1"]),
        ("据库", ["数据库"]),
    ],
)
def test_a_text_matches_if_it_has_all_terms(query: str, texts: list[str]) -> None:
    assert all(Terms(query).match(text) for text in texts)


@pytest.mark.parametrize(
    ("query", "text"),
    [("no space", "no room"), ('"no space"', "space, no"), ('""hello""', "hello")],
)
def test_a_text_without_a_term_does_not_match(query: str, text: str) -> None:
    assert Terms(query).match(text) is None


@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_an_empty_query_is_an_error(query: str) -> None:
    with pytest.raises(InputError, match="nothing to search for"):
        Terms(query)


@pytest.mark.parametrize("query", ["x" * 4001, " ".join(map(str, range(101)))])
def test_a_long_query_is_an_error(query: str) -> None:
    with pytest.raises(InputError, match="a search has at most"):
        Terms(query)


@given(st.text(st.sampled_from('a" \n'), max_size=20))
def test_phrases_end_at_the_first_mark_before_a_space(query: str) -> None:
    expected = [m[1] or m[0] for m in re.finditer(r'"(.+?)"(?=\s|\Z)|\S+', query, re.DOTALL)]
    matching = "\n\n".join(expected)
    if expected:
        match = Terms(query).match(matching)
        assert match is not None
        assert match.number == sum(map(matching.count, set(expected)))


def test_a_snippet_names_the_positions_of_its_terms() -> None:
    text = "x " * 100 + "the Straße was\n\n  closed today" + " y" * 100
    match = Terms('"was closed" STRASSE').match(text.replace("\n\n  ", " "))
    assert match is not None
    assert [match.snippet[start:end] for start, end in match.spans] == ["Straße", "was closed"]
    assert match.snippet.startswith("…")
    assert len(match.snippet) < 200


def test_words_at_the_edges_of_a_term_may_be_parts() -> None:
    assert Terms('"no space left"').needs() == [
        Need("no", True, False),
        Need("space", False, False),
        Need("left", False, True),
    ]
    assert Terms("(x").needs() == [Need("x", False, True)]
    assert Terms("数据").needs() == [Need("数", False, False), Need("据", False, False)]
    assert Terms("%% …").needs() == []


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_are_those_of_any_text(text: str) -> None:
    assert words_of(text) | {"é"} == words_of(text + " é") == words_of(f"{text}\né")


@given(st.text(max_size=40) | st.text("aBZ_1 \n.éßſİK中の", max_size=40))
def test_a_text_is_folded_in_parts_as_in_full(text: str) -> None:
    folded = re.sub(
        "([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])", r" \1 ", text.casefold()
    )
    assert words_of(text) == set(re.findall(r"\w+", folded))


def test_a_long_word_stands_for_any() -> None:
    assert words_of("a " + "b" * LONGEST_WORD) == {"a", "b" * LONGEST_WORD}
    assert words_of("a " + "b" * (LONGEST_WORD + 1)) == {"a", LONG}
    assert Terms("b" * (LONGEST_WORD + 1)).needs() == [Need(LONG, False, False)]


def has(words: set[str], need: Need) -> bool:
    if need.opens or need.goes_on:
        starts = any(
            need.word in word
            and (need.opens or word.startswith(need.word))
            and (need.goes_on or word.endswith(need.word))
            for word in words
        )
        return starts or LONG in words
    return need.word in words


@given(ANY, ANY)
def test_a_text_that_matches_has_the_words(text: str, query: str) -> None:
    """With a part of the text as the query too."""
    for asked in (query, text[3:9], f'"{text[2:12]}"'):
        try:
            terms = Terms(asked)
        except InputError:
            continue
        match = terms.match(text)
        if match:
            assert all(has(words_of(text), need) for need in terms.needs())
            assert all(0 <= start < end <= len(match.snippet) for start, end in match.spans)


def test_all_texts_of_a_content_are_searched() -> None:
    assert text_of({"key": ["a", 1.5, None, True, {"b": "c"}]}) == "key\na\n1.5\nTrue\nb\nc"
