"""Waiting for a device whose connection broke: a broken stream does not show whether the device or the adb server is gone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import aclosing, suppress

from clawperator.engine.adb.connection import AdbConnection
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.errors import EngineError, ErrorCode

SERVER_SECONDS = 10.0
"""How long a restarted adb server may take to find the device again."""
OFFLINE_SECONDS = 2.0
"""How long a listed device may be unusable."""
_START_SECONDS = 3.0
"""How long to wait for another program to restart the adb server, before starting it here."""
_CONNECT_SECONDS = 2.0
_GONE_SECONDS = 0.3
"""The connections of an adb server that ends do not end at the same instant."""
_PAUSE_SECONDS = 0.1
_NETWORK = re.compile(r"[^:]+:\d{1,5}|\[[^]]+\]:\d{1,5}")
_EMULATOR = re.compile(r"emulator-(\d{1,5})")


async def await_return(device: AdbDevice, witness: AdbConnection | None) -> None:
    """Return when ``device`` is usable: usually at once; after the loss of the adb server, when the next one lists it.

    ``witness`` is an idle connection to the previous adb server, which ended if that did. A new server does not know network
    devices: this one is connected again. Raises ``EngineError`` if the device is gone.
    """
    server, serial = device.server, device.serial
    clock = asyncio.get_running_loop().time
    began, server_lost = clock(), False
    while True:
        passed = clock() - began
        try:
            (await server.connect(start=passed > _START_SECONDS)).close()
            entry = next((entry for entry in await server.devices() if entry.is_named(serial)), None)
        except EngineError as exc:
            server_lost, patience, failure = True, SERVER_SECONDS, exc
        else:
            if entry is not None and entry.usable:
                return
            server_lost = server_lost or (witness is not None and witness.ended)
            patience = SERVER_SECONDS if server_lost else OFFLINE_SECONDS if entry is not None else _GONE_SECONDS
            failure = EngineError(ErrorCode.DEVICE_NOT_FOUND, f"{serial} is no longer connected")
            if server_lost and entry is None:
                await _reconnect(server, serial)
        if passed > patience:
            raise failure
        await asyncio.sleep(_PAUSE_SECONDS)


async def had_to_wait_for(server: AdbServer, device_id: str, gone: Callable[[], object] = lambda: None) -> bool:
    """Return once adb lists the device as usable: false if the first list already did.

    ``gone`` is called once if the device, or the adb server, is missing.
    """
    waited = False

    def missing() -> None:
        nonlocal waited
        if not waited:
            waited = True
            gone()

    tracking = server.track_devices(reconnect=True, on_lost=lambda _: missing())
    async with aclosing(tracking):
        async for devices in tracking:
            if any(entry.is_named(device_id) and entry.usable for entry in devices):
                break
            missing()
    return waited


async def _reconnect(server: AdbServer, serial: str) -> None:
    """Connect a device that a new adb server does not find: one in the network, or an emulator on a high port."""
    with suppress(EngineError):
        if emulator := _EMULATOR.fullmatch(serial):
            await server.register_emulator(int(emulator[1]) + 1, timeout=_CONNECT_SECONDS)
        elif _NETWORK.fullmatch(serial):
            await server.connect_device(serial, timeout=_CONNECT_SECONDS)
