"""An agent of Strands whose tool results are stored in tract."""

from __future__ import annotations

import sys

from strands import Agent, tool
from strands.models.openai import OpenAIModel

from tract.integrations.strands import TractHooks


@tool
def read_log(path: str) -> str:
    """Read a log.

    Args:
        path: Where it is.
    """
    return "\n".join(f"{number:05} GET /orders 200 in 12 ms" for number in range(5_000))


model = OpenAIModel(client_args={"base_url": sys.argv[1], "api_key": "k"}, model_id="m")
hooks = TractHooks("agent.db", results={"inline_tokens": 500})
agent = Agent(model=model, tools=[read_log], hooks=[hooks], callback_handler=None)
print(agent("Why do orders fail?"))
