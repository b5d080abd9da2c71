"""The open dialogs of a server process. On both databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.mcp_clients import opener, scope, turn
from tract import NotFoundError, Tract
from tract.mcp.dialogs import MOST


def test_reading_creates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    dialogs = opener(path)
    with pytest.raises(NotFoundError):
        dialogs("default")
    assert not path.exists()
    dialogs("d", create=True).user("hi")
    assert [each.dialog for each in dialogs.infos()] == ["d"]
    with pytest.raises(NotFoundError, match="no dialog 'other'"):
        dialogs("other")
    dialogs.close()


def test_a_dialog_stays_open_and_is_opened_again_if_it_was_deleted(db: str) -> None:
    dialogs = opener(db)
    first = dialogs("d", create=True)
    turn(first, "c", "text")
    assert dialogs("d") is first
    with Tract.open(db, dialog="d") as other:
        other.delete_dialog()
        other.forget(text="something else")
    with pytest.raises(NotFoundError):
        dialogs("d")
    again = dialogs("d", create=True)
    turn(again, "c", "text again")
    assert "text again" in dialogs("d").get_tool_result("c")
    dialogs.close()


def test_threads_share_the_dialogs_and_few_stay_open(db: str) -> None:
    dialogs = opener(db)
    names = [f"d{number}" for number in range(MOST + 8)]
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda name: dialogs(name, create=True), names))
    assert [each.dialog for each in opened] == names
    opened[0].user("hi")
    assert dialogs(names[0]) is not opened[0]
    assert dialogs(names[-1], create=True) is opened[-1]
    dialogs.close()


def test_a_dialog_that_is_not_bound_looks_like_none(db: str) -> None:
    dialogs = opener(db)
    for name in ("mine", "theirs", "agent"):
        turn(dialogs(name, create=True), "c", name)
    own = scope(dialogs, "mine", "missing", others=("agent",))
    assert [each.dialog for each in own.tracts()] == ["mine"]
    assert [each.dialog for each in own.all_tracts()] == ["mine", "agent"]
    assert own.tract("agent").dialog == "agent"
    messages = []
    for name in ("theirs", "missing"):
        with pytest.raises(NotFoundError) as raised:
            own.tract(name)
        messages.append(str(raised.value).replace(name, "…"))
    assert len(set(messages)) == 1
    dialogs.close()
