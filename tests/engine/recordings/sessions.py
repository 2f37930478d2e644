"""Recordings to test with: what a simulated Operator writes while somebody uses the simulated apps."""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

from clawperator.engine.recordings.reader import read_recording
from clawperator.engine.recordings.records import Recording
from clawperator.engine.simulator.apps.layout import Node
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.scenario import Scenario

SHOP = "com.example.shop"
SETTINGS = "com.android.settings"


class Person:
    """Somebody at a device: taps what they see, by id or label."""

    def __init__(self, device: SimulatedDevice) -> None:
        self.device = device

    def find(self, name: str) -> Node:
        """The first visible node whose id ends so, or whose text or description is this."""
        for node in self.device.ui.window().nodes:
            names = (node.resource_id.rpartition("/")[2], node.view.text, node.view.desc)
            if name in names and not node.seen.empty:
                return node
        raise LookupError(name)

    def tap(self, *names: str) -> None:
        for name in names:
            self.device.ui.tap(*self.find(name).seen.center)

    async def type(self, *texts: str) -> None:
        for text in texts:
            self.device.input.type_text(text)

    async def back(self) -> None:
        if self.device.ui.keyboard_shown:
            self.device.input.key("ESCAPE")  # the first Back would only close the keyboard
        self.device.input.key("BACK")

    def scroll(self, distance: int, name: str = "recycler_view") -> None:
        self.device.ui.scroll(self.find(name), distance)


async def record(act: Callable[[Person], Awaitable[None]], **scenario: Any) -> bytes:
    """The file that the Operator writes while ``act`` happens on a fresh device."""
    device = create_device(Scenario.model_validate({"speed": 0, **scenario}), generation="0.5")
    recorder = next(iter(device.operators.values())).recorder
    started = recorder.command("start", "session-1")
    await act(Person(device))
    assert "error" not in recorder.command("stop", "")
    return device.files.read(started["filePath"])


def reading(data: bytes) -> Recording:
    return read_recording(io.BytesIO(data), "session-1.ndjson")


def lines(*events: dict[str, Any], header: dict[str, Any] | None = None) -> bytes:
    """A recording of one's own: ``seq`` and ``ts`` are filled in."""
    head = {
        "type": "recording_header",
        "schemaVersion": 1,
        "sessionId": "session-1",
        "startedAt": 1_700_000_000_000,
        "operatorPackage": "com.clawperator.operator",
        **(header or {}),
    }
    numbered = [{"ts": number, "seq": number, **event} for number, event in enumerate(events, 1)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in (head, *numbered))


def screen(*nodes: str, package: str = SHOP) -> str:
    """A dump of one column of nodes; ``node`` makes one."""
    root = f'<node index="0" class="android.widget.FrameLayout" package="{package}" bounds="[0,0][1080,2400]">'
    return f'<hierarchy rotation="0">{root}{"".join(nodes)}</node></hierarchy>'


def node(top: int = 0, *, cls: str = "android.widget.TextView", package: str = SHOP, **attributes: str) -> str:
    """One node, 100 pixels high; ``_`` in names stands for ``-``."""
    given = {name.replace("_", "-"): value for name, value in attributes.items()}
    known = {"class": cls, "package": package, "clickable": "true", "enabled": "true", **given}
    known["bounds"] = f"[0,{top}][1080,{top + 100}]"
    from xml.sax.saxutils import quoteattr

    return f"<node {' '.join(f'{name}={quoteattr(value)}' for name, value in known.items())} />"


def click(top: int = 0, snapshot: str | None = None, *, package: str = SHOP, **names: str | None) -> dict[str, Any]:
    """A click event on what ``node(top)`` made."""
    bounds = {"left": 0, "top": top, "right": 1080, "bottom": top + 100}
    nothing = {"resourceId": None, "text": None, "contentDesc": None}
    return {"type": "click", "packageName": package, **nothing, **names, "bounds": bounds, "snapshot": snapshot}


def window(snapshot: str | None = None, *, package: str = SHOP) -> dict[str, Any]:
    return {"type": "window_change", "packageName": package, "className": None, "title": None, "snapshot": snapshot}


def typed(text: str, *, package: str = SHOP) -> dict[str, Any]:
    return {"type": "text_change", "packageName": package, "resourceId": None, "text": text, "snapshot": None}
