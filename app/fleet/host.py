"""``fleet join``: the devices of this host as a NATS micro service, under this host's policy and audit."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from nats.errors import Error as NatsError
from nats.micro import add_service
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from clawperator.app.fleet import subjects
from clawperator.app.fleet.client import ask_hosts
from clawperator.app.serve.answers import encode
from clawperator.app.serve.event_frames import stream_events
from clawperator.app.serve.screenshot_paths import with_confined_screenshots
from clawperator.app.serve.service import CallerExecutor
from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.contracts.caller import Caller
from clawperator.engine.contracts.issues import shown
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.events.types import DevicesChanged, SnapshotSeen
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.facade import BackendOptions, Engine
from clawperator.engine.skills.artifact_run import run_document
from clawperator.engine.skills.compiled import is_compiled
from clawperator.engine.skills.registry import open_registry
from clawperator.engine.skills.run import SkillRun, run_skill, run_with_then
from clawperator.engine.version import __version__

if TYPE_CHECKING:
    from nats.micro.request import Request
    from nats.micro.service import Service

    from clawperator.app.fleet.connection import Connection
    from clawperator.engine.executions.attempt import ExecutionResult
_MAX_DEVICES = 1_024
"""Devices that one host offers; one that is gone is still answered for."""
_MAX_REQUESTS = 256
"""Requests in work, waits for the device included."""
_MAX_CALLER = 120
_FLUSH_SECONDS = 5
_KNOWN = {*BackendOptions.__annotations__, *(field.name for field in fields(RunOptions))} - {"screenshot_overwrite"}


class _Request(BaseModel):
    """What a client publishes on the subject of a device; ``options`` are those of ``RunOptions``, ``how`` of ``BackendOptions``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ask: Literal["execute", "picture", "doctor", "skill"] = "execute"
    payload: Any = None
    caller: str
    timeoutMs: Any = None  # noqa: N815 -- its name in JSON
    options: dict[str, Any] = {}
    how: dict[str, Any] = {}

    def run_options(self) -> RunOptions:
        """Return ``options``. Raises ``ValidationError``, and ``EngineError`` for one that this version does not have."""
        if unknown := sorted({*self.options, *self.how} - _KNOWN):
            raise EngineError(
                ErrorCode.INVALID_BODY,
                f"The host has no option {shown(unknown[0])}: its version is {__version__}",
                hint="Use the same version on all computers of the fleet.",
            )
        return TypeAdapter(RunOptions).validate_json(json.dumps(self.options), strict=True)


