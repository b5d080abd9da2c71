"""An agent of LangChain on a dialog. Needs a model: `python langchain.py URL`, or OPENAI_API_KEY."""

import sys

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from tract.integrations.langchain import TractMiddleware


@tool
def read_log(path: str) -> str:
    """Read a log."""
    with open(path) as file:
        return file.read()


url = sys.argv[1] if len(sys.argv) > 1 else None
tract = TractMiddleware("agent.db", results=500)
agent = create_agent(ChatOpenAI(model="gpt-5.5", base_url=url), [read_log], middleware=[tract])
config = {"configurable": {"thread_id": "orders"}}
answer = agent.invoke({"messages": [{"role": "user", "content": "Why do orders fail?"}]}, config)
print(answer["messages"][-1].text)
