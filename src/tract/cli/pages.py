"""Pages: a conversation as a web page, written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

from tract.cli.scenes import Scene, with_titles
from tract.cli.screen import say, write
from tract.view.blocks import ViewBlock
from tract.view.lines import HIDDEN, SUMMARY, can_be_hidden


def write_page(path: str, scenes: list[Scene], tools: str | None, about: str) -> None:
    """One page with all scenes; - is stdout."""
    from tract.view import markdown
    from tract.view.html import page

    if not markdown.is_available():
        say('Markdown is shown as it is written; to render it: pip install "tract-context[html]"')
    blocks: Iterable[ViewBlock] = with_titles(scenes)
    if tools == HIDDEN:  # hidden blocks are not part of the page at all
        blocks = (block for block in blocks if not can_be_hidden(block))
    title = scenes[0].dialog if scenes else "nothing"
    facts = [scene.facts() for scene in scenes if scene.facts]
    pieces = page(title, blocks, about=about, tools=tools or SUMMARY, facts=facts)
    target = Path(path).resolve()
    if path == "-":
        for piece in pieces:
            write(piece)
    elif target.exists() and not target.is_file():  # a pipe or a device
        with target.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
    else:
        try:
            write_atomically(target, pieces)
        except OSError as error:  # it names the temporary file
            raise OSError(error.errno, error.strerror, path) from None
        say(f"wrote {path}")


def write_atomically(path: Path, pieces: Iterable[str]) -> None:
    """Write the complete page, or nothing."""
    mode = path.stat().st_mode if path.exists() else 0o666 & ~_umask()
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        scratch = Path(file.name)
        try:
            file.writelines(pieces)
            scratch.chmod(mode)
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)


def _umask() -> int:
    """It can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
