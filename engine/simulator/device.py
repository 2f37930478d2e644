"""A simulated Android device: the platform, and the Operator apps on it.

``create_device`` makes one from a scenario; ``await device.close()`` ends its background work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from clawperator.engine.contracts.operator_identity import (
    ANDROPERATOR,
    CLAWPERATOR,
    LISTENER_CLASS,
    OPERATOR_PACKAGES,
    brand_of,
    listener_of,
)
from clawperator.engine.runtime.plan import Generation, at_least
from clawperator.engine.simulator.android_users import EVERY
from clawperator.engine.simulator.apps.operator_app import operator_app
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.operator import SimulatedOperator, command_id_of
from clawperator.engine.simulator.packages import FIRST_APP_UID, SimulatedPackage, version_code_of
from clawperator.engine.simulator.platform import Platform
from clawperator.engine.simulator.procfs import CPUS, proc_files
from clawperator.engine.simulator.profile import NOTIFICATIONS
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.version import OPERATOR_RELEASES


def create_device(
    scenario: Scenario | None = None, *, index: int = 0, generation: Generation = "0.3"
) -> SimulatedDevice:
    """Return a booted device in the state that ``scenario`` describes (default: healthy).

    ``index`` tells devices of one simulation apart (serial, model's AVD name). A generation in the scenario overrides
    ``generation``. Raises ``EngineError`` (SCENARIO_INVALID) when the scenario starts in an app or screen that does not exist.
    """
    return SimulatedDevice(scenario or Scenario(), index, generation)


class SimulatedDevice(Platform):
    """A platform with Operator apps, which broadcasts reach."""

    def __init__(self, scenario: Scenario, index: int, generation: Generation) -> None:
        self._noise_task: asyncio.Task[None] | None = None
        self.operators: dict[str, SimulatedOperator] = {}
        super().__init__(scenario, index, generation)

    def reset(self) -> None:
        for operator in self.operators.values():
            operator.stop()
        super().reset()
        self.commands = 0
        """Number of broadcasts so far."""
        self.operators = {}
        self.files.mount("proc", partial(proc_files, self))
        for number in range(CPUS):
            self.files.mkdir(f"/sys/devices/system/cpu/cpu{number}")
        self.ui.listener = self._accessibility_event
        if self.scenario.operator.installed:
            self.add_operator(self.operator_package, enabled=self.scenario.operator.enabled)
        if self.scenario.of_device("service_down", how="crashed"):
            self.accessibility.crashed.update(operator.service for operator in self.operators.values())

    def start(self) -> None:
        """Start the background noise, once; the first broadcast does it, too."""
        fault = self.scenario.of_device("noise")
        if fault is not None and self._noise_task is None:
            rate = fault.lines_per_second / (self.scenario.speed or 1.0)
            self._noise_task = asyncio.get_running_loop().create_task(self.noise.keep_on(rate))

    async def close(self) -> None:
        if self._noise_task is not None:
            self._noise_task.cancel()
            await asyncio.gather(self._noise_task, return_exceptions=True)
            self._noise_task = None
        await super().close()

    @property
    def operator(self) -> SimulatedOperator | None:
        """The installed Operator of this scenario's package."""
        return self.operators.get(self.operator_package)

    @property
    def operator_package(self) -> str:
        """The scenario's, else the release package of the generation."""
        brand = ANDROPERATOR if at_least(self.generation, "1.0") else CLAWPERATOR
        return self.scenario.operator.package or brand.packages[0]

    def add_operator(self, name: str, version: str = "", *, enabled: bool = False) -> None:
        """Install the Operator app ``name``; without a version, the scenario's or the generation's."""
        debug = "-d" if name.endswith(".dev") else ""
        version = version or self.scenario.operator.version_name or OPERATOR_RELEASES[self.generation] + debug
        package = SimulatedPackage(
            name,
            FIRST_APP_UID + 190 + OPERATOR_PACKAGES.index(name),
            version,
            version_code_of(version),
            stopped=not enabled,
            requested=(NOTIFICATIONS, "android.permission.QUERY_ALL_PACKAGES"),
            services=(
                ("android.accessibilityservice.AccessibilityService", brand_of(name).service_class),
                ("android.service.notification.NotificationListenerService", LISTENER_CLASS),
            ),
            users=set(self.users.operator),
        )
        self.packages[name] = package
        self.ui.add(operator_app(name, package.version_name))
        self.operators[name] = operator = SimulatedOperator(self, self.generation, name, package.uid)
        if enabled and package.is_for(self.users.current):
            self.accessibility.enable(operator.service)
            package.permissions.add(NOTIFICATIONS)
            if self.scenario.operator.listener:
                self.settings["secure"]["enabled_notification_listeners"] = listener_of(name)

    def before_back(self) -> None:
        for operator in self.operators.values():
            operator.recorder.on_back()

    def _accessibility_event(self, kind: str, package: str, node: Any) -> None:
        if kind == "TYPE_WINDOW_STATE_CHANGED":
            self.accessibility.begin_transition()
        for operator in self.operators.values():
            operator.on_event(kind, package, node)

    async def broadcast(self, action: str, package: str | None, extras: Mapping[str, str], user: int = EVERY) -> int:
        """``am broadcast``: deliver to the Operator that it names, if that can receive. The result code is always 0.

        Only the instance of the user in the foreground does something.

        Raises ``CommandError`` where the scenario makes the broadcast fail.
        """
        if self.input.by_keyboard(action, extras):
            return 0
        self.start()
        await self.pauses.at("broadcast")
        self.commands += 1
        number, command_id = self.commands, command_id_of(extras.get("payload", ""))
        fault = partial(self.scenario.of_command, number=number, command_id=command_id)
        if refused := fault("broadcast_failure"):
            raise CommandError(refused.stderr, refused.exit_code)
        if cut := fault("disconnect", step=0):
            self.disconnect(cut.reconnect_after_ms)
        if fault("log_stream_ends", step=0):
            self.log.end_readers()
        operator = self.operators.get(package or "")
        if operator is not None:
            await self.clock.sleep(self.scenario.latency_ms.delivery / 1000)
            present = user in (EVERY, self.users.current) and self.packages[operator.package].is_for(self.users.current)
            if (
                present
                and not fault("lost_broadcast")
                and (operator.connected or not self.packages[operator.package].stopped)
            ):
                operator.receive(action, extras, number)
        await self.pauses.at("delivered")
        return 0

    def force_stop(self, package: str) -> None:
        """``am force-stop``: the process and its windows go; its accessibility service is disabled."""
        if package in self.packages:
            self.packages[package].stopped = True
        self._stop_operator(package)
        if package in self.ui.apps:
            self.ui.kill(package)

    def _stop_operator(self, package: str) -> None:
        operator = self.operators.get(package)
        if operator is not None:
            self.accessibility.disable(operator.service)
            operator.stop()

    def clear(self, package: str) -> None:
        """``pm clear``: stopped, and as if freshly installed."""
        self.force_stop(package)
        self.ui.reset(package)
        if package in self.packages:
            self.packages[package].permissions.clear()

    def uninstall(self, package: str, user: int = EVERY) -> str:
        """``pm uninstall``: ``Success`` or ``Failure [...]``. Of the system's apps, Android uninstalls those of one user."""
        found = self.packages.get(package)
        if found is None or (found.system and user == EVERY):
            return "Failure [DELETE_FAILED_INTERNAL_ERROR]"
        if user != EVERY:
            if not found.is_for(user):
                return f"Failure [not installed for {user}]"
            found.users = set(self.users.all if found.users is None else found.users) - {user}
            if found.users or found.system:
                if user == self.users.current:
                    self.force_stop(package)
                return "Success"
        self._stop_operator(package)
        self.operators.pop(package, None)
        self.operator_pids.pop(package, None)
        del self.packages[package]
        if package in self.ui.apps:
            self.ui.forget(package)
        return "Success"
