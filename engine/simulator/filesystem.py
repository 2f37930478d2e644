"""The device's files: a small tree in memory with POSIX paths, owners and mode bits.

Errors are the operating system's own classes with errno and path, so that a command can print ``strerror`` as toybox does.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat as modes
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from clawperator.engine.logcat.users import SYSTEM_USERS

SYSTEM_NAMES = {uid: name for name, uid in SYSTEM_USERS.items()}


def user_name(uid: int) -> str:
    """``shell``, ``u0_a123``, or the number."""
    user, app = divmod(uid, 100_000)
    return SYSTEM_NAMES.get(uid) or (f"u{user}_a{app - 10_000}" if app >= 10_000 else str(uid))


ROOT_UID: Final = 0
SHELL_UID: Final = 2000
SHELL_GROUPS: Final = frozenset({2000, 1004, 1007, 1011, 1015, 1028, 1078, 3001, 3002, 3003, 3006, 3009})
MAX_LINKS: Final = 16

FRESH: Final = (
    ("/data", 0o771, (1000, 1000)),
    ("/data/app", 0o771, (1000, 1000)),
    ("/data/data", 0o771, (1000, 1000)),
    ("/data/local/tmp", 0o771, (2000, 2000)),
    ("/storage/self", 0o711, (0, 0)),
    ("/storage/emulated", 0o711, (0, 0)),
    ("/storage/emulated/0", 0o2770, (1023, 1015)),
    ("/storage/emulated/0/Android/data", 0o2770, (1023, 1015)),
    ("/storage/emulated/0/Download", 0o2770, (1023, 1015)),
    ("/storage/emulated/0/Pictures", 0o2770, (1023, 1015)),
    ("/sys/devices/system/cpu", 0o755, (0, 0)),
    ("/system/bin", 0o755, (0, 2000)),
)
"""Folders of a fresh device: mode, owner and group."""


class Stat(NamedTuple):
    """``mode`` has the file type bits; ``mtime`` is whole seconds since the epoch."""

    mode: int
    size: int
    mtime: int
    uid: int
    gid: int

    @property
    def is_dir(self) -> bool:
        return modes.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        return modes.S_ISLNK(self.mode)


class _Node:
    __slots__ = ("children", "data", "gid", "mode", "mtime", "target", "uid")

    def __init__(self, mode: int, uid: int, mtime: int) -> None:
        self.mode = mode
        self.uid = self.gid = uid
        self.mtime = mtime
        self.data = bytearray()
        self.children: dict[str, _Node] = {}
        self.target = ""

    @property
    def is_dir(self) -> bool:
        return modes.S_ISDIR(self.mode)

    def add(self, name: str, mode: int, uid: int, mtime: int) -> _Node:
        """A new child; below a setgid folder it inherits that folder's group, and a folder the flag."""
        node = self.children[name] = _Node(mode, uid, mtime)
        if self.mode & modes.S_ISGID:
            node.gid = self.gid
            node.mode |= (modes.S_ISGID | 0o070) if node.is_dir else 0o060
        return node

    def stat(self) -> Stat:
        size = 4096 if self.is_dir else len(self.target or self.data)
        return Stat(self.mode, size, self.mtime, self.uid, self.gid)


