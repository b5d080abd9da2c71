"""Pages: a conversation as a web page, written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

from tract.cli.scenes import Scene, with_titles
from tract.cli.screen import say, write
from tract.extras import install_command
from tract.view.blocks import ViewBlock
from tract.view.facts import Facts
from tract.view.lines import HIDDEN, SUMMARY, can_be_hidden


def check_markdown() -> None:
    """Say what to install where Markdown cannot be rendered."""
    from tract.view import markdown

    if not markdown.is_available():
        say(f"Markdown is shown as it is written; to render it: {install_command('html')}")


def page_pieces(
    scenes: list[Scene], facts: list[Facts], tools: str | None, about: str, home: str = ""
) -> Iterator[str]:
    """The page with all scenes. `home` is the address of a list of pages."""
    from tract.view.html import page

    blocks: Iterable[ViewBlock] = with_titles(scenes)
    if tools == HIDDEN:  # hidden blocks are not part of the page at all
        blocks = (block for block in blocks if not can_be_hidden(block))
    title = scenes[0].dialog if scenes else "nothing"
    return page(title, blocks, about=about, tools=tools or SUMMARY, facts=facts, home=home)


def write_page(path: str, scenes: list[Scene], tools: str | None, about: str) -> None:
    """One page with all scenes; - is stdout."""
    check_markdown()
    facts = [scene.facts() for scene in scenes if scene.facts]
    pieces = page_pieces(scenes, facts, tools, about)
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
