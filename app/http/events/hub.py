"""Distribute the engine's events to all clients of the event stream.

Every event is encoded once and kept in a bounded ring that all clients share; a client is a position in it. A client that
reconnects resumes at its position. The hub waits for no client: a client that has not read a discarded event is disconnected.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Collection, Iterator
from typing import NamedTuple

from clawperator.app.serve import event_frames
from clawperator.engine.events.bus import EventBus

KEPT_FRAMES = 4_096
KEPT_BYTES = 32 * 1024 * 1024
LOG_FRAMES = 512
LOG_BYTES = 4 * 1024 * 1024
"""Bounds of the ring for log lines, which cannot be resumed: they must not push out the events that can."""
CHUNK_BYTES = 64 * 1024
"""Maximum size of one write, unless one frame is larger: the rest waits in the ring, not in the connection."""
MOST_CLIENTS = 1_000
FLUSH_SECONDS = 0.05
"""Events within this time are sent together: a burst costs each client one write."""


class Frame(NamedTuple):
    """One encoded event. ``order`` counts all frames of the hub."""

    order: int
    name: str
    device_id: str | None
    data: bytes


class Ring:
    """The last frames, numbered from 1: at most ``most`` of them, and ``most_bytes`` unless one is larger."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._frames: deque[Frame] = deque()
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self.first = 1
        """The number of the oldest frame in the ring."""

    @property
    def next(self) -> int:
        """The number of the next frame."""
        return self.first + len(self._frames)

    def push(self, frame: Frame) -> Iterator[tuple[int, Frame]]:
        """Append ``frame``; yield the discarded frames with their numbers."""
        self._frames.append(frame)
        self._bytes += len(frame.data)
        while len(self._frames) > self._most or (self._bytes > self._most_bytes and len(self._frames) > 1):
            out = self._frames.popleft()
            self._bytes -= len(out.data)
            self.first += 1
            yield self.first - 1, out

    def at(self, number: int) -> Frame | None:
        """Return the frame with that number, ``None`` if it is not in the ring."""
        index = number - self.first
        return self._frames[index] if 0 <= index < len(self._frames) else None


class Client:
    """One subscriber. ``chunk`` returns the bytes to write; empty bytes end the stream."""

    def __init__(self, rings: Collection[Ring], devices: Collection[str], types: Collection[str]) -> None:
        self._devices = frozenset(devices)
        self._types = frozenset(types)
        self._own: deque[bytes] = deque()
        """Frames for this client only; they are sent first."""
        self.places = {ring: ring.next for ring in rings}
        """The number of the next frame to read of each ring."""
        self._ready = asyncio.Event()
        self.sent = 0
        """Number of events taken from the rings."""
        self.closed = False
        self.dropped = False
        """Whether it was disconnected because it read too slowly."""
        self.writing: asyncio.Task[None] | None = None
        """The task that is writing; it blocks while the client does not read."""

    def wants(self, name: str, device_id: str | None) -> bool:
        """Return whether the client subscribed to the type and device of an event; one without a device is for all."""
        if name not in self._types and (self._types or name in event_frames.OPT_IN):
            return False
        return not self._devices or device_id is None or device_id in self._devices

    def enqueue(self, data: bytes) -> None:
        """Write a frame for this client alone, before what comes from the rings."""
        self._own.append(data)
        self._ready.set()

    def wake(self) -> None:
        self._ready.set()

    def end(self, last: bytes) -> None:
        """End the stream after ``last``; cancel a blocked write."""
        if self.closed:
            return
        self.closed = True
        self._own.clear()
        self._own.append(last)
        self._ready.set()
        if self.writing is not None:
            self.writing.cancel()

    async def chunk(self) -> bytes:
        """Wait for frames and return up to ``CHUNK_BYTES`` of them; empty only at the end."""
        while True:
            await self._ready.wait()
            if data := b"".join(self._take()):
                return data
            if self.closed:
                return b""
            self._ready.clear()

    def _take(self) -> Iterator[bytes]:
        taken = 0
        while self._own:
            yield self._own.popleft()
        while not self.closed and taken < CHUNK_BYTES and (found := self._next()) is not None:
            taken += len(found.data)
            self.sent += 1
            yield found.data

    def _next(self) -> Frame | None:
        """Return the oldest unread frame that the client wants, ``None`` without one."""
        heads: dict[Ring, Frame] = {}
        for ring, place in self.places.items():
            number = max(place, ring.first)
            while (frame := ring.at(number)) is not None and not self.wants(frame.name, frame.device_id):
                number += 1
            self.places[ring] = number
            if frame is not None:
                heads[ring] = frame
        if not heads:
            return None
        oldest = min(heads, key=lambda ring: heads[ring].order)
        self.places[oldest] += 1
        return heads[oldest]


