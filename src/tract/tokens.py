"""Token counts: exact with the `tokens` extra, otherwise an estimate."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import NamedTuple

from tract.errors import InputError
from tract.extras import missing_extra

_VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base"}


class TokenCounter(NamedTuple):
    """Counts tokens; `source` names the method, so that a stored count stays explainable."""

    source: str
    count: Callable[[str], int]


def token_counter(name: str | None = None) -> TokenCounter:
    """The counter called `name`; None is exact o200k if installed, otherwise the estimate."""
    if name is None:
        name = "o200k" if _exact_is_installed() else "estimate"
    if name in _VOCABULARIES:
        return _exact_counter(name)
    if name == "estimate":
        return TokenCounter(name, estimate_tokens)
    if name == "chars/4":
        return TokenCounter(name, lambda text: -(-len(text) // 4))
    known = ", ".join([*_VOCABULARIES, "estimate", "chars/4"])
    raise InputError(f"unknown token counter {name!r}; expected one of {known}")


# --- exact ---------------------------------------------------------------------------------

_Encode = Callable[[str], list[int]]
_encoders: dict[str, _Encode] = {}
_loading = Lock()

# The encoder is slightly worse than linear on one endless word and returns a list of numbers;
# pieces of this size keep speed and memory flat. A cut shifts the count by a token or two at most.
_PIECE = 65_536


def _exact_is_installed() -> bool:
    return find_spec("splintr") is not None


def _exact_counter(name: str) -> TokenCounter:
    if not _exact_is_installed():
        raise missing_extra(f"token counter {name!r}", "tokens")
    return TokenCounter(name, lambda text: _count_exactly(_encoder(name), text))


def _encoder(name: str) -> _Encode:
    if name in _encoders:
        return _encoders[name]
    with _loading:
        if name not in _encoders:
            import splintr

            tokenizer = splintr.Tokenizer.from_pretrained(_VOCABULARIES[name])
            # Not `encode`: it turns a literal "<|endoftext|>" in tool output into one token.
            _encoders[name] = tokenizer.encode_ordinary
        return _encoders[name]


def _count_exactly(encode: _Encode, text: str) -> int:
    if text.isascii() and len(text) <= _PIECE:  # nearly all messages
        return len(encode(text))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return sum(len(encode(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _PIECE
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end  # after the last newline
        yield text[start:end]
        start = end


# --- estimate ------------------------------------------------------------------------------

_MARK = r"[!-/:-@\[-`{-~]"
_LETTER = r"\u00c0-\u058f\u1e00-\u1fff"  # accented Latin, Greek, Cyrillic, Armenian

# Kinds of pieces, roughly as o200k cuts text: (pattern, tokens per piece, tokens per character).
# Repetitions are bounded: the cost stays linear, and an endless run is not one piece.
#
# Fitted against o200k (rounded least squares of the relative error) on one half of 4,900 texts:
# strings of agent transcripts, system files (sources, manuals, logs, translations) and generated
# base64, hex, numbers and emoji. On the other half (which guided the choice of kinds) the total
# is off by less than 5 % for prose, code, JSON, grep output, logs, listings, base64, hex, numbers,
# whitespace, CJK, Cyrillic and emoji, and 99 % of the texts are within 25 %. On texts never looked
# at: code, JSON, prose, base64 and hex within 2 %, grep output 4 %, package lists 7 % low, CJK
# menus 15 % low. Languages in Latin script other than English come out 10 to 25 % low.
_KINDS: dict[str, tuple[str, float, float]] = {
    "hex": (r"(?=[0-9]{0,12}(?:[a-f]{1,12}[0-9]{1,12}){2})[0-9a-f]{16,4096}", 0, 0.56),
    "base64": (r"(?=[0-9]{0,12}(?:[A-Za-z]{1,12}[0-9]{1,12}){2})[A-Za-z0-9]{16,4096}", 0, 0.74),
    "number": (r"[0-9]{1,3}", 1, 0),
    "accented": (rf" ?[A-Za-z]{{0,24}}[{_LETTER}][A-Za-z{_LETTER}]{{0,24}}", 0, 0.32),
    "word": (r" ?(?:[A-Z]?[a-z]{1,12}|[A-Z](?![A-Z]))", 1.02, 0),
    "capitals": (r" ?[A-Z]{2,12}[a-z]{0,12}", 0.6, 0.26),
    "glued_word": (rf"(?:{_MARK}|\t)(?:[A-Z]{{2,12}}|[A-Za-z])[a-z]{{0,12}}", 1.26, 0.05),
    "rule": (r" ?(?:-{4}|={4}|#{4}|\*{4}|_{4}|\.{4}|~{4}|/{4})[-=#*_.~/]{0,60}[\r\n]{0,16}", 2, 0),
    "marks": (rf" ?{_MARK}{{1,4}}[\r\n]{{0,16}}", 1.04, 0),
    "newline": (r"\s{0,15}[\r\n]", 1, 0),
    "spaces": (r"\s(?:\s{0,80}(?=\s))?", 0.88, 0),  # the last one goes with the next word
    "han": (r" ?[\u2e80-\u2fdf\u3400-\u9fff]{1,64}", 0, 0.84),
    "kana": (r" ?[\u3000-\u33ff\uff00-\uffef]{1,64}", 0, 0.62),
    "hangul": (r" ?[\uac00-\ud7a3]{1,64}", 0, 0.45),
    "script": (r" ?[\u0590-\u1dff]{1,64}", 0, 0.32),
    "symbols": (r" ?[\u2000-\u2bff\u0080-\u00bf]{1,64}", 0.32, 0.2),
    "emoji": (r" ?[\ufe00-\ufe0f\U00010000-\U0010ffff]", 1.99, 0),
    "rest": (r"[\s\S]", 0.6, 0),
}
_WEIGHTS = [(per_piece, per_character) for _, per_piece, per_character in _KINDS.values()]

_WINDOW = 2_048
_WINDOWS = 32


def estimate_tokens(text: str) -> int:
    """About the o200k count; texts above 64 Ki characters are sampled at even distances."""
    if len(text) <= _WINDOW * _WINDOWS:
        return max(round(_weigh(text)), 1 if text else 0)
    step = (len(text) - _WINDOW) / (_WINDOWS - 1)
    starts = (round(step * number) for number in range(_WINDOWS))
    weight = sum(_weigh(text[start : start + _WINDOW]) for start in starts)
    return round(weight * len(text) / (_WINDOW * _WINDOWS))


@cache
def _any_kind() -> re.Pattern[str]:
    return re.compile("|".join(f"({pattern})" for pattern, _, _ in _KINDS.values()))


def _weigh(text: str) -> float:
    total = 0.0
    for piece in _any_kind().finditer(text):
        per_piece, per_character = _WEIGHTS[(piece.lastindex or 0) - 1]
        total += per_piece + per_character * (piece.end() - piece.start())
    return total
