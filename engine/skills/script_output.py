"""What a script writes, within bounds however much it is: kept, searched, and told line by line. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

MAX_LINE = 8_192
"""Characters of a line that are told together; a longer one is told in pieces."""
_LONGEST_REST = 3
_CONTINUING = bytes(range(0x80, 0xC0))
"""What may be left of a UTF-8 character that was cut in two, and of which bytes it is."""


class Kept:
    """The first ``head`` bytes of a stream, and its last ``tail`` bytes; what lies between them is counted only."""

    def __init__(self, head: int, tail: int) -> None:
        self.total = 0
        self._head, self._tail = bytearray(), bytearray()
        self._head_bytes, self._tail_bytes = head, tail

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:][-self._tail_bytes :]
        if len(self._tail) > 2 * self._tail_bytes:
            del self._tail[: -self._tail_bytes]

    @property
    def truncated(self) -> bool:
        """Whether ``beginning`` is not all of it."""
        return self.total > self._head_bytes

    @property
    def beginning(self) -> str:
        """As text; a character that the cut went through is left out, bytes that are no UTF-8 are replaced."""
        return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head), final=not self.truncated)

    @property
    def ending(self) -> str:
        """The last bytes behind the beginning as text, from a whole character on; '' where the beginning is all."""
        tail = bytes(self._tail[-self._tail_bytes :])
        if self.total > self._head_bytes + len(tail):
            tail = tail[:_LONGEST_REST].lstrip(_CONTINUING) + tail[_LONGEST_REST:]
        return tail.decode(errors="replace")


class Search:
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


class Lines:
    """Bytes to lines of text without their ends, as soon as they are complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = ""

    def add(self, data: bytes) -> Iterator[str]:
        """The lines that ``data`` completes."""
        *lines, rest = (self._open + self._decoder.decode(data)).split("\n")
        self._open = ""
        for line in lines:
            yield from _pieces(line.removesuffix("\r"))
        *full, self._open = _pieces(rest)
        yield from full

    def end(self) -> Iterator[str]:
        """What stands behind the last line end."""
        rest, self._open = self._open + self._decoder.decode(b"", final=True), ""
        if rest:
            yield rest


def _pieces(line: str) -> Iterator[str]:
    """The line in pieces of up to ``MAX_LINE`` characters, at least one."""
    yield line[:MAX_LINE]
    for start in range(MAX_LINE, len(line), MAX_LINE):
        yield line[start : start + MAX_LINE]
