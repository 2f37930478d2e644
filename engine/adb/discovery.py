"""mDNS discovery of devices on the network, through the adb server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final

from clawperator.engine.adb.mdns import PAIRING, MdnsService, discovery_problem, parse_services
from clawperator.engine.adb.protocol import is_unknown_service
from clawperator.engine.adb.reachability import no_discovery, nothing_found, too_old
from clawperator.engine.errors import EngineError
from clawperator.engine.progress import OnProgress, Stage, StageState, unreported

if TYPE_CHECKING:
    from clawperator.engine.adb.server import AdbServer

POLL_SECONDS: Final = 1.0
"""Between two requests for the announcements: the adb server does not push them."""
DISCOVER_SECONDS: Final = 10.0

Report = Callable[[str], object]
"""Reports progress of the running stage."""


@dataclass(frozen=True, slots=True)
class WirelessSupport:
    """The adb server's support. ``problem`` is the reason why it does not discover devices; empty where it does."""

    pairing: bool
    discovery: bool
    problem: str = ""


class Discovery:
    """Requests announcements from ``server``, every ``poll`` seconds while waiting for one. Errors as ``Wireless``."""

    def __init__(self, server: AdbServer, *, poll: float = POLL_SECONDS) -> None:
        self._server = server
        self._poll = poll

    async def supported(self) -> WirelessSupport:
        """Return the support shown by ``host:mdns:check``: a server older than pairing refuses it as an unknown service.

        ``host-features`` does not list pairing, and the protocol version has been 41 since 2018.
        """
        try:
            problem = discovery_problem(await self._server.ask("host:mdns:check"))
        except EngineError as error:
            if not is_unknown_service(error):
                raise
            return WirelessSupport(pairing=False, discovery=False, problem="it has no discovery service")
        return WirelessSupport(pairing=True, discovery=not problem, problem=problem)

    async def require(self) -> None:
        """Return where the server discovers devices. Raises PAIRING_UNSUPPORTED otherwise."""
        support = await self.supported()
        if not support.pairing:
            raise await self.too_old()
        if not support.discovery:
            raise no_discovery(support.problem)

    async def services(self) -> tuple[MdnsService, ...]:
        """The current announcements of every type, in the server's order."""
        try:
            return parse_services(await self._server.ask("host:mdns:services"))
        except EngineError as error:
            raise await self.explained(error) from error

    async def discover(
        self,
        kinds: Sequence[str] = (PAIRING,),
        *,
        name: str = "",
        timeout: float = DISCOVER_SECONDS,
        on_progress: OnProgress = unreported,
    ) -> tuple[MdnsService, ...]:
        """The services of these types (and of this name) as soon as there is one."""
        await self.require()
        with step(on_progress, "discover", timeout) as report:
            found = await self.first(lambda service: service.kind in kinds and is_named(service, name), timeout, report)
            if not found:
                raise nothing_found(kinds, name, timeout)
        return found

    async def first(
        self, wanted: Callable[[MdnsService], bool], timeout: float, report: Report
    ) -> tuple[MdnsService, ...]:
        """The first matches found; empty after ``timeout`` seconds."""
        end = monotonic() + timeout
        while True:
            if found := tuple(service for service in await self.services() if wanted(service)):
                return found
            left = end - monotonic()
            if left <= 0:
                return ()
            report("")
            await asyncio.sleep(min(self._poll, left))

    async def explained(self, error: EngineError, secret: str = "") -> EngineError:
        """Explain an unknown service as a server that is too old; remove the secret from any other error."""
        if is_unknown_service(error):
            return await self.too_old()
        if secret and secret in f"{error.message}{error.details}":
            words = str(error.details.get("adb", error.message)).replace(secret, "***")
            return EngineError(error.code, f"adb: {words}", hint=error.hint, details={"adb": words})
        return error

    async def too_old(self) -> EngineError:
        address = self._server.address
        version = await self._server.binary_version() if address.is_local else ""
        return too_old(str(address), version, await self._server.version())


def is_named(service: MdnsService, name: str) -> bool:
    """Whether the announcement has this name; a suffix such as ``name (2)`` is added where the name was taken.

    The names in question are random, so no other device's name has the same prefix.
    """
    return service.name.startswith(name)


@contextmanager
def step(on_progress: OnProgress, name: str, limit: float, about: str = "") -> Iterator[Report]:
    """One stage of the job "wireless": running until the body ends, then done or failed."""
    started, last = monotonic(), about

    def update(state: StageState, message: str = "") -> None:
        nonlocal last
        last = message or last
        on_progress(Stage("wireless", name, state, (monotonic() - started) * 1000, limit * 1000, message=last))

    update("running")
    try:
        yield lambda message: update("running", message)
    except BaseException:
        update("failed")
        raise
    update("done")
