"""Android's accessibility manager: which services run, and the window that they can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from clawperator.engine.simulator.clock import DeviceClock
from clawperator.engine.simulator.packages import SimulatedPackage
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.simulator.ui import Ui, Window

_ENABLED = "enabled_accessibility_services"


class AccessibilityManager:
    """Services are named by component, as the secure settings list them."""

    def __init__(
        self, scenario: Scenario, clock: DeviceClock, ui: Ui, packages: Mapping[str, SimulatedPackage]
    ) -> None:
        self.crashed: set[str] = set()
        """Services that Android does not start again until they are disabled and enabled."""
        self.dumping = False
        """A ``uiautomator dump`` is running: it suppresses all services (android-facts 7e)."""
        self._scenario, self._clock, self._ui, self._packages = scenario, clock, ui, packages
        self._secure = ui.settings["secure"]
        self._suspended_until = 0.0
        self._in_transition_until = 0.0
        self._cached: Window | None = None

    @property
    def listed(self) -> list[str]:
        """The services in the secure settings, whether or not accessibility is on."""
        return [entry for entry in self._secure.get(_ENABLED, "").split(":") if entry]

    @property
    def on(self) -> bool:
        return self._secure.get("accessibility_enabled") == "1"

    @property
    def ui_automation_held(self) -> bool:
        """Whether a program holds the UiAutomation connection: there is one at a time (android-facts 7f)."""
        return self.dumping or self._scenario.of_device("ui_automation_held") is not None

    def bound(self, component: str) -> bool:
        """Whether a service runs: installed, enabled in the secure settings, and not suspended."""
        package = self._packages.get(component.partition("/")[0])
        if package is None or not package.enabled or component in self.crashed or self.ui_automation_held:
            return False
        down = self._scenario.of_device("service_down")
        if (down is not None and down.how != "crashed") or self.rebinding:
            return False
        bound = self.on and component in self.listed
        if bound:
            package.stopped = False  # binding starts the process
        return bound

    @property
    def rebinding(self) -> bool:
        """Whether services are being bound again after a ``uiautomator dump``."""
        return self._clock.now() < self._suspended_until

    def enable(self, component: str) -> None:
        """Make ``component`` the one enabled service."""
        self._secure["accessibility_enabled"] = "1"
        self._secure[_ENABLED] = component

    def disable(self, component: str) -> None:
        """Take a service out of the secure settings, as Android does after a crash."""
        rest = [entry for entry in self.listed if entry != component]
        self._secure[_ENABLED] = ":".join(rest)
        if not rest:
            self._secure["accessibility_enabled"] = "0"

    def settings_written(self) -> None:
        """React to changed settings: a crashed service that was disabled may start again."""
        self.crashed.intersection_update(self.listed)

    @contextmanager
    def ui_automation(self) -> Iterator[None]:
        """Hold UiAutomation; services are bound again some time afterwards, at once where the clock does not wait."""
        self.dumping = True
        try:
            yield
        finally:
            self.dumping = False
            if self._clock.speed:
                self._suspended_until = self._clock.now() + self._scenario.latency_ms.rebind / 1000

    def begin_transition(self) -> None:
        """The window changes: it cannot be read for the scenario's transition latency."""
        self._in_transition_until = self._clock.now() + self._scenario.latency_ms.transition / 1000

    def as_seen_by_service(self, window: Window) -> Window:
        """Return ``window`` as a service without ``isAccessibilityTool`` sees it, if need be from its stale cache."""
        if self._scenario.of_device("unseen", what="stale_cache"):
            self._cached = self._cached or window
            return self._cached
        sensitive = self._scenario.of_device("unseen", what="accessibility_data_sensitive")
        if sensitive is None or self._scenario.device.sdk < 34:
            return window
        return replace(
            window,
            nodes=[replace(window.nodes[0], children=[], end=1)],
            _xml="",
            _tree=None,
            _log_entries=(),
            _full_xml="",
            _full_tree=None,
        )

    def readable_window(self) -> Window | None:
        """The active window; ``None`` when it has no root."""
        return None if self._clock.now() < self._in_transition_until else self._ui.readable()
