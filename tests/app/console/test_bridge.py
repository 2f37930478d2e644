from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from clawperator.app.console import bridge as bridge_module
from clawperator.app.console.bridge import Bridge
from clawperator.app.console.messages import (
    DevicesUpdate,
    DoctorUpdate,
    LocksUpdate,
    NoticeUpdate,
    SnapshotUpdate,
    StreamUpdate,
    Update,
    WorkUpdate,
)
from clawperator.app.console.trees import read_tree
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import AdbServerLost, LogAttached, LogBatch, LogGap, SnapshotSeen
from clawperator.widgets.models.status import Status
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    NOON,
    PHONE,
    FakeEngine,
    MovableClock,
    agent_run,
    check,
    log_lines,
    settings_screen,
)
from tests.support import patience

Kind = TypeVar("Kind", bound=Update)


class Inbox:
    """What the bridge posted, and a way to wait for it."""

    def __init__(self) -> None:
        self.news: list[Update] = []
        self._changed = asyncio.Event()

    def post(self, news: Update) -> None:
        self.news.append(news)
        self._changed.set()

    async def until(self, holds: Callable[[list[Update]], object]) -> None:
        async with asyncio.timeout(patience(5)):
            while not holds(self.news):
                self._changed.clear()
                await self._changed.wait()

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [news for news in self.news if isinstance(news, kind)]


@asynccontextmanager
async def bridged(engine: FakeEngine, *, tick: float = 0.0) -> AsyncIterator[tuple[Bridge, Inbox]]:
    """A running bridge and what it posts; the device list has come already."""
    inbox = Inbox()
    bridge = Bridge(engine, inbox.post, MovableClock().clock, tick=tick)
    task = asyncio.create_task(bridge.run())
    try:
        await inbox.until(lambda news: news)
        yield bridge, inbox
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_devices_are_pushed_and_a_lost_server_keeps_the_list() -> None:
    engine = FakeEngine()
    async with bridged(engine) as (_, inbox):
        engine.show_devices(DEVICE, PHONE)
        engine.publish(AdbServerLost(reason="connection refused"))
        await inbox.until(lambda _: len(inbox.of(DevicesUpdate)) == 3)
    first, second, lost = inbox.of(DevicesUpdate)
    assert (first.devices, second.devices) == ((DEVICE,), (DEVICE, PHONE))
    assert (lost.devices, lost.problem) == ((DEVICE, PHONE), "connection refused")


async def test_a_thousand_lines_between_two_ticks_are_one_message() -> None:
    engine = FakeEngine()
    async with bridged(engine, tick=0.05) as (_, inbox):
        for start in range(0, 1000, 50):
            engine.log(log_lines(50, start=start))
        await inbox.until(lambda _: inbox.of(StreamUpdate))
        assert len(inbox.of(StreamUpdate)) == 1
        batches = [event for event in inbox.of(StreamUpdate)[0].events if isinstance(event, LogBatch)]
        assert sum(len(batch.entries) for batch in batches) == 1000


async def test_events_keep_their_order_and_losses_are_reported() -> None:
    engine = FakeEngine()
    async with bridged(engine) as (_, inbox):
        run = agent_run("cmd-1", NOON)
        engine.publish(*run)
        engine.log(log_lines(3), dropped=40)
        await inbox.until(lambda _: sum(len(news.events) for news in inbox.of(StreamUpdate)) > len(run))
        events = [event for news in inbox.of(StreamUpdate) for event in news.events]
        assert [event.at for event in events[:-1]] == [event.at for event in run]
        batch = events[-1]
        assert isinstance(batch, LogBatch)
        assert (len(batch.entries), batch.dropped) == (3, 40)


async def test_a_reader_that_falls_behind_learns_how_much_it_lost() -> None:
    engine = FakeEngine()
    async with bridged(engine) as (_, inbox):
        for number in range(11_000):  # one turn of the loop: the queue holds 10,000
            engine.publish(agent_run(f"cmd-{number}", NOON)[0])
        await inbox.until(lambda _: inbox.of(StreamUpdate))
        assert inbox.of(StreamUpdate)[0].dropped == 1000


async def test_a_broken_log_is_reported_once_and_when_it_is_followed_again() -> None:
    engine = FakeEngine()
    async with bridged(engine) as (_, inbox):
        gap = LogGap(device_id=DEVICE.serial, reason="device offline")
        engine.publish(LogAttached(device_id=DEVICE.serial), gap, gap, gap, LogAttached(device_id=DEVICE.serial), gap)
        await inbox.until(lambda _: len(inbox.of(NoticeUpdate)) == 3)
    assert [news.notice.status for news in inbox.of(NoticeUpdate)] == [Status.WARN, Status.OK, Status.WARN]


