"""Split bytes into whole lines of UTF-8, whatever the file's encoding and the size of the chunks."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", codecs.BOM_UTF8: "utf-8"}
_LONGEST_BOM = 3
LONGEST_LINE = 4 * 1024 * 1024
"""A line of a file is cut there, so that a stream without line ends cannot fill the memory."""
LONGEST_LIVE_LINE = 64 * 1024
"""The same for a live log, whose records have 5 KiB at most and of which hundreds are kept."""


class LogLineSplitter:
    """Holds back the unfinished last line. A byte order mark at the start is taken off and decides the encoding."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._start: bytes | None = b""  # the first bytes, until they decide the encoding
        self._decoder: codecs.IncrementalDecoder | None = None
        self._unfinished: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> bytes:
        """The complete lines, each ending in LF; empty when there is none."""
        if self._start is not None:
            data = self._start + data
            if len(data) < _LONGEST_BOM:
                self._start = data
                return b""
            data = self._begin(data)
        return self._whole_lines(self._decode(data, final=False))

    def finish(self) -> bytes:
        """The rest, with an LF if the stream ended without one."""
        data = self._begin(self._start) if self._start is not None else b""
        lines = self._whole_lines(self._decode(data, final=True))
        unfinished = b"".join(self._unfinished)
        self._unfinished.clear()
        return lines + unfinished + b"\n" if unfinished else lines

    def _begin(self, data: bytes) -> bytes:
        self._start = None
        for bom, encoding in _BOMS.items():
            if data.startswith(bom):
                if encoding != "utf-8":
                    self._decoder = codecs.getincrementaldecoder(encoding)("replace")
                return data[len(bom) :]
        return data

    def _decode(self, data: bytes, *, final: bool) -> bytes:
        if self._decoder is None:
            return data
        return self._decoder.decode(data, final).encode("utf-8", "replace")

    def _whole_lines(self, data: bytes) -> bytes:
        end = data.rfind(b"\n") + 1
        self._size += len(data) - end
        if self._size > self._longest:
            data, end, self._size = data + b"\n", len(data) + 1, 0
        if not end:
            self._unfinished.append(data)
            return b""
        lines = b"".join((*self._unfinished, data[:end]))
        self._unfinished = [data[end:]]
        self._size = len(data) - end
        return lines


def pieces(lines: bytes, size: int = 64 * 1024) -> Iterator[bytes]:
    """Whole lines in chunks of about ``size`` bytes, which fit into the processor's cache."""
    start, end = 0, len(lines)
    while start < end:
        stop = lines.rfind(b"\n", start, start + size) + 1 or lines.find(b"\n", start) + 1
        yield lines[start:stop]
        start = stop
