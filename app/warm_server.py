"""The warm process: Python with the product loaded. It forks itself for each command line that is handed to it.

It runs no command itself. Each one gets a process of its own, so that no environment, folder, profile, cached file or failure
of one reaches another, and one that is killed takes no other with it. One such process is forked in advance: the spare.
"""

from __future__ import annotations

import ast
import atexit
import gc
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from clawperator.app import interrupts
from clawperator.app.warm import NOT_WARM, lock_path, protocol, socket_path
from clawperator.engine.config.environment import runtime_folder
from clawperator.engine.files.lock import FileLock
from clawperator.engine.files.regular import private_folder
from clawperator.engine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

_BACKLOG = 128
_REQUEST_SECONDS = 5.0
_REQUEST_BYTES = 8 * 1024 * 1024
_STALE_SECONDS = 1.0
"""Between two looks at the product's files."""
_NOT_LOADED = ("clawperator.engine.simulator", "clawperator.engine.skills.builtin")
_LOADED_LATE = ("concurrent.futures.thread", "encodings.ascii")
"""Modules of Python that commands otherwise load when they need them."""


class WarmProcess:
    """The socket, and the process behind it. Raises ``OSError``: the folder must be this user's alone."""

    def __init__(self, idle: float | None, owner: int | None = None) -> None:
        """End after ``idle`` seconds without a command, if given, and when the other end of the pipe ``owner`` closes."""
        self._idle = idle
        self._owner = owner
        self._commands = 0
        self._build = protocol.build()
        self._wakeup = os.pipe()
        self._started_at = time.time()
        private_folder(runtime_folder(os.environ))
        self._folder = protocol.open_folder()
        self._path = socket_path()
        self._lock = FileLock(lock_path())
        self._files: dict[str, int] = {}
        self._looked_at = 0.0
        self._stale = False
        self._spare: tuple[int, socket.socket] | None = None
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def begin(self) -> bool:
        """Load the product and listen; return whether this process is the only one."""
        if not self._lock.try_acquire():
            return False
        _load()
        self._files = _file_times()
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        self.listener.bind(protocol.address(self._folder))
        self.listener.listen(_BACKLOG)
        signal.signal(signal.SIGCHLD, self._reap)
        signal.signal(signal.SIGTERM, lambda *_: os.write(self._wakeup[1], b"!"))
        gc.collect()
        gc.freeze()  # what a collection in a child does not touch, the two processes share
        return True

    def serve(self) -> socket.socket | None:
        """Greet, and pass each request to a fork, until idle; return the connection in the fork, and ``None`` at the end."""
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        poll.register(self._wakeup[0], select.POLLIN)
        if self._owner is not None:
            poll.register(self._owner, 0)  # only its end
        greeted: dict[int, socket.socket] = {}
        limit = None if self._idle is None else self._idle * 1000
        if (connection := self._prepare(greeted)) is not None:
            return connection
        while not self._stale and (ready := poll.poll(limit)):
            for descriptor, _ in ready:
                if descriptor in (self._wakeup[0], self._owner):
                    if descriptor == self._owner or b"!" in os.read(descriptor, 4_096):
                        self._stale = True
                    elif self._spare is None and (connection := self._prepare(greeted)) is not None:
                        return connection
                elif descriptor in greeted:
                    poll.unregister(descriptor)
                    with greeted.pop(descriptor) as connection:
                        if self._fork(connection):
                            self._leave(greeted.values())
                            return connection.dup()
                elif descriptor == self.listener.fileno() and (client := self._greet()) is not None:
                    if len(greeted) == _BACKLOG:  # the client that is silent for longest runs its command itself
                        poll.unregister(longest := next(iter(greeted)))
                        greeted.pop(longest).close()
                    greeted[client.fileno()] = client
                    poll.register(client, select.POLLIN)
        if self._spare is not None:
            pid, spare = self._spare
            spare.close()
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        os.unlink(os.path.basename(self._path), dir_fd=self._folder)
        self._lock.close()  # the next one need not wait for the end of this process
        self.listener.close()
        return None

    def _prepare(self, others: dict[int, socket.socket]) -> socket.socket | None:
        """Fork the spare. In it, wait for a request and return the connection; it ends with the warm process."""
        ours, theirs = socket.socketpair()
        try:
            pid = os.fork()
        except OSError:  # requests fork for themselves
            ours.close()
            theirs.close()
            return None
        if pid:
            theirs.close()
            self._spare = pid, ours
            return None
        ours.close()
        self._leave(others.values())
        _rehearse()
        with theirs:
            _, descriptors, _, _ = socket.recv_fds(theirs, 1, 1)
        if not descriptors:
            os._exit(0)
        return socket.socket(fileno=descriptors[0])

    def _greet(self) -> socket.socket | None:
        """Accept and greet one client; ``None`` for one that has left, or that this process cannot serve."""
        with suppress(OSError):
            connection, _ = self.listener.accept()
            facts = {
                "pid": os.getpid(),
                "version": __version__,
                "startedAt": self._started_at,
                "commands": self._commands,
                "idleSeconds": self._idle,
                "spare": self._spare[0] if self._spare else None,
            }
            connection.setblocking(False)
            if protocol.is_own(connection):
                with suppress(OSError):
                    connection.send(f"{self._build}\t{json.dumps(facts)}\n".encode())
                    if not self._is_stale():  # the client makes its request meanwhile
                        return connection
            connection.close()
        return None

    def _fork(self, connection: socket.socket) -> bool:
        """Return whether this is the child. Without memory or processes for one, the client runs its command itself."""
        with suppress(OSError):
            if not connection.recv(1, socket.MSG_PEEK):
                return False  # it only wanted to see the greeting
            if self._pass_on(connection):
                self._commands += 1
                return False
            if not os.fork():
                return True
            self._commands += 1
        return False

    def _pass_on(self, connection: socket.socket) -> bool:
        """Return whether the spare has the connection."""
        if self._spare is None:
            return False
        (_, spare), self._spare = self._spare, None
        with spare, suppress(OSError):  # it was killed
            socket.send_fds(spare, [b"c"], [connection.fileno()])
            return True
        return False

    def _leave(self, others: Iterable[socket.socket]) -> None:
        """Be the child: what belongs to the warm process and to other clients is not ours."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for connection in (self.listener, *others, *([] if self._spare is None else [self._spare[1]])):
            connection.close()
        self._lock.close()
        for descriptor in (self._folder, *self._wakeup, *([] if self._owner is None else [self._owner])):
            os.close(descriptor)

    def _reap(self, *_: object) -> None:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        os.write(self._wakeup[1], b".")

    def _is_stale(self) -> bool:
        """Whether the product's files changed since they were loaded, by an upgrade or an editor."""
        now = time.monotonic()
        if not self._stale and now - self._looked_at >= _STALE_SECONDS:
            self._looked_at = now
            self._stale = self._files != _file_times()
        return self._stale


