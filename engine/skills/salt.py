"""The salt of hashed outputs: random, created once per installation (skills.md#outputs)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from clawperator.engine.config.settings import state_folder
from clawperator.engine.files.regular import private_folder, read_file, write_file

FILE = "output-salt"
_BYTES = 32


def installation_salt(env: Mapping[str, str]) -> tuple[bytes, str]:
    """Return the salt, and a warning if it is valid for this run only."""
    path = os.path.join(state_folder(env), FILE)
    try:
        return _read(path) or _make(path), ""
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        return os.urandom(_BYTES), f"the hashes of this run cannot be compared with others: {path}: {reason}"


def _read(path: str) -> bytes:
    """Return the salt of the file; empty if the file is missing."""
    try:
        salt = bytes.fromhex(read_file(path, 2 * _BYTES + 2).decode())
    except FileNotFoundError:
        return b""
    if len(salt) != _BYTES:
        raise ValueError("the salt file is invalid")
    return salt


def _make(path: str) -> bytes:
    """Create the salt; of several processes that do so at the same time, the first wins."""
    private_folder(os.path.dirname(path))
    with suppress(FileExistsError):
        write_file(path, f"{os.urandom(_BYTES).hex()}\n".encode())
    return _read(path)
