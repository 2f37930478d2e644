"""``uiautomator dump`` of a simulated device."""

from __future__ import annotations

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.platform import Platform

IDLE_LIMIT_S = 10
NOT_IDLE = "ERROR: could not get idle state."
NULL_ROOT = "ERROR: null root node returned by UiTestAutomationBridge."


def dump_hierarchy(platform: Platform) -> str:
    """XML as ``uiautomator dump`` writes it. Raises ``CommandError`` with status 0 as android-facts 7a."""
    window = platform.accessibility.readable_window()
    if window is None:
        raise CommandError(NULL_ROOT, 0)
    if not window.screen.idle:
        raise CommandError(NOT_IDLE, 0)
    return window.uiautomator_xml()


async def uiautomator_dump(platform: Platform) -> str:
    """The same in its own time: a quiet second, or ten in vain; accessibility services are unbound meanwhile (7e)."""
    if platform.accessibility.ui_automation_held:  # one client at a time (android-facts 7f)
        raise CommandError("Killed", 137)
    latency, clock = platform.scenario.latency_ms, platform.clock
    resting = platform.ui.window().screen.idle
    needed = latency.uiautomator / 1000 if resting else IDLE_LIMIT_S
    if clock.speed:
        platform.accessibility.suspend(needed + latency.rebind / 1000)
    await clock.sleep(needed)
    return dump_hierarchy(platform)
