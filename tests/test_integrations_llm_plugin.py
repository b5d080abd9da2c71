"""The plugin for `llm`: real processes of llm load it, with a scripted model on this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from tests.agents import ANSWER, FAULT, LOG, PROMPT, script
from tests.llm_server import LLMServer, Reply
from tract import Tract, validate

ROOT = Path(__file__).resolve().parent.parent
FUNCTIONS = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}]
from tests.agents import check_disk, list_files, read_log
"""
FETCH = ("call_9", "get_tool_result", {"id": "call_1", "lines": "4243"})


class Llm:
    """The command, with a folder and a model of its own."""

    def __init__(self, folder: Path, model: LLMServer) -> None:
        self.model, self.folder = model, folder
        self.database = folder / "tract.db"
        self._install(folder / "site" / "tract_plugin-1.dist-info")
        models = [{"model_id": "scripted", "model_name": "scripted", "supports_tools": True}]
        models[0]["api_base"] = model.openai_url
        (folder / "extra-openai-models.yaml").write_text(json.dumps(models))
        (folder / "functions.py").write_text(FUNCTIONS)
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        paths = os.pathsep.join(map(str, (folder / "site", ROOT / "src", ROOT)))
        self.environment = {
            **kept,
            "LLM_USER_PATH": str(folder),
            "LLM_LOAD_PLUGINS": "tract-plugin",
            "OPENAI_API_KEY": "key",
            "PYTHONPATH": paths,
        }

    def _install(self, folder: Path) -> None:
        """As pip would: with the entry point of the project."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        points = [f"{name} = {module}" for name, module in project["entry-points"]["llm"].items()]
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: tract-plugin\nVersion: 1\n")
        (folder / "entry_points.txt").write_text("\n".join(["[llm]", *points]))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "llm", *arguments]

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, prompt: str, *options: str) -> str:
        return self.run("prompt", "-m", "scripted", *options, prompt)


@pytest.fixture
def model() -> Iterator[LLMServer]:
    with LLMServer() as server:
        yield server


@pytest.fixture
def command(tmp_path: Path, model: LLMServer) -> Llm:
    return Llm(tmp_path, model)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What llm logs of a conversation with three tools, one of which fails."""
    folder = tmp_path_factory.mktemp("llm")
    first, second, _, last = script()
    with LLMServer(first, second, last) as model:
        assert ANSWER in Llm(folder, model).ask(PROMPT, "--functions", "functions.py")
    return folder / "logs.db"


@pytest.fixture
def worked(command: Llm, logs: Path) -> Llm:
    """The command after that conversation."""
    shutil.copy(logs, command.folder)
    return command


def test_the_logs_become_dialogs(worked: Llm) -> None:
    assert "1 dialog, 7 messages, 3 calls, 3 results" in worked.run("tract", "import")
    assert "0 messages" in worked.run("tract", "import")
    with Tract.open(worked.database) as t:
        [info] = t.dialogs()
    with Tract.open(worked.database, dialog=info.dialog) as t:
        results = {info.id: info for info in t.list_tool_results()}
        assert list(results) == ["call_1", "call_2", "call_3"]
        assert t.get_content(results["call_1"].commit_hash) == LOG
        assert FAULT in t.get_tool_result("call_3")
        assert results["call_3"].status == "error"
        assert t.compile().messages[-1].text == ANSWER
        assert t.fsck().ok


def test_the_commands_of_tract_read_them(worked: Llm) -> None:
    worked.run("tract", "import")
    [dialog] = json.loads(worked.run("tract", "dialogs", "--json"))
    shown = worked.run("tract", "show", dialog["dialog"])
    assert PROMPT in shown
    assert ANSWER in shown
    result = worked.run(
        "tract", "result", "call_1", "--dialog", dialog["dialog"], "--lines", "4243"
    )
    assert LOG.splitlines()[4242] in result


def test_a_model_reads_results_of_other_conversations(worked: Llm) -> None:
    worked.run("tract", "import")
    worked.model.replies += [Reply(calls=[FETCH]), Reply("I see.")]
    worked.ask("What was line 4243 of call_1?", "-T", "get_tool_result")
    last = worked.model.requests[-1].body
    assert LOG.splitlines()[4242] in json.dumps(last)
    assert validate(last, "openai") == []


def test_a_toolbox_reads_one_dialog(command: Llm) -> None:
    with Tract.open(command.folder / "agents.db", dialog="build") as t:
        t.user("Read it.")
        t.assistant("", tool_calls=[{"id": "call_1", "name": "read_log", "arguments": {}}])
        t.tool_result("call_1", "read_log", LOG)
    command.model.replies += [Reply(calls=[FETCH]), Reply("I see.")]
    command.ask("What was line 4243?", "-T", 'TractDialog(dialog="build", db="agents.db")')
    assert LOG.splitlines()[4242] in json.dumps(command.model.requests[-1].body)


def test_an_unknown_result_is_an_answer(command: Llm) -> None:
    command.model.replies += [Reply(calls=[FETCH]), Reply("I see.")]
    command.ask("What was line 4243?", "-T", "get_tool_result")
    assert "no dialog has a result 'call_1'" in json.dumps(command.model.requests[-1].body)
    assert not command.database.exists()


@pytest.mark.usefixtures("interruptible")
def test_new_conversations_are_followed(worked: Llm) -> None:
    following = subprocess.Popen(
        worked.command("tract", "follow"),
        cwd=worked.folder,
        env=worked.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    overdue = Timer(60, following.kill)
    overdue.start()
    try:
        assert following.stdout
        assert any("1 dialog, 7 messages" in line for line in following.stdout)
        worked.model.replies.append(Reply("Hello."))
        worked.ask("Hi")
        assert "2 messages" in following.stdout.readline()
    finally:
        following.send_signal(signal.SIGINT)
        following.communicate()
        overdue.cancel()


def test_a_missing_package_is_named() -> None:
    code = "import sys; sys.modules['llm'] = None; import tract.integrations.llm_plugin"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT / "src"
    )
    assert "the plugin for llm needs the extra llm" in done.stderr.splitlines()[-1]
