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

from clawperator.engine import Engine, RunOptions, Settings
from clawperator.engine.events.types import EnvelopeSeen, LogAttached
from tests.benchmarks.conftest import Phone, Report
from tests.benchmarks.raw_script import RawScript, click, snapshot

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(180)]

ROUNDS = 40


async def side_by_side(
    phone: Phone, plan: Callable[[str], dict[str, Any]], *, stream_open: bool, rounds: int = ROUNDS
) -> tuple[float, str]:
    """The engine and the raw script in turns: the median ratio pair by pair, and both medians in words.

    Neither looks at the screen before it acts: ``strict`` costs a snapshot more with an app that cannot refuse several matches.

    An open stream also carries what the other one did: each reads that outside of its own time.
    """
    raw = RawScript(phone.port, phone.serial)
    numbers = count()
    pairs: list[tuple[float, float]] = []
    async with Engine(Settings.resolve({"device_id": phone.serial}, phone.env)) as engine:
        watching = await _watch(engine, phone.serial) if stream_open else None
        for _ in range(rounds + 3):
            ours, theirs = plan(f"ours-{next(numbers)}"), plan(f"raw-{next(numbers)}")
            wire = json.dumps(theirs, separators=(",", ":"))
            began = time.perf_counter()
            assert (await engine.execute(ours, options=RunOptions(strict=False))).succeeded
            middle = time.perf_counter()
            if stream_open:
                raw.skip(ours["commandId"])
            resumed = time.perf_counter()
            (raw.open if stream_open else raw.cold)(wire, theirs["commandId"])
            pairs.append((middle - began, time.perf_counter() - resumed))
            if stream_open:
                await _skip(engine, theirs["commandId"])
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    raw.close()
    pairs = pairs[3:]
    ours, floor = (statistics.median(column) * 1_000 for column in zip(*pairs, strict=True))
    return statistics.median(mine / theirs for mine, theirs in pairs), f"{ours:.1f} / {floor:.1f} ms"


async def _skip(engine: Engine, command_id: str) -> None:
    with engine.events.subscribe() as subscription:
        async for event in subscription:
            if isinstance(event, EnvelopeSeen) and event.command_id == command_id:
                return


async def _watch(engine: Engine, serial: str) -> asyncio.Task[None]:
    with engine.events.subscribe() as subscription:
        watching = asyncio.create_task(engine.watch_log(serial))
        while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
            pass
    return watching


@pytest.mark.parametrize("stream_open", [False, True], ids=["cold", "open"])
def test_one_click(phone: Phone, report: Report, stream_open: bool) -> None:
    what = f"`Engine.execute` of one click, log stream {'already open' if stream_open else 'cold'}"
    report.ratio(
        what, "raw-socket script", 2.5, lambda: asyncio.run(side_by_side(phone, click, stream_open=stream_open))
    )


@pytest.mark.parametrize("phone", [5_000], indirect=True)
def test_a_snapshot_of_5000_nodes(phone: Phone, report: Report) -> None:
    what, floor = "snapshot of 5,000 nodes through `Engine.execute`, stream open", "raw script reading the same bytes"
    report.ratio(what, floor, 2.5, lambda: asyncio.run(side_by_side(phone, snapshot, stream_open=True, rounds=15)))
