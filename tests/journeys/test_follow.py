"""Following a screen that never rests, through the real adb: in nobody's way, and without growing."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from clawperator.engine.events.types import LogAttached, SnapshotSeen
from clawperator.engine.follow.follower import Follow, FollowState

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

SPINNER = {"package": "com.example.spinner"}
SHORT_TREES, LONG_TREES = 60, 12_000

AGENT = """
import asyncio, json, sys
from clawperator.engine import Engine, EngineError, Settings

async def main(serial, rounds):
    step = {"id": "a", "type": "sleep", "params": {"durationMs": 0}}
    conflicts, slowest = 0, 0.0
    async with Engine(Settings.resolve({"device_id": serial})) as engine:
        loop = asyncio.get_running_loop()
        for number in range(rounds):
            began = loop.time()
            try:
                await engine.execute({"commandId": f"agent-{number}", "taskId": "t", "source": "agent",
                    "expectedFormat": "android-ui-automator", "timeoutMs": 5000, "actions": [step]})
            except EngineError as error:
                conflicts += 1
                print(error.to_dict(), file=sys.stderr)
            slowest = max(slowest, loop.time() - began)
    print(json.dumps({"conflicts": conflicts, "slowest": slowest}))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


class Painter:
    """Paints every tree at once, as a console on a fast terminal does, and keeps what it was told."""

    def __init__(self, bench: Any) -> None:
        self.engine, self.serial = bench.engine, bench.serial
        self.states: list[FollowState] = []
        self.trees = 0
        self.twice: list[str] = []
        self._last = ""
        self.news = asyncio.Event()
        self.follow: Follow = bench.engine.follow(bench.serial, self.hear)

    def hear(self, state: FollowState) -> None:
        self.states.append(state)
        self.news.set()

    async def paint(self, subscription: Any) -> None:
        async for event in subscription:
            if isinstance(event, SnapshotSeen):
                self.trees += 1
                if event.command_id == self._last:
                    self.twice.append(event.command_id)
                self._last = event.command_id
                self.news.set()
                self.follow.painted()

    async def until(self, true: Callable[[], bool]) -> None:
        while not true():
            self.news.clear()
            await self.news.wait()

    async def another_tree(self, count: int = 1) -> None:
        wanted = self.trees + count
        await self.until(lambda: self.trees >= wanted)


@asynccontextmanager
async def following(bench: Any) -> AsyncIterator[Painter]:
    """Follow mode beside the passive tail of the log, as in the console."""
    painter = Painter(bench)
    with bench.engine.events.subscribe() as subscription:
        tail = asyncio.create_task(bench.engine.watch_log(bench.serial))
        while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
            pass
        tasks = [tail, asyncio.create_task(painter.follow.run()), asyncio.create_task(painter.paint(subscription))]
        try:
            yield painter
            assert subscription.dropped == 0
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_agent_in_another_process_is_never_refused(connect: Connect) -> None:
    bench = await connect(start=SPINNER)
    async with following(bench) as painter:
        await painter.another_tree()
        agent = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            AGENT,
            bench.serial,
            "40",
            env=bench.env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        before = painter.trees
        output, complaints = await agent.communicate()
        assert complaints.decode() == ""
        assert json.loads(output)["conflicts"] == 0
        assert painter.trees > before
        await painter.another_tree(3)
    assert painter.twice == []


async def test_what_the_console_itself_asks_for_is_never_refused(connect: Connect) -> None:
    bench = await connect(start=SPINNER)
    async with following(bench) as painter:
        await painter.another_tree()
        for _ in range(20):
            assert (await bench.engine.snapshot()).succeeded
    assert painter.twice == []


