"""One run of the doctor: checks in a fixed order, each as soon as it and all before it are complete."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clawperator.engine.doctor.catalog import CATALOG, CheckSpec
from clawperator.engine.doctor.check import CRITICAL, Check, Status
from clawperator.engine.doctor.probes import BlockedError, Probes, project_folder
from clawperator.engine.doctor.readiness import Send
from clawperator.engine.doctor.verdict import concerns, verdict_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.suggestions import command_line

if TYPE_CHECKING:
    from clawperator.engine.adb.server import AdbServer
    from clawperator.engine.config.settings import Settings

_FAILING = CRITICAL | {"readiness.apk.presence"}
"""Ids that fail if the check cannot run; the others only warn."""


class Doctor:
    """Checks this computer, one device and the Operator app on it.

    ``device_id`` is empty until the device is known. ``ids`` are those of all checks, in report order. ``send`` dispatches
    a command. ``full`` also builds, installs and starts the app from the Gradle project in ``project`` ('':
    CLAWPERATOR_ANDROID_PROJECT, else the current folder if it contains one). ``backend`` stock leaves out the Operator app.
    """

    def __init__(
        self,
        server: AdbServer,
        *,
        device_id: str,
        package: str,
        settings: Settings,
        send: Send,
        full: bool = False,
        strict: bool = False,
        backend: str = "operator",
    ) -> None:
        self.device_id = ""
        self.project = ""
        self._server = server
        self._wanted = device_id
        self.package = package
        """The Operator app to examine; after its check the one that is installed, if none was chosen."""
        self._settings = settings
        self._send = send
        self._strict = strict
        self.backend = backend
        wanted = (step for step in CATALOG if backend == "operator" or concerns(step.id, backend))
        self._steps = {step.id: step for step in wanted if full or not step.full}
        self.ids = tuple(self._steps)

    async def checks(self, *, only: str = "", since: str = "") -> AsyncGenerator[Check]:
        """Yield each check as soon as it is complete; a critical failure ends the run.

        ``only`` yields that check alone, ``since`` the checks from that one on; their prerequisites run without being
        reported. A check that was asked for but is blocked reports the reason.

        Raises ``EngineError`` (USAGE) for an unknown id.
        """
        for wanted in filter(None, (only, since)):
            if wanted not in self._steps:
                raise EngineError(
                    ErrorCode.USAGE, f"Unknown check: {wanted!r}. Some checks belong to full runs only (--full)"
                )
        ids = (only,) if only else self.ids[self.ids.index(since) if since else 0 :]
        probes = self._visit(ids)
        try:
            tasks = [probes.begin(check_id) for check_id in ids]
            for task in tasks:
                try:
                    check = await task
                except BlockedError as exc:
                    if not (only or since) or task is not tasks[0]:
                        continue
                    check = _not_examined(ids[0], exc.check)
                self.device_id, self.package = probes.serial, probes.package
                yield check
                if check.stops:
                    return
        finally:
            await probes.close()

    def _visit(self, ids: tuple[str, ...]) -> Probes:
        async def find(check_id: str) -> Check:
            return await _guarded(self._steps[check_id], probes)

        probes = Probes(
            self._server,
            wanted=self._wanted,
            package=self.package,
            settings=self._settings,
            send=self._send,
            project=project_folder(dict(self._settings.environment), self.project),
            strict=self._strict,
            ids=ids,
            find=find,
        )
        return probes


async def _guarded(step: CheckSpec, probes: Probes) -> Check:
    """Run a check; an error in it becomes its result. Raises ``BlockedError``."""
    status: Status = "fail" if step.id in _FAILING else "warn"
    try:
        check = await step.find(probes)
    except BlockedError:
        raise
    except EngineError as exc:
        check = Check(step.id, status, f"The check could not run: {exc.message}", exc.code, unknown=True)
    except Exception as exc:  # noqa: BLE001 -- one crashed check must not hide what the others find
        why = f"The check crashed: {type(exc).__name__}: {exc}"
        check = Check(step.id, status, why, ErrorCode.DOCTOR_FAILED, unknown=True)
    return replace(check, duration_ms=probes.elapsed.get(step.probe, 0.0))


def _not_examined(check_id: str, because: Check) -> Check:
    """Return the result of a requested check that is blocked by another one."""
    return replace(
        because,
        id=check_id,
        status="fail" if check_id in _FAILING else "warn",
        summary=f"Skipped: {because.summary}",
        duration_ms=0.0,
    )


_LOOK = "clawperator observe snapshot --device-id <device_id>"
_READY = "Everything is ready. For a list of commands, run: clawperator --help"


def report(
    checks: Sequence[Check],
    *,
    device_id: str,
    package: str,
    executed: Collection[str] = (),
    backend: str = "operator",
) -> dict[str, Any]:
    """Return the report; ``operatorPackage`` repeats ``receiverPackage`` for the flat profile.

    ``ok``: the device can run executions by ``backend``; ``criticalOk``: no critical check failed.
    ``executed``: fix steps that were run and are no longer next actions. The verdict is on executions by ``backend``.
    """
    found = [check.to_dict() for check in checks]
    verdict = verdict_of(found, backend)
    critical_ok = not any(check.critical and check.status == "fail" for check in checks)
    answer: dict[str, Any] = {"ok": verdict.ready, "criticalOk": critical_ok, **verdict.to_dict()}
    if device_id:
        answer["deviceId"] = device_id
    answer |= {"receiverPackage": package, "operatorPackage": package}
    answer |= {"backend": backend, "stock": verdict_of(found, "stock").to_dict(), "checks": found}
    if actions := next_actions(checks, device_id, executed=executed, backend=backend):
        answer["nextActions"] = actions
    return answer


def next_actions(
    checks: Sequence[Check], device_id: str, *, executed: Collection[str] = (), backend: str = "operator"
) -> list[str]:
    """Return what is left to do, in the order of the checks, without duplicates."""
    verdict = verdict_of([check.to_dict() for check in checks], backend)
    actions: list[str] = [_READY] if verdict.status == "ready" else []
    for check in checks:
        if check.status == "pass" or not concerns(check.id, backend):
            continue
        actions += [step.value for step in check.fix if not (step.kind == "shell" and step.value in executed)]
        if check.guidance:
            actions.append(f"On device, open {check.guidance_screen} and follow the listed steps.")
    if verdict.ready:
        look = command_line("observe snapshot", device_id) if device_id else _LOOK
        actions.append(f"Try: {look}{' --backend stock' if backend == 'stock' else ''}")
    return list(dict.fromkeys(actions))
