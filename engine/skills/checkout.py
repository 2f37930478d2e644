"""Replace a checkout atomically: changes are made in a copy next to it, and the two are exchanged in one step.

The folder contains the complete old or new checkout at any time, even after a kill; the next run removes left-over copies.
Everything here blocks; ``sync.py`` calls it in threads.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from contextlib import suppress

from clawperator.engine.files.regular import open_regular

_AT_FDCWD = -100
_EXCHANGE = 2
"""``RENAME_EXCHANGE`` of Linux, ``RENAME_SWAP`` of macOS."""
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""Errors of systems and file systems that cannot exchange two names."""


class StoppedError(Exception):
    """Copying was stopped by ``stop``."""


class StagedCheckout:
    """The copy of the checkout ``folder`` that is prepared next to it; used by one run at a time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        parent, name = os.path.split(folder)
        self._place = os.path.join(parent, f".{name}-sync")
        self.lock_path = os.path.join(parent, f".{name}-sync.lock")
        self.new = os.path.join(self._place, "new")
        self._old = os.path.join(self._place, "old")
        self.stop = threading.Event()

    def open(self) -> None:
        """Create the folder of the copy and repair the state after a killed run. Raises ``OSError``."""
        if not os.path.lexists(self.folder) and os.path.isdir(self._old):  # killed between two renames
            os.rename(self._old, self.folder)
        self.clear()
        os.makedirs(self._place, mode=0o700)

    def is_checkout(self) -> bool:
        """Return whether a checkout exists. Raises ``FileExistsError`` for another file or folder in its place."""
        if os.path.isdir(os.path.join(self.folder, ".git")):
            return True
        if os.path.lexists(self.folder) and not (os.path.isdir(self.folder) and not os.listdir(self.folder)):
            raise FileExistsError(
                errno.EEXIST, "it exists and is not a checkout of the skills repository: move it elsewhere", self.folder
            )
        return False

    def copy(self) -> None:
        """Copy the checkout with all of its files. Raises ``OSError``, and ``StoppedError`` after ``stop``."""
        shutil.copytree(self.folder, self.new, symlinks=True, copy_function=self._copy)

    def _copy(self, source: str, target: str) -> None:
        if self.stop.is_set():
            raise StoppedError
        if f"{os.sep}.git{os.sep}objects{os.sep}" in source:  # git never modifies objects
            with suppress(OSError):
                os.link(source, target)
                return
        shutil.copy2(source, target, follow_symlinks=False)

    def replace(self) -> None:
        """Replace the old checkout with the new one. Raises ``OSError``, in which case nothing has changed."""
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
        """Remove everything but the checkout; what cannot be removed is retried at the next run."""
        shutil.rmtree(self._place, ignore_errors=True)


def _exchange(one: str, other: str) -> bool:
    """Exchange two folders in one step; return false if the system cannot. Raises ``OSError``."""
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


def commit_of(root: str) -> str:
    """Return ``main @abc1234`` of a checkout, from its files; empty without one."""
    try:
        with open_regular(os.path.join(root, ".git", "HEAD")) as file:
            head = file.read(400).decode("ascii", "replace").strip()
    except OSError:
        return ""
    ref = head.removeprefix("ref: ")
    if ref == head:
        return f"@{head[:7]}"
    branch = ref.removeprefix("refs/heads/")
    return f"{branch} @{commit[:7]}" if (commit := _commit(root, ref)) else branch


def _commit(root: str, ref: str) -> str:
    if ".." in ref or ref.startswith("/"):
        return ""
    try:
        with open_regular(os.path.join(root, ".git", *ref.split("/"))) as file:
            return file.read(80).decode("ascii", "replace").strip()
    except OSError:
        pass
    try:
        with open_regular(os.path.join(root, ".git", "packed-refs")) as file:
            text = file.read(1_000_000).decode(errors="replace")
            found = (line.partition(" ") for line in text.splitlines())
            return next((commit for commit, _, name in found if name.strip() == ref), "")
    except OSError:
        return ""
