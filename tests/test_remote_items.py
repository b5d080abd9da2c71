"""What was read of a transcript, as lines and back, and imported by a server."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.importing import as_lines, file_of
from tests.samples.claude_code import answer, call, result, user
from tests.serving import serving, url_of
from tract import DialogNotFoundError, InputError, Tract, connect, import_file, importers
from tract.access import new_token, token_digest
from tract.core.drafts import Details
from tract.core.entries import Entry, Facts, FullHistory, Problem, Unknown
from tract.importers.transcripts import read_items
from tract.model import Form, Message, Shape, Text, ToolCall
from tract.remote.items import Item, pack_lines, unpack_lines

FILES = {
    f"{module}-{kind}": content
    for module in importers.MODULES
    for kind, content in import_module(f"tests.samples.{module}").FILES.items()
}


@pytest.mark.parametrize("name", FILES)
def test_all_that_is_read_comes_back(tmp_path: Path, name: str) -> None:
    source = file_of(tmp_path, FILES[name])
    items = list(read_items(importers.importer_of(source), source))
    assert repr(list(unpack_lines(pack_lines(items)))) == repr(items)


def test_values_that_no_sample_has_come_back() -> None:
    call = ToolCall("c1", "ls", {"big": 1 << 70, "lone": "\ud800", "pi": 3.5, "none": None})
    items: list[Item] = [
        Entry(
            messages=(Message("assistant", (Text("a"), call)), Message("tool", None, "c1")),
            compacts=True,
            shape=Shape(Form.TRUNCATED, text="a…"),
        ),
        FullHistory(
            [Message("user", "a")], None, True, Details(None, {"a": 1}, {"b": 2}, {"c": 3})
        ),
        Facts(title="\u2028", dialog="x", cost=0.25),
        Unknown("line 1", "odd", [None, {"a": "\x00"}]),
        Problem("line 2", "broken"),
    ]
    assert repr(list(unpack_lines(pack_lines(items)))) == repr(items)


def test_what_json_cannot_hold_is_a_problem() -> None:
    items: list[Item] = [Unknown("line 1", "odd", float("nan"), "x"), Problem("line 2", "broken")]
    first, second = unpack_lines(pack_lines(items))
    assert isinstance(first, Problem)
    assert first.place == "x"
    assert second == items[1]


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"problem": {"place": "a", "what": "b"}, "facts": {}}',
        b'{"entry": {"messages": [{"role": "user", "content": [{"odd": 1}]}]}}',
        b'{"entry": {"messages": [{"role": 1}]}}',
        b'{"entry": {"messages": [], "time": "yesterday"}}',
        b'{"other": 1}',
    ],
)
def test_other_lines_are_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        list(unpack_lines(data))


# On a server


def histories(tract: Tract) -> dict[str, Any]:
    """All that is stored, but for times."""
    return {
        info.dialog: (
            info.facts,
            [commit.commit_hash for commit in tract.sibling(info.dialog).log()],
            tract.sibling(info.dialog).branches(),
        )
        for info in tract.dialogs()
    }


def test_a_server_imports_what_a_file_would_have(tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    folder.mkdir()
    for name, content in FILES.items():
        file_of(folder, content, name)
    with (
        serving(str(tmp_path / "s.db"), durability="relaxed") as server,
        connect(url_of(server)) as there,
        Tract.open(tmp_path / "t.db", durability="relaxed") as here,
    ):
        for path in sorted(folder.iterdir()):
            assert import_file(there, path) == import_file(here, path)
        assert histories(there) == histories(here)


def spilled(folder: Path) -> Path:
    """A session whose result is in a file beside it."""
    text = "Output too large (85KB). Full output saved to: /old/tool-results/b.txt\n\nPreview:\nabc"
    (folder / "s" / "tool-results").mkdir(parents=True)
    (folder / "s" / "tool-results" / "b.txt").write_text("all of it")
    path = folder / "s.jsonl"
    records = [
        user("u1", None, "Run it."),
        answer("u2", "u1", "m1", call("t1", "Bash")),
        user("u3", "u2", [result("t1", text)]),
    ]
    path.write_bytes(as_lines(*records))
    return path


def test_files_beside_a_transcript_are_imported_too(tmp_path: Path) -> None:
    path = spilled(tmp_path)
    with serving(str(tmp_path / "s.db")) as server, connect(url_of(server)) as there:
        imported = import_file(there, path, dialog="d")
        assert (imported.dialogs, imported.path) == (["d"], str(path))
        assert there.sibling("d").get_tool_result("t1").endswith("all of it")
        [info] = there.dialogs()
        assert info.facts.source == str(path)


def test_a_token_imports_into_its_dialogs_alone(tmp_path: Path) -> None:
    path = file_of(tmp_path, [{"role": "user", "content": "Hi"}], "chat.json").path
    database, secret = str(tmp_path / "s.db"), new_token()
    with Tract.open(database) as tract:
        tract.store.grants.add("ada", token_digest(secret), "write", ["ada/"])
        tract.sibling("chat").user("Mine.")
    with serving(database) as server, connect(server.url, token=secret) as there:
        assert import_file(there, path, dialog="ada/1").messages == 1
        for name in ("chat", "other"):  # the same, whether it exists or not
            with pytest.raises(DialogNotFoundError, match=f"no dialog '{name}'"):
                import_file(there, path, dialog=name)
        assert [info.dialog for info in there.dialogs()] == ["ada/1"]


def test_a_name_that_no_dialog_can_have_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, [{"role": "user", "content": "Hi"}], "chat.json").path
    with serving(str(tmp_path / "s.db")) as server, connect(url_of(server)) as there:
        with pytest.raises(InputError, match="not a name for a dialog"):
            import_file(there, path, dialog="a\nb")
        assert there.dialogs() == []
