"""What a model answered: its message, its usage, and whether it ended before its end."""

from __future__ import annotations

from typing import Any

from tract.errors import InputError
from tract.model import readable
from tract.providers.base import Answer
from tract.providers.common import only_answer
from tract.providers.detect import response_provider
from tract.providers.messages import adopted, as_dict, load_message
from tract.providers.registry import PROVIDERS


def load_answer(response: Any) -> Answer:
    """A response of an SDK, its dict, or only the message of one."""
    fields = as_dict(response)
    name = response_provider(fields)
    if name is not None:
        answer = PROVIDERS[name].load_response(fields)
        return answer._replace(message=adopted(answer.message))
    if "role" not in fields and not {"choices", "candidates"}.isdisjoint(fields):
        raise InputError(f"no answer in this response: {readable(fields)[:200]}")
    return Answer(only_answer(load_message(fields)))


def is_cut(answer: Answer) -> bool:
    """Whether the answer ended before its end: at a limit, or by a filter."""
    rest = answer.rest or {}
    reasons = {reason for known in PROVIDERS.values() for reason in known.cut_reasons}
    ended = (rest.get(known.stop_key) for known in PROVIDERS.values())
    return any(isinstance(reason, str) and reason in reasons for reason in ended)