async def test_a_snapshot_asked_for_comes_back_as_a_tree_of_our_own() -> None:
    engine = FakeEngine(screen=settings_screen())
    async with bridged(engine) as (bridge, inbox):
        bridge.use_device(DEVICE.serial)
        assert bridge.take_snapshot()
        await inbox.until(lambda _: inbox.of(SnapshotUpdate))
        snapshot = inbox.of(SnapshotUpdate)[0].snapshot
        assert snapshot.tree is not None
        assert (snapshot.source, snapshot.device_id, snapshot.command_id) == ("r", DEVICE.serial, "snap-1")
        assert [news.text for news in inbox.of(WorkUpdate)] == ["Reading the screen…", ""]
    assert engine.calls == [f"snapshot {DEVICE.serial}"]


async def test_one_snapshot_at_a_time() -> None:
    engine = FakeEngine(screen=settings_screen(), hold_snapshot=asyncio.Event())
    async with bridged(engine) as (bridge, inbox):
        assert bridge.take_snapshot()
        assert not bridge.take_snapshot()
        assert engine.hold_snapshot is not None
        engine.hold_snapshot.set()
        await inbox.until(lambda _: inbox.of(SnapshotUpdate))
        assert len(engine.calls) == 1


async def test_the_trees_of_others_are_compared_with_the_one_before() -> None:
    engine = FakeEngine()
    before, after = settings_screen(), settings_screen().replace("HomeNet", "CafeNet")
    async with bridged(engine) as (bridge, inbox):
        bridge.use_device(DEVICE.serial)
        for number, xml in enumerate((before, after), 1):
            engine.publish(SnapshotSeen(device_id=DEVICE.serial, command_id=f"agent-{number}", step_id="s", xml=xml))
        await inbox.until(lambda _: len(inbox.of(SnapshotUpdate)) == 2)
        first, second = (news.snapshot for news in inbox.of(SnapshotUpdate))
        assert first.source == "stream"
        assert not first.coming
        assert second.coming, "the tree is told at once, its changes when it has been painted"
        bridge.painted(second.serial)
        await inbox.until(lambda _: len(inbox.of(SnapshotUpdate)) == 3)
    again = inbox.of(SnapshotUpdate)[2].snapshot
    assert (again.serial, again.since, again.coming) == (second.serial, first.serial, False)
    assert [again.nodes[index].label for index in again.changes.changed] == ["CafeNet"]


async def test_the_same_bytes_again_only_make_the_tree_younger() -> None:
    engine = FakeEngine()
    async with bridged(engine) as (_, inbox):
        for number in (1, 2):
            engine.publish(
                SnapshotSeen(
                    device_id=DEVICE.serial,
                    command_id=f"a{number}",
                    step_id="s",
                    xml=settings_screen(),
                    at=NOON + number,
                )
            )
        await inbox.until(lambda _: len(inbox.of(SnapshotUpdate)) == 2)
    first, second = (news.snapshot for news in inbox.of(SnapshotUpdate))
    assert second.tree is first.tree
    assert (second.serial, second.at) == (first.serial, NOON + 2)


async def test_a_burst_of_trees_leaves_the_newest_of_every_device() -> None:
    engine = FakeEngine()
    async with bridged(engine) as (_, inbox):
        for command in ("old", *(str(number) for number in range(30))):
            for device in range(50):
                engine.publish(
                    SnapshotSeen(device_id=f"d{device}", command_id=command, step_id="s", xml=settings_screen())
                )
        await inbox.until(lambda _: sum(news.snapshot.command_id == "29" for news in inbox.of(SnapshotUpdate)) == 50)
        assert len(inbox.of(SnapshotUpdate)) < 100


async def test_an_unreadable_tree_is_a_notice_and_the_next_one_is_read() -> None:
    engine = FakeEngine()
    async with bridged(engine) as (_, inbox):
        engine.publish(SnapshotSeen(device_id=DEVICE.serial, command_id="a", step_id="s", xml="no xml at all"))
        engine.publish(SnapshotSeen(device_id=DEVICE.serial, command_id="b", step_id="s", xml=settings_screen()))
        await inbox.until(lambda _: inbox.of(SnapshotUpdate))
        (news,) = inbox.of(NoticeUpdate)
        assert news.notice.code == "HIERARCHY_MALFORMED"


