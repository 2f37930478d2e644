"""Creating, starting, stopping and deleting one virtual device (emulators.md#limits)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from clawperator.engine.adb.android_user import settings
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.emulators import console, stages
from clawperator.engine.emulators.avds import Avd, Recipe, avd_folder, checked_name, read_avd, read_ini
from clawperator.engine.emulators.image import ensure_image
from clawperator.engine.emulators.running import RunningEmulator, waiting
from clawperator.engine.emulators.sdk import ToolTimeoutError, tool_missing
from clawperator.engine.emulators.tool_errors import failure_hint, failure_message, known_error
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.lock import FileLock
from clawperator.engine.files.regular import private_folder, write_file
from clawperator.engine.process.detached import Detached

if TYPE_CHECKING:
    from clawperator.engine.emulators.limits import Limits
    from clawperator.engine.emulators.running import Scanner
    from clawperator.engine.emulators.sdk import Sdk, ToolResult
    from clawperator.engine.progress import JobProgress, StageProgress

START_FLAGS = ("-no-snapshot-load", "-no-boot-anim")
SETTINGS = ("development_settings_enabled", "adb_enabled")
NO_HARDWARE_PROFILE = b"no\n"
"""The answer to avdmanager's one question."""

_LOCK_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Stopped:
    """An emulator that was stopped. ``gone``: its serial has left adb's list."""

    avd_name: str
    serial: str
    gone: bool

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": True, "avdName": self.avd_name, "stopped": True}
        if not self.gone:
            answer["details"] = {"serial": self.serial, "stillListed": True}
        return answer


