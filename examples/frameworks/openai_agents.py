"""An agent of the OpenAI Agents SDK on a dialog. It needs OPENAI_API_KEY."""

from agents import Agent, Runner, function_tool

from tract import Tract
from tract.integrations.openai_agents import TractSession, fetch_tool, run_options


@function_tool
def read_log(path: str) -> str:
    """Read a log."""
    return "\n".join(f"{number:05} GET /orders/{number} 200" for number in range(5_000))


t = Tract.open("agent.db", dialog="orders")
agent = Agent("Support", tools=[read_log, fetch_tool(t)])
options = {"session": TractSession(t), **run_options(t, results=500)}
result = Runner.run_sync(agent, "Why do orders fail?", **options)
print(result.final_output)
