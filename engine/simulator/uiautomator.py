"""``uiautomator dump`` of a simulated device."""

from __future__ import annotations

import asyncio

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.platform import Platform

IDLE_LIMIT_S = 10
_CHECKS = 4
"""Per second, of whether a moving screen has come to rest."""
NOT_IDLE = "ERROR: could not get idle state."
NULL_ROOT = "ERROR: null root node returned by UiTestAutomationBridge."


def dump_hierarchy(platform: Platform, *, compressed: bool = False) -> str:
    """XML as ``uiautomator dump`` writes it. Raises ``CommandError`` with status 0 as android-facts 7a."""
    window = platform.accessibility.readable_window()
    if window is None:
        raise CommandError(NULL_ROOT, 0)
    if not (window.screen.idle or compressed):
        raise CommandError(NOT_IDLE, 0)
    xml = window.uiautomator_xml()
    fault = platform.scenario.of_device("uiautomator_output")
    if fault is None or not fault.padding_kib:
        return xml
    return xml.replace('content-desc=""', f'content-desc="{"x" * (fault.padding_kib * 1024)}"', 1)


async def uiautomator_dump(platform: Platform, *, compressed: bool = False) -> str:
    """The same in its own time: a quiet second, or ten in vain; accessibility services are unbound meanwhile (7e).

    ``compressed``: what moves here is decoration, whose events do not count then.
    """
    if platform.accessibility.ui_automation_held:  # one client at a time (android-facts 7f)
        raise CommandError("Killed", 137)
    with platform.accessibility.ui_automation():
        for _ in range(IDLE_LIMIT_S * _CHECKS):
            if compressed or platform.ui.window().screen.idle:
                await platform.clock.sleep(platform.scenario.latency_ms.uiautomator / 1000)
                break
            await platform.clock.sleep(1 / _CHECKS)
        return dump_hierarchy(platform, compressed=compressed)


async def uiautomator_process(platform: Platform, pid: int, *, compressed: bool = False) -> str:
    """``uiautomator_dump`` as a process, which goes on when its shell is closed (4h). Raises ``CommandError`` too if it is killed."""
    ended: list[str | CommandError] = []

    async def work() -> None:
        try:
            ended.append(await uiautomator_dump(platform, compressed=compressed))
        except CommandError as exc:
            ended.append(exc)
        finally:
            platform.dumps.pop(pid, None)

    platform.dumps[pid] = task = platform.spawn(work())
    await asyncio.wait([task])
    result = ended[0] if ended else CommandError("Killed", 137)
    if isinstance(result, CommandError):
        raise result
    return result
