from __future__ import annotations

import io
import json
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import DATA
from tests.importing import counts, entries, file_of, kept, messages, problems, read_source
from tests.samples.inspect_log import DONE, LOG, SAMPLE, USER, archive, call
from tract.errors import InputError
from tract.importers import archives, inspect_log
from tract.importers.items import Item
from tract.importers.source import Source
from tract.model import Raw, Text

SHELL = {"name": "bash", "description": "Runs a shell.", "parameters": {"type": "object"}}


def read(folder: Path, document: Any) -> list[Item]:
    return list(inspect_log.read(file_of(folder, document)))


def log(**sample: Any) -> dict[str, Any]:
    return {**LOG, "samples": [{"id": 1, "epoch": 1, **sample}]}


def test_it_takes_logs_and_nothing_else(tmp_path: Path) -> None:
    assert inspect_log.detect(file_of(tmp_path, LOG))
    assert inspect_log.detect(file_of(tmp_path, json.dumps(LOG, indent=2) + " " * 70_000))
    assert inspect_log.detect(file_of(tmp_path, archive(a=SAMPLE)))
    assert inspect_log.detect(file_of(tmp_path, archive(a=SAMPLE)[:-30]))
    others: list[Any] = [{}, [], {"version": 1, "eval": {}}, {"eval": {"task": "t", "model": "m"}}]
    for other in others:
        assert not inspect_log.detect(file_of(tmp_path, other))
    foreign = io.BytesIO()
    with zipfile.ZipFile(foreign, "w") as file:
        file.writestr("samples/readme.txt", "x")
    assert not inspect_log.detect(file_of(tmp_path, foreign.getvalue()))


def test_a_sample_is_a_dialog(tmp_path: Path) -> None:
    items = read(tmp_path, LOG)
    user, called, seen, done = entries(items)
    assert {entry.dialog for entry in entries(items)} == {"1 epoch 1"}
    assert (user.messages[0].role, user.messages[0].content) == ("user", "List.")
    assert called.messages[0].content[0] == Text("Look.")
    (asked,) = called.messages[0].tool_calls
    assert (asked.id, asked.name, asked.arguments) == ("x", "bash", {"cmd": "ls"})
    (result,) = seen.messages
    assert (result.role, result.tool_call_id, result.name) == ("tool", "x", "bash")
    assert (result.content, result.is_error) == ("a.py", False)
    assert done.messages[0].content == "Done."
    assert not problems(items)


def test_what_the_events_know_is_beside_the_answers(tmp_path: Path) -> None:
    user, called, seen, done = entries(read(tmp_path, LOG))
    assert called.tools == [{"type": "function", "function": SHELL}]
    assert (called.usage, called.model) == ({"input_tokens": 5}, "m-1")
    assert called.generation_config == {"temperature": 0.5}
    assert called.time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert seen.time == datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)
    assert (user.tools, done.tools) == (None, None)  # they did not change
    assert called.metadata == {"id": "m2", "model": "m-1"}


def test_each_message_follows_the_one_before(tmp_path: Path) -> None:
    found = entries(read(tmp_path, LOG))
    assert found[0].parent is None
    assert [entry.parent for entry in found[1:]] == [entry.key for entry in found[:-1]]


def test_an_answer_that_is_in_events_only_is_a_branch(tmp_path: Path) -> None:
    other = {"id": "m9", "role": "assistant", "content": "Another try."}
    sample = {**SAMPLE, "events": [*SAMPLE["events"], call(other, input=[USER])]}
    last = entries(read(tmp_path, log(**sample)))[-1]
    assert (last.messages[0].content, last.dialog) == ("Another try.", "1 epoch 1")
    assert last.parent == "1 epoch 1 m1"