class Lifecycle:
    """Creates, starts, stops and deletes AVDs. ``home`` is the folder of the AVD files, ``logs`` that of emulators' output."""

    def __init__(
        self, sdk: Sdk, scanner: Scanner, home: str, supported_abis: tuple[str, ...], limits: Limits, *, logs: str
    ) -> None:
        self._logs = logs
        self.sdk = sdk
        self.scanner = scanner
        self._home = home
        self._abis = supported_abis
        self.limits = limits

    def avd(self, name: str, *, running: bool = False) -> Avd:
        return read_avd(self._home, name, self._abis, running)

    # -- create and delete

    async def create(self, recipe: Recipe, progress: JobProgress, *, force: bool) -> Avd:
        """Install the system image and create the AVD. ``force`` overwrites an existing AVD, never a running one.

        Raises ``EngineError`` ANDROID_AVD_CREATE_FAILED, ANDROID_SYSTEM_IMAGE_INSTALL_FAILED, ANDROID_SDK_TOOL_MISSING,
        EMULATOR_ALREADY_RUNNING.
        """
        if self.avd(recipe.name).exists:
            if not force:
                message = f"AVD {recipe.name} already exists"
                raise _not_created(recipe, message, "Choose another name, or overwrite the AVD with --force.")
            await self._refuse_running(recipe.name)
        self.sdk.require("sdkmanager", "avdmanager")  # before an image of gigabytes is downloaded
        await ensure_image(self.sdk, recipe.image, self.limits, progress)
        with progress.stage(stages.CREATE_AVD, self.limits.create, left=_unfinished_avd) as stage:
            with suppress(OSError):
                os.makedirs(self._home, exist_ok=True)  # the tools disregard a folder of AVDs that does not exist
            done = await self._manage(create_arguments(recipe), recipe, stage)
            if not done.ok:
                raise _not_created(recipe, failure_message("avdmanager", done), failure_hint(done))
            made = self.avd(recipe.name)
            if not made.exists:
                message = f"avdmanager reported success, but AVD {recipe.name} is not in {self._home}"
                raise _not_created(recipe, message, "Set ANDROID_AVD_HOME to the folder that avdmanager uses.")
            stage.result = f"created {recipe.name}"
        return made

    async def _manage(self, arguments: list[str], recipe: Recipe, stage: StageProgress) -> ToolResult:
        try:
            return await self.sdk.run(
                "avdmanager",
                arguments,
                timeout=self.limits.create,
                stdin=NO_HARDWARE_PROFILE,
                on_line=stage.line,
            )
        except ToolTimeoutError as exc:
            raise _not_created(recipe, str(exc)) from exc

    async def delete(self, name: str) -> None:
        """Delete the AVD.

        Raises ``EngineError`` EMULATOR_ALREADY_RUNNING, EMULATOR_NOT_FOUND, EMULATOR_DELETE_FAILED, ANDROID_SDK_TOOL_MISSING.
        """
        await self._refuse_running(checked_name(name))
        if not self.avd(name).exists:
            raise not_found(name)
        details = {"name": name}
        try:
            done = await self.sdk.run("avdmanager", delete_arguments(name), timeout=self.limits.delete)
        except ToolTimeoutError as exc:
            raise EngineError(ErrorCode.EMULATOR_DELETE_FAILED, str(exc), details=details) from exc
        if not done.ok:
            message = failure_message("avdmanager", done)
            raise EngineError(ErrorCode.EMULATOR_DELETE_FAILED, message, hint=failure_hint(done), details=details)
        if self.avd(name).exists:
            message = f"avdmanager reported success, but AVD {name} is still in {self._home}"
            raise EngineError(ErrorCode.EMULATOR_DELETE_FAILED, message, details=details)

    # -- start and stop

    async def start(self, name: str, progress: JobProgress, *, log: str = "") -> RunningEmulator:
        """Start the AVD and return when it has booted; stops its process if it does not boot.

        Raises ``EngineError`` EMULATOR_NOT_FOUND, EMULATOR_ALREADY_RUNNING, EMULATOR_START_FAILED, EMULATOR_BOOT_TIMEOUT,
        ANDROID_SDK_TOOL_MISSING.
        """
        if not self.avd(checked_name(name)).exists:
            raise not_found(name)
        await self._refuse_running(name)
        with progress.stage(stages.START) as stage:
            await self._released(name, stage)
            boot = BootProcess(name, self._spawn(name, log))
            stage.result = f"process {boot.process.pid}"
        try:
            serial = await self.registered(name, progress, boot)
            await self.boot(serial, progress, boot)
            boot.booted = True
            await self.enable(serial, progress, boot)
        except BaseException as error:
            if not boot.is_ended_by(error):
                raise
            was_running = boot.process.exit_code is None
            await boot.process.end(patience=self.limits.end)
            if was_running and isinstance(error, EngineError):
                message = f"{error.message}; the emulator was stopped"
                raise EngineError(
                    error.code, message, hint=error.hint, details=error.details, extra=error.extra
                ) from error
            raise
        return RunningEmulator(name, serial, True, self.avd(name).unsupported_reasons)

    def _spawn(self, name: str, log: str) -> Detached:
        log = log or self._own_log(name)
        try:
            return Detached.start([self.sdk.path("emulator"), *start_arguments(name)], self.sdk.env, log)
        except (OSError, ValueError) as exc:
            raise tool_missing(("emulator",)) from exc

    def _own_log(self, name: str) -> str:
        """Return an emptied log file for an emulator, whose output says why it does not start; '' if it cannot be written."""
        path = os.path.join(self._logs, f"emulator-{name}.log")
        if not self._logs:
            return ""
        try:
            private_folder(self._logs)
            write_file(path, b"", replace=True)
        except OSError:
            return ""
        return path

    async def registered(self, name: str, progress: JobProgress, boot: BootProcess | None = None) -> str:
        """Wait until adb lists the emulator as a device that takes commands, and return its serial.

        Raises ``EngineError`` (EMULATOR_START_FAILED).
        """
        with progress.stage(stages.WAIT_ADB, self.limits.register, left=boot.remains if boot else None) as stage:
            search = self._in_adb(name, stage)
            stage.result = await (boot.while_running(search) if boot else search)
        return stage.result

    async def _in_adb(self, name: str, stage: StageProgress) -> str:
        offline: list[str] = []
        try:
            async with asyncio.timeout(self.limits.register), aclosing(self.scanner.lists()) as lists:
                async for entries in lists:
                    offline = waiting(entries)
                    stage.update(f"adb lists {', '.join(offline)} as offline" if offline else "")
                    if serial := await self.scanner.find(entries, name):
                        return serial
        except TimeoutError as exc:
            seen = f" (adb lists {', '.join(offline)} as offline)" if offline else ""
            raise EngineError(
                ErrorCode.EMULATOR_START_FAILED,
                f"{name} did not appear in adb within {self.limits.register:g} s{seen}",
                hint="Compare `adb devices` with `clawperator emulator status`, restart the adb server and try again.",
                details={"name": name, "timeoutMs": round(self.limits.register * 1000)},
            ) from exc
        raise AssertionError("adb's lists do not end")

    async def boot(self, serial: str, progress: JobProgress, boot: BootProcess | None = None) -> None:
        """Wait until it has booted. Raises ``EngineError`` EMULATOR_BOOT_TIMEOUT; EMULATOR_START_FAILED if it exits."""
        with progress.stage(stages.WAIT_BOOT, self.limits.boot, left=boot.remains if boot else None) as stage:
            polling = self._until_booted(serial, stage)
            try:
                async with asyncio.timeout(self.limits.boot):
                    await (boot.while_running(polling) if boot else polling)
            except TimeoutError as exc:
                message = f"{serial} did not finish booting within {self.limits.boot:g} s"
                details = {"serial": serial, "timeoutMs": round(self.limits.boot * 1000)}
                raise EngineError(ErrorCode.EMULATOR_BOOT_TIMEOUT, message, details=details) from exc

    async def _until_booted(self, serial: str, stage: StageProgress) -> None:
        while not await self.scanner.booted(serial):
            stage.update()
            await asyncio.sleep(self.limits.poll)

    async def enable(self, serial: str, progress: JobProgress, boot: BootProcess | None = None) -> None:
        """Enable the settings for debugging. Raises ``EngineError`` EMULATOR_START_FAILED; the emulator keeps running."""
        device = AdbDevice(self.scanner.server, serial)
        with progress.stage(stages.ENABLE_SETTINGS, left=boot.remains if boot else None):
            for name in SETTINGS:
                try:
                    done = await device.shell(settings("put", "global", name, "1"), timeout=self.limits.device)
                    problem = "" if done.ok else done.error_text or f"exit code {done.exit_code}"
                except EngineError as exc:
                    problem = exc.message
                if problem:
                    raise EngineError(
                        ErrorCode.EMULATOR_START_FAILED,
                        f"{serial} has booted, but {name} could not be set: {problem}",
                        hint="The emulator is running. Stop it and start it again.",
                        details={"serial": serial, "stderr": problem},
                    )

    async def stop(self, name: str, progress: JobProgress) -> Stopped:
        """Stop the emulator of the AVD and wait until its serial has left adb's list.

        Raises ``EngineError`` EMULATOR_NOT_RUNNING, EMULATOR_STOP_FAILED.
        """
        found = await self.scanner.named(checked_name(name))
        if found is None:
            raise EngineError(ErrorCode.EMULATOR_NOT_RUNNING, f"AVD {name} is not running", details={"name": name})
        serial = found[0]
        with progress.stage(stages.STOP, self.limits.vanish) as stage:
            try:
                await console.ask(serial, "kill", self.sdk.env, timeout=self.limits.device)
            except EngineError as exc:
                details = {"name": name, "serial": serial}
                raise EngineError(ErrorCode.EMULATOR_STOP_FAILED, exc.message, details=details) from exc
            gone = await self._vanished(serial)
            await self._released(name, stage)
            stage.result = serial if gone else f"adb still lists {serial}"
        return Stopped(name, serial, gone)

    async def _vanished(self, serial: str) -> bool:
        try:
            async with asyncio.timeout(self.limits.vanish), aclosing(self.scanner.lists()) as lists:
                async for entries in lists:
                    if all(entry.serial != serial for entry in entries):
                        return True
        except TimeoutError:
            pass
        return False

    async def _released(self, name: str, stage: StageProgress) -> None:
        """Wait until no process locks the AVD: a stopped emulator leaves adb's list before its process ends."""
        pointer = read_ini(os.path.join(self._home, f"{name}.ini"))
        path = os.path.join(avd_folder(self._home, name, pointer), "multiinstance.lock")
        deadline = monotonic() + self.limits.vanish
        while _is_locked(path) and monotonic() < deadline:
            stage.update("the process of the stopped emulator is ending")
            await asyncio.sleep(_LOCK_POLL_SECONDS)

    async def _refuse_running(self, name: str) -> None:
        found = await self.scanner.named(name)
        if found is None:
            return
        serial, is_ready = found
        message = f"AVD {name} is running as {serial}" if is_ready else f"AVD {name} is booting as {serial}"
        raise EngineError(ErrorCode.EMULATOR_ALREADY_RUNNING, message, details={"name": name, "serial": serial})


