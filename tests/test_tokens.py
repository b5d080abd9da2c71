"""Token counters, seen from outside; exact counts are frozen so that no extra is needed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.texts import CHINESE, ENDLESS, PROSE, SAMPLES, UNSAMPLED
from tract import tokens
from tract.errors import InputError
from tract.tokens import TokenCounter, token_counter

EXACT_IS_INSTALLED = importlib.util.find_spec("splintr") is not None
needs_exact = pytest.mark.skipif(not EXACT_IS_INSTALLED, reason="needs the extra `tokens`")
EXACT_NAMES = ["o200k", "cl100k"] if EXACT_IS_INSTALLED else []
ALL_NAMES = [*EXACT_NAMES, "estimate", "chars/4"]


FROZEN = {  # exact counts by o200k and cl100k
    "prose": (207, 210),
    "code": (472, 448),
    "json": (621, 621),
    "json indented": (402, 402),
    "log": (763, 762),
    "grep": (340, 320),
    "base64": (866, 918),
    "hex": (726, 724),
    "chinese": (175, 230),
    "japanese": (165, 210),
    "korean": (140, 220),
    "emoji": (380, 400),
    "whitespace": (113, 113),
    "numbers": (424, 424),
}


@cache
def tokenizer(vocabulary: str) -> Any:
    import splintr

    return splintr.Tokenizer.from_pretrained(vocabulary)


def test_every_sample_has_a_frozen_count() -> None:
    assert SAMPLES.keys() == FROZEN.keys()


@needs_exact
@pytest.mark.parametrize("kind", SAMPLES)
def test_exact_counts(kind: str) -> None:
    o200k, cl100k = FROZEN[kind]
    assert token_counter("o200k").count(SAMPLES[kind]) == o200k
    assert token_counter("cl100k").count(SAMPLES[kind]) == cl100k


@pytest.mark.parametrize("kind", SAMPLES)
def test_estimate_is_near_the_exact_count(kind: str) -> None:
    exact, _ = FROZEN[kind]
    assert token_counter("estimate").count(SAMPLES[kind]) == pytest.approx(exact, rel=0.2)


def test_estimate_of_all_kinds_together_is_within_a_few_percent() -> None:
    exact = sum(o200k for o200k, _ in FROZEN.values())
    estimated = sum(map(token_counter("estimate").count, SAMPLES.values()))
    assert estimated == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("kind", SAMPLES)
def test_sampling_a_large_text_changes_its_estimate_by_less_than_a_percent(kind: str) -> None:
    estimate = token_counter("estimate").count
    part = SAMPLES[kind] * (UNSAMPLED // len(SAMPLES[kind]))
    assert estimate(part * 16) == pytest.approx(estimate(part) * 16, rel=0.01)


def test_every_part_of_a_large_text_is_sampled() -> None:
    """A part that has more tokens than the others counts the same wherever it stands."""
    estimate = token_counter("estimate").count
    part = (CHINESE * UNSAMPLED)[:UNSAMPLED]
    rest = (PROSE * UNSAMPLED)[:UNSAMPLED]
    exact = estimate(part) + 3 * estimate(rest)
    for place in range(4):
        text = rest * place + part + rest * (3 - place)
        assert estimate(text) == pytest.approx(exact, rel=0.02)


def test_a_quarter_of_the_characters_rounds_up() -> None:
    counter = token_counter("chars/4")
    assert [counter.count("x" * n) for n in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]


@needs_exact
@pytest.mark.parametrize("name", EXACT_NAMES)
@pytest.mark.parametrize("text", ["<|endoftext|>", "<|endofprompt|>", "<|im_start|>"])
def test_special_token_text_counts_as_ordinary_text(name: str, text: str) -> None:
    counter = token_counter(name)
    assert counter.count(text) >= 5
    assert counter.count(f"{text}\n" * 4) >= 20


@needs_exact
@pytest.mark.parametrize("vocabulary", ["o200k_base", "cl100k_base"])
def test_every_special_token_begins_alike(vocabulary: str) -> None:
    """A text without this beginning may be encoded in the faster way, which knows them."""
    special = tokenizer(vocabulary).special_tokens()
    assert special
    assert all(token.startswith(tokens.SPECIAL) for token in special)


@needs_exact
@pytest.mark.parametrize("name", EXACT_NAMES)
@given(text=st.text(), special=st.sampled_from(["", "<", "|>", "<|im_end|>"]))
def test_a_count_is_that_of_ordinary_text(name: str, text: str, special: str) -> None:
    text = text.encode("utf-8", "replace").decode() + special
    assert token_counter(name).count(text) == len(tokenizer(f"{name}_base").encode_ordinary(text))


@needs_exact
@pytest.mark.parametrize("name", EXACT_NAMES)
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_text_of_many_pieces_counts_as_its_parts(name: str, kind: str) -> None:
    counter = token_counter(name)
    part = SAMPLES[kind].strip() + "\n"
    repeats = 300_000 // len(part)
    assert counter.count(part * repeats) == pytest.approx(counter.count(part) * repeats, rel=0.002)


@pytest.mark.parametrize("name", ALL_NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        "a\udfffb",
        "\ud83d\ude00",
        "\0",
        "a\0b" * 10,
        "\r\n",
        "\u2028",
        "\U0010ffff",
        "e\u0301",
    ],
    ids=ascii,
)
def test_odd_characters_are_counted(name: str, text: str) -> None:
    assert 1 <= token_counter(name).count(text) <= 4 * len(text)


@needs_exact
def test_a_split_surrogate_pair_counts_as_its_character() -> None:
    counter = token_counter("o200k")
    assert counter.count("\ud83d\ude00") == counter.count("😀")


@pytest.mark.parametrize("name", ALL_NAMES)
@pytest.mark.parametrize("unit", ENDLESS, ids=ascii)
def test_a_text_without_structure_is_counted(name: str, unit: str) -> None:
    text = unit * (400_000 // len(unit))
    assert 0 < token_counter(name).count(text) <= 4 * len(text)


@needs_exact
@pytest.mark.parametrize("name", EXACT_NAMES)
@pytest.mark.parametrize("unit", ENDLESS, ids=ascii)
def test_the_encoder_gets_each_character_once_in_pieces(
    name: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is slightly worse than linear, so that the size of a piece bounds the time of a text."""
    pieces: list[str] = []

    def count(piece: str) -> int:
        pieces.append(piece)
        return 0

    monkeypatch.setitem(tokens._loaded, name, count)
    text = unit * (1_000_000 // len(unit))
    token_counter(name).count(text)
    assert max(map(len, pieces)) <= UNSAMPLED
    assert "".join(pieces) == text.replace("\ud800", "\ufffd")


@pytest.mark.parametrize("name", ALL_NAMES)
@given(text=st.text())
def test_counts_are_zero_only_for_nothing_and_repeatable(name: str, text: str) -> None:
    count = token_counter(name).count(text)
    assert count == token_counter(name).count(text)
    assert (count == 0) == (text == "")
    assert count >= 0


@pytest.mark.parametrize("name", ALL_NAMES)
@given(text=st.text())
def test_more_text_is_never_fewer_tokens(name: str, text: str) -> None:
    counter = token_counter(name)
    assert counter.count(text + "\nand four more words") >= counter.count(text)


@pytest.mark.parametrize("name", ALL_NAMES)
def test_threads_that_start_together_agree(name: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        counts = set(pool.map(lambda text: token_counter(name).count(text), [PROSE] * 32))
    assert len(counts) == 1


@pytest.mark.parametrize("name", ALL_NAMES)
def test_source_is_the_name(name: str) -> None:
    assert token_counter(name).source == name


def test_a_counter_cannot_be_changed() -> None:
    counter: TokenCounter = token_counter("estimate")
    with pytest.raises(AttributeError):
        counter.source = "o200k"  # type: ignore[misc]


def test_default_is_exact_when_installed() -> None:
    assert token_counter().source == ("o200k" if EXACT_IS_INSTALLED else "estimate")


@pytest.mark.parametrize("name", ["", "gpt-2", "O200K", "chars/3"])
def test_unknown_name_says_what_is_known(name: str) -> None:
    with pytest.raises(InputError, match="o200k, cl100k, estimate, chars/4"):
        token_counter(name)


def run_python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


WITHOUT_EXTRA = (
    "import sys; sys.modules['splintr'] = None; from tract.tokens import token_counter\n"
)


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_missing_extra_says_what_to_install(name: str) -> None:
    program = f"""
from tract.errors import MissingExtraError
try:
    token_counter({name!r})
except MissingExtraError as error:
    print(error)
"""
    assert '[tokens]"' in run_python(WITHOUT_EXTRA + program)


def test_without_the_extra_the_default_is_the_estimate() -> None:
    program = "counter = token_counter(); print(counter.source, counter.count('two words'))"
    assert run_python(WITHOUT_EXTRA + program) == "estimate 2"


def test_nothing_heavy_is_imported_before_the_first_count() -> None:
    program = "import sys, tract.tokens as t; t.token_counter(); print('splintr' in sys.modules)"
    assert run_python(program) == "False"
