"""Why a device does not execute actions: its accessibility service and its screen, in one round trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clawperator.engine.adb.accessibility import parse_accessibility
from clawperator.engine.adb.batch import BatchOutput, run_commands
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.operator_identity import service_of
from clawperator.engine.doctor import accessibility, device_health
from clawperator.engine.doctor.check import Check
from clawperator.engine.errors import EngineError, ErrorCode


@dataclass(frozen=True, slots=True)
class Blockers:
    """Known problems: a ``service`` that is off or not running, a ``screen`` that is off or locked.

    ``starting``: Android is binding the service, which may take a moment or never succeed.
    """

    service: Check | None
    screen: Check | None
    starting: bool = False
    resumes_ms: int = 0
    """In how many milliseconds the service should act (again); 0 where nothing says that it will."""

    def error(self) -> EngineError | None:
        """Return SERVICE_UNAVAILABLE for a service that is not running."""
        check = self.service
        if check is None:
            return None
        details = {"checkId": check.id, "summary": check.summary, "detail": check.detail, **(check.evidence or {})}
        return EngineError(ErrorCode.SERVICE_UNAVAILABLE, check.summary, hint=_remedy(check), details=details)

    def warning(self) -> Mapping[str, str] | None:
        """Return the warning about a screen that is off or locked; ``path`` is the id of the check."""
        check = self.screen
        if check is None:
            return None
        code = "SCREEN_OFF" if check.fix else "SCREEN_LOCKED"
        return {"code": code, "path": check.id, "message": f"{check.summary}. {check.detail} {_remedy(check)}"}


_BINDING_MS = 1_000
"""How long Android takes at most to bind a service again."""
_DUMP_MS = 3_000
"""How long a program such as ``uiautomator dump`` holds UiAutomation, which suspends services (android-facts 7e)."""


def _remedy(check: Check) -> str:
    """Return the fix of a check in one line."""
    steps = [f"`{step.value}`" if step.kind == "shell" else step.value for step in check.fix] or check.guidance[:1]
    return ": ".join(filter(None, (check.fix_title, " ".join(steps))))


async def read_blockers(device: AdbDevice, package: str, *, timeout: float) -> Blockers:
    """Read the state of ``device`` in one round trip. Raises ``EngineError`` if it does not answer."""
    about = ("dumpsys", "package", package)
    switch, listed, dump, power, policy, app = await run_commands(
        device, (*accessibility.SWITCHES, accessibility.DUMP, *device_health.SCREEN, about), timeout=timeout
    )
    screen = device_health.screen(power, policy, device.serial)
    service, state = _service((switch, listed, dump, app), device.serial, package), parse_accessibility(dump.text)
    starting = service is not None and service_of(package) in state.binding
    return Blockers(
        service=service,
        screen=screen if screen.fix or screen.guidance else None,
        starting=starting,
        resumes_ms=_DUMP_MS if state.ui_automation else _BINDING_MS if service is None or starting else 0,
    )


def _service(texts: Sequence[BatchOutput], serial: str, package: str) -> Check | None:
    """Return what keeps the service from running; ``texts`` are the two settings and the dumps of the service and the app."""
    switch, listed, dump, app = texts
    if parse_accessibility(dump.text).is_bound(service_of(package)):
        return None
    enabled = accessibility.enabled(switch, listed, serial, package)
    if enabled.code is not None:
        return enabled
    bound = accessibility.bound(dump, listed, app, serial, package)
    return bound if bound.code is not None else None
