"""What is known about a conversation: from its source, else from its messages."""

from __future__ import annotations

from datetime import UTC, datetime

from tract.core.drafts import Details
from tract.core.entries import Entry, Facts, FullHistory
from tract.importers.facts import ConversationFacts
from tract.model import DialogFacts, Message

EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
PROMPT = Entry(messages=(Message("user", "<task>Fix it</task>"),), time=EARLY)
ANSWER = Entry(
    messages=(Message("assistant", "Done"),), time=LATE, model="m-1", usage={"cost": 0.25}
)


def facts_of(*items: object, dialog: str | None = None) -> DialogFacts:
    facts = ConversationFacts()
    for item in items:
        facts.take(item)
    return facts.of(dialog)


def test_messages_show_title_model_times_and_cost() -> None:
    expected = DialogFacts(title="Fix it", model="m-1", started=EARLY, ended=LATE, cost=0.5)
    assert facts_of(PROMPT, ANSWER, ANSWER) == expected


def test_what_a_program_writes_has_no_model() -> None:
    error = Entry(messages=(Message("assistant", "API Error: 401"),), model="<synthetic>")
    assert facts_of(ANSWER, error).model == "m-1"


def test_a_prompt_of_tags_alone_is_no_title() -> None:
    context = Entry(messages=(Message("user", "<environment_context>x</environment_context>"),))
    assert facts_of(context, PROMPT).title == "Fix it"


def test_a_full_history_shows_the_same() -> None:
    details = Details(None, {"time": EARLY.isoformat()}, {"model": "m-1"}, {"cost": 1})
    history = FullHistory([*PROMPT.messages, *ANSWER.messages], None, True, details)
    assert facts_of(history) == DialogFacts(
        title="Fix it", model="m-1", started=EARLY, ended=EARLY, cost=1.0
    )


def test_what_the_source_says_outweighs_the_messages() -> None:
    named = Facts(title="Repair", folder="/src", cost=9)
    found = facts_of(Facts(title="Draft"), PROMPT, ANSWER, named)
    assert (found.title, found.folder, found.cost) == ("Repair", "/src", 9)
    assert found.started == EARLY


def test_each_conversation_has_its_own() -> None:
    child = Entry(messages=(Message("user", "Look"),), dialog="a")
    items = PROMPT, child, Facts(dialog="a", parent="", call_id="c")
    assert facts_of(*items, dialog="a") == DialogFacts(title="Look", parent="", call_id="c")
    assert facts_of(*items).title == "Fix it"
    assert facts_of(*items, dialog="b") == DialogFacts()
