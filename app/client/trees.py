"""The trees of one device: an event says that there is a new one, then it is fetched, each of them once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from urllib.parse import quote

from clawperator.app.client import wire
from clawperator.app.client.following import HttpFollow
from clawperator.app.client.http_client import Client
from clawperator.app.client.stream import here
from clawperator.engine.errors import EngineError
from clawperator.engine.events.types import SnapshotSeen

_WAITING = 8
"""What the console itself keeps unread: older ones will not be shown any more."""
_AN_HOUR_MS = 3_600_000
"""A tree of the server's memory is what is wanted here, never a new look."""


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
