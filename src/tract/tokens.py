"""Token counts: exact with the `tokens` extra, otherwise an estimate."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from threading import Lock
from typing import Any, NamedTuple

from tract.errors import InputError
from tract.estimate import estimate_tokens
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

_Count = Callable[[str], int]
_loaded: dict[str, _Count] = {}
_loading = Lock()

SPECIAL = "<|"
"""What all special tokens of the vocabularies begin with."""
_ID_SIZE = 4

# The encoder is slightly worse than linear on one endless word and returns what it encoded;
# pieces of this size keep speed and memory flat. A cut shifts the count by a token or two at most.
_PIECE = 65_536


def _exact_is_installed() -> bool:
    return find_spec("splintr") is not None


def _exact_counter(name: str) -> TokenCounter:
    if not _exact_is_installed():
        raise missing_extra(f"token counter {name!r}", "tokens")

    def count(text: str) -> int:
        count_piece = _loaded.get(name) or _load(name)
        if text.isascii() and len(text) <= _PIECE:  # nearly all messages
            return count_piece(text)
        return sum(map(count_piece, _pieces(_without_halves(text))))

    return TokenCounter(name, count)


def _load(name: str) -> _Count:
    with _loading:
        if name not in _loaded:
            import splintr

            _loaded[name] = partial(
                _count_piece, splintr.Tokenizer.from_pretrained(_VOCABULARIES[name])
            )
        return _loaded[name]


def _count_piece(tokenizer: Any, piece: str) -> int:
    # "<|endoftext|>" in tool output would be one token. One character is found in no time.
    if "|" in piece and SPECIAL in piece:
        return len(tokenizer.encode_ordinary(piece))
    return len(tokenizer.encode_flat(piece)) // _ID_SIZE  # bytes: no number is made for each token


def _without_halves(text: str) -> str:
    """The text without lone surrogates, which the encoder rejects."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _PIECE
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end  # after the last newline
        yield text[start:end]
        start = end
