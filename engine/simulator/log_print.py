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

FORMATS: Final = frozenset({"brief", "process", "tag", "thread", "raw", "time", "threadtime", "long"})
MODIFIERS: Final = frozenset(
    {"color", "colour", "descriptive", "epoch", "monotonic", "nsec", "printable", "uid", "usec", "UTC", "year", "zone"}
)
MAX_PREFIX: Final = 127

_COLORS: Final = {"V": 231, "D": 75, "I": 40, "W": 166, "E": 196, "F": 196}
_UNPRINTABLE = re.compile(rb"[\x00-\x1f\x7f\\]")
_ESCAPES: Final = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r", 92: b"\\\\"}


class LogPrinter:
    """One ``logcat`` run's output. ``zone`` is the device's time zone; ``boot_ns`` is when its monotonic clock began."""

    def __init__(self, style: str, modifiers: Iterable[str] = (), *, zone: tzinfo = UTC, boot_ns: int = 0) -> None:
        self.style = style
        chosen = frozenset(modifiers)
        self._zone = UTC if "UTC" in chosen else zone
        self._show_zone = bool(chosen & {"zone", "UTC"})
        self._epoch, self._monotonic = "epoch" in chosen, "monotonic" in chosen
        self._year = "year" in chosen
        self._digits = 9 if "nsec" in chosen else 6 if "usec" in chosen else 3
        self._uid = "uid" in chosen
        self._color = bool(chosen & {"color", "colour"})
        self._printable = "printable" in chosen
        self._boot_ns = boot_ns
        self._second = -1
        self._stamp = ""
        self._offset = ""
        self._unit = 10 ** (9 - self._digits)
        self._known: tuple[int, bytes, bytes, bytes] = (-1, b"", b"", b"")
        self._known_edges = (b"", b"")
        self._begun: set[int] = set()
        self._buffer = -1

    def divider(self, buffer: int, *, switches: bool = False) -> bytes:
        """The line before an entry of ``buffer``, when it is the first of that buffer or, with ``switches``, of a run."""
        seen, previous = buffer in self._begun, self._buffer
        self._begun.add(buffer)
        self._buffer = buffer
        if seen and not (switches and buffer != previous):
            return b""
        return f"--------- {'switch to' if seen else 'beginning of'} {BUFFER_NAMES[buffer]}\n".encode()

    def entry(self, record: LogRecord) -> bytes:
        tag, message = record.text()
        prefix, suffix = self._edges(record, tag)
        if self.style == "long":
            return prefix + (_printable(message) if self._printable else message) + suffix
        if b"\n" not in message and not self._printable:
            return prefix + message + suffix
        lines = message.removesuffix(b"\n").split(b"\n")
        if self._printable:
            lines = list(map(_printable, lines))
        return b"".join(prefix + line + suffix for line in lines)

    def _edges(self, record: LogRecord, tag: bytes) -> tuple[bytes, bytes]:
        """The text before and after each line; cached for adjacent records that differ in their message only."""
        key = record.time_ns // self._unit, record.frame[4:12], record.frame[20 : HEADER.size + 1], tag
        if key == self._known:
            return self._known_edges
        prefix, suffix = self._around(record, tag)
        if self._color:
            color = b"\x1b[38;5;%dm" % _COLORS.get(record.level, 231)
            prefix, suffix = color + prefix, b"\x1b[0m" + suffix
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
            case "process":
                return b"%b(%b%5d) " % (level, user, pid), b"  (%b)\n" % tag[: MAX_PREFIX - 5]
            case "thread":
                return b"%b(%b%5d:%5d) " % (level, user, pid, tid), b"\n"
            case "time":
                return b"%b %b/%-8b(%b%5d): " % (self._time(record.time_ns), level, tag, user, pid), b"\n"
            case "threadtime":
                user = user.replace(b":", b" ")
                stamp = self._time(record.time_ns)
                return b"%b %b%5d %5d %b %-8b: " % (stamp, user, pid, tid, level, tag), b"\n"
            case "long":
                stamp = self._time(record.time_ns)
                return b"[ %b %b%5d:%5d %b/%-8b ]\n" % (stamp, user, pid, tid, level, tag), b"\n\n"
            case _:
                return b"%b/%-8b(%b%5d): " % (level, tag, user, pid), b"\n"

    def _time(self, time_ns: int) -> bytes:
        if self._monotonic:
            time_ns = max(0, time_ns - self._boot_ns)
        second, fraction = divmod(time_ns, 1_000_000_000)
        if second != self._second:
            self._second = second
            self._stamp, self._offset = self._calendar(second)
        digits = f"{fraction:09d}"[: self._digits]
        return f"{self._stamp}.{digits}{self._offset}".encode()

    def _calendar(self, second: int) -> tuple[str, str]:
        if self._monotonic:
            return f"{second:6d}", ""
        if self._epoch:
            return f"{second:19d}", ""
        local = datetime.fromtimestamp(second, self._zone)
        stamp = local.strftime("%Y-%m-%d %H:%M:%S" if self._year else "%m-%d %H:%M:%S")
        return stamp, local.strftime(" %z") if self._show_zone else ""


def _user(uid: int) -> bytes:
    name = SYSTEM_NAMES.get(uid, "")
    return f"{name:>5}:".encode() if 0 < len(name) <= 5 else b"%5d:" % uid


def _printable(text: bytes) -> bytes:
    return _UNPRINTABLE.sub(lambda found: _ESCAPES.get(found[0][0]) or b"\\%03o" % found[0][0], text)


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
