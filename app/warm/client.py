"""Hand a command line to the warm process. Whatever is wrong with it costs a few milliseconds, and the command runs here."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what ``signal`` wraps with enums
import _socket
import os
import sys

from clawperator.app.warm import protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Any

PATIENCE = 0.005
"""Seconds that a silent or dead warm process may cost."""
START_PATIENCE = 0.25
"""Seconds that its child may take to get ready, about as long as a command takes to start here."""
_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
LEAVE_SECONDS = 1.0
"""How long a command may take to end after the second SIGINT, after which it leaves by itself unless its process hangs."""


class BrokenOffError(Exception):
    """The process of the command ended without an answer, or does not end."""


def run(arguments: Sequence[str]) -> int | None:
    """Run a command line in the warm process and return its exit code; ``None`` where it must run in this process.

    Raises ``BrokenOffError`` where it began there and its end is unknown.
    """
    connected = connect()
    if connected is None:
        return None
    connection, _ = connected
    handlers: dict[int, Any] = {}
    try:
        connection.settimeout(START_PATIENCE)
        streams = [_descriptor(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)]
        if not _send(connection, arguments, streams) or _byte(connection) != protocol.READY:
            return None
        connection.settimeout(None)
        handlers = _forward_signals(connection)
        return _follow(connection) if _begin(connection, streams) else None
    finally:
        if handlers:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            _signal.signal(number, handler)
        connection.close()


def connect(*, any_build: bool = False) -> tuple[_socket.socket, bytes] | None:
    """Return a connection to the warm process of this user and build, and the facts of its greeting; ``None`` without one."""
    try:
        folder = protocol.open_folder()
    except OSError:
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(PATIENCE)
        connection.connect(protocol.address(folder))
        if protocol.is_own(connection):
            greeting = connection.recv(protocol.GREETING_BYTES)  # sent in one piece: bytes that drip are not waited for
            build, tab, facts = greeting.partition(b"\t")
            own = any_build or build.decode("ascii", "replace") == protocol.build()
            if own and tab and facts.endswith(b"\n"):
                return connection, facts
    except OSError:
        pass
    finally:
        os.close(folder)
    connection.close()
    return None


def _send(connection: _socket.socket, arguments: Sequence[str], streams: Sequence[int | None]) -> bool:
    """Send the request. Nothing runs before ``GO``, so a failure leaves the command to this process."""
    import resource

    umask = os.umask(0o077)
    os.umask(umask)
    try:
        request = {
            "arguments": list(arguments),
            "folder": os.getcwd(),
            "environment": dict(os.environ),
            "umask": umask,
            "niceness": os.nice(0),
            "streams": [
                None if descriptor is None else [stream.encoding, stream.errors]
                for stream, descriptor in zip((sys.stdin, sys.stdout, sys.stderr), streams, strict=True)
            ],
            "ignored": [number for number in _SIGNALS if _signal.getsignal(number) == _signal.SIG_IGN],
            "limits": [
                [name, *resource.getrlimit(getattr(resource, name))]
                for name in sorted(vars(resource))
                if name.startswith("RLIMIT_")
            ],
        }
        data = ascii(request).encode()
        data = len(data).to_bytes(8, "big") + data
        connection.sendall(data)
    except (OSError, ValueError):
        return False
    return True


def _descriptor(stream: Any) -> int | None:
    try:
        return int(stream.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or no file
        return None


def _forward_signals(connection: _socket.socket) -> dict[int, Any]:
    """Pass signals to the command; those that our parent ignores for us stay ignored. Return the former handlers.

    After the second SIGINT, SIGALRM raises ``BrokenOffError``, unless the command ends before.
    """
    heard = []

    def forward(number: int, _: FrameType | None) -> None:
        heard.append(number)
        try:
            connection.send(bytes((number,)), _socket.MSG_DONTWAIT)
        except OSError:  # it has ended
            pass
        if number == _signal.SIGINT and heard.count(number) == 2:
            _signal.setitimer(_signal.ITIMER_REAL, LEAVE_SECONDS)

    def leave(_: int, __: FrameType | None) -> None:
        raise BrokenOffError("hangs: it was left after the second interrupt")

    former: dict[int, Any] = {_signal.SIGALRM: _signal.signal(_signal.SIGALRM, leave)}
    for number in _SIGNALS:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            former[number] = _signal.signal(number, forward)
    return former


def _begin(connection: _socket.socket, streams: Sequence[int | None]) -> bool:
    """Let the command run with the standard streams; ``False`` where its process has ended.

    The request does not carry them: a process that is stopped would keep the pipe of our output open.
    """
    passed = b"".join(each.to_bytes(4, sys.byteorder) for each in streams if each is not None)  # C's int
    try:
        connection.sendmsg([protocol.GO], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)] if passed else [])
    except OSError:
        return False
    return True


def _follow(connection: _socket.socket) -> int:
    """Return the exit code. Raises ``BrokenOffError``."""
    code = b""
    try:
        while (word := _byte(connection)) == protocol.ANSWERED:
            code = _byte(connection)
        if word == protocol.ENDED:
            code = _byte(connection)
    except BrokenOffError:  # it hangs
        if not code:
            raise
    if not code:
        raise BrokenOffError
    return code[0]  # the answer is out: whether the history was written changes nothing about it


def _byte(connection: _socket.socket) -> bytes:
    try:
        return connection.recv(1)
    except OSError:
        return b""
