"""Draw docs/console.svg: the running console on the built-in simulated device. ``python docs/picture.py``.

The picture carries its layout as a comment: the frames, titles, modes and keys, without what differs from run to run. A
test draws the scene again and compares the layouts, so a picture of an older console is noticed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from clawperator.app.cli.simulators import one_device
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.session import Facet
from clawperator.engine import Engine

PICTURE = Path(__file__).with_name("console.svg")
SETTINGS = "com.android.settings"
WIFI = {"textEquals": "Network & internet"}
SECONDS = 60.0
_FRAME = "─━│┃╭╮╰╯┏┓┗┛"
_EDGE = re.compile(r"[╭┏╰┗]")


def plan(name: str, *actions: dict[str, Any]) -> dict[str, Any]:
    return {
        "commandId": name,
        "taskId": "tour",
        "source": "openclaw",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 10_000,
        "actions": [{"id": f"s{number}", **action} for number, action in enumerate(actions, 1)],
    }


async def until(pilot: Pilot[int], holds: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not holds():
            await pilot.pause(0.05)


def layout(app: ConsoleApp) -> str:
    """Return the frames with their titles, the modes and the keys that are shown."""
    strips = app.screen._compositor.render_strips()  # noqa: SLF001  # Textual has no public way
    rows = ["".join(segment.text for segment in strip) for strip in strips]
    kept = [rows[0].partition("Devices")[0] + "Devices"]
    for row in rows[1:-1]:
        whole = bool(_EDGE.search(row))
        kept.append("".join(cell if whole or cell in _FRAME else " " for cell in row).rstrip())
    return re.sub(r"\d+", "0", "\n".join([*kept, rows[-1].rstrip()])).replace("-", "‐")


async def draw() -> tuple[str, str]:
    """Return the picture and its layout."""
    async with one_device() as settings, Engine(settings) as engine:
        app = ConsoleApp(engine, demo=True)
        async with app.run_test(size=(120, 36)) as pilot:
            log = app.session.log
            await until(pilot, lambda: app.session.trees.shown and app.session.report.ended)
            report = app.session.report  # without the programs of this computer
            checks = tuple(check for check in report.checks if not str(check["id"]).startswith("host."))
            app.session.report = replace(report, checks=checks)
            app.show(Facet.EVERYTHING)
            retry = {"maxAttempts": 1}
            for payload in (
                plan("open-settings", {"type": "open_app", "params": {"applicationId": SETTINGS}}),
                plan("toggle-wifi", {"type": "click", "params": {"matcher": WIFI}}, {"type": "snapshot_ui"}),
                plan(
                    "buy-milk",
                    {"type": "click", "params": {"matcher": {"textEquals": "Add to basket"}, "retry": retry}},
                ),
            ):
                await engine.execute(payload)
                name = payload["commandId"]
                await until(pilot, lambda name=name: (run := log.find(name)) is not None and run.over)  # type: ignore[misc]
            await until(pilot, lambda: app.session.trees.shown.command_id == "toggle-wifi")
            await pilot.press("slash", *"wi", "enter")
            await until(pilot, lambda: not app.session.work and app.screen.query_one("#tree").has_focus)
            await pilot.pause(0.5)  # the panes that follow the cursor
            return app.export_screenshot(title="clawperator"), layout(app)


def stored_layout() -> str:
    """Return the layout that the stored picture was drawn with."""
    found = re.search(r"<!-- layout\n(.*?)\n-->", PICTURE.read_text(encoding="utf-8"), re.DOTALL)
    return found[1] if found else ""


async def main() -> None:
    picture, drawn = await draw()
    before, end, after = picture.rpartition("</svg>")
    PICTURE.write_text(f"{before}<!-- layout\n{drawn}\n-->\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
