"""The files of drafts: the one that keeps the draft through a crash, and those that the user names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from clawperator.engine.files.writing import new_file, open_regular, private_folder, write_file
from clawperator.engine.guard import Guard

MAX_FILE_BYTES = 4 * 1024 * 1024
"""As the command line reads at most; far above any payload that the contract allows."""


class ChangedElsewhereError(Exception):
    """Somebody else has written the file since it was last read or written here."""


class Store(Protocol):
    """Where the draft survives the console. The methods may block: they are called in a thread.

    ``save`` raises ``ChangedElsewhereError`` where another console wrote meanwhile, until ``load`` has seen what it wrote.
    """

    def load(self) -> str | None: ...
    def save(self, text: str) -> None: ...
    def set_aside(self) -> str: ...


_Stamp = tuple[int, int, int] | None
"""What tells one state of a file from another; ``None``: there is no file."""


class DraftFile:
    """One file that only its user can read, and that is replaced as a whole: a crash leaves the old one or the new one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: list[_Stamp] = []
        """The state of the file that was read or written last; empty before that."""

    def load(self) -> str | None:
        """The text; ``None`` when there is no file. Raises ``OSError``, or ``ValueError`` for one that is no text of ours."""
        self._seen = [self._stamp()]
        try:
            return read_text(self.path)
        except FileNotFoundError:
            return None

    def save(self, text: str) -> None:
        private_folder(str(self.path.parent))
        if self._seen and self._seen != [self._stamp()]:
            raise ChangedElsewhereError(str(self.path))
        with new_file(str(self.path), replace=True) as stream:
            stream.write(text.encode())
            stream.flush()
            # The stamp is taken before others can replace the file: theirs must not pass for this one's.
            stamp = _stamp_of(os.fstat(stream.fileno()))
        self._seen = [stamp]

    def _stamp(self) -> _Stamp:
        try:
            return _stamp_of(self.path.stat())
        except OSError:
            return None

    def set_aside(self) -> str:
        """Keep a file that cannot be read under another name, which is returned."""
        aside = next(
            name
            for number in range(1, 10_000)
            if not (name := self.path.with_name(f"{self.path.name}.unreadable-{number}")).exists()
        )
        os.replace(self.path, aside)
        self._seen = [None]
        return str(aside)


def _stamp_of(found: os.stat_result) -> _Stamp:
    return found.st_mtime_ns, found.st_size, found.st_ino


def draft_path() -> Path:
    """Where the draft is kept: the platform's state folder."""
    from platformdirs import user_state_path

    return user_state_path("clawperator") / "console" / "draft.json"


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
        raise FileNotFoundError(f"{path.parent} is no folder")
    with guard.writing(str(path)):
        write_file(str(path), text.encode(), replace=overwrite, mode=None)
    return path
