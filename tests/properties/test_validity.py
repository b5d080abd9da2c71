"""Generated histories in all forms for all providers: none would be refused, by the rules of the
package and by those of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.generated import History
from tests.rules import faults, pairs, untidy
from tests.validity import REQUESTS
from tract.providers import PROVIDERS
from tract.providers.validate import validate

SHORT, LONG, PARTS = 250, 100_000, 8
"""How many histories; the long ones in parts, for several workers."""
PLANTED = 50
"""How many histories must do to find a fault."""


def wrong(request: Any, provider: str, history: History) -> list[str]:
    """What is refused by either set of rules, or not as it is promised."""
    found = [*map(str, validate(request, provider)), *faults(request, provider)]
    return found if history.came_from else found + untidy(request, provider)


def mispaired(request: Any, provider: str, known: dict[int, str]) -> list[Any]:
    """The calls whose result is another's."""
    made = ((call.get("n"), said) for call, said in pairs(request, provider))
    return [
        (number, said)
        for number, said in made
        if number in known and said in known.values() and said != known[number]
    ]


def check(numbers: range) -> int:
    """How many requests were made of the histories with these numbers; each is accepted."""
    count = 0
    for number in numbers:
        history = History(number)
        for form, context in history.contexts():
            for provider, make in REQUESTS.items():
                request = make(context)
                found = wrong(request, provider, history)
                assert not found, f"history {number}, {form}, {provider}: {found}"
                if form == "full":
                    found = mispaired(request, provider, history.pairs)
                    assert not found, f"history {number}, {provider}: {found}"
                count += 1
    return count


def test_no_request_is_refused() -> None:
    assert check(range(SHORT)) > 20 * SHORT


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_no_request_of_many_is_refused(part: int) -> None:
    size = LONG // PARTS
    assert check(range(SHORT + part * size, SHORT + (part + 1) * size)) > 20 * size


# Mangled requests: both sets of rules find the same


def without_one(messages: list[Any], at: int) -> list[Any]:
    return [*messages[:at], *messages[at + 1 :]]


def with_one_twice(messages: list[Any], at: int) -> list[Any]:
    return [*messages[: at + 1], *messages[at:]]


def with_two_swapped(messages: list[Any], at: int) -> list[Any]:
    return [*messages[:at], *messages[at : at + 2][::-1], *messages[at + 2 :]]


def without_the_beginning(messages: list[Any], at: int) -> list[Any]:
    return messages[at:]


def without_the_end(messages: list[Any], at: int) -> list[Any]:
    return messages[: at + 1]


@pytest.mark.parametrize("provider", REQUESTS)
@pytest.mark.parametrize(
    "mangle",
    [without_one, with_one_twice, with_two_swapped, without_the_beginning, without_the_end],
)
def test_both_sets_of_rules_agree(
    provider: str, mangle: Callable[[list[Any], int], list[Any]]
) -> None:
    key, verdicts = PROVIDERS[provider].history, set()
    for number in range(PLANTED):
        _, context = next(History(number).contexts())
        request = REQUESTS[provider](context)
        messages = request[key]
        mangled = {**request, key: mangle(messages, number % max(len(messages), 1))}
        verdicts.add((not validate(mangled, provider), not faults(mangled, provider)))
    assert verdicts == {(True, True), (False, False)}


# Faults of frameworks, planted: each is found


def cut_by_position(messages: list[Any]) -> list[Any]:
    """The last messages, wherever the cut falls."""
    return messages[len(messages) // 2 :]


def any_id_in_common(messages: list[Any]) -> list[Any]:
    """The last messages, with the answers of which any call is answered among them."""
    middle = len(messages) // 2
    ids = {message.get("tool_call_id") for message in messages[middle:]}
    called = [
        message
        for message in messages[:middle]
        if any(call["id"] in ids for call in message.get("tool_calls", ()))
    ]
    return [*called, *messages[middle:]]


def nearest_call(messages: list[Any]) -> list[Any]:
    """Results as those of the last call that waits, whatever their ids are."""
    out, waiting = [], list[str]()
    for message in messages:
        waiting += [call["id"] for call in message.get("tool_calls", ())]
        if message["role"] == "tool":
            message = {**message, "tool_call_id": waiting.pop()}
        out.append(message)
    return out


def sent_after(fault: Callable[[list[Any]], list[Any]]) -> Iterator[tuple[History, Any]]:
    """Requests of which a framework has mangled the messages."""
    for number in range(PLANTED):
        history = History(number)
        _, context = next(history.contexts())
        request = context.to_openai_params()
        yield history, {**request, "messages": fault(request["messages"])}


@pytest.mark.parametrize("provider", REQUESTS)
def test_a_cut_by_position_is_found(provider: str) -> None:
    """By both sets of rules, which agree on each request."""
    key, verdicts = PROVIDERS[provider].history, set()
    for number in range(PLANTED):
        _, context = next(History(number).contexts())
        request = REQUESTS[provider](context)
        cut = {**request, key: cut_by_position(request[key])}
        verdicts.add((bool(validate(cut, provider)), bool(faults(cut, provider))))
    assert (True, True) in verdicts
    assert verdicts <= {(True, True), (False, False)}


@pytest.mark.parametrize("fault", [any_id_in_common])
def test_a_cut_through_a_turn_is_found(fault: Callable[[list[Any]], list[Any]]) -> None:
    """By both sets of rules, which agree on each request."""
    refused = [
        (bool(validate(request, "openai")), bool(faults(request, "openai")))
        for _, request in sent_after(fault)
    ]
    assert (True, True) in refused
    assert set(refused) <= {(True, True), (False, False)}


def test_a_result_of_another_call_is_found() -> None:
    """No rule of a provider sees it."""
    found = [
        bool(mispaired(request, "openai", history.pairs))
        for history, request in sent_after(nearest_call)
    ]
    assert any(found)
