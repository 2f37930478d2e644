"""``fleet join``: the devices of this host as a NATS micro service, under this host's policy and audit."""

# ruff: noqa: N815 - fields are named as JSON names them

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nats.errors import Error as NatsError
from nats.micro import add_service
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from clawperator.app.fleet import subjects
from clawperator.app.serve.answers import encode
from clawperator.app.serve.event_frames import following, stream_events
from clawperator.app.serve.followers import Followers
from clawperator.app.serve.history import MAX_PAGE, history_of, one_run, runs_page
from clawperator.app.serve.screenshot_paths import with_confined_screenshots
from clawperator.app.serve.service import CallerExecutor, device_document
from clawperator.engine.adb.recognition import list_devices
from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.config.policy import admit
from clawperator.engine.contracts.caller import Caller
from clawperator.engine.contracts.issues import shown
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.events.typed_text import TypedTrees
from clawperator.engine.events.types import DevicesChanged, SnapshotSeen
from clawperator.engine.executions import build
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.facade import BackendOptions, Engine
from clawperator.engine.follow.follower import PAINT_LIMIT, FollowState
from clawperator.engine.skills.artifact_run import run_document
from clawperator.engine.skills.compiled import is_compiled
from clawperator.engine.skills.registry import open_registry
from clawperator.engine.skills.run import run_with_then
from clawperator.engine.version import __version__

if TYPE_CHECKING:
    from nats.micro.request import Request
    from nats.micro.service import Service

    from clawperator.app.fleet.connection import Connection
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.executions.attempt import ExecutionResult
_MAX_DEVICES = 1_024
"""Devices that one host offers; one that is gone is still answered for."""
_MAX_REQUESTS = 256
"""Requests at a time, including those that wait for a device."""
_MAX_WATCHERS = 256
"""Clients that follow devices of one host."""
_MAX_CALLER = 120
_FLUSH_SECONDS = 5
_KNOWN = {*BackendOptions.__annotations__, *(field.name for field in fields(RunOptions))} - {"screenshot_overwrite"}


class _Request(BaseModel):
    """What a client publishes on the subject of a device; ``options`` are those of ``RunOptions``, ``how`` of ``BackendOptions``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ask: Literal["execute", "time", "picture", "doctor", "skill", "follow", "history", "devices"] = "execute"
    payload: Any = None
    caller: str
    until: float | None = None
    """The time of this host after which nothing must be started: the caller does not wait any longer."""
    timeoutMs: Any = None
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
    expectContains: str | None = None


class _Watcher(BaseModel):
    """The payload of a request to follow a device, for ``subjects.SILENT_SECONDS``. ``painted``: the client shows the newest tree."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(min_length=1, max_length=64)]
    painted: bool = False
    leaves: bool = False


class _Read(BaseModel):
    """The payload of a request for the history: one tree, one run, or a page of runs."""

    model_config = ConfigDict(extra="forbid", strict=True)

    tree: Annotated[str, Field(max_length=64)] = ""
    run: Annotated[str, Field(max_length=255)] = ""
    filter: Annotated[str, Field(max_length=1_000)] = ""
    limit: Annotated[int, Field(ge=0, le=MAX_PAGE)] = 0
    before: Annotated[int, Field(ge=1, le=2**62)] | None = None
    total: bool = False


_PAYLOADS: Mapping[str, type[BaseModel]] = {"skill": _Skill, "follow": _Watcher, "history": _Read}
_OF_HOST = ("devices", "history")
"""What is requested from a host rather than from one of its devices."""
_TOO_LARGE = EngineError(
    ErrorCode.HIERARCHY_TOO_LARGE,
    "The tree is larger than a message of the fleet",
    hint="Raise max_payload of the NATS server, or press r: one snapshot may be larger.",
)


