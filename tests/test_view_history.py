"""What a conversation is made of: a database and a file look the same."""

from __future__ import annotations

from tract import Message, Tract
from tract.core.entries import Entry
from tract.core.transcript import MemoryThread, Transcript
from tract.importers.transcripts import RULES
from tract.view.conversation import Conversation
from tract.view.history import History

MESSAGES = (Message("user", "Why?"), Message("assistant", "Because."))


def from_file() -> History:
    transcript = Transcript("talk", lambda name: MemoryThread(name, RULES))
    transcript.add(Entry(messages=MESSAGES))
    return transcript.threads["talk"].read("main")


def test_both_are_read_alike() -> None:
    with Tract.open(":memory:") as tract:
        for message in MESSAGES:
            tract.commit(message)
        stored: History = tract.read()
        for history in (stored, from_file()):
            assert [history.whole(place) for place in history.places] == list(MESSAGES)
            sent = [history.sent(place) for place in history.places]
            assert [one.message for one in sent if one] == list(MESSAGES)
            assert (history.failures, list(history.toolsets)) == (frozenset(), [])
            assert len(Conversation(history).rows) == 2
