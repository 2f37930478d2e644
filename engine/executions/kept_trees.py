"""The recent trees of devices, by id, for references: private files of this user that other commands read, or memory only."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress

from clawperator.engine.contracts.references import Reference, tree_id
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import private_folder, read_file, write_file
from clawperator.engine.logcat.signals import CapturedHierarchy

_KEPT = 64
_KEPT_OF_ONE = 8
"""Trees of one execution."""
_KEPT_BYTES = 32 * 1024 * 1024
_LARGEST_FILE = 8 * 1024 * 1024
_LARGEST_TREE = 64 * 1024 * 1024
_LEVEL = 1


class KeptTrees:
    """The last trees, in ``folder``; in memory if it is empty: trees contain texts of screens.

    After ``hold``, they are written by ``close``, so that a command prints its result first.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._held: dict[tuple[str, str], str] | None = None
        """By device and id."""

    def hold(self) -> None:
        self._held = {}

    def close(self) -> None:
        """Write the trees that are held."""
        held, self._held = self._held, None
        for (serial, tree), xml in (held or {}).items():
            self._write(_name(serial, tree), xml)

    def keep(self, serial: str, xml: str) -> str:
        """Keep a tree of the device ``serial``; return its id. A tree that cannot be kept is unknown later."""
        tree = tree_id(xml)
        if self._held is None:
            self._write(_name(serial, tree), xml)
        else:
            self._held[serial, tree] = xml
            if len(self._held) > _KEPT:
                del self._held[next(iter(self._held))]
        return tree

    async def keep_last(self, serial: str, trees: Iterable[CapturedHierarchy]) -> None:
        """Keep the last complete trees of an execution; files are written in a thread."""
        shown = dict.fromkeys([tree.xml for tree in trees if tree.complete][-_KEPT_OF_ONE:])
        for xml in shown:
            if self._held is not None:
                self.keep(serial, xml)
            else:
                await asyncio.to_thread(self.keep, serial, xml)

    def _write(self, name: str, xml: str) -> None:
        if not self._folder:
            self._memory[name] = _packed(xml)
            self._memory.move_to_end(name)
            while len(self._memory) > _KEPT or sum(map(len, self._memory.values())) > _KEPT_BYTES:
                self._memory.popitem(last=False)
            return
        with suppress(OSError):
            path = os.path.join(self._folder, name)
            try:
                os.utime(path)
            except FileNotFoundError:
                private_folder(self._folder)
                write_file(path, _packed(xml), replace=True, durable=False)
                self._prune()

    def find(self, serial: str, reference: Reference) -> str:
        """Return the tree of ``reference``. Raises ``EngineError`` (REF_UNKNOWN)."""
        import zlib

        if held := (self._held or {}).get((serial, reference.tree)):
            return held
        name = _name(serial, reference.tree)
        with suppress(KeyError, OSError, ValueError, zlib.error):
            data = read_file(os.path.join(self._folder, name), _LARGEST_FILE) if self._folder else self._memory[name]
            xml = zlib.decompressobj().decompress(data, _LARGEST_TREE).decode("utf-8", "surrogatepass")
            if tree_id(xml) == reference.tree:
                return xml
        message, hint = f"The tree {reference.tree} of {reference} is not stored: only the last {_KEPT} trees are", None
        if any(other.startswith(f"{reference.tree}-") for other in self._names()):
            message = f"{reference} refers to a tree of another device than {serial}"
            hint = (
                "Pass the device of that view with --device-id, or take a snapshot of this one and use its references."
            )
        raise EngineError(ErrorCode.REF_UNKNOWN, message, hint=hint, details={"ref": str(reference)})

    def _names(self) -> list[str]:
        with suppress(OSError):
            return os.listdir(self._folder) if self._folder else list(self._memory)
        return []

    def _prune(self) -> None:
        with os.scandir(self._folder) as entries:
            found = [(entry.stat(), entry.path) for entry in entries]
            files = [(status.st_mtime_ns, status.st_size, path) for status, path in found]
        size = 0
        for number, (_, bytes_, path) in enumerate(sorted(files, reverse=True)):
            size += bytes_
            if number >= _KEPT or size > _KEPT_BYTES:
                with suppress(FileNotFoundError):
                    os.unlink(path)


def _name(serial: str, tree: str) -> str:
    import hashlib

    return f"{tree}-{hashlib.sha256(serial.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _packed(xml: str) -> bytes:
    import zlib

    return zlib.compress(xml.encode("utf-8", "surrogatepass"), _LEVEL)
