"""Highlighted code: pieces of text with style names, where Pygments is installed. Pure."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tract.view.lines import Styled

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST = 20_000
"""Characters of code; a longer one is shown as it is. A lexer may be slow on purpose."""
STYLES = (
    ("Comment", "code-comment"),
    ("Keyword", "code-keyword"),
    ("Operator.Word", "code-keyword"),
    ("Literal.String", "code-string"),
    ("Literal.Number", "code-number"),
    ("Name.Function", "code-name"),
    ("Name.Class", "code-name"),
    ("Name.Tag", "code-name"),
    ("Name.Attribute", "code-number"),
    ("Generic.Inserted", "added"),
    ("Generic.Deleted", "removed"),
    ("Generic.Heading", "code-name"),
    ("Generic.Subheading", "code-name"),
)
"""By the beginning of a token's type."""


def highlight(code: str, language: str) -> list[Styled]:
    """The code in pieces. Together they are the code, unchanged; not escaped."""
    lexer = _lexer(language) if language and len(code) <= LONGEST else None
    if lexer is None:
        return [Styled(code)]
    spans = [Styled(text, _style(kind)) for kind, text in lexer.get_tokens(code) if text]
    is_unchanged = "".join(span.text for span in spans) == code
    return spans if is_unchanged else [Styled(code)]


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        from pygments.lexers import get_lexer_by_name
        from pygments.util import ClassNotFound
    except ImportError:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _style(kind: Any) -> str:
    name = str(kind).removeprefix("Token.")
    return next((style for start, style in STYLES if name.startswith(start)), "")
