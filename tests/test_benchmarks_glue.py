"""What counts as glue in a program: what tract made necessary, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.glue import count_lines, glue_lines

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "frameworks"


def test_imports_are_not_counted() -> None:
    assert count_lines("import os\nfrom tract import Tract, record_client") == 0
    assert count_lines("from tractor import go\ngo()") == 0


def test_a_line_with_a_value_of_tract_is_counted() -> None:
    source = "from tract import Tract\nt = Tract.open('a')\ntools = [ls, t.as_tool()]\nrun(tools)"
    assert count_lines(source) == 2


def test_every_line_of_a_call_is_counted() -> None:
    assert (
        count_lines("from tract import Tract\nt = Tract.open(\n    'a.db',\n    llm=llm,\n)") == 4
    )


def test_a_line_that_uses_the_callers_own_client_is_not_counted() -> None:
    source = """
from tract import Tract, record_client
with Tract.open("agent.db") as t:
    client = record_client(openai.OpenAI(), t)
    client.responses.create(input=[])
    client.responses.create(input=[])
"""
    assert count_lines(source) == 2


def test_what_a_function_returns_is_counted_if_it_is_not_what_it_was_passed() -> None:
    source = """
from tract.integrations.agno import record_agent
t = record_agent(agent, "agent.db")
print(t.log())
"""
    assert count_lines(source) == 2


def test_what_a_method_returns_is_counted_where_it_is_used() -> None:
    source = """
from tract.integrations.litellm import TractLogger
litellm.callbacks = [log := TractLogger("agent.db")]
shown = log.prepare(messages)
litellm.completion(messages=shown)
litellm.completion(messages=messages)
"""
    assert count_lines(source) == 3


def test_options_of_which_each_is_tracts_are_counted() -> None:
    source = """
from tract.integrations.openai_agents import TractSession, run_options
options = {"session": TractSession("a.db"), **run_options(t)}
Runner.run_sync(agent, **options)
"""
    assert count_lines(source) == 2


def test_a_list_that_the_program_has_anyway_is_not_counted() -> None:
    source = """
from tract.integrations.strands import TractHooks
hooks = [other, TractHooks("a.db")]
agent = Agent(hooks=hooks)
"""
    assert count_lines(source) == 1


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_has_little_glue(path: Path) -> None:
    assert 1 <= glue_lines(path) <= 3