def test_a_subagent_is_a_dialog_of_its_own(tmp_path: Path) -> None:
    task = {"id": "s1", "role": "user", "content": "Judge."}
    first = {"id": "s2", "role": "assistant", "content": "Fine."}
    again = {"id": "s3", "role": "user", "content": "Sure?"}
    second = {"id": "s4", "role": "assistant", "content": "Yes."}
    events = [call(first, input=[], input_refs=[[0, 1]]), call(second, input_refs=[[0, 3]])]
    sample = {**SAMPLE, "events": events, "message_pool": [task, first, again]}
    aside = entries(read(tmp_path, log(**sample)))[4:]
    assert [entry.messages[0].content for entry in aside] == ["Judge.", "Fine.", "Sure?", "Yes."]
    assert {entry.dialog for entry in aside} == {"1 epoch 1 call 1"}
    newer = {**sample, "message_pool": None, "events_data": {"messages": [task, first, again]}}
    assert entries(read(tmp_path, log(**newer)))[4:] == aside


def test_a_sample_that_never_began_has_its_input(tmp_path: Path) -> None:
    assert [m.content for m in messages(read(tmp_path, log(input="List.")))] == ["List."]
    given = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
    assert [m.content for m in messages(read(tmp_path, log(input=given, messages=[])))] == [
        "a",
        "b",
    ]


def test_a_failed_call_is_an_error(tmp_path: Path) -> None:
    error = {"type": "timeout", "message": "Too slow."}
    failed = {"role": "tool", "tool_call_id": "x", "content": "", "error": error}
    (message,) = messages(read(tmp_path, log(messages=[failed])))
    assert (message.is_error, message.content) == (True, "Too slow.")


def test_ids_that_are_missing_are_made_up(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": "", "tool_calls": [{"function": "bash"}]}
    given = [asked, {"role": "tool", "function": "bash", "content": "1"}] * 2
    one, first, two, second = messages(read(tmp_path, log(messages=given)))
    assert one.tool_calls[0].id == first.tool_call_id == "call_1"
    assert two.tool_calls[0].id == second.tool_call_id == "call_2"


def test_parts_stay_parts(tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "See:"},
        {"type": "image", "image": "attachment://png", "detail": "auto"},
        {"type": "audio", "audio": "a.mp3"},
    ]
    given = [
        {"role": "user", "content": parts},
        {"role": "tool", "tool_call_id": "x", "content": parts[:2]},
    ]
    sample = log(messages=given, attachments={"png": "data:image/png;base64,AA=="})
    user, result = messages(read(tmp_path, sample))
    image = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,AA==", "detail": "auto"},
    }
    assert user.content == (Text("See:"), Raw("openai", image), Raw("inspect", parts[2]))
    assert result.content == [parts[0], image]


def test_a_thought_goes_back_to_its_provider(tmp_path: Path) -> None:
    thought = {"type": "reasoning", "reasoning": "Hm.", "signature": "s"}
    hidden = {**thought, "redacted": True}
    said = {"role": "assistant", "content": [thought, hidden], "model": "claude-x"}
    other = {"role": "assistant", "content": [thought], "model": "gpt-x"}
    claude, gpt = messages(read(tmp_path, log(messages=[said, other])))
    assert claude.content == (
        Raw("anthropic", {"type": "thinking", "thinking": "Hm.", "signature": "s"}),
        Raw("anthropic", {"type": "redacted_thinking", "data": "Hm."}),
    )
    assert gpt.content == (Raw("inspect", thought),)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    document = {**LOG, "samples": [5, {**SAMPLE, "messages": [USER, {"role": "x"}, DONE]}]}
    items = read(tmp_path, document)
    assert [p.place for p in problems(items)] == ["sample 1", "sample 2: message 2"]
    found = entries(items)
    assert found[1].parent == found[0].key  # what follows the unreadable follows what is there


def test_a_log_without_samples_is_refused(tmp_path: Path) -> None:
    for empty in ("{}", "[]", "no JSON"):
        with pytest.raises(InputError):
            read(tmp_path, empty)


def test_an_archive_is_the_same_as_a_document(tmp_path: Path) -> None:
    assert entries(read(tmp_path, archive(a=SAMPLE))) == entries(read(tmp_path, LOG))


