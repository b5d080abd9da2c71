"""The providers' formats: what they send us, and what they accept."""

from __future__ import annotations

from tract.hashing import json_or_text as parsed
from tract.providers.base import Answer, Provider
from tract.providers.registry import PROVIDERS, provider
from tract.providers.requests import (
    as_dict,
    as_sent,
    is_cut,
    known_names,
    load_answer,
    load_call,
    load_calls,
    load_message,
    original_content,
    with_model,
)
from tract.providers.usage import input_tokens

__all__ = [
    "PROVIDERS",
    "Answer",
    "Provider",
    "as_dict",
    "as_sent",
    "input_tokens",
    "is_cut",
    "known_names",
    "load_answer",
    "load_call",
    "load_calls",
    "load_message",
    "original_content",
    "parsed",
    "provider",
    "with_model",
]
