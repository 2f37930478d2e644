"""Log lines about the end of a process on Android 5 to 16. Pure."""

from __future__ import annotations

import re

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.signals import DeathSignal

_ZYGOTE_UID = 0
_EXITED = re.compile(rb"Process (\d{1,9}) exited ", re.ASCII)
_LAST_WORDS = {"AndroidRuntime": b"FATAL EXCEPTION", "libc": b"Fatal signal "}
"""What a process logs before it ends, by tag: an uncaught exception, a signal."""
DEATH_BYTES = (b"FA", b"Fa", b"Pr")
"""Prefixes of the lines that this module reads."""


def read_death(entry: LogEntry) -> DeathSignal | None:
    """The end of a process, logged by itself or by its parent (``Zygote``), else ``None``.

    A process can only log about itself: logd records the pid. The parent is accepted as root only, so not where entries have
    no uid (Android before 7): any app may use its tag.
    """
    if entry.tag == "Zygote":
        found = _EXITED.match(entry.payload) if entry.uid == _ZYGOTE_UID else None
        pid = int(found[1]) if found else -1
    else:
        words = _LAST_WORDS.get(entry.tag)
        pid = entry.pid if words and entry.payload.startswith(words) else -1
    return DeathSignal(pid, entry) if pid > 0 else None
