"""The console on its terminal, with a device whose snapshots and log are told from outside: ``console_under_test.py FD NODES``.

``FD`` is a socket to the test. One word a line is asked there, one JSON object a line answers:

``snapshot``  publish a new tree; ``at`` is the instant just before (``time.monotonic``), ``label`` the text that no other tree has
``load N``    from now on log N thousand lines and publish 2 N trees a second
``heart``     how late a timer of ten milliseconds came since the last ``heart``, in seconds: ``lags``; the first one starts it
``stream``    what the console keeps of the log: ``end`` and ``first`` of its ring, ``dropped``, and of the phone's numbered lines
              the ``last`` one, and how many before it are ``missing``
``memory``    ``peak`` of what this process had in memory, in megabytes
``fill N``    put so many invented lines into the ring, in the batches in which a stream brings them

``NODES`` > 0 is the size of the trees of an invented device, of which nothing happens unasked. With 0 the engine is the
real one and the device whatever the adb server of this environment has; nothing can be published then.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from clawperator.app.console import app as console_app
from clawperator.app.console.session import Session
from clawperator.app.console.start import run_async
from clawperator.engine.config.settings import Settings
from clawperator.engine.events.types import SnapshotSeen
from clawperator.engine.facade import Engine
from clawperator.engine.hierarchy.serialise import RenderNode, hierarchy_xml
from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.models.line_ring import LineRing
from tests.app.console.support import CHECKS_OK, DEVICE, FakeEngine, log_lines, view
from tests.benchmarks.phone import TAGS, WORDS

LINES_PER_SECOND: Final = 1_000
SNAPSHOTS_PER_SECOND: Final = 2
LOG_BEAT: Final = 0.01
BEAT: Final = 0.01
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


class CountingRing(LineRing):
    """Knows which of the phone's numbered lines never came: of each batch the first, the last, and how many there are."""

    last, missing = -1, 0

    def extend(self, entries: Sequence[LogEntry], device_id: str = "") -> Sequence[int]:
        numbered = [entry for entry in entries if entry.payload.startswith(b"line ")]
        if numbered:
            first, last = (int(entry.payload.split(b" ", 2)[1]) for entry in (numbered[0], numbered[-1]))
            self.missing += last - self.last - len(numbered)
            assert first > self.last
            self.last = last
        return super().extend(entries, device_id)


class Known(Session):
    """What the console knows, for the test to look at."""

    now: Known

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.lines: CountingRing = CountingRing(self.lines.capacity)
        Known.now = self

    def panes(self) -> list[EnvelopeLog]:
        """What shows the lines."""
        return [pane for pane in gc.get_objects() if isinstance(pane, EnvelopeLog)]


def _long_line(number: int) -> LogEntry:
    """As long as the lines of real devices are on average."""
    clock = 1_700_000_000_000_000_000 + number * 1_000_000
    message = f"line {number} {WORDS}"
    return LogEntry(
        "DIWEV"[number % 5], TAGS[number % 40], message.encode(), number % 90, number % 300, 1000, clock, "main"
    )


class Script:
    """Does what the test asks."""

    def __init__(self, engine: FakeEngine, screens: Screens) -> None:
        self._engine = engine
        self._screens = screens
        self._group: asyncio.TaskGroup | None = None
        self._lags: list[float] = []
        self._beats = False

    async def serve(self, connection: socket.socket) -> None:
        """Until the test hangs up; a console that nobody tests any more is of no use, and nobody would end it."""
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            async with asyncio.TaskGroup() as self._group:
                while words := (await reader.readline()).decode().split():
                    answer = getattr(self, f"_{words[0]}")(*words[1:])
                    writer.write(json.dumps(answer).encode() + b"\n")
                signal.raise_signal(signal.SIGTERM)
        finally:
            writer.close()

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + BEAT
            await asyncio.sleep(BEAT)
            self._lags.append(max(0.0, loop.time() - due))

    def _heart(self) -> dict[str, Any]:
        if not self._beats and self._group is not None:  # from here on: a hundred beats a second are no idling
            self._beats = True
            self._group.create_task(self._beat())
        lags, self._lags = self._lags, []
        return {"lags": lags}

    def _stream(self) -> dict[str, Any]:
        ring, dropped = Known.now.lines, Known.now.dropped
        return {"end": ring.end, "first": ring.first, "dropped": dropped, "last": ring.last, "missing": ring.missing}

    def _memory(self) -> dict[str, Any]:
        """The peak of this program alone: what ``getrusage`` reports on Linux includes the process that forked it."""
        with suppress(OSError):
            return {"peak": int(Path("/proc/self/status").read_bytes().partition(b"VmHWM:")[2].split()[0]) / 1024}
        return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}

    def _fill(self, count: str) -> dict[str, Any]:
        known = Known.now
        known.lines = CountingRing(int(count))
        for start in range(0, int(count), 500):
            known.lines.extend([_long_line(number) for number in range(start, start + 500)], DEVICE.serial)
        for pane in known.panes():
            pane.show(known.log, known.lines)
        return {"end": known.lines.end}

    def _snapshot(self) -> dict[str, Any]:
        label, xml = self._screens.next()
        at = time.monotonic()
        self._engine.publish(
            SnapshotSeen(device_id=DEVICE.serial, command_id="agent-1", step_id="s1", xml=xml, at=time.time())
        )
        return {"at": at, "label": label}

    def _load(self, speed: str) -> dict[str, Any]:
        assert self._group is not None
        self._group.create_task(self._keep_logging(LINES_PER_SECOND * int(speed)))
        self._group.create_task(self._keep_changing(SNAPSHOTS_PER_SECOND * int(speed)))
        return {}

    async def _keep_logging(self, per_second: int) -> None:
        started, sent = time.monotonic(), 0
        while True:
            await asyncio.sleep(LOG_BEAT)
            due = int((time.monotonic() - started) * per_second) - sent
            self._engine.log(log_lines(due, start=sent))
            sent += due

    async def _keep_changing(self, per_second: int) -> None:
        while True:
            self._snapshot()
            await asyncio.sleep(1 / per_second)


async def main(connection: socket.socket, nodes: int) -> int:
    vars(console_app)["Session"] = Known  # the one that this console makes
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