class FleetHost:
    """Offers the devices of ``engine`` as those of host ``name``; screenshots are written below ``screenshots_dir`` only."""

    def __init__(self, engine: Engine, client: Connection, name: str, screenshots_dir: str) -> None:
        self.offered: dict[str, None] = {}
        self._snapshot = engine.validate(build.snapshot()).execution
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
        """The readers of the logs, by serial."""
        self._followers = Followers(engine, lambda _: None)
        self._leases: dict[tuple[str, str], tuple[asyncio.Event, asyncio.Task[None]]] = {}
        """By serial and client: the event that renews its lease of follow mode, and the task that ends it."""
        self._too_large: set[str] = set()
        """Devices whose newest tree is too large to be published."""

    async def run(self, ready: Callable[[], object]) -> None:
        """Offer the devices, and call ``ready``, until cancelled; what runs is ended, and its outcome answered, before it returns.

        Raises ``EngineError`` (FLEET_HOST_TAKEN) if another host of the fleet has this name.
        """
        await self._require_free_name()
        service = await add_service(
            self._client,
            name=subjects.SERVICE,
            version=__version__,
            description="Android devices of one host",
            metadata={"host": self._name},
            stats_handler=lambda _: {"dropped": self.dropped, "running": len(self._requests)},
        )
        await service.add_endpoint(
            name="hosts",
            subject=subjects.HOSTS,
            queue_group=f"host-{subjects.token(self._name)}",  # every host answers
            handler=self._say_name,
        )
        await service.add_endpoint(
            name="host",
            subject=subjects.host_subject(self._name),
            queue_group=subjects.token(self._name),
            handler=partial(self._take, ""),
        )
        watching = asyncio.create_task(self._engine.watch_devices(), name="devices of the host")
        try:
            with self._engine.events.subscribe() as events:
                await self._require_permissions()  # before many devices are refused, each with a message
                await self._offer(service, await list_devices(self._engine.server))
                await self._require_permissions()
                ready()
                without_typed = TypedTrees(self._engine.events.typed)
                while batch := await events.batch():
                    may_observe = self._may_observe()
                    for event in chain.from_iterable(map(without_typed.take, batch)):
                        if isinstance(event, DevicesChanged):
                            await self._offer(service, event.devices)
                        if may_observe:
                            await self._publish(event, events.dropped)
        finally:
            leases = [task for _, task in self._leases.values()]
            ending = [watching, *self._watchers.values(), *self._requests, *leases, *self._followers.tasks()]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            with suppress(NatsError, TimeoutError):
                await self._client.flush(1)
                await service.stop()

    async def _require_free_name(self) -> None:
        """Raise ``EngineError`` (FLEET_HOST_TAKEN) if the server knows another host of this name.

        A server with the documented permissions lets no host ask: a client that may send to a subject that it also receives, and answer
        what it receives, could name any subject as that of the answer, and send there. It has a user for each host instead.
        """
        inbox = self._client.new_inbox()
        answers = await self._client.subscribe(inbox)
        try:
            await self._client.publish(subjects.host_subject(self._name), reply=inbox)
            await self._client.flush(_FLUSH_SECONDS)
            if self._client.refusal:
                self._client.refusal = ""
                return
            message = await answers.next_msg(_FLUSH_SECONDS)
            taken = (message.headers or {}).get("Status") != subjects.NO_RESPONDERS
        except NatsError:  # silence: its host is suspended
            taken = True
        finally:
            with suppress(NatsError):
                await answers.unsubscribe()
        if taken:
            raise EngineError(ErrorCode.FLEET_HOST_TAKEN, f"The fleet has a host {self._name} already")

    async def _require_permissions(self) -> None:
        """Raise ``EngineError`` (FLEET_UNAVAILABLE) if the server refused the subscriptions of a host."""
        with suppress(NatsError):
            await self._client.flush(_FLUSH_SECONDS)
        if self._client.refusal:
            words = f"The NATS server does not permit this user to offer devices: {self._client.refusal}"
            raise EngineError(
                ErrorCode.FLEET_UNAVAILABLE,
                words,
                hint="Use the credentials of a host, and the --name that they permit.",
            )

    async def _offer(self, service: Service, listed: Sequence[DeviceEntry]) -> None:
        """Offer the devices that are new, in any state, and follow the log of those that are ready."""
        ready = {entry.serial for entry in listed if entry.usable}
        for serial in ready:
            if serial not in self._watchers or self._watchers[serial].done():
                watcher = asyncio.create_task(self._engine.watch_log(serial), name=f"log of {serial}")
                self._watchers[serial] = watcher
        for serial in self._watchers.keys() - ready:
            self._watchers.pop(serial).cancel()
        for serial in (entry.serial for entry in listed):
            if serial in self.offered or len(self.offered) >= _MAX_DEVICES:
                continue
            self.offered[serial] = None
            alias, tags = self._profile(serial)
            for name in {serial, alias} - {"", *self._names}:
                self._names.add(name)
                await service.add_endpoint(
                    name="device",
                    subject=subjects.device_subject(self._name, name),
                    queue_group=subjects.token(self._name),  # one of two hosts with one name gets a request
                    handler=partial(self._take, serial),
                    metadata={"serial": serial, "alias": alias, "tags": ",".join(tags)},
                )

    def _profile(self, serial: str) -> tuple[str, Sequence[str]]:
        """Return alias and tags of a device."""
        profiles = self._engine.settings.devices.items()
        return next(((alias, profile.tags) for alias, profile in profiles if profile.serial == serial), ("", ()))

    async def _say_name(self, request: Request) -> None:
        if subjects.is_reply(_reply(request)):
            await request.respond(encode({"host": self._name}))

    async def _describe(self) -> Mapping[str, Any]:
        """Return the devices in any state, the tags with their devices, and the locks."""
        locks = [lock.to_dict() for lock in await asyncio.to_thread(self._engine.locks)]
        about = {"host": self._name, "version": __version__, "at": time.time(), "locks": locks}
        devices = device_document(self._engine.settings, await list_devices(self._engine.server))
        tagged: dict[str, list[str]] = {}
        for profile in self._engine.settings.devices.values():
            for tag in profile.tags:
                tagged.setdefault(tag, []).append(profile.serial)
        return {"ok": True, **about, **devices, "tagged": tagged}

    # -- executions

    async def _take(self, serial: str, request: Request) -> None:
        """Start the work of a request: the next one for the same device is answered, or waits, beside it.

        One whose answer would go to another subject than an inbox is dropped: the host may send there what its caller may not.
        """
        if not subjects.is_reply(_reply(request)):
            return
        if len(self._requests) >= _MAX_REQUESTS:
            error = EngineError(ErrorCode.SERVER_BUSY, f"The host {self._name} is working on {_MAX_REQUESTS} requests")
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
        except asyncio.CancelledError as exc:  # the host leaves: the caller gets what is known
            cause = exc.__cause__
            answer = (cause if isinstance(cause, EngineError) else interruption("unknown")).to_answer()
        finally:
            alive.cancel()
        asked = subjects.untoken(request.subject.rpartition(".")[2])
        await self._answer(request, answer if asked == serial else {**answer, "alias": asked})

    async def _take_request(self, data: bytes, serial: str) -> Mapping[str, Any]:
        try:
            body = _Request.model_validate_json(data)
            options = body.run_options()
            given = _PAYLOADS[body.ask].model_validate(body.payload) if body.ask in _PAYLOADS else None
        except (ValidationError, ValueError, RecursionError) as exc:
            raise EngineError(
                ErrorCode.INVALID_BODY,
                f"The host cannot read the request: its version is {__version__}",
                hint="Use the same version on all computers of the fleet.",
            ) from exc
        if body.until is not None and time.time() > body.until:
            not_sent = {"broadcastDispatchStatus": "not_sent"}
            raise EngineError(ErrorCode.FLEET_UNAVAILABLE, "The request reached the host too late", extra=not_sent)
        if (body.ask in _OF_HOST) is bool(serial):
            why = "Only devices and history are requested from a host, all else from a device"
            raise EngineError(ErrorCode.INVALID_BODY, why)
        if body.ask == "devices":
            return await self._describe()
        engine = self._engine.under(Caller(name=f"fleet:{shown(body.caller, _MAX_CALLER)}"))
        match given:
            case _Skill():
                return await _run_skill(engine, serial, given, body, options)
            case _Watcher():
                engine.admit(build.snapshot(), "follow the screen")
                return self._follow(serial, given)
            case _Read():
                return {"ok": True, **await _read_history(engine, given)}
        if body.ask == "time":
            return {"ok": True, "time": time.time()}
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

    # -- follow mode

    def _follow(self, serial: str, watcher: _Watcher) -> Mapping[str, Any]:
        """Begin or renew the watcher's lease, or end it, and return the state of follow mode. Raises ``EngineError`` (SERVER_BUSY)."""
        key = serial, watcher.id
        found = self._leases.get(key)
        if watcher.leaves:
            if found is not None:
                found[1].cancel()
            return {"ok": True}
        if found is None:
            if len(self._leases) >= _MAX_WATCHERS:
                raise EngineError(ErrorCode.SERVER_BUSY, f"{_MAX_WATCHERS} clients follow devices of {self._name}")
            renewed = asyncio.Event()
            task = asyncio.create_task(self._hold(key, renewed), name=f"watcher of {serial}")
            found = self._leases[key] = renewed, task
            task.add_done_callback(lambda _: self._leases.pop(key))
        found[0].set()
        if watcher.painted:
            self._followers.fetched(serial)
        state = self._followers.state(serial)
        if serial in self._too_large:
            state = FollowState("failing", wait=PAINT_LIMIT, error=_TOO_LARGE)
        return {"ok": True, "follow": following(serial, state).data}

    async def _hold(self, key: tuple[str, str], renewed: asyncio.Event) -> None:
        """Follow a device until its watcher is silent."""
        with suppress(TimeoutError), self._followers.following(key[0]):
            while True:
                renewed.clear()
                async with asyncio.timeout(subjects.SILENT_SECONDS):
                    await renewed.wait()

    async def _stay_alive(self, request: Request) -> None:
        with suppress(NatsError):
            while True:
                await asyncio.sleep(subjects.ALIVE_SECONDS)
                await request.respond(headers={subjects.ALIVE: "1"})

    async def _answer(self, request: Request, answer: Mapping[str, Any]) -> None:
        data = encode(answer)
        size = max(1_024, self._client.max_payload - 4_096)
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        with suppress(NatsError):  # the caller, who gets no answer, knows that the outcome is unknown
            for number, part in enumerate(parts, 1):
                await request.respond(part, headers={subjects.PART: f"{number}/{len(parts)}"})

    # -- events

    def _may_observe(self) -> bool:
        """Return whether the policy of this host allows observing: what is published shows the screens."""
        with suppress(EngineError):
            admit(load_profile(self._engine.settings), self._snapshot)
            return True
        return False

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
            fits = len(tree) <= self._client.max_payload - 4_096
            (self._too_large.discard if fits else self._too_large.add)(event.device_id)
            headers[subjects.FACTS] = json.dumps(dict(next(stream_events(event)).data))
        for subject, data in messages:
            if not self._client.is_connected or len(data) > self._client.max_payload - 4_096:
                self.dropped += 1
                continue
            with suppress(NatsError):
                await self._client.publish(subject, data, headers=headers)


def _reply(request: Request) -> str:
    return request._msg.reply  # noqa: SLF001 -- nats-py has no other way to it


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


async def _read_history(engine: Engine, read: _Read) -> Mapping[str, Any]:
    history = history_of(engine, "read the history")
    if read.tree:
        return {"tree": await history.tree(read.tree)}
    if read.run:
        return await one_run(history, read.run)
    return await runs_page(history, read.filter, limit=read.limit, before=read.before, total=read.total)


async def _run_skill(
    engine: Engine, serial: str, skill: _Skill, body: _Request, options: RunOptions
) -> Mapping[str, Any]:
    """Run the script of a skill of this host's registry."""
    reach: Any = _given(body.how)
    settings = engine.settings.with_options(**reach)
    registry = await asyncio.to_thread(open_registry, settings.environment, settings.skills_registry or None)
    return await run_with_then(
        CallerExecutor(settings, partial(engine.execute, **reach)),
        registry,
        skill.id,
        options,
        device_id=serial,
        settings=settings,
        args=skill.args,
        timeout_ms=body.timeoutMs,
        expect_contains=skill.expectContains,
        guard=engine.guard,
        engine=engine,
    )
