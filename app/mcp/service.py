"""State shared by the MCP tools: the engine, recent trees, and the cancelled calls of each device."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from clawperator.app.mcp.progress import ExecutionProgress, Progress
from clawperator.app.serve.screenshot_paths import with_confined_screenshots
from clawperator.app.serve.service import CallerExecutor, Service
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.contracts.read_only import refuse_acting
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.executions import build
from clawperator.engine.executions.composition import Composition
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.facade import BackendOptions
from clawperator.engine.follow.trees import SeenTree

if TYPE_CHECKING:
    from clawperator.app.fleet.client import Fleet
    from clawperator.engine.executions.attempt import ExecutionResult
    from clawperator.engine.facade import Engine
    from clawperator.engine.skills.artifact_run import Executor

SOURCE = "clawperator-mcp"
_MAX_CANCELLED = 256


@dataclass(slots=True)
class Call:
    """One request: its caller, its progress, its last finished execution, and the options of its executions."""

    progress: Progress
    caller: Caller = ANONYMOUS
    finished: ExecutionResult | None = None
    how: BackendOptions = field(default_factory=BackendOptions)

    def quiet(self) -> Call:
        """Return a call of the same caller whose progress is not reported: one of many devices."""
        return Call(Progress(_unreported), self.caller, how=self.how)


async def _unreported(at: float, total: float | None, message: str | None) -> None:
    """Take a report of progress that the client does not get."""


@dataclass(frozen=True, slots=True)
class CancelledCall:
    """A call that its client cancelled. The protocol allows no answer to it: the next answer about the device reports it."""

    error: EngineError
    at: float

    def to_dict(self) -> dict[str, Any]:
        return {**self.error.to_dict(), "at": round(self.at, 3)}


class McpService(Service):
    """The engine for MCP tools. Screenshots are written below ``screenshots_dir`` only; ``log_line`` gets diagnostics."""

    def __init__(
        self,
        engine: Engine,
        *,
        screenshots_dir: str,
        log_line: Callable[[str], object] = lambda _: None,
        fleet: Fleet | None = None,
    ) -> None:
        super().__init__(engine)
        self.fleet = fleet
        self.log_line = log_line
        self._screenshots_dir = screenshots_dir
        self._cancelled: OrderedDict[tuple[str, str], CancelledCall] = OrderedDict()

    # -- permissions

    def admit(self, call: Call, payload: object, operation: str) -> None:
        """Apply the caller's policy to an operation without an execution, as if it were ``payload``. Raises ``EngineError``."""
        self.engine.under(call.caller).admit(payload, operation)

    # -- executing

    async def execute(
        self,
        call: Call,
        payload: Mapping[str, Any] | Composition,
        *,
        device_id: str | None = None,
        timeout_ms: object = None,
        options: RunOptions | None = None,
    ) -> ExecutionResult:
        """Run ``payload`` for ``call`` and report its steps.

        Cancellation ends only the wait: a sent command may still act, and the device stays locked until it has settled.
        ``cancelled_call`` then returns the outcome.
        """
        call.finished = None
        with self.work.one():
            steps = payload.head if isinstance(payload, Composition) else payload
            progress = ExecutionProgress(self.engine.events, steps, call.progress, self.trees)
            progress.device_id = self.engine.settings.serial_of(device_id or "")
            async with progress:
                try:
                    engine = self.engine.under(call.caller)
                    call.finished = await engine.execute(
                        with_confined_screenshots(engine.guard, payload, self._screenshots_dir),
                        device_id=device_id or None,
                        timeout_ms=timeout_ms,
                        options=options,
                        **call.how,
                    )
                except asyncio.CancelledError:
                    progress.read_events()
                    self._remember_interrupted(call, progress)
                    raise
        return call.finished

    async def execute_remotely(
        self, call: Call, payload: Mapping[str, Any], device: str, options: RunOptions
    ) -> dict[str, Any]:
        """Run ``payload`` on ``host/serial`` of the fleet, if the policy of this host allows it as well."""
        assert self.fleet is not None
        self.admit(call, payload, "execute")
        if self.engine.settings.read_only:
            refuse_acting(self.engine.validate(payload).execution)
        with self.work.one():
            try:
                return await self.fleet.execute(payload, device, options=options, **call.how)
            except asyncio.CancelledError as exc:
                if isinstance(exc.__cause__, EngineError):
                    self.remember(call, device, exc.__cause__)
                raise

    def executor(self, call: Call) -> Executor:
        """Return the executor of a compiled artifact for ``call``."""
        return CallerExecutor(self.engine.settings, partial(self.execute, call))

    def _remember_interrupted(self, call: Call, progress: ExecutionProgress) -> None:
        """Remember an execution that was still running when its call was cancelled."""
        ended = (progress.end or {}).get("error", {})
        names = {"executionId": ended.get("executionId", ""), "deviceId": progress.device_id}
        error = interruption("sent" if progress.dispatched else "not_sent", **{k: v for k, v in names.items() if v})
        error.details["commandId"] = progress.command_id
        self.remember(call, progress.device_id, error)

    def remember_cancelled(self, call: Call) -> None:
        """Remember that ``call`` was cancelled, if its execution had already finished."""
        if (finished := call.finished) is None:
            return
        error = EngineError(
            ErrorCode.INTERRUPTED,
            f"The command had run to its end ({finished.envelope['status']}) when the call was cancelled",
            details={"commandId": finished.envelope["commandId"]},
            extra={
                "broadcastDispatchStatus": "sent",
                "executionId": finished.execution_id,
                "deviceId": finished.device_id,
            },
        )
        self.remember(call, finished.device_id, error)

    def remember(self, call: Call, device_id: str, error: EngineError) -> None:
        """Remember the outcome ``error`` of a cancelled call for that device."""
        self.log_line(f"A client cancelled a call{f' on {device_id}' if device_id else ''}: {error.message}")
        if not device_id:
            return  # nothing was dispatched
        self._cancelled[(call.caller.name, device_id)] = CancelledCall(error, time.time())
        if len(self._cancelled) > _MAX_CANCELLED:
            self._cancelled.popitem(last=False)

    def cancelled_call(self, call: Call, device_id: str) -> CancelledCall | None:
        """Return the cancelled call on that device that has not been reported to this caller yet."""
        return self._cancelled.get((call.caller.name, device_id))

    def forget_cancelled(self, call: Call, device_id: str) -> None:
        """Forget the cancelled call: its outcome has been reported."""
        self._cancelled.pop((call.caller.name, device_id), None)

    # -- trees

    async def with_whole_ids(self, call: Call, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return ``arguments`` with the whole id for each short one, and which became what.

        Those for a fleet stay as they are: its hosts read their own screens. So do a skill's: only it knows what its inputs mean.
        """
        if "devices" in arguments or "skillId" in arguments:
            return dict(arguments), {}
        read = partial(self.read_tree, call, arguments.get("deviceId"))
        return await self.whole_ids(arguments, read, plan="execution" in arguments)

    async def read_tree(
        self, call: Call, device_id: str | None, max_age_ms: int = 0, *, verify: bool = False
    ) -> tuple[str, SeenTree]:
        """Return the serial and a tree that is at most ``max_age_ms`` old: from the log, else a new one."""
        self.admit(call, build.snapshot(), "read the UI tree")
        payload = build.single("mcp-snap", "snapshot_ui", action_id="snap", source=SOURCE)
        execute = partial(self.execute, call, options=RunOptions(verify=verify))
        return await self.tree(execute, payload, device_id, 0 if verify else max_age_ms)
