"""An agent of pydantic-ai on tract. It needs the extra `pydantic-ai` and `OPENAI_API_KEY`."""

from pathlib import Path

from pydantic_ai import Agent

from tract.integrations.pydantic_ai import TractCapability


def read_log(path: str) -> str:
    """Read a log."""
    return Path(path).read_text()


agent = Agent(
    "openai:gpt-5",
    tools=[read_log],
    capabilities=[TractCapability("agent.db", results=500)],
)
result = agent.run_sync("Why do orders fail?")
print(result.output)
result = agent.run_sync("Are you sure?", message_history=result.all_messages())
print(result.output)
