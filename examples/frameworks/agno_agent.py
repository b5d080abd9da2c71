"""An agent of agno whose tool results are stored in tract."""

from __future__ import annotations

import sys

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from tract.integrations.agno import record_agent


def read_log(path: str) -> str:
    """Read a log.

    Args:
        path: Where it is.
    """
    return "\n".join(f"{number:05} GET /orders 200 in 12 ms" for number in range(5_000))


model = OpenAIChat(id="m", base_url=sys.argv[1], api_key="k")
agent = Agent(model=model, tools=[read_log], telemetry=False)
record_agent(agent, "agent.db", results={"inline_tokens": 500})
print(agent.run("Why do orders fail?").content)
