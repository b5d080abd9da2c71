"""An agent of the OpenAI Agents SDK on a dialog. It needs OPENAI_API_KEY."""

from agents import Agent, Runner, function_tool

from tract.integrations.openai_agents import TractSession, fetch_tool, run_options


@function_tool
def read_log(path: str) -> str:
    """Read a log."""
    return "\n".join(f"{number:05} GET /orders/{number} 200" for number in range(5_000))


session = TractSession("agent.db", "orders")
agent = Agent("Support", tools=[read_log, fetch_tool(session.tract)])
result = Runner.run_sync(agent, "Why do orders fail?", **run_options(session, results=500))
print(result.final_output)
