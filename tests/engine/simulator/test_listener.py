"""Listening sockets of the simulator."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest

from clawperator.engine.simulator.listener import Listener
from tests.support import patience


@pytest.mark.parametrize("steps", range(8))
async def test_close_drops_every_connection_however_new(steps: int) -> None:
    """An adb server connects again to a network device at any time: also while the device ends."""

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    listener = Listener(serve)
    await listener.listen("127.0.0.1")
    with socket.create_connection(("127.0.0.1", listener.port)) as client:
        client.setblocking(False)
        for _ in range(steps):
            await asyncio.sleep(0)
        await listener.close()
        with suppress(ConnectionResetError):
            async with asyncio.timeout(patience(5)):
                assert not await asyncio.get_running_loop().sock_recv(client, 1)
