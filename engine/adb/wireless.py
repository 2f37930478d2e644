"""Devices over the network: discovery, pairing (Android 11+), connecting and disconnecting, all through the adb server.

Requests use the server's socket, so no process has a pairing code in its arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Final

from clawperator.engine.adb.addresses import DEFAULT_DEVICE_PORT, parse_endpoint
from clawperator.engine.adb.discovery import (
    POLL_SECONDS,
    Discovery,
    Report,
    WirelessSupport,
    is_named,
    step,
)
from clawperator.engine.adb.failures import AdbTimeoutError, TransportError
from clawperator.engine.adb.mdns import (
    CONNECT,
    CONNECTABLE,
    MdnsService,
    is_announced_serial,
    is_network_serial,
)
from clawperator.engine.adb.pairing import Paired, QrOffer, broken_off, check_code, pair_outcome, unanswered
from clawperator.engine.adb.presence import DeviceState
from clawperator.engine.adb.protocol import is_unknown_service
from clawperator.engine.adb.reachability import (
    Connected,
    connect_outcome,
    connect_refusal,
    not_connected,
    nothing_found,
    state_refusal,
)
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import OnProgress, unreported

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.adb.server import AdbServer

__all__ = ["Connected", "MdnsService", "Paired", "QrOffer", "Wireless", "WirelessSupport"]

SCAN_SECONDS: Final = 120.0
"""For a person to find the scanner on the device and point it at the QR code."""
PAIR_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 20.0
"""The server gives up after 10 s on a device that accepts the connection but does not respond."""
FIND_SECONDS: Final = 10.0
"""For the announcement of a device that was just paired to be seen."""
SETTLE_SECONDS: Final = 3.0
"""For a device that was just disconnected to leave the server's list."""

_FIRM = frozenset({"device", "recovery", "sideload", "rescue", "bootloader", "host"})
"""States that waiting does not change."""
_WAITING = {
    "": "not listed yet",
    DeviceState.OFFLINE: "offline: waiting for a response",
    DeviceState.CONNECTING: "connecting",
    DeviceState.UNAUTHORIZED: "unauthorized: confirm the debugging dialog on the device",
    DeviceState.AUTHORIZING: "authorizing: confirm the debugging dialog on the device",
    DeviceState.UNKNOWN: "in an unknown state",
}
"""Transient states, with descriptions for progress messages."""


Acting = Callable[[str], AbstractContextManager[None]]
"""Permits the described action for as long as the block runs, or raises."""


def _anything(_: str) -> AbstractContextManager[None]:
    return nullcontext()


