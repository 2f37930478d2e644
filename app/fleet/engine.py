"""The engine of a console that is connected to a fleet: the devices of all its hosts, as ``host/serial``.

Events and trees are those that the hosts publish; devices and locks are polled. Everything else is requested from the host of
the device, the history too: it is that of the host whose device is chosen.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from httpx_sse import ServerSentEvent
from nats.errors import Error as NatsError
from pydantic import ValidationError

from clawperator.app.client import wire
from clawperator.app.client.checks import RemoteDoctor
from clawperator.app.client.engine import RemoteDevices
from clawperator.app.client.following import RemoteFollow, state_of
from clawperator.app.client.history import OneRun, RemoteHistory, Runs
from clawperator.app.client.stream import here, read_event, words_of
from clawperator.app.fleet import subjects
from clawperator.app.fleet.client import Fleet, HostState, fleet
from clawperator.app.serve import event_frames
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import AdbServerLost, DevicesChanged, LogAttached, SnapshotSeen
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.follow.follower import FollowState

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

    from clawperator.engine.history.records import RunSummary

HOSTS_SECONDS = 2.0
_OF_ALL = (event_frames.EVENT, event_frames.ENVELOPE, event_frames.LINK)
"""Events of every device; log lines only of the one that is watched."""
_MOST_MESSAGES, _MOST_BYTES = 4_096, 64 * 1024 * 1024
"""What may wait unread; later messages are dropped."""

RENEW_SECONDS = 1.0
"""Between two requests of follow mode, which also return its state; a painted tree is reported at once."""
_LEAVE_SECONDS = 1.0
_LOST = (ErrorCode.FLEET_UNAVAILABLE, ErrorCode.FLEET_NO_ANSWER, ErrorCode.DEVICE_NOT_FOUND)
_NUMBERS = 2**40
"""Numbers of runs that one host can have; above stands which host it is."""
_MOST_TREES = 10_000


class FleetEngine(RemoteDevices):
    """``ConsoleEngine`` over the fleet at ``servers``. Use as ``async with``; raises ``EngineError`` only."""

    def __init__(self, servers: str, *, receiver_package: str = "", read_only: bool = False) -> None:
        addresses = ",".join(server.strip().partition("://")[2] for server in servers.split(","))
        super().__init__(f"fleet {addresses}", receiver_package=receiver_package, read_only=read_only)
        self.history = FleetHistory(self)
        self.chosen = ""
        """The device whose log was watched last."""
        self._servers = servers
        self._hosts: Mapping[str, HostState] = {}
        self._late: set[str] = set()
        """Hosts that did not answer the newest request: one answer may be late, without a second one the host is gone."""
        self._listed: frozenset[str] = frozenset()
        """Devices that a host listed: what others publish is left out."""
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.fleet = await self._closing.enter_async_context(fleet(self._servers, lasting=True))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._closing.aclose()

    # -- devices

    async def devices(self) -> tuple[DeviceEntry, ...]:
        answered = {host.host: host for host in await self.fleet.hosts()}
        self._late = self._hosts.keys() - answered.keys() - self._late
        self._hosts = answered | {name: self._hosts[name] for name in self._late}
        found, aliases, locks = dict[str, DeviceEntry](), dict[str, str](), dict[str, Mapping[str, Any]]()
        for name, host in self._hosts.items():
            found |= {entry.serial: entry for entry in host.entries()}
            aliases |= {f"{name}/{serial}": f"{name}/{alias}" for serial, alias in host.aliases.items()}
            for lock in host.locks:
                serial = f"{name}/{lock.device_id}"
                locks[serial] = lock.here(host.skew, device_id=serial)
        self.aliases = {**self.aliases, **aliases}
        self._locks, self._listed = locks, frozenset(found)
        return tuple(found[serial] for serial in sorted(found))

    async def watch_devices(self) -> None:
        """Publish the device list until cancelled, and the events and trees of all devices of the hosts that answer."""
        shown: tuple[DeviceEntry, ...] | None = None
        watched: set[str] = set()
        while True:
            self._look_at_locks.clear()
            try:
                devices = await self.devices()
            except EngineError as exc:
                shown, self._locks = None, {}
                self.events.publish(AdbServerLost(reason=words_of(exc)))
            else:
                for host in self._hosts.keys() - watched:  # one by one: the server may permit some only
                    for name in (*_OF_ALL, event_frames.DEVICES):
                        await self._subscribe(subjects.event_subject(host, "*", name), self._take_event)
                    await self._subscribe(subjects.tree_subject(host, "*"), self._take_tree)
                    watched.add(host)
                if devices != shown:
                    shown = devices
                    self.events.publish(DevicesChanged(devices=devices))
            with suppress(TimeoutError):
                async with asyncio.timeout(HOSTS_SECONDS):
                    await self._look_at_locks.wait()

    async def watch_log(self, device_id: str) -> None:
        """Publish the lines of the device's log until cancelled."""
        self.chosen = device_id
        self.events.publish(LogAttached(device_id=device_id))
        subject = subjects.event_subject(*subjects.address(device_id), event_frames.LOG)
        lines = await self._subscribe(subject, self._take_event)
        try:
            await asyncio.Event().wait()
        finally:
            with suppress(NatsError):
                await lines.unsubscribe()

    async def _subscribe(self, subject: str, take: Callable[[Msg], Coroutine[Any, Any, None]]) -> Subscription:
        """Call ``take`` with the messages of ``subject``. Raises ``EngineError``."""
        try:
            return await self.fleet.client.subscribe(
                subject, cb=take, pending_msgs_limit=_MOST_MESSAGES, pending_bytes_limit=_MOST_BYTES
            )
        except NatsError as exc:
            raise EngineError(ErrorCode.FLEET_UNAVAILABLE, f"The fleet cannot be watched: {exc}") from exc

    async def _take_event(self, message: Msg) -> None:
        _, _, _, host, serial, kind = message.subject.split(".")
        name = subjects.untoken(kind)
        if name == event_frames.DEVICES:
            self._look_at_locks.set()
            return
        device = f"{subjects.untoken(host)}/{subjects.untoken(serial)}"
        if device not in self._listed:
            return
        with suppress(ValidationError):
            event = ServerSentEvent(event=name, data=message.data.decode("utf-8", "replace"))
            read = read_event(event, device, self._skew(device))
            if read is not None and not isinstance(read, wire.SnapshotEvent):
                self.events.publish(read)
                self._look_at_locks.set()

    async def _take_tree(self, message: Msg) -> None:
        device = "/".join(map(subjects.untoken, message.subject.split(".")[3:]))
        if device not in self._listed:
            return
        with suppress(ValidationError):
            facts = wire.read(wire.SnapshotEvent, (message.headers or {}).get(subjects.FACTS, ""))
            seen = SnapshotSeen(
                device_id=device,
                command_id=facts.command_id,
                step_id=facts.step_id,
                xml=message.data.decode("utf-8", "replace"),
                at=here(facts.at, self._skew(device)),
            )
            self.events.publish(seen)

    def _skew(self, device: str) -> float:
        host = self._hosts.get(device.partition("/")[0])
        return host.skew if host is not None else 0.0

    def follow(self, device_id: str, on_state: Callable[[FollowState], object]) -> RemoteFollow:
        return _FleetFollow(self.fleet, device_id, on_state)

    async def picture(self, *, device_id: str | None = None) -> bytes:
        return await self.fleet.picture(device_id or "")

    # -- executing

    async def _send(self, body: Mapping[str, Any]) -> wire.Result:
        names = {
            "receiverPackage": "receiver_package",
            "backend": "backend",
            "allowUnbind": "allow_unbind",
            "waitMs": "wait_ms",
        }
        how: Any = {name: body[key] for key, name in names.items() if key in body}
        options = RunOptions(then=body.get("then"))
        answer = await self.fleet.execute(body["execution"], body["deviceId"], options=options, **how)
        return _read(wire.Result, answer)

    # -- readiness

    def doctor(self, *, device_id: str | None = None, full: bool = False) -> RemoteDoctor:
        return RemoteDoctor(partial(self._checks, device_id or ""), full=full, backend=self.backend)

    async def _checks(self, device_id: str) -> wire.Checks:
        return _read(wire.Checks, await self.fleet.doctor(device_id, self.backend))

    @property
    def emulators(self) -> NoReturn:
        raise EngineError(
            ErrorCode.BACKEND_UNAVAILABLE,
            "The virtual devices of a fleet are managed on their hosts",
            hint="Run there: clawperator emulator list.",
        )


