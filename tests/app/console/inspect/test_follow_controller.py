"""Follow mode on the console's side: one device at a time, and the words for how it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from clawperator.app.console.inspect.follow_controller import FollowController, follow_words
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.follow.follower import FollowState
from tests.support import table


class FakeFollow:
    def __init__(self, device_id: str, on_state: Callable[[FollowState], object]) -> None:
        self.device_id, self.on_state = device_id, on_state
        self.state = FollowState("reading")
        self.paintings = 0

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.on_state(FollowState("resting", wait=5.0))  # the look that was under way has ended

    def painted(self) -> None:
        self.paintings += 1

    def owns(self, command_id: str) -> bool:
        return command_id == f"follow-{self.device_id}"


class FakeEngine:
    def __init__(self) -> None:
        self.follows: list[FakeFollow] = []

    def follow(self, device_id: str, on_state: Callable[[FollowState], object]) -> FakeFollow:
        self.follows.append(FakeFollow(device_id, on_state))
        return self.follows[-1]


class Controlled:
    """A ``FollowController`` with everything that it says and starts."""

    def __init__(self) -> None:
        self.engine = FakeEngine()
        self.tasks: list[asyncio.Task[None]] = []
        self.reported: list[tuple[str, FollowState | None]] = []
        self.following = FollowController(
            cast("Any", self.engine), self.spawn, lambda device_id, state: self.reported.append((device_id, state))
        )

    def spawn(self, job: object) -> asyncio.Task[None]:
        assert asyncio.iscoroutine(job)
        self.tasks.append(asyncio.create_task(job))
        return self.tasks[-1]

    async def settle(self) -> None:
        """Let everything that was cancelled end."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@pytest.fixture
def desk() -> Controlled:
    return Controlled()


async def test_on_and_off_are_reported(desk: Controlled) -> None:
    desk.following.start("A")
    assert desk.following.device_id == "A"
    await asyncio.sleep(0)
    desk.following.stop()
    desk.following.stop()
    await desk.settle()
    assert desk.reported == [("A", FollowState("reading")), ("A", None)]
    assert desk.following.device_id == ""


async def test_another_device_ends_the_one_before(desk: Controlled) -> None:
    desk.following.start("A")
    desk.following.start("A")
    await asyncio.sleep(0)
    desk.following.start("B")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert desk.tasks[0].cancelled()
    assert not desk.tasks[1].done()
    desk.engine.follows[1].on_state(FollowState("busy", "cmd-1"))
    assert desk.reported[-1] == ("B", FollowState("busy", "cmd-1"))
    assert [device for device, state in desk.reported if state and state.phase == "resting"] == []
    assert len(desk.engine.follows) == 2
    await desk.settle()


async def test_a_tree_that_is_painted_again_asks_for_no_other(desk: Controlled) -> None:
    desk.following.painted(1)
    desk.following.start("A")
    for serial in (1, 1, 1, 2, 2):
        desk.following.painted(serial)
    assert desk.engine.follows[0].paintings == 2
    await desk.settle()


async def test_the_last_look_is_still_known_as_ours_after_the_end(desk: Controlled) -> None:
    assert not desk.following.owns("follow-A")
    desk.following.start("A")
    assert desk.following.owns("follow-A")
    assert not desk.following.owns("cmd-1")
    desk.following.stop()
    assert desk.following.owns("follow-A")
    await desk.settle()


@table(
    ("state", "words"),
    [
        (None, ""),
        (FollowState("reading"), "follow: on"),
        (FollowState("resting", wait=2.0), "follow: resting 2 s"),
        (FollowState("busy", command_id="cmd-123"), "follow busy: cmd-123"),
        (FollowState("busy"), "follow busy: another execution"),
        (FollowState("away"), "follow: emulator-5554 is away"),
        (
            FollowState("failing", wait=5.0, error=EngineError(ErrorCode.SERVICE_UNAVAILABLE, "no service")),
            "follow: failing (SERVICE_UNAVAILABLE)",
        ),
    ],
)
def test_words(state: FollowState | None, words: str) -> None:
    assert "".join(text for text, _ in follow_words("emulator-5554", state).spans) == words


def test_names_from_outside_are_made_safe_and_cut() -> None:
    line = follow_words("A", FollowState("busy", command_id="\x1b[31m" + "x" * 200))
    text = "".join(text for text, _ in line.spans)
    assert "\x1b" not in text
    assert line.cells <= 48
