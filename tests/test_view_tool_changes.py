"""What became of tools, in the words of one line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tract.core.toolsets import ToolDiff
from tract.view.blocks import ToolsBlock
from tract.view.lines import lines_of
from tract.view.tool_changes import SEVERAL, change_text, diff_text


def change(
    added: list[str] | None = None,
    removed: list[str] | None = None,
    changed: list[str] | None = None,
    moved: list[str] | None = None,
) -> ToolDiff:
    paths = {name: ["parameters"] for name in changed or []}
    return ToolDiff(added or [], removed or [], paths, moved or [])


def test_few_tools_are_named_with_what_became_of_them() -> None:
    assert change_text(change(["ls"], ["rm"], ["grep"])) == "+ls -rm ~grep"
    assert change_text(change(["a", "b"])) == "+a +b"
    assert change_text(change(removed=["a"])) == "-a"


def test_many_are_counted() -> None:
    names = [f"tool{number}" for number in range(SEVERAL + 1)]
    assert change_text(change(names[:-1])).split() == [f"+{name}" for name in names[:-1]]
    assert change_text(change(names)) == f"{SEVERAL + 1} added"
    assert change_text(change(names[:4], names[4:7], names[7:])) == "4 added, 3 removed, 2 changed"


def test_what_only_moved_is_counted() -> None:
    assert change_text(change(moved=["a", "b"])) == "2 moved"
    assert diff_text(change(["x"], moved=["a", "b"])) == "1 added, 2 moved"


def test_nothing_is_told_of_nothing() -> None:
    assert change_text(change()) == diff_text(change()) == ""


names = st.lists(texts, max_size=SEVERAL, unique=True)


@given(names, names, names, names)
def test_hostile_names_are_harmless_on_the_screen(
    added: list[str], removed: list[str], changed: list[str], moved: list[str]
) -> None:
    what = change(added, removed, changed, moved)
    assert bool(change_text(what).strip()) == bool(what)
    (line,) = lines_of(ToolsBlock(names=tuple(added), change=what))
    text = "".join(span.text for span in line)
    assert text.isprintable()
    assert text.startswith(f"  [tools] {len(added)} offered: ")
