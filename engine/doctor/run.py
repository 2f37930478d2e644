"""The order of the checks, and what each one needs from those before it (doctor contract §3)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.doctor import device as device_checks
from clawperator.engine.doctor import host, readiness
from clawperator.engine.doctor.check import Check
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.suggestions import command_line

_LOOK = "clawperator observe snapshot --device-id <device_id>"


class Doctor:
    """One run. ``ping`` sends the handshake to a serial."""

    def __init__(
        self,
        server: AdbServer,
        *,
        device_id: str,
        package: str,
        env: Mapping[str, str],
        ping: Callable[[str], Awaitable[Envelope]],
    ) -> None:
        self.device_id = ""
        self._server = server
        self._wanted = device_id
        self._package = package
        self._env = env
        self._ping = ping

    async def checks(self) -> AsyncIterator[Check]:
        """Each check as soon as it is done; a critical failure ends the run."""
        for check in (
            await host.python_version(),
            await host.node_version(self._env),
            await host.git_presence(self._env),
            await host.adb_presence(self._server, self._env),
        ):
            yield check
            if check.stops:
                return
        reached = await host.adb_server(self._server)
        yield reached
        if reached.stops:
            return
        yield await self._guard("device.discovery", self._discover())
        if self.device_id:
            async for check in self._device_checks(self._server.device(self.device_id)):
                yield check

    async def _discover(self) -> Check:
        found, self.device_id = device_checks.discovery(await self._server.devices(), self._wanted)
        return found

    async def _device_checks(self, device: AdbDevice) -> AsyncIterator[Check]:
        yield await self._guard("device.capability", device_checks.capability(device))
        present = await self._guard("readiness.apk.presence", readiness.apk_presence(device, self._package))
        yield present
        fits = present.status == "pass"
        if fits:
            compatible = await self._guard(
                "readiness.version.compatibility", readiness.version_compatibility(device, self._package)
            )
            yield compatible
            if compatible.stops:
                return
        yield await self._guard("readiness.settings.dev_options", readiness.developer_options(device))
        yield await self._guard("readiness.settings.usb_debugging", readiness.usb_debugging(device))
        if fits:
            answered = readiness.handshake(lambda: self._ping(device.serial), device.serial, self._package)
            yield await self._guard("readiness.handshake", answered)

    async def _guard(self, check_id: str, check: Awaitable[Check]) -> Check:
        """A check that cannot run is a finding, not the end of the run."""
        try:
            return await check
        except EngineError as exc:
            return Check(check_id, "fail", f"The check could not run: {exc.message}", exc.code)
        except Exception as exc:  # noqa: BLE001 -- one crashed check must not hide what the others find
            summary = f"The check crashed: {type(exc).__name__}: {exc}"
            return Check(check_id, "fail", summary, ErrorCode.DOCTOR_FAILED)


def report(checks: Sequence[Check], *, device_id: str, package: str) -> dict[str, Any]:
    """The doctor report (doctor contract §2); ``operatorPackage`` repeats ``receiverPackage`` for callers of the flat names."""
    critical_ok = not any(check.critical and check.status == "fail" for check in checks)
    answer: dict[str, Any] = {"ok": critical_ok, "criticalOk": critical_ok}
    if device_id:
        answer["deviceId"] = device_id
    answer |= {"receiverPackage": package, "operatorPackage": package, "checks": [check.to_dict() for check in checks]}
    if actions := next_actions(checks, device_id):
        answer["nextActions"] = actions
    return answer


def next_actions(checks: Sequence[Check], device_id: str) -> list[str]:
    if all(check.status == "pass" for check in checks):
        look = command_line("observe snapshot", device_id) if device_id else _LOOK
        return ["Everything is ready.", f"Try: {look}"]
    actions: list[str] = []
    for check in checks:
        if check.status == "pass":
            continue
        actions += [step.value for step in check.fix]
        if check.guidance:
            actions.append(f"On device, open {check.guidance_screen} and follow the listed steps.")
    return list(dict.fromkeys(actions))
