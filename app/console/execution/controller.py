"""The console's own executions: send one, wait for its result, report the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.app.console.console_engine import ConsoleEngine
from clawperator.app.console.execution.outcome import ended, refused
from clawperator.app.console.messages import NoticeUpdate, Update, WorkUpdate
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.executions.composition import Composition

SETTLE_SECONDS = 0.3
"""Between the end of an action and the snapshot that shows its effect."""


class ExecutionController:
    """One execution at a time.

    ``start`` runs a job unless one of that name runs; ``look`` requests a new tree.
    """

    def __init__(
        self,
        engine: ConsoleEngine,
        post: Callable[[Update], object],
        clock: WallClock,
        start: Callable[[str, Awaitable[None]], bool],
        look: Callable[[], object],
        *,
        settle_seconds: float = SETTLE_SECONDS,
        ended: Callable[[float], object] = lambda _: None,
    ) -> None:
        self._engine = engine
        self._post = post
        self._clock = clock
        self._start = start
        self._look = look
        self._settle_seconds = settle_seconds
        self._ended = ended
        self._job: asyncio.Task[None] | None = None
        self._stopped = False
        self.payload: Mapping[str, Any] | None = None
        """The payload whose result is pending."""
        self.device_id = ""
        self.since = 0.0
        self.refusal: EngineError | None = None
        """Why the last one has no result."""

    def execute(
        self,
        payload: Mapping[str, Any],
        device_id: str,
        what: str,
        succeeded: Callable[[], object] = lambda: None,
        composed: Composition | None = None,
    ) -> bool:
        """Send ``payload`` and report how it ended; return false while another one is pending.

        ``what`` is its name; ``succeeded`` is called when all steps did. ``composed`` is what runs a payload that no
        Operator takes.
        """
        return self._start("execution", self._run(payload, device_id, what, succeeded, composed))

    def stop_waiting(self) -> bool:
        """Stop waiting for the result; return whether one was pending. The device continues."""
        if self._job is None:
            return False
        self._stopped = True
        self._job.cancel()
        return True

    def force_stop(self, package: str, device_id: str) -> bool:
        """Stop an app on the device and report it; return false while another one is being stopped."""
        return self._start("force-stop", self._force_stop(package, device_id))

    async def _force_stop(self, package: str, device_id: str) -> None:
        try:
            await self._engine.force_stop(package, device_id=device_id)
        except EngineError as exc:
            self._post(NoticeUpdate(refused(f"force-stop {package}", exc, seconds=0.0, now=self._clock.now())))
        else:
            self._post(NoticeUpdate(Notice(Status.OK, f"{package} was stopped on {device_id}")))

    async def _run(
        self,
        payload: Mapping[str, Any],
        device_id: str,
        what: str,
        succeeded: Callable[[], object],
        composed: Composition | None,
    ) -> None:
        self._job, self._stopped, self.payload = asyncio.current_task(), False, payload
        began = self.since = self._clock.now()
        self.device_id, self.refusal = device_id, None
        self._post(WorkUpdate(f"{what}: waiting for the result…", began))
        try:
            look, notice = await self._outcome(payload, device_id, what, began, composed)
            self._post(NoticeUpdate(notice._replace(result=True)))
            if notice.status is Status.OK:
                succeeded()
        except asyncio.CancelledError:
            if self._stopped:
                self._post(NoticeUpdate(self._no_longer_waiting(payload, what, began)))
            raise
        finally:
            self._job = self.payload = None
            self._post(WorkUpdate(""))
            self._ended(self._clock.now() - began)
        if look:
            self._start("settle", self._settle())

    async def _outcome(
        self, payload: Mapping[str, Any], device_id: str, what: str, began: float, composed: Composition | None
    ) -> tuple[bool, Notice]:
        """Return whether the screen must be read to see the effect, and the outcome as a notice."""
        try:
            result = await self._engine.execute(composed or payload, device_id=device_id)
        except EngineError as exc:
            now, self.refusal = self._clock.now(), exc
            return False, refused(what, exc, seconds=now - began, now=now)
        looked = result.envelope["status"] == "success" and payload["actions"][-1]["type"] == "snapshot_ui"
        return not looked, ended(payload, what, result.envelope, result.duration_ms / 1000)

    async def _settle(self) -> None:
        """Request a tree once the screen has settled, unless another execution runs."""
        await asyncio.sleep(self._settle_seconds)
        if self.payload is None:
            self._look()

    def _no_longer_waiting(self, payload: Mapping[str, Any], what: str, began: float) -> Notice:
        until = self._clock.time_of_day(began + payload["timeoutMs"] / 1000, tenths=False)
        text = f"No longer waiting for {what}. The device may still act until {until}"
        return Notice(Status.WARN, text, ErrorCode.INTERRUPTED.value)
