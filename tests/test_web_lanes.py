"""Lanes: one thread, one connection, in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tract.errors import BusyError, ConflictError
from tract.storage import open_store
from tract.tokens import token_counter
from tract.web import lanes as module
from tract.web.lanes import Batch, Lane, Lanes, Position


@pytest.fixture
def lanes(tmp_path: Path) -> Iterator[Lanes]:
    path = str(tmp_path / "t.db")
    made = Lanes(lambda: open_store(path), token_counter("chars/4"), 2, None)
    yield made
    asyncio.run(made.close())


def test_a_dialog_always_has_the_same_lane(lanes: Lanes) -> None:
    assert lanes.of("a") is lanes.of("a")
    assert len({id(lanes.of(f"d{n}")) for n in range(50)}) == 2


def test_what_runs_on_a_lane_runs_in_order_and_in_one_thread(lanes: Lanes) -> None:
    seen: list[tuple[int, int]] = []

    async def main() -> None:
        def note(number: int) -> None:
            seen.append((number, threading.get_ident()))

        lane = lanes.of("a")
        await asyncio.gather(*(lane.run(lambda n=n: note(n)) for n in range(50)))  # type: ignore[misc]

    asyncio.run(main())
    assert [number for number, _ in seen] == list(range(50))
    assert len({thread for _, thread in seen}) == 1


def test_a_full_lane_refuses(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 1)
    gate = threading.Event()

    async def main() -> None:
        lane = lanes.of("a")
        first = asyncio.ensure_future(lane.run(gate.wait))
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="1 requests wait"):
            await lane.run(gate.wait)
        gate.set()
        await first

    asyncio.run(main())


def test_a_dialog_is_as_the_client_has_it_checked_out(lanes: Lanes) -> None:
    async def main() -> None:
        lane = lanes.of("d")

        def work() -> tuple[str, str | None, str | None]:
            t = lane.tract("d")
            first = t.user("one").commit_hash
            t.branch("other")
            t.user("two")
            other = lane.tract("d", Position("other")).head
            old = lane.tract("d", Position("main", first)).head
            return first, other, old

        first, other, old = await lane.run(work)
        assert first == other == old

    asyncio.run(main())


def test_a_batch_ends_or_is_as_if_it_had_not_been(lanes: Lanes) -> None:
    async def write(batch: Batch, text: str) -> None:
        await batch.run(lambda: batch.tract("d").user(text))

    async def texts(lane: Lane) -> list[str]:
        return await lane.run(lambda: [info.preview for info in lane.tract("d").log()])

    async def main() -> None:
        batch = await lanes.begin("me")
        await write(batch, "kept")
        await batch.run(batch.begin)
        await write(batch, "dropped")
        assert not await batch.run(batch.abandon)
        assert await batch.run(batch.end)
        await lanes.drop(batch)
        assert await texts(lanes.of("d")) == ["kept"]
        with pytest.raises(ConflictError, match="not open"):
            lanes.batch(batch.id, "me")

    asyncio.run(main())


def test_a_batch_belongs_to_its_token(lanes: Lanes) -> None:
    async def main() -> None:
        batch = await lanes.begin("me")
        with pytest.raises(ConflictError, match="not open"):
            lanes.batch(batch.id, "you")
        await lanes.drop(batch)

    asyncio.run(main())


def test_a_batch_that_no_one_uses_is_rolled_back(lanes: Lanes) -> None:
    lanes.idle_seconds = 0.0

    async def main() -> None:
        batch = await lanes.begin("me")
        await batch.run(lambda: batch.tract("d").user("gone"))
        await asyncio.sleep(0.01)
        await lanes.drop_late()
        lane = lanes.of("d")
        assert await lane.run(lambda: lane.tract("d").head) is None
        assert await lane.run(lambda: lane.tract("d").user("next").preview) == "next"

    asyncio.run(main())


def test_there_are_not_too_many_batches(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BATCHES", 1)

    async def main() -> None:
        batch = await lanes.begin("me")
        with pytest.raises(BusyError, match="1 batches are open"):
            await lanes.begin("me")
        await lanes.drop(batch)

    asyncio.run(main())
