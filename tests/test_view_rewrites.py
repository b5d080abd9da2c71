"""Which commits rewrote what a model had seen, and how far that reaches."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import changes
from tests.changes import BIG, COMMITS, Names, newest
from tract import Tract
from tract.core.chain import undone_commits
from tract.errors import EditError
from tract.model import CommitInfo, Form, Message, Shape, Step
from tract.view.rewrites import epochs, frontier

grow = partial(changes.grow, thoughts=False)
"""Without thoughts a change reaches no further than what it changes."""


def found(tract: Tract) -> list[tuple[str, str, bool]]:
    """The epochs: the commit, its words and whether it is undone."""
    seen = epochs(tract.read().chain)
    return [(epoch.step.hash.hex(), epoch.words, epoch.is_undone) for epoch in seen]


def commits(tract: Tract) -> list[str]:
    return [commit for commit, _, _ in found(tract)]


def at_frontier(tract: Tract) -> str | None:
    """The message up to which the view was rewritten."""
    reading = tract.read()
    number = frontier(reading)
    return None if number is None else reading.places[number].origin.hash.hex()


@pytest.fixture
def tract() -> Tract:
    return Tract.open(":memory:")


REWRITES = {
    "reference": ("1 → reference", "result1"),
    "truncated": ("1 → truncated", "result1"),
    "summary": ("1 → summary", "result1"),
    "collapsed": ("1 → collapsed", "result1"),
    "two forms": ("1 → collapsed, 1 → reference", "result1"),
    "two of one form": ("2 → reference", "result1"),
    "edited message": ("1 edited", "ask1"),
    "edited result": ("1 edited", "result1"),
    "edited answer": ("1 edited", "answer1"),
    "skipped message": ("1 left out", "ask1"),
    "skipped result": ("1 left out", "result1"),
    "skipped call": ("1 left out", "result1"),
    "compressed": ("3 summed up", "result1"),
}
"""The changes that a model can tell: the words for each, and the last message that it changes."""


def rewritten(tract: Tract, kind: str, names: Names) -> str:
    COMMITS[kind](tract, names)
    return newest(tract)


# Epochs


@pytest.mark.parametrize("kind", REWRITES)
def test_what_the_model_saw_otherwise_is_an_epoch(tract: Tract, kind: str) -> None:
    names = grow(tract)
    words, _ = REWRITES[kind]
    done = rewritten(tract, kind, names)
    assert found(tract) == [(done, words, False)]
    tract.user("more")
    tract.assistant("yes")
    assert found(tract) == [(done, words, False)]


@pytest.mark.parametrize("kind", ["edited message", "skipped message"])
def test_what_it_never_saw_otherwise_is_none(tract: Tract, kind: str) -> None:
    names = {"ask1": tract.user("question").commit_hash}
    rewritten(tract, kind, names)
    assert found(tract) == []
    tract.assistant("answer")
    assert found(tract) == []
    assert at_frontier(tract) is None


@pytest.mark.parametrize("form", ["reference", "truncated", "summary", "collapsed"])
def test_a_form_before_the_next_answer_is_none(tract: Tract, form: str) -> None:
    names = grow(tract, 1)
    tract.user("more")
    tract.assistant("so", tool_calls=[{"id": "d", "name": "Read", "arguments": {}}])
    result = tract.tool_result("d", "Read", BIG).commit_hash
    tract.reshape({result: form})
    tract.assistant("an answer")
    assert found(tract) == []
    tract.reshape({names["result0"]: form})
    assert len(found(tract)) == 1


@pytest.mark.parametrize("form", ["reference", "truncated", "summary", "collapsed"])
def test_a_form_at_birth_is_none(tract: Tract, form: str) -> None:
    grow(tract, 3, form=form)
    assert found(tract) == []
    assert at_frontier(tract) is None


def test_a_summary_of_what_was_never_answered_is_none(tract: Tract) -> None:
    asked = [tract.user(text).commit_hash for text in ("one", "two", "three")]
    tract.compress(asked[:2], content="in short")
    tract.assistant("answer")
    assert found(tract) == []
    assert at_frontier(tract) is None


@pytest.mark.parametrize("kind", REWRITES)
def test_what_was_undone_before_it_was_seen_is_none(tract: Tract, kind: str) -> None:
    names = grow(tract)
    done = rewritten(tract, kind, names)
    tract.restore(done)
    assert found(tract) == []
    assert at_frontier(tract) is None
    tract.assistant("more")
    assert found(tract) == []
    assert at_frontier(tract) is None


@pytest.mark.parametrize("kind", REWRITES)
def test_the_undo_of_what_was_seen_is_one(tract: Tract, kind: str) -> None:
    names = grow(tract)
    words, _ = REWRITES[kind]
    done = rewritten(tract, kind, names)
    tract.user("more")
    tract.assistant("so")
    undo = tract.restore(done)
    assert found(tract) == [(done, words, True), (undo.commit_hash, "1 undone", False)]
    assert at_frontier(tract) is None


def test_an_undo_of_what_was_changed_before_an_answer_is_one(tract: Tract) -> None:
    asked = tract.user("question")
    edit = tract.user("better", edit=asked)
    tract.assistant("answer")
    undo = tract.restore(edit)
    assert commits(tract) == [undo.commit_hash]


@pytest.mark.parametrize("answers", [0, 1])
def test_a_change_that_is_in_force_again_is_not_undone(tract: Tract, answers: int) -> None:
    names = grow(tract)
    done = tract.reshape({names["result0"]: "reference"})
    for _ in range(answers):
        tract.assistant("so")
    undo = tract.restore(done)
    for _ in range(answers):
        tract.assistant("so")
    redo = tract.restore(undo)
    again = [(undo.commit_hash, "1 undone", True), (redo.commit_hash, "1 undone", False)]
    assert found(tract) == [(done.commit_hash, "1 → reference", False), *again[: 2 * answers]]


def test_an_edit_of_an_edit_is_one_even_if_that_is_undone(tract: Tract) -> None:
    names = grow(tract)
    first = tract.user("better", edit=names["ask0"])
    second = tract.user("best", edit=names["ask0"])
    assert commits(tract) == [first.commit_hash, second.commit_hash]
    tract.restore(first)
    assert commits(tract) == [second.commit_hash]


def test_an_edit_of_what_was_edited_before_it_was_seen_is_one_only_later(tract: Tract) -> None:
    asked = tract.user("question")
    tract.user("better", edit=asked)
    tract.user("best", edit=asked)
    assert commits(tract) == []
    tract.assistant("answer")
    last = tract.user("worse", edit=asked)
    assert commits(tract) == [last.commit_hash]


def test_what_comes_back_is_one(tract: Tract) -> None:
    names = grow(tract)
    out = tract.annotate(names["ask0"], "skip").commit_hash
    tract.assistant("so")
    back = tract.annotate(names["ask0"], "normal").commit_hash
    assert found(tract) == [(out, "1 left out", False), (back, "1 back", False)]


def test_a_pin_is_one_only_where_it_shows_more(tract: Tract) -> None:
    names = grow(tract)
    tract.annotate(names["result0"], "pinned")
    tract.annotate(names["ask0"], "pinned")
    tract.annotate(names["ask0"], "normal")
    assert commits(tract) == []
    reshaped = tract.reshape({names["result1"]: "reference"}).commit_hash
    tract.assistant("so")
    pinned = tract.annotate(names["result1"], "pinned").commit_hash
    assert found(tract)[0][0] == reshaped
    assert found(tract)[1:] == [(pinned, "1 pinned", False)]


def test_epochs_are_as_many_as_commits_and_in_their_order(tract: Tract) -> None:
    names = grow(tract, 4)
    done = [
        tract.reshape({names["result0"]: "reference", names["result1"]: "collapsed"}),
        tract.annotate(names["ask2"], "skip"),
        tract.user("otherwise", edit=names["ask3"]),
    ]
    assert commits(tract) == [commit.commit_hash for commit in done]


def test_new_tools_are_none(tract: Tract) -> None:
    grow(tract)
    tract.set_tools([{"name": "ls", "input_schema": {"type": "object"}}])
    tract.assistant("so")
    assert found(tract) == []


def test_a_history_without_anything_has_none(tract: Tract) -> None:
    assert found(tract) == []
    assert at_frontier(tract) is None


# The frontier


@pytest.mark.parametrize("kind", REWRITES)
def test_the_frontier_is_the_last_message_that_is_sent_otherwise(tract: Tract, kind: str) -> None:
    names = grow(tract)
    _, last = REWRITES[kind]
    done = rewritten(tract, kind, names)
    assert at_frontier(tract) == names[last]
    tract.user("more")
    tract.assistant("so")
    assert at_frontier(tract) == names[last]
    tract.restore(done)
    assert at_frontier(tract) is None


def test_the_last_of_several_counts(tract: Tract) -> None:
    names = grow(tract, 3)
    later = tract.reshape({names["result1"]: "reference"})
    tract.user("otherwise", edit=names["ask0"])
    assert at_frontier(tract) == names["result1"]
    tract.restore(later)
    assert at_frontier(tract) == names["ask0"]


def test_another_size_of_the_same_form_is_a_rewrite(tract: Tract) -> None:
    names = grow(tract, form=Shape(Form.TRUNCATED, 100))
    tract.reshape({names["result0"]: Shape(Form.TRUNCATED, 10)})
    assert at_frontier(tract) == names["result0"]


def test_a_pin_is_no_rewrite_of_what_was_edited_before_it_was_seen(tract: Tract) -> None:
    asked = tract.user("question")
    tract.user("better", edit=asked)
    tract.assistant("answer")
    tract.annotate(asked, "pinned")
    assert at_frontier(tract) is None


def test_what_was_left_out_first_and_then_comes_back_is_a_rewrite(tract: Tract) -> None:
    asked = tract.user("question").commit_hash
    tract.annotate(asked, "skip")
    tract.user("another")
    tract.assistant("answer")
    tract.annotate(asked, "normal")
    assert at_frontier(tract) == asked


# Against what is really sent

Sent = dict[int, Message | None]
ops = st.lists(
    st.tuples(
        st.sampled_from(["say", "turn", "turn", "answer", "form", "edit", "mark", "undo", "undo"]),
        st.integers(0, 20),
        st.integers(0, 20),
    ),
    min_size=3,
    max_size=14,
)


class Play:
    """A history, and what a model was sent of it at every commit."""

    def __init__(self) -> None:
        self.tract = Tract.open(":memory:")
        self.messages: list[CommitInfo] = []
        self.changes: list[CommitInfo] = []
        self.views: list[Sent] = [{}]
        self.log: list[CommitInfo] = []

    def do(self, what: str, one: int, other: int) -> None:
        before = len(self.log)
        with suppress(EditError):
            getattr(self, what)(one, other)
        new = list(reversed(list(self.tract.log())))[before:]
        self.log += new
        self.messages += [c for c in new if c.operation == "append"]
        self.changes += [c for c in new if c.operation != "append"]
        self.views += [self._view(commit) for commit in new]

    def _view(self, commit: CommitInfo) -> Sent:
        reading = self.tract.read(at=commit)
        sent = [(place.origin.id, reading.sent(place)) for place in reading.places]
        assert [s.message for _, s in sent if s] == self.tract.compile(at=commit).messages
        return {place: said.message if said else None for place, said in sent}

    def say(self, one: int, other: int) -> None:
        self.tract.user(f"say {one} {other} {len(self.log)}")

    def answer(self, one: int, other: int) -> None:
        self.tract.assistant(f"answer {one} {other} {len(self.log)}")

    def turn(self, one: int, other: int) -> None:
        call = f"c{len(self.log)}"
        self.tract.assistant("so", tool_calls=[{"id": call, "name": "Read", "arguments": {}}])
        self.tract.tool_result(call, "Read", f"{call}\n{BIG}")

    def form(self, one: int, other: int) -> None:
        results = [c for c in self.messages if c.role == "tool"]
        forms = ("reference", "summary", "truncated", "full")
        if results:
            self.tract.reshape({results[one % len(results)].commit_hash: forms[other % 4]})

    def edit(self, one: int, other: int) -> None:
        said = [c for c in self.messages if c.role == "user"]
        if said:
            self.tract.user(f"edit {len(self.log)}", edit=said[one % len(said)])

    def mark(self, one: int, other: int) -> None:
        marks = ("skip", "skip", "normal", "pinned")
        if self.messages:
            self.tract.annotate(self.messages[one % len(self.messages)], marks[other % 4])

    def undo(self, one: int, other: int) -> None:
        if self.changes:
            self.tract.restore(self.changes[-1 - one % min(3, len(self.changes))])

    def rewrites(self) -> list[str]:
        """The commits that changed what was sent for the last answer, unless they were undone
        before the next one, or undo what nobody had seen."""
        found: list[str] = []
        sent: Sent = {}
        answered = 0
        for number, (commit, step) in enumerate(zip(self.log, self.steps, strict=True)):
            before, after = self.views[number], self.views[number + 1]
            if commit.operation == "append":
                if commit.role == "assistant":
                    sent, answered = before, step.id
                continue
            if all(link.kind == "void" and link.target_id > answered for link in step.links):
                continue
            changed = [p for p in sent if after[p] not in (before[p], sent[p])]
            if changed and not self._is_undone_at_once(number, step.id):
                found.append(commit.commit_hash)
        return found

    @property
    def steps(self) -> list[Step]:
        return self.tract.read().chain.steps

    def _is_undone_at_once(self, number: int, commit: int) -> bool:
        following = takewhile(lambda step: step.role != "assistant", self.steps[number + 1 :])
        return commit in undone_commits([*self.steps[: number + 1], *following])


def played(done: list[tuple[str, int, int]]) -> Play:
    play = Play()
    play.do("say", 0, 0)
    for step in done:
        play.do(*step)
    return play


@given(ops)
@settings(max_examples=100)
def test_epochs_are_what_a_model_can_tell(done: list[tuple[str, int, int]]) -> None:
    play = played(done)
    assert commits(play.tract) == play.rewrites()


@given(ops)
@settings(max_examples=100)
def test_the_frontier_is_where_the_view_differs_last(done: list[tuple[str, int, int]]) -> None:
    play = played(done)
    first: Sent = {}
    for number, step in enumerate(play.steps):
        if step.operation == "append" and step.role == "assistant":
            first = {**play.views[number], **first}
    now = play.views[-1]
    changed = [place for place in now if place in first and first[place] != now[place]]
    reading = play.tract.read()
    last = frontier(reading)
    wanted = changed[-1] if changed else None
    assert (None if last is None else reading.places[last].origin.id) == wanted