class FileSystem:
    """Files by absolute path, with the folders of a fresh device. ``uid`` is the caller's: 0, the default, may do everything.

    ``capacity_bytes`` limits the size of all files; beyond it a write fails with ENOSPC.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time, capacity_bytes: int = 256 * 1024 * 1024) -> None:
        self._clock = clock
        self._free = capacity_bytes
        self._mounts: dict[str, Callable[[], Mapping[str, str]]] = {}
        self._root = _Node(modes.S_IFDIR | 0o755, ROOT_UID, int(clock()))
        for path, mode, owner in FRESH:
            self.mkdir(path, parents=True, mode=mode)
            self.chmod(path, mode)
            self.chown(path, *owner)
        self.link("/sdcard", "/storage/self/primary")
        self.link("/storage/self/primary", "/storage/emulated/0")

    def mount(self, name: str, files: Callable[[], Mapping[str, str]]) -> None:
        """Mount a read-only folder ``/name`` whose texts, by relative path, ``files`` computes on each access."""
        self._mounts[name] = files
        self._root.add(name, modes.S_IFDIR | 0o555, ROOT_UID, int(self._clock()))

    def _mounted(self, name: str) -> None:
        """Replace the content of the mounted folder by the current one."""
        now = int(self._clock())
        top = self._root.add(name, modes.S_IFDIR | 0o555, ROOT_UID, now)
        for path, text in self._mounts[name]().items():
            folder = top
            *folders, last = path.split("/")
            for part in folders:
                folder = folder.children.get(part) or folder.add(part, modes.S_IFDIR | 0o555, ROOT_UID, now)
            folder.add(last, modes.S_IFREG | 0o444, ROOT_UID, now).data += text.encode("utf-8", "surrogateescape")

    def read(self, path: str, *, uid: int = ROOT_UID) -> bytes:
        node = self._find(path, uid)
        if node.is_dir:
            raise _error(errno.EISDIR, path)
        _allow(node, 4, uid, path)
        return bytes(node.data)

    def write(
        self,
        path: str,
        data: bytes,
        *,
        append: bool = False,
        parents: bool = False,
        mode: int = 0o644,
        mtime: int | None = None,
        uid: int = ROOT_UID,
    ) -> None:
        """Create or replace a file; ``append`` adds to its end, ``parents`` makes missing folders."""
        if parents:
            self.mkdir(posixpath.dirname(path), parents=True, uid=uid)
        path = self._resolve_last(path, uid)
        folder, name = self._parent(path, uid)
        node = folder.children.get(name)
        if node is None:
            _allow(folder, 2, uid, path)
            node = folder.add(name, modes.S_IFREG | (mode & 0o7777), uid, 0)
        elif node.is_dir:
            raise _error(errno.EISDIR, path)
        else:
            _allow(node, 2, uid, path)
        self._store(node, path, data, append=append)
        node.mtime = int(self._clock()) if mtime is None else mtime

    def _store(self, node: _Node, path: str, data: bytes, *, append: bool) -> None:
        growth = len(data) - (0 if append else len(node.data))
        if growth > self._free:
            raise _error(errno.ENOSPC, path)
        self._free -= growth
        if not append:
            node.data.clear()
        node.data += data

    def stat(self, path: str, *, follow: bool = True, uid: int = ROOT_UID) -> Stat:
        return self._find(path, uid, follow=follow).stat()

    def exists(self, path: str) -> bool:
        try:
            self._find(path, ROOT_UID)
        except OSError:
            return False
        return True

    def readlink(self, path: str) -> str:
        node = self._find(path, ROOT_UID, follow=False)
        if not node.target:
            raise _error(errno.EINVAL, path)
        return node.target

    def mkdir(self, path: str, *, parents: bool = False, mode: int = 0o755, uid: int = ROOT_UID) -> None:
        """Make a folder; with ``parents`` the missing ones above it too, and one that exists is no error."""
        if parents:
            above = posixpath.dirname(posixpath.normpath(path))
            if above != posixpath.normpath(path) and not self.exists(above):
                self.mkdir(above, parents=True, mode=mode, uid=uid)
            if self.exists(path):
                if not self._find(path, uid).is_dir:
                    raise _error(errno.EEXIST, path)
                return
        folder, name = self._parent(path, uid)
        if not name or name in folder.children:
            raise _error(errno.EEXIST, path)
        _allow(folder, 2, uid, path)
        folder.add(name, modes.S_IFDIR | mode, uid, int(self._clock()))

    def link(self, path: str, target: str, *, uid: int = ROOT_UID) -> None:
        """Make a symbolic link."""
        folder, name = self._parent(path, uid)
        if not name or name in folder.children:
            raise _error(errno.EEXIST, path)
        _allow(folder, 2, uid, path)
        folder.add(name, modes.S_IFLNK | 0o777, uid, int(self._clock())).target = target

    def remove(self, path: str, *, recursive: bool = False, uid: int = ROOT_UID) -> None:
        """Remove a file or link; a folder only when ``recursive``."""
        folder, name = self._parent(path, uid)
        node = folder.children.get(name)
        if node is None:
            raise _error(errno.ENOENT, path)
        if node.is_dir and not recursive:
            raise _error(errno.EISDIR, path)
        _allow(folder, 2, uid, path)
        self._free += sum(len(each.data) for each in _walk(node))
        del folder.children[name]

    def chmod(self, path: str, mode: int, *, uid: int = ROOT_UID) -> None:
        node = self._find(path, uid)
        if uid not in (ROOT_UID, node.uid):
            raise _error(errno.EPERM, path)
        node.mode = modes.S_IFMT(node.mode) | (mode & 0o7777)

    def chown(self, path: str, owner: int, group: int | None = None) -> None:
        node = self._find(path, ROOT_UID)
        node.uid, node.gid = owner, owner if group is None else group

    def list(self, path: str, *, uid: int = ROOT_UID) -> tuple[str, ...]:
        """Names in a folder, sorted."""
        node = self._find(path, uid)
        if not node.is_dir:
            raise _error(errno.ENOTDIR, path)
        _allow(node, 4, uid, path)
        return tuple(sorted(node.children))

    def _parent(self, path: str, uid: int) -> tuple[_Node, str]:
        """The folder of ``path``, and the last name ("" for the root itself)."""
        above, name = posixpath.split(posixpath.normpath(path))
        folder = self._find(above, uid)
        if not folder.is_dir:
            raise _error(errno.ENOTDIR, path)
        _allow(folder, 1, uid, path)
        return folder, name

    def _resolve_last(self, path: str, uid: int) -> str:
        """Follow links at the last name, so that writing through a link writes its target."""
        for _ in range(MAX_LINKS):
            folder, name = self._parent(path, uid)
            node = folder.children.get(name)
            if node is None or not node.target:
                return path
            path = posixpath.join(posixpath.dirname(path), node.target)
        raise _error(errno.ELOOP, path)

    def _find(self, path: str, uid: int, *, follow: bool = True, depth: int = 0) -> _Node:
        if depth > MAX_LINKS:
            raise _error(errno.ELOOP, path)
        node, at = self._root, "/"
        parts = [part for part in posixpath.normpath(path).split("/") if part]
        if parts and parts[0] in self._mounts:
            self._mounted(parts[0])
        for position, part in enumerate(parts):
            if not node.is_dir:
                raise _error(errno.ENOTDIR, path)
            _allow(node, 1, uid, path)
            below = node.children.get(part)
            if below is None:
                raise _error(errno.ENOENT, path)
            if below.target and (follow or position < len(parts) - 1):
                below = self._find(posixpath.join(at, below.target), uid, depth=depth + 1)
            node, at = below, posixpath.join(at, part)
        return node


def _walk(node: _Node) -> Iterator[_Node]:
    pending = [node]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(each.children.values())


def _allow(node: _Node, wanted: int, uid: int, path: str) -> None:
    """Raise EACCES unless ``uid`` has ``wanted`` (4 read, 2 write, 1 search)."""
    if uid == ROOT_UID:
        return
    groups = SHELL_GROUPS if uid == SHELL_UID else frozenset({uid})
    shift = 6 if uid == node.uid else 3 if node.gid in groups else 0
    if not (node.mode >> shift) & wanted:
        raise _error(errno.EACCES, path)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
