"""State shared by the HTTP routes: the engine, the device list as adb pushes it, the event hub, the followers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Unpack

from clawperator.app.http.events.hub import Hub
from clawperator.app.http.metrics import Metrics
from clawperator.app.serve.answers import encode
from clawperator.app.serve.followers import Followers
from clawperator.app.serve.refusals import CALLER, Refusals, operation_of
from clawperator.app.serve.service import Service, device_document
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.diagnostics.log_file import open_log
from clawperator.engine.errors import interruption
from clawperator.engine.events.types import AdbServerLost, DevicesChanged, ExecutionFinished, LogBatch, SnapshotSeen
from clawperator.engine.executions.attempt import ExecutionResult
from clawperator.engine.guard import Guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from clawperator.app.serve.options import ServeOptions
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.facade import Engine, ExecuteOptions


class HttpService(Service):
    """The engine for HTTP routes, used within ``running``. ``devices`` is ``None`` while adb's list is unknown."""

    def __init__(
        self, engine: Engine, options: ServeOptions, log_line: Callable[[str], object] = lambda _: None
    ) -> None:
        super().__init__(engine)
        self._log_line = log_line
        self.options = options
        self.hub = Hub(engine.events)
        self.metrics = Metrics()
        self.followers = Followers(engine, self.hub.publish_now)
        self.log = open_log(engine.settings)
        self.started_at = time.time()
        self.devices: tuple[DeviceEntry, ...] | None = None
        self.device_list: bytes | None = None
        """The body of ``GET /devices``, encoded once per change."""
        self.refusals = Refusals(engine)
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self.metrics.gauge("executions_in_flight", "Executions that run now", lambda: self.work.count)
        self.metrics.gauge("event_streams", "Clients of the event stream", lambda: len(self.hub))
        self.metrics.gauge(
            "event_streams_dropped", "Clients dropped because they did not read", lambda: self.hub.dropped_clients
        )
        self.metrics.gauge("events_sent", "Events written for clients", lambda: self.hub.sent)
        self.metrics.gauge("events_lost", "Engine events lost before they were written", lambda: self.hub.lost_events)
        self.metrics.gauge("devices", "Devices that adb lists as usable", self._usable)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HttpService]:
        """Watch the adb server, the logs of usable devices, and the event bus, until the block ends."""
        tasks = [
            asyncio.create_task(work, name=name)
            for name, work in (
                ("devices of the list", self._keep_devices()),
                ("adb server", self.engine.watch_devices()),
                ("event hub", self.hub.run()),
                ("seen runs", self.engine.record_seen()),
            )
        ]
        try:
            yield self
        finally:
            self.hub.close("the server stops")
            self.refusals.close()
            await _end([*tasks, *self._watchers.values(), *self.followers.tasks()])

    async def _keep_devices(self) -> None:
        with self.engine.events.subscribe() as subscription:
            while events := await subscription.batch():
                for event in events:
                    if isinstance(event, DevicesChanged):
                        self._set_devices(event.devices)
                    elif isinstance(event, AdbServerLost):
                        self.devices = self.device_list = None
                    elif isinstance(event, SnapshotSeen):
                        if event.complete and event.device_id is not None:
                            self.trees.note(event.device_id, event.xml, command_id=event.command_id)
                    elif isinstance(event, LogBatch):
                        self.metrics.log_lines(len(event.entries), event.dropped)
                    elif isinstance(event, ExecutionFinished):
                        self.trees.executed(event)
                        self.metrics.execution(*_outcome(event), event.duration_ms / 1000)

    def _set_devices(self, devices: tuple[DeviceEntry, ...]) -> None:
        self.devices = devices
        self.device_list = encode({"ok": True, **device_document(self.engine.settings, devices)})
        usable = {entry.serial for entry in devices if entry.usable}
        for serial in usable - self._watchers.keys():
            self._watchers[serial] = asyncio.create_task(self.engine.watch_log(serial), name=f"log of {serial}")
        for serial in self._watchers.keys() - {entry.serial for entry in devices}:
            self._watchers.pop(serial).cancel()

    # -- executing

    async def execute(
        self,
        request: Request,
        payload: object,
        **how: Unpack[ExecuteOptions],
    ) -> ExecutionResult:
        """Run ``payload`` under the policy profile of the request's caller; ``how`` is that of ``Engine.execute``.

        It runs to its end even if the client disconnects, because a sent command cannot be undone.
        """
        with self.work.one():
            try:
                return await self.engine.under(caller_of(request)).execute(payload, **how)
            except asyncio.CancelledError:
                if not self.work.stopping:
                    raise
                # The server exits without waiting: the client gets an answer, not a closed connection.
                raise interruption("unknown", deviceId=how.get("device_id") or "") from None

    def on_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Record a finished request in the metrics and the logs."""
        self.metrics.request(method, route, status, seconds)
        if self.log.wants("debug"):
            facts = {"status": status, "durationMs": round(seconds * 1000, 1)}
            self.log.write("debug", "serve.http.request", f"{method} {route}", **facts)
        if self.options.verbose:
            self._log_line(f"{method} {route} {status} {seconds * 1000:.1f} ms")

    def _usable(self) -> int:
        return sum(entry.usable for entry in self.devices or ())

    def admit(self, request: Request, payload: object) -> None:
        """Apply the caller's policy to an operation without an execution, as if it were ``payload``. Raises ``EngineError``."""
        self.engine.under(caller_of(request)).admit(payload, operation_of(request.scope))

    def guard(self, request: Request) -> Guard:
        """Return the policy guard of the request's caller."""
        return self.engine.under(caller_of(request)).guard


def _outcome(event: ExecutionFinished) -> tuple[str, str]:
    """Return the status and the error code of a finished execution: ``partial`` for a success with a failed step."""
    if event.result.get("ok"):
        envelope, outcome = event.result["envelope"], event.result["outcome"]
        if outcome["status"] == "partial":
            return "partial", outcome["error"]["code"]
        return envelope["status"], envelope.get("errorCode") or ""
    return "error", str(event.result.get("error", {}).get("code", ""))


def caller_of(request: Request) -> Caller:
    caller: Caller = request.scope.get(CALLER, ANONYMOUS)
    return caller


def acting(request: Request) -> AbstractContextManager[Engine]:
    """Return ``Service.acting`` for the request's caller."""
    service: HttpService = request.app.state.service
    return service.acting(caller_of(request))


async def _end(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
