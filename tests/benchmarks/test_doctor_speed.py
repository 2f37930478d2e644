"""A doctor's run is as long as its longest chain of questions, not as the sum of them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.benchmarks.conftest import Report

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(180)]

LATENCY_MS = 100
ROUND_TRIPS = 6
ALLOWED_MS = 900


async def examine(home: Path) -> tuple[float, int]:
    """Milliseconds that one run on a healthy device took, and how many round trips it was deep."""
    world = create_device(Scenario.model_validate({"speed": 0, "latency_ms": {"round_trip": LATENCY_MS}}))
    async with Simulation([world], mode="server") as simulation:
        env = {"HOME": str(home), "PATH": os.environ["PATH"], **simulation.env()}
        async with Engine(Settings.resolve({}, env)) as engine:
            began = time.perf_counter()
            checks = [check async for check in engine.doctor().checks()]
            elapsed = (time.perf_counter() - began) * 1_000
        assert {check.status for check in checks if check.id.startswith(("device.", "readiness."))} == {"pass"}
        return elapsed, world.round_trips.in_sequence


def test_six_round_trips_and_little_else(report: Report, tmp_path: Path) -> None:
    depths: list[int] = []

    def measure() -> tuple[float, str]:
        elapsed, depth = asyncio.run(examine(tmp_path))
        depths.append(depth)
        floor = ROUND_TRIPS * LATENCY_MS
        return elapsed / floor, f"{elapsed:.0f} ms, {depth} round trips in sequence"

    what = f"`doctor` on one healthy device, {LATENCY_MS} ms per round trip"
    report.ratio(what, f"{ROUND_TRIPS} round trips", ALLOWED_MS / (ROUND_TRIPS * LATENCY_MS), measure)
    assert max(depths) <= ROUND_TRIPS
