"""Whether a device whose connection broke can be asked again: the break of a stream says nothing about who caused it."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress

from clawperator.engine.adb.connection import AdbConnection
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.errors import EngineError, ErrorCode

SERVER_SECONDS = 10.0
"""How long after the loss of the adb server its successor may take to find the device again."""
OFFLINE_SECONDS = 2.0
"""How long a device that is still listed may be unusable."""
_START_SECONDS = 3.0
"""How long whoever stopped the adb server may take to start it again: two starts at once would be in each other's way."""
_CONNECT_SECONDS = 2.0
_GONE_SECONDS = 0.3
"""The connections of an adb server that ends do not end in the same instant."""
_PAUSE_SECONDS = 0.1
_NETWORK = re.compile(r"[^:]+:\d{1,5}|\[[^]]+\]:\d{1,5}")
_EMULATOR = re.compile(r"emulator-(\d{1,5})")


async def await_return(device: AdbDevice, witness: AdbConnection | None) -> None:
    """Return when ``device`` can be asked: usually at once; after the loss of the adb server, when the next one lists it.

    ``witness`` is an idle connection to the adb server from before: it ended if the server did. A new server does not know
    the devices that were introduced to the one before: this one is introduced again. Raises ``EngineError`` where the device is gone.
    """
    server, serial = device.server, device.serial
    clock = asyncio.get_running_loop().time
    began, server_lost = clock(), False
    while True:
        passed = clock() - began
        try:
            (await server.connect(start=passed > _START_SECONDS)).close()
            entry = next((entry for entry in await server.devices() if entry.serial == serial), None)
        except EngineError as exc:
            server_lost, patience, failure = True, SERVER_SECONDS, exc
        else:
            if entry is not None and entry.usable:
                return
            server_lost = server_lost or (witness is not None and witness.ended)
            patience = SERVER_SECONDS if server_lost else OFFLINE_SECONDS if entry is not None else _GONE_SECONDS
            failure = EngineError(ErrorCode.DEVICE_NOT_FOUND, f"{serial} is not connected any more")
            if server_lost and entry is None:
                await _introduce(server, serial)
        if passed > patience:
            raise failure
        await asyncio.sleep(_PAUSE_SECONDS)


async def _introduce(server: AdbServer, serial: str) -> None:
    """Tell a new adb server of a device that it does not find by itself: in the network, or an emulator on a high port."""
    with suppress(EngineError):
        if emulator := _EMULATOR.fullmatch(serial):
            await server.register_emulator(int(emulator[1]) + 1, timeout=_CONNECT_SECONDS)
        elif _NETWORK.fullmatch(serial):
            await server.connect_device(serial, timeout=_CONNECT_SECONDS)
