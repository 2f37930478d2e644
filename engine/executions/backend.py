"""The interface of a backend, a way to run commands on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.contracts.execution import Execution
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.trace import Trace
from clawperator.engine.logcat.signals import CapturedHierarchy


class Outcome(NamedTuple):
    """A terminal envelope and its trees.

    ``resumes_ms``: of an Operator whose service is suspended, in how many milliseconds it should act again; 0 where nothing says so.
    """

    envelope: Envelope
    hierarchies: Sequence[CapturedHierarchy] = ()
    resumes_ms: int = 0


class Backend(Protocol):
    """Runs one command on a device whose lock the caller holds.

    ``run`` returns one terminal outcome or raises one ``EngineError``; it never repeats a side effect. It calls
    ``trace.dispatched()`` just before the first effect is sent to the device. ``check`` raises what can be known before
    the dispatch, and returns warnings.
    """

    @property
    def name(self) -> str: ...

    @property
    def package(self) -> str:
        """Return the Operator app that it uses or looks after: after ``check`` the one of the device."""
        ...

    @property
    def look_ms(self) -> int:
        """Return how long one snapshot may take here; 0 if it is quick, so that its reader sets the limit."""
        ...

    def attached(self, device: AdbDevice, trace: Trace) -> AbstractAsyncContextManager[object]:
        """Return a context in which several runs of the execution of ``trace`` share one connection to the device."""
        ...

    async def check(self, device: AdbDevice, execution: Execution | None = None) -> Sequence[Mapping[str, str]]: ...

    async def version(self, device: AdbDevice) -> str | None:
        """Return the version of the installed Operator app, empty if it cannot be read; ``None`` where no such app runs the plan."""
        ...

    async def run(self, device: AdbDevice, command: Command, trace: Trace) -> Outcome: ...


class Diagnosis(Protocol):
    """Why a device does not act, as the doctor reads it. ``starting``: Android is binding the Operator's service."""

    @property
    def starting(self) -> bool: ...

    @property
    def resumes_ms(self) -> int:
        """In how many milliseconds a service that is suspended should act again; 0 where nothing says so."""
        ...

    def error(self) -> EngineError | None:
        """Return SERVICE_UNAVAILABLE for a service that does not run."""
        ...

    def warning(self) -> Mapping[str, str] | None:
        """Return the warning about a screen that is off or locked."""
        ...


class Diagnose(Protocol):
    """Reads the state of a device and of the Operator app ``package`` within ``timeout`` seconds. Raises ``EngineError``."""

    async def __call__(self, device: AdbDevice, package: str, *, timeout: float) -> Diagnosis: ...
