"""Changing a checkout all at once: the work is done on a copy beside it, and the two change places in one step.

So whatever fails, is cancelled or killed: the folder holds the old checkout or the new one, complete. What a killed run leaves
behind lies in one folder beside it, and the next run takes it away. Everything here blocks; ``sync.py`` calls it in threads.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from contextlib import suppress

_AT_FDCWD = -100
_EXCHANGE = 2
"""``RENAME_EXCHANGE`` of Linux, ``RENAME_SWAP`` of macOS."""
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""How systems say that they, or this file system, cannot exchange two names."""


class StoppedError(Exception):
    """Copying was stopped by ``stop``."""


class StagedCheckout:
    """The folder beside the checkout ``folder`` in which the next one is made; one run at a time may use it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        parent, name = os.path.split(folder)
        self._place = os.path.join(parent, f".{name}-sync")
        self.lock_path = os.path.join(parent, f".{name}-sync.lock")
        self.new = os.path.join(self._place, "new")
        self._old = os.path.join(self._place, "old")
        self.stop = threading.Event()

    def open(self) -> None:
        """Make room, and repair what a killed run has left. Raises ``OSError``."""
        if not os.path.lexists(self.folder) and os.path.isdir(self._old):  # killed between two renames
            os.rename(self._old, self.folder)
        self.clear()
        os.makedirs(self._place, mode=0o700)

    def is_checkout(self) -> bool:
        """Whether there is one already. Raises ``FileExistsError`` where something else is in its place."""
        if os.path.isdir(os.path.join(self.folder, ".git")):
            return True
        if os.path.lexists(self.folder) and not (os.path.isdir(self.folder) and not os.listdir(self.folder)):
            raise FileExistsError(
                errno.EEXIST, "it exists and is not a checkout of the skills repository: move it elsewhere", self.folder
            )
        return False

    def copy(self) -> None:
        """Copy the checkout, with everything that lies in it. Raises ``OSError``, and ``StoppedError`` after ``stop``."""
        shutil.copytree(self.folder, self.new, symlinks=True, copy_function=self._copy)

    def _copy(self, source: str, target: str) -> None:
        if self.stop.is_set():
            raise StoppedError
        if f"{os.sep}.git{os.sep}objects{os.sep}" in source:  # git never changes one: it only adds and removes
            with suppress(OSError):
                os.link(source, target)
                return
        shutil.copy2(source, target, follow_symlinks=False)

    def replace(self) -> None:
        """Put the new checkout where the old one is, and take the old one away. Raises ``OSError``: then nothing has changed."""
        if not os.path.lexists(self.folder) or not os.listdir(self.folder):
            os.rename(self.new, self.folder)
        elif not _exchange(self.new, self.folder):
            os.rename(self.folder, self._old)
            try:
                os.rename(self.new, self.folder)
            except OSError:
                os.rename(self._old, self.folder)
                raise
        self.clear()

    def clear(self) -> None:
        """Take everything away but the checkout; what cannot be removed now is tried again next time."""
        shutil.rmtree(self._place, ignore_errors=True)


def _exchange(one: str, other: str) -> bool:
    """Let two folders change places in one step; false where the system cannot. Raises ``OSError``."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    names = (os.fsencode(one), os.fsencode(other))
    if sys.platform == "darwin" and (swap := getattr(library, "renamex_np", None)):
        failed = swap(*names, ctypes.c_uint(_EXCHANGE))
    elif swap := getattr(library, "renameat2", None):
        here = ctypes.c_int(_AT_FDCWD)
        failed = swap(here, names[0], here, names[1], ctypes.c_uint(_EXCHANGE))
    else:
        return False
    if failed:
        code = ctypes.get_errno()
        if code in _NOT_HERE:
            return False
        raise OSError(code, os.strerror(code), other)
    return True
