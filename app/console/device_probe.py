"""Whether devices respond, and whether a device that was not ready is ready now. It knows no widget.

adb lists a device of the network as connected long after it vanished, and pushes nothing when the user switches the
Operator's service on. So the selected device is asked while it owes an answer, while it is known not to be ready, and on
a network after some seconds of silence.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from clawperator.app.console.console_engine import ConsoleEngine, Document, as_mapping
from clawperator.engine.adb.mdns import is_network_serial
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import (
    CommandProgress,
    EngineEvent,
    ExecutionFinished,
    ExecutionStarted,
    LogBatch,
    SnapshotSeen,
)

if TYPE_CHECKING:
    from clawperator.app.console.doctor.controller import DoctorController

PAUSE_SECONDS = 1.0
"""Between two probes."""
PATIENCE_SECONDS = 3.0
"""So long an execution may show no sign of life, and a probe may take."""
QUIET_SECONDS = 10.0
"""So long a device of the network may show no sign of life: adb does not notice that it vanished."""
_SHELL = "device.capability"
"""The check that asks nothing but the device's shell."""
_HANDSHAKE = "readiness.handshake"
_NO_ANSWER = frozenset({ErrorCode.RESULT_ENVELOPE_TIMEOUT.value, ErrorCode.DEVICE_SHELL_UNAVAILABLE.value})
_SIGNS = (ExecutionFinished, LogBatch, SnapshotSeen, CommandProgress)


class DeviceProbe:
    """``publish`` gets the serials of the devices that do not respond; ``recovered`` is called when the selected one does again.

    ``heed`` takes every event; ``run`` probes the selected device until cancelled.
    """

    def __init__(
        self,
        engine: ConsoleEngine,
        doctor: DoctorController,
        publish: Callable[[frozenset[str]], object],
        usable: Callable[[str], bool],
        recovered: Callable[[], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._doctor = doctor
        self._publish = publish
        self._usable = usable
        self._recovered = recovered
        self._clock = clock
        self.device_id = ""
        self.silent: frozenset[str] = frozenset()
        self._heard: dict[str, float] = {}
        """By serial: the last sign of life."""
        self._owing: set[str] = set()
        """Devices on which an execution of this program runs."""
        self._failed = ""
        """The device whose shell did not answer the last probe."""

    def heed(self, event: EngineEvent) -> None:
        """Note whether the device of ``event`` responds."""
        serial = event.device_id or ""
        if isinstance(event, ExecutionStarted):
            self._owing.add(serial)
            self._heard[serial] = self._clock()
            return
        failure = None
        if isinstance(event, ExecutionFinished):
            self._owing.discard(serial)
            failure = event.result.get("error")
        if isinstance(failure, Mapping):
            if failure.get("code") in _NO_ANSWER:
                self._note(serial, silent=True)
        elif isinstance(event, _SIGNS):
            self._heard[serial] = self._clock()
            self._note(serial, silent=False)

    async def run(self) -> None:
        """Probe the selected device until cancelled."""
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Probe the selected device if there is a reason."""
        if (check_id := self._due()) and await self._passes(check_id):
            self._recovered()

    def _due(self) -> str:
        """Return the check to probe the selected device with now, or an empty string."""
        serial = self.device_id
        if not serial:
            return ""
        if not self._usable(serial):
            self._owing.discard(serial)
            self._heard.pop(serial, None)
            self._note(serial, silent=False)
            return ""
        quiet = self._clock() - self._heard.setdefault(serial, self._clock())
        owes_answer = serial in self._owing and quiet > PATIENCE_SECONDS
        if serial in self.silent or owes_answer or (quiet > QUIET_SECONDS and is_network_serial(serial)):
            return _SHELL
        obstacle = self._obstacle()
        return "" if obstacle == _HANDSHAKE else obstacle  # which would occupy the device

    async def _passes(self, check_id: str) -> bool:
        """Run a check; return whether the device was not ready before and passes it now."""
        serial, found = self.device_id, {}
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                checks = self._engine.doctor(device_id=serial).checks(only=check_id)
                async with aclosing(cast("AsyncGenerator[Document, None]", checks)):
                    async for check in checks:
                        found = dict(as_mapping(check))
        except TimeoutError:
            found = {"code": ErrorCode.DEVICE_SHELL_UNAVAILABLE.value}
        except EngineError as exc:
            found = {"code": exc.code.value}
        if serial != self.device_id or not self._usable(serial):
            return False
        passed, failed_before = found.get("status") == "pass", self._failed == serial
        if passed or found.get("code") == ErrorCode.DEVICE_SHELL_UNAVAILABLE.value:
            self._failed = "" if passed else serial
            self._heard[serial] = self._clock()
            self._note(serial, silent=not passed)
        return passed and (failed_before or check_id == self._obstacle())

    def _obstacle(self) -> str:
        """Return the check because of which the selected device is not ready."""
        report = self._doctor.report
        if self._doctor.busy or report.device_id != self.device_id or report.stopped or not report.checks:
            return ""
        return report.verdict().check_id

    def _note(self, serial: str, *, silent: bool) -> None:
        if silent != (serial in self.silent):
            self.silent = self.silent | {serial} if silent else self.silent - {serial}
            self._publish(self.silent)
