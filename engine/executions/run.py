"""The part of an execution that needs the device lock: close apps, send the plan, take screenshots, finish the result."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clawperator.engine.adb.android_user import am, pm
from clawperator.engine.adb.device import SHELL_TIMEOUT, AdbDevice
from clawperator.engine.adb.parse import parse_packages, refusal_hint
from clawperator.engine.contracts.envelope import Envelope, difference
from clawperator.engine.contracts.execution import Execution
from clawperator.engine.contracts.issues import Warning_
from clawperator.engine.errors import EngineError, ErrorCode, not_writable
from clawperator.engine.executions.backend import Backend
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.failure_words import in_words
from clawperator.engine.executions.finish import RunOptions, Shot, finish
from clawperator.engine.executions.outcome import ExecutionOutcome, facts_of, outcome_of, suspended
from clawperator.engine.executions.screenshot import CaptureError, capture, target_problem, temporary_path
from clawperator.engine.executions.trace import Trace
from clawperator.engine.executions.validate import Validated

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_REFUSED_SCREENSHOT = "UNSUPPORTED_RUNTIME_SCREENSHOT"


@dataclass(frozen=True, slots=True)
class Finished:
    """The finished envelope as JSON data, and the outcome. ``facts`` are the result of a composition, ``then`` is the screen after it."""

    envelope: dict[str, Any]
    outcome: ExecutionOutcome
    warnings: Sequence[Mapping[str, Any]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    then: Mapping[str, Any] | None = None
    selection: Mapping[str, Any] = field(default_factory=dict)
    """How the host chose nodes, if it did."""


async def dispatch(
    backend: Backend,
    device: AdbDevice,
    validated: Validated,
    options: RunOptions,
    trace: Trace,
    *,
    closed: Mapping[str, bool],
) -> Finished:
    """Run ``validated`` on ``device``, whose lock the caller holds, with one command, after the host has ``closed`` apps.

    Raises ``EngineError`` without a usable envelope.
    """
    outcome = await backend.run(device, Command.of(validated), trace)
    _require_answer(outcome.envelope, validated.execution)
    shots = await take_screenshots(device, validated.execution, outcome.envelope, options, trace)
    trace.enter("finish")
    envelope, warnings = finish(
        outcome.envelope,
        validated.execution,
        snapshots=outcome.hierarchies,
        screenshots=shots,
        closed=closed,
        options=options,
    )
    steps = outcome_of(
        validated.execution.steps,
        trace.live_lines,
        envelope,
        device_status=outcome.envelope.status,
        carried_out=trace.carried_out,
    )
    if trace.refusal is not None and steps.error is not None:
        steps = replace(steps, error=facts_of(trace.refusal))
    else:
        steps = in_words(steps, validated.execution, {step["id"]: step["data"] for step in envelope["stepResults"]})
    if outcome.resumes_ms:
        steps = suspended(steps, outcome.resumes_ms)
    steps = await _with_apps(steps, validated.execution, device)
    steps, ambiguous = await _with_nodes(steps, validated.execution, trace, device.serial, outcome.envelope)
    return Finished(envelope, steps, [warning.to_dict() for warning in (*warnings, *ambiguous)])


def _require_answer(envelope: Envelope, execution: Execution) -> None:
    """Raise ``EngineError`` (RESULT_ENVELOPE_MALFORMED) if the envelope does not answer the plan step by step."""
    if reason := difference(envelope, execution.steps):
        details = {
            "commandId": execution.command_id,
            "reason": reason,
            "sent": [step_id for step_id, _ in execution.steps],
            "answered": [result.id for result in envelope.step_results],
        }
        message = f"The result envelope does not answer the plan: {reason}"
        raise EngineError(ErrorCode.RESULT_ENVELOPE_MALFORMED, message, details=details)


async def _with_nodes(
    outcome: ExecutionOutcome, execution: Execution, trace: Trace, device_id: str, envelope: Envelope
) -> tuple[ExecutionOutcome, Sequence[Warning_]]:
    """Return ``outcome`` with the nodes of its steps; trees are parsed in a thread."""
    from clawperator.engine.executions.targets import SeenTrees, wants_nodes, with_nodes

    trees, data = SeenTrees.of(trace), {step.id: step.data for step in envelope.step_results}
    if not wants_nodes(outcome, execution, trees, data):
        return outcome, ()
    if not trees.all and trees.missed is None:
        return with_nodes(outcome, execution, trees, device_id, data)
    return await asyncio.to_thread(with_nodes, outcome, execution, trees, device_id, data)


async def _with_apps(outcome: ExecutionOutcome, execution: Execution, device: AdbDevice) -> ExecutionOutcome:
    """Return ``outcome`` with what is installed of an application id that cannot be opened, or may mean it."""
    error, failed = outcome.error, outcome.failed_step
    if error is None or failed is None or failed.type != "open_app":
        return outcome
    if (
        error["code"] != ErrorCode.APP_NOT_FOUND and "No app found" not in error["message"]
    ):  # from 0.10 on the app's code is general
        return outcome
    from clawperator.engine.executions.apps import LaunchableApp, launchable_apps, nearest

    wanted = str(execution.actions[failed.index].params["applicationId"])
    try:
        listed = parse_packages((await device.script(pm("list packages"))).text)
    except EngineError:
        return outcome
    if wanted in listed:
        hint = f"{wanted} is installed, but has no launcher entry: open a URI of it. The entry of a television needs --backend stock."
        return replace(outcome, error={**error, "hint": hint})
    try:
        apps = await launchable_apps(device)
    except EngineError:
        apps = [LaunchableApp(name, "", None) for name in listed]
    if not (near := [app.application_id for app in nearest(apps, wanted)]):
        return outcome
    details = {**error.get("details", {}), "nearest": near}
    hint = f"Did you mean '{near[0]}'? {error['hint']}"
    return replace(outcome, error={**error, "hint": hint, "details": details})


async def close_apps(device: AdbDevice, execution: Execution, trace: Trace) -> dict[str, bool]:
    """Force-stop every ``close_app`` of the plan, in list order, before anything is dispatched (execution.md#close_app)."""
    closed: dict[str, bool] = {}
    for action in execution.actions:
        if action.type == "close_app":
            trace.enter("close")
            application_id, began = str(action.to_payload()["params"]["applicationId"]), time.time()
            await _force_stop(device, application_id)
            closed[application_id] = True
            trace.carried_out[action.id] = began, time.time()
            trace.stale_at = time.monotonic()
    return closed


async def _force_stop(device: AdbDevice, application_id: str) -> None:
    failed = f"close_app pre-flight force-stop failed for {application_id}"
    try:
        result = await device.shell(am("force-stop", application_id))
    except EngineError as exc:
        details = {**exc.details, "applicationId": application_id}
        raise EngineError(exc.code, f"{failed}: {exc.message}", details=details) from exc
    if result.exit_code != 0:
        raise EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            failed,
            hint=refusal_hint(result.error_text),
            details={
                "applicationId": application_id,
                "adbExitCode": result.exit_code,
                "stdout": result.stdout.decode(errors="replace"),
                "stderr": result.stderr.decode(errors="replace"),
            },
        )


