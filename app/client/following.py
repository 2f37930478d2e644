"""Follow mode of another computer: it takes snapshots while a client watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress

from httpx_sse import ServerSentEvent
from pydantic import ValidationError

from clawperator.app.client import wire
from clawperator.app.client.http_client import Client, error_of
from clawperator.app.client.stream import Down, is_lost, listen
from clawperator.app.serve import event_frames
from clawperator.engine.follow.follower import PAINT_LIMIT, FollowState

_LOOK = "follow-"
"""Prefix of the command ids of follow snapshots."""


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