def test_an_incomplete_dump_is_read_up_to_its_cut_and_says_so() -> None:
    whole = settings_screen()
    tree, problem = read_tree(whole[: len(whole) // 2])
    assert tree is not None
    assert not tree.complete
    assert "incomplete" in problem


async def test_the_doctor_is_reported_check_by_check() -> None:
    engine = FakeEngine(checks=CHECKS_OK)
    async with bridged(engine) as (bridge, inbox):
        bridge.use_device(DEVICE.serial)
        bridge.run_doctor()
        await inbox.until(lambda _: any(news.report.ended for news in inbox.of(DoctorUpdate)))
    reports = [news.report for news in inbox.of(DoctorUpdate)]
    assert [len(report.checks) for report in reports] == [*range(len(CHECKS_OK) + 1), len(CHECKS_OK)]
    assert reports[0].running
    assert not reports[-1].running


async def test_a_doctor_that_cannot_run_says_why() -> None:
    engine = FakeEngine(doctor_error=EngineError(ErrorCode.ADB_NOT_FOUND, "adb was not found"))
    async with bridged(engine) as (bridge, inbox):
        bridge.run_doctor()
        await inbox.until(lambda _: any(news.report.ended for news in inbox.of(DoctorUpdate)))
    assert inbox.of(DoctorUpdate)[-1].report.problem == "adb was not found (ADB_NOT_FOUND)"


async def test_engine_errors_become_notices_with_their_code() -> None:
    engine = FakeEngine(
        snapshot_error=EngineError(ErrorCode.DEVICE_OFFLINE, "emulator-5554 is offline", hint="Replug it.")
    )
    async with bridged(engine) as (bridge, inbox):
        bridge.take_snapshot()
        await inbox.until(lambda _: inbox.of(NoticeUpdate))
        (news,) = inbox.of(NoticeUpdate)
        assert (news.notice.status, news.notice.code) == (Status.FAILED, "DEVICE_OFFLINE")
        assert news.notice.text == "emulator-5554 is offline. Replug it."
        await inbox.until(lambda _: inbox.of(WorkUpdate)[-1].text == "")


@pytest.mark.parametrize(
    ("details", "words"),
    [
        (
            {"inFlightCommandId": "cmd-123", "source": "openclaw"},
            "Device busy: cmd-123 from openclaw. Nothing was sent.",
        ),
        (
            {"settlingAfter": "cmd-123", "retryAfterMs": 1_400},
            "Device settling after cmd-123: free in 1.4 s. Nothing was sent.",
        ),
    ],
)
async def test_a_conflict_says_who_has_the_device_and_that_nothing_was_sent(
    details: dict[str, Any], words: str
) -> None:
    error = EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "Another execution is in flight", details=details)
    async with bridged(FakeEngine(snapshot_error=error)) as (bridge, inbox):
        bridge.take_snapshot()
        await inbox.until(lambda _: inbox.of(NoticeUpdate))
        assert inbox.of(NoticeUpdate)[0].notice.text == words


async def test_locks_are_reported_when_they_change() -> None:
    engine = FakeEngine(taken=[{"deviceId": DEVICE.serial, "state": "held", "commandId": "cmd-9"}])
    async with bridged(engine) as (_, inbox):
        await inbox.until(lambda _: inbox.of(LocksUpdate))
        assert inbox.of(LocksUpdate)[0].locks[DEVICE.serial]["commandId"] == "cmd-9"


async def test_a_busy_device_is_read_and_checked_as_soon_as_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "LOCK_LOOK_SECONDS", 0.01)
    engine = FakeEngine(taken=[{"deviceId": DEVICE.serial, "state": "held", "commandId": "cmd-9"}], checks=CHECKS_OK)
    async with bridged(engine) as (bridge, inbox):
        bridge.use_device(DEVICE.serial)
        bridge.first_look()
        await inbox.until(lambda _: inbox.of(LocksUpdate))
        assert engine.calls == []
        engine.taken.clear()
        await inbox.until(lambda _: len(engine.calls) == 2)
        assert engine.calls == [f"snapshot {DEVICE.serial}", f"doctor {DEVICE.serial}"]


async def test_an_execution_between_two_polls_of_the_locks_delays_the_first_look_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second console that started at the same time refused both, and no lock was ever seen."""
    monkeypatch.setattr(bridge_module, "LOCK_LOOK_SECONDS", 0.01)
    busy = check("readiness.handshake", "fail", "Refused", code="EXECUTION_CONFLICT_IN_FLIGHT")
    error = EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "Another execution is in flight")
    engine = FakeEngine(screen=settings_screen(), snapshot_error=error, checks=(busy,))
    async with bridged(engine) as (bridge, inbox):
        bridge.use_device(DEVICE.serial)
        bridge.first_look()
        await inbox.until(lambda _: any(news.report.ended for news in inbox.of(DoctorUpdate)))
        assert not inbox.of(SnapshotUpdate)
        engine.snapshot_error, engine.checks = None, CHECKS_OK
        await inbox.until(lambda _: inbox.of(SnapshotUpdate))
        await inbox.until(lambda _: inbox.of(DoctorUpdate)[-1].report.verdict().ready)
        assert not inbox.of(NoticeUpdate)


async def test_changing_the_device_changes_the_log_that_is_followed() -> None:
    engine = FakeEngine()
    async with bridged(engine) as (bridge, inbox):
        bridge.use_device("a")
        await inbox.until(lambda _: True)
        await asyncio.sleep(0)
        bridge.use_device("b")
        bridge.use_device("b")
        await asyncio.sleep(0)
        assert engine.watched == ["a", "b"]
