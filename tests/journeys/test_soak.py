"""Work that goes on for long leaves nothing behind: no connection, no task, no lock, no growing memory of the log."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawperator.engine import EngineError, ErrorCode
from clawperator.engine.events.types import EnvelopeSeen, LogAttached

pytestmark = [pytest.mark.adb, pytest.mark.ci, pytest.mark.soak]

SHORT_SECONDS, LONG_SECONDS = 20, 900


def held() -> tuple[int, int]:
    """Open file descriptors and running tasks of this process."""
    return len(os.listdir("/dev/fd")), len(asyncio.all_tasks())


@pytest.mark.timeout(LONG_SECONDS + 120)
async def test_an_agent_at_work_beside_a_watcher(
    connect: Callable[..., Awaitable[Any]], request: pytest.FixtureRequest
) -> None:
    """Snapshots, a step that fails, and a payload that is refused, over and over, on a noisy device."""
    seconds = LONG_SECONDS if request.config.getoption("--soak") else SHORT_SECONDS
    bench = await connect(speed=0.05, faults=[{"kind": "noise", "lines_per_second": 50}])
    answered: Counter[str] = Counter()
    with bench.engine.events.subscribe() as subscription:
        watching = asyncio.create_task(bench.engine.watch_log(bench.serial))
        while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
            pass
        reading = asyncio.create_task(_answers(subscription, answered))
        runs, before, end = 0, (0, 0), time.monotonic() + seconds
        while time.monotonic() < end:
            await _one_round(bench)
            runs += 1
            if runs == 10:
                before = held()
        after = held()
        watching.cancel()
        reading.cancel()
        await asyncio.gather(watching, reading, return_exceptions=True)
    assert runs > 20
    assert subscription.dropped == 0
    assert len(answered) == answered.total() == 2 * runs
    assert after[0] <= before[0] + 2, f"file descriptors grew from {before[0]} to {after[0]} in {runs} rounds"
    assert after[1] <= before[1] + 2, f"tasks grew from {before[1]} to {after[1]} in {runs} rounds"
    assert bench.engine.lock(bench.serial).state == "free"


async def _one_round(bench: Any) -> None:
    assert (await bench.engine.snapshot()).succeeded
    missing = {"type": "click", "params": {"matcher": {"textEquals": "nowhere"}, "retry": {"maxAttempts": 1}}}
    payload = {
        "commandId": f"soak-{time.monotonic_ns()}",
        "taskId": "soak",
        "source": "tests",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 60_000,  # of the device, whose time runs twenty times as fast
        "actions": [{"id": "a", **missing}],
    }
    result = await bench.engine.execute(payload)
    assert result.envelope["errorCode"] == ErrorCode.NODE_NOT_FOUND
    with pytest.raises(EngineError):
        await bench.engine.execute({**payload, "actions": []})


async def _answers(subscription: Any, answered: Counter[str]) -> None:
    async for event in subscription:
        if isinstance(event, EnvelopeSeen):
            answered[event.command_id] += 1
