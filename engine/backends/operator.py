"""The Operator app: a broadcast out, one ``[Clawperator-Result]`` line of the log back."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.failures import TransportError
from clawperator.engine.adb.quote import device_command, device_script
from clawperator.engine.adb.trace import HIDDEN
from clawperator.engine.backends.base import Outcome
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.contracts.execution import Execution
from clawperator.engine.contracts.generation import fits_every_generation, require_generation
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.trace import Trace
from clawperator.engine.logcat.correlated import CorrelatedLines
from clawperator.engine.logcat.operator_log import (
    EnvelopeSignal,
    HierarchySignal,
    OperatorLog,
    ProgressSignal,
    RefusalSignal,
    Signal,
)
from clawperator.engine.observe.log import DeviceLog, LogRoom, log_parser, logcat_words, new_nonce, nonce_command
from clawperator.engine.observe.probe import Probe, variants
from clawperator.engine.suggestions import command_line

_LOOK_AGAIN_SECONDS = 2.0
"""Beyond the time that the caller granted, so a device that hangs must not make it much longer."""


class OperatorBackend:
    """Dispatches to the Operator app ``package`` with the broadcast ``action``."""

    name = "operator"

    def __init__(self, logs: LogRoom, probe: Probe, *, package: str, action: str) -> None:
        self._logs = logs
        self._probe = probe
        self._package = package
        self._action = action

    async def check(self, device: AdbDevice, execution: Execution | None = None) -> Sequence[Mapping[str, str]]:
        """What the installed app cannot do, before anything is dispatched; returns warnings.

        Raises ``EngineError``: RECEIVER_NOT_INSTALLED where no broadcast could be received, EXECUTION_ACTION_UNSUPPORTED where
        the app is too old for ``execution`` and would ignore parts of it silently.
        """
        facts = await self._probe.facts(device, self._package)
        if self._package in facts.packages:
            if execution is not None and not fits_every_generation(execution):
                require_generation(execution, await self._probe.apk_version(device, self._package))
            return ()
        other = variants(self._package)[1]
        if other in facts.packages:
            message = (
                f"{self._package} is not installed on {device.serial}, {other} is: pass --receiver-package {other}"
            )
            return ({"code": ErrorCode.RECEIVER_VARIANT_MISMATCH, "path": "receiverPackage", "message": message},)
        raise EngineError(
            ErrorCode.RECEIVER_NOT_INSTALLED,
            f"The Operator app {self._package} is not installed on {device.serial}",
            details={
                "checkId": "readiness.apk.presence",
                "summary": f"{self._package} is not installed",
                "detail": "Neither the release nor the debug variant is listed by the package manager.",
                "installCommand": f"{command_line('operator setup', device.serial)} --apk <path>",
            },
        )

    async def run(self, device: AdbDevice, command: Command, trace: Trace) -> Outcome:
        trace.enter("attach")
        facts = await self._probe.facts(device, self._package)
        run = _Run(command, device.serial, self._package, trace)
        async with self._logs.open(device, facts, facts.uid_of(self._package), run.command_id) as log:
            leave = log.listen(run)
            try:
                return await self._converse(run, log)
            finally:
                leave()

    async def _converse(self, run: _Run, log: DeviceLog) -> Outcome:
        read_before = log.reading
        broadcast = asyncio.create_task(self._broadcast(run, log.device), name=f"broadcast {run.command_id}")
        try:
            async with asyncio.timeout(run.wait_seconds):
                await run.answered.wait()
        except TimeoutError:
            await self._look_again(run, log)
        finally:
            broadcast.cancel()
            await asyncio.gather(broadcast, return_exceptions=True)
            run.ended(log.reading - read_before)
        return run.outcome()

    async def _broadcast(self, run: _Run, device: AdbDevice) -> None:
        """Dispatch; what the log shows before the nonce of this dispatch is none of this execution's business."""
        words = ["am", "broadcast", "-a", self._action, "-p", self._package, "--es", "payload", run.wire]
        words.append("--receiver-foreground")
        try:
            run.dispatching()
            script = device_script("{log}; exec {broadcast}", log=nonce_command(run.nonce), broadcast=words)
            label = device_command([HIDDEN if word is run.wire else word for word in words])
            result = await device.script(script, timeout=run.wait_seconds, label=label)
        except TransportError as exc:
            run.dispatch_unclear(exc.message)
            return
        except EngineError as exc:
            run.dispatch_failed(exc.message, f"error: {exc.message}", exc)
            return
        if result.exit_code != 0:
            complaint = result.error_text or f"am broadcast ended with exit code {result.exit_code} and no words"
            run.dispatch_failed(complaint, f"failed: {complaint}", None)

    async def _look_again(self, run: _Run, log: DeviceLog) -> None:
        """Read the buffer once more before giving up: logd may have lost a live line that it still holds (android-facts 2e)."""
        if log.facts.sdk < 24 or math.isnan(log.attached_at):
            return
        words = [*logcat_words(log.facts), "-d", "-T", f"{log.attached_at:.6f}"]
        try:
            result = await log.device.shell(words, timeout=_LOOK_AGAIN_SECONDS)
        except EngineError:
            return
        parser = log_parser(log.facts)
        operator = OperatorLog(uid=log.uid, command_id="" if log.uid is not None else run.command_id)
        dispatched = False
        for entry in (*parser.feed(result.stdout), *parser.finish()):
            if entry.message.strip() == run.nonce:
                dispatched = True
                run.read_anew()
            for signal in operator.push(entry):
                if dispatched:
                    run.on_signal(signal)


