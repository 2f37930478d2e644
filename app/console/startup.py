"""Open the engine after the first frame, start the bridge, and import what the first frame did not need."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from textual.app import App
from textual.worker import Worker, WorkerError

from clawperator.app.console import modes
from clawperator.app.console.bridge import Bridge
from clawperator.app.console.idle_gc import IdleGc
from clawperator.app.console.key_order import KeyQueue

Opening = Callable[[], Awaitable[bool]]
"""Opens the engine; returns false where that failed and the console ends."""


class Startup:
    """``begin`` on mount, ``end`` on unmount. With ``opening`` keys wait for the engine. ``files`` are the bridge's."""

    def __init__(
        self,
        app: App[int],
        bridge: Bridge,
        keys: KeyQueue,
        idle_gc: IdleGc,
        *,
        files: Sequence[str],
        opening: Opening | None,
    ) -> None:
        self._app = app
        self._bridge = bridge
        self._keys = keys
        self._idle_gc = idle_gc
        self._files = files
        self._opening = opening
        self._bridging: Worker[None] | None = None

    def begin(self) -> None:
        if self._opening is None:
            self._begin_bridge()
        else:
            self._keys.hold()
        self._app.call_after_refresh(self._painted)

    def _begin_bridge(self) -> None:
        self._bridging = self._app.run_worker(self._bridge.run(self._files), name="bridge", exit_on_error=True)

    def _painted(self) -> None:
        self._app.run_worker(self._load_rest(), name="rest", exit_on_error=True)

    async def _load_rest(self) -> None:
        if self._opening is not None:
            if not await self._opening():
                self._app.exit(1)
                return
            self._begin_bridge()
            await self._bridge.begun.wait()
            await self._keys.release()
        self._idle_gc.begin()
        await asyncio.to_thread(modes.load)

    async def end(self) -> None:
        """Wait for the bridge to end: the engine is closed next."""
        self._idle_gc.end()
        if self._bridging is not None:
            self._bridging.cancel()
            with contextlib.suppress(WorkerError):
                await self._bridging.wait()
