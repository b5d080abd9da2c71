"""Clients of the SDKs that ask a server of the tests."""

from __future__ import annotations

from typing import Any

from tests.llm_server import LLMServer
from tract import Tract
from tract.context import CompiledContext
from tract.llm import (
    connect,
)
from tract.llm.sdk import SdkLLM

KEY = "key-that-nobody-may-see"
MODEL = "model-1"


def client(kind: str, server: LLMServer, **options: Any) -> SdkLLM:
    url = server.url if kind == "anthropic" else server.openai_url
    usual = {"base_url": url, "api_key": KEY, "max_retries": 0, "timeout": 5}
    return connect(f"{kind}:{MODEL}", **{**usual, **options})


def asked(*, tools: bool = True) -> CompiledContext:
    with Tract.open() as t:
        t.system("Be brief.")
        t.user("Where?", tools=[GREP] if tools else None)
        return t.compile()


GREP = {
    "name": "grep",
    "description": "Find lines.",
    "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}},
}
