"""Run a skill's script (skills.md#running-a-script). It takes no device lock; the executions that it requests do."""

from __future__ import annotations

import asyncio
import errno
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol
from uuid import uuid4

from clawperator.engine.contracts.limits import BACKENDS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.brief import brief, brief_view
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.follow.trees import tree_text
from clawperator.engine.guard import Guard
from clawperator.engine.process.child import CannotStartError, Ended, Stream, run_child
from clawperator.engine.process.output import BoundedOutput, LineSplitter, StreamSearch
from clawperator.engine.progress import unreported
from clawperator.engine.skills.artifact_run import screen_after
from clawperator.engine.skills.frames import SKILL_RESULT, Frame, parse_frames
from clawperator.engine.skills.registry import Registry
from clawperator.engine.skills.run_log import RunLog
from clawperator.engine.skills.script import Script, choose_script, own_command, script_environment
from clawperator.engine.skills.script_inputs import script_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.adb.device import AdbDevice
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.skills.artifact_run import Executor

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000
MAX_OUTPUT = 16 * 1024 * 1024
"""Bytes of stdout that are returned; the end of a longer output is only searched for frames."""
MAX_ERRORS = 1024 * 1024
"""Bytes of stderr that are returned: the last ones, which usually contain the reason of a failure."""
_TAIL = 64 * 1024
_ENDED = (
    ErrorCode.SKILL_EXECUTION_FAILED,
    ErrorCode.SKILL_EXECUTION_TIMEOUT,
    ErrorCode.SKILL_OUTPUT_ASSERTION_FAILED,
    ErrorCode.SKILL_RESULT_PARSE_FAILED,
    ErrorCode.SKILL_VERIFICATION_INDETERMINATE,
)
"""Errors of scripts that ran."""
NO_INPUTS: Mapping[str, object] = {}
_START_HINTS = {
    "ENOENT": "The interpreter in the script's first line does not exist.",
    "E2BIG": "Pass shorter arguments.",
    "EACCES": "Make the script executable: chmod +x.",
    "ENOEXEC": "This computer cannot run the script: use .js, .py or .sh, or name its interpreter in the first line (#!).",
}


class Devices(Protocol):
    """What a run needs of the engine: which Operator app is to be used on a device. Raises ``EngineError``."""

    async def device(self, device_id: str | None) -> AdbDevice: ...
    async def operator_package(self, device: AdbDevice) -> str: ...


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line of a running script; ``stream`` is ``stdout`` or ``stderr``, ``at`` in seconds since the epoch."""

    stream: Stream
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class SkillRun:
    """A successful run. ``timeout_ms`` and ``expected`` are the caller's, if any; ``warnings`` are those of ``run_warnings``.

    ``result`` is the one that the skill reported itself (``read_skill_result``), if it did.
    """

    skill_id: str
    output: str
    exit_code: int
    duration_ms: float
    timeout_ms: int | None
    expected: str | None
    truncated: bool
    frames: tuple[Frame, ...]
    warnings: tuple[dict[str, Any], ...] = ()
    result: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the success shape of cli.md#commands, with ``skillResult`` and ``frames`` if the script printed any."""
        answer: dict[str, Any] = {
            "skillId": self.skill_id,
            "output": self.output,
            "exitCode": self.exit_code,
            "durationMs": round(self.duration_ms),
        }
        if self.timeout_ms is not None:
            answer["timeoutMs"] = self.timeout_ms
        if self.expected is not None:
            answer["expectedSubstring"] = self.expected
        if self.truncated:
            answer["outputTruncated"] = True
        if self.result is not None:
            answer["skillResult"] = dict(self.result)
        if self.frames:
            answer["frames"] = [dict(frame) for frame in self.frames]
        if self.warnings:
            answer["warnings"] = list(self.warnings)
        return answer


