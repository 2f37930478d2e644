"""Reading and writing regular files, private and atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from clawperator.engine.errors import NotPrivateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from typing import BinaryIO

PRIVATE = 0o600
"""The mode of files that can hold texts of screens, payloads or typed texts."""


def open_regular(path: str) -> BufferedReader:
    """Open the file ``path``, to which a link may lead, to read it.

    Raises ``OSError``, also for what is not a regular file: a FIFO waits for its other end, a device may never end.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        require_regular(descriptor)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_file(path: str, limit: int) -> bytes:
    """Return the content of the regular file ``path``. Raises ``OSError``, also for a file larger than ``limit`` bytes.

    A path that no file can have (with a NUL, or half of a surrogate pair) raises ``OSError`` too.
    """
    try:
        with open_regular(path) as stream:
            size = min(os.fstat(stream.fileno()).st_size, limit)  # no more memory than the file needs
            content = stream.read(size + 1)
            if len(content) > size:  # it grew meanwhile, or is a file of /proc, whose size is 0
                content += stream.read(limit - size)
    except ValueError as exc:
        raise OSError(errno.EINVAL, str(exc)) from exc
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit} bytes", path)
    return content


def read_tail(path: str, size: int) -> bytes:
    """Return the last ``size`` bytes of the regular file ``path``. Raises ``OSError``."""
    with open_regular(path) as stream:
        stream.seek(max(os.fstat(stream.fileno()).st_size - size, 0))
        return stream.read(size)


def require_regular(descriptor: int) -> None:
    """Raise ``OSError`` unless an open file is a regular one."""
    found = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is not a regular file")


@contextlib.contextmanager
def new_file(
    path: str, *, replace: bool = False, mode: int | None = PRIVATE, durable: bool = True
) -> Iterator[BinaryIO]:
    """Yield a stream whose content becomes the file ``path`` when the block ends; an exception leaves ``path`` as it was.

    The content is written beside ``path`` first. The folder must exist. A ``mode`` of ``None`` keeps that of the file that is
    replaced, and gives a new one what the process's umask leaves. ``durable`` waits for the disk. Raises ``OSError``: ``FileExistsError`` for a ``path``
    that exists (unless ``replace``) or that is no regular file, a symbolic link included.
    """
    check_target(path, replace=replace)
    part = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_BINARY", 0)
    descriptor = os.open(part, flags, PRIVATE)
    try:
        with open(descriptor, "wb") as stream:
            os.fchmod(descriptor, _usual_mode(path) if mode is None else mode)
            yield stream
            stream.flush()
            if durable:
                os.fsync(descriptor)
        if replace:
            check_target(path, replace=True)
            os.replace(part, path)
        else:
            _claim(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def write_file(
    path: str, content: bytes, *, replace: bool = False, mode: int | None = PRIVATE, durable: bool = True
) -> None:
    """Write ``content`` as ``new_file`` does. Raises ``OSError``."""
    with new_file(path, replace=replace, mode=mode, durable=durable) as stream:
        stream.write(content)


def check_target(path: str, *, replace: bool) -> None:
    """Raise the ``OSError`` that ``new_file`` would, as far as that can be known before."""
    folder = os.path.dirname(path) or "."
    try:
        found = os.lstat(path).st_mode
    except FileNotFoundError:
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder") from None
    else:
        if stat.S_ISDIR(found):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(found):
            raise FileExistsError(errno.EEXIST, "it is not a regular file")
        if not replace:
            raise FileExistsError(errno.EEXIST, "it exists already")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"{folder} is not writable")


def _usual_mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mask = os.umask(0o022)  # it can only be read by setting it
        os.umask(mask)
        return 0o666 & ~mask


def _claim(part: str, path: str) -> None:
    """Give ``part`` the name ``path`` unless that is taken. Some file systems (and Android itself) have no hard links."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        os.replace(part, path)


def private_folder(path: str) -> None:
    """Make the folder ``path``, and those above it that are missing, for this user only.

    Raises ``OSError``; ``NotPrivateError`` for one that existed and is not safe (``require_private``).
    """
    above = os.path.dirname(path)
    if above and above != path and not os.path.isdir(above):
        private_folder(above)
    elif (
        os.path.basename(above).removeprefix(".").partition("-")[0] == "clawperator"
    ):  # who owns it can replace ``path``
        require_private(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        require_private(path)


def require_private(path: str, *, links: bool = True) -> None:
    """Raise ``NotPrivateError`` unless only this user and root can put files into the folder ``path``.

    A folder that root shares, such as ``/tmp``, passes: its sticky bit protects what is in it. The same rule as that of ssh;
    Windows has no such modes. ``links``: a link of this user or root may lead to the folder. Raises ``OSError`` where there is none.
    """
    found = os.stat(path, follow_symlinks=links)
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivateError(path, "it is not a folder" if links else "it is not a folder of its own")
    if not hasattr(os, "geteuid"):
        return
    if (owner := os.lstat(path).st_uid) not in (os.geteuid(), 0):  # in /tmp, a link to a folder of ours
        raise NotPrivateError(path, f"it belongs to another user (uid {owner})")
    if found.st_uid not in (os.geteuid(), 0):
        raise NotPrivateError(path, f"it belongs to another user (uid {found.st_uid})")
    if found.st_mode & 0o022 and not (found.st_uid == 0 and found.st_mode & stat.S_ISVTX):
        raise NotPrivateError(path, f"others can write to it (mode {stat.S_IMODE(found.st_mode):o})")
