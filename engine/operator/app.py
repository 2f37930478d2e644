"""The Operator app on one device: install it, grant its permissions, read its state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.config.policy import OBSERVE, SETUP_OPERATOR
from clawperator.engine.config.settings import Settings
from clawperator.engine.guard import Guard
from clawperator.engine.operator.reports import CrashLog, GrantReport, OperatorStatus, SetupReport
from clawperator.engine.progress import JobProgress, OnProgress, unreported

if TYPE_CHECKING:
    from clawperator.engine.contracts.envelope import Envelope
    from clawperator.engine.executions.attempt import ExecutionResult
    from clawperator.engine.executions.command import Command
    from clawperator.engine.executions.compatibility import Compatibility
    from clawperator.engine.operator.download import FetchedApk


class OperatorApp:
    """``resolve`` finds the device at each call; ``package`` is the chosen Operator app, '' for the installed one.

    ``hold`` takes the device lock while the app is replaced or its service is off; ``send`` dispatches a command to a serial
    and a package under the device lock; ``look`` takes a snapshot of a serial with a package; ``installed``
    returns the app to use on a device.

    All methods raise ``EngineError``, also those of finding the device (NO_DEVICES …). Changes raise READ_ONLY and
    CAPABILITY_DENIED if the policy does not allow them.
    """

    def __init__(
        self,
        resolve: Callable[[], Awaitable[AdbDevice]],
        *,
        package: str,
        settings: Settings,
        send: Callable[[str, str, Command], Awaitable[Envelope]],
        look: Callable[[str, str], Awaitable[ExecutionResult]],
        installed: Callable[[AdbDevice], Awaitable[str]],
        hold: Callable[[AdbDevice], AbstractAsyncContextManager[object]] = nullcontext,
        guard: Guard | None = None,
    ) -> None:
        self._resolve = resolve
        self._send = send
        self._look = look
        self._installed = installed
        self._hold = hold
        self._package = package
        self._settings = settings
        self._guard = guard or Guard(settings)

    async def setup(
        self, apk: str = "", *, sha256: str = "", force: bool = False, on_progress: OnProgress = unreported
    ) -> SetupReport:
        """Check the file, install it, grant its permissions and verify the installation (doctor.md#operator-setup).

        ``apk`` is a path (``~`` is the home folder); '' uses an APK in ``~/.clawperator/downloads``. ``sha256`` is the hex digest
        that the file must have, '' for any. The file is checked before the device is changed; ``force`` installs an app of a
        version that is not supported. At the end the app must answer a handshake and take a snapshot.

        Raises ``EngineError``: OPERATOR_APK_NOT_FOUND, OPERATOR_INSTALL_FAILED, OPERATOR_VERIFY_FAILED,
        OPERATOR_GRANT_FAILED, with ``receiverPackage`` and the objects of the phases reached in ``extra``;
        EXECUTION_CONFLICT_IN_FLIGHT before anything is installed, while an execution has the device.
        """
        with self._guard.acting(SETUP_OPERATOR, "set up the Operator app"):
            from clawperator.engine.operator import verification
            from clawperator.engine.operator.setup import set_up

            return await set_up(
                self._resolve,
                apk,
                package=self._package,
                sha256=sha256,
                env=self._settings.environment,
                on_progress=on_progress,
                answers=partial(verification.answering, send=self._send, look=self._look),
                accepted=None if force else self._settings.accepted_versions,
                hold=self._hold,
            )

    async def fetch(self, source: str, *, sha256: str = "", on_progress: OnProgress = unreported) -> FetchedApk:
        """Copy the APK from a path or an https URL to ``~/.clawperator/downloads``; uses no device.

        ``sha256`` is its expected hex digest; '' reads it from ``<source>.sha256``. Raises as ``download.fetch``.
        """
        with self._guard.acting(SETUP_OPERATOR, "fetch the Operator app"):
            from clawperator.engine.operator.download import fetch
            from clawperator.engine.operator.setup import checked_digest

            return await fetch(source, checked_digest(sha256), self._settings.environment, on_progress)

    async def grant(self, *, force: bool = False, on_progress: OnProgress = unreported) -> GrantReport:
        """Grant the installed app its permissions (doctor.md#operator-setup) and wait until it answers a handshake.

        Restarts a service that is enabled but not running, as after a crash; ``force`` restarts it in any case.

        Raises ``EngineError``: GRANT_DEVICE_PERMISSIONS_FAILED with all three objects in ``extra``, also if the app does not
        answer afterwards; RECEIVER_NOT_INSTALLED; OPERATOR_VERIFY_FAILED if both variants are installed and none is chosen;
        EXECUTION_CONFLICT_IN_FLIGHT while an execution has the device.
        """
        with self._guard.acting(SETUP_OPERATOR, "grant permissions to the Operator app"):
            return await self._grant(force=force, on_progress=on_progress)

    async def _grant(self, *, force: bool, on_progress: OnProgress) -> GrantReport:
        from clawperator.engine.operator import grants, verification

        device = await self._resolve()
        async with self._hold(device) if force else nullcontext():
            report = await grants.grant_alone(device, self._package, force=force, on_progress=on_progress)
        fresh = force or not report.permissions.accessibility.already_enabled
        stopped = await verification.stopped_service(device, report.package, wait=fresh)
        if stopped is not None and stopped.fix and not force:
            async with self._hold(device):
                report = await grants.grant_alone(device, report.package, force=True, on_progress=on_progress)
            report = replace(report, repaired=True)
            stopped = await verification.stopped_service(device, report.package, wait=True)
        with JobProgress("grant", on_progress).stage("handshake"):
            return await verification.verified(report, stopped, self._send)

    async def status(self) -> OperatorStatus:
        """Return what is installed, granted, enabled and bound, in one round trip."""
        self._guard.permit(OBSERVE, "read the state of the Operator app")
        from clawperator.engine.operator.status import status

        return await status(await self._resolve(), self._package, accepted=self._settings.accepted_versions)

    async def crash_log(self, *, lines: int = 200) -> CrashLog:
        """Return the recorded crashes of the app, newest first, at most ``lines`` lines in all."""
        self._guard.permit(OBSERVE, "read the crashes of the Operator app")
        from clawperator.engine.operator.crashes import crash_log

        return await crash_log(await self._resolve(), self._package, lines=lines)

    async def compatibility(self, *, strict: bool = False) -> Compatibility:
        """Check whether the chosen app, else the one in the settings, is supported."""
        self._guard.permit(OBSERVE, "read the version of the Operator app")
        from clawperator.engine.executions.compatibility import check_compatibility

        device, accepted = await self._resolve(), self._settings.accepted_versions
        package = self._package or await self._installed(device)
        return await check_compatibility(device, package, strict=strict, accepted=accepted)

    def grant_commands(self, serial: str, package: str) -> tuple[str, ...]:
        """Return the adb commands that granting runs, for a preview; ``<current>`` stands for the current list."""
        from clawperator.engine.operator.grants import command_lines

        return command_lines(serial, package)