class FleetHistory(RemoteHistory):
    """The history of the host whose device is chosen. Runs of a host that is chosen later have larger numbers."""

    def __init__(self, engine: FleetEngine) -> None:
        self._engine = engine
        self._hosts: list[str] = []
        """Every choice of another host; its place is the upper part of its runs' numbers."""
        self._trees: dict[str, str] = {}
        """By digest: the hosts of the trees of runs that were read."""

    def _host(self) -> str:
        if not self._engine.chosen:
            raise EngineError(
                ErrorCode.NO_DEVICES, "The history is that of a device's host", hint="D chooses a device."
            )
        host = self._engine.chosen.partition("/")[0]
        if self._hosts[-1:] != [host]:
            self._hosts.append(host)
        return host

    def _named(self, run: RunSummary, place: int) -> RunSummary:
        device = f"{self._hosts[place]}/{run.device_id}" if run.device_id else ""
        return run._replace(number=place * _NUMBERS + run.number, device_id=device)

    async def page(self, **params: Any) -> Runs:
        host = self._host()
        place = len(self._hosts) - 1
        if before := params.get("before"):
            if before // _NUMBERS != place:
                return Runs(runs=[])  # the host was changed meanwhile: its runs are read from the first page
            params["before"] = before % _NUMBERS
        read = _read(Runs, await self._engine.fleet.history(host, **params))
        runs = [self._named(run, place) for run in read.runs]
        return read.model_copy(update={"runs": runs, "version": hash((place, read.version))})

    async def one(self, key: str) -> OneRun:
        self._host()
        place, key = len(self._hosts) - 1, str(key)
        if key.isdecimal() and (number := int(key)) < len(self._hosts) * _NUMBERS:
            place, key = number // _NUMBERS, str(number % _NUMBERS)
        read = _read(OneRun, await self._engine.fleet.history(self._hosts[place], run=key))
        run = read.run._replace(summary=self._named(read.run.summary, place))
        self._trees |= dict.fromkeys((tree.digest for tree in run.trees), self._hosts[place])
        self._trees = dict([*self._trees.items()][-_MOST_TREES:])
        return OneRun.model_construct(run=run)

    async def tree(self, digest: str) -> str:
        host = self._trees.get(digest) or self._host()
        return _read(_Tree, await self._engine.fleet.history(host, tree=digest)).tree


