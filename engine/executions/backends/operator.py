"""The Operator backend: a broadcast out, one result in the log back: a line, or chunk records."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from clawperator.engine.adb.android_user import am
from clawperator.engine.adb.connection import deadline
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.failures import TransportError
from clawperator.engine.adb.parse import parse_failure, refusal_hint
from clawperator.engine.adb.protocol import STDOUT
from clawperator.engine.adb.quote import device_command, device_script
from clawperator.engine.adb.trace import HIDDEN
from clawperator.engine.contracts.derived import derived_code
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.contracts.generation import by_input, fits_every_generation, is_newer, require_generation
from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES, RELEASE_PACKAGE, action_for, brand_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.backend import Diagnose, Diagnosis, Outcome
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.log_stream import (
    DeviceLog,
    LogStreams,
    log_parser,
    logcat_words,
    new_nonce,
    nonce_command,
)
from clawperator.engine.executions.outcome import RESULT_LOST_HINT, unreadable
from clawperator.engine.executions.probe import DeviceFacts, Probe, ask
from clawperator.engine.executions.trace import Trace
from clawperator.engine.logcat.correlated import CorrelatedLines
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.signals import (
    DeathSignal,
    EnvelopeSignal,
    HierarchySignal,
    ProgressSignal,
    RefusalSignal,
    Signal,
)
from clawperator.engine.logcat.stages import type_of_stage
from clawperator.engine.text.suggestions import command_line

_AFTERWARDS_SECONDS = 0.4
"""Added to the caller's time limit, for the log's buffer and the device's state together, whatever the device sends."""
_NO_TREE = (ErrorCode.UI_TREE_UNAVAILABLE, ErrorCode.SNAPSHOT_HIERARCHY_UNAVAILABLE)
_SILENCE_SECONDS = 1.0
"""Delay after the dispatch before the device's state is read, if the Operator is silent or retries."""
_STATE_SECONDS = 3.0
"""Time limit of that read; the envelope is awaited meanwhile."""
_NAMING_SECONDS = 0.5
"""How long an answer waits for the app's version, which is read once and beside the command."""
_STARTING_SECONDS = 0.7
"""Delay before the state of a service that Android is binding is read again."""


