"""Recordings of Mastra."""

from __future__ import annotations

from typing import Any

from tests.importing import as_json
from tests.samples.streams import ANTHROPIC as STREAM
from tests.samples.streams import sse

URL = "https://api.openai.com/v1/chat/completions"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}
STREAMED = sse(*STREAM)


def recording(asked: Any, url: str = URL, **response: Any) -> dict[str, Any]:
    request = {"url": url, "method": "POST", "body": asked, "timestamp": 1762446213000}
    return {"hash": "h", "request": request, "response": {"status": 200, **response}}


WHOLE = recording(ASKED, body=ANSWER, isStreaming=False)
CHUNKED = recording(
    ASKED,
    "https://api.anthropic.com/v1/messages",
    chunks=[STREAMED[:30], STREAMED[30:401], STREAMED[401:]],
    chunkTimings=[0, 1, 2],
)
DOCUMENT: dict[str, Any] = {"meta": {"name": "t"}, "recordings": [WHOLE, CHUNKED]}

FILES = {"document": as_json(DOCUMENT)}
DOCUMENTS = [DOCUMENT]
