"""Print log entries as ``logcat`` does: the formats of ``-v`` and their modifiers. Pure: records in, bytes out.

The formats are the platform's (wire.md#log-lines): every line of a message gets the prefix again, except in ``long``; tags
are padded to 8; a uid is shown by its name where the name has at most five letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import Final

from clawperator.engine.simulator.filesystem import SYSTEM_NAMES
from clawperator.engine.simulator.log_buffer import BUFFER_NAMES, HEADER, LogRecord

FORMATS: Final = frozenset({"brief", "tag", "raw", "time", "threadtime", "long"})
MODIFIERS: Final = frozenset({"epoch", "uid", "year"})
MAX_PREFIX: Final = 127


class LogPrinter:
    """One ``logcat`` run's output. ``zone`` is the device's time zone."""

    def __init__(self, style: str, modifiers: Iterable[str] = (), *, zone: tzinfo = UTC) -> None:
        self.style = style
        chosen = frozenset(modifiers)
        self._zone = zone
        self._epoch, self._year, self._uid = "epoch" in chosen, "year" in chosen, "uid" in chosen
        self._second = -1
        self._stamp = ""
        self._known: tuple[int, bytes, bytes, bytes] = (-1, b"", b"", b"")
        self._known_edges = (b"", b"")
        self._begun: set[int] = set()

    def divider(self, buffer: int) -> bytes:
        """The line before the first entry of ``buffer``."""
        if buffer in self._begun:
            return b""
        self._begun.add(buffer)
        return f"--------- beginning of {BUFFER_NAMES[buffer]}\n".encode()

    def entry(self, record: LogRecord) -> bytes:
        tag, message = record.text()
        prefix, suffix = self._edges(record, tag)
        if b"\n" not in message or self.style == "long":
            return prefix + message + suffix
        return b"".join(prefix + line + suffix for line in message.removesuffix(b"\n").split(b"\n"))

    def _edges(self, record: LogRecord, tag: bytes) -> tuple[bytes, bytes]:
        """The text before and after each line; cached for adjacent records that differ in their message only."""
        key = record.time_ns // 1_000_000, record.frame[4:12], record.frame[20 : HEADER.size + 1], tag
        if key == self._known:
            return self._known_edges
        prefix, suffix = self._around(record, tag)
        self._known, self._known_edges = key, (prefix[:MAX_PREFIX], suffix)
        return self._known_edges

    def _around(self, record: LogRecord, tag: bytes) -> tuple[bytes, bytes]:
        pid, tid, _, uid = record.header()
        level = record.level.encode()
        user = _user(uid) if self._uid else b""
        match self.style:
            case "tag":
                return b"%b/%-8b: " % (level, tag), b"\n"
            case "raw":
                return b"", b"\n"
            case "time":
                return b"%b %b/%-8b(%b%5d): " % (self._time(record.time_ns), level, tag, user, pid), b"\n"
            case "long":
                stamp = self._time(record.time_ns)
                return b"[ %b %b%5d:%5d %b/%-8b ]\n" % (stamp, user, pid, tid, level, tag), b"\n\n"
            case "threadtime":
                user = user.replace(b":", b" ")
                stamp = self._time(record.time_ns)
                return b"%b %b%5d %5d %b %-8b: " % (stamp, user, pid, tid, level, tag), b"\n"
            case _:
                return b"%b/%-8b(%b%5d): " % (level, tag, user, pid), b"\n"

    def _time(self, time_ns: int) -> bytes:
        second, fraction = divmod(time_ns, 1_000_000_000)
        if second != self._second:
            self._second, self._stamp = second, self._calendar(second)
        return f"{self._stamp}.{fraction // 1_000_000:03d}".encode()

    def _calendar(self, second: int) -> str:
        if self._epoch:
            return f"{second:19d}"
        local = datetime.fromtimestamp(second, self._zone)
        return local.strftime("%Y-%m-%d %H:%M:%S" if self._year else "%m-%d %H:%M:%S")


def _user(uid: int) -> bytes:
    name = SYSTEM_NAMES.get(uid, "")
    return f"{name:>5}:".encode() if 0 < len(name) <= 5 else b"%5d:" % uid


def parse_time(text: str, zone: tzinfo, now_ns: int, *, sdk: int = 34) -> int | None:
    """The time of ``-t``/``-T`` in nanoseconds since the epoch; None for what the device's API level does not read (fact 2a)."""
    seconds, _, fraction = text.partition(".")
    if not re.fullmatch(r"\d{1,9}", fraction):
        return None
    nanoseconds = int(fraction.ljust(9, "0"))
    if re.fullmatch(r"\d{1,11}", seconds):
        return int(seconds) * 1_000_000_000 + nanoseconds if sdk >= 24 else None
    year = datetime.fromtimestamp(now_ns // 1_000_000_000, zone).year
    for style, head in (("%Y-%m-%d %H:%M:%S", f"{year}-"), ("%Y-%m-%d %H:%M:%S", "")):
        if head == "" and sdk < 24:
            continue
        try:
            moment = datetime.strptime(head + seconds, style).replace(tzinfo=zone)
            return int(moment.timestamp()) * 1_000_000_000 + nanoseconds
        except (ValueError, OverflowError):
            continue
    return None
