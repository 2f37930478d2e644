"""The queue for a device: first come, first served, across every process of this user.

A ticket is a small file whose OS lock its owner holds. The lock is released when the process dies, so a dead process never
blocks the queue. The file's name holds the time at which the ticket was drawn.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import count
from typing import Self

from clawperator.engine.files.lock import FileLock
from clawperator.engine.files.regular import private_folder
from clawperator.engine.text.numbers import whole_number

_NEW_SECONDS = 1.0
"""A ticket this new counts without its lock: its owner may be about to lock it."""
_NUMBERS = count()


class Ticket:
    """A place in the queue, until it is closed. Raises ``OSError``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._name = f"{time.time_ns():020d}-{os.getpid()}-{next(_NUMBERS)}"
        self._path = os.path.join(folder, self._name)
        self._lock: FileLock | None = FileLock(self._path)
        try:
            self._lock.try_acquire()
        except OSError:
            self.close()
            raise

    @property
    def first(self) -> bool:
        """Whether no live ticket is older."""
        return not any(_waits(self._folder, name) for name in _names(self._folder) if name < self._name)

    def close(self) -> None:
        """Leave the queue; closing twice is allowed."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()
            with suppress(OSError):
                os.unlink(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DeviceQueue:
    """The tickets in one folder, which the first one creates."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @property
    def busy(self) -> bool:
        """Whether the queue holds a live ticket."""
        return any(_waits(self._folder, name) for name in _names(self._folder))

    def ticket(self) -> Ticket:
        """Return a new ticket, behind all others. Raises ``OSError``."""
        private_folder(self._folder)
        return Ticket(self._folder)


def _names(folder: str) -> list[str]:
    """The tickets of ``folder``, oldest first."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _waits(folder: str, name: str) -> bool:
    """Whether the owner of a ticket still waits; removes the ticket of a process that died."""
    drawn = name.partition("-")[0]
    at = whole_number(drawn, digits=20)
    age = _NEW_SECONDS if at is None else time.time() - at / 1e9
    if 0 <= age < _NEW_SECONDS:
        return True
    path = os.path.join(folder, name)
    try:
        lock = FileLock(path, create=False)
    except OSError:
        return False
    try:
        if not lock.try_acquire():
            return True
        with suppress(OSError):
            os.unlink(path)
        return False
    finally:
        lock.close()
