from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.support import patience


@pytest.fixture
def adb_port(adb_env: dict[str, str]) -> int:
    """The port of a real adb server that knows no device."""
    return int(adb_env["ANDROID_ADB_SERVER_PORT"])


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class FakeAdb:
    """A scripted adb server for what the real one cannot be made to do: broken streams, silence, odd cuts.

    ``answers`` maps a service string (or its beginning) to bytes or a coroutine function; the selection of a device and
    its features are answered unless overridden.
    """

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[str] = []
        self.answers: dict[str, bytes | Answer] = {
            "host:tport:serial:": b"OKAY" + (7).to_bytes(8, "little"),
            "host-serial:": b"OKAY0010shell_v2,cmd,abc",
        }
        self.open = 0
        self.idle = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.idle.clear()
        try:
            while size := await reader.read(4):
                service = (await reader.readexactly(int(size, 16))).decode()
                self.requests.append(service)
                answer = self._answer(service)
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(reader, writer)
                if not service.startswith(("host:tport:", "host:transport:")):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self.open -= 1
            if not self.open:
                self.idle.set()

    def _answer(self, service: str) -> bytes | Answer:
        for known in sorted(self.answers, key=len, reverse=True):
            if service.startswith(known):
                return self.answers[known]
        return b"FAIL0014unknown host service"

    async def all_closed(self) -> None:
        """Every client has hung up; a leaked connection makes this wait for ever, which the deadline turns red."""
        async with asyncio.timeout(patience(5)):
            await self.idle.wait()


@pytest.fixture
async def fake() -> AsyncIterator[FakeAdb]:
    adb = FakeAdb()
    server = await asyncio.start_server(adb.serve, "127.0.0.1", 0)
    adb.port = server.sockets[0].getsockname()[1]
    yield adb
    server.close()
    await server.wait_closed()
