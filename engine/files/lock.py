"""File locks of the operating system, which releases them when the process ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from clawperator.engine.files.regular import require_regular

_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""Errors for a lock that another process holds."""
_CONTENT_BYTES = 16 * 1024


class FileLock:
    """An exclusive, non-blocking OS lock on one file, with a few bytes of content beside it. Raises ``OSError``."""

    def __init__(self, path: str, *, create: bool = True) -> None:
        flags = os.O_RDWR | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)  # a link may lead to any file
        self._fd = os.open(path, flags | (os.O_CREAT if create else 0), 0o600)
        try:
            require_regular(self._fd)
        except BaseException:
            os.close(self._fd)
            raise

    def try_acquire(self) -> bool:
        try:
            _lock(self._fd)
        except OSError as exc:
            if exc.errno in _BUSY:
                return False
            raise
        return True

    @property
    def removed(self) -> bool:
        """Whether the file was removed after it was opened: another program can lock a new one of the same name."""
        return not os.fstat(self._fd).st_nlink

    def read(self) -> bytes:
        return os.pread(self._fd, _CONTENT_BYTES, 0)

    def write(self, content: bytes) -> None:
        os.pwrite(self._fd, content, 0)
        os.ftruncate(self._fd, len(content))

    def close(self) -> None:
        """Closing the descriptor releases the lock."""
        os.close(self._fd)


@contextmanager
def locked_folder(path: str) -> Iterator[None]:
    """Run the block while no other process has this lock on the folder ``path``; leaves no file.

    It runs without a lock where folders cannot be locked (Windows, some network file systems), and where there is none yet.
    """
    descriptor = -1
    with suppress(ImportError, OSError):
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _lock(fd: int) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt  # Windows: lock one byte far behind the content, which stays readable for others

        os.lseek(fd, 1 << 20, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]  # exists on Windows only
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