class Wireless(Discovery):
    """Pairs and connects through ``server``. Every coroutine may be cancelled at any point and leaves no task behind.

    All raise ``EngineError``: PAIRING_UNSUPPORTED (the server is too old, or discovers nothing), PAIRING_FAILED (wrong code, or
    no response), DEVICE_NOT_FOUND (no response or announcement), DEVICE_UNAUTHORIZED, DEVICE_OFFLINE,
    EXECUTION_VALIDATION_FAILED (address or code, ``details.path``), and the errors of ``AdbServer``. Times are in seconds.
    Stages of the job "wireless": discover, pair, find, connect.
    """

    def __init__(self, server: AdbServer, *, poll: float = POLL_SECONDS, acting: Acting = _anything) -> None:
        super().__init__(server, poll=poll)
        self._acting = acting

    # -- pairing -------------------------------------------------------------------------------------------------------

    async def pair(
        self, address: str, code: str, *, timeout: float = PAIR_SECONDS, on_progress: OnProgress = unreported
    ) -> Paired:
        """Pair with the device whose pairing dialog shows this ``host:port`` and this code."""
        target, secret = str(parse_endpoint(address)), check_code(code)
        with self._acting(f"pair with {target}"), step(on_progress, "pair", timeout, target):
            try:
                service = f"host:pair:{secret}:{target}"
                words = await self._server.ask(service, timeout=timeout, label=f"pair with {target}")
            except AdbTimeoutError:
                raise unanswered(target, timeout) from None
            except TransportError:
                raise broken_off(target) from None
            except EngineError as error:
                if "adb" not in error.details or is_unknown_service(error):
                    raise await self.explained(error, secret) from None
                words = str(error.details["adb"])
            return pair_outcome(words, target, secret)

    async def pair_by_qr(
        self, show: Callable[[QrOffer], object], *, timeout: float = SCAN_SECONDS, on_progress: OnProgress = unreported
    ) -> Paired:
        """Offer a QR code and pair with the device that scans it within ``timeout``.

        ``show`` gets the offer once it is known that the server can do it, and must draw ``offer.payload``.
        """
        with self._acting("pair by QR code"):
            await self.require()
            offer = QrOffer.fresh()
            show(offer)
            service, *_ = await self.discover(name=offer.name, timeout=timeout, on_progress=on_progress)
            return await self.pair(service.address, offer.password, on_progress=on_progress)

    async def connect_paired(
        self, paired: Paired, *, timeout: float = CONNECT_SECONDS, on_progress: OnProgress = unreported
    ) -> Connected | None:
        """Connect to a device that was just paired; ``None`` where it is not found, because its port differs.

        A newer server connects automatically; then that connection is used.
        """
        if not (await self.supported()).discovery:
            return None
        host = parse_endpoint(paired.address).host
        limit = min(timeout, FIND_SECONDS)
        with step(on_progress, "find", limit) as report:
            found = await self.first(lambda it: _belongs(it, paired.guid, host), limit, report)
            if not found:
                report("no announcement was found")
        if not found:
            return None
        named = [service for service in found if paired.guid and is_named(service, paired.guid)]
        return await self.connect_service((named or found)[0], timeout=timeout, on_progress=on_progress)

    # -- connecting ----------------------------------------------------------------------------------------------------

    async def connect(
        self, address: str, *, timeout: float = CONNECT_SECONDS, on_progress: OnProgress = unreported
    ) -> Connected:
        """Connect to ``host[:port]`` (default port 5555), or to an announced name, and wait until the device is usable.

        A device that waits for its dialog to be confirmed, or that is asleep, has until ``timeout``.
        """
        wanted = address.strip()
        with self._acting(f"connect to {wanted}"):
            if not is_announced_serial(wanted):
                target = str(parse_endpoint(wanted, default_port=DEFAULT_DEVICE_PORT))
                return await self._connect(await self._known_as(target), timeout, on_progress)
            for service in await self.services():
                if service.serial == wanted:
                    return await self._connect_service(service, timeout, on_progress)
            raise nothing_found(CONNECTABLE, wanted, 0)

    async def _known_as(self, target: str) -> str:
        """The serial of the device at this address where it is connected by its name already: it must not be listed twice."""
        listed = {entry.serial for entry in await self._server.devices()}
        if target in listed or not any(is_announced_serial(serial) for serial in listed):
            return target
        same = (service.serial for service in await self.services() if service.address == target)
        return next((serial for serial in same if serial in listed), target)

    async def connect_service(
        self, service: MdnsService, *, timeout: float = CONNECT_SECONDS, on_progress: OnProgress = unreported
    ) -> Connected:
        """Connect to an announced device by its name, as the server does automatically: by address, it would be listed twice.

        Servers without support for names get the address.
        """
        with self._acting(f"connect to {service.serial}"):
            return await self._connect_service(service, timeout, on_progress)

    async def _connect_service(self, service: MdnsService, timeout: float, on_progress: OnProgress) -> Connected:
        try:
            return await self._connect(service.serial, timeout, on_progress)
        except EngineError as error:
            if "resolve" not in str(error.details.get("adb", "")):
                raise
        return await self._connect(service.address, timeout, on_progress)

    async def _connect(self, target: str, timeout: float, on_progress: OnProgress) -> Connected:
        end = monotonic() + timeout
        with step(on_progress, "connect", timeout, target) as report:
            try:
                words = await self._server.connect_device(target, timeout=timeout)
            except AdbTimeoutError:
                raise await self._no_connection(target, f"{target}: no answer within {timeout:g} s") from None
            except EngineError as error:
                words = str(error.details.get("adb", ""))
                if error.code is not ErrorCode.DEVICE_NOT_FOUND or not words:
                    raise
            outcome = connect_outcome(words)
            if outcome is None:
                raise await self._no_connection(target, words)
            serial, already = outcome
            state = await self._follow(serial, lambda state: state in _FIRM, end - monotonic(), report)
            if state not in _FIRM:
                raise state_refusal(serial, state or await self._state(serial))
            return Connected(serial, state, already)

    async def _follow(self, serial: str, enough: Callable[[str], bool], seconds: float, report: Report) -> str:
        """The state of ``serial`` ("" for absent) once it is enough, or the last one after ``seconds``. Pushed by the server."""
        state = ""
        try:
            async with asyncio.timeout(max(seconds, 0.0)), aclosing(self._server.track_devices()) as lists:
                async for entries in lists:
                    state = next((entry.state for entry in entries if entry.serial == serial), "")
                    if enough(state):
                        break
                    report(_WAITING.get(state, state))
        except TimeoutError:
            pass
        return state

    async def _state(self, serial: str) -> str:
        return next((entry.state for entry in await self._server.devices() if entry.serial == serial), "")

    async def _no_connection(self, target: str, words: str) -> EngineError:
        """The server keeps listing a device that accepted the connection but did not respond: the hint says so."""
        state = await self._state(target)
        return state_refusal(target, state) if state and state not in _FIRM else connect_refusal(words, target)

    # -- disconnecting -------------------------------------------------------------------------------------------------

    async def disconnect(self, address: str) -> tuple[str, ...]:
        """End the connection to ``host[:port]`` or to a serial as adb lists it; the serials that are gone now."""
        with self._acting(f"disconnect {address.strip()}"):
            return await self._disconnect(address)

    async def _disconnect(self, address: str) -> tuple[str, ...]:
        wanted = address.strip()
        entries = await self._server.devices()
        if not any(entry.serial == wanted for entry in entries):
            if is_announced_serial(wanted):
                raise not_connected(wanted, _network_serials(entries))
            wanted = str(parse_endpoint(address, default_port=DEFAULT_DEVICE_PORT))
        elif not is_network_serial(wanted):
            raise EngineError(
                ErrorCode.EXECUTION_VALIDATION_FAILED,
                f"{wanted} is not connected over the network",
                hint="Unplug it; an emulator ends with `clawperator emulator stop`.",
                details={"path": "address"},
            )
        try:
            await self._server.disconnect_device(wanted)
        except EngineError as error:
            if error.code is ErrorCode.DEVICE_NOT_FOUND:
                raise not_connected(wanted, _network_serials(entries)) from error
            raise
        await self._follow(wanted, lambda state: not state, SETTLE_SECONDS, lambda _: None)
        return (wanted,)

    async def disconnect_all(self) -> tuple[str, ...]:
        """End every connection over the network, one by one: adb's own "everything" would hit emulators as well."""
        gone: list[str] = []
        with self._acting("disconnect every device of the network"):
            for serial in _network_serials(await self._server.devices()):
                try:
                    gone += await self._disconnect(serial)
                except EngineError as error:
                    if error.code is not ErrorCode.DEVICE_NOT_FOUND:  # disconnected already
                        raise
        return tuple(gone)


def _belongs(service: MdnsService, guid: str, host: str) -> bool:
    named = bool(guid) and is_named(service, guid)
    return service.kind == CONNECT and (named or service.endpoint.host == host)


def _network_serials(entries: Sequence[DeviceEntry]) -> tuple[str, ...]:
    return tuple(entry.serial for entry in entries if is_network_serial(entry.serial))