def _load() -> None:
    """Import what commands need, and build the validators that are otherwise built at their first use."""
    package = Path(__file__).parents[1]
    for part in ("engine", "app/cli"):
        for file in sorted((package / part).rglob("*.py")):
            name = ".".join(("clawperator", *file.relative_to(package).with_suffix("").parts))
            if not name.startswith(_NOT_LOADED) and file.stem not in ("__init__", "__main__"):
                import_module(name)
    for name in _LOADED_LATE:
        import_module(name)
    from clawperator.engine.contracts.actions import ACTIONS
    from clawperator.engine.contracts.strict import Strict

    for action in ACTIONS:
        _ = ACTIONS[action]  # its model is made
    models = [Strict]
    for model in models:
        models += model.__subclasses__()
        model.model_rebuild(raise_errors=False)


def _file_times() -> dict[str, int]:
    """When each loaded file of the product was written, in nanoseconds."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith("clawperator.") and file:
            with suppress(OSError):
                found[file] = os.stat(file).st_mtime_ns
    return found


# -- in the child


def _rehearse() -> None:
    """Do what every command does: memory that forks share is copied at the first use, which takes longer than the work."""
    import asyncio

    from clawperator.app.cli.command import build_parser, load
    from clawperator.app.cli.parsing.parser import read
    from clawperator.engine.executions import build
    from clawperator.engine.executions.validate import validate

    asyncio.run(asyncio.sleep(0))
    read(build_parser(load("click")), "click", [])
    validate(build.click({"textEquals": "OK"}))


def command(connection: socket.socket) -> NoReturn:
    """Become the command line that the client sends, and end this process with its exit code."""
    try:
        from clawperator.engine.config.environment import act_for

        request = _receive(connection)
        act_for(protocol.client_of(connection))
        _become(request)
    except (OSError, ValueError, LookupError, TypeError, SyntaxError):
        _say(connection, protocol.REFUSED)
        os._exit(0)
    _say(connection, protocol.READY)
    streams, early = _await_go(connection)
    _take_over(request["streams"], streams)
    connection.settimeout(None)
    threading.Thread(target=_hear, args=(connection, early), name="client of the warm process", daemon=True).start()
    from clawperator.app.cli import after_output
    from clawperator.app.cli.main import run

    interrupts.before_outcome = partial(_mute_if_left, connection)
    after_output.on_exit_code(lambda code: _say(connection, protocol.ANSWERED + bytes((code,))))
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    _say(connection, protocol.ENDED + bytes((code,)))
    _leave_streams(0, 1, 2)  # a reader of our output need not wait for the end
    # What ``sys.exit`` does before it takes the interpreter apart: that would copy every page that the two processes share.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 -- no public way
    atexit._run_exitfuncs()  # noqa: SLF001 -- as above
    os._exit(code)


def _say(connection: socket.socket, words: bytes) -> None:
    with suppress(OSError):  # the client is gone
        connection.send(words)


def _is_left(connection: socket.socket) -> bool:
    """Whether the client has closed the connection, whatever it sent before that."""
    poll = select.poll()
    poll.register(connection, 0)
    return bool(poll.poll(0))


def _mute_if_left(connection: socket.socket) -> None:
    """Print nothing where the client is gone: it has printed an outcome, while we were stopped or hung."""
    if _is_left(connection):
        _leave_streams(1, 2)


def _leave_streams(*numbers: int) -> None:
    with open(os.devnull, "r+b") as nothing:
        for number in numbers:
            os.dup2(nothing.fileno(), number)


def _await_go(connection: socket.socket) -> tuple[list[int], bytes]:
    """Return the client's streams and the signals that came before them. Without ``GO`` the client runs the command itself."""
    early = b""
    with suppress(OSError):
        while (received := socket.recv_fds(connection, 1, 3))[0]:
            if received[0] == protocol.GO:
                return received[1], early
            early += received[0]
    os._exit(0)