async def take_screenshots(
    device: AdbDevice, execution: Execution, envelope: Envelope, options: RunOptions, trace: Trace
) -> dict[str, Shot]:
    """Take the screenshots that the app left to the host, after the plan; return them by step id.

    Together they may take as long as the plan.
    """
    left = {step.id for step in envelope.step_results if step.data.get("error") == _REFUSED_SCREENSHOT}
    shots: dict[str, Shot] = {}
    until = time.monotonic() + min(execution.timeout_ms / 1000, SHELL_TIMEOUT)
    for action in execution.actions:
        if action.type == "take_screenshot" and action.id in left:
            trace.enter("pictures")
            wanted = action.to_payload().get("params", {}).get("path")
            try:
                path = await asyncio.to_thread(picture_path, wanted, execution.command_id, action.id)
                seconds = max(0.0, round(until - time.monotonic(), 2))
                await capture(
                    device, path, overwrite=options.screenshot_overwrite, timeout=seconds, display=options.display
                )
            except (CaptureError, OSError) as exc:
                shots[action.id] = Shot(path=None, error=str(exc))
            else:
                shots[action.id] = Shot(path=path, error="")
    return shots


async def refuse_unwritable_pictures(execution: Execution, *, overwrite: bool) -> None:
    """Raise ``EngineError`` if a screenshot cannot be written: FILE_EXISTS, FILE_NOT_WRITABLE.

    ``details.path`` is the path in the payload. A full disk shows only later.
    """
    seen: set[str] = set()
    for index, action in enumerate(execution.actions):
        if action.type != "take_screenshot":
            continue
        wanted = action.to_payload().get("params", {}).get("path")
        try:
            path = await asyncio.to_thread(picture_path, wanted, execution.command_id, action.id)
        except OSError as exc:
            raise not_writable(str(exc.filename), exc) from exc
        problem = await asyncio.to_thread(target_problem, path, overwrite=overwrite)
        if problem is None and wanted and path in seen and not overwrite:
            problem = EngineError(ErrorCode.FILE_EXISTS, f"{path} is written by two steps", details={"file": path})
        if problem is not None:
            problem.details = {"path": f"actions.{index}.params.path", "actionId": action.id, **problem.details}
            raise problem
        seen.add(path)


def picture_path(wanted: str | None, command_id: str, step_id: str) -> str:
    """Return the requested file, with ``~`` expanded, or one of ``temporary_path``, from which ids cannot lead out. Raises ``OSError``."""
    if wanted:
        return os.path.expanduser(wanted)
    command, step = (_UNSAFE.sub("_", name)[:80] for name in (command_id, step_id))
    return temporary_path(f"{command}-{time.time_ns() // 1_000_000}-{step}")
