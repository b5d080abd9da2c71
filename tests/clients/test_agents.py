"""What each agent does, from its set-up to its undo."""

from __future__ import annotations

import pytest

from tests.clients.agents import AGENTS, Agent
from tests.clients.homes import Home
from tests.llm_server import LLMServer, Reply

pytestmark = pytest.mark.clients
each_agent = pytest.mark.parametrize("agent", AGENTS, ids=str)


@each_agent
def test_without_tract_the_model_sees_the_output(agent: Agent, home: Home, model: LLMServer):
    agent.settle(home, model)
    model.replies = [agent.runs("seq 1 300"), Reply("Done.")]
    assert "Done." in agent.run(home, model)
    assert "\n".join(map(str, range(1, 301))) in agent.shown(model.requests[-1])