class Hub:
    """The rings and the clients; ``run`` lasts as long as the server."""

    def __init__(self, bus: EventBus, *, kept: int = KEPT_FRAMES) -> None:
        self._bus = bus
        self._boot = secrets.token_hex(4)
        self._kept = Ring(kept, KEPT_BYTES)
        """The number of a frame in this ring is part of its event id."""
        self._fleeting = Ring(LOG_FRAMES, LOG_BYTES)
        self._order = 0
        self._clients: set[Client] = set()
        self._sent_to_gone = 0
        self._closed = False
        self.dropped_clients = 0
        self.lost_events = 0

    @property
    def sent(self) -> int:
        """The number of events sent to all clients."""
        return self._sent_to_gone + sum(client.sent for client in self._clients)

    def __len__(self) -> int:
        return len(self._clients)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        with self._bus.subscribe() as subscription:
            while events := await subscription.batch():
                began = loop.time()
                for event in events:
                    fleeting = event_frames.FLEETING_EVENTS.get(type(event))
                    if fleeting is not None and not any(
                        client.wants(fleeting, event.device_id) for client in self._clients
                    ):
                        continue
                    for news in event_frames.stream_events(event):
                        self.publish(news)
                self.lost_events = subscription.dropped
                self._wake()
                # Events within FLUSH_SECONDS are sent together.
                await asyncio.sleep(max(0.0, FLUSH_SECONDS - (loop.time() - began)))

    def _wake(self) -> None:
        for client in tuple(self._clients):
            client.wake()

    def publish_now(self, news: event_frames.StreamEvent) -> None:
        """Publish an event that does not come from the bus, without delay."""
        self.publish(news)
        self._wake()

    def publish(self, news: event_frames.StreamEvent) -> None:
        """Encode one event and append it to its ring."""
        self._order += 1
        fleeting = news.name in event_frames.EPHEMERAL
        ring, event_id = (self._fleeting, "") if fleeting else (self._kept, self.id_of(self._kept.next))
        frame = Frame(self._order, news.name, news.device_id, event_frames.encoded(news.name, news.data, event_id))
        for number, out in ring.push(frame):
            for client in tuple(self._clients):
                if client.places[ring] <= number and client.wants(out.name, out.device_id):
                    self._drop(client)

    def id_of(self, number: int) -> str:
        """Return the event id; it contains a value of this process, because numbers restart with the server."""
        return f"{self._boot}-{number}"

    def _drop(self, client: Client) -> None:
        self.dropped_clients += 1
        client.dropped = True
        self.leave(client)
        client.end(self._farewell(client, "too slow"))

    def _farewell(self, client: Client, reason: str) -> bytes:
        last_id = self.id_of(client.places[self._kept] - 1)
        return event_frames.encoded(event_frames.DROPPED, {"reason": reason, "lastEventId": last_id})

    def subscribe(
        self, *, devices: Collection[str] = (), types: Collection[str] = (), last_id: str = ""
    ) -> Client | None:
        """Return a new client, resumed after ``last_id``; ``None`` above the limit of clients."""
        if self._closed or len(self._clients) >= MOST_CLIENTS:
            return None
        client = Client((self._kept, self._fleeting), devices, types)
        hello = {"code": "CONNECTED", "message": "Clawperator SSE stream active", "version": event_frames.VERSION}
        client.enqueue(event_frames.encoded(event_frames.HEARTBEAT, hello))
        if last_id:
            self._catch_up(client, last_id)
        self._clients.add(client)
        return client

    def _catch_up(self, client: Client, last_id: str) -> None:
        boot, _, digits = last_id.partition("-")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else -1
        if boot != self._boot or not 0 <= number < self._kept.next:
            client.enqueue(_reset("unknown", "The server has restarted since. Fetch the current state"))
            client.places[self._kept] = self._kept.first  # what this server has sent, that client cannot have seen
            return
        if number + 1 < self._kept.first:
            client.enqueue(_reset("expired", "Some events have expired. Fetch the current state"))
        client.places[self._kept] = number + 1

    def leave(self, client: Client) -> None:
        if client in self._clients:
            self._clients.discard(client)
            self._sent_to_gone += client.sent

    def close(self, reason: str) -> None:
        """End every stream and accept no more clients."""
        self._closed = True
        for client in tuple(self._clients):
            client.end(self._farewell(client, reason))
            self.leave(client)


def _reset(reason: str, message: str) -> bytes:
    return event_frames.encoded(event_frames.RESET, {"reason": reason, "message": message})
