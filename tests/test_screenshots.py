"""The pictures in the documentation show what the text interface shows today."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "screenshots"
TEXT = "{http://www.w3.org/2000/svg}text"
COLUMN = 12.2  # the width of a character in these pictures


def kept(name: str) -> str:
    return (FOLDER / f"{name}.svg").read_text("utf-8")


def lines_of(picture: str) -> list[str]:
    """The text of a picture, line by line, each piece in its column."""
    rows: dict[float, str] = {}
    for piece in ElementTree.fromstring(picture).iter(TEXT):
        if piece.get("clip-path"):  # the title of the window has none
            y, column = float(piece.get("y", 0)), round(float(piece.get("x", 0)) / COLUMN)
            text = (piece.text or "").replace("\xa0", " ").rstrip("\n")
            rows[y] = rows.get(y, "").ljust(column) + text
    return [rows[y].rstrip() for y in sorted(rows)]


def body_of(picture: str) -> list[str]:
    """The same without the cursor on the left and the bar on the right."""
    return [line[1:].rstrip("│█ ") for line in lines_of(picture)]


def test_the_pictures_are_those_that_the_script_draws() -> None:
    drawn = dict(runpy.run_path(str(ROOT / "examples" / "screenshots.py"))["drawn"]())
    assert sorted(drawn) == sorted(path.stem for path in FOLDER.iterdir())
    for name in [name for name in drawn if name.startswith("dialogs")]:  # costs come one by one
        names = [line.split()[:1] for line in lines_of(drawn.pop(name))]
        assert names == [line.split()[:1] for line in lines_of(kept(name))]
    for name, picture in drawn.items():
        assert lines_of(kept(name)) == lines_of(picture), "run examples/screenshots.py"


def test_the_list_tells_sizes_costs_and_errors() -> None:
    row = lines_of(kept("dialogs"))[2]
    assert row.startswith(" nightly-export: The nightly export ha")
    assert re.search(r" 23 +6.7k +\$0\.61 +2 +12m$", row)


def test_a_conversation_is_folded() -> None:
    lines = body_of(kept("conversation"))
    assert "  [tool_use] bash git log --oneline --since=monday" in lines
    assert "  [bash] git log --oneline --since=monday (81 bytes)" in lines
    assert "  [tools] 5 offered: +run_tests ~grep" in lines


def test_an_error_is_opened_beside_the_tools() -> None:
    lines = lines_of(kept("opened"))
    error = next(n for n, line in enumerate(lines) if "[tool_result:error]" in line)
    assert lines[error].startswith("▌  [tool_result:error] run_tests tests/export (281 bytes)")
    assert lines[error + 1].startswith("▌    FAILED test_writer.py::test_forgotten")
    assert any("~ parameters.properties.limit" in line for line in lines)


def test_an_edit_is_a_diff() -> None:
    lines = body_of(kept("edit"))
    assert "    edit src/shop/export/writer.py (+1 -1)" in lines
    assert "    - order.customer.name" in lines
    assert '    + order.customer.name if order.customer else "(forgotten)"' in lines


def test_an_answer_has_a_time_a_duration_and_a_cost() -> None:
    heads = [line for line in body_of(kept("conversation")) if line.startswith("assistant ")]
    assert re.fullmatch(r"assistant \w{10} 16:08:\d\d · [\d.]+ s · \$0\.01", heads[0])


def test_what_was_sent_has_epochs_and_a_frontier() -> None:
    lines = body_of(kept("sent"))
    assert any(line.startswith("    [… lines 18–") for line in lines)
    rules = [line.split(" · ")[-1] for line in lines if line.startswith("── ")]
    assert rules[:2] == ["── rewritten up to here ──", "1 → reference ──"]


def test_a_picture_fetches_nothing() -> None:
    for path in FOLDER.iterdir():
        assert not re.search(r"url\((?!#)|<script|href", kept(path.stem))
