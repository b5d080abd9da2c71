"""An agent of crewai whose tool results are stored in tract."""

from __future__ import annotations

import sys

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from tract.integrations.crewai import record_agent


@tool
def read_log(path: str) -> str:
    """Read a log."""
    return "\n".join(f"{number:05} GET /orders 200 in 12 ms" for number in range(5_000))


llm = LLM(model="openai/gpt-4o", base_url=sys.argv[1], api_key="k")
agent = Agent(role="Operator", goal="Find faults", backstory="", tools=[read_log], llm=llm)
record_agent(agent, "agent.db", results={"inline_tokens": 500})
task = Task(description="Why do orders fail?", expected_output="The reason", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff())
