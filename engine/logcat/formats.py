"""The line formats of ``logcat -v …`` with all their modifiers, and their detection.

Modifiers need not be named: one stamp pattern reads a year, a zone, finer fractions, epoch and monotonic times, and a
uid is an optional column. ``color`` is removed before; ``descriptive`` only changes messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple, cast

Row = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]
"""Level, tag, message, pid, tid, uid, stamp, other: all empty but ``other`` for a line that is no record."""

_FIELDS = ("level", "tag", "message", "pid", "tid", "uid", "stamp", "other")
_CALENDAR = rb"(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,9}(?: [+-]\d{4})?"
_SECONDS = rb"\d{1,12}\.\d{3,9}"
_STAMP = rb" *(?P<stamp>" + _CALENDAR + rb"|" + _SECONDS + rb")"
_LEVEL = rb"(?P<level>[VDIWEFS])"
_PID, _TID, _UID = rb"(?P<pid>\d{1,10})", rb"(?P<tid>\d{1,10})", rb"(?P<uid>[\w.-]+)"
_HEX_TID = rb"(?P<tid>\d{1,10}|0x[0-9a-f]{1,8})"  # releases before Android 4 print it as 0x4d2 in these two formats
_OWNER = rb"\( *(?:" + _UID + rb": *)?" + _PID + rb"\)"  # "( 1234)", with uid "(10012: 1234)"
_COLON_TAG = rb"(?P<tag>[^:\n]*(?::(?![ \n])[^:\n]*)*): ?"
"""A tag ends at the first colon before a blank: it may hold other colons, blanks, brackets, or be empty."""
_OWNED_TAG = rb"(?P<tag>[^(\n]*(?:\((?! *(?:[\w.-]+: *)?\d+\):)[^(\n]*)*)" + _OWNER + rb": ?"
_MESSAGE = rb"(?P<message>.*)"

_LINES = {
    "threadtime": _STAMP
    + rb"(?: +"
    + _UID
    + rb")?? +"
    + _PID
    + rb" +"
    + _TID
    + rb" "
    + _LEVEL
    + rb" "
    + _COLON_TAG
    + _MESSAGE,
    "time": _STAMP + rb" " + _LEVEL + rb"/" + _OWNED_TAG + _MESSAGE,
    "brief": _LEVEL + rb"/" + _OWNED_TAG + _MESSAGE,
    "process": _LEVEL + _OWNER + rb" (?P<message>.*)  \((?P<tag>.*)\)",
    "thread": _LEVEL + rb"\( *(?:" + _UID + rb": *)?" + _PID + rb": *" + _HEX_TID + rb"\) " + _MESSAGE,
    "tag": _LEVEL + rb"/" + _COLON_TAG + _MESSAGE,
    "bare": _LEVEL + rb" " + _COLON_TAG + _MESSAGE,  # threadtime as pasted into reports, without its columns
}
_LONG_HEADER = (
    rb"\[" + _STAMP + rb" +(?:" + _UID + rb": *)?" + _PID + rb": *" + _HEX_TID + rb" " + _LEVEL + rb"/(?P<tag>.*?) *\]"
)
_DIVIDER = re.compile(rb"--------- (beginning of|switch to) (?:/dev/log/)?(\S+)$")
_SECTION = re.compile(rb"------ (?:(EVENT|RADIO) LOG|[A-Z]|[\d.]+s was the duration)")
_COLOUR = re.compile(rb"^\x1b\[[\d;]*m(?:(.*)\x1b\[0m((?:  \(.*\))?)|(.*))$", re.MULTILINE)
"""``process`` prints its tag behind the colour's end; in ``long`` the end is on the message's last line."""
COLOUR_END = b"\x1b[0m"


class LineFormat(NamedTuple):
    """``rows`` reads whole lines, each ending in LF, in bulk; ``pattern`` one of them."""

    name: str
    pattern: re.Pattern[bytes]
    rows: Callable[[bytes], Iterable[Row]]


def _reader(pattern: re.Pattern[bytes]) -> Callable[[bytes], Iterable[Row]]:
    """All groups of all matches at once, in the order of ``Row``: this decides the speed of the text parser."""
    place = pattern.groupindex
    pick = cast("Callable[[object], Row]", itemgetter(*(place.get(field, place["nothing"]) - 1 for field in _FIELDS)))
    findall = pattern.findall
    return lambda block: map(pick, findall(block))


def _line_format(name: str, line: bytes) -> LineFormat:
    pattern = re.compile(line + rb"\n|(?P<other>.*)\n(?P<nothing>)")
    return LineFormat(name, pattern, _reader(pattern))


RAW = _line_format("raw", rb"(?!)")
"""``-v raw`` carries nothing but messages, so every line is a note."""

LINE_FORMATS = {name: _line_format(name, line) for name, line in _LINES.items()} | {"raw": RAW}
LONG = "long"
FORMAT_NAMES = (*LINE_FORMATS, LONG)

_STAMPED = ("threadtime", "time")
"""Formats that a single line proves."""
_UNSTAMPED = ("brief", "process", "thread", "tag", "bare")
"""The others need a vote of several lines; of two that read the same lines, the earlier carries more."""

ALTERNATIVES = {name: tuple(LINE_FORMATS[other] for other in _STAMPED if other != name) for name in _STAMPED} | {
    name: tuple(LINE_FORMATS[other] for other in (*_STAMPED, "brief", "bare") if other != name) for name in _UNSTAMPED
}
"""Formats that may occur in a file of the given format: people paste several logs together."""

LONG_HEADER = re.compile(rb"^" + _LONG_HEADER + rb"\n", re.MULTILINE)
_FIRST_STAMPED = re.compile(
    rb"^(?:(?P<long>"
    + re.sub(rb"\?P<\w+>", b"?:", _LONG_HEADER)
    + rb")|(?P<threadtime>"
    + re.sub(rb"\?P<\w+>", b"?:", _LINES["threadtime"])
    + rb")|(?P<time>"
    + re.sub(rb"\?P<\w+>", b"?:", _LINES["time"])
    + rb"))\n",
    re.MULTILINE,
)


def find_stamped(block: bytes) -> tuple[str, int] | None:
    """Name and place of the first line that proves its format, in a block of whole lines."""
    found = _FIRST_STAMPED.search(block)
    return (cast("str", found.lastgroup), found.start()) if found else None


def vote(lines: list[bytes]) -> LineFormat:
    """The format without stamps that reads most lines, if it reads a third; ``RAW`` where none does."""
    counts = [sum(reads(LINE_FORMATS[name], line) for line in lines) for name in _UNSTAMPED]
    best = max(counts)
    return LINE_FORMATS[_UNSTAMPED[counts.index(best)]] if best * 3 > len(lines) else RAW


def reads(line_format: LineFormat, line: bytes) -> bool:
    found = line_format.pattern.match(line + b"\n")
    return found is not None and found["other"] is None


def divider(line: bytes) -> tuple[bool, str] | None:
    """``--------- switch to main`` → (True, "main"), ``beginning of`` → (False, …), anything else → None."""
    found = _DIVIDER.match(line)
    return (found[1] == b"switch to", found[2].decode("utf-8", "replace")) if found else None


def section_buffer(line: bytes) -> str | None:
    """A bugreport's section title → the buffer of the lines below ("" for mixed or no log); None for other lines."""
    found = _SECTION.match(line)
    if found is None:
        return None
    return {b"EVENT": "events", b"RADIO": "radio"}.get(found[1], "")


def plain(block: bytes) -> bytes:
    """Without the colours of ``-v color`` around lines, and without the CRs that consoles and old shells put before LF."""
    if b"\r\n" in block:
        block = re.sub(rb"\r+\n", b"\n", block)
    if b"\x1b[" in block:
        block = _COLOUR.sub(rb"\1\2\3", block)
    return block
