"""An engine whose devices belong to a server, over the HTTP API.

Three subscriptions carry what is pushed: the device list, one device's log, and follow mode while it is on. Everything
else is requested. What arrives is published on this process's own bus.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, Self
from urllib.parse import quote

from httpx_sse import ServerSentEvent
from pydantic import ValidationError

from clawperator.app.client import wire
from clawperator.app.client.checks import DOCTOR_SECONDS, NoFixer, RemoteDoctor
from clawperator.app.client.emulators import RemoteEmulators
from clawperator.app.client.following import HttpFollow, TreeFetcher
from clawperator.app.client.history import HttpHistory, RemoteHistory
from clawperator.app.client.http_client import ARGUMENTS, Client, Names, read_token, read_url
from clawperator.app.client.stream import (
    Down,
    Missed,
    Up,
    listen,
    read_devices,
    read_event,
    words_of,
)
from clawperator.app.serve import event_frames
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.contracts.read_only import refuse_acting
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import (
    AdbServerLost,
    CommandProgress,
    DevicesChanged,
    LogAttached,
    LogGap,
    SnapshotSeen,
)
from clawperator.engine.executions import build
from clawperator.engine.executions.attempt import Attempt, ExecutionResult
from clawperator.engine.executions.command import ENVELOPE_WAIT_SECONDS
from clawperator.engine.executions.composition import Composition
from clawperator.engine.executions.outcome import outcome_of
from clawperator.engine.executions.run import Finished
from clawperator.engine.executions.validate import Validated, strictly, validate
from clawperator.engine.follow.follower import FollowState

LOCK_SECONDS = 1.0
_SPARE_SECONDS = 30.0
"""What the server may take beyond an execution's own time: waiting for the device, closing apps, taking screenshots."""
_LOG_TYPES = ("event", "envelope", "snapshot", "link", "log")
_DENIED = (ErrorCode.CAPABILITY_DENIED, ErrorCode.ACTION_DENIED, ErrorCode.READ_ONLY)


class RemoteDevices:
    """What an engine has whose devices are on other computers; ``host`` names them on screen."""

    history: RemoteHistory
    strict = False
    """Whether actions refuse several matches where they do not say."""

    def __init__(self, host: str, *, receiver_package: str, read_only: bool) -> None:
        self.events = EventBus()
        self.host = host
        self.backend = "operator"
        self.aliases: Mapping[str, str] = {}
        """By serial: the names of devices in the settings of their computer."""
        self._package = receiver_package
        self._read_only = read_only
        self._locks: Mapping[str, Mapping[str, Any]] = {}
        self._flights: list[Mapping[str, Any]] = []
        self._look_at_locks = asyncio.Event()
        self._watched = ""

    def backend_of(self, device_id: str) -> str:  # noqa: ARG002  # one for all devices
        return self.backend

    def use_backend(self, name: str) -> None:
        self.backend = name

    def locks(self) -> Sequence[Mapping[str, Any]]:
        """Return the locks as last polled, and those of this console's executions."""
        own = {str(flight["deviceId"]): flight for flight in self._flights}
        return list({**own, **self._locks}.values())

    async def record_seen(self) -> None:
        """The computer of the device records."""

    # -- executing

    async def snapshot(self, *, device_id: str | None = None) -> ExecutionResult:
        """Take a snapshot; its tree is published as an event: of a device whose log is not watched, from the answer."""
        result = await self.execute(build.snapshot(), device_id=device_id)
        command = str(result.envelope["commandId"])
        for step in result.envelope["stepResults"] if device_id != self._watched else ():
            if xml := step.get("data", {}).get("text"):
                seen = SnapshotSeen(
                    device_id=device_id, command_id=command, step_id=step["id"], xml=xml, at=time.time()
                )
                self.events.publish(seen)
        return result

    async def execute(
        self, payload: object, *, device_id: str | None = None, wait_ms: int | None = None, then: str | None = None
    ) -> ExecutionResult:
        """Run one execution, a plan of actions only, or a gesture on the device ``device_id``; it is sent once in any case.

        ``wait_ms`` limits the wait for a locked device, ``then`` is the view (of ``finish.THEN``) of the screen after the plan.
        Returns a result if the device answered. Raises ``EngineError`` as ``Engine.execute`` does; after a lost connection its
        ``broadcastDispatchStatus`` is ``unknown``.
        """
        payload = payload if isinstance(payload, Composition) else build.completed(payload)
        with Attempt(self.events, payload) as attempt:
            validated = payload.validated() if isinstance(payload, Composition) else validate(payload)
            validated = strictly(validated) if self.strict else validated
            attempt.admit(validated, "", self._package)
            if self._read_only:
                refuse_acting(validated.execution)
            serial = _named(device_id)
            attempt.start(serial)
            body = {**self._asked(payload, validated), "deviceId": serial}
            chosen = {"receiverPackage": self._package or None, "waitMs": wait_ms, "then": then}
            body |= {name: value for name, value in chosen.items() if value is not None}
            if self.backend == "stock":
                body |= {"backend": self.backend, "allowUnbind": True}
            flight = _own_lock(serial, validated.payload)
            self._flights.append(flight)
            attempt.trace.dispatched()  # from here on it may act, whatever is answered
            try:
                answer = await self._send(body)
            except EngineError as exc:
                exc.extra.setdefault("broadcastDispatchStatus", "not_sent")  # refused before dispatch
                if exc.extra["broadcastDispatchStatus"] == "unknown":
                    exc.hint = "It may have been sent to the device: check the device before sending it again."
                raise
            finally:
                self._flights.remove(flight)
                self._look_at_locks.set()
            attempt.execution_id, attempt.backend = answer.execution_id, answer.backend
            attempt.warnings = []
            envelope = answer.envelope.to_dict()
            # of a success, the server has checked that it has all steps
            steps = () if envelope["status"] == "success" else validated.execution.steps
            outcome = answer.outcome.value() if answer.outcome is not None else outcome_of(steps, (), envelope)
            return attempt.finish(Finished(envelope, outcome, answer.warnings, then=answer.then))

    def _asked(self, payload: object, validated: Validated) -> dict[str, Any]:
        """Return the part of the body that names what is run. Raises ``EngineError`` for a gesture."""
        if isinstance(payload, Composition):
            raise EngineError(
                ErrorCode.BACKEND_UNAVAILABLE, "A swipe between two points runs only where the device is connected"
            )
        return {"execution": validated.payload}

    async def _send(self, body: Mapping[str, Any]) -> wire.Result:
        """Send what ``_asked`` returned, with the device. Raises ``EngineError``."""
        raise NotImplementedError

    async def force_stop(self, package: str, *, device_id: str | None = None) -> NoReturn:  # noqa: ARG002  # the shape of an engine
        raise EngineError(
            ErrorCode.BACKEND_UNAVAILABLE,
            f"{package} cannot be stopped from here: only its computer has a way past the device's lock",
            hint="Send close_app when the device is free.",
        )

    def fixer(self) -> NoFixer:
        return NoFixer()

    def operator_app(self, *, device_id: str | None = None) -> NoReturn:  # noqa: ARG002  # the shape of an engine
        raise EngineError(
            ErrorCode.BACKEND_UNAVAILABLE,
            "The Operator app is set up from the computer that has the device",
            hint="Run there: clawperator operator setup --apk <file>.",
        )

    @property
    def wireless(self) -> NoReturn:
        raise EngineError(
            ErrorCode.BACKEND_UNAVAILABLE, "Phones are paired on the computer of the server", hint="See `devices pair`."
        )