def test_a_sample_that_is_broken_leaves_the_others(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("samples/a_epoch_1.json", "{")
        file.writestr("samples/b_epoch_1.json", json.dumps(SAMPLE))
    items = read(tmp_path, data.getvalue())
    assert [problem.place for problem in problems(items)] == ["samples/a_epoch_1.json"]
    assert len(entries(items)) == 4


@pytest.mark.parametrize("way", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_cut_archive_loses_the_cut_sample_only(tmp_path: Path, way: int) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", way) as file:
        file.writestr("header.json", "{}")
        for number in range(3):
            file.writestr(f"samples/{number}_epoch_1.json", json.dumps({**SAMPLE, "id": number}))
        last = file.infolist()[-1]
    items = read(tmp_path, data.getvalue()[: last.header_offset + 100])
    assert {entry.dialog for entry in entries(items)} == {"0 epoch 1", "1 epoch 1"}
    assert problems(items)


def test_a_cut_archive_whose_sizes_come_late_is_read(tmp_path: Path) -> None:
    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

    data = Stream()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(2):
            file.writestr(f"samples/{number}_epoch_1.json", json.dumps({**SAMPLE, "id": number}))
    items = read(tmp_path, data.getvalue()[:-40])
    assert {entry.dialog for entry in entries(items)} == {"0 epoch 1", "1 epoch 1"}


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("samples/a_epoch_1.json", " " * (20 * 1024 * 1024))
        file.writestr("samples/b_epoch_1.json", json.dumps(SAMPLE))
    items = read(tmp_path, data.getvalue())
    assert ["too many" in problem.what for problem in problems(items)] == [True]
    assert len(entries(items)) == 4


def test_a_size_that_is_a_lie_does_no_harm(tmp_path: Path) -> None:
    data = archive(a=SAMPLE)
    size = len(json.dumps(SAMPLE))
    items = read(tmp_path, data.replace(struct.pack("<L", size), struct.pack("<L", 10)))
    assert entries(items) == []
    assert problems(items)


def test_a_compression_that_is_unknown_is_told(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("samples/a_epoch_1.json", json.dumps(SAMPLE))
    (problem,) = problems(read(tmp_path, data.getvalue()))
    assert "compressed in a way" in problem.what


def test_all_pieces_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_ALL", len(json.dumps(SAMPLE)) + 10)
    items = read(tmp_path, archive(a=SAMPLE, b=SAMPLE))
    assert len(entries(items)) == 4
    assert [problem.place for problem in problems(items)] == ["samples/b_epoch_1.json"]


ARCHIVE = archive(a=SAMPLE, b=SAMPLE)


@settings(max_examples=100, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, len(ARCHIVE) - 1), st.integers(0, 255)), max_size=4),
    end=st.integers(4, len(ARCHIVE)),
)
def test_no_damage_is_a_surprise(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], end: int
) -> None:
    damaged = bytearray(ARCHIVE)
    for place, value in changes:
        if place > 3:
            damaged[place] = value
    source = file_of(tmp_path_factory.mktemp("fuzz"), bytes(damaged[:end]))
    inspect_log.detect(source)
    read_source(inspect_log, source)


@pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")
def test_a_real_document() -> None:
    source = Source(DATA / "inspect-json" / "inspect_browser.json")
    items = list(inspect_log.read(source))
    assert not problems(items)
    assert counts(items) == (10, 4, 4)
    everything = kept(items)
    (sample,) = json.loads(source.path.read_text())["samples"]
    for message in sample["messages"]:
        assert message["content"] in everything
    assert "attachment://" not in everything
    answers = [entry for entry in entries(items) if entry.messages[0].role == "assistant"]
    assert all(entry.usage for entry in answers)
    assert len(answers[0].tools or []) == 8
    assert "attachment://" not in json.dumps(answers[0].tools)


@pytest.mark.skipif(not DATA.exists(), reason="the shared transcripts are not here")
def test_a_real_archive() -> None:
    source = Source(DATA / "inspect-eval" / "inspect_message_dedup.eval")
    items = list(inspect_log.read(source))
    assert not problems(items)
    assert counts(items) == (12, 5, 5)
    with zipfile.ZipFile(source.path) as file:
        sample = json.loads(file.read("samples/0_epoch_1.json"))
    everything = kept(items)
    for message in [*sample["messages"], *sample["message_pool"]]:
        assert message["content"] in everything