class _Run:
    """One execution as the log tells it: collects until there is exactly one answer, the envelope or an error."""

    def __init__(self, command: Command, device_id: str, package: str, trace: Trace) -> None:
        self.command_id = command.command_id
        self.wire = command.wire
        self.nonce = new_nonce()
        self.wait_seconds = command.wait_seconds
        self.answered = asyncio.Event()
        self._command = command
        self._trace = trace
        self._device_id = device_id
        self._package = package
        self._armed = False
        self._dispatched_at = time.monotonic()
        self._status = "not_sent"
        self._envelope: Envelope | None = None
        self._error: EngineError | None = None
        self._lines = CorrelatedLines(command.command_id)
        self._last_stage = ""

    # -- the dispatch

    def dispatching(self) -> None:
        self._status = "sent"
        self._trace.dispatched()
        self._dispatched_at = time.monotonic()

    def dispatch_unclear(self, complaint: str) -> None:
        """The link broke while the command was on its way: it may have arrived, and only the log can tell."""
        self._status = f"error: {complaint}"

    def dispatch_failed(self, complaint: str, status: str, cause: EngineError | None) -> None:
        self._status = status
        missing = "Target package not found" in complaint or "does not exist" in complaint
        code = ErrorCode.RECEIVER_NOT_INSTALLED if missing else ErrorCode.BROADCAST_FAILED
        error = EngineError(code, f"Broadcast dispatch failed: {complaint}", extra=self._circumstances())
        error.__cause__ = cause
        self._fail(error)

    # -- the log

    def read_anew(self) -> None:
        """Everything comes by once more, from the dispatch on."""
        self._armed = True
        self._trace.forget_log()
        self._lines = CorrelatedLines(self.command_id)

    def on_nonce(self, nonce: str) -> None:
        if nonce == self.nonce and not self._armed:
            self._armed = True
            self._trace.enter("run")

    def on_signal(self, signal: Signal) -> None:
        if not self._armed or self.answered.is_set():
            return
        match signal:
            case EnvelopeSignal() if signal.command_id == self.command_id:
                self._take_envelope(signal)
            case HierarchySignal() if signal.command_id in (self.command_id, ""):
                self._trace.saw(signal.captured)
            case ProgressSignal() if signal.command_id in (self.command_id, ""):
                self._note(signal)
            case RefusalSignal():
                self._refused(signal)

    def on_closed(self, error: EngineError) -> None:
        told = EngineError(error.code, error.message, details=error.details, extra=self._circumstances())
        told.__cause__ = error
        self._fail(told)

    def _take_envelope(self, signal: EnvelopeSignal) -> None:
        self._trace.raw.append(signal.raw)
        if signal.envelope is not None:
            self._envelope = signal.envelope
            self.answered.set()
            return
        self._fail(
            EngineError(
                ErrorCode.RESULT_ENVELOPE_MALFORMED,
                f"The result envelope cannot be read: {signal.problem}",
                details={
                    "commandId": self.command_id,
                    "bytesCollected": len(signal.raw.encode()),
                    "reason": signal.problem,
                },
                extra=self._circumstances(),
            )
        )

    def _note(self, signal: ProgressSignal) -> None:
        self._lines.add(signal.entry)
        self._trace.note(signal)
        if signal.kind in ("stage-start", "stage-retry"):
            self._last_stage = signal.fields.get("id", self._last_stage)

    def _refused(self, signal: RefusalSignal) -> None:
        code = ErrorCode.EXECUTION_ACTION_UNSUPPORTED if signal.unsupported else ErrorCode.EXECUTION_VALIDATION_FAILED
        self._fail(
            EngineError(
                code,
                f"The Operator app refused the payload: {signal.reason}",
                hint="Update the Operator app, or leave out what its version does not know.",
                details={"source": "operator", "reason": signal.reason},
                extra=self._circumstances(),
            )
        )

    # -- the answer

    def ended(self, reading: float) -> None:
        """Nothing more is waited for; ``reading`` is how many seconds the host spent on the log meanwhile."""
        self._trace.enter("")
        self._trace.split("run", "parse", reading)

    def _fail(self, error: EngineError) -> None:
        if not self.answered.is_set():
            self._error = error
            self.answered.set()

    def outcome(self) -> Outcome:
        if self._error is not None:
            raise self._error
        if self._envelope is None:
            raise self._timed_out()
        return Outcome(self._envelope, tuple(self._trace.hierarchies))

    def _timed_out(self) -> EngineError:
        last_id, last_type = self._command.last_action
        details: dict[str, Any] = {
            "commandId": self.command_id,
            "taskId": self._command.task_id,
            "lastActionId": last_id,
            "lastActionType": last_type,
            "lastActionCaveat": "payload-last only; Android execution position is unknown",
            "elapsedMs": round((time.monotonic() - self._dispatched_at) * 1000),
            "timeoutMs": self._command.timeout_ms,
        }
        if self._last_stage:
            details["lastStage"] = self._last_stage
        silent = self._status == "sent" and not self._lines.lines
        doctor = command_line("doctor", self._device_id, "--receiver-package", self._package)
        silence = "The Operator app said nothing: its accessibility service or version may be the reason."
        hint = f"{silence} Run `{doctor}`." if silent else ""
        return EngineError(
            ErrorCode.RESULT_ENVELOPE_TIMEOUT,
            f"No [Clawperator-Result] envelope within {round(self.wait_seconds * 1000)}ms",
            hint=hint,
            details=details,
            extra=self._circumstances(),
        )

    def _circumstances(self) -> dict[str, Any]:
        return {
            "lastCorrelatedEvents": list(self._lines.lines),
            "broadcastDispatchStatus": self._status,
            "deviceId": self._device_id,
            "receiverPackage": self._package,
        }
