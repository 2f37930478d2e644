"""What the tools share: one engine, the trees that went by, who asks, and what was cut off on which device."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from clawperator.app.mcp.progress import Following, Progress
from clawperator.app.serve.screenshot_paths import with_confined_pictures
from clawperator.app.serve.service import CallerExecutor, Service
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.executions import build
from clawperator.engine.executions.drain import Drain
from clawperator.engine.follow.trees import LastTrees, SeenTree

if TYPE_CHECKING:
    from clawperator.engine.executions.attempt import ExecutionResult
    from clawperator.engine.executions.finish import RunOptions
    from clawperator.engine.facade import Engine
    from clawperator.engine.skills.play import Executor

SOURCE = "clawperator-mcp"
_REMEMBERED = 256


@dataclass(slots=True)
class Call:
    """One request of a client: the caller, where its progress is reported, and how long it waits for a locked device.

    ``ran`` is its last execution that came to its end.
    """

    progress: Progress
    caller: Caller = ANONYMOUS
    ran: ExecutionResult | None = None
    wait_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CutOff:
    """A call that its client gave up. The protocol allows no answer to it, so the next one on that device says so."""

    error: EngineError
    at: float

    def to_dict(self) -> dict[str, Any]:
        return {**self.error.to_dict(), "at": round(self.at, 3)}


class McpService(Service):
    """``pictures`` is the one folder that callers may have pictures written to; ``tell`` gets lines for people.

    ``trees`` and ``work`` may be shared with another server of the same process.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        pictures: str,
        trees: LastTrees | None = None,
        work: Drain | None = None,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        super().__init__(engine, trees, work)
        self.tell = tell
        self._pictures = pictures
        self._cut_off: OrderedDict[tuple[str, str], CutOff] = OrderedDict()

    # -- what may be done

    def admit(self, call: Call, payload: object, what: str) -> None:
        """Hold ``what``, which is done without an execution, against the policy as if it were ``payload``."""
        self.engine.under(call.caller).admit(payload, what)

    # -- executing

    async def execute(
        self,
        call: Call,
        payload: Mapping[str, Any],
        *,
        device_id: str | None = None,
        timeout_ms: object = None,
        options: RunOptions | None = None,
    ) -> ExecutionResult:
        """Run ``payload`` for ``call``, which hears of its steps.

        A cancelled call ends the waiting and nothing else: what was sent may still act, and the device stays taken until it
        has settled. ``cut_off`` says afterwards which it was.
        """
        call.ran = None
        with self.work.one():
            following = Following(self.engine.events, payload, call.progress, self._seen)
            async with following:
                try:
                    engine = self.engine.under(call.caller)
                    call.ran = await engine.execute(
                        with_confined_pictures(engine.guard, payload, self._pictures),
                        device_id=device_id or None,
                        timeout_ms=timeout_ms,
                        wait_ms=call.wait_ms,
                        options=options,
                    )
                except asyncio.CancelledError:
                    following.hear()
                    self._cut(call, following)
                    raise
        return call.ran

    def executor(self, call: Call) -> Executor:
        """What runs the executions of a compiled artifact for ``call``."""
        return CallerExecutor(self.engine.settings, partial(self.execute, call))

    def _seen(self, serial: str, xml: str, command_id: str) -> None:
        self.trees.note(serial, xml, command_id=command_id)

    def _cut(self, call: Call, following: Following) -> None:
        """The waiting for an execution ended before the execution did."""
        ended = (following.end or {}).get("error", {})
        names = {"executionId": ended.get("executionId", ""), "deviceId": following.device_id}
        error = interruption("sent" if following.dispatched else "not_sent", **{k: v for k, v in names.items() if v})
        error.details["commandId"] = following.command_id
        self.remember(call, following.device_id, error)

    def given_up(self, call: Call) -> None:
        """``call`` was cancelled. Where its execution had come to its end already, that has to be said, too."""
        if (ran := call.ran) is None:
            return
        error = EngineError(
            ErrorCode.INTERRUPTED,
            f"The command had run to its end ({ran.envelope['status']}) when the call was cancelled",
            details={"commandId": ran.envelope["commandId"]},
            extra={"broadcastDispatchStatus": "sent", "executionId": ran.execution_id, "deviceId": ran.device_id},
        )
        self.remember(call, ran.device_id, error)

    def remember(self, call: Call, device_id: str, error: EngineError) -> None:
        """A call about that device was cut off in the way that ``error`` says."""
        self.tell(f"A client cancelled a call{f' on {device_id}' if device_id else ''}: {error.message}")
        if not device_id:
            return  # nothing was dispatched
        self._cut_off[(call.caller.name, device_id)] = CutOff(error, time.time())
        if len(self._cut_off) > _REMEMBERED:
            self._cut_off.popitem(last=False)

    def cut_off(self, call: Call, device_id: str) -> CutOff | None:
        """The cut-off call on that device whose outcome has not been reported to this caller yet; ``None`` without one."""
        return self._cut_off.get((call.caller.name, device_id))

    def told(self, call: Call, device_id: str) -> None:
        """Forget the cut-off call: its outcome has been reported to the caller."""
        self._cut_off.pop((call.caller.name, device_id), None)

    # -- looking

    async def look(self, call: Call, device_id: str | None, max_age_ms: int = 0) -> tuple[str, SeenTree]:
        """Serial and tree of a device: one that went by and is not older than that, else one of our own."""
        self.admit(call, build.snapshot(), "read the UI tree")
        payload = build.single("mcp-snap", "snapshot_ui", action_id="snap", source=SOURCE)
        return await self.tree(partial(self.execute, call), payload, device_id, max_age_ms)
