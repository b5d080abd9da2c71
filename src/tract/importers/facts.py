"""What is known about the conversations of a source: what it says itself, else what its messages
show."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import asdict, replace

from tract.core.entries import Entry, Facts, FullHistory
from tract.core.titles import title_of
from tract.importers.coerce import as_text, as_time
from tract.model import DialogFacts, Json, Message
from tract.providers.usage import cost_of


class ConversationFacts:
    """The facts of each conversation of a source, as it is read."""

    def __init__(self) -> None:
        self._sources: dict[str | None, DialogFacts] = {}
        self._shown: dict[str | None, DialogFacts] = {}

    def take(self, item: object) -> None:
        match item:
            case Facts(dialog=dialog):
                own = {name: getattr(item, name) for name in DialogFacts.__struct_fields__}
                before = self._sources.get(dialog, DialogFacts())
                self._sources[dialog] = merge(before, DialogFacts(**own))
            case Entry(messages=messages, dialog=dialog):
                self._see(dialog, messages, item.time, item.model, item.usage)
            case FullHistory(messages=history, dialog=dialog, details=details):
                time = as_time((details.metadata or {}).get("time"))
                model = as_text((details.generation_config or {}).get("model"))
                self._see(dialog, tuple(history), time, model, details.usage)

    def of(self, dialog: str | None) -> DialogFacts:
        """All that is known about a conversation. What the source says outweighs the messages."""
        nothing = DialogFacts()
        return merge(self._shown.get(dialog, nothing), self._sources.get(dialog, nothing))

    def dialogs(self) -> list[str | None]:
        return list(self._shown)

    def _see(
        self,
        dialog: str | None,
        messages: tuple[Message, ...],
        time: datetime | None,
        model: str | None,
        usage: Json,
    ) -> None:
        facts = self._shown.get(dialog, DialogFacts())
        if facts.title is None:
            prompts = (title_of(m.text) for m in messages if m.role == "user")
            facts = replace(facts, title=next(filter(None, prompts), None))
        if time:
            facts = replace(facts, started=facts.started or time, ended=time)
        cost = cost_of(usage) if isinstance(usage, dict) else None
        if cost is not None:
            facts = replace(facts, cost=(facts.cost or 0) + cost)
        if model and not model.startswith("<"):  # `<synthetic>`: a program wrote it
            facts = replace(facts, model=model)
        self._shown[dialog] = facts


def merge(before: DialogFacts, more: DialogFacts) -> DialogFacts:
    """The facts with those that are new."""
    return replace(
        before, **{name: value for name, value in asdict(more).items() if value is not None}
    )