class OperatorBackend:
    """Dispatches to the Operator app ``package``: exactly that one if it was ``chosen``, else the one that is installed in its place.

    ``action`` is the broadcast action of the settings.
    """

    name = "operator"
    look_ms = 0

    def __init__(
        self, logs: LogStreams, probe: Probe, diagnose: Diagnose, *, package: str, chosen: bool, action: str
    ) -> None:
        self._logs = logs
        self._probe = probe
        self._diagnose = diagnose
        self._package = package
        self._chosen = chosen
        self._action = action
        self._by_input: Collection[str] = ()
        """The ids of the gestures that the app cannot perform."""

    @property
    def package(self) -> str:
        """The Operator app; the one of the device after ``check``."""
        return self._package

    async def check(self, device: AdbDevice, execution: Execution | None = None) -> Sequence[Mapping[str, str]]:
        """Check the installed app before the dispatch; return warnings about gestures that it leaves to Android's ``input``.

        Raises ``EngineError``: RECEIVER_NOT_INSTALLED if the app is known to be absent, EXECUTION_ACTION_UNSUPPORTED if it is
        too old for ``execution`` and would ignore parts of it, EXECUTION_VALIDATION_FAILED for a point outside the screen, which it
        would accept without an effect.
        """
        facts = await self._facts(device)
        warnings: Sequence[Mapping[str, str]] = ()
        if self._package in facts.packages:
            if execution is not None and not fits_every_generation(execution):
                version = await self.version(device)
                require_generation(execution, version)
                left = by_input(execution, version, facts.sdk)
                self._by_input = [action.id for action in left]
                warnings = [self._left_to_input(action, execution, version) for action in left]
        elif facts.listed:
            raise await self._absent(device, facts)
        if execution is not None and any("coordinate" in action.params for action in execution.actions):
            from clawperator.engine.executions.backends.gestures import require_points

            await require_points(device, execution)
        return warnings

    async def version(self, device: AdbDevice) -> str:
        await self._facts(device)
        return await self._probe.apk_version(device, self._package)

    def _left_to_input(self, action: Action, execution: Execution, version: str) -> Mapping[str, str]:
        message = f"{self._package} {version} cannot {action.type} on this device: Android's input does it"
        return {
            "code": "GESTURE_BY_INPUT",
            "path": f"actions.{execution.actions.index(action)}.type",
            "message": message,
        }

    async def _facts(self, device: AdbDevice) -> DeviceFacts:
        self._package, facts = await self._probe.app(device, self._package, chosen=self._chosen)
        return facts

    async def _absent(self, device: AdbDevice, facts: DeviceFacts) -> EngineError:
        """Return RECEIVER_NOT_INSTALLED with the Operator apps that are installed instead."""
        if not facts.packages and self._package not in OPERATOR_PACKAGES:
            facts = await ask(device, RELEASE_PACKAGE)
        from clawperator.engine.executions.compatibility import absence

        dump = (await device.shell(["dumpsys", "package", self._package])).text
        setup = f"{command_line('operator setup', device.serial)} --apk <path>"
        installed = list(facts.packages)
        detail = "Neither the release nor the debug variant is listed by the package manager."
        hint = f"Install the Operator app: `{setup}`; or pass --backend stock (HTTP, MCP: backend), which needs no app on the device."
        if installed:
            detail = f"{' and '.join(installed)} is installed."
            hint = f"Pass --receiver-package {installed[0]}, or install {self._package}."
        return EngineError(
            ErrorCode.RECEIVER_NOT_INSTALLED,
            f"The Operator app {absence(self._package, dump, f' on {device.serial}')}",
            hint=hint,
            details={
                "checkId": "readiness.apk.presence",
                "summary": f"{self._package} is not installed",
                "detail": detail,
                "installed": installed,
                "installCommand": setup,
            },
        )

    @asynccontextmanager
    async def attached(self, device: AdbDevice, trace: Trace) -> AsyncIterator[None]:  # noqa: ARG002 -- a backend's form
        facts = await self._facts(device)
        if (uid := facts.uid_of(self._package)) is None:
            yield  # each run selects its own lines
            return
        async with self._logs.open(device, facts, uid):
            yield

    async def run(self, device: AdbDevice, command: Command, trace: Trace) -> Outcome:
        if not self._by_input:
            return await self._run(device, command, trace)
        from clawperator.engine.executions.backends.gestures import run_in_parts

        async with self.attached(device, trace):
            return await run_in_parts(partial(self._run, device), device, command, trace, self._by_input)

    async def _run(self, device: AdbDevice, command: Command, trace: Trace) -> Outcome:
        trace.enter("attach")
        facts = await self._facts(device)
        run = _Run(command, device.serial, self._package, trace)
        async with self._logs.open(device, facts, facts.uid_of(self._package), run.command_id) as log:
            trace.tree_before = log.last_tree
            leave = log.listen(run)
            try:
                return await self._converse(run, log)
            finally:
                leave()

    async def _converse(self, run: _Run, log: DeviceLog) -> Outcome:
        read_before = log.reading
        naming = asyncio.create_task(self._name_newer(run, log.device), name="version of the app")
        broadcast = asyncio.create_task(self._broadcast(run, log.device), name=f"broadcast {run.command_id}")
        inquiry = _Inquiry(run, log.device, lambda: self._diagnose(log.device, self._package, timeout=_STATE_SECONDS))
        try:
            until = time.monotonic() + run.wait_seconds + _STATE_SECONDS
            try:
                async with asyncio.timeout(run.wait_seconds):
                    await run.answered.wait()
            except TimeoutError:
                run.arrived = log.transport(run.command_id)
                until = time.monotonic() + _AFTERWARDS_SECONDS
                inquiry.begin()  # while the log's buffer is read
            if run.may_be_in_buffer:
                await self._reread(run, log)
            if run.needs_reason:
                await inquiry.finish(min(_STATE_SECONDS, until - time.monotonic()))
            naming_seconds = _AFTERWARDS_SECONDS if run.is_unreadable else _NAMING_SECONDS
            await asyncio.wait([naming], timeout=max(0.0, min(naming_seconds, until - time.monotonic())))
        finally:
            await _stop(broadcast, *inquiry.close(), naming)
            run.ended(log.reading - read_before)
        if run.not_running:
            self._probe.forget(log.device.serial)  # the app may have been removed as well
        return run.outcome()

    async def _name_newer(self, run: _Run, device: AdbDevice) -> None:
        """Read the app's version beside the command: it may explain a missing result, and a result is only what we take it for."""
        with suppress(EngineError):
            version = await self._probe.apk_version(device, self._package)
            if is_newer(version):
                from clawperator.engine.executions.compatibility import newer_words

                run.newer, run.apk_version = newer_words(version, self._package), version

    async def _broadcast(self, run: _Run, device: AdbDevice) -> None:
        """Dispatch, after writing a nonce: log lines before it do not belong to this execution."""
        action = action_for(self._package, self._action)
        words = am("broadcast", "-a", action, "-p", self._package, "--es", "payload", run.wire)
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
            complaint = result.error_text or f"am broadcast ended with exit code {result.exit_code} and no output"
            run.dispatch_failed(complaint, f"failed: {complaint}", None)

    async def _reread(self, run: _Run, log: DeviceLog) -> None:
        """Read the buffer once more before giving up: it can hold a line that the live stream lost (android-facts 2e)."""
        if log.facts.sdk < 24 or math.isnan(log.attached_at):
            return
        words = [*logcat_words(log.facts), "-d", "-T", f"{log.attached_at:.6f}"]
        again = _Reread(run, OperatorLog(uid=log.uid, command_id="" if log.uid is not None else run.command_id))
        parser = log_parser(log.facts)
        with suppress(EngineError):
            async with (
                deadline(_AFTERWARDS_SECONDS, "logcat -d", serial=log.device.serial),
                log.device.stream(device_command(["exec", *words])) as stream,
            ):
                async for channel, data in stream:
                    if channel == STDOUT:
                        again.take(parser.feed(data))
            again.take(parser.finish())


