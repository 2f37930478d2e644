"""Read and write text files that the user names."""

from __future__ import annotations

from pathlib import Path

from clawperator.engine.files.regular import open_regular, write_file
from clawperator.engine.guard import Guard

MAX_FILE_BYTES = 4 * 1024 * 1024
"""The limit of the command line too; far above any payload that the contract allows."""


def read_text(path: Path) -> str:
    """The text of a file; ``~`` is the user's folder. Raises ``OSError``, and ``ValueError`` for what is too long or not UTF-8."""
    with open_regular(str(path.expanduser())) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"more than {MAX_FILE_BYTES:,} bytes")
    return data.decode("utf-8-sig")


def save_as(path: Path, text: str, *, guard: Guard, overwrite: bool = False) -> Path:
    """Write a file of the user's own; the path it has, links followed.

    Raises ``FileExistsError`` unless ``overwrite``, ``FileNotFoundError`` for a folder that is not there, other ``OSError``,
    and ``EngineError`` where the policy does not allow it.
    """
    path = path.expanduser().resolve()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder")
    with guard.writing(str(path)):
        write_file(str(path), text.encode(), replace=overwrite, mode=None)
    return path
