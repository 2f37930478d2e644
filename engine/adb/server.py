"""The asyncio client of the adb *server*: devices, their presence, and connections to one of them.

>>> server = AdbServer.from_env()
>>> entries = await server.devices()
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, closing, suppress
from typing import Self

from clawperator.engine.adb.connection import AdbConnection, deadline
from clawperator.engine.adb.failures import broken
from clawperator.engine.adb.phones import Phones
from clawperator.engine.adb.presence import DeviceEntry, parse_devices
from clawperator.engine.adb.protocol import (
    DEFAULT_PORT,
    LOOPBACK,
    Address,
    encode_request,
    is_unknown_service,
    open_service,
    query,
    read_text,
    select_device,
    select_device_v1,
    server_address,
    transport_id_of,
    unreachable,
)
from clawperator.engine.adb.trace import AdbTrace
from clawperator.engine.errors import EngineError, ErrorCode

QUERY_TIMEOUT = 10.0
"""Seconds for one request to the server; the first may include starting it."""
_BACKOFF = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_RECHECK_SECONDS = 0.5
_PATIENCE = 3
"""Refused reconnects before the tracker starts a server: another version may just be replacing it."""


class AdbServer:
    """The address of an adb server and requests to it; holds no open connection.

    A server is started when nothing listens at a local address; no running server is stopped. Every coroutine takes
    ``timeout`` in seconds (``None``: unlimited), may be cancelled at any point, and raises ``EngineError``:
    ADB_NOT_FOUND, ADB_SERVER_FAILED, DEVICE_NOT_FOUND, DEVICE_OFFLINE, DEVICE_UNAUTHORIZED, DEVICE_SHELL_UNAVAILABLE,
    with :class:`~clawperator.engine.adb.failures.TransportError` where a conversation broke.
    """

    def __init__(
        self,
        host: str = LOOPBACK,
        port: int = DEFAULT_PORT,
        *,
        path: str = "",
        env: Mapping[str, str] | None = None,
        autostart: bool = True,
    ) -> None:
        self.address = Address(LOOPBACK if host == "localhost" else host, port, path)
        self._env = os.environ if env is None else env
        self._autostart = autostart
        self._starting = asyncio.Lock()
        self._features: dict[tuple[str, int], frozenset[str]] = {}
        self.phones = Phones()
        self._has_transport_ids = True
        self._pushed = 0
        self._listed: tuple[DeviceEntry, ...] | None = None
        self._seen: Callable[[tuple[DeviceEntry, ...]], object] = _unseen
        self.trace = AdbTrace()

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None, *, autostart: bool = True) -> Self:
        """The server that adb itself would use with these variables (default: this process's)."""
        host, port, path = server_address(os.environ if env is None else env)
        return cls(host, port, path=path, env=env, autostart=autostart)

    # -- requests to the server -------------------------------------------------------------------------------------------

    async def version(self, *, timeout: float | None = QUERY_TIMEOUT) -> int:
        """The server's protocol version, e.g. 41."""
        answer = await self.ask("host:version", timeout=timeout)
        try:
            return int(answer, 16)
        except ValueError:
            raise broken(f"adb server: unexpected version {answer[:40]!r}") from None

    async def devices(self, *, timeout: float | None = QUERY_TIMEOUT) -> tuple[DeviceEntry, ...]:
        """Every device that the server lists, usable or not."""
        async with deadline(timeout, "adb host:devices-l"):
            with self.trace.of("host:devices-l"), closing(await self.connect()) as connection:
                return await self._list(connection)

    async def _list(self, connection: AdbConnection) -> tuple[DeviceEntry, ...]:
        pushed = self._pushed
        entries = tuple(parse_devices(await connection.run(query("host:devices-l"))))
        if pushed == self._pushed:  # else this list may be older than the pushed one
            self._take(entries)
        return entries

    def _take(self, entries: tuple[DeviceEntry, ...]) -> None:
        self.phones.keep_only(entries)
        self._seen(entries)

    async def watch_devices(
        self, changed: Callable[[tuple[DeviceEntry, ...]], object], lost: Callable[[EngineError], object]
    ) -> None:
        """Call ``changed`` with every new device list, and ``lost`` when the server ends, until cancelled.

        Lists come from the server's pushes and from every other request of this client, such as that after a broken log. While
        there are network devices, the list is also requested twice a second: the server does not push that one has
        died (29.0.6).
        """

        def seen(entries: tuple[DeviceEntry, ...]) -> None:
            if entries != self._listed:
                self._listed = entries
                changed(entries)

        def server_lost(error: EngineError) -> None:
            self._listed = None
            lost(error)

        self._listed, self._seen = None, seen
        rechecking = asyncio.create_task(self._recheck_devices())
        try:
            async with aclosing(self.track_devices(reconnect=True, on_lost=server_lost)) as lists:
                async for _ in lists:
                    pass
        finally:
            self._seen = _unseen
            rechecking.cancel()

    async def _recheck_devices(self) -> None:
        from clawperator.engine.adb.mdns import is_network_serial

        while True:
            await asyncio.sleep(_RECHECK_SECONDS)
            if any(is_network_serial(entry.serial) for entry in self._listed or ()):
                with suppress(EngineError):
                    async with deadline(QUERY_TIMEOUT, "adb host:devices-l"):
                        with closing(await self.connect(start=False)) as connection:
                            await self._list(connection)

    async def connect_device(self, target: str, *, timeout: float | None = 30.0) -> str:
        """Connect to ``host:port`` over TCP and return adb's text, e.g. ``connected to …`` or ``already connected to …``.

        Raises DEVICE_NOT_FOUND for any other text: the server answers OKAY even where it failed.
        """
        answer = (await self.ask(f"host:connect:{target}", timeout=timeout)).strip()
        if not answer.startswith(("connected to", "already connected to")):
            details = {"deviceId": target, "adb": answer}
            raise EngineError(ErrorCode.DEVICE_NOT_FOUND, f"adb: {answer}", details=details)
        return answer

    async def disconnect_device(self, target: str, *, timeout: float | None = QUERY_TIMEOUT) -> str:
        return (await self.ask(f"host:disconnect:{target}", timeout=timeout)).strip()

    async def register_emulator(self, adb_port: int, *, timeout: float | None = QUERY_TIMEOUT) -> None:
        """Register an emulator on the odd port ``adb_port``: the server scans for emulators only when it starts (fact 5)."""
        async with deadline(timeout, "adb emulator registration"):
            with self.trace.of(f"host:emulator:{adb_port}"), closing(await self.connect()) as connection:
                await connection.send(encode_request(f"host:emulator:{adb_port}"))
                await connection.read()  # there is no response: the server closes when it is done

    async def track_devices(
        self, *, reconnect: bool = False, on_lost: Callable[[EngineError], None] | None = None
    ) -> AsyncGenerator[tuple[DeviceEntry, ...]]:
        """The whole device list, at once and whenever it changes, as the server pushes it.

        The end of the server is an error, unless ``reconnect``: then ``on_lost`` gets each loss and the stream continues with the
        next server, after growing pauses. Close it with ``contextlib.aclosing``.
        """
        attempt = 0
        while True:
            try:
                with closing(await self.connect(start=not reconnect or attempt in (0, _PATIENCE))) as connection:
                    async with deadline(QUERY_TIMEOUT, "adb host:track-devices-l"):  # the first list comes at once
                        await connection.run(open_service("host:track-devices-l"))
                        rows = await connection.run(read_text())
                    while True:
                        entries = tuple(parse_devices(rows))
                        attempt = 0
                        self._pushed += 1
                        self._take(entries)
                        yield entries
                        rows = await connection.run(read_text())
            except EngineError as error:
                self._forget()
                if not reconnect:
                    raise
                if attempt == 0 and on_lost:
                    on_lost(error)
            await asyncio.sleep(_BACKOFF[min(attempt, len(_BACKOFF) - 1)])
            attempt += 1

    async def ensure_running(self, *, timeout: float | None = QUERY_TIMEOUT) -> None:
        """Return when a server accepts connections, having started one if necessary."""
        async with deadline(timeout, "adb server start"):
            (await self.connect()).close()

    # -- one device ----------------------------------------------------------------------------------------------------

    async def device_features(self, serial: str, transport_id: int = 0) -> frozenset[str]:
        """The device's features (fact 4e), cached per transport: a reconnected device has another id."""
        key = (serial, transport_id)
        if key not in self._features:
            with closing(await self.connect(serial)) as connection:
                number = transport_id_of(serial)
                chosen = f"host-transport-id:{number}" if number else f"host-serial:{serial}"
                names = await connection.run(query(f"{chosen}:features", serial=serial))
            if not transport_id:
                return _feature_set(names)
            self._features = {known: value for known, value in self._features.items() if known[0] != serial}
            self._features[key] = _feature_set(names)
        return self._features[key]

    async def select(self, serial: str) -> tuple[AdbConnection, int]:
        """Open a connection to ``serial``; also return its transport id (0 on old servers). The caller closes it."""
        connection = await self.connect(serial)
        try:
            if self._has_transport_ids:
                return connection, await connection.run(select_device(serial))
            await connection.run(select_device_v1(serial))
        except EngineError as error:
            connection.close()
            if not (self._has_transport_ids and is_unknown_service(error)):
                raise
        except BaseException:
            connection.close()
            raise
        else:
            return connection, 0
        self._has_transport_ids = False
        return await self.select(serial)

    # -- connecting ----------------------------------------------------------------------------------------------------

    async def connect(self, serial: str = "", *, start: bool = True) -> AdbConnection:
        """Open a connection, starting a server where none listens; ``serial`` only labels later errors."""
        try:
            return await AdbConnection.open(self.address, serial)
        except OSError as exc:
            if not (start and self._may_start(exc)):
                raise unreachable(self.address, exc.strerror or str(exc)) from exc
        async with self._starting:
            return await self._start_and_connect(serial)

    def _may_start(self, failure: OSError) -> bool:
        """Only where nothing listens at all on this machine: a slow or overloaded server is left alone."""
        refused = isinstance(failure, ConnectionRefusedError | FileNotFoundError)
        return refused and self._autostart and self.address.is_local

    async def _start_and_connect(self, serial: str) -> AdbConnection:
        """Under the lock: a task that waited finds the server that the first one started."""
        try:
            return await AdbConnection.open(self.address, serial)
        except OSError:
            self._forget()
            from clawperator.engine.adb.binary import start_server  # tempfile and more are for this path only

            await start_server(self.address, self._env)
        try:
            return await AdbConnection.open(self.address, serial)
        except OSError as exc:
            raise unreachable(self.address, exc.strerror or str(exc)) from exc

    def _forget(self) -> None:
        """Forget what is known by transport ids: a new server counts them from 1."""
        self._features.clear()
        self.phones.forget()

    async def binary_version(self) -> str:
        """The version of the adb program that would start a server here, e.g. ``29.0.6-debian``; "" where unknown."""
        from clawperator.engine.adb.binary import program_version

        return await program_version(self._env)

    async def ask(self, service: str, *, timeout: float | None = QUERY_TIMEOUT, label: str = "") -> str:
        """The text that a host service returns. ``label`` replaces a service string that contains a secret in the log."""
        async with deadline(timeout, f"adb {label or service}"):
            with self.trace.of(label or service), closing(await self.connect()) as connection:
                return await connection.run(query(service))


def _unseen(_: tuple[DeviceEntry, ...]) -> None:
    """Ignore a device list: it is not watched."""


def _feature_set(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))