class _Reread:
    """Feeds the buffer's entries to a run that the live stream has not answered."""

    def __init__(self, run: _Run, operator: OperatorLog) -> None:
        self._run = run
        self._operator = operator
        self._dispatched = False

    def take(self, entries: Sequence[LogEntry]) -> None:
        for entry in entries:
            if entry.message.strip() == self._run.nonce:
                self._dispatched = True
                self._run.restart()
            for signal in self._operator.push(entry):
                if self._dispatched:
                    self._run.on_signal(signal)


async def _stop(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Inquiry:
    """Reads the device's state at most once per execution: when the Operator is silent, or after a failure.

    The state of a service that is being started is read a second time.
    """

    def __init__(self, run: _Run, device: AdbDevice, diagnose: Callable[[], Awaitable[Diagnosis]]) -> None:
        self._run = run
        self._device = device
        self._diagnose = diagnose
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(_SILENCE_SECONDS, self._on_silence)

    def _on_silence(self) -> None:
        if self._run.is_silent:
            self.begin()

    def begin(self) -> asyncio.Task[None]:
        if self._task is None:
            self._task = asyncio.create_task(self._read(), name=f"state of {self._device.serial}")
        return self._task

    async def finish(self, seconds: float) -> None:
        """Return when the state is read, or cannot be read within ``seconds``."""
        self._timer.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.shield(self.begin())

    def close(self) -> Sequence[asyncio.Task[None]]:
        """Stop the timer; return the task for the caller to cancel."""
        self._timer.cancel()
        return [self._task] if self._task is not None else []

    async def _read(self) -> None:
        try:
            state = await self._diagnose()
            if state.starting and self._run.is_silent:
                await asyncio.sleep(_STARTING_SECONDS)
                state = await self._diagnose()
        except EngineError:
            return  # unknown
        self._run.learn(state)


class _Run:
    """One execution: collects log signals until there is one result, the envelope or an error."""

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
        self._heard = self._retrying = self._in_snapshot = False
        self._pid = 0
        """The Operator's process that accepted the command."""
        self._death = ""
        """The log line about the end of that process."""
        self._service_error: EngineError | None = None
        self._resumes_ms = 0
        self._incomplete: EngineError | None = None
        """Why the result cannot be put together; the device's buffer may still hold what is missing."""
        self.arrived: Mapping[str, int] | None = None
        """What of a result in chunk records arrived before the time limit."""
        self.newer = self.apk_version = ""
        """The warning about an app that is newer than all supported ones, and its version."""
        self.not_running = False
        """The accessibility service is known to be stopped, or the Operator's process to have ended."""

    # -- the dispatch

    def dispatching(self) -> None:
        self._status = "sent"
        self._trace.dispatched()
        self._dispatched_at = time.monotonic()

    def dispatch_unclear(self, complaint: str) -> None:
        """The connection broke during the dispatch: only the log can show whether the command arrived."""
        if not self._heard:
            self._status = f"error: {complaint}"

    def dispatch_failed(self, complaint: str, status: str, cause: EngineError | None) -> None:
        self._status = status
        missing = "Target package not found" in complaint or "does not exist" in complaint
        code = ErrorCode.RECEIVER_NOT_INSTALLED if missing else ErrorCode.BROADCAST_FAILED
        message, hint = f"Broadcast dispatch failed: {parse_failure(complaint, 1)}", refusal_hint(complaint)
        error = EngineError(code, message, hint=hint, extra=self._circumstances())
        error.__cause__ = cause
        self._fail(error)

    # -- the log

    def restart(self) -> None:
        """Discard the log lines: they are read again from the dispatch on."""
        self._armed = True
        self._pid = 0
        self._trace.forget_log()
        self._lines = CorrelatedLines(self.command_id)

    def on_nonce(self, nonce: str) -> None:
        if nonce == self.nonce and not self._armed:
            self._armed = True
            self._trace.enter("run")

    def on_signal(self, signal: Signal) -> None:
        if not self._armed or self._envelope is not None or self._error is not None:
            return
        if isinstance(signal, DeathSignal):
            self._process_ended(signal)
            return
        if isinstance(signal, RefusalSignal) or signal.command_id in (self.command_id, ""):
            self._heard, self._status = True, "sent"  # although the connection broke during the dispatch
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
        own = EngineError(error.code, error.message, details=error.details, extra=self._circumstances())
        own.__cause__ = error
        self._fail(own)

    def _take_envelope(self, signal: EnvelopeSignal) -> None:
        self._trace.raw.append(signal.raw)
        if signal.envelope is not None:
            self._envelope = signal.envelope
            self.answered.set()
            return
        error = unreadable(signal.problem, signal.transport)
        error.details = {"commandId": self.command_id, "bytesCollected": len(signal.raw.encode()), **error.details}
        error.extra |= self._circumstances()
        if signal.transport is None:
            self._fail(error)
            return
        self._incomplete = error
        self.answered.set()

    @property
    def may_be_in_buffer(self) -> bool:
        """Whether a result is missing that the device may have written."""
        return self._envelope is None and self._error is None and not self._death

    def _note(self, signal: ProgressSignal) -> None:
        self._lines.add(signal.entry)
        self._trace.note(signal)
        if signal.command_id:
            self._pid = signal.entry.pid
        self._retrying = signal.kind == "stage-retry"
        if signal.kind in ("stage-start", "stage-retry"):
            self._last_stage = signal.fields.get("id", self._last_stage)
            self._in_snapshot = type_of_stage(self._last_stage) == "snapshot_ui"

    def _process_ended(self, signal: DeathSignal) -> None:
        """End the wait: lines that the process wrote before can still arrive until the device's state is read."""
        if signal.pid == self._pid:
            self._death = self._death or signal.text
            self.not_running = True
            self.answered.set()

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

    # -- the device's state

    @property
    def is_silent(self) -> bool:
        """Whether the Operator is silent, retries a stage, or is taking a snapshot."""
        return not self.answered.is_set() and (not self._heard or self._retrying or self._in_snapshot)

    @property
    def needs_reason(self) -> bool:
        """Whether the state of the device may explain a missing envelope or a failure."""
        if self._envelope is None:
            return self._error is None and self._incomplete is None
        if self._envelope.status == "success":
            return False
        code = self._envelope.error_code or derived_code(self._envelope.error or "")
        return (
            code in (*_NO_TREE, ErrorCode.SERVICE_UNAVAILABLE)
            or time.monotonic() - self._dispatched_at >= _SILENCE_SECONDS
        )

    def learn(self, state: Diagnosis) -> None:
        """Add a warning for a screen that is off or locked; end the wait for a stopped service, unless the Operator has answered."""
        if not self._command.background and (warning := state.warning()) is not None:
            self._trace.warnings.append(warning)
        self._resumes_ms = state.resumes_ms
        error = None if self._command.background else state.error()
        if self._death:
            self._service_error = error
        elif error is not None and not self._heard and not self.answered.is_set():
            self.not_running = True
            error.details |= {"commandId": self.command_id, "taskId": self._command.task_id}
            error.extra |= self._circumstances()
            self._fail(error)

    # -- the answer

    def ended(self, reading: float) -> None:
        """End the run phase; ``reading`` is how many seconds the host spent on the log."""
        self._trace.enter("")
        self._trace.split("run", "parse", reading)

    def _fail(self, error: EngineError) -> None:
        if not self.answered.is_set():
            self._error = error
            self.answered.set()

    @property
    def is_unreadable(self) -> bool:
        """Whether there is no result that can be read, although nothing is known to be wrong."""
        malformed = self._error is not None and self._error.code is ErrorCode.RESULT_ENVELOPE_MALFORMED
        return malformed or (self._envelope is None and self._error is None and not self._death)

    def outcome(self) -> Outcome:
        if self._envelope is None or self._error is not None:
            error = self._error or self._incomplete or (self._ended_early() if self._death else self._timed_out())
            if self.newer and self.is_unreadable:
                error.hint = f"{self.newer}, and may answer otherwise. {error.hint}".strip()
                error.details["apkVersion"] = self.apk_version
            raise error
        if self.newer:
            message = f"{self.newer}, and may act and answer otherwise"
            self._trace.warnings.append({"code": ErrorCode.VERSION_INCOMPATIBLE.value, "path": "", "message": message})
        return Outcome(self._envelope, tuple(self._trace.hierarchies), self._resumes_ms)

    def _ended_early(self) -> EngineError:
        """Return SERVICE_UNAVAILABLE for a process that ended, with the doctor's remedy if the service is stopped."""
        details = {"commandId": self.command_id, "taskId": self._command.task_id, "reason": self._death}
        if self._last_stage:
            details["lastStage"] = self._last_stage
        known = self._service_error
        doctor = command_line("doctor", self._device_id, "--receiver-package", self._package)
        return EngineError(
            ErrorCode.SERVICE_UNAVAILABLE,
            f"The Operator app's process ended before it answered: {self._death}",
            hint=known.hint if known else f"Run `{doctor}`: Android may switch the service off after a crash.",
            details={**(known.details if known else {}), **details},
            extra=self._circumstances(),
        )

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
        if self.arrived is not None:
            details["transport"] = dict(self.arrived)
        silent = self._status == "sent" and not self._lines.lines
        doctor = command_line("doctor", self._device_id, "--receiver-package", self._package)
        silence = "The Operator app did not respond: its accessibility service or version may be the reason."
        hint = f"{silence} Run `{doctor}`." if silent else RESULT_LOST_HINT if self.arrived else ""
        message = f"No [{brand_of(self._package).word}-Result] envelope within {round(self.wait_seconds * 1000)}ms"
        if self.arrived is not None:
            arrived = "{receivedChunks} of {expectedChunks} records of it arrived".format(**self.arrived)
            message = f"{message}: the Operator app has run the plan, and {arrived}"
        return EngineError(
            ErrorCode.RESULT_ENVELOPE_TIMEOUT,
            message,
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
