"""One record of the device's log, cheap to make and to keep.

Thousands arrive per second and a reader may keep a hundred thousand, while few are ever displayed. So an entry is one
tuple around the device's bytes; text and times are computed on access.
"""

from __future__ import annotations

import calendar
import math
import re
from typing import NamedTuple

UNKNOWN = -1
"""A pid, tid or uid which the format does not carry."""

_STAMP = re.compile(
    rb"(?:(?P<year>\d{4})-)?(?P<month>\d\d)-(?P<day>\d\d) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    rb"(?P<fraction>\.\d+)?(?: (?P<sign>[+-])(?P<zone_hours>\d\d)(?P<zone_minutes>\d\d))?"
)
_LONGEST_EPOCH = 12
"""Digits of seconds."""
_FIRST_EPOCH = 100_000_000
"""Seconds: a bare number below is time since boot (``-v monotonic``); no device runs for three years."""


class LogEntry(NamedTuple):
    """``level`` one of ``VDIWEFS``, ``tag`` without padding, ``pid``/``tid``/``uid`` -1 where the format has none.

    ``payload`` is the message as the device sent it; ``message`` reads it as text. ``clock`` is the stamp as printed
    (text formats) or nanoseconds since the epoch (binary); read it through ``stamp``, ``time``, ``nanoseconds``.
    ``buffer`` is the log buffer where the stream names it. Two reads of one record compare equal.
    """

    level: str
    tag: str
    payload: bytes
    pid: int = UNKNOWN
    tid: int = UNKNOWN
    uid: int = UNKNOWN
    clock: bytes | int = b""
    buffer: str = ""

    @classmethod
    def create(
        cls,
        message: str,
        *,
        level: str = "I",
        tag: str = "",
        pid: int = UNKNOWN,
        tid: int = UNKNOWN,
        uid: int = UNKNOWN,
        clock: bytes | int = b"",
        buffer: str = "",
    ) -> LogEntry:
        """An entry from text instead of device bytes: for tests, demos and notes of the host."""
        return cls(level, tag, message.encode("utf-8", "replace"), pid, tid, uid, clock, buffer)

    @property
    def message(self) -> str:
        return decode(self.payload)

    @property
    def is_note(self) -> bool:
        """A line of the stream that is no record: divider, text of a tool, cut or wrapped line, skipped bytes."""
        return self.level == "S" and self.pid == UNKNOWN and not self.tag

    @property
    def stamp(self) -> str:
        """The time as logcat printed it; empty for binary records and formats without one."""
        return "" if isinstance(self.clock, int) else self.clock.decode("ascii", "replace")

    @property
    def nanoseconds(self) -> int:
        """Exact time of the record since the epoch, or -1 where the format carries no year (see ``time``)."""
        return self.clock if isinstance(self.clock, int) else _epoch_nanoseconds(self.clock)

    @property
    def time(self) -> float:
        """Seconds since the epoch; nan where the format has neither year nor epoch.

        A year without a zone is read as UTC: the device's zone is not in the line.
        """
        nanoseconds = self.nanoseconds
        return math.nan if nanoseconds < 0 else nanoseconds / 1e9


def note(text: bytes, buffer: str = "") -> LogEntry:
    """An entry for a line that is no record (``LogEntry.is_note``), so that it stays visible in its place."""
    return LogEntry("S", "", text, buffer=buffer)


def decode(payload: bytes) -> str:
    """Device bytes as text, with replacement characters for invalid UTF-8.

    Java writes half a surrogate pair as three bytes. Two adjacent halves become one character; a lone half becomes one
    replacement character, so that lengths in UTF-16 units equal the device's.
    """
    try:
        return payload.decode()
    except UnicodeDecodeError:
        pass
    try:
        text = payload.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return payload.decode("utf-8", "replace")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def utf16_units(payload: bytes) -> int:
    """Length as Java counts it, which is how the Operator cuts its long lines (wire.md#log-lines)."""
    if payload.isascii():
        return len(payload)
    text = decode(payload)
    return len(text) + sum(character > "\uffff" for character in text)


def _epoch_nanoseconds(stamp: bytes) -> int:
    found = _STAMP.fullmatch(stamp)
    if found is None:
        return _bare_nanoseconds(stamp)
    if found["year"] is None:
        return -1
    month, day = int(found["month"]), int(found["day"])
    if not (1 <= month <= 12 and 1 <= day <= 31 and int(found["year"])):
        return -1
    clock = (int(found["year"]), month, day, int(found["hour"]), int(found["minute"]), int(found["second"]))
    seconds = calendar.timegm(clock)
    if found["sign"]:
        offset = int(found["zone_hours"]) * 3600 + int(found["zone_minutes"]) * 60
        seconds += offset if found["sign"] == b"-" else -offset
    return max(-1, seconds * 1_000_000_000 + _fraction_nanoseconds(found["fraction"] or b"."))


def _bare_nanoseconds(stamp: bytes) -> int:
    whole, point, fraction = stamp.strip().partition(b".")
    if (
        not (point and whole.isdigit() and fraction.isdigit() and len(whole) <= _LONGEST_EPOCH)
        or int(whole) < _FIRST_EPOCH
    ):
        return -1
    return int(whole) * 1_000_000_000 + _fraction_nanoseconds(b"." + fraction)


def _fraction_nanoseconds(fraction: bytes) -> int:
    return int(fraction[1:10].ljust(9, b"0"))
