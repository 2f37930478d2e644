"""Compression of JSON and UI trees in the history; lone surrogates survive."""

from __future__ import annotations

import json
import zlib
from typing import Any

_LEVEL = 3
"""The zlib level: a tree shrinks to a tenth, nearly as with the best level, in a quarter of the time."""


LARGEST = 128 * 1024 * 1024
"""Limit of one text: larger than any tree or envelope; a foreign file must not fill the memory."""


class DamagedRowError(ValueError):
    """A row is damaged or foreign."""


def to_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)


def pack(value: object) -> bytes:
    """Return JSON data compressed."""
    return zlib.compress(to_json(value).encode(), _LEVEL)


def unpack(data: bytes | None) -> Any:
    """Return the JSON data in ``data``; ``None`` for ``None``. Raises ``DamagedRowError``."""
    if data is None:
        return None
    try:
        return json.loads(_inflated(data))
    except (ValueError, RecursionError) as exc:
        raise DamagedRowError(str(exc)) from exc


def pack_text(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _LEVEL)


def unpack_text(data: bytes) -> str:
    """Return the text in ``data``. Raises ``DamagedRowError``."""
    try:
        return _inflated(data).decode("utf-8", "surrogatepass")
    except ValueError as exc:
        raise DamagedRowError(str(exc)) from exc


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(data, LARGEST)
    except (zlib.error, TypeError) as exc:
        raise DamagedRowError(str(exc)) from exc
    if not stream.eof:
        raise DamagedRowError("it is cut short or too large")
    return text


def digest(text: str) -> str:
    """Return the sha256 of a tree's text in hex: its id in the history."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
