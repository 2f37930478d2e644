"""``logcat -v threadtime`` → entries: the log of devices whose binary log is not usable, and their crash buffer."""

from __future__ import annotations

import re

from clawperator.engine.logcat.entry import LogEntry, decode, note
from clawperator.engine.logcat.memo import Memo
from clawperator.engine.logcat.users import uid_of

LONGEST_LINE = 64 * 1024
"""Bytes after which a line is cut, so that a stream without line ends cannot fill the memory; a record has 5 KiB at most."""

_LINE = re.compile(
    rb" *(?P<stamp>(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,9}(?: [+-]\d{4})?|\d{1,12}\.\d{3,9})"
    rb"(?: +(?P<uid>[\w.-]+))?? +(?P<pid>\d{1,10}) +(?P<tid>\d{1,10}) (?P<level>[VDIWEFS]) "
    rb"(?P<tag>[^:\n]*(?::(?![ \n])[^:\n]*)*): ?(?P<message>.*)\n"
    rb"|(?P<other>.*)\n"
)
"""A tag ends at the first colon before a blank: it may hold other colons, blanks, brackets, or be empty."""


class TextLogParser:
    """Bytes of ``-v threadtime`` in any portions → entries; never raises on them.

    Modifiers are understood without being named: a year, a zone, finer fractions, epoch and monotonic times, and a uid.
    logcat prints one line per line of a message, so a message with line feeds is several entries. Lines that are no record
    become notes in their place (``LogEntry.is_note``); blank ones are skipped.
    """

    def __init__(self) -> None:
        self._unfinished = b""
        self._tags: Memo[str] = Memo(lambda tag: decode(tag).strip())
        self._numbers: Memo[int] = Memo(int)
        self._uids: Memo[int] = Memo(uid_of)
        self._levels: Memo[str] = Memo(bytes.decode)

    def feed(self, data: bytes) -> list[LogEntry]:
        data = self._unfinished + data
        end = data.rfind(b"\n") + 1
        if len(data) - end > LONGEST_LINE:
            data += b"\n"
            end = len(data)
        self._unfinished = data[end:]
        return self._read(data[:end])

    def finish(self) -> list[LogEntry]:
        """The end of the stream: the last line needs no LF."""
        return self.feed(b"\n")

    def _read(self, lines: bytes) -> list[LogEntry]:
        """Every line of a live stream passes here: one loop, in which an ordinary line calls nothing in Python."""
        if b"\r\n" in lines:  # the shell of old devices is a terminal
            lines = re.sub(rb"\r+\n", b"\n", lines)
        entries: list[LogEntry] = []
        append, new = entries.append, tuple.__new__
        levels, tags, numbers, uids = self._levels, self._tags, self._numbers, self._uids
        for stamp, uid, pid, tid, level, tag, message, other in _LINE.findall(lines):
            if level:
                fields = (levels[level], tags[tag], message, numbers[pid], numbers[tid], uids[uid], stamp, "")
                append(new(LogEntry, fields))
            elif other.strip():
                append(note(other))
        return entries


def parse_text(data: bytes) -> list[LogEntry]:
    """All entries of a captured log."""
    parser = TextLogParser()
    return parser.feed(data) + parser.finish()
