from pathlib import Path

from google import genai

from tract import Tract
from tract.integrations.google_genai import record_genai


def read_log(path: str) -> str:
    """Read a log file."""
    return Path(path).read_text()


with Tract.open("agents.db") as t:
    client = record_genai(genai.Client(), t, results={"inline_tokens": 500})
    tools = [read_log, t.as_tool()]
    chat = client.chats.create(model="gemini-3.8-flash", config={"tools": tools})
    print(chat.send_message("Why do orders fail? Read orders.log.").text)
