"""How texts lie in the file: JSON and UI trees, compressed. Nothing in them is lost, not even half a surrogate pair."""

from __future__ import annotations

import json
import zlib
from typing import Any

_LEVEL = 3
"""Of zlib: a tree shrinks to a tenth, nearly as far as with the best level, in a quarter of its time."""


LARGEST = 128 * 1024 * 1024
"""Bytes of one text: more than a tree or an envelope can have, so that no row of a foreign file fills the memory."""


class DamagedRowError(ValueError):
    """What lies in the file was not put there by us."""


def to_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)


def pack(value: object) -> bytes:
    """``value`` (JSON data) compressed."""
    return zlib.compress(to_json(value).encode(), _LEVEL)


def unpack(data: bytes | None) -> Any:
    """The JSON data behind ``data``; ``None`` where there is none. Raises ``DamagedRowError``."""
    if data is None:
        return None
    try:
        return json.loads(_inflated(data))
    except (ValueError, RecursionError) as exc:
        raise DamagedRowError(str(exc)) from exc


def pack_text(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _LEVEL)


def unpack_text(data: bytes) -> str:
    """The text behind ``data``. Raises ``DamagedRowError``."""
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
    """The sha256 of a tree's text, in hex: its name in the history."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
