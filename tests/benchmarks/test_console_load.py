"""The console while a device logs a thousand lines a second: it stays responsive, loses nothing, and says so when it does."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.app.console.support import (
    CHECKS_OK,
    FakeEngine,
    drained,
    log_lines,
    make_app,
    settings_screen,
    settled,
    until,
)

if TYPE_CHECKING:
    from tests.benchmarks.conftest import Report

pytestmark = pytest.mark.benchmark

LINES_PER_SECOND = 1_000
SECONDS = 3.0
BEAT = 0.01
KEYS = ("j", "k", "t", "t", "t", "t", "G", "pageup", "f")


class LoadRun:
    """One run: what the event loop's heart did, and what the console knew at the end."""

    def __init__(self) -> None:
        self.lags: list[float] = []
        self.cpu = 0.0
        self.lines = 0
        self.dropped = 0
        self.keys = 0

    @property
    def lag_p95(self) -> float:
        """Milliseconds by which a timer came late, in the worst twentieth of the beats."""
        return statistics.quantiles(self.lags, n=20)[-1] * 1000


async def beat(run: LoadRun) -> None:
    """A timer every ten milliseconds: how late it comes is how long the loop was busy with something else."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + BEAT
        await asyncio.sleep(BEAT)
        run.lags.append(max(0.0, loop.time() - due))


async def feed(engine: FakeEngine, seconds: float) -> int:
    """Lines in the chunks in which a stream brings them, at the rate of the test, whatever the consumer does."""
    start, sent = time.monotonic(), 0
    while (elapsed := time.monotonic() - start) < seconds:
        due = int(elapsed * LINES_PER_SECOND) - sent
        if due > 0:
            engine.log(log_lines(due, start=sent))
            sent += due
        await asyncio.sleep(BEAT)
    return sent


async def under_load(*, mode: str, lines: bool) -> LoadRun:
    """A console in ``mode`` with keys pressed all the time, for some seconds."""
    run = LoadRun()
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine)
    app.bridge.tick = 0.033
    async with app.run_test(size=(200, 60)) as pilot:
        await settled(pilot)
        app.action_mode(mode)
        await drained(pilot)
        heart = asyncio.create_task(beat(run))
        cpu = time.process_time()
        feeding = asyncio.create_task(feed(engine, SECONDS) if lines else asyncio.sleep(SECONDS, 0))
        while not feeding.done():
            app.simulate_key(KEYS[run.keys % len(KEYS)])
            run.keys += 1
            await asyncio.sleep(0.05)
        sent = await feeding
        run.cpu = time.process_time() - cpu
        heart.cancel()
        await until(pilot, lambda: app.session.lines.end + app.session.dropped >= sent)
        run.lines, run.dropped = app.session.lines.end, app.session.dropped
        assert run.lines + run.dropped == sent
    return run


@pytest.mark.parametrize("mode", ["inspect", "stream"])
def test_a_thousand_lines_a_second_leave_the_loop_free(report: Report, mode: str) -> None:
    def measure() -> tuple[float, str]:
        loaded = asyncio.run(under_load(mode=mode, lines=True))
        assert loaded.dropped == 0
        share = loaded.cpu / SECONDS
        return loaded.lag_p95, f"{loaded.lines:,} lines, 0 lost, {loaded.keys} keys, {share:.0%} of a core"

    report.milliseconds(f"console, {mode}, {LINES_PER_SECOND:,} lines/s: event loop late, p95", 30, measure)


def test_what_a_line_costs_beside_an_idle_console(report: Report) -> None:
    """The same keys with and without lines: the difference is what the lines cost."""

    def measure() -> tuple[float, str]:
        idle = asyncio.run(under_load(mode="stream", lines=False))
        loaded = asyncio.run(under_load(mode="stream", lines=True))
        extra = max(0.0, loaded.cpu - idle.cpu)
        return extra / loaded.lines * 1e6, f"idle {idle.cpu:.2f} s, loaded {loaded.cpu:.2f} s of CPU in {SECONDS:g} s"

    report.milliseconds("console, stream: CPU of 1,000 log lines", 400, measure)


async def test_a_flood_that_nobody_can_take_is_counted_to_the_last_message() -> None:
    """Twice as many events as the queue holds, in one turn of the loop: the oldest go, and every one of them is counted."""
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for number in range(20_000):
            engine.log(log_lines(1, start=number))
        await until(pilot, lambda: app.session.lines.end + app.session.dropped == 20_000)
        assert app.session.lines.end == 10_000
        assert app.session.dropped == 10_000
        assert app.session.lines[app.session.lines.end - 1].message.endswith("19999: 12 networks")
