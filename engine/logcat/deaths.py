"""Lines that say that a process ends, in the words of Android 5 to 16. Pure."""

from __future__ import annotations

import re

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.signals import DeathSignal

_ZYGOTE_UID = 0
_EXITED = re.compile(rb"Process (\d{1,9}) exited ", re.ASCII)
_LAST_WORDS = {"AndroidRuntime": b"FATAL EXCEPTION", "libc": b"Fatal signal "}
"""What a process says of itself before it ends, by tag: an exception that nothing caught, a signal."""
DEATH_BYTES = (b"FA", b"Fa", b"Pr")
"""How the lines of this module begin."""


def read_death(entry: LogEntry) -> DeathSignal | None:
    """The end of a process, from its own last words or from its parent (``Zygote``), else ``None``.

    A process is believed about itself: logd, not the writer, notes the pid. The parent is believed as root only, so not where
    entries carry no uid (Android before 7): any app may write its tag.
    """
    if entry.tag == "Zygote":
        found = _EXITED.match(entry.payload) if entry.uid == _ZYGOTE_UID else None
        pid = int(found[1]) if found else -1
    else:
        words = _LAST_WORDS.get(entry.tag)
        pid = entry.pid if words and entry.payload.startswith(words) else -1
    return DeathSignal(pid, entry) if pid > 0 else None
