"""What is done to a history at random: more is said, and what was said is changed."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import strategies as st

from tests.forms import dialogs, shapes
from tests.strategies import said
from tests.toolkit import tool_lists
from tract import CompressError, EditError, Message, Priority, Tract


def say(t: Tract, data: st.DataObject) -> None:
    """More messages: results for calls that are compressed by now, and ids used once more."""
    with t.batch():
        for message in data.draw(dialogs)[:4]:
            form = data.draw(st.none() | shapes) if message.role == "tool" else None
            t.commit(message, form=form)


def edit(t: Tract, data: st.DataObject) -> None:
    commit, message = pick(t, data)
    content = data.draw(said)
    t.commit(Message(message.role, content, message.tool_call_id), edit=commit)


def annotate(t: Tract, data: st.DataObject) -> None:
    commit, _ = pick(t, data)
    with suppress(EditError):  # a call around a pinned result
        t.annotate(commit, data.draw(st.sampled_from(Priority)))


def reshape(t: Tract, data: st.DataObject) -> None:
    results = t.find_tool_results()
    if results:
        with suppress(EditError):  # pinned
            t.reshape({data.draw(st.sampled_from(results)).commit_hash: data.draw(shapes)})


def set_tools(t: Tract, data: st.DataObject) -> None:
    t.set_tools(data.draw(tool_lists))


def undo(t: Tract, data: st.DataObject) -> None:
    """Of anything: edits, marks, summaries, undone ones."""
    changes = [info for info in t.log() if info.operation != "append"]
    if changes:
        with suppress(EditError):  # undone already, or under another summary
            t.restore(data.draw(st.sampled_from(changes)))


def pick(t: Tract, data: st.DataObject) -> tuple[str, Message]:
    context = t.compile()
    if not context.messages:
        return t.user("to begin with").commit_hash, Message("user")
    place = data.draw(st.integers(0, context.commit_count - 1))
    commit = context.commit_hashes[place]
    return commit, t.get_message(commit)


CHANGES = [say, edit, annotate, reshape, set_tools, undo]


def legal_selection(t: Tract, data: st.DataObject) -> list[str]:
    """Commits in the view, whole turns only, in any order."""
    visible = list(dict.fromkeys(t.compile().commit_hashes))
    chosen = set(data.draw(st.lists(st.sampled_from(visible), unique=True))) if visible else set()
    for turn in t.find_tool_turns():
        if chosen & set(turn.all_hashes):
            chosen |= set(turn.all_hashes)
    return data.draw(st.permutations(sorted(chosen)))


def compress(t: Tract, data: st.DataObject) -> None:
    """A dialog whose model is scripted."""
    with suppress(CompressError):  # nothing is chosen, or nothing gets shorter
        t.compress(legal_selection(t, data))
