"""An agent of LangChain on a dialog. It needs OPENAI_API_KEY."""

from pathlib import Path

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from tract.integrations.langchain import TractMiddleware


def read_log(path: str) -> str:
    """Read a log."""
    return Path(path).read_text()


tract = TractMiddleware("agent.db", results=500)
agent = create_agent(ChatOpenAI(model="gpt-5.5"), [read_log], middleware=[tract])
config = {"configurable": {"thread_id": "orders"}}
answer = agent.invoke({"messages": "Why do orders fail?"}, config)
print(answer["messages"][-1].text)