async def run_skill(
    registry: Registry,
    skill_id: str,
    *,
    settings: Settings,
    device_id: str | None = None,
    args: Sequence[str] = (),
    inputs: Mapping[str, object] = NO_INPUTS,
    timeout_ms: int | None = None,
    expect_contains: str | None = None,
    validate: bool = True,
    on_line: Callable[[OutputLine], object] = unreported,
    guard: Guard | None = None,
    engine: Devices | None = None,
) -> SkillRun:
    """Run the script of ``skill_id`` with ``device_id`` (if given), its ``inputs`` and ``args`` as its arguments.

    ``validate`` checks the skill's files as ``skills validate --dry-run`` does and adds problems as ``warnings`` to the result
    or the error. ``on_line`` gets every line in the event loop; an exception from it ends the run. When this returns or raises, no
    process of the script's session is alive; a cancellation waits for that. ``guard`` identifies and records the caller.
    ``engine`` knows the Operator app of the device, which the script gets unless the settings name one.

    Raises ``EngineError``: REGISTRY_READ_FAILED, SKILL_NOT_FOUND, SKILL_SCRIPT_NOT_FOUND, SKILL_INPUT_MISSING, SKILL_INPUT_INVALID,
    SKILL_EXECUTION_FAILED, SKILL_EXECUTION_TIMEOUT, SKILL_OUTPUT_ASSERTION_FAILED, SKILL_RESULT_PARSE_FAILED,
    SKILL_VERIFICATION_INDETERMINATE; READ_ONLY and CAPABILITY_DENIED by policy.
    """
    limit = _limit(timeout_ms)
    entry = registry.get(skill_id)
    args = script_arguments(entry, inputs, args)
    what = f"run the script of {skill_id}"
    with (
        (guard or Guard(settings)).acting("run_skill", what, device_id=device_id or ""),
        registry.named_in_errors(skill_id),
    ):
        script = await asyncio.to_thread(choose_script, registry, skill_id, settings.environment)
        output = _Output(expect_contains, on_line, RunLog(settings, skill_id, device_id, args))
        if validate:
            from clawperator.engine.skills.validation import run_warnings

            output.warnings = await asyncio.to_thread(run_warnings, registry, skill_id)
        with own_command() as command, output.log.around(script.path):
            package = await _package(settings, device_id, engine)
            env = script_environment(
                settings, registry, skill_id, command, device_id, package=package, run_id=uuid4().hex
            )
            argv = [*script.command, *([device_id] if device_id else []), *args]
            duration_ms, result = await _run_script(entry, script, argv, env, limit=limit, output=output)
        return SkillRun(
            skill_id,
            output.stdout.beginning,
            0,
            duration_ms,
            timeout_ms,
            expect_contains,
            output.stdout.truncated,
            await asyncio.to_thread(output.frames),
            tuple(output.warnings),
            result,
        )


async def _run_script(
    entry: Mapping[str, Any],
    script: Script,
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    limit: int,
    output: _Output,
) -> tuple[float, Mapping[str, Any] | None]:
    """Return how long the script ran in milliseconds, and the result that it reports, if it does. Raises as ``_require_success``."""
    began = time.monotonic()
    try:
        ended = await run_child(argv, env, output.take, seconds=limit / 1000)
    except CannotStartError as exc:
        raise _not_started(entry["id"], script, exc.reason) from exc
    output.end()
    duration_ms = (time.monotonic() - began) * 1000
    result = await asyncio.to_thread(_require_success, entry, script, ended, limit, output)
    output.log.complete(duration_ms)
    return duration_ms, result


async def _package(settings: Settings, device_id: str | None, engine: Devices | None) -> str:
    """Return the Operator app that the script's calls use: the one of the settings, else that of their device; '' if unknown."""
    if settings.package_chosen or settings.backend != BACKENDS[0]:
        return settings.receiver_package
    if engine is None:
        return ""
    try:
        return await engine.operator_package(await engine.device(device_id or settings.device_id))
    except EngineError:  # the script may need no device, and its own calls report what is wrong
        return ""


