"""Plans with gestures that the Operator app cannot perform: Android's ``input`` performs them, between broadcasts of the other steps."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import INPUT_BLOCKED_HINT, parse_failure
from clawperator.engine.adb.quote import device_command
from clawperator.engine.contracts.envelope import Envelope, StepResult
from clawperator.engine.contracts.execution import Execution
from clawperator.engine.contracts.limits import GESTURES, MIN_EXECUTION_TIMEOUT_MS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.backend import Outcome
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.keys import ended
from clawperator.engine.executions.trace import Trace
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.signals import ProgressSignal

Step = Mapping[str, Any]


def input_words(kind: str, params: Step) -> tuple[str, ...]:
    """Return the words of ``input`` for a ``swipe`` or ``drag``, which rests as long as a long click takes."""
    points = [str(params[end][axis]) for end in ("start", "end") for axis in ("x", "y")]
    name, duration = ("draganddrop", "moveDurationMs") if kind == "drag" else ("swipe", "durationMs")
    return (name, *points, str(params[duration]))


def refusal(output: str, exit_code: int) -> EngineError | None:
    """Return why ``input`` did not perform a gesture."""
    if not (failure := parse_failure(output, exit_code)):
        return None
    code = ErrorCode.GESTURE_UNSUPPORTED if "nknown command" in output else ErrorCode.GESTURE_FAILED
    hint = INPUT_BLOCKED_HINT if "INJECT_EVENTS" in output else None
    return EngineError(code, f"Android's input refused: {failure}", hint=hint)


async def run_in_parts(
    run: Callable[[Command, Trace], Awaitable[Outcome]],
    device: AdbDevice,
    command: Command,
    trace: Trace,
    gestures: Collection[str],
) -> Outcome:
    """Run the plan of ``command`` in order: ``input`` performs the steps ``gestures``, ``run`` sends the others. Its time limit holds for all.

    Raises ``EngineError`` as ``run`` does. The joined envelope has the steps up to the one that ended the plan.
    """
    plan, until = json.loads(command.wire), time.monotonic() + command.timeout_ms / 1000
    steps: list[StepResult] = []

    def joined(status: str, error: str | None = None, code: str | None = None) -> Outcome:
        whole = Envelope(command.command_id, command.task_id, status, tuple(steps), error, code)
        return Outcome(whole, tuple(trace.hierarchies))

    for part in _parts(plan["actions"], gestures):
        if (left := until - time.monotonic()) <= 0:
            return joined("failed", f"Agent command timed out after {command.timeout_ms}ms")
        if _is_one(part[0], gestures):
            error = await _perform(device, command.command_id, part[0], trace, left)
            steps.append(_result(part[0], error))
            if error is not None:
                trace.refusal = error
                return joined("failed", error.message, error.code.value)
            continue
        with trace.part() as part_trace:
            done = (await run(_part_of(command, plan, part, left), part_trace)).envelope
        steps += done.step_results
        if done.status != "success":
            return joined(done.status, done.error, done.error_code)
    return joined("success")


async def require_points(device: AdbDevice, execution: Execution) -> None:
    """Refuse clicks on points outside the screen, which the app accepts without an effect.

    A step before may turn the device, so only the first one is held to the screen as it is turned now. Nothing is refused where
    the size of the screen cannot be read. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED).
    """
    from clawperator.engine.executions.shell_input import screen_size
    from clawperator.engine.executions.touch import require_on_screen

    try:
        screen = await screen_size(device)
    except EngineError:
        return
    for index, action in enumerate(execution.actions):
        if (point := action.params.get("coordinate")) is not None:
            turned = screen if index == 0 else (max(screen), max(screen))
            require_on_screen(f"actions.{index}.params.coordinate", (point["x"], point["y"]), turned)


def _parts(actions: Sequence[Step], gestures: Collection[str]) -> Iterator[list[Step]]:
    """Yield each gesture alone, and what stands between two of them."""
    for by_input, group in groupby(actions, lambda action: _is_one(action, gestures)):
        part = list(group)
        yield from ([action] for action in part) if by_input else [part]


def _is_one(action: Step, gestures: Collection[str]) -> bool:
    return action["id"] in gestures and action["type"] in GESTURES  # a snapshot of the host's own may have the same id


def _part_of(command: Command, plan: Step, actions: Sequence[Step], seconds: float) -> Command:
    timeout_ms = max(MIN_EXECUTION_TIMEOUT_MS, round(seconds * 1000))
    sent = {**plan, "timeoutMs": timeout_ms, "actions": actions}
    wire = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    last = actions[-1]["id"], actions[-1]["type"]
    return command._replace(wire=wire, timeout_ms=timeout_ms, last_action=last)


async def _perform(
    device: AdbDevice, command_id: str, action: Step, trace: Trace, seconds: float
) -> EngineError | None:
    """Perform one gesture; return why it was not. It has its own lines in ``trace``, as the app's steps have."""
    from clawperator.engine.executions.shell_input import screen_size
    from clawperator.engine.executions.touch import require_on_screen

    def note(kind: str, **more: str) -> None:
        fields = {"id": action["id"], "type": action["type"], **more}
        text = f"{kind} {' '.join(f'{name}={value}' for name, value in fields.items())}"
        trace.note(ProgressSignal(kind, command_id, fields, text, LogEntry.create(text, tag="clawperator")))

    screen = await screen_size(device)
    try:
        for name in ("start", "end"):
            point = action["params"][name]
            require_on_screen(name, (point["x"], point["y"]), screen)
    except EngineError as exc:
        note("step-start")
        return EngineError(ErrorCode.GESTURE_FAILED, exc.message, hint=exc.hint, details=exc.details)
    trace.dispatched()
    trace.enter("run")
    note("step-start")
    words = device_command(["input", *input_words(action["type"], action["params"])])
    done = await ended(device.script(words, timeout=seconds))
    trace.enter("")
    error = refusal(f"{done.text}\n{done.error_text}", done.exit_code)
    if error is None:
        note("step-success", success="true")
    return error


def _result(action: Step, error: EngineError | None) -> StepResult:
    params = action["params"]
    sent = f"input {' '.join(input_words(action['type'], params))}"
    data = {name: json.dumps(params[name], separators=(",", ":")) for name in ("start", "end")}
    names = {"durationMs": "duration_ms", "moveDurationMs": "move_duration_ms"}
    data |= {names[name]: str(value) for name, value in params.items() if name in names}
    if error is None:
        data |= {"dispatch_method": "input", "dispatch_accepted": "true", "dispatched": sent}
    else:
        data |= {"dispatch_method": "none", "dispatch_accepted": "false"}
        data |= {"error": error.code.value, "message": error.message}
    return StepResult(action["id"], action["type"], error is None, data)
