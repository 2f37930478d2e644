"""Plan and run the shell steps of fixes: only commands that the doctor generates, never through a shell (doctor.md#checks)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from clawperator.engine.adb.android_user import settings
from clawperator.engine.adb.binary import find_adb
from clawperator.engine.config.policy import SETUP_OPERATOR
from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.fix_commands import LOOK_MS, FixCommand, fix_commands
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.process.child import CannotStartError, capture
from clawperator.engine.process.output import BoundedOutput
from clawperator.engine.progress import OnProgress, Stage, unreported
from clawperator.engine.text.suggestions import adb_line

if TYPE_CHECKING:
    from clawperator.engine.adb.server import AdbServer
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.executions.attempt import ExecutionResult
    from clawperator.engine.guard import Guard

SERVER_SECONDS = 15.0
"""How long stopping an adb server may take."""
_OUTPUT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class PlannedFix:
    """One shell step that can be run: ``command``. ``step`` is its text as in the check, ``preview`` the commands that it runs.

    ``dangerous`` steps affect other programs: ``adb kill-server`` closes their connections to the adb server.
    """

    check_id: str
    step: str
    preview: tuple[str, ...]
    dangerous: bool
    command: FixCommand | None = None


@dataclass(frozen=True, slots=True)
class FixResult:
    """The result of one step; ``output`` is what it printed, or why it failed."""

    check_id: str
    step: str
    ok: bool
    output: str

    def to_dict(self) -> dict[str, Any]:
        """Return an entry of the report's ``fixResults``."""
        return {"checkId": self.check_id, "step": self.step, "ok": self.ok, "output": self.output}


class _Report(Protocol):
    @property
    def message(self) -> str: ...


class _OperatorApp(Protocol):
    def grant_commands(self, serial: str, package: str) -> tuple[str, ...]: ...

    async def grant(self, *, force: bool, on_progress: OnProgress) -> _Report: ...


class FixTarget(Protocol):
    """What fixes act on: the part of ``Engine`` that they use."""

    settings: Settings
    server: AdbServer

    @property
    def guard(self) -> Guard: ...

    def operator_app(self, *, device_id: str | None, receiver_package: str | None) -> _OperatorApp: ...

    async def snapshot(
        self, *, device_id: str | None, receiver_package: str | None, timeout_ms: object
    ) -> ExecutionResult: ...