async def test_it_stays_away_from_a_device_at_work_and_says_whose_it_is(connect: Connect) -> None:
    bench = await connect(start=SPINNER, speed=1.0)
    long = {
        "commandId": "agent-1",
        "taskId": "t",
        "source": "agent",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5_000,
        "actions": [{"id": "a", "type": "sleep", "params": {"durationMs": 1_500}}],
    }
    async with following(bench) as painter:
        await painter.another_tree()
        running = asyncio.create_task(bench.engine.execute(long))
        await painter.until(lambda: FollowState("busy", command_id="agent-1") in painter.states)
        before = painter.trees
        assert (await running).succeeded
        assert painter.trees == before
        await painter.another_tree()
        assert painter.follow.state == FollowState("reading")


async def test_a_dead_service_is_reported_with_its_code_and_asked_ever_less(connect: Connect) -> None:
    bench = await connect(faults=[{"kind": "service_down"}])
    async with following(bench) as painter:
        await painter.until(lambda: [state.wait for state in painter.states] == [1.0, 2.0])
    assert {state.phase for state in painter.states} == {"failing"}
    assert {state.error.code for state in painter.states if state.error} == {"SERVICE_UNAVAILABLE"}


async def test_a_look_that_gets_no_answer_refuses_no_one(connect: Connect) -> None:
    bench = await connect(faults=[{"kind": "silence", "command_id": "follow-*"}])
    async with following(bench) as painter:
        await painter.until(lambda: bool(painter.states))
        assert bench.engine.lock(bench.serial).to_dict().items() >= {"state": "settling", "yields": True}.items()
        assert (await bench.engine.snapshot()).succeeded
    assert painter.states[0].error is not None
    assert painter.states[0].error.code == "RESULT_ENVELOPE_TIMEOUT"


async def test_switching_it_off_in_the_middle_of_a_look_leaves_the_device_free(connect: Connect) -> None:
    bench = await connect(start=SPINNER, speed=1.0)
    for _ in range(3):
        async with following(bench) as painter:
            await painter.another_tree(2)
        assert bench.engine.lock(bench.serial).state == "free"


def held(bench: Any) -> dict[str, int]:
    """Open file descriptors, running tasks, and events that wait for a subscriber."""
    waiting = sum(len(subscription._events) for subscription in bench.engine.events._subscriptions)
    return {"descriptors": len(os.listdir("/dev/fd")), "tasks": len(asyncio.all_tasks()), "events": waiting}


MOST_GROWTH = 600_000
"""Bytes: less than one dump kept of each of the trees of the short run, and next to nothing for the long one."""


def memory() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.ci
@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_it_follows_for_long_without_growth(connect: Connect, request: pytest.FixtureRequest) -> None:
    """The device goes away in the middle and comes back; nothing but the device list tells."""
    trees = LONG_TREES if request.config.getoption("--soak") else SHORT_TREES
    bench = await connect(start=SPINNER)
    bench.world.log.resize("main", 64 * 1024)  # the simulated device lives in this process, too: its log is soon full
    tracemalloc.start()
    try:
        async with following(bench) as painter:
            await _follow_for(painter, trees)
            await _go_away_and_come_back(bench, painter)
            await _follow_for(painter, trees // 4)
            before, used = held(bench), memory()
            await _follow_for(painter, trees)
            after, used_now = held(bench), memory()
            assert bench.world.log is not None
    finally:
        tracemalloc.stop()
    assert used_now - used < MOST_GROWTH, f"memory grew by {used_now - used} bytes over {trees} trees"
    for name, count in after.items():
        assert count <= before[name] + 8, f"{name} grew from {before[name]} to {count} over {trees} trees"
    assert bench.engine.lock(bench.serial).state == "free"


async def _follow_for(painter: Painter, trees: int) -> None:
    """Wait for so many trees; each is reported once."""
    painter.states.clear()
    last = painter.trees + trees
    while painter.trees < last:
        await painter.another_tree()
    assert painter.twice == []


async def _go_away_and_come_back(bench: Any, painter: Painter) -> None:
    bench.world.disconnect()
    await painter.until(lambda: painter.follow.state.phase == "away")
    bench.world.connect()
    await bench.engine.server.connect_device(bench.serial)
    await painter.until(lambda: painter.follow.state.phase == "reading")
    await painter.another_tree()
