"""The Unix socket between a command line and the warm process of the same user (cli.md#the-warm-process).

The server greets each connection with one line: its build, a tab, facts as JSON. The client sends its arguments, folder and
environment, as a Python literal, only if the build is its own. Then each side writes single bytes: the server ``READY``, the
client ``GO``, with which the command begins, and signal numbers, the server ``ANSWERED`` and ``ENDED``. The client's standard
streams travel with ``GO`` as descriptors, so that no byte is copied.

Light: every command line imports it where a warm process may run.
"""

from __future__ import annotations

import _socket  # ``socket`` and ``signal`` take 8 ms to import, as much as the rest of the client
import os
import stat
import sys

from clawperator.app.warm import socket_path
from clawperator.engine.config.environment import runtime_folder

VERSION = 3
REFUSED = b"N"
"""The command has to run in the client's own process. Nothing of it has run."""
READY = b"R"
"""The command can begin. It does not before ``GO``."""
GO = b"\0"
"""The command begins. From here on the client must not run it again."""
ANSWERED = b"A"
"""The answer is on stdout; the next byte is the exit code."""
ENDED = b"E"
"""The history is written and the process of the command ends; the next byte is the exit code."""
GREETING_BYTES = 4_096
_PLACES = ("/", "/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/pid")
"""What files, addresses and processes a name means: elsewhere, in a container with the same home, it means others."""
_FLAGS = ("dev_mode", "ignore_environment", "isolated", "no_site", "no_user_site", "optimize", "safe_path")
"""Not the UTF-8 mode: in the C locale it is on in a first process, and off in the processes that this one starts."""


def build() -> str:
    """Return what client and server must agree on: the product, the interpreter, what it read when it began, and where it is."""
    from clawperator.engine.version import __version__

    start = ("PYTHON", "LC_", "LANG")
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = sorted(item for item in os.environ.items() if item[0].startswith(start))
    flags = [getattr(sys.flags, name) for name in _FLAGS]
    encoding = sys.getfilesystemencoding()
    rights = os.getegid(), sorted(os.getgroups()), [_identity(place) for place in _PLACES]
    return ascii((VERSION, __version__, package, sys.executable, sys.hexversion, encoding, flags, environment, rights))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:  # not Linux
        return None
    return found.st_dev, found.st_ino


def open_folder() -> int:
    """Open the folder of the socket. Raises ``OSError`` unless it is a folder of this user that no other user can enter."""
    path = runtime_folder(os.environ)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(descriptor)
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        os.close(descriptor)
        raise PermissionError(f"{path} belongs to another user, or others can enter it")
    return descriptor


def address(folder: int) -> str:
    """Return the address of the socket. On Linux it leads through the open folder, which no link or long path can replace."""
    path = socket_path()
    return f"/proc/self/fd/{folder}/{os.path.basename(path)}" if sys.platform == "linux" else path


def is_own(connection: _socket.socket) -> bool:
    """Whether the process at the other end belongs to this user; where the system does not say, the folder has to do."""
    peer = _peer(connection)
    return not peer or int.from_bytes(peer[4:8], sys.byteorder) == os.getuid()


def client_of(connection: _socket.socket) -> int:
    """Return the process id at the other end; 0 where the system does not say."""
    return int.from_bytes(_peer(connection)[:4], sys.byteorder)


def _peer(connection: _socket.socket) -> bytes:
    """Return pid, uid and gid of the other end; empty where the system does not say."""
    option = getattr(_socket, "SO_PEERCRED", None)
    return b"" if option is None else connection.getsockopt(_socket.SOL_SOCKET, option, 12)
