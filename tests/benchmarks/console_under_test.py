"""The console on its terminal, with a device whose snapshots and log are told from outside: ``console_under_test.py FD NODES``.

``FD`` is a socket to the test. One word a line is asked there, one JSON object a line answers:

``snapshot``  publish a new tree; ``at`` is the instant just before (``time.monotonic``), ``label`` the text that no other tree has
``load``      from now on log a thousand lines and publish two trees a second
``cpu``       ``seconds`` of CPU that this process has used

``NODES`` > 0 is the size of the trees of an invented device, of which nothing happens unasked. With 0 the engine is the
real one and the device whatever the adb server of this environment has; nothing can be published then.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import time
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from clawperator.app.console.app import run_async
from clawperator.engine.events import SnapshotSeen
from clawperator.engine.facade import Engine
from clawperator.engine.hierarchy.serialise import RenderNode, hierarchy_xml
from clawperator.engine.settings import Settings
from tests.app.console.support import CHECKS_OK, DEVICE, FakeEngine, log_lines, view

LINES_PER_SECOND: Final = 1_000
SNAPSHOTS_PER_SECOND: Final = 2
LOG_BEAT: Final = 0.01
_PER_CARD: Final = 5
_PLACE: Final = "Snapshot No."
_CARD_HEIGHT: Final = 160


class Screens:
    """Dumps of a list of cards, ``nodes`` nodes each: every one has a label of its own, and the list is scrolled to and fro."""

    def __init__(self, nodes: int) -> None:
        self._numbers = count(1)
        self._dumps = [hierarchy_xml(_screen(nodes, first)) for first in (0, 1)]

    def next(self) -> tuple[str, str]:
        """The label and the dump of a new tree."""
        number = next(self._numbers)
        label = f"Snapshot {number:04}"
        return label, self._dumps[number % 2].replace(_PLACE, label)


def _screen(nodes: int, first: int) -> RenderNode:
    cards, singles = divmod(nodes - 3, _PER_CARD)
    rows = [_card(first + place, 200 + place * _CARD_HEIGHT) for place in range(cards)]
    rest = [view("TextView", "[0,2300][1080,2340]", text=f"Footnote {place}") for place in range(singles)]
    title = view("TextView", "[0,0][1080,200]", text=_PLACE, resource_id="number")
    cards_list = view(
        "androidx.recyclerview.widget.RecyclerView", "[0,200][1080,2340]", *rows, resource_id="list", scrollable=True
    )
    return view("FrameLayout", "[0,0][1080,2340]", title, cards_list, *rest)


def _card(number: int, top: int) -> RenderNode:
    """Five nodes."""
    bounds = f"[0,{top}][1080,{top + _CARD_HEIGHT}]"
    texts = view(
        "LinearLayout",
        bounds,
        view("TextView", bounds, text=f"Item {number}", resource_id="title"),
        view("TextView", bounds, text=f"Detail of item {number} & its “neighbours”", resource_id="summary"),
    )
    return view(
        "LinearLayout", bounds, view("ImageView", bounds, resource_id="icon"), texts, resource_id="card", clickable=True
    )


class Script:
    """Does what the test asks."""

    def __init__(self, engine: FakeEngine, screens: Screens) -> None:
        self._engine = engine
        self._screens = screens
        self._group: asyncio.TaskGroup | None = None

    async def serve(self, connection: socket.socket) -> None:
        """Until the test hangs up; a console that nobody tests any more is of no use, and nobody would end it."""
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            async with asyncio.TaskGroup() as self._group:
                while word := (await reader.readline()).decode().strip():
                    answer = getattr(self, f"_{word}")()
                    writer.write(json.dumps(answer).encode() + b"\n")
                signal.raise_signal(signal.SIGTERM)
        finally:
            writer.close()

    def _cpu(self) -> dict[str, Any]:
        return {"seconds": time.process_time()}

    def _snapshot(self) -> dict[str, Any]:
        label, xml = self._screens.next()
        at = time.monotonic()
        self._engine.publish(
            SnapshotSeen(device_id=DEVICE.serial, command_id="agent-1", step_id="s1", xml=xml, at=time.time())
        )
        return {"at": at, "label": label}

    def _load(self) -> dict[str, Any]:
        assert self._group is not None
        self._group.create_task(self._keep_logging())
        self._group.create_task(self._keep_changing())
        return {}

    async def _keep_logging(self) -> None:
        started, sent = time.monotonic(), 0
        while True:
            await asyncio.sleep(LOG_BEAT)
            due = int((time.monotonic() - started) * LINES_PER_SECOND) - sent
            self._engine.log(log_lines(due, start=sent))
            sent += due

    async def _keep_changing(self) -> None:
        while True:
            self._snapshot()
            await asyncio.sleep(1 / SNAPSHOTS_PER_SECOND)


async def main(connection: socket.socket, nodes: int) -> int:
    async with AsyncExitStack() as stack:
        if not nodes:
            engine: Any = await stack.enter_async_context(Engine(Settings.resolve()))
            script = Script(engine, Screens(10))
        else:
            screens = Screens(nodes)
            engine = FakeEngine(screen=screens.next()[1], checks=CHECKS_OK, now=time.time)
            script = Script(engine, screens)
        serving = asyncio.create_task(script.serve(connection))
        try:
            return await run_async(engine)
        finally:
            serving.cancel()
            await asyncio.wait({serving})


if __name__ == "__main__":
    sys.exit(asyncio.run(main(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))))
