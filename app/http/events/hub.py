"""One reader of the engine's bus for all clients of the event stream.

Every event is written once and the same bytes go to everybody. The last ones are kept, so that a client that comes back can
go on where it was. Nobody is waited for: whoever does not read loses their stream, and is told why where that still can be.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Collection
from itertools import islice
from typing import NamedTuple

from clawperator.app.http.events import frames
from clawperator.engine.bus import EventBus

CLIENT_FRAMES = 256
CLIENT_BYTES = 16 * 1024 * 1024
KEPT_FRAMES = 4_096
KEPT_BYTES = 32 * 1024 * 1024
MOST_CLIENTS = 1_000
FLUSH_SECONDS = 0.05
"""So long what follows an event at once waits for more: a burst costs each client one write."""


class Frame(NamedTuple):
    """One event as bytes. ``number`` counts up from 1 per hub."""

    number: int
    name: str
    device_id: str | None
    data: bytes


class Client:
    """One reader. ``chunk`` gives what there is to write; empty bytes are the end."""

    def __init__(self, devices: Collection[str], types: Collection[str]) -> None:
        self._devices = frozenset(devices)
        self._types = frozenset(types)
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._ready = asyncio.Event()
        self.closed = False
        self.dropped = False
        """Whether it read so slowly that it gets nothing more."""
        self.writing: asyncio.Task[None] | None = None
        """The task that is in the middle of a write just now: if the client does not read, it may be there for ever."""

    def wants(self, frame: Frame) -> bool:
        """Whether the frame is of a type and a device that were asked for; what is about no device is for all."""
        if frame.name not in self._types and (self._types or frame.name in frames.ON_WISH):
            return False
        return not self._devices or frame.device_id is None or frame.device_id in self._devices

    def asks_for(self, name: str, device_id: str | None) -> bool:
        """Whether frames of a type that comes on wish would be written for this client."""
        return name in self._types and (not self._devices or device_id is None or device_id in self._devices)

    def offer(self, data: bytes) -> bool:
        """Take one more to write; false where too much waits already."""
        if len(self._frames) >= CLIENT_FRAMES or self._bytes + len(data) > CLIENT_BYTES:
            return False
        self._frames.append(data)
        self._bytes += len(data)
        return True

    def resume(self, missed: list[bytes]) -> None:
        """Take what was missed, which may be more than may ever wait later: it is kept for others anyway."""
        self._frames += missed

    def wake(self) -> None:
        if self._frames or self.closed:
            self._ready.set()

    def end(self, last: bytes) -> None:
        """Nothing comes any more but ``last``; a write that hangs is given up."""
        if self.closed:
            return
        self.closed = True
        self._frames.clear()
        if last:
            self._frames.append(last)
        self._ready.set()
        if self.writing is not None:
            self.writing.cancel()

    async def chunk(self) -> bytes:
        """Everything that waits, as one piece; waits for something. Empty only at the end."""
        await self._ready.wait()
        data = b"".join(self._frames)
        self._frames.clear()
        self._bytes = 0
        if not self.closed:
            self._ready.clear()
        return data


class Hub:
    """``run`` is one task for as long as the server lives."""

    def __init__(self, bus: EventBus, *, kept: int = KEPT_FRAMES) -> None:
        self._bus = bus
        self._boot = secrets.token_hex(4)
        self._number = 0
        self._kept: deque[Frame] = deque(maxlen=kept)
        self._kept_bytes = 0
        self._clients: set[Client] = set()
        self._closed = False
        self.sent = 0
        self.dropped_clients = 0
        self.lost_events = 0

    def __len__(self) -> int:
        return len(self._clients)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        with self._bus.subscribe() as subscription:
            while events := await subscription.batch():
                began = loop.time()
                for event in events:
                    fleeting = frames.FLEETING_EVENTS.get(type(event))
                    if fleeting is not None and not self._asked_for(fleeting, event.device_id):
                        continue
                    for news in frames.news_of(event):
                        self.publish(news)
                self.lost_events = subscription.dropped
                self._wake()
                # What comes within the next moment goes out together.
                await asyncio.sleep(max(0.0, FLUSH_SECONDS - (loop.time() - began)))

    def _asked_for(self, name: str, device_id: str | None) -> bool:
        return any(client.asks_for(name, device_id) for client in self._clients)

    def _wake(self) -> None:
        for client in tuple(self._clients):
            client.wake()

    def tell(self, news: frames.News) -> None:
        """``publish`` at once, for what does not come from the bus."""
        self.publish(news)
        self._wake()

    def publish(self, news: frames.News) -> None:
        """Write one event for everybody who wants it, and keep it for those who come back."""
        if news.name in frames.FLEETING:
            self._send(Frame(self._number + 1, news.name, news.device_id, frames.encoded(news.name, news.data)))
            return
        self._number += 1
        frame = Frame(
            self._number, news.name, news.device_id, frames.encoded(news.name, news.data, self.id_of(self._number))
        )
        if len(self._kept) == self._kept.maxlen:
            self._kept_bytes -= len(self._kept[0].data)
        self._kept.append(frame)
        self._kept_bytes += len(frame.data)
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= len(self._kept.popleft().data)
        self._send(frame)

    def _send(self, frame: Frame) -> None:
        for client in tuple(self._clients):
            if client.wants(frame):
                if client.offer(frame.data):
                    self.sent += 1
                else:
                    self._drop(client, frame.number)

    def id_of(self, number: int) -> str:
        """Names this hub as well: after a restart the same numbers are other events."""
        return f"{self._boot}-{number}"

    def _drop(self, client: Client, number: int) -> None:
        self.dropped_clients += 1
        client.dropped = True
        self._clients.discard(client)
        client.end(frames.encoded(frames.DROPPED, {"reason": "too slow", "lastEventId": self.id_of(number - 1)}))

    def subscribe(
        self, *, devices: Collection[str] = (), types: Collection[str] = (), last_id: str = ""
    ) -> Client | None:
        """A new client, which finds the heartbeat, and what it missed since ``last_id``; ``None`` where there are too many."""
        if self._closed or len(self._clients) >= MOST_CLIENTS:
            return None
        client = Client(devices, types)
        hello = {"code": "CONNECTED", "message": "Clawperator SSE stream active", "version": frames.VERSION}
        client.offer(frames.encoded(frames.HEARTBEAT, hello))
        if last_id:
            self._catch_up(client, last_id)
        client.wake()
        if not client.closed:
            self._clients.add(client)
        return client

    def _catch_up(self, client: Client, last_id: str) -> None:
        boot, _, digits = last_id.partition("-")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else -1
        first = self._kept[0].number if self._kept else self._number + 1
        if boot != self._boot or number < 0 or number > self._number:
            client.offer(
                frames.encoded(
                    frames.RESET, {"reason": "unknown", "message": "These are not the events of this server: look anew"}
                )
            )
        elif number + 1 < first:
            client.offer(
                frames.encoded(
                    frames.RESET, {"reason": "expired", "message": "Events in between are not kept any more: look anew"}
                )
            )
            number = first - 1
        if boot == self._boot and 0 <= number <= self._number:
            missed = [frame.data for frame in islice(self._kept, number + 1 - first, None) if client.wants(frame)]
            client.resume(missed)

    def leave(self, client: Client) -> None:
        self._clients.discard(client)

    def close(self, reason: str) -> None:
        """End every stream; nobody is let in any more."""
        self._closed = True
        last = frames.encoded(frames.DROPPED, {"reason": reason, "lastEventId": self.id_of(self._number)})
        for client in tuple(self._clients):
            client.end(last)
        self._clients.clear()
