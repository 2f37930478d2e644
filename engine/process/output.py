"""The output of a program within bounds, however long it is: kept, searched, and split into lines. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

MAX_LINE = 8_192
"""Characters of a line that are reported together; a longer one is reported in pieces."""
_LONGEST_REST = 3
_CONTINUATION = bytes(range(0x80, 0xC0))
"""What may be left of a UTF-8 character that was cut in two, and the bytes that it consists of."""


class BoundedOutput:
    """The first ``head`` bytes of a stream and its last ``tail`` bytes; the bytes between them are only counted."""

    def __init__(self, head: int, tail: int = 0) -> None:
        self.total = 0
        self._head, self._tail = bytearray(), bytearray()
        self._head_bytes, self._tail_bytes = head, tail

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        if self._tail_bytes:
            self._tail += data[room:][-self._tail_bytes :]
            if len(self._tail) > 2 * self._tail_bytes:
                del self._tail[: -self._tail_bytes]

    @property
    def truncated(self) -> bool:
        """Whether the stream is longer than ``head``."""
        return self.total > self._head_bytes

    @property
    def head(self) -> bytes:
        return bytes(self._head)

    @property
    def beginning(self) -> str:
        """The first bytes as text, without a character that was cut in two; bytes that are not UTF-8 are replaced."""
        return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head), final=not self.truncated)

    @property
    def ending(self) -> str:
        """The last bytes after the beginning as text, from a whole character on; '' where the beginning is everything."""
        tail = bytes(self._tail[-self._tail_bytes :])
        if self.total > self._head_bytes + len(tail):
            tail = tail[:_LONGEST_REST].lstrip(_CONTINUATION) + tail[_LONGEST_REST:]
        return tail.decode(errors="replace")


class StreamSearch:
    """Whether a stream contains a text, without keeping the stream."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted.encode(errors="surrogateescape")
        self._rest = b""
        self.found = not self._wanted

    def add(self, data: bytes) -> None:
        if not self.found:
            window = self._rest + data
            self.found = self._wanted in window
            self._rest = window[max(len(window) - len(self._wanted) + 1, 0) :]


class LineSplitter:
    """Bytes to lines of text without their line ends, each as soon as it is complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = ""

    def add(self, data: bytes) -> Iterator[str]:
        """Yield the lines that ``data`` completes."""
        *lines, rest = (self._open + self._decoder.decode(data)).split("\n")
        self._open = ""
        for line in lines:
            yield from _pieces(line.removesuffix("\r"))
        *full, self._open = _pieces(rest)
        yield from full

    def end(self) -> Iterator[str]:
        """Yield what follows the last line end."""
        rest, self._open = self._open + self._decoder.decode(b"", final=True), ""
        if rest:
            yield rest


def _pieces(line: str) -> Iterator[str]:
    """Yield the line in pieces of up to ``MAX_LINE`` characters, at least one."""
    yield line[:MAX_LINE]
    for start in range(MAX_LINE, len(line), MAX_LINE):
        yield line[start : start + MAX_LINE]


class TerminalLines:
    """Lines as a terminal shows them in the end: stripped, not blank, and of text that is overwritten only the last."""

    def __init__(self) -> None:
        self._open = b""

    def add(self, data: bytes) -> Iterator[str]:
        """Yield the lines that ``data`` completes, a carriage return included."""
        *whole, rest = (self._open + data).split(b"\n")
        finished, overwritten, newest = rest.rpartition(b"\r")
        self._open = newest[-MAX_LINE:]
        for line in (*whole, finished) if overwritten else whole:
            shown = line.rstrip(b"\r").rpartition(b"\r")[2]
            if text := shown[:MAX_LINE].decode(errors="replace").strip():
                yield text
