"""``logcat -B``: raw records with exact boundaries, pid, tid, uid and nanoseconds (android-facts 1a to 1e)."""

from __future__ import annotations

import re
import struct

from clawperator.engine.logcat.entry import UNKNOWN, LogEntry, decode, note
from clawperator.engine.logcat.memo import Memo

_HEADER = struct.Struct("<HHiIIIII")
"""Length, header size, pid, tid, seconds, nanoseconds; from version 2 on euid or log id, in version 4 the uid."""

_V1, _V3, _V4 = 20, 24, 28
_LIVE = frozenset((_V3, _V4))
_HEADER_BYTES = {_V4: _V4, _V3: _V3, _V1: _V1, 0: _V1}
"""By the size that the header states: version 1 leaves that field empty."""

_MAX_LENGTH = 5 * 1024
_SECOND = 1_000_000_000
_BUFFERS = ("main", "radio", "events", "system", "crash", "stats", "security", "kernel")
_STRUCTURED = frozenset((2, 5, 6))
"""Log ids whose payload is a number and values, not level, tag and text."""

_TEXT_BUFFERS = {log: name for log, name in enumerate(_BUFFERS) if log not in _STRUCTURED}
_LEVELS = ("V", "V", "V", "D", "I", "W", "E", "F", "S")
_PADDING = bytes(_HEADER.size + 1)
_POSSIBLE_START = re.compile(rb".[\x00-\x14][\x00\x14\x18\x1c]\x00", re.DOTALL)
_LONGEST_NOTE = 64 * 1024

_WAIT, _NONE = 0, -1


class BinaryLogParser:
    """Parses ``logcat -B`` from chunks of any size; never raises.

    A record is returned as soon as its last byte arrives. Anything else (error messages of logcat, a torn stream) becomes a
    note with those bytes, up to the next record; ``skipped`` counts them.
    """

    def __init__(self) -> None:
        self.skipped = 0
        self._rest = b""
        self._torn = 0  # bytes at the start of the rest that begin no record
        self._lost = False
        self._tags: Memo[str] = Memo(lambda tag: decode(tag).strip())

    def feed(self, data: bytes) -> list[LogEntry]:
        return self._parse(self._rest + data, final=False)

    def finish(self) -> list[LogEntry]:
        """The end of the stream: an unfinished record comes out as a note."""
        return self._parse(self._rest, final=True)

    def _parse(self, data: bytes, *, final: bool) -> list[LogEntry]:
        entries: list[LogEntry] = []
        end = len(data)
        data += _PADDING  # headers can be unpacked before they are complete
        position, torn = 0, self._torn
        while True:
            if not self._lost:
                position = self._take_ordinary(data, position, end, entries)
            start = position + torn
            stop = _record_end(data, start, end, strict=self._lost)
            if start >= end or (stop == _WAIT and not final):
                break
            if stop > 0:
                entries += self._skip(data[position:start])
                entries.append(self._entry(data, start, stop))
                position, torn, self._lost = stop, 0, False
                continue
            torn += _bytes_to_skip(data, start, end)
            self._lost = True
            while torn >= _LONGEST_NOTE:
                entries += self._skip(data[position : position + _LONGEST_NOTE])
                position, torn = position + _LONGEST_NOTE, torn - _LONGEST_NOTE
        if final:
            entries += self._skip(data[position:end])
            position, torn, self._lost = end, 0, False
        self._rest, self._torn = data[position:end], torn
        return entries

    def _take_ordinary(self, data: bytes, position: int, end: int, entries: list[LogEntry]) -> int:
        """Parse whole records of the text buffers in the two current header versions; stop at anything else.

        Every entry of a live stream passes here, so it is one loop without Python calls.
        """
        append, new, tags, find, unpack = entries.append, tuple.__new__, self._tags, data.find, _HEADER.unpack_from
        levels, buffers, live = _LEVELS, _TEXT_BUFFERS, _LIVE
        try:
            while True:
                length, size, pid, tid, seconds, nanoseconds, log, uid = unpack(data, position)
                text = position + size
                stop = text + length
                if stop > end or size not in live or length > _MAX_LENGTH or nanoseconds >= _SECOND:
                    return position
                tag_end = find(0, text + 1, stop)
                if tag_end < 0:
                    return position
                level, buffer, tag = levels[data[text]], buffers[log], tags[data[text + 1 : tag_end]]
                payload = data[tag_end + 1 : stop if data[stop - 1] else stop - 1]
                owner = uid if size == _V4 else UNKNOWN
                append(new(LogEntry, (level, tag, payload, pid, tid, owner, seconds * _SECOND + nanoseconds, buffer)))
                position = stop
        except LookupError:  # an unknown level or another buffer
            return position

    def _entry(self, data: bytes, start: int, stop: int) -> LogEntry:
        """Any record that ``_record_end`` accepts."""
        _, stated, pid, tid, seconds, nanoseconds, log, uid = _HEADER.unpack_from(data, start)
        size = _HEADER_BYTES[stated]
        clock = seconds * _SECOND + nanoseconds
        if size == _V1:
            owner, buffer = UNKNOWN, ""
        elif log < len(_BUFFERS):
            owner, buffer = (uid if size == _V4 else UNKNOWN), _BUFFERS[log]
        else:
            owner, buffer = log, ""  # version 2 has the effective uid there
        payload = data[start + size : stop]
        if size > _V1 and log in _STRUCTURED:
            number = int.from_bytes(payload[:4], "little")
            return LogEntry("I", str(number), payload[4:], pid, tid, owner, clock, buffer)
        tag, _, message = payload[1:].partition(b"\0")
        message = message.removesuffix(b"\0")
        return LogEntry(_LEVELS[payload[0]], self._tags[tag], message, pid, tid, owner, clock, buffer)

    def _skip(self, data: bytes) -> list[LogEntry]:
        self.skipped += len(data)
        return [note(data)] if data else []


def _record_end(data: bytes, start: int, end: int, *, strict: bool) -> int:
    """Return the end of the record at ``start``; ``_WAIT`` when more bytes are needed, ``_NONE`` when there is none.

    ``strict`` is for resynchronising in a torn stream, where taking text for a header would swallow good records.
    """
    if start + 4 > end:
        return _WAIT
    length, stated, _, _, _, nanoseconds, log, _ = _HEADER.unpack_from(data, start)
    if stated not in _HEADER_BYTES or not 1 <= length <= _MAX_LENGTH:
        return _NONE
    size = _HEADER_BYTES[stated]
    text, stop = start + size, start + size + length
    if text >= end:
        return _WAIT
    structured = size > _V1 and log in _STRUCTURED
    if nanoseconds >= _SECOND or (data[text] >= len(_LEVELS) and not structured):
        return _NONE
    if strict and not _convincing(data[text : min(stop, end)], whole=stop <= end):
        return _NONE
    return stop if stop <= end else _WAIT


def _convincing(payload: bytes, *, whole: bool) -> bool:
    if not 2 <= payload[0] <= 7:
        return False
    return not whole or (payload.count(0) >= 2 and payload.endswith(b"\0"))


def _bytes_to_skip(data: bytes, start: int, end: int) -> int:
    """How far the next position is at which a header can start at all."""
    found = _POSSIBLE_START.search(data, start + 1, end)
    following = found.start() if found else max(start + 1, end - 3)
    return following - start
