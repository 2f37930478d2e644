"""What every way to the device offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.contracts.execution import Execution
from clawperator.engine.executions.command import Command
from clawperator.engine.logcat.hierarchies import CapturedHierarchy


@dataclass(frozen=True, slots=True)
class Outcome:
    """A terminal envelope and what came with it. ``phases`` holds durations in milliseconds by phase name."""

    envelope: Envelope
    hierarchies: Sequence[CapturedHierarchy] = ()
    phases: Mapping[str, float] = field(default_factory=dict)


class Backend(Protocol):
    """Runs one command on one device whose lock the caller holds.

    ``run`` returns exactly one terminal outcome or raises exactly one ``EngineError``; it never repeats a side effect.
    It calls ``dispatched`` just before the first thing that may have an effect leaves for the device. ``check`` raises what can be known before anything is dispatched.
    """

    @property
    def name(self) -> str: ...

    async def check(self, device: AdbDevice, execution: Execution | None = None) -> Sequence[Mapping[str, str]]: ...

    async def run(self, device: AdbDevice, command: Command, dispatched: Callable[[], None]) -> Outcome: ...
