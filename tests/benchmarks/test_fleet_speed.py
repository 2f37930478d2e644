"""What many devices and a fleet cost: ratios against the slowest device, and against the host's own execution."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clawperator.app.fleet.client import fleet
from clawperator.engine import Engine, Settings
from clawperator.engine.fan_out import Target, run_on_each
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.app.fleet.conftest import Join, Nats, join, nats  # noqa: F401 -- fixtures
from tests.app.http.conftest import HOME, nap, plan
from tests.benchmarks.conftest import ATTEMPTS, Claim, Report

pytestmark = pytest.mark.benchmark
FAN_OUT, ADDED_MS = 1.3, 3.0
OWN_MS = 5.0
"""What the host's own execution takes on the machine that the bound was made on."""


async def test_twenty_devices_take_little_longer_than_the_slowest(report: Report, tmp_path: Path) -> None:
    worlds = [create_device(Scenario.model_validate({"speed": 1}), index=index) for index in range(20)]
    async with Simulation(worlds, mode="server") as simulation:
        settings = Settings.resolve({}, {"HOME": str(tmp_path), **simulation.env()})
        async with Engine(settings) as engine:

            async def run(serial: str) -> Mapping[str, Any]:
                return (await engine.execute(plan(nap(2_000)), device_id=serial)).to_dict()

            ratios = []
            for _ in range(3):
                began = time.monotonic()
                rows = [row async for row in run_on_each([Target(world.serial) for world in worlds], run, jobs=20)]
                spent = (time.monotonic() - began) * 1000
                assert {row.status for row in rows} == {"succeeded"}
                ratios.append(spent / max(row.duration_ms for row in rows))
                if ratios[-1] <= FAN_OUT:
                    break
    claim = Claim("an execution of 2 s on 20 devices", FAN_OUT, "×", "the slowest of them")
    report.record([claim], [(min(ratios), "20 at once, one process, two cores")])


async def test_the_fleet_costs_less_than_three_milliseconds(
    report: Report,
    nats: Nats,  # noqa: F811 -- fixtures
    join: Join,  # noqa: F811
) -> None:
    host = await join("bench")
    serial = host.devices[0].serial
    ratios, added, usual = [], [], 0.0
    async with fleet(nats.url) as client:
        for _ in range(ATTEMPTS):  # the best counts, as in every row
            own, remote = [], []
            for _ in range(60):
                began = time.monotonic()
                await host.engine.execute(plan(HOME), device_id=serial)
                between = time.monotonic()
                await client.execute(plan(HOME), f"bench/{serial}")
                own.append((between - began) * 1000)
                remote.append((time.monotonic() - between) * 1000)
            usual, through = statistics.median(own), statistics.median(remote)
            ratios.append(through / usual)
            added.append((through - usual) / max(1.0, usual / OWN_MS))
            if added[-1] <= ADDED_MS and ratios[-1] <= 2:
                break
    what = "an execution through the fleet, on loopback"
    own_words = f"the host's own takes {usual:.1f} ms"
    report.record(
        [Claim(f"{what}: added", ADDED_MS, " ms"), Claim(what, 2, "×", "the host's own")],
        [(min(added), own_words), (min(ratios), own_words)],
    )
