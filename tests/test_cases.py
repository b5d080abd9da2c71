"""Small files that once went wrong, and what each must give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli import invoke
from tests.validity import violations
from tract import InputError, Tract, import_file
from tract.importers.transcripts import read_transcript
from tract.providers import PROVIDERS

CASES = Path(__file__).parent / "cases"


class Expected(NamedTuple):
    messages: int
    calls: int = 0
    results: int = 0
    places: tuple[str, ...] = ()
    """Where the problems are."""
    unknown: tuple[str, ...] = ()


FULL = Expected(17, 8, 8)
LOST = FULL._replace(messages=16, results=7)
CUT = Expected(10, 5, 4, ("end of file",))
CHAT = Expected(13, 6, 6)
EXPECTED = {
    "anth_full.json": FULL,
    "anth_badblock.json": LOST._replace(places=("message 9, block 1",)),
    "anth_contentnull.json": LOST._replace(places=("message 9",)),
    "anth_msgnull.json": LOST._replace(places=("message 9",)),
    "anth_emptyblock.json": FULL._replace(places=("message 9, block 2",)),
    "anth_textnull.json": FULL._replace(places=("message 9, block 2",)),
    "anth_unknownblock.json": FULL,
    "anthl_badblock.jsonl": LOST._replace(places=("line 9",)),
    "anthl_contentnull.jsonl": LOST._replace(places=("line 9",)),
    "anthl_msgnull.jsonl": LOST._replace(places=("line 9",)),
    "anthl_emptyblock.jsonl": FULL._replace(places=("line 9, block 2",)),
    "anthl_textnull.jsonl": FULL._replace(places=("line 9, block 2",)),
    "anthl_unknownblock.jsonl": FULL,
    "anth_cut.json": CUT,
    "anthreq_cut.json": CUT,
    "chat_full.json": Expected(4, 1, 1),
    "chat_cut.json": Expected(2, 1, 0, ("end of file",)),
    "chat_argsnull.json": CHAT._replace(places=("line 1, message 6, call 1",)),
    "chat_badblock.json": CHAT._replace(places=("line 1, message 6",)),
    "chat_callsnull.json": Expected(12, 5, 6, ("line 1, message 6",)),
    "chat_contentdict.json": CHAT._replace(places=("line 1, message 6",)),
    "chat_msgnull.json": CHAT._replace(places=("line 1, message 6",)),
    "chat_norole.json": CHAT._replace(places=("line 1, message 6",)),
    "codex_new_type.jsonl": Expected(2, unknown=("some_new_thing",)),
    "codex_world_state.jsonl": Expected(2, unknown=("world_state",)),
    "gemini_split.json": Expected(4, 2, 2),
    "noid.json": Expected(4, 1, 1),
    "noid_first.json": Expected(3, 1, 1),
    "noid_req.json": Expected(4, 1, 1),
    "noid_req_first.json": Expected(2, 1, 1),
    "stream_message_and_delta.jsonl": Expected(2, 1),
    "stream_null_calls.jsonl": Expected(2, 1),
    "stream_text_lost.jsonl": Expected(2),
    "thinking_only.json": Expected(3),
}


def imported(name: str) -> Any:
    """The context of the dialog that a case becomes."""
    with Tract.open() as t:
        report = import_file(t, CASES / name, dialog="case")
        assert report.dialogs == ["case"]
        yield report
        yield Tract(t.session.sibling("case")).compile()


def test_each_case_is_expected() -> None:
    assert {path.name for path in CASES.glob("*.json*")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_case_gives_what_it_must(name: str) -> None:
    report, context = imported(name)
    assert EXPECTED[name] == Expected(
        report.messages,
        report.calls,
        report.results,
        tuple(problem.place for problem in report.problems),
        tuple(report.unknown),
    )
    assert violations(context) == []


@pytest.mark.parametrize("name", EXPECTED)
def test_a_case_is_shown_with_the_same_problems(name: str) -> None:
    transcript = read_transcript(CASES / name)
    assert tuple(problem.place for problem in transcript.problems) == EXPECTED[name].places


def test_one_bad_file_does_not_stop_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("--db", "t.db", "import", str(CASES / "folder"), "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert [Path(file["path"]).name for file in report["files"]] == [
        "a_ok.json",
        "b_crash.jsonl",
        "c_ok.json",
    ]
    assert report["failed"] == []


@pytest.mark.parametrize("name", ["codex_new_type.jsonl", "codex_world_state.jsonl"])
def test_an_unknown_record_is_in_no_request(name: str) -> None:
    report, context = imported(name)
    assert [(message.role, message.text) for message in context.messages] == [
        ("user", "hi"),
        ("assistant", "hello"),
    ]
    for provider in PROVIDERS:
        request = json.dumps(getattr(context, f"to_{provider}")())
        assert not any(kind in request for kind in report.unknown)


def test_pieces_of_a_text_beside_a_message_are_joined() -> None:
    _, context = imported("stream_text_lost.jsonl")
    assert context.messages[-1].text == "Hello wide world"


def test_an_unknown_block_goes_back_to_its_provider() -> None:
    _, context = imported("anth_unknownblock.json")
    original = json.loads((CASES / "anth_unknownblock.json").read_bytes())
    assert context.to_anthropic()["messages"] == original


@pytest.mark.parametrize("name", ["noid.json", "noid_first.json", "noid_req.json"])
def test_calls_without_ids_are_sent_with_them(name: str) -> None:
    _, context = imported(name)
    messages = context.to_openai()
    calls = [call["id"] for m in messages for call in m.get("tool_calls", [])]
    assert calls == [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert len(calls) == 1


def test_contents_that_are_joined_are_noted() -> None:
    _, context = imported("gemini_split.json")
    context.to_gemini()
    assert context.notes


def test_thoughts_alone_are_no_empty_answer() -> None:
    _, context = imported("thinking_only.json")
    assert all(message.get("content") != "" for message in context.to_openai())


def test_the_complete_file_continues_what_the_cut_one_had() -> None:
    with Tract.open() as grown, Tract.open() as once:
        for name in ("chat_cut.json", "chat_full.json"):
            import_file(grown, CASES / name, dialog="case")
        import_file(once, CASES / "chat_full.json", dialog="case")
        after, alone = (t.session.sibling("case") for t in (grown, once))
        assert after.store.branches("case").keys() == alone.store.branches("case").keys()
        assert after.head().hash == alone.head().hash


def test_a_list_of_no_messages_is_refused_by_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    values = [{"foo": 1}, {"bar": 2}]
    Path("list.json").write_text(json.dumps(values))
    assert invoke("--db", "t.db", "import", "list.json").exit_code == 1
    assert invoke("show", "list.json").exit_code != 0
    with Tract.open() as t, pytest.raises(InputError, match="nearest"):
        t.record(values)
