"""The history's thread: whatever happens to the file, nobody who runs something is told by an exception, or waits."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import HistoryTrouble
from clawperator.engine.filters.grammar import parse_filter
from clawperator.engine.history import worker as rooms
from clawperator.engine.history.store import History
from clawperator.engine.history.worker import HistoryWorker
from tests.engine.history.support import a_run, a_tree


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "history.db")


async def test_reads_see_what_was_written_before_them(path: str) -> None:
    room = HistoryWorker(path, EventBus())
    room.write(lambda history: history.put(a_run("one", trees=(a_tree(),))))
    room.write(lambda history: history.put(a_run("two")))
    assert [run.command_id for run in await room.runs(parse_filter("one"))] == ["one"]
    assert (await room.count(), (await room.find("one")).summary.number) == (2, 1)
    assert await room.tree((await room.find("one")).trees[0].digest) == "<hierarchy/>"
    assert await room.audit() == []
    before = await room.version()
    room.write(lambda history: history.put(a_run("three")))
    assert await room.version() != before
    with pytest.raises(EngineError) as caught:
        await room.find("nothing")
    assert caught.value.code is ErrorCode.HISTORY_NOT_FOUND
    await asyncio.to_thread(room.close)
    assert not room.troubles


def test_nothing_is_touched_before_someone_wants_something(path: str) -> None:
    threads = threading.active_count()
    HistoryWorker(path, EventBus()).close()
    assert threading.active_count() == threads
    assert not os.path.exists(path)


def test_late_writes_wait_for_the_end_of_a_held_room(path: str) -> None:
    room = HistoryWorker(path, EventBus())
    room.hold()
    room.write(lambda history: history.put(a_run("at the beginning")))
    room.write(lambda history: history.put(a_run("at the end")), late=True)
    asyncio.run(_settled(room))
    with History.open(path) as history:
        assert [run.command_id for run in history.runs()] == ["at the beginning"]
    room.close()
    with History.open(path) as history:
        assert [run.command_id for run in history.runs()] == ["at the end", "at the beginning"]


async def _settled(room: HistoryWorker) -> None:
    await room.count()


def test_who_leaves_for_good_leaves_the_file_open_and_whole(path: str) -> None:
    room = HistoryWorker(path, EventBus())
    room.write(lambda history: history.put(a_run("kept")))
    room.close(leaving=True)
    assert os.path.exists(f"{path}-wal"), "nothing was moved to its final place"
    with History.open(path) as history:
        assert history.find("kept").summary.number
    room.close()


async def test_trouble_is_reported_once_in_a_row_and_raises_nothing(tmp_path: Path) -> None:
    bus = EventBus()
    room = HistoryWorker(str(tmp_path), bus)  # a folder
    with bus.subscribe() as subscription:
        for _ in range(3):
            room.write(lambda history: history.put(a_run()))
        await asyncio.to_thread(room.close)
        (event,) = [event for event in await subscription.batch() if isinstance(event, HistoryTrouble)]
    assert list(room.troubles) == [event.reason]
    assert "Nothing was recorded" in event.reason
    with pytest.raises(EngineError) as caught:
        await room.count()
    assert caught.value.code is ErrorCode.HISTORY_UNAVAILABLE
    await asyncio.to_thread(room.close)


def test_a_fault_of_our_own_is_trouble_too(path: str) -> None:
    room = HistoryWorker(path, EventBus())
    room.write(lambda history: 1 / 0)
    room.write(lambda history: history.put(a_run("after")))
    room.close()
    assert list(room.troubles) == ["Nothing was recorded: ZeroDivisionError: division by zero"]
    with History.open(path) as history:
        assert history.find("after").summary.number


def test_a_damaged_file_is_reported_about_and_the_run_is_kept(path: str) -> None:
    Path(path).write_bytes(b"nothing" * 1_000)
    room = HistoryWorker(path, EventBus())
    room.write(lambda history: history.put(a_run("kept")))
    room.close()
    (trouble,) = room.troubles
    assert "renamed" in trouble
    with History.open(path) as history:
        assert history.find("kept").summary.number


def test_a_disk_that_hangs_costs_memory_only_so_far(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "_WAITING", 10)
    room, hangs = HistoryWorker(path, EventBus()), threading.Event()
    room.write(lambda history: hangs.wait())
    for index in range(50):
        room.write(lambda history, index=index: history.put(a_run(f"{index}")))  # type: ignore[misc]
    hangs.set()
    room.close()
    assert len(room.troubles) == 1
    with History.open(path) as history:
        assert 8 <= history.count() <= 12


async def test_a_reader_that_gives_up_disturbs_no_one(path: str) -> None:
    room, hangs = HistoryWorker(path, EventBus()), threading.Event()
    room.write(lambda history: hangs.wait())
    reading = asyncio.create_task(room.count())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    hangs.set()
    assert await room.count() == 0
    await asyncio.to_thread(room.close)


def test_runs_that_are_over_push_the_oldest_ones_out(path: str) -> None:
    """Whoever wrote them: seen ones count as well."""
    room = HistoryWorker(path, EventBus(), days=30, megabytes=500)
    for index in range(32):
        started = {"started_at": 1.0, "ended_at": 2.0} if index < 5 else {}
        room.write(lambda history, index=index, started=started: history.put(a_run(f"{index}", **started)))  # type: ignore[misc]
    room.close()
    with History.open(path) as history:
        assert history.count() == 27