def _hear(connection: socket.socket, words: bytes) -> None:
    """Take signals from the client, after those in ``words``; one that is gone is a terminal that hung up.

    After two SIGINTs it did not wait for us: it has printed an outcome, so no second one is.
    """
    known = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    heard = 0
    with suppress(OSError):
        while True:
            heard += words.count(signal.SIGINT)
            if heard > 1 and _is_left(connection):
                break
            for number in filter(known.__contains__, words):
                os.kill(os.getpid(), number)
            if not (words := connection.recv(16)):
                break
    if heard > 1:
        os._exit(interrupts.INTERRUPTED)
    os.kill(os.getpid(), signal.SIGHUP)


def _receive(connection: socket.socket) -> dict[str, Any]:
    """Return the request. Raises ``OSError`` and ``ValueError``."""
    connection.settimeout(_REQUEST_SECONDS)
    data = connection.recv(65_536)
    size = int.from_bytes(data[:8], "big")
    if len(data) < 8 or size > _REQUEST_BYTES:
        raise ValueError("no request")
    while len(data) < size + 8:
        part = connection.recv(65_536)
        if not part:
            raise ValueError("half a request")
        data += part
    request: dict[str, Any] = ast.literal_eval(data[8:].decode())
    return request


def _become(request: dict[str, Any]) -> None:
    """Take over folder, environment, limits and signals. Raises ``OSError``, ``ValueError`` and ``LookupError``."""
    import resource

    if _words(request["arguments"]).partition(" ")[0] in NOT_WARM:
        raise ValueError("a command that runs in the client's own process")
    os.chdir(request["folder"])
    os.umask(request["umask"])
    os.nice(request["niceness"] - os.nice(0))
    for name, *limits in request["limits"]:
        number = getattr(resource, name)
        if list(resource.getrlimit(number)) != limits:
            resource.setrlimit(number, tuple(limits))
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    sys.argv = ["clawperator", *request["arguments"]]


def _take_over(encodings: list[Any], streams: list[int]) -> None:
    """Use the client's standard streams; ``None`` in place of an encoding is one that is closed."""
    given = iter(streams)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if encodings[number] is None:
            os.close(number)
            setattr(sys, name, None)
            continue
        encoding, errors = encodings[number]
        descriptor = next(given)
        os.dup2(descriptor, number)
        os.close(descriptor)
        lines = 1 if name == "stderr" or os.isatty(number) else -1
        setattr(sys, name, open(number, mode, lines, encoding, errors, closefd=False))  # noqa: SIM115 -- as long as the process


def _words(arguments: list[str]) -> str:
    """Return the words of the command; ``help`` for a command line that only explains or refuses."""
    from clawperator.app.cli.parsing.lookup import find_command
    from clawperator.app.cli.parsing.parser import HelpWantedError
    from clawperator.engine.errors import EngineError

    try:
        return find_command(arguments)[0]
    except (EngineError, HelpWantedError):
        return "help"


def main(arguments: list[str]) -> int:
    """Be the warm process.

    ``--idle SECONDS FD``: end after so long without a command; ``FD`` is closed when it can be called.
    ``--beside SECONDS FD``: start after a delay, and end when the other end of ``FD`` closes.
    """
    os.umask(0o077)
    seconds, descriptor = float(arguments[1]), int(arguments[2])
    if arguments[0] == "--beside":
        if select.select([descriptor], [], [], seconds)[0]:
            return 0
        warm = WarmProcess(None, descriptor)
        only = warm.begin()
    else:
        warm = WarmProcess(seconds)
        only = warm.begin()
        os.close(descriptor)
    connection = warm.serve() if only else None
    return command(connection) if connection is not None else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
