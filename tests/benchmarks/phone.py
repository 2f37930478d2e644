"""A simulated device in a process of its own, behind the embedded adb server: ``python phone.py NODES``.

Prints ``PORT SERIAL`` when it can be reached and lives until its stdin closes. ``NODES`` > 0 makes every screen a tree of so many nodes.
"""

from __future__ import annotations

import asyncio
import sys

from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario


async def main(nodes: int) -> None:
    faults = [{"kind": "huge_tree", "nodes": nodes}] if nodes else []
    world = create_device(Scenario.model_validate({"speed": 0, "faults": faults}))
    async with Simulation([world], mode="server") as simulation:
        print(simulation.port, world.serial, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