class Fixer:
    """Runs the shell steps of checks."""

    def __init__(self, engine: FixTarget) -> None:
        self._engine = engine

    def plan(self, checks: Sequence[Check | Mapping[str, Any]], device_id: str) -> tuple[PlannedFix, ...]:
        """Return the known shell steps of the checks that do not pass, in order, without duplicates.

        Omits steps for another device than ``device_id``. ``checks`` may be those of a JSON report.
        """
        known = fix_commands(device_id, {*OPERATOR_PACKAGES, self._engine.settings.receiver_package})
        planned: dict[str, PlannedFix] = {}
        for check_id, step in _shell_steps(checks):
            if step not in planned and (command := known.get(step)) is not None:
                preview, dangerous = self._preview(command, step), command.verb == "kill-server"
                planned[step] = PlannedFix(check_id, step, preview, dangerous, command)
        return tuple(planned.values())

    def _preview(self, words: FixCommand, step: str) -> tuple[str, ...]:
        if words.verb in ("kill-server", "start-server"):
            return (shlex.join(["adb", *self._server_flags(), words.verb]),)
        if words.verb == "grant-device-permissions":
            lines = self._engine.operator_app(device_id=words.device_id, receiver_package=words.package).grant_commands(
                words.device_id, words.package
            )
            if not words.force:
                return lines
            put = settings("put", "secure", "enabled_accessibility_services")
            taken_out = adb_line(words.device_id, "shell", *put, f"<the list without the service of {words.package}>")
            return (lines[0], taken_out, *lines[1:])
        return (step,)

    def _server_flags(self) -> list[str]:
        address = self._engine.server.address
        return ["-L", str(address)] if address.path else ["-P", str(address.port)]

    async def run(self, fix: PlannedFix, on_progress: OnProgress = unreported) -> FixResult:
        """Run one step. Never raises for a failing one: the result contains the reason."""
        words = fix.command
        if words is None:
            return FixResult(fix.check_id, fix.step, ok=False, output="Clawperator does not run this step.")
        began = time.monotonic()
        on_progress(Stage("fix", words.verb, "running", message=fix.step))
        try:
            ok, output = True, await self._run(words, on_progress)
        except EngineError as exc:
            ok, output = False, f"{exc.code}: {exc.message}"
        except Exception as exc:  # noqa: BLE001 -- one failing step must not keep the others from being tried
            ok, output = False, f"{type(exc).__name__}: {exc}"
        elapsed = (time.monotonic() - began) * 1000
        on_progress(Stage("fix", words.verb, "done" if ok else "failed", elapsed, message=output))
        return FixResult(fix.check_id, fix.step, ok, output)

    async def _run(self, words: FixCommand, on_progress: OnProgress) -> str:
        match words.verb:
            case "kill-server":
                with self._engine.guard.acting(SETUP_OPERATOR, "end the adb server"):
                    return await self._kill_server()
            case "start-server":
                with self._engine.guard.acting(SETUP_OPERATOR, "start the adb server"):
                    await self._engine.server.ensure_running(timeout=SERVER_SECONDS)
                return f"An adb server answers at {self._engine.server.address}"
            case "grant-device-permissions":
                app = self._engine.operator_app(device_id=words.device_id, receiver_package=words.package)
                return (await app.grant(force=words.force, on_progress=on_progress)).message
            case "snapshot":
                return await self._look(words)

    async def _kill_server(self) -> str:
        """Stop the local adb server with the adb program, which waits until the server has exited."""
        server, settings = self._engine.server, self._engine.settings
        if not server.address.is_local:
            raise EngineError(
                ErrorCode.ADB_SERVER_FAILED, f"The adb server at {server.address} is not on this computer"
            )
        adb = find_adb(settings.environment, settings.adb_path or None)
        command = [adb, *self._server_flags(), "kill-server"]
        try:
            done = await capture(
                command,
                settings.environment,
                stdout=BoundedOutput(0, _OUTPUT_BYTES),
                stderr=BoundedOutput(0),
                merge_stderr=True,
                seconds=SERVER_SECONDS,
                patience=0.0,
            )
        except CannotStartError as exc:
            raise EngineError(ErrorCode.ADB_NOT_FOUND, f"{adb} cannot be run: {exc}") from exc
        except TimeoutError as exc:
            message = f"The adb server did not stop within {SERVER_SECONDS:.0f} s"
            raise EngineError(ErrorCode.ADB_SERVER_FAILED, message) from exc
        output = done.stdout.ending.strip()
        if done.exit_code:
            raise EngineError(ErrorCode.ADB_SERVER_FAILED, output or f"adb kill-server exited with {done.exit_code}")
        return output or f"The adb server at {server.address} was stopped"

    async def _look(self, words: FixCommand) -> str:
        result = await self._engine.snapshot(
            device_id=words.device_id, receiver_package=words.package, timeout_ms=LOOK_MS
        )
        if not result.succeeded:
            error = result.envelope.get("error") or "a step failed"
            raise EngineError(
                ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING, f"The Operator app responded with an error: {error}"
            )
        return "The Operator app returned a snapshot of the screen"


def _shell_steps(checks: Sequence[Check | Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield check id and text of each shell step of the checks that do not pass."""
    for check in checks:
        data = check.to_dict() if isinstance(check, Check) else check
        fix = data.get("fix")
        steps = fix.get("steps") if isinstance(fix, Mapping) else None
        if data.get("status") == "pass" or not isinstance(steps, Sequence):
            continue
        for step in steps:
            if isinstance(step, Mapping) and step.get("kind") == "shell" and isinstance(step.get("value"), str):
                yield str(data.get("id", "")), step["value"]
