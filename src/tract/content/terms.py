"""What a search asks for, the words that its texts must have, and where they stand. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tract.content.text import one_line
from tract.errors import InputError
from tract.model import Json

LONGEST_WORD = 64
"""Characters of a word that is indexed. Longer ones are base64, hashes in a row or minified."""
LONG = "\N{HORIZONTAL ELLIPSIS}"
"""Stands for all longer words of a text: one of them may have any part, so the text is read."""
UNREADABLE = "\N{INTERROBANG}"
"""Stands for all words of a text that could not be read: it may have any."""
MOST_CHARACTERS, MOST_TERMS = 4000, 100
"""Of what is searched for."""
BEFORE, AFTER = 40, 100
"""Characters of context around a match."""

_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Chinese and Japanese have no spaces between words: each character is a word."""
_WORD = re.compile(f"[^\\W{_ALONE}]+|[{_ALONE}]")
_SPACED = bytes(n if n < 128 and (chr(n).isalnum() or n == 95) else 32 for n in range(256)).lower()
"""What becomes of each byte of ASCII: words in small letters, and spaces."""
_IS_ALONE = re.compile(f"[{_ALONE}]")
_PLAIN = re.compile(r"\S+")
_CLOSING = re.compile(r'"(?=\s|\Z)')

Span = tuple[int, int]


def words_of(text: str) -> set[str]:
    """The words of a text, as the index has them."""
    if text.isascii():
        words = _ascii_words(text)
    else:  # most parts are ASCII also where others are not; no word has a space, folding makes none
        parts = set(text.split())
        words = _ascii_words(" ".join(filter(str.isascii, parts)))
        others = " ".join([part for part in parts if not part.isascii()])
        words.update(_WORD.findall(others.casefold()))
    if max(map(len, words), default=0) <= LONGEST_WORD:
        return words
    return {word for word in words if len(word) <= LONGEST_WORD} | {LONG}


def _ascii_words(text: str) -> set[str]:
    """The same as with `_WORD` in small letters, in a third of the time."""
    return set(text.encode("ascii").translate(_SPACED).decode("ascii").split())


def text_of(content: Json) -> str:
    """Every text in a content, keys included, as it is searched."""
    return "\n".join(_texts(content))


def _texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield key
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case None:
            return
        case _:
            yield str(value)


class Need(NamedTuple):
    """A word that a text must have."""

    word: str
    opens: bool
    """Whether the word of the text may begin before it."""
    goes_on: bool
    """Whether the word of the text may continue after it."""


class Match(NamedTuple):
    """The first place of a text that has what was asked for."""

    snippet: str
    spans: tuple[Span, ...]
    """Where the terms stand in the snippet: the first character, and the one after the last."""
    number: int
    """How often the terms stand in the text."""


class Terms:
    """Words that a text must have all of, in any order. A phrase in double quotes is one term. A
    term is found in any case, and as a part of a word too."""

    def __init__(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            raise InputError(
                f"a search has at most {MOST_CHARACTERS:,} characters, not {len(text):,}"
            )
        self._folded = tuple(dict.fromkeys(term.casefold() for term in _terms(text)))
        if not self._folded:
            raise InputError("nothing to search for")
        if len(self._folded) > MOST_TERMS:
            raise InputError(f"a search has at most {MOST_TERMS} words, not {len(self._folded)}")

    def needs(self) -> list[Need]:
        """The words of all texts that match; none if the terms have only punctuation."""
        return [need for term in self._folded for need in _needs(term)]

    def match(self, text: str) -> Match | None:
        folded = text.casefold()
        if not all(term in folded for term in self._folded):
            return None
        first = min(folded.find(term) for term in self._folded)
        last = max(first + len(term) for term in self._folded if folded.startswith(term, first))
        start, end = _unfold(text, folded, [(first, last)])[0]
        snippet = _snippet(text, start, end)
        number = sum(folded.count(term) for term in self._folded)
        return Match(snippet, tuple(self._spans(snippet)), number)

    def _spans(self, line: str) -> list[Span]:
        """Where the terms stand in a line. White space may be written differently there."""
        folded = line.casefold()
        patterns = sorted((_pattern(term) for term in self._folded), key=len, reverse=True)
        spans = [match.span() for match in re.finditer("|".join(patterns), folded)]
        return _unfold(line, folded, [span for span in spans if span[0] < span[1]])


def _terms(text: str) -> Iterator[str]:
    """A phrase ends at the first quotation mark before a space. Without one, its words are
    terms."""
    closing, at = [match.start() for match in _CLOSING.finditer(text)], 0
    while match := _PLAIN.search(text, at):
        start, at = match.span()
        last = bisect_left(closing, start + 2)
        if text[start] == '"' and last < len(closing):
            yield text[start + 1 : closing[last]]
            at = closing[last] + 1
        else:
            yield match[0]


def _needs(term: str) -> Iterator[Need]:
    for match in _WORD.finditer(term):
        is_alone = bool(_IS_ALONE.match(match[0]))
        opens = match.start() == 0 and not is_alone
        goes_on = match.end() == len(term) and not is_alone
        if len(match[0]) > LONGEST_WORD:
            yield Need(LONG, False, False)
        else:
            yield Need(match[0], opens, goes_on)


def _pattern(term: str) -> str:
    return r"\s+".join(map(re.escape, term.split())) or re.escape(term)


def _unfold(text: str, folded: str, spans: Sequence[Span]) -> list[Span]:
    """Positions in a text, from those in its folded form, in which no character is shorter."""
    if len(text) == len(folded):
        return list(spans)
    owners = [number for number, character in enumerate(text) for _ in character.casefold()]
    return [(owners[start], owners[end - 1] + 1) for start, end in spans]


def _snippet(text: str, start: int, end: int) -> str:
    begin, stop = max(0, start - BEFORE), min(len(text), end + AFTER)
    if begin:
        begin = text.find(" ", begin, start) + 1 or begin  # not in the middle of a word
    line = one_line(text[begin:stop])
    return f"{'…' if begin else ''}{line}{'…' if stop < len(text) else ''}"
