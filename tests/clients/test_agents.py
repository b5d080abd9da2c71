"""What each agent does, from its set-up to its undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.agents import AGENTS, CLAUDE, CODEX, Agent
from tests.clients.homes import Home
from tests.llm_server import LLMServer, Reply

pytestmark = pytest.mark.clients
each_agent = pytest.mark.parametrize("agent", AGENTS, ids=str)
main_agents = pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=str)

LONG = "seq 1 9000"
"""43,893 characters: Claude Code would show 2,000 of them, Codex 10,000."""
OUTPUT = "\n".join(map(str, range(1, 9001)))


def numbers(text: str) -> list[int]:
    """The lines that are numbers and nothing else. Gemini CLI writes a word before the first."""
    lines = (line.removeprefix("Output: ") for line in text.splitlines())
    return [int(line) for line in lines if line.isdecimal()]


def stored(home: Home) -> str:
    """The full text of the result that the hook stored."""
    [dialog] = [name for name in home.dialogs() if name.endswith(".results")]
    return first_result(home, dialog)


def transcripts(home: Home) -> list[str]:
    return [name for name in home.dialogs() if not name.endswith(".results")]


def first_result(home: Home, dialog: str) -> str:
    """The full text of the oldest result."""
    result, *_ = home.read_json("--dialog", dialog, "results")
    return home.read("--dialog", dialog, "result", result["id"], "--raw")


@each_agent
def test_without_tract_the_model_sees_the_output(agent: Agent, home: Home, model: LLMServer):
    agent.settle(home, model)
    model.replies = [agent.runs("seq 1 300"), Reply("Done.")]
    assert "Done." in agent.run(home, model)
    assert numbers(agent.shown(model.requests[-1])) == [*range(1, 301)]


@each_agent
def test_the_model_sees_a_reference_and_fetches_lines(agent: Agent, home: Home, model: LLMServer):
    agent.settle(home, model)
    home.tract("setup", agent.name, "--yes")
    # Codex asks the model before its servers are up; a second is enough for ours.
    command = agent.runs(f"sleep 1; {LONG}")
    model.replies = [command, agent.fetches(lines="100-120"), Reply("Done.")]
    assert "Done." in agent.run(home, model)
    _, after_command, after_fetch = model.requests
    assert agent.lists(after_command, "get_tool_result")
    assert "[result of " in agent.shown(after_command)
    assert 100 < len(numbers(agent.shown(after_command))) <= 120  # the beginning and the end
    first = 100 - agent.first_line + 1
    assert numbers(agent.shown(after_fetch)) == [*range(first, first + 21)]
    assert OUTPUT in stored(home)
    home.wait_for(lambda: transcripts(home))
    [transcript] = transcripts(home)
    assert transcript in home.read("search", "Count.")
    assert first_result(home, transcript) == stored(home)
    home.tract("doctor")


@each_agent
def test_undo_restores_the_settings(agent: Agent, home: Home, model: LLMServer):
    agent.settle(home, model)
    model.replies = [Reply("Hello."), Reply("Hello.")]
    agent.run(home, model)  # it writes files of its own
    before = home.files()
    home.tract("setup", agent.name, "--yes")
    written = home.files()
    changed = [name for name in written if written[name] != before.get(name) and is_settings(name)]
    assert any(name in before for name in changed) == bool(agent.settings)
    agent.run(home, model)
    used = home.files()
    home.tract("setup", agent.name, "--undo", "--yes")
    after = home.files()
    for name in changed:
        if used[name] == written[name]:
            assert after.get(name) == before.get(name), name
        else:  # the agent wrote into it as well
            assert b"tract" not in after[name]


def is_settings(name: Path) -> bool:
    return not name.is_relative_to(".local") and not name.name.endswith(".tract-backup")


@main_agents
def test_a_short_result_is_stored_and_left_alone(agent: Agent, home: Home, model: LLMServer):
    agent.settle(home, model)
    home.tract("setup", agent.name, "--yes")
    model.replies = [agent.runs("seq 1 100"), Reply("Done.")]
    agent.run(home, model)
    assert numbers(agent.shown(model.requests[-1])) == [*range(1, 101)]
    assert numbers(stored(home)) == [*range(1, 101)]


# The worst moments: the agent goes on as if there were no tract


@main_agents
def test_a_locked_database_changes_nothing(agent: Agent, home: Home, model: LLMServer):
    agent.settle(home, model)
    home.tract("setup", agent.name, "--yes")
    with home.locked_database():
        model.replies = [agent.runs("seq 1 5000"), Reply("Done.")]
        assert "Done." in agent.run(home, model)
    shown = agent.shown(model.requests[-1])
    assert "[result of " not in shown
    assert numbers(shown)[:500] == [*range(1, 501)]
    assert '"outcome": "late"' in home.hook_log()
    home.wait_for(lambda: '"outcome": "stored"' in home.hook_log())  # it was only late
    assert numbers(stored(home)) == [*range(1, 5001)]


@main_agents
def test_a_missing_tract_changes_nothing(agent: Agent, home: Home, model: LLMServer):
    agent.settle(home, model)
    home.tract("setup", agent.name, "--yes")
    for name, data in home.files().items():
        if b"/bin/tract" in data and ".tract-backup" not in name.name:
            home.write(str(name), data.decode().replace("/bin/tract", "/bin/no-tract"))
    model.replies = [agent.runs("seq 1 5000"), Reply("Done.")]
    assert "Done." in agent.run(home, model)
    assert numbers(agent.shown(model.requests[-1]))[:500] == [*range(1, 501)]


# What only Claude Code does


def test_claude_reads_a_long_file(home: Home, model: LLMServer):
    CLAUDE.settle(home, model)
    home.tract("setup", "claude", "--yes")
    file = home.project / "numbers.txt"
    file.write_text("".join(f"number {n} of the file\n" for n in range(1, 1501)))
    read = Reply(calls=[("call_1", "Read", {"file_path": str(file)})])
    arguments = {"pattern": "number", "path": str(home.project), "output_mode": "content"}
    grep = Reply(calls=[("call_2", "Grep", {**arguments, "head_limit": 0})])
    fetch = CLAUDE.fetches("call_3", grep="number 77. of", context=0)
    model.replies = [read, grep, fetch, Reply("Done.")]
    CLAUDE.run(home, model)
    after_read, after_grep, after_fetch = map(CLAUDE.shown, model.requests[1:])
    assert "[result of Read · call_1 · success · 3" in after_read
    assert "[result of Grep · call_2 · success · " in after_grep
    assert after_fetch.count("number 77") == 11  # the expression, and ten lines
    assert "number 780" not in after_fetch


@pytest.mark.parametrize("options", [["--continue"], ["--continue", "--fork-session"]], ids=str)
def test_a_continued_session_fetches_what_it_stored_before(
    options: list[str], home: Home, model: LLMServer
):
    """Claude Code tells its servers another session, until the first prompt."""
    CLAUDE.settle(home, model)
    home.tract("setup", "claude", "--no-import", "--yes")
    model.replies = [CLAUDE.runs(LONG), Reply("Done.")]
    CLAUDE.run(home, model)
    model.replies = [CLAUDE.fetches(lines="-3"), Reply("Done.")]
    CLAUDE.run(home, model, *options, prompt="And the end?")
    assert numbers(CLAUDE.shown(model.requests[-1])) == [8998, 8999, 9000]


def test_calls_at_the_same_time_are_all_stored(home: Home, model: LLMServer):
    CLAUDE.settle(home, model)
    home.tract("setup", "claude", "--yes")
    calls = [CLAUDE.runs(f"seq {n} {n + 8000}", f"call_{n}").calls[0] for n in range(1, 5)]
    model.replies = [Reply(calls=calls), Reply("Done.")]
    CLAUDE.run(home, model)
    results = [str(result) for result in CLAUDE.results(model.requests[-1])]
    assert ["[result of " in result for result in results] == [True] * 4
    [dialog] = [name for name in home.dialogs() if name.endswith(".results")]
    ids = {result["id"] for result in home.read_json("--dialog", dialog, "results")}
    assert ids == {"call_1", "call_2", "call_3", "call_4"}


# What only Codex does


def test_a_failed_command_of_codex_keeps_its_exit_code(home: Home, model: LLMServer):
    CODEX.settle(home, model)
    home.tract("setup", "codex", "--yes")
    model.replies = [CODEX.runs(f"{LONG}; exit 4"), Reply("Done.")]
    CODEX.run(home, model)
    first, second, *_ = CODEX.shown(model.requests[-1]).splitlines()
    assert first == "Process exited with code 4"
    assert second.startswith("[result of Bash · call_1 · error · 43893 bytes")
