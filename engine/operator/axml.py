"""Parse Android's binary XML as a stream of elements: a header, a string pool, resource ids, then one chunk per event."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

MAX_DEPTH = 64
MAX_ATTRIBUTES = 256
_XML, _STRING_POOL, _RESOURCE_MAP, _START, _END = 0x0003, 0x0001, 0x0180, 0x0102, 0x0103
_UTF8_FLAG = 0x100
_NONE = 0xFFFFFFFF
_HEADER = struct.Struct("<HHL")
_POOL = struct.Struct("<5L")
_ELEMENT = struct.Struct("<LL6H")
_ATTRIBUTE = struct.Struct("<3LHBBL")
_LONGEST_STRING = 4_096
"""Characters; longer strings are cut."""

_TYPE_STRING, _TYPE_FIRST_INT, _TYPE_LAST_INT = 0x03, 0x10, 0x1F


class AxmlError(Exception):
    """The bytes are not binary XML; the text is a human-readable reason."""


class Attribute(NamedTuple):
    """``resource`` is the id of an Android attribute, else 0. ``value``: text, a number, or ``None`` (a reference)."""

    name: str
    resource: int
    value: str | int | None


class Element(NamedTuple):
    """A start tag; ``depth`` is 0 for the root."""

    name: str
    depth: int
    attributes: tuple[Attribute, ...]


def elements(data: bytes) -> Iterator[Element]:
    """Yield every start tag. Raises ``AxmlError``."""
    if len(data) < _HEADER.size or _HEADER.unpack_from(data)[0] != _XML:
        raise AxmlError("is text instead of binary XML" if data.lstrip()[:1] == b"<" else "is not binary XML")
    _, header_size, size = _HEADER.unpack_from(data)
    if size > len(data) or header_size < _HEADER.size:
        raise AxmlError("is truncated")
    strings, resources, depth = _Strings(b""), b"", 0
    for kind, head, chunk in _chunks(data, header_size, size):
        if kind == _STRING_POOL:
            strings = _Strings(chunk)
        elif kind == _RESOURCE_MAP:
            resources = chunk[head:]
        elif kind == _START:
            if depth >= MAX_DEPTH:
                raise AxmlError("is nested too deeply")
            yield _element(chunk, head, depth, strings, resources)
            depth += 1
        elif kind == _END:
            depth -= 1
            if depth < 0:
                raise AxmlError("closes more elements than it opens")


def _chunks(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield kind, header size and bytes of each chunk."""
    while at + _HEADER.size <= end:
        kind, head, size = _HEADER.unpack_from(data, at)
        if size < max(head, _HEADER.size) or at + size > end:
            raise AxmlError("has a chunk with an invalid size")
        yield kind, head, data[at : at + size]
        at += size


def _element(chunk: bytes, head: int, depth: int, strings: _Strings, resources: bytes) -> Element:
    if head + _ELEMENT.size > len(chunk):
        raise AxmlError("has a truncated element")
    _, name, start, width, count, *_ = _ELEMENT.unpack_from(chunk, head)
    if count > MAX_ATTRIBUTES or width < _ATTRIBUTE.size or head + start + width * count > len(chunk):
        raise AxmlError("has attributes outside of their element")
    found = (_attribute(chunk, head + start + width * number, strings, resources) for number in range(count))
    return Element(strings.at(name), depth, tuple(found))


def _attribute(chunk: bytes, at: int, strings: _Strings, resources: bytes) -> Attribute:
    _, name, raw, _, _, kind, data = _ATTRIBUTE.unpack_from(chunk, at)
    resource = struct.unpack_from("<L", resources, 4 * name)[0] if 4 * name + 4 <= len(resources) else 0
    value: str | int | None = None
    if kind == _TYPE_STRING:
        value = strings.at(data)
    elif _TYPE_FIRST_INT <= kind <= _TYPE_LAST_INT:
        value = data
    elif raw != _NONE:
        value = strings.at(raw)
    return Attribute(strings.at(name), resource, value)


class _Strings:
    """The string pool, decoded on demand."""

    def __init__(self, chunk: bytes) -> None:
        self._chunk = chunk
        self._count = self._start = 0
        self._head = 0
        if not chunk:
            return
        self._head = _HEADER.unpack_from(chunk)[1]
        if len(chunk) < _HEADER.size + _POOL.size or self._head < _HEADER.size + _POOL.size:
            raise AxmlError("has a truncated string pool")
        self._count, _, flags, self._start, _ = _POOL.unpack_from(chunk, _HEADER.size)
        self._utf8 = bool(flags & _UTF8_FLAG)
        if self._head + 4 * self._count > len(chunk):
            raise AxmlError("has an invalid string count")

    def at(self, index: int) -> str:
        """Return the string at ``index``; empty for no string. Raises ``AxmlError`` for an invalid index."""
        if index == _NONE:
            return ""
        if index >= self._count:
            raise AxmlError("refers to a missing string")
        at = self._start + struct.unpack_from("<L", self._chunk, self._head + 4 * index)[0]
        try:
            return self._utf8_at(at) if self._utf8 else self._utf16_at(at)
        except (IndexError, struct.error) as exc:
            raise AxmlError("has a string outside of the string pool") from exc

    def _utf8_at(self, at: int) -> str:
        _, at = self._length8(at)
        size, at = self._length8(at)
        return self._bytes(at, size).decode("utf-8", "replace")

    def _length8(self, at: int) -> tuple[int, int]:
        first = self._chunk[at]
        return ((first & 0x7F) << 8 | self._chunk[at + 1], at + 2) if first & 0x80 else (first, at + 1)

    def _utf16_at(self, at: int) -> str:
        (size,) = struct.unpack_from("<H", self._chunk, at)
        at += 2
        if size & 0x8000:
            size = (size & 0x7FFF) << 16 | struct.unpack_from("<H", self._chunk, at)[0]
            at += 2
        return self._bytes(at, 2 * size).decode("utf-16-le", "replace")

    def _bytes(self, at: int, size: int) -> bytes:
        if at + size > len(self._chunk):
            raise IndexError
        return self._chunk[at : at + min(size, 2 * _LONGEST_STRING)]
