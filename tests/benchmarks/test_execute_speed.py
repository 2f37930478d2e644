"""What the engine adds to the conversation that any host would have to have."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.events import LogAttached
from tests.benchmarks.conftest import Phone, Report
from tests.benchmarks.raw_script import RawScript, click, snapshot

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(180)]

ROUNDS = 40


async def side_by_side(
    phone: Phone, plan: Callable[[str], dict[str, Any]], *, stream_open: bool, rounds: int = ROUNDS
) -> tuple[float, float, float]:
    """Median milliseconds of the engine and of the raw script, taken in turns, and the median ratio pair by pair."""
    raw = RawScript(phone.port, phone.serial)
    numbers = count()
    pairs: list[tuple[float, float]] = []
    async with Engine(Settings.resolve({"device_id": phone.serial}, phone.env)) as engine:
        watching = await _watch(engine, phone.serial) if stream_open else None
        for _ in range(rounds + 3):
            ours, theirs = plan(f"ours-{next(numbers)}"), plan(f"raw-{next(numbers)}")
            wire = json.dumps(theirs, separators=(",", ":"))
            began = time.perf_counter()
            assert (await engine.execute(ours)).succeeded
            middle = time.perf_counter()
            (raw.open if stream_open else raw.cold)(wire, theirs["commandId"])
            pairs.append((middle - began, time.perf_counter() - middle))
            await asyncio.sleep(0)
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    raw.close()
    pairs = pairs[3:]
    medians = [statistics.median(column) * 1_000 for column in zip(*pairs, strict=True)]
    return medians[0], medians[1], statistics.median(ours / floor for ours, floor in pairs)


async def _watch(engine: Engine, serial: str) -> asyncio.Task[None]:
    with engine.events.subscribe() as subscription:
        watching = asyncio.create_task(engine.watch_log(serial))
        while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
            pass
    return watching


@pytest.mark.parametrize("stream_open", [False, True], ids=["cold", "open"])
async def test_one_click(phone: Phone, report: Report, stream_open: bool) -> None:
    ours, floor, ratio = await side_by_side(phone, click, stream_open=stream_open)
    state = "already open" if stream_open else "cold"
    report(
        f"`Engine.execute` of one click, log stream {state}",
        "raw-socket script",
        ratio,
        2.5,
        f"{ours:.1f} / {floor:.1f} ms",
    )


@pytest.mark.parametrize("phone", [5_000], indirect=True)
async def test_a_snapshot_of_5000_nodes(phone: Phone, report: Report) -> None:
    ours, floor, ratio = await side_by_side(phone, snapshot, stream_open=True, rounds=15)
    what = "snapshot of 5,000 nodes through `Engine.execute`, stream open"
    report(what, "raw script reading the same bytes", ratio, 2.5, f"{ours:.0f} / {floor:.0f} ms")
