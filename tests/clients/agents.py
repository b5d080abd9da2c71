"""The agents from npm, each as a person starts it without a terminal, with a script for a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.clients.homes import Home
from tests.llm_server import LLMServer, Reply, Request

Block = dict[str, Any]


class Agent(NamedTuple):
    name: str
    """As `tract setup` knows it."""
    settings: dict[str, str]
    """Files that a person has before the set-up; `{url}` is the address of the model."""
    command: Callable[[str], list[str]]
    """What runs it with a prompt."""
    env: Callable[[LLMServer], dict[str, str]]
    shell: str
    """The tool that runs a command, and the name of its argument."""
    argument: str
    fetch: str
    """What the model calls `get_tool_result`."""
    results: Callable[[Request], Iterator[Any]]
    """What a request says that the tools returned, in the order of the calls."""

    first_line: int = 1
    """Of a result: where the output of the command begins."""

    def settle(self, home: Home, model: LLMServer) -> None:
        for name, text in self.settings.items():
            home.write(name, text.replace("{url}", model.url))

    def run(self, home: Home, model: LLMServer, *options: str, prompt: str = "Count.") -> str:
        """Run a turn, and return what it printed."""
        return home.run(*self.command(prompt), *options, **self.env(model)).stdout

    def runs(self, command: str, call_id: str = "call_1") -> Reply:
        arguments = {self.argument: command, "description": "a command"}
        if self.name == "codex":
            arguments.pop("description")
        return Reply(calls=[(call_id, self.shell, arguments)])

    def fetches(self, call_id: str = "call_2", **arguments: Any) -> Callable[[Request], Reply]:
        """A model that reads the id in the last result, and fetches that."""

        def step(request: Request) -> Reply:
            shown = self.shown(request)
            assert '(id="' in shown, f"no reference: {shown[:300]}"
            result_id = shown.rpartition('(id="')[2].partition('"')[0]
            return Reply(calls=[(call_id, self.fetch, {"id": result_id, **arguments})])

        return step

    def shown(self, request: Request) -> str:
        """The last result in a request."""
        return _text(list(self.results(request))[-1])

    def lists(self, request: Request, tool: str) -> bool:
        """Whether a request has a tool of tract among its tools, under any name."""
        return f'{tool}"' in json.dumps(request.body["tools"])

    def __str__(self) -> str:
        return self.name


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):  # of Gemini
        return _text(value.get("output", value.get("error")))
    return "\n".join(part["text"] for part in value)


# What the wires look like


def _messages(request: Request) -> Iterator[Any]:
    for message in request.body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                yield block["content"]


def _responses(request: Request) -> Iterator[Any]:
    for item in request.body["input"]:
        if item["type"] == "function_call_output":
            yield item["output"]


def _gemini(request: Request) -> Iterator[Any]:
    for content in request.body["contents"]:
        for part in content["parts"]:
            if "functionResponse" in part:
                yield part["functionResponse"]["response"]


# The agents

CLAUDE = Agent(
    name="claude",
    settings={
        ".claude/settings.json": '{"model": "opus",\n    "permissions": {"allow": ["Bash"]}}\n'
    },
    command=lambda prompt: [
        *("claude", "-p", prompt, "--output-format", "stream-json", "--verbose"),
        *("--allowedTools", "Bash,Read,Grep"),
    ],
    env=lambda model: {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    },
    shell="Bash",
    argument="command",
    fetch="mcp__tract__get_tool_result",
    results=_messages,
)
CODEX = Agent(
    name="codex",
    settings={
        ".codex/config.toml": """# my own settings
model = "gpt-5-codex"
model_provider = "script"

[model_providers.script]
name = "script"
base_url = "{url}/v1"
env_key = "SCRIPT_KEY"
wire_api = "responses"
"""
    },
    command=lambda prompt: [
        *("codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
        *("--dangerously-bypass-approvals-and-sandbox", prompt),
    ],
    env=lambda _: {"SCRIPT_KEY": "x"},
    shell="exec_command",
    argument="cmd",
    fetch="mcp__tract.get_tool_result",
    results=_responses,
)
GEMINI = Agent(
    name="gemini",
    settings={
        ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
    },
    command=lambda prompt: [
        *(
            "gemini",
            "-m",
            "gemini-2.5-pro",
            "-p",
            prompt,
            "--yolo",
            "--output-format",
            "stream-json",
        )
    ],
    env=lambda model: {
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_API_KEY": "x",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    },
    shell="run_shell_command",
    argument="command",
    fetch="mcp_tract_get_tool_result",
    results=_gemini,
    first_line=2,
)
COPILOT = Agent(
    name="copilot",
    settings={},
    command=lambda prompt: [
        *("copilot", "-p", prompt, "--allow-all-tools", "--allow-all-paths"),
        *("--disable-builtin-mcps", "--output-format", "json"),
    ],
    env=lambda model: {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": model.url,
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_API_KEY": "x",
        "COPILOT_MODEL": "claude-sonnet-4-5",
    },
    shell="bash",
    argument="command",
    fetch="tract-get_tool_result",
    results=_messages,
)
OPENCODE = Agent(
    name="opencode",
    settings={},
    command=lambda prompt: [
        *("opencode", "run", "-m", "anthropic/claude-sonnet-4-5", "--format", "json", prompt)
    ],
    env=lambda model: {
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_CONFIG_CONTENT": json.dumps(
            {
                "provider": {
                    "anthropic": {"options": {"baseURL": model.openai_url, "apiKey": "x"}}
                },
                "permission": {"*": "allow"},
                "autoupdate": False,
            }
        ),
    },
    shell="bash",
    argument="command",
    fetch="tract_get_tool_result",
    results=_messages,
)
AGENTS = (CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE)
