"""Follow mode's sense of time: when it looks, when it does not, and what it says meanwhile. The clock is a simulated one."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from clawperator.engine.contracts.envelope import Envelope, StepResult
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import SnapshotSeen
from clawperator.engine.executions.backend import Outcome
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import YIELD_SECONDS, YIELD_SPARE_SECONDS, Holder, LockState, LockStatus
from clawperator.engine.executions.internal_snapshot import tree_of
from clawperator.engine.follow.follower import (
    BUDGET_MS,
    BUSY_REST,
    PAINT_LIMIT,
    SPARE_SECONDS,
    STOCK_BUDGET_MS,
    Follow,
    FollowState,
)
from clawperator.engine.logcat.signals import CapturedHierarchy

SERIAL = "emulator-5554"
FREE = LockStatus(SERIAL, "free", None)
LOOK, PAINT = 0.1, 0.05
"""How long a look and a painting take here."""


class SimulatedTime(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to whatever comes next; nothing to wait for is an error, not a hang."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jump(self))

    def time(self) -> float:
        return self.now


class _Jump(selectors.SelectSelector):
    def __init__(self, loop: SimulatedTime) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "everybody waits for ever"
        self._loop.now += max(timeout, 0)
        return []


class World:
    """A device, somebody who paints its trees, and a record of both."""

    def __init__(self) -> None:
        self.bus = EventBus()
        self.screen: Callable[[], str] = lambda: "<same/>"
        self.error: EngineError | None = None
        self.taken = FREE
        self.paints = True
        self.present = True
        self.back = asyncio.Event()
        self.began: list[float] = []
        self.lock_looks: list[float] = []
        self.said: list[tuple[float, FollowState]] = []
        self.follow = Follow(
            self.bus,
            SERIAL,
            look=self.look,
            lock=self.lock,
            wait_for_device=self.wait_for_device,
            on_state=lambda state: self.said.append((self.now, state)),
        )

    @property
    def now(self) -> float:
        return round(asyncio.get_running_loop().time(), 3)

    async def look(self, command: Command) -> str:
        self.began.append(self.now)
        await asyncio.sleep(LOOK)
        if self.error is not None:
            raise self.error
        xml = self.screen()
        self.tree(xml, command.command_id)
        return xml

    def tree(self, xml: str, command_id: str = "agent-1", *, serial: str = SERIAL, complete: bool = True) -> None:
        self.bus.publish(
            SnapshotSeen(device_id=serial, command_id=command_id, step_id="snap", xml=xml, complete=complete)
        )
        if self.paints:
            asyncio.get_running_loop().call_later(PAINT, self.follow.painted)

    def lock(self) -> LockStatus:
        self.lock_looks.append(self.now)
        return self.taken

    async def wait_for_device(self, gone: Callable[[], object]) -> bool:
        if self.present:
            return False
        gone()
        await self.back.wait()
        return True

    def changing(self) -> None:
        self.screen = lambda: f"<tree at='{self.now}'/>"

    def phases(self) -> list[str]:
        return [state.phase for _, state in self.said]


def held_by(command_id: str, state: LockState = "held") -> LockStatus:
    return LockStatus(SERIAL, state, Holder(SERIAL, 1, command_id, "t", "agent", 1_000, 0.0))


def play(script: Callable[[World], Coroutine[Any, Any, None]]) -> World:
    """Follow while ``script`` runs, on simulated time."""

    async def main() -> World:
        world = World()
        task = asyncio.create_task(world.follow.run())
        await script(world)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1
        assert not world.bus.watched
        return world

    with asyncio.Runner(loop_factory=SimulatedTime) as runner:
        return runner.run(main())


def test_the_next_look_begins_when_the_last_tree_is_painted() -> None:
    async def script(world: World) -> None:
        world.changing()
        await asyncio.sleep(1.0)

    world = play(script)
    assert world.began == [0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9]
    assert world.said == []
    assert world.follow.state == FollowState("reading")


def test_no_look_while_the_last_tree_is_not_painted_but_for_a_rare_one() -> None:
    async def script(world: World) -> None:
        world.changing()
        world.paints = False
        await asyncio.sleep(2 * PAINT_LIMIT)

    assert play(script).began == [0.0, PAINT_LIMIT + LOOK]


def test_who_paints_at_once_is_not_too_early() -> None:
    """A painter that heard of the tree first says so before we have taken note of it."""

    async def script(world: World) -> None:
        world.changing()
        world.paints = False
        painter = world.bus.subscribe()

        async def paint() -> None:
            async for _ in painter:
                world.follow.painted()

        painting = asyncio.create_task(paint())
        await asyncio.sleep(1.05)
        painter.close()
        await painting

    assert len(play(script).began) == 11


def test_equal_trees_make_it_rest_longer_and_a_change_wakes_it() -> None:
    async def script(world: World) -> None:
        await asyncio.sleep(15)
        world.changing()
        await asyncio.sleep(4)

    world = play(script)
    assert world.began[:6] == [0.0, 0.15, 1.25, 3.35, 8.45, 13.55]
    assert world.began[6:9] == [18.65, 18.8, 18.95]
    assert world.said == [
        (0.25, FollowState("resting", wait=1.0)),
        (1.35, FollowState("resting", wait=2.0)),
        (3.45, FollowState("resting", wait=5.0)),
        (18.75, FollowState("reading")),
    ]


def test_a_device_at_work_is_left_alone_and_its_user_named() -> None:
    async def script(world: World) -> None:
        world.changing()
        await asyncio.sleep(0.02)
        world.taken = held_by("cmd-123")
        await asyncio.sleep(3)
        world.lock_looks.clear()
        world.taken = FREE
        await asyncio.sleep(1)

    world = play(script)
    assert world.began[:3] == [0.0, 3.15, 3.3]
    assert world.said[0] == (0.15, FollowState("busy", command_id="cmd-123"))
    assert world.phases() == ["busy", "reading"]


def test_the_lock_is_looked_at_four_times_a_second_at_most() -> None:
    async def script(world: World) -> None:
        world.taken = held_by("cmd-123")
        for number in range(100):
            await asyncio.sleep(0.05)
            world.tree(f"<tree n='{number}'/>")

    world = play(script)
    assert world.began == []
    pauses = [later - sooner for sooner, later in zip(world.lock_looks, world.lock_looks[1:], strict=False)]
    assert min(pauses) >= BUSY_REST - 0.001


def test_a_race_for_the_device_that_is_lost_is_no_failure() -> None:
    async def script(world: World) -> None:
        world.error = EngineError(
            ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "taken", details={"inFlightCommandId": "cmd-9"}
        )
        await asyncio.sleep(1)

    world = play(script)
    assert (LOOK, FollowState("busy", command_id="cmd-9")) in world.said
    assert set(world.phases()) <= {"busy", "reading"}
    assert len(world.began) <= 1 / BUSY_REST


def test_someone_elses_tree_saves_a_look() -> None:
    async def script(world: World) -> None:
        world.changing()
        await asyncio.sleep(0.12)  # the first look is over, its tree not painted yet
        for number in range(8):
            world.tree(f"<agent n='{number}'/>")
            await asyncio.sleep(0.5)
        await asyncio.sleep(1)

    world = play(script)
    assert world.began[:2] == [0.0, 0.12 + 7 * 0.5 + 1.0]
    assert world.said[0] == (0.12, FollowState("resting", wait=1.0))
    assert world.phases() == ["resting", "reading"]


def test_the_same_tree_from_someone_else_lets_it_rest_on() -> None:
    async def script(world: World) -> None:
        await asyncio.sleep(4)  # resting 5 s since 3.45
        world.tree("<same/>")
        await asyncio.sleep(5.5)

    assert play(script).began == [0.0, 0.15, 1.25, 3.35, 9.0]


def test_trees_of_other_devices_and_parts_of_trees_do_not_count() -> None:
    async def script(world: World) -> None:
        await asyncio.sleep(4)
        world.tree("<other/>", serial="emulator-5556")
        world.tree("<half", complete=False)
        await asyncio.sleep(5)

    assert play(script).began == [0.0, 0.15, 1.25, 3.35, 8.45]


def test_a_tree_that_came_while_the_device_was_at_work_is_fresh_too() -> None:
    async def script(world: World) -> None:
        world.taken = held_by("cmd-1")
        await asyncio.sleep(0.6)
        world.tree("<agent/>", "cmd-1")
        await asyncio.sleep(0.1)
        world.taken = FREE
        await asyncio.sleep(1.2)

    assert play(script).began[0] == 1.6


def test_failures_are_reported_and_make_it_rest_longer() -> None:
    error = EngineError(ErrorCode.SERVICE_UNAVAILABLE, "no service")

    async def script(world: World) -> None:
        world.error = error
        await asyncio.sleep(15)
        world.error = None
        await asyncio.sleep(5)

    world = play(script)
    assert world.began[:5] == [0.0, 1.1, 3.2, 8.3, 13.4]
    assert world.said[:3] == [
        (0.1, FollowState("failing", wait=1.0, error=error)),
        (1.2, FollowState("failing", wait=2.0, error=error)),
        (3.3, FollowState("failing", wait=5.0, error=error)),
    ]
    assert world.phases()[3:5] == ["reading", "resting"]


def test_a_device_that_vanishes_is_waited_for_without_a_look() -> None:
    error = EngineError(ErrorCode.LOGCAT_UNAVAILABLE, "gone")

    async def script(world: World) -> None:
        world.changing()
        await asyncio.sleep(0.5)
        world.error, world.present = error, False
        await asyncio.sleep(100)
        world.error, world.present = None, True
        world.back.set()
        await asyncio.sleep(1)

    world = play(script)
    assert world.began[3:6] == [0.45, 100.5, 100.65]
    assert [state for _, state in world.said] == [FollowState("away", error=error), FollowState("reading")]


def test_a_device_that_is_listed_but_does_not_answer_is_no_hot_loop() -> None:
    async def script(world: World) -> None:
        world.error = EngineError(ErrorCode.DEVICE_OFFLINE, "offline")
        await asyncio.sleep(20)

    world = play(script)
    assert world.began == [0.0, 1.1, 3.2, 8.3, 13.4, 18.5]
    assert set(world.phases()) == {"failing"}


def test_what_its_own_look_left_settling_is_no_one_to_wait_for() -> None:
    async def script(world: World) -> None:
        world.error = EngineError(ErrorCode.RESULT_ENVELOPE_TIMEOUT, "late")
        await asyncio.sleep(0.2)
        assert world.follow._commands
        world.taken = held_by(world.follow._commands[-1], "settling")
        await asyncio.sleep(2)

    assert play(script).phases() == ["failing"]


def test_its_own_tree_that_comes_after_all_counts() -> None:
    async def script(world: World) -> None:
        world.error = EngineError(ErrorCode.RESULT_ENVELOPE_TIMEOUT, "late")
        await asyncio.sleep(0.9)
        world.tree("<late/>", world.follow._commands[-1])
        await asyncio.sleep(1.5)

    assert play(script).began == [0.0, 1.9]


def test_only_its_own_recent_looks_are_its_own() -> None:
    async def script(world: World) -> None:
        world.changing()
        await asyncio.sleep(1)
        assert world.follow.owns(world.follow._commands[0])
        assert not world.follow.owns("")
        assert not world.follow.owns("cmd-1")

    play(script)


def test_switched_off_in_the_middle_of_a_look_it_ends_with_that_look() -> None:
    async def main() -> None:
        world = World()
        task = asyncio.create_task(world.follow.run())
        await asyncio.sleep(LOOK / 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert world.now == LOOK

    with asyncio.Runner(loop_factory=SimulatedTime) as runner:
        runner.run(main())


def test_a_look_is_shorter_than_an_execution_is_patient() -> None:
    for budget_ms in (BUDGET_MS, STOCK_BUDGET_MS):
        limit = budget_ms / 1000
        assert limit + SPARE_SECONDS < max(YIELD_SECONDS, limit + YIELD_SPARE_SECONDS)


# -- what a look brings


def envelope(*, ok: bool = True, error: str | None = None, code: str | None = None, **data: str) -> Envelope:
    steps = (StepResult("snap", "snapshot_ui", ok, data),)
    return Envelope("follow-1", "t", "failed" if error else "success", () if error else steps, error, code)


def test_the_newest_complete_tree_is_taken() -> None:
    dumps = [CapturedHierarchy("snap", xml, xml != "<c") for xml in ("<a/>", "<b/>", "<c")]
    assert tree_of(Outcome(envelope(), dumps)) == "<b/>"
    assert tree_of(Outcome(envelope(text="<inline/>"))) == "<inline/>"


@pytest.mark.parametrize(
    ("reported", "code"),
    [
        (envelope(error="OperatorAccessibilityService is not running"), "SERVICE_UNAVAILABLE"),
        (envelope(error="words", code="EXECUTION_TIMEOUT"), "UI_TREE_UNAVAILABLE"),
        (envelope(error="words", code="no code of ours"), "UNKNOWN_RUNTIME_ERROR"),
        (envelope(ok=False, error=None, message="no window"), "UI_TREE_UNAVAILABLE"),
        (envelope(), "SNAPSHOT_EXTRACTION_FAILED"),
    ],
)
def test_no_tree_is_an_error_with_the_devices_own_code(reported: Envelope, code: str) -> None:
    with pytest.raises(EngineError) as caught:
        tree_of(Outcome(reported))
    assert caught.value.code == code
