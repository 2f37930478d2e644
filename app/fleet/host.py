"""``fleet join``: the devices of this host as a NATS micro service, under this host's policy and audit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from nats.errors import Error as NatsError
from nats.micro import add_service

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
from clawperator.engine.version import __version__

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.micro.request import Request
    from nats.micro.service import Service


_MAX_DEVICES = 1_024
"""Devices that one host offers; one that is gone is still answered for."""
_MAX_REQUESTS = 256
"""Requests in work, waits for the device included."""
_MAX_CALLER = 120
_REACH = frozenset(BackendOptions.__annotations__)
_OPTIONS = frozenset(field.name for field in fields(RunOptions)) - {"screenshot_overwrite"}


class FleetHost:
    """Offers the devices of ``engine`` as those of host ``name``; screenshots are written below ``screenshots_dir`` only."""

    def __init__(self, engine: Engine, client: Client, name: str, screenshots_dir: str) -> None:
        self.offered: dict[str, None] = {}
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
        if any(host["host"] == self._name for host in await ask_hosts(self._client)):
            raise EngineError(ErrorCode.FLEET_HOST_TAKEN, f"The fleet has a host {self._name} already")
        service = await add_service(
            self._client,
            name=subjects.SERVICE,
            version=__version__,
            description="Android devices of one host",
            metadata={"host": self._name},
            stats_handler=lambda _: {"dropped": self.dropped, "running": len(self._requests)},
        )
        for tag in {tag for profile in self._engine.settings.devices.values() for tag in profile.tags}:
            await service.add_endpoint(
                name="tag",
                subject=subjects.tag_subject(tag),
                queue_group=f"host-{subjects.token(self._name)}",  # every host answers
                handler=partial(self._list, tag),
                metadata={"tag": tag},
            )
        watching = asyncio.create_task(self._engine.watch_devices(), name="devices of the host")
        try:
            with self._engine.events.subscribe() as events:
                await self._offer(service, [entry.serial for entry in await self._engine.devices() if entry.usable])
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

    async def _offer(self, service: Service, serials: list[str]) -> None:
        """Offer the devices that are new, and follow the log of those that are there."""
        aliases = {profile.serial: (alias, profile.tags) for alias, profile in self._engine.settings.devices.items()}
        for serial in serials:
            if serial not in self._watchers or self._watchers[serial].done():
                watcher = asyncio.create_task(self._engine.watch_log(serial), name=f"log of {serial}")
                self._watchers[serial] = watcher
            if serial in self.offered or len(self.offered) >= _MAX_DEVICES:
                continue
            self.offered[serial] = None
            alias, tags = aliases.get(serial, ("", ()))
            await service.add_endpoint(
                name="device",
                subject=subjects.device_subject(self._name, serial),
                queue_group=subjects.token(self._name),  # one of two hosts with one name gets a request
                handler=partial(self._take, serial),
                metadata={"serial": serial, "alias": alias, "tags": ",".join(tags)},
            )
        for serial in self._watchers.keys() - set(serials):
            self._watchers.pop(serial).cancel()

    async def _list(self, tag: str, request: Request) -> None:
        tagged = [profile.serial for profile in self._engine.settings.devices.values() if tag in profile.tags]
        await request.respond(encode({"host": self._name, "serials": tagged}))

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
            answer = await self._execute(request.data, serial)
        except EngineError as exc:
            answer = exc.to_answer()
        except Exception as exc:  # noqa: BLE001 -- the caller needs an answer
            answer = EngineError(ErrorCode.UNKNOWN_RUNTIME_ERROR, f"{type(exc).__name__}: {exc}").to_answer()
        except asyncio.CancelledError as exc:  # the host leaves: the caller is told what is known
            cause = exc.__cause__
            answer = (cause if isinstance(cause, EngineError) else interruption("unknown")).to_answer()
        finally:
            alive.cancel()
        await self._answer(request, answer)

    async def _execute(self, data: bytes, serial: str) -> Mapping[str, Any]:
        try:
            body = json.loads(data)
            payload, options = (
                body["payload"],
                RunOptions(**{k: v for k, v in body["options"].items() if k in _OPTIONS}),
            )
            reach: Any = {key: value for key, value in body["how"].items() if key in _REACH and value is not None}
            caller = Caller(name=f"fleet:{shown(str(body['caller']), _MAX_CALLER)}")
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as exc:
            raise EngineError(ErrorCode.INVALID_BODY, "The request of the fleet cannot be read") from exc
        engine = self._engine.under(caller)
        how = {"device_id": serial, "timeout_ms": body.get("timeoutMs"), "options": options}
        if is_compiled(payload):
            executor = CallerExecutor(engine.settings, partial(engine.execute, **reach))
            report = await run_document(executor, payload, load_profile(engine.settings), **how)
            return report.to_dict()
        sent = with_confined_screenshots(engine.guard, payload, self._screenshots_dir)
        return (await engine.execute(sent, **how, **reach)).to_dict()

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
            messages.append((subjects.tree_subject(self._name, event.device_id), event.xml.encode(errors="replace")))
        for subject, data in messages:
            if not self._client.is_connected or len(data) > self._client.max_payload - 4_096:
                self.dropped += 1
                continue
            with suppress(NatsError):
                await self._client.publish(subject, data, headers=headers)