async def run_with_then(
    executor: Executor,
    registry: Registry,
    skill_id: str,
    options: RunOptions,
    *,
    device_id: str | None = None,
    short: bool = False,
    **how: Any,
) -> dict[str, Any]:
    """Return the answer of ``run_skill``, ``short`` in its brief form; ``options.then`` adds the settled screen after the script.

    It is an execution of its own, as a script holds no device lock; it records the screen before the script as well. A failed
    script has its ``then`` too.
    Raises ``EngineError``: if the first snapshot is refused or fails, the script is not run.
    """
    given = device_id
    if options.then:
        first = await executor.execute(build.snapshot(), device_id=device_id, options=RunOptions(recorded=False))
        device_id, options = first.device_id, replace(options, then_since=tree_text(first.envelope))
    try:
        answer = {"ok": True, **(await run_skill(registry, skill_id, device_id=given, **how)).to_dict()}
    except EngineError as exc:
        if options.then and exc.code in _ENDED:
            then = await screen_after(executor, options, device_id)
            exc.extra["then"] = brief_view(then) if short else then
        raise
    if options.then:
        answer["then"] = await screen_after(executor, options, device_id)
    if short and "skillResult" in answer:
        from clawperator.engine.skills.skill_result import short as short_result

        answer["skillResult"] = short_result(answer["skillResult"])
    return brief(answer) if short else answer


def _require_success(
    entry: Mapping[str, Any], script: Script, ended: Ended, limit: int, output: _Output
) -> Mapping[str, Any] | None:
    """Return the result that the skill reports, if it does.

    Raises the error of a script that timed out, failed, reports no success or did not print the expected text.
    """
    skill_id = entry["id"]
    if ended.timed_out:
        raise EngineError(
            ErrorCode.SKILL_EXECUTION_TIMEOUT,
            f"Skill {skill_id} timed out after {limit}ms",
            details={"timeoutMs": limit},
            extra={"skillId": skill_id, "broadcastDispatchStatus": "unknown", **output.streams()},
        )
    result: Mapping[str, Any] | None = None
    try:
        if (result := output.result(skill_id)) is not None and (not ended.exit_code or result["status"] != "success"):
            from clawperator.engine.skills.skill_result import require_done

            require_done(skill_id, result, entry.get("contract"))
    except EngineError as exc:
        exc.extra |= {"skillId": skill_id, "exitCode": ended.exit_code, **output.streams()}
        exc.extra |= {"skillResult": result} if result is not None else {}
        if not ended.exit_code or exc.code is ErrorCode.SKILL_VERIFICATION_INDETERMINATE:
            raise
        if result is None:  # the failure of the script is probably the reason
            output.warnings.append({"code": exc.code.value, "path": "", "message": exc.message})
    if ended.exit_code:
        failed = _failed(skill_id, script, ended.exit_code, output)
        if result is not None:
            failed.hint, failed.extra["skillResult"] = "Read skillResult.", result
        raise failed
    if not output.expected.found:
        raise _not_printed(skill_id, output)
    return result


def _limit(timeout_ms: int | None) -> int:
    if timeout_ms is None:
        return DEFAULT_TIMEOUT_MS
    if not 0 < timeout_ms <= MAX_TIMEOUT_MS:
        message = f"timeoutMs of a skill must be an integer between 1 and {MAX_TIMEOUT_MS}"
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            message,
            hint="Pass a whole number of milliseconds.",
            details={"path": "timeoutMs"},
        )
    return timeout_ms


