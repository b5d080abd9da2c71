"""Facts: what a conversation is about."""

from datetime import UTC, datetime, timedelta

from tract import ToolCall, Tract
from tract.view.conversation import Conversation
from tract.view.facts import Facts, Prompt, fact_lines, facts_of
from tract.view.moments import Moment

START = datetime(2026, 2, 3, 12, 0, tzinfo=UTC)


def facts_of_dialog(t, **known):
    conversation = Conversation(t.read())
    order = {place.origin.id: n for n, place in enumerate(conversation.history.places)}

    def moment(place):
        time = START + timedelta(seconds=30 * order[place.origin.id])
        return Moment(time, "m-1" if place.origin.role == "assistant" else None)

    rows = range(len(conversation.rows))
    return facts_of(conversation, rows, moment, Facts(dialog="d", **known))


def dialog():
    t = Tract.open()
    t.user("Fix it")
    edit = {"file_path": "src/a.py", "old_string": "x", "new_string": "y"}
    t.assistant(
        "", tool_calls=[ToolCall("1", "Edit", edit), ToolCall("2", "Bash", {"command": "ls"})]
    )
    t.tool_result("1", "Edit", "ok")
    t.tool_result("2", "Bash", "no such file", is_error=True)
    t.user("<system-reminder>be kind</system-reminder>")
    t.user("And the tests?")
    return t


def test_facts_are_read_off_a_conversation():
    facts = facts_of_dialog(dialog())
    assert (facts.title, facts.models, facts.files) == ("Fix it", ("m-1",), ("src/a.py",))
    assert (facts.messages, facts.calls, facts.errors) == (6, 2, 1)
    assert [prompt.title for prompt in facts.prompts] == ["Fix it", "And the tests?"]
    assert facts.prompts[1].message == 5
    assert (facts.started, facts.ended) == (START, START + timedelta(seconds=150))


def test_what_the_source_says_outweighs_the_messages():
    facts = facts_of_dialog(dialog(), title="A title", cost="$1.40")
    assert (facts.label, facts.cost) == ("A title", "$1.40")


def test_facts_in_lines():
    facts = facts_of_dialog(dialog(), tokens="1.2M → 34k", cost="$1.40")
    assert fact_lines(facts) == [
        "Fix it",
        "2026-02-03 12:00 UTC, 2 min 30 s · m-1",
        "6 messages, 2 prompts, 2 calls, 1 failed · 1.2M → 34k tokens · $1.40",
        "1 file changed: src/a.py",
    ]
    assert fact_lines(Facts(dialog="d")) == ["d", "0 messages"]


def test_a_prompt_says_where_it_is():
    assert Prompt("t", 3).commit == ""