class RemoteEngine(RemoteDevices):
    """The devices of the server at ``url``, which need not be reachable yet. Use as ``async with``; raises ``EngineError`` only.

    ``token`` authorizes each request; ``token_file`` is a private file that holds it. ``receiver_package`` names the Operator app
    on the devices, ``read_only`` refuses what acts. ``strict``: an action whose selector matches several nodes fails unless it says
    otherwise, as with ``Engine``. ``names``: what errors call the arguments. Follow mode is the server's, with the backend of the
    server's settings.
    Raises ``EngineError``: USAGE for an invalid address, FILE_NOT_READABLE and TOKEN_FILE_INVALID for the file.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        token_file: str = "",
        receiver_package: str = "",
        read_only: bool = False,
        strict: bool = True,
        names: Names = ARGUMENTS,
    ) -> None:
        token = token or (read_token(token_file, names) if token_file else "")
        client = Client(read_url(url, names), token, names)
        super().__init__(client.host, receiver_package=receiver_package, read_only=read_only)
        self.history = HttpHistory(client)
        self.emulators = RemoteEmulators(client)
        self._client = client
        self._follow: HttpFollow | None = None
        self.strict = strict

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._client.close()

    # -- devices

    async def devices(self) -> tuple[DeviceEntry, ...]:
        answer = await self._client.get(wire.Devices, "devices")
        self.aliases = answer.aliases
        return tuple(answer.devices)

    async def watch_devices(self) -> None:
        """Publish the device list until cancelled; ``AdbServerLost`` while the server or its adb is unavailable."""
        async with asyncio.TaskGroup() as group:
            locks: asyncio.Task[None] | None = None
            async with aclosing(listen(self._client, {"type": ["devices", "link"]})) as news:
                async for one in news:
                    match one:
                        case Up() | Missed():
                            await self._ask_devices()
                            locks = locks or group.create_task(self._watch_locks(), name="locks of the server")
                        case Down(error):
                            self.events.publish(AdbServerLost(reason=words_of(error)))
                            if locks is not None:
                                locks.cancel()
                            locks = None
                            self._locks = {}
                        case ServerSentEvent():
                            self._take_devices(one)

    async def _ask_devices(self) -> None:
        try:
            self.events.publish(DevicesChanged(devices=await self.devices()))
        except EngineError as exc:
            self.events.publish(AdbServerLost(reason=words_of(exc)))

    def _take_devices(self, event: ServerSentEvent) -> None:
        with suppress(ValidationError):  # the next list is complete
            if event.event == event_frames.DEVICES:
                self.events.publish(read_devices(event))
            elif event.event == event_frames.LINK:
                link = wire.read(wire.LinkEvent, event.data)
                if link.state == "adb-lost":
                    self.events.publish(AdbServerLost(reason=f"adb of the server: {link.reason}"))

    async def _watch_locks(self) -> None:
        while True:
            self._look_at_locks.clear()
            try:
                listed = (await self._client.get(wire.Locks, "locks")).locks
            except EngineError:
                listed = []  # the subscription reports a lost server
            self._locks = {lock.device_id: lock.here(self._client.skew) for lock in listed}
            with suppress(TimeoutError):
                async with asyncio.timeout(LOCK_SECONDS):
                    await self._look_at_locks.wait()

    # -- one device

    async def watch_log(self, device_id: str) -> None:
        """Publish progress, envelopes, trees and lines of the device's log until cancelled."""
        self._watched = device_id
        trees = TreeFetcher(self._client, device_id, self.events.publish, lambda: self._following(device_id))
        params = {"device": device_id, "type": list(_LOG_TYPES)}
        reported = False
        async with asyncio.TaskGroup() as group:
            group.create_task(trees.run(), name=f"trees of {device_id}")
            async with aclosing(listen(self._client, params)) as news:
                async for one in news:
                    match one:
                        case Up():
                            self.events.publish(LogAttached(device_id=device_id))
                        case Missed() if not reported:
                            self._publish_gap(device_id, "the server did not keep all events")
                        case Down(error):
                            reported = True
                            if error.code in _DENIED and "log" in params["type"]:
                                params["type"] = [name for name in _LOG_TYPES if name != "log"]
                                continue
                            self.events.publish(LogGap(device_id=device_id, reason=words_of(error)))
                        case ServerSentEvent():
                            reported = False
                            self._take_event(one, device_id, trees)

    def _take_event(self, event: ServerSentEvent, device_id: str, trees: TreeFetcher) -> None:
        try:
            read = read_event(event, device_id, self._client.skew)
        except ValidationError:
            self._publish_gap(device_id, "an event of the server cannot be read")
            return
        if isinstance(read, wire.SnapshotEvent):
            trees.announce(read)
        elif read is not None:
            self.events.publish(read)
            if isinstance(read, CommandProgress):
                self._look_at_locks.set()

    def _publish_gap(self, device_id: str, reason: str) -> None:
        """Publish that events are missing."""
        self.events.publish(LogGap(device_id=device_id, reason=reason))
        self.events.publish(LogAttached(device_id=device_id))

    def follow(self, device_id: str, on_state: Callable[[FollowState], object]) -> HttpFollow:
        self._follow = HttpFollow(self._client, device_id, on_state)
        return self._follow

    def _following(self, device_id: str) -> HttpFollow | None:
        return self._follow if self._follow is not None and self._follow.device_id == device_id else None

    async def picture(self, *, device_id: str | None = None) -> bytes:
        return await self._client.get_bytes(f"devices/{quote(_named(device_id), safe='')}/screen.png", "image/png")

    def _asked(self, payload: object, validated: Validated) -> dict[str, Any]:
        if not isinstance(payload, Composition):
            return super()._asked(payload, validated)
        (action,) = payload.actions
        names = {"at": "point", "to": "to"}
        return {
            "verb": action.type,
            **{new: dict(zip("xy", action.params[old], strict=True)) for old, new in names.items()},
        }

    async def _send(self, body: Mapping[str, Any]) -> wire.Result:
        arguments = dict(body)
        place = f"verbs/{arguments.pop('verb')}" if "verb" in body else "execute"
        limit = (body.get("execution") or {"timeoutMs": build.DEFAULT_TIMEOUT_MS})["timeoutMs"] + body.get("waitMs", 0)
        seconds = limit / 1000 + ENVELOPE_WAIT_SECONDS + _SPARE_SECONDS
        return await self._client.post(wire.Result, place, arguments, seconds=seconds)

    # -- readiness

    def doctor(self, *, device_id: str | None = None, full: bool = False) -> RemoteDoctor:
        params = {"deviceId": device_id} if device_id else {}
        params |= {"backend": self.backend} if self.backend == "stock" else {}
        ask = partial(self._client.get, wire.Checks, "doctor", params, seconds=DOCTOR_SECONDS)
        return RemoteDoctor(ask, full=full, backend=self.backend)


def _named(device_id: str | None) -> str:
    if not device_id:
        raise EngineError(ErrorCode.NO_DEVICES, "No device is selected", hint="Name one of `devices()`.")
    return device_id


def _own_lock(serial: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "deviceId": serial,
        "state": "held",
        "pid": os.getpid(),
        "commandId": payload["commandId"],
        "taskId": payload["taskId"],
        "source": payload["source"],
        "since": time.time(),
        "timeoutMs": payload["timeoutMs"],
    }
