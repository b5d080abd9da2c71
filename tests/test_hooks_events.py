"""The values of events."""

from __future__ import annotations

from tract.hooks.events import joined_text, made_up_id, text_at


def test_only_texts_are_read() -> None:
    assert text_at({"a": 3, "b": ""}, "a", "b") == ""
    assert text_at({"a": None, "b": "x"}, "a", "b") == "x"


def test_a_made_up_id_depends_on_the_event_and_is_legible() -> None:
    first = made_up_id("run shell\ncommand", "10:00", {"command": "ls"})
    assert first == made_up_id("run shell\ncommand", "10:00", {"command": "ls"})
    assert first != made_up_id("run shell\ncommand", "10:01", {"command": "ls"})
    assert first.startswith("runshellcommand-")
    assert made_up_id("→", 1).startswith("call-")


def test_blocks_are_joined_only_if_all_of_them_are_texts() -> None:
    text = {"type": "text", "text": "a"}
    assert joined_text([text, {"text": "b"}]) == "a\nb"
    for other in ([], None, "a", [text, {"type": "image"}], [text, "b"], [{"text": 3}]):
        assert joined_text(other) is None
