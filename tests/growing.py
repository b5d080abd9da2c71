"""Clients that keep a history, and send all of it each time."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tract.core.wording import NO_RESULT

Wire = dict[str, Any]
IDS = ["a", "b", "c", "", "run"]
TEXTS = ["one", "two", "three", "", NO_RESULT]
INPUTS: list[Any] = [{}, {"x": 1}, {"x": True}, {"x": 1.0, "y": "z"}, {"y": "z", "x": 1.0}]
KEYS = {"openai": "messages", "anthropic": "messages", "gemini": "contents", "responses": "input"}


class Client:
    """What it keeps changes as the history of a real one does, and sometimes in odd ways."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.provider = random.choice([*KEYS, "openai", "anthropic"])
        self.messages: list[Wire] = []
        self.around: Wire | None = random.choice([None, {}, {"system": "be brief"}])
        if self.provider == "responses" and self.around:
            self.around = {"instructions": "be brief"}
        self.say(random.randint(1, 12))

    @property
    def history(self) -> Any:
        """What is recorded: a list, or a request."""
        if self.around is None:
            return self.messages
        return {**self.around, KEYS[self.provider]: self.messages}

    def go_on(self) -> None:
        """Say more; now and then after a change of what was said."""
        random = self._random
        change = random.choice(
            [*[self._nothing] * 4, self._edit, self._drop, self._copy, self._turn]
        )
        change()
        self.say(random.choice([0, 1, 1, 2, 3, 5]))

    def answer(self, response: Wire) -> None:
        """Keep what a model has answered."""
        if self.provider == "gemini":
            self.messages.append({"role": "model", "parts": [{"text": response["content"]}]})
        else:
            self.messages.append({**response})

    def fork(self) -> Client:
        """Another one that begins as this one did."""
        other = Client(self._random)
        other.provider, other.around = self.provider, self.around
        other.messages = self.messages[: self._random.randint(0, len(self.messages))]
        return other

    def say(self, turns: int) -> None:
        for _ in range(turns):
            owner = self.provider if self._random.random() < 0.97 else "anthropic"
            self.messages += getattr(self, f"_{owner}")()

    def _nothing(self) -> None:
        pass

    def _turn(self) -> None:
        """The program changes around the messages."""
        if self.around:
            self.around[next(iter(self.around))] += "!"

    def _copy(self) -> None:
        self.messages = json.loads(json.dumps(self.messages))

    def _drop(self) -> None:
        if self.messages:
            start = self._random.randrange(len(self.messages))
            del self.messages[start : start + self._random.randint(1, 3)]

    def _edit(self) -> None:
        """In place, and often such that the message still equals what it was."""
        if not self.messages:
            return
        message = self._random.choice(self.messages)
        kind = self._random.choice(["text", "order", "number"])
        if kind == "text" and "content" in message:
            message["content"] = "cut"
        elif kind == "order":
            self._reorder(message)
        for block in message.get("content") or [] if kind == "number" else []:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                block["input"] = {"x": {int: True, bool: 1.0}.get(type(block["input"].get("x")), 1)}

    def _reorder(self, value: Any) -> None:
        if isinstance(value, dict):
            for key in sorted(value, reverse=True):
                value[key] = value.pop(key)
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict | list):
                self._reorder(item)

    def _openai(self) -> list[Wire]:
        random = self._random
        text, call_id = random.choice(TEXTS), random.choice(IDS)
        kind = random.choice(["user", "assistant", "system", "turn", "turn", "stray"])
        result = {"role": "tool", "tool_call_id": call_id, "content": text}
        if kind == "stray":
            return [{**result, "name": "run"}]
        if kind != "turn":
            return [{"role": kind, "content": text}]
        function = {"name": "run", "arguments": json.dumps(random.choice(INPUTS))}
        call = {"id": call_id, "type": "function", "function": function}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]

    def _anthropic(self) -> list[Wire]:
        random = self._random
        text, call_id = random.choice(TEXTS), random.choice(IDS)
        kind = random.choice(["user", "assistant", "user", "turn", "turn", "stray"])
        result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        if kind == "stray":
            return [{"role": "user", "content": [result]}]
        if kind != "turn":
            return [{"role": kind, "content": [{"type": "text", "text": text or "-"}]}]
        call = {"type": "tool_use", "id": call_id, "name": "run", "input": random.choice(INPUTS)}
        said = {"type": "text", "text": "and"}
        return [
            {"role": "assistant", "content": [dict(call, input=dict(call["input"]))]},
            {"role": "user", "content": [result, *random.choice([[], [said]])]},
        ]

    def _gemini(self) -> list[Wire]:
        random = self._random
        text = random.choice(TEXTS)
        kind = random.choice(["user", "model", "turn", "turn"])
        if kind != "turn":
            return [{"role": kind, "parts": [{"text": text or "-"}]}]
        call = {"name": "run", "args": random.choice(INPUTS)}
        result = {"name": "run", "response": {"result": text}}
        return [
            {"role": "model", "parts": [{"functionCall": call}]},
            {"role": "user", "parts": [{"functionResponse": result}]},
        ]

    def _responses(self) -> list[Wire]:
        random = self._random
        text, call_id = random.choice(TEXTS), random.choice(IDS[:3])
        kind = random.choice(["user", "assistant", "turn", "turn"])
        if kind != "turn":
            part = {"type": "input_text" if kind == "user" else "output_text", "text": text}
            return [{"type": "message", "role": kind, "content": [part]}]
        function = {"name": "run", "arguments": json.dumps(random.choice(INPUTS))}
        return [
            {"type": "function_call", "call_id": call_id, **function},
            {"type": "function_call_output", "call_id": call_id, "output": text},
        ]
