"""The screen of one dialog: every change is one commit, and undone, all is as it was before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding
from textual.widgets import OptionList

from tests.corpus import DATA, real_files
from tests.tui import Seat, commit_of, in_loop, numbered, recorded, result, seat, sent_bytes, use
from tract import Tract
from tract.economy.prices import PriceList, prices_of
from tract.importers.writer import import_file
from tract.tui.help import HELP
from tract.tui.modals import Edit, Editor
from tract.tui.reader import Reader
from tract.view.blocks import ToolResultBlock

Act = Callable[[Seat], Awaitable[None]]


async def to(here: Seat, words: str) -> None:
    """Go to the first block that begins with these words."""
    await here.press("g")
    for _ in range(50):
        if here.here.startswith(words):
            return
        await here.press("j")
    raise AssertionError(f"{words}\n{here.text}")


async def rewrite(here: Seat, text: str) -> None:
    """Put another text into the editor, and save it."""
    assert isinstance(here.app.screen, Edit)
    here.app.screen.query_one(Editor).text = text
    await here.press("ctrl+s")


# Changes


async def edit(here: Seat, words: str, text: str) -> None:
    await to(here, words)
    await here.press("e")
    await rewrite(here, text)


async def edit_text(here: Seat) -> None:
    await edit(here, "The Makefile has", "It has none.")
    assert "It has none." in here.text
    assert "edited" in here.text


async def edit_call(here: Seat) -> None:
    await edit(here, "[tool_use] Bash ls", '{"command": "ls -la"}')
    assert "[tool_use] Bash ls -la" in here.text


async def edit_result(here: Seat) -> None:
    await edit(here, "[tool_result:error]", "something else")
    assert "(14 bytes): something else" in here.text


async def mark(here: Seat, words: str, key: str, told: str) -> None:
    """Do with one key what is then told of a block."""
    await to(here, words)
    await here.press(key)
    assert told in here.text


async def pin(here: Seat) -> None:
    await mark(here, "Then add the rule.", "p", "pinned")


async def leave_out(here: Seat) -> None:
    await mark(here, "Why does it fail?", "-", "skipped")


async def fold(here: Seat) -> None:
    await mark(here, "[tool_use] Bash ls", "c", "collapsed")


async def reshape(here: Seat) -> None:
    await to(here, "[Read]")
    await here.press("r")
    for _ in range(10):
        if "reference" in highlighted(here):
            break
        await here.press("down")
    await here.press("enter")
    assert "reference" in here.here


async def restore(here: Seat) -> None:
    """Two things are done to a message by somebody else, and undone at once."""
    commit = commit_of(here.reader.dialog, 7)
    here.reader.dialog.annotate(commit, "pinned")
    here.reader.dialog.annotate(commit, "skip")
    await here.until(lambda: "skipped" in here.text)
    await to(here, "The Makefile has")
    await here.press("R")
    assert "skipped" not in here.text


def highlighted(here: Seat) -> str:
    """The line of a choice that is taken by enter."""
    options = here.app.screen.query_one(OptionList)
    return str(options.get_option_at_index(options.highlighted or 0).prompt)


@pytest.mark.parametrize("act", [edit_text, edit_call, edit_result, pin, leave_out, fold, reshape])
@in_loop
async def test_a_change_is_one_commit_and_undone_all_is_as_before(act: Act) -> None:
    with recorded() as tract:
        before, written = sent_bytes(tract), len(list(tract.log()))
        async with seat(tract, size=(80, 80)) as here:
            screen = here.body
            await act(here)
            where = here.pane.cursor
            assert len(list(tract.log())) == written + 1
            assert act is pin or sent_bytes(tract) != before
            assert here.body != screen
            assert any("undo with u" in word for word in here.told)
            await here.press("u")
            assert len(list(tract.log())) == written + 2
            assert sent_bytes(tract) == before
            assert here.body == screen
            assert here.pane.cursor.block == where.block
            await here.press("u")
            assert here.told[-1] == "nothing to undo on this screen"
            assert len(list(tract.log())) == written + 2


@in_loop
async def test_restore_undoes_all_that_was_done_to_a_message_in_one_commit() -> None:
    with recorded() as tract:
        before, written = sent_bytes(tract), len(list(tract.log()))
        async with seat(tract, size=(80, 80)) as here:
            await restore(here)
            assert len(list(tract.log())) == written + 3
            assert sent_bytes(tract) == before


@pytest.mark.parametrize(("key", "word"), [("p", "pinned"), ("-", "skipped"), ("c", "collapsed")])
@in_loop
async def test_the_same_key_again_makes_it_normal_again(key: str, word: str) -> None:
    with recorded() as tract:
        before = sent_bytes(tract)
        async with seat(tract, size=(80, 80)) as here:
            await to(here, "[Bash] ls")
            await here.press(key)
            assert word in here.here
            await here.press(key)
            assert word not in here.here
            assert sent_bytes(tract) == before
            await here.press("u", "u")
            assert sent_bytes(tract) == before


@in_loop
async def test_changes_are_undone_one_after_the_other() -> None:
    with recorded() as tract:
        states = [sent_bytes(tract)]
        async with seat(tract, size=(80, 80)) as here:
            for act in (edit_text, reshape, leave_out, fold):
                await act(here)
                states.append(sent_bytes(tract))
            assert len(set(states)) == len(states)
            for state in states[-2::-1]:
                await here.press("u")
                assert sent_bytes(tract) == state


@in_loop
async def test_the_cursor_stays_on_what_was_changed_also_when_the_frontier_moves() -> None:
    with recorded() as tract:
        async with seat(tract, size=(80, 80)) as here:
            for words in ("[Read]", "[tool_result:error]", "[Bash] ls"):
                await to(here, words)
                await here.press("-")
                assert here.here.startswith(words)
                assert "skipped" in here.here


@in_loop
async def test_marked_messages_are_reshaped_in_one_commit() -> None:
    with recorded() as tract:
        written = len(list(tract.log()))
        async with seat(tract, size=(80, 80)) as here:
            await to(here, "[Read]")
            await here.press("v", "v")
            assert "2 marked" in here.title
            assert sum(line.startswith("•") for line in here.lines) == 2
            await here.press("r", "end", "enter")
            assert "marked" not in here.title
            found = [line for line in here.body if "collapsed" in line and "bytes" in line]
            assert len(found) == 2
        assert len(list(tract.log())) == written + 1


@in_loop
async def test_a_short_result_that_stays_in_full_is_said_once() -> None:
    with recorded() as tract:
        tract.assistant(tool_calls=[{"id": "short", "name": "ls", "arguments": {}}])
        tract.tool_result("short", "ls", "a.py")
        async with seat(tract, size=(80, 40)) as here:
            await here.press("G", "r", "end", "up", "enter")
            assert here.told[-1] == "1 short result stays in full: short; undo with u"


@in_loop
async def test_what_cannot_be_done_is_said_and_nothing_is_written() -> None:
    with recorded() as tract:
        written = len(list(tract.log()))
        async with seat(tract, size=(80, 80)) as here:
            await to(here, "Why does it fail?")
            await here.press("r", "end", "enter")  # only results have forms
            await here.press("c")
            await here.press("R")
            await to(here, "[thinking]")
            await here.press("e")
            await here.press("g", "p", "-", "e", "r", "R", "c", "b")
            assert len(here.told) >= 4
            assert "this cannot be edited: only texts, calls and results can" in here.told
            assert "this is not a message" in here.told
            assert "this is not a call or a result" in here.told
            await here.press("G")
            assert here.here == "I have added it."
        assert len(list(tract.log())) == written


@in_loop
async def test_an_edit_that_is_left_or_changes_nothing_writes_nothing() -> None:
    with recorded() as tract:
        written = len(list(tract.log()))
        async with seat(tract) as here:
            await here.press("e")
            await here.write("more")
            await here.press("escape", "e", "ctrl+s")
            assert not here.told
        assert len(list(tract.log())) == written


@in_loop
async def test_arguments_that_are_no_json_any_more_are_refused_and_said() -> None:
    with recorded() as tract:
        written = len(list(tract.log()))
        async with seat(tract) as here:
            await edit(here, "[tool_use] Bash ls", '{"command": ')
            assert "not valid JSON" in here.text
            assert '{"command": ' in here.text  # what was typed is not lost
            await here.press("end", *'"pwd"}', "ctrl+s")
            assert here.here == "[tool_use] Bash pwd"
        assert len(list(tract.log())) == written + 1


@in_loop
async def test_what_is_typed_is_what_is_written() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await here.press("e", "end")
            await here.write(" Now go.")
            await here.press("enter", "x", "ctrl+s")
            assert "I have added it. Now go." in here.text
        assert tract.read().whole(tract.read().places[-1]).text == "I have added it. Now go.\nx"


@in_loop
async def test_an_edit_in_the_sent_view_changes_the_same_text() -> None:
    twice = [{"type": "text", "text": "same"}, {"type": "text", "text": "same"}]
    spoken = [{"role": "user", "content": [{"type": "text", "text": "first"}, *twice]}]
    with recorded(request={"messages": spoken}) as tract:
        async with seat(tract) as here:
            await here.press("S", "G", "e")
            await rewrite(here, "other")
            said = [line.strip() for line in here.body if line]
            assert said[1:4] == ["first", "same", "other"]


# Branches


async def branch(here: Seat, name: str) -> None:
    """Begin a branch at the cursor."""
    await here.press("b")
    await here.write(name)
    await here.press("enter")


@in_loop
async def test_a_branch_begins_at_the_cursor_and_others_can_be_gone_to() -> None:
    with recorded() as tract:
        heads = tract.branches()
        async with seat(tract, size=(80, 60)) as here:
            await to(here, "The Makefile has")
            await branch(here, "side")
            assert "side · " in here.title
            assert "Then add the rule." not in here.text
            assert here.reader.dialog.branches()["main"] == heads["main"]
            await here.press("p", "B")
            assert "main" in here.text
            await here.press("home", "enter")
            assert "side" not in here.title
            assert "Then add the rule." in here.text
            assert "pinned" not in here.text
            await here.press("u")
            assert here.told[-1] == "nothing to undo on this screen"


@in_loop
async def test_a_branch_at_the_end_is_told_in_the_title() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await branch(here, "side")
            assert "side · " in here.title


@in_loop
async def test_a_branch_that_is_there_already_is_said() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await branch(here, "main")
            assert "main" in here.told[-1]
            assert "side" not in here.title


# Others at work


@in_loop
async def test_a_branch_that_is_removed_underneath_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path) as tract, Tract.open(path, dialog="work") as other:
        tract.branch("side")
        async with seat(tract) as here:
            await here.press("B", "end", "enter")
            assert "side · " in here.title
            other.checkout("main")
            other.delete_branch("side")
            await here.until(lambda: any("deleted" in word for word in here.told))
            await asyncio.sleep(1.2)
            await here.settle()
            assert sum("deleted" in word for word in here.told) == 1
            assert "I have added it." in here.text
            await here.press("p", "u", "t", "g", "G", "B", "enter")
            assert "side" not in here.title


@in_loop
async def test_a_dialog_that_is_deleted_underneath(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path, numbered(200)) as tract, Tract.open(path, dialog="other") as other:
        async with seat(tract) as here:
            other.delete_dialog("work")
            await here.press("g", "G", "t", "p", "space", "pageup")
            await here.until(lambda: "not following" in here.title)
            assert any("was deleted" in said for said in here.told)
            await here.press("g", "G", "t", "p", "space", "q")
            assert "work" not in here.text


@in_loop
async def test_a_message_that_is_forgotten_underneath(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path) as tract, Tract.open(path, dialog="work") as other:
        async with seat(tract) as here:
            for number in (1, 2, 3):
                other.forget(commit_of(tract, number))
            await here.press("g", "j", "e")
            if isinstance(here.app.screen, Edit):
                await here.press("escape")
            await here.press("t", "t", "S", "s", "d", "G", "u")
            assert "I have added it." in here.text


@in_loop
async def test_another_one_changes_it_while_it_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path) as tract, Tract.open(path, dialog="work") as other:
        async with seat(tract) as here:
            await here.press("e")
            other.user("something new")
            await here.until(lambda: "11 messages" in here.title)
            await rewrite(here, "changed")
            assert "changed" in here.text
            assert "something new" in here.text


# Original and sent


@in_loop
async def test_original_and_sent_of_one_result_and_of_all() -> None:
    with recorded() as tract:
        tract.reshape({commit_of(tract, 3): "reference", commit_of(tract, 6): "collapsed"})
        async with seat(tract, size=(100, 90)) as here:
            await here.press("t", "t")
            whole = here.body
            assert "[Read /srv/app/main.py (" not in here.text
            await to(here, "[tool_result] Read")
            await here.press("s")
            assert "[Read /srv/app/main.py (" in here.text
            assert "    Makefile" in here.body
            await here.press("s")
            assert here.body == whole
            await here.press("S")
            assert "sent" in here.title
            assert "[Read /srv/app/main.py (" in here.text
            assert "    Makefile" not in here.body
            assert sum("[tool_result] Bash ls" in line for line in here.body) == 1
            await here.press("s")
            assert "[Read /srv/app/main.py (" not in here.text
            assert "    Makefile" not in here.body
            await here.press("s", "S")
            assert here.body == whole


# Help and back


@in_loop
async def test_help_comes_and_goes_and_q_leads_back() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            before = here.lines
            for key in ("?", "escape", "q", "enter"):
                await here.press("?")
                assert (
                    "undo what was done last" in here.text or "next and previous block" in here.text
                )
                await here.press(key)
                assert here.lines == before
            await here.press("q")
            assert "title" in here.lines[1]
            await here.press("enter")
            assert "I have added it." in here.text
            await here.press("escape", "q")
            assert not here.app.is_running or here.app._exit


SIGNS = {"minus": "-", "slash": "/", "exclamation_mark": "!", "question_mark": "?"}
SIGNS |= {"escape": "esc", "ctrl+down": "ctrl+↓", "ctrl+up": "ctrl+↑"}


@in_loop
async def test_the_help_tells_of_every_key() -> None:
    told = " ".join(span.text for line in HELP for span in line)
    with recorded() as tract:
        async with seat(tract) as here:
            for binding in Reader.BINDINGS:
                assert isinstance(binding, Binding)
                for key in binding.key.split(","):
                    assert f" {SIGNS.get(key, key)} " in f"{told} ? ", key
            assert here.keys.endswith("? keys  q back")


# Real files


def a_dozen() -> list[Path]:
    """One file of each kind, the smaller ones first."""
    folders = sorted(p.name for p in DATA.iterdir() if p.is_dir()) if DATA.exists() else []
    skipped = ("mcp-stdio-replay", "mcp-tool-schemas", "toolbench-answer")
    files = [real_files(folder)[0] for folder in folders if folder not in skipped]
    return sorted(files, key=lambda path: path.stat().st_size)[:14]


def check_results(here: Seat) -> int:
    """Every result on the screen shows its name. How many were there?"""
    pane, body, found = here.pane, here.body, 0
    for y, spot in enumerate(pane._page):
        cell = pane.sheet.cell(spot.row)
        owner = cell.owners[spot.line]
        is_first = owner >= 0 and cell.owners.index(owner) == spot.line
        block = cell.blocks[owner] if is_first else None
        if isinstance(block, ToolResultBlock):
            assert block.tool_name
            assert block.tool_name[: pane.size.width - 30] in body[y]
            found += 1
    return found


@pytest.mark.skipif(not DATA.exists(), reason="the real files are not here")
@in_loop
async def test_real_files_in_every_state() -> None:
    found = 0
    for path in a_dozen():
        with Tract.open(":memory:", durability="relaxed") as tract:
            names = import_file(tract, path).dialogs
            async with seat(tract, names[0]) as here:
                found += check_results(here)
                for key in ("t", "t", "G", "g", "x", "tab", "s", "S", "d", "space", "t", "X"):
                    await here.press(key)
                    found += check_results(here)
    assert found > 100


# Calls and results of every provider


@in_loop
async def test_a_call_and_its_result_far_apart_and_ids_that_come_again() -> None:
    spoken = [
        {
            "role": "assistant",
            "content": [use("a", "Read", path="one"), use("a", "Read", path="b")],
        },
        {"role": "user", "content": [result("a", "1"), result("a", "22")]},
        {"role": "assistant", "content": [use("a", "Grep", pattern="x.*")]},
        {"role": "user", "content": [result("a", "333"), result("gone", "4444")]},
    ]
    with recorded(request={"messages": spoken}) as tract:
        async with seat(tract) as here:
            lines = [line.strip() for line in here.body if "bytes" in line]
            assert lines == [
                *("[Read] one (1 bytes)", "[Read] b (2 bytes)", "[Grep] x.* (3 bytes)"),
                "[tool_result] (4 bytes)",
            ]
            for words, other in (("[Read] b", "[tool_use] Read b"), ("[Grep]", "[tool_use] Grep")):
                await to(here, words)
                await here.press("tab")
                assert here.here.startswith(other)


# Others change the same dialog


@in_loop
async def test_a_mark_stays_on_its_message_and_never_falls_on_another(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path) as tract, Tract.open(path, dialog="work") as other:
        async with seat(tract) as here:
            await to(here, "Why does it fail?")
            await here.press("v")
            other.user("Why?", edit=commit_of(tract, 1))
            await here.until(lambda: "Why?" in here.text)
            await here.press("minus")
            texts = [message.text for message in tract.compile().messages]
            assert "Why?" not in texts
            assert any("I look at both." in text for text in texts)
            await here.press("G", "v", "b")
            await here.write("side")
            await here.press("enter")
            assert "marked" not in here.title


@in_loop
async def test_marks_go_on_by_messages_and_are_all_changed_by_one_commit() -> None:
    with recorded() as tract:
        written = len(list(tract.log()))
        async with seat(tract) as here:
            await to(here, "[tool_use] Read")
            await here.press("v", "v", "p")
            assert "2 marked" not in here.title
        commits = list(tract.log())
        assert len(commits) == written + 1
        assert [mark.value for mark in commits[0].marks] == ["pinned", "pinned"]


@in_loop
async def test_what_somebody_else_has_undone_does_not_block_the_undo(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path) as tract, Tract.open(path, dialog="work") as other:
        before = sent_bytes(tract)
        async with seat(tract) as here:
            await to(here, "Why does it fail?")
            await here.press("p")
            await to(here, "The Makefile has")
            await here.press("minus")
            other.restore(next(iter(other.log())))
            await here.press("u")
            assert "pinned" not in here.text
            await here.press("u")
            assert "nothing to undo" in here.told[-1]
        assert sent_bytes(tract) == before


@in_loop
async def test_what_was_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with recorded(path) as tract, Tract.open(path, dialog="work") as other:
        async with seat(tract) as here:
            await to(here, "Why does it fail?")
            await here.press("e")
            other.user("theirs", edit=commit_of(tract, 1))
            await rewrite(here, "mine")
            assert "another process changed" in here.text
            assert "mine" in here.text
            await here.press("escape")
        assert tract.stored().messages[1].text == "theirs"


# Times and costs


def timed(second: int) -> dict[str, Any]:
    return {"time": f"2026-03-12T16:41:{second:02}+00:00"}


@in_loop
async def test_an_answer_has_its_time_duration_and_cost() -> None:
    with Tract.open(":memory:", dialog="work") as tract:
        tract.user("How long?", metadata=timed(0))
        usage = {"input_tokens": 20_000, "output_tokens": 1000}
        model = {"model": "m-1"}
        prices = PriceList(prices_of({"m": {"input": 1, "output": 10}}))
        tract.assistant("Ten.", metadata=timed(8), generation_config=model, usage=usage)
        async with seat(tract, prices=prices) as here:
            (head,) = [line for line in here.body if line.startswith("assistant")]
            assert head.endswith(" 16:41:08 · 8.0 s · $0.03")
            assert here.body[0].endswith(" 16:41:00")
            assert here.status.endswith(" · 2026-03-12 16:41 UTC · took 8.0 s")
