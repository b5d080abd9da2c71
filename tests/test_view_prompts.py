"""Prompts: what people asked, and what a dialog is called after."""

from __future__ import annotations

from tests.tui import in_loop, recorded, seat
from tract import Tract
from tract.view.prompts import dialog_label, dialog_title


def test_the_title_is_the_first_thing_that_a_person_asks() -> None:
    with Tract.open() as t:
        assert dialog_title(t.read()) is None
        t.system("You fix bugs.")
        t.user("<command-name>/clear</command-name>")
        t.user("Find the bug.\nIt is somewhere.")
        t.user("Another one.")
        assert dialog_title(t.read()) == "Find the bug."


def test_a_name_that_a_program_made_up_is_left_out() -> None:
    assert dialog_label("nightly", "Fix it") == "nightly: Fix it"
    assert dialog_label("019dd4b9-496d-7581-a780-16f20aecff69", "Fix it") == "Fix it"
    assert dialog_label("61cb3ba8-484b-4a21-bf99-34f7dc361170/a1f8104", None).startswith("61cb")
    assert dialog_label("same", "same") == "same"


@in_loop
async def test_keys_go_from_prompt_to_prompt() -> None:
    with recorded() as tract:
        async with seat(tract) as here:
            await here.press("K")
            assert here.here == "Then add the rule."
            await here.press("K")
            assert here.here == "Why does it fail?"
            await here.press("K")
            assert "no earlier prompt" in here.told
            await here.press("J")
            assert here.here == "Then add the rule."
