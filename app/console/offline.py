"""The engine of a console with saved dumps: it has no device and refuses every action."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from clawperator.app.console.empty_states import NO_DEVICE_HERE
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.progress import OnProgress, unreported

if TYPE_CHECKING:
    from clawperator.engine.doctor.fix import PlannedFix


def _refuse(*_given: object, **_options: object) -> NoReturn:
    raise EngineError(
        ErrorCode.NO_DEVICES, NO_DEVICE_HERE, hint="Start clawperator console without --snapshot to work with a device."
    )


class SavedDumps:
    """``ConsoleEngine`` without a device."""

    use_backend = snapshot = picture = execute = force_stop = follow = operator_app = staticmethod(_refuse)
    emulators = wireless = property(_refuse)
    ids: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.events = EventBus()
        self.history = None

    async def devices(self) -> tuple[DeviceEntry, ...]:
        return ()

    def locks(self) -> Sequence[Any]:
        return ()

    async def watch_devices(self) -> None:
        await asyncio.Event().wait()

    async def watch_log(self, device_id: str) -> None:  # noqa: ARG002  # the shape of an engine
        await asyncio.Event().wait()

    async def record_seen(self) -> None:
        """Nothing to record."""

    def backend_of(self, device_id: str) -> str:  # noqa: ARG002  # the shape of an engine
        return "operator"

    def doctor(self, *, device_id: str | None = None, full: bool = False) -> SavedDumps:  # noqa: ARG002  # the shape of an engine
        return self

    def fixer(self) -> SavedDumps:
        return self

    def plan(self, checks: Sequence[Any], device_id: str) -> tuple[PlannedFix, ...]:  # noqa: ARG002  # the shape of an engine
        return ()

    async def run(self, fix: PlannedFix, on_progress: OnProgress = unreported) -> NoReturn:  # noqa: ARG002  # the shape of an engine
        _refuse()

    async def checks(self, *, only: str = "", since: str = "") -> AsyncIterator[Mapping[str, Any]]:  # noqa: ARG002  # the shape of an engine
        """Refuse the checks."""
        _refuse()
        yield {}
