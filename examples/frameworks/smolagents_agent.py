"""An agent of smolagents whose tool results are stored in tract."""

from __future__ import annotations

import sys

from smolagents import OpenAIModel, ToolCallingAgent, tool

from tract.integrations.smolagents import record_agent


@tool
def read_log(path: str) -> str:
    """Read a log.

    Args:
        path: Where it is.
    """
    return "\n".join(f"{number:05} GET /orders 200 in 12 ms" for number in range(5_000))


model = OpenAIModel("m", api_base=sys.argv[1], api_key="k")
agent = ToolCallingAgent(tools=[read_log], model=model, verbosity_level=0)
record_agent(agent, "agent.db", results={"inline_tokens": 500})
print(agent.run("Why do orders fail?"))
