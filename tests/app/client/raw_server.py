"""A server that answers with the bytes that a test wants, right or wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple


class Asked(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class RawServer:
    """``answer`` gets each request and what writes to its connection; when it returns, the connection is closed."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: list[bytes | Callable[[asyncio.StreamWriter], object]] = []
        """One per request; the last one stays."""
        self.paths: dict[str, bytes | Callable[[asyncio.StreamWriter], object]] = {}
        """What is always answered to paths that begin so."""
        self.url = ""
        self.arrived = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines) if name}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, target, _ = first.split(" ")
            self.asked.append(Asked(method, target, headers, body))
            self.arrived.set()
            answer = (
                next((reported for path, reported in self.paths.items() if target.startswith(path)), None)
                or self._next()
            )
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                answer(writer)
                await reader.read()  # until the other side has had enough
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _next(self) -> bytes | Callable[[asyncio.StreamWriter], object]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def targets(self, path: str) -> list[str]:
        """What was asked for under ``path``."""
        return [asked.target for asked in self.asked if asked.target.startswith(path)]


@asynccontextmanager
async def raw_server(*answers: bytes | Callable[[asyncio.StreamWriter], object]) -> AsyncIterator[RawServer]:
    raw = RawServer()
    raw.answers = list(answers)
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
    raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield raw


def http(body: bytes | str, status: str = "200 OK", kind: str = "application/json", **headers: str) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode() + data


def sse(*events: bytes) -> bytes:
    """A stream that ends after these events."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    return head + b"".join(events)


def open_sse(*events: bytes) -> Callable[[asyncio.StreamWriter], object]:
    """One that stays open after them."""
    return lambda writer: writer.write(sse(*events))


HELLO = b'event: heartbeat\ndata: {"code":"CONNECTED"}\n\n'


def event(name: str, data: str, number: str = "") -> bytes:
    return (f"id: {number}\n" if number else "").encode() + f"event: clawperator:{name}\ndata: {data}\n\n".encode()
