"""``logcat -v …`` as text: live streams of old devices, captured files, bugreports."""

from __future__ import annotations

import re
from itertools import pairwise

from clawperator.engine.logcat import formats
from clawperator.engine.logcat.entry import LogEntry, decode, note
from clawperator.engine.logcat.formats import ALTERNATIVES, LINE_FORMATS, LONG, LONG_HEADER, RAW, LineFormat
from clawperator.engine.logcat.lines import LONGEST_LINE, LogLineSplitter, pieces
from clawperator.engine.logcat.memo import Memo
from clawperator.engine.logcat.users import uid_of

_DECIDING_LINES = 32
"""Lines without a stamp after which the format is decided; a stamped line decides at once."""

_LONGEST_LONG_RECORD = 1024 * 1024
_TRAILING_DIVIDERS = re.compile(rb"(?:--------- (?:beginning of|switch to) \S+\n)+\Z")


class TextLogParser:
    """Bytes of a text format in any portions → entries; never raises on them.

    ``format``: ``auto``, ``threadtime``, ``time``, ``brief``, ``process``, ``thread``, ``tag``, ``long``, ``raw``, or ``bare``
    (``L tag: message``). Modifiers are understood without being named. With ``auto`` a log may begin anywhere in the file,
    and a line in another stamped format is read too.

    The formats print one line per line of a message, so a message with line feeds is several entries (one in ``long``,
    which is safe for files only: a message can imitate its headers). Lines that are no record become notes in their
    place (``LogEntry.is_note``) and are counted: ``dividers`` (separators and section titles) and ``unparsed``. Blank
    lines between records are only counted, in ``blank``.
    """

    def __init__(self, format: str = "auto", *, longest_line: int = LONGEST_LINE) -> None:  # noqa: A002 - the name that logcat's users know
        if format != "auto" and format not in formats.FORMAT_NAMES:
            raise ValueError(f"no such log format: {format}")
        self.dividers = self.unparsed = self.blank = 0
        self._auto = format == "auto"
        self._format: LineFormat | None = LINE_FORMATS.get(format)
        self._is_long = format == LONG
        self._lines = LogLineSplitter(longest_line)
        self._held = b""
        self._buffer = ""
        self._buffer_is_known = False
        self._tags: Memo[str] = Memo(lambda tag: decode(tag).strip())
        self._numbers: Memo[int] = Memo(
            lambda digits: int(digits, 16 if digits.startswith(b"0x") else 10) if digits else -1
        )
        self._uids: Memo[int] = Memo(uid_of)
        self._levels: Memo[str] = Memo(bytes.decode)

    @property
    def format(self) -> str:
        """The format in use; empty while ``auto`` has not decided."""
        return LONG if self._is_long else self._format.name if self._format else ""

    def feed(self, data: bytes) -> list[LogEntry]:
        entries: list[LogEntry] = []
        for piece in pieces(self._lines.feed(data)):
            self._read(formats.plain(piece), entries)
        return entries

    def finish(self) -> list[LogEntry]:
        """The end of the stream: the last line needs no LF."""
        entries: list[LogEntry] = []
        for piece in pieces(self._lines.finish()):
            self._read(formats.plain(piece), entries)
        if self._is_long:
            self._read_long(b"", entries, final=True)
        elif self._format is None:
            self._decide(b"", entries, final=True)
        return entries

    def _read(self, block: bytes, entries: list[LogEntry]) -> None:
        if self._is_long:
            self._read_long(block, entries, final=False)
        elif self._format is None:
            self._decide(block, entries, final=False)
        else:
            self._read_lines(self._format, block, entries)

    def _decide(self, block: bytes, entries: list[LogEntry], *, final: bool) -> None:
        """Hold lines back until they decide the format, independently of the chunks of the stream."""
        self._held += block
        lines = self._held.split(b"\n", _DECIDING_LINES)
        first_lines = self._held[: len(self._held) - len(lines[-1])]
        found = formats.find_stamped(first_lines)
        if found is None and len(lines) <= _DECIDING_LINES and not final:
            return
        if found is None:
            complete = [line for line in lines[:-1] if line.strip() and formats.divider(line) is None]
            self._format = formats.vote(complete)
        else:
            self._adopt(found[0])
        held, self._held = self._held, b""
        self._read(held, entries)
        if final and self._is_long:
            self._read_long(b"", entries, final=True)

    def _adopt(self, name: str) -> None:
        self._is_long = name == LONG
        self._format = LINE_FORMATS.get(name)

    def _read_lines(self, line_format: LineFormat, block: bytes, entries: list[LogEntry]) -> None:
        if self._auto and line_format is RAW:
            found = formats.find_stamped(block)
            if found:
                self._append(RAW, block[: found[1]], entries)
                self._adopt(found[0])
                self._read(block[found[1] :], entries)
                return
        self._append(line_format, block, entries)

    def _append(self, line_format: LineFormat, block: bytes, entries: list[LogEntry]) -> None:
        """Every line of a live stream passes here: one loop, in which an ordinary line calls nothing in Python."""
        append, new = entries.append, tuple.__new__
        levels, tags, numbers, uids, buffer = self._levels, self._tags, self._numbers, self._uids, self._buffer
        for level, tag, message, pid, tid, uid, stamp, other in line_format.rows(block):
            if level:
                fields = (levels[level], tags[tag], message, numbers[pid], numbers[tid], uids[uid], stamp, buffer)
                append(new(LogEntry, fields))
            elif other.strip():
                append(self._odd_line(other))
                buffer = self._buffer
            else:
                self.blank += 1

    def _odd_line(self, line: bytes) -> LogEntry:
        if line.startswith(b"------"):
            separator = self._separator(line)
            if separator:
                return separator
        if self._auto:
            for line_format in ALTERNATIVES.get(self.format, ()):
                if formats.reads(line_format, line):
                    entries: list[LogEntry] = []
                    self._append(line_format, line + b"\n", entries)
                    return entries[0]
        if self._auto or self._format is not RAW:
            self.unparsed += 1
        return note(line, self._buffer)

    def _separator(self, line: bytes) -> LogEntry | None:
        """``beginning of`` precedes a buffer's first record only; ``switch to`` (``-D``) applies to all that follow."""
        divider, section = formats.divider(line), formats.section_buffer(line)
        if divider:
            switched, name = divider
            self._buffer_is_known = self._buffer_is_known or switched
            self._buffer = name if self._buffer_is_known else self._buffer
        elif section is not None:
            self._buffer, self._buffer_is_known = section, False
        else:
            return None
        self.dividers += 1
        return note(line, self._buffer)

    def _read_long(self, block: bytes, entries: list[LogEntry], *, final: bool) -> None:
        """A record ends where the next begins, so the last one is held back until then."""
        held = self._held + block
        headers = list(LONG_HEADER.finditer(held))
        before = held[: headers[0].start()] if headers else held
        self._append(RAW, before, entries)
        for header, following in pairwise(headers):
            self._append_long(header, held[header.end() : following.start()], entries)
        self._held = held[headers[-1].start() :] if headers else b""
        if headers and (final or len(self._held) > _LONGEST_LONG_RECORD):
            self._append_long(headers[-1], held[headers[-1].end() :], entries)
            self._held = b""

    def _append_long(self, header: re.Match[bytes], body: bytes, entries: list[LogEntry]) -> None:
        dividers = _TRAILING_DIVIDERS.search(body)
        message = body[: dividers.start()] if dividers else body
        entries.append(
            LogEntry(
                self._levels[header["level"]],
                self._tags[header["tag"]],
                message.removesuffix(b"\n").removesuffix(b"\n").removesuffix(formats.COLOUR_END),
                self._numbers[header["pid"]],
                self._numbers[header["tid"]],
                self._uids[header["uid"] or b""],
                header["stamp"],
                self._buffer,
            )
        )
        if dividers:
            self._append(RAW, dividers[0], entries)


def parse_text(data: bytes) -> list[LogEntry]:
    """All entries of a captured log in any text format and encoding (see ``TextLogParser``)."""
    parser = TextLogParser()
    return parser.feed(data) + parser.finish()
