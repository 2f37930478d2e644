"""A simulated device in a process of its own, behind the embedded adb server: ``python phone.py NODES|SCENARIO [LINES]``.

Prints ``PORT SERIAL`` when it can be reached and lives until its stdin closes. ``NODES`` > 0 makes every screen a tree of so many
nodes; ``SCENARIO`` is one as JSON. ``LINES`` > 0: from the first line on stdin on it logs so many numbered lines a second (``line 17 …``), and at the second
it stops and prints how many it has logged.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario

BEAT = 0.02
TAGS = tuple(f"Service{number}" for number in range(40))
WORDS = "received scan results of all networks; heartbeat in state idle, buffer timed out, retrying soon"


class Chatter:
    """Numbered lines of other processes, at a steady rate."""

    def __init__(self, device: SimulatedDevice, per_second: int) -> None:
        self._device = device
        self._per_second = per_second
        self.written = 0

    async def keep_on(self) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        while True:
            await asyncio.sleep(BEAT)
            for number in range(self.written, int((loop.time() - started) * self._per_second)):
                tag = TAGS[number % len(TAGS)]
                level = "VDIWE"[number % 5]
                self._device.log.write(
                    pid=600 + number % 40,
                    tid=700 + number % 90,
                    uid=1000,
                    level=level,
                    tag=tag,
                    message=f"line {number} {WORDS}",
                )
                self.written = number + 1


async def chat(chatter: Chatter) -> None:
    """From one word on stdin to the next; then say how many lines that were."""
    if not await asyncio.to_thread(sys.stdin.readline):
        return
    talking = asyncio.create_task(chatter.keep_on())
    await asyncio.to_thread(sys.stdin.readline)
    talking.cancel()
    print(chatter.written, flush=True)


async def main(wanted: Any, lines: int) -> None:
    faults = [{"kind": "huge_tree", "nodes": wanted}] if wanted else []
    scenario = wanted if isinstance(wanted, dict) else {"speed": 0, "faults": faults}
    world = create_device(Scenario.model_validate(scenario))
    async with Simulation([world], mode="server") as simulation:
        print(simulation.port, world.serial, flush=True)
        if lines:
            await chat(Chatter(world, lines))
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
