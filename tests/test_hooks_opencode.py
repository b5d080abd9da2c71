"""opencode: the events of tract's own plugin, and the plugin itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.hooks import LONG, Hook
from tract.hooks.events import SessionEnd, ToolResult
from tract.hooks.opencode import read
from tract.hooks.plans import Commands, OwnFile, Where, plan


def result(output: Any) -> ToolResult:
    ids = {"sessionID": "s", "callID": "c", "tool": "bash", "args": {}, "directory": "/work/shop"}
    report = read({"event": "tool.execute.after", "output": output} | ids)
    assert isinstance(report, ToolResult)
    return report


def test_a_text_is_replaced() -> None:
    report = result({"title": "ls", "output": "out", "metadata": {}})
    assert report[:4] == ("s", "c", "bash", "out")
    assert report.replace is not None
    assert report.replace("REF") == {"output": "REF"}


def test_a_text_of_a_server_is_replaced_as_a_block() -> None:
    report = result({"content": [{"type": "text", "text": "out"}]})
    assert report.content == "out"
    assert report.replace is not None
    assert report.replace("REF") == {"content": [{"type": "text", "text": "REF"}]}


def test_an_output_that_was_cut_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("all of it")
    cut = {"output": "all…", "metadata": {"truncated": True, "outputPath": str(tmp_path / "full")}}
    assert result(cut).content == "all of it"
    (tmp_path / "full").unlink()
    report = result(cut)
    assert (report.content, report.replace) == ("all…", None)
    assert report.problem == "the file with the full output cannot be read"


@pytest.mark.parametrize("output", [{"output": 3}, {}, None, "text"])
def test_an_unknown_shape_is_stored_only(output: Any) -> None:
    assert (result(output).content, result(output).replace) == (output, None)


def test_attachments_and_pictures_are_stored_only() -> None:
    assert result({"output": "a", "attachments": [{"mime": "image/png"}]}).replace is None
    picture = [{"type": "image", "data": "", "mimeType": "image/png"}]
    assert (result({"content": picture}).content, result({"content": picture}).replace) == (
        picture,
        None,
    )


def test_an_idle_session_leads_to_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    idle = {"event": "session.idle", "sessionID": "s"}
    assert read(idle) == SessionEnd("s", None)
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.db").write_text("")
    assert read(idle) == SessionEnd("s", str(tmp_path / "opencode" / "opencode.db"))


SCRIPT = """
import { Tract } from "./tract.mjs"
const hooks = await Tract({ directory: "/work/shop" })
const output = JSON.parse(process.argv[2])
const input = { tool: "bash", sessionID: "s", callID: "c", args: { command: "ls" } }
await hooks["tool.execute.after"](input, output)
console.log(JSON.stringify(output))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="the plugin needs node")
def test_the_plugin_replaces_a_long_output_and_keeps_a_short_one(tmp_path: Path) -> None:
    hook = Hook(tmp_path)
    words = hook.command("opencode")
    commands = Commands(tuple(words[:3]), hook.db, inline_tokens=500)
    where = Where(tmp_path / "home", {})
    [plugin] = [c for c in plan("opencode", where, commands, ("hook",)) if isinstance(c, OwnFile)]
    (tmp_path / "tract.mjs").write_text(plugin.text)
    (tmp_path / "run.mjs").write_text(SCRIPT)

    def run(output: dict[str, Any]) -> Any:
        argument = json.dumps(output)
        done = subprocess.run(
            ["node", "run.mjs", argument],
            cwd=tmp_path,
            env=hook.env,
            capture_output=True,
            timeout=60,
        )
        return json.loads(done.stdout)

    short = {"title": "ls", "output": "a", "metadata": {}}
    assert run(short) == short
    long = run(short | {"output": LONG})
    assert long["title"] == "ls"
    assert 'tract_get_tool_result(id="c#2")' in long["output"]
