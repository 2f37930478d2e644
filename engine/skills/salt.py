"""The salt of hashed outputs: random, made once per installation, so that nobody can look values up (skills.md#outputs)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from clawperator.engine.config.settings import state_folder
from clawperator.engine.files.writing import open_regular, private_folder

FILE = "output-salt"
_BYTES = 32


def installation_salt(env: Mapping[str, str]) -> tuple[bytes, str]:
    """The salt, and what people should know about it: '' unless it holds for this one run only."""
    path = os.path.join(state_folder(env), FILE)
    try:
        return _read(path) or _make(path), ""
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        return os.urandom(_BYTES), f"the hashes of this run cannot be compared with others: {path}: {reason}"


def _read(path: str) -> bytes:
    """The salt of the file; nothing where there is none yet."""
    try:
        with open_regular(path) as file:
            salt = bytes.fromhex(file.read(2 * _BYTES + 2).decode())
    except FileNotFoundError:
        return b""
    if len(salt) != _BYTES:
        raise ValueError("the salt file is invalid")
    return salt


def _make(path: str) -> bytes:
    """A new one. Of several processes that make one at the same time, the first wins; nobody reads half of one."""
    private_folder(os.path.dirname(path))
    draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(f"{os.urandom(_BYTES).hex()}\n".encode())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
    return _read(path)
