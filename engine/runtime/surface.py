"""What an action needs of a device: little enough that a phone without our app, and a simulated one, can both give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from clawperator.engine.hierarchy.tree import UiNode, UiTree
from clawperator.engine.runtime.outcome import ActionResult


class Surface(Protocol):
    """One device's active window and its inputs.

    Methods that act return whether the platform accepted the input, not whether the app reacted. Losing the device raises an
    exception of the implementation's own, which passes through every action.
    """

    async def dump(self) -> UiTree | None:
        """The active window now; ``None`` when it has no root (screen off, secure window, transition)."""

    async def snapshot(self, step_id: str) -> Mapping[str, str] | None:
        """Hand the window's XML to the caller of the plan in the surface's own way; facts about windows, or ``None`` as above."""

    async def foreground(self) -> str:
        """Package of the active window, empty when unknown."""

    async def click(self, node: UiNode) -> bool:
        """The click action of exactly this node."""

    async def long_click(self, node: UiNode) -> bool: ...

    async def focus(self, node: UiNode) -> bool: ...

    async def select(self, node: UiNode) -> bool: ...

    async def set_text(self, node: UiNode, text: str) -> bool:
        """Replace the whole content of an editable node."""

    async def press(self, x: int, y: int, duration_ms: int, *, node: UiNode | None = None) -> bool:
        """A finger at one point for so long; it is for ``node``, in which a surface may choose another one."""

    async def swipe(
        self, x1: int, y1: int, x2: int, y2: int, duration_ms: int, *, within: UiNode | None = None
    ) -> bool:
        """A finger along a line; ``within`` is what it scrolls."""

    async def drag(self, start: tuple[int, int], end: tuple[int, int], hold_ms: int, move_ms: int) -> bool:
        """A finger that holds, then moves. Raises ``PlanFailure`` where the device cannot."""

    async def perform(self, name: str, values: Mapping[str, Any]) -> ActionResult:
        """Carry out what the app alone can do (``app_actions``)."""

    async def key(self, name: str) -> bool:
        """``back``, ``home`` or ``recents``."""

    async def launch(self, package: str) -> bool:
        """Start the launcher entry of a package; false when it has none."""

    async def open_uri(self, uri: str) -> bool:
        """View a URI; false when no app handles it."""

    async def developer_settings(self) -> tuple[bool, bool]:
        """Whether developer options and USB debugging are on."""

    async def readiness(self) -> Mapping[str, bool]:
        """``screen_on``, ``device_locked`` and ``user_unlocked``, from Operator 0.7 on."""

    async def record(self, command: str, session_id: str) -> Mapping[str, str]:
        """``start`` or ``stop`` a recording (wire.md#recording-files): its data keys, ``error`` among them when refused."""


class Clock(Protocol):
    """Time as the plan feels it. Injected, so that a simulation can run it faster and a test without any."""

    def now(self) -> float:
        """Seconds, monotonic."""

    async def sleep(self, seconds: float) -> None: ...
