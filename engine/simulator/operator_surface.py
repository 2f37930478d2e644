"""The Operator's accessibility service on the simulated device."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clawperator.engine.contracts.operator_identity import listener_of
from clawperator.engine.hierarchy.tree import UiNode, UiTree
from clawperator.engine.runtime.outcome import ActionResult, PlanFailure
from clawperator.engine.runtime.plan import Generation, at_least
from clawperator.engine.runtime.surface import Clock
from clawperator.engine.simulator.apps.layout import Node
from clawperator.engine.simulator.operator_log import CommandLines, split_message
from clawperator.engine.simulator.platform import Platform
from clawperator.engine.simulator.recording import Recorder
from clawperator.engine.simulator.ui import Window

_DRAG_SDK = 26
_AT_ONCE = 500
"""Entries of a dump that are logged before readers can run."""


class OperatorSurface:
    """``runtime.Surface`` over a ``Platform``, for one command; ``fault_of`` returns the fault of a kind that hits it, if any."""

    def __init__(
        self,
        device: Platform,
        clock: Clock,
        lines: CommandLines,
        fault_of: Callable[[str], Any],
        *,
        service: str,
        recorder: Recorder,
        generation: Generation,
    ) -> None:
        self._device = device
        self._generation: Generation = generation
        self._service = service
        self._recorder = recorder
        self._clock = clock
        self._lines = lines
        self._fault_of = fault_of

    async def _look(self) -> Window | None:
        await self._clock.sleep(self._device.scenario.latency_ms.dump / 1000)
        if not self._device.accessibility.bound(self._service):
            self._lines.inspector("Accessibility service is not available")
            return None
        window = self._device.accessibility.readable_window()
        if window is None:
            self._lines.inspector("Root node is null")
            return None
        return self._device.accessibility.as_seen_by_service(window)

    async def dump(self) -> UiTree | None:
        window = await self._look()
        if window is None:
            return None
        return window.full_tree if at_least(self._generation, "0.10") else window.tree

    async def snapshot(self, step_id: str) -> Mapping[str, str] | None:  # noqa: ARG002 - the log lines around it name the step
        window = await self._look()
        if window is None:
            return None
        self._lines.scope("Logging UI tree")
        facts: dict[str, str] = {}
        if at_least(self._generation, "0.12"):
            facts["text"] = window.full_xml
        else:
            await self._write_dump(self._entries(window))
        facts |= {"foreground_package": window.app.package, "has_overlay": "false", "window_count": "3"}
        if at_least(self._generation, "0.10"):
            facts["operator_overlay_visible"] = "true" if self._device.app_actions.panel is not None else "false"
        if self._device.unseen == "other_window":
            facts |= {"has_overlay": "true", "overlay_package": "com.android.systemui", "window_count": "4"}
        return facts

    def _entries(self, window: Window) -> Sequence[str]:
        if not at_least(self._generation, "0.9"):
            return window.log_entries
        xml = window.full_xml if at_least(self._generation, "0.10") else window.xml
        return split_message(f"[TaskScope] UI Hierarchy [commandId={self._lines.command_id}]:\n{xml}")

    async def _write_dump(self, entries: Sequence[str]) -> None:
        """Log in batches, so that readers get the first lines while the last are still being written, as on a device."""
        cut, mixed = self._fault_of("truncated_dump"), self._fault_of("interleaved_dump")
        if cut is not None:
            entries = entries[: cut.entries]
        if mixed is not None:
            for start in range(0, len(entries), mixed.every):
                self._lines.dump(entries[start : start + mixed.every])
                self._device.noise.line()
            return
        for start in range(0, len(entries), _AT_ONCE):
            self._lines.dump(entries[start : start + _AT_ONCE])
            await asyncio.sleep(0)

    async def foreground(self) -> str:
        return self._device.ui.package

    def _node(self, node: UiNode) -> Node | None:
        """The live node at the same position; ``None`` when it is another one now."""
        nodes = self._device.ui.window().nodes
        live = nodes[node.index] if node.index < len(nodes) else None
        same = live is not None and (live.resource_id, live.cls) == (node.resource_id, node.cls)
        return live if same else None

    async def _do(self, act: Callable[[Node], bool], node: UiNode) -> bool:
        live = self._node(node)
        return live is not None and act(live)

    async def click(self, node: UiNode) -> bool:
        return await self._do(self._device.ui.click, node)

    async def long_click(self, node: UiNode) -> bool:
        return await self._do(self._device.ui.long_click, node)

    async def focus(self, node: UiNode) -> bool:
        return await self._do(self._device.ui.focus, node)

    async def select(self, node: UiNode) -> bool:  # noqa: ARG002 - no view of the simulator can be selected
        return False

    async def set_text(self, node: UiNode, text: str) -> bool:
        return await self._do(lambda live: self._device.ui.set_text(live, text), node)

    async def press(self, x: int, y: int, duration_ms: int, *, node: UiNode | None = None) -> bool:  # noqa: ARG002 -- a point is enough
        await self._clock.sleep(duration_ms / 1000)
        (self._device.ui.hold if duration_ms >= 500 else self._device.ui.tap)(x, y)
        return True

    async def swipe(
        self,
        x1: int,
        y1: int,
        x2: int,
        y2: int,
        duration_ms: int,
        *,
        within: UiNode | None = None,
    ) -> bool:
        if within is None and not (self._on_display(x1, y1) and self._on_display(x2, y2)):
            return False
        await self._clock.sleep(duration_ms / 1000)
        self._device.ui.swipe(x1, y1, x2, y2)
        return True

    def _on_display(self, x: int, y: int) -> bool:
        width, height = self._device.ui.display
        return 0 <= x < width and 0 <= y < height

    async def drag(self, start: tuple[int, int], end: tuple[int, int], hold_ms: int, move_ms: int) -> bool:
        if self._device.sdk < _DRAG_SDK:
            raise PlanFailure("GESTURE_UNSUPPORTED: drag needs API 26")
        return await self.swipe(*start, *end, hold_ms + move_ms)

    async def perform(self, name: str, values: Mapping[str, Any]) -> ActionResult:
        listener = listener_of(self._service.partition("/")[0])
        return await self._device.app_actions.perform(name, values, listener, self._clock)

    async def key(self, name: str) -> bool:
        if not self._device.accessibility.bound(self._service):
            raise PlanFailure("OperatorAccessibilityService is not running - cannot execute press_key")
        self._device.input.global_action(name)
        return True

    async def launch(self, package: str) -> bool:
        television = self._device.scenario.of_device("leanback_only", package=package)
        return television is None and self._device.activities.launch(
            package
        )  # getLaunchIntentForPackage does not know its entry

    async def open_uri(self, uri: str) -> bool:
        return self._device.activities.view(uri)

    async def developer_settings(self) -> tuple[bool, bool]:
        values = self._device.settings["global"]
        return values.get("development_settings_enabled") == "1", values.get("adb_enabled") == "1"

    async def readiness(self) -> Mapping[str, bool]:
        device = self._device
        if not at_least(self._generation, "0.9"):
            return {}
        return {"screen_on": device.ui.awake, "device_locked": device.locked, "user_unlocked": device.user_unlocked}

    async def record(self, command: str, session_id: str) -> Mapping[str, str]:
        return self._recorder.command(command, session_id)