class _Output:
    """Collects, searches and reports a script's output."""

    def __init__(self, expected: str | None, on_line: Callable[[OutputLine], object], log: RunLog) -> None:
        self.stdout, self.stderr = BoundedOutput(MAX_OUTPUT, _TAIL), BoundedOutput(0, MAX_ERRORS)
        self.wanted = expected
        self.expected = StreamSearch(expected or "")
        self.log = log
        self.warnings: list[dict[str, Any]] = []
        self._on_line = on_line
        self._lines: dict[Stream, LineSplitter] = {"stdout": LineSplitter(), "stderr": LineSplitter()}

    def take(self, stream: Stream, data: bytes) -> None:
        """Process a chunk from ``run_child``."""
        if stream == "stdout":
            self.stdout.add(data)
            self.expected.add(data)
        else:
            self.stderr.add(data)
        self._report(stream, self._lines[stream].add(data))

    def end(self) -> None:
        """Report the last lines, which may have no line end."""
        for stream, lines in self._lines.items():
            self._report(stream, lines.end())

    def _report(self, stream: Stream, texts: Iterator[str]) -> None:
        now = time.time()
        for text in self.log.output(stream, texts):
            self._on_line(OutputLine(stream, text, now))

    def streams(self) -> dict[str, Any]:
        """Return the output for an error (errors.md#shape)."""
        answer: dict[str, Any] = {"stderr": self.stderr.ending, "stdout": self.stdout.beginning}
        if self.stdout.truncated:
            answer["outputTruncated"] = True
        if self.stderr.total > MAX_ERRORS:
            answer["stderrTruncated"] = True
        if self.warnings:
            answer["warnings"] = self.warnings
        return answer

    def result(self, skill_id: str) -> dict[str, Any] | None:
        """Return the result that the skill reports, if it does. Raises ``SKILL_RESULT_PARSE_FAILED``."""
        text = self.stdout.beginning
        if self.stdout.truncated:
            text = "\n".join((text, self.stdout.ending.partition("\n")[2]))
        if not any(mark in text for mark in SKILL_RESULT):
            return None
        from clawperator.engine.skills.skill_result import read_skill_result

        return read_skill_result(text, skill_id)

    def frames(self) -> tuple[Frame, ...]:
        """Return the frames of the kept beginning, and those of the end, whose line numbers are unknown."""
        found = parse_frames(self.stdout.beginning)
        if not self.stdout.truncated:
            return found
        ending = self.stdout.ending.partition("\n")[2]  # the first line of it may be half a line
        behind = [{key: value for key, value in frame.items() if key != "line"} for frame in parse_frames(ending)]
        return (*(frame for frame in found if frame["kind"] != "done"), *behind)


def _not_started(skill_id: str, script: Script, reason: OSError | ValueError) -> EngineError:
    name, text = "EINVAL", str(reason)
    hint: str | None = "Arguments must not contain NUL characters."
    if isinstance(reason, OSError):
        name, text = errno.errorcode.get(reason.errno or 0, type(reason).__name__), reason.strerror or text
        hint = script.windows_hint() or _START_HINTS.get(name)
    return EngineError(
        ErrorCode.SKILL_EXECUTION_FAILED,
        f"Skill {skill_id} {name}: {text}",
        hint=hint,
        details={"cause": name, "path": script.path},
        extra={"skillId": skill_id, "exitCode": 1},
    )


def _failed(skill_id: str, script: Script, exit_code: int, output: _Output) -> EngineError:
    """Return the error of a failed script; the exit code of a signal is 128 plus its number, as in shells."""
    details = {}
    if exit_code < 0:
        details["signal"] = _signal_name(-exit_code)
        exit_code = 128 - exit_code
    return EngineError(
        ErrorCode.SKILL_EXECUTION_FAILED,
        f"Skill {skill_id} exited with code {exit_code}",
        hint=script.windows_hint() or None,
        details=details,
        extra={"skillId": skill_id, "exitCode": exit_code, **output.streams()},
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _not_printed(skill_id: str, output: _Output) -> EngineError:
    streams = output.streams()
    streams["output"] = streams.pop("stdout")
    return EngineError(
        ErrorCode.SKILL_OUTPUT_ASSERTION_FAILED,
        f"Skill {skill_id} did not print the expected text",
        extra={"skillId": skill_id, "exitCode": 0, **streams, "expectedSubstring": output.wanted},
    )
