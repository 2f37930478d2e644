"""The shell's redirections: files and nodes of the device as standard streams."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from clawperator.engine.simulator import shell_tree as tree
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.filesystem import FileSystem
from clawperator.engine.simulator.process import SHELL, ShellSession
from clawperator.engine.simulator.streams import InputStream, Null, Sink, Streams, input_of, no_input


class RedirectionError(CommandError):
    """A file cannot be opened for a command."""


async def redirected(
    shell: ShellSession,
    redirects: Sequence[tree.Redirect],
    streams: Streams,
    expanded: Callable[[tree.Word], Awaitable[str]],
) -> Streams:
    """Return ``streams`` with ``redirects`` applied in order. Raises ``RedirectionError``."""
    for redirect in redirects:
        target = await expanded(redirect.target)
        operator = redirect.operator
        if operator == ">&":
            streams = _duplicated(streams, redirect.fd, target)
        elif operator == "<":
            streams = replace(streams, stdin=_open_input(shell, target))
        else:
            streams = _with_output(streams, redirect.fd, _open_output(shell, target, append=operator == ">>"))
    return streams


def open_sink(shell: ShellSession, path: str, *, append: bool = False) -> Sink:
    """Open a file (or device node) for writing. Raises OSError."""
    if path == "/dev/null":
        return Null()
    if path == "/dev/tty" and not shell.tty:
        raise OSError(6, "No such device or address", path)
    if path in ("/dev/stdout", "/proc/self/fd/1", "/dev/tty"):
        return shell.streams.stdout
    if path in ("/dev/stderr", "/proc/self/fd/2"):
        return shell.streams.stderr
    files = shell.device.files
    files.write(path, b"", append=append, uid=shell.uid)
    return _FileSink(files, path, shell.uid)


@dataclass(frozen=True, slots=True)
class _FileSink:
    """Appends to a file of the device."""

    files: FileSystem
    path: str
    uid: int

    async def write(self, data: bytes) -> None:
        self.files.write(self.path, data, append=True, uid=self.uid)


def _open_input(shell: ShellSession, target: str) -> InputStream:
    path = posixpath.normpath(posixpath.join(shell.cwd, target))
    if path == "/dev/null":
        return no_input()
    if path in ("/dev/stdin", "/proc/self/fd/0"):
        return shell.streams.stdin
    try:
        return input_of(shell.device.files.read(path, uid=shell.uid))
    except OSError as exc:
        raise RedirectionError(f"{SHELL}: can't open {target}: {exc.strerror}") from exc


def _open_output(shell: ShellSession, target: str, *, append: bool) -> Sink:
    path = posixpath.normpath(posixpath.join(shell.cwd, target))
    try:
        return open_sink(shell, path, append=append)
    except OSError as exc:
        raise RedirectionError(f"{SHELL}: can't create {target}: {exc.strerror}") from exc


def _duplicated(streams: Streams, fd: int, target: str) -> Streams:
    """``n>&m``."""
    if target not in ("1", "2"):
        raise RedirectionError(f"{SHELL}: {target}: bad file descriptor")
    return _with_output(streams, fd, streams.stdout if target == "1" else streams.stderr)


def _with_output(streams: Streams, fd: int, sink: Sink) -> Streams:
    if fd == 1:
        return replace(streams, stdout=sink)
    if fd == 2:
        return replace(streams, stderr=sink)
    raise RedirectionError(f"{SHELL}: {fd}: bad file descriptor")