class _Skill(BaseModel):
    """The payload of a request for a skill."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    args: list[str] = []
    expectContains: str | None = None  # noqa: N815 -- its name in JSON


class FleetHost:
    """Offers the devices of ``engine`` as those of host ``name``; screenshots are written below ``screenshots_dir`` only."""

    def __init__(self, engine: Engine, client: Connection, name: str, screenshots_dir: str) -> None:
        self.offered: dict[str, None] = {}
        self._names: set[str] = set()
        """Serials and aliases that have a subject."""
        self.dropped = 0
        """Events and trees that were not published because the connection was slow or away, or that are too large."""
        self._engine = engine
        self._client = client
        self._name = name
        self._screenshots_dir = screenshots_dir
        self._requests: set[asyncio.Task[None]] = set()
        self._watchers: dict[str, asyncio.Task[None]] = {}

    async def run(self, ready: Callable[[], object]) -> None:
        """Offer the devices, and call ``ready``, until cancelled; what runs is ended, and its outcome answered, before it returns.

        Raises ``EngineError`` (FLEET_HOST_TAKEN) if another host of the fleet has this name.
        """
        if self._name in await ask_hosts(self._client):
            raise EngineError(ErrorCode.FLEET_HOST_TAKEN, f"The fleet has a host {self._name} already")
        service = await add_service(
            self._client,
            name=subjects.SERVICE,
            version=__version__,
            description="Android devices of one host",
            metadata={"host": self._name},
            stats_handler=lambda _: {"dropped": self.dropped, "running": len(self._requests)},
        )
        group = f"host-{subjects.token(self._name)}"  # every host answers
        await service.add_endpoint(name="hosts", subject=subjects.HOSTS, queue_group=group, handler=self._describe)
        for tag in {tag for profile in self._engine.settings.devices.values() for tag in profile.tags}:
            await service.add_endpoint(
                name="tag",
                subject=subjects.tag_subject(tag),
                queue_group=group,
                handler=partial(self._list, tag),
                metadata={"tag": tag},
            )
        watching = asyncio.create_task(self._engine.watch_devices(), name="devices of the host")
        try:
            with self._engine.events.subscribe() as events:
                await self._offer(service, [entry.serial for entry in await self._engine.devices() if entry.usable])
                await self._require_permissions()
                ready()
                while batch := await events.batch():
                    for event in batch:
                        if isinstance(event, DevicesChanged):
                            await self._offer(service, [entry.serial for entry in event.devices if entry.usable])
                        await self._publish(event, events.dropped)
        finally:
            ending = [watching, *self._watchers.values(), *self._requests]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            with suppress(NatsError, TimeoutError):
                await self._client.flush(1)
                await service.stop()

    async def _require_permissions(self) -> None:
        """Raise ``EngineError`` (FLEET_UNAVAILABLE) if the server refused the subscriptions of a host."""
        with suppress(NatsError):
            await self._client.flush(_FLUSH_SECONDS)
        if self._client.refusal:
            words = f"The NATS server does not permit this user to offer devices: {self._client.refusal}"
            raise EngineError(ErrorCode.FLEET_UNAVAILABLE, words, hint="Use the credentials of a host.")

    async def _offer(self, service: Service, serials: list[str]) -> None:
        """Offer the devices that are new, and follow the log of those that are there."""
        profiles = self._engine.settings.devices
        aliases = {profile.serial: (alias, profile.tags) for alias, profile in profiles.items()}
        for serial in serials:
            if serial not in self._watchers or self._watchers[serial].done():
                watcher = asyncio.create_task(self._engine.watch_log(serial), name=f"log of {serial}")
                self._watchers[serial] = watcher
            if serial in self.offered or len(self.offered) >= _MAX_DEVICES:
                continue
            self.offered[serial] = None
            alias, tags = aliases.get(serial, ("", ()))
            for name in {serial, alias} - {"", *self._names}:
                self._names.add(name)
                await service.add_endpoint(
                    name="device",
                    subject=subjects.device_subject(self._name, name),
                    queue_group=subjects.token(self._name),  # one of two hosts with one name gets a request
                    handler=partial(self._take, profiles[name].serial if name in profiles else name),
                    metadata={"serial": serial, "alias": alias, "tags": ",".join(tags)},
                )
        for serial in self._watchers.keys() - set(serials):
            self._watchers.pop(serial).cancel()

    async def _list(self, tag: str, request: Request) -> None:
        tagged = [profile.serial for profile in self._engine.settings.devices.values() if tag in profile.tags]
        await request.respond(encode({"host": self._name, "serials": tagged}))

    async def _describe(self, request: Request) -> None:
        """Answer with the devices in any state, and the locks."""
        locks = [lock.to_dict() for lock in await asyncio.to_thread(self._engine.locks)]
        about = {"host": self._name, "version": __version__, "at": time.time(), "locks": locks}
        profiles = {profile.serial: (alias, profile.tags) for alias, profile in self._engine.settings.devices.items()}
        devices = []
        for entry in await self._engine.devices():
            alias, tags = profiles.get(entry.serial, ("", ()))
            devices.append({**entry.to_dict(), "alias": alias, "tags": tags})
        await request.respond(encode({**about, "devices": devices}))

    # -- executions

    async def _take(self, serial: str, request: Request) -> None:
        """Start the work of a request: the next one for the same device is answered, or waits, beside it."""
        if len(self._requests) >= _MAX_REQUESTS:
            error = EngineError(ErrorCode.SERVER_BUSY, f"The host {self._name} has {_MAX_REQUESTS} requests in work")
            await self._answer(request, error.to_answer())
            return
        task = asyncio.create_task(self._work(request, serial), name=f"fleet request for {serial}")
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _work(self, request: Request, serial: str) -> None:
        alive = asyncio.create_task(self._stay_alive(request), name="signs of life")
        try:
            answer = await self._take_request(request.data, serial)
        except EngineError as exc:
            answer = exc.to_answer()
        except Exception as exc:  # noqa: BLE001 -- the caller needs an answer
            unknown = {"broadcastDispatchStatus": "unknown"}
            error = EngineError(ErrorCode.UNKNOWN_RUNTIME_ERROR, f"{type(exc).__name__}: {exc}", extra=unknown)
            answer = error.to_answer()
        except asyncio.CancelledError as exc:  # the host leaves: the caller is told what is known
            cause = exc.__cause__
            answer = (cause if isinstance(cause, EngineError) else interruption("unknown")).to_answer()
        finally:
            alive.cancel()
        await self._answer(request, answer)

    async def _take_request(self, data: bytes, serial: str) -> Mapping[str, Any]:
        try:
            body = _Request.model_validate_json(data)
            options = body.run_options()
            skill = _Skill.model_validate(body.payload) if body.ask == "skill" else None
        except (ValidationError, ValueError, RecursionError) as exc:
            raise EngineError(ErrorCode.INVALID_BODY, "The request of the fleet cannot be read") from exc
        engine = self._engine.under(Caller(name=f"fleet:{shown(body.caller, _MAX_CALLER)}"))
        if skill is not None:
            return await _run_skill(engine, serial, skill, body, options)
        if body.ask == "picture":
            return {"ok": True, "png": base64.b64encode(await engine.picture(device_id=serial)).decode()}
        if body.ask == "doctor":
            backend = body.how.get("backend")
            checks = [check.to_dict() async for check in engine.doctor(device_id=serial, backend=backend).checks()]
            return {"ok": True, "checks": checks}
        reach: Any = _given(body.how)
        how: Any = {"device_id": serial, "timeout_ms": body.timeoutMs, "options": options}

        async def run(payload: Any, **options: Any) -> ExecutionResult:
            sent = with_confined_screenshots(engine.guard, payload, self._screenshots_dir)
            return await engine.execute(sent, **reach, **options)

        if is_compiled(body.payload):
            executor = CallerExecutor(engine.settings, run)
            report = await run_document(executor, body.payload, load_profile(engine.settings), **how)
            return report.to_dict()
        return (await run(body.payload, **how)).to_dict()

    async def _stay_alive(self, request: Request) -> None:
        with suppress(NatsError, ValueError):  # ValueError: a request without a reply subject
            while True:
                await asyncio.sleep(subjects.ALIVE_SECONDS)
                await request.respond(headers={subjects.ALIVE: "1"})

    async def _answer(self, request: Request, answer: Mapping[str, Any]) -> None:
        data = encode(answer)
        size = max(1_024, self._client.max_payload - 4_096)
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        with suppress(NatsError, ValueError):  # the caller, who gets no answer, knows that the outcome is unknown
            for number, part in enumerate(parts, 1):
                await request.respond(part, headers={subjects.PART: f"{number}/{len(parts)}"})

    # -- events

    async def _publish(self, event: Any, lost: int) -> None:
        """Publish an engine event for everyone who watches; never kept for later."""
        headers = {subjects.DROPPED: str(self.dropped + lost)}
        messages = [
            (subjects.event_subject(self._name, each.device_id or "-", each.name), encode(dict(each.data)))
            for each in stream_events(event)
        ]
        if isinstance(event, SnapshotSeen) and event.complete and event.device_id:
            tree = event.xml.encode(errors="replace")
            messages.append((subjects.tree_subject(self._name, event.device_id), tree))
            headers[subjects.FACTS] = json.dumps(dict(next(stream_events(event)).data))
        for subject, data in messages:
            if not self._client.is_connected or len(data) > self._client.max_payload - 4_096:
                self.dropped += 1
                continue
            with suppress(NatsError):
                await self._client.publish(subject, data, headers=headers)


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


async def _run_skill(
    engine: Engine, serial: str, skill: _Skill, body: _Request, options: RunOptions
) -> Mapping[str, Any]:
    """Run the script of a skill of this host's registry."""
    settings = engine.settings.with_options(**_given(body.how))
    registry = await asyncio.to_thread(open_registry, settings.environment, settings.skills_registry or None)

    def script() -> Coroutine[Any, Any, SkillRun]:
        return run_skill(
            registry,
            skill.id,
            settings=settings,
            device_id=serial,
            args=skill.args,
            timeout_ms=body.timeoutMs,
            expect_contains=skill.expectContains,
            guard=engine.guard,
        )

    return await run_with_then(engine, script, options, serial)
