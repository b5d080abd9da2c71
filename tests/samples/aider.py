"""The history of aider 0.86, as it wrote it, with more made by hand."""

from __future__ import annotations

from typing import Any

BLANKS = "·"  # how a line of aider ends: with two of them
FIRST = """
# aider chat started at 2026-01-02 03:04:05

> Aider v0.86.1·
> Model: gpt-x with diff edit format·
> Git repo: .git with 3 files·

#### /add a.py·

> Added a.py to the chat·

#### What is here?·
#### ·
#### Look é\r twice.·

# A heading

> a quote of the model
#### Another heading

Two files.

> Tokens: 654 sent, 3 received. Cost: $0.01 message, $0.01 session.·

#### <blank>·

#### /ask And why?·

Because.

> Tokens: 1.2k sent, 30 received. Cost: $0.02 message, $0.03 session.·
> Applied edit to a.py·
""".replace(BLANKS, "  ")
SECOND = """
# aider chat started at 2026-01-03 03:04:05

> Main model: claude-x with diff edit format·

#### Again?·

Yes.

> Tokens: 10 sent, 2 received.·

#### And now?·

> Tokens: 10 sent, 0 received.·
""".replace(BLANKS, "  ")

FILES = {"runs": (FIRST + SECOND).encode(), "one run": FIRST.encode()}
DOCUMENTS: list[Any] = []