def _is_locked(path: str) -> bool:
    try:
        lock = FileLock(path, create=False)
    except OSError:
        return False
    try:
        return not lock.try_acquire()
    except OSError:
        return False
    finally:
        lock.close()


# -- command lines


def create_arguments(recipe: Recipe) -> list[str]:
    package = ["--package", recipe.image, "--device", recipe.profile]
    return ["create", "avd", "--force", "--name", recipe.name, *package]


def start_arguments(name: str) -> list[str]:
    return [f"@{name}", *START_FLAGS]


def delete_arguments(name: str) -> list[str]:
    return ["delete", "avd", "--name", name]


# -- errors


def not_found(name: str) -> EngineError:
    return EngineError(ErrorCode.EMULATOR_NOT_FOUND, f"AVD {name} not found")


def _not_created(recipe: Recipe, message: str, hint: str | None = None) -> EngineError:
    return EngineError(ErrorCode.ANDROID_AVD_CREATE_FAILED, message, hint=hint, details=recipe.details())


def _unfinished_avd(error: BaseException) -> str:
    """Return the note that a cancelled avdmanager leaves files behind."""
    return "partly written files remain" if isinstance(error, asyncio.CancelledError) else ""


T = TypeVar("T")
_CORRECT = "Correct the error, then start the emulator again."


