"""Listening sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any


class Listener:
    """A listening socket that owns its connections."""

    def __init__(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
    ) -> None:
        self.port = 0
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def listen(self, host: str, port: int = 0) -> None:
        """Raises OSError when the port is taken. Port 0 picks a free one, found in ``port`` afterwards."""
        self._server = await asyncio.start_server(self._accept, host, port)
        self.port = self._server.sockets[0].getsockname()[1]

    def drop_all(self) -> None:
        """Drop every connection at once."""
        for writer in self._connections.values():
            writer.transport.abort()

    async def close(self) -> None:
        if self._server is None:
            return
        # asyncio leaks what it has accepted if the server is closed in the two event loop steps before ``_accept``.
        for listening in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        try:
            for _ in range(2):
                await asyncio.sleep(0)
        finally:
            self._server.close()
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._ended)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve, then flush before the connection is closed."""
        with suppress(ConnectionError, EOFError):
            await self._serve(reader, writer)
            writer.close()
            await writer.wait_closed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Drop the connection at once; ``task`` may have been cancelled before it began."""
        writer = self._connections.pop(task)  # kept: without a reference, it would warn that it is unclosed
        writer.transport.abort()
        if not task.cancelled() and (error := task.exception()) is not None:
            report = {"message": "a connection to the simulator failed", "exception": error, "task": task}
            task.get_loop().call_exception_handler(report)
