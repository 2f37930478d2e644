"""The device list with the rows that lead to one phone, which is asked where two rows may do so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.phones import ASK_SECONDS
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.errors import EngineError


async def list_devices(server: AdbServer) -> tuple[DeviceEntry, ...]:
    """Return everything that the adb server lists, recognised."""
    return await recognise(server, await server.devices())


async def recognise(server: AdbServer, entries: Sequence[DeviceEntry]) -> tuple[DeviceEntry, ...]:
    """Return the rows with the other transports to the same phone.

    Devices are asked only where a network device has the same model as another one, at the same time and for a second at most.
    """
    phones = server.phones

    async def ask(entry: DeviceEntry) -> None:
        try:
            await phones.of(AdbDevice(server, entry.serial, entry.transport_id), timeout=ASK_SECONDS)
        except EngineError:
            phones.silent.add((entry.serial, entry.transport_id))

    await asyncio.gather(*map(ask, phones.unknown(entries)))
    return phones.marked(entries)


async def watch(
    server: AdbServer, changed: Callable[[tuple[DeviceEntry, ...]], object], lost: Callable[[EngineError], object]
) -> None:
    """Call ``changed`` with every new device list, recognised, and ``lost`` when the server ends, until cancelled."""
    asking: set[asyncio.Task[None]] = set()

    def listed(entries: tuple[DeviceEntry, ...]) -> None:
        for task in asking:
            task.cancel()
        if server.phones.unknown(entries):
            task = asyncio.create_task(ask(entries), name="phones of the devices")
            asking.add(task)
            task.add_done_callback(asking.discard)
        else:
            changed(server.phones.marked(entries))

    async def ask(entries: tuple[DeviceEntry, ...]) -> None:
        changed(await recognise(server, entries))

    try:
        await server.watch_devices(listed, lost)
    finally:
        for task in asking:
            task.cancel()
