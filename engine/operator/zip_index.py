"""Read the central directory of a ZIP file and single entries within limits, which ``zipfile`` does not have.

Without ZIP64, encryption and multi-part archives, which Android does not install either.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAX_DIRECTORY = 16 << 20
_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MAGIC, _ENTRY_MAGIC, _LOCAL_MAGIC = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"
_LONGEST_COMMENT = 65_535
_STORED, _DEFLATED = 0, 8


class ZipError(Exception):
    """The file is not a readable ZIP; the text is a human-readable reason."""


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One file of the archive; sizes in bytes."""

    name: str
    method: int
    encrypted: bool
    crc: int
    packed_size: int
    size: int
    offset: int


def read_directory(stream: BinaryIO) -> tuple[ZipEntry, ...]:
    """Return every entry. Raises ``ZipError``, and ``OSError`` of the stream."""
    total = stream.seek(0, os.SEEK_END)
    tail_at = max(0, total - _LONGEST_COMMENT - _END.size)
    stream.seek(tail_at)
    tail = stream.read(total - tail_at)
    at = tail.rfind(_END_MAGIC, 0, max(0, len(tail) - _END.size + len(_END_MAGIC)))
    if at < 0:
        stream.seek(0)
        begun = stream.read(4) == _LOCAL_MAGIC
        raise ZipError("it is truncated: the end of the ZIP archive is missing" if begun else "it is not a ZIP archive")
    _, disk, first_disk, _, count, size, offset, _ = _END.unpack_from(tail, at)
    if disk or first_disk or 0xFFFFFFFF in (size, offset):
        raise ZipError("it is a multi-part ZIP archive or larger than 4 GB")
    if size > MAX_DIRECTORY:
        raise ZipError(f"its central directory of {size} bytes is too large")
    if offset + size > tail_at + at:
        raise ZipError("it is damaged: its central directory is outside of the file")
    stream.seek(offset)
    return tuple(_entries(stream.read(size), count))


def _entries(directory: bytes, count: int) -> Iterator[ZipEntry]:
    at = 0
    for _ in range(count):
        if at + _ENTRY.size > len(directory):
            raise ZipError("it is damaged: its central directory is truncated")
        fields = _ENTRY.unpack_from(directory, at)
        if fields[0] != _ENTRY_MAGIC:
            raise ZipError("it is damaged: its central directory cannot be read")
        flags, method, crc, packed, size = fields[3], fields[4], fields[7], fields[8], fields[9]
        name_size, extra_size, comment_size = fields[10:13]
        name = directory[at + _ENTRY.size : at + _ENTRY.size + name_size].decode("utf-8", "replace")
        yield ZipEntry(name, method, bool(flags & 1), crc, packed, size, fields[16])
        at += _ENTRY.size + name_size + extra_size + comment_size


def read_entry(stream: BinaryIO, entry: ZipEntry, *, limit: int) -> bytes:
    """Return the content of one entry, at most ``limit`` bytes. Raises ``ZipError``, and ``OSError`` of the stream."""
    if entry.encrypted:
        raise ZipError(f"its {entry.name} is encrypted")
    if entry.size > limit or entry.packed_size > limit:
        raise ZipError(f"its {entry.name} is larger than {limit} bytes")
    stream.seek(entry.offset)
    header = stream.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != _LOCAL_MAGIC:
        raise ZipError(f"it is damaged: {entry.name} is not at its recorded offset")
    name_size, extra_size = _LOCAL.unpack(header)[9:11]
    stream.seek(name_size + extra_size, os.SEEK_CUR)
    data = _unpacked(stream.read(entry.packed_size), entry, limit)
    if len(data) != entry.size or zlib.crc32(data) != entry.crc:
        raise ZipError(f"it is damaged: the checksum of {entry.name} does not match")
    return data


def _unpacked(packed: bytes, entry: ZipEntry, limit: int) -> bytes:
    if entry.method == _STORED:
        return packed
    if entry.method != _DEFLATED:
        raise ZipError(f"its {entry.name} uses an unsupported compression method ({entry.method})")
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, min(limit, entry.size) + 1)
    except zlib.error as exc:
        raise ZipError(f"it is damaged: {entry.name} cannot be decompressed") from exc