class _Tree(wire.Wire):
    tree: wire.Tree


class _FleetFollow(RemoteFollow):
    """Follow mode of the host of a device, which follows while requests renew that."""

    def __init__(self, fleet: Fleet, device_id: str, on_state: Callable[[FollowState], object]) -> None:
        super().__init__(device_id, on_state)
        self._fleet = fleet
        self._name = secrets.token_hex(8)

    async def run(self) -> None:
        painted = False
        try:
            while True:
                try:
                    answer = await self._fleet.follow(self.device_id, self._name, painted=painted)
                    self._say(state_of(_read(_Follow, answer).follow))
                except EngineError as exc:
                    self._say(FollowState("away" if exc.code in _LOST else "failing", error=exc))
                painted = False
                with suppress(TimeoutError):
                    async with asyncio.timeout(RENEW_SECONDS):
                        painted = await self._painted.wait()
                self._painted.clear()
        finally:
            with suppress(EngineError, TimeoutError):
                async with asyncio.timeout(_LEAVE_SECONDS):
                    await self._fleet.follow(self.device_id, self._name, leaves=True)


class _Follow(wire.Wire):
    follow: wire.FollowEvent


def _read(kind: type[wire.Kind], answer: Mapping[str, Any]) -> wire.Kind:
    try:
        return wire.read(kind, json.dumps(answer))
    except ValidationError as exc:
        raise EngineError(
            ErrorCode.FLEET_NO_ANSWER,
            f"The answer of {answer.get('deviceId')} cannot be read",
            extra={"broadcastDispatchStatus": "unknown"},
        ) from exc
