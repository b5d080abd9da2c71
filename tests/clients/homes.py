"""A person's home, and the programs that run in it: the agents from npm, and tract."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.llm_server import LLMServer

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".clients" / "node_modules" / ".bin"
NO_PROXY = "http://127.0.0.1:9"  # nobody listens there: what is not on this machine fails at once
SECONDS = 120
CLAUDE_OPTIONS = ["--output-format", "stream-json", "--verbose"]
CODEX_OPTIONS = [
    "--json",
    "--skip-git-repo-check",
    "--dangerously-bypass-hook-trust",
    "--dangerously-bypass-approvals-and-sandbox",
]
CODEX_CONFIG = """model = "gpt-5-codex"
model_provider = "script"

[model_providers.script]
name = "script"
base_url = "{url}"
env_key = "SCRIPT_KEY"
wire_api = "responses"
"""


class Home:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "home"
        self.project = folder / "project"
        self.path.mkdir()
        self.project.mkdir()
        self.env = {
            "HOME": str(self.path),
            "PATH": os.pathsep.join(map(str, (PROGRAMS, Path(sys.executable).parent, os.defpath))),
            "LANG": "C.UTF-8",
            "HTTP_PROXY": NO_PROXY,
            "HTTPS_PROXY": NO_PROXY,
            "NO_PROXY": "127.0.0.1",
        }

    def claude(self, model: LLMServer, prompt: str, *options: str) -> list[dict[str, Any]]:
        """Run Claude Code until it has an answer, and return what it printed."""
        env = {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        allowed = ["--allowedTools", "Bash,Read,Grep,mcp__tract"]
        return self.events("claude", "-p", prompt, *CLAUDE_OPTIONS, *allowed, *options, **env)

    def codex(self, model: LLMServer, prompt: str, *options: str) -> list[dict[str, Any]]:
        """Run Codex until it has an answer, and return what it printed."""
        config = self.path / ".codex" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        if not config.exists():
            config.write_text(CODEX_CONFIG.format(url=model.openai_url))
        return self.events("codex", "exec", *CODEX_OPTIONS, *options, prompt, SCRIPT_KEY="x")

    def tract(self, *args: str) -> str:
        return self.run("tract", *args).stdout

    def events(self, *command: str, **env: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*command, **env).stdout.splitlines()]

    def run(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-3000:]}\n{done.stderr}"
        return done