class BootProcess:
    """An emulator process that was started; ``booted`` once Android has booted."""

    def __init__(self, name: str, process: Detached) -> None:
        self.name = name
        self.process = process
        self.booted = False

    def is_ended_by(self, error: BaseException) -> bool:
        """Return whether ``error`` ends the process: a booted one outlives a setting that failed, not a cancellation."""
        return not self.booted or not isinstance(error, EngineError)

    def remains(self, error: BaseException) -> str:
        """Return what becomes of the process after ``error``."""
        return "its process is stopped" if self.process.exit_code is None and self.is_ended_by(error) else ""

    async def while_running(self, work: Awaitable[T]) -> T:
        """Return the result of ``work``. Raises ``EngineError`` (EMULATOR_START_FAILED) if the process ends first."""
        working, ending = asyncio.ensure_future(work), asyncio.ensure_future(self.process.ended())
        try:
            await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise self._ended()
        finally:
            for task in (working, ending):
                task.cancel()
            await asyncio.wait({working, ending})

    def _ended(self) -> EngineError:
        code, log = self.process.exit_code, self.process.log_tail()
        known = known_error(log)
        message = f"The emulator of {self.name} exited with code {code} before it had booted"
        return EngineError(
            ErrorCode.EMULATOR_START_FAILED,
            f"{message}: {log}" if log else message,
            hint=known.hint if known else _CORRECT if log else "Start it with --log <file> to see its output.",
            details={"name": self.name, "exitCode": code},
        )
