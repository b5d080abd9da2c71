"""The dialogs of a list: names, times and costs, at once or as they are read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tract import Tract
from tract.economy.listing import (
    DetailsCache,
    DialogDetails,
    ListedDialog,
    age,
    described,
    details_of,
    dialog_rows,
    model_label,
)
from tract.economy.prices import NO_PRICES, PriceList, prices_of
from tract.model import DialogFacts, DialogInfo
from tract.remote.wire import encode_result

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PRICES = PriceList(prices_of({"m": {"input": 1, "output": 10}}))


def listed(name: str = "d", hours: int = 0, **facts: Any) -> DialogInfo:
    time = NOW - timedelta(hours=hours)
    return DialogInfo(name, "main", 2, 5, 9, 99, 1, time, time, DialogFacts(**facts))


# Rows


def test_a_row_has_what_is_known_at_once() -> None:
    start, end = NOW - timedelta(days=2), NOW - timedelta(days=1)
    info = listed(
        "0dad7789-1234-7581",
        title="Do it",
        folder="C:\\work\\shop",
        model="anthropic/claude-opus-4-5-20251101",
        started=start,
        ended=end,
        parent="other",
        cost=1.5,
    )
    (row,) = dialog_rows([info])
    assert (row.dialog, row.label, row.title) == ("0dad7789-1234-7581", "Do it", "Do it")
    assert (row.project, row.folder) == ("shop", "C:\\work\\shop")
    assert (row.model, row.model_label) == ("anthropic/claude-opus-4-5-20251101", "opus-4-5")
    assert (row.branch, row.branches, row.commits, row.tokens) == ("main", 2, 5, 9)
    assert (row.bytes, row.errors, row.parent, row.cost) == (99, 1, "other", "$1.50")
    assert (row.started, row.ended) == (start, end)


def test_what_is_not_known_is_empty() -> None:
    info = listed("work", cost=0)
    (row,) = dialog_rows([info])
    assert (row.label, row.started, row.ended) == ("work", NOW, NOW)
    for text in (row.title, row.project, row.folder, row.model, row.model_label, row.parent):
        assert text == ""
    assert row.cost == ""
    assert json.loads(encode_result(row))["ended"] == "2026-03-01T12:00:00Z"


def test_the_newest_is_first_by_the_clock_of_the_session() -> None:
    infos = [
        listed("old", ended=NOW - timedelta(days=9)),
        listed("middle", hours=5),
        listed("new", hours=1),
    ]
    assert [row.dialog for row in dialog_rows(infos)] == ["new", "middle", "old"]


@given(*[st.text(max_size=9)] * 4)
def test_what_others_wrote_is_harmless(name: str, title: str, folder: str, model: str) -> None:
    (row,) = dialog_rows([listed(name, title=title, folder=folder, model=model)])
    assert row.dialog == name
    for text in (row.label, row.title, row.project, row.folder, row.model, row.model_label):
        assert not set(text) & set("\n\x1b\u202e\0")


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ("claude-opus-4-5-20251101", "opus-4-5"),
        ("openai/gpt-5.2-2026-01-31", "gpt-5.2"),
        ("gemini-3-pro", "gemini-3-pro"),
        ("", ""),
    ],
)
def test_a_model_is_called_by_its_name(model: str, label: str) -> None:
    assert model_label(model) == label


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "now"), (60, "1m"), (7200, "2h"), (518400, "6d"), (1728000, "2w"), (9**8, "1y")],
)
def test_an_age_is_short(seconds: int, text: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == text


def test_words_are_looked_for_in_all_that_names_a_dialog() -> None:
    info = listed("0dad7789-1234-7581", model="claude-opus-4-5", folder="/srv/shop", title="Do")
    assert ListedDialog(info).has(["OPUS", "do", "shop"])
    assert not ListedDialog(info).has(["sonnet"])


# Details


@pytest.fixture
def database() -> Any:
    with Tract.open(":memory:", dialog="work") as tract:
        asked = tract.user("How long?")
        usage = {"input_tokens": 20, "cache_read_input_tokens": 60, "output_tokens": 10}
        tract.assistant("Ten.", generation_config={"model": "m-20260101"}, usage=usage)
        tract.user("How much?", edit=asked)
        tract.branch("other")
        tract.checkout("other")
        tract.assistant("Two.", generation_config={"model": "x"}, usage={"input_tokens": 20})
        yield tract


def info_of(tract: Tract, name: str = "work") -> DialogInfo:
    (info,) = [info for info in tract.dialogs() if info.dialog == name]
    return info


def test_details_are_those_of_all_branches(database: Tract) -> None:
    database.checkout("main")
    assert details_of(database, info_of(database), PRICES) == DialogDetails(
        dialog="work",
        model="x",
        model_label="x",
        messages=3,
        cost="$0.00+",
        dollars=0.00018,
        unpriced=1,
        sent=100,
        cached=60,
        answered=10,
    )


def test_details_without_prices_or_usage(database: Tract) -> None:
    details = details_of(database, info_of(database), NO_PRICES)
    assert (details.cost, details.dollars, details.unpriced) == ("100 → 10", None, 2)
    database.sibling("idle").user("hi")
    idle = details_of(database, info_of(database, "idle"), PRICES)
    assert (idle.model, idle.cost, idle.dollars, idle.cached) == ("", "", None, None)
    assert (idle.messages, idle.sent, idle.answered) == (1, 0, 0)


def test_a_cost_of_the_session_counts_where_no_answer_has_one(database: Tract) -> None:
    for name in ("work", "idle"):
        database.sibling(name).user("hi")
        facts = {"model": "m-1", "cost": 1.25}
        database.store.dialogs.set_settings(name, "facts", facts)
    idle = details_of(database, info_of(database, "idle"), PRICES)
    assert (idle.model, idle.cost, idle.dollars, idle.cached) == ("m-1", "$1.25", 1.25, None)
    assert details_of(database, info_of(database), PRICES).cost == "$0.00+"


def test_the_model_of_the_last_answer_stands_for_one_that_is_not_known(database: Tract) -> None:
    dialog = described(database, info_of(database), PRICES)
    assert (dialog.model, dialog.answered_by) == ("x", "x")
    database.store.dialogs.set_settings("work", "facts", {"model": "m-1"})
    assert described(database, info_of(database), PRICES).model == "m-1"


def test_details_are_read_once(database: Tract, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, infos = DetailsCache(PRICES), database.dialogs()
    reads, usages = [], database.store.usages

    def counting(name: str) -> Any:
        reads.append(name)
        return usages(name)

    monkeypatch.setattr(database.store, "usages", counting)
    assert cache.get(infos[0]) is None
    first = cache.read(database, infos[0])
    assert cache.read(database, database.dialogs()[0]) is cache.get(infos[0]) is first
    assert reads == ["work"]

    database.user("more")
    changed = info_of(database)
    assert cache.get(changed) is None
    assert cache.read(database, changed).messages == first.messages + 1
    assert reads == ["work", "work"]

    cache.keep_only([changed])
    assert cache.get(changed) is not None
    cache.keep_only([])
    assert cache.get(changed) is None
