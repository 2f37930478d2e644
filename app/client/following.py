"""Follow mode of another computer, which takes snapshots while a client watches, and the trees of its devices."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import aclosing, suppress
from urllib.parse import quote

from httpx_sse import ServerSentEvent
from pydantic import ValidationError

from clawperator.app.client import wire
from clawperator.app.client.http_client import Client, error_of
from clawperator.app.client.stream import Down, here, is_lost, listen
from clawperator.app.serve import event_frames
from clawperator.engine.errors import EngineError
from clawperator.engine.events.types import SnapshotSeen
from clawperator.engine.follow.follower import PAINT_LIMIT, FollowState

_LOOK = "follow-"
"""Prefix of the command ids of follow snapshots."""
_WAITING = 8
"""What the console itself keeps unread: older ones will not be shown any more."""
_AN_HOUR_MS = 3_600_000
"""A tree of the server's memory is what is wanted here, never a new look."""


class RemoteFollow:
    """``FollowRun`` whose snapshots another computer takes: run ``run``, which ends only by cancellation, as one task."""

    def __init__(self, device_id: str, on_state: Callable[[FollowState], object]) -> None:
        self.device_id = device_id
        self.state = FollowState("reading")
        self._on_state = on_state
        self._painted = asyncio.Event()

    async def run(self) -> None:
        raise NotImplementedError

    def painted(self) -> None:
        self._painted.set()

    def owns(self, command_id: str) -> bool:
        """Return whether that is a follow snapshot; those of another computer serve all clients."""
        return command_id.startswith(_LOOK)

    def _say(self, state: FollowState) -> None:
        if state != self.state:
            self.state = state
            self._on_state(state)


class HttpFollow(RemoteFollow):
    """Follow mode of a server, which takes its next snapshot when the last tree was fetched; here that waits for ``painted``."""

    def __init__(self, client: Client, device_id: str, on_state: Callable[[FollowState], object]) -> None:
        super().__init__(device_id, on_state)
        self._client = client
        self._painted.set()

    async def run(self) -> None:
        params = {"device": self.device_id, "type": "follow", "follow": self.device_id}
        async with aclosing(listen(self._client, params)) as news:
            async for one in news:
                if isinstance(one, Down):
                    self._say(FollowState("away" if is_lost(one.error) else "failing", error=one.error))
                elif isinstance(one, ServerSentEvent) and one.event == event_frames.FOLLOW:
                    with suppress(ValidationError):
                        self._say(state_of(wire.read(wire.FollowEvent, one.data)))

    def shown(self) -> None:
        """Note that a new tree is about to be painted."""
        self._painted.clear()

    async def ready(self) -> None:
        """Wait until the last tree was painted, or for ``PAINT_LIMIT``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PAINT_LIMIT):
                await self._painted.wait()


def state_of(event: wire.FollowEvent) -> FollowState:
    """Return the state of follow mode on another computer."""
    error = error_of(event.error) if event.error is not None else None
    return FollowState(event.phase, command_id=event.command_id, wait=event.wait, error=error)


class TreeFetcher:
    """``run`` as one task; ``announce`` each event. ``follow`` returns the follow mode that sets the pace, if any."""

    def __init__(
        self,
        client: Client,
        device_id: str,
        publish: Callable[[SnapshotSeen], object],
        follow: Callable[[], HttpFollow | None],
    ) -> None:
        self._client = client
        self._device_id = device_id
        self._publish = publish
        self._follow = follow
        self._announced: deque[wire.SnapshotEvent] = deque(maxlen=_WAITING)
        self._news = asyncio.Event()
        self._digest = self._xml = ""

    def announce(self, event: wire.SnapshotEvent) -> None:
        self._announced.append(event)
        self._news.set()

    async def run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._announced:
                await self._take(self._announced.popleft())

    async def _take(self, event: wire.SnapshotEvent) -> None:
        """One tree, unless a newer one has taken its place on the server: then that one's event is on its way."""
        if not event.complete:
            return  # the server keeps complete trees only
        follow = self._follow()
        known = event.digest == self._digest
        paced = follow is not None and follow.owns(event.command_id)
        if paced and follow is not None:
            await follow.ready()
        if paced or not known:  # the server's next snapshot waits for the fetch
            try:
                await self._fetch()
            except EngineError:
                return  # the subscription reports a lost server; the next tree is another attempt
            if event.digest != self._digest:
                return
        if follow is not None and not known:
            follow.shown()
        seen = SnapshotSeen(
            device_id=self._device_id,
            command_id=event.command_id,
            step_id=event.step_id,
            xml=self._xml,
            at=here(event.at, self._client.skew),
        )
        self._publish(seen)

    async def _fetch(self) -> None:
        path = f"devices/{quote(self._device_id, safe='')}/snapshot"
        params = {"view": "full", "since": self._digest, "maxAgeMs": _AN_HOUR_MS}
        answer = await self._client.get(wire.Snapshot, path, params)
        if answer.view is not None:
            self._digest, self._xml = answer.digest, answer.view.text
