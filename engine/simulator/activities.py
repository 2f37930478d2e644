"""Android's activity manager: starting apps and showing URIs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES, brand_of
from clawperator.engine.simulator.clock import DeviceClock
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.packages import SimulatedPackage
from clawperator.engine.simulator.ui import Ui

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class ActivityManager:
    """Windows appear ``launch_ms`` after their start; at once where the clock does not wait."""

    def __init__(
        self, ui: Ui, packages: Mapping[str, SimulatedPackage], clock: DeviceClock, spawn: Spawn, *, launch_ms: float
    ) -> None:
        self._ui, self._packages, self._clock, self._spawn = ui, packages, clock, spawn
        self._launch_ms = launch_ms
        self._launching: asyncio.Task[None] | None = None

    def launch(self, package: str) -> bool:
        """Start a package's launcher entry; false where it has none."""
        app, installed = self._ui.apps.get(package), self._packages.get(package)
        if app is None or installed is None or not (app.launchable and installed.enabled):
            return False
        installed.stopped = False
        self._after_latency(lambda: self._ui.launch(package))
        return True

    def view(self, uri: str) -> bool:
        """Show a URI; false when no app handles it."""
        if not self.viewer(uri):
            return False
        self._after_latency(lambda: self._ui.open_uri(uri))
        return True

    def viewer(self, uri: str) -> str:
        """The package of an app that views ``uri``; empty when there is none."""
        apps = self._ui.apps.values()
        return next((app.package for app in apps if any(uri.startswith(prefix) for prefix in app.uris)), "")

    async def launched(self) -> None:
        """Return when the activity that was started last has its window."""
        if self._launching is not None:
            await asyncio.wait({self._launching})

    def _after_latency(self, act: Callable[[], object]) -> None:
        if not self._clock.speed:
            act()
            return

        async def later() -> None:
            await self._clock.sleep(self._launch_ms / 1000)
            act()

        self._launching = self._spawn(later())

    def start(self, *, component: str = "", uri: str = "", package: str = "") -> str:
        """``am start``: the text it prints. Raises ``CommandError`` when nothing matches."""
        if uri:
            intent = f"Intent {{ act=android.intent.action.VIEW dat={uri} }}"
            if not self.view(uri):
                raise CommandError(f"Starting: {intent}\nError: Activity not started, unable to resolve {intent}")
            return f"Starting: {intent}\n"
        name = package or component.partition("/")[0]
        in_front = name == self._ui.package
        intent = f"cmp={component}" if component else f"act=android.intent.action.MAIN pkg={name}"
        intent = f"Intent {{ {intent} }}"
        if not self.launch(name):
            detail = f"Activity not started, unable to resolve {intent}"
            if component:
                detail = f"Activity class {{{component}}} does not exist."
            raise CommandError(f"Starting: {intent}\nError type 3\nError: {detail}")
        warning = "Warning: Activity not started, intent has been delivered to currently running top-most instance.\n"
        return f"Starting: {intent}\n" + (warning if in_front else "")

    def launcher_activity(self, package: str) -> str:
        """The class that a package's icon starts; empty when it has none."""
        app = self._ui.apps.get(package)
        if app is not None and package in OPERATOR_PACKAGES:
            return brand_of(package).activity
        return self._ui.home_activity(app) if app is not None and app.launchable else ""
