"""Log output of the device's other processes."""

from __future__ import annotations

import asyncio
from random import Random

from clawperator.engine.simulator.log_buffer import LogBuffer

SYSTEM_UID = 1000
TICK_S = 0.1
_LINES = (
    ("wificond", "D", "Received scan results: 11 networks"),
    ("ActivityManager", "I", "Slow operation: 52ms so far, now at attachApplicationLocked"),
    ("SurfaceFlinger", "W", "Dequeue buffer timed out, retrying"),
    ("GnssLocationProvider", "D", "[Navigation] heartbeat state=idle"),
    ("chatty", "I", "uid=1000(system) identical 3 lines"),
    ("ConnectivityService", "D", "requestNetwork for uid/pid:10121/2241 NetworkRequest [ LISTEN id=42 ]"),
)


class Noise:
    """Lines of system processes: the same ones for the same seed."""

    def __init__(self, log: LogBuffer, seed: int) -> None:
        self._log = log
        self._random = Random(seed)

    def line(self) -> None:
        tag, level, message = self._random.choice(_LINES)
        pid = 600 + len(tag)
        tid = pid + self._random.randrange(9)
        self._log.write(pid=pid, tid=tid, uid=SYSTEM_UID, level=level, tag=tag, message=message)

    def system(self, tag: str, message: str) -> None:
        """A line of the system server's, in the system buffer."""
        self._log.write(pid=601, tid=623, uid=SYSTEM_UID, level="I", tag=tag, message=message, buffer="system")

    def zygote(self, message: str) -> None:
        """A line of the parent of all apps."""
        self._log.write(pid=353, tid=353, uid=0, level="I", tag="Zygote", message=message)

    async def keep_on(self, per_second: float) -> None:
        """Log at this rate of the real clock, ten times a second or line by line. After a stall it catches up."""
        loop = asyncio.get_running_loop()
        started, written = loop.time(), 0
        while True:
            await asyncio.sleep(max(TICK_S, 1 / per_second))
            due = int((loop.time() - started) * per_second) - written
            for _ in range(due):
                self.line()
            written += due
